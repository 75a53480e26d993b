//! An open loop: what comes back for what is sent, at any complex frequency.

use std::f64::consts::PI;
use std::sync::Arc;

use model::compensator::Design;
use model::transfer::TransferSystem;

use numerics::linear_system::{Answer, Join, LinearSystem, Slope, Time};
use numerics::solve::is_finite;
use numerics::{Complex, Matrix};

use super::parts::{self, Half};
use super::{Joint, LoopDescription, LoopError, MOST_DOFS, StructureModes};

/// The axis of a loop without sampling ends at this multiple of its fastest pole.
const BEYOND: f64 = 100.0;
/// Up to this many states, delays counted as registers, the poles of the closed
/// loop are found at once.
const AT_ONCE: usize = 400;

/// A pole of a closed loop as an exponent, and the number of roots it stands for.
pub(super) type ClosedPole = (Complex, usize);

/// L(s) of a hybrid loop, cut where the force acts on the numerical part (or,
/// joined continuously, where the command leaves). The loop is closed where
/// det(I + L) = 0.
#[derive(Debug, Clone)]
pub struct OpenLoop {
    numerical: Arc<Half>,
    rest: Arc<Half>,
    /// The rest with the specimen moved at once and exactly, where there is such.
    ideal: Option<Arc<Half>>,
    time: Time,
    poles: Vec<Complex>,
    /// Further delay, and in a loop without sampling that of the force.
    late_s: f64,
    /// 1: the loop; 0: the same with the specimen moved at once and exactly.
    reality: f64,
}

impl OpenLoop {
    /// The loop as it runs: sampled, held, integrated.
    pub fn sampled(description: &LoopDescription) -> Result<Self, LoopError> {
        let modes = StructureModes::of(&description.numerical)?;
        Self::sampled_by(description, modes.as_deref())
    }

    /// The same by the motions of the numerical part, where they are at hand.
    pub fn sampled_by(
        description: &LoopDescription,
        modes: Option<&StructureModes>,
    ) -> Result<Self, LoopError> {
        check(description)?;
        let numerical = parts::numerical(description, modes)?;
        let ideal = match description.joint {
            Joint::Held => Some(parts::ideal(description)?),
            Joint::Continuous => None,
        };
        let late_s = description.extra_delay_s;
        Ok(Self::of(Arc::new(numerical), parts::rest(description)?, ideal.map(Arc::new), late_s))
    }

    /// The loop without sampling and hold; without compensator.
    pub fn continuous(description: &LoopDescription) -> Result<Self, LoopError> {
        let modes = StructureModes::of(&description.numerical)?;
        Self::continuous_by(description, modes.as_deref())
    }

    /// The same by the motions of the numerical part, where they are at hand.
    pub fn continuous_by(
        description: &LoopDescription,
        modes: Option<&StructureModes>,
    ) -> Result<Self, LoopError> {
        check(description)?;
        if description.compensator != Design::None || description.shaping.low_pass_hz.is_some() {
            return Err(LoopError::Uncompensated);
        }
        let (numerical, rest, late_s) = parts::unsampled(description, modes)?;
        let exact =
            LoopDescription { transfer_system: TransferSystem::Ideal, ..description.clone() };
        let ideal = Some(Arc::new(parts::unsampled(&exact, modes)?.1));
        Ok(Self::of(Arc::new(numerical), rest, ideal, description.extra_delay_s + late_s))
    }

    /// A loop in one piece: what goes into the system is what comes out of it.
    pub(super) fn whole(system: LinearSystem) -> Result<Self, LoopError> {
        let (count, time) = (system.outputs(), system.time);
        let straight = LinearSystem::gain(Matrix::identity(count, count), time);
        Ok(Self::of(Arc::new(Half::new(system)?), Half::new(straight)?, None, 0.0))
    }

    fn of(numerical: Arc<Half>, rest: Half, ideal: Option<Arc<Half>>, late_s: f64) -> Self {
        let (poles, time) = (parts::exponents([&numerical, &rest]), rest.response.time);
        Self { numerical, rest: Arc::new(rest), ideal, time, poles, late_s, reality: 1.0 }
    }

    /// The sampled loop with another compensator: `description` differs from that of
    /// this loop in nothing else. What is simulated is not examined again.
    pub fn recompensated(&self, description: &LoopDescription) -> Result<Self, LoopError> {
        let (numerical, ideal) = (Arc::clone(&self.numerical), self.ideal.clone());
        Ok(Self::of(numerical, parts::rest(description)?, ideal, description.extra_delay_s))
    }

    /// The same loop, later by this time.
    pub fn later(&self, delay_s: f64) -> Self {
        Self { late_s: self.late_s + delay_s, ..self.clone() }
    }

    /// Part of the way from a specimen that is moved at once and exactly, 0, to
    /// this loop, 1.
    pub(super) fn part(&self, reality: f64) -> Self {
        Self { reality, ..self.clone() }
    }

    /// End of the frequency axis: half the rate of a sampled loop, far beyond
    /// every resonance of a continuous one.
    pub fn highest_rad_s(&self) -> f64 {
        match self.time {
            Time::Step(step_s) => PI / step_s,
            Time::Continuous => BEYOND * self.fastest_rad_s(),
        }
    }

    fn fastest_rad_s(&self) -> f64 {
        self.poles.iter().map(|pole| pole.norm()).fold(2.0 * PI, f64::max)
    }

    /// Poles slower than this are zero: a double one, of a part without support,
    /// comes out of rounding as two that lie √ε of the fastest pole (or, sampled, of
    /// the rate) apart.
    pub(super) fn zero_rad_s(&self) -> f64 {
        match self.time {
            Time::Step(step_s) => 1e-6 * PI / step_s,
            Time::Continuous => 1e-7 * self.fastest_rad_s(),
        }
    }

