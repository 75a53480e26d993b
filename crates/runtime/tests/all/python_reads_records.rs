//! Records are read by pyarrow, whole and cut off.

use crate::common;
use std::path::{Path, PathBuf};
use std::process::Command;

use runtime::record::{EventKind, EventNote, Options, Recorder, TripNote};

/// Records 2500 frames in batches of 1000 that end in a trip.
fn record(folder: &Path) -> PathBuf {
    let path = folder.join("record.arrow");
    let options = Options { batch_frames: 1000, ..Options::rehearsal() };
    let (mut sink, mut handle) =
        Recorder::create(&path, &common::header(), &common::channels(), vec![], &options).unwrap();
    for tick in 0..2500 {
        sink.wait_for_room();
        sink.push(&[f64::from(tick) / 4096.0, f64::from(tick) * 0.1, 3.0]);
    }
    let trip = TripNote {
        code: 3,
        text: "force 9.1 kN".into(),
        time_s: 0.61,
        value: 9100.0,
        limit: 8900.0,
    };
    let near = EventNote::new(0.5, EventKind::Warning, "near");
    handle.note(EventNote { limit: Some(50.0), ..near });
    handle.finish(2500, Some(trip)).unwrap();
    path
}

/// What `program` prints, or `None` (said aloud) where pyarrow is not installed.
fn python(program: &str, folder: &Path) -> Option<String> {
    let has = Command::new("python3").args(["-c", "import numpy, pyarrow"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: python3 with numpy and pyarrow is not installed");
        return None;
    }
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    let output = Command::new("python3")
        .args(["-B", "-c", program])
        .env("PYTHONPATH", module)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn three_lines_of_pyarrow_read_a_record() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path());
    let program = r#"
import pyarrow as pa
with open("record.arrow", "rb") as f: table = pa.ipc.open_stream(f).read_all()
print(table["force.1"].to_numpy().max(), table.schema.field("force.1").metadata[b"unit"])
"#;
    if let Some(printed) = python(program, folder.path()) {
        assert_eq!(printed.trim(), format!("{:?} b'N'", 2499.0 * 0.1));
    }
}

#[test]
fn the_loader_reads_whole_and_cut_records() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path());
    let program = r#"
import numpy as np, twinrig_record
whole = twinrig_record.load("record.arrow")
assert whole.table.num_rows == 2500 and not whole.cut_off
assert np.array_equal(whole.table["force.1"].to_numpy(), np.arange(2500) * 0.1)
assert whole.table["trip"].to_numpy().dtype == np.uint8
assert whole.unit("force.1") == "N" and whole.description("force.1") == "Measured force"
assert whole.summary == {
    "ticks": 2500, "frames": 2500, "frames_lost": 0, "complete": True, "trip_code": 3,
    "trip_text": "force 9.1 kN", "trip_time_s": 0.61, "trip_value": 9100.0, "trip_limit": 8900.0,
    "events": [{"time_s": 0.5, "what": "warning", "text": "near", "value": None, "limit": 50.0}]}
h = whole.header
assert h["experiment"] == 'title = "Ωmega"\n' and h["seed"] == 2**64 - 1 and h["rate_hz"] == 4096
assert h["inputs"] == {"kobe.csv": bytes([0, 255, 7])} and h["machine"] == {"kernel": "6.12"}
assert h["trip_codes"] == {3: "force limit"}
assert h["role"] == "loop" and h["interface"] == [{"name": "1", "dof": "roof"}]

data = open("record.arrow", "rb").read()
rows, refused = 0, 0
lengths = [*range(0, len(data), 97), len(data) - 9, len(data) - 8, len(data)]
for length in lengths:
    open("cut.arrow", "wb").write(data[:length])
    try:
        cut = twinrig_record.load("cut.arrow")
    except ValueError:
        refused += 1
        assert rows == 0
        continue
    assert cut.table.num_rows in (0, 1000, 2000, 2500) and cut.table.num_rows >= rows
    rows = cut.table.num_rows
    assert cut.cut_off == (length < len(data) - 8), length
    assert np.array_equal(cut.table["force.1"].to_numpy(), np.arange(rows) * 0.1)
assert rows == 2500 and refused > 0

open("other.arrow", "wb").write(b"time,force\n0,1\n")
try:
    twinrig_record.load("other.arrow")
except ValueError as error:
    assert "other.arrow" in str(error)
else:
    raise AssertionError("a text file was read as a record")
print("ok")
"#;
    if let Some(printed) = python(program, folder.path()) {
        assert_eq!(printed.trim(), "ok");
    }
}
