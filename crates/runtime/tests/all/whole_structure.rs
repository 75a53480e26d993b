//! A hybrid test is right when it moves like the whole structure.

use crate::common::benchmark::{BILINEAR, BOUC_WEN, Case, STEP_S, Trace, ground};
use model::equations::RelativeDof;
use model::integrator::{Hold, Integrator, Method};
use model::specimen::Specimen;
use nalgebra::DMatrix;
use numerics::second_order::SecondOrder;

const ALL: [Method; 7] = Method::all(0.7);

/// The whole structure in one integrator, without loop or partition.
fn whole(case: &Case, ticks: usize) -> Trace {
    let mut integrator = Integrator::new(&case.substructures().whole, &case.options(None)).unwrap();
    let load = ground(case.step_s, ticks);
    let mut force = vec![0.0; case.count()];
    let mut trace = Trace::default();
    for tick in 0..ticks {
        trace.displacement.push(integrator.displacement().to_vec());
        integrator.equilibrium(load.at(tick), &mut force);
        integrator.advance(load.at(tick), load.at(tick + 1), &force).unwrap();
    }
    trace
}

/// A specimen on two interface DOFs with full matrices.
fn on(interface: Vec<RelativeDof>) -> Case {
    let mut case = Case::benchmark();
    let two = |a: f64, b: f64, c: f64| DMatrix::from_row_slice(2, 2, &[a, b, b, c]);
    case.partition.interface = interface;
    case.partition.specimen = Specimen {
        matrices: SecondOrder {
            mass: two(40.0, 5.0, 30.0),
            damping: two(150.0, -40.0, 120.0),
            stiffness: two(1.2e6, -0.5e6, 0.9e6),
        },
        elements: Vec::new(),
    };
    case.limits = runtime::gate::Limits::unlimited(2, STEP_S);
    case
}

fn several_interfaces() -> Vec<Case> {
    vec![
        on(vec![RelativeDof::of_dof(0), RelativeDof::of_dof(2)]),
        // The first floor against the ground and the second storey's spring.
        on(vec![RelativeDof::of_dof(0), RelativeDof { from: Some(0), to: Some(1) }]),
        on(vec![RelativeDof { from: Some(1), to: Some(2) }, RelativeDof::of_dof(1)]),
    ]
}

#[test]
fn a_rigid_plant_is_the_whole_structure_to_rounding() {
    for method in ALL {
        let case = Case::benchmark().with_method(method);
        let (hybrid, reference) = (case.run(case.rigid(), 8192), whole(&case, 8192));
        assert!(reference.peak() > 3e-3, "{}", reference.peak());
        let distance = hybrid.distance(&reference, 1);
        assert!(distance < 1e-12, "{method:?}: {distance:e}");
    }
}

#[test]
fn a_rigid_plant_with_elements_on_both_sides_is_the_whole_structure() {
    for method in ALL.into_iter().filter(|m| !matches!(m, Method::Exact(_))) {
        for law in [BILINEAR, BOUC_WEN] {
            let case =
                Case::benchmark().with_method(method).with_specimen_law(law).with_storey_law(law);
            let (hybrid, reference) = (case.run(case.rigid(), 4096), whole(&case, 4096));
            let distance = hybrid.distance(&reference, 1);
            assert!(distance < 1e-12, "{method:?} {law:?}: {distance:e}");
            let yielded = hybrid.energies.last().unwrap().dissipated;
            assert!(yielded > 1.0, "{yielded}");
        }
    }
}

/// Distances of a held loop without delay to the whole structure at three steps.
fn convergence(prepare: impl Fn(f64) -> Case) -> [f64; 3] {
    [1024.0, 2048.0, 4096.0].map(|rate| {
        let case = prepare(1.0 / rate);
        let ticks = (2.0 * rate) as usize;
        let fine = case.clone().with_step(case.step_s / 4.0);
        case.run(case.split(), ticks).distance(&whole(&fine, 4 * ticks), 4)
    })
}

