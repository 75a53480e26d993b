//! What `check` says to people.

use analysis::loop_stability::Margins;
use analysis::loop_stability::compensators::Trial;
use analysis::loop_stability::partitions::{Advice, Cut, Origin, Ranked};
use model::equations::Deformation;

use crate::command::output::{number, table};
use crate::command::rehearse::Loaded;
use crate::fit::{Fit, MARGIN, NumericalCost};
use crate::forecast::{Examined, Forecast, Stability};
use crate::report;

/// Cuts that are listed.
const CUTS: usize = 15;

pub(super) fn text(loaded: &Loaded, forecast: &Forecast, advice: Option<&Advice>) -> String {
    let mut text = format!(
        "{}\n{} DOFs, {} at the interface, {} ticks of {} ms\n\n{}",
        report::one_line(&loaded.experiment.title),
        loaded.assembly.structure.size(),
        loaded.assembly.count(),
        loaded.assembly.ticks,
        number(1e3 * forecast.step_s),
        modes(forecast),
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
    if let Some(examined) = &forecast.examined {
        margins(&examined.margins).into_iter().for_each(&mut say);
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
    phases(loaded).into_iter().for_each(&mut say);
    let faults = loaded.assembly.faults.len();
    if faults > 0 {
        let noun = if faults == 1 {
            "fault that the file rehearses is"
        } else {
            "faults that the file rehearses are"
        };
        say(format!("{faults} {noun} not part of this"));
    }
    critical(forecast).into_iter().for_each(&mut say);
    if forecast.samples_per_cycle.is_finite() {
        let samples = number(forecast.samples_per_cycle);
        say(format!("{samples} samples per cycle of the fastest mode"));
    }
    say(fit_words(&forecast.fit));
    if let Some(examined) = &forecast.examined {
        text.push_str(&trials(examined));
    }
    if let Some(advice) = advice {
        text.push_str(&cuts(loaded, advice));
    }
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

/// The modes of the structure, and what the loop makes of their damping.
fn modes(forecast: &Forecast) -> String {
    let in_loop = |number: usize| {
        let modes = &forecast.examined.as_ref()?.motions.modes;
        modes.iter().find(|mode| mode.truth.number == number)
    };
    let header =
        ["whole structure", "frequency", "damping", "in the loop", "damping", "per ms later"];
    let known = forecast.examined.is_some();
    let rows: Vec<Vec<String>> = forecast
        .modes
        .iter()
        .enumerate()
        .map(|(i, mode)| {
            let mut row = vec![
                format!("mode {}", i + 1),
                format!("{} Hz", number(mode.frequency_hz)),
                format!("{} %", number(100.0 * mode.damping_ratio)),
            ];
            if known {
                let found = in_loop(i + 1);
                let motion = found.and_then(|mode| mode.in_loop);
                let dash = || "–".to_owned();
                let sensitivity = found.and_then(|mode| mode.sensitivity_1_s);
                row.extend([
                    motion.map_or_else(dash, |m| format!("{} Hz", number(m.frequency_hz()))),
                    motion.map_or_else(dash, |m| percent(m.damping_ratio())),
                    sensitivity.map_or_else(dash, |s| format!("{:+.3} %", 0.1 * s)),
                ]);
            }
            row
        })
        .collect();
    table(if known { &header } else { &header[..3] }, &rows)
}

fn percent(ratio: f64) -> String {
    format!("{} %", number(100.0 * ratio))
}

fn of_mode(mode: Option<usize>) -> String {
    mode.map_or(String::new(), |number| format!(" (mode {number})"))
}

/// The verdict in words.
pub(super) fn verdict(forecast: &Forecast) -> String {
    match &forecast.stability {
        Stability::Rigid => "stable: an ideal transfer system moves the specimen with the \
                             structure"
            .to_owned(),
        Stability::Unknown(reason) => format!("stability not predicted: {reason}"),
        Stability::Linear(dominant) if dominant.growing == 0 && dominant.is_known() => {
            let truth = dominant.mode.and_then(|mode| forecast.modes.get(mode - 1));
            let truth = truth.map(|mode| {
                format!(", {} % in the true structure", number(100.0 * mode.damping_ratio))
            });
            format!(
                "stable: the slowest motion, {} Hz{}, keeps {} % of critical damping{}{}",
                number(dominant.frequency_hz),
                of_mode(dominant.mode),
                number(100.0 * dominant.damping_ratio),
                truth.unwrap_or_default(),
                learnt(forecast)
            )
        }
        Stability::Linear(dominant) if dominant.growing == 0 => {
            format!("stable: every motion decays{}", learnt(forecast))
        }
        Stability::Linear(d) => {
            let what = if d.is_known() {
                format!(
                    "a motion of {} Hz{} grows by {} per second",
                    number(d.frequency_hz),
                    of_mode(d.mode),
                    number(d.growth_1_s)
                )
            } else {
                // A swinging motion is a pair.
                format!("{} motions grow", d.growing.div_ceil(2))
            };
            format!("UNSTABLE: {what}{}; {}", learnt(forecast), remedy(forecast))
        }
        Stability::Decay(decay) if decay.is_unclear() => format!(
            "stability not predicted: after a push the motion of {} Hz neither grows nor decays \
             within {} s of the loop itself",
            number(decay.frequency_hz),
            number(decay.watched_s)
        ),
        Stability::Decay(decay) if decay.grows() => format!(
            "UNSTABLE: after a push a motion of {} Hz grows by {} per second, in {} s of the loop \
             itself without load",
            number(decay.frequency_hz),
            number(decay.growth_1_s),
            number(decay.watched_s)
        ),
        Stability::Decay(decay) => {
            let margin = decay.delay_margin_s.map_or(String::new(), |margin_s| {
                format!("; it bears {} ms of further delay", number(1e3 * margin_s))
            });
            format!(
                "stable: after a push the slowest motion, {} Hz, decays with {} % of critical \
                 damping, in {} s of the loop itself without load{margin}",
                number(decay.frequency_hz),
                number(100.0 * decay.damping_ratio()),
                number(decay.watched_s)
            )
        }
    }
}

/// An adaptive compensator is judged as it will have learnt.
fn learnt(forecast: &Forecast) -> &'static str {
    let started = forecast.examined.as_ref().and_then(|examined| examined.started.as_ref());
    match started {
        Some(started) if started.is_stable() => {
            " (the adaptive compensator as it will have learnt; as it starts it is stable too)"
        }
        Some(_) => " (the adaptive compensator as it will have learnt)",
        None => "",
    }
}

/// What would help an unstable loop.
fn remedy(forecast: &Forecast) -> String {
    let trials = forecast.examined.as_ref().map_or(&[][..], |examined| &examined.trials);
    let error = |trial: &&Trial| trial.worst.map_or(f64::INFINITY, |(_, error)| error.abs());
    let stable = trials.iter().filter(|trial| trial.is_stable());
    match stable.min_by(|a, b| error(a).total_cmp(&error(b))) {
        Some(best) => format!(
            "the compensator {} would make it stable (see below); less delay or less of the \
             structure in the laboratory help too",
            best.kind
        ),
        None => "less delay, a compensator, or less of the structure in the laboratory would help"
            .to_owned(),
    }
}

fn margins(margins: &Margins) -> Vec<String> {
    if margins.growing > 0 {
        return Vec::new();
    }
    let mut said = Vec::new();
    match margins.delay {
        Some(delay) => said.push(format!(
            "the loop bears {} ms of further delay; then a motion of {} Hz goes",
            number(1e3 * delay.delay_s),
            number(delay.frequency_hz)
        )),
        None => said.push("no further delay makes this loop unstable".to_owned()),
    }
    let mut rest = Vec::new();
    if let Some((factor, hertz)) = margins.gain_above {
        rest.push(format!("loop gain × {} at {} Hz", number(factor), number(hertz)));
    }
    if let Some((factor, hertz)) = margins.gain_below {
        rest.push(format!("loop gain × {} at {} Hz", number(factor), number(hertz)));
    }
    if let Some((phase, hertz)) = margins.phase {
        rest.push(format!("phase {}° at {} Hz", number(phase.to_degrees()), number(hertz)));
    }
    if !rest.is_empty() {
        said.push(format!("margins: {}", rest.join(", ")));
    }
    said
}

fn critical(forecast: &Forecast) -> Option<String> {
    let critical = forecast.critical_delay.as_ref()?;
    Some(if critical.delay_s > 0.0 {
        let has = if forecast.delay_s.is_finite() {
            format!("; the transfer system has {} ms there", number(1e3 * forecast.delay_s))
        } else {
            String::new()
        };
        format!(
            "critical delay {} ms at {} Hz{has}",
            number(1e3 * critical.delay_s),
            number(critical.frequency_hz),
        )
    } else if critical.frequency_hz.is_finite() {
        format!(
            "any delay makes this loop unstable: the motion of {} Hz has no damping; give the \
             structure some",
            number(critical.frequency_hz)
        )
    } else {
        "any delay makes this loop unstable: the specimen is heavier than what is simulated at \
         its DOF; give more of the mass to the numerical side"
            .to_owned()
    })
}

/// The loop with other compensators.
fn trials(examined: &Examined) -> String {
    if examined.trials.len() < 2 {
        return String::new();
    }
    let rows: Vec<Vec<String>> = examined
        .trials
        .iter()
        .map(|trial| {
            let learns = if trial.kind.starts_with("adaptive") { ", learnt" } else { "" };
            let dash = || "–".to_owned();
            vec![
                format!("{}{learns}", trial.kind),
                if trial.is_stable() { "stable" } else { "UNSTABLE" }.to_owned(),
                trial.dominant.map_or_else(dash, |(motion, mode)| {
                    format!("{}{}", percent(motion.damping_ratio()), of_mode(mode))
                }),
                trial.worst.map_or_else(dash, |(mode, error)| {
                    format!("{:+.3} % (mode {mode})", 100.0 * error)
                }),
                match trial.delay_margin {
                    Some(margin) => format!("{} ms", number(1e3 * margin.delay_s)),
                    None if trial.is_stable() => "any".to_owned(),
                    None => dash(),
                },
            ]
        })
        .collect();
    let header = ["compensator", "loop", "least damping", "furthest off", "bears further"];
    format!("\n{}", table(&header, &rows))
}

/// Cuts of the structure, ranked.
fn cuts(loaded: &Loaded, advice: &Advice) -> String {
    let rows: Vec<Vec<String>> = advice
        .ranked
        .iter()
        .enumerate()
        .filter(|(i, ranked)| *i < CUTS || ranked.cut.origin == Origin::Declared)
        .map(|(i, ranked)| {
            let specimen = ranked.cut.partition.specimen.linearised();
            let amount = specimen.stiffness[(0, 0)];
            vec![
                format!("{}. {}", i + 1, place(loaded, &ranked.cut)),
                origin(&ranked.cut),
                format!("{} MN/m", number(1e-6 * amount)),
                bears(ranked),
                own(ranked),
            ]
        })
        .collect();
    let header = ["partition", "specimen", "stiffness", "critical delay", "this rig"];
    let mut text = format!("\n{}", table(&header, &rows));
    if advice.ranked.len() > rows.len() {
        text.push_str(&format!("and {} more\n", advice.ranked.len() - rows.len()));
    }
    if advice.ranked.iter().any(|ranked| ranked.own.is_none()) {
        text.push_str(
            "– : this transfer system cannot be judged there; a servo-hydraulic actuator needs a \
             specimen with mass\n",
        );
    }
    for words in &advice.skipped {
        text.push_str(&format!("not examined: {words}\n"));
    }
    text
}

pub(super) fn place(loaded: &Loaded, cut: &Cut) -> String {
    let name = |dof: Option<usize>| {
        dof.map_or("ground", |dof| loaded.assembly.structure.names[dof].as_str())
    };
    let of = |place: &Deformation| match place.from {
        None => name(place.to).to_owned(),
        Some(_) => format!("{} – {}", name(place.from), name(place.to)),
    };
    cut.partition.interface.iter().map(of).collect::<Vec<_>>().join(", ")
}

pub(super) fn origin(cut: &Cut) -> String {
    match cut.origin {
        Origin::Declared => "as declared".to_owned(),
        Origin::MassSplit { share } => {
            format!("with {:.0} % of the mass", 100.0 * share)
        }
        Origin::Moved => "the declared one here".to_owned(),
        Origin::Element { share: 1.0 } => "the whole spring".to_owned(),
        Origin::Element { share } => format!("{:.0} % of the spring", 100.0 * share),
    }
}

fn bears(ranked: &Ranked) -> String {
    match ranked.critical {
        None => "any".to_owned(),
        Some(critical) if critical.delay_s <= 0.0 => "none".to_owned(),
        Some(critical) => {
            format!("{} ms at {} Hz", number(1e3 * critical.delay_s), number(critical.frequency_hz))
        }
    }
}

fn own(ranked: &Ranked) -> String {
    match ranked.own {
        None => "–".to_owned(),
        Some((0, None)) => "stable".to_owned(),
        Some((0, Some(margin))) => format!("bears {} ms more", number(1e3 * margin.delay_s)),
        Some(_) => "UNSTABLE".to_owned(),
    }
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
