//! `twinrig identify`: the transfer system from a test, a record or a table.

use std::fs;
use std::path::{Path, PathBuf};

use analysis::identification::{Hold, OrderChoice, Settings};
use clap::{Args, ValueEnum};
use model::transfer::TransferSystem;
use numerics::rational_fit::{HIGHEST_ORDER, Orders, PureDelay};
use runtime::gate::TripKind;
use runtime::record::{Record, TripNote};
use serde_json::{Value, json};

use super::output::{Exit, Output, cannot_write, print, read_record, table, write_whole};
use super::rehearse::{Clock, Loaded, OtherValues, Wire, folder_name, load, reach};
use super::signals::stop_on_signals;
use super::status_line::StatusLine;
use experiment::input::{Column, TimeColumn};
use experiment::quantity::{self, Kind as Quantity, Motion};
use experiment::{Embedded, Experiment};
use twinrig::assembly::Assembly;
use twinrig::identify::choice::{Advised, Choice, add_json};
use twinrig::identify::drive::{DrivePlan, Kind, Size};
use twinrig::identify::files::{TextFile, includes, is_include, response_csv, test_csv};
use twinrig::identify::measured::{TableColumns, from_record, from_table, interface_dofs};
use twinrig::identify::table::{rows, title, to_json};
use twinrig::identify::{IdentifyError, Pace, RigTest, identify as identify_one, page, run_test};

/// What `identify` is asked for.
#[derive(Debug, Args)]
pub(super) struct IdentifyArguments {
    /// Experiment file (.toml): a test on its rig. Record (.arrow or its folder), or table
    /// (.csv, .txt, .dat): a test that took place.
    input: PathBuf,
    #[command(flatten)]
    set: OtherValues,
    /// Folder for what is written [default: runs/NAME-identify].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Signal of the test.
    #[arg(long, value_enum, default_value_t = Signal::Noise)]
    signal: Signal,
    /// Band driven and fitted, such as "0.1 Hz..25 Hz" [default: for a test from 0 to 25 Hz or a
    /// tenth of the rate, otherwise where the coherence is good].
    #[arg(long, value_name = "FROM..TO", value_parser = band)]
    band: Option<(f64, f64)>,
    /// Rms of the command, such as "0.5 mm" [default: half of what [limits] allows].
    #[arg(long, value_name = "LENGTH", value_parser = length, conflicts_with = "amplitude")]
    rms: Option<f64>,
    /// Peak of the command.
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    amplitude: Option<f64>,
    /// How long the test lasts.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "120 s")]
    duration: f64,
    /// Seed of the signal.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Samples of a Welch segment [default: about a sixteenth of the test].
    #[arg(long)]
    segment: Option<usize>,
    /// Degrees of the transfer function: "auto", POLES or ZEROS/POLES.
    #[arg(long, value_parser = order, default_value = "auto")]
    order: OrderChoice,
    /// Pure delay beside the function: "none", "fit" or a time such as "3 ms".
    #[arg(long, value_parser = delay, default_value = "none")]
    delay: PureDelay,
    /// What the command does between samples.
    #[arg(long, value_enum, default_value_t = HoldWord::Zero)]
    hold: HoldWord,
    /// Interface DOF, from 1 [default: each on its own].
    #[arg(long)]
    dof: Option<usize>,
    /// Drive the rig against the clock. Ctrl-C stops the test: hold, then ramp to zero.
    #[arg(long)]
    realtime: bool,
    /// Laboratory to drive, host and port, instead of [rig] address; `virtual` for a rig in this
    /// process.
    #[arg(long, value_name = "ADDRESS")]
    rig: Option<String>,
    /// Column of the command in a table: name or number.
    #[arg(long, value_name = "COLUMN", default_value = "command.1")]
    command: String,
    /// Column of the measured motion in a table.
    #[arg(long, value_name = "COLUMN", default_value = "measured.1")]
    measured: String,
    /// Column of the times, in seconds.
    #[arg(long, value_name = "COLUMN", default_value = "time")]
    time: String,
    /// Rate of a table without times, such as "1 kHz".
    #[arg(long, value_name = "FREQUENCY", value_parser = frequency, conflicts_with = "time")]
    rate: Option<f64>,
}

