//! Where roots cross the imaginary axis as the delay grows: one late signal.
//!
//! D(λ) = det A₀ · (1 − G(λ) e^{−λτ}) with G = −E A₀⁻¹(λ²M_τ + λC_τ + K_τ). A root
//! stands at jω exactly when |G(jω)| = 1 and τ = (arg G + 2πk)/ω. The condition
//! |G| = 1 is a polynomial in ω², |P₀|² = |P₁|²; its roots are computed as the
//! imaginary eigenvalues of the Hamiltonian matrix of G, which also serves large
//! systems, where the polynomial's coefficients would drown in rounding, and
//! then polished on |G| itself.
//!
//! A root crosses to the right where |G| falls with ω, and back where it rises,
//! whatever the delay. So the unstable roots at any delay are counted from those
//! without delay, and all delays are judged at once.

use std::f64::consts::TAU;

use super::{DelayError, DelaySystem};
use crate::block::{hstack, vstack};
use crate::eigen;
use crate::second_order::companion;
use crate::{Complex, ComplexMatrix, Matrix};

/// Phase within which a crossing counts as one without delay.
const AT_ONCE: f64 = 1e-9;
/// Most crossings that are looked at one by one.
const MOST_DELAYS: usize = 100_000;

/// Which way a pair of roots goes as the delay grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the right: two more unstable roots.
    Out,
    /// To the left: two fewer.
    In,
}

/// A frequency at which roots cross.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Where on the axis.
    pub omega_rad_s: f64,
    /// The shortest delay at which; the others follow one period apart.
    pub first_delay_s: f64,
    /// Which way.
    pub direction: Direction,
}

/// All crossings of a system, hence its stability for every delay.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossings {
    /// Unstable roots without delay.
    unstable_at_once: usize,
    /// ρ of the neutral part.
    neutral_radius: f64,
    /// The crossings, by their first delay.
    pub all: Vec<Crossing>,
}

impl Crossings {
    /// Unstable roots at this delay; `None` for infinitely many.
    pub fn unstable_roots(&self, delay_s: f64) -> Option<usize> {
        if delay_s > 0.0 && self.neutral_radius >= 1.0 {
            return None;
        }
        let mut count = self.unstable_at_once as i64;
        for crossing in &self.all {
            let passed = delay_s - crossing.first_delay_s;
            if passed > 0.0 {
                let times = (passed * crossing.omega_rad_s / TAU).floor() as i64 + 1;
                count += match crossing.direction {
                    Direction::Out => 2 * times,
                    Direction::In => -2 * times,
                };
            }
        }
        Some(count.max(0) as usize)
    }

    /// Whether no root is unstable at this delay.
    pub fn is_stable(&self, delay_s: f64) -> bool {
        self.unstable_roots(delay_s) == Some(0)
    }

    /// The shortest delay at which stability is lost; `None` if none takes it or
    /// it is not there to begin with. Of a neutral system that no delay leaves
    /// stable it is zero, at an infinite frequency.
    pub fn critical(&self) -> Option<Crossing> {
        if self.unstable_at_once > 0 {
            return None;
        }
        let direction = Direction::Out;
        if self.neutral_radius >= 1.0 {
            return Some(Crossing { omega_rad_s: f64::INFINITY, first_delay_s: 0.0, direction });
        }
        self.all.iter().copied().find(|crossing| crossing.direction == direction)
    }

    /// The delays up to `most_s` at which stability is lost or won, ascending; of
    /// very many crossings the first hundred thousand are looked at.
    pub fn boundaries(&self, most_s: f64) -> Vec<f64> {
        if self.neutral_radius >= 1.0 {
            return vec![0.0];
        }
        // In the order of time, so that a limit leaves out the latest.
        let mut delays = Vec::new();
        let mut passed = vec![0.0; self.all.len()];
        let next = |(crossing, passed): (&Crossing, &f64)| {
            crossing.first_delay_s + passed * TAU / crossing.omega_rad_s
        };
        while delays.len() < MOST_DELAYS {
            let ahead = self.all.iter().zip(&passed).map(next).enumerate();
            let Some((at, delay)) = ahead.min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
            if delay > most_s {
                break;
            }
            delays.push(delay);
            passed[at] += 1.0;
        }
        // Of all crossings, those that change the verdict.
        let mut stable = self.unstable_at_once == 0;
        let mut changes = Vec::new();
        for (index, &delay) in delays.iter().enumerate() {
            let next = delays.get(index + 1).copied().unwrap_or(delay + 1e-9 + 1e-9 * delay);
            let now = self.is_stable(0.5 * (delay + next));
            if now != stable {
                changes.push(delay);
                stable = now;
            }
        }
        changes
    }
}

