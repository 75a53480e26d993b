//! From an experiment file to a rig, a simulated part and a course.

use std::f64::consts::TAU;

use analysis::iterative::{
    FoldMark, Mark, TracePoint, TraceSettings, WholeStructure, bias_m, unmatched_share,
};
use model::equations::{ConnectedElement, RelativeDof};
use model::excitation::Generated;
use model::integrator::{Hold, Method};
use model::shaken::{ShakenSpecimen, Shaker};
use nalgebra::DMatrix;
use numerics::continuation::{Corrector, Course, Difference, Refresh, Steps};
use numerics::second_order::SecondOrder;
use runtime::periodic::{Control, Mean, PeriodicLoop, PeriodicSettings, Settling};
use runtime::rig::{FaultyRig, LateForce, RigSlot, ShakenRig, ShakenSensors};
use runtime::stop::StopHandle;

use super::Place;
use crate::assembly::Assembly;
use crate::error::Error;
use experiment::closed_loop;
use experiment::trace::{CourseSpec, MeanSpec, MethodSpec};
use experiment::{Experiment, SignalSource, TraceSpec};

/// Bias and share of unmatched harmonics are estimates within a factor of two.
const FACTOR: f64 = 2.0;
/// What decimal numbers in a file may be off.
const ROUNDING: f64 = 1e-6;

/// Everything a trace needs.
pub struct Setup<'a> {
    experiment: &'a Experiment,
    assembly: &'a Assembly,
    spec: &'a TraceSpec,
    amplitudes: Vec<f64>,
}

impl<'a> Setup<'a> {
    /// Checks what the file says of the loads.
    pub fn new(experiment: &'a Experiment, assembly: &'a Assembly) -> Result<Self, Error> {
        let spec = experiment.trace.as_ref().ok_or(Error::NoTrace)?;
        if assembly.rates.is_some() {
            return Err(Error::TracedMainLoop);
        }
        let setup = Self { experiment, assembly, spec, amplitudes: amplitudes(experiment)? };
        setup.check_compensation()?;
        Ok(setup)
    }

    /// No more mass can stand in the laboratory and be simulated than is simulated.
    fn check_compensation(&self) -> Result<(), Error> {
        let numerical = &self.assembly.substructures.numerical;
        for (dof, declared_kg) in self.compensated_kg().into_iter().enumerate() {
            let place = numerical.interface[dof];
            let (None, Some(at), None) = (&numerical.states, place.to, place.from) else {
                continue;
            };
            let simulated_kg = numerical.matrices.mass[(at, at)];
            if declared_kg > (1.0 + ROUNDING) * simulated_kg {
                let place = Place::all(self.assembly)[dof].name.clone();
                return Err(Error::Compensation { place, declared_kg, simulated_kg });
            }
        }
        Ok(())
    }

    /// What is declared.
    pub fn spec(&self) -> &TraceSpec {
        self.spec
    }

    /// The models.
    pub fn assembly(&self) -> &Assembly {
        self.assembly
    }

    /// Amplitude of each load pattern.
    pub fn amplitudes(&self) -> &[f64] {
        &self.amplitudes
    }

    /// Mass in the laboratory that is simulated, kg, per interface DOF.
    pub fn compensated_kg(&self) -> Vec<f64> {
        let count = self.assembly.count();
        let declared = self.spec.inertia_compensation_kg.as_ref();
        declared.map_or(vec![0.0; count], |values| values.expand(count))
    }

    /// What the simulation adds to or takes from the amplitude at a point, m, where that
    /// can be told.
    pub fn bias_m(&self, point: &TracePoint) -> Option<f64> {
        let numerical = &self.assembly.substructures.numerical;
        let compensated = self.compensated_kg();
        bias_m(numerical, &self.amplitudes, &compensated, point.frequency_hz, &point.orbit)
    }

    /// The part of a point's amplitude that harmonics which are not matched may cost or
    /// add, where that can be told.
    pub fn unmatched_share(&self, point: &TracePoint) -> Option<f64> {
        let numerical = &self.assembly.substructures.numerical;
        let (hz, orbit, matched) = (point.frequency_hz, &point.orbit, self.spec.harmonics);
        let compensated = self.compensated_kg();
        unmatched_share(numerical, &self.amplitudes, &compensated, hz, orbit, matched)
    }

    /// Half-width of the interval of a DOF that the simulation and the harmonics leave open, m.
    pub fn systematic_m(&self, point: &TracePoint, dof: usize) -> f64 {
        let bias_m = self.bias_m(point).unwrap_or(0.0).abs();
        let unmatched = self.unmatched_share(point).unwrap_or(0.0);
        FACTOR * (bias_m + unmatched * point.amplitude_m(dof))
    }

