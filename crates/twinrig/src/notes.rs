//! What a record says beside its frames: the header, events.

use model::predictor::Design;
use runtime::gate::TripKind;
use runtime::hybrid_loop::HybridLoop;
use runtime::hybrid_loop::course::Stage;
use runtime::link::{LinkCounts, Pace};
use runtime::record::{EmbeddedFile, EventKind, EventNote, Header, InterfaceDof, Role};
use runtime::streamed_load::LoadEnd;

use crate::assembly::{Assembly, FoundLaboratory};
use crate::error::Error;
use crate::machine;
use crate::text_edit::without_token;
use experiment::{Experiment, Source};

/// Files larger than this are named in the record, not embedded.
const LARGEST_EMBEDDED: usize = 64 << 20;

/// The files that an experiment names, as they are now.
pub(crate) fn embedded(
    experiment: &Experiment,
    source: &dyn Source,
) -> Result<Vec<EmbeddedFile>, Error> {
    let read = |name: &String| match source.read(name) {
        Ok(bytes) => Ok(EmbeddedFile { name: name.clone(), bytes }),
        Err(source) => Err(Error::Input { name: name.clone(), source }),
    };
    experiment.files().iter().map(read).collect()
}

/// Everything the record says before its first frame.
pub fn header(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
) -> Result<Header, Error> {
    let mut inputs = embedded(experiment, source)?;
    inputs.retain(|file| file.bytes.len() <= LARGEST_EMBEDDED);
    let token = experiment.rig.token();
    for file in inputs.iter_mut().filter(|file| file.name.ends_with(".toml")) {
        if let Ok(text) = str::from_utf8(&file.bytes) {
            file.bytes = without_token(text, &token).into_bytes();
        }
    }
    let mut bare = bare_header(assembly);
    let missing = experiment.limits.missing();
    if !missing.is_empty() {
        bare.machine.push(("limits".into(), format!("none of {}", missing.join(", "))));
    }
    Ok(Header {
        title: experiment.title.clone(),
        experiment_name: experiment.name().to_owned(),
        experiment: without_token(experiment.text(), &token),
        inputs,
        ..bare
    })
}

/// A header without an experiment file, for trial records.
pub(crate) fn bare_header(assembly: &Assembly) -> Header {
    let structure = &assembly.structure;
    let interface = assembly.partition.interface.iter().enumerate();
    Header {
        role: Role::Loop,
        interface: interface
            .map(|(index, place)| InterfaceDof {
                name: (index + 1).to_string(),
                dof: match (place.from, place.to) {
                    (None, Some(dof)) => Some(structure.names[dof].clone()),
                    _ => None,
                },
            })
            .collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        title: String::new(),
        experiment_name: String::new(),
        experiment: String::new(),
        inputs: Vec::new(),
        seed: assembly.seed,
        rate_hz: 1.0 / assembly.integrator.step_s,
        every: assembly.every,
        started: String::new(),
        machine: machine::facts().into_iter().chain(wire_facts(assembly)).collect(),
        trip_codes: TripKind::all().map(|kind| (kind.code(), kind.words().to_owned())).collect(),
        prediction: Vec::new(),
    }
}

/// What happened, with the faults that were rehearsed up to the end.
pub(crate) fn events(assembly: &Assembly, hybrid: &HybridLoop) -> Vec<EventNote> {
    let step_s = assembly.integrator.step_s;
    let noted = hybrid.events();
    let mut notes: Vec<EventNote> =
        noted.events.iter().map(|event| EventNote::of(event, step_s)).collect();
    if noted.left_out > 0 {
        let text = format!("{} further events were not kept", noted.left_out);
        notes.push(EventNote::new(hybrid.time_s(), EventKind::Note, text));
    }
    for fault in assembly.faults.iter().filter(|fault| fault.from < hybrid.ticks()) {
        let place = fault.dof.map_or(String::new(), |dof| format!(" (interface DOF {})", dof + 1));
        let subject = format!("{}{place}", fault.kind.words());
        let mut note = |tick: u64, words: &str| {
            let text = format!("{words}: {subject}");
            let note = EventNote::new(tick as f64 * step_s, EventKind::Fault, text);
            notes.push(EventNote { subject: subject.clone(), ..note });
        };
        note(fault.from, "rehearsed fault begins");
        if fault.until < hybrid.ticks() {
            note(fault.until, "rehearsed fault ends");
        }
    }
    notes.extend(main_loop_note(hybrid));
    notes.extend(hybrid.link().map(|counts| link_note(counts, hybrid.time_s())));
    notes.extend(phase_notes(hybrid, step_s));
    // A fault comes before what it caused in the same tick.
    let later = |note: &EventNote| note.what != EventKind::Fault;
    notes.sort_by(|a, b| a.time_s.total_cmp(&b.time_s).then(later(a).cmp(&later(b))));
    notes
}

