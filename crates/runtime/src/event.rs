//! What happened during a run, noted as numbers and told later.

use crate::gate::Trip;
use crate::interlock::Response;

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// When.
    pub tick: u64,
    /// What.
    pub what: What,
    /// Its cause: the indicator or limit with value and level.
    pub cause: Trip,
}

/// The kinds of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// An indicator reached the level at which it warns; the test went on.
    Warning,
    /// It is well clear of that level again.
    Recovered,
    /// A trip, and how the rig is taken to safe.
    Trip(Response),
    /// The operator ended the hold, or took an aborted rig down.
    OperatorRampDown,
}

/// The events of a run. Bounded: the tick must not allocate, and an indicator
/// that flutters must not fill the memory.
#[derive(Debug, Clone)]
pub struct EventLog {
    /// In their order.
    pub events: Vec<Event>,
    /// How many were not kept.
    pub left_out: u64,
}

/// Events kept.
const MOST: usize = 256;
/// Places that warnings may not take, so that a trip always finds one.
const RESERVED: usize = 8;

impl EventLog {
    /// Notes an event; beyond the bound it is only counted.
    pub fn note(&mut self, event: Event) {
        let most = match event.what {
            What::Warning | What::Recovered => MOST - RESERVED,
            What::Trip(_) | What::OperatorRampDown => MOST,
        };
        if self.events.len() < most {
            self.events.push(event);
        } else {
            self.left_out += 1;
        }
    }
}

impl Default for EventLog {
    /// Empty, with its memory.
    fn default() -> Self {
        Self { events: Vec::with_capacity(MOST), left_out: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::TripKind;

    #[test]
    fn a_flood_of_warnings_leaves_room_for_the_trip() {
        let cause = Trip { kind: TripKind::Force, dof: 0, value: 2.0, limit: 1.0 };
        let mut log = EventLog::default();
        let room = log.events.capacity();
        for tick in 0..1000 {
            log.note(Event { tick, what: What::Warning, cause });
        }
        log.note(Event { tick: 1000, what: What::Trip(Response::Hold), cause });
        assert_eq!(log.events.last().unwrap().tick, 1000);
        assert_eq!(log.events.len() as u64 + log.left_out, 1001);
        assert_eq!(log.events.capacity(), room, "no allocation");
    }
}
