//! How long a step of the main loop takes, for rehearsals.

use model::rates::StepTime;
use numerics::random::Stream;

/// Says at which tick a step would be finished, one step after the other.
#[derive(Debug, Clone)]
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
    use super::*;

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
