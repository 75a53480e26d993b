//! A motion that the loop keeps up by itself: a limit cycle, a chatter, or growth.
//!
//! The structure as a whole answers the load, and nothing else moves it. What the measured motion
//! holds at a frequency at which the whole structure does not move comes from the loop. A motion
//! kept up by the loop is narrow; sensor noise is wide, and no finding of this kind.

use std::f64::consts::TAU;

use numerics::welch::{SHORTEST_SEGMENT, Spectra};

/// Parts that a record is averaged over, at least.
const PARTS: usize = 8;
/// The measured power of a line must be this many times that of the whole structure.
const EXCESS: f64 = 10.0;
/// Lines to either side that a Hann window spreads a sine over, and one for its wandering.
const SPREAD: usize = 3;
/// Part of its frequency by which it may wander to either side, 1/20.
const WANDERS: usize = 20;
/// Where the whole structure has more than this share of its greatest power, it moves by itself:
/// a motion there is a mode that the loop damps too little, and no motion of the loop's own.
const QUIET: f64 = 0.01;
/// Share of all the excess that the narrow motion must hold.
const NARROW: f64 = 0.5;

/// A motion that the load does not explain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelfExcited {
    /// Its frequency, Hz.
    pub frequency_hz: f64,
    /// Its amplitude, averaged over the test, in the unit of the motion.
    pub amplitude: f64,
    /// Its rms over that of the whole measured motion.
    pub share: f64,
    /// Growth of its amplitude over the second half of the test, 1/s; about zero of a limit cycle.
    pub growth_1_s: f64,
}

/// The strongest self-excited motion in `measured`; `reference` is the same place of the whole
/// structure under the same load. `None` where there is none, or the signals are too short to tell.
pub fn self_excited(measured: &[f64], reference: &[f64], rate_hz: f64) -> Option<SelfExcited> {
    let samples = measured.len().min(reference.len());
    let (measured, reference) = (&measured[..samples], &reference[..samples]);
    let segment = 2 * samples / (PARTS + 1);
    if segment < SHORTEST_SEGMENT {
        return None;
    }
    let spectra = Spectra::new(reference, measured, segment, rate_hz).ok()?;
    let width_hz = rate_hz / segment as f64;
    let lines = spectra.output.iter().zip(&spectra.input);
    let excess: Vec<f64> =
        lines.map(|(own, whole)| if *own > EXCESS * whole { own - whole } else { 0.0 }).collect();
    let total: f64 = excess.iter().sum();
    let strongest = (0..excess.len()).max_by(|&a, &b| excess[a].total_cmp(&excess[b]))?;
    // A limit cycle of a nonlinear specimen wanders with the motion that it rides on.
    let spread = SPREAD.max(strongest / WANDERS);
    let band = strongest.saturating_sub(spread)..(strongest + spread + 1).min(excess.len());
    let held: f64 = excess[band.clone()].iter().sum();
    let loudest = spectra.input.iter().copied().fold(0.0, f64::max);
    if spectra.input[strongest] > QUIET * loudest {
        return None;
    }
    // Drift of a sensor stands in the first lines: no cycle of it was seen often enough.
    if total == 0.0 || held < NARROW * total || strongest <= SPREAD {
        return None;
    }
    let weighted: f64 = band.clone().map(|line| excess[line] * spectra.frequency_hz[line]).sum();
    let frequency_hz = weighted / held;
    let variance = held * width_hz;
    let mean = measured.iter().sum::<f64>() / samples as f64;
    let all = measured.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / samples as f64;
    let (second_half, share) = (&measured[samples / 2..], (variance / all).sqrt());
    // Motions whose squares are beyond all numbers are not judged.
    share.is_finite().then(|| SelfExcited {
        frequency_hz,
        amplitude: (2.0 * variance).sqrt(),
        share,
        growth_1_s: growth(second_half, frequency_hz, rate_hz),
    })
}

