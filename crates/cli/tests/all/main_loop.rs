//! Two rates from the command line: what runs, what is said, what is refused.

use crate::common::{Draft, Lab};
use twinrig::reproduce::Ground;
use twinrig::reproduce::waldbjorn::{Chain, Rig, Stage, Stages};

/// The draft with a rig that has dynamics, an inverse for it, and two rates.
fn draft(main_loop: &str) -> Draft {
    Draft::new()
        .top("duration = \"2 s\"")
        .with(
            "transfer_system",
            "kind = \"transfer_function\"\nnumerator = [5.44e6]\n\
             denominator = [1, 530.8, 8.899e4, 5.44e6]",
        )
        .with(
            "compensator",
            "kind = \"inverse\"\ncoefficients = [1, 1.6358e-2, 9.7574e-5, 1.8382e-7]",
        )
        .with("main_loop", main_loop)
}

#[test]
fn a_test_at_two_rates_runs_replays_and_says_what_was_late() {
    let lab = Lab::new();
    let watched = draft("ratio = 8\ntask_ticks = 2").with("monitor", "energy_error = {}");
    let ran = lab.rehearse(&watched).exits(0);
    assert!(ran.out.contains("main loop") && ran.out.contains("0 late"), "{}", ran.out);
    let replayed = lab.twinrig(["replay", "out/record.arrow"]).exits(0).out;
    assert!(replayed.contains("2048"), "{replayed}");
    // Late by chance, the same in every run, and told.
    let late = "ratio = 8\ntask_ticks = 2\nbridge = 6\n\
                step_time = { base = \"1.5 ms\", jitter = \"1 ms\" }";
    lab.write("late.toml", draft(late).text());
    let json = lab.twinrig(["run", "late.toml", "--out", "late", "--json"]).exits(0).json();
    let count = |key: &str| json["main_loop"][key].as_u64().unwrap();
    assert!(count("late") > 10 && count("late") < count("batches"), "{json}");
    assert!(count("missing") >= count("late") && count("erased") == count("missing"), "{json}");
    assert!((1..=6).contains(&count("longest_bridge")), "{json}");
    // Every tick that a late step left to extrapolation counts in the verdict.
    let reasons = json["verdict"]["reasons"].as_array().unwrap();
    let said = reasons.iter().find(|reason| reason["id"] == "late_ticks").expect("late ticks");
    let text = format!("{} ticks extrapolated over late steps", count("missing"));
    assert!(said["text"].as_str().unwrap().starts_with(&text), "{said}");
    // A row of a sweep says the same.
    let swept = "runs = 1\n[[sweep.vary]]\nparameter = \"integrator.rate\"\nvalues = [\"1024 Hz\"]";
    lab.write("sweep.toml", draft(late).with("sweep", swept).text());
    let sweep = lab.twinrig(["sweep", "sweep.toml", "--out", "study", "--json"]).exits(0).json();
    let said = sweep["verdict"].to_string();
    assert!(said.contains("ticks extrapolated over late steps"), "{said}");
    let events = json["summary"]["events"].as_array().unwrap();
    let told = events.iter().find(|event| event["what"] == "main loop").unwrap();
    assert_eq!(told["value"].as_f64().unwrap(), count("missing") as f64);
    assert!(events.iter().any(|event| event["what"] == "warning"), "{json}");
    lab.twinrig(["replay", "late/record.arrow"]).exits(0);
    let report = lab.twinrig(["report", "late/record.arrow"]);
    assert_eq!(report.code, 0, "{}", report.err);
    let csv = lab.twinrig(["export", "late", "--format", "csv"]);
    assert_eq!(csv.code, 0, "{}", csv.err);
    let checked = lab.twinrig(["check", "late.toml"]).exits(0).out;
    assert!(checked.contains("stable: slowest motion"), "{checked}");
    assert!(checked.contains("main loop every 7.8"), "{checked}");
}

#[test]
fn a_main_loop_that_is_too_late_trips() {
    let lab = Lab::new();
    let text = "ratio = 8\ntask_ticks = 2\nbridge = 1\nstep_time = { base = \"6 ms\" }";
    lab.write("test.toml", draft(text).text());
    let ran = lab.twinrig(["run", "test.toml", "--out", "out"]);
    assert_ne!(ran.code, 0);
    assert!(
        ran.out.contains("The main loop is late: 2 ticks bridged in a row, 1 allowed"),
        "{}",
        ran.out
    );
}

/// The floors are shown as the model has them, at any ratio: what is left is the
/// error of the loop, which the interface shows as well.
#[test]
fn with_a_model_the_floors_are_right_at_any_ratio() {
    let lab = Lab::new();
    let criteria = |ratio: u32, kind: &str| {
        let text = format!("ratio = {ratio}\ntask_ticks = 1\npredictor = {{ kind = \"{kind}\" }}");
        lab.write("test.toml", draft(&text).text());
        let json = lab.twinrig(["run", "test.toml", "--out", "out", "--json"]).exits(0).json();
        let value = |id: &str| {
            let all = json["summary"]["criteria"].as_array().unwrap();
            all.iter().find(|c| c["id"] == id).unwrap()["value"].as_f64().unwrap()
        };
        [value("J4"), value("J6"), value("J7")]
    };
    let near = criteria(4, "model_based");
    println!("1:4 {near:?}");
    for ratio in [20, 40] {
        let far = criteria(ratio, "model_based");
        println!("1:{ratio} {far:?}");
        for (near, far) in near.iter().zip(far) {
            assert!(far < 1.2 * near + 0.05, "1:{ratio}: {far} %, and {near} % at 1:4");
        }
    }
}

