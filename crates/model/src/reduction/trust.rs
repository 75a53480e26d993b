//! Whether a reduced model may be believed.

use std::f64::consts::TAU;

use nalgebra::{Complex, DMatrix};
use numerics::eigen;
use numerics::second_order::{SecondOrder, is_symmetric};
use numerics::sparse::SparseMatrix;

use super::response::{Response, Spread};
use super::{Component, ReducedModel, ReductionError, Result};
use crate::error::{MatrixName, ModelError};

/// Growth below this part of the greatest |λ| is rounding.
const GROWTH_NOISE: f64 = 1e-10;

/// A negative eigenvalue below this part of the largest is rounding.
const DEFINITE_NOISE: f64 = 1e-10;

/// Eigenvalues below this part of the greatest |λ| are zero where the model has rigid-body
/// modes: rounding parts a double zero by the root of its own size.
const RIGID: f64 = 1e-7;

/// The shift of eigenvalues beside the fastest motion.
const SHIFT: f64 = 1e-3;

/// Reciprocals of eigenvalues below this part of the largest are those of no mass.
const NO_MASS: f64 = 1e-13;

/// An eigenvalue of the stiffness, its diagonal scaled to one, below this part of the largest
/// holds nothing.
const RIGID_STIFFNESS: f64 = 1e-11;

/// A full mode without a reduced one within this part of its |λ| is lacking.
const LACKING: f64 = 0.05;

/// Whether an unstable reduced model may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// Only a stable one.
    StableOnly,
    /// Any, because the user said so.
    Any,
}

/// Eigenvalues that grow and matrices that feed energy.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Eigenvalues with a positive real part beyond rounding, Im ≥ 0, fastest
    /// growth first.
    pub growing: Vec<Complex<f64>>,
    /// Matrices that are not positive semidefinite, with their smallest
    /// eigenvalue over their largest: what keeps the model from being passive.
    pub active: Vec<(MatrixName, f64)>,
}

impl Verdict {
    /// Judges a second-order model. With M > 0, B ≥ 0 and K ≥ 0 it is passive,
    /// and so stable, whatever passive specimen it is joined to.
    pub fn of(model: &ReducedModel) -> Result<Self> {
        let (mut active, mut rigid) = (Vec::new(), 0);
        let floating = model.omega_rad_s.iter().filter(|omega| **omega == 0.0).count();
        for (name, matrix) in MatrixName::ALL.into_iter().zip(model.matrices.each()) {
            let values = eigen::symmetric_eigenvalues(&(0.5 * (matrix + matrix.transpose())))?;
            let (largest, mut values) = (values.amax(), values.as_slice().to_vec());
            if name == MatrixName::Stiffness {
                values.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
                // Of a rigid-body mode there is what rounding leaves of the full stiffness.
                let free = |value: &&f64| value.abs() <= RIGID * largest;
                let zeros = values.iter().take(floating).take_while(free).count();
                values.drain(..zeros);
                let is_rigid = |value: &&f64| value.abs() <= DEFINITE_NOISE * largest;
                rigid = zeros + values.iter().filter(is_rigid).count();
            }
            let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
            if smallest < -DEFINITE_NOISE * largest {
                active.push((name, smallest / largest));
            }
        }
        let symmetric = is_symmetric(&model.matrices.stiffness);
        let growing = match active.is_empty() && symmetric {
            true => Vec::new(),
            false => growing(&elastic(&eigenvalues(model)?, 2 * rigid)),
        };
        Ok(Self { growing, active })
    }

    /// Judges any linear model by its eigenvalues alone, so many of which are those of
    /// rigid-body modes; nothing is said of passivity.
    pub fn of_eigenvalues(values: &[Complex<f64>], rigid: usize) -> Self {
        Self { growing: growing(&elastic(values, rigid)), active: Vec::new() }
    }

    /// Whether nothing grows.
    pub fn is_stable(&self) -> bool {
        self.growing.is_empty()
    }

    /// Whether no motion takes energy out of it.
    pub fn is_passive(&self) -> bool {
        self.growing.is_empty() && self.active.is_empty()
    }

    /// Refuses an unstable model unless told.
    pub fn accept(&self, acceptance: Acceptance) -> Result<()> {
        if self.is_stable() || acceptance == Acceptance::Any {
            return Ok(());
        }
        Err(ReductionError::Unstable(self.offenders()))
    }

