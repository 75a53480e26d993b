//! From the declared faults to the runtime's.

use runtime::rig::{Fault, FaultKind};

use experiment::fault::{FaultKindSpec, FaultSpec};

/// A declared fault in ticks.
pub(super) fn fault(spec: &FaultSpec, step_s: f64) -> Fault {
    // A float-to-integer cast saturates: an infinite time becomes never.
    let ticks = |time_s: f64| (time_s / step_s).round() as u64;
    let late = |time_s: f64| (time_s / step_s).round() as usize;
    let kind = match spec.kind {
        FaultKindSpec::Delay { by_s } => FaultKind::Delay(late(by_s)),
        FaultKindSpec::DelayJitter { most_s } => FaultKind::DelayJitter(late(most_s)),
        FaultKindSpec::DroppedCommands { probability } => FaultKind::DroppedCommands(probability),
        FaultKindSpec::RepeatedSamples { probability } => FaultKind::RepeatedSamples(probability),
        FaultKindSpec::SensorNan { sensor } => FaultKind::SensorNan(sensor),
        FaultKindSpec::FrozenDisplacement => FaultKind::FrozenDisplacement,
        FaultKindSpec::StuckActuator => FaultKind::StuckActuator,
        FaultKindSpec::SaturatedActuator { position_m, rate_m_s } => FaultKind::SaturatedActuator {
            position_m: position_m.unwrap_or(f64::INFINITY),
            stride_m: rate_m_s.unwrap_or(f64::INFINITY) * step_s,
        },
        FaultKindSpec::LoadCellDrift { drift_n_s } => FaultKind::LoadCellDrift(drift_n_s * step_s),
        FaultKindSpec::WrongSign => FaultKind::WrongSign,
        FaultKindSpec::SpecimenFailure { remaining } => FaultKind::SpecimenFailure(remaining),
    };
    Fault { kind, from: ticks(spec.at_s), until: ticks(spec.until_s()), dof: spec.dof_index() }
}
