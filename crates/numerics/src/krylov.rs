//! The largest eigenvalues of a map that is known by what it does to vectors.
//!
//! A block Krylov–Schur method: the orthonormal V grows by a block a step, and
//!   A V = V H + V_next B.
//! Eigenvalues of H are taken for those of A where B makes little of their vectors. Where V holds as many
//! vectors as it may, it is cut to the part Q of H that belongs to the largest eigenvalues:
//!   A (V Q) = (V Q)(Qᵀ H Q) + V_next (B Q),
//! which goes on growing as before. An eigenvalue as often repeated as a block has vectors is found as often.
//!
//! References: Stewart 2001, SIAM J. Matrix Anal. Appl. 23(3); Zhou & Saad 2008, Numer. Algorithms 47(4).

use nalgebra::linalg::Schur;

use crate::eigen::{ComplexPairs, EigenError, general_pairs, symmetric_pairs};
use crate::random::Stream;
use crate::sparse::dense::{add_columns_product, columns_transposed_product, product};
use crate::{Complex, ComplexMatrix, Matrix};

/// Residuals below this part of an eigenvalue are none.
const SETTLED: f64 = 1e-10;
/// How closely the first eigenvalue that is not wanted must be known for it to be sure that it is not.
const BEYOND: f64 = 1e-3;
/// What is left of a vector below this part of it is rounding.
const ROUNDING: f64 = 1e-14;
/// Vectors that are tried first, and how many at least before any is thrown away.
const FIRST: usize = 100;
const FEW: usize = 400;
/// Most cuts before the search is given up.
const MOST_CUTS: usize = 100;

/// What is searched for, and with how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// All eigenvalues outside the circle of this radius, or the largest alone.
    pub beyond: f64,
    /// Vectors that the map is applied to at once.
    pub block: usize,
    /// Most vectors kept.
    pub most: usize,
}

/// The eigenvalues of a real map of this size, largest first, with their eigenvectors. `None` where they
/// do not settle.
pub fn largest(
    size: usize,
    search: Search,
    mut apply: impl FnMut(&Matrix) -> Matrix,
) -> Result<Option<ComplexPairs>, EigenError> {
    let most = search.most.min(size);
    let mut space = Space::new(size, search.block.clamp(1, size));
    let (mut room, mut cuts) = (FIRST.min(most), 0);
    loop {
        let check_at = room.min(space.count + (room / 4).max(1));
        while space.count < check_at && space.next > 0 {
            space.grow(&mut apply);
        }
        let ritz = space.ritz(search.beyond)?;
        if ritz.has_settled(search.beyond) || space.next == 0 {
            return Ok(Some(space.pairs(&ritz)));
        }
        if space.count < room {
            continue;
        }
        if room < most && (room < FEW || 3 * ritz.wanted > room) {
            room = (2 * room).min(most);
        } else if cuts == MOST_CUTS || 3 * ritz.wanted > 2 * room || !space.cut(&ritz) {
            return Ok(None);
        } else {
            cuts += 1;
        }
    }
}

/// The space as it grows.
struct Space {
    size: usize,
    /// V, then V_next, column by column.
    vectors: Vec<f64>,
    /// Columns of V and of V_next.
    count: usize,
    next: usize,
    /// H, and B below it.
    projected: Matrix,
    stream: Stream,
}

/// Eigenvalues of H, largest first, and their vectors.
struct Ritz {
    values: Vec<Complex>,
    vectors: ComplexMatrix,
    residuals: Vec<f64>,
    wanted: usize,
}

impl Ritz {
    fn has_settled(&self, beyond: f64) -> bool {
        let within = |k: usize, part: f64| self.residuals[k] <= part * self.values[k].norm();
        let known = (0..self.wanted).all(|k| within(k, SETTLED));
        let alone = self.values[0].norm() <= beyond;
        let next = self.wanted;
        // What comes next may still be on its way out of the circle.
        let sure = alone
            || next == self.values.len()
            || within(next, BEYOND)
            || self.values[next].norm() + self.residuals[next] <= beyond;
        known && sure
    }
}

