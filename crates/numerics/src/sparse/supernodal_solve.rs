//! Solutions with a sparse Cholesky factor, eight right sides side by side.
//!
//! Time goes into reading the factor, so it is read once for several groups of
//! eight: while a part of it is in the fastest cache it is used for all of them.
//! One row of a group is one cache line. Subtrees of a large factor go to different
//! threads, always the same ones, so that results do not depend on the threads.

use faer::sparse::linalg::cholesky::supernodal::SymbolicSupernodalCholesky;

use super::threads::parallel_for;
use super::tree::{Part, Parts, shape};

/// Right sides solved for together.
pub(super) const WIDE: usize = 8;

/// The same row of all right sides.
pub(super) type Row = [f64; WIDE];

/// Rows of right sides that stay in the fastest cache while columns pass by.
const TILE: usize = 256;

/// Up to eight columns of `rows` entries as rows; the one at a place is `row(place)`.
pub(super) fn side_by_side(x: &[f64], rows: usize, row: impl Fn(usize) -> usize) -> Vec<Row> {
    let gather = |place| {
        let mut own = [0.0; WIDE];
        let entries = x[row(place)..].iter().step_by(rows);
        own.iter_mut().zip(entries).for_each(|(to, from)| *to = *from);
        own
    };
    (0..rows).map(gather).collect()
}

/// A factor for solutions.
pub(super) struct Factor<'a> {
    pub(super) symbolic: &'a SymbolicSupernodalCholesky<u32>,
    pub(super) values: &'a [f64],
}

impl Factor<'_> {
    /// X ← (L Lᵀ)⁻¹ X for groups of right sides, rows in the order of elimination.
    pub(super) fn solve(&self, groups: &mut [Vec<Row>]) {
        let panels = 0..self.symbolic.n_supernodes();
        let rows = self.symbolic.row_idx();
        self.pass(Way::Forward, panels.clone(), rows, 0, groups);
        self.pass(Way::Backward, panels.rev(), rows, 0, groups);
    }

    /// The same with the parts side by side. Each has its own rows and a place for
    /// what it does to the others, which are added up in a fixed order.
    pub(super) fn solve_parts(&self, parts: &Parts, groups: &mut [Vec<Row>]) {
        let Parts { parts, above, rows } = parts;
        let outside = |part: &Part| self.symbolic.supernode(part.panels.end - 1).pattern();
        let mut within: Vec<(&Part, Vec<Vec<Row>>)> = parts
            .iter()
            .map(|part| {
                let length = part.places.len() + outside(part).len();
                let own = |x: &Vec<Row>| {
                    let mut own = x[part.places.clone()].to_vec();
                    own.resize(length, [0.0; WIDE]);
                    own
                };
                (part, groups.iter().map(own).collect())
            })
            .collect();
        parallel_for(&mut within, |(part, own)| {
            self.pass(Way::Forward, part.panels.clone(), rows, part.places.start, own);
        });
        for (part, own) in &within {
            for (x, own) in groups.iter_mut().zip(own) {
                for (change, &place) in own[part.places.len()..].iter().zip(outside(part)) {
                    let to = &mut x[place as usize];
                    (0..WIDE).for_each(|l| to[l] += change[l]);
                }
            }
        }
        self.pass(Way::Forward, above.iter().copied(), rows, 0, groups);
        self.pass(Way::Backward, above.iter().rev().copied(), rows, 0, groups);
        for (part, own) in &mut within {
            for (x, own) in groups.iter().zip(own) {
                let (_, other) = own.split_at_mut(part.places.len());
                let from = outside(part).iter().map(|&place| x[place as usize]);
                other.iter_mut().zip(from).for_each(|(to, from)| *to = from);
            }
        }
        parallel_for(&mut within, |(part, own)| {
            self.pass(Way::Backward, part.panels.clone().rev(), rows, part.places.start, own);
        });
        for (part, own) in &within {
            for (x, own) in groups.iter_mut().zip(own) {
                x[part.places.clone()].copy_from_slice(&own[..part.places.len()]);
            }
        }
    }

    /// Some panels one after the other. `rows` are those of all patterns, and the
    /// first row of X is at place `start`.
    fn pass(
        &self,
        way: Way,
        panels: impl Iterator<Item = usize>,
        rows: &[u32],
        start: usize,
        groups: &mut [Vec<Row>],
    ) {
        let symbolic = self.symbolic;
        let (starts, row_starts) = (symbolic.col_ptr_for_val(), symbolic.col_ptr_for_row_idx());
        let mut below: Vec<Vec<Row>> = vec![Vec::new(); groups.len()];
        for k in panels {
            let (columns, length) = shape(symbolic, k);
            let from = row_starts[k] as usize;
            let panel = Panel {
                values: &self.values[starts[k] as usize..starts[k + 1] as usize],
                begin: symbolic.supernode_begin()[k] as usize - start,
                rows: columns + length,
                columns,
            };
            panel.work(way, &rows[from..from + length], groups, &mut below);
        }
    }
}

