//! Components joined into one structure.
//!
//! A rigid joint says Σ c q = 0 of the coordinates q of all components. Elimination leaves
//! coordinates y with q = T y. Forces in rigid joints do no work, so Tᵀ M T, Tᵀ C T and Tᵀ K T
//! are the matrices of the whole, symmetric or not: no component is stiffer or heavier for it.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector};
use numerics::second_order::SecondOrder;
use numerics::sparse::{SparseError, SparseMatrix};
use thiserror::Error;

use crate::equations::Descriptor;
use crate::structure::StateForm;

/// A factor below this part of those that it came from is rounding.
const ROUNDING: f64 = 1e-12;

/// A sum of coordinates with their factors.
pub type Terms = Vec<(usize, f64)>;

/// Why a rigid joint cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum JointError {
    /// It follows from the joints before it.
    #[error("joint {} follows from those before it", .0 + 1)]
    Redundant(usize),
    /// With those before it, it holds a coordinate where it is.
    #[error("joint {} lets coordinate {} move no more", joint + 1, coordinate + 1)]
    Locked {
        /// The joint.
        joint: usize,
        /// The coordinate.
        coordinate: usize,
    },
}

/// Which coordinates of the components are left, and what the others follow.
#[derive(Debug, Clone, PartialEq)]
pub struct Coordinates {
    /// Coordinates that follow others, with those and their factors.
    dependent: BTreeMap<usize, Terms>,
    /// All others in order.
    independent: Vec<usize>,
}

impl Coordinates {
    /// Eliminates one of `count` coordinates for each joint Σ c q = 0: the first that it names, as
    /// far as that does not follow another already and `stays` lets it go.
    pub fn new(
        count: usize,
        joints: &[Terms],
        stays: impl Fn(usize) -> bool,
    ) -> Result<Self, JointError> {
        let mut dependent: BTreeMap<usize, Terms> = BTreeMap::new();
        for (joint, terms) in joints.iter().enumerate() {
            let left = collected(terms, &dependent);
            let last = match left.as_slice() {
                [] => return Err(JointError::Redundant(joint)),
                [(coordinate, _)] => {
                    return Err(JointError::Locked { joint, coordinate: *coordinate });
                }
                [.., last] => *last,
            };
            let named = terms.iter().filter_map(|(q, _)| left.iter().find(|(p, _)| p == q));
            let (out, factor) =
                named.chain(&left).find(|(q, _)| !stays(*q)).copied().unwrap_or(last);
            let rest = left.iter().filter(|(q, _)| *q != out);
            let rest: Terms = rest.map(|&(q, c)| (q, -c / factor)).collect();
            let alone = BTreeMap::from([(out, rest)]);
            for follows in dependent.values_mut() {
                if follows.iter().any(|(q, _)| *q == out) {
                    *follows = collected(follows, &alone);
                }
            }
            dependent.extend(alone);
        }
        let independent = (0..count).filter(|q| !dependent.contains_key(q)).collect();
        Ok(Self { dependent, independent })
    }

    /// How many are left.
    pub fn count(&self) -> usize {
        self.independent.len()
    }

    /// The coordinates that are left.
    pub fn independent(&self) -> &[usize] {
        &self.independent
    }

    /// A row of T: coordinate q as a sum of those that are left, by their places.
    pub fn row(&self, q: usize) -> Terms {
        let place = |q: usize| self.independent.partition_point(|&other| other < q);
        match self.dependent.get(&q) {
            Some(terms) => terms.iter().map(|&(q, c)| (place(q), c)).collect(),
            None => vec![(place(q), 1.0)],
        }
    }
}

/// The terms with what follows others replaced by those, each coordinate once.
fn collected(terms: &Terms, dependent: &BTreeMap<usize, Terms>) -> Terms {
    let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    let mut add = |q: usize, c: f64| {
        let (sum, size) = sums.entry(q).or_default();
        *sum += c;
        *size = size.max(c.abs());
    };
    for &(q, c) in terms {
        match dependent.get(&q) {
            Some(follows) => follows.iter().for_each(|&(p, factor)| add(p, c * factor)),
            None => add(q, c),
        }
    }
    let kept = sums.into_iter().filter(|(_, (sum, size))| sum.abs() > ROUNDING * size);
    kept.map(|(q, (sum, _))| (q, sum)).collect()
}

