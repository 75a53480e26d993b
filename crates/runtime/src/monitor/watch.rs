//! The indicators a test asks for beyond the energies, with their levels.

use model::channel::Channel;
use model::equations::Equations;
use model::motion::Motion;

use super::alarm::{Alarm, Levels, Sense};
use super::energy::{EnergyMonitor, WorkRule};
use super::energy_error::{Balance, EnergyError};
use super::forecast::Forecast;
use super::limits_used::{LimitsUsed, Shares};
use super::tracking::Tracking;
use super::windowed::WindowedWarning;
use crate::event::EventLog;
use crate::gate::{Limits, TripKind};
use crate::interlock::Stop;
use crate::measured::Measured;

/// Which indicators are computed, and their levels. Percent and SI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WatchPlan {
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

/// The windowed stability warning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowedPlan {
    /// Length of the window.
    pub window_s: f64,
    /// Added to the energy dissipated in the window; `None` for that of the plain warning.
    pub constant_j: Option<f64>,
    /// %.
    pub levels: Levels,
}

/// The time to 100 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForecastPlan {
    /// Length of the window whose trend counts.
    pub window_s: f64,
    /// s; reached from above.
    pub levels: Levels,
}

/// Amplitude and delay of the tracking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrackingPlan {
    /// Length of the window.
    pub window_s: f64,
    /// Of the size of the delay, s.
    pub delay: Levels,
    /// Of the deviation of the amplitude ratio from 1.
    pub amplitude: Levels,
}

impl WatchPlan {
    /// Nothing beyond the energies.
    pub const NOTHING: Self = Self {
        stability: Levels::NONE,
        windowed: None,
        energy_error: None,
        forecast: None,
        tracking: None,
        limits_used: None,
    };

    /// Whether a loop needs no [`Watch`].
    pub fn is_nothing(&self) -> bool {
        *self == Self::NOTHING
    }

    /// The channels behind those of the frame, in the order in which
    /// [`Watch`] writes them.
    pub fn channels(&self, interface: usize) -> Vec<Channel> {
        let mut channels = Vec::new();
        let mut add = |name: String, unit: &str, words: &str| {
            channels.push(Channel::new(name, unit, words));
        };
        if self.windowed.is_some() {
            let words = "Stability warning of the recent past alone";
            add("stability_warning.windowed".into(), "%", words);
        }
        if self.energy_error.is_some() {
            add("energy_error".into(), "%", "Energy error index");
        }
        if self.forecast.is_some() {
            let words = "Time until the stability warning reaches 100 %; infinite for never";
            add("forecast".into(), "s", words);
        }
        if self.tracking.is_some() {
            for dof in 1..=interface {
                let words = "Delay of the measured behind the desired motion, in a moving window";
                add(format!("tracking.delay.{dof}"), "s", words);
                let words = "Measured over desired amplitude, in a moving window";
                add(format!("tracking.amplitude.{dof}"), "", words);
                let words = "1 where delay and amplitude are of the present window, else 0";
                add(format!("tracking.valid.{dof}"), "", words);
            }
        }
        if self.limits_used.is_some() {
            for (name, words) in [
                ("position", "Share of the command limit used by command or measured displacement"),
                ("rate", "Share of the rate limit used by the command"),
                ("force", "Share of the force limit used"),
                ("tracking_error", "Share of the limit on the tracking error used"),
            ] {
                add(format!("limits_used.{name}"), "%", words);
            }
        }
        channels
    }
}

/// What a watch is told at one instant, after the gate and the energies.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
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

/// The indicators of a [`WatchPlan`] at work. It never acts: it gives a
/// [`Stop`], or notes warnings in the log.
#[derive(Debug, Clone)]
pub struct Watch {
    stability: Alarm,
    windowed: Option<(WindowedWarning, Alarm)>,
    energy_error: Option<(EnergyError, Alarm)>,
    forecast: Option<(Forecast, Alarm)>,
    tracking: Option<(Tracking, Vec<TrackingAlarms>)>,
    limits_used: Option<(LimitsUsed, Alarm)>,
}

#[derive(Debug, Clone)]
struct TrackingAlarms {
    delay: Alarm,
    amplitude: Alarm,
}

impl Watch {
    /// For a numerical substructure and the limits of the loop. `constant_j` is
    /// C of the stability warning.
    pub fn new(
        plan: &WatchPlan,
        numerical: &Equations,
        rule: WorkRule,
        constant_j: f64,
        limits: &Limits,
    ) -> Self {
        let step_s = limits.step_s;
        let count = numerical.interface.len();
        let rising = |kind, levels| Alarm::new(kind, levels, Sense::Rising, step_s);
        Self {
            stability: rising(TripKind::StabilityWarning, plan.stability),
            windowed: plan.windowed.map(|plan| {
                let constant_j = plan.constant_j.unwrap_or(constant_j);
                let windowed = WindowedWarning::new(plan.window_s, constant_j, step_s);
                (windowed, rising(TripKind::WindowedWarning, plan.levels))
            }),
            energy_error: plan.energy_error.map(|levels| {
                let index = EnergyError::new(numerical, rule, constant_j, step_s);
                (index, rising(TripKind::EnergyError, levels))
            }),
            forecast: plan.forecast.map(|plan| {
                let forecast = Forecast::new(plan.window_s, constant_j, step_s);
                let falling = Sense::Falling;
                (forecast, Alarm::new(TripKind::Forecast, plan.levels, falling, step_s))
            }),
            tracking: plan.tracking.map(|plan| {
                let alarms = TrackingAlarms {
                    delay: rising(TripKind::TrackingDelay, plan.delay),
                    amplitude: rising(TripKind::TrackingAmplitude, plan.amplitude),
                };
                (Tracking::new(plan.window_s, count, step_s), vec![alarms; count])
            }),
            limits_used: plan.limits_used.map(|levels| {
                (LimitsUsed::new(limits.clone()), rising(TripKind::LimitsUsed, levels))
            }),
        }
    }

