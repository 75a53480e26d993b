//! One experiment run, and everything that is said about it compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use experiment::Folder;
use runtime::record::Record;
use twinrig::forecast::{Forecast, Others};
use twinrig::replay::replay;
use twinrig::verdict::Level;
use twinrig::{Clock, Run, Silent, StopHandle, Test, report};

use super::experiment::draw;
use super::further::NOT_AS_PREDICTED;
use super::generator::{Drawn, Kinds};
use crate::sweep_rows;

/// One in so many experiments is swept too.
const SWEPT: u64 = 5;
/// A run is compared with its forecast where the motion had time to grow or to stay, in doublings.
const DOUBLINGS: f64 = 60.0;
/// So many times the motion of the whole structure no stable loop reaches.
const FAR: f64 = 1e6;

/// What an experiment showed.
pub struct Agreement {
    pub seed: u64,
    pub text: String,
    pub kinds: Kinds,
    pub level: Option<Level>,
    /// What does not agree.
    pub failures: Vec<String>,
}

/// Draws and runs the experiment of a seed.
pub fn agreement(seed: u64) -> Agreement {
    for attempt in 0..1000 {
        let Drawn { text, kinds } = draw(seed, attempt);
        let name = format!("experiment-{seed}.toml");
        let Ok(test) = Test::from_text(&name, &text, Folder::new(".")) else { continue };
        if test.assembly().is_err() {
            continue;
        }
        let compared = catch_unwind(AssertUnwindSafe(|| compare(&test, &text, &kinds, seed)));
        let (level, failures) = compared.unwrap_or_else(|panic| {
            let words = panic.downcast_ref::<String>().cloned();
            (None, vec![format!("panicked: {}", words.unwrap_or_default())])
        });
        return Agreement { seed, text, kinds, level, failures };
    }
    panic!("seed {seed}: no experiment is accepted");
}

fn compare(test: &Test, text: &str, kinds: &Kinds, seed: u64) -> (Option<Level>, Vec<String>) {
    let mut failures = Vec::new();
    let run = match test.run(Clock::Virtual, &StopHandle::default(), &mut Silent) {
        Ok(run) => run,
        Err(error) => return (None, vec![format!("the run fails: {error}")]),
    };
    headline(&run, &mut failures);
    told_alike(&run, &mut failures);
    energies(&run.record, kinds, &mut failures);
    forecast(test, &run, kinds, &mut failures);
    match replay(&run.record) {
        // Without every tick and without the rig's own numbers there is nothing to feed.
        _ if run.record.header.every > 1 => {}
        Ok(replay) if replay.first_difference.is_none() => {}
        Ok(replay) => failures.push(format!("replay: {:?}", replay.first_difference)),
        Err(error) => failures.push(format!("replay: {error}")),
    }
    if seed.is_multiple_of(SWEPT) {
        sweep_rows::compare_row(&format!("seed {seed}"), text);
    }
    (Some(run.verdict.level), failures)
}

/// The headline is the worst finding, and what the record shows is among the findings.
fn headline(run: &Run, failures: &mut Vec<String>) {
    let verdict = &run.verdict;
    let worst = verdict.reasons.iter().map(|reason| reason.level).max().unwrap_or(Level::Sound);
    if worst != verdict.level {
        failures.push(format!("headline {:?}, worst finding {worst:?}", verdict.level));
    }
    let record = &run.record;
    let tripped = record.summary.as_ref().is_some_and(|summary| summary.trip.is_some());
    let warning = record.column("stability_warning").unwrap_or_default();
    let warned = warning.iter().any(|percent| *percent >= 100.0);
    let predicted = record.header.prediction.iter().any(|reason| reason.level == Level::Unsafe);
    for (is, what) in [(tripped, "trip"), (warned, "stability warning"), (predicted, "prediction")]
    {
        if is && verdict.level != Level::Unsafe {
            failures.push(format!("{what}, and the headline is {:?}", verdict.level));
        }
    }
}

/// Record, report, summary and JSON tell the same.
fn told_alike(run: &Run, failures: &mut Vec<String>) {
    let again = report::summary(&run.record).unwrap();
    if serde_json::to_value(&again).unwrap() != serde_json::to_value(&run.summary).unwrap() {
        failures.push("the summary of the record is another".to_owned());
    }
    let json = serde_json::to_value(run).unwrap();
    if json["verdict"] != serde_json::to_value(&run.verdict).unwrap() {
        failures.push(format!("the verdict in JSON is {}", json["verdict"]));
    }
    let page = spaced(&report::html(&run.record).unwrap());
    if !page.contains(&run.verdict.level.word().to_lowercase()) {
        failures.push(format!("no word {} on the page", run.verdict.level.word()));
    }
    for reason in &run.verdict.reasons {
        // Quotes and brackets are written otherwise on a page.
        let plain =
            reason.text.split(['"', '\'', '<', '>', '&', '`']).max_by_key(|part| part.len());
        if !page.contains(spaced(plain.unwrap_or_default()).trim().trim_end_matches('.')) {
            failures.push(format!("not on the page: {}", reason.text));
        }
    }
}

/// In small letters, with one kind of blank.
fn spaced(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect::<String>().to_lowercase()
}

