//! Everything the report says in numbers, computed once for every form of it.

use std::borrow::Cow;

use analysis::criteria::{self, Criterion, Measure, Subject};
use runtime::gate::TripKind;
use runtime::interlock::Phase;
use runtime::monitor::KINDS;
use runtime::record::{EventKind, EventNote, Record, Role, TimingNote};

use super::ReportError;
use super::outcome::Outcome;
use super::summary::{FrequencyEvaluation, Gaps, PeakRow};
use super::view::View;
use experiment::{Embedded, Experiment};

/// More further DOFs than this are not all shown to people.
const SHOWN_FLOORS: usize = 12;
/// More interface DOFs than this are not all shown to people.
const SHOWN_INTERFACES: usize = 6;

/// The numbers of a report.
pub(super) struct Findings<'a> {
    pub(super) view: View<'a>,
    pub(super) outcome: Outcome,
    /// All criteria, J1 first.
    pub(super) criteria: Vec<Criterion>,
    /// Normalised rms error of each interface DOF against the reference, in per cent.
    pub(super) nrmse: Vec<Option<f64>>,
    pub(super) tracking: Vec<FrequencyEvaluation>,
    pub(super) peaks: Vec<PeakRow>,
    /// First time the stability warning reached 100 %, in seconds.
    pub(super) warning_reached_s: Option<f64>,
    /// The embedded experiment, if it can be read.
    pub(super) experiment: Option<Experiment>,
    /// Channels with samples that are not finite, and how many.
    pub(super) gaps: Vec<Gaps>,
    /// Interfaces shown to people, by index.
    pub(super) shown_interfaces: Vec<usize>,
    /// Further DOFs shown to people, by index: those with the largest error.
    pub(super) shown_floors: Vec<usize>,
}

impl<'a> Findings<'a> {
    pub(super) fn of(record: &'a Record) -> Result<Self, ReportError> {
        let experiment = embedded(record);
        let view = View::new(record, experiment.as_ref())?;
        let outcome = Outcome::of(&view);
        let (criteria, nrmse) = evaluate(&view);
        let evaluated = |interface| FrequencyEvaluation::of(&view, interface);
        let tracking = view.interfaces.iter().map(evaluated).collect();
        let peaks = peaks(&view);
        let warning_reached_s = view.column("stability_warning").and_then(|warning| {
            let row = warning.iter().position(|percent| *percent >= 100.0)?;
            Some(view.time[row])
        });
        let gaps = gaps(&view);
        let shown_interfaces = (0..view.interfaces.len().min(SHOWN_INTERFACES)).collect();
        let shown_floors = worst_floors(&view, &criteria);
        Ok(Self {
            experiment,
            view,
            outcome,
            criteria,
            nrmse,
            tracking,
            peaks,
            warning_reached_s,
            gaps,
            shown_interfaces,
            shown_floors,
        })
    }

    /// What happened, in order of time.
    pub(super) fn events(&self) -> &[EventNote] {
        self.view.record.summary.as_ref().map_or(&[], |summary| &summary.events)
    }

    /// The row with which the model stands still: the first after a trip.
    pub(super) fn model_end(&self) -> usize {
        let after_trip = |phase: &Option<Phase>| {
            matches!(phase, Some(Phase::Holding | Phase::Ramping | Phase::Safe))
        };
        self.view.phases.iter().position(after_trip).unwrap_or(self.view.rows())
    }

    /// What a figure over time marks, in a few words each: events, and the way to safe.
    pub(super) fn marked_events(&self) -> impl Iterator<Item = (f64, String)> {
        let told =
            |event: &&EventNote| !matches!(event.what, EventKind::Phase | EventKind::MainLoop);
        let told = self.events().iter().filter(told);
        let mut marked: Vec<(f64, String)> =
            told.map(|event| (event.time_s, mark(event))).collect();
        if let Some(trip) = &self.outcome.trip {
            if !self.events().iter().any(|event| event.what.is_trip()) {
                marked.push((trip.time_s, EventKind::Trip.to_string()));
            }
            for (phase, word) in [(Phase::Ramping, "ramp down"), (Phase::Safe, "safe")] {
                let time_s = self.view.reached(phase, f64::NEG_INFINITY);
                marked.extend(time_s.map(|time_s| (time_s, word.to_owned())));
            }
        }
        marked.into_iter()
    }

