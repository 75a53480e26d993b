//! A laboratory on a thread of its own, and a loop that finds it.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use runtime::gate::Trip;
use runtime::interlock::Phase;
use runtime::laboratory::{LabProfile, LabServer, Laboratory, LaboratoryParts, SessionEnd, Start};
use runtime::link::wire::{KNOWS_ACHIEVED, LOCK_STEP, PACED, VIRTUAL};
use runtime::link::{LinkPlan, Pace, Token};
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

pub(crate) const TOKEN: &str = "bench 3";

/// Bounds of the loop as the laboratory keeps them.
pub(crate) fn limits(case: &Case) -> [Vec<f64>; 3] {
    [case.limits.command.clone(), case.limits.rate.clone(), case.limits.force.clone()]
}

/// Plays the case's rig for one session.
pub(crate) fn laboratory(case: &Case, watchdog_s: f64, bridge: u64) -> Elsewhere {
    laboratory_of(RigSlot::from(case.rig()), case, watchdog_s, bridge)
}

pub(crate) fn laboratory_of(rig: RigSlot, case: &Case, watchdog_s: f64, bridge: u64) -> Elsewhere {
    let profile = profile(case, watchdog_s);
    let mut server =
        LabServer::bind(&world::system(), "127.0.0.1:0".parse().unwrap(), profile).unwrap();
    let (address, stop) = (server.address, StopHandle::default());
    let (parts, of_thread) = (parts(rig, case, bridge), stop.clone());
    let thread = std::thread::spawn(move || {
        let accepted = server.accept(&of_thread)?;
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
        rate_hz: 1.0 / case.step_s,
        limits: limits(case),
        watchdog_s,
        patience_s: 60.0,
        token: Token::new(TOKEN).unwrap(),
        modes: LOCK_STEP | PACED | KNOWS_ACHIEVED | VIRTUAL,
    }
}

pub(crate) fn parts(rig: RigSlot, case: &Case, bridge: u64) -> LaboratoryParts {
    let (limits, safe_path) = (case.limits.clone(), case.safe_path);
    LaboratoryParts { rig, limits, safe_path, every: 1, start: Start::Zero, bridge }
}

pub(crate) fn plan(case: &Case, address: SocketAddr, pace: Pace) -> LinkPlan {
    LinkPlan {
        address,
        count: case.count(),
        rate_hz: 1.0 / case.step_s,
        pace,
        token: Token::new(TOKEN).unwrap(),
        connect_s: 10.0,
        limits: limits(case),
    }
}
