//! Rows of a load as they are read, line by line: a file need not fit the memory.

use thiserror::Error;

/// Lines longer than this are no rows.
const LONGEST_LINE: usize = 1 << 16;
/// How far a step of time may be off, as a share.
const OFF: f64 = 1e-3;

/// Why a line is no row.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RowError {
    /// Not a number.
    #[error("line {line}: \"{text}\" is not a number")]
    NotANumber {
        /// Which line, from 1.
        line: u64,
        /// What stands there.
        text: String,
    },
    /// Too few or too many.
    #[error(
        "line {line} has {found} columns: the load has {signals} signals, a column of times may \
         stand before them, and all rows have as many"
    )]
    Columns {
        /// Which line, from 1.
        line: u64,
        /// Its columns.
        found: usize,
        /// Signals of the load.
        signals: usize,
    },
    /// Another rate than the one declared.
    #[error(
        "line {line}: {step_s} s after the row before it, and the test takes {rate_hz} samples per \
         second: resample the load"
    )]
    Rate {
        /// Which line, from 1.
        line: u64,
        /// Time since the row before.
        step_s: f64,
        /// Declared.
        rate_hz: f64,
    },
    /// Longer than any row.
    #[error("line {line} is longer than {LONGEST_LINE} bytes")]
    TooLong {
        /// Which line, from 1.
        line: u64,
    },
}

/// Reads rows for a load of some signals.
#[derive(Debug)]
pub struct LoadRows {
    signals: usize,
    rate_hz: f64,
    line: u64,
    rows: u64,
    /// Whether a header was left out.
    headed: bool,
    /// Columns of the first row: a later one has as many, or was cut off.
    columns: usize,
    time_s: Option<f64>,
}

impl LoadRows {
    /// At the first line.
    pub fn new(signals: usize, rate_hz: f64) -> Self {
        Self { signals, rate_hz, line: 0, rows: 0, headed: false, columns: 0, time_s: None }
    }

    /// Rows read so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends the values of a line, times `scale`. Blank lines, comments (`#`,
    /// `%`) and one line of headings before the first row are left out.
    pub fn read(&mut self, text: &str, scale: f64, out: &mut Vec<f64>) -> Result<(), RowError> {
        self.line += 1;
        let line = self.line;
        if text.len() > LONGEST_LINE {
            return Err(RowError::TooLong { line });
        }
        // A byte-order mark may stand at the start of a file.
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with(['#', '%']) {
            return Ok(());
        }
        // Blanks may be many between two columns; a comma or semicolon is one, and
        // what is missing between two of them is missing.
        let blank = !text.contains([',', ';']);
        let separates = |c: char| if blank { c.is_whitespace() } else { c == ',' || c == ';' };
        let fields =
            || text.split(separates).map(str::trim).filter(|field| !blank || !field.is_empty());
        let words = || fields().next().is_some_and(|field| field.parse::<f64>().is_err());
        if self.rows == 0 && !self.headed && words() {
            self.headed = true;
            return Ok(());
        }
        let (found, signals) = (fields().count(), self.signals);
        let fits = if self.rows == 0 {
            found == signals || found == signals + 1
        } else {
            found == self.columns
        };
        if !fits {
            return Err(RowError::Columns { line, found, signals });
        }
        self.columns = found;
        let mut numbers = fields().map(|field| {
            let text = || field.chars().take(40).collect();
            field.parse().map_err(|_| RowError::NotANumber { line, text: text() })
        });
        if found > signals
            && let Some(time_s) = numbers.next()
        {
            self.tick(time_s?)?;
        }
        let start = out.len();
        for number in numbers {
            match number {
                Ok(number) => out.push(scale * number),
                Err(error) => {
                    out.truncate(start);
                    return Err(error);
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    fn tick(&mut self, time_s: f64) -> Result<(), RowError> {
        if let Some(before_s) = self.time_s.replace(time_s) {
            let step_s = time_s - before_s;
            // Times are often rounded: a share of the step, or of the time itself.
            let off = OFF.max(1e-6 * (time_s * self.rate_hz).abs());
            if ((step_s * self.rate_hz) - 1.0).abs() > off || step_s.is_nan() {
                let (line, rate_hz) = (self.line, self.rate_hz);
                return Err(RowError::Rate { line, step_s, rate_hz });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(text: &str, signals: usize) -> Result<Vec<f64>, RowError> {
        let mut rows = LoadRows::new(signals, 100.0);
        let mut out = Vec::new();
        text.lines().try_for_each(|line| rows.read(line, 2.0, &mut out))?;
        Ok(out)
    }

    #[test]
    fn rows_are_read_with_and_without_times_and_headers() {
        assert_eq!(rows("# c\na b\n1,2\n 3;4 \n\n", 2), Ok(vec![2.0, 4.0, 6.0, 8.0]));
        // A row that was cut off is no load, and nothing slips into its neighbour's column.
        let cut = RowError::Columns { line: 2, found: 1, signals: 1 };
        assert_eq!(rows("0.00,1\n0.01", 1), Err(cut));
        let missing = RowError::NotANumber { line: 1, text: String::new() };
        assert_eq!(rows("0.5,,7", 2), Err(missing));
        assert!(rows("one\ntwo\n1", 1).is_err(), "one line of headings, no more");
        assert_eq!(rows("t,a\n0.00,1\n0.01,-2e0\n0.02,3", 1), Ok(vec![2.0, -4.0, 6.0]));
        let rate = RowError::Rate { line: 2, step_s: 0.02, rate_hz: 100.0 };
        assert_eq!(rows("0 1\n0.02 1", 1), Err(rate));
        let columns = RowError::Columns { line: 2, found: 3, signals: 1 };
        assert_eq!(rows("1\n1 2 3", 1), Err(columns));
        assert!(rows("1\nnan", 1).unwrap()[1].is_nan(), "the test itself refuses it");
        let text = "x".to_owned();
        assert_eq!(rows("1\nx", 1), Err(RowError::NotANumber { line: 2, text }));
        assert_eq!(rows(&"1".repeat(70_000), 1), Err(RowError::TooLong { line: 1 }));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*", signals in 0usize..4) {
            let _ = rows(&text, signals);
        }
    }
}
