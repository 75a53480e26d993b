//! From the declared structure and specimen to matrices.

use std::sync::Arc;

use model::element::{Element, Law};
use model::equations::{ConnectedElement, RelativeDof};
use model::error::{MatrixName, ModelError};
use model::partition::{InternalDofs, Partition};
use model::specimen::Specimen;
use model::structure::{self, BeamEnds, BeamSection, Ends, Structure, Support, damping};
use nalgebra::{DMatrix, DVector};
use numerics::second_order::SecondOrder;

use super::SignalStore;
use super::full::FullModel;
use super::reduced::Reduced;
use super::state_space::StateReduced;
use experiment::input;
use experiment::reduction::ReductionMethod;
use experiment::structure as declared;
use experiment::{
    DampingSource, Diagnostic, Diagnostics, DofRef, ElementSpec, Experiment, Interface,
    MatrixSource, NodeRef, OrShare, Source, SpecimenMass, SpecimenPlace, StructureSource, resolve,
};

/// Reads what the file declares and collects what is wrong with it.
pub(super) struct Builder<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) source: &'a dyn Source,
    pub(super) store: &'a SignalStore,
    pub(super) found: &'a mut Diagnostics,
    pub(super) origin: Origin,
}

/// What the structure that is simulated came from.
#[derive(Default)]
pub(super) enum Origin {
    /// It is the declared one.
    #[default]
    Itself,
    /// It is a mesh in full.
    Mesh(Box<FullModel>),
    /// It is a reduced one.
    Reduced(Arc<Reduced>),
    /// It is a reduced one of first order.
    States(Arc<StateReduced>),
}

