//! Peaks and folds of a response, as far as its points tell them.

use numerics::continuation::Fold;
use serde::Serialize;

use super::TracePoint;

/// A frequency with an amplitude.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mark {
    /// Hz.
    pub frequency_hz: f64,
    /// m.
    pub amplitude_m: f64,
}

/// The largest amplitude of a DOF.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Peak {
    /// Where it is.
    #[serde(flatten)]
    pub mark: Mark,
    /// How it was found.
    pub from: PeakFrom,
}

/// What a peak was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PeakFrom {
    /// The parabola of 1/|x|² through the points around it, which resolve it.
    Parabola,
    /// The largest point, others lower on both sides of it.
    LargestPoint,
    /// The largest point, which is the first or last one.
    End,
}

impl PeakFrom {
    /// What its amplitude is called, of a DOF with this name.
    pub fn label(self, name: &str) -> String {
        match self {
            Self::Parabola => format!("peak of {name}"),
            Self::LargestPoint => format!("largest point of {name} (peak between two points)"),
            Self::End => format!("largest point of {name} (at the trace's end)"),
        }
    }
}

/// A fold with its intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FoldMark {
    /// Where it is, with the first DOF's amplitude.
    #[serde(flatten)]
    pub mark: Mark,
    /// Half-width of the frequency's interval, Hz.
    #[serde(rename = "frequency_interval_hz")]
    pub interval_hz: f64,
    /// Half-width of the amplitude's interval, m.
    #[serde(rename = "amplitude_interval_m")]
    pub interval_m: f64,
    /// Whether residuals and noise of the points may explain it: it may be none.
    pub doubtful: bool,
}

/// A parabola may rise above the largest point by this share of it.
const MOST_RISE: f64 = 0.05;
/// Both neighbours of the largest point are at least this share of the peak.
const LEAST_NEIGHBOUR: f64 = 0.5;

/// The largest amplitude of a DOF. Of a linear structure it is taken from the parabola of
/// 1/|x|² through the points around it, which is exact near a lightly damped
/// resonance, if they resolve it.
///
/// Points at a spacing h around a resonance much narrower than h have amplitudes
/// in inverse proportion to their distances from it: of the three around the
/// largest the lowest is a third of it at most, whatever the peak. The parabola's
/// least value is then a small difference of large ones and says nothing. With
/// both neighbours above half of the peak the half-power width is no less than h.
/// The limit on the rise bounds what is left: nobody is told of more than 5 %
/// beyond what was measured.
pub fn peak(points: &[TracePoint], dof: usize, is_linear: bool) -> Option<Peak> {
    let value = |k: usize| points[k].amplitude_m(dof);
    let top = (0..points.len()).max_by(|&a, &b| value(a).total_cmp(&value(b)))?;
    let mark = Mark { frequency_hz: points[top].frequency_hz, amplitude_m: value(top) };
    if top == 0 || top + 1 >= points.len() {
        return Some(Peak { mark, from: PeakFrom::End });
    }
    let around = [top - 1, top, top + 1].map(|k| (points[k].frequency_hz, value(k)));
    Some(match parabola(around).filter(|_| is_linear) {
        Some(mark) => Peak { mark, from: PeakFrom::Parabola },
        None => Peak { mark, from: PeakFrom::LargestPoint },
    })
}

/// The peak that three points with the largest in the middle resolve.
fn parabola(points: [(f64, f64); 3]) -> Option<Mark> {
    let [(x0, y0), (x1, y1), (x2, y2)] = points.map(|(hz, amplitude)| (hz, amplitude.powi(-2)));
    if (x1 - x0) * (x2 - x1) <= 0.0 {
        // The branch turns back here: no function of the frequency.
        return None;
    }
    let (s1, s2) = ((y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1));
    let bend = (s2 - s1) / (x2 - x0);
    let slope = s1 + bend * (x1 - x0);
    let moved = -slope / (2.0 * bend);
    let least = y1 + slope * moved + bend * moved * moved;
    let inside = (x1 + moved - x0) * (x1 + moved - x2) <= 0.0;
    if !(bend > 0.0 && least > 0.0 && inside) {
        return None;
    }
    let amplitude_m = least.powf(-0.5);
    let resolved = amplitude_m <= (1.0 + MOST_RISE) * points[1].1
        && points[0].1.min(points[2].1) >= LEAST_NEIGHBOUR * amplitude_m;
    resolved.then_some(Mark { frequency_hz: x1 + moved, amplitude_m })
}

/// A fold as the points around it tell it.
pub(super) fn fold(points: &[TracePoint], fold: &Fold) -> FoldMark {
    let (amplitude_m, apart) = fold.of(|k| points[k].amplitude_m(0));
    let shares = fold.best.shares.iter().zip(&points[fold.best.first..]);
    let own = shares.map(|(share, point)| (share * point.interval_m[0]).powi(2));
    FoldMark {
        mark: Mark { frequency_hz: fold.unknowns.last().copied().unwrap_or(f64::NAN), amplitude_m },
        interval_hz: fold.interval,
        interval_m: apart + own.sum::<f64>().sqrt(),
        doubtful: fold.doubtful,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1/|x|² of one resonance at 5.64 Hz, and what its points tell.
    fn told(first_hz: f64, spacing_hz: f64, width_hz: f64) -> Option<Mark> {
        let amplitude = |hz: f64| 1e-3 / (hz - 5.64).hypot(width_hz);
        let hz = [0.0, 1.0, 2.0].map(|k| first_hz + k * spacing_hz);
        parabola(hz.map(|hz| (hz, amplitude(hz))))
    }

    #[test]
    fn a_peak_is_interpolated_where_its_points_resolve_it() {
        let peak = told(5.56, 0.06, 0.08).unwrap();
        assert!((peak.frequency_hz - 5.64).abs() < 1e-9);
        assert!((peak.amplitude_m - 1e-3 / 0.08).abs() < 1e-12);
        // The same resonance, seen from afar.
        assert_eq!(told(4.97, 0.48, 0.08), None);
        // Straight on the peak, but alone there.
        assert_eq!(told(5.16, 0.48, 0.08), None);
    }
}
