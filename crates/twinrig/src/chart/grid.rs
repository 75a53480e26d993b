//! The points of a chart: all of them, or those near a boundary.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::judge::{Depth, Judge, Judged, UNKNOWN, Verdict};

/// How the points are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refinement {
    /// Every one is computed.
    Full,
    /// A coarse grid first, and all points only where its verdicts differ. What
    /// is smaller than a coarse cell may be missed.
    AlongBoundaries,
}

/// Points between two of the coarse grid; a power of two.
const STRIDE: usize = 8;

/// The verdicts over a regular grid, x running first.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// Points along x and y, at least two each.
    pub size: [usize; 2],
    /// One per point.
    pub points: Vec<Judged>,
    /// Whether a point was computed, or taken over from the coarse cell around it.
    pub computed: Vec<bool>,
}

impl Grid {
    /// Judges a grid on some threads; `progress` is told how many points are done.
    pub fn new(
        judge: &Judge,
        size: [usize; 2],
        refinement: Refinement,
        depth: Depth,
        threads: usize,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Self {
        let size = size.map(|count| count.max(2));
        let mut work = Work {
            judge,
            depth,
            threads: threads.max(1),
            done: AtomicUsize::new(0),
            progress,
            size,
            points: vec![None; size[0] * size[1]],
            taken_over: vec![None; size[0] * size[1]],
        };
        match refinement {
            Refinement::Full => work.compute(0..size[0] * size[1]),
            Refinement::AlongBoundaries => work.refine(),
        }
        work.finish()
    }

    /// All grid points (i, j), i running first.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let [columns, rows] = self.size;
        (0..rows).flat_map(move |j| (0..columns).map(move |i| (i, j)))
    }

    /// Points with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.points.iter().filter(|point| point.verdict == verdict).count()
    }

    /// The verdict at grid point (i, j).
    pub fn at(&self, i: usize, j: usize) -> &Judged {
        &self.points[j * self.size[0] + i]
    }

    /// Points that were computed.
    pub fn computed_count(&self) -> usize {
        self.computed.iter().filter(|&&computed| computed).count()
    }

    /// Share of the judged points that is stable.
    pub fn stable_share(&self) -> f64 {
        let stable = self.count(Verdict::Stable) as f64;
        stable / (stable + self.count(Verdict::Unstable) as f64)
    }
}

/// Works on parts of a list on some threads; the results are in no order.
pub(super) fn spread<T: Sync, R: Send>(
    items: &[T],
    chunk: usize,
    threads: usize,
    work: impl Fn(&[T]) -> Vec<R> + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some(some) = items.chunks(chunk).nth(next.fetch_add(1, Ordering::Relaxed)) {
            found.extend(work(some));
        }
        found
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut found = work();
        found.extend(others.into_iter().flat_map(|other| other.join().unwrap_or_default()));
        found
    })
}

struct Work<'a> {
    judge: &'a Judge,
    depth: Depth,
    threads: usize,
    done: AtomicUsize,
    progress: &'a (dyn Fn(usize) + Sync),
    size: [usize; 2],
    points: Vec<Option<Judged>>,
    /// For what is never computed: the verdict of the cell it lies in.
    taken_over: Vec<Option<Judged>>,
}

