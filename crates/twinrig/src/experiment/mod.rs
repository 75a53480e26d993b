//! The experiment file.

pub mod diagnostic;
pub mod quantity;
pub mod source;
pub mod units;
