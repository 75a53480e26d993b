//! Every motion of the closed loop, followed from the structure's modes, against the
//! eigenvalues of the wired loop.

use analysis::loop_stability::modes::{along_delay, follow, sensitivity, true_modes};
use analysis::loop_stability::{Curve, Follow, Motion, OpenLoop};

use super::*;

/// Faster decay is that of registers, whose eigenvalues are ill conditioned.
const SLOW_1_S: f64 = -0.5 / STEP_S;

fn followed(open: &OpenLoop, description: &LoopDescription) -> (Curve, Follow) {
    let curve = Curve::follow(open).unwrap();
    let truth = true_modes(&whole(description)).unwrap();
    let found = follow(open, &curve, &truth).unwrap();
    (curve, found)
}

fn motions(found: &Follow) -> Vec<Complex<f64>> {
    let of_modes = found.modes.iter().filter_map(|mode| mode.in_loop);
    of_modes.chain(found.others.iter().copied()).map(|motion| motion.exponent).collect()
}

#[test]
fn every_motion_is_an_eigenvalue_and_every_eigenvalue_a_motion() {
    let slow = |list: Vec<Complex<f64>>| -> Vec<Complex<f64>> {
        list.into_iter().filter(|s| s.re > SLOW_1_S).collect()
    };
    for (name, description) in all_loops() {
        let open = OpenLoop::sampled(&description).unwrap();
        let (curve, found) = followed(&open, &description);
        let wired = Wired::of(&description, 0);
        let poles = slow(wired.closed(1.0).into_iter().map(|(s, _)| s).collect());
        let told = slow(motions(&found));
        assert_eq!(told.len(), poles.len(), "{name}: {told:?} {poles:?}");
        for s in &poles {
            assert!(told.iter().any(|t| near(*t, *s, 1e-6)), "{name}: {s} in {told:?}");
        }
        let slowest = found.dominant_among(&curve).unwrap();
        assert!(near(slowest.0.exponent, wired.slowest(), 1e-6), "{name}");
        assert_eq!(found.dominant(), Some(slowest), "{name}");
        let ratio = |s: &Complex<f64>| -s.re / s.norm();
        let least = poles.iter().map(ratio).fold(f64::INFINITY, f64::min);
        let told = found.least_damped_among(&curve).unwrap().0.damping_ratio();
        assert!((told - least).abs() < 1e-6, "{name}: {told} {least}");
        for (motion, number) in
            [Some(slowest), found.least_damped_among(&curve)].into_iter().flatten()
        {
            let mode = found.modes.iter().find(|mode| mode.in_loop == Some(motion));
            assert_eq!(number, mode.map(|mode| mode.truth.number), "{name}");
        }
    }
}

/// Each mode in the loop is the one it becomes when the rig gets worse little by little:
/// with a fine step and almost no delay it is the structure's own.
#[test]
fn modes_in_a_good_loop_are_the_structures_own() {
    for (name, mut description) in loops() {
        if description.joint == Joint::Continuous
            || description.inside.is_some()
            || name == "without support"
        {
            continue;
        }
        (description.compensator, description.force_delay) = (Design::None, 0);
        description.shaping = ShapingDesign::default();
        description.transfer_system = delay(1.0);
        description.integrator.method = EXACT;
        description.specimen.matrices.mass *= 0.0;
        let open = OpenLoop::sampled(&description).unwrap();
        let (_, found) = followed(&open, &description);
        assert_eq!(found.modes.len(), description.numerical.size(), "{name}");
        for (place, mode) in found.modes.iter().enumerate() {
            assert_eq!(mode.truth.number, place + 1, "{name}");
            let apart = mode.in_loop.unwrap().exponent - mode.truth.motion.exponent;
            assert!(apart.norm() < 0.05 * mode.truth.motion.exponent.norm(), "{name}: {mode:?}");
        }
    }
}

/// The root of det(I + L e^{−sτ}) near s, by secants.
fn root(wired: &Wired, near: Complex<f64>, delay_s: f64) -> Complex<f64> {
    let (mut s, mut before) = (near, near * (1.0 + 1e-6));
    let mut last = wired.difference(before, delay_s);
    for _ in 0..12 {
        let now = wired.difference(s, delay_s);
        if now == last || now == Complex::ZERO {
            break;
        }
        let next = s - now * (s - before) / (now - last);
        (before, last, s) = (s, now, next);
    }
    s
}

