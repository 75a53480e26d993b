//! The declared sweep: what varies, and how.

mod edit;
mod target;

use std::ops::Range;

use keys::quantity::{self, Kind, Motion};
use keys::tree::Branch;
use keys::{Keys, Placed};
use numerics::distribution::{Distribution, Truncation};
use toml::de::DeValue;

pub use edit::{EditError, Edits};
pub use target::Step;
pub use target::{Measure, Target};
pub(crate) use target::{Place, all, find, parse};

use super::diagnostic::{Diagnostic, Diagnostics, shorten};

/// Most variants of a sweep: a month on one core, and a table that fits in memory.
const MOST_VARIANTS: u64 = 1_000_000;
/// The section, which cannot be varied itself.
pub(crate) const SWEEP: &str = super::Experiment::SWEEP_TABLE;

/// `text` with another value at `path`, as a TOML value or, where it is none, as
/// a text: `--set integrator.rate=2048 Hz`.
pub fn with_value(text: &str, path: &str, value: &str) -> Result<String, EditError> {
    let Some(steps) = parse(path) else {
        return Err(EditError::NotAPath { path: shorten(path) });
    };
    let mut edits = Edits::default();
    edits.add(text, path, &steps)?;
    let toml = match DeValue::parse(value) {
        Ok(_) => value.to_owned(),
        // A JSON string is a TOML string.
        Err(_) => serde_json::Value::from(value).to_string(),
    };
    Ok(edits.applied(text, &[toml]))
}

/// A study of many variants of this test, for `twinrig sweep`: what is uncertain, and how often to
/// draw. Every other command ignores it.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct SweepTable {
    /// How often the random parameters are drawn. Each draw runs once at every combination of
    /// `values`.
    #[key(count = 1..=MOST_VARIANTS, default = 100)]
    runs: u64,
    /// Seed of the draws. A draw depends on this seed, its number and its parameter's name alone.
    #[key(count = 0..=i64::MAX as u64, default = 1)]
    seed: u64,
    /// What the noise of the sensors does from variant to variant. The excitation stays as it is
    /// either way.
    #[key(default = "fresh")]
    sensor_noise: SensorNoise,
    /// A variant counts as unstable when its interface moves further than this many times the
    /// reference's largest motion, or when a signal is no longer a number.
    #[key(number, within = 1.0..=1e6, default = 5)]
    unstable_beyond: f64,
    /// What varies, each as `[[sweep.vary]]`. Absent: the sensor noise alone.
    #[key(entries = 1..=200, optional)]
    vary: Vec<Placed<VaryTable>>,
}

/// One uncertain parameter and how it is distributed. Quantities carry units, as the parameter does.
#[derive(Debug, Clone, PartialEq, Keys)]
struct VaryTable {
    /// Any number of this file, by its path: `transfer_system.leakage`, `partition.stiffness[1]`,
    /// `structure.stiffness.rows[1][1]`. Entries count from 1.
    #[key(text)]
    parameter: Placed<String>,
    /// How it is distributed.
    #[key(flatten)]
    spread: SpreadTable,
}

/// How a parameter is distributed, in the parameter's unit.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(one_of)]
enum SpreadTable {
    /// The normal distribution.
    Normal(NormalTable),
    /// The log-normal distribution.
    LogNormal(LogNormalTable),
    /// Anything between two ends, equally likely.
    Uniform(Placed<[Placed<Given>; 2]>),
    /// Lowest, most likely and highest value.
    Triangular(Placed<[Placed<Given>; 3]>),
    /// A grid: every draw is run at every one of these.
    #[key(entries = 1..=1000)]
    Values(Vec<Placed<Given>>),
}

/// The normal distribution.
#[derive(Debug, Clone, PartialEq, Keys)]
struct NormalTable {
    /// Standard deviation: a value, or a share of the mean such as `"5 %"`.
    sd: Placed<Given>,
    /// Mean. Absent: what the file declares.
    mean: Option<Placed<Given>>,
    /// Where it ends.
    #[key(flatten)]
    range: RangeTable,
}

/// The log-normal distribution: the logarithm is normal, so the value stays positive.
#[derive(Debug, Clone, PartialEq, Keys)]
struct LogNormalTable {
    /// Standard deviation of the natural logarithm.
    #[key(ratio, within = 1e-6..=10.0)]
    dispersion: f64,
    /// Median. Absent: what the file declares.
    median: Option<Placed<Given>>,
    /// Where it ends.
    #[key(flatten)]
    range: RangeTable,
}

/// Ends of a distribution.
#[derive(Debug, Clone, PartialEq, Keys)]
struct RangeTable {
    /// No draw is below; what falls there is drawn again.
    min: Option<Placed<Given>>,
    /// No draw is above; what falls there is drawn again.
    max: Option<Placed<Given>>,
}

/// A value of the parameter: bare, or with the unit, as the parameter is written.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(either)]
enum Given {
    /// Bare.
    #[key(number)]
    Number(f64),
    /// With its unit.
    #[key(text)]
    Text(String),
}

