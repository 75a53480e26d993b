//! Transfer systems with dynamics of their own, as ż = A z + B u.

use keys::Keys;
use nalgebra::{Complex, DMatrix};
use numerics::block::hstack;
use numerics::discretise::zero_order_hold;
use numerics::lti::TransferFunction;
use thiserror::Error;

use crate::first_order::FirstOrder;
use crate::specimen::Specimen;

/// Why a transfer system does not fit its specimen.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TransferError {
    /// The servo-hydraulic model pushes the specimen's mass.
    #[error(
        "a servo-hydraulic actuator needs a specimen with mass at every interface DOF: give \
         [partition] mass, or use a transfer function"
    )]
    MasslessSpecimen,
    /// Coefficients out of all proportion to the step.
    #[error(
        "over a step of {step_s} s the transfer system's response is no number: check the \
         coefficients of its transfer function"
    )]
    NoNumber {
        /// The step.
        step_s: f64,
    },
}

/// The benchmark's servo-hydraulic actuator with its specimen.
///
///   e = g u − x
///   servo: y = a₁β₀/(s² + β₁s + β₂) e
///   actuator: ḟ = −a₃ f + y − a₂ ẋ
///   specimen: M ẍ + C ẋ + K x + r = f
///
/// The term a₂ẋ is the flow the moving piston takes: it makes the actuator
/// feel its specimen.
///
/// Reference: Silva et al. 2020, Mech. Syst. Signal Process. 135, 106381.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct ServoHydraulic {
    /// Gain on the command.
    #[key(number, positive, default = 1.0261)]
    pub gain: f64,
    /// Gain of the servo valve, a1β0.
    #[key(number, positive, default = 2.1283e13)]
    pub servo_gain: f64,
    /// Natural velocity feedback of the actuator, a2.
    #[key(number, not_negative, default = 4.2297e6)]
    pub velocity_feedback: f64,
    /// Leakage of the actuator, a3.
    #[key(number, not_negative, default = 3.3)]
    pub leakage: f64,
    /// Coefficient β1 of the servo valve.
    #[key(number, positive, default = 425)]
    pub servo_damping: f64,
    /// Coefficient β2 of the servo valve.
    #[key(number, positive, default = 9.9976e4)]
    pub servo_stiffness: f64,
}

impl ServoHydraulic {
    /// The nominal values of the benchmark.
    pub const BENCHMARK: Self = Self {
        gain: 1.0261,
        servo_gain: 2.1283e13,
        velocity_feedback: 4.2297e6,
        leakage: 3.3,
        servo_damping: 425.0,
        servo_stiffness: 9.9976e4,
    };

    /// What turns each state of `ActuatorDynamics::from_servo` for this servo
    /// into that of `other` with the same physical state, for `count` DOFs: the
    /// states are scaled by the servo's own numbers.
    pub fn rescale_to(&self, other: &Self, count: usize) -> Vec<f64> {
        let scale = |servo: &Self| servo.servo_stiffness / servo.servo_gain;
        let force = scale(other) / scale(self);
        let rate = force * (self.servo_stiffness / other.servo_stiffness).sqrt();
        [force, rate, force, 1.0, 1.0].iter().flat_map(|&factor| vec![factor; count]).collect()
    }
}

/// What settles by less than this in a step, beside what settles fastest, integrates.
const INTEGRATES: f64 = 1e-10;

/// A transfer system and specimen as a first-order system driven by the held
/// command (displacement, velocity, acceleration), with the rows that give the
/// achieved motion.
#[derive(Debug, Clone, PartialEq)]
pub struct ActuatorDynamics {
    /// ż from (z; command; element forces). The load part is empty.
    pub system: FirstOrder,
    /// Achieved (x; v; a) from (z; command; element forces).
    pub motion: DMatrix<f64>,
    /// Number of interface DOFs.
    pub count: usize,
}

