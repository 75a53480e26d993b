//! Excitation.
