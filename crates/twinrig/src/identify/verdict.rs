//! The verdict on an identification.

use analysis::identification::Caution;
use runtime::verdict::{Level, Reason, Verdict};

use super::choice::{Advised, NoChoice, UNEXPLAINED};
use crate::words::number;

/// Share of the measured motion that may be left unexplained without a doubt.
const SMALL: f64 = 0.05;
/// Gains beyond this, or below its reciprocal, are doubtful.
const USUAL_GAIN: f64 = 2.0;

/// All that speaks against what was identified.
pub(super) fn verdict(results: &[Advised]) -> Verdict {
    results.iter().flat_map(|advised| of_dof(advised, results.len() > 1)).collect()
}

fn of_dof(advised: &Advised, named: bool) -> Vec<Reason> {
    let found = &advised.result.found;
    let mut reasons: Vec<Reason> = found.cautions.iter().map(of_caution).collect();
    match &advised.choice {
        // What a caution says already is not said twice.
        Err(NoChoice::Unstable) => {}
        Err(NoChoice::Gain(gain)) if *gain < 0.0 => {}
        Err(why) => reasons.push(sentence(Level::Wrong, id(why), &why.to_string())),
        Ok(choice) if choice.advised().is_none() => {
            let remedy = "less delay, or less of the structure in the laboratory";
            reasons.push(Reason::new(Level::Doubtful, "no_compensator", choice.reason(), remedy));
        }
        Ok(_) => {
            reasons.extend(unexplained(found.residual));
            reasons.extend(unusual(found.fit.dc_gain.value));
        }
    }
    if named {
        let dof = advised.result.dof + 1;
        reasons.iter_mut().for_each(|one| one.text = format!("interface DOF {dof}: {}", one.text));
    }
    reasons
}

fn of_caution(caution: &Caution) -> Reason {
    let (level, id) = match caution {
        Caution::Unstable => (Level::Wrong, "growing_pole"),
        Caution::Reversed(_) => (Level::Wrong, "reversed"),
        Caution::LowCoherence { .. } => (Level::Doubtful, "low_coherence"),
        Caution::PoorFit(_) => (Level::Doubtful, "poor_fit"),
        Caution::UncertainCoefficient(_) => (Level::Doubtful, "uncertain_coefficient"),
    };
    sentence(level, id, &caution.to_string())
}

/// A sentence "what: remedy" or "what; remedy" as a reason.
fn sentence(level: Level, id: &str, text: &str) -> Reason {
    let (what, remedy) =
        text.split_once("; ").or_else(|| text.split_once(": ")).unwrap_or((text, ""));
    Reason::new(level, id, what, remedy)
}

fn id(why: &NoChoice) -> &'static str {
    match why {
        NoChoice::Unstable => "growing_pole",
        NoChoice::Gain(_) => "gain",
        NoChoice::Units(_) => "units",
        NoChoice::Rate(_) => "rate",
        NoChoice::Unexplained(_) => "unexplained",
    }
}

fn unexplained(residual: Option<f64>) -> Option<Reason> {
    Reason::beyond([SMALL, UNEXPLAINED], residual?, "unexplained", |threshold| {
        let [left, allowed] =
            [residual.unwrap_or(f64::NAN), threshold].map(|share| number(100.0 * share));
        let text = format!("{left} % of the measured motion is unexplained; {allowed} % allowed");
        (text, "a larger command against noise, a smaller one against saturation".to_owned())
    })
}

fn unusual(gain: f64) -> Option<Reason> {
    let text = format!("the gain at 0 Hz is {}, and that of an actuator is about 1", number(gain));
    let is_usual = (1.0 / USUAL_GAIN..=USUAL_GAIN).contains(&gain);
    let remedy = "check the calibration of command and sensor";
    (!is_usual).then(|| Reason::new(Level::Doubtful, "gain", text, remedy))
}
