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
/// `None`: no delay makes it unstable. A delay of zero: every delay does, at an
/// infinite frequency because the specimen's mass is not below the numerical
/// one, at a finite one because a mode has no damping.
pub fn critical_delay(
    numerical: &Equations,
    whole: &Equations,
    specimen: &Specimen,
) -> Result<Option<CriticalDelay>, EigenError> {
    let gain = LoopGain::new(numerical, specimen)?;
    if gain.high * specimen.mass[(0, 0)] >= 1.0 {
        return Ok(Some(CriticalDelay { delay_s: 0.0, frequency_hz: f64::INFINITY }));
    }
    let excess = |omega: f64| gain.size(omega) - 1.0;
    let grid = frequencies(numerical, whole)?;
    let signs: Vec<f64> = grid.iter().map(|&omega| excess(omega).signum()).collect();
    let mut best: Option<CriticalDelay> = None;
    for (pair, sign) in grid.windows(2).zip(signs.windows(2)) {
        if sign[0] == sign[1] {
            continue;
        }
        let (mut low, mut high) = (pair[0], pair[1]);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if excess(middle).signum() == sign[0] { low = middle } else { high = middle }
        }
        let omega = 0.5 * (low + high);
        let delay_s = crossing_delay_s(numerical, specimen, omega);
        if delay_s.is_finite() && best.is_none_or(|best| delay_s < best.delay_s) {
            let frequency_hz = omega / std::f64::consts::TAU;
            best = Some(CriticalDelay { delay_s, frequency_hz });
        }
    }
    Ok(best)
}

/// The smallest delay that turns g h at this frequency to −1.
fn crossing_delay_s(numerical: &Equations, specimen: &Specimen, omega: f64) -> f64 {
    use std::f64::consts::{PI, TAU};
    let phase = loop_gain(numerical, specimen, omega).arg() + PI;
    // A mode without damping stands on the boundary already. A spring's delayed
    // force then drives it at once; a mass's takes energy out for a whole turn.
    let undamped = !(1e-7..=TAU - 1e-7).contains(&phase);
    let spring = specimen.stiffness[(0, 0)] > omega * omega * specimen.mass[(0, 0)];
    match (undamped, spring) {
        (true, true) => 0.0,
        (true, false) => TAU / omega,
        (false, _) => phase / omega,
    }
}

/// |g h| by poles and zeros, so that ten thousands of frequencies of a large
/// structure take no factorisation each.
///
/// g(s) = bᵀM⁻¹b Π(s − z) / Π(s − p): the poles are those of the numerical
/// part, the zeros those of the same part with its interface held.
struct LoopGain {
    /// bᵀM⁻¹b.
    high: f64,
    poles: Vec<Complex<f64>>,
    zeros: Vec<Complex<f64>>,
    mass: f64,
    damping: f64,
    stiffness: f64,
}

impl LoopGain {
    fn new(numerical: &Equations, specimen: &Specimen) -> Result<Self, EigenError> {
        let n = numerical.size();
        let b = numerical.interface_matrix();
        let b = b.column(0);
        let parts = [&numerical.mass, &numerical.damping, &numerical.stiffness];
        // A reflection that takes b to the first axis; its other columns span
        // the motions that leave the interface in place.
        let mut v = b.into_owned();
        v[0] += b.norm().copysign(b[0]);
        let reflection = DMatrix::identity(n, n) - 2.0 / v.norm_squared() * &v * v.transpose();
        let held = reflection.columns(1, n - 1);
        let [mass, damping, stiffness] = parts.map(|part| held.transpose() * part * held);
        let inverse = numerical.mass.clone().try_inverse();
        Ok(Self {
            high: inverse.map_or(f64::NAN, |inverse| (b.transpose() * inverse * b)[(0, 0)]),
            poles: poles(parts[0], parts[1], parts[2])?,
            zeros: poles(&mass, &damping, &stiffness)?,
            mass: specimen.mass[(0, 0)],
            damping: specimen.damping[(0, 0)],
            stiffness: specimen.stiffness[(0, 0)],
        })
    }

    fn size(&self, omega: f64) -> f64 {
        let s = Complex::new(0.0, omega);
        let specimen =
            Complex::new(self.stiffness - omega * omega * self.mass, omega * self.damping);
        // Poles and zeros interlace, sorted by size: their ratios stay moderate.
        let (last, paired) = self.poles.split_at(2.min(self.poles.len()));
        let ratios = self.zeros.iter().zip(paired).map(|(z, p)| (s - z).norm() / (s - p).norm());
        let rest: f64 = last.iter().map(|p| (s - p).norm()).product();
        self.high * specimen.norm() * ratios.product::<f64>() / rest
    }
}

