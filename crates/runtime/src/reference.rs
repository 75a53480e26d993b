//! The response of the whole structure, as if it were built: what the hybrid
//! test should give.

use model::equations::Equations;
use model::integrator::{Integrator, IntegratorError, NotConverged, Options};
use thiserror::Error;

use crate::load::Load;
use crate::monitor::{EnergyMonitor, Observation, WorkRule};

/// Why there is no reference.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ReferenceError {
    /// The whole structure cannot be integrated this way.
    #[error(transparent)]
    Integrator(#[from] IntegratorError),
    /// A step did not settle.
    #[error(
        "the reference structure did not converge at {time_s:.4} s: the last correction was \
         {:.3e} m; use a shorter step", .failure.correction_m
    )]
    NotConverged {
        /// When.
        time_s: f64,
        /// How far off.
        failure: NotConverged,
    },
}

/// The reference response, one sample per recorded frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Displacement of every DOF.
    pub displacement: Vec<Vec<f64>>,
    /// Motion of every interface DOF.
    pub interface: Vec<Vec<f64>>,
    /// Largest work of the external load, J.
    pub peak_input_work_j: f64,
}

/// Integrates the whole structure under the load, with the test's own method.
pub fn reference(
    whole: &Equations,
    options: &Options,
    load: &Load,
    every: u64,
) -> Result<Reference, ReferenceError> {
    let options = Options { direct_inertia: None, ..options.clone() };
    let mut integrator = Integrator::new(whole, &options)?;
    integrator.rest(load.at(0));
    let mut monitor = EnergyMonitor::new(whole, WorkRule::Trapezoid, 1.0, f64::INFINITY);
    let frames = load.ticks().div_ceil(every as usize);
    let count = whole.interface.len();
    let mut reference = Reference {
        displacement: vec![Vec::with_capacity(frames); whole.size()],
        interface: vec![Vec::with_capacity(frames); count],
        peak_input_work_j: 0.0,
    };
    let mut force = vec![0.0; count];
    for tick in 0..load.ticks() {
        integrator.equilibrium(load.at(tick), &mut force);
        monitor.observe(&Observation {
            displacement: integrator.displacement(),
            velocity: integrator.velocity(),
            interface: &integrator.interface().displacement,
            load: load.at(tick),
            force: &force,
            elements: integrator.element_energy(whole.elements.len()),
            work: integrator.step_work(&force),
            age: 0,
        });
        reference.peak_input_work_j = reference.peak_input_work_j.max(monitor.input);
        if (tick as u64).is_multiple_of(every) {
            let columns = reference.displacement.iter_mut().chain(&mut reference.interface);
            let interface = &integrator.interface().displacement;
            for (column, x) in columns.zip(integrator.displacement().iter().chain(interface)) {
                column.push(*x);
            }
        }
        integrator.advance(load.at(tick), load.at(tick + 1), &force).map_err(|failure| {
            ReferenceError::NotConverged { time_s: tick as f64 * options.step_s, failure }
        })?;
    }
    Ok(reference)
}
