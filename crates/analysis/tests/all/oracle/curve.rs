//! The loop gain along the axis, and what is counted from it.

use analysis::loop_stability::{Curve, OpenLoop, Point, dominant, growing, judge, verdict};

use super::*;

/// Every eigenvalue of one list beside one of the other.
fn alike(found: &[Complex<f64>], told: &[Complex<f64>], share: f64) -> bool {
    let has = |list: &[Complex<f64>], s: &Complex<f64>| {
        list.iter().any(|p| (p - s).norm() <= share * (1.0 + s.norm()))
    };
    found.len() == told.len()
        && found.iter().all(|s| has(told, s))
        && told.iter().all(|s| has(found, s))
}

fn difference(point: &Point) -> Complex<f64> {
    point.loci.iter().map(|locus| locus + 1.0).product()
}

/// What is promised of two neighbours.
fn is_fine(a: &Point, b: &Point) -> bool {
    if a.largest() < 0.9 && b.largest() < 0.9 {
        return true;
    }
    (difference(b) / difference(a)).arg().abs() <= 0.3
}

#[test]
fn the_curve_is_the_loop_gain() {
    for (name, description) in all_loops() {
        let open = OpenLoop::sampled(&description).unwrap();
        let curve = Curve::follow(&open).unwrap();
        let wired = Wired::of(&description, 0);
        let highest = PI / STEP_S;
        let (first, last) = (curve.points.first().unwrap(), curve.points.last().unwrap());
        assert_eq!((first.omega_rad_s, last.omega_rad_s), (0.0, highest), "{name}");
        assert!(curve.points.len() < 6000, "{name}: {} points", curve.points.len());
        for point in curve.points.iter().step_by(curve.points.len() / 30) {
            let found = wired.loci(curve.place(point.omega_rad_s));
            // Close to the double pole of a part without support few digits are left.
            let share = if name == "without support" { 1e-5 } else { 2e-7 };
            assert!(alike(&point.loci, &found, share), "{name}: {point:?} {found:?}");
            let largest = found.iter().map(|locus| locus.norm()).fold(0.0, f64::max);
            assert!((point.largest() - largest).abs() <= share * (1.0 + largest), "{name}");
        }
        for pair in curve.points.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            let gap = b.omega_rad_s - a.omega_rad_s;
            assert!(gap > 0.0, "{name}");
            assert!(gap < 1e-12 * highest || is_fine(a, b), "{name}: {a:?} {b:?}");
            for i in 0..a.loci.len() {
                let distance = |k: usize| (b.loci[k] - a.loci[i]).norm();
                assert!((i..b.loci.len()).all(|k| distance(i) <= distance(k)), "{name}");
            }
        }
    }
}

#[test]
fn growing_and_slowest_motions_are_the_eigenvalues() {
    let mut unstable = 0;
    for (name, description) in all_loops() {
        let wired = Wired::of(&description, 0);
        let told = wired.growing(1.0);
        assert_eq!(growing(&description).unwrap(), told, "{name}");
        let judged = verdict(&description).unwrap();
        assert_eq!((judged.growing, judged.is_stable()), (told, told == 0), "{name}");
        assert_eq!(judged.margin_s().is_some(), told == 0, "{name}");
        let open = OpenLoop::sampled(&description).unwrap();
        assert_eq!(Curve::follow(&open).unwrap().growing, told, "{name}");
        let slowest = dominant(&description).unwrap().unwrap();
        assert!(near(slowest.exponent, wired.slowest(), 1e-6), "{name}: {slowest:?}");
        assert_eq!(slowest.growth_1_s(), slowest.exponent.re);
        assert!((slowest.frequency_hz() - hertz(slowest.exponent.norm())).abs() < 1e-12);
        let ratio = -slowest.exponent.re / slowest.exponent.norm();
        assert!((slowest.damping_ratio() - ratio).abs() < 1e-12);
        unstable += usize::from(told > 0);
    }
    assert!(unstable > 3, "{unstable}");
}

/// A loop that is made later is not one matrix any more: its motions are counted by the
/// turns of the curve. With whole samples it is the loop with more registers.
#[test]
fn turns_count_what_the_registers_count() {
    let mut counts = [0; 2];
    for (name, description) in all_loops().into_iter().filter(|(_, d)| d.joint == Joint::Held) {
        let open = OpenLoop::sampled(&description).unwrap();
        for later in [1, 4, 9, 25] {
            let delayed = open.later(later as f64 * STEP_S);
            let told = Wired::of(&description, later).growing(1.0);
            assert_eq!(judge(&delayed).unwrap().growing, told, "{name}, {later} later");
            counts[usize::from(told > 0)] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
}

/// The picture goes through the curve's own points, on the curve, in small steps.
#[test]
fn a_smooth_curve_is_the_same_curve() {
    const SMALL: f64 = 0.02;
    const REACH: f64 = 3.0;
    for (name, description) in
        loops().into_iter().filter(|(name, _)| name.contains("late DOFs") || *name == "a delay")
    {
        let open = OpenLoop::sampled(&description).unwrap();
        let curve = Curve::follow(&open).unwrap();
        let wired = Wired::of(&description, 0);
        let smooth = curve.smooth(&open, SMALL, REACH);
        assert!(smooth.len() > curve.points.len(), "{name}");
        let kept = smooth.iter().filter(|point| curve.points.contains(point)).count();
        assert_eq!(kept, curve.points.len(), "{name}");
        for pair in smooth.windows(2) {
            assert!(pair[0].omega_rad_s < pair[1].omega_rad_s, "{name}");
            let apart = pair[0].loci.iter().zip(&pair[1].loci).map(|(a, b)| (a - b).norm());
            let apart = apart.fold(0.0, f64::max);
            let seen = pair[0].largest().min(pair[1].largest()) < 0.9 * REACH;
            assert!(!seen || apart < 3.0 * SMALL, "{name}: {apart} {pair:?}");
        }
        for point in smooth.iter().step_by(smooth.len() / 40) {
            let found = wired.loci(curve.place(point.omega_rad_s));
            assert!(alike(&point.loci, &found, 2e-7), "{name}");
        }
        // Nothing is added beyond what is seen.
        assert_eq!(curve.smooth(&open, SMALL, 0.0), curve.points, "{name}");
    }
}
