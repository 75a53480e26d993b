//! Stability of a hybrid loop with a pure delay, in continuous time: the neutral
//! delay system that structure and partition make together.
//!
//! The force comes back at once, the specimen's interface moves τ late. With the
//! DOFs of the structure q, those inside the specimen among them, the late signal
//! is the interface y = Bᵀq and everything the specimen makes of it is late:
//!   •_τ = [•_ib; B •_bb],  •_0 = • − •_τ Bᵀ.
//! Sampling and holds are not part of this; see [`crate::loop_stability`].

use model::equations::Equations;
use model::partition::Partition;
use numerics::delay_system::crossing::Crossings;
use numerics::delay_system::{DelayError, DelaySystem};

use crate::critical_delay::CriticalDelay;

/// The delay system of a structure cut as `partition` says. Nonlinear elements
/// count with their initial stiffness.
pub fn delay_system(whole: &Equations, partition: &Partition) -> Result<DelaySystem, DelayError> {
    let (whole, specimen) = (whole.linearised(), partition.specimen.linearised());
    let b = whole.interface_matrix();
    let mut late = specimen.matrices.map(|matrix| &b * matrix);
    if let Some(inside) = &partition.inside {
        late = late.zip(&inside.to_interface, |late, joint| {
            let mut late = late.clone();
            for (row, &dof) in inside.dofs.iter().enumerate() {
                let mut target = late.row_mut(dof);
                target += joint.row(row);
            }
            late
        });
    }
    let of = b.transpose();
    DelaySystem::new(whole.matrices.zip(&late, |whole, late| whole - late * &of), late, of)
}

/// The shortest delay that takes the loop's stability, from its crossings; in
/// the manner of [`crate::critical_delay::critical_delay`].
pub fn first_loss(crossings: &Crossings) -> Option<CriticalDelay> {
    crossings.critical().map(|crossing| CriticalDelay {
        delay_s: crossing.first_delay_s,
        frequency_hz: crossing.omega_rad_s / std::f64::consts::TAU,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::partition::InternalDofs;
    use model::specimen::Specimen;
    use numerics::Matrix;
    use numerics::second_order::SecondOrder;

    use crate::critical_delay::critical_delay;
    use model::equations::RelativeDof;
    use model::structure::{Structure, shear_building};

    fn building(storeys: usize) -> Structure {
        let mass = [5.37, 5.37, 5.37, 10.74, 5.37];
        let stiffness = [53048.0, 45724.0, 45052.0, 45052.0, 45052.0];
        let damping = [4.4062, 3.7979, 3.7421, 3.7421, 3.7421];
        shear_building(&mass[..storeys], &stiffness[..storeys], &damping[..storeys]).unwrap()
    }

    fn split(structure: &Structure, p: f64) -> (Equations, Partition) {
        let interface = vec![RelativeDof::of_dof(2)];
        let inside = InternalDofs::of(structure, &[0, 1], &interface).unwrap();
        let specimen = Specimen {
            matrices: SecondOrder {
                mass: Matrix::from_element(1, 1, (1.0 - p) * structure.matrices.mass[(2, 2)]),
                damping: InternalDofs::joining(&inside.to_interface.damping),
                stiffness: InternalDofs::joining(&inside.to_interface.stiffness),
            },
            elements: Vec::new(),
        };
        let partition = Partition { interface, specimen, inside: Some(inside) };
        let whole = partition.split(structure, &[], &[]).unwrap().whole;
        (whole, partition)
    }

    #[test]
    fn structure_and_partition_give_the_published_critical_delays() {
        for (storeys, p, delay_ms) in
            [(4, 0.55, 0.126831), (4, 0.67, 0.121922), (4, 1.0, 0.110194), (5, 0.67, 0.119642)]
        {
            let (whole, partition) = split(&building(storeys), p);
            let system = delay_system(&whole, &partition).unwrap();
            let exact = first_loss(&system.crossings().unwrap()).unwrap();
            assert!((1e3 * exact.delay_s - delay_ms).abs() < 6e-7, "{storeys} {p} {exact:?}");
            // The rightmost root is on the axis there.
            let at = system.rightmost(exact.delay_s).unwrap();
            assert!(at.re.abs() < 1e-6 * at.norm(), "{at:?}");
            assert!((at.im / std::f64::consts::TAU / exact.frequency_hz - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn without_inside_it_is_the_characteristic_equation_of_one_interface() {
        let structure = building(4);
        let scalar = |value| Matrix::from_element(1, 1, value);
        let interface = vec![RelativeDof { from: Some(1), to: Some(2) }];
        let specimen = Specimen {
            matrices: SecondOrder {
                mass: scalar(0.4),
                damping: scalar(1.0),
                stiffness: scalar(9000.0),
            },
            elements: Vec::new(),
        };
        let partition = Partition { interface, specimen, inside: None };
        let split = partition.split(&structure, &[], &[]).unwrap();
        let system = delay_system(&split.whole, &partition).unwrap();
        let ours = first_loss(&system.crossings().unwrap()).unwrap();
        let other = critical_delay(&split.numerical, &partition.specimen, None);
        let other = other.unwrap().unwrap();
        assert!((ours.delay_s / other.delay_s - 1.0).abs() < 1e-8, "{ours:?} {other:?}");
        assert!((ours.frequency_hz / other.frequency_hz - 1.0).abs() < 1e-8);
        // Gao & You's equivalent matrices change there.
        let there = system.equivalent_critical_s(2.0 * ours.delay_s).unwrap();
        assert!(system.equivalent_growth_1_s(there * (1.0 + 1e-9)).unwrap() > 0.0);
        assert!(system.equivalent_growth_1_s(there * (1.0 - 1e-9)).unwrap() < 0.0);
    }
}
