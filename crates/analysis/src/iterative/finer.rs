//! A branch of the model as fine as it is looked at.
//!
//! The continuation takes steps that are as long as the branch allows, and a
//! chord between two of its points lies beside the branch by a per cent or two
//! of the peak: more than a measurement is off. So chords are halved, each time
//! with a point that lies on the branch: all of them until they can be drawn,
//! those around a fold until it is sharp, those next to a measured point until
//! its distance no longer changes.

use std::f64::consts::TAU;

use numerics::continuation::Continuation;

use super::reference::{ReferencePoint, WholeStructure};
use super::{Mark, TraceSettings};

/// How far a chord may lie beside the branch, of the largest amplitude: where it
/// is drawn, and where it is compared with.
const DRAWN: f64 = 2e-3;
const COMPARED: f64 = 1e-5;
/// Points beyond which nothing is made finer.
const MOST_POINTS: usize = 6000;
/// A fold is sharp if its neighbours differ by less of its frequency.
const SHARP: f64 = 1e-8;

/// The branch with what makes it finer.
pub(super) struct Finer {
    whole: WholeStructure,
    scale_hz: f64,
    run: Continuation,
    nodes: Vec<Node>,
    /// The largest amplitude of every DOF, m.
    sizes: Vec<f64>,
    folds: Vec<Mark>,
}

struct Node {
    /// Deformations of the springs, and the frequency in rad/s.
    unknowns: Vec<f64>,
    point: ReferencePoint,
    /// How far the chord to the next node may lie beside the branch, of the
    /// largest amplitude; infinite if it was never halved.
    bend: f64,
}

impl Finer {
    /// Fine enough to be drawn. `None` if nothing was followed.
    pub(super) fn new(mut whole: WholeStructure, settings: &TraceSettings) -> Option<Self> {
        let run = whole.followed(settings)?;
        let nodes = run.points().iter().filter_map(|point| {
            let unknowns = point.unknowns.clone();
            let stable = judged(&whole, &unknowns);
            node(&whole, unknowns, stable)
        });
        let nodes: Vec<Node> = nodes.collect();
        if nodes.len() < 2 {
            return None;
        }
        let size = |dof: usize| {
            let all = nodes.iter().map(|node| node.point.fundamental[dof].norm());
            all.fold(0.0, f64::max)
        };
        let sizes = (0..settings.dofs).map(size).collect();
        let scale_hz = settings.scale_hz;
        let mut finer = Self { whole, scale_hz, run, nodes, sizes, folds: Vec::new() };
        finer.find_folds();
        let mut at = 0;
        while at + 1 < finer.nodes.len() {
            if finer.nodes[at].bend <= DRAWN || !finer.halve(at) {
                at += 1;
            }
        }
        Some(finer)
    }

    /// Where the frequency turns back.
    pub(super) fn folds(&self) -> &[Mark] {
        &self.folds
    }

    /// Between the points of the continuation: closer together, where a spring is
    /// sampled in time, one sample more in contact can turn a frequency back.
    fn find_folds(&mut self) {
        let (mut at, mut turned) = (1, None);
        while at + 1 < self.nodes.len() {
            let [before, here, after] = [at - 1, at, at + 1].map(|k| self.hz(k));
            at += 1;
            if (here - before) * (after - here) < 0.0 {
                let left = self.nodes.len() - at;
                let fold = self.sharpen(at - 1);
                let amplitude_m = self.nodes[fold].point.fundamental[0].norm();
                let mark = Mark { frequency_hz: self.hz(fold), amplitude_m };
                let up = here > before;
                match self.folds.last_mut() {
                    // A frequency that turns back twice to one side turned back once.
                    Some(last) if turned == Some(up) => {
                        if (mark.frequency_hz > last.frequency_hz) == up {
                            *last = mark;
                        }
                    }
                    _ => self.folds.push(mark),
                }
                turned = Some(up);
                // The next of the continuation's points again.
                at = self.nodes.len() - left;
            }
        }
    }

    /// Halves the chords on both sides of a fold; where its furthest node is then.
    fn sharpen(&mut self, mut at: usize) -> usize {
        let sign = (self.hz(at) - self.hz(at - 1)).signum();
        loop {
            let far = [at - 1, at + 1].map(|k| (self.hz(at) - self.hz(k)).abs());
            if far[0].max(far[1]) < SHARP * self.hz(at) || !self.halve(at) || !self.halve(at - 1) {
                return at;
            }
            let highest =
                |a: &usize, b: &usize| (sign * self.hz(*a)).total_cmp(&(sign * self.hz(*b)));
            at = (at..=at + 2).max_by(highest).unwrap_or(at);
        }
    }

