//! Rows of a load as they are read, line by line: a file need not fit the memory.

use experiment::units::{LetterG, Unit};
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
        "line {line}: a step of {step_s} s from row to row, and the test takes {rate_hz} samples per \
         second: resample the load"
    )]
    Rate {
        /// Which line, from 1.
        line: u64,
        /// Time from row to row: since the one before, or on average.
        step_s: f64,
        /// Declared.
        rate_hz: f64,
    },
    /// A heading says nothing of the unit, or something else than the signal has.
    #[error(
        "line {line}: the heading \"{heading}\" does not name a unit of {wanted}: write \"{example} \
         [{wanted}]\" over the column, or leave the headings out where all numbers are SI"
    )]
    Heading {
        /// Which line, from 1.
        line: u64,
        /// What stands there.
        heading: String,
        /// The signal's unit.
        wanted: String,
        /// The heading without a unit.
        example: String,
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
    /// SI unit of each signal.
    units: Vec<String>,
    /// What brings the time and each signal of the file to SI.
    time_factor: f64,
    factors: Vec<f64>,
    rate_hz: f64,
    line: u64,
    rows: u64,
    /// Whether a header was left out.
    headed: bool,
    /// Columns of the first row: a later one has as many, or was cut off.
    columns: usize,
    /// The first time and the last.
    first: Option<Time>,
    before: Option<Time>,
    digits: Digits,
}

/// The time of a row.
#[derive(Debug, Clone, Copy)]
struct Time {
    s: f64,
    /// Number of its row, from 0.
    row: u64,
}

/// How finely times are written: the most that any showed, as zeros at the end
/// are often left out.
#[derive(Debug, Clone, Copy, Default)]
struct Digits {
    /// Behind the point.
    decimals: i32,
    /// From the first that is not zero.
    significant: i32,
}

impl Digits {
    /// Takes in a number as it is written, `1.25` or `1.25e-3`.
    fn see(&mut self, text: &str) {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent = exponent.parse::<i32>().unwrap_or(0).clamp(-400, 400);
        let behind = mantissa.split_once('.').map_or(0, |(_, behind)| behind.len().min(400));
        let digits = mantissa.chars().filter(char::is_ascii_digit);
        let significant = digits.skip_while(|digit| *digit == '0').count().min(400);
        self.decimals = self.decimals.max(behind as i32 - exponent);
        self.significant = self.significant.max(significant as i32);
    }

    /// By how much a time may have been rounded: half a unit of its last digit.
    fn rounding_s(&self, time_s: f64) -> f64 {
        let finest = 10f64.powi(-self.decimals);
        let of_digits = if time_s == 0.0 {
            0.0
        } else {
            10f64.powi(time_s.abs().log10().floor() as i32 + 1 - self.significant)
        };
        0.5 * finest.max(of_digits)
    }
}

impl LoadRows {
    /// At the first line of signals with these SI units.
    pub fn new(units: impl IntoIterator<Item = impl Into<String>>, rate_hz: f64) -> Self {
        let units: Vec<String> = units.into_iter().map(Into::into).collect();
        Self {
            factors: vec![1.0; units.len()],
            time_factor: 1.0,
            units,
            rate_hz,
            line: 0,
            rows: 0,
            headed: false,
            columns: 0,
            first: None,
            before: None,
            digits: Digits::default(),
        }
    }

