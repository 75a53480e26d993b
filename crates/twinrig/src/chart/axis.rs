//! One axis of a chart: a number of the file, from here to there.

use crate::words::{number, range, titled};
use experiment::closed_loop::TransferKind;
use experiment::quantity::{self, Kind, Motion};
use experiment::sweep::{Measure, Target};
use experiment::{Diagnostic, Diagnostics, Experiment};

/// A number of the file that varies along one side of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Which.
    pub target: Target,
    /// First value, SI.
    pub low: f64,
    /// Last value, SI.
    pub high: f64,
    /// The unit it was given in, for people; empty for pure numbers.
    pub unit: String,
    /// SI value of one such unit.
    pub factor: f64,
}

impl Axis {
    /// Reads `PATH=a..b`, such as `transfer_system.delay=0..0.3 ms`. A unit at
    /// the second end serves the first as well.
    pub fn read(experiment: &Experiment, assignment: &str) -> Result<Self, Box<Diagnostics>> {
        let refuse = |error: Diagnostic| {
            let mut found = experiment.diagnostics();
            found.push(error);
            Box::new(found)
        };
        let parts = assignment.split_once('=');
        let (Some((path, _)), Some((low, high, unit))) =
            (parts, parts.and_then(|(_, ends)| range(ends)))
        else {
            let message = format!("\"{assignment}\" is not PATH=a..b");
            let remedy = "write it like transfer_system.delay=\"0..4 ms\" or \
                          partition.mass[1]=\"0..60 %\"";
            return Err(refuse(Diagnostic::error(message).remedy(remedy)));
        };
        let target = experiment.target(path.trim()).map_err(refuse)?;
        if let Some(error) = other_delay(experiment, &target) {
            return Err(refuse(error));
        }
        let read = |text: &str| {
            value(target.measure, text.trim()).map_err(|message| {
                let message = format!("`{}`: {message}", target.path);
                refuse(Diagnostic::error(message).remedy(remedy(target.measure)))
            })
        };
        let (low, high) = (read(&low)?, read(&high)?);
        if low >= high {
            let message = format!("`{}`: the range is empty or falls", target.path);
            let error = Diagnostic::error(message).remedy("write the lower end first");
            return Err(refuse(error));
        }
        if low < 0.0 && [DELAY, SAMPLES].contains(&target.path.as_str()) {
            let message = format!("`{}`: no rig answers before it is asked", target.path);
            return Err(refuse(Diagnostic::error(message).remedy("let the range begin at 0")));
        }
        let factor = if unit.is_empty() { 1.0 } else { read(&format!("1 {unit}"))? };
        Ok(Self { low, high, unit, factor, target })
    }

    /// The value of grid point `index` of `count`.
    pub fn at(&self, index: usize, count: usize) -> f64 {
        let last = count.saturating_sub(1).max(1) as f64;
        let share = index as f64 / last;
        // Both ends exactly.
        match self.low + share * (self.high - self.low) {
            _ if share >= 1.0 => self.high,
            value if self.is_whole() => value.round(),
            value => value,
        }
    }

    /// Whether there is nothing between two whole numbers.
    pub fn is_whole(&self) -> bool {
        self.target.measure == Measure::Whole
    }

    /// The number of grid points along it, where so many are asked for.
    pub fn points(&self, asked: usize) -> usize {
        if self.is_whole() { asked.min((self.high - self.low) as usize + 1) } else { asked }
    }

    /// A value in the axis's unit.
    pub fn shown(&self, value: f64) -> f64 {
        value / self.factor
    }

    /// A value with its unit.
    pub fn value(&self, value: f64) -> String {
        format!("{} {}", number(self.shown(value)), self.unit).trim_end().to_owned()
    }

    /// Both ends, with their unit.
    pub fn ends(&self) -> String {
        format!("{} to {}", number(self.shown(self.low)), self.value(self.high))
    }

    /// What it is, in words: `transfer_system.delay` is the transfer system's delay.
    pub fn words(&self) -> String {
        let words = self.target.path.replace(['_', '.', '['], " ").replace(']', "");
        let mut chars = words.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    }

    /// The title of the axis: quantity and unit.
    pub fn title(&self) -> String {
        titled(&self.words(), &self.unit)
    }

    /// What the file declares, if it lies on the chart.
    pub fn declared(&self) -> Option<f64> {
        let reach = 1e-9 * (self.high - self.low);
        self.target.declared.filter(|value| (self.low - reach..=self.high + reach).contains(value))
    }
}

/// The two ways to write a pure delay, of which a file has one.
pub(super) const DELAY: &str = "transfer_system.delay";
/// See [`DELAY`].
pub(super) const SAMPLES: &str = "transfer_system.samples";

/// What to say where the file has the delay, but written the other way.
fn other_delay(experiment: &Experiment, target: &Target) -> Option<Diagnostic> {
    let TransferKind::Delay(delay) = experiment.transfer_system.kind else {
        return None;
    };
    if target.declared.is_some() {
        return None;
    }
    let step_s = experiment.integrator.step_s();
    let (delay_s, samples) = (delay.delay_s(step_s), delay.samples(step_s));
    let (other, example) = match target.path.as_str() {
        DELAY => ("samples", format!("{SAMPLES}=0..{}", (2.0 * samples).ceil().max(4.0))),
        SAMPLES => ("delay", format!("{DELAY}=\"0..{} ms\"", (2e3 * delay_s).ceil().max(1.0))),
        _ => return None,
    };
    let message = format!("`{}` is not in the file, which gives `{other}` instead", target.path);
    let remedy = format!("vary that, such as {example}, or write it the other way in the file");
    Some(Diagnostic::error(message).remedy(remedy))
}

fn value(measure: Measure, text: &str) -> Result<f64, String> {
    let quantity =
        |kind, motion| quantity::parse(text, kind, motion).map_err(|error| error.to_string());
    let bare = || match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("\"{text}\" is not a number")),
    };
    match measure {
        Measure::Quantity(Kind::Ratio, _) | Measure::Ratio if text.contains(['%', 'p']) => {
            quantity(Kind::Ratio, Motion::Translation)
        }
        Measure::Quantity(Kind::Ratio, _) | Measure::Ratio | Measure::Number => bare(),
        Measure::Quantity(kind, motion) => quantity(kind, motion),
        Measure::Whole => bare().and_then(|value| match value.fract() {
            0.0 => Ok(value),
            _ => Err(format!("\"{text}\" is not a whole number")),
        }),
    }
}

fn remedy(measure: Measure) -> String {
    match measure {
        Measure::Quantity(kind, _) => kind.advice(),
        Measure::Ratio => "write it like 0..5 % or 0..0.05".to_owned(),
        Measure::Number => "write a bare number at both ends".to_owned(),
        Measure::Whole => "write whole numbers, such as 1..10".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_their_parameter_is_written() {
        let time = Measure::Quantity(Kind::Time, Motion::Translation);
        assert_eq!(value(time, "3 ms"), Ok(3e-3));
        assert!(value(time, "3").is_err());
        assert_eq!(value(Measure::Ratio, "5 %"), Ok(0.05));
        assert_eq!(value(Measure::Ratio, "0.05"), Ok(0.05));
        assert!(value(Measure::Number, "NaN").is_err());
        assert_eq!(value(Measure::Whole, "3"), Ok(3.0));
        assert!(value(Measure::Whole, "3.5").is_err());
    }
}
