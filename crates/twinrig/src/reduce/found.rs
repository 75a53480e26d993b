//! A reduced model beside the full one: what was kept, how far it is off, whether it is
//! stable.

use std::f64::consts::TAU;
use std::time::Instant;

use model::error::ModelError;
use model::reduction::response::{Response, Spread, band};
use model::reduction::state_space::{StateModel, least_hermitian};
use model::reduction::trust::{Comparison, Matching, Verdict, matched_eigenvalues};
use model::reduction::{ErrorEstimate, ReductionError};
use nalgebra::Complex;
use numerics::sparse::SparseError;
use serde::Serialize;

use super::full::{Small, full_response, in_band, off_antiresonances};
use super::history::History;
use crate::assembly::{Examined, Reduced, Synthesis, SynthesisModel};
use crate::fit::Cost;
use crate::verdict;
use crate::words::number;
use experiment::reduction::{ModeSpec, ReductionMethod};
use experiment::{Experiment, ReductionSpec, VerdictSpec};

/// Frequencies of the reduced model's curve, at which the passivity of a model of
/// states is judged.
const FINE: usize = 800;
/// A resistance below this part of the mobility is negative beyond rounding.
const NOISE: f64 = -1e-9;

/// What was found of a reduced model; serialised, its summary.
#[derive(Serialize)]
pub struct Found {
    /// How far the model can be trusted.
    pub verdict: verdict::Verdict,
    /// What the test is about.
    pub title: String,
    method: &'static str,
    dofs_before: usize,
    pub(super) states_before: usize,
    pub(super) states_after: usize,
    pub(super) interface_dofs: usize,
    /// Names of the DOFs that stay, the interface first.
    retained: Vec<String>,
    reduction_s: f64,
    pub(super) band_hz: f64,
    points: usize,
    eigenvalue_error: Option<Spread>,
    /// Modes of the full model in the band, and the frequencies of those that are lacking.
    modes_in_band: Option<usize>,
    lacking_hz: Vec<f64>,
    pub(super) response_error: Spread,
    worst_hz: f64,
    pub(super) stable: bool,
    /// Stable? Passive? In words.
    pub(super) stability: String,
    /// The largest error where the response is not far below its median, an antiresonance.
    pub(super) error_off_antiresonances: f64,
    #[serde(skip)]
    pub(super) thresholds: VerdictSpec,
    #[serde(flatten)]
    pub(super) model: Model,
    #[serde(skip)]
    pub(super) compared: Compared,
}

/// What there is beside, by the form of the model.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Model {
    /// M, C and K at DOFs.
    Matrices(Box<Matrices>),
    /// States, or modes and forces.
    States(States),
}

/// A model with M, C and K at DOFs.
#[derive(Serialize)]
pub(super) struct Matrices {
    dofs_after: usize,
    damper_dofs: Vec<usize>,
    damping: String,
    held: Option<ErrorEstimate>,
    pub(super) modes_hz: Vec<f64>,
    rigid_modes: usize,
    matrix_bytes: usize,
    factor_bytes: usize,
    vector_bytes: usize,
    comparison_s: f64,
    /// How far the undamped natural frequencies are off, of a full model too large for its
    /// eigenvalues.
    frequency_error: Option<Spread>,
    effective_mass: f64,
    pub(super) passive: bool,
    step_p50_s: Option<f64>,
    pub(super) step_p99_s: Option<f64>,
    pub(super) period_s: f64,
    /// Both in time, if that was asked for.
    pub(super) history: Option<History>,
    response: Vec<ResponseRow>,
}

impl Matrices {
    /// Adds what a step costs, and the motion in time.
    pub(super) fn ran(&mut self, step: Option<Cost>, history: Option<History>) {
        (self.step_p50_s, self.step_p99_s) =
            (step.map(|step| step.p50_s), step.map(|step| step.p99_s));
        self.history = history;
    }
}

/// Both receptances at a frequency, at every interface DOF itself.
#[derive(Serialize)]
struct ResponseRow {
    frequency_hz: f64,
    full_m_n: Vec<f64>,
    reduced_m_n: Vec<f64>,
    error: f64,
}

