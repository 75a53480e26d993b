//! Linear systems, discretisation, spectra, filters and kernels.
//!
//! This crate knows no structural word and no file. All calls into faer stay
//! behind the concrete `f64` functions of [`eigen`] and [`sparse`], so that an edit
//! elsewhere does not recompile its generic code.

pub mod block;
pub mod complex_eigen;
pub mod continuation;
pub mod correlate;
pub mod delay_system;
pub mod discretise;
pub mod distribution;
pub mod eigen;
pub mod filter;
pub mod fourier;
pub mod gemv;
pub mod harmonic_balance;
pub mod harmonics;
pub mod held_response;
pub mod interpolate;
pub mod krylov;
pub mod lanes;
pub mod levenberg_marquardt;
pub mod linear_system;
pub mod lti;
pub mod multi_bisection;
pub mod random;
pub mod rational_fit;
pub mod resolvent;
pub mod second_order;
mod simd;
pub mod small;
pub mod solve;
pub mod sparse;
pub mod spectral_ratio;
pub mod welch;

use nalgebra::{DMatrix, DVector};

/// A complex number.
pub type Complex = nalgebra::Complex<f64>;
/// A dense matrix.
pub type Matrix = DMatrix<f64>;
/// A dense matrix of complex numbers.
pub type ComplexMatrix = DMatrix<Complex>;
/// A dense vector.
pub type Vector = DVector<f64>;
