//! The host link beside a loop: who is let in, who feeds, and that nobody on the
//! other side can disturb a tick or cost the record a frame.

use crate::common;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::benchmark::{Case, ground, quick};
use model::channel::Channel;
use runtime::clock::run_virtual;
use runtime::conduct::Conduct;
use runtime::host::protocol::{Refusal, Reply, Request, VERSION, Welcome, split};
use runtime::host::{
    Client, ClientError, HostLink, HostParts, Identity, OperatorLost, Token, Trust, WhenLost,
};
use runtime::hybrid_loop::HybridLoop;
use runtime::hybrid_loop::course::{Completing, CoursePlan};
use runtime::interlock::Phase;
use runtime::load::Load;
use runtime::record::{Options, Record, Recorder, RecorderHandle};
use runtime::stop::StopHandle;
use runtime::streamed_load::Feed;
use runtime::streamed_load::{LoadEnd, StreamPlan};
use runtime::tap::Tap;

struct Bench {
    hybrid: HybridLoop,
    handle: RecorderHandle,
    link: HostLink,
    token: Token,
    address: std::net::SocketAddr,
    stop: StopHandle,
    folder: tempfile::TempDir,
}

const COMPLETING: Completing = Completing { ring_down_ticks: 400, rest: None, home_rate_m_s: 0.05 };

fn bench(buffer_samples: usize) -> Bench {
    secured(buffer_samples, None)
}

fn secured(buffer_samples: usize, identity: Option<Identity>) -> Bench {
    let case = Case::benchmark().with_transfer(quick());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let channels = case.channels();
    let (header, options) = (common::header(), Options::rehearsal());
    let (sink, handle) = Recorder::create(path, &header, &channels, vec![], &options).unwrap();
    let plan = StreamPlan {
        bounds: vec![50.0],
        ticks_per_sample: 1,
        buffer_samples,
        prefill_samples: 32,
        bridge_ticks: 20,
        ease_ticks: 20,
        patience_ticks: 1_000_000,
    };
    let (feed, stream) = Feed::new(&plan);
    let (tap, reader) = Tap::new(channels.len(), 512);
    let stop = StopHandle::default();
    let token = Token::random().unwrap();
    let names = |channel: &Channel| (channel.name.clone(), channel.unit.clone());
    let (load, unit) = names(&channels[3]);
    let welcome = Welcome {
        version: VERSION,
        title: "Bench".into(),
        clock: 0,
        tick_hz: 1.0 / case.step_s,
        load_hz: 1.0 / case.step_s,
        buffer: buffer_samples as u64,
        signals: vec![(load, unit, 50.0)],
        channels: channels.iter().map(names).collect(),
    };
    let parts = HostParts {
        token: token.clone(),
        welcome,
        feed: Some(feed),
        tap: reader,
        stop: stop.clone(),
        conduct: Conduct::default(),
        lost: OperatorLost { then: WhenLost::GoOn, after_s: 30.0 },
    };
    let link = HostLink::open(TcpListener::bind("127.0.0.1:0").unwrap(), identity, parts).unwrap();
    let plan = CoursePlan { initiating: None, completing: Some(COMPLETING) };
    let hybrid = case
        .recorded(case.split(), Load::unknown(1, 10_000_000), sink)
        .along(plan, Some(stream))
        .tapped(tap);
    let address = link.address;
    Bench { hybrid, handle, link, token, address, stop, folder }
}

/// How the run ended: phase, why the load ended, frames and frames lost, record.
fn run(bench: Bench) -> (Phase, Option<LoadEnd>, u64, Record) {
    let Bench { mut hybrid, handle, link, stop, folder, .. } = bench;
    run_virtual(&mut hybrid, &stop, |_| {});
    link.close();
    let (phase, end, ticks) = (hybrid.phase(), hybrid.load_end(), hybrid.ticks());
    drop(hybrid);
    let summary = handle.finish(ticks, None).unwrap();
    assert_eq!((summary.frames, summary.frames_lost), (ticks, 0), "a frame of the record is lost");
    (phase, end, ticks, Record::read(folder.path().join("record.arrow")).unwrap())
}

fn samples(count: usize) -> Vec<f64> {
    let load = ground(1.0 / 4096.0, count);
    (0..count).map(|tick| load.at(tick)[0]).collect()
}

