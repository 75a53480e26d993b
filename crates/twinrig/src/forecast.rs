//! What can be said about a test before it runs.

use analysis::critical_delay::{CriticalDelay, critical_delay};
use analysis::delay_stability::{delay_system, first_loss, held};
use analysis::sampled_loop::{Dominant, LoopError, LoopRig, MOST_STATES, SampledLoop};
use model::compensator::{Compensator, taps};
use model::structure::damping;
use model::transfer::{ActuatorDynamics, TransferSystem};
use numerics::delay_system::{DelayError, DelaySystem};
use numerics::eigen::{self, EigenError};
use std::f64::consts::TAU;
use thiserror::Error;

use crate::assembly::{Assembly, Coupling, PlantError};
use crate::fit::Fit;

/// A mode of the whole structure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// Natural frequency.
    pub frequency_hz: f64,
    /// Ratio of critical damping.
    pub damping_ratio: f64,
}

/// Whether the loop will be stable.
#[derive(Debug, Clone, PartialEq)]
pub enum Stability {
    /// From the eigenvalues of the sampled loop, nonlinear elements at their
    /// initial stiffness.
    Linear(Dominant),
    /// Rig and structure move as one: as stable as the structure.
    Rigid,
    /// Nothing can be said without running it.
    Unknown(String),
}

/// What can be said before the test.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The first modes of the whole structure, lowest first.
    pub modes: Vec<Mode>,
    /// Samples per cycle of the fastest mode.
    pub samples_per_cycle: f64,
    /// Whether the loop will be stable.
    pub stability: Stability,
    /// Whether every element is linear; if not, stability is that of small motions.
    pub linear: bool,
    /// The delay at which it would not be, for one interface DOF.
    pub critical_delay: Option<CriticalDelay>,
    /// The delay the transfer system has at the frequency that matters.
    pub delay_s: f64,
    /// What a tick costs here, and whether it fits its period.
    pub fit: Fit,
    /// Period of the loop, s.
    pub step_s: f64,
}

