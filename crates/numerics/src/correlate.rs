//! Sums of products of two signals at many lags, in one pass over them.

use crate::lanes::{Lane, Lanes};

/// Samples of one block: its part of both signals stays in the first cache
/// while every lag passes over it.
pub const BLOCK: usize = 256;

/// What can be summed at many lags: one signal, or several side by side.
pub trait Lagged: Lane {
    /// Lags that are summed side by side, in registers.
    const WIDTH: usize;

    /// Adds the sums over one block to those of the first lags, at most
    /// [`WIDTH`](Self::WIDTH) of them; `y` is that much longer than `x`.
    fn add_group(x: &[Self], y: &[Self], sums: &mut [Self]);
}

impl Lagged for f64 {
    const WIDTH: usize = 28;

    fn add_group(x: &[f64], y: &[f64], sums: &mut [f64]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been seen to have AVX2.
            return add(sums, unsafe { wide::products::<{ Self::WIDTH }>(x, y) });
        }
        add(sums, products::<_, { Self::WIDTH }>(x, y));
    }
}

impl Lagged for Lanes {
    const WIDTH: usize = 10;

    fn add_group(x: &[Lanes], y: &[Lanes], sums: &mut [Lanes]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been seen to have AVX2.
            return add(sums, unsafe { wide::lane_products::<{ Self::WIDTH }>(x, y) });
        }
        add(sums, products::<_, { Self::WIDTH }>(x, y));
    }
}

/// Adds Σᵢ x\[i\] y\[i + k\] to every out\[k\], over every i of one block for which
/// both exist.
///
/// `x` is the block, at most [`BLOCK`] long; `y` begins with it and goes on as
/// far as the longest lag needs, or to the end of the signals. Every sum runs over
/// i in one fixed order, within a block and then over the blocks, so wide and
/// narrow instructions give the same bits, and every lane those of its own signals.
pub fn add_lagged<T: Lagged>(x: &[T], y: &[T], out: &mut [T]) {
    add_block(x, y, out, T::WIDTH, T::add_group);
}

/// The lags in groups; at the end of the signals, where not every lag of a group
/// finds its sample, one by one.
fn add_block<T: Lane>(
    x: &[T],
    y: &[T],
    out: &mut [T],
    width: usize,
    add_group: impl Fn(&[T], &[T], &mut [T]),
) {
    for (group, sums) in out.chunks_mut(width).enumerate() {
        let late = y.get(group * width..).unwrap_or_default();
        if let Some(late) = late.get(..x.len() + width - 1) {
            add_group(x, late, sums);
            continue;
        }
        for (lag, sum) in sums.iter_mut().enumerate() {
            let pairs = x.iter().zip(late.get(lag..).unwrap_or_default());
            *sum += pairs.fold(T::ZERO, |sum, (x, y)| sum + *x * *y);
        }
    }
}

#[inline(always)]
fn add<T: Lane, const W: usize>(sums: &mut [T], of_block: [T; W]) {
    for (sum, block) in sums.iter_mut().zip(of_block) {
        *sum += block;
    }
}

/// The sums of `W` lags over one block; `y` is that much longer.
fn products<T: Lane, const W: usize>(x: &[T], y: &[T]) -> [T; W] {
    let mut sums = [T::ZERO; W];
    for (x, y) in x.iter().zip(y.windows(W)) {
        for (sum, y) in sums.iter_mut().zip(y) {
            *sum += *x * *y;
        }
    }
    sums
}

