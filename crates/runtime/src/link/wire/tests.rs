//! Bytes there and back, and every flaw.

use proptest::prelude::*;

use super::*;
use crate::link::Token;

fn key() -> Key {
    Token::new("bench 3").key()
}

fn header(kind: Kind, dofs: u8) -> Header {
    Header {
        kind,
        dofs,
        session: 0x0123_4567_89ab_cdef,
        sequence: 7,
        time_ns: 1_000_000_000,
        tick: 5,
        echo_ns: 999_000_000,
        state: 1,
        trip: 3,
        validity: 1,
        auxiliary: 0,
    }
}

#[test]
fn the_largest_fits_into_an_ethernet_frame() {
    // 1500 bytes less the headers of IPv6 and UDP.
    const { assert!(MOST_BYTES <= 1500 - 48) };
    assert_eq!(Kind::Hello.bytes(MOST_DOFS, 0), MOST_BYTES);
    assert_eq!(Kind::Command.bytes(1, 0), 96);
    assert!(Kind::Refuse.bytes(MOST_DOFS, 0) < Kind::Hello.bytes(1, 0));
}

#[test]
fn what_was_written_is_read_bit_for_bit() {
    let odd = [f64::NAN, -0.0, f64::MIN_POSITIVE / 3.0];
    let handshake = Handshake {
        rate_hz: 4096.0,
        nonce: 11,
        file: 12,
        watchdog_ns: 200_000_000,
        modes: PACED | VIRTUAL,
        reason: 5,
    };
    for &kind in Kind::ALL {
        let mut out = [0xff; MOST_BYTES];
        let blocks: [&[f64]; 3] = [&odd, &[1.0, 2.0, 3.0], &[4.0]];
        let bytes = encode(&header(kind, 3), Some(&handshake), blocks, &[], &key(), &mut out);
        assert_eq!(bytes.len(), kind.bytes(3, 0));
        let read = Unverified::read(bytes).unwrap().verified(&key()).unwrap();
        assert_eq!(read.header, header(kind, 3));
        assert_eq!(read.handshake, kind.is_handshake().then_some(handshake));
        if kind == Kind::Refuse {
            continue;
        }
        let mut values = [9.0; 4];
        read.block(0, &mut values);
        assert_eq!(values.map(f64::to_bits)[..3], odd.map(f64::to_bits));
        assert_eq!(values[3], 9.0, "what the datagram does not have is left alone");
        read.block(2, &mut values);
        assert_eq!(values[..3], [4.0, 0.0, 0.0]);
        read.block(3, &mut values);
        assert_eq!(values[..3], [4.0, 0.0, 0.0], "there are three blocks");
    }
}

/// A command of two DOFs, changed, under the right code.
fn resealed(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = [0; MOST_BYTES];
    let good = encode(&header(Kind::Command, 2), None, [&[1.0, 2.0]; 3], &[], &key(), &mut out);
    let mut bytes = good[..good.len() - CODE].to_vec();
    change(&mut bytes);
    let code = key().code(&bytes);
    bytes.extend(code);
    bytes
}

#[test]
fn auxiliary_channels_stand_behind_the_blocks() {
    let bytes = resealed(|bytes| {
        bytes[51] = 2;
        bytes.extend([5.0f64, 6.0].map(f64::to_le_bytes).as_flattened());
    });
    let read = Unverified::read(&bytes).unwrap().verified(&key()).unwrap();
    let mut values = [0.0; 2];
    read.block(2, &mut values);
    assert_eq!((read.header.auxiliary, values), (2, [1.0, 2.0]));
    read.block(3, &mut values);
    assert_eq!(values, [1.0, 2.0]);
    let mut own = [0.0; 3];
    read.auxiliary(&mut own);
    assert!(own[..2] == [5.0, 6.0] && own[2].is_nan(), "{own:?}");
    let mut out = [0; MOST_BYTES];
    let written = Header { auxiliary: 2, ..header(Kind::Command, 2) };
    assert_eq!(bytes, encode(&written, None, [&[1.0, 2.0]; 3], &[5.0, 6.0], &key(), &mut out));
    let endless = resealed(|bytes| {
        bytes[51] = 255;
        bytes.extend([0; 8 * 255]);
    });
    assert_eq!(Unverified::read(&endless).err(), Some(Flaw::Malformed));
}

#[test]
fn every_flaw_has_its_name() {
    let flaw = |change: &dyn Fn(&mut Vec<u8>)| Unverified::read(&resealed(change)).err();
    assert_eq!(flaw(&|_| {}), None);
    assert_eq!(flaw(&|bytes| bytes[0] = b'X'), Some(Flaw::NotOurs));
    assert_eq!(flaw(&|bytes| bytes[4] = 1), Some(Flaw::Version(1)));
    for kind in [0, 9, 255] {
        assert_eq!(flaw(&|bytes| bytes[6] = kind), Some(Flaw::Malformed));
    }
    for dofs in [0, 1, 3, 56, 255] {
        assert_eq!(flaw(&|bytes| bytes[7] = dofs), Some(Flaw::Malformed));
    }
    assert_eq!(flaw(&|bytes| bytes.push(0)), Some(Flaw::Malformed));
    let good = resealed(|_| {});
    for cut in 0..good.len() {
        assert!(Unverified::read(&good[..cut]).is_err());
    }
    let verified =
        |bytes: &[u8]| Unverified::read(bytes).is_ok_and(|found| found.verified(&key()).is_some());
    assert!(verified(&good));
    for place in 0..good.len() {
        let mut bytes = good.clone();
        bytes[place] ^= 0x10;
        assert!(!verified(&bytes), "byte {place}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..1600)) {
        let _ = Unverified::read(&bytes);
        // The same with a head and a code that are right.
        if bytes.len() >= 72 {
            bytes[..4].copy_from_slice(&MAGIC);
            bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
            bytes[6] = bytes[6] % 8 + 1;
            bytes[7] %= 64;
            bytes[51] %= 4;
            let end = bytes.len() - CODE;
            let code = key().code(&bytes[..end]);
            bytes[end..].copy_from_slice(&code);
            if let Ok(found) = Unverified::read(&bytes) {
                let datagram = found.verified(&key()).unwrap();
                let mut values = [0.0; 64];
                (0..4).for_each(|index| datagram.block(index, &mut values));
                let expected = datagram.header.kind.bytes(bytes[7].into(), bytes[51].into());
                prop_assert_eq!(bytes.len(), expected);
            }
        }
    }
}
