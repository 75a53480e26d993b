//! The loop joined from the linear forms of its parts: the one place where a
//! loop is derived.
//!
//! Every part (integrator, compensator, transfer system, specimen, sensor) gives
//! its own linear system, the one that it steps in the tick. Here they are wired
//! as the tick wires them, in two halves:
//!
//! ```text
//!   numerical: force that acts        → motion ahead, desired motion
//!   rest:      motion ahead, desired  → compensator → transfer system → specimen → sensor → force
//! ```
//!
//! The loop is cut where the force acts on the numerical part. Joined
//! continuously, as papers simulate it, numerical part and rig are one system and
//! the loop is cut where the command leaves.

use model::coupled::Coupled;
use model::equations::Equations;
use model::first_order::Scheme;
use model::integrator::{Hold, Integrator, IntegratorError, Method, Options};
use model::internal_motion::InternalMotion;
use model::specimen::Specimen;
use model::transfer::{ActuatorDynamics, TransferSystem, whole_delay};
use numerics::block::{hstack, vstack};
use numerics::linear_system::{Join, LinearSystem, Response, Time};
use numerics::second_order::companion;
use numerics::{Complex, Matrix};

use super::{Joint, LoopDescription, LoopError, MOST_STATES, StructureModes};

/// Displacement, velocity, acceleration.
const SIGNALS: usize = 3;
/// Displacement and velocity of the motion ahead.
const AHEAD: usize = 2;
/// One half of a loop.
#[derive(Debug, Clone)]
pub(super) struct Half {
    /// Its response.
    pub(super) response: Response,
    /// Its matrices; a large structure is known by its modes alone.
    pub(super) system: Option<LinearSystem>,
}

impl Half {
    pub(super) fn new(system: LinearSystem) -> Result<Self, LoopError> {
        check_size(system.states())?;
        Ok(Self { response: Response::new(&system)?, system: Some(system) })
    }
}

/// From the force that acts to the motion ahead and the desired motion (or from
/// the command to desired motion and achieved displacement, joined continuously).
pub(super) fn numerical(
    description: &LoopDescription,
    modes: Option<&StructureModes>,
) -> Result<Half, LoopError> {
    let LoopDescription { numerical, specimen, integrator, transfer_system, .. } = description;
    let step_s = integrator.step_s;
    match description.joint {
        Joint::Held => {
            let direct_inertia = direct_inertia(description);
            let options = Options { direct_inertia, ..integrator.clone() };
            let stepped = |equations: &Equations| {
                let built = Integrator::new(equations, &options)?;
                built.linear_form(step_s).ok_or(LoopError::NotLinear)
            };
            let inertia = options.direct_inertia.as_ref();
            let response = match (modes, options.method.scheme()) {
                (Some(modes), Some(scheme)) => Some(modes.stepped(scheme, step_s, inertia)),
                // A mass that the integrator solves for couples the modes.
                (Some(modes), None) if inertia.is_none() => modes.mode_by_mode(stepped)?,
                _ => None,
            };
            if let Some(response) = response {
                return Ok(Half { response, system: None });
            }
            check_size(numerical.state_count())?;
            Half::new(stepped(numerical)?)
        }
        Joint::Continuous => {
            let dynamics = match follows(transfer_system, specimen)? {
                _ if *transfer_system == TransferSystem::Ideal => return Err(LoopError::NoLoop),
                (Some(dynamics), 0.0) => dynamics,
                _ => return Err(LoopError::ContinuousDelay),
            };
            let scheme = match integrator.method {
                Method::RungeKutta4 => Scheme::RungeKutta4,
                Method::Exact(Hold::Zero) => Scheme::ExactZeroHold,
                _ => Scheme::ExactFirstHold,
            };
            let joint = Coupled::new(numerical, &dynamics, specimen, scheme, step_s)?;
            Half::new(joint.linear_form(step_s).ok_or(LoopError::NotLinear)?)
        }
    }
}

/// The part of the force that a rig without delay has of the present acceleration.
pub(super) fn direct_inertia(description: &LoopDescription) -> Option<Matrix> {
    let LoopDescription { specimen, transfer_system, .. } = description;
    let share = transfer_system.direct_share();
    (share > 0.0 && specimen.is_massive()).then(|| share * &specimen.matrices.mass)
}

/// The dynamics of a transfer system, if it has any, and the samples of its pure delay.
pub(super) fn follows(
    system: &TransferSystem,
    specimen: &Specimen,
) -> Result<(Option<ActuatorDynamics>, f64), LoopError> {
    Ok(match system {
        TransferSystem::Ideal => (None, 0.0),
        TransferSystem::Delay { samples } => (None, *samples),
        TransferSystem::TransferFunction { function, samples } => {
            (Some(ActuatorDynamics::from_function(function, specimen)), *samples)
        }
        TransferSystem::ServoHydraulic(servo) => {
            (Some(ActuatorDynamics::from_servo(servo, specimen)?), 0.0)
        }
    })
}