/// A study of many variants.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepSpec {
    /// Draws of the random parameters.
    pub runs: u64,
    /// Seed of the draws.
    pub seed: u64,
    /// What the sensors' noise does.
    pub sensor_noise: SensorNoise,
    /// Multiple of the reference's largest interface motion beyond which a
    /// variant counts as unstable.
    pub unstable_beyond: f64,
    /// What varies.
    pub vary: Vec<Variation>,
}

/// What the noise of the sensors does from variant to variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum SensorNoise {
    /// Every draw has a seed of its own, so its own noise.
    Fresh,
    /// Every variant has the noise of the file's own seed.
    Same,
}

/// One parameter that varies.
#[derive(Debug, Clone, PartialEq)]
pub struct Variation {
    /// Which.
    pub target: Target,
    /// How.
    pub spread: Spread,
}

/// How a parameter varies, in SI.
#[derive(Debug, Clone, PartialEq)]
pub enum Spread {
    /// At random.
    Random(Distribution),
    /// Over these values, each with every draw.
    Grid(Vec<f64>),
}

impl SweepSpec {
    /// The declared sweep of the file with this tree, if it makes sense.
    pub(crate) fn resolve(
        table: &Placed<SweepTable>,
        root: &Branch,
        out: &mut Diagnostics,
    ) -> Option<Self> {
        let mut vary: Vec<Variation> = Vec::new();
        let mut whole = true;
        for declared in &table.vary {
            match Variation::resolve(root, declared) {
                Ok(one) if vary.iter().any(|other| other.target.steps == one.target.steps) => {
                    let message = format!("`{}` varies twice", one.target.path);
                    let error = Diagnostic::error(message).remedy("keep one of the two");
                    out.push(error.at(declared.parameter.span.clone()));
                    whole = false;
                }
                Ok(one) => vary.push(one),
                Err(error) => {
                    let span = error.span.clone().unwrap_or_else(|| declared.span.clone());
                    out.push(error.at(span));
                    whole = false;
                }
            }
        }
        let &SweepTable { runs, seed, sensor_noise, unstable_beyond, .. } = &table.value;
        let spec = Self { runs, seed, sensor_noise, unstable_beyond, vary };
        if let Err(error) = spec.check_size() {
            out.push(error.at(table.span.clone()));
            whole = false;
        }
        whole.then_some(spec)
    }

    /// Combinations of all grids.
    pub fn combinations(&self) -> u64 {
        let grids = self.vary.iter().map(|variation| match &variation.spread {
            Spread::Grid(values) => values.len() as u64,
            Spread::Random(_) => 1,
        });
        grids.fold(1, u64::saturating_mul)
    }

    /// Number of variants: every draw at every combination.
    pub fn variants(&self) -> u64 {
        self.runs.saturating_mul(self.combinations())
    }

    /// Refuses a sweep that would never end or not fit in memory.
    pub fn check_size(&self) -> Result<(), Diagnostic> {
        if self.variants() <= MOST_VARIANTS {
            return Ok(());
        }
        let message = format!(
            "{} draws at each of {} grid points are more than {MOST_VARIANTS} variants",
            self.runs,
            self.combinations()
        );
        Err(Diagnostic::error(message).remedy("choose fewer runs or fewer values"))
    }
}

impl Variation {
    /// Without a place the error is about the whole table.
    fn resolve(root: &Branch, declared: &VaryTable) -> Result<Self, Diagnostic> {
        let parameter = &declared.parameter;
        let path = parameter.trim();
        let place = |error: Diagnostic| error.at(parameter.span.clone());
        if path == SWEEP || path.split('.').next() == Some(SWEEP) {
            let error = Diagnostic::error("a sweep cannot vary itself");
            return Err(place(error.remedy("vary a key of another section")));
        }
        let target = find(root, path).map_err(place)?;
        let spread = Reader { target: &target, parameter }.spread(&declared.spread)?;
        Ok(Self { target, spread })
    }
}

/// Reads values in the unit of a parameter.
struct Reader<'a> {
    target: &'a Target,
    parameter: &'a Placed<String>,
}

