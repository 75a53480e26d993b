//! A structure by itself: its modes, and the step that an integrator makes of it.

use analysis::loop_stability::as_one;
use analysis::loop_stability::modes::{own_modes, true_modes};

use super::*;

/// Eigenvalues of [0 I; −M⁻¹K −M⁻¹C], sorted by size, those of a pair once.
fn companion(equations: &Equations) -> Vec<Complex<f64>> {
    let n = equations.size();
    let inverse = equations.matrices.mass.clone().try_inverse().unwrap();
    let mut a = DMatrix::zeros(2 * n, 2 * n);
    a.view_mut((0, n), (n, n)).fill_with_identity();
    a.view_mut((n, 0), (n, n)).copy_from(&-(&inverse * &equations.matrices.stiffness));
    a.view_mut((n, n), (n, n)).copy_from(&-(&inverse * &equations.matrices.damping));
    let mut found = eigen::eigenvalues(&a).unwrap();
    found.retain(|s| s.im >= 0.0);
    found.sort_by(|a, b| a.norm().total_cmp(&b.norm()));
    found
}

fn diagonal(values: &[f64]) -> DMatrix<f64> {
    DMatrix::from_diagonal(&values.to_vec().into())
}

#[test]
fn own_modes_are_the_eigenvalues() {
    let plain = three_storeys(&[ground(0)]);
    let mut damper = plain.clone();
    damper.matrices.damping[(1, 1)] += 9e3;
    let mut rotor = plain.clone();
    (rotor.matrices.damping[(0, 1)], rotor.matrices.damping[(1, 0)]) = (4e3, -8e3);
    let mut follower = plain.clone();
    follower.matrices.stiffness[(0, 2)] += 1e5;
    for equations in [plain, damper, rotor, follower] {
        let told = companion(&equations);
        let found = own_modes(&equations).unwrap();
        assert_eq!(found.oscillating.len(), told.len());
        for (number, (mode, s)) in (1..).zip(found.oscillating.iter().zip(&told)) {
            assert_eq!(mode.number, number);
            assert!(near(mode.motion.exponent, *s, 1e-8), "{mode:?} {s}");
        }
        assert_eq!(true_modes(&equations).unwrap(), found.oscillating);
        let symmetric = equations.matrices.damping == equations.matrices.damping.transpose()
            && equations.matrices.stiffness == equations.matrices.stiffness.transpose();
        assert_eq!(found.natural.len(), 3);
        let frequencies: Vec<f64> = found.frequencies_hz().collect();
        assert_eq!(frequencies.len(), 3);
        let inverse = equations.matrices.mass.clone().try_inverse().unwrap();
        let mut squares = eigen::eigenvalues(&(inverse * &equations.matrices.stiffness)).unwrap();
        squares.sort_by(|a, b| a.re.total_cmp(&b.re));
        for (k, (omega, ratio)) in found.natural.iter().enumerate() {
            assert!((frequencies[k] - hertz(*omega)).abs() < 1e-12);
            if symmetric {
                assert!((omega / squares[k].re.sqrt() - 1.0).abs() < 1e-9, "{k}");
            } else if equations.matrices.damping != equations.matrices.damping.transpose()
                && equations.matrices.stiffness == equations.matrices.stiffness.transpose()
            {
                assert!(*omega > 0.0 && *ratio > 0.0);
            } else {
                assert!((omega / told[k].norm() - 1.0).abs() < 1e-9, "{k}");
                assert!((ratio + told[k].re / told[k].norm()).abs() < 1e-9, "{k}");
            }
        }
    }
}

#[test]
fn modes_that_do_not_oscillate_keep_their_place() {
    // 10, 20 and 30 rad/s; the second is damped three times beyond critical.
    let mut equations = three_storeys(&[ground(0)]);
    equations.matrices.mass = diagonal(&[2.0, 2.0, 2.0]);
    equations.matrices.stiffness = diagonal(&[200.0, 800.0, 1800.0]);
    equations.matrices.damping = diagonal(&[0.8, 240.0, 6.0]);
    let found = own_modes(&equations).unwrap();
    let numbers: Vec<usize> = found.oscillating.iter().map(|mode| mode.number).collect();
    assert_eq!(numbers, [1, 3]);
    for ((omega, ratio), told) in
        found.natural.iter().zip([(10.0, 0.02), (20.0, 3.0), (30.0, 0.05)])
    {
        assert!((omega - told.0).abs() < 1e-9 && (ratio - told.1).abs() < 1e-9, "{omega} {ratio}");
    }
    // A body without support is a mode without frequency.
    equations.matrices.stiffness[(0, 0)] = 0.0;
    equations.matrices.damping[(0, 0)] = 0.0;
    equations.matrices.damping[(1, 1)] = 4.0;
    let found = own_modes(&equations).unwrap();
    let numbers: Vec<usize> = found.oscillating.iter().map(|mode| mode.number).collect();
    assert_eq!(numbers, [2, 3]);
    assert_eq!(found.natural[0].1, 0.0);
    let hz: Vec<f64> = found.frequencies_hz().collect();
    assert_eq!(hz.len(), 2);
    assert!((hz[0] - hertz(20.0)).abs() < 1e-9 && (hz[1] - hertz(30.0)).abs() < 1e-9, "{hz:?}");
    // 1e-5 rad/s beside 30 is none either; 1e-4 is one.
    for (omega, moving) in [(1e-5, 2), (1e-4, 3)] {
        equations.matrices.stiffness[(0, 0)] = 2.0 * omega * omega;
        assert_eq!(own_modes(&equations).unwrap().frequencies_hz().count(), moving, "{omega}");
    }
}

