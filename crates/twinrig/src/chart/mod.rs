//! Stability charts: stable or not, over any two numbers of an experiment file.

mod axis;
mod boundary;
mod cross_check;
mod findings;
mod grid;
mod judge;
mod page;
mod table;

pub use axis::Axis;
pub use boundary::{Boundaries, BoundaryPoint};
pub use cross_check::{CrossCheck, NOTHING_TO_COMPARE};
pub use grid::{Grid, Refinement};
pub use judge::{Depth, Judge, Judged, Model, Verdict};

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::assembly::SignalStore;
use crate::error::Error;
use crate::estimate::Estimate;
use crate::machine::cores;
use crate::notes::embedded;
use crate::onlooker::Onlooker;
use crate::run_folder::write_files;
use crate::test::Test;
use crate::verdict;
use experiment::{Experiment, Source};

/// What a chart is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Points along x and y.
    pub size: [usize; 2],
    /// Which points are computed.
    pub refinement: Refinement,
    /// How much is asked of each.
    pub depth: Depth,
    /// What is judged; by default a delay system where the loop is one.
    pub model: Option<Model>,
    /// Threads; one per core where none is given. The results do not depend on it.
    pub threads: Option<usize>,
    /// Whether the methods are compared with each other.
    pub cross_check: bool,
}

/// A chart with its boundaries.
pub struct Chart {
    /// What speaks against the declared experiment, or against the chart.
    pub verdict: verdict::Verdict,
    /// What judged it.
    pub judge: Judge,
    /// The points.
    pub grid: Grid,
    /// The lines between stable and unstable.
    pub boundaries: Boundaries,
    /// The verdict of the file as it is, where it lies on the chart.
    pub declared: Option<([f64; 2], Judged)>,
    /// How much was asked of each point.
    pub depth: Depth,
    /// What the points alone took.
    pub elapsed: Duration,
    /// Threads that computed them.
    pub threads: usize,
    /// How far the methods differ, in words, if that was asked.
    pub cross_check: Option<Vec<String>>,
    room: OnceLock<[[Option<End>; 2]; 2]>,
}

impl Test {
    /// Charts where the test is stable over two numbers of its file, each
    /// `PATH=a..b`.
    pub fn chart(
        &self,
        axes: [&str; 2],
        options: &Options,
        onlooker: &mut dyn Onlooker,
    ) -> Result<Chart, Error> {
        self.afford(&self.chart_estimate(axes, options), onlooker)?;
        let points = (options.size[0] * options.size[1]) as u64;
        let onlooker = Mutex::new(onlooker);
        let progress = |done: usize| {
            let mut onlooker = onlooker.lock().unwrap_or_else(PoisonError::into_inner);
            onlooker.progress(done as u64, points);
        };
        Chart::new(self.flat()?, self.source(), self.store().clone(), axes, options, &progress)
    }
}

/// Points that are computed along boundaries, per point along an edge of the chart.
const BOUNDARY_POINTS: usize = 30;

impl Test {
    /// What a chart will need. Along a delay all points have one system, unless their growth is asked
    /// for.
    fn chart_estimate(&self, axes: [&str; 2], options: &Options) -> Estimate {
        let [columns, rows] = options.size;
        let all = columns.saturating_mul(rows);
        let computed = match options.refinement {
            Refinement::AlongBoundaries if options.depth == Depth::Verdict => {
                all.min(BOUNDARY_POINTS * (columns + rows))
            }
            _ => all,
        };
        let delay = |axis: &str| {
            let path = axis.split('=').next().unwrap_or_default().trim();
            [axis::DELAY, axis::SAMPLES].contains(&path)
        };
        let systems = match axes.iter().position(|axis| delay(axis)) {
            Some(along) if options.depth == Depth::Verdict => [rows, columns][along],
            _ => computed,
        };
        let threads = options.threads.unwrap_or_else(cores);
        Estimate::chart(self.experiment(), all, computed, systems.min(computed), threads)
    }
}

/// How far a number may go from what the file declares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    /// Beyond this the verdict is another.
    Changes(f64),
    /// Beyond this nothing can be said.
    Unjudged(f64),
}

impl End {
    /// Where the verdict changes, if it is that.
    pub fn change(self) -> Option<f64> {
        match self {
            Self::Changes(at) => Some(at),
            Self::Unjudged(_) => None,
        }
    }

    /// Where nothing can be said any more, if it is that.
    pub fn unjudged(self) -> Option<f64> {
        match self {
            Self::Changes(_) => None,
            Self::Unjudged(at) => Some(at),
        }
    }
}

