//! Sparse matrices, solutions and modes against dense ones.

use super::*;
use crate::eigen;
use crate::random::Stream;
use crate::{Complex, Matrix};
use nalgebra::DMatrix;

use proptest::prelude::*;

/// A line of masses and springs, as sparse matrices.
fn line(n: usize, held: bool) -> (SparseMatrix, SparseMatrix) {
    let spring = |i: usize, j: usize| match (i == j, i.abs_diff(j) == 1) {
        (true, _) if !held && (i == 0 || i == n - 1) => 1.0,
        (true, _) => 2.0,
        (_, true) => -1.0,
        _ => 0.0,
    };
    let k = DMatrix::from_fn(n, n, spring) * 1e6;
    let m = DMatrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 => 4.0,
        1 => 1.0,
        _ => 0.0,
    });
    (SparseMatrix::from_dense(&k).unwrap(), SparseMatrix::from_dense(&m).unwrap())
}

#[test]
fn entries_are_added_sorted_and_checked() {
    let entries = [(2, 0, 1.0), (0, 0, 2.0), (2, 0, 0.5), (1, 2, -1.0)];
    let matrix = SparseMatrix::from_triplets(3, 3, entries).unwrap();
    assert_eq!(matrix.entries(), 3);
    assert_eq!(matrix.get(2, 0), 1.5);
    assert_eq!(matrix.get(0, 2), 0.0);
    assert!(!matrix.is_symmetric() && matrix.symmetric_part().is_symmetric());
    assert_eq!(matrix.worst_asymmetry().map(|worst| worst.relative), Some(1.0));
    assert!(SparseMatrix::from_triplets(2, 2, [(0, 0, f64::NAN)]).is_err());
    assert!(SparseMatrix::from_triplets(usize::MAX, 2, []).is_err());
    let empty = SparseMatrix::zeros(0, 0);
    assert_eq!(empty.times(&DMatrix::zeros(0, 2)).shape(), (0, 2));
}

proptest! {
    #[test]
    fn products_sums_and_selections_are_those_of_dense_matrices(
        values in prop::collection::vec(-2.0..2.0_f64, 63), columns in 1_usize..7,
    ) {
        let keep = |v: f64| if v.abs() < 0.7 { 0.0 } else { v };
        let a = DMatrix::from_iterator(7, 9, values.iter().map(|v| keep(*v)));
        let b = DMatrix::from_iterator(7, 9, values.iter().rev().map(|v| keep(*v)));
        let x = DMatrix::from_fn(9, columns, |i, j| (i + 3 * j) as f64 - 4.0);
        let y = DMatrix::from_fn(7, columns, |i, j| (2 * i + j) as f64 - 5.0);
        let (sa, sb) = (SparseMatrix::from_dense(&a).unwrap(), SparseMatrix::from_dense(&b).unwrap());
        prop_assert!((sa.times(&x) - &a * &x).amax() < 1e-12);
        prop_assert!((sa.transposed_times(&y) - a.transpose() * &y).amax() < 1e-12);
        let sum = SparseMatrix::sum(&[(2.0, &sa), (-1.0, &sb)]).to_dense();
        prop_assert!((sum - (2.0 * &a - &b)).amax() < 1e-12);
        let part = sa.selected(&[5, 1, 2], &[8, 0]).to_dense();
        prop_assert_eq!(part[(0, 0)], a[(5, 8)]);
        prop_assert_eq!(part[(2, 1)], a[(2, 0)]);
        let square = SparseMatrix::from_dense(&(a.transpose() * &a)).unwrap().symmetric_part();
        let z = DMatrix::from_fn(9, columns, |i, j| (i * j) as f64 - 4.0);
        prop_assert!((square.times(&z) - square.to_dense() * &z).amax() < 1e-10);
    }
}

#[test]
fn factors_solve() {
    let mut random = Stream::new(4, "factors");
    let (k, _) = line(60, true);
    let x = DMatrix::from_fn(60, 5, |_, _| random.normal());
    let factor = Cholesky::new(&k).unwrap();
    for columns in [1, 5, 19] {
        let x = DMatrix::from_fn(60, columns, |_, _| random.normal());
        let mut solved = k.times(&x);
        factor.solve(&mut solved);
        assert!((&solved - &x).amax() < 1e-9);
    }
    assert!(factor.bytes() == 8 * factor.entries() && factor.entries() >= 119);
    // The last pivot of a held line of springs: (n + 1)/n of its stiffness.
    assert!(factor.weakest_pivot().1 > 0.01);
    let skew = SparseMatrix::from_triplets(60, 60, (1..60).map(|i| (i, i - 1, 3e5))).unwrap();
    let general = SparseMatrix::sum(&[(1.0, &k), (1.0, &skew)]);
    let lu = Lu::new(&general).unwrap();
    let mut solved = general.times(&x);
    lu.solve(&mut solved);
    assert!((&solved - &x).amax() < 1e-9);
    let mut solved = general.transposed_times(&x);
    lu.solve_transposed(&mut solved);
    assert!((&solved - &x).amax() < 1e-9);
}

