//! Time series from tables of text.

use keys::Keys;
use std::borrow::Cow;

use numerics::interpolate::{InterpolateError, Series};

use super::unit::{AccelerationUnit, base_name, unit_in};
use super::{InputError, excerpt, parse_number};

/// Rows of text before the numbers: names, units.
const MOST_HEADER_ROWS: usize = 5;

/// A series as the file has it, with the unit its header names.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeSeries {
    /// Times in seconds, values in the unit of the file.
    pub series: Series,
    /// Unit of the values as the header writes it.
    pub unit: Option<String>,
}

/// Who said in which unit a motion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitOrigin {
    /// The file's header.
    Header,
    /// The experiment.
    Given,
}

impl TimeSeries {
    /// The unit to read the values in, and who named it.
    pub fn acceleration_unit(
        &self,
        given: Option<AccelerationUnit>,
    ) -> Result<(AccelerationUnit, UnitOrigin), InputError> {
        let Some(text) = self.unit.as_deref() else {
            return given.map(|unit| (unit, UnitOrigin::Given)).ok_or(InputError::NoUnit);
        };
        match (AccelerationUnit::from_text(text), given) {
            (Some(header), Some(given)) if header != given => {
                Err(InputError::UnitConflict { header, given })
            }
            (Some(header), _) => Ok((header, UnitOrigin::Header)),
            // A bracket may hold any remark, so the experiment's word counts.
            (None, Some(given)) => Ok((given, UnitOrigin::Given)),
            (None, None) => Err(InputError::NotAnAcceleration { unit: excerpt(text) }),
        }
    }

    /// The values in m/s², by the header's unit or, where it names none, by the
    /// given one. Two that contradict each other are an error.
    pub fn acceleration(self, given: Option<AccelerationUnit>) -> Result<Series, InputError> {
        let (unit, _) = self.acceleration_unit(given)?;
        let values = self.series.values().iter().map(|value| value * unit.factor()).collect();
        from_checked(self.series.times_s().to_vec(), values)
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Keys)]
#[key(either)]
pub enum Column {
    /// By position, from 1.
    #[key(count = 1..=10_000)]
    Number(usize),
    /// By the name in the header; upper and lower case and a unit behind the
    /// name do not matter.
    #[key(text)]
    Name(String),
}

/// Where the times come from.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeColumn {
    /// A column in seconds.
    Column(Column),
    /// A constant step in seconds, from 0.
    Step(f64),
}

/// Which columns of a table to read.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvOptions {
    /// Times.
    pub time: TimeColumn,
    /// Values.
    pub value: Column,
}

impl Default for CsvOptions {
    /// Time in column 1, value in column 2.
    fn default() -> Self {
        Self { time: TimeColumn::Column(Column::Number(1)), value: Column::Number(2) }
    }
}

/// Reads two columns of a table: comma, semicolon, tab or blanks between them,
/// `#` before comments, with or without a header.
///
/// Where the separator is not a comma, a decimal comma is understood. A unit is
/// taken from the value's name: `accel_m_s2`, `accel [g]`, `accel (cm/s2)`.
pub fn csv_series(bytes: &[u8], options: &CsvOptions) -> Result<TimeSeries, InputError> {
    let text = table_text(bytes)?;
    let text = text.as_ref();
    let separator = Separator::detect(text);
    let mut table = Table::new(options, separator)?;
    for (line, row) in (1_u64..).zip(text.lines()) {
        let row = row.trim();
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        if row.contains('"') {
            let record = separator.split_quoted(row).ok_or(InputError::NotATable { line })?;
            table.row(line, &record.iter().collect::<Vec<&str>>())?;
        } else {
            table.row(line, &separator.split(row).collect::<Vec<&str>>())?;
        }
    }
    table.finish()
}