/// A model of states, or of modes and forces.
#[derive(Serialize)]
pub(super) struct States {
    eigenvalues: Vec<[f64; 2]>,
    growing: Vec<[f64; 2]>,
    least_resistance: Option<Resistance>,
    /// Rows about what was kept, and how the loop takes it.
    #[serde(skip)]
    rows: Rows,
    #[serde(skip)]
    in_loop: &'static str,
}

/// Where the boundary takes least energy, and how much of the mobility that is.
#[derive(Clone, Copy, Serialize)]
struct Resistance {
    frequency_hz: f64,
    of_mobility: f64,
}

impl States {
    /// Where the boundary gives energy, beyond rounding.
    pub(super) fn active(&self) -> bool {
        self.least_resistance.is_some_and(|least| least.of_mobility < NOISE)
    }
}

/// The responses at the interface.
pub(super) struct Compared {
    /// Of the full model.
    pub(super) full: Response,
    /// Of the reduced one at the same frequencies, and the relative error there.
    reduced: Response,
    pub(super) errors: Vec<f64>,
    /// Of the reduced one over the whole band.
    pub(super) fine: Response,
}

impl Compared {
    fn rows(&self) -> Vec<ResponseRow> {
        let sizes = |response: &Response, k: usize| {
            response.receptances[k].diagonal().iter().map(|h| h.norm()).collect()
        };
        let row = |k: usize| ResponseRow {
            frequency_hz: self.full.omegas_rad_s[k] / TAU,
            full_m_n: sizes(&self.full, k),
            reduced_m_n: sizes(&self.reduced, k),
            error: self.errors[k],
        };
        (0..self.errors.len()).map(row).collect()
    }
}

/// What a form of models says of itself: its modes beside those of the full one, whether it is
/// stable, that in words, and the rest.
type Judged = (Option<Matching>, bool, String, Model);

impl Found {
    fn new(
        experiment: &Experiment,
        small: Small<'_>,
        points: usize,
        judge: impl FnOnce(&Compared) -> Result<Judged, ReductionError>,
    ) -> Result<Self, ReductionError> {
        let (full, on_grid) = full_response(&small, points)?;
        let omegas = full.omegas_rad_s.clone();
        let reduced = (small.response)(&omegas)?;
        let errors = reduced.errors(&full);
        let none = ModelError::WrongCount { what: "frequencies", given: 0, expected: 1 };
        let of_grid = omegas.iter().zip(&errors).filter(|(omega, _)| on_grid.contains(omega));
        let of_grid = Spread::of(&of_grid.map(|(_, error)| *error).collect::<Vec<_>>());
        let closer = Spread::of(&errors).ok_or(none)?;
        // What was added near the worst is no sample of the band.
        let median = of_grid.map_or(closer.median, |spread| spread.median);
        let response_error = Spread { median, ..closer };
        let mut all = small.fine;
        all.extend(&omegas);
        all.sort_by(f64::total_cmp);
        let fine = (small.response)(&all)?;
        let compared = Compared { full, reduced, errors, fine };
        let (matching, stable, stability, model) = judge(&compared)?;
        let lacking = matching.iter().flat_map(|found| &found.lacking_rad_s);
        Ok(Self {
            verdict: verdict::Verdict::default(),
            title: experiment.title.clone(),
            method: small.method,
            dofs_before: small.component.size(),
            states_before: 2 * small.component.size(),
            states_after: small.states,
            interface_dofs: small.interface.len(),
            retained: small.names.to_vec(),
            reduction_s: small.seconds,
            band_hz: small.band_rad_s / TAU,
            points: omegas.len(),
            eigenvalue_error: matching.as_ref().and_then(|found| found.errors),
            modes_in_band: matching.as_ref().map(|found| found.modes),
            lacking_hz: lacking.map(|omega| omega / TAU).collect(),
            response_error,
            worst_hz: omegas[response_error.worst] / TAU,
            stable,
            stability,
            error_off_antiresonances: off_antiresonances(&compared.full, &compared.errors),
            thresholds: experiment.verdict,
            model,
            compared,
        })
    }