    /// Whether something is closed within L, whose winding counts too.
    pub(super) fn has_inner(&self) -> bool {
        self.numerical.response.has_delays() || self.rest.response.has_delays()
    }

    /// Poles of L as exponents, 1/s.
    pub fn poles(&self) -> &[Complex] {
        &self.poles
    }

    /// d/ds of the logarithm of the product over all poles: what takes the poles
    /// out of det(I + L).
    pub(super) fn pole_slope(&self, s: Complex) -> Complex {
        match self.time {
            Time::Step(h) => self.poles.iter().map(|p| h / (1.0 - ((p - s) * h).exp())).sum(),
            Time::Continuous => self.poles.iter().map(|pole| (s - pole).inv()).sum(),
        }
    }

    /// The place of s in the plane of the responses, and dλ/ds.
    fn place(&self, s: Complex) -> (Complex, Complex) {
        match self.time {
            Time::Step(h) => {
                let z = (s * h).exp();
                (z, z * h)
            }
            Time::Continuous => (s, Complex::ONE),
        }
    }

    /// L at s, this loop's delay included; `None` on a pole.
    pub(super) fn at(&self, s: Complex) -> Option<Answer> {
        let (place, _) = self.place(s);
        let moved = self.numerical.response.at(place)?;
        let rest = self.rest.response.at(place)?;
        let mut back = rest.matrix;
        if self.late_s != 0.0 {
            back *= (-s * self.late_s).exp();
        }
        if let Some(ideal) = self.mixed_in() {
            let exact = ideal.response.at(place)?.matrix;
            back = back * Complex::from(self.reality) + exact * Complex::from(1.0 - self.reality);
        }
        let matrix = -(back * moved.matrix);
        is_finite(&matrix).then_some(Answer { matrix, inner: moved.inner * rest.inner })
    }

    /// The same with its derivatives by s.
    pub(super) fn with_slope(&self, s: Complex) -> Option<(Answer, Slope)> {
        let (place, speed) = self.place(s);
        let (moved, moved_slope) = self.numerical.response.with_slope(place)?;
        let (rest, rest_slope) = self.rest.response.with_slope(place)?;
        let (mut back, mut back_slope) = (rest.matrix, rest_slope.matrix * speed);
        if self.late_s != 0.0 {
            let turn = (-s * self.late_s).exp();
            back_slope = (back_slope - &back * Complex::from(self.late_s)) * turn;
            back *= turn;
        }
        if let Some(ideal) = self.mixed_in() {
            let (exact, exact_slope) = ideal.response.with_slope(place)?;
            let (real, rest) = (Complex::from(self.reality), Complex::from(1.0 - self.reality));
            back = back * real + exact.matrix * rest;
            back_slope = back_slope * real + exact_slope.matrix * (speed * rest);
        }
        let slope = -(&back_slope * &moved.matrix + &back * moved_slope.matrix * speed);
        let answer = Answer { matrix: -(back * moved.matrix), inner: moved.inner * rest.inner };
        let inner = (moved_slope.inner + rest_slope.inner) * speed;
        let sound = is_finite(&answer.matrix) && is_finite(&slope);
        sound.then_some((answer, Slope { matrix: slope, inner }))
    }

    /// What the rest is mixed with on the way to this loop.
    fn mixed_in(&self) -> Option<&Half> {
        self.ideal.as_deref().filter(|_| self.reality != 1.0)
    }

    /// The closed loop as one system without inputs, if its matrices are known.
    fn closed(&self) -> Option<LinearSystem> {
        let (numerical, rest) = (self.numerical.system.as_ref()?, self.rest.system.as_ref()?);
        let states = numerical.expanded_states().saturating_add(rest.expanded_states());
        if self.late_s != 0.0 || self.reality != 1.0 || states > AT_ONCE {
            return None;
        }
        let (shown, back) = (numerical.outputs(), numerical.inputs());
        let mut join = Join::new(self.time);
        let (numerical, rest) = (join.add(numerical.clone()), join.add(rest.clone()));
        join.wire(numerical.port(0..shown), rest.port(0..shown));
        join.wire(rest.port(0..back), numerical.port(0..back));
        join.system(&[], &[])
    }

    /// The poles of the closed loop, all of them, as exponents with the number of
    /// roots each stands for (a pair is one exponent, with its imaginary part above
    /// zero); `None` where there are too many states, or delays that are no whole
    /// steps.
    pub(super) fn closed_poles(&self) -> Result<Option<Vec<ClosedPole>>, LoopError> {
        let Some(closed) = self.closed() else { return Ok(None) };
        let poles = closed.poles()?;
        let upper = poles.into_iter().filter(|pole| pole.im >= 0.0);
        let found = upper.filter_map(|pole| {
            let s = parts::exponent(pole, self.time)?;
            Some((s, if pole.im > 0.0 { 2 } else { 1 }))
        });
        Ok(Some(found.collect()))
    }
}

pub(super) fn check(description: &LoopDescription) -> Result<(), LoopError> {
    let LoopDescription { numerical, specimen, .. } = description;
    if !(numerical.elements.is_empty() && specimen.elements.is_empty()) {
        return Err(LoopError::NotLinear);
    }
    if description.inside.is_some() && description.joint == Joint::Continuous {
        return Err(LoopError::ContinuousInside);
    }
    let count = specimen.count();
    if count > MOST_DOFS { Err(LoopError::TooManyDofs(count)) } else { Ok(()) }
}
