//! Which compensator suits a transfer system and the loop it stands in.
//!
//! Every compensator is judged as it will run: sampled, behind the hold of the
//! command, in front of the held force. Those that adapt are judged after they
//! have learnt, as the best their form can do in the band.

mod response;

use std::f64::consts::TAU;

use model::compensator::{Design, FirstOrderDesign, ForwardPredictionDesign, PiLeadDesign};
use model::transfer::TransferSystem;

use crate::compensator_design::{self as formula, Plant, inverse_design};
use crate::loop_stability::modes::own_modes;
use crate::loop_stability::{LoopDescription, OpenLoop, Verdict, judge};
use numerics::Complex;
use response::{Tracking, best_inverse};

/// What a compensator is chosen for.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The transfer system, as identified.
    pub plant: &'a Plant,
    /// Period of the loop.
    pub step_s: f64,
    /// Lowest and highest frequency that matters, Hz.
    pub band_hz: (f64, f64),
    /// The loop it shall work in, where that is known and linear; its transfer
    /// system and its compensator do not count.
    pub description: Option<&'a LoopDescription>,
}

/// One compensator and what is expected of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its name in the file.
    pub kind: &'static str,
    /// Whether it learns.
    pub learning: Learning,
    /// With the numbers it should have, or will have learnt.
    pub design: Design,
    /// Root mean square of |achieved/desired − 1| over the band, %.
    pub error: f64,
    /// Delay left at [`Table::at_hz`], s; negative leads.
    pub delay_left_s: f64,
    /// The loop with it, where the rest of the loop is known.
    pub judgement: Option<Verdict>,
}

/// Whether a compensator learns while the test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learning {
    /// Its numbers stay.
    Fixed,
    /// It is judged by what it will have learnt.
    Adaptive,
}

/// All candidates, and the one to take.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// In the order of their kinds.
    pub candidates: Vec<Candidate>,
    /// Index of the one to take; `None` if no loop bears a period of further delay.
    pub advice: Option<usize>,
    /// Why.
    pub reason: String,
    /// Where the delay left is read, Hz.
    pub at_hz: f64,
}

/// Errors closer than this share of each other are the same.
const ALIKE: f64 = 0.1;
/// An error below this, in per cent, drowns in any sensor's noise.
const ENOUGH: f64 = 0.05;

/// Tabulates the compensators for a task.
pub fn tabulate(task: &Task<'_>) -> Table {
    let at_hz = task.description.and_then(first_mode_hz).unwrap_or(task.middle_hz());
    let known = task.in_loop();
    let candidate = |design| candidate(task, known.as_ref(), design, at_hz);
    let candidates: Vec<Candidate> =
        designs(task, at_hz).into_iter().filter_map(candidate).collect();
    let advice = best(&candidates, task.step_s);
    let reason = reason(&candidates, advice, task);
    Table { candidates, advice, reason, at_hz }
}

impl Task<'_> {
    fn middle_hz(&self) -> f64 {
        0.5 * (self.band_hz.0 + self.band_hz.1)
    }

    /// The loop with the identified transfer system and no compensator.
    fn in_loop(&self) -> Option<(LoopDescription, OpenLoop)> {
        let declared = self.description?;
        let samples = self.plant.delay_s / declared.integrator.step_s;
        let function = self.plant.function.clone();
        let description = LoopDescription {
            transfer_system: TransferSystem::TransferFunction { function, samples },
            compensator: Design::None,
            ..declared.clone()
        };
        let open = OpenLoop::sampled(&description).ok()?;
        Some((description, open))
    }
}

/// The lowest natural frequency of the whole structure, Hz.
fn first_mode_hz(description: &LoopDescription) -> Option<f64> {
    let LoopDescription { numerical, specimen, .. } = description;
    own_modes(&numerical.joined(&specimen.matrices)).ok()?.frequencies_hz().next()
}

/// Every kind with its numbers, or those it will have learnt.
fn designs(task: &Task<'_>, at_hz: f64) -> Vec<(&'static str, Learning, Design)> {
    let plant = task.plant;
    let mut found = vec![("none", Learning::Fixed, Design::None)];
    let mut fixed = |kind, design| found.push((kind, Learning::Fixed, design));
    let gain = 1.0 / plant.dc_gain();
    if let Some(alpha) = formula::sampled_alpha(plant, at_hz, task.step_s) {
        let design = FirstOrderDesign { gain, lead_s: (alpha - 1.0) * task.step_s };
        fixed("first_order", Design::FirstOrder(design));
    }
    fixed("inverse", inverse_design(formula::inverse(plant, 4)));
    let delay_s = formula::prediction_delay_s(plant, at_hz);
    if delay_s > 0.0 {
        for order in 1..=4 {
            let design = ForwardPredictionDesign { order, delay_s, gain };
            fixed("forward_prediction", Design::ForwardPrediction(design));
        }
    }
    fixed("pi_lead", Design::PiLead(PiLeadDesign::BENCHMARK));
    let learnt = |(kind, terms)| {
        Some((kind, Learning::Adaptive, inverse_design(best_inverse(task, terms)?)))
    };
    found.extend(Design::adaptive().filter_map(learnt));
    found
}

