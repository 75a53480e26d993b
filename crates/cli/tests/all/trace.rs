//! `twinrig trace`: right, resumable, honest about what it cannot do.

use crate::common;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Lab;
use runtime::record::Record;

/// A mass on a spring on the shaker, another simulated on top; the lower mass is
/// split, and the simulated part of it stands in the laboratory.
pub(crate) fn file(excitation: &str, trace: &str) -> String {
    format!(
        "title = \"Two masses\"\nduration = \"1 s\"\n\
         [structure]\nnames = [\"low\", \"high\"]\n\
         [structure.chain]\nmass = [\"2 kg\", \"1 kg\"]\n\
         stiffness = [\"8000 N/m\", \"4000 N/m\"]\ndamping = [\"20 N s/m\", \"6 N s/m\"]\n\
         ends = \"fixed-free\"\n\
         [partition]\ninterface = [\"low\"]\nmass = [\"1.2 kg\"]\ndamping = [\"20 N s/m\"]\n\
         stiffness = [\"8000 N/m\"]\n\
         {excitation}\n\
         [integrator]\nmethod = \"newmark\"\nrate = \"4 kHz\"\n\
         [limits]\ncommand = \"50 mm\"\nrate = \"100 m/s\"\nforce = \"100 MN\"\n\
         [trace]\ntarget = \"20 mm\"\ninertia_compensation = \"0.8 kg\"\n\
         control = {{ stiffness = \"4 kN/m\", damping = \"60 N s/m\" }}\n{trace}\n\
         [trace.shaker]\nstiffness = \"4 kN/m\"\ndamping = \"80 N s/m\"\n"
    )
}

pub(crate) const FORCE: &str = "[[excitation.force]]\ndof = \"high\"\n\
                     harmonic = { amplitude = \"5 N\", frequency = \"8 Hz\" }";

pub(crate) fn linear() -> String {
    file(FORCE, "frequency = [\"4 Hz\", \"14 Hz\"]\ntolerance = \"100 nm\"")
}

/// |x| of the lower mass by hand.
fn truth(hz: f64) -> f64 {
    let w = std::f64::consts::TAU * hz;
    // D = [[a, b], [b, c]], x1 = −b F / det.
    let (a, ai) = (12000.0 - 2.0 * w * w, 26.0 * w);
    let (b, bi) = (-4000.0, -6.0 * w);
    let (c, ci) = (4000.0 - w * w, 6.0 * w);
    let det = (a * c - ai * ci - b * b + bi * bi, a * ci + ai * c - 2.0 * b * bi);
    5.0 * b.hypot(bi) / det.0.hypot(det.1)
}

fn rows(folder: &Path) -> Vec<csv::StringRecord> {
    let mut reader = csv::Reader::from_path(folder.join("points.csv")).unwrap();
    reader.records().map(Result::unwrap).collect()
}

#[test]
fn the_response_is_that_of_the_whole_structure_and_is_written_down() {
    let lab = Lab::new();
    lab.write("t.toml", linear());
    let ran = lab.twinrig(["--json", "trace", "t.toml", "--out", "out"]).exits(0).json();
    let summary = &ran["summary"];
    assert_eq!((&summary["ended"], &summary["complete"]), (&"band_end".into(), &true.into()));
    assert!(summary["largest_difference_percent"].as_f64().unwrap() < 0.3, "{summary}");
    assert!(summary["largest_bias_percent"].as_f64().unwrap() < 0.5, "{summary}");
    let (mut most, points) = (0.0f64, rows(&lab.path("out")));
    assert!(points.len() > 10);
    for row in &points {
        let (hz, ours): (f64, f64) = (row[1].parse().unwrap(), row[2].parse().unwrap());
        assert!((4.0..=14.0).contains(&hz));
        most = most.max((ours - truth(hz)).abs());
    }
    let peak = summary["peaks"][0]["amplitude_m"].as_f64().unwrap();
    assert!(most < 3e-3 * peak, "{most} {peak}");
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(page.contains("Response of low") && page.contains("Motion at a point"));
    // One frame per evaluation.
    lab.twinrig(["export", "out", "--format", "csv"]).exits(0);
    let exported = std::fs::read_to_string(lab.path("out/record.csv")).unwrap();
    let lines = exported.lines().filter(|line| !line.starts_with('#')).count();
    assert!(lines > summary["evaluations"].as_u64().unwrap() as usize, "{lines}");
    for command in ["report", "replay"] {
        let ran = lab.twinrig([command, "out"]).exits(1);
        assert!(ran.err.contains("iterative test"), "{}", ran.err);
    }
}

