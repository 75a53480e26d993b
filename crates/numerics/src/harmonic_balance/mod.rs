//! Periodic responses of second-order systems with local nonlinear springs.
//!
//! M ẍ + C ẋ + K x + Σ_j d_j f_j(d_jᵀ x) = p₀ + Re(p e^{iωt})
//!
//! The springs' deformations q_j = d_jᵀ x are the only unknowns: with their
//! harmonics F_jk the rest of the system answers linearly,
//! x_k = H_k(ω)(p_k − Σ_j d_j F_jk), H_k = (K − k²ω²M + ikωC)⁻¹, and the
//! residual q_jk − d_jᵀ x_k has the unit of q. F_jk come from one period sampled
//! in time (alternating frequency/time, Cameron & Griffin 1989,
//! J. Appl. Mech. 56(1)), and so does the exact Jacobian.

mod floquet;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use nalgebra::{ComplexField, DVector};

use crate::continuation::{Evaluation, Problem};
use crate::second_order::SecondOrder;
use crate::{Complex, ComplexMatrix, Matrix, Vector};

/// Force and slope of a spring without memory at a deformation.
pub type Law = Box<dyn Fn(f64) -> (f64, f64) + Send + Sync>;

/// A nonlinear spring between DOFs.
pub struct Spring {
    /// d: deformation = dᵀx, and the forces act along d.
    pub direction: Vector,
    /// Force and slope.
    pub law: Law,
}

/// The system and its load.
pub struct System {
    /// M, C and K, without the springs; K regular.
    pub linear: SecondOrder,
    /// Nonlinear springs.
    pub springs: Vec<Spring>,
    /// p₀.
    pub constant: Vector,
    /// p: real part with the cosine, imaginary part with minus the sine.
    pub harmonic: DVector<Complex>,
}

/// Harmonics of all DOFs: x = x₀ + Re Σ x_k e^{ikωt}.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// rad/s.
    pub omega_rad_s: f64,
    /// Entry k: harmonic k, one row per DOF; entry 0 is real.
    pub harmonics: Vec<DVector<Complex>>,
}

/// The balance with a number of harmonics, as a [`Problem`] whose parameter is ω.
pub struct HarmonicBalance {
    /// The system.
    pub system: System,
    harmonics: usize,
    /// cos and sin of every harmonic at every sample, by sample.
    basis: Matrix,
}

impl HarmonicBalance {
    /// With harmonics 0 to `harmonics`, 16 samples per period of the highest, and
    /// no fewer than 1024: a spring that touches between two samples shifts a fold
    /// by the square of their spacing.
    pub fn new(system: System, harmonics: usize) -> Self {
        let samples = (16 * harmonics.max(1)).next_power_of_two().max(1024);
        let basis = Matrix::from_fn(samples, 2 * harmonics + 1, |i, j| {
            let phase = std::f64::consts::TAU * i as f64 / samples as f64;
            let turned = j.div_ceil(2) as f64 * phase;
            if j == 0 || j % 2 == 1 { turned.cos() } else { turned.sin() }
        });
        Self { system, harmonics, basis }
    }

    /// Unknowns without the frequency: mean, cosine and sine of every harmonic
    /// of every spring.
    pub fn unknowns(&self) -> usize {
        self.width() * self.system.springs.len()
    }

    fn width(&self) -> usize {
        2 * self.harmonics + 1
    }

    /// The whole response where the springs deform by `deformations`.
    pub fn response(&self, deformations: &[f64], omega_rad_s: f64) -> Option<Response> {
        let forces = self.spring_forces(deformations);
        let harmonic = |k: usize| {
            let solved = self.linear_part(k, omega_rad_s).lu().solve(&self.right_side(&forces, k));
            solved.filter(|x| x.iter().all(ComplexField::is_finite))
        };
        let harmonics = (0..=self.harmonics).map(harmonic).collect::<Option<Vec<_>>>()?;
        Some(Response { omega_rad_s, harmonics })
    }

    /// What harmonic k meets beside the springs.
    fn linear_part(&self, k: usize, omega_rad_s: f64) -> ComplexMatrix {
        self.system.linear.at(Complex::new(0.0, k as f64 * omega_rad_s))
    }

    /// Harmonic k of p − Σ d F.
    fn right_side(&self, forces: &[Vec<f64>], k: usize) -> DVector<Complex> {
        let mut right = match k {
            0 => self.system.constant.map(Complex::from),
            1 => self.system.harmonic.clone(),
            _ => DVector::zeros(self.system.linear.mass.nrows()),
        };
        for (spring, force) in self.system.springs.iter().zip(forces) {
            let amplitude = complex(force, k);
            right -= spring.direction.map(|d| amplitude * d);
        }
        right
    }

