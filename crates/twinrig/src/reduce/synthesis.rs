//! `twinrig reduce` with a method that gives no M, C and K at DOFs.

use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::path::Path;

use model::error::ModelError;
use model::reduction::ReductionError;
use model::reduction::response::{Response, Spread, band};
use model::reduction::state_space::{StateModel, least_hermitian};
use model::reduction::trust::{Acceptance, Verdict, eigenvalue_spread};
use nalgebra::{Complex, DMatrix};
use serde_json::{Value, json};

use super::files::npy;
use super::page::curve;
use crate::assembly::{Synthesis, SynthesisModel, ground};
use crate::error::Error;
use crate::page::Grade;
use crate::reduction_page;
use crate::run_folder::write_files;
use crate::words::number;
use experiment::ReductionSpec;
use experiment::reduction::{ModeSpec, ReductionMethod, Unstable};

/// Frequencies of the reduced model's curve, at which its passivity is judged.
const FINE: usize = 800;
/// A resistance below this part of the mobility is negative beyond rounding.
const NOISE: f64 = -1e-9;

/// All that was found.
pub struct Judged {
    pub(super) title: String,
    method: &'static str,
    made: Synthesis,
    band_rad_s: f64,
    full: Response,
    errors: Vec<f64>,
    spread: Spread,
    eigenvalues: Option<Spread>,
    verdict: Verdict,
    /// The reduced response over the whole band.
    fine: Response,
    /// Where the boundary takes least energy, and how much of the mobility that is.
    resistance: Option<(f64, f64)>,
}

impl Judged {
    pub(super) fn new(
        title: &str,
        spec: &ReductionSpec,
        made: Synthesis,
        points: usize,
    ) -> Result<Self, ReductionError> {
        let highest = made.kept().into_iter().fold(0.0, f64::max);
        let end = spec.band_rad_s().unwrap_or(match spec.modes {
            ModeSpec::CutOff { cut_off_hz, .. } => TAU * cut_off_hz,
            _ if highest > 0.0 => highest,
            // No mode swings.
            _ => TAU,
        });
        let omegas = super::grid(end, points, &made.kept());
        let full =
            Response::of_component(&made.component, &made.boundary[..made.interface], &omegas)?;
        let own = response(&made, &omegas)?;
        let errors = own.errors(&full);
        let none = ModelError::WrongCount { what: "frequencies", given: 0, expected: 1 };
        let spread = Spread::of(&errors).ok_or(ReductionError::Model(none))?;
        let own = made.eigenvalues()?;
        let eigenvalues = match made.model {
            SynthesisModel::Dual(_) => None,
            SynthesisModel::States(_) => {
                eigenvalue_spread(&made.component, || Ok(own.clone()), end)?
            }
        };
        let verdict = Verdict::of_eigenvalues(&own);
        let mut omegas = band(end, FINE);
        omegas.extend(&full.omegas_rad_s);
        omegas.sort_by(f64::total_cmp);
        let fine = response(&made, &omegas)?;
        let resistances = fine.omegas_rad_s.iter().zip(&fine.receptances);
        let resistances = resistances.map(|(&omega, h)| {
            (omega, least_hermitian(&h.map(|value| value * Complex::new(0.0, omega))))
        });
        let resistance = resistances.min_by(|a, b| a.1.total_cmp(&b.1));
        let method = match spec.method {
            ReductionMethod::DualCraigBampton => "dual_craig_bampton",
            _ => "state_space",
        };
        let title = title.to_owned();
        Ok(Self {
            title,
            method,
            made,
            band_rad_s: end,
            full,
            errors,
            spread,
            eigenvalues,
            verdict,
            fine,
            resistance,
        })
    }

    pub(super) fn is_stable(&self) -> bool {
        self.verdict.is_stable()
    }

    pub(super) fn offenders(&self) -> String {
        self.verdict.offenders()
    }

