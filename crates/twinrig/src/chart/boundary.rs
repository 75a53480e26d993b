//! The boundaries of a chart: lines between stable and unstable.
//!
//! Where two neighbouring grid points differ, the boundary crosses the edge
//! between them; it is found there by bisection. The crossings of a cell's edges
//! are joined (marching squares), and the pieces chained to lines.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::grid::Grid;
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
        let edges = crossed_edges(grid);
        let crossings = located(judge, grid, &edges, threads);
        let [columns, rows] = grid.size;
        let (mut pieces, mut stable) = (Vec::new(), Vec::new());
        for j in 0..rows - 1 {
            let mut run: Option<usize> = None;
            for i in 0..columns - 1 {
                let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
                let inside = corners.map(|(i, j)| grid.at(i, j).verdict == Verdict::Stable);
                if inside == [true; 4] {
                    run.get_or_insert(i);
                    continue;
                }
                close_run(judge, grid, &mut run, i, j, &mut stable);
                cell(judge, grid, (i, j), inside, &crossings, &mut pieces, &mut stable);
            }
            close_run(judge, grid, &mut run, columns - 1, j, &mut stable);
        }
        let lines = chained(pieces)
            .into_iter()
            .map(|line| line.into_iter().filter_map(|edge| crossings.get(&edge).copied()).collect())
            .collect();
        Self { lines, stable }
    }
}

fn place(judge: &Judge, grid: &Grid, i: usize, j: usize) -> [f64; 2] {
    let axes = judge.axes();
    [axes[0].at(i, grid.size[0]), axes[1].at(j, grid.size[1])]
}

/// A row of stable cells is one rectangle.
fn close_run(
    judge: &Judge,
    grid: &Grid,
    run: &mut Option<usize>,
    end: usize,
    j: usize,
    stable: &mut Vec<Vec<[f64; 2]>>,
) {
    if let Some(start) = run.take() {
        let corners = [(start, j), (end, j), (end, j + 1), (start, j + 1)];
        stable.push(corners.map(|(i, j)| place(judge, grid, i, j)).to_vec());
    }
}

fn crossed_edges(grid: &Grid) -> Vec<Edge> {
    let [columns, rows] = grid.size;
    let mut edges = Vec::new();
    for j in 0..rows {
        for i in 0..columns {
            let here = grid.at(i, j).verdict == Verdict::Stable;
            let differs = |i: usize, j: usize| (grid.at(i, j).verdict == Verdict::Stable) != here;
            if i + 1 < columns && differs(i + 1, j) {
                edges.push((i, j, 0));
            }
            if j + 1 < rows && differs(i, j + 1) {
                edges.push((i, j, 1));
            }
        }
    }
    edges
}

/// Where the boundary crosses these edges.
fn located(
    judge: &Judge,
    grid: &Grid,
    edges: &[Edge],
    threads: usize,
) -> HashMap<Edge, BoundaryPoint> {
    let next = &AtomicUsize::new(0);
    let work = move || {
        let mut found = Vec::new();
        while let Some(edge) = edges.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.push((*edge, bisected(judge, grid, edge)));
        }
        found
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let mut all: HashMap<Edge, BoundaryPoint> = work().into_iter().collect();
        for other in others {
            all.extend(other.join().unwrap_or_default());
        }
        all
    })
}

fn bisected(judge: &Judge, grid: &Grid, &(i, j, along): &Edge) -> BoundaryPoint {
    let other = if along == 0 { (i + 1, j) } else { (i, j + 1) };
    let ends = [place(judge, grid, i, j), place(judge, grid, other.0, other.1)];
    let first = grid.at(i, j).verdict == Verdict::Stable;
    let between = |share: f64| [0, 1].map(|k| ends[0][k] + share * (ends[1][k] - ends[0][k]));
    let halvings = match (judge.model(), judge.delay_axis()) {
        (Model::Delay, Some(_)) => HALVINGS,
        (Model::Delay, None) => FEW_HALVINGS,
        (Model::Loop, _) => LOOP_HALVINGS,
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..halvings {
        let middle = 0.5 * (low + high);
        let same = (judge.at(between(middle), Depth::Verdict).verdict == Verdict::Stable) == first;
        if same { low = middle } else { high = middle }
    }
    let at = between(0.5 * (low + high));
    BoundaryPoint { at, frequency_hz: judge.at(at, Depth::Growth).frequency_hz }
}

/// The boundary and the stable part of a mixed or unstable cell.
fn cell(
    judge: &Judge,
    grid: &Grid,
    (i, j): (usize, usize),
    inside: [bool; 4],
    crossings: &HashMap<Edge, BoundaryPoint>,
    pieces: &mut Vec<(Edge, Edge)>,
    stable: &mut Vec<Vec<[f64; 2]>>,
) {
    if inside == [false; 4] {
        return;
    }
    // Around the cell: corner, edge, corner, edge…
    let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
    let edges: [Edge; 4] = [(i, j, 0), (i + 1, j, 1), (i, j + 1, 0), (i, j, 1)];
    let (mut polygon, mut crossed) = (Vec::new(), Vec::new());
    for k in 0..4 {
        if inside[k] {
            polygon.push(place(judge, grid, corners[k].0, corners[k].1));
        }
        if inside[k] != inside[(k + 1) % 4] {
            if let Some(point) = crossings.get(&edges[k]) {
                polygon.push(point.at);
            }
            crossed.push(edges[k]);
        }
    }
    // Between what is stable and what is not judged there is no boundary to draw.
    let unjudged = corners.iter().any(|&(i, j)| grid.at(i, j).verdict == Verdict::Unknown);
    match crossed[..] {
        _ if unjudged => {}
        [a, b] => pieces.push((a, b)),
        // A saddle: the corners that are stable are cut off one by one.
        [a, b, c, d] if inside[0] => pieces.extend([(d, a), (b, c)]),
        [a, b, c, d] => pieces.extend([(a, b), (c, d)]),
        _ => {}
    }
    stable.push(polygon);
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
