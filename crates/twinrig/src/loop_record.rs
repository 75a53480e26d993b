//! A test from experiment to record, in virtual or in real time.

use std::path::Path;

use model::channel::Channel;
use runtime::clock::run_virtual;
use runtime::link::LinkCounts;
use runtime::load::Load;
use runtime::periodic::PeriodicLoop;
use runtime::realtime::{Driver, machine_facts};
use runtime::record::{EventNote, Recorder, RecorderHandle, Role, Summary, TimingNote, TripNote};
use runtime::reference::{Reference, ReferenceError};
use runtime::stop::StopHandle;
use runtime::tick::Loop;
use runtime::two_rate::Counts;
use runtime::verdict::Reason;

use crate::assembly::{Assembly, LoopOptions, Recording};
use crate::error::Error;
use crate::hosted::{Hosting, attach_host, close_host};
use crate::notes::{events, header};
use crate::onlooker::Onlooker;
use crate::pace::{Clock, Pacer, recording};
use crate::{machine, remote};
use experiment::{Experiment, Source};

/// How a test ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// As written to the record.
    pub summary: Summary,
    /// C of the stability warning that was used, J.
    pub constant_j: f64,
    /// What became of the main loop's batches, where there is one.
    pub main_loop: Option<Counts>,
    /// What came and went over the wire, where there is one.
    pub link: Option<LinkCounts>,
}

/// What is known of a test before it runs, for its record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prediction {
    /// What speaks against it.
    pub(crate) reasons: Vec<Reason>,
    /// What a rehearsal says of what the prediction assumes, in words.
    pub(crate) rehearsed: Option<String>,
}

/// Runs the test and writes its record. Virtual and real time differ in what drives
/// the loop, and in what the record says of it; a record of a real test is never
/// overwritten.
pub(crate) fn record_run(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    record: &Path,
    prediction: Prediction,
    (clock, host): (Clock, Option<Hosting>),
    stop: &StopHandle,
    onlooker: &mut dyn Onlooker,
) -> Result<Ended, Error> {
    if assembly.stream.is_some() && host.is_none() {
        return Err(Error::NoHost);
    }
    let load = assembly.load();
    let Expected { constant_j, columns } = Expected::of(assembly, &load)?;
    // From here on, so that whatever is allocated below is kept in place too.
    let pacer = Pacer::start(clock, experiment, onlooker)?;
    let mut header = header(experiment, source, assembly)?;
    pacer.describe(&mut header);
    header.prediction = prediction.reasons;
    let rehearsed = prediction.rehearsed.map(|words| ("rehearsed before".to_owned(), words));
    header.machine.extend(rehearsed);
    let options = recording(experiment, clock);
    let channels = assembly.channels();
    // The last moment at which a stop leaves nothing behind: nothing is written or armed yet.
    if stop.presses() > 0 {
        return Err(Error::Stopped);
    }
    let (sink, mut handle) = Recorder::create(record, &header, &channels, columns, &options)?;
    let loop_options = LoopOptions { constant_j, recording: Recording::Into(sink) };
    let plant = match remote::plant(assembly, stop) {
        Ok(plant) => plant,
        Err(error) => {
            handle.abandon();
            return Err(error);
        }
    };
    let hybrid = assembly.hybrid_loop(plant, load, loop_options);
    let (mut hybrid, link) = attach_host(experiment, assembly, hybrid, host, stop, clock)?;
    match pacer {
        Pacer::Virtual => {
            let all = assembly.most_ticks();
            run_virtual(&mut hybrid, stop, |ticks| onlooker.progress(ticks, all));
        }
        Pacer::Real { driver, plan } => {
            let granted = driver.granted.clone();
            let finished = driver.run(hybrid, stop, |status| onlooker.live(status))?;
            handle.note_timing(Driver::note(&plan, &granted, &finished.timing));
            hybrid = *finished.test;
        }
    }
    let main_loop = hybrid.two_rates().map(|model| model.counts);
    let wire = hybrid.link().copied();
    let step_s = assembly.integrator.step_s;
    let of_host = link.into_iter().flat_map(|link| close_host(link, &hybrid, step_s));
    for note in events(assembly, &hybrid).into_iter().chain(of_host) {
        handle.note(note);
    }
    let summary = end_record(handle, hybrid)?;
    Ok(Ended { summary, constant_j, main_loop, link: wire })
}

/// Notes the events of a loop without a numerical part that is over, and ends its
/// record.
pub(crate) fn finish_frames<S: runtime::source::Source>(
    mut handle: RecorderHandle,
    test: Loop<S>,
    timing: Option<TimingNote>,
) -> Result<Summary, Error> {
    for event in &test.events().events {
        handle.note(EventNote::of(event, test.step_s()));
    }
    if let Some(timing) = timing {
        handle.note_timing(timing);
    }
    end_record(handle, test)
}

/// Ends the record of a loop that is over.
fn end_record<S: runtime::source::Source>(
    handle: RecorderHandle,
    test: Loop<S>,
) -> Result<Summary, Error> {
    let trip = test.tripped().map(|(trip, time_s)| TripNote::of(&trip, time_s));
    let ticks = test.ticks();
    // The sink goes with the loop: the writer then knows that no frame follows.
    drop(test);
    Ok(handle.finish(ticks, trip)?)
}

/// Most parts of one trace.
const MOST_PARTS: u32 = 100_000;

/// Records the frames of an iterative test in real time. What an earlier part of the
/// trace has recorded is kept: `frames.arrow`, `frames-2.arrow` and so on.
pub(crate) fn record_frames(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    folder: &Path,
    periodic: PeriodicLoop,
) -> Result<(PeriodicLoop, RecorderHandle), Error> {
    let mut header = header(experiment, source, assembly)?;
    header.role = Role::Iterative;
    header.started = machine::utc_now();
    header.machine.extend(machine_facts());
    let path = |part: u32| match part {
        1 => folder.join("frames.arrow"),
        part => folder.join(format!("frames-{part}.arrow")),
    };
    let free = (1..MOST_PARTS).map(path).find(|path| !path.exists());
    let path = free.unwrap_or_else(|| path(MOST_PARTS));
    let (channels, options) = (periodic.channels(), recording(experiment, Clock::Real));
    let (sink, handle) = Recorder::create(&path, &header, &channels, vec![], &options)?;
    Ok((periodic.recorded(sink, assembly.every), handle))
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

/// C of the stability warning: as declared, or one hundredth of the peak work
/// that the load does on the reference structure.
pub fn warning_constant(assembly: &Assembly, reference: &Reference) -> f64 {
    assembly.constant_j.unwrap_or_else(|| {
        let derived = 0.01 * reference.peak_input_work_j;
        if derived > 0.0 && derived.is_finite() { derived } else { 1.0 }
    })
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