impl Builder<'_> {
    /// The whole structure, reduced if the file asks for it.
    pub(super) fn structure(&mut self) -> Option<Structure> {
        if let Some(spec) = &self.experiment.reduction {
            match spec.method {
                ReductionMethod::StateSpace => return self.first_order(spec),
                ReductionMethod::DualCraigBampton => {
                    self.refuse_dual();
                    return None;
                }
                _ => {}
            }
            let (reduced, structure) = self.reduced(spec)?;
            self.origin = Origin::Reduced(reduced);
            return Some(structure);
        }
        if let StructureSource::Brick(_) | StructureSource::Frame(_) =
            self.experiment.structure.source
        {
            let full = self.full_model()?;
            let structure = self.keep(full.dense(), "structure")?;
            self.origin = Origin::Mesh(Box::new(full));
            return Some(structure);
        }
        self.plain_structure()
    }

    /// The index of what the file calls a DOF in the structure that is simulated.
    pub(super) fn resolve(&self, dof: &DofRef, structure: &Structure) -> Result<usize, Diagnostic> {
        match &self.origin {
            Origin::Itself => resolve(dof, &structure.names, structure.size()),
            Origin::Mesh(full) => full.resolve(dof),
            Origin::Reduced(reduced) => reduced.resolve(dof),
            Origin::States(reduced) => reduced.resolve(dof),
        }
    }

    /// The declared structure without its damping.
    pub(super) fn built(&mut self) -> Option<Structure> {
        let declared = &self.experiment.structure;
        let built = match &declared.source {
            StructureSource::Matrices { mass, stiffness } => {
                let mass = self.matrix(mass, "structure.mass");
                let stiffness = self.matrix(stiffness, "structure.stiffness");
                let (mass, stiffness) = (mass?, stiffness?);
                let none = DMatrix::zeros(mass.nrows(), mass.ncols());
                Structure::new(mass, none, stiffness)
            }
            StructureSource::ShearBuilding(building) => {
                let stiffness = building.stiffness();
                let damping = or_zeros(&building.damping(), stiffness.len());
                structure::shear_building(&building.mass(), &stiffness, &damping)
            }
            StructureSource::Chain(declared::Chain { mass, stiffness, damping, ends }) => {
                let damping = or_zeros(damping, stiffness.len());
                chain(mass, stiffness, &damping, *ends)
            }
            StructureSource::Beam(beam) => built_beam(beam),
            StructureSource::Brick(_) | StructureSource::Frame(_) => {
                unreachable!("meshes are built sparse")
            }
        };
        self.keep(built, "structure")
    }

    /// The structure as it is declared.
    fn plain_structure(&mut self) -> Option<Structure> {
        let declared = &self.experiment.structure;
        let built = self.built()?;
        let built = self.damped(built)?;
        let built = match &declared.names {
            names if names.is_empty() => built,
            names => self.keep(built.with_names(names.clone()), "structure.names")?,
        };
        let built = match &declared.influence {
            None => built,
            Some(influence) => {
                let influence = DVector::from_column_slice(influence);
                self.keep(built.with_influence(influence), "structure.influence")?
            }
        };
        self.linked(built)
    }

    /// With the springs, dampers and masses that the file adds.
    fn linked(&mut self, mut built: Structure) -> Option<Structure> {
        for link in &self.experiment.structure.links {
            let [from, to] = &link.between;
            let place = self.deformation(from, to, &built)?;
            let ends = [(place.from, -1.0), (place.to, 1.0)];
            for (i, a) in ends {
                for (j, b) in ends {
                    if let (Some(i), Some(j)) = (i, j) {
                        built.matrices.stiffness[(i, j)] += a * b * link.stiffness.unwrap_or(0.0);
                        built.matrices.damping[(i, j)] += a * b * link.damping.unwrap_or(0.0);
                    }
                }
            }
            if let Some(dof) = place.to {
                built.matrices.mass[(dof, dof)] += link.mass.unwrap_or(0.0);
            }
        }
        Some(built)
    }

    fn damped(&mut self, built: Structure) -> Option<Structure> {
        let (mass, stiffness) = (&built.matrices.mass, &built.matrices.stiffness);
        let matrix = match &self.experiment.structure.damping {
            None => return Some(built),
            Some(DampingSource::Modal(ratios)) => {
                // The last ratio serves all further modes.
                let mut ratios = ratios.clone();
                let last = ratios.last().copied().unwrap_or(0.0);
                ratios.resize(built.size().max(ratios.len()), last);
                damping::modal(mass, stiffness, &ratios)
            }
            Some(DampingSource::Rayleigh(declared::Rayleigh::Factors {
                mass_1_s,
                stiffness_s,
            })) => damping::rayleigh(mass, stiffness, *mass_1_s, *stiffness_s),
            Some(DampingSource::Rayleigh(declared::Rayleigh::Ratios { ratios, modes })) => {
                let [first, second] = [0, 1].map(|i| (modes[i], ratios[i]));
                damping::rayleigh_from_ratios(mass, stiffness, first, second)
            }
            Some(DampingSource::Matrix(source)) => Ok(self.matrix(source, "structure.damping")?),
        };
        let matrix = self.keep(matrix, "structure.damping")?;
        self.keep(built.with_damping(matrix), "structure.damping")
    }

    /// Nonlinear elements of the numerical part.
    pub(super) fn elements(&mut self, structure: &Structure) -> Option<Vec<ConnectedElement>> {
        let declared = &self.experiment.structure.elements;
        let placed = declared.iter().map(|element| {
            let [from, to] = &element.between;
            let place = self.deformation(from, to, structure)?;
            Some(ConnectedElement { place, element: Element::new(law(&element.law)) })
        });
        // Every bad reference is reported, so no early return.
        let placed: Vec<_> = placed.collect();
        placed.into_iter().collect()
    }

    /// What stands in the laboratory.
    pub(super) fn partition(&mut self, structure: &Structure) -> Option<Partition> {
        let declared = &self.experiment.partition;
        let count = declared.interface.len();
        let interface: Vec<_> = declared
            .interface
            .iter()
            .map(|interface| match interface {
                Interface::Dof(dof) => {
                    self.deformation(&NodeRef::Ground, &NodeRef::Dof(dof.clone()), structure)
                }
                Interface::Deformation(ends) => self.deformation(&ends.from, &ends.to, structure),
            })
            .collect();
        let interface = interface.into_iter().collect::<Option<Vec<_>>>();
        let mut damping = self.optional_matrix(&declared.damping, "partition.damping", count);
        let mut stiffness = self.optional_matrix(&declared.stiffness, "partition.stiffness", count);
        let interface = interface?;
        let mass = self.specimen_mass(structure, &interface);
        let mut inside = None;
        if !declared.inside.is_empty() {
            let found = self.inside(structure, &interface)?;
            if declared.stiffness.is_none() {
                stiffness = self.joining(&found.to_interface.stiffness, "stiffness");
            }
            if declared.damping.is_none() {
                damping = self.joining(&found.to_interface.damping, "damping");
            }
            inside = Some(found);
        }
        let specimen = Specimen {
            matrices: SecondOrder { mass: mass?, damping: damping?, stiffness: stiffness? },
            elements: declared
                .elements
                .iter()
                .filter_map(|element| match &element.place {
                    SpecimenPlace::At(at) => Some((at - 1, Element::new(law(&element.law)))),
                    SpecimenPlace::Between(_) => None,
                })
                .collect(),
        };
        Some(Partition { interface, specimen, inside })
    }

    /// Nonlinear elements between DOFs of the specimen.
    pub(super) fn inside_elements(
        &mut self,
        structure: &Structure,
    ) -> Option<Vec<ConnectedElement>> {
        let declared = &self.experiment.partition;
        let mut of_specimen = declared.inside.clone();
        of_specimen.extend(declared.interface.iter().filter_map(|interface| match interface {
            Interface::Dof(dof) => Some(dof.clone()),
            Interface::Deformation(_) => None,
        }));
        let known: Vec<usize> =
            of_specimen.iter().filter_map(|dof| self.resolve(dof, structure).ok()).collect();
        let mut placed = Some(Vec::new());
        for (index, element) in declared.elements.iter().enumerate() {
            let SpecimenPlace::Between([from, to]) = &element.place else { continue };
            let place = self.deformation(from, to, structure);
            let ends = place.into_iter().flat_map(|place| [place.from, place.to]).flatten();
            let stray = ends.into_iter().find(|dof| !known.contains(dof));
            if let Some(dof) = stray {
                let name = &structure.names[dof];
                let message = format!("\"{name}\" is no DOF of the specimen");
                let remedy = "an element of the specimen ends at its interface, its `inside` or \
                              the ground; those of the simulated part are [[structure.element]]";
                let path = format!("partition.element[{}].between", index + 1);
                let error = Diagnostic::error(message).remedy(remedy);
                self.found.push(self.experiment.place(&path, error));
            }
            let built = place
                .filter(|_| stray.is_none())
                .map(|place| ConnectedElement { place, element: Element::new(law(&element.law)) });
            match (&mut placed, built) {
                (Some(placed), Some(built)) => placed.push(built),
                _ => placed = None,
            }
        }
        placed
    }

    /// The DOFs of the specimen away from its interface.
    fn inside(&mut self, structure: &Structure, interface: &[RelativeDof]) -> Option<InternalDofs> {
        let declared = &self.experiment.partition.inside;
        let dofs = declared.iter().map(|dof| self.resolve(dof, structure));
        let dofs: Vec<_> = dofs.collect();
        self.found.extend(dofs.iter().filter_map(|dof| dof.clone().err()));
        let dofs = dofs.into_iter().collect::<Result<Vec<_>, _>>().ok()?;
        match InternalDofs::of(structure, &dofs, interface) {
            Ok(inside) => Some(inside),
            Err(error) => {
                let error = Diagnostic::error(error.to_string());
                self.found.push(self.experiment.place("partition.inside", error));
                None
            }
        }
    }

    /// What the springs or dampers towards the inside of the specimen add at the
    /// interface, where the structure's kind tells.
    fn joining(&mut self, to_interface: &DMatrix<f64>, key: &str) -> Option<DMatrix<f64>> {
        let told = match self.experiment.structure.source {
            StructureSource::ShearBuilding(_) | StructureSource::Chain(_) => true,
            StructureSource::Matrices { .. }
            | StructureSource::Beam(_)
            | StructureSource::Brick(_)
            | StructureSource::Frame(_) => false,
        };
        if told || to_interface.iter().all(|&value| value == 0.0) {
            return Some(InternalDofs::joining(to_interface));
        }
        let message = format!(
            "the {key} that the specimen has at its interface cannot be told from the matrices of \
             the whole structure"
        );
        let remedy = format!("give `{key}` with one entry per interface DOF, or a matrix");
        let error = Diagnostic::error(message).remedy(remedy);
        self.found.push(self.experiment.place("partition.inside", error));
        None
    }

    fn specimen_mass(
        &mut self,
        structure: &Structure,
        interface: &[RelativeDof],
    ) -> Option<DMatrix<f64>> {
        let count = interface.len();
        match &self.experiment.partition.mass {
            None => Some(DMatrix::zeros(count, count)),
            Some(SpecimenMass::Matrix(source)) => {
                let matrix = self.matrix(source, "partition.mass")?;
                self.symmetric(matrix, "partition.mass", count)
            }
            Some(SpecimenMass::Diagonal(entries))
                if matches!(self.origin, Origin::Reduced(_))
                    && entries.iter().any(|entry| matches!(entry, OrShare::Share(_))) =>
            {
                let message = "a reduced structure has no mass of its own at a DOF to share";
                let error = Diagnostic::error(message).remedy("give the specimen's mass in kg");
                self.found.push(self.experiment.place("partition.mass", error));
                None
            }
            Some(SpecimenMass::Diagonal(entries)) => {
                let values = entries.iter().zip(interface).map(|(entry, place)| match entry {
                    OrShare::Value(mass) => *mass,
                    OrShare::Share(share) => {
                        place.to.map_or(0.0, |dof| share * structure.matrices.mass[(dof, dof)])
                    }
                });
                Some(DMatrix::from_diagonal(&DVector::from_iterator(count, values)))
            }
        }
    }

    fn optional_matrix(
        &mut self,
        source: &Option<MatrixSource>,
        path: &str,
        count: usize,
    ) -> Option<DMatrix<f64>> {
        match source {
            None => Some(DMatrix::zeros(count, count)),
            Some(source) => {
                let matrix = self.matrix(source, path)?;
                self.symmetric(matrix, path, count)
            }
        }
    }

    /// A specimen matrix must fit the interface and be symmetric.
    fn symmetric(
        &mut self,
        matrix: DMatrix<f64>,
        path: &str,
        count: usize,
    ) -> Option<DMatrix<f64>> {
        if matrix.shape() != (count, count) {
            let (rows, columns) = matrix.shape();
            let message =
                format!("the matrix is {rows} × {columns}, the interface has {count} DOFs");
            let error =
                Diagnostic::error(message).remedy("give one row and column per interface DOF");
            self.found.push(self.experiment.place(path, error));
            return None;
        }
        let largest = matrix.amax();
        let worst = (&matrix - matrix.transpose()).amax();
        if worst > 1e-9 * largest {
            let message = format!("the matrix is not symmetric: entries differ by {worst:.3e}");
            let error = Diagnostic::error(message).remedy("make it symmetric");
            self.found.push(self.experiment.place(path, error));
            return None;
        }
        Some(matrix)
    }

    fn deformation(
        &mut self,
        from: &NodeRef,
        to: &NodeRef,
        structure: &Structure,
    ) -> Option<RelativeDof> {
        let index = |node: &NodeRef| match node {
            NodeRef::Ground => Ok(None),
            NodeRef::Dof(dof) => self.resolve(dof, structure).map(Some),
        };
        match (index(from), index(to)) {
            (Ok(from), Ok(to)) => Some(RelativeDof { from, to }),
            (from, to) => {
                self.found.extend([from, to].into_iter().filter_map(Result::err));
                None
            }
        }
    }

    pub(super) fn matrix(&mut self, source: &MatrixSource, path: &str) -> Option<DMatrix<f64>> {
        match source {
            MatrixSource::Diagonal(entries) => {
                Some(DMatrix::from_diagonal(&DVector::from_column_slice(entries)))
            }
            MatrixSource::Full { size, entries } => {
                Some(DMatrix::from_row_slice(*size, *size, entries))
            }
            MatrixSource::File { name, factor } => {
                let read = self.source.read(name).map_err(|error| error.to_string());
                let matrix = read.and_then(|bytes| {
                    input::matrix(name, &bytes).map_err(|error| error.to_string())
                });
                match matrix {
                    Ok(matrix) => Some(matrix * *factor),
                    Err(error) => {
                        let message = format!("\"{name}\": {error}");
                        self.found.push(self.experiment.place(path, Diagnostic::error(message)));
                        None
                    }
                }
            }
        }
    }

    /// The value, or its error placed at `path`, or nearer where it says so.
    pub(super) fn keep<T>(&mut self, result: Result<T, ModelError>, path: &str) -> Option<T> {
        result
            .map_err(|error| {
                let path = if path == "structure" { matrix_path(&error) } else { path };
                let diagnostic = Diagnostic::error(error.to_string());
                self.found.push(self.experiment.place(path, diagnostic));
            })
            .ok()
    }
}

