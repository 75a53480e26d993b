//! What can be wrong with a file, with its line.

use numerics::interpolate::InterpolateError;
use thiserror::Error;

use super::AccelerationUnit;

/// Why a file cannot be used. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum InputError {
    /// A text that should be a number.
    #[error(
        "line {line}, column {column}: \"{text}\" is not a number; write numbers like -1.5e-3, with \
         a decimal point"
    )]
    BadNumber {
        /// Line of the file.
        line: u64,
        /// Column of the table.
        column: usize,
        /// What stands there.
        text: String,
    },
    /// NaN or infinity.
    #[error("line {line}: the value is {value}; remove or repair the sample")]
    NotFinite {
        /// Line of the file.
        line: u64,
        /// The value.
        value: f64,
    },
    /// A row that ends too early.
    #[error("line {line} has {columns} columns; column {needed} is needed")]
    MissingColumn {
        /// Line of the file.
        line: u64,
        /// Columns it has.
        columns: usize,
        /// Column wanted.
        needed: usize,
    },
    /// A column name the header does not have.
    #[error("no column is called \"{name}\"; the header has: {header}")]
    NoSuchColumn {
        /// Name wanted.
        name: String,
        /// Names there are.
        header: String,
    },
    /// A column chosen by a number below 1.
    #[error("columns count from 1; column 0 was asked for")]
    ColumnZero,
    /// A column chosen by name in a file without a header.
    #[error("column \"{name}\" is asked for by name but the file has no header; use its number")]
    NoHeader {
        /// Name wanted.
        name: String,
    },
    /// Times that stand still or run back.
    #[error("line {line}: time {time_s} s follows {before_s} s; times must increase")]
    NotIncreasing {
        /// Line of the file.
        line: u64,
        /// Time before.
        before_s: f64,
        /// Time on this line.
        time_s: f64,
    },
    /// Fewer than two samples.
    #[error("the file has {samples} samples; at least two are needed")]
    TooShort {
        /// Samples there are.
        samples: usize,
    },
    /// Samples that are fine one by one but make no series.
    #[error(transparent)]
    Series(#[from] InterpolateError),
    /// A step that is not a positive number.
    #[error("the time step is {step_s} s; it must be greater than zero")]
    BadStep {
        /// The step.
        step_s: f64,
    },
    /// Quotes or bytes that no table has.
    #[error("line {line} is not a row of a table")]
    NotATable {
        /// Line of the file.
        line: u64,
    },
    /// Neither the file nor the caller tells the unit.
    #[error(
        "the file does not say in which unit its accelerations are; add unit = \"m/s^2\" \
         (or \"g\", \"cm/s^2\")"
    )]
    NoUnit,
    /// The file names a unit of something else.
    #[error("\"{unit}\" is not a unit of acceleration")]
    NotAnAcceleration {
        /// The unit as the header has it.
        unit: String,
    },
    /// File and caller contradict each other.
    #[error("the header says {header}, the experiment says {given}; remove or correct one")]
    UnitConflict {
        /// Unit of the header.
        header: AccelerationUnit,
        /// Unit of the experiment.
        given: AccelerationUnit,
    },
    /// An AT2 file whose header lacks its numbers.
    #[error("line {line} should hold {what}, but reads \"{text}\"")]
    At2Header {
        /// Line of the file.
        line: u64,
        /// What was looked for.
        what: &'static str,
        /// What stands there.
        text: String,
    },
    /// Fewer or more samples than the AT2 header promises.
    #[error("the header promises NPTS = {expected} samples, the file holds {given}")]
    At2Count {
        /// Samples there are.
        given: usize,
        /// Samples promised.
        expected: usize,
    },
    /// The first line of a Matrix Market file.
    #[error("line 1 should begin with \"%%MatrixMarket matrix\", but reads \"{text}\"")]
    MatrixMarketBanner {
        /// What stands there.
        text: String,
    },
    /// A kind of Matrix Market file that is no real matrix.
    #[error("line 1: \"{word}\" is not supported; use {supported}")]
    MatrixMarketKind {
        /// The word of the banner.
        word: String,
        /// What is read.
        supported: &'static str,
    },
    /// The size line.
    #[error("line {line} should hold {what}, but reads \"{text}\"")]
    MatrixMarketSize {
        /// Line of the file.
        line: u64,
        /// What was looked for.
        what: &'static str,
        /// What stands there.
        text: String,
    },
    /// An entry line of the wrong form.
    #[error("line {line} should hold {what}, but reads \"{text}\"")]
    MatrixMarketEntry {
        /// Line of the file.
        line: u64,
        /// What was looked for.
        what: &'static str,
        /// What stands there.
        text: String,
    },
    /// An index outside the matrix.
    #[error("line {line}: entry ({row}, {column}) lies outside the {rows} × {columns} matrix")]
    OutOfRange {
        /// Line of the file.
        line: u64,
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        columns: usize,
    },
    /// A symmetric file with entries on both sides of the diagonal.
    #[error(
        "line {line}: entry ({row}, {column}) lies on the other side of the diagonal than the \
         entries before; a symmetric file holds one triangle"
    )]
    BothTriangles {
        /// Line of the file.
        line: u64,
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
    },
    /// A skew-symmetric file with a diagonal.
    #[error("line {line}: the diagonal of a skew-symmetric matrix is zero, not {value}")]
    SkewDiagonal {
        /// Line of the file.
        line: u64,
        /// The entry.
        value: f64,
    },
    /// Fewer or more entries than promised.
    #[error("the size line promises {expected} entries, the file holds {given}")]
    EntryCount {
        /// Entries there are.
        given: usize,
        /// Entries promised.
        expected: usize,
    },
    /// A symmetric matrix that is not square.
    #[error("a symmetric matrix must be square; this one has {rows} rows, {columns} columns")]
    NotSquare {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
    },
    /// A matrix too large for a dense one.
    #[error("{rows} × {columns} is too large for a dense matrix (at most {most} entries)")]
    TooLarge {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
        /// Limit.
        most: usize,
    },
    /// More rows than any model here has.
    #[error("the size line says {rows} rows, and at most {most} are read: check it")]
    TooManyRows {
        /// Rows.
        rows: usize,
        /// Limit.
        most: usize,
    },
    /// No NPY file, or one whose header is out of the ordinary.
    #[error("this is not an NPY file with a plain numeric array: {reason}")]
    NpyHeader {
        /// What was found.
        reason: String,
    },
    /// Elements of another type.
    #[error("the array holds {dtype}; save it as float64, float32, int64 or int32")]
    NpyType {
        /// NumPy's name of the type.
        dtype: String,
    },
    /// Neither a vector nor a matrix.
    #[error("the array has {dimensions} dimensions; a matrix has two, a diagonal one")]
    NpyShape {
        /// Number of dimensions.
        dimensions: usize,
    },
    /// Less data than the shape needs.
    #[error("the shape needs {expected} numbers, the file holds {given}")]
    NpyTruncated {
        /// Whole numbers there are.
        given: usize,
        /// Numbers needed.
        expected: usize,
    },
    /// NaN or infinity in an array.
    #[error("row {row}, column {column} of the array is {value}")]
    NpyNotFinite {
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// The value.
        value: f64,
    },
    /// Text of two bytes a character, as spreadsheets save "Unicode text".
    #[error("the file is UTF-16 text; save it as CSV in UTF-8")]
    Utf16,
    /// A row longer or shorter than the first.
    #[error("line {line} has {columns} columns, the first row {first}; give each the same")]
    UnevenRow {
        /// Line of the file.
        line: u64,
        /// Columns it has.
        columns: usize,
        /// Columns of the first row.
        first: usize,
    },
    /// A file without a number.
    #[error("the file holds no number; give one row of the matrix per line")]
    EmptyMatrix,
    /// A matrix file whose name ends in something else.
    #[error(
        "a matrix file ends in .mtx (Matrix Market), .npy (NumPy) or .csv, not in .{extension}"
    )]
    UnknownMatrixFormat {
        /// How the name ends.
        extension: String,
    },
    /// Header and experiment name different units.
    #[error(
        "the file's header says one unit is {header} m/s², the experiment says {given} m/s²; \
         remove the one that is wrong"
    )]
    FactorConflict {
        /// By the header.
        header: f64,
        /// By the experiment.
        given: f64,
    },
}
