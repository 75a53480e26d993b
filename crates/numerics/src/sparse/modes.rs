//! The slowest modes of K φ = ω² M φ by a block Krylov method.

use super::dense::{add_columns_product, columns_transposed_product, product, transposed_product};
use super::{SparseError, SparseMatrix};
use crate::eigen::{make_largest_positive, symmetric_pairs};
use crate::random::Stream;
use crate::{Matrix, Vector};

/// Part of its length before orthogonalisation below which a vector is nothing
/// but rounding.
const ROUNDING: f64 = 1e-13;

/// Eigenvalues of a Gram matrix below this part of the largest are rounding.
const GRAM_ROUNDING: f64 = 1e-14;

/// How closely the first mode beyond a cut-off must be known for it to be sure
/// that it lies beyond.
const BEYOND: f64 = 1e-3;

/// Vectors per step. A mode of greater multiplicity may be missed; a solution for
/// several vectors at once reads the factor once for all.
const BLOCK: usize = 8;
/// Residual over θ = 1/ω² at which a mode is taken. Its frequency is then good to
/// the square of this.
const TOLERANCE: f64 = 1e-8;
/// Most vectors kept; memory is 16 bytes times this times the rows.
const MOST_VECTORS: usize = 4000;
/// Starts after which an invariant space is taken to be all there is.
const MOST_STARTS: usize = 5;

/// Which modes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wanted {
    /// This many, or all there are.
    Number(usize),
    /// All with ω² up to this.
    Below(f64),
}

/// The modes found, slowest first.
#[derive(Debug, Clone, PartialEq)]
pub struct LowestModes {
    /// ω², ascending.
    pub omega_squared: Vector,
    /// One column per mode, Φᵀ M Φ = I.
    pub shapes: Matrix,
    /// Vectors the search kept.
    pub vectors: usize,
    /// Single solutions with the factor.
    pub solves: usize,
}

/// The slowest modes of K φ = ω² M φ, orthogonal to `locked`.
///
/// `solve` turns M X into A X = K⁻¹ M X in place. `locked` are modes known
/// already (of a free-floating structure the rigid ones, and `solve` its elastic
/// flexibility), orthonormal in M. The space of M-orthonormal V grows by one
/// block a step, W = A V_last, orthogonalised against its two neighbours and then
/// against everything found: lost orthogonality would bring copies of modes that
/// are there already. On it θ = 1/ω² are the eigenvalues of T = Vᵀ M A V, and
/// ‖R s‖ (R from W = V_next R, s the last block of the eigenvector) is the residual.
///
/// Reference: Grimes, Lewis & Simon 1994, SIAM J. Matrix Anal. 15(1).
pub fn lowest_modes(
    solve: &dyn Fn(&mut Matrix),
    mass: &SparseMatrix,
    locked: &Matrix,
    wanted: Wanted,
) -> Result<LowestModes, SparseError> {
    let mut space = Space::new(mass, locked);
    let n = mass.rows();
    let free = n - locked.ncols();
    let number = match wanted {
        Wanted::Number(number) => number.min(free),
        Wanted::Below(_) => 0,
    };
    if free == 0 || wanted == Wanted::Number(0) {
        return Ok(space.modes(0, solve));
    }
    let block = BLOCK.min(free);
    let mut random = Stream::new(1, "krylov modes");
    let mut start = |columns: usize| {
        let mut start = Matrix::from_fn(n, columns, |_, _| random.normal());
        start = mass.times(&start);
        solve(&mut start);
        start
    };
    let mut starts = 0;
    let mut next = None;
    loop {
        let fresh = next.is_none();
        let new = next.take().unwrap_or_else(|| {
            (starts, space.solves) = (starts + 1, space.solves + block);
            start(block)
        });
        let residual = space.append(new, MOST_VECTORS.min(free), fresh);
        if space.last == 0 {
            // Nothing new: the space is invariant. Another start finds what the
            // first could not see.
            if space.count >= free || starts >= MOST_STARTS {
                space.ritz(None)?;
                return Ok(space.modes(space.chosen(wanted, number), solve));
            }
            continue;
        }
        if !fresh && space.projected.nrows() >= number {
            // Residuals are of the space before this block.
            space.ritz(Some(&residual))?;
            if let Some(count) = space.converged(wanted, number) {
                return Ok(space.modes(count, solve));
            }
        }
        if space.count >= MOST_VECTORS && space.count < free {
            let (found, vectors) = (space.values.len().min(number), space.count);
            return Err(SparseError::NoConvergence { found, wanted: number, vectors });
        }
        next = Some(space.expand(solve));
    }
}

