//! Whether a loop fits its period on this machine, and what would.

use std::thread::sleep;
use std::time::{Duration, Instant};

use model::integrator::Integrator;
use runtime::realtime::Latency;

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

/// What the tick costs here, and what of it could move into a slower loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Period of the tick.
    pub period_s: f64,
    /// The whole tick, the virtual rig included.
    pub tick: Cost,
    /// The step of the numerical part alone.
    pub numerical: Cost,
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
        Ok(Self {
            period_s: assembly.integrator.step_s,
            tick: tick_cost(assembly)?,
            numerical: numerical_cost(assembly)?,
        })
    }

    /// Share of the period that the tick needs, the margin included.
    pub fn share(&self) -> f64 {
        MARGIN * self.tick.p99_s / self.period_s
    }

    /// Whether the tick fits its period.
    pub fn fits(&self) -> bool {
        self.share() <= 1.0
    }

    /// The smallest ratio of main loop period to rig period at which both would
    /// fit: 1 if the loop fits as it is, `None` if what must stay in the tick
    /// does not fit by itself.
    pub fn ratio(&self) -> Option<u64> {
        if self.fits() {
            return Some(1);
        }
        let outer_s = (self.tick.p99_s - self.numerical.p99_s).max(0.0);
        let ratio = (MARGIN * self.numerical.p99_s / self.period_s).ceil().max(2.0);
        (MARGIN * outer_s <= self.period_s && ratio <= MOST_RATIO).then_some(ratio as u64)
    }
}

/// Times `once` again and again; it says when there is no more to do.
fn timed(mut once: impl FnMut() -> bool) -> Cost {
    let mut latency = Latency::new();
    let start = Instant::now();
    while latency.count() < TRIAL_TICKS {
        sleep(SLEEP);
        let begun = Instant::now();
        if !once() {
            break;
        }
        latency.record(begun.elapsed().as_nanos() as u64);
        if latency.count() >= FEWEST_TICKS && start.elapsed().as_secs_f64() > TRIAL_S {
            break;
        }
    }
    let at = |share: f64| 1e-9 * latency.quantile_ns(share) as f64;
    Cost { p50_s: at(0.5), p99_s: at(0.99) }
}

fn tick_cost(assembly: &Assembly) -> Result<Cost, PlantError> {
    let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
    let mut hybrid = assembly.hybrid_loop(assembly.plant()?, assembly.load(), options);
    Ok(timed(|| {
        let over = hybrid.is_over();
        if !over {
            hybrid.tick();
        }
        !over
    }))
}

/// The numerical part under its load and without a specimen.
fn numerical_cost(assembly: &Assembly) -> Result<Cost, PlantError> {
    let mut numerical = Integrator::new(&assembly.substructures.numerical, &assembly.integrator)?;
    let load = assembly.load();
    numerical.rest(load.at(0));
    let mut force = vec![0.0; assembly.count()];
    let (mut tick, last) = (0, load.ticks());
    Ok(timed(|| {
        force.fill(0.0);
        numerical.equilibrium(load.at(tick), &mut force);
        let settled = numerical.advance(load.at(tick), load.at(tick + 1), &force).is_ok();
        tick += 1;
        settled && tick < last
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(tick_us: f64, numerical_us: f64) -> Fit {
        let cost = |us: f64| Cost { p50_s: 1e-6 * us, p99_s: 1e-6 * us };
        Fit { period_s: 1e-3, tick: cost(tick_us), numerical: cost(numerical_us) }
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
}
