//! A run that is killed leaves a record that reads up to its last flush.

use crate::common;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use runtime::record::{Options, Record, Recorder};

const PATH: &str = "TWINRIG_TEST_KILLED_RECORD";

/// The run that will be killed: this program once more, with the path set.
#[test]
fn the_run() {
    let Some(path) = std::env::var_os(PATH) else {
        println!("nothing to do here: a_killed_run_keeps_its_frames starts it");
        return;
    };
    let options = Options {
        batch_frames: 1000,
        flush: Some(Duration::from_millis(1)),
        ..Options::rehearsal()
    };
    let (mut sink, _handle) = Recorder::create(
        Path::new(&path),
        &common::header(),
        &common::channels(),
        vec![],
        &options,
    )
    .unwrap();
    // Ends by itself should nobody kill it.
    let start = Instant::now();
    let mut tick = 0.0;
    while start.elapsed() < Duration::from_secs(60) {
        sink.wait_for_room();
        sink.push(&[tick, -tick, 0.0]);
        tick += 1.0;
        if tick % 500.0 == 0.0 {
            thread::sleep(Duration::from_micros(200));
        }
    }
}

#[test]
fn a_killed_run_keeps_its_frames() {
    let folder = tempfile::tempdir().unwrap();
    for attempt in 0..3 {
        let path = folder.path().join(format!("{attempt}.arrow"));
        let mut run = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed_run::the_run"])
            .env(PATH, &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        let size = || std::fs::metadata(&path).map_or(0, |file| file.len());
        while size() < 200_000 && start.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(2));
        }
        run.kill().unwrap();
        let status = run.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));

        let record = Record::read(&path).unwrap();
        let frames = record.columns[0].len();
        assert!(frames >= 1000, "{frames} frames");
        // At most one torn batch is missing at the end.
        assert!(frames as u64 * 17 + 40_000 > size(), "{frames} frames in {} bytes", size());
        assert!(record.columns[0].iter().enumerate().all(|(tick, &value)| value == tick as f64));
        assert!(record.columns[1].iter().enumerate().all(|(tick, &value)| value == -(tick as f64)));
        assert_eq!(record.header, common::header());
        assert_eq!(record.summary, None);
    }
}
