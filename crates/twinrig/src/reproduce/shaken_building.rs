//! The paper's bench-top building: storeys 1 to 3 on a virtual shaker, storey 4
//! and a part of storey 3 simulated.

use crate::error::Error;
use analysis::iterative::{PeriodicExperiment, TraceSettings};
use model::element::{Element, Law, Side};
use model::equations::{ConnectedElement, Equations, RelativeDof};
use model::integrator::Method;
use model::periodic::{Coefficients, Orbit};
use model::sensor::Sensor;
use model::shaken::{ShakenSpecimen, Shaker};
use model::structure::shear_building;
use nalgebra::{Complex, DMatrix, DVector};
use numerics::continuation::{Corrector, Course, Difference, Refresh};
use numerics::harmonic_balance::{HarmonicBalance, System};
use numerics::second_order::SecondOrder;
use runtime::gate::Limits;
use runtime::interlock::SafePath;
use runtime::periodic::{Control, Mean, PeriodicLoop, PeriodicSettings, Settling};
use runtime::rig::{ShakenRig, ShakenSensors};

use super::beregi::{DAMPING_N_S_M, MASS_KG, STIFFNESS_N_M};

/// Step of the loop, s.
const STEP_S: f64 = 1e-4;
/// Force of the shaker that keeps the bracket closed at rest, N.
const PRELOAD_N: f64 = 26.68;

/// Which building is shaken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Legs {
    /// As in the paper's table.
    Linear,
    /// Twice as stiff in storey 3 for x3 ≥ x2, preloaded.
    Bilinear,
}

/// The rig as an experiment.
pub(crate) struct ShakenBuilding(PeriodicLoop);

impl PeriodicExperiment for ShakenBuilding {
    type Error = Error;

    fn apply(&mut self, frequency_hz: f64, target: &[Coefficients]) -> Result<Orbit, Error> {
        self.0.settle(frequency_hz, target).map_err(Error::Periodic)
    }
}

impl ShakenBuilding {
    /// With `simulated_kg` of storey 3 simulated: its inertia is taken out of the
    /// measured force, for the whole storey stands in the laboratory.
    pub(crate) fn new(legs: Legs, simulated_kg: f64, harmonics: usize) -> Result<Self, Error> {
        let physical = shear_building(&MASS_KG[..3], &STIFFNESS_N_M[..3], &DAMPING_N_S_M[..3])?;
        let law = Law::Gap { stiffness: STIFFNESS_N_M[2], opening: 0.0, side: Side::Positive };
        let bracket = ConnectedElement {
            place: RelativeDof { from: Some(1), to: Some(2) },
            element: Element::new(law),
        };
        let specimen = ShakenSpecimen {
            matrices: physical.matrices,
            interface: vec![2],
            elements: if legs == Legs::Bilinear { vec![bracket] } else { Vec::new() },
            preload_n: vec![if legs == Legs::Bilinear { PRELOAD_N } else { 0.0 }],
        };
        // The paper's gains, with an amplifier that lets them settle soon.
        let shaker = Shaker {
            gain_n_per_v: 50.0,
            lag_s: 1e-3,
            proportional_v_per_m: 100.0,
            derivative_v_s_per_m: 10.0,
        };
        let sensor = |name: &str| vec![Sensor::new(0.0, 0.0, 1, name)];
        let sensors = ShakenSensors {
            displacement: sensor("laser"),
            force: sensor("load cell"),
            acceleration: sensor("accelerometer"),
        };
        let rig = ShakenRig::new(&shaker, &specimen, sensors, STEP_S).map_err(Error::Specimen)?;
        let test = PeriodicLoop::new(rig, settings(legs, simulated_kg, harmonics))
            .map_err(Error::Integrator)?;
        Ok(Self(test))
    }

    /// Nanoseconds of a tick while the rig moves, over `time_s` of it; `go` ticks
    /// once or more.
    pub(crate) fn time_ticks(&mut self, time_s: f64, go: fn(&mut PeriodicLoop)) -> f64 {
        let mut target = self.0.source().blank_target();
        target[0].0[1] = 2e-4;
        self.0.set(13.5, &target);
        let (start, begun_s) = (std::time::Instant::now(), self.0.time_s());
        while self.0.time_s() < begun_s + time_s {
            go(&mut self.0);
        }
        let ticks = (self.0.time_s() - begun_s) / STEP_S;
        start.elapsed().as_nanos() as f64 / ticks
    }
}

