//! Iterative tests on the four-storey building of the specification, with a
//! virtual rig of storeys 1 to 3.

use std::f64::consts::TAU;

use analysis::iterative::{PeriodicExperiment, Trace, TraceSettings};
use model::element::{Element, Law, Side};
use model::equations::{ConnectedElement, Equations, RelativeDof};
use model::integrator::Method;
use model::periodic::{Coefficients, Orbit};
use model::sensor::Sensor;
use model::shaken::{ShakenSpecimen, Shaker};
use nalgebra::{Complex, DMatrix, DVector};
use numerics::continuation::{Corrector, Course, Difference, End, Refresh, Steps};
use numerics::second_order::SecondOrder;
use runtime::gate::Limits;
use runtime::interlock::SafePath;
use runtime::periodic::{Control, Mean, PeriodicError, PeriodicLoop, PeriodicSettings, Settling};
use runtime::rig::{ShakenRig, ShakenSensors};

const STEP_S: f64 = 1e-4;
const LEGS: [f64; 4] = [53048.0, 45724.0, 45052.0, 45052.0];
const DAMPERS: [f64; 4] = [4.4062, 3.7979, 3.7421, 3.7421];

struct Rig(PeriodicLoop);

impl PeriodicExperiment for Rig {
    type Error = PeriodicError;

    fn apply(
        &mut self,
        frequency_hz: f64,
        target: &[Coefficients],
    ) -> Result<Orbit, PeriodicError> {
        self.0.settle(frequency_hz, target)
    }
}

fn chain(values: &[f64]) -> DMatrix<f64> {
    let n = values.len();
    let mut out = DMatrix::zeros(n, n);
    for (i, k) in values.iter().enumerate() {
        out[(i, i)] += k;
        if i > 0 {
            out[(i - 1, i - 1)] += k;
            out[(i, i - 1)] -= k;
            out[(i - 1, i)] -= k;
        }
    }
    out
}

/// |x3| of the whole building under 1 N at storey 4.
fn truth(hz: f64) -> f64 {
    let omega = TAU * hz;
    let (k, c) = (chain(&LEGS), chain(&DAMPERS));
    let m = [5.37, 5.37, 5.37, 10.74];
    let d = DMatrix::from_fn(4, 4, |i, j| {
        let inertia = if i == j { omega * omega * m[i] } else { 0.0 };
        Complex::new(k[(i, j)] - inertia, omega * c[(i, j)])
    });
    let mut load = DVector::zeros(4);
    load[3] = Complex::from(1.0);
    d.lu().solve(&load).expect("a damped structure")[2].norm()
}

struct Setup {
    simulated_kg: f64,
    force_n: f64,
    noise: f64,
    bilinear: bool,
    harmonics: usize,
    method: Method,
}

fn rig(setup: &Setup) -> Rig {
    let law = Law::Gap { stiffness: LEGS[2], opening: 0.0, side: Side::Positive };
    let place = RelativeDof { from: Some(1), to: Some(2) };
    let specimen = ShakenSpecimen {
        matrices: SecondOrder {
            mass: DMatrix::from_diagonal_element(3, 3, 5.37),
            damping: chain(&DAMPERS[..3]),
            stiffness: chain(&LEGS[..3]),
        },
        interface: vec![2],
        elements: if setup.bilinear {
            vec![ConnectedElement { place, element: Element::new(law) }]
        } else {
            Vec::new()
        },
        preload_n: vec![if setup.bilinear { 26.68 } else { 0.0 }],
    };
    let shaker = Shaker {
        gain_n_per_v: 50.0,
        lag_s: 1e-3,
        proportional_v_per_m: 100.0,
        derivative_v_s_per_m: 10.0,
    };
    let sensor = |size: f64, name: &str| vec![Sensor::new(setup.noise * size, 0.0, 5, name)];
    let sensors = ShakenSensors {
        displacement: sensor(1e-6, "laser"),
        force: sensor(0.05, "cell"),
        acceleration: sensor(0.02, "accelerometer"),
    };
    let leg = |k: f64| DMatrix::from_row_slice(2, 2, &[k, -k, -k, k]);
    let settings = PeriodicSettings {
        equations: Equations {
            matrices: SecondOrder {
                mass: DMatrix::from_diagonal(&DVector::from_column_slice(&[
                    setup.simulated_kg,
                    10.74,
                ])),
                damping: leg(DAMPERS[3]),
                stiffness: leg(LEGS[3]),
            },
            load: DMatrix::from_column_slice(2, 1, &[0.0, 1.0]),
            interface: vec![RelativeDof::of_dof(0)],
            elements: Vec::new(),
            states: None,
        },
        load: vec![setup.force_n],
        method: setup.method,
        control: Control { proportional_n_per_m: 2e4, derivative_n_s_per_m: 400.0, filter_s: 1e-3 },
        inertia_compensation_kg: vec![setup.simulated_kg],
        sensor_delays_s: [0.0; 3],
        mean: Mean::Followed,
        ramp_m_s: f64::INFINITY,
        harmonics: setup.harmonics,
        seen_harmonics: setup.harmonics + 2,
        settling: Settling {
            tolerance_m: 5e-9,
            spell: 3,
            scatter_m: 4e-8,
            most_estimates: 30,
            refined_estimates: 30,
            most_s: 10.0,
        },
        limits: Limits {
            command: vec![2e-2],
            rate: vec![f64::INFINITY],
            force: vec![f64::INFINITY],
            tracking_error: vec![f64::INFINITY],
            overshoot: f64::INFINITY,
            step_s: STEP_S,
        },
        safe_path: SafePath { hold_s: 0.01, rate_m_s: 0.1 },
    };
    let rig = ShakenRig::new(&shaker, &specimen, sensors, STEP_S).expect("mass everywhere");
    Rig(PeriodicLoop::new(rig, settings).expect("mass everywhere"))
}

