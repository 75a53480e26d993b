//! Small components, against dense modes and closed forms.

mod masses;

use super::assembly::{DualAssembly, dual_component};
use super::response::{Response, band};
use super::trust::{Acceptance, Verdict, eigenvalues};
use super::*;
use crate::equations::RelativeDof;
use crate::error::MatrixName;
use crate::structure::{BeamEnds, BeamSection, MassModel, Support, euler_bernoulli_beam};
use numerics::eigen;
use numerics::second_order::SecondOrder;
use numerics::sparse::SparseMatrix;

fn beam(elements: usize, ends: BeamEnds) -> Component {
    let section = BeamSection { flexural_rigidity_n_m2: 127.575, mass_per_length_kg_m: 0.7065 };
    let length = 0.05 * elements as f64;
    let beam =
        euler_bernoulli_beam(section, elements, length, ends, MassModel::Consistent).unwrap();
    Component::from_structure(&beam).unwrap()
}

const FREE: BeamEnds = BeamEnds { left: Support::Free, right: Support::Free };

/// Compares at the interface DOFs of a model over some frequencies.
fn compared(component: &Component, model: &ReducedModel, omegas: &[f64]) -> trust::Comparison {
    let dofs = &model.boundary[..model.interface];
    let full = Response::of_component(component, dofs, omegas).unwrap();
    trust::Comparison::new(component, model, &full).unwrap()
}

#[test]
fn rubin_keeps_statics_modes_and_rigid_motion() {
    for (ends, interface, rigid) in
        [(BeamEnds::CANTILEVER, vec![18, 19], 0), (FREE, vec![0, 20], 2)]
    {
        let component = beam(10, ends);
        let recipe = Recipe::rubin(interface.clone(), ModeChoice::Number(4));
        let reduction = reduce(&component, &recipe).unwrap();
        let model = &reduction.model;
        assert_eq!(model.size(), 2 + rigid + 4);
        assert_eq!(reduction.facts.rigid_modes, rigid);
        assert!(reduction.facts.damper_dofs.is_empty());
        // The kept modes come out of the small model as they went in.
        let exact = eigen::symmetric_modes(
            &component.matrices.stiffness.to_dense(),
            &component.matrices.mass.to_dense(),
        )
        .unwrap();
        let small =
            eigen::symmetric_modes(&model.matrices.stiffness, &model.matrices.mass).unwrap();
        for mode in rigid..rigid + 4 {
            let error = small.omega_rad_s[mode] / exact.omega_rad_s[mode] - 1.0;
            assert!(error.abs() < 1e-8, "{mode}: {error:e}");
            let kept = model.omega_rad_s[mode] / exact.omega_rad_s[mode] - 1.0;
            assert!(kept.abs() < 1e-8);
        }
        if rigid == 0 {
            // And so does the flexibility at the interface.
            let full = component.matrices.stiffness.to_dense().try_inverse().unwrap();
            let reduced = model.matrices.stiffness.clone().try_inverse().unwrap();
            for i in 0..2 {
                for j in 0..2 {
                    let exact = full[(interface[i], interface[j])];
                    assert!((reduced[(i, j)] / exact - 1.0).abs() < 1e-8);
                }
            }
        }
        assert!(Verdict::of(model).unwrap().is_passive());
        assert!(
            (model.effective_mass() - 1.0).abs() < 0.35 && model.effective_mass() <= 1.0 + 1e-12
        );
    }
}

