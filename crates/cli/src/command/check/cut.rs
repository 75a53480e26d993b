//! `check` of a file for an iterative test: its loop is cut, so there is none to
//! be stable. What feedback would have done is said all the same.

use analysis::delay_stability::{delay_system, first_loss};
use analysis::iterative::TraceSettings;
use analysis::loop_stability::modes::own_modes;
use serde_json::{Value, json};

use super::super::output::{Exit, Output, number, print, table};
use super::super::rehearse::Loaded;
use experiment::Experiment;
use twinrig::assembly::Assembly;
use twinrig::iterative::Setup;
use twinrig::page::text::label;

/// Whether the file describes an iterative test and no closed loop.
pub(super) fn is_cut(experiment: &Experiment) -> bool {
    experiment.trace.is_some() && !experiment.transfer_system.stated
}

pub(super) fn check(loaded: &Loaded, output: Output) -> Exit {
    let Loaded { experiment, assembly, warnings, .. } = loaded;
    let setup = match Setup::new(experiment, assembly) {
        Ok(setup) => setup,
        Err(error) => {
            output.fail(error);
            return Exit::BadExperiment;
        }
    };
    // Building both sides once finds what only they can know; no wire is needed.
    if assembly.remote.is_none()
        && experiment.rig.address.is_none()
        && let Err(error) = setup.periodic()
    {
        output.fail(error);
        return Exit::BadExperiment;
    }
    let settings = setup.trace();
    let spec = setup.spec();
    let modes = modes_in(assembly, spec.band_hz());
    let feedback = Feedback::of(assembly);
    match output {
        Output::Json => output.document(&json!({
            "iterative": true,
            "title": experiment.title,
            "band_hz": [spec.band_hz().0, spec.band_hz().1],
            "unknowns": settings.unknowns(),
            "modes_in_band_hz": modes,
            "feedback": feedback.json(),
            "warnings": warnings,
        })),
        Output::People => print(&words(experiment, assembly, &settings, &modes, &feedback)),
    }
}

/// What feedback would have done.
enum Feedback {
    /// Unstable however short the delay.
    Impossible {
        ratio: f64,
    },
    /// Stable up to this delay, s.
    Bears(f64),
    /// Stable for every delay.
    Always,
    Unknown,
}

impl Feedback {
    fn of(assembly: &Assembly) -> Self {
        let Ok(system) = delay_system(&assembly.substructures.whole, &assembly.partition) else {
            return Self::Unknown;
        };
        match (system.neutral_radius(), system.crossings()) {
            (Ok(ratio), _) if ratio >= 1.0 => Self::Impossible { ratio },
            (Ok(_), Ok(crossings)) => {
                first_loss(&crossings).map_or(Self::Always, |loss| Self::Bears(loss.delay_s))
            }
            _ => Self::Unknown,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Impossible { ratio } => format!(
                "unstable for every delay, however short: each pass hands on {} of the acceleration",
                number(*ratio)
            ),
            Self::Bears(delay_s) => format!("stable below {} ms of delay", number(1e3 * delay_s)),
            Self::Always => "stable for every delay".to_owned(),
            Self::Unknown => "not judged".to_owned(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Impossible { ratio } => json!({ "verdict": "impossible", "ratio": ratio }),
            Self::Bears(delay_s) => json!({ "verdict": "bears", "critical_delay_s": delay_s }),
            Self::Always => json!({ "verdict": "always" }),
            Self::Unknown => json!({ "verdict": "unknown" }),
        }
    }
}

fn modes_in(assembly: &Assembly, (low, high): (f64, f64)) -> Vec<f64> {
    let whole = assembly.substructures.whole.linearised();
    let Ok(modes) = own_modes(&whole) else { return Vec::new() };
    modes.frequencies_hz().filter(|hz| (low..=high).contains(hz)).collect()
}

fn words(
    experiment: &Experiment,
    assembly: &Assembly,
    settings: &TraceSettings,
    modes: &[f64],
    feedback: &Feedback,
) -> String {
    let (low, high) = settings.band_hz;
    let listed = |values: &[f64]| match values {
        [] => "none".to_owned(),
        values => values.iter().map(|&v| number(v)).collect::<Vec<_>>().join(", ") + " Hz",
    };
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let rows = [
        row("band", format!("{} to {} Hz", number(low), number(high))),
        row("natural frequencies in it, for small motions", listed(modes)),
        row("interface DOFs", assembly.count().to_string()),
        row("harmonics matched", settings.harmonics.to_string()),
        row("unknowns", settings.unknowns().to_string()),
        row("evaluations for a Jacobian by differences", settings.unknowns().to_string()),
        row("samples per period", number(1.0 / (high * assembly.integrator.step_s))),
        row("the same test with feedback", feedback.words()),
    ];
    format!(
        "{}\nAn iterative test: the loop is cut. `twinrig trace` runs it.\n\n{}",
        label(&experiment.title),
        table(&["", "value"], &rows)
    )
}