impl DelaySystem {
    /// Every crossing of the imaginary axis, for one late signal.
    pub fn crossings(&self) -> Result<Crossings, DelayError> {
        if self.late_count() != 1 {
            return Err(DelayError::NotSingle(self.late_count()));
        }
        let neutral_radius = self.neutral_radius()?;
        let roots = self.undelayed_roots()?;
        let largest = roots.iter().map(|root| root.norm()).fold(0.0, f64::max);
        // A mode without damping stands on the axis within rounding.
        let right = |root: &&Complex| root.re > 1e-9 * root.norm() + 1e-12 * largest;
        let unstable_at_once = roots.iter().filter(right).count();
        if neutral_radius >= 1.0 {
            return Ok(Crossings { unstable_at_once, neutral_radius, all: Vec::new() });
        }
        let crossing = |omega_rad_s: f64| {
            let (gain, slope) = self.gain_on_axis(omega_rad_s);
            let phase = gain.arg().rem_euclid(TAU);
            let at_once = !(AT_ONCE..=TAU - AT_ONCE).contains(&phase);
            let first_delay_s = if at_once { 0.0 } else { phase / omega_rad_s };
            let direction = if slope < 0.0 { Direction::Out } else { Direction::In };
            Crossing { omega_rad_s, first_delay_s, direction }
        };
        let mut all: Vec<Crossing> =
            self.unit_gain_frequencies()?.into_iter().map(crossing).collect();
        // |G| ends below 1, so from the highest frequency down the directions take turns.
        all.sort_by(|a, b| b.omega_rad_s.total_cmp(&a.omega_rad_s));
        let turns = |(index, crossing): (usize, &Crossing)| {
            (crossing.direction == Direction::Out) == (index % 2 == 0)
        };
        if !all.iter().enumerate().all(turns) {
            return Err(DelayError::Touching);
        }
        all.sort_by(|a, b| a.first_delay_s.total_cmp(&b.first_delay_s));
        Ok(Crossings { unstable_at_once, neutral_radius, all })
    }

    /// The frequencies with |G| = 1.
    fn unit_gain_frequencies(&self) -> Result<Vec<f64>, DelayError> {
        let matrix = self.hamiltonian();
        let candidates = eigen::eigenvalues(&matrix)?;
        let largest = candidates.iter().map(|value| value.norm()).fold(0.0, f64::max);
        let least = (1e-9 * largest).max(self.at_rest_1_s(&matrix));
        let near = |value: &&Complex| value.im > least && value.re.abs() <= 1e-3 * value.im;
        let mut found: Vec<f64> = Vec::new();
        for value in candidates.iter().filter(near) {
            let Some(omega) = self.unit_gain_near(value.im) else { continue };
            let known = |other: &f64| (other - omega).abs() <= 1e-9 * omega;
            if !found.iter().any(known) {
                found.push(omega);
            }
        }
        Ok(found)
    }

    /// Newton's method on ln|G| from a candidate; `None` if it is none.
    fn unit_gain_near(&self, start: f64) -> Option<f64> {
        let mut omega = start;
        for _ in 0..30 {
            let (gain, slope) = self.gain_on_axis(omega);
            let step = gain.norm().ln() / slope;
            if !step.is_finite() {
                return None;
            }
            omega -= step;
            // Far from its candidate it belongs to another one.
            if (omega - start).abs() > 2e-3 * start {
                return None;
            }
            if step.abs() <= 4.0 * f64::EPSILON * omega {
                return Some(omega);
            }
        }
        // Rounding may keep it from the last digits.
        let (gain, _) = self.gain_on_axis(omega);
        (gain.norm().ln().abs() < 1e-9).then_some(omega)
    }

    /// G(jω) and d ln|G|/dω.
    fn gain_on_axis(&self, omega: f64) -> (Complex, f64) {
        let s = Complex::new(0.0, omega);
        let factors = self.now.at(s).lu();
        let seen = |column: &ComplexMatrix| -> Complex {
            -(0..self.size()).map(|i| column[(i, 0)] * self.of[(0, i)]).sum::<Complex>()
        };
        let found = factors.solve(&self.late.at(s)).and_then(|motion| {
            let turned = self.late.slope(s) - self.now.slope(s) * &motion;
            Some((seen(&motion), seen(&factors.solve(&turned)?)))
        });
        let nan = Complex::from(f64::NAN);
        let (gain, slope) = found.unwrap_or((nan, nan));
        // d ln|G|/dω = Re(j G'/G).
        (gain, -(slope / gain).im)
    }

    /// The matrix whose imaginary eigenvalues are the frequencies with |G| = 1.
    ///
    /// With G = d + c(sI − A)⁻¹b and r = 1 − d²:
    ///   [A + b d c/r, b bᵀ/r; −cᵀc (1 + d²/r), −(A + b d c/r)ᵀ].
    fn hamiltonian(&self) -> Matrix {
        let (a, b, c, d) = self.realisation();
        let rest = 1.0 - d * d;
        // b and c differ by many decades; equal sizes keep the blocks in balance.
        let size = (c.norm() / b.norm()).sqrt();
        if !(size.is_finite() && size > 0.0) {
            // Nothing comes back late: no crossing.
            return Matrix::zeros(0, 0);
        }
        let (b, c) = (b * size, c / size);
        let inner = &a + &b * &c * (d / rest);
        let upper = hstack(&[&inner, &(&b * b.transpose() / rest)]);
        let lower = c.transpose() * &c * (-1.0 - d * d / rest);
        vstack(&[&upper, &hstack(&[&lower, &-inner.transpose()])])
    }

    /// G = d + c(sI − A)⁻¹b in first order: the late accelerations are divided out.
    fn realisation(&self) -> (Matrix, Matrix, Matrix, f64) {
        let Self { now, late, of, inverse, .. } = self;
        let passed = inverse * &late.mass;
        let first = inverse * (&late.damping - &now.damping * &passed);
        let zeroth = inverse * (&late.stiffness - &now.stiffness * &passed);
        let b = vstack(&[&first, &(zeroth - inverse * &now.damping * &first)]);
        let c = hstack(&[&-of, &Matrix::zeros(1, self.size())]);
        let d = -(of * passed)[(0, 0)];
        (companion(inverse, &now.damping, &now.stiffness), b, c, d)
    }
}
