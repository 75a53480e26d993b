//! The critical delay of a hybrid loop with a pure delay, in continuous time.

use model::equations::Equations;
use model::integrator::IntegratorError;
use model::partition::InternalDofs;
use model::specimen::Specimen;
use model::transfer::TransferSystem;
use numerics::Matrix;
use numerics::eigen;
use numerics::solve;

use crate::loop_stability::{
    Curve, LoopDescription, LoopError, OpenLoop, StructureModes, growing, last_before_loss, margins,
};

/// A delay at which the loop loses its stability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CriticalDelay {
    /// The delay.
    pub delay_s: f64,
    /// The frequency at which the loop then swings.
    pub frequency_hz: f64,
}

/// The critical delay of a loop with nothing but a delay, for any number of
/// interface DOFs.
///
/// With G = Bᵀ(s²M + sC + K)⁻¹B of the numerical part and H = s²M_e + sC_e + K_e of
/// the specimen, the loop stands on the boundary where an eigenvalue of H G turned
/// by e^{−jωτ} is −1: the frequencies are those at which one has the size 1, and each
/// has its smallest delay. The smallest of all is critical, because the loop without
/// delay is the structure itself.
///
/// `None`: no delay makes it unstable. A delay of zero: every delay does, at an
/// infinite frequency because the specimen's mass is not below the numerical one
/// (ρ(M_e BᵀM⁻¹B) ≥ 1: fast motions grow), at a finite one because a mode has no
/// damping.
pub fn critical_delay(
    numerical: &Equations,
    specimen: &Specimen,
    inside: Option<&InternalDofs>,
) -> Result<Option<CriticalDelay>, LoopError> {
    critical_delay_by(numerical, specimen, inside, StructureModes::of(numerical)?.as_deref())
}

/// The same by the motions of the numerical part, where they are at hand.
pub fn critical_delay_by(
    numerical: &Equations,
    specimen: &Specimen,
    inside: Option<&InternalDofs>,
    modes: Option<&StructureModes>,
) -> Result<Option<CriticalDelay>, LoopError> {
    // Fast motions feel what the mass inside leaves at the interface.
    let mut mass = specimen.matrices.mass.clone();
    if let Some(inside) = inside {
        let joint = &inside.to_interface.mass;
        let own =
            inside.matrices.mass.clone().try_inverse().ok_or(IntegratorError::SingularMass)?;
        mass -= joint.transpose() * own * joint;
    }
    let ratio: Matrix = mass * mobility(numerical).ok_or(IntegratorError::SingularMass)?;
    if eigen::spectral_radius(&ratio)? >= 1.0 {
        return Ok(Some(CriticalDelay { delay_s: 0.0, frequency_hz: f64::INFINITY }));
    }
    let description = LoopDescription::ideal(numerical, specimen, inside);
    let open = OpenLoop::continuous_by(&description, modes)?;
    let curve = Curve::follow(&open)?;
    let found = margins::delay_margin(&open, &curve)?;
    Ok(found.map(|c| CriticalDelay { delay_s: c.delay_s, frequency_hz: c.frequency_hz }))
}

/// BᵀM⁻¹B: what a force at the interface accelerates it by at once.
fn mobility(numerical: &Equations) -> Option<Matrix> {
    let (n, b) = (numerical.size(), numerical.interface_matrix());
    if let Some(states) = &numerical.states {
        let mut tall = Matrix::zeros(states.a.nrows(), b.ncols());
        tall.rows_mut(0, n).copy_from(&b);
        let slopes = solve::solved(states.e.clone(), &tall)?;
        return Some(b.transpose() * slopes.rows(n, n));
    }
    Some(b.transpose() * solve::solved(numerical.matrices.mass.clone(), &b)?)
}

