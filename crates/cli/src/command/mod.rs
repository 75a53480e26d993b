//! The command line: arguments in, tables or JSON out, an exit code that means something.

mod bench;
mod chart;
mod check;
mod error;
mod file;
mod host;
mod identify;
mod onlooker;
mod output;
mod progress_lines;
mod records;
mod reduce;
mod reproduce;
mod rig;
mod run;
#[cfg(feature = "host")]
mod serve;
mod signals;
mod status_line;
mod sweep;
mod trace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::TypedValueParser;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};
use experiment::spelling::nearest;
use twinrig::export::{FORMATS, Format};

use twinrig::reproduce::Paper;

use error::CliError;
use file::one_of;
pub(crate) use output::{Exit, Output};

/// Real-time hybrid testing: predict, rehearse, run, record and report.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 80, after_help = exit_codes())]
pub(crate) struct CommandLine {
    /// Print one JSON document for machines instead of tables.
    #[arg(long, global = true)]
    json: bool,
    /// End with exit code 12 where the verdict is doubtful.
    #[arg(long, global = true)]
    strict: bool,
    #[command(subcommand)]
    command: Command,
}

/// The exit codes, for the help.
fn exit_codes() -> String {
    let lines = Exit::ALL.map(|(exit, words)| format!("\n  {}  {words}", exit as u8));
    format!("Exit codes:{}", lines.concat())
}

/// An example, for the help of a command.
macro_rules! example {
    ($call:literal) => {
        concat!("Example:\n  twinrig ", $call)
    };
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read and validate an experiment file, and predict whether the loop is stable.
    #[command(after_help = example!("check frame.toml --set integrator.rate=\"2 kHz\""))]
    Check(check::CheckArguments),
    /// Rehearse a test in virtual time, or run it in real time; write its record and report.
    #[command(after_help = example!("run frame.toml --realtime --rig 192.168.1.20:7410"))]
    Run(Box<run::RunArguments>),
    /// Feed, watch, stop or look at a test that runs with --host.
    #[command(after_help = example!("host feed quake.csv --token-file token"))]
    Host {
        #[command(subcommand)]
        command: host::HostCommand,
    },
    /// Serve a page and an API: prepare tests, start, hold, stop and see them, edit and study.
    #[cfg(feature = "host")]
    #[command(after_help = example!("serve examples --listen 127.0.0.1:7480"))]
    Serve(serve::ServeArguments),
    /// Play the laboratory of an experiment for a loop elsewhere.
    #[command(after_help = example!("rig frame.toml --listen 0.0.0.0:7410 --once"))]
    Rig(rig::RigArguments),
    /// Identify the transfer system: by a test on the rig, or from a record or table.
    #[command(after_help = example!("identify rig.toml --band \"0..40 Hz\" --rms \"1 mm\""))]
    Identify(Box<identify::IdentifyArguments>),
    /// Make the report of a record again.
    #[command(after_help = example!("report runs/frame --out frame.html"))]
    Report {
        /// Record, or the folder it is in.
        record: PathBuf,
        /// Where to write it [default: report.html beside the record].
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Write a record in another format.
    #[command(after_help = example!("export runs/frame --format csv"))]
    Export {
        /// Record, or the folder it is in.
        record: PathBuf,
        /// Format of the new file.
        #[arg(long, value_parser = format())]
        format: &'static Format,
        /// Where to write it [default: beside the record].
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Feed a record's measurements through the loop again and compare the commands.
    #[command(after_help = example!("replay runs/frame"))]
    Replay {
        /// Record, or the folder it is in.
        record: PathBuf,
    },
    /// Recompute a paper's results and print paper, ours and the difference.
    #[command(after_help = example!("reproduce galmez"))]
    Reproduce {
        /// Which paper.
        #[arg(value_parser = paper())]
        paper: Paper,
        /// Recorded ground motion (CSV or AT2); without it the project's synthetic one.
        #[arg(long, value_name = "FILE")]
        ground: Option<PathBuf>,
    },
    /// Make a large structure small, and compare it with the full one.
    #[command(after_help = example!("reduce pier.toml --points 20 --compare=\"2 s\""))]
    Reduce(reduce::ReduceArguments),
    /// Chart where a test is stable, over any two numbers of its file.
    #[command(after_help = example!("chart frame.toml --x transfer_system.delay=\"0..4 ms\" \\\n      --y partition.mass[1]=\"0..60 %\""))]
    Chart(Box<chart::ChartArguments>),
    /// Trace a frequency response by iteration, where feedback cannot work.
    #[command(after_help = example!("trace building.toml --restart"))]
    Trace(trace::TraceArguments),
    /// Run many variants of a test in parallel; sum up how robust it is.
    #[command(after_help = example!("sweep frame.toml --runs 500 --threads 4"))]
    Sweep(sweep::SweepArguments),
    /// Measure the cost of a step on this machine, or how punctual it is.
    #[command(after_help = example!("bench --realtime --seconds 60"))]
    Bench {
        /// Repetitions; the fastest counts.
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
        repeat: u32,
        /// Measure wake-up latency and execution in real time instead, beside cyclictest.
        #[arg(long)]
        realtime: bool,
        /// Seconds for each rate in real time.
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3600))]
        seconds: u32,
    },
    /// Print the JSON Schema of the experiment file, for editors.
    #[command(after_help = example!("schema > experiment.schema.json"))]
    Schema,
    /// Print completions for a shell.
    #[command(after_help = example!("completions bash > twinrig.bash"))]
    Completions {
        /// Which shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// The export formats.
fn format() -> impl TypedValueParser<Value = &'static Format> {
    one_of(FORMATS.map(|format| (format.name, format.about, format)))
}

