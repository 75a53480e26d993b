//! Signals measured with different delays, brought to one instant.

/// Delay lines that make every signal as late as the latest. A common lateness
/// does no harm: the simulated side then runs that much behind the rig.
pub(super) struct Aligned {
    lines: [Line; 3],
    /// How late everything is, s.
    pub(super) latency_s: f64,
}

impl Aligned {
    pub(super) fn new(delays_s: [f64; 3], dofs: usize, step_s: f64) -> Self {
        let latency_s = delays_s.iter().fold(0.0, |m: f64, d| m.max(*d));
        let lines = delays_s.map(|delay_s| Line::new((latency_s - delay_s) / step_s, dofs));
        Self { lines, latency_s }
    }

    /// Passes the ticks of displacement, force and acceleration through, in place.
    pub(super) fn pass(&mut self, signals: [&mut [f64]; 3]) {
        for (line, rows) in self.lines.iter_mut().zip(signals) {
            line.pass(rows);
        }
    }
}

/// A delay of any number of samples, straight between them: at ten kilohertz and
/// some tens of hertz that costs (ωh)²/8, less than 1e-4.
struct Line {
    dofs: usize,
    /// A ring of samples.
    past: Vec<f64>,
    depth: usize,
    at: usize,
    share: f64,
}

impl Line {
    fn new(samples: f64, dofs: usize) -> Self {
        let whole = samples.max(0.0).floor();
        let depth = whole as usize + 2;
        let share = samples.max(0.0) - whole;
        Self { dofs, past: vec![0.0; depth * dofs], depth, at: 0, share }
    }

    #[inline(always)]
    fn pass(&mut self, rows: &mut [f64]) {
        let direct = self.depth == 2 && self.share == 0.0;
        if !direct && self.dofs > 0 {
            for row in rows.chunks_exact_mut(self.dofs) {
                self.delay(row);
            }
        }
    }

    fn delay(&mut self, row: &mut [f64]) {
        let dofs = self.dofs;
        self.past[self.at * dofs..][..dofs].copy_from_slice(row);
        // The ring holds `depth` samples: the oldest is depth − 1 back.
        let next = |at: usize| if at + 1 == self.depth { 0 } else { at + 1 };
        let older = next(self.at);
        let newer = next(older);
        for (i, out) in row.iter_mut().enumerate() {
            let (a, b) = (self.past[newer * dofs + i], self.past[older * dofs + i]);
            *out = a + self.share * (b - a);
        }
        self.at = older;
    }
}