/// The Krylov space as it grows.
struct Space<'a> {
    mass: &'a SparseMatrix,
    n: usize,
    /// Locked vectors, then V, columns one behind the other; and M times them.
    vectors: Vec<f64>,
    weighted: Vec<f64>,
    locked: usize,
    /// Columns of V, and how many of them are in the last block and in the one before.
    count: usize,
    last: usize,
    before: usize,
    /// T of all but the last block, as blocks are projected one step late.
    projected: Matrix,
    /// Size of A on the space: what rounding is measured against.
    scale: f64,
    values: Vector,
    coefficients: Matrix,
    residuals: Vec<f64>,
    solves: usize,
}

impl<'a> Space<'a> {
    fn new(mass: &'a SparseMatrix, locked: &Matrix) -> Self {
        Self {
            mass,
            n: mass.rows(),
            vectors: locked.as_slice().to_vec(),
            weighted: mass.times(locked).as_slice().to_vec(),
            locked: locked.ncols(),
            count: 0,
            last: 0,
            before: 0,
            projected: Matrix::zeros(0, 0),
            scale: 0.0,
            values: Vector::zeros(0),
            coefficients: Matrix::zeros(0, 0),
            residuals: Vec::new(),
            solves: 0,
        }
    }

    /// Orthogonalises W, which comes from [`expand`](Self::expand) or is fresh,
    /// against everything and appends what is left of it. Gives R with
    /// W = V_new R (+ what was removed).
    ///
    /// Each pass turns W by its Gram matrix, whose small eigenvalues are nothing
    /// but rounding: they are raised to what can be trusted, and the next pass
    /// sees them at their own size. Only what is rounding of A itself is dropped;
    /// more would hide a residual.
    fn append(&mut self, mut w: Matrix, most: usize, fresh: bool) -> Matrix {
        let columns = w.ncols();
        let mut r = Matrix::identity(columns, columns);
        let mut norms = vec![0.0; columns];
        let mut weighted = Matrix::zeros(0, 0);
        for pass in 0..4 {
            if fresh || pass > 0 {
                self.remove_from(0, &mut w);
            }
            weighted = self.mass.times(&w);
            let gram = transposed_product(&w, &weighted);
            let Ok((squares, turn)) = symmetric_pairs(&(0.5 * (&gram + gram.transpose()))) else {
                return self.nothing(columns);
            };
            let largest = squares[columns - 1];
            if largest.is_nan() || largest <= 0.0 {
                return self.nothing(columns);
            }
            let trusted = GRAM_ROUNDING * largest;
            let sizes = squares.map(|square| square.max(trusted).sqrt());
            // First into the principal directions; later passes turn as little as
            // possible, so that small directions stay apart from large ones.
            let back = if pass == 0 { Matrix::identity(columns, columns) } else { turn.clone() };
            let scaled =
                |power: i32| &turn * Matrix::from_diagonal(&sizes.map(|size| size.powi(power)));
            let to_unit = scaled(-1) * back.transpose();
            w = product(&w, &to_unit);
            r = back * scaled(1).transpose() * r;
            if pass > 0 && squares[0] > 0.25 {
                weighted = product(&weighted, &to_unit);
                norms.fill(1.0);
                break;
            }
            norms = gram.diagonal().iter().map(|square| square.max(0.0).sqrt()).collect();
        }
        let size = if fresh { r.norm() } else { self.scale };
        let room = most.saturating_sub(self.count);
        let kept: Vec<usize> = (0..columns)
            .rev()
            .filter(|&k| norms[k] > 0.5 && r.row(k).norm() > ROUNDING * size)
            .take(room)
            .collect();
        if kept.is_empty() {
            return self.nothing(columns);
        }
        let w = w.select_columns(&kept);
        // The last turn was slight, so that M W turned with W; or W is taken again.
        let weighted = if norms.iter().all(|&norm| norm == 1.0) {
            weighted.select_columns(&kept)
        } else {
            self.mass.times(&w)
        };
        self.vectors.extend_from_slice(w.as_slice());
        self.weighted.extend_from_slice(weighted.as_slice());
        self.before = if fresh { 0 } else { self.last };
        self.last = kept.len();
        self.count += self.last;
        r.select_rows(&kept)
    }

    fn nothing(&mut self, columns: usize) -> Matrix {
        self.last = 0;
        Matrix::zeros(0, columns)
    }

    /// W ← W − V (M V)ᵀ W over the vectors from `first` on, the locked ones counted
    /// first; gives (M V)ᵀ W.
    fn remove_from(&self, first: usize, w: &mut Matrix) -> Matrix {
        let from = first * self.n;
        let h = columns_transposed_product(&self.weighted[from..], w);
        add_columns_product(w, &self.vectors[from..], &h, -1.0);
        h
    }

