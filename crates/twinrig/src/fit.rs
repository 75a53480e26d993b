//! Whether a loop fits its period on this machine, and what would.

use std::thread::sleep;
use std::time::{Duration, Instant};

use model::integrator::Integrator;
use runtime::numerical::Plant;
use runtime::realtime::Latency;
use runtime::two_rate::MainState;

use crate::assembly::{Assembly, LoopOptions, PlantError, Recording};

/// A task may take this part of its period at most: the other half is for
/// waking up late, for the rig and its bus, and for a slower moment.
pub const MARGIN: f64 = 2.0;

/// Ticks timed at most, and the time after which fewer do.
const TRIAL_TICKS: u64 = 400;
const TRIAL_S: f64 = 0.5;
const FEWEST_TICKS: u64 = 20;
/// Slept before each: a tick in real time finds its code and data no longer in
/// the caches, and takes up to ten times as long as one of many in a row.
const SLEEP: Duration = Duration::from_millis(1);
/// Highest ratio that is proposed.
const MOST_RATIO: f64 = 1000.0;

/// What the tick costs here, and what the numerical part does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Period of the tick.
    pub period_s: f64,
    /// The whole tick, the virtual rig included.
    pub tick: Cost,
    /// A step of the numerical part: within the tick, or of its main loop.
    pub step: Cost,
    /// The main loop, where there is one.
    pub main_loop: Option<MainLoop>,
}

/// The time that a main loop has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MainLoop {
    /// Ticks per step.
    pub ratio: u64,
    /// Ticks that a step may take.
    pub task_ticks: u64,
}

/// What something took in a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// In the middle.
    pub p50_s: f64,
    /// In all but one in a hundred.
    pub p99_s: f64,
}

impl Fit {
    /// Times a short trial of the loop, which is no part of the test.
    pub fn measure(assembly: &Assembly) -> Result<Self, PlantError> {
        let plant = assembly.plant()?;
        // A large model is prepared once.
        let own = plant.numerical.partitioned().cloned();
        let (tick, main) = tick_costs(assembly, plant);
        let rates = main.and(assembly.rates.as_ref());
        let main_loop = rates.map(|rates| MainLoop {
            ratio: rates.ratio as u64,
            task_ticks: rates.task_ticks as u64,
        });
        let step = match (main, own) {
            (Some(step), _) => step,
            (None, Some(own)) => numerical_cost(assembly, own),
            (None, None) => {
                let numerical = &assembly.substructures.numerical;
                numerical_cost(assembly, Integrator::new(numerical, &assembly.integrator)?)
            }
        };
        Ok(Self { period_s: assembly.integrator.step_s, tick, step, main_loop })
    }

    /// Share of the period that the tick needs, the margin included.
    pub fn tick_share(&self) -> f64 {
        MARGIN * self.tick.p99_s / self.period_s
    }

    /// Share of its time that a step of a main loop needs, the margin included.
    pub fn main_share(&self) -> Option<f64> {
        let ticks = self.main_loop?.task_ticks.max(1) as f64;
        Some(MARGIN * self.step.p99_s / (ticks * self.period_s))
    }

    /// Whether every task fits its time.
    pub fn fits(&self) -> bool {
        self.tick_share() <= 1.0 && self.main_share().is_none_or(|share| share <= 1.0)
    }

    /// The smallest ratio of main loop period to rig period at which both would
    /// fit, the task taking the whole of it: 1 if a single loop fits, `None` if
    /// what must stay in the tick does not fit by itself.
    pub fn ratio(&self) -> Option<u64> {
        let main_s = self.step.p99_s;
        let (outer_s, least) = match self.main_loop {
            None if self.fits() => return Some(1),
            None => ((self.tick.p99_s - main_s).max(0.0), 2.0),
            Some(_) => (self.tick.p99_s, 1.0),
        };
        let ratio = (MARGIN * main_s / self.period_s).ceil();
        (MARGIN * outer_s <= self.period_s && ratio <= MOST_RATIO)
            .then_some(f64::max(ratio, least) as u64)
    }
}

