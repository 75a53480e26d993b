//! The recorder and the reader against each other.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::world::System;

pub(super) fn header() -> Header {
    Header {
        role: Role::Laboratory,
        interface: vec![InterfaceDof { name: "1".into(), dof: Some("roof \"x\"".into()) }],
        version: "0.1.0".into(),
        title: "Shaking Ωμέγα".into(),
        experiment_name: "frame.toml".into(),
        experiment: "title = \"Shaking\"\n".into(),
        inputs: vec![EmbeddedFile { name: "kobe.csv".into(), bytes: vec![0, 255, 10, 13, 7] }],
        seed: u64::MAX,
        rate_hz: 4096.1,
        every: 3,
        started: String::new(),
        machine: vec![("kernel".into(), "6.12".into()), ("a \"quoted\" fact".into(), "".into())],
        trip_codes: vec![(0, "none".into()), (3, "force limit".into())],
        prediction: vec![],
    }
}

pub(super) fn channels(count: usize) -> Vec<Channel> {
    (0..count)
        .map(|index| Channel::new(format!("force.{index}"), "N", format!("Force {index}")))
        .collect()
}

fn options(batch_frames: usize) -> Options {
    Options { batch_frames, ..Options::rehearsal() }
}

fn trip() -> TripNote {
    TripNote {
        code: 3,
        text: "force 9.1 kN exceeds 8.9 kN".into(),
        time_s: 0.125,
        value: 9100.0,
        limit: 8900.0,
    }
}

/// A value that differs in every cell.
fn cell(frame: usize, channel: usize) -> f64 {
    frame as f64 * 1.5 + (channel as f64).exp()
}

/// Records `frames` frames of three channels and returns the folder and the file.
fn recorded(frames: usize, batch_frames: usize) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let channels = channels(3);
    let (mut sink, handle) =
        Recorder::create(&path, &header(), &channels, vec![], &options(batch_frames)).unwrap();
    for frame in 0..frames {
        sink.wait_for_room();
        sink.push(&[0, 1, 2].map(|channel| cell(frame, channel)));
    }
    let summary = handle.finish(frames as u64, None).unwrap();
    assert_eq!((summary.frames, summary.frames_lost), (frames as u64, 0));
    (folder, path)
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let mut channels = channels(2);
    channels.push(Channel::new("phase", "", "Phase of the run"));
    channels.push(Channel::new("trip", "", "Reason of the trip"));
    let reference = Channel::new("reference.1", "m", "As if it were built");
    let known: Vec<f64> = (0..700).map(|frame| -(frame as f64)).collect();
    let extra = vec![(reference.clone(), known.clone())];
    let (mut sink, mut handle) =
        Recorder::create(&path, &header(), &channels, extra, &options(256)).unwrap();
    let event = |time_s: f64, value: Option<f64>| EventNote {
        code: Some(6),
        value,
        limit: Some(0.1 + 0.2),
        ..EventNote::new(time_s, EventKind::Warning, "stability \"warning\" at 50 %")
    };
    handle.note(event(2.0, None));
    handle.note(event(1.0, Some(-1e-300)));
    handle.note(event(2.0, Some(3.0)));
    let odd = [f64::NAN, f64::INFINITY, -0.0, f64::MIN_POSITIVE / 4.0];
    for frame in 0..1000 {
        sink.wait_for_room();
        sink.push(&[cell(frame, 0), odd[frame % 4], (frame % 5) as f64, 300.0]);
    }
    let summary = handle.finish(3000, Some(trip())).unwrap();
    let events = vec![event(1.0, Some(-1e-300)), event(2.0, None), event(2.0, Some(3.0))];
    let expected = Summary {
        ticks: 3000,
        frames: 1000,
        frames_lost: 0,
        trip: Some(trip()),
        events,
        timing: None,
    };
    assert_eq!(summary, expected);

    let record = Record::read(&path).unwrap();
    assert_eq!(record.header, header());
    assert_eq!(record.header, Record::read_header(&path).unwrap());
    channels.push(reference);
    assert_eq!(record.channels, channels);
    assert_eq!(record.summary, Some(summary));
    for frame in 0..1000 {
        assert_eq!(record.columns[0][frame], cell(frame, 0));
        assert_eq!(record.columns[1][frame].to_bits(), odd[frame % 4].to_bits());
        assert_eq!(record.columns[2][frame], (frame % 5) as f64);
        assert_eq!(record.columns[3][frame], 255.0, "a code saturates");
        match known.get(frame) {
            Some(value) => assert_eq!(record.columns[4][frame], *value),
            None => assert!(record.columns[4][frame].is_nan()),
        }
    }
}