impl Space {
    fn new(size: usize, block: usize) -> Self {
        let mut space = Self {
            size,
            vectors: Vec::new(),
            count: 0,
            next: 0,
            projected: Matrix::zeros(0, 0),
            stream: Stream::new(1, "krylov"),
        };
        for _ in 0..block {
            space.next += usize::from(space.push_any());
        }
        space.projected = Matrix::zeros(space.next, 0);
        space
    }

    /// Appends a unit vector at random, orthogonal to all there are, if there is one.
    fn push_any(&mut self) -> bool {
        if self.vectors.len() == self.size * self.size {
            return false;
        }
        let mut vector = Matrix::from_fn(self.size, 1, |_, _| self.stream.normal());
        for _ in 0..3 {
            self.remove_from(&mut vector);
            vector /= vector.norm();
        }
        self.vectors.extend_from_slice(vector.as_slice());
        true
    }

    /// W ← W − V Vᵀ W over all vectors; gives Vᵀ W.
    fn remove_from(&self, w: &mut Matrix) -> Matrix {
        let along = columns_transposed_product(&self.vectors, w);
        add_columns_product(w, &self.vectors, &along, -1.0);
        along
    }

    /// V takes V_next in, and V_next becomes what A makes of it and was not there before.
    fn grow(&mut self, apply: &mut impl FnMut(&Matrix) -> Matrix) {
        let from = self.count * self.size;
        let mut w = apply(&Matrix::from_column_slice(self.size, self.next, &self.vectors[from..]));
        let sizes: Vec<f64> = w.column_iter().map(|column| column.norm()).collect();
        let first = self.remove_from(&mut w);
        // Twice: what rounding leaves of them goes in the second round.
        let along = first + self.remove_from(&mut w);
        let (old, new) = (self.count, self.count + self.next);
        let mut projected = Matrix::zeros(new, new);
        projected.view_mut((0, 0), (new, old)).copy_from(&self.projected);
        projected.view_mut((0, old), (new, self.next)).copy_from(&along);
        let left = self.append(w, &sizes);
        self.projected = crate::block::vstack(&[
            &projected,
            &crate::block::hstack(&[&Matrix::zeros(left.nrows(), old), &left]),
        ]);
        (self.count, self.next) = (new, left.nrows());
    }

    /// Appends an orthonormal basis N of W, which is orthogonal to all vectors; gives R with W = N R.
    /// A direction that W has not is made up, so that blocks stay as wide as they are.
    fn append(&mut self, w: Matrix, sizes: &[f64]) -> Matrix {
        let first = self.vectors.len();
        let mut r = Matrix::zeros(0, w.ncols());
        for (k, column) in w.column_iter().enumerate() {
            let mut column = column.into_owned();
            for _ in 0..2 {
                for (row, unit) in self.vectors[first..].chunks(self.size).enumerate() {
                    let unit = nalgebra::DVectorView::from_slice(unit, self.size);
                    let along = unit.dot(&column);
                    column.axpy(-along, &unit, 1.0);
                    r[(row, k)] += along;
                }
            }
            let left = column.norm();
            let row = r.nrows();
            if left > ROUNDING * sizes[k] {
                r = r.insert_row(row, 0.0);
                r[(row, k)] = left;
                self.vectors.extend(column.iter().map(|value| value / left));
            } else if self.push_any() {
                r = r.insert_row(row, 0.0);
            }
        }
        r
    }

    fn ritz(&self, beyond: f64) -> Result<Ritz, EigenError> {
        let m = self.count;
        let (values, vectors) = general_pairs(&self.projected.rows(0, m).into_owned())?;
        let mut order: Vec<usize> = (0..m).collect();
        order.sort_by(|a, b| values[*b].norm().total_cmp(&values[*a].norm()));
        let left = self.projected.rows(m, self.next).map(Complex::from);
        let vectors = ComplexMatrix::from_columns(
            &order.iter().map(|k| vectors.column(*k).normalize()).collect::<Vec<_>>(),
        );
        let values: Vec<Complex> = order.iter().map(|k| values[*k]).collect();
        let residuals = (left * &vectors).column_iter().map(|column| column.norm()).collect();
        let wanted = values.iter().filter(|value| value.norm() > beyond).count().max(1);
        Ok(Ritz { values, vectors, residuals, wanted })
    }

