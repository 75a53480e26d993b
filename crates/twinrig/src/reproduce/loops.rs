//! Stability of the multi-rate paper's structures behind its transfer system,
//! without sampling, as its indicators are.

use analysis::loop_stability::modes::{follow, true_modes};
use analysis::loop_stability::{Curve, LoopDescription, LoopError, LoopMode, OpenLoop};
use model::compensator::Design;
use model::transfer::TransferSystem;

use super::Row;
use crate::assembly::Assembly;
use crate::forecast::describe;

/// Growing motions, damping in the loop and its loss with a delay.
pub(super) fn rows(
    mdof: &Assembly,
    sdof: &Assembly,
    printed: &Assembly,
) -> Result<Vec<Row>, LoopError> {
    // One actuator for all: the files of the one mass leave it out.
    let actuator = &mdof.transfer_system;
    let (growing, storeys) = uncompensated(mdof, actuator)?;
    let percent = |mode: Option<&LoopMode>| {
        mode.and_then(|mode| mode.in_loop).map(|motion| 100.0 * motion.damping_ratio())
    };
    // 1/s is a tenth of a per cent per millisecond.
    let loss =
        |mode: Option<&LoopMode>| mode.and_then(|mode| mode.sensitivity_1_s).map(|s| 0.1 * s);
    let mut rows = vec![
        row(
            "ga_mdof_growing",
            "Three storeys, uncompensated: growing motions",
            Some(growing as f64),
            "",
        ),
        row(
            "ga_mdof_zeta2",
            "Three storeys, uncompensated: damping of mode 2",
            percent(storeys.get(1)),
            "%",
        ),
        row(
            "ga_sdof_zeta",
            "One mass, uncompensated: damping, k_n = 140 kN/m",
            percent(uncompensated(sdof, actuator)?.1.first()),
            "%",
        ),
        row(
            "ga_sdof_zeta_printed",
            "One mass, uncompensated: damping, k_n = 110 kN/m",
            percent(uncompensated(printed, actuator)?.1.first()),
            "%",
        ),
        row("sens_sdof", "One mass: damping lost to a delay", loss(ideal(sdof)?.first()), "%/ms"),
    ];
    for (i, mode) in ideal(mdof)?.iter().enumerate() {
        rows.push(Row {
            id: format!("sens_mdof_{}", i + 1),
            quantity: format!("Three storeys: damping of mode {} lost to a delay", i + 1),
            paper: None,
            ours: loss(Some(mode)),
            unit: "%/ms",
        });
    }
    Ok(rows)
}

/// Growing motions, and the modes in the loop.
fn uncompensated(
    assembly: &Assembly,
    actuator: &TransferSystem,
) -> Result<(usize, Vec<LoopMode>), LoopError> {
    let (compensator, transfer_system) = (Design::None, actuator.clone());
    let bare = LoopDescription { compensator, transfer_system, ..describe(assembly) };
    examined(assembly, &bare)
}

/// The modes with a specimen that is moved at once.
fn ideal(assembly: &Assembly) -> Result<Vec<LoopMode>, LoopError> {
    let (transfer_system, compensator) = (TransferSystem::Ideal, Design::None);
    let ideal = LoopDescription { transfer_system, compensator, ..describe(assembly) };
    Ok(examined(assembly, &ideal)?.1)
}

fn examined(
    assembly: &Assembly,
    description: &LoopDescription,
) -> Result<(usize, Vec<LoopMode>), LoopError> {
    let open = OpenLoop::continuous(description)?;
    let curve = Curve::follow(&open)?;
    let truth = true_modes(&assembly.substructures.whole)?;
    Ok((curve.growing, follow(&open, &curve, &truth)?.modes))
}

fn row(id: &str, quantity: &str, ours: Option<f64>, unit: &'static str) -> Row {
    Row { id: id.to_owned(), quantity: quantity.to_owned(), paper: None, ours, unit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::galmez::Ground;
    use crate::reproduce::waldbjorn::{MDOF, assembly, one_mass_text};

    #[test]
    fn the_indicators_are_those_of_the_specification() {
        let built = |text: &str| assembly(text, &Ground::Synthetic, "2 s").unwrap();
        let (sdof, printed) = (built(&one_mass_text(140.0)), built(&one_mass_text(110.0)));
        let rows = rows(&built(MDOF), &sdof, &printed).unwrap();
        let ours = |id: &str| rows.iter().find(|row| row.id == id).unwrap().ours.unwrap();
        assert_eq!(ours("ga_mdof_growing"), 2.0);
        assert!((ours("ga_mdof_zeta2") + 0.41).abs() < 0.005);
        for id in ["ga_sdof_zeta", "ga_sdof_zeta_printed"] {
            assert!((0.845..0.915).contains(&ours(id)), "{id} {}", ours(id));
        }
        assert!((ours("sens_sdof") + 0.139).abs() < 6e-4);
    }
}