    /// Takes one instant in. The first indicator at a level that stops the test
    /// decides; all are up to date by then.
    pub fn observe(&mut self, sight: &Sight, log: &mut EventLog) -> Result<(), Stop> {
        self.update(sight);
        self.judge(sight, log)
    }

    /// Takes the use of the limits in, on the way to safe: nothing else goes on.
    pub(crate) fn observe_limits(&mut self, command: &Motion, measured: &Measured, held: &Motion) {
        if let Some((used, _)) = &mut self.limits_used {
            used.observe(command, measured, held, command);
        }
    }

    fn update(&mut self, sight: &Sight) {
        let Sight { energies, desired, measured, .. } = sight;
        if let Some((windowed, _)) = &mut self.windowed {
            windowed.observe(energies.feedback_work(), energies.dissipated());
        }
        if let Some((index, _)) = &mut self.energy_error {
            index.observe(&Balance {
                displacement: sight.displacement,
                measured: &measured.displacement,
                force: &measured.force,
                input: energies.input_work(),
                elements: energies.element_work(),
            });
        }
        if let Some((forecast, _)) = &mut self.forecast {
            forecast.observe(energies.feedback_work(), energies.dissipated());
        }
        if let Some((tracking, _)) = &mut self.tracking {
            tracking.observe(&desired.displacement, &desired.velocity, &measured.displacement);
        }
        if let Some((used, _)) = &mut self.limits_used {
            used.observe(desired, measured, sight.held, sight.command);
        }
    }

    fn judge(&mut self, sight: &Sight, log: &mut EventLog) -> Result<(), Stop> {
        let tick = sight.tick;
        self.stability.judge(tick, 0, sight.energies.stability_warning(), log)?;
        if let Some((windowed, alarm)) = &mut self.windowed {
            alarm.judge(tick, 0, windowed.value(), log)?;
        }
        if let Some((index, alarm)) = &mut self.energy_error {
            alarm.judge(tick, 0, index.value().abs(), log)?;
        }
        if let Some((forecast, alarm)) = &mut self.forecast {
            alarm.judge(tick, 0, forecast.value_s(), log)?;
        }
        if let Some((tracking, alarms)) = &mut self.tracking
            && tracking.is_fresh()
        {
            for (dof, (estimate, alarms)) in tracking.estimates().zip(alarms).enumerate() {
                if estimate.valid {
                    alarms.delay.judge(tick, dof, estimate.delay_s.abs(), log)?;
                    alarms.amplitude.judge(tick, dof, (estimate.amplitude - 1.0).abs(), log)?;
                }
            }
        }
        if let Some((used, alarm)) = &mut self.limits_used {
            let (share, dof) = used.worst();
            alarm.judge(tick, dof, share, log)?;
        }
        Ok(())
    }

    /// The windowed stability warning, if it is computed.
    pub fn windowed(&self) -> Option<&WindowedWarning> {
        self.windowed.as_ref().map(|(windowed, _)| windowed)
    }

    /// The energy error index, if it is computed.
    pub fn energy_error(&self) -> Option<&EnergyError> {
        self.energy_error.as_ref().map(|(index, _)| index)
    }

    /// The forecast, if it is computed.
    pub fn forecast(&self) -> Option<&Forecast> {
        self.forecast.as_ref().map(|(forecast, _)| forecast)
    }

    /// The tracking, if it is computed.
    pub fn tracking(&self) -> Option<&Tracking> {
        self.tracking.as_ref().map(|(tracking, _)| tracking)
    }

    /// The use of the limits, if it is computed.
    pub fn limits_used(&self) -> Option<&LimitsUsed> {
        self.limits_used.as_ref().map(|(used, _)| used)
    }

    /// Appends the values of the last instant to a frame that has room for them.
    #[inline]
    pub fn write(&self, frame: &mut Vec<f64>) {
        if let Some((windowed, _)) = &self.windowed {
            frame.push(windowed.value());
        }
        if let Some((index, _)) = &self.energy_error {
            frame.push(index.value());
        }
        if let Some((forecast, _)) = &self.forecast {
            frame.push(forecast.value_s());
        }
        if let Some((tracking, _)) = &self.tracking {
            for estimate in tracking.estimates() {
                let valid = f64::from(u8::from(estimate.valid));
                frame.extend_from_slice(&[estimate.delay_s, estimate.amplitude, valid]);
            }
        }
        if let Some((used, _)) = &self.limits_used {
            let Shares { position, rate, force, tracking_error } = used.shares();
            frame.extend_from_slice(&[position, rate, force, tracking_error]);
        }
    }
}
