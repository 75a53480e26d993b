//! Plane Euler–Bernoulli beams of equal two-node elements.

use keys::Keys;
use nalgebra::{DMatrix, SMatrix};

use super::{DofKind, Structure};
use crate::check::{check_positive, require};
use crate::error::ModelError;

/// Elements beyond this make dense matrices of gigabytes.
/// Most elements of a beam.
pub const MOST_BEAM_ELEMENTS: usize = 2000;

/// What the beam is made of, per unit length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeamSection {
    /// E I.
    pub flexural_rigidity_n_m2: f64,
    /// ρ A.
    pub mass_per_length_kg_m: f64,
}

/// How one end of a beam is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Moves and turns.
    Free,
    /// Turns but does not move.
    Pinned,
    /// Moves but does not turn.
    Guided,
    /// Neither.
    Clamped,
}

impl Support {
    fn holds(self, dof: DofKind) -> bool {
        match self {
            Self::Free => false,
            Self::Pinned => dof == DofKind::Translation,
            Self::Guided => dof == DofKind::Rotation,
            Self::Clamped => true,
        }
    }
}

/// Both ends of a beam.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeamEnds {
    /// At x = 0.
    pub left: Support,
    /// At x = length.
    pub right: Support,
}

impl BeamEnds {
    /// Clamped at the left, free at the right.
    pub const CANTILEVER: Self = Self { left: Support::Clamped, right: Support::Free };
}

/// How the mass of an element reaches its DOFs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum MassModel {
    /// From the same shape functions as the stiffness.
    ///
    /// They are cubic: frequencies converge from above with the fourth power of the element length.
    Consistent,
    /// Concentrated in the nodes.
    ///
    /// Diagonal of the consistent mass, scaled to keep the total mass (Hinton, Rock & Zienkiewicz
    /// 1976).
    Lumped,
}

/// An undamped beam with a deflection `w` and a rotation `th` per node.
///
/// Nodes count from 0 at the left end to `elements` at the right; DOFs at the
/// supports are left out. Deflections follow the ground, rotations do not.
pub fn euler_bernoulli_beam(
    section: BeamSection,
    elements: usize,
    length_m: f64,
    ends: BeamEnds,
    mass_model: MassModel,
) -> Result<Structure, ModelError> {
    check_positive("flexural rigidity", section.flexural_rigidity_n_m2)?;
    check_positive("mass per length", section.mass_per_length_kg_m)?;
    check_positive("length", length_m)?;
    let good = (1..=MOST_BEAM_ELEMENTS).contains(&elements);
    require(good, "elements", elements as f64, "from 1 to 2000")?;
    let h = length_m / elements as f64;
    let flexural = section.flexural_rigidity_n_m2 / (h * h * h);
    let element_stiffness = scaled(bending_stiffness(h), flexural);
    let element_mass = element_mass(section.mass_per_length_kg_m, h, mass_model);

    // w of node i at 2i, its rotation at 2i + 1.
    let kind = |dof: usize| [DofKind::Translation, DofKind::Rotation][dof % 2];
    let is_held = |dof: usize| {
        (dof / 2 == 0 && ends.left.holds(kind(dof)))
            || (dof / 2 == elements && ends.right.holds(kind(dof)))
    };
    let size = 2 * (elements + 1);
    let kept: Vec<usize> = (0..size).filter(|&dof| !is_held(dof)).collect();
    if kept.is_empty() {
        return Err(ModelError::NoDofs);
    }
    let assembled = |element_matrix: SMatrix<f64, 4, 4>| {
        let mut matrix = DMatrix::zeros(size, size);
        for element in 0..elements {
            let mut block = matrix.fixed_view_mut::<4, 4>(2 * element, 2 * element);
            block += element_matrix;
        }
        matrix.select_rows(&kept).select_columns(&kept)
    };
    let name = |&dof: &usize| match kind(dof) {
        DofKind::Rotation => format!("th{}", dof / 2),
        DofKind::Translation => format!("w{}", dof / 2),
    };
    let damping = DMatrix::zeros(kept.len(), kept.len());
    Structure::new(assembled(element_mass), damping, assembled(element_stiffness))?
        .with_names(kept.iter().map(name).collect())?
        .with_kinds(kept.iter().map(|&dof| kind(dof)).collect())
}