    /// The growing modes in words.
    pub fn offenders(&self) -> String {
        let words = self.growing.iter().map(|value| {
            if value.im == 0.0 {
                format!("a motion that grows by {:.3e} 1/s", value.re)
            } else {
                format!("the mode at {:.4} Hz grows by {:.3e} 1/s", value.im / TAU, value.re)
            }
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Eigenvalues of the reduced model.
pub fn eigenvalues(model: &ReducedModel) -> Result<Vec<Complex<f64>>> {
    quadratic_eigenvalues(&model.matrices)
}

/// The finite λ of λ²M + λB + K. Motions without mass have none, whatever the size.
pub(super) fn quadratic_eigenvalues(matrices: &SecondOrder) -> Result<Vec<Complex<f64>>> {
    let massless = matrices.mass.diagonal().iter().position(|mass| *mass == 0.0);
    let Some(dof) = massless else {
        let singular = ReductionError::MassNotPositiveDefinite(0);
        return Ok(eigen::eigenvalues(&matrices.state_matrix().ok_or(singular)?)?);
    };
    // Around a shift, where nothing is singular, by the reciprocals: 1/(λ − s).
    let SecondOrder { mass, damping, stiffness } = matrices;
    let shift = (stiffness.amax() / mass.amax()).sqrt() * SHIFT;
    let reversed = SecondOrder {
        mass: shift * shift * mass + shift * damping + stiffness,
        damping: 2.0 * shift * mass + damping,
        stiffness: mass.clone(),
    };
    let matrix = reversed.state_matrix().ok_or(ReductionError::MassNotPositiveDefinite(dof))?;
    let values = eigen::eigenvalues(&matrix)?;
    let largest = values.iter().map(|value| value.norm()).fold(0.0, f64::max);
    let finite = values.into_iter().filter(|value| value.norm() > NO_MASS * largest);
    Ok(finite.map(|value| value.inv() + shift).collect())
}

/// The values without the slowest `rigid` of them that are zero but for rounding.
pub fn elastic(values: &[Complex<f64>], rigid: usize) -> Vec<Complex<f64>> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.norm().total_cmp(&b.norm()));
    let largest = sorted.last().map_or(0.0, |value| value.norm());
    let is_zero = |value: &&Complex<f64>| value.norm() <= RIGID * largest;
    let zeros = sorted.iter().take(rigid).take_while(is_zero).count();
    sorted.split_off(zeros)
}

/// Those that grow beyond rounding, Im ≥ 0, fastest first.
pub(super) fn growing(values: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let largest = values.iter().map(|value| value.norm()).fold(0.0, f64::max);
    let mut growing: Vec<_> = values
        .iter()
        .filter(|value| value.re > GROWTH_NOISE * largest && value.im >= 0.0)
        .copied()
        .collect();
    growing.sort_by(|a, b| b.re.total_cmp(&a.re));
    growing
}

/// A reduced model against the full one.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// States of the full model.
    pub states_before: usize,
    /// States of the reduced model.
    pub states_after: usize,
    /// The band the two were compared in, up to this circular frequency.
    pub band_rad_s: f64,
    /// The eigenvalues beside those of the full model, see [`matched_eigenvalues`].
    pub eigenvalues: Option<Matching>,
    /// Error of the interface response over the grid.
    pub response: Spread,
    /// Circular frequency at which the response is worst.
    pub worst_rad_s: f64,
    /// Frequencies compared.
    pub points: usize,
    /// Part of the mass under ground motion that the model carries, 0 to 1.
    pub effective_mass: f64,
    /// Stable? Passive?
    pub verdict: Verdict,
}

/// DOFs up to which all eigenvalues of a full model are computed for comparison.
const MOST_DOFS_FOR_EIGENVALUES: usize = 400;

impl Comparison {
    /// Compares at the interface DOFs of the model, given the response of the full
    /// one there.
    pub fn new(component: &Component, model: &ReducedModel, full: &Response) -> Result<Self> {
        let omegas = &full.omegas_rad_s;
        let reduced = Response::of_model(model, omegas)?;
        let none = ModelError::WrongCount { what: "frequencies", given: 0, expected: 1 };
        let response = Spread::of(&reduced.errors(full)).ok_or(none)?;
        let band_rad_s = omegas.iter().copied().fold(0.0, f64::max);
        Ok(Self {
            states_before: 2 * component.size(),
            states_after: model.states(),
            band_rad_s,
            eigenvalues: matched_eigenvalues(component, || eigenvalues(model), band_rad_s)?,
            response,
            worst_rad_s: omegas[response.worst],
            points: omegas.len(),
            effective_mass: model.effective_mass(),
            verdict: Verdict::of(model)?,
        })
    }
}

/// All eigenvalues of a component, densely.
pub fn component_eigenvalues(component: &Component) -> Result<Vec<Complex<f64>>> {
    quadratic_eigenvalues(&component.matrices.map(SparseMatrix::to_dense))
}

/// Modes of the full model beside those of the reduced one, each of which stands for one alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Matching {
    /// Modes of the full model in the band, rigid-body modes left out.
    pub modes: usize,
    /// |λ − λ_full|/|λ_full| of those that the reduced model has; `None` without any.
    pub errors: Option<Spread>,
    /// Circular frequencies of those that it lacks: nothing near them.
    pub lacking_rad_s: Vec<f64>,
}

