//! `twinrig sweep`: deterministic, resumable, honest about what fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Draft, Lab};
use serde_json::Value;

/// A delay that varies, a specimen that varies, two load levels.
fn draft(runs: u32) -> Draft {
    Draft::new().with("sensors", "displacement_noise = \"10 um\"\nforce_noise = \"1 N\"").with(
        "sweep",
        &format!(
            "runs = {runs}\nseed = 5\n\
                 [[sweep.vary]]\nparameter = \"transfer_system.samples\"\n\
                 normal = {{ sd = 0.5, min = 0 }}\n\
                 [[sweep.vary]]\nparameter = \"partition.stiffness[1]\"\n\
                 normal = {{ sd = \"50 kN/m\" }}\n\
                 [[sweep.vary]]\nparameter = \"excitation.ground.harmonic.amplitude\"\n\
                 values = [\"0.5 m/s^2\", \"1 m/s^2\"]"
        ),
    )
}

/// A draft whose sweep has one parameter with one distribution.
fn varying(parameter: &str, spread: &str) -> String {
    let sweep = format!("runs = 3\n[[sweep.vary]]\nparameter = \"{parameter}\"\n{spread}");
    Draft::new().with("sweep", &sweep).text()
}

const RESULTS: [&str; 3] = ["results.csv", "summary.json", "report.html"];

fn files(folder: &Path) -> BTreeMap<&'static str, Vec<u8>> {
    RESULTS.iter().map(|name| (*name, std::fs::read(folder.join(name)).unwrap())).collect()
}

/// The rows of a table, by column.
fn table(folder: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(folder.join("results.csv")).unwrap();
    let head = reader.headers().unwrap().clone();
    let rows = reader.records().map(|row| {
        let row = row.unwrap();
        head.iter().map(str::to_owned).zip(row.iter().map(str::to_owned)).collect()
    });
    rows.collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column}: {row:?}"))
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let lab = Lab::new();
    lab.write("test.toml", draft(6).text());
    for threads in ["1", "2", "3"] {
        lab.twinrig(["sweep", "test.toml", "--threads", threads, "--out", threads]).exits(0);
    }
    let one = files(&lab.path("1"));
    assert_eq!(one, files(&lab.path("2")));
    assert_eq!(one, files(&lab.path("3")));

    let rows = table(&lab.path("1"));
    assert_eq!(rows.len(), 12, "six draws at two load levels");
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(row["variant"], (at + 1).to_string());
        assert_eq!(row["outcome"], "completed");
        assert_eq!(row["stable"], "yes");
    }
    for pair in rows.chunks(2) {
        // The two load levels of one draw share everything else.
        for column in ["draw", "seed", "transfer_system.samples", "partition.stiffness[1] [N/m]"] {
            assert_eq!(pair[0][column], pair[1][column]);
        }
        let peak = |row| number(row, "excitation.ground.harmonic.amplitude [m/s^2]");
        assert_eq!((peak(&pair[0]), peak(&pair[1])), (0.5, 1.0));
        assert!(number(&pair[1], "force [N]") > 1.5 * number(&pair[0], "force [N]"));
    }
    let seeds: std::collections::BTreeSet<&String> = rows.iter().map(|row| &row["seed"]).collect();
    assert_eq!(seeds.len(), 6, "every draw has its own noise");
    let stiffness: Vec<f64> =
        rows.iter().map(|row| number(row, "partition.stiffness[1] [N/m]")).collect();
    assert!(stiffness.iter().all(|k| (0.2e6..0.8e6).contains(k)), "{stiffness:?}");
}