#[test]
fn check_says_of_a_step_time_that_leaves_no_hope() {
    let lab = Lab::new();
    for (text, words, remedy) in [
        (
            "task_ticks = 8\nstep_time = { base = \"9 ms\" }",
            "there are 7.8125 ms for it",
            "10 or more",
        ),
        (
            "task_ticks = 8\nstep_time = { base = \"7 ms\", jitter = \"2 ms\" }",
            "8.5958 ms on average",
            "9 or more",
        ),
        ("bridge = 1\nstep_time = { base = \"6 ms\" }", "the first one trips", "task_ticks = 7"),
        ("step_time = { base = \"1.5 ms\" }", "every batch comes late", "task_ticks = 2"),
    ] {
        lab.write("test.toml", draft(&format!("ratio = 8\n{text}")).text());
        let said = lab.twinrig(["check", "test.toml"]).err;
        assert!(said.contains(words) && said.contains(remedy), "{text}: {said}");
    }
    for text in [
        "task_ticks = 2\nstep_time = { base = \"1.5 ms\", jitter = \"1 ms\" }",
        "task_ticks = 8\nstep_time = { base = \"7.8125 ms\" }",
    ] {
        lab.write("test.toml", draft(&format!("ratio = 8\n{text}")).text());
        let said = lab.twinrig(["check", "test.toml"]).err;
        assert!(!said.contains("main loop takes"), "{text}: {said}");
    }
}

#[test]
fn every_predictor_and_every_use_of_the_force_runs() {
    let lab = Lab::new();
    for (index, text) in [
        "predictor = { kind = \"lagrange\", order = 2 }",
        "predictor = { kind = \"lagrange\", stages = \"two\" }\nforce = \"last\"\nlead = \"none\"",
        "predictor = { kind = \"least_squares\", order = 2, points = 6 }",
        "predictor = { kind = \"predicted_acceleration\" }\nforce = \"average\"",
        "predictor = { kind = \"model_based\" }",
        "predictor = { kind = \"adaptive\", taps = 4 }",
        "predictor = { kind = \"combined\" }",
        "task_time = \"0 ms\"",
        "task_time = \"3.9 ms\"",
    ]
    .iter()
    .enumerate()
    {
        let ran = {
            lab.write("test.toml", draft(&format!("ratio = 4\n{text}")).text());
            lab.twinrig(["run", "test.toml", "--out", &format!("out{index}")])
        };
        assert_eq!(ran.code, 0, "{text}: {}{}", ran.out, ran.err);
        lab.twinrig(["replay", &format!("out{index}/record.arrow")]).exits(0);
    }
}

/// CR and KR-α keep the velocity of a moment ago: what is shown between two steps has its slope there.
#[test]
fn the_motion_shown_between_two_steps_is_that_of_its_instant() {
    for method in ["cr", "kr_alpha\"\nspectral_radius = 0.8\n#\"", "newmark"] {
        let lab = Lab::new();
        let integrator = format!("method = \"{method}\"\nrate = \"500 Hz\"");
        let draft = draft("ratio = 10")
            .top("duration = \"3 s\"")
            .with("transfer_system", "kind = \"ideal\"")
            .with("compensator", "kind = \"none\"")
            .with("integrator", &integrator);
        lab.write("test.toml", draft.text());
        let json = lab.twinrig(["run", "test.toml", "--out", "out", "--json"]).exits(0).json();
        let criteria = json["summary"]["criteria"].as_array().unwrap();
        let of = |id: &str| criteria.iter().find(|row| row["id"] == id).unwrap()["value"].as_f64();
        let (interface, floor) = (of("J4").unwrap(), of("J6").unwrap());
        assert!(floor < 2.0 * interface + 0.1, "{method}: {floor} % beside {interface} %");
    }
}

#[test]
fn a_sweep_over_the_ratio_runs() {
    let lab = Lab::new();
    let file = draft("ratio = 2").with(
        "sweep",
        "runs = 4\n[[sweep.vary]]\nparameter = \"main_loop.ratio\"\nvalues = [1, 2, 5, 10]",
    );
    lab.write("sweep.toml", file.text());
    let json = lab.twinrig(["sweep", "sweep.toml", "--out", "study", "--json"]).exits(0).json();
    assert!(json.to_string().contains("completed"), "{json}");
}

