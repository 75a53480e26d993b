//! A row of a sweep and the record of the same variant tell the same, whatever
//! varies: in a batch, alone and rehearsed with a record.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::Draft;
use experiment::include::flattened;
use experiment::sweep::{Measure, SensorNoise, Spread, Target, Variation, with_value};
use experiment::{Experiment, Folder, SweepSpec};
use serde_json::Value;
use twinrig::sweep::{BATCH, Row, Study, VariantStatus, Workspace};
use twinrig::verdict::Reason;
use twinrig::{IN_PROCESS, RunOptions, Silent, StopHandle, Test};

/// Time under load of a shortened test: the synthetic earthquakes have begun.
const DURATION_S: f64 = 2.0;
/// And its ticks at most.
const TICKS: f64 = 10_000.0;
/// The variant that is rehearsed with a record, besides the batch.
const RECORDED: u64 = 2;

/// An experiment whose tests are short, where its load is a given one.
struct Subject {
    name: String,
    experiment: Experiment,
    folder: Folder,
}

impl Subject {
    fn new(name: &str, text: &str, folder: &Path) -> Self {
        let folder = Folder::new(folder);
        let (experiment, _) = Experiment::from_text(name, text, &folder)
            .unwrap_or_else(|found| panic!("{name}: {found}"));
        Self { name: name.to_owned(), experiment, folder }
    }

    /// One number of the file at four values.
    fn varying(&self, target: Target) -> Option<Study> {
        let declared = target.declared?;
        let value = |at: usize| match target.measure {
            Measure::Whole => declared + at as f64,
            _ => declared * (1.0 + 0.02 * at as f64),
        };
        let values = (0..BATCH).map(value).collect();
        let spec = SweepSpec {
            runs: 1,
            seed: 1,
            sensor_noise: SensorNoise::Fresh,
            unstable_beyond: 10.0,
            vary: vec![Variation { target, spread: Spread::Grid(values) }],
        };
        Study::new(self.experiment.clone(), spec, &self.folder, Arc::default()).ok()
    }

    /// The result of `twinrig run` of a variant, from its record; `None` if it
    /// cannot be run.
    fn recorded(&self, text: &str) -> Option<BTreeMap<String, Value>> {
        let test = Test::from_text(&self.name, text, self.folder.clone()).ok()?;
        // Rehearsed with the virtual rig, as a sweep does.
        let options = RunOptions { rig: Some(IN_PROCESS.into()), ..RunOptions::default() };
        let run = test.run_with(options, &StopHandle::default(), &mut Silent).ok()?;
        Some(found(&serde_json::to_value(&run.summary).unwrap()))
    }
}

/// What a record tells, by the columns of a sweep.
fn found(summary: &Value) -> BTreeMap<String, Value> {
    let list = |key: &str| summary[key].as_array().unwrap();
    let mut found = BTreeMap::new();
    for criterion in list("criteria") {
        found.insert(criterion["id"].as_str().unwrap().to_owned(), criterion["value"].clone());
    }
    let peaks = |channel: &str| {
        let of = list("peaks").iter().filter(|row| {
            // One for each interface DOF; the windowed warning is another indicator.
            let name = row["channel"].as_str().unwrap();
            let rest = name.strip_prefix(channel);
            rest.is_some_and(|rest| {
                rest.trim_start_matches('.').chars().all(|c| c.is_ascii_digit())
            })
        });
        of.filter_map(|row| row["value"].as_f64()).map(f64::abs).reduce(f64::max)
    };
    let nrmse = list("nrmse").iter().filter_map(|row| row["value"].as_f64()).reduce(f64::max);
    for (id, value) in [
        ("NRMSE", nrmse),
        ("SW", peaks("stability_warning")),
        ("tracking error", peaks("tracking_error")),
        ("force", peaks("force")),
    ] {
        found.insert(id.to_owned(), Value::from(value));
    }
    found.insert("trip".to_owned(), summary["trip"]["time_s"].clone());
    // What is found in the record alone: samples that are no numbers, answers that were bridged.
    let reasons = summary["verdict"]["reasons"].as_array().unwrap().iter();
    // A row ends with its trip; a record goes on, and its warning may come on the way to safe.
    let tripped = !summary["trip"].is_null();
    let of_record = |reason: &&Value| match reason["id"].as_str() {
        Some("not_finite") => false,
        // Of all ticks, those of the way to safe among them.
        Some("stability_warning" | "late_ticks") => !tripped,
        _ => true,
    };
    found.insert("verdict".to_owned(), reasons.filter(of_record).cloned().collect());
    found
}

