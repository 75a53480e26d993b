//! Fits against functions that are known.

use std::f64::consts::TAU;

use proptest::prelude::*;

use super::*;
use crate::Complex;
use crate::random::Stream;

/// The transfer system of the multi-rate paper.
fn plant() -> TransferFunction {
    TransferFunction::new(&[5.163e6], &[1.0, 530.8, 8.899e4, 5.44e6]).unwrap()
}

/// A response on lines from 0.1 Hz up to `to_hz`, each wrong by `noise` of its size.
fn data(
    function: &TransferFunction,
    delay_s: f64,
    to_hz: f64,
    noise: f64,
    seed: u64,
) -> ResponseData {
    let mut stream = Stream::new(seed, "fit");
    let lines = 300;
    let omega_rad_s: Vec<f64> =
        (1..=lines).map(|k| TAU * to_hz * f64::from(k) / f64::from(lines)).collect();
    let (mut response, mut deviation) = (Vec::new(), Vec::new());
    for &omega in &omega_rad_s {
        let exact = function.response(omega) * Complex::from_polar(1.0, -omega * delay_s);
        let size = noise.max(1e-9) * exact.norm();
        let error =
            Complex::new(stream.normal(), stream.normal()) * std::f64::consts::FRAC_1_SQRT_2;
        response.push(exact + if noise > 0.0 { error * size } else { Complex::ZERO });
        deviation.push(size);
    }
    ResponseData { omega_rad_s, response, deviation, correlation: Vec::new() }
}

