//! Signals measured with different delays, brought to one instant.

use numerics::small::copy;

/// Delay lines that make every signal as late as the latest. A common lateness
/// does no harm: the simulated side then runs that much behind the rig.
#[derive(Debug, Clone)]
pub(super) struct Aligned {
    lines: [Line; 3],
    latency_s: f64,
}

impl Aligned {
    pub(super) fn new(delays_s: [f64; 3], dofs: usize, step_s: f64) -> Self {
        let latency_s = delays_s.iter().fold(0.0, |m: f64, d| m.max(*d));
        let lines = delays_s.map(|delay_s| Line::new((latency_s - delay_s) / step_s, dofs));
        Self { lines, latency_s }
    }

    /// How late everything is, s.
    #[inline]
    pub(super) fn latency_s(&self) -> f64 {
        self.latency_s
    }

    #[inline]
    pub(super) fn take(
        &mut self,
        displacement: &[f64],
        force: &[f64],
        acceleration: Option<&[f64]>,
    ) {
        self.lines[0].push(displacement);
        self.lines[1].push(force);
        if let Some(acceleration) = acceleration {
            self.lines[2].push(acceleration);
        }
    }

    /// [`take`](Self::take) for many ticks, in place.
    pub(super) fn pass(
        &mut self,
        displacement: &mut [f64],
        force: &mut [f64],
        acceleration: &mut [f64],
    ) {
        let [of_displacement, of_force, of_acceleration] = &mut self.lines;
        of_displacement.pass(displacement);
        of_force.pass(force);
        of_acceleration.pass(acceleration);
    }

    #[inline]
    pub(super) fn displacement(&self) -> &[f64] {
        &self.lines[0].out
    }

    #[inline]
    pub(super) fn force(&self) -> &[f64] {
        &self.lines[1].out
    }

    #[inline]
    pub(super) fn acceleration(&self) -> &[f64] {
        &self.lines[2].out
    }
}

/// A delay of any number of samples, straight between them: at ten kilohertz and
/// some tens of hertz that costs (ωh)²/8, less than 1e-4.
#[derive(Debug, Clone)]
struct Line {
    past: Vec<f64>,
    /// Samples kept.
    depth: usize,
    at: usize,
    share: f64,
    out: Vec<f64>,
}

impl Line {
    fn new(samples: f64, dofs: usize) -> Self {
        let whole = samples.max(0.0).floor();
        let depth = whole as usize + 2;
        Self {
            past: vec![0.0; depth * dofs],
            depth,
            at: 0,
            share: samples.max(0.0) - whole,
            out: vec![0.0; dofs],
        }
    }

    #[inline(always)]
    fn push(&mut self, values: &[f64]) {
        if self.is_direct() {
            copy(&mut self.out, values);
        } else {
            self.delay(values);
        }
    }

    #[inline(always)]
    fn is_direct(&self) -> bool {
        self.depth == 2 && self.share == 0.0
    }

    fn pass(&mut self, rows: &mut [f64]) {
        if self.is_direct() || self.out.is_empty() {
            return;
        }
        for row in rows.chunks_exact_mut(self.out.len()) {
            self.delay(row);
            row.copy_from_slice(&self.out);
        }
    }

    fn delay(&mut self, values: &[f64]) {
        let dofs = self.out.len();
        self.past[self.at * dofs..][..dofs].copy_from_slice(values);
        // The ring holds `depth` samples: the oldest is depth − 1 back.
        let next = |at: usize| if at + 1 == self.depth { 0 } else { at + 1 };
        let older = next(self.at);
        let newer = next(older);
        for i in 0..dofs {
            let (a, b) = (self.past[newer * dofs + i], self.past[older * dofs + i]);
            self.out[i] = a + self.share * (b - a);
        }
        self.at = older;
    }
}
