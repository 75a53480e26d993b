//! The virtual benchmark with its servo-hydraulic rig: compensators judged by J1 … J9.

use analysis::criteria::{Floor, Interface, Signals, benchmark_lags, evaluate};
use model::compensator::{
    AdaptiveInverseDesign, AdaptiveModelBasedDesign, DerivativeSource, Design, PiLeadDesign,
    ShapingDesign,
};
use model::sensor::Converter;
use model::transfer::{ServoHydraulic, TransferSystem};
use numerics::lti::TransferFunction;
use runtime::monitor::WorkRule;
use runtime::reference::Reference;

use crate::assembly::{Assembly, Coupling};
use crate::error::Error;
use crate::trace::{Trace, trace};

/// Sensors and converter of the benchmark.
fn with_sensors(assembly: &mut Assembly) {
    assembly.sensors.displacement_noise.fill(16e-6);
    assembly.sensors.force_noise.fill(2.18);
    assembly.converter = Converter { quantum: 2f64.powi(-18), saturation: 3.8 };
}

/// The benchmark's own loop: servo-hydraulic rig, noise, the force held and one
/// sample late.
pub fn benchmark_loop(assembly: &Assembly) -> Assembly {
    let mut assembly = assembly.clone();
    with_sensors(&mut assembly);
    assembly.transfer_system = TransferSystem::ServoHydraulic(ServoHydraulic::BENCHMARK);
    assembly.coupling = Coupling::Held;
    assembly.work = WorkRule::Held;
    assembly.sensors.force_delay = 1;
    assembly
}

/// The paper's loop: the published transfer function and the numerical part as
/// one system, first-order adaptive compensator with the gains `adaptation`.
pub fn adaptive_run(assembly: &Assembly, adaptation: [f64; 2]) -> Result<Trace, Error> {
    let mut assembly = assembly.clone();
    with_sensors(&mut assembly);
    let function =
        TransferFunction::new(&[2.19e13], &[29.1, 1.26e4, 8.42e6, 2.33e9, 5.44e11, 2.17e13])?;
    assembly.transfer_system = TransferSystem::TransferFunction { function, samples: 0.0 };
    assembly.coupling = Coupling::Continuous;
    assembly.work = WorkRule::Trapezoid;
    assembly.set_compensator(
        Design::AdaptiveModelBased(AdaptiveModelBasedDesign {
            adaptation,
            derivatives: DerivativeSource::Differences,
            ..AdaptiveModelBasedDesign::PUBLISHED
        }),
        &ShapingDesign::default(),
    )?;
    Ok(trace(&assembly, assembly.constant_j.unwrap_or(1.0))?)
}

/// The benchmark's baseline controller.
pub const BASELINE: Design = Design::PiLead(PiLeadDesign {
    proportional: 2.0,
    integral_1_s: 95.0,
    lead_gain: 50.8316336,
    lead_pole_1_s: 8570.39734,
});

/// The default compensator, leading over so many samples of latency.
pub fn default_design(latency_samples: f64) -> Design {
    Design::AdaptiveInverse(AdaptiveInverseDesign {
        latency_samples,
        ..AdaptiveInverseDesign::GENERIC
    })
}

/// A run of `assembly` with a compensator, and its J1 … J9 against `reference`.
pub fn criteria(
    assembly: &Assembly,
    design: Design,
    reference: &Reference,
) -> Result<(Trace, Vec<Option<f64>>), Error> {
    let mut assembly = assembly.clone();
    assembly.set_compensator(design, &ShapingDesign::default())?;
    let run = trace(&assembly, 1.0)?;
    let values = judge(&run, reference);
    Ok((run, values))
}

/// J1 … J9 of a run.
pub fn judge(run: &Trace, reference: &Reference) -> Vec<Option<f64>> {
    let rate_hz = 1.0 / run.step_s;
    let interface = Interface {
        name: "1",
        desired: &run.desired[0],
        measured: &run.measured[0],
        reference: Some(&reference.interface[0]),
    };
    let floors: Vec<Floor<'_>> = run
        .displacement
        .iter()
        .zip(&reference.displacement)
        .skip(1)
        .map(|(numerical, reference)| Floor { name: "", numerical, reference: Some(reference) })
        .collect();
    let signals = Signals {
        rate_hz,
        longest_lag: benchmark_lags(rate_hz),
        interfaces: &[interface],
        floors: &floors,
    };
    evaluate(&signals).into_iter().map(|criterion| criterion.value).collect()
}

/// J2 if tracking were perfect: sensor noise over the desired motion, %.
pub fn noise_floor(run: &Trace, noise_m: f64) -> f64 {
    let x = &run.desired[0];
    let count = x.len().max(1) as f64;
    let mean = x.iter().sum::<f64>() / count;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    100.0 * noise_m / variance.sqrt()
}
