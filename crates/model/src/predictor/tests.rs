//! What the predictors promise, measured.

use std::f64::consts::TAU;

use nalgebra::DMatrix;
use numerics::second_order::SecondOrder;

use super::*;
use crate::equations::{Equations, RelativeDof};
use crate::integrator::{Hold, Integrator, Method, Options};
use crate::specimen::Specimen;

/// Kinds that look at the interface alone get this for the rest.
fn nothing() -> (Equations, Specimen) {
    let one = |value: f64| DMatrix::from_element(1, 1, value);
    let equations = Equations {
        matrices: SecondOrder { mass: one(1.0), damping: one(0.0), stiffness: one(0.0) },
        load: DMatrix::zeros(1, 0),
        interface: vec![RelativeDof::of_dof(0)],
        elements: Vec::new(),
        states: None,
    };
    let specimen = Specimen {
        matrices: SecondOrder { mass: one(0.0), damping: one(0.0), stiffness: one(0.0) },
        elements: Vec::new(),
    };
    (equations, specimen)
}

fn build(design: Design, grid: Grid, count: usize) -> Predictor {
    let (numerical, specimen) = nothing();
    let surroundings = Surroundings { numerical: &numerical, specimen: &specimen };
    Predictor::new(&design, grid, count, &surroundings).unwrap()
}

fn observe(predictor: &mut Predictor, interface: &Motion) {
    let (displacement, velocity) = (&interface.displacement, &interface.velocity);
    predictor.observe(&Instant { interface, displacement, velocity, force: &[0.0], load: &[] });
}

/// Peak error within one period around `hertz` of a chirp 0–10 Hz in 10 s, in
/// percent of the amplitude; points i = 0 … R−1 after every instant.
fn chirp_error(design: Design, ratio: usize, hertz: f64) -> f64 {
    let tick_s = 1e-3;
    let grid = Grid { tick_s, ratio, first: 0.0, points: ratio, task: 0.0 };
    let mut predictor = build(design, grid, 1);
    // φ = 2π t²/2 for a frequency that rises by 1 Hz a second.
    let exact = |t: f64| {
        let (phase, rate) = (0.5 * TAU * t * t, TAU * t);
        let (sine, cosine) = phase.sin_cos();
        [sine, rate * cosine, TAU * cosine - rate * rate * sine]
    };
    let (mut at, mut out) = (Motion::rest(1), Motion::rest(1));
    let mut worst = 0.0f64;
    // Half a period to either side; the chirp ends at 10 Hz.
    let (from, to) = (hertz - 0.5 / hertz, hertz + 0.5 / hertz);
    for k in 0..10_000 / ratio {
        at.set(0, exact((k * ratio) as f64 * tick_s));
        observe(&mut predictor, &at);
        for i in 0..ratio {
            let t = (k * ratio + i) as f64 * tick_s;
            if t >= from && t < to {
                predictor.point(i, &mut out);
                worst = worst.max((out.displacement[0] - exact(t)[0]).abs());
            }
        }
    }
    100.0 * worst
}

const CUBIC: Design = Design::Lagrange { order: 3, stages: Stages::One };

#[test]
fn chirp_errors_are_those_of_the_table() {
    let squares = Design::LeastSquares { order: 3, points: 5 };
    for (design, ratio, table) in [
        (CUBIC, 5, ["1.33e-3", "0.0170", "0.0822", "0.255", "0.606"]),
        (CUBIC, 10, ["0.0268", "0.338", "1.627", "4.995", "11.19"]),
        (Design::Hermite, 10, ["0.00406", "0.0517", "0.247", "0.767", "1.83"]),
        (Design::PredictedAcceleration, 10, ["0.00294", "0.0373", "0.179", "0.556", "1.31"]),
        (squares, 10, ["0.0492", "0.620", "2.94", "8.78", "20.4"]),
    ] {
        for (printed, hertz) in table.iter().zip([2.0, 4.0, 6.0, 8.0, 10.0]) {
            let ours = chirp_error(design, ratio, hertz);
            let value: f64 = printed.parse().unwrap();
            // One unit of the last printed digit.
            let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
            let decimals = mantissa.split_once('.').map_or(0, |(_, d)| d.len() as i32);
            let unit = 10f64.powi(exponent.parse::<i32>().unwrap() - decimals);
            println!("{design:?} 1:{ratio} {hertz} Hz: {ours:.5} against {printed}");
            assert!(
                (ours - value).abs() <= unit,
                "{design:?} 1:{ratio} {hertz} Hz: {ours} {printed}"
            );
        }
    }
}

