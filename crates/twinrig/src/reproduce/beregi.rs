//! Beregi et al.: the four- and five-storey building with its lower storeys in
//! the laboratory, driven at the third.
//!
//! Critical delays and growth rates of the neutral delay system, and iterative
//! tests on a virtual rig. The paper prints its charts, not these numbers, so
//! there is nothing to differ from.

use crate::error::Error;
use analysis::delay_stability::{delay_system, first_loss};
use model::equations::RelativeDof;
use model::partition::{InternalDofs, Partition};
use model::specimen::Specimen;
use model::structure::shear_building;
use nalgebra::DMatrix;
use numerics::delay_system::DelaySystem;
use numerics::second_order::SecondOrder;

use super::{Reproduction, Row, iterative};

pub(super) const MASS_KG: [f64; 5] = [5.37, 5.37, 5.37, 10.74, 5.37];
pub(super) const DAMPING_N_S_M: [f64; 5] = [4.4062, 3.7979, 3.7421, 3.7421, 3.7421];
pub(super) const STIFFNESS_N_M: [f64; 5] = [53048.0, 45724.0, 45052.0, 45052.0, 45052.0];

/// The building of 4 or 5 storeys: storeys 1 and 2, and 1 − p of the third's
/// mass, stand in the laboratory.
fn building(storeys: usize, p: f64) -> Result<DelaySystem, Error> {
    let structure =
        shear_building(&MASS_KG[..storeys], &STIFFNESS_N_M[..storeys], &DAMPING_N_S_M[..storeys])?;
    let interface = vec![RelativeDof::of_dof(2)];
    let inside = InternalDofs::of(&structure, &[0, 1], &interface)?;
    let specimen = Specimen {
        matrices: SecondOrder {
            mass: DMatrix::from_element(1, 1, (1.0 - p) * MASS_KG[2]),
            damping: InternalDofs::joining(&inside.to_interface.damping),
            stiffness: InternalDofs::joining(&inside.to_interface.stiffness),
        },
        elements: Vec::new(),
    };
    let partition = Partition { interface, specimen, inside: Some(inside) };
    let whole = partition.split(&structure, &[], &[])?.whole;
    Ok(delay_system(&whole, &partition)?)
}

/// Recomputes the stability of the paper's buildings.
pub fn reproduce() -> Result<Reproduction, Error> {
    let mut rows = Vec::new();
    for (storeys, p, id) in
        [(4, 0.55, "p055"), (4, 0.67, "p067"), (4, 1.0, "p100"), (5, 0.67, "p067")]
    {
        let critical = first_loss(&building(storeys, p)?.crossings()?);
        rows.push(Row {
            id: format!("tau_star_{storeys}_{id}"),
            quantity: format!("critical delay, {storeys} storeys, p = {p}"),
            paper: None,
            ours: critical.map(|critical| 1e3 * critical.delay_s),
            unit: "ms",
        });
    }
    let rightmost = building(4, 0.67)?.rightmost(1e-4)?;
    rows.push(Row {
        id: "alpha_4_p067_tau0100".to_owned(),
        quantity: "rightmost real part, 4 storeys, p = 0.67, delay 0.1 ms".to_owned(),
        paper: None,
        ours: Some(rightmost.re),
        unit: "1/s",
    });
    rows.extend(iterative::linear_rows()?);
    rows.extend(iterative::nonlinear_rows()?);
    Ok(Reproduction {
        title: "Beregi et al.: substructurability and iterative hybrid testing",
        input: "the buildings of the paper; p = μ3/(m3 + μ3) is the simulated share of storey 3"
            .to_owned(),
        rows,
        notes: vec![
            "The paper shows its critical delays in charts only. It prints p = μ3/m3, which \
             contradicts its own numbers; docs/stability.md has the other errata."
                .to_owned(),
            "Its measured responses top at 1.5e-4 m: the laboratory's building had more damping, or \
             its signals more delay, than its table. Ours are those of the table on a virtual rig \
             without noise; the bilinear rows without a split are for p = 0.5."
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_those_that_were_recomputed_elsewhere() {
        let expected = [
            ("tau_star_4_p055", 0.126831, 6e-7),
            ("tau_star_4_p067", 0.121922, 6e-7),
            ("tau_star_4_p100", 0.110194, 6e-7),
            ("tau_star_5_p067", 0.119642, 6e-7),
            ("alpha_4_p067_tau0100", -0.0055506323, 5e-9),
        ];
        let expected = expected.into_iter().chain([
            ("frf_peak_p067", 3.41601e-4, 7e-7),
            ("frf_peak_p050", 3.41601e-4, 7e-7),
            ("frf_peak_p033", 3.41601e-4, 7e-7),
            ("frf_peak_hz", 13.47148, 5e-4),
            ("frf_error_max", 0.0, 0.2),
            ("iterations_median", 1.5, 0.51),
            ("rig_minutes_p067", 4.0, 4.0),
            ("fold_low_hz", 13.9093, 5e-3),
            ("fold_high_hz", 14.0057, 5e-3),
            ("branch_upper_1396", 1.0963e-3, 1.1e-5),
            ("branch_middle_1396", 7.747e-4, 7.7e-6),
            ("branch_lower_1396", 4.234e-4, 4.2e-6),
        ]);
        let rows = reproduce().unwrap().rows;
        for (id, value, tolerance) in expected {
            let row = rows.iter().find(|row| row.id == id).unwrap();
            let ours = row.ours.unwrap();
            assert!((ours - value).abs() < tolerance, "{id} {ours}");
        }
    }
}
