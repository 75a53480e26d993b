//! A rig whose force comes late.

use model::motion::Motion;

use super::{Measured, Rig, RigFault, RigSlot};

/// Delays the measured force of a rig by whole samples: conversion and
/// transmission of the load cell. The displacement is not delayed.
pub struct LateForce {
    rig: RigSlot,
    /// The last forces, a ring of one row per sample.
    past: Vec<f64>,
    count: usize,
    oldest: usize,
}

impl LateForce {
    /// `rig` with `samples` of delay on the force of its `count` interface
    /// DOFs; before the first sample the force is zero.
    pub fn new(rig: impl Into<RigSlot>, samples: usize, count: usize) -> Self {
        Self { rig: rig.into(), past: vec![0.0; samples * count], count, oldest: 0 }
    }

    /// The rig without its delay, and the forces on their way, oldest first.
    pub(crate) fn parts(&self) -> (&RigSlot, Vec<f64>) {
        let (newer, older) = self.past.split_at(self.oldest);
        (&self.rig, [older, newer].concat())
    }
}

impl Rig for LateForce {
    hands_on_to!(rig);

    #[inline]
    fn measure(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        let health = self.rig.measure(ahead, measured);
        if self.past.is_empty() {
            return health;
        }
        let row = &mut self.past[self.oldest..self.oldest + self.count];
        for (late, force) in row.iter_mut().zip(&mut measured.force) {
            std::mem::swap(late, force);
        }
        self.oldest += self.count;
        if self.oldest == self.past.len() {
            self.oldest = 0;
        }
        health
    }

    #[inline]
    fn actuate(&mut self, command: &Motion) {
        self.rig.actuate(command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::ReplayRig;

    #[test]
    fn the_force_comes_so_many_samples_late_and_the_displacement_does_not() {
        let series: Vec<f64> = (1..=9).map(f64::from).collect();
        for samples in 0..4 {
            let inner = ReplayRig::new(vec![series.clone(); 2], vec![series.clone(); 2]);
            let mut rig = LateForce::new(inner, samples, 2);
            let mut measured = Measured::zeros(2);
            for k in 0..9 {
                rig.measure(&Motion::rest(2), &mut measured).unwrap();
                let late = if k >= samples { series[k - samples] } else { 0.0 };
                assert_eq!(measured.force, [late, late]);
                assert_eq!(measured.displacement[1], series[k]);
            }
        }
    }
}
