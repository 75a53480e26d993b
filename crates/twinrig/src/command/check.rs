//! `twinrig check`: valid, stable, fast enough?

use std::path::Path;

use serde_json::{Value, json};

use super::output::{Exit, Output, number, print, table};
use super::rehearse::{Loaded, load};
use crate::fit::{Fit, MARGIN, NumericalCost};
use crate::forecast::{Forecast, Stability, grows};
use crate::report;

pub(super) fn check(file: &Path, output: Output) -> Exit {
    let loaded = match load(file, output) {
        Ok(loaded) => loaded,
        Err(exit) => return exit,
    };
    let forecast = match Forecast::new(&loaded.assembly) {
        Ok(forecast) => forecast,
        Err(error) => return output.fail(error),
    };
    let shown = match output {
        Output::Json => output.document(&document(&loaded, &forecast)),
        Output::People => print(&text(&loaded, &forecast)),
    };
    if forecast.is_unstable() { Exit::Unstable } else { shown }
}

fn text(loaded: &Loaded, forecast: &Forecast) -> String {
    let rows: Vec<Vec<String>> = forecast
        .modes
        .iter()
        .enumerate()
        .map(|(i, mode)| {
            vec![
                format!("mode {}", i + 1),
                format!("{} Hz", number(mode.frequency_hz)),
                format!("{} %", number(100.0 * mode.damping_ratio)),
            ]
        })
        .collect();
    let mut text = format!(
        "{}\n{} DOFs, {} at the interface, {} ticks of {} ms\n\n{}",
        report::one_line(&loaded.experiment.title),
        loaded.assembly.structure.size(),
        loaded.assembly.count(),
        loaded.assembly.ticks,
        number(1e3 * forecast.step_s),
        table(&["whole structure", "frequency", "damping"], &rows),
    );
    let more = loaded.assembly.structure.size().saturating_sub(forecast.modes.len());
    if more > 0 {
        text.push_str(&format!("and {more} higher modes\n"));
    }
    let mut say = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    say(verdict(forecast));
    if !forecast.linear {
        say("this holds for small motions, every nonlinear element at its initial stiffness: \
             rehearse the test for the rest"
            .to_owned());
    }
    if let Some(rates) = &loaded.assembly.rates {
        say(format!(
            "a main loop of {} ms, {} ticks for its task; points up to {} ms ahead by {}",
            number(1e3 * forecast.step_s * rates.ratio as f64),
            rates.task_ticks,
            number(1e3 * forecast.step_s * (rates.task_ticks + rates.ratio) as f64),
            rates.predictor.name()
        ));
    }
    if let Some(words) = phases(loaded) {
        say(words);
    }
    let faults = loaded.assembly.faults.len();
    if faults > 0 {
        let noun = if faults == 1 {
            "fault that the file rehearses is"
        } else {
            "faults that the file rehearses are"
        };
        say(format!("{faults} {noun} not part of this"));
    }
    if let Some(critical) = &forecast.critical_delay {
        if critical.delay_s > 0.0 {
            let has = if forecast.delay_s.is_finite() {
                format!("; the transfer system has {} ms there", number(1e3 * forecast.delay_s))
            } else {
                String::new()
            };
            say(format!(
                "critical delay {} ms at {} Hz{has}",
                number(1e3 * critical.delay_s),
                number(critical.frequency_hz),
            ));
        } else if critical.frequency_hz.is_finite() {
            say(format!(
                "any delay makes this loop unstable: the motion of {} Hz has no damping; give the \
                 structure some",
                number(critical.frequency_hz)
            ));
        } else {
            say("any delay makes this loop unstable: the specimen is heavier than what is \
                 simulated at its DOF; give more of the mass to the numerical side"
                .to_owned());
        }
    }
    if forecast.samples_per_cycle.is_finite() {
        let samples = number(forecast.samples_per_cycle);
        say(format!("{samples} samples per cycle of the fastest mode"));
    }
    say(fit_words(&forecast.fit));
    text
}

/// What comes before and after the load, and where it comes from.
fn phases(loaded: &Loaded) -> Option<String> {
    let assembly = &loaded.assembly;
    let course = assembly.course?;
    let seconds = |ticks: u64| number(assembly.integrator.step_s * ticks as f64);
    let mut words = format!("the load begins after {} s", seconds(assembly.ticks_before()));
    if let Some(plan) = &assembly.stream {
        words += &format!(
            ", once a host has sent {} of its samples, one in {} ticks",
            plan.prefill_samples, plan.ticks_per_sample
        );
    }
    if let Some(plan) = course.completing {
        words += &format!(
            "; after it the loop rings down for up to {} s",
            seconds(plan.ring_down_ticks)
        );
    }
    Some(words)
}

