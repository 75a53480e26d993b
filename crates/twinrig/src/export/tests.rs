//! Exports read back, by ourselves and by the programs they are meant for.

use std::process::Command;

use model::channel::Channel;
use runtime::record::{EmbeddedFile, Header, Role, Summary, TripNote};

use super::*;

fn sample() -> Record {
    let odd = [0.1 + 0.2, -0.0, 1e-310, 1.5e300, f64::NAN, f64::NEG_INFINITY];
    Record {
        header: Header {
            role: Role::Loop,
            interface: vec![],
            version: "0.1.0".into(),
            title: "Grüße, \"Ω\"".into(),
            experiment_name: "frame.toml".into(),
            experiment: "title = \"Grüße 🏗\"\n".into(),
            inputs: vec![
                EmbeddedFile { name: "kobe.csv".into(), bytes: vec![0, 255, 7] },
                EmbeddedFile { name: "empty.csv".into(), bytes: vec![] },
            ],
            seed: u64::MAX,
            rate_hz: 4096.0,
            every: 1,
            started: String::new(),
            machine: vec![("kernel".into(), "6.12".into())],
            trip_codes: vec![(3, "force limit".into())],
            prediction: vec![],
        },
        channels: vec![
            Channel::new("time", "s", "Time"),
            Channel::new("force.1", "N", "Force, \"measured\""),
            Channel::new("trip", "", "Reason of the trip"),
        ],
        columns: vec![
            (0..6).map(|frame| f64::from(frame) / 4096.0).collect(),
            odd.to_vec(),
            vec![0.0, 0.0, 0.0, 0.0, 3.0, 3.0],
        ],
        summary: Some(Summary {
            ticks: 6,
            frames: 6,
            frames_lost: 0,
            trip: Some(TripNote {
                code: 3,
                text: "force 9.1 kN".into(),
                time_s: 0.001,
                value: 9100.0,
                limit: 8900.0,
            }),
            events: Vec::new(),
            timing: None,
        }),
    }
}

fn exported(record: &Record, format: &'static Format) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("out.{}", format.name));
    let done = export(record, format, &path).unwrap();
    assert_eq!(done.frames, record.columns[0].len());
    assert_eq!(done.bytes, fs::metadata(&path).unwrap().len());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no unfinished file stays");
    (folder, path)
}

/// Runs a Python program if the modules it needs are there.
fn python(modules: &str, program: &str, path: &Path) {
    let has = Command::new("python3").args(["-c", &format!("import {modules}")]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: python3 with {modules} is not installed");
        return;
    }
    let output = Command::new("python3").args(["-c", program]).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn csv_reads_back_to_the_same_numbers() {
    let record = sample();
    let (_folder, path) = exported(&record, &csv::FORMAT);
    let mut table = ::csv::Reader::from_path(&path).unwrap();
    assert_eq!(table.headers().unwrap(), vec!["time [s]", "force.1 [N]", "trip"]);
    let rows: Vec<::csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 6);
    for (frame, row) in rows.iter().enumerate() {
        for (index, column) in record.columns.iter().enumerate() {
            let value: f64 = row[index].parse().unwrap();
            let same = value.to_bits() == column[frame].to_bits();
            assert!(same || value.is_nan() && column[frame].is_nan(), "{}", &row[index]);
        }
    }
    assert_eq!(&rows[4][2], "3", "codes are whole numbers");
    assert!(rows[2][1].len() < 10, "no hundreds of zeros: {}", &rows[2][1]);
}

#[test]
fn mat_has_the_user_block_matlab_looks_for() {
    let (_folder, path) = exported(&sample(), &mat::FORMAT);
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(b"MATLAB 7.3 MAT-file"));
    assert_eq!(bytes[124..128], [0x00, 0x02, b'I', b'M']);
    assert_eq!(bytes[512..520], *b"\x89HDF\r\n\x1a\n");
}