#[test]
fn the_same_rehearsal_gives_the_same_bytes() {
    let (first, second) = (recorded(10_000, 512), recorded(10_000, 512));
    assert_eq!(fs::read(first.1).unwrap(), fs::read(second.1).unwrap());
}

#[test]
fn a_dropped_handle_leaves_every_frame_without_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let (mut sink, handle) =
        Recorder::create(&path, &header(), &channels(1), vec![], &options(64)).unwrap();
    for frame in 0..100 {
        sink.push(&[frame as f64]);
    }
    drop(handle);
    let record = Record::read(&path).unwrap();
    assert_eq!(record.columns[0], (0..100).map(f64::from).collect::<Vec<_>>());
    assert_eq!(record.summary, None);
    // The writer is gone: waiting for it must not hang.
    for _ in 0..2 * options(64).ring_frames {
        sink.wait_for_room();
        sink.push(&[0.0]);
    }
    assert!(sink.frames_lost() > 0);
}

#[test]
fn frames_are_flushed_while_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let options = Options { flush: Some(Duration::from_millis(1)), ..options(1 << 16) };
    let (mut sink, handle) =
        Recorder::create(&path, &header(), &channels(1), vec![], &options).unwrap();
    sink.push(&[7.0]);
    let start = Instant::now();
    while handle.frames_written() == 0 && start.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(1));
    }
    let record = Record::read(&path).unwrap();
    assert_eq!((record.columns, record.summary), (vec![vec![7.0]], None));
    handle.finish(1, None).unwrap();
    assert!(Record::read(&path).unwrap().summary.is_some());
}

#[test]
fn a_frame_of_the_wrong_width_is_lost_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let (mut sink, handle) =
        Recorder::create(&path, &header(), &channels(2), vec![], &options(64)).unwrap();
    sink.push(&[1.0]);
    sink.push(&[1.0, 2.0, 3.0, 4.0]);
    let summary = handle.finish(2, None).unwrap();
    assert_eq!((summary.frames, summary.frames_lost), (0, 2));
    assert!(!summary.is_complete());
}

