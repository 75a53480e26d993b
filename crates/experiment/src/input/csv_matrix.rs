//! A matrix as a table of numbers, as MATLAB's `writematrix` leaves it.

use nalgebra::DMatrix;

use super::series::{Separator, table_text};
use super::{InputError, MOST_DENSE_ENTRIES, excerpt};

/// Reads a matrix, one row per line: comma, semicolon, tab or blanks between the
/// numbers, `#` or `%` before comments, no header.
pub fn csv_matrix(bytes: &[u8]) -> Result<DMatrix<f64>, InputError> {
    let text = table_text(bytes)?;
    let separator = Separator::detect(&text);
    let mut entries = Vec::new();
    let (mut rows, mut first) = (0, 0);
    for (line, row) in (1_u64..).zip(text.lines()) {
        let row = row.trim();
        if row.is_empty() || row.starts_with(['#', '%']) {
            continue;
        }
        let before = entries.len();
        for (place, field) in separator.split(row).enumerate() {
            let value = separator.number(field).ok_or_else(|| InputError::BadNumber {
                line,
                column: place + 1,
                text: excerpt(field),
            })?;
            if !value.is_finite() {
                return Err(InputError::NotFinite { line, value });
            }
            entries.push(value);
        }
        let columns = entries.len() - before;
        if rows == 0 {
            first = columns;
        }
        if columns != first {
            return Err(InputError::UnevenRow { line, columns, first });
        }
        rows += 1;
        if entries.len() > MOST_DENSE_ENTRIES {
            return Err(InputError::TooLarge { rows, columns, most: MOST_DENSE_ENTRIES });
        }
    }
    if entries.is_empty() {
        return Err(InputError::EmptyMatrix);
    }
    Ok(DMatrix::from_row_slice(rows, first, &entries))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_separator_gives_the_same_matrix() {
        let wanted = DMatrix::from_row_slice(2, 2, &[2.5, -1.0, -1.0, 1e6]);
        for text in [
            "2.5,-1\n-1,1e6\n",
            "2,5;-1\n-1;1e6",
            "% K\n2.5\t-1\r\n\r\n-1\t1E6\r\n",
            "  2.5   -1\n -1 1000000",
            "\u{feff}2.5, -1\n-1, 1e6",
        ] {
            assert_eq!(csv_matrix(text.as_bytes()).as_ref(), Ok(&wanted), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let error = |text: &str| csv_matrix(text.as_bytes()).unwrap_err().to_string();
        assert!(error("1,2\n3\n").starts_with("line 2 has 1 columns, the first row 2"));
        assert!(error("1,2\n3,x\n").contains("line 2, column 2: \"x\" is not a number"));
        assert!(error("1,2\n3,nan\n").contains("line 2: the value is NaN"));
        assert!(error("\n# nothing\n").contains("holds no number"));
        assert_eq!(csv_matrix(&[0xff, 0xfe, b'1', 0]), Err(InputError::Utf16));
    }
}
