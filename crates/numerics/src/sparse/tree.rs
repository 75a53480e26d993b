//! The tree of a factor's panels: who needs whom, and which parts of the work do
//! not touch each other.

use faer::sparse::linalg::cholesky::supernodal::SymbolicSupernodalCholesky;

pub(super) const NONE: u32 = u32::MAX;

/// Panels of columns with one pattern; the parent of a panel holds the first row
/// below its diagonal block. Every subtree is one piece.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) parent: Vec<u32>,
    /// First panel of the subtree under each.
    pub(super) first: Vec<u32>,
}

impl Tree {
    /// `None` unless every subtree is one piece, which orders from elsewhere need
    /// not give.
    pub(super) fn of(symbolic: &SymbolicSupernodalCholesky<u32>) -> Option<Self> {
        let count = symbolic.n_supernodes();
        let mut panel_of = vec![0_u32; symbolic.nrows()];
        for panel in 0..count {
            let range = symbolic.supernode_begin()[panel]..symbolic.supernode_end()[panel];
            panel_of[range.start as usize..range.end as usize].fill(panel as u32);
        }
        let mut parent = vec![NONE; count];
        let mut first: Vec<u32> = (0..count as u32).collect();
        for panel in 0..count {
            if let Some(&row) = symbolic.supernode(panel).pattern().first() {
                let above = panel_of[row as usize];
                parent[panel] = above;
                first[above as usize] = first[above as usize].min(first[panel]);
            }
        }
        let tree = Self { parent, first };
        let whole = |panel| tree.children(panel).all(|c| tree.parent[c] == panel as u32);
        (0..count).all(whole).then_some(tree)
    }

    /// From the last one down: each ends where the next one's subtree begins.
    pub(super) fn children(&self, panel: usize) -> impl Iterator<Item = usize> {
        let first = self.first[panel] as usize;
        let mut end = panel;
        std::iter::from_fn(move || {
            let child = end.checked_sub(1).filter(|&child| child >= first)?;
            end = self.first[child] as usize;
            Some(child)
        })
    }

    /// The largest subtrees with at most this part of the work, ascending.
    pub(super) fn roots(&self, part: f64, work: impl Fn(usize) -> f64) -> Vec<usize> {
        let count = self.parent.len();
        let mut sum: Vec<f64> = (0..count).map(work).collect();
        let mut total = 0.0;
        for panel in 0..count {
            match self.parent[panel] {
                NONE => total += sum[panel],
                above => sum[above as usize] += sum[panel],
            }
        }
        let small = |panel: usize| sum[panel] <= part * total;
        let above_is_small =
            |panel: usize| self.parent[panel] != NONE && small(self.parent[panel] as usize);
        (0..count).filter(|&panel| small(panel) && !above_is_small(panel)).collect()
    }
}

/// Columns of a panel and rows below its diagonal block.
pub(super) fn shape(symbolic: &SymbolicSupernodalCholesky<u32>, panel: usize) -> (usize, usize) {
    let columns = symbolic.supernode_end()[panel] - symbolic.supernode_begin()[panel];
    (columns as usize, symbolic.supernode(panel).pattern().len())
}

/// A subtree as a system of its own: its own rows, then those of the rest that
/// it touches, which are the pattern of its root.
#[derive(Debug)]
pub(super) struct Part {
    /// Its panels.
    pub(super) panels: std::ops::Range<usize>,
    /// Its rows, as places in the order of elimination.
    pub(super) places: std::ops::Range<usize>,
}

/// Parts that can be solved side by side, the panels above them, and the rows of
/// every panel's pattern as counted within its part.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) parts: Vec<Part>,
    pub(super) above: Vec<usize>,
    pub(super) rows: Vec<u32>,
}

impl Parts {
    /// Parts of at most `part` of the entries.
    pub(super) fn of(tree: &Tree, symbolic: &SymbolicSupernodalCholesky<u32>, part: f64) -> Self {
        let entries = |panel| {
            let (columns, below) = shape(symbolic, panel);
            (columns * (columns + below)) as f64
        };
        let (begin, end) = (symbolic.supernode_begin(), symbolic.supernode_end());
        let parts: Vec<Part> = tree
            .roots(part, entries)
            .into_iter()
            .map(|root| {
                let first = tree.first[root] as usize;
                Part { panels: first..root + 1, places: begin[first] as usize..end[root] as usize }
            })
            .collect();
        let mut rows = symbolic.row_idx().to_vec();
        let mut place_within = vec![NONE; symbolic.nrows()];
        let starts = symbolic.col_ptr_for_row_idx();
        for part in &parts {
            let own = part.places.len();
            let outside = symbolic.supernode(part.panels.end - 1).pattern();
            for (k, &place) in outside.iter().enumerate() {
                place_within[place as usize] = (own + k) as u32;
            }
            for panel in part.panels.clone() {
                let length = symbolic.supernode(panel).pattern().len();
                let from = starts[panel] as usize;
                for row in &mut rows[from..from + length] {
                    let place = *row as usize;
                    *row = match place < part.places.end {
                        true => (place - part.places.start) as u32,
                        false => place_within[place],
                    };
                }
            }
        }
        let within = |panel: &usize| parts.iter().any(|part| part.panels.contains(panel));
        let above = (0..symbolic.n_supernodes()).filter(|panel| !within(panel)).collect();
        Self { parts, above, rows }
    }
}
