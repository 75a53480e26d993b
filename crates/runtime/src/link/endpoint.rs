//! One end of a link: numbers what it sends, judges what it receives, counts both.

use serde::{Serialize, Serializer};

use super::key::Key;
use super::window::{Seen, Window};
use super::wire::{Datagram, Handshake, Header, Kind, MOST_BYTES, Unverified, encode};

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
    /// Datagrams of the session whose code is wrong: damaged, or forged.
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
            (self.corrupt, "damaged or forged"),
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

/// One end of a session.
pub(crate) struct Endpoint {
    pub(crate) session: u64,
    dofs: u8,
    own: Key,
    other: Key,
    sequence: u64,
    window: Window,
    pub(crate) counts: LinkCounts,
    /// Where this side stands, told with every datagram.
    pub(crate) state: u8,
    /// Code of its trip.
    pub(crate) trip: u8,
    /// Whether its values are samples, as in [`Header::validity`].
    pub(crate) validity: u8,
    /// Values of its own channels, told with every datagram of the session.
    pub(crate) auxiliary: Vec<f64>,
    out: Box<[u8; MOST_BYTES]>,
}

impl Endpoint {
    /// Signs with the first key, and listens to who has the second.
    pub(crate) fn new(session: u64, dofs: usize, [own, other]: [Key; 2]) -> Self {
        Self {
            session,
            own,
            other,
            dofs: u8::try_from(dofs).unwrap_or(u8::MAX),
            sequence: 0,
            window: Window::default(),
            counts: LinkCounts::default(),
            state: 0,
            trip: 0,
            validity: 0,
            auxiliary: Vec::new(),
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
            session: self.session,
            sequence: self.sequence,
            tick,
            echo_ns,
            state: self.state,
            trip: self.trip,
            validity: self.validity,
            auxiliary: self.auxiliary.len().min(u8::MAX.into()) as u8,
            ..Header::outside(kind, self.dofs, now_ns)
        };
        encode(&header, handshake, blocks, &self.auxiliary, &self.own, &mut self.out)
    }

    /// Judges bytes: a new datagram from the other end of this session, or none.
    pub(crate) fn receive<'a>(&mut self, bytes: &'a [u8]) -> Option<Datagram<'a>> {
        let ours = |found: &Unverified<'_>| {
            let header = found.header();
            header.session == self.session && header.dofs == self.dofs
        };
        let Some(found) = Unverified::read(bytes).ok().filter(ours) else {
            self.counts.foreign += 1;
            return None;
        };
        let Some(datagram) = found.verified(&self.other) else {
            self.counts.corrupt += 1;
            return None;
        };
        match self.window.see(datagram.header.sequence) {
            Seen::New => {}
            Seen::OutOfOrder => self.counts.reordered += 1,
            Seen::Again => {
                self.counts.duplicated += 1;
                return None;
            }
        }
        self.counts.received += 1;
        Some(datagram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Token;

    fn laboratory(session: u64, dofs: usize) -> Endpoint {
        let [of_loop, of_laboratory] = Token::new("bench 3").session_keys(9, 7);
        Endpoint::new(session, dofs, [of_laboratory, of_loop])
    }

    fn sent(end: &mut Endpoint, tick: u64) -> Vec<u8> {
        end.frame(1, Kind::Measured, tick, 0, None, [&[1.0], &[2.0], &[3.0]]).to_vec()
    }

    #[test]
    fn everything_is_counted_once_under_its_own_name() {
        let mut there = laboratory(7, 1);
        let mut here = Endpoint::new(7, 1, Token::new("bench 3").session_keys(9, 7));
        let first = sent(&mut there, 0);
        let second = sent(&mut there, 1);
        let third = sent(&mut there, 2);
        let ours = |here: &mut Endpoint, bytes: &[u8]| here.receive(bytes).is_some();
        assert!(ours(&mut here, &first));
        assert!(ours(&mut here, &third));
        assert!(ours(&mut here, &second));
        assert!(!ours(&mut here, &second));
        let mut torn = sent(&mut there, 3);
        torn[60] ^= 1;
        assert!(!ours(&mut here, &torn));
        // Whoever does not have the key, and one's own datagram sent back.
        let stranger = Token::new("bench 4").session_keys(9, 7);
        assert!(!ours(&mut here, &sent(&mut Endpoint::new(7, 1, stranger), 3)));
        let reflected = here.frame(1, Kind::Stop, 0, 0, None, [&[]; 3]).to_vec();
        assert!(!ours(&mut here, &reflected));
        assert!(!ours(&mut here, &sent(&mut laboratory(8, 1), 3)));
        assert!(!ours(&mut here, &sent(&mut laboratory(7, 2), 3)));
        assert!(!ours(&mut here, b"GET / HTTP/1.1"));
        let expected = LinkCounts {
            sent: 1,
            received: 3,
            reordered: 1,
            duplicated: 1,
            corrupt: 3,
            foreign: 3,
            ..LinkCounts::default()
        };
        assert_eq!(here.counts, expected);
        assert_eq!(there.counts.sent, 4);
        let named: u64 = expected.named().iter().map(|(_, count)| count).sum();
        assert_eq!(named, 12, "every count has its name");
    }
}
