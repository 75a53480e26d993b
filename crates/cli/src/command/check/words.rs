//! What `check` says to people.

use analysis::loop_stability::Margins;
use analysis::loop_stability::compensators::Trial;
use analysis::partitions::Advice;
use model::compensator::Design;
use model::transfer::TransferSystem;

use super::tables::{self, of_mode};
use crate::command::output::{counted, number};
use crate::command::rehearse::Loaded;
use twinrig::fit::{Cost, Fit, MARGIN, NumericalCost};
use twinrig::forecast::{Dominant, Forecast, Stability, is_neutral};
use twinrig::page::text::label;

pub(super) fn text(loaded: &Loaded, forecast: &Forecast, advice: Option<&Advice>) -> String {
    let mut text = format!(
        "{}\n{}, {} at the interface, {} of {} ms\n\n{}",
        label(&loaded.experiment.title),
        counted(loaded.assembly.structure.size(), "DOF"),
        loaded.assembly.count(),
        counted(loaded.assembly.ticks, "tick"),
        number(1e3 * forecast.step_s),
        tables::text(&tables::modes(forecast)),
    );
    let more = loaded.assembly.structure.size().saturating_sub(forecast.modes.len());
    if more > 0 {
        text.push_str(&format!("and {}\n", counted(more, "higher mode")));
    }
    let mut say = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    say(verdict(forecast));
    rigid_bodies(forecast).into_iter().for_each(&mut say);
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
            "a main loop of {} ms, {} for its task; points up to {} ms ahead by {}",
            number(1e3 * forecast.step_s * rates.ratio as f64),
            counted(rates.task_ticks, "tick"),
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
    critical(loaded, forecast).into_iter().for_each(&mut say);
    if forecast.samples_per_cycle.is_finite() {
        let samples = number(forecast.samples_per_cycle);
        say(format!("{samples} samples per cycle of the fastest mode"));
    }
    say(fit_words(&forecast.fit));
    if let Some(found) = forecast.examined.as_ref().and_then(|found| tables::trials(found)) {
        text.push_str(&format!("\n{}", tables::text(&found)));
    }
    if let Some(advice) = advice {
        text.push_str(&tables::cuts(loaded, advice));
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

/// The verdict in words.
pub(super) fn verdict(forecast: &Forecast) -> String {
    match &forecast.stability {
        Stability::Rigid(dominant) if dominant.growing == 0 => {
            "stable: an ideal transfer system moves the specimen with the structure".to_owned()
        }
        Stability::Rigid(dominant) => format!(
            "UNSTABLE: an ideal transfer system moves the specimen with the structure, and the \
             integrator lets a motion of {} Hz grow by {} per second; raise the rate, or use an \
             unconditionally stable method (newmark, cr, kr_alpha, exact)",
            number(dominant.frequency_hz),
            number(dominant.growth_1_s)
        ),
        Stability::Unknown(reason) => format!("stability not predicted: {reason}"),
        Stability::Linear(dominant) if dominant.growing == 0 => {
            format!("{}{}", stable(forecast), learnt(forecast))
        }
        Stability::Linear(dominant) => {
            format!("UNSTABLE: {}{}; {}", growth(dominant), learnt(forecast), remedy(forecast))
        }
        Stability::TwoRates(found) => {
            let learnt = if found.learnt { " (adaptive parts taken as converged)" } else { "" };
            let dominant = &found.dominant;
            if dominant.growing > 0 {
                return format!("UNSTABLE: {}{learnt}; {}", growth(dominant), remedy(forecast));
            }
            let margin = found.delay_margin_s.map_or(String::new(), |margin_s| {
                format!("; delay margin {} ms", number(1e3 * margin_s))
            });
            if !dominant.is_known() {
                return format!("stable: no motion grows{learnt}{margin}");
            }
            format!(
                "stable: the slowest motion, {} Hz, decays with {} % of critical damping{learnt}\
                 {margin}",
                number(dominant.frequency_hz),
                number(100.0 * dominant.damping_ratio)
            )
        }
    }
}

/// What grows in an unstable loop.
fn growth(dominant: &Dominant) -> String {
    if dominant.is_known() {
        return format!(
            "a motion of {} Hz{} grows by {} per second",
            number(dominant.frequency_hz),
            of_mode(dominant.mode),
            number(dominant.growth_1_s)
        );
    }
    // A swinging motion is a pair.
    match dominant.growing.div_ceil(2) {
        1 => "a motion grows".to_owned(),
        count => format!("{count} motions grow"),
    }
}

/// What an adaptive compensator was linearised about.
fn learnt(forecast: &Forecast) -> &'static str {
    let started = forecast.examined.as_ref().and_then(|examined| examined.started.as_ref());
    match started {
        Some(started) if started.verdict.is_stable() => {
            " (adaptive compensator taken as converged; stable with its initial parameters too)"
        }
        Some(_) => " (adaptive compensator taken as converged)",
        None if forecast.compensator.is_adaptive() && forecast.examined.is_some() => {
            " (the adaptive compensator with its initial parameters)"
        }
        None => "",
    }
}

/// A loop in which nothing grows, by the motion that is nearest to it.
fn stable(forecast: &Forecast) -> String {
    let least = forecast.examined.as_ref().and_then(|examined| examined.least_damped);
    let Some((motion, mode)) = least else { return "stable: no motion grows".to_owned() };
    let (hertz, mode_words) = (number(motion.frequency_hz()), of_mode(mode));
    if is_neutral(motion) {
        return format!(
            "stable, but only just: no motion grows, and that of {hertz} Hz{mode_words} does not \
             decay either; give the structure some damping"
        );
    }
    let followed = forecast.examined.iter().flat_map(|examined| &examined.motions.modes);
    let truth = followed.map(|found| found.truth).find(|truth| Some(truth.number) == mode);
    let truth = truth.map(|truth| {
        format!(", {} % in the true structure", number(100.0 * truth.motion.damping_ratio()))
    });
    format!(
        "stable: the least damped motion, {hertz} Hz{mode_words}, keeps {} % of critical damping{}",
        number(100.0 * motion.damping_ratio()),
        truth.unwrap_or_default()
    )
}

/// A structure without support drifts, in the loop as in truth.
fn rigid_bodies(forecast: &Forecast) -> Option<String> {
    (forecast.rigid_bodies > 0).then(|| {
        let (motion, it) = match forecast.rigid_bodies {
            1 => ("its rigid-body motion neither grows nor decays".to_owned(), "it"),
            count => (format!("its {count} rigid-body motions neither grow nor decay"), "them"),
        };
        format!(
            "the structure has no support: {motion}, and any offset of the measured force lets \
             {it} drift"
        )
    })
}

/// What would help an unstable loop: nothing that the table of compensators
/// rejects.
fn remedy(forecast: &Forecast) -> String {
    let Some(examined) = &forecast.examined else {
        return "less delay, a compensator, or less of the structure in the laboratory would help"
            .to_owned();
    };
    let error = |trial: &&Trial| trial.worst.map_or(f64::INFINITY, |(_, error)| error.abs());
    let stable = examined.trials.iter().filter(|trial| trial.verdict.is_stable());
    let declared = kind(&forecast.compensator);
    let best = stable.min_by(|a, b| error(a).total_cmp(&error(b)));
    let less = "less delay or less of the structure in the laboratory would help";
    match (best, &forecast.critical_delay) {
        (Some(best), _) if best.kind == "none" => {
            "without its compensator it would be stable".to_owned()
        }
        (Some(best), _) if best.kind.starts_with(declared) => format!(
            "its compensator {declared} with the numbers that suit this rig would make it stable; \
             {less} too"
        ),
        (Some(best), _) => {
            format!("the compensator {} would make it stable; {less} too", best.kind)
        }
        (None, Some(critical))
            if critical.delay_s == 0.0 && critical.frequency_hz.is_infinite() =>
        {
            "no delay is short enough and no compensator tried makes it stable: give more of the \
             mass to the numerical side"
                .to_owned()
        }
        (None, Some(critical)) if critical.delay_s == 0.0 => {
            "no compensator tried makes it stable: give the structure some damping".to_owned()
        }
        (None, _) if examined.trials.len() > 1 => {
            format!("no compensator tried makes it stable; {less}")
        }
        (None, _) => "less delay, a compensator, or less of the structure in the laboratory would \
                      help"
            .to_owned(),
    }
}

/// The name of a compensator in the file.
fn kind(design: &Design) -> &'static str {
    match design {
        Design::None => "none",
        Design::FirstOrder(_) => "first_order",
        Design::Inverse(_) => "inverse",
        Design::ForwardPrediction(_) => "forward_prediction",
        Design::AdaptiveModelBased(_) => "adaptive_model_based",
        Design::AdaptiveInverse(_) => "adaptive_inverse",
        Design::AdaptiveTimeSeries(_) => "adaptive_time_series",
        Design::PiLead(_) => "pi_lead",
    }
}

