//! The two ends of a wire, from an experiment: the loop's plan, and the
//! laboratory with its record.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use runtime::gate::{Trip, TripKind};
use runtime::hybrid_loop::HybridLoop;
use runtime::laboratory::{
    AcceptedSession, LabProfile, LabServer, Laboratory, LaboratoryParts, ListenError, SessionEnd,
    Start,
};
use runtime::link::wire::{KNOWS_ACHIEVED, LOCK_STEP, PACED, VIRTUAL};
use runtime::link::{LinkCounts, LinkPlan, Pace};
use runtime::numerical::Plant;
use runtime::realtime::prepare_thread;
use runtime::record::{Ending, EventNote, Header, Options, Recorder, Summary, TripNote};
use runtime::rig::{NetworkRig, Peer};
use runtime::stop::StopHandle;
use runtime::world::World;
use thiserror::Error;

use crate::assembly::{Assembly, Coupling, PlantError};
use crate::iterative::{Setup, SetupError};
use crate::machine;
use crate::realtime::options as realtime_options;
use crate::rehearsal::{RehearsalError, flush_frames, header, trip_note};
use experiment::{Experiment, Source};

/// Name of the fact in a record's header that tells the loop's end from the
/// laboratory's.
pub const ROLE: &str = "role";
/// Its value in the record of a laboratory.
pub const LABORATORY: &str = "laboratory";

/// What the event is called by which a laboratory remembers a trip of the loop.
pub const TRIP_OF_LOOP: &str = "trip of the loop";

/// Why a test cannot go over a wire, or a laboratory cannot be played.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// No such host.
    #[error("\"{address}\" is no address of a laboratory ({reason}): give host and port")]
    Address {
        /// As it was written.
        address: String,
        /// What the system said.
        reason: String,
    },
    /// Nothing crosses a wire within the tick.
    #[error(
        "rig and numerical part are one system in this test, which no wire can join: use \
         [integrator] feedback = \"held\" and a [transfer_system] that is at least one step late"
    )]
    OneSystem,
    /// The same of the rig itself.
    #[error(
        "a rig at the end of a wire answers at least one step late, and this one answers at once: \
         give [transfer_system] a delay of a step or more, or dynamics"
    )]
    AnswersAtOnce,
    /// The rig cannot be made.
    #[error(transparent)]
    Plant(#[from] PlantError),
    /// The rig of an iterative test cannot be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The wire.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The record.
    #[error(transparent)]
    Record(#[from] RehearsalError),
    /// A defect of twinrig.
    #[error("the thread of the laboratory failed; please report this defect")]
    Panicked,
}

impl RemoteError {
    /// How the session ended, where it did and only its record failed.
    pub fn unrecorded(&self) -> Option<&Summary> {
        match self {
            Self::Record(error) => error.unrecorded(),
            _ => None,
        }
    }
}

/// What sets the pace of a test over a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Virtual time.
    LockStep,
    /// The clock.
    Paced,
}

/// The address that a host and a port mean.
pub fn resolve(address: &str) -> Result<SocketAddr, RemoteError> {
    let failed = |reason: String| RemoteError::Address { address: address.to_owned(), reason };
    let mut found = address.to_socket_addrs().map_err(|error| failed(error.to_string()))?;
    found.next().ok_or_else(|| failed("it has no address".to_owned()))
}

/// What the loop of an experiment asks of a laboratory there.
pub fn link_plan(
    experiment: &Experiment,
    assembly: &Assembly,
    address: SocketAddr,
    timing: Timing,
) -> Result<LinkPlan, RemoteError> {
    if assembly.coupling != Coupling::Held {
        return Err(RemoteError::OneSystem);
    }
    Ok(open_link_plan(experiment, assembly, address, timing))
}

/// The same where the loop is cut, so that any rig may stand at its end.
pub fn open_link_plan(
    experiment: &Experiment,
    assembly: &Assembly,
    address: SocketAddr,
    timing: Timing,
) -> LinkPlan {
    let spec = &experiment.rig;
    LinkPlan {
        address,
        count: assembly.count(),
        rate_hz: experiment.integrator.rate_hz(),
        pace: match timing {
            Timing::LockStep => Pace::LockStep { timeout_s: spec.timeout_s },
            Timing::Paced => Pace::Paced { bridge: spec.bridge, bridge_by: spec.bridge_by },
        },
        token: spec.token(),
        connect_s: spec.connect_s,
        limits: told_limits(assembly),
    }
}