#[test]
fn a_variant_alone_gives_its_row_and_its_record_the_same_numbers() {
    let lab = Lab::new();
    lab.write("test.toml", draft(3).text());
    lab.twinrig(["sweep", "test.toml", "--out", "all"]).exits(0);
    let rows = table(&lab.path("all"));
    let alone = lab
        .twinrig(["sweep", "test.toml", "--only", "4", "--record", "four", "--json"])
        .exits(0)
        .json();
    let (variant, summary) = (&alone["variant"], &alone["summary"]);
    assert_eq!(variant["seed"].to_string(), rows[3]["seed"]);
    let mut compared = 0;
    for criterion in summary["criteria"].as_array().unwrap() {
        let id = criterion["id"].as_str().unwrap();
        let unit = criterion["unit"].as_str().unwrap();
        let in_row: f64 = rows[3][&format!("{id} [{unit}]")].parse().unwrap();
        assert_eq!(criterion["value"].as_f64(), Some(in_row), "{id}");
        assert_eq!(variant["metrics"][id].as_f64(), Some(in_row), "{id}");
        compared += 1;
    }
    assert_eq!(compared, 7, "two storeys, one at the interface");

    // The variant's file is complete: run by itself it gives the very same record.
    let text = std::fs::read_to_string(lab.path("four/experiment.toml")).unwrap();
    lab.write("four.toml", &text);
    let again = lab.twinrig(["run", "four.toml", "--out", "again", "--json"]).exits(0).json();
    assert_eq!(&again["summary"]["criteria"], &summary["criteria"]);
    lab.twinrig(["replay", "four"]).exits(0);
}

#[test]
fn more_runs_go_on_where_fewer_ended() {
    let lab = Lab::new();
    lab.write("test.toml", draft(2).text());
    lab.twinrig(["sweep", "test.toml", "--out", "a"]).exits(0);
    let more = lab.twinrig(["sweep", "test.toml", "--out", "a", "--runs", "4", "--json"]).exits(0);
    assert_eq!(more.json()["resumed_variants"], 4);
    // The number of runs may also be changed in the file.
    lab.write("test.toml", draft(4).text());
    let more = lab.twinrig(["sweep", "test.toml", "--out", "a", "--json"]).exits(0);
    assert_eq!(more.json()["resumed_variants"], 8);
    lab.twinrig(["sweep", "test.toml", "--out", "b"]).exits(0);
    assert_eq!(files(&lab.path("a")), files(&lab.path("b")));
    // Fewer again: the others are left out, not lost.
    let fewer = lab.twinrig(["sweep", "test.toml", "--out", "a", "--runs", "1", "--json"]).exits(0);
    assert_eq!(fewer.json()["summary"]["variants"], 2);
}

#[test]
fn a_killed_sweep_goes_on_and_ends_the_same() {
    let lab = Lab::new();
    let slow = draft(60).top("duration = \"4 s\"");
    lab.write("test.toml", slow.text());
    lab.twinrig(["sweep", "test.toml", "--out", "whole"]).exits(0);

    let journal = lab.path("killed/sweep.journal");
    let lines = || std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    let mut child = Command::new(env!("CARGO_BIN_EXE_twinrig"))
        .args(["sweep", "test.toml", "--threads", "2", "--out", "killed"])
        .current_dir(lab.folder())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while lines() < 6 && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = lines() - 1;
    assert!((5..120).contains(&kept), "{kept} rows before the kill: none or all");
    assert!(!lab.path("killed/results.csv").exists());

    // A kill may also tear the last line.
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    let resumed = lab.twinrig(["sweep", "test.toml", "--out", "killed", "--json"]).exits(0).json();
    assert_eq!(resumed["resumed_variants"].as_u64().unwrap() as usize, kept - 1);
    assert_eq!(files(&lab.path("killed")), files(&lab.path("whole")));
}

#[test]
fn a_journal_of_something_else_is_refused() {
    let lab = Lab::new();
    lab.write("test.toml", draft(2).text());
    lab.twinrig(["sweep", "test.toml", "--out", "a"]).exits(0);
    let before = files(&lab.path("a"));
    // Another seed, another value, another input: none may mix.
    for other in [
        vec!["--seed", "6"],
        vec!["--set", "partition.mass[1]=31 kg"],
        vec!["--set", "sweep.sensor_noise=same"],
    ] {
        let mut line = vec!["sweep", "test.toml", "--out", "a"];
        line.extend(other);
        let refused = lab.twinrig(line).exits(1);
        assert!(refused.err.contains("--restart"), "{}", refused.err);
        assert_eq!(files(&lab.path("a")), before);
    }
    let restart = ["sweep", "test.toml", "--out", "a", "--seed", "6", "--restart"];
    lab.twinrig(restart).exits(0);
    assert_ne!(files(&lab.path("a")), before);
    lab.write("b", "");
    std::fs::create_dir(lab.path("c")).unwrap();
    lab.write("c/sweep.journal", "my notes\n");
    let refused = lab.twinrig(["sweep", "test.toml", "--out", "c"]).exits(1);
    assert!(refused.err.contains("not the journal of a sweep"), "{}", refused.err);
    assert_eq!(std::fs::read(lab.path("c/sweep.journal")).unwrap(), b"my notes\n");
    lab.twinrig(["sweep", "test.toml", "--out", "b"]).exits(1);
}