fn corrector(tolerance: f64) -> Corrector {
    Corrector {
        tolerance,
        floor: 2.5,
        most_iterations: 8,
        most_halvings: 3,
        refresh: Refresh::EveryPoint,
        difference: Difference { least: 0.01, most: 0.5, over_noise: 10.0 },
    }
}

fn linear(simulated_kg: f64) -> Setup {
    Setup {
        simulated_kg,
        force_n: 1.0,
        noise: 0.0,
        bilinear: false,
        harmonics: 1,
        method: Method::Newmark,
    }
}

fn sweep(values: Vec<f64>, tolerance: f64) -> TraceSettings {
    TraceSettings {
        dofs: 1,
        mean: false,
        harmonics: 1,
        band_hz: (11.0, 15.0),
        target_limit_m: 1e-2,
        scale_m: 1e-3,
        scale_hz: 1.0,
        surrogate: false,
        corrector: corrector(tolerance),
        guess: vec![1e-5, 0.0, values[0]],
        course: Course::Sweep { values },
    }
}

#[test]
fn the_response_is_the_same_for_every_split_of_the_mass() {
    let values = vec![12.5, 13.2, 13.4, 13.47148, 13.55, 13.8];
    for simulated_kg in [3.58, 2.69, 1.79] {
        let settings = sweep(values.clone(), 5e-8);
        let mut trace = Trace::new(rig(&linear(simulated_kg)), settings);
        assert_eq!(trace.run(), Ok(End::Complete));
        assert_eq!(trace.points().len(), values.len());
        for point in trace.points() {
            let (ours, truth) = (point.amplitude_m(0), truth(point.frequency_hz));
            let off = (ours - truth).abs();
            assert!(
                off < 2e-3 * 3.416e-4,
                "{simulated_kg} kg, {} Hz: {ours} {truth}",
                point.frequency_hz
            );
            // The interval knows nothing of the bias of sampling at 0.1 ms, up to
            // 0.12 % of the peak here; it falls with the square of the step.
            assert!(off < point.interval_m[0] + 1.3e-3 * 3.416e-4, "{off} {:?}", point.interval_m);
        }
    }
}

#[test]
fn implicit_euler_matches_both_sides_and_is_wrong_all_the_same() {
    let setup = Setup { method: Method::ImplicitEuler, ..linear(3.58) };
    let mut trace = Trace::new(rig(&setup), sweep(vec![13.4, 13.47148], 5e-8));
    assert_eq!(trace.run(), Ok(End::Complete));
    let peak = trace.points()[1].amplitude_m(0);
    assert!(peak < 0.8 * truth(13.47148), "{peak}");
}

#[test]
fn noise_widens_the_interval_and_the_interval_holds_the_truth() {
    let setup = Setup { noise: 10.0, ..linear(2.69) };
    let mut trace = Trace::new(rig(&setup), sweep(vec![13.2, 13.4, 13.45, 13.5, 13.6], 5e-8));
    assert_eq!(trace.run(), Ok(End::Complete));
    for point in trace.points() {
        let off = (point.amplitude_m(0) - truth(point.frequency_hz)).abs();
        assert!(off < 0.01 * 3.416e-4, "{} Hz: {off}", point.frequency_hz);
        assert!(
            off < 1.5 * point.interval_m[0],
            "{} Hz: {off} {:?}",
            point.frequency_hz,
            point.interval_m
        );
    }
}

#[test]
fn the_bilinear_rig_is_followed_through_both_folds() {
    for simulated_kg in [2.69, 1.79] {
        let setup = Setup { force_n: 3.0, bilinear: true, harmonics: 3, ..linear(simulated_kg) };
        let steps = Steps {
            first: 0.2,
            least: 0.004,
            most: 0.35,
            grow: 1.1,
            shrink: 0.5,
            most_turn_rad: 0.6,
            most_points: 120,
        };
        let settings = TraceSettings {
            dofs: 1,
            mean: false,
            harmonics: 3,
            band_hz: (13.7, 14.6),
            target_limit_m: 2e-2,
            scale_m: 3e-3,
            scale_hz: 0.1,
            surrogate: false,
            corrector: corrector(5e-7),
            guess: vec![1e-4, 0.0, 0.0, 0.0, 0.0, 0.0, 14.6],
            course: Course::Arclength { steps, falling: true },
        };
        let mut trace = Trace::new(rig(&setup), settings);
        let end = trace.run();
        let points: Vec<_> = trace
            .points()
            .iter()
            .map(|p| (p.frequency_hz, p.amplitude_m(0), p.point.iterations))
            .collect();
        assert_eq!(end, Ok(End::Bound), "{simulated_kg} kg: {points:?}");
        let folds: Vec<f64> = trace.folds().iter().map(|f| f.mark.frequency_hz).collect();
        assert_eq!(folds.len(), 2, "{simulated_kg} kg: {folds:?} {points:?}");
        let (low, high) = (folds[0].min(folds[1]), folds[0].max(folds[1]));
        assert!((low - 13.9093).abs() < 0.005, "{simulated_kg} kg: {folds:?}");
        assert!((high - 14.0057).abs() < 0.005, "{simulated_kg} kg: {folds:?}");
    }
}
