//! An identification as rows for people and as JSON for machines.

use numerics::rational_fit::Estimate;
use serde_json::{Value, json};

use super::Identified;

/// Standard deviations on either side of a bound of 95 %.
pub const BOUND: f64 = 1.96;

/// One quantity, written out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Half the width of its bounds of 95 %; empty where there are none.
    pub bound: String,
    /// Its unit.
    pub unit: String,
}

/// What was identified, in a line.
pub fn title(result: &Identified) -> String {
    let found = &result.found;
    format!(
        "Interface DOF {}: {} over {}, {} to {} Hz",
        result.dof + 1,
        counted(found.orders.numerator, "zero"),
        counted(found.orders.denominator, "pole"),
        short(found.band_hz.0),
        short(found.band_hz.1)
    )
}

/// Coefficients, gain, delays and quality.
pub fn rows(result: &Identified) -> Vec<TableRow> {
    let found = &result.found;
    let fit = &found.fit;
    let mut rows = Vec::new();
    let mut push = |name: String, estimate: Estimate, scale: f64, unit: String| {
        let bounded = estimate.deviation > 0.0;
        let bound = BOUND * scale * estimate.deviation;
        rows.push(TableRow {
            name,
            value: digits(scale * estimate.value, bound),
            bound: if bounded { format!("{bound:.1e}") } else { String::new() },
            unit,
        });
    };
    let order = fit.denominator.len() - 1;
    let unit = |power: usize| match order - power {
        0 => String::new(),
        1 => "1/s".to_owned(),
        n => format!("1/s^{n}"),
    };
    let zeros = fit.numerator.len() - 1;
    for (i, estimate) in fit.numerator.iter().enumerate() {
        push(format!("b{} (s^{} above)", zeros - i, zeros - i), *estimate, 1.0, unit(zeros - i));
    }
    for (i, estimate) in fit.denominator.iter().enumerate().skip(1) {
        push(format!("a{} (s^{} below)", order - i, order - i), *estimate, 1.0, unit(order - i));
    }
    if fit.delay_s.value > 0.0 {
        push("pure delay".to_owned(), fit.delay_s, 1e3, "ms".to_owned());
    }
    push("gain at 0 Hz".to_owned(), fit.dc_gain, 1.0, String::new());
    push("delay at 0 Hz".to_owned(), fit.dc_delay_s, 1e3, "ms".to_owned());
    push("delay over the band".to_owned(), found.band_delay_s, 1e3, "ms".to_owned());
    let mut plain = |name: &str, value: String, unit: &str| {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        rows.push(TableRow { name, value, bound: String::new(), unit });
    };
    plain("coherence, mean", format!("{:.6}", found.mean_coherence), "");
    plain("coherence, least", format!("{:.6}", found.least_coherence), "");
    plain("misfit over noise", format!("{:.2}", fit.misfit), "");
    if let Some(residual) = found.residual {
        plain("motion left unexplained", short(100.0 * residual), "%");
    }
    if let Some(coupling) = result.coupling {
        plain("motion of other DOFs", short(100.0 * coupling), "%");
    }
    rows
}

/// For machines: SI, with standard deviations.
pub fn to_json(result: &Identified) -> Value {
    let found = &result.found;
    let fit = &found.fit;
    let estimate = |e: &Estimate| json!({ "value": e.value, "deviation": e.deviation });
    json!({
        "dof": result.dof + 1,
        "order": { "numerator": found.orders.numerator, "denominator": found.orders.denominator },
        "numerator": fit.numerator.iter().map(estimate).collect::<Vec<_>>(),
        "denominator": fit.denominator.iter().map(estimate).collect::<Vec<_>>(),
        "delay_s": estimate(&fit.delay_s),
        "dc_gain": estimate(&fit.dc_gain),
        "dc_delay_s": estimate(&fit.dc_delay_s),
        "band_delay_s": estimate(&found.band_delay_s),
        "poles": fit.poles.iter().map(|p| json!([p.re, p.im])).collect::<Vec<_>>(),
        "stable": fit.is_stable(),
        "band_hz": [found.band_hz.0, found.band_hz.1],
        "rate_hz": found.rate_hz,
        "segment": found.segment,
        "segments": found.segments,
        "averages": found.averages,
        "mean_coherence": found.mean_coherence,
        "least_coherence": found.least_coherence,
        "h1_h2_difference": found.h1_h2_difference,
        "misfit": fit.misfit,
        "residual": found.residual,
        "coupling": result.coupling,
        "tried": found.tried.iter().map(|(o, c)| json!({
            "numerator": o.numerator, "denominator": o.denominator, "criterion": c,
        })).collect::<Vec<_>>(),
        "cautions": found.cautions.iter().map(|c| c.to_string()).collect::<Vec<_>>(),
    })
}

/// "no zero", "1 pole", "3 poles".
fn counted(count: usize, noun: &str) -> String {
    match count {
        0 => format!("no {noun}"),
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// A number with four significant digits.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e5).contains(&size) {
        let digits = (3 - size.log10().floor() as i32).max(0) as usize;
        format!("{value:.digits$}")
    } else {
        format!("{value:.3e}")
    }
}

/// As many digits as the bound allows, and one more; four at least, nine at most.
fn digits(value: f64, bound: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return value.to_string();
    }
    let size = value.abs().log10().floor();
    let known = if bound > 0.0 { size - bound.log10().floor() + 1.0 } else { 5.0 };
    let known = known.clamp(3.0, 8.0) as usize;
    if (-3.0..5.0).contains(&size) {
        let decimals = (known as f64 - size).max(0.0) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.known$e}")
    }
}