#[test]
fn a_test_never_overwrites_a_record() {
    let (_folder, path) = recorded(10, 10);
    let before = fs::read(&path).unwrap();
    let options = Options::real_time(4096.0);
    let error = Recorder::create(&path, &header(), &channels(3), vec![], &options).err().unwrap();
    assert!(matches!(error, RecordError::Exists { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_rehearsal_replaces_a_rehearsal_but_never_a_real_test() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let real = Header { started: "2026-11-16T08:00:00Z".into(), ..header() };
    for (first, is_kept) in [(header(), false), (real, true)] {
        let (_sink, handle) =
            Recorder::create(&path, &first, &channels(1), vec![], &options(64)).unwrap();
        handle.finish(0, None).unwrap();
        let again = Recorder::create(&path, &header(), &channels(1), vec![], &options(64));
        match again {
            Ok((_sink, handle)) => {
                assert!(!is_kept, "the record of a real test is gone");
                handle.finish(0, None).unwrap();
            }
            Err(error) => {
                assert!(is_kept && matches!(error, RecordError::Exists { .. }), "{error}");
            }
        }
    }
}

#[test]
fn impossible_channels_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let refuse = |channels: &[Channel]| {
        Recorder::create(&path, &header(), channels, vec![], &options(10)).err().unwrap()
    };
    assert!(matches!(refuse(&[]), RecordError::NoChannels));
    let twice = [&channels(2)[..], &channels(1)].concat();
    assert!(matches!(refuse(&twice), RecordError::DuplicateChannel(name) if name == "force.0"));
    assert!(matches!(refuse(&channels(20_001)), RecordError::TooManyChannels { .. }));
    assert!(!path.exists(), "nothing is created for a run that cannot start");
}

#[test]
fn a_very_wide_record_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let channels = channels(20_000);
    let options = Options { ring_frames: usize::MAX, ..options(usize::MAX) };
    let options = Options { batch_frames: 4, ring_frames: 4, ..options };
    let (mut sink, handle) =
        Recorder::create(&path, &header(), &channels, vec![], &options).unwrap();
    let frame: Vec<f64> = (0..20_000).map(f64::from).collect();
    sink.push(&frame);
    handle.finish(1, None).unwrap();
    let record = Record::read(&path).unwrap();
    assert_eq!(record.columns.concat(), frame);
}

#[test]
fn a_record_cut_anywhere_keeps_every_complete_batch() {
    let (_folder, path) = recorded(23, 5);
    let file = fs::File::options().write(true).open(&path).unwrap();
    let whole = file.metadata().unwrap().len();
    let mut later = Some(23);
    for length in (0..=whole).rev() {
        file.set_len(length).unwrap();
        match Record::read(&path) {
            Err(RecordError::NoHeader { .. }) => {
                assert!(later.is_none_or(|frames| frames == 0), "header lost at {length}");
                later = None;
            }
            Err(error) => panic!("cut at {length}: {error}"),
            Ok(record) => {
                let frames = record.columns[0].len();
                assert!(later.is_some_and(|later| frames <= later), "cut at {length}");
                assert!(frames % 5 == 0 || frames == 23, "{frames} frames, cut at {length}");
                for (channel, column) in record.columns.iter().enumerate() {
                    let expected: Vec<f64> = (0..frames).map(|f| cell(f, channel)).collect();
                    assert_eq!(*column, expected);
                }
                // The last eight bytes only mark the end of the summary's stream.
                assert_eq!(record.summary.is_some(), length + 8 >= whole, "cut at {length}");
                later = Some(frames);
            }
        }
    }
    assert_eq!(later, None);
}

#[test]
fn zeros_after_a_power_cut_count_as_a_cut() {
    let (_folder, path) = recorded(20, 5);
    let whole = fs::read(&path).unwrap();
    let batch =
        (0..whole.len() - 8).filter(|&at| whole[at..at + 4] == [0xff; 4] && at > 4).nth(2).unwrap();
    let mut torn = whole[..batch].to_vec();
    torn.resize(batch + 4096, 0);
    fs::write(&path, &torn).unwrap();
    let record = Record::read(&path).unwrap();
    assert_eq!((record.columns[0].len(), record.summary), (10, None));
}

#[test]
fn damage_is_reported_and_what_stands_before_it_salvaged() {
    let (_folder, path) = recorded(20, 5);
    let mut bytes = fs::read(&path).unwrap();
    let batch = (8..bytes.len()).filter(|&at| bytes[at..].starts_with(&[0xff; 4])).nth(2).unwrap();
    bytes[batch] = 0x7f;
    fs::write(&path, &bytes).unwrap();
    let error = Record::read(&path).unwrap_err();
    match &error {
        RecordError::Damaged { offset, frames, .. } => {
            assert_eq!((*offset, *frames), (batch as u64, 10));
        }
        error => panic!("{error}"),
    }
    assert!(error.to_string().contains("record.arrow"), "{error}");
    let (salvaged, damage) = Record::salvage(&System, &path).unwrap();
    assert_eq!(salvaged.columns[0].len(), 10);
    assert!(damage.is_some());
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.arrow");
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        Record::read(&path).unwrap_err()
    };
    assert!(matches!(read(b""), RecordError::NoHeader { .. }));
    assert!(matches!(read(b"ARROW1\0\0rest of it"), RecordError::NotARecord { .. }));
    assert!(matches!(read(b"time,force\n0,1\n"), RecordError::NotARecord { .. }));
    assert!(matches!(read(&[0xff; 64]), RecordError::NotARecord { .. }));
    let absurd = [&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f][..], &[1; 64]].concat();
    assert!(matches!(read(&absurd), RecordError::NotARecord { .. }));
    let missing = Record::read(folder.path().join("missing.arrow")).unwrap_err();
    assert!(matches!(missing, RecordError::Read { .. }));
    assert!(matches!(Record::read(folder.path()).unwrap_err(), RecordError::Read { .. }));
}

