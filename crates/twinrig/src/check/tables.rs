//! The tables of `check`, for the terminal and for its page.

use analysis::loop_stability::compensators::Trial;
use analysis::partitions::{Advice, Cut, Origin, Ranked};
use model::equations::RelativeDof;
use model::specimen::Specimen;
use nalgebra::DMatrix;

use super::of_mode;
use crate::forecast::{Examined, Forecast};
use crate::page::Table;
use crate::table::Table as PlainTable;
use crate::words::{Words, number};

/// Cuts that are listed.
const CUTS: usize = 15;

/// The modes of the structure, and what the loop makes of their damping.
pub fn modes(forecast: &Forecast) -> Table {
    let in_loop = |number: usize| {
        let modes = &forecast.examined.as_ref()?.motions.modes;
        modes.iter().find(|mode| mode.truth.number == number)
    };
    let header =
        ["whole structure", "frequency", "damping", "in the loop", "damping", "per ms later"];
    let known = forecast.examined.is_some();
    let rows = forecast
        .modes
        .iter()
        .enumerate()
        .map(|(i, mode)| {
            let mut row = if mode.is_rigid() {
                vec![format!("mode {}", i + 1), "rigid body".to_owned(), dash()]
            } else {
                vec![
                    format!("mode {}", i + 1),
                    format!("{} Hz", number(mode.frequency_hz)),
                    percent(mode.damping_ratio),
                ]
            };
            if known {
                let found = in_loop(i + 1);
                let motion = found.and_then(|mode| mode.in_loop);
                let sensitivity = found.and_then(|mode| mode.sensitivity_1_s);
                row.extend([
                    motion.map_or_else(dash, |m| format!("{} Hz", number(m.frequency_hz()))),
                    motion.map_or_else(dash, |m| percent(m.damping_ratio())),
                    sensitivity.map_or_else(dash, |s| format!("{:+.3} %", 0.1 * s)),
                ]);
            }
            row
        })
        .collect();
    let header = if known { &header[..] } else { &header[..3] };
    Table { rows, ..Table::new("Modes", header) }
}

fn dash() -> String {
    "–".to_owned()
}

fn percent(ratio: f64) -> String {
    format!("{} %", number(100.0 * ratio))
}

/// The loop with other compensators; `None` where none was tried.
pub fn trials(examined: &Examined) -> Option<Table> {
    if examined.trials.len() < 2 {
        return None;
    }
    let row = |trial: &Trial| {
        let learns = if trial.kind.starts_with("adaptive") { ", learnt" } else { "" };
        vec![
            format!("{}{learns}", trial.kind),
            if trial.verdict.is_stable() { "stable" } else { "UNSTABLE" }.to_owned(),
            match trial.least_damped {
                Some((motion, mode)) => {
                    let of = if mode.is_some() { of_mode(mode) } else { " (no mode)".to_owned() };
                    format!("{}{of}", percent(motion.damping_ratio()))
                }
                None if trial.verdict.is_stable() => dash(),
                // Counted but not found: this much is known of it.
                None => "below 0 %".to_owned(),
            },
            trial.worst.map_or_else(dash, |(mode, error)| {
                format!("{:+.3} % (mode {mode})", 100.0 * error)
            }),
            match trial.verdict.delay_margin {
                Some(margin) => format!("{} ms", number(1e3 * margin.delay_s)),
                None if trial.verdict.is_stable() => "any".to_owned(),
                None => dash(),
            },
        ]
    };
    let title = "Other compensators, each with the numbers that suit this rig";
    let header = ["compensator", "loop", "least damping", "largest damping error", "delay margin"];
    Some(Table { rows: examined.trials.iter().map(row).collect(), ..Table::new(title, &header) })
}

