//! The report in short: for people, and for a machine.

use analysis::criteria::{Criterion, Note, Subject};
use numerics::spectral_ratio::SpectralRatio;
use runtime::record::{EventNote, TimingNote, TripNote};
use runtime::verdict::Verdict;
use serde::Serialize;

use super::findings::Findings;
use super::outcome::Status;
use super::verdict::verdict;
use super::view::{Interface, View};
use super::{tables, timing};
use crate::page::text::{count, counted, label, number};
use crate::words::Words;

/// More events than this are not listed.
const SHOWN_EVENTS: usize = 40;

/// The result of a test in numbers, in SI units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Title of the experiment.
    pub title: String,
    /// Name of the experiment file.
    pub experiment: String,
    /// Version of twinrig that made the record.
    pub version: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// UTC start; empty for a rehearsal.
    pub started: String,
    /// Ticks per second.
    pub rate_hz: f64,
    /// Ticks between two frames.
    pub every: u64,
    /// How far the result can be trusted.
    pub verdict: Verdict,
    /// How the test ended.
    pub status: Status,
    /// Everything that happened to it, a sentence each.
    pub statements: Vec<String>,
    /// The trip, if there was one.
    pub trip: Option<TripNote>,
    /// What else happened, in order of time.
    pub events: Vec<EventNote>,
    /// Time of the last frame.
    pub duration_s: Option<f64>,
    /// Frames.
    pub rows: usize,
    /// Frames of the test proper.
    pub running_rows: usize,
    /// Frames that hold what stands in for an answer of the rig.
    pub bridged_frames: usize,
    /// Ticks; absent if the record was cut off.
    pub ticks: Option<u64>,
    /// Frames that were written; likewise.
    pub frames: Option<u64>,
    /// Frames that were lost; likewise.
    pub frames_lost: Option<u64>,
    /// How punctual a real-time run was.
    pub timing: Option<TimingNote>,
    /// DOFs of the numerical substructure.
    pub dofs: usize,
    /// DOFs at the interface.
    pub interface_dofs: usize,
    /// J1 and so on.
    pub criteria: Vec<CriterionRow>,
    /// Normalised rms error of each interface DOF against the reference.
    pub nrmse: Vec<InterfaceError>,
    /// Frequency evaluation index of each interface DOF.
    pub tracking: Vec<FrequencyEvaluation>,
    /// The largest excursion of each quantity.
    pub peaks: Vec<PeakRow>,
    /// First time the stability warning reached 100 %.
    pub stability_warning_reached_s: Option<f64>,
    /// Channels with samples that are not finite.
    pub not_finite: Vec<Gaps>,
}

/// A criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CriterionRow {
    /// `J1` …
    pub id: String,
    /// What it says.
    pub quantity: String,
    /// Its value; none where it has no meaning.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: &'static str,
    /// What a reader must know before trusting it.
    pub note: Option<String>,
}

/// Normalised rms error of an interface DOF.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InterfaceError {
    /// Its name.
    pub interface: String,
    /// None where there is no reference.
    pub value: Option<f64>,
    /// Per cent.
    pub unit: &'static str,
}

/// The frequency evaluation index of an interface DOF over the whole test; none where nothing moved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FrequencyEvaluation {
    /// Its name.
    pub interface: String,
    /// Measured over desired amplitude.
    pub amplitude: Option<f64>,
    /// How far the measured is behind the desired motion.
    pub delay_s: Option<f64>,
    /// Mean frequency of the desired motion.
    pub frequency_hz: Option<f64>,
}

impl FrequencyEvaluation {
    pub(super) fn of(view: &View<'_>, interface: &Interface<'_>) -> Self {
        let (x, y) = (view.running(interface.desired), view.running(&interface.measured));
        let ratio = SpectralRatio::of_signals(&x, &y, view.frame_rate_hz().unwrap_or(f64::NAN));
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        Self {
            interface: interface.name.clone(),
            amplitude: finite(ratio.amplitude()),
            delay_s: finite(ratio.delay_s()),
            frequency_hz: finite(ratio.frequency_hz()),
        }
    }
}

/// The largest excursion of one quantity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeakRow {
    /// The channel.
    pub channel: String,
    /// What it is.
    pub quantity: String,
    /// None if there is no finite sample.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: &'static str,
    /// When.
    pub time_s: Option<f64>,
    /// Whose it is; none for the whole test.
    #[serde(skip)]
    pub(super) subject: Option<Subject>,
}

/// Samples of a channel that are not finite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gaps {
    /// The channel.
    pub channel: String,
    /// How many.
    pub samples: usize,
}