/// From what the numerical half shows to the force (or the command).
pub(super) fn rest(description: &LoopDescription) -> Result<Half, LoopError> {
    let LoopDescription { compensator, shaping, integrator, specimen, .. } = description;
    let form = compensator.linear_form(shaping, integrator.step_s, specimen.count())?;
    let compensator = form.ok_or(LoopError::Adaptive)?;
    match description.joint {
        Joint::Continuous => Half::new(compensator),
        Joint::Held => Half::new(behind(description, compensator)?),
    }
}

/// From the motion ahead and what the compensator takes beside the measured
/// displacement to the force.
pub(super) fn behind(
    description: &LoopDescription,
    compensator: LinearSystem,
) -> Result<LinearSystem, LoopError> {
    let LoopDescription { specimen, transfer_system, .. } = description;
    let (count, step_s) = (specimen.count(), description.integrator.step_s);
    let (motion, ahead) = (SIGNALS * count, AHEAD * count);
    let further = motion + count..compensator.inputs();
    let mut join = Join::new(Time::Step(step_s));
    let compensator = join.add(compensator);
    let rig = join.add(transfer_system.linear_form(specimen, step_s)?);
    let article = join.add(article(description)?);
    let sensor = join.add(whole_delay(count, description.force_delay, Time::Step(step_s)));
    join.wire(compensator.port(0..motion), rig.port(ahead..ahead + motion));
    join.wire(rig.port(0..motion), article.port(0..motion));
    join.wire(rig.port(0..count), compensator.port(motion..motion + count));
    join.wire(article.port(0..count), sensor.port(0..count));
    let inputs = [rig.port(0..ahead), compensator.port(0..motion), compensator.port(further)];
    join.system(&inputs, &[sensor.port(0..count)]).ok_or(LoopError::Algebraic)
}

/// The rest of a loop whose specimen is moved at once and exactly: all of the
/// specimen's force but the part that the integrator adds.
pub(super) fn ideal(description: &LoopDescription) -> Result<Half, LoopError> {
    let (count, time) = (description.specimen.count(), Time::Step(description.integrator.step_s));
    let mut exact = description.clone();
    exact.specimen.matrices.mass *= 1.0 - description.transfer_system.direct_share();
    moved_by(straight(count, time), article(&exact)?, count)
}

/// A motion as it is.
fn straight(count: usize, time: Time) -> LinearSystem {
    LinearSystem::gain(Matrix::identity(SIGNALS * count, SIGNALS * count), time)
}

/// Rig and specimen in a row, which do not look at the motion ahead.
fn moved_by(rig: LinearSystem, article: LinearSystem, count: usize) -> Result<Half, LoopError> {
    let (time, motion) = (rig.time, SIGNALS * count);
    let mut join = Join::new(time);
    let unseen = join.add(LinearSystem::gain(Matrix::zeros(0, AHEAD * count), time));
    let (rig, article) = (join.add(rig), join.add(article));
    join.wire(rig.port(0..motion), article.port(0..motion));
    let inputs = [unseen.port(0..AHEAD * count), rig.port(0..motion)];
    Half::new(join.system(&inputs, &[article.port(0..count)]).ok_or(LoopError::Algebraic)?)
}

/// From the achieved motion to the force of the specimen, its own DOFs included.
fn article(description: &LoopDescription) -> Result<LinearSystem, LoopError> {
    let LoopDescription { specimen, inside, integrator, .. } = description;
    let (count, step_s) = (specimen.count(), integrator.step_s);
    let own = specimen.linear_form(step_s);
    let Some(inside) = inside else { return Ok(own) };
    check_size(3 * inside.matrices.mass.nrows())?;
    let moved = InternalMotion::new(inside, step_s).ok_or(IntegratorError::SingularMass)?;
    sum(own, moved.linear_form(step_s), count)
}

/// Two systems that see the same motion and add their forces.
fn sum(one: LinearSystem, other: LinearSystem, count: usize) -> Result<LinearSystem, LoopError> {
    let (time, motion) = (one.time, SIGNALS * count);
    let mut join = Join::new(time);
    let split = join.add(straight(count, time));
    let (one, other) = (join.add(one), join.add(other));
    let both = join.add(LinearSystem::gain(Matrix::identity(count, count), time));
    for part in [one, other] {
        join.wire(split.port(0..motion), part.port(0..motion));
        join.wire(part.port(0..count), both.port(0..count));
    }
    let joint = join.system(&[split.port(0..motion)], &[both.port(0..count)]);
    joint.ok_or(LoopError::Algebraic)
}

