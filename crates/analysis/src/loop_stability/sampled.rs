//! The loop as it runs, at z = e^{sh}.
//!
//! Every signal is taken where the tick takes it: sensors before the command of
//! the tick acts, the force held over the step, the command held by the rig.

use model::equations::Equations;
use model::integrator::{Integrator, LinearStep, Method, Options};
use model::partition::Inside;
use model::specimen::Specimen;
use model::transfer::{ActuatorDynamics, TransferSystem};
use nalgebra::{Complex, DMatrix};
use numerics::discretise;
use numerics::eigen;
use numerics::resolvent::Resolvent;

use super::command::{Command, Gains};
use super::open_loop::Gain;
use super::{Joint, LoopDescription, LoopError, MOST_STATES};

/// Signals of a motion: displacement, velocity, acceleration.
const SIGNALS: usize = 3;

type Matrix = DMatrix<Complex<f64>>;

/// The parts of the loop.
#[derive(Debug, Clone)]
pub(super) struct Sampled {
    step_s: f64,
    count: usize,
    command: Command,
    /// K, C and M of the specimen side by side.
    specimen: Matrix,
    /// The same without the mass that the numerical part has taken over.
    ideal: Matrix,
    inside: Option<InsideAnswer>,
    late: usize,
    form: Form,
    exponents: Vec<Complex<f64>>,
}

/// Force of the specimen's own DOFs from the motion of its interface, as
/// `InsideMotion` steps it: driven by w, which runs straight between samples.
#[derive(Debug, Clone)]
struct InsideAnswer {
    /// w from the motion.
    drive: Matrix,
    /// Force from w at the start of a step, then from w at its end.
    states: Resolvent,
    /// Force from w now.
    direct: Matrix,
}

#[derive(Debug, Clone)]
enum Form {
    Held(Held),
    Joined(Joined),
}

/// Numerical part and rig with a held force between them.
#[derive(Debug, Clone)]
struct Held {
    /// Displacement, velocity and the state's part of the acceleration.
    numerical: Resolvent,
    /// Acceleration from the force of the same instant.
    direct: Matrix,
    velocity_lag_s: f64,
    line: Line,
    dynamics: Option<Dynamics>,
}

/// A transfer system with states.
#[derive(Debug, Clone)]
struct Dynamics {
    /// Motion from the command that is held from now on.
    states: Resolvent,
    /// Motion from the command that has been held up to now.
    held: Matrix,
}

/// Numerical part and rig as one system.
#[derive(Debug, Clone)]
struct Joined {
    /// Desired motion and achieved displacement from the command.
    states: Resolvent,
    /// The same from the command that has been held up to now.
    held: Matrix,
}

/// A pure delay of `whole` samples and a fraction, as `DelayLine` has it.
#[derive(Debug, Clone, Copy)]
struct Line {
    whole: usize,
    fraction: f64,
    step_s: f64,
}

impl Line {
    fn new(samples: f64, step_s: f64) -> Self {
        Self { whole: samples.floor() as usize, fraction: samples - samples.floor(), step_s }
    }

    /// Share of the newest motion, and of the one before it, `[to][from]`.
    fn weights(&self) -> [[[f64; SIGNALS]; SIGNALS]; 2] {
        let (s, h) = (1.0 - self.fraction, self.step_s);
        if self.fraction == 0.0 {
            return [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[0.0; 3]; 3]];
        }
        let (s2, s3) = (s * s, s * s * s);
        let slope = 6.0 * (s2 - s) / h;
        let newer = [
            [3.0 * s2 - 2.0 * s3, (s3 - s2) * h, 0.0],
            [-slope, 3.0 * s2 - 2.0 * s, 0.0],
            [0.0, 0.0, s],
        ];
        let older = [
            [2.0 * s3 - 3.0 * s2 + 1.0, (s3 - 2.0 * s2 + s) * h, 0.0],
            [slope, 3.0 * s2 - 4.0 * s + 1.0, 0.0],
            [0.0, 0.0, 1.0 - s],
        ];
        [newer, older]
    }

    /// Part of the present acceleration that comes out at once.
    fn newest_weight(&self) -> f64 {
        if self.whole == 0 { 1.0 - self.fraction } else { 0.0 }
    }
}

