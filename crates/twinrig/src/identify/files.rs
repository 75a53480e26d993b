//! What an identification leaves on the disk: tables, and TOML to include.

use std::fmt::Write as _;

use analysis::compensator_design::{Plant, inverse, prediction_delay_s, sampled_alpha};
use analysis::identification::Hold;

use super::table::{BOUND, short};
use super::{Identified, RigTest};

/// Frequency at which a first-order lead has the plant's phase, as the
/// literature does; a quarter of the band where that is lower.
const MATCH_HZ: f64 = 1.0;
/// Order of the polynomial of a forward prediction.
const PREDICTION_ORDER: u32 = 3;

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
    let count = test.command.len();
    let mut text = "time [s]".to_owned();
    for (name, unit) in [("command", "m"), ("measured", "m"), ("force", "N")] {
        for i in 1..=count {
            let _ = write!(text, ",{name}.{i} [{unit}]");
        }
    }
    text.push('\n');
    for row in 0..test.command.first().map_or(0, Vec::len) {
        let _ = write!(text, "{}", row as f64 / test.rate_hz);
        for column in test.command.iter().chain(&test.measured).chain(&test.force) {
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
/// experiment can include. `origin` says where the samples came from; `suffix`
/// tells the files of several DOFs apart.
pub fn includes(result: &Identified, origin: &str, suffix: &str) -> Vec<TextFile> {
    let mut files = vec![TextFile {
        name: format!("transfer_system{suffix}.toml"),
        text: transfer_system(result, origin),
    }];
    if result.found.fit.is_stable() {
        files.extend(compensators(result, origin, suffix));
    }
    files
}

fn heading(result: &Identified, origin: &str) -> String {
    let found = &result.found;
    let origin: String = origin.chars().filter(|c| !c.is_control()).take(200).collect();
    format!(
        "# Identified by twinrig {} from {origin}, interface DOF {}:\n\
         # {} to {} Hz at {} Hz, mean coherence {:.6}, misfit {:.2} times the noise.\n",
        env!("CARGO_PKG_VERSION"),
        result.dof + 1,
        short(found.band_hz.0),
        short(found.band_hz.1),
        found.rate_hz,
        found.mean_coherence,
        found.fit.misfit
    )
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

fn compensators(result: &Identified, origin: &str, suffix: &str) -> Vec<TextFile> {
    let found = &result.found;
    let step_s = 1.0 / found.rate_hz;
    let plant = Plant {
        function: found.fit.function.clone(),
        delay_s: found.fit.delay_s.value,
        hold_s: match found.hold {
            Hold::Zero => step_s,
            Hold::None => 0.0,
        },
    };
    let (gain, delay_s) = (1.0 / plant.dc_gain(), prediction_delay_s(&plant, 0.0));
    let coefficients = inverse(&plant, 4);
    let match_hz = MATCH_HZ.min(0.25 * found.band_hz.1);
    let head = heading(result, origin)
        + "# The half period by which a held command is late is part of it.\n\n[compensator]\n";
    let mut files = Vec::new();
    let mut push = |name: &str, text: String| {
        let name = format!("{name}{suffix}.toml");
        files.push(TextFile { name, text: format!("{head}{text}") });
    };
    push(
        "compensator",
        format!(
            "kind        = \"adaptive_inverse\"   # starts here and follows the rig\n\
             start_gain  = {gain:?}\nstart_delay = \"{:?} ms\"\n",
            1e3 * delay_s
        ),
    );
    push(
        "compensator_inverse",
        format!("kind         = \"inverse\"\ncoefficients = {coefficients:?}   # in s^k\n"),
    );
    // The lead of the sampled form is a difference over one period.
    let lead_s = sampled_alpha(&plant, match_hz, step_s).map(|alpha| (alpha - 1.0) * step_s);
    if let Some(lead_s) = lead_s {
        push(
            "compensator_first_order",
            format!(
                "kind = \"first_order\"       # phase-matched at {match_hz} Hz\n\
                 gain = {gain:?}\nlead = \"{:?} ms\"\n",
                1e3 * lead_s
            ),
        );
    }
    push(
        "compensator_forward_prediction",
        format!(
            "kind  = \"forward_prediction\"\norder = {PREDICTION_ORDER}\n\
             delay = \"{:?} ms\"\ngain  = {gain:?}\n",
            1e3 * delay_s
        ),
    );
    files
}