    /// A times the last block, its projection kept and removed.
    ///
    /// A is symmetric in M, so its product with a block reaches back to the block
    /// before and no further, but for rounding, which the orthogonalisation against
    /// everything in [`append`](Self::append) removes: T is block tridiagonal.
    fn expand(&mut self, solve: &dyn Fn(&mut Matrix)) -> Matrix {
        let (old, new) = (self.count - self.last, self.count);
        let from = (self.locked + old) * self.n;
        let mut w = Matrix::from_column_slice(self.n, self.last, &self.weighted[from..]);
        solve(&mut w);
        self.solves += self.last;
        let reach = old - self.before;
        let h = self.remove_from(self.locked + reach, &mut w);
        self.scale = self.scale.max(h.amax());
        self.projected.resize_mut(new, new, 0.0);
        for j in 0..self.last {
            for i in reach..new {
                let at = i - reach;
                let value = if i >= old {
                    0.5 * (h[(at, j)] + h[(self.before + j, i - old)])
                } else {
                    h[(at, j)]
                };
                self.projected[(i, old + j)] = value;
                self.projected[(old + j, i)] = value;
            }
        }
        w
    }

    /// What has no mass is no part of any product with M, and collects rounding: there a mode
    /// is what A makes of it, θ φ = A φ.
    fn condense_massless(&self, shapes: &mut Matrix, solve: &dyn Fn(&mut Matrix)) {
        let mut has_mass = vec![false; self.n];
        for (row, _, value) in self.mass.triplets() {
            has_mass[row] |= value != 0.0;
        }
        if shapes.ncols() == 0 || has_mass.iter().all(|has| *has) {
            return;
        }
        let mut answer = self.mass.times(shapes);
        solve(&mut answer);
        for row in (0..self.n).filter(|row| !has_mass[*row]) {
            for mode in 0..shapes.ncols() {
                shapes[(row, mode)] = answer[(row, mode)] / self.values[mode];
            }
        }
    }

    /// Eigenpairs of T, fastest-decaying flexibility last, with residuals.
    fn ritz(&mut self, residual: Option<&Matrix>) -> Result<(), SparseError> {
        let m = self.projected.nrows();
        let (values, vectors) = symmetric_pairs(&self.projected)
            .map_err(|_| SparseError::NoConvergence { found: 0, wanted: 0, vectors: self.count })?;
        self.values = Vector::from_fn(m, |i, _| values[m - 1 - i]);
        self.coefficients = Matrix::from_fn(m, m, |i, j| vectors[(i, m - 1 - j)]);
        self.residuals = match residual {
            None => vec![0.0; m],
            Some(r) => {
                let rows = r.ncols();
                let last = self.coefficients.rows(m - rows, rows);
                (r * last).column_iter().map(|column| column.norm()).collect()
            }
        };
        Ok(())
    }

    /// How many modes to give, if those are all known well enough.
    fn converged(&self, wanted: Wanted, number: usize) -> Option<usize> {
        let good = |k: usize, tolerance: f64| self.residuals[k] <= tolerance * self.values[k];
        let count = self.chosen(wanted, number);
        let complete = match wanted {
            Wanted::Number(_) => count == number,
            Wanted::Below(_) => count < self.values.len() && good(count, BEYOND),
        };
        (complete && (0..count).all(|k| good(k, TOLERANCE))).then_some(count)
    }

    fn chosen(&self, wanted: Wanted, number: usize) -> usize {
        let (most, limit) = match wanted {
            Wanted::Number(_) => (number, f64::INFINITY),
            Wanted::Below(limit) => (usize::MAX, limit),
        };
        let below = |theta: &&f64| **theta > 0.0 && 1.0 / **theta <= limit;
        self.values.iter().take_while(below).take(most).count()
    }

    fn modes(&self, count: usize, solve: &dyn Fn(&mut Matrix)) -> LowestModes {
        let m = self.projected.nrows();
        let mut shapes = Matrix::zeros(self.n, count);
        if count > 0 {
            let v = &self.vectors[self.locked * self.n..(self.locked + m) * self.n];
            let chosen = self.coefficients.columns(0, count).into_owned();
            add_columns_product(&mut shapes, v, &chosen, 1.0);
        }
        self.condense_massless(&mut shapes, solve);
        make_largest_positive(&mut shapes);
        LowestModes {
            omega_squared: Vector::from_fn(count, |k, _| 1.0 / self.values[k]),
            shapes,
            vectors: self.count,
            solves: self.solves,
        }
    }
}
