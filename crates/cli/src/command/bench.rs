//! `twinrig bench`: what a step costs on this machine.

use serde_json::json;

use super::output::{Exit, Output, number, print, table};
use twinrig::bench::{Measurement, measure};

pub(super) fn bench(repeat: u32, output: Output) -> Exit {
    let spinner = output.spinner();
    let outcome = measure(repeat, |what| spinner.set_message(what.to_owned()));
    spinner.finish_and_clear();
    let measurements = match outcome {
        Ok(measurements) => measurements,
        Err(error) => return output.fail(error),
    };
    if output == Output::Json {
        let rows: Vec<_> = measurements
            .iter()
            .map(|m| {
                let per_second = 1e9 / m.nanoseconds;
                json!({
                    "id": m.id, "what": m.what, "ns": m.nanoseconds, "per": m.per,
                    "per_second": per_second,
                })
            })
            .collect();
        return output.document(&json!({ "repeat": repeat, "measurements": rows }));
    }
    let rows: Vec<Vec<String>> = measurements
        .iter()
        .map(|Measurement { what, nanoseconds, per, .. }| match *per {
            // A test is long: how many there are in a second says more.
            "test" => vec![what.clone(), number(1e9 / nanoseconds), "tests per second".to_owned()],
            per => vec![what.clone(), number(*nanoseconds), format!("ns per {per}")],
        })
        .collect();
    print(&table(&["what", "fastest", ""], &rows))
}
