//! The ways to a verdict against each other and against published numbers.

use super::collocation::FEWEST;
use super::crossing::Direction;
use super::*;
use crate::multi_bisection::{Search, zeros};
use crate::{Complex, Matrix};
use nalgebra::DMatrix;
use proptest::prelude::*;
use std::f64::consts::TAU;

/// The building of Beregi et al. with `storeys` storeys, of which the first two
/// and `1 − p` of the third's mass stand in the laboratory.
fn building(storeys: usize, p: f64) -> DelaySystem {
    let masses = [5.37, 5.37, 5.37, 10.74, 5.37];
    let dampers = [4.4062, 3.7979, 3.7421, 3.7421, 3.7421];
    let springs = [53048.0, 45724.0, 45052.0, 45052.0, 45052.0];
    let chain = |values: &[f64]| {
        DMatrix::from_fn(storeys, storeys, |i, j| match (i, j) {
            _ if i == j => values[i] + if i + 1 < storeys { values[i + 1] } else { 0.0 },
            _ if i.abs_diff(j) == 1 => -values[i.max(j)],
            _ => 0.0,
        })
    };
    let whole = SecondOrder {
        mass: DMatrix::from_diagonal(&nalgebra::DVector::from_column_slice(&masses[..storeys])),
        damping: chain(&dampers[..storeys]),
        stiffness: chain(&springs[..storeys]),
    };
    // Column of the third storey as the laboratory sees it.
    let column = |below: f64, own: f64| {
        let mut column = DMatrix::zeros(storeys, 1);
        column[(1, 0)] = below;
        column[(2, 0)] = own;
        column
    };
    let late = SecondOrder {
        mass: column(0.0, (1.0 - p) * masses[2]),
        damping: column(-dampers[2], dampers[2]),
        stiffness: column(-springs[2], springs[2]),
    };
    let mut of = DMatrix::zeros(1, storeys);
    of[(0, 2)] = 1.0;
    let now = SecondOrder {
        mass: &whole.mass - &late.mass * &of,
        damping: &whole.damping - &late.damping * &of,
        stiffness: &whole.stiffness - &late.stiffness * &of,
    };
    let system = DelaySystem::new(now, late, of).unwrap();
    let joined = system.undelayed();
    assert!((joined.mass - whole.mass).amax() < 1e-12);
    assert!((joined.damping - whole.damping).amax() < 1e-12);
    assert!((joined.stiffness - whole.stiffness).amax() < 1e-9);
    system
}

const P: [f64; 7] = [0.51, 0.55, 0.6, 0.67, 0.8, 0.9, 1.0];
/// Critical delays in ms, recomputed by at least two methods outside this program.
const FOUR: [f64; 7] = [0.128556, 0.126831, 0.124738, 0.121922, 0.117016, 0.113503, 0.110194];
const FIVE: [f64; 7] = [0.124039, 0.122910, 0.121527, 0.119642, 0.116293, 0.113841, 0.111491];

#[test]
fn critical_delays_come_out_to_six_digits_by_two_methods() {
    for (storeys, expected) in [(4, FOUR), (5, FIVE)] {
        for (p, expected_ms) in P.into_iter().zip(expected) {
            let system = building(storeys, p);
            let critical = system.crossings().unwrap().critical().unwrap();
            let by_crossing_ms = 1e3 * critical.first_delay_s;
            assert!((by_crossing_ms - expected_ms).abs() < 6e-7, "{storeys} {p} {by_crossing_ms}");
            // The history's rightmost root changes sides at the same delay.
            let (mut low, mut high) = (0.5 * expected_ms, 1.5 * expected_ms);
            for _ in 0..40 {
                let middle = 0.5 * (low + high);
                let growth = system.rightmost(1e-3 * middle).unwrap().re;
                if growth > 0.0 { high = middle } else { low = middle }
            }
            assert!((low / by_crossing_ms - 1.0).abs() < 1e-6, "{storeys} {p} {low}");
        }
    }
}