impl Chart {
    /// Computes a chart over two axes, each `PATH=a..b`. `progress` is told how
    /// many points are done.
    pub fn new(
        experiment: Experiment,
        source: &dyn Source,
        store: Arc<SignalStore>,
        axes: [&str; 2],
        options: &Options,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Self, Error> {
        let axis = |text| Axis::read(&experiment, text).map_err(Error::Question);
        let axes = [axis(axes[0])?, axis(axes[1])?];
        if axes[0].target.steps == axes[1].target.steps {
            return Err(Error::SameAxis { path: axes[0].target.path.clone() });
        }
        if judge::is_rigid(&experiment) {
            return Err(Error::RigidLoop);
        }
        let files = embedded(&experiment, source)?;
        let judge = Judge::new(experiment, files, store, axes, options.model)?;
        // Colours need every point; a cell taken over has none of its own.
        let refinement = match options.depth {
            Depth::Growth => Refinement::Full,
            Depth::Verdict => options.refinement,
        };
        let start = Instant::now();
        let threads = options.threads.unwrap_or_else(cores).max(1);
        let size = [0, 1].map(|axis| judge.axes()[axis].points(options.size[axis]));
        let grid = Grid::new(&judge, size, refinement, options.depth, threads, progress);
        let elapsed = start.elapsed();
        if grid.points.iter().all(|point| point.verdict == Verdict::Unknown) {
            let reason = judge.trouble().unwrap_or_else(|| "nothing was said".to_owned());
            return Err(Error::NothingJudged { reason });
        }
        let boundaries = Boundaries::new(&judge, &grid, threads);
        let place = judge.axes()[0].declared().zip(judge.axes()[1].declared());
        let declared = place.map(|(x, y)| ([x, y], judge.at([x, y], Depth::Growth)));
        let checked = options.cross_check.then(|| CrossCheck::new(&judge, &grid, &boundaries));
        let words = |checked: &Option<CrossCheck>| match checked {
            None => vec![NOTHING_TO_COMPARE.to_owned()],
            Some(checked) => checked.words(),
        };
        let (cross_check, verdict) = (checked.as_ref().map(words), verdict::Verdict::default());
        let (depth, room) = (options.depth, OnceLock::new());
        let mut chart = Self {
            verdict,
            judge,
            grid,
            boundaries,
            declared,
            depth,
            elapsed,
            threads,
            cross_check,
            room,
        };
        chart.verdict = findings::verdict(&chart, checked.flatten().as_ref());
        Ok(chart)
    }

    /// How far the declared value of axis `axis` may go, down and up, before the
    /// verdict changes or nothing can be said: `None` where neither happens on this
    /// chart.
    pub fn room(&self, axis: usize) -> [Option<End>; 2] {
        self.room.get_or_init(|| [0, 1].map(|axis| self.find_room(axis)))[axis]
    }

    fn find_room(&self, axis: usize) -> [Option<End>; 2] {
        let Some((place, judged)) = self.declared else { return [None; 2] };
        if judged.verdict == Verdict::Unknown {
            return [None; 2];
        }
        let range = &self.judge.axes()[axis];
        if self.judge.delay_axis() == Some(axis)
            && let Some(changes) = self.judge.delay_changes(place)
        {
            let within = |at: &&f64| range.low < **at && **at < range.high;
            let below = changes.iter().filter(within).rfind(|at| **at < place[axis]);
            let above = changes.iter().filter(within).find(|at| **at > place[axis]);
            return [below, above].map(|at| at.map(|at| End::Changes(*at)));
        }
        let steps = 400;
        let moved = |share: f64, end: f64| {
            let mut point = place;
            point[axis] = place[axis] + share * (end - place[axis]);
            point
        };
        let verdict = |point: [f64; 2]| self.judge.at(point, Depth::Verdict).verdict;
        let same = |point: [f64; 2]| verdict(point) == judged.verdict;
        // A loop as it runs is dear; the grid's own step is fine enough there.
        let (steps, halvings) =
            if self.judge.model() == Model::Delay { (steps, 30) } else { (40, 6) };
        [range.low, range.high].map(|end| {
            let at = |step: u32| f64::from(step) / f64::from(steps);
            let change = (1..=steps).find(|&step| !same(moved(at(step), end)))?;
            let (mut low, mut high) = (at(change - 1), at(change));
            for _ in 0..halvings {
                let middle = 0.5 * (low + high);
                if same(moved(middle, end)) { low = middle } else { high = middle }
            }
            let at = match moved(0.5 * (low + high), end)[axis] {
                // The last whole number before it.
                at if range.is_whole() && end == range.high => at.floor(),
                at if range.is_whole() => at.ceil(),
                at => at,
            };
            Some(match verdict(moved(high, end)) {
                Verdict::Unknown => End::Unjudged(at),
                Verdict::Stable | Verdict::Unstable => End::Changes(at),
            })
        })
    }

    /// The growth, 1/s, at which a scale of colours ends: that of the better half
    /// of the points, and of everything that decays. A neutral instability grows
    /// by thousands and would leave no colour for the rest.
    pub fn growth_scale_1_s(&self) -> f64 {
        let finite = || self.grid.points.iter().map(|p| p.growth_1_s).filter(|g| g.is_finite());
        let mut sizes: Vec<f64> = finite().map(f64::abs).collect();
        sizes.sort_by(f64::total_cmp);
        let decays = finite().fold(0.0_f64, |most, growth| most.max(-growth));
        sizes.get(sizes.len() / 2).copied().unwrap_or(1.0).max(decays).max(1e-12)
    }

    /// Writes picture, page, points, boundaries and summary into a folder; gives their
    /// names.
    pub fn write(&self, folder: &Path) -> Result<Vec<String>, Error> {
        let files = [
            ("chart.svg", self.svg()),
            ("chart.html", self.page(self.cross_check.as_deref()).html()),
            ("points.csv", self.points_csv()),
            ("boundary.csv", self.boundary_csv()),
            ("summary.json", format!("{:#}\n", self.summary())),
        ];
        write_files(folder, files)
    }

    /// Points per second and thread.
    pub fn pace(&self) -> f64 {
        self.grid.computed_count() as f64 / self.elapsed.as_secs_f64() / self.threads as f64
    }
}
