//! The verdict on a loop, and its stability in words.

use analysis::loop_stability::Verdict;
use analysis::loop_stability::compensators::Trial;
use experiment::VerdictSpec;

use crate::fit::Fit;
use crate::forecast::{Dominant, Examined, Forecast, Stability, is_neutral};
use crate::verdict::{Level, Reason};
use crate::words::{number, rounded};

/// What helps where nothing else is known.
const HELP: &str =
    "less delay, a compensator, or less of the structure in the laboratory would help";
/// What helps beside a compensator.
const LESS: &str = "less delay or less of the structure in the laboratory would help";

/// Name of the reason that a loop is predicted to be unstable.
pub(crate) const UNSTABLE: &str = "unstable";

/// Fewest samples per cycle that show a motion at all.
const FEWEST_SAMPLES: f64 = 2.0;
/// Damping ratios below this are none, of which nothing is a share.
const UNDAMPED: f64 = 1e-6;

/// What speaks against a loop before it runs, with remedies.
pub(crate) fn reasons(forecast: &Forecast, thresholds: &VerdictSpec) -> Vec<Reason> {
    let mut reasons = Vec::new();
    match &forecast.stability {
        Stability::Unknown(reason) => reasons.push(Reason::new(
            Level::Doubtful,
            "stability_not_predicted",
            format!("stability not predicted: {reason}"),
            "rehearse the test; its verdict says whether the loop was stable",
        )),
        stability => {
            let grows = stability.dominant().filter(|dominant| dominant.growing > 0);
            reasons.extend(grows.map(|dominant| {
                let text = format!("unstable: {}{}", growth(dominant), converged(forecast));
                Reason::new(Level::Unsafe, UNSTABLE, text, remedy(forecast))
            }));
        }
    }
    if reasons.is_empty() {
        reasons.extend(near_the_boundary(forecast, thresholds));
        let examined = forecast.examined.as_deref();
        reasons.extend(examined.and_then(|examined| changed_damping(examined, thresholds)));
    }
    let modes = forecast.modes.iter().enumerate().filter(|(_, mode)| !mode.is_rigid());
    let samples = |hertz: f64| 1.0 / (forecast.step_s * hertz);
    let mut coarse = modes.filter(|(_, mode)| samples(mode.frequency_hz) < FEWEST_SAMPLES);
    reasons.extend(coarse.next().map(|(at, mode)| {
        let text = format!(
            "the rate gives mode {} at {} Hz only {} samples per cycle",
            at + 1,
            rounded(mode.frequency_hz),
            rounded(samples(mode.frequency_hz)),
        );
        Reason::new(Level::Doubtful, "rate_too_low", text, "raise the rate, or reduce the model")
    }));
    reasons
}

/// A tick that does not fit its period on this machine.
pub(super) fn too_slow(fit: &Fit) -> Option<Reason> {
    let text = "a tick does not fit its period on this machine";
    let remedy = "lower the rate, reduce the model, or run a slower main loop";
    (!fit.fits()).then(|| Reason::new(Level::Doubtful, "does_not_fit", text, remedy))
}

/// A stable loop that a little more delay, or nothing at all, makes unstable.
fn near_the_boundary(forecast: &Forecast, thresholds: &VerdictSpec) -> Option<Reason> {
    let examined = forecast.examined.as_deref();
    let doubt = |id: &str, text, remedy: &str| Some(Reason::new(Level::Doubtful, id, text, remedy));
    if let Some((motion, mode)) = examined.and_then(|examined| examined.least_damped)
        && is_neutral(motion)
    {
        let at = format!("{} Hz{}", rounded(motion.frequency_hz()), of_mode(mode));
        let text = format!("the motion at {at} neither grows nor decays");
        return doubt("neutral", text, "give the structure some damping");
    }
    let (margin_s, at) = match &forecast.stability {
        Stability::TwoRates(found) => (found.delay_margin_s?, String::new()),
        _ => {
            let crossing = examined?.margins.verdict.delay_margin?;
            let at = format!(" (unstable at {} Hz)", rounded(crossing.frequency_hz));
            (crossing.delay_s, at)
        }
    };
    let least_s = thresholds.delay_margin * forecast.delay_s;
    if margin_s >= least_s {
        return None;
    }
    let text = format!(
        "delay margin {} ms{at}; doubtful below {} ms, {} % of the rig's delay",
        rounded(1e3 * margin_s),
        rounded(1e3 * least_s),
        rounded(100.0 * thresholds.delay_margin),
    );
    doubt("delay_margin", text, "compensate the rig, or put less of the structure into it")
}

