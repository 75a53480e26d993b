//! The methods of a chart held against each other, on request.

use numerics::multi_bisection::{Search, zeros};
use std::f64::consts::TAU;

use super::boundary::Boundaries;
use super::grid::Grid;
use super::judge::{Depth, Judge, Model, Verdict};

/// Grid points along each axis at which the slower methods are asked.
const POINTS: usize = 40;

/// The same for the loop as it runs, which is the dearest.
const LOOPS: usize = 14;

/// What the comparison gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CrossCheck {
    /// Points at which the history was asked as well.
    pub history_points: usize,
    /// Those at which it disagrees with the chart.
    pub history_differs: usize,
    /// Largest growth, either way, at which it does, 1/s: near nought at a boundary.
    pub history_worst_1_s: f64,
    /// Points at which Gao & You's equivalent matrices were asked.
    pub equivalent_points: usize,
    /// Those at which they have another verdict.
    pub equivalent_differs: usize,
    /// Points with a root on the axis, found by bisection in (x, y, ω); none
    /// where the delay is on no axis of the chart.
    pub bisection_points: usize,
    /// Their largest distance from a crossing, as a share of the delay's axis.
    pub bisection_worst: f64,
    /// Points at which the loop as it runs was asked.
    pub loop_points: usize,
    /// Those at which sampling and hold change the verdict.
    pub loop_differs: usize,
}

impl CrossCheck {
    /// Compares; `None` for a chart that is not of a delay system.
    pub fn new(judge: &Judge, grid: &Grid, boundaries: &Boundaries) -> Option<Self> {
        if judge.model() != Model::Delay {
            return None;
        }
        let mut check = Self::default();
        check.ask_others(judge, grid);
        check.bisect(judge, boundaries);
        Some(check)
    }

    fn ask_others(&mut self, judge: &Judge, grid: &Grid) {
        let differs =
            |a: Verdict, b: Verdict| a != b && a != Verdict::Unknown && b != Verdict::Unknown;
        for (own, point) in some_points(judge, grid, POINTS) {
            // Several interface DOFs have no crossings: the history is the chart.
            if judge.has_crossings(point) {
                let history = judge.by_history(point);
                self.history_points += usize::from(history.verdict != Verdict::Unknown);
                if differs(own, history.verdict) {
                    self.history_differs += 1;
                    self.history_worst_1_s = self.history_worst_1_s.max(history.growth_1_s.abs());
                }
            }
            self.equivalent_points += usize::from(own != Verdict::Unknown);
            self.equivalent_differs += usize::from(differs(own, judge.by_equivalent(point)));
        }
        for (own, point) in some_points(judge, grid, LOOPS) {
            let sampled = judge.by_loop(point, Depth::Verdict).verdict;
            self.loop_points += usize::from(sampled != Verdict::Unknown);
            self.loop_differs += usize::from(differs(own, sampled));
        }
    }

    /// The paper's own route: D(jω) = 0 over x, y and ω at once.
    fn bisect(&mut self, judge: &Judge, boundaries: &Boundaries) {
        let points = boundaries.lines.iter().flatten();
        let known: Vec<_> = points.filter(|p| judge.crossing_near(p.at).is_some()).collect();
        let finite =
            || known.iter().map(|point| TAU * point.frequency_hz).filter(|w| w.is_finite());
        let (slowest, fastest) = (finite().fold(f64::MAX, f64::min), finite().fold(0.0, f64::max));
        let Some(at) = judge.delay_axis().filter(|_| fastest > 0.0) else { return };
        let axes = judge.axes();
        let search = Search {
            low: [axes[0].low, axes[1].low, 0.9 * slowest],
            high: [axes[0].high, axes[1].high, 1.1 * fastest],
            cells: [12, 12, 24],
            tolerance: 1e-4,
            halvings: 6,
            evaluations: 400_000,
        };
        let found = zeros(&search, |&[x, y, omega]| judge.characteristic([x, y], omega));
        let axis = &axes[at];
        for [x, y, _] in found.points {
            let Some(exact) = judge.crossing_near([x, y]) else { continue };
            self.bisection_points += 1;
            let off = ([x, y][at] - exact).abs() / (axis.high - axis.low);
            self.bisection_worst = self.bisection_worst.max(off);
        }
    }
}

/// Verdicts of about `count` grid points along each axis, and where they are.
fn some_points<'a>(
    judge: &'a Judge,
    grid: &'a Grid,
    count: usize,
) -> impl Iterator<Item = (Verdict, [f64; 2])> + 'a {
    let ([columns, rows], [x, y]) = (grid.size, judge.axes());
    let steps = [columns.div_ceil(count), rows.div_ceil(count)];
    let asked = move |(i, j): &(usize, usize)| i % steps[0] == 0 && j % steps[1] == 0;
    let points = grid.places().filter(asked);
    points.map(move |(i, j)| (grid.at(i, j).verdict, [x.at(i, columns), y.at(j, rows)]))
}

/// What there is to say where nothing can be compared.
pub const NOTHING_TO_COMPARE: &str = "nothing to compare: the other methods are those of a loop with nothing but a delay; this loop \
     is judged as it runs, in one way, so rehearse its points that matter";

impl CrossCheck {
    /// What the comparison gave, a sentence each.
    pub fn words(&self) -> Vec<String> {
        if self.history_points + self.equivalent_points + self.loop_points == 0 {
            return vec!["nothing to compare: none of the points asked can be judged".to_owned()];
        }
        let mut words = vec![match self.history_differs {
            _ if self.history_points == 0 => {
                "several interface DOFs have no crossings to compare the history with".to_owned()
            }
            0 => format!(
                "crossings and discretised history agree at all {} points asked",
                self.history_points
            ),
            differs => format!(
                "crossings and discretised history differ at {differs} of {} points, all with a \
                 growth of at most {:.2e} 1/s",
                self.history_points, self.history_worst_1_s
            ),
        }];
        if self.bisection_points > 0 {
            words.push(format!(
                "bisection in (x, y, ω): {} points with a root on the axis, the farthest {:.1e} of \
                 the delay's range away from a crossing",
                self.bisection_points, self.bisection_worst
            ));
        }
        words.push(format!(
            "Gao & You's equivalent matrices, an approximation, have another verdict at {} of {} \
             points",
            self.equivalent_differs, self.equivalent_points
        ));
        if self.loop_points > 0 {
            words.push(format!(
                "the loop as it runs, sampled and with its force held, has another verdict at {} of \
                 {} points",
                self.loop_differs, self.loop_points
            ));
        }
        words
    }
}
