//! De Kraker 1994: component mode synthesis of generally damped substructures.
//!
//! The bar of appendix A and the beam of two substructures. The report shows its
//! errors in figures only, so they have no value to differ from.

mod beams;

use model::reduction::state_space::Completion;
use model::reduction::{Method, ReductionError};

use super::{Reproduction, Values};
use beams::{FullBeam, Variant, bar_parts};

/// Damper of the bar's second case between DOF 2 and the ground, N·s/m.
const BAR_DAMPER: f64 = 0.2;

/// Recomputes the report's counts, and the errors of its reductions.
pub(super) fn reproduce() -> Result<Reproduction, ReductionError> {
    let mut values = Values::default();
    let bar = bar_parts(BAR_DAMPER)?;
    let slowest = bar.values.iter().filter(|value| value.im == 0.0).map(|value| value.re);
    values.set("bar_lambda2", slowest.reduce(f64::max));
    values.set("bar_c_rr", bar.c_rr.iter().next().copied());

    let full = FullBeam::new()?;
    values.set("beam_states_full", full.eigenvalues.len() as f64);
    values.set("beam_real", full.real_eigenvalues().len() as f64);
    let report = Variant::StateSpace(Completion::Flexibility);
    for (name, cut_off_rad_s, variant) in [
        ("50k", 5e4, report),
        ("50k_modes_only", 5e4, Variant::StateSpace(Completion::None)),
        ("50k_default", 5e4, Variant::SecondOrder { method: Method::Rubin, dampers: true }),
        ("20k", 2e4, report),
    ] {
        let row = full.row(cut_off_rad_s, variant)?;
        values.set(format!("states_{name}"), row.states as f64);
        values.set(format!("eig_max_{name}"), row.eigenvalues.max);
        values.set(format!("eig_median_{name}"), row.eigenvalues.median);
        values.set(format!("frf_max_{name}"), row.response.max);
        values.set(format!("frf_median_{name}"), row.response.median);
        if name == "50k" {
            values.set("kept_one", row.kept[0] as f64);
            values.set("kept_two", row.kept[1] as f64);
            values.set("rigid_two", row.rigid as f64);
        }
    }
    Ok(values.fill(include_str!("dekraker/paper.toml")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a unit of the last printed digit.
    fn printed(value: f64, expected: f64, digits: i32) -> bool {
        let unit = 10_f64.powi(expected.abs().log10().floor() as i32 - digits + 1);
        (value - expected).abs() <= 0.5001 * unit
    }

    #[test]
    fn the_rows_are_those_that_were_recomputed_elsewhere() {
        let rows = reproduce().unwrap().rows;
        for (id, value, digits) in [
            ("bar_lambda2", -0.0111186715, 9),
            ("bar_c_rr", 0.2, 9),
            ("beam_states_full", 72.0, 9),
            ("beam_real", 4.0, 9),
            ("kept_one", 20.0, 9),
            ("kept_two", 15.0, 9),
            ("rigid_two", 3.0, 9),
            ("states_50k", 46.0, 9),
            ("states_20k", 32.0, 9),
            ("states_50k_default", 50.0, 9),
            ("eig_max_50k", 3.6e-3, 2),
            ("eig_max_50k_modes_only", 9.2e-2, 2),
            ("eig_max_50k_default", 9.5e-4, 2),
            ("frf_median_50k", 1.0e-3, 2),
            ("frf_median_50k_default", 4.0e-5, 2),
        ] {
            let ours = rows.iter().find(|row| row.id == id).unwrap().ours.unwrap();
            assert!(printed(ours, value, digits), "{id} {ours}");
        }
    }
}