impl Reader<'_> {
    fn spread(&self, declared: &SpreadTable) -> Result<Spread, Diagnostic> {
        let distribution = match declared {
            SpreadTable::Normal(normal) => {
                let mean = self.or_declared(&normal.mean, NormalTable::MEAN)?;
                let deviation = self.deviation(&normal.sd, mean)?;
                if deviation < 0.0 {
                    let message = "a standard deviation is not negative";
                    return Err(bad(&normal.sd.span, message, "drop the sign"));
                }
                Distribution::Normal { mean, deviation, range: self.range(&normal.range)? }
            }
            SpreadTable::LogNormal(log_normal) => {
                let median = self.or_declared(&log_normal.median, LogNormalTable::MEDIAN)?;
                if median <= 0.0 {
                    let own = log_normal.median.as_ref().map(|median| &median.span);
                    let message =
                        format!("the median is {median}; a log-normal number is positive");
                    let remedy = "give a positive `median`, or use `normal`";
                    return Err(bad(own.unwrap_or(&self.parameter.span), &message, remedy));
                }
                let range = self.range(&log_normal.range)?;
                Distribution::LogNormal { median, dispersion: log_normal.dispersion, range }
            }
            SpreadTable::Uniform(ends) => {
                let [low, high] = self.rising(ends, SpreadTable::UNIFORM)?;
                // Every whole number between the ends is as likely as the others.
                let whole = self.target.measure == Measure::Whole;
                let half = if whole { 0.5 - 1e-9 } else { 0.0 };
                Distribution::Uniform { low: low - half, high: high + half }
            }
            SpreadTable::Triangular(corners) => {
                let [low, mode, high] = self.rising(corners, SpreadTable::TRIANGULAR)?;
                Distribution::Triangular { low, mode, high }
            }
            SpreadTable::Values(values) => {
                let values: Result<_, _> = values.iter().map(|value| self.value(value)).collect();
                return Ok(Spread::Grid(values?));
            }
        };
        Ok(Spread::Random(distribution))
    }

    /// The values of a key, the lowest first.
    fn rising<const N: usize>(
        &self,
        entries: &Placed<[Placed<Given>; N]>,
        key: &str,
    ) -> Result<[f64; N], Diagnostic> {
        let mut values = [0.0; N];
        for (value, entry) in values.iter_mut().zip(&entries.value) {
            *value = self.value(entry)?;
        }
        if values.windows(2).all(|pair| pair[0] <= pair[1]) {
            return Ok(values);
        }
        Err(bad(&entries.span, &format!("`{key}` falls"), "write the lowest value first"))
    }

    /// The value of a key, or what the file declares.
    fn or_declared(&self, value: &Option<Placed<Given>>, key: &str) -> Result<f64, Diagnostic> {
        if let Some(value) = value {
            return self.value(value);
        }
        self.target.declared.ok_or_else(|| {
            let message = format!("the file does not say what `{}` is", self.target.path);
            let remedy = format!("write it, or give a `{key}` here");
            bad(&self.parameter.span, &message, &remedy)
        })
    }

    fn range(&self, declared: &RangeTable) -> Result<Truncation, Diagnostic> {
        let end = |value: &Option<Placed<Given>>, none| match value {
            Some(value) => self.value(value),
            None => Ok(none),
        };
        let min = end(&declared.min, f64::NEG_INFINITY)?;
        let max = end(&declared.max, f64::INFINITY)?;
        match &declared.max {
            Some(place) if min >= max => {
                Err(bad(&place.span, "`max` is not above `min`", "leave room between the two"))
            }
            _ => Ok(Truncation { min, max }),
        }
    }

    /// A deviation may also be a share of the mean, except where the parameter
    /// itself is a ratio and a per cent sign means a value.
    fn deviation(&self, given: &Placed<Given>, mean: f64) -> Result<f64, Diagnostic> {
        let ratio =
            matches!(self.target.measure, Measure::Ratio | Measure::Quantity(Kind::Ratio, _));
        match &given.value {
            Given::Text(text) if text.contains('%') && !ratio => {
                let share = quantity_in(&given.span, text, Kind::Ratio, Motion::Translation)?;
                Ok(share * mean.abs())
            }
            _ => self.value(given),
        }
    }

    fn value(&self, given: &Placed<Given>) -> Result<f64, Diagnostic> {
        let (path, span) = (&self.target.path, &given.span);
        let value = match (self.target.measure, &given.value) {
            (Measure::Quantity(kind, motion), Given::Text(text)) => {
                quantity_in(span, text, kind, motion)?
            }
            (Measure::Quantity(kind, _), Given::Number(number)) if kind != Kind::Ratio => {
                let remedy = format!("write \"{number} {}\"; {}", kind.si_unit(), kind.advice());
                let message = format!("{number} needs a unit: `{path}` is {}", kind.noun());
                return Err(bad(span, &message, &remedy));
            }
            (Measure::Ratio, Given::Text(text)) => {
                quantity_in(span, text, Kind::Ratio, Motion::Translation)?
            }
            (_, Given::Number(number)) => *number,
            (_, Given::Text(text)) => {
                let message = format!("\"{}\" is a text: `{path}` is a bare number", shorten(text));
                return Err(bad(span, &message, "write the number without quotes or unit"));
            }
        };
        if self.target.measure == Measure::Whole && value.fract() != 0.0 {
            let message = format!("{value}: `{path}` is a whole number");
            return Err(bad(span, &message, "write a whole number"));
        }
        Ok(value)
    }
}

fn quantity_in(
    span: &Range<usize>,
    text: &str,
    kind: Kind,
    motion: Motion,
) -> Result<f64, Diagnostic> {
    quantity::parse(text, kind, motion)
        .map_err(|error| bad(span, &error.to_string(), &error.remedy(kind)))
}

fn bad(span: &Range<usize>, message: &str, remedy: &str) -> Diagnostic {
    Diagnostic::error(message).at(span.clone()).remedy(remedy)
}
