//! Masses in a row, joined by springs and dashpots.

use keys::Keys;
use nalgebra::{DMatrix, DVector};

use super::Structure;
use crate::check::{check_count, check_each, check_not_negative, check_positive};
use crate::error::ModelError;

/// How the ends of a chain are held.
///
/// It decides how many springs there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
#[key(dashed)]
pub enum Ends {
    /// The first mass is tied to the ground.
    FixedFree,
    /// The first and the last mass are tied to the ground.
    FixedFixed,
    /// No mass is tied to the ground.
    FreeFree,
    /// The last mass is tied to the ground.
    FreeFixed,
}

impl Ends {
    /// Springs of a chain of so many masses: one in each gap, and one for every end that is held.
    pub fn springs(self, masses: usize) -> usize {
        let tied = match self {
            Self::FixedFree | Self::FreeFixed => 1,
            Self::FixedFixed => 2,
            Self::FreeFree => 0,
        };
        (masses + tied).saturating_sub(1)
    }
}

/// A shear building: DOF 1 is the lowest floor, storey i lies below floor i.
pub fn shear_building(
    masses_kg: &[f64],
    stiffnesses_n_m: &[f64],
    dampings_n_s_m: &[f64],
) -> Result<Structure, ModelError> {
    chain(masses_kg, stiffnesses_n_m, dampings_n_s_m, Ends::FixedFree)
}

/// A chain of masses with one spring and one dashpot in each gap, from the
/// first mass to the last.
pub fn chain(
    masses_kg: &[f64],
    stiffnesses_n_m: &[f64],
    dampings_n_s_m: &[f64],
    ends: Ends,
) -> Result<Structure, ModelError> {
    let n = masses_kg.len();
    if n == 0 {
        return Err(ModelError::NoDofs);
    }
    let gaps = ends.springs(n);
    check_count("stiffnesses of the chain", stiffnesses_n_m.len(), gaps)?;
    check_count("dampings of the chain", dampings_n_s_m.len(), gaps)?;
    check_each(check_positive, "mass", masses_kg)?;
    check_each(check_not_negative, "stiffness", stiffnesses_n_m)?;
    check_each(check_not_negative, "damping", dampings_n_s_m)?;
    Structure::new(
        DMatrix::from_diagonal(&DVector::from_column_slice(masses_kg)),
        assemble(n, dampings_n_s_m, ends),
        assemble(n, stiffnesses_n_m, ends),
    )
}

/// Sums the 2 × 2 matrices of all gaps; the ground has no row.
fn assemble(n: usize, gaps: &[f64], ends: Ends) -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(n, n);
    for (gap, &value) in gaps.iter().enumerate() {
        // Masses before and behind the gap, `None` where the ground is.
        let (before, behind) = match ends {
            Ends::FreeFree | Ends::FreeFixed => (Some(gap), gap + 1),
            Ends::FixedFree | Ends::FixedFixed => (gap.checked_sub(1), gap),
        };
        let behind = Some(behind).filter(|&mass| mass < n);
        for end in [before, behind].into_iter().flatten() {
            matrix[(end, end)] += value;
        }
        if let (Some(i), Some(j)) = (before, behind) {
            matrix[(i, j)] -= value;
            matrix[(j, i)] -= value;
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn three_storeys_have_the_recomputed_frequencies_and_ratios() {
        // Spec values: m 440 kg, c 880 N s/m, k 275, 275, 165 + 110 kN/m.
        let building = shear_building(&[440.0; 3], &[275e3, 275e3, 275e3], &[880.0; 3]).unwrap();
        let modes = building.modes().unwrap();
        let ratios = building.damping_ratios().unwrap();
        let expected = [(1.771, 1.780), (4.962, 4.988), (7.170, 7.208)];
        for (mode, (frequency, percent)) in expected.into_iter().enumerate() {
            assert!((modes.frequency_hz(mode) - frequency).abs() < 5e-4);
            assert!((100.0 * ratios[mode] - percent).abs() < 5e-4);
        }
    }

    #[test]
    fn uniform_chains_match_their_closed_forms() {
        let n = 7;
        let (m, k) = (2.0, 500.0_f64);
        let omega0 = 2.0 * (k / m).sqrt();
        let check = |ends: Ends, gaps: usize, angle: &dyn Fn(f64) -> f64| {
            let chain = chain(&vec![m; n], &vec![k; gaps], &vec![0.0; gaps], ends).unwrap();
            let modes = chain.modes().unwrap();
            for mode in 0..n {
                let exact = omega0 * angle(mode as f64).sin();
                assert!((modes.omega_rad_s[mode] - exact).abs() < 1e-6, "{ends:?} {mode}");
            }
        };
        let size = n as f64;
        check(Ends::FreeFixed, n, &|r| (2.0 * r + 1.0) * PI / (2.0 * (2.0 * size + 1.0)));
        check(Ends::FixedFree, n, &|r| (2.0 * r + 1.0) * PI / (2.0 * (2.0 * size + 1.0)));
        check(Ends::FixedFixed, n + 1, &|r| (r + 1.0) * PI / (2.0 * (size + 1.0)));
        check(Ends::FreeFree, n - 1, &|r| r * PI / (2.0 * size));
    }

    #[test]
    fn a_chain_held_at_its_last_mass_is_one_held_at_its_first_seen_from_the_other_end() {
        let there = chain(&[1.0, 2.0, 4.0], &[10.0, 20.0, 40.0], &[0.1, 0.2, 0.4], Ends::FreeFixed);
        let back = chain(&[4.0, 2.0, 1.0], &[40.0, 20.0, 10.0], &[0.4, 0.2, 0.1], Ends::FixedFree);
        let turned = |m: &DMatrix<f64>| DMatrix::from_fn(3, 3, |i, j| m[(2 - i, 2 - j)]);
        assert_eq!(there.unwrap().matrices, back.unwrap().matrices.map(turned));
    }

    #[test]
    fn counts_and_signs_are_checked() {
        let error = shear_building(&[1.0, 1.0], &[1.0], &[0.0]).unwrap_err();
        assert!(matches!(error, ModelError::WrongCount { given: 1, expected: 2, .. }));
        assert!(shear_building(&[1.0], &[-1.0], &[0.0]).is_err());
        assert!(shear_building(&[0.0], &[1.0], &[0.0]).is_err());
        assert!(shear_building(&[1.0], &[1.0], &[f64::NAN]).is_err());
        assert_eq!(chain(&[], &[], &[], Ends::FreeFree), Err(ModelError::NoDofs));
        assert!(chain(&[1.0], &[], &[], Ends::FreeFree).is_ok());
    }
}
