//! The three-storey benchmark, built straight from the models, and loops around it.

use std::f64::consts::TAU;

use model::compensator::{Compensator, Design, ShapingDesign, Site};
use model::coupled::Coupled;
use model::element::{Element, Law};
use model::equations::{ConnectedElement, Equations, RelativeDof};
use model::first_order::Scheme;
use model::integrator::{Integrator, Method, Options};
use model::partition::{LoadPattern, Partition, Substructures};
use model::sensor::{Converter, Sensor};
use model::specimen::Specimen;
use model::structure::{Structure, damping};
use model::transfer::{ActuatorDynamics, ServoHydraulic, TransferSystem};
use nalgebra::DMatrix;
use numerics::lti::TransferFunction;
use numerics::second_order::SecondOrder;
use runtime::event::Event;
use runtime::frame::{Block, FramePlan, MotionDetail};
use runtime::gate::Limits;
use runtime::hybrid_loop::{HybridLoop, LoopParts};
use runtime::interlock::{Phase, SafePath};
use runtime::load::Load;
use runtime::monitor::{Energies, EnergyMonitor, MonitorPlan, WorkRule};
use runtime::numerical::Plant;
use runtime::record::FrameSink;
use runtime::rig::{RigSlot, VirtualRig, VirtualRigParts};
use runtime::two_rate::{ForceUse, Lead, Rates, TwoRateModel, TwoRateParts};

pub(crate) const STEP_S: f64 = 1.0 / 4096.0;

/// Yields in the benchmark's motion, with the specimen's own first slope.
pub(crate) const BILINEAR: Law =
    Law::Bilinear { stiffness: 1.19e6, yield_force: 1500.0, hardening: 0.1 };

/// The same, smooth.
pub(crate) const BOUC_WEN: Law = Law::BoucWen {
    stiffness: 1.19e6,
    yield_force: 1500.0,
    hardening: 0.1,
    exponent: 2.0,
    beta: 0.5,
    gamma: 0.5,
};

/// A test, declared; every part may be changed before a plant is built.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) structure: Structure,
    pub(crate) partition: Partition,
    pub(crate) elements: Vec<ConnectedElement>,
    pub(crate) method: Method,
    pub(crate) step_s: f64,
    pub(crate) transfer_system: TransferSystem,
    pub(crate) converter: Converter,
    pub(crate) displacement_noise: f64,
    pub(crate) force_noise: f64,
    pub(crate) seed: u64,
    pub(crate) limits: Limits,
    pub(crate) safe_path: SafePath,
    pub(crate) rule: WorkRule,
    pub(crate) stop_at: f64,
    pub(crate) watch: MonitorPlan,
    pub(crate) every: u64,
    pub(crate) detail: MotionDetail,
    pub(crate) design: Design,
    pub(crate) shaping: ShapingDesign,
    pub(crate) rates: Option<Rates>,
}

impl Case {
    /// Case IV: 3 % damping, 1000 kg a floor, the specimen at the first.
    pub(crate) fn benchmark() -> Self {
        let stiffness = DMatrix::from_row_slice(
            3,
            3,
            &[
                26054883.879603837,
                -23133938.877108198,
                5937035.463339146,
                -23133938.877108198,
                32560774.186380334,
                -14419970.777236981,
                5937035.463339146,
                -14419970.777236981,
                9267275.506224312,
            ],
        );
        let mass = DMatrix::identity(3, 3) * 1000.0;
        let damping = damping::modal(&mass, &stiffness, &[0.03]).unwrap();
        Self {
            structure: Structure::new(mass, damping, stiffness).unwrap(),
            partition: Partition {
                interface: vec![RelativeDof::of_dof(0)],
                specimen: Specimen {
                    matrices: SecondOrder {
                        mass: one(29.1),
                        damping: one(114.6),
                        stiffness: one(1.19e6),
                    },
                    elements: Vec::new(),
                },
                inside: None,
            },
            elements: Vec::new(),
            method: Method::RungeKutta4,
            step_s: STEP_S,
            transfer_system: TransferSystem::Ideal,
            converter: Converter::EXACT,
            displacement_noise: 0.0,
            force_noise: 0.0,
            seed: 1,
            limits: Limits::unlimited(1, STEP_S),
            safe_path: SafePath { hold_s: 0.05, rate_m_s: 0.02 },
            rule: WorkRule::Held,
            stop_at: f64::INFINITY,
            watch: MonitorPlan::default(),
            every: 1,
            detail: MotionDetail::Displacement,
            design: Design::None,
            shaping: ShapingDesign::default(),
            rates: None,
        }
    }

