//! What can be wrong with a reduction, in words that tell the engineer what to change.

use numerics::eigen::{Asymmetry, EigenError};
use numerics::sparse::SparseError;
use thiserror::Error;

use crate::error::{BadNumber, MatrixName, ModelError};

/// What a reduction gives, or why it does not.
pub type Result<T, E = ReductionError> = std::result::Result<T, E>;

/// Why a component cannot be reduced as asked. DOFs are kept counted from 0 and
/// shown counted from 1.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ReductionError {
    /// A matrix does not fit the mass.
    #[error("the {matrix} matrix is {rows} × {columns} but the mass has {expected} DOFs")]
    SizeMismatch {
        /// Which matrix.
        matrix: MatrixName,
        /// Rows it has.
        rows: usize,
        /// Columns it has.
        columns: usize,
        /// Size of the mass.
        expected: usize,
    },
    /// A matrix that must be symmetric is not.
    #[error(
        "the {matrix} matrix is not symmetric: row {r}, column {c} differs from its mirror by \
         {percent:.3} %; this method needs it symmetric, or take a state-space method with left \
         and right modes",
        r = pair.row + 1, c = pair.column + 1, percent = 100.0 * pair.relative
    )]
    NotSymmetric {
        /// Which matrix.
        matrix: MatrixName,
        /// The worst pair of entries.
        pair: Asymmetry,
    },
    /// A DOF beyond the component.
    #[error("DOF {d} does not exist: the component has {size}", d = dof + 1)]
    NoSuchDof {
        /// The DOF.
        dof: usize,
        /// DOFs of the component.
        size: usize,
    },
    /// No boundary DOF at all.
    #[error("no DOF stays in the reduced model: name at least one interface DOF")]
    NoBoundary,
    /// The mass has a direction without inertia, found at this DOF.
    #[error(
        "the mass matrix is not positive definite (found at DOF {d}): give DOF {d} a mass, or take \
         rubin or craig_bampton, which condense it", d = .0 + 1
    )]
    MassNotPositiveDefinite(usize),
    /// The stiffness pushes away from rest, found at this DOF.
    #[error(
        "the stiffness matrix is not positive semidefinite (found at DOF {d}): check the signs of \
         its entries and the units", d = .0 + 1
    )]
    NegativeStiffness(usize),
    /// With the boundary held the component still floats.
    #[error(
        "with its {boundary} boundary DOFs held the component can still move (found at DOF {d}): \
         Craig–Bampton needs a boundary that holds it; take rubin, or keep more DOFs", d = dof + 1
    )]
    BoundaryDoesNotHold {
        /// Boundary DOFs.
        boundary: usize,
        /// The DOF.
        dof: usize,
    },
    /// The flexibility at the boundary is singular.
    #[error(
        "{boundary} boundary DOFs of {size} do not deform independently (found at DOF {d}): \
         keep fewer DOFs, or take craig_bampton", d = dof + 1
    )]
    DependentBoundary {
        /// Boundary DOFs.
        boundary: usize,
        /// DOFs of the component.
        size: usize,
        /// The DOF.
        dof: usize,
    },
    /// More rigid-body modes and forces than motions.
    #[error(
        "{forces} forces at the boundary and {rigid} rigid-body modes are more than the {size} \
         DOFs of the component: keep fewer DOFs, or take craig_bampton"
    )]
    TooManyForces {
        /// Rigid-body modes.
        rigid: usize,
        /// Forces at the boundary.
        forces: usize,
        /// DOFs of the component.
        size: usize,
    },
    /// So many modes that nothing is left for the flexibility beside them.
    #[error(
        "{0} modes leave the DOFs that stay no motion of their own beyond rounding: keep fewer modes"
    )]
    TooManyModes(usize),
    /// Modes only, and too few of them.
    #[error(
        "{modes} modes cannot carry {boundary} boundary DOFs: keep more modes, or take a method \
         with flexibility modes"
    )]
    TooFewModes {
        /// Modes kept.
        modes: usize,
        /// Boundary DOFs.
        boundary: usize,
    },
    /// The required error cannot be met.
    #[error(
        "with {modes} modes the interface response is still off by {reached:.2e}; {required:.2e} \
         was asked for: allow a larger error, or narrow the band"
    )]
    ErrorNotReached {
        /// Most modes tried.
        modes: usize,
        /// Error then.
        reached: f64,
        /// Error asked for.
        required: f64,
    },
    /// This DOF, on which something acts, is not in the reduced model.
    #[error(
        "DOF {d} was not kept in the reduced model: list it under the interface or the retained \
         DOFs", d = .0 + 1
    )]
    NotRetained(usize),
    /// The reduced model is unstable and nobody said that it may be: the offending
    /// modes, in words.
    #[error("the reduced model is unstable: {0}. It will not be run unless you accept it")]
    Unstable(String),
    /// A number out of its range.
    #[error(transparent)]
    BadNumber(#[from] BadNumber),
    /// Sparse numerics.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// Dense numerics.
    #[error(transparent)]
    Eigen(#[from] EigenError),
    /// The reduced matrices are no structure.
    #[error(transparent)]
    Model(#[from] ModelError),
}
