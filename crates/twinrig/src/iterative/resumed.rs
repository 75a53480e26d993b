//! A bench that answers from a journal as far as that goes, and then goes on by itself.
//!
//! All that a trace knows follows from what its bench was asked and answered: steps,
//! Jacobian, surrogate and error bars are computed again from the answers, so that a
//! trace that was interrupted goes on as if it had not been. A rig in this process and
//! in virtual time is driven once more through what it was asked: it then stands where
//! it stood, to the last bit. A rig elsewhere begins at rest.

use analysis::iterative::PeriodicExperiment;
use model::periodic::{Coefficients, Orbit};

use runtime::periodic::PeriodicError;
use serde::{Deserialize, Serialize};

use super::Bench;

/// What a bench was asked, and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Its number, from 0.
    pub number: usize,
    /// What was asked.
    pub request: Request,
    /// What came; none where averaging on would have gained nothing.
    pub orbit: Option<Orbit>,
}

/// What a bench is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// To bring both sides to a periodic motion.
    Apply {
        /// Hz.
        frequency_hz: f64,
        /// One for every interface DOF.
        target: Vec<Coefficients>,
    },
    /// To average on.
    Refine,
}

/// How a bench comes to where it stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// Driven through everything once more.
    Repeat,
    /// From rest to what is asked next.
    FromRest,
}

/// A bench with what it answered before.
pub struct ResumedBench<'a> {
    /// None where nothing more is asked.
    bench: Option<Bench<'a>>,
    known: Vec<Answer>,
    /// How many of them were given again.
    given: usize,
    way: Return,
    /// Whether the bench itself answers.
    live: bool,
    fresh: Vec<Answer>,
}

impl<'a> ResumedBench<'a> {
    /// Answers what is known, then asks the bench.
    pub fn new(bench: Option<Bench<'a>>, known: Vec<Answer>, way: Return) -> Self {
        Self { bench, known, given: 0, way, live: false, fresh: Vec::new() }
    }

    /// Whether all answers so far were known before.
    pub fn is_replaying(&self) -> bool {
        !self.live
    }

    /// The bench's own answers since this was last asked.
    pub fn take_answers(&mut self) -> Vec<Answer> {
        std::mem::take(&mut self.fresh)
    }

    /// The bench, when there is nothing more to ask.
    pub fn into_bench(self) -> Option<Bench<'a>> {
        self.bench
    }

    /// What was answered to this before.
    fn answered(&mut self, request: &Request) -> Option<Answer> {
        let next = self.known.get(self.given)?.clone();
        // Another machine rounds otherwise; of a course that is over it all counts.
        if next.request == *request || self.bench.is_none() {
            self.given += 1;
            return Some(next);
        }
        // What follows is of another course.
        self.known.truncate(self.given);
        None
    }

    /// Where the bench stood when it gave the last of the known answers.
    fn returned(&mut self, request: &Request) -> Result<&mut Bench<'a>, PeriodicError> {
        let bench = self.bench.as_mut().ok_or(PeriodicError::Gone)?;
        if !std::mem::replace(&mut self.live, true) {
            let last = self.known.iter().rposition(|one| one.request != Request::Refine);
            let again = match (self.way, request, last) {
                (Return::Repeat, ..) => &self.known[..],
                // Only at its target can it average on.
                (Return::FromRest, Request::Refine, Some(last)) => &self.known[last..=last],
                _ => &[],
            };
            for answer in again {
                ask(bench, &answer.request)?;
            }
        }
        Ok(bench)
    }

    fn answer(&mut self, request: Request) -> Result<Option<Orbit>, PeriodicError> {
        if let Some(known) = self.answered(&request) {
            return Ok(known.orbit);
        }
        let orbit = ask(self.returned(&request)?, &request)?;
        let answer = Answer { number: self.given, request, orbit: orbit.clone() };
        self.given += 1;
        self.known.push(answer.clone());
        self.fresh.push(answer);
        Ok(orbit)
    }
}

fn ask(bench: &mut Bench<'_>, request: &Request) -> Result<Option<Orbit>, PeriodicError> {
    match request {
        Request::Apply { frequency_hz, target } => bench.apply(*frequency_hz, target).map(Some),
        Request::Refine => bench.refine(),
    }
}

impl PeriodicExperiment for ResumedBench<'_> {
    type Error = PeriodicError;

    fn apply(
        &mut self,
        frequency_hz: f64,
        target: &[Coefficients],
    ) -> Result<Orbit, PeriodicError> {
        let request = Request::Apply { frequency_hz, target: target.to_vec() };
        self.answer(request)?.ok_or(PeriodicError::Gone)
    }

    fn refine(&mut self) -> Result<Option<Orbit>, PeriodicError> {
        self.answer(Request::Refine)
    }
}
