//! Order of accuracy, energy and stability of every algorithm.

use nalgebra::{DMatrix, DVector};
use numerics::block::{hstack, vstack};
use numerics::second_order::SecondOrder;

use super::*;
use crate::element::{Element, Law};
use crate::equations::{ConnectedElement, Descriptor, RelativeDof};

const ALL: [Method; 7] = Method::all(0.6);

/// Two masses in a row, about 3.6 and 9.4 Hz.
fn two_masses(damping: f64) -> Equations {
    let stiffness = DMatrix::from_row_slice(2, 2, &[2.0e6, -1.0e6, -1.0e6, 1.0e6]);
    let mass = DMatrix::from_diagonal(&DVector::from_vec(vec![800.0, 600.0]));
    Equations {
        matrices: SecondOrder { damping: damping * &stiffness, mass, stiffness },
        load: DMatrix::from_row_slice(2, 1, &[800.0, 600.0]),
        interface: vec![RelativeDof { from: Some(0), to: Some(1) }],
        elements: Vec::new(),
        states: None,
    }
}

fn integrator(equations: &Equations, method: Method, step_s: f64) -> Integrator {
    let options = Options { method, step_s, direct_inertia: None, iterations: 50 };
    Integrator::new(equations, &options).unwrap()
}

/// Displacements 64 times a second in a free motion with a constant interface
/// force, `substeps` steps between them.
fn free_motion(equations: &Equations, method: Method, substeps: usize) -> Vec<f64> {
    let mut integrator = integrator(equations, method, 1.0 / (64 * substeps) as f64);
    integrator.start(&[0.01, -0.02], &[0.5, 0.1], &[0.3], &[700.0]);
    let (mut force, mut path) = ([700.0], Vec::new());
    for _ in 0..64 {
        for _ in 0..substeps {
            integrator.equilibrium(&[0.3], &mut force);
            integrator.advance(&[0.3], &[0.3], &force).unwrap();
        }
        path.extend_from_slice(integrator.displacement());
    }
    path
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn every_method_has_its_order() {
    let equations = two_masses(1e-3);
    let exact = free_motion(&equations, Method::Exact(Hold::First), 1);
    for method in ALL {
        let (expected, substeps) = match method {
            Method::Exact(_) => (f64::INFINITY, 8),
            Method::RungeKutta4 => (4.0, 8),
            Method::ImplicitEuler => (1.0, 512),
            _ => (2.0, 64),
        };
        let errors = [substeps, 2 * substeps]
            .map(|substeps| distance(&free_motion(&equations, method, substeps), &exact));
        let order = (errors[0] / errors[1]).log2();
        if expected.is_infinite() {
            assert!(errors[1] < 1e-13, "{method:?}: {errors:?}");
        } else {
            assert!((order - expected).abs() < 0.1, "{method:?}: order {order}, {errors:?}");
        }
    }
}

#[test]
fn a_straight_load_is_met_exactly_by_the_first_order_hold() {
    // Under s(t) = t the static part is K⁻¹L t; without damping and from the
    // matching velocity the answer stays on it.
    let equations = two_masses(0.0);
    let slope = equations.matrices.stiffness.clone().try_inverse().unwrap() * &equations.load;
    let mut integrator = integrator(&equations, Method::Exact(Hold::First), 0.013);
    integrator.start(&[0.0, 0.0], slope.as_slice(), &[0.0], &[0.0]);
    for k in 0..100 {
        let (t, next) = (0.013 * f64::from(k), 0.013 * f64::from(k + 1));
        integrator.advance(&[t], &[next], &[0.0]).unwrap();
        let expected: Vec<f64> = slope.iter().map(|s| s * next).collect();
        assert!(distance(integrator.displacement(), &expected) < 1e-15);
    }
}

fn mechanical_energy(equations: &Equations, integrator: &Integrator) -> f64 {
    let x = DVector::from_column_slice(integrator.displacement());
    let v = DVector::from_column_slice(integrator.velocity());
    0.5 * (v.dot(&(&equations.matrices.mass * &v)) + x.dot(&(&equations.matrices.stiffness * &x)))
}

/// Energy after `steps` undamped steps over the energy at the start.
fn energy_ratio(method: Method, step_s: f64, steps: usize) -> f64 {
    let equations = two_masses(0.0);
    let mut integrator = integrator(&equations, method, step_s);
    integrator.start(&[0.01, -0.02], &[0.5, 0.1], &[0.0], &[0.0]);
    let before = mechanical_energy(&equations, &integrator);
    for _ in 0..steps {
        integrator.advance(&[0.0], &[0.0], &[0.0]).unwrap();
    }
    mechanical_energy(&equations, &integrator) / before
}

#[test]
fn energy_is_kept_or_lost_as_each_method_promises() {
    let step_s = 0.002;
    for method in [Method::Newmark, Method::Exact(Hold::Zero), Method::Exact(Hold::First)] {
        let ratio = energy_ratio(method, step_s, 5000);
        assert!((ratio - 1.0).abs() < 1e-10, "{method:?}: {ratio}");
    }
    // Runge–Kutta loses at most (ωh)⁶/72 of its energy a step.
    let ratio = energy_ratio(Method::RungeKutta4, step_s, 5000);
    let most = 5000.0 * (60.0f64 * step_s).powi(6) / 72.0;
    assert!(ratio < 1.0 && ratio > 1.0 - most, "{ratio} against {most}");
    assert!(energy_ratio(Method::ImplicitEuler, step_s, 5000) < 1e-3);
    // The velocity of CR and KR-α belongs half a step earlier, so their energy
    // swings by the order of ωh and neither grows nor decays.
    for method in [Method::ChenRicles, Method::KolayRicles { spectral_radius: 1.0 }] {
        let ratio = energy_ratio(method, step_s, 50_000);
        assert!((ratio - 1.0).abs() < 60.0 * step_s, "{method:?}: {ratio}");
    }
    assert!(energy_ratio(Method::KolayRicles { spectral_radius: 0.2 }, step_s, 50_000) < 0.9);
}

#[test]
fn the_unconditionally_stable_ones_stay_bounded_at_ten_times_the_period() {
    for method in [
        Method::Newmark,
        Method::ImplicitEuler,
        Method::ChenRicles,
        Method::KolayRicles { spectral_radius: 1.0 },
        Method::KolayRicles { spectral_radius: 0.0 },
    ] {
        let equations = two_masses(1e-3);
        let mut integrator = integrator(&equations, method, 1.0);
        // High modes may overshoot (CR is known for it); growth is not allowed.
        let mut peaks = [0.0f64; 2];
        for k in 0..4000 {
            let kick = if k < 3 { 1000.0 } else { 0.0 };
            integrator.equilibrium(&[0.0], &mut [kick]);
            integrator.advance(&[0.0], &[0.0], &[kick]).unwrap();
            let peak = &mut peaks[k / 2000];
            *peak = peak.max(distance(integrator.displacement(), &[0.0, 0.0]));
        }
        assert!(peaks[0] < 0.1 && peaks[1] <= peaks[0], "{method:?}: {peaks:?}");
    }
}

/// The same equations with the second spring as an element.
fn with_element(law: Law) -> Equations {
    let mut equations = two_masses(2e-4);
    let place = RelativeDof { from: Some(0), to: Some(1) };
    let b = place.direction(2);
    equations.matrices.stiffness -= 1.0e6 * &b * b.transpose();
    equations.elements.push(ConnectedElement { place, element: Element::new(law) });
    equations
}

fn shaken(equations: &Equations, method: Method, steps: usize) -> Vec<f64> {
    let step_s = 1.0 / steps as f64;
    let load = |k: usize| [3.0 * (20.0 * k as f64 * step_s).sin()];
    let mut integrator = integrator(equations, method, step_s);
    for k in 0..steps {
        integrator.equilibrium(&load(k), &mut [0.0]);
        integrator.advance(&load(k), &load(k + 1), &[0.0]).unwrap();
    }
    integrator.displacement().to_vec()
}

const NONLINEAR: [Method; 5] = [
    Method::RungeKutta4,
    Method::Newmark,
    Method::ImplicitEuler,
    Method::ChenRicles,
    Method::KolayRicles { spectral_radius: 0.6 },
];

#[test]
fn an_element_that_never_yields_is_a_spring() {
    let law = Law::Bilinear { stiffness: 1.0e6, yield_force: 1e12, hardening: 0.0 };
    for method in NONLINEAR {
        let (spring, element) = (two_masses(2e-4), with_element(law));
        let mut linear = spring.clone();
        linear.matrices.damping = element.matrices.damping.clone();
        let a = shaken(&linear, method, 1000);
        let b = shaken(&element, method, 1000);
        assert!(distance(&a, &b) < 1e-11, "{method:?}: {a:?} {b:?}");
    }
}

#[test]
fn yielding_converges_to_one_answer_whatever_the_method() {
    let law = Law::Bilinear { stiffness: 1.0e6, yield_force: 1.5e3, hardening: 0.05 };
    let reference = shaken(&with_element(law), Method::RungeKutta4, 200_000);
    let elastic = shaken(&two_masses(2e-4), Method::RungeKutta4, 2000);
    assert!(distance(&reference, &elastic) > 1e-3, "the element did yield");
    for method in NONLINEAR {
        let coarse = distance(&shaken(&with_element(law), method, 2000), &reference);
        let fine = distance(&shaken(&with_element(law), method, 16_000), &reference);
        assert!(fine < 0.2 * coarse + 1e-8, "{method:?}: {coarse} then {fine}");
        let most = if method == Method::ImplicitEuler { 1e-4 } else { 1e-5 };
        assert!(fine < most, "{method:?}: {fine}");
    }
}

#[test]
fn direct_inertia_is_solved_not_delayed() {
    // A rig without delay that carries 500 kg at the interface: the numerical
    // part alone, with that force fed back, must accelerate like the whole.
    let whole = {
        let mut whole = two_masses(1e-3);
        let b = whole.interface_matrix();
        whole.matrices.mass += 500.0 * &b * b.transpose();
        whole
    };
    for method in ALL {
        let options = Options {
            method,
            step_s: 1e-3,
            direct_inertia: Some(DMatrix::from_element(1, 1, 500.0)),
            iterations: 1,
        };
        let mut split = Integrator::new(&two_masses(1e-3), &options).unwrap();
        let mut reference = integrator(&whole, method, 1e-3);
        for side in [&mut split, &mut reference] {
            side.start(&[0.01, -0.02], &[0.5, 0.1], &[0.0], &[0.0]);
        }
        let (mut force, mut none) = ([0.0], [0.0]);
        split.equilibrium(&[0.0], &mut force);
        reference.equilibrium(&[0.0], &mut none);
        let (a, b) = (split.interface().acceleration[0], reference.interface().acceleration[0]);
        // CR and KR-α start from a velocity that depends on the acceleration.
        if !matches!(method, Method::ChenRicles | Method::KolayRicles { .. }) {
            assert!((a - b).abs() < 1e-9 * b.abs(), "{method:?}: {a} {b}");
        }
        assert!((force[0] - 500.0 * a).abs() < 1e-9 * force[0].abs());
    }
}

#[test]
fn an_exact_step_refuses_elements() {
    let law = Law::Bilinear { stiffness: 1.0e6, yield_force: 1.0, hardening: 0.0 };
    let options = Options {
        method: Method::Exact(Hold::Zero),
        step_s: 1e-3,
        direct_inertia: None,
        iterations: 1,
    };
    let error = Integrator::new(&with_element(law), &options).unwrap_err();
    assert_eq!(error, IntegratorError::NotLinear(1));
}

#[test]
fn an_implicit_step_settles_where_everything_passes_through_zero() {
    // With tan(θ/2) = ωh/2 and θ = π/4 every fourth step of the average
    // acceleration lands on zero, to rounding: no scale is left in x itself.
    let law = Law::Bilinear { stiffness: 100.0, yield_force: 1e9, hardening: 0.0 };
    let one = |value: f64| DMatrix::from_element(1, 1, value);
    let equations = Equations {
        matrices: SecondOrder { mass: one(1.0), damping: one(0.0), stiffness: one(0.0) },
        load: one(1.0),
        interface: vec![RelativeDof::of_dof(0)],
        elements: vec![ConnectedElement {
            place: RelativeDof::of_dof(0),
            element: Element::new(law),
        }],
        states: None,
    };
    let step_s = 2.0 * std::f64::consts::FRAC_PI_8.tan() / 10.0;
    let mut integrator = integrator(&equations, Method::Newmark, step_s);
    integrator.start(&[0.0], &[1.0], &[0.0], &[0.0]);
    for step in 1..=400 {
        let settled = integrator.advance(&[0.0], &[0.0], &[0.0]);
        assert_eq!(settled, Ok(()), "step {step}, x = {:e}", integrator.displacement()[0]);
    }
}

#[test]
fn a_step_that_is_not_a_number_has_not_settled() {
    let law = Law::Bilinear { stiffness: 1.0e6, yield_force: 1.5e3, hardening: 0.05 };
    let mut integrator = integrator(&with_element(law), Method::Newmark, 1e-3);
    assert!(integrator.advance(&[0.0], &[f64::NAN], &[0.0]).is_err());
}

/// Displacements 64 times a second under a load that starts with a jump.
fn jumped(method: Method, substeps: usize) -> Vec<f64> {
    let mut equations = two_masses(1e-3);
    equations.interface.clear();
    let step_s = 1.0 / (64 * substeps) as f64;
    let load = |k: usize| [3.0 * (9.0 * k as f64 * step_s).cos()];
    let mut integrator = integrator(&equations, method, step_s);
    integrator.rest(&load(0));
    let mut path = Vec::new();
    for k in 0..64 * substeps {
        integrator.equilibrium(&load(k), &mut []);
        integrator.advance(&load(k), &load(k + 1), &[]).unwrap();
        if (k + 1) % substeps == 0 {
            path.extend_from_slice(integrator.displacement());
        }
    }
    path
}

#[test]
fn a_load_that_starts_with_a_jump_costs_no_order() {
    let exact = jumped(Method::Exact(Hold::First), 1024);
    for method in [
        Method::Newmark,
        Method::ChenRicles,
        Method::KolayRicles { spectral_radius: 1.0 },
        Method::KolayRicles { spectral_radius: 0.3 },
    ] {
        let errors = [32, 64].map(|substeps| distance(&jumped(method, substeps), &exact));
        let order = (errors[0] / errors[1]).log2();
        assert!((order - 2.0).abs() < 0.15, "{method:?}: order {order}, {errors:?}");
    }
}

/// The same equations in first order: E = [C M; M 0], A = [−K 0; 0 M].
fn in_states(equations: &Equations) -> Equations {
    let n = equations.size();
    let none = DMatrix::zeros(n, n);
    let SecondOrder { mass, damping, stiffness } = &equations.matrices;
    let square = |a, b, c, d| vstack(&[&hstack(&[a, b]), &hstack(&[c, d])]);
    Equations {
        load: equations.load.clone().resize_vertically(2 * n, 0.0),
        states: Some(Box::new(Descriptor {
            e: square(damping, mass, mass, &none),
            a: square(&-stiffness, &none, &none, mass),
        })),
        matrices: SecondOrder {
            mass: none.clone(),
            damping: none.clone(),
            stiffness: none.clone(),
        },
        ..equations.clone()
    }
}

/// A rotor on springs: gyroscopic and circulatory forces between its two DOFs.
fn rotor() -> Equations {
    let mut equations = two_masses(1e-3);
    equations.matrices.damping += DMatrix::from_row_slice(2, 2, &[0.0, 9e3, -9e3, 0.0]);
    equations.matrices.stiffness += DMatrix::from_row_slice(2, 2, &[0.0, 4e4, -4e4, 0.0]);
    equations
}

#[test]
fn a_first_order_model_steps_as_the_second_order_one_it_stands_for() {
    let direct = Some(DMatrix::from_element(1, 1, 120.0));
    for (second, direct_inertia) in [(two_masses(1e-3), None), (rotor(), None), (rotor(), direct)] {
        for method in &ALL[..5] {
            let options = Options {
                method: *method,
                step_s: 2e-3,
                direct_inertia: direct_inertia.clone(),
                iterations: 1,
            };
            let mut ours = Integrator::new(&in_states(&second), &options).unwrap();
            let mut theirs = Integrator::new(&second, &options).unwrap();
            let (mut largest, mut apart) = ([0.0f64; 4], [0.0f64; 4]);
            for k in 0..400 {
                let load = |k: usize| [3.0 * (0.11 * k as f64).sin()];
                let force = 900.0 * (0.07 * k as f64).cos();
                let mut forces = [[force], [force]];
                let mut seen = [[0.0; 4]; 2];
                for (side, integrator) in [&mut ours, &mut theirs].into_iter().enumerate() {
                    integrator.equilibrium(&load(k), &mut forces[side]);
                    let motion = integrator.interface();
                    seen[side] = [
                        motion.displacement[0],
                        motion.velocity[0],
                        motion.acceleration[0],
                        forces[side][0],
                    ];
                    integrator.advance(&load(k), &load(k + 1), &forces[side]).unwrap();
                    assert_eq!(integrator.displacement().len(), 2);
                }
                for i in 0..4 {
                    largest[i] = largest[i].max(seen[1][i].abs());
                    apart[i] = apart[i].max((seen[0][i] - seen[1][i]).abs());
                }
                let work = [&ours, &theirs].map(|one| one.step_work(&[force]).unwrap());
                for (a, b) in
                    [(work[0].input, work[1].input), (work[0].feedback_held, work[1].feedback_held)]
                {
                    assert!((a - b).abs() < 1e-8, "{method:?}: {a} {b}");
                }
            }
            for i in 0..4 {
                assert!(apart[i] < 1e-9 * largest[i], "{method:?}: {apart:?} of {largest:?}");
            }
        }
    }
}

#[test]
fn structural_methods_keep_their_order_on_a_rotor() {
    let exact = free_motion(&rotor(), Method::Exact(Hold::First), 1);
    let in_first_order = free_motion(&in_states(&rotor()), Method::Exact(Hold::First), 1);
    assert!(distance(&exact, &in_first_order) < 1e-9);
    for method in
        [Method::Newmark, Method::ChenRicles, Method::KolayRicles { spectral_radius: 0.6 }]
    {
        let error = |substeps| distance(&free_motion(&rotor(), method, substeps), &exact);
        let (coarse, fine) = (error(16), error(32));
        assert!((3.4..4.6).contains(&(coarse / fine)), "{method:?}: {coarse} {fine}");
    }
}

#[test]
fn elements_on_a_first_order_model_are_stepped_by_stages_alone() {
    let law = Law::Bilinear { stiffness: 1.0e6, yield_force: 1.5e3, hardening: 0.05 };
    let second = with_element(law);
    let of = |equations: &Equations| free_motion(equations, Method::RungeKutta4, 8);
    let (ours, theirs) = (of(&in_states(&second)), of(&second));
    assert!(distance(&ours, &theirs) < 1e-9, "{}", distance(&ours, &theirs));
    let refused = |equations: &Equations, method| {
        let options = Options { method, step_s: 1e-3, direct_inertia: None, iterations: 1 };
        Integrator::new(equations, &options).unwrap_err()
    };
    let states = in_states(&second);
    let elements = IntegratorError::ElementsOfFirstOrder(1);
    assert_eq!(refused(&states, Method::Newmark), elements);
    let plain = in_states(&two_masses(1e-3));
    assert_eq!(refused(&plain, Method::ChenRicles), IntegratorError::NeedsSecondOrder("cr"));
    let mut singular = plain.clone();
    singular.states.as_mut().unwrap().e.row_mut(1).fill(0.0);
    assert_eq!(refused(&singular, Method::Newmark), IntegratorError::SingularMass);
    let mut wild = plain;
    wild.states.as_mut().unwrap().a[(0, 0)] = f64::NAN;
    assert_eq!(refused(&wild, Method::Exact(Hold::Zero)), IntegratorError::SingularMass);
}
