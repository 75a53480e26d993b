//! The periodic target, phase-continuous through every change.

use std::f64::consts::PI;

use model::motion::Motion;
use model::periodic::Coefficients;
use numerics::harmonics::{Kernels, PACK, Pack};

use super::Mean;
use super::stretch::{STRETCH, Stretch};

/// Ticks after which the phase is computed anew rather than turned on: turning
/// costs a rounding each time.
const TURNS: u32 = 256;

/// Packs that hold a value of every harmonic, the mean counted as one.
pub(super) fn packs(harmonics: usize) -> usize {
    (harmonics + 1).div_ceil(PACK)
}

/// Where the period stands: cos and sin of half the phase, and of every
/// harmonic of it.
#[derive(Debug, Clone)]
pub(super) struct Phase {
    kernels: Kernels,
    cycles: f64,
    /// cos(πφ), φ in cycles: the shape of the Fourier windows.
    pub(super) half_cosine: f64,
    half_sine: f64,
    /// cos and sin of half the change in a tick, and the ticks turned by it.
    half_turn: (f64, f64),
    turned: u32,
    /// cos 2πkφ for k = 0, 1, …, then the sines; then both times cos(πφ).
    basis: Vec<Pack>,
    /// Cosines and sines of every harmonic's change in a tick.
    turn: Vec<Pack>,
}

impl Phase {
    fn new(harmonics: usize) -> Self {
        let packs = packs(harmonics);
        let mut phase = Self {
            kernels: Kernels::new(),
            cycles: 0.0,
            half_cosine: 1.0,
            half_sine: 0.0,
            half_turn: (1.0, 0.0),
            turned: 0,
            basis: vec![[0.0; PACK]; 4 * packs],
            turn: vec![[0.0; PACK]; 2 * packs],
        };
        phase.set_change(0.0);
        phase.compute();
        phase
    }

    /// What the windows sum a signal with.
    #[inline(always)]
    pub(super) fn basis(&self) -> &[Pack] {
        &self.basis
    }

    /// cos 2πkφ and sin 2πkφ for k = 0, 1, 2, …
    #[inline(always)]
    pub(super) fn harmonics(&self) -> (&[f64], &[f64]) {
        let (cosines, rest) = self.basis.split_at(self.basis.len() / 4);
        (cosines.as_flattened(), rest[..cosines.len()].as_flattened())
    }

    /// From now on a tick changes the phase by so many cycles.
    fn set_change(&mut self, cycles: f64) {
        let (sin, cos) = (PI * cycles).sin_cos();
        self.half_turn = (cos, sin);
        let half = self.turn.len() / 2;
        let (cosines, sines) = self.turn.split_at_mut(half);
        fill(cosines, sines, cycles);
    }

    /// Goes on by `cycles`, which [`set_change`](Self::set_change) knows; whether
    /// a period has ended.
    #[inline]
    fn advance(&mut self, cycles: f64) -> bool {
        let wrapped = self.count(cycles);
        if wrapped || self.turned >= TURNS {
            self.compute();
        } else {
            self.turn_half();
            self.kernels.turn(&mut self.basis, &self.turn, self.half_cosine);
        }
        wrapped
    }

    /// Counts a tick; whether a period has ended.
    #[inline(always)]
    fn count(&mut self, cycles: f64) -> bool {
        self.cycles += cycles;
        self.turned += 1;
        let wrapped = self.cycles >= 1.0;
        if wrapped {
            self.cycles -= 1.0;
        }
        wrapped
    }

    #[inline(always)]
    fn turn_half(&mut self) {
        let ((cos, sin), (c, s)) = ((self.half_cosine, self.half_sine), self.half_turn);
        self.half_cosine = cos * c - sin * s;
        self.half_sine = sin * c + cos * s;
    }

    /// Many times [`advance`](Self::advance), until the phase is computed anew:
    /// the basis of every tick, row by row, and cos(πφ). The ticks, and whether a
    /// period has ended with them.
    fn stretch(
        &mut self,
        cycles: f64,
        most: usize,
        rows: &mut [Pack],
        half_cosines: &mut [f64],
    ) -> (usize, bool) {
        let width = self.basis.len();
        half_cosines[0] = self.half_cosine;
        rows[..width].copy_from_slice(&self.basis);
        let (mut ticks, mut wrapped, mut anew) = (0, false, false);
        while ticks < most && !anew {
            ticks += 1;
            wrapped = self.count(cycles);
            anew = wrapped || self.turned >= TURNS;
            if !anew {
                self.turn_half();
                half_cosines[ticks] = self.half_cosine;
            }
        }
        let turned = ticks - usize::from(anew);
        let rows = &mut rows[..(turned + 1) * width];
        self.kernels.turn_rows(rows, &self.turn, &half_cosines[1..=turned]);
        if anew {
            self.compute();
        } else {
            self.basis.copy_from_slice(&rows[turned * width..]);
        }
        (ticks, wrapped)
    }

