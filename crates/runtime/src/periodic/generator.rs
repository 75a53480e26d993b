//! The periodic target, phase-continuous through every change.

use std::f64::consts::PI;

use model::motion::Motion;
use model::periodic::Coefficients;

/// Where the period stands: cos and sin of half the phase, and of every
/// harmonic of it.
#[derive(Debug, Clone)]
pub(super) struct Phase {
    cycles: f64,
    /// cos(πφ), φ in cycles: the shape of the Fourier windows.
    pub(super) half_cosine: f64,
    /// cos 2πkφ, sin 2πkφ for k = 1, 2, …
    pub(super) harmonics: Vec<(f64, f64)>,
}

impl Phase {
    fn new(harmonics: usize) -> Self {
        let mut phase =
            Self { cycles: 0.0, half_cosine: 1.0, harmonics: vec![(1.0, 0.0); harmonics] };
        phase.refresh();
        phase
    }

    fn refresh(&mut self) {
        let (sin, cos) = (PI * self.cycles).sin_cos();
        self.half_cosine = cos;
        // One sine and cosine a tick: the rest follows by the sums of angles.
        let one = (cos * cos - sin * sin, 2.0 * sin * cos);
        let mut now = (1.0, 0.0);
        for harmonic in &mut self.harmonics {
            now = (now.0 * one.0 - now.1 * one.1, now.1 * one.0 + now.0 * one.1);
            *harmonic = now;
        }
    }
}

/// Target of every interface DOF with its derivatives.
#[derive(Debug, Clone)]
pub(super) struct Generator {
    phase: Phase,
    step_s: f64,
    frequency_hz: f64,
    from: Vec<Coefficients>,
    to: Vec<Coefficients>,
    now: Vec<Coefficients>,
    /// Share of the way from the old to the new coefficients.
    share: f64,
    /// How fast the target may change, m/s.
    ramp_m_s: f64,
    /// Change of the share per second; half a period is the shortest way.
    share_1_s: f64,
}

impl Generator {
    pub(super) fn new(
        dofs: usize,
        harmonics: usize,
        seen: usize,
        step_s: f64,
        ramp_m_s: f64,
    ) -> Self {
        let zeros = vec![Coefficients::zeros(harmonics); dofs];
        Self {
            phase: Phase::new(seen.max(harmonics)),
            step_s,
            frequency_hz: 0.0,
            from: zeros.clone(),
            to: zeros.clone(),
            now: zeros,
            share: 1.0,
            ramp_m_s,
            share_1_s: 0.0,
        }
    }

    /// A new frequency at once, new harmonics over half a period or, where they
    /// change much, at the ramp: the phase never jumps. The mean stays: it follows
    /// the rig.
    pub(super) fn set(&mut self, frequency_hz: f64, target: &[Coefficients]) {
        self.frequency_hz = frequency_hz;
        for ((from, now), (to, new)) in
            self.from.iter_mut().zip(&self.now).zip(self.to.iter_mut().zip(target))
        {
            from.0.copy_from_slice(&now.0);
            to.0[0] = now.0[0];
            to.0[1..].copy_from_slice(&new.0[1..]);
        }
        self.begin();
    }

    /// To no motion, at the frequency that is.
    pub(super) fn wind_down(&mut self) {
        for ((from, now), to) in self.from.iter_mut().zip(&self.now).zip(&mut self.to) {
            from.0.copy_from_slice(&now.0);
            to.0[0] = now.0[0];
            to.0[1..].fill(0.0);
        }
        self.begin();
    }

    fn begin(&mut self) {
        let change = |(a, b): (&Coefficients, &Coefficients)| -> f64 {
            a.0[1..]
                .chunks_exact(2)
                .zip(b.0[1..].chunks_exact(2))
                .map(|(a, b)| (b[0] - a[0]).hypot(b[1] - a[1]))
                .sum()
        };
        let most = self.from.iter().zip(&self.to).map(change).fold(0.0, f64::max);
        self.share_1_s = (2.0 * self.frequency_hz).min(self.ramp_m_s / most);
        self.share = 0.0;
        if self.frequency_hz <= 0.0 {
            // Nothing has been set yet, so there is nothing to leave.
            self.share = 1.0;
        }
    }

    /// Whether the target does not move.
    pub(super) fn is_still(&self) -> bool {
        self.now.iter().all(|c| c.0[1..].iter().all(|&v| v == 0.0))
    }

    /// Another mean, the rest as it is.
    pub(super) fn set_mean(&mut self, dof: usize, mean: f64) {
        self.from[dof].0[0] = mean;
        self.to[dof].0[0] = mean;
        self.now[dof].0[0] = mean;
    }

    pub(super) fn phase(&self) -> &Phase {
        &self.phase
    }

    pub(super) fn frequency_hz(&self) -> f64 {
        self.frequency_hz
    }

    /// Whether the new coefficients are reached.
    pub(super) fn has_arrived(&self) -> bool {
        self.share >= 1.0
    }

    /// The target of this tick.
    pub(super) fn target(&self, out: &mut Motion) {
        let omega = 2.0 * PI * self.frequency_hz;
        for (dof, coefficients) in self.now.iter().enumerate() {
            let (mut x, mut v, mut a) = (coefficients.0[0], 0.0, 0.0);
            for (k, pair) in coefficients.0[1..].chunks_exact(2).enumerate() {
                let (cos, sin) = self.phase.harmonics[k];
                let rate = (k + 1) as f64 * omega;
                let value = pair[0] * cos + pair[1] * sin;
                x += value;
                v += rate * (pair[1] * cos - pair[0] * sin);
                a -= rate * rate * value;
            }
            out.set(dof, [x, v, a]);
        }
    }

    /// Goes one tick on; whether a period has ended.
    pub(super) fn advance(&mut self) -> bool {
        let change = self.frequency_hz * self.step_s;
        if self.share < 1.0 {
            self.share = (self.share + self.share_1_s * self.step_s).min(1.0);
            for ((now, from), to) in self.now.iter_mut().zip(&self.from).zip(&self.to) {
                for ((now, a), b) in now.0.iter_mut().zip(&from.0).zip(&to.0) {
                    *now = a + self.share * (b - a);
                }
            }
        }
        self.phase.cycles += change;
        let wrapped = self.phase.cycles >= 1.0;
        if wrapped {
            self.phase.cycles -= 1.0;
        }
        self.phase.refresh();
        wrapped
    }
}
