//! Harmonics turned on and summed with signals, inside the loop.
//!
//! Numbers go in packs, so that wide vector instructions fit, where the processor
//! has them. They never fuse multiply and add: the result has the same bits on
//! every x86-64 machine.

/// Numbers handled at once.
pub const PACK: usize = 4;

/// A pack.
pub type Pack = [f64; PACK];

type Add = fn(&mut [Pack], &[Pack], &[f64]);
type Turn = fn(&mut [Pack], &[Pack], f64);

/// The kernels that are best for this processor.
#[derive(Debug, Clone, Copy)]
pub struct Kernels {
    add: Add,
    turn: Turn,
}

impl Kernels {
    /// Looks what there is.
    pub fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self { add: wide::add, turn: wide::turn };
        }
        Self { add, turn }
    }

    /// Sᵢ ← Sᵢ + sᵢ b for every signal sᵢ. The sums lie behind each other, each
    /// as long as `basis`.
    #[inline]
    pub fn add(&self, sums: &mut [Pack], basis: &[Pack], signals: &[f64]) {
        (self.add)(sums, basis, signals);
    }

    /// Turns the cosines in the first quarter of `basis` and the sines in the
    /// second by the angles whose cosines and sines are the halves of `angles`;
    /// the second half becomes `factor` times the first.
    #[inline]
    pub fn turn(&self, basis: &mut [Pack], angles: &[Pack], factor: f64) {
        (self.turn)(basis, angles, factor);
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

#[inline(always)]
fn turn(basis: &mut [Pack], angles: &[Pack], factor: f64) {
    let quarter = basis.len() / 4;
    let (plain, scaled) = basis.split_at_mut(2 * quarter);
    let (cosines, sines) = plain.split_at_mut(quarter);
    let (scaled_cosines, scaled_sines) = scaled.split_at_mut(quarter);
    let (turn_cosines, turn_sines) = angles.split_at(angles.len() / 2);
    let plain = cosines.iter_mut().zip(sines);
    let scaled = scaled_cosines.iter_mut().zip(scaled_sines);
    for (((c, s), (fc, fs)), (tc, ts)) in plain.zip(scaled).zip(turn_cosines.iter().zip(turn_sines))
    {
        let (old_c, old_s) = (*c, *s);
        for i in 0..PACK {
            c[i] = old_c[i] * tc[i] - old_s[i] * ts[i];
            s[i] = old_s[i] * tc[i] + old_c[i] * ts[i];
            fc[i] = factor * c[i];
            fs[i] = factor * s[i];
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::Pack;

    /// The same sums, compiled for 256-bit vectors.
    pub(super) fn add(sums: &mut [Pack], basis: &[Pack], signals: &[f64]) {
        // SAFETY: `Kernels::new` hands this function out only after it has seen AVX2.
        unsafe { add_for_avx2(sums, basis, signals) }
    }

    #[target_feature(enable = "avx2")]
    fn add_for_avx2(sums: &mut [Pack], basis: &[Pack], signals: &[f64]) {
        super::add(sums, basis, signals);
    }

    /// The same turn, compiled for 256-bit vectors.
    pub(super) fn turn(basis: &mut [Pack], angles: &[Pack], factor: f64) {
        // SAFETY: as above.
        unsafe { turn_for_avx2(basis, angles, factor) }
    }

    #[target_feature(enable = "avx2")]
    fn turn_for_avx2(basis: &mut [Pack], angles: &[Pack], factor: f64) {
        super::turn(basis, angles, factor);
    }
}

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
        let (plain, scaled) = basis.split_at(4);
        for ((ours, scaled), expected) in plain.iter().zip(scaled).zip(of(&end)) {
            for i in 0..PACK {
                assert!((ours[i] - expected[i]).abs() < 1e-15);
                assert_eq!(scaled[i], 0.5 * ours[i]);
            }
        }
    }
}