/// The same of a row.
fn told(study: &Study, row: &Row) -> BTreeMap<String, Value> {
    let metrics = study.columns().metrics.iter().zip(&row.metrics);
    let mut told: BTreeMap<String, Value> =
        metrics.map(|(metric, value)| (metric.id.clone(), Value::from(*value))).collect();
    told.insert("trip".to_owned(), Value::from(row.trip.as_ref().map(|trip| trip.time_s)));
    let after_trip = ["stability_warning", "late_ticks"];
    let counts = |reason: &&Reason| row.trip.is_none() || !after_trip.contains(&reason.id.as_str());
    let reasons: Vec<&Reason> = row.verdict.reasons.iter().filter(counts).collect();
    told.insert("verdict".to_owned(), serde_json::to_value(reasons).unwrap());
    told
}

/// Compares the rows of a batch with the rows of the variants on their own, and one
/// with its record. Gives the rows.
fn compare(subject: &Subject, study: &Study, what: &str) -> Vec<Row> {
    let indices: Vec<u64> = (1..=BATCH as u64).collect();
    let rows = study.run_some(&indices, &mut Workspace::default());
    let rows: Vec<Row> = rows.into_iter().map(Result::unwrap).collect();
    for (row, &index) in rows.iter().zip(&indices) {
        let alone = study.run(index, &mut Workspace::default()).unwrap();
        assert_eq!(*row, alone, "{}, {what}: variant {index} of a batch and alone", subject.name);
    }
    let row = &rows[RECORDED as usize - 1];
    let text = study.text(&row.variant).unwrap();
    let Some(recorded) = subject.recorded(&text) else {
        assert_eq!(row.outcome, VariantStatus::Failed, "{}, {what}: no record", subject.name);
        return rows;
    };
    // A variant may have more DOFs than the file, which has the columns.
    for (id, in_row) in &told(study, row) {
        let value = recorded.get(id).unwrap_or(&Value::Null);
        // A peak of nothing is zero in a row and absent in a report.
        let same = in_row == value || (in_row.as_f64() == Some(0.0) && value.is_null());
        let place = format!("{}, {what}: {id}", subject.name);
        assert!(same, "{place} is {in_row} in the table and {value} in the record");
    }
    rows
}

/// Compares the rows of an experiment whose load varies.
pub fn compare_row(name: &str, text: &str) {
    let subject = Subject::new(name, text, Path::new("."));
    let loads = subject.experiment.targets().into_iter().filter(|target| {
        target.path.starts_with("excitation") && !target.path.ends_with("frequency")
    });
    for target in loads.take(1) {
        let what = target.path.clone();
        if let Some(study) = subject.varying(target) {
            compare(&subject, &study, &what);
        }
    }
}

/// How many rows tell an error against the reference: they ran for a while.
fn judged(study: &Study, rows: &[Row]) -> usize {
    let told = rows.iter().map(|row| told(study, row));
    told.filter(|told| told["NRMSE"].is_number()).count()
}

fn examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files = Vec::new();
    for folder in std::fs::read_dir(root).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// An example with a short load.
fn shortened(path: &Path) -> Subject {
    let folder = path.parent().unwrap();
    let name = format!(
        "{}/{}",
        folder.file_name().unwrap().display(),
        path.file_name().unwrap().display()
    );
    let text = std::fs::read_to_string(path).unwrap();
    // As the command does: what varies may lie in any of the files.
    let text = flattened(&text, &Folder::new(folder));
    let whole = Subject::new(&name, &text, folder);
    let duration = DURATION_S.min(TICKS / whole.experiment.integrator.rate_hz());
    let mut text = with_value(&text, "duration", &format!("{duration} s")).unwrap();
    // What happens late in the test happens in the middle.
    let late = ["transfer_system.change.at", "fault[1].at"];
    for Target { path, .. } in whole.experiment.targets() {
        if late.contains(&path.as_str()) {
            text = with_value(&text, &path, &format!("{} s", 0.5 * duration)).unwrap();
        }
    }
    Subject::new(&name, &text, folder)
}

