//! A laboratory in virtual time: converter, transfer system, specimen, sensors.

use model::first_order::{FirstOrderStepper, Scheme};
use model::internal_motion::InternalMotion;
use model::motion::Motion;
use model::sensor::{Converter, Sensor};
use model::specimen::{RestoringForce, Specimen};
use model::transfer::{ActuatorDynamics, DelayLine, TransferError, TransferSystem};
use nalgebra::DMatrix;
use numerics::gemv::{PanelMatrix, Product};

use super::{Measured, Rig, RigFault};

/// What a virtual rig is made of.
#[derive(Debug, Clone)]
pub struct VirtualRigParts {
    /// Between command and motion.
    pub transfer_system: TransferSystem,
    /// The article.
    pub specimen: Specimen,
    /// Of the command.
    pub converter: Converter,
    /// One per interface DOF.
    pub displacement_sensors: Vec<Sensor>,
    /// One per interface DOF.
    pub force_sensors: Vec<Sensor>,
    /// Period of the loop.
    pub step_s: f64,
}

/// A virtual rig with its state.
#[derive(Debug, Clone)]
pub struct VirtualRig {
    pub(crate) parts: VirtualRigParts,
    actuator: Actuator,
    restoring: RestoringForce,
    /// The specimen away from its interface, where it has DOFs there.
    inside: Option<Box<InternalMotion>>,
    /// The command after the converter.
    command: Motion,
    achieved: Motion,
    elements: Vec<f64>,
    force: Vec<f64>,
    /// What it becomes, if it is to change.
    planned: Option<Box<PlannedChange>>,
}

/// Another rig of the same kind that takes over at a tick.
#[derive(Debug, Clone)]
struct PlannedChange {
    next: VirtualRig,
    /// Factors that turn the states of the first into those of the second.
    rescale: Vec<f64>,
    /// The converted states, kept so that the tick allocates nothing.
    states: Vec<f64>,
    ticks_left: u64,
}

#[derive(Debug, Clone)]
enum Actuator {
    Delay(DelayLine),
    Dynamic(Box<Dynamic>),
}

/// A transfer system with states, after an optional pure delay of a held command.
#[derive(Debug, Clone)]
struct Dynamic {
    /// Whole periods of the delay.
    line: DelayLine,
    /// The command that acts.
    delayed: Motion,
    /// Over the fraction of a period for which the command held so far still acts.
    early: Option<FirstOrderStepper>,
    /// Over the rest of it.
    stepper: FirstOrderStepper,
    /// Achieved motion from z, command ×3 and element forces.
    motion: Product,
    /// Displacement from z and command displacement, for element trials.
    displacement: DMatrix<f64>,
}

impl VirtualRig {
    /// Builds the rig at rest.
    pub fn new(parts: VirtualRigParts) -> Result<Self, TransferError> {
        let count = parts.specimen.count();
        let step_s = parts.step_s;
        let delay = |samples| Actuator::Delay(DelayLine::new(samples, step_s, count));
        let dynamic = |dynamics: ActuatorDynamics, samples| {
            let dynamics = dynamics.finite_over(step_s)?;
            let dynamic = Dynamic::new(&dynamics, &parts.specimen, samples, step_s);
            Ok::<_, TransferError>(Actuator::Dynamic(Box::new(dynamic)))
        };
        let actuator = match &parts.transfer_system {
            TransferSystem::Ideal => delay(0.0),
            TransferSystem::Delay { samples } => delay(*samples),
            TransferSystem::TransferFunction { function, samples } => {
                dynamic(ActuatorDynamics::from_function(function, &parts.specimen), *samples)?
            }
            TransferSystem::ServoHydraulic(servo) => {
                dynamic(ActuatorDynamics::from_servo(servo, &parts.specimen)?, 0.0)?
            }
        };
        Ok(Self {
            actuator,
            restoring: RestoringForce::new(&parts.specimen),
            parts,
            inside: None,
            command: Motion::rest(count),
            achieved: Motion::rest(count),
            elements: vec![0.0; count],
            force: vec![0.0; count],
            planned: None,
        })
    }

