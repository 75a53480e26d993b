//! The verdict: what is known of a test stands above it, in words, JSON, record and exit code.

use crate::common::{Draft, Lab};

/// The level and the names of the reasons, as the JSON says them.
fn told(json: &serde_json::Value) -> (String, Vec<String>) {
    let verdict = &json["verdict"];
    let reasons = verdict["reasons"].as_array().unwrap();
    let ids = reasons.iter().map(|reason| reason["id"].as_str().unwrap().to_owned());
    (verdict["level"].as_str().unwrap().to_owned(), ids.collect())
}

/// A loop that is late by so many milliseconds.
fn late(delay_ms: f64) -> Draft {
    let rig = format!("kind = \"delay\"\ndelay = \"{delay_ms} ms\"");
    Draft::new().with("transfer_system", &rig)
}

#[test]
fn a_loop_that_is_predicted_to_be_unstable_never_ends_sound() {
    let lab = Lab::new();
    lab.write("test.toml", late(20.0).text());
    let check = lab.twinrig(["--json", "check", "test.toml"]);
    assert_eq!((check.verdict, check.json()["stability"].as_str()), (7, Some("unstable")));
    assert_eq!(told(&check.json()).0, "unsafe");
    // The rehearsal is short: nothing has to have happened yet.
    let run = lab.twinrig(["--json", "run", "test.toml", "--out", "out"]);
    let (level, ids) = told(&run.json());
    assert_eq!((run.verdict, level.as_str()), (11, "unsafe"));
    assert_eq!(told(&run.json()["summary"]), (level, ids.clone()));
    assert!(ids.contains(&"unstable".to_owned()), "{ids:?}");
    // The record remembers the prediction: its report says the same.
    let again = lab.twinrig(["--json", "report", "out"]);
    assert_eq!(again.code, 0, "{}", again.err);
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(page.contains("Unsafe: completed"), "the headline");
}

#[test]
fn an_unstable_loop_is_started_in_real_time_only_where_that_is_accepted() {
    let lab = Lab::new();
    lab.write("test.toml", late(20.0).text());
    let call = ["run", "test.toml", "--realtime", "--out", "out"];
    let refused = lab.twinrig(call);
    assert_eq!(refused.verdict, 7, "{}", refused.err);
    assert!(refused.err.contains("not started: unstable"), "{}", refused.err);
    assert!(!lab.path("out/record.arrow").exists());
    let accepted = lab.twinrig(call.into_iter().chain(["--accept-unstable"]));
    assert_ne!(accepted.verdict, 7, "{}", accepted.err);
    assert!(lab.path("out/record.arrow").exists());
}

#[test]
fn doubt_ends_the_program_only_where_that_is_asked_for() {
    let lab = Lab::new();
    // As wrong as it may be, by thresholds that the file declares.
    let lenient =
        "tracking_error = [\"0.01 %\", \"1000 %\"]\nreference_error = [\"0.01 %\", \"1000 %\"]";
    lab.write("test.toml", late(2.0).with("verdict", lenient).text());
    let call = ["run", "test.toml", "--out", "out"];
    let run = lab.twinrig(call);
    assert_eq!(run.verdict, 0, "{}", run.out);
    assert!(run.out.contains("Verdict: doubtful"), "{}", run.out);
    assert_eq!(lab.twinrig(call.into_iter().chain(["--strict"])).verdict, 12);
    // The same test by stricter thresholds is wrong.
    let strict = "tracking_error = [\"0.001 %\", \"0.01 %\"]";
    lab.write("test.toml", late(2.0).with("verdict", strict).text());
    let run = lab.twinrig(call);
    assert_eq!(run.verdict, 10, "{}", run.out);
    assert!(run.out.contains("wrong: tracking error of"), "{}", run.out);
}

