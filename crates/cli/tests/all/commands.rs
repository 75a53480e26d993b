//! Every command, for people and for machines, with its exit code.

use crate::common::{Draft, Lab};

fn unstable() -> Draft {
    Draft::new().with("transfer_system", "kind = \"delay\"\nsamples = 40")
}

#[test]
fn check_tells_stable_from_unstable() {
    let lab = Lab::new();
    lab.write("good.toml", Draft::new().text()).write("bad.toml", unstable().text());
    let good = lab.twinrig(["check", "good.toml"]).exits(0);
    assert!(good.out.contains("stable: least damped motion"), "{}", good.out);
    assert!(good.out.contains("critical delay"), "{}", good.out);
    let good = lab.twinrig(["check", "good.toml", "--json"]).exits(0).json();
    assert_eq!(good["stability"], "stable");
    assert_eq!(good["dofs"], 2);
    assert_eq!(good["modes"].as_array().unwrap().len(), 2);
    let critical_s = good["critical_delay_s"].as_f64().unwrap();
    assert!((0.001..0.02).contains(&critical_s), "{critical_s}");

    let bad = lab.twinrig(["check", "bad.toml"]).exits(7);
    assert!(bad.out.contains("UNSTABLE"), "{}", bad.out);
    let bad = lab.twinrig(["--json", "check", "bad.toml"]).exits(7).json();
    assert_eq!(bad["stability"], "unstable");
    assert!(bad["dominant"]["growth_1_s"].as_f64().unwrap() > 0.0);
}

/// The help and the README list the same exit codes, in the same words.
#[test]
fn exit_codes_are_listed_once() {
    let help = Lab::new().twinrig(["--help"]).exits(0).out;
    assert!(help.starts_with("Real-time hybrid testing: predict, rehearse, run"), "{help}");
    let (_, codes) = help.split_once("Exit codes:").unwrap();
    let codes: Vec<_> =
        codes.trim().lines().map(|line| line.trim().split_once("  ").unwrap()).collect();
    let readme = include_str!("../../../../README.md");
    let rows: Vec<_> = readme
        .lines()
        .skip_while(|line| *line != "| exit code | means |")
        .skip(2)
        .map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "))
        .collect();
    assert_eq!(codes, rows);
    assert_eq!(codes.len(), 14);
}

