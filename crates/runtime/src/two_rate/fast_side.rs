//! The fast side: one point per tick, every force sent back.

use model::equations::Equations;
use model::integrator::{Method, StepWork};
use model::motion::Motion;
use model::predictor::{Design, Grid, Predictor, Surroundings};
use nalgebra::DMatrix;
use rtrb::{Consumer, Producer, RingBuffer};
use serde::Serialize;

use super::batch::{Batch, Shape};
use super::main_loop::{MainLoop, StepClock};
use super::numerical::numerical;
use super::{MOST_NUMBERS, MOST_SHOWN, MOST_TICKS, Rates, TwoRateError, TwoRateParts};
use crate::event::{Event, EventLog, What};
use crate::frame::MotionDetail;
use crate::gate::{Trip, TripKind};
use crate::interlock::Stop;
use crate::source::{Scene, not_converged};

/// A numerical part at a slower rate than that of the tick.
pub struct TwoRateModel {
    /// How the loops go together.
    pub rates: Rates,
    direct: Option<DMatrix<f64>>,
    /// Called inside the tick; elsewhere once it is detached.
    main: Option<MainLoop>,
    pub(super) samples: Producer<f64>,
    /// Batches that have come, and those that go back.
    pub(super) batches: Consumer<Box<Batch>>,
    pub(super) spare: Producer<Box<Batch>>,
    shape: Shape,
    /// How far the velocity of a batch lies behind its displacement, as a part of a period.
    lag: f64,
    sample: Vec<f64>,
    /// The tick that comes next.
    next: u64,
    /// The batch in use, and the one before it.
    pub(crate) batch: Box<Batch>,
    earlier: Box<Batch>,
    /// One that came before its time.
    waiting: Option<Box<Batch>>,
    /// Whether this tick took over a new batch.
    taken_over: bool,
    pub(crate) desired: Motion,
    /// The point a tick earlier, of the batch in use.
    before: Motion,
    /// Work of the steps taken over in this tick.
    pub(crate) work: StepWork,
    bridged: u64,
    /// The longest bridge that was noted.
    told: u64,
    /// What became of the batches.
    pub counts: Counts,
    trip: Option<Trip>,
    /// For a replay, the channel `main.batch` of a recorded run: every batch is taken at
    /// the tick at which that run took it.
    pub schedule: Option<Vec<f64>>,
}

/// What became of the batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Batches taken over.
    pub batches: u64,
    /// Batches that came after their first tick.
    pub late: u64,
    /// Ticks that had to be bridged by further points of an older batch.
    pub missing: u64,
    /// Points that were past when their batch came.
    pub erased: u64,
    /// Most ticks bridged in a row.
    pub longest_bridge: u64,
    /// Most iterations of one step of the main loop.
    pub most_iterations: u64,
}