/// Signals of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Signal {
    /// Gaussian noise, white within the band.
    Noise,
    /// A sine that runs through the band once.
    Chirp,
    /// A periodic sum of sines of equal amplitude.
    Multisine,
}

/// What a command does between samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HoldWord {
    /// It is held, as a converter does; the hold is divided out.
    Zero,
    /// The samples are of continuous signals.
    None,
}

/// Widest band of a test that is not asked for otherwise.
const DEFAULT_BAND_HZ: f64 = 25.0;

pub(super) fn identify(arguments: &IdentifyArguments, output: Output) -> Exit {
    let input = &arguments.input;
    let extension = input.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if extension != "toml" && !arguments.set.set.is_empty() {
        output.fail("--set goes with an experiment file (.toml): there is no file to set it in");
        return Exit::Usage;
    }
    match extension.as_str() {
        "toml" => by_test(arguments, output),
        "csv" | "txt" | "dat" | "tsv" => by_table(arguments, output),
        _ => by_record(arguments, output),
    }
}

/// Drives the rig of an experiment, one interface DOF after the other.
fn by_test(arguments: &IdentifyArguments, output: Output) -> Exit {
    let file = &arguments.input;
    let mut loaded = match load(file, &arguments.set, output) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let clock = if arguments.realtime { Clock::Real } else { Clock::Virtual };
    if let Err(exit) = reach(&mut loaded, clock, Wire::Open, arguments.rig.clone(), output) {
        return exit;
    }
    let Loaded { experiment, assembly, folder: source, warnings, .. } = loaded;
    let no_dynamics =
        matches!(assembly.transfer_system, TransferSystem::Ideal | TransferSystem::Delay { .. });
    if no_dynamics && assembly.remote.is_none() {
        return output.fail(format!(
            "{}: an ideal or purely delayed transfer system has no dynamics to identify; choose \
             [transfer_system] kind = \"servo_hydraulic\" or \"transfer_function\"",
            file.display()
        ));
    }
    let dofs = match chosen_dofs(arguments.dof, assembly.count()) {
        Ok(dofs) => dofs,
        Err(message) => return output.fail(message),
    };
    let plan = plan(arguments, &assembly);
    let settings = Settings { band_hz: Some(plan.band_hz), ..settings(arguments) };
    let mut written = Written::new(arguments, &folder_name(file, clock).to_string_lossy());
    let mut results = Vec::new();
    let mut tests = Vec::new();
    let stop = match stop_on_signals(output) {
        Ok(stop) => stop,
        Err(exit) => return exit,
    };
    let attended = stop.attend();
    for &dof in &dofs {
        let suffix = suffix(&dofs, dof);
        let record = format!("test{suffix}.arrow");
        written.records.push(record.clone());
        let record = written.folder.join(record);
        let mut line = StatusLine::new(output, assembly.integrator.step_s, plan.duration_s);
        let pace = match clock {
            Clock::Virtual => Pace::Virtual,
            Clock::Real => Pace::Real(&mut line),
        };
        let test = run_test(&experiment, &source, &assembly, &plan, dof, &record, pace, &stop);
        line.end();
        let test = match test {
            Ok(test) => test,
            Err(error) => return output.fail(error),
        };
        let name = format!("test{suffix}.csv");
        written.files.push(TextFile { name, text: test_csv(&test) });
        tests.push(test_json(&test));
        if let Some(trip) = test.trip() {
            let message = format!(
                "interface DOF {}: tripped at {} s: {}; the rig was taken to its safe state, and \
                 nothing was identified",
                dof + 1,
                trip.time_s,
                trip.text
            );
            return match written.write() {
                Ok(()) => tripped(trip, &message, &tests, output),
                Err(message) => output.fail(message),
            };
        }
        match test.identify(&settings) {
            Ok(result) => {
                results.push(Advised::new(result, suffix, Some(&assembly)));
            }
            Err(error) => return output.fail(error),
        }
    }
    drop(attended);
    let facts = vec![
        ("Experiment".to_owned(), file_name(file)),
        ("Signal".to_owned(), format!("{:?}", plan.kind).to_lowercase()),
        ("Duration".to_owned(), format!("{} s", plan.duration_s)),
        ("Seed".to_owned(), plan.seed.to_string()),
    ];
    let origin = format!("a test on the rig of {}", file_name(file));
    let source = Source { name: &experiment.title, origin: &origin, facts };
    conclude(written, source, results, json!({ "tests": tests, "warnings": warnings }), output)
}

