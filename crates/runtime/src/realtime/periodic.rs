//! The loop of an iterative test against the clock.
//!
//! The loop ticks in a thread of its own, at every deadline, whether anybody
//! corrects the target or not: between two points the rig goes on with the last
//! one. A point travels to that thread and back in one box, so that nothing is
//! allocated or freed there.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::periodic::{Coefficients, Orbit};
use rtrb::{Consumer, Producer, RingBuffer};

use super::deadlines::{Deadlines, Overruns};
use super::driver::Timing;
use super::grant::{self, Granted, ProcessGrant, Wish};
use super::latency::Latency;
use super::{RealtimeError, RealtimePlan};
use crate::gate::{Trip, TripKind};
use crate::periodic::{PeriodicError, PeriodicLoop, Settled};
use crate::stop::StopHandle;
use crate::system;

/// How often the other side looks for an answer.
const LOOK: Duration = Duration::from_millis(2);
const STACK_BYTES: usize = 1 << 20;

/// A point on its way: what is asked, and room for the answer.
struct Errand {
    wish: Wanted,
    frequency_hz: f64,
    target: Vec<Coefficients>,
    answer: Settled,
    /// Whether refining could help.
    helped: bool,
}

/// What is asked of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// A settled point.
    Point,
    /// The same point, averaged longer.
    Refined,
    /// Rest, and the end.
    Rest,
}

/// A loop that runs in real time in a thread of its own.
pub struct PeriodicDriver {
    requests: Producer<Box<Errand>>,
    answers: Consumer<Box<Errand>>,
    /// The box while it is here.
    errand: Option<Box<Errand>>,
    thread: Option<JoinHandle<(PeriodicLoop, Timing)>>,
    ended: Arc<AtomicBool>,
    granted: Granted,
    dofs: usize,
    harmonics: usize,
    _process: ProcessGrant,
}

impl PeriodicDriver {
    /// Starts the thread; the rig stands still until the first point. What the
    /// system refuses is noted, never an error.
    pub fn start(
        plan: &RealtimePlan,
        periodic: PeriodicLoop,
        stop: &StopHandle,
    ) -> Result<Self, RealtimeError> {
        let mut process = Granted::default();
        let grant = ProcessGrant::ask(plan, &mut process);
        let (requests, mut inbox) = RingBuffer::<Box<Errand>>::new(1);
        let (mut outbox, answers) = RingBuffer::<Box<Errand>>::new(1);
        let (dofs, harmonics) = periodic.shape();
        let errand = Errand {
            wish: Wanted::Point,
            frequency_hz: 0.0,
            target: periodic.blank_target(),
            answer: periodic.blank(),
            helped: false,
        };
        let ended = Arc::new(AtomicBool::new(false));
        let of_thread = Arc::clone(&ended);
        let (tell, told) = std::sync::mpsc::channel();
        let (plan, wish) = (*plan, Wish { priority: plan.priority, cpu: plan.cpu });
        let stop = stop.clone();
        let thread = thread::Builder::new()
            .name("tick".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let _ = tell.send(grant::for_thread("loop", wish));
                system::touch_stack();
                let mut periodic = periodic;
                let timing = drive(&mut periodic, &plan, &stop, &mut inbox, &mut outbox);
                of_thread.store(true, Ordering::Release);
                (periodic, timing)
            })
            .map_err(|source: io::Error| RealtimeError::Thread { source })?;
        let mut granted = told.recv().map_err(|_| RealtimeError::Panicked)?;
        granted.facts.append(&mut process.facts);
        granted.notices.append(&mut process.notices);
        Ok(Self {
            requests,
            answers,
            errand: Some(Box::new(errand)),
            thread: Some(thread),
            ended,
            granted,
            dofs,
            harmonics,
            _process: grant,
        })
    }

    /// What the system granted.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Asks for a point and waits until it has settled; meanwhile `look` is
    /// called now and then.
    pub fn settle(
        &mut self,
        frequency_hz: f64,
        target: &[Coefficients],
        look: impl FnMut(),
    ) -> Result<Orbit, PeriodicError> {
        let errand = self.exchange(Wanted::Point, look, |errand| {
            errand.frequency_hz = frequency_hz;
            for (mine, new) in errand.target.iter_mut().zip(target) {
                mine.0.copy_from_slice(&new.0);
            }
        })?;
        let orbit = errand.answer.orbit(self.dofs, self.harmonics);
        self.errand = Some(errand);
        orbit
    }

    /// Averages the last point on and waits; `None` if that cannot help.
    pub fn refine(&mut self, look: impl FnMut()) -> Result<Option<Orbit>, PeriodicError> {
        let errand = self.exchange(Wanted::Refined, look, |_| {})?;
        let orbit = errand.answer.orbit(self.dofs, self.harmonics);
        let helped = errand.helped;
        self.errand = Some(errand);
        orbit.map(|orbit| helped.then_some(orbit))
    }

    /// Takes the rig to rest (or waits until it is safe after a trip) and ends
    /// the thread. Gives the loop and how punctual it was.
    pub fn finish(mut self) -> Result<(PeriodicLoop, Timing), RealtimeError> {
        // A loop that has ended by itself, after a trip, takes no errand any more.
        let _ = self.exchange(Wanted::Rest, || {}, |_| {});
        let thread = self.thread.take().ok_or(RealtimeError::Panicked)?;
        thread.join().map_err(|_| RealtimeError::Panicked)
    }

    fn exchange(
        &mut self,
        wish: Wanted,
        mut look: impl FnMut(),
        fill: impl FnOnce(&mut Errand),
    ) -> Result<Box<Errand>, PeriodicError> {
        let mut errand = self.errand.take().ok_or(PeriodicError::Gone)?;
        errand.wish = wish;
        fill(&mut errand);
        self.requests.push(errand).map_err(|_| PeriodicError::Gone)?;
        loop {
            // Asked before looking: an answer may come just before the end.
            let over = self.ended.load(Ordering::Acquire)
                || self.thread.as_ref().is_none_or(JoinHandle::is_finished);
            if let Ok(errand) = self.answers.pop() {
                return Ok(errand);
            }
            if over {
                return Err(PeriodicError::Gone);
            }
            look();
            thread::sleep(LOOK);
        }
    }
}