#[test]
fn without_delay_the_held_force_converges_with_order_one() {
    for method in [Method::RungeKutta4, Method::Exact(Hold::First), Method::Newmark] {
        let case = Case::benchmark().with_method(method).with_delay(0.0);
        let errors = convergence(|step_s| case.clone().with_step(step_s));
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((order - 1.0).abs() < 0.15, "{method:?}: {errors:?}");
        }
        assert!(errors[2] < 0.03, "{method:?}: {errors:?}");
    }
}

#[test]
fn a_fractional_delay_lies_between_its_neighbours() {
    let run = |samples: f64| {
        let case = Case::benchmark().with_delay(samples);
        case.run(case.split(), 8192)
    };
    let reference = whole(&Case::benchmark(), 8192);
    let errors = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0].map(|d| run(d).distance(&reference, 1));
    assert!(errors.is_sorted(), "{errors:?}");
    // The force of delay d is on average d + ½ samples old.
    for (samples, error) in [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0].iter().zip(errors) {
        let expected = errors[4] * (samples + 0.5) / 1.5;
        assert!((error / expected - 1.0).abs() < 0.15, "{samples}: {error} {expected}");
    }
}

#[test]
fn several_interface_dofs_move_like_the_whole() {
    for case in several_interfaces() {
        let reference = whole(&case, 8192);
        let rigid = case.run(case.rigid(), 8192);
        assert!(rigid.distance(&reference, 1) < 1e-12, "{:e}", rigid.distance(&reference, 1));
        let late = case.clone().with_delay(1.0);
        let split = late.run(late.split(), 8192);
        let distance = split.distance(&reference, 1);
        assert!(distance > 1e-4 && distance < 0.2, "{:?}: {distance}", case.partition.interface);
    }
}

#[test]
fn several_interface_dofs_without_delay_converge_to_the_whole() {
    for case in several_interfaces() {
        let case = case.with_delay(0.0);
        let errors = convergence(|step_s| case.clone().with_step(step_s));
        let order = (errors[1] / errors[2]).log2();
        assert!((order - 1.0).abs() < 0.2, "{:?}: {errors:?}", case.partition.interface);
    }
}

#[test]
fn work_is_the_sum_over_all_interface_dofs() {
    for case in several_interfaces() {
        let case = case.with_delay(1.0);
        let trace = case.run(case.split(), 4096);
        let mut work = 0.0;
        for k in 1..trace.interface.len() {
            for i in 0..2 {
                let change = trace.interface[k][i] - trace.interface[k - 1][i];
                work -= trace.force[k - 1][i] * change;
            }
        }
        let told = trace.energies.last().unwrap().feedback;
        assert!((work - told).abs() < 1e-9 * told.abs().max(1e-3), "{work} {told}");
        assert!(told.abs() > 1e-3);
    }
}

#[test]
fn a_load_that_is_there_from_the_first_instant_costs_no_order() {
    let load = |step_s: f64, ticks: usize| {
        let sample = |k: usize| 2.0 * (11.0 * k as f64 * step_s).cos();
        runtime::load::Load::new(&[(0..=ticks).map(sample).collect::<Vec<_>>()], ticks)
    };
    let run = |method: Method, rate: f64| {
        let case = Case::benchmark().with_method(method).with_step(1.0 / rate);
        let ticks = rate as usize;
        case.run_under(case.rigid(), load(case.step_s, ticks))
    };
    let exact = run(Method::Exact(Hold::First), 8192.0);
    for method in [Method::ChenRicles, Method::KolayRicles { spectral_radius: 0.7 }] {
        let errors = [(1024.0, 8), (2048.0, 4)]
            .map(|(rate, ratio)| run(method, rate).distance(&exact, ratio));
        let order = (errors[0] / errors[1]).log2();
        assert!((order - 2.0).abs() < 0.2, "{method:?}: {errors:?}");
    }
}
