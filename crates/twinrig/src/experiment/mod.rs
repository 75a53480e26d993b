//! experiment.
