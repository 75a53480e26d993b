//! The motion of a specimen inside, away from its interface.

use nalgebra::DMatrix;
use numerics::block::{hstack, vstack};
use numerics::discretise;
use numerics::gemv::Product;
use numerics::linear_system::{LinearSystem, Time};
use numerics::second_order::{SecondOrder, companion};
use numerics::small::copy;
use numerics::solve;

use crate::motion::Motion;
use crate::partition::InternalDofs;

/// Moves the DOFs inside a specimen with its interface, and adds their force.
///
/// Driven by w = −(M_ib ü + C_ib u̇ + K_ib u), which runs straight between two
/// samples; the step is exact for that. State and force belong to the instant of
/// the interface motion they were given: nothing comes a step late.
#[derive(Debug, Clone)]
pub struct InternalMotion {
    /// w from displacement, velocity and acceleration of the interface.
    drive: Product,
    /// Next displacements and velocities from the present ones, w then and now.
    step: Product,
    /// Force on the interface from displacements, velocities and w now.
    force: Product,
    count: usize,
    /// Displacements, velocities, w then.
    state: Vec<f64>,
}

impl InternalMotion {
    /// At rest. `None` if the mass inside is singular.
    pub fn new(inside: &InternalDofs, step_s: f64) -> Option<Self> {
        let SecondOrder { mass, damping, stiffness } = &inside.matrices;
        let joint = &inside.to_interface;
        let n = mass.nrows();
        let inverse = solve::inverse(mass)?;
        let a = companion(&inverse, damping, stiffness);
        let b = vstack(&[&DMatrix::zeros(n, n), &inverse]);
        let exact = discretise::first_order_hold(&a, &b, step_s);
        let step = hstack(&[&exact.transition, &exact.start, &exact.end]);
        let drive = -hstack(&[&joint.stiffness, &joint.damping, &joint.mass]);
        // K_bi x + C_bi ẋ + M_bi ẍ with ẍ = M_ii⁻¹(w − C_ii ẋ − K_ii x).
        let mass = joint.mass.transpose() * &inverse;
        let of_displacement = joint.stiffness.transpose() - &mass * stiffness;
        let of_velocity = joint.damping.transpose() - &mass * damping;
        let force = hstack(&[&of_displacement, &of_velocity, &mass]);
        if step.iter().chain(force.iter()).any(|value| !value.is_finite()) {
            return None;
        }
        Some(Self {
            drive: Product::new(&drive),
            step: Product::new(&step),
            force: Product::new(&force),
            count: n,
            state: vec![0.0; 3 * n],
        })
    }

    /// Moves on to the next sample of the interface's motion and adds the force
    /// of the inside to `force`.
    pub fn follow(&mut self, motion: &Motion, force: &mut [f64]) {
        let Motion { displacement, velocity, acceleration } = motion;
        let driven = self.drive.of([displacement, velocity, acceleration]);
        let next = self.step.of([&self.state, driven]);
        let (moved, before) = self.state.split_at_mut(2 * self.count);
        copy(moved, next);
        copy(before, driven);
        for (force, added) in force.iter_mut().zip(self.force.of([&self.state])) {
            *force += added;
        }
    }

    /// The same as a linear system, from the motion of the interface to the force
    /// of the inside. Its state is that of the instant before, and w then.
    pub fn linear_form(&self, step_s: f64) -> LinearSystem {
        let n = self.count;
        let all = |product: &Product| product.matrix().columns_of(0..product.input().len());
        let (drive, step) = (all(&self.drive), all(&self.step));
        let driven = step.columns(3 * n, n) * &drive;
        let a = vstack(&[&step.columns(0, 3 * n).into_owned(), &DMatrix::zeros(n, 3 * n)]);
        let b = vstack(&[&driven, &drive]);
        // The force belongs to the new state and the new w.
        let force = all(&self.force);
        let (c, d) = (&force * &a, &force * &b);
        LinearSystem::new(a, b, c, d, Time::Step(step_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equations::RelativeDof;
    use crate::structure::shear_building;

    fn lower_storeys(step_s: f64) -> (InternalDofs, InternalMotion) {
        let mass = [5.37, 5.37, 5.37];
        let structure =
            shear_building(&mass, &[53048.0, 45724.0, 45052.0], &[4.4062, 3.7979, 3.7421]).unwrap();
        let inside = InternalDofs::of(&structure, &[0, 1], &[RelativeDof::of_dof(2)]).unwrap();
        let motion = InternalMotion::new(&inside, step_s).unwrap();
        (inside, motion)
    }

    /// After the start has died away a sine at the interface meets the dynamic
    /// stiffness; the error falls with the square of the step.
    #[test]
    fn a_driven_specimen_answers_with_its_dynamic_stiffness() {
        let omega = 60.0_f64;
        let error = |step_s: f64| {
            let (inside, mut moved) = lower_storeys(step_s);
            let s = nalgebra::Complex::new(0.0, omega);
            let (own, joint) = (inside.matrices.at(s), inside.to_interface.at(s));
            let stiffness = -(joint.transpose() * own.lu().solve(&joint).unwrap())[(0, 0)];
            let mut worst = 0.0_f64;
            // The slowest mode inside decays by 0.2 per second.
            let ticks = (60.0 / step_s) as usize;
            for tick in 0..ticks {
                let turn = nalgebra::Complex::from_polar(1.0, omega * tick as f64 * step_s);
                let motion = Motion {
                    displacement: vec![turn.re],
                    velocity: vec![(s * turn).re],
                    acceleration: vec![(s * s * turn).re],
                };
                let mut force = [0.0];
                moved.follow(&motion, &mut force);
                if tick + 1000 > ticks {
                    worst = worst.max((force[0] - (stiffness * turn).re).abs());
                }
            }
            worst / stiffness.norm()
        };
        let (coarse, fine) = (error(2e-3), error(1e-3));
        assert!(fine < 2e-3, "{fine}");
        assert!((coarse / fine - 4.0).abs() < 0.4, "{coarse} {fine}");
    }

    #[test]
    fn a_held_interface_is_held_by_springs_in_a_row() {
        let (_, mut moved) = lower_storeys(1e-3);
        let motion =
            Motion { displacement: vec![1.0], velocity: vec![0.0], acceleration: vec![0.0] };
        let mut force = [0.0];
        for _ in 0..200_000 {
            force = [45052.0];
            moved.follow(&motion, &mut force);
        }
        let row: f64 = 1.0 / (1.0 / 53048.0 + 1.0 / 45724.0 + 1.0 / 45052.0);
        assert!((force[0] / row - 1.0).abs() < 1e-9, "{} {row}", force[0]);
        assert!((moved.state[0] - row / 53048.0).abs() < 1e-9);
    }
}
