//! Harmonics turned on and summed with signals, inside the loop.
//!
//! Numbers go in packs, so that wide vector instructions fit, where the processor
//! has them. They never fuse multiply and add: the result has the same bits on
//! every x86-64 machine.

use crate::simd::for_avx2;

/// Numbers handled at once.
pub const PACK: usize = 4;

/// A pack.
pub type Pack = [f64; PACK];

type Add = fn(&mut [Pack], &[Pack], &[f64]);
type AddRows = fn(&mut [Pack], &[Pack], &[f64], usize);
type Turn = fn(&mut [Pack], &[Pack], f64);
type TurnRows = fn(&mut [Pack], &[Pack], &[f64]);

/// The kernels that are best for this processor.
#[derive(Debug, Clone, Copy)]
pub struct Kernels {
    add: Add,
    add_rows: AddRows,
    turn: Turn,
    turn_rows: TurnRows,
}

impl Kernels {
    /// Looks what there is.
    pub fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self {
                add: wide_add,
                add_rows: wide_add_rows,
                turn: wide_turn,
                turn_rows: wide_turn_rows,
            };
        }
        Self { add, add_rows, turn, turn_rows }
    }

    /// Sᵢ ← Sᵢ + sᵢ b for every signal sᵢ. The sums lie behind each other, each
    /// as long as `basis`.
    #[inline]
    pub fn add(&self, sums: &mut [Pack], basis: &[Pack], signals: &[f64]) {
        (self.add)(sums, basis, signals);
    }

    /// S ← S + Σ sᵢ bᵢ, one term after the other: `rows` are the bᵢ, each as long
    /// as `sums`, and the sᵢ are every `stride`-th of `signals`. The bits are
    /// those of [`add`](Self::add), row by row.
    #[inline]
    pub fn add_rows(&self, sums: &mut [Pack], rows: &[Pack], signals: &[f64], stride: usize) {
        (self.add_rows)(sums, rows, signals, stride);
    }

    /// Turns the cosines in the first quarter of `basis` and the sines in the
    /// second by the angles whose cosines and sines are the halves of `angles`;
    /// the second half becomes `factor` times the first.
    #[inline]
    pub fn turn(&self, basis: &mut [Pack], angles: &[Pack], factor: f64) {
        (self.turn)(basis, angles, factor);
    }

    /// Makes every row from the one before it, as [`turn`](Self::turn) would, each
    /// with its own factor. A row is twice as long as `angles`.
    #[inline]
    pub fn turn_rows(&self, rows: &mut [Pack], angles: &[Pack], factors: &[f64]) {
        (self.turn_rows)(rows, angles, factors);
    }
}

impl Default for Kernels {
    fn default() -> Self {
        Self::new()
    }
}

#[inline(always)]
fn add(sums: &mut [Pack], basis: &[Pack], signals: &[f64]) {
    let mut rest = sums;
    for &signal in signals {
        let Some((own, others)) = rest.split_at_mut_checked(basis.len()) else { return };
        for (sum, b) in own.iter_mut().zip(basis) {
            for i in 0..PACK {
                sum[i] += signal * b[i];
            }
        }
        rest = others;
    }
}

/// Packs summed at once: as many as registers hold while the rows go by.
const HELD: usize = 4;

#[inline(always)]
fn add_rows(sums: &mut [Pack], rows: &[Pack], signals: &[f64], stride: usize) {
    let width = sums.len();
    if width == 0 || stride == 0 {
        return;
    }
    let mut at = 0;
    for held in sums.chunks_mut(HELD) {
        if let Ok(held) = <&mut [Pack; HELD]>::try_from(&mut *held) {
            let mut own = *held;
            for (row, &signal) in rows.chunks_exact(width).zip(signals.iter().step_by(stride)) {
                let Some(b) = row[at..].first_chunk::<HELD>() else { return };
                for (sum, b) in own.iter_mut().zip(b) {
                    for i in 0..PACK {
                        sum[i] += signal * b[i];
                    }
                }
            }
            *held = own;
        } else {
            for (row, &signal) in rows.chunks_exact(width).zip(signals.iter().step_by(stride)) {
                add(held, &row[at..at + held.len()], &[signal]);
            }
        }
        at += held.len();
    }
}

#[inline(always)]
fn turn(basis: &mut [Pack], angles: &[Pack], factor: f64) {
    let quarter = basis.len() / 4;
    for j in 0..quarter {
        let (cosines, sines) = turned(basis[j], basis[quarter + j], angles[j], angles[quarter + j]);
        basis[j] = cosines;
        basis[quarter + j] = sines;
        basis[2 * quarter + j] = cosines.map(|value| factor * value);
        basis[3 * quarter + j] = sines.map(|value| factor * value);
    }
}

#[inline(always)]
fn turn_rows(rows: &mut [Pack], angles: &[Pack], factors: &[f64]) {
    let (width, quarter) = (2 * angles.len(), angles.len() / 2);
    let Some((first, rest)) = rows.split_at_mut_checked(width) else { return };
    for j in 0..quarter {
        let (mut cosines, mut sines) = (first[j], first[quarter + j]);
        let (turn_cosines, turn_sines) = (angles[j], angles[quarter + j]);
        for (row, factor) in rest.chunks_exact_mut(width).zip(factors) {
            (cosines, sines) = turned(cosines, sines, turn_cosines, turn_sines);
            row[j] = cosines;
            row[quarter + j] = sines;
            row[2 * quarter + j] = cosines.map(|value| factor * value);
            row[3 * quarter + j] = sines.map(|value| factor * value);
        }
    }
}

