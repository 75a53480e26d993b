//! Damping matrices from ratios.

use nalgebra::{DMatrix, DVector};
use numerics::eigen::{Modes, symmetric_modes};

use crate::check::{check_count, check_each, check_finite, check_not_negative};
use crate::error::ModelError;

/// Modal damping C = M Φ diag(2 ζ ω) Φᵀ M with mass-normalised Φ.
///
/// One ratio serves all modes; otherwise there must be one for each, slowest
/// first. A rigid-body mode has no ω and stays undamped.
pub fn modal(
    mass: &DMatrix<f64>,
    stiffness: &DMatrix<f64>,
    ratios: &[f64],
) -> Result<DMatrix<f64>, ModelError> {
    check_each(check_not_negative, "damping ratio", ratios)?;
    let modes = symmetric_modes(stiffness, mass)?;
    if ratios.len() != 1 {
        let what = "modal damping ratios (one for all modes, or one each)";
        check_count(what, ratios.len(), modes.len())?;
    }
    let left = mass * &modes.shapes;
    let mut weighted = left.clone();
    for (mode, mut column) in weighted.column_iter_mut().enumerate() {
        let ratio = ratios[if ratios.len() == 1 { 0 } else { mode }];
        column *= 2.0 * ratio * modes.omega_rad_s[mode];
    }
    let damping = weighted * left.transpose();
    Ok(0.5 * (&damping + damping.transpose()))
}

/// Rayleigh damping C = α M + β K, with α in 1/s and β in s.
pub fn rayleigh(
    mass: &DMatrix<f64>,
    stiffness: &DMatrix<f64>,
    alpha: f64,
    beta: f64,
) -> Result<DMatrix<f64>, ModelError> {
    check_finite("alpha", alpha)?;
    check_finite("beta", beta)?;
    check_count("rows of the stiffness", stiffness.nrows(), mass.nrows())?;
    Ok(mass * alpha + stiffness * beta)
}

/// Rayleigh damping that gives two modes, counted from 1, their ratios.
///
/// ζ(ω) = α/2ω + βω/2. Ratios far apart make α or β negative, and with it the
/// damping of modes outside the pair: that is an error.
pub fn rayleigh_from_ratios(
    mass: &DMatrix<f64>,
    stiffness: &DMatrix<f64>,
    first: (usize, f64),
    second: (usize, f64),
) -> Result<DMatrix<f64>, ModelError> {
    let modes = symmetric_modes(stiffness, mass)?;
    let omega = |mode: usize| {
        let index = mode.checked_sub(1).filter(|&index| index < modes.len());
        let index = index.ok_or(ModelError::NoSuchMode { mode, modes: modes.len() })?;
        Ok::<f64, ModelError>(modes.omega_rad_s[index])
    };
    let ((i, ratio_i), (j, ratio_j)) = (first, second);
    let (omega_i, omega_j) = (omega(i)?, omega(j)?);
    check_not_negative("damping ratio", ratio_i)?;
    check_not_negative("damping ratio", ratio_j)?;

    // A rigid-body mode comes out as the square root of rounding noise; and
    // below this gap α and β are differences of rounding errors.
    let noise = (4.0 * f64::EPSILON * modes.len() as f64).sqrt() * modes.omega_rad_s.amax();
    let gap = omega_j * omega_j - omega_i * omega_i;
    if omega_i.min(omega_j) <= noise || gap.abs() <= 1e-9 * omega_j * omega_j {
        return Err(ModelError::SameFrequency { first: i, second: j });
    }
    let alpha = 2.0 * omega_i * omega_j * (ratio_i * omega_j - ratio_j * omega_i) / gap;
    let beta = 2.0 * (ratio_j * omega_j - ratio_i * omega_i) / gap;

    let damping = rayleigh(mass, stiffness, alpha, beta)?;
    let achieved = ratios(&damping, &modes);
    let worst = achieved.imin();
    if achieved[worst] < -1e-12 {
        return Err(ModelError::NegativeDamping { mode: worst + 1, ratio: achieved[worst] });
    }
    Ok(damping)
}