fn settings(legs: Legs, simulated_kg: f64, harmonics: usize) -> PeriodicSettings {
    let leg = |k: f64| DMatrix::from_row_slice(2, 2, &[k, -k, -k, k]);
    let mass = DVector::from_column_slice(&[simulated_kg, MASS_KG[3]]);
    PeriodicSettings {
        equations: Equations {
            matrices: SecondOrder {
                mass: DMatrix::from_diagonal(&mass),
                damping: leg(DAMPING_N_S_M[3]),
                stiffness: leg(STIFFNESS_N_M[3]),
            },
            load: DMatrix::from_column_slice(2, 1, &[0.0, 1.0]),
            interface: vec![RelativeDof::of_dof(0)],
            elements: Vec::new(),
            states: None,
        },
        load: vec![force_n(legs)],
        method: Method::Newmark,
        control: Control { proportional_n_per_m: 2e4, derivative_n_s_per_m: 400.0, filter_s: 1e-3 },
        inertia_compensation_kg: vec![simulated_kg],
        sensor_delays_s: [0.0; 3],
        mean: Mean::Followed,
        ramp_m_s: f64::INFINITY,
        harmonics,
        seen_harmonics: harmonics,
        settling: Settling {
            tolerance_m: 5e-9,
            spell: 3,
            scatter_m: f64::INFINITY,
            most_estimates: 6,
            refined_estimates: 6,
            most_s: 10.0,
        },
        limits: Limits {
            command: vec![0.03],
            rate: vec![f64::INFINITY],
            force: vec![f64::INFINITY],
            tracking_error: vec![f64::INFINITY],
            step_s: STEP_S,
        },
        safe_path: SafePath { hold_s: 0.1, rate_m_s: 0.01 },
    }
}

/// Amplitude of the force at storey 4, N.
fn force_n(legs: Legs) -> f64 {
    match legs {
        Legs::Linear => 1.0,
        Legs::Bilinear => 3.0,
    }
}

/// How either building is traced.
pub(super) fn trace_settings(legs: Legs, harmonics: usize, course: Course) -> TraceSettings {
    let (band_hz, scale_m, scale_hz, tolerance) = match legs {
        Legs::Linear => ((12.0, 14.0), 1e-3, 0.3, 1e-8),
        Legs::Bilinear => ((13.7, 14.6), 3e-3, 0.1, 5e-7),
    };
    let mut guess = vec![0.0; 2 * harmonics + 1];
    guess[2 * harmonics] = match &course {
        Course::Sweep { values } => values.first().copied().unwrap_or(band_hz.0),
        Course::Arclength { falling: true, .. } => band_hz.1,
        Course::Arclength { falling: false, .. } => band_hz.0,
    };
    TraceSettings {
        dofs: 1,
        mean: false,
        harmonics,
        band_hz,
        target_limit_m: 0.025,
        scale_m,
        scale_hz,
        surrogate: false,
        corrector: Corrector {
            tolerance,
            floor: 2.5,
            most_iterations: 8,
            most_halvings: 3,
            refresh: Refresh::EveryPoint,
            difference: Difference { least: 0.01, most: 0.5, over_noise: 10.0 },
        },
        course,
        guess,
    }
}

/// The whole linear building, for comparison.
pub(super) fn whole_building() -> Result<HarmonicBalance, Error> {
    let whole = shear_building(&MASS_KG[..4], &STIFFNESS_N_M[..4], &DAMPING_N_S_M[..4])?;
    let mut harmonic = DVector::zeros(4);
    harmonic[3] = Complex::from(force_n(Legs::Linear));
    let system = System {
        linear: whole.matrices,
        springs: Vec::new(),
        constant: DVector::zeros(4),
        harmonic,
    };
    Ok(HarmonicBalance::new(system, 1))
}
