//! The bytes in `docs/protocol.md` are those the encoder writes.

use std::path::Path;

use runtime::link::Token;
use runtime::link::wire::{Handshake, Header, Kind, MOST_BYTES, PACED, decode, encode};

/// Every block of bytes in the document, in order.
fn blocks() -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```hex\n").skip(1);
    let byte = |word: &str| u8::from_str_radix(word, 16).unwrap();
    blocks
        .map(|rest| rest.split("```").next().unwrap().split_whitespace().map(byte).collect())
        .collect()
}

#[test]
fn the_documented_bytes_are_the_encoders() {
    let command = Header {
        kind: Kind::Command,
        dofs: 1,
        session: 0x0123_4567_89ab_cdef,
        sequence: 7,
        time_ns: 1_000_000_000,
        tick: 5,
        echo_ns: 999_000_000,
        state: 0,
        trip: 0,
    };
    let hello =
        Header { kind: Kind::Hello, session: 0, sequence: 0, tick: 0, echo_ns: 0, ..command };
    let nonce = 0x1122_3344_5566_7788;
    let handshake = Handshake {
        rate_hz: 1024.0,
        nonce,
        tag: Token::new("bench 3").unwrap().tag(Kind::Hello, nonce, 0),
        watchdog_ns: 0,
        modes: PACED,
        reason: 0,
    };
    let documented = blocks();
    let mut out = [0; MOST_BYTES];
    let bytes = encode(&command, None, [&[0.001], &[0.25], &[-1.5]], &mut out);
    assert_eq!(documented[0], bytes);
    let bytes = encode(&hello, Some(&handshake), [&[0.02], &[0.5], &[15e3]], &mut out);
    assert_eq!(documented[1], bytes);
    assert_eq!(documented.len(), 2);
    assert!(documented.iter().all(|bytes| decode(bytes).is_ok()));
    assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926);
}
