//! Stability of the loop as it runs: sampled, the force held over the step.

mod compensated;

pub use compensated::LoopRig;

use model::equations::Equations;
use model::integrator::{Integrator, IntegratorError, LinearStep, Options};
use model::specimen::Specimen;
use model::transfer::ActuatorDynamics;
use nalgebra::DMatrix;
use numerics::discretise;
use numerics::eigen::{self, EigenError};
use thiserror::Error;

/// Why the loop cannot be judged.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LoopError {
    /// The integrator cannot be made.
    #[error(transparent)]
    Integrator(#[from] IntegratorError),
    /// The eigenvalues cannot be found.
    #[error(transparent)]
    Eigen(#[from] EigenError),
    /// Without a delay the loop is algebraic, and its stability the structure's.
    #[error("a loop without delay has no delay to judge")]
    NoDelay,
    /// A spectrum belongs to a linear loop.
    #[error("the loop has nonlinear elements: its stability depends on the motion, so rehearse it")]
    NotLinear,
    /// The eigenvalues of so large a loop would take minutes.
    #[error(
        "the loop has {states} states, and eigenvalues are sought of at most {most}: rehearse it, \
         reduce the structure or shorten the delay"
    )]
    TooLarge {
        /// States of the loop, delayed forces included.
        states: usize,
        /// The most.
        most: usize,
    },
}

/// The largest loop whose eigenvalues are sought.
pub const MOST_STATES: usize = 600;

/// The slowest-decaying motion of a sampled loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dominant {
    /// What one period multiplies it by; unstable above 1.
    pub radius: f64,
    /// Its growth rate, 1/s; negative decays.
    pub growth_1_s: f64,
    /// Its frequency, Hz.
    pub frequency_hz: f64,
    /// Its damping ratio; negative grows.
    pub damping_ratio: f64,
}

/// A linear hybrid loop, sampled.
#[derive(Debug, Clone)]
pub struct SampledLoop {
    step: LinearStep,
    step_s: f64,
    /// Interface displacement and velocity from the integrator's state.
    motion: DMatrix<f64>,
    specimen: Specimen,
}

impl SampledLoop {
    /// The numerical substructure under `options`, with a linear specimen.
    pub fn new(
        numerical: &Equations,
        options: &Options,
        specimen: &Specimen,
    ) -> Result<Self, LoopError> {
        if !specimen.elements.is_empty() {
            return Err(LoopError::NotLinear);
        }
        let options = Options { direct_inertia: None, ..options.clone() };
        let integrator = Integrator::new(numerical, &options)?;
        let step = integrator.linear_step().ok_or(LoopError::NotLinear)?.clone();
        let (n, states) = (numerical.size(), step.transition.nrows());
        let b = numerical.interface_matrix().transpose();
        let count = b.nrows();
        let mut motion = DMatrix::zeros(2 * count, states);
        motion.view_mut((0, 0), (count, n)).copy_from(&b);
        motion.view_mut((count, n), (count, n)).copy_from(&b);
        Ok(Self { step, step_s: options.step_s, motion, specimen: specimen.clone() })
    }

    /// The loop with a pure delay of whole samples, at least one.
    pub fn with_delay(&self, samples: usize) -> Result<Dominant, LoopError> {
        if samples == 0 {
            return Err(LoopError::NoDelay);
        }
        let (states, count) = (self.step.transition.nrows(), self.specimen.count());
        let size = check_size(states.saturating_add(count.saturating_mul(samples)))?;
        let mut matrix = DMatrix::zeros(size, size);
        // The oldest remembered force acts now: f = q[k−d].
        let oldest = size - count;
        matrix.view_mut((0, 0), (states, states)).copy_from(&self.step.transition);
        matrix.view_mut((0, oldest), (states, count)).copy_from(&self.step.force);
        // The newest: q[k] = K u + C v + M a, with a under the present force. A
        // velocity that lags is brought up to date with that acceleration.
        let of_motion = beside(&self.specimen.stiffness, &self.specimen.damping) * &self.motion;
        let of_acceleration =
            &self.specimen.mass + self.step.velocity_lag_s * &self.specimen.damping;
        let of_state = of_motion + &of_acceleration * &self.step.acceleration_of_state;
        let of_force = of_acceleration * &self.step.acceleration_of_force;
        matrix.view_mut((states, 0), (count, states)).copy_from(&of_state);
        let mut newest = matrix.view_mut((states, oldest), (count, count));
        newest += of_force;
        for i in count..count * samples {
            matrix[(states + i, states + i - count)] += 1.0;
        }
        self.dominant(&matrix)
    }

