//! The loop of the textbooks by its formula:
//! L(s) = (s²M_e + sC_e + K_e) T(s) Bᵀ(s²M + sC + K)⁻¹B e^{−sτ}.

use analysis::loop_stability::margins::margins;
use analysis::loop_stability::modes::{follow, true_modes};
use analysis::loop_stability::{Curve, LoopError, OpenLoop};

use super::*;

fn dynamic(m: &DMatrix<f64>, c: &DMatrix<f64>, k: &DMatrix<f64>, s: Complex<f64>) -> Matrix {
    let of = |matrix: &DMatrix<f64>| matrix.map(Complex::from);
    of(m) * (s * s) + of(c) * s + of(k)
}

pub(crate) fn formula(description: &LoopDescription, s: Complex<f64>) -> Matrix {
    let LoopDescription { numerical, specimen, .. } = description;
    let b = numerical.interface_matrix().map(Complex::from);
    let own = dynamic(
        &numerical.matrices.mass,
        &numerical.matrices.damping,
        &numerical.matrices.stiffness,
        s,
    );
    let moved = b.transpose() * own.lu().solve(&b).unwrap();
    let mut force = dynamic(
        &specimen.matrices.mass,
        &specimen.matrices.damping,
        &specimen.matrices.stiffness,
        s,
    );
    if let Some(inside) = &description.inside {
        let (own, joint) = (&inside.matrices, &inside.to_interface);
        let to = dynamic(&joint.mass, &joint.damping, &joint.stiffness, s);
        let inner = dynamic(&own.mass, &own.damping, &own.stiffness, s);
        force -= to.transpose() * inner.lu().solve(&to).unwrap();
    }
    let count = specimen.count();
    let polynomial =
        |list: &[f64]| list.iter().fold(Complex::ZERO, |sum: Complex<f64>, a| sum * s + a);
    let (followed, samples) = match &description.transfer_system {
        TransferSystem::Ideal => (vec![Complex::ONE; count], 0.0),
        TransferSystem::Delay { samples } => (vec![Complex::ONE; count], *samples),
        TransferSystem::TransferFunction { function, samples } => {
            let gain = polynomial(function.numerator()) / polynomial(function.denominator());
            (vec![gain; count], *samples)
        }
        TransferSystem::ServoHydraulic(servo) => {
            let dynamics = ActuatorDynamics::from_servo(servo, specimen).unwrap();
            ((0..count).map(|dof| dynamics.response(dof, s.im).unwrap()).collect(), 0.0)
        }
    };
    let late_s = (samples + description.force_delay as f64) * STEP_S + description.extra_delay_s;
    let turned =
        Matrix::from_fn(count, count, |i, j| if i == j { followed[i] } else { Complex::ZERO });
    force * turned * moved * (-s * late_s).exp()
}

fn unsampled() -> impl Iterator<Item = (String, LoopDescription)> {
    all_loops().into_iter().filter(|(_, d)| d.joint == Joint::Held).map(|(name, description)| {
        let bare = LoopDescription {
            compensator: Design::None,
            shaping: ShapingDesign::default(),
            extra_delay_s: if name == "third order" { 0.0017 } else { 0.0 },
            ..description
        };
        (name, bare)
    })
}

#[test]
fn the_continuous_curve_is_the_formula() {
    for (name, description) in unsampled() {
        let open = OpenLoop::continuous(&description).unwrap();
        let curve = Curve::follow(&open).unwrap();
        let fastest = open.poles().iter().map(|pole| pole.norm()).fold(TAU, f64::max);
        assert!((open.highest_rad_s() / (100.0 * fastest) - 1.0).abs() < 1e-12, "{name}");
        for point in curve.points.iter().step_by(curve.points.len() / 40) {
            if name == "without support" && point.omega_rad_s < 3.0 {
                continue;
            }
            let s = Complex::new(curve.shift_1_s, point.omega_rad_s);
            let mut found = complex_eigen::eigenvalues(&formula(&description, s));
            for locus in &point.loci {
                let apart = |other: &Complex<f64>| (other - locus).norm();
                let (place, nearest) = (0..found.len())
                    .map(|k| (k, apart(&found[k])))
                    .min_by(|a, b| a.1.total_cmp(&b.1))
                    .unwrap();
                assert!(nearest < 1e-5 * (1.0 + locus.norm()), "{name}: {point:?} {found:?}");
                found.remove(place);
            }
        }
    }
}