    /// Keeps the half that belongs to the largest eigenvalues, more of it if more are wanted; false if
    /// H has no Schur form.
    fn cut(&mut self, ritz: &Ritz) -> bool {
        let m = self.count;
        let keep = (m / 2).max(ritz.wanted + (m - ritz.wanted) / 4);
        // Both of a pair are kept, or none.
        let least = ritz.values[keep - 1].norm() * (1.0 - 1e-9);
        let square = self.projected.rows(0, m).into_owned();
        let Some(q) = invariant(&square, |value| value.norm() >= least) else { return false };
        let kept = q.ncols();
        let below = product(&self.projected.rows(m, self.next).into_owned(), &q);
        let core = product(&q.transpose(), &product(&square, &q));
        self.projected = crate::block::vstack(&[&core, &below]);
        let mut turned = Matrix::zeros(self.size, kept);
        add_columns_product(&mut turned, &self.vectors[..m * self.size], &q, 1.0);
        let next = self.vectors.split_off(m * self.size);
        self.vectors = turned.as_slice().to_vec();
        self.vectors.extend(next);
        self.count = kept;
        true
    }

    fn pairs(&self, ritz: &Ritz) -> ComplexPairs {
        let part = |of: fn(&Complex) -> f64| {
            let mut out = Matrix::zeros(self.size, ritz.wanted);
            let chosen = ritz.vectors.columns(0, ritz.wanted).map(|value| of(&value));
            add_columns_product(&mut out, &self.vectors[..self.count * self.size], &chosen, 1.0);
            out
        };
        let vectors = part(|value| value.re).zip_map(&part(|value| value.im), Complex::new);
        (ritz.values[..ritz.wanted].to_vec(), vectors)
    }
}

/// A real orthonormal basis of the invariant space of a real matrix that belongs to the chosen
/// eigenvalues, with both of every pair.
fn invariant(matrix: &Matrix, chosen: impl Fn(Complex) -> bool) -> Option<Matrix> {
    let n = matrix.nrows();
    let schur = Schur::try_new(matrix.map(Complex::from), f64::EPSILON, 100 * n)?;
    let (mut q, mut t) = schur.unpack();
    let mut first = 0;
    for at in 0..n {
        if chosen(t[(at, at)]) {
            for k in (first..at).rev() {
                swap(&mut q, &mut t, k);
            }
            first += 1;
        }
    }
    // The space holds the conjugate of each of its vectors: its projector is real.
    let part = q.columns(0, first);
    let projector = (part * part.adjoint()).map(|value| value.re);
    let (_, vectors) = symmetric_pairs(&(0.5 * (&projector + projector.transpose()))).ok()?;
    Some(vectors.columns(n - first, first).into_owned())
}