    /// Of a model with M, C and K at DOFs.
    pub(super) fn of_matrices(
        experiment: &Experiment,
        spec: &ReductionSpec,
        examined: &Examined,
        points: usize,
    ) -> Result<Self, ReductionError> {
        let begun = Instant::now();
        let Examined { component, reduced, recipe, .. } = examined;
        let Reduced { model, facts, names, seconds, .. } = reduced;
        let end = reduced.band_rad_s(spec);
        let small = Small {
            component,
            method: recipe.method.name(),
            names,
            interface: &model.boundary[..model.interface],
            states: model.states(),
            kept_rad_s: &model.omega_rad_s,
            held_rad_s: facts.held.map(|held| held.worst_rad_s),
            seconds: *seconds,
            band_rad_s: end,
            fine: (1..=FINE).map(|k| end * k as f64 / FINE as f64).collect(),
            response: &|omegas| Response::of_model(model, omegas),
        };
        Self::new(experiment, small, points, |compared| {
            let comparison = Comparison::new(component, model, &compared.full)?;
            let (matching, frequency_error) = match comparison.eigenvalues {
                Some(matching) => (Some(matching), None),
                None => {
                    let found = in_band(examined, end)?;
                    let error = found.as_ref().and_then(|found| found.errors);
                    (found.map(|found| Matching { errors: None, ..found }), error)
                }
            };
            let elastic = model.omega_rad_s.iter().filter(|&&omega| omega > 0.0);
            let verdict = &comparison.verdict;
            let matrices = Matrices {
                dofs_after: model.size(),
                damper_dofs: facts.damper_dofs.iter().map(|dof| dof + 1).collect(),
                damping: damping(examined),
                held: facts.held,
                modes_hz: elastic.map(|omega| omega / TAU).collect(),
                rigid_modes: facts.rigid_modes,
                matrix_bytes: facts.matrix_bytes,
                factor_bytes: facts.factor_bytes,
                vector_bytes: facts.vector_bytes,
                comparison_s: begun.elapsed().as_secs_f64(),
                frequency_error,
                effective_mass: comparison.effective_mass,
                passive: verdict.is_passive(),
                step_p50_s: None,
                step_p99_s: None,
                period_s: experiment.integrator.step_s(),
                history: None,
                response: compared.rows(),
            };
            let words = passivity(verdict);
            let model = Model::Matrices(Box::new(matrices));
            Ok((matching, verdict.is_stable(), words, model))
        })
    }

    /// Of a model of states, or of modes and forces.
    pub(super) fn of_synthesis(
        experiment: &Experiment,
        spec: &ReductionSpec,
        made: &Synthesis,
        points: usize,
    ) -> Result<Self, ReductionError> {
        let kept_rad_s = made.kept();
        let highest = kept_rad_s.iter().copied().fold(0.0, f64::max);
        let end = spec.band_rad_s().unwrap_or(match spec.modes {
            ModeSpec::CutOff { cut_off_hz, .. } => TAU * cut_off_hz,
            _ if highest > 0.0 => highest,
            // No mode swings.
            _ => TAU,
        });
        let response = |omegas: &[f64]| {
            Response::new(omegas.to_vec(), |omega| {
                made.receptance(omega).ok_or(ReductionError::Sparse(SparseError::Singular))
            })
        };
        let small = Small {
            component: &made.component,
            method: match spec.method {
                ReductionMethod::DualCraigBampton => "dual_craig_bampton",
                _ => "state_space",
            },
            names: &made.names,
            interface: &made.boundary[..made.interface],
            states: made.states(),
            kept_rad_s: &kept_rad_s,
            held_rad_s: None,
            seconds: made.seconds,
            band_rad_s: end,
            fine: band(end, FINE),
            response: &response,
        };
        Self::new(experiment, small, points, |compared| {
            let own = made.eigenvalues()?;
            let matching = match made.model {
                SynthesisModel::Dual(_) => None,
                SynthesisModel::States(_) => {
                    matched_eigenvalues(&made.component, || Ok(own.clone()), end)?
                }
            };
            let verdict = Verdict::of_eigenvalues(&own, made.rigid_states());
            let fine = &compared.fine;
            let resistances = fine.omegas_rad_s.iter().zip(&fine.receptances).map(|(&omega, h)| {
                let mobility = h.map(|value| value * Complex::new(0.0, omega));
                let of_mobility = least_hermitian(&mobility);
                Resistance { frequency_hz: omega / TAU, of_mobility }
            });
            let least = resistances.min_by(|a, b| a.of_mobility.total_cmp(&b.of_mobility));
            let words = match least {
                _ if !verdict.is_stable() => format!("UNSTABLE: {}", verdict.offenders()),
                Some(least) if least.of_mobility < NOISE => format!(
                    "stable, not passive: at {} Hz it gives {:.1e} of what it is moved with",
                    number(least.frequency_hz),
                    -least.of_mobility
                ),
                _ => format!("stable, and passive at {} frequencies", fine.omegas_rad_s.len()),
            };
            let pairs = |values: &[Complex<f64>]| values.iter().map(|v| [v.re, v.im]).collect();
            let (rows, in_loop) = synthesis_rows(&made.model);
            let states = States {
                eigenvalues: pairs(&own),
                growing: pairs(&verdict.growing),
                least_resistance: least,
                rows,
                in_loop,
            };
            Ok((matching, verdict.is_stable(), words, Model::States(states)))
        })
    }

