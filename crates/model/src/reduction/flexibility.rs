//! The elastic flexibility of a component, held or free-floating.
//!
//! A free-floating component has r rigid-body modes U (K U = 0, UᵀMU = I). Its
//! elastic flexibility is G_e = Pᵀ G P with P = I − M U Uᵀ, which takes the rigid
//! accelerations out of a load, and G the inverse of K with r DOFs suppressed.
//! G_e = Σ φ φᵀ/ω² over the elastic modes, so that one factor serves the
//! flexibility modes and the search for the elastic ones.

use nalgebra::{DMatrix, DVector};
use numerics::eigen::symmetric_pairs;
use numerics::random::Stream;
use numerics::second_order::SecondOrder;
use numerics::sparse::dense::{add_product, transposed_product};
use numerics::sparse::{Cholesky, SparseError, SparseMatrix};

use super::{Component, ReductionError, Result, factored};

/// A pivot below this part of its diagonal entry says that K may be singular.
const SINGULAR_PIVOT: f64 = 1e-12;

/// φᵀKφ of a rigid-body mode over Σ |φ_i K_ij φ_j|: rounding and no more.
const RIGID_ENERGY: f64 = 1e-12;

/// First shift, as a part of the median of K_ii/M_ii.
const FIRST_SHIFT: f64 = 1e-7;

/// The elastic flexibility, ready to be applied.
#[derive(Debug)]
pub struct Flexibility {
    pub(super) factor: Cholesky,
    /// DOFs that are not suppressed.
    pub(super) kept: Vec<usize>,
    /// DOFs suppressed, as many as there are rigid-body modes.
    pub suppressed: Vec<usize>,
    /// U, orthonormal in M.
    pub rigid: DMatrix<f64>,
    /// M U.
    weighted: DMatrix<f64>,
}

impl Flexibility {
    /// Finds the rigid-body modes, if any, chooses the DOFs to suppress and factors.
    pub fn of(component: &Component) -> Result<Self> {
        let SecondOrder { mass, stiffness, .. } = &component.matrices;
        let n = component.size();
        let none = || DMatrix::zeros(n, 0);
        if let Ok(factor) = Cholesky::new(stiffness)
            && factor.weakest_pivot().1 > SINGULAR_PIVOT
        {
            let (kept, suppressed) = ((0..n).collect(), Vec::new());
            return Ok(Self { factor, kept, suppressed, rigid: none(), weighted: none() });
        }
        let suppressed = holding_set(stiffness, mass)?;
        let is_kept = |dof: &usize| !suppressed.contains(dof);
        let kept: Vec<usize> = (0..n).filter(is_kept).collect();
        let held = stiffness.selected(&kept, &kept);
        let factor = factored(&held, |row| ReductionError::NegativeStiffness(kept[row]))?;
        // The null vectors again, now exactly: U_e = −K_ee⁻¹ K_er.
        let mut part = -stiffness.selected(&kept, &suppressed).to_dense();
        factor.solve(&mut part);
        let mut rigid = spread(&part, &kept, n);
        for (column, &dof) in suppressed.iter().enumerate() {
            rigid[(dof, column)] = 1.0;
        }
        let rigid = orthonormal(rigid, mass, &mut Stream::new(3, "rigid-body modes"))?;
        let weighted = mass.times(&rigid);
        Ok(Self { factor, kept, suppressed, rigid, weighted })
    }

    /// X ← G_e X.
    pub fn apply(&self, x: &mut DMatrix<f64>) {
        if self.suppressed.is_empty() {
            self.factor.solve(x);
            return;
        }
        let along = transposed_product(&self.rigid, x);
        add_product(x, &self.weighted, &along, -1.0);
        let mut part = x.select_rows(&self.kept);
        self.factor.solve(&mut part);
        *x = spread(&part, &self.kept, x.nrows());
        let along = transposed_product(&self.weighted, x);
        add_product(x, &self.rigid, &along, -1.0);
    }
}

/// Rows put to their places among `n`; zero elsewhere.
pub(super) fn spread(part: &DMatrix<f64>, rows: &[usize], n: usize) -> DMatrix<f64> {
    let mut all = DMatrix::zeros(n, part.ncols());
    for (mut to, from) in all.column_iter_mut().zip(part.column_iter()) {
        for (&row, &value) in rows.iter().zip(from.iter()) {
            to[row] = value;
        }
    }
    all
}

/// X made orthonormal in M, column by column and each twice: inverse iteration
/// leaves columns that differ in their last digits only. What is nothing but
/// rounding is replaced by a random direction.
fn orthonormal(
    mut x: DMatrix<f64>,
    mass: &SparseMatrix,
    random: &mut Stream,
) -> Result<DMatrix<f64>> {
    let n = x.nrows();
    let mut weighted = DMatrix::zeros(n, x.ncols());
    for j in 0..x.ncols() {
        let mut column = x.columns(j, 1).into_owned();
        for tries in 0.. {
            let (mut square, mut shrunk) = (0.0, 1.0_f64);
            for _ in 0..3 {
                let before = column.norm();
                for i in 0..j {
                    let along = weighted.column(i).dot(&column);
                    column -= along * x.columns(i, 1);
                }
                shrunk = shrunk.min(if before > 0.0 { column.norm() / before } else { 0.0 });
                square = column.dot(&mass.times(&column));
                if square.is_nan() || square <= 0.0 {
                    break;
                }
                column /= square.sqrt();
            }
            if square > 0.0 && shrunk > 1e-11 {
                break;
            }
            if tries == 3 {
                return Err(ReductionError::MassNotPositiveDefinite(column.icamax_full().0));
            }
            column = DMatrix::from_fn(n, 1, |_, _| random.normal());
        }
        weighted.set_column(j, &mass.times(&column).column(0));
        x.set_column(j, &column.column(0));
    }
    Ok(x)
}