    /// The loop with a transfer system that has dynamics and no compensator.
    pub fn with_dynamics(&self, dynamics: &ActuatorDynamics) -> Result<Dominant, LoopError> {
        let (states, count) = (self.step.transition.nrows(), self.specimen.count());
        let rig = discretise::zero_order_hold(
            &dynamics.system.dynamics,
            &dynamics.system.held,
            self.step_s,
        );
        let inner = rig.transition.nrows();
        let size = check_size(states + inner + 3 * count)?;
        let (rig_at, command_at) = (states, states + inner);
        let mut matrix = DMatrix::zeros(size, size);
        // Force now, from the rig's states and the command it still holds.
        let of_motion = {
            let kc = beside(&self.specimen.stiffness, &self.specimen.damping);
            beside(&kc, &self.specimen.mass)
        };
        let motion = dynamics.sampled_motion(self.step_s);
        let force = of_motion * motion.columns(0, inner + 3 * count);
        // Command now: desired displacement, velocity and acceleration.
        let mut command = DMatrix::zeros(3 * count, size);
        command.view_mut((0, 0), (2 * count, states)).copy_from(&self.motion);
        command
            .view_mut((2 * count, 0), (count, states))
            .copy_from(&self.step.acceleration_of_state);
        command
            .view_mut((2 * count, rig_at), (count, inner + 3 * count))
            .copy_from(&(&self.step.acceleration_of_force * &force));
        let late = self.step.velocity_lag_s * command.rows(2 * count, count);
        let mut velocity = command.rows_mut(count, count);
        velocity += late;

        matrix.view_mut((0, 0), (states, states)).copy_from(&self.step.transition);
        matrix
            .view_mut((0, rig_at), (states, inner + 3 * count))
            .copy_from(&(&self.step.force * &force));
        matrix.view_mut((rig_at, rig_at), (inner, inner)).copy_from(&rig.transition);
        let mut driven = matrix.view_mut((rig_at, 0), (inner, size));
        driven += &rig.start * &command;
        matrix.view_mut((command_at, 0), (3 * count, size)).copy_from(&command);
        self.dominant(&matrix)
    }

    /// The greatest whole delay that is stable, up to `most` samples; `None` if
    /// even one sample is not.
    ///
    /// Stability is lost once for the delays that matter here, but it may come
    /// back for long ones: the search walks up from one sample in growing
    /// strides and narrows down on the first loss.
    pub fn greatest_stable_delay(&self, most: usize) -> Result<Option<usize>, LoopError> {
        let stable = |samples: usize| Ok::<_, LoopError>(self.with_delay(samples)?.radius <= 1.0);
        if !stable(1)? {
            return Ok(None);
        }
        let mut good = 1;
        while good < most {
            let next = (good + (good / 4).max(1)).min(most);
            if stable(next)? {
                good = next;
                continue;
            }
            let mut bad = next;
            while bad - good > 1 {
                let middle = good.midpoint(bad);
                if stable(middle)? { good = middle } else { bad = middle }
            }
            break;
        }
        Ok(Some(good))
    }

    fn dominant(&self, matrix: &DMatrix<f64>) -> Result<Dominant, LoopError> {
        let values = eigen::eigenvalues(matrix)?;
        let largest =
            values.iter().copied().max_by(|a, b| a.norm().total_cmp(&b.norm())).unwrap_or_default();
        let radius = largest.norm();
        let exponent = largest.ln() / self.step_s;
        let omega = exponent.norm();
        Ok(Dominant {
            radius,
            growth_1_s: exponent.re,
            frequency_hz: exponent.im.abs() / std::f64::consts::TAU,
            damping_ratio: if omega > 0.0 { -exponent.re / omega } else { 0.0 },
        })
    }
}

fn check_size(states: usize) -> Result<usize, LoopError> {
    if states <= MOST_STATES {
        return Ok(states);
    }
    Err(LoopError::TooLarge { states, most: MOST_STATES })
}

fn beside(a: &DMatrix<f64>, b: &DMatrix<f64>) -> DMatrix<f64> {
    let mut joined = DMatrix::zeros(a.nrows(), a.ncols() + b.ncols());
    joined.view_mut((0, 0), a.shape()).copy_from(a);
    joined.view_mut((0, a.ncols()), b.shape()).copy_from(b);
    joined
}