/// Cosines and sines of the sums of two angles.
#[inline(always)]
fn turned(c: Pack, s: Pack, turn_c: Pack, turn_s: Pack) -> (Pack, Pack) {
    let (mut cosines, mut sines) = ([0.0; PACK], [0.0; PACK]);
    for i in 0..PACK {
        cosines[i] = c[i] * turn_c[i] - s[i] * turn_s[i];
        sines[i] = s[i] * turn_c[i] + c[i] * turn_s[i];
    }
    (cosines, sines)
}

for_avx2!(wide_add, add(sums: &mut [Pack], basis: &[Pack], signals: &[f64]));
for_avx2!(
    wide_add_rows,
    add_rows(sums: &mut [Pack], rows: &[Pack], signals: &[f64], stride: usize)
);
for_avx2!(wide_turn, turn(basis: &mut [Pack], angles: &[Pack], factor: f64));
for_avx2!(wide_turn_rows, turn_rows(rows: &mut [Pack], angles: &[Pack], factors: &[f64]));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn every_signal_gets_its_own_sum_and_the_wide_kernel_the_bits_of_the_narrow_one() {
        let mut random = Stream::new(3, "packs");
        for (packs, signals) in [(1, 1), (3, 2), (6, 3), (7, 12), (0, 2), (2, 0)] {
            let mut pack = || [0; PACK].map(|_| random.normal());
            let basis: Vec<_> = (0..packs).map(|_| pack()).collect();
            let start: Vec<_> = (0..packs * signals).map(|_| pack()).collect();
            let signals: Vec<f64> = (0..signals).map(|_| pack()[0]).collect();
            let (mut sums, mut narrow) = (start.clone(), start.clone());
            Kernels::new().add(&mut sums, &basis, &signals);
            add(&mut narrow, &basis, &signals);
            assert_eq!(sums, narrow);
            for (k, sum) in sums.iter().enumerate() {
                for i in 0..PACK {
                    let expected = start[k][i] + signals[k / packs] * basis[k % packs][i];
                    assert_eq!(sum[i], expected);
                }
            }
        }
    }

    #[test]
    fn rows_are_added_as_one_after_the_other_would_be() {
        let mut random = Stream::new(4, "packs");
        for (packs, count, stride) in [(4, 1, 1), (8, 17, 1), (6, 5, 3), (3, 4, 2), (4, 0, 1)] {
            let mut pack = || [0; PACK].map(|_| random.normal());
            let rows: Vec<_> = (0..packs * count).map(|_| pack()).collect();
            let start: Vec<_> = (0..packs).map(|_| pack()).collect();
            let signals: Vec<f64> = (0..count * stride).map(|_| pack()[0]).collect();
            let (mut sums, mut narrow, mut single) = (start.clone(), start.clone(), start);
            Kernels::new().add_rows(&mut sums, &rows, &signals, stride);
            add_rows(&mut narrow, &rows, &signals, stride);
            for i in 0..count {
                add(&mut single, &rows[i * packs..][..packs], &[signals[i * stride]]);
            }
            assert_eq!(sums, single);
            assert_eq!(narrow, single);
        }
    }

    #[test]
    fn angles_add_up() {
        let of = |angles: &[f64]| -> Vec<Pack> {
            let cosines = angles.iter().map(|a| a.cos());
            let all: Vec<f64> = cosines.chain(angles.iter().map(|a| a.sin())).collect();
            all.as_chunks().0.to_vec()
        };
        let start: Vec<f64> = (0..8).map(|k| 0.3 * f64::from(k)).collect();
        let change: Vec<f64> = (0..8).map(|k| 0.1 * f64::from(k) - 0.2).collect();
        let end: Vec<f64> = start.iter().zip(&change).map(|(a, b)| a + b).collect();
        let mut basis = of(&start);
        basis.resize(8, [f64::NAN; PACK]);
        let mut narrow = basis.clone();
        Kernels::new().turn(&mut basis, &of(&change), 0.5);
        turn(&mut narrow, &of(&change), 0.5);
        assert_eq!(basis, narrow);
        let mut rows = [of(&start), vec![[f64::NAN; PACK]; 4 + 16]].concat();
        let mut narrow = rows.clone();
        Kernels::new().turn_rows(&mut rows, &of(&change), &[0.5, 0.25]);
        turn_rows(&mut narrow, &of(&change), &[0.5, 0.25]);
        assert_eq!(rows[8..16], basis[..]);
        Kernels::new().turn(&mut basis, &of(&change), 0.25);
        assert_eq!(rows[16..], basis[..]);
        assert_eq!(rows[8..], narrow[8..]);
        let (plain, scaled) = rows[8..16].split_at(4);
        for ((ours, scaled), expected) in plain.iter().zip(scaled).zip(of(&end)) {
            for i in 0..PACK {
                assert!((ours[i] - expected[i]).abs() < 1e-15);
                assert_eq!(scaled[i], 0.5 * ours[i]);
            }
        }
    }
}
