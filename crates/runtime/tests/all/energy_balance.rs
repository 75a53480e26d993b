//! Kinetic + dissipated + strain + numerical = input + feedback, where numerical is what the method
//! itself takes out of the motion: nothing where it keeps energy.

use crate::common::benchmark::{BILINEAR, BOUC_WEN, Case, Trace};
use model::element::Element;
use model::integrator::{Hold, Method};
use nalgebra::DVector;
use runtime::monitor::WorkRule;

/// Largest energy that the method takes or gives, over the largest input work.
fn residual(trace: &Trace) -> f64 {
    let peak = trace.energies.iter().map(|e| e.input).fold(0.0, f64::max);
    assert!(peak > 1.0, "{peak}");
    let gap = trace
        .energies
        .iter()
        .map(|e| {
            let sum = e.kinetic + e.dissipated + e.strain + e.numerical;
            assert!((sum - e.input - e.feedback).abs() < 1e-9 * peak);
            e.numerical.abs()
        })
        .fold(0.0, f64::max);
    gap / peak
}

/// Residuals of four seconds with a held force: exact rule, straight rule.
fn both_rules(case: &Case) -> [f64; 2] {
    [WorkRule::Held, WorkRule::Trapezoid].map(|rule| {
        let mut case = case.clone();
        case.rule = rule;
        residual(&case.run(case.split(), 16_384))
    })
}

#[test]
fn the_balance_closes_as_well_as_each_method_can() {
    for (method, most) in [
        (Method::RungeKutta4, 5e-6),
        (Method::Exact(Hold::First), 5e-6),
        (Method::Newmark, 1e-11),
        (Method::Exact(Hold::Zero), 5e-6),
        (Method::ChenRicles, 1e-11),
        (Method::KolayRicles { spectral_radius: 0.7 }, 1e-3),
    ] {
        let mut case = Case::benchmark().with_method(method).with_delay(4.0);
        case.rule = WorkRule::exact_for(method);
        let residual = residual(&case.run(case.split(), 16_384));
        assert!(residual < most, "{method:?}: {residual:e}");
    }
}

/// A step of implicit Euler loses ½ Δv·M Δv + ½ Δx·K Δx, and the straight rule counts ½ Δv·C Δx
/// less as dissipated than damping takes.
#[test]
fn implicit_euler_loses_what_its_equations_say() {
    let mut case = Case::benchmark().with_method(Method::ImplicitEuler).with_delay(4.0);
    case.rule = WorkRule::exact_for(case.method);
    let trace = case.run(case.split(), 16_384);
    let matrices = case.substructures().numerical.matrices;
    let row = |k: usize| DVector::from_column_slice(&trace.displacement[k]);
    let (mut lost, mut last) = (0.0, DVector::zeros(3));
    for k in 1..trace.displacement.len() {
        let way = row(k) - row(k - 1);
        let (gain, half) = (&way / case.step_s - &last, 0.5 * &way);
        lost += 0.5 * gain.dot(&(&matrices.mass * &gain)) + half.dot(&(&matrices.stiffness * &way));
        lost += half.dot(&(&matrices.damping * &gain));
        last = way / case.step_s;
    }
    let told = trace.energies.last().unwrap();
    assert!((lost - told.numerical).abs() < 1e-9 * told.input, "{lost} {told:?}");
    assert!(told.numerical > 0.02 * told.input, "{told:?}");
}

#[test]
fn the_work_of_a_held_force_is_exact_and_the_straight_rule_is_not() {
    // Measured: 8200 times better with Runge–Kutta.
    for method in [Method::RungeKutta4, Method::Exact(Hold::First), Method::Newmark] {
        let case = Case::benchmark().with_method(method).with_delay(4.0);
        let [held, straight] = both_rules(&case);
        assert!(straight > 1000.0 * held, "{method:?}: {held:e} {straight:e}");
    }
}

#[test]
fn the_straight_rule_is_the_exact_one_for_the_explicit_stable_methods() {
    for method in [Method::ChenRicles, Method::KolayRicles { spectral_radius: 0.7 }] {
        let case = Case::benchmark().with_method(method).with_delay(4.0);
        let [held, straight] = both_rules(&case);
        assert!(held > 5.0 * straight, "{method:?}: {held:e} {straight:e}");
    }
}

#[test]
fn hysteresis_on_both_sides_keeps_the_balance() {
    // Measured: 6.5e-7 with Runge–Kutta, 5e-13 with Newmark, whose rule for the
    // elements' work is the monitor's own.
    for law in [BILINEAR, BOUC_WEN] {
        for (method, most) in [(Method::RungeKutta4, 3e-6), (Method::Newmark, 1e-11)] {
            let case = Case::benchmark()
                .with_method(method)
                .with_delay(4.0)
                .with_storey_law(law)
                .with_specimen_law(law);
            let [held, straight] = both_rules(&case);
            assert!(held < most, "{method:?} {law:?}: {held:e}");
            assert!(straight > 300.0 * held, "{method:?} {law:?}: {held:e} {straight:e}");
        }
    }
}

#[test]
fn hysteresis_counts_as_dissipated() {
    for law in [BILINEAR, BOUC_WEN] {
        let case = Case::benchmark().with_delay(1.0).with_storey_law(law);
        let trace = case.run(case.split(), 16_384);
        let damping = case.substructures().numerical.matrices.damping;
        // By hand: the dashpots from differences, the element along the path.
        let mut element = Element::new(law);
        let mut dashpots = 0.0;
        for rows in trace.displacement.windows(2) {
            let way = DVector::from_fn(3, |i, _| rows[1][i] - rows[0][i]);
            dashpots += way.dot(&(&damping * &way)) / case.step_s;
            element.commit(rows[1][2] - rows[1][1]);
        }
        let loops = element.work() - element.stored_energy();
        let told = trace.energies.last().unwrap().dissipated;
        assert!(loops > 0.1 * told, "{law:?}: {loops} of {told}");
        assert!((dashpots + loops - told).abs() < 0.01 * told, "{dashpots} + {loops}, {told}");
    }
}