/// Cuts of the structure, ranked, and what the words in the table mean.
pub fn cuts(names: &[String], advice: &Advice) -> Words {
    let listed = || {
        let all = advice.ranked.iter().enumerate();
        all.filter(|(i, ranked)| *i < CUTS || ranked.cut.origin == Origin::Declared)
    };
    let rows: Vec<Vec<String>> = listed()
        .map(|(i, ranked)| {
            vec![
                format!("{}. {}", i + 1, place(names, &ranked.cut)),
                origin(&ranked.cut),
                amounts(&ranked.cut.partition.specimen.linearised()),
                critical_delay(ranked),
                own(ranked),
            ]
        })
        .collect();
    let header = ["partition", "specimen", "of", "critical delay", "this rig"];
    let more = advice.ranked.len() - rows.len();
    let mut words = Words::default();
    words.line("");
    words.table(PlainTable::new(&header).filled(rows));
    let mut note = |text: &str| words.line(text);
    if more > 0 {
        note(&format!("and {more} more"));
    }
    let any = |wanted: &dyn Fn(Origin) -> bool| listed().any(|(_, r)| wanted(r.cut.origin));
    if any(&|origin| matches!(origin, Origin::Element { share } if share < 1.0)) {
        note(
            "50 % of the spring: half of it, and of its damper, in the laboratory, the other half simulated",
        );
    }
    if any(&|origin| matches!(origin, Origin::MassSplit { .. })) {
        note(
            "with … % of the mass: the declared specimen with so much of the structure's mass at its DOF",
        );
    }
    if listed().any(|(_, ranked)| ranked.own.is_none()) {
        note(
            "– : this transfer system cannot be judged there; a servo-hydraulic actuator needs a \
             specimen with mass",
        );
    }
    for skipped in &advice.skipped {
        note(&format!("not examined: {skipped}"));
    }
    words
}

/// What a specimen has of stiffness and mass, one entry per interface DOF.
fn amounts(specimen: &Specimen) -> String {
    let each = |matrix: &DMatrix<f64>, factor: f64, unit: &str| {
        let entries: Vec<String> = matrix.diagonal().iter().map(|x| short(factor * x)).collect();
        (matrix.amax() > 0.0).then(|| format!("{} {unit}", entries.join(" | ")))
    };
    let (stiffness, mass) = (
        each(&specimen.matrices.stiffness, 1e-6, "MN/m"),
        each(&specimen.matrices.mass, 1.0, "kg"),
    );
    match (stiffness, mass) {
        (Some(stiffness), Some(mass)) => format!("{stiffness}, {mass}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => dash(),
    }
}

/// Four digits, without zeros at the end.
fn short(value: f64) -> String {
    let size = value.abs();
    if value != 0.0 && !(1e-3..1e6).contains(&size) {
        return format!("{value:.3e}");
    }
    let digits = (3 - size.max(1e-3).log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    let whole = text.contains('.').then(|| text.trim_end_matches('0').trim_end_matches('.'));
    whole.map_or(text.clone(), str::to_owned)
}

pub(super) fn place(names: &[String], cut: &Cut) -> String {
    let name = |dof: Option<usize>| dof.map_or("ground", |dof| names[dof].as_str());
    let of = |place: &RelativeDof| match place.from {
        None => name(place.to).to_owned(),
        Some(_) => format!("{} – {}", name(place.from), name(place.to)),
    };
    cut.partition.interface.iter().map(of).collect::<Vec<_>>().join(", ")
}

pub(super) fn origin(cut: &Cut) -> String {
    match cut.origin {
        Origin::Declared => "as declared".to_owned(),
        Origin::MassSplit { share } => {
            format!("with {:.0} % of the mass", 100.0 * share)
        }
        Origin::Moved => "the declared one here".to_owned(),
        Origin::Element { share: 1.0 } => "the whole spring".to_owned(),
        Origin::Element { share } => format!("{:.0} % of the spring", 100.0 * share),
    }
}

fn critical_delay(ranked: &Ranked) -> String {
    match ranked.critical {
        None => "any".to_owned(),
        Some(critical) if critical.delay_s <= 0.0 => "none".to_owned(),
        Some(critical) => {
            format!("{} ms at {} Hz", number(1e3 * critical.delay_s), number(critical.frequency_hz))
        }
    }
}

fn own(ranked: &Ranked) -> String {
    match ranked.own.map(|verdict| (verdict.growing, verdict.delay_margin)) {
        None => "–".to_owned(),
        Some((0, None)) => "stable at any delay".to_owned(),
        Some((0, Some(margin))) => format!("delay margin {} ms", number(1e3 * margin.delay_s)),
        Some(_) => "UNSTABLE".to_owned(),
    }
}
