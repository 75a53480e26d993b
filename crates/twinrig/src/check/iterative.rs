//! `check` of a file for an iterative test: its loop is cut, so there is none to
//! be stable. What feedback would have done is said all the same.

use analysis::delay_stability::{delay_system, first_loss};
use analysis::loop_stability::modes::own_modes;
use serde::Serialize;
use serde_json::Value;

use crate::assembly::Assembly;
use crate::error::Error;
use crate::iterative::Setup;
use crate::verdict::Verdict;
use crate::words::number;
use experiment::Experiment;

/// Whether the file describes an iterative test and no closed loop.
pub(super) fn is_iterative(experiment: &Experiment) -> bool {
    experiment.trace.is_some() && !experiment.transfer_system.stated
}

/// What can be said of an iterative test before it runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IterativeCheck {
    iterative: bool,
    /// What the test is about.
    pub title: String,
    /// Where the response is traced, Hz.
    pub band_hz: [f64; 2],
    /// Unknowns of a point.
    pub unknowns: usize,
    /// Natural frequencies in the band, for small motions, Hz.
    pub modes_in_band_hz: Vec<f64>,
    /// What feedback would have done.
    pub feedback: Feedback,
    /// How far the test can be trusted.
    pub verdict: Verdict,
    /// What the engineer should know of the file.
    pub warnings: Value,
    /// Harmonics that are matched.
    #[serde(skip)]
    pub harmonics: usize,
    /// Number of interface DOFs.
    #[serde(skip)]
    pub interface_dofs: usize,
    /// Samples per period at the end of the band.
    #[serde(skip)]
    pub samples_per_period: f64,
}

impl IterativeCheck {
    pub(super) fn new(
        experiment: &Experiment,
        assembly: &Assembly,
        warnings: Value,
    ) -> Result<Self, Error> {
        let setup = Setup::new(experiment, assembly)?;
        // Building both sides once finds what only they can know; no wire is needed.
        if assembly.remote.is_none() && experiment.rig.address.is_none() {
            setup.periodic(&runtime::stop::StopHandle::default())?;
        }
        let (settings, band_hz) = (setup.trace(), setup.spec().band_hz());
        Ok(Self {
            iterative: true,
            title: experiment.title.clone(),
            band_hz: band_hz.into(),
            unknowns: settings.unknowns(),
            modes_in_band_hz: modes_in(assembly, band_hz),
            feedback: Feedback::of(assembly),
            verdict: Verdict::default(),
            warnings,
            harmonics: settings.harmonics,
            interface_dofs: assembly.count(),
            samples_per_period: 1.0 / (settings.band_hz.1 * assembly.integrator.step_s),
        })
    }
}

/// What feedback would have done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Feedback {
    /// Unstable however short the delay.
    Impossible {
        /// Share of the acceleration that each pass hands on.
        ratio: f64,
    },
    /// Stable up to a delay.
    Bears {
        /// Which.
        critical_delay_s: f64,
    },
    /// Stable for every delay.
    Always,
    /// Not judged.
    Unknown,
}

impl Feedback {
    fn of(assembly: &Assembly) -> Self {
        let Ok(system) = delay_system(&assembly.substructures.whole, &assembly.partition) else {
            return Self::Unknown;
        };
        match (system.neutral_radius(), system.crossings()) {
            (Ok(ratio), _) if ratio >= 1.0 => Self::Impossible { ratio },
            (Ok(_), Ok(crossings)) => first_loss(&crossings)
                .map_or(Self::Always, |loss| Self::Bears { critical_delay_s: loss.delay_s }),
            _ => Self::Unknown,
        }
    }

    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Impossible { ratio } => format!(
                "unstable at any delay, {} of the acceleration comes back each time",
                number(*ratio)
            ),
            Self::Bears { critical_delay_s } => {
                format!("stable up to a delay of {} ms", number(1e3 * critical_delay_s))
            }
            Self::Always => "stable at any delay".to_owned(),
            Self::Unknown => "not judged".to_owned(),
        }
    }
}

fn modes_in(assembly: &Assembly, (low, high): (f64, f64)) -> Vec<f64> {
    let whole = assembly.substructures.whole.linearised();
    let Ok(modes) = own_modes(&whole) else { return Vec::new() };
    modes.frequencies_hz().filter(|hz| (low..=high).contains(hz)).collect()
}
