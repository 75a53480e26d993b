//! Transfer systems against their published response.

use nalgebra::{Complex, DMatrix};
use numerics::second_order::SecondOrder;

use super::*;
use crate::first_order::{FirstOrderStepper, Scheme};
use crate::motion::Motion;
use crate::specimen::Specimen;

fn specimen() -> Specimen {
    let one = |value: f64| DMatrix::from_element(1, 1, value);
    Specimen {
        matrices: SecondOrder { mass: one(29.1), damping: one(114.6), stiffness: one(1.19e6) },
        elements: Vec::new(),
    }
}

/// (x, v, a) per unit command at jω, from the state-space form.
fn response(dynamics: &ActuatorDynamics, omega: f64) -> Vec<Complex<f64>> {
    let n = dynamics.system.dynamics.nrows();
    let s = Complex::new(0.0, omega);
    let left = DMatrix::from_fn(n, n, |i, j| {
        Complex::from(-dynamics.system.dynamics[(i, j)])
            + if i == j { s } else { Complex::from(0.0) }
    });
    let command = [Complex::from(1.0), s, s * s];
    let right = DMatrix::from_fn(n, 1, |i, _| {
        (0..3).map(|d| command[d] * dynamics.system.held[(i, d)]).sum::<Complex<f64>>()
    });
    let z = left.lu().solve(&right).unwrap();
    (0..3)
        .map(|row| {
            let of_state: Complex<f64> =
                (0..n).map(|i| z[(i, 0)] * dynamics.motion[(row, i)]).sum();
            let direct: Complex<f64> =
                (0..3).map(|d| command[d] * dynamics.motion[(row, n + d)]).sum();
            of_state + direct
        })
        .collect()
}

#[test]
fn the_physical_servo_is_the_published_transfer_function() {
    let servo = ActuatorDynamics::from_servo(&ServoHydraulic::BENCHMARK, &specimen()).unwrap();
    let published =
        TransferFunction::new(&[2.19e13], &[29.1, 1.26e4, 8.42e6, 2.33e9, 5.44e11, 2.17e13])
            .unwrap();
    // Printed with three digits, so agreement is to the last of them.
    for hertz in [0.1, 1.0, 3.61, 10.0, 16.0, 38.0] {
        let omega = hertz * std::f64::consts::TAU;
        let (ours, theirs) = (response(&servo, omega)[0], published.response(omega));
        assert!((ours - theirs).norm() < 0.01 * theirs.norm(), "{hertz} Hz: {ours} {theirs}");
    }
}

#[test]
fn velocity_and_acceleration_are_the_derivatives_for_any_relative_degree() {
    let functions = [
        TransferFunction::new(&[5.0e6], &[1.0, 530.0, 8.9e4, 5.4e6]).unwrap(),
        TransferFunction::new(&[400.0], &[1.0, 30.0, 400.0]).unwrap(),
        TransferFunction::new(&[50.0], &[1.0, 50.0]).unwrap(),
        TransferFunction::new(&[0.5, 50.0], &[1.0, 50.0]).unwrap(),
    ];
    for function in &functions {
        let dynamics = ActuatorDynamics::from_function(function, &specimen());
        for omega in [3.0, 40.0] {
            let s = Complex::new(0.0, omega);
            let motion = response(&dynamics, omega);
            let x = function.response(omega);
            assert!((motion[0] - x).norm() < 1e-12 * x.norm());
            assert!((motion[1] - s * x).norm() < 1e-10 * (s * x).norm());
            assert!((motion[2] - s * s * x).norm() < 1e-9 * (s * s * x).norm());
        }
    }
}