/// Examples that only `trace` or a host can run have no rows.
const WITHOUT_ROWS: [&str; 3] = [
    "09-iterative-linear/experiment.toml",
    "10-iterative-folds/experiment.toml",
    "12-phases-and-host/streamed.toml",
];

/// Numbers of an example that an ordinary run of the tests varies; with
/// `TWINRIG_SWEEP_ROWS_ALL` it varies all, in some eight minutes.
const NUMBERS: usize = 8;

#[test]
fn numbers_of_every_example() {
    for path in examples() {
        let subject = shortened(&path);
        let (mut numbers, mut rows) = (0, 0);
        let targets = subject.experiment.targets();
        let every = targets.len().div_ceil(NUMBERS).max(1);
        let all = std::env::var_os("TWINRIG_SWEEP_ROWS_ALL").is_some();
        for target in targets.into_iter().step_by(if all { 1 } else { every }) {
            let what = target.path.clone();
            let Some(study) = subject.varying(target) else { continue };
            numbers += 1;
            rows += judged(&study, &compare(&subject, &study, &what));
        }
        println!("{}: {numbers} numbers, {rows} rows with errors", subject.name);
        let expected = !WITHOUT_ROWS.contains(&subject.name.as_str());
        assert_eq!(rows > numbers, expected, "{}: {rows} rows of {numbers} numbers", subject.name);
    }
}

/// A loop that goes in a batch: a fast actuator, noise, the default compensator.
fn plain() -> Draft {
    Draft::new()
        .with("integrator", "method = \"exact\"\nrate = \"1024 Hz\"")
        .with("transfer_system", ACTUATOR)
        .with("compensator", "kind = \"adaptive_inverse\"\nstart_delay = \"6 ms\"")
        .with("sensors", "displacement_noise = \"2 um\"\nforce_noise = \"2 N\"")
        .with("limits", "command = \"50 mm\"\nforce = \"40 kN\"")
}

const ACTUATOR: &str = "kind = \"transfer_function\"\nnumerator = [1.25e8]\n\
                        denominator = [1, 1500, 7.5e5, 1.25e8]";
const STRUCTURE: &str = "mass = [\"1 t\", \"1 t\"]\ndamping = { modal = \"3 %\" }\n\
                         stiffness = { unit = \"N/m\", rows = [[2e6, -1e6], [-1e6, 1e6]] }\n";
const PHASES: &str = "initiating = { rate = \"20 mm/s\", reach = \"2 mm\", settle = \"0.2 s\", \
                      within = \"0.05 mm\", stands_at = \"1.5 mm\" }\n\
                      completing = { ring_down = \"0.5 s\", home_rate = \"5 mm/s\" }";
const BILINEAR: &str = "kind = \"bilinear\"\nstiffness = \"0.4 MN/m\"\nyield_force = \"200 N\"\n\
                        hardening = \"5 %\"";