#[test]
fn damping_per_delay_is_a_difference_quotient() {
    let mut compared = 0;
    for (name, description) in loops() {
        let open = OpenLoop::sampled(&description).unwrap();
        let (_, found) = followed(&open, &description);
        let wired = Wired::of(&description, 0);
        let ratio = |s: Complex<f64>| -s.re / s.norm();
        for mode in &found.modes {
            let Some(motion) = mode.in_loop else { continue };
            let aside = 1e-6;
            let [less, more] =
                [-aside, aside].map(|delay_s| ratio(root(&wired, motion.exponent, delay_s)));
            let quotient = (more - less) / (2.0 * aside);
            let told = mode.sensitivity_1_s.unwrap();
            assert!(
                (told - quotient).abs() < 1e-3 * quotient.abs() + 1e-4,
                "{name}: {told} {quotient} {mode:?}"
            );
            assert_eq!(sensitivity(&open, motion.exponent), Some(told), "{name}");
            compared += 1;
        }
    }
    assert!(compared > 25, "{compared}");
}

#[test]
fn motions_along_a_delay_are_those_of_more_registers() {
    for (name, description) in loops().into_iter().filter(|(_, d)| d.joint == Joint::Held) {
        let open = OpenLoop::sampled(&description).unwrap();
        let (_, found) = followed(&open, &description);
        let start: Vec<Motion> = found.modes.iter().filter_map(|mode| mode.in_loop).collect();
        let fine = 8;
        let delays_s: Vec<f64> = (0..=6 * fine).map(|i| i as f64 * STEP_S / fine as f64).collect();
        let rows = along_delay(&open, &start, &delays_s);
        assert_eq!(rows.len(), delays_s.len(), "{name}");
        for (first, start) in rows[0].iter().zip(&start) {
            assert!(near(first.unwrap().exponent, start.exponent, 1e-8), "{name}");
        }
        for later in [2, 6] {
            let poles = Wired::of(&description, later).closed(1.0);
            for motion in rows[later * fine].iter().flatten() {
                let s = Complex::new(motion.exponent.re, motion.exponent.im.abs());
                assert!(poles.iter().any(|(p, _)| near(*p, s, 1e-6)), "{name}: {s} {poles:?}");
            }
            assert!(rows[later * fine].iter().any(Option::is_some), "{name}");
        }
    }
}

/// A loop that was made later has no matrix: what is found of it is right, and what grows
/// fastest is found.
#[test]
fn motions_of_a_later_loop_are_found_without_its_matrix() {
    let (mut found_slowest, mut unstable, mut least_damped) = (0, 0, 0);
    for (name, description) in all_loops().into_iter().filter(|(_, d)| d.joint == Joint::Held) {
        let open = OpenLoop::sampled(&description).unwrap();
        for later in [3, 14] {
            let delayed = open.later(later as f64 * STEP_S);
            let (curve, found) = followed(&delayed, &description);
            let wired = Wired::of(&description, later);
            let poles = wired.closed(1.0);
            for s in motions(&found) {
                let distance =
                    poles.iter().map(|(p, _)| (p - s).norm()).fold(f64::INFINITY, f64::min);
                assert!(distance < 1e-5 * s.norm(), "{name}, {later} later: {s} {distance}");
            }
            let grows = grow(&poles) > 0;
            unstable += usize::from(grows);
            match found.dominant_among(&curve) {
                Some((motion, _)) if grows => {
                    assert!(
                        near(motion.exponent, wired.slowest(), 1e-5),
                        "{name}, {later} later: {motion:?}"
                    );
                    found_slowest += 1;
                }
                Some((motion, _)) => {
                    assert!(motion.growth_1_s() < 0.0, "{name}, {later} later: {motion:?}");
                    found_slowest += usize::from(near(motion.exponent, wired.slowest(), 1e-5));
                }
                None => panic!("{name}, {later} later: nothing found"),
            }
            if let Some((motion, _)) = found.least_damped_among(&curve) {
                assert_eq!(motion.damping_ratio() < 0.0, grows, "{name}, {later} later");
                least_damped += usize::from(grows);
            }
        }
    }
    assert!(unstable > 10 && found_slowest > 50, "{unstable} {found_slowest}");
    assert!(3 * least_damped > 2 * unstable, "{least_damped} of {unstable}");
}
