//! Kinetic + dissipated + strain = input + feedback.

mod common;

use common::benchmark::{BILINEAR, BOUC_WEN, Case, Trace};
use model::integrator::{Hold, Method};
use runtime::monitor::WorkRule;

/// Largest gap in the balance over the largest input work.
fn residual(trace: &Trace) -> f64 {
    let peak = trace.energies.iter().map(|e| e.input).fold(0.0, f64::max);
    assert!(peak > 1.0, "{peak}");
    let gap = trace
        .energies
        .iter()
        .map(|e| (e.kinetic + e.dissipated + e.strain - e.input - e.feedback).abs())
        .fold(0.0, f64::max);
    gap / peak
}

fn held(case: &Case, rule: WorkRule) -> f64 {
    let mut case = case.clone();
    case.rule = rule;
    residual(&case.run(case.split(), 16384))
}

#[test]
fn the_balance_closes_for_every_method() {
    for (method, most) in [
        (Method::RungeKutta4, 1e-4),
        (Method::Exact(Hold::First), 1e-4),
        (Method::Exact(Hold::Zero), 0.1),
        (Method::Newmark, 1e-4),
        (Method::ImplicitEuler, 1.0),
        (Method::ChenRicles, 0.1),
        (Method::KolayRicles { spectral_radius: 0.7 }, 0.1),
    ] {
        let case = Case::benchmark().with_method(method).with_delay(4.0);
        let (exact, straight) = (held(&case, WorkRule::Held), held(&case, WorkRule::Trapezoid));
        eprintln!(
            "{method:?}: held {exact:.3e}, trapezoid {straight:.3e}, {:.0}",
            straight / exact
        );
        assert!(exact < most);
    }
}

#[test]
fn elements() {
    for law in [BILINEAR, BOUC_WEN] {
        for method in [Method::RungeKutta4, Method::Newmark, Method::ChenRicles] {
            let case = Case::benchmark()
                .with_method(method)
                .with_delay(4.0)
                .with_storey_law(law)
                .with_specimen_law(law);
            let (exact, straight) = (held(&case, WorkRule::Held), held(&case, WorkRule::Trapezoid));
            eprintln!(
                "{law:?} {method:?}: held {exact:.3e}, trapezoid {straight:.3e}, {:.0}",
                straight / exact
            );
        }
    }
}
