//! Bytes there and back, and every flaw.

use proptest::prelude::*;

use super::*;

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
    }
}

#[test]
fn the_largest_fits_into_an_ethernet_frame() {
    // 1500 bytes less the headers of IPv6 and UDP.
    const { assert!(MOST_BYTES <= 1500 - 48) };
    assert_eq!(Kind::Hello.bytes(MOST_DOFS), MOST_BYTES);
    assert_eq!(Kind::Command.bytes(1), 84);
}

#[test]
fn what_was_written_is_read_bit_for_bit() {
    let odd = [f64::NAN, -0.0, f64::MIN_POSITIVE / 3.0];
    let handshake = Handshake {
        rate_hz: 4096.0,
        nonce: 11,
        tag: 12,
        watchdog_ns: 200_000_000,
        modes: PACED | VIRTUAL,
        reason: 5,
    };
    for &kind in Kind::ALL {
        let mut out = [0xff; MOST_BYTES];
        let blocks: [&[f64]; 3] = [&odd, &[1.0, 2.0, 3.0], &[4.0]];
        let bytes = encode(&header(kind, 3), Some(&handshake), blocks, &mut out);
        assert_eq!(bytes.len(), kind.bytes(3));
        let read = decode(bytes).unwrap();
        assert_eq!(read.header, header(kind, 3));
        assert_eq!(read.handshake, kind.is_handshake().then_some(handshake));
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

#[test]
fn every_flaw_has_its_name() {
    let mut out = [0; MOST_BYTES];
    let good = encode(&header(Kind::Command, 2), None, [&[1.0, 2.0]; 3], &mut out).to_vec();
    let resealed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        bytes.truncate(good.len() - 4);
        change(&mut bytes);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        decode(&bytes).map(|_| ())
    };
    assert_eq!(resealed(&|_| {}), Ok(()));
    assert_eq!(resealed(&|bytes| bytes[0] = b'X'), Err(Flaw::NotOurs));
    assert_eq!(resealed(&|bytes| bytes[4] = 2), Err(Flaw::Version(2)));
    for kind in [0, 9, 255] {
        assert_eq!(resealed(&|bytes| bytes[6] = kind), Err(Flaw::Malformed));
    }
    for dofs in [0, 1, 3, 57, 255] {
        assert_eq!(resealed(&|bytes| bytes[7] = dofs), Err(Flaw::Malformed));
    }
    assert_eq!(resealed(&|bytes| bytes.push(0)), Err(Flaw::Malformed));
    for cut in 0..good.len() {
        assert!(decode(&good[..cut]).is_err());
    }
    for place in 4..good.len() {
        let mut bytes = good.clone();
        bytes[place] ^= 0x10;
        assert_eq!(decode(&bytes).map(|_| ()), Err(Flaw::Damaged), "byte {place}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..1600)) {
        let _ = decode(&bytes);
        // The same with a head and a checksum that are right.
        if bytes.len() >= 64 {
            bytes[..4].copy_from_slice(&MAGIC);
            bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
            bytes[6] = bytes[6] % 8 + 1;
            bytes[7] %= 64;
            let end = bytes.len() - 4;
            let sum = crc32fast::hash(&bytes[..end]).to_le_bytes();
            bytes[end..].copy_from_slice(&sum);
            if let Ok(datagram) = decode(&bytes) {
                let mut values = [0.0; 64];
                (0..4).for_each(|index| datagram.block(index, &mut values));
                prop_assert_eq!(bytes.len(), datagram.header.kind.bytes(bytes[7].into()));
            }
        }
    }
}
