//! Motion of the interface: one entry per interface DOF.

use numerics::small::copy;

/// Displacement, velocity and acceleration of every interface DOF, in SI units.
#[derive(Debug, Clone, PartialEq)]
pub struct Motion {
    /// m.
    pub displacement: Vec<f64>,
    /// m/s.
    pub velocity: Vec<f64>,
    /// m/s².
    pub acceleration: Vec<f64>,
}

impl Motion {
    /// Rest, for `count` interface DOFs.
    pub fn rest(count: usize) -> Self {
        let zeros = vec![0.0; count];
        Self { displacement: zeros.clone(), velocity: zeros.clone(), acceleration: zeros }
    }

    /// Number of interface DOFs.
    pub fn count(&self) -> usize {
        self.displacement.len()
    }

    /// Takes the values of `other`, which has the same size, without allocating.
    #[inline(always)]
    pub fn copy_from(&mut self, other: &Self) {
        copy(&mut self.displacement, &other.displacement);
        copy(&mut self.velocity, &other.velocity);
        copy(&mut self.acceleration, &other.acceleration);
    }

    /// Takes all displacements, then all velocities, then all accelerations.
    pub fn copy_from_slice(&mut self, signals: &[f64]) {
        let parts = [&mut self.displacement, &mut self.velocity, &mut self.acceleration];
        parts.into_iter().flatten().zip(signals).for_each(|(to, from)| *to = *from);
    }

    /// Displacement, velocity and acceleration of one interface DOF.
    #[inline(always)]
    pub fn of(&self, dof: usize) -> [f64; 3] {
        [self.displacement[dof], self.velocity[dof], self.acceleration[dof]]
    }

    /// Sets displacement, velocity and acceleration of one interface DOF.
    #[inline(always)]
    pub fn set(&mut self, dof: usize, [x, v, a]: [f64; 3]) {
        self.displacement[dof] = x;
        self.velocity[dof] = v;
        self.acceleration[dof] = a;
    }

    /// Sets every entry to zero.
    pub fn clear(&mut self) {
        self.displacement.fill(0.0);
        self.velocity.fill(0.0);
        self.acceleration.fill(0.0);
    }
}
