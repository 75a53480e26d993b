//! Gálmez & Fermandois 2020, "Online stability analysis for real-time hybrid
//! simulation testing", Front. Built Environ. 6: the constant-delay results.

use std::path::{Path, PathBuf};

use analysis::criteria;
use analysis::critical_delay::{critical_delay, gao_you_delay};
use analysis::sampled_loop::SampledLoop;
use model::transfer::TransferSystem;
use runtime::monitor::WorkRule;
use runtime::reference::Reference;
use thiserror::Error;

use super::{Reproduction, Row};
use crate::assembly::{Assembly, Coupling, PlantError};
use crate::experiment::{Diagnostics, Experiment, Folder, Severity};
use crate::trace::{Trace, trace};

const EXPERIMENT: &str = include_str!("galmez.toml");

/// What shakes the benchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// A recorded motion, scaled by 0.4 as in the paper.
    File(PathBuf),
    /// The project's own synthetic record.
    Synthetic,
}

/// Why the paper cannot be recomputed.
#[derive(Debug, Error)]
pub enum GalmezError {
    /// The ground motion cannot be read.
    #[error("the ground motion {}: {reason}", path.display())]
    Ground {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The benchmark does not read; only a defect of the program does that.
    #[error("the built-in benchmark does not read:\n{0}")]
    Experiment(Diagnostics),
    /// A model cannot be built.
    #[error(transparent)]
    Plant(#[from] PlantError),
    /// The reference fails.
    #[error(transparent)]
    Reference(#[from] runtime::reference::ReferenceError),
    /// The loop cannot be judged.
    #[error(transparent)]
    Loop(#[from] analysis::sampled_loop::LoopError),
    /// Eigenvalues cannot be found.
    #[error(transparent)]
    Eigen(#[from] numerics::eigen::EigenError),
}

/// Recomputes the constant-delay rows. `progress` is told what is being done.
pub fn reproduce(
    ground: &Ground,
    mut progress: impl FnMut(&str),
) -> Result<Reproduction, GalmezError> {
    let assembly = assembly(ground)?;
    progress("critical delay");
    let substructures = &assembly.substructures;
    let specimen = &assembly.partition.specimen;
    let gao_you_s = gao_you_delay(&substructures.whole, specimen, 0.1)?;
    let exact = critical_delay(&substructures.numerical, &substructures.whole, specimen)?;
    let sampled = SampledLoop::new(&substructures.numerical, &assembly.integrator, specimen)?;
    let stable_samples = sampled.greatest_stable_delay(400)?;

    progress("reference structure");
    let reference = assembly.reference(&assembly.load())?;
    let mut delayed = |samples: usize| {
        progress(&format!("delay of {samples} samples"));
        delayed_run(&assembly, samples)
    };
    let d0 = delayed(0)?;
    let d4 = delayed(4)?;
    let d29 = delayed(29)?;
    let d37 = delayed(37)?;

    let ms = |seconds: f64| 1e3 * seconds;
    let rows = vec![
        row(
            "tau_cr_gao_you",
            "Critical delay, equivalent matrices",
            Some(8.5),
            gao_you_s.map(ms),
            "ms",
        ),
        row(
            "tau_cr_exact",
            "Critical delay, characteristic equation",
            None,
            exact.map(|c| ms(c.delay_s)),
            "ms",
        ),
        row("tau_cr_exact_hz", "Its frequency", None, exact.map(|c| c.frequency_hz), "Hz"),
        row(
            "tau_cr_samples_stable",
            "Greatest stable delay of the sampled loop",
            None,
            stable_samples.map(|samples| samples as f64),
            "samples",
        ),
        row(
            "nrmse_d0",
            "NRMSE of measured against reference, no delay",
            Some(0.0),
            nrmse(&d0, &reference),
            "%",
        ),
        row("nrmse_d4", "NRMSE, 4 samples (0.98 ms)", None, nrmse(&d4, &reference), "%"),
        row("nrmse_d29", "NRMSE, 29 samples (7.1 ms)", Some(144.0), nrmse(&d29, &reference), "%"),
        row(
            "sw_max_d0",
            "Largest stability warning, no delay",
            None,
            Some(d0.largest_warning()),
            "%",
        ),
        row(
            "sw_max_d4",
            "Largest stability warning, 4 samples",
            None,
            Some(d4.largest_warning()),
            "%",
        ),
        row(
            "sw_max_d29",
            "Largest stability warning, 29 samples",
            None,
            Some(d29.largest_warning()),
            "%",
        ),
        row(
            "sw_cross_d37",
            "Stability warning reaches 100 %, 37 samples (9 ms)",
            Some(10.0),
            d37.warning_reaches(100.0),
            "s",
        ),
        row(
            "growth_d37",
            "Growth after the load, 37 samples",
            None,
            Some(sampled.with_delay(37)?.growth_1_s),
            "1/s",
        ),
        row(
            "input_work_peak",
            "Peak input work, no delay",
            Some(100.0),
            Some(d0.peak_input_work_j()),
            "J",
        ),
    ];
    Ok(Reproduction {
        title: "Gálmez & Fermandois 2020: online stability of hybrid tests, constant delay",
        input: match ground {
            Ground::File(path) => format!("{} × 0.4", path.display()),
            Ground::Synthetic => {
                "the project's synthetic record (seed 7, peak 0.258 g), not the paper's: values \
                 that depend on the motion are not comparable with the paper's column; give the \
                 recorded one with --ground"
                    .to_owned()
            }
        },
        rows,
        notes: vec![
            "The stability warning uses the paper's trapezoid and 1 J. \"near 10 s\" and \"around \
             100 J\" are read off the paper's figures and text."
                .to_owned(),
            "Without delay numerical part and specimen are put together again and integrated as \
             one, so their error against the whole structure is rounding, or nothing at all."
                .to_owned(),
            "The paper prints 8.5 ms for the equivalent matrices; its own equations give the value \
             above."
                .to_owned(),
        ],
    })
}

/// The benchmark under the given ground motion.
pub fn assembly(ground: &Ground) -> Result<Assembly, GalmezError> {
    let (folder, line) = match ground {
        Ground::Synthetic => {
            (PathBuf::new(), "synthetic = { peak = \"0.258 g\", seed = 7 }".to_owned())
        }
        Ground::File(path) => {
            let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (folder, format!("file = {}, scale = 0.4", toml_text(&name)))
        }
    };
    let text = EXPERIMENT.replace("GROUND", &line);
    let source = Folder::new(folder);
    let refuse = |found: Diagnostics| refused(ground, found);
    let (experiment, _) = Experiment::from_text("galmez.toml", &text, &source).map_err(refuse)?;
    let (assembly, _) = Assembly::new(&experiment, &source).map_err(refuse)?;
    Ok(assembly)
}

/// The user has no galmez.toml to look at: all that can be wrong is the motion.
fn refused(ground: &Ground, found: Diagnostics) -> GalmezError {
    let Ground::File(path) = ground else { return GalmezError::Experiment(found) };
    let errors = found.items().iter().filter(|item| item.severity == Severity::Error);
    let reasons: Vec<&str> = errors.map(|item| item.message.as_str()).collect();
    GalmezError::Ground { path: path.clone(), reason: reasons.join("; ") }
}

/// One run with a constant delay; without one the structure is in one piece.
pub fn delayed_run(assembly: &Assembly, samples: usize) -> Result<Trace, GalmezError> {
    let mut assembly = assembly.clone();
    (assembly.transfer_system, assembly.coupling) = if samples == 0 {
        (TransferSystem::Ideal, Coupling::Continuous)
    } else {
        (TransferSystem::Delay { samples: samples as f64 }, Coupling::Held)
    };
    assembly.work = WorkRule::Trapezoid;
    Ok(trace(&assembly, assembly.constant_j.unwrap_or(1.0))?)
}

fn nrmse(run: &Trace, reference: &Reference) -> Option<f64> {
    criteria::nrmse(&run.measured[0], &reference.interface[0])
}

fn row(
    id: &'static str,
    quantity: &str,
    paper: Option<f64>,
    ours: Option<f64>,
    unit: &'static str,
) -> Row {
    Row { id, quantity: quantity.to_owned(), paper, ours, unit }
}

/// A TOML string of any text: JSON's escapes are a part of TOML's.
fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
