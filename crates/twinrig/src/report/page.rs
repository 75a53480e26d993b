//! The report as a page.

use analysis::criteria::{Measure, Subject};
use experiment::closed_loop::TransferKind;
use experiment::{Experiment, StructureSource};
use runtime::monitor::PlotSection;
use runtime::record::Header;

use super::findings::Findings;
use super::histories::{Histories, peak};
use super::summary::remarks;
use super::{tables, timing};
use crate::page::text::{count, counted, label, number, number_or_dash, prefixed, seconds};
use crate::page::{Block, Figure, KeyNumber, Page, Section, Verdict};
use crate::table::Table;

/// The page.
pub(super) fn page(findings: &Findings<'_>) -> Page {
    let header = &findings.view.record.header;
    let title = if header.title.is_empty() { &header.experiment_name } else { &header.title };
    Page {
        kind: "Hybrid test report",
        title: title.clone(),
        verdict: verdict(findings),
        facts: facts(findings),
        sections: sections(findings),
    }
}

fn verdict(findings: &Findings<'_>) -> Verdict {
    let outcome = &findings.outcome;
    let verdict = super::verdict::verdict(findings);
    let ended = outcome.status.word().to_lowercase();
    Verdict::of(&verdict, &ended, &outcome.statements, key_numbers(findings))
}

/// The numbers that decide, the gravest first.
fn key_numbers(findings: &Findings<'_>) -> Vec<KeyNumber> {
    let mut numbers = Vec::new();
    let mut add = |name: &str, value: Option<String>, limit: String| {
        numbers.extend(value.map(|value| KeyNumber::new(name, value, limit)));
    };
    let experiment = findings.experiment.as_ref();
    let planned =
        experiment.map(|experiment| format!("of {} planned", seconds(experiment.duration_s)));
    let trip = findings.outcome.trip.as_ref();
    add("Trip at", trip.map(|trip| seconds(trip.time_s)), planned.unwrap_or_default());
    let worst = findings.nrmse.iter().flatten().copied().reduce(f64::max);
    let percent = |value: f64| format!("{} %", number(value));
    add("Error against the whole structure", worst.map(percent), "normalised rms".to_owned());
    let delay = findings.criterion(Subject::Interface(0), Measure::TrackingDelay);
    add("Tracking delay", delay.map(|delay| format!("{} ms", number(delay))), String::new());
    let warning = findings.view.column("stability_warning").map(peak);
    let stop = experiment.and_then(|experiment| experiment.monitor.stability_warning.stop_at);
    let stop = stop.map_or_else(
        || "unstable at 100 %".to_owned(),
        |stop| format!("stops at {} %", number(100.0 * stop)),
    );
    add("Largest stability warning", warning.map(percent), stop);
    numbers.truncate(3);
    numbers
}

fn facts(findings: &Findings<'_>) -> Vec<(String, String)> {
    let (view, header) = (&findings.view, &findings.view.record.header);
    let experiment = findings.experiment.as_ref();
    let of = |words: &dyn Fn(&Experiment) -> String| experiment.map_or_else(String::new, words);
    let run = findings.duration_s().map_or_else(|| "–".to_owned(), seconds);
    let started = match label(&header.started) {
        started if started.is_empty() => "rehearsal in virtual time".to_owned(),
        started => started,
    };
    let frames = match &view.record.summary {
        Some(summary) => {
            format!("{}, {} lost", count(view.rows() as u64), count(summary.frames_lost))
        }
        None => count(view.rows() as u64),
    };
    let ticks =
        view.record.summary.as_ref().map_or_else(String::new, |summary| count(summary.ticks));
    let dofs = counted(view.dofs as u64, "DOF");
    let structure = format!("{dofs}, {} at the interface", view.interfaces.len());
    let facts = [
        ("Started", started),
        ("Duration", of(&|e| format!("{run}, load of {} planned", seconds(e.duration_s)))),
        ("Rate", rates(header, experiment)),
        ("Structure", structure),
        ("Integrator", of(&|e| variant(&e.integrator.method))),
        (
            "Transfer system",
            of(&|e| transfer_system(&e.transfer_system.kind, 1.0 / header.rate_hz)),
        ),
        ("Compensator", of(&|e| variant(&e.compensator.design))),
        ("Limits", of(&limits)),
        ("Ticks", ticks),
        ("Frames", frames),
        ("Seed", header.seed.to_string()),
        ("Experiment", label(&header.experiment_name)),
    ];
    let mut facts = facts.map(|(name, value)| (name.to_owned(), value)).to_vec();
    if experiment.is_none() {
        facts[1].1 = run;
    }
    facts
}

