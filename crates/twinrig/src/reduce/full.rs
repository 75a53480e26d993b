//! The full model where it is compared with the reduced one.

use model::reduction::response::{FullResponse, Response, Spread, band};
use model::reduction::trust::Matching;
use model::reduction::{Component, Dampers, ModeChoice, Recipe, ReductionError, reduce};
use nalgebra::Complex;
use numerics::eigen;

use crate::assembly::Examined;

/// Of so many points one is added on either side of the worst.
const CLOSER: usize = 6;

/// A small model of any form beside the full one.
pub(super) struct Small<'a> {
    pub(super) component: &'a Component,
    pub(super) method: &'static str,
    /// Names of the DOFs that stay.
    pub(super) names: &'a [String],
    /// DOFs of the full model at the interface.
    pub(super) interface: &'a [usize],
    pub(super) states: usize,
    pub(super) kept_rad_s: &'a [f64],
    /// Where the reduction itself found the error largest.
    pub(super) held_rad_s: Option<f64>,
    pub(super) seconds: f64,
    pub(super) band_rad_s: f64,
    /// Frequencies of its curve.
    pub(super) fine: Vec<f64>,
    pub(super) response: &'a dyn Fn(&[f64]) -> Result<Response, ReductionError>,
}

/// The grid of a band, and the resonances in it.
fn grid(end: f64, points: usize, modes: &[f64]) -> Vec<f64> {
    let mut omegas = band(end, points);
    let inside: Vec<f64> =
        modes.iter().copied().filter(|&omega| omega > 1e-3 * end && omega <= end).collect();
    omegas.extend(inside.into_iter().take(points / 2));
    omegas.sort_by(f64::total_cmp);
    omegas
}

/// The full model on the grid, and closer where the error is largest: a peak between two points
/// of a grid may be a multiple of what they show. Gives the frequencies of the grid as well.
pub(super) fn full_response(
    small: &Small<'_>,
    points: usize,
) -> Result<(Response, Vec<f64>), ReductionError> {
    let solver = FullResponse::new(small.component, small.interface)?;
    let mut omegas = grid(small.band_rad_s, points, small.kept_rad_s);
    let on_grid = omegas.clone();
    omegas.extend(small.held_rad_s.filter(|omega| *omega > 0.0));
    omegas.sort_by(f64::total_cmp);
    let mut full = solver.at(omegas)?;
    for _ in 0..points / CLOSER {
        let errors = (small.response)(&full.omegas_rad_s)?.errors(&full);
        let Some(Spread { worst, .. }) = Spread::of(&errors) else { break };
        let at = full.omegas_rad_s[worst];
        let beside = [worst.checked_sub(1), Some(worst + 1)].into_iter().flatten();
        let beside = beside.filter_map(|place| full.omegas_rad_s.get(place));
        let middles = beside.map(|other| 0.5 * (at + other));
        let new: Vec<f64> = middles.filter(|middle| (middle - at).abs() > 1e-4 * at).collect();
        if new.is_empty() {
            break;
        }
        full.extend(solver.at(new)?);
        full.sort();
    }
    Ok((full, on_grid))
}

/// The largest error, that at an antiresonance as a share of the median response: a zero that is
/// shifted by a hair is a large error of next to nothing.
pub(super) fn off_antiresonances(full: &Response, errors: &[f64]) -> f64 {
    let sizes = full.sizes(&full.scale());
    let median = Spread::of(&sizes).map_or(f64::NAN, |spread| spread.median);
    let weighed = errors.iter().zip(&sizes).map(|(error, size)| error * (size / median).min(1.0));
    weighed.fold(0.0, |most: f64, error| if error.is_nan() { error } else { most.max(error) })
}

/// Undamped natural frequencies in the band beside those of the reduced model.
pub(super) fn in_band(examined: &Examined, end: f64) -> Result<Option<Matching>, ReductionError> {
    let recipe = Recipe {
        interface: examined.recipe.interface.clone(),
        dampers: Dampers::Inside,
        ..Recipe::rubin(Vec::new(), ModeChoice::CutOff { omega_rad_s: end })
    };
    let full = reduce(&examined.component, &recipe)?.model.omega_rad_s;
    let model = &examined.reduced.model;
    let own = eigen::symmetric_modes(&model.matrices.stiffness, &model.matrices.mass)?;
    let of = |omegas: &[f64]| -> Vec<Complex<f64>> {
        let elastic = omegas.iter().filter(|&&omega| omega > 0.0);
        elastic.map(|&omega| Complex::new(0.0, omega)).collect()
    };
    Ok(Matching::new(&of(&full), &of(own.omega_rad_s.as_slice())))
}
