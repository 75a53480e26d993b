//! Zero sets of several functions of several variables, by bisection of cells.
//!
//! M functions of N variables vanish together on a set of N − M dimensions: the
//! boundary D(jω) = 0 of a stability chart is a curve in (x, y, ω). A grid of
//! cells covers the box. A cell is kept if every function changes its sign among
//! the corners; kept cells are halved in every direction, and the neighbours of
//! kept cells are tried as well, which closes the gaps that a coarse grid leaves.
//! A cell is not halved any further once the zero of its linear model is off by
//! less than the tolerance, by the slopes at that place, so the work goes where
//! the set bends; the point is then moved by that last error.
//!
//! Trap: a set that enters and leaves a cell through one face, or two sets within
//! a cell, can be missed. The grid must be finer than what is sought.
//!
//! Reference: Bachrathy & Stépán 2012, Bisection method in higher dimensions and
//! the efficiency number, Period. Polytech. Mech. Eng. 56(2).

use std::collections::{HashMap, HashSet};

use crate::{Matrix, Vector};

/// Where to search, and how far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search<const N: usize> {
    /// Lower end of each variable.
    pub low: [f64; N],
    /// Upper end of each variable.
    pub high: [f64; N],
    /// Cells of the first grid along each variable.
    pub cells: [u32; N],
    /// Largest error of a point, as a share of the box in each direction.
    pub tolerance: f64,
    /// Most halvings of a cell.
    pub halvings: u32,
    /// Most evaluations of the functions.
    pub evaluations: usize,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Zeros<const N: usize> {
    /// Points of the set.
    pub points: Vec<[f64; N]>,
    /// Evaluations of the functions.
    pub evaluations: usize,
    /// Whether the search ended by itself, not by its limits.
    pub complete: bool,
}

/// A cell: its lower corner in units of its own size, and how often it was halved.
type Cell<const N: usize> = ([u32; N], u32);

/// Points of the box at which all M functions vanish.
///
/// Values that are not finite belong to no zero.
pub fn zeros<const N: usize, const M: usize>(
    search: &Search<N>,
    function: impl FnMut(&[f64; N]) -> [f64; M],
) -> Zeros<N> {
    let halvings = search.halvings.min(20);
    let cells = search.cells.map(|cells| cells.clamp(1, 1000));
    let search = Search { halvings, cells, ..*search };
    let mut work = Work { search, function, values: HashMap::new(), evaluations: 0 };
    let mut open = work.first_grid();
    let mut points = Vec::new();
    let mut complete = true;
    for level in 0..=halvings {
        let kept = work.bracketing(open);
        open = Vec::new();
        for cell in kept {
            match work.settle(&cell) {
                Settled::At(point) => points.push(point),
                Settled::Nowhere => {}
                Settled::Open if level == halvings => complete = false,
                Settled::Open => open.extend(halves(&cell)),
            }
        }
        if work.is_spent() {
            complete = false;
            break;
        }
        if open.is_empty() {
            break;
        }
    }
    Zeros { points, evaluations: work.evaluations, complete }
}

enum Settled<const N: usize> {
    At([f64; N]),
    Nowhere,
    Open,
}

struct Work<F, const N: usize, const M: usize> {
    search: Search<N>,
    function: F,
    /// By corner, in units of the smallest cell.
    values: HashMap<[u32; N], [f64; M]>,
    evaluations: usize,
}

impl<F: FnMut(&[f64; N]) -> [f64; M], const N: usize, const M: usize> Work<F, N, M> {
    fn is_spent(&self) -> bool {
        self.evaluations >= self.search.evaluations
    }

    fn first_grid(&self) -> Vec<Cell<N>> {
        let cells = self.search.cells.map(|count| count as usize);
        let cell = |k: usize| {
            // The last variable runs fastest.
            let below = |axis: usize| cells[axis + 1..].iter().product::<usize>();
            (std::array::from_fn(|axis| (k / below(axis) % cells[axis]) as u32), 0)
        };
        (0..cells.iter().product()).map(cell).collect()
    }

    /// Of these cells and all that hang together with them, those in which every
    /// function changes its sign.
    fn bracketing(&mut self, open: Vec<Cell<N>>) -> Vec<Cell<N>> {
        let mut seen: HashSet<Cell<N>> = open.iter().copied().collect();
        let (mut queue, mut kept) = (open, Vec::new());
        while let Some(cell) = queue.pop() {
            if self.is_spent() {
                break;
            }
            if !self.brackets(&cell) {
                continue;
            }
            kept.push(cell);
            queue.extend(self.neighbours(&cell).filter(|next| seen.insert(*next)));
        }
        kept
    }