#[test]
fn a_command_at_its_limit_and_noise_above_the_motion_count() {
    let lab = Lab::new();
    let run = |draft: Draft| {
        lab.write("test.toml", draft.text());
        lab.twinrig(["--json", "run", "test.toml", "--out", "out"]).json()
    };
    let (_, ids) = told(&run(late(2.0)));
    assert!(!ids.iter().any(|id| id == "limited" || id == "noise"), "{ids:?}");
    // The motion is about a millimetre.
    let stops = "kind = \"delay\"\ndelay = \"2 ms\"\nsaturation = \"0.1 mm\"";
    let cut = run(Draft::new().with("transfer_system", stops));
    let (level, ids) = told(&cut);
    assert!(level == "wrong" && ids.contains(&"limited".to_owned()), "{cut}");
    let slow = run(late(2.0).with("compensator", "kind = \"none\"\nrate = \"1 mm/s\""));
    assert!(told(&slow).1.contains(&"limited".to_owned()), "{slow}");
    let loud = run(late(2.0).with("sensors", "displacement_noise = \"5 mm\""));
    let (level, ids) = told(&loud);
    assert!(level != "sound" && ids.contains(&"noise".to_owned()), "{loud}");
    let coarse = "kind = \"delay\"\ndelay = \"2 ms\"\nquantum = \"5 mm\"";
    let coarse = run(Draft::new().with("transfer_system", coarse));
    assert!(told(&coarse).1.contains(&"noise".to_owned()), "{coarse}");
}

/// A variant's command at its limit and the noise of its sensors count as in a run of it, whether it
/// goes in step with others or alone.
#[test]
fn a_row_knows_the_limits_and_the_noise_of_its_rig() {
    let lab = Lab::new();
    let rig = "kind = \"transfer_function\"\nnumerator = [100]\ndenominator = [1, 100]\n\
               saturation = \"0.1 mm\"";
    let mut folders = 0..;
    for masses in ["\"20 kg\", \"21 kg\", \"22 kg\", \"23 kg\"", "\"20 kg\""] {
        for (noise, expected) in [("5 mm", vec!["limited", "noise"]), ("1 nm", vec!["limited"])] {
            let vary = "runs = 1\n[[sweep.vary]]\nparameter = \"partition.mass[1]\"\nvalues";
            let draft = Draft::new()
                .with("sensors", &format!("displacement_noise = \"{noise}\""))
                .with("transfer_system", rig)
                .with("sweep", &format!("{vary} = [{masses}]"));
            lab.write("test.toml", draft.text());
            let folder = format!("study{}", folders.next().unwrap());
            let sweep = lab.twinrig(["--json", "sweep", "test.toml", "--out", &folder]).json();
            let (_, mut ids) = told(&sweep);
            ids.retain(|id| ["limited", "noise"].contains(&id.as_str()));
            assert_eq!(ids, expected, "{masses}: {}", sweep["verdict"]);
        }
    }
}

/// Bouc–Wen elements behind two servo-hydraulic actuators: the loop holds a motion at 46.5 Hz that
/// wanders with the yielding, and the warning stays at 0.02 %.
#[test]
fn a_limit_cycle_that_wanders_is_found_in_the_run() {
    let lab = Lab::new();
    lab.write("test.toml", include_str!("known_cases/limit-cycle.toml"));
    let run = lab.twinrig(["--json", "run", "test.toml", "--out", "out"]).json();
    let reasons = run["verdict"]["reasons"].as_array().unwrap();
    let found = reasons.iter().find(|reason| reason["id"] == "self_excited");
    assert!(found.is_some(), "{}", run["verdict"]);
}

#[test]
fn a_sweep_is_as_grave_as_its_gravest_variant() {
    let lab = Lab::new();
    let vary = "runs = 1\n[[sweep.vary]]\nparameter = \"transfer_system.delay\"\n\
                values = [\"1 ms\", \"20 ms\"]";
    lab.write("test.toml", late(1.0).with("sweep", vary).text());
    let sweep = lab.twinrig(["--json", "sweep", "test.toml", "--out", "out"]);
    let (level, ids) = told(&sweep.json());
    assert_eq!((sweep.verdict, level.as_str()), (11, "unsafe"), "{}", sweep.out);
    assert!(ids.contains(&"unstable".to_owned()), "{ids:?}");
    // The test is short: nothing has left any bounds yet, and yet one is unstable.
    let summary = &sweep.json()["summary"];
    assert_eq!((&summary["unstable"], &summary["unsafe"]), (&1.into(), &1.into()));
    assert_eq!(told(summary), (level, ids));
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(page.contains("banner bad"), "the banner");
    // The variant says of itself what the sweep says of it, and what `run` says.
    let alone = lab.twinrig(["--json", "sweep", "test.toml", "--only", "2", "--record", "two"]);
    assert_eq!(alone.verdict, 11);
    assert_eq!(told(&alone.json()), told(&alone.json()["summary"]));
    let sound = lab.twinrig(["--json", "sweep", "test.toml", "--only", "1"]).json();
    assert_ne!(told(&sound).0, "unsafe");
    // A sweep that goes on where it stood has not forgotten.
    let again = lab.twinrig(["--json", "sweep", "test.toml", "--out", "out"]).json();
    assert_eq!((told(&again), &again["resumed_variants"]), (told(&sweep.json()), &2.into()));
}