fn worst(estimates: &[Estimate], exact: &[f64]) -> f64 {
    assert_eq!(estimates.len(), exact.len());
    estimates.iter().zip(exact).map(|(e, x)| (e.value / x - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn an_exact_response_gives_back_its_coefficients() {
    let orders = Orders { numerator: 0, denominator: 3 };
    let found = fit(&data(&plant(), 0.0, 15.0, 0.0, 1), orders, PureDelay::Fixed(0.0)).unwrap();
    assert!(worst(&found.numerator, &[5.163e6]) < 1e-8, "{:?}", found.numerator);
    assert!(worst(&found.denominator, &[1.0, 530.8, 8.899e4, 5.44e6]) < 1e-8);
    assert!((found.dc_gain.value - 5.163 / 5.44).abs() < 1e-10);
    assert!((1e3 * found.dc_delay_s.value - 8.899e4 / 5.44e3).abs() < 1e-8);
    assert!(found.is_stable());
    assert!((found.poles[2].re + 286.4).abs() < 0.1, "{:?}", found.poles);
}

#[test]
fn ten_decades_of_coefficients_are_no_trouble() {
    // The actuator and specimen of the virtual RTHS benchmark (Silva et al. 2020).
    let denominator = [29.1, 1.26e4, 8.42e6, 2.33e9, 5.44e11, 2.17e13].map(|c| c / 29.1);
    let servo = TransferFunction::new(&[2.19e13 / 29.1], &denominator).unwrap();
    let orders = Orders { numerator: 0, denominator: 5 };
    let found = fit(&data(&servo, 0.0, 60.0, 0.0, 1), orders, PureDelay::Fixed(0.0)).unwrap();
    assert!(worst(&found.denominator, &denominator) < 1e-7, "{:?}", found.denominator);
}

#[test]
fn zeros_and_a_pure_delay_are_parameters_too() {
    let function = TransferFunction::new(&[3.0, 700.0], &[1.0, 40.0, 900.0]).unwrap();
    let orders = Orders { numerator: 1, denominator: 2 };
    let found = fit(&data(&function, 0.004, 20.0, 0.0, 1), orders, PureDelay::Free).unwrap();
    assert!((found.delay_s.value - 0.004).abs() < 1e-9, "{:?}", found.delay_s);
    assert!(worst(&found.numerator, &[3.0, 700.0]) < 1e-6, "{:?}", found.numerator);
    assert!(worst(&found.denominator, &[1.0, 40.0, 900.0]) < 1e-6);
    let slope = 40.0 / 900.0 - 3.0 / 700.0 + 0.004;
    assert!((found.dc_delay_s.value - slope).abs() < 1e-8);
    // A known delay need not be found.
    let known =
        fit(&data(&function, 0.004, 20.0, 0.0, 1), orders, PureDelay::Fixed(0.004)).unwrap();
    assert!(worst(&known.denominator, &[1.0, 40.0, 900.0]) < 1e-8);
    assert_eq!(known.delay_s.deviation, 0.0);
}

#[test]
fn bounds_are_as_wide_as_the_scatter_of_repeated_fits() {
    let orders = Orders { numerator: 0, denominator: 3 };
    let exact = [5.163e6, 530.8, 8.899e4, 5.44e6];
    let (mut squares, mut count) = (0.0, 0.0);
    for seed in 0..60 {
        let found =
            fit(&data(&plant(), 0.0, 40.0, 1e-3, seed), orders, PureDelay::Fixed(0.0)).unwrap();
        assert!((found.misfit - 1.0).abs() < 0.3, "{}", found.misfit);
        let estimates = found.numerator.iter().chain(&found.denominator[1..]);
        for (estimate, exact) in estimates.zip(exact) {
            squares += ((estimate.value - exact) / estimate.deviation).powi(2);
            count += 1.0;
        }
        let delay = (found.dc_delay_s.value - 8.899e4 / 5.44e6) / found.dc_delay_s.deviation;
        assert!(delay.abs() < 4.5, "{delay}");
    }
    // The four errors of a fit go together, so this averages 60 of them.
    let ratio = (squares / count).sqrt();
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}

#[test]
fn the_order_is_found_at_any_noise() {
    for noise in [1e-6, 1e-4, 3e-3] {
        let chosen =
            choose_orders(&data(&plant(), 0.0, 60.0, noise, 5), 6, PureDelay::Fixed(0.0)).unwrap();
        assert_eq!(
            chosen.orders,
            Orders { numerator: 0, denominator: 3 },
            "{noise}: {:?}",
            chosen.tried
        );
    }
    let first = TransferFunction::new(&[90.0], &[1.0, 100.0]).unwrap();
    let chosen =
        choose_orders(&data(&first, 0.0, 40.0, 1e-3, 5), 6, PureDelay::Fixed(0.0)).unwrap();
    assert_eq!(chosen.orders, Orders { numerator: 0, denominator: 1 });
}

#[test]
fn nonsense_is_refused() {
    let good = data(&plant(), 0.0, 15.0, 1e-3, 1);
    let third = Orders { numerator: 0, denominator: 3 };
    for (numerator, denominator) in [(0, 0), (3, 3), (0, 13)] {
        let error = fit(&good, Orders { numerator, denominator }, PureDelay::Free).unwrap_err();
        assert!(matches!(error, FitError::BadOrders { .. }), "{error}");
    }
    let mut bad = good.clone();
    bad.response[4].re = f64::NAN;
    assert!(matches!(fit(&bad, third, PureDelay::Free), Err(FitError::BadLine { line: 5, .. })));
    let mut bad = good.clone();
    bad.deviation[0] = 0.0;
    assert!(matches!(fit(&bad, third, PureDelay::Free), Err(FitError::BadLine { line: 1, .. })));
    let short = ResponseData {
        omega_rad_s: good.omega_rad_s[..2].to_vec(),
        response: good.response[..2].to_vec(),
        deviation: good.deviation[..2].to_vec(),
        correlation: Vec::new(),
    };
    assert!(matches!(fit(&short, third, PureDelay::Free), Err(FitError::TooFewLines { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_damped_pair_with_a_lag_is_recovered(
        hertz in 4.0..30.0_f64,
        ratio in 0.2..1.5_f64,
        lag in 20.0..400.0_f64,
        gain in 0.1..5.0_f64,
    ) {
        let omega = TAU * hertz;
        let (c, k) = (2.0 * ratio * omega, omega * omega);
        let denominator = [1.0, c + lag, k + c * lag, k * lag];
        let function = TransferFunction::new(&[gain * k * lag], &denominator).unwrap();
        let orders = Orders { numerator: 0, denominator: 3 };
        let found = fit(&data(&function, 0.0, 30.0, 0.0, 1), orders, PureDelay::Fixed(0.0)).unwrap();
        prop_assert!(worst(&found.denominator, &denominator) < 1e-6, "{:?}", found.denominator);
        prop_assert!((found.dc_gain.value / gain - 1.0).abs() < 1e-8);
    }

    #[test]
    fn any_numbers_are_survived(
        values in prop::collection::vec((-1e9..1e9_f64, -1e9..1e9_f64), 8..20),
        denominator in 1_usize..5,
    ) {
        let data = ResponseData {
            omega_rad_s: (1..=values.len()).map(|k| k as f64).collect(),
            response: values.iter().map(|&(re, im)| Complex::new(re, im)).collect(),
            deviation: vec![1.0; values.len()],
            correlation: Vec::new(),
        };
        let orders = Orders { numerator: denominator - 1, denominator };
        let _ = fit(&data, orders, PureDelay::Free);
    }
}