#[test]
fn craig_bampton_with_all_modes_is_the_component() {
    let component = beam(4, BeamEnds::CANTILEVER);
    let recipe = Recipe {
        method: Method::CraigBampton,
        monitored: vec![2, 7],
        ..Recipe::rubin(vec![6, 7], ModeChoice::Number(100))
    };
    let reduction = reduce(&component, &recipe).unwrap();
    let model = &reduction.model;
    assert_eq!(model.size(), 8);
    let exact = eigen::symmetric_modes(
        &component.matrices.stiffness.to_dense(),
        &component.matrices.mass.to_dense(),
    )
    .unwrap();
    let small = eigen::symmetric_modes(&model.matrices.stiffness, &model.matrices.mass).unwrap();
    for mode in 0..8 {
        assert!((small.omega_rad_s[mode] / exact.omega_rad_s[mode] - 1.0).abs() < 1e-9);
    }
    assert!((model.effective_mass() - 1.0).abs() < 1e-9);
    // Recovery: the motion of DOF 2 in the first mode.
    let shape = exact.shapes.column(0);
    let mut own = small.shapes.column(0).into_owned();
    own *= shape[6] / own[0];
    let found = model.recover(own.as_slice());
    assert!((found[0] / shape[2] - 1.0).abs() < 1e-8);
    assert!((found[1] / shape[7] - 1.0).abs() < 1e-8);
    // Without a boundary that holds it, a free component is refused.
    let free = beam(4, FREE);
    let recipe =
        Recipe { method: Method::CraigBampton, ..Recipe::rubin(vec![0], ModeChoice::Number(2)) };
    let error = reduce(&free, &recipe).unwrap_err();
    assert!(matches!(error, ReductionError::BoundaryDoesNotHold { .. }), "{error}");
}

#[test]
fn modes_alone_span_the_modes() {
    let component = beam(6, FREE);
    let recipe =
        Recipe { method: Method::ModesOnly, ..Recipe::rubin(vec![0, 12], ModeChoice::Number(5)) };
    let model = reduce(&component, &recipe).unwrap().model;
    assert_eq!(model.size(), 7);
    let exact = eigen::symmetric_modes(
        &component.matrices.stiffness.to_dense(),
        &component.matrices.mass.to_dense(),
    )
    .unwrap();
    let small = eigen::symmetric_modes(&model.matrices.stiffness, &model.matrices.mass).unwrap();
    for mode in 2..7 {
        assert!((small.omega_rad_s[mode] / exact.omega_rad_s[mode] - 1.0).abs() < 1e-8);
    }
    let recipe = Recipe { modes: ModeChoice::Number(0), interface: vec![0, 2, 4], ..recipe };
    assert!(matches!(reduce(&component, &recipe), Err(ReductionError::TooFewModes { .. })));
}

#[test]
fn damper_dofs_are_found_beside_rayleigh_damping() {
    let component = beam(10, BeamEnds::CANTILEVER);
    assert_eq!(component.damper_dofs(64), Some(vec![]));
    let local = component.clone().with_damper(None, Some(8), 1000.0).unwrap();
    assert_eq!(local.damper_dofs(64), Some(vec![8]));
    let both =
        component.clone().with_rayleigh(0.3, 1e-5).with_damper(Some(2), Some(8), 50.0).unwrap();
    assert_eq!(both.damper_dofs(64), Some(vec![2, 8]));
    let rayleigh = component.with_rayleigh(0.0, 1e-5);
    assert_eq!(rayleigh.damper_dofs(64), Some(vec![]));
    let modal = crate::structure::damping::modal(
        &rayleigh.matrices.mass.to_dense(),
        &rayleigh.matrices.stiffness.to_dense(),
        &[0.02],
    )
    .unwrap();
    let spread = Component::from_dense(
        &rayleigh.matrices.mass.to_dense(),
        &modal,
        &rayleigh.matrices.stiffness.to_dense(),
    )
    .unwrap();
    assert_eq!(spread.damper_dofs(5), None);
    // The default keeps the damper in the boundary set.
    let recipe = Recipe::rubin(vec![18], ModeChoice::CutOff { omega_rad_s: 3000.0 });
    let reduction = reduce(&local, &recipe).unwrap();
    assert_eq!(reduction.model.boundary, [18, 8]);
    assert_eq!(reduction.model.interface, 1);
}

