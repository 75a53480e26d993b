//! What the four loops are made of: their loads, compensators and rigs.

use model::compensator::{AdaptiveInverse, Compensate, Compensator};
use model::motion::Motion;
use model::sensor::{Converter, Sensor};
use model::specimen::restoring_force;
use numerics::gemv::PanelMatrix;
use numerics::lanes::{LANES, Lane, LaneMask, Lanes, Mask};

use super::member::Member;
use crate::load::Load;
use crate::rig::LanePart;

/// What excites the lanes.
pub(super) struct Loads {
    lanes: [Load; LANES],
    /// This tick and the next.
    now: Vec<Lanes>,
    next: Vec<Lanes>,
}

impl Loads {
    pub(super) fn new(members: &[Member<'_>; LANES], signals: usize) -> Self {
        let lanes = members.each_ref().map(|member| member.load.clone());
        let next = (0..signals).map(|signal| Lanes::each(|lane| lanes[lane].at(0)[signal]));
        Self { now: vec![Lanes::ZERO; signals], next: next.collect(), lanes }
    }

    /// The signals of this tick and of the next; asked tick after tick.
    #[inline(always)]
    pub(super) fn at(&mut self, tick: usize) -> (&[Lanes], &[Lanes]) {
        std::mem::swap(&mut self.now, &mut self.next);
        let rows = self.lanes.each_ref().map(|load| load.at(tick + 1));
        for (signal, next) in self.next.iter_mut().enumerate() {
            *next = Lanes::each(|lane| rows[lane][signal]);
        }
        (&self.now, &self.next)
    }
}

/// The compensators of the lanes.
pub(super) enum Compensators {
    /// The default one, all at once.
    Together(Box<AdaptiveInverse<Lanes>>),
    /// Any others, one by one.
    Each(Box<[Single; LANES]>),
}

/// A compensator with room for what it is given and gives.
pub(super) struct Single {
    compensator: Compensator,
    desired: Motion,
    command: Motion,
}

impl Compensators {
    pub(super) fn new(members: &[Member<'_>; LANES]) -> Self {
        let each = members.each_ref().map(|member| member.compensator);
        match AdaptiveInverse::side_by_side(each) {
            Some(together) => Self::Together(Box::new(together)),
            None => Self::Each(Box::new(each.map(|one| Single {
                compensator: one.clone(),
                desired: Motion::rest(1),
                command: Motion::rest(1),
            }))),
        }
    }

    /// Command (displacement, velocity, acceleration), the displacement as it
    /// leaves the converter, and which lanes can go on.
    #[inline(always)]
    pub(super) fn step(
        &mut self,
        desired: [Lanes; 3],
        measured: Lanes,
        rig: &Rigs,
    ) -> ([Lanes; 3], Lanes, Mask) {
        match self {
            Self::Together(together) => {
                let command = together.command(desired, measured);
                let sent = rig.convert(command[0]);
                (command, sent, together.step_learning(sent, measured))
            }
            Self::Each(singles) => {
                let mut command = [Lanes::ZERO; 3];
                for (lane, single) in singles.iter_mut().enumerate() {
                    let Single { compensator, desired: of_lane, command: told } = single;
                    of_lane.set(0, desired.map(|signal| signal[lane]));
                    compensator.step(of_lane, &[measured[lane]], told);
                    for (signal, value) in command.iter_mut().zip(told.of(0)) {
                        *signal.lane_mut(lane) = value;
                    }
                }
                (command, rig.convert(command[0]), Mask::ALL)
            }
        }
    }
}

/// Transfer system, specimen and sensors of every lane.
pub(super) struct Rigs {
    /// Transfer states, then the command's displacement, velocity, acceleration.
    input: Vec<Lanes>,
    motion: PanelMatrix<Lanes>,
    step: PanelMatrix<Lanes>,
    /// Room for the results of the two.
    achieved: Vec<Lanes>,
    states: Vec<Lanes>,
    /// K, C, M.
    specimen: [Lanes; 3],
    /// Forces on their way, a ring; empty where none comes late.
    late: Vec<Lanes>,
    oldest: usize,
    converter: Converter<Lanes>,
    displacement: Sensor<Lanes>,
    force: Sensor<Lanes>,
}

impl Rigs {
    pub(super) fn new(members: &[Member<'_>; LANES]) -> Option<Self> {
        let parts = members.each_ref().map(|member| &member.rig);
        let four = |of: fn(&LanePart) -> &[f64]| -> Option<Vec<Lanes>> {
            let length = of(parts[0]).len();
            let alike = parts.iter().all(|part| of(part).len() == length);
            let at = |at: usize| Lanes::each(|lane| of(parts[lane])[at]);
            alike.then(|| (0..length).map(at).collect())
        };
        let motion = PanelMatrix::side_by_side(parts.map(|part| &part.motion))?;
        let step = PanelMatrix::side_by_side(parts.map(|part| &part.step))?;
        let of_specimen = |term: usize| Lanes::each(|lane| parts[lane].specimen[term]);
        Some(Self {
            input: four(|part| &part.input)?,
            achieved: motion.output(),
            states: step.output(),
            motion,
            step,
            specimen: [0, 1, 2].map(of_specimen),
            late: four(|part| &part.late)?,
            oldest: 0,
            converter: Converter::side_by_side(parts.map(|part| part.converter)),
            displacement: Sensor::side_by_side(parts.map(|part| &part.displacement)),
            force: Sensor::side_by_side(parts.map(|part| &part.force)),
        })
    }

    /// Measured displacement and force.
    #[inline(always)]
    pub(super) fn measure(&mut self) -> (Lanes, Lanes) {
        self.motion.multiply(&self.input[..self.motion.columns()], &mut self.achieved);
        let achieved = [self.achieved[0], self.achieved[1], self.achieved[2]];
        // Without elements.
        let force = restoring_force(self.specimen, achieved, Lanes::ZERO);
        let (displacement, mut force) =
            (self.displacement.read(achieved[0]), self.force.read(force));
        if let Some(late) = self.late.get_mut(self.oldest) {
            std::mem::swap(late, &mut force);
            self.oldest = if self.oldest + 1 == self.late.len() { 0 } else { self.oldest + 1 };
        }
        (displacement, force)
    }

    /// The displacement as it leaves the converters.
    #[inline(always)]
    pub(super) fn convert(&self, command: Lanes) -> Lanes {
        self.converter.convert(command)
    }

    #[inline(always)]
    pub(super) fn actuate(&mut self, converted: [Lanes; 3]) {
        let states = self.step.rows();
        self.input[states..states + 3].copy_from_slice(&converted);
        self.step.multiply(&self.input[..self.step.columns()], &mut self.states);
        self.input[..states].copy_from_slice(&self.states[..states]);
    }
}