impl Sampled {
    pub(super) fn new(description: &LoopDescription) -> Result<Self, LoopError> {
        let LoopDescription { numerical, specimen, integrator, .. } = description;
        let step_s = integrator.step_s;
        let dynamics = match &description.transfer_system {
            TransferSystem::TransferFunction { function, .. } => {
                Some(ActuatorDynamics::from_function(function, specimen))
            }
            TransferSystem::ServoHydraulic(servo) => {
                Some(ActuatorDynamics::from_servo(servo, specimen)?)
            }
            TransferSystem::Ideal | TransferSystem::Delay { .. } => None,
        };
        let line = match &description.transfer_system {
            TransferSystem::Delay { samples }
            | TransferSystem::TransferFunction { samples, .. } => Line::new(*samples, step_s),
            TransferSystem::Ideal | TransferSystem::ServoHydraulic(_) => Line::new(0.0, step_s),
        };
        let mut inside = None;
        let mut inside_poles = Vec::new();
        if let Some(dofs) = &description.inside {
            if description.joint == Joint::Continuous {
                return Err(LoopError::ContinuousInside);
            }
            let (answer, poles) = InsideAnswer::new(dofs, step_s)?;
            (inside, inside_poles) = (Some(answer), poles);
        }
        let (form, mut poles) = match description.joint {
            Joint::Held => held(numerical, specimen, integrator, line, dynamics.as_ref())?,
            Joint::Continuous => {
                let dynamics = match (&description.transfer_system, &dynamics) {
                    (TransferSystem::Ideal, _) => return Err(LoopError::NoLoop),
                    (_, Some(dynamics)) if line.whole == 0 && line.fraction == 0.0 => dynamics,
                    _ => return Err(LoopError::ContinuousDelay),
                };
                joined(numerical, specimen, integrator, dynamics)?
            }
        };
        poles.extend(inside_poles);
        let command = Command::new(&description.compensator, &description.shaping, step_s)?;
        let mut exponents: Vec<Complex<f64>> = poles.iter().map(|z| z.ln() / step_s).collect();
        // A pole at zero is a delay, not a motion.
        exponents.retain(|s| s.re.is_finite() && s.re > -1e3 / step_s);
        if command.feeds_back() {
            // The integrators of the feedback.
            exponents.extend(vec![Complex::ZERO; specimen.count()]);
        }
        let taken = if dynamics.is_none() { line.newest_weight() } else { 0.0 };
        let of_motion = |mass: &DMatrix<f64>| {
            beside(&[&specimen.stiffness, &specimen.damping, mass]).map(Complex::from)
        };
        Ok(Self {
            step_s,
            count: specimen.count(),
            command,
            specimen: of_motion(&specimen.mass),
            ideal: of_motion(&((1.0 - taken) * &specimen.mass)),
            inside,
            late: description.force_delay,
            form,
            exponents,
        })
    }

    pub(super) fn step_s(&self) -> f64 {
        self.step_s
    }

    pub(super) fn exponents(&self) -> &[Complex<f64>] {
        &self.exponents
    }

    pub(super) fn has_inner(&self) -> bool {
        self.command.feeds_back() && matches!(self.form, Form::Held(_))
    }

    pub(super) fn at(&self, s: Complex<f64>) -> Option<Gain> {
        let z = (s * self.step_s).exp();
        let gains = self.command.at(z);
        match &self.form {
            Form::Held(held) => self.held_at(held, z, &gains),
            Form::Joined(joined) => self.joined_at(joined, z, &gains),
        }
    }

    fn held_at(&self, held: &Held, z: Complex<f64>, gains: &Gains) -> Option<Gain> {
        let n = self.count;
        // Desired motion from the force that acts.
        let mut desired = held.numerical.at(z)?;
        let raw = desired.rows(0, 2 * n).into_owned();
        let mut acceleration = desired.rows_mut(2 * n, n);
        acceleration += &held.direct;
        let late = desired.rows(2 * n, n) * Complex::from(held.velocity_lag_s);
        let mut velocity = desired.rows_mut(n, n);
        velocity += late;
        let ideal = -(&self.ideal * &desired + self.inside_force(&desired, z)?);

        let mut command = mixed(&gains.ahead, &desired, n);
        let ahead = held.ahead(&raw, n);
        let mut motion = held.follow(&command, z, n)?;
        if let Some(ahead) = &ahead {
            motion += ahead;
        }
        let mut inner = Complex::ONE;
        if gains.feedback != Complex::ZERO {
            // Measured displacement from the command's displacement alone.
            let mut unit = Matrix::zeros(SIGNALS * n, n);
            unit.view_mut((0, 0), (n, n)).fill_with_identity();
            let of_command = held.follow(&unit, z, n)?.rows(0, n) * gains.feedback;
            let closed = Matrix::identity(n, n) - of_command;
            inner = closed.determinant();
            let measured = closed.lu().solve(&motion.rows(0, n).into_owned())?;
            let mut displacement = command.rows_mut(0, n);
            displacement += measured * gains.feedback;
            motion = held.follow(&command, z, n)?;
            if let Some(ahead) = &ahead {
                motion += ahead;
            }
        }
        let force = &self.specimen * &motion + self.inside_force(&motion, z)?;
        let matrix = -force * z.powi(-(self.late as i32));
        let sound = matrix.iter().all(|x| x.re.is_finite() && x.im.is_finite());
        sound.then_some(Gain { matrix, inner, ideal })
    }