impl Summary {
    pub(super) fn of(findings: Findings<'_>) -> Self {
        let view = &findings.view;
        let header = &view.record.header;
        let ended = view.record.summary.as_ref();
        let error = |(interface, value): (&Interface<'_>, &Option<f64>)| InterfaceError {
            interface: interface.name.clone(),
            value: *value,
            unit: "%",
        };
        Self {
            title: header.title.clone(),
            experiment: header.experiment_name.clone(),
            version: header.version.clone(),
            seed: header.seed,
            started: header.started.clone(),
            rate_hz: header.rate_hz,
            every: header.every,
            verdict: verdict(&findings),
            status: findings.outcome.status,
            events: findings.events().to_vec(),
            duration_s: findings.duration_s(),
            rows: view.rows(),
            running_rows: view.running_rows(),
            bridged_frames: view.bridged,
            ticks: ended.map(|summary| summary.ticks),
            frames: ended.map(|summary| summary.frames),
            frames_lost: ended.map(|summary| summary.frames_lost),
            timing: findings.timing().cloned(),
            dofs: view.dofs,
            interface_dofs: view.interfaces.len(),
            criteria: findings.criteria.iter().map(CriterionRow::of).collect(),
            nrmse: view.interfaces.iter().zip(&findings.nrmse).map(error).collect(),
            stability_warning_reached_s: findings.warning_reached_s,
            statements: findings.outcome.statements,
            trip: findings.outcome.trip,
            tracking: findings.tracking,
            peaks: findings.peaks,
            not_finite: findings.gaps,
        }
    }

    /// The criterion of this name, such as `J2`.
    pub fn criterion(&self, id: &str) -> Option<f64> {
        self.criteria.iter().find(|criterion| criterion.id == id)?.value
    }
}

impl CriterionRow {
    fn of(criterion: &Criterion) -> Self {
        let Criterion { id, quantity, value, unit, note, .. } = criterion.clone();
        Self { id, quantity, value, unit, note: note.map(|note| note.to_string()) }
    }
}

/// The findings in words.
pub(super) fn words(findings: &Findings<'_>) -> Words {
    let (outcome, mut words) = (&findings.outcome, Words::default());
    words.line(label(&findings.view.record.header.title));
    words.line(format!("{}: {}", outcome.status.word(), outcome.statements.join(" ")));
    words.verdict(&verdict(findings));
    words.line(format!("{}\n", facts_line(findings)));
    let mut events = tables::events(findings);
    let more = events.rows.len().saturating_sub(SHOWN_EVENTS);
    events.rows.truncate(SHOWN_EVENTS);
    words.table(events);
    if more > 0 {
        words.line(format!("and {}", counted(more as u64, "further event")));
    }
    if let Some((table, lines)) = timing::punctuality(findings) {
        words.table(table);
        lines.into_iter().for_each(|line| words.line(line));
    }
    words.table(tables::criteria(findings));
    words.table(tables::peaks(findings));
    remarks(findings).iter().for_each(|remark| words.line(format!("note: {remark}")));
    words
}

/// What else a reader must know.
pub(super) fn remarks(findings: &Findings<'_>) -> Vec<String> {
    const NAMED: usize = 5;
    let (view, gaps) = (&findings.view, &findings.gaps);
    let mut remarks: Vec<String> = findings.left_out().into_iter().collect();
    if findings.criteria.iter().any(|criterion| criterion.note == Some(Note::NoReference)) {
        remarks.push(format!("{}.", Note::NoReference));
    }
    if !gaps.is_empty() {
        let named = gaps.iter().take(NAMED).map(|gaps| {
            format!("{} ({})", label(&gaps.channel), counted(gaps.samples as u64, "sample"))
        });
        let mut named = named.collect::<Vec<_>>().join(", ");
        if gaps.len() > NAMED {
            named += &format!(" and {} further channels", gaps.len() - NAMED);
        }
        remarks.push(format!("Not finite, and left out of every number: {named}."));
    }
    if view.bridged > 0 {
        remarks.push(format!(
            "{} hold{} a measurement that stands in for an answer of the rig that did not come in \
             time (channel rig.bridged). The loop went on with it; it is left out of every curve \
             and number.",
            counted(view.bridged as u64, "frame"),
            if view.bridged == 1 { "s" } else { "" },
        ));
    }
    let (running, rows) = (view.running_rows(), view.rows());
    if running < rows {
        remarks.push(format!(
            "Criteria and peaks count the {} in which the test was running, not the {} {}.",
            counted(running as u64, "frame"),
            count((rows - running) as u64),
            if view.first() > 0 { "before and after it" } else { "after it" },
        ));
    }
    remarks
}

fn facts_line(findings: &Findings<'_>) -> String {
    let (view, header) = (&findings.view, &findings.view.record.header);
    let duration = findings.duration_s();
    let interfaces = view.interfaces.len();
    // A laboratory knows nothing of the structure.
    let dofs = match view.dofs {
        0 => counted(interfaces as u64, "DOF"),
        dofs => format!("{} of the structure, {interfaces}", counted(dofs as u64, "DOF")),
    };
    format!(
        "{} at {} Hz, {}, {dofs} at the interface, seed {}, twinrig {}",
        duration.map_or_else(|| "no time".to_owned(), |time| format!("{} s", number(time))),
        number(header.rate_hz),
        counted(view.rows() as u64, "frame"),
        header.seed,
        label(&header.version),
    )
}