#[test]
fn h5py_reads_the_mat_file() {
    let (_folder, path) = exported(&sample(), &mat::FORMAT);
    let program = r#"
import sys, h5py, numpy as np
text = lambda d: np.asarray(d).astype('<u2').tobytes().decode('utf-16-le')
with h5py.File(sys.argv[1], 'r') as f:
    assert f.userblock_size == 512
    force = f['force_1']
    assert force.shape == (1, 6) and force.dtype == np.float64
    assert force.attrs['MATLAB_class'] == b'double'
    want = np.array([0.1 + 0.2, -0.0, 1e-310, 1.5e300, np.nan, -np.inf])
    assert np.array_equal(force[0].view('u8'), want.view('u8'))
    assert np.array_equal(f['time'][0], np.arange(6) / 4096)
    assert np.array_equal(f['trip'][0], [0, 0, 0, 0, 3, 3])
    unit = f['units/force_1']
    assert unit.attrs['MATLAB_class'] == b'char' and unit.attrs['MATLAB_int_decode'] == 2
    assert unit.shape == (1, 1) and text(unit) == 'N'
    assert f['units'].attrs['MATLAB_class'] == b'struct'
    assert f['units/trip'].attrs['MATLAB_empty'] == 1
    assert text(f['names/force_1']) == 'force.1'
    assert text(f['descriptions/force_1']) == 'Force, "measured"'
    assert text(f['meta/experiment']) == 'title = "Grüße 🏗"\n'
    assert f['meta/seed'][0, 0] == 2**64 - 1 and f['meta/rate_hz'][0, 0] == 4096
    assert text(f['meta/machine/kernel']) == '6.12'
    assert text(f['meta/trip_codes/code_3']) == 'force limit'
    assert f['inputs/file_1/bytes'][0].tolist() == [0, 255, 7]
    assert f['inputs/file_2/bytes'].attrs['MATLAB_empty'] == 1
    assert f['summary/finished'][0, 0] == 1 and f['summary/tripped'][0, 0] == 1
    assert text(f['summary/trip_text']) == 'force 9.1 kN'
    assert f['summary/trip_value'][0, 0] == 9100
"#;
    python("numpy, h5py", program, &path);
}

#[test]
fn h5py_reads_a_large_and_an_empty_mat_file() {
    let mut record = sample();
    record.summary = None;
    record.channels = (0..400).map(|n| Channel::new(format!("x.{n}"), "m", "Motion")).collect();
    record.columns = (0..400).map(|n| vec![f64::from(n); 500]).collect();
    let (_folder, path) = exported(&record, &mat::FORMAT);
    let program = "
import sys, h5py
with h5py.File(sys.argv[1], 'r') as f:
    assert len([k for k in f if k.startswith('x_')]) == 400
    assert all((f[f'x_{n}'][()] == n).all() and f[f'x_{n}'].shape == (1, 500) for n in range(400))
    assert f['summary/finished'][0, 0] == 0
";
    python("h5py", program, &path);
    record.columns = vec![vec![]; 400];
    let (_folder, path) = exported(&record, &mat::FORMAT);
    let program = "
import sys, h5py
with h5py.File(sys.argv[1], 'r') as f:
    assert f['x_7'].attrs['MATLAB_empty'] == 1 and f['x_7'][()].ravel().tolist() == [0, 1]
";
    python("h5py", program, &path);
}

