//! The boundaries of a chart: lines between stable and unstable.
//!
//! Where two neighbouring grid points differ, the boundary crosses the edge
//! between them; it is found there by bisection. The crossings of a cell's edges
//! are joined (marching squares), and the pieces chained to lines.

use std::collections::HashMap;

use super::grid::{Grid, spread};
use super::judge::{Depth, Judge, Model, Verdict};

/// Halvings of an edge along which one system serves: its boundary is then known
/// to a millionth of the edge.
const HALVINGS: u32 = 20;
/// The same where every verdict is that of a system of its own.
const FEW_HALVINGS: u32 = 12;
/// The same where it is that of a whole loop.
const LOOP_HALVINGS: u32 = 8;

/// A point of a boundary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundaryPoint {
    /// x and y, SI.
    pub at: [f64; 2],
    /// Frequency of the motion that neither grows nor decays there.
    pub frequency_hz: f64,
}

/// The boundaries of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Boundaries {
    /// Each a line of points.
    pub lines: Vec<Vec<BoundaryPoint>>,
    /// What is stable, as polygons.
    pub stable: Vec<Vec<[f64; 2]>>,
}

/// An edge of the grid: its first point and its direction, 0 along x, 1 along y.
type Edge = (usize, usize, usize);

impl Boundaries {
    /// Finds the boundaries of a grid on some threads.
    pub fn new(judge: &Judge, grid: &Grid, threads: usize) -> Self {
        let tracer = Tracer { judge, grid };
        let edges = tracer.crossed_edges();
        let crossings = spread(&edges, 1, threads, |edges| {
            edges.iter().map(|&edge| (edge, tracer.bisected(edge))).collect()
        });
        let crossings: HashMap<Edge, BoundaryPoint> = crossings.into_iter().collect();
        let [columns, rows] = grid.size;
        let (mut pieces, mut stable) = (Vec::new(), Vec::new());
        for j in 0..rows - 1 {
            // A row of stable cells is one rectangle.
            let mut run: Option<usize> = None;
            for i in 0..columns {
                let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
                let inside = match i + 1 < columns {
                    true => corners.map(|corner| tracer.is_stable(corner)),
                    false => [false; 4],
                };
                if inside == [true; 4] {
                    run.get_or_insert(i);
                    continue;
                }
                if let Some(start) = run.take() {
                    let corners = [(start, j), (i, j), (i, j + 1), (start, j + 1)];
                    stable.push(corners.map(|corner| tracer.place(corner)).to_vec());
                }
                if inside != [false; 4] {
                    stable.push(tracer.cell(corners, inside, &crossings, &mut pieces));
                }
            }
        }
        let lines = chained(pieces)
            .into_iter()
            .map(|line| line.into_iter().filter_map(|edge| crossings.get(&edge).copied()).collect())
            .collect();
        Self { lines, stable }
    }
}

/// Looks for boundaries between the points of a grid.
struct Tracer<'a> {
    judge: &'a Judge,
    grid: &'a Grid,
}

