//! From commands and measurements to an identified transfer system.

mod band;
mod refine;
#[cfg(test)]
mod tests;

use std::f64::consts::TAU;

use numerics::Complex;
use numerics::rational_fit::{
    Choice, Estimate, FitError, OrderError, Orders, PureDelay, RationalFit, ResponseData,
    choose_orders, fit,
};
use numerics::welch::{REACH, Spectra, WelchError};
use thiserror::Error;

/// Fewest samples that are looked at.
pub const FEWEST_SAMPLES: usize = 512;
/// Fewest segments: with fewer the coherence means nothing.
pub const FEWEST_SEGMENTS: usize = 3;
/// Lines further apart than this, Hz, show little of an actuator's response.
const COARSE_HZ: f64 = 2.0;
/// Lines next to zero that a Hann window fills with the removed mean.
const LINES_OF_MEAN: usize = 2;
/// Highest degree tried where the order is automatic.
pub const MOST_AUTOMATIC: usize = 6;

/// What was commanded and measured, at one rate.
#[derive(Debug, Clone, Copy)]
pub struct Samples<'a> {
    /// Command.
    pub command: &'a [f64],
    /// Measured motion, sampled just before each command acts.
    pub measured: &'a [f64],
    /// Samples per second.
    pub rate_hz: f64,
}

/// What a command does between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// It is held, as a digital-to-analogue converter does.
    Zero,
    /// The samples are of continuous signals: nothing is divided out.
    None,
}

impl Hold {
    /// Its response: sin(x)/x e^{−jx} with x = ωh/2.
    pub fn response(self, omega_rad_s: f64, step_s: f64) -> Complex {
        let x = 0.5 * omega_rad_s * step_s;
        match self {
            Self::Zero if x != 0.0 => Complex::from_polar(x.sin() / x, -x),
            _ => Complex::ONE,
        }
    }
}

/// How the degrees of the transfer function are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderChoice {
    /// By Schwarz's criterion, up to [`MOST_AUTOMATIC`].
    Automatic,
    /// As given.
    Given(Orders),
}

/// How an identification is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Samples of a Welch segment; `None` for a power of two near a sixteenth
    /// of the record.
    pub segment: Option<usize>,
    /// Band that is fitted, in hertz; `None` for where the command has power
    /// and the measurement follows it.
    pub band_hz: Option<(f64, f64)>,
    /// What is divided out of the response.
    pub hold: Hold,
    /// Degrees of the function.
    pub order: OrderChoice,
    /// Its pure delay.
    pub delay: PureDelay,
}

/// Why nothing was identified.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum IdentificationError {
    /// The spectra cannot be formed.
    #[error(transparent)]
    Welch(#[from] WelchError),
    /// There are too few samples.
    #[error(
        "{samples} samples are too few: an identification needs at least {needed}; record for \
         longer, or use a shorter segment"
    )]
    TooShort {
        /// Samples there are.
        samples: usize,
        /// Samples needed.
        needed: usize,
    },
    /// The record is so short that its lines lie too far apart.
    #[error(
        "{duration_s} s are too short: the lines of the spectra lie {spacing_hz:.1} Hz apart, and \
         the measured motion follows the command on none of them; record for 30 s or more"
    )]
    TooCoarse {
        /// Length of the record.
        duration_s: f64,
        /// Between two lines.
        spacing_hz: f64,
    },
    /// A signal does not move.
    #[error("the {signal} is constant ({value}): there is nothing to identify")]
    Constant {
        /// `command` or `measured`.
        signal: &'static str,
        /// Its value.
        value: f64,
    },
    /// The band makes no sense.
    #[error(
        "the band {from_hz} … {to_hz} Hz does not lie between 0 and half the rate, {nyquist_hz} Hz"
    )]
    BadBand {
        /// Its beginning.
        from_hz: f64,
        /// Its end.
        to_hz: f64,
        /// Half the rate.
        nyquist_hz: f64,
    },
    /// The measurement follows the command nowhere.
    #[error(
        "the measured motion follows the command nowhere: the largest coherence where the command \
         has power is {coherence:.3}, and {needed} is needed; check the channels, the sign and the \
         noise, or give a band"
    )]
    NoBand {
        /// The largest coherence.
        coherence: f64,
        /// What is needed.
        needed: f64,
    },
    /// The command has no power in the band asked for.
    #[error(
        "only {lines} lines between {from_hz} and {to_hz} Hz have power in the command; use a \
         longer segment or another band"
    )]
    FewLines {
        /// Usable lines.
        lines: usize,
        /// Beginning of the band.
        from_hz: f64,
        /// Its end.
        to_hz: f64,
    },
    /// The fit failed.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// No order fits.
    #[error(transparent)]
    Order(#[from] OrderError),
}