    /// What the DOFs inside the specimen add to its force.
    fn inside_force(&self, motion: &Matrix, z: Complex<f64>) -> Option<Matrix> {
        let Some(inside) = &self.inside else {
            return Some(Matrix::zeros(self.count, motion.ncols()));
        };
        let answer = inside.states.at(z)?;
        let half = answer.ncols() / 2;
        let of_drive = answer.columns(0, half) + answer.columns(half, half) * z + &inside.direct;
        Some(of_drive * (&inside.drive * motion))
    }

    /// Cut where the command leaves: command = filter of the desired motion that
    /// the command brings about.
    fn joined_at(&self, joined: &Joined, z: Complex<f64>, gains: &Gains) -> Option<Gain> {
        let n = self.count;
        let answer = joined.states.at(z)? + &joined.held * z.inv();
        let desired = answer.rows(0, SIGNALS * n).into_owned();
        let mut command = mixed(&gains.ahead, &desired, n);
        let mut displacement = command.rows_mut(0, n);
        displacement += answer.rows(SIGNALS * n, n) * gains.feedback;
        let matrix = -command;
        let sound = matrix.iter().all(|x| x.re.is_finite() && x.im.is_finite());
        // Cut here there is no loop in which the rig is ideal.
        sound.then(|| Gain { ideal: matrix.clone(), matrix, inner: Complex::ONE })
    }
}

impl InsideAnswer {
    fn new(inside: &Inside, step_s: f64) -> Result<(Self, Vec<Complex<f64>>), LoopError> {
        let n = inside.mass.nrows();
        check_size(2 * n)?;
        let singular = model::integrator::IntegratorError::SingularMass;
        let inverse = inside.mass.clone().try_inverse().ok_or(singular)?;
        let mut a = DMatrix::zeros(2 * n, 2 * n);
        a.view_mut((0, n), (n, n)).fill_with_identity();
        a.view_mut((n, 0), (n, n)).copy_from(&(-&inverse * &inside.stiffness));
        a.view_mut((n, n), (n, n)).copy_from(&(-&inverse * &inside.damping));
        let mut b = DMatrix::zeros(2 * n, n);
        b.rows_mut(n, n).copy_from(&inverse);
        let exact = discretise::first_order_hold(&a, &b, step_s);
        let drive = -beside(&[
            &inside.stiffness_to_interface,
            &inside.damping_to_interface,
            &inside.mass_to_interface,
        ]);
        // K_bi x + C_bi v + M_bi a with a = M_ii⁻¹(w − C_ii v − K_ii x).
        let mass = inside.mass_to_interface.transpose() * &inverse;
        let of_displacement = inside.stiffness_to_interface.transpose() - &mass * &inside.stiffness;
        let of_velocity = inside.damping_to_interface.transpose() - &mass * &inside.damping;
        let mut output = beside(&[&of_displacement, &of_velocity]);
        let poles = eigen::eigenvalues(&exact.transition)?;
        let (mut transition, mut input) = (exact.transition, beside(&[&exact.start, &exact.end]));
        scale(&mut transition, &mut input, &mut output, n, step_s);
        let states = Resolvent::new(&transition, &input, &output);
        let complex = |m: &DMatrix<f64>| m.map(Complex::from);
        Ok((Self { drive: complex(&drive), states, direct: complex(&mass) }, poles))
    }
}

impl Held {
    /// What of the measured motion follows the desired one within the tick; the
    /// part of the acceleration is in the numerical part already.
    fn ahead(&self, raw: &Matrix, n: usize) -> Option<Matrix> {
        if self.dynamics.is_some() || self.line.whole > 0 {
            return None;
        }
        let [newer, _] = self.line.weights();
        let mut motion = Matrix::zeros(SIGNALS * n, raw.ncols());
        for to in 0..SIGNALS {
            let mut rows = motion.rows_mut(to * n, n);
            for from in 0..2 {
                rows += raw.rows(from * n, n) * Complex::from(newer[to][from]);
            }
        }
        Some(motion)
    }

