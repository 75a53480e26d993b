//! Matrix Market files: the text format finite-element programs write.
//!
//! Reference: Boisvert, Pozo & Remington 1996, NISTIR 5935.

use nalgebra::DMatrix;

use super::{InputError, MOST_DENSE_ENTRIES, excerpt, parse_number};

/// Most rows or columns of a file. Memory of a sparse matrix goes with them, too,
/// and a size line is quickly written.
const MOST_ROWS: usize = 10_000_000;

/// A matrix by its entries; memory grows with the entries, not the size.
#[derive(Debug, Clone, PartialEq)]
pub struct Triplets {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Row and column from 0 and value, both triangles, sorted by column and
    /// row, each place once.
    pub entries: Vec<(usize, usize, f64)>,
}

impl Triplets {
    /// The dense matrix, if it is not too large for one.
    pub fn to_dense(&self) -> Result<DMatrix<f64>, InputError> {
        let Self { rows, columns, .. } = *self;
        if rows.saturating_mul(columns) > MOST_DENSE_ENTRIES {
            return Err(InputError::TooLarge { rows, columns, most: MOST_DENSE_ENTRIES });
        }
        let mut dense = DMatrix::zeros(rows, columns);
        for &(row, column, value) in &self.entries {
            dense[(row, column)] = value;
        }
        Ok(dense)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Coordinate,
    Array,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

/// Reads a real or integer matrix, in coordinate or array layout, general,
/// symmetric or skew-symmetric.
///
/// Entries given twice are added, as finite-element programs mean them. A
/// symmetric file holds one triangle; the other one is filled in.
pub fn matrix_market(bytes: &[u8]) -> Result<Triplets, InputError> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = (1_u64..).zip(text.lines());
    let (layout, symmetry) = banner(lines.next().map_or("", |(_, line)| line))?;
    let mut lines = lines
        .map(|(number, line)| (number, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('%'));
    let (size_line, size) = lines.next().unwrap_or((2, ""));
    let mut builder = match layout {
        Layout::Coordinate => {
            let what = "three whole numbers: rows, columns, entries";
            let [rows, columns, expected] = whole_numbers(size_line, size, what)?;
            Builder::new(rows, columns, expected, symmetry)?
        }
        Layout::Array => {
            let what = "two whole numbers: rows, columns";
            let [rows, columns] = whole_numbers(size_line, size, what)?;
            let expected = array_length(rows, columns, symmetry);
            Builder::new(rows, columns, expected, symmetry)?
        }
    };
    match layout {
        Layout::Coordinate => {
            for (number, line) in lines {
                builder.coordinate_line(number, line)?;
            }
        }
        Layout::Array => {
            for (number, line) in lines {
                for word in line.split_whitespace() {
                    builder.array_entry(number, word)?;
                }
            }
        }
    }
    builder.finish()
}

fn banner(line: &str) -> Result<(Layout, Symmetry), InputError> {
    let lower = line.to_lowercase();
    let mut words = lower.split_whitespace();
    if words.next() != Some("%%matrixmarket") || words.next() != Some("matrix") {
        return Err(InputError::MatrixMarketBanner { text: excerpt(line) });
    }
    let unsupported = |word: Option<&str>, supported| InputError::MatrixMarketKind {
        word: excerpt(word.unwrap_or("")),
        supported,
    };
    let layout = match words.next() {
        Some("coordinate") => Layout::Coordinate,
        Some("array") => Layout::Array,
        word => return Err(unsupported(word, "coordinate or array")),
    };
    match words.next() {
        Some("real" | "integer" | "double") => {}
        word => return Err(unsupported(word, "real or integer")),
    }
    let symmetry = match words.next() {
        Some("general") => Symmetry::General,
        Some("symmetric") => Symmetry::Symmetric,
        Some("skew-symmetric") => Symmetry::Skew,
        word => return Err(unsupported(word, "general, symmetric or skew-symmetric")),
    };
    Ok((layout, symmetry))
}

fn whole_numbers<const N: usize>(
    line: u64,
    text: &str,
    what: &'static str,
) -> Result<[usize; N], InputError> {
    let error = || InputError::MatrixMarketSize { line, what, text: excerpt(text) };
    let words: Option<Vec<usize>> =
        text.split_whitespace().take(N + 1).map(|word| word.parse().ok()).collect();
    words.and_then(|words| words.try_into().ok()).ok_or_else(error)
}

/// Numbers an array file must hold: all, or one triangle by columns.
fn array_length(rows: usize, columns: usize, symmetry: Symmetry) -> usize {
    match symmetry {
        Symmetry::General => rows.saturating_mul(columns),
        Symmetry::Symmetric => rows.saturating_mul(rows.saturating_add(1)) / 2,
        Symmetry::Skew => rows.saturating_mul(rows.saturating_sub(1)) / 2,
    }
}

/// Which triangle a symmetric file has shown so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Triangle {
    Lower,
    Upper,
}

struct Builder {
    rows: usize,
    columns: usize,
    expected: usize,
    given: usize,
    symmetry: Symmetry,
    triangle: Option<Triangle>,
    /// Where the next number of an array file goes.
    next: (usize, usize),
    entries: Vec<(usize, usize, f64)>,
}

impl Builder {
    fn new(
        rows: usize,
        columns: usize,
        expected: usize,
        symmetry: Symmetry,
    ) -> Result<Self, InputError> {
        if symmetry != Symmetry::General && rows != columns {
            return Err(InputError::NotSquare { rows, columns });
        }
        if rows.max(columns) > MOST_ROWS {
            return Err(InputError::TooManyRows { rows: rows.max(columns), most: MOST_ROWS });
        }
        let next = if symmetry == Symmetry::Skew { (1, 0) } else { (0, 0) };
        // Nothing is reserved from the header's word alone.
        let entries = Vec::new();
        Ok(Self { rows, columns, expected, given: 0, symmetry, triangle: None, next, entries })
    }