#[test]
fn rightmost_real_parts_come_out_to_six_digits() {
    let expected = [
        (0.67, 0.100, -0.0055506323),
        (0.67, 0.121, -0.00023347913),
        (0.67, 0.123, 0.00027291689),
        (0.55, 0.125, -0.00044555398),
        (1.0, 0.300, 0.053173158),
    ];
    for (p, delay_ms, growth) in expected {
        let found = building(4, p).rightmost(1e-3 * delay_ms).unwrap();
        assert!((found.re / growth - 1.0).abs() < 1e-6, "{p} {delay_ms} {found:?}");
    }
}

#[test]
fn with_half_the_mass_or_more_in_the_laboratory_every_delay_is_unstable() {
    for p in [0.5, 0.45, 0.33] {
        let system = building(4, p);
        let radius = (1.0 - p) / p;
        assert!((system.neutral_radius().unwrap() / radius - 1.0).abs() < 1e-12);
        let crossings = system.crossings().unwrap();
        assert_eq!(crossings.critical().unwrap().first_delay_s, 0.0);
        assert!(crossings.is_stable(0.0));
        for delay_s in [1e-9, 5e-5, 1.0] {
            assert!(!crossings.is_stable(delay_s));
            let found = system.rightmost(delay_s).unwrap();
            let growth = radius.ln() / delay_s;
            assert!((found.re - growth).abs() <= 1e-9 * growth.abs(), "{p} {found:?}");
        }
    }
    let growth = building(4, 0.33).rightmost(5e-5).unwrap().re;
    assert!((growth / 14163.7 - 1.0).abs() < 1e-5, "{growth}");
    // Just above one half a short delay is stable again.
    assert!(building(4, 0.5001).crossings().unwrap().is_stable(1e-4));
}

#[test]
fn bisection_in_three_dimensions_finds_the_boundary() {
    let omega = |p: f64| building(4, p).crossings().unwrap().critical().unwrap().omega_rad_s;
    let (first, last) = (omega(0.55), omega(0.95));
    let search = Search {
        low: [100e-6, 0.55, 0.97 * first.min(last)],
        high: [135e-6, 0.95, 1.03 * first.max(last)],
        cells: [4, 3, 6],
        tolerance: 1e-5,
        halvings: 8,
        evaluations: 400_000,
    };
    let found = zeros(&search, |&[delay_s, p, omega]| {
        let value = building(4, p).characteristic_on_axis(omega, delay_s);
        [value.re, value.im]
    });
    assert!(found.complete && found.points.len() > 10, "{}", found.points.len());
    for [delay_s, p, omega] in found.points {
        let critical = building(4, p).crossings().unwrap().critical().unwrap();
        assert!((delay_s / critical.first_delay_s - 1.0).abs() < 2e-5, "{delay_s} {p}");
        assert!((omega / critical.omega_rad_s - 1.0).abs() < 2e-5, "{omega} {p}");
    }
}

#[test]
fn equivalent_matrices_are_near_for_short_delays() {
    for p in P {
        let system = building(4, p);
        let exact_s = system.crossings().unwrap().critical().unwrap().first_delay_s;
        let (mut low, mut high) = (0.0, 2.0 * exact_s);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            let grows = system.equivalent_growth_1_s(middle).unwrap() > 0.0;
            if grows { high = middle } else { low = middle }
        }
        // Second order in τω of the lowest mode, 27 rad/s × 0.13 ms.
        assert!((high / exact_s - 1.0).abs() < 1e-4, "{p} {high} {exact_s}");
    }
    // Of the neutral instability it knows nothing.
    assert!(building(4, 0.33).equivalent_growth_1_s(1e-5).unwrap() < 0.0);
}

/// m ẍ + c ẋ + k x + k_e x(t − τ) = 0.
fn one_mass(m: f64, c: f64, k: f64, k_e: f64) -> DelaySystem {
    let scalar = |value| DMatrix::from_element(1, 1, value);
    DelaySystem::new(
        SecondOrder { mass: scalar(m), damping: scalar(c), stiffness: scalar(k) },
        SecondOrder { mass: scalar(0.0), damping: scalar(0.0), stiffness: scalar(k_e) },
        scalar(1.0),
    )
    .unwrap()
}

