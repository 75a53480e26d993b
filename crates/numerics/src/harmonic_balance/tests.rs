//! Against closed forms and the bilinear four-storey building.

use super::*;
use crate::continuation::{
    Advance, Continuation, Corrector, Course, Difference, End, Refresh, Space, Steps,
};
use crate::{Complex, Matrix};
use nalgebra::{DMatrix, DVector};

fn corrector() -> Corrector {
    Corrector {
        tolerance: 1e-10,
        floor: 0.0,
        most_iterations: 25,
        most_halvings: 6,
        refresh: Refresh::WhenSlow { share: 0.2 },
        difference: Difference { least: 1e-6, most: 1e-2, over_noise: 10.0 },
    }
}

/// The four-storey building, shear legs, as one matrix each.
fn building(legs: [f64; 4]) -> Matrix {
    let mut out = DMatrix::zeros(4, 4);
    for (i, k) in legs.into_iter().enumerate() {
        out[(i, i)] += k;
        if i > 0 {
            out[(i - 1, i - 1)] += k;
            out[(i, i - 1)] -= k;
            out[(i - 1, i)] -= k;
        }
    }
    out
}

fn four_storeys(springs: Vec<Spring>, preload: f64, force: f64) -> System {
    let mut constant = DVector::zeros(4);
    constant[2] = preload;
    let mut harmonic = DVector::zeros(4);
    harmonic[3] = Complex::from(force);
    System {
        linear: SecondOrder {
            mass: DMatrix::from_diagonal(&DVector::from_column_slice(&[5.37, 5.37, 5.37, 10.74])),
            damping: building([4.4062, 3.7979, 3.7421, 3.7421]),
            stiffness: building([53048.0, 45724.0, 45052.0, 45052.0]),
        },
        springs,
        constant,
        harmonic,
    }
}

/// A second spring k in the third storey, for x3 − x2 ≥ 0.
fn one_sided(k: f64) -> Spring {
    Spring {
        direction: DVector::from_column_slice(&[0.0, -1.0, 1.0, 0.0]),
        law: Box::new(move |u| if u >= 0.0 { (k * u, k) } else { (0.0, 0.0) }),
    }
}

#[test]
fn a_linear_building_answers_as_the_specification_says() {
    let balance = HarmonicBalance::new(four_storeys(Vec::new(), 0.0, 1.0), 1);
    for (hz, amplitude) in [
        (12.0, 2.3877e-5),
        (13.0, 4.5344e-5),
        (13.2, 6.9337e-5),
        (13.4, 1.9503e-4),
        (13.47148, 3.41601e-4),
        (13.5, 2.9122e-4),
        (13.6, 1.0929e-4),
        (14.0, 2.0319e-5),
    ] {
        let response = balance.response(&[], std::f64::consts::TAU * hz).unwrap();
        let ours = response.harmonics[1][2].norm();
        assert!((ours / amplitude - 1.0).abs() < 3e-5, "{hz} Hz: {ours} {amplitude}");
        let greatest =
            balance.multipliers(&response).unwrap().iter().map(|m| m.norm()).fold(0.0, f64::max);
        assert!(greatest < 1.0, "{greatest}");
    }
}

#[test]
fn the_jacobian_is_the_slope_of_the_residual() {
    let system = four_storeys(vec![one_sided(45052.0)], 26.68, 3.0);
    let mut balance = HarmonicBalance::new(system, 3);
    let unknowns = [4e-4, 3e-4, -2e-4, 1e-5, 2e-5, -1e-5, 3e-6, 86.0];
    let rows = balance.jacobian(&unknowns, 0..8).unwrap();
    for column in 0..unknowns.len() {
        let size = if column == 7 { 1e-5 } else { 1e-9 };
        let side = |balance: &mut HarmonicBalance, sign: f64| {
            let mut moved = unknowns;
            moved[column] += sign * size;
            balance.evaluate(&moved).unwrap().residual
        };
        let (low, high) = (side(&mut balance, -1.0), side(&mut balance, 1.0));
        for (row, entries) in rows.row_iter().enumerate() {
            let slope = (high[row] - low[row]) / (2.0 * size);
            let scale = if column == 7 { 1e-6 } else { 1e-3 };
            assert!((entries[column] - slope).abs() < scale * (1.0 + slope.abs() / scale * 1e-3));
        }
    }
}

#[test]
fn the_bilinear_building_folds_and_its_middle_branch_is_unstable() {
    let hz = std::f64::consts::TAU;
    let system = four_storeys(vec![one_sided(45052.0)], 26.68, 3.0);
    let mut balance = HarmonicBalance::new(system, 9);
    let count = balance.unknowns();
    let mut space = Space::scaled([vec![1e-3; count], vec![0.1 * hz]].concat());
    (space.low[count], space.high[count]) = (13.5 * hz, 14.6 * hz);
    let steps = Steps {
        first: 0.1,
        least: 1e-5,
        most: 0.15,
        grow: 1.2,
        shrink: 0.5,
        most_turn_rad: 0.35,
        most_points: 600,
    };
    let course = Course::Arclength { steps, falling: true };
    let mut guess = vec![0.0; count + 1];
    guess[count] = 14.5 * hz;
    let mut run = Continuation::new(space, corrector(), course, guess);
    let end = loop {
        if let Ok(Advance::Ended(end)) = run.advance(&mut balance) {
            break end;
        }
    };
    assert_eq!(end, End::Bound, "{} points", run.points().len());
    let folds: Vec<f64> = run.folds().iter().map(|f| f.unknowns[count] / hz).collect();
    assert_eq!(folds.len(), 2, "{folds:?}");
    assert!((folds[0] - 13.9093).abs() < 1e-3, "{folds:?}");
    assert!((folds[1] - 14.0057).abs() < 1e-3, "{folds:?}");

    let amplitude = |balance: &HarmonicBalance, unknowns: &[f64]| {
        let response = balance.response(&unknowns[..count], unknowns[count]).unwrap();
        let multipliers = balance.multipliers(&response).unwrap();
        let greatest = multipliers.iter().map(|m| m.norm()).fold(0.0, f64::max);
        (response.harmonics[1][2].norm(), greatest)
    };
    // The three answers at 13.96 Hz, and which of them a free structure shows.
    let mut crossings = Vec::new();
    for pair in run.points().windows(2) {
        let (a, b) = (pair[0].parameter() / hz - 13.96, pair[1].parameter() / hz - 13.96);
        if a * b < 0.0 {
            let share = a / (a - b);
            let unknowns: Vec<f64> = (0..=count)
                .map(|i| pair[0].unknowns[i] + share * (pair[1].unknowns[i] - pair[0].unknowns[i]))
                .collect();
            crossings.push(amplitude(&balance, &unknowns));
        }
    }
    let expected = [(1.0963e-3, true), (7.747e-4, false), (4.234e-4, true)];
    assert_eq!(crossings.len(), 3, "{crossings:?}");
    for ((ours, multiplier), (paper, stable)) in crossings.iter().zip(expected) {
        assert!((ours / paper - 1.0).abs() < 5e-3, "{crossings:?}");
        assert_eq!(*multiplier < 1.0, stable, "{crossings:?}");
    }
    let peak = run.points().iter().map(|p| amplitude(&balance, &p.unknowns).0).fold(0.0, f64::max);
    assert!((peak / 1.2184e-3 - 1.0).abs() < 2e-3, "{peak}");
}