    /// Time of the last frame.
    pub(super) fn duration_s(&self) -> Option<f64> {
        self.view.time.iter().rev().copied().find(|time| time.is_finite())
    }

    /// The note of a real-time run; a rehearsal has none.
    pub(super) fn timing(&self) -> Option<&TimingNote> {
        self.view.record.summary.as_ref()?.timing.as_ref()
    }

    /// Whether people are shown what belongs to a DOF.
    pub(super) fn is_shown(&self, subject: Subject) -> bool {
        match subject {
            Subject::Interface(index) => self.shown_interfaces.contains(&index),
            Subject::Floor(index) => self.shown_floors.contains(&index),
        }
    }

    /// The value of a criterion.
    pub(super) fn criterion(&self, subject: Subject, measure: Measure) -> Option<f64> {
        value(&self.criteria, subject, measure)
    }

    /// A sentence about DOFs that are not shown, if there are any.
    pub(super) fn left_out(&self) -> Option<String> {
        let (floors, interfaces) = (self.view.floors.len(), self.view.interfaces.len());
        let mut said = Vec::new();
        if self.shown_interfaces.len() < interfaces {
            said.push(format!(
                "Of {interfaces} interface DOFs the first {} are shown.",
                self.shown_interfaces.len()
            ));
        }
        if self.shown_floors.len() < floors {
            said.push(format!(
                "Of {floors} further DOFs the {} with the largest error against the reference \
                 (or, without one, the largest motion) are shown.",
                self.shown_floors.len()
            ));
        }
        if self.view.modal > 0 {
            said.push(format!(
                "The amplitudes of {} modes of the reduced structure are not judged.",
                self.view.modal
            ));
        }
        (!said.is_empty()).then(|| said.join(" ") + " The record holds them all.")
    }
}

/// What a figure over time says of an event.
fn mark(event: &EventNote) -> String {
    let cause = event.code.and_then(TripKind::from_code).map(TripKind::words);
    let about = match event.what {
        EventKind::Fault => event.subject.as_str(),
        EventKind::Warning => cause.unwrap_or_default().trim_end_matches(" at its threshold"),
        _ => "",
    };
    if about.is_empty() { event.what.to_string() } else { format!("{}: {about}", event.what) }
}

fn value(criteria: &[Criterion], subject: Subject, measure: Measure) -> Option<f64> {
    criteria.iter().find(|one| one.subject == subject && one.measure == measure)?.value
}

/// The experiment in the record.
fn embedded(record: &Record) -> Option<Experiment> {
    let header = &record.header;
    let source = Embedded::new(&header.inputs);
    let read = Experiment::from_text(&header.experiment_name, &header.experiment, &source);
    read.ok().map(|(experiment, _)| experiment)
}

/// The signals of every interface DOF while the test was running.
pub(super) struct Signals<'v>(Vec<[Option<Cow<'v, [f64]>>; 3]>);

impl<'v> Signals<'v> {
    pub(super) fn of(view: &'v View<'_>) -> Self {
        let cut = view.interfaces.iter().map(|interface| {
            let all = [Some(interface.desired), Some(&*interface.measured), interface.reference];
            all.map(|signal| signal.map(|signal| view.running(signal)))
        });
        Self(cut.collect())
    }

    pub(super) fn interfaces(&self, view: &'v View<'_>) -> Vec<criteria::Interface<'_>> {
        let both = view.interfaces.iter().zip(&self.0);
        both.map(|(interface, [desired, measured, reference])| criteria::Interface {
            name: &interface.name,
            desired: desired.as_deref().unwrap_or_default(),
            measured: measured.as_deref().unwrap_or_default(),
            reference: reference.as_deref(),
        })
        .collect()
    }
}

fn evaluate(view: &View<'_>) -> (Vec<Criterion>, Vec<Option<f64>>) {
    // A laboratory knows nothing of what was desired.
    if view.record.header.role == Role::Laboratory {
        return (Vec::new(), vec![None; view.interfaces.len()]);
    }
    let signals = Signals::of(view);
    let interfaces = signals.interfaces(view);
    type Signal<'a> = Cow<'a, [f64]>;
    let cut: Vec<(Signal<'_>, Option<Signal<'_>>)> = view
        .floors
        .iter()
        .map(|f| (view.running(f.numerical), f.reference.map(|reference| view.running(reference))))
        .collect();
    let floors: Vec<criteria::Floor<'_>> = view
        .floors
        .iter()
        .zip(&cut)
        .map(|(floor, (numerical, reference))| criteria::Floor {
            name: floor.name,
            numerical,
            reference: reference.as_deref(),
        })
        .collect();
    // Without a rate J1 has no value; everything else has.
    let rate_hz = view.frame_rate_hz().unwrap_or(0.0);
    let signals = criteria::Signals { rate_hz, interfaces: &interfaces, floors: &floors };
    let nrmse = interfaces
        .iter()
        .map(|interface| criteria::nrmse(interface.measured, interface.reference?))
        .collect();
    (criteria::evaluate(&signals), nrmse)
}

