//! The numbers of a figure on their way into a page.

use serde::{Serialize, Serializer};

/// Columns under their names.
pub(super) fn columns<S: Serializer, const N: usize>(
    to: S,
    columns: [(&str, Vec<f64>); N],
) -> Result<S::Ok, S::Error> {
    to.collect_map(columns.map(|(name, values)| (name, rounded(&values))))
}

/// A column by itself.
pub(super) fn column<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
    rounded(values).serialize(to)
}

/// Numbers rounded to a millionth of their largest: finer than any screen, and
/// a third of the bytes. What is not finite becomes null, which draws as a gap.
pub(super) fn rounded(values: &[f64]) -> Vec<Option<f64>> {
    let finite = values.iter().filter(|value| value.is_finite());
    let largest = finite.fold(0.0f64, |largest, value| largest.max(value.abs()));
    // Bounded, so that neither a huge nor a tiny record asks for hundreds of digits.
    let digits = (6.0 - largest.max(f64::MIN_POSITIVE).log10().floor()).clamp(0.0, 40.0) as usize;
    let round = |value: &f64| match format!("{value:.digits$}").parse::<f64>() {
        // Negative zero would cost a byte and puzzle a reader.
        Ok(rounded) if value.is_finite() => Some(rounded + 0.0),
        _ => None,
    };
    values.iter().map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_stay_numbers() {
        let drawn = rounded(&[1e300, -1e-300, 0.0, f64::MAX, f64::NAN]);
        assert_eq!((drawn[0], drawn[4]), (Some(1e300), None));
        assert_eq!(rounded(&[3e-320]).len(), 1);
        assert_eq!(rounded(&[123.456_789_12, -1e-9]), [Some(123.4568), Some(0.0)]);
    }
}