/// Growth of the motion at a frequency: the slope of the logarithm of its amplitude in windows.
fn growth(signal: &[f64], frequency_hz: f64, rate_hz: f64) -> f64 {
    let window = signal.len() / PARTS;
    let amplitude = |part: &[f64]| {
        let (mut cosine, mut sine) = (0.0, 0.0);
        for (n, value) in part.iter().enumerate() {
            let hann = 0.5 - 0.5 * (TAU * n as f64 / part.len() as f64).cos();
            let (s, c) = (TAU * frequency_hz * n as f64 / rate_hz).sin_cos();
            cosine += hann * value * c;
            sine += hann * value * s;
        }
        cosine.hypot(sine)
    };
    let logs: Vec<f64> = signal.chunks_exact(window).map(|part| amplitude(part).ln()).collect();
    let middle = (logs.len() - 1) as f64 / 2.0;
    let (mut slope, mut weight) = (0.0, 0.0);
    for (at, log) in logs.iter().enumerate() {
        slope += (at as f64 - middle) * log;
        weight += (at as f64 - middle).powi(2);
    }
    slope / weight * rate_hz / window as f64
}

#[cfg(test)]
mod tests {
    use numerics::random::Stream;

    use super::*;

    const RATE_HZ: f64 = 1024.0;

    /// The answer of a structure of 3.6 Hz to a load that swells and fades.
    fn whole() -> Vec<f64> {
        let at = |n: usize| {
            let t = n as f64 / RATE_HZ;
            (0.3 * t).sin().powi(2) * (TAU * 3.6 * t + (0.7 * t).sin()).sin()
        };
        (0..20 * 1024).map(at).collect()
    }

    fn with(add: impl Fn(f64) -> f64) -> Vec<f64> {
        let reference = whole();
        reference.iter().enumerate().map(|(n, x)| x + add(n as f64 / RATE_HZ)).collect()
    }

    #[test]
    fn a_limit_cycle_is_found_with_its_frequency_and_amplitude() {
        let measured = with(|t| 0.06 * (TAU * 46.5 * t).sin());
        let found = self_excited(&measured, &whole(), RATE_HZ).unwrap();
        assert!((found.frequency_hz - 46.5).abs() < 0.05, "{found:?}");
        assert!((found.amplitude - 0.06).abs() < 0.001, "{found:?}");
        assert!(found.growth_1_s.abs() < 1e-3, "{found:?}");
        let rms = |x: &[f64]| (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64).sqrt();
        let share = 0.06 / 2f64.sqrt() / rms(&measured);
        assert!((found.share - share).abs() < 0.01 * share, "{found:?} {share}");
    }

    #[test]
    fn growth_is_that_of_the_motion() {
        let measured = with(|t| 1e-4 * (0.4 * t).exp() * (TAU * 21.0 * t).sin());
        let found = self_excited(&measured, &whole(), RATE_HZ).unwrap();
        assert!((found.growth_1_s - 0.4).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn a_structure_that_answers_the_load_is_not_self_excited() {
        assert_eq!(self_excited(&whole(), &whole(), RATE_HZ), None);
        // Half as large again, and late: wrong, but the load explains it.
        let late: Vec<f64> =
            [0.0; 7].into_iter().chain(whole()).map(|x| 1.5 * x).take(20 * 1024).collect();
        assert_eq!(self_excited(&late, &whole(), RATE_HZ), None);
        // Four times as large at the structure's own frequency: a mode without damping.
        let loud: Vec<f64> = whole().iter().map(|x| 4.0 * x).collect();
        assert_eq!(self_excited(&loud, &whole(), RATE_HZ), None);
    }

    #[test]
    fn noise_is_no_motion_of_its_own() {
        let mut noise = Stream::new(7, "sensor");
        let measured: Vec<f64> = whole().iter().map(|x| x + 0.05 * noise.normal()).collect();
        assert_eq!(self_excited(&measured, &whole(), RATE_HZ), None);
    }

    #[test]
    fn what_is_too_short_or_no_number_is_not_judged() {
        assert_eq!(self_excited(&[0.0; 40], &[0.0; 40], RATE_HZ), None);
        assert_eq!(self_excited(&[f64::NAN; 4096], &[1.0; 4096], RATE_HZ), None);
    }
}