#[test]
fn a_load_much_longer_than_the_buffer_arrives_whole_and_ends_in_completion() {
    let bench = bench(64);
    let (address, token) = (bench.address, bench.token.clone());
    let all = samples(20_000);
    let sent = all.clone();
    let feeder = thread::spawn(move || {
        let mut client = Client::connect(address, &token, &Trust::Plain).unwrap();
        assert_eq!(client.welcome.buffer, 64);
        assert_eq!(client.feed().unwrap(), 0);
        let mut first = 0;
        for piece in sent.chunks(777) {
            client.load(first, piece).unwrap();
            first += piece.len() as u64;
        }
        client.end(first).unwrap();
    });
    let (phase, end, ticks, record) = run(bench);
    feeder.join().unwrap();
    assert_eq!((phase, end), (Phase::Safe, Some(LoadEnd::Declared)));
    assert!(ticks > 20_000 + 400);
    let phases = record.column("phase").unwrap();
    let start = phases.iter().position(|&phase| phase == 0.0).unwrap();
    let load = record.columns[3].as_slice();
    assert_eq!(load[start..start + all.len()], all[..], "every sample, in its place");
}

#[test]
fn a_watcher_that_never_reads_costs_nothing_and_one_that_reads_is_told_of_gaps() {
    let bench = bench(1024);
    let (address, token) = (bench.address, bench.token.clone());
    let mut stalled = Client::connect(address, &token, &Trust::Plain).unwrap();
    stalled.watch(1).unwrap();
    let of_feeder = token.clone();
    // It looks on from the first frame.
    let mut client = Client::connect(address, &token, &Trust::Plain).unwrap();
    let width = client.welcome.channels.len();
    client.watch(1).unwrap();
    let mut tenth = Client::connect(address, &token, &Trust::Plain).unwrap();
    tenth.watch(10).unwrap();
    let of_ten = thread::spawn(move || {
        let mut frames = 0;
        loop {
            match tenth.next().unwrap() {
                Reply::Frames { values, .. } => frames += (values.len() / width) as u64,
                Reply::Over { dropped, .. } => return (frames, dropped),
                other => panic!("{other:?}"),
            }
        }
    });
    let watcher = thread::spawn(move || {
        let (mut frames, mut times) = (0, Vec::new());
        loop {
            match client.next().unwrap() {
                Reply::Frames { values, .. } => {
                    frames += (values.len() / width) as u64;
                    times.extend(values.chunks_exact(width).map(|frame| frame[0]));
                }
                Reply::Over { phase, trip, ticks, dropped } => {
                    assert_eq!((phase, trip), (Phase::Safe as u8, 0));
                    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "in order");
                    return (frames, dropped, ticks);
                }
                other => panic!("{other:?}"),
            }
        }
    });
    let feeder = thread::spawn(move || {
        let mut client = Client::connect(address, &of_feeder, &Trust::Plain).unwrap();
        let all = samples(30_000);
        client.feed().unwrap();
        client.load(0, &all).unwrap();
        client.end(30_000).unwrap();
    });
    let seen = std::sync::Arc::clone(&bench.hybrid.tap().unwrap().state);
    let begun = Instant::now();
    let (phase, _, ticks, _) = run(bench);
    assert_eq!(phase, Phase::Safe);
    feeder.join().unwrap();
    let (frames, dropped, told) = watcher.join().unwrap();
    assert_eq!(told, ticks);
    assert_eq!(frames + dropped, ticks, "every frame is shown or told to be skipped");
    assert!(frames > 0);
    assert_eq!(seen.dropped(), 0, "virtual time waits for those who hand the frames on");
    let (frames_of_ten, dropped_of_ten) = of_ten.join().unwrap();
    assert_eq!(frames_of_ten + dropped_of_ten, ticks.div_ceil(10), "one in ten, or told");
    drop(stalled);
    println!("{ticks} ticks, {frames} shown, in {:?}", begun.elapsed());
}

