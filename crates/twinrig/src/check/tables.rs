//! The tables of `check`, for the terminal and for its page.

use analysis::loop_stability::Motion;
use analysis::loop_stability::compensators::Trial;
use analysis::partitions::{Advice, Cut, Origin, Ranked};
use model::equations::RelativeDof;
use nalgebra::DMatrix;

use super::in_short;
use crate::forecast::{Examined, Forecast};
use crate::page::text::number_or_dash;
use crate::table::Table;
use crate::words::{Words, number};

/// Cuts that are listed.
const CUTS: usize = 15;

/// The modes of the structure, and what the loop makes of their damping.
pub fn modes(forecast: &Forecast) -> Table {
    let header = [
        "mode",
        "frequency [Hz]",
        "damping [%]",
        "in loop [Hz]",
        "damping [%]",
        "per ms later [%]",
    ];
    let followed = forecast.followed();
    let rows = (1..).zip(&forecast.modes).map(|(place, mode)| {
        let own = match mode.is_rigid() {
            true => ["rigid body".to_owned(), "–".to_owned()],
            false => [number(mode.frequency_hz), percent(mode.damping_ratio)],
        };
        let mut row = vec![place.to_string()];
        row.extend(own);
        if let Some(modes) = followed {
            let found = modes.iter().find(|mode| mode.truth.number == place);
            let motion = found.and_then(|mode| mode.in_loop);
            let sensitivity = found.and_then(|mode| mode.sensitivity_1_s);
            row.extend([
                number_or_dash(motion.map(|motion| motion.frequency_hz())),
                number_or_dash(motion.map(|motion| 100.0 * motion.damping_ratio())),
                sensitivity.map_or("–".to_owned(), |s| format!("{:+.3}", 0.1 * s)),
            ]);
        }
        row
    });
    let known = if followed.is_some() { &header[..] } else { &header[..3] };
    Table::new(known).titled("Modes of the whole structure, and in the loop").filled(rows)
}

fn percent(ratio: f64) -> String {
    number(100.0 * ratio)
}

/// The loop with other compensators; `None` where none was tried.
pub fn trials(examined: &Examined) -> Option<Table> {
    let rows = examined.trials.iter().map(|trial: &Trial| {
        let adapts = trial.kind.starts_with("adaptive");
        let least = |(motion, mode): (Motion, Option<usize>)| {
            let of = mode.map_or("no mode".to_owned(), |mode| format!("mode {mode}"));
            format!("{} ({of})", percent(motion.damping_ratio()))
        };
        let worst = |(mode, error)| format!("{:+.3} (mode {mode})", 100.0 * error);
        let stable = trial.verdict.is_stable();
        // A motion may be counted but not found: then this much is known of it.
        let unknown = if stable { "–" } else { "below 0" };
        [
            format!("{}{}", trial.kind, if adapts { ", converged" } else { "" }),
            trial.least_damped.map_or(unknown.to_owned(), least),
            trial.worst.map_or("–".to_owned(), worst),
            in_short(Some(&trial.verdict)),
        ]
    });
    let title = "Other compensators, each with parameters that suit this rig";
    let header = ["compensator", "least damping [%]", "deviation [%]", "delay margin [ms]"];
    (examined.trials.len() > 1).then(|| Table::new(&header).titled(title).filled(rows))
}

/// Cuts of the structure, ranked, and what the words in the table mean.
pub fn cuts(names: &[String], advice: &Advice) -> Words {
    let listed = || {
        let all = (1..).zip(&advice.ranked);
        all.filter(|(rank, ranked)| *rank <= CUTS || ranked.cut.origin == Origin::Declared)
    };
    let rows: Vec<Vec<String>> = listed()
        .map(|(rank, ranked)| {
            let matrices = &ranked.cut.partition.specimen.linearised().matrices;
            let (delay, hertz) = critical_delay(ranked);
            vec![
                format!("{rank}. {}", place(names, &ranked.cut)),
                origin(&ranked.cut),
                diagonal(&matrices.stiffness, 1e-6),
                diagonal(&matrices.mass, 1.0),
                delay,
                hertz,
                in_short(ranked.own.as_ref()),
            ]
        })
        .collect();
    let header = [
        "partition",
        "specimen",
        "stiffness [MN/m]",
        "mass [kg]",
        "critical delay [ms]",
        "at [Hz]",
        "delay margin [ms]",
    ];
    let more = advice.ranked.len() - rows.len();
    let any = |wanted: &dyn Fn(Origin) -> bool| listed().any(|(_, r)| wanted(r.cut.origin));
    let half = any(&|origin| matches!(origin, Origin::Element { share } if share < 1.0));
    let with_mass = any(&|origin| matches!(origin, Origin::MassSplit { .. }));
    let unjudged = listed().any(|(_, ranked)| ranked.own.is_none());
    let notes = [
        (more > 0, format!("and {more} more")),
        (
            half,
            "50 % spring: half of it, and of its damper, in the laboratory, the other half \
             simulated"
                .to_owned(),
        ),
        (
            with_mass,
            "… % mass: the declared specimen with so much of the structure's mass at its DOF"
                .to_owned(),
        ),
        (
            unjudged,
            "– : this transfer system cannot be judged there; a servo-hydraulic actuator needs a \
             specimen with mass"
                .to_owned(),
        ),
    ];
    let mut words = Words::default();
    words.line("");
    words.table(Table::new(&header).aligned("<<>>>>>").filled(rows));
    let notes = notes.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note);
    let skipped = advice.skipped.iter().map(|skipped| format!("not examined: {skipped}"));
    notes.chain(skipped).for_each(|note| words.line(note));
    words
}

/// What a specimen has at each interface DOF, without zeros at the end.
fn diagonal(matrix: &DMatrix<f64>, factor: f64) -> String {
    let short = |x: &f64| {
        let text = number(factor * x);
        match text.contains('.') && !text.contains('e') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    };
    match matrix.amax() > 0.0 {
        true => matrix.diagonal().iter().map(short).collect::<Vec<_>>().join(" | "),
        false => "–".to_owned(),
    }
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
        Origin::MassSplit { share } => format!("{:.0} % mass", 100.0 * share),
        Origin::Moved => "moved here".to_owned(),
        Origin::Element { share: 1.0 } => "whole spring".to_owned(),
        Origin::Element { share } => format!("{:.0} % spring", 100.0 * share),
    }
}

/// The longest delay in ms that a partition bears, and the frequency there in Hz.
fn critical_delay(ranked: &Ranked) -> (String, String) {
    match ranked.critical {
        None => ("any".to_owned(), "–".to_owned()),
        Some(critical) if critical.delay_s <= 0.0 => ("none".to_owned(), "–".to_owned()),
        Some(critical) => (number(1e3 * critical.delay_s), number(critical.frequency_hz)),
    }
}