/// A component to be joined, in its own coordinates.
#[derive(Debug, Clone, PartialEq)]
pub enum PartForm {
    /// M, C and K, and Mι: what an acceleration of the ground acts on.
    Matrices(SecondOrder<SparseMatrix>, DVector<f64>),
    /// First order: displacements, velocities, and the rest.
    States(StateForm, usize),
}

impl PartForm {
    /// Number of coordinates that are displacements.
    pub fn size(&self) -> usize {
        match self {
            Self::Matrices(matrices, _) => matrices.mass.rows(),
            Self::States(_, dofs) => *dofs,
        }
    }
}

/// A spring and a damper between two points of the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The deformation, in coordinates that are left.
    pub deformation: Terms,
    /// Stiffness, N/m.
    pub stiffness: f64,
    /// Damping, N·s/m.
    pub damping: f64,
}

/// One entry of a matrix.
type Entry = (usize, usize, f64);

/// Tᵀ A T of a component's matrix, entry by entry; its coordinates begin at `from`.
fn congruent(t: &Coordinates, from: usize, entries: impl Iterator<Item = Entry>) -> Vec<Entry> {
    let mut all = Vec::new();
    for (i, j, value) in entries {
        let columns = t.row(from + j);
        for (row, a) in t.row(from + i) {
            all.extend(columns.iter().map(|&(column, b)| (row, column, a * b * value)));
        }
    }
    all
}

/// b k bᵀ of the links.
fn linked(links: &[Link], value: impl Fn(&Link) -> f64) -> Vec<Entry> {
    let mut all = Vec::new();
    for link in links {
        let value = value(link);
        for &(i, a) in link.deformation.iter().filter(|_| value != 0.0) {
            all.extend(link.deformation.iter().map(|&(j, b)| (i, j, a * b * value)));
        }
    }
    all
}

/// M, C and K of the components `of` with their links, and Mι.
pub fn second_order(
    t: &Coordinates,
    parts: &[PartForm],
    of: impl Fn(usize) -> bool,
    links: &[Link],
) -> Result<(SecondOrder<SparseMatrix>, DVector<f64>), SparseError> {
    let n = t.count();
    let mut entries = [Vec::new(), linked(links, |l| l.damping), linked(links, |l| l.stiffness)];
    let mut excited = DVector::zeros(n);
    let mut from = 0;
    for (index, part) in parts.iter().enumerate() {
        if let (PartForm::Matrices(matrices, own), true) = (part, of(index)) {
            for (all, matrix) in entries.iter_mut().zip(matrices.each()) {
                all.extend(congruent(t, from, matrix.triplets()));
            }
            for (q, value) in own.iter().enumerate() {
                t.row(from + q).into_iter().for_each(|(row, c)| excited[row] += c * value);
            }
        }
        from += part.size();
    }
    let [mass, damping, stiffness] =
        entries.map(|entries| SparseMatrix::from_triplets(n, n, entries));
    Ok((SecondOrder { mass: mass?, damping: damping?, stiffness: stiffness? }, excited))
}