/// Traces with noise and without, along the branch and at given frequencies.
fn courses() -> [String; 3] {
    let sensors = "[sensors]\ndisplacement_noise = \"20 um\"\nforce_noise = \"1 N\"\n\
                   acceleration_noise = \"0.5 m/s^2\"\n[trace]";
    let noisy = |method: &str, course: &str| {
        let trace = format!(
            "frequency = [\"6.5 Hz\", \"7.5 Hz\"]\n{course}\ntolerance = \"5 um\"\n\
             settling = {{ periods = 10, refined = 20 }}\nmethod = \"{method}\""
        );
        file(FORCE, &trace).replace("[trace]", sensors)
    };
    let sweep = "course = \"sweep\"\npoints = 6";
    let arclength = "steps = { first = 0.3, least = 0.01, most = 0.6 }";
    [linear(), noisy("differences", arclength), noisy("surrogate", sweep)]
}

#[test]
fn a_trace_that_was_interrupted_anywhere_ends_with_the_same_files() {
    let lab = Lab::new();
    for (number, text) in courses().into_iter().enumerate() {
        lab.write("t.toml", text);
        let whole = format!("whole-{number}");
        lab.twinrig(["trace", "t.toml", "--out", &whole]).exits(0);
        let journal = std::fs::read(lab.path(&format!("{whole}/trace.journal"))).unwrap();
        // In the middle of lines, most often.
        for part in 1..12 {
            let cut = format!("cut-{number}-{part}");
            std::fs::create_dir(lab.path(&cut)).unwrap();
            let left = &journal[..journal.len() * part / 12];
            std::fs::write(lab.path(&format!("{cut}/trace.journal")), left).unwrap();
            let ran = lab.twinrig(["--json", "trace", "t.toml", "--out", &cut]).exits(0).json();
            let resumed = ran["resumed_points"].as_u64().unwrap();
            assert!(part < 6 || resumed > 0, "{ran}");
            for name in ["points.csv", "summary.json", "record.arrow", "trace.journal"] {
                let [a, b] = [&whole, &cut]
                    .map(|folder| std::fs::read(lab.path(&format!("{folder}/{name}"))).unwrap());
                assert!(a == b, "{name} differs after a cut at {part}/12 of course {number}");
            }
        }
    }
}

#[test]
fn a_finished_trace_is_only_written_again() {
    let lab = Lab::new();
    lab.write("t.toml", linear());
    lab.twinrig(["trace", "t.toml", "--out", "whole"]).exits(0);
    let before = rows(&lab.path("whole"));
    let again = lab.twinrig(["--json", "trace", "t.toml", "--out", "whole"]).exits(0).json();
    assert_eq!(again["resumed_points"], again["summary"]["points"]);
    let after = rows(&lab.path("whole"));
    assert_eq!(after.len(), before.len());
    for (a, b) in after.iter().flatten().zip(before.iter().flatten()) {
        assert_eq!(a, b);
    }
    // Another file is another trace.
    lab.write("t.toml", linear().replace("100 nm", "200 nm"));
    let ran = lab.twinrig(["trace", "t.toml", "--out", "whole"]).exits(1);
    assert!(ran.err.contains("--restart"), "{}", ran.err);
    lab.twinrig(["trace", "t.toml", "--out", "whole", "--restart"]).exits(0);
}