impl TwoRateModel {
    /// Builds both loops, at rest, joined by their rings.
    pub fn new(parts: TwoRateParts) -> Result<Self, TwoRateError> {
        let TwoRateParts { rates, numerical: equations, integrator, specimen, preview, .. } = parts;
        check(&rates, integrator.method)?;
        let (loads, count) = (equations.load.ncols(), equations.interface.len());
        // A main loop that is as late as may be bridged still finds room.
        let depth = 2 * (rates.ratio + rates.bridge) + 4;
        let kept = depth / rates.ratio + 4;
        let orders = match parts.detail {
            MotionDetail::Interface => 0,
            MotionDetail::Displacement => 1,
            MotionDetail::Full => 3,
        };
        let shape = shape(&rates, equations, orders, kept)?;
        let grid = rates.grid(integrator.step_s);
        let surroundings = Surroundings { numerical: equations, specimen };
        let mut predictor = Predictor::new(&rates.predictor, grid, count, &surroundings)?;
        if shape.whole > 0 {
            let every_tick = Grid { first: rates.task_ticks as f64, points: rates.ratio, ..grid };
            predictor.tabulate(&surroundings, every_tick, orders)?;
        }
        let (samples, taken) = RingBuffer::new(depth * shape.sample());
        let (sent, batches) = RingBuffer::new(kept + 4);
        let (mut spare, returned) = RingBuffer::new(kept + 4);
        // One is being made and one may wait; two more are in use from the start.
        for _ in 0..kept + 2 {
            let _ = spare.push(Batch::new(shape));
        }
        let numerical = numerical(equations, integrator, &rates)?;
        let lag = numerical.velocity_lag_s() / (rates.ratio as f64 * integrator.step_s);
        let main = MainLoop {
            rates,
            numerical,
            ahead: vec![0.0; predictor.rows_ahead() * loads],
            predictor,
            samples: taken,
            batches: sent,
            spare: returned,
            shape,
            clock: rates.step_time.map(|time| StepClock::new(time, integrator.step_s, parts.seed)),
            preview,
            rows: vec![0.0; (rates.ratio + 1) * (loads + count)],
            filled: 0,
            sample: vec![0.0; shape.sample()],
            tick: 0,
            ended: false,
        };
        Ok(Self {
            rates,
            direct: parts.direct_inertia,
            main: Some(main),
            samples,
            batches,
            spare,
            shape,
            lag,
            sample: vec![0.0; shape.sample()],
            next: 0,
            batch: Batch::new(shape),
            earlier: Batch::new(shape),
            waiting: None,
            taken_over: false,
            desired: Motion::rest(count),
            before: Motion::rest(count),
            work: StepWork::default(),
            bridged: 0,
            told: 0,
            counts: Counts::default(),
            trip: None,
            schedule: None,
        })
    }

    /// Takes the main loop out, for a thread of its own. Rehearsed step times
    /// end with it: a real clock tells. `None` where the main loop has no task
    /// time and must be called inside the tick, or is out already.
    pub fn detach_main(&mut self) -> Option<MainLoop> {
        if self.rates.task_ticks == 0 {
            return None;
        }
        let mut main = self.main.take()?;
        main.clock = None;
        Some(main)
    }

    /// The tick whose instant [`displacement`](Self::displacement) shows.
    pub fn state_tick(&self) -> u64 {
        self.batch.number * self.rates.ratio as u64
    }

    /// Ticks since that instant.
    pub(crate) fn age(&self) -> u64 {
        self.next.saturating_sub(1).saturating_sub(self.state_tick())
    }

    /// Displacement of every DOF at the newest instant taken over.
    pub fn displacement(&self) -> &[f64] {
        &self.batch.displacement
    }

    /// Whether a batch is in use: before the first everything is at rest.
    fn has_begun(&self) -> bool {
        self.counts.batches > 0
    }

    /// Where a new batch begins: what it would have asked for a tick earlier.
    pub(crate) fn new_prediction(&self) -> Option<&Motion> {
        self.taken_over.then_some(&self.before)
    }

    /// At rest under the load of the first instant.
    pub(crate) fn rest(&mut self, load: &[f64]) {
        if let Some(main) = &mut self.main {
            main.numerical.rest(load);
        }
    }

    /// One tick: choose the point, measure, send the force back.
    pub(crate) fn measure(&mut self, load: &[f64], scene: &mut Scene<'_>) -> Result<(), Stop> {
        let tick = self.next;
        self.next += 1;
        (self.taken_over, self.work) = (false, StepWork::default());
        let first = self.rates.task_ticks > 0;
        if first {
            self.choose(tick);
        }
        let measured = &mut *scene.measured;
        let health = scene.rig.measure(&self.desired, measured);
        if let Some(direct) = &self.direct {
            for (i, f) in measured.force.iter_mut().enumerate() {
                for (j, a) in self.desired.acceleration.iter().enumerate() {
                    *f += direct[(i, j)] * a;
                }
            }
        }
        self.send(tick, load, &measured.force);
        if let Some(main) = &mut self.main {
            main.poll();
        }
        if !first {
            self.choose(tick);
        }
        self.attend(scene.tick, scene.log)?;
        Ok(health?)
    }

