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

for_avx2!(
    /// S ← S + Σ sᵢ bᵢ, one term after the other: `rows` are the bᵢ, each as long
    /// as `sums`, and the sᵢ are every `stride`-th of `signals`.
    pub fn add_rows
        = plain_add_rows(sums: &mut [Pack], rows: &[Pack], signals: &[f64], stride: usize)
);
for_avx2!(
    /// Makes every row from the one before it, each with its own factor: turns the
    /// cosines in the first quarter of a row and the sines in the second by the
    /// angles whose cosines and sines are the halves of `angles`; the second half is
    /// the factor times the first.
    pub fn turn_rows = plain_turn_rows(rows: &mut [Pack], angles: &[Pack], factors: &[f64])
);

/// Packs summed at once: as many as registers hold while the rows go by.
const HELD: usize = 4;

#[inline(always)]
fn plain_add_rows(sums: &mut [Pack], rows: &[Pack], signals: &[f64], stride: usize) {
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
                for (sum, b) in held.iter_mut().zip(&row[at..]) {
                    for i in 0..PACK {
                        sum[i] += signal * b[i];
                    }
                }
            }
        }
        at += held.len();
    }
}

#[inline(always)]
fn plain_turn_rows(rows: &mut [Pack], angles: &[Pack], factors: &[f64]) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn rows_are_added_one_after_the_other_and_the_wide_kernel_has_the_bits_of_the_narrow_one() {
        let mut random = Stream::new(4, "packs");
        for (packs, count, stride) in
            [(4, 1, 1), (8, 17, 1), (6, 5, 3), (3, 4, 2), (4, 0, 1), (0, 2, 1)]
        {
            let mut pack = || [0; PACK].map(|_| random.normal());
            let rows: Vec<_> = (0..packs * count).map(|_| pack()).collect();
            let start: Vec<_> = (0..packs).map(|_| pack()).collect();
            let signals: Vec<f64> = (0..count * stride).map(|_| pack()[0]).collect();
            let (mut sums, mut narrow, mut single) = (start.clone(), start.clone(), start);
            add_rows(&mut sums, &rows, &signals, stride);
            plain_add_rows(&mut narrow, &rows, &signals, stride);
            for (k, sum) in single.iter_mut().enumerate() {
                for (i, sum) in sum.iter_mut().enumerate() {
                    *sum = (0..count)
                        .fold(*sum, |sum, n| sum + signals[n * stride] * rows[n * packs + k][i]);
                }
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
        let mut rows = [of(&start), vec![[f64::NAN; PACK]; 4 + 16]].concat();
        let mut narrow = rows.clone();
        turn_rows(&mut rows, &of(&change), &[0.5, 0.25]);
        plain_turn_rows(&mut narrow, &of(&change), &[0.5, 0.25]);
        assert_eq!(rows[8..], narrow[8..]);
        for (turns, factor) in [(1, 0.5), (2, 0.25)] {
            let end: Vec<f64> =
                start.iter().zip(&change).map(|(a, b)| a + f64::from(turns) * b).collect();
            let (plain, scaled) = rows[8 * turns as usize..][..8].split_at(4);
            for ((ours, scaled), expected) in plain.iter().zip(scaled).zip(of(&end)) {
                for i in 0..PACK {
                    assert!((ours[i] - expected[i]).abs() < 1e-15);
                    assert_eq!(scaled[i], factor * ours[i]);
                }
            }
        }
    }
}
