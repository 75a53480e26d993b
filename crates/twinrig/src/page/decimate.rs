//! Fewer points for a picture, without hiding a peak.

/// Indices to draw of a time history, at most about `points`, in order.
///
/// The samples are cut into equal buckets and each gives its smallest and its
/// largest value at their own times, so every extreme of the signal survives.
/// A bucket without any finite value gives one sample, which draws as a gap;
/// the first and the last sample always stay.
pub fn min_max(values: &[f64], points: usize) -> Vec<usize> {
    if values.len() <= points.max(4) {
        return (0..values.len()).collect();
    }
    let buckets = (points.max(4) - 2) / 2;
    let mut kept = Vec::with_capacity(points + 2);
    kept.push(0);
    for bucket in 0..buckets {
        // In 128 bits the product cannot overflow, whatever the length.
        let edge = |b: usize| (b as u128 * values.len() as u128 / buckets as u128) as usize;
        let range = edge(bucket)..edge(bucket + 1);
        let start = range.start;
        match extremes(range.map(|i| (i, values[i]))) {
            Some((low, high)) => kept.extend([low.min(high), low.max(high)]),
            None => kept.push(start),
        }
    }
    kept.push(values.len() - 1);
    kept.dedup();
    kept
}

/// Indices to draw of a curve y(x), at most about `points`, in order.
///
/// A loop has no buckets in which an extreme of x also is one of y, so samples
/// are taken evenly by index, and the extremes of both coordinates are added.
pub fn evenly(x: &[f64], y: &[f64], points: usize) -> Vec<usize> {
    let length = x.len().min(y.len());
    let stride = length.div_ceil(points.max(1)).max(1);
    let mut kept: Vec<usize> = (0..length).step_by(stride).collect();
    if stride > 1 {
        for coordinate in [x, y] {
            let extremes = extremes(coordinate[..length].iter().copied().enumerate());
            kept.extend(extremes.into_iter().flat_map(|(low, high)| [low, high]));
        }
        kept.push(length - 1);
        kept.sort_unstable();
        kept.dedup();
    }
    kept
}

/// Indices of the smallest and the largest finite value.
fn extremes(values: impl Iterator<Item = (usize, f64)>) -> Option<(usize, usize)> {
    let mut found: Option<((usize, f64), (usize, f64))> = None;
    for sample in values.filter(|(_, value)| value.is_finite()) {
        let (low, high) = found.get_or_insert((sample, sample));
        if sample.1 < low.1 {
            *low = sample;
        }
        if sample.1 > high.1 {
            *high = sample;
        }
    }
    found.map(|(low, high)| (low.0, high.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_single_spike_in_a_long_record_survives() {
        let mut values = vec![0.0; 160_000];
        values[123_457] = 9.0;
        values[80_001] = -7.0;
        let kept = min_max(&values, 3000);
        assert!(kept.contains(&123_457) && kept.contains(&80_001));
        assert!(kept.len() <= 3000, "{}", kept.len());
        assert_eq!((kept[0], *kept.last().unwrap()), (0, 159_999));
    }

    #[test]
    fn a_long_gap_stays_a_gap() {
        let mut values = vec![1.0; 10_000];
        values[4000..5000].fill(f64::NAN);
        let kept = min_max(&values, 500);
        assert!(kept.iter().any(|&i| values[i].is_nan()));
    }

    #[test]
    fn a_short_record_is_kept_whole() {
        for length in 0..6 {
            let kept = min_max(&vec![1.0; length], 8);
            assert_eq!(kept, (0..length).collect::<Vec<_>>());
        }
        assert_eq!(min_max(&[f64::NAN; 3], 100), [0, 1, 2]);
        assert_eq!(evenly(&[], &[], 10), Vec::<usize>::new());
    }

    #[test]
    fn a_loop_keeps_the_extremes_of_both_coordinates() {
        let mut x: Vec<f64> = (0..50_000).map(|i| (i as f64 * 1e-3).sin()).collect();
        let mut y: Vec<f64> = (0..50_000).map(|i| (i as f64 * 1e-3).cos()).collect();
        x[4321] = 3.0;
        y[43_219] = -4.0;
        let kept = evenly(&x, &y, 1000);
        assert!(kept.contains(&4321) && kept.contains(&43_219));
        assert!(kept.len() <= 1006 && kept.is_sorted());
    }

    proptest! {
        #[test]
        fn extremes_survive_in_order_and_within_bounds(
            values in proptest::collection::vec(proptest::num::f64::ANY, 0..400),
            points in 0usize..100,
        ) {
            let kept = min_max(&values, points);
            prop_assert!(kept.iter().all(|&i| i < values.len()) && kept.is_sorted());
            prop_assert!(kept.len() <= points.max(4).min(values.len()));
            let finite = |v: &f64| v.is_finite();
            let range = |it: &mut dyn Iterator<Item = f64>| {
                it.filter(finite).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
            };
            prop_assert_eq!(
                range(&mut kept.iter().map(|&i| values[i])),
                range(&mut values.iter().copied())
            );
        }
    }
}