/// The first half of a solution, or the second.
#[derive(Clone, Copy)]
enum Way {
    Forward,
    Backward,
}

/// Some columns of L with one pattern: a triangle, and rows below it.
struct Panel<'a> {
    values: &'a [f64],
    /// Place of its first column.
    begin: usize,
    rows: usize,
    columns: usize,
}

impl Panel<'_> {
    /// Its part of a solution; `below` is scratch.
    fn work(&self, way: Way, pattern: &[u32], groups: &mut [Vec<Row>], below: &mut [Vec<Row>]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        {
            /// The same, compiled for 256-bit vectors and fused products.
            #[target_feature(enable = "avx2,fma")]
            fn fused(p: &Panel<'_>, way: Way, on: &[u32], x: &mut [Vec<Row>], y: &mut [Vec<Row>]) {
                p.half::<true>(way, on, x, y);
            }
            // SAFETY: the processor has both.
            return unsafe { fused(self, way, pattern, groups, below) };
        }
        self.half::<false>(way, pattern, groups, below);
    }

    #[inline(always)]
    fn half<const FUSED: bool>(
        &self,
        way: Way,
        pattern: &[u32],
        groups: &mut [Vec<Row>],
        below: &mut [Vec<Row>],
    ) {
        match way {
            Way::Forward => {
                for bottom in below.iter_mut() {
                    bottom.clear();
                    bottom.resize(pattern.len(), [0.0; WIDE]);
                }
                self.forward::<FUSED>(groups, below);
                for (x, bottom) in groups.iter_mut().zip(below) {
                    for (change, &row) in bottom.iter().zip(pattern) {
                        let to = &mut x[row as usize];
                        (0..WIDE).for_each(|l| to[l] += change[l]);
                    }
                }
            }
            Way::Backward => {
                for (x, bottom) in groups.iter().zip(below.iter_mut()) {
                    bottom.clear();
                    bottom.extend(pattern.iter().map(|&row| x[row as usize]));
                }
                self.backward::<FUSED>(groups, below);
            }
        }
    }

    #[inline(always)]
    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[column * self.rows + row]
    }

    /// Part of a column.
    #[inline(always)]
    fn part(&self, column: usize, from: usize, length: usize) -> &[f64] {
        &self.values[column * self.rows + from..][..length]
    }

    /// top ← L⁻¹ top, bottom ← bottom − B top, for every group.
    #[inline(always)]
    fn forward<const FUSED: bool>(&self, groups: &mut [Vec<Row>], below: &mut [Vec<Row>]) {
        let n = self.columns;
        for from in (0..n).step_by(4) {
            let to = n.min(from + 4);
            for x in groups.iter_mut() {
                let (done, rest) = x[self.begin..self.begin + n].split_at_mut(to);
                for k in from..to {
                    let inverse = 1.0 / self.at(k, k);
                    let pivot = done[k].map(|value| value * inverse);
                    done[k] = pivot;
                    for i in k + 1..to {
                        subtract_scaled::<FUSED>(&mut done[i], self.at(i, k), &pivot);
                    }
                }
                self.subtract::<FUSED>(from, &done[from..], to, rest);
            }
        }
        for start in (0..self.rows - n).step_by(TILE) {
            for from in (0..n).step_by(4) {
                let to = n.min(from + 4);
                for (x, bottom) in groups.iter().zip(below.iter_mut()) {
                    let top = &x[self.begin + from..self.begin + to];
                    let end = bottom.len().min(start + TILE);
                    self.subtract::<FUSED>(from, top, n + start, &mut bottom[start..end]);
                }
            }
        }
    }

    /// top ← L⁻ᵀ (top − Bᵀ bottom), for every group.
    #[inline(always)]
    fn backward<const FUSED: bool>(&self, groups: &mut [Vec<Row>], below: &[Vec<Row>]) {
        let n = self.columns;
        for start in (0..self.rows - n).step_by(TILE) {
            for from in (0..n).step_by(4) {
                let to = n.min(from + 4);
                for (x, bottom) in groups.iter_mut().zip(below) {
                    let top = &mut x[self.begin + from..self.begin + to];
                    let end = bottom.len().min(start + TILE);
                    self.subtract_transposed::<FUSED>(from, top, n + start, &bottom[start..end]);
                }
            }
        }
        for from in (0..n).step_by(4).rev() {
            let to = n.min(from + 4);
            for x in groups.iter_mut() {
                let (head, rest) = x[self.begin..self.begin + n].split_at_mut(to);
                self.subtract_transposed::<FUSED>(from, &mut head[from..], to, rest);
                for k in (from..to).rev() {
                    let mut pivot = head[k];
                    for i in k + 1..to {
                        subtract_scaled::<FUSED>(&mut pivot, self.at(i, k), &head[i]);
                    }
                    let inverse = 1.0 / self.at(k, k);
                    head[k] = pivot.map(|value| value * inverse);
                }
            }
        }
    }

    /// rows ← rows − (up to four columns from `column`, from row `row` on) x.
    #[inline(always)]
    fn subtract<const FUSED: bool>(&self, column: usize, x: &[Row], row: usize, rows: &mut [Row]) {
        let part = |k: usize| self.part(column + k, row, rows.len());
        if let [a, b, c, d] = x {
            let (pa, pb, pc, pd) = (part(0), part(1), part(2), part(3));
            for (i, y) in rows.iter_mut().enumerate() {
                let mut sum = *y;
                subtract_scaled::<FUSED>(&mut sum, pa[i], a);
                subtract_scaled::<FUSED>(&mut sum, pb[i], b);
                subtract_scaled::<FUSED>(&mut sum, pc[i], c);
                subtract_scaled::<FUSED>(&mut sum, pd[i], d);
                *y = sum;
            }
            return;
        }
        for (k, x) in x.iter().enumerate() {
            for (value, y) in self.part(column + k, row, rows.len()).iter().zip(rows.iter_mut()) {
                subtract_scaled::<FUSED>(y, *value, x);
            }
        }
    }

    /// x ← x − (up to four columns from `column`, from row `row` on)ᵀ rows.
    #[inline(always)]
    fn subtract_transposed<const FUSED: bool>(
        &self,
        column: usize,
        x: &mut [Row],
        row: usize,
        rows: &[Row],
    ) {
        let part = |k: usize| self.part(column + k, row, rows.len());
        if let [a, b, c, d] = x {
            let (pa, pb, pc, pd) = (part(0), part(1), part(2), part(3));
            let mut sums = [*a, *b, *c, *d];
            for (i, y) in rows.iter().enumerate() {
                subtract_scaled::<FUSED>(&mut sums[0], pa[i], y);
                subtract_scaled::<FUSED>(&mut sums[1], pb[i], y);
                subtract_scaled::<FUSED>(&mut sums[2], pc[i], y);
                subtract_scaled::<FUSED>(&mut sums[3], pd[i], y);
            }
            [*a, *b, *c, *d] = sums;
            return;
        }
        for (k, x) in x.iter_mut().enumerate() {
            for (value, y) in part(k).iter().zip(rows) {
                subtract_scaled::<FUSED>(x, *value, y);
            }
        }
    }
}

/// y ← y − factor x.
#[inline(always)]
fn subtract_scaled<const FUSED: bool>(y: &mut Row, factor: f64, x: &Row) {
    for l in 0..WIDE {
        y[l] = if FUSED { (-factor).mul_add(x[l], y[l]) } else { y[l] - factor * x[l] };
    }
}
