//! How much of each limit is used.

use model::motion::Motion;

use crate::gate::Limits;
use crate::measured::Measured;

/// The largest share of each limit over the interface DOFs, %; 0 where there is
/// no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Of the command limit: commanded or measured displacement, the larger.
    pub position: f64,
    /// Of the rate limit: the command.
    pub rate: f64,
    /// Of the force limit: the measured force.
    pub force: f64,
    /// Of the limit between desired and measured displacement.
    pub tracking_error: f64,
}

/// Compares what is commanded and measured with the limits of the gate.
#[derive(Debug, Clone)]
pub struct LimitsUsed {
    limits: Limits,
    shares: Shares,
    /// The largest share and its interface DOF.
    worst: (f64, usize),
}

impl LimitsUsed {
    /// Against these limits.
    pub fn new(limits: Limits) -> Self {
        let shares = Shares { position: 0.0, rate: 0.0, force: 0.0, tracking_error: 0.0 };
        Self { limits, shares, worst: (0.0, 0) }
    }

    /// The shares of this tick, %.
    pub fn shares(&self) -> Shares {
        self.shares
    }

    /// The largest share of this tick, %, and its interface DOF.
    pub fn worst(&self) -> (f64, usize) {
        self.worst
    }

    /// Takes a command that has passed the gate; `held` is the one before.
    #[inline]
    pub fn observe(
        &mut self,
        desired: &Motion,
        measured: &Measured,
        held: &Motion,
        command: &Motion,
    ) {
        let mut shares = Shares { position: 0.0, rate: 0.0, force: 0.0, tracking_error: 0.0 };
        self.worst = (0.0, 0);
        for dof in 0..command.count() {
            let (x, position) = (command.displacement[dof], measured.displacement[dof]);
            let rate = (x - held.displacement[dof]) / self.limits.step_s;
            let error = position - desired.displacement[dof];
            for (most, value, limit) in [
                (&mut shares.position, x.abs().max(position.abs()), self.limits.command[dof]),
                (&mut shares.rate, rate.abs(), self.limits.rate[dof]),
                (&mut shares.force, measured.force[dof].abs(), self.limits.force[dof]),
                (&mut shares.tracking_error, error.abs(), self.limits.tracking_error[dof]),
            ] {
                let share = 100.0 * value / limit;
                if share > *most {
                    *most = share;
                }
                if share > self.worst.0 {
                    self.worst = (share, dof);
                }
            }
        }
        self.shares = shares;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_share_of_each_limit_is_found() {
        let limits = Limits {
            command: vec![0.02, 0.1],
            rate: vec![0.5, f64::INFINITY],
            force: vec![1000.0, 500.0],
            tracking_error: vec![f64::INFINITY; 2],
            step_s: 1e-3,
        };
        let mut used = LimitsUsed::new(limits);
        let motion = |x: [f64; 2]| {
            let mut motion = Motion::rest(2);
            motion.displacement = x.to_vec();
            motion
        };
        let measured = Measured {
            displacement: vec![0.009, -0.08],
            force: vec![-100.0, 400.0],
            ..Measured::zeros(2)
        };
        let (held, command) = (motion([0.0099, 0.0]), motion([0.01, 0.06]));
        used.observe(&command, &measured, &held, &command);
        let Shares { position, rate, force, tracking_error } = used.shares();
        assert!((position - 80.0).abs() < 1e-9, "measured beyond commanded, DOF 2");
        assert!((rate - 20.0).abs() < 1e-9);
        assert!((force - 80.0).abs() < 1e-9);
        assert_eq!(tracking_error, 0.0, "no limit, no share");
        assert_eq!(used.worst().1, 1);
    }
}
