//! Evaluation criteria.
