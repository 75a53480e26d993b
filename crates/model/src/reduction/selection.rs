//! The smallest model whose interface response is as true as asked.
//!
//! A complex factor of a large model is dear, so the full model cannot be
//! computed at every resonance of a band. A *richer* reduced model, with all modes
//! of the band and more, stands for it: the candidate is held to the limit
//! against the richer one wherever it can go wrong, and both are checked against
//! the full model where the candidate is worst. A richer model that fails there
//! is made richer still.

use nalgebra::Complex;

use super::response::{FullResponse, Response, Scale, band};
use super::trust::eigenvalues;
use super::{
    Component, Facts, Held, Method, ModeChoice, Recipe, ReducedModel, Reduction, ReductionError,
    basis,
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

/// What was asked for.
pub(super) struct Wish {
    /// Largest error.
    pub relative: f64,
    /// End of the band.
    pub band_rad_s: f64,
    /// Frequencies of the full model to start with.
    pub points: usize,
    /// Most modes to try.
    pub most: usize,
}

/// What is known of the full model.
struct Known<'a> {
    solver: FullResponse<'a>,
    response: Response,
    scale: Scale,
    /// Most frequencies.
    most: usize,
}

impl Known<'_> {
    fn error(&self, model: &ReducedModel) -> Result<f64, ReductionError> {
        let own = Response::of_model(model, model.interface, &self.response.omegas_rad_s)?;
        Ok(largest(&own.errors_by(&self.response, &self.scale)))
    }

    fn has(&self, omega: f64) -> bool {
        self.response.omegas_rad_s.iter().any(|known| (known - omega).abs() <= SAME * omega)
    }

    fn room(&self) -> usize {
        self.most.saturating_sub(self.response.omegas_rad_s.len())
    }
}

fn largest(errors: &[f64]) -> f64 {
    // A NaN is no small error.
    errors.iter().fold(0.0, |m: f64, &x| if x.is_nan() { f64::INFINITY } else { m.max(x) })
}

/// The smallest model that errs by at most `wish.relative` in the band.
///
/// The bases are nested, so the modes are found once for each doubling and every
/// smaller model is a part of the largest. More modes err less but for the
/// smallest of differences, so a bisection finds the number.
pub(super) fn smallest(
    component: &Component,
    recipe: &Recipe,
    wish: &Wish,
) -> Result<Reduction, ReductionError> {
    let solver = FullResponse::new(component, &recipe.interface)?;
    let mut response = Response::empty();
    solver.extend(&mut response, &band(wish.band_rad_s, wish.points))?;
    let scale = response.scale();
    let mut known = Known { solver, response, scale, most: 5 * wish.points };
    let mut tried = 8.min(wish.most);
    loop {
        let recipe = Recipe { modes: ModeChoice::Number(tried), ..recipe.clone() };
        let rich = basis::reduce(component, &recipe)?;
        let found = rich.model.omega_rad_s.len();
        let rigid = rich.facts.rigid_modes.min(found);
        let last = tried >= wish.most || found < rigid + tried;
        let highest = rich.model.omega_rad_s.iter().copied().fold(0.0, f64::max);
        let reached = known.error(&rich.model)?;
        if reached <= wish.relative && (highest >= wish.band_rad_s || last) {
            match among(&rich, recipe.method, &mut known, wish, last)? {
                Some((modes, held)) => return Ok(taken(rich, modes, held)),
                None if last => {}
                None => {
                    tried = (2 * tried).min(wish.most);
                    continue;
                }
            }
        }
        if last {
            return Err(ReductionError::ErrorNotReached {
                modes: found - rigid,
                reached: known.error(&rich.model)?,
                required: wish.relative,
            });
        }
        tried = (2 * tried).min(wish.most);
    }
}

fn taken(rich: Reduction, modes: usize, held: Held) -> Reduction {
    let facts = Facts { held: Some(held), ..rich.facts };
    let model = rich.model.truncated(modes);
    let basis = rich.basis.columns(0, model.size()).into_owned();
    Reduction { model, basis, facts }
}

