//! Eigenvalues and modes of dense matrices.
//!
//! Everything it gives back is nalgebra or plain numbers. Input that is not finite is an error, never a panic.

use faer::linalg::solvers::Solve;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Mat, MatRef, Par, Side};
use nalgebra::{ComplexField, DMatrix, DVector, Scalar};
use thiserror::Error;

use crate::solve::is_finite;
use crate::{Complex, ComplexMatrix, Matrix, Vector};

/// Largest part of the greatest eigenvalue that a negative one may be and
/// still count as the rounding noise of a rigid-body mode.
const RIGID_BODY_NOISE: f64 = 1e-9;

/// Where the smallest ω² is a smaller part of the largest, its digits suffer.
const WIDE_SPECTRUM: f64 = 1e-6;

/// Largest relative difference of a mirrored pair that counts as rounding.
const SYMMETRY_TOLERANCE: f64 = 1e-8;

/// Why a matrix has no eigenvalues here. Rows and columns count from 0.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum EigenError {
    /// An entry is NaN or infinite.
    #[error("the entry at row {}, column {} is {value}", row + 1, column + 1)]
    NotFinite {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// A symmetric matrix was expected; this is the worst pair.
    #[error(
        "the matrix is not symmetric: row {r}, column {c} is {} but its mirror is {}",
        .0.upper, .0.lower, r = .0.row + 1, c = .0.column + 1
    )]
    NotSymmetric(Asymmetry),
    /// The mass has no Cholesky factor: the pivot of this row is not positive.
    #[error("the mass is not positive definite (found at row {})", .0 + 1)]
    MassNotPositiveDefinite(usize),
    /// The stiffness has a negative eigenvalue beyond rounding: the smallest ω².
    #[error("ω² = {0} is negative: the stiffness is not positive semidefinite")]
    NegativeStiffness(f64),
    /// The iteration on a matrix of this size did not converge, or its numbers
    /// overflowed.
    #[error("the eigenvalues of a {0} × {0} matrix did not converge")]
    NoConvergence(usize),
}

/// Undamped modes of K φ = ω² M φ, slowest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Modes {
    /// Circular frequencies, ascending.
    pub omega_rad_s: Vector,
    /// One column per mode, scaled so that Φᵀ M Φ = I.
    pub shapes: Matrix,
}

impl Modes {
    /// Number of modes.
    pub fn len(&self) -> usize {
        self.omega_rad_s.len()
    }

    /// Whether there is no mode at all.
    pub fn is_empty(&self) -> bool {
        self.omega_rad_s.is_empty()
    }

    /// Frequency of mode `index`, counted from 0.
    pub fn frequency_hz(&self, index: usize) -> f64 {
        self.omega_rad_s[index] / std::f64::consts::TAU
    }
}

/// The pair of mirrored entries that differs most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asymmetry {
    /// Row of the entry; above the diagonal in a dense matrix.
    pub row: usize,
    /// Its column.
    pub column: usize,
    /// The entry.
    pub upper: f64,
    /// Its mirror.
    pub lower: f64,
    /// |upper − lower| over max(|upper|, |lower|, √|a_ii a_jj|), so that a pair
    /// in small units (a rotation in rad) is not hidden by one in large units.
    pub relative: f64,
}

