//! Transfer systems: what lies between the command and the specimen's motion, and what the
//! virtual rig makes of it, as a linear system.

mod delay;
mod dynamics;
#[cfg(test)]
mod tests;

pub use delay::DelayLine;
pub use dynamics::{ActuatorDynamics, ServoHydraulic, TransferError};

use nalgebra::DMatrix;
use numerics::block::hstack;
use numerics::discretise::zero_order_hold;
use numerics::linear_system::{Join, LinearSystem, Time};
use numerics::lti::TransferFunction;

use crate::specimen::Specimen;

/// Displacement, velocity, acceleration.
const SIGNALS: usize = 3;

/// A transfer system as declared; one serves every interface DOF.
#[derive(Debug, Clone, PartialEq)]
pub enum TransferSystem {
    /// The specimen is where the numerical part wants it.
    Ideal,
    /// The motion arrives late and whole.
    Delay {
        /// In periods of the loop; a fraction is interpolated.
        samples: f64,
    },
    /// Displacement follows the command through a transfer function, after an
    /// optional pure delay. The specimen's reaction is part of the function.
    TransferFunction {
        /// Command to achieved displacement.
        function: TransferFunction,
        /// Pure delay before it, in periods. The command is held before it is late: within a
        /// period the older one acts for the fraction, the newer one for the rest.
        samples: f64,
    },
    /// The benchmark's servo-hydraulic actuator, which feels its specimen.
    ServoHydraulic(ServoHydraulic),
}

impl TransferSystem {
    /// From the desired motion ahead (displacement and velocity, which a rig
    /// without delay answers to within the tick) and the command of the tick, to
    /// the motion achieved at the tick, before that command acts.
    ///
    /// The part of the acceleration ahead is left out, as it is by the rig: the
    /// integrator adds it, see [`direct_share`](Self::direct_share).
    pub fn linear_form(
        &self,
        specimen: &Specimen,
        step_s: f64,
    ) -> Result<LinearSystem, TransferError> {
        let (count, small) = (specimen.count(), specimen.linearised());
        let line = self.delay_line(step_s, 1);
        let dynamics = match self {
            Self::Ideal | Self::Delay { .. } => {
                return Ok(delay_form(&line, step_s).copies(count));
            }
            Self::TransferFunction { function, .. } => {
                ActuatorDynamics::from_function(function, &small)
            }
            Self::ServoHydraulic(servo) => ActuatorDynamics::from_servo(servo, &small)?,
        }
        .finite_over(step_s)?;
        let mut join = Join::new(Time::Step(step_s));
        let all = SIGNALS * count;
        let late = join.add(whole_delay(all, line.whole, Time::Step(step_s)));
        let moved = join.add(dynamics.linear_form(step_s, line.fraction));
        // It does not look at the motion ahead.
        let ahead = join.add(LinearSystem::gain(DMatrix::zeros(0, 2 * count), Time::Step(step_s)));
        join.wire(late.port(0..all), moved.port(0..all));
        let inputs = [ahead.port(0..2 * count), late.port(0..all)];
        Ok(join.system(&inputs, &[moved.port(0..all)]).expect("wired in a row, not in a ring"))
    }

    /// The share of the present acceleration that is achieved at once: 1 of an
    /// ideal system, 0 from one sample of delay on and of every one with dynamics.
    pub fn direct_share(&self) -> f64 {
        match self {
            Self::Ideal | Self::Delay { .. } => self.delay_line(1.0, 1).newest_weight(),
            Self::TransferFunction { .. } | Self::ServoHydraulic(_) => 0.0,
        }
    }

    /// The pure delay before everything else.
    pub fn delay_line(&self, step_s: f64, count: usize) -> DelayLine {
        let samples = match self {
            Self::Ideal | Self::ServoHydraulic(_) => 0.0,
            Self::Delay { samples } | Self::TransferFunction { samples, .. } => *samples,
        };
        DelayLine::new(samples, step_s, count)
    }
}

impl ActuatorDynamics {
    /// From the command of a tick, which acts from a fraction of the period on and is held
    /// from there, to the motion at the tick. Until then the command held so far acts.
    /// Its state is the transfer system's, then the command held so far.
    fn linear_form(&self, step_s: f64, fraction: f64) -> LinearSystem {
        let (n, all) = (self.system.dynamics.nrows(), SIGNALS * self.count);
        let over =
            |part: f64| zero_order_hold(&self.system.dynamics, &self.system.held, part * step_s);
        let (before, after) = (over(fraction), over(1.0 - fraction));
        let mut a = DMatrix::zeros(n + all, n + all);
        a.view_mut((0, 0), (n, n)).copy_from(&(&after.transition * &before.transition));
        a.view_mut((0, n), (n, all)).copy_from(&(&after.transition * &before.start));
        let mut b = DMatrix::zeros(n + all, all);
        b.rows_mut(0, n).copy_from(&after.start);
        b.view_mut((n, 0), (all, all)).fill_with_identity();
        let motion = self.sampled_motion((1.0 - fraction) * step_s);
        let c = motion.columns(0, n + all).into_owned();
        LinearSystem::new(a, b, c, DMatrix::zeros(all, all), Time::Step(step_s))
    }
}

/// A pure delay of one DOF seen before the command of the tick is taken in.
fn delay_form(line: &DelayLine, step_s: f64) -> LinearSystem {
    let (&DelayLine { whole, fraction, .. }, [newer, older]) = (line, line.weights());
    let time = Time::Step(step_s);
    let (ahead, command) = (2, SIGNALS);
    // The commands of one and of two ticks ago, what is seen of them, and of the motion ahead.
    let nothing = DMatrix::zeros(SIGNALS, ahead);
    let (registers, c, now) = match whole {
        0 => (1, older, newer.columns(0, ahead).into_owned()),
        _ if fraction > 0.0 => (2, hstack(&[&newer, &older]), nothing),
        _ => (1, newer, nothing),
    };
    let states = registers * SIGNALS;
    let mut a = DMatrix::zeros(states, states);
    a.rows_mut(SIGNALS, states - SIGNALS).fill_with_identity();
    let mut b = DMatrix::zeros(states, ahead + command);
    b.view_mut((0, ahead), (SIGNALS, SIGNALS)).fill_with_identity();
    let d = hstack(&[&now, &DMatrix::zeros(SIGNALS, command)]);
    behind_delay(LinearSystem::new(a, b, c, d, time), ahead, whole.saturating_sub(1))
}

/// A system whose inputs come so many whole samples late, but for the first `ahead`.
fn behind_delay(system: LinearSystem, ahead: usize, samples: usize) -> LinearSystem {
    if samples == 0 {
        return system;
    }
    let (late, outputs) = (system.inputs() - ahead, system.outputs());
    let mut join = Join::new(system.time);
    let wait = join.add(whole_delay(late, samples, system.time));
    let system = join.add(system);
    join.wire(wait.port(0..late), system.port(ahead..ahead + late));
    let inputs = [system.port(0..ahead), wait.port(0..late)];
    join.system(&inputs, &[system.port(0..outputs)]).expect("wired in a row, not in a ring")
}

/// Signals that come so many whole samples late.
pub fn whole_delay(signals: usize, samples: usize, time: Time) -> LinearSystem {
    if samples == 0 {
        return LinearSystem::gain(DMatrix::identity(signals, signals), time);
    }
    let mut d = DMatrix::zeros(2 * signals, 2 * signals);
    d.view_mut((0, signals), (signals, signals)).fill_with_identity();
    d.view_mut((signals, 0), (signals, signals)).fill_with_identity();
    LinearSystem::gain(d, time).with_delays(vec![samples; signals])
}
