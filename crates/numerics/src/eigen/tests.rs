//! Eigenvalues against closed forms, and hostile matrices.

use super::*;
use crate::{Complex, Matrix};
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;
use std::f64::consts::{PI, TAU};

fn benchmark() -> (Matrix, Matrix) {
    let stiffness = DMatrix::from_row_slice(
        3,
        3,
        &[
            26054883.879603837,
            -23133938.877108198,
            5937035.463339146,
            -23133938.877108198,
            32560774.186380334,
            -14419970.777236981,
            5937035.463339146,
            -14419970.777236981,
            9267275.506224312,
        ],
    );
    (stiffness, DMatrix::identity(3, 3) * 1000.0)
}

#[test]
fn benchmark_frequencies_are_the_published_ones() {
    let (stiffness, mass) = benchmark();
    let modes = symmetric_modes(&stiffness, &mass).unwrap();
    for (index, expected) in [3.6124, 15.9966, 38.0862].into_iter().enumerate() {
        assert!((modes.frequency_hz(index) - expected).abs() < 5e-5);
    }
}

#[test]
fn fixed_chain_matches_its_closed_form() {
    let n = 120;
    let mut stiffness = DMatrix::zeros(n, n);
    for i in 0..n {
        stiffness[(i, i)] = 2.0e5;
        if i > 0 {
            stiffness[(i, i - 1)] = -1.0e5;
            stiffness[(i - 1, i)] = -1.0e5;
        }
    }
    let modes = symmetric_modes(&stiffness, &(DMatrix::identity(n, n) * 3.0)).unwrap();
    for k in 0..n {
        let angle = (k + 1) as f64 * PI / (2 * (n + 1)) as f64;
        let exact = 2.0 * (1.0e5_f64 / 3.0).sqrt() * angle.sin();
        assert!((modes.omega_rad_s[k] / exact - 1.0).abs() < 1e-10, "mode {k}");
    }
}

#[test]
fn rigid_body_modes_read_zero_and_negative_stiffness_is_told() {
    let stiffness = DMatrix::from_row_slice(2, 2, &[0.3, -0.3, -0.3, 0.3]);
    let mass = DMatrix::from_diagonal(&DVector::from_vec(vec![1.0, 2.0]));
    let modes = symmetric_modes(&stiffness, &mass).unwrap();
    assert!(modes.omega_rad_s[0] < 1e-7);
    assert!((modes.omega_rad_s[1] - 0.45_f64.sqrt()).abs() < 1e-14);
    let error = symmetric_modes(&(-stiffness), &mass).unwrap_err();
    assert!(matches!(error, EigenError::NegativeStiffness(..)));
}

#[test]
fn indefinite_or_singular_mass_names_its_row() {
    let (stiffness, _) = benchmark();
    let mut mass = DMatrix::identity(3, 3);
    for bad in [0.0, -1.0, 1e-17] {
        mass[(2, 2)] = 1.0 + bad;
        mass[(1, 2)] = 1.0;
        mass[(2, 1)] = 1.0;
        let error = symmetric_modes(&stiffness, &mass).unwrap_err();
        assert_eq!(error, EigenError::MassNotPositiveDefinite(2));
    }
}

#[test]
fn balancing_keeps_the_slow_poles_of_a_stiff_companion_matrix() {
    // 29.1 s⁵ + 1.26e4 s⁴ + 8.42e6 s³ + 2.33e9 s² + 5.44e11 s + 2.17e13;
    // roots from mpmath.polyroots with 30 digits.
    let c = [2.17e13, 5.44e11, 2.33e9, 8.42e6, 1.26e4].map(|value| value / 29.1);
    let companion = DMatrix::from_fn(5, 5, |i, j| match (i, j) {
        (4, j) => -c[j],
        (i, j) if j == i + 1 => 1.0,
        _ => 0.0,
    });
    let mut found = eigenvalues(&companion).unwrap();
    found.sort_by(|a, b| a.re.total_cmp(&b.re).then(a.im.total_cmp(&b.im)));
    let expected = [
        (-184.32783182017603, -230.0122276889796),
        (-184.32783182017603, 230.0122276889796),
        (-48.2265646217849, 0.0),
        (-8.053731229756265, -421.78896495000517),
        (-8.053731229756265, 421.78896495000517),
    ];
    for (value, (re, im)) in found.iter().zip(expected) {
        let error = (value.re - re).hypot(value.im - im) / re.hypot(im);
        assert!(error < 1e-12, "{value} against {re} {im}j: {error:e}");
    }
    let values = eigenvalues(&companion).unwrap();
    let slowest = values.iter().map(|value| value.re).fold(f64::NEG_INFINITY, f64::max);
    assert!((slowest + 8.053731229756265).abs() < 1e-9);
}