/// Which key of `[structure]` an error is about.
fn matrix_path(error: &ModelError) -> &'static str {
    let matrix = match error {
        ModelError::NotSquare { matrix, .. }
        | ModelError::SizeMismatch { matrix, .. }
        | ModelError::NotFinite { matrix, .. }
        | ModelError::NotSymmetric { matrix, .. } => *matrix,
        ModelError::MassNotPositiveDefinite { .. } => MatrixName::Mass,
        ModelError::StiffnessNotPositiveSemidefinite(..) => MatrixName::Stiffness,
        _ => return "structure",
    };
    match matrix {
        MatrixName::Mass => "structure.mass",
        MatrixName::Damping => "structure.damping",
        MatrixName::Stiffness => "structure.stiffness",
    }
}

fn or_zeros(values: &Option<Vec<f64>>, count: usize) -> Vec<f64> {
    values.clone().unwrap_or_else(|| vec![0.0; count])
}

fn chain(
    mass: &[f64],
    stiffness: &[f64],
    damping: &[f64],
    ends: declared::ChainEnds,
) -> Result<Structure, ModelError> {
    let ends = match ends {
        declared::ChainEnds::FixedFree => Ends::FixedFree,
        declared::ChainEnds::FixedFixed => Ends::FixedFixed,
        declared::ChainEnds::FreeFree => Ends::FreeFree,
        declared::ChainEnds::FreeFixed => {
            // The same chain seen from its other end.
            let reversed = |values: &[f64]| values.iter().rev().copied().collect::<Vec<_>>();
            let seen = structure::chain(
                &reversed(mass),
                &reversed(stiffness),
                &reversed(damping),
                Ends::FixedFree,
            )?;
            let n = seen.size();
            let turned =
                |m: &DMatrix<f64>| DMatrix::from_fn(n, n, |i, j| m[(n - 1 - i, n - 1 - j)]);
            return Structure::new(
                turned(&seen.matrices.mass),
                turned(&seen.matrices.damping),
                turned(&seen.matrices.stiffness),
            );
        }
    };
    structure::chain(mass, stiffness, damping, ends)
}

