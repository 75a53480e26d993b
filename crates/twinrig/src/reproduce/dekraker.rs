//! De Kraker 1994: component mode synthesis of generally damped substructures.
//!
//! The bar of appendix A and the beam of two substructures. The report shows its
//! errors in figures only, so they have no value to differ from.

mod beams;

use model::reduction::state_space::Completion;
use model::reduction::{Method, ReductionError};

use super::{Reproduction, Row};
use beams::{BeamRow, FullBeam, Variant, bar_parts};

/// Damper of the bar's second case between DOF 2 and the ground, N·s/m.
const BAR_DAMPER: f64 = 0.2;

/// Recomputes the report's counts, and the errors of its reductions.
pub fn reproduce() -> Result<Reproduction, ReductionError> {
    let mut rows = bar_rows()?;
    let full = FullBeam::new()?;
    let count = |number: usize| Some(number as f64);
    let states = Variant::StateSpace(Completion::Flexibility);
    let wide = full.row(5e4, states)?;
    let narrow = full.row(2e4, states)?;
    let alone = full.row(5e4, Variant::StateSpace(Completion::None))?;
    let usual = Variant::SecondOrder { method: Method::Rubin, dampers: true };
    let usual = full.row(5e4, usual)?;
    let real = full.real_eigenvalues().len();
    for (id, quantity, paper, ours) in [
        ("beam_states_full", "states of the whole beam", Some(72.0), full.eigenvalues.len()),
        ("beam_real", "real eigenvalues of the whole beam", Some(4.0), real),
        ("kept_one", "modes of I up to 50 000 rad/s", Some(20.0), wide.kept[0]),
        ("kept_two", "modes of II up to 50 000 rad/s", Some(15.0), wide.kept[1]),
        ("rigid_two", "state rigid-body modes of II", Some(3.0), wide.rigid),
        ("states_50k", "states reduced, cut-off 50 000 rad/s", Some(46.0), wide.states),
        ("states_20k", "states reduced, cut-off 20 000 rad/s", Some(32.0), narrow.states),
        ("states_50k_default", "states reduced by our default, 50 000 rad/s", None, usual.states),
    ] {
        rows.push(row(id, quantity, paper, count(ours), "–"));
    }
    for (name, method, of) in [
        ("", "as the report", &wide),
        ("_modes_only", "modes only", &alone),
        ("_default", "our default", &usual),
    ] {
        rows.extend(error_rows("50k", name, method, of));
    }
    rows.extend(error_rows("20k", "", "as the report", &narrow));
    Ok(Reproduction {
        title: "De Kraker 1994: component mode synthesis for generally damped substructures",
        input: "the bar of appendix A with m = k = 1; the beam of two substructures, steel, \
                10 × 9 mm, elements of 50 mm, a damper of 1000 N s/m at node 5 of each"
            .to_owned(),
        rows,
        notes: vec![
            "The report's figures, and with them the beam's dimensions, are lost; these give every \
             count it prints. Its errors are in figures only."
                .to_owned(),
            "It prints C_RR = 2 for the bar: the factor 0.1 of B was forgotten.".to_owned(),
            "Errors are relative to the full model up to the cut-off. Our default is Rubin's method \
             with real modes and the damper DOFs in the boundary set."
                .to_owned(),
        ],
    })
}

fn bar_rows() -> Result<Vec<Row>, ReductionError> {
    let parts = bar_parts(BAR_DAMPER)?;
    let slowest = parts.values.iter().filter(|value| value.im == 0.0).map(|value| value.re);
    let slowest = slowest.fold(f64::NEG_INFINITY, f64::max);
    let c_rr = parts.c_rr.iter().next().copied();
    Ok(vec![
        row(
            "bar_lambda2",
            "bar, damper at DOF 2: slowest real eigenvalue",
            Some(-0.011),
            Some(slowest).filter(|value| value.is_finite()),
            "1/s",
        ),
        row("bar_c_rr", "bar, damper at DOF 2: C_RR", Some(2.0), c_rr, "N s/m"),
    ])
}

fn error_rows(cut_off: &str, name: &str, method: &str, of: &BeamRow) -> Vec<Row> {
    let (eigen, response) = (of.eigenvalues, of.response);
    [
        ("eig_max", "greatest error of an eigenvalue", eigen.max),
        ("eig_median", "median error of the eigenvalues", eigen.median),
        ("frf_max", "greatest error of the tip's response", response.max),
        ("frf_median", "median error of the tip's response", response.median),
    ]
    .into_iter()
    .map(|(id, quantity, value)| {
        let quantity = format!("{quantity}, {cut_off} rad/s, {method}");
        row(&format!("{id}_{cut_off}{name}"), &quantity, None, Some(value), "–")
    })
    .collect()
}

fn row(id: &str, quantity: &str, paper: Option<f64>, ours: Option<f64>, unit: &'static str) -> Row {
    Row { id: id.to_owned(), quantity: quantity.to_owned(), paper, ours, unit }
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
