//! The loads of the lanes.

use numerics::lanes::Lanes;

use crate::hybrid_loop::HybridLoop;
use crate::load::Load;

/// What excites the lanes.
pub(super) enum Loads {
    /// All the same, as a rule.
    Shared(Load),
    /// Each its own.
    Own(Vec<Load>),
}

impl Loads {
    pub(super) fn new(loops: &[HybridLoop]) -> Self {
        let load = |one: &HybridLoop| one.known_load().clone();
        match loops {
            [first, rest @ ..] if rest.iter().all(|one| one.known_load().is_same(&load(first))) => {
                Self::Shared(load(first))
            }
            loops => Self::Own(loops.iter().map(load).collect()),
        }
    }

    /// Puts the signals of this tick, then those of the next, into `out`.
    #[inline(always)]
    pub(super) fn write(&self, tick: usize, out: &mut [Lanes]) {
        let (now, next) = out.split_at_mut(out.len() / 2);
        match self {
            Self::Shared(load) => {
                for (out, at) in [(now, tick), (next, tick + 1)] {
                    for (out, value) in out.iter_mut().zip(load.at(at)) {
                        *out = Lanes::all(*value);
                    }
                }
            }
            Self::Own(loads) => {
                for (lane, load) in loads.iter().enumerate() {
                    for (out, at) in [(&mut *now, tick), (&mut *next, tick + 1)] {
                        for (out, value) in out.iter_mut().zip(load.at(at)) {
                            out[lane] = *value;
                        }
                    }
                }
            }
        }
    }
}
