//! Gate and energies of every lane.

use numerics::lanes::{Lanes, Mask};

use super::Shape;
use crate::monitor::WorkRule;

/// What the gate lets through.
pub(super) struct Bounds {
    pub(super) command: Lanes,
    pub(super) rate: Lanes,
    pub(super) force: Lanes,
    pub(super) tracking_error: Lanes,
    pub(super) step_s: Lanes,
}

/// The energies of every lane.
pub(super) struct Monitors {
    pub(super) rule: WorkRule,
    pub(super) constant_j: Lanes,
    /// SW that stops a test; not a number where none does.
    pub(super) stop_at: Lanes,
    pub(super) feedback: Lanes,
    pub(super) dissipated: Lanes,
    pub(super) warning: Lanes,
}

impl Bounds {
    /// Which lanes the gate lets through. Whatever cannot be compared does not pass.
    #[inline(always)]
    pub(super) fn let_through(
        &self,
        held: Lanes,
        desired: Lanes,
        measured: Lanes,
        force: Lanes,
        command: &[Lanes; 3],
    ) -> Mask {
        let [x, v, a] = *command;
        // A sum is not finite if a part is not, and zero times it is not zero. A
        // sum that overflows is no harm either: the ordinary gate then looks.
        let all = (x + v) + (a + measured) + (force + desired);
        (0.0 * all).abs().at_most(Lanes::ZERO)
            & force.abs().at_most(self.force)
            & (measured - desired).abs().at_most(self.tracking_error)
            & x.abs().at_most(self.command)
            & (x - held).over(self.step_s).abs().at_most(self.rate)
    }
}

impl Monitors {
    /// The work over the step that led to this instant, as `step_work` finds it.
    #[inline(always)]
    pub(super) fn add_step(&mut self, now: &[Lanes], last: &[Lanes], force: Lanes, shape: Shape) {
        let Shape { loads, states, dofs, .. } = shape;
        let x = 2 * loads + 1;
        let (interface, drag) = (x + states, x + states + 3);
        let mut taken = Lanes::ZERO;
        for dof in 0..dofs {
            let both = now[drag + dof] + last[drag + dof];
            let moved = now[x + dof] - last[x + dof];
            taken += 0.5 * both * moved;
        }
        self.dissipated += taken;
        let moved = now[interface] - last[interface];
        let held = last[2 * loads];
        let acting = match self.rule {
            WorkRule::Held => held,
            WorkRule::Trapezoid => 0.5 * (force + held),
        };
        self.feedback += Lanes::ZERO - acting * moved;
    }

    /// Forms SW and says which lanes stay below their threshold.
    #[inline(always)]
    pub(super) fn warn(&mut self) -> Mask {
        let taken = self.dissipated + self.constant_j;
        let share = (100.0 * self.feedback).over(taken);
        let share = Lanes::ZERO.below(taken).choose(share, Lanes::all(f64::INFINITY));
        let fed = self.feedback.at_most(Lanes::ZERO);
        self.warning = fed.choose(Lanes::ZERO, share);
        !self.stop_at.at_most(self.warning)
    }
}