/// Reads the record of a hybrid test.
fn by_record(arguments: &IdentifyArguments, output: Output) -> Exit {
    let (path, record) = match read_record(&arguments.input, output) {
        Ok(read) => read,
        Err(exit) => return exit,
    };
    let dofs = match chosen_dofs(arguments.dof, interface_dofs(&record)) {
        Ok(dofs) => dofs,
        Err(message) => return output.fail(message),
    };
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let written = Written::new(arguments, &folder);
    let settings = settings(arguments);
    let assembly = embedded(&record);
    let results: Result<Vec<_>, IdentifyError> = dofs
        .iter()
        .map(|&dof| {
            let measured = from_record(&record, dof)?;
            let result = identify_one(&measured, &settings)?;
            Ok(Advised::new(result, suffix(&dofs, dof), assembly.as_ref()))
        })
        .collect();
    let results = match results {
        Ok(results) => results,
        Err(error) => return output.fail(error),
    };
    let Record { header, .. } = &record;
    let facts = vec![
        ("Record".to_owned(), path.display().to_string()),
        ("Experiment".to_owned(), header.experiment_name.clone()),
    ];
    let origin = format!("the record {folder}/{}", file_name(&path));
    let source = Source { name: &header.title, origin: &origin, facts };
    conclude(written, source, results, json!({}), output)
}

/// The models of the experiment inside a record; `None` where this version does
/// not read it any more, which costs the judgement of the loop only.
fn embedded(record: &Record) -> Option<Assembly> {
    let header = &record.header;
    let source = Embedded::new(&header.inputs);
    let (experiment, _) =
        Experiment::from_text(&header.experiment_name, &header.experiment, &source).ok()?;
    Some(Assembly::new(&experiment, &source).ok()?.0)
}

/// Reads a table of text.
fn by_table(arguments: &IdentifyArguments, output: Output) -> Exit {
    let path = &arguments.input;
    let columns = TableColumns {
        time: match arguments.rate {
            Some(rate) => TimeColumn::Step(1.0 / rate),
            None => TimeColumn::Column(column(&arguments.time)),
        },
        command: column(&arguments.command),
        measured: column(&arguments.measured),
    };
    let result = from_table(path, &columns)
        .map_err(IdentifyError::from)
        .and_then(|measured| identify_one(&measured, &settings(arguments)));
    let result = match result {
        Ok(result) => result,
        Err(error) => return output.fail(error),
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let written = Written::new(arguments, &stem);
    let facts = vec![
        ("Table".to_owned(), path.display().to_string()),
        ("Command".to_owned(), arguments.command.clone()),
        ("Measured".to_owned(), arguments.measured.clone()),
    ];
    let origin = format!("the table {}", file_name(path));
    let name = format!("Identification from {stem}");
    let source = Source { name: &name, origin: &origin, facts };
    let results = vec![Advised::new(result, String::new(), None)];
    conclude(written, source, results, json!({}), output)
}

/// Where the samples came from.
struct Source<'a> {
    name: &'a str,
    origin: &'a str,
    facts: Vec<(String, String)>,
}

/// What is to be written, and where.
struct Written {
    folder: PathBuf,
    /// Records that are there already.
    records: Vec<String>,
    files: Vec<TextFile>,
}

impl Written {
    fn new(arguments: &IdentifyArguments, name: &str) -> Self {
        let name = if name.is_empty() { "test" } else { name };
        let folder = arguments
            .out
            .clone()
            .unwrap_or_else(|| Path::new("runs").join(format!("{name}-identify")));
        Self { folder, records: Vec::new(), files: Vec::new() }
    }

    /// The names of all files.
    fn names(&self) -> Vec<&str> {
        let files = self.files.iter().map(|file| &file.name);
        self.records.iter().chain(files).map(String::as_str).collect()
    }