#[test]
fn ctrl_c_leaves_the_points_and_says_how_to_go_on() {
    let lab = Lab::new();
    let slow = "frequency = [\"4 Hz\", \"14 Hz\"]\ncourse = \"sweep\"\npoints = 3000\n\
                tolerance = \"10 nm\"";
    lab.write("t.toml", file(FORCE, slow));
    let mut child = Command::new(env!("CARGO_BIN_EXE_twinrig"))
        .args(["trace", "t.toml", "--out", "out"])
        .current_dir(lab.folder())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let journal = lab.path("out/trace.journal");
    while std::fs::metadata(&journal).map_or(0, |m| m.len()) < 20_000 {
        assert!(begun.elapsed() < Duration::from_secs(120), "no points");
        assert!(child.try_wait().unwrap().is_none(), "ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(8));
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        told.contains("stopped by the operator → the same command goes on from here"),
        "{told}"
    );
    assert!(rows(&lab.path("out")).len() > 3);
}

#[test]
fn in_real_time_the_frames_of_every_part_are_recorded_to_the_safe_end() {
    let lab = Lab::new();
    // A machine of the tests' may stand still for long.
    let text = linear() + "[realtime]\noverrun_limit = 1000000\n[record]\nflush = \"10 ms\"\n";
    lab.write("t.toml", text);
    for name in ["out/frames.arrow", "out/frames-2.arrow"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_twinrig"))
            .args(["trace", "t.toml", "--realtime", "--out", "out"])
            .current_dir(lab.folder())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while std::fs::metadata(lab.path(name)).map_or(0, |m| m.len()) < 200_000 {
            assert!(begun.elapsed() < Duration::from_secs(120), "no frames");
            assert!(child.try_wait().unwrap().is_none(), "ended by itself");
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(8));
        let record = Record::read(lab.path(name)).unwrap();
        let summary = record.summary.as_ref().unwrap();
        assert!(summary.is_complete() && summary.timing.is_some());
        assert_eq!(summary.trip.as_ref().unwrap().code, 14);
        assert!(!summary.events.is_empty());
        let last = |name: &str| *record.column(name).unwrap().last().unwrap();
        assert_eq!((last("phase"), last("trip"), last("command.1")), (3.0, 14.0, 0.0));
        assert!(record.column("measured.1").unwrap().len() > 1000, "{name}");
    }
}

#[test]
fn two_interface_dofs_are_matched_together() {
    let lab = Lab::new();
    let text = "title = \"Three masses\"\nduration = \"1 s\"\n\
        [structure.chain]\nmass = [\"2 kg\", \"2 kg\", \"1 kg\"]\n\
        stiffness = [\"8000 N/m\", \"6000 N/m\", \"4000 N/m\", \"5000 N/m\"]\n\
        damping = [\"20 N s/m\", \"15 N s/m\", \"8 N s/m\", \"9 N s/m\"]\nends = \"fixed-fixed\"\n\
        [partition]\ninterface = [1, 2]\nmass = [\"1.2 kg\", \"1 kg\"]\n\
        damping = { unit = \"N s/m\", rows = [[35, -15], [-15, 15]] }\n\
        stiffness = { unit = \"N/m\", rows = [[14e3, -6e3], [-6e3, 6e3]] }\n\
        [[excitation.force]]\ndof = 3\nharmonic = { amplitude = \"5 N\", frequency = \"8 Hz\" }\n\
        [integrator]\nmethod = \"newmark\"\nrate = \"4 kHz\"\n\
        [trace]\nfrequency = [\"6 Hz\", \"14 Hz\"]\ntarget = \"20 mm\"\ntolerance = \"100 nm\"\n\
        inertia_compensation = [\"0.8 kg\", \"1 kg\"]\n\
        control = { stiffness = \"4 kN/m\", damping = \"60 N s/m\" }\n\
        [trace.shaker]\nstiffness = \"4 kN/m\"\ndamping = \"80 N s/m\"\n";
    lab.write("t.toml", text);
    let ran = lab.twinrig(["--json", "trace", "t.toml", "--out", "out"]).exits(0).json();
    let summary = &ran["summary"];
    assert_eq!(summary["peaks"].as_array().unwrap().len(), 2);
    assert!(summary["largest_difference_percent"].as_f64().unwrap() < 0.5, "{summary}");
}

#[test]
fn a_laboratory_elsewhere_is_traced_without_its_accelerometer() {
    let lab = Lab::new();
    lab.write("t.toml", linear());
    let mut rig = Command::new(env!("CARGO_BIN_EXE_twinrig"))
        .args(["rig", "t.toml", "--once", "--listen", "127.0.0.1:0", "--out", "rig"])
        .current_dir(lab.folder())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(rig.stderr.take().unwrap()));
    let address = lines
        .find_map(|line| line.unwrap().strip_prefix("listening at ").map(str::to_owned))
        .unwrap();
    let arguments = ["--json", "trace", "t.toml", "--out", "out", "--rig", &address];
    let ran = lab.twinrig(arguments).exits(0).json();
    std::thread::spawn(move || lines.for_each(drop));
    assert!(ran["summary"]["largest_difference_percent"].as_f64().unwrap() < 0.5, "{ran}");
    assert!(rig.wait().unwrap().success());
}