#[test]
fn a_changed_input_file_is_noticed() {
    let lab = Lab::new();
    let ground = |peak: f64| {
        let rows =
            (0..40).map(|i| format!("{},{}\n", f64::from(i) * 0.01, peak * f64::from(i % 5)));
        format!("time [s],acceleration [m/s^2]\n{}", rows.collect::<String>())
    };
    let text = draft(2)
        .with("excitation", "ground = { file = \"g.csv\", scale = 0.5 }")
        .text()
        .replace("excitation.ground.harmonic.amplitude", "excitation.ground.scale")
        .replace("[\"0.5 m/s^2\", \"1 m/s^2\"]", "[0.5, 1]");
    lab.write("test.toml", &text).write("g.csv", ground(1.0));
    lab.twinrig(["sweep", "test.toml", "--out", "a"]).exits(0);
    let rows = table(&lab.path("a"));
    let ratio = number(&rows[1], "force [N]") / number(&rows[0], "force [N]");
    assert!((1.8..2.2).contains(&ratio), "{ratio}");
    lab.write("g.csv", ground(1.1));
    lab.twinrig(["sweep", "test.toml", "--out", "a"]).exits(1);
}

#[test]
fn values_without_a_model_fail_alone() {
    let lab = Lab::new();
    // A third of the masses is negative, some delays are.
    lab.write(
        "test.toml",
        varying("structure.mass[2]", "values = [\"1000 kg\", \"-5 kg\", \"900 kg\"]"),
    );
    let swept = lab.twinrig(["sweep", "test.toml", "--out", "a", "--json"]).exits(0).json();
    assert_eq!(swept["summary"]["failed"], 3);
    assert_eq!(swept["summary"]["completed"], 6);
    let rows = table(&lab.path("a"));
    assert_eq!(rows[1]["outcome"], "failed");
    assert!(rows[1]["reason"].contains("must be zero or more"), "{}", rows[1]["reason"]);
    assert_eq!(rows[1]["J2 [%]"], "");
    let people = lab.twinrig(["sweep", "test.toml", "--out", "a"]).exits(0);
    assert!(people.out.contains("first failure: variant 2"), "{}", people.out);

    // Where nothing can be run the command fails, and says why.
    lab.write("test.toml", varying("structure.mass[2]", "uniform = [\"-9 kg\", \"-5 kg\"]"));
    lab.twinrig(["sweep", "test.toml", "--out", "b"]).exits(1);
    // A distribution that hardly ever gives a value ends.
    lab.write(
        "test.toml",
        varying("transfer_system.samples", "normal = { sd = 0.1, min = 50, max = 51 }"),
    );
    lab.twinrig(["sweep", "test.toml", "--out", "c"]).exits(1);
    assert!(table(&lab.path("c"))[0]["reason"].contains("hardly any draw"));
    // Nor does one variant take all memory.
    lab.write("test.toml", varying("duration", "values = [\"0.3 s\", \"9e5 s\"]"));
    lab.twinrig(["sweep", "test.toml", "--out", "d"]).exits(0);
    assert!(table(&lab.path("d"))[1]["reason"].contains("GB of memory"));
}