/// The text of a table, without the mark some programs put in front.
pub(super) fn table_text(bytes: &[u8]) -> Result<Cow<'_, str>, InputError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(InputError::Utf16);
    }
    Ok(String::from_utf8_lossy(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Byte(u8),
    Blank,
}

impl Separator {
    /// The separator that makes the most numbers of a row in the first rows.
    pub(super) fn detect(text: &str) -> Self {
        const CANDIDATES: [Separator; 4] = [
            Separator::Byte(b','),
            Separator::Byte(b';'),
            Separator::Byte(b'\t'),
            Separator::Blank,
        ];
        let rows: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|row| !row.is_empty() && !row.starts_with('#'))
            .take(MOST_HEADER_ROWS + 1)
            .collect();
        // Of equals, the one that leaves no field unread: "0;0,5" has a number
        // by comma too.
        let score = |separator: Separator| {
            let is_number = |field: &str| separator.number(field).is_some();
            let numbers =
                |row: &&str| separator.split(row).filter(|field| is_number(field)).count();
            let whole = rows.iter().filter(|row| separator.split(row).all(is_number)).count();
            (rows.iter().map(numbers).max().unwrap_or(0), whole)
        };
        let mut best = CANDIDATES[0];
        for candidate in CANDIDATES {
            if score(candidate) > score(best) {
                best = candidate;
            }
        }
        best
    }

    pub(super) fn split(self, row: &str) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Byte(byte) => Box::new(row.split(char::from(byte)).map(str::trim)),
            Self::Blank => Box::new(row.split_whitespace()),
        }
    }

    /// Quotes are the csv crate's business; it sees single rows, because its own
    /// line numbers stop at blank lines and comments.
    fn split_quoted(self, row: &str) -> Option<csv::StringRecord> {
        let delimiter = match self {
            Self::Byte(byte) => byte,
            Self::Blank => b' ',
        };
        csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .trim(csv::Trim::All)
            .from_reader(row.as_bytes())
            .into_records()
            .next()?
            .ok()
    }

    pub(super) fn number(self, field: &str) -> Option<f64> {
        let decimal_comma = self != Self::Byte(b',') && field.contains(',') && !field.contains('.');
        let field: Cow<'_, str> =
            if decimal_comma { field.replacen(',', ".", 1).into() } else { field.into() };
        parse_number(&field)
    }
}

/// The table while it is read.
struct Table<'a> {
    options: &'a CsvOptions,
    separator: Separator,
    /// Rows of text so far, until the first number.
    header: Vec<Vec<String>>,
    /// Positions of time and value from 0, once known.
    places: Option<(Option<usize>, usize)>,
    times_s: Vec<f64>,
    values: Vec<f64>,
}

impl<'a> Table<'a> {
    fn new(options: &'a CsvOptions, separator: Separator) -> Result<Self, InputError> {
        if let TimeColumn::Step(step_s) = options.time
            && !(step_s.is_finite() && step_s > 0.0)
        {
            return Err(InputError::BadStep { step_s });
        }
        let (header, places) = (Vec::new(), None);
        let (times_s, values) = (Vec::new(), Vec::new());
        Ok(Self { options, separator, header, places, times_s, values })
    }

    fn row(&mut self, line: u64, fields: &[&str]) -> Result<(), InputError> {
        let (time, value) = match self.places {
            Some(places) => places,
            None => {
                let numeric = fields.iter().any(|field| self.separator.number(field).is_some());
                if !numeric && self.header.len() < MOST_HEADER_ROWS {
                    self.header.push(fields.iter().map(|field| (*field).to_owned()).collect());
                    return Ok(());
                }
                let places = self.find_places()?;
                self.places = Some(places);
                places
            }
        };
        let value = self.number(line, fields, value)?;
        let time_s = match (time, &self.options.time) {
            (Some(place), _) => self.number(line, fields, place)?,
            (None, TimeColumn::Step(step_s)) => self.values.len() as f64 * step_s,
            (None, TimeColumn::Column(_)) => return Err(InputError::ColumnZero),
        };
        if let Some(&before_s) = self.times_s.last()
            && time_s <= before_s
        {
            return Err(InputError::NotIncreasing { line, before_s, time_s });
        }
        self.times_s.push(time_s);
        self.values.push(value);
        Ok(())
    }

    fn number(&self, line: u64, fields: &[&str], place: usize) -> Result<f64, InputError> {
        let Some(field) = fields.get(place) else {
            let (columns, needed) = (fields.len(), place + 1);
            return Err(InputError::MissingColumn { line, columns, needed });
        };
        let value = self.separator.number(field).ok_or_else(|| InputError::BadNumber {
            line,
            column: place + 1,
            text: excerpt(field),
        })?;
        if value.is_finite() { Ok(value) } else { Err(InputError::NotFinite { line, value }) }
    }

    fn find_places(&self) -> Result<(Option<usize>, usize), InputError> {
        let time = match &self.options.time {
            TimeColumn::Column(column) => Some(self.place(column)?),
            TimeColumn::Step(_) => None,
        };
        Ok((time, self.place(&self.options.value)?))
    }

