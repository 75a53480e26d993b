//! A virtual rig that is another one from some tick on.

use model::motion::Motion;

use super::{Measured, Rig, VirtualRig};

/// Two virtual rigs of the same kind: the second takes the first over where it
/// stands, states and all. For rehearsing a specimen or a valve that changes.
#[derive(Debug, Clone)]
pub struct ChangingRig {
    now: VirtualRig,
    /// What comes, until it has come.
    next: Option<Box<VirtualRig>>,
    /// Factors that turn the first rig's states into the second's.
    rescale: Vec<f64>,
    /// The converted states, kept so that the tick allocates nothing.
    states: Vec<f64>,
    ticks_left: u64,
}

impl ChangingRig {
    /// `before` until `tick`, `after` from then on. `rescale` has one factor
    /// for each state of the transfer system.
    pub fn new(before: VirtualRig, after: VirtualRig, tick: u64, rescale: Vec<f64>) -> Self {
        let states = vec![0.0; rescale.len()];
        Self { now: before, next: Some(Box::new(after)), rescale, states, ticks_left: tick }
    }

    fn change(&mut self) {
        let Some(next) = &mut self.next else { return };
        let old = self.now.states();
        for ((state, old), factor) in self.states.iter_mut().zip(old).zip(&self.rescale) {
            *state = old * factor;
        }
        next.take_over(&self.states, self.now.specimen(), self.now.command());
        // The old one is kept where the new one was: nothing is freed in the tick.
        std::mem::swap(&mut self.now, next);
    }
}

impl Rig for ChangingRig {
    #[inline]
    fn measure(&mut self, ahead: &Motion, measured: &mut Measured) {
        if self.ticks_left == 0 {
            self.change();
            // Once is enough.
            self.ticks_left = u64::MAX;
        } else {
            self.ticks_left -= 1;
        }
        self.now.measure(ahead, measured);
    }

    #[inline]
    fn actuate(&mut self, command: &Motion) {
        self.now.actuate(command);
    }
}