#[test]
fn unstable_and_tripped_variants_are_told_apart() {
    let lab = Lab::new();
    let base = |limits: &str| {
        Draft::new()
            .top("duration = \"6 s\"")
            .with("transfer_system", "kind = \"delay\"\nsamples = 2")
            .with("limits", limits)
            .with(
                "sweep",
                "runs = 1\n[[sweep.vary]]\nparameter = \"transfer_system.samples\"\n\
                 values = [2, 40]",
            )
            .text()
    };
    lab.write("free.toml", base("command = \"1e6 m\""));
    let free = lab.twinrig(["sweep", "free.toml", "--out", "free", "--json"]).exits(0).json();
    let rows = table(&lab.path("free"));
    assert_eq!((rows[0]["stable"].as_str(), rows[1]["stable"].as_str()), ("yes", "no"));
    assert_eq!(free["summary"]["unstable"], 1);
    assert_eq!(free["summary"]["worst"]["variant"], 2);

    lab.write("watched.toml", base("command = \"30 mm\""));
    let watched = lab.twinrig(["sweep", "watched.toml", "--out", "w", "--json"]).exits(0).json();
    assert_eq!(watched["summary"]["tripped"], 1);
    let rows = table(&lab.path("w"));
    assert_eq!(rows[1]["outcome"], "tripped");
    assert_eq!(rows[1]["trip"], "command");
    assert!((0.1..6.0).contains(&number(&rows[1], "trip time [s]")));
    // The record of the same variant trips at the same time.
    let alone = lab.twinrig(["sweep", "watched.toml", "--only", "2", "--record", "r", "--json"]);
    let alone = alone.exits(4).json();
    let time = alone["summary"]["trip"]["time_s"].as_f64().unwrap();
    assert_eq!(time, number(&rows[1], "trip time [s]"));
    assert_eq!(alone["summary"]["criteria"][1]["value"].as_f64(), Some(number(&rows[1], "J2 [%]")));
}

#[test]
fn noise_can_be_kept_and_the_excitation_never_changes_with_it() {
    let lab = Lab::new();
    let base = |more: &str| {
        Draft::new()
            .top("duration = \"5 s\"")
            .with("excitation", "ground = { synthetic = { peak = \"0.1 g\" } }")
            .with("sensors", "displacement_noise = \"100 um\"")
            .with("sweep", &format!("runs = 3\n{more}"))
            .text()
    };
    lab.write("fresh.toml", base("")).write("same.toml", base("sensor_noise = \"same\""));
    lab.twinrig(["sweep", "fresh.toml", "--out", "fresh"]).exits(0);
    lab.twinrig(["sweep", "same.toml", "--out", "same"]).exits(0);
    let (fresh, same) = (table(&lab.path("fresh")), table(&lab.path("same")));
    assert!(fresh[0]["J2 [%]"] != fresh[1]["J2 [%]"] && fresh[1]["J2 [%]"] != fresh[2]["J2 [%]"]);
    assert!(same[0]["J2 [%]"] == same[1]["J2 [%]"] && same[1]["J2 [%]"] == same[2]["J2 [%]"]);
    // Noise moves the force by little; another earthquake would move it by much.
    let forces: Vec<f64> = fresh.iter().map(|row| number(row, "force [N]")).collect();
    assert!(forces.iter().all(|force| (force / forces[0] - 1.0).abs() < 0.05), "{forces:?}");
}

#[test]
fn every_number_of_the_file_can_vary() {
    let lab = Lab::new();
    for (parameter, spread) in [
        ("seed", "uniform = [1, 9]"),
        ("duration", "values = [\"0.2 s\", \"0.3 s\"]"),
        ("structure.mass[2]", "log_normal = { dispersion = \"10 %\" }"),
        ("structure.stiffness.rows[1][1]", "normal = { sd = \"1 %\" }"),
        ("structure.damping.modal", "triangular = [\"1 %\", \"3 %\", 0.05]"),
        ("partition.mass[1]", "normal = { mean = \"25 kg\", sd = \"10 %\", max = \"40 kg\" }"),
        ("partition.damping[1]", "uniform = [\"50 N s/m\", \"0.2 kN s/m\"]"),
        ("excitation.ground.harmonic.frequency", "uniform = [\"1 Hz\", \"10 rad/s\"]"),
        ("excitation.ground.harmonic.phase", "normal = { sd = \"10 deg\" }"),
        ("integrator.rate", "values = [\"512 Hz\", \"1024 Hz\"]"),
        ("limits.safe.rate", "uniform = [\"1 mm/s\", \"9 mm/s\"]"),
        ("sensors.force_noise", "uniform = [\"0 N\", \"5 N\"]"),
        ("record.every", "values = [1, 3]"),
        ("monitor.stability_warning.constant", "uniform = [\"1 J\", \"2 J\"]"),
    ] {
        lab.write("test.toml", varying(parameter, spread));
        let swept = lab.twinrig(["sweep", "test.toml", "--out", "a", "--restart", "--json"]);
        let swept = swept.exits(0).json();
        let (rows, head) = (table(&lab.path("a")), parameter);
        assert_eq!(swept["summary"]["failed"], 0, "{parameter}: {rows:?}");
        let column = rows[0].keys().find(|name| name.starts_with(head)).unwrap().clone();
        let drawn: Vec<&String> = rows.iter().map(|row| &row[&column]).collect();
        assert!(drawn.iter().any(|value| *value != drawn[0]), "{parameter}: {drawn:?}");
    }
}