fn candidate(
    task: &Task<'_>,
    known: Option<&(LoopDescription, OpenLoop)>,
    (kind, learning, design): (&'static str, Learning, Design),
    at_hz: f64,
) -> Option<Candidate> {
    let tracking = Tracking::new(task, &design)?;
    let of_frequency = |hertz: f64| tracking.at(Complex::new(0.0, TAU * hertz));
    const POINTS: usize = 200;
    let (low, high) = task.band_hz;
    let squares: f64 = (0..POINTS)
        .map(|i| low + (high - low) * (i as f64 + 0.5) / POINTS as f64)
        .map(|hertz| (of_frequency(hertz) - 1.0).norm_sqr())
        .sum();
    let judgement = known.and_then(|(description, open)| {
        let compensator = design.clone();
        let changed = LoopDescription { compensator, ..description.clone() };
        judge(&open.recompensated(&changed).ok()?).ok()
    });
    Some(Candidate {
        kind,
        learning,
        design,
        error: 100.0 * (squares / POINTS as f64).sqrt(),
        delay_left_s: formula::followed_lag_rad(0.0, Complex::ONE, at_hz, of_frequency)
            / (TAU * at_hz),
        judgement,
    })
}

/// The smallest error among the safe; of those alike, the one that adapts. Safe is
/// a loop that is stable and stays so if a sample comes one period late.
fn best(candidates: &[Candidate], step_s: f64) -> Option<usize> {
    let safe = |candidate: &Candidate| {
        let bears = |loop_: Verdict| loop_.margin_s().is_some_and(|margin_s| margin_s >= step_s);
        candidate.judgement.is_none_or(bears)
    };
    let smallest = candidates
        .iter()
        .filter(|candidate| safe(candidate) && candidate.error.is_finite())
        .map(|candidate| candidate.error)
        .reduce(f64::min)?;
    let alike = |candidate: &Candidate| {
        safe(candidate) && candidate.error <= (smallest * (1.0 + ALIKE)).max(ENOUGH)
    };
    let position = |wanted: &dyn Fn(&Candidate) -> bool| candidates.iter().position(wanted);
    position(&|c| alike(c) && c.kind == "adaptive_inverse")
        .or_else(|| position(&|c| alike(c) && c.learning == Learning::Adaptive))
        .or_else(|| position(&|c| safe(c) && c.error == smallest))
}

/// An error in per cent, as far as it means anything.
pub fn percent(error: f64) -> String {
    if error < 0.001 { "less than 0.001".to_owned() } else { format!("{error:.3}") }
}

fn reason(candidates: &[Candidate], advice: Option<usize>, task: &Task<'_>) -> String {
    let Some(chosen) = advice.map(|index| &candidates[index]) else {
        return "with none of them is the loop predicted to be stable and to bear one period of \
                further delay: change the partition, or use a faster actuator"
            .into();
    };
    let mut words = format!(
        "a tracking error of {} % between {:.3} and {:.3} Hz is predicted",
        percent(chosen.error),
        task.band_hz.0,
        task.band_hz.1
    );
    let grows =
        |candidate: &&Candidate| candidate.judgement.is_some_and(|loop_| !loop_.is_stable());
    let unstable = candidates.iter().filter(grows).count();
    if unstable > 0 {
        words += &format!("; {unstable} of {} would make the loop unstable", candidates.len());
    }
    if let Some(margin_s) = chosen.judgement.and_then(|loop_| loop_.margin_s()) {
        words += &if margin_s.is_finite() {
            format!("; delay margin {:.2} ms", 1e3 * margin_s)
        } else {
            "; no delay makes the loop unstable".to_owned()
        };
    }
    words += if chosen.learning == Learning::Adaptive {
        "; and it follows a transfer system that changes, which no fixed one does"
    } else {
        "; no adaptive one does as well"
    };
    words
}

#[cfg(test)]
mod tests;
