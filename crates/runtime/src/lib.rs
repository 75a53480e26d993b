//! The tick and everything around it while a test runs.

pub mod record;
