//! A linear structure M ẍ + C ẋ + K x = −M ι ü_g, or one of first order: its
//! matrices and its DOFs.

mod beam;
mod chain;
pub mod damping;

pub use beam::{
    BeamEnds, BeamSection, MOST_BEAM_ELEMENTS, MassModel, Support, euler_bernoulli_beam,
};
pub(crate) use beam::{bending_mass, bending_stiffness};
pub use chain::{Ends, chain, shear_building};

use nalgebra::{DMatrix, DVector};
use numerics::eigen::{self, Asymmetry, EigenError};
use numerics::second_order::{SecondOrder, is_symmetric};
use serde::{Deserialize, Serialize};

use crate::check::{check_count, check_each, check_finite};
use crate::equations::Descriptor;
use crate::error::{MatrixName, ModelError};

/// Mirrored entries may differ by this part of their size.
const SYMMETRY_TOLERANCE: f64 = 1e-9;

/// A negative eigenvalue of the stiffness may be this part of its largest
/// diagonal entry: the noise of a free-floating structure, or of printed digits.
const SEMIDEFINITE_TOLERANCE: f64 = 1e-9;

/// What a DOF moves along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DofKind {
    /// A displacement in m.
    Translation,
    /// An angle in rad.
    Rotation,
}

/// A linear structure whose matrices have been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    /// M, symmetric and positive definite; C, which gyroscopic forces make
    /// non-symmetric; K, which follower forces make non-symmetric, else positive
    /// semidefinite. All zero for a structure of first order.
    pub matrices: SecondOrder,
    /// ι: the motion of each DOF when the ground moves by one metre.
    pub influence: DVector<f64>,
    /// One name per DOF, all different.
    pub names: Vec<String>,
    /// One kind per DOF.
    pub kinds: Vec<DofKind>,
    /// The equations of a structure of first order.
    pub states: Option<Box<StateForm>>,
}

/// E ẏ = A y + g ü_g, y = (x, v, …) with the DOFs' displacements first.
#[derive(Debug, Clone, PartialEq)]
pub struct StateForm {
    /// E and A.
    pub descriptor: Descriptor,
    /// g: how an acceleration of the ground acts.
    pub ground: DVector<f64>,
}

impl Structure {
    /// A structure of translations named `1`, `2`, … that all follow the ground.
    ///
    /// The matrices must be square, of one size and finite; the mass symmetric to
    /// 1e-9 and positive definite; a symmetric stiffness positive semidefinite, so
    /// a free-floating structure passes.
    pub fn new(
        mass: DMatrix<f64>,
        damping: DMatrix<f64>,
        stiffness: DMatrix<f64>,
    ) -> Result<Self, ModelError> {
        let n = mass.nrows();
        if n == 0 {
            return Err(ModelError::NoDofs);
        }
        let matrices = SecondOrder { mass, damping, stiffness };
        for (name, matrix) in MatrixName::ALL.into_iter().zip(matrices.each()) {
            check_matrix(matrix, name, n)?;
        }
        if let Some(pair) = asymmetry(&matrices.mass) {
            return Err(ModelError::NotSymmetric { matrix: MatrixName::Mass, pair });
        }
        check_mass(&matrices.mass)?;
        if is_symmetric(&matrices.stiffness) {
            check_stiffness(&matrices.stiffness)?;
        }
        Ok(Self::of_translations(matrices, None))
    }

    /// A structure of first order with `dofs` translations named `1`, `2`, ….
    pub fn of_states(states: StateForm, dofs: usize) -> Result<Self, ModelError> {
        let Descriptor { e, a } = &states.descriptor;
        let n = a.nrows();
        if dofs == 0 {
            return Err(ModelError::NoDofs);
        }
        check_matrix(e, MatrixName::Damping, n.max(2 * dofs))?;
        check_matrix(a, MatrixName::Stiffness, n)?;
        check_count("ground excitation of the states", states.ground.len(), n)?;
        let none = SecondOrder { mass: (), damping: (), stiffness: () };
        let matrices = none.map(|()| DMatrix::zeros(dofs, dofs));
        Ok(Self::of_translations(matrices, Some(Box::new(states))))
    }

    fn of_translations(matrices: SecondOrder, states: Option<Box<StateForm>>) -> Self {
        let n = matrices.mass.nrows();
        Self {
            matrices,
            influence: DVector::from_element(n, 1.0),
            names: (1..=n).map(|dof| dof.to_string()).collect(),
            kinds: vec![DofKind::Translation; n],
            states,
        }
    }