#[test]
fn a_reduced_model_is_a_structure_that_the_ground_shakes() {
    let component = beam(10, BeamEnds::CANTILEVER);
    let recipe = Recipe::rubin(vec![18], ModeChoice::Number(6));
    let model = reduce(&component, &recipe).unwrap().model;
    let structure = model.structure(|dof| format!("w{dof}"), Acceptance::StableOnly).unwrap();
    assert_eq!(structure.names[..2], ["w18".to_owned(), "mode 1".to_owned()]);
    let load = &structure.matrices.mass * &structure.influence;
    assert!((load - &model.participation).amax() < 1e-9);
    assert_eq!(model.coordinate(18), Ok(0));
    assert!(matches!(model.coordinate(3), Err(ReductionError::NotRetained(3))));
    assert_eq!(RelativeDof::of_dof(model.coordinate(18).unwrap()).to, Some(0));
    // A model that grows is refused, with the mode named, unless accepted.
    let mut bad = model;
    bad.matrices.damping = -0.5 * &bad.matrices.mass;
    let error = bad.structure(|dof| dof.to_string(), Acceptance::StableOnly).unwrap_err();
    assert!(error.to_string().contains("Hz grows by"), "{error}");
    let verdict = Verdict::of(&bad).unwrap();
    assert!(!verdict.is_stable() && verdict.active[0].0 == MatrixName::Damping);
    assert!(bad.structure(|dof| dof.to_string(), Acceptance::Any).is_ok());
    assert!(eigenvalues(&bad).unwrap().iter().any(|value| value.re > 0.0));
}

#[test]
fn hostile_recipes_are_errors() {
    let component = beam(4, BeamEnds::CANTILEVER);
    let recipe = |interface: Vec<usize>| Recipe::rubin(interface, ModeChoice::Number(2));
    assert_eq!(reduce(&component, &recipe(vec![])).unwrap_err(), ReductionError::NoBoundary);
    assert!(matches!(
        reduce(&component, &recipe(vec![8])),
        Err(ReductionError::NoSuchDof { dof: 8, size: 8 })
    ));
    let choice = ModeChoice::CutOff { omega_rad_s: f64::NAN };
    assert!(reduce(&component, &Recipe::rubin(vec![6], choice)).is_err());
    // All DOFs in the boundary set: nothing is left to reduce, and nothing breaks.
    let all = reduce(&component, &recipe((0..8).collect())).unwrap();
    assert_eq!(all.model.size(), 8);
}

#[test]
fn the_smallest_model_that_meets_an_error_is_found() {
    let component = beam(20, BeamEnds::CANTILEVER).with_rayleigh(1.0, 1e-6);
    let choice = |relative: f64, most: usize| {
        ModeChoice::InterfaceError(ErrorTarget { relative, band_rad_s: 3000.0, points: 24, most })
    };
    let recipe = |relative, most| Recipe::rubin(vec![38], choice(relative, most));
    let found = reduce(&component, &recipe(1e-3, 30)).unwrap();
    let grid = band(3000.0, 600);
    let error = |model: &ReducedModel| compared(&component, model, &grid).response.max;
    assert!(error(&found.model) <= 1e-3);
    let count = found.model.omega_rad_s.len();
    let fewer =
        reduce(&component, &Recipe::rubin(vec![38], ModeChoice::Number(count - 1))).unwrap();
    assert!(error(&fewer.model) > 1e-3);
    assert_eq!(found.basis.ncols(), found.model.size());
    let held = found.facts.held.unwrap();
    assert!(held.factors > 24 && held.factors <= 120 && held.probes > 60, "{held:?}");
    assert!(held.error <= 1e-3 && held.estimate <= 1e-3 && held.rich_modes > count, "{held:?}");
    let error = reduce(&component, &recipe(1e-13, 2)).unwrap_err();
    assert!(matches!(error, ReductionError::ErrorNotReached { modes: 2, .. }), "{error}");
    assert!(reduce(&component, &recipe(f64::NAN, 2)).is_err());
}