#[test]
fn a_wrong_token_a_wrong_greeting_and_a_second_feeder_are_refused() {
    let bench = bench(1024);
    let (address, token) = (bench.address, bench.token.clone());
    let wrong = Client::connect(address, &Token::random().unwrap(), &Trust::Plain);
    let Err(ClientError::Refused { reason: Refusal::WrongToken, .. }) = wrong else {
        panic!("a wrong token was let in");
    };
    for garbage in [
        &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        &Request::Stop.bytes(),
        &Request::Hello { version: 99, token: token.text().as_bytes().to_vec() }.bytes(),
        &[255; 64],
        &[1, 0, 0, 0, 77],
    ] {
        let mut raw = TcpStream::connect(address).unwrap();
        raw.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        raw.write_all(garbage).unwrap();
        let mut answer = Vec::new();
        let _ = raw.read_to_end(&mut answer);
        let (kind, body, _) = split(&answer).unwrap().expect("it is told why");
        assert_eq!(kind, Reply::REFUSED);
        assert!(matches!(Reply::read(kind, body), Ok(Reply::Refused { .. })));
    }
    assert_eq!(bench.stop.presses(), 0, "no stop without a token");
    let mut first = Client::connect(address, &token, &Trust::Plain).unwrap();
    first.feed().unwrap();
    let mut second = Client::connect(address, &token, &Trust::Plain).unwrap();
    let status = second.status().unwrap();
    assert_eq!((status.feeding, status.fed, status.phase), (1, 0, Phase::Initiating as u8));
    let Err(ClientError::Refused { reason: Refusal::FeedTaken, .. }) = second.feed() else {
        panic!("two feed at once");
    };
    // Samples that are not allowed, out of order or without the right to feed.
    first.load(0, &[1.0; 100]).unwrap();
    first.load(100, &[1.0, 51.0]).unwrap();
    let Err(ClientError::Refused { reason: Refusal::BadSample, text }) = first.end(102) else {
        panic!("a sample beyond its bound was taken");
    };
    assert!(text.contains("sample 101") && text.contains("50"), "{text}");
    let mut third = wait_for_feed(address, &token);
    third.load(7, &[1.0]).unwrap();
    assert!(matches!(third.end(8), Err(ClientError::Refused { reason: Refusal::BadSample, .. })));
    // Who comes next goes on where the last good sample was.
    let mut last = wait_for_feed(address, &token);
    last.load(100, &[1.0; 400]).unwrap();
    last.end(500).unwrap();
    let (phase, end, _, _) = run(bench);
    assert_eq!((phase, end), (Phase::Safe, Some(LoadEnd::Declared)));
}

