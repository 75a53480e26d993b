//! The indicators a test asks for beyond the energies, with their levels.

use keys::{Keys, Stated};
use model::channel::Channel;
use model::motion::Motion;

use super::alarm::{Alarm, Levels, Sense};
use super::energy::{EnergyMonitor, Work};
use super::energy_error::EnergyErrorPlan;
use super::forecast::ForecastPlan;
use super::frequency_evaluation::FrequencyEvaluationPlan;
use super::limits_used::LimitsUsedPlan;
use super::plot::Plot;
use super::stability::StabilityPlan;
use super::tracking::TrackingPlan;
use super::windowed::WindowedPlan;
use crate::event::EventLog;
use crate::gate::{IndicatorTrip, Limits, TripKind};
use crate::interlock::Stop;
use crate::measured::Measured;

/// Makes of the list of kinds what a file may ask for, and what is known of each kind.
macro_rules! kinds {
    ($($(#[$doc:meta])* $key:ident: $plan:ident,)+) => {
        /// What is watched while the test runs. The energies and the stability warning are always computed;
        /// every other indicator only if its key is written, be it as `{}`.
        #[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
        pub struct MonitorPlan {
            /// The stability warning: work put in by the specimen over energy taken out by damping.
            #[key(default = {})]
            pub stability_warning: Stated<StabilityPlan>,
            /// How work is summed.
            #[key(default = "exact")]
            pub work: Work,
            $($(#[$doc])* pub $key: Option<$plan>,)+
        }

        /// Every kind of indicator, in the order in which they write their channels.
        pub const KINDS: &[IndicatorKind] = &[$(IndicatorKind {
            key: stringify!($key),
            about: $plan::ABOUT,
            is_asked: |monitor| monitor.$key.is_some(),
            plots: |monitor| monitor.$key.unwrap_or_default().plots(),
            channels: $plan::channels,
            start: |monitor, site| monitor.$key.map(|plan| plan.start(site)),
        },)+];
    };
}

kinds! {
    /// The stability warning of the recent past alone: it forgets.
    windowed_warning: WindowedPlan,
    /// The energy error index: how far the energy balance is off at the measured motion.
    energy_error: EnergyErrorPlan,
    /// The time left until the stability warning reaches 100 %, if its trend holds.
    forecast: ForecastPlan,
    /// Amplitude and delay of the measured against the desired motion, in a moving window.
    tracking: TrackingPlan,
    /// The largest share of any limit in `[limits]` that is used.
    limits_used: LimitsUsedPlan,
    /// The frequency evaluation index: amplitude and delay by the spectra of measured and desired motion.
    frequency_evaluation: FrequencyEvaluationPlan,
}

/// What a kind of indicator declares beside its keys. A new one is a file with a type that derives
/// [`Keys`] and implements this, and one entry in the list above.
pub(super) trait Plan: Keys + Default {
    /// What is known of the kind.
    const ABOUT: About;

    /// The channels it writes, for so many interface DOFs.
    fn channels(interface: usize) -> Vec<Channel>;

    /// The indicator at work.
    fn start(&self, site: &Site<'_>) -> Box<dyn Indicator>;

    /// How it is drawn, with its levels.
    fn plots(&self) -> Vec<Plot>;
}

/// What is known of a kind of indicator.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Its trips, with codes of their own.
    pub trips: &'static [&'static IndicatorTrip],
    /// Whether it rests on the energy that damping takes, which is not always known.
    pub rests_on_energies: bool,
    /// The key of its window, and the fewest ticks this may hold.
    pub window: Option<(&'static str, f64)>,
    /// Channels whose peaks are told, each with its words and unit.
    pub peaks: &'static [(&'static str, &'static str, &'static str)],
    /// A channel in which infinity is a value.
    pub unbounded: Option<&'static str>,
}

impl About {
    pub(super) const NOTHING: Self =
        Self { trips: &[], rests_on_energies: false, window: None, peaks: &[], unbounded: None };
}

/// A kind of indicator.
pub struct IndicatorKind {
    /// Its key in `[monitor]`.
    pub key: &'static str,
    /// What is known of it.
    pub about: About,
    /// Whether a test asks for it.
    pub is_asked: fn(&MonitorPlan) -> bool,
    /// How it is drawn, with the levels of a test.
    pub plots: fn(&MonitorPlan) -> Vec<Plot>,
    channels: fn(usize) -> Vec<Channel>,
    start: fn(&MonitorPlan, &Site<'_>) -> Option<Box<dyn Indicator>>,
}

/// The loop in which an indicator works.
pub(super) struct Site<'a> {
    pub(super) energies: &'a EnergyMonitor,
    pub(super) limits: &'a Limits,
    /// Number of interface DOFs.
    pub(super) count: usize,
    pub(super) step_s: f64,
    /// Most ticks that the energies may be old.
    pub(super) most_age: usize,
}

/// An indicator at work.
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

impl MonitorPlan {
    /// The channels behind those of the frame, in the order in which an
    /// [`IndicatorSet`] writes them.
    pub fn channels(&self, interface: usize) -> Vec<Channel> {
        let asked = KINDS.iter().filter(|kind| (kind.is_asked)(self));
        asked.flat_map(|kind| (kind.channels)(interface)).collect()
    }
}

/// What the indicators are told at one instant, after the gate and the energies.
#[derive(Clone, Copy)]
pub struct MonitorInput<'a> {
    /// The tick.
    pub tick: u64,
    /// Ticks since the instant of the energies, which is this one but for two rates.
    pub age: u64,
    /// The energies.
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

/// The indicators of a [`MonitorPlan`] at work. It never acts.
pub struct IndicatorSet {
    stability: Alarm,
    indicators: Vec<Box<dyn Indicator>>,
}

impl IndicatorSet {
    /// Beside these energies, which are so many ticks old at most, and for the limits of the
    /// loop; `None` where the plan asks for nothing.
    pub fn new(
        plan: &MonitorPlan,
        energies: &EnergyMonitor,
        limits: &Limits,
        most_age: usize,
    ) -> Option<Self> {
        let (step_s, count) = (limits.step_s, limits.command.len());
        let site = Site { energies, limits, count, step_s, most_age };
        let indicators: Vec<_> =
            KINDS.iter().filter_map(|kind| (kind.start)(plan, &site)).collect();
        let levels = plan.stability_warning.levels().times(100.0);
        let stability = Alarm::new(TripKind::StabilityWarning, levels, Sense::Rising, step_s);
        let is_idle = indicators.is_empty() && levels == Levels::default();
        (!is_idle).then_some(Self { stability, indicators })
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
