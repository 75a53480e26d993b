//! Choosing the degrees of a transfer function.

use thiserror::Error;

use super::{FitError, Orders, PureDelay, RationalFit, ResponseData, fit};

/// Evidence that a further parameter must bring, in units of the criterion:
/// a difference above 10 is called very strong (Kass & Raftery 1995).
const STRONG_EVIDENCE: f64 = 10.0;
/// A coefficient known worse than to this share of itself is not known: its
/// bounds of two deviations contain zero.
const UNKNOWN: f64 = 0.5;
/// Zeros tried: actuators and their controllers have few.
const MOST_ZEROS: usize = 2;

/// A fit with the criterion it was judged by.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The fit.
    pub fit: RationalFit,
    /// Its degrees.
    pub orders: Orders,
    /// Schwarz's criterion; lower is better.
    pub criterion: f64,
    /// Every pair of degrees that gave a stable, determined fit, with its criterion.
    pub tried: Vec<(Orders, f64)>,
}

/// No degrees could be chosen: not one fit was stable with coefficients that are
/// determined.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("no transfer function up to degree {most} is stable and determined by this response")]
pub struct OrderError {
    /// Highest degree tried.
    pub most: usize,
    /// What the last attempt said, if it failed altogether.
    pub last: Option<FitError>,
}

/// The simplest transfer function that the response asks for.
///
/// All strictly proper functions up to degree `most` with at most two zeros are
/// fitted. Those with a growing pole, or a coefficient whose bounds contain
/// zero, are no candidates. Of the others Schwarz's criterion
///   N ln(χ²/N) + p ln N
/// decides, N being the independent real numbers in the data; among those within
/// "very strong evidence" of the least, the one with the fewest parameters wins.
pub fn choose_orders(
    data: &ResponseData,
    most: usize,
    delay: PureDelay,
) -> Result<Choice, OrderError> {
    let independent = 2.0 * data.omega_rad_s.len() as f64 / data.dependent_lines.max(1.0);
    let mut candidates: Vec<(RationalFit, Orders, f64)> = Vec::new();
    let mut last = None;
    for denominator in 1..=most {
        for numerator in 0..denominator.min(MOST_ZEROS + 1) {
            let orders = Orders { numerator, denominator };
            match fit(data, orders, delay) {
                Ok(found) if found.is_stable() && found.worst_relative_deviation() < UNKNOWN => {
                    let share = found.misfit.max(f64::MIN_POSITIVE);
                    let parameters = found.parameters as f64;
                    let criterion = independent * share.ln() + parameters * independent.ln();
                    candidates.push((found, orders, criterion));
                }
                Ok(_) => {}
                Err(error) => last = Some(error),
            }
        }
    }
    let least = candidates.iter().map(|(.., c)| *c).fold(f64::INFINITY, f64::min);
    let tried: Vec<(Orders, f64)> = candidates.iter().map(|(_, o, c)| (*o, *c)).collect();
    let chosen = candidates
        .into_iter()
        .filter(|(.., criterion)| *criterion <= least + STRONG_EVIDENCE)
        .min_by(|a, b| a.0.parameters.cmp(&b.0.parameters).then(a.2.total_cmp(&b.2)));
    match chosen {
        Some((fit, orders, criterion)) => Ok(Choice { fit, orders, criterion, tried }),
        None => Err(OrderError { most, last }),
    }
}
