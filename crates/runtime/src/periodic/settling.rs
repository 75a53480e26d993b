//! When the coefficients have settled, and how well they are known.

use model::periodic::Coefficients;

/// How settling is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settling {
    /// Range of any coefficient over two spells that counts as none, m.
    pub tolerance_m: f64,
    /// Estimates per spell, at least 2.
    pub spell: usize,
    /// Standard deviation of the mean that is asked for, m: more estimates are
    /// taken until it is reached.
    pub scatter_m: f64,
    /// Estimates averaged at most.
    pub most_estimates: usize,
    /// Time after which the point is taken as it is, s.
    pub most_s: f64,
}

/// Estimates of all signals since the last change, newest last.
#[derive(Debug, Clone)]
pub(super) struct History {
    rule: Settling,
    /// How many of the leading values are judged: displacements, not forces.
    judged: usize,
    /// One per estimate, all signals behind each other.
    kept: Vec<Vec<f64>>,
    /// Where the averaged stretch begins, once settled.
    from: Option<usize>,
}

/// Mean over the settled stretch, with the standard deviation of the mean.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Average {
    pub(super) mean: Vec<f64>,
    pub(super) scatter: Vec<f64>,
    pub(super) estimates: usize,
}

impl History {
    pub(super) fn new(rule: Settling, judged: usize) -> Self {
        Self { rule, judged, kept: Vec::new(), from: None }
    }

    pub(super) fn restart(&mut self) {
        self.kept.clear();
        self.from = None;
    }

    /// Takes one estimate; whether the point is done.
    pub(super) fn add(&mut self, estimate: &[Coefficients]) -> bool {
        self.kept.push(estimate.iter().flat_map(|c| c.0.iter().copied()).collect());
        if self.from.is_none() {
            let spells = if self.is_still() { Some(2) } else { self.is_stationary().then_some(4) };
            self.from = spells.map(|spells| self.kept.len() - spells * self.rule.spell);
        }
        let Some(from) = self.from else { return false };
        if self.kept.len() - from >= self.rule.most_estimates {
            return true;
        }
        let worst = self.average().scatter[..self.judged].iter().fold(0.0, |m: f64, s| m.max(*s));
        worst <= self.rule.scatter_m
    }

    fn last(&self, spells: usize) -> Option<&[Vec<f64>]> {
        let start = self.kept.len().checked_sub(spells * self.rule.spell)?;
        Some(&self.kept[start..])
    }

    /// Over two spells nothing moves by more than the tolerance.
    fn is_still(&self) -> bool {
        let Some(stretch) = self.last(2) else { return false };
        (0..self.judged).all(|i| {
            let values = || stretch.iter().map(|e| e[i]);
            let range =
                values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min);
            range <= self.rule.tolerance_m
        })
    }

    /// Over four spells what moves is noise: it does not become less, and it
    /// leads nowhere. A dying transient fails the first, a slow one the second.
    fn is_stationary(&self) -> bool {
        let Some(stretch) = self.last(4) else { return false };
        let half = stretch.len() / 2;
        let (first, second) = stretch.split_at(half);
        let power = |part: &[Vec<f64>]| differences(part, self.judged).iter().map(|s| s * s).sum();
        let (early, late): (f64, f64) = (power(first), power(second));
        if late < 0.4 * early {
            return false;
        }
        let noise = differences(stretch, self.judged);
        (0..self.judged).all(|i| {
            let mean = |part: &[Vec<f64>]| part.iter().map(|e| e[i]).sum::<f64>() / half as f64;
            let change = (mean(second) - mean(first)).abs();
            change <= self.rule.tolerance_m.max(3.5 * noise[i] * (8.0 / 3.0 / half as f64).sqrt())
        })
    }

    /// Over the settled stretch, or over the last four spells if it never settled.
    pub(super) fn average(&self) -> Average {
        let last = self.kept.len().saturating_sub(4 * self.rule.spell);
        let stretch = &self.kept[self.from.unwrap_or(last)..];
        let width = stretch.first().map_or(0, Vec::len);
        let count = stretch.len() as f64;
        let mean: Vec<f64> =
            (0..width).map(|i| stretch.iter().map(|e| e[i]).sum::<f64>() / count).collect();
        // Neighbouring windows overlap by half: a correlation of 1/6, which
        // raises the variance of a mean by a third.
        let factor = (4.0 / 3.0 / count).sqrt();
        let scatter = differences(stretch, width).iter().map(|s| s * factor).collect();
        Average { mean, scatter, estimates: stretch.len() }
    }

    pub(super) fn has_settled(&self) -> bool {
        self.from.is_some()
    }
}

/// Standard deviation of one estimate from the differences of neighbours, which
/// know nothing of a slow trend: E(d²) = 2σ²(1 − ρ) with ρ = 1/6 between
/// windows that overlap by half.
fn differences(stretch: &[Vec<f64>], width: usize) -> Vec<f64> {
    let pairs = stretch.len().saturating_sub(1).max(1) as f64;
    (0..width)
        .map(|i| {
            let squares: f64 = stretch.windows(2).map(|w| (w[1][i] - w[0][i]).powi(2)).sum();
            (squares / pairs / (2.0 * (1.0 - 1.0 / 6.0))).sqrt()
        })
        .collect()
}
