//! Settled coefficients against closed forms.

mod same_bits;

use std::f64::consts::TAU;

use model::equations::RelativeDof;
use model::sensor::Sensor;
use model::shaken::{ShakenDynamics, ShakenSpecimen, Shaker};
use nalgebra::{Complex, DMatrix, DVector};
use numerics::second_order::SecondOrder;

use super::*;
use crate::gate::TripKind;
use crate::rig::{Rig, RigFault, ShakenRig, ShakenSensors};

const STEP_S: f64 = 1e-4;

const SHAKER: Shaker = Shaker {
    gain_n_per_v: 50.0,
    lag_s: 1e-3,
    proportional_v_per_m: 100.0,
    derivative_v_s_per_m: 10.0,
};

const CONTROL: Control =
    Control { proportional_n_per_m: 2e4, derivative_n_s_per_m: 400.0, filter_s: 1e-3 };

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

/// Storeys 1 to 3 of the four-storey building.
fn specimen() -> ShakenSpecimen {
    ShakenSpecimen {
        matrices: SecondOrder {
            mass: DMatrix::from_diagonal_element(3, 3, 5.37),
            damping: chain(&[4.4062, 3.7979, 3.7421]),
            stiffness: chain(&[53048.0, 45724.0, 45052.0]),
        },
        interface: vec![2],
        elements: Vec::new(),
        preload_n: vec![0.0],
    }
}

/// What is left of storey 3, and storey 4.
fn equations(mass: f64) -> Equations {
    let leg = |k: f64| DMatrix::from_row_slice(2, 2, &[k, -k, -k, k]);
    Equations {
        matrices: SecondOrder {
            mass: DMatrix::from_diagonal(&DVector::from_column_slice(&[mass, 10.74])),
            damping: leg(3.7421),
            stiffness: leg(45052.0),
        },
        load: DMatrix::from_column_slice(2, 1, &[0.0, 1.0]),
        interface: vec![RelativeDof::of_dof(0)],
        elements: Vec::new(),
        states: None,
    }
}

fn sensors(noise: f64) -> ShakenSensors {
    let sensor = |size: f64, name: &str| vec![Sensor::new(noise * size, 0.0, 5, name)];
    ShakenSensors {
        displacement: sensor(1e-6, "laser"),
        force: sensor(0.05, "cell"),
        acceleration: sensor(0.02, "accelerometer"),
    }
}

fn settings(mass: f64, tolerance_m: f64) -> PeriodicSettings {
    PeriodicSettings {
        equations: equations(mass),
        load: vec![1.0],
        method: Method::Newmark,
        control: CONTROL,
        inertia_compensation_kg: vec![mass],
        sensor_delays_s: [0.0; 3],
        mean: Mean::Followed,
        ramp_m_s: f64::INFINITY,
        harmonics: 1,
        seen_harmonics: 2,
        settling: Settling {
            tolerance_m,
            spell: 3,
            scatter_m: f64::INFINITY,
            most_estimates: 6,
            refined_estimates: 6,
            most_s: 30.0,
        },
        limits: Limits { command: vec![5e-3], ..Limits::unlimited(1, STEP_S) },
        safe_path: SafePath { hold_s: 0.01, rate_m_s: 0.1 },
    }
}

fn complex(c: &Coefficients, k: usize) -> Complex<f64> {
    Complex::new(c.0[2 * k - 1], -c.0[2 * k])
}

#[test]
fn windows_read_harmonics_of_periods_that_are_no_whole_number_of_samples() {
    let truth = [0.3, 1.0, -0.5, 0.2, 0.1, -0.05, 0.07];
    let mut of_three = PeriodicSettings { harmonics: 3, ..settings(3.58, 1e-9) };
    of_three.limits.step_s = 1e-3;
    let mut generator = Generator::new(&of_three, 3);
    let mut windows = Windows::new(1, 3);
    generator.set(7.31, &[Coefficients(truth.to_vec())]);
    generator.set_mean(0, truth[0]);
    let mut stretch = Stretch::new(1);
    let mut estimate = vec![Coefficients::zeros(3)];
    let mut seen = 0;
    for _ in 0..2000 {
        if !generator.has_arrived() {
            windows.restart();
        }
        let period_ends = generator.stretch((0.0, 1.0), 1, &mut stretch);
        stretch.displacement[0] = stretch.commands[0][0];
        windows.add(&generator.phase, &stretch);
        if period_ends && windows.wrap(&mut estimate) {
            seen += 1;
            for (ours, truth) in estimate[0].0.iter().zip(truth) {
                assert!((ours - truth).abs() < 2e-6, "{ours} {truth}");
            }
        }
    }
    assert!(seen > 8, "{seen}");
}