    /// The same rig with a specimen that has DOFs of its own. It must be at
    /// least one step late: what is inside follows the achieved motion.
    pub fn with_inside(self, inside: InternalMotion) -> Self {
        Self { inside: Some(Box::new(inside)), ..self }
    }

    /// The same rig, which fails at `tick` by becoming another of its kind where it
    /// stands, states and all: a specimen or a valve that changes. `rescale` has one
    /// factor for each state of the transfer system.
    pub fn becoming(self, next: Self, tick: u64, rescale: Vec<f64>) -> Self {
        let states = vec![0.0; rescale.len()];
        let planned = PlannedChange { next, rescale, states, ticks_left: tick };
        Self { planned: Some(Box::new(planned)), ..self }
    }

    /// Counts a tick on the way to a planned change, and makes it.
    fn count_down(&mut self) {
        let Some(mut planned) = self.planned.take() else { return };
        if planned.ticks_left > 0 {
            planned.ticks_left -= 1;
        } else {
            // Once is enough.
            planned.ticks_left = u64::MAX;
            let old = self.states();
            for ((state, old), factor) in planned.states.iter_mut().zip(old).zip(&planned.rescale) {
                *state = old * factor;
            }
            planned.next.take_over(&planned.states, &self.parts.specimen, &self.command);
            // The old one is kept where the new one was: nothing is freed in the tick.
            std::mem::swap(self, &mut planned.next);
        }
        self.planned = Some(planned);
    }

    /// The part of the measured force that follows the present acceleration:
    /// specimen mass × share of the newest sample. `None` from one sample of
    /// delay on, and for every rig with dynamics.
    pub fn direct_inertia(&self) -> Option<DMatrix<f64>> {
        match &self.actuator {
            Actuator::Delay(line)
                if line.newest_weight() > 0.0 && self.parts.specimen.is_massive() =>
            {
                Some(line.newest_weight() * &self.parts.specimen.matrices.mass)
            }
            _ => None,
        }
    }

    /// Whether what is measured in a tick follows the desired motion of that
    /// tick: a delay below one sample.
    pub fn answers_within_step(&self) -> bool {
        matches!(&self.actuator, Actuator::Delay(line) if line.newest_weight() > 0.0)
    }

    /// The command as it leaves the converter.
    pub fn convert(&self, command: &Motion, out: &mut Motion) {
        convert(self.parts.converter, command, out);
    }

    /// The transfer system's own states; empty for a pure delay.
    fn states(&self) -> &[f64] {
        match &self.actuator {
            Actuator::Delay(_) => &[],
            Actuator::Dynamic(dynamic) => dynamic.stepper.state(),
        }
    }

    /// Takes a rig over where another left it: the transfer system's states, the
    /// history of the specimen and the last command.
    pub fn take_over(&mut self, states: &[f64], specimen: &Specimen, command: &Motion) {
        convert(self.parts.converter, command, &mut self.command);
        for (own, left) in self.parts.specimen.elements.iter_mut().zip(&specimen.elements) {
            own.clone_from(left);
        }
        match &mut self.actuator {
            Actuator::Dynamic(dynamic) => {
                dynamic.stepper.state_mut().copy_from_slice(states);
                dynamic.delayed.copy_from(&self.command);
                dynamic.hold();
            }
            Actuator::Delay(line) => line.push(&self.command),
        }
    }

    /// Measures a specimen that moves exactly as given.
    pub fn follow(&mut self, motion: &Motion, measured: &mut Measured) {
        self.achieved.copy_from(motion);
        self.parts.specimen.element_forces(&motion.displacement, &mut self.elements);
        self.report(measured);
    }

