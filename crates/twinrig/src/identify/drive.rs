//! The command of an identification test, within the limits of the rig.

use model::excitation::{Chirp, Generate, Generated, Level, Multisine, Noise, Sampling};
use runtime::open_loop::Drive;

use crate::assembly::Assembly;
use crate::error::Error;

/// Longest period of a multisine.
const LONGEST_PERIOD_S: f64 = 10.0;
/// Most samples of a test.
const MOST_SAMPLES: f64 = 5e6;
/// Share of a limit that a test uses where no level is given.
const SHARE_OF_LIMIT: f64 = 0.5;
/// Share of the duration over which the command fades in and out, each.
const FADE: f64 = 0.01;

/// What kind of signal drives the rig.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Gaussian noise, white within the band.
    Noise,
    /// A sine that runs through the band once.
    Chirp,
    /// A periodic sum of sines of equal amplitude.
    Multisine,
}

/// How large the command is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// Root mean square, m.
    Rms(f64),
    /// Largest absolute value, m.
    Amplitude(f64),
    /// Half of what `[limits]` allows.
    HalfOfLimits,
}

/// A test as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrivePlan {
    /// Its signal.
    pub kind: Kind,
    /// Where it has power.
    pub band_hz: (f64, f64),
    /// How large it is.
    pub size: Size,
    /// How long it lasts.
    pub duration_s: f64,
    /// Seed of the signal.
    pub seed: u64,
}

/// A command in numbers, SI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Root mean square, m.
    pub rms_m: f64,
    /// Largest absolute value, m.
    pub peak_m: f64,
    /// Fastest change, m/s.
    pub rate_m_s: f64,
    /// Samples.
    pub samples: usize,
}

/// The command for one interface DOF with its derivatives, checked against the
/// limits the gate will apply.
pub fn drive(plan: &DrivePlan, assembly: &Assembly, dof: usize) -> Result<(Drive, Figures), Error> {
    let limits = &assembly.limits;
    let step_s = limits.step_s;
    let mut displacement = unit_signal(plan, 1.0 / step_s)?;
    let unit = figures(&displacement, step_s);
    let bounds = [
        ("reaches", unit.peak_m, limits.command[dof], "m", "[limits] command"),
        (
            "reaches",
            unit.peak_m,
            assembly.converter.saturation,
            "m",
            "[transfer_system] saturation",
        ),
        ("changes by", unit.rate_m_s, limits.rate[dof], "m/s", "[limits] rate"),
    ];
    let largest =
        bounds.iter().map(|(_, value, limit, ..)| limit / value).fold(f64::INFINITY, f64::min);
    let factor = match plan.size {
        Size::Rms(rms) => rms / unit.rms_m,
        Size::Amplitude(peak) => peak / unit.peak_m,
        Size::HalfOfLimits if limits.command[dof].is_infinite() => return Err(Error::NoSize),
        Size::HalfOfLimits => SHARE_OF_LIMIT * largest,
    };
    if !(factor.is_finite() && factor > 0.0) {
        let (Size::Rms(size) | Size::Amplitude(size)) = plan.size else {
            return Err(Error::NoSize);
        };
        return Err(Error::BadSize(size));
    }
    for (what, value, limit, unit_name, key) in bounds {
        if factor * value > limit {
            return Err(Error::BeyondLimit {
                what,
                value: factor * value,
                limit,
                unit: unit_name,
                key,
                dof: dof + 1,
                // Rounded down in its last digit, so that what is said passes.
                rms_mm: (1e7 * largest * unit.rms_m).floor() / 1e4,
            });
        }
    }
    displacement.iter_mut().for_each(|x| *x *= factor);
    let velocity = slope(&displacement, step_s);
    let acceleration = slope(&velocity, step_s);
    let figures = figures(&displacement, step_s);
    Ok((Drive { dof, displacement, velocity, acceleration }, figures))
}

/// The signal without its size, faded in and out: a command must not jump.
fn unit_signal(plan: &DrivePlan, rate_hz: f64) -> Result<Vec<f64>, Error> {
    let duration_s = plan.duration_s;
    let samples = (duration_s * rate_hz).round();
    if !(512.0..=MOST_SAMPLES).contains(&samples) {
        return Err(Error::DriveLength { duration_s, samples, rate_hz });
    }
    let count = samples as usize;
    let (from_hz, to_hz) = plan.band_hz;
    let source = match plan.kind {
        Kind::Noise => Generated::Noise(Noise::steady(1.0, [from_hz, to_hz], plan.seed)),
        Kind::Chirp => Generated::Chirp(Chirp {
            amplitude: 1.0,
            from_hz,
            to_hz,
            duration_s,
            start_s: 0.0,
            ramp_s: 0.0,
        }),
        Kind::Multisine => Generated::Multisine(Multisine {
            level: Level::Rms(1.0),
            band_hz: [from_hz, to_hz],
            lines: None,
            period_s: LONGEST_PERIOD_S.min(duration_s),
            seed: Some(plan.seed),
        }),
    };
    let at = Sampling { rate_hz, count, test_s: duration_s, seed: plan.seed };
    let mut values = source.sample(&at)?;
    let fade = (FADE * samples).max(1.0);
    for (k, value) in values.iter_mut().enumerate() {
        let end = (k as f64).min((count - 1 - k) as f64) / fade;
        if end < 1.0 {
            *value *= 0.5 - 0.5 * (std::f64::consts::PI * end).cos();
        }
    }
    Ok(values)
}

fn figures(values: &[f64], step_s: f64) -> Figures {
    let squares: f64 = values.iter().map(|x| x * x).sum();
    let moves = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    Figures {
        rms_m: (squares / values.len() as f64).sqrt(),
        peak_m: values.iter().fold(0.0, |peak, x| x.abs().max(peak)),
        rate_m_s: moves.fold(0.0, f64::max) / step_s,
        samples: values.len(),
    }
}

/// The derivative by differences of fourth order; the signal is zero outside.
fn slope(values: &[f64], step_s: f64) -> Vec<f64> {
    let at = |k: usize, ahead: isize| {
        k.checked_add_signed(ahead).and_then(|k| values.get(k)).copied().unwrap_or(0.0)
    };
    (0..values.len())
        .map(|k| (8.0 * (at(k, 1) - at(k, -1)) - (at(k, 2) - at(k, -2))) / (12.0 * step_s))
        .collect()
}