/// All modes of K φ = ω² M φ.
///
/// M = L Lᵀ turns the pair into the symmetric problem L⁻¹ K L⁻ᵀ y = ω² y with
/// φ = L⁻ᵀ y. Generalised solvers (QZ) are slower by orders and lose the
/// symmetry. ω² of a free-floating structure comes out as noise around zero;
/// negative noise is clipped, a truly negative ω² is an error.
///
/// The sign of a mode is fixed: its largest component is positive.
pub fn symmetric_modes(stiffness: &Matrix, mass: &Matrix) -> Result<Modes, EigenError> {
    check_symmetric(stiffness)?;
    check_symmetric(mass)?;
    let n = mass.nrows();
    assert_eq!(stiffness.nrows(), n, "matrices of one size");
    if n == 0 {
        return Ok(Modes { omega_rad_s: Vector::zeros(0), shapes: Matrix::zeros(0, 0) });
    }
    let (mut squares, mut shapes) = definite_pair(stiffness, mass)?;
    let largest = squares[n - 1].abs().max(squares[0].abs());
    if squares[0] < -RIGID_BODY_NOISE * largest {
        return Err(EigenError::NegativeStiffness(squares[0]));
    }
    if squares[0] < WIDE_SPECTRUM * largest {
        sharpen_slow_modes(stiffness, mass, &mut squares, &mut shapes);
    }
    make_largest_positive(&mut shapes);
    Ok(Modes { omega_rad_s: squares.map(|square| square.max(0.0).sqrt()), shapes })
}

/// The sign of every shape by its largest component.
pub(crate) fn make_largest_positive(shapes: &mut Matrix) {
    for mut shape in shapes.column_iter_mut() {
        if shape[shape.icamax()] < 0.0 {
            shape.neg_mut();
        }
    }
}

/// Smallest and largest λ of A x = λ B x, for symmetric matrices, B positive
/// definite; [0, 0] for matrices without entries.
pub fn definite_range(a: &Matrix, b: &Matrix) -> Result<[f64; 2], EigenError> {
    check_symmetric(a)?;
    check_symmetric(b)?;
    if a.is_empty() {
        return Ok([0.0; 2]);
    }
    let values = symmetric_eigenvalues(&congruent(a, &cholesky(b)?))?;
    Ok([values[0], values[values.len() - 1]])
}

/// L⁻¹ A L⁻ᵀ, by two forward substitutions.
fn congruent(a: &Matrix, factor: &Mat<f64>) -> Matrix {
    let n = a.nrows();
    let mut half = view(&symmetric_part(a)).to_owned();
    solve_lower_triangular_in_place(factor.as_ref(), half.as_mut(), Par::Seq);
    let mut reduced = half.transpose().to_owned();
    solve_lower_triangular_in_place(factor.as_ref(), reduced.as_mut(), Par::Seq);
    Matrix::from_fn(n, n, |i, j| 0.5 * (reduced[(i, j)] + reduced[(j, i)]))
}

/// λ ascending and X of A x = λ B x with Xᵀ B X = I, for B positive definite.
///
/// Every λ carries an error of about ε times the largest.
fn definite_pair(a: &Matrix, b: &Matrix) -> Result<(Vector, Matrix), EigenError> {
    let factor = cholesky(b)?;
    let reduced = congruent(a, &factor);
    finite(&reduced)?;
    let unit = to_unit_size(reduced.amax());
    let (values, vectors) = self_adjoint_pairs(&(unit * reduced))?;
    let mut vectors = view(&vectors).to_owned();
    solve_upper_triangular_in_place(factor.as_ref().transpose(), vectors.as_mut(), Par::Seq);
    checked((values / unit, dense(vectors.as_ref())))
}

/// Eigenvalues, ascending, and orthonormal eigenvectors of a symmetric matrix.
///
/// faer's solver compares with fixed numbers somewhere: a matrix of entries near
/// 1e-8 came back with errors of 1e-16, not of 1e-16 times its size. So it is
/// brought to unit size first.
pub fn symmetric_pairs(matrix: &Matrix) -> Result<(Vector, Matrix), EigenError> {
    let (n, size) = (matrix.nrows(), matrix.amax());
    if size == 0.0 {
        return Ok((Vector::zeros(n), Matrix::identity(n, n)));
    }
    finite(matrix)?;
    let (values, vectors) = self_adjoint_pairs(&(matrix / size))?;
    checked((values * size, vectors))
}

