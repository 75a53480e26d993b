//! Sums of products of two signals at many lags, in one pass over them.

use rustfft::FftPlanner;

use crate::Complex;
use crate::lanes::{LANES, Lane, Lanes};
use crate::simd::for_avx2;

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

/// Lags summed at a time: as many as registers hold, of four numbers each.
const SINGLE_LAGS: usize = 7 * LANES;
const LANE_LAGS: usize = 10;

impl Lagged for f64 {
    const WIDTH: usize = SINGLE_LAGS;

    fn add_group(x: &[f64], y: &[f64], sums: &mut [f64]) {
        add_single(x, y, sums);
    }
}

impl Lagged for Lanes {
    const WIDTH: usize = LANE_LAGS;

    fn add_group(x: &[Lanes], y: &[Lanes], sums: &mut [Lanes]) {
        add_lanes(x, y, sums);
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

/// Σᵢ x\[i\] y\[i + k\] for k up to `longest`, by Fourier transforms: for lags too many to go
/// through one by one.
pub fn correlated(x: &[f64], y: &[f64], longest: usize) -> Vec<f64> {
    // As long as both, so that nothing comes round.
    let size = (x.len().max(y.len()) + longest + 1).next_power_of_two();
    let sample = |signal: &[f64], at: usize| signal.get(at).copied().unwrap_or(0.0);
    let mut both: Vec<Complex> =
        (0..size).map(|at| Complex::new(sample(x, at), sample(y, at))).collect();
    let mut planner = FftPlanner::new();
    planner.plan_fft_forward(size).process(&mut both);
    let product = |at: usize| {
        let (here, there) = (both[at], both[(size - at) % size].conj());
        let (x, y) = ((here + there) * 0.5, (here - there) * Complex::new(0.0, -0.5));
        x.conj() * y
    };
    let mut products: Vec<Complex> = (0..size).map(product).collect();
    planner.plan_fft_inverse(size).process(&mut products);
    products.iter().take(longest + 1).map(|sum| sum.re / size as f64).collect()
}

for_avx2!(fn add_single = plain_single(x: &[f64], y: &[f64], sums: &mut [f64]));
for_avx2!(fn add_lanes = plain_lanes(x: &[Lanes], y: &[Lanes], sums: &mut [Lanes]));

/// One signal: four lags side by side in a register. Written with lanes, because the
/// compiler left to itself takes the sums apart and puts them together again at every
/// sample.
#[inline(always)]
fn plain_single(x: &[f64], y: &[f64], sums: &mut [f64]) {
    let mut of_block = [Lanes::ZERO; SINGLE_LAGS / LANES];
    for (x, y) in x.iter().zip(y.windows(SINGLE_LAGS)) {
        let Some(y) = y.first_chunk::<SINGLE_LAGS>() else { break };
        let x = Lanes::all(*x);
        for (sum, y) in of_block.iter_mut().zip(y.as_chunks().0) {
            *sum += x * Lanes(*y);
        }
    }
    for (sum, block) in sums.iter_mut().zip(of_block.iter().flat_map(|lanes| lanes.0)) {
        *sum += block;
    }
}

/// One signal in each lane.
#[inline(always)]
fn plain_lanes(x: &[Lanes], y: &[Lanes], sums: &mut [Lanes]) {
    let mut of_block = [Lanes::ZERO; LANE_LAGS];
    for (x, y) in x.iter().zip(y.windows(LANE_LAGS)) {
        let Some(y) = y.first_chunk::<LANE_LAGS>() else { break };
        for (sum, y) in of_block.iter_mut().zip(y) {
            *sum += *x * *y;
        }
    }
    for (sum, block) in sums.iter_mut().zip(of_block) {
        *sum += block;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn both<T: Lagged>(
        x: &[T],
        y: &[T],
        lags: usize,
        plain: fn(&[T], &[T], &mut [T]),
    ) -> [Vec<T>; 2] {
        [
            blockwise(x, y, lags, add_lagged),
            blockwise(x, y, lags, |x, y, out| add_block(x, y, out, T::WIDTH, plain)),
        ]
    }

    #[test]
    fn transforms_agree_with_the_definition() {
        for (n, m, longest) in [(0, 0, 2), (1, 3, 1), (100, 100, 99), (37, 80, 60)] {
            let (x, y) = (noise(n, "x"), noise(m, "y"));
            for (lag, sum) in correlated(&x, &y, longest).into_iter().enumerate() {
                let exact: f64 = x.iter().zip(y.iter().skip(lag)).map(|(x, y)| x * y).sum();
                assert!((sum - exact).abs() < 1e-12, "{n}, {m}, lag {lag}: {sum} for {exact}");
            }
        }
    }

    #[test]
    fn every_length_agrees_with_the_definition() {
        for (n, m, lags) in
            [(0, 0, 3), (1, 1, 1), (5, 9, 4), (40, 40, 50), (3000, 3000, 50), (2100, 2500, 17)]
        {
            let (x, y) = (noise(n, "x"), noise(m, "y"));
            for found in both(&x, &y, lags, plain_single) {
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
        let [dispatched, plain] = both(&noise(5000, "x"), &noise(5000, "y"), 50, plain_single);
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
            for found in both(&x, &y, lags, plain_lanes) {
                for (lane, [x, y]) in signals.iter().enumerate() {
                    let of_lane: Vec<f64> = found.iter().map(|sum| sum[lane]).collect();
                    let [alone, _] = both(x, y, lags, plain_single);
                    assert_eq!(of_lane, alone, "{length} samples, lane {lane}");
                }
            }
        }
    }
}