/// Both sides of an experiment, joined for a run: over the wire if there is one.
pub(crate) fn plant(assembly: &Assembly) -> Result<Plant, RehearsalError> {
    match &assembly.remote {
        None => Ok(assembly.plant()?),
        Some(plan) => Ok(assembly.split(NetworkRig::connect(&World::system(), plan)?, None)?),
    }
}

/// What the header of a record says of the wire.
pub(crate) fn facts(assembly: &Assembly) -> Vec<(String, String)> {
    let Some(plan) = &assembly.remote else { return Vec::new() };
    let pace = match plan.pace {
        Pace::LockStep { .. } => "lock-step",
        Pace::Paced { .. } => "against the clock",
    };
    vec![("rig".into(), format!("at {}, {pace}", plan.address))]
}

fn told_limits(assembly: &Assembly) -> [Vec<f64>; 3] {
    let limits = &assembly.limits;
    [limits.command.clone(), limits.rate.clone(), limits.force.clone()]
}

/// What a laboratory says of itself, in one line.
pub fn told(peer: &Peer) -> String {
    let kind = if peer.modes & VIRTUAL == 0 { "a rig" } else { "a virtual rig" };
    let least = |values: &[f64], factor: f64, unit: &str| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        if least.is_finite() { format!("{} {unit}", factor * least) } else { "none".to_owned() }
    };
    format!(
        "{kind} at {}: watchdog {} s, its own limits: command {}, rate {}, force {}",
        peer.address,
        peer.watchdog_s,
        least(&peer.limits[0], 1e3, "mm"),
        least(&peer.limits[1], 1.0, "m/s"),
        least(&peer.limits[2], 1e-3, "kN")
    )
}

/// What came and went, in one line at the end of a test over a wire.
pub fn link_note(hybrid: &HybridLoop) -> Option<EventNote> {
    hybrid.link().map(|counts| note_of(counts, hybrid.time_s()))
}

fn note_of(counts: &LinkCounts, time_s: f64) -> EventNote {
    EventNote {
        time_s,
        what: "link".into(),
        text: counts.words(),
        value: Some(counts.bridged as f64),
        limit: None,
    }
}

/// What the laboratory of an experiment says of itself.
pub fn lab_profile(experiment: &Experiment, assembly: &Assembly) -> LabProfile {
    LabProfile {
        rate_hz: experiment.integrator.rate_hz(),
        limits: told_limits(assembly),
        watchdog_s: experiment.rig.watchdog_s,
        token: experiment.rig.token(),
        modes: LOCK_STEP | PACED | KNOWS_ACHIEVED | VIRTUAL,
    }
}

/// The laboratory of an experiment, at rest.
pub fn laboratory_parts(
    experiment: &Experiment,
    assembly: &Assembly,
) -> Result<LaboratoryParts, RemoteError> {
    // The laboratory of an iterative test may have a shaker.
    let shaker = experiment.trace.as_ref().and_then(|trace| trace.shaker.as_ref());
    let rig = if shaker.is_some() && !experiment.transfer_system.stated {
        Setup::new(experiment, assembly)?.rig()?
    } else {
        assembly.rig_alone()?.ok_or(RemoteError::AnswersAtOnce)?
    };
    Ok(LaboratoryParts {
        rig,
        limits: assembly.limits.clone(),
        safe_path: assembly.safe_path,
        every: assembly.every,
        start: if assembly.stands_at_m == 0.0 { Start::Zero } else { Start::WhereItStands },
        bridge: experiment.rig.bridge,
    })
}

/// A session that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// How it ended.
    pub end: SessionEnd,
    /// As written to the record.
    pub summary: Summary,
    /// What the system refused.
    pub notices: Vec<String>,
}