/// What is sampled of a command in steps is what a smooth one would give: velocity
/// and acceleration are those of the sampled displacement.
#[test]
fn a_command_in_steps_does_not_pass_for_damping() {
    let (step_s, omega) = (1e-3, 20.0f64);
    for function in [
        TransferFunction::new(&[1e5], &[1.0, 600.0, 1e5]).unwrap(),
        TransferFunction::new(&[300.0], &[1.0, 300.0]).unwrap(),
        TransferFunction::new(&[30.0, 1e5], &[1.0, 600.0, 1e5]).unwrap(),
    ] {
        let dynamics = ActuatorDynamics::from_function(&function, &specimen());
        let rows = dynamics.sampled_motion(step_s);
        let mut stepper = FirstOrderStepper::new(&dynamics.system, Scheme::ExactZeroHold, step_s);
        let (mut held, mut sampled) = ([0.0; 3], Vec::new());
        for k in 0..2000 {
            let (sin, cos) = (omega * f64::from(k) * step_s).sin_cos();
            let mut input = stepper.state().to_vec();
            input.extend(held);
            sampled.push(&rows * nalgebra::DVector::from_vec(input));
            held = [sin, omega * cos, -omega * omega * sin];
            stepper.advance(&[], &[], &held, |_, _| {});
        }
        // Differences of fourth order.
        let mut worst: [f64; 2] = [0.0; 2];
        for at in sampled[1000..].windows(5) {
            let x = |i: usize| at[i][0];
            let velocity = (x(0) - x(4) + 8.0 * (x(3) - x(1))) / (12.0 * step_s);
            let bend = 16.0 * (x(1) + x(3)) - 30.0 * x(2) - x(0) - x(4);
            let acceleration = bend / (12.0 * step_s * step_s);
            worst[0] = worst[0].max((at[2][1] - velocity).abs() / omega);
            worst[1] = worst[1].max((at[2][2] - acceleration).abs() / (omega * omega));
        }
        assert!(worst[0] < 1e-4 && worst[1] < 1e-3, "{function:?}: {worst:?}");
        let plain = &dynamics.motion;
        assert!((plain - &rows).amax() > 0.05, "without it: {plain}");
    }
}

#[test]
fn what_integrates_or_has_no_states_is_sampled_as_it_is() {
    for (numerator, denominator) in [(300.0, &[1.0, 300.0, 0.0][..]), (1.02, &[1.0])] {
        let function = TransferFunction::new(&[numerator], denominator).unwrap();
        let dynamics = ActuatorDynamics::from_function(&function, &specimen());
        assert_eq!(dynamics.sampled_motion(1e-3), dynamics.motion);
    }
}

#[test]
fn runge_kutta_and_exponential_agree_on_the_servo_to_fourth_order() {
    let servo = ActuatorDynamics::from_servo(&ServoHydraulic::BENCHMARK, &specimen()).unwrap();
    let distance = |step_s: f64| {
        let mut sides = [Scheme::RungeKutta4, Scheme::ExactZeroHold]
            .map(|scheme| FirstOrderStepper::new(&servo.system, scheme, step_s));
        let steps = (0.064 / step_s).round() as usize;
        for _ in 0..steps {
            for side in &mut sides {
                side.advance(&[], &[], &[0.01, 0.0, 0.0], |_, _| {});
            }
        }
        (sides[0].state()[3] - sides[1].state()[3]).abs()
    };
    let order = (distance(5e-4) / distance(2.5e-4)).log2();
    assert!((order - 4.0).abs() < 0.3, "{order}");
}

fn sine(t: f64) -> Motion {
    let w = 20.0f64;
    Motion {
        displacement: vec![(w * t).sin()],
        velocity: vec![w * (w * t).cos()],
        acceleration: vec![-w * w * (w * t).sin()],
    }
}

#[test]
fn a_whole_delay_gives_back_the_same_bits() {
    for samples in [0usize, 1, 2, 7] {
        let mut line = DelayLine::new(samples as f64, 1e-3, 1);
        let mut out = Motion::rest(1);
        for k in 0..50usize {
            let now = sine(1e-3 * k as f64);
            line.delayed(&now, &mut out);
            if k >= samples {
                assert_eq!(out, sine(1e-3 * (k - samples) as f64));
            } else {
                assert_eq!(out, Motion::rest(1));
            }
            line.push(&now);
        }
    }
}

