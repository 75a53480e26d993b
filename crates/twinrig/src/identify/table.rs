//! An identification as rows for people and as JSON for machines.

use analysis::identification::Identification;
use numerics::rational_fit::Estimate;
use serde_json::{Value, json};

use super::Identified;
use crate::page::Table;
use crate::words::{bounded, counted, number, rounded};

/// Standard deviations on either side of a bound of 95 %.
pub const BOUND: f64 = 1.96;

/// What was identified, in a line.
pub fn title(result: &Identified) -> String {
    let Identification { orders, band_hz, .. } = &result.found;
    format!(
        "Interface DOF {}: {}, {}, fitted from {} to {} Hz",
        result.dof + 1,
        counted(orders.denominator, "pole"),
        counted(orders.numerator, "zero"),
        rounded(band_hz.0),
        rounded(band_hz.1)
    )
}

/// Coefficients, gain, delays and quality, with bounds where there are some.
pub fn table(result: &Identified) -> Table {
    let found = &result.found;
    let fit = &found.fit;
    let mut table = Table::new(&["Quantity", "Value", "± (95 %)", "Unit"]);
    let mut push = |name: &str, estimate: Estimate, scale: f64, unit: &str| {
        let [value, bound] = bounded(scale * estimate.value, BOUND * scale * estimate.deviation);
        table.rows.push([name, &value, &bound, unit].map(str::to_owned).to_vec());
    };
    let order = fit.denominator.len() - 1;
    let parts = [("b", "numerator", &fit.numerator, 0), ("a", "denominator", &fit.denominator, 1)];
    for (letter, place, coefficients, known) in parts {
        for (power, estimate) in (0..coefficients.len()).rev().zip(coefficients).skip(known) {
            let unit = match order - power {
                0 => String::new(),
                1 => "1/s".to_owned(),
                n => format!("1/s^{n}"),
            };
            push(&format!("{letter}{power} ({place}, s^{power})"), *estimate, 1.0, &unit);
        }
    }
    if fit.delay_s.value > 0.0 {
        push("pure delay", fit.delay_s, 1e3, "ms");
    }
    push("gain at 0 Hz", fit.dc_gain, 1.0, "");
    push("delay at 0 Hz", fit.dc_delay_s, 1e3, "ms");
    push("delay over the band", found.band_delay_s, 1e3, "ms");
    let percent = |share: f64| number(100.0 * share);
    let plain = [
        ("coherence, mean", Some(number(found.mean_coherence)), ""),
        ("coherence, least", Some(number(found.least_coherence)), ""),
        ("misfit over noise", Some(format!("{:.2}", fit.misfit)), ""),
        ("motion left unexplained", found.residual.map(percent), "%"),
        ("motion of other DOFs", result.coupling.map(percent), "%"),
    ];
    for (name, value, unit) in plain {
        table.rows.extend(value.map(|value| [name, &value, "", unit].map(str::to_owned).to_vec()));
    }
    table
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
