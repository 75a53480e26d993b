//! The wire of the host link: whatever arrives is a message or an error.

use proptest::prelude::*;
use runtime::host::protocol::{
    LONGEST, ProtocolError, Refusal, Reply, Request, Rest, Status, Welcome, split,
};
use runtime::host::{Client, Token, Trust};

fn requests() -> impl Strategy<Value = Request> {
    let token = prop::collection::vec(any::<u8>(), 0..=255);
    let rows = prop::collection::vec(any::<f64>().prop_filter("", |x| !x.is_nan()), 0..50);
    prop_oneof![
        (any::<u16>(), token).prop_map(|(version, token)| Request::Hello { version, token }),
        Just(Request::Feed),
        (any::<u64>(), rows).prop_map(|(first, rows)| Request::Load { first, rows }),
        any::<u64>().prop_map(|samples| Request::End { samples }),
        any::<u32>().prop_map(|every| Request::Watch { every }),
        Just(Request::Stop),
        Just(Request::Status),
    ]
}

fn replies() -> impl Strategy<Value = Reply> {
    let name = "[a-zµ²./]{0,12}";
    let signals = prop::collection::vec((name, name, -1e9..1e9), 0..5);
    let channels = prop::collection::vec((name, name), 0..40);
    let welcome = (any::<u16>(), 0u8..2, name, signals, channels).prop_map(
        |(version, clock, title, signals, channels)| {
            let (tick_hz, load_hz, buffer) = (4096.0, 256.0, 512);
            let welcome =
                Welcome { version, clock, tick_hz, load_hz, buffer, title, signals, channels };
            Reply::Welcome(welcome)
        },
    );
    let refused =
        (any::<u8>(), 0..Refusal::ALL.len(), "\\PC{0,40}").prop_map(|(request, reason, text)| {
            Reply::Refused { request, reason: Refusal::ALL[reason], text: Rest(text) }
        });
    let status = (any::<[u64; 5]>(), any::<[u8; 3]>()).prop_map(|(n, b)| {
        Reply::Status(Status {
            ticks: n[0],
            phase: b[0],
            trip: b[1],
            feeding: b[2],
            fed: n[1],
            used: n[2],
            starved: n[3],
            dropped: n[4],
        })
    });
    let frames = (any::<u64>(), 1u16..9, 0usize..9).prop_map(|(dropped, width, count)| {
        let values = (0..usize::from(width) * count).map(|k| k as f64 * 0.1).collect();
        Reply::Frames { dropped, width, values }
    });
    let over = (any::<[u8; 2]>(), any::<[u64; 2]>())
        .prop_map(|([phase, trip], [ticks, dropped])| Reply::Over { phase, trip, ticks, dropped });
    let granted = (any::<u8>(), any::<u64>());
    prop_oneof![
        welcome,
        granted.prop_map(|(request, value)| Reply::Granted { request, value }),
        refused,
        status,
        frames,
        over,
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(request in requests(), reply in replies()) {
        let bytes = request.bytes();
        let (kind, body, length) = split(&bytes).unwrap().unwrap();
        prop_assert_eq!(length, bytes.len());
        prop_assert_eq!(Request::read(kind, body), Ok(request.clone()));
        let mut two = reply.bytes();
        two.extend(request.bytes());
        let (kind, body, length) = split(&two).unwrap().unwrap();
        prop_assert_eq!(Reply::read(kind, body), Ok(reply.clone()));
        prop_assert_eq!(&two[length..], &bytes[..]);
    }

    #[test]
    fn a_message_cut_anywhere_waits_for_more(request in requests(), cut in any::<prop::sample::Index>()) {
        let bytes = request.bytes();
        prop_assert_eq!(split(&bytes[..cut.index(bytes.len())]), Ok(None));
    }

    #[test]
    fn a_body_cut_or_lengthened_is_refused(request in requests(), cut in any::<prop::sample::Index>()) {
        let bytes = request.bytes();
        let (kind, body, _) = split(&bytes).unwrap().unwrap();
        let mut longer = body.to_vec();
        longer.push(7);
        prop_assert!(Request::read(kind, &longer).is_err());
        if !body.is_empty() {
            let short = &body[..cut.index(body.len())];
            // A load with fewer whole samples is a load.
            let whole = kind == Request::LOAD && short.len() >= 8 && short.len() % 8 == 0;
            prop_assert_eq!(Request::read(kind, short).is_ok(), whole);
        }
    }

    #[test]
    fn garbage_is_an_error_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        if let Ok(Some((kind, body, length))) = split(&bytes) {
            prop_assert!(length <= bytes.len());
            let _ = Request::read(kind, body);
            let _ = Reply::read(kind, body);
        }
        for kind in 0..=255 {
            let _ = Request::read(kind, &bytes);
            let _ = Reply::read(kind, &bytes);
        }
    }

    #[test]
    fn a_huge_length_is_refused_before_anything_is_kept(length in (LONGEST as u32 + 1)..) {
        let bytes = length.to_le_bytes();
        let announced = split(&bytes);
        prop_assert_eq!(announced, Err(ProtocolError::BadLength(length as usize)));
    }
}

#[test]
fn the_bytes_are_those_of_the_document() {
    // As printed in docs/host-link.md: other implementations go by it.
    let hello = Request::Hello { version: 1, token: b"0123456789abcdef".to_vec() };
    let expected = b"\x18\0\0\0\x01TWRG\x01\0\x100123456789abcdef";
    assert_eq!(hello.bytes(), expected);
    let load = Request::Load { first: 2, rows: vec![1.0, -2.0] };
    let expected = b"\x19\0\0\0\x03\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0";
    assert_eq!(load.bytes(), expected);
    assert_eq!(Request::Stop.bytes(), [1, 0, 0, 0, 6]);
    assert_eq!(split(&[0, 0, 0, 0]), Err(ProtocolError::BadLength(0)));
    let other = Request::read(Request::HELLO, b"HTTP\x01\0\0");
    assert_eq!(other, Err(ProtocolError::BadMagic));
}

/// A peer that grants another request than the one that was made.
#[test]
fn a_stop_is_pressed_only_when_the_stop_is_granted() {
    use std::io::{Read, Write};
    for (granted, pressed) in [(Request::STOP, true), (Request::FEED, false)] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let peer = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let welcome = Welcome {
                version: runtime::host::protocol::VERSION,
                clock: 0,
                tick_hz: 1024.0,
                load_hz: 0.0,
                buffer: 0,
                title: String::new(),
                signals: Vec::new(),
                channels: Vec::new(),
            };
            let replies = [Reply::Welcome(welcome), Reply::Granted { request: granted, value: 1 }];
            for reply in replies {
                let mut heard = [0; 4096];
                assert!(stream.read(&mut heard).unwrap() > 0);
                stream.write_all(&reply.bytes()).unwrap();
            }
        });
        let token = Token::random().unwrap();
        let mut client = Client::connect(address, &token, &Trust::Plain).unwrap();
        assert_eq!(client.stop().is_ok(), pressed, "granted {granted:#x}");
        peer.join().unwrap();
    }
}