/// The mode whose damping the loop changes most.
fn changed_damping(examined: &Examined, thresholds: &VerdictSpec) -> Option<Reason> {
    let changes = examined.motions.modes.iter().filter_map(|mode| {
        let (own, in_loop) = (mode.truth.motion.damping_ratio(), mode.in_loop?.damping_ratio());
        (own > UNDAMPED).then(|| ((in_loop - own) / own, own, in_loop, mode.truth.number))
    });
    let (change, own, in_loop, number) =
        changes.max_by(|(a, ..), (b, ..)| a.abs().total_cmp(&b.abs()))?;
    Reason::beyond(thresholds.damping_error, change.abs(), "damping_in_the_loop", |threshold| {
        let text = format!(
            "mode {number} has {} % damping in the loop instead of {} %; doubtful from a change \
             of {} % on",
            rounded(100.0 * in_loop),
            rounded(100.0 * own),
            rounded(100.0 * threshold),
        );
        (text, "choose another compensator, or less delay".to_owned())
    })
}

/// The stability in words.
pub fn verdict(forecast: &Forecast) -> String {
    match &forecast.stability {
        Stability::Unknown(reason) => format!("stability not predicted: {reason}"),
        Stability::Rigid(dominant) if dominant.growing == 0 => {
            "stable: an ideal transfer system moves specimen and structure as one".to_owned()
        }
        Stability::Rigid(dominant) => format!(
            "UNSTABLE: {}; an ideal transfer system moves specimen and structure as one, so the \
             integrator is unstable: raise the rate, or use an unconditionally stable method \
             (newmark, cr, kr_alpha, exact)",
            growth(dominant)
        ),
        Stability::Linear(dominant) if dominant.growing == 0 => {
            format!("stable{}{}", least_damped(forecast), converged(forecast))
        }
        Stability::Linear(dominant) => {
            format!("UNSTABLE: {}{}; {}", growth(dominant), converged(forecast), remedy(forecast))
        }
        Stability::TwoRates(found) => {
            let converged = if found.learnt { " (adaptive parts after convergence)" } else { "" };
            let dominant = &found.dominant;
            if dominant.growing > 0 {
                return format!("UNSTABLE: {}{converged}; {}", growth(dominant), remedy(forecast));
            }
            let slowest = match dominant.is_known() {
                true => format!(
                    "slowest motion at {} Hz, damping {} %",
                    rounded(dominant.frequency_hz),
                    rounded(100.0 * dominant.damping_ratio)
                ),
                false => "no motion grows".to_owned(),
            };
            let margin = found
                .delay_margin_s
                .map(|margin_s| format!("; delay margin {} ms", rounded(1e3 * margin_s)));
            format!("stable: {slowest}{converged}{}", margin.unwrap_or_default())
        }
    }
}

/// What grows in an unstable loop.
fn growth(dominant: &Dominant) -> String {
    if dominant.is_known() {
        return format!(
            "motion at {} Hz{} grows, doubling every {} s",
            rounded(dominant.frequency_hz),
            of_mode(dominant.mode),
            rounded(std::f64::consts::LN_2 / dominant.growth_1_s)
        );
    }
    // A swinging motion is a pair.
    match dominant.growing.div_ceil(2) {
        1 => "one motion grows".to_owned(),
        count => format!("{count} motions grow"),
    }
}