/// The rates of rig and model, and how many frames are kept.
fn rates(header: &Header, experiment: Option<&Experiment>) -> String {
    let mut words = format!("{} Hz", number(header.rate_hz));
    if let Some(rates) = experiment.and_then(Experiment::rates) {
        words += &format!(", model {} Hz", number(header.rate_hz / rates.ratio as f64));
    }
    if header.every > 1 {
        words += &format!(", one frame in {} ticks", header.every);
    }
    words
}

fn transfer_system(kind: &TransferKind, step_s: f64) -> String {
    match kind {
        TransferKind::Delay(delay) => {
            format!("delay of {} ms", number(1e3 * delay.delay_s(step_s)))
        }
        other => variant(other),
    }
}

fn limits(experiment: &Experiment) -> String {
    let limits = &experiment.limits;
    let of = |limit: &Option<experiment::PerDof>, unit: &str| {
        let value = limit.as_ref().and_then(|limit| limit.get(0))?;
        let (unit, scale) = prefixed(unit, value);
        Some(format!("{} {unit}", number(scale * value)))
    };
    let known = [of(&limits.command, "m"), of(&limits.force, "N")].into_iter().flatten();
    let known: Vec<String> = known.collect();
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

/// The name of a kind, in words: `AdaptiveInverse { … }` is `adaptive inverse`.
fn variant(kind: &dyn std::fmt::Debug) -> String {
    let name = format!("{kind:?}");
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let mut words = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

fn sections(findings: &Findings<'_>) -> Vec<Section> {
    let histories = Histories::of(findings);
    let mut sections = vec![
        Section::new(
            if findings.outcome.trip.is_some() { "What happened" } else { "Events" },
            figures(histories.around_trip()).chain(shown(tables::events(findings))).collect(),
        ),
        Section::new("Results", results(findings)),
    ];
    if findings.view.rows() == 0 {
        let empty = "The record holds no frames: there is nothing to draw.".to_owned();
        sections.push(Section::new("Force and motion", vec![Block::Text(empty)]));
    } else {
        let motion = figures(histories.against_reference())
            .chain(figures(histories.force()))
            .chain(figures(histories.hysteresis()))
            .chain(figures(histories.floors()))
            .chain(drifts(findings))
            .chain(figures(histories.excitation()));
        sections.push(Section::new("Force and motion", motion.collect()));
        let tracking = figures(histories.tracking())
            .chain(figures(histories.indicators(PlotSection::Tracking)))
            .chain(figures(histories.adaptation()));
        sections.push(Section::new("Tracking", tracking.collect()));
        let energies = histories.energies().into_iter().chain(histories.warning());
        let stability = energies.chain(histories.indicators(PlotSection::Stability));
        sections.push(Section::new("Stability", stability.map(Block::from).collect()));
        let used = figures(histories.indicators(PlotSection::Limits));
        sections
            .push(Section::new("Limits", shown(tables::limits(findings)).chain(used).collect()));
        sections.push(Section::new("Timing", timing::blocks(&histories)));
    }
    sections.push(Section::new("Provenance", provenance(findings)));
    sections
}

fn figures(figures: Vec<Figure>) -> impl Iterator<Item = Block> {
    figures.into_iter().map(Block::from)
}

/// A table, if there is something in it.
fn shown(table: Table) -> impl Iterator<Item = Block> {
    (!table.rows.is_empty()).then(|| table.into()).into_iter()
}

fn results(findings: &Findings<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !findings.criteria.is_empty() {
        blocks.push(tables::criteria(findings).titled("Evaluation criteria").into());
        let words = "An error is the standard deviation of the difference over that of the signal \
                     compared with; a peak error is the largest difference over the largest value; \
                     the normalised rms error is the rms of the difference over the rms of the \
                     reference. The delay is the lag of largest correlation.";
        blocks.push(Block::Text(words.to_owned()));
    }
    blocks.extend(shown(tables::peaks(findings).titled("Peaks")));
    blocks.extend(remarks(findings).into_iter().map(Block::Text));
    blocks
}

/// Largest drifts of the storeys of a building, where the file declares one.
fn drifts(findings: &Findings<'_>) -> Option<Block> {
    let structure = findings.experiment.as_ref()?.structure()?;
    if !matches!(structure.source, StructureSource::ShearBuilding(_)) {
        return None;
    }
    let (view, storeys) = (&findings.view, structure.size()?);
    // Of a building that was reduced, or recorded in part, no storey is known.
    let columns = |role: &str| {
        let mut columns = view.family(role);
        columns.retain(|(name, _)| !name.contains('.'));
        (columns.len() == storeys).then_some(columns)
    };
    let drift = |columns: &[(&str, &[f64])], storey: usize| {
        let above = view.running(columns[storey].1);
        let drift: Vec<f64> = match storey {
            0 => above.to_vec(),
            _ => super::findings::difference(&above, &view.running(columns[storey - 1].1)),
        };
        analysis::criteria::peak(&drift)
    };
    let (hybrid, reference) = (columns("numerical.")?, columns("reference."));
    let rows = (0..storeys).filter_map(|storey| {
        let found = drift(&hybrid, storey)?;
        let whole = reference.as_ref().and_then(|columns| drift(columns, storey));
        Some([
            format!("storey {}", storey + 1),
            number(1e3 * found.value.abs()),
            number_or_dash(whole.map(|peak| 1e3 * peak.value.abs())),
            format!("{:.3}", view.time[view.first() + found.index]),
        ])
    });
    let header = ["Storey drift", "Hybrid test [mm]", "Reference [mm]", "Time [s]"];
    Some(Table::new(&header).titled("Largest storey drifts").filled(rows).into())
}

fn provenance(findings: &Findings<'_>) -> Vec<Block> {
    let record = findings.view.record;
    let header = &record.header;
    let file = |what: &str, name: &str, text: &str| {
        let summary = format!("{what} {}", label(name));
        (!text.is_empty()).then(|| Block::Details(summary, vec![Block::File(text.to_owned())]))
    };
    let mut blocks: Vec<Block> =
        file("Experiment file", &header.experiment_name, &header.experiment).into_iter().collect();
    // What it includes is a part of it.
    for included in header.inputs.iter().filter(|file| file.name.ends_with(".toml")) {
        let text = String::from_utf8_lossy(&included.bytes);
        blocks.extend(file("Included file", &included.name, &text));
    }
    let mut details = |summary: &str, table: Table| {
        if !table.rows.is_empty() {
            blocks.push(Block::Details(summary.to_owned(), vec![table.into()]));
        }
    };
    let inputs = header.inputs.iter();
    let inputs =
        inputs.map(|file| [file.name.clone(), format!("{} bytes", count(file.bytes.len() as u64))]);
    details("Files the experiment named", Table::new(&["File", "Size"]).filled(inputs));
    let version = [["twinrig".to_owned(), header.version.clone()]];
    let machine = header.machine.iter().map(|(name, value)| [name.clone(), value.clone()]);
    details("Machine and program", Table::new(&["Fact", "Value"]).filled(version).filled(machine));
    let channels = record.channels.iter();
    let channels = channels
        .map(|channel| [channel.name.clone(), channel.unit.clone(), channel.description.clone()]);
    details("Channels of the record", Table::new(&["Channel", "Unit", "Meaning"]).filled(channels));
    blocks
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    fn titles(record: &runtime::record::Record) -> Vec<(String, Vec<String>)> {
        let page = page(&Findings::of(record).unwrap());
        let drawn = |section: Section| {
            let figures = section.blocks.into_iter().filter_map(|block| match block {
                Block::Figure(figure) => Some(figure.title),
                _ => None,
            });
            (section.title, figures.collect::<Vec<_>>())
        };
        page.sections.into_iter().map(drawn).filter(|(_, figures)| !figures.is_empty()).collect()
    }

    #[test]
    fn the_benchmark_shows_every_section() {
        let shown = titles(&sample::benchmark().rows(4096).record());
        let names: Vec<&str> = shown.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Force and motion", "Tracking", "Stability"]);
        assert_eq!(
            shown[0].1,
            [
                "Measured motion against the whole structure",
                "Force of the specimen",
                "Force over displacement",
                "Spectrum of the force",
                "Displacement of DOF 2",
                "Displacement of DOF 3",
                "Ground acceleration"
            ]
        );
        let tracking =
            ["Tracking", "Close-up of the tracking", "Synchronisation", "Spectrum of the motion"];
        assert_eq!(shown[1].1, tracking);
    }

    #[test]
    fn without_a_reference_nothing_is_compared_with_it() {
        let shown = titles(&sample::benchmark().rows(4096).without_reference().record());
        assert_eq!(shown[0].1[0], "Force of the specimen");
        assert!(titles(&sample::benchmark().rows(0).record()).is_empty());
    }

    #[test]
    fn a_trip_is_shown_first_and_the_model_ends_with_it() {
        let record = sample::tripped().record();
        let shown = titles(&record);
        assert_eq!(shown[0], ("What happened".to_owned(), vec!["At the trip".to_owned()]));
        let findings = Findings::of(&record).unwrap();
        assert_eq!(findings.model_end(), 10 * 1024 + 256);
        let words: Vec<String> = findings.marked_events().map(|(_, word)| word).collect();
        assert_eq!(words, ["trip", "ramp down", "safe"]);
    }

    #[test]
    fn a_kind_is_named_in_words() {
        assert_eq!(variant(&Some(3)), "some");
        assert_eq!(variant(&crate::page::Grade::Doubtful), "doubtful");
        assert_eq!(variant(&TransferKind::Ideal), "ideal");
    }
}
