//! Roots of loops whose equations are written here by hand.

use model::transfer::TransferSystem;
use numerics::Matrix;

use super::super::tests::{described, one_mass, three_storeys};
use super::super::{LoopDescription, nyquist::Point};
use super::*;

/// A loop with nothing but a delay, without sampling.
fn late(parts: (Equations, model::specimen::Specimen), delay_s: f64) -> LoopDescription {
    let mut description = described(parts, TransferSystem::Ideal, 1e-3);
    description.extra_delay_s = delay_s;
    description
}

/// det(M s² + C s + K + B kₑ Bᵀ e^{−sτ}), in parts of the size of its terms.
fn equation(description: &LoopDescription, s: Complex) -> Complex {
    let LoopDescription { numerical, specimen, .. } = description;
    let own = &numerical.matrices;
    let b = numerical.interface_matrix();
    let coupled = &b * &specimen.matrices.stiffness * b.transpose();
    let complex = |m: &Matrix| m.map(Complex::from);
    let own = complex(&own.mass) * (s * s) + complex(&own.damping) * s + complex(&own.stiffness);
    let late = complex(&coupled) * (-s * description.extra_delay_s).exp();
    let size = own.iter().chain(&late).map(|x| x.norm()).fold(0.0, f64::max);
    (own + late).determinant() / size.powi(b.nrows() as i32)
}

/// Its growing roots above the axis by Newton's rule from a grid, the fastest first.
fn growing_roots(description: &LoopDescription, fastest_1_s: f64, omega: f64) -> Vec<Complex> {
    let mut found: Vec<Complex> = Vec::new();
    for (i, j) in (0..20).flat_map(|i| (0..40).map(move |j| (f64::from(i), f64::from(j)))) {
        let mut s = Complex::new(fastest_1_s * i / 20.0, omega * (j + 0.5) / 40.0);
        for _ in 0..60 {
            let step = Complex::from(1e-6 * s.norm());
            let [value, next, before] = [s, s + step, s - step].map(|s| equation(description, s));
            s -= value * 2.0 * step / (next - before);
        }
        let counts = s.re > 1e-6 && s.im > 0.0 && s.norm() < 2.0 * omega;
        if counts && equation(description, s).norm() < 1e-12 && !found.iter().any(|p| same(*p, s)) {
            found.push(s);
        }
    }
    found.sort_by(|a, b| b.re.total_cmp(&a.re));
    found
}

fn settled(open: &OpenLoop, place: Complex) -> Option<Complex> {
    let mut places = [place];
    settle(open, &mut places, &[], ROUNDS)[0].then_some(places[0])
}

#[test]
fn modes_that_do_not_swing_keep_their_numbers() {
    assert_eq!(numbers(&[2.0, 3.0], &[2.0, 3.0]), [1, 2]);
    // A rigid body, and one damped beyond critical in the middle.
    assert_eq!(numbers(&[2.0, 9.1], &[0.0, 2.1, 5.0, 9.0]), [2, 4]);
    assert_eq!(numbers(&[2.0, 3.0], &[0.0, 0.0, 2.0, 3.0]), [3, 4]);
    assert!(numbers(&[], &[1.0]).is_empty());
}

#[test]
fn a_motion_turns_by_its_angle_whatever_its_size() {
    for size in [1e-4, 1.0, 1e5] {
        for (angle, expected) in [(1e-8, true), (1e-10, false), (-1e-8, true)] {
            assert_eq!(turns(&Complex::from_polar(size, angle)), expected, "{size} {angle}");
        }
    }
}

#[test]
fn a_place_goes_a_tenth_of_its_size_in_a_round_at_most() {
    let open = OpenLoop::continuous(&late(one_mass(140e3), 0.05)).unwrap();
    let mut longest = 0.0f64;
    for omega in [1.0, 3.0, 5.0, 6.2, 9.0, 30.0] {
        let start = Complex::new(0.1, omega);
        let mut places = [start];
        settle(&open, &mut places, &[], 1);
        let share = (places[0] - start).norm() / start.norm();
        assert!(share < 0.1 * (1.0 + 1e-12), "{omega}: {share}");
        longest = longest.max(share);
    }
    assert!(longest > 0.0999, "{longest}");
}