#[test]
fn complex_responses_and_singular_matrices() {
    let (k, m) = line(30, true);
    let lu = ComplexLu::new(SparseMatrix::sum(&[(1.0, &k), (1.0, &m)])).unwrap();
    let terms = [(Complex::new(1.0, 0.02), &k), (Complex::new(-9e4, 0.0), &m)];
    let mut x = DMatrix::zeros(30, 1);
    x[(7, 0)] = Complex::ONE;
    lu.solve(&terms, &mut x).unwrap();
    let dense = k.to_dense().map(|v| Complex::new(v, 0.02 * v))
        - m.to_dense().map(|v| Complex::new(9e4 * v, 0.0));
    let back = dense * x;
    assert!((back[7] - Complex::ONE).norm() < 1e-10 && back[8].norm() < 1e-10);
    let (free, _) = line(30, false);
    // Singular: no factor, or one that says so.
    match Cholesky::new(&free) {
        Ok(factor) => assert!(factor.weakest_pivot().1 < 1e-13),
        Err(error) => assert!(matches!(error, SparseError::NotPositiveDefinite(..))),
    }
    let negative = SparseMatrix::from_dense(&-Matrix::identity(3, 3)).unwrap();
    assert!(Cholesky::new(&negative).is_err());
}

#[test]
fn krylov_modes_are_the_dense_ones() {
    let (k, m) = line(120, true);
    let exact = eigen::symmetric_modes(&k.to_dense(), &m.to_dense()).unwrap();
    let factor = Cholesky::new(&k).unwrap();
    let solve = |x: &mut Matrix| factor.solve(x);
    let none = DMatrix::zeros(120, 0);
    let limit = (0.5 * (exact.omega_rad_s[9] + exact.omega_rad_s[10])).powi(2);
    for (wanted, count) in [
        (Wanted::Number(0), 0),
        (Wanted::Number(1), 1),
        (Wanted::Number(12), 12),
        (Wanted::Number(500), 120),
        (Wanted::Below(limit), 10),
        (Wanted::Below(0.0), 0),
        (Wanted::Below(1e30), 120),
    ] {
        let found = lowest_modes(&solve, &m, &none, wanted).unwrap();
        assert_eq!(found.omega_squared.len(), count, "{wanted:?}");
        for (mode, square) in found.omega_squared.iter().enumerate() {
            let error = square.sqrt() / exact.omega_rad_s[mode] - 1.0;
            assert!(error.abs() < 1e-10, "{wanted:?} {mode} {error:e}");
        }
        let unit = found.shapes.transpose() * m.times(&found.shapes);
        assert!((unit - DMatrix::identity(count, count)).amax() < 1e-10);
    }
}

#[test]
fn modes_of_one_frequency_are_all_found() {
    // Six equal lines side by side: every mode six times.
    let (k, m) = line(25, true);
    let beside = |a: &SparseMatrix| {
        let copies =
            (0..6).flat_map(|c| a.triplets().map(move |(i, j, v)| (25 * c + i, 25 * c + j, v)));
        SparseMatrix::from_triplets(150, 150, copies).unwrap()
    };
    let (k, m) = (beside(&k), beside(&m));
    let factor = Cholesky::new(&k).unwrap();
    let solve = |x: &mut Matrix| factor.solve(x);
    let none = DMatrix::zeros(150, 0);
    let found = lowest_modes(&solve, &m, &none, Wanted::Number(18)).unwrap();
    let squares = &found.omega_squared;
    for group in 0..3 {
        let (first, last) = (squares[6 * group], squares[6 * group + 5]);
        assert!((last / first - 1.0).abs() < 1e-10);
    }
    assert!(squares[6] > 1.5 * squares[5] && squares[12] > 1.5 * squares[11]);
}

#[test]
fn pairs_of_tiny_and_huge_matrices_are_as_good_as_those_of_others() {
    let mut random = Stream::new(6, "sizes");
    let n = 40;
    let turn = DMatrix::from_fn(n, n, |_, _| random.normal()).qr().q();
    // Two of each, over five decades.
    let wanted = DMatrix::from_diagonal(&nalgebra::DVector::from_fn(n, |i, _| {
        10_f64.powf(-0.25 * (i / 2) as f64)
    }));
    for size in [1e-12, 1e-8, 1.0, 1e12] {
        let matrix = &turn * (&wanted * size) * turn.transpose();
        let matrix = 0.5 * (&matrix + matrix.transpose());
        let (values, vectors) = eigen::symmetric_pairs(&matrix).unwrap();
        let left = &matrix * &vectors - &vectors * DMatrix::from_diagonal(&values);
        assert!(left.amax() < 1e-14 * size, "{size:e}: {:e}", left.amax() / size);
    }
}

