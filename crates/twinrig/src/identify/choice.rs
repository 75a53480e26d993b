//! Which compensator suits what was identified.

use analysis::compensator_choice::{Candidate, Table, Task, tabulate};
use analysis::compensator_design::Plant;
use analysis::identification::{Hold, Identification};
use analysis::loop_stability::Verdict;
use analysis::loop_stability::modes::own_modes;
use model::compensator::Design;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use thiserror::Error;

use super::Identified;
use super::table::to_json;
use crate::assembly::Assembly;
use crate::check::in_short;
use crate::forecast::describe;
use crate::table;
use crate::words::{number, rounded};

/// The band begins at this share of the lowest natural frequency: motion below
/// it is nearly static and needs no compensator.
const BELOW_LOWEST: f64 = 0.5;
/// The band ends at this multiple of the highest natural frequency that was
/// identified: a mode moves on both sides of its peak.
const ABOVE_HIGHEST: f64 = 1.5;

/// Smaller errors, %, are not told apart: every sensor's noise is larger.
const LEAST_ERROR: f64 = 0.001;

/// The compensators for one interface DOF, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// All of them, and the one to take.
    pub table: Table,
    /// What they have to undo.
    pub plant: Plant,
    /// Period of the loop.
    pub step_s: f64,
    /// Where the tracking error is taken, Hz.
    pub band_hz: (f64, f64),
    /// What is known of the rest of the loop.
    pub known: KnownLoop,
}

/// What is known of the loop around the transfer system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownLoop {
    /// Nothing: samples without an experiment.
    Nothing,
    /// The experiment, with linear parts.
    Linear,
    /// The experiment; nonlinear elements count with their initial stiffness.
    SmallMotions,
}

/// Why no compensator can be designed.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum NoChoice {
    /// The fit grows.
    #[error(
        "the fitted function is unstable: there is nothing a compensator could be designed for"
    )]
    Unstable,
    /// The actuator moves against its command, or not at all.
    #[error(
        "the gain at 0 Hz is {0:.4}: no compensator is designed for an actuator that does not move \
         with its command; check the signs of command and measurement"
    )]
    Gain(f64),
    /// Command and measured motion differ by so much that their units do.
    #[error(
        "the gain at 0 Hz is {}, and that of an actuator is about 1: give command and measured \
         motion in one unit", number(*.0)
    )]
    Units(f64),
    /// So few samples a second that the times must be in another unit.
    #[error(
        "the rate is {} Hz, and no loop runs at that: give the times in seconds, or the rate by \
         --rate", number(*.0)
    )]
    Rate(f64),
    /// So much of the motion that the function does not explain, in per cent.
    #[error(
        "the function leaves {0:.1} % of the measured motion unexplained: the actuator saturates or \
         is not linear otherwise, or the sensor's noise is too large; test with a smaller command \
         where it saturates, a larger one where it is noise"
    )]
    Unexplained(f64),
}

/// Gains beyond this, or below its reciprocal, are those of different units.
const UNITS: f64 = 10.0;
/// No loop runs at a rate below this, Hz.
const LEAST_RATE_HZ: f64 = 20.0;
/// Share of the measured motion that may be left unexplained.
pub(super) const UNEXPLAINED: f64 = 0.2;

/// An interface DOF identified, and what is advised for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Advised {
    /// What was identified.
    pub result: Identified,
    /// The compensators for it.
    pub choice: Result<Choice, NoChoice>,
    /// Tells its files from those of other DOFs.
    pub suffix: String,
}

impl Advised {
    /// Judges the compensators for what was identified, in the loop of the
    /// experiment where there is one.
    pub fn new(result: Identified, suffix: String, assembly: Option<&Assembly>) -> Self {
        let choice = Choice::new(&result.found, assembly);
        Self { result, choice, suffix }
    }
}

impl Choice {
    fn new(found: &Identification, assembly: Option<&Assembly>) -> Result<Self, NoChoice> {
        if !found.fit.is_stable() {
            return Err(NoChoice::Unstable);
        }
        if found.rate_hz < LEAST_RATE_HZ {
            return Err(NoChoice::Rate(found.rate_hz));
        }
        let step_s = 1.0 / found.rate_hz;
        let plant = Plant {
            function: found.fit.function.clone(),
            delay_s: found.fit.delay_s.value,
            hold_s: match found.hold {
                Hold::Zero => step_s,
                Hold::None => 0.0,
            },
        };
        let gain = plant.dc_gain();
        if !(gain.is_finite() && gain > 0.0) {
            return Err(NoChoice::Gain(gain));
        }
        if !(1.0 / UNITS..UNITS).contains(&gain) {
            return Err(NoChoice::Units(gain));
        }
        if let Some(share) = found.residual.filter(|share| *share > UNEXPLAINED) {
            return Err(NoChoice::Unexplained(100.0 * share));
        }
        let band_hz = assembly.and_then(|of| band(found, of)).unwrap_or(found.band_hz);
        let description = assembly.map(describe);
        let task = Task { plant: &plant, step_s, band_hz, description: description.as_ref() };
        let table = tabulate(&task);
        let known = match assembly {
            None => KnownLoop::Nothing,
            Some(of) if of.substructures.whole.elements.is_empty() => KnownLoop::Linear,
            Some(_) => KnownLoop::SmallMotions,
        };
        Ok(Self { table, plant, step_s, band_hz, known })
    }

