//! Motion of the interface: one entry per interface DOF.

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
    #[inline]
    pub fn copy_from(&mut self, other: &Self) {
        self.displacement.copy_from_slice(&other.displacement);
        self.velocity.copy_from_slice(&other.velocity);
        self.acceleration.copy_from_slice(&other.acceleration);
    }

    /// Sets every entry to zero.
    pub fn clear(&mut self) {
        self.displacement.fill(0.0);
        self.velocity.fill(0.0);
        self.acceleration.fill(0.0);
    }
}