    /// Writes every file whole, or gives what to say.
    fn write(&self) -> Result<(), String> {
        fs::create_dir_all(&self.folder).map_err(|error| cannot_write(&self.folder, &error))?;
        self.remove_older()?;
        for file in &self.files {
            let path = self.folder.join(&file.name);
            write_whole(&path, &file.text).map_err(|error| cannot_write(&path, &error))?;
        }
        Ok(())
    }

    /// What an earlier identification left to be included must not be taken for
    /// this one's.
    fn remove_older(&self) -> Result<(), String> {
        let entries = fs::read_dir(&self.folder).map_err(|e| cannot_write(&self.folder, &e))?;
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let ours = path.extension().is_some_and(|extension| extension == "toml")
                && fs::read_to_string(&path).is_ok_and(|text| is_include(&text));
            if ours {
                fs::remove_file(&path).map_err(|error| cannot_write(&path, &error))?;
            }
        }
        Ok(())
    }
}

/// Writes and prints the results.
fn conclude(
    mut written: Written,
    source: Source<'_>,
    results: Vec<Advised>,
    mut document: Value,
    output: Output,
) -> Exit {
    for advised in &results {
        let name = format!("response{}.csv", advised.suffix);
        written.files.push(TextFile { name, text: response_csv(&advised.result) });
        written.files.extend(includes(advised, source.origin));
    }
    let html = page::page(source.name, source.facts, &results).html();
    written.files.push(TextFile { name: "identification.html".to_owned(), text: html });
    document["results"] = results.iter().map(result_json).collect();
    document["folder"] = json!(written.folder.display().to_string());
    document["files"] = json!(written.names());
    let summary =
        TextFile { name: "identification.json".to_owned(), text: format!("{document:#}\n") };
    written.files.push(summary);
    if let Err(message) = written.write() {
        return output.fail(message);
    }
    if output == Output::Json {
        return output.document(&document);
    }
    let mut text: String = results.iter().map(result_text).collect();
    text += &format!("written to {}: {}\n", written.folder.display(), written.names().join(", "));
    print(&text)
}

fn result_json(advised: &Advised) -> Value {
    let mut value = to_json(&advised.result);
    add_json(&mut value, &advised.choice);
    value
}

/// What was identified and what is advised, as tables.
fn result_text(advised: &Advised) -> String {
    let result = &advised.result;
    let found = rows(result).into_iter();
    let found: Vec<_> = found.map(|row| vec![row.name, row.value, row.bound, row.unit]).collect();
    let mut text = format!("{}\n\n", title(result));
    text += &table(&["quantity", "value", "± (95 %)", "unit"], &found);
    for caution in &result.found.cautions {
        text += &format!("caution: {}\n", caution);
    }
    match &advised.choice {
        Ok(choice) => {
            let rows = choice.rows().into_iter();
            let rows: Vec<_> =
                rows.map(|row| vec![row.name, row.error, row.delay_left, row.judgement]).collect();
            text += &format!("\n{}\n\n", choice.title());
            text += &table(&Choice::HEAD, &rows);
            text += &format!("{}\n\n", choice.reason());
        }
        Err(why) => text += &format!("no compensator: {why}\n\n"),
    }
    text
}

fn tripped(trip: &TripNote, message: &str, tests: &[Value], output: Output) -> Exit {
    match output {
        Output::People => eprintln!("{message}"),
        Output::Json => {
            output.document(&json!({ "error": message, "tests": tests }));
        }
    }
    if trip.code == TripKind::Operator.code() { Exit::Stopped } else { Exit::Tripped }
}

fn test_json(test: &RigTest) -> Value {
    json!({
        "dof": test.dof + 1,
        "rate_hz": test.record.header.rate_hz,
        "samples": test.signal.samples,
        "rms_m": test.signal.rms_m,
        "peak_m": test.signal.peak_m,
        "rate_m_s": test.signal.rate_m_s,
        "trip": test.trip().map(|trip| json!({
            "code": trip.code, "text": trip.text, "time_s": trip.time_s,
            "value": trip.value, "limit": trip.limit,
        })),
    })
}