    fn send(&mut self, tick: u64, load: &[f64], force: &[f64]) {
        self.sample[0] = tick as f64;
        let (own, rest) = self.sample[1..].split_at_mut(self.shape.loads);
        own.copy_from_slice(load);
        rest.copy_from_slice(force);
        if self.samples.push_entire_slice(&self.sample).is_err() {
            // The main loop is further behind than can be bridged.
            self.late(self.bridged.max(1));
        }
    }

    /// Takes over the batches whose time has come, and reads this tick's point.
    fn choose(&mut self, tick: u64) {
        let (ratio, task) = (self.rates.ratio as u64, self.rates.task_ticks as u64);
        while let Some(next) = self.waiting.take().or_else(|| self.batches.pop().ok()) {
            let due = next.number * ratio + task;
            let comes = match &self.schedule {
                Some(used) => {
                    used.get(tick as usize).is_none_or(|&number| next.number as f64 <= number)
                }
                None => next.ready <= tick,
            };
            if !comes || due > tick {
                self.waiting = Some(next);
                break;
            }
            self.take_over(next, tick - due);
        }
        let begun = self.state_tick() + task;
        if tick < begun {
            // Before the first batch: at rest.
            return;
        }
        let point = tick - begun;
        let due = if self.has_begun() { ratio } else { 0 };
        self.bridged = (point + 1).saturating_sub(due);
        if self.bridged > 0 {
            self.counts.missing += 1;
            self.counts.longest_bridge = self.counts.longest_bridge.max(self.bridged);
            if self.bridged > self.rates.bridge as u64 {
                self.late(self.bridged);
            }
        }
        if self.has_begun() {
            // The first point of a batch lies a tick before its time.
            self.desired.copy_from(self.batch.point(point as usize + 1));
            self.before.copy_from(self.batch.point(point as usize));
        }
    }

    /// A batch becomes the one in use, `past` ticks after its time.
    fn take_over(&mut self, next: Box<Batch>, past: u64) {
        let spent = std::mem::replace(&mut self.earlier, std::mem::replace(&mut self.batch, next));
        // There is room for all of them.
        let _ = self.spare.push(spent);
        let (batch, counts) = (&*self.batch, &mut self.counts);
        if counts.batches == 0 {
            // As if it had always been where it starts.
            self.earlier.displacement.copy_from_slice(&batch.displacement);
            self.earlier.velocity.copy_from_slice(&batch.velocity);
        }
        self.taken_over = true;
        self.work.dissipated += batch.work.dissipated;
        self.work.input += batch.work.input;
        self.work.feedback_held += batch.work.feedback_held;
        self.work.feedback_straight += batch.work.feedback_straight;
        counts.batches += 1;
        counts.most_iterations = counts.most_iterations.max(batch.iterations as u64);
        if past > 0 {
            counts.late += 1;
            counts.erased += past.min(self.rates.ratio as u64);
        }
        if let Some(failure) = batch.failure {
            self.trip = Some(not_converged(failure));
        }
    }

    fn late(&mut self, bridged: u64) {
        self.trip.get_or_insert(lateness(bridged, &self.rates));
    }

    /// Notes bridges, sparingly, and trips where it went on too long.
    fn attend(&mut self, tick: u64, log: &mut EventLog) -> Result<(), Trip> {
        if let Some(trip) = self.trip {
            return Err(trip);
        }
        // The first bridge is told, and each that is twice as long as any told before.
        if self.bridged > 0 && self.bridged >= 2 * self.told {
            self.told = self.bridged;
            let cause = lateness(self.bridged, &self.rates);
            log.note(Event { tick, what: What::Warning, cause });
        }
        Ok(())
    }

    /// Whether every DOF is shown between two instants as the model has it, and
    /// not by a cubic.
    pub fn shows_model(&self) -> bool {
        self.shape.whole > 0
    }

