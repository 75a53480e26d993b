//! The `twinrig` program.

use std::process::ExitCode;

mod command;

use command::{read, run};

fn main() -> ExitCode {
    run(read()).into()
}