    /// The point with all that is known in its interval.
    pub fn judged(&self, point: &TracePoint) -> TracePoint {
        let mut judged = point.clone();
        for (dof, interval_m) in judged.interval_m.iter_mut().enumerate() {
            *interval_m += self.systematic_m(point, dof);
        }
        judged
    }

    /// The folds with all that is known in their intervals: what shifts the amplitude by a
    /// share shifts a fold by that share of its distance to the next one and of a tenth of
    /// the frequency's scale. A fold at the tip of a resonance moves along its ridge.
    pub fn judged_folds(&self, mut folds: Vec<FoldMark>, points: &[TracePoint]) -> Vec<FoldMark> {
        let marks: Vec<Mark> = folds.iter().map(|fold| fold.mark).collect();
        for (k, fold) in folds.iter_mut().enumerate() {
            let Mark { frequency_hz, amplitude_m } = fold.mark;
            let far = |point: &TracePoint| {
                let (hz, size) =
                    (point.frequency_hz - frequency_hz, point.amplitude_m(0) - amplitude_m);
                (hz / self.spec.scale_hz()).hypot(size / self.spec.scale_m())
            };
            let near =
                (0..points.len()).min_by(|&a, &b| far(&points[a]).total_cmp(&far(&points[b])));
            let Some(near) = near else { continue };
            let others = marks.iter().enumerate().filter(|(other, _)| *other != k);
            let apart = others.map(|(_, other)| (other.frequency_hz - frequency_hz).abs());
            let apart_hz = apart.fold(self.spec.scale_hz(), f64::min) + 0.1 * self.spec.scale_hz();
            let systematic_m = self.systematic_m(&points[near], 0);
            let ridge_hz = along_ridge_hz(points, near, fold.mark, systematic_m).unwrap_or(0.0);
            fold.interval_m += systematic_m;
            fold.interval_hz += (systematic_m / amplitude_m * apart_hz).max(ridge_hz);
        }
        folds
    }

    /// The structure as if it were built, with these loads; `None` where its model says
    /// nothing of it.
    pub fn whole(&self) -> Option<WholeStructure> {
        let shaker = self.spec.shaker.as_ref();
        let preload = shaker.and_then(|shaker| shaker.preload_n.as_ref());
        let preload = preload.map(|preload| preload.expand(self.assembly.count()));
        let whole = &self.assembly.substructures.whole;
        WholeStructure::new(whole, &self.amplitudes, preload.as_deref(), self.spec.harmonics)
    }

    /// The loop, with the rig in this process or at the end of the wire that the
    /// assembly names.
    pub fn periodic(&self, stop: &StopHandle) -> Result<PeriodicLoop, Error> {
        let rig = match &self.assembly.remote {
            Some(laboratory) => laboratory.arm(stop)?.into(),
            None => self.rig()?,
        };
        Ok(PeriodicLoop::new(rig, self.settings())?)
    }

    /// The virtual rig: the declared shaker, or that of the transfer system.
    pub fn rig(&self) -> Result<RigSlot, Error> {
        let compensated = self.compensated_kg();
        let Some(shaker) = &self.spec.shaker else {
            let mut assembly = self.assembly.clone();
            for (i, mass) in compensated.iter().enumerate() {
                assembly.partition.specimen.matrices.mass[(i, i)] += mass;
            }
            return assembly.rig_alone()?.ok_or(Error::AnswersWithinTick);
        };
        let count = self.assembly.count();
        let actuator = Shaker {
            gain_n_per_v: 1.0,
            lag_s: shaker.lag_s,
            proportional_v_per_m: shaker.stiffness_n_m,
            derivative_v_s_per_m: shaker.damping_n_s_m,
        };
        let mut specimen = shaken_specimen(self.assembly);
        let first = specimen.matrices.mass.nrows() - count;
        for (i, mass) in compensated.iter().enumerate() {
            specimen.matrices.mass[(first + i, first + i)] += mass;
        }
        if let Some(preload) = &shaker.preload_n {
            specimen.preload_n = preload.expand(count);
        }
        let step_s = self.assembly.integrator.step_s;
        let rig = ShakenRig::new(&actuator, &specimen, self.sensors(), step_s)?;
        let late = self.assembly.sensors.force_delay;
        let mut whole = RigSlot::from(rig);
        if late > 0 {
            whole = LateForce::new(whole, late, count).into();
        }
        if !self.assembly.faults.is_empty() {
            let (faults, seed) = (&self.assembly.faults, self.assembly.seed);
            whole = FaultyRig::new(whole, faults, count, seed).into();
        }
        Ok(whole)
    }

