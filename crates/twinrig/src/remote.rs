//! The loop's end of a wire: what it asks of the laboratory.

use std::net::{SocketAddr, ToSocketAddrs};

use runtime::link::wire::VIRTUAL;
use runtime::link::{LinkPlan, Pace};
use runtime::numerical::Plant;
use runtime::rig::{NetworkRig, Peer};
use runtime::world;

use crate::assembly::{Assembly, Coupling};
use crate::error::Error;
use crate::pace::Clock;
use experiment::Experiment;

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
        limits: own_limits(assembly),
    })
}

/// Both sides of an experiment, joined for a run: over the wire if there is one.
pub(crate) fn plant(assembly: &Assembly) -> Result<Plant, Error> {
    match &assembly.remote {
        None => Ok(assembly.plant()?),
        Some(plan) => Ok(assembly.split(NetworkRig::connect(&world::system(), plan)?, None)?),
    }
}

/// What one end tells the other of its limits.
pub(crate) fn own_limits(assembly: &Assembly) -> [Vec<f64>; 3] {
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
