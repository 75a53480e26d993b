//! The fit repeated on what the first one left over.

use numerics::held_response::held_response;
use numerics::rational_fit::{Choice, RationalFit, ResponseData, schwarz, simplest};
use numerics::welch::Spectra;

use super::{IdentificationError, OrderChoice, Samples, Settings, judge, response_data};

/// Repetitions: each takes away all but a thousandth of what a window smears.
const MOST_REPETITIONS: usize = 6;
/// Relative change of a coefficient that ends them.
const SETTLED: f64 = 1e-9;

/// The smallest rms, over that of the measured motion, that counts: what a fit leaves of samples
/// without noise is rounding, and says nothing of its degrees.
const EXACT: f64 = 1e-6;

/// The simplest of the functions that were tried. What a window smears of a function of too few
/// degrees, or without its delay, one of higher degree takes up: so each is fitted until it
/// settles, and judged by what it then leaves of the measured motion.
pub(super) fn simplest_of(
    samples: Samples<'_>,
    settings: &Settings,
    segment: usize,
    chosen: &[usize],
    first: Choice,
    data: ResponseData,
) -> Result<(Choice, ResponseData, Option<f64>), IdentificationError> {
    let count = samples.measured.len() as f64;
    let candidates = first.tried.iter().filter_map(|&(orders, _)| {
        let given = Settings { order: OrderChoice::Given(orders), ..*settings };
        let start = judge(&data, &given).ok()?;
        let refined = refine(samples, &given, segment, chosen, start, data.clone()).ok()?;
        let left = refined.2?.max(EXACT);
        let fit = &refined.0.fit;
        let criterion = schwarz(count, left * left, fit.parameters);
        fit.is_candidate().then_some((refined, orders, criterion))
    });
    match simplest(candidates.collect(), |(choice, ..)| &choice.fit) {
        None => Ok((first, data, None)),
        Some(((choice, data, residual), _, criterion, tried)) => {
            Ok((Choice { criterion, tried, ..choice }, data, residual))
        }
    }
}

/// Fits again until the coefficients settle. Gives the last fit, the
/// response it was made to, and the rms of what it leaves of the measured
/// motion, relative.
pub(super) fn refine(
    samples: Samples<'_>,
    settings: &Settings,
    segment: usize,
    chosen: &[usize],
    mut judged: Choice,
    mut data: ResponseData,
) -> Result<(Choice, ResponseData, Option<f64>), IdentificationError> {
    let step_s = 1.0 / samples.rate_hz;
    let mut residual = left_over(samples, &judged.fit);
    for _ in 0..MOST_REPETITIONS {
        // A growing model cannot be taken off anything.
        if !judged.fit.is_stable() || !residual.iter().all(|value| value.is_finite()) {
            return Ok((judged, data, None));
        }
        let left = Spectra::new(samples.command, &residual, segment, samples.rate_hz)?;
        let model = judged.fit.clone();
        let left_data =
            response_data(&left, chosen, settings.hold, step_s, |omega| model.response(omega));
        // What cannot be fitted any better stays as it is.
        let Ok(again) = judge(&left_data, settings) else { break };
        data = left_data;
        let settled = change(&judged.fit, &again.fit) < SETTLED;
        residual = left_over(samples, &again.fit);
        judged = again;
        if settled {
            break;
        }
    }
    let rms = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64).sqrt()
    };
    let share = rms(&residual) / rms(samples.measured);
    Ok((judged, data, share.is_finite().then_some(share)))
}

fn left_over(samples: Samples<'_>, fit: &RationalFit) -> Vec<f64> {
    let model =
        held_response(&fit.function, fit.delay_s.value, samples.command, 1.0 / samples.rate_hz);
    samples.measured.iter().zip(model).map(|(measured, model)| measured - model).collect()
}

/// Largest relative change of a coefficient; infinite if the degrees changed.
fn change(before: &RationalFit, after: &RationalFit) -> f64 {
    let degrees = |fit: &RationalFit| (fit.numerator.len(), fit.denominator.len());
    if degrees(before) != degrees(after) {
        return f64::INFINITY;
    }
    let old = before.numerator.iter().chain(&before.denominator);
    let new = after.numerator.iter().chain(&after.denominator);
    old.zip(new).map(|(old, new)| ((new.value - old.value) / old.value).abs()).fold(0.0, f64::max)
}
