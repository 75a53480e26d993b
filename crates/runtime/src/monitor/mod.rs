//! The online monitor: observes, never acts. One file per indicator.
//!
//! [`EnergyMonitor`] runs in every loop. The others are gathered in a
//! [`Watch`], which a loop has only if the file asks for one of them; a loop
//! without it pays one branch. `docs/monitor.md` says what each can see.

mod alarm;
mod energy;
mod energy_error;
mod forecast;
mod limits_used;
mod tracking;
mod watch;
mod windowed;

pub use alarm::{Levels, Sense};
pub(crate) use energy::stability_warning;
pub use energy::{Energies, EnergyMonitor, Observation, WorkRule};
pub use energy_error::EnergyError;
pub use forecast::Forecast;
pub use limits_used::{LimitsUsed, Shares};
pub use tracking::{Tracking, TrackingEstimate};
pub use watch::{ForecastPlan, Sight, TrackingPlan, Watch, WatchPlan, WindowedPlan};
pub use windowed::WindowedWarning;