impl Work<'_> {
    /// Computes those of these points that are not there yet, side by side.
    fn compute(&mut self, wanted: impl IntoIterator<Item = usize>) {
        let mut open: Vec<usize> =
            wanted.into_iter().filter(|&index| self.points[index].is_none()).collect();
        let [columns, rows] = self.size;
        if self.judge.delay_axis() == Some(1) {
            // Points of one system stand together, so that no two threads make it.
            open.sort_by_key(|index| (index % columns, index / columns));
        }
        let chunk = open.len().div_ceil(self.threads).clamp(1, columns.max(rows));
        let (judge, depth, done, progress) = (self.judge, self.depth, &self.done, self.progress);
        let [x, y] = judge.axes();
        let found = spread(&open, chunk, self.threads, |some| {
            let point =
                |index: usize| [x.at(index % columns, columns), y.at(index / columns, rows)];
            let found = some.iter().map(|&index| (index, judge.at(point(index), depth))).collect();
            progress(done.fetch_add(some.len(), Ordering::Relaxed) + some.len());
            found
        });
        for (index, judged) in found {
            self.points[index] = Some(judged);
        }
    }

    /// The coarse grid, then halves of the cells whose corners differ.
    fn refine(&mut self) {
        let [columns, rows] = self.size;
        let along = |count: usize, stride: usize| -> Vec<usize> {
            let mut all: Vec<usize> = (0..count).step_by(stride).collect();
            if all.last() != Some(&(count - 1)) {
                all.push(count - 1);
            }
            all
        };
        let (xs, ys) = (along(columns, STRIDE), along(rows, STRIDE));
        let at = |i: usize, j: usize| j * columns + i;
        let coarse: Vec<usize> =
            ys.iter().flat_map(|&j| xs.iter().map(move |&i| at(i, j))).collect();
        self.compute(coarse);
        let mut cells: Vec<[usize; 4]> = ys
            .windows(2)
            .flat_map(|y| xs.windows(2).map(move |x| [x[0], y[0], x[1], y[1]]))
            .collect();
        while !cells.is_empty() {
            // A boundary that leaves a cell enters its neighbour: those that touch
            // a mixed cell are looked at as well.
            let mixed: Vec<[usize; 4]> =
                cells.iter().copied().filter(|cell| self.is_mixed(cell)).collect();
            let touches = |a: &[usize; 4], b: &[usize; 4]| {
                a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]
            };
            let (near, alike): (Vec<[usize; 4]>, Vec<[usize; 4]>) =
                cells.iter().partition(|cell| mixed.iter().any(|other| touches(cell, other)));
            for cell in alike {
                self.take_over(&cell);
            }
            let mut wanted = Vec::new();
            let mut halves = Vec::new();
            for [x0, y0, x1, y1] in near {
                let (x, y) = (x0.midpoint(x1), y0.midpoint(y1));
                wanted.extend([x0, x, x1].iter().flat_map(|&i| [y0, y, y1].map(|j| at(i, j))));
                if x1 - x0 > 1 || y1 - y0 > 1 {
                    for half in [[x0, y0, x, y], [x, y0, x1, y], [x0, y, x, y1], [x, y, x1, y1]] {
                        if half[0] < half[2] && half[1] < half[3] {
                            halves.push(half);
                        } else if half[0] < half[2] && y1 - y0 == 1 && half[3] == y1 {
                            halves.push([half[0], y0, half[2], y1]);
                        } else if half[1] < half[3] && x1 - x0 == 1 && half[2] == x1 {
                            halves.push([x0, half[1], x1, half[3]]);
                        }
                    }
                }
            }
            self.compute(wanted);
            cells = halves;
        }
    }

    fn is_mixed(&self, [x0, y0, x1, y1]: &[usize; 4]) -> bool {
        let verdict =
            |i: usize, j: usize| self.points[j * self.size[0] + i].map(|judged| judged.verdict);
        let first = verdict(*x0, *y0);
        [(*x1, *y0), (*x0, *y1), (*x1, *y1)].into_iter().any(|(i, j)| verdict(i, j) != first)
    }

    /// All points of a cell of one verdict have it.
    fn take_over(&mut self, [x0, y0, x1, y1]: &[usize; 4]) {
        let of = self.points[y0 * self.size[0] + x0];
        for j in *y0..=*y1 {
            for i in *x0..=*x1 {
                self.taken_over[j * self.size[0] + i] = of;
            }
        }
    }

    fn finish(self) -> Grid {
        let computed: Vec<bool> = self.points.iter().map(Option::is_some).collect();
        let both = self.points.iter().zip(&self.taken_over);
        let points = both.map(|(own, cell)| own.or(*cell).unwrap_or(UNKNOWN)).collect();
        Grid { size: self.size, points, computed }
    }
}