    /// Quantity and value, for people.
    pub fn rows(&self) -> Rows {
        let percent = |value: f64| format!("{} %", number(100.0 * value));
        let mut rows = Rows::new();
        let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
        let matrices = match &self.model {
            Model::Matrices(matrices) => Some(matrices),
            Model::States(_) => None,
        };
        row("method", self.method.to_owned());
        if let Some(matrices) = matrices {
            row("DOFs", format!("{} → {}", self.dofs_before, matrices.dofs_after));
        }
        row("states", format!("{} → {}", self.states_before, self.states_after));
        let further = self.retained.len() - self.interface_dofs;
        let kept = format!("{} at the interface, {further} elsewhere", self.interface_dofs);
        row("DOFs that stay", kept);
        match &self.model {
            Model::Matrices(matrices) => matrices.kept(&mut row),
            Model::States(states) => states.rows.iter().for_each(|(n, v)| row(n, v.clone())),
        }
        row("time of the reduction", format!("{} s", number(self.reduction_s)));
        row("compared up to", format!("{} Hz, {} points", number(self.band_hz), self.points));
        if let Some(held) = matrices.and_then(|matrices| matrices.held) {
            let text =
                format!("{}, {} factors of the full model", percent(held.error), held.factors);
            row("error held, at most", text);
            let text = format!(
                "{}, {} frequencies of a model with {} modes",
                percent(held.estimate),
                held.probes,
                held.rich_modes
            );
            row("… and between, at most", text);
        }
        if let Some(spread) = &self.eigenvalue_error {
            row("eigenvalue error, worst", percent(spread.max));
            row("eigenvalue error, median", percent(spread.median));
        }
        if let Some(spread) = matrices.and_then(|matrices| matrices.frequency_error) {
            row("frequency error, worst", percent(spread.max));
        }
        if let Some(count) = self.modes_in_band {
            row("modes of the full model in the band", count.to_string());
        }
        if let Some(lacking) = self.lacking() {
            row("… the reduced model lacks", lacking);
        }
        row("interface response error, worst", percent(self.response_error.max));
        row("… at", format!("{} Hz", number(self.worst_hz)));
        row("interface response error, median", percent(self.response_error.median));
        if let Some(matrices) = matrices {
            row("effective mass", percent(matrices.effective_mass));
        }
        row("reduced model", self.stability.clone());
        match &self.model {
            Model::Matrices(matrices) => rows.extend(matrices.ran_rows()),
            Model::States(states) => row("in the loop", states.in_loop.to_owned()),
        }
        rows
    }
}