/// The same sums in 256-bit vectors. Written out, because the compiler left to
/// itself takes the sums apart and puts them together again at every sample.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m256d, _mm256_add_pd, _mm256_loadu_pd, _mm256_mul_pd, _mm256_set1_pd, _mm256_setzero_pd,
        _mm256_storeu_pd,
    };

    use crate::lanes::{LANES, Lane, Lanes};

    /// Numbers of one register.
    const REGISTER: usize = 4;
    // One lane in each number of a register.
    const _: () = assert!(LANES == REGISTER);

    #[target_feature(enable = "avx2")]
    pub(super) fn products<const W: usize>(x: &[f64], y: &[f64]) -> [f64; W] {
        let mut out = [0.0; W];
        let mut sums = [_mm256_setzero_pd(); 7];
        const { assert!(W == 7 * REGISTER) };
        for (x, y) in x.iter().zip(y.windows(W)) {
            let Some(y) = y.first_chunk::<W>() else { break };
            let x = _mm256_set1_pd(*x);
            for (sum, y) in sums.iter_mut().zip(y.as_chunks().0) {
                *sum = _mm256_add_pd(*sum, _mm256_mul_pd(x, load(y)));
            }
        }
        for (sum, out) in sums.iter().zip(out.as_chunks_mut().0) {
            store(*sum, out);
        }
        out
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn lane_products<const W: usize>(x: &[Lanes], y: &[Lanes]) -> [Lanes; W] {
        let mut sums = [_mm256_setzero_pd(); W];
        for (x, y) in x.iter().zip(y.windows(W)) {
            let Some(y) = y.first_chunk::<W>() else { break };
            let x = load(&x.0);
            for (sum, y) in sums.iter_mut().zip(y) {
                *sum = _mm256_add_pd(*sum, _mm256_mul_pd(x, load(&y.0)));
            }
        }
        let mut out = [Lanes::ZERO; W];
        for (sum, out) in sums.iter().zip(&mut out) {
            store(*sum, &mut out.0);
        }
        out
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(from: &[f64; REGISTER]) -> __m256d {
        // SAFETY: there are four numbers.
        unsafe { _mm256_loadu_pd(from.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(value: __m256d, to: &mut [f64; REGISTER]) {
        // SAFETY: there is room for four numbers.
        unsafe { _mm256_storeu_pd(to.as_mut_ptr(), value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::LANES;
    use crate::random::Stream;

    fn noise(length: usize, name: &str) -> Vec<f64> {
        let mut stream = Stream::new(5, name);
        (0..length).map(|_| stream.normal()).collect()
    }

    /// Whole signals, block by block: by `add`, which takes one block.
    fn blockwise<T: Lane>(
        x: &[T],
        y: &[T],
        lags: usize,
        add: impl Fn(&[T], &[T], &mut [T]),
    ) -> Vec<T> {
        let mut out = vec![T::ZERO; lags];
        for (block, start) in x.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let end = (start + block.len() + lags).min(y.len());
            add(block, y.get(start..end).unwrap_or_default(), &mut out);
        }
        out
    }

    /// By what instructions there are, and by plain ones.
    fn both<T: Lagged, const W: usize>(x: &[T], y: &[T], lags: usize) -> [Vec<T>; 2] {
        assert_eq!(T::WIDTH, W);
        let group = |x: &[T], y: &[T], sums: &mut [T]| add(sums, products::<T, W>(x, y));
        [
            blockwise(x, y, lags, add_lagged),
            blockwise(x, y, lags, |x, y, out| add_block(x, y, out, W, group)),
        ]
    }

    #[test]
    fn every_length_agrees_with_the_definition() {
        for (n, m, lags) in
            [(0, 0, 3), (1, 1, 1), (5, 9, 4), (40, 40, 50), (3000, 3000, 50), (2100, 2500, 17)]
        {
            let (x, y) = (noise(n, "x"), noise(m, "y"));
            for found in both::<f64, 28>(&x, &y, lags) {
                for (lag, found) in found.iter().enumerate() {
                    let pairs = x.iter().zip(y.get(lag..).unwrap_or_default());
                    let exact: f64 = pairs.map(|(x, y)| x * y).sum();
                    let off = (found - exact).abs();
                    assert!(off < 1e-11, "{n} {m} lag {lag}: {found}, not {exact}");
                }
            }
        }
    }

    #[test]
    fn the_wide_sums_have_the_bits_of_the_narrow_ones() {
        let [dispatched, plain] = both::<f64, 28>(&noise(5000, "x"), &noise(5000, "y"), 50);
        assert_eq!(dispatched, plain);
    }

    #[test]
    fn every_lane_has_the_bits_of_its_own_signals() {
        for (length, lags) in [(1, 3), (40, 50), (256, 1), (2000, 50), (1025, 7)] {
            let signals: Vec<[Vec<f64>; 2]> = (0..LANES)
                .map(|lane| ["x", "y"].map(|name| noise(length, &format!("{name}{lane}"))))
                .collect();
            let [x, y] = [0, 1].map(|which| -> Vec<Lanes> {
                (0..length).map(|at| Lanes::each(|lane| signals[lane][which][at])).collect()
            });
            for found in both::<Lanes, 10>(&x, &y, lags) {
                for (lane, [x, y]) in signals.iter().enumerate() {
                    let of_lane: Vec<f64> = found.iter().map(|sum| sum[lane]).collect();
                    let [alone, _] = both::<f64, 28>(x, y, lags);
                    assert_eq!(of_lane, alone, "{length} samples, lane {lane}");
                }
            }
        }
    }
}