    fn sensors(&self) -> ShakenSensors {
        let values = &self.assembly.sensors;
        let none = vec![0.0; self.assembly.count()];
        let sensors = |name: &str, noise: &[f64], quantum: &[f64]| {
            self.assembly.sensors_called(&format!("trace.{name}"), noise, quantum)
        };
        ShakenSensors {
            displacement: sensors(
                "displacement",
                &values.displacement_noise,
                &values.displacement_quantum,
            ),
            force: sensors("force", &values.force_noise, &values.force_quantum),
            acceleration: sensors("acceleration", &values.acceleration_noise, &none),
        }
    }

    /// The loop as it is declared.
    pub fn settings(&self) -> PeriodicSettings {
        let (spec, assembly) = (self.spec, self.assembly);
        let step_s = assembly.integrator.step_s;
        let force_s = spec.delays.force_s;
        let force_s = force_s.unwrap_or(assembly.sensors.force_delay as f64 * step_s);
        PeriodicSettings {
            equations: assembly.substructures.numerical.clone(),
            load: self.amplitudes.clone(),
            method: self.method(),
            control: Control {
                proportional_n_per_m: spec.control.stiffness_n_m,
                derivative_n_s_per_m: spec.control.damping_n_s_m,
                filter_s: spec.control.filter_s,
            },
            inertia_compensation_kg: self.compensated_kg(),
            sensor_delays_s: [spec.delays.displacement_s, force_s, spec.delays.acceleration_s],
            mean: match self.mean() {
                MeanSpec::Followed => Mean::Followed,
                MeanSpec::Solved | MeanSpec::Zero => Mean::Commanded,
            },
            ramp_m_s: spec.ramp_m_s,
            harmonics: spec.harmonics,
            seen_harmonics: spec.seen(),
            settling: Settling {
                tolerance_m: spec.settling_tolerance_m(),
                spell: spec.settling.spell,
                scatter_m: spec.scatter_m(),
                most_estimates: spec.settling.periods,
                refined_estimates: spec.settling.refined.max(spec.settling.periods),
                most_s: spec.settling.longest_s,
            },
            limits: assembly.limits.clone(),
            safe_path: assembly.safe_path,
        }
    }

    /// The algorithm of the simulated part: nothing is fed back, so both ends of a step are
    /// known and no force need be held.
    fn method(&self) -> Method {
        match self.experiment.integrator.method {
            closed_loop::Method::Exact { hold: None } => Method::Exact(Hold::First),
            _ => self.assembly.integrator.method,
        }
    }

    /// What becomes of the target's mean.
    pub fn mean(&self) -> MeanSpec {
        let assembly = self.assembly;
        let elements = !assembly.substructures.numerical.elements.is_empty()
            || !shaken_specimen(assembly).elements.is_empty();
        let preloaded = self.spec.shaker.as_ref().is_some_and(|shaker| shaker.preload_n.is_some());
        self.spec.mean.unwrap_or(match &self.spec.shaker {
            _ if assembly.remote.is_none() && !elements && !preloaded => MeanSpec::Zero,
            Some(_) => MeanSpec::Followed,
            None => MeanSpec::Solved,
        })
    }

    /// What is traced.
    pub fn trace(&self) -> TraceSettings {
        let spec = self.spec;
        let (low, high) = spec.band_hz();
        let first = if spec.falling() { high } else { low };
        let course = match spec.course {
            CourseSpec::Arclength => Course::Arclength {
                steps: Steps {
                    first: spec.steps.first,
                    least: spec.steps.least,
                    most: spec.steps.most,
                    grow: 1.3,
                    shrink: 0.5,
                    most_turn_rad: spec.steps.turn_rad,
                    most_points: spec.points,
                },
                falling: spec.falling(),
            },
            CourseSpec::Sweep => Course::Sweep { values: sweep(spec) },
        };
        let dofs = self.assembly.count();
        let mut settings = TraceSettings {
            dofs,
            mean: self.mean() == MeanSpec::Solved,
            harmonics: spec.harmonics,
            band_hz: spec.band_hz(),
            target_limit_m: spec.target_m,
            scale_m: spec.scale_m(),
            scale_hz: spec.scale_hz(),
            corrector: Corrector {
                tolerance: spec.tolerance_m(),
                floor: 2.5,
                most_iterations: 8,
                most_halvings: 3,
                refresh: Refresh::EveryPoint,
                difference: Difference { least: 0.01, most: 0.5, over_noise: 10.0 },
            },
            surrogate: spec.method == MethodSpec::Surrogate,
            course,
            guess: Vec::new(),
        };
        settings.guess = vec![0.0; settings.unknowns()];
        if let Some(frequency) = settings.guess.last_mut() {
            *frequency = first;
        }
        settings
    }

    /// The file.
    pub fn experiment(&self) -> &Experiment {
        self.experiment
    }
}

