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
    let independent = data.independent();
    let mut candidates: Vec<(RationalFit, Orders, f64)> = Vec::new();
    let mut last = None;
    for denominator in 1..=most {
        for numerator in 0..denominator.min(MOST_ZEROS + 1) {
            let orders = Orders { numerator, denominator };
            match fit(data, orders, delay) {
                Ok(found) if found.is_candidate() => {
                    let criterion = schwarz(independent, found.misfit, found.parameters);
                    candidates.push((found, orders, criterion));
                }
                Ok(_) => {}
                Err(error) => last = Some(error),
            }
        }
    }
    let found = simplest(candidates, |fit| fit).ok_or(OrderError { most, last })?;
    let (fit, orders, criterion, tried) = found;
    Ok(Choice { fit, orders, criterion, tried })
}

/// What was fitted, its degrees and its criterion, and those of all that were tried.
pub type Simplest<T> = (T, Orders, f64, Vec<(Orders, f64)>);

/// Of the candidates within "very strong evidence" of the least criterion the one with the
/// fewest parameters.
pub fn simplest<T>(
    candidates: Vec<(T, Orders, f64)>,
    fit: impl Fn(&T) -> &RationalFit,
) -> Option<Simplest<T>> {
    let least = candidates.iter().map(|(.., c)| *c).fold(f64::INFINITY, f64::min);
    let tried = candidates.iter().map(|(_, orders, criterion)| (*orders, *criterion)).collect();
    let near = candidates.into_iter().filter(|(.., c)| *c <= least + STRONG_EVIDENCE);
    let order = |a: &(T, Orders, f64), b: &(T, Orders, f64)| {
        fit(&a.0).parameters.cmp(&fit(&b.0).parameters).then(a.2.total_cmp(&b.2))
    };
    near.min_by(order).map(|(found, orders, criterion)| (found, orders, criterion, tried))
}

impl RationalFit {
    /// Whether it may be chosen: it decays, and no coefficient's bounds contain zero.
    pub fn is_candidate(&self) -> bool {
        self.is_stable() && self.worst_relative_deviation() < UNKNOWN
    }
}

/// Schwarz's criterion, N ln(left) + p ln N, of what is left of the variance of so many independent numbers.
pub fn schwarz(independent: f64, left: f64, parameters: usize) -> f64 {
    independent * left.max(f64::MIN_POSITIVE).ln() + parameters as f64 * independent.ln()
}
