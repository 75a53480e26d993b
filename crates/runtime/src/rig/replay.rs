//! A rig that says again what it once said.

use model::motion::Motion;

use super::{Measured, Rig, RigFault};

/// Gives back recorded measurements, tick by tick, and ignores commands.
#[derive(Debug, Clone)]
pub struct ReplayRig {
    displacement: Vec<Vec<f64>>,
    force: Vec<Vec<f64>>,
    tick: usize,
    stop: Option<(u64, RigFault)>,
}

impl ReplayRig {
    /// From the columns `measured.*` and `force.*` of a record, one per
    /// interface DOF.
    pub fn new(displacement: Vec<Vec<f64>>, force: Vec<Vec<f64>>) -> Self {
        Self { displacement, force, tick: 0, stop: None }
    }

    /// The same rig, which fails at `tick` as it once did: no measurement tells
    /// of a link that fell silent.
    pub fn failing(mut self, tick: u64, fault: RigFault) -> Self {
        self.stop = Some((tick, fault));
        self
    }
}

impl Rig for ReplayRig {
    nothing_behind_it!();

    fn measure(&mut self, _ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        let said = |columns: &[Vec<f64>], i: usize| -> f64 {
            // What the record does not have is not a number: the gate trips on it.
            columns.get(i).and_then(|c| c.get(self.tick)).copied().unwrap_or(f64::NAN)
        };
        for i in 0..measured.displacement.len() {
            measured.displacement[i] = said(&self.displacement, i);
            measured.force[i] = said(&self.force, i);
            measured.achieved[i] = f64::NAN;
        }
        let tick = self.tick as u64;
        self.tick += 1;
        match self.stop {
            Some((at, fault)) if at == tick => Err(fault),
            _ => Ok(()),
        }
    }

    fn actuate(&mut self, _command: &Motion) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_recorded_is_not_a_number() {
        let mut rig = ReplayRig::new(vec![vec![1.0]], vec![vec![2.0], vec![3.0]]);
        let (rest, mut measured) = (Motion::rest(2), Measured::zeros(2));
        rig.measure(&rest, &mut measured).unwrap();
        assert_eq!((measured.displacement[0], measured.force[1]), (1.0, 3.0));
        assert!(measured.displacement[1].is_nan(), "no such column");
        rig.measure(&rest, &mut measured).unwrap();
        assert!(measured.displacement[0].is_nan(), "past the end");
    }
}
