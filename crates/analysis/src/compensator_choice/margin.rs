//! The loop around a compensated transfer system: stable or not, and by how much.

use std::f64::consts::{PI, TAU};

use model::equations::Equations;
use model::specimen::Specimen;
use nalgebra::{Complex, DMatrix, DVector};
use numerics::eigen;

use super::response::hold;
use crate::loop_stability::{Curve, LoopGain, margins};

/// The loop without transfer system and compensator: one interface DOF, linear.
#[derive(Debug, Clone, Copy)]
pub struct LoopSide<'a> {
    /// What is simulated.
    pub numerical: &'a Equations,
    /// What stands in the laboratory.
    pub specimen: &'a Specimen,
    /// Whole samples by which the measured force comes late.
    pub force_delay_samples: usize,
}

/// What is expected of a loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoopJudgement {
    /// It is stable; `None` where no delay ever makes it unstable.
    Stable {
        /// Delay it bears beside what it has, s, and the frequency at which it
        /// would then go, Hz.
        margin: Option<(f64, f64)>,
    },
    /// It is not.
    Unstable {
        /// Number of growing motions.
        growing: usize,
    },
}

impl LoopJudgement {
    /// Whether it is stable.
    pub fn is_stable(&self) -> bool {
        matches!(self, Self::Stable { .. })
    }

    /// The delay it bears beside what it has, s; infinite where none harms.
    pub fn margin_s(&self) -> Option<f64> {
        match self {
            Self::Stable { margin } => Some(margin.map_or(f64::INFINITY, |(margin_s, _)| margin_s)),
            Self::Unstable { .. } => None,
        }
    }
}

/// Larger models would make the table slow; they are to be rehearsed.
const MOST_DOFS: usize = 60;

impl LoopSide<'_> {
    /// The lowest natural frequency of the whole structure, Hz.
    pub fn first_mode_hz(&self) -> Option<f64> {
        let b = self.numerical.interface_matrix();
        let whole = |part: &DMatrix<f64>, taken: &DMatrix<f64>| part + &b * taken * b.transpose();
        let stiffness = whole(&self.numerical.stiffness, &self.specimen.stiffness);
        let mass = whole(&self.numerical.mass, &self.specimen.mass);
        let modes = eigen::symmetric_modes(&stiffness, &mass).ok()?;
        let lowest = modes.omega_rad_s.iter().copied().find(|omega| *omega > 0.0)?;
        Some(lowest / TAU)
    }

    /// Judges the loop closed by a tracking response T(s) (achieved over desired):
    ///   1 + bᵀ(s²M + sC + K)⁻¹b (s²m + sc + k) T(s) e^{−s d} hold(s) = 0
    /// by counting how often the left side goes round zero along the imaginary
    /// axis. `None` where the loop is nonlinear, has several interface DOFs, is
    /// large or cannot be counted.
    pub(super) fn judge(
        &self,
        tracking: &dyn Fn(Complex<f64>) -> Complex<f64>,
        step_s: f64,
    ) -> Option<LoopJudgement> {
        let (numerical, specimen) = (self.numerical, self.specimen);
        let plain = numerical.elements.is_empty() && specimen.elements.is_empty();
        if !plain || numerical.interface.len() != 1 || numerical.size() > MOST_DOFS {
            return None;
        }
        let closed = ClosedSide {
            side: self,
            tracking,
            step_s,
            interface: numerical.interface_matrix().column(0).map(Complex::from),
            poles: open_poles(numerical)?,
        };
        let curve = Curve::follow(&closed).ok()?;
        match curve.growing() {
            0 => {
                let margin = margins::delay_margin(&closed, &curve).ok()?;
                let margin = margin.map(|crossing| (crossing.delay_s, crossing.frequency_hz));
                Some(LoopJudgement::Stable { margin })
            }
            growing => Some(LoopJudgement::Unstable { growing }),
        }
    }
}

/// The loop around a tracking response. What tracks is stable by itself, so the
/// poles are those of the numerical part.
struct ClosedSide<'a> {
    side: &'a LoopSide<'a>,
    tracking: &'a dyn Fn(Complex<f64>) -> Complex<f64>,
    step_s: f64,
    interface: DVector<Complex<f64>>,
    poles: Vec<Complex<f64>>,
}

impl LoopGain for ClosedSide<'_> {
    fn highest_rad_s(&self) -> f64 {
        PI / self.step_s
    }

    fn poles(&self) -> &[Complex<f64>] {
        &self.poles
    }

    fn gain(&self, s: Complex<f64>) -> Option<(DMatrix<Complex<f64>>, Complex<f64>)> {
        let (numerical, specimen, b) = (self.side.numerical, self.side.specimen, &self.interface);
        let dynamic = |m: f64, c: f64, k: f64| s * s * m + s * c + k;
        let matrix = DMatrix::from_fn(b.len(), b.len(), |i, j| {
            dynamic(numerical.mass[(i, j)], numerical.damping[(i, j)], numerical.stiffness[(i, j)])
        });
        let solved = matrix.lu().solve(b)?;
        let receptance: Complex<f64> = b.iter().zip(&solved).map(|(b, x)| b * x).sum();
        let impedance =
            dynamic(specimen.mass[(0, 0)], specimen.damping[(0, 0)], specimen.stiffness[(0, 0)]);
        let late_s = self.side.force_delay_samples as f64 * self.step_s;
        let late = (-s * late_s).exp() * hold(s, self.step_s);
        let gain = receptance * impedance * (self.tracking)(s) * late;
        let finite = gain.re.is_finite() && gain.im.is_finite();
        finite.then(|| (DMatrix::from_element(1, 1, gain), Complex::ONE))
    }

    fn has_inner(&self) -> bool {
        false
    }
}

/// Eigenvalues of the numerical part alone.
fn open_poles(numerical: &Equations) -> Option<Vec<Complex<f64>>> {
    let n = numerical.size();
    let inverse = numerical.mass.clone().try_inverse()?;
    let mut system = DMatrix::zeros(2 * n, 2 * n);
    system.view_mut((0, n), (n, n)).fill_with_identity();
    system.view_mut((n, 0), (n, n)).copy_from(&(-&inverse * &numerical.stiffness));
    system.view_mut((n, n), (n, n)).copy_from(&(-&inverse * &numerical.damping));
    let values = eigen::eigenvalues(&system).ok()?;
    Some(values.iter().map(|value| Complex::new(value.re, value.im)).collect())
}
