//! A laboratory on a thread of its own, and a loop that finds it.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use runtime::gate::Trip;
use runtime::interlock::Phase;
use runtime::laboratory::{LabProfile, LabServer, Laboratory, LaboratoryParts, SessionEnd, Start};
use runtime::link::wire::{KNOWS_ACHIEVED, LOCK_STEP, PACED, VIRTUAL};
use runtime::link::{LinkPlan, Pace, Terms, Token};
use runtime::rig::RigSlot;
use runtime::stop::StopHandle;
use runtime::world;

use super::benchmark::Case;

/// What was left of a laboratory.
pub(crate) struct Left {
    pub(crate) end: SessionEnd,
    pub(crate) trip: Option<(Trip, f64)>,
    pub(crate) phase: Phase,
    pub(crate) command: Vec<f64>,
    pub(crate) ticks: u64,
}

pub(crate) struct Elsewhere {
    pub(crate) address: SocketAddr,
    pub(crate) stop: StopHandle,
    pub(crate) thread: JoinHandle<Option<Left>>,
}

/// What was left of it, once its session is over.
pub(crate) fn left(elsewhere: Elsewhere) -> Left {
    elsewhere.thread.join().unwrap().unwrap()
}

pub(crate) const TOKEN: &str = "bench 3";

/// What both ends say of the case.
pub(crate) fn terms(case: &Case) -> Terms {
    let bounds = &case.limits;
    let limits = [bounds.command.clone(), bounds.rate.clone(), bounds.force.clone()];
    Terms { rate_hz: 1.0 / case.step_s, limits, file: 0 }
}

/// Plays the case's rig for one session.
pub(crate) fn laboratory(case: &Case, watchdog_s: f64, bridge: u64) -> Elsewhere {
    laboratory_of(RigSlot::from(case.rig()), case, watchdog_s, bridge)
}

pub(crate) fn laboratory_of(rig: RigSlot, case: &Case, watchdog_s: f64, bridge: u64) -> Elsewhere {
    let auxiliary = rig.channels().len();
    let profile = LabProfile { auxiliary, ..profile(case, watchdog_s) };
    let mut server =
        LabServer::bind(&world::system(), "127.0.0.1:0".parse().unwrap(), profile).unwrap();
    let (address, stop) = (server.address, StopHandle::default());
    let (parts, of_thread) = (parts(rig, case, bridge), stop.clone());
    let thread = std::thread::spawn(move || {
        let accepted = server.accept(&of_thread, &mut |_| {})?;
        let (laboratory, end) = server.serve(accepted, Laboratory::new(parts, None), &of_thread);
        Some(Left {
            end,
            trip: laboratory.tripped(),
            phase: laboratory.phase(),
            command: laboratory.command().displacement.clone(),
            ticks: laboratory.ticks(),
        })
    });
    Elsewhere { address, stop, thread }
}

pub(crate) fn profile(case: &Case, watchdog_s: f64) -> LabProfile {
    LabProfile {
        terms: terms(case),
        watchdog_s,
        patience_s: 60.0,
        token: Token::new(TOKEN),
        modes: LOCK_STEP | PACED | KNOWS_ACHIEVED | VIRTUAL,
        auxiliary: 0,
    }
}

pub(crate) fn parts(rig: RigSlot, case: &Case, bridge: u64) -> LaboratoryParts {
    let (limits, safe_path) = (case.limits.clone(), case.safe_path);
    LaboratoryParts { rig, limits, safe_path, every: 1, start: Start::Zero, bridge }
}

pub(crate) fn plan(case: &Case, address: SocketAddr, pace: Pace) -> LinkPlan {
    LinkPlan {
        address,
        terms: terms(case),
        pace,
        watchdog_s: 60.0,
        token: Token::new(TOKEN),
        connect_s: 10.0,
    }
}