/// The same of a matrix of unit size.
fn self_adjoint_pairs(matrix: &Matrix) -> Result<(Vector, Matrix), EigenError> {
    let n = matrix.nrows();
    let pairs =
        view(matrix).self_adjoint_eigen(Side::Lower).map_err(|_| EigenError::NoConvergence(n))?;
    let values = pairs.S().column_vector();
    Ok((Vector::from_fn(n, |i, _| values[i]), dense(pairs.U())))
}

/// Eigenvalues and the eigenvectors that belong to them, one per column.
pub type ComplexPairs = (Vec<Complex>, ComplexMatrix);

/// Eigenvalues and right eigenvectors (columns of unit length) of a general
/// real matrix, in no particular order.
pub fn general_pairs(matrix: &Matrix) -> Result<ComplexPairs, EigenError> {
    let (n, size) = (matrix.nrows(), matrix.amax());
    if n == 0 {
        return Ok((Vec::new(), ComplexMatrix::zeros(0, 0)));
    }
    finite(matrix)?;
    let size = if size > 0.0 { size } else { 1.0 };
    let pairs = view(&(matrix / size)).eigen().map_err(|_| EigenError::NoConvergence(n))?;
    let values = pairs.S().column_vector();
    let values = DVector::from_fn(n, |i, _| values[i] * size);
    let (values, vectors) = checked((values, dense(pairs.U())))?;
    Ok((values.as_slice().to_vec(), vectors))
}

fn finite(matrix: &Matrix) -> Result<(), EigenError> {
    if is_finite(matrix) { Ok(()) } else { Err(EigenError::NoConvergence(matrix.nrows())) }
}

/// The values with their vectors, if the iteration gave numbers.
fn checked<T: ComplexField>(
    pairs: (DVector<T>, DMatrix<T>),
) -> Result<(DVector<T>, DMatrix<T>), EigenError> {
    let finite = pairs.0.iter().chain(pairs.1.iter()).all(ComplexField::is_finite);
    if finite { Ok(pairs) } else { Err(EigenError::NoConvergence(pairs.0.len())) }
}

/// Replaces the slow modes by those of M φ = ω⁻² K φ.
///
/// A fine mesh spreads ω² over thirteen decades, and the direct solution leaves
/// the slow modes three digits. The inverse pair has its error at the fast end
/// instead; joined in the middle, all ω² are good to ε times the square root of
/// the spread. A stiffness that is singular to rounding has no inverse pair:
/// then the direct solution stays.
fn sharpen_slow_modes(
    stiffness: &Matrix,
    mass: &Matrix,
    squares: &mut Vector,
    shapes: &mut Matrix,
) {
    let Ok((flexibilities, vectors)) = definite_pair(mass, stiffness) else { return };
    let n = squares.len();
    let slow: Vec<f64> = flexibilities.iter().rev().map(|value| 1.0 / value).collect();
    let middle = (slow[0] * squares[n - 1]).sqrt();
    // A cluster must come from one side whole, so the join is at the widest gap.
    let gap = |mode: &usize| slow[*mode] / slow[mode - 1];
    let near = |mode: &usize| (middle / 100.0..middle * 100.0).contains(&slow[*mode]);
    let join = (1..n).filter(near).max_by(|i, j| gap(i).total_cmp(&gap(j)));
    let Some(join) = join.filter(|mode| gap(mode) > 1.0 + 1e-4) else { return };
    let mut joined = shapes.clone();
    for (mode, square) in slow[..join].iter().enumerate() {
        // The inverse pair has φᵀ K φ = 1, that is φᵀ M φ = ω⁻².
        joined.set_column(mode, &(vectors.column(n - 1 - mode) * square.sqrt()));
    }
    // Φᵀ M Φ = L Lᵀ differs a little from I across the join; L⁻¹ Φᵀ makes each
    // mode orthogonal to the slower ones, which are the better ones.
    let Ok(gram) = cholesky(&(joined.transpose() * mass * &joined)) else { return };
    let mut rows = view(&joined).transpose().to_owned();
    solve_lower_triangular_in_place(gram.as_ref(), rows.as_mut(), Par::Seq);
    *shapes = Matrix::from_fn(n, n, |i, j| rows[(j, i)]);
    squares.as_mut_slice()[..join].copy_from_slice(&slow[..join]);
}