impl Tracer<'_> {
    fn is_stable(&self, (i, j): (usize, usize)) -> bool {
        self.grid.at(i, j).verdict == Verdict::Stable
    }

    fn place(&self, (i, j): (usize, usize)) -> [f64; 2] {
        let axes = self.judge.axes();
        [axes[0].at(i, self.grid.size[0]), axes[1].at(j, self.grid.size[1])]
    }

    fn crossed_edges(&self) -> Vec<Edge> {
        let [columns, rows] = self.grid.size;
        let along =
            |(i, j)| [(i + 1 < columns).then_some((i, j, 0)), (j + 1 < rows).then_some((i, j, 1))];
        let edges = self.grid.places().flat_map(along).flatten();
        let differs = |&(i, j, along): &Edge| {
            self.is_stable((i, j)) != self.is_stable((i + 1 - along, j + along))
        };
        edges.filter(differs).collect()
    }

    /// Where the boundary crosses an edge.
    fn bisected(&self, (i, j, along): Edge) -> BoundaryPoint {
        let judge = self.judge;
        let ends = [self.place((i, j)), self.place((i + 1 - along, j + along))];
        let first = self.is_stable((i, j));
        let between = |share: f64| [0, 1].map(|k| ends[0][k] + share * (ends[1][k] - ends[0][k]));
        let halvings = match (judge.model(), judge.delay_axis()) {
            (Model::Delay, Some(_)) => HALVINGS,
            (Model::Delay, None) => FEW_HALVINGS,
            (Model::Loop, _) => LOOP_HALVINGS,
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..halvings {
            let middle = 0.5 * (low + high);
            let verdict = judge.at(between(middle), Depth::Verdict).verdict;
            if (verdict == Verdict::Stable) == first { low = middle } else { high = middle }
        }
        let at = between(0.5 * (low + high));
        BoundaryPoint { at, frequency_hz: judge.at(at, Depth::Growth).frequency_hz }
    }

    /// The stable part of a mixed cell; its boundary is added to the pieces.
    fn cell(
        &self,
        corners: [(usize, usize); 4],
        inside: [bool; 4],
        crossings: &HashMap<Edge, BoundaryPoint>,
        pieces: &mut Vec<(Edge, Edge)>,
    ) -> Vec<[f64; 2]> {
        // Around the cell: corner, edge, corner, edge…
        let [(i, j), ..] = corners;
        let edges: [Edge; 4] = [(i, j, 0), (i + 1, j, 1), (i, j + 1, 0), (i, j, 1)];
        let (mut polygon, mut crossed) = (Vec::new(), Vec::new());
        for k in 0..4 {
            if inside[k] {
                polygon.push(self.place(corners[k]));
            }
            if inside[k] != inside[(k + 1) % 4] {
                polygon.extend(crossings.get(&edges[k]).map(|point| point.at));
                crossed.push(edges[k]);
            }
        }
        // Between what is stable and what is not judged there is no boundary to draw.
        let unjudged = corners.iter().any(|&(i, j)| self.grid.at(i, j).verdict == Verdict::Unknown);
        match crossed[..] {
            _ if unjudged => {}
            [a, b] => pieces.push((a, b)),
            // A saddle: the corners that are stable are cut off one by one.
            [a, b, c, d] if inside[0] => pieces.extend([(d, a), (b, c)]),
            [a, b, c, d] => pieces.extend([(a, b), (c, d)]),
            _ => {}
        }
        polygon
    }
}

/// Pieces with common ends as lines.
fn chained(pieces: Vec<(Edge, Edge)>) -> Vec<Vec<Edge>> {
    let mut at: HashMap<Edge, Vec<usize>> = HashMap::new();
    for (index, (a, b)) in pieces.iter().enumerate() {
        at.entry(*a).or_default().push(index);
        at.entry(*b).or_default().push(index);
    }
    let mut used = vec![false; pieces.len()];
    let mut lines = Vec::new();
    // Lines that end at the rim begin there; what is left are closed ones.
    let ends = |index: usize| {
        let (a, b) = pieces[index];
        [(a, b), (b, a)].into_iter().find(|(start, _)| at[start].len() == 1)
    };
    let open = (0..pieces.len()).filter_map(|index| Some((index, ends(index)?)));
    let closed = (0..pieces.len()).map(|index| (index, pieces[index]));
    for (first, (start, next)) in open.chain(closed) {
        if used[first] {
            continue;
        }
        used[first] = true;
        let mut line = vec![start, next];
        let mut here = next;
        while let Some(&index) = at[&here].iter().find(|&&index| !used[index]) {
            used[index] = true;
            let (a, b) = pieces[index];
            here = if a == here { b } else { a };
            line.push(here);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_chained_to_open_and_closed_lines() {
        let edge = |i: usize| (i, 0, 0);
        let pieces = vec![
            (edge(3), edge(2)),
            (edge(1), edge(2)),
            (edge(7), edge(8)),
            (edge(8), edge(9)),
            (edge(9), edge(7)),
        ];
        let mut lines = chained(pieces);
        lines.sort_by_key(Vec::len);
        assert_eq!(lines[0].len(), 3);
        assert!(lines[0] == [edge(3), edge(2), edge(1)] || lines[0] == [edge(1), edge(2), edge(3)]);
        assert_eq!(lines[1].len(), 4);
        assert_eq!(lines[1].first(), lines[1].last());
    }
}
