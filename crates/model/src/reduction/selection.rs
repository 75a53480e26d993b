//! The smallest model whose interface response is as true as asked.
//!
//! A complex factor of a large model is dear, so the full model cannot be
//! computed at every resonance of a band. A *richer* reduced model, with all modes
//! of the band and more, stands for it: the candidate is held to the limit
//! against the richer one wherever it can go wrong, and both are checked against
//! the full model where the candidate is worst. A richer model that fails there
//! is made richer still.

use nalgebra::Complex;

use super::response::{FullResponse, Response, Scale, Spread, band};
use super::trust::eigenvalues;
use super::{
    Component, ErrorEstimate, ErrorTarget, Facts, Method, ModeChoice, Recipe, ReducedModel,
    Reduction, ReductionError, Result, basis,
};

/// Frequencies of the full model that one round of checks adds.
const CHECKS: usize = 4;

/// Most rounds of checks without a failure.
const ROUNDS: usize = 3;

/// The richer model may err by this part of the limit.
const TRUSTED: f64 = 0.25;

/// At the probes an error may be this part of the limit: between them it can be a
/// little larger.
const MARGIN: f64 = 0.9;

/// Frequencies nearer than this part of one another are one.
const SAME: f64 = 1e-9;

/// What is known of the full model.
struct Known<'a> {
    solver: FullResponse<'a>,
    response: Response,
    scale: Scale,
    /// Most frequencies.
    most: usize,
}

impl Known<'_> {
    fn error(&self, model: &ReducedModel) -> Result<f64> {
        Ok(largest(&errors(model, &self.response, &self.scale)?))
    }

    /// Where the error is largest.
    fn worst(&self, model: &ReducedModel) -> Result<f64> {
        let worst = Spread::of(&errors(model, &self.response, &self.scale)?);
        Ok(worst.map_or(f64::NAN, |spread| self.response.omegas_rad_s[spread.worst]))
    }
}

/// Errors of a model against a response, at its frequencies.
fn errors(model: &ReducedModel, against: &Response, scale: &Scale) -> Result<Vec<f64>> {
    Ok(Response::of_model(model, &against.omegas_rad_s)?.errors_by(against, scale))
}

fn largest(errors: &[f64]) -> f64 {
    // A NaN is no small error.
    errors.iter().fold(0.0, |m: f64, &x| if x.is_nan() { f64::INFINITY } else { m.max(x) })
}

/// Whether a response is not known yet at a frequency.
fn is_new(response: &Response, omega: f64) -> bool {
    response.omegas_rad_s.iter().all(|known| (known - omega).abs() > SAME * omega)
}

/// The smallest model that errs by at most `target.relative` in the band.
///
/// The bases are nested, so the modes are found once for each doubling and every
/// smaller model is a part of the largest. More modes err less but for the
/// smallest of differences, so a bisection finds the number.
pub(super) fn smallest(
    component: &Component,
    recipe: &Recipe,
    target: &ErrorTarget,
) -> Result<Reduction> {
    let solver = FullResponse::new(component, &recipe.interface)?;
    let response = solver.at(band(target.band_rad_s, target.points))?;
    let scale = response.scale();
    let mut known = Known { solver, response, scale, most: 5 * target.points };
    let mut tried = 8.min(target.most);
    loop {
        let recipe = Recipe { modes: ModeChoice::Number(tried), ..recipe.clone() };
        let rich = basis::reduce(component, &recipe)?;
        let found = rich.model.omega_rad_s.len();
        let rigid = rich.facts.rigid_modes.min(found);
        let last = tried >= target.most || found < rigid + tried;
        let highest = rich.model.omega_rad_s.iter().copied().fold(0.0, f64::max);
        let is_close = known.error(&rich.model)? <= target.relative;
        if is_close
            && (highest >= target.band_rad_s || last)
            && let Some((modes, held)) =
                fewest_modes(&rich, recipe.method, &mut known, target, last)?
        {
            let model = rich.model.truncated(modes);
            let basis = rich.basis.columns(0, model.size()).into_owned();
            return Ok(Reduction { model, basis, facts: Facts { held: Some(held), ..rich.facts } });
        }
        if last {
            return Err(ReductionError::ErrorNotReached {
                modes: found - rigid,
                reached: known.error(&rich.model)?,
                required: target.relative,
            });
        }
        tried = (2 * tried).min(target.most);
    }
}

