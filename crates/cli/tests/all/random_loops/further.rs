//! What else an experiment may declare: structures by their builders, rigs that are limited, that
//! change or fail, commands that are cut off, late steps, further elements, indicators and phases.

use std::fmt::Write as _;

use super::generator::{Draw, Drawn};

/// Features after which a rig is no longer the linear one that was predicted.
pub const NOT_AS_PREDICTED: [&str; 5] =
    ["limited rig", "rig that changes", "fault", "limited command", "late steps"];

/// Adds to an experiment; each addition stands alone, so that any of them may be refused.
pub fn add(drawn: &mut Drawn, draw: &mut Draw) {
    let duration_s = number_after(&drawn.text, "duration = \"");
    let (two_rates, inside) =
        (drawn.kinds.rates != "one rate", drawn.kinds.features.contains(&"inside"));
    structure(drawn, draw);
    rig(drawn, draw, duration_s);
    let mut add = |feature: &'static str, words: &str| {
        drawn.kinds.features.push(feature);
        drawn.text.push_str(words);
    };
    if draw.chance(0.1) && !inside {
        let (stiffness, opening) = (draw.log_between(1e4, 1e6), draw.log_between(1e-5, 1e-3));
        let side = draw.pick(&["both", "positive", "negative"]);
        add(
            "gap",
            &format!(
                "[[partition.element]]\nat = 1\nkind = \"gap\"\nstiffness = \"{stiffness:.1} N/m\"\n\
                 opening = \"{opening:e} m\"\nside = \"{side}\"\n"
            ),
        );
    }
    if two_rates && draw.chance(0.25) {
        let base_s = draw.log_between(1e-4, 1e-2);
        let late = format!(
            "[main_loop]\nbridge = 1000\nstep_time = {{ base = \"{base_s:e} s\", jitter = \"{:e} s\" }}",
            0.3 * base_s
        );
        replace(drawn, "late steps", "[main_loop]", &late);
    }
    if two_rates && draw.chance(0.15) {
        let line = drawn.text.lines().find(|line| line.starts_with("predictor = "));
        let line = line.unwrap_or_default().to_owned();
        replace(drawn, "adaptive predictor", &line, "predictor = { kind = \"adaptive\" }");
    }
    if draw.chance(0.2) {
        replace(drawn, "indicators", "[monitor]", "[monitor]\nfrequency_evaluation = {}");
    }
    if draw.chance(0.1) {
        replace(drawn, "trapezoid", "[monitor]", "[monitor]\nwork = \"trapezoid\"");
    }
    if draw.chance(0.1) && !drawn.text.contains("\n[record]") {
        drawn.kinds.features.push("full motion");
        drawn.text.push_str("[record]\nmotion = \"full\"\n");
    }
    if draw.chance(0.1) {
        let completing =
            "completing = { ring_down = \"0.5 s\", home_rate = \"1e9 m/s\", at_rest = \"1 um\" }\n";
        drawn.kinds.features.push("ring-down");
        match drawn.text.contains("[phases]\n") {
            true => {
                drawn.text = drawn.text.replace("[phases]\n", &format!("[phases]\n{completing}"));
            }
            false => drawn.text.push_str(&format!("[phases]\n{completing}")),
        }
    }
}

/// The same structure in other words, or with other damping; a large one reduced.
fn structure(drawn: &mut Drawn, draw: &mut Draw) {
    if draw.chance(0.4) {
        replace(drawn, "shear building", "[structure.chain]", "[structure.shear_building]");
    }
    let modal = drawn.text.lines().find(|line| line.starts_with("damping = { modal = 0."));
    if let Some(line) = modal.map(str::to_owned)
        && draw.chance(0.3)
    {
        let ratio = number_after(&line, "modal = ");
        let rayleigh = format!(
            "damping = {{ rayleigh = {{ ratios = [{ratio}, {:.5}], modes = [1, 2] }} }}",
            ratio * draw.between(0.5, 2.0)
        );
        replace(drawn, "Rayleigh damping", &line, &rayleigh);
    }
    if draw.chance(0.1) {
        let method = draw.pick(&["rubin", "craig_bampton", "dual_craig_bampton"]);
        drawn.kinds.features.push("reduction");
        let _ = writeln!(
            drawn.text,
            "[reduction]\nmethod = \"{method}\"\nmodes = {}\nunstable = \"accept\"",
            1 + draw.below(3)
        );
    }
}