/// The life of the loop's thread. Nothing here allocates, locks or formats once
/// the first deadline is set.
fn drive(
    periodic: &mut PeriodicLoop,
    plan: &RealtimePlan,
    stop: &StopHandle,
    inbox: &mut Consumer<Box<Errand>>,
    outbox: &mut Producer<Box<Errand>>,
) -> Timing {
    let (mut wake_up, mut execution, mut round_trip) =
        (Latency::new(), Latency::new(), Latency::new());
    let mut overruns = Overruns::default();
    let mut ended_ns = 0;
    let mut at_work: Option<Box<Errand>> = None;
    let mut deadlines = Deadlines::from_now(plan.period_s);
    let mut resting = false;
    loop {
        let deadline_ns = deadlines.next_ns();
        let begun = deadlines.wait();
        overruns.count(begun.missed, ended_ns > deadline_ns);
        if overruns.in_a_row > plan.overrun_limit {
            let (value, limit) = (overruns.in_a_row as f64, plan.overrun_limit as f64);
            periodic.stop(Trip { kind: TripKind::Overrun, dof: 0, value, limit });
        }
        if stop.presses() > 0 {
            periodic.stop_by_operator();
        }
        if at_work.is_none()
            && let Ok(mut errand) = inbox.pop()
        {
            match errand.wish {
                Wanted::Point => periodic.set(errand.frequency_hz, &errand.target),
                Wanted::Refined => errand.helped = periodic.refine(),
                Wanted::Rest => {
                    resting = true;
                    periodic.wind_down();
                }
            }
            at_work = Some(errand);
        }
        periodic.tick();
        ended_ns = system::now_ns();
        wake_up.record(begun.late_ns);
        execution.record(ended_ns - begun.at_ns);
        if let Some(nanoseconds) = periodic.round_trip_ns() {
            round_trip.record(nanoseconds);
        }
        // A trip is answered at once: the rig's way to safe needs nobody.
        let done = periodic.is_done() && !resting;
        if let Some(mut errand) = at_work.take_if(|_| done || periodic.is_at_rest() && resting) {
            periodic.write(&mut errand.answer);
            let _ = outbox.push(errand);
        }
        if periodic.is_at_rest() && (resting || periodic.tripped().is_some()) {
            break;
        }
    }
    Timing {
        wake_up,
        execution,
        round_trip,
        overruns: overruns.count,
        missed: overruns.missed,
        most_in_a_row: overruns.most_in_a_row,
        main_loop: None,
    }
}