/// Kinds of part that a loop may have, each in place of a plain one, and what meets a limit.
const KINDS: &[(&str, &[&str])] = &[
    (
        "transfer_system",
        &[
            "kind = \"ideal\"",
            "kind = \"delay\"\nsamples = 0.5",
            "kind = \"delay\"\nsamples = 2",
            "kind = \"transfer_function\"\nnumerator = [500]\ndenominator = [1, 500]\n\
             delay = \"1 ms\"",
            "kind = \"servo_hydraulic\"\nsaturation = \"2 mm\"\nquantum = \"4 um\"",
            "kind = \"servo_hydraulic\"\nchange = { at = \"0.1 s\", leakage = 5 }",
        ],
    ),
    (
        "compensator",
        &[
            "kind = \"none\"",
            "kind = \"first_order\"\nlead = \"6 ms\"\ngain = 0.99",
            "kind = \"inverse\"\ncoefficients = [1, 0.006, 1.2e-5, 8e-9]",
            "kind = \"inverse\"\ncoefficients = [1, 0.006]\nderivatives = \"differences\"",
            "kind = \"forward_prediction\"\ndelay = \"6 ms\"\norder = 3",
            "kind = \"adaptive_model_based\"\nstart_delay = \"5 ms\"",
            "kind = \"adaptive_time_series\"\nwindow = \"0.2 s\"\nstart_delay = \"5 ms\"",
            "kind = \"adaptive_inverse\"\nlatency = 1.5\nstart_delay = \"5 ms\"",
            "kind = \"pi_lead\"",
            "low_pass = \"200 Hz\"\nsaturation = \"1 mm\"\nrate = \"20 mm/s\"",
        ],
    ),
    ("main_loop", &["ratio = 4", "ratio = 8\ntask_ticks = 2\nbridge = 6"]),
    ("phases", &[PHASES]),
    (
        "sensors",
        &[
            "force_delay_samples = 2",
            "displacement_noise = \"9 um\"\ndisplacement_quantum = \"1 um\"\nforce_quantum = \"5 N\"",
        ],
    ),
    (
        "[fault]",
        &[
            "kind = \"delay\"\nat = \"0.1 s\"\nby = \"3 ms\"",
            "kind = \"dropped_commands\"\nprobability = \"30 %\"",
            "kind = \"sensor_nan\"\nat = \"0.1 s\"",
            "kind = \"specimen_failure\"\nat = \"0.1 s\"\nremaining = \"50 %\"",
        ],
    ),
    (
        "monitor",
        &[
            "work = \"trapezoid\"\nstability_warning = { constant = \"1 J\" }",
            "stability_warning = { stop_at = \"1 %\", constant = \"1 mJ\" }",
            "windowed_warning = { window = \"0.1 s\", warn_at = \"60 %\" }",
            "energy_error = { warn_at = \"20 %\" }",
        ],
    ),
    (
        "limits",
        &[
            "command = \"0.3 mm\"",
            "command = \"1 m\"\nrate = \"3 mm/s\"",
            "command = \"1 m\"\nforce = \"0.2 kN\"",
            "command = \"1 m\"\ntracking_error = \"20 um\"",
        ],
    ),
    ("record", &["every = 3", "displacements = \"interface\""]),
];

/// All of [`KINDS`], integrators and elements.
fn kinds() -> Vec<(&'static str, String)> {
    let methods = [
        "rk4\"",
        "exact\"\nhold = \"first\"",
        "newmark\"",
        "implicit_euler\"",
        "cr\"",
        "kr_alpha\"",
        "rk4\"\nfeedback = \"continuous\"",
    ];
    let methods = methods.map(|m| ("integrator", format!("method = \"{m}\nrate = \"1024 Hz\"")));
    let listed = KINDS.iter().flat_map(|(table, texts)| texts.iter().map(|text| (*table, *text)));
    let elements = [
        (
            "structure",
            format!("{STRUCTURE}[[structure.element]]\nbetween = [\"ground\", 2]\n{BILINEAR}"),
        ),
        (
            "partition",
            format!("interface = [1]\nmass = [\"30 kg\"]\n[[partition.element]]\nat = 1\n{BILINEAR}"),
        ),
        (
            "partition",
            "interface = [1, 2]\nmass = [\"30 kg\", \"20 kg\"]\nstiffness = [\"0.5 MN/m\", \"0.1 MN/m\"]"
                .to_owned(),
        ),
    ];
    let listed = listed.map(|(table, text)| (table, text.to_owned()));
    methods.into_iter().chain(listed).chain(elements).collect()
}

#[test]
fn every_kind_of_part() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut ended = BTreeMap::new();
    for (number, (table, text)) in kinds().into_iter().enumerate() {
        let mut draft = plain().with(table, &text);
        if table == "structure" {
            draft = draft.with("integrator", "method = \"newmark\"\nrate = \"1024 Hz\"");
        }
        let name = format!("[{table}] {text}");
        let subject = Subject::new(&name, &draft.text(), folder);
        let paths = ["excitation.ground.harmonic.amplitude", "structure.damping.modal", "seed"];
        let limits = ["limits", "monitor", "[fault]"].contains(&table);
        // Which number varies matters where something is reached, else one will do.
        let some = if limits { &paths[..] } else { &paths[number % 3..=number % 3] };
        for path in some {
            let target = subject.experiment.target(path).unwrap();
            let study = subject.varying(target).unwrap_or_else(|| panic!("{name}: no study"));
            for Row { outcome, .. } in compare(&subject, &study, path) {
                *ended.entry(format!("{table} {outcome:?}")).or_insert(0) += 1;
            }
        }
    }
    for table in ["limits", "monitor", "[fault]"] {
        assert!(ended.contains_key(&format!("{table} Tripped")), "{ended:?}");
    }
    assert!(!ended.keys().any(|key| key.ends_with("Failed")), "{ended:?}");
}