/// ‖w‖₂ of the weights on the displacements at `s`: by how much white noise
/// on them is amplified. `None` for kinds that are no fixed combination of
/// displacements alone.
fn noise_gain(design: Design, s: f64) -> Option<f64> {
    let weights = match design {
        Design::Lagrange { order, .. } => lagrange(order).ok()?,
        Design::Combined { order } => lagrange(order).ok()?,
        Design::LeastSquares { order, points } => least_squares(order, points).ok()?,
        _ => return None,
    };
    let s = if matches!(design, Design::Combined { .. }) { s - 1.0 } else { s };
    let squares = weights.column_iter().map(|of_point| {
        let weight = of_point.iter().rev().fold(0.0, |sum, c| sum * s + c);
        weight * weight
    });
    Some(squares.sum::<f64>().sqrt())
}

#[test]
fn noise_gains_are_those_of_the_table() {
    for (order, printed) in (1..).zip([2.1, 3.9, 7.1, 13.1, 24.5]) {
        let cubic = Design::Lagrange { order, stages: Stages::One };
        let gain = noise_gain(cubic, 0.9).unwrap();
        assert!((gain - printed).abs() <= 0.05, "{order}: {gain}");
    }
    let fitted = noise_gain(Design::LeastSquares { order: 3, points: 5 }, 0.9).unwrap();
    assert!(fitted < noise_gain(CUBIC, 0.9).unwrap(), "a fit averages noise: {fitted}");
    assert_eq!(noise_gain(Design::Hermite, 0.9), None);
}

#[test]
fn the_cubic_has_the_corrected_coefficients() {
    let weights = lagrange(3).unwrap();
    for s in [0.0, 0.3, 0.9, 1.0, 2.5] {
        let printed = [
            1.0 + s * (11.0 / 6.0 + s + s * s / 6.0),
            -s * (3.0 + 2.5 * s + 0.5 * s * s),
            s * (1.5 + 2.0 * s + 0.5 * s * s),
            -s * (1.0 / 3.0 + 0.5 * s + s * s / 6.0),
        ];
        for (column, printed) in weights.column_iter().zip(printed) {
            let ours = column.iter().rev().fold(0.0, |sum, c| sum * s + c);
            assert!((ours - printed).abs() < 1e-14 * printed.abs().max(1.0));
        }
    }
}

/// Greatest error of displacement, velocity and acceleration over the points of
/// a grid, each over the size of the signal, after `instants` instants.
fn polynomial_error(design: Design, degree: i32, instants: usize) -> f64 {
    let (tick_s, ratio) = (0.01, 4);
    let grid = Grid { tick_s, ratio, first: 0.5, points: 9, task: 0.0 };
    let mut predictor = build(design, grid, 2);
    let late = if matches!(design, Design::Combined { .. }) { grid.period_s() } else { 0.0 };
    // Two interface DOFs with different polynomials.
    let exact = |t: f64, dof: usize| {
        let (c, d) = (1.0 + dof as f64, f64::from(degree));
        let x = 0.3 + c * t.powi(degree);
        let v = c * d * t.powi(degree - 1);
        let a = if degree > 1 { c * d * (d - 1.0) * t.powi(degree - 2) } else { 0.0 };
        [x, v, a]
    };
    let (mut at, mut out) = (Motion::rest(2), Motion::rest(2));
    let mut worst = 0.0f64;
    for k in 0..instants {
        let t = k as f64 * grid.period_s();
        for dof in 0..2 {
            at.set(dof, exact(t, dof));
        }
        observe(&mut predictor, &at);
        if k + 1 < instants {
            continue;
        }
        for point in 0..grid.points {
            predictor.point(point, &mut out);
            let then = t + (grid.first + point as f64) * tick_s - late;
            for dof in 0..2 {
                for (found, exact) in out.of(dof).iter().zip(exact(then, dof)) {
                    worst = worst.max((found - exact).abs() / exact.abs().max(1.0));
                }
            }
        }
    }
    worst
}

#[test]
fn polynomials_are_predicted_exactly_with_their_derivatives() {
    let lagrange = |order| (Design::Lagrange { order, stages: Stages::One }, order as i32);
    let exact_to = [
        lagrange(1),
        lagrange(2),
        lagrange(3),
        lagrange(4),
        lagrange(5),
        (Design::Hermite, 3),
        (Design::LeastSquares { order: 3, points: 5 }, 3),
        (Design::LeastSquares { order: 2, points: 16 }, 2),
        (Design::PredictedAcceleration, 3),
        (Design::Combined { order: 3 }, 3),
        (Design::Adaptive { taps: 4, forgetting: 1.0 }, 3),
    ];
    for (design, degree) in exact_to {
        for lower in 1..=degree {
            let error = polynomial_error(design, lower, 20);
            assert!(error < 1e-9, "{design:?} on degree {lower}: {error}");
        }
        let error = polynomial_error(design, degree + 1, 20);
        assert!(error > 1e-6 || matches!(design, Design::Adaptive { .. }), "{design:?}: {error}");
    }
}

