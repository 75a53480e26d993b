//! The simulated side of an iterative test, with its non-invasive control.
//!
//! The measured force drives it; a control force
//!
//!   F = k_p e + k_d ė,  e = x − ξ
//!
//! keeps it beside the rig and lets transients die. Where both sides move alike
//! e and F vanish, so the answer is the structure's own. That holds only if the
//! force is taken at the same instant as the motion: the part that follows ξ of
//! the new instant is put into the step as a spring, implicitly. ė is filtered,
//! (e − z)/T with ż = (e − z)/T, so it too vanishes with e.

use model::equations::Equations;
use model::integrator::{Integrator, IntegratorError, Method, NotConverged, Options};
use nalgebra::DMatrix;
use numerics::small::copy;

/// Control of the simulated side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control {
    /// k_p, N/m.
    pub proportional_n_per_m: f64,
    /// k_d, N·s/m.
    pub derivative_n_s_per_m: f64,
    /// T, s.
    pub filter_s: f64,
}

/// The simulated side with its state.
#[derive(Debug, Clone)]
pub(super) struct Numerical {
    integrator: Integrator,
    /// Loads of the structure, then one force per interface DOF.
    load: Vec<f64>,
    next: Vec<f64>,
    zeros: Vec<f64>,
    /// Filtered e.
    filtered: Vec<f64>,
    /// k_p + α k_d/T: what acts at the new instant.
    implicit: f64,
    /// α k_d/T.
    explicit: f64,
    alpha: f64,
    patterns: usize,
    error: Vec<f64>,
}

impl Numerical {
    pub(super) fn new(
        equations: &Equations,
        control: Control,
        method: Method,
        step_s: f64,
    ) -> Result<Self, IntegratorError> {
        let alpha = (-step_s / control.filter_s).exp();
        let explicit = alpha * control.derivative_n_s_per_m / control.filter_s;
        let implicit = control.proportional_n_per_m + explicit;
        let b = equations.interface_matrix();
        let (patterns, dofs) = (equations.load.ncols(), b.ncols());
        let mut held = equations.clone();
        held.stiffness += implicit * &b * b.transpose();
        let mut load = DMatrix::zeros(equations.size(), patterns + dofs);
        load.columns_mut(0, patterns).copy_from(&equations.load);
        load.columns_mut(patterns, dofs).copy_from(&b);
        held.load = load;
        let options = Options { method, step_s, direct_inertia: None, iterations: 50 };
        Ok(Self {
            integrator: Integrator::new(&held, &options)?,
            load: vec![0.0; patterns + dofs],
            next: vec![0.0; patterns + dofs],
            zeros: vec![0.0; dofs],
            filtered: vec![0.0; dofs],
            implicit,
            explicit,
            alpha,
            patterns,
            error: vec![0.0; dofs],
        })
    }

    /// Goes to the instant of these signals: `force` acts on the simulated side,
    /// `measured` is the rig's displacement, `load` the structure's own load.
    #[inline]
    pub(super) fn step(
        &mut self,
        load: &[f64],
        force: &[f64],
        measured: &[f64],
    ) -> Result<(), NotConverged> {
        let (own, drive) = self.next.split_at_mut(self.patterns);
        copy(own, load);
        for (i, drive) in drive.iter_mut().enumerate() {
            *drive = force[i] + self.implicit * measured[i] - self.explicit * self.filtered[i];
        }
        self.integrator.advance(&self.load, &self.next, &self.zeros)?;
        copy(&mut self.load, &self.next);
        let interface = &self.integrator.interface().displacement;
        for (i, &x) in measured.iter().enumerate() {
            self.error[i] = x - interface[i];
            self.filtered[i] = self.alpha * self.filtered[i] + (1.0 - self.alpha) * self.error[i];
        }
        Ok(())
    }

    #[inline]
    pub(super) fn displacement(&self) -> &[f64] {
        &self.integrator.interface().displacement
    }
}
