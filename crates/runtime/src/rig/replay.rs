//! A rig that says again what it once said.

use model::motion::Motion;

use super::{Measured, Rig};

/// Gives back recorded measurements, tick by tick, and ignores commands.
#[derive(Debug, Clone)]
pub struct ReplayRig {
    displacement: Vec<Vec<f64>>,
    force: Vec<Vec<f64>>,
    tick: usize,
}

impl ReplayRig {
    /// From the columns `measured.*` and `force.*` of a record, one per
    /// interface DOF.
    pub fn new(displacement: Vec<Vec<f64>>, force: Vec<Vec<f64>>) -> Self {
        Self { displacement, force, tick: 0 }
    }
}

impl Rig for ReplayRig {
    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) {
        let said = |columns: &[Vec<f64>], i: usize| -> f64 {
            columns[i].get(self.tick).copied().unwrap_or(f64::NAN)
        };
        for i in 0..measured.displacement.len() {
            measured.displacement[i] = said(&self.displacement, i);
            measured.force[i] = said(&self.force, i);
            measured.achieved[i] = f64::NAN;
        }
        self.tick += 1;
    }

    fn actuate(&mut self, _command: &Motion) {}
}