impl Matching {
    /// Of eigenvalues with Im λ ≥ 0; `None` where the full model has none.
    pub fn new(full: &[Complex<f64>], reduced: &[Complex<f64>]) -> Option<Self> {
        let errors = matched(full, reduced);
        let lacking = full.iter().zip(&errors).filter(|(_, error)| error.is_none());
        let mut lacking_rad_s: Vec<f64> = lacking.map(|(value, _)| value.norm()).collect();
        lacking_rad_s.sort_by(f64::total_cmp);
        let known: Vec<f64> = errors.into_iter().flatten().collect();
        (!full.is_empty()).then(|| Self {
            modes: full.len(),
            errors: Spread::of(&known),
            lacking_rad_s,
        })
    }
}

/// For every full value the relative distance of its own reduced one; `None` where there is
/// none left near it.
fn matched(full: &[Complex<f64>], reduced: &[Complex<f64>]) -> Vec<Option<f64>> {
    let distance = |at: usize, own: usize| (reduced[own] - full[at]).norm() / full[at].norm();
    let mut near: Vec<Vec<usize>> = Vec::new();
    for at in 0..full.len() {
        let mut own: Vec<usize> =
            (0..reduced.len()).filter(|&own| distance(at, own) <= LACKING).collect();
        own.sort_by(|&a, &b| distance(at, a).total_cmp(&distance(at, b)));
        near.push(own);
    }
    let mut pairs: Vec<(usize, usize)> = near
        .iter()
        .enumerate()
        .flat_map(|(at, own)| own.iter().map(move |&own| (at, own)))
        .collect();
    pairs.sort_by(|a, b| distance(a.0, a.1).total_cmp(&distance(b.0, b.1)));
    // The nearest first; then those left over, if others can make room.
    let mut of: Vec<Option<usize>> = vec![None; reduced.len()];
    let mut has = vec![false; full.len()];
    for (at, own) in pairs {
        if !has[at] && of[own].is_none() {
            (has[at], of[own]) = (true, Some(at));
        }
    }
    for at in 0..full.len() {
        if !has[at] {
            make_room(at, &near, &mut of, &mut vec![false; reduced.len()]);
        }
    }
    let mut errors = vec![None; full.len()];
    for (own, at) in of.into_iter().enumerate() {
        if let Some(at) = at {
            errors[at] = Some(distance(at, own));
        }
    }
    errors
}

/// Finds a reduced value for a full one, moving others to their next (Kuhn 1955).
fn make_room(at: usize, near: &[Vec<usize>], of: &mut [Option<usize>], seen: &mut [bool]) -> bool {
    for &own in &near[at] {
        if !seen[own] {
            seen[own] = true;
            if of[own].is_none_or(|other| make_room(other, near, of, seen)) {
                of[own] = Some(at);
                return true;
            }
        }
    }
    false
}

/// The eigenvalues of a component in the band beside those of its reduced model:
/// overdamped motions far beyond it are none of its business. `None` without any,
/// and where the full model is too large for all of them.
pub fn matched_eigenvalues(
    component: &Component,
    own: impl FnOnce() -> Result<Vec<Complex<f64>>>,
    band_rad_s: f64,
) -> Result<Option<Matching>> {
    if component.size() > MOST_DOFS_FOR_EIGENVALUES {
        return Ok(None);
    }
    let rigid = 2 * rigid_modes(component)?;
    let upper = |values: Vec<Complex<f64>>| -> Vec<Complex<f64>> {
        elastic(&values, rigid).into_iter().filter(|value| value.im >= 0.0).collect()
    };
    let mut full = upper(component_eigenvalues(component)?);
    full.retain(|value| value.norm() <= band_rad_s);
    Ok(Matching::new(&full, &upper(own()?)))
}

/// Motions of a component that its stiffness does not hold.
fn rigid_modes(component: &Component) -> Result<usize> {
    let stiffness = component.matrices.stiffness.to_dense();
    // With a unit diagonal metres and radians compare.
    let scale = stiffness.diagonal().map(|k| if k > 0.0 { k.sqrt().recip() } else { 0.0 });
    let scaled = DMatrix::from_fn(scale.len(), scale.len(), |i, j| {
        0.5 * scale[i] * scale[j] * (stiffness[(i, j)] + stiffness[(j, i)])
    });
    let values = eigen::symmetric_eigenvalues(&scaled)?;
    let floor = RIGID_STIFFNESS * values.amax();
    Ok(values.iter().filter(|value| value.abs() <= floor).count())
}