/// What an adaptive compensator was linearised about.
fn converged(forecast: &Forecast) -> &'static str {
    let started = forecast.examined.as_ref().and_then(|examined| examined.started.as_ref());
    match started {
        Some(started) if started.verdict.is_stable() => {
            " (adaptive compensator after convergence; stable with its initial parameters too)"
        }
        Some(_) => " (adaptive compensator after convergence)",
        None if forecast.compensator.is_adaptive() && forecast.examined.is_some() => {
            " (adaptive compensator with its initial parameters)"
        }
        None => "",
    }
}

/// Of a loop in which nothing grows the motion that is nearest to it.
fn least_damped(forecast: &Forecast) -> String {
    let least = forecast.examined.as_ref().and_then(|examined| examined.least_damped);
    let Some((motion, mode)) = least else { return ": no motion grows".to_owned() };
    let at = format!("motion at {} Hz{}", rounded(motion.frequency_hz()), of_mode(mode));
    if is_neutral(motion) {
        return format!(
            ", but only just: the {at} neither grows nor decays; give the structure some damping"
        );
    }
    let followed = forecast.examined.iter().flat_map(|examined| &examined.motions.modes);
    let truth = followed.map(|found| found.truth).find(|truth| Some(truth.number) == mode);
    let truth = truth.map(|truth| {
        format!(" ({} % in the whole structure)", rounded(100.0 * truth.motion.damping_ratio()))
    });
    let damping = rounded(100.0 * motion.damping_ratio());
    format!(": least damped {at}, damping {damping} %{}", truth.unwrap_or_default())
}

/// What would help an unstable loop: nothing that the table of compensators
/// rejects.
fn remedy(forecast: &Forecast) -> String {
    let Some(examined) = &forecast.examined else { return HELP.to_owned() };
    let error = |trial: &&Trial| trial.worst.map_or(f64::INFINITY, |(_, error)| error.abs());
    let stable = examined.trials.iter().filter(|trial| trial.verdict.is_stable());
    let declared = forecast.compensator.word();
    let best = stable.min_by(|a, b| error(a).total_cmp(&error(b)));
    match (best, &forecast.critical_delay) {
        (Some(best), _) if best.kind == "none" => "stable without its compensator".to_owned(),
        (Some(best), _) if best.kind.starts_with(declared) => format!(
            "its compensator {declared} with parameters that suit this rig would make it stable; \
             {LESS} too"
        ),
        (Some(best), _) => {
            format!("the compensator {} would make it stable; {LESS} too", best.kind)
        }
        (None, Some(critical))
            if critical.delay_s == 0.0 && critical.frequency_hz.is_infinite() =>
        {
            "no delay is short enough and no compensator tried makes it stable: give more of the \
             mass to the numerical substructure"
                .to_owned()
        }
        (None, Some(critical)) if critical.delay_s == 0.0 => {
            "no compensator tried makes it stable: give the structure some damping".to_owned()
        }
        (None, _) if examined.trials.len() > 1 => {
            format!("no compensator tried makes it stable; {LESS}")
        }
        (None, _) => HELP.to_owned(),
    }
}

/// What becomes of a loop with something else in it, in a few words.
pub fn in_short(judged: Option<&Verdict>) -> String {
    match judged {
        None => "–".to_owned(),
        Some(judged) if !judged.is_stable() => "UNSTABLE".to_owned(),
        Some(Verdict { delay_margin: None, .. }) => "any".to_owned(),
        Some(Verdict { delay_margin: Some(margin), .. }) => number(1e3 * margin.delay_s),
    }
}

/// Which mode a motion belongs to.
pub fn of_mode(mode: Option<usize>) -> String {
    mode.map_or(String::new(), |number| format!(" (mode {number})"))
}
