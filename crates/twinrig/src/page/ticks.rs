//! Where an axis has its numbers.

use super::figure::Scale;
use super::text::pretty;

/// Round values within an axis and their words: about so many, on a logarithmic axis the
/// decades, with 2 and 5 where there are few.
pub(super) fn ticks(scale: Scale, (low, high): (f64, f64), about: f64) -> Vec<(f64, String)> {
    if scale == Scale::Log {
        let decades = (high / low).log10();
        let parts: &[f64] = if decades < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = low.log10().floor() as i32..=high.log10().floor() as i32;
        let all = powers.flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)));
        let within = all.filter(|value| (0.9999 * low..=1.0001 * high).contains(value));
        return within.map(|value| (value, tick(value, value.log10().floor() as i32))).collect();
    }
    let rough = (high - low) / about.max(2.0);
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough);
    let step = step.unwrap_or(10.0 * power);
    let digits = (step.log10() + 1e-9).floor() as i32;
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).take(40).map(|i| i as f64 * step).map(|v| (v, tick(v, digits))).collect()
}

/// A tick whose last digit counts 10^power.
fn tick(value: f64, power: i32) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        return pretty(&format!("{value:.1e}"));
    }
    let text = format!("{value:.*}", (-power).clamp(0, 12) as usize);
    let zero = text.chars().all(|c| "-0.".contains(c));
    if zero { "0".to_owned() } else { pretty(&text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let words = |scale, range, about| -> Vec<String> {
            ticks(scale, range, about).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(
            words(Scale::Linear, (0.0, 3.0), 6.0),
            ["0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"]
        );
        assert_eq!(
            words(Scale::Linear, (-0.031, 0.012), 6.0),
            ["−0.03", "−0.02", "−0.01", "0", "0.01"]
        );
        assert_eq!(words(Scale::Log, (4.0, 60.0), 6.0), ["5", "10", "20", "50"]);
        assert_eq!(words(Scale::Log, (0.05, 2e3), 6.0), ["0.1", "1", "10", "100", "1000"]);
        assert!(words(Scale::Linear, (1.0, 1.0), 6.0).is_empty());
        assert!(words(Scale::Linear, (f64::NAN, 1.0), 6.0).is_empty());
    }
}