/// Calls `once` again and again, each time after a sleep, until it or the time
/// for it ends. `once` gets the instant at which it begins, and says whether there is
/// more to time.
fn repeat(mut once: impl FnMut(Instant) -> bool) {
    let start = Instant::now();
    for done in 1..=TRIAL_TICKS {
        sleep(SLEEP);
        let late = done >= FEWEST_TICKS && start.elapsed().as_secs_f64() > TRIAL_S;
        if !once(Instant::now()) || late {
            break;
        }
    }
}

fn nanoseconds(since: Instant) -> u64 {
    since.elapsed().as_nanos() as u64
}

impl Cost {
    fn of(latency: &Latency) -> Self {
        let at = |share: f64| 1e-9 * latency.quantile_ns(share) as f64;
        Self { p50_s: at(0.5), p99_s: at(0.99) }
    }
}

/// The tick, and a step of its main loop where that may stand beside it.
fn tick_costs(assembly: &Assembly, plant: Plant) -> (Cost, Option<Cost>) {
    let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
    let mut hybrid = assembly.hybrid_loop(plant, assembly.load(), options);
    let mut main = hybrid.detach_main();
    let (mut ticks, mut steps) = (Latency::default(), Latency::default());
    repeat(|begun| {
        if hybrid.is_over() {
            return false;
        }
        hybrid.tick();
        ticks.record(nanoseconds(begun));
        if let Some(main) = &mut main {
            let begun = Instant::now();
            if main.poll() == MainState::Stepped {
                steps.record(nanoseconds(begun));
            }
        }
        true
    });
    (Cost::of(&ticks), (steps.count() > 0).then(|| Cost::of(&steps)))
}

/// A step of the numerical part under its load, without a specimen.
fn numerical_cost(assembly: &Assembly, mut numerical: Integrator) -> Cost {
    let load = assembly.load();
    numerical.rest(load.at(0));
    let mut force = vec![0.0; assembly.count()];
    let mut steps = Latency::default();
    let mut tick = 0;
    repeat(|begun| {
        force.fill(0.0);
        numerical.equilibrium(load.at(tick), &mut force);
        let settled = numerical.advance(load.at(tick), load.at(tick + 1), &force).is_ok();
        steps.record(nanoseconds(begun));
        tick += 1;
        settled && tick < load.ticks()
    });
    Cost::of(&steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(us: f64) -> Cost {
        Cost { p50_s: 1e-6 * us, p99_s: 1e-6 * us }
    }

    fn fit(tick_us: f64, numerical_us: f64) -> Fit {
        Fit { period_s: 1e-3, tick: cost(tick_us), step: cost(numerical_us), main_loop: None }
    }

    #[test]
    fn the_ratio_leaves_both_tasks_their_margin() {
        assert_eq!((fit(400.0, 390.0).fits(), fit(400.0, 390.0).ratio()), (true, Some(1)));
        assert_eq!((fit(600.0, 590.0).fits(), fit(600.0, 590.0).ratio()), (false, Some(2)));
        // 2 × 4.9 ms in steps of 1 ms.
        assert_eq!(fit(5000.0, 4900.0).ratio(), Some(10));
        assert_eq!(fit(5000.0, 4000.0).ratio(), None, "1 ms must stay in the tick");
        assert_eq!(fit(9e6, 9e6).ratio(), None);
    }

    #[test]
    fn a_main_loop_is_judged_by_the_time_it_has() {
        let two = |tick: f64, step: f64, task_ticks: u64| Fit {
            period_s: 1e-3,
            tick: cost(tick),
            step: cost(step),
            main_loop: Some(MainLoop { ratio: 10, task_ticks }),
        };
        assert!(two(100.0, 900.0, 2).fits());
        let short = two(100.0, 1400.0, 2);
        assert!(!short.fits());
        assert_eq!((short.main_share(), short.ratio()), (Some(1.4), Some(3)));
        assert_eq!(two(600.0, 100.0, 2).ratio(), None, "the tick alone is too long");
    }
}