/// For every full eigenvalue with |Im λ| up to the band's end, not a rigid one,
/// the relative distance of the nearest reduced one: how de Kraker's report counts.
pub fn eigenvalue_errors(
    full: &[Complex<f64>],
    reduced: &[Complex<f64>],
    band_rad_s: f64,
) -> Vec<f64> {
    let largest = full.iter().map(|value| value.norm()).fold(0.0, f64::max);
    full.iter()
        .filter(|value| value.im.abs() <= band_rad_s && value.norm() > 1e-9 * largest)
        .map(|value| {
            let near = reduced.iter().map(|own| (own - value).norm()).fold(f64::INFINITY, f64::min);
            near / value.norm()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use nalgebra::DVector;

    use super::*;

    fn pairs(rad_s: &[f64]) -> Vec<Complex<f64>> {
        rad_s.iter().map(|omega| Complex::new(-0.01 * omega, *omega)).collect()
    }

    #[test]
    fn a_reduced_mode_stands_for_one_full_mode_alone() {
        // Two full modes near one reduced one: the nearest error would be 1 %.
        let found = Matching::new(&pairs(&[1.0, 1.02, 3.0]), &pairs(&[1.01, 3.0])).unwrap();
        assert_eq!((found.modes, found.lacking_rad_s.len()), (3, 1));
        assert!(found.lacking_rad_s[0] < 1.03, "{found:?}");
        let none = Matching::new(&pairs(&[1.0, 2.0]), &pairs(&[5.0])).unwrap();
        assert_eq!((none.errors, none.lacking_rad_s.len()), (None, 2));
    }

    #[test]
    fn of_close_modes_each_finds_its_own_where_there_is_room() {
        // The nearest pair first would leave 1.0 with 1.075.
        let found = Matching::new(&pairs(&[1.0, 1.04]), &pairs(&[1.02, 1.075])).unwrap();
        assert!(found.lacking_rad_s.is_empty(), "{found:?}");
        assert!(found.errors.unwrap().max < 0.035, "{found:?}");
    }

    #[test]
    fn a_double_zero_that_rounding_parted_is_rigid_and_slow_motion_is_not() {
        let values = [7e-9, -7e-9, 2.0, -2.0].map(|re| Complex::new(re, 0.0));
        assert_eq!(elastic(&values, 2).len(), 2);
        assert_eq!(elastic(&values, 0).len(), 4);
        let slow = [1e-3, 2.0].map(|re| Complex::new(re, 0.0));
        assert_eq!(elastic(&slow, 2).len(), 2);
        assert!(!Verdict::of_eigenvalues(&slow, 2).is_stable());
        let swings = [Complex::new(7e-9, 0.0), Complex::new(-7e-9, 0.0), Complex::new(-0.1, 2.0)];
        assert!(Verdict::of_eigenvalues(&swings, 2).is_stable());
    }

    #[test]
    fn motions_without_mass_have_no_eigenvalue() {
        // Three springs in a row; the middle DOF has no mass.
        let k = DMatrix::from_row_slice(3, 3, &[4e3, -2e3, 0.0, -2e3, 4e3, -2e3, 0.0, -2e3, 2e3]);
        let m = DMatrix::from_diagonal(&DVector::from_vec(vec![1.0, 0.0, 2.0]));
        let full = SecondOrder { mass: m, damping: 1e-4 * &k, stiffness: k };
        let mut found = quadratic_eigenvalues(&full).unwrap();
        found.retain(|value| value.im > 0.0);
        found.sort_by(|a, b| a.im.total_cmp(&b.im));
        // Condensed: two springs of half the stiffness are one.
        let k = DMatrix::from_row_slice(2, 2, &[3e3, -1e3, -1e3, 1e3]);
        let m = DMatrix::from_diagonal(&DVector::from_vec(vec![1.0, 2.0]));
        let condensed = SecondOrder { mass: m, damping: 1e-4 * &k, stiffness: k };
        let mut exact = quadratic_eigenvalues(&condensed).unwrap();
        exact.retain(|value| value.im > 0.0);
        exact.sort_by(|a, b| a.im.total_cmp(&b.im));
        assert_eq!(found.len(), 2, "{found:?}");
        for (found, exact) in found.iter().zip(&exact) {
            assert!((found - exact).norm() < 1e-9 * exact.norm(), "{found} {exact}");
        }
    }
}