/// Moves the laboratory for one loop and writes its record.
pub fn serve(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    server: &mut LabServer,
    accepted: AcceptedSession,
    record: &Path,
    stop: &StopHandle,
) -> Result<Session, RemoteError> {
    let parts = laboratory_parts(experiment, assembly)?;
    let header = laboratory_header(experiment, source, assembly, &accepted)?;
    let usual = realtime_options(experiment);
    let options = if accepted.lock_step {
        Options {
            ring_frames: experiment.record.ring.unwrap_or(16_384),
            batch_frames: flush_frames(experiment),
            flush: usual.flush,
            ..Options::rehearsal()
        }
    } else {
        usual
    };
    let channels = Laboratory::channels(assembly.count());
    let (sink, mut handle) = Recorder::create(record, &header, &channels, vec![], &options)
        .map_err(RehearsalError::from)?;
    let laboratory = Laboratory::new(parts, Some(sink));
    let real = (!accepted.lock_step).then_some(experiment.realtime.priority);
    // A thread of its own: what it is granted must not pass to the writer's.
    let ((laboratory, end), notices) = std::thread::scope(|scope| {
        let served = scope.spawn(move || {
            let notices = real.map(prepare_thread).unwrap_or_default();
            (server.serve(accepted, laboratory, stop), notices)
        });
        served.join().map_err(|_| RemoteError::Panicked)
    })?;
    let step_s = laboratory.step_s();
    for event in &laboratory.events().events {
        let text = in_the_laboratory(&event.cause);
        handle.note(EventNote { text, ..EventNote::of(event, step_s) });
    }
    let left = laboratory.tripped().filter(|(trip, _)| trip.kind == TripKind::PeerLeft);
    if let Some((trip, time_s)) = left {
        let (what, text) = ("goodbye".to_owned(), trip.text());
        handle.note(EventNote { time_s, what, text, value: None, limit: None });
    }
    let of_loop = laboratory.loop_tripped().map(|(trip, time_s)| of_loop(&trip, time_s));
    if let Some(trip) = &of_loop {
        let (time_s, what, text) = (trip.time_s, TRIP_OF_LOOP.to_owned(), trip.text.clone());
        handle.note(EventNote { time_s, what, text, value: None, limit: None });
    }
    let time_s = laboratory.ticks() as f64 * step_s;
    handle.note(note_of(&end.counts, time_s));
    let trip = laboratory.tripped().map(|(trip, time_s)| TripNote {
        text: in_the_laboratory(&trip),
        ..trip_note(&trip, time_s)
    });
    // That the loop said goodbye is how a session should end; that it tripped is not.
    let trip = trip.filter(|trip| trip.code != TripKind::PeerLeft.code()).or(of_loop);
    let ticks = laboratory.ticks();
    drop(laboratory);
    let summary = handle.finish(Ending { ticks, trip }).map_err(RehearsalError::from)?;
    Ok(Session { end, summary, notices })
}

/// Why the laboratory tripped: it misses the loop, where the loop misses the laboratory.
fn in_the_laboratory(trip: &Trip) -> String {
    trip.text().replace("reply from the laboratory", "command from the loop")
}

/// A trip of the loop as the laboratory remembers it.
fn of_loop(trip: &Trip, time_s: f64) -> TripNote {
    // A float-to-integer cast saturates: an unknown code stays unknown.
    let cause = TripKind::from_code(trip.value as u8);
    let text = match cause {
        Some(TripKind::Operator) => "the operator of the loop stopped the test".to_owned(),
        Some(cause) => format!("the loop tripped: {}", cause.words()),
        None => "the loop tripped, and does not say why".to_owned(),
    };
    TripNote { text, ..trip_note(trip, time_s) }
}

/// Whether the operator at the other end of a wire stopped the test.
pub fn stopped_elsewhere(trip: &TripNote) -> bool {
    trip.code == TripKind::PeerTripped.code() && trip.value == f64::from(TripKind::Operator.code())
}

fn laboratory_header(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    accepted: &AcceptedSession,
) -> Result<Header, RemoteError> {
    let mut header = header(experiment, source, assembly)?;
    header.title = format!("Laboratory: {}", experiment.title);
    header.machine.push((ROLE.into(), LABORATORY.into()));
    header.machine.push(("loop".into(), accepted.peer.to_string()));
    let pace = if accepted.lock_step { "lock-step" } else { "against the clock" };
    header.machine.push(("pace".into(), pace.into()));
    header.machine.push(("watchdog".into(), format!("{} s", accepted.watchdog_s)));
    if !accepted.lock_step {
        header.started = machine::utc_now();
    }
    Ok(header)
}
