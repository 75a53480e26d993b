//! Eigenvalues keep their digits whatever the unit of a matrix.

use std::f64::consts::PI;

use nalgebra::DMatrix;
use numerics::eigen::{symmetric_eigenvalues, symmetric_modes};

/// A chain's 2 − 2 cos(kπ/(n+1)), whatever the unit of its entries.
#[test]
fn small_and_large_entries_keep_their_digits() {
    let n = 40;
    let chain = DMatrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    });
    let mass = DMatrix::identity(n, n);
    let exact = |k: usize| 2.0 - 2.0 * ((k + 1) as f64 * PI / (n + 1) as f64).cos();
    for size in [1e-300, 1e-30, 1e-8, 1.0, 1e12, 1e200] {
        let values = symmetric_eigenvalues(&(size * &chain)).unwrap();
        let modes = symmetric_modes(&(size * &chain), &mass).unwrap();
        for k in 0..n {
            let off = values[k] / size - exact(k);
            assert!(off.abs() < 1e-14 * n as f64, "{size:e}, {k}: {off:e}");
            let off = modes.omega_rad_s[k].powi(2) / size - exact(k);
            assert!(off.abs() < 1e-14 * n as f64, "{size:e}, mode {k}: {off:e}");
        }
    }
}