/// How many modes of the richer model are enough; `None` if it turns out not to
/// stand for the full one.
fn among(
    rich: &Reduction,
    method: Method,
    known: &mut Known<'_>,
    wish: &Wish,
    last: bool,
) -> Result<Option<(usize, Held)>, ReductionError> {
    let found = rich.model.omega_rad_s.len();
    let rigid = rich.facts.rigid_modes.min(found);
    let mut probes = Probes::of(&rich.model, wish.band_rad_s, &known.scale)?;
    let mut rounds = 0;
    loop {
        // The coordinates of `modes_only` are mixed: it cannot be cut.
        let modes = match method {
            Method::ModesOnly => found,
            _ => fewest(&rich.model, known, &probes, wish.relative, rigid)?,
        };
        if modes == found && !last && method != Method::ModesOnly {
            // Nothing would stand behind it.
            return Ok(None);
        }
        let candidate = rich.model.truncated(modes);
        // The candidate may have resonances of its own.
        let own = resonances(&candidate, wish.band_rad_s)?;
        if probes.add(&rich.model, &own)? && modes < found {
            let errors = probes.errors(&candidate, &known.scale)?;
            if largest(&errors) > MARGIN * wish.relative {
                continue;
            }
        }
        let errors = probes.errors(&candidate, &known.scale)?;
        let mut order: Vec<usize> = (0..errors.len()).collect();
        order.sort_by(|&i, &j| errors[j].total_cmp(&errors[i]));
        let omegas = order.iter().map(|&at| probes.response.omegas_rad_s[at]);
        let picked: Vec<f64> =
            omegas.filter(|&omega| !known.has(omega)).take(CHECKS.min(known.room())).collect();
        known.solver.extend(&mut known.response, &picked)?;
        let (error, rich_error) = (known.error(&candidate)?, known.error(&rich.model)?);
        let trusted = rich_error <= TRUSTED * wish.relative;
        if !trusted && !last {
            return Ok(None);
        }
        rounds += 1;
        if error <= wish.relative {
            if trusted || picked.is_empty() || rounds >= ROUNDS {
                let held = Held {
                    factors: known.response.omegas_rad_s.len(),
                    error,
                    probes: errors.len(),
                    estimate: largest(&errors),
                    rich_error,
                    rich_modes: found - rigid,
                };
                return Ok(Some((modes, held)));
            }
        } else {
            rounds = 0;
            if modes == found || picked.is_empty() {
                return Ok(None);
            }
        }
    }
}

/// The fewest modes that keep to the limit at every known frequency and probe.
fn fewest(
    rich: &ReducedModel,
    known: &Known<'_>,
    probes: &Probes,
    relative: f64,
    rigid: usize,
) -> Result<usize, ReductionError> {
    let holds = |modes: usize| -> Result<bool, ReductionError> {
        let model = rich.truncated(modes);
        Ok(known.error(&model)? <= relative
            && largest(&probes.errors(&model, &known.scale)?) <= MARGIN * relative)
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

/// The richer model's response wherever a smaller one may go wrong.
struct Probes {
    response: Response,
}

impl Probes {
    /// Resonances, their flanks, what lies between them, and antiresonances.
    fn of(rich: &ReducedModel, band_rad_s: f64, scale: &Scale) -> Result<Self, ReductionError> {
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
        let mut probes = Self { response: Response::of_model(rich, rich.interface, &omegas)? };
        // Where the response is smaller than at both neighbours it has a minimum.
        let sizes = probes.response.sizes(scale);
        let mut valleys = Vec::new();
        for k in 1..sizes.len().saturating_sub(1) {
            if sizes[k] < sizes[k - 1] && sizes[k] < sizes[k + 1] {
                valleys.push(deepest(rich, scale, omegas[k - 1], omegas[k + 1])?);
            }
        }
        probes.add(rich, &valleys)?;
        Ok(probes)
    }

    /// Adds frequencies that are not there yet; says whether there were any.
    fn add(&mut self, rich: &ReducedModel, omegas: &[f64]) -> Result<bool, ReductionError> {
        let known = &self.response.omegas_rad_s;
        let is_new =
            |omega: &&f64| known.iter().all(|known| (known - **omega).abs() > SAME * **omega);
        let fresh: Vec<f64> = omegas.iter().filter(is_new).copied().collect();
        let response = Response::of_model(rich, rich.interface, &fresh)?;
        self.response.omegas_rad_s.extend(response.omegas_rad_s);
        self.response.receptances.extend(response.receptances);
        Ok(!fresh.is_empty())
    }

    fn errors(&self, model: &ReducedModel, scale: &Scale) -> Result<Vec<f64>, ReductionError> {
        let own = Response::of_model(model, model.interface, &self.response.omegas_rad_s)?;
        Ok(own.errors_by(&self.response, scale))
    }
}

/// Where the response between two frequencies is smallest, by golden section.
fn deepest(
    model: &ReducedModel,
    scale: &Scale,
    mut from: f64,
    mut to: f64,
) -> Result<f64, ReductionError> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let size = |omega: f64| -> Result<f64, ReductionError> {
        Ok(Response::of_model(model, model.interface, &[omega])?.sizes(scale)[0])
    };
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
fn resonances(model: &ReducedModel, band_rad_s: f64) -> Result<Vec<f64>, ReductionError> {
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
