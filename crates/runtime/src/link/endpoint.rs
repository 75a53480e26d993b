//! One end of a link: numbers what it sends, judges what it receives, counts both.

use serde::{Serialize, Serializer};

use super::window::{Seen, Window};
use super::wire::{Datagram, Flaw, Handshake, Header, Kind, MOST_BYTES, decode, encode};

/// Everything that reached one end of a link, or did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounts {
    /// Datagrams sent in the session.
    pub sent: u64,
    /// Datagrams received, whole, new and of this session.
    pub received: u64,
    /// Ticks that had nothing from the other side when they needed it.
    pub bridged: u64,
    /// Of these, how many came afterwards. The others are lost.
    pub late: u64,
    /// Most ticks in a row that were bridged.
    pub longest_bridge: u64,
    /// Datagrams that came after a later one.
    pub reordered: u64,
    /// Datagrams that came again.
    pub duplicated: u64,
    /// Datagrams with a wrong checksum.
    pub corrupt: u64,
    /// Datagrams of someone else: another session, version, size or sender.
    pub foreign: u64,
    /// In lock-step: what was asked for again because no answer came.
    pub resent: u64,
    /// Datagrams the system did not take, or said nobody was there for.
    pub unsent: u64,
}

/// By their names.
impl Serialize for LinkCounts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.named())
    }
}

impl LinkCounts {
    /// Ticks whose datagram never came.
    pub fn lost(&self) -> u64 {
        self.bridged.saturating_sub(self.late)
    }

    /// Names and values, for machines.
    pub fn named(&self) -> [(&'static str, u64); 12] {
        [
            ("sent", self.sent),
            ("received", self.received),
            ("bridged", self.bridged),
            ("lost", self.lost()),
            ("late", self.late),
            ("longest_bridge", self.longest_bridge),
            ("reordered", self.reordered),
            ("duplicated", self.duplicated),
            ("corrupt", self.corrupt),
            ("foreign", self.foreign),
            ("resent", self.resent),
            ("unsent", self.unsent),
        ]
    }

    /// In words, for people.
    pub fn words(&self) -> String {
        let mut words = format!("{} sent, {} received", self.sent, self.received);
        words += &match self.bridged {
            0 => ", nothing bridged".to_owned(),
            bridged => format!(
                ", {bridged} ticks bridged ({} lost, {} late), at most {} in a row",
                self.lost(),
                self.late,
                self.longest_bridge
            ),
        };
        for (count, what) in [
            (self.reordered, "reordered"),
            (self.duplicated, "duplicated"),
            (self.corrupt, "corrupt"),
            (self.foreign, "foreign"),
            (self.resent, "asked for again"),
            (self.unsent, "not sent"),
        ] {
            if count > 0 {
                words += &format!(", {count} {what}");
            }
        }
        words
    }

    /// Counts ticks that were bridged, the last of so many in a row.
    pub(crate) fn bridge(&mut self, ticks: u64, in_a_row: u64) {
        self.bridged = self.bridged.saturating_add(ticks);
        self.longest_bridge = self.longest_bridge.max(in_a_row);
    }
}

/// What bytes turned out to be.
pub(crate) enum Received<'a> {
    /// A new datagram of this session.
    Ours(Datagram<'a>),
    /// Someone asks for a session.
    Hello(Datagram<'a>),
    /// Counted and to be ignored.
    Nothing,
}

/// One end of a session.
pub(crate) struct Endpoint {
    pub(crate) session: u64,
    dofs: u8,
    sequence: u64,
    window: Window,
    pub(crate) counts: LinkCounts,
    /// Where this side stands, told with every datagram.
    pub(crate) state: u8,
    /// Code of its trip.
    pub(crate) trip: u8,
    out: Box<[u8; MOST_BYTES]>,
}

impl Endpoint {
    pub(crate) fn new(session: u64, dofs: usize) -> Self {
        Self {
            session,
            dofs: u8::try_from(dofs).unwrap_or(u8::MAX),
            sequence: 0,
            window: Window::default(),
            counts: LinkCounts::default(),
            state: 0,
            trip: 0,
            out: Box::new([0; MOST_BYTES]),
        }
    }

    /// The next datagram of this session, sent now.
    pub(crate) fn frame(
        &mut self,
        now_ns: u64,
        kind: Kind,
        tick: u64,
        echo_ns: u64,
        handshake: Option<&Handshake>,
        blocks: [&[f64]; 3],
    ) -> &[u8] {
        self.sequence += 1;
        self.counts.sent += 1;
        let header = Header {
            kind,
            dofs: self.dofs,
            session: self.session,
            sequence: self.sequence,
            time_ns: now_ns,
            tick,
            echo_ns,
            state: self.state,
            trip: self.trip,
        };
        encode(&header, handshake, blocks, &mut self.out)
    }

    /// Judges bytes from the other side's address.
    pub(crate) fn receive<'a>(&mut self, bytes: &'a [u8]) -> Received<'a> {
        let datagram = match decode(bytes) {
            Ok(datagram) => datagram,
            Err(Flaw::Damaged) => {
                self.counts.corrupt += 1;
                return Received::Nothing;
            }
            Err(Flaw::NotOurs | Flaw::Version(_) | Flaw::Malformed) => {
                self.counts.foreign += 1;
                return Received::Nothing;
            }
        };
        let header = &datagram.header;
        if header.kind == Kind::Hello {
            return Received::Hello(datagram);
        }
        if header.session != self.session || header.dofs != self.dofs {
            self.counts.foreign += 1;
            return Received::Nothing;
        }
        match self.window.see(header.sequence) {
            Seen::New => {}
            Seen::OutOfOrder => self.counts.reordered += 1,
            Seen::Again => {
                self.counts.duplicated += 1;
                return Received::Nothing;
            }
        }
        self.counts.received += 1;
        Received::Ours(datagram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(end: &mut Endpoint, tick: u64) -> Vec<u8> {
        end.frame(1, Kind::Measured, tick, 0, None, [&[1.0], &[2.0], &[3.0]]).to_vec()
    }

    #[test]
    fn everything_is_counted_once_under_its_own_name() {
        let (mut there, mut here) = (Endpoint::new(7, 1), Endpoint::new(7, 1));
        let first = sent(&mut there, 0);
        let second = sent(&mut there, 1);
        let third = sent(&mut there, 2);
        let ours =
            |here: &mut Endpoint, bytes: &[u8]| matches!(here.receive(bytes), Received::Ours(_));
        assert!(ours(&mut here, &first));
        assert!(ours(&mut here, &third));
        assert!(ours(&mut here, &second));
        assert!(!ours(&mut here, &second));
        let mut torn = sent(&mut there, 3);
        torn[60] ^= 1;
        assert!(!ours(&mut here, &torn));
        assert!(!ours(&mut here, &sent(&mut Endpoint::new(8, 1), 3)));
        assert!(!ours(&mut here, &sent(&mut Endpoint::new(7, 2), 3)));
        assert!(!ours(&mut here, b"GET / HTTP/1.1"));
        let expected = LinkCounts {
            received: 3,
            reordered: 1,
            duplicated: 1,
            corrupt: 1,
            foreign: 3,
            ..LinkCounts::default()
        };
        assert_eq!(here.counts, expected);
        assert_eq!(there.counts.sent, 4);
        let named: u64 = expected.named().iter().map(|(_, count)| count).sum();
        assert_eq!(named, 9, "every count has its name");
    }
}
