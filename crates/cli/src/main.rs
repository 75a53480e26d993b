//! The `twinrig` program.

use std::process::ExitCode;

mod command;

use clap::Parser;
use command::{CommandLine, run};

fn main() -> ExitCode {
    let line = CommandLine::parse();
    run(line).into()
}
