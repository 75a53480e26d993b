//! How far a loop is from its boundary, by a walk over a dense grid.

use analysis::loop_stability::margins::{Direction, MOST_SWITCHES, delay_margin, margins};
use analysis::loop_stability::{Curve, DiskMargin, OpenLoop, verdict};

use super::*;

const POINTS: usize = 1200;

/// Where an eigenvalue of L changes sides between two points of a dense grid: frequency,
/// value, and whether it comes from the side `true`.
fn changes(wired: &Wired, side: impl Fn(Complex<f64>) -> bool) -> Vec<(f64, Complex<f64>, bool)> {
    let highest = PI / STEP_S;
    let at = |i: usize| 1e-3 * highest * 1e3_f64.powf(i as f64 / (POINTS - 1) as f64);
    let nearest = |to: Complex<f64>, loci: &[Complex<f64>]| {
        let found = loci.iter().copied().min_by(|a, b| (a - to).norm().total_cmp(&(b - to).norm()));
        found.unwrap()
    };
    let mut found = Vec::new();
    let mut before: Vec<Complex<f64>> = wired.loci(axis(at(0)));
    for i in 1..POINTS {
        let now = wired.loci(axis(at(i)));
        let mut left = now.clone();
        for value in &mut before {
            let next = nearest(*value, &left);
            left.swap_remove(left.iter().position(|locus| *locus == next).unwrap());
            let from = side(*value);
            if from != side(next) {
                let (mut low, mut high, mut last) = (at(i - 1), at(i), *value);
                for _ in 0..50 {
                    let middle = 0.5 * (low + high);
                    let between = nearest(last, &wired.loci(axis(middle)));
                    if side(between) == from {
                        (low, last) = (middle, between)
                    } else {
                        high = middle
                    }
                }
                found.push((low, last, from));
            }
            *value = next;
        }
    }
    found
}

#[test]
fn delays_and_angles_at_the_boundary_are_those_of_a_dense_grid() {
    let mut found = [0; 3];
    for (name, description) in loops() {
        let open = OpenLoop::sampled(&description).unwrap();
        let curve = Curve::follow(&open).unwrap();
        let told = margins(&open, &curve).unwrap();
        let wired = Wired::of(&description, 0);
        let stable = wired.growing(1.0) == 0;
        assert_eq!(told.verdict.growing, curve.growing);
        let unit = changes(&wired, |value| value.norm() > 1.0);
        let mut switches: Vec<(f64, f64, Direction)> = Vec::new();
        for (omega, value, falls) in &unit {
            let left = (PI + value.arg()).rem_euclid(TAU);
            let direction = if *falls { Direction::Grows } else { Direction::Decays };
            let delays = (0..MOST_SWITCHES).map(|turn| (left + TAU * turn as f64) / omega);
            switches.extend(delays.map(|delay_s| (delay_s, hertz(*omega), direction)));
        }
        switches.sort_by(|a, b| a.0.total_cmp(&b.0));
        switches.truncate(MOST_SWITCHES);
        assert_eq!(told.switches.len(), switches.len(), "{name}");
        for (told, (delay_s, hz, direction)) in told.switches.iter().zip(&switches) {
            assert!(
                (told.delay_s - delay_s).abs() < 1e-5 * (delay_s + 1e-3),
                "{name}: {told:?} {delay_s}"
            );
            assert!((told.frequency_hz / hz - 1.0).abs() < 1e-5, "{name}: {told:?} {hz}");
            assert_eq!(told.direction, *direction, "{name}");
        }
        assert_eq!(
            told.verdict.delay_margin,
            told.switches.first().copied().filter(|_| stable),
            "{name}"
        );
        assert_eq!(delay_margin(&open, &curve).unwrap(), told.switches.first().copied(), "{name}");
        assert_eq!(
            verdict(&description).unwrap().delay_margin,
            told.verdict.delay_margin,
            "{name}"
        );
        let angle = unit
            .iter()
            .map(|(omega, value, _)| ((PI - value.arg().abs()).abs(), hertz(*omega)))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|_| stable);
        assert_eq!(told.phase.is_some(), angle.is_some(), "{name}");
        if let (Some(told), Some(angle)) = (told.phase, angle) {
            assert!((told.0 - angle.0).abs() < 1e-5, "{name}: {told:?} {angle:?}");
            assert!((told.1 / angle.1 - 1.0).abs() < 1e-5, "{name}: {told:?} {angle:?}");
            found[0] += 1;
        }
        found[1] += usize::from(!switches.is_empty());
        found[2] += usize::from(switches.iter().any(|switch| switch.2 == Direction::Decays));
    }
    assert!(found.iter().all(|count| *count > 3), "{found:?}");
}

