//! Where a trace goes back: to a resonance that a step went over, and to a fold between
//! points that stand far apart.

use model::periodic::Orbit;
use nalgebra::Complex;
use numerics::continuation;

use super::bias::fundamental;
use super::{PeriodicExperiment, Trace, TracePoint};

/// Points put in at a fold.
pub(super) const MOST_HALVINGS: usize = 6;
/// A fold is known well if the spacing of its points leaves less of the frequency's scale open.
const SHARP: f64 = 3e-3;
/// Points among which the last fold is looked for.
const AROUND_FOLD: usize = 8;
/// Responses below this many tolerances have no phase to speak of.
const LEAST_RESPONSE: f64 = 10.0;

impl<X: PeriodicExperiment> Trace<X> {
    /// Whether the step to the run's last point, which is not kept yet, went over a
    /// resonance.
    pub(super) fn has_jumped(&self) -> bool {
        let matching = &self.problem.inner;
        let (Some(trial), Some(last)) = (matching.trials.last(), self.points.last()) else {
            return false;
        };
        let before = self.points.len().checked_sub(2).map(|k| &self.points[k]);
        let least_m = LEAST_RESPONSE * matching.settings.corrector.tolerance;
        let frequency_hz = trial.unknowns.last().copied().unwrap_or(f64::NAN);
        is_over_resonance(
            before.map(|point| (point.frequency_hz, &point.orbit)),
            (last.frequency_hz, &last.orbit),
            (frequency_hz, &trial.orbit),
            least_m,
        )
    }

    /// The longer chord beside the last fold, by its first point, where the spacing says
    /// too little of where the fold is.
    pub(super) fn coarse_chord(&self) -> Option<usize> {
        if self.halvings == 0 {
            return None;
        }
        let space = self.problem.inner.settings.space();
        let first = self.points.len().saturating_sub(AROUND_FOLD);
        let points: Vec<_> = self.points[first..].iter().map(|p| p.point.clone()).collect();
        let fold = continuation::folds(&space, &points).pop()?;
        let length = |k: usize| space.distance(&points[k].unknowns, &points[k + 1].unknowns);
        let longer = if length(fold.near) > length(fold.near - 1) { 0 } else { 1 };
        let least = SHARP * space.scale.last().copied().unwrap_or(f64::NAN);
        // More points say nothing more where their own doubt is larger.
        let coarse = fold.spacing > least.max(fold.interval - fold.spacing);
        coarse.then_some(first + fold.near - longer)
    }
}

/// The points to which the step went over a resonance, for all that is known: the peak
/// between them was not seen.
pub fn jumped(points: &[TracePoint], tolerance_m: f64) -> Vec<usize> {
    let of = |k: usize| (points[k].frequency_hz, &points[k].orbit);
    let least_m = LEAST_RESPONSE * tolerance_m;
    let jumped = |&k: &usize| is_over_resonance(Some(of(k - 2)), of(k - 1), of(k), least_m);
    (2..points.len()).filter(jumped).collect()
}

/// Whether a resonance lies between `b` and `c`, and not only a place where the response
/// vanishes: behind both the phase has turned by more than a quarter. Towards a resonance
/// 1/x goes straight through zero, towards the other x does; which of them, the point
/// `a` before tells. Without one it may be either.
fn is_over_resonance(
    a: Option<(f64, &Orbit)>,
    b: (f64, &Orbit),
    c: (f64, &Orbit),
    least_m: f64,
) -> bool {
    (0..c.1.measured.len()).any(|dof| {
        let x = |orbit: &Orbit| fundamental(&orbit.measured[dof]);
        let (xb, xc) = (x(b.1), x(c.1));
        if (xb.conj() * xc).re >= 0.0 || xb.norm().min(xc.norm()) < least_m {
            return false;
        }
        let Some(a) = a else { return true };
        let share = (c.0 - b.0) / (b.0 - a.0);
        let ahead = |a: Complex<f64>, b: Complex<f64>| b + (b - a) * share;
        let (xa, one) = (x(a.1), Complex::from(1.0));
        let straight = (ahead(xa, xb) - xc).norm() / xc.norm();
        let inverse = (ahead(one / xa, one / xb) * xc - one).norm();
        share > 0.0 && inverse < straight
    })
}