    /// The first matrix that is not symmetric, and the pair that differs most.
    pub fn asymmetry(&self) -> Option<(MatrixName, Asymmetry)> {
        let of = |values, matrix| Some((matrix, asymmetry(values)?));
        of(&self.matrices.damping, MatrixName::Damping)
            .or_else(|| of(&self.matrices.stiffness, MatrixName::Stiffness))
    }

    /// The same structure with other names.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self, ModelError> {
        check_count("names of DOFs", names.len(), self.size())?;
        for (index, name) in names.iter().enumerate() {
            if name.trim().is_empty() || names[..index].contains(name) {
                return Err(ModelError::BadName { index, name: name.clone() });
            }
        }
        self.names = names;
        Ok(self)
    }

    /// The same structure with other kinds of DOFs; a rotation no longer
    /// follows the ground.
    pub fn with_kinds(mut self, kinds: Vec<DofKind>) -> Result<Self, ModelError> {
        check_count("kinds of DOFs", kinds.len(), self.size())?;
        for (influence, kind) in self.influence.iter_mut().zip(&kinds) {
            if *kind == DofKind::Rotation {
                *influence = 0.0;
            }
        }
        self.kinds = kinds;
        Ok(self)
    }

    /// The same structure with another influence of the ground.
    pub fn with_influence(mut self, influence: DVector<f64>) -> Result<Self, ModelError> {
        check_count("influence of the ground", influence.len(), self.size())?;
        check_each(check_finite, "influence", &influence)?;
        self.influence = influence;
        Ok(self)
    }

    /// The same structure with another damping matrix.
    pub fn with_damping(mut self, damping: DMatrix<f64>) -> Result<Self, ModelError> {
        check_matrix(&damping, MatrixName::Damping, self.size())?;
        self.matrices.damping = damping;
        Ok(self)
    }

    /// Number of DOFs.
    pub fn size(&self) -> usize {
        self.matrices.mass.nrows()
    }
}

fn check_matrix(
    values: &DMatrix<f64>,
    matrix: MatrixName,
    expected: usize,
) -> Result<(), ModelError> {
    let (rows, columns) = values.shape();
    if rows != columns {
        return Err(ModelError::NotSquare { matrix, rows, columns });
    }
    if rows != expected {
        return Err(ModelError::SizeMismatch { matrix, size: rows, expected });
    }
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        let (row, column, value) = (at % rows, at / rows, values[at]);
        return Err(ModelError::NotFinite { matrix, row, column, value });
    }
    Ok(())
}

/// The pair of entries that differs most from its mirror, beyond rounding.
fn asymmetry(values: &DMatrix<f64>) -> Option<Asymmetry> {
    eigen::worst_asymmetry(values).filter(|pair| pair.relative > SYMMETRY_TOLERANCE)
}

fn check_mass(mass: &DMatrix<f64>) -> Result<(), ModelError> {
    eigen::check_positive_definite(mass).map_err(|error| match error {
        EigenError::MassNotPositiveDefinite(row) => {
            ModelError::MassNotPositiveDefinite { row, diagonal: mass[(row, row)] }
        }
        other => other.into(),
    })
}