#[test]
fn bad_files_are_refused_with_a_reason() {
    let lab = Lab::new();
    let band = "frequency = [\"4 Hz\", \"14 Hz\"]";
    let chirp = "[[excitation.force]]\ndof = \"high\"\nchirp = { amplitude = \"5 N\", from = \
                 \"1 Hz\", to = \"9 Hz\", duration = \"1 s\" }";
    let two = "[[excitation.force]]\ndof = \"high\"\nharmonic = { amplitude = \"5 N\", frequency = \
               \"8 Hz\" }\n[[excitation.force]]\ndof = \"low\"\nharmonic = { amplitude = \"5 N\", \
               frequency = \"8 Hz\", phase = \"90 deg\" }";
    let cases = [
        (file(chirp, band), "is no harmonic"),
        (file(two, band), "not in phase"),
        (file(FORCE, "frequency = [\"14 Hz\", \"4 Hz\"]"), "the lower frequency first"),
        (file(FORCE, "frequency = [\"4 Hz\", \"900 Hz\"]"), "samples per period"),
        (
            file(FORCE, &format!("{band}\nseen = 2\nharmonics = 3")),
            "at least those that are matched",
        ),
        (
            file(FORCE, &format!("{band}\nsteps = {{ first = 2, least = 3, most = 4 }}")),
            "least ≤ first ≤ most",
        ),
        (
            linear().replace(
                "[trace]",
                "[[partition.element]]\nbetween = [\"ground\", \"high\"]\nkind = \"gap\"\n\
                 stiffness = \"1 kN/m\"\nopening = \"1 mm\"\n[trace]",
            ),
            "is no DOF of the specimen",
        ),
        (linear().replace("[trace]", "[main_loop]\nratio = 4\n[trace]"), "two rates"),
        (file(FORCE, "frequency = [\"40 Hz\", \"100 Hz\"]\nseen = 20"), "record fewer"),
        (linear().split("[trace.shaker]").next().unwrap().to_owned(), "t.toml: the rig of"),
    ];
    for (text, expected) in cases {
        lab.write("t.toml", &text);
        let ran = lab.twinrig(["trace", "t.toml", "--out", "out"]);
        assert_eq!(ran.code, 3, "{expected}: {} {}", ran.out, ran.err);
        assert!(ran.err.contains(expected), "{expected}: {}", ran.err);
    }
    lab.write("t.toml", common::Draft::new().text());
    let ran = lab.twinrig(["trace", "t.toml", "--out", "out"]).exits(3);
    assert!(ran.err.contains("no [trace]"), "{}", ran.err);
}

#[test]
fn check_says_what_feedback_would_do() {
    let lab = Lab::new();
    lab.write("t.toml", linear());
    let ran = lab.twinrig(["check", "t.toml"]).exits(0);
    assert!(ran.out.contains("unstable at any delay"), "{}", ran.out);
    let json = lab.twinrig(["--json", "check", "t.toml"]).exits(0).json();
    assert_eq!(json["feedback"]["verdict"], "impossible");
}

