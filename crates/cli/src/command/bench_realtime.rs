//! `twinrig bench --realtime`: wake-up latency beside cyclictest's.

use serde_json::{Value, json};

use super::error::CliError;
use super::onlooker::Looker;
use super::output::{Exit, Output};
use twinrig::Onlooker as _;
use twinrig::bench_realtime::{Comparison, Measured, Ours, measure};
use twinrig::table::Table;
use twinrig::words::Words;

/// Our p50 and p99 should not exceed cyclictest's by more.
const GOAL_RATIO: f64 = 1.3;
/// A tick of the large model should not take more of its period.
const GOAL_LOAD: f64 = 0.2;

pub(super) fn bench(seconds: u32, output: Output) -> Result<Exit, CliError> {
    let mut looker = Looker::new(output, "");
    let measured = measure(f64::from(seconds), |what| looker.stage(what))?;
    drop(looker);
    Ok(output.show(&document(seconds, &measured), || text(&measured)))
}

fn text(measured: &Measured) -> Words {
    let mut rows = Vec::new();
    for comparison in &measured.comparisons {
        let Comparison { ours, theirs } = comparison;
        let us = |seconds: f64| format!("{:.1}", 1e6 * seconds);
        let [p50, p99, max] = ours_s(ours);
        rows.push(vec![format!("{} Hz, twinrig", ours.rate_hz), us(p50), us(p99), us(max)]);
        if let Ok(theirs) = theirs {
            let [of_p50, of_p99, of_max] = theirs_s(theirs);
            let name = format!("{} µs, cyclictest", theirs.interval_us);
            rows.push(vec![name, us(of_p50), us(of_p99), us(of_max)]);
            let ratio = |a: f64, b: f64| format!("{:.2}", a / b);
            rows.push(vec![
                "ratio".to_owned(),
                ratio(p50, of_p50),
                ratio(p99, of_p99),
                ratio(max, of_max),
            ]);
        }
    }
    let mut words = Words::default();
    words.table(Table::new(&["wake-up latency [µs]", "p50", "p99", "max"]).filled(rows));
    for comparison in &measured.comparisons {
        if let Err(error) = &comparison.theirs {
            words.line(error.to_string());
            break;
        }
    }
    words.line(format!("goal: p50 and p99 at most {GOAL_RATIO} times cyclictest's\n"));
    let all = measured.comparisons.iter().map(|comparison| &comparison.ours);
    let rows: Vec<Vec<String>> = all
        .chain([&measured.large])
        .map(|ours| {
            vec![
                format!("{} Hz", ours.rate_hz),
                format!("{:.2}", 1e-3 * ours.execution.quantile_ns(0.5) as f64),
                format!("{:.2}", 1e-3 * ours.execution.quantile_ns(0.99) as f64),
                format!("{:.2} %", 100.0 * ours.load(0.99)),
                ours.overruns.to_string(),
                ours.missed.to_string(),
                ours.frames.to_string(),
                ours.frames_lost.to_string(),
            ]
        })
        .collect();
    let heads =
        ["tick [µs]", "p50", "p99", "of the period", "overruns", "missed", "frames", "lost"];
    words.table(Table::new(&heads).filled(rows));
    words.line(format!(
        "the last with a numerical part of 100 states; goal: less than {:.0} % of the period",
        100.0 * GOAL_LOAD
    ));
    for (name, value) in &measured.large.granted.facts {
        words.line(format!("{name}: {value}"));
    }
    for notice in &measured.large.granted.notices {
        words.line(format!("notice: {notice}"));
    }
    words
}

fn ours_s(ours: &Ours) -> [f64; 3] {
    let at = |share: f64| 1e-9 * ours.wake_up.quantile_ns(share) as f64;
    [at(0.5), at(0.99), 1e-9 * ours.wake_up.max_ns() as f64]
}

fn theirs_s(theirs: &twinrig::bench_realtime::Cyclictest) -> [f64; 3] {
    [theirs.quantile_s(0.5), theirs.quantile_s(0.99), 1e-6 * theirs.max_us as f64]
}

fn document(seconds: u32, measured: &Measured) -> Value {
    let triple = |[p50, p99, max]: [f64; 3]| json!({ "p50_s": p50, "p99_s": p99, "max_s": max });
    let of_ours = |ours: &Ours| {
        json!({
            "rate_hz": ours.rate_hz,
            "wake_up": triple(ours_s(ours)),
            "execution_p50_s": 1e-9 * ours.execution.quantile_ns(0.5) as f64,
            "execution_p99_s": 1e-9 * ours.execution.quantile_ns(0.99) as f64,
            "load_p50": ours.load(0.5),
            "load_p99": ours.load(0.99),
            "overruns": ours.overruns,
            "missed": ours.missed,
            "frames": ours.frames,
            "frames_lost": ours.frames_lost,
        })
    };
    let rates: Vec<Value> = measured
        .comparisons
        .iter()
        .map(|Comparison { ours, theirs }| {
            let mut row = of_ours(ours);
            match theirs {
                Ok(theirs) => {
                    let (a, b) = (ours_s(ours), theirs_s(theirs));
                    row["cyclictest"] = triple(b);
                    row["ratio_p50"] = json!(a[0] / b[0]);
                    row["ratio_p99"] = json!(a[1] / b[1]);
                }
                Err(error) => row["cyclictest_error"] = json!(error.to_string()),
            }
            row
        })
        .collect();
    let granted = &measured.large.granted;
    json!({
        "seconds": seconds,
        "rates": rates,
        "large": of_ours(&measured.large),
        "goal_ratio": GOAL_RATIO,
        "goal_load": GOAL_LOAD,
        "facts": granted.facts,
        "notices": granted.notices,
    })
}