    #[inline(never)]
    fn compute(&mut self) {
        (self.half_sine, self.half_cosine) = (PI * self.cycles).sin_cos();
        self.turned = 0;
        let quarter = self.basis.len() / 4;
        let (plain, scaled) = self.basis.split_at_mut(2 * quarter);
        let (cosines, sines) = plain.split_at_mut(quarter);
        fill(cosines, sines, self.cycles);
        for (scaled, plain) in scaled.iter_mut().zip(plain) {
            *scaled = plain.map(|value| self.half_cosine * value);
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
#[derive(Debug, Clone)]
pub(super) struct Generator {
    phase: Phase,
    step_s: f64,
    frequency_hz: f64,
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
    pub(super) fn new(
        dofs: usize,
        (harmonics, seen): (usize, usize),
        step_s: f64,
        mean: Mean,
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
        for ((from, now), (to, new)) in
            self.from.iter_mut().zip(&self.now).zip(self.to.iter_mut().zip(target))
        {
            from.0.copy_from_slice(&now.0);
            to.0.copy_from_slice(&new.0);
            if self.mean == Mean::Followed {
                to.0[0] = now.0[0];
            }
        }
        self.begin();
    }

    /// To no motion, at the frequency that is.
    pub(super) fn wind_down(&mut self) {
        for ((from, now), to) in self.from.iter_mut().zip(&self.now).zip(&mut self.to) {
            from.0.copy_from_slice(&now.0);
            to.0.fill(0.0);
            if self.mean == Mean::Followed {
                to.0[0] = now.0[0];
            }
        }
        self.begin();
    }

    fn begin(&mut self) {
        let change = |(a, b): (&Coefficients, &Coefficients)| -> f64 {
            let waves = a.0[1..].chunks_exact(2).zip(b.0[1..].chunks_exact(2));
            let waves: f64 = waves.map(|(a, b)| (b[0] - a[0]).hypot(b[1] - a[1])).sum();
            (b.0[0] - a.0[0]).abs() + waves
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
        let (cosines, sines) = self.phase.harmonics();
        for (dof, coefficients) in self.now.iter().enumerate() {
            out.set(dof, motion(&coefficients.0, omega, cosines, sines));
        }
    }

    /// The load's wave, which acts as cos ωt, turned back by an angle of which
    /// sine and cosine are given. Before the first point nothing acts.
    #[inline]
    pub(super) fn wave(&self, late: (f64, f64)) -> f64 {
        let (cosines, sines) = self.phase.harmonics();
        if self.frequency_hz == 0.0 { 0.0 } else { wave(late, cosines, sines) }
    }

    /// Targets and phases of the ticks to come, until the phase is computed anew or
    /// `out` is full, and goes there. Whether a period has ended.
    pub(super) fn stretch(&mut self, late: (f64, f64), most: usize, out: &mut Stretch) -> bool {
        let most = most.min(STRETCH);
        let change = self.frequency_hz * self.step_s;
        let (ticks, ended) =
            self.phase.stretch(change, most, &mut out.basis, &mut out.half_cosines);
        out.ticks = ticks;
        let (omega, dofs) = (2.0 * PI * self.frequency_hz, self.now.len());
        let packs = self.phase.basis.len();
        let rows = out.basis.chunks_exact(packs).zip(&mut out.waves);
        let commands = out.commands.chunks_exact_mut(dofs);
        for ((row, to), commands) in rows.zip(commands).take(ticks) {
            let (cosines, rest) = row.split_at(packs / 4);
            let (cosines, sines) = (cosines.as_flattened(), rest.as_flattened());
            *to = if omega == 0.0 { 0.0 } else { wave(late, cosines, sines) };
            for (command, coefficients) in commands.iter_mut().zip(&self.now) {
                *command = motion(&coefficients.0, omega, cosines, sines);
            }
            self.ramp();
        }
        ended
    }

    /// Takes the coefficients one tick on, as long as they are on their way.
    #[inline]
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

    /// Goes one tick on; whether a period has ended.
    pub(super) fn advance(&mut self) -> bool {
        self.ramp();
        self.phase.advance(self.frequency_hz * self.step_s)
    }
}

#[inline(always)]
fn wave((sin, cos): (f64, f64), cosines: &[f64], sines: &[f64]) -> f64 {
    cosines[1] * cos + sines[1] * sin
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