impl ActuatorDynamics {
    /// Every interface DOF follows its own command through `function`.
    ///
    /// Velocity and acceleration are read off the states. Where the function
    /// has fewer than three poles more than zeros they see the command
    /// directly, through the command's own derivatives.
    pub fn from_function(function: &TransferFunction, specimen: &Specimen) -> Self {
        let one = function.state_space();
        let (order, count) = (one.a.nrows(), specimen.count());
        let states = order * count;
        let (ca, cb) = (&one.c * &one.a, (&one.c * &one.b)[(0, 0)]);
        let (caa, cab) = (&ca * &one.a, (&ca * &one.b)[(0, 0)]);
        let d = one.d[(0, 0)];

        let mut dynamics = DMatrix::zeros(states, states);
        let mut held = DMatrix::zeros(states, 3 * count);
        let elements = if specimen.elements.is_empty() { 0 } else { count };
        let mut motion = DMatrix::zeros(3 * count, states + 3 * count + elements);
        for i in 0..count {
            let at = i * order;
            dynamics.view_mut((at, at), (order, order)).copy_from(&one.a);
            held.view_mut((at, i), (order, 1)).copy_from(&one.b);
            let command = states + i;
            for (row, of_state, direct) in [
                (i, &one.c, [d, 0.0, 0.0]),
                (count + i, &ca, [cb, d, 0.0]),
                (2 * count + i, &caa, [cab, cb, d]),
            ] {
                motion.view_mut((row, at), (1, order)).copy_from(of_state);
                for (derivative, value) in direct.into_iter().enumerate() {
                    motion[(row, command + derivative * count)] = value;
                }
            }
        }
        let system = FirstOrder {
            dynamics,
            load: DMatrix::zeros(states, 0),
            held,
            // A function prescribes the motion: elements change the force only.
            elements: DMatrix::zeros(states, elements),
        };
        Self { system, motion, count }
    }

    /// The rows of [`motion`](Self::motion) for an instant at which a held command
    /// is about to change, `step_s` after its last change.
    ///
    /// A command in steps shakes what follows it at once: the acceleration behind
    /// two poles jumps with every step, and just before the next one it is half a
    /// step's change of the command off its mean. No actuator does that, and times a
    /// mass it would pass for damping. So where velocity or acceleration see the
    /// command directly, the command's own derivatives are given such a part that
    /// both are those of the sampled displacement for every command that is a
    /// parabola.
    pub fn sampled_motion(&self, step_s: f64) -> DMatrix<f64> {
        let (n, states) = (self.count, self.system.dynamics.nrows());
        let mut motion = self.motion.clone();
        let direct = self.motion.view((n, states), (2 * n, 3 * n));
        if states == 0 || direct.iter().all(|&value| value == 0.0) {
            return motion;
        }
        let held = zero_order_hold(&self.system.dynamics, &self.system.held, step_s);
        let input = |derivative: usize| held.start.columns(derivative * n, n).into_owned();
        let left = DMatrix::identity(states, states) - held.transition;
        if !left.iter().all(|value| value.is_finite()) {
            return motion;
        }
        let stretches = left.singular_values();
        // An integrator never settles behind a constant command; it is as it is.
        if stretches.min() <= INTEGRATES * stretches.max() {
            return motion;
        }
        let lu = left.lu();
        // The states under t and under t², as polynomials: constant, slope, bend.
        let (h, h2) = (step_s, step_s * step_s);
        let solved = || {
            let first = lu.solve(&input(0))?;
            let ramp = [lu.solve(&(input(1) - h * &first))?, first.clone()];
            let middle = lu.solve(&(2.0 * input(1) - 2.0 * h * &first))?;
            let last = lu.solve(&(2.0 * input(2) - h * &middle - h2 * &first))?;
            Some((ramp, [last, middle, first]))
        };
        let Some((ramp, parabola)) = solved() else { return motion };
        for derivative in [1, 2] {
            let rows = derivative * n;
            let part = |row: usize, signal: usize| {
                self.motion.view((row, states + signal * n), (n, n)).into_owned()
            };
            let of = |row: usize, z: &DMatrix<f64>| self.motion.view((row, 0), (n, states)) * z;
            // The command of the last change is h old.
            let ramp_rate = of(0, &ramp[1]) + part(0, 0);
            let wanted = if derivative == 1 { ramp_rate } else { DMatrix::zeros(n, n) };
            let missing = wanted - of(rows, &ramp[0]) + h * part(rows, 0) - part(rows, 1);
            let x1 = of(0, &parabola[1]) - 2.0 * h * part(0, 0) + 2.0 * part(0, 1);
            let x2 = of(0, &parabola[2]) + part(0, 0);
            let wanted = if derivative == 1 { x1 } else { 2.0 * x2 };
            let rate = part(rows, 1) + &missing;
            let found = of(rows, &parabola[0]) + h2 * part(rows, 0) - 2.0 * h * rate;
            let bend = 0.5 * (wanted - found) - part(rows, 2);
            let mut to = motion.view_mut((rows, states + n), (n, n));
            to += missing;
            let mut to = motion.view_mut((rows, states + 2 * n), (n, n));
            to += bend;
        }
        motion
    }