/// The greatest delay of whole samples, from one up to `most`, with which the loop
/// as it runs is stable; `None` if even one sample is not.
pub fn greatest_stable_delay(
    description: &LoopDescription,
    most: usize,
) -> Result<Option<usize>, LoopError> {
    let stable = |samples: usize| -> Result<bool, LoopError> {
        let transfer_system = TransferSystem::Delay { samples: samples as f64 };
        Ok(growing(&LoopDescription { transfer_system, ..description.clone() })? == 0)
    };
    if !stable(1)? {
        return Ok(None);
    }
    Ok(Some(last_before_loss(1, most, stable)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::equations::RelativeDof;
    use numerics::Complex;
    use numerics::second_order::SecondOrder;

    fn scalar(value: f64) -> Matrix {
        Matrix::from_element(1, 1, value)
    }

    fn spring(stiffness: f64) -> Specimen {
        let (mass, damping) = (scalar(0.0), scalar(0.0));
        Specimen {
            matrices: SecondOrder { mass, damping, stiffness: scalar(stiffness) },
            elements: Vec::new(),
        }
    }

    /// A shear building of `n` storeys without the spring in the laboratory.
    fn building(n: usize, ratio: f64, specimen: &Specimen) -> Equations {
        let stiffness = Matrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
            0 if i + 1 == n => 4e5,
            0 => 8e5,
            1 => -4e5,
            _ => 0.0,
        });
        let whole = Equations {
            matrices: SecondOrder {
                mass: Matrix::identity(n, n) * 100.0,
                damping: ratio * &stiffness,
                stiffness,
            },
            load: Matrix::zeros(n, 0),
            interface: vec![RelativeDof::of_dof(0)],
            elements: Vec::new(),
            states: None,
        };
        let mut numerical = whole.clone();
        numerical.matrices.stiffness[(0, 0)] -= specimen.matrices.stiffness[(0, 0)];
        numerical
    }

    #[test]
    fn one_mass_follows_its_closed_form() {
        // m ẍ + c ẋ + k x + k_e x(t − τ) = 0: |k_e| = |k − mω² + jωc|.
        let (m, c, k, k_e) = (100.0, 80.0, 3e5, 1e5);
        let specimen = spring(k_e);
        let part = |stiffness| Equations {
            matrices: SecondOrder {
                mass: scalar(m),
                damping: scalar(c),
                stiffness: scalar(stiffness),
            },
            load: Matrix::zeros(1, 0),
            interface: vec![RelativeDof::of_dof(0)],
            elements: Vec::new(),
            states: None,
        };
        let found = critical_delay(&part(k), &specimen, None).unwrap().unwrap();
        // m²ω⁴ + (c² − 2 k m) ω² + k² − k_e² = 0
        let half = (2.0 * k * m - c * c) / (2.0 * m * m);
        let square = half + (half * half - (k * k - k_e * k_e) / (m * m)).sqrt();
        let omega = square.sqrt();
        // k_e e^{−jωτ} = mω² − k − jωc
        let delay = (omega * c).atan2(m * square - k) / omega;
        assert!((found.frequency_hz * std::f64::consts::TAU / omega - 1.0).abs() < 1e-9);
        assert!((found.delay_s / delay - 1.0).abs() < 1e-7, "{} {delay}", found.delay_s);
    }

    #[test]
    fn any_delay_of_a_spring_drives_a_structure_without_damping() {
        let specimen = spring(1e5);
        let numerical = building(3, 0.0, &specimen);
        let found = critical_delay(&numerical, &specimen, None).unwrap().unwrap();
        assert_eq!(found.delay_s, 0.0);
        assert!(found.frequency_hz.is_finite());
    }

    #[test]
    fn a_tall_building_has_its_critical_delay() {
        let specimen = spring(1e5);
        let numerical = building(60, 1e-4, &specimen);
        let found = critical_delay(&numerical, &specimen, None).unwrap().unwrap();
        let omega = found.frequency_hz * std::f64::consts::TAU;
        let turn = Complex::from_polar(1.0, -omega * found.delay_s);
        let s = Complex::new(0.0, omega);
        let dynamic = numerics::ComplexMatrix::from_fn(60, 60, |i, j| {
            let SecondOrder { mass, damping, stiffness } = &numerical.matrices;
            s * s * mass[(i, j)] + s * damping[(i, j)] + stiffness[(i, j)]
        });
        let b = numerical.interface_matrix().map(Complex::from);
        let receptance = (b.transpose() * dynamic.lu().solve(&b).unwrap())[(0, 0)];
        let gain = receptance * specimen.matrices.stiffness[(0, 0)] * turn;
        assert!((gain + 1.0).norm() < 1e-6, "{gain}");
    }
}
