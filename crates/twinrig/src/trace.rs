//! A whole run in memory, for comparisons that need no record.

use crate::assembly::{Assembly, LoopOptions, PlantError, Recording};

/// The signals of a run, one value per tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Period, s.
    pub step_s: f64,
    /// Displacement the sensors reported, per interface DOF.
    pub measured: Vec<Vec<f64>>,
    /// The stability warning, %.
    pub stability_warning: Vec<f64>,
    /// Work of the external load, J.
    pub input_work: Vec<f64>,
}

impl Trace {
    /// Largest stability warning, %.
    pub fn largest_warning(&self) -> f64 {
        self.stability_warning.iter().copied().fold(0.0, f64::max)
    }

    /// When the stability warning first reaches a level.
    pub fn warning_reaches(&self, level: f64) -> Option<f64> {
        let tick = self.stability_warning.iter().position(|&warning| warning >= level)?;
        Some(tick as f64 * self.step_s)
    }

    /// Largest work of the external load, J.
    pub fn peak_input_work_j(&self) -> f64 {
        self.input_work.iter().copied().fold(0.0, f64::max)
    }
}

/// Runs the assembly in virtual time.
pub fn trace(assembly: &Assembly, constant_j: f64) -> Result<Trace, PlantError> {
    let options = LoopOptions { constant_j, recording: Recording::Off };
    let mut hybrid = assembly.hybrid_loop(assembly.plant()?, assembly.load(), options);
    let mut trace = Trace {
        step_s: assembly.integrator.step_s,
        measured: vec![Vec::with_capacity(assembly.ticks); assembly.count()],
        stability_warning: Vec::with_capacity(assembly.ticks),
        input_work: Vec::with_capacity(assembly.ticks),
    };
    while !hybrid.is_over() {
        hybrid.tick();
        for (column, x) in trace.measured.iter_mut().zip(&hybrid.measured().displacement) {
            column.push(*x);
        }
        trace.stability_warning.push(hybrid.monitor().stability_warning());
        trace.input_work.push(hybrid.monitor().input_work());
    }
    Ok(trace)
}