    /// Displacement of interface DOF `dof` per unit of its own command at jω, the
    /// other commands zero. `None` where jω is a pole.
    pub fn response(&self, dof: usize, omega_rad_s: f64) -> Option<Complex<f64>> {
        let states = self.system.dynamics.nrows();
        let s = Complex::new(0.0, omega_rad_s);
        let mut left = self.system.dynamics.map(|a| Complex::from(-a));
        (0..states).for_each(|i| left[(i, i)] += s);
        // The command and its two derivatives, as columns of the held input.
        let command = [Complex::ONE, s, s * s];
        let column = |derivative: usize| derivative * self.count + dof;
        let right = DMatrix::from_fn(states, 1, |i, _| {
            (0..3).map(|d| command[d] * self.system.held[(i, column(d))]).sum::<Complex<f64>>()
        });
        let direct: Complex<f64> =
            (0..3).map(|d| command[d] * self.motion[(dof, states + column(d))]).sum();
        if states == 0 {
            return Some(direct);
        }
        let z = numerics::solve::solved(left, &right)?;
        let of_states: Complex<f64> = (0..states).map(|i| z[(i, 0)] * self.motion[(dof, i)]).sum();
        Some(of_states + direct)
    }

    /// Itself, if its response over a step is made of numbers.
    pub fn finite_over(self, step_s: f64) -> Result<Self, TransferError> {
        let held = zero_order_hold(&self.system.dynamics, &self.system.held, step_s);
        let finite = held.transition.iter().chain(&held.start).all(|value| value.is_finite());
        if finite { Ok(self) } else { Err(TransferError::NoNumber { step_s }) }
    }

    /// Servo-hydraulic actuators, one per interface DOF, on a common specimen.
    pub fn from_servo(servo: &ServoHydraulic, specimen: &Specimen) -> Result<Self, TransferError> {
        let n = specimen.count();
        let factor =
            specimen.matrices.mass.clone().cholesky().ok_or(TransferError::MasslessSpecimen)?;
        let mass_inverse = factor.inverse();
        let omega = servo.servo_stiffness.sqrt();
        // Scaled states q = y β₂/(a₁β₀), p = q̇/ω, ρ = f β₂/(a₁β₀): metres and
        // metre-seconds, so that the exponential sees no factor of 10¹³.
        let force_scale = servo.servo_gain / servo.servo_stiffness;
        let identity = DMatrix::<f64>::identity(n, n);
        let mut a = DMatrix::zeros(5 * n, 5 * n);
        let mut put = |row: usize, column: usize, block: DMatrix<f64>| {
            a.view_mut((row * n, column * n), (n, n)).copy_from(&block);
        };
        let (q, p, rho, x, v) = (0, 1, 2, 3, 4);
        put(q, p, omega * &identity);
        put(p, q, -omega * &identity);
        put(p, p, -servo.servo_damping * &identity);
        put(p, x, -omega * &identity);
        put(rho, q, identity.clone());
        put(rho, rho, -servo.leakage * &identity);
        put(rho, v, -(servo.velocity_feedback / force_scale) * &identity);
        put(x, v, identity.clone());
        put(v, rho, force_scale * &mass_inverse);
        put(v, x, -&mass_inverse * &specimen.matrices.stiffness);
        put(v, v, -&mass_inverse * &specimen.matrices.damping);

        let mut held = DMatrix::zeros(5 * n, 3 * n);
        held.view_mut((p * n, 0), (n, n)).copy_from(&(omega * servo.gain * &identity));
        let count = if specimen.elements.is_empty() { 0 } else { n };
        let mut elements = DMatrix::zeros(5 * n, count);
        if count > 0 {
            elements.view_mut((v * n, 0), (n, n)).copy_from(&-&mass_inverse);
        }
        let mut motion = DMatrix::zeros(3 * n, 5 * n + 3 * n + count);
        // x, then v.
        motion.view_mut((0, x * n), (2 * n, 2 * n)).fill_with_identity();
        let slopes = hstack(&[&a, &held, &elements]);
        motion.rows_mut(2 * n, n).copy_from(&slopes.rows(v * n, n));
        let system = FirstOrder { dynamics: a, load: DMatrix::zeros(5 * n, 0), held, elements };
        Ok(Self { system, motion, count: n })
    }
}