#[cfg(feature = "parquet")]
#[test]
fn pyarrow_reads_the_parquet_file() {
    let (_folder, path) = exported(&sample(), &parquet::FORMAT);
    let program = r#"
import sys, numpy as np, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1])
assert table.column_names == ['time', 'force.1', 'trip'] and table.num_rows == 6
want = np.array([0.1 + 0.2, -0.0, 1e-310, 1.5e300, np.nan, -np.inf])
assert np.array_equal(table['force.1'].to_numpy().view('u8'), want.view('u8'))
assert table.schema.field('force.1').metadata[b'unit'] == b'N'
assert str(table.schema.field('trip').type) == 'uint8'
assert table.schema.metadata[b'experiment'].decode() == 'title = "Grüße 🏗"\n'
"#;
    python("numpy, pyarrow.parquet", program, &path);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let error = export(&sample(), &parquet::FORMAT, folder.path().join("out")).unwrap_err();
    assert!(error.to_string().contains("built without Parquet"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_failed_export_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    fs::write(&path, "old").unwrap();
    let mut record = sample();
    record.columns[1].pop();
    assert!(matches!(export(&record, &csv::FORMAT, &path), Err(ExportError::Uneven { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    export(&sample(), &csv::FORMAT, &path).unwrap();
    assert!(fs::read(&path).unwrap().starts_with(b"time"));
    let missing = folder.path().join("missing").join("out.csv");
    assert!(matches!(export(&sample(), &csv::FORMAT, missing), Err(ExportError::Write { .. })));
    assert!(matches!(export(&sample(), &csv::FORMAT, "/"), Err(ExportError::NotAFile { .. })));
}

#[test]
fn formats_are_known_by_name() {
    for format in FORMATS {
        assert_eq!(Format::named(format.name).unwrap().about, format.about);
    }
    assert!(Format::named("xlsx").is_none());
}

#[test]
fn a_universal_file_keeps_its_columns() {
    let (_folder, path) = exported(&sample(), &universal::FORMAT);
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // Units in 7 lines; each of the two channels in 2 + 11 + 2 + 1 lines.
    assert_eq!(lines.len(), 6 + 2 * 16);
    assert_eq!(lines[..2], ["    -1", "   164"]);
    let force = &lines[6..22];
    assert_eq!(force[..4], ["    -1", "    58", "force.1", "Force, \"measured\""]);
    let kind = "    1         0    0         0 NONE               1   0 NONE               0   0";
    assert_eq!(force[7], kind);
    assert_eq!(force[8], "         4         6         1  0.00000E+00  2.44141E-04  0.00000E+00");
    assert_eq!(force[9], "        17    0    0    0 Time                 s                   ");
    assert_eq!(force[10], "        13    0    0    0 force.1              N                   ");
    let first = "  3.000000000000E-01  0.000000000000E+00  0.000000000000E+00 1.500000000000E+300";
    assert_eq!(force[13], first);
    assert_eq!(force[14], "                 NaN                -inf");
    assert_eq!(force[15], "    -1");
}

#[test]
fn programs_for_modal_testing_read_a_universal_file() {
    let (_folder, path) = exported(&sample(), &universal::FORMAT);
    let program = "
import sys, math, pyuff
file = pyuff.UFF(sys.argv[1])
assert list(file.get_set_types()) == [164, 58, 58], file.get_set_types()
force = file.read_sets(1)
assert force['func_type'] == 1 and force['rsp_node'] == 1, force
assert force['id1'].strip() == 'force.1' and force['orddenom_spec_data_type'] == 0
assert force['ordinate_spec_data_type'] == 13 and force['ordinate_axis_units_lab'].strip() == 'N'
assert abs(force['abscissa_inc'] - 1 / 4096) < 1e-9 and len(force['x']) == 6
assert list(force['data'][:4]) == [0.3, 0.0, 0.0, 1.5e300] and math.isnan(force['data'][4])
trip = file.read_sets(2)
assert list(trip['data']) == [0, 0, 0, 0, 3, 3]
";
    python("pyuff", program, &path);
}

#[test]
fn a_universal_file_needs_evenly_spaced_frames() {
    let mut record = sample();
    record.columns[0][4] += 1e-4;
    let folder = tempfile::tempdir().unwrap();
    let error = export(&record, &universal::FORMAT, folder.path().join("out.uff")).unwrap_err();
    assert!(error.to_string().contains("not evenly spaced"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