    pub(crate) fn with_step(mut self, step_s: f64) -> Self {
        self.step_s = step_s;
        self.limits.step_s = step_s;
        self
    }

    pub(crate) fn with_method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    pub(crate) fn with_delay(mut self, samples: f64) -> Self {
        self.transfer_system = TransferSystem::Delay { samples };
        self
    }

    pub(crate) fn with_transfer(mut self, transfer_system: TransferSystem) -> Self {
        self.transfer_system = transfer_system;
        self
    }

    /// The specimen's spring becomes a nonlinear element.
    pub(crate) fn with_specimen_law(mut self, law: Law) -> Self {
        self.structure.matrices.stiffness[(0, 0)] -= 1.19e6;
        self.partition.specimen.matrices.stiffness[(0, 0)] = 0.0;
        self.partition.specimen.elements.push((0, Element::new(law)));
        self
    }

    /// A nonlinear element between the floors 2 and 3, beside what is there.
    pub(crate) fn with_storey_law(mut self, law: Law) -> Self {
        let place = RelativeDof { from: Some(1), to: Some(2) };
        self.elements.push(ConnectedElement { place, element: Element::new(law) });
        self
    }

    /// Noise and quantiser of the benchmark.
    pub(crate) fn with_noise(mut self, seed: u64) -> Self {
        self.displacement_noise = 16.0e-6;
        self.force_noise = 2.18;
        self.converter = Converter { quantum: 2f64.powi(-18), saturation: 3.8 };
        self.seed = seed;
        self
    }

    pub(crate) fn count(&self) -> usize {
        self.partition.interface.len()
    }

    pub(crate) fn substructures(&self) -> Substructures {
        self.partition.split(&self.structure, &self.elements, &[LoadPattern::Ground]).unwrap()
    }

    pub(crate) fn rig(&self) -> VirtualRig {
        let sensors = |noise: f64, name: &str| -> Vec<Sensor> {
            let stream = |i: usize| Sensor::new(noise, 0.0, self.seed, &format!("{name}.{i}"));
            (0..self.count()).map(stream).collect()
        };
        VirtualRig::new(VirtualRigParts {
            transfer_system: self.transfer_system.clone(),
            specimen: self.partition.specimen.clone(),
            converter: self.converter,
            displacement_sensors: sensors(self.displacement_noise, "displacement"),
            force_sensors: sensors(self.force_noise, "force"),
            step_s: self.step_s,
        })
        .unwrap()
    }

    pub(crate) fn options(&self, direct_inertia: Option<DMatrix<f64>>) -> Options {
        Options { method: self.method, step_s: self.step_s, direct_inertia, iterations: 100 }
    }

    pub(crate) fn split(&self) -> Plant {
        let rig = self.rig();
        let direct = rig.direct_inertia();
        self.split_with(rig, direct)
    }

    pub(crate) fn split_with(
        &self,
        rig: impl Into<RigSlot>,
        direct: Option<DMatrix<f64>>,
    ) -> Plant {
        let equations = self.substructures().numerical;
        let numerical = Integrator::new(&equations, &self.options(direct)).unwrap();
        Plant::partitioned(numerical, self.elements.len(), rig)
    }

    /// The default two rates of this test, with a task of one tick.
    pub(crate) fn with_ratio(mut self, ratio: usize) -> Self {
        self.rates = Some(Rates {
            ratio,
            task_ticks: 1,
            force: ForceUse::AllSamples,
            lead: Lead::None,
            bridge: ratio,
            predictor: model::predictor::Design::Hermite,
            step_time: None,
        });
        self
    }

