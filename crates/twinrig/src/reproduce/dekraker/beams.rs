//! De Kraker's test problems for component mode synthesis, recomputed.
//!
//! The report's figures, and with them the dimensions of its beam, are lost; the
//! dimensions here reproduce all counts it prints: steel, 10 × 9 mm, elements of
//! 50 mm; substructure I clamped with ten elements, II free with eight, one
//! grounded damper of 1000 N·s/m at node 5 of each.

use model::reduction::assembly::{assemble, assemble_components, assemble_states};
use model::reduction::response::Spread;
use model::reduction::state_space::{
    Completion, StateChoice, StateModel, StateParts, StateRecipe, reduce_states, state_parts,
};
use model::reduction::trust::{component_eigenvalues, eigenvalue_errors, eigenvalues};
use model::reduction::{
    Component, Dampers, Method, ModeChoice, Recipe, ReducedModel, ReductionError, reduce,
};
use model::structure::{BeamEnds, BeamSection, MassModel, Support, euler_bernoulli_beam};
use nalgebra::{Complex, DMatrix};
use numerics::resolvent::Resolvent;
use numerics::second_order::SecondOrder;
use numerics::sparse::SparseMatrix;

const SECTION: BeamSection =
    BeamSection { flexural_rigidity_n_m2: 127.575, mass_per_length_kg_m: 0.7065 };
const ELEMENT_M: f64 = 0.05;
const DAMPER_N_S_M: f64 = 1000.0;
/// w of node 5, in both substructures.
const DAMPER_DOF: usize = 8;
/// The widest band looked at.
const BAND_RAD_S: f64 = 5e4;
/// The tip's deflection among the joints.
const TIP: usize = 2;

/// The bar of appendix A, DOFs u1 to u4: B = 0.1 K, and a damper to the ground at
/// DOF 2 if it is not zero.
fn bar(grounded_n_s_m: f64) -> Result<Component, ReductionError> {
    let k = [1.0, -1.0, 0.0, 0.0, -1.0, 2.0, -1.0, 0.0, 0.0, -1.0, 2.0, -1.0, 0.0, 0.0, -1.0, 1.0];
    let m = [2.0, 1.0, 0.0, 0.0, 1.0, 4.0, 1.0, 0.0, 0.0, 1.0, 4.0, 1.0, 0.0, 0.0, 1.0, 2.0];
    let (k, m) = (DMatrix::from_row_slice(4, 4, &k), DMatrix::from_row_slice(4, 4, &m));
    let mut b: DMatrix<f64> = 0.1 * &k;
    b[(1, 1)] += grounded_n_s_m;
    Component::from_dense(&m, &b, &k)
}

/// Eigenvalues, state rigid-body modes and flexibility modes of the bar with its
/// ends u1 and u4 as boundary.
pub(super) fn bar_parts(grounded_n_s_m: f64) -> Result<StateParts, ReductionError> {
    state_parts(&bar(grounded_n_s_m)?, &[0, 3], 1.0)
}

/// Both substructures, I and II.
fn beams() -> Result<[Component; 2], ReductionError> {
    let free = BeamEnds { left: Support::Free, right: Support::Free };
    let beam = |elements: usize, ends| -> Result<Component, ReductionError> {
        let length = ELEMENT_M * elements as f64;
        let beam = euler_bernoulli_beam(SECTION, elements, length, ends, MassModel::Consistent);
        Component::from_structure(&beam?)?.with_damper(None, Some(DAMPER_DOF), DAMPER_N_S_M)
    };
    Ok([beam(10, BeamEnds::CANTILEVER)?, beam(8, free)?])
}

/// Boundary DOFs of I and II, without and with the dampers', and the joints.
fn boundaries(dampers: bool) -> ([Vec<usize>; 2], [Vec<usize>; 2]) {
    let (mut dofs, mut joints) =
        ([vec![18, 19], vec![0, 1, 16, 17]], [vec![0, 1], vec![0, 1, TIP, 3]]);
    if dampers {
        for (side, joint) in [4, 5].into_iter().enumerate() {
            dofs[side].push(DAMPER_DOF);
            joints[side].push(joint);
        }
    }
    (dofs, joints)
}

/// How one row of the table was reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variant {
    /// State space, as the report.
    StateSpace(Completion),
    /// Real modes and real matrices.
    SecondOrder {
        /// The method.
        method: Method,
        /// Whether the damper DOFs are in the boundary set.
        dampers: bool,
    },
}

