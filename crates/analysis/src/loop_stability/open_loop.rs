//! An open loop: what comes back for what is sent, at any complex frequency.

use std::f64::consts::PI;

use nalgebra::{Complex, DMatrix};

use super::continuous::Continuous;
use super::sampled::Sampled;
use super::{LoopDescription, LoopError, MOST_DOFS};

/// L(s) of a hybrid loop, cut where the force acts on the numerical part (or,
/// joined continuously, where the command leaves). The loop is closed where
/// det(I + L) = 0.
#[derive(Debug, Clone)]
pub struct OpenLoop {
    form: Form,
    extra_delay_s: f64,
    /// 1: the loop; 0: the same with the specimen moved at once and exactly.
    reality: f64,
}

#[derive(Debug, Clone)]
enum Form {
    Sampled(Box<Sampled>),
    Continuous(Box<Continuous>),
}

/// L at one frequency.
#[derive(Debug, Clone)]
pub(super) struct Gain {
    /// L.
    pub(super) matrix: DMatrix<Complex<f64>>,
    /// det(I + …) of what is closed within it already.
    pub(super) inner: Complex<f64>,
    /// The same with a specimen that is moved at once and exactly.
    pub(super) ideal: DMatrix<Complex<f64>>,
}

impl OpenLoop {
    /// The loop as it runs: sampled, held, integrated.
    pub fn sampled(description: &LoopDescription) -> Result<Self, LoopError> {
        check(description)?;
        let form = Form::Sampled(Box::new(Sampled::new(description)?));
        Ok(Self { form, extra_delay_s: description.extra_delay_s, reality: 1.0 })
    }

    /// The loop without sampling and hold.
    pub fn continuous(description: &LoopDescription) -> Result<Self, LoopError> {
        check(description)?;
        let form = Form::Continuous(Box::new(Continuous::new(description)?));
        Ok(Self { form, extra_delay_s: description.extra_delay_s, reality: 1.0 })
    }

    /// The same loop, later by this time.
    pub fn later(&self, delay_s: f64) -> Self {
        Self { extra_delay_s: self.extra_delay_s + delay_s, ..self.clone() }
    }

    /// Part of the way from a specimen that is moved at once and exactly, 0, to
    /// this loop, 1.
    pub(super) fn part(&self, reality: f64) -> Self {
        Self { reality, ..self.clone() }
    }

    /// Further delay that it was given.
    pub fn extra_delay_s(&self) -> f64 {
        self.extra_delay_s
    }

    /// End of the frequency axis: half the rate of a sampled loop, far beyond
    /// every resonance of a continuous one.
    pub fn highest_rad_s(&self) -> f64 {
        match &self.form {
            Form::Sampled(sampled) => PI / sampled.step_s(),
            Form::Continuous(continuous) => continuous.highest_rad_s(),
        }
    }

    /// Period of a sampled loop.
    pub fn step_s(&self) -> Option<f64> {
        match &self.form {
            Form::Sampled(sampled) => Some(sampled.step_s()),
            Form::Continuous(_) => None,
        }
    }

    /// Whether something is closed within L, whose winding counts too.
    pub(super) fn has_inner(&self) -> bool {
        match &self.form {
            Form::Sampled(sampled) => sampled.has_inner(),
            Form::Continuous(continuous) => continuous.has_inner(),
        }
    }

    /// Poles of L as exponents, 1/s.
    pub fn poles(&self) -> &[Complex<f64>] {
        match &self.form {
            Form::Sampled(sampled) => sampled.exponents(),
            Form::Continuous(continuous) => continuous.poles(),
        }
    }

    /// d/ds of the logarithm of the product over all poles: what takes the poles
    /// out of det(I + L).
    pub(super) fn pole_slope(&self, s: Complex<f64>) -> Complex<f64> {
        match &self.form {
            Form::Sampled(sampled) => {
                let h = sampled.step_s();
                sampled.exponents().iter().map(|p| h / (1.0 - ((p - s) * h).exp())).sum()
            }
            Form::Continuous(continuous) => {
                continuous.poles().iter().map(|pole| (s - pole).inv()).sum()
            }
        }
    }

    /// L at s, this loop's delay included; `None` on a pole.
    pub(super) fn at(&self, s: Complex<f64>) -> Option<Gain> {
        let mut gain = match &self.form {
            Form::Sampled(sampled) => sampled.at(s)?,
            Form::Continuous(continuous) => continuous.at(s)?,
        };
        if self.extra_delay_s != 0.0 {
            gain.matrix *= (-s * self.extra_delay_s).exp();
        }
        if self.reality != 1.0 {
            let (part, rest) = (Complex::from(self.reality), Complex::from(1.0 - self.reality));
            gain.matrix = gain.matrix * part + &gain.ideal * rest;
        }
        Some(gain)
    }

    /// det(I + L), closed parts included.
    pub(super) fn determinant(&self, s: Complex<f64>) -> Option<Complex<f64>> {
        let Gain { matrix, inner, .. } = self.at(s)?;
        let n = matrix.nrows();
        let difference = if n == 1 {
            matrix[(0, 0)] + 1.0
        } else {
            (DMatrix::identity(n, n) + matrix).determinant()
        };
        Some(difference * inner)
    }
}

fn check(description: &LoopDescription) -> Result<(), LoopError> {
    let LoopDescription { numerical, specimen, .. } = description;
    if !(numerical.elements.is_empty() && specimen.elements.is_empty()) {
        return Err(LoopError::NotLinear);
    }
    let count = specimen.count();
    if count > MOST_DOFS {
        return Err(LoopError::TooManyDofs { count, most: MOST_DOFS });
    }
    Ok(())
}