/// Between two switches the number of growing motions is what the registers say.
#[test]
fn switches_tell_when_motions_grow_and_decay() {
    let mut changed = 0;
    for (name, description) in loops().into_iter().filter(|(_, d)| d.joint == Joint::Held) {
        let open = OpenLoop::sampled(&description).unwrap();
        let told = margins(&open, &Curve::follow(&open).unwrap()).unwrap();
        let Some(last) = told.switches.last() else { continue };
        let most = ((last.delay_s / STEP_S) as usize).min(40);
        for later in (0..=most).step_by(5) {
            let below = told.switches.iter().filter(|s| s.delay_s < later as f64 * STEP_S);
            let change = |s: &analysis::loop_stability::Crossing| match s.direction {
                Direction::Grows => 2,
                Direction::Decays => -2,
            };
            let expected = told.verdict.growing as i64 + below.map(change).sum::<i64>();
            let found = Wired::of(&description, later).growing(1.0) as i64;
            assert_eq!(found, expected, "{name}, {later} later: {told:?}");
            changed += usize::from(found != told.verdict.growing as i64);
        }
    }
    assert!(changed > 12, "{changed}");
}

#[test]
fn forces_scaled_to_the_gain_margin_stand_on_the_boundary() {
    let mut found = [0; 2];
    for (name, description) in loops() {
        let open = OpenLoop::sampled(&description).unwrap();
        let told = margins(&open, &Curve::follow(&open).unwrap()).unwrap();
        let wired = Wired::of(&description, 0);
        if wired.growing(1.0) > 0 {
            assert_eq!(
                (told.gain_below, told.gain_above, told.phase),
                (None, None, None),
                "{name}"
            );
            continue;
        }
        if description.joint == Joint::Continuous {
            continue;
        }
        if let Some((factor, hz)) = told.gain_above {
            assert!(factor > 1.0, "{name}: {factor}");
            // Stable all the way, and not beyond.
            for part in [0.25, 0.5, 0.75, 0.999] {
                let within = 1.0 + part * (factor - 1.0);
                assert_eq!(wired.growing(within), 0, "{name}: {within} of {factor}");
            }
            assert!(wired.growing(1.0 + 1.001 * (factor - 1.0)) > 0, "{name}: {factor}");
            let there = wired.loci(axis(TAU * hz));
            assert!(there.iter().any(|l| (l * factor + 1.0).norm() < 1e-5), "{name}: {there:?}");
            found[0] += 1;
        } else {
            assert_eq!(wired.growing(1e3), 0, "{name}");
        }
        if let Some((factor, hz)) = told.gain_below {
            assert!(factor < 1.0, "{name}: {factor}");
            let there = wired.loci(axis(TAU * hz));
            assert!(there.iter().any(|l| (l * factor + 1.0).norm() < 1e-5), "{name}: {there:?}");
            assert_eq!(wired.growing(1.0 - 0.999 * (1.0 - factor)), 0, "{name}: {factor}");
            found[1] += 1;
        } else {
            assert_eq!(wired.growing(1e-3), 0, "{name}");
        }
    }
    assert!(found[0] > 4, "{found:?}");
}