    /// Rows read so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends the values of a line in SI, times `scale`. Blank lines and comments (`#`, `%`) are
    /// left out; one line of headings before the first row names the unit of every column.
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
            // A unit belongs to the name before it.
            let text = text.replace(" [", "[").replace(" (", "(");
            let headings = text.split(separates).map(str::trim);
            return self
                .head(&headings.filter(|word| !blank || !word.is_empty()).collect::<Vec<_>>());
        }
        let (found, signals) = (fields().count(), self.units.len());
        let fits = if self.rows == 0 && self.columns == 0 {
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
            field.parse::<f64>().map_err(|_| RowError::NotANumber { line, text: text() })
        });
        if found > signals
            && let Some(time_s) = numbers.next()
        {
            self.digits.see(fields().next().unwrap_or_default());
            self.tick(Time { s: self.time_factor * time_s?, row: self.rows })?;
        }
        let start = out.len();
        for (number, factor) in numbers.zip(&self.factors) {
            match number {
                Ok(number) => out.push(scale * factor * number),
                Err(error) => {
                    out.truncate(start);
                    return Err(error);
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Takes the units of the columns from their headings.
    fn head(&mut self, headings: &[&str]) -> Result<(), RowError> {
        let (line, found, signals) = (self.line, headings.len(), self.units.len());
        if found != signals && found != signals + 1 {
            return Err(RowError::Columns { line, found, signals });
        }
        self.columns = found;
        let factor = |heading: &str, wanted: &str| {
            let (name, unit) = heading.split_once(['[', '(']).unwrap_or((heading, ""));
            let unit = unit.trim_end().trim_end_matches([']', ')']);
            let read =
                |text: &str| [LetterG::Gram, LetterG::Gravity].map(|g| Unit::parse(text, g).ok());
            let [si, _] = read(wanted);
            let of_signal = |unit: &Unit| si.is_some_and(|si| si.dimension == unit.dimension);
            let unit = read(unit).into_iter().flatten().find(of_signal);
            unit.zip(si).map(|(unit, si)| unit.factor / si.factor).ok_or_else(|| {
                RowError::Heading {
                    line,
                    heading: heading.replace('[', " [").chars().take(40).collect(),
                    wanted: wanted.to_owned(),
                    example: name.trim().chars().take(40).collect(),
                }
            })
        };
        let (time, rest) = headings.split_at(found - signals);
        if let [heading] = time {
            self.time_factor = factor(heading, "s")?;
        }
        let factors = rest.iter().zip(&self.units).map(|(heading, unit)| factor(heading, unit));
        self.factors = factors.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Judges the time of a row by the one before it and by the first. Each may
    /// be off by a share, and by what was lost when both were written down: with
    /// six digits that can be more than a step, but it does not add up.
    fn tick(&mut self, time: Time) -> Result<(), RowError> {
        let first = *self.first.get_or_insert(time);
        let Some(before) = self.before.replace(time) else { return Ok(()) };
        for since in [before, first] {
            let (steps, passed) = ((time.row - since.row) as f64, time.s - since.s);
            let rounded_s = self.digits.rounding_s(time.s / self.time_factor)
                + self.digits.rounding_s(since.s / self.time_factor);
            let rounded_s = self.time_factor * rounded_s;
            let off = OFF * steps + 1.001 * self.rate_hz * rounded_s;
            let within = (passed * self.rate_hz - steps).abs() <= off;
            if !within {
                let (line, rate_hz) = (self.line, self.rate_hz);
                return Err(RowError::Rate { line, step_s: passed / steps, rate_hz });
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
        let mut rows = LoadRows::new(vec!["m/s²"; signals], 100.0);
        let mut out = Vec::new();
        text.lines().try_for_each(|line| rows.read(line, 2.0, &mut out))?;
        Ok(out)
    }

    #[test]
    fn rows_are_read_with_and_without_times_and_headers() {
        assert_eq!(rows("# c\n1,2\n 3;4 \n\n", 2), Ok(vec![2.0, 4.0, 6.0, 8.0]));
        // A row that was cut off is no load, and nothing slips into its neighbour's column.
        let cut = RowError::Columns { line: 2, found: 1, signals: 1 };
        assert_eq!(rows("0.00,1\n0.01", 1), Err(cut));
        let missing = RowError::NotANumber { line: 1, text: String::new() };
        assert_eq!(rows("0.5,,7", 2), Err(missing));
        assert!(rows("one [g]\ntwo [g]\n1", 1).is_err(), "one line of headings, no more");
        let headed = "t [s],a [m/s^2]\n0.00,1\n0.01,-2e0\n0.02,3";
        assert_eq!(rows(headed, 1), Ok(vec![2.0, -4.0, 6.0]));
        let rate = RowError::Rate { line: 2, step_s: 0.02, rate_hz: 100.0 };
        assert_eq!(rows("0 1\n0.020 1", 1), Err(rate));
        let columns = RowError::Columns { line: 2, found: 3, signals: 1 };
        assert_eq!(rows("1\n1 2 3", 1), Err(columns));
        assert!(rows("1\nnan", 1).unwrap()[1].is_nan(), "the test itself refuses it");
        let text = "x".to_owned();
        assert_eq!(rows("1\nx", 1), Err(RowError::NotANumber { line: 2, text }));
        assert_eq!(rows(&"1".repeat(70_000), 1), Err(RowError::TooLong { line: 1 }));
    }

    #[test]
    fn headings_name_the_units_and_nothing_is_guessed() {
        assert_eq!(rows("a [g]\n1", 1), Ok(vec![2.0 * 9.806_65]));
        assert_eq!(rows("t [ms], a (cm/s^2)\n0, 100\n10, 300", 1), Ok(vec![2.0, 6.0]));
        for (text, heading, example) in [
            ("accel\n1", "accel", "accel"),
            ("accel [kN]\n1", "accel [kN]", "accel"),
            ("accel [gg]\n1", "accel [gg]", "accel"),
            ("time, accel [g]\n0, 1", "time", "time"),
        ] {
            let wanted = if heading == "time" { "s" } else { "m/s²" }.to_owned();
            let (heading, example) = (heading.to_owned(), example.to_owned());
            let refused = RowError::Heading { line: 1, heading, wanted, example };
            assert_eq!(rows(text, 1), Err(refused), "{text}");
        }
        let columns = RowError::Columns { line: 1, found: 3, signals: 1 };
        assert_eq!(rows("t [s], a [g], b [g]\n0, 1, 2", 1), Err(columns));
    }

    /// As `%g`, `%.6f` and spreadsheets write them, at a high rate, for long.
    #[test]
    fn times_may_be_rounded_as_they_were_written() {
        let six = |time_s: f64| {
            let digits = if time_s == 0.0 { 0 } else { time_s.log10().floor() as i32 };
            format!("{time_s:.*}", (5 - digits).max(0) as usize)
        };
        let fixed = |time_s: f64| format!("{time_s:.6}");
        let bare = |time_s: f64| six(time_s).trim_end_matches('0').to_owned();
        let science = |time_s: f64| format!("{time_s:.5e}");
        let read = |write: &dyn Fn(f64) -> String, rate_hz: f64, from: u64, count: u64| {
            let (mut rows, mut out) = (LoadRows::new(["N"], 4096.0), Vec::new());
            (from..from + count).try_for_each(|row| {
                rows.read(&format!("{},1", write(row as f64 / rate_hz)), 1.0, &mut out)
            })
        };
        let writers: [&dyn Fn(f64) -> String; 4] = [&six, &fixed, &bare, &science];
        for write in writers {
            // From the start, and around 1, 10 and 100 s, where a digit is lost.
            for from in [0, 4000, 40_900, 409_500] {
                assert_eq!(read(write, 4096.0, from, 3000), Ok(()), "from row {from}");
            }
            // Another rate is still found, soon where the digits show it.
            assert!(read(write, 4000.0, 0, 100).is_err());
            assert!(read(write, 8192.0, 8192, 1000).is_err());
            assert!(read(write, 4096.0 / 1.1, 409_500, 30_000).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*", signals in 0usize..4) {
            let _ = rows(&text, signals);
        }
    }
}
