//! The slow loop.

use model::integrator::StepWork;
use model::predictor::{Instant, Predictor};
use numerics::random::Stream;
use rtrb::{Consumer, Producer};

use super::batch::{Batch, Shape};
use super::numerical::{Newest, Numerical};
use super::{Rates, StepTime};
use crate::load::Load;

/// Integrator, predictor and energies of the numerical part, at the slow rate.
///
/// It belongs to the plant and is called inside the tick, or is taken out of it
/// and sits on a thread of its own. Its step does not allocate, lock or panic.
pub struct MainLoop {
    pub(crate) rates: Rates,
    pub(super) numerical: Box<dyn Numerical>,
    pub(super) predictor: Predictor,
    pub(super) samples: Consumer<f64>,
    /// Batches on their way to the tick, and those that have come back.
    pub(super) batches: Producer<Box<Batch>>,
    pub(super) spare: Consumer<Box<Batch>>,
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

    /// Load and force of this tick into its row.
    fn keep(&mut self) {
        let width = self.shape.loads + self.shape.count;
        let at = self.filled * width;
        self.rows[at..at + width].copy_from_slice(&self.sample[1..]);
        self.filled += 1;
    }

    /// One step: integrate, predict, send.
    fn step(&mut self) {
        let Ok(mut batch) = self.spare.pop() else {
            // The tick is further behind than can be bridged.
            self.ended = true;
            return;
        };
        let width = self.shape.loads + self.shape.count;
        let stepped = if self.filled > 1 {
            self.numerical.advance(&self.rows[..self.filled * width])
        } else {
            Ok(StepWork::default())
        };
        // The end of this period is the start of the next.
        let last = (self.filled - 1) * width;
        self.rows.copy_within(last..last + width, 0);
        self.filled = 1;
        self.numerical.equilibrium(&self.rows[..width]);
        self.predict(&mut batch);
        let Newest { displacement, velocity, iterations, elements, .. } = self.numerical.newest();
        batch.number = self.tick / self.rates.ratio as u64;
        batch.ready = self.clock.as_mut().map_or(0, |clock| clock.ready(self.tick, iterations));
        (batch.iterations, batch.elements) = (iterations, elements);
        (batch.failure, batch.work) = (stepped.err(), stepped.unwrap_or_default());
        batch.displacement.copy_from_slice(displacement);
        batch.velocity.copy_from_slice(velocity);
        self.ended = self.batches.push(batch).is_err() || stepped.is_err();
    }

    fn predict(&mut self, batch: &mut Batch) {
        let loads = self.shape.loads;
        if loads > 0 {
            for (row, ahead) in self.ahead.chunks_exact_mut(loads).enumerate() {
                ahead.copy_from_slice(match &self.preview {
                    Some(load) => load.at(self.tick as usize + row),
                    None => &self.rows[..loads],
                });
            }
        }
        let Newest { interface, displacement, velocity, .. } = self.numerical.newest();
        let (force, load) = (&self.rows[loads..loads + self.shape.count], &self.ahead[..]);
        self.predictor.observe(&Instant { interface, displacement, velocity, force, load });
        for (index, point) in batch.points.iter_mut().enumerate() {
            self.predictor.point(index, point);
        }
        for (tick, motion) in batch.whole.iter_mut().enumerate() {
            self.predictor.whole(tick, motion);
        }
    }
}

/// Says at which tick a step would be finished, one step after the other.
pub(super) struct StepClock {
    time: StepTime,
    tick_s: f64,
    stream: Stream,
    /// When the last step was finished, in ticks.
    free: f64,
}

impl StepClock {
    pub(super) fn new(time: StepTime, tick_s: f64, seed: u64) -> Self {
        Self { time, tick_s, stream: Stream::new(seed, "main_loop.step_time"), free: 0.0 }
    }