#[test]
fn bad_sweeps_are_refused_with_place_and_remedy() {
    let lab = Lab::new();
    for (parameter, spread, words) in [
        ("transfer_system.sampels", "values = [1]", "did you mean `transfer_system.samples`?"),
        (
            "transfer_system.leakage",
            "values = [1]",
            "what can vary here: `transfer_system.samples`",
        ),
        ("partition.stiffness", "values = [1]", "`partition.stiffness[1]`"),
        ("partition.stiffness[2]", "values = [1]", "has 1 entries, counted from 1"),
        ("partition.stiffness[0]", "values = [1]", "entries count from 1"),
        ("excitation.ground.scale[1]", "values = [1]", "is not a list"),
        ("excitation.ground.noise.rms", "values = [1]", "a table that this file does not have"),
        ("title", "values = [1]", "only numbers can vary"),
        ("sweep.runs", "values = [1]", "cannot vary itself"),
        ("..", "values = [1]", "is not a path of this file"),
        ("partition.stiffness[1]", "normal = { sd = 5 }", "5 needs a unit"),
        ("partition.stiffness[1]", "normal = { sd = \"5 kg\" }", "is a mass, not a stiffness"),
        ("partition.stiffness[1]", "normal = { sd = \"-5 N/m\" }", "is not negative"),
        ("transfer_system.samples", "normal = { sd = \"5 ms\" }", "is a bare number"),
        ("transfer_system.samples", "uniform = [3, 1]", "write the lowest value first"),
        ("transfer_system.samples", "normal = { sd = 1, min = 3, max = 3 }", "`max` is not above"),
        ("transfer_system.samples", "uniform = [1]", "it takes exactly 2 entries"),
        ("transfer_system.samples", "", "exactly one of `normal`"),
        ("transfer_system.samples", "values = [1]\nuniform = [1, 2]", "exclude one another"),
        ("transfer_system.samples", "values = [nan]", "not a finite number"),
        ("seed", "values = [1.5]", "is a whole number"),
        ("transfer_system.quantum", "normal = { sd = \"1 um\" }", "does not say what"),
        (
            "transfer_system.samples",
            "values = [1]\n[[sweep.vary]]\nparameter = \
          \"transfer_system.samples\"\nvalues = [2]",
            "varies twice",
        ),
    ] {
        lab.write("test.toml", varying(parameter, spread));
        let refused = lab.twinrig(["sweep", "test.toml"]).exits(3);
        assert!(refused.err.contains(words), "{parameter} {spread}:\n{}", refused.err);
        assert!(refused.err.contains("--> test.toml:"), "{}", refused.err);
        // Every command sees it, so that a slip does not wait for the sweep.
        lab.twinrig(["check", "test.toml"]).exits(3);
    }
    lab.write("test.toml", varying("seed", "values = [1]").replace("runs = 3", "runs = 1000001"));
    lab.twinrig(["sweep", "test.toml"]).exits(3);
    lab.write("test.toml", Draft::new().text());
    let none = lab.twinrig(["sweep", "test.toml"]).exits(3);
    assert!(none.err.contains("has no [sweep]"), "{}", none.err);
    lab.write("test.toml", draft(2).text());
    let none = lab.twinrig(["sweep", "test.toml", "--only", "5"]).exits(1);
    assert!(none.err.contains("from 1 to 4"), "{}", none.err);
    let bad = lab.twinrig(["sweep", "test.toml", "--set", "nonsense"]).exits(2);
    assert!(bad.err.contains("PATH=VALUE"), "{}", bad.err);
    lab.twinrig(["sweep", "test.toml", "--set", "partition.mass[1]=31 furlong"]).exits(3);
    lab.twinrig(["sweep", "test.toml", "--threads", "0"]).exits(2);
}

