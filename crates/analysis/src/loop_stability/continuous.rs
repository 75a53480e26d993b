//! The loop without sampling and hold, as papers write it:
//! L(s) = (s²M_e + sC_e + K_e) T(s) W(s) Bᵀ(s²M + sC + K)⁻¹B.

use std::f64::consts::TAU;

use model::integrator::IntegratorError;
use model::partition::Inside;
use model::transfer::{ActuatorDynamics, TransferSystem};
use nalgebra::{Complex, DMatrix};
use numerics::eigen;
use numerics::resolvent::Resolvent;

use super::command::Command;
use super::open_loop::Gain;
use super::{LoopDescription, LoopError, MOST_STATES};

type Matrix = DMatrix<Complex<f64>>;

/// The axis ends at this multiple of the fastest pole.
const BEYOND: f64 = 100.0;

/// The parts of the loop.
#[derive(Debug, Clone)]
pub(super) struct Continuous {
    count: usize,
    /// Interface displacement from the force that pulls on it.
    receptance: Resolvent,
    specimen: [Matrix; 3],
    inside: Option<Inside>,
    command: Command,
    late_s: f64,
    actuator: Option<Actuator>,
    poles: Vec<Complex<f64>>,
    highest_rad_s: f64,
}

/// Achieved displacement from the command.
#[derive(Debug, Clone)]
struct Actuator {
    states: Resolvent,
    /// From the command and its two derivatives, at once.
    direct: Matrix,
}

impl Continuous {
    pub(super) fn new(description: &LoopDescription) -> Result<Self, LoopError> {
        let LoopDescription { numerical, specimen, integrator, .. } = description;
        let (n, count, step_s) = (numerical.size(), specimen.count(), integrator.step_s);
        if 2 * n > MOST_STATES {
            return Err(LoopError::TooLarge { states: 2 * n, most: MOST_STATES });
        }
        let inverse = numerical.mass.clone().try_inverse().ok_or(IntegratorError::SingularMass)?;
        // Velocities in units of a typical one, so that entries are of one size.
        let mut rate = (&inverse * &numerical.stiffness).diagonal().amax().sqrt();
        if !(rate.is_finite() && rate > 0.0) {
            rate = 1.0;
        }
        let b = numerical.interface_matrix();
        let mut a = DMatrix::zeros(2 * n, 2 * n);
        a.view_mut((0, n), (n, n)).fill_diagonal(rate);
        a.view_mut((n, 0), (n, n)).copy_from(&(-&inverse * &numerical.stiffness / rate));
        a.view_mut((n, n), (n, n)).copy_from(&(-&inverse * &numerical.damping));
        let mut input = DMatrix::zeros(2 * n, count);
        input.rows_mut(n, n).copy_from(&(&inverse * &b / rate));
        let mut output = DMatrix::zeros(count, 2 * n);
        output.columns_mut(0, n).copy_from(&b.transpose());
        let mut poles = eigen::eigenvalues(&a)?;
        let mut late_s = description.force_delay as f64 * step_s;
        let dynamics = match &description.transfer_system {
            TransferSystem::Ideal => None,
            TransferSystem::Delay { samples } => {
                late_s += samples * step_s;
                None
            }
            TransferSystem::TransferFunction { function, samples } => {
                late_s += samples * step_s;
                Some(ActuatorDynamics::from_function(function, specimen))
            }
            TransferSystem::ServoHydraulic(servo) => {
                Some(ActuatorDynamics::from_servo(servo, specimen)?)
            }
        };
        let actuator = match dynamics {
            None => None,
            Some(dynamics) => {
                poles.extend(eigen::eigenvalues(&dynamics.system.dynamics)?);
                Some(Actuator::new(&dynamics, count))
            }
        };
        if let Some(inside) = &description.inside {
            poles.extend(inside_poles(inside)?);
        }
        let command = Command::new(&description.compensator, &description.shaping, step_s)?;
        let fastest = poles.iter().map(|pole| pole.norm()).fold(TAU, f64::max);
        if command.feeds_back() {
            poles.extend(vec![Complex::ZERO; count]);
        }
        let complex = |m: &DMatrix<f64>| m.map(Complex::from);
        Ok(Self {
            count,
            receptance: Resolvent::new(&a, &input, &output),
            specimen: [&specimen.stiffness, &specimen.damping, &specimen.mass].map(complex),
            inside: description.inside.clone(),
            command,
            late_s,
            actuator,
            poles,
            highest_rad_s: BEYOND * fastest,
        })
    }