/// On a terminal of 80 columns no line of a help is broken by it, and each shows a call.
#[test]
fn every_help_fits_eighty_columns_and_has_an_example() {
    let lab = Lab::new();
    let help = lab.twinrig(["--help"]).exits(0).out;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let names = commands.lines().take_while(|line| !line.is_empty());
    let names: Vec<&str> =
        names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let names: Vec<&str> =
        names.into_iter().filter(|name| !name.is_empty() && *name != "help").collect();
    assert!(names.contains(&"check") && names.contains(&"completions"), "{names:?}");
    let mut all = vec![help.clone()];
    for name in names {
        let help = lab.twinrig([name, "--help"]).exits(0).out;
        assert!(help.contains(&format!("\n  twinrig {name} ")), "{help}");
        all.push(help);
    }
    let lines = || all.iter().flat_map(|help| help.lines());
    let wide: Vec<&str> = lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn a_misspelt_command_is_told_the_one_that_was_meant() {
    let lab = Lab::new();
    for (typed, meant) in [("rn", "run"), ("chek", "check"), ("identfy", "identify")] {
        let said = lab.twinrig([typed, "test.toml"]).exits(2).err;
        assert!(said.contains(&format!("'{meant}'")), "{said}");
    }
}

/// Every command that reads an experiment takes other values for it.
#[test]
fn values_of_the_file_are_set_on_the_command_line() {
    let lab = Lab::new();
    lab.write("test.toml", Draft::new().text());
    let rest = Draft::new().with("limits", "command = \"1 m\"").text();
    lab.write("top.toml", format!("include = [\"rig.toml\"]\n{rest}"));
    lab.write("rig.toml", "[limits]\nforce = \"1 MN\"\n");
    for command in ["check", "run", "rig", "identify", "reduce", "chart", "trace", "sweep"] {
        assert!(lab.twinrig([command, "--help"]).exits(0).out.contains("--set"), "{command}");
        let set = [command, "test.toml", "--set", "nonsense"];
        let axes = ["--x", "duration=1..2 s", "--y", "seed=1..2"];
        let more = if command == "chart" { &axes[..] } else { &[] };
        let bad = lab.twinrig(set.iter().chain(more)).exits(2);
        assert!(bad.err.contains("write PATH=VALUE"), "{command}: {}", bad.err);
    }
    let late = "transfer_system.samples=40";
    lab.twinrig(["check", "test.toml"]).exits(0);
    lab.twinrig(["check", "test.toml", "--set", late]).exits(7);
    lab.twinrig(["run", "test.toml", "--set", "duration=31 furlong"]).exits(3);
    // A value in an included file, and what the record then holds is what ran.
    let limited = ["run", "top.toml", "--set", "limits.force=\"1 N\"", "--out", "limited"];
    lab.twinrig(limited).exits(4);
    lab.twinrig(["replay", "limited"]).exits(0);
    lab.twinrig(["identify", "limited", "--set", "duration=1 s"]).exits(2);
}

#[test]
fn check_ends_for_tall_buildings_long_delays_and_no_damping() {
    let lab = Lab::new();
    let tall = "shear_building = { storeys = 120, mass = \"20 t\", stiffness = \"400 MN/m\" }\n\
                damping = { modal = \"2 %\" }";
    lab.write("tall.toml", Draft::new().with("structure", tall).text());
    assert!(lab.twinrig(["check", "tall.toml"]).exits(0).out.contains("and 108 higher modes"));

    let long = Draft::new().with("transfer_system", "kind = \"delay\"\nsamples = 500000");
    lab.write("long.toml", long.text());
    let long = lab.twinrig(["check", "long.toml"]).exits(7);
    assert!(long.out.contains("UNSTABLE: motion at"), "{}", long.out);

    let bare = "shear_building = { storeys = 3, mass = \"20 t\", stiffness = \"40 MN/m\" }";
    let bare = Draft::new().with("structure", bare);
    lab.write(
        "bare.toml",
        bare.with("partition", "interface = [1]\nstiffness = [\"1 MN/m\"]").text(),
    );
    let bare = lab.twinrig(["check", "bare.toml"]).exits(7);
    assert!(bare.out.contains("any delay makes this loop unstable"), "{}", bare.out);
    assert!(bare.out.contains("has no damping"), "{}", bare.out);
}

#[test]
fn run_report_export_and_replay_speak_both_ways() {
    let lab = Lab::new();
    let ran = lab.rehearse(&Draft::new()).exits(0);
    assert!(ran.out.contains("Completed") && ran.out.contains("NRMSE"), "{}", ran.out);
    for name in ["record.arrow", "report.html", "summary.json"] {
        assert!(lab.path("out").join(name).is_file(), "{name}");
    }
    let ran = lab.twinrig(["run", "test.toml", "--out", "out", "--json"]).exits(0).json();
    assert_eq!(ran["folder"], "out");
    assert_eq!(ran["summary"]["status"], "completed");

    assert!(lab.twinrig(["report", "out"]).exits(0).out.contains("written to out/report.html"));
    let report = lab.twinrig(["report", "out/record.arrow", "--json", "--out", "r.html"]).exits(0);
    assert_eq!(report.json()["report"], "r.html");
    assert_eq!(report.json()["summary"], ran["summary"]);
    let page = std::fs::read_to_string(lab.path("r.html")).unwrap();
    assert!(page.contains("Draft") && page.trim_end().ends_with("</html>"));
    // The plotting library mentions addresses; the page itself loads none.
    for tag in ["<script src", "<link rel=\"stylesheet\"", "<img src=\"http"] {
        assert!(!page.contains(tag), "{tag} needs the network");
    }

    let said = lab.twinrig(["export", "out", "--format", "csv"]).exits(0).out;
    assert!(said.starts_with("307 frames of"), "{said}");
    let said = lab.twinrig(["export", "out", "--format", "mat", "--json"]).exits(0).json();
    assert_eq!((&said["rows"], &said["file"]), (&307.into(), &"out/record.mat".into()));

    let said = lab.twinrig(["replay", "out"]).exits(0).out;
    assert!(said.contains("307 ticks") && said.contains("bit for bit"), "{said}");
    let said = lab.twinrig(["replay", "out", "--json"]).exits(0).json();
    assert_eq!((&said["identical"], &said["ticks"]), (&true.into(), &307.into()));
}

#[test]
fn without_out_the_folder_is_named_after_the_file() {
    let lab = Lab::new();
    lab.write("frame.toml", Draft::new().text());
    lab.twinrig(["run", "frame.toml"]).exits(0);
    assert!(lab.path("runs/frame/record.arrow").is_file());
}

#[test]
fn schema_and_completions_are_whole() {
    let lab = Lab::new();
    let schema = lab.twinrig(["schema"]).exits(0).json();
    assert_eq!(schema["type"], "object");
    for key in ["title", "structure", "partition", "limits"] {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = lab.twinrig(["completions", shell]).exits(0).out;
        assert!(script.contains("reproduce") && script.len() > 1000, "{shell}");
    }
}

#[test]
fn bench_measures_something() {
    let lab = Lab::new();
    let rows = lab.twinrig(["bench", "--repeat", "1", "--json"]).exits(0).json();
    let rows = rows["measurements"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["id"] == "loop_delay"));
    assert!(rows.iter().all(|row| row["ns"].as_f64().unwrap() > 0.0));
    let said = lab.twinrig(["bench", "--repeat", "1"]).exits(0).out;
    assert!(said.contains("ns/step"), "{said}");
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    let lab = Lab::new();
    for line in [
        vec![],
        vec!["fly"],
        vec!["check"],
        vec!["export", "out"],
        vec!["export", "out", "--format", "xls"],
        vec!["bench", "--repeat", "0"],
        vec!["reproduce", "nobody"],
        vec!["run", "test.toml", "--out", ""],
        vec!["completions", "tcsh"],
    ] {
        let ran = lab.twinrig(&line).exits(2);
        assert!(!ran.err.is_empty(), "{line:?}");
    }
    let help = lab.twinrig(["--help"]).exits(0).out;
    for code in 0..=7 {
        assert!(help.contains(&format!("\n  {code}  ")), "exit code {code} is not documented");
    }
    assert!(lab.twinrig(["--version"]).exits(0).out.contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn places_that_cannot_be_written_are_named_with_a_remedy() {
    let lab = Lab::new();
    lab.rehearse(&Draft::new()).exits(0);
    lab.write("file", "x");
    for (line, place) in [
        (vec!["run", "test.toml", "--out", "file"], "file"),
        (vec!["run", "test.toml", "--out", "file/sub"], "file/sub"),
        (vec!["export", "out", "--format", "csv", "--out", "no/x.csv"], "no/x.csv"),
        (vec!["export", "out", "--format", "mat", "--out", "out"], "out"),
        (vec!["report", "out", "--out", "no/r.html"], "no/r.html"),
    ] {
        let ran = lab.twinrig(&line).exits(1);
        assert!(ran.err.contains(&format!("cannot write {place}")), "{}", ran.err);
        assert!(ran.err.contains("check that its folder exists"), "{}", ran.err);
        let mut line = line;
        line.push("--json");
        let error = lab.twinrig(&line).exits(1).json();
        assert!(error["error"].as_str().unwrap().contains(place));
    }
}

#[test]
fn nothing_overwrites_the_record_it_reads() {
    let lab = Lab::new();
    lab.rehearse(&Draft::new()).exits(0);
    let before = std::fs::read(lab.path("out/record.arrow")).unwrap();
    for line in [
        ["export", "out", "--format", "csv", "--out", "out/record.arrow"].as_slice(),
        &["export", "out/record.arrow", "--format", "mat", "--out", "out/../out/record.arrow"],
        &["report", "out", "--out", "./out/record.arrow"],
    ] {
        let ran = lab.twinrig(line).exits(1);
        assert!(ran.err.contains("is the record itself"), "{}", ran.err);
    }
    assert!(before == std::fs::read(lab.path("out/record.arrow")).unwrap());
}

#[test]
fn what_is_no_record_is_refused() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("empty")).unwrap();
    lab.write("text.arrow", "time,force\n").write("nothing.arrow", "");
    for (place, says) in [
        ("empty", "cannot read the record empty"),
        ("absent", "cannot read the record absent"),
        ("text.arrow", "is not a twinrig record"),
        ("nothing.arrow", "ends before its header does"),
    ] {
        for line in
            [vec!["report", place], vec!["replay", place], vec!["export", place, "--format", "csv"]]
        {
            let ran = lab.twinrig(&line).exits(1);
            assert!(ran.err.contains(says), "{line:?}: {}", ran.err);
        }
    }
}

