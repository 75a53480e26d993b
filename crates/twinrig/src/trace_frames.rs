//! The frames of tests without a numerical part in their loop: what the rig was told
//! and did.

use std::path::Path;

use runtime::periodic::PeriodicLoop;
use runtime::realtime::machine_facts;
use runtime::record::{
    Ending, EventNote, RecordError, Recorder, RecorderHandle, Summary, TimingNote,
};
use runtime::tick::Loop;

use crate::iterative::Setup;
use crate::rehearsal::{RehearsalError, header, trip_note};
use crate::{machine, realtime};
use experiment::Source;

/// Most parts of one trace.
const MOST_PARTS: u32 = 100_000;

/// Records the frames of a loop in the folder of its trace. What an earlier part of
/// the trace has recorded is kept: `frames.arrow`, `frames-2.arrow` and so on.
pub fn record_frames(
    setup: &Setup<'_>,
    source: &dyn Source,
    folder: &Path,
    periodic: PeriodicLoop,
) -> Result<(PeriodicLoop, RecorderHandle), RehearsalError> {
    let (experiment, assembly) = (setup.experiment(), setup.assembly());
    let mut header = header(experiment, source, assembly)?;
    header.started = machine::utc_now();
    header.machine.extend(machine_facts());
    let path = |part: u32| match part {
        1 => folder.join("frames.arrow"),
        part => folder.join(format!("frames-{part}.arrow")),
    };
    let free = (1..MOST_PARTS).map(path).find(|path| !path.exists());
    let path = free.unwrap_or_else(|| path(MOST_PARTS));
    let (channels, options) = (periodic.channels(), realtime::options(experiment));
    let (sink, handle) = Recorder::create(&path, &header, &channels, vec![], &options)?;
    Ok((periodic.recorded(sink, assembly.every), handle))
}

/// Ends the record of a loop that is over, with its events, its trip and how
/// punctual it was.
pub fn finish_frames<S: runtime::source::Source>(
    mut handle: RecorderHandle,
    test: Loop<S>,
    timing: Option<TimingNote>,
) -> Result<Summary, RecordError> {
    for event in &test.events().events {
        handle.note(EventNote::of(event, test.step_s()));
    }
    if let Some(timing) = timing {
        handle.note_timing(timing);
    }
    let trip = test.tripped().map(|(trip, time_s)| trip_note(&trip, time_s));
    let ticks = test.ticks();
    // The sink goes with the loop: the writer then knows that no frame follows.
    drop(test);
    handle.finish(Ending { ticks, trip })
}
