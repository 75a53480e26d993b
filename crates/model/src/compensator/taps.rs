//! A fixed linear compensator as the taps of a filter, for those who judge the
//! loop around it.

use super::{Compensate, CompensatorError, Design, Kind};

/// `to`[k] gets `weight` × `from`[k − `lag`]; signals are 0 displacement,
/// 1 velocity, 2 acceleration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tap {
    /// Ticks ago.
    pub lag: usize,
    /// Signal of the desired motion.
    pub from: usize,
    /// Signal of the command.
    pub to: usize,
    /// Factor.
    pub weight: f64,
}

/// The taps of one interface DOF, found by asking the compensator itself:
/// `None` for those that adapt or feed back.
pub fn taps(design: &Design, step_s: f64) -> Result<Option<Vec<Tap>>, CompensatorError> {
    Ok(Kind::new(design, step_s)?.taps())
}

impl Kind {
    /// See [`taps`].
    pub(super) fn taps(&self) -> Option<Vec<Tap>> {
        let memory = self.active().map_or(Some(0), Compensate::memory)?;
        let mut found = Vec::new();
        for from in 0..3 {
            let mut kind = self.clone();
            // From rest: what comes first is not taken for the past.
            kind.command([0.0; 3], 0.0);
            let mut desired = [0.0; 3];
            desired[from] = 1.0;
            for lag in 0..=memory {
                let response = kind.command(desired, 0.0).into_iter().enumerate();
                let taps = response.map(|(to, weight)| Tap { lag, from, to, weight });
                found.extend(taps.filter(|tap| tap.weight != 0.0));
                desired = [0.0; 3];
            }
        }
        Some(found)
    }
}