/// Rig and simulated side answer as their equations say, at any target.
#[test]
fn both_sides_settle_to_their_frequency_response() {
    for (hz, delays_s) in [(12.7, [0.0; 3]), (13.4, [0.0; 3])] {
        let rig = ShakenRig::new(&SHAKER, &specimen(), sensors(0.0), STEP_S).unwrap();
        let settings = PeriodicSettings { sensor_delays_s: delays_s, ..settings(3.58, 1e-9) };
        let mut test = PeriodicLoop::new(rig, settings).unwrap();
        let target = Coefficients(vec![0.0, 2e-4, -1e-4]);
        let settled = test.settle(hz, std::slice::from_ref(&target)).unwrap();
        assert!(settled.settled, "{settled:?}");

        let omega = TAU * hz;
        let s = Complex::new(0.0, omega);
        let dynamics = ShakenDynamics::new(&SHAKER, &specimen()).unwrap();
        let a = dynamics.system.dynamics.map(Complex::from);
        let left = DMatrix::from_diagonal_element(7, 7, s) - a;
        // The target is held over each tick: half a tick late.
        let wave = complex(&target, 1) * (-s * 0.5 * STEP_S).exp();
        let input = DVector::from_column_slice(&[wave, s * wave, Complex::ZERO]);
        let y = left.lu().solve(&(dynamics.system.held.map(Complex::from) * input)).unwrap();
        let ours = complex(&settled.measured[0], 1);
        assert!((ours - y[2]).norm() < 2e-5 * y[2].norm(), "{hz}: {ours} {}", y[2]);
        assert!((complex(&settled.force[0], 1) - y[6]).norm() < 1e-4 * y[6].norm());

        let equations = equations(3.58);
        let stiffness = DMatrix::from_fn(2, 2, |i, j| {
            let real = equations.matrices.stiffness[(i, j)]
                - omega * omega * equations.matrices.mass[(i, j)];
            Complex::new(real, omega * equations.matrices.damping[(i, j)])
        });
        // The derivative's filter as it is sampled: z = α z + (1 − α) e.
        let alpha = (-STEP_S / CONTROL.filter_s).exp();
        let lagging = (1.0 - alpha) / (1.0 - alpha * (-s * STEP_S).exp());
        let filter = (1.0 - lagging) * CONTROL.derivative_n_s_per_m / CONTROL.filter_s;
        let control = filter + CONTROL.proportional_n_per_m;
        let mut held = stiffness;
        held[(0, 0)] += control;
        let drive = -y[6] + s * s * y[2] * 3.58 + control * y[2];
        let xi =
            held.lu().solve(&DVector::from_column_slice(&[drive, Complex::from(1.0)])).unwrap();
        let ours = complex(&settled.simulated[0], 1);
        assert!((ours - xi[0]).norm() < 2e-4 * xi[0].norm(), "{hz}: {ours} {}", xi[0]);
    }
}

#[test]
fn noise_is_measured_and_averaged_away() {
    let rig = |noise| ShakenRig::new(&SHAKER, &specimen(), sensors(noise), STEP_S).unwrap();
    let target = [Coefficients(vec![0.0, 2e-4, 0.0])];
    let truth = PeriodicLoop::new(rig(0.0), settings(3.58, 1e-9)).unwrap().settle(13.0, &target);
    let truth = truth.unwrap().measured[0].clone();
    let settle = |scatter_m| {
        let mut settings = settings(3.58, 1e-7);
        settings.settling.scatter_m = scatter_m;
        settings.settling.most_estimates = 400;
        let mut test = PeriodicLoop::new(rig(10.0), settings).unwrap();
        test.settle(13.0, &target).unwrap()
    };
    let rough = settle(f64::INFINITY);
    let fine = settle(2e-7);
    assert!(fine.estimates > rough.estimates, "{} {}", fine.estimates, rough.estimates);
    let worst = fine.difference_scatter[0].0.iter().fold(0.0, |m: f64, s| m.max(*s));
    assert!(worst <= 2e-7, "{worst}");
    for (ours, truth) in fine.measured[0].0.iter().zip(&truth.0) {
        assert!((ours - truth).abs() < 5.0 * 2e-7, "{ours} {truth}");
    }
}

#[test]
fn a_limit_trips() {
    let rig = ShakenRig::new(&SHAKER, &specimen(), sensors(0.0), STEP_S).unwrap();
    let mut test = PeriodicLoop::new(rig, settings(3.58, 1e-9)).unwrap();
    let outcome = test.settle(13.0, &[Coefficients(vec![0.0, 6e-3, 0.0])]);
    assert!(
        matches!(outcome, Err(PeriodicError::Tripped(Trip { kind: TripKind::Command, .. }))),
        "{outcome:?}"
    );
}

#[test]
fn a_delayed_sensor_is_brought_in_line() {
    let mut aligned = Aligned::new([0.0, 2.5e-4, 1e-4], 1, 1e-4);
    assert_eq!(aligned.latency_s, 2.5e-4);
    let mut signals =
        [0.0, 2.5, 1.0].map(|late| -> Vec<f64> { (0..20).map(|n| f64::from(n) - late).collect() });
    aligned.pass(signals.each_mut().map(Vec::as_mut_slice));
    // All show the instant 19 − 2.5.
    for signal in signals {
        assert!((signal[19] - 16.5).abs() < 1e-12);
    }
}

/// A rig that hides what it measures of the acceleration.
struct WithoutAccelerometer(ShakenRig);

impl Rig for WithoutAccelerometer {
    crate::hands_on_to!(0);