    fn neighbours(&self, (at, level): &Cell<N>) -> impl Iterator<Item = Cell<N>> {
        let (at, level, cells) = (*at, *level, self.search.cells);
        (0..N).flat_map(|axis| [(axis, -1), (axis, 1)]).filter_map(move |(axis, side)| {
            let mut next = at;
            next[axis] = at[axis].checked_add_signed(side)?;
            (next[axis] < cells[axis] << level).then_some((next, level))
        })
    }

    fn brackets(&mut self, cell: &Cell<N>) -> bool {
        let (mut below, mut above) = ([false; M], [false; M]);
        for corner in corners::<N>() {
            let values = self.at(cell, &corner);
            if values.iter().any(|value| !value.is_finite()) {
                return false;
            }
            for (index, value) in values.iter().enumerate() {
                below[index] |= *value <= 0.0;
                above[index] |= *value >= 0.0;
            }
        }
        below == [true; M] && above == [true; M]
    }

    /// The zero of the cell's linear model, if it is good enough.
    fn settle(&mut self, cell: &Cell<N>) -> Settled<N> {
        let Some((mean, slope)) = self.linear_model(cell) else { return Settled::Nowhere };
        let Some(from_centre) = least_step(&slope, &mean) else { return Settled::Open };
        // In cell units: the cell reaches one half to either side.
        let reach = from_centre.amax();
        if reach > 2.0 {
            return if cell.1 >= self.search.halvings { Settled::Nowhere } else { Settled::Open };
        }
        let point = self.point(cell, &from_centre);
        let Some(error) = self.step_from(&point) else { return Settled::Open };
        if error.amax() > self.search.tolerance {
            return Settled::Open;
        }
        // A zero beyond the cell's edge is its neighbour's.
        if reach > 0.75 {
            return Settled::Nowhere;
        }
        let width = |axis: usize| self.search.high[axis] - self.search.low[axis];
        Settled::At(std::array::from_fn(|axis| point[axis] + error[axis] * width(axis)))
    }

    /// One step of Newton's method from a point, in units of the box: how far off
    /// it is. The slopes are taken there: those of the cell would flatter a point
    /// where the functions bend within it.
    fn step_from(&mut self, point: &[f64; N]) -> Option<Vector> {
        let here = Vector::from_column_slice(&self.evaluated(point));
        let mut slope = Matrix::zeros(M, N);
        let share = 0.1 * self.search.tolerance;
        for axis in 0..N {
            let mut moved = *point;
            moved[axis] += share * (self.search.high[axis] - self.search.low[axis]);
            let there = Vector::from_column_slice(&self.evaluated(&moved));
            slope.set_column(axis, &((there - &here) / share));
        }
        least_step(&slope, &here)
    }

    fn evaluated(&mut self, point: &[f64; N]) -> [f64; M] {
        self.evaluations += 1;
        (self.function)(point)
    }

    /// Mean and slopes, per cell unit, of the functions over the corners.
    fn linear_model(&mut self, cell: &Cell<N>) -> Option<(Vector, Matrix)> {
        let (mut mean, mut slope) = (Vector::zeros(M), Matrix::zeros(M, N));
        let share = 1.0 / f64::from(1_u32 << N);
        for corner in corners::<N>() {
            let values = Vector::from_column_slice(&self.at(cell, &corner));
            mean += share * &values;
            for axis in 0..N {
                let side = if corner[axis] == 1 { 2.0 } else { -2.0 };
                let mut column = slope.column_mut(axis);
                column += side * share * &values;
            }
        }
        mean.iter().chain(slope.iter()).all(|value| value.is_finite()).then_some((mean, slope))
    }

    fn at(&mut self, (cell, level): &Cell<N>, corner: &[u32; N]) -> [f64; M] {
        let fine = self.search.halvings - level;
        let key = std::array::from_fn(|axis| (cell[axis] + corner[axis]) << fine);
        if let Some(values) = self.values.get(&key) {
            return *values;
        }
        let point = std::array::from_fn(|axis| {
            let whole = f64::from(self.search.cells[axis] << self.search.halvings);
            self.place(axis, f64::from(key[axis]) / whole)
        });
        let values = self.evaluated(&point);
        self.values.insert(key, values);
        values
    }