/// The measured response at one frequency, the hold divided out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Frequency.
    pub frequency_hz: f64,
    /// By S_xy/S_xx, unbiased by noise of the sensor.
    pub h1: Complex,
    /// By S_yy/S_yx, unbiased by noise on the command.
    pub h2: Complex,
    /// γ².
    pub coherence: f64,
    /// Standard deviation of H1.
    pub deviation: f64,
}

/// What a user should know before trusting a result.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum Caution {
    /// A pole of the fit grows.
    #[error(
        "the fitted function has a growing pole: do not use it; try another order or a narrower band"
    )]
    Unstable,
    /// The measured motion goes against the command, with this gain at 0 Hz.
    #[error(
        "the gain is {0:.4}: the measured motion goes against the command; check the sign of the \
         sensor before anything moves in a closed loop"
    )]
    Reversed(f64),
    /// The coherence falls low in the band.
    #[error(
        "the coherence falls to {least:.3} at {frequency_hz:.2} Hz: more amplitude, more time or a \
         narrower band would help"
    )]
    LowCoherence {
        /// The least of the band.
        least: f64,
        /// Where.
        frequency_hz: f64,
    },
    /// The misfit, sum of squares over degrees of freedom, is larger than the noise
    /// explains.
    #[error(
        "the misfit is {0:.1} times what the noise explains: the system is of higher order, has a \
         pure delay (--delay fit) or is not linear"
    )]
    PoorFit(f64),
    /// A coefficient is hardly determined: its deviation over its size.
    #[error(
        "a coefficient is known to {:.0} % only: a lower order or a wider band would help",
        100.0 * .0
    )]
    UncertainCoefficient(f64),
}

/// An identified transfer system.
#[derive(Debug, Clone, PartialEq)]
pub struct Identification {
    /// The response over the band and a little beyond, lowest first.
    pub lines: Vec<Line>,
    /// The band fitted.
    pub band_hz: (f64, f64),
    /// Samples of a segment.
    pub segment: usize,
    /// Segments averaged.
    pub segments: usize,
    /// Independent averages.
    pub averages: f64,
    /// Samples per second.
    pub rate_hz: f64,
    /// What was divided out.
    pub hold: Hold,
    /// The fit.
    pub fit: RationalFit,
    /// Its degrees.
    pub orders: Orders,
    /// Degrees tried with Schwarz's criterion, where the order was automatic.
    pub tried: Vec<(Orders, f64)>,
    /// Delay from the phase slope of the data over the band, no model in between.
    pub band_delay_s: Estimate,
    /// Mean coherence over the band.
    pub mean_coherence: f64,
    /// Least coherence over the band.
    pub least_coherence: f64,
    /// Largest relative difference between H1 and H2 in the band.
    pub h1_h2_difference: f64,
    /// Rms of measured minus fitted motion over rms of the measured; `None`
    /// where the samples are of continuous signals.
    pub residual: Option<f64>,
    /// What a user should know.
    pub cautions: Vec<Caution>,
}