/// Turns of det(I + L) around zero along the axis: one for each growing motion, for no part
/// grows by itself.
#[test]
fn growing_motions_are_the_turns_of_the_formula() {
    let mut unstable = 0;
    for (name, description) in unsampled().filter(|(name, _)| name != "without support") {
        // Its own control may be unstable.
        if matches!(description.transfer_system, TransferSystem::ServoHydraulic(_)) {
            continue;
        }
        let open = OpenLoop::continuous(&description).unwrap();
        let curve = Curve::follow(&open).unwrap();
        let count = description.specimen.count();
        let difference = |omega: f64| {
            (Matrix::identity(count, count) + formula(&description, axis(omega))).determinant()
        };
        let mut turned = 0.0;
        let mut before = difference(0.0);
        let end = 3000.0_f64;
        for i in 0..12_000 {
            let now = difference(0.05 * (end / 0.05).powf(f64::from(i) / 11_999.0));
            turned += (now / before).arg();
            before = now;
        }
        // Beyond, L is small unless mass meets mass: those are left to the count of the curve.
        let largest = complex_eigen::eigenvalues(&formula(&description, axis(end)));
        if largest.iter().any(|l| l.norm() > 0.5) {
            continue;
        }
        turned -= before.arg();
        let told = (-turned / PI).round() as usize;
        assert_eq!(curve.growing, told, "{name}: {turned}");
        unstable += usize::from(told > 0);
        let truth = true_modes(&whole(&description)).unwrap();
        let found = follow(&open, &curve, &truth).unwrap();
        for s in
            found.modes.iter().filter_map(|mode| mode.in_loop).chain(found.others.iter().copied())
        {
            let s = s.exponent;
            let gain = formula(&description, s);
            let size = (1.0 + gain.norm()).powi(count as i32);
            let value = (Matrix::identity(count, count) + gain).determinant();
            assert!(value.norm() < 1e-4 * size, "{name}: {s} {value}");
        }
    }
    assert!(unstable > 3, "{unstable}");
}

#[test]
fn margins_of_the_continuous_loop_stand_on_the_formula() {
    let mut found = 0;
    for (name, description) in unsampled() {
        let open = OpenLoop::continuous(&description).unwrap();
        let told = margins(&open, &Curve::follow(&open).unwrap()).unwrap();
        let on = |hz: f64, turn: Complex<f64>| {
            let gain = formula(&description, axis(TAU * hz)) * turn;
            let loci = complex_eigen::eigenvalues(&gain);
            loci.iter().map(|l| (l + 1.0).norm()).fold(f64::INFINITY, f64::min) < 1e-5
        };
        for switch in &told.switches {
            let turn = Complex::from_polar(1.0, -TAU * switch.frequency_hz * switch.delay_s);
            assert!(on(switch.frequency_hz, turn), "{name}: {switch:?}");
            found += 1;
        }
        for (factor, hz) in [told.gain_above, told.gain_below].into_iter().flatten() {
            assert!(on(hz, Complex::from(factor)), "{name}: {factor} {hz}");
        }
    }
    assert!(found > 50, "{found}");
}

#[test]
fn a_compensated_loop_has_no_continuous_form() {
    for (name, description) in loops() {
        let compensated =
            description.compensator != Design::None || description.shaping.low_pass_hz.is_some();
        let refused =
            OpenLoop::continuous(&description).map(|_| ()) == Err(LoopError::Uncompensated);
        assert_eq!(refused, compensated, "{name}");
    }
}
