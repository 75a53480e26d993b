//! The order in which the rows of a large symmetric matrix are eliminated.
//!
//! Approximate minimum degree suits what is slender or plane, nested dissection
//! what fills space: of a block of 100 000 DOFs its factor has half the entries.
//! Both are tried and counted, and the one with fewer entries is taken.

use std::collections::HashMap;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;
use feral_metis::{CscPattern, metis_order};

use super::SparseMatrix;

/// Fewer rows are left to minimum degree as it is.
const SMALL: usize = 2000;

/// Entries of L below which dissection is not worth its time.
const LITTLE_FILL: u64 = 2_000_000;

const NONE: u32 = u32::MAX;

/// A permutation: `forward[place]` is the row eliminated there.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) forward: Vec<u32>,
    pub(super) inverse: Vec<u32>,
}

impl Order {
    /// Little fill for the pattern of the lower triangle; `None` for a small
    /// matrix and where counting fails.
    pub(super) fn of(matrix: &SparseMatrix) -> Option<Self> {
        (matrix.rows() >= SMALL).then(|| Graph::of(matrix).order()).flatten()
    }
}

/// Rows with the same neighbours, the three DOFs of a node for one, as a single
/// vertex with a weight: a solid's graph has a ninth of its matrix's entries.
struct Graph {
    /// Rows of each vertex.
    members: Vec<Vec<u32>>,
    /// Neighbours of each vertex, itself among them, ascending.
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Graph {
    fn of(matrix: &SparseMatrix) -> Self {
        let rows = adjacency(matrix);
        let list = |row: usize| &rows.row_of[rows.range(row)];
        let mut vertex_with: HashMap<&[u32], u32> = HashMap::new();
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut vertex_of = vec![0_u32; matrix.rows()];
        for row in 0..matrix.rows() {
            let vertex = *vertex_with.entry(list(row)).or_insert(members.len() as u32);
            if vertex as usize == members.len() {
                members.push(Vec::new());
            }
            members[vertex as usize].push(row as u32);
            vertex_of[row] = vertex;
        }
        let (mut starts, mut neighbours) = (vec![0], Vec::new());
        for rows in &members {
            let mut own: Vec<u32> =
                list(rows[0] as usize).iter().map(|&row| vertex_of[row as usize]).collect();
            own.sort_unstable();
            own.dedup();
            neighbours.append(&mut own);
            starts.push(neighbours.len() as u32);
        }
        Self { members, starts, neighbours }
    }

    fn size(&self) -> usize {
        self.members.len()
    }

    fn around(&self, vertex: u32) -> &[u32] {
        let at = vertex as usize;
        &self.neighbours[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    fn order(&self) -> Option<Order> {
        let tree = Tree::of(self, self.minimum_degree()?);
        let count = tree.entries(self);
        let other = if count > LITTLE_FILL { self.dissection() } else { None };
        let other = other.map(|order| Tree::of(self, order));
        let best = other.filter(|other| other.entries(self) < count).unwrap_or(tree);
        let vertices = best.postorder().into_iter();
        let rows = vertices.flat_map(|vertex| self.members[vertex as usize].iter().copied());
        let forward: Vec<u32> = rows.collect();
        Some(Order { inverse: inverse(&forward)?, forward })
    }

    fn minimum_degree(&self) -> Option<Vec<u32>> {
        let n = self.size();
        let pattern =
            SymbolicSparseColMatRef::new_checked(n, n, &self.starts, None, &self.neighbours);
        let (mut forward, mut inverse) = (vec![0_u32; n], vec![0_u32; n]);
        let scratch = amd::order_scratch::<u32>(n, self.neighbours.len());
        let mut buffer = MemBuffer::try_new(scratch).ok()?;
        let stack = MemStack::new(&mut buffer);
        amd::order(&mut forward, &mut inverse, pattern, Default::default(), stack).ok()?;
        Some(forward)
    }

    /// What comes from elsewhere is believed only if it is a permutation.
    fn dissection(&self) -> Option<Vec<u32>> {
        let whole = |&number: &u32| i32::try_from(number).ok();
        let starts: Vec<i32> = self.starts.iter().map(whole).collect::<Option<_>>()?;
        let neighbours: Vec<i32> = self.neighbours.iter().map(whole).collect::<Option<_>>()?;
        let order = metis_order(&CscPattern::new(self.size(), &starts, &neighbours)?).ok()?;
        let order: Vec<u32> =
            order.into_iter().map(|vertex| u32::try_from(vertex).ok()).collect::<Option<_>>()?;
        (order.len() == self.size() && inverse(&order).is_some()).then_some(order)
    }
}

/// Neighbours of each row by the lower triangle, the row itself among them,
/// ascending: the columns of a symmetric pattern.
fn adjacency(matrix: &SparseMatrix) -> SparseMatrix {
    let n = matrix.rows();
    let below = matrix.triplets().filter(|&(row, column, _)| row > column);
    let above = below.clone().map(|(row, column, value)| (column, row, value));
    let all = (0..n).map(|row| (row, row, 0.0)).chain(below).chain(above);
    SparseMatrix::assembled(n, n, all).expect("entries of the matrix and its diagonal")
}

fn inverse(forward: &[u32]) -> Option<Vec<u32>> {
    let mut inverse = vec![NONE; forward.len()];
    for (place, &row) in forward.iter().enumerate() {
        let slot = inverse.get_mut(row as usize)?;
        if *slot != NONE {
            return None;
        }
        *slot = place as u32;
    }
    Some(inverse)
}

/// An order and its elimination tree: the parent of a place is the first one
/// that its elimination touches.
///
/// Reference: Liu 1990, SIAM J. Matrix Anal. 11(1).
struct Tree {
    order: Vec<u32>,
    place_of: Vec<u32>,
    parent: Vec<u32>,
}

impl Tree {
    /// `order` must be a permutation of the graph's vertices.
    fn of(graph: &Graph, order: Vec<u32>) -> Self {
        let place_of = inverse(&order).expect("an order is a permutation");
        let n = order.len();
        let (mut parent, mut shortcut) = (vec![NONE; n], vec![NONE; n]);
        for place in 0..n as u32 {
            for &vertex in graph.around(order[place as usize]) {
                let mut at = place_of[vertex as usize];
                while at < place {
                    let next = std::mem::replace(&mut shortcut[at as usize], place);
                    if next == NONE {
                        parent[at as usize] = place;
                        break;
                    }
                    at = next;
                }
            }
        }
        Self { order, place_of, parent }
    }

    /// Entries of L: row by row, every place on the way up from a neighbour has one.
    fn entries(&self, graph: &Graph) -> u64 {
        let weight = |place: u32| graph.members[self.order[place as usize] as usize].len() as u64;
        let mut met = vec![NONE; self.order.len()];
        let mut count = 0;
        for place in 0..self.order.len() as u32 {
            met[place as usize] = place;
            let own = weight(place);
            count += own * (own + 1) / 2;
            for &vertex in graph.around(self.order[place as usize]) {
                let mut at = self.place_of[vertex as usize];
                while at < place && met[at as usize] != place {
                    met[at as usize] = place;
                    count += own * weight(at);
                    at = self.parent[at as usize];
                }
            }
        }
        count
    }

    /// The same elimination with every subtree in one piece.
    fn postorder(&self) -> Vec<u32> {
        let n = self.order.len();
        // Those of each place, and at the end the roots.
        let mut children = vec![Vec::new(); n + 1];
        for (place, &parent) in self.parent.iter().enumerate() {
            children[(parent as usize).min(n)].push(place);
        }
        // A parent, then its subtrees from the last one down: the order backwards.
        let mut sequence = Vec::with_capacity(n);
        let mut open = std::mem::take(&mut children[n]);
        while let Some(at) = open.pop() {
            sequence.push(self.order[at]);
            open.append(&mut children[at]);
        }
        sequence.reverse();
        sequence
    }
}

#[cfg(test)]
mod tests;
