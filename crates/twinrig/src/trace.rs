//! A whole run in memory, for comparisons that need no record.

use analysis::criteria::{self, Floor, Interface, Signals};
use runtime::reference::Reference;

use crate::assembly::{Assembly, LoopOptions, PlantError, Recording};

/// The signals of a run, one value per tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Period, s.
    pub step_s: f64,
    /// Displacement the numerical substructure asked for, per interface DOF.
    pub desired: Vec<Vec<f64>>,
    /// Displacement the sensors reported, per interface DOF.
    pub measured: Vec<Vec<f64>>,
    /// Displacement of every numerical DOF.
    pub displacement: Vec<Vec<f64>>,
    /// The compensator's adapted parameters at the end.
    pub parameters: Vec<f64>,
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

    /// When the stability warning reaches a level and then stays there for
    /// `length_s` at least.
    pub fn warning_stays_above(&self, level: f64, length_s: f64) -> Option<f64> {
        let wanted = (length_s / self.step_s).ceil() as usize;
        let mut above = 0;
        for (tick, &warning) in self.stability_warning.iter().enumerate() {
            above = if warning >= level { above + 1 } else { 0 };
            if above > wanted {
                return Some((tick - wanted) as f64 * self.step_s);
            }
        }
        None
    }

    /// Largest work of the external load, J.
    pub fn peak_input_work_j(&self) -> f64 {
        self.input_work.iter().copied().fold(0.0, f64::max)
    }

    /// Error of the first interface DOF's measured motion against a reference, %.
    pub fn nrmse(&self, reference: &Reference) -> Option<f64> {
        criteria::nrmse(&self.measured[0], &reference.interface[0])
    }

    /// J1 … J9 as the benchmark defines them, with one interface DOF, which is the first.
    pub fn criteria(&self, reference: &Reference) -> Vec<Option<f64>> {
        let rate_hz = 1.0 / self.step_s;
        let interface = Interface {
            name: "1",
            desired: &self.desired[0],
            measured: &self.measured[0],
            reference: Some(&reference.interface[0]),
        };
        let floors = self.displacement.iter().zip(&reference.displacement).skip(1);
        let floors: Vec<Floor<'_>> = floors
            .map(|(numerical, reference)| Floor { name: "", numerical, reference: Some(reference) })
            .collect();
        let interfaces = &[interface];
        let found = criteria::evaluate(&Signals { rate_hz, interfaces, floors: &floors });
        let mut values: Vec<_> = found.into_iter().map(|criterion| criterion.value).collect();
        // The benchmark counts its J1 in whole samples.
        values[0] = values[0].map(|ms| (1e-3 * ms * rate_hz).round() / rate_hz * 1e3);
        values
    }
}

/// Runs the assembly in virtual time.
pub fn trace(assembly: &Assembly) -> Result<Trace, PlantError> {
    let constant_j = assembly.constant_j.unwrap_or(1.0);
    let options = LoopOptions { constant_j, recording: Recording::Off };
    let mut hybrid = assembly.hybrid_loop(assembly.plant()?, assembly.load(), options);
    let columns = |count: usize| vec![Vec::with_capacity(assembly.ticks); count];
    let mut trace = Trace {
        step_s: assembly.integrator.step_s,
        desired: columns(assembly.count()),
        measured: columns(assembly.count()),
        displacement: columns(assembly.substructures.numerical.size()),
        parameters: Vec::new(),
        stability_warning: Vec::with_capacity(assembly.ticks),
        input_work: Vec::with_capacity(assembly.ticks),
    };
    let add = |columns: &mut [Vec<f64>], values: &[f64]| {
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(*value));
    };
    while !hybrid.is_over() {
        // What is desired and measured in the same tick.
        add(&mut trace.desired, &hybrid.source().numerical.desired().displacement);
        add(&mut trace.displacement, hybrid.source().numerical.displacement());
        hybrid.tick();
        add(&mut trace.measured, &hybrid.measured().displacement);
        trace.stability_warning.push(hybrid.monitor().stability_warning);
        trace.input_work.push(hybrid.monitor().input);
    }
    trace.parameters = hybrid.compensator().parameters();
    Ok(trace)
}
