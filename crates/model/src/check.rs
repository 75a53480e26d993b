//! Ranges of numbers, and how many there are.

use crate::error::{BadNumber, ModelError};

/// The value, if it is good.
pub(crate) fn require(
    good: bool,
    name: &'static str,
    value: f64,
    requirement: &'static str,
) -> Result<f64, BadNumber> {
    if good { Ok(value) } else { Err(BadNumber { name, value, requirement }) }
}

pub(crate) fn check_finite(name: &'static str, value: f64) -> Result<f64, BadNumber> {
    require(value.is_finite(), name, value, "a finite number")
}

pub(crate) fn check_positive(name: &'static str, value: f64) -> Result<f64, BadNumber> {
    require(value.is_finite() && value > 0.0, name, value, "greater than zero")
}

pub(crate) fn check_not_negative(name: &'static str, value: f64) -> Result<f64, BadNumber> {
    require(value.is_finite() && value >= 0.0, name, value, "zero or more")
}

/// All of some numbers by one of the above.
pub(crate) fn check_each<'a>(
    check: fn(&'static str, f64) -> Result<f64, BadNumber>,
    name: &'static str,
    values: impl IntoIterator<Item = &'a f64>,
) -> Result<(), BadNumber> {
    values.into_iter().try_for_each(|&value| check(name, value).map(drop))
}

pub(crate) fn check_count(
    what: &'static str,
    given: usize,
    expected: usize,
) -> Result<(), ModelError> {
    if given == expected { Ok(()) } else { Err(ModelError::WrongCount { what, given, expected }) }
}