fn plan(arguments: &IdentifyArguments, assembly: &Assembly) -> DrivePlan {
    let rate_hz = 1.0 / assembly.limits.step_s;
    DrivePlan {
        kind: match arguments.signal {
            Signal::Noise => Kind::Noise,
            Signal::Chirp => Kind::Chirp,
            Signal::Multisine => Kind::Multisine,
        },
        band_hz: arguments.band.unwrap_or((0.0, DEFAULT_BAND_HZ.min(0.1 * rate_hz))),
        size: match (arguments.rms, arguments.amplitude) {
            (Some(rms), _) => Size::Rms(rms),
            (None, Some(amplitude)) => Size::Amplitude(amplitude),
            (None, None) => Size::HalfOfLimits,
        },
        duration_s: arguments.duration,
        seed: arguments.seed,
    }
}

fn settings(arguments: &IdentifyArguments) -> Settings {
    Settings {
        segment: arguments.segment,
        band_hz: arguments.band,
        hold: match arguments.hold {
            HoldWord::Zero => Hold::Zero,
            HoldWord::None => Hold::None,
        },
        order: arguments.order,
        delay: arguments.delay,
    }
}

/// A file's own name: what is written must not depend on where it was called.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The DOFs to identify, from 0.
fn chosen_dofs(asked: Option<usize>, count: usize) -> Result<Vec<usize>, String> {
    match asked {
        None if count == 0 => Err("there is no channel \"command.1\" to identify from".to_owned()),
        None => Ok((0..count).collect()),
        Some(dof) if (1..=count).contains(&dof) => Ok(vec![dof - 1]),
        Some(dof) => Err(format!("there is no interface DOF {dof}; they count from 1 to {count}")),
    }
}

/// Tells the files of several DOFs apart.
fn suffix(dofs: &[usize], dof: usize) -> String {
    if dofs.len() == 1 { String::new() } else { format!("_{}", dof + 1) }
}

fn column(text: &str) -> Column {
    text.parse().map_or_else(|_| Column::Name(text.to_owned()), Column::Number)
}

fn positive(text: &str, kind: Quantity) -> Result<f64, String> {
    let value = quantity::parse(text, kind, Motion::Translation)
        .map_err(|error| format!("{error}; {}", error.remedy(kind)))?;
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err("must not be negative".into()) }
}

fn length(text: &str) -> Result<f64, String> {
    positive(text, Quantity::Length)
}

pub(super) fn time(text: &str) -> Result<f64, String> {
    positive(text, Quantity::Time)
}

fn frequency(text: &str) -> Result<f64, String> {
    positive(text, Quantity::Frequency).and_then(|value| {
        if value > 0.0 { Ok(value) } else { Err("must be greater than zero".to_owned()) }
    })
}

fn band(text: &str) -> Result<(f64, f64), String> {
    let (from, to) = text.split_once("..").ok_or("write it like \"0.1 Hz..25 Hz\"".to_owned())?;
    let band = (positive(from, Quantity::Frequency)?, positive(to, Quantity::Frequency)?);
    if band.0 < band.1 { Ok(band) } else { Err("its end must lie above its beginning".to_owned()) }
}

fn order(text: &str) -> Result<OrderChoice, String> {
    let wrong = || {
        format!(
            "write auto, the number of poles (3), or zeros/poles (1/3), at most {HIGHEST_ORDER}"
        )
    };
    if text == "auto" {
        return Ok(OrderChoice::Automatic);
    }
    let (numerator, denominator) = text.split_once('/').unwrap_or(("0", text));
    let numerator: usize = numerator.trim().parse().map_err(|_| wrong())?;
    let denominator: usize = denominator.trim().parse().map_err(|_| wrong())?;
    if denominator == 0 || denominator > HIGHEST_ORDER || numerator >= denominator {
        return Err(format!("{}; fewer zeros than poles", wrong()));
    }
    Ok(OrderChoice::Given(Orders { numerator, denominator }))
}

fn delay(text: &str) -> Result<PureDelay, String> {
    match text {
        "none" => Ok(PureDelay::Fixed(0.0)),
        "fit" => Ok(PureDelay::Free),
        text => time(text).map(PureDelay::Fixed),
    }
}