#[test]
fn a_limit_on_the_rig_trips_and_keeps_what_was_found() {
    let lab = Lab::new();
    lab.write("t.toml", linear().replace("command = \"50 mm\"", "command = \"6 mm\""));
    let ran = lab.twinrig(["trace", "t.toml", "--out", "out"]).exits(4);
    assert!(ran.out.contains("command beyond its limit"), "{}", ran.out);
    assert!(!rows(&lab.path("out")).is_empty());
}

#[test]
fn noise_is_averaged_away_where_a_point_is_kept_and_the_interval_tells() {
    let lab = Lab::new();
    let noisy = |settling: &str, method: &str| {
        let trace = format!(
            "frequency = [\"6.5 Hz\", \"7.5 Hz\"]\ncourse = \"sweep\"\npoints = 5\n\
             tolerance = \"5 um\"\nsettling = {{ {settling} }}\nmethod = \"{method}\""
        );
        let sensors = "[sensors]\ndisplacement_noise = \"100 um\"\nforce_noise = \"5 N\"\n\
                       acceleration_noise = \"2 m/s^2\"\n[trace]";
        file(FORCE, &trace).replace("[trace]", sensors)
    };
    let mut differences = Vec::new();
    for (settling, method) in [
        ("periods = 20, refined = 20", "differences"),
        ("periods = 20, refined = 200", "differences"),
        ("periods = 20, refined = 200", "surrogate"),
    ] {
        lab.write("t.toml", noisy(settling, method));
        let arguments = ["--json", "trace", "t.toml", "--out", "out", "--restart"];
        let ran = lab.twinrig(arguments).exits(0).json();
        assert_eq!(ran["summary"]["points"], 5, "{ran}");
        differences.push(ran["summary"]["largest_difference_percent"].as_f64().unwrap());
        for row in rows(&lab.path("out")) {
            let (hz, ours): (f64, f64) = (row[1].parse().unwrap(), row[2].parse().unwrap());
            let interval: f64 = row[4].parse().unwrap();
            // Twice the standard deviation holds 19 of 20.
            assert!((ours - truth(hz)).abs() < 2.0 * interval + 5e-6, "{hz}: {ours} ± {interval}");
        }
    }
    assert!(differences[1] < 0.8 && differences[2] < 0.8, "{differences:?}");
    assert!(differences[1] < 0.6 * differences[0], "{differences:?}");
}

/// The same masses on an actuator that holds a place.
fn placed(transfer_system: &str, trace: &str) -> String {
    let text = file(FORCE, trace);
    let text = text.split("[trace.shaker]").next().unwrap();
    format!("{text}\n[transfer_system]\n{transfer_system}\n")
}

const GAP: &str = "[[partition.element]]\nat = 1\nkind = \"gap\"\nstiffness = \"8 kN/m\"\n\
                   opening = \"0 mm\"\nside = \"positive\"\n";

#[test]
fn an_actuator_that_holds_a_place_finds_the_mean_of_a_one_sided_specimen() {
    let lab = Lab::new();
    let trace = "frequency = [\"5 Hz\", \"6 Hz\"]\nharmonics = 5\ntolerance = \"1 um\"\n\
                 course = \"sweep\"\npoints = 3\nscale = { target = \"2 mm\" }";
    lab.write("t.toml", placed("kind = \"delay\"\ndelay = \"2 ms\"", trace) + GAP);
    let ran = lab.twinrig(["--json", "trace", "t.toml", "--out", "out"]).exits(0).json();
    let summary = &ran["summary"];
    assert!(summary["largest_difference_percent"].as_f64().unwrap() < 0.5, "{summary}");
    lab.twinrig(["export", "out", "--format", "csv"]).exits(0);
    let text = std::fs::read_to_string(lab.path("out/record.csv")).unwrap();
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let column = |name: &str| heads.iter().position(|head| head.starts_with(name)).unwrap();
    let last = reader.records().last().unwrap().unwrap();
    let of = |name: &str| last[column(name)].parse::<f64>().unwrap();
    let (target, simulated) = (of("target.1.mean"), of("simulated.1.mean"));
    assert!(target < -1e-4, "pushed to the side without the spring: {target}");
    assert!((target - simulated).abs() < 2e-6, "{target} {simulated}");
}

