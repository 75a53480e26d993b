//! The sampled loop with a fixed linear compensator and a late force.

use model::compensator::Tap;
use model::transfer::ActuatorDynamics;
use nalgebra::{DMatrix, DVector};
use numerics::discretise;

use super::{Dominant, LoopError, SampledLoop, beside, check_size};

/// The rig of a loop.
#[derive(Debug, Clone, Copy)]
pub enum LoopRig<'a> {
    /// A transfer system with states.
    Dynamics(&'a ActuatorDynamics),
    /// A pure delay of whole samples, at least one.
    Delay(usize),
}

/// Signals of a motion: displacement, velocity, acceleration.
const SIGNALS: usize = 3;

impl SampledLoop {
    /// The loop whose command is a filter of the desired motion, given by its
    /// taps (`model::compensator::taps`), and whose force comes `late` samples
    /// late.
    ///
    /// The loop is stepped once from every unit state: its matrix, column by
    /// column.
    pub fn with_compensator(
        &self,
        rig: LoopRig<'_>,
        taps: &[Tap],
        late: usize,
    ) -> Result<Dominant, LoopError> {
        if matches!(rig, LoopRig::Delay(0)) {
            return Err(LoopError::NoDelay);
        }
        let stepped = Stepped::new(self, rig, taps, late);
        let size = check_size(stepped.size())?;
        let mut matrix = DMatrix::zeros(size, size);
        let mut unit = DVector::zeros(size);
        for column in 0..size {
            unit[column] = 1.0;
            matrix.set_column(column, &stepped.step(&unit));
            unit[column] = 0.0;
        }
        self.dominant(&matrix)
    }
}

/// One period of the loop, on a state in one vector: integrator; rig; command
/// held or on its way; late forces, newest first; desired motions, newest first.
struct Stepped<'a> {
    parent: &'a SampledLoop,
    taps: Vec<Tap>,
    count: usize,
    states: usize,
    inner: usize,
    /// Commands remembered, in samples.
    commands: usize,
    late: usize,
    /// Desired motions remembered per signal, in samples.
    memory: [usize; SIGNALS],
    /// Rig's transition, and its answer to the command.
    transition: DMatrix<f64>,
    input: DMatrix<f64>,
    /// Force from the rig's states and the command that acts.
    force: DMatrix<f64>,
}

impl<'a> Stepped<'a> {
    fn new(parent: &'a SampledLoop, rig: LoopRig<'_>, taps: &[Tap], late: usize) -> Self {
        let specimen = &parent.specimen;
        let count = specimen.count();
        let of_motion = beside(&beside(&specimen.stiffness, &specimen.damping), &specimen.mass);
        let (transition, input, force, commands) = match rig {
            LoopRig::Dynamics(dynamics) => {
                let system = &dynamics.system;
                let held =
                    discretise::zero_order_hold(&system.dynamics, &system.held, parent.step_s);
                let inner = held.transition.nrows();
                let motion = dynamics.sampled_motion(parent.step_s);
                let rows = motion.columns(0, inner + SIGNALS * count);
                (held.transition, held.start, of_motion * rows, 1)
            }
            LoopRig::Delay(samples) => {
                let none = DMatrix::zeros(0, 0);
                (none, DMatrix::zeros(0, SIGNALS * count), of_motion, samples)
            }
        };
        let inner = transition.nrows();
        // A signal of the command that moves nothing needs no memory.
        let matters = |signal: usize| {
            let columns = signal * count..(signal + 1) * count;
            columns.into_iter().any(|column| {
                input.column(column).iter().any(|&v| v != 0.0)
                    || force.column(inner + column).iter().any(|&v| v != 0.0)
            })
        };
        let taps: Vec<Tap> = taps.iter().copied().filter(|tap| matters(tap.to)).collect();
        let mut memory = [0; SIGNALS];
        for tap in &taps {
            memory[tap.from] = memory[tap.from].max(tap.lag);
        }
        let states = parent.step.transition.nrows();
        Self {
            parent,
            taps,
            count,
            states,
            inner,
            commands,
            late,
            memory,
            transition,
            input,
            force,
        }
    }

    fn size(&self) -> usize {
        let samples = SIGNALS.saturating_mul(self.commands) + self.late;
        let samples = samples.saturating_add(self.memory.iter().sum());
        (self.states + self.inner).saturating_add(self.count.saturating_mul(samples))
    }

    fn step(&self, from: &DVector<f64>) -> DVector<f64> {
        let (n, step) = (self.count, &self.parent.step);
        let mut at = 0;
        let mut part = |length: usize| {
            at += length;
            (at - length, length)
        };
        let integrator = part(self.states);
        let rig = part(self.inner);
        let commands = part(SIGNALS * n * self.commands);
        let forces = part(n * self.late);
        let pasts = self.memory.map(|samples| part(n * samples));
        let rows = |(start, length): (usize, usize)| from.rows(start, length).into_owned();

        // What the rig says of this instant, and what the loop hears of it.
        let held = SIGNALS * n;
        let acting = from.rows(commands.0 + commands.1 - held, held);
        let mut heard = DVector::zeros(self.inner + held);
        heard.rows_mut(0, self.inner).copy_from(&rows(rig));
        heard.rows_mut(self.inner, held).copy_from(&acting);
        let said = &self.force * heard;
        let force = if self.late == 0 {
            said.clone()
        } else {
            from.rows(forces.0 + forces.1 - n, n).into_owned()
        };

        // The desired motion under that force.
        let state = rows(integrator);
        let motion = &self.parent.motion * &state;
        let acceleration =
            &step.acceleration_of_state * &state + &step.acceleration_of_force * &force;
        let velocity = motion.rows(n, n) + step.velocity_lag_s * &acceleration;
        let desired = [motion.rows(0, n).into_owned(), velocity, acceleration];

        let mut command = DVector::zeros(held);
        for tap in &self.taps {
            let mut to = command.rows_mut(tap.to * n, n);
            if tap.lag == 0 {
                to += tap.weight * &desired[tap.from];
            } else {
                to += tap.weight * from.rows(pasts[tap.from].0 + (tap.lag - 1) * n, n);
            }
        }

        let mut next = DVector::zeros(from.len());
        let mut put = |start: usize, values: &DVector<f64>| {
            next.rows_mut(start, values.len()).copy_from(values);
        };
        put(integrator.0, &(&step.transition * &state + &step.force * &force));
        put(rig.0, &(&self.transition * rows(rig) + &self.input * &command));
        // Registers: the newest first, the others one place on.
        let mut shift = |(start, length): (usize, usize), newest: &DVector<f64>| {
            if length > 0 {
                put(start, newest);
                let kept = length - newest.len();
                put(start + newest.len(), &from.rows(start, kept).into_owned());
            }
        };
        shift(commands, &command);
        shift(forces, &said);
        for (past, desired) in pasts.into_iter().zip(&desired) {
            shift(past, desired);
        }
        next
    }
}
