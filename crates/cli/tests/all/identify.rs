//! `twinrig identify` as a user meets it.

use crate::common::{Draft, Lab};
use serde_json::Value;

const PLANT: &str = "kind = \"transfer_function\"\nnumerator = [5.163e6]\n\
                     denominator = [1, 530.8, 8.899e4, 5.44e6]";
const EXACT: [f64; 4] = [5.163e6, 530.8, 8.899e4, 5.44e6];

/// The multi-rate paper's actuator on a spring.
pub(crate) fn draft() -> Draft {
    Draft::new()
        .with("integrator", "method = \"exact\"\nrate = \"1 kHz\"")
        .with("transfer_system", PLANT)
        .with("limits", "command = \"10 mm\"\nrate = \"2 m/s\"")
}

/// Largest relative error of the coefficients.
fn worst(result: &Value) -> f64 {
    let values = |list: &str| -> Vec<f64> {
        result[list].as_array().unwrap().iter().map(|e| e["value"].as_f64().unwrap()).collect()
    };
    let (above, below) = (values("numerator"), values("denominator"));
    assert_eq!((above.len(), below.len()), (1, 4));
    let found = above.iter().chain(&below[1..]);
    found.zip(EXACT).map(|(found, exact)| (found / exact - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn a_test_on_the_rig_finds_its_transfer_function_and_the_file_can_include_it() {
    let lab = Lab::new();
    lab.write("rig.toml", draft().text());
    let ran = lab
        .twinrig(["identify", "rig.toml", "--duration", "30 s", "--out", "id", "--json"])
        .exits(0);
    let json = ran.json();
    assert!(worst(&json["results"][0]) < 1e-5, "{}", json["results"][0]);
    assert_eq!(json["results"][0]["order"]["denominator"], 3, "found without being told");
    for name in ["test.csv", "response.csv", "transfer_system.toml", "identification.html"] {
        assert!(lab.path("id").join(name).is_file(), "{name}");
    }
    // Half of the limits is the size where none is given.
    assert!((json["tests"][0]["peak_m"].as_f64().unwrap() - 5e-3).abs() < 1e-9);

    // What was written is what an experiment includes.
    let text = draft().text().replace(&format!("[transfer_system]\n{PLANT}\n"), "");
    lab.write("test.toml", format!("include = [\"id/transfer_system.toml\"]\n{text}"));
    lab.twinrig(["run", "test.toml", "--out", "included"]).exits(0);
    // The record holds the included file: it replays where the file is gone.
    std::fs::remove_dir_all(lab.path("id")).unwrap();
    lab.twinrig(["check", "test.toml"]).exits(3);
    lab.twinrig(["replay", "included"]).exits(0);
}

#[test]
fn people_get_a_table_with_bounds() {
    let lab = Lab::new();
    lab.write("rig.toml", draft().with("sensors", "displacement_noise = \"5 um\"").text());
    let ran = lab
        .twinrig(["identify", "rig.toml", "--duration", "30 s", "--order", "3", "--out", "id"])
        .exits(0);
    for words in [
        "3 poles, 0 zeros",
        "a2 (denominator, s^2)",
        "gain at 0 Hz",
        "delay at 0 Hz",
        "written to id",
    ] {
        assert!(ran.out.contains(words), "{words}:\n{}", ran.out);
    }
    let toml = std::fs::read_to_string(lab.path("id/transfer_system.toml")).unwrap();
    assert!(toml.contains("kind        = \"transfer_function\""), "{toml}");
    let html = std::fs::read_to_string(lab.path("id/identification.html")).unwrap();
    assert!(html.contains("coherence") && html.contains("data-figure"));
    assert!(!html.contains("http://") || !html.contains("<script src"), "needs no network");
}

#[test]
fn the_same_test_gives_the_same_files() {
    let lab = Lab::new();
    lab.write("rig.toml", draft().with("sensors", "displacement_noise = \"5 um\"").text());
    for out in ["a", "b"] {
        let order = ["--duration", "20 s", "--order", "3", "--out", out];
        lab.twinrig(["identify", "rig.toml"].into_iter().chain(order)).exits(0);
    }
    for name in ["test.csv", "response.csv", "transfer_system.toml"] {
        let read = |folder: &str| std::fs::read(lab.path(folder).join(name)).unwrap();
        assert_eq!(read("a"), read("b"), "{name}");
    }
}

#[test]
fn its_own_table_and_a_record_are_read_again() {
    let lab = Lab::new();
    lab.write("rig.toml", draft().text());
    let common = ["--order", "3", "--json"];
    let by_test = lab
        .twinrig(
            ["identify", "rig.toml", "--duration", "30 s", "--out", "a"].into_iter().chain(common),
        )
        .exits(0)
        .json();
    let by_table = lab
        .twinrig(
            ["identify", "a/test.csv", "--band", "0 Hz..25 Hz", "--out", "b"]
                .into_iter()
                .chain(common),
        )
        .exits(0)
        .json();
    assert_eq!(by_test["results"][0]["numerator"], by_table["results"][0]["numerator"]);

    // A hybrid test moves its actuator too.
    let noise =
        "ground = { noise = { rms = \"1 m/s^2\", band = [\"0.5 Hz\", \"20 Hz\"], seed = 3 } }";
    let test = draft()
        .top("duration = \"30 s\"")
        .with("excitation", noise)
        .with("limits", "command = \"1 m\"");
    lab.rehearse(&test.with("partition", "interface = [1]\nstiffness = [\"20 kN/m\"]")).exits(0);
    let by_record = lab
        .twinrig(
            ["identify", "out", "--band", "1 Hz..15 Hz", "--out", "c"].into_iter().chain(common),
        )
        .exits(0)
        .json();
    assert!(worst(&by_record["results"][0]) < 1e-3, "{}", by_record["results"][0]);
}

#[test]
fn chirps_and_multisines_do_as_well() {
    let lab = Lab::new();
    lab.write("rig.toml", draft().text());
    for signal in ["chirp", "multisine"] {
        let ran = lab.twinrig([
            "identify",
            "rig.toml",
            "--signal",
            signal,
            "--duration",
            "40 s",
            "--order",
            "3",
            "--band",
            "0.2 Hz..30 Hz",
            "--out",
            "id",
            "--json",
        ]);
        let json = ran.exits(0).json();
        assert!(worst(&json["results"][0]) < 1e-4, "{signal}: {}", json["results"][0]);
    }
}

#[test]
fn every_interface_dof_is_driven_on_its_own() {
    let lab = Lab::new();
    let two = draft().with(
        "partition",
        "interface = [1, 2]\nmass = [\"30 kg\", \"20 kg\"]\nstiffness = [\"0.5 MN/m\", \"0.2 MN/m\"]",
    );
    lab.write("rig.toml", two.text());
    let arguments =
        ["identify", "rig.toml", "--duration", "20 s", "--order", "3", "--out", "id", "--json"];
    let json = lab.twinrig(arguments).exits(0).json();
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for result in results {
        assert!(worst(result) < 1e-4);
        assert_eq!(result["coupling"], 0.0, "a function per DOF does not couple them");
    }
    assert!(lab.path("id/transfer_system_2.toml").is_file());
    let json = lab.twinrig(arguments.into_iter().chain(["--dof", "2"])).exits(0).json();
    assert_eq!(json["results"][0]["dof"], 2);
    let ran = lab.twinrig(["identify", "rig.toml", "--dof", "3"]).exits(1);
    assert!(ran.err.contains("no interface DOF 3; they count from 1 to 2"), "{}", ran.err);
}

#[test]
fn limits_come_first() {
    let lab = Lab::new();
    lab.write("rig.toml", draft().text());
    let try_size = |size: [&str; 2]| {
        let start = ["identify", "rig.toml", "--duration", "10 s", "--out", "id"];
        lab.twinrig(start.into_iter().chain(size))
    };
    let ran = try_size(["--rms", "9 mm"]).exits(1);
    assert!(
        ran.err.contains("[limits] command") && ran.err.contains("use at most --rms"),
        "{}",
        ran.err
    );
    assert!(!lab.path("id").exists());
    // What the message says is possible, is.
    let most = ran.err.split("--rms \"").nth(1).unwrap().split('"').next().unwrap();
    try_size(["--rms", most]).exits(0);
    try_size(["--rms", "0 mm"]).exits(1);
    try_size(["--amplitude", "11 mm"]).exits(1);
    // Without limit and size nothing moves.
    lab.write("rig.toml", draft().with("limits", "force = \"1 kN\"").text());
    let ran = lab.twinrig(["identify", "rig.toml"]).exits(1);
    assert!(ran.err.contains("--rms or --amplitude"), "{}", ran.err);
}

#[test]
fn a_trip_ends_the_test_safely_and_is_told() {
    let lab = Lab::new();
    // 0.5 MN/m over 5 mm is 2.5 kN.
    let limits =
        "command = \"10 mm\"\nforce = \"1 kN\"\nsafe = { hold = \"0.1 s\", rate = \"50 mm/s\" }";
    lab.write("rig.toml", draft().with("limits", limits).text());
    let arguments = ["identify", "rig.toml", "--duration", "10 s", "--out", "id"];
    let ran = lab.twinrig(arguments).exits(4);
    assert!(
        ran.err.contains("force beyond its limit") && ran.err.contains("safe state"),
        "{}",
        ran.err
    );
    let json = lab.twinrig(arguments.into_iter().chain(["--json"])).exits(4).json();
    assert!(json["tests"][0]["trip"]["time_s"].as_f64().unwrap() > 0.0);
    // The table shows the way to safe: the last command is zero.
    let table = std::fs::read_to_string(lab.path("id/test.csv")).unwrap();
    let last = table.lines().last().unwrap();
    assert_eq!(last.split(',').nth(1), Some("0"), "{last}");
    assert!(!lab.path("id/transfer_system.toml").exists());
}

#[test]
fn bad_tables_are_refused_with_their_line() {
    let lab = Lab::new();
    let row = |k: usize| {
        let t = 0.001 * k as f64;
        let u = (20.0 * t).sin() + (33.0 * t * t).cos();
        format!("{t:.3},{u},{}", 0.5 * u)
    };
    let write = |rows: &[String]| {
        lab.write("d.csv", format!("time,command.1,measured.1\n{}\n", rows.join("\n")));
    };
    let refused = |arguments: &[&str], says: &[&str]| {
        let start = ["identify", "d.csv", "--out", "id"];
        let ran = lab.twinrig(start.iter().chain(arguments)).exits(1);
        for words in says {
            assert!(ran.err.contains(words), "\"{words}\" is not said:\n{}", ran.err);
        }
        let json = lab.twinrig(start.iter().chain(arguments).chain(&["--json"])).exits(1).json();
        assert!(json["error"].is_string());
        assert!(!lab.path("id").exists());
    };
    let rows: Vec<String> = (0..4000).map(row).collect();
    write(&rows);
    refused(&["--command", "drive"], &["no column is called \"drive\"", "command.1"]);
    refused(&["--measured", "7"], &["column 7 is needed"]);
    refused(&["--segment", "3900"], &["4000 samples are too few", "shorter segment"]);
    refused(&["--segment", "4"], &["too short"]);
    refused(&["--band", "100 Hz..600 Hz"], &["half the rate"]);
    let mut bad = rows.clone();
    bad[77] = "0.077,NaN,0".to_owned();
    write(&bad);
    refused(&[], &["line 79", "NaN"]);
    bad[77] = "0.077,x,0".to_owned();
    write(&bad);
    refused(&[], &["line 79", "not a number"]);
    write(&rows[..200]);
    refused(&[], &["200 samples are too few"]);
    let still: Vec<String> =
        (0..4000).map(|k| format!("{:.3},{},3", 0.001 * k as f64, (k as f64).sin())).collect();
    write(&still);
    refused(&[], &["the measured is constant (3)"]);
    bad = rows;
    bad[3000] = "3.5,0,0".to_owned();
    bad.truncate(3001);
    write(&bad);
    refused(&[], &["resample"]);
    lab.write("d.csv", "");
    refused(&[], &[]);
    let ran = lab.twinrig(["identify", "absent.csv"]).exits(1);
    assert!(ran.err.contains("absent.csv"), "{}", ran.err);
    lab.twinrig(["identify", "absent.toml"]).exits(3);
    lab.twinrig(["identify", "absent.arrow"]).exits(1);
    for arguments in [["--band", "5 Hz"], ["--order", "3/3"], ["--delay", "x"], ["--rms", "3"]] {
        lab.twinrig(["identify", "d.csv"].iter().chain(&arguments)).exits(2);
    }
}

#[test]
fn a_rig_without_dynamics_has_nothing_to_identify() {
    let lab = Lab::new();
    lab.write("rig.toml", Draft::new().text());
    let ran = lab.twinrig(["identify", "rig.toml"]).exits(1);
    assert!(ran.err.contains("no dynamics to identify"), "{}", ran.err);
}

/// A loop that bears the actuator without a compensator, moved within its band.
fn soft() -> Draft {
    let noise =
        "ground = { noise = { rms = \"0.2 m/s^2\", band = [\"0.5 Hz\", \"12 Hz\"], seed = 3 } }";
    draft()
        .top("duration = \"10 s\"")
        .with("excitation", noise)
        .with("partition", "interface = [1]\nstiffness = [\"120 kN/m\"]")
}

/// Identifies the rig of a draft in the folder `id`.
fn identified(lab: &Lab, draft: &Draft) -> Value {
    lab.write("rig.toml", draft.text());
    let arguments = ["--duration", "20 s", "--order", "3", "--rms", "1 mm", "--out", "id"];
    let start = ["identify", "rig.toml", "--json"];
    lab.twinrig(start.into_iter().chain(arguments)).exits(0).json()["results"][0].clone()
}

/// The only compensator that is advised.
fn advised(result: &Value) -> &Value {
    let all = result["compensators"].as_array().unwrap();
    let advised: Vec<_> = all.iter().filter(|c| c["advised"] == true).collect();
    assert_eq!(advised.len(), 1, "{result}");
    assert_eq!(advised[0]["kind"], result["advice"]);
    advised[0]
}

/// The draft with two files of the folder `id` in the place of its own tables.
fn including(draft: &Draft, compensator: &str) -> String {
    let text = draft.text().replace(&format!("[transfer_system]\n{PLANT}\n"), "");
    format!("include = [\"id/transfer_system.toml\", \"id/{compensator}\"]\n{text}")
}

#[test]
fn the_advised_compensator_suits_and_every_file_can_be_included() {
    let lab = Lab::new();
    let result = identified(&lab, &soft());
    // The third-order inverse undoes a third-order actuator, and the default learns it.
    let best = advised(&result);
    assert_eq!(best["kind"], "adaptive_inverse");
    assert_eq!(best["stable"], true);
    let margin = |c: &Value| c["margin_ms"].as_f64().unwrap();
    let all = result["compensators"].as_array().unwrap();
    assert!(all.iter().filter(|c| c["stable"] == true).all(|c| margin(c) > 0.0), "{result}");
    let none = &all[0];
    assert_eq!((&none["kind"], &none["stable"]), (&"none".into(), &true.into()));
    assert!(margin(best) > margin(none), "{result}");
    let number = |c: &Value, key: &str| c[key].as_f64().unwrap();
    assert!((number(none, "delay_left_ms") - 16.86).abs() < 0.15, "actuator and half a hold");
    assert!(number(best, "error_percent") < 0.01 * number(none, "error_percent"), "{result}");
    let orders: Vec<_> = all.iter().filter_map(|c| c["order"].as_u64()).collect();
    assert_eq!(orders, [1, 2, 3, 4]);
    // Half of the lowest natural frequency to 1.5 times the highest.
    let band = &result["compensator_band_hz"];
    let modes = [0.5 * (3.0 - 5_f64.sqrt()), 0.5 * (3.0 + 5_f64.sqrt())]
        .map(|square| (1000.0 * square).sqrt() / std::f64::consts::TAU);
    assert!((band[0].as_f64().unwrap() / (0.5 * modes[0]) - 1.0).abs() < 1e-9, "{band}");
    assert!((band[1].as_f64().unwrap() / (1.5 * modes[1]) - 1.0).abs() < 1e-9, "{band}");

    let mut names: Vec<String> = std::fs::read_dir(lab.path("id"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("compensator"))
        .collect();
    names.sort();
    assert_eq!(names.len(), 8, "seven kinds and the advised one: {names:?}");
    let read = |name: &str| std::fs::read_to_string(lab.path("id").join(name)).unwrap();
    let keys = |text: String| text.split("[compensator]").nth(1).unwrap().to_owned();
    assert_eq!(keys(read("compensator.toml")), keys(read("compensator_adaptive_inverse.toml")));
    let tracking_error = |file: &str| {
        lab.twinrig(["check", file]).exits(0);
        lab.twinrig(["run", file, "--out", "out"]).exits(0);
        let summary = std::fs::read_to_string(lab.path("out/summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&summary).unwrap();
        let criteria = summary["criteria"].as_array().unwrap();
        criteria.iter().find(|c| c["id"] == "J2").unwrap()["value"].as_f64().unwrap()
    };
    let without = tracking_error("rig.toml");
    for name in &names {
        lab.write("test.toml", including(&soft(), name));
        let with = tracking_error("test.toml");
        assert!(with < 0.6 * without, "{name}: {with} {without}");
        if name == "compensator.toml" {
            assert!(with < 0.03 * without, "{with} {without}");
        }
    }
}

#[test]
fn people_read_which_compensator_and_why() {
    let lab = Lab::new();
    // A stiffer spring does not bear the delay of the actuator.
    let nonlinear = "interface = [1]\n[[partition.element]]\nat = 1\nkind = \"bouc_wen\"\n\
                     stiffness = \"0.4 MN/m\"\nyield_force = \"1 kN\"\nhardening = \"5 %\"\nexponent = 2";
    lab.write("rig.toml", draft().with("partition", nonlinear).text());
    let arguments = ["--duration", "20 s", "--order", "3", "--rms", "1 mm", "--out", "id"];
    let ran = lab.twinrig(["identify", "rig.toml"].into_iter().chain(arguments)).exits(0);
    for words in [
        "Which compensator",
        "for small motions",
        "unstable",
        "(advised)",
        "delay margin",
        "is advised: a",
    ] {
        assert!(ran.out.contains(words), "{words}:\n{}", ran.out);
    }
    let html = std::fs::read_to_string(lab.path("id/identification.html")).unwrap();
    assert!(
        html.contains("<tr class=\"marked\"><th scope=\"row\">adaptive_inverse (advised)</th>")
    );
    assert!(html.contains("is advised: a tracking error"));
}

#[test]
fn without_a_loop_there_is_no_margin() {
    let lab = Lab::new();
    let result = identified(&lab, &soft());
    let bare = |result: &Value| {
        let all = result["compensators"].as_array().unwrap();
        assert!(all.len() > 8);
        assert!(all.iter().all(|c| c["stable"].is_null() && c["margin_ms"].is_null()), "{result}");
        advised(result);
    };
    let by_table = ["identify", "id/test.csv", "--band", "0 Hz..25 Hz", "--order", "3"];
    let ran = lab.twinrig(by_table.into_iter().chain(["--out", "b"])).exits(0);
    assert!(ran.out.contains(" – ") && !ran.out.contains("delay margin"), "{}", ran.out);
    let json = lab.twinrig(by_table.into_iter().chain(["--out", "b", "--json"])).exits(0).json();
    bare(&json["results"][0]);
    assert_eq!(json["results"][0]["compensator_band_hz"], json["results"][0]["band_hz"]);

    // A record knows its experiment, and with it the loop.
    lab.rehearse(&soft()).exits(0);
    let by_record = ["identify", "out", "--band", "1 Hz..12 Hz", "--order", "3", "--out", "c"];
    let rest = ["--segment", "2048", "--json"];
    let json = lab.twinrig(by_record.into_iter().chain(rest)).exits(0).json();
    let margin = |result: &Value| advised(result)["margin_ms"].as_f64().unwrap();
    let (by_record, by_test) = (margin(&json["results"][0]), margin(&result));
    assert!((by_record / by_test - 1.0).abs() < 0.01, "{by_record} {by_test}");

    // A loop of two interface DOFs is judged as any other.
    let two = "interface = [1, 2]\nmass = [\"30 kg\", \"20 kg\"]\n\
               stiffness = [\"0.5 MN/m\", \"0.2 MN/m\"]";
    let result = identified(&lab, &draft().with("partition", two));
    let all = result["compensators"].as_array().unwrap();
    assert!(all.iter().all(|c| c["stable"].is_boolean()), "{result}");
}

#[test]
fn no_compensator_is_advised_for_a_loop_that_none_makes_safe() {
    let lab = Lab::new();
    // More mass in the laboratory than in the model.
    let heavy = "interface = [1]\nmass = [\"800 kg\"]\nstiffness = [\"20 kN/m\"]";
    let result = identified(&lab, &draft().with("partition", heavy));
    let all = result["compensators"].as_array().unwrap();
    assert!(all.iter().any(|c| c["stable"] == false && c["margin_ms"].is_null()), "{result}");
    // The period is 1 ms.
    let narrow = |c: &Value| c["margin_ms"].as_f64().is_none_or(|margin| margin < 1.0);
    assert!(all.iter().all(|c| narrow(c) && c["advised"] == false), "{result}");
    assert!(result["advice"].is_null());
    assert!(result["reason"].as_str().unwrap().starts_with("none is advised"), "{result}");
    let toml = std::fs::read_to_string(lab.path("id/compensator.toml")).unwrap();
    assert!(toml.contains("none is advised") && toml.contains("kind = \"none\""), "{toml}");
}

#[test]
fn an_actuator_against_its_command_gets_no_compensator() {
    let lab = Lab::new();
    let result = identified(&lab, &draft());
    let table = std::fs::read_to_string(lab.path("id/test.csv")).unwrap();
    let turned: Vec<String> = table
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            format!("{},{},{}", cells[0], cells[1], -cells[2])
        })
        .collect();
    lab.write("turned.csv", format!("time,command.1,measured.1\n{}\n", turned.join("\n")));
    let start = ["identify", "turned.csv", "--order", "3", "--band", "0 Hz..25 Hz", "--out", "t"];
    let json = lab.twinrig(start.into_iter().chain(["--json"])).exits(0).json();
    let turned = &json["results"][0];
    let gain = |result: &Value| result["dc_gain"]["value"].as_f64().unwrap();
    assert!((gain(turned) + gain(&result)).abs() < 1e-3);
    assert_eq!(turned["compensators"].as_array().unwrap().len(), 0);
    assert!(turned["reason"].as_str().unwrap().contains("check the signs"), "{turned}");
    assert!(!lab.path("t/compensator.toml").exists());
    let ran = lab.twinrig(start).exits(0);
    assert!(ran.out.contains("no compensator: the gain at 0 Hz is -0.94"), "{}", ran.out);
}

/// A slow actuator of small gain: the defaults of the adaptive kinds would not
/// let them start.
#[test]
fn bounds_make_room_for_what_was_identified() {
    let lab = Lab::new();
    let slow = "kind = \"transfer_function\"\nnumerator = [400]\ndenominator = [1, 40, 1200]\n\
                delay = \"90 ms\"";
    let rig = soft().with("transfer_system", slow).top("duration = \"0.3 s\"");
    lab.write("rig.toml", rig.text());
    let arguments = ["--duration", "20 s", "--order", "2", "--delay", "90 ms", "--out", "id"];
    lab.twinrig(["identify", "rig.toml"].into_iter().chain(arguments)).exits(0);
    let text = rig.text().replace(&format!("[transfer_system]\n{slow}\n"), "");
    for kind in ["adaptive_inverse", "adaptive_time_series", "adaptive_model_based"] {
        let name = format!("id/compensator_{kind}.toml");
        let toml = std::fs::read_to_string(lab.path(&name)).unwrap();
        assert!(toml.contains("upper       = ["), "{toml}");
        let include = format!("include = [\"id/transfer_system.toml\", \"{name}\"]");
        lab.write("test.toml", format!("{include}\n{text}"));
        // A file that can run; whether its loop is predicted to be stable (0), not (7) or
        // neither (13) is the actuator's affair.
        let checked = lab.twinrig(["check", "test.toml"]);
        assert!([0, 7, 13].contains(&checked.code), "{}", checked.err);
    }
}

/// Just within the margin a motion dies away, just beyond it grows.
#[test]
fn the_margin_is_what_a_rehearsal_bears() {
    let lab = Lab::new();
    let spring = "interface = [1]\nstiffness = [\"110 kN/m\"]";
    let one = "shear_building = { storeys = 1, mass = \"6300 kg\", stiffness = \"250 kN/m\", \
               damping = \"2370 N s/m\" }";
    let short = "ground = { synthetic = { peak = \"0.001 g\", seed = 7, duration = \"20 s\" } }";
    let rig = draft()
        .top("duration = \"200 s\"")
        .with("structure", one)
        .with("partition", spring)
        .with("excitation", short)
        .with("record", "every = 50");
    let result = identified(&lab, &rig);
    let margin_ms = result["compensators"][0]["margin_ms"].as_f64().unwrap();
    assert!((5.0..6.0).contains(&margin_ms), "21.6 ms less actuator and hold: {margin_ms}");
    let growth = |share: f64| {
        let late = format!("{PLANT}\ndelay = \"{} ms\"", share * margin_ms);
        lab.rehearse(&rig.clone().with("transfer_system", &late)).exits(0);
        lab.twinrig(["export", "out", "--format", "csv"]).exits(0);
        let table = std::fs::read_to_string(lab.path("out/record.csv")).unwrap();
        let mut lines = table.lines();
        let head = lines.next().unwrap();
        let column = head.split(',').position(|name| name.starts_with("desired.1")).unwrap();
        let motion: Vec<f64> = lines
            .map(|line| line.split(',').nth(column).unwrap().parse::<f64>().unwrap().abs())
            .collect();
        // Twenty frames a second; five periods of the structure.
        let peak = |from_s: usize| {
            motion[20 * from_s..20 * (from_s + 5)].iter().copied().fold(0.0, f64::max)
        };
        peak(190) / peak(40)
    };
    let (within, beyond) = (growth(0.95), growth(1.05));
    assert!(within < 0.9 && beyond > 1.1, "{within} {beyond}");
}

/// What the page of the example says a compensator is worth.
#[test]
fn the_example_gains_what_its_readme_says() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/04-identify-and-compensate");
    let readme = std::fs::read_to_string(format!("{example}/README.md")).unwrap();
    let lab = Lab::new();
    for (file, column) in [("rig.toml", 2), ("experiment.toml", 3)] {
        let file = format!("{example}/{file}");
        let ran = lab.twinrig(["run", &file, "--out", "out"]).exits(0);
        for criterion in ["J2", "NRMSE"] {
            let printed = |line: &str| line.split_whitespace().next() == Some(criterion);
            let line = ran.out.lines().find(|line| printed(line)).unwrap();
            let value = line.split_whitespace().rev().nth(1).unwrap();
            let row = readme.lines().find(|line| line.starts_with(&format!("| {criterion}")));
            let told = row.unwrap().split('|').nth(column).unwrap().trim();
            assert_eq!(told.split(' ').next(), Some(value), "{criterion} of {file}");
        }
    }
}
