//! From the declared monitor and faults to the runtime's.

use runtime::monitor::{ForecastPlan, IndicatorPlan, Levels, TrackingPlan, WindowedPlan};
use runtime::rig::{Fault, FaultKind};

use experiment::fault::{FaultKindSpec, FaultSpec};
use experiment::watch::{LevelsSpec, MonitorSpec};

/// The indicators a file asks for; ratios become percent.
pub(super) fn watch_plan(monitor: &MonitorSpec) -> IndicatorPlan {
    IndicatorPlan {
        stability: levels(&monitor.stability_warning.levels(), 100.0),
        windowed: monitor.windowed_warning.map(|spec| WindowedPlan {
            window_s: spec.window_s,
            constant_j: spec.constant_j,
            levels: levels(&spec.levels, 100.0),
        }),
        energy_error: monitor.energy_error.map(|spec| levels(&spec.levels, 100.0)),
        forecast: monitor.forecast.map(|spec| ForecastPlan {
            window_s: spec.window_s,
            levels: levels(&spec.levels(), 1.0),
        }),
        tracking: monitor.tracking.map(|spec| TrackingPlan {
            window_s: spec.window_s,
            delay: levels(&spec.delay.levels, 1.0),
            amplitude: levels(&spec.amplitude.levels, 1.0),
        }),
        limits_used: monitor.limits_used.map(|spec| levels(&spec.levels, 100.0)),
    }
}

fn levels(spec: &LevelsSpec, scale: f64) -> Levels {
    let scaled = |level: Option<f64>| level.map(|level| scale * level);
    Levels {
        warn: scaled(spec.warn_at),
        hold: scaled(spec.hold_at),
        ramp_down: scaled(spec.ramp_down_at),
        abort: scaled(spec.abort_at),
    }
}

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