    /// How far a measured point lies from the branch, m: the shortest way to it,
    /// a `scale.frequency` counting as much as the largest amplitude. At a fold a
    /// difference of amplitude at one frequency would say nothing.
    pub(super) fn distance_m(&mut self, dof: usize, frequency_hz: f64, amplitude_m: f64) -> f64 {
        let place = self.place(dof, frequency_hz, amplitude_m);
        loop {
            // The branch may come closer than a chord by the chord's bend.
            let reach = |k: usize| {
                let (a, b) = (self.node_place(k, dof), self.node_place(k + 1, dof));
                (to_chord(place, a, b), k)
            };
            let near = (0..self.nodes.len() - 1).map(reach);
            let least = |a: &(f64, usize), b: &(f64, usize)| {
                (a.0 - self.nodes[a.1].bend).total_cmp(&(b.0 - self.nodes[b.1].bend))
            };
            let Some((distance, at)) = near.min_by(least) else { return f64::NAN };
            if self.nodes[at].bend <= COMPARED || !self.halve(at) {
                return distance * self.sizes[dof];
            }
        }
    }

    /// All points, in the order of the branch.
    pub(super) fn into_points(self) -> Vec<ReferencePoint> {
        self.nodes.into_iter().map(|node| node.point).collect()
    }

    /// Puts a node of the branch between a node and the next. Whether it could;
    /// if not, their chord is never tried again.
    fn halve(&mut self, at: usize) -> bool {
        let inserted = self.between(at);
        let Some(mut middle) = inserted else {
            self.nodes[at].bend = 0.0;
            return false;
        };
        let dofs = 0..self.sizes.len();
        let beside = dofs.map(|dof| {
            let place =
                self.place(dof, middle.point.frequency_hz, middle.point.fundamental[dof].norm());
            to_chord(place, self.node_place(at, dof), self.node_place(at + 1, dof))
        });
        // A quarter of it where the branch is smooth, half of it at a corner.
        let bend = 0.5 * beside.fold(0.0, f64::max);
        self.nodes[at].bend = bend;
        middle.bend = bend;
        self.nodes.insert(at + 1, middle);
        true
    }

    fn between(&mut self, at: usize) -> Option<Node> {
        if self.nodes.len() >= MOST_POINTS {
            return None;
        }
        let (a, b) = (&self.nodes[at], &self.nodes[at + 1]);
        let found = self.run.between(&mut self.whole.balance, &a.unknowns, &b.unknowns);
        let unknowns = found.ok().flatten()?;
        let stable = match a.point.stable {
            same if same == b.point.stable => same,
            _ => judged(&self.whole, &unknowns),
        };
        node(&self.whole, unknowns, stable)
    }

    fn hz(&self, at: usize) -> f64 {
        self.nodes[at].point.frequency_hz
    }

    /// Frequency and amplitude on paper, in units that are alike.
    fn place(&self, dof: usize, frequency_hz: f64, amplitude_m: f64) -> [f64; 2] {
        let size = self.sizes[dof].max(f64::MIN_POSITIVE);
        [frequency_hz / self.scale_hz, amplitude_m / size]
    }

    fn node_place(&self, at: usize, dof: usize) -> [f64; 2] {
        let point = &self.nodes[at].point;
        self.place(dof, point.frequency_hz, point.fundamental[dof].norm())
    }
}

/// Deformations of the springs, and the frequency in Hz.
fn parted(unknowns: &[f64]) -> (&[f64], f64) {
    let (omega_rad_s, deformations) = unknowns.split_last().unwrap_or((&f64::NAN, &[]));
    (deformations, omega_rad_s / TAU)
}

fn judged(whole: &WholeStructure, unknowns: &[f64]) -> Option<bool> {
    let (deformations, frequency_hz) = parted(unknowns);
    whole.stable(deformations, frequency_hz)
}

fn node(whole: &WholeStructure, unknowns: Vec<f64>, stable: Option<bool>) -> Option<Node> {
    let (deformations, frequency_hz) = parted(&unknowns);
    let fundamental = whole.fundamental(deformations, frequency_hz)?;
    let point = ReferencePoint { frequency_hz, fundamental, stable };
    Some(Node { unknowns, point, bend: f64::INFINITY })
}

/// The shortest way from a place to a chord.
fn to_chord(place: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    let along = [b[0] - a[0], b[1] - a[1]];
    let from = [place[0] - a[0], place[1] - a[1]];
    let length = along[0] * along[0] + along[1] * along[1];
    let share = if length > 0.0 { (from[0] * along[0] + from[1] * along[1]) / length } else { 0.0 };
    let share = share.clamp(0.0, 1.0);
    (from[0] - share * along[0]).hypot(from[1] - share * along[1])
}