/// Stiffness of a beam of length h over EI/h³: deflection and rotation of both ends.
#[rustfmt::skip]
pub(crate) fn bending_stiffness(h: f64) -> [[f64; 4]; 4] {
    [
        [12.0,     6.0 * h,       -12.0,     6.0 * h],
        [6.0 * h,  4.0 * h * h,   -6.0 * h,  2.0 * h * h],
        [-12.0,    -6.0 * h,      12.0,      -6.0 * h],
        [6.0 * h,  2.0 * h * h,   -6.0 * h,  4.0 * h * h],
    ]
}

/// Its consistent mass over m h/420, m per length.
#[rustfmt::skip]
pub(crate) fn bending_mass(h: f64) -> [[f64; 4]; 4] {
    [
        [156.0,     22.0 * h,      54.0,      -13.0 * h],
        [22.0 * h,  4.0 * h * h,   13.0 * h,  -3.0 * h * h],
        [54.0,      13.0 * h,      156.0,     -22.0 * h],
        [-13.0 * h, -3.0 * h * h,  -22.0 * h, 4.0 * h * h],
    ]
}

fn scaled(shape: [[f64; 4]; 4], factor: f64) -> SMatrix<f64, 4, 4> {
    SMatrix::from_fn(|i, j| shape[i][j]) * factor
}