/// A chain of 40 equal masses with next to no damping: every resonance in the
/// band is far narrower than the way between the frequencies looked at first.
#[test]
fn an_error_holds_at_resonances_that_no_grid_meets() {
    let springs = [1e6; 40];
    let chain = crate::structure::chain(
        &[2.0; 40],
        &springs,
        &[0.0; 40],
        crate::structure::Ends::FixedFree,
    )
    .unwrap();
    let component = Component::from_structure(&chain).unwrap().with_rayleigh(0.05, 0.0);
    for damper in [None, Some(500.0)] {
        let component = match damper {
            Some(damping) => component.clone().with_damper(None, Some(6), damping).unwrap(),
            None => component.clone(),
        };
        let band_rad_s = std::f64::consts::TAU * 60.0;
        for relative in [0.01, 0.1] {
            let target = ErrorTarget { relative, band_rad_s, points: 24, most: 40 };
            let choice = ModeChoice::InterfaceError(target);
            let found = reduce(&component, &Recipe::rubin(vec![39], choice)).unwrap();
            // Evenly, and closely around every true resonance.
            let mut dense: Vec<f64> = (1..=3000).map(|k| band_rad_s * f64::from(k) / 3e3).collect();
            for value in trust::component_eigenvalues(&component).unwrap() {
                let width = value.re.abs();
                let near = (-20..=20).map(|k| value.im + 0.25 * f64::from(k) * width);
                dense.extend(near.filter(|&omega| omega > 0.0 && omega <= band_rad_s));
            }
            let comparison = compared(&component, &found.model, &dense);
            let held = found.facts.held.unwrap();
            assert!(comparison.response.max <= relative, "{comparison:?} {held:?}");
            assert!(held.factors <= 120, "{held:?}");
            // And it is the smallest: with one mode less it does not hold.
            let fewer = found.model.truncated(found.model.omega_rad_s.len() - 1);
            let comparison = compared(&component, &fewer, &dense);
            assert!(comparison.response.max > relative, "{comparison:?}");
        }
    }
}

#[test]
fn a_comparison_says_what_a_model_is_worth() {
    let component = beam(20, BeamEnds::CANTILEVER).with_rayleigh(1.0, 1e-6);
    let recipe = Recipe::rubin(vec![38, 39], ModeChoice::Number(6));
    let model = reduce(&component, &recipe).unwrap().model;
    let comparison = compared(&component, &model, &band(2000.0, 20));
    assert_eq!((comparison.states_before, comparison.states_after), (80, 16));
    // The kept modes are exact as long as the interface is free.
    assert!(comparison.eigenvalues.as_ref().unwrap().errors.unwrap().max < 1e-7);
    // Rubin's error at ω below the first mode left out goes with (ω/ω_out)⁴.
    assert!(comparison.response.max < 2e-3, "{comparison:?}");
    assert!(comparison.response.median < 1e-4 && comparison.response.median > 0.0);
    assert!(comparison.worst_rad_s > 1000.0 && comparison.verdict.is_passive());
    assert!(comparison.effective_mass > 0.9);
}

/// Two components that share all their forces, which pull on the second the other way.
fn joined(parts: &[DualAssembly; 2]) -> DualAssembly {
    let forces = parts[0].forces;
    let own = parts.each_ref().map(|part| part.matrices.mass.nrows() - forces);
    let (inner, size) = (own[0] + own[1], own[0] + own[1] + forces);
    let sum = |matrix: fn(&DualAssembly) -> &DMatrix<f64>| {
        let mut sum = DMatrix::zeros(size, size);
        for (c, part) in parts.iter().enumerate() {
            // Place and sign of a coordinate.
            let to = |i: usize| match i.checked_sub(own[c]) {
                Some(force) => (inner + force, if c == 1 { -1.0 } else { 1.0 }),
                None => (c * own[0] + i, 1.0),
            };
            for i in 0..own[c] + forces {
                for j in 0..own[c] + forces {
                    let ((row, a), (column, b)) = (to(i), to(j));
                    sum[(row, column)] += a * b * matrix(part)[(i, j)];
                }
            }
        }
        sum
    };
    let (mass, damping) = (sum(|part| &part.matrices.mass), sum(|part| &part.matrices.damping));
    let stiffness = sum(|part| &part.matrices.stiffness);
    DualAssembly { matrices: SecondOrder { mass, damping, stiffness }, forces }
}