/// A structure that only stands because the specimen holds it: less force harms.
#[test]
fn a_specimen_that_holds_the_structure_has_a_gain_margin_below_one() {
    let mut numerical = one_mass();
    numerical.matrices.stiffness[(0, 0)] = -1e5;
    numerical.matrices.damping[(0, 0)] = 9e3;
    let description =
        described(numerical, specimen(one(0.0), one(0.0), one(4e5)), delay(2.0), EXACT);
    let wired = Wired::of(&description, 0);
    assert_eq!(wired.growing(1.0), 0);
    let open = OpenLoop::sampled(&description).unwrap();
    let told = margins(&open, &Curve::follow(&open).unwrap()).unwrap();
    // A quarter of the force balances the negative stiffness.
    let (factor, hz) = told.gain_below.unwrap();
    assert!((factor - 0.25).abs() < 1e-6 && hz == 0.0, "{factor} at {hz} Hz");
    assert_eq!((wired.growing(0.251), wired.growing(0.249)), (0, 1));
    let (factor, _) = told.gain_above.unwrap();
    assert_eq!((wired.growing(0.999 * factor), wired.growing(1.001 * factor)), (0, 2));
}

/// Modes without damping: what makes one grow does so at once, what damps it comes round
/// again after a whole turn.
#[test]
fn a_mode_without_damping_stands_on_the_boundary() {
    let mut at_once = 0;
    for k in [1e4, 3e4, 7e4, 1.1e5, 2e5] {
        let mut numerical = three_storeys(&[ground(0)]);
        numerical.matrices.damping *= 0.0;
        let held = specimen(one(0.0), one(0.0), one(k));
        let description = described(numerical, held, TransferSystem::Ideal, EXACT);
        let open = OpenLoop::continuous(&description).unwrap();
        let told = margins(&open, &Curve::follow(&open).unwrap()).unwrap();
        for switch in &told.switches {
            let turns = switch.delay_s * switch.frequency_hz;
            let off = turns - turns.round();
            // On it exactly, or clear of it.
            assert!(off.abs() < 1e-12 || off.abs() > 1e-6, "{k}: {switch:?} {off:e}");
            if off.abs() < 1e-12 {
                let least = if switch.direction == Direction::Grows { 0.0 } else { 1.0 };
                assert!(turns > least - 1e-12, "{k}: {switch:?}");
                at_once += usize::from(turns == 0.0);
            }
        }
    }
    assert!(at_once > 4, "{at_once}");
}

#[test]
fn the_nearest_point_is_nearest() {
    for (name, description) in loops() {
        if name == "without support" {
            continue;
        }
        let open = OpenLoop::sampled(&description).unwrap();
        let curve = Curve::follow(&open).unwrap();
        let told = margins(&open, &curve).unwrap();
        let wired = Wired::of(&description, 0);
        let away = |omega: f64| {
            let loci = wired.loci(Complex::new(curve.shift_1_s, omega));
            loci.iter().map(|locus| (locus + 1.0).norm()).fold(f64::INFINITY, f64::min)
        };
        let (distance, hz) = told.distance;
        assert!((distance - away(TAU * hz)).abs() < 1e-6 * (1.0 + distance), "{name}: {told:?}");
        let grid = (0..700).map(|i| away(PI / STEP_S * (f64::from(i) / 699.0).powi(3)));
        let least = grid.fold(f64::INFINITY, f64::min);
        assert!(distance < 1.02 * least + 1e-9, "{name}: {distance} {least}");
    }
}

/// σ_max of D S D⁻¹ with the D that makes its entries smallest in sum, found by small steps.
fn stretch(sensitivity: &Matrix) -> f64 {
    let n = sensitivity.nrows();
    let scaled = |d: &[f64]| Matrix::from_fn(n, n, |i, j| sensitivity[(i, j)] * (d[i] / d[j]));
    let size = |d: &[f64]| scaled(d).norm();
    let mut d = vec![1.0; n];
    let mut step = 2.0;
    while step > 1.0 + 1e-7 {
        let mut moved = false;
        for i in 1..n {
            for factor in [step, 1.0 / step] {
                let mut other = d.clone();
                other[i] *= factor;
                if size(&other) < size(&d) {
                    (d, moved) = (other, true);
                }
            }
        }
        if !moved {
            step = step.sqrt();
        }
    }
    scaled(&d).singular_values().max()
}