/// A rig and a command that are limited, a rig that changes, one that fails.
fn rig(drawn: &mut Drawn, draw: &mut Draw, duration_s: f64) {
    if draw.chance(0.15) {
        let kind = draw.pick(&["saturation", "quantum", "capacity"]);
        let value = match kind {
            "saturation" => format!("{:e} m", draw.log_between(1e-4, 1e-1)),
            "quantum" => format!("{:e} m", draw.log_between(1e-7, 1e-4)),
            _ => format!("{:.1} N", draw.log_between(1e2, 1e5)),
        };
        let limited = format!("[transfer_system]\n{kind} = \"{value}\"");
        replace(drawn, "limited rig", "[transfer_system]", &limited);
    }
    if draw.chance(0.1) {
        let limited = match draw.chance(0.5) {
            true => format!("saturation = \"{:e} m\"", draw.log_between(1e-4, 1e-1)),
            false => format!("rate = \"{:e} m/s\"", draw.log_between(1e-3, 1.0)),
        };
        replace(drawn, "limited command", "[compensator]", &format!("[compensator]\n{limited}"));
    }
    if draw.chance(0.1) {
        let at = duration_s * draw.between(0.2, 0.8);
        let what = match drawn.text.contains("servo_hydraulic") && draw.chance(0.5) {
            true => format!("servo_gain = {:e}", 2.1283e13 * draw.between(0.5, 1.5)),
            false => format!("specimen_stiffness = {:.2}", draw.between(0.3, 2.0)),
        };
        drawn.kinds.features.push("rig that changes");
        let _ = writeln!(drawn.text, "[transfer_system.change]\nat = \"{at:e} s\"\n{what}");
    }
    if draw.chance(0.15) {
        let kind = match draw.below(11) {
            0 => format!("delay\"\nby = \"{:e} s\"", duration_s * draw.log_between(1e-3, 3e-2)),
            1 => format!("delay_jitter\"\nmost = \"{:e} s\"", duration_s * 0.01),
            2 => format!("dropped_commands\"\nprobability = {:.3}", draw.between(0.01, 0.5)),
            3 => format!("repeated_samples\"\nprobability = {:.3}", draw.between(0.01, 0.5)),
            4 => "sensor_nan\"".to_owned(),
            5 => "frozen_displacement\"".to_owned(),
            6 => "stuck_actuator\"".to_owned(),
            7 => {
                format!("saturated_actuator\"\nposition = \"{:e} m\"", draw.log_between(1e-4, 1e-1))
            }
            8 => format!("load_cell_drift\"\ndrift = \"{:.1} N\"", draw.between(-1e4, 1e4)),
            9 => "wrong_sign\"".to_owned(),
            _ => format!("specimen_failure\"\nremaining = {:.2}", draw.between(0.0, 0.9)),
        };
        let (at, lasts) = (draw.between(0.0, 0.8), draw.log_between(0.01, 0.3));
        drawn.kinds.features.push("fault");
        let _ = writeln!(
            drawn.text,
            "[[fault]]\nat = \"{:e} s\"\nduration = \"{:e} s\"\nkind = \"{kind}",
            at * duration_s,
            lasts * duration_s
        );
    }
    if draw.chance(0.15) {
        let quanta = format!(
            "displacement_quantum = \"{:e} m\"\nforce_quantum = \"{:e} N\"",
            draw.log_between(1e-8, 1e-5),
            draw.log_between(1e-2, 10.0)
        );
        drawn.kinds.features.push("sensor quanta");
        match drawn.text.contains("[sensors]\n") {
            true => {
                let with = format!("[sensors]\n{quanta}\n");
                drawn.text = drawn.text.replace("[sensors]\n", &with);
            }
            false => {
                let _ = writeln!(drawn.text, "[sensors]\n{quanta}");
            }
        }
    }
    if draw.chance(0.15) {
        chirp(drawn, draw, duration_s);
    }
}

/// The first sine becomes one of running frequency.
fn chirp(drawn: &mut Drawn, draw: &mut Draw, duration_s: f64) {
    let Some(begin) = drawn.text.find("harmonic = {") else { return };
    let words = drawn.text[begin..].split('}').next().unwrap_or_default().to_owned() + "}";
    let amplitude = words.split('"').nth(1).unwrap_or_default();
    let hertz = number_after(&words, "frequency = \"");
    let chirp = format!(
        "chirp = {{ amplitude = \"{amplitude}\", from = \"{} Hz\", to = \"{} Hz\", \
         duration = \"{duration_s} s\" }}",
        hertz * draw.between(0.2, 1.0),
        hertz * draw.between(1.0, 3.0)
    );
    replace(drawn, "chirp", &words, &chirp);
}

/// Replaces the first of some words where they are; that is then a feature.
fn replace(drawn: &mut Drawn, feature: &'static str, words: &str, by: &str) {
    if !words.is_empty() && drawn.text.contains(words) {
        drawn.text = drawn.text.replacen(words, by, 1);
        drawn.kinds.features.push(feature);
    }
}

/// The number that follows some words.
fn number_after(text: &str, words: &str) -> f64 {
    let rest = text.split(words).nth(1).unwrap_or_default();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || "+-.e".contains(c)));
    rest[..end.unwrap_or(rest.len())].parse().unwrap_or(1.0)
}
