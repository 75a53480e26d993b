//! A test in virtual time, from experiment to record.

use std::path::Path;

use model::channel::Channel;
use runtime::clock::run_virtual;
use runtime::gate::{Trip, TripKind};
use runtime::host::RealTime;
use runtime::hybrid_loop::HybridLoop;
use runtime::hybrid_loop::course::Stage;
use runtime::link::{LinkCounts, LinkError};
use runtime::load::Load;
use runtime::record::{
    EmbeddedFile, Ending, EventNote, Header, Options, RecordError, Recorder, Summary, TripNote,
};
use runtime::reference::{Reference, ReferenceError};
use runtime::stop::StopHandle;
use runtime::streamed_load::LoadEnd;
use runtime::two_rate::Counts;
use thiserror::Error;

use crate::assembly::{Assembly, LoopOptions, PlantError, Recording};
use crate::hosted::{HostError, Hosting, join, part};
use crate::{machine, remote};
use experiment::{Experiment, Source};

/// Why a rehearsal did not take place.
#[derive(Debug, Error)]
pub enum RehearsalError {
    /// The plant cannot be built.
    #[error(transparent)]
    Plant(#[from] PlantError),
    /// The reference structure cannot be integrated.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The laboratory cannot be reached.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// There is no link to the host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A file the experiment names has gone.
    #[error("\"{name}\" cannot be read: {source}")]
    Input {
        /// Its name.
        name: String,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl RehearsalError {
    /// How the test ended, where it did and only its record failed.
    pub fn unrecorded(&self) -> Option<&Summary> {
        match self {
            Self::Record(RecordError::Write { summary, .. }) => Some(summary),
            _ => None,
        }
    }
}

/// What the event is called that tells of a load that broke off.
pub const LOAD_BROKE_OFF: &str = "load broke off";

/// Whether the load of a test broke off before its end.
pub fn broke_off(summary: &Summary) -> bool {
    summary.events.iter().any(|event| event.what == LOAD_BROKE_OFF)
}

/// How a rehearsal ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// As written to the record.
    pub summary: Summary,
    /// C of the stability warning that was used, J.
    pub constant_j: f64,
    /// What became of the main loop's batches, where there is one.
    pub main_loop: Option<Counts>,
    /// What came and went over the wire, where there is one.
    pub link: Option<LinkCounts>,
}

/// Files larger than this are named in the record, not embedded.
const LARGEST_EMBEDDED: usize = 64 << 20;

/// Runs the test in virtual time and writes its record. `progress` is told the
/// ticks done now and then.
pub fn rehearse(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    record: &Path,
    host: Option<Hosting>,
    stop: &StopHandle,
    progress: impl FnMut(u64),
) -> Result<Outcome, RehearsalError> {
    if assembly.stream.is_some() && host.is_none() {
        return Err(HostError::NoHost.into());
    }
    let load = assembly.load();
    let Expected { constant_j, columns } = Expected::of(assembly, &load)?;
    let header = header(experiment, source, assembly)?;
    let channels = assembly.channels();
    let options = Options {
        // Enough for the writer to work in long strides beside the loop.
        ring_frames: experiment.record.ring.unwrap_or(16_384),
        // Flushes go by the test's own time, so that the same test gives the
        // same bytes.
        batch_frames: flush_frames(experiment),
        ..Options::rehearsal()
    };
    let (sink, mut handle) = Recorder::create(record, &header, &channels, columns, &options)?;
    let loop_options = LoopOptions { constant_j, recording: Recording::Into(sink) };
    // Where somebody else takes part, the others must hear of a stop. A rehearsal
    // by itself just ends.
    let joined = host.is_some() || assembly.remote.is_some();
    let attended = joined.then(|| stop.attend());
    let hybrid = assembly.hybrid_loop(remote::plant(assembly)?, load, loop_options);
    let (mut hybrid, link) = join(experiment, assembly, hybrid, host, stop, RealTime::No)?;
    let never = StopHandle::default();
    run_virtual(&mut hybrid, if joined { stop } else { &never }, progress);
    drop(attended);
    let step_s = assembly.integrator.step_s;
    for note in link.into_iter().flat_map(|link| part(link, &hybrid, step_s)) {
        handle.note(note);
    }
    let trip = hybrid.tripped().map(|(trip, time_s)| trip_note(&trip, time_s));
    let ticks = hybrid.ticks();
    let main_loop = hybrid.two_rates().map(|model| model.counts);
    let wire = hybrid.link().copied();
    for note in events(assembly, &hybrid) {
        handle.note(note);
    }
    // The sink goes with the loop: the writer then knows that no frame follows.
    drop(hybrid);
    let summary = handle.finish(Ending { ticks, trip })?;
    Ok(Outcome { summary, constant_j, main_loop, link: wire })
}

/// What is known of a test before it runs.
pub(crate) struct Expected {
    /// C of the stability warning, J.
    pub(crate) constant_j: f64,
    /// Columns of the record: the response of the whole structure.
    pub(crate) columns: Vec<(Channel, Vec<f64>)>,
}

impl Expected {
    pub(crate) fn of(assembly: &Assembly, load: &Load) -> Result<Self, ReferenceError> {
        if assembly.stream.is_some() {
            // Nothing is known of the load; the file then gives the constant.
            let constant_j = assembly.constant_j.unwrap_or(1.0);
            return Ok(Self { constant_j, columns: Vec::new() });
        }
        let reference = assembly.reference(load)?;
        let constant_j = warning_constant(assembly, &reference);
        Ok(Self { constant_j, columns: reference_channels(assembly, reference) })
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
    notes.extend(remote::link_note(hybrid));
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

/// C of the stability warning: as declared, or one hundredth of the peak work
/// that the load does on the reference structure.
pub fn warning_constant(assembly: &Assembly, reference: &Reference) -> f64 {
    assembly.constant_j.unwrap_or_else(|| {
        let derived = 0.01 * reference.peak_input_work_j;
        if derived > 0.0 && derived.is_finite() { derived } else { 1.0 }
    })
}

/// Everything the record says before its first frame.
pub fn header(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
) -> Result<Header, RehearsalError> {
    let mut inputs = Vec::new();
    for name in experiment.files() {
        let bytes = source
            .read(name)
            .map_err(|source| RehearsalError::Input { name: name.clone(), source })?;
        if bytes.len() <= LARGEST_EMBEDDED {
            inputs.push(EmbeddedFile { name: name.clone(), bytes });
        }
    }
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
        machine: machine::facts().into_iter().chain(remote::facts(assembly)).collect(),
        trip_codes: TripKind::ALL
            .iter()
            .map(|kind| (kind.code(), kind.words().to_owned()))
            .collect(),
    }
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

pub(crate) fn reference_channels(
    assembly: &Assembly,
    reference: Reference,
) -> Vec<(Channel, Vec<f64>)> {
    let plan = assembly.frame_plan();
    let mut channels = Vec::new();
    // Nothing is compared before the load begins.
    let before = assembly.ticks_before().div_ceil(assembly.every) as usize;
    let late = |mut values: Vec<f64>| {
        values.splice(0..0, std::iter::repeat_n(f64::NAN, before));
        values
    };
    for (index, values) in reference.interface.into_iter().enumerate() {
        let name = format!("reference.interface.{}", index + 1);
        let words = "Interface displacement of the whole structure, as if it were built";
        channels.push((Channel::new(name, "m", words), late(values)));
    }
    if assembly.detail != runtime::frame::MotionDetail::Interface {
        for ((name, unit), values) in plan.dofs.iter().zip(reference.displacement) {
            let words = format!("Displacement of DOF {name} of the whole structure");
            let channel = Channel::new(format!("reference.{name}"), unit, words);
            channels.push((channel, late(values)));
        }
    }
    channels
}

pub(crate) fn flush_frames(experiment: &Experiment) -> usize {
    let frames = experiment.record.flush_s * experiment.integrator.rate_hz()
        / experiment.record.every as f64;
    // A float-to-integer cast saturates.
    (frames.ceil() as usize).clamp(1, 65_536)
}