/// One reduction of the coupled beam.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BeamRow {
    /// |Im λ| or ω up to this is kept.
    pub(super) cut_off_rad_s: f64,
    /// How.
    pub(super) variant: Variant,
    /// States of the coupled reduced model.
    pub(super) states: usize,
    /// Modes kept of I and II, rigid ones left out.
    pub(super) kept: [usize; 2],
    /// State rigid-body modes of II; of the second-order methods rigid-body modes.
    pub(super) rigid: usize,
    /// Error of the eigenvalues in the band.
    pub(super) eigenvalues: Spread,
    /// Error of the tip's receptance in the band.
    pub(super) response: Spread,
    /// Largest real part.
    pub(super) growth_1_s: f64,
}

/// The substructures coupled as they are.
fn coupled() -> Result<Component, ReductionError> {
    let [one, two] = beams()?;
    let (dofs, joints) = boundaries(false);
    assemble_components(&[&one, &two], &dofs, &joints)
}

/// The coupled beam in full.
#[derive(Debug, Clone)]
pub(super) struct FullBeam {
    /// All eigenvalues.
    pub(super) eigenvalues: Vec<Complex<f64>>,
    response: Resolvent,
}

impl FullBeam {
    /// Couples the substructures as they are.
    pub(super) fn new() -> Result<Self, ReductionError> {
        let component = coupled()?;
        let eigenvalues = component_eigenvalues(&component)?;
        let response = second_order_response(&component.matrices.map(SparseMatrix::to_dense))?;
        Ok(Self { eigenvalues, response })
    }

    /// Real eigenvalues, slowest first.
    pub(super) fn real_eigenvalues(&self) -> Vec<f64> {
        let real = |value: &&Complex<f64>| value.im.abs() < 1e-6 * value.norm();
        let mut real: Vec<f64> =
            self.eigenvalues.iter().filter(real).map(|value| value.re).collect();
        real.sort_by(|a, b| b.total_cmp(a));
        real
    }

    /// One row of the table.
    pub(super) fn row(
        &self,
        cut_off_rad_s: f64,
        variant: Variant,
    ) -> Result<BeamRow, ReductionError> {
        match variant {
            Variant::StateSpace(completion) => self.state_row(cut_off_rad_s, completion),
            Variant::SecondOrder { method, dampers } => {
                self.second_order_row(cut_off_rad_s, method, dampers)
            }
        }
    }