#[test]
fn the_mean_of_a_rig_with_a_gain_does_not_run_away() {
    let lab = Lab::new();
    let trace = "frequency = [\"6 Hz\", \"7 Hz\"]\ncourse = \"sweep\"\npoints = 3\n\
                 tolerance = \"2 um\"";
    let noisy = "[sensors]\ndisplacement_noise = \"20 um\"\n";
    let rig = "kind = \"transfer_function\"\nnumerator = [3.06e6]\n\
               denominator = [1, 200, 3e4, 3e6]";
    for mean in ["", "\nmean = \"solved\"", "\nmean = \"zero\""] {
        lab.write("t.toml", placed(rig, &format!("{trace}{mean}")) + noisy);
        let ran = lab.twinrig(["--json", "trace", "t.toml", "--restart", "--out", "out"]);
        let ran = ran.exits(0).json();
        assert!(ran["summary"]["largest_difference_percent"].as_f64().unwrap() < 2.0, "{ran}");
    }
}

#[test]
fn a_response_beyond_the_target_is_no_whole_trace() {
    let lab = Lab::new();
    lab.write("t.toml", linear().replace("target = \"20 mm\"", "target = \"6 mm\""));
    let ran = lab.twinrig(["--json", "trace", "t.toml", "--out", "out"]).exits(5).json();
    let summary = &ran["summary"];
    assert_eq!((&summary["ended"], &summary["complete"]), (&"limit".into(), &false.into()));
    assert!(summary["reason"].as_str().unwrap().contains("beyond the limit `trace.target`"));
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(page.contains("Doubtful: not the whole band"));
    assert!(rows(&lab.path("out")).len() > 2);
}

#[test]
fn a_damaged_line_of_the_journal_costs_no_point() {
    let lab = Lab::new();
    lab.write("t.toml", linear());
    lab.twinrig(["trace", "t.toml", "--out", "out"]).exits(0);
    let whole = rows(&lab.path("out"));
    let path = lab.path("out/trace.journal");
    let mut text = std::fs::read_to_string(&path).unwrap();
    let at = text.match_indices("\"orbit\"").nth(20).unwrap().0;
    text.replace_range(at..at + 7, "\"arbit\"");
    std::fs::write(&path, text).unwrap();
    lab.twinrig(["trace", "t.toml", "--out", "out"]).exits(0);
    assert_eq!(rows(&lab.path("out")), whole);
    // A device is no journal, even one that can be read for ever.
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    let ran = lab.twinrig(["trace", "t.toml", "--out", "out"]).exits(1);
    assert!(ran.err.contains("is not the journal of a trace"), "{}", ran.err);
}

#[test]
fn a_target_that_the_gate_would_stop_is_warned_of() {
    let lab = Lab::new();
    lab.write("t.toml", linear().replace("command = \"50 mm\"", "command = \"6 mm\""));
    let ran = lab.twinrig(["check", "t.toml"]).exits(0);
    assert!(ran.err.contains("targets up to 20 mm may be tried"), "{}", ran.err);
}

#[test]
fn a_peak_between_wide_points_is_not_made_up() {
    let lab = Lab::new();
    // The resonance at 7.12 Hz is 0.05 Hz wide.
    let trace = "frequency = [\"4.5 Hz\", \"10.5 Hz\"]\ncourse = \"sweep\"\npoints = 7\n\
                 tolerance = \"100 nm\"";
    let text = file(FORCE, trace).replace("20 N s/m", "2 N s/m").replace("6 N s/m", "0.6 N s/m");
    lab.write("t.toml", text);
    let ran = lab.twinrig(["--json", "trace", "t.toml", "--out", "out"]).exits(0).json();
    let largest = rows(&lab.path("out")).into_iter().map(|row| row[2].parse::<f64>().unwrap());
    let peak = &ran["summary"]["peaks"][0];
    assert_eq!(peak["amplitude_m"].as_f64().unwrap(), largest.fold(0.0, f64::max));
    assert_eq!(peak["from"], "largest_point");
    let told = lab.twinrig(["trace", "t.toml", "--out", "out"]).exits(0).out;
    assert!(told.contains("largest point of low (peak between two points)"), "{told}");
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(page.contains("largest point of low (peak between two points)"));
}