/// Eigenvalues of M ẍ + C ẋ + K x = 0, by size.
fn poles(
    mass: &DMatrix<f64>,
    damping: &DMatrix<f64>,
    stiffness: &DMatrix<f64>,
) -> Result<Vec<Complex<f64>>, EigenError> {
    let n = mass.nrows();
    if n == 0 {
        return Ok(Vec::new());
    }
    let inverse =
        mass.clone().try_inverse().unwrap_or_else(|| DMatrix::from_element(n, n, f64::NAN));
    let mut a = DMatrix::zeros(2 * n, 2 * n);
    a.view_mut((0, n), (n, n)).copy_from(&DMatrix::identity(n, n));
    a.view_mut((n, 0), (n, n)).copy_from(&(-&inverse * stiffness));
    a.view_mut((n, n), (n, n)).copy_from(&(-inverse * damping));
    let mut values = eigen::eigenvalues(&a)?;
    values.sort_by(|a, b| a.norm().total_cmp(&b.norm()));
    Ok(values)
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::equations::Deformation;

    fn scalar(value: f64) -> DMatrix<f64> {
        DMatrix::from_element(1, 1, value)
    }

    fn spring(stiffness: f64) -> Specimen {
        let (mass, damping) = (scalar(0.0), scalar(0.0));
        Specimen { mass, damping, stiffness: scalar(stiffness), elements: Vec::new() }
    }

    /// A shear building of `n` storeys without the spring in the laboratory,
    /// and the whole one.
    fn building(n: usize, ratio: f64, specimen: &Specimen) -> (Equations, Equations) {
        let stiffness = DMatrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
            0 if i + 1 == n => 4e5,
            0 => 8e5,
            1 => -4e5,
            _ => 0.0,
        });
        let whole = Equations {
            mass: DMatrix::identity(n, n) * 100.0,
            damping: ratio * &stiffness,
            stiffness,
            load: DMatrix::zeros(n, 0),
            interface: vec![Deformation::of_dof(0)],
            elements: Vec::new(),
        };
        let mut numerical = whole.clone();
        numerical.stiffness[(0, 0)] -= specimen.stiffness[(0, 0)];
        (numerical, whole)
    }

    #[test]
    fn one_mass_follows_its_closed_form() {
        // m ẍ + c ẋ + k x + k_e x(t − τ) = 0: |k_e| = |k − mω² + jωc|.
        let (m, c, k, k_e) = (100.0, 80.0, 3e5, 1e5);
        let specimen = spring(k_e);
        let part = |stiffness| Equations {
            mass: scalar(m),
            damping: scalar(c),
            stiffness: scalar(stiffness),
            load: DMatrix::zeros(1, 0),
            interface: vec![Deformation::of_dof(0)],
            elements: Vec::new(),
        };
        let found = critical_delay(&part(k), &part(k + k_e), &specimen).unwrap().unwrap();
        // m²ω⁴ + (c² − 2 k m) ω² + k² − k_e² = 0
        let half = (2.0 * k * m - c * c) / (2.0 * m * m);
        let square = half + (half * half - (k * k - k_e * k_e) / (m * m)).sqrt();
        let omega = square.sqrt();
        // k_e e^{−jωτ} = mω² − k − jωc
        let delay = (omega * c).atan2(m * square - k) / omega;
        assert!((found.frequency_hz * std::f64::consts::TAU / omega - 1.0).abs() < 1e-9);
        assert!((found.delay_s / delay - 1.0).abs() < 1e-7, "{} {delay}", found.delay_s);
    }

    #[test]
    fn poles_and_zeros_give_the_gain_of_the_dynamic_stiffness() {
        let specimen = spring(1e5);
        for n in [1, 2, 7] {
            let (numerical, _) = building(n, 1e-4, &specimen);
            let gain = LoopGain::new(&numerical, &specimen).unwrap();
            for omega in [0.1, 3.0, 40.0, 90.0, 126.0, 1e4] {
                let direct = loop_gain(&numerical, &specimen, omega).norm();
                assert!((gain.size(omega) / direct - 1.0).abs() < 1e-9, "{n} {omega}");
            }
        }
    }

    #[test]
    fn any_delay_of_a_spring_drives_a_structure_without_damping() {
        let specimen = spring(1e5);
        let (numerical, whole) = building(3, 0.0, &specimen);
        let found = critical_delay(&numerical, &whole, &specimen).unwrap().unwrap();
        assert_eq!(found.delay_s, 0.0);
        assert!(found.frequency_hz.is_finite());
    }

    #[test]
    fn a_tall_building_has_its_critical_delay() {
        let specimen = spring(1e5);
        let (numerical, whole) = building(60, 1e-4, &specimen);
        let found = critical_delay(&numerical, &whole, &specimen).unwrap().unwrap();
        let omega = found.frequency_hz * std::f64::consts::TAU;
        let turn = Complex::from_polar(1.0, -omega * found.delay_s);
        let gain = loop_gain(&numerical, &specimen, omega) * turn;
        assert!((gain + 1.0).norm() < 1e-6, "{gain}");
    }
}
