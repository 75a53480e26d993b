//! `Test::check`: valid, stable, how far from the boundary, fast enough?

mod document;
mod iterative;
mod page;
mod rehearsal;
pub mod tables;
mod two_rates;
mod verdict;

use std::path::Path;

use analysis::partitions::{Advice, advise};
use serde_json::Value;

pub use iterative::{Feedback, IterativeCheck};
pub use page::{DelayChart, DelayCurve, margin_numbers};
pub use rehearsal::Rehearsal;
pub(crate) use rehearsal::{Patience, rehearse};
pub(crate) use verdict::{UNSTABLE, reasons};
pub use verdict::{directions, in_short, verdict};

use crate::assembly::ReductionFacts;
use crate::error::Error;
use crate::fit::Fit;
use crate::forecast::{Forecast, Others, Stability, describe};
use crate::test::Test;
use crate::verdict::Verdict;

/// What can be said of a test before it runs.
pub enum Check {
    /// Of a closed loop.
    Loop(Box<LoopCheck>),
    /// Of a test whose loop is cut.
    Iterative(Box<IterativeCheck>),
}

/// What can be said of a closed loop before it runs.
pub struct LoopCheck {
    /// What the test is about.
    pub title: String,
    /// Names of the structure's DOFs.
    pub dof_names: Vec<String>,
    /// Number of interface DOFs.
    pub interface_dofs: usize,
    /// What became of a large structure.
    pub reduction: Option<ReductionFacts>,
    /// Ticks of the load.
    pub ticks: usize,
    /// Faults that are rehearsed, and no part of this.
    pub faults: usize,
    /// What the engineer should know of the file.
    pub warnings: Value,
    /// Stability, margins, modes.
    pub forecast: Forecast,
    /// What a tick costs here, and whether it fits its period, where that was timed.
    pub fit: Option<Fit>,
    /// What a short rehearsal says of what the prediction assumes.
    pub rehearsal: Option<Rehearsal>,
    /// What all that makes of the test.
    pub verdict: Verdict,
    /// Other partitions, where they were asked for.
    pub advice: Option<Advice>,
}

/// How much is done for an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// What the models tell.
    Models,
    /// Also what has to be tried and timed.
    Whole,
}

impl Test {
    /// Says whether the test will be stable, how far from the boundary, and whether
    /// its loop fits its period here.
    pub fn check(&self) -> Result<Check, Error> {
        self.examine(Effort::Whole)
    }

    /// The same from the models alone, for who waits: nothing is timed, rehearsed or tried.
    pub fn judge(&self) -> Result<Check, Error> {
        self.examine(Effort::Models)
    }

    fn examine(&self, effort: Effort) -> Result<Check, Error> {
        let (experiment, assembly) = (self.experiment(), self.assembly()?);
        let mut warnings = self.warnings();
        warnings.extend(experiment.missing_limits());
        if iterative::is_iterative(experiment) {
            let found = IterativeCheck::new(experiment, assembly, warnings.to_json());
            let found = found.map_err(|error| error.of_file(experiment.name()))?;
            return Ok(Check::Iterative(Box::new(found)));
        }
        let (forecast, fit, rehearsal) = match effort {
            Effort::Models => (Forecast::new(assembly, Others::Left)?, None, None),
            Effort::Whole => {
                let forecast = Forecast::new(assembly, Others::Tried)?;
                let fit = Fit::measure(assembly)?;
                let rehearsal = rehearse(self, assembly, &forecast, Patience::Endless);
                (forecast, Some(fit), rehearsal)
            }
        };
        let reasons = reasons(&forecast, &experiment.verdict);
        let found = rehearsal.as_ref().and_then(Rehearsal::reason).into_iter();
        let slow = fit.as_ref().and_then(verdict::too_slow);
        Ok(Check::Loop(Box::new(LoopCheck {
            title: experiment.title.clone(),
            dof_names: assembly.structure.names.clone(),
            interface_dofs: assembly.count(),
            reduction: self.reduction(),
            ticks: assembly.ticks,
            faults: assembly.faults.len(),
            warnings: warnings.to_json(),
            verdict: reasons.into_iter().chain(found).chain(slow).collect(),
            rehearsal,
            forecast,
            fit,
            advice: None,
        })))
    }

    /// Ranks other partitions of the structure by the delay they bear.
    pub fn advise(&self) -> Result<Advice, Error> {
        let assembly = self.assembly()?;
        Ok(advise(&assembly.structure, &assembly.partition, &describe(assembly))?)
    }
}

impl Check {
    /// Whether instability is predicted.
    pub fn is_unstable(&self) -> bool {
        matches!(self, Self::Loop(found) if found.forecast.is_unstable())
    }

    /// Whether nothing can be said of its stability.
    pub fn is_unknown(&self) -> bool {
        let unknown = |found: &LoopCheck| matches!(found.forecast.stability, Stability::Unknown(_));
        matches!(self, Self::Loop(found) if unknown(found))
    }

    /// How far the test can be trusted.
    pub fn verdict(&self) -> &Verdict {
        match self {
            Self::Loop(found) => &found.verdict,
            Self::Iterative(found) => &found.verdict,
        }
    }

    /// The damping of the modes against a further delay, where there is a loop gain.
    pub fn delay_chart(&self) -> Option<DelayChart> {
        match self {
            Self::Loop(found) => DelayChart::of(found),
            Self::Iterative(_) => None,
        }
    }

    /// Draws the loop gain and the damping against the delay into a file that ends in
    /// `.html` or `.svg`.
    pub fn plot(&self, path: &Path) -> Result<(), Error> {
        match self {
            Self::Loop(found) => page::plot(path, found),
            Self::Iterative(_) => Err(Error::NoLoopGain { reason: "the loop is cut".to_owned() }),
        }
    }
}