#[test]
fn without_a_load_nothing_moves() {
    let lab = Lab::new();
    lab.write("t.toml", linear().replace("\"5 N\"", "\"0 N\""));
    let ran = lab.twinrig(["trace", "t.toml", "--out", "out"]).exits(0);
    assert!(ran.out.contains("nothing moved: the load is zero"), "{}", ran.out);
    assert!(!ran.out.contains('%') && !ran.out.contains("inf"), "{}", ran.out);
    let summary = std::fs::read_to_string(lab.path("out/summary.json")).unwrap();
    assert!(summary.contains("\"moved\": false"), "{summary}");
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(page.contains("the load is zero"));
}

/// A two-storey building that touches a stop 1 mm away. Its folds by an
/// independent harmonic balance (25 harmonics, 1024 samples, Newton's method with
/// the amplitude prescribed): 6.84497 Hz at 1.136 mm and 6.88856 Hz at 2.687 mm.
pub(crate) const STOP: &str = "title = \"Stop\"\nduration = \"2 s\"\n\
    [structure]\nnames = [\"low\", \"top\"]\n\
    [structure.shear_building]\nmass = [\"20 kg\", \"15 kg\"]\n\
    stiffness = [\"80 kN/m\", \"60 kN/m\"]\ndamping = [\"40 N s/m\", \"30 N s/m\"]\n\
    [partition]\ninterface = [\"low\"]\nmass = [\"12 kg\"]\nstiffness = [\"80 kN/m\"]\n\
    damping = [\"40 N s/m\"]\n\
    [[partition.element]]\nat = 1\nkind = \"gap\"\nstiffness = \"40 kN/m\"\n\
    opening = \"1 mm\"\nside = \"positive\"\n\
    [[excitation.force]]\ndof = \"top\"\n\
    harmonic = { amplitude = \"5 N\", frequency = \"13 Hz\" }\n\
    [integrator]\nmethod = \"newmark\"\nrate = \"5 kHz\"\n\
    [limits]\ncommand = \"200 mm\"\n\
    [trace]\nfrequency = [\"6.2 Hz\", \"7.1 Hz\"]\ntarget = \"60 mm\"\nharmonics = 3\n\
    scale = { target = \"5 mm\", frequency = \"0.3 Hz\" }\ntolerance = \"100 nm\"\n\
    inertia_compensation = \"3 kg\"\n\
    [trace.shaker]\nstiffness = \"5 kN/m\"\ndamping = \"500 N s/m\"\n";

#[test]
fn folds_and_differences_are_those_of_the_branch_and_not_of_its_chords() {
    let lab = Lab::new();
    lab.write("t.toml", STOP);
    let ran = lab.twinrig(["--json", "trace", "t.toml", "--out", "out"]).exits(0).json();
    let summary = &ran["summary"];
    // What the integrator does at 5 kHz, and no more.
    assert!(summary["largest_difference_percent"].as_f64().unwrap() < 0.25, "{summary}");
    let truth = [(6.888_565, 2.687e-3), (6.844_966, 1.136e-3)];
    for (k, (hz, amplitude)) in truth.into_iter().enumerate() {
        let of = |list: &str, key: &str| summary[list][k][key].as_f64().unwrap();
        assert!((of("reference_folds", "frequency_hz") - hz).abs() < 1e-5, "{summary}");
        assert!((of("reference_folds", "amplitude_m") - amplitude).abs() < 1e-5, "{summary}");
        let off = (of("folds", "frequency_hz") - hz).abs();
        assert!(off < of("folds", "frequency_interval_hz"), "{summary}");
        assert!(of("folds", "frequency_interval_hz") < 3e-3, "{summary}");
        let off = (of("folds", "amplitude_m") - amplitude).abs();
        assert!(off < of("folds", "amplitude_interval_m"), "{summary}");
        // A corner between the points, as at a stop, is counted as well.
        assert!(of("folds", "amplitude_interval_m") < 0.25e-3, "{summary}");
    }
}