    /// The specimen's force at the last measurement, without the error of its sensor.
    pub fn force(&self) -> &[f64] {
        &self.force
    }

    /// Restoring force and sensors at the achieved motion.
    #[inline(always)]
    fn report(&mut self, measured: &mut Measured) {
        self.restoring.evaluate(&self.achieved, &self.elements, &mut self.force);
        if let Some(inside) = &mut self.inside {
            inside.follow(&self.achieved, &mut self.force);
        }
        self.parts.specimen.commit(&self.achieved.displacement);
        self.parts.sense(&self.achieved.displacement, &self.force, measured);
    }

    /// The pieces of a rig with dynamics, without delay and without elements.
    pub(crate) fn lane_part(&self) -> Option<LanePart> {
        let Actuator::Dynamic(dynamic) = &self.actuator else { return None };
        let plain = self.parts.specimen.count() == 1
            && self.parts.specimen.elements.is_empty()
            && self.inside.is_none()
            && self.planned.is_none()
            && dynamic.early.is_none()
            && dynamic.line.newest_weight() == 1.0;
        let step = dynamic.stepper.product().filter(|_| plain)?;
        let held = &dynamic.delayed;
        let mut input = dynamic.stepper.state().to_vec();
        input.extend([held.displacement[0], held.velocity[0], held.acceleration[0]]);
        Some(LanePart {
            motion: dynamic.motion.matrix().clone(),
            step: step.clone(),
            input,
            specimen: self.restoring.single,
            converter: self.parts.converter,
            displacement: self.parts.displacement_sensors.first()?.clone(),
            force: self.parts.force_sensors.first()?.clone(),
            late: Vec::new(),
        })
    }
}

/// A rig of one interface DOF in pieces, for [`crate::batch`].
pub(crate) struct LanePart {
    /// Achieved motion from transfer states and command.
    pub(crate) motion: PanelMatrix,
    /// Next transfer states from the same.
    pub(crate) step: PanelMatrix,
    /// Transfer states and the command's displacement, velocity, acceleration.
    pub(crate) input: Vec<f64>,
    /// K, C, M.
    pub(crate) specimen: [f64; 3],
    pub(crate) converter: Converter,
    pub(crate) displacement: Sensor,
    pub(crate) force: Sensor,
    /// Forces on their way, oldest first, where they come late.
    pub(crate) late: Vec<f64>,
}

impl Rig for VirtualRig {
    nothing_behind_it!();

    #[inline(always)]
    fn measure(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        if self.planned.is_some() {
            self.count_down();
        }
        match &mut self.actuator {
            Actuator::Delay(line) => {
                let weight = line.newest_weight();
                line.delayed(ahead, &mut self.achieved);
                if weight > 0.0 {
                    // The acceleration ahead is not known yet; its share is
                    // added by whoever balances the forces.
                    for (a, ahead) in self.achieved.acceleration.iter_mut().zip(&ahead.acceleration)
                    {
                        *a -= weight * ahead;
                    }
                }
                self.parts.specimen.element_forces(&self.achieved.displacement, &mut self.elements);
            }
            Actuator::Dynamic(dynamic) => {
                dynamic.observe(&self.parts.specimen, &mut self.elements, &mut self.achieved);
            }
        }
        self.report(measured);
        Ok(())
    }

    #[inline(always)]
    fn actuate(&mut self, command: &Motion) {
        match &mut self.actuator {
            Actuator::Delay(line) => convert(self.parts.converter, command, line.slot()),
            Actuator::Dynamic(dynamic) => {
                convert(self.parts.converter, command, &mut self.command);
                dynamic.drive(&self.command, &self.parts.specimen);
            }
        }
    }
}