    fn coordinate_line(&mut self, line: u64, text: &str) -> Result<(), InputError> {
        let error = || InputError::MatrixMarketEntry {
            line,
            what: "row, column and value",
            text: excerpt(text),
        };
        let mut words = text.split_whitespace();
        let (Some(row), Some(column), Some(value), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(error());
        };
        let (Ok(row), Ok(column), Some(value)) =
            (row.parse::<usize>(), column.parse::<usize>(), parse_number(value))
        else {
            return Err(error());
        };
        if !((1..=self.rows).contains(&row) && (1..=self.columns).contains(&column)) {
            let (rows, columns) = (self.rows, self.columns);
            return Err(InputError::OutOfRange { line, row, column, rows, columns });
        }
        self.add(line, row - 1, column - 1, value)
    }

    fn array_entry(&mut self, line: u64, word: &str) -> Result<(), InputError> {
        let value = parse_number(word).ok_or_else(|| InputError::MatrixMarketEntry {
            line,
            what: "a number",
            text: excerpt(word),
        })?;
        if self.given >= self.expected {
            self.given = self.given.saturating_add(1);
            return Ok(());
        }
        let (row, column) = self.next;
        self.next = if row + 1 < self.rows {
            (row + 1, column)
        } else {
            let first = match self.symmetry {
                Symmetry::General => 0,
                Symmetry::Symmetric => column + 1,
                Symmetry::Skew => column + 2,
            };
            (first, column + 1)
        };
        self.add(line, row, column, value)
    }

    fn add(&mut self, line: u64, row: usize, column: usize, value: f64) -> Result<(), InputError> {
        if !value.is_finite() {
            return Err(InputError::NotFinite { line, value });
        }
        self.given += 1;
        self.entries.push((row, column, value));
        if self.symmetry == Symmetry::General {
            return Ok(());
        }
        if row == column {
            if self.symmetry == Symmetry::Skew && value != 0.0 {
                return Err(InputError::SkewDiagonal { line, value });
            }
            return Ok(());
        }
        let side = if row > column { Triangle::Lower } else { Triangle::Upper };
        if *self.triangle.get_or_insert(side) != side {
            return Err(InputError::BothTriangles { line, row: row + 1, column: column + 1 });
        }
        let mirrored = if self.symmetry == Symmetry::Skew { -value } else { value };
        self.entries.push((column, row, mirrored));
        Ok(())
    }