/// A mass that nothing joins to the interface has a motion that the loop gain does not
/// show: it stays where it is. Where the loop gain is too large for a number there is none.
#[test]
fn a_motion_that_the_interface_does_not_see_stays_and_is_no_root() {
    let (mut numerical, specimen) = one_mass(140e3);
    for (matrix, unseen) in [
        (&mut numerical.matrices.mass, 1.0),
        (&mut numerical.matrices.damping, 0.4),
        (&mut numerical.matrices.stiffness, 900.0),
    ] {
        *matrix = matrix.clone().resize(2, 2, 0.0);
        matrix[(1, 1)] = unseen;
    }
    numerical.load = Matrix::zeros(2, 0);
    let open = OpenLoop::continuous(&late((numerical, specimen), 0.05)).unwrap();
    let unseen = open.poles().iter().copied().find(|p| (p.norm() - 30.0).abs() < 1e-6).unwrap();
    assert_eq!(settled(&open, unseen), Some(unseen));
    assert!(!is_root(&open, unseen));
    assert_eq!(settled(&open, Complex::new(-1e5, 1.0)), None);
}

#[test]
fn a_place_beside_a_root_is_none() {
    let description = late(one_mass(140e3), 0.05);
    let open = OpenLoop::continuous(&description).unwrap();
    let root = settled(&open, Complex::new(0.0, 6.0)).unwrap();
    assert!(equation(&description, root).norm() < 1e-12 && is_root(&open, root));
    for beside in [1e-3, -1e-3] {
        assert!(!is_root(&open, root * (1.0 + beside)));
    }
}

#[test]
fn the_least_distances_of_a_curve_are_its_valleys() {
    let open = OpenLoop::continuous(&late(one_mass(140e3), 0.05)).unwrap();
    let mut curve = Curve::follow(&open).unwrap();
    let mut valleys = |distances: &[f64]| {
        let point = |(k, distance): (usize, &f64)| Point {
            omega_rad_s: k as f64,
            loci: vec![Complex::from(5.0), Complex::from(distance - 1.0)],
            inner: Complex::ONE,
        };
        curve.points = distances.iter().enumerate().map(point).collect();
        smallest(&curve)
    };
    assert_eq!(valleys(&[0.5, 0.2, 0.4, 0.1, 0.3]), [3.0, 1.0]);
    assert_eq!(valleys(&[0.1, 0.2, 0.3, 0.05]), [3.0, 0.0]);
    assert_eq!(valleys(&[0.4, 0.3, 0.3, 0.6]), [2.0]);
}

/// Three storeys whose spring answers so late that several motions grow.
#[test]
fn the_fastest_growing_motion_is_found_among_several() {
    for delay_s in [0.12, 0.15, 0.3] {
        let description = late(three_storeys(), delay_s);
        let open = OpenLoop::continuous(&description).unwrap();
        let curve = Curve::follow(&open).unwrap();
        let told = growing_roots(&description, 8.0, 80.0);
        assert_eq!(curve.growing, 2 * told.len());
        assert!(told.len() > 1, "{told:?}");
        let found = fastest(&open, &curve).unwrap();
        assert!(same(found, told[0]), "{found} {told:?}");
    }
}

#[test]
fn other_motions_are_roots_and_none_of_the_known_ones() {
    let description = late(three_storeys(), 0.12);
    let open = OpenLoop::continuous(&description).unwrap();
    let curve = Curve::follow(&open).unwrap();
    let told = growing_roots(&description, 8.0, 80.0);
    let found = others(&open, &curve, &told[..1]);
    assert!(found.iter().all(|motion| !same(motion.exponent, told[0])), "{found:?} {told:?}");
    assert!(found.iter().all(|motion| equation(&description, motion.exponent).norm() < 1e-7));
    assert!(found.iter().any(|motion| same(motion.exponent, told[1])), "{found:?} {told:?}");
}
