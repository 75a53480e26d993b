//! Where a response can be trusted.

use numerics::welch::Spectra;

use super::{IdentificationError, LINES_OF_MEAN};

/// Power of the command, relative to its strongest line, below which a line
/// says more of leakage than of the system.
const LEAST_POWER: f64 = 1e-3;
/// The same where the band is given: the user knows where the power is.
const LEAST_POWER_GIVEN: f64 = 1e-6;
/// Coherence of a line that opens or closes the band.
const LEAST_COHERENCE: f64 = 0.9;
/// Fewest lines worth fitting.
const FEWEST_LINES: usize = 8;

/// The band from the first to the last line with power and coherence.
pub(super) fn find(spectra: &Spectra) -> Result<(f64, f64), IdentificationError> {
    let lines = LINES_OF_MEAN..spectra.frequency_hz.len().saturating_sub(1);
    let strongest = spectra.input[lines.clone()].iter().copied().fold(0.0, f64::max);
    let powered = lines.filter(|&k| spectra.input[k] > LEAST_POWER * strongest);
    let follows = |k: &usize| spectra.coherence(*k) >= LEAST_COHERENCE;
    let mut coherent = powered.clone().filter(follows);
    match (coherent.next(), coherent.next_back()) {
        (Some(first), Some(last)) => Ok((spectra.frequency_hz[first], spectra.frequency_hz[last])),
        _ => {
            let coherence = powered.map(|k| spectra.coherence(k)).fold(0.0, f64::max);
            Err(IdentificationError::NoBand { coherence, needed: LEAST_COHERENCE })
        }
    }
}

/// The lines of a band that have power in the command.
pub(super) fn lines(
    spectra: &Spectra,
    (from_hz, to_hz): (f64, f64),
) -> Result<Vec<usize>, IdentificationError> {
    let last = spectra.frequency_hz.len().saturating_sub(1);
    let strongest = spectra.input.iter().copied().fold(0.0, f64::max);
    let chosen: Vec<usize> = (LINES_OF_MEAN..last)
        .filter(|&k| (from_hz..=to_hz).contains(&spectra.frequency_hz[k]))
        .filter(|&k| spectra.input[k] > LEAST_POWER_GIVEN * strongest)
        .filter(|&k| spectra.h1(k).norm_sqr() > 0.0 && spectra.h1(k).norm_sqr().is_finite())
        .collect();
    if chosen.len() < FEWEST_LINES {
        return Err(IdentificationError::FewLines { lines: chosen.len(), from_hz, to_hz });
    }
    Ok(chosen)
}
