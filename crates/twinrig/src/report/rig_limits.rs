//! What the rig could not do, and what its sensors could not see: limits that were reached, noise
//! and steps against the motion.

use experiment::per_dof::PerDof;
use experiment::{Experiment, VerdictSpec};
use runtime::verdict::Reason;

use super::findings::Findings;
use crate::page::text::label;
use crate::words::number;

/// A command this near to a limit is at it.
const AT_LIMIT: f64 = 1.0 - 1e-9;
/// Rms of what rounding to a step of 1 leaves: 1/√12.
const ROUNDING: f64 = 0.288_675_134_594_812_9;

/// The gravest of both kinds.
pub(super) fn reasons(findings: &Findings<'_>, thresholds: &VerdictSpec) -> Vec<Reason> {
    let Some(experiment) = &findings.experiment else { return Vec::new() };
    let limited = worst(at_limits(findings, experiment)).and_then(|(share, what)| {
        Reason::beyond(thresholds.limited, share, "limited", |threshold| {
            let text = format!(
                "{what} in {} % of the test; {} % allowed",
                number(100.0 * share),
                number(100.0 * threshold)
            );
            (text, "a smaller load, or an actuator that reaches further".to_owned())
        })
    });
    // The sensors of a real rig are its own.
    let played = experiment.rig.address.is_none() || findings.view.record.header.started.is_empty();
    let noise = if played { worst(noises(findings, experiment)) } else { None };
    let noisy = noise.and_then(|(share, what)| {
        Reason::beyond(thresholds.noise, share, "noise", |threshold| {
            let text = format!(
                "{what}: {} % of its rms; {} % allowed",
                number(100.0 * share),
                number(100.0 * threshold)
            );
            (text, "a larger load, or finer sensors and converters".to_owned())
        })
    });
    limited.into_iter().chain(noisy).collect()
}

type Share = (f64, String);

fn worst(all: Vec<Share>) -> Option<Share> {
    all.into_iter().filter(|(share, _)| *share > 0.0).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The share of the test that each interface DOF spent at a limit.
fn at_limits(findings: &Findings<'_>, experiment: &Experiment) -> Vec<Share> {
    let (view, rig) = (&findings.view, &experiment.transfer_system);
    let shaping = &experiment.compensator.shaping;
    let stop_m = [rig.saturation_m, shaping.saturation_m].into_iter().flatten().reduce(f64::min);
    let mut found = Vec::new();
    for interface in &view.interfaces {
        let name = label(&interface.name);
        let command = view.running(interface.command);
        let mut count = |limit: Option<f64>, what: &str, scale: f64, unit: &str, values: &[f64]| {
            let Some(limit) = limit else { return };
            let reached = values.iter().filter(|value| value.abs() >= AT_LIMIT * limit).count();
            let share = reached as f64 / values.len().max(1) as f64;
            let limit = number(scale * limit);
            found.push((
                share,
                format!("{what} of interface DOF {name} at its limit of {limit} {unit}"),
            ));
        };
        count(stop_m, "command", 1e3, "mm", &command);
        let per_s = view.frame_rate_hz().unwrap_or(f64::NAN);
        // Differences of rounded commands are a little below the rate.
        let rates: Vec<f64> =
            command.windows(2).map(|pair| (1.0 + 1e-6) * per_s * (pair[1] - pair[0])).collect();
        count(shaping.rate_m_s, "rate of the command", 1e3, "mm/s", &rates);
        count(rig.capacity_n, "force", 1e-3, "kN", &view.running(&interface.force));
    }
    found
}

/// Rms of noise and steps over the rms of what they disturb.
fn noises(findings: &Findings<'_>, experiment: &Experiment) -> Vec<Share> {
    let (view, sensors) = (&findings.view, &experiment.sensors);
    let count = view.interfaces.len();
    let of = |values: &Option<PerDof>, index: usize| {
        values
            .as_ref()
            .map_or(0.0, |values| values.expand(count).get(index).copied().unwrap_or(0.0))
    };
    let mut found = Vec::new();
    for (index, interface) in view.interfaces.iter().enumerate() {
        let name = label(&interface.name);
        let mut add = |what: &str, noise: f64, values: &[f64]| {
            found.push((noise / rms(values), format!("{what} of interface DOF {name}")));
        };
        let noise = |noise: &Option<PerDof>, step: &Option<PerDof>| {
            of(noise, index).hypot(ROUNDING * of(step, index))
        };
        let displacement = noise(&sensors.displacement_noise, &sensors.displacement_quantum);
        add("noise of the measured displacement", displacement, &view.running(&interface.measured));
        let force = noise(&sensors.force_noise, &sensors.force_quantum);
        add("noise of the measured force", force, &view.running(&interface.force));
        let step = ROUNDING * experiment.transfer_system.quantum_m.unwrap_or(0.0);
        add("step of the command", step, &view.running(interface.command));
    }
    found
}

/// Rms of the finite values; that of none is none.
fn rms(values: &[f64]) -> f64 {
    let finite = values.iter().filter(|value| value.is_finite());
    let (sum, count) = finite.fold((0.0, 0), |(sum, count), x| (sum + x * x, count + 1));
    (sum / f64::from(count)).sqrt()
}