/// φᵀ C φ / 2ω of each mode, 0 for a rigid-body mode.
pub fn ratios(damping: &DMatrix<f64>, modes: &Modes) -> DVector<f64> {
    let product = damping * &modes.shapes;
    DVector::from_fn(modes.len(), |mode, _| {
        let omega = modes.omega_rad_s[mode];
        let modal = modes.shapes.column(mode).dot(&product.column(mode));
        if omega > 0.0 { modal / (2.0 * omega) } else { 0.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::{Ends, Structure, chain, shear_building};

    fn benchmark() -> (DMatrix<f64>, DMatrix<f64>) {
        let (a, b, c) = (26054883.879603837, -23133938.877108198, 5937035.463339146);
        let (d, e, f) = (32560774.186380334, -14419970.777236981, 9267275.506224312);
        let stiffness = DMatrix::from_row_slice(3, 3, &[a, b, c, b, d, e, c, e, f]);
        (DMatrix::identity(3, 3) * 1000.0, stiffness)
    }

    #[test]
    fn three_per_cent_on_the_benchmark_gives_its_printed_matrix() {
        let (mass, stiffness) = benchmark();
        let damping = modal(&mass, &stiffness, &[0.03]).unwrap();
        let printed = [
            [8450.5791, -4723.9240, 264.2688],
            [-4723.9240, 8966.1920, -3809.2953],
            [264.2688, -3809.2953, 4333.7770],
        ];
        for (i, row) in printed.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                assert!((damping[(i, j)] - value).abs() < 5.1e-5, "{i} {j}: {}", damping[(i, j)]);
            }
        }
        let structure = Structure::new(mass, damping, stiffness).unwrap();
        let modes = structure.modes().unwrap();
        for (mode, frequency) in [3.6124, 15.9966, 38.0862].into_iter().enumerate() {
            assert!((modes.frequency_hz(mode) - frequency).abs() < 5e-5);
        }
    }

    #[test]
    fn each_mode_gets_its_own_ratio_also_with_a_full_mass_matrix() {
        let (_, stiffness) = benchmark();
        let mass = DMatrix::from_row_slice(
            3,
            3,
            &[900.0, 100.0, 30.0, 100.0, 1200.0, -40.0, 30.0, -40.0, 700.0],
        );
        let wanted = [0.01, 0.05, 0.002];
        let damping = modal(&mass, &stiffness, &wanted).unwrap();
        let found =
            Structure::new(mass.clone(), damping, stiffness.clone()).unwrap().damping_ratios();
        for (found, wanted) in found.unwrap().iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-13);
        }
        let error = modal(&mass, &stiffness, &[0.01, 0.02]).unwrap_err();
        assert!(matches!(error, ModelError::WrongCount { given: 2, expected: 3, .. }));
        assert!(modal(&mass, &stiffness, &[]).is_err());
        assert!(modal(&mass, &stiffness, &[-0.01]).is_err());
    }

    #[test]
    fn rayleigh_meets_both_ratios() {
        let (mass, stiffness) = benchmark();
        let damping = rayleigh_from_ratios(&mass, &stiffness, (1, 0.03), (3, 0.05)).unwrap();
        let structure = Structure::new(mass.clone(), damping, stiffness.clone()).unwrap();
        let found = structure.damping_ratios().unwrap();
        assert!((found[0] - 0.03).abs() < 1e-12 && (found[2] - 0.05).abs() < 1e-12);
        assert_eq!(
            rayleigh_from_ratios(&mass, &stiffness, (1, 0.03), (4, 0.05)),
            Err(ModelError::NoSuchMode { mode: 4, modes: 3 })
        );
        assert!(rayleigh_from_ratios(&mass, &stiffness, (0, 0.03), (2, 0.05)).is_err());
        assert_eq!(
            rayleigh_from_ratios(&mass, &stiffness, (2, 0.03), (2, 0.03)),
            Err(ModelError::SameFrequency { first: 2, second: 2 })
        );
        // 0 % on mode 2 and 50 % on mode 3 need α < 0, which feeds mode 1.
        let error = rayleigh_from_ratios(&mass, &stiffness, (2, 0.0), (3, 0.5)).unwrap_err();
        assert!(matches!(error, ModelError::NegativeDamping { mode: 1, .. }), "{error}");
    }

    #[test]
    fn rigid_body_modes_stay_undamped_and_cannot_carry_rayleigh() {
        let free = chain(&[1.0, 2.0], &[8.0], &[0.0], Ends::FreeFree).unwrap();
        let damping = modal(&free.matrices.mass, &free.matrices.stiffness, &[0.1]).unwrap();
        let rigid = DVector::from_element(2, 1.0);
        assert!((damping * rigid).amax() < 1e-6);
        let error =
            rayleigh_from_ratios(&free.matrices.mass, &free.matrices.stiffness, (1, 0.1), (2, 0.1));
        assert_eq!(error, Err(ModelError::SameFrequency { first: 1, second: 2 }));
    }

    #[test]
    fn rayleigh_is_the_plain_sum() {
        let building = shear_building(&[2.0], &[50.0], &[0.0]).unwrap();
        let damping =
            rayleigh(&building.matrices.mass, &building.matrices.stiffness, 0.5, 0.01).unwrap();
        assert_eq!(damping[(0, 0)], 1.5);
        assert!(
            rayleigh(&building.matrices.mass, &building.matrices.stiffness, f64::NAN, 0.0).is_err()
        );
    }
}