#[test]
fn a_fractional_delay_is_fourth_order_in_displacement() {
    let error = |h: f64| {
        let mut line = DelayLine::new(2.3, h, 1);
        let (mut out, mut worst) = (Motion::rest(1), 0.0f64);
        for k in 0..200 {
            let now = sine(h * f64::from(k));
            line.delayed(&now, &mut out);
            line.push(&now);
            if k > 4 {
                let exact = sine(h * (f64::from(k) - 2.3));
                worst = worst.max((out.displacement[0] - exact.displacement[0]).abs());
            }
        }
        worst
    };
    let order = (error(4e-3) / error(2e-3)).log2();
    assert!((order - 4.0).abs() < 0.1, "{order}");
    assert_eq!(DelayLine::new(0.25, 1e-3, 1).newest_weight(), 0.75);
    assert_eq!(DelayLine::new(1.0, 1e-3, 1).newest_weight(), 0.0);
}

/// 8.6 ms at 50 kHz are 429.999… samples to a computer.
#[test]
fn a_delay_of_whole_samples_is_one_however_it_was_rounded() {
    let samples = 430.0_f64.next_down();
    let line = DelayLine::new(samples, 2e-5, 1);
    assert_eq!((line.whole, line.fraction), (430, 0.0));
    assert_eq!(DelayLine::new(429.999, 2e-5, 1).whole, 429);
    assert_eq!(DelayLine::new(1e-14, 2e-5, 1).whole, 0);
}

#[test]
fn a_servo_without_mass_is_refused() {
    let mut light = specimen();
    light.matrices.mass[(0, 0)] = 0.0;
    let error = ActuatorDynamics::from_servo(&ServoHydraulic::BENCHMARK, &light).unwrap_err();
    assert_eq!(error, TransferError::MasslessSpecimen);
}

#[test]
fn rescaled_states_are_the_same_motion() {
    let before = ServoHydraulic::BENCHMARK;
    let after = ServoHydraulic { servo_stiffness: 8.5e4, servo_gain: 1.9e13, ..before };
    let factors = before.rescale_to(&after, 1);
    let states = [1e-3, -2e-3, 3e-4, 4e-3, 0.1];
    let slope = |servo: &ServoHydraulic, states: &[f64]| {
        let dynamics = ActuatorDynamics::from_servo(servo, &specimen()).unwrap();
        dynamics.system.dynamics * DMatrix::from_column_slice(5, 1, states)
    };
    let scaled: Vec<f64> =
        states.iter().zip(&factors).map(|(state, factor)| state * factor).collect();
    // The force accelerates the specimen as before: no jump.
    let (old, new) = (slope(&before, &states)[4], slope(&after, &scaled)[4]);
    assert!((old - new).abs() < 1e-9 * old.abs(), "{old} {new}");
    // The servo's output y goes on at its rate: ẏ = (a₁β₀/β₂) q̇.
    let output = |servo: &ServoHydraulic, q: f64| q * servo.servo_gain / servo.servo_stiffness;
    let (old, new) =
        (output(&before, slope(&before, &states)[0]), output(&after, slope(&after, &scaled)[0]));
    assert!((old - new).abs() < 1e-9 * old.abs(), "{old} {new}");
}

#[test]
fn coefficients_out_of_all_proportion_are_refused() {
    let function = TransferFunction::new(&[1e6], &[1.0, 300.0, 1e300]).unwrap();
    let system = TransferSystem::TransferFunction { function, samples: 0.0 };
    let refused = system.linear_form(&specimen(), 2e-3).unwrap_err();
    assert_eq!(refused, TransferError::NoNumber { step_s: 2e-3 });
}
