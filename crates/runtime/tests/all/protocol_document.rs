//! The bytes in `docs/protocol.md` are those the encoder writes.

use std::path::Path;

use runtime::link::Token;
use runtime::link::wire::{Handshake, Header, Kind, MOST_BYTES, PACED, Unverified, encode};

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
        validity: 0,
        auxiliary: 0,
    };
    let hello =
        Header { kind: Kind::Hello, session: 0, sequence: 0, tick: 0, echo_ns: 0, ..command };
    let nonce = 0x1122_3344_5566_7788;
    let handshake = Handshake {
        rate_hz: 1024.0,
        nonce,
        file: 0xfedc_ba98_7654_3210,
        watchdog_ns: 200_000_000,
        modes: PACED,
        reason: 0,
    };
    let token = Token::new("bench 3");
    let [of_loop, _] = token.session_keys(nonce, command.session);
    let documented = blocks();
    let mut out = [0; MOST_BYTES];
    let bytes = encode(&command, None, [&[0.001], &[0.25], &[-1.5]], &[], &of_loop, &mut out);
    assert_eq!(documented[0], bytes, "{bytes:02x?}");
    let limits: [&[f64]; 3] = [&[0.02], &[0.5], &[15e3]];
    let bytes = encode(&hello, Some(&handshake), limits, &[], &token.key(), &mut out);
    assert_eq!(documented[1], bytes, "{bytes:02x?}");
    assert_eq!(documented.len(), 2);
    assert!(documented.iter().all(|bytes| Unverified::read(bytes).is_ok()));
}
