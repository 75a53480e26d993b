//! A full component stepped in time: what a reduced model is held against.

use nalgebra::DMatrix;
use numerics::second_order::SecondOrder;
use numerics::sparse::{Cholesky, SparseMatrix};

use super::component::check_symmetric;
use super::{Component, ReductionError, Result};
use crate::check::check_positive;
use crate::error::MatrixName;

/// Newmark's average acceleration on sparse matrices, with one factor for all
/// steps. With Δx the way of a step of h:
///   (4/h² M + 2/h B + K) Δx = f⁺ − K x + B v + M (4/h v + a)
///   v⁺ = 2/h Δx − v, a⁺ = 4/h² Δx − 4/h v − a.
///
/// It is the `newmark` of the integrators, so that what differs between this and
/// a reduced model stepped by that one is the reduction.
///
/// Reference: Newmark 1959, J. Eng. Mech. Div. 85(3).
#[derive(Debug)]
pub struct FullStepper {
    factor: Cholesky,
    matrices: SecondOrder<SparseMatrix>,
    step_s: f64,
    /// L: one column per load signal.
    load: DMatrix<f64>,
    displacement: DMatrix<f64>,
    velocity: DMatrix<f64>,
    acceleration: DMatrix<f64>,
}

/// Where a load signal acts on a full component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FullLoad {
    /// Acceleration of the ground: −M ι.
    Ground,
    /// A force at one DOF, counted from 0.
    Force(usize),
}

impl FullStepper {
    /// At rest under the load signals `first`, of which one belongs to each of
    /// `loads`.
    pub fn new(
        component: &Component,
        loads: &[FullLoad],
        first: &[f64],
        step_s: f64,
    ) -> Result<Self> {
        let n = component.size();
        let SecondOrder { mass, damping, stiffness } = &component.matrices;
        check_symmetric(MatrixName::Damping, damping)?;
        check_symmetric(MatrixName::Stiffness, stiffness)?;
        check_positive("step", step_s)?;
        let (of_mass, of_damping) = (4.0 / (step_s * step_s), 2.0 / step_s);
        let effective =
            SparseMatrix::sum(&[(of_mass, mass), (of_damping, damping), (1.0, stiffness)]);
        let mut load = DMatrix::zeros(n, loads.len());
        for (column, &place) in loads.iter().enumerate() {
            match place {
                FullLoad::Ground => load.set_column(column, &-component.excited_masses()),
                FullLoad::Force(dof) if dof < n => load[(dof, column)] = 1.0,
                FullLoad::Force(dof) => return Err(ReductionError::NoSuchDof { dof, size: n }),
            }
        }
        let rest = DMatrix::zeros(n, 1);
        let mut stepper = Self {
            factor: Cholesky::new(&effective)?,
            matrices: component.matrices.clone(),
            step_s,
            displacement: rest.clone(),
            velocity: rest.clone(),
            acceleration: rest,
            load,
        };
        if first.iter().any(|&value| value != 0.0) {
            let mut acceleration = stepper.force(first);
            Cholesky::new(mass)?.solve(&mut acceleration);
            stepper.acceleration = acceleration;
        }
        Ok(stepper)
    }

    fn force(&self, signals: &[f64]) -> DMatrix<f64> {
        &self.load * DMatrix::from_column_slice(signals.len(), 1, signals)
    }

    /// One step on, to where the load signals are `next`.
    pub fn advance(&mut self, next: &[f64]) {
        let h = self.step_s;
        let mut change = self.force(next);
        change -= self.matrices.stiffness.times(&self.displacement);
        change += self.matrices.damping.times(&self.velocity);
        change += self.matrices.mass.times(&(4.0 / h * &self.velocity + &self.acceleration));
        self.factor.solve(&mut change);
        self.displacement += &change;
        let states = self.velocity.iter_mut().zip(self.acceleration.iter_mut());
        for ((v, a), way) in states.zip(change.iter()) {
            let velocity = *v;
            *v = 2.0 / h * way - velocity;
            *a = 4.0 / (h * h) * way - 4.0 / h * velocity - *a;
        }
    }

    /// Displacement of every DOF.
    pub fn displacement(&self) -> &[f64] {
        self.displacement.as_slice()
    }

    /// Memory of the factor.
    pub fn factor_bytes(&self) -> usize {
        self.factor.bytes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::equations::{Equations, RelativeDof};
    use crate::integrator::{Integrator, Method, Options};
    use crate::structure::{Ends, Structure, chain};

    fn structure() -> Structure {
        let (masses, springs) = ([2.0, 1.0, 3.0, 1.5], [400.0, 900.0, 500.0, 300.0]);
        chain(&masses, &springs, &[2.0, 0.5, 0.0, 1.0], Ends::FixedFree).unwrap()
    }

    /// The dense integrator of the loop, unit by unit.
    #[test]
    fn it_is_the_newmark_of_the_loop() {
        let structure = structure();
        let n = structure.size();
        let component = Component::from_structure(&structure).unwrap();
        let mut load = DMatrix::zeros(n, 2);
        load.set_column(0, &-(&structure.matrices.mass * &structure.influence));
        load[(1, 1)] = 1.0;
        let equations = Equations {
            matrices: SecondOrder {
                mass: structure.matrices.mass.clone(),
                damping: structure.matrices.damping.clone(),
                stiffness: structure.matrices.stiffness.clone(),
            },
            load,
            interface: vec![RelativeDof::of_dof(3)],
            elements: Vec::new(),
            states: None,
        };
        let step_s = 0.01;
        let method = Method::Newmark;
        let options = Options { method, step_s, direct_inertia: None, iterations: 1 };
        let mut dense = Integrator::new(&equations, &options).unwrap();
        let signal = |k: usize| [(0.3 * k as f64).cos(), 5.0 * (0.11 * k as f64).sin()];
        dense.rest(&signal(0));
        let places = [FullLoad::Ground, FullLoad::Force(1)];
        let mut sparse = FullStepper::new(&component, &places, &signal(0), step_s).unwrap();
        let mut largest: f64 = 0.0;
        for k in 0..500 {
            dense.equilibrium(&signal(k), &mut [0.0]);
            for (ours, theirs) in sparse.displacement().iter().zip(dense.displacement()) {
                assert!((ours - theirs).abs() < 1e-11, "{k}: {ours} {theirs}");
                largest = largest.max(ours.abs());
            }
            dense.advance(&signal(k), &signal(k + 1), &[0.0]).unwrap();
            sparse.advance(&signal(k + 1));
        }
        assert!(largest > 0.01, "it moves: {largest}");
    }

    #[test]
    fn what_cannot_be_stepped_is_refused() {
        let component = Component::from_structure(&structure()).unwrap();
        let refused = |place, step| FullStepper::new(&component, &[place], &[0.0], step).is_err();
        assert!(refused(FullLoad::Force(4), 0.01));
        assert!(refused(FullLoad::Ground, 0.0) && refused(FullLoad::Ground, f64::NAN));
        assert!(!refused(FullLoad::Force(3), 0.01));
    }
}