/// DOFs whose suppression holds the component. Those that nothing is attached to
/// are rigid-body modes of their own, exactly, and are taken out before the others
/// are looked for: they have no stiffness to tell rounding by.
fn holding_set(k: &SparseMatrix, m: &SparseMatrix) -> Result<Vec<usize>> {
    let mut attached = vec![false; k.rows()];
    for (i, j, value) in k.triplets() {
        if value != 0.0 {
            (attached[i], attached[j]) = (true, true);
        }
    }
    let (rest, mut suppressed): (Vec<usize>, Vec<usize>) =
        (0..k.rows()).partition(|&dof| attached[dof]);
    let (k, m) = (k.selected(&rest, &rest), m.selected(&rest, &rest));
    let is_held = !suppressed.is_empty()
        && Cholesky::new(&k).is_ok_and(|factor| factor.weakest_pivot().1 > SINGULAR_PIVOT);
    if !is_held {
        let original = |error| match error {
            ReductionError::NegativeStiffness(dof) => {
                ReductionError::NegativeStiffness(rest.get(dof).copied().unwrap_or_default())
            }
            other => other,
        };
        let mut null = null_space(&k, &m).map_err(original)?;
        // Scaled by √K_ii, metres and radians compare.
        for (mut row, diagonal) in null.row_iter_mut().zip(k.diagonal()) {
            row *= diagonal.max(0.0).sqrt();
        }
        suppressed.extend(pivots(null).into_iter().map(|at| rest[at]));
        suppressed.sort_unstable();
    }
    Ok(suppressed)
}

/// A basis of null(K), by inverse iteration on K + s²M and Rayleigh–Ritz on K.
///
/// The shift starts small beside the spectrum and goes down to the slowest
/// elastic mode seen, where rigid and elastic motion are told apart best.
fn null_space(k: &SparseMatrix, m: &SparseMatrix) -> Result<DMatrix<f64>> {
    let n = k.rows();
    let diagonals = k.diagonal().into_iter().zip(m.diagonal());
    let mut ratios: Vec<f64> =
        diagonals.filter(|&(k, m)| k > 0.0 && m > 0.0).map(|(k, m)| k / m).collect();
    if ratios.is_empty() {
        return Err(ReductionError::NegativeStiffness(0));
    }
    ratios.sort_by(f64::total_cmp);
    let mut shift = FIRST_SHIFT * ratios[ratios.len() / 2];
    let mut random = Stream::new(2, "null space");
    let mut block = 12.min(n);
    let absolute = k.abs();
    for _ in 0..4 {
        let shifted = SparseMatrix::sum(&[(1.0, k), (shift, m)]);
        let factor = factored(&shifted, ReductionError::NegativeStiffness)?;
        let mut x = DMatrix::from_fn(n, block, |_, _| random.normal());
        let mut squares = DVector::zeros(block);
        for _ in 0..6 {
            x = m.times(&x);
            factor.solve(&mut x);
            x = orthonormal(x, m, &mut random)?;
            let energy = transposed_product(&x, &k.times(&x));
            let (values, turn) = symmetric_pairs(&(0.5 * (&energy + energy.transpose())))?;
            x = &x * turn;
            squares = values;
        }
        let size = x.map(f64::abs);
        let size = size.component_mul(&absolute.times(&size));
        let is_rigid = |&j: &usize| squares[j] <= RIGID_ENERGY * size.column(j).sum();
        let rigid = (0..block).take_while(is_rigid).count();
        if rigid == block && block < n {
            block = (2 * block).min(n);
            continue;
        }
        if rigid < block && squares[rigid] < 0.1 * shift {
            shift = squares[rigid];
            continue;
        }
        // None: nearly singular and no more, the slowest motion is elastic.
        return Ok(x.columns(0, rigid).into_owned());
    }
    Err(ReductionError::Sparse(SparseError::NoConvergence { found: 0, wanted: 1, vectors: block }))
}

/// As many rows as columns that span them best, by pivoted Gram–Schmidt.
pub(super) fn pivots(mut rows: DMatrix<f64>) -> Vec<usize> {
    let mut chosen = Vec::new();
    for _ in 0..rows.ncols() {
        let longest = (0..rows.nrows())
            .max_by(|&i, &j| rows.row(i).norm_squared().total_cmp(&rows.row(j).norm_squared()));
        let Some(dof) = longest else { break };
        let direction = rows.row(dof).normalize();
        let along = &rows * direction.transpose();
        rows -= along * direction;
        chosen.push(dof);
    }
    chosen
}
