//! What can be wrong with a model, in words that tell the engineer what to change.

use std::fmt;

use numerics::eigen::{Asymmetry, EigenError};
use thiserror::Error;

/// Which matrix of a structure is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixName {
    /// M.
    Mass,
    /// C.
    Damping,
    /// K.
    Stiffness,
}

impl MatrixName {
    /// In the order of the derivatives they stand before.
    pub const ALL: [Self; 3] = [Self::Mass, Self::Damping, Self::Stiffness];
}

impl fmt::Display for MatrixName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Mass => "mass",
            Self::Damping => "damping",
            Self::Stiffness => "stiffness",
        })
    }
}

/// A number out of its range.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("{name} is {value}; it must be {requirement}")]
pub struct BadNumber {
    /// Name as in the experiment file.
    pub name: &'static str,
    /// The value given.
    pub value: f64,
    /// What is allowed.
    pub requirement: &'static str,
}

/// Why a structure or an excitation cannot be built.
///
/// Rows and columns are kept counted from 0 and shown counted from 1, as DOFs
/// are in the experiment file.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ModelError {
    /// A structure without a DOF.
    #[error("the structure has no DOF; give at least one mass")]
    NoDofs,
    /// A matrix is not square.
    #[error("the {matrix} matrix has {rows} rows and {columns} columns; it must be square")]
    NotSquare {
        /// Which matrix.
        matrix: MatrixName,
        /// Rows it has.
        rows: usize,
        /// Columns it has.
        columns: usize,
    },
    /// A matrix does not fit the mass matrix.
    #[error(
        "the {matrix} matrix is {size} × {size} but the mass has {expected} DOFs; \
         give one row and column per DOF"
    )]
    SizeMismatch {
        /// Which matrix.
        matrix: MatrixName,
        /// Size it has.
        size: usize,
        /// Size of the mass.
        expected: usize,
    },
    /// An entry is NaN or infinite.
    #[error("the {matrix} at row {r}, column {c} is {value}; it must be a finite number",
        r = row + 1, c = column + 1)]
    NotFinite {
        /// Which matrix.
        matrix: MatrixName,
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// A matrix differs from its transpose.
    #[error(
        "the {matrix} matrix is not symmetric: row {r}, column {c} is {} but row {c}, \
         column {r} is {}; make them equal",
        pair.upper, pair.lower, r = pair.row + 1, c = pair.column + 1
    )]
    NotSymmetric {
        /// Which matrix.
        matrix: MatrixName,
        /// The worst pair of entries.
        pair: Asymmetry,
    },
    /// Some motion has no inertia.
    #[error(
        "the mass matrix is not positive definite (found at row {r}, whose diagonal is \
         {diagonal}); give DOF {r} a mass, or condense it",
        r = row + 1
    )]
    MassNotPositiveDefinite {
        /// Row at which its Cholesky factor ends.
        row: usize,
        /// Diagonal entry of that row.
        diagonal: f64,
    },
    /// Some motion is pushed away from rest: this is the smallest eigenvalue.
    #[error(
        "the stiffness matrix has the negative eigenvalue {0:.6e}; check the signs \
         of its off-diagonal entries and that it was not printed with too few digits"
    )]
    StiffnessNotPositiveSemidefinite(f64),
    /// A list has the wrong length.
    #[error("{what}: {given} given, {expected} needed")]
    WrongCount {
        /// What the list holds.
        what: &'static str,
        /// Entries given.
        given: usize,
        /// Entries needed.
        expected: usize,
    },
    /// Two DOFs of one name, or a DOF without one.
    #[error("DOF {d} cannot be called \"{name}\"; every DOF needs a name of its own",
        d = index + 1)]
    BadName {
        /// DOF, counted from 0.
        index: usize,
        /// The name given.
        name: String,
    },
    /// A mode number outside the structure.
    #[error("mode {mode} does not exist; modes count from 1 to {modes}")]
    NoSuchMode {
        /// Mode asked for, counted from 1.
        mode: usize,
        /// Modes there are.
        modes: usize,
    },
    /// Rayleigh damping through two modes that do not fix it.
    #[error(
        "modes {first} and {second} do not determine Rayleigh damping; \
         name two modes of different, non-zero frequency"
    )]
    SameFrequency {
        /// First mode, counted from 1.
        first: usize,
        /// Second mode, counted from 1.
        second: usize,
    },
    /// Rayleigh damping that feeds a mode.
    #[error(
        "Rayleigh damping through these ratios gives mode {mode} the damping ratio {ratio:.4}; \
         bring the two ratios closer together, or use modal damping"
    )]
    NegativeDamping {
        /// Worst mode, counted from 1.
        mode: usize,
        /// Its damping ratio.
        ratio: f64,
    },
    /// A number out of its range.
    #[error(transparent)]
    BadParameter(#[from] BadNumber),
    /// A frequency the loop's rate cannot carry.
    #[error(
        "{name} of {frequency_hz} Hz reaches half the loop's rate of {rate_hz} Hz; \
         lower it, or raise the rate above {needed} Hz", needed = 2.0 * frequency_hz
    )]
    Aliasing {
        /// Name as in the experiment file.
        name: &'static str,
        /// The frequency.
        frequency_hz: f64,
        /// Samples per second.
        rate_hz: f64,
    },
    /// No line of the period grid lies in the band.
    #[error(
        "no multiple of 1/period = {spacing_hz} Hz lies between {from_hz} and {to_hz} Hz; \
         lengthen the period or widen the band"
    )]
    EmptyBand {
        /// Distance of the lines.
        spacing_hz: f64,
        /// Lower end of the band.
        from_hz: f64,
        /// Upper end of the band.
        to_hz: f64,
    },
    /// A recorded series that is no time series.
    #[error(transparent)]
    Series(#[from] numerics::interpolate::InterpolateError),
    /// The eigenvalue problem failed.
    #[error(transparent)]
    Eigen(#[from] EigenError),
}