    /// Achieved motion from the command.
    fn follow(&self, command: &Matrix, z: Complex<f64>, n: usize) -> Option<Matrix> {
        let [newer, older] = self.line.weights();
        let newest = z.powi(-(self.line.whole as i32));
        let gain = |to: usize, from: usize, of_newer: Complex<f64>| {
            of_newer * newer[to][from] + newest * z.inv() * older[to][from]
        };
        // A pure delay sees its newest command as the motion ahead.
        let apart = self.dynamics.is_none() && self.line.whole == 0;
        let of_newer = if apart { Complex::ZERO } else { newest };
        let gains: [[Complex<f64>; SIGNALS]; SIGNALS] =
            std::array::from_fn(|to| std::array::from_fn(|from| gain(to, from, of_newer)));
        let delayed = mixed(&gains, command, n);
        match &self.dynamics {
            None => Some(delayed),
            Some(dynamics) => {
                Some(dynamics.states.at(z)? * &delayed + &dynamics.held * delayed * z.inv())
            }
        }
    }
}

type Built = (Form, Vec<Complex<f64>>);

fn held(
    numerical: &Equations,
    specimen: &Specimen,
    integrator: &Options,
    line: Line,
    dynamics: Option<&ActuatorDynamics>,
) -> Result<Built, LoopError> {
    let (n, count) = (numerical.size(), specimen.count());
    let at_once = dynamics.is_none() && specimen.is_massive() && line.newest_weight() > 0.0;
    let direct_inertia = at_once.then(|| line.newest_weight() * &specimen.mass);
    let options = Options { direct_inertia: direct_inertia.clone(), ..integrator.clone() };
    let integrator = Integrator::new(numerical, &options)?;
    let LinearStep {
        transition,
        force,
        acceleration_of_state,
        acceleration_of_force,
        velocity_lag_s,
        ..
    } = integrator.linear_step().ok_or(LoopError::NotLinear)?;
    check_size(transition.nrows())?;
    // With direct inertia the force that acts has a part of the acceleration.
    let (mut a, mut b) = (transition.clone(), force.clone());
    if let Some(inertia) = &direct_inertia {
        a += force * inertia * acceleration_of_state;
        b += force * inertia * acceleration_of_force;
    }
    let states = a.nrows();
    let mut c = DMatrix::zeros(SIGNALS * count, states);
    let directions = numerical.interface_matrix().transpose();
    c.view_mut((0, 0), (count, n)).copy_from(&directions);
    c.view_mut((count, n), (count, n)).copy_from(&directions);
    c.rows_mut(2 * count, count).copy_from(acceleration_of_state);
    let mut poles = eigen::eigenvalues(&a)?;
    scale(&mut a, &mut b, &mut c, n, options.step_s);
    let dynamics = match dynamics {
        None => None,
        Some(dynamics) => {
            let system = &dynamics.system;
            let step = discretise::zero_order_hold(&system.dynamics, &system.held, options.step_s);
            let inner = check_size(step.transition.nrows())?;
            poles.extend(eigen::eigenvalues(&step.transition)?);
            let of_states = dynamics.motion.columns(0, inner).into_owned();
            let held = dynamics.motion.columns(inner, SIGNALS * count).map(Complex::from);
            let states = Resolvent::new(&step.transition, &step.start, &of_states);
            Some(Dynamics { states, held })
        }
    };
    let held = Held {
        numerical: Resolvent::new(&a, &b, &c),
        direct: acceleration_of_force.map(Complex::from),
        velocity_lag_s: *velocity_lag_s,
        line,
        dynamics,
    };
    Ok((Form::Held(held), poles))
}

/// Velocities in metres per period and accelerations in metres per period²:
/// entries of one size, so that the reflections lose no digits.
fn scale(a: &mut DMatrix<f64>, b: &mut DMatrix<f64>, c: &mut DMatrix<f64>, n: usize, step_s: f64) {
    let factor = |state: usize| step_s.powi((state / n).min(2) as i32);
    for i in 0..a.nrows() {
        for j in 0..a.ncols() {
            a[(i, j)] *= factor(i) / factor(j);
        }
        b.row_mut(i).iter_mut().for_each(|x| *x *= factor(i));
        c.column_mut(i).iter_mut().for_each(|x| *x /= factor(i));
    }
}

