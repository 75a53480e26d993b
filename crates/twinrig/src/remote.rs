//! The two ends of a wire, from an experiment: the loop's plan, and the
//! laboratory with its record.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use runtime::gate::{Trip, TripKind};
use runtime::laboratory::{
    AcceptedSession, LabProfile, LabServer, Laboratory, LaboratoryParts, SessionEnd, Start,
};
use runtime::link::wire::{KNOWS_ACHIEVED, LOCK_STEP, PACED, VIRTUAL};
use runtime::link::{LinkPlan, Pace};
use runtime::numerical::Plant;
use runtime::realtime::prepare_thread;
use runtime::record::{Ending, EventNote, Header, Options, Recorder, Summary, TripNote};
use runtime::rig::{NetworkRig, Peer};
use runtime::stop::StopHandle;
use runtime::world::World;

use crate::assembly::{Assembly, Coupling};
use crate::error::Error;
use crate::iterative::Setup;
use crate::machine;
use crate::notes::{LABORATORY, ROLE, header, link_note, trip_note};
use crate::pace::{Clock, recording};
use experiment::{Experiment, Source};

/// What the event is called by which a laboratory remembers a trip of the loop.
pub const TRIP_OF_LOOP: &str = "trip of the loop";

/// The address that a host and a port mean.
fn resolve(address: &str) -> Result<SocketAddr, Error> {
    let failed = |reason: String| Error::Address { address: address.to_owned(), reason };
    let mut found = address.to_socket_addrs().map_err(|error| failed(error.to_string()))?;
    found.next().ok_or_else(|| failed("it has no address".to_owned()))
}

/// What goes over a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// A closed loop: the rig must answer at least a step late.
    ClosedLoop,
    /// Commands that do not depend on the answer within the tick.
    Open,
}

/// What the loop of an experiment asks of the laboratory at an address. Where the loop
/// is cut, any rig may stand there.
pub(crate) fn link_plan(
    experiment: &Experiment,
    assembly: &Assembly,
    address: &str,
    clock: Clock,
    wire: Wire,
) -> Result<LinkPlan, Error> {
    let address = resolve(address)?;
    if wire == Wire::ClosedLoop && assembly.coupling != Coupling::Held {
        return Err(Error::OneSystem);
    }
    let spec = &experiment.rig;
    Ok(LinkPlan {
        address,
        count: assembly.count(),
        rate_hz: experiment.integrator.rate_hz(),
        pace: match clock {
            Clock::Virtual => Pace::LockStep { timeout_s: spec.timeout_s },
            Clock::Real => Pace::Paced { bridge: spec.bridge, bridge_by: spec.bridge_by },
        },
        token: spec.token(),
        connect_s: spec.connect_s,
        limits: told_limits(assembly),
    })
}

/// Both sides of an experiment, joined for a run: over the wire if there is one.
pub(crate) fn plant(assembly: &Assembly) -> Result<Plant, Error> {
    match &assembly.remote {
        None => Ok(assembly.plant()?),
        Some(plan) => Ok(assembly.split(NetworkRig::connect(&World::system(), plan)?, None)?),
    }
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
) -> Result<LaboratoryParts, Error> {
    // The laboratory of an iterative test may have a shaker.
    let shaker = experiment.trace.as_ref().and_then(|trace| trace.shaker.as_ref());
    let rig = if shaker.is_some() && !experiment.transfer_system.stated {
        Setup::new(experiment, assembly)?.rig()?
    } else {
        assembly.rig_alone()?.ok_or(Error::AnswersAtOnce)?
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
) -> Result<Session, Error> {
    let parts = laboratory_parts(experiment, assembly)?;
    let header = laboratory_header(experiment, source, assembly, &accepted)?;
    let clock = if accepted.lock_step { Clock::Virtual } else { Clock::Real };
    // A laboratory may be alone for long: what it has is flushed by the clock.
    let flush = recording(experiment, Clock::Real).flush;
    let options = Options { flush, ..recording(experiment, clock) };
    let channels = Laboratory::channels(assembly.count());
    let (sink, mut handle) = Recorder::create(record, &header, &channels, vec![], &options)?;
    let laboratory = Laboratory::new(parts, Some(sink));
    let real = (!accepted.lock_step).then_some(experiment.realtime.priority);
    // A thread of its own: what it is granted must not pass to the writer's.
    let ((laboratory, end), notices) = std::thread::scope(|scope| {
        let served = scope.spawn(move || {
            let notices = real.map(prepare_thread).unwrap_or_default();
            (server.serve(accepted, laboratory, stop), notices)
        });
        served.join().map_err(|_| Error::Panicked)
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
    handle.note(link_note(&end.counts, time_s));
    let trip = laboratory.tripped().map(|(trip, time_s)| TripNote {
        text: in_the_laboratory(&trip),
        ..trip_note(&trip, time_s)
    });
    // That the loop said goodbye is how a session should end; that it tripped is not.
    let trip = trip.filter(|trip| trip.code != TripKind::PeerLeft.code()).or(of_loop);
    let ticks = laboratory.ticks();
    drop(laboratory);
    let summary = handle.finish(Ending { ticks, trip })?;
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

fn laboratory_header(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    accepted: &AcceptedSession,
) -> Result<Header, Error> {
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