/// Springs between all neighbours of a grid of points with three DOFs each, and
/// to the ground at one end: K and M.
fn solid([x, y, z]: [usize; 3]) -> (SparseMatrix, SparseMatrix) {
    let n = x * y * z;
    let at = |p: usize| [p / (y * z), p / z % y, p % z];
    let mut springs = Vec::new();
    for p in 0..n {
        let here = at(p);
        if here[0] == 0 {
            (0..3).for_each(|d| springs.push((3 * p + d, 3 * p + d, 2.0)));
        }
        for shift in 1..27_usize {
            let step = [shift / 9, shift / 3 % 3, shift % 3].map(|s| s as isize - 1);
            let there: [isize; 3] = std::array::from_fn(|d| here[d] as isize + step[d]);
            let inside = (0..3).all(|d| (0..[x, y, z][d] as isize).contains(&there[d]));
            let q = (there[0] * (y * z) as isize + there[1] * z as isize + there[2]) as usize;
            if !inside || q <= p {
                continue;
            }
            let length: f64 = step.iter().map(|s| (s * s) as f64).sum();
            for (a, b) in (0..9).map(|k| (k / 3, k % 3)) {
                let stiffness =
                    (step[a] * step[b]) as f64 / length + if a == b { 0.1 } else { 0.0 };
                springs.extend([
                    (3 * p + a, 3 * p + b, stiffness),
                    (3 * q + a, 3 * q + b, stiffness),
                    (3 * p + a, 3 * q + b, -stiffness),
                    (3 * q + a, 3 * p + b, -stiffness),
                ]);
            }
        }
    }
    let k = SparseMatrix::from_triplets(3 * n, 3 * n, springs).unwrap().symmetric_part();
    let mass = (0..3 * n).map(|i| (i, i, 1.0 + 0.01 * (i % 7) as f64));
    (k, SparseMatrix::from_triplets(3 * n, 3 * n, mass).unwrap())
}

#[test]
fn a_large_factor_solves_and_does_not_depend_on_the_threads() {
    let (k, m) = solid([14, 13, 12]);
    let mut random = Stream::new(9, "large factor");
    let x = DMatrix::from_fn(k.rows(), 27, |_, _| random.normal());
    let right = k.times(&x);
    let none = DMatrix::zeros(k.rows(), 0);
    let results: Vec<_> = [1, 2, 3]
        .map(|count| {
            with_threads(count, || {
                let factor = Cholesky::new(&k).unwrap();
                let mut solved = right.clone();
                factor.solve(&mut solved);
                let solve = |x: &mut Matrix| factor.solve(x);
                let modes = lowest_modes(&solve, &m, &none, Wanted::Number(5)).unwrap();
                (factor.entries(), factor.weakest_pivot(), solved, modes)
            })
        })
        .into();
    assert!(results[0].0 > 1_000_000, "large enough to be shared: {}", results[0].0);
    assert!((&results[0].2 - &x).amax() < 1e-9 * x.amax());
    assert!(results[1] == results[0] && results[2] == results[0], "to the last bit");
    let modes = &results[0].3;
    let residual = k.times(&modes.shapes)
        - m.times(&modes.shapes) * DMatrix::from_diagonal(&modes.omega_squared);
    assert!(residual.amax() < 1e-7 * k.amax(), "{:e}", residual.amax());
}

#[test]
fn a_pivot_that_is_not_positive_is_found_in_a_large_matrix() {
    let (k, _) = solid([10, 10, 10]);
    for (row, value) in [(0, -50.0), (1500, -60.0), (2999, f64::MIN_POSITIVE)] {
        let change = SparseMatrix::from_triplets(3000, 3000, [(row, row, value)]).unwrap();
        let spoilt = SparseMatrix::sum(&[(1.0, &k), (1.0, &change)]);
        if value < 0.0 {
            let error = Cholesky::new(&spoilt).unwrap_err();
            assert_eq!(error, SparseError::NotPositiveDefinite(row));
        } else {
            assert!(Cholesky::new(&spoilt).is_ok());
        }
    }
}

#[test]
fn only_the_lower_triangle_counts() {
    let (k, _) = solid([10, 9, 9]);
    let n = k.rows();
    let lower =
        SparseMatrix::from_triplets(n, n, k.triplets().filter(|&(i, j, _)| i >= j)).unwrap();
    let x = DMatrix::from_fn(n, 3, |i, j| ((i + 5 * j) % 11) as f64 - 5.0);
    for matrix in [&k, &lower] {
        let mut solved = k.times(&x);
        Cholesky::new(matrix).unwrap().solve(&mut solved);
        assert!((solved - &x).amax() < 1e-9);
    }
}
