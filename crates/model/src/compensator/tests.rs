//! Every kind against what it promises.

use std::f64::consts::TAU;

use proptest::prelude::*;

use super::*;

const STEP_S: f64 = 1.0 / 4096.0;

fn site() -> Site {
    Site { count: 1, step_s: STEP_S, converter: Converter::EXACT }
}

fn build(design: &Design) -> Compensator {
    Compensator::new(design, &ShapingDesign::default(), &site()).unwrap()
}

fn model_based(adaptation: [f64; 2]) -> Design {
    Design::AdaptiveModelBased(AdaptiveModelBasedDesign {
        adaptation,
        ..AdaptiveModelBasedDesign::PUBLISHED
    })
}

fn time_series() -> Design {
    Design::AdaptiveTimeSeries(AdaptiveTimeSeriesDesign::GENERIC)
}

fn pi_lead() -> Design {
    Design::PiLead(PiLeadDesign {
        proportional: 2.0,
        integral_1_s: 95.0,
        lead_gain: 50.8316336,
        lead_pole_1_s: 8570.39734,
    })
}

fn prediction(order: usize, delay_s: f64) -> Design {
    Design::ForwardPrediction(ForwardPredictionDesign { order, delay_s, gain: 1.0 })
}

fn inverse(coefficients: &[f64]) -> Design {
    Design::Inverse(InverseDesign {
        coefficients: coefficients.to_vec(),
        derivatives: DerivativeSource::Motion,
    })
}

fn every_kind() -> Vec<Design> {
    vec![
        Design::None,
        Design::FirstOrder(FirstOrderDesign { gain: 1.05, lead_s: 0.0169 }),
        inverse(&[1.0, 0.02, 2e-4, 1e-6, 1e-9, 1e-12]),
        prediction(3, 0.02),
        model_based([2.4e6, 1.1e5]),
        Design::AdaptiveInverse(AdaptiveInverseDesign::GENERIC),
        time_series(),
        pi_lead(),
    ]
}

/// Motion of a polynomial t^degree.
fn power(degree: i32, t: f64) -> Motion {
    let n = f64::from(degree);
    let mut motion = Motion::rest(1);
    let slope =
        |factor: f64, less: i32| if degree < less { 0.0 } else { factor * t.powi(degree - less) };
    motion.set(0, [t.powi(degree), slope(n, 1), slope(n * (n - 1.0), 2)]);
    motion
}

/// A motion of several frequencies, and its exact derivatives, centimetres large.
fn shaking(t: f64) -> Motion {
    let mut sums = [0.0; 3];
    for (amplitude, hertz, phase) in [(4e-3, 3.6, 0.0), (2e-3, 1.3, 1.0), (5e-4, 9.0, 2.0)] {
        let (w, angle) = (TAU * hertz, TAU * hertz * t + phase);
        sums[0] += amplitude * angle.sin();
        sums[1] += amplitude * w * angle.cos();
        sums[2] -= amplitude * w * w * angle.sin();
    }
    let mut motion = Motion::rest(1);
    motion.set(0, sums);
    motion
}