#[test]
fn a_title_cannot_paint_the_terminal() {
    let lab = Lab::new();
    let title = "title = \"red \\u001b[31m </script>\\nnext\"\nduration = \"0.1 s\"\n";
    let text = Draft::new().text();
    let (_, rest) = text.split_once("[structure]").unwrap();
    lab.write("test.toml", format!("{title}[structure]{rest}"));
    let checked = lab.twinrig(["check", "test.toml"]).exits(0);
    let ran = lab.twinrig(["run", "test.toml", "--out", "out"]).exits(0);
    for out in [checked.out, ran.out] {
        assert!(!out.contains('\u{1b}'), "{out:?}");
        assert!(out.lines().next().unwrap().ends_with("next"), "one line: {out:?}");
    }
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(!page.contains("red \u{1b}") && !page.contains("</script>\nnext"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf8_is_a_name() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    let lab = Lab::new();
    let name = OsStr::from_bytes(b"na\xffme.toml");
    std::fs::write(lab.folder().join(name), Draft::new().text()).unwrap();
    lab.twinrig([OsString::from("check"), name.to_owned()]).exits(0);
    let out = OsStr::from_bytes(b"o\xff").to_owned();
    lab.twinrig(["run".into(), name.to_owned(), "--out".into(), out, "--json".into()]).exits(0);
}

#[test]
fn a_report_shows_included_files_and_what_the_compensator_learnt() {
    let lab = Lab::new();
    let draft = Draft::new().top("include = [\"extra.toml\"]\nduration = \"1 s\"");
    let compensator = "[compensator]\nkind = \"adaptive_model_based\"\nstart_delay = \"1 ms\"\n";
    lab.write("extra.toml", format!("# beside the file\n{compensator}"));
    lab.write("test.toml", draft.text());
    lab.twinrig(["run", "test.toml", "--out", "out"]).exits(0);
    let page = std::fs::read_to_string(lab.path("out/report.html")).unwrap();
    assert!(page.contains("Included file extra.toml") && page.contains("# beside the file"));
    assert!(page.contains("Adapted factors of the compensator"), "adapted factors are drawn");
}

#[test]
fn the_fragment_of_the_readme_is_a_valid_part_of_a_file() {
    let readme = include_str!("../../../../README.md");
    let blocks = readme.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let fragment = blocks.filter(|block| block.contains("[compensator]")).collect::<String>();
    assert!(fragment.contains("[[fault]]"), "{fragment}");
    let base = "title = \"README\"\nduration = \"8 s\"\n\
        structure = { shear_building = { storeys = 3, mass = \"1 t\", stiffness = \"2 MN/m\" }, \
        damping = { modal = \"3 %\" } }\n\
        partition = { interface = [1], mass = [\"29 kg\"], stiffness = [\"0.2 MN/m\"] }\n\
        excitation = { ground = { harmonic = { amplitude = \"1 m/s^2\", frequency = \"2 Hz\" } } }\n\
        integrator = { method = \"rk4\", rate = \"2048 Hz\" }\n\
        transfer_system = { kind = \"servo_hydraulic\" }\n\
        limits = { command = \"50 mm\", tracking_error = \"1 mm\" }\n";
    let lab = Lab::new();
    lab.write("test.toml", format!("{base}{fragment}"));
    lab.twinrig(["check", "test.toml"]).exits(0);
    // The actuator sticks while the structure moves, and somebody notices.
    let ran = lab.twinrig(["run", "test.toml", "--out", "out"]).exits(4);
    assert!(ran.out.contains("the actuator is stuck"), "{}", ran.out);
}