/// Eigenvalues of a general real matrix, in no particular order.
///
/// The matrix is balanced first: state matrices of servo-hydraulic actuators
/// span thirteen decades, and without it the slow poles drown in the rounding
/// of the large entries.
pub fn eigenvalues(matrix: &Matrix) -> Result<Vec<Complex>, EigenError> {
    check_square(matrix)?;
    let n = matrix.nrows();
    if n == 0 {
        return Ok(Vec::new());
    }
    let values =
        view(&balanced(matrix).0).eigenvalues().map_err(|_| EigenError::NoConvergence(n))?;
    Ok(checked((DVector::from_vec(values), DMatrix::zeros(n, 0)))?.0.as_slice().to_vec())
}

/// A = V Λ V⁻¹ and V⁻¹B of a general real matrix.
#[derive(Debug, Clone)]
pub struct Decomposition {
    /// Λ.
    pub values: Vec<Complex>,
    /// V, one column per eigenvalue.
    pub vectors: ComplexMatrix,
    /// V⁻¹B.
    pub input: ComplexMatrix,
}

/// Largest share of an input in one eigenvector: more costs too many digits.
const WORST_CONDITION: f64 = 1e7;

impl Decomposition {
    /// Whether what the inputs B put into nearly parallel eigenvectors cancels
    /// between them, so that too few digits are left.
    pub fn is_stretched(&self, input: &Matrix) -> bool {
        let size = |k: usize| self.input.row(k).iter().map(|x| x.norm_sqr()).sum::<f64>();
        let length = |k: usize| self.vectors.column(k).iter().map(|x| x.norm_sqr()).sum::<f64>();
        let largest = (0..self.values.len()).map(|k| size(k) * length(k)).fold(0.0, f64::max);
        // Without inputs nothing is stretched.
        largest.sqrt() / input.norm() > WORST_CONDITION
    }
}

/// Decomposes a balanced A, with the part of B in every eigenvector. `None` for
/// eigenvectors so nearly parallel that no inverse is found.
pub fn decompose(matrix: &Matrix, input: &Matrix) -> Result<Option<Decomposition>, EigenError> {
    check_square(matrix)?;
    let n = matrix.nrows();
    let (balanced, scales) = balanced(matrix);
    let found = view(&balanced).eigen().map_err(|_| EigenError::NoConvergence(n))?;
    let values: Vec<Complex> = found.S().column_vector().iter().copied().collect();
    let right = Mat::from_fn(n, input.ncols(), |i, j| Complex::from(input[(i, j)] / scales[i]));
    let solved = found.U().partial_piv_lu().solve(&right);
    let vectors = DMatrix::from_fn(n, n, |i, j| found.U()[(i, j)] * scales[i]);
    let input = dense(solved.as_ref());
    let sound =
        values.iter().all(ComplexField::is_finite) && [&vectors, &input].into_iter().all(is_finite);
    Ok(sound.then_some(Decomposition { values, vectors, input }))
}

/// Eigenvalues of a general complex matrix, in no particular order; `None` where
/// they are not numbers.
pub(crate) fn complex_eigenvalues(matrix: &ComplexMatrix) -> Option<Vec<Complex>> {
    let copy = Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)]);
    let values = is_finite(matrix).then(|| copy.eigenvalues().ok()).flatten();
    values.filter(|values| values.iter().all(ComplexField::is_finite))
}

/// Largest modulus of the eigenvalues; 0 for a matrix without entries.
pub fn spectral_radius(matrix: &Matrix) -> Result<f64, EigenError> {
    let values = eigenvalues(matrix)?;
    Ok(values.iter().map(|value| value.re.hypot(value.im)).fold(0.0, f64::max))
}

