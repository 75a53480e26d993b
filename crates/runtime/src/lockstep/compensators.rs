//! The compensators of the lanes.

use model::compensator::{AdaptiveInverses, Compensator};
use model::motion::Motion;
use numerics::lanes::{LANES, Lanes, Mask};

use crate::hybrid_loop::HybridLoop;

/// The compensators of the lanes.
pub(super) enum Compensators {
    /// The default one, all at once.
    Together(Box<AdaptiveInverses>),
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
    pub(super) fn new(loops: &[HybridLoop]) -> Self {
        let of = |lane: usize| loops[lane].compensator();
        match AdaptiveInverses::new(std::array::from_fn(of)) {
            Some(together) => Self::Together(Box::new(together)),
            None => Self::Each(Box::new(std::array::from_fn(|lane| Single {
                compensator: of(lane).clone(),
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
        desired: &[Lanes; 3],
        measured: Lanes,
        convert: impl Fn(Lanes) -> Lanes,
    ) -> ([Lanes; 3], Lanes, Mask) {
        match self {
            Self::Together(together) => {
                let command = together.command(desired);
                let sent = convert(command[0]);
                let sound = together.learn(sent, measured);
                (command, sent, sound)
            }
            Self::Each(singles) => {
                let mut command = [Lanes::ZERO; 3];
                for (lane, single) in singles.iter_mut().enumerate() {
                    single.desired.set(0, desired.map(|signal| signal[lane]));
                    single.compensator.step(
                        &single.desired,
                        &[measured[lane]],
                        &mut single.command,
                    );
                    for (signal, value) in command.iter_mut().zip(single.command.of(0)) {
                        signal[lane] = value;
                    }
                }
                let sent = convert(command[0]);
                (command, sent, Mask::ALL)
            }
        }
    }
}
