//! The course of a test around its load: initiating, running, completing.
//!
//! *Initiating*: the rig is fetched from where it stands to zero at a limited
//! rate, then the command stands still until the rig has settled. The numerical
//! part is at rest and no load acts. *Running*: the test as it is without a
//! course. *Completing*: no load acts any more, the loop stays closed while the
//! structure rings down, then the command goes home to zero at a limited rate.
//!
//! A rig that does not stand where it should at the start is never commanded.

use crate::codes::codes;
use crate::gate::{Trip, TripKind};
use crate::interlock::Phase;

/// How a test begins and ends. Times are in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoursePlan {
    /// What comes before the load.
    pub initiating: Option<Initiating>,
    /// What comes after it.
    pub completing: Option<Completing>,
}

/// From where the rig stands to the start of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Initiating {
    /// How fast the command goes to zero, m/s.
    pub rate_m_s: f64,
    /// How far from zero the rig may stand, m; infinite for a rig that is not
    /// asked, and whose command begins at zero.
    pub reach_m: f64,
    /// Time to fetch it, whether it needs that or not: the load then begins at
    /// a tick that is known beforehand.
    pub fetch_ticks: u64,
    /// Time to settle.
    pub settle_ticks: u64,
    /// How near to zero it must be in the mean of the second half of that, m.
    pub within_m: f64,
}

/// From the end of the load to the end of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Completing {
    /// Longest time to ring down in the closed loop.
    pub ring_down_ticks: u64,
    /// It may be shorter.
    pub rest: Option<Rest>,
    /// How fast the command then goes to zero, m/s.
    pub home_rate_m_s: f64,
}

/// What counts as rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rest {
    /// Desired and measured displacement stay within this of zero, m.
    pub within_m: f64,
    /// For so long.
    pub ticks: u64,
}

codes! {
    /// Where a test stands in its course, and what happens there; in order.
    pub enum Stage: u8 => &'static str {
        /// The command goes from where the rig stands to zero.
        Fetching = 0 => "the rig is fetched to its start",
        /// The command stands at zero; a streamed load is waited for.
        Settling = 1 => "the rig settles at its start",
        /// The load acts.
        Running = 2 => "the load acts",
        /// The loop is closed, without load.
        RingingDown = 3 => "the load is over, the structure rings down",
        /// The command goes to zero; the numerical part has stopped.
        Homing = 4 => "the command goes home",
        /// All of it is over.
        Done = 5 => "the rig is at home",
    }
}

/// Number of stages.
const STAGES: usize = Stage::ALL.len();

impl Stage {
    /// What the channel `phase` shows.
    #[inline]
    pub fn phase(self) -> Phase {
        match self {
            Self::Fetching | Self::Settling => Phase::Initiating,
            Self::Running => Phase::Running,
            Self::RingingDown => Phase::Completing,
            Self::Homing => Phase::Homing,
            Self::Done => Phase::Safe,
        }
    }

    /// Whether the loop is closed.
    #[inline(always)]
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Running | Self::RingingDown)
    }
}

/// The plan and how far it has come.
#[derive(Debug, Clone)]
pub struct Course {
    /// What was planned.
    pub plan: CoursePlan,
    /// Where the test stands.
    pub stage: Stage,
    /// The first tick of each stage that was reached.
    begun: [Option<u64>; STAGES],
    /// Sums of the measured displacement over the second half of settling.
    sum_m: Vec<f64>,
    summed: u64,
    /// Ticks in a row at rest.
    still: u64,
}

impl Course {
    /// At its beginning, for `count` interface DOFs.
    pub fn new(plan: CoursePlan, count: usize) -> Self {
        let stage = match plan.initiating {
            Some(_) => Stage::Fetching,
            None => Stage::Settling,
        };
        let mut begun = [None; STAGES];
        begun[stage as usize] = Some(0);
        Self { plan, stage, begun, sum_m: vec![0.0; count], summed: 0, still: 0 }
    }

    /// The first tick of a stage, if it was reached.
    pub fn begun(&self, stage: Stage) -> Option<u64> {
        self.begun[stage as usize]
    }

    /// Whether the rig has settled at its start by this tick, and the load is still to begin.
    pub(super) fn has_settled(&self, tick: u64) -> bool {
        match self.stage {
            Stage::Settling => {
                let settle = self.plan.initiating.map_or(0, |plan| plan.settle_ticks);
                self.since(tick) >= settle
            }
            Stage::Fetching => self
                .plan
                .initiating
                .is_some_and(|plan| plan.settle_ticks == 0 && self.since(tick) >= plan.fetch_ticks),
            _ => false,
        }
    }

    fn enter(&mut self, stage: Stage, tick: u64) {
        self.stage = stage;
        self.begun[stage as usize] = Some(tick);
    }

    fn since(&self, tick: u64) -> u64 {
        tick - self.begun[self.stage as usize].unwrap_or(tick)
    }