/// E ẏ = A y of all components: C = [B M; M 0] and D = [K 0; 0 −M] of those of second order
/// beside E and −A of the others, displacements of all first, then their velocities.
pub fn first_order(t: &Coordinates, parts: &[PartForm], links: &[Link]) -> StateForm {
    let n = t.count();
    let beside = |part: &PartForm| match part {
        PartForm::Matrices(..) => 0,
        PartForm::States(form, dofs) => form.descriptor.a.nrows() - 2 * dofs,
    };
    let states = 2 * n + parts.iter().map(beside).sum::<usize>();
    let mut form = StateForm {
        descriptor: Descriptor {
            e: DMatrix::zeros(states, states),
            a: DMatrix::zeros(states, states),
        },
        ground: DVector::zeros(states),
    };
    let Descriptor { e, a } = &mut form.descriptor;
    let add = |to: &mut DMatrix<f64>, row: usize, column: usize, entries: Vec<Entry>| {
        entries.into_iter().for_each(|(i, j, value)| to[(row + i, column + j)] += value);
    };
    add(e, 0, 0, linked(links, |link| link.damping));
    add(a, 0, 0, linked(links, |link| -link.stiffness));
    let (mut from, mut next) = (0, 2 * n);
    for part in parts {
        match part {
            PartForm::Matrices(matrices, excited) => {
                let mass = || congruent(t, from, matrices.mass.triplets());
                add(e, 0, 0, congruent(t, from, matrices.damping.triplets()));
                add(e, 0, n, mass());
                add(e, n, 0, mass());
                let stiffness = matrices.stiffness.triplets().map(|(i, j, k)| (i, j, -k));
                add(a, 0, 0, congruent(t, from, stiffness));
                add(a, n, n, mass());
                for (q, value) in excited.iter().enumerate() {
                    t.row(from + q).into_iter().for_each(|(row, c)| form.ground[row] -= c * value);
                }
            }
            PartForm::States(own, dofs) => {
                let row = |state: usize| -> Terms {
                    match state {
                        s if s < *dofs => t.row(from + s),
                        s if s < 2 * dofs => {
                            t.row(from + s - dofs).into_iter().map(|(q, c)| (n + q, c)).collect()
                        }
                        s => vec![(next + s - 2 * dofs, 1.0)],
                    }
                };
                let rows: Vec<Terms> = (0..own.ground.len()).map(row).collect();
                for (i, left) in rows.iter().enumerate() {
                    for &(row, c) in left {
                        form.ground[row] += c * own.ground[i];
                        for (j, right) in rows.iter().enumerate() {
                            for &(column, b) in right {
                                e[(row, column)] += c * b * own.descriptor.e[(i, j)];
                                a[(row, column)] += c * b * own.descriptor.a[(i, j)];
                            }
                        }
                    }
                }
                next += own.ground.len() - 2 * dofs;
            }
        }
        from += part.size();
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coordinates(count: usize, joints: &[Terms]) -> Result<Coordinates, JointError> {
        Coordinates::new(count, joints, |_| false)
    }

    #[test]
    fn what_is_joined_follows_through_any_chain_of_joints() {
        // 0 = 1, 1 = −2, 3 = 2 + 0.5·4.
        let joints = [
            vec![(0, 1.0), (1, -1.0)],
            vec![(1, 1.0), (2, 1.0)],
            vec![(3, 1.0), (2, -1.0), (4, -0.5)],
        ];
        let t = coordinates(5, &joints).unwrap();
        assert_eq!(t.independent(), [2, 4]);
        assert_eq!(t.row(0), [(0, -1.0)]);
        assert_eq!(t.row(1), [(0, -1.0)]);
        assert_eq!(t.row(3), [(0, 1.0), (1, 0.5)]);
        // What is to stay stays, where there is a choice.
        let t = Coordinates::new(3, &joints[..2], |q| q == 0).unwrap();
        assert_eq!(t.independent(), [0]);
    }

    #[test]
    fn a_loop_of_joints_is_refused_where_it_closes() {
        let same = |a, b| vec![(a, 1.0), (b, -1.0)];
        let closed = [same(0, 1), same(1, 2), same(2, 0)];
        assert_eq!(coordinates(3, &closed), Err(JointError::Redundant(2)));
        let twisted = [same(0, 1), vec![(0, 1.0), (1, 1.0)]];
        assert_eq!(coordinates(3, &twisted), Err(JointError::Locked { joint: 1, coordinate: 1 }));
    }

    #[test]
    fn the_joined_matrices_do_the_work_of_the_components() {
        let matrix = |shift: f64| {
            DMatrix::from_fn(3, 3, |i, j| (1.0 + i as f64 * 0.7 + j as f64 * 1.3 + shift).sin())
        };
        let part = |shift: f64| {
            let of = |k: f64| SparseMatrix::from_dense(&matrix(shift + k)).unwrap();
            let matrices = SecondOrder { mass: of(0.1), damping: of(0.2), stiffness: of(0.3) };
            PartForm::Matrices(matrices, DVector::from_vec(vec![1.0, 2.0, 3.0]))
        };
        let parts = [part(0.0), part(5.0)];
        let t = coordinates(6, &[vec![(3, 1.0), (2, -1.0), (1, -0.25)]]).unwrap();
        let (joined, excited) = second_order(&t, &parts, |_| true, &[]).unwrap();
        let dense = DMatrix::<f64>::from_fn(6, t.count(), |q, y| {
            t.row(q).iter().filter(|(row, _)| *row == y).map(|(_, c)| c).sum::<f64>()
        });
        let mut both = DMatrix::<f64>::zeros(6, 6);
        both.view_mut((0, 0), (3, 3)).copy_from(&matrix(0.2));
        both.view_mut((3, 3), (3, 3)).copy_from(&matrix(5.2));
        let wanted = dense.transpose() * both * &dense;
        assert!((joined.damping.to_dense() - wanted).amax() < 1e-14);
        let own = DVector::from_vec(vec![1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
        assert!((excited - dense.transpose() * own).amax() < 1e-14);
    }
}