/// The frequencies of a sweep.
fn sweep(spec: &TraceSpec) -> Vec<f64> {
    let (low, high) = spec.band_hz();
    let (from, to) = if spec.falling() { (high, low) } else { (low, high) };
    let last = spec.points.saturating_sub(1).max(1) as f64;
    // Rounding must not leave the band.
    let value = |k: usize| (from + (to - from) * k as f64 / last).clamp(low, high);
    (0..spec.points).map(value).collect()
}

/// The amplitudes of the loads, in the order of the load patterns.
fn amplitudes(experiment: &Experiment) -> Result<Vec<f64>, Error> {
    let excitation = &experiment.excitation;
    let ground =
        excitation.ground.iter().map(|ground| ("[excitation.ground]".to_owned(), &ground.signal));
    let forces = excitation.forces.iter().enumerate().map(|(index, force)| {
        (format!("force {} of [[excitation.force]]", index + 1), &force.signal.0)
    });
    let mut first_phase = None;
    let mut found = Vec::new();
    for (place, signal) in ground.chain(forces) {
        let SignalSource::Generated(Generated::Harmonic(sine)) = signal else {
            return Err(Error::NotHarmonic { place });
        };
        let first = *first_phase.get_or_insert(sine.phase_rad);
        let turn = ((sine.phase_rad - first) / TAU).fract().abs();
        if turn.min(1.0 - turn) > 1e-9 {
            return Err(Error::Phases { place });
        }
        found.push(sine.amplitude);
    }
    Ok(found)
}

/// The specimen with all its DOFs: what is inside, then the interface.
fn shaken_specimen(assembly: &Assembly) -> ShakenSpecimen {
    let partition = &assembly.partition;
    let (specimen, count) = (&partition.specimen, assembly.count());
    let inside = partition.inside.as_ref();
    let own = inside.map_or(0, |inside| inside.dofs.len());
    let joined = |at: &DMatrix<f64>, of: Option<(&DMatrix<f64>, &DMatrix<f64>)>| {
        let mut whole = DMatrix::zeros(own + count, own + count);
        whole.view_mut((own, own), (count, count)).copy_from(at);
        if let Some((alone, joint)) = of {
            whole.view_mut((0, 0), (own, own)).copy_from(alone);
            whole.view_mut((0, own), (own, count)).copy_from(joint);
            whole.view_mut((own, 0), (count, own)).copy_from(&joint.transpose());
        }
        whole
    };
    let local = |dof: Option<usize>| {
        let dof = dof?;
        let within = inside.and_then(|inside| inside.dofs.iter().position(|&d| d == dof));
        within.or_else(|| {
            partition.interface.iter().position(|place| place.to == Some(dof)).map(|k| own + k)
        })
    };
    let at_interface = specimen.elements.iter().map(|(dof, element)| ConnectedElement {
        place: RelativeDof::of_dof(own + dof),
        element: element.clone(),
    });
    let between = assembly.inside_elements.iter().map(|placed| ConnectedElement {
        place: RelativeDof { from: local(placed.place.from), to: local(placed.place.to) },
        element: placed.element.clone(),
    });
    let [mass, damping, stiffness] = [0, 1, 2].map(|k| {
        let of = inside.map(|i| (i.matrices.each()[k], i.to_interface.each()[k]));
        joined(specimen.matrices.each()[k], of)
    });
    ShakenSpecimen {
        matrices: SecondOrder { mass, damping, stiffness },
        interface: (own..own + count).collect(),
        elements: at_interface.chain(between).collect(),
        preload_n: vec![0.0; count],
    }
}

/// How far the tip of a resonance lies from where its ridge has so much less amplitude: halfway
/// between its flanks. `None` for a fold on whose one side the amplitude goes on to rise.
fn along_ridge_hz(points: &[TracePoint], tip: usize, mark: Mark, less_m: f64) -> Option<f64> {
    const RISES: f64 = 1.1;
    let wanted_m = mark.amplitude_m - less_m;
    let flank = |side: &mut dyn Iterator<Item = usize>| {
        let mut before = (mark.amplitude_m, mark.frequency_hz);
        for k in side {
            let here = (points[k].amplitude_m(0), points[k].frequency_hz);
            if here.0 > RISES * mark.amplitude_m {
                return None;
            }
            if here.0 <= wanted_m && here.0 < before.0 {
                let part = ((before.0 - wanted_m) / (before.0 - here.0)).clamp(0.0, 1.0);
                return Some(before.1 + part * (here.1 - before.1));
            }
            before = here;
        }
        None
    };
    let flanks = [flank(&mut (0..tip).rev()), flank(&mut (tip + 1..points.len()))];
    let [Some(one), Some(other)] = flanks else { return None };
    Some((mark.frequency_hz - 0.5 * (one + other)).abs())
}
