//! Splitting a structure into what is simulated and what stands in the laboratory.

mod internal_dofs;

pub use internal_dofs::InternalDofs;

use nalgebra::DMatrix;
use numerics::eigen;
use thiserror::Error;

use crate::equations::{ConnectedElement, Equations, RelativeDof};
use crate::error::MatrixName;
use crate::specimen::Specimen;
use crate::structure::Structure;

/// Why a structure cannot be split as asked.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PartitionError {
    /// The specimen takes more mass than the structure has there; what is left has
    /// this smallest eigenvalue.
    #[error(
        "the specimen takes more mass than the structure has: the smallest eigenvalue of what is \
         left is {0:.4e} kg. Give the specimen less than the structure's mass at its DOF"
    )]
    NoMassLeft(f64),
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
    /// This DOF, counted from 1, is inside the specimen and at its interface.
    #[error("DOF {0} is inside the specimen and at its interface: it can be only one of them")]
    InsideAtInterface(usize),
    /// This DOF inside the specimen, counted from 1, is listed twice.
    #[error("DOF {0} is listed twice among those inside the specimen")]
    InsideRepeated(usize),
    /// Something joins the inside of the specimen with what is simulated.
    #[error(
        "the structure's {matrix} joins DOF {inside}, inside the specimen, with DOF {outside}, \
         which is simulated: put DOF {outside} inside or at the interface as well"
    )]
    InsideReachesOut {
        /// Which matrix.
        matrix: MatrixName,
        /// Counted from 1.
        inside: usize,
        /// Counted from 1.
        outside: usize,
    },
    /// An element of the simulated part ends at this DOF, counted from 1, inside the
    /// specimen.
    #[error("an element of the structure ends at DOF {0}, which is inside the specimen")]
    ElementInside(usize),
    /// A load acts on this DOF, counted from 1, inside the specimen.
    #[error(
        "the excitation acts on DOF {0}, inside the specimen, where no actuator can apply it: \
         apply forces to simulated DOFs; on a strong floor the ground does not shake the specimen"
    )]
    InsideLoaded(usize),
    /// With DOFs inside, the interface consists of DOFs.
    #[error(
        "a specimen with DOFs of its own meets the simulation at DOFs, not at deformations \
         between two: list DOFs in `interface`"
    )]
    InsideDeformation,
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
    pub interface: Vec<RelativeDof>,
    /// The specimen on them.
    pub specimen: Specimen,
    /// The DOFs it has beside them, if any.
    pub inside: Option<InternalDofs>,
}

impl Partition {
    /// Splits `structure`: numerical = structure − specimen.
    pub fn split(
        &self,
        structure: &Structure,
        elements: &[ConnectedElement],
        loads: &[LoadPattern],
    ) -> Result<Substructures, PartitionError> {
        self.check_interface(structure.size())?;
        let states = structure.states.as_ref().filter(|_| self.inside.is_none());
        let mut whole = Equations {
            matrices: structure.matrices.clone(),
            load: load_matrix(structure, loads),
            interface: self.interface.clone(),
            elements: elements.to_vec(),
            states: states.map(|states| Box::new(states.descriptor.clone())),
        };
        let specimen = &self.specimen.matrices;
        let numerical = match &self.inside {
            Some(inside) => inside.outside(self, &whole)?.without(specimen),
            None => whole.without(specimen),
        };
        match whole.states {
            // What takes no mass cannot take too much.
            None if self.specimen.is_massive() => check_mass(&numerical)?,
            None => {}
            Some(_) => check_inertance(&whole, &numerical)?,
        }
        // The specimen's elements belong to the whole as well.
        for (dof, element) in &self.specimen.elements {
            let place = self.interface[*dof];
            whole.elements.push(ConnectedElement { place, element: element.clone() });
        }
        Ok(Substructures { whole, numerical })
    }

    /// The DOFs of the structure that are simulated, in the order of the
    /// numerical part.
    pub fn simulated(&self, size: usize) -> Vec<usize> {
        let inside = self.inside.as_ref().map_or(&[][..], |inside| &inside.dofs);
        (0..size).filter(|dof| !inside.contains(dof)).collect()
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

fn check_mass(numerical: &Equations) -> Result<(), PartitionError> {
    let smallest =
        eigen::smallest_symmetric_eigenvalue(&numerical.matrices.mass).unwrap_or(f64::NAN);
    if smallest.is_nan() || smallest <= 0.0 {
        return Err(PartitionError::NoMassLeft(smallest));
    }
    Ok(())
}

/// A first-order model has no mass matrix; what answers to a force at once at its
/// interface must not turn its sign when the specimen is taken out.
fn check_inertance(whole: &Equations, numerical: &Equations) -> Result<(), PartitionError> {
    let least = |equations: &Equations| {
        let system = equations.first_order()?;
        let n = equations.size();
        let answer = -equations.interface_matrix().transpose() * system.held.rows(n, n);
        eigen::smallest_symmetric_eigenvalue(&(0.5 * (&answer + answer.transpose()))).ok()
    };
    match (least(whole), least(numerical)) {
        (_, None) => Err(PartitionError::NoMassLeft(0.0)),
        (Some(before), Some(left)) if before > 0.0 && left <= 0.0 => {
            Err(PartitionError::NoMassLeft(1.0 / left))
        }
        _ => Ok(()),
    }
}

fn load_matrix(structure: &Structure, loads: &[LoadPattern]) -> DMatrix<f64> {
    let n = structure.states.as_ref().map_or(structure.size(), |s| s.descriptor.a.nrows());
    let mut matrix = DMatrix::zeros(n, loads.len());
    for (column, pattern) in loads.iter().enumerate() {
        match (pattern, &structure.states) {
            (LoadPattern::Force { dof }, _) => matrix[(*dof, column)] = 1.0,
            (LoadPattern::Ground, Some(states)) => matrix.set_column(column, &states.ground),
            (LoadPattern::Ground, None) => {
                let inertia = -&structure.matrices.mass * &structure.influence;
                matrix.set_column(column, &inertia);
            }
        }
    }
    matrix
}