fn built_beam(beam: &declared::Beam) -> Result<Structure, ModelError> {
    let section = BeamSection {
        flexural_rigidity_n_m2: beam.young_pa * beam.section.inertia_m4(),
        mass_per_length_kg_m: beam.density_kg_m3 * beam.section.area_m2(),
    };
    let (left, right) = match beam.ends {
        declared::BeamEnds::ClampedFree => (Support::Clamped, Support::Free),
        declared::BeamEnds::ClampedClamped => (Support::Clamped, Support::Clamped),
        declared::BeamEnds::PinnedPinned => (Support::Pinned, Support::Pinned),
        declared::BeamEnds::ClampedPinned => (Support::Clamped, Support::Pinned),
        declared::BeamEnds::FreeFree => (Support::Free, Support::Free),
    };
    structure::euler_bernoulli_beam(
        section,
        beam.elements,
        beam.length_m,
        BeamEnds { left, right },
        beam.mass,
    )
}

fn law(spec: &ElementSpec) -> Law {
    match *spec {
        ElementSpec::Bilinear { stiffness, yield_force, hardening } => {
            Law::Bilinear { stiffness, yield_force, hardening }
        }
        ElementSpec::ElasticPlastic { stiffness, yield_force } => {
            Law::Bilinear { stiffness, yield_force, hardening: 0.0 }
        }
        ElementSpec::BoucWen { stiffness, yield_force, hardening, exponent, beta, gamma } => {
            Law::BoucWen { stiffness, yield_force, hardening, exponent, beta, gamma }
        }
        ElementSpec::Gap { stiffness, opening, side } => Law::Gap { stiffness, opening, side },
    }
}
