//! The `twinrig` program.

use std::process::ExitCode;

use clap::Parser;
use twinrig::command::{CommandLine, run};

fn main() -> ExitCode {
    let line = CommandLine::parse();
    run(line).into()
}