    fn place(&self, column: &Column) -> Result<usize, InputError> {
        let name = match column {
            Column::Number(number) => {
                return number.checked_sub(1).ok_or(InputError::ColumnZero);
            }
            Column::Name(name) => name,
        };
        let Some(names) = self.header.first() else {
            return Err(InputError::NoHeader { name: excerpt(name) });
        };
        let same = |text: &String| text.to_lowercase() == name.to_lowercase();
        let same_base = |text: &String| base_name(text) == base_name(name);
        names.iter().position(same).or_else(|| names.iter().position(same_base)).ok_or_else(|| {
            InputError::NoSuchColumn { name: excerpt(name), header: excerpt(&names.join(", ")) }
        })
    }

    fn finish(self) -> Result<TimeSeries, InputError> {
        let unit = self.places.and_then(|(_, value)| {
            self.header.iter().enumerate().find_map(|(row, names)| {
                let text = names.get(value)?;
                // Below the names, a row may hold the bare units.
                let bare = || AccelerationUnit::from_text(text).map(|_| text.clone());
                unit_in(text).or_else(|| if row > 0 { bare() } else { None })
            })
        });
        Ok(TimeSeries { series: from_checked(self.times_s, self.values)?, unit })
    }
}

/// A series whose samples were checked line by line while they were read.
pub(super) fn from_checked(times_s: Vec<f64>, values: Vec<f64>) -> Result<Series, InputError> {
    Series::new(times_s, values).map_err(|error| match error {
        InterpolateError::TooShort(given) => InputError::TooShort { samples: given },
        other => InputError::Series(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<TimeSeries, InputError> {
        csv_series(text.as_bytes(), &CsvOptions::default())
    }

    #[test]
    fn separators_comments_and_headers_are_recognised() {
        for text in [
            "time_s,accel_m_s2\n0,1.5\n0.5,-2\n1.0,3e-1\n",
            "# site\n\n0.0, 1.5\n0.5, -2.0\n# pause\n1.0, 0.3\n",
            "t;a [m/s2]\n0;1,5\n0,5;-2\n1;0,3",
            "0\t1,5\n0,5\t-2\n1\t0,3\n",
            "  0   1.5\n  .5  -2.\n  1   3.0D-01\n",
            "time accel\n0 1.5\n0.5 -2\n1 0.3\n",
            "\u{feff}\"time, s\",\"accel\"\r\n0,1.5\r\n0.5,-2\r\n1,0.3\r\n",
            "Time,Accel,Note\ns,m/s2,-\n0,1.5,start\n0.5,-2,\n1,0.3,end\n",
        ] {
            let found = read(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(found.series.times_s(), [0.0, 0.5, 1.0], "{text:?}");
            assert_eq!(found.series.values(), [1.5, -2.0, 0.3], "{text:?}");
        }
    }

    #[test]
    fn units_are_found_in_the_header() {
        use AccelerationUnit::*;
        for (name, unit) in [
            ("accel_m_s2", MetrePerSecondSquared),
            ("Acceleration [g]", Gravity),
            ("a (cm/s2)", CentimetrePerSecondSquared),
            ("a (cm/s^2)", CentimetrePerSecondSquared),
            ("a (m/s²)", MetrePerSecondSquared),
            ("acc_g", Gravity),
            ("acc gal", CentimetrePerSecondSquared),
            ("acc [mm/sec2]", MillimetrePerSecondSquared),
            ("acc [in/s/s]", InchPerSecondSquared),
            ("acc_ft_s2", FootPerSecondSquared),
        ] {
            let found = read(&format!("t,{name}\n0,1\n1,2\n")).unwrap();
            assert_eq!(found.acceleration_unit(None), Ok((unit, UnitOrigin::Header)), "{name}");
            let motion = found.acceleration(Some(unit)).unwrap();
            assert_eq!(motion.values()[1], 2.0 * unit.factor());
        }
        let plain = read("t,accel\n0,1\n1,2\n").unwrap();
        assert_eq!(plain.clone().acceleration(None), Err(InputError::NoUnit));
        assert_eq!(plain.acceleration_unit(Some(Gravity)), Ok((Gravity, UnitOrigin::Given)));
        let remark = read("t,accel (filtered)\n0,1\n1,2\n").unwrap();
        assert_eq!(remark.acceleration_unit(Some(Gravity)), Ok((Gravity, UnitOrigin::Given)));
        let other = read("t,x [kN]\n0,1\n1,2\n").unwrap();
        assert!(matches!(other.acceleration(None), Err(InputError::NotAnAcceleration { .. })));
        let error = read("t,a_g\n0,1\n1,2\n").unwrap().acceleration(Some(MetrePerSecondSquared));
        assert!(error.unwrap_err().to_string().contains("header says g, the experiment says m/s"));
    }

    #[test]
    fn columns_are_chosen_by_number_name_or_step() {
        let text = "id,Time_s,ax_g,ay_m_s2\n7,0,1,10\n8,0.1,2,20\n";
        let options = |time: &str, value: &str| CsvOptions {
            time: TimeColumn::Column(Column::Name(time.into())),
            value: Column::Name(value.into()),
        };
        for value in ["ay_m_s2", "AY_M_S2", "ay"] {
            let found = csv_series(text.as_bytes(), &options("time_s", value)).unwrap();
            assert_eq!(found.series.values(), [10.0, 20.0]);
            assert_eq!(found.unit.as_deref(), Some("m_s2"));
        }
        let error = csv_series(text.as_bytes(), &options("time_s", "az")).unwrap_err();
        assert!(error.to_string().contains("the header has: id, Time_s, ax_g, ay_m_s2"));
        let error = csv_series(b"0,1\n1,2\n", &options("t", "a")).unwrap_err();
        assert_eq!(error, InputError::NoHeader { name: "t".into() });
        let step = |step_s| CsvOptions { time: TimeColumn::Step(step_s), value: Column::Number(1) };
        let found = csv_series(b"accel_g\n1\n2\n3\n", &step(0.02)).unwrap();
        assert_eq!(found.series.times_s(), [0.0, 0.02, 0.04]);
        assert_eq!(csv_series(b"1\n2\n", &step(0.0)), Err(InputError::BadStep { step_s: 0.0 }));
        let zero = CsvOptions { value: Column::Number(0), ..CsvOptions::default() };
        assert_eq!(csv_series(b"0,1\n1,2\n", &zero), Err(InputError::ColumnZero));
    }

    #[test]
    fn bad_rows_are_named_by_their_line() {
        let head = "# comment\ntime_s,accel_m_s2\n0,1\n\n";
        let check = |rows: &str, error: InputError| {
            let found = read(&format!("{head}{rows}")).unwrap_err();
            assert_eq!(found.to_string(), error.to_string());
        };
        check("1,nan\n", InputError::NotFinite { line: 5, value: f64::NAN });
        check("1,-inf\n", InputError::NotFinite { line: 5, value: f64::NEG_INFINITY });
        check("1,2\n1,3\n", InputError::NotIncreasing { line: 6, before_s: 1.0, time_s: 1.0 });
        check("1,2\n2\n", InputError::MissingColumn { line: 6, columns: 1, needed: 2 });
        check("1,2\n2,x\n", InputError::BadNumber { line: 6, column: 2, text: "x".into() });
        check("1,2\n2,\n", InputError::BadNumber { line: 6, column: 2, text: String::new() });
        check("", InputError::TooShort { samples: 1 });
        assert_eq!(read(""), Err(InputError::TooShort { samples: 0 }));
        let prose = "not a table\n".repeat(9);
        assert!(matches!(read(&prose), Err(InputError::MissingColumn { line: 6, .. })));
        // An open quote swallows its own row, not the rest of the file.
        let error = read("0,1\n\"1,2\n2,3\n").unwrap_err();
        assert_eq!(error, InputError::MissingColumn { line: 2, columns: 1, needed: 2 });
    }

    /// Recorded motions may lie beside the project; they are never part of it.
    #[test]
    fn recorded_motions_beside_the_project_are_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/ground");
        let Ok(listing) = std::fs::read_dir(folder) else {
            println!("skipped: no folder of recorded ground motions beside the project");
            return;
        };
        let counts = [
            ("kobe_benchmark.csv", 5095, 0.645),
            ("elcentro_benchmark.csv", 2060, 0.320),
            ("morgan_benchmark.csv", 7995, 0.244),
            ("elcentro_1940_ns.csv", 2688, 0.349),
            ("chichi_tcu068_col1.csv", 18000, 0.512),
            ("chichi_deepsoil.csv", 11800, 0.183),
        ];
        for entry in listing {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "csv") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let motion = csv_series(&bytes, &CsvOptions::default())
                .and_then(|found| found.acceleration(None))
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(motion.regular_step_s().is_ok());
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if let Some((_, samples, peak_g)) = counts.iter().find(|(known, ..)| *known == name) {
                assert_eq!(motion.values().len(), *samples, "{name}");
                let peak = motion.values().iter().fold(0.0_f64, |peak, v| peak.max(v.abs()));
                assert!((peak / 9.80665 - peak_g).abs() < 6e-4, "{name}: {}", peak / 9.80665);
            }
        }
    }
}