#[test]
fn the_page_is_complete_and_carries_every_variant() {
    let lab = Lab::new();
    lab.write("test.toml", draft(4).text().replace("Draft", "Draft <b>&"));
    lab.twinrig(["sweep", "test.toml", "--out", "a"]).exits(0);
    let page = std::fs::read_to_string(lab.path("a/report.html")).unwrap();
    assert!(page.contains("Draft &lt;b&gt;&amp;") && page.trim_end().ends_with("</html>"));
    let rows = table(&lab.path("a"));
    let mut against = 0;
    for part in page.split("<script type=\"application/json\">").skip(1) {
        let figure: Value = serde_json::from_str(part.split_once("</script>").unwrap().0).unwrap();
        let pane = &figure["panes"][0];
        let title = pane["y"]["title"].as_str().unwrap();
        // The distributions have the variants on their other axis.
        let Some((id, unit)) = title.trim_end_matches(']').split_once(" [") else { continue };
        let Some((column, base)) = ["%", "ms", "m", "N"].iter().find_map(|base| {
            let column = format!("{id} [{base}]");
            rows[0].contains_key(&column).then_some((column, *base))
        }) else {
            continue;
        };
        let scale = match unit.strip_suffix(base).unwrap() {
            "" => 1.0,
            "m" => 1e3,
            "µ" => 1e6,
            "k" => 1e-3,
            prefix => panic!("{prefix}"),
        };
        let drawn = pane["series"].as_array().unwrap().iter().flat_map(|series| {
            let labels = series["labels"].as_array().unwrap().iter();
            labels.zip(series["y"].as_array().unwrap()).map(|(label, y)| {
                let index = label.as_str().unwrap().strip_prefix("variant ").unwrap();
                (index.parse::<usize>().unwrap(), y.as_f64().unwrap())
            })
        });
        let drawn: Vec<(usize, f64)> = drawn.collect();
        assert_eq!(drawn.len(), 8, "{title}");
        // A page rounds to a millionth of the largest.
        let largest = drawn.iter().fold(0.0, |most: f64, (_, value)| most.max(value.abs()));
        for (index, value) in drawn {
            let exact = scale * number(&rows[index - 1], &column);
            assert!((value - exact).abs() <= 1e-6 * largest, "{column}: {value} {exact}");
        }
        against += 1;
    }
    assert!(against >= 3 * 9, "every criterion against three parameters: {against}");
}

#[test]
fn what_an_included_file_says_can_be_varied_and_the_variant_runs_alone() {
    let lab = Lab::new();
    let text = Draft::new().top("include = [\"rig.toml\"]\nduration = \"1 s\"").text();
    // The transfer system comes from the included file instead.
    let at = text.find("[transfer_system]").unwrap();
    let end = text[at + 1..].find("\n[").map_or(text.len(), |next| at + 1 + next);
    let text = format!("{}{}", &text[..at], &text[end..]);
    lab.write("rig.toml", "[transfer_system]\nkind = \"delay\"\nsamples = 3\n");
    lab.write(
        "test.toml",
        format!(
            "{text}\n[sweep]\nruns = 3\n[[sweep.vary]]\nparameter = \"transfer_system.samples\"\n\
             uniform = [1, 4]\n"
        ),
    );
    let all = lab.twinrig(["sweep", "test.toml", "--seed", "5", "--out", "out"]).exits(0);
    assert!(all.out.contains("--only") && all.out.contains("--seed 5"), "{}", all.out);
    let only = ["sweep", "test.toml", "--seed", "5", "--only", "2", "--record", "alone"];
    lab.twinrig(only).exits(0);
    // The written file is complete: it includes nothing.
    lab.twinrig(["run", "alone/experiment.toml", "--out", "again"]).exits(0);
}