    fn state_row(&self, cut_off: f64, completion: Completion) -> Result<BeamRow, ReductionError> {
        let (model, parts) = coupled_states(cut_off, completion)?;
        let values = model.eigenvalues()?;
        let (a, b) = model.first_order(model::reduction::trust::Acceptance::Any)?;
        // Boundary velocities in units of the cut-off, or rounding eats the response.
        let joints = model.boundary.len();
        let is_velocity = |k: usize| (joints..2 * joints).contains(&k);
        let scale = |k: usize| if is_velocity(k) { cut_off } else { 1.0 };
        let a = DMatrix::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] * scale(j) / scale(i));
        let b = DMatrix::from_fn(b.nrows(), 1, |i, _| b[(i, TIP)] / scale(i));
        let reduced = Resolvent::new(&a, &b, &unit_row(TIP, model.states()));
        let kept = [parts[0].kept.len(), parts[1].kept.len()];
        let rigid = parts[1].state_rigid_modes;
        let variant = Variant::StateSpace(completion);
        Ok(self.judged(cut_off, variant, model.states(), kept, rigid, &values, &reduced))
    }

    fn second_order_row(
        &self,
        cut_off: f64,
        method: Method,
        dampers: bool,
    ) -> Result<BeamRow, ReductionError> {
        let (model, parts) = coupled_second_order(cut_off, method, dampers)?;
        let reduced = second_order_response(&model.matrices)?;
        let rigid = parts[1].omega_rad_s.iter().filter(|&&omega| omega == 0.0).count();
        let kept = [parts[0].omega_rad_s.len(), parts[1].omega_rad_s.len() - rigid];
        let variant = Variant::SecondOrder { method, dampers };
        let values = eigenvalues(&model)?;
        Ok(self.judged(cut_off, variant, model.states(), kept, rigid, &values, &reduced))
    }

    fn judged(
        &self,
        cut_off_rad_s: f64,
        variant: Variant,
        states: usize,
        kept: [usize; 2],
        rigid: usize,
        values: &[Complex<f64>],
        reduced: &Resolvent,
    ) -> BeamRow {
        let at = |response: &Resolvent, omega: f64| {
            response.at(Complex::new(0.0, omega)).map_or(Complex::ZERO, |h| h[(0, 0)])
        };
        let errors: Vec<f64> = frequencies()
            .filter(|&omega| omega <= cut_off_rad_s)
            .map(|omega| {
                let full = at(&self.response, omega);
                (at(reduced, omega) - full).norm() / full.norm()
            })
            .collect();
        let eigen = eigenvalue_errors(&self.eigenvalues, values, cut_off_rad_s);
        let none = Spread { max: f64::NAN, median: f64::NAN, worst: 0 };
        BeamRow {
            cut_off_rad_s,
            variant,
            states,
            kept,
            rigid,
            eigenvalues: Spread::of(&eigen).unwrap_or(none),
            response: Spread::of(&errors).unwrap_or(none),
            growth_1_s: values.iter().map(|value| value.re).fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// The frequencies of the table: 300 from 100 to 2000 rad/s evenly by decades,
/// then 1500 evenly up to 50 000 rad/s.
fn frequencies() -> impl Iterator<Item = f64> {
    let slow = (0..300).map(|k| 100.0 * 20_f64.powf(f64::from(k) / 299.0));
    slow.chain((0..1500).map(|k| 2000.0 + 48_000.0 * f64::from(k) / 1499.0))
}

fn unit_row(place: usize, size: usize) -> DMatrix<f64> {
    let mut row = DMatrix::zeros(1, size);
    row[(0, place)] = 1.0;
    row
}

/// Receptance of the tip from M, B and K; velocities in units of the band, or
/// rounding eats the response.
fn second_order_response(matrices: &SecondOrder) -> Result<Resolvent, ReductionError> {
    let SecondOrder { mass, damping, stiffness } = matrices;
    let n = mass.nrows();
    let factor = mass.clone().cholesky().ok_or(ReductionError::MassNotPositiveDefinite(0))?;
    let mut a = DMatrix::zeros(2 * n, 2 * n);
    a.view_mut((0, n), (n, n)).fill_diagonal(BAND_RAD_S);
    a.view_mut((n, 0), (n, n)).copy_from(&(factor.solve(stiffness) / -BAND_RAD_S));
    a.view_mut((n, n), (n, n)).copy_from(&-factor.solve(damping));
    let mut b = DMatrix::zeros(2 * n, 1);
    let push = factor.solve(&unit_row(TIP, n).transpose());
    b.rows_mut(n, n).copy_from(&(push / BAND_RAD_S));
    Ok(Resolvent::new(&a, &b, &unit_row(TIP, 2 * n)))
}

fn coupled_states(
    cut_off: f64,
    completion: Completion,
) -> Result<(StateModel, [StateModel; 2]), ReductionError> {
    let components = beams()?;
    let (dofs, joints) = boundaries(false);
    let reduced = |side: usize| {
        let modes = StateChoice::Imaginary { omega_rad_s: cut_off };
        let recipe = StateRecipe { completion, modes, boundary: dofs[side].clone() };
        Ok::<_, ReductionError>(reduce_states(&components[side], &recipe)?.model)
    };
    let parts = [reduced(0)?, reduced(1)?];
    Ok((assemble_states(&[&parts[0], &parts[1]], &joints)?, parts))
}

fn coupled_second_order(
    cut_off: f64,
    method: Method,
    dampers: bool,
) -> Result<(ReducedModel, [ReducedModel; 2]), ReductionError> {
    let components = beams()?;
    let (dofs, joints) = boundaries(dampers);
    let reduced = |side: usize| {
        let recipe = Recipe {
            method,
            dampers: Dampers::Inside,
            ..Recipe::rubin(dofs[side].clone(), ModeChoice::CutOff { omega_rad_s: cut_off })
        };
        Ok::<_, ReductionError>(reduce(&components[side], &recipe)?.model)
    };
    let parts = [reduced(0)?, reduced(1)?];
    Ok((assemble(&[&parts[0], &parts[1]], &joints)?, parts))
}

#[cfg(test)]
mod tests;
