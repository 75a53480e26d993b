//! The attacks of `tests/attack` against the real program: each ends with `OK …`.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a script in `tests/attack`; skips, said aloud, where Python lacks what it needs.
fn withstands(script: &str) {
    let probe = Command::new("python3").args(["-c", "import numpy, pyarrow"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: no python3 with numpy and pyarrow");
        return;
    }
    let output = Command::new("python3")
        .arg("-B")
        .arg(root().join("tests/attack").join(script).with_extension("py"))
        .env("TWINRIG", env!("CARGO_BIN_EXE_twinrig"))
        .env("TWINRIG_ROOT", root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let last = said.lines().last().unwrap_or_default();
    let (said, err) = (&said, String::from_utf8_lossy(&output.stderr));
    // A script that lacks a privilege says so in its last line.
    assert!(last.starts_with("OK ") || last.starts_with("SKIPPED "), "{script}:\n{said}\n{err}");
}

macro_rules! attacks {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            withstands(stringify!($name));
        })*

        #[test]
        fn every_attack_is_run() {
            let known = [$(stringify!($name)),*];
            for entry in root().join("tests/attack").read_dir().unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_str().unwrap();
                let script = path.extension().is_some_and(|end| end == "py");
                let shared = name.starts_with("common_");
                assert!(!script || shared || known.contains(&name), "{name} is in no test");
            }
        }
    };
}

attacks! {
    armed_without_measurement,
    flood_and_stop,
    force_unsupervised_on_way_to_safe,
    goodbye_leaves_rig_loaded,
    host_stop_refused,
    laboratory_stop_swallowed,
    lock_step_way_to_safe_hangs,
    measured_displacement_unlimited,
    nan_indicator_never_trips,
    no_limits_demanded,
    peer_chooses_watchdog,
    queued_commands_burst,
    ramp_bursts_after_stall,
    serve_described,
    serve_hostile,
    serve_operator_lost,
    serve_roles,
    serve_whole_test,
    signal_while_preparing,
    silent_laboratory,
    slow_safe_rate_skips_hold_and_ramp,
    spoofed_session,
    stop_before_first_tick,
    stop_then_measured,
    trace_second_press_ignored,
    velocity_and_acceleration_pass,
    virtual_time_waits_forever_for_load,
}