    fn words(&self) -> String {
        if !self.is_stable() {
            return format!("UNSTABLE: {}", self.offenders());
        }
        match self.resistance {
            Some((omega, least)) if least < NOISE => format!(
                "stable, not passive: at {} Hz it gives {:.1e} of what it is moved with",
                number(omega / TAU),
                -least
            ),
            _ => format!("stable, and passive at {} frequencies", self.fine.omegas_rad_s.len()),
        }
    }

    pub(super) fn rows(&self) -> Vec<(String, String)> {
        let made = &self.made;
        let percent = |value: f64| format!("{} %", number(100.0 * value));
        let (n, states) = (made.component.size(), made.states());
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
        row("method", self.method.to_owned());
        row("states", format!("{} → {states}", 2 * n));
        let further = made.boundary.len() - made.interface;
        row("DOFs that stay", format!("{} at the interface, {further} elsewhere", made.interface));
        match &made.model {
            SynthesisModel::States(reduction) => {
                let StateModel { kept, rigid_modes, state_rigid_modes, .. } = &reduction.model;
                let real = kept.iter().filter(|value| value.im == 0.0).count();
                row("modes kept", format!("{}, {real} of them real", kept.len()));
                if *rigid_modes > 0 {
                    let text = format!("{rigid_modes}, {state_rigid_modes} states");
                    row("rigid-body modes", text);
                }
            }
            SynthesisModel::Dual(dual) => {
                row("modes kept", (dual.matrices.mass.nrows() - dual.forces).to_string());
                row("forces at the interface", dual.forces.to_string());
            }
        }
        row("time of the reduction", format!("{} s", number(made.seconds)));
        let points = self.errors.len();
        row("compared up to", format!("{} Hz, {points} points", number(self.band_rad_s / TAU)));
        if let Some(spread) = &self.eigenvalues {
            row("eigenvalue error, worst", percent(spread.max));
            row("eigenvalue error, median", percent(spread.median));
        }
        row("interface response error, worst", percent(self.spread.max));
        row("… at", format!("{} Hz", number(self.full.omegas_rad_s[self.spread.worst] / TAU)));
        row("interface response error, median", percent(self.spread.median));
        row("reduced model", self.words());
        let stepped = match &made.model {
            SynthesisModel::States(_) => {
                "stepped as it is, by exact, newmark, implicit_euler or rk4"
            }
            SynthesisModel::Dual(_) => "not stepped: this is for a look, and for other programs",
        };
        row("in the loop", stepped.to_owned());
        rows
    }

    pub(super) fn document(&self) -> Value {
        let made = &self.made;
        let spread = |spread: &Spread| json!({ "max": spread.max, "median": spread.median });
        let own = made.eigenvalues().unwrap_or_default();
        json!({
            "title": self.title,
            "method": self.method,
            "dofs_before": made.component.size(),
            "states_before": 2 * made.component.size(),
            "states_after": made.states(),
            "interface_dofs": made.interface,
            "retained": made.names,
            "reduction_s": made.seconds,
            "band_hz": self.band_rad_s / TAU,
            "points": self.errors.len(),
            "eigenvalues": own.iter().map(|value| [value.re, value.im]).collect::<Vec<_>>(),
            "eigenvalue_error": self.eigenvalues.as_ref().map(spread),
            "response_error": spread(&self.spread),
            "worst_hz": self.full.omegas_rad_s[self.spread.worst] / TAU,
            "stable": self.is_stable(),
            "growing": self.verdict.growing.iter().map(|v| [v.re, v.im]).collect::<Vec<_>>(),
            "least_resistance": self.resistance.map(|(omega, least)| {
                json!({ "frequency_hz": omega / TAU, "of_mobility": least })
            }),
            "verdict": self.words(),
        })
    }