    fn finish(mut self) -> Result<Triplets, InputError> {
        if self.given != self.expected {
            return Err(InputError::EntryCount { given: self.given, expected: self.expected });
        }
        // A stable sort adds entries of one place in the order of the file.
        self.entries.sort_by_key(|&(row, column, _)| (column, row));
        let mut entries: Vec<(usize, usize, f64)> = Vec::with_capacity(self.entries.len());
        for (row, column, value) in self.entries {
            match entries.last_mut() {
                Some(last) if (last.0, last.1) == (row, column) => last.2 += value,
                _ => entries.push((row, column, value)),
            }
        }
        Ok(Triplets { rows: self.rows, columns: self.columns, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dense(text: &str) -> Result<DMatrix<f64>, InputError> {
        matrix_market(text.as_bytes())?.to_dense()
    }

    #[test]
    fn symmetric_coordinates_are_mirrored_and_duplicates_added() {
        let text = "%%MatrixMarket matrix coordinate real symmetric\n\
                    % a comment\n\n  2 2 4\n1 1 2.0\n2 1 -1.0D0\n% another\n2 2 1.5\n\n2 2 0.5\n";
        let expected = DMatrix::from_row_slice(2, 2, &[2.0, -1.0, -1.0, 2.0]);
        assert_eq!(dense(text), Ok(expected.clone()));
        let upper = text.replace("2 1 -1", "1 2 -1").replace('\n', "\r\n");
        assert_eq!(dense(&upper), Ok(expected));
        let both = text.replace("2 2 0.5", "1 2 0.5");
        let error = InputError::BothTriangles { line: 10, row: 1, column: 2 };
        assert_eq!(dense(&both), Err(error));
    }

    #[test]
    fn arrays_go_down_the_columns() {
        let general = "%%MatrixMarket matrix array integer general\n2 3\n1 2\n3\n4\n5\n6\n";
        let expected = DMatrix::from_column_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(dense(general), Ok(expected));
        let lower = "%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n";
        let expected =
            DMatrix::from_row_slice(3, 3, &[1.0, 2.0, 3.0, 2.0, 4.0, 5.0, 3.0, 5.0, 6.0]);
        assert_eq!(dense(lower), Ok(expected));
        let skew = "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n";
        let expected =
            DMatrix::from_row_slice(3, 3, &[0.0, -1.0, -2.0, 1.0, 0.0, -3.0, 2.0, 3.0, 0.0]);
        assert_eq!(dense(skew), Ok(expected));
        let nothing = "%%MatrixMarket matrix array real general\n0 0\n";
        assert_eq!(dense(nothing), Ok(DMatrix::zeros(0, 0)));
    }

    #[test]
    fn a_hostile_size_reserves_nothing() {
        let head = "%%MatrixMarket matrix coordinate real general\n";
        let triplets = matrix_market(format!("{head}9999999 9999999 0\n").as_bytes()).unwrap();
        assert!(matches!(triplets.to_dense(), Err(InputError::TooLarge { .. })));
        let huge = usize::MAX;
        assert_eq!(
            dense(&format!("{head}9999999 9999999 {huge}\n1 1 1\n")),
            Err(InputError::EntryCount { given: 1, expected: huge })
        );
        let too_many = InputError::TooManyRows { rows: huge, most: MOST_ROWS };
        assert_eq!(dense(&format!("{head}{huge} {huge} 1\n1 1 1\n")), Err(too_many.clone()));
        for kind in ["general", "symmetric", "skew-symmetric"] {
            let array = format!("%%MatrixMarket matrix array real {kind}\n");
            assert_eq!(dense(&format!("{array}{huge} {huge}\n1\n")), Err(too_many.clone()));
            let text = format!("{array}9999999 9999999\n1\n");
            assert!(matches!(dense(&text), Err(InputError::EntryCount { given: 1, .. })));
        }
    }

    #[test]
    fn errors_name_the_line() {
        let check = |text: &str, part: &str| {
            let message = dense(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text:?} gave {message:?}");
        };
        let head = "%%MatrixMarket matrix coordinate real general\n";
        check("", "line 1 should begin");
        check("2 2 1\n", "line 1 should begin");
        check("%%MatrixMarket matrix coordinate pattern general\n", "\"pattern\" is not supp");
        check("%%MatrixMarket matrix coordinate complex general\n", "use real or integer");
        check("%%MatrixMarket matrix coordinate real hermitian\n", "\"hermitian\" is not");
        check("%%MatrixMarket matrix list real general\n", "\"list\" is not supported");
        check(&format!("{head}2 2\n"), "line 2 should hold three whole numbers");
        check(&format!("{head}% c\n2 -2 1\n"), "line 3 should hold three whole numbers");
        check(&format!("{head}2 2 1\n3 1 1.0\n"), "line 3: entry (3, 1) lies outside the 2 × 2");
        check(&format!("{head}2 2 1\n0 1 1.0\n"), "line 3: entry (0, 1) lies outside");
        check(&format!("{head}2 2 1\n1 1 x\n"), "line 3 should hold row, column and value");
        check(&format!("{head}2 2 1\n1 1\n"), "line 3 should hold row, column and value");
        check(&format!("{head}2 2 1\n1 1 nan\n"), "line 3: the value is NaN");
        check(&format!("{head}2 2 2\n1 1 1\n"), "promises 2 entries, the file holds 1");
        check(&format!("{head}2 2 1\n1 1 1\n2 2 1\n"), "promises 1 entries, the file holds 2");
        let skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n";
        check(skew, "line 3: the diagonal of a skew-symmetric matrix is zero, not 3");
        let oblong = "%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 3\n";
        check(oblong, "a symmetric matrix must be square");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(values in prop::collection::vec(-1e12..1e12_f64, 12)) {
            let matrix = DMatrix::from_column_slice(3, 4, &values);
            let mut text = "%%MatrixMarket matrix coordinate real general\n3 4 12\n".to_owned();
            for row in 0..3 {
                for column in 0..4 {
                    let value = matrix[(row, column)];
                    text.push_str(&format!("{} {} {value:e}\n", row + 1, column + 1));
                }
            }
            prop_assert_eq!(dense(&text), Ok(matrix));
        }
    }
}
