//! `twinrig rig`: plays the laboratory of an experiment for loops elsewhere.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use twinrig::Clock;
use twinrig::laboratory::{LaboratoryOptions, SessionFolders, Sessions};
use twinrig::words::Words;

use super::error::CliError;
use super::file::{Bench, OtherValues, folder, load, started};
use super::onlooker::Looker;
use super::output::{Exit, Output};
use super::signals::stop_on_signals;

/// What `rig` is told.
#[derive(Debug, Args)]
pub(super) struct RigArguments {
    /// Experiment file (TOML), the same as the loop's.
    file: PathBuf,
    #[command(flatten)]
    set: OtherValues,
    /// Address to listen at [default: this machine alone, 127.0.0.1 with the port of [rig]
    /// address]. With 0.0.0.0:PORT whoever reaches it and knows the token moves the rig.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// End after one session.
    #[arg(long)]
    once: bool,
    /// Folder for the record, report and summary of each session [default: runs/NAME-rig-START;
    /// further sessions in NAME-2, NAME-3 …].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    bench: Bench,
}

pub(super) fn rig(arguments: &RigArguments, output: Output) -> Result<Exit, CliError> {
    let stop = stop_on_signals()?;
    let test = arguments.bench.test(load(&arguments.file, &arguments.set, output)?);
    let by_time = || folder(None, &arguments.file, &format!("-rig{}", started(Clock::Real)));
    let options = LaboratoryOptions {
        listen: arguments.listen,
        sessions: if arguments.once { Sessions::Once } else { Sessions::UntilStopped },
        folders: match &arguments.out {
            Some(folder) => SessionFolders::Named(folder.clone()),
            None => SessionFolders::ByTime(&by_time),
        },
    };
    let done = test.serve_laboratory(options, &stop, &mut Looker::new(output, ""))?;
    let exit = match done.sessions.last() {
        Some(last) if arguments.once || stop.presses() > 0 => Exit::of(&last.ended, Exit::Done),
        _ => Exit::Done,
    };
    // People have been told of each session as it ended.
    output.show(&done, Words::default);
    Ok(exit)
}
