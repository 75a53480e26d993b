//! J1 of tests that run in step.

use numerics::correlate::{BLOCK, add_lagged_lanes};
use numerics::lanes::{LANES, Lanes};

use super::in_step::LaneSums;
use super::measure::{Centre, Lag, best, coefficients, searched};

/// The lag of every lane as [`tracking_delay`](super::tracking_delay) finds it,
/// from the centres of desired and measured motion; `None` for a lane that it
/// must look at.
pub(super) fn best_lags(
    desired: &[Lanes],
    measured: &[Lanes],
    centres: &[Option<[Centre; 2]>; LANES],
    longest: usize,
) -> [Option<Option<Lag>>; LANES] {
    let Some(longest) = searched(longest, desired.len()) else { return [None; LANES] };
    let [x, y] = [0, 1].map(|which| {
        Normal::new(std::array::from_fn(|lane| centres[lane].as_ref().map(|both| &both[which])))
    });
    let mut products = vec![Lanes::ZERO; longest + 1];
    let sums = Pair { desired, measured, x: &x, y: &y }.correlate(&mut products);
    std::array::from_fn(|lane| {
        let sums = sums.map(|sums| sums.lane(lane));
        // A sum is finite only if every sample was.
        let whole = sums.iter().all(|sums| sums.sum.is_finite());
        if centres[lane].is_none() || !(x.known[lane] && y.known[lane] && whole) {
            return None;
        }
        let products: Vec<f64> = products.iter().map(|sum| sum[lane]).collect();
        let ends = |lag: usize| {
            let (last, first) = (desired[desired.len() - 1 - lag], measured[lag]);
            (x.applied(last)[lane], y.applied(first)[lane])
        };
        Some(best(&coefficients(&sums, &products, ends)))
    })
}

/// What takes a signal of every lane to zero mean and unit deviation.
struct Normal {
    mean: Lanes,
    factor: Lanes,
    known: [bool; LANES],
}

impl Normal {
    fn new(centres: [Option<&Centre>; LANES]) -> Self {
        let factor = |lane: usize| centres[lane].map_or(0.0, |centre| centre.deviation.recip());
        Self {
            mean: Lanes::each(|lane| centres[lane].map_or(0.0, |centre| centre.mean)),
            factor: Lanes::each(factor),
            // Else the single way divides instead.
            known: std::array::from_fn(|lane| factor(lane).is_normal()),
        }
    }

    #[inline(always)]
    fn applied(&self, value: Lanes) -> Lanes {
        (value - self.mean) * self.factor
    }
}

/// Both motions and their normal forms.
struct Pair<'a> {
    desired: &'a [Lanes],
    measured: &'a [Lanes],
    x: &'a Normal,
    y: &'a Normal,
}

impl Pair<'_> {
    /// Adds the products at every lag to `out`, and gives the sums of both signals.
    fn correlate(&self, out: &mut [Lanes]) -> [LaneSums; 2] {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been seen to have AVX2.
            return unsafe { self.correlate_wide(out) };
        }
        self.correlate_any(out)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn correlate_wide(&self, out: &mut [Lanes]) -> [LaneSums; 2] {
        self.correlate_any(out)
    }

    /// Block by block, so that nothing but the block is kept in its normal form.
    #[inline(always)]
    fn correlate_any(&self, out: &mut [Lanes]) -> [LaneSums; 2] {
        let Self { desired, measured, x, y } = self;
        let mut sums = [LaneSums::default(); 2];
        let mut block = [Lanes::ZERO; BLOCK];
        // The measured motion of the block and of the longest lag behind it.
        let mut late: Vec<Lanes> = Vec::with_capacity(BLOCK + out.len());
        for (start, desired) in (0..).step_by(BLOCK).zip(desired.chunks(BLOCK)) {
            let block = &mut block[..desired.len()];
            for (to, from) in block.iter_mut().zip(desired) {
                *to = x.applied(*from);
            }
            let known = start + late.len();
            let end = (start + BLOCK + out.len() - 1).min(measured.len());
            late.extend(measured[known..end].iter().map(|value| y.applied(*value)));
            add_lagged_lanes(block, &late, out);
            sums[0].add(block.iter().copied());
            sums[1].add(late[..block.len()].iter().copied());
            late.drain(..block.len());
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numerics::random::Stream;

    #[test]
    fn wide_and_narrow_instructions_give_the_same_bits() {
        let mut noise = Stream::new(3, "lanes");
        let [x, y] = [0, 1].map(|_| -> Vec<Lanes> {
            (0..1000).map(|_| Lanes::each(|_| noise.normal())).collect()
        });
        let [to_x, to_y] = [0.1, -0.2].map(|mean| Normal {
            mean: Lanes::all(mean),
            factor: Lanes([1.0, 0.9, 1.1, 3.0]),
            known: [true; LANES],
        });
        let [mut wide, mut narrow] = [vec![Lanes::ZERO; 50], vec![Lanes::ZERO; 50]];
        let pair = Pair { desired: &x, measured: &y, x: &to_x, y: &to_y };
        let sums = [pair.correlate(&mut wide), pair.correlate_any(&mut narrow)];
        assert_eq!(wide, narrow);
        assert_eq!(sums[0], sums[1]);
    }
}
