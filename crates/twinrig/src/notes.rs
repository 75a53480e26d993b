//! What a record says beside its frames: the header, events, the trip.

use runtime::gate::{Trip, TripKind};
use runtime::hybrid_loop::HybridLoop;
use runtime::hybrid_loop::course::Stage;
use runtime::interlock::Phase;
use runtime::link::{LinkCounts, Pace};
use runtime::record::{EmbeddedFile, EventNote, Header, Summary, TripNote};
use runtime::streamed_load::LoadEnd;
use serde_json::{Value, json};

use crate::assembly::Assembly;
use crate::error::Error;
use crate::machine;
use experiment::{Experiment, Source};

/// What the event is called that tells of a load that broke off.
pub const LOAD_BROKE_OFF: &str = "load broke off";

/// Name of the fact in a record's header that tells the loop's end from the
/// laboratory's.
pub const ROLE: &str = "role";
/// Its value in the record of a laboratory.
pub const LABORATORY: &str = "laboratory";

/// Value of the role of a record in its header: a test on the rig, without a
/// numerical part.
pub const DRIVE: &str = "drive";

/// Files larger than this are named in the record, not embedded.
const LARGEST_EMBEDDED: usize = 64 << 20;

/// Whether the load of a test broke off before its end.
pub fn broke_off(summary: &Summary) -> bool {
    summary.events.iter().any(|event| event.what == LOAD_BROKE_OFF)
}

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
    Ok(Header {
        title: experiment.title.clone(),
        experiment_name: experiment.name().to_owned(),
        experiment: experiment.text().to_owned(),
        inputs,
        ..bare_header(assembly)
    })
}

/// A header without an experiment file, for trial records.
pub(crate) fn bare_header(assembly: &Assembly) -> Header {
    Header {
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
        trip_codes: TripKind::ALL
            .iter()
            .map(|kind| (kind.code(), kind.words().to_owned()))
            .collect(),
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
        let time_s = hybrid.time_s();
        notes.push(EventNote { time_s, what: "note".into(), text, value: None, limit: None });
    }
    for fault in assembly.faults.iter().filter(|fault| fault.from < hybrid.ticks()) {
        let place = fault.dof.map_or(String::new(), |dof| format!(" (interface DOF {})", dof + 1));
        let mut note = |tick: u64, words: &str| {
            notes.push(EventNote {
                time_s: tick as f64 * step_s,
                what: "fault".into(),
                text: format!("{words}: {}{place}", fault.kind.words()),
                value: None,
                limit: None,
            });
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
    let later = |note: &EventNote| note.what != "fault";
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
        let time_s = course.begun(stage)? as f64 * step_s;
        Some(EventNote { time_s, what: "phase".into(), text, value: None, limit: None })
    };
    let stages = Stage::ALL.iter().filter_map(|&stage| note(stage));
    stages.chain(stream_note(hybrid)).collect()
}

/// What became of a load that arrived while the test ran.
fn stream_note(hybrid: &HybridLoop) -> Option<EventNote> {
    let stream = hybrid.source().stream()?;
    Some(EventNote {
        time_s: hybrid.time_s(),
        what: "streamed load".into(),
        text: format!(
            "{} samples used, {} ticks bridged for want of them",
            stream.state.used(),
            stream.state.starved()
        ),
        value: Some(stream.state.starved() as f64),
        limit: None,
    })
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
    if rates.predictor == model::predictor::Design::ModelBased && !plant.shows_model() {
        text += ", numerical motion between two steps by a cubic";
    }
    let (value, limit) = (counts.missing as f64, rates.bridge as f64);
    let time_s = hybrid.time_s();
    Some(EventNote {
        time_s,
        what: "main loop".into(),
        text,
        value: Some(value),
        limit: Some(limit),
    })
}

/// A trip for machines.
pub(crate) fn trip_json(trip: &TripNote) -> Value {
    json!({
        "code": trip.code, "text": trip.text, "time_s": trip.time_s,
        "value": trip.value, "limit": trip.limit,
    })
}

/// Whether the operator at the other end of a wire stopped the test.
pub fn stopped_elsewhere(trip: &TripNote) -> bool {
    trip.code == TripKind::PeerTripped.code() && trip.value == f64::from(TripKind::Operator.code())
}

/// A trip as the record remembers it.
pub fn trip_note(trip: &Trip, time_s: f64) -> TripNote {
    TripNote {
        code: trip.kind.code(),
        text: trip.text(),
        time_s,
        value: trip.value,
        limit: trip.limit,
    }
}

/// What the header of a record says of the wire.
fn wire_facts(assembly: &Assembly) -> Vec<(String, String)> {
    let Some(plan) = &assembly.remote else { return Vec::new() };
    let pace = match plan.pace {
        Pace::LockStep { .. } => "lock-step",
        Pace::Paced { .. } => "against the clock",
    };
    vec![("rig".into(), format!("at {}, {pace}", plan.address))]
}

/// What came and went over a wire, in one line at the end of a test.
pub(crate) fn link_note(counts: &LinkCounts, time_s: f64) -> EventNote {
    EventNote {
        time_s,
        what: "link".into(),
        text: counts.words(),
        value: Some(counts.bridged as f64),
        limit: None,
    }
}

/// A phase in a word, by its number.
pub fn phase_word(phase: u8) -> &'static str {
    const RUNNING: u8 = Phase::Running as u8;
    const HOLDING: u8 = Phase::Holding as u8;
    const RAMPING: u8 = Phase::Ramping as u8;
    const SAFE: u8 = Phase::Safe as u8;
    const INITIATING: u8 = Phase::Initiating as u8;
    const COMPLETING: u8 = Phase::Completing as u8;
    const HOMING: u8 = Phase::Homing as u8;
    const FROZEN: u8 = Phase::Frozen as u8;
    match phase {
        RUNNING => "running",
        HOLDING => "HOLDING",
        RAMPING => "RAMPING",
        SAFE => "safe",
        INITIATING => "initiating",
        COMPLETING => "completing",
        HOMING => "going home",
        FROZEN => "FROZEN",
        _ => "under way",
    }
}