/// The halves of the loop without sampling and hold, as papers write it, and the
/// time by which its force is late beside that:
///   L(s) = (s²M_e + sC_e + K_e) T(s) Bᵀ(s²M + sC + K)⁻¹B e^{−sτ}.
pub(super) fn unsampled(
    description: &LoopDescription,
    modes: Option<&StructureModes>,
) -> Result<(Half, Half, f64), LoopError> {
    let LoopDescription { numerical, specimen, integrator, .. } = description;
    let (count, step_s) = (specimen.count(), integrator.step_s);
    let motion = SIGNALS * count;
    let time = Time::Continuous;
    let moved = match modes {
        Some(modes) => Half { response: modes.unstepped(), system: None },
        None => {
            check_size(numerical.state_count())?;
            Half::new(unstepped(numerical)?)?
        }
    };

    let (dynamics, samples) = follows(&description.transfer_system, specimen)?;
    let late_s = description.force_delay as f64 * step_s + samples * step_s;
    let rig = match dynamics {
        None => straight(count, time),
        Some(dynamics) => {
            let states = dynamics.system.dynamics.nrows();
            let [c, d] = [(0, states), (states, motion)]
                .map(|(from, width)| dynamics.motion.columns(from, width).into_owned());
            let system = &dynamics.system;
            LinearSystem::new(system.dynamics.clone(), system.held.clone(), c, d, time)
        }
    };
    let mut article = LinearSystem::gain(specimen.of_motion(), time);
    if let Some(inside) = &description.inside {
        let (own, joint) = (&inside.matrices, &inside.to_interface);
        let inverse = own.mass.clone().try_inverse().ok_or(IntegratorError::SingularMass)?;
        let m = own.mass.nrows();
        let drive = -hstack(&[&joint.stiffness, &joint.damping, &joint.mass]);
        let a = companion(&inverse, &own.damping, &own.stiffness);
        let b = vstack(&[&Matrix::zeros(m, SIGNALS * count), &(&inverse * drive)]);
        let mass = joint.mass.transpose();
        let mut c = &mass * a.rows(m, m);
        c.columns_mut(0, m).zip_apply(&joint.stiffness.transpose(), |x, y| *x += y);
        c.columns_mut(m, m).zip_apply(&joint.damping.transpose(), |x, y| *x += y);
        let d = &mass * b.rows(m, m);
        article = sum(article, LinearSystem::new(a, b, c, d, time), count)?;
    }
    Ok((moved, moved_by(rig, article, count)?, late_s))
}

/// From the force that acts to the motion ahead and the desired motion, unsampled.
pub(super) fn unstepped(equations: &Equations) -> Result<LinearSystem, LoopError> {
    let (n, count) = (equations.size(), equations.interface.len());
    let system = equations.first_order().ok_or(IntegratorError::SingularMass)?;
    let (a, input) = (system.dynamics, system.held);
    let across = equations.interface_matrix().transpose();
    let mut c = Matrix::zeros(5 * count, a.nrows());
    for (row, from) in [(0, 0), (1, n), (2, 0), (3, n)] {
        c.view_mut((row * count, from), (count, n)).copy_from(&across);
    }
    c.rows_mut(4 * count, count).copy_from(&(&across * a.rows(n, n)));
    let mut d = Matrix::zeros(5 * count, count);
    d.rows_mut(4 * count, count).copy_from(&(&across * input.rows(n, n)));
    Ok(LinearSystem::new(a, input, c, d, Time::Continuous))
}

/// Poles of both halves as exponents, 1/s; what is gone within a step is a delay,
/// not a motion.
pub(super) fn exponents(halves: [&Half; 2]) -> Vec<Complex> {
    let all = halves.into_iter().flat_map(|half| {
        let time = half.response.time;
        half.response.poles.iter().filter_map(move |pole| exponent(*pole, time))
    });
    all.collect()
}

/// s of a pole; `None` where it is gone within a step.
pub(super) fn exponent(pole: Complex, time: Time) -> Option<Complex> {
    match time {
        Time::Continuous => Some(pole),
        Time::Step(step_s) => {
            let s = pole.ln() / step_s;
            (s.re.is_finite() && s.re > -1e3 / step_s).then_some(s)
        }
    }
}

pub(super) fn check_size(states: usize) -> Result<(), LoopError> {
    let most = MOST_STATES;
    if states <= most { Ok(()) } else { Err(LoopError::TooLarge { states, most }) }
}
