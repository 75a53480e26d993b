//! How well the paper's transfer system is identified.

use std::f64::consts::{SQRT_2, TAU};

use analysis::identification::{Hold, OrderChoice, Settings};
use numerics::lti::TransferFunction;
use numerics::rational_fit::{Orders, PureDelay, ResponseData, fit};
use runtime::stop::StopHandle;

use super::super::Values;
use super::{INCH_M, NOISE_M};
use crate::error::Error;
use crate::identify::drive::{DrivePlan, Kind, Size};
use crate::identify::run_test;
use crate::onlooker::{Onlooker, Silent};
use crate::pace::Clock;
use crate::run_folder::TemporaryFolder;
use crate::test::Test;

/// Seeds over which the worst coefficient is taken: of signal and of noise.
pub(super) const SEEDS: u64 = 8;

/// The test at which the plant is known to 0.1 %: four times the paper's
/// amplitude, up to 40 Hz instead of 15.
const WIDE: DrivePlan = DrivePlan {
    kind: Kind::Noise,
    band_hz: (0.0, 40.0),
    size: Size::Rms(0.04 * INCH_M),
    duration_s: 300.0,
    seed: 1,
};

/// The paper's own test.
const PRINTED: DrivePlan =
    DrivePlan { band_hz: (0.0, 15.0), size: Size::Rms(0.01 * INCH_M), ..WIDE };

/// Degrees of the paper's transfer system.
const ORDERS: Orders = Orders { numerator: 0, denominator: 3 };

/// The worst deviations of the coefficients, and the least that any method can have.
pub(super) fn values(
    test: &Test,
    function: &TransferFunction,
    values: &mut Values,
    onlooker: &mut dyn Onlooker,
) -> Result<(), Error> {
    for (suffix, words, plan, times, seeds) in [
        ("", "with the rig's noise", &WIDE, 1.0, SEEDS),
        ("_noise_free", "without noise", &WIDE, 0.0, 2),
        ("_noise_x6", "with six times the noise", &WIDE, 6.0, SEEDS),
        ("_printed_test", "as printed", &PRINTED, 1.0, SEEDS),
    ] {
        let noise_m = times * NOISE_M;
        let (mut worst, mut squares) = (0.0f64, 0.0);
        for seed in 1..=seeds {
            onlooker.stage(&format!("identification {words}, seed {seed} of {seeds}"));
            let found = deviation_percent(test, function, plan, noise_m, seed)?;
            (worst, squares) = (worst.max(found), squares + found * found);
        }
        values.set(format!("fit_worst_coefficient{suffix}"), worst);
        values.set(format!("fit_spread{suffix}"), (squares / seeds as f64).sqrt());
        if times == 1.0 {
            values.set(format!("fit_bound{suffix}"), bound_percent(function, plan)?);
        }
    }
    Ok(())
}

/// The largest relative error of the four coefficients after one test, %.
fn deviation_percent(
    test: &Test,
    function: &TransferFunction,
    plan: &DrivePlan,
    noise_m: f64,
    seed: u64,
) -> Result<f64, Error> {
    let (noise, number) = (format!("{noise_m} m"), seed.to_string());
    let values = [("sensors.displacement_noise", &noise), ("seed", &number)];
    let test = test.clone().with_values(values)?;
    let settings = Settings {
        segment: Some(16_384),
        band_hz: Some(plan.band_hz),
        hold: Hold::Zero,
        order: OrderChoice::Given(ORDERS),
        delay: PureDelay::Fixed(0.0),
    };
    let folder = TemporaryFolder::new()?;
    let driven = run_test(
        test.experiment(),
        test.source(),
        test.assembly()?,
        (&DrivePlan { seed, ..*plan }, 0),
        &folder.path().join("record.arrow"),
        Clock::Virtual,
        &StopHandle::default(),
        &mut Silent,
    )?;
    let fitted = driven.identify(&settings)?.found.fit.function;
    let errors = |found: &[f64], exact: &[f64]| {
        let relative = found.iter().zip(exact).map(|(f, e)| (f / e - 1.0).abs());
        relative.fold(0.0, f64::max)
    };
    let above = errors(fitted.numerator(), function.numerator());
    Ok(100.0 * above.max(errors(fitted.denominator(), function.denominator())))
}

/// The Cramér–Rao bound: the least relative standard deviation that an unbiased
/// estimate of the worst coefficient can have, with white noise on the sensor, %.
///
/// With N samples, a command line of amplitude A and noise σ, real and imaginary
/// part of the response are each known to σ √(2/N)/A; the information of all
/// lines adds up, as it does in a fit to the response itself.
fn bound_percent(function: &TransferFunction, plan: &DrivePlan) -> Result<f64, Error> {
    let Size::Rms(rms) = plan.size else { return Ok(f64::NAN) };
    let samples = 1000.0 * plan.duration_s;
    let lines = (plan.band_hz.1 * plan.duration_s) as usize;
    let amplitude = rms * (2.0 / lines as f64).sqrt();
    let known = NOISE_M * (2.0 / samples).sqrt() / amplitude;
    let omegas = (1..=lines).map(|line| TAU * line as f64 / plan.duration_s);
    let data = ResponseData {
        response: omegas.clone().map(|omega| function.response(omega)).collect(),
        omega_rad_s: omegas.collect(),
        deviation: vec![SQRT_2 * known; lines],
        correlation: Vec::new(),
    };
    let fitted = fit(&data, ORDERS, PureDelay::Fixed(0.0))
        .map_err(|source| Error::Identification { dof: 1, source: source.into() })?;
    Ok(100.0 * fitted.worst_relative_deviation())
}