/// Swaps the eigenvalues at k and k + 1 of T = Qᴴ A Q, which stays upper triangular.
fn swap(q: &mut ComplexMatrix, t: &mut ComplexMatrix, k: usize) {
    let (a, b, c) = (t[(k, k)], t[(k + 1, k + 1)], t[(k, k + 1)]);
    // The eigenvector of the second one.
    let size = (c.norm_sqr() + (b - a).norm_sqr()).sqrt();
    if size == 0.0 {
        return;
    }
    let (u, v) = (c / size, (b - a) / size);
    for matrix in [&mut *t, q] {
        for row in 0..matrix.nrows() {
            let (x, y) = (matrix[(row, k)], matrix[(row, k + 1)]);
            matrix[(row, k)] = x * u + y * v;
            matrix[(row, k + 1)] = y * u.conj() - x * v.conj();
        }
    }
    for column in 0..t.ncols() {
        let (x, y) = (t[(k, column)], t[(k + 1, column)]);
        t[(k, column)] = x * u.conj() + y * v.conj();
        t[(k + 1, column)] = y * u - x * v;
    }
    t[(k + 1, k)] = Complex::ZERO;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eigen::eigenvalues;

    /// Noise, and pairs that stand out: each radius and angle as often as it is listed.
    fn with_pairs(n: usize, noise: f64, pairs: &[(f64, f64)]) -> Matrix {
        let mut stream = Stream::new(7, "krylov test");
        let mut matrix = Matrix::from_fn(n, n, |_, _| noise * stream.normal());
        for (at, (size, angle)) in pairs.iter().enumerate() {
            let (re, im) = (size * angle.cos(), size * angle.sin());
            let pair = Matrix::from_row_slice(2, 2, &[re, im, -im, re]);
            matrix.view_mut((2 * at, 2 * at), (2, 2)).copy_from(&pair);
        }
        matrix
    }

    fn compare(matrix: &Matrix, search: Search) {
        let all = eigenvalues(matrix).unwrap();
        let outside = all.iter().filter(|value| value.norm() > search.beyond).count().max(1);
        let (found, vectors) =
            largest(matrix.nrows(), search, |x| matrix * x).unwrap().expect("they settle");
        assert_eq!(found.len(), outside);
        for (value, vector) in found.iter().zip(vectors.column_iter()) {
            let near = all.iter().map(|other| (other - value).norm()).fold(f64::MAX, f64::min);
            assert!(near < 1e-9, "{value}: {near}");
            let error = matrix.map(Complex::from) * vector - vector * *value;
            assert!(error.norm() < 1e-8 * vector.norm(), "{value}: {}", error.norm());
        }
    }

    #[test]
    fn the_largest_eigenvalues_are_those_of_the_matrix() {
        let matrix = with_pairs(130, 0.03, &[(1.14, 0.66), (1.08, 1.95)]);
        for block in [1, 4, 8, 130] {
            compare(&matrix, Search { beyond: 0.9, block, most: 400 });
            compare(&matrix, Search { beyond: 2.0, block, most: 400 });
        }
    }

    /// More than the first vectors can hold, so that the space is cut and grows again.
    #[test]
    fn a_space_that_is_cut_finds_them_as_well() {
        let pairs: Vec<(f64, f64)> =
            (0..20).map(|k| (1.2 + 0.02 * f64::from(k), 0.1 + 0.14 * f64::from(k))).collect();
        let matrix = with_pairs(300, 0.05, &pairs);
        for block in [1, 8] {
            compare(&matrix, Search { beyond: 1.15, block, most: 100 });
        }
    }

    #[test]
    fn a_repeated_eigenvalue_is_found_as_often_as_it_is_there() {
        let n = 300;
        let diagonal = Matrix::from_diagonal(&crate::Vector::from_fn(n, |k, _| match k {
            0..7 => 3.0,
            7..12 => -2.0,
            _ => 1.0 / (k as f64),
        }));
        let search = Search { beyond: 1.0, block: 8, most: 200 };
        let (found, _) = largest(n, search, |x| &diagonal * x).unwrap().unwrap();
        let count = |value: f64| found.iter().filter(|f| (*f - value).norm() < 1e-9).count();
        assert_eq!((found.len(), count(3.0), count(-2.0)), (12, 7, 5));
    }

    /// Two eigenvectors that are nearly one: the cut keeps their plane.
    #[test]
    fn a_cut_keeps_a_defective_pair() {
        let mut matrix = with_pairs(40, 0.02, &[]);
        matrix.view_mut((0, 0), (2, 2)).copy_from_slice(&[1.0, 0.0, 1.0, 1.0]);
        for row in 2..40 {
            (matrix[(row, 0)], matrix[(row, 1)]) = (0.0, 0.0);
        }
        let q = invariant(&matrix, |value| value.norm() > 0.8).unwrap();
        assert_eq!(q.ncols(), 2);
        let error = &matrix * &q - &q * (q.transpose() * &matrix * &q);
        assert!(error.norm() < 1e-13, "{}", error.norm());
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        let search = Search { beyond: 1.0, block: 2, most: 20 };
        let nan = |x: &Matrix| x.map(|_| f64::NAN);
        assert!(largest(30, search, nan).is_err());
        // A map of everything to nothing.
        let (found, _) = largest(30, search, |x| 0.0 * x).unwrap().unwrap();
        assert_eq!(found, [Complex::ZERO]);
    }
}