#[test]
fn one_mass_follows_its_closed_form_and_wins_stability_back() {
    let (m, c, k, k_e) = (1.0, 0.6, 16.0, 4.0);
    let crossings = one_mass(m, c, k, k_e).crossings().unwrap();
    // m²ω⁴ + (c² − 2km)ω² + k² − k_e² = 0
    let half = (2.0 * k * m - c * c) / (2.0 * m * m);
    let root = (half * half - (k * k - k_e * k_e) / (m * m)).sqrt();
    for (square, direction) in [(half + root, Direction::Out), (half - root, Direction::In)] {
        let omega = square.sqrt();
        let delay_s = (c * omega).atan2(m * square - k).rem_euclid(TAU) / omega;
        let found = crossings.all.iter().find(|found| found.direction == direction).unwrap();
        assert!((found.omega_rad_s / omega - 1.0).abs() < 1e-12);
        assert!((found.first_delay_s / delay_s - 1.0).abs() < 1e-10);
    }
    // Stable, unstable, stable again: every verdict is the history's as well.
    let changes = crossings.boundaries(12.0);
    assert!(changes.len() >= 3, "{changes:?}");
    let system = one_mass(m, c, k, k_e);
    for step in 1..120 {
        let delay_s = 0.1 * f64::from(step);
        let growth = system.rightmost(delay_s).unwrap().re;
        if growth.abs() > 1e-3 {
            assert_eq!(crossings.is_stable(delay_s), growth < 0.0, "{delay_s} {growth}");
        }
    }
}

#[test]
fn a_mode_without_damping_is_driven_by_a_late_spring_at_once() {
    let crossings = one_mass(1.0, 0.0, 9.0, 1.0).crossings().unwrap();
    assert_eq!(crossings.critical().unwrap().first_delay_s, 0.0);
    assert!(crossings.is_stable(0.0) && !crossings.is_stable(1e-3));
}

#[test]
fn several_late_signals_are_judged_by_their_history() {
    // Two equal masses that do not touch: both signals late, one verdict.
    let diagonal = |value: f64| DMatrix::identity(2, 2) * value;
    let pair = DelaySystem::new(
        SecondOrder { mass: diagonal(1.0), damping: diagonal(0.6), stiffness: diagonal(16.0) },
        SecondOrder { mass: diagonal(0.0), damping: diagonal(0.0), stiffness: diagonal(4.0) },
        DMatrix::identity(2, 2),
    )
    .unwrap();
    let single = one_mass(1.0, 0.6, 16.0, 4.0);
    for delay_s in [0.05, 0.2, 0.9, 2.0] {
        let (a, b) = (pair.rightmost(delay_s).unwrap(), single.rightmost(delay_s).unwrap());
        // A double root is found to half the digits.
        assert!((a.re - b.re).abs() < 1e-6, "{delay_s} {a:?} {b:?}");
    }
    assert_eq!(pair.crossings().unwrap_err(), DelayError::NotSingle(2));
}

#[test]
fn forty_degrees_of_freedom_with_four_late_ones_are_judged() {
    let n = 40;
    let chain = |own: f64| {
        DMatrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
            0 if i + 1 == n => own,
            0 => 2.0 * own,
            1 => -own,
            _ => 0.0,
        })
    };
    let mut of = DMatrix::zeros(4, n);
    for (row, dof) in [4, 14, 24, 34].into_iter().enumerate() {
        of[(row, dof)] = 1.0;
    }
    let share = |value: f64| of.transpose() * value;
    let late = SecondOrder { mass: share(20.0), damping: share(50.0), stiffness: share(2e5) };
    let now = SecondOrder {
        mass: DMatrix::identity(n, n) * 100.0 - &late.mass * &of,
        damping: chain(400.0) - &late.damping * &of,
        stiffness: chain(4e5) - &late.stiffness * &of,
    };
    let modes = eigen::symmetric_modes(&chain(4e5), &(DMatrix::identity(n, n) * 100.0)).unwrap();
    let (omega, shape) = (modes.omega_rad_s[0], modes.shapes.column(0));
    let fed: f64 = (&of * shape).norm_squared() * 2e5;
    let system = DelaySystem::new(now, late, of).unwrap();
    for delay_s in [1e-5, 1e-4] {
        // A short delay takes τ k φ² from the damping of the lowest mode.
        let expected = 0.5 * (delay_s * fed - 1e-3 * omega * omega);
        let found = system.rightmost(delay_s).unwrap();
        assert!((found.re / expected - 1.0).abs() < 0.01, "{found:?} {expected}");
    }
    for delay_s in [1e-4, 2e-2] {
        let found = system.rightmost(delay_s).unwrap();
        assert!(found.re > 0.0);
        let again = system.polished(found * 1.0001, delay_s).unwrap();
        assert!((again - found).norm() < 1e-9 * again.norm());
    }
}

