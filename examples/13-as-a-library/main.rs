//! How late may the actuator be? A small program that uses the library.

use twinrig::{Clock, Error, Silent, StopHandle, Test};

const FILE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/13-as-a-library/experiment.toml");

fn main() -> Result<(), Error> {
    for delay in ["1 ms", "4 ms", "20 ms"] {
        let test = Test::load(FILE)?.with("transfer_system.delay", delay)?;
        let forecast = if test.check()?.is_unstable() { "unstable" } else { "stable" };
        let run = test.run(Clock::Virtual, &StopHandle::default(), &mut Silent)?;
        let tracking = run.criterion("J2").unwrap_or(f64::NAN);
        println!("{delay:>5}: {forecast}; {}, J2 {tracking:.2} %", run.status());
    }
    Ok(())
}