/// A free chain with damping: the rigid body's rounding is no oscillation.
#[test]
fn a_free_chain_has_a_rigid_mode_first() {
    let free =
        storeys(&[900.0, 700.0, 800.0], &[0.0, 4e5, 5e5], &[0.0, 900.0, 500.0], &[ground(0)]);
    let found = own_modes(&free).unwrap();
    let told: Vec<_> = companion(&free).into_iter().filter(|s| s.im > 1.0).collect();
    let numbers: Vec<usize> = found.oscillating.iter().map(|mode| mode.number).collect();
    assert_eq!(numbers, [2, 3]);
    for (mode, s) in found.oscillating.iter().zip(&told) {
        assert!(near(mode.motion.exponent, *s, 1e-7), "{mode:?} {s}");
    }
    assert_eq!(found.frequencies_hz().count(), 2);
}

fn options(method: Method, step_s: f64) -> Options {
    Options { method, step_s, direct_inertia: None, iterations: 1 }
}

/// What one step of Runge–Kutta makes of e^{w}.
fn runge_kutta(w: Complex<f64>) -> Complex<f64> {
    1.0 + w + w * w / 2.0 + w * w * w / 6.0 + w * w * w * w / 24.0
}

#[test]
fn a_structure_stepped_as_one_is_multiplied_by_the_scheme() {
    let plain = three_storeys(&[ground(0)]);
    let truth = companion(&plain);
    for step_s in [2e-3, 0.05, 0.09, 0.2] {
        let (growing, slowest) = as_one(&plain, &options(Method::RungeKutta4, step_s)).unwrap();
        let factors: Vec<Complex<f64>> = truth.iter().map(|s| runge_kutta(s * step_s)).collect();
        let told = 2 * factors.iter().filter(|z| z.norm() > 1.0).count();
        assert_eq!(growing, told, "{step_s}: {factors:?}");
        let most = factors.iter().max_by(|a, b| a.norm().total_cmp(&b.norm())).unwrap();
        let slowest = slowest.unwrap().exponent;
        assert!((slowest.re - most.norm().ln() / step_s).abs() < 1e-7 * slowest.norm(), "{step_s}");
        assert!(
            (slowest.im - (most.arg() / step_s).abs()).abs() < 1e-7 * slowest.norm(),
            "{step_s}"
        );
        assert_eq!(as_one(&plain, &options(Method::Newmark, step_s)).unwrap().0, 0);
    }
    // A free body does not grow, and is not the slowest.
    let free = storeys(&[900.0, 700.0], &[0.0, 4e5], &[0.0, 900.0], &[ground(0)]);
    let (growing, slowest) = as_one(&free, &options(EXACT, 1e-3)).unwrap();
    let told = companion(&free).into_iter().find(|s| s.im > 1.0).unwrap();
    assert_eq!(growing, 0);
    assert!(near(slowest.unwrap().exponent, told, 1e-6), "{slowest:?} {told}");
}

/// A uniform chain of many masses, whose modes are known.
#[test]
fn a_large_chain_is_stepped_as_its_modes() {
    let n = 130;
    let (m, k, loss) = (100.0_f64, 4e5_f64, 1e-4_f64);
    let chain = storeys(&vec![m; n], &vec![k; n], &vec![loss * k; n], &[ground(n - 1)]);
    let exponents: Vec<Complex<f64>> = (1..=n)
        .map(|i| {
            let angle = (2 * i - 1) as f64 * PI / (2 * (2 * n + 1)) as f64;
            let omega = 2.0 * (k / m).sqrt() * angle.sin();
            let half = 0.5 * loss * omega * omega;
            Complex::new(-half, (omega * omega - half * half).sqrt())
        })
        .collect();
    let found = own_modes(&chain).unwrap();
    for (k, (mode, s)) in found.oscillating.iter().zip(&exponents).enumerate() {
        assert_eq!(mode.number, k + 1);
        assert!(near(mode.motion.exponent, *s, 1e-8), "{mode:?} {s}");
    }
    for step_s in [5e-3, 0.024, 0.05] {
        let (growing, slowest) = as_one(&chain, &options(Method::RungeKutta4, step_s)).unwrap();
        let factors: Vec<Complex<f64>> =
            exponents.iter().map(|s| runge_kutta(s * step_s)).collect();
        assert_eq!(growing, 2 * factors.iter().filter(|z| z.norm() > 1.0).count(), "{step_s}");
        let most = factors.iter().max_by(|a, b| a.norm().total_cmp(&b.norm())).unwrap();
        let slowest = slowest.unwrap();
        assert!(
            (slowest.growth_1_s() - most.norm().ln() / step_s).abs()
                < 1e-7 * slowest.exponent.norm(),
            "{step_s}"
        );
    }
}