fn peaks(view: &View<'_>) -> Vec<PeakRow> {
    let mut rows = Vec::new();
    let mut push = |subject, channel: String, quantity: String, unit, column: &[f64]| {
        if column.is_empty() {
            return;
        }
        let peak = criteria::peak(&view.running(column));
        let (value, time_s) =
            peak.map(|peak| (peak.value, view.time[view.first() + peak.index])).unzip();
        rows.push(PeakRow { channel, quantity, value, unit, time_s, subject });
    };
    for (index, interface) in view.interfaces.iter().enumerate() {
        let reference = interface.reference.unwrap_or_default();
        let error = difference(&interface.measured, interface.desired);
        let quantities = [
            ("desired", "desired displacement", "m", interface.desired),
            ("command", "command", "m", interface.command),
            ("measured", "measured displacement", "m", &interface.measured),
            ("reference.interface", "reference displacement", "m", reference),
            ("tracking_error", "tracking error", "m", &error),
            ("force", "measured force", "N", &interface.force),
        ];
        for (role, words, unit, column) in quantities {
            let channel = format!("{role}.{}", interface.name);
            push(Some(Subject::Interface(index)), channel, view.named(words, index), unit, column);
        }
    }
    for (index, floor) in view.floors.iter().enumerate() {
        let channel = format!("numerical.{}", floor.name);
        let quantity = format!("displacement of DOF {}", floor.name);
        push(Some(Subject::Floor(index)), channel, quantity, "m", floor.numerical);
    }
    let singles = [
        ("ground.acceleration", "ground acceleration", "m/s²"),
        ("energy.input", "input work", "J"),
        ("energy.feedback", "work fed back by the specimen", "J"),
        ("stability_warning", "stability warning", "%"),
    ];
    let of_indicators = KINDS.iter().flat_map(|kind| kind.about.peaks);
    for &(channel, quantity, unit) in singles.iter().chain(of_indicators) {
        let column = view.column(channel).unwrap_or_default();
        push(None, channel.to_owned(), quantity.to_owned(), unit, column);
    }
    for (name, column) in view.family("load.") {
        push(None, format!("load.{name}"), format!("applied force {name}"), "N", column);
    }
    rows
}

/// a − b, sample by sample; empty if either is missing.
pub(super) fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn gaps(view: &View<'_>) -> Vec<Gaps> {
    let columns = view.record.channels.iter().zip(&view.record.columns);
    columns
        .map(|(channel, column)| {
            let name = Some(&*channel.name);
            let unbounded = KINDS.iter().any(|kind| kind.about.unbounded == name);
            let missing = |value: &&f64| {
                if unbounded { value.is_nan() } else { !value.is_finite() }
            };
            let samples = if channel.name.starts_with("reference.") {
                // Before and after the load there is none.
                view.running(column).iter().filter(missing).count()
            } else {
                column.iter().filter(missing).count()
            };
            Gaps { channel: channel.name.clone(), samples }
        })
        .filter(|gaps| gaps.samples > 0)
        .collect()
}

/// The further DOFs worth a person's time, in file order.
fn worst_floors(view: &View<'_>, criteria: &[Criterion]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..view.floors.len()).collect();
    if order.len() > SHOWN_FLOORS {
        let weight = |floor: &usize| {
            let error = value(criteria, Subject::Floor(*floor), Measure::Error);
            let motion = || criteria::peak(view.floors[*floor].numerical).map(|p| p.value.abs());
            error.or_else(motion).unwrap_or(0.0)
        };
        order.sort_by_cached_key(|floor| std::cmp::Reverse(ordered(weight(floor))));
        order.truncate(SHOWN_FLOORS);
        order.sort_unstable();
    }
    order
}