/// Eigenvalues of a symmetric matrix, ascending.
pub fn symmetric_eigenvalues(matrix: &Matrix) -> Result<Vector, EigenError> {
    check_symmetric(matrix)?;
    let n = matrix.nrows();
    if n == 0 {
        return Ok(Vector::zeros(0));
    }
    let unit = to_unit_size(matrix.amax());
    let values = view(&(unit * symmetric_part(matrix)))
        .self_adjoint_eigenvalues(Side::Lower)
        .map_err(|_| EigenError::NoConvergence(n))?;
    Ok(checked((Vector::from_vec(values) / unit, Matrix::zeros(n, 0)))?.0)
}

/// The power of two that brings a matrix to unit size, without touching a digit.
///
/// faer's self-adjoint solver compares with fixed numbers somewhere: a matrix
/// with entries near 1e-8 came back with errors of 1e-16, not of 1e-16 times its
/// size.
fn to_unit_size(largest: f64) -> f64 {
    if largest == 0.0 || !largest.is_finite() {
        return 1.0;
    }
    2f64.powi(-(largest.log2().floor().clamp(-1000.0, 1000.0) as i32))
}

/// Smallest eigenvalue of a symmetric matrix; +∞ for a matrix without entries.
pub fn smallest_symmetric_eigenvalue(matrix: &Matrix) -> Result<f64, EigenError> {
    Ok(symmetric_eigenvalues(matrix)?.iter().copied().next().unwrap_or(f64::INFINITY))
}

/// Checks that a symmetric matrix is positive definite, by its Cholesky factor.
///
/// A pivot within rounding of zero counts as zero.
pub fn check_positive_definite(matrix: &Matrix) -> Result<(), EigenError> {
    check_symmetric(matrix)?;
    if matrix.nrows() > 0 {
        cholesky(matrix)?;
    }
    Ok(())
}

/// Whether every mirrored pair agrees within `relative_tolerance`, measured as
/// in [`Asymmetry::relative`]. False for a matrix that is not square or finite.
pub fn is_symmetric(matrix: &Matrix, relative_tolerance: f64) -> bool {
    matrix.is_square()
        && is_finite(matrix)
        && worst_asymmetry(matrix).is_none_or(|pair| pair.relative <= relative_tolerance)
}

/// The mirrored pair that differs most, if any differs beyond the rounding of
/// the largest entry. The matrix must be square.
pub fn worst_asymmetry(matrix: &Matrix) -> Option<Asymmetry> {
    let above = (1..matrix.nrows()).flat_map(|column| (0..column).map(move |row| (row, column)));
    let pairs = above.map(|(i, j)| (i, j, matrix[(i, j)], matrix[(j, i)]));
    Asymmetry::worst(pairs, matrix.diagonal().as_slice(), matrix.amax())
}

impl Asymmetry {
    /// The worst of pairs (row, column, entry, its mirror) of a matrix with this
    /// diagonal and largest entry; those within the rounding of the largest count as
    /// equal.
    pub(crate) fn worst(
        pairs: impl Iterator<Item = (usize, usize, f64, f64)>,
        diagonal: &[f64],
        largest: f64,
    ) -> Option<Self> {
        let floor = diagonal.len() as f64 * f64::EPSILON * largest;
        let mut worst: Option<Self> = None;
        for (row, column, upper, lower) in pairs {
            let difference = (upper - lower).abs();
            if difference <= floor {
                continue;
            }
            let size = diagonal[row].abs().sqrt() * diagonal[column].abs().sqrt();
            let relative = difference / size.max(upper.abs()).max(lower.abs());
            if worst.is_none_or(|pair| relative > pair.relative) {
                worst = Some(Self { row, column, upper, lower, relative });
            }
        }
        worst
    }
}

fn check_square(matrix: &Matrix) -> Result<(), EigenError> {
    let rows = matrix.nrows();
    assert_eq!(rows, matrix.ncols(), "a square matrix");
    let bad = matrix.iter().position(|value| !value.is_finite());
    bad.map_or(Ok(()), |at| {
        Err(EigenError::NotFinite { row: at % rows, column: at / rows, value: matrix[at] })
    })
}