#[test]
fn rotation_has_unit_radius_and_empty_matrices_are_fine() {
    let (s, c) = 0.3_f64.sin_cos();
    let turn = DMatrix::from_row_slice(2, 2, &[c, -s, s, c]);
    assert!((spectral_radius(&turn).unwrap() - 1.0).abs() < 1e-15);
    let none = DMatrix::zeros(0, 0);
    assert!(eigenvalues(&none).unwrap().is_empty());
    assert_eq!(spectral_radius(&none), Ok(0.0));
    assert_eq!(smallest_symmetric_eigenvalue(&none), Ok(f64::INFINITY));
    assert!(symmetric_modes(&none, &none).unwrap().is_empty());
    assert!(is_symmetric(&none, 0.0));
}

#[test]
fn hostile_entries_are_errors() {
    let mut matrix = DMatrix::identity(3, 3);
    matrix[(1, 2)] = f64::NAN;
    let told = EigenError::NotFinite { row: 1, column: 2, value: f64::NAN };
    assert_eq!(eigenvalues(&matrix).unwrap_err().to_string(), told.to_string());
    matrix[(1, 2)] = 0.5;
    assert_eq!(
        symmetric_eigenvalues(&matrix),
        Err(EigenError::NotSymmetric(Asymmetry {
            row: 1,
            column: 2,
            upper: 0.5,
            lower: 0.0,
            relative: 0.5
        }))
    );
    assert!(!is_symmetric(&DMatrix::zeros(2, 3), 1.0));
    let huge = DMatrix::from_element(4, 4, f64::MAX);
    assert!(eigenvalues(&huge).is_err() || spectral_radius(&huge).unwrap().is_finite());
    assert!(symmetric_eigenvalues(&huge).map_or(true, |v| v.iter().all(|x| x.is_finite())));
}

#[test]
fn symmetry_is_judged_in_the_units_of_the_pair() {
    // The pair (1, 2) is off by one per cent, ten decades below the corner.
    let mut matrix = DMatrix::from_diagonal(&DVector::from_vec(vec![1e10, 1.0, 1.0]));
    matrix[(1, 2)] = 0.50;
    matrix[(2, 1)] = 0.51;
    assert!(!is_symmetric(&matrix, 1e-9));
    assert!(is_symmetric(&matrix, 0.02));
}

proptest! {
    #[test]
    fn modes_diagonalise_both_matrices(
        entries in prop::collection::vec(-1.0..1.0_f64, 72),
    ) {
        let a = DMatrix::from_column_slice(6, 6, &entries[..36]);
        let b = DMatrix::from_column_slice(6, 6, &entries[36..]);
        let stiffness = &a * a.transpose() * 1e6;
        let mass = &b * b.transpose() + DMatrix::identity(6, 6) * 0.1;
        let modes = symmetric_modes(&stiffness, &mass).unwrap();
        let unit = modes.shapes.transpose() * &mass * &modes.shapes;
        prop_assert!((unit - DMatrix::identity(6, 6)).amax() < 1e-11);
        let squares = modes.shapes.transpose() * &stiffness * &modes.shapes;
        let expected = DMatrix::from_diagonal(&modes.omega_rad_s.map(|w| w * w));
        prop_assert!((squares - &expected).amax() < 1e-11 * expected.amax());
        prop_assert!(modes.omega_rad_s.as_slice().is_sorted());
    }

    #[test]
    fn eigenvalues_sum_to_the_trace(entries in prop::collection::vec(-1.0..1.0_f64, 64)) {
        let matrix = DMatrix::from_column_slice(8, 8, &entries);
        let sum: Complex = eigenvalues(&matrix).unwrap().iter().sum();
        prop_assert!((sum.re - matrix.trace()).abs() < 1e-12 && sum.im.abs() < 1e-12);
    }
}

#[test]
fn frequency_is_omega_over_two_pi() {
    let one = DMatrix::from_element(1, 1, TAU * TAU * 4.0);
    let modes = symmetric_modes(&one, &DMatrix::identity(1, 1)).unwrap();
    assert!((modes.frequency_hz(0) - 2.0).abs() < 1e-14);
}
