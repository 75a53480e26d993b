//! `twinrig bench`: what a step costs on this machine.

use serde_json::json;
use twinrig::bench::{Measurement, measure};
use twinrig::table::Table;
use twinrig::words::{Words, number};

use super::error::CliError;
use super::onlooker::Looker;
use super::output::{Exit, Output};
use twinrig::Onlooker as _;

pub(super) fn bench(repeat: u32, output: Output) -> Result<Exit, CliError> {
    let mut looker = Looker::new(output, "");
    let measurements = measure(repeat, |what| looker.stage(what))?;
    drop(looker);
    let document = json!({ "repeat": repeat, "measurements": measurements });
    Ok(output.show(&document, || {
        let rows = measurements.iter().map(|Measurement { what, nanoseconds, per, .. }| {
            match *per {
                // A test is long: how many there are in a second says more.
                "test" => vec![what.clone(), number(1e9 / nanoseconds), "tests per second".into()],
                per => vec![what.clone(), number(*nanoseconds), format!("ns per {per}")],
            }
        });
        let mut words = Words::default();
        words.table(Table::new(&["what", "fastest", ""]).filled(rows));
        words
    }))
}
