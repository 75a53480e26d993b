//! Gate and energies of every lane.

use super::product::{add, mul, sub};
use super::{LANES, Lanes, Shape};
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
        held: &Lanes,
        desired: &Lanes,
        measured: &Lanes,
        force: &Lanes,
        command: &[Lanes; 3],
    ) -> [bool; LANES] {
        let [x, v, a] = command;
        // Comparison by comparison over all lanes: no branches, wide registers.
        let within = |value: Lanes, limit: &Lanes| -> [bool; LANES] {
            std::array::from_fn(|lane| value[lane].abs() <= limit[lane])
        };
        let moved = sub(*x, *held);
        let rate = std::array::from_fn(|lane| moved[lane] / self.step_s[lane]);
        let zeros = [x, v, a, measured, force, desired]
            .into_iter()
            .fold([0.0; LANES], |sum, value| add(sum, mul([0.0; LANES], *value)));
        let checks = [
            // Zero times anything that is not finite is not zero.
            within(zeros, &[0.0; LANES]),
            within(*force, &self.force),
            within(sub(*measured, *desired), &self.tracking_error),
            within(*x, &self.command),
            within(rate, &self.rate),
        ];
        std::array::from_fn(|lane| checks.iter().fold(true, |all, check| all & check[lane]))
    }
}

impl Monitors {
    /// The work over the step that led to this instant, as `step_work` finds it.
    #[inline(always)]
    pub(super) fn add_step(&mut self, now: &[Lanes], last: &[Lanes], force: &Lanes, shape: Shape) {
        let Shape { loads, states, dofs, .. } = shape;
        let x = 2 * loads + 1;
        let (interface, drag) = (x + states, x + states + 3);
        let mut taken = [0.0; LANES];
        for dof in 0..dofs {
            let both = add(now[drag + dof], last[drag + dof]);
            let moved = sub(now[x + dof], last[x + dof]);
            taken = add(taken, mul(mul([0.5; LANES], both), moved));
        }
        self.dissipated = add(self.dissipated, taken);
        let moved = sub(now[interface], last[interface]);
        let held = last[2 * loads];
        let acting = match self.rule {
            WorkRule::Held => held,
            WorkRule::Trapezoid => mul([0.5; LANES], add(*force, held)),
        };
        self.feedback = add(self.feedback, sub([0.0; LANES], mul(acting, moved)));
    }

    /// Forms SW and says which lanes stay below their threshold.
    #[inline(always)]
    pub(super) fn warn(&mut self) -> [bool; LANES] {
        for lane in 0..LANES {
            let taken = self.dissipated[lane] + self.constant_j[lane];
            self.warning[lane] = if self.feedback[lane] <= 0.0 {
                0.0
            } else if taken > 0.0 {
                100.0 * self.feedback[lane] / taken
            } else {
                f64::INFINITY
            };
        }
        std::array::from_fn(|lane| {
            !(self.stop_at[lane].is_finite() && self.warning[lane] >= self.stop_at[lane])
        })
    }
}