/// K + tolerance is tried by Cholesky; only a stiffness that fails pays for
/// the eigenvalue that the message names.
fn check_stiffness(stiffness: &DMatrix<f64>) -> Result<(), ModelError> {
    let n = stiffness.nrows();
    let largest = stiffness.amax();
    if largest == 0.0 {
        return Ok(());
    }
    let scaled = stiffness / largest;
    let shifted = &scaled + DMatrix::identity(n, n) * SEMIDEFINITE_TOLERANCE;
    if eigen::check_positive_definite(&shifted).is_ok() {
        return Ok(());
    }
    let smallest = eigen::smallest_symmetric_eigenvalue(&scaled)?;
    if smallest >= -SEMIDEFINITE_TOLERANCE {
        return Ok(());
    }
    Err(ModelError::StiffnessNotPositiveSemidefinite(smallest * largest))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Structure {
        /// Position of the DOF called `name`, counted from 0.
        pub(crate) fn dof(&self, name: &str) -> Option<usize> {
            self.names.iter().position(|candidate| candidate == name)
        }

        /// Undamped modes, slowest first.
        pub(crate) fn modes(&self) -> Result<eigen::Modes, ModelError> {
            Ok(eigen::symmetric_modes(&self.matrices.stiffness, &self.matrices.mass)?)
        }

        /// Damping ratio φᵀ C φ / 2ω of each mode, 0 for a rigid-body mode.
        ///
        /// Exact for damping the modes diagonalise; for any other, the ratio that
        /// the coupling between modes leaves unchanged to first order.
        pub(crate) fn damping_ratios(&self) -> Result<DVector<f64>, ModelError> {
            let modes = self.modes()?;
            Ok(damping::ratios(&self.matrices.damping, &modes))
        }
    }

    fn pair(a: f64, b: f64, c: f64, d: f64) -> DMatrix<f64> {
        DMatrix::from_row_slice(2, 2, &[a, b, c, d])
    }

    #[test]
    fn the_worst_pair_is_named_as_the_engineer_counts() {
        let error = Structure::new(
            pair(2.0, -1.0, -1.001, 2.0),
            DMatrix::zeros(2, 2),
            DMatrix::identity(2, 2),
        )
        .unwrap_err();
        let text = error.to_string();
        assert!(text.contains("mass matrix is not symmetric"), "{text}");
        assert!(text.contains("row 1, column 2 is -1 but row 2, column 1 is -1.001"), "{text}");
        assert!(
            Structure::new(
                pair(2.0, -1.0, -1.0 - 1e-10, 2.0),
                DMatrix::zeros(2, 2),
                DMatrix::identity(2, 2)
            )
            .is_ok()
        );
    }

    #[test]
    fn gyroscopic_damping_and_follower_forces_are_let_in_and_told() {
        let rotor = Structure::new(
            DMatrix::identity(2, 2),
            pair(0.0, 3.0, -3.0, 0.0),
            pair(-1.0, 4.0, 0.5, 2.0),
        )
        .unwrap();
        let (matrix, worst) = rotor.asymmetry().unwrap();
        assert_eq!((matrix, worst.row, worst.column), (MatrixName::Damping, 0, 1));
        let plain =
            Structure::new(DMatrix::identity(2, 2), DMatrix::zeros(2, 2), pair(1., 0., 0., 1.));
        assert!(plain.unwrap().asymmetry().is_none());
    }

    #[test]
    fn free_floating_passes_and_an_indefinite_stiffness_does_not() {
        let build =
            |k: DMatrix<f64>| Structure::new(DMatrix::identity(2, 2), DMatrix::zeros(2, 2), k);
        assert!(build(pair(1e6, -1e6, -1e6, 1e6)).is_ok());
        assert!(build(DMatrix::zeros(2, 2)).is_ok());
        let error = build(pair(1e6, -2e6, -2e6, 1e6)).unwrap_err();
        let ModelError::StiffnessNotPositiveSemidefinite(eigenvalue) = error else {
            panic!("{error}")
        };
        assert!((eigenvalue + 1e6).abs() < 1.0);
    }

    #[test]
    fn every_matrix_is_checked_for_shape_and_numbers() {
        let (one, zero) = (DMatrix::identity(2, 2), DMatrix::zeros(2, 2));
        let nan = pair(1.0, f64::NAN, 0.0, 1.0);
        let error = Structure::new(one.clone(), nan, zero.clone()).unwrap_err();
        assert!(matches!(
            error,
            ModelError::NotFinite { matrix: MatrixName::Damping, row: 0, column: 1, .. }
        ));
        let error = Structure::new(one.clone(), DMatrix::zeros(3, 3), zero.clone()).unwrap_err();
        assert!(matches!(error, ModelError::SizeMismatch { size: 3, expected: 2, .. }));
        let error = Structure::new(one, DMatrix::zeros(2, 3), zero.clone()).unwrap_err();
        assert!(matches!(error, ModelError::NotSquare { rows: 2, columns: 3, .. }));
        let error =
            Structure::new(pair(1.0, 0.0, 0.0, 0.0), zero.clone(), zero.clone()).unwrap_err();
        assert_eq!(error, ModelError::MassNotPositiveDefinite { row: 1, diagonal: 0.0 });
        let none = DMatrix::zeros(0, 0);
        assert_eq!(Structure::new(none.clone(), none.clone(), none), Err(ModelError::NoDofs));
    }

    #[test]
    fn names_are_found_and_must_differ() {
        let (one, zero) = (DMatrix::identity(2, 2), DMatrix::zeros(2, 2));
        let structure = Structure::new(one, zero.clone(), zero).unwrap();
        assert_eq!(structure.dof("2"), Some(1));
        let named = structure.clone().with_names(vec!["roof".into(), "base".into()]).unwrap();
        assert_eq!((named.dof("base"), named.dof("2")), (Some(1), None));
        let error = structure.clone().with_names(vec!["a".into(), "a".into()]).unwrap_err();
        assert_eq!(error, ModelError::BadName { index: 1, name: "a".into() });
        assert!(structure.clone().with_names(vec!["a".into()]).is_err());
        let turned = structure.with_kinds(vec![DofKind::Translation, DofKind::Rotation]).unwrap();
        assert_eq!(turned.influence.as_slice(), [1.0, 0.0]);
    }
}