    fn measure(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        let health = self.0.measure(ahead, measured);
        measured.has_acceleration = false;
        health
    }

    fn actuate(&mut self, command: &Motion) {
        self.0.actuate(command);
    }
}

#[test]
fn inertia_is_compensated_with_and_without_an_accelerometer() {
    let rig = || ShakenRig::new(&SHAKER, &specimen(), sensors(0.0), STEP_S).unwrap();
    let target = [Coefficients(vec![0.0, 2e-4, -1e-4])];
    let settle = |rig: RigSlot| {
        PeriodicLoop::new(rig, settings(3.58, 1e-10)).unwrap().settle(13.2, &target).unwrap()
    };
    let with = settle(rig().into());
    let without = settle(Box::new(WithoutAccelerometer(rig())).into());
    let (a, b) = (complex(&with.simulated[0], 1), complex(&without.simulated[0], 1));
    // The held target leaves a ripple of the tick's rate in the acceleration,
    // which sampling folds back: 5e-5 here.
    assert!((a - b).norm() < 1e-4 * a.norm(), "{a} {b}");
    // Not compensating would be no small difference.
    let mut bare = settings(3.58, 1e-9);
    bare.inertia_compensation_kg = vec![0.0];
    let bare = PeriodicLoop::new(rig(), bare).unwrap().settle(13.2, &target).unwrap();
    let c = complex(&bare.simulated[0], 1);
    assert!((a - c).norm() > 0.05 * a.norm(), "{a} {c}");
}

#[test]
fn a_late_force_does_no_harm_if_it_is_declared() {
    use crate::rig::LateForce;
    let rig = || ShakenRig::new(&SHAKER, &specimen(), sensors(0.0), STEP_S).unwrap();
    let late = |samples| RigSlot::from(LateForce::new(rig(), samples, 1));
    let target = [Coefficients(vec![0.0, 2e-4, -1e-4])];
    let settle = |rig: RigSlot, delays_s| {
        let settings = PeriodicSettings { sensor_delays_s: delays_s, ..settings(3.58, 1e-9) };
        PeriodicLoop::new(rig, settings).unwrap().settle(13.2, &target).unwrap()
    };
    let truth = settle(rig().into(), [0.0; 3]);
    let declared = settle(late(4), [0.0, 4.0 * STEP_S, 0.0]);
    let silent = settle(late(4), [0.0; 3]);
    let of = |orbit: &Orbit| complex(&orbit.simulated[0], 1);
    let size = of(&truth).norm();
    assert!((of(&declared) - of(&truth)).norm() < 1e-4 * size);
    assert!((of(&silent) - of(&truth)).norm() > 5e-3 * size);
    let turned = (complex(&declared.measured[0], 1) - complex(&truth.measured[0], 1)).norm();
    assert!(turned < 1e-4 * complex(&truth.measured[0], 1).norm());
}

#[test]
fn a_large_change_of_the_target_takes_its_time_and_the_end_is_at_rest() {
    let rig = ShakenRig::new(&SHAKER, &specimen(), sensors(0.0), STEP_S).unwrap();
    let settings = PeriodicSettings { ramp_m_s: 1e-3, ..settings(3.58, 1e-9) };
    let mut test = PeriodicLoop::new(rig, settings).unwrap();
    test.set(13.0, &[Coefficients(vec![0.0, 4e-3, 0.0])]);
    let mut largest: f64 = 0.0;
    for tick in 0..45_000 {
        test.tick();
        largest = largest.max(test.command().displacement[0].abs());
        // 1 mm/s, and what half a period adds to an envelope.
        assert!(largest <= 1e-3 * f64::from(tick + 1) * STEP_S + 1e-4, "{tick}: {largest}");
    }
    assert!(largest > 3.9e-3);
    test.come_to_rest();
    assert!(test.tripped().is_none());
    assert!(test.source.generator.is_still());
}

#[test]
fn a_mean_that_is_commanded_is_reached_at_the_ramp_and_given_up_at_the_end() {
    let rig = ShakenRig::new(&SHAKER, &specimen(), sensors(0.0), STEP_S).unwrap();
    let settings =
        PeriodicSettings { mean: Mean::Commanded, ramp_m_s: 1e-3, ..settings(3.58, 1e-9) };
    let mut test = PeriodicLoop::new(rig, settings).unwrap();
    test.set(13.0, &[Coefficients(vec![2e-3, 0.0, 0.0])]);
    let mut fastest: f64 = 0.0;
    for _ in 0..30_000 {
        let before = test.command().displacement[0];
        test.tick();
        fastest = fastest.max((test.command().displacement[0] - before).abs() / STEP_S);
    }
    assert!((test.command().displacement[0] - 2e-3).abs() < 1e-15);
    assert!(fastest < 1.001e-3, "{fastest}");
    // The specimen gives way to control, and its own mean is not taken for the target's.
    let found = test.result().unwrap().measured[0].0[0];
    assert!(found > 1e-4 && found < 1.9e-3, "{found}");
    test.come_to_rest();
    assert!(test.command().displacement[0].abs() < 1e-15);
}
