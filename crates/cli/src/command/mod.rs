//! The command line: arguments in, tables or JSON out, an exit code that means something.

mod bench;
mod bench_realtime;
mod chart;
mod check;
mod error;
mod file;
mod host;
mod identify;
mod onlooker;
mod output;
mod records;
mod reduce;
mod reproduce;
mod rig;
mod run;
mod signals;
mod status_line;
mod sweep;
mod trace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use twinrig::export::{FORMATS, Format};

use twinrig::reproduce::Paper;

use error::CliError;
pub(crate) use output::{Exit, Output};

/// Real-time hybrid testing: predict, rehearse, run, record and report.
#[derive(Debug, Parser)]
#[command(version, about, after_help = exit_codes())]
pub(crate) struct CommandLine {
    /// Print one JSON document for machines instead of tables.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

/// The exit codes, for the help.
fn exit_codes() -> String {
    let lines = Exit::ALL.map(|(exit, words)| format!("\n  {}  {words}", exit as u8));
    format!("Exit codes:{}", lines.concat())
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read and validate an experiment file, and predict whether the loop is stable.
    Check(check::CheckArguments),
    /// Rehearse a test in virtual time, or run it in real time; write its record and report.
    Run(Box<run::RunArguments>),
    /// Feed, watch, stop or look at a test that runs with --host.
    Host {
        #[command(subcommand)]
        command: host::HostCommand,
    },
    /// Play the laboratory of an experiment for a loop elsewhere.
    Rig(rig::RigArguments),
    /// Identify the transfer system: by a test on the rig, or from a record or table.
    Identify(Box<identify::IdentifyArguments>),
    /// Make the report of a record again.
    Report {
        /// Record, or the folder it is in.
        record: PathBuf,
        /// Where to write it [default: report.html beside the record].
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Write a record in another format.
    Export {
        /// Record, or the folder it is in.
        record: PathBuf,
        /// Format of the new file.
        #[arg(long, value_parser = format_names())]
        format: &'static Format,
        /// Where to write it [default: beside the record].
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Feed a record's measurements through the loop again and compare the commands.
    Replay {
        /// Record, or the folder it is in.
        record: PathBuf,
    },
    /// Recompute a paper's results and print paper, ours and the difference.
    Reproduce {
        /// Which paper.
        #[arg(value_enum)]
        paper: PaperName,
        /// Recorded ground motion (CSV or AT2); without it the project's synthetic one.
        #[arg(long, value_name = "FILE")]
        ground: Option<PathBuf>,
    },
    /// Make a large structure small, and compare it with the full one.
    Reduce(reduce::ReduceArguments),
    /// Chart where a test is stable, over any two numbers of its file.
    Chart(Box<chart::ChartArguments>),
    /// Trace a frequency response by iteration, where feedback cannot work.
    Trace(trace::TraceArguments),
    /// Run many variants of a test in parallel; sum up how robust it is.
    Sweep(sweep::SweepArguments),
    /// Measure the cost of a step on this machine, or how punctual it is.
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
    Schema,
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// The names of the export formats, as clap lists and checks them.
fn format_names() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS.map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(names)
        .map(|name| Format::named(&name).expect("clap lets only these names through"))
}

/// Papers that can be recomputed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PaperName {
    /// Gálmez & Fermandois 2020: online stability of hybrid tests.
    Galmez,
    /// Waldbjørn et al.: multi-rate real-time hybrid simulation.
    Waldbjorn,
    /// Beregi et al.: delay stability and iterative hybrid testing.
    Beregi,
    /// De Kraker 1994: component mode synthesis.
    Dekraker,
}

impl From<PaperName> for Paper {
    fn from(paper: PaperName) -> Self {
        match paper {
            PaperName::Galmez => Self::Galmez,
            PaperName::Waldbjorn => Self::Waldbjorn,
            PaperName::Beregi => Self::Beregi,
            PaperName::Dekraker => Self::Dekraker,
        }
    }
}

/// Does what the command line asks for.
pub(crate) fn run(line: CommandLine) -> Exit {
    let output = if line.json { Output::Json } else { Output::People };
    obey(line.command, output).unwrap_or_else(|error| output.fail(&error))
}

fn obey(command: Command, output: Output) -> Result<Exit, CliError> {
    match command {
        Command::Check(arguments) => check::check(&arguments, output),
        Command::Run(arguments) => run::run(&arguments, output),
        Command::Rig(arguments) => rig::rig(&arguments, output),
        Command::Host { command } => host::host(&command, output),
        Command::Identify(arguments) => identify::identify(&arguments, output),
        Command::Report { record, out } => records::report(&record, out, output),
        Command::Export { record, format, out } => records::export(&record, format, out, output),
        Command::Replay { record } => records::replay(&record, output),
        Command::Reproduce { paper, ground } => reproduce::reproduce(paper.into(), ground, output),
        Command::Reduce(arguments) => reduce::reduce(&arguments, output),
        Command::Chart(arguments) => chart::chart(&arguments, output),
        Command::Trace(arguments) => trace::trace(&arguments, output),
        Command::Sweep(arguments) => sweep::sweep(&arguments, output),
        Command::Bench { seconds, realtime: true, .. } => bench_realtime::bench(seconds, output),
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