#[test]
fn two_stages_are_exact_on_a_polynomial_too() {
    let (tick_s, ratio) = (1e-3, 10);
    let grid = Grid { tick_s, ratio, first: 2.0, points: 10, task: 2.0 };
    let two = Design::Lagrange { order: 3, stages: Stages::Two };
    let mut predictor = build(two, grid, 1);
    let exact = |t: f64| 0.5 - t + 3.0 * t * t - 7.0 * t * t * t;
    let (mut at, mut out) = (Motion::rest(1), Motion::rest(1));
    for k in 0..10 {
        let t = k as f64 * 0.01;
        at.displacement[0] = exact(t);
        observe(&mut predictor, &at);
        // Four known instants make four carried ones only after seven.
        if k >= 7 {
            for point in 0..10 {
                predictor.point(point, &mut out);
                let error = out.displacement[0] - exact(t + (2 + point) as f64 * tick_s);
                assert!(error.abs() < 1e-13, "{k} {point}: {error}");
            }
        }
    }
}

#[test]
fn learning_beats_the_polynomial_it_started_from() {
    let adaptive = Design::Adaptive { taps: 4, forgetting: 0.999 };
    let grid = Grid { tick_s: 1e-3, ratio: 10, first: 0.5, points: 12, task: 0.0 };
    // Two vibrations: four taps describe them without error.
    let exact = |t: f64| {
        let part = |hertz: f64, size: f64| {
            let omega = TAU * hertz;
            let (sine, cosine) = (omega * t).sin_cos();
            [size * sine, size * omega * cosine, -size * omega * omega * sine]
        };
        let (slow, fast) = (part(1.77, 3e-3), part(7.17, 1e-3));
        [slow[0] + fast[0], slow[1] + fast[1], slow[2] + fast[2]]
    };
    let error = |design: Design| {
        let mut predictor = build(design, grid, 1);
        let (mut at, mut out) = (Motion::rest(1), Motion::rest(1));
        let mut worst = 0.0f64;
        for k in 0..400 {
            let t = k as f64 * 0.01;
            at.set(0, exact(t));
            observe(&mut predictor, &at);
            for point in (0..12).filter(|_| k >= 200) {
                predictor.point(point, &mut out);
                let then = exact(t + (0.5 + point as f64) * 1e-3)[0];
                worst = worst.max((out.displacement[0] - then).abs());
            }
        }
        worst
    };
    let (learnt, cubic, hermite) = (error(adaptive), error(CUBIC), error(Design::Hermite));
    assert!(learnt < 0.02 * cubic && learnt < 0.2 * hermite, "{learnt} {cubic} {hermite}");
}

/// A damped chain of two, a specimen with mass between its masses, two loads.
fn chain() -> (Equations, Equations, Specimen) {
    let one = |value: f64| DMatrix::from_element(1, 1, value);
    let numerical = Equations {
        matrices: SecondOrder {
            mass: DMatrix::from_row_slice(2, 2, &[2.0, 0.0, 0.0, 1.0]),
            damping: DMatrix::from_row_slice(2, 2, &[3.0, -1.0, -1.0, 1.0]),
            stiffness: DMatrix::from_row_slice(2, 2, &[900.0, -300.0, -300.0, 300.0]),
        },
        load: DMatrix::from_row_slice(2, 2, &[-2.0, 0.0, -1.0, 5.0]),
        interface: vec![RelativeDof { from: Some(0), to: Some(1) }],
        elements: Vec::new(),
        states: None,
    };
    let specimen = Specimen {
        matrices: SecondOrder { mass: one(0.3), damping: one(0.7), stiffness: one(250.0) },
        elements: Vec::new(),
    };
    let b = numerical.interface_matrix();
    let whole = Equations {
        matrices: SecondOrder {
            mass: &numerical.matrices.mass + &b * &specimen.matrices.mass * b.transpose(),
            damping: &numerical.matrices.damping + &b * &specimen.matrices.damping * b.transpose(),
            stiffness: &numerical.matrices.stiffness
                + &b * &specimen.matrices.stiffness * b.transpose(),
        },
        ..numerical.clone()
    };
    (numerical, whole, specimen)
}

