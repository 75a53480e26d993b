//! The loop's end of a wire: what it asks of the laboratory.

use std::net::{SocketAddr, ToSocketAddrs};

use numerics::random::fnv1a;
use runtime::link::wire::VIRTUAL;
use runtime::link::{LinkError, LinkPlan, Pace, Terms};
use runtime::numerical::Plant;
use runtime::rig::{NetworkRig, Peer};
use runtime::stop::StopHandle;
use runtime::world;

use crate::assembly::{Assembly, Coupling, FoundLaboratory};
use crate::error::Error;
use crate::pace::Clock;
use crate::text_edit::without_token;
use crate::words::number;
use experiment::include::flattened;
use experiment::{Experiment, Source};

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

impl FoundLaboratory {
    /// Asks who is there and whether it would agree.
    pub(crate) fn find(plan: LinkPlan, stop: &StopHandle) -> Result<Self, Error> {
        let peer = NetworkRig::find(&world::system(), stop, &plan).map_err(linked)?;
        Ok(Self { plan, peer })
    }

    /// Arms it and closes the loop; it must be the one that was found.
    pub(crate) fn arm(&self, stop: &StopHandle) -> Result<NetworkRig, Error> {
        let rig = NetworkRig::connect(&world::system(), stop, &self.plan).map_err(linked)?;
        if rig.peer != self.peer {
            return Err(Error::OtherLaboratory { address: self.plan.address });
        }
        Ok(rig)
    }
}

fn linked(error: LinkError) -> Error {
    match error {
        LinkError::Stopped(_) => Error::Stopped,
        error => error.into(),
    }
}

/// What the loop of an experiment asks of the laboratory at an address. Where the loop
/// is cut, any rig may stand there.
pub(crate) fn link_plan(
    experiment: &Experiment,
    source: &dyn Source,
    assembly: &Assembly,
    address: &str,
    clock: Clock,
    wire: Wire,
) -> Result<LinkPlan, Error> {
    let address = resolve(address)?;
    if wire == Wire::ClosedLoop && assembly.coupling != Coupling::Held {
        return Err(Error::OneSystem);
    }
    refuse_preset_token(experiment, address)?;
    let spec = &experiment.rig;
    Ok(LinkPlan {
        address,
        terms: terms(experiment, source, assembly),
        pace: match clock {
            Clock::Virtual => Pace::LockStep { timeout_s: spec.timeout_s },
            Clock::Real => Pace::Paced { bridge: spec.bridge, bridge_by: spec.bridge_by },
        },
        watchdog_s: spec.watchdog_s,
        token: spec.token(),
        connect_s: spec.connect_s,
    })
}

/// A token that everybody knows is none where other machines can reach the wire.
pub(crate) fn refuse_preset_token(
    experiment: &Experiment,
    address: SocketAddr,
) -> Result<(), Error> {
    if experiment.rig.has_preset_token() && !address.ip().is_loopback() {
        return Err(Error::PresetToken { address });
    }
    Ok(())
}

/// What one end says of its test.
pub(crate) fn terms(experiment: &Experiment, source: &dyn Source, assembly: &Assembly) -> Terms {
    let (limits, text) = (&assembly.limits, flattened(experiment.text(), source));
    Terms {
        rate_hz: experiment.integrator.rate_hz(),
        limits: [limits.command.clone(), limits.rate.clone(), limits.force.clone()],
        file: fnv1a(without_token(&text, &experiment.rig.token()).as_bytes()),
    }
}

/// How the files of both ends differ, a sentence each.
pub(crate) fn differences(here: &Terms, there: &Terms) -> Vec<String> {
    const LIMITS: [(&str, f64, &str); 3] =
        [("command", 1e3, "mm"), ("rate", 1.0, "m/s"), ("force", 1e-3, "kN")];
    let mut found = Vec::new();
    for ((name, factor, unit), (own, other)) in
        LIMITS.into_iter().zip(here.limits.iter().zip(&there.limits))
    {
        let shown = |value: f64| match value.is_finite() {
            true => format!("{} {unit}", number(factor * value)),
            false => "none".to_owned(),
        };
        for (dof, (own, other)) in own.iter().zip(other).enumerate().filter(|(_, (a, b))| a != b) {
            let (place, own, other) = (dof + 1, shown(*own), shown(*other));
            found.push(format!(
                "`limits.{name}` of interface DOF {place} is {own} here and {other} at the other \
                 end; the stricter applies there"
            ));
        }
    }
    if here.file != there.file {
        found.push(format!(
            "the experiment files of the two ends differ: hash {:016x} here, {:016x} at the other \
             end",
            here.file, there.file
        ));
    }
    found
}

/// Both sides of an experiment, joined for a run: over the wire if there is one.
pub(crate) fn plant(assembly: &Assembly, stop: &StopHandle) -> Result<Plant, Error> {
    match &assembly.remote {
        None => Ok(assembly.plant()?),
        Some(laboratory) => Ok(assembly.split(laboratory.arm(stop)?, None)?),
    }
}

/// What a laboratory says of itself, in one line.
pub fn told(peer: &Peer) -> String {
    let kind = if peer.modes & VIRTUAL == 0 { "a rig" } else { "a virtual rig" };
    let least = |values: &[f64], factor: f64, unit: &str| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        if least.is_finite() {
            format!("{} {unit}", number(factor * least))
        } else {
            "none".to_owned()
        }
    };
    format!(
        "{kind} at {}: watchdog {} s, its own limits: command {}, rate {}, force {}",
        peer.address,
        peer.watchdog_s,
        least(&peer.terms.limits[0], 1e3, "mm"),
        least(&peer.terms.limits[1], 1.0, "m/s"),
        least(&peer.terms.limits[2], 1e-3, "kN")
    )
}