/// Refused with exit 3, at a line, by a message that holds `says`.
#[track_caller]
fn refused(draft: &Draft, says: &[&str]) {
    let lab = Lab::new();
    lab.write("test.toml", draft.text());
    for command in ["check", "run"] {
        let ran = lab.twinrig([command, "test.toml"]).exits(3);
        assert!(ran.err.contains("--> test.toml:"), "no line: {}", ran.err);
        for text in says {
            assert!(ran.err.contains(text), "\"{text}\" is not said:\n{}", ran.err);
        }
    }
}

#[test]
fn bad_rates_are_refused_with_a_remedy() {
    refused(&draft("task_ticks = 1"), &["ratio"]);
    refused(&draft("ratio = 0"), &["ratio"]);
    refused(&draft("ratio = 1001"), &["1000"]);
    refused(&draft("ratio = 2.5"), &["ratio"]);
    refused(&draft("ratio = 4\ntask_time = 1"), &["task_time"]);
    refused(&draft("ratio = 4\ntask_time = \"-1 ms\""), &["task_time"]);
    refused(&draft("ratio = 4\ntask_time = \"nan ms\""), &["task_time"]);
    refused(&draft("ratio = 4\ntask_time = \"1 kg\""), &["not a time"]);
    refused(&draft("ratio = 4\ntask_time = \"1e30 s\""), &["raise the ratio"]);
    refused(&draft("ratio = 4\ntask_ticks = 5"), &["4 tick(s)", "take 5", "raise the ratio"]);
    refused(&draft("ratio = 4\ntask_ticks = 1\ntask_time = \"1 ms\""), &["task_ti"]);
    refused(&draft("ratio = 4\nforce = \"first\""), &["all_samples"]);
    refused(&draft("ratio = 4\npredictor = { kind = \"spline\" }"), &["hermite"]);
    refused(&draft("ratio = 4\npredictor = { kind = \"lagrange\", order = 6 }"), &["order"]);
    refused(
        &draft("ratio = 4\npredictor = { kind = \"least_squares\", order = 4, points = 4 }"),
        &["more points than the"],
    );
    refused(&draft("ratio = 4\nbridge = 1000000"), &["bridge"]);
    refused(&draft("ratio = 4\nstep_time = { jitter = \"1 ms\" }"), &["base"]);
    refused(&draft("ratio = 4\nstep_time = { base = \"inf s\" }"), &["base"]);
    refused(
        &draft("ratio = 4\npredictor = { kind = \"model_based\" }")
            .with("integrator", "method = \"cr\"\nrate = \"1024 Hz\""),
        &["model-based", "cr keeps"],
    );
    refused(
        &draft("ratio = 4")
            .with("integrator", "method = \"rk4\"\nrate = \"1024 Hz\"\nfeedback = \"continuous\""),
        &["rates of their own"],
    );
    refused(
        &draft("ratio = 4\ntask_ticks = 0").with("transfer_system", "kind = \"ideal\""),
        &["answers within the tick"],
    );
    // A small file must not ask for gigabytes.
    let many = "shear_building = { storeys = 400, mass = \"1 t\", stiffness = \"1 MN/m\" }";
    refused(
        &draft("ratio = 1000\nbridge = 1000\npredictor = { kind = \"model_based\" }")
            .with("structure", many)
            .with("partition", "interface = [1, 2, 3, 4, 5, 6, 7, 8]\nstiffness = [\"1 kN/m\", \"1 kN/m\", \"1 kN/m\", \"1 kN/m\", \"1 kN/m\", \"1 kN/m\", \"1 kN/m\", \"1 kN/m\"]")
            .with("integrator", "method = \"newmark\"\nrate = \"1024 Hz\""),
        &["numbers in memory", "lower the ratio"],
    );
    // The long step of a held force is beyond what the method bears.
    refused(&draft("ratio = 200\nforce = \"last\""), &["points per cycle", "rk4"]);
}

#[test]
fn the_default_is_accurate_and_beats_the_papers_chain_under_every_mismatch() {
    let stages = Stages::new(&Ground::Synthetic).unwrap();
    let run =
        |stage: &Stage, ratio: usize, chain: Chain, rig: Rig| stage.run(ratio, chain, rig).unwrap();
    let default = Chain::Default("hermite");
    for (stage, most, name) in [(&stages.sdof, 0.2, "one mass"), (&stages.mdof, 0.05, "three")] {
        for ratio in [5, 10] {
            let known = run(stage, ratio, default, Rig::Known).unwrap();
            assert!(known.rms <= most, "{name} 1:{ratio}: {known:?}");
            for rig in [Rig::Numerical, Rig::Known, Rig::Mistaken, Rig::Late] {
                let ours = run(stage, ratio, default, rig).unwrap();
                let paper = run(stage, ratio, Chain::Paper, rig).map_or(f64::INFINITY, |d| d.rms);
                assert!(ours.rms < paper, "{name} 1:{ratio} {rig:?}: {ours:?} {paper}");
            }
        }
    }
    let noisy = run(&stages.mdof, 10, default, Rig::Noisy).unwrap();
    assert!(noisy.rms <= 0.05, "{noisy:?}");
    let forty = run(&stages.mdof, 40, default, Rig::Known).unwrap();
    assert!(forty.rms < 1.0, "{forty:?}");
}
