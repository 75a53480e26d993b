//! The compensators as TOML that an experiment can include.

use analysis::compensator_choice::{Candidate, Learning, percent};
use analysis::compensator_design::prediction_delay_s;
use model::compensator::{AdaptiveInverseDesign, Design, delay_series};

use super::choice::Choice;
use super::files::TextFile;

/// The advised one as `compensator.toml`, and each kind as
/// `compensator_KIND.toml`, behind `heading`.
pub(super) fn compensators(choice: &Choice, heading: &str, suffix: &str) -> Vec<TextFile> {
    let file = |name: &str, why: &str, body: String| {
        (format!("{name}{suffix}.toml"), format!("{heading}{why}\n[compensator]\n{body}"))
    };
    let why = format!("# {}.\n", choice.reason().replace("; ", ";\n# "));
    let advised = choice.advised().map_or_else(none, |chosen| body(chosen, choice));
    let mut files = vec![file("compensator", &why, advised)];
    let mut kinds: Vec<&str> = choice.table.candidates.iter().map(|c| c.kind).collect();
    kinds.dedup();
    for kind in kinds.into_iter().filter(|kind| *kind != "none") {
        if let Some(best) = best_of(kind, choice) {
            files.push(file(&format!("compensator_{kind}"), &predicted(best), body(best, choice)));
        }
    }
    files
}

/// The best order of a kind.
fn best_of<'a>(kind: &str, choice: &'a Choice) -> Option<&'a Candidate> {
    let is_stable = |c: &Candidate| c.judgement.as_ref().is_none_or(|loop_| loop_.is_stable());
    choice
        .table
        .candidates
        .iter()
        .filter(|candidate| candidate.kind == kind && candidate.error.is_finite())
        .min_by(|a, b| is_stable(b).cmp(&is_stable(a)).then(a.error.total_cmp(&b.error)))
}

fn predicted(candidate: &Candidate) -> String {
    let judgement = match candidate.judgement.as_ref() {
        Some(judged) if !judged.is_stable() => "; the loop is predicted to be UNSTABLE with it",
        _ => "",
    };
    let learnt = match candidate.learning {
        Learning::Fixed => "",
        Learning::Adaptive => " once it has learnt",
    };
    let error = percent(candidate.error);
    format!("# A tracking error of {error} % is predicted{learnt}{judgement}.\n")
}

fn none() -> String {
    "kind = \"none\"\n".to_owned()
}

fn body(candidate: &Candidate, choice: &Choice) -> String {
    match &candidate.design {
        Design::Inverse(learnt) if candidate.learning == Learning::Adaptive => {
            adaptive(candidate.kind, &learnt.coefficients, choice)
        }
        Design::Inverse(design) => format!(
            "kind         = \"inverse\"\ncoefficients = {:?}   # in s^k\n",
            design.coefficients
        ),
        Design::FirstOrder(design) => format!(
            "kind = \"first_order\"       # phase-matched at {:.4} Hz\ngain = {:?}\nlead = \"{:?} ms\"\n",
            choice.table.at_hz,
            design.gain,
            1e3 * design.lead_s
        ),
        Design::ForwardPrediction(design) => format!(
            "kind  = \"forward_prediction\"\norder = {}\ndelay = \"{:?} ms\"\ngain  = {:?}\n",
            design.order,
            1e3 * design.delay_s,
            design.gain
        ),
        Design::PiLead(design) => format!(
            "kind         = \"pi_lead\"       # the baseline of the virtual benchmark, not tuned\n\
             proportional = {:?}\nintegral     = {:?}\nlead_gain    = {:?}\nlead_pole    = {:?}\n",
            design.proportional, design.integral_1_s, design.lead_gain, design.lead_pole_1_s
        ),
        // Those that adapt are tabulated as the inverse they learn.
        Design::None
        | Design::AdaptiveModelBased(_)
        | Design::AdaptiveInverse(_)
        | Design::AdaptiveTimeSeries(_) => none(),
    }
}

/// Starts from gain and delay. Bounds and filter are written where the defaults
/// do not let it start, learn or run.
fn adaptive(kind: &str, learnt: &[f64], choice: &Choice) -> String {
    let generic = AdaptiveInverseDesign::GENERIC;
    let gain = 1.0 / choice.plant.dc_gain();
    let delay_s = prediction_delay_s(&choice.plant, 0.0).max(0.0);
    let start: [f64; 4] = delay_series(gain, delay_s);
    let mut text = format!(
        "kind        = \"{kind}\"   # starts here and follows the rig\n\
         start_gain  = {gain:?}\nstart_delay = \"{:?} ms\"\n",
        1e3 * delay_s
    );
    let bounds = |default: &[f64; 4], outer: fn(f64, f64) -> f64| -> Vec<f64> {
        let wide = |((start, learnt), default): ((&f64, &f64), &f64)| {
            if outer(outer(*start, *learnt), *default) == *default {
                return *default;
            }
            // Room for half and for twice of both.
            let room = [0.5 * start, 2.0 * start, 0.5 * learnt, 2.0 * learnt];
            room.into_iter().fold(*default, outer)
        };
        start.iter().zip(learnt).zip(default).map(wide).collect()
    };
    for (key, default, outer) in [
        ("lower      ", &generic.lower, f64::min as fn(f64, f64) -> f64),
        ("upper      ", &generic.upper, f64::max),
    ] {
        let wanted = bounds(default, outer);
        if wanted[..] != default[..wanted.len()] {
            text += &format!("{key} = {wanted:?}\n");
        }
    }
    // A filter of the estimator lies well below half the rate.
    let highest_hz = 0.2 / choice.step_s;
    if generic.filter_hz > highest_hz {
        text += &format!("filter      = \"{highest_hz:?} Hz\"\n");
    }
    text
}
