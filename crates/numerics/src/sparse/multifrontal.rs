//! The numbers of a sparse Cholesky factor, by the multifrontal method.
//!
//! Columns with one pattern below the diagonal form a panel. Panels are the
//! nodes of a tree; a panel gathers its part of A and the updates of its
//! children, is factored as a dense matrix, and leaves the update U = −B Bᵀ of
//! what lies below it (B its rows below the diagonal block) to its parent. All
//! heavy work is in a few large dense products.
//!
//! Subtrees are independent and go to different threads; the panels above them
//! cut their products into blocks. Every number is computed in one fixed order,
//! so it does not depend on how many threads there are.
//!
//! Reference: Liu 1992, SIAM Review 34(1).

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::solvers::LltError;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::sparse::linalg::cholesky::supernodal::SymbolicSupernodalCholesky;
use faer::{Accum, MatMut, MatRef, Par};

use super::SparseMatrix;
use super::threads::parallel_for;
use super::tree::{NONE, Tree, shape};

/// Subtrees with more than this part of the work are split.
const LARGE_SUBTREE: f64 = 1.0 / 16.0;

/// Columns of an update that one thread computes at a time.
const BLOCK: usize = 256;

/// Panels, the order of their rows and the matrix they factor.
pub(super) struct Fronts<'a> {
    pub(super) symbolic: &'a SymbolicSupernodalCholesky<u32>,
    /// That of `symbolic`.
    pub(super) tree: &'a Tree,
    /// Row of the matrix at each place, and place of each row.
    pub(super) order: (&'a [u32], &'a [u32]),
    /// Equal to its transpose.
    pub(super) matrix: &'a SparseMatrix,
}

/// The lower triangle of what a panel leaves to its parent, column by column.
type Update = Vec<f64>;

/// What a thread needs besides: places within the panel at work.
struct Bench {
    local: Vec<u32>,
    targets: Vec<u32>,
}

impl Fronts<'_> {
    /// Fills `values`, which are zero; or the place of the first pivot that is
    /// not positive.
    pub(super) fn factor(&self, values: &mut [f64]) -> Result<(), usize> {
        let count = self.tree.parent.len();
        let starts = self.symbolic.col_ptr_for_val();
        let mut rest = values;
        // The numbers of some panels, taken one behind the other.
        let mut take = |panels: Range<usize>| {
            let length = (starts[panels.end] - starts[panels.start]) as usize;
            let (own, after) = std::mem::take(&mut rest).split_at_mut(length);
            rest = after;
            own
        };
        let (mut subtrees, mut above) = (Vec::new(), Vec::new());
        let mut next = 0;
        for root in self.subtree_roots() {
            let first = self.tree.first[root] as usize;
            above.extend((next..first).map(|panel| (panel, take(panel..panel + 1))));
            subtrees.push((root, take(first..root + 1)));
            next = root + 1;
        }
        above.extend((next..count).map(|panel| (panel, take(panel..panel + 1))));
        let done = Mutex::new(Vec::with_capacity(subtrees.len()));
        let benches = Mutex::new(Vec::new());
        parallel_for(subtrees, |(root, values)| {
            let mut bench = open(&benches).pop().unwrap_or_else(|| self.bench());
            let update = self.subtree(root, values, &mut bench);
            open(&done).push((root, update));
            open(&benches).push(bench);
        });
        let mut done = std::mem::take(&mut *open(&done));
        done.sort_by_key(|(root, _)| *root);
        let mut updates: Vec<Option<Update>> = vec![None; count];
        for (root, update) in done {
            updates[root] = Some(update?);
        }
        let mut bench = self.bench();
        for (panel, values) in above {
            updates[panel] = Some(self.front(panel, values, 0, &mut updates, &mut bench)?);
        }
        Ok(())
    }

    fn bench(&self) -> Bench {
        Bench { local: vec![NONE; self.symbolic.nrows()], targets: Vec::new() }
    }

    /// Subtrees small enough to share out, ascending. What is above them is done
    /// afterwards.
    fn subtree_roots(&self) -> Vec<usize> {
        self.tree.roots(LARGE_SUBTREE, |panel| {
            let (columns, below) = self.shape(panel);
            let (columns, below) = (columns as f64, below as f64);
            columns * (columns * columns / 3.0 + columns * below + below * below)
        })
    }

    fn shape(&self, panel: usize) -> (usize, usize) {
        shape(self.symbolic, panel)
    }

    /// What a subtree leaves to the panel above; `values` are its part of the factor.
    fn subtree(
        &self,
        root: usize,
        mut values: &mut [f64],
        bench: &mut Bench,
    ) -> Result<Update, usize> {
        let from = self.tree.first[root] as usize;
        let mut updates: Vec<Option<Update>> = vec![None; root + 1 - from];
        for panel in from..=root {
            let (columns, below) = self.shape(panel);
            let (own, after) = values.split_at_mut((columns + below) * columns);
            values = after;
            updates[panel - from] = Some(self.front(panel, own, from, &mut updates, bench)?);
        }
        Ok(updates.pop().flatten().unwrap_or_default())
    }

    /// One panel; `updates` are those of the panels from `from` on.
    fn front(
        &self,
        panel: usize,
        values: &mut [f64],
        from: usize,
        updates: &mut [Option<Update>],
        bench: &mut Bench,
    ) -> Result<Update, usize> {
        let (columns, below) = self.shape(panel);
        let begin = self.symbolic.supernode_begin()[panel] as usize;
        let pattern = self.symbolic.supernode(panel).pattern();
        let rows = columns + below;
        for column in 0..columns {
            bench.local[begin + column] = column as u32;
        }
        for (k, &row) in pattern.iter().enumerate() {
            bench.local[row as usize] = (columns + k) as u32;
        }
        let (forward, inverse) = self.order;
        for column in 0..columns {
            let own = &mut values[column * rows..(column + 1) * rows];
            for (row, value) in self.matrix.column(forward[begin + column] as usize) {
                let place = inverse[row] as usize;
                if place >= begin + column {
                    own[bench.local[place] as usize] += value;
                }
            }
        }
        let mut update = vec![0.0; below * below];
        for child in self.tree.children(panel) {
            if let Some(left) = updates[child - from].take() {
                self.extend(child, &left, columns, values, &mut update, bench);
            }
        }
        dense(values, columns, &mut update).map_err(|column| begin + column)?;
        Ok(update)
    }

    /// Adds a child's update to the panel and to its own update.
    fn extend(
        &self,
        child: usize,
        left: &[f64],
        columns: usize,
        values: &mut [f64],
        update: &mut [f64],
        bench: &mut Bench,
    ) {
        let pattern = self.symbolic.supernode(child).pattern();
        bench.targets.clear();
        bench.targets.extend(pattern.iter().map(|&row| bench.local[row as usize]));
        let targets = &bench.targets;
        let rows = values.len() / columns;
        let below = rows - columns;
        for (k, &target) in targets.iter().enumerate() {
            let target = target as usize;
            let source = &left[k * pattern.len() + k..(k + 1) * pattern.len()];
            if target < columns {
                let own = &mut values[target * rows..(target + 1) * rows];
                add(own, source, &targets[k..], 0);
            } else {
                let own = &mut update[(target - columns) * below..(target - columns + 1) * below];
                add(own, source, &targets[k..], columns);
            }
        }
    }
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn add(to: &mut [f64], from: &[f64], targets: &[u32], shift: usize) {
    for (value, &target) in from.iter().zip(targets) {
        to[target as usize - shift] += value;
    }
}

