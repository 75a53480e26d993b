//! The critical delay of a hybrid loop with a pure delay, in continuous time.

use model::equations::Equations;
use model::specimen::Specimen;
use nalgebra::{Complex, DMatrix};
use numerics::eigen::{self, EigenError};

/// A delay at which the loop loses its stability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CriticalDelay {
    /// The delay.
    pub delay_s: f64,
    /// The frequency at which the loop then swings.
    pub frequency_hz: f64,
}

/// The critical delay from the characteristic equation, for one interface DOF.
///
/// With g = bᵀ(−ω²M + jωC + K)⁻¹b of the numerical part and
/// h = −ω²m + jωc + k of the specimen, the loop stands on the boundary where
/// g h e^{−jωτ} = −1: the frequencies are those with |g h| = 1, and each has its
/// smallest delay τ = (arg(g h) + π)/ω. The smallest of all is critical,
/// because the loop without delay is the structure itself.
///
/// `None`: no delay makes it unstable. A delay of zero: the specimen's mass is
/// not below the numerical one, and every delay does.
pub fn critical_delay(
    numerical: &Equations,
    whole: &Equations,
    specimen: &Specimen,
) -> Result<Option<CriticalDelay>, EigenError> {
    let inverse = numerical
        .mass
        .clone()
        .try_inverse()
        .unwrap_or_else(|| DMatrix::from_element(numerical.size(), numerical.size(), f64::NAN));
    let b = numerical.interface_matrix();
    let high = (b.transpose() * inverse * &b)[(0, 0)] * specimen.mass[(0, 0)];
    if high >= 1.0 {
        return Ok(Some(CriticalDelay { delay_s: 0.0, frequency_hz: f64::INFINITY }));
    }
    let gain = |omega: f64| loop_gain(numerical, specimen, omega);
    let excess = |omega: f64| gain(omega).norm() - 1.0;
    let mut best: Option<CriticalDelay> = None;
    let grid = frequencies(numerical, whole)?;
    for pair in grid.windows(2) {
        let (mut low, mut high) = (pair[0], pair[1]);
        if excess(low).signum() == excess(high).signum() {
            continue;
        }
        let rising = excess(low) < 0.0;
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if (excess(middle) < 0.0) == rising { low = middle } else { high = middle }
        }
        let omega = 0.5 * (low + high);
        let delay_s = (gain(omega).arg() + std::f64::consts::PI) / omega;
        if best.is_none_or(|best| delay_s < best.delay_s) {
            let frequency_hz = omega / std::f64::consts::TAU;
            best = Some(CriticalDelay { delay_s, frequency_hz });
        }
    }
    Ok(best)
}

/// The critical delay by Gao & You's equivalent matrices: the delayed force is
/// replaced by its first-order Taylor series, with the reference structure's
/// modes for the third derivative,
///   M = M_r − τ C_e, C = C_r + τ (M_e M_r⁻¹ K_r − K_e), K = K_r,
/// and the smallest τ with an eigenvalue in the right half plane is sought.
///
/// Reference: Gao & You 2019, Mech. Syst. Signal Process. 133, 106261.
pub fn gao_you_delay(
    whole: &Equations,
    specimen: &Specimen,
    longest_s: f64,
) -> Result<Option<f64>, EigenError> {
    let b = whole.interface_matrix();
    let on_structure = |m: &DMatrix<f64>| &b * m * b.transpose();
    let (mass, damping, stiffness) = (
        on_structure(&specimen.mass),
        on_structure(&specimen.damping),
        on_structure(&specimen.stiffness),
    );
    let n = whole.size();
    let Some(inverse) = whole.mass.clone().try_inverse() else { return Ok(Some(0.0)) };
    let turned = mass * inverse * &whole.stiffness - stiffness;
    let unstable = |delay_s: f64| -> Result<bool, EigenError> {
        let Some(inverse) = (&whole.mass - delay_s * &damping).try_inverse() else {
            return Ok(true);
        };
        let mut a = DMatrix::zeros(2 * n, 2 * n);
        a.view_mut((0, n), (n, n)).copy_from(&DMatrix::identity(n, n));
        a.view_mut((n, 0), (n, n)).copy_from(&(-&inverse * &whole.stiffness));
        a.view_mut((n, n), (n, n)).copy_from(&(-&inverse * (&whole.damping + delay_s * &turned)));
        Ok(eigen::spectral_abscissa(&a)? > 0.0)
    };
    let steps = 400;
    for step in 1..=steps {
        let mut high = longest_s * f64::from(step) / f64::from(steps);
        if !unstable(high)? {
            continue;
        }
        let mut low = longest_s * f64::from(step - 1) / f64::from(steps);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if unstable(middle)? { high = middle } else { low = middle }
        }
        return Ok(Some(high));
    }
    Ok(None)
}

/// g h at jω.
fn loop_gain(numerical: &Equations, specimen: &Specimen, omega: f64) -> Complex<f64> {
    let impedance = |mass: f64, damping: f64, stiffness: f64| {
        Complex::new(stiffness - omega * omega * mass, omega * damping)
    };
    let n = numerical.size();
    let dynamic = DMatrix::from_fn(n, n, |i, j| {
        impedance(numerical.mass[(i, j)], numerical.damping[(i, j)], numerical.stiffness[(i, j)])
    });
    let b = numerical.interface_matrix().map(Complex::from);
    let nan = Complex::new(f64::NAN, f64::NAN);
    let g = dynamic.lu().solve(&b).map_or(nan, |x| (b.transpose() * x)[(0, 0)]);
    let (m, c, k) = (specimen.mass[(0, 0)], specimen.damping[(0, 0)], specimen.stiffness[(0, 0)]);
    g * impedance(m, c, k)
}

/// A grid that is dense around every mode of both structures, where |g h| turns.
fn frequencies(numerical: &Equations, whole: &Equations) -> Result<Vec<f64>, EigenError> {
    let mut modes = Vec::new();
    for equations in [numerical, whole] {
        let found = eigen::symmetric_modes(&equations.stiffness, &equations.mass)?;
        modes.extend(found.omega_rad_s.iter().copied().filter(|&omega| omega > 0.0));
    }
    modes.sort_by(f64::total_cmp);
    let (lowest, highest) = match (modes.first(), modes.last()) {
        (Some(&lowest), Some(&highest)) => (lowest, highest),
        _ => (1.0, 1.0),
    };
    let mut grid = Vec::new();
    for step in 0..=2000 {
        let part = f64::from(step) / 2000.0;
        grid.push(0.01 * lowest * (1000.0 * highest / (0.01 * lowest)).powf(part));
    }
    for &mode in &modes {
        for step in -60..=60 {
            grid.push(mode * (1.0 + 0.3 * (f64::from(step) / 60.0).powi(3)));
        }
    }
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    Ok(grid)
}