#[test]
fn the_delay_of_a_late_rig_is_told_to_a_fraction_of_a_tick() {
    let lab = Lab::new();
    let ground = "ground = { synthetic = { peak = \"0.1 g\" } }";
    let tick_ms = 1e3 / 1024.0;
    for delay_ms in [0.3 * tick_ms, 40.0 * tick_ms, 40.5 * tick_ms] {
        let frame = late(delay_ms)
            .top("duration = \"8 s\"")
            .with("partition", "interface = [1]\nmass = [\"1 kg\"]")
            .with("excitation", ground)
            .text();
        lab.write("test.toml", frame);
        let run = lab.twinrig(["--json", "run", "test.toml", "--out", "out"]).json();
        let found = &run["summary"]["criteria"][0];
        let value = found["value"].as_f64().unwrap();
        assert!((value - delay_ms).abs() < 0.05 * tick_ms, "{delay_ms} ms: {found}");
        assert!(found["note"].is_null(), "{found}");
    }
}

/// A chain of masses on springs as matrices in files, with an own `[reduction]`; masses of zero
/// are allowed.
fn reduced_chain(masses: &[f64], reduction: &str) -> Lab {
    let lab = Lab::new();
    let n = masses.len();
    let file = |entries: Vec<String>| {
        let head = "%%MatrixMarket matrix coordinate real symmetric";
        format!("{head}\n{n} {n} {}\n{}\n", entries.len(), entries.join("\n"))
    };
    let mass = masses.iter().enumerate().filter(|(_, m)| **m != 0.0);
    lab.write("m.mtx", file(mass.map(|(i, m)| format!("{0} {0} {m:e}", i + 1)).collect()));
    let end = |i: usize| if i == n { 1e5 } else { 2e5 };
    let diagonal = (1..=n).map(|i| format!("{i} {i} {:e}", end(i)));
    let beside = (2..=n).map(|i| format!("{i} {} -1e5", i - 1));
    lab.write("k.mtx", file(diagonal.chain(beside).collect()));
    lab.write(
        "chain.toml",
        format!(
            "title = \"Chain\"\nduration = \"1 s\"\n[structure]\n\
             mass = {{ file = \"m.mtx\", unit = \"kg\" }}\n\
             stiffness = {{ file = \"k.mtx\", unit = \"N/m\" }}\n\
             damping = {{ rayleigh = {{ mass = \"0.1 1/s\", stiffness = \"1e-5 s\" }} }}\n\
             [reduction]\n{reduction}\n[partition]\ninterface = [{n}]\nstiffness = [\"0 N/m\"]\n\
             [excitation]\nground = {{ synthetic = {{ peak = \"0.1 g\" }} }}\n\
             [integrator]\nmethod = \"newmark\"\nrate = \"2000 Hz\"\n[limits]\ncommand = \"20 mm\"\n"
        ),
    );
    lab
}

fn reduce(lab: &Lab) -> (i32, serde_json::Value) {
    let ran = lab.twinrig(["--json", "reduce", "chain.toml", "--out", "out"]);
    (ran.verdict, ran.json())
}

#[test]
fn a_dof_without_mass_is_reduced_at_any_size_by_either_method() {
    let mut masses = [5.0; 12];
    masses[6] = 0.0;
    for method in ["rubin", "craig_bampton"] {
        let all = format!("method = \"{method}\"\nerror = 0.001\nband = \"20 Hz\"");
        let (exit, found) = reduce(&reduced_chain(&masses, &all));
        assert_eq!((exit, told(&found).0.as_str()), (0, "sound"), "{method}: {found:#}");
        assert!(found["response_error"]["max"].as_f64().unwrap() < 1e-3, "{method}: {found:#}");
    }
    // What needs a mass names the DOF and says what to do.
    let lab = reduced_chain(&masses, "method = \"state_space\"\nmodes = 6");
    let refused = lab.twinrig(["reduce", "chain.toml", "--out", "out"]);
    assert!(refused.err.contains("DOF 7") && refused.err.contains("take rubin"), "{}", refused.err);
}

