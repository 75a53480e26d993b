//! eigen.