/// Papers that can be recomputed.
fn paper() -> impl TypedValueParser<Value = Paper> {
    one_of([
        ("galmez", "Gálmez & Fermandois 2020: online stability of hybrid tests", Paper::Galmez),
        ("waldbjorn", "Waldbjørn et al.: multi-rate real-time hybrid simulation", Paper::Waldbjorn),
        ("beregi", "Beregi et al.: delay stability and iterative hybrid testing", Paper::Beregi),
        ("dekraker", "De Kraker 1994: component mode synthesis", Paper::Dekraker),
    ])
}

/// Reads the command line. What is wrong with it is said, and ends the program.
pub(crate) fn read() -> CommandLine {
    CommandLine::try_parse().unwrap_or_else(|error| suggesting(error).exit())
}

/// The error with the command that was meant, where a short one was misspelt: clap takes
/// nearness as a share of the length.
fn suggesting(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let command = CommandLine::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    if let Some(near) = nearest(typed, names).map(str::to_owned) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near]));
    }
    error
}

/// Does what the command line asks for.
pub(crate) fn run(line: CommandLine) -> Exit {
    let output = if line.json { Output::Json } else { Output::People };
    match obey(line.command, output).unwrap_or_else(|error| output.fail(&error)) {
        Exit::Doubtful if !line.strict => Exit::Done,
        exit => exit,
    }
}

fn obey(command: Command, output: Output) -> Result<Exit, CliError> {
    match command {
        Command::Check(arguments) => check::check(&arguments, output),
        Command::Run(arguments) => run::run(&arguments, output),
        Command::Rig(arguments) => rig::rig(&arguments, output),
        #[cfg(feature = "host")]
        Command::Serve(arguments) => serve::serve(&arguments, output),
        Command::Host { command } => host::host(&command, output),
        Command::Identify(arguments) => identify::identify(&arguments, output),
        Command::Report { record, out } => records::report(&record, out, output),
        Command::Export { record, format, out } => records::export(&record, format, out, output),
        Command::Replay { record } => records::replay(&record, output),
        Command::Reproduce { paper, ground } => reproduce::reproduce(paper, ground, output),
        Command::Reduce(arguments) => reduce::reduce(&arguments, output),
        Command::Chart(arguments) => chart::chart(&arguments, output),
        Command::Trace(arguments) => trace::trace(&arguments, output),
        Command::Sweep(arguments) => sweep::sweep(&arguments, output),
        Command::Bench { seconds, realtime: true, .. } => bench::realtime(seconds, output),
        Command::Bench { repeat, .. } => bench::bench(repeat, output),
        Command::Schema => Ok(output::print(&format!("{:#}\n", experiment::schema::json_schema()))),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            let mut command = CommandLine::command();
            clap_complete::generate(shell, &mut command, "twinrig", &mut script);
            Ok(output::print(&String::from_utf8_lossy(&script)))
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