/// Identifies the system between command and measurement.
///
/// H1 is averaged by Welch's method, the hold is divided out, and a transfer
/// function is fitted to the lines of the band, each weighted by its coherence.
/// A window still smears the response over neighbouring lines, and the hold's
/// images fold back into the band; so the fitted function's own held response is
/// then taken off the measurement, the response of what is left is added to the
/// function, and the fit is repeated. What is left has nothing to smear.
pub fn identify(
    samples: Samples<'_>,
    settings: &Settings,
) -> Result<Identification, IdentificationError> {
    let segment = check(samples, settings)?;
    let step_s = 1.0 / samples.rate_hz;
    let spectra = Spectra::new(samples.command, samples.measured, segment, samples.rate_hz)?;
    let spacing_hz = samples.rate_hz / segment as f64;
    let band_hz = match (settings.band_hz, band::find(&spectra)) {
        (Some(band_hz), _) => band_hz,
        (None, Err(IdentificationError::NoBand { .. })) if spacing_hz > COARSE_HZ => {
            let duration_s = samples.command.len() as f64 / samples.rate_hz;
            return Err(IdentificationError::TooCoarse { duration_s, spacing_hz });
        }
        (None, found) => found?,
    };
    let chosen = band::lines(&spectra, band_hz)?;
    let mut data = response_data(&spectra, &chosen, settings.hold, step_s, |_| Complex::ZERO);
    let mut judged = judge(&data, settings)?;
    let mut residual = None;
    if settings.hold == Hold::Zero {
        let refined = match settings.order {
            OrderChoice::Automatic => {
                refine::simplest_of(samples, settings, segment, &chosen, judged, data)
            }
            OrderChoice::Given(_) => {
                refine::refine(samples, settings, segment, &chosen, judged, data)
            }
        };
        (judged, data, residual) = refined?;
    }
    let line = |k: usize| line(&spectra, k, settings.hold, step_s);
    let in_band: Vec<Line> = chosen.iter().map(|&k| line(k)).collect();
    let (cautions, least) = cautions(&judged.fit, &in_band);
    // A little beyond the band shows how the fit goes on.
    let shown = |k: &usize| {
        let hertz = spectra.frequency_hz[*k];
        *k >= LINES_OF_MEAN && hertz >= 0.5 * band_hz.0 && hertz <= 1.2 * band_hz.1
    };
    let lines = (0..spectra.frequency_hz.len()).filter(shown).map(line);
    Ok(Identification {
        lines: lines.filter(|line| line.h1.norm_sqr().is_finite()).collect(),
        band_hz,
        segment,
        segments: spectra.segments,
        averages: chosen.iter().map(|&k| spectra.averages(k)).sum::<f64>() / chosen.len() as f64,
        rate_hz: samples.rate_hz,
        hold: settings.hold,
        band_delay_s: data.phase_slope(),
        mean_coherence: in_band.iter().map(|l| l.coherence).sum::<f64>() / in_band.len() as f64,
        least_coherence: least,
        h1_h2_difference: in_band
            .iter()
            .map(|l| (l.h2 - l.h1).norm() / l.h1.norm())
            .fold(0.0, f64::max),
        residual,
        cautions,
        fit: judged.fit,
        orders: judged.orders,
        tried: judged.tried,
    })
}

/// The length of a segment, or what is wrong with samples and settings.
fn check(samples: Samples<'_>, settings: &Settings) -> Result<usize, IdentificationError> {
    let Samples { command, measured, rate_hz } = samples;
    let count = command.len().min(measured.len());
    if count < FEWEST_SAMPLES {
        return Err(IdentificationError::TooShort { samples: count, needed: FEWEST_SAMPLES });
    }
    let segment = settings.segment.unwrap_or_else(|| {
        let wanted = count / 16;
        1 << (usize::BITS - 1 - wanted.leading_zeros())
    });
    let needed = segment.saturating_add((FEWEST_SEGMENTS - 1) * (segment - segment / 2));
    if count < needed {
        return Err(IdentificationError::TooShort { samples: count, needed });
    }
    for (signal, values) in [("command", command), ("measured", measured)] {
        let first = values[0];
        if first.is_finite() && values.iter().all(|value| *value == first) {
            return Err(IdentificationError::Constant { signal, value: first });
        }
    }
    if let Some((from_hz, to_hz)) = settings.band_hz {
        let nyquist_hz = 0.5 * rate_hz;
        if !(from_hz >= 0.0 && to_hz > from_hz && to_hz < nyquist_hz) {
            return Err(IdentificationError::BadBand { from_hz, to_hz, nyquist_hz });
        }
    }
    Ok(segment)
}