/// Factors the panel [A; B] in place, A = L Lᵀ and B ← B L⁻ᵀ, and subtracts B Bᵀ
/// from the lower triangle of the update; or the column of a pivot that is not
/// positive.
fn dense(panel: &mut [f64], columns: usize, update: &mut [f64]) -> Result<(), usize> {
    let rows = panel.len() / columns;
    let below = rows - columns;
    let panel = MatMut::from_column_major_slice_mut(panel, rows, columns);
    let (mut top, mut bottom) = panel.split_at_row_mut(columns);
    let (regularisation, spec) = (Default::default(), Default::default());
    let mut buffer = MemBuffer::new(cholesky_in_place_scratch::<f64>(columns, Par::Seq, spec));
    cholesky_in_place(top.as_mut(), regularisation, Par::Seq, MemStack::new(&mut buffer), spec)
        .map_err(|LltError::NonPositivePivot { index }| index)?;
    if below == 0 {
        return Ok(());
    }
    let top = top.as_ref();
    let mut pieces = Vec::with_capacity(below.div_ceil(BLOCK));
    let mut rest = bottom.as_mut();
    while rest.nrows() > 0 {
        let height = BLOCK.min(rest.nrows());
        let (piece, after) = rest.split_at_row_mut(height);
        pieces.push(piece);
        rest = after;
    }
    parallel_for(pieces, |rows| {
        solve_lower_triangular_in_place(top, rows.transpose_mut(), Par::Seq);
    });
    let bottom = bottom.as_ref();
    let blocks = update.chunks_mut(BLOCK * below).enumerate();
    parallel_for(blocks, |(k, block)| {
        subtract_square(block, bottom.split_at_row(k * BLOCK).1, below)
    });
    Ok(())
}

/// Columns of an update from the diagonal down: minus B B₀ᵀ, B₀ its first rows.
fn subtract_square(block: &mut [f64], b: MatRef<'_, f64>, below: usize) {
    let width = block.len() / below;
    let block = MatMut::from_column_major_slice_mut(block, below, width);
    let (_, block) = block.split_at_row_mut(below - b.nrows());
    let (diagonal, rest) = block.split_at_row_mut(width);
    let (first, after) = b.split_at_row(width);
    triangular::matmul(
        diagonal,
        BlockStructure::TriangularLower,
        Accum::Add,
        first,
        BlockStructure::Rectangular,
        first.transpose(),
        BlockStructure::Rectangular,
        -1.0,
        Par::Seq,
    );
    matmul(rest, Accum::Add, after, first.transpose(), -1.0, Par::Seq);
}