#[test]
fn a_prediction_of_degree_n_is_exact_for_polynomials_of_degree_n() {
    // On the samples and between them.
    for delay in [8.0 * STEP_S, 7.3 * STEP_S, 0.4 * STEP_S] {
        for order in 1..=4 {
            let mut compensator = build(&prediction(order, delay));
            let mut command = Motion::rest(1);
            for k in 0..200 {
                let t = f64::from(k) * STEP_S;
                compensator.step(&power(order as i32, t), &[0.0], &mut command);
                if k > 40 {
                    let exact = power(order as i32, t + delay);
                    for (found, exact) in command.of(0).into_iter().zip(exact.of(0)) {
                        let scale = exact.abs().max(1e-6);
                        assert!((found - exact).abs() < 1e-9 * scale, "{order} {found} {exact}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_first_order_lead_is_the_published_filter() {
    // α = 17.9 at 1 kHz is a lead of 16.9 ms.
    let design = Design::FirstOrder(FirstOrderDesign { gain: 1.0537, lead_s: 0.0169 });
    let site = Site { step_s: 1e-3, ..site() };
    let mut compensator = Compensator::new(&design, &ShapingDesign::default(), &site).unwrap();
    let (mut command, mut last) = (Motion::rest(1), 0.0);
    for k in 0..50 {
        let motion = shaking(f64::from(k) * 1e-3);
        let x = motion.displacement[0];
        compensator.step(&motion, &[0.0], &mut command);
        if k > 0 {
            let expected = 1.0537 * (17.9 * x - 16.9 * last);
            assert!((command.displacement[0] - expected).abs() < 1e-12);
        }
        last = x;
    }
}

#[test]
fn an_inverse_behind_its_model_is_the_motion_itself() {
    // x_c = a0 x + a1 v + a2 a, driven through the model 1/(a0 + a1 s + a2 s²)
    // by its own exact step for a held command: what comes out lags by half a
    // sample, no more.
    let a = [0.95, 0.02, 1e-4];
    let mut compensator = build(&inverse(&a));
    let dynamics = nalgebra::DMatrix::from_row_slice(2, 2, &[0.0, 1.0, -a[0] / a[2], -a[1] / a[2]]);
    let input = nalgebra::DMatrix::from_row_slice(2, 1, &[0.0, 1.0 / a[2]]);
    let step = numerics::discretise::zero_order_hold(&dynamics, &input, STEP_S);
    let start = shaking(0.0).of(0);
    let mut z = nalgebra::DMatrix::from_row_slice(2, 1, &[start[0], start[1]]);
    let (mut command, mut worst) = (Motion::rest(1), 0.0f64);
    for k in 0..8192 {
        let t = f64::from(k) * STEP_S;
        if k > 2000 {
            let late = shaking(t - 0.5 * STEP_S).displacement[0];
            worst = worst.max((z[0] - late).abs());
        }
        compensator.step(&shaking(t), &[0.0], &mut command);
        z = &step.transition * &z + &step.start * command.displacement[0];
    }
    assert!(worst < 1e-6, "{worst:e} of 6 mm");
}

#[test]
fn velocity_and_acceleration_of_the_command_are_its_derivatives() {
    let fixed = [
        Design::FirstOrder(FirstOrderDesign { gain: 1.1, lead_s: 0.01 }),
        inverse(&[1.0, 0.02]),
        prediction(2, 0.01),
    ];
    for design in fixed {
        let mut compensator = build(&design);
        let mut series = Vec::new();
        let mut command = Motion::rest(1);
        for k in 0..4096 {
            compensator.step(&shaking(f64::from(k) * STEP_S), &[0.0], &mut command);
            series.push(command.of(0));
        }
        for window in series[1000..].windows(3) {
            let [before, now, after] = [window[0], window[1], window[2]];
            let velocity = (after[0] - before[0]) / (2.0 * STEP_S);
            let acceleration = (after[1] - before[1]) / (2.0 * STEP_S);
            assert!((now[1] - velocity).abs() < 2e-4, "{design:?}: {} {velocity}", now[1]);
            assert!((now[2] - acceleration).abs() < 0.2, "{design:?}: {} {acceleration}", now[2]);
        }
    }
}

/// Runs an adaptive kind on a transfer system 1/(a0 + a1 s + a2 s² + a3 s³)
/// without a loop: desired is shaking, measured what the model makes of the
/// command. Gives the tracking error of the last second over the peak, and the
/// parameters.
fn tracking(design: &Design, model: [f64; 4], seconds: f64) -> (f64, Vec<f64>) {
    let mut compensator = build(design);
    let [a0, a1, a2, a3] = model;
    let dynamics = nalgebra::DMatrix::from_row_slice(
        3,
        3,
        &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -a0 / a3, -a1 / a3, -a2 / a3],
    );
    let input = nalgebra::DMatrix::from_row_slice(3, 1, &[0.0, 0.0, 1.0 / a3]);
    let step = numerics::discretise::zero_order_hold(&dynamics, &input, STEP_S);
    let mut z = nalgebra::DMatrix::zeros(3, 1);
    let (mut command, mut worst) = (Motion::rest(1), 0.0f64);
    let ticks = (seconds / STEP_S) as usize;
    for k in 0..ticks {
        let t = k as f64 * STEP_S;
        // From rest, so that nothing jumps.
        let mut desired = shaking(t);
        let rise = (t / 0.5).min(1.0).powi(3);
        desired.set(0, desired.of(0).map(|value| rise * value));
        let measured: f64 = z[0];
        if k + 4096 > ticks {
            worst = worst.max((measured - desired.displacement[0]).abs());
        }
        compensator.step(&desired, &[measured], &mut command);
        z = &step.transition * &z + &step.start * command.displacement[0];
    }
    (worst / 6e-3, compensator.parameters())
}

#[test]
fn the_adaptive_inverse_finds_the_transfer_system() {
    // The benchmark's, and others around the start of 20 ms.
    for model in [
        [0.992542, 0.0248894, 1.06623e-4, 3.85639e-7],
        [1.05, 0.015, 8e-5, 2e-7],
        [0.95, 0.030, 2.5e-4, 1.0e-6],
    ] {
        let design = Design::AdaptiveInverse(AdaptiveInverseDesign::GENERIC);
        let (error, parameters) = tracking(&design, model, 5.0);
        assert!(error < 0.005, "{error} {parameters:?}");
        // The held command is half a sample late: that is learnt too.
        let a1 = model[1] + 0.5 * STEP_S * model[0];
        assert!((parameters[0] / model[0] - 1.0).abs() < 0.01, "{parameters:?} {model:?}");
        assert!((parameters[1] / a1 - 1.0).abs() < 0.02, "{parameters:?} {model:?}");
    }
}

#[test]
fn the_other_adaptive_kinds_come_as_near_as_their_order_allows() {
    let model = [0.992542, 0.0248894, 1.06623e-4, 3.85639e-7];
    let (none, _) = tracking(&Design::None, model, 5.0);
    let (first, _) = tracking(&model_based([2.4e6, 1.1e5]), model, 5.0);
    let (second, _) = tracking(&time_series(), model, 5.0);
    assert!(none > 0.4 && first < 0.15 && second < 0.05, "{none} {first} {second}");
}

#[test]
fn the_closed_form_stays_finite_where_an_explicit_step_would_not() {
    // λΔt = 1.1e5/4096 = 27 where velocity dominates: explicit Euler explodes.
    let mut compensator = build(&model_based([2.4e6, 1.1e5]));
    let mut command = Motion::rest(1);
    for k in 0..8192 {
        let t = f64::from(k) * STEP_S;
        let mut desired = shaking(t);
        desired.set(0, desired.of(0).map(|value| 1e3 * value));
        let measured = 0.9e3 * shaking(t - 0.02).displacement[0];
        compensator.step(&desired, &[measured], &mut command);
        for value in compensator.parameters().into_iter().chain(command.of(0)) {
            assert!(value.is_finite());
        }
    }
}

#[test]
fn nothing_is_learnt_from_noise_alone() {
    for design in [Design::AdaptiveInverse(AdaptiveInverseDesign::GENERIC), time_series()] {
        let mut compensator = build(&design);
        let before: Vec<f64> = compensator.parameters();
        let mut noise = numerics::random::Stream::new(1, "noise");
        let mut command = Motion::rest(1);
        for _ in 0..20_000 {
            compensator.step(&Motion::rest(1), &[16e-6 * noise.normal()], &mut command);
        }
        assert_eq!(compensator.parameters(), before);
    }
}

#[test]
fn what_is_not_a_number_passes_and_leaves_no_trace() {
    for design in every_kind() {
        let mut compensator = build(&design);
        let mut command = Motion::rest(1);
        let run = |compensator: &mut Compensator, command: &mut Motion, from: u32| {
            for k in from..from + 3000 {
                let t = f64::from(k) * STEP_S;
                let measured = shaking(t - 0.02).displacement[0];
                compensator.step(&shaking(t), &[measured], command);
                assert!(is_finite(command), "{design:?}");
            }
        };
        run(&mut compensator, &mut command, 0);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            compensator.step(&shaking(0.7), &[bad], &mut command);
            let mut desired = shaking(0.7);
            desired.acceleration[0] = f64::NAN;
            compensator.step(&desired, &[0.0], &mut command);
            assert!(command.acceleration[0].is_nan(), "the gate must see it");
        }
        assert!(compensator.parameters().into_iter().all(f64::is_finite));
        run(&mut compensator, &mut command, 3000);
    }
}

#[test]
fn shaping_cuts_and_slows_and_says_so_in_the_velocity() {
    let shaping =
        ShapingDesign { saturation_m: Some(0.5), rate_m_s: Some(40.96), ..Default::default() };
    let mut compensator = Compensator::new(&Design::None, &shaping, &site()).unwrap();
    let (mut command, mut desired) = (Motion::rest(1), Motion::rest(1));
    desired.set(0, [2.0, 1.0, 1.0]);
    // 40.96 m/s at 4096 Hz is 10 mm a tick.
    for tick in 1..=50 {
        compensator.step(&desired, &[0.0], &mut command);
        let x = 0.01 * f64::from(tick);
        assert!((command.displacement[0] - x).abs() < 1e-12);
        if tick < 50 {
            assert_eq!(command.of(0)[1..], [40.96, 0.0]);
        }
    }
    compensator.step(&desired, &[0.0], &mut command);
    assert_eq!(command.of(0), [0.5, 0.0, 0.0]);
}

#[test]
fn what_is_learnt_from_is_what_was_sent() {
    // With a stop the command is not what the inverse asked for: a filter that
    // learnt from the wish, several times as large, would end at its bound. The
    // cut-off command has harmonics that a third-order series of a pure delay
    // does not reach, so the gain is not exactly 1.
    let shaping = ShapingDesign { saturation_m: Some(2e-3), ..Default::default() };
    let design = Design::AdaptiveInverse(AdaptiveInverseDesign::GENERIC);
    let mut compensator = Compensator::new(&design, &shaping, &site()).unwrap();
    let mut command = Motion::rest(1);
    let mut sent = [0.0; 82];
    for k in 0..20_000 {
        let t = f64::from(k) * STEP_S;
        // The rig is a pure delay of 82 samples, 20 ms.
        let measured = sent[k as usize % 82];
        compensator.step(&shaking(t), &[measured], &mut command);
        sent[k as usize % 82] = command.displacement[0];
    }
    let parameters: Vec<f64> = compensator.parameters();
    assert!((parameters[0] - 1.0).abs() < 0.05, "{parameters:?}");
    assert!((parameters[1] - 82.0 * STEP_S).abs() < 1e-3, "{parameters:?}");
}

#[test]
fn bad_designs_are_refused() {
    let refused = |design: Design| {
        Compensator::new(&design, &ShapingDesign::default(), &site()).unwrap_err().key()
    };
    assert_eq!(refused(inverse(&[])), "coefficients");
    assert_eq!(refused(inverse(&[1.0; 7])), "coefficients");
    assert_eq!(refused(inverse(&[f64::NAN])), "coefficients");
    assert_eq!(refused(prediction(5, 0.01)), "order");
    assert_eq!(refused(prediction(4, 1e9)), "delay");
    assert_eq!(refused(prediction(4, f64::NAN)), "delay");
    assert_eq!(refused(model_based([-1.0, 0.0])), "adaptation");
    let adaptive = |change: fn(&mut AdaptiveInverseDesign)| {
        let mut design = AdaptiveInverseDesign::GENERIC;
        change(&mut design);
        Design::AdaptiveInverse(design)
    };
    assert_eq!(refused(adaptive(|d| d.start_delay_s = 0.2)), "start_delay");
    assert_eq!(refused(adaptive(|d| d.upper[0] = f64::NAN)), "upper");
    assert_eq!(refused(adaptive(|d| d.noise_m = 0.0)), "noise");
    assert_eq!(refused(adaptive(|d| d.filter_hz = 3000.0)), "filter");
    let shaping = ShapingDesign { low_pass_hz: Some(5000.0), ..Default::default() };
    let error = Compensator::new(&Design::None, &shaping, &site()).unwrap_err();
    assert_eq!(error.key(), "low_pass");
}

#[test]
fn taps_say_what_the_compensator_does() {
    for design in [
        Design::None,
        Design::FirstOrder(FirstOrderDesign { gain: 1.1, lead_s: 0.01 }),
        inverse(&[1.0, 0.02, 2e-4, 1e-6, 1e-9, 1e-12]),
        prediction(3, 0.003),
    ] {
        let taps = taps(&design, STEP_S).unwrap().expect("a fixed one");
        let mut compensator = build(&design);
        let mut command = Motion::rest(1);
        let past: Vec<[f64; 3]> = (0..200).map(|k| shaking(f64::from(k) * STEP_S).of(0)).collect();
        compensator.step(&Motion::rest(1), &[0.0], &mut command);
        for k in 0..past.len() {
            let mut desired = Motion::rest(1);
            desired.set(0, past[k]);
            compensator.step(&desired, &[0.0], &mut command);
            let mut sums = [0.0; 3];
            for tap in taps.iter().filter(|tap| tap.lag <= k) {
                sums[tap.to] += tap.weight * past[k - tap.lag][tap.from];
            }
            for (found, expected) in sums.into_iter().zip(command.of(0)) {
                assert!((found - expected).abs() < 1e-6 * expected.abs().max(1e-3), "{design:?}");
            }
        }
    }
    assert_eq!(taps(&pi_lead(), STEP_S), Ok(None));
    assert_eq!(taps(&model_based([0.0, 0.0]), STEP_S), Ok(None));
}

/// Smallest eigenvalue of a symmetric matrix, and its asymmetry.
fn symmetric(matrix: [[f64; 4]; 4]) -> (f64, f64) {
    let matrix = nalgebra::Matrix4::from_fn(|i, j| matrix[i][j]);
    let asymmetry = (matrix - matrix.transpose()).amax();
    (matrix.symmetric_eigenvalues().min(), asymmetry)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_covariance_stays_symmetric_and_positive(
        seed in any::<u64>(),
        hertz in 0.2..15.0_f64,
        size in -4.0..2.0_f64,
        forgetting in prop_oneof![Just(0.0), Just(0.1), Just(3.0)],
    ) {
        let design = AdaptiveInverseDesign { forgetting, ..AdaptiveInverseDesign::GENERIC };
        let mut one = AdaptiveInverse::new(&design, STEP_S).unwrap();
        let mut noise = numerics::random::Stream::new(seed, "noise");
        // From tenths of a millimetre to a hundred metres: S spans ten decades.
        let amplitude = 10f64.powf(size);
        for k in 0..12_000 {
            let angle = TAU * hertz * f64::from(k) * STEP_S;
            let sent = amplitude * (angle + 0.3).sin();
            one.learn(sent, amplitude * angle.sin() + 16e-6 * noise.normal());
            if k % 500 == 0 {
                let (least, asymmetry) = symmetric(one.covariance);
                prop_assert!(least > 0.0, "{least:e} at {k}");
                prop_assert!(asymmetry == 0.0, "{asymmetry:e}");
            }
        }
        let AdaptiveInverseDesign { lower, upper, .. } = design;
        for ((a, lower), upper) in one.parameters().iter().zip(lower).zip(upper) {
            prop_assert!((lower * 0.999999..=upper * 1.000001).contains(a));
        }
    }
}