impl VirtualRigParts {
    /// What the sensors say of a motion and force.
    #[inline(always)]
    pub(crate) fn sense(&mut self, achieved: &[f64], force: &[f64], measured: &mut Measured) {
        let sensors = self.displacement_sensors.iter_mut().zip(&mut self.force_sensors);
        for (i, (displacement_sensor, force_sensor)) in sensors.enumerate() {
            measured.achieved[i] = achieved[i];
            measured.displacement[i] = displacement_sensor.read(achieved[i]);
            measured.force[i] = force_sensor.read(force[i]);
        }
    }
}

impl Dynamic {
    fn new(dynamics: &ActuatorDynamics, specimen: &Specimen, samples: f64, step_s: f64) -> Self {
        let states = dynamics.system.dynamics.nrows();
        let count = dynamics.count;
        let of_state = dynamics.motion.view((0, 0), (count, states)).into_owned();
        let mut slopes = specimen.steepest_slopes(&of_state);
        if specimen.elements.is_empty() {
            slopes = slopes.remove_rows(0, count);
        }
        let fraction = samples - samples.floor();
        let over = |part: f64| {
            let (system, scheme) = (&dynamics.system, Scheme::ExactZeroHold);
            FirstOrderStepper::with_slopes(system, &slopes, scheme, part * step_s)
        };
        Self {
            line: DelayLine::new(samples.floor(), step_s, count),
            delayed: Motion::rest(count),
            early: (fraction > 0.0).then(|| over(fraction)),
            stepper: over(1.0 - fraction),
            motion: Product::new(&dynamics.sampled_motion((1.0 - fraction) * step_s)),
            displacement: dynamics.motion.view((0, 0), (count, states + count)).into_owned(),
        }
    }

    fn observe(&mut self, specimen: &Specimen, elements: &mut [f64], achieved: &mut Motion) {
        let (n, z) = (achieved.count(), self.stepper.state());
        let r = &mut self.motion.take([z])[3 * n..];
        if !r.is_empty() {
            trial(&self.displacement, specimen, z, &self.delayed.displacement, r);
            elements.copy_from_slice(r);
        }
        let output = self.motion.multiply();
        achieved.displacement.copy_from_slice(&output[..n]);
        achieved.velocity.copy_from_slice(&output[n..2 * n]);
        achieved.acceleration.copy_from_slice(&output[2 * n..3 * n]);
    }

    fn drive(&mut self, command: &Motion, specimen: &Specimen) {
        let (states, signals) = (self.stepper.state().len(), 3 * command.count());
        if let Some(early) = &mut self.early {
            let (rows, displacement) = (&self.displacement, &self.delayed.displacement);
            let held = &self.motion.input()[states..][..signals];
            early.state_mut().copy_from_slice(self.stepper.state());
            early.advance(&[], &[], held, |z, r| trial(rows, specimen, z, displacement, r));
            self.stepper.state_mut().copy_from_slice(early.state());
        }
        self.line.delayed(command, &mut self.delayed);
        self.line.push(command);
        self.hold();
        let (rows, displacement) = (&self.displacement, &self.delayed.displacement);
        let held = &self.motion.input()[states..][..signals];
        self.stepper.advance(&[], &[], held, |z, r| trial(rows, specimen, z, displacement, r));
    }

    /// Puts the delayed command where the products read it, behind the states.
    fn hold(&mut self) {
        let Motion { displacement, velocity, acceleration } = &self.delayed;
        self.motion.take([self.stepper.state(), displacement, velocity, acceleration]);
    }
}

/// The command as it leaves the converter.
#[inline(always)]
fn convert(converter: Converter, command: &Motion, out: &mut Motion) {
    out.copy_from(command);
    for x in &mut out.displacement {
        *x = converter.convert(*x);
    }
}

/// Element forces at the rig's displacement for states `z`.
fn trial(rows: &DMatrix<f64>, specimen: &Specimen, z: &[f64], command: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (dof, element) in &specimen.elements {
        let row = rows.row(*dof);
        let x: f64 = z.iter().chain(command).zip(row.iter()).map(|(v, a)| v * a).sum();
        out[*dof] += element.trial_force(x);
    }
}