#[test]
fn a_mode_that_the_reduced_model_lacks_is_named() {
    // Two modes are kept, and the band reaches over more.
    let lab = reduced_chain(&[5.0; 12], "method = \"rubin\"\nmodes = 2\nband = \"25 Hz\"");
    let (_, found) = reduce(&lab);
    let (level, ids) = told(&found);
    assert_ne!(level, "sound");
    assert!(ids.contains(&"modes_lacking".to_owned()), "{found:#}");
    let lacking = found["lacking_hz"].as_array().unwrap().len() as u64;
    let modes = found["modes_in_band"].as_u64().unwrap();
    // Two modes and one flexibility can stand for three at most.
    assert!(lacking >= modes - 3 && modes > 3, "{lacking} of {modes}");
}

#[test]
fn so_many_modes_that_nothing_is_left_are_called_that() {
    let lab = reduced_chain(&[5.0; 12], "method = \"rubin\"\nmodes = 500");
    let ran = lab.twinrig(["--json", "reduce", "chain.toml", "--out", "out"]);
    // Either rounding leaves the last motion some mass, or the modes are named as too many.
    let document = ran.json();
    assert!(!document.to_string().contains("give DOF"), "{document:#}");
}

/// Samples of an actuator of one pole, at 1 kHz, as a table of text.
fn samples(seconds: f64, of: impl Fn(f64) -> f64, time: f64, measured: f64) -> String {
    let (mut state, mut noise) = (0.0, 1u64);
    let mut text = "time,command.1,measured.1\n".to_owned();
    let mut command = [0.0f64; 2];
    for k in 0..(1000.0 * seconds) as usize {
        text += &format!("{},{},{}\n", time * k as f64, command[1], measured * state);
        state += (1.0 - (-0.1f64).exp()) * (0.95 * of(command[1]) - state);
        noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let white = (noise >> 33) as f64 / (1u64 << 30) as f64 - 1.0;
        // Two lags at 10 Hz.
        command[0] += 0.06 * (white - command[0]);
        command[1] += 0.06 * (command[0] - command[1]);
    }
    text
}

#[test]
fn what_an_identification_cannot_rest_on_is_said_and_no_compensator_advised() {
    let lab = Lab::new();
    let plain = |x: f64| x;
    for (name, text, expected) in [
        ("good", samples(60.0, plain, 1e-3, 1.0), None),
        ("millimetres", samples(60.0, plain, 1e-3, 1e3), Some("units")),
        ("milliseconds", samples(60.0, plain, 1.0, 1.0), Some("rate")),
        ("saturated", samples(60.0, |x| x.clamp(-0.08, 0.08), 1e-3, 1.0), Some("unexplained")),
    ] {
        let file = format!("{name}.csv");
        lab.write(&file, text);
        let ran = lab.twinrig(["--json", "identify", &file, "--order", "1", "--out", name]);
        let (found, written) = (ran.json(), lab.path(name).join("compensator.toml").exists());
        let (level, ids) = told(&found);
        match expected {
            None => assert!(written && level == "sound", "{name}: {:#}", found["verdict"]),
            Some(id) => {
                assert_eq!((ran.verdict, level.as_str()), (10, "wrong"), "{name}");
                assert!(ids.contains(&id.to_owned()), "{name}: {ids:?}");
                assert!(!written && found["results"][0]["advice"].is_null(), "{name}");
            }
        }
    }
    lab.write("short.csv", samples(1.0, plain, 1e-3, 1.0));
    let short = lab.twinrig(["identify", "short.csv"]);
    assert!(short.verdict == 1 && short.err.contains("too short"), "{}", short.err);
}

#[test]
fn a_chart_is_as_grave_as_what_the_file_declares() {
    let lab = Lab::new();
    for (delay_ms, verdict) in [(1.0, "sound"), (20.0, "unsafe")] {
        lab.write("test.toml", late(delay_ms).text());
        let (x, y) = ("transfer_system.delay=0..30 ms", "partition.mass[1]=10..40 kg");
        let call = ["--json", "chart", "test.toml", "--x", x, "--y", y, "--grid", "12x6"];
        let ran = lab.twinrig(call.into_iter().chain(["--out", "out"]));
        assert_eq!(told(&ran.json()).0, verdict, "{}", ran.out);
        assert_eq!(ran.verdict, if verdict == "sound" { 0 } else { 11 });
    }
    let elsewhere =
        ["--x", "transfer_system.delay=25..30 ms", "--y", "partition.mass[1]=10..40 kg"];
    let call = ["--json", "chart", "test.toml", "--grid", "6x6", "--out", "out"];
    let ran = lab.twinrig(call.into_iter().chain(elsewhere));
    assert_eq!(told(&ran.json()).1, ["not_on_chart"]);
}
