//! Ranges of single numbers.

use crate::error::ModelError;

pub(crate) fn check_finite(name: &'static str, value: f64) -> Result<(), ModelError> {
    if value.is_finite() {
        return Ok(());
    }
    Err(ModelError::BadParameter { name, value, requirement: "a finite number" })
}

pub(crate) fn check_positive(name: &'static str, value: f64) -> Result<(), ModelError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(ModelError::BadParameter { name, value, requirement: "greater than zero" })
}

pub(crate) fn check_not_negative(name: &'static str, value: f64) -> Result<(), ModelError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(ModelError::BadParameter { name, value, requirement: "zero or greater" })
}