    /// The first tick that finds the result of a step whose samples were there
    /// at tick `begin`.
    pub(super) fn ready(&mut self, begin: u64, iterations: usize) -> u64 {
        let StepTime { base_s, per_iteration_s, jitter_s } = self.time;
        let mut time_s = base_s + per_iteration_s * iterations as f64;
        if jitter_s > 0.0 {
            time_s += jitter_s * self.stream.normal().abs();
        }
        self.free = self.free.max(begin as f64) + time_s / self.tick_s;
        // A hair beyond a tick is rounding.
        (self.free - 1e-9).ceil().max(begin as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use model::equations::{Equations, RelativeDof};
    use model::integrator::{Integrator, Method, Options};
    use model::predictor::{Design, Stages, Surroundings};
    use model::specimen::Specimen;
    use nalgebra::{DMatrix, DVector};
    use numerics::second_order::SecondOrder;

    use super::super::{ForceUse, Lead, TwoRateModel, TwoRateParts};
    use super::*;
    use crate::frame::MotionDetail;

    const STEP_S: f64 = 1e-3;

    fn numerical() -> Equations {
        Equations {
            matrices: SecondOrder {
                mass: DMatrix::from_row_slice(2, 2, &[900.0, 30.0, 30.0, 700.0]),
                damping: DMatrix::from_row_slice(2, 2, &[900.0, -300.0, -300.0, 500.0]),
                stiffness: DMatrix::from_row_slice(2, 2, &[9e5, -4e5, -4e5, 4e5]),
            },
            load: DMatrix::from_row_slice(2, 1, &[-900.0, -700.0]),
            interface: vec![RelativeDof::of_dof(0), RelativeDof { from: Some(0), to: Some(1) }],
            elements: Vec::new(),
            states: None,
        }
    }

    fn specimen() -> Specimen {
        Specimen {
            matrices: SecondOrder {
                mass: DMatrix::from_row_slice(2, 2, &[40.0, 3.0, 3.0, 25.0]),
                damping: DMatrix::from_row_slice(2, 2, &[300.0, 10.0, 10.0, 200.0]),
                stiffness: DMatrix::from_row_slice(2, 2, &[9e4, 1e4, 1e4, 7e4]),
            },
            elements: Vec::new(),
        }
    }

    /// Random forces through a main loop and through its linear form: the points of
    /// every batch to 1e-9 of the largest.
    fn compare(rates: Rates, method: Method) {
        let what = format!("{method:?} {rates:?}");
        let (numerical, specimen) = (numerical(), specimen());
        let options = Options { method, step_s: STEP_S, direct_inertia: None, iterations: 1 };
        let mut model = TwoRateModel::new(TwoRateParts {
            rates,
            numerical: &numerical,
            integrator: &options,
            specimen: &specimen,
            preview: None,
            direct_inertia: None,
            seed: 1,
            detail: MotionDetail::Interface,
        })
        .unwrap();
        model.rest(&[0.0]);
        let mut main = model.detach_main().unwrap();
        let (stepped, stepped_options) = rates.stepped(&numerical, &options);
        let integrator = Integrator::new(&stepped, &stepped_options).unwrap();
        let surroundings = Surroundings { numerical: &numerical, specimen: &specimen };
        let grid = rates.grid(STEP_S);
        let predictor = Predictor::new(&rates.predictor, grid, 2, &surroundings).unwrap();
        let form = rates.linear_form(&integrator, &predictor, STEP_S).unwrap();
        let mut state = DVector::zeros(form.step.states());
        let mut stream = Stream::new(3, "main loop");
        let send = |model: &mut TwoRateModel, tick: usize, force: [f64; 2]| {
            let sample = [tick as f64, 0.0, force[0], force[1]];
            model.samples.push_entire_slice(&sample).unwrap();
        };
        send(&mut model, 0, [0.0; 2]);
        assert_eq!(main.poll(), MainState::Stepped);
        let (mut apart, mut largest) = ([0.0f64; 3], [0.0f64; 3]);
        for period in 0..60 {
            let input = DVector::from_fn(2 * rates.ratio, |_, _| 1e4 * (stream.uniform() - 0.5));
            for tick in 0..rates.ratio {
                let force = [input[2 * tick], input[2 * tick + 1]];
                send(&mut model, period * rates.ratio + tick + 1, force);
            }
            assert_eq!(main.poll(), MainState::Stepped);
            let told = form.step.step(&mut state, &input);
            let after = &form.points * &state;
            // The last of those that have come.
            let mut batch = None;
            while let Ok(next) = model.batches.pop() {
                if let Some(spent) = batch.replace(next) {
                    model.spare.push(spent).unwrap();
                }
            }
            let batch = batch.unwrap();
            for index in 0..rates.points() {
                let point = batch.point(index);
                let signals = [&point.displacement, &point.velocity, &point.acceleration];
                for (order, found) in signals.into_iter().enumerate() {
                    for (dof, found) in found.iter().enumerate() {
                        let row = 6 * index + 2 * order + dof;
                        largest[order] = largest[order].max(found.abs());
                        for told in [told[row], after[row]] {
                            apart[order] = apart[order].max((told - found).abs());
                        }
                    }
                }
            }
            model.spare.push(batch).unwrap();
        }
        for (apart, largest) in apart.into_iter().zip(largest) {
            assert!(apart <= 1e-9 * largest && largest > 0.0, "{what}: {apart:e} of {largest:e}");
        }
    }

    #[test]
    fn a_main_loop_is_its_linear_form() {
        let rates = Rates {
            ratio: 5,
            task_ticks: 2,
            force: ForceUse::AllSamples,
            lead: Lead::HalfSample,
            bridge: 2,
            predictor: Design::Hermite,
            step_time: None,
        };
        for method in Method::all(0.6) {
            for force in [ForceUse::AllSamples, ForceUse::Average, ForceUse::Last] {
                compare(Rates { force, ..rates }, method);
            }
        }
        for predictor in [
            Design::Lagrange { order: 3, stages: Stages::One },
            Design::Lagrange { order: 2, stages: Stages::Two },
            Design::LeastSquares { order: 2, points: 7 },
            Design::PredictedAcceleration,
            Design::ModelBased,
            Design::Combined { order: 3 },
        ] {
            compare(Rates { predictor, ..rates }, Method::Newmark);
            compare(
                Rates { predictor, lead: Lead::None, ratio: 1, task_ticks: 1, ..rates },
                Method::Newmark,
            );
        }
    }

    #[test]
    fn a_long_step_makes_the_next_one_late_too() {
        let time = StepTime { base_s: 1e-3, per_iteration_s: 2e-3, jitter_s: 0.0 };
        let mut clock = StepClock::new(time, 1e-3, 1);
        assert_eq!(clock.ready(0, 0), 1);
        assert_eq!(clock.ready(5, 4), 14);
        assert_eq!(clock.ready(10, 0), 15, "it could only begin at 14");
        assert_eq!(clock.ready(20, 1), 23);
    }
}
