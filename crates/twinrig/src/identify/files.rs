//! What an identification leaves on the disk: tables, and TOML to include.

use std::fmt::Write as _;

use super::choice::Advised;
use super::compensator_files::compensators;
use super::measured::interface_dofs;
use super::table::{BOUND, short};
use super::{Identified, RigTest};

/// How every file that can be included begins.
const MARK: &str = "# Identified by twinrig ";

/// Whether a text is such a file of an identification.
pub fn is_include(text: &str) -> bool {
    text.starts_with(MARK)
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub text: String,
}

/// The samples of a test: time and, per interface DOF, command, measured motion
/// and force, SI.
pub fn test_csv(test: &RigTest) -> String {
    let record = &test.record;
    let mut text = "time [s]".to_owned();
    let mut columns: Vec<&[f64]> = Vec::new();
    for (name, unit) in [("command", "m"), ("measured", "m"), ("force", "N")] {
        for i in 1..=interface_dofs(record) {
            let _ = write!(text, ",{name}.{i} [{unit}]");
            columns.extend(record.column(&format!("{name}.{i}")));
        }
    }
    text.push('\n');
    for (row, time_s) in record.column("time").unwrap_or_default().iter().enumerate() {
        let _ = write!(text, "{time_s}");
        for column in &columns {
            let _ = write!(text, ",{}", column[row]);
        }
        text.push('\n');
    }
    text
}

/// The frequency response, data and fit.
pub fn response_csv(result: &Identified) -> String {
    let mut text = "frequency [Hz],h1 real,h1 imaginary,h1 deviation,h2 real,h2 imaginary,\
                    coherence,fit real,fit imaginary\n"
        .to_owned();
    for line in &result.found.lines {
        let fit = result.found.fit.response(std::f64::consts::TAU * line.frequency_hz);
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{}",
            line.frequency_hz,
            line.h1.re,
            line.h1.im,
            line.deviation,
            line.h2.re,
            line.h2.im,
            line.coherence,
            fit.re,
            fit.im
        );
    }
    text
}

/// `[transfer_system]` and the designed compensators, each in a file that an
/// experiment can include. `origin` says where the samples came from.
pub fn includes(advised: &Advised, origin: &str) -> Vec<TextFile> {
    let Advised { result, choice, suffix } = advised;
    let mut files = vec![TextFile {
        name: format!("transfer_system{suffix}.toml"),
        text: transfer_system(result, origin),
    }];
    if let Ok(choice) = choice {
        let head = heading(result, origin)
            + "# The half period by which a held command is late is part of it.\n";
        files.extend(compensators(choice, &head, suffix));
    }
    files
}

fn heading(result: &Identified, origin: &str) -> String {
    let found = &result.found;
    let origin: String = origin.chars().filter(|c| !c.is_control()).take(200).collect();
    let mut text = format!(
        "{MARK}{} from {origin}, interface DOF {}:\n\
         # {} to {} Hz at {} Hz, mean coherence {:.6}, misfit {:.2} times the noise.\n",
        env!("CARGO_PKG_VERSION"),
        result.dof + 1,
        short(found.band_hz.0),
        short(found.band_hz.1),
        found.rate_hz,
        found.mean_coherence,
        found.fit.misfit
    );
    for caution in &found.cautions {
        let _ = writeln!(text, "# Caution: {}.", caution);
    }
    text
}

fn transfer_system(result: &Identified, origin: &str) -> String {
    let fit = &result.found.fit;
    let bounds: Vec<String> = fit
        .numerator
        .iter()
        .chain(&fit.denominator)
        .map(|e| format!("{:.4} %", (100.0 * BOUND * e.deviation / e.value).abs()))
        .collect();
    let mut text = heading(result, origin);
    let _ = write!(
        text,
        "# Bounds of 95 %, numerator first: {}.\n\
         # Gain {} and delay {} ms at 0 Hz.\n\n\
         [transfer_system]\n\
         kind        = \"transfer_function\"\n\
         numerator   = {:?}\n\
         denominator = {:?}\n",
        bounds.join(", "),
        short(fit.dc_gain.value),
        short(1e3 * fit.dc_delay_s.value),
        fit.function.numerator(),
        fit.function.denominator()
    );
    if fit.delay_s.value > 0.0 {
        let _ = writeln!(text, "delay       = \"{:?} ms\"", 1e3 * fit.delay_s.value);
    }
    text
}
