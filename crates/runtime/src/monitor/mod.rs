//! The online monitor: observes, never acts. One file per indicator.
//!
//! [`EnergyMonitor`] runs in every loop. The others are gathered in an
//! [`IndicatorSet`], which a loop has only if the file asks for one of them; a loop
//! without it pays one branch. `docs/monitor.md` says what each can see.

mod alarm;
mod energy;
mod energy_error;
mod forecast;
mod frequency_evaluation;
mod indicators;
mod limits_used;
mod plot;
mod stability;
mod tracking;
mod windowed;

pub use alarm::Levels;
pub(crate) use energy::stability_warning;
pub use energy::{Energies, EnergyMonitor, Observation, Work, WorkRule};
pub use energy_error::EnergyErrorPlan;
pub use forecast::ForecastPlan;
pub use frequency_evaluation::FrequencyEvaluationPlan;
pub use indicators::{About, IndicatorKind, IndicatorSet, KINDS, MonitorInput, MonitorPlan};
pub use limits_used::LimitsUsedPlan;
pub use plot::{Plot, PlotLine, PlotPane, PlotSection, WARNING};
pub use stability::StabilityPlan;
pub use tracking::{AmplitudeLevels, DelayLevels, TrackingPlan};
pub use windowed::WindowedPlan;