    fn page(&self) -> String {
        let banner = if !self.is_stable() {
            (Grade::Bad, "Unstable", self.words())
        } else if self.spread.max > reduction_page::DOUBTFUL {
            (Grade::Doubtful, "Look at the error", self.words())
        } else if self.resistance.is_some_and(|(_, least)| least < NOISE) {
            (Grade::Doubtful, "Not passive", self.words())
        } else {
            (Grade::Good, "True at the interface", self.words())
        };
        let shown = 0..self.made.interface.min(reduction_page::DRAWN);
        let hertz = self.full.omegas_rad_s.iter().map(|omega| omega / TAU);
        let states = format!("{} → {}", 2 * self.made.component.size(), self.made.states());
        let largest = format!("{} %", number(100.0 * self.spread.max));
        let facts = [("States", states), ("Largest error", largest)];
        let page = reduction_page::ReductionPage {
            title: self.title.clone(),
            verdict: banner,
            facts: facts.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            rows: self.rows(),
            band_hz: self.band_rad_s / TAU,
            largest_error: self.spread.max,
            responses: shown.map(|dof| [curve(&self.full, dof), curve(&self.fine, dof)]).collect(),
            errors: hertz.zip(self.errors.iter().copied()).collect(),
            histories: Vec::new(),
        };
        page.page().html()
    }

    /// Writes everything into a folder; gives the names.
    pub(super) fn write(&self, folder: &Path, spec: &ReductionSpec) -> Result<Vec<String>, Error> {
        let mut files: Vec<(&str, Vec<u8>)> = Vec::new();
        let made = &self.made;
        match &made.model {
            SynthesisModel::States(reduction) => {
                let model = &reduction.model;
                files.extend([("state_c.npy", npy(&model.c)), ("state_d.npy", npy(&model.d))]);
                let acceptance = match spec.unstable {
                    Unstable::Refuse => Acceptance::StableOnly,
                    Unstable::Accept => Acceptance::Any,
                };
                if let Ok((a, b)) = model.first_order(acceptance) {
                    files.extend([("a.npy", npy(&a)), ("b.npy", npy(&b))]);
                }
                let ground = ground(&made.component, reduction);
                let ground = DMatrix::from_column_slice(ground.len(), 1, ground.as_slice());
                files.push(("ground.npy", npy(&ground)));
                if !made.monitored.is_empty() {
                    let rows = reduction.right.select_rows(&made.monitored);
                    files.push(("recovery.npy", npy(&rows)));
                }
            }
            SynthesisModel::Dual(dual) => files.extend([
                ("mass.npy", npy(&dual.matrices.mass)),
                ("damping.npy", npy(&dual.matrices.damping)),
                ("stiffness.npy", npy(&dual.matrices.stiffness)),
            ]),
        }
        files.push(("coordinates.csv", self.coordinates().into_bytes()));
        files.push(("summary.json", format!("{:#}\n", self.document()).into_bytes()));
        files.push(("report.html", self.page().into_bytes()));
        write_files(folder, files)
    }

    /// What each row and column of the matrices is.
    fn coordinates(&self) -> String {
        let made = &self.made;
        let mut text = "coordinate,what,name,dof\n".to_owned();
        let mut at = 0;
        let mut line = |what: &str, name: &str, dof: Option<usize>| {
            at += 1;
            let dof = dof.map_or(String::new(), |dof| (dof + 1).to_string());
            let _ = writeln!(text, "{at},{what},\"{}\",{dof}", name.replace('"', "\"\""));
        };
        match &made.model {
            SynthesisModel::States(reduction) => {
                for what in ["displacement", "velocity"] {
                    for (name, &dof) in made.names.iter().zip(&made.boundary) {
                        line(what, name, Some(dof));
                    }
                }
                for _ in 2 * made.boundary.len()..reduction.model.states() {
                    line("amplitude", "", None);
                }
            }
            SynthesisModel::Dual(dual) => {
                for _ in 0..dual.matrices.mass.nrows() - dual.forces {
                    line("amplitude", "", None);
                }
                for (name, &dof) in made.names.iter().zip(&made.boundary) {
                    line("force", name, Some(dof));
                }
            }
        }
        text
    }
}

fn response(made: &Synthesis, omegas: &[f64]) -> Result<Response, ReductionError> {
    Response::new(omegas.to_vec(), |omega| {
        let singular = ReductionError::Sparse(numerics::sparse::SparseError::Singular);
        made.receptance(omega).ok_or(singular)
    })
}
