//! When the coefficients have settled, and how well they are known.

use std::ops::Range;

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
    /// The same when a point that is kept is refined.
    pub refined_estimates: usize,
    /// Time after which the point is taken as it is, s.
    pub most_s: f64,
}

/// Estimates of all signals since the last change, newest last. All memory is
/// laid out ahead: estimates are added inside the tick.
pub(super) struct History {
    rule: Settling,
    /// How many of the leading values are judged: displacements, not forces.
    judged: usize,
    /// Values of one estimate.
    width: usize,
    /// Row by row, the oldest first.
    kept: Vec<f64>,
    /// Rows in use.
    count: usize,
    /// Where the averaged stretch begins, once settled.
    from: Option<usize>,
    /// Estimates averaged at most, now.
    most: usize,
}

impl History {
    /// Of estimates with so many values of each of four signals, the force last.
    pub(super) fn new(rule: Settling, of_signal: usize) -> Self {
        let (judged, width) = (3 * of_signal, 4 * of_signal);
        let rows = rule.most_estimates.max(rule.refined_estimates).max(4 * rule.spell);
        Self {
            rule,
            judged,
            width,
            kept: vec![0.0; rows * width],
            count: 0,
            from: None,
            most: rule.most_estimates,
        }
    }

    pub(super) fn restart(&mut self) {
        self.count = 0;
        self.from = None;
        self.most = self.rule.most_estimates;
    }

    /// Goes on with what there is, for more estimates; whether that can help.
    pub(super) fn refine(&mut self) -> bool {
        self.most = self.rule.refined_estimates;
        let Some(from) = self.from else { return false };
        self.count - from < self.most && self.worst(from) > self.rule.scatter_m
    }

    /// Greatest standard deviation of a judged mean.
    fn worst(&self, from: usize) -> f64 {
        let rows = from..self.count;
        (0..self.judged).map(|i| self.scatter(&rows, i)).fold(0.0, f64::max)
    }

    /// Takes one estimate; whether the point is done.
    pub(super) fn add(&mut self, estimate: &[Coefficients]) -> bool {
        self.push(estimate);
        if self.from.is_none() {
            let spells = if self.is_still() { Some(2) } else { self.is_stationary().then_some(4) };
            self.from = spells.map(|spells| self.count - spells * self.rule.spell);
        }
        let Some(from) = self.from else { return false };
        self.count - from >= self.most || self.worst(from) <= self.rule.scatter_m
    }

    fn push(&mut self, estimate: &[Coefficients]) {
        if (self.count + 1) * self.width > self.kept.len() {
            // Nothing before the last four spells is looked at again; a settled
            // stretch ends before it fills the memory.
            self.kept.copy_within(self.width.., 0);
            self.count -= 1;
            self.from = self.from.map(|from| from.saturating_sub(1));
        }
        let row = &mut self.kept[self.count * self.width..][..self.width];
        for (kept, value) in row.iter_mut().zip(estimate.iter().flat_map(|c| &c.0)) {
            *kept = *value;
        }
        self.count += 1;
    }

    fn value(&self, row: usize, i: usize) -> f64 {
        self.kept[row * self.width + i]
    }

    /// The rows of the last spells, if there are as many.
    fn last(&self, spells: usize) -> Option<Range<usize>> {
        Some(self.count.checked_sub(spells * self.rule.spell)?..self.count)
    }

    /// Over two spells nothing moves by more than the tolerance.
    fn is_still(&self) -> bool {
        let Some(rows) = self.last(2) else { return false };
        (0..self.judged).all(|i| {
            let values = || rows.clone().map(|row| self.value(row, i));
            let range =
                values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min);
            range <= self.rule.tolerance_m
        })
    }

    /// Over four spells what moves is noise: it does not become less, and it
    /// leads nowhere. A dying transient fails the first, a slow one the second.
    fn is_stationary(&self) -> bool {
        let Some(rows) = self.last(4) else { return false };
        let half = rows.len() / 2;
        let (first, second) = (rows.start..rows.start + half, rows.start + half..rows.end);
        let power = |part: &Range<usize>| -> f64 {
            (0..self.judged).map(|i| self.deviation(part, i).powi(2)).sum()
        };
        if power(&second) < 0.4 * power(&first) {
            return false;
        }
        (0..self.judged).all(|i| {
            let change = (self.mean(&second, i) - self.mean(&first, i)).abs();
            let chance = 3.5 * self.deviation(&rows, i) * (8.0 / 3.0 / half as f64).sqrt();
            change <= self.rule.tolerance_m.max(chance)
        })
    }

    /// The estimates that are averaged: the settled stretch, or the last four spells
    /// if it never settled.
    pub(super) fn averaged(&self) -> Range<usize> {
        let last = self.count.saturating_sub(4 * self.rule.spell);
        self.from.unwrap_or(last)..self.count
    }

    pub(super) fn has_settled(&self) -> bool {
        self.from.is_some()
    }

    /// The mean of a value over these estimates; NaN where there is none.
    pub(super) fn mean(&self, rows: &Range<usize>, i: usize) -> f64 {
        rows.clone().map(|row| self.value(row, i)).sum::<f64>() / rows.len() as f64
    }

    /// Standard deviation of that mean. Neighbouring windows overlap by half: a
    /// correlation of 1/6, which raises the variance of a mean by a third.
    pub(super) fn scatter(&self, rows: &Range<usize>, i: usize) -> f64 {
        (4.0 / 3.0 / rows.len() as f64).sqrt() * self.deviation(rows, i)
    }

    /// Standard deviation of one estimate from the differences of neighbours, which
    /// know nothing of a slow trend: E(d²) = 2σ²(1 − ρ) with ρ = 1/6 between
    /// windows that overlap by half.
    fn deviation(&self, rows: &Range<usize>, i: usize) -> f64 {
        let pairs = rows.len().saturating_sub(1).max(1) as f64;
        let change = |row| self.value(row, i) - self.value(row - 1, i);
        let squares: f64 = (rows.start + 1..rows.end).map(|row| change(row).powi(2)).sum();
        (squares / pairs / (2.0 * (1.0 - 1.0 / 6.0))).sqrt()
    }
}