#[test]
fn a_later_format_is_named() {
    let (_folder, path) = recorded(1, 1);
    let mut bytes = fs::read(&path).unwrap();
    let key = bytes.windows(14).position(|window| window == b"twinrig_record").unwrap();
    // The value "1" stands near its key; the order is the flatbuffer's.
    let near = bytes[key - 24..key + 40]
        .windows(5)
        .position(|window| window == [1, 0, 0, 0, b'1'])
        .unwrap();
    bytes[key - 24 + near + 4] = b'2';
    fs::write(&path, &bytes).unwrap();
    let error = Record::read(&path).unwrap_err();
    assert!(matches!(&error, RecordError::NewerFormat(_, found) if found == "2"), "{error}");
}

/// The file that every random damage starts from.
fn sample() -> &'static [u8] {
    static SAMPLE: OnceLock<Vec<u8>> = OnceLock::new();
    SAMPLE.get_or_init(|| fs::read(recorded(40, 16).1).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn random_damage_never_panics(
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = sample().to_vec();
        for (index, value) in damage {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &bytes).unwrap();
        if let Ok((salvaged, _)) = Record::salvage(&System, file.path()) {
            let frames = salvaged.columns[0].len();
            prop_assert!(frames * 24 <= bytes.len());
            prop_assert!(salvaged.columns.iter().all(|column| column.len() == frames));
        }
    }

    #[test]
    fn any_header_reads_back(
        texts in vec(".*", 6), bytes in vec(any::<u8>(), 0..200), seed: u64,
        rate_hz in -1e300..1e300, code: u8,
    ) {
        let header = Header {
            interface: vec![InterfaceDof { name: texts[3].clone(), dof: Some(texts[1].clone()) }],
            version: texts[0].clone(),
            title: texts[1].clone(),
            experiment_name: texts[2].clone(),
            experiment: texts[3].clone(),
            inputs: vec![EmbeddedFile { name: texts[4].clone(), bytes }],
            seed,
            rate_hz,
            every: seed / 3,
            started: texts[5].clone(),
            machine: vec![(texts[0].clone(), texts[1].clone()); 2],
            trip_codes: vec![(code, texts[2].clone())],
            ..header()
        };
        let channels = channels(1);
        let schema = schema::data_schema(&header, &[&channels[0]]).unwrap();
        prop_assert_eq!(schema::parse_header(schema.metadata()).unwrap(), header);
    }
}

fn timing_note() -> TimingNote {
    TimingNote {
        period_s: 1.0 / 4096.0,
        overruns: 3,
        missed: 2,
        most_in_a_row: 2,
        overrun_limit: 10,
        facts: vec![("loop processor".into(), "1".into())],
        notices: vec!["no real-time priority".into()],
        latencies: vec![LatencyNote {
            name: "wake_up".into(),
            count: 12,
            // Binary fractions: the reader of JSON may be off by the last bit of others.
            min_s: 2f64.powi(-20),
            mean_s: 2f64.powi(-19),
            p50_s: 2f64.powi(-19),
            p90_s: 2f64.powi(-18),
            p99_s: 2f64.powi(-17),
            p999_s: 2f64.powi(-16),
            max_s: 2f64.powi(-15),
            bins: vec![(2f64.powi(-20), 2f64.powi(-19), 7), (2f64.powi(-16), 0.125, 5)],
        }],
    }
}

#[test]
fn a_timing_note_reads_back() {
    let text = serde_json::to_string(&timing_note()).unwrap();
    assert_eq!(serde_json::from_str::<TimingNote>(&text).unwrap(), timing_note());
    assert!(
        text.starts_with("{\"period_s\":0.000244140625,\"overruns\":3,\"missed\":2,"),
        "{text}"
    );
    assert!(text.contains("\"facts\":[[\"loop processor\",\"1\"]]"), "{text}");
}

#[test]
fn damage_of_a_timing_note_is_found_wherever_it_is() {
    let whole = serde_json::to_value(timing_note()).unwrap();
    let keys: Vec<String> = whole.as_object().unwrap().keys().cloned().collect();
    for key in keys {
        let mut torn = whole.clone();
        torn[&key] = serde_json::json!({ "other": true });
        assert!(serde_json::from_value::<TimingNote>(torn).is_err(), "{key}");
    }
}