/// How many modes of the richer model are enough; `None` if it turns out not to
/// stand for the full one.
fn fewest_modes(
    rich: &Reduction,
    method: Method,
    known: &mut Known<'_>,
    target: &ErrorTarget,
    last: bool,
) -> Result<Option<(usize, ErrorEstimate)>> {
    let rich_modes = rich.model.omega_rad_s.len();
    let rigid = rich.facts.rigid_modes.min(rich_modes);
    let mut probes = probes(&rich.model, target.band_rad_s, &known.scale)?;
    let mut rounds = 0;
    loop {
        // The coordinates of `modes_only` are mixed: it cannot be truncated.
        let modes = match method {
            Method::ModesOnly => rich_modes,
            _ => bisected(&rich.model, known, &probes, target.relative, rigid)?,
        };
        if modes == rich_modes && !last && method != Method::ModesOnly {
            // Nothing would stand behind it.
            return Ok(None);
        }
        let candidate = rich.model.truncated(modes);
        // The candidate may have resonances of its own.
        let mut own = resonances(&candidate, target.band_rad_s)?;
        own.retain(|&omega| is_new(&probes, omega));
        probes.extend(Response::of_model(&rich.model, &own)?);
        let at_probes = errors(&candidate, &probes, &known.scale)?;
        let estimate = largest(&at_probes);
        if !own.is_empty() && modes < rich_modes && estimate > MARGIN * target.relative {
            continue;
        }
        let mut worst: Vec<usize> = (0..at_probes.len()).collect();
        worst.sort_by(|&i, &j| at_probes[j].total_cmp(&at_probes[i]));
        let room = known.most.saturating_sub(known.response.omegas_rad_s.len());
        let omegas = worst.iter().map(|&at| probes.omegas_rad_s[at]);
        let picked: Vec<f64> =
            omegas.filter(|&omega| is_new(&known.response, omega)).take(CHECKS.min(room)).collect();
        let exhausted = picked.is_empty();
        known.response.extend(known.solver.at(picked)?);
        let (error, rich_error) = (known.error(&candidate)?, known.error(&rich.model)?);
        let trusted = rich_error <= TRUSTED * target.relative;
        if !trusted && !last {
            return Ok(None);
        }
        rounds += 1;
        if error > target.relative {
            rounds = 0;
            if modes == rich_modes || exhausted {
                return Ok(None);
            }
        } else if trusted || exhausted || rounds >= ROUNDS {
            let held = ErrorEstimate {
                factors: known.response.omegas_rad_s.len(),
                error,
                worst_rad_s: known.worst(&candidate)?,
                probes: at_probes.len(),
                estimate,
                rich_error,
                rich_modes: rich_modes - rigid,
            };
            return Ok(Some((modes, held)));
        }
    }
}

/// The fewest modes that keep to the limit at every known frequency and probe.
fn bisected(
    rich: &ReducedModel,
    known: &Known<'_>,
    probes: &Response,
    relative: f64,
    rigid: usize,
) -> Result<usize> {
    let holds = |modes: usize| -> Result<bool> {
        let model = rich.truncated(modes);
        Ok(known.error(&model)? <= relative
            && largest(&errors(&model, probes, &known.scale)?) <= MARGIN * relative)
    };
    if holds(rigid)? {
        return Ok(rigid);
    }
    let (mut few, mut enough) = (rigid, rich.omega_rad_s.len());
    while few + 1 < enough {
        let middle = few + (enough - few) / 2;
        if holds(middle)? {
            enough = middle;
        } else {
            few = middle;
        }
    }
    Ok(enough)
}

/// The richer model's response wherever a smaller one may go wrong: resonances,
/// their flanks, what lies between them, and antiresonances.
fn probes(rich: &ReducedModel, band_rad_s: f64, scale: &Scale) -> Result<Response> {
    let mut edges = resonances(rich, band_rad_s)?;
    edges.extend([1e-3 * band_rad_s, band_rad_s]);
    edges.sort_by(f64::total_cmp);
    // A response costs the cube of the size.
    let between = match rich.size() {
        0..=64 => 16,
        65..=128 => 6,
        _ => 2,
    };
    let mut omegas = edges.clone();
    for pair in edges.windows(2) {
        let way = pair[1] - pair[0];
        if way > 1e-6 * pair[1] {
            let part = |k: usize| pair[0] + way * k as f64 / (between + 1) as f64;
            omegas.extend((1..=between).map(part));
        }
    }
    omegas.sort_by(f64::total_cmp);
    let mut probes = Response::of_model(rich, &omegas)?;
    // Where the response is smaller than at both neighbours it has a minimum.
    let sizes = probes.sizes(scale);
    let mut valleys = Vec::new();
    for (around, omegas) in sizes.windows(3).zip(omegas.windows(3)) {
        if around[1] < around[0] && around[1] < around[2] {
            valleys.push(deepest(rich, scale, omegas[0], omegas[2])?);
        }
    }
    valleys.retain(|&omega| is_new(&probes, omega));
    probes.extend(Response::of_model(rich, &valleys)?);
    Ok(probes)
}

/// Where the response between two frequencies is smallest, by golden section.
fn deepest(model: &ReducedModel, scale: &Scale, mut from: f64, mut to: f64) -> Result<f64> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let size =
        |omega: f64| -> Result<f64> { Ok(Response::of_model(model, &[omega])?.sizes(scale)[0]) };
    let (mut left, mut right) = (to - GOLDEN * (to - from), from + GOLDEN * (to - from));
    let (mut at_left, mut at_right) = (size(left)?, size(right)?);
    for _ in 0..20 {
        if at_left < at_right {
            (to, right, at_right) = (right, left, at_left);
            left = to - GOLDEN * (to - from);
            at_left = size(left)?;
        } else {
            (from, left, at_left) = (left, right, at_right);
            right = from + GOLDEN * (to - from);
            at_right = size(right)?;
        }
    }
    Ok(0.5 * (from + to))
}

/// Resonances of a model in the band and both their half-power points.
fn resonances(model: &ReducedModel, band_rad_s: f64) -> Result<Vec<f64>> {
    let inside = |omega: &f64| *omega > 1e-4 * band_rad_s && *omega <= band_rad_s;
    let values = eigenvalues(model)?;
    let swings = values.iter().filter(|value: &&Complex<f64>| value.im > value.re.abs());
    let around = swings.flat_map(|value| {
        let (omega, width) = (value.im, value.re.abs());
        [omega - width, omega, omega + width]
    });
    let mut omegas: Vec<f64> = around.filter(inside).collect();
    omegas.sort_by(f64::total_cmp);
    omegas.dedup_by(|b, a| *b - *a <= SAME * *a);
    Ok(omegas)
}
