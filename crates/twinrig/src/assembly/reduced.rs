//! From a structure in full to the small one that is simulated.

use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use model::error::MatrixName;
use model::reduction::trust::Acceptance;
use model::reduction::{
    Component, Dampers, ErrorTarget, Facts, Method, ModeChoice, Recipe, ReducedModel, Reduction,
    ReductionError, reduce,
};
use model::structure::{DofKind, Structure};
use numerics::eigen;
use numerics::second_order::SecondOrder;

use serde::{Deserialize, Serialize};

use super::cache::Digest;
use super::full::FullModel;
use super::store::SignalStore;
use super::structure::Builder;
use experiment::reduction::{ModeSpec, ReductionMethod, Unstable};
use experiment::structure::{self as declared, MatrixTable};
use experiment::{
    DampingSource, Diagnostic, DofLabel, DofRef, Interface, NodeRef, ReductionSpec,
    StructureSource, Whole,
};

/// Frequencies of the full model looked at first where an error is asked for.
const ERROR_POINTS: usize = 24;
/// Changes whenever the same recipe gives another model.
const METHODS: &str = "4";
/// Most modes tried then.
const ERROR_MODES: usize = 400;

/// A structure made small, with all that the file calls by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reduced {
    /// The small model.
    pub model: ReducedModel,
    /// What the reduction cost and found.
    pub facts: Facts,
    /// Seconds it took.
    pub seconds: f64,
    /// Names of the DOFs that stayed.
    pub names: Vec<String>,
    /// What they move along.
    pub kinds: Vec<DofKind>,
    /// Names of the monitored DOFs.
    pub monitored: Vec<String>,
    /// Every way in which the file calls a DOF, and which one that is.
    pub labels: Vec<(DofLabel, usize)>,
    /// Digest of all that it came from.
    pub key: u128,
}

impl Reduced {
    /// Coordinate of what the file calls a DOF.
    pub(super) fn resolve(&self, dof: &DofRef) -> Result<usize, Diagnostic> {
        resolve_kept(dof, &self.labels, &self.model.boundary)
    }

    /// End of the band in which the model is judged, rad/s.
    pub fn band_rad_s(&self, spec: &ReductionSpec) -> f64 {
        spec.band_rad_s().unwrap_or(match spec.modes {
            ModeSpec::CutOff { cut_off_hz, .. } => TAU * cut_off_hz,
            _ => self.highest_rad_s(),
        })
    }

    /// The fastest mode that was kept; without any, that of the reduced model.
    fn highest_rad_s(&self) -> f64 {
        let kept = self.model.omega_rad_s.iter().copied().fold(0.0, f64::max);
        if kept > 0.0 {
            return kept;
        }
        let own = eigen::symmetric_modes(&self.model.matrices.stiffness, &self.model.matrices.mass);
        let own = own.map_or(0.0, |modes| modes.omega_rad_s.iter().copied().fold(0.0, f64::max));
        if own > 0.0 { own } else { TAU }
    }
}

/// Whether the file accepts an unstable model.
pub(crate) fn acceptance(spec: &ReductionSpec) -> Acceptance {
    match spec.unstable {
        Unstable::Refuse => Acceptance::StableOnly,
        Unstable::Accept => Acceptance::Any,
    }
}

/// Position among the DOFs that stayed of what the file calls a DOF.
pub(super) fn resolve_kept(
    dof: &DofRef,
    labels: &[(DofLabel, usize)],
    boundary: &[usize],
) -> Result<usize, Diagnostic> {
    let found = labels.iter().find(|(label, _)| *label == dof.label);
    let place = found.and_then(|(_, full)| boundary.iter().position(|kept| kept == full));
    place.ok_or_else(|| {
        Diagnostic::error(format!("DOF {dof} did not stay in the reduced model"))
            .at(dof.span.clone())
            .remedy("list it under `retain` in [reduction]")
    })
}

/// The recipe that the file asks for, and what every reference in it means.
pub(crate) struct Wanted {
    pub(crate) recipe: Recipe,
    pub(super) labels: Vec<(DofLabel, usize)>,
    /// Names in the order of the references.
    monitored: Vec<String>,
}

