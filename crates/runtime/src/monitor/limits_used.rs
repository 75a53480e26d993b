//! How much of each limit is used.

use keys::Keys;
use model::channel::Channel;
use model::motion::Motion;

use super::alarm::{Alarm, Levels, Sense};
use super::indicators::{About, Indicator, MonitorInput, Plan, Site};
use super::plot::{Plot, PlotPane, PlotSection};
use crate::event::EventLog;
use crate::gate::{IndicatorTrip, Limits, TripKind};
use crate::interlock::Stop;
use crate::measured::Measured;

/// Levels of the largest share. At 100 % the gate trips by itself.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
pub struct LimitsUsedPlan {
    /// As ratios.
    #[key(ratio, within = 0.01..=10.0, flatten)]
    pub levels: Levels,
}

const TRIP: &IndicatorTrip = &IndicatorTrip {
    code: 13,
    description: ("a limit used up to its threshold", "%"),
    shown: (1.0, "%", 2),
    of_dof: true,
};

impl Plan for LimitsUsedPlan {
    const ABOUT: About = About { trips: &[TRIP], ..About::NOTHING };

    fn channels(_: usize) -> Vec<Channel> {
        [
            ("position", "Share of the command limit used by command or measured displacement"),
            ("rate", "Share of the rate limit used by the command"),
            ("force", "Share of the force limit used"),
            ("tracking_error", "Share of the limit on the tracking error used"),
        ]
        .map(|(name, words)| Channel::new(format!("limits_used.{name}"), "%", words))
        .into()
    }

    fn start(&self, site: &Site<'_>) -> Box<dyn Indicator> {
        Box::new(LimitsUsed::new(self.levels, site.limits.clone()))
    }

    fn plots(&self) -> Vec<Plot> {
        let curves = &[
            ("limits_used.position", "displacement"),
            ("limits_used.rate", "rate"),
            ("limits_used.force", "force"),
            ("limits_used.tracking_error", "tracking error"),
        ];
        let pane = PlotPane::new("Share of the limit", "%", curves).within(0.0, 110.0);
        let pane = pane.line(100.0, "100 %: the gate trips");
        let pane = pane.levels(&self.levels, (100.0, "%"), |level| [level]);
        let caption = "How much of each limit was used, the largest over the interface DOFs.";
        vec![Plot::new(PlotSection::Limits, "Use of the limits", caption, [pane])]
    }
}

/// Compares what is commanded and measured with the limits of the gate.
pub(super) struct LimitsUsed {
    alarm: Alarm,
    limits: Limits,
    /// The largest share of each limit over the interface DOFs, %, in the order of
    /// the channels; 0 where there is no limit.
    shares: [f64; 4],
    /// The largest of them and its interface DOF.
    worst: (f64, usize),
}

impl LimitsUsed {
    /// Against these limits.
    pub(super) fn new(levels: Levels, limits: Limits) -> Self {
        let (kind, levels) = (TripKind::Indicator(TRIP), levels.times(100.0));
        let alarm = Alarm::new(kind, levels, Sense::Rising, limits.step_s);
        Self { alarm, limits, shares: [0.0; 4], worst: (0.0, 0) }
    }

    /// Takes a command that has passed the gate; `held` is the one before.
    fn add(&mut self, desired: &Motion, measured: &Measured, held: &Motion, command: &Motion) {
        (self.shares, self.worst) = ([0.0; 4], (0.0, 0));
        for dof in 0..command.count() {
            let (x, position) = (command.displacement[dof], measured.displacement[dof]);
            let rate = (x - held.displacement[dof]) / self.limits.step_s;
            let error = position - desired.displacement[dof];
            let used = [
                (x.abs().max(position.abs()), self.limits.command[dof]),
                (rate.abs().max(command.velocity[dof].abs()), self.limits.rate[dof]),
                (measured.force[dof].abs(), self.limits.force[dof]),
                (error.abs(), self.limits.tracking_error[dof]),
            ];
            for (most, (value, limit)) in self.shares.iter_mut().zip(used) {
                let share = 100.0 * value / limit;
                if share > *most {
                    *most = share;
                }
                if share > self.worst.0 {
                    self.worst = (share, dof);
                }
            }
        }
    }
}

impl Indicator for LimitsUsed {
    fn observe(&mut self, seen: &MonitorInput<'_>) {
        self.add(seen.desired, seen.measured, seen.held, seen.command);
    }

    fn judge(&mut self, tick: u64, log: &mut EventLog) -> Result<(), Stop> {
        let (share, dof) = self.worst;
        self.alarm.judge(tick, dof, share, log)
    }

    fn write(&self, frame: &mut Vec<f64>) {
        frame.extend_from_slice(&self.shares);
    }

    fn observe_way_to_safe(&mut self, command: &Motion, held: &Motion, measured: &Measured) {
        self.add(command, measured, held, command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_share_of_each_limit_is_found() {
        let limits = Limits {
            command: vec![0.02, 0.1],
            rate: vec![0.5, f64::INFINITY],
            force: vec![1000.0, 500.0],
            ..Limits::unlimited(2, 1e-3)
        };
        let mut used = LimitsUsed::new(Levels::default(), limits);
        let motion = |x: [f64; 2]| {
            let mut motion = Motion::rest(2);
            motion.displacement = x.to_vec();
            motion
        };
        let measured = Measured {
            displacement: vec![0.009, -0.08],
            force: vec![-100.0, 400.0],
            ..Measured::zeros(2)
        };
        let (held, command) = (motion([0.0099, 0.0]), motion([0.01, 0.06]));
        used.add(&command, &measured, &held, &command);
        let [position, rate, force, tracking_error] = used.shares;
        assert!((position - 80.0).abs() < 1e-9, "measured beyond commanded, DOF 2");
        assert!((rate - 20.0).abs() < 1e-9);
        assert!((force - 80.0).abs() < 1e-9);
        assert_eq!(tracking_error, 0.0, "no limit, no share");
        assert_eq!(used.worst.1, 1);
    }
}