/// Why nothing can be said.
#[derive(Debug, Error)]
pub enum ForecastError {
    /// Eigenvalues cannot be found.
    #[error(transparent)]
    Eigen(#[from] EigenError),
    /// The plant cannot be built.
    #[error(transparent)]
    Plant(#[from] PlantError),
}

/// Most modes that are listed.
const MODES: usize = 12;

impl Forecast {
    /// Examines an assembly.
    pub fn new(assembly: &Assembly) -> Result<Self, ForecastError> {
        let whole = assembly.substructures.whole.linearised();
        let modes = eigen::symmetric_modes(&whole.stiffness, &whole.mass)?;
        let ratios = damping::ratios(&whole.damping, &modes);
        let fastest_hz = modes.omega_rad_s.iter().copied().fold(0.0, f64::max) / TAU;
        let listed = (0..modes.len().min(MODES))
            .map(|i| Mode { frequency_hz: modes.frequency_hz(i), damping_ratio: ratios[i] })
            .collect();
        let stability = stability(assembly);
        let substructures = &assembly.substructures;
        let specimen = &assembly.partition.specimen;
        let linear = substructures.whole.elements.is_empty();
        let critical_delay = if assembly.partition.inside.is_some() {
            inside_system(assembly)
                .and_then(|system| Ok(first_loss(&system.crossings()?)))
                .unwrap_or_default()
        } else if assembly.count() == 1 && 2 * modes.len() <= MOST_STATES {
            critical_delay(
                &substructures.numerical.linearised(),
                &substructures.whole.linearised(),
                &specimen.linearised(),
            )?
        } else {
            None
        };
        let matters_hz = match (&critical_delay, &stability) {
            (Some(critical), _) if critical.frequency_hz.is_finite() => critical.frequency_hz,
            (_, Stability::Linear(dominant)) if dominant.frequency_hz > 0.0 => {
                dominant.frequency_hz
            }
            _ => modes.omega_rad_s.iter().copied().find(|&o| o > 0.0).unwrap_or(TAU) / TAU,
        };
        Ok(Self {
            modes: listed,
            samples_per_cycle: 1.0 / (assembly.integrator.step_s * fastest_hz),
            stability,
            linear,
            critical_delay,
            delay_s: transfer_delay_s(assembly, matters_hz),
            fit: Fit::measure(assembly)?,
            step_s: assembly.integrator.step_s,
        })
    }

    /// Whether instability is predicted.
    pub fn is_unstable(&self) -> bool {
        matches!(&self.stability, Stability::Linear(dominant) if grows(dominant))
    }
}

/// Whether a motion grows, beyond what rounding alone makes of one without damping.
pub fn grows(dominant: &Dominant) -> bool {
    dominant.radius > 1.0 + 1e-10
}

/// Dynamics of the transfer system, where it has any.
fn dynamics(assembly: &Assembly) -> Option<ActuatorDynamics> {
    let specimen = assembly.partition.specimen.linearised();
    match &assembly.transfer_system {
        TransferSystem::TransferFunction { function, .. } => {
            Some(ActuatorDynamics::from_function(function, &specimen))
        }
        TransferSystem::ServoHydraulic(servo) => {
            ActuatorDynamics::from_servo(servo, &specimen).ok()
        }
        TransferSystem::Ideal | TransferSystem::Delay { .. } => None,
    }
}

/// Whether the loop of an assembly is stable.
pub fn stability(assembly: &Assembly) -> Stability {
    if assembly.partition.inside.is_some() {
        return inside_stability(assembly);
    }
    if assembly.rates.is_some() {
        let reason = "two rates are not in the analysis: rehearse it";
        return Stability::Unknown(reason.to_owned());
    }
    if assembly.coupling == Coupling::Continuous
        && assembly.transfer_system == TransferSystem::Ideal
    {
        return Stability::Rigid;
    }
    if matches!(assembly.compensator, Compensator::Active(_)) || assembly.sensors.force_delay > 0 {
        return compensated_stability(assembly);
    }
    let judged = (|| -> Result<Option<Dominant>, LoopError> {
        let specimen = assembly.partition.specimen.linearised();
        let numerical = assembly.substructures.numerical.linearised();
        let sampled = SampledLoop::new(&numerical, &assembly.integrator, &specimen)?;
        match (&assembly.transfer_system, dynamics(assembly)) {
            (TransferSystem::TransferFunction { samples, .. }, _) if *samples > 0.0 => Ok(None),
            (_, Some(dynamics)) => sampled.with_dynamics(&dynamics).map(Some),
            (TransferSystem::Delay { samples }, _) if *samples >= 1.0 => {
                // Between two whole delays the longer one decides.
                sampled.with_delay(samples.ceil() as usize).map(Some)
            }
            _ => Ok(None),
        }
    })();
    match judged {
        Ok(Some(dominant)) => Stability::Linear(dominant),
        Ok(None) => Stability::Unknown(
            "a delay below one sample, or one in front of a transfer function: rehearse it"
                .to_owned(),
        ),
        Err(error) => Stability::Unknown(error.to_string()),
    }
}

/// The delay system of a specimen with DOFs of its own.
fn inside_system(assembly: &Assembly) -> Result<DelaySystem, DelayError> {
    delay_system(&assembly.substructures.whole, &assembly.partition)
}

/// The same for a specimen with DOFs of its own, behind a pure delay.
fn inside_stability(assembly: &Assembly) -> Stability {
    let plain = assembly.compensator == Compensator::None && assembly.sensors.force_delay == 0;
    let TransferSystem::Delay { samples } = assembly.transfer_system else {
        let reason = "a specimen with DOFs of its own behind anything but a pure delay is not in \
                      the analysis: rehearse it";
        return Stability::Unknown(reason.to_owned());
    };
    if !plain {
        let reason = "a specimen with DOFs of its own is judged without a compensator or a late \
                      force only: rehearse it";
        return Stability::Unknown(reason.to_owned());
    }
    let step_s = assembly.integrator.step_s;
    match inside_system(assembly).and_then(|system| held(&system, samples * step_s, step_s)) {
        Ok(dominant) => Stability::Linear(dominant),
        Err(error) => Stability::Unknown(error.to_string()),
    }
}

/// The same for a loop with a compensator or a late force. Filters and limits on
/// the command are left out: limits do not matter to small motions, a filter does
/// and is said.
fn compensated_stability(assembly: &Assembly) -> Stability {
    let unknown = |reason: &str| Stability::Unknown(reason.to_owned());
    if assembly.coupling == Coupling::Continuous {
        return unknown(
            "with feedback = \"continuous\" the compensator is not in the analysis: rehearse it",
        );
    }
    let step_s = assembly.integrator.step_s;
    let taps = match taps(&assembly.design, step_s) {
        Err(error) => return Stability::Unknown(error.to_string()),
        Ok(Some(taps)) => taps,
        Ok(None) if assembly.design.is_adaptive() => {
            return unknown(
                "an adaptive compensator changes while the test runs, so no spectrum holds for \
                 all of it: rehearse it",
            );
        }
        Ok(None) => {
            return unknown("a compensator with feedback is not in the analysis: rehearse it");
        }
    };
    if assembly.compensator.has_low_pass() {
        return unknown("the low-pass filter on the command is not in the analysis: rehearse it");
    }
    let judged = (|| -> Result<Option<Dominant>, LoopError> {
        let specimen = assembly.partition.specimen.linearised();
        let numerical = assembly.substructures.numerical.linearised();
        let sampled = SampledLoop::new(&numerical, &assembly.integrator, &specimen)?;
        let late = assembly.sensors.force_delay;
        match (&assembly.transfer_system, dynamics(assembly)) {
            (TransferSystem::TransferFunction { samples, .. }, _) if *samples > 0.0 => Ok(None),
            (_, Some(dynamics)) => {
                sampled.with_compensator(LoopRig::Dynamics(&dynamics), &taps, late).map(Some)
            }
            (TransferSystem::Delay { samples }, _) if *samples >= 1.0 => {
                let rig = LoopRig::Delay(samples.round() as usize);
                sampled.with_compensator(rig, &taps, late).map(Some)
            }
            _ => Ok(None),
        }
    })();
    match judged {
        Ok(Some(dominant)) => Stability::Linear(dominant),
        Ok(None) => {
            unknown("a delay below one sample, or one in front of a transfer function: rehearse it")
        }
        Err(error) => Stability::Unknown(error.to_string()),
    }
}

/// The delay of the transfer system at a frequency, in time.
fn transfer_delay_s(assembly: &Assembly, frequency_hz: f64) -> f64 {
    let omega = frequency_hz * TAU;
    let pure_s = match &assembly.transfer_system {
        TransferSystem::Delay { samples } | TransferSystem::TransferFunction { samples, .. } => {
            samples * assembly.integrator.step_s
        }
        TransferSystem::Ideal | TransferSystem::ServoHydraulic(_) => 0.0,
    };
    let response = dynamics(assembly).and_then(|dynamics| dynamics.response(0, omega));
    pure_s + response.map_or(0.0, |response| -response.arg() / omega)
}