impl Wanted {
    /// What the file calls a DOF of the full model, or else its own name.
    pub(super) fn name(&self, full: &FullModel, dof: usize) -> String {
        let labels = self.labels.iter().filter(|(_, known)| *known == dof);
        let mut names = labels.filter_map(|(label, _)| match label {
            DofLabel::Name(name) => Some(name.clone()),
            DofLabel::Number(_) => None,
        });
        names.next().unwrap_or_else(|| full.name(dof))
    }
}

impl Builder<'_> {
    /// The structure, reduced as the file asks for, from memory, from the cache,
    /// or now.
    pub(super) fn reduced(&mut self, spec: &ReductionSpec) -> Option<(Arc<Reduced>, Structure)> {
        let key = self.digest(spec)?;
        let store = self.store;
        let reduced = match store.reduced(key) {
            Some(known) => known,
            None => {
                let full = self.full_model()?;
                let (reduced, _) = self.reduce_now(spec, &full, key)?;
                store.keep_reduced(reduced)
            }
        };
        let structure = self.small_structure(spec, &reduced)?;
        Some((reduced, structure))
    }

    /// The full model beside the reduced one.
    pub(super) fn examined(&mut self, spec: &ReductionSpec) -> Option<Examined> {
        let key = self.digest(spec)?;
        let full = self.full_model()?;
        let (reduced, recipe) = self.reduce_now(spec, &full, key)?;
        self.store.keep_reduced(reduced.clone());
        let monitored_kinds = recipe.monitored.iter().map(|&dof| full.kind(dof)).collect();
        Some(Examined { component: full.component, reduced, recipe, monitored_kinds })
    }

    /// Reduces a full model, whatever is known already.
    pub(super) fn reduce_now(
        &mut self,
        spec: &ReductionSpec,
        full: &FullModel,
        key: u128,
    ) -> Option<(Reduced, Recipe)> {
        let wanted = self.wanted(spec, full)?;
        let begun = Instant::now();
        let SecondOrder { stiffness, damping, .. } = &full.component.matrices;
        // Of a stiffness that is not symmetric the reduction tells itself.
        if let (None, Some(pair)) = (stiffness.worst_asymmetry(), damping.worst_asymmetry()) {
            let error = ReductionError::NotSymmetric { matrix: MatrixName::Damping, pair };
            return self.keep(Err(error), "reduction");
        }
        let reduction = self.keep(reduce(&full.component, &wanted.recipe), "reduction")?;
        let Reduction { model, facts, basis } = reduction;
        drop(basis);
        let names = model.boundary.iter().map(|&dof| wanted.name(full, dof)).collect();
        let kinds = model.boundary.iter().map(|&dof| full.kind(dof)).collect();
        let reduced = Reduced {
            names,
            kinds,
            facts,
            seconds: begun.elapsed().as_secs_f64(),
            monitored: wanted.monitored,
            labels: wanted.labels,
            model,
            key,
        };
        Some((reduced, wanted.recipe))
    }

    /// The reduced model as a structure like any other.
    fn small_structure(&mut self, spec: &ReductionSpec, reduced: &Reduced) -> Option<Structure> {
        let model = &reduced.model;
        let name = |dof: usize| {
            model.coordinate(dof).map_or_else(|_| String::new(), |at| reduced.names[at].clone())
        };
        let structure = self.keep(model.structure(name, self.acceptance(spec)), "reduction")?;
        if model.omega_rad_s.iter().all(|&omega| omega == 0.0) {
            self.warn_of_no_mode(spec);
        }
        let mut kinds = reduced.kinds.clone();
        kinds.resize(model.size(), DofKind::Translation);
        // Rotations of a reduced model may well follow the ground: T decides.
        let influence = structure.influence.clone();
        let structure = self.keep(structure.with_kinds(kinds), "reduction")?;
        self.keep(structure.with_influence(influence), "reduction")
    }

    /// Whether an unstable model is accepted. A component alone may well be unstable, as a rotor with
    /// a seal is without its bearings: the whole is judged.
    pub(super) fn acceptance(&self, spec: &ReductionSpec) -> Acceptance {
        if self.piece.is_some() { Acceptance::Any } else { acceptance(spec) }
    }

    /// Says that the cut-off leaves no mode.
    pub(super) fn warn_of_no_mode(&mut self, spec: &ReductionSpec) {
        if let ModeSpec::CutOff { cut_off_hz, .. } = spec.modes {
            let message = format!(
                "no mode lies below the cut-off of {cut_off_hz:.4} Hz: only static shapes are left"
            );
            let remedy = "raise it to twice the highest frequency you care for";
            let warning = Diagnostic::warning(message).remedy(remedy);
            let placed = self.placed("reduction.cut_off", warning);
            self.found.push(placed);
        }
    }

    /// What the file asks for, in DOFs of the full model.
    pub(super) fn wanted(&mut self, spec: &ReductionSpec, full: &FullModel) -> Option<Wanted> {
        let mut labels: Vec<(DofLabel, usize)> = Vec::new();
        let mut wrong = Vec::new();
        let mut find = |refs: &[DofRef]| -> Vec<usize> {
            let mut found = Vec::new();
            for dof in refs {
                match full.resolve(dof) {
                    Ok(index) => {
                        if !labels.iter().any(|(label, _)| *label == dof.label) {
                            labels.push((dof.label.clone(), index));
                        }
                        found.push(index);
                    }
                    Err(error) => wrong.push(error),
                }
            }
            found
        };
        let References { interface, loaded } = self.references();
        let interface = find(&interface);
        let mut retained = find(&loaded);
        retained.extend(find(&spec.retain));
        let monitored = find(&spec.monitor);
        if !wrong.is_empty() {
            self.found.extend(wrong);
            return None;
        }
        let modes = match spec.modes {
            ModeSpec::CutOff { cut_off_hz, .. } => {
                ModeChoice::CutOff { omega_rad_s: TAU * cut_off_hz }
            }
            ModeSpec::Number { modes, .. } => ModeChoice::Number(modes),
            ModeSpec::Error { error: relative, band_hz } => {
                ModeChoice::InterfaceError(ErrorTarget {
                    relative,
                    band_rad_s: TAU * band_hz,
                    points: ERROR_POINTS,
                    most: ERROR_MODES,
                })
            }
        };
        let method = match spec.method {
            ReductionMethod::CraigBampton => Method::CraigBampton,
            ReductionMethod::ModesOnly => Method::ModesOnly,
            // The others have recipes of their own.
            _ => Method::Rubin,
        };
        let names = spec.monitor.iter().map(ToString::to_string).collect();
        let dampers = Dampers::Found;
        let recipe = Recipe { method, modes, interface, retained, dampers, monitored };
        Some(Wanted { recipe, labels, monitored: names })
    }

    /// Every DOF that must stay.
    fn references(&self) -> References {
        if let Some(piece) = &self.piece {
            return References { interface: piece.ports.clone(), loaded: Vec::new() };
        }
        let experiment = self.experiment;
        let ends = experiment.partition.interface.iter().flat_map(Interface::ends);
        let interface = ends.filter_map(|end| end.dof().cloned()).collect();
        let ends = experiment.elements().into_iter().flat_map(|element| element.between);
        let mut loaded: Vec<DofRef> = ends.filter_map(|end| end.dof().cloned()).collect();
        loaded.extend(experiment.excitation.forces.iter().map(|force| force.dof.clone()));
        References { interface, loaded }
    }

    /// A digest of everything that the reduced model depends on.
    pub(super) fn digest(&mut self, spec: &ReductionSpec) -> Option<u128> {
        let mut digest = Digest::default();
        digest.bytes(env!("CARGO_PKG_VERSION").as_bytes());
        digest.bytes(METHODS.as_bytes());
        let mut text = String::new();
        let _ = write!(
            text,
            "{:?} {:?} {:?} {:?} {:?} {:?}",
            spec.method,
            spec.modes,
            spec.band_rad_s(),
            spec.completion,
            spec.unstable,
            ERROR_POINTS,
        );
        match (&self.piece, &self.experiment.whole) {
            (None, Whole::Components(components)) => {
                let _ = write!(text, "{components:?}");
                for (index, component) in components.components.iter().enumerate() {
                    let base = format!("component[{}]", index + 1);
                    self.digest_files(&component.structure, &base, &mut digest)?;
                }
            }
            _ => {
                describe(self.declared(), &mut text);
                let supports = self.piece.as_ref().map(|piece| &piece.declared.supports);
                let held = supports.into_iter().flatten().map(|dof| &dof.label);
                let _ = write!(text, "{:?}", held.collect::<Vec<_>>());
                self.digest_files(self.declared(), "structure", &mut digest)?;
            }
        }
        let References { interface, loaded } = self.references();
        for list in [&interface, &loaded, &spec.retain, &spec.monitor] {
            let labels: Vec<&DofLabel> = list.iter().map(|dof| &dof.label).collect();
            let _ = write!(text, " {labels:?}");
        }
        digest.bytes(text.as_bytes());
        Some(digest.finish())
    }

    /// The contents of the matrix files of a structure.
    fn digest_files(
        &mut self,
        declared: &declared::Structure,
        base: &str,
        digest: &mut Digest,
    ) -> Option<()> {
        let mut files = Vec::new();
        if let StructureSource::Matrices { mass, stiffness } = &declared.source {
            files.extend([(mass, "mass"), (stiffness, "stiffness")]);
        }
        if let Some(DampingSource::Matrix(damping)) = &declared.damping {
            files.push((damping, "damping"));
        }
        for (source, key) in files {
            let Some(name) = source.whole().and_then(MatrixTable::file) else { continue };
            self.input(name, &format!("{base}.{key}"), |bytes| {
                digest.bytes(bytes);
                Ok(())
            })?;
        }
        Some(())
    }
}

