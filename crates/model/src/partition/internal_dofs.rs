//! A specimen with degrees of freedom of its own, away from the interface.
//!
//! Storeys 1 and 2 of a building that is driven at storey 3, say. They are part
//! of the structure, but nobody simulates them: they move as the specimen does.

use nalgebra::DMatrix;
use numerics::second_order::SecondOrder;

use super::{Partition, PartitionError};
use crate::equations::{ConnectedElement, Equations, RelativeDof};
use crate::error::MatrixName;
use crate::structure::Structure;

/// DOFs of the specimen away from its interface, with what joins them.
///
/// They take all the mass, damping and stiffness that the structure has there:
///   M_ii ẍ + C_ii ẋ + K_ii x = −(M_ib ü + C_ib u̇ + K_ib u)
/// and add M_bi ẍ + C_bi ẋ + K_bi x to the force at the interface.
#[derive(Debug, Clone, PartialEq)]
pub struct InternalDofs {
    /// Of the structure, counted from 0.
    pub dofs: Vec<usize>,
    /// M_ii, C_ii and K_ii.
    pub matrices: SecondOrder,
    /// M_ib, C_ib and K_ib, one column per interface DOF.
    pub to_interface: SecondOrder,
}

impl InternalDofs {
    /// The part of the structure at `dofs`, driven at the interface.
    pub fn of(
        structure: &Structure,
        dofs: &[usize],
        interface: &[RelativeDof],
    ) -> Result<Self, PartitionError> {
        let size = structure.size();
        let places = places(interface)?;
        if let Some(&dof) = dofs.iter().chain(&places).find(|&&dof| dof >= size) {
            return Err(PartitionError::NoSuchDof { dof: dof + 1, size });
        }
        for (index, &dof) in dofs.iter().enumerate() {
            if places.contains(&dof) {
                return Err(PartitionError::InsideAtInterface(dof + 1));
            }
            if dofs[..index].contains(&dof) {
                return Err(PartitionError::InsideRepeated(dof + 1));
            }
        }
        let whole = &structure.matrices;
        for (name, matrix) in MatrixName::ALL.into_iter().zip(whole.each()) {
            check_reach(matrix, name, dofs, &places)?;
        }
        Ok(Self {
            dofs: dofs.to_vec(),
            matrices: whole.map(|matrix| block(matrix, dofs, dofs)),
            to_interface: whole.map(|matrix| block(matrix, dofs, &places)),
        })
    }

    /// What the springs or dampers between inside and interface add at the
    /// interface itself, where nothing else stands there: when inside and
    /// interface move together they give no force. So it is in shear buildings
    /// and chains, whose DOFs all point the same way.
    pub fn joining(to_interface: &DMatrix<f64>) -> DMatrix<f64> {
        DMatrix::from_diagonal(&-to_interface.row_sum().transpose())
    }

    /// The whole without the DOFs inside, the specimen still there.
    pub(super) fn outside(
        &self,
        partition: &Partition,
        whole: &Equations,
    ) -> Result<Equations, PartitionError> {
        places(&partition.interface)?;
        for &dof in &self.dofs {
            if whole.load.row(dof).iter().any(|&value| value != 0.0) {
                return Err(PartitionError::InsideLoaded(dof + 1));
            }
        }
        let kept = partition.simulated(whole.size());
        let index = |dof: usize| {
            let place = kept.iter().position(|&other| other == dof);
            place.ok_or(PartitionError::ElementInside(dof + 1))
        };
        let moved = |place: &RelativeDof| -> Result<RelativeDof, PartitionError> {
            let [from, to] = [place.from, place.to].map(|dof| dof.map(index).transpose());
            Ok(RelativeDof { from: from?, to: to? })
        };
        let kept_element = |placed: &ConnectedElement| -> Result<_, PartitionError> {
            Ok(ConnectedElement { place: moved(&placed.place)?, element: placed.element.clone() })
        };
        Ok(Equations {
            matrices: whole.matrices.map(|matrix| block(matrix, &kept, &kept)),
            load: whole.load.select_rows(&kept),
            interface: whole.interface.iter().map(moved).collect::<Result<_, _>>()?,
            elements: whole.elements.iter().map(kept_element).collect::<Result<_, _>>()?,
            states: None,
        })
    }
}

