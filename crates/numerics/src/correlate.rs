//! Sums of products of two signals at many lags, in one pass over them.

use std::ops::{Add, AddAssign, Mul};

use crate::lanes::Lanes;

/// Lags that are summed side by side, in registers.
const WIDTH: usize = 28;
/// The same where every register holds one lag of several signals.
const LANES_WIDTH: usize = 10;
/// Samples of one block: its part of both signals stays in the first cache
/// while every lag passes over it.
pub const BLOCK: usize = 256;

/// out\[k\] = Σᵢ x\[i\] y\[i + k\], over every i for which both exist.
///
/// Every sum runs over i in one fixed order, within a block and then over the
/// blocks, so wide and narrow instructions give the same bits.
pub fn lagged_products(x: &[f64], y: &[f64], out: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return wide::lagged_products(x, y, out);
    }
    narrow(x, y, out);
}

/// Adds the products of one block of several signals side by side to `out`.
///
/// `x` is the block, at most [`BLOCK`] long; `y` begins with it and goes on as
/// far as the longest lag needs, or to the end of the signals. Block after
/// block, every lane gets the bits of [`lagged_products`].
pub fn add_lagged_lanes(x: &[Lanes], y: &[Lanes], out: &mut [Lanes]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return wide::add_lagged_lanes(x, y, out);
    }
    add_block(x, y, out, products::<Lanes, LANES_WIDTH>);
}

fn narrow(x: &[f64], y: &[f64], out: &mut [f64]) {
    blockwise(x, y, out, products);
}

/// Block by block, each by `products`.
#[inline(always)]
fn blockwise(
    x: &[f64],
    y: &[f64],
    out: &mut [f64],
    products: impl Fn(&[f64], &[f64]) -> [f64; WIDTH] + Copy,
) {
    out.fill(0.0);
    for (block, start) in x.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
        add_block(block, y.get(start..).unwrap_or_default(), out, products);
    }
}

/// One block: the lags in groups of `W` by `products`; at the end of the
/// signals, where not every lag of a group finds its sample, one by one.
#[inline(always)]
fn add_block<T, const W: usize>(
    x: &[T],
    y: &[T],
    out: &mut [T],
    products: impl Fn(&[T], &[T]) -> [T; W],
) where
    T: Copy + Default + Add<Output = T> + AddAssign + Mul<Output = T>,
{
    for (group, sums) in out.chunks_mut(W).enumerate() {
        let late = y.get(group * W..).unwrap_or_default();
        if let Some(late) = late.get(..x.len() + W - 1) {
            for (sum, block) in sums.iter_mut().zip(products(x, late)) {
                *sum += block;
            }
            continue;
        }
        for (lag, sum) in sums.iter_mut().enumerate() {
            let pairs = x.iter().zip(late.get(lag..).unwrap_or_default());
            *sum += pairs.fold(T::default(), |sum, (x, y)| sum + *x * *y);
        }
    }
}