#[test]
fn dual_craig_bampton_has_the_modes_and_one_growing_motion_per_force() {
    let (one, two) = (beam(10, BeamEnds::CANTILEVER), beam(8, FREE));
    let boundaries = [vec![18, 19], vec![0, 1]];
    let joints = [vec![0, 1], vec![0, 1]];
    let components = [&one, &two];
    let modes = ModeChoice::CutOff { omega_rad_s: 2e4 };
    let parts = [0, 1].map(|c| dual_component(components[c], &boundaries[c], modes).unwrap());
    let dual = joined(&parts);
    let whole = assembly::assemble_components(&components, &boundaries, &joints).unwrap();
    let full = trust::component_eigenvalues(&whole).unwrap();
    let values = dual.eigenvalues().unwrap();
    let errors = trust::eigenvalue_errors(&full, &values, 5e3);
    assert!(errors.len() >= 6 && errors.iter().all(|error| *error < 1e-3), "{errors:?}");
    let growing = trust::growing(&values);
    assert_eq!((growing.len(), dual.forces), (2, 2), "{growing:?}");
}

/// A shaft with gyroscopic coupling and a follower force: B and K non-symmetric.
fn rotor() -> Component {
    let base = beam(8, BeamEnds::CANTILEVER).with_rayleigh(2.0, 1e-5);
    let n = base.size();
    let both = |matrix: &SparseMatrix| {
        let dense = matrix.to_dense();
        let mut two = DMatrix::zeros(2 * n, 2 * n);
        two.view_mut((0, 0), (n, n)).copy_from(&dense);
        two.view_mut((n, n), (n, n)).copy_from(&dense);
        two
    };
    let (mut damping, mut stiffness) =
        (both(&base.matrices.damping), both(&base.matrices.stiffness));
    for (node, spin) in [(6, 0.05), (14, 0.08)] {
        // Gyroscopic: turns couple skew. Circulatory: deflections couple skew.
        damping[(node + 1, n + node + 1)] += spin;
        damping[(n + node + 1, node + 1)] -= spin;
        stiffness[(node, n + node)] += 60.0;
        stiffness[(n + node, node)] -= 60.0;
    }
    Component::from_dense(&both(&base.matrices.mass), &damping, &stiffness).unwrap()
}

#[test]
fn left_and_right_bases_keep_modes_and_statics_of_a_rotor() {
    use state_space::{Completion, StateChoice, StateRecipe, reduce_states};
    let component = rotor();
    assert!(!component.is_symmetric());
    let boundary = vec![14, 30];
    let recipe = StateRecipe {
        completion: Completion::Flexibility,
        modes: StateChoice::Modulus { omega_rad_s: 8e3 },
        boundary: boundary.clone(),
    };
    let reduction = reduce_states(&component, &recipe).unwrap();
    let model = &reduction.model;
    assert!(model.kept.len() >= 8 && model.states() < 2 * component.size());
    assert!((&reduction.left - &reduction.right).amax() > 1e-3);
    let full = trust::component_eigenvalues(&component).unwrap();
    let values = model.eigenvalues().unwrap();
    for kept in &model.kept {
        for (all, what) in [(&full, "full"), (&values, "reduced")] {
            let near = all.iter().map(|v| (v - kept).norm()).fold(f64::INFINITY, f64::min);
            assert!(near < 1e-6 * kept.norm(), "{kept} {what}: {near:e}");
        }
    }
    // Exact at rest, close within the band; the transposed problem is another one.
    let grid = [0.0, 500.0, 2500.0];
    let exact = Response::of_component(&component, &boundary, &grid).unwrap();
    for (k, tolerance) in [(0, 1e-8), (1, 1e-4), (2, 2e-2)] {
        let own = model.receptance(grid[k]).unwrap();
        let wanted = &exact.receptances[k];
        assert!((own - wanted).norm() < tolerance * wanted.norm(), "{k}");
        assert!((wanted[(0, 1)] - wanted[(1, 0)]).norm() > 1e-3 * wanted[(0, 1)].norm());
    }
    // The second-order methods say that they cannot.
    let error = reduce(&component, &Recipe::rubin(boundary, ModeChoice::Number(4))).unwrap_err();
    assert!(error.to_string().contains("left"), "{error}");
}