    /// Before a tick: whether it begins another stage. `load_ready` says whether
    /// the load may begin, `load_over` whether it is over.
    #[inline]
    pub(super) fn turn(&mut self, tick: u64, load_ready: bool, load_over: bool) {
        // Nearly always.
        if self.stage == Stage::Running && !load_over {
            return;
        }
        if self.stage == Stage::Fetching
            && self.plan.initiating.is_none_or(|plan| self.since(tick) >= plan.fetch_ticks)
        {
            self.enter(Stage::Settling, tick);
        }
        let settle = self.plan.initiating.map_or(0, |plan| plan.settle_ticks);
        if self.stage == Stage::Settling && self.since(tick) >= settle && load_ready {
            self.enter(Stage::Running, tick);
        }
        if self.stage == Stage::Running && load_over {
            let next =
                if self.plan.completing.is_some() { Stage::RingingDown } else { Stage::Done };
            self.enter(next, tick);
        }
        if self.stage == Stage::RingingDown
            && self.plan.completing.is_none_or(|plan| {
                self.since(tick) >= plan.ring_down_ticks
                    || plan.rest.is_some_and(|rest| self.still >= rest.ticks)
            })
        {
            self.enter(Stage::Homing, tick);
        }
    }

    /// Sums up where the rig stands while it settles; in the last of the planned
    /// ticks gives the trip of an interface DOF that is not at its start.
    pub(super) fn settled(&mut self, tick: u64, measured: &[f64]) -> Option<Trip> {
        let plan = self.plan.initiating?;
        let since = self.since(tick);
        if since < plan.settle_ticks / 2 || since >= plan.settle_ticks {
            return None;
        }
        self.summed += 1;
        for (sum, x) in self.sum_m.iter_mut().zip(measured) {
            *sum += x;
        }
        if since + 1 < plan.settle_ticks {
            return None;
        }
        let mean = |sum: &f64| (sum / self.summed as f64).abs();
        let dof = self.sum_m.iter().position(|sum| mean(sum) > plan.within_m)?;
        Some(Trip { dof, ..TripKind::NotAtStart.trip(mean(&self.sum_m[dof]), plan.within_m) })
    }

    /// After a tick of the closed loop: whether it was one at rest.
    #[inline]
    pub(super) fn observe(&mut self, desired: &[f64], measured: &[f64]) {
        if self.stage != Stage::RingingDown {
            return;
        }
        let Some(rest) = self.plan.completing.and_then(|plan| plan.rest) else { return };
        let near = |x: &f64| x.abs() <= rest.within_m;
        let at_rest = desired.iter().chain(measured).all(near);
        self.still = if at_rest { self.still + 1 } else { 0 };
    }

    /// The command is at zero.
    pub(super) fn arrive(&mut self, tick: u64) {
        self.enter(Stage::Done, tick);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: CoursePlan = CoursePlan {
        initiating: Some(Initiating {
            rate_m_s: 1e-3,
            reach_m: 1e-3,
            fetch_ticks: 10,
            settle_ticks: 8,
            within_m: 1e-4,
        }),
        completing: Some(Completing {
            ring_down_ticks: 20,
            rest: Some(Rest { within_m: 1e-5, ticks: 4 }),
            home_rate_m_s: 1e-3,
        }),
    };

    #[test]
    fn the_stages_follow_one_another_at_their_ticks() {
        let mut course = Course::new(PLAN, 1);
        let mut begun = Vec::new();
        for tick in 0..60 {
            // The load comes at tick 25 and is over at tick 30.
            course.turn(tick, tick >= 25, tick >= 30);
            if begun.last() != Some(&course.stage) {
                begun.push(course.stage);
            }
            course.observe(&[0.0], &[if tick < 40 { 1.0 } else { 0.0 }]);
        }
        assert_eq!(begun, Stage::ALL[..5]);
        let at = |stage| course.begun(stage);
        assert_eq!(at(Stage::Fetching), Some(0));
        assert_eq!(at(Stage::Settling), Some(10));
        assert_eq!(at(Stage::Running), Some(25), "the load is waited for");
        assert_eq!(at(Stage::RingingDown), Some(30));
        assert_eq!(at(Stage::Homing), Some(44), "four ticks at rest, from 40 on");
        assert_eq!(at(Stage::Done), None);
    }

    #[test]
    fn the_mean_of_the_second_half_decides_whether_the_rig_is_there() {
        for (late_m, there) in [(0.9e-4, true), (1.1e-4, false)] {
            let mut course = Course::new(PLAN, 2);
            let mut found = None;
            for tick in 0..18 {
                course.turn(tick, false, false);
                if course.stage == Stage::Settling {
                    // Far off at first, then noisy around its place.
                    let noise = if tick % 2 == 0 { 5e-5 } else { -5e-5 };
                    let x = if tick < 14 { 1.0 } else { late_m + noise };
                    found = found.or(course.settled(tick, &[0.0, x]));
                }
            }
            assert_eq!(found.is_none(), there, "{found:?}");
            if let Some(Trip { dof, value, limit, .. }) = found {
                assert_eq!((dof, limit), (1, 1e-4));
                assert!((value - late_m).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn without_a_plan_for_the_end_the_load_ends_the_test() {
        let plan = CoursePlan { completing: None, ..PLAN };
        let mut course = Course::new(plan, 1);
        for tick in 0..40 {
            course.turn(tick, true, tick >= 30);
        }
        assert_eq!((course.stage, course.begun(Stage::Done)), (Stage::Done, Some(30)));
    }
}