/// A key that sorts as a number that is finite and not negative does.
fn ordered(value: f64) -> u64 {
    value.to_bits()
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn the_benchmark_gives_nine_criteria_with_its_delay() {
        let record = sample::benchmark().record();
        let findings = Findings::of(&record).unwrap();
        let ids: Vec<&str> = findings.criteria.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids, ["J1", "J2", "J3", "J4", "J5", "J6", "J7", "J8", "J9"]);
        // The sample's achieved motion is five frames late; a hundredth of one is known.
        let frame_ms = 1e3 / 1024.0;
        let delay_ms = findings.criteria[0].value.expect("a delay");
        assert!((delay_ms - 5.0 * frame_ms).abs() < 0.01 * frame_ms, "{delay_ms}");
        assert!(findings.criteria.iter().all(|criterion| criterion.value.is_some()));
        let of = |measure| findings.criterion(Subject::Floor(1), measure);
        assert_eq!(of(Measure::Error), findings.criteria[6].value);
        assert_eq!(of(Measure::PeakError), findings.criteria[8].value);
    }

    #[test]
    fn what_follows_a_trip_does_not_count() {
        let mut record = sample::tripped().record();
        let before = Findings::of(&record).unwrap().criteria;
        let measured = record.channels.iter().position(|c| c.name == "measured.1").unwrap();
        let last = record.columns[measured].len() - 1;
        record.columns[measured][last] = 55.0;
        let findings = Findings::of(&record).unwrap();
        assert_eq!(findings.criteria, before);
        let peak = findings.peaks.iter().find(|row| row.channel == "measured.1").unwrap();
        assert!(peak.value.unwrap().abs() < 1.0);
    }

    #[test]
    fn of_many_dofs_the_worst_are_shown_and_it_is_said() {
        let mut record = sample::benchmark().rows(3000).dofs(40, 1).record();
        let bad = record.channels.iter().position(|c| c.name == "numerical.33").unwrap();
        record.columns[bad].iter_mut().for_each(|value| *value *= 5.0);
        let findings = Findings::of(&record).unwrap();
        assert_eq!(findings.shown_floors.len(), 12);
        assert!(findings.shown_floors.contains(&31));
        assert_eq!(super::super::tables::criteria(&findings).rows.len(), 5 + 24 + 1);
        assert_eq!(findings.criteria.len(), 5 + 78);
        assert!(findings.left_out().unwrap().starts_with("Of 39 further DOFs the 12"));
    }

    #[test]
    fn what_was_bridged_is_told_and_counts_in_no_number() {
        let mut record = sample::benchmark().rows(3000).record();
        let before = Findings::of(&record).unwrap();
        let peak = |findings: &Findings<'_>, name: &str| {
            let row = findings.peaks.iter().find(|row| row.channel == name).unwrap();
            (row.value.unwrap(), row.time_s)
        };
        let (force, error) = (peak(&before, "force.1"), peak(&before, "tracking_error.1"));
        drop(before);
        let rows = record.columns[0].len();
        let mut bridged = vec![0.0; rows];
        for (name, value) in [("force.1", 1e9), ("measured.1", 1.0)] {
            let at = record.channels.iter().position(|c| c.name == name).unwrap();
            record.columns[at][1000..1010].fill(value);
        }
        bridged[1000..1010].iter_mut().zip(1..).for_each(|(x, n)| *x = f64::from(n));
        let channel = model::channel::Channel::new("rig.bridged", "", "");
        record.channels.push(channel);
        record.columns.push(bridged);
        let findings = Findings::of(&record).unwrap();
        assert_eq!(findings.view.bridged, 10);
        assert_eq!(
            (peak(&findings, "force.1"), peak(&findings, "tracking_error.1")),
            (force, error)
        );
        drop(findings);
        let (text, page) =
            (super::super::tests::text(&record), super::super::html(&record).unwrap());
        for said in [&text, &page] {
            assert!(said.contains("10 frames hold"), "{text}");
        }
        assert_eq!(super::super::tests::json(&record)["bridged_frames"], 10);
        assert!(page.contains("Answers of the rig that did not come"));
    }

    #[test]
    fn gaps_are_counted() {
        let mut record = sample::benchmark().rows(100).record();
        let force = record.channels.iter().position(|c| c.name == "force.1").unwrap();
        record.columns[force][3..9].fill(f64::NAN);
        let gaps = Gaps { channel: "force.1".to_owned(), samples: 6 };
        assert_eq!(Findings::of(&record).unwrap().gaps, [gaps]);
    }
}
