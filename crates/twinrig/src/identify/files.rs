//! What an identification leaves on the disk: tables, and TOML to include.

use std::fmt::Write as _;

use analysis::identification::Line;

use super::choice::Advised;
use super::compensator_files::compensators;
use super::measured::interface_dofs;
use super::table::BOUND;
use super::{Identified, RigTest};
use crate::table::csv_text;
use crate::words::{number, titled};

/// How every file that can be included begins.
const MARK: &str = "# Identified by twinrig ";

/// Whether a text is such a file of an identification.
pub fn is_include(text: &str) -> bool {
    text.starts_with(MARK)
}

/// Name and contents.
pub type TextFile = (String, String);

/// The samples of a test: time and, per interface DOF, command, measured motion
/// and force, SI.
pub fn test_csv(test: &RigTest) -> String {
    let record = &test.record;
    let times = record.column("time").unwrap_or_default();
    let mut columns = vec![("time [s]".to_owned(), times)];
    for (name, unit) in [("command", "m"), ("measured", "m"), ("force", "N")] {
        for dof in 1..=interface_dofs(record) {
            let channel = format!("{name}.{dof}");
            let column = record.column(&channel);
            columns.extend(column.map(|values| (titled(&channel, unit), values)));
        }
    }
    let row = |at: usize| columns.iter().map(|(_, values)| values[at].to_string()).collect();
    let head: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    csv_text(head, (0..times.len()).map(row))
}

/// The frequency response, data and fit.
pub fn response_csv(result: &Identified) -> String {
    let head = [
        "frequency [Hz]",
        "h1 real",
        "h1 imaginary",
        "h1 deviation",
        "h2 real",
        "h2 imaginary",
        "coherence",
        "fit real",
        "fit imaginary",
    ];
    let rows = result.found.lines.iter().map(|line| {
        let Line { frequency_hz, h1, h2, coherence, deviation } = *line;
        let fit = result.found.fit.response(std::f64::consts::TAU * frequency_hz);
        [frequency_hz, h1.re, h1.im, deviation, h2.re, h2.im, coherence, fit.re, fit.im]
            .map(|value| value.to_string())
    });
    csv_text(head.map(str::to_owned), rows)
}

/// `[transfer_system]` and the designed compensators, each in a file that an
/// experiment can include. `origin` says where the samples came from.
pub fn includes(advised: &Advised, origin: &str) -> Vec<TextFile> {
    let Advised { result, choice, suffix } = advised;
    let name = format!("transfer_system{suffix}.toml");
    let mut files = vec![(name, transfer_system(result, origin))];
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
        number(found.band_hz.0),
        number(found.band_hz.1),
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
        number(fit.dc_gain.value),
        number(1e3 * fit.dc_delay_s.value),
        fit.function.numerator(),
        fit.function.denominator()
    );
    if fit.delay_s.value > 0.0 {
        let _ = writeln!(text, "delay       = \"{:?} ms\"", 1e3 * fit.delay_s.value);
    }
    text
}