impl Found {
    /// The modes that the reduced model lacks, by their frequencies.
    pub(super) fn lacking(&self) -> Option<String> {
        const NAMED: usize = 5;
        let named =
            self.lacking_hz.iter().take(NAMED).map(|hertz| format!("{} Hz", number(*hertz)));
        let named = named.collect::<Vec<_>>().join(", ");
        let more = self.lacking_hz.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} further") } else { String::new() };
        (!named.is_empty()).then(|| format!("{}: {named}{more}", self.lacking_hz.len()))
    }

    /// The largest error of a mode that both models have.
    pub(super) fn mode_error(&self) -> Option<f64> {
        let frequencies = match &self.model {
            Model::Matrices(matrices) => matrices.frequency_error,
            Model::States(_) => None,
        };
        self.eigenvalue_error.or(frequencies).map(|spread| spread.max)
    }
}

/// Quantities and values.
type Rows = Vec<(String, String)>;

impl Matrices {
    /// What was kept, and what that took.
    fn kept(&self, row: &mut impl FnMut(&str, String)) {
        row("damping", self.damping.clone());
        let highest = self.modes_hz.iter().copied().fold(0.0, f64::max);
        row("modes kept", format!("{}, up to {} Hz", self.modes_hz.len(), number(highest)));
        if self.rigid_modes > 0 {
            row("rigid-body modes", self.rigid_modes.to_string());
        }
        let memory = self.matrix_bytes + self.factor_bytes + self.vector_bytes;
        row("memory of the reduction", format!("{:.1} MiB", memory as f64 / 1048576.0));
    }

    /// What a step takes, and the motion in time.
    fn ran_rows(&self) -> Rows {
        let mut rows = Rows::new();
        if let Some((p50_s, p99_s)) = self.step_p50_s.zip(self.step_p99_s) {
            let share = number(100.0 * p99_s / self.period_s);
            let [p50, p99, period] = [p50_s, p99_s, self.period_s].map(|time| number(1e6 * time));
            let text = format!("{p50} µs (p99 {p99} µs) of {period} µs: {share} %");
            rows.push(("a step takes".to_owned(), text));
        }
        rows.extend(self.history.iter().flat_map(History::rows));
        rows
    }
}

/// What was kept, and how the loop takes it.
fn synthesis_rows(model: &SynthesisModel) -> (Rows, &'static str) {
    let mut rows = Rows::new();
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    let in_loop = match model {
        SynthesisModel::States(reduction) => {
            let StateModel { kept, rigid_modes, state_rigid_modes, .. } = &reduction.model;
            let real = kept.iter().filter(|value| value.im == 0.0).count();
            row("modes kept", format!("{}, {real} of them real", kept.len()));
            if *rigid_modes > 0 {
                row("rigid-body modes", format!("{rigid_modes}, {state_rigid_modes} states"));
            }
            "stepped as it is, by exact, newmark, implicit_euler or rk4"
        }
        SynthesisModel::Dual(dual) => {
            row("modes kept", (dual.matrices.mass.nrows() - dual.forces).to_string());
            row("forces at the interface", dual.forces.to_string());
            "not stepped: this is for a look, and for other programs"
        }
    };
    (rows, in_loop)
}

/// What was made of the damping, in words.
fn damping(examined: &Examined) -> String {
    let facts = &examined.reduced.facts;
    match facts.damper_dofs.len() {
        _ if examined.component.matrices.damping.entries() == 0 => "none".to_owned(),
        _ if facts.spread_damping => "spread: no discrete dampers kept".to_owned(),
        0 => "αM + βK: no discrete dampers".to_owned(),
        1 => "one DOF with a discrete damper, kept".to_owned(),
        count => format!("{count} DOFs with discrete dampers, kept"),
    }
}

/// Stable? Passive? In words.
fn passivity(verdict: &Verdict) -> String {
    let active = verdict.active.iter();
    let active: Vec<String> = active
        .map(|(name, part)| format!("the {name} matrix takes {part:.1e} of its size away"))
        .collect();
    match (verdict.is_stable(), verdict.is_passive()) {
        (true, true) => "stable and passive".to_owned(),
        (true, false) => format!("stable, not passive: {}", active.join(", ")),
        (false, _) => format!("UNSTABLE: {}", verdict.offenders()),
    }
}
