//! De Kraker's test problems for component mode synthesis, recomputed.
//!
//! The report's figures, and with them the dimensions of its beam, are lost; the
//! dimensions here reproduce all counts it prints: steel, 10 × 9 mm, elements of
//! 50 mm; substructure I clamped with ten elements, II free with eight, one
//! grounded damper of 1000 N·s/m at node 5 of each.

use model::reduction::assembly::{assemble, assemble_components, assemble_states};
use model::reduction::response::{Response, Spread};
use model::reduction::state_space::{
    Completion, StateChoice, StateParts, StateRecipe, reduce_states, state_parts,
};
use model::reduction::trust::{component_eigenvalues, eigenvalue_errors, eigenvalues};
use model::reduction::{Component, Dampers, Method, ModeChoice, Recipe, ReductionError, reduce};
use model::structure::{BeamEnds, BeamSection, MassModel, Support, euler_bernoulli_beam};
use nalgebra::{Complex, DMatrix};
use numerics::sparse::SparseError;

const SECTION: BeamSection =
    BeamSection { flexural_rigidity_n_m2: 127.575, mass_per_length_kg_m: 0.7065 };
const ELEMENT_M: f64 = 0.05;
const DAMPER_N_S_M: f64 = 1000.0;
/// w of node 5, in both substructures.
const DAMPER_DOF: usize = 8;
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
    /// Of the tip, over the widest band looked at.
    response: Response,
}

impl FullBeam {
    /// Couples the substructures as they are.
    pub(super) fn new() -> Result<Self, ReductionError> {
        let component = coupled()?;
        let omegas: Vec<f64> = frequencies().collect();
        let response = Response::of_component(&component, &[TIP], &omegas)?;
        Ok(Self { eigenvalues: component_eigenvalues(&component)?, response })
    }

    /// Real eigenvalues, slowest first.
    pub(super) fn real_eigenvalues(&self) -> Vec<f64> {
        let real = |value: &&Complex<f64>| value.im.abs() < 1e-6 * value.norm();
        let mut real: Vec<f64> =
            self.eigenvalues.iter().filter(real).map(|value| value.re).collect();
        real.sort_by(|a, b| b.total_cmp(a));
        real
    }

    /// One row of the table; |Im λ| or ω up to the cut-off is kept.
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
        let ([one, two], (dofs, joints)) = (beams()?, boundaries(false));
        let reduced = |component: &Component, boundary: &[usize]| {
            let modes = StateChoice::Imaginary { omega_rad_s: cut_off };
            let recipe = StateRecipe { completion, modes, boundary: boundary.to_vec() };
            reduce_states(component, &recipe).map(|reduction| reduction.model)
        };
        let (one, two) = (reduced(&one, &dofs[0])?, reduced(&two, &dofs[1])?);
        let model = assemble_states(&[&one, &two], &joints)?;
        let response = Response::new(self.omegas(cut_off), |omega| {
            model.receptance(omega).ok_or(ReductionError::Sparse(SparseError::Singular))
        })?;
        let (eigenvalues, response) = self.errors(cut_off, &model.eigenvalues()?, &response);
        let (kept, rigid) = ([one.kept.len(), two.kept.len()], two.state_rigid_modes);
        Ok(BeamRow { states: model.states(), kept, rigid, eigenvalues, response })
    }

    fn second_order_row(
        &self,
        cut_off: f64,
        method: Method,
        dampers: bool,
    ) -> Result<BeamRow, ReductionError> {
        let ([one, two], (dofs, joints)) = (beams()?, boundaries(dampers));
        let reduced = |component: &Component, boundary: &[usize]| {
            let modes = ModeChoice::CutOff { omega_rad_s: cut_off };
            let recipe = Recipe::rubin(boundary.to_vec(), modes);
            let recipe = Recipe { method, dampers: Dampers::Inside, ..recipe };
            reduce(component, &recipe).map(|reduction| reduction.model)
        };
        let (one, two) = (reduced(&one, &dofs[0])?, reduced(&two, &dofs[1])?);
        let model = assemble(&[&one, &two], &joints)?;
        let response = Response::of_model(&model, &self.omegas(cut_off))?;
        let (eigenvalues, response) = self.errors(cut_off, &eigenvalues(&model)?, &response);
        let rigid = two.omega_rad_s.iter().filter(|&&omega| omega == 0.0).count();
        let kept = [one.omega_rad_s.len(), two.omega_rad_s.len() - rigid];
        Ok(BeamRow { states: model.states(), kept, rigid, eigenvalues, response })
    }

    /// The frequencies of the table up to a cut-off.
    fn omegas(&self, cut_off: f64) -> Vec<f64> {
        let all = self.response.omegas_rad_s.iter().copied();
        all.take_while(|&omega| omega <= cut_off).collect()
    }

    /// How far eigenvalues and the tip's receptance are off.
    fn errors(
        &self,
        cut_off: f64,
        values: &[Complex<f64>],
        reduced: &Response,
    ) -> (Spread, Spread) {
        let pairs = reduced.receptances.iter().zip(&self.response.receptances);
        let errors: Vec<f64> = pairs
            .map(|(own, full)| (own[(TIP, TIP)] - full[(0, 0)]).norm() / full[(0, 0)].norm())
            .collect();
        let none = Spread { max: f64::NAN, median: f64::NAN, worst: 0 };
        let eigenvalues = eigenvalue_errors(&self.eigenvalues, values, cut_off);
        (Spread::of(&eigenvalues).unwrap_or(none), Spread::of(&errors).unwrap_or(none))
    }
}

/// The frequencies of the table: 300 from 100 to 2000 rad/s evenly by decades,
/// then 1500 evenly up to 50 000 rad/s.
fn frequencies() -> impl Iterator<Item = f64> {
    let slow = (0..300).map(|k| 100.0 * 20_f64.powf(f64::from(k) / 299.0));
    slow.chain((0..1500).map(|k| 2000.0 + 48_000.0 * f64::from(k) / 1499.0))
}

#[cfg(test)]
mod tests;
