//! The loads of the lanes.

use numerics::lanes::{LANES, Lane, Lanes};

use super::member::Member;
use crate::load::Load;

/// What excites the lanes.
pub(super) struct Loads {
    of: Of,
    /// This tick and the next.
    now: Vec<Lanes>,
    next: Vec<Lanes>,
}

enum Of {
    /// All the same, as a rule.
    Shared(Load),
    /// Each its own.
    Own([Load; LANES]),
}

impl Loads {
    pub(super) fn new(members: &[Member<'_>; LANES], signals: usize) -> Self {
        let loads = members.each_ref().map(|member| member.load);
        let of = match loads {
            [first, rest @ ..] if rest.iter().all(|load| load.is_same(first)) => {
                Of::Shared(first.clone())
            }
            own => Of::Own(own.map(Load::clone)),
        };
        let mut loads = Self { of, now: Vec::new(), next: vec![Lanes::ZERO; signals] };
        loads.now.clone_from(&loads.next);
        loads.of.write(0, &mut loads.next);
        loads
    }

    /// The signals of this tick and of the next; asked tick after tick.
    #[inline(always)]
    pub(super) fn at(&mut self, tick: usize) -> (&[Lanes], &[Lanes]) {
        std::mem::swap(&mut self.now, &mut self.next);
        self.of.write(tick + 1, &mut self.next);
        (&self.now, &self.next)
    }
}

impl Of {
    #[inline(always)]
    fn write(&self, tick: usize, out: &mut [Lanes]) {
        match self {
            Self::Shared(load) => {
                for (out, value) in out.iter_mut().zip(load.at(tick)) {
                    *out = Lanes::all(*value);
                }
            }
            Self::Own(loads) => {
                for (lane, load) in loads.iter().enumerate() {
                    for (out, value) in out.iter_mut().zip(load.at(tick)) {
                        *out.lane_mut(lane) = *value;
                    }
                }
            }
        }
    }
}