#[test]
fn residual_flexibility_has_the_same_span() {
    use state_space::{Completion, StateChoice, StateRecipe, reduce_states};
    for component in [rotor(), beam(8, FREE).with_damper(None, Some(8), 300.0).unwrap()] {
        let recipe = |completion| StateRecipe {
            completion,
            modes: StateChoice::Number(9),
            boundary: vec![0, 14],
        };
        let one = reduce_states(&component, &recipe(Completion::Flexibility)).unwrap().model;
        let other =
            reduce_states(&component, &recipe(Completion::ResidualFlexibility)).unwrap().model;
        assert_eq!(one.states(), other.states());
        for omega in [300.0, 900.0] {
            let (a, b) = (one.receptance(omega).unwrap(), other.receptance(omega).unwrap());
            assert!((&a - &b).norm() < 1e-6 * a.norm());
        }
    }
}

#[test]
fn a_yielding_spring_at_a_retained_dof_keeps_working() {
    use crate::element::{Element, Law};
    use crate::equations::{ConnectedElement, Equations};
    use crate::integrator::{Integrator, Method as Algorithm, Options};
    let component = beam(20, BeamEnds::CANTILEVER).with_rayleigh(2.0, 1e-5);
    let (tip, middle) = (38, 18);
    let recipe = Recipe {
        retained: vec![middle],
        monitored: vec![28],
        ..Recipe::rubin(vec![tip], ModeChoice::Number(8))
    };
    let model = reduce(&component, &recipe).unwrap().model;
    let options =
        Options { method: Algorithm::Newmark, step_s: 1e-4, direct_inertia: None, iterations: 20 };
    let run = |equations: &Equations, watch: &dyn Fn(&[f64]) -> f64| {
        let mut integrator = Integrator::new(equations, &options).unwrap();
        let load = |k: usize| 30.0 * (0.01 * k as f64).sin() * (0.0037 * k as f64).cos();
        (0..3000)
            .map(|k| {
                let mut force: [f64; 0] = [];
                integrator.equilibrium(&[load(k)], &mut force);
                integrator.advance(&[load(k)], &[load(k + 1)], &force).unwrap();
                watch(integrator.displacement())
            })
            .collect::<Vec<f64>>()
    };
    let spring = |dof: usize| ConnectedElement {
        place: RelativeDof::of_dof(dof),
        element: Element::new(Law::Bilinear { stiffness: 2e4, yield_force: 8.0, hardening: 0.1 }),
    };
    let unit = |size: usize, dof: usize| {
        let mut column = DMatrix::zeros(size, 1);
        column[(dof, 0)] = 1.0;
        column
    };
    let full = Equations {
        matrices: SecondOrder {
            mass: component.matrices.mass.to_dense(),
            damping: component.matrices.damping.to_dense(),
            stiffness: component.matrices.stiffness.to_dense(),
        },
        load: unit(40, tip),
        interface: Vec::new(),
        elements: vec![spring(middle)],
        states: None,
    };
    let small = Equations {
        matrices: SecondOrder {
            mass: model.matrices.mass.clone(),
            damping: model.matrices.damping.clone(),
            stiffness: model.matrices.stiffness.clone(),
        },
        load: unit(model.size(), model.coordinate(tip).unwrap()),
        interface: Vec::new(),
        elements: vec![spring(model.coordinate(middle).unwrap())],
        states: None,
    };
    let exact = run(&full, &|x| x[28]);
    let found = run(&small, &|x| model.recover(x)[0]);
    let linear = run(&Equations { elements: Vec::new(), ..full.clone() }, &|x| x[28]);
    let size = exact.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    let off = |other: &[f64]| {
        exact.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / size
    };
    // The spring matters, and the small model feels it as the full one does.
    assert!(off(&linear) > 0.2, "{}", off(&linear));
    assert!(off(&found) < 2e-3, "{}", off(&found));
}

