//! The rigs of the lanes.

use model::sensor::{Converter, Sensor};
use model::specimen::restoring_force;
use numerics::gemv::PanelMatrix;
use numerics::lanes::{LANES, Lane, Lanes};

use super::member::Member;
use crate::rig::LanePart;

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