    pub(super) fn highest_rad_s(&self) -> f64 {
        self.highest_rad_s
    }

    pub(super) fn poles(&self) -> &[Complex<f64>] {
        &self.poles
    }

    pub(super) fn has_inner(&self) -> bool {
        self.command.feeds_back()
    }

    pub(super) fn at(&self, s: Complex<f64>) -> Option<Gain> {
        let n = self.count;
        let [stiffness, damping, mass] = &self.specimen;
        let mut impedance = stiffness + damping * s + mass * (s * s);
        if let Some(inside) = &self.inside {
            let dynamic = |m: &DMatrix<f64>, c: &DMatrix<f64>, k: &DMatrix<f64>| {
                DMatrix::from_fn(m.nrows(), m.ncols(), |i, j| {
                    s * s * m[(i, j)] + s * c[(i, j)] + k[(i, j)]
                })
            };
            let own = dynamic(&inside.mass, &inside.damping, &inside.stiffness);
            let joint = dynamic(
                &inside.mass_to_interface,
                &inside.damping_to_interface,
                &inside.stiffness_to_interface,
            );
            impedance -= joint.transpose() * own.lu().solve(&joint)?;
        }
        let receptance = self.receptance.at(s)?;
        let ideal = &impedance * &receptance;
        let (ahead, feedback) = self.command.along(s);
        let follow = match &self.actuator {
            None => Matrix::identity(n, n),
            Some(actuator) => actuator.at(s, n)?,
        };
        let mut inner = Complex::ONE;
        let mut tracking = &follow * ahead;
        if feedback != Complex::ZERO {
            let closed = Matrix::identity(n, n) - &follow * feedback;
            inner = closed.determinant();
            tracking = closed.lu().solve(&tracking)?;
        }
        let matrix = impedance * tracking * receptance * (-s * self.late_s).exp();
        let sound = matrix.iter().all(|x| x.re.is_finite() && x.im.is_finite());
        sound.then_some(Gain { matrix, inner, ideal })
    }
}

/// Motions of the specimen with its interface held.
fn inside_poles(inside: &Inside) -> Result<Vec<Complex<f64>>, LoopError> {
    let n = inside.mass.nrows();
    let inverse = inside.mass.clone().try_inverse().ok_or(IntegratorError::SingularMass)?;
    let mut a = DMatrix::zeros(2 * n, 2 * n);
    a.view_mut((0, n), (n, n)).fill_with_identity();
    a.view_mut((n, 0), (n, n)).copy_from(&(-&inverse * &inside.stiffness));
    a.view_mut((n, n), (n, n)).copy_from(&(-&inverse * &inside.damping));
    Ok(eigen::eigenvalues(&a)?)
}

impl Actuator {
    fn new(dynamics: &ActuatorDynamics, count: usize) -> Self {
        let states = dynamics.system.dynamics.nrows();
        let output = dynamics.motion.view((0, 0), (count, states)).into_owned();
        let direct = dynamics.motion.view((0, states), (count, 3 * count)).into_owned();
        Self {
            states: Resolvent::new(&dynamics.system.dynamics, &dynamics.system.held, &output),
            direct: direct.map(Complex::from),
        }
    }

    fn at(&self, s: Complex<f64>, n: usize) -> Option<Matrix> {
        let all = self.states.at(s)? + &self.direct;
        let mut sum = all.columns(0, n).into_owned();
        sum += all.columns(n, n) * s;
        sum += all.columns(2 * n, n) * (s * s);
        Some(sum)
    }
}
