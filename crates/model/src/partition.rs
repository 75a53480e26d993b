//! Splitting a structure into what is simulated and what stands in the laboratory.

use nalgebra::{DMatrix, DVector};
use numerics::eigen;
use thiserror::Error;

use crate::equations::{Deformation, Equations, PlacedElement};
use crate::specimen::Specimen;
use crate::structure::Structure;

/// Why a structure cannot be split as asked.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PartitionError {
    /// The specimen takes more mass than the structure has there.
    #[error(
        "the specimen takes more mass than the structure has: the smallest eigenvalue of what is \
         left is {smallest:.4e} kg. Give the specimen less than the structure's mass at its DOF"
    )]
    NoMassLeft {
        /// Smallest eigenvalue of the numerical mass.
        smallest: f64,
    },
    /// A DOF beyond the structure.
    #[error("interface DOF {dof} does not exist: the structure has {size}")]
    NoSuchDof {
        /// Counted from 1.
        dof: usize,
        /// DOFs of the structure.
        size: usize,
    },
    /// Two interface DOFs move the same way.
    #[error("interface DOFs {first} and {second} are the same deformation")]
    Repeated {
        /// Counted from 1.
        first: usize,
        /// Counted from 1.
        second: usize,
    },
}

/// The excitation's place in the equations.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadPattern {
    /// Acceleration of the ground, m/s²: −M ι on the whole structure.
    Ground,
    /// A force at one DOF, N.
    Force {
        /// Counted from 0.
        dof: usize,
    },
}

/// Both sides of the cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Substructures {
    /// The structure as if it were built, specimen included.
    pub whole: Equations,
    /// What is simulated. The whole mass is excited by the ground: the
    /// specimen's inertia against the ground cannot be measured on a strong floor.
    pub numerical: Equations,
}

/// What stands in the laboratory.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// One deformation per interface DOF.
    pub interface: Vec<Deformation>,
    /// The specimen on them.
    pub specimen: Specimen,
}

impl Partition {
    /// Splits `structure`: numerical = structure − specimen.
    pub fn split(
        &self,
        structure: &Structure,
        elements: &[PlacedElement],
        loads: &[LoadPattern],
    ) -> Result<Substructures, PartitionError> {
        let n = structure.mass.nrows();
        self.check_interface(n)?;
        let load = load_matrix(structure, loads);
        let mut whole = Equations {
            mass: structure.mass.clone(),
            damping: structure.damping.clone(),
            stiffness: structure.stiffness.clone(),
            load: load.clone(),
            interface: self.interface.clone(),
            elements: elements.to_vec(),
        };
        let b = whole.interface_matrix();
        let taken = |m: &DMatrix<f64>| &b * m * b.transpose();
        let numerical = Equations {
            mass: &structure.mass - taken(&self.specimen.mass),
            damping: &structure.damping - taken(&self.specimen.damping),
            stiffness: &structure.stiffness - taken(&self.specimen.stiffness),
            load,
            interface: self.interface.clone(),
            elements: elements.to_vec(),
        };
        let smallest = eigen::smallest_symmetric_eigenvalue(&numerical.mass).unwrap_or(f64::NAN);
        if smallest.is_nan() || smallest <= 0.0 {
            return Err(PartitionError::NoMassLeft { smallest });
        }
        for (dof, element) in &self.specimen.elements {
            let place = self.interface[*dof];
            whole.elements.push(PlacedElement { place, element: element.clone() });
        }
        Ok(Substructures { whole, numerical })
    }

    fn check_interface(&self, size: usize) -> Result<(), PartitionError> {
        for (index, place) in self.interface.iter().enumerate() {
            for dof in [place.from, place.to].into_iter().flatten() {
                if dof >= size {
                    return Err(PartitionError::NoSuchDof { dof: dof + 1, size });
                }
            }
            if let Some(first) = self.interface[..index].iter().position(|p| p == place) {
                return Err(PartitionError::Repeated { first: first + 1, second: index + 1 });
            }
        }
        Ok(())
    }
}

fn load_matrix(structure: &Structure, loads: &[LoadPattern]) -> DMatrix<f64> {
    let n = structure.mass.nrows();
    let mut matrix = DMatrix::zeros(n, loads.len());
    for (column, pattern) in loads.iter().enumerate() {
        let pattern = match pattern {
            LoadPattern::Ground => -&structure.mass * &structure.influence,
            LoadPattern::Force { dof } => {
                let mut unit = DVector::zeros(n);
                unit[*dof] = 1.0;
                unit
            }
        };
        matrix.set_column(column, &pattern);
    }
    matrix
}
