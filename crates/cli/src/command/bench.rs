//! `twinrig bench`: what a step costs on this machine, and how punctual it is.

use serde_json::json;
use twinrig::Onlooker as _;
use twinrig::bench::{Measurement, measure};
use twinrig::bench_realtime::{self, Latencies, Measured, Theirs};
use twinrig::table::Table;
use twinrig::words::{Words, number};

use super::error::CliError;
use super::onlooker::Looker;
use super::output::{Exit, Output};

pub(super) fn bench(repeat: u32, output: Output) -> Result<Exit, CliError> {
    let mut looker = Looker::new(output, "");
    let measurements = measure(repeat, |what| looker.stage(what))?;
    drop(looker);
    let document = json!({ "repeat": repeat, "measurements": measurements });
    Ok(output.show(&document, || {
        let rows = measurements.iter().map(|Measurement { what, nanoseconds, per, .. }| {
            match *per {
                // A test is long: how many there are in a second says more.
                "test" => vec![what.clone(), number(1e9 / nanoseconds), "tests/s".into()],
                per => vec![what.clone(), number(*nanoseconds), format!("ns/{per}")],
            }
        });
        let mut words = Words::default();
        words.table(Table::new(&["what", "fastest", ""]).filled(rows));
        words
    }))
}

/// Wake-up latency beside cyclictest's.
pub(super) fn realtime(seconds: u32, output: Output) -> Result<Exit, CliError> {
    let mut looker = Looker::new(output, "");
    let measured = bench_realtime::measure(seconds, |what| looker.stage(what))?;
    drop(looker);
    Ok(output.show(&measured, || latency_words(&measured)))
}

fn latency_words(measured: &Measured) -> Words {
    let Measured { rates, large, goal_ratio, goal_load, facts, notices, .. } = measured;
    let mut words = Words::default();
    let mut table = Table::new(&["wake-up latency [µs]", "p50", "p99", "max"]);
    let mut row = |name: String, of: &Latencies| {
        let [p50, p99, max] = [of.p50_s, of.p99_s, of.max_s].map(|s| format!("{:.1}", 1e6 * s));
        table.row([&name, &p50, &p99, &max]);
    };
    for rate in rates {
        row(format!("{} Hz, twinrig", rate.ours.rate_hz), &rate.ours.wake_up);
        if let Theirs::Measured { cyclictest, interval_us, .. } = &rate.theirs {
            row(format!("{interval_us} µs, cyclictest"), cyclictest);
        }
    }
    words.table(table);
    let missing = rates.iter().find_map(|rate| match &rate.theirs {
        Theirs::Missing { cyclictest_error } => Some(cyclictest_error),
        Theirs::Measured { .. } => None,
    });
    missing.into_iter().for_each(|why| words.line(why));
    for rate in rates {
        if let Theirs::Measured { ratio_p50, ratio_p99, .. } = &rate.theirs {
            let rate_hz = rate.ours.rate_hz;
            words.line(format!("{rate_hz} Hz: ratio of p50 {ratio_p50:.2}, of p99 {ratio_p99:.2}"));
        }
    }
    words.line(format!("goal: p50 and p99 at most {goal_ratio} times cyclictest's\n"));
    let heads = ["tick [µs]", "p50", "p99", "% of period", "overruns", "missed", "frames", "lost"];
    let mut table = Table::new(&heads);
    for ours in rates.iter().map(|rate| &rate.ours).chain([large]) {
        table.row([
            &format!("{} Hz", ours.rate_hz),
            &format!("{:.2}", 1e6 * ours.execution_p50_s),
            &format!("{:.2}", 1e6 * ours.execution_p99_s),
            &format!("{:.2}", 100.0 * ours.load_p99),
            &ours.overruns.to_string(),
            &ours.missed.to_string(),
            &ours.frames.to_string(),
            &ours.frames_lost.to_string(),
        ]);
    }
    words.table(table);
    words.line(format!(
        "the last with a numerical part of 100 states; goal: less than {:.0} % of the period",
        100.0 * goal_load
    ));
    facts.iter().for_each(|(name, value)| words.line(format!("{name}: {value}")));
    notices.iter().for_each(|notice| words.line(format!("notice: {notice}")));
    words
}