fn element_mass(mass_per_length: f64, h: f64, model: MassModel) -> SMatrix<f64, 4, 4> {
    match model {
        MassModel::Consistent => scaled(bending_mass(h), mass_per_length * h / 420.0),
        MassModel::Lumped => {
            let diagonal = [39.0, h * h, 39.0, h * h].map(|d| d * mass_per_length * h / 78.0);
            SMatrix::<f64, 4, 4>::from_diagonal(&diagonal.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTION: BeamSection =
        BeamSection { flexural_rigidity_n_m2: 2.1e4, mass_per_length_kg_m: 7.8 };
    const LENGTH: f64 = 1.7;

    fn frequencies(elements: usize, ends: BeamEnds, model: MassModel) -> Vec<f64> {
        let beam = euler_bernoulli_beam(SECTION, elements, LENGTH, ends, model).unwrap();
        beam.modes().unwrap().omega_rad_s.iter().copied().collect()
    }

    /// ω of an exact mode with the given βL.
    fn exact(beta_l: f64) -> f64 {
        (beta_l / LENGTH).powi(2)
            * (SECTION.flexural_rigidity_n_m2 / SECTION.mass_per_length_kg_m).sqrt()
    }

    /// Roots of cos βL cosh βL = −1, to the last digit.
    const CANTILEVER: [f64; 3] = [1.8751040687119611, 4.694091132974174, 7.854757438237613];

    #[test]
    fn cantilever_converges_from_above_with_order_four() {
        for (mode, beta_l) in CANTILEVER.into_iter().enumerate() {
            let error = |elements: usize| {
                let found = frequencies(elements, BeamEnds::CANTILEVER, MassModel::Consistent);
                found[mode] / exact(beta_l) - 1.0
            };
            let (coarse, fine) = (error(8), error(16));
            assert!(coarse > 0.0 && fine > 0.0);
            let order = (coarse / fine).log2();
            assert!((order - 4.0).abs() < 0.15, "mode {}: order {order}", mode + 1);
        }
    }

    #[test]
    fn other_supports_meet_their_closed_forms() {
        use std::f64::consts::PI;
        const ELEMENTS: usize = 24;
        let consistent =
            |left, right| frequencies(ELEMENTS, BeamEnds { left, right }, MassModel::Consistent);
        // The leading error of cubic elements in ω is (βh)⁴/1440.
        let check = |found: f64, beta_l: f64| {
            let leading = (beta_l / ELEMENTS as f64).powi(4) / 1440.0;
            let error = found / exact(beta_l) - 1.0;
            assert!((error / leading - 1.0).abs() < 0.1, "βL {beta_l}: {error:e} {leading:e}");
        };
        let simple = consistent(Support::Pinned, Support::Pinned);
        let guided = consistent(Support::Guided, Support::Pinned);
        for mode in 0..4 {
            check(simple[mode], (mode as f64 + 1.0) * PI);
            check(guided[mode], (mode as f64 + 0.5) * PI);
        }
        // Free–free: two rigid-body modes, then the clamped–clamped frequencies.
        let free = consistent(Support::Free, Support::Free);
        let clamped = consistent(Support::Clamped, Support::Clamped);
        assert!(free[1] < 1e-3 * free[2]);
        for (mode, beta_l) in [4.730040744862704, 7.853204624095838].into_iter().enumerate() {
            check(free[mode + 2], beta_l);
            check(clamped[mode], beta_l);
        }
    }

    #[test]
    fn a_fine_mesh_keeps_the_digits_of_its_slow_modes() {
        // ω² spans twelve decades here; a direct solution is off by 1e-5.
        let ends = BeamEnds::CANTILEVER;
        let beam = euler_bernoulli_beam(SECTION, 200, LENGTH, ends, MassModel::Consistent).unwrap();
        let modes = beam.modes().unwrap();
        for (mode, beta_l) in CANTILEVER.into_iter().enumerate() {
            let error = modes.omega_rad_s[mode] / exact(beta_l) - 1.0;
            assert!(error.abs() < 2e-7, "mode {}: {error:e}", mode + 1);
        }
        assert!(modes.omega_rad_s.as_slice().is_sorted());
        let unit = modes.shapes.transpose() * &beam.matrices.mass * &modes.shapes;
        let error = (unit - DMatrix::identity(beam.size(), beam.size())).amax();
        assert!(error < 1e-11, "{error:e}");
    }

    #[test]
    fn lumped_mass_is_diagonal_keeps_the_total_and_converges() {
        let free = BeamEnds { left: Support::Free, right: Support::Free };
        for model in [MassModel::Lumped, MassModel::Consistent] {
            let beam = euler_bernoulli_beam(SECTION, 5, LENGTH, free, model).unwrap();
            let total = beam.influence.dot(&(&beam.matrices.mass * &beam.influence));
            assert!((total / (7.8 * LENGTH) - 1.0).abs() < 1e-13);
        }
        let error = |elements| {
            let found = frequencies(elements, BeamEnds::CANTILEVER, MassModel::Lumped);
            (found[0] / exact(CANTILEVER[0]) - 1.0).abs()
        };
        assert!((error(8) / error(16)).log2() > 1.8);
        let beam = euler_bernoulli_beam(SECTION, 3, LENGTH, free, MassModel::Lumped)
            .unwrap()
            .matrices
            .mass;
        assert_eq!(beam, DMatrix::from_diagonal(&beam.diagonal()));
    }

    #[test]
    fn tip_stiffness_of_a_cantilever_is_exact() {
        let ends = BeamEnds::CANTILEVER;
        let beam = euler_bernoulli_beam(SECTION, 4, LENGTH, ends, MassModel::Consistent).unwrap();
        let tip = beam.dof("w4").unwrap();
        let flexibility = beam.matrices.stiffness.clone().try_inverse().unwrap()[(tip, tip)];
        let analytic = LENGTH.powi(3) / (3.0 * SECTION.flexural_rigidity_n_m2);
        assert!((flexibility / analytic - 1.0).abs() < 1e-11);
    }

    #[test]
    fn names_kinds_and_influence_follow_the_nodes() {
        let ends = BeamEnds { left: Support::Pinned, right: Support::Guided };
        let beam = euler_bernoulli_beam(SECTION, 2, LENGTH, ends, MassModel::Consistent).unwrap();
        assert_eq!(beam.names, ["th0", "w1", "th1", "w2"]);
        assert_eq!(beam.influence.as_slice(), [0.0, 1.0, 0.0, 1.0]);
        assert_eq!(beam.kinds[0], DofKind::Rotation);
        let clamped = BeamEnds { left: Support::Clamped, right: Support::Clamped };
        let build = |elements, length| {
            euler_bernoulli_beam(SECTION, elements, length, clamped, MassModel::Consistent)
        };
        assert_eq!(build(1, 1.0), Err(ModelError::NoDofs));
        assert!(build(0, 1.0).is_err() && build(usize::MAX, 1.0).is_err());
        assert!(build(2, -1.0).is_err() && build(2, f64::NAN).is_err());
    }
}
