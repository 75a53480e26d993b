//! Masses that hang on next to nothing.

use super::*;

/// Two masses that can hardly move against each other: what a force does to one it does to
/// the other, and the boundary that holds both is refused, by name.
#[test]
fn a_boundary_that_hardly_deforms_on_its_own_is_refused_in_state_space() {
    use state_space::{Completion, StateChoice, StateRecipe, reduce_states};
    let n = 12;
    let springs = (0..n).map(|i| (i, i, 2e6));
    let links = (1..n).flat_map(|i| [(i, i - 1, -1e6), (i - 1, i, -1e6)]);
    let stiffness = SparseMatrix::from_triplets(n, n, springs.chain(links)).unwrap();
    let reduced = |looseness: f64, boundary: Vec<usize>| {
        let coupling = 2.0 * (1.0 - looseness);
        let masses = (0..n).map(|i| (i, i, 2.0)).chain([(7, 8, coupling), (8, 7, coupling)]);
        let mass = SparseMatrix::from_triplets(n, n, masses).unwrap();
        let component = Component::undamped(mass, stiffness.clone()).unwrap();
        let modes = StateChoice::Number(2);
        let completion = Completion::Flexibility;
        reduce_states(&component, &StateRecipe { completion, modes, boundary }).map(|_| ())
    };
    assert_eq!(reduced(1e-9, vec![2, 8, 7]), Ok(()));
    assert_eq!(reduced(2e-14, vec![2, 7]), Ok(()));
    for boundary in [vec![2, 8, 7], vec![7, 8, 2]] {
        match reduced(2e-14, boundary) {
            Err(ReductionError::DependentBoundary { boundary: 3, size: 12, dof }) => {
                assert!(dof == 7 || dof == 8, "{dof}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Masses that nothing is attached to, anywhere among the DOFs.
#[test]
fn loose_masses_are_rigid_modes() {
    let n = 40;
    for (loose, held) in [(vec![10], true), (vec![3, 4, 20, 39], true), (vec![0, 11, 38], false)] {
        let chained: Vec<usize> = (0..n).filter(|dof| !loose.contains(dof)).collect();
        let mut entries = Vec::new();
        for pair in chained.windows(2) {
            let (i, j) = (pair[0], pair[1]);
            entries.extend([(i, i, 1e6), (j, j, 1e6), (i, j, -1e6), (j, i, -1e6)]);
        }
        if held {
            entries.push((chained[0], chained[0], 1e6));
        }
        let stiffness = SparseMatrix::from_triplets(n, n, entries).unwrap();
        // A mass that couples a loose DOF to its neighbour.
        let (a, b) = (loose[0], loose[0] + 1);
        let coupled = (0..n).map(|i| (i, i, 2.0)).chain([(a, b, 0.3), (b, a, 0.3)]);
        let mass = SparseMatrix::from_triplets(n, n, coupled).unwrap();
        let component = Component::undamped(mass, stiffness).unwrap();
        let interface = vec![chained[chained.len() - 1]];
        let recipe = Recipe::rubin(interface.clone(), ModeChoice::Number(6));
        let reduction = reduce(&component, &recipe).unwrap();
        let rigid = loose.len() + usize::from(!held);
        assert_eq!(reduction.facts.rigid_modes, rigid);
        assert!(loose.iter().all(|dof| reduction.facts.suppressed.contains(dof)));
        let omegas = [5.0, 40.0];
        let full = Response::of_component(&component, &interface, &omegas).unwrap();
        let own = Response::of_model(&reduction.model, &omegas).unwrap();
        let errors = own.errors(&full);
        assert!(errors.iter().all(|error| *error < 1e-4), "{loose:?} {errors:?}");
    }
}
