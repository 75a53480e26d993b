//! The periodic target, phase-continuous through every change.

use std::f64::consts::PI;

use model::periodic::Coefficients;
use numerics::harmonics::{self, PACK, Pack};

use super::stretch::{STRETCH, Stretch};
use super::{Mean, PeriodicSettings};

/// Ticks after which the phase is computed anew rather than turned on: turning
/// costs a rounding each time.
const TURNS: u32 = 256;

/// Packs that hold a value of every harmonic, the mean counted as one.
pub(super) fn packs(harmonics: usize) -> usize {
    (harmonics + 1).div_ceil(PACK)
}

/// Where the period stands at every tick of a stretch, and at the one after it.
pub(super) struct Phase {
    /// Of the tick after the stretch.
    cycles: f64,
    half_sine: f64,
    /// cos and sin of half the change in a tick, and the ticks turned by it.
    half_turn: (f64, f64),
    turned: u32,
    /// Ticks of the stretch.
    ticks: usize,
    /// cos(πφ), φ in cycles: the shape of the Fourier windows.
    pub(super) half_cosines: Vec<f64>,
    /// What the windows sum a signal with, a row for each tick: cos 2πkφ for
    /// k = 0, 1, …, then the sines; then both times cos(πφ).
    pub(super) basis: Vec<Pack>,
    /// Cosines and sines of every harmonic's change in a tick.
    turn: Vec<Pack>,
}

impl Phase {
    fn new(harmonics: usize) -> Self {
        let packs = packs(harmonics);
        let mut phase = Self {
            cycles: 0.0,
            half_sine: 0.0,
            half_turn: (1.0, 0.0),
            turned: 0,
            ticks: 0,
            half_cosines: vec![0.0; STRETCH + 1],
            basis: vec![[0.0; PACK]; (STRETCH + 1) * 4 * packs],
            turn: vec![[0.0; PACK]; 2 * packs],
        };
        phase.set_change(0.0);
        phase.compute();
        phase
    }

    /// cos 2πkφ and sin 2πkφ for k = 0, 1, 2, … at a tick of the stretch.
    #[inline(always)]
    pub(super) fn harmonics(&self, tick: usize) -> (&[f64], &[f64]) {
        let half = self.turn.len();
        let (cosines, sines) = self.basis[2 * half * tick..][..half].split_at(half / 2);
        (cosines.as_flattened(), sines.as_flattened())
    }

    /// From now on a tick changes the phase by so many cycles.
    fn set_change(&mut self, cycles: f64) {
        let (sin, cos) = (PI * cycles).sin_cos();
        self.half_turn = (cos, sin);
        let half = self.turn.len() / 2;
        let (cosines, sines) = self.turn.split_at_mut(half);
        fill(cosines, sines, cycles);
    }

    /// Goes on by `most` ticks, or until the phase is computed anew, by `cycles`
    /// each, which [`set_change`](Self::set_change) knows. Whether a period has
    /// ended with them.
    fn stretch(&mut self, cycles: f64, most: usize) -> bool {
        let width = 2 * self.turn.len();
        let present = self.ticks * width..(self.ticks + 1) * width;
        self.basis.copy_within(present, 0);
        self.half_cosines[0] = self.half_cosines[self.ticks];
        self.ticks = 0;
        let (mut wrapped, mut anew) = (false, false);
        while self.ticks < most && !anew {
            self.cycles += cycles;
            wrapped = self.cycles >= 1.0;
            if wrapped {
                self.cycles -= 1.0;
            }
            self.turned += 1;
            anew = wrapped || self.turned >= TURNS;
            let (cos, sin) = (self.half_cosines[self.ticks], self.half_sine);
            self.ticks += 1;
            if !anew {
                let (c, s) = self.half_turn;
                self.half_cosines[self.ticks] = cos * c - sin * s;
                self.half_sine = sin * c + cos * s;
            }
        }
        let turned = self.ticks - usize::from(anew);
        let rows = &mut self.basis[..(turned + 1) * width];
        harmonics::turn_rows(rows, &self.turn, &self.half_cosines[1..=turned]);
        if anew {
            self.compute();
        }
        wrapped
    }

    /// The tick after the stretch from its phase.
    #[inline(never)]
    fn compute(&mut self) {
        let (sin, cos) = (PI * self.cycles).sin_cos();
        (self.half_sine, self.half_cosines[self.ticks]) = (sin, cos);
        self.turned = 0;
        let half = self.turn.len();
        let row = &mut self.basis[2 * half * self.ticks..][..2 * half];
        let (plain, scaled) = row.split_at_mut(half);
        let (cosines, sines) = plain.split_at_mut(half / 2);
        fill(cosines, sines, self.cycles);
        for (scaled, plain) in scaled.iter_mut().zip(plain) {
            *scaled = plain.map(|value| cos * value);
        }
    }
}

/// cos 2πkφ and sin 2πkφ of all harmonics.
fn fill(cosines: &mut [Pack], sines: &mut [Pack], cycles: f64) {
    let both = cosines.as_flattened_mut().iter_mut().zip(sines.as_flattened_mut());
    for (k, (cos, sin)) in both.enumerate() {
        (*sin, *cos) = (2.0 * PI * k as f64 * cycles).sin_cos();
    }
}

/// Target of every interface DOF with its derivatives.
pub(super) struct Generator {
    pub(super) phase: Phase,
    step_s: f64,
    pub(super) frequency_hz: f64,
    from: Vec<Coefficients>,
    to: Vec<Coefficients>,
    now: Vec<Coefficients>,
    mean: Mean,
    /// Share of the way from the old to the new coefficients.
    share: f64,
    /// How fast the target may change, m/s.
    ramp_m_s: f64,
    /// Change of the share per second; half a period is the shortest way.
    share_1_s: f64,
}