/// What a structure in one piece is declared to be.
fn describe(declared: &declared::Structure, text: &mut String) {
    let _ = write!(
        text,
        "{:?} {:?} {:?} {:?} {:?}",
        declared.source, declared.damping, declared.names, declared.influence, declared.points,
    );
    for link in &declared.links {
        let [from, to] = &link.between;
        let ends = (shown(from), shown(to));
        let _ = write!(text, " {ends:?} {:?}", (link.stiffness, link.damping, link.mass));
    }
}

struct References {
    interface: Vec<DofRef>,
    /// Ends of nonlinear elements and DOFs under forces.
    loaded: Vec<DofRef>,
}

fn shown(node: &NodeRef) -> String {
    match node {
        NodeRef::Ground => "ground".to_owned(),
        NodeRef::Dof(dof) => format!("{:?}", dof.label),
    }
}

/// A reduction to be looked at: the full model beside the reduced one.
pub struct Examined {
    /// The full model.
    pub component: Component,
    /// The reduced one.
    pub reduced: Reduced,
    /// How it was made.
    pub recipe: Recipe,
    /// What the monitored DOFs move along.
    pub monitored_kinds: Vec<DofKind>,
}

/// What became of a large structure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReductionFacts {
    /// DOFs of the full structure.
    pub dofs_before: usize,
    /// DOFs of the reduced one.
    pub dofs_after: usize,
    /// Names of the DOFs that stay.
    pub retained: Vec<String>,
    /// Modes that are kept.
    pub modes: usize,
    /// Time of the reduction.
    pub seconds: f64,
    /// Whether it was made before.
    pub from_cache: bool,
    /// Digest of what it came from.
    pub key: String,
    /// Whether it is kept for the next time.
    #[serde(skip)]
    pub kept: bool,
}

impl ReductionFacts {
    pub(crate) fn of(reduced: &Reduced, store: &SignalStore) -> Self {
        Self {
            dofs_before: reduced.facts.full_size,
            dofs_after: reduced.model.size(),
            retained: reduced.names.clone(),
            modes: reduced.model.omega_rad_s.len(),
            seconds: reduced.seconds,
            from_cache: store.reused(),
            key: format!("{:032x}", reduced.key),
            kept: store.kept(),
        }
    }
}
