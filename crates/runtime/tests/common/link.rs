//! A laboratory on a thread of its own, and a loop that finds it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use runtime::gate::Trip;
use runtime::interlock::Phase;
use runtime::laboratory::{House, Laboratory, LaboratoryParts, Listener, SessionEnd, Start};
use runtime::link::wire::{KNOWS_ACHIEVED, LOCK_STEP, PACED, VIRTUAL};
use runtime::link::{LinkPlan, Pace, Token};
use runtime::rig::RigSlot;
use runtime::stop::StopButton;

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
    pub(crate) stop: Arc<StopButton>,
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
    let house = House {
        rate_hz: 1.0 / case.step_s,
        limits: limits(case),
        watchdog_s,
        token: Token::new(TOKEN).unwrap(),
        modes: LOCK_STEP | PACED | KNOWS_ACHIEVED | VIRTUAL,
    };
    let mut listener = Listener::bind("127.0.0.1:0".parse().unwrap(), house).unwrap();
    let (address, stop) = (listener.address(), Arc::new(StopButton::new()));
    let (limits, safe_path, of_thread) = (case.limits.clone(), case.safe_path, Arc::clone(&stop));
    let thread = std::thread::spawn(move || {
        let visit = listener.accept(&of_thread).unwrap()?;
        let parts =
            LaboratoryParts { rig, limits, safe_path, every: 1, start: Start::Zero, bridge };
        let mut laboratory = Laboratory::new(parts, None);
        let end = listener.play(visit, &mut laboratory, &of_thread).unwrap();
        Some(Left {
            end,
            trip: laboratory.tripped(),
            phase: laboratory.phase(),
            command: laboratory.command().displacement.clone(),
            ticks: laboratory.tick(),
        })
    });
    Elsewhere { address, stop, thread }
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