/// The response on the chosen lines: `base` plus what the spectra show, the hold
/// divided out, with the deviation averaged over neighbours, for noise is smooth.
fn response_data(
    spectra: &Spectra,
    chosen: &[usize],
    hold: Hold,
    step_s: f64,
    base: impl Fn(f64) -> Complex,
) -> ResponseData {
    const NEIGHBOURS: usize = 4;
    let mut data = ResponseData::default();
    let square = |value: f64| if value.is_finite() { value * value } else { 0.0 };
    let variance: Vec<f64> = chosen.iter().map(|&k| square(spectra.deviation(k))).collect();
    for (i, &k) in chosen.iter().enumerate() {
        let omega = TAU * spectra.frequency_hz[k];
        let held = hold.response(omega, step_s);
        let found = spectra.h1(k) / held;
        // Two signals that are equal leave nothing to divide.
        let found = if found.norm_sqr().is_finite() { found } else { Complex::ZERO };
        let response = base(omega) + found;
        let around =
            &variance[i.saturating_sub(NEIGHBOURS)..(i + NEIGHBOURS + 1).min(variance.len())];
        let mean = around.iter().sum::<f64>() / around.len() as f64;
        // Without any noise the last digits are what is uncertain.
        let least = 1e-11 * response.norm() + f64::MIN_POSITIVE.sqrt();
        data.omega_rad_s.push(omega);
        data.response.push(response);
        data.deviation.push((mean.sqrt() / held.norm()).max(least));
        // Dividing by the hold turns both errors, and with them what they have in common.
        let turn = held / held.norm();
        let next = chosen[i + 1..].iter().take(REACH);
        let shared = next.map(|&l| {
            let later = hold.response(TAU * spectra.frequency_hz[l], step_s);
            spectra.correlation(k, l - k) * turn / (later / later.norm())
        });
        data.correlation.push(shared.collect());
    }
    data
}

/// A fit of the given or the best degrees.
fn judge(data: &ResponseData, settings: &Settings) -> Result<Choice, IdentificationError> {
    match settings.order {
        OrderChoice::Automatic => Ok(choose_orders(data, MOST_AUTOMATIC, settings.delay)?),
        OrderChoice::Given(orders) => Ok(Choice {
            fit: fit(data, orders, settings.delay)?,
            orders,
            criterion: f64::NAN,
            tried: Vec::new(),
        }),
    }
}

fn line(spectra: &Spectra, k: usize, hold: Hold, step_s: f64) -> Line {
    let held = hold.response(TAU * spectra.frequency_hz[k], step_s);
    Line {
        frequency_hz: spectra.frequency_hz[k],
        h1: spectra.h1(k) / held,
        h2: spectra.h2(k) / held,
        coherence: spectra.coherence(k),
        deviation: spectra.deviation(k) / held.norm(),
    }
}

/// What to be told, and the least coherence.
fn cautions(fit: &RationalFit, in_band: &[Line]) -> (Vec<Caution>, f64) {
    let mut cautions = Vec::new();
    if !fit.is_stable() {
        cautions.push(Caution::Unstable);
    }
    if fit.dc_gain.value < 0.0 {
        cautions.push(Caution::Reversed(fit.dc_gain.value));
    }
    let least = in_band.iter().min_by(|a, b| a.coherence.total_cmp(&b.coherence));
    if let Some(line) = least.filter(|line| line.coherence < 0.8) {
        let frequency_hz = line.frequency_hz;
        cautions.push(Caution::LowCoherence { least: line.coherence, frequency_hz });
    }
    if fit.misfit > 4.0 {
        cautions.push(Caution::PoorFit(fit.misfit));
    }
    let relative = fit.worst_relative_deviation();
    if relative > 0.1 {
        cautions.push(Caution::UncertainCoefficient(relative));
    }
    (cautions, least.map_or(f64::NAN, |line| line.coherence))
}
