//! `twinrig identify`: the transfer system from a test, a record or a table.

use std::path::{Path, PathBuf};

use analysis::identification::{Hold, OrderChoice, Settings};
use clap::Args;
use clap::builder::TypedValueParser;
use experiment::input::{Column, TimeColumn};
use experiment::quantity::{self, Kind as Quantity, Motion};
use numerics::rational_fit::{HIGHEST_ORDER, Orders, PureDelay};
use twinrig::identify::drive::{Kind, Size};
use twinrig::identify::measured::TableColumns;
use twinrig::identify::table::{table, title};
use twinrig::identify::{
    DOCUMENT, IdentifyOptions, IdentifyResult, identify_record, identify_table,
};
use twinrig::record_path;
use twinrig::words::{Words, range, unquoted};

use super::error::CliError;
use super::file::{OtherValues, Pacing, load, one_of, started, test_name};
use super::onlooker::Looker;
use super::output::{Exit, Output, written};
use super::signals::stop_on_signals;

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
    #[arg(long, value_parser = signal(), default_value = "noise")]
    signal: Kind,
    /// Band driven and fitted, such as "0.1..25 Hz" [default: for a test from 0 to 25 Hz or a
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
    #[arg(long, value_parser = hold(), default_value = "zero")]
    hold: Hold,
    /// Interface DOF, from 1 [default: each on its own].
    #[arg(long)]
    dof: Option<usize>,
    #[command(flatten)]
    pacing: Pacing,
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

fn signal() -> impl TypedValueParser<Value = Kind> {
    one_of([
        ("noise", "Gaussian noise, white within the band", Kind::Noise),
        ("chirp", "A sine that runs through the band once", Kind::Chirp),
        ("multisine", "A periodic sum of sines of equal amplitude", Kind::Multisine),
    ])
}

fn hold() -> impl TypedValueParser<Value = Hold> {
    one_of([
        ("zero", "It is held, as a converter does; the hold is divided out", Hold::Zero),
        ("none", "The samples are of continuous signals", Hold::None),
    ])
}

pub(super) fn identify(arguments: &IdentifyArguments, output: Output) -> Result<Exit, CliError> {
    let (input, options) = (&arguments.input, options(arguments));
    let extension = input.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if extension != "toml" && !arguments.set.set.is_empty() {
        return Err(CliError::Usage(
            "--set goes with an experiment file (.toml): there is no file to set it in",
        ));
    }
    let stem = || input.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let found = match extension.as_str() {
        "toml" => by_test(arguments, &options, output)?,
        "csv" | "txt" | "dat" | "tsv" => {
            let columns = TableColumns {
                time: match arguments.rate {
                    Some(rate) => TimeColumn::Step(1.0 / rate),
                    None => TimeColumn::Column(column(&arguments.time)),
                },
                command: column(&arguments.command),
                measured: column(&arguments.measured),
            };
            identify_table(input, &columns, &out(arguments, &stem()), &options)?
        }
        _ => {
            let path = record_path(input);
            let parent = path.parent().and_then(Path::file_name).unwrap_or_default();
            let folder = out(arguments, &parent.to_string_lossy());
            identify_record(input, &folder, &options)?
        }
    };
    let shown = output.show(&found, || words(&found));
    Ok(Exit::of_verdict(&found.verdict, shown))
}

/// Drives the rig of an experiment.
fn by_test(
    arguments: &IdentifyArguments,
    options: &IdentifyOptions,
    output: Output,
) -> Result<IdentifyResult, CliError> {
    let stop = stop_on_signals()?;
    let file = &arguments.input;
    let test = arguments.pacing.bench.test(load(file, &arguments.set, output)?);
    let name = format!("{}{}", test_name(file).to_string_lossy(), started(options.clock));
    let step_s = test.assembly()?.integrator.step_s;
    let mut looker = Looker::new(output, "").timed(step_s, options.duration_s);
    Ok(test.identify(&out(arguments, &name), options, &stop, &mut looker)?)
}

/// The folder that is asked for, or one by the name of what is identified.
fn out(arguments: &IdentifyArguments, name: &str) -> PathBuf {
    let name = if name.is_empty() { "test" } else { name };
    let usual = || Path::new("runs").join(format!("{name}-identify"));
    arguments.out.clone().unwrap_or_else(usual)
}

/// What was identified and what is advised, as tables.
fn words(found: &IdentifyResult) -> Words {
    let mut words = Words::default();
    words.verdict(&found.verdict);
    words.line("");
    for advised in &found.results {
        let result = &advised.result;
        words.line(format!("{}\n", title(result)));
        words.table(table(result));
        match &advised.choice {
            Ok(choice) => {
                let table = choice.shown();
                words.line(format!("\n{}\n", table.title));
                words.table(table);
                words.line(format!("{}\n", choice.reason()));
            }
            Err(why) => words.line(format!("no compensator: {why}\n")),
        }
    }
    words.line(format!("{}, {DOCUMENT}", written(&found.folder, &found.files)));
    words
}

fn options(arguments: &IdentifyArguments) -> IdentifyOptions {
    IdentifyOptions {
        signal: arguments.signal,
        band_hz: arguments.band,
        size: match (arguments.rms, arguments.amplitude) {
            (Some(rms), _) => Size::Rms(rms),
            (None, Some(amplitude)) => Size::Amplitude(amplitude),
            (None, None) => Size::HalfOfLimits,
        },
        duration_s: arguments.duration,
        seed: arguments.seed,
        settings: Settings {
            segment: arguments.segment,
            band_hz: arguments.band,
            hold: arguments.hold,
            order: arguments.order,
            delay: arguments.delay,
        },
        dof: arguments.dof,
        clock: arguments.pacing.clock(),
        rig: arguments.pacing.rig.clone(),
    }
}

fn column(text: &str) -> Column {
    text.parse().map_or_else(|_| Column::Name(text.to_owned()), Column::Number)
}

/// A value, with or without quotes around it.
fn positive(text: &str, kind: Quantity) -> Result<f64, String> {
    let value = quantity::parse(unquoted(text), kind, Motion::Translation)
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
    let (from, to, _) = range(text).ok_or("write it like \"0.1..25 Hz\"".to_owned())?;
    let band = (positive(&from, Quantity::Frequency)?, positive(&to, Quantity::Frequency)?);
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