fn check_symmetric(matrix: &Matrix) -> Result<(), EigenError> {
    check_square(matrix)?;
    let worst = worst_asymmetry(matrix).filter(|pair| pair.relative > SYMMETRY_TOLERANCE);
    worst.map_or(Ok(()), |pair| Err(EigenError::NotSymmetric(pair)))
}

/// The lower Cholesky factor, zero above the diagonal.
fn cholesky(matrix: &Matrix) -> Result<Mat<f64>, EigenError> {
    use faer::linalg::solvers::LltError::NonPositivePivot;
    let n = matrix.nrows();
    let factor = view(&symmetric_part(matrix))
        .llt(Side::Lower)
        .map_err(|NonPositivePivot { index }| EigenError::MassNotPositiveDefinite(index))?;
    let l = factor.L().to_owned();
    // The pivot L_ii² is what is left of M_ii: below its rounding it means nothing.
    let rounding = n as f64 * f64::EPSILON;
    let is_sound = |row: usize| l[(row, row)] * l[(row, row)] > rounding * matrix[(row, row)];
    match (0..n).find(|row| !is_sound(*row)) {
        Some(row) => Err(EigenError::MassNotPositiveDefinite(row)),
        None => Ok(l),
    }
}

fn symmetric_part(matrix: &Matrix) -> Matrix {
    Matrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| {
        0.5 * matrix[(i, j)] + 0.5 * matrix[(j, i)]
    })
}

/// D⁻¹ A D with D made of powers of two, chosen so that each row and its column
/// have norms of one size: exact in floating point, the spectrum is unchanged.
///
/// Reference: Parlett & Reinsch 1969, with the 2-norm of James, Langou & Lowery
/// 2014, which does not harm Hessenberg matrices.
pub(crate) fn balanced(matrix: &Matrix) -> (Matrix, Vec<f64>) {
    // Only scales that keep every entry a normal number leave the matrix exact.
    const MOST_SWEEPS: usize = 100;
    const LARGEST_SCALE: f64 = 1e100;
    let n = matrix.nrows();
    let mut a = matrix.clone();
    let mut scales = vec![1.0_f64; n];
    for _ in 0..MOST_SWEEPS {
        let mut settled = true;
        for i in 0..n {
            let others = || (0..n).filter(|&j| j != i);
            let mut c = others().map(|j| a[(j, i)] * a[(j, i)]).sum::<f64>().sqrt();
            let mut r = others().map(|j| a[(i, j)] * a[(i, j)]).sum::<f64>().sqrt();
            if !(c > 0.0 && r > 0.0 && c.is_finite() && r.is_finite()) {
                continue;
            }
            let before = c.hypot(r);
            let mut f = 1.0;
            while c < r / 2.0 {
                (c, r, f) = (c * 2.0, r / 2.0, f * 2.0);
            }
            while c >= r * 2.0 {
                (c, r, f) = (c / 2.0, r * 2.0, f / 2.0);
            }
            let scale = scales[i] * f;
            let within = (1.0 / LARGEST_SCALE..=LARGEST_SCALE).contains(&scale);
            if c.hypot(r) < 0.95 * before && within {
                scales[i] = scale;
                a.column_mut(i).scale_mut(f);
                a.row_mut(i).scale_mut(1.0 / f);
                settled = false;
            }
        }
        if settled {
            break;
        }
    }
    if is_finite(&a) { (a, scales) } else { (matrix.clone(), vec![1.0; n]) }
}

fn dense<T: Scalar>(matrix: MatRef<'_, T>) -> DMatrix<T> {
    DMatrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)].clone())
}

fn view(matrix: &Matrix) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(matrix.as_slice(), matrix.nrows(), matrix.ncols())
}

#[cfg(test)]
mod tests;