/// Numerical part and rig in one state (x, v, z), driven by the held command.
fn joined(
    numerical: &Equations,
    specimen: &Specimen,
    integrator: &Options,
    dynamics: &ActuatorDynamics,
) -> Result<Built, LoopError> {
    let (n, count) = (numerical.size(), specimen.count());
    let inner = dynamics.system.dynamics.nrows();
    let size = check_size(2 * n + inner)?;
    let singular = model::integrator::IntegratorError::SingularMass;
    let inverse = numerical.mass.clone().try_inverse().ok_or(singular)?;
    let b = numerical.interface_matrix();
    let of_motion = beside(&[&specimen.stiffness, &specimen.damping, &specimen.mass]);
    let force = of_motion * dynamics.motion.columns(0, inner + SIGNALS * count);
    let pulled = -&inverse * &b * force;
    let mut a = DMatrix::zeros(size, size);
    a.view_mut((0, n), (n, n)).fill_with_identity();
    a.view_mut((n, 0), (n, n)).copy_from(&(-&inverse * &numerical.stiffness));
    a.view_mut((n, n), (n, n)).copy_from(&(-&inverse * &numerical.damping));
    a.view_mut((n, 2 * n), (n, inner)).copy_from(&pulled.columns(0, inner));
    a.view_mut((2 * n, 2 * n), (inner, inner)).copy_from(&dynamics.system.dynamics);
    let mut h = DMatrix::zeros(size, SIGNALS * count);
    h.view_mut((n, 0), (n, SIGNALS * count)).copy_from(&pulled.columns(inner, SIGNALS * count));
    h.view_mut((2 * n, 0), (inner, SIGNALS * count)).copy_from(&dynamics.system.held);
    let (transition, input) = match integrator.method {
        Method::RungeKutta4 => runge_kutta(&a, &h, integrator.step_s),
        _ => {
            let step = discretise::zero_order_hold(&a, &h, integrator.step_s);
            (step.transition, step.start)
        }
    };
    // Rows: desired displacement, velocity, acceleration; achieved displacement.
    let directions = b.transpose();
    let mut c = DMatrix::zeros((SIGNALS + 1) * count, size);
    c.view_mut((0, 0), (count, n)).copy_from(&directions);
    c.view_mut((count, n), (count, n)).copy_from(&directions);
    c.rows_mut(2 * count, count).copy_from(&(&directions * a.rows(n, n)));
    c.view_mut((SIGNALS * count, 2 * n), (count, inner))
        .copy_from(&dynamics.motion.view((0, 0), (count, inner)));
    let mut held = DMatrix::zeros((SIGNALS + 1) * count, SIGNALS * count);
    held.rows_mut(2 * count, count).copy_from(&(&directions * h.rows(n, n)));
    held.rows_mut(SIGNALS * count, count)
        .copy_from(&dynamics.motion.view((0, inner), (count, SIGNALS * count)));
    let poles = eigen::eigenvalues(&transition)?;
    let states = Resolvent::new(&transition, &input, &c);
    Ok((Form::Joined(Joined { states, held: held.map(Complex::from) }), poles))
}

/// One step of Runge and Kutta's order four as a matrix, the input held.
fn runge_kutta(a: &DMatrix<f64>, h: &DMatrix<f64>, step_s: f64) -> (DMatrix<f64>, DMatrix<f64>) {
    let n = a.nrows();
    let ah = a * step_s;
    let identity = DMatrix::identity(n, n);
    // I + x/2 (I + x/3 (I + x/4)), and once more around it.
    let inner = &identity + 0.25 * &ah;
    let inner = &identity + (1.0 / 3.0) * &ah * inner;
    let inner = &identity + 0.5 * &ah * inner;
    (&identity + &ah * &inner, inner * h * step_s)
}

/// `[to][from]` of every DOF on the rows of its signals.
fn mixed(gains: &[[Complex<f64>; SIGNALS]; SIGNALS], motion: &Matrix, n: usize) -> Matrix {
    let mut out = Matrix::zeros(SIGNALS * n, motion.ncols());
    for (to, row) in gains.iter().enumerate() {
        let mut rows = out.rows_mut(to * n, n);
        for (from, &gain) in row.iter().enumerate() {
            if gain != Complex::ZERO {
                rows += motion.rows(from * n, n) * gain;
            }
        }
    }
    out
}

fn check_size(states: usize) -> Result<usize, LoopError> {
    if states <= MOST_STATES {
        return Ok(states);
    }
    Err(LoopError::TooLarge { states, most: MOST_STATES })
}

pub(super) fn beside(parts: &[&DMatrix<f64>]) -> DMatrix<f64> {
    model::first_order::beside(parts)
}
