//! The declared sweep: what varies, and how.

mod edit;
mod target;

use numerics::distribution::{Distribution, Truncation};
use toml::de::DeValue;

pub use edit::{EditError, Edits};
pub use target::Step;
pub use target::{Measure, Target};
pub(crate) use target::{all, find};

use super::diagnostic::{Diagnostic, Diagnostics, shorten};
use super::grammar::sweep::MOST_VARIANTS;
use super::quantity::{self, Kind, Motion};
use super::tree::{Branch, Node, Value};

/// `text` with another value at `path`, as a TOML value or, where it is none, as
/// a text: `--set integrator.rate=2048 Hz`.
pub fn with_value(text: &str, path: &str, value: &str) -> Result<String, EditError> {
    let Some(steps) = target::parse(path) else {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SensorNoise {
    /// Every draw has its own.
    Fresh,
    /// All have that of the file's seed.
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
    /// The declared sweep, if there is one and it makes sense.
    pub(crate) fn read(root: &Branch, out: &mut Diagnostics) -> Option<Self> {
        let branch = root.table("sweep")?;
        let mut vary: Vec<Variation> = Vec::new();
        let mut whole = true;
        for table in branch.tables("vary") {
            match Variation::read(root, table) {
                Ok(one) if vary.iter().any(|other| other.target.steps == one.target.steps) => {
                    let message = format!("`{}` varies twice", one.target.path);
                    let error = Diagnostic::error(message).remedy("keep one of the two");
                    out.push(error.at(table.must_node("parameter").span.clone()));
                    whole = false;
                }
                Ok(one) => vary.push(one),
                Err(error) => {
                    let span = error.span.clone().unwrap_or_else(|| table.span.clone());
                    out.push(error.at(span));
                    whole = false;
                }
            }
        }
        let spec = Self {
            runs: branch.must_count("runs"),
            seed: branch.must_count("seed"),
            sensor_noise: match branch.must_word("sensor_noise") {
                "fresh" => SensorNoise::Fresh,
                "same" => SensorNoise::Same,
                word => unreachable!("the grammar has no sensor noise {word}"),
            },
            unstable_beyond: branch.must_number("unstable_beyond"),
            vary,
        };
        if let Err(error) = spec.check_size() {
            out.push(error.at(branch.span.clone()));
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
    fn read(root: &Branch, table: &Branch) -> Result<Self, Diagnostic> {
        let parameter = table.must_node("parameter");
        let path = parameter.text().unwrap_or_default();
        let place = |error: Diagnostic| error.at(parameter.span.clone());
        if path.trim() == "sweep" || path.trim().starts_with("sweep.") {
            let error = Diagnostic::error("a sweep cannot vary itself");
            return Err(place(error.remedy("vary a key of another section")));
        }
        let target = find(root, path).map_err(place)?;
        let spread = Reader { target: &target, parameter }.spread(table)?;
        Ok(Self { target, spread })
    }
}

/// Reads values in the unit of a parameter.
struct Reader<'a> {
    target: &'a Target,
    parameter: &'a Node,
}

impl Reader<'_> {
    fn spread(&self, table: &Branch) -> Result<Spread, Diagnostic> {
        if let Some(normal) = table.table("normal") {
            let mean = self.or_declared(normal, "mean")?;
            let sd = normal.must_node("sd");
            let deviation = self.deviation(sd, mean)?;
            if deviation < 0.0 {
                return Err(bad(sd, "a standard deviation is not negative", "drop the sign"));
            }
            let range = self.range(normal)?;
            return Ok(Spread::Random(Distribution::Normal { mean, deviation, range }));
        }
        if let Some(log_normal) = table.table("log_normal") {
            let median = self.or_declared(log_normal, "median")?;
            if median <= 0.0 {
                let node = log_normal.node("median").unwrap_or(self.parameter);
                let message = format!("the median is {median}; a log-normal number is positive");
                return Err(bad(node, &message, "give a positive `median`, or use `normal`"));
            }
            let dispersion = log_normal.must_number("dispersion");
            let range = self.range(log_normal)?;
            return Ok(Spread::Random(Distribution::LogNormal { median, dispersion, range }));
        }
        for (key, node) in &table.entries {
            let values = || node.list().unwrap_or_default().iter().map(|node| self.value(node));
            let rising = |values: &[f64]| match values.windows(2).all(|pair| pair[0] <= pair[1]) {
                true => Ok(()),
                false => Err(bad(node, &format!("`{key}` falls"), "write the lowest value first")),
            };
            match *key {
                "uniform" => {
                    let ends = values().collect::<Result<Vec<_>, _>>()?;
                    rising(&ends)?;
                    // Every whole number between the ends is as likely as the others.
                    let whole = self.target.measure == Measure::Whole;
                    let half = if whole { 0.5 - 1e-9 } else { 0.0 };
                    let (low, high) = (ends[0] - half, ends[1] + half);
                    return Ok(Spread::Random(Distribution::Uniform { low, high }));
                }
                "triangular" => {
                    let corners = values().collect::<Result<Vec<_>, _>>()?;
                    rising(&corners)?;
                    let [low, mode, high] = [corners[0], corners[1], corners[2]];
                    return Ok(Spread::Random(Distribution::Triangular { low, mode, high }));
                }
                "values" => return Ok(Spread::Grid(values().collect::<Result<_, _>>()?)),
                _ => {}
            }
        }
        unreachable!("the grammar asks for one distribution")
    }

    /// The value of a key, or what the file declares.
    fn or_declared(&self, table: &Branch, key: &str) -> Result<f64, Diagnostic> {
        if let Some(node) = table.node(key) {
            return self.value(node);
        }
        self.target.declared.ok_or_else(|| {
            let message = format!("the file does not say what `{}` is", self.target.path);
            bad(self.parameter, &message, &format!("write it, or give a `{key}` here"))
        })
    }

    fn range(&self, table: &Branch) -> Result<Truncation, Diagnostic> {
        let end = |key, none| table.node(key).map_or(Ok(none), |node| self.value(node));
        let range =
            Truncation { min: end("min", f64::NEG_INFINITY)?, max: end("max", f64::INFINITY)? };
        if range.min >= range.max {
            let node = table.must_node("max");
            return Err(bad(node, "`max` is not above `min`", "leave room between the two"));
        }
        Ok(range)
    }

    /// A deviation may also be a share of the mean, except where the parameter
    /// itself is a ratio and a per cent sign means a value.
    fn deviation(&self, node: &Node, mean: f64) -> Result<f64, Diagnostic> {
        let ratio =
            matches!(self.target.measure, Measure::Ratio | Measure::Quantity(Kind::Ratio, _));
        match node.text() {
            Some(text) if text.contains('%') && !ratio => {
                Ok(quantity_in(node, text, Kind::Ratio, Motion::Translation)? * mean.abs())
            }
            _ => self.value(node),
        }
    }

    fn value(&self, node: &Node) -> Result<f64, Diagnostic> {
        let path = &self.target.path;
        let value = match (self.target.measure, &node.value) {
            (Measure::Quantity(kind, motion), Value::Text(text)) => {
                quantity_in(node, text, kind, motion)?
            }
            (Measure::Quantity(kind, _), Value::Number(number)) if kind != Kind::Ratio => {
                let remedy = format!("write \"{number} {}\"; {}", kind.si_unit(), kind.advice());
                let message = format!("{number} needs a unit: `{path}` is {}", kind.noun());
                return Err(bad(node, &message, &remedy));
            }
            (Measure::Ratio, Value::Text(text)) => {
                quantity_in(node, text, Kind::Ratio, Motion::Translation)?
            }
            (_, Value::Number(number)) => *number,
            (_, Value::Text(text)) => {
                let message = format!("\"{}\" is a text: `{path}` is a bare number", shorten(text));
                return Err(bad(node, &message, "write the number without quotes or unit"));
            }
            _ => unreachable!("the grammar has numbers and texts here"),
        };
        if self.target.measure == Measure::Whole && value.fract() != 0.0 {
            let message = format!("{value}: `{path}` is a whole number");
            return Err(bad(node, &message, "write a whole number"));
        }
        Ok(value)
    }
}

fn quantity_in(node: &Node, text: &str, kind: Kind, motion: Motion) -> Result<f64, Diagnostic> {
    quantity::parse(text, kind, motion)
        .map_err(|error| bad(node, &error.to_string(), &error.remedy(kind)))
}

fn bad(node: &Node, message: &str, remedy: &str) -> Diagnostic {
    Diagnostic::error(message).at(node.span.clone()).remedy(remedy)
}