#[test]
fn the_disk_margin_is_the_least_of_a_dense_grid() {
    let mut seen = 0;
    for (name, mut description) in loops() {
        if description.joint == Joint::Continuous {
            continue;
        }
        // Units of their own: a moment beside a force.
        let count = description.specimen.count();
        for rotation in [1.0, 30.0] {
            if rotation != 1.0 && count != 2 {
                continue;
            }
            description.specimen.matrices.stiffness[(0, count - 1)] *= rotation;
            description.specimen.matrices.stiffness[(count - 1, 0)] /= rotation;
            let open = OpenLoop::sampled(&description).unwrap();
            let curve = Curve::follow(&open).unwrap();
            let told = margins(&open, &curve).unwrap().disk;
            assert_eq!(told.is_some(), count > 1 && curve.growing == 0, "{name}");
            let Some(told) = told else { continue };
            seen += 1;
            let wired = Wired::of(&description, 0);
            let sensitivity = |hz: f64| {
                let gain = wired.gain(Complex::new(curve.shift_1_s, TAU * hz));
                (Matrix::identity(count, count) + gain).try_inverse().unwrap()
            };
            let there = sensitivity(told.frequency_hz);
            assert!((told.alpha * stretch(&there) - 1.0).abs() < 1e-5, "{name}: {told:?}");
            let grid = (0..300).map(|i| 0.5 * 1e3_f64.powf(f64::from(i) / 299.0));
            let least =
                grid.map(|hz| 1.0 / stretch(&sensitivity(hz))).fold(f64::INFINITY, f64::min);
            assert!(told.alpha < 1.0001 * least, "{name}: {told:?} {least}");
            // Narrowed down: no better a little to either side.
            for aside in [0.9999, 1.0001] {
                let beside = 1.0 / stretch(&sensitivity(aside * told.frequency_hz));
                assert!(told.alpha <= beside * (1.0 + 1e-7), "{name}: {told:?} {beside}");
            }
            // The output that is amplified most, its largest entry one.
            let outputs = &there * there.adjoint();
            let mut vector = Matrix::from_element(count, 1, Complex::ONE);
            vector[0] = Complex::new(0.7, 0.4);
            for _ in 0..4000 {
                vector = &outputs * &vector;
                vector /= Complex::from(vector.norm());
            }
            let largest =
                vector.iter().copied().max_by(|a, b| a.norm().total_cmp(&b.norm())).unwrap();
            for (told, found) in told.direction.iter().zip(&vector) {
                let found = found / largest;
                assert!((told.abs() - found.norm()).abs() < 1e-4, "{name}: {told:?} {found}");
                assert!(found.re.abs() < 1e-3 || (*told > 0.0) == (found.re > 0.0), "{name}");
            }
            assert_eq!(told.direction.len(), count);
        }
    }
    assert!(seen > 3, "{seen}");
}

#[test]
fn factors_and_angles_of_a_disk() {
    let disk = |alpha: f64| DiskMargin { alpha, frequency_hz: 1.0, direction: Vec::new() };
    let (below, above) = disk(0.5).gain();
    assert!((below - 2.0 / 3.0).abs() < 1e-15 && (above - 2.0).abs() < 1e-15);
    assert_eq!(disk(1.0).gain(), (0.5, f64::INFINITY));
    assert_eq!(disk(1.5).gain(), (0.4, f64::INFINITY));
    // A chord of 1 spans 60°, one of 2 half a turn.
    assert!((disk(1.0).phase_rad() - PI / 3.0).abs() < 1e-12);
    assert!((disk(0.5).phase_rad() - 2.0 * 0.25_f64.asin()).abs() < 1e-12);
    assert!((disk(2.5).phase_rad() - PI).abs() < 1e-12);
}