#[test]
fn hostile_matrices_are_errors() {
    let scalar = |value| DMatrix::from_element(1, 1, value);
    let good =
        |value| SecondOrder { mass: scalar(value), damping: scalar(0.0), stiffness: scalar(1.0) };
    let error = DelaySystem::new(good(0.0), good(0.0), scalar(1.0)).unwrap_err();
    assert_eq!(error, DelayError::SingularMass);
    let error = DelaySystem::new(good(1.0), good(f64::NAN), scalar(1.0)).unwrap_err();
    assert_eq!(error, DelayError::NotFinite);
    let system = DelaySystem::new(good(1.0), good(0.0), scalar(1.0)).unwrap();
    for delay_s in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(system.rightmost(delay_s), Err(DelayError::BadDelay(..))));
    }
    assert!(matches!(system.rightmost(1e6), Err(DelayError::TooLong { .. })));
}

#[test]
fn more_points_change_nothing_once_the_motion_is_resolved() {
    let system = building(4, 0.67);
    let few = system.candidates(1e-4, FEWEST).unwrap();
    let many = system.candidates(1e-4, 2 * FEWEST).unwrap();
    assert!((few[0] - many[0]).norm() < 1e-7 * few[0].norm(), "{} {}", few[0], many[0]);
}

/// A random chain of three masses, part of one of them late.
fn random_chain(numbers: &[f64]) -> DelaySystem {
    let n = 3;
    let chain = |values: &[f64], scale: f64| {
        DMatrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
            0 => scale * (values[i] + values.get(i + 1).copied().unwrap_or(0.0)),
            1 => -scale * values[i.max(j)],
            _ => 0.0,
        })
    };
    let mass = DMatrix::from_diagonal(&nalgebra::DVector::from_column_slice(&numbers[..3]));
    let (damping, stiffness) = (chain(&numbers[3..6], 0.2), chain(&numbers[6..9], 50.0));
    let mut of = DMatrix::zeros(1, n);
    of[(0, 1)] = 1.0;
    let share = |matrix: &Matrix, part: f64| of.transpose() * (part * matrix[(1, 1)]);
    let late = SecondOrder {
        mass: share(&mass, 0.4 * numbers[9]),
        damping: share(&damping, 0.5 * numbers[10]),
        stiffness: share(&stiffness, 0.5 * numbers[11]),
    };
    let now = SecondOrder {
        mass: mass - &late.mass * &of,
        damping: damping - &late.damping * &of,
        stiffness: stiffness - &late.stiffness * &of,
    };
    DelaySystem::new(now, late, of).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn crossings_and_history_agree(
        numbers in prop::collection::vec(0.1..1.0_f64, 12),
        delay_s in 0.001..1.0_f64,
    ) {
        let system = random_chain(&numbers);
        let growth = system.rightmost(delay_s).unwrap().re;
        // At the boundary itself rounding decides.
        prop_assume!(growth.abs() > 1e-6);
        prop_assert_eq!(system.crossings().unwrap().is_stable(delay_s), growth < 0.0);
    }
}

#[test]
fn a_slow_pair_near_the_real_axis_is_polished_as_far_as_it_goes() {
    // Two roots near each other keep Newton's method from the last digits; found
    // by the property above.
    let numbers = [
        0.17637708271574667,
        0.781541401610915,
        0.1399781563048421,
        0.7438832346063559,
        0.157879571333734,
        0.4394509501443007,
        0.24798836896248333,
        0.40143041861756107,
        0.673755795232437,
        0.2985817808104548,
        0.27296564397303663,
        0.4714196353123838,
    ];
    let system = random_chain(&numbers);
    let found = system.rightmost(0.9841081948715266).unwrap();
    assert!((found - Complex::new(1.52583384257, 0.0858130747)).norm() < 1e-9, "{found:?}");
    assert!(!system.crossings().unwrap().is_stable(0.9841081948715266));
}