/// The right to feed, once the one before has lost it.
fn wait_for_feed(address: std::net::SocketAddr, token: &Token) -> Client {
    for _ in 0..500 {
        let mut client = Client::connect(address, token, &Trust::Plain).unwrap();
        match client.feed() {
            Ok(next) => {
                assert_eq!(next, 100);
                return client;
            }
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
    panic!("the right to feed never came back");
}

/// A load and a stop through TLS; who is not trusted gets no token, and who does not speak it
/// is told so.
#[test]
fn through_tls_only_the_test_that_is_trusted_is_told_the_token() {
    let identity = Identity::drawn().unwrap();
    let pinned = Trust::Fingerprint(identity.fingerprint);
    let other = Trust::Fingerprint(Identity::drawn().unwrap().fingerprint);
    let bench = secured(64, Some(identity));
    let (address, token) = (bench.address, bench.token.clone());
    let refused = Client::connect(address, &token, &other).err();
    assert!(matches!(refused, Some(ClientError::Untrusted(_))), "{refused:?}");
    let plain = Client::connect(address, &token, &Trust::Plain).err();
    assert!(matches!(plain, Some(ClientError::Encrypted)), "{plain:?}");
    let wrong = Client::connect(address, &Token::random().unwrap(), &pinned).err();
    let wrong_token = Refusal::WrongToken;
    assert!(matches!(wrong, Some(ClientError::Refused { reason, .. }) if reason == wrong_token));
    let feeder = thread::spawn(move || {
        let connect = || Client::connect(address, &token, &pinned).unwrap();
        let (mut client, mut stopper) = (connect(), connect());
        client.feed().unwrap();
        client.load(0, &samples(20_000)).unwrap();
        while stopper.status().unwrap().used < 19_000 {
            thread::sleep(Duration::from_millis(1));
        }
        stopper.stop().unwrap();
    });
    let stop = bench.stop.clone();
    let (_, _, ticks, _) = run(bench);
    feeder.join().unwrap();
    assert!(ticks >= 19_000 && stop.presses() == 1, "{ticks} ticks");
}

#[test]
fn a_feeder_that_dies_leaves_a_test_that_completes() {
    let bench = bench(1024);
    let (address, token) = (bench.address, bench.token.clone());
    let feeder = thread::spawn(move || {
        let mut client = Client::connect(address, &token, &Trust::Plain).unwrap();
        client.feed().unwrap();
        client.load(0, &samples(3000)).unwrap();
        // Half a message, then nothing.
        let bytes = Request::Load { first: 3000, rows: vec![1.0; 10] }.bytes();
        client.stream.write_all(&bytes[..20]).unwrap();
    });
    let (phase, end, _, record) = run(bench);
    feeder.join().unwrap();
    assert_eq!((phase, end), (Phase::Safe, Some(LoadEnd::Starved)));
    let running = record.column("phase").unwrap().iter().filter(|&&phase| phase == 0.0).count();
    assert_eq!(running, 2999 + 20 - 1, "all that came, and what was bridged");
}

#[test]
fn a_stop_from_the_host_takes_the_rig_to_safe() {
    let bench = bench(1024);
    let (address, token) = (bench.address, bench.token.clone());
    // The load never comes: the test waits for it, and can be stopped all the same.
    let stopper = thread::spawn(move || {
        let mut client = Client::connect(address, &token, &Trust::Plain).unwrap();
        assert_eq!(client.stop().unwrap(), 1);
    });
    let (phase, end, ticks, record) = run(bench);
    stopper.join().unwrap();
    assert_eq!((phase, end), (Phase::Safe, None));
    assert!(ticks > 0);
    let trips = record.column("trip").unwrap();
    assert_eq!(*trips.last().unwrap(), 14.0, "the operator's stop");
}

#[test]
fn more_clients_than_are_served_are_turned_away_and_the_others_stay() {
    let bench = bench(1024);
    let (address, token) = (bench.address, bench.token.clone());
    let kept: Vec<Client> =
        (0..16).map(|_| Client::connect(address, &token, &Trust::Plain).unwrap()).collect();
    // Four more may stop the test and ask where it stands.
    let mut standing: Vec<Client> =
        (0..4).map(|_| Client::connect(address, &token, &Trust::Plain).unwrap()).collect();
    standing.iter_mut().for_each(|client| assert_eq!(client.status().unwrap().fed, 0));
    let watch = |client: &mut Client| client.watch(1).map(|()| 0);
    for too_much in [Client::feed as fn(&mut Client) -> Result<u64, ClientError>, watch] {
        let refused = too_much(&mut standing.pop().unwrap());
        assert!(matches!(refused, Err(ClientError::Refused { reason: Refusal::TooMany, .. })));
    }
    let mut feeder = kept.into_iter().next().unwrap();
    feeder.feed().unwrap();
    feeder.load(0, &samples(500)).unwrap();
    feeder.end(500).unwrap();
    assert_eq!(run(bench).0, Phase::Safe);
}

#[test]
fn silent_strangers_take_no_place_from_who_has_the_token() {
    let bench = bench(1024);
    let (address, token) = (bench.address, bench.token.clone());
    // They say nothing, or half a greeting, and stay.
    let strangers: Vec<TcpStream> = (0..300)
        .map(|number| {
            let mut stream = TcpStream::connect(address).unwrap();
            if number % 2 == 0 {
                let _ = stream.write_all(&[9, 0]);
            }
            stream
        })
        .collect();
    let mut kept: Vec<Client> =
        (0..16).map(|_| Client::connect(address, &token, &Trust::Plain).unwrap()).collect();
    let more: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
    for client in &mut kept {
        client.status().unwrap();
    }
    let mut stopper = Client::connect(address, &token, &Trust::Plain).unwrap();
    assert_eq!(stopper.stop().unwrap(), 1, "a stop finds its place");
    let (served, turned_away) = bench.link.clients();
    assert_eq!(served, 17);
    assert!(turned_away >= 300 + 40 - 256, "{turned_away}");
    assert_eq!(run(bench).0, Phase::Safe);
    drop((strangers, more));
}