impl Generator {
    /// At rest; so many harmonics are looked at.
    pub(super) fn new(settings: &PeriodicSettings, seen: usize) -> Self {
        let &PeriodicSettings { harmonics, mean, ramp_m_s, ref limits, .. } = settings;
        let zeros = vec![Coefficients::zeros(harmonics); limits.command.len()];
        Self {
            phase: Phase::new(seen.max(harmonics)),
            step_s: limits.step_s,
            frequency_hz: 0.0,
            from: zeros.clone(),
            to: zeros.clone(),
            now: zeros,
            mean,
            share: 1.0,
            ramp_m_s,
            share_1_s: 0.0,
        }
    }

    /// A new frequency at once, new harmonics over half a period or, where they
    /// change much, at the ramp: the phase never jumps. A mean that follows the rig
    /// stays.
    pub(super) fn set(&mut self, frequency_hz: f64, target: &[Coefficients]) {
        self.frequency_hz = frequency_hz;
        self.phase.set_change(frequency_hz * self.step_s);
        for (to, new) in self.to.iter_mut().zip(target) {
            to.0.copy_from_slice(&new.0);
        }
        self.begin();
    }

    /// To no motion, at the frequency that is.
    pub(super) fn wind_down(&mut self) {
        for to in &mut self.to {
            to.0.fill(0.0);
        }
        self.begin();
    }

    /// Begins the way from here.
    fn begin(&mut self) {
        for ((from, now), to) in self.from.iter_mut().zip(&self.now).zip(&mut self.to) {
            from.0.copy_from_slice(&now.0);
            if self.mean == Mean::Followed {
                to.0[0] = now.0[0];
            }
        }
        let change = |(a, b): (&Coefficients, &Coefficients)| -> f64 {
            let waves = a.0[1..].chunks_exact(2).zip(b.0[1..].chunks_exact(2));
            let waves: f64 = waves.map(|(a, b)| (b[0] - a[0]).hypot(b[1] - a[1])).sum();
            (b.0[0] - a.0[0]).abs() + waves
        };
        let most = self.from.iter().zip(&self.to).map(change).fold(0.0, f64::max);
        self.share_1_s = (2.0 * self.frequency_hz).min(self.ramp_m_s / most);
        // Where nothing has been set yet there is nothing to leave.
        self.share = if self.frequency_hz > 0.0 { 0.0 } else { 1.0 };
    }

    /// Whether the target does not move.
    pub(super) fn is_still(&self) -> bool {
        self.now.iter().all(|c| c.0[1..].iter().all(|&v| v == 0.0))
    }

    /// The target's mean.
    pub(super) fn mean(&self, dof: usize) -> f64 {
        self.now[dof].0[0]
    }

    /// Another mean, the rest as it is.
    pub(super) fn set_mean(&mut self, dof: usize, mean: f64) {
        self.from[dof].0[0] = mean;
        self.to[dof].0[0] = mean;
        self.now[dof].0[0] = mean;
    }

    /// Whether the new coefficients are reached.
    pub(super) fn has_arrived(&self) -> bool {
        self.share >= 1.0
    }

    /// Target and load of the ticks to come, at most so many and until the phase is
    /// computed anew, and goes there. The load acts as cos ωt, turned back by an
    /// angle of which sine and cosine are given; before the first point nothing
    /// acts. Whether a period has ended.
    pub(super) fn stretch(&mut self, late: (f64, f64), most: usize, out: &mut Stretch) -> bool {
        let ended = self.phase.stretch(self.frequency_hz * self.step_s, most.min(STRETCH));
        out.ticks = self.phase.ticks;
        let (omega, dofs) = (2.0 * PI * self.frequency_hz, self.now.len());
        let commands = out.commands.chunks_exact_mut(dofs).zip(&mut out.waves);
        for (tick, (commands, wave)) in commands.enumerate().take(out.ticks) {
            let (cosines, sines) = self.phase.harmonics(tick);
            let (sin, cos) = late;
            *wave = if omega == 0.0 { 0.0 } else { cosines[1] * cos + sines[1] * sin };
            for (command, coefficients) in commands.iter_mut().zip(&self.now) {
                *command = motion(&coefficients.0, omega, cosines, sines);
            }
            self.ramp();
        }
        ended
    }

    /// Takes the coefficients one tick on, as long as they are on their way.
    fn ramp(&mut self) {
        if self.share >= 1.0 {
            return;
        }
        self.share = (self.share + self.share_1_s * self.step_s).min(1.0);
        for ((now, from), to) in self.now.iter_mut().zip(&self.from).zip(&self.to) {
            for ((now, a), b) in now.0.iter_mut().zip(&from.0).zip(&to.0) {
                *now = a + self.share * (b - a);
            }
        }
    }
}

/// Displacement, velocity and acceleration of a target.
#[inline(always)]
fn motion(coefficients: &[f64], omega: f64, cosines: &[f64], sines: &[f64]) -> [f64; 3] {
    let (mut x, mut v, mut a) = (coefficients[0], 0.0, 0.0);
    let (mut rate, pairs) = (0.0, coefficients[1..].as_chunks::<2>().0);
    for ([a_k, b_k], (cos, sin)) in pairs.iter().zip(cosines.iter().zip(sines).skip(1)) {
        rate += omega;
        let value = a_k * cos + b_k * sin;
        x += value;
        v += rate * (b_k * cos - a_k * sin);
        a -= rate * rate * value;
    }
    [x, v, a]
}