/// Energies balance, and methods that keep energy lose none.
fn energies(record: &Record, kinds: &Kinds, failures: &mut Vec<String>) {
    let of = |name: &str| record.column(&format!("energy.{name}")).unwrap_or_default();
    let [kinetic, dissipated, strain, numerical, input, feedback] =
        ["kinetic", "dissipated", "strain", "numerical", "input", "feedback"].map(of);
    let keeps = match kinds.integrator.as_str() {
        "newmark" => true,
        // In one piece with the specimen the force is that of the displacement's instant, not the
        // mean one that CR works with.
        "cr" => !kinds.features.contains(&"element of the structure") && kinds.actuator != "ideal",
        _ => false,
    };
    // The papers' rule for work is not the exact one.
    let other = ["continuous", "trapezoid"].iter().any(|name| kinds.features.contains(name));
    let keeps = keeps && kinds.rates == "one rate" && !other;
    let parts = [kinetic, dissipated, strain, input, feedback];
    let scale = parts.into_iter().flatten().fold(0.0f64, |most, part| most.max(part.abs()));
    let known = parts.into_iter().flatten().all(|part| part.is_finite());
    if !known || scale > 1e200 {
        return;
    }
    // The velocity of CR lies half a step before a start from rest under a load: that much is there
    // from the beginning.
    let begin = numerical.iter().copied().find(|value| *value != 0.0).unwrap_or(0.0);
    for row in 0..kinetic.len() {
        let open = kinetic[row] + dissipated[row] + strain[row] + numerical[row];
        let open = (open - input[row] - feedback[row]).abs();
        if open > 1e-9 * scale {
            failures.push(format!("energies {open:e} J open of {scale:e} J in row {row}"));
            return;
        }
        let lost = numerical[row] - if numerical[row] == 0.0 { 0.0 } else { begin };
        if keeps && lost.abs() > 1e-6 * scale {
            failures.push(format!("{lost:e} J of {scale:e} J lost by the method in row {row}"));
            return;
        }
    }
}

/// Of a rig that answers at once structure and specimen are one piece: the noise of its sensors
/// moves nothing, and does no work.
#[test]
fn noise_that_moves_nothing_does_no_work() {
    let text = crate::common::Draft::new()
        .with("integrator", "method = \"newmark\"\nrate = \"1024 Hz\"")
        .with("transfer_system", "kind = \"ideal\"")
        .with("sensors", "force_noise = \"20 N\"")
        .text();
    let test = Test::from_text("noise.toml", &text, Folder::new(".")).unwrap();
    let run = test.run(Clock::Virtual, &StopHandle::default(), &mut Silent).unwrap();
    let most = |name: &str| {
        let values = run.record.column(name).unwrap();
        values.iter().fold(0.0f64, |most, value| most.max(value.abs()))
    };
    let (lost, scale) = (most("energy.numerical"), most("energy.input"));
    assert!(lost < 1e-11 * scale, "{lost} J of {scale} J");
}

/// A linear loop grows where that was predicted, and nowhere else.
fn forecast(test: &Test, run: &Run, kinds: &Kinds, failures: &mut Vec<String>) {
    let forecast = Forecast::new(test.assembly().unwrap(), Others::Left).unwrap();
    let adapts = kinds.compensator.starts_with("adaptive");
    let Some(dominant) = forecast.stability.dominant() else { return };
    let shown = run.record.header.prediction.iter().any(|reason| reason.id == "unstable");
    if shown != forecast.is_unstable() {
        failures.push(format!("predicted unstable: {}, told: {shown}", forecast.is_unstable()));
    }
    let other = kinds.features.iter().any(|feature| NOT_AS_PREDICTED.contains(feature));
    if adapts || other || !forecast.linear || !dominant.is_known() {
        return;
    }
    let most = |prefix: &str| {
        let columns = run.record.channels.iter().filter(|channel| channel.name.starts_with(prefix));
        let values =
            columns.flat_map(|channel| run.record.column(&channel.name).unwrap_or_default());
        values.fold(0.0f64, |most, value| most.max(value.abs()))
    };
    let (moved, whole) = (most("measured."), most("reference.interface."));
    let far = run.summary.trip.is_some() || !moved.is_finite() || moved > FAR * whole;
    let time_s = test.assembly().unwrap().ticks as f64 * forecast.step_s;
    let doublings = dominant.growth_1_s * time_s / std::f64::consts::LN_2;
    if dominant.growing > 0 && doublings > DOUBLINGS && !far {
        failures.push(format!(
            "grows {doublings:.1} times twofold, and moved {moved:e} of {whole:e} m"
        ));
    }
    if dominant.growing == 0 && whole > 0.0 && far && !kinds.features.contains(&"phases") {
        let why = run.summary.trip.clone();
        failures.push(format!("stable, and moved {moved:e} of {whole:e} m: {why:?}"));
    }
}

/// Counts by everything that was drawn, and what does not agree.
pub fn table(all: &[Agreement]) -> String {
    let mut text = String::new();
    let mut levels: BTreeMap<String, usize> = BTreeMap::new();
    let mut kinds: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for one in all {
        let level = one.level.map_or("not run".to_owned(), |level| level.word().to_owned());
        *levels.entry(level).or_default() += 1;
        let Kinds { actuator, compensator, integrator, rates, features } = &one.kinds;
        let rates = if rates == "one rate" { "one rate" } else { "two rates" };
        let mut names =
            vec![format!("actuator: {actuator}"), format!("compensator: {compensator}")];
        names.extend([format!("integrator: {integrator}"), rates.to_owned()]);
        names.extend(features.iter().map(|feature| format!("feature: {feature}")));
        names.sort();
        names.dedup();
        for name in names {
            let counts = kinds.entry(name).or_default();
            counts[0] += 1;
            counts[1] += usize::from(!one.failures.is_empty());
        }
    }
    let failed = all.iter().filter(|one| !one.failures.is_empty()).count();
    let _ = writeln!(text, "\n{} experiments, {failed} do not agree", all.len());
    for (level, count) in levels {
        let _ = writeln!(text, "{count:6} {level}");
    }
    for (name, [count, failed]) in kinds {
        let _ = writeln!(text, "{count:6} {failed:4} {name}");
    }
    text
}