/// A cantilever whose tip is held by a spring against turning, in the laboratory.
const BEAM: &str = r#"
title = "Cantilever"
duration = "1 s"
[structure]
names = ["mid", "mid turn", "tip", "turn"]
[structure.beam]
elements = 2
length = "1 m"
young = "210 GPa"
density = "7850 kg/m^3"
width = "40 mm"
height = "8 mm"
ends = "clamped-free"
[structure.damping]
modal = "2 %"
[partition]
interface = ["turn"]
mass = ["0.0002 kg m^2"]
stiffness = ["40 N m/rad"]
[[excitation.force]]
dof = "tip"
harmonic = { amplitude = "1 N", frequency = "5 Hz" }
[integrator]
method = "newmark"
rate = "4 kHz"
[limits]
command = "0.5 rad"
[trace]
frequency = ["4 Hz", "8 Hz"]
target = "0.3 rad"
tolerance = "1e-7 rad"
course = "sweep"
points = 3
[transfer_system]
kind = "delay"
delay = "2 ms"
"#;

#[test]
fn a_rotation_is_shown_as_one() {
    let lab = Lab::new();
    lab.write("t.toml", BEAM);
    let ran = lab.twinrig(["trace", "t.toml", "--out", "out"]).exits(0);
    assert!(ran.out.contains("[mrad]") && !ran.out.contains("[mm]"), "{}", ran.out);
    let head = std::fs::read_to_string(lab.path("out/points.csv")).unwrap();
    assert!(head.starts_with("point,frequency_hz,turn.amplitude_rad"), "{head:.80}");
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(page.contains("Amplitude [mrad]") && !page.contains("[mm]"));
}

#[test]
fn intervals_by_a_surrogate_hold_the_truth() {
    let lab = Lab::new();
    let noisy = STOP
        .replace("[[partition.element]]\nat = 1\nkind = \"gap\"\nstiffness = \"40 kN/m\"\n", "")
        .replace("opening = \"1 mm\"\nside = \"positive\"\n", "")
        .replace("harmonics = 3\n", "method = \"surrogate\"\n")
        .replace("5 kHz", "10 kHz")
        .replace("\"5 mm\", frequency = \"0.3 Hz\"", "\"1 mm\", frequency = \"0.5 Hz\"")
        .replace(
            "[trace]\n",
            "[sensors]\ndisplacement_noise = \"1 um\"\nforce_noise = \"0.05 N\"\n\
             acceleration_noise = \"0.02 m/s^2\"\n[trace]\n\
             settling = { periods = 100, refined = 800, longest = \"40 s\" }\n",
        );
    lab.write("t.toml", noisy);
    lab.twinrig(["trace", "t.toml", "--out", "out"]).exits(0);
    let mut reader = csv::Reader::from_path(lab.path("out/points.csv")).unwrap();
    let heads = reader.headers().unwrap().clone();
    let column = |name: &str| heads.iter().position(|head| head == name).unwrap();
    let (own, apart) = (column("low.interval_m"), column("low.difference_from_reference_m"));
    let share = |row: csv::StringRecord| {
        row[apart].parse::<f64>().unwrap().abs() / row[own].parse::<f64>().unwrap()
    };
    let shares: Vec<f64> = reader.records().map(|row| share(row.unwrap())).collect();
    let inside = shares.iter().filter(|share| **share <= 1.0).count();
    // The integrator's bias, which no interval counts, costs one in twenty.
    assert!(inside as f64 > 0.85 * shares.len() as f64, "{shares:?}");
    assert!(shares.iter().all(|share| *share < 2.0), "{shares:?}");
}