    /// The one to take; `None` if no loop is safe.
    pub fn advised(&self) -> Option<&Candidate> {
        self.table.advice.map(|index| &self.table.candidates[index])
    }

    /// Every compensator with what it leaves, the advised one marked.
    pub fn shown(&self) -> table::Table {
        let Table { candidates, advice, at_hz, .. } = &self.table;
        let judged = candidates.iter().any(|candidate| candidate.judgement.is_some());
        let small = self.known == KnownLoop::SmallMotions && judged;
        let title = format!(
            "Which compensator: tracking error from {} to {} Hz, delay left at {} Hz{}",
            rounded(self.band_hz.0),
            rounded(self.band_hz.1),
            rounded(*at_hz),
            if small { ", for small motions" } else { "" }
        );
        let rows = candidates.iter().enumerate().map(|(index, candidate)| {
            let mark = if *advice == Some(index) { " (advised)" } else { "" };
            let error = match candidate.error {
                error if error < LEAST_ERROR => format!("< {LEAST_ERROR}"),
                error => number(error),
            };
            // Adding zero takes the sign off what rounds to zero.
            let delay_left = format!("{:.3}", (1e6 * candidate.delay_left_s).round() / 1e3 + 0.0);
            [
                format!("{}{mark}", name(candidate, ", ")),
                error,
                delay_left,
                in_short(candidate.judgement.as_ref()),
            ]
        });
        let header = ["Compensator", "Tracking error [%]", "Delay left [ms]", "Delay margin [ms]"];
        let mut table = table::Table::new(&header).titled(title).filled(rows);
        table.marked = *advice;
        table
    }

    /// What is advised, and why.
    pub fn reason(&self) -> String {
        let advised = self.advised().map_or_else(|| "none".to_owned(), |one| name(one, " of "));
        format!("{advised} is advised: {}", self.table.reason)
    }
}

impl Serialize for Advised {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = to_json(&self.result);
        let (list, advice, reason) = match &self.choice {
            Err(why) => (Vec::new(), None, why.to_string()),
            Ok(choice) => {
                document["compensator_band_hz"] = json!([choice.band_hz.0, choice.band_hz.1]);
                document["delay_left_at_hz"] = json!(choice.table.at_hz);
                document["small_motions"] = json!(choice.known == KnownLoop::SmallMotions);
                let list = choice.table.candidates.iter().enumerate();
                let list = list.map(|(i, c)| candidate_json(c, choice.table.advice == Some(i)));
                let advice = choice.advised().map(|chosen| chosen.kind);
                (list.collect(), advice, choice.reason())
            }
        };
        document["compensators"] = Value::Array(list);
        document["advice"] = json!(advice);
        document["reason"] = json!(reason);
        document.serialize(serializer)
    }
}

fn candidate_json(candidate: &Candidate, advised: bool) -> Value {
    let judgement = candidate.judgement.as_ref();
    // JSON has no infinity: a loop that bears any delay is stable without a margin.
    let margin_s = judgement.and_then(Verdict::margin_s).filter(|s| s.is_finite());
    json!({
        "kind": candidate.kind,
        "order": order(candidate),
        "error_percent": candidate.error,
        "delay_left_ms": 1e3 * candidate.delay_left_s,
        "stable": judgement.map(Verdict::is_stable),
        "margin_ms": margin_s.map(|s| 1e3 * s),
        "advised": advised,
    })
}

/// The kind, and the order of a prediction.
fn name(candidate: &Candidate, between: &str) -> String {
    let order = order(candidate).map(|order| format!("{between}order {order}"));
    format!("{}{}", candidate.kind, order.unwrap_or_default())
}

/// Order of a prediction.
fn order(candidate: &Candidate) -> Option<usize> {
    match &candidate.design {
        Design::ForwardPrediction(design) => Some(design.order),
        _ => None,
    }
}

/// The part of the identified band in which the structure moves; `None` where
/// it has no natural frequency in there.
fn band(found: &Identification, assembly: &Assembly) -> Option<(f64, f64)> {
    let whole = assembly.substructures.whole.linearised();
    let modes = own_modes(&whole).ok()?;
    let (least, most) = found.band_hz;
    let inside = || modes.frequencies_hz().filter(|f| *f <= most);
    let lowest = inside().reduce(f64::min)?;
    let highest = inside().reduce(f64::max)?;
    let band = (least.max(BELOW_LOWEST * lowest), most.min(ABOVE_HIGHEST * highest));
    (band.0 < band.1).then_some(band)
}
