//! Where points are asked for while the loop runs in real time.
//!
//! The loop ticks at every deadline, whether anybody corrects the target or not:
//! between two points the rig goes on with the last one. A point travels to the
//! loop and back in one box, so that nothing is allocated or freed in the tick.

use model::periodic::{Coefficients, Orbit};
use rtrb::{Consumer, Producer, RingBuffer};

use super::{PeriodicError, PeriodicSource};
use crate::gate::Trip;

/// A point on its way: what is asked, and room for the answer.
pub(crate) struct Errand {
    pub(crate) wanted: Wanted,
    pub(crate) frequency_hz: f64,
    pub(crate) target: Vec<Coefficients>,
    pub(crate) answer: Orbit,
    /// Why there is none.
    pub(crate) trip: Option<Trip>,
    /// Whether refining could help.
    pub(crate) helped: bool,
}

impl Errand {
    /// What the point has given.
    pub(crate) fn orbit(&self) -> Result<Orbit, PeriodicError> {
        match self.trip {
            Some(trip) => Err(PeriodicError::Tripped(trip)),
            None => Ok(self.answer.clone()),
        }
    }
}

/// What is asked of the loop.
pub(crate) enum Wanted {
    /// A settled point.
    Point,
    /// The same point, averaged longer.
    Refined,
    /// Rest, and the end.
    Rest,
}

/// The loop's side.
pub(crate) struct Desk {
    requests: Consumer<Box<Errand>>,
    answers: Producer<Box<Errand>>,
    at_work: Option<Box<Errand>>,
}

/// Both sides: the loop's, and where requests go in and answers come out.
pub(crate) fn desk() -> (Desk, Producer<Box<Errand>>, Consumer<Box<Errand>>) {
    let (asks, requests) = RingBuffer::new(1);
    let (answers, answered) = RingBuffer::new(1);
    (Desk { requests, answers, at_work: None }, asks, answered)
}

impl PeriodicSource {
    /// Takes up what is asked for, if anything is.
    pub(super) fn take_errand(&mut self) {
        let Some(desk) = self.desk.as_mut().filter(|desk| desk.at_work.is_none()) else { return };
        let Ok(mut errand) = desk.requests.pop() else { return };
        match errand.wanted {
            Wanted::Point => self.set(errand.frequency_hz, &errand.target),
            Wanted::Refined => errand.helped = self.refine(),
            Wanted::Rest => self.rest(),
        }
        if let Some(desk) = &mut self.desk {
            desk.at_work = Some(errand);
        }
    }

    /// Answers what was asked for.
    pub(super) fn answer(&mut self, trip: Option<Trip>) {
        let Some(mut desk) = self.desk.take() else { return };
        if let Some(mut errand) = desk.at_work.take() {
            self.report(&mut errand.answer);
            errand.trip = trip;
            let _ = desk.answers.push(errand);
        }
        self.desk = Some(desk);
    }
}