#[test]
fn a_model_predicts_its_structure_exactly() {
    let (numerical, whole, specimen) = chain();
    let (tick_s, ratio, ticks) = (1e-3, 40, 400);
    let load: Vec<[f64; 2]> =
        (0..ticks + 200).map(|n| [(0.05 * n as f64).sin(), (0.021 * n as f64).cos()]).collect();
    // The whole structure itself, in halves of a tick to have the points between.
    let options = Options {
        method: Method::Exact(Hold::First),
        step_s: 0.5 * tick_s,
        direct_inertia: None,
        iterations: 1,
    };
    let mut exact = Integrator::new(&whole, &options).unwrap();
    let mut states = Vec::new();
    for half in 0..2 * (ticks + 100) {
        let at = |half: usize| -> [f64; 2] {
            let (row, next) = (load[half / 2], load[half / 2 + 1]);
            let part = 0.5 * (half % 2) as f64;
            [0, 1].map(|i| row[i] + part * (next[i] - row[i]))
        };
        exact.equilibrium(&at(half), &mut [0.0]);
        let state = (exact.displacement().to_vec(), exact.velocity().to_vec());
        states.push((state, exact.interface().clone()));
        exact.advance(&at(half), &at(half + 1), &[0.0]).unwrap();
    }
    for first in [0.0, 0.5, -0.5, 1.5] {
        let grid = Grid { tick_s, ratio, first, points: 90, task: 0.0 };
        let surroundings = Surroundings { numerical: &numerical, specimen: &specimen };
        let mut predictor = Predictor::new(&Design::ModelBased, grid, 1, &surroundings).unwrap();
        let ticks_of_all = Grid { first: 2.0, points: 80, ..grid };
        predictor.tabulate(&surroundings, ticks_of_all, 2).unwrap();
        let now = 300;
        let ((displacement, velocity), interface) = &states[2 * now];
        let force = 250.0 * interface.displacement[0]
            + 0.7 * interface.velocity[0]
            + 0.3 * interface.acceleration[0];
        let rows: Vec<f64> =
            load[now..now + predictor.rows_ahead()].iter().flatten().copied().collect();
        let force = [force];
        predictor.observe(&Instant {
            interface,
            displacement,
            velocity,
            force: &force,
            load: &rows,
        });
        // Every DOF at every tick, as exactly as the interface.
        let n = displacement.len();
        let mut all = vec![0.0; 2 * n];
        for point in 0..80 {
            predictor.whole(point, &mut all);
            let ((x, v), _) = &states[2 * (now + 2 + point)];
            for (found, exact) in all.iter().zip(x.iter().chain(v)) {
                assert!((found - exact).abs() < 1e-10, "{first} {point}: {found} {exact}");
            }
        }
        let mut out = Motion::rest(1);
        for point in 0..90 {
            predictor.point(point, &mut out);
            let position = 2 * now as i64 + (2.0 * (first + point as f64)) as i64;
            let exact = states[position as usize].1.of(0);
            for (found, exact) in out.of(0).iter().zip(exact) {
                // Before the instant the load is taken as it is then.
                let tolerance = if first + (point as f64) < 0.0 { 5e-4 } else { 1e-10 };
                assert!((found - exact).abs() < tolerance, "{first} {point}: {found} {exact}");
            }
        }
    }
}

impl PredictorError {
    /// The key of the file that should change.
    fn key(&self) -> &'static str {
        match self {
            Self::BadNumber(number) => number.name,
            Self::BadPoints { .. } => "points",
            Self::NotLinear(..) | Self::SingularMass => "kind",
        }
    }
}

#[test]
fn bad_numbers_are_refused() {
    let grid = Grid { tick_s: 1e-3, ratio: 10, first: 0.5, points: 3, task: 0.0 };
    let (numerical, specimen) = nothing();
    let surroundings = Surroundings { numerical: &numerical, specimen: &specimen };
    for (design, key) in [
        (Design::Lagrange { order: 0, stages: Stages::One }, "order"),
        (Design::Lagrange { order: 6, stages: Stages::Two }, "order"),
        (Design::Combined { order: 9 }, "order"),
        (Design::LeastSquares { order: 3, points: 3 }, "points"),
        (Design::LeastSquares { order: 3, points: 17 }, "points"),
        (Design::Adaptive { taps: 1, forgetting: 0.99 }, "taps"),
        (Design::Adaptive { taps: 9, forgetting: 0.99 }, "taps"),
        (Design::Adaptive { taps: 4, forgetting: f64::NAN }, "forgetting"),
        (Design::Adaptive { taps: 4, forgetting: 1.01 }, "forgetting"),
    ] {
        let error = Predictor::new(&design, grid, 1, &surroundings).unwrap_err();
        assert_eq!(error.key(), key, "{design:?}");
    }
}