/// When each stage of the course began.
fn phase_notes(hybrid: &HybridLoop, step_s: f64) -> Vec<EventNote> {
    let Some(course) = &hybrid.source().course else { return Vec::new() };
    let note = |stage: Stage| {
        let mut text = stage.description().to_owned();
        if stage == Stage::RingingDown && hybrid.load_end() == Some(LoadEnd::Starved) {
            text = "no load came from the host any more: the structure rings down".to_owned();
        }
        Some(EventNote::new(course.begun(stage)? as f64 * step_s, EventKind::Phase, text))
    };
    let stages = Stage::ALL.iter().filter_map(|&stage| note(stage));
    stages.chain(stream_note(hybrid)).collect()
}

/// What became of a load that arrived while the test ran.
fn stream_note(hybrid: &HybridLoop) -> Option<EventNote> {
    let state = &hybrid.source().stream()?.state;
    let (used, starved) = (state.used(), state.starved());
    let text = format!("{used} samples used, {starved} ticks bridged for want of them");
    let note = EventNote::new(hybrid.time_s(), EventKind::StreamedLoad, text);
    Some(EventNote { value: Some(starved as f64), ..note })
}

/// What became of the batches of a main loop, in one line at the end.
pub fn main_loop_note(hybrid: &HybridLoop) -> Option<EventNote> {
    let plant = hybrid.two_rates()?;
    let (rates, counts) = (&plant.rates, &plant.counts);
    let mut text = format!(
        "1:{}, {} batches, {} late: {} points missing and extrapolated, {} erased, longest bridge \
         {} of {} ticks",
        rates.ratio,
        counts.batches,
        counts.late,
        counts.missing,
        counts.erased,
        counts.longest_bridge,
        rates.bridge
    );
    if counts.most_iterations > 0 {
        text += &format!(", at most {} iterations a step", counts.most_iterations);
    }
    if rates.predictor == Design::ModelBased && !plant.shows_model() {
        text += ", numerical motion between two steps by a cubic";
    }
    let (value, limit) = (Some(counts.missing as f64), Some(rates.bridge as f64));
    Some(EventNote { value, limit, ..EventNote::new(hybrid.time_s(), EventKind::MainLoop, text) })
}

/// What the header of a record says of the wire.
fn wire_facts(assembly: &Assembly) -> Vec<(String, String)> {
    let Some(FoundLaboratory { plan, peer }) = &assembly.remote else { return Vec::new() };
    let pace = match plan.pace {
        Pace::LockStep { .. } => "lock-step",
        Pace::Paced { .. } => "against the clock",
    };
    vec![
        ("rig".into(), format!("at {}, {pace}", plan.address)),
        ("experiment hash".into(), format!("{:016x}", plan.terms.file)),
        ("experiment hash of the laboratory".into(), format!("{:016x}", peer.terms.file)),
        ("token hash".into(), plan.token.hash()),
    ]
}

/// What came and went over a wire, in one line at the end of a test.
pub(crate) fn link_note(counts: &LinkCounts, time_s: f64) -> EventNote {
    let value = Some(counts.bridged as f64);
    EventNote { value, ..EventNote::new(time_s, EventKind::Link, counts.words()) }
}