    fn point(&self, (at, level): &Cell<N>, from_centre: &Vector) -> [f64; N] {
        std::array::from_fn(|axis| {
            let cells = f64::from(self.search.cells[axis]) * f64::from(*level).exp2();
            self.place(axis, (f64::from(at[axis]) + 0.5 + from_centre[axis]) / cells)
        })
    }

    fn place(&self, axis: usize, share: f64) -> f64 {
        self.search.low[axis] + share * (self.search.high[axis] - self.search.low[axis])
    }
}

/// The shortest x with value + slope x = 0.
fn least_step(slope: &Matrix, value: &Vector) -> Option<Vector> {
    let normal = slope * slope.transpose();
    let solved = normal.lu().solve(&-value)?;
    let step = slope.transpose() * solved;
    step.iter().all(|x| x.is_finite()).then_some(step)
}

fn halves<const N: usize>((at, level): &Cell<N>) -> impl Iterator<Item = Cell<N>> {
    corners::<N>().map(move |corner| (std::array::from_fn(|i| 2 * at[i] + corner[i]), level + 1))
}

fn corners<const N: usize>() -> impl Iterator<Item = [u32; N]> {
    (0..1_u32 << N).map(|bits| std::array::from_fn(|axis| bits >> axis & 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_box<const N: usize>(cells: u32, tolerance: f64) -> Search<N> {
        Search {
            low: [-1.5; N],
            high: [1.5; N],
            cells: [cells; N],
            tolerance,
            halvings: 12,
            evaluations: 1_000_000,
        }
    }

    #[test]
    fn a_circle_is_found_all_around() {
        let found = zeros(&unit_box::<2>(4, 1e-6), |[x, y]| [x * x + y * y - 1.0]);
        assert!(found.complete);
        let mut angles: Vec<f64> = found.points.iter().map(|[x, y]| y.atan2(*x)).collect();
        for [x, y] in &found.points {
            assert!((x.hypot(*y) - 1.0).abs() < 1e-5, "{x} {y}");
        }
        angles.sort_by(f64::total_cmp);
        let widest = angles.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        assert!(widest < 0.2, "a gap of {widest} rad");
    }

    #[test]
    fn a_curve_in_space_follows_both_functions() {
        // A helix-like curve: x = cos(2z), y = sin(2z).
        let found =
            zeros(&unit_box::<3>(6, 1e-5), |[x, y, z]| [x - (2.0 * z).cos(), y - (2.0 * z).sin()]);
        assert!(found.complete);
        assert!(found.points.len() > 50);
        for [x, y, z] in &found.points {
            assert!((x - (2.0 * z).cos()).abs() < 1e-4 && (y - (2.0 * z).sin()).abs() < 1e-4);
        }
        let heights = found.points.iter().map(|[_, _, z]| *z);
        assert!(heights.clone().fold(f64::MAX, f64::min) < -1.4);
        assert!(heights.fold(f64::MIN, f64::max) > 1.4);
    }

    #[test]
    fn a_neighbour_closes_what_the_first_grid_misses() {
        // A loop that touches one cell of the first grid only.
        let found = zeros(&unit_box::<2>(3, 1e-5), |[x, y]| [(x - 0.45).hypot(*y - 0.45) - 0.4]);
        let left = found.points.iter().filter(|[x, _]| *x < 0.45).count();
        let right = found.points.len() - left;
        assert!(left > 8 && right > 8, "{left} {right}");
    }

    #[test]
    fn finer_tolerance_costs_more_and_gives_less_error() {
        let error = |tolerance| {
            let found = zeros(&unit_box::<2>(4, tolerance), |[x, y]| [x * x * x - y]);
            let worst = found.points.iter().map(|[x, y]| (x * x * x - y).abs()).fold(0.0, f64::max);
            (worst, found.evaluations)
        };
        let (coarse, fine) = (error(1e-3), error(1e-6));
        assert!(fine.0 < 0.02 * coarse.0, "{} {}", fine.0, coarse.0);
        assert!(fine.1 > coarse.1);
    }

    #[test]
    fn nothing_and_hostile_values_are_answered() {
        assert!(zeros(&unit_box::<2>(5, 1e-3), |[x, y]| [x * x + y * y + 1.0]).points.is_empty());
        assert!(zeros(&unit_box::<2>(5, 1e-3), |_| [f64::NAN]).points.is_empty());
        let poor = Search { evaluations: 40, ..unit_box::<2>(5, 1e-9) };
        let found = zeros(&poor, |[x, y]| [x.sin() - y]);
        assert!(!found.complete);
    }
}
