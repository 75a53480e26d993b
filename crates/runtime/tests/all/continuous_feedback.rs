//! Structure and rig as one system, against the loop that holds its force.

use crate::common::benchmark::{BILINEAR, BOUC_WEN, Case, quick, servo};
use model::first_order::Scheme;
use runtime::monitor::WorkRule;

/// Short: the servo's loop is unstable without a compensator, which
/// does not keep two right answers from agreeing.
const SECONDS: f64 = 0.75;

fn ticks(rate: f64) -> usize {
    (SECONDS * rate) as usize
}

/// Distance of the held loop at `rate` to the continuous one at the same rate.
fn gap(case: &Case, rate: f64) -> f64 {
    let case = case.clone().with_step(1.0 / rate);
    let held = case.run(case.split(), ticks(rate));
    let continuous = case.run(case.coupled(Scheme::RungeKutta4), ticks(rate));
    held.distance(&continuous, 1)
}

#[test]
fn the_held_loop_converges_to_the_continuous_one() {
    for (name, base) in [
        ("function", Case::benchmark().with_transfer(quick())),
        ("servo", Case::benchmark().with_transfer(servo())),
    ] {
        for (law, case) in [
            ("linear", base.clone()),
            ("bilinear", base.clone().with_specimen_law(BILINEAR)),
            ("bouc-wen", base.clone().with_specimen_law(BOUC_WEN)),
            ("both sides", base.with_specimen_law(BOUC_WEN).with_storey_law(BILINEAR)),
        ] {
            let gaps = [2048.0, 4096.0, 8192.0].map(|rate| gap(&case, rate));
            let order = (gaps[1] / gaps[2]).log2();
            assert!((0.9..1.4).contains(&order), "{name}, {law}: {gaps:?}");
            assert!(gaps[2] < 2e-3, "{name}, {law}: {gaps:?}");
        }
    }
}

#[test]
fn exponential_and_runge_kutta_agree() {
    for transfer_system in [quick(), servo()] {
        let case = Case::benchmark().with_transfer(transfer_system);
        let exact = case.run(case.coupled(Scheme::ExactFirstHold), 4096);
        let staged = case.run(case.coupled(Scheme::RungeKutta4), 4096);
        let distance = staged.distance(&exact, 1);
        eprintln!("{distance:e}");
        assert!(distance < 1e-6, "{distance:e}");
    }
}

#[test]
fn elements_that_never_yield_change_nothing() {
    let law =
        model::element::Law::Bilinear { stiffness: 1.19e6, yield_force: 1e12, hardening: 0.0 };
    for transfer_system in [quick(), servo()] {
        let linear = Case::benchmark().with_transfer(transfer_system);
        let nonlinear = linear.clone().with_specimen_law(law);
        let distance = |a, b| nonlinear.run(b, 4096).distance(&linear.run(a, 4096), 1);
        // Runge–Kutta with elements against Runge–Kutta as a matrix.
        let joint =
            distance(linear.coupled(Scheme::RungeKutta4), nonlinear.coupled(Scheme::RungeKutta4));
        assert!(joint < 1e-12, "{joint:e}");
        // Runge–Kutta with elements against the exponential.
        let apart = distance(linear.split(), nonlinear.split());
        assert!(apart < 3e-5, "{apart:e}");
    }
}

/// Largest gap in the energy balance over the largest input work.
fn residual(case: &Case, rate: f64, rule: WorkRule) -> f64 {
    let mut case = case.clone().with_step(1.0 / rate);
    case.rule = rule;
    let trace = case.run(case.coupled(Scheme::RungeKutta4), (2.0 * rate) as usize);
    let peak = trace.energies.iter().map(|e| e.input).fold(0.0, f64::max);
    let gaps = trace.energies.iter();
    let gaps = gaps.map(|e| (e.kinetic + e.dissipated + e.strain - e.input - e.feedback).abs());
    gaps.fold(0.0, f64::max) / peak
}

#[test]
fn the_energies_of_a_continuous_loop_balance_with_the_straight_rule() {
    let linear = Case::benchmark().with_transfer(quick());
    for case in [linear.clone(), linear.with_specimen_law(BOUC_WEN)] {
        let [coarse, fine] =
            [4096.0, 8192.0].map(|rate| residual(&case, rate, WorkRule::Trapezoid));
        assert!(coarse < 3e-3, "{coarse:e}");
        assert!(((coarse / fine).log2() - 2.0).abs() < 0.1, "{coarse:e} {fine:e}");
        assert!(residual(&case, 8192.0, WorkRule::Held) > 2.0 * fine);
    }
}

#[test]
fn a_stiff_element_does_not_outrun_the_step() {
    // A stop of 3e10 N/m against 29.1 kg swings at 32 000 rad/s, far beyond
    // what one step of Runge–Kutta bears.
    let stop = model::element::Law::Gap {
        stiffness: 3e10,
        opening: 1e-3,
        side: model::element::Side::Both,
    };
    let mut case = Case::benchmark().with_transfer(servo());
    case.partition.specimen.elements.push((0, model::element::Element::new(stop)));
    for plant in [case.split(), case.coupled(Scheme::RungeKutta4)] {
        let trace = case.run(plant, 2048);
        let most = trace.measured.iter().fold(0.0f64, |most, x| most.max(x[0].abs()));
        assert_eq!(trace.trip, None);
        assert!(most > 0.9e-3 && most < 1.1e-3, "{most}");
    }
}