/// A heavy mass with a damper on a fine mesh: αm is a millionth of βk elsewhere,
/// so that the one DOF could draw α to itself.
#[test]
fn a_damper_at_a_heavy_dof_is_found_on_a_fine_mesh() {
    let mut component = beam(60, BeamEnds::CANTILEVER).with_rayleigh(0.5, 4e-4);
    let (n, tip) = (component.size(), 118);
    assert_eq!(component.damper_dofs(64), Some(vec![]));
    let one = |value| SparseMatrix::from_triplets(n, n, [(tip, tip, value)]).unwrap();
    component.matrices.mass =
        SparseMatrix::sum(&[(1.0, &component.matrices.mass), (1.0, &one(400.0))]);
    component.matrices.damping =
        SparseMatrix::sum(&[(1.0, &component.matrices.damping), (1.0, &one(210.0))]);
    assert_eq!(component.damper_dofs(64), Some(vec![tip]));
}

#[test]
fn dual_craig_bampton_without_modes_and_with_all() {
    let component = beam(10, BeamEnds::CANTILEVER).with_rayleigh(2.0, 1e-6);
    let boundary = [18, 19];
    let none = ModeChoice::CutOff { omega_rad_s: 1.0 };
    let dual = dual_component(&component, &boundary, none).unwrap();
    assert_eq!((dual.matrices.mass.nrows(), dual.forces), (2, 2));
    let full = Response::of_component(&component, &boundary, &[1.0]).unwrap();
    let still = dual.receptance(1.0).unwrap();
    assert!((&still - &full.receptances[0]).norm() < 1e-3 * still.norm(), "{still}");
    // As many modes as leave room for the forces, and never more.
    let all = ModeChoice::Number(1000);
    let dual = dual_component(&component, &boundary, all).unwrap();
    assert_eq!(dual.matrices.mass.nrows(), component.size());
    let every: Vec<usize> = (0..22).collect();
    let error = dual_component(&beam(10, FREE), &every, all).unwrap_err();
    assert!(error.to_string().contains("22 forces"), "{error}");
}

#[test]
fn a_state_space_model_is_never_larger_than_the_full_one() {
    use state_space::{Completion, StateChoice, StateRecipe, reduce_states};
    let free = beam(8, FREE).with_damper(None, Some(8), 300.0).unwrap().with_rayleigh(2.0, 1e-6);
    let held = beam(8, BeamEnds::CANTILEVER).with_rayleigh(2.0, 1e-6);
    for (component, boundary) in [(held, vec![14, 3]), (free, vec![0, 14]), (rotor(), vec![14])] {
        let states = 2 * component.size();
        for completion in [Completion::Flexibility, Completion::ResidualFlexibility] {
            for number in [states - 6, states - 3, states - 2, states, 10 * states] {
                let modes = StateChoice::Number(number);
                let recipe = StateRecipe { completion, modes, boundary: boundary.clone() };
                let model = reduce_states(&component, &recipe).unwrap().model;
                assert!(model.states() <= states, "{number}: {}", model.states());
                if number < states {
                    continue;
                }
                let full = Response::of_component(&component, &boundary, &[300.0]).unwrap();
                let own = model.receptance(300.0).unwrap();
                let off = (&own - &full.receptances[0]).norm() / own.norm();
                assert!(off < 1e-8, "{off}");
            }
        }
    }
}

#[test]
fn an_odd_number_of_state_modes_keeps_the_whole_pair() {
    use state_space::{Completion, StateChoice, StateRecipe, reduce_states};
    let component = beam(8, BeamEnds::CANTILEVER).with_rayleigh(2.0, 1e-6);
    for (number, kept) in [(1, 2), (2, 2), (5, 6)] {
        let modes = StateChoice::Number(number);
        let completion = Completion::Flexibility;
        let recipe = StateRecipe { completion, modes, boundary: vec![14] };
        assert_eq!(reduce_states(&component, &recipe).unwrap().model.kept.len(), kept);
    }
}