/// The sums of `W` lags over one block; `y` is that much longer.
#[inline(always)]
fn products<T, const W: usize>(x: &[T], y: &[T]) -> [T; W]
where
    T: Copy + Default + AddAssign + Mul<Output = T>,
{
    let mut sums = [T::default(); W];
    for (x, y) in x.iter().zip(y.windows(W)) {
        for (sum, y) in sums.iter_mut().zip(y) {
            *sum += *x * *y;
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m256d, _mm256_add_pd, _mm256_loadu_pd, _mm256_mul_pd, _mm256_set1_pd, _mm256_setzero_pd,
        _mm256_storeu_pd,
    };

    use super::{LANES_WIDTH, WIDTH};
    use crate::lanes::{LANES, Lanes};

    /// Numbers of one register.
    const REGISTER: usize = 4;
    // One lane in each number of a register.
    const _: () = assert!(LANES == REGISTER);

    /// The same sums in 256-bit vectors.
    pub(super) fn lagged_products(x: &[f64], y: &[f64], out: &mut [f64]) {
        // SAFETY: the caller has seen AVX2.
        super::blockwise(x, y, out, |x, y| unsafe { products(x, y) });
    }

    /// The same sums in 256-bit vectors.
    pub(super) fn add_lagged_lanes(x: &[Lanes], y: &[Lanes], out: &mut [Lanes]) {
        // SAFETY: the caller has seen AVX2.
        super::add_block(x, y, out, |x, y| unsafe { lane_products(x, y) });
    }

    /// Written out, because the compiler left to itself takes the sums apart and
    /// puts them together again at every sample.
    #[target_feature(enable = "avx2")]
    fn products(x: &[f64], y: &[f64]) -> [f64; WIDTH] {
        let mut sums = [_mm256_setzero_pd(); WIDTH / REGISTER];
        for (x, y) in x.iter().zip(y.windows(WIDTH)) {
            let Some(y) = y.first_chunk::<WIDTH>() else { break };
            let x = _mm256_set1_pd(*x);
            for (sum, y) in sums.iter_mut().zip(y.as_chunks().0) {
                *sum = _mm256_add_pd(*sum, _mm256_mul_pd(x, load(y)));
            }
        }
        let mut out = [0.0; WIDTH];
        for (sum, out) in sums.iter().zip(out.as_chunks_mut().0) {
            store(*sum, out);
        }
        out
    }

    /// Written out as well.
    #[target_feature(enable = "avx2")]
    fn lane_products(x: &[Lanes], y: &[Lanes]) -> [Lanes; LANES_WIDTH] {
        let mut sums = [_mm256_setzero_pd(); LANES_WIDTH];
        for (x, y) in x.iter().zip(y.windows(LANES_WIDTH)) {
            let Some(y) = y.first_chunk::<LANES_WIDTH>() else { break };
            let x = load(&x.0);
            for (sum, y) in sums.iter_mut().zip(y) {
                *sum = _mm256_add_pd(*sum, _mm256_mul_pd(x, load(&y.0)));
            }
        }
        let mut out = [Lanes::ZERO; LANES_WIDTH];
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

    #[test]
    fn every_length_agrees_with_the_definition() {
        for (n, m, lags) in
            [(0, 0, 3), (1, 1, 1), (5, 9, 4), (40, 40, 50), (3000, 3000, 50), (2100, 2500, 17)]
        {
            let (x, y) = (noise(n, "x"), noise(m, "y"));
            let mut found = vec![f64::NAN; lags];
            lagged_products(&x, &y, &mut found);
            for (lag, found) in found.iter().enumerate() {
                let pairs = x.iter().zip(y.get(lag..).unwrap_or_default());
                let exact: f64 = pairs.map(|(x, y)| x * y).sum();
                assert!((found - exact).abs() < 1e-11, "{n} {m} lag {lag}: {found}, not {exact}");
            }
        }
    }

    #[test]
    fn the_wide_sums_have_the_bits_of_the_narrow_ones() {
        let (x, y) = (noise(5000, "x"), noise(5000, "y"));
        let (mut dispatched, mut plain) = (vec![0.0; 50], vec![0.0; 50]);
        lagged_products(&x, &y, &mut dispatched);
        narrow(&x, &y, &mut plain);
        assert_eq!(dispatched, plain);
    }

    /// Signals side by side, taken block by block.
    fn in_step(x: &[Lanes], y: &[Lanes], lags: usize) -> [Vec<Lanes>; 2] {
        [add_lagged_lanes, |x: &[Lanes], y: &[Lanes], out: &mut [Lanes]| {
            add_block(x, y, out, products::<Lanes, LANES_WIDTH>);
        }]
        .map(|add| {
            let mut out = vec![Lanes::ZERO; lags];
            for (block, start) in x.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
                let end = (start + block.len() + lags).min(y.len());
                add(block, &y[start..end], &mut out);
            }
            out
        })
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
            for found in in_step(&x, &y, lags) {
                for (lane, [x, y]) in signals.iter().enumerate() {
                    let mut alone = vec![0.0; lags];
                    lagged_products(x, y, &mut alone);
                    let of_lane: Vec<f64> = found.iter().map(|sum| sum[lane]).collect();
                    assert_eq!(of_lane, alone, "{length} samples, lane {lane}");
                }
            }
        }
    }
}
