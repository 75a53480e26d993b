//! The verdict on a loop in words.

use analysis::loop_stability::compensators::Trial;
use model::compensator::Design;

use crate::forecast::{Dominant, Forecast, Stability, is_neutral};
use crate::words::number;

/// The verdict in words.
pub fn verdict(forecast: &Forecast) -> String {
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

/// Which mode a motion belongs to.
pub fn of_mode(mode: Option<usize>) -> String {
    mode.map_or(String::new(), |number| format!(" (mode {number})"))
}