fn margins(margins: &Margins) -> Vec<String> {
    if !margins.verdict.is_stable() {
        return Vec::new();
    }
    let mut said = Vec::new();
    match margins.verdict.delay_margin {
        Some(delay) => said.push(format!(
            "delay margin {} ms (unstable at {} Hz)",
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
    if let Some(disk) = &margins.disk {
        let (below, above) = disk.gain();
        let named: Vec<String> = (1..)
            .zip(&disk.direction)
            .map(|(dof, part)| format!("{} of interface DOF {dof}", number(*part)))
            .collect();
        said.push(format!(
            "margins if the forces differ: gain × {} to × {}, phase {}° at {} Hz (weakest direction: {})",
            number(below),
            number(above),
            number(disk.phase_rad().to_degrees()),
            number(disk.frequency_hz),
            named.join(", ")
        ));
    }
    said
}

fn critical(loaded: &Loaded, forecast: &Forecast) -> Option<String> {
    let critical = forecast.critical_delay.as_ref()?;
    let rig = &loaded.assembly.transfer_system;
    // Dynamics change the gain as well as the time, and a compensator changes both.
    let plain = matches!(rig, TransferSystem::Delay { .. } | TransferSystem::Ideal)
        && forecast.compensator == Design::None;
    Some(if critical.delay_s > 0.0 {
        let has = match plain {
            _ if !forecast.delay_s.is_finite() => String::new(),
            true => {
                format!("; the transfer system has {} ms there", number(1e3 * forecast.delay_s))
            }
            false => format!(
                ", if the loop were late and nothing else; the transfer system alone has {} ms \
                 there",
                number(1e3 * forecast.delay_s)
            ),
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

/// Whether the loop fits its period here, and what would.
fn fit_words(fit: &Fit) -> String {
    let us = |seconds: f64| number(1e6 * seconds);
    // The slowest of a hundred is what must fit; the median is for comparison.
    let cost = |cost: &Cost| {
        format!("{} µs in 99 of 100 cases (median {} µs)", us(cost.p99_s), us(cost.p50_s))
    };
    let mut costs = format!(
        "after a sleep a tick takes at most {} here: {} % of its period with a margin of {MARGIN}",
        cost(&fit.tick),
        number(100.0 * fit.tick_share()),
    );
    match &fit.numerical {
        NumericalCost::InTick(step) if !fit.fits() => {
            costs += &format!("; the numerical part alone takes {}", cost(step));
        }
        NumericalCost::InTick(_) => {}
        NumericalCost::MainLoop { step, ratio, task_ticks } => {
            costs += &format!(
                "; a step of the main loop (1:{ratio}) takes at most {}: {} % of the {} it has with \
                 the same margin",
                cost(step),
                number(100.0 * fit.main_share().unwrap_or(f64::NAN)),
                counted(*task_ticks as usize, "tick"),
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