    /// Displacement (order 0), velocity (1) or acceleration (2) of every DOF at
    /// this tick, appended: as the model-based predictor has it, else the cubic
    /// through the last two instants taken over.
    pub fn show(&self, order: usize, tick_s: f64, frame: &mut Vec<f64>) {
        let ratio = self.rates.ratio as f64;
        let period_s = ratio * tick_s;
        let tick = self.next.saturating_sub(1);
        let begun = self.state_tick() + self.rates.task_ticks as u64;
        if self.has_begun()
            && let Some(point) = tick.checked_sub(begun)
            && let Some(motion) = self.batch.whole(point, order)
        {
            frame.extend_from_slice(motion);
            return;
        }
        let s = if self.has_begun() { self.age() as f64 / ratio } else { 0.0 };
        let now = self.batch.displacement.iter().zip(&self.batch.velocity);
        let earlier = self.earlier.displacement.iter().zip(&self.earlier.velocity);
        for ((d0, v0), (d1, v1)) in now.zip(earlier) {
            let (v0, v1) = (v0 * period_s, v1 * period_s);
            // Through both displacements, with both slopes `lag` before them.
            let (lag, r1) = (self.lag, d1 - d0 + v0);
            let c3 = (v1 - v0 + 2.0 * r1 + 2.0 * lag * (v0 - v1)) / (1.0 - 6.0 * lag * lag);
            let c2 = r1 + c3 + lag * (v0 - v1 + 3.0 * (1.0 + lag) * c3);
            let c1 = v0 + lag * (2.0 * c2 - 3.0 * lag * c3);
            frame.push(match order {
                0 => d0 + s * (c1 + s * (c2 + s * c3)),
                1 => (c1 + s * (2.0 * c2 + 3.0 * s * c3)) / period_s,
                _ => (2.0 * c2 + 6.0 * s * c3) / (period_s * period_s),
            });
        }
    }

    /// The values of [`Rates::channels`], appended.
    pub(crate) fn write(&self, frame: &mut Vec<f64>) {
        frame.push(if self.has_begun() { self.batch.number as f64 } else { -1.0 });
        frame.push(self.bridged as f64);
    }
}

fn lateness(bridged: u64, rates: &Rates) -> Trip {
    TripKind::MainLoopLate.trip(bridged as f64, rates.bridge as f64)
}

/// What a batch carries, and whether there is room for `kept` of them and for the tables of a
/// model-based predictor.
fn shape(
    rates: &Rates,
    equations: &Equations,
    orders: usize,
    kept: usize,
) -> Result<Shape, TwoRateError> {
    let (dofs, loads, count) =
        (equations.size(), equations.load.ncols(), equations.interface.len());
    let (points, ticks) = (rates.points(), rates.ratio);
    let mut shape = Shape { dofs, loads, count, points, ticks: 0, whole: 0 };
    let mut tables = 0.0;
    if rates.predictor == Design::ModelBased {
        // Weights of state, force and load ahead, for every point.
        let ahead = rates.task_ticks + points + 2;
        let width = (2 * dofs + count + ahead * loads) as f64;
        tables = (points * 3 * count) as f64 * width;
        let of_all = (ticks * orders * dofs) as f64 * width;
        if of_all <= MOST_SHOWN {
            (shape.ticks, shape.whole) = (ticks, orders * dofs);
            tables += of_all;
        }
    }
    let numbers = tables + kept as f64 * shape.batch() as f64;
    if numbers > MOST_NUMBERS {
        return Err(TwoRateError::TooLarge(numbers));
    }
    Ok(shape)
}

fn check(rates: &Rates, method: Method) -> Result<(), TwoRateError> {
    let Rates { ratio, task_ticks, bridge, step_time, .. } = *rates;
    if rates.predictor == Design::ModelBased
        && matches!(method, Method::ChenRicles | Method::KolayRicles { .. })
    {
        return Err(TwoRateError::ModelBasedMethod(method.name()));
    }
    if ratio == 0 || ratio > MOST_TICKS {
        return Err(TwoRateError::BadRatio(ratio));
    }
    if task_ticks > ratio {
        return Err(TwoRateError::TaskTooLong { task_ticks, ratio });
    }
    if bridge > MOST_TICKS {
        return Err(TwoRateError::BadBridge(bridge));
    }
    if step_time.is_some_and(|time| !time.is_sound()) {
        return Err(TwoRateError::BadStepTime);
    }
    Ok(())
}
