//! The compensators of the lanes.

use model::compensator::{AdaptiveInverse, Compensate, Compensator};
use model::motion::Motion;
use numerics::lanes::{LANES, Lane, LaneMask, Lanes, Mask};

use super::member::Member;
use super::rigs::Rigs;

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
