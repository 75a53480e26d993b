//! The indicators a test asks for beyond the energies, with their levels.

use model::channel::Channel;
use model::motion::Motion;

use super::alarm::{Alarm, Levels, Sense};
use super::energy::EnergyMonitor;
use super::energy_error::{self, EnergyError};
use super::forecast::{self, Forecast, ForecastPlan};
use super::limits_used::{self, LimitsUsed};
use super::tracking::{self, Tracking, TrackingPlan};
use super::windowed::{self, WindowedPlan, WindowedWarning};
use crate::event::EventLog;
use crate::gate::{Limits, TripKind};
use crate::interlock::Stop;
use crate::measured::Measured;

/// An indicator at work. A new one is a file with a type that implements this, and
/// a key of the [`IndicatorPlan`] with a line for its channels and one for itself.
pub(super) trait Indicator: Send {
    /// Takes one instant in.
    fn observe(&mut self, seen: &MonitorInput<'_>);

    /// Compares its value with its levels: it gives a [`Stop`], or notes warnings.
    fn judge(&mut self, tick: u64, log: &mut EventLog) -> Result<(), Stop>;

    /// Appends the values of its channels.
    fn write(&self, frame: &mut Vec<f64>);

    /// Takes an instant of the way to safe in, on which there is nothing but a
    /// command, the one the rig has and what is measured.
    fn observe_way_to_safe(&mut self, _command: &Motion, _held: &Motion, _measured: &Measured) {}
}

/// Which indicators are computed, and their levels: by default nothing beyond the
/// energies. Percent and SI.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct IndicatorPlan {
    /// Levels of the stability warning itself, %.
    pub stability: Levels,
    /// The windowed stability warning.
    pub windowed: Option<WindowedPlan>,
    /// Levels of the size of the energy error index, %.
    pub energy_error: Option<Levels>,
    /// The time to 100 %.
    pub forecast: Option<ForecastPlan>,
    /// Amplitude and delay of the tracking.
    pub tracking: Option<TrackingPlan>,
    /// Levels of the largest share of any limit, %.
    pub limits_used: Option<Levels>,
}

impl IndicatorPlan {
    /// The channels behind those of the frame, in the order in which an
    /// [`IndicatorSet`] writes them.
    pub fn channels(&self, interface: usize) -> Vec<Channel> {
        let lists = [
            self.windowed.map(|_| windowed::channels()),
            self.energy_error.map(|_| energy_error::channels()),
            self.forecast.map(|_| forecast::channels()),
            self.tracking.map(|_| tracking::channels(interface)),
            self.limits_used.map(|_| limits_used::channels()),
        ];
        lists.into_iter().flatten().flatten().collect()
    }
}

/// What the indicators are told at one instant, after the gate and the energies.
#[derive(Clone, Copy)]
pub struct MonitorInput<'a> {
    /// The tick.
    pub tick: u64,
    /// Displacement of every numerical DOF.
    pub displacement: &'a [f64],
    /// The energies of this instant.
    pub energies: &'a EnergyMonitor,
    /// Desired motion of the interface.
    pub desired: &'a Motion,
    /// What the sensors say.
    pub measured: &'a Measured,
    /// The command the rig has.
    pub held: &'a Motion,
    /// The command it gets.
    pub command: &'a Motion,
}

/// The indicators of an [`IndicatorPlan`] at work. It never acts.
pub struct IndicatorSet {
    stability: Alarm,
    indicators: Vec<Box<dyn Indicator>>,
}

impl IndicatorSet {
    /// Beside these energies, and for the limits of the loop; `None` where the plan
    /// asks for nothing.
    pub fn new(plan: &IndicatorPlan, energies: &EnergyMonitor, limits: &Limits) -> Option<Self> {
        if *plan == IndicatorPlan::default() {
            return None;
        }
        let (step_s, constant_j) = (limits.step_s, energies.constant_j);
        let count = limits.command.len();
        let asked: [Option<Box<dyn Indicator>>; 5] = [
            plan.windowed.map(|it| Box::new(WindowedWarning::new(&it, constant_j, step_s)) as _),
            plan.energy_error
                .map(|it| Box::new(EnergyError::new(it, energies, count, step_s)) as _),
            plan.forecast.map(|it| Box::new(Forecast::new(&it, constant_j, step_s)) as _),
            plan.tracking.map(|it| Box::new(Tracking::new(&it, count, step_s)) as _),
            plan.limits_used.map(|it| Box::new(LimitsUsed::new(it, limits.clone())) as _),
        ];
        let indicators = asked.into_iter().flatten().collect();
        let (kind, rising) = (TripKind::StabilityWarning, Sense::Rising);
        Some(Self { stability: Alarm::new(kind, plan.stability, rising, step_s), indicators })
    }

    /// Takes one instant in. The first indicator at a level that stops the test
    /// decides; all are up to date by then.
    pub fn observe(&mut self, seen: &MonitorInput<'_>, log: &mut EventLog) -> Result<(), Stop> {
        for indicator in &mut self.indicators {
            indicator.observe(seen);
        }
        self.stability.judge(seen.tick, 0, seen.energies.stability_warning, log)?;
        self.indicators.iter_mut().try_for_each(|indicator| indicator.judge(seen.tick, log))
    }

    /// Takes an instant of the way to safe in.
    pub(crate) fn observe_way_to_safe(
        &mut self,
        command: &Motion,
        held: &Motion,
        measured: &Measured,
    ) {
        for indicator in &mut self.indicators {
            indicator.observe_way_to_safe(command, held, measured);
        }
    }

    /// Appends the values of the last instant to a frame that has room for them.
    pub fn write(&self, frame: &mut Vec<f64>) {
        for indicator in &self.indicators {
            indicator.write(frame);
        }
    }
}
