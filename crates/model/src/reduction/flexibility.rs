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
use numerics::sparse::dense::{add_product, transposed_product};
use numerics::sparse::{Cholesky, SparseError, SparseMatrix};

use super::{Component, ReductionError, factored};

/// A pivot below this part of its diagonal entry says that K may be singular.
const SINGULAR_PIVOT: f64 = 1e-12;

/// φᵀKφ of a rigid-body mode over Σ |φ_i K_ij φ_j|: rounding and no more.
const RIGID_ENERGY: f64 = 1e-12;

/// First shift, as a part of the median of K_ii/M_ii.
const FIRST_SHIFT: f64 = 1e-7;

/// The elastic flexibility, ready to be applied.
#[derive(Debug)]
pub struct Flexibility {
    factor: Cholesky,
    /// DOFs that are not suppressed.
    kept: Vec<usize>,
    /// DOFs suppressed, as many as there are rigid-body modes.
    pub suppressed: Vec<usize>,
    /// U, orthonormal in M.
    pub rigid: DMatrix<f64>,
    /// M U.
    weighted: DMatrix<f64>,
}

impl Flexibility {
    /// Finds the rigid-body modes, if any, chooses the DOFs to suppress and factors.
    pub fn of(component: &Component) -> Result<Self, ReductionError> {
        let stiffness = &component.stiffness;
        let n = component.size();
        let none = || DMatrix::zeros(n, 0);
        if let Ok(factor) = Cholesky::new(stiffness)
            && factor.weakest_pivot().1 > SINGULAR_PIVOT
        {
            let (kept, suppressed) = ((0..n).collect(), Vec::new());
            return Ok(Self { factor, kept, suppressed, rigid: none(), weighted: none() });
        }
        let suppressed = holding_set(stiffness, &component.mass)?;
        let is_kept = |dof: &usize| !suppressed.contains(dof);
        let kept: Vec<usize> = (0..n).filter(is_kept).collect();
        let held = stiffness.selected(&kept, &kept);
        let factor = factored(&held, |row| ReductionError::NegativeStiffness(kept[row]))?;
        // The null vectors again, now exactly: U_e = −K_ee⁻¹ K_er.
        let mut part = -stiffness.selected(&kept, &suppressed).to_dense();
        factor.solve(&mut part);
        let mut rigid = DMatrix::zeros(n, suppressed.len());
        for (row, &dof) in kept.iter().enumerate() {
            rigid.row_mut(dof).copy_from(&part.row(row));
        }
        for (column, &dof) in suppressed.iter().enumerate() {
            rigid[(dof, column)] = 1.0;
        }
        let rigid = orthonormal(rigid, &component.mass, &mut Stream::new(3, "rigid-body modes"))?;
        let weighted = component.mass.times(&rigid);
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
        self.grounded(x);
        let along = transposed_product(&self.weighted, x);
        add_product(x, &self.rigid, &along, -1.0);
    }

    /// X ← G X: K⁻¹ with the suppressed DOFs held; zero there.
    pub fn grounded(&self, x: &mut DMatrix<f64>) {
        if self.suppressed.is_empty() {
            self.factor.solve(x);
            return;
        }
        let mut part = x.select_rows(&self.kept);
        self.factor.solve(&mut part);
        x.fill(0.0);
        for (mut to, from) in x.column_iter_mut().zip(part.column_iter()) {
            for (&dof, &value) in self.kept.iter().zip(from.iter()) {
                to[dof] = value;
            }
        }
    }

    /// Memory of the factor.
    pub fn factor_bytes(&self) -> usize {
        self.factor.bytes()
    }
}

/// X made orthonormal in M, column by column and each twice: inverse iteration
/// leaves columns that differ in their last digits only. What is nothing but
/// rounding is replaced by a random direction.
fn orthonormal(
    mut x: DMatrix<f64>,
    mass: &SparseMatrix,
    random: &mut Stream,
) -> Result<DMatrix<f64>, ReductionError> {
    let n = x.nrows();
    let mut weighted = DMatrix::zeros(n, x.ncols());
    for j in 0..x.ncols() {
        let mut column = x.columns(j, 1).into_owned();
        let mut tries = 0;
        loop {
            let mut square = 0.0;
            let mut shrunk = 1.0_f64;
            for _ in 0..3 {
                let before = column.norm();
                for i in 0..j {
                    let along = weighted.column(i).dot(&column);
                    column -= along * x.columns(i, 1);
                }
                shrunk = shrunk.min(if before > 0.0 { column.norm() / before } else { 0.0 });
                let product = mass.times(&column);
                square = column.dot(&product);
                if square.is_nan() || square <= 0.0 {
                    break;
                }
                column /= square.sqrt();
            }
            if square > 0.0 && shrunk > 1e-11 {
                break;
            }
            tries += 1;
            if tries > 3 {
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
fn holding_set(k: &SparseMatrix, m: &SparseMatrix) -> Result<Vec<usize>, ReductionError> {
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
        let found = null_space(&k, &m).map_err(original)?;
        suppressed.extend(suppressed_set(&found, &k.diagonal()).into_iter().map(|at| rest[at]));
        suppressed.sort_unstable();
    }
    Ok(suppressed)
}

/// A basis of null(K), by inverse iteration on K + s²M and Rayleigh–Ritz on K.
///
/// The shift starts small beside the spectrum and goes down to the slowest
/// elastic mode seen, where rigid and elastic motion are told apart best.
fn null_space(k: &SparseMatrix, m: &SparseMatrix) -> Result<DMatrix<f64>, ReductionError> {
    let n = k.rows();
    let mut ratios: Vec<f64> = k
        .diagonal()
        .iter()
        .zip(m.diagonal())
        .filter(|&(k, m)| *k > 0.0 && m > 0.0)
        .map(|(k, m)| k / m)
        .collect();
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
        let rigid = (0..block).take_while(|&j| squares[j] <= RIGID_ENERGY * size.column(j).sum());
        let rigid = rigid.count();
        if rigid == block && block < n {
            block = (2 * block).min(n);
            continue;
        }
        if rigid < block && squares[rigid] < 0.1 * shift {
            shift = squares[rigid];
            continue;
        }
        if rigid == 0 {
            // Nearly singular and no more: the slowest motion is elastic.
            return Ok(DMatrix::zeros(n, 0));
        }
        return Ok(x.columns(0, rigid).into_owned());
    }
    Err(ReductionError::Sparse(SparseError::NoConvergence { found: 0, wanted: 1, vectors: block }))
}

/// r DOFs whose suppression holds the component best: pivoted Gram–Schmidt on
/// the rows of null(K), scaled by √K_ii so that metres and radians compare.
fn suppressed_set(null: &DMatrix<f64>, diagonal: &[f64]) -> Vec<usize> {
    let mut rows = null.clone();
    for (dof, mut row) in rows.row_iter_mut().enumerate() {
        row *= diagonal[dof].max(0.0).sqrt();
    }
    let mut chosen = pivots(rows);
    chosen.sort_unstable();
    chosen
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
