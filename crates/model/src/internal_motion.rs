//! The motion of a specimen inside, away from its interface.

use nalgebra::DMatrix;
use numerics::block::hstack;
use numerics::discretise;
use numerics::gemv::PanelMatrix;
use numerics::linear_system::{LinearSystem, Time};
use numerics::second_order::companion;
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
    drive: PanelMatrix,
    /// Next displacements and velocities from the present ones, w then and now.
    step: PanelMatrix,
    /// Force on the interface from displacements, velocities and w now.
    force: PanelMatrix,
    count: usize,
    interface: usize,
    motion: Vec<f64>,
    driven: Vec<f64>,
    /// Displacements, velocities, w then, w now.
    state: Vec<f64>,
    next: Vec<f64>,
    at_force: Vec<f64>,
    added: Vec<f64>,
}

impl InternalMotion {
    /// At rest. `None` if the mass inside is singular.
    pub fn new(inside: &InternalDofs, step_s: f64) -> Option<Self> {
        let (n, count) = inside.mass_to_interface.shape();
        let inverse = solve::inverse(&inside.mass)?;
        let a = companion(&inverse, &inside.damping, &inside.stiffness);
        let mut b = DMatrix::zeros(2 * n, n);
        b.view_mut((n, 0), (n, n)).copy_from(&inverse);
        let exact = discretise::first_order_hold(&a, &b, step_s);
        let step = hstack(&[&exact.transition, &exact.start, &exact.end]);
        let drive = -hstack(&[
            &inside.stiffness_to_interface,
            &inside.damping_to_interface,
            &inside.mass_to_interface,
        ]);
        // K_bi x + C_bi ẋ + M_bi ẍ with ẍ = M_ii⁻¹(w − C_ii ẋ − K_ii x).
        let mass = inside.mass_to_interface.transpose() * &inverse;
        let of_displacement = inside.stiffness_to_interface.transpose() - &mass * &inside.stiffness;
        let of_velocity = inside.damping_to_interface.transpose() - &mass * &inside.damping;
        let force = hstack(&[&of_displacement, &of_velocity, &mass]);
        if step.iter().chain(force.iter()).any(|value| !value.is_finite()) {
            return None;
        }
        let (drive, step, force) =
            (PanelMatrix::new(&drive), PanelMatrix::new(&step), PanelMatrix::new(&force));
        Some(Self {
            motion: vec![0.0; 3 * count],
            driven: drive.output(),
            state: vec![0.0; 4 * n],
            next: step.output(),
            at_force: vec![0.0; 3 * n],
            added: force.output(),
            drive,
            step,
            force,
            count: n,
            interface: count,
        })
    }

    /// Moves on to the next sample of the interface's motion and adds the force
    /// of the inside to `force`.
    pub fn follow(&mut self, motion: &Motion, force: &mut [f64]) {
        let (n, count) = (self.count, self.interface);
        copy(&mut self.motion[..count], &motion.displacement);
        copy(&mut self.motion[count..2 * count], &motion.velocity);
        copy(&mut self.motion[2 * count..], &motion.acceleration);
        self.drive.multiply(&self.motion, &mut self.driven);
        copy(&mut self.state[3 * n..], &self.driven[..n]);
        self.step.multiply(&self.state, &mut self.next);
        copy(&mut self.state[..2 * n], &self.next[..2 * n]);
        copy(&mut self.state[2 * n..3 * n], &self.driven[..n]);
        copy(&mut self.at_force, &self.state[..3 * n]);
        self.force.multiply(&self.at_force, &mut self.added);
        for (force, added) in force.iter_mut().zip(&self.added) {
            *force += added;
        }
    }

    /// The same as a linear system, from the motion of the interface to the force
    /// of the inside. Its state is that of the instant before, and w then.
    pub fn linear_form(&self, step_s: f64) -> LinearSystem {
        let (n, count) = (self.count, self.interface);
        let entries = |matrix: &PanelMatrix, rows: usize, from: usize, columns: usize| {
            DMatrix::from_fn(rows, columns, |i, j| matrix.entry(i, from + j))
        };
        let drive = entries(&self.drive, n, 0, 3 * count);
        let carried = entries(&self.step, 2 * n, 0, 3 * n);
        let driven = entries(&self.step, 2 * n, 3 * n, n) * &drive;
        let mut a = DMatrix::zeros(3 * n, 3 * n);
        a.rows_mut(0, 2 * n).copy_from(&carried);
        let mut b = DMatrix::zeros(3 * n, 3 * count);
        b.rows_mut(0, 2 * n).copy_from(&driven);
        b.rows_mut(2 * n, n).copy_from(&drive);
        // The force belongs to the new state and the new w.
        let force = entries(&self.force, count, 0, 3 * n);
        let (c, d) = (&force * &a, &force * &b);
        LinearSystem::new(a, b, c, d, Time::Step(step_s))
    }

    /// Displacements inside.
    #[cfg(test)]
    pub(crate) fn displacement(&self) -> &[f64] {
        &self.state[..self.count]
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
            let dynamic = |m: &DMatrix<f64>, c: &DMatrix<f64>, k: &DMatrix<f64>| {
                DMatrix::from_fn(m.nrows(), m.ncols(), |i, j| {
                    s * s * m[(i, j)] + s * c[(i, j)] + k[(i, j)]
                })
            };
            let own = dynamic(&inside.mass, &inside.damping, &inside.stiffness);
            let joint = dynamic(
                &inside.mass_to_interface,
                &inside.damping_to_interface,
                &inside.stiffness_to_interface,
            );
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
        assert!((moved.displacement()[0] - row / 53048.0).abs() < 1e-9);
    }
}