    /// The same structure and rig at the case's two rates, `load` known beforehand.
    pub(crate) fn two_rate_under(&self, load: Option<Load>) -> TwoRateModel {
        self.two_rate_of(self.rig().direct_inertia(), load)
    }

    fn two_rate_of(
        &self,
        direct_inertia: Option<DMatrix<f64>>,
        load: Option<Load>,
    ) -> TwoRateModel {
        TwoRateModel::new(TwoRateParts {
            rates: self.rates.unwrap(),
            numerical: &self.substructures().numerical,
            integrator: &self.options(None),
            specimen: &self.partition.specimen,
            preview: load,
            direct_inertia,
            seed: self.seed,
            detail: self.detail,
        })
        .unwrap()
    }

    /// The case's two rates with any rig that answers a tick late.
    pub(crate) fn two_rate_with(&self, rig: RigSlot) -> Plant {
        Plant::two_rate(self.two_rate_of(None, None), rig)
    }

    pub(crate) fn two_rate(&self) -> Plant {
        Plant::two_rate(self.two_rate_under(None), self.rig())
    }

    pub(crate) fn rigid(&self) -> Plant {
        let ideal = self.clone().with_transfer(TransferSystem::Ideal);
        let Substructures { whole, numerical } = self.substructures();
        let joined = numerical.joined(&self.partition.specimen.matrices);
        let whole = Equations { elements: whole.elements, ..joined };
        let whole = Integrator::new(&whole, &self.options(None)).unwrap();
        Plant::monolithic(whole, self.elements.len(), ideal.rig())
    }

    pub(crate) fn coupled(&self, scheme: Scheme) -> Plant {
        let specimen = &self.partition.specimen;
        let dynamics = match &self.transfer_system {
            TransferSystem::TransferFunction { function, .. } => {
                ActuatorDynamics::from_function(function, specimen)
            }
            TransferSystem::ServoHydraulic(servo) => {
                ActuatorDynamics::from_servo(servo, specimen).unwrap()
            }
            other => panic!("{other:?} has no dynamics"),
        };
        let numerical = self.substructures().numerical;
        let model = Coupled::new(&numerical, &dynamics, specimen, scheme, self.step_s).unwrap();
        Plant::continuous(model, self.rig())
    }

    pub(crate) fn parts(&self, plant: Plant, load: Load) -> LoopParts {
        let numerical = self.substructures().numerical;
        LoopParts {
            plant,
            compensator: self.compensator(),
            limits: self.limits.clone(),
            safe_path: self.safe_path,
            monitor: EnergyMonitor::new(&numerical, self.rule, 1.0, self.stop_at),
            load,
            step_s: self.step_s,
            every: self.every,
            detail: self.detail,
        }
    }

    pub(crate) fn compensator(&self) -> Compensator {
        let site = Site { count: self.count(), step_s: self.step_s, converter: self.converter };
        Compensator::new(&self.design, &self.shaping, &site).unwrap()
    }

    pub(crate) fn with_compensator(mut self, design: Design) -> Self {
        self.design = design;
        self
    }

    pub(crate) fn hybrid(&self, plant: Plant, load: Load) -> HybridLoop {
        HybridLoop::new(self.parts(plant, load), None).watched(&self.watch)
    }

    pub(crate) fn recorded(&self, plant: Plant, load: Load, sink: FrameSink) -> HybridLoop {
        HybridLoop::new(self.parts(plant, load), Some(sink)).watched(&self.watch)
    }

    pub(crate) fn channels(&self) -> Vec<model::channel::Channel> {
        let plan = FramePlan {
            dofs: self.structure.names.iter().map(|name| (name.clone(), "m".into())).collect(),
            interface: self.count(),
            loads: vec![model::channel::Channel::new("ground", "m/s²", "Ground")],
            parameters: self.design.parameters(self.count()),
            indicators: self.watch.channels(self.count()),
            source: self.rates.map_or_else(Vec::new, |_| Rates::channels()),
            auxiliary: Vec::new(),
        };
        plan.channels(&Block::hybrid(self.detail))
    }

