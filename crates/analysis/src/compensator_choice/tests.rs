//! The table against the papers' critical delays and the exact inverse.

use model::equations::Equations;
use model::equations::RelativeDof;
use model::integrator::{Hold, Method, Options};
use model::specimen::Specimen;
use numerics::lti::TransferFunction;
use numerics::second_order::SecondOrder;

use super::*;
use nalgebra::DMatrix;
use numerics::Matrix;

fn one(value: f64) -> Matrix {
    DMatrix::from_element(1, 1, value)
}

/// The spring of 110 kN/m that is tested in both structures of the multi-rate paper.
fn spring() -> Specimen {
    Specimen {
        matrices: SecondOrder { mass: one(0.0), damping: one(0.0), stiffness: one(110e3) },
        elements: Vec::new(),
    }
}

/// Three storeys, the spring beside the third.
fn chain() -> Equations {
    let tied = |of: [f64; 3]| {
        DMatrix::from_row_slice(
            3,
            3,
            &[of[0] + of[1], -of[1], 0.0, -of[1], of[1] + of[2], -of[2], 0.0, -of[2], of[2]],
        )
    };
    Equations {
        matrices: SecondOrder {
            mass: DMatrix::identity(3, 3) * 440.0,
            damping: tied([880.0; 3]),
            stiffness: tied([275e3, 275e3, 165e3]),
        },
        load: DMatrix::from_element(3, 1, -440.0),
        interface: vec![RelativeDof { from: Some(1), to: Some(2) }],
        elements: Vec::new(),
        states: None,
    }
}

/// One mass, the spring beside its own.
fn oscillator() -> Equations {
    Equations {
        matrices: SecondOrder { mass: one(6300.0), damping: one(2370.0), stiffness: one(140e3) },
        load: one(-6300.0),
        interface: vec![RelativeDof::of_dof(0)],
        elements: Vec::new(),
        states: None,
    }
}

fn actuator(hold_s: f64) -> Plant {
    let function = TransferFunction::new(&[5.163e6], &[1.0, 530.8, 8.899e4, 5.44e6]).unwrap();
    Plant { function, delay_s: 0.0, hold_s }
}

fn late(delay_s: f64) -> Plant {
    Plant { function: TransferFunction::new(&[1.0], &[1.0]).unwrap(), delay_s, hold_s: 0.0 }
}

fn described(numerical: &Equations, step_s: f64, force_delay: usize) -> LoopDescription {
    let ideal = LoopDescription::ideal(numerical, &spring(), None);
    let integrator =
        Options { method: Method::Exact(Hold::First), step_s, ..ideal.integrator.clone() };
    LoopDescription { integrator, force_delay, ..ideal }
}

fn judged(numerical: &Equations, plant: &Plant, step_s: f64) -> Verdict {
    let description = described(numerical, step_s, 0);
    let task = Task { plant, step_s, band_hz: (0.1, 10.0), description: Some(&description) };
    let table = tabulate(&task);
    assert_eq!(table.candidates[0].design, Design::None);
    table.candidates[0].judgement.unwrap()
}

#[test]
fn the_margin_of_perfect_tracking_is_the_critical_delay() {
    // So short a hold that its half is known to be all its delay.
    let step_s = 2e-5;
    // As printed, to half of their last digit.
    for (numerical, critical_ms, digit, hertz) in
        [(oscillator(), 21.6, 0.05, None), (chain(), 14.36, 0.005, Some(4.93))]
    {
        let found = judged(&numerical, &late(0.0), step_s);
        assert!(found.is_stable());
        let margin = found.delay_margin.expect("a delay ends it");
        // The rig is measured before it is commanded: a sample, and half of a hold.
        let found = 1e3 * (margin.delay_s + 1.5 * step_s);
        assert!((found - critical_ms).abs() < digit, "{found}");
        let at_hz = margin.frequency_hz;
        assert!(hertz.is_none_or(|hertz: f64| (at_hz - hertz).abs() < 0.005), "{at_hz}");
    }
}

#[test]
fn a_delay_takes_its_share_of_the_margin_and_more_makes_the_loop_grow() {
    let (chain, step_s) = (chain(), 2e-5);
    let margin = |delay_s: f64| judged(&chain, &late(delay_s), step_s).margin_s();
    let whole = margin(0.0).unwrap();
    // A command that is held passes a pure delay in whole steps.
    let delay_s = (0.6 * whole / step_s).round() * step_s;
    let rest = margin(delay_s).unwrap();
    assert!((rest - (whole - delay_s)).abs() < 1e-9, "{whole} {rest}");
    assert_eq!(judged(&chain, &late(1.001 * whole), step_s).growing, 2, "a pair of motions");
}

