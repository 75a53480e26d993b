//! The slow loop.

use model::integrator::{NotConverged, StepWork};
use model::motion::Motion;
use model::predictor::{Instant, Predict, Predictor};
use rtrb::{Consumer, Producer};

use super::Rates;
use super::batch::{Batch, Head, Shape};
use super::numerical::Numerical;
use super::step_time::StepClock;
use crate::load::Load;

/// Integrator, predictor and energies of the numerical part, at the slow rate.
///
/// It belongs to the plant and is called inside the tick, or is taken out of it
/// and sits on a thread of its own. Its step does not allocate, lock or panic.
pub struct MainLoop {
    pub(super) rates: Rates,
    pub(super) numerical: Numerical,
    pub(super) predictor: Predictor,
    pub(super) samples: Consumer<f64>,
    pub(super) batches: Producer<f64>,
    pub(super) shape: Shape,
    /// Rehearsed step times, in virtual time alone.
    pub(super) clock: Option<StepClock>,
    /// The load ahead, where it is known.
    pub(super) preview: Option<Load>,
    /// Load and force of every tick of the period, one row each.
    pub(super) rows: Vec<f64>,
    pub(super) filled: usize,
    pub(super) sample: Vec<f64>,
    /// The tick whose sample comes next.
    pub(super) tick: u64,
    /// Loads for the predictor.
    pub(super) ahead: Vec<f64>,
    pub(super) batch: Batch,
    pub(super) point: Motion,
    pub(super) ended: bool,
}

/// What a call of [`MainLoop::poll`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainState {
    /// The samples of a step are not all there yet.
    Waiting,
    /// A step was taken and its batch sent.
    Stepped,
    /// A step did not settle, or the tick does not take batches any more:
    /// nothing follows.
    Ended,
}

impl MainLoop {
    /// Takes samples in, and does one step if all of its samples are there.
    /// Never waits.
    pub fn poll(&mut self) -> MainState {
        if self.ended {
            return MainState::Ended;
        }
        while self.samples.pop_entire_slice(&mut self.sample).is_ok() {
            if self.sample[0] != self.tick as f64 {
                // Samples were lost, and the numerical part cannot go on.
                self.ended = true;
                return MainState::Ended;
            }
            self.keep();
            if self.tick.is_multiple_of(self.rates.ratio as u64) {
                self.step();
                self.tick += 1;
                return if self.ended { MainState::Ended } else { MainState::Stepped };
            }
            self.tick += 1;
        }
        MainState::Waiting
    }

    /// Number of samples that are waiting to be taken in.
    pub fn backlog(&self) -> usize {
        self.samples.slots() / self.shape.sample()
    }

    /// The period of its steps, in ticks.
    pub fn ratio(&self) -> usize {
        self.rates.ratio
    }

    /// Load and force of this tick into its row.
    fn keep(&mut self) {
        let width = self.shape.loads + self.shape.count;
        let at = self.filled * width;
        self.rows[at..at + width].copy_from_slice(&self.sample[1..]);
        self.filled += 1;
    }

    /// One step: integrate, predict, send.
    fn step(&mut self) {
        let width = self.shape.loads + self.shape.count;
        let number = self.tick / self.rates.ratio as u64;
        let stepped = if self.filled > 1 {
            self.numerical.advance(&self.rows[..self.filled * width], width)
        } else {
            Ok(StepWork::default())
        };
        // The end of this period is the start of the next.
        let last = (self.filled - 1) * width;
        self.rows.copy_within(last..last + width, 0);
        self.filled = 1;
        self.numerical.equilibrium(&self.rows[..width]);
        self.predict();
        self.send(number, stepped);
    }

    fn predict(&mut self) {
        let loads = self.shape.loads;
        if loads > 0 {
            for (row, ahead) in self.ahead.chunks_exact_mut(loads).enumerate() {
                ahead.copy_from_slice(match &self.preview {
                    Some(load) => load.at(self.tick as usize + row),
                    None => &self.rows[..loads],
                });
            }
        }
        let force = &self.rows[loads..loads + self.shape.count];
        self.predictor.observe(&Instant {
            interface: self.numerical.interface(),
            displacement: self.numerical.displacement(),
            velocity: self.numerical.velocity(),
            force,
            load: &self.ahead,
        });
        for point in 0..self.shape.points {
            self.predictor.point(point, &mut self.point);
            self.batch.set_point(point, &self.point);
        }
        if self.shape.whole > 0 {
            for tick in 0..self.shape.ticks {
                self.predictor.whole(tick, self.batch.whole_mut(tick));
            }
        }
    }

    fn send(&mut self, number: u64, stepped: Result<StepWork, NotConverged>) {
        let iterations = self.numerical.iterations();
        let ready = match &mut self.clock {
            Some(clock) => clock.ready(self.tick, iterations),
            None => 0,
        };
        self.batch.set_state(self.numerical.displacement(), self.numerical.velocity());
        self.batch.set_head(&Head {
            number,
            ready,
            iterations,
            failure: stepped.err(),
            work: stepped.unwrap_or_default(),
            elements: self.numerical.element_energy(),
        });
        let sent = self.batches.push_entire_slice(&self.batch.row);
        self.ended = stepped.is_err() || sent.is_err();
    }

    /// At rest under the load of the first instant; not in the loop.
    pub(super) fn rest(&mut self, load: &[f64]) {
        while self.samples.pop_entire_slice(&mut self.sample).is_ok() {}
        self.numerical.rest(load);
        self.predictor.reset();
        self.filled = 0;
        self.tick = 0;
        self.ended = false;
    }
}