/// Whether the loop fits its period here, and what would.
fn fit_words(fit: &Fit) -> String {
    let us = |seconds: f64| number(1e6 * seconds);
    let mut costs = format!(
        "after a sleep a tick takes {} µs here (p99 {} µs), {} % of its period with a margin of \
         {MARGIN}",
        us(fit.tick.p50_s),
        us(fit.tick.p99_s),
        number(100.0 * fit.tick_share()),
    );
    match fit.numerical {
        NumericalCost::InTick(step) if !fit.fits() => {
            costs += &format!(", {} µs of it the numerical part", us(step.p99_s));
        }
        NumericalCost::InTick(_) => {}
        NumericalCost::MainLoop { step, ratio, task_ticks } => {
            costs += &format!(
                "; a step of the main loop (1:{ratio}) takes {} µs (p99 {} µs), {} % of the \
                 {task_ticks} tick{} it has",
                us(step.p50_s),
                us(step.p99_s),
                number(100.0 * fit.main_share().unwrap_or(f64::NAN)),
                if task_ticks == 1 { "" } else { "s" },
            );
        }
    }
    match (fit.fits(), fit.ratio()) {
        (true, _) => format!("the loop fits its period: {costs}"),
        (false, Some(ratio)) => format!(
            "the loop does NOT fit its period: {costs}; a [main_loop] with ratio and task_ticks of \
             {ratio} or more would fit"
        ),
        (false, None) => format!(
            "the loop does NOT fit its period: {costs}; no [main_loop] helps, choose a lower rate \
             or a smaller model"
        ),
    }
}

/// The numerical part alone: within the tick, or a step of the main loop.
fn numerical_s(fit: &Fit) -> f64 {
    match fit.numerical {
        NumericalCost::InTick(step) | NumericalCost::MainLoop { step, .. } => step.p99_s,
    }
}

/// The verdict in words.
fn verdict(forecast: &Forecast) -> String {
    match &forecast.stability {
        Stability::Rigid => "stable: an ideal transfer system moves the specimen with the \
                             structure"
            .to_owned(),
        Stability::Unknown(reason) => format!("stability not predicted: {reason}"),
        Stability::Linear(dominant) if grows(dominant) => format!(
            "UNSTABLE: a motion of {} Hz grows by {} per second; less delay, a compensator, or \
             less of the structure in the laboratory would help",
            number(dominant.frequency_hz),
            number(dominant.growth_1_s)
        ),
        Stability::Linear(dominant) => format!(
            "stable: the slowest motion, {} Hz, keeps {} % of critical damping",
            number(dominant.frequency_hz),
            number(100.0 * dominant.damping_ratio)
        ),
    }
}

fn document(loaded: &Loaded, forecast: &Forecast) -> Value {
    let (verdict_word, dominant) = match &forecast.stability {
        Stability::Rigid => ("stable", None),
        Stability::Unknown(_) => ("unknown", None),
        Stability::Linear(d) if grows(d) => ("unstable", Some(d)),
        Stability::Linear(d) => ("stable", Some(d)),
    };
    let modes: Vec<Value> = forecast
        .modes
        .iter()
        .map(|m| json!({ "frequency_hz": m.frequency_hz, "damping_ratio": m.damping_ratio }))
        .collect();
    json!({
        "title": loaded.experiment.title,
        "dofs": loaded.assembly.structure.size(),
        "interface_dofs": loaded.assembly.count(),
        "ticks": loaded.assembly.ticks,
        "step_s": forecast.step_s,
        "modes": modes,
        "samples_per_cycle": forecast.samples_per_cycle,
        "verdict": verdict_word,
        "words": verdict(forecast),
        "linear": forecast.linear,
        "dominant": dominant.map(|d| json!({
            "radius": d.radius,
            "growth_1_s": d.growth_1_s,
            "frequency_hz": d.frequency_hz,
            "damping_ratio": d.damping_ratio,
        })),
        "critical_delay_s": forecast.critical_delay.map(|c| c.delay_s),
        "critical_frequency_hz": forecast.critical_delay.map(|c| c.frequency_hz),
        "transfer_delay_s": forecast.delay_s,
        "tick_s": forecast.fit.tick.p50_s,
        "tick_p99_s": forecast.fit.tick.p99_s,
        "numerical_p99_s": numerical_s(&forecast.fit),
        "main_share": forecast.fit.main_share(),
        "tick_share": forecast.fit.tick_share(),
        "margin": MARGIN,
        "fits": forecast.fit.fits(),
        "ratio": forecast.fit.ratio(),
        "faults": loaded.assembly.faults.len(),
        "warnings": loaded.warnings,
    })
}