    /// Runs a plant over `ticks` under the ground motion and keeps what it did.
    pub(crate) fn run(&self, plant: Plant, ticks: usize) -> Trace {
        self.run_under(plant, ground(self.step_s, ticks))
    }

    pub(crate) fn run_under(&self, plant: Plant, load: Load) -> Trace {
        let mut hybrid = self.hybrid(plant, load);
        let mut trace = Trace::default();
        while !hybrid.is_over() {
            let before = hybrid.phase();
            trace.interface.push(hybrid.source().numerical.desired().displacement.clone());
            trace.displacement.push(hybrid.source().numerical.displacement().to_vec());
            hybrid.tick();
            trace.command.push(hybrid.command().displacement.clone());
            trace.measured.push(hybrid.measured().displacement.clone());
            trace.force.push(hybrid.measured().force.clone());
            trace.energies.push(hybrid.monitor().energies());
            trace.warning.push(hybrid.monitor().stability_warning);
            trace.phase.push(before);
        }
        trace.end = Some(hybrid.phase());
        trace.trip = hybrid.tripped();
        trace.events = hybrid.events().events.to_vec();
        trace
    }
}

/// What a run did, one entry per tick.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) interface: Vec<Vec<f64>>,
    pub(crate) displacement: Vec<Vec<f64>>,
    pub(crate) command: Vec<Vec<f64>>,
    pub(crate) measured: Vec<Vec<f64>>,
    pub(crate) force: Vec<Vec<f64>>,
    pub(crate) energies: Vec<Energies>,
    pub(crate) warning: Vec<f64>,
    pub(crate) phase: Vec<Phase>,
    pub(crate) end: Option<Phase>,
    pub(crate) trip: Option<(runtime::gate::Trip, f64)>,
    pub(crate) events: Vec<Event>,
}

impl Trace {
    /// Largest displacement of any DOF.
    pub(crate) fn peak(&self) -> f64 {
        self.displacement.iter().flatten().fold(0.0, |most, x| x.abs().max(most))
    }

    /// Largest distance to a trace whose steps are `ratio` times shorter, over
    /// the peak of the latter.
    pub(crate) fn distance(&self, fine: &Trace, ratio: usize) -> f64 {
        let mut most = 0.0f64;
        for (k, row) in self.displacement.iter().enumerate() {
            for (a, b) in row.iter().zip(&fine.displacement[k * ratio]) {
                most = most.max((a - b).abs());
            }
        }
        assert!(most.is_finite());
        most / fine.peak()
    }
}

pub(crate) fn one(value: f64) -> DMatrix<f64> {
    DMatrix::from_element(1, 1, value)
}

/// A smooth ground motion that excites all three modes, the same at every rate.
pub(crate) fn ground(step_s: f64, ticks: usize) -> Load {
    let sample = |k: usize| {
        let t = k as f64 * step_s;
        let rise = if t < 0.5 { (TAU * t / 2.0).sin().powi(2) } else { 1.0 };
        rise * (1.5 * (TAU * 3.3 * t).sin()
            + 1.0 * (TAU * 1.7 * t + 0.4).sin()
            + 1.5 * (TAU * 14.0 * t + 1.1).sin())
    };
    Load::new(&[(0..=ticks).map(sample).collect::<Vec<_>>()], ticks)
}

/// A quick actuator: the loop with it is stable.
pub(crate) fn quick() -> TransferSystem {
    let (omega, zeta) = (TAU * 60.0, 0.7);
    let second = [1.0, 2.0 * zeta * omega, omega * omega];
    // Third order, so that the acceleration does not see the command at once.
    let corner = TAU * 200.0;
    let denominator = [1.0, second[1] + corner, second[2] + corner * second[1], corner * second[2]];
    let function = TransferFunction::new(&[corner * omega * omega], &denominator).unwrap();
    TransferSystem::TransferFunction { function, samples: 0.0 }
}

pub(crate) fn servo() -> TransferSystem {
    TransferSystem::ServoHydraulic(ServoHydraulic::BENCHMARK)
}
