//! From the declared phases and stream to the runtime's, in ticks.

use model::channel::Channel;
use runtime::hybrid_loop::HybridLoop;
use runtime::hybrid_loop::course::{Completing, CoursePlan, Initiating, Rest};
use runtime::streamed_load::{StreamPlan, StreamedLoad};

use super::Assembly;
use experiment::excitation::SignalSource;
use experiment::{Experiment, PerDof};

/// The course, if there is more to the test than its load.
pub(super) fn plan(experiment: &Experiment) -> Option<CoursePlan> {
    let spec = &experiment.phases;
    if spec.initiating.is_none() && spec.completing.is_none() {
        return None;
    }
    let ticks = |time_s: f64| up(time_s, experiment.integrator.rate_hz());
    // No phase is faster than the gate allows.
    let fastest = match &experiment.limits.rate {
        None => f64::INFINITY,
        Some(PerDof::All(rate)) => *rate,
        Some(PerDof::Each(rates)) => rates.iter().copied().fold(f64::INFINITY, f64::min),
    };
    Some(CoursePlan {
        initiating: spec.initiating.map(|spec| {
            let rate_m_s = spec.rate_m_s.min(fastest);
            let fetch_ticks = ticks(spec.reach_m / rate_m_s) + 1;
            let settle_ticks = ticks(spec.settle_s);
            // The load begins at a tick that has a frame, so that what is known
            // of it beforehand stands in the right row.
            let late = (fetch_ticks + settle_ticks) % experiment.record.every;
            let more = if late == 0 { 0 } else { experiment.record.every - late };
            Initiating {
                rate_m_s,
                reach_m: spec.reach_m,
                fetch_ticks: fetch_ticks + more,
                settle_ticks,
                within_m: spec.within_m,
            }
        }),
        completing: spec.completing.map(|spec| Completing {
            ring_down_ticks: ticks(spec.ring_down_s),
            rest: spec
                .at_rest_m
                .map(|within_m| Rest { within_m, ticks: ticks(spec.rest_for_s).max(1) }),
            home_rate_m_s: spec.home_rate_m_s.min(fastest),
        }),
    })
}

/// Ticks in which the load goes to zero after its end.
pub(super) fn ease_ticks(experiment: &Experiment) -> usize {
    let ease_s = experiment.phases.completing.map_or(0.0, |spec| spec.ease_s);
    up(ease_s, experiment.integrator.rate_hz()).max(1) as usize
}

/// How the load arrives, if it is streamed.
pub(super) fn stream(experiment: &Experiment) -> Option<StreamPlan> {
    let excitation = &experiment.excitation;
    let spec = excitation.stream?;
    let tick_hz = experiment.integrator.rate_hz();
    let bound = |signal: &SignalSource| match signal {
        SignalSource::Streamed(streamed) => streamed.bound,
        _ => f64::INFINITY,
    };
    Some(StreamPlan {
        bounds: excitation.signals().map(bound).collect(),
        ticks_per_sample: (tick_hz / spec.rate_hz).round().max(1.0) as usize,
        buffer_samples: up(spec.buffer_s, spec.rate_hz).max(2) as usize,
        prefill_samples: up(spec.prefill_s, spec.rate_hz).max(2) as usize,
        bridge_ticks: up(spec.bridge_s, tick_hz).max(1) as usize,
        ease_ticks: ease_ticks(experiment),
        patience_ticks: up(spec.patience_s, tick_hz),
    })
}

/// A time in whole periods; one that is whole must not gain one to rounding.
fn up(time_s: f64, rate_hz: f64) -> u64 {
    (time_s * rate_hz - 1e-6).ceil().max(0.0) as u64
}

/// The channel `phase` has more to say in a test with a course.
pub(super) fn describe_phases(channels: &mut [Channel]) {
    if let Some(phase) = channels.iter_mut().find(|channel| channel.name == "phase") {
        phase.description = "0 running, 1 holding after a trip, 2 ramping to safe, 3 safe, 4 \
                             initiating, 5 completing: ringing down, 6 completing: going home"
            .to_owned();
    }
}

impl Assembly {
    /// The whole test: a loop with what comes before and after its load. Whoever
    /// runs a test, for a record or for a row of a sweep, runs this one.
    pub fn whole_test(&self, hybrid: HybridLoop, stream: Option<StreamedLoad>) -> HybridLoop {
        match self.course {
            Some(plan) => hybrid.along(plan, stream),
            None => hybrid,
        }
    }

    /// Ticks before the load, where that is known beforehand.
    pub fn ticks_before(&self) -> u64 {
        let initiating = self.course.and_then(|plan| plan.initiating);
        initiating.map_or(0, |plan| plan.fetch_ticks + plan.settle_ticks)
    }

    /// Most ticks of the whole test, but for the way home.
    pub fn most_ticks(&self) -> u64 {
        let completing = self.course.and_then(|plan| plan.completing);
        self.ticks_before() + self.ticks as u64 + completing.map_or(0, |plan| plan.ring_down_ticks)
    }
}