/// The DOFs of an interface that consists of DOFs.
fn places(interface: &[RelativeDof]) -> Result<Vec<usize>, PartitionError> {
    let dof = |place: &RelativeDof| match place {
        RelativeDof { from: None, to: Some(dof) } => Ok(*dof),
        _ => Err(PartitionError::InsideDeformation),
    };
    interface.iter().map(dof).collect()
}

/// What is inside may touch the interface only.
fn check_reach(
    matrix: &DMatrix<f64>,
    name: MatrixName,
    inside: &[usize],
    interface: &[usize],
) -> Result<(), PartitionError> {
    let rounding = 1e-12 * matrix.amax();
    for &row in inside {
        for column in 0..matrix.ncols() {
            let known = inside.contains(&column) || interface.contains(&column);
            let joins = matrix[(row, column)].abs().max(matrix[(column, row)].abs()) > rounding;
            if !known && joins {
                return Err(PartitionError::InsideReachesOut {
                    matrix: name,
                    inside: row + 1,
                    outside: column + 1,
                });
            }
        }
    }
    Ok(())
}

fn block(matrix: &DMatrix<f64>, rows: &[usize], columns: &[usize]) -> DMatrix<f64> {
    DMatrix::from_fn(rows.len(), columns.len(), |i, j| matrix[(rows[i], columns[j])])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::LoadPattern;
    use crate::specimen::Specimen;
    use crate::structure::shear_building;

    fn four_storeys() -> Structure {
        let mass = [5.37, 5.37, 5.37, 10.74];
        let stiffness = [53048.0, 45724.0, 45052.0, 45052.0];
        shear_building(&mass, &stiffness, &[4.4062, 3.7979, 3.7421, 3.7421]).unwrap()
    }

    fn partition(structure: &Structure, dofs: &[usize]) -> Result<Partition, PartitionError> {
        let interface = vec![RelativeDof::of_dof(2)];
        let inside = InternalDofs::of(structure, dofs, &interface)?;
        let specimen = Specimen {
            matrices: SecondOrder {
                mass: DMatrix::from_element(1, 1, 1.79),
                damping: InternalDofs::joining(&inside.to_interface.damping),
                stiffness: InternalDofs::joining(&inside.to_interface.stiffness),
            },
            elements: Vec::new(),
        };
        Ok(Partition { interface, specimen, inside: Some(inside) })
    }

    #[test]
    fn the_simulated_storeys_stand_on_what_is_left_of_the_third() {
        let structure = four_storeys();
        let partition = partition(&structure, &[0, 1]).unwrap();
        let split = partition.split(&structure, &[], &[LoadPattern::Force { dof: 3 }]).unwrap();
        let numerical = split.numerical;
        assert_eq!(
            numerical.matrices.mass,
            DMatrix::from_row_slice(2, 2, &[5.37 - 1.79, 0.0, 0.0, 10.74])
        );
        // Free at its foot: only the fourth storey's leg is simulated.
        let leg = [45052.0, -45052.0, -45052.0, 45052.0];
        assert!((numerical.matrices.stiffness - DMatrix::from_row_slice(2, 2, &leg)).amax() < 1e-9);
        assert_eq!(numerical.interface, vec![RelativeDof::of_dof(0)]);
        assert_eq!(numerical.load.as_slice(), [0.0, 1.0]);
        assert_eq!(split.whole.size(), 4);
        assert_eq!(partition.simulated(4), [2, 3]);
    }

    #[test]
    fn what_cannot_stand_in_a_laboratory_is_refused() {
        let structure = four_storeys();
        // Without storey 2, storey 1 would reach across it.
        assert_eq!(
            partition(&structure, &[0]).unwrap_err(),
            PartitionError::InsideReachesOut { matrix: MatrixName::Damping, inside: 1, outside: 2 }
        );
        assert_eq!(
            partition(&structure, &[0, 1, 2]).unwrap_err(),
            PartitionError::InsideAtInterface(3)
        );
        assert_eq!(
            partition(&structure, &[0, 1, 1]).unwrap_err(),
            PartitionError::InsideRepeated(2)
        );
        assert_eq!(
            partition(&structure, &[7]).unwrap_err(),
            PartitionError::NoSuchDof { dof: 8, size: 4 }
        );
        let good = partition(&structure, &[0, 1]).unwrap();
        for load in [LoadPattern::Ground, LoadPattern::Force { dof: 0 }] {
            assert_eq!(
                good.split(&structure, &[], &[load]).unwrap_err(),
                PartitionError::InsideLoaded(1)
            );
        }
    }
}