    /// Harmonics of every spring's force.
    fn spring_forces(&self, deformations: &[f64]) -> Vec<Vec<f64>> {
        let springs = self.system.springs.iter().zip(deformations.chunks(self.width()));
        let force = |(spring, q): (&Spring, &[f64])| {
            let in_time = (&self.basis * Vector::from_column_slice(q)).map(|u| (spring.law)(u).0);
            self.transform(&in_time).iter().copied().collect()
        };
        springs.map(force).collect()
    }

    /// Mean, cosine and sine coefficients of samples over a period.
    fn transform(&self, samples: &Vector) -> Vector {
        let mut out = self.basis.tr_mul(samples) * (2.0 / samples.len() as f64);
        out[0] *= 0.5;
        out
    }

    /// ∂F/∂q of one spring.
    fn slope(&self, spring: &Spring, deformation: &[f64]) -> Matrix {
        let in_time = &self.basis * Vector::from_column_slice(deformation);
        let mut weighted = self.basis.clone();
        for (mut row, u) in weighted.row_iter_mut().zip(in_time.iter()) {
            row *= (spring.law)(*u).1;
        }
        let mut out = self.basis.tr_mul(&weighted) * (2.0 / in_time.len() as f64);
        out.row_mut(0).scale_mut(0.5);
        out
    }
}

/// Harmonic k of [mean, cos 1, sin 1, …] as a complex amplitude.
fn complex(coefficients: &[f64], k: usize) -> Complex {
    match k {
        0 => Complex::new(coefficients[0], 0.0),
        _ => Complex::new(coefficients[2 * k - 1], -coefficients[2 * k]),
    }
}

impl Problem for HarmonicBalance {
    type Error = Infallible;

    fn evaluate(&mut self, unknowns: &[f64]) -> Result<Evaluation, Infallible> {
        let (q, omega) = unknowns.split_at(self.unknowns());
        let Some(response) = self.response(q, omega[0]) else {
            return Ok(Evaluation::exact(vec![f64::NAN; q.len()]));
        };
        let mut residual = q.to_vec();
        for (spring, out) in self.system.springs.iter().zip(residual.chunks_mut(self.width())) {
            for (k, x) in response.harmonics.iter().enumerate() {
                put(out, k, -along(&spring.direction, x));
            }
        }
        Ok(Evaluation::exact(residual))
    }

    fn jacobian(&mut self, unknowns: &[f64], _needed: std::ops::Range<usize>) -> Option<Matrix> {
        let (q, omega) = unknowns.split_at(self.unknowns());
        let (width, count) = (self.width(), self.unknowns());
        let forces = self.spring_forces(q);
        let mut rows = Matrix::identity(count, count + 1);
        let springs = &self.system.springs;
        let slopes: Vec<_> =
            springs.iter().zip(q.chunks(width)).map(|(s, q)| self.slope(s, q)).collect();
        // Adds to harmonic k of spring i in a column.
        let mut add = |i: usize, column: usize, k: usize, value: Complex| {
            put(&mut rows.as_mut_slice()[column * count + i * width..][..width], k, value);
        };
        for k in 0..=self.harmonics {
            let factors = self.linear_part(k, omega[0]).lu();
            let x = factors.solve(&self.right_side(&forces, k))?;
            // dD/dω = ik C − 2k²ω M.
            let (linear, times) = (&self.system.linear, k as f64);
            let change = linear.mass.zip_map(&linear.damping, |m, c| {
                Complex::new(-2.0 * times * times * omega[0] * m, times * c)
            });
            let by_omega = factors.solve(&(change * &x))?;
            let answers: Option<Vec<_>> =
                springs.iter().map(|s| factors.solve(&s.direction.map(Complex::from))).collect();
            let answers = answers?;
            for (i, spring) in springs.iter().enumerate() {
                add(i, count, k, along(&spring.direction, &by_omega));
                for (j, answer) in answers.iter().enumerate() {
                    let gain = along(&spring.direction, answer);
                    for c in 0..width {
                        let slope = complex(slopes[j].column(c).as_slice(), k);
                        add(i, j * width + c, k, gain * slope);
                    }
                }
            }
        }
        Some(rows)
    }
}

fn along(direction: &Vector, x: &DVector<Complex>) -> Complex {
    direction.iter().zip(x.iter()).map(|(d, x)| x * *d).sum()
}

/// Adds a complex amplitude to harmonic k of [mean, cos 1, sin 1, …].
fn put(coefficients: &mut [f64], k: usize, value: Complex) {
    if k == 0 {
        coefficients[0] += value.re;
    } else {
        coefficients[2 * k - 1] += value.re;
        coefficients[2 * k] -= value.im;
    }
}