#[test]
fn without_compensation_the_chain_grows_and_the_oscillator_does_not() {
    let plant = actuator(1e-3);
    assert!(!judged(&chain(), &plant, 1e-3).is_stable());
    assert!(judged(&oscillator(), &plant, 1e-3).is_stable());
}

#[test]
fn a_table_knows_the_exact_inverse_and_advises_the_one_that_adapts() {
    let (plant, description) = (actuator(1e-3), described(&chain(), 1e-3, 0));
    let description = Some(&description);
    let task = Task { plant: &plant, step_s: 1e-3, band_hz: (0.2, 8.0), description };
    let table = tabulate(&task);
    // The first mode of the whole chain, 1.771 Hz.
    assert!((table.at_hz - 1.771).abs() < 5e-4, "{}", table.at_hz);
    let of = |kind: &str| table.candidates.iter().find(|c| c.kind == kind).unwrap();
    let none = of("none");
    assert!((1e3 * none.delay_left_s - 16.86).abs() < 0.05, "actuator and half a hold: {none:?}");
    let inverse = of("inverse");
    assert!(inverse.error < 0.5, "{inverse:?}");
    assert!(inverse.judgement.as_ref().unwrap().is_stable());
    let first = of("first_order");
    assert!(first.delay_left_s.abs() < 1e-4, "matched at the first mode: {first:?}");
    let adaptive = of("adaptive_inverse");
    assert!(adaptive.error <= inverse.error, "the best of the same form");
    let advised = &table.candidates[table.advice.unwrap()];
    assert_eq!(advised, adaptive, "{}", table.reason);
    // A longer delay of the force takes its share of the margin.
    let description = described(&chain(), 1e-3, 2);
    let later = tabulate(&Task { description: Some(&description), ..task });
    let margin = |table: &Table| {
        let found = table.candidates.iter().find(|c| c.design == inverse.design);
        found.and_then(|c| c.judgement.as_ref()?.margin_s()).unwrap()
    };
    assert!((margin(&table) - margin(&later) - 2e-3).abs() < 1e-9);
}

#[test]
fn without_the_rest_of_the_loop_the_errors_alone_decide() {
    let plant = actuator(1e-3);
    let task = Task { plant: &plant, step_s: 1e-3, band_hz: (0.2, 8.0), description: None };
    let table = tabulate(&task);
    assert!(table.candidates.iter().all(|candidate| candidate.judgement.is_none()));
    assert!(table.advice.is_some());
    assert!(!table.reason.contains("further delay"), "{}", table.reason);
}

#[test]
fn the_delay_left_may_exceed_half_a_turn() {
    // 30 ms at 20 Hz are 0.6 turns.
    let plant = late(0.03);
    let table =
        tabulate(&Task { plant: &plant, step_s: 1e-3, band_hz: (0.0, 40.0), description: None });
    assert_eq!(table.at_hz, 20.0);
    let none = &table.candidates[0];
    assert!((none.delay_left_s - 0.03).abs() < 1e-12, "{none:?}");
}

#[test]
fn a_loop_that_bears_less_than_a_period_is_not_advised() {
    // A later and later force eats up the margin of some 14 ms.
    let step_s = 1e-3;
    let plant = actuator(step_s);
    let advised = |late: usize| {
        let description = described(&chain(), step_s, late);
        let description = Some(&description);
        let table = tabulate(&Task { plant: &plant, step_s, band_hz: (0.2, 8.0), description });
        let margin = |c: &Candidate| c.judgement.as_ref().unwrap().margin_s();
        let least = table.candidates.iter().filter_map(margin).reduce(f64::min);
        (table.advice.map(|index| margin(&table.candidates[index]).unwrap()), least)
    };
    assert!(advised(0).0.is_some());
    let (late, least) = (1..60)
        .find_map(|late| match advised(late) {
            (None, least) => Some((late, least)),
            (Some(margin_s), _) => {
                assert!(margin_s >= step_s, "{late}: {margin_s}");
                None
            }
        })
        .unwrap();
    // Some are stable still, none by a whole period.
    assert!(least.is_some_and(|least| least < step_s), "{late}: {least:?}");
}
