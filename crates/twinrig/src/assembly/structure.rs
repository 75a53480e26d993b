//! From the declared structure and specimen to matrices.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::element::Element;
use model::equations::{ConnectedElement, RelativeDof};
use model::error::{MatrixName, ModelError};
use model::partition::{InternalDofs, Partition};
use model::reduction::ReductionError;
use model::specimen::Specimen;
use model::structure::{self, BeamEnds, BeamSection, Structure, Support, damping};
use nalgebra::{DMatrix, DVector};
use numerics::second_order::SecondOrder;

use super::SignalStore;
use super::components::{Joined, Piece};
use super::full::FullModel;
use super::reduced::Reduced;
use super::state_space::StateReduced;
use experiment::input::{self, InputError};
use experiment::reduction::ReductionMethod;
use experiment::structure::{self as declared, Entries, MatrixTable};
use experiment::{
    DampingSource, Diagnostic, Diagnostics, DofRef, Experiment, Interface, MatrixSource, NodeRef,
    OrShare, Source, SpecimenMass, SpecimenPlace, StructureSource, Whole, resolve,
};

/// Reads what the file declares and collects what is wrong with it.
pub(super) struct Builder<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) source: &'a dyn Source,
    pub(super) store: &'a SignalStore,
    pub(super) found: &'a mut Diagnostics,
    pub(super) origin: Origin,
    /// The component that is built; the whole structure where there is none.
    pub(super) piece: Option<Piece<'a>>,
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
    /// Components make it, some of them of first order.
    Joined(Box<Joined>),
}

impl Origin {
    /// The index of what the file calls a DOF, where it is not the declared structure itself.
    pub(super) fn resolve(&self, dof: &DofRef) -> Result<usize, Diagnostic> {
        match self {
            Self::Itself => resolve(dof, &[], 0),
            Self::Mesh(full) => full.resolve(dof),
            Self::Reduced(reduced) => reduced.resolve(dof),
            Self::States(reduced) => reduced.resolve(dof),
            Self::Joined(joined) => joined.resolve(dof),
        }
    }

    /// Which of so many DOFs are amplitudes of modes.
    pub(super) fn amplitudes(&self, size: usize) -> BTreeSet<usize> {
        let is_amplitude = |dof: &usize| match self {
            Self::Mesh(full) => full.joined.as_ref().is_some_and(|it| it.is_amplitude(*dof)),
            Self::Joined(joined) => joined.is_amplitude(*dof),
            Self::Reduced(reduced) => *dof >= reduced.names.len(),
            Self::Itself | Self::States(_) => false,
        };
        (0..size).filter(is_amplitude).collect()
    }

    /// The reduced structure, if it is one with M, C and K.
    pub(super) fn reduced(&self) -> Option<Arc<Reduced>> {
        match self {
            Self::Reduced(reduced) => Some(reduced.clone()),
            _ => None,
        }
    }

    /// Whether it is known what its DOFs move along.
    pub(super) fn knows_kinds(&self) -> bool {
        matches!(self, Self::Mesh(full) if full.knows_kinds())
    }
}

impl<'a> Builder<'a> {
    /// One that has found nothing yet.
    pub(super) fn new(
        experiment: &'a Experiment,
        source: &'a dyn Source,
        store: &'a SignalStore,
        found: &'a mut Diagnostics,
    ) -> Self {
        Self { experiment, source, store, found, origin: Origin::default(), piece: None }
    }

    /// The structure in one piece that is built: that of the file, or of a component.
    pub(super) fn declared(&self) -> &'a declared::Structure {
        match (&self.piece, &self.experiment.whole) {
            (Some(piece), _) => &piece.declared.structure,
            (None, Whole::Structure(structure)) => structure,
            (None, Whole::Components(_)) => unreachable!("components are built one by one"),
        }
    }

    /// Where `source` says mass and stiffness come from.
    fn declared_source(&self) -> Option<&'a StructureSource> {
        self.experiment.structure().map(|structure| &structure.source)
    }

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
        if let Whole::Components(components) = &self.experiment.whole {
            return self.joined_structure(components);
        }
        if self.declared().source.is_mesh() {
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
            origin => origin.resolve(dof),
        }
    }

    /// The declared structure without its damping.
    pub(super) fn built(&mut self) -> Option<Structure> {
        let declared = self.declared();
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
                structure::chain(mass, stiffness, &damping, *ends)
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
        let declared = self.declared();
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
        for link in &self.declared().links {
            let place = self.deformation(&link.between, &built)?;
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
        let matrix = match &self.declared().damping {
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
        let declared = self.experiment.elements();
        let placed = declared.iter().map(|element| {
            let place = self.deformation(&element.between, structure)?;
            Some(ConnectedElement { place, element: Element::new(element.law) })
        });
        // Every bad reference is reported, so no early return.
        let placed: Vec<_> = placed.collect();
        placed.into_iter().collect()
    }

    /// What stands in the laboratory.
    pub(super) fn partition(&mut self, structure: &Structure) -> Option<Partition> {
        let declared = &self.experiment.partition;
        let count = declared.interface.len();
        let placed = declared.interface.iter();
        let interface: Vec<_> =
            placed.map(|interface| self.deformation(&interface.ends(), structure)).collect();
        let interface = interface.into_iter().collect::<Option<Vec<_>>>();
        let mut damping = self.optional_matrix(&declared.damping, "partition.damping", count);
        let mut stiffness = self.optional_matrix(&declared.stiffness, "partition.stiffness", count);
        let interface = interface?;
        if !declared.components.is_empty() {
            let (matrices, inside) = self.laboratory(structure, &interface)?;
            let specimen = Specimen { matrices, elements: self.specimen_elements() };
            return Some(Partition { interface, specimen, inside });
        }
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
            elements: self.specimen_elements(),
        };
        Some(Partition { interface, specimen, inside })
    }

    /// Nonlinear elements of the specimen at its interface.
    fn specimen_elements(&self) -> Vec<(usize, Element)> {
        let declared = self.experiment.partition.elements.iter();
        let placed = declared.filter_map(|element| match &element.place {
            SpecimenPlace::At(at) => Some((at - 1, Element::new(element.law))),
            SpecimenPlace::Between(_) => None,
        });
        placed.collect()
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
            let SpecimenPlace::Between(ends) = &element.place else { continue };
            let place = self.deformation(ends, structure);
            let ends = place.into_iter().flat_map(|place| [place.from, place.to]).flatten();
            let stray = ends.into_iter().find(|dof| !known.contains(dof));
            if let Some(dof) = stray {
                let name = &structure.names[dof];
                let message = format!("\"{name}\" is no DOF of the specimen");
                let remedy = "an element of the specimen ends at its interface, its `inside` or \
                              the ground; those of the simulated part are [[structure.element]]";
                let path = format!("partition.element[{}].between", index + 1);
                self.refuse::<()>(&path, Diagnostic::error(message).remedy(remedy));
            }
            let built = place
                .filter(|_| stray.is_none())
                .map(|place| ConnectedElement { place, element: Element::new(element.law) });
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
        InternalDofs::of(structure, &dofs, interface)
            .or_else(|error| {
                let error = Diagnostic::error(error.to_string());
                self.refuse("partition.inside", error).ok_or(())
            })
            .ok()
    }

    /// What the springs or dampers towards the inside of the specimen add at the
    /// interface, where the structure's kind tells.
    fn joining(&mut self, to_interface: &DMatrix<f64>, key: &str) -> Option<DMatrix<f64>> {
        let told = matches!(
            self.declared_source(),
            Some(StructureSource::ShearBuilding(_) | StructureSource::Chain(_))
        );
        if told || to_interface.iter().all(|&value| value == 0.0) {
            return Some(InternalDofs::joining(to_interface));
        }
        let message = format!(
            "the {key} that the specimen has at its interface cannot be told from the matrices of \
             the whole structure"
        );
        let remedy = format!("give `{key}` with one entry per interface DOF, or a matrix");
        self.refuse("partition.inside", Diagnostic::error(message).remedy(remedy))
    }

    fn specimen_mass(
        &mut self,
        structure: &Structure,
        interface: &[RelativeDof],
    ) -> Option<DMatrix<f64>> {
        let count = interface.len();
        match &self.experiment.partition.mass {
            None => Some(DMatrix::zeros(count, count)),
            Some(SpecimenMass::Whole(table)) => {
                let matrix = self.whole(table, "partition.mass")?;
                self.symmetric(matrix, "partition.mass", count)
            }
            Some(SpecimenMass::Diagonal(entries))
                if matches!(self.origin, Origin::Reduced(_))
                    && entries.iter().any(|entry| matches!(entry, OrShare::Share(_))) =>
            {
                let message = "a reduced structure has no mass of its own at a DOF to share";
                let error = Diagnostic::error(message).remedy("give the specimen's mass in kg");
                self.refuse("partition.mass", error)
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
    pub(super) fn symmetric(
        &mut self,
        matrix: DMatrix<f64>,
        path: &str,
        count: usize,
    ) -> Option<DMatrix<f64>> {
        if matrix.shape() != (count, count) {
            let (rows, columns) = matrix.shape();
            let message =
                format!("the matrix is {rows} × {columns}, the interface has {count} DOFs");
            let remedy = "give one row and column per interface DOF";
            return self.refuse(path, Diagnostic::error(message).remedy(remedy));
        }
        let largest = matrix.amax();
        let worst = (&matrix - matrix.transpose()).amax();
        if worst > 1e-9 * largest {
            let message = format!("the matrix is not symmetric: entries differ by {worst:.3e}");
            return self.refuse(path, Diagnostic::error(message).remedy("make it symmetric"));
        }
        Some(matrix)
    }

    fn deformation(&mut self, ends: &[NodeRef; 2], structure: &Structure) -> Option<RelativeDof> {
        let index = |end: &NodeRef| end.dof().map(|dof| self.resolve(dof, structure)).transpose();
        match ends.each_ref().map(index) {
            [Ok(from), Ok(to)] => Some(RelativeDof { from, to }),
            wrong => {
                self.found.extend(wrong.into_iter().filter_map(Result::err));
                None
            }
        }
    }

    pub(super) fn matrix(&mut self, source: &MatrixSource, path: &str) -> Option<DMatrix<f64>> {
        match source {
            MatrixSource::Diagonal(entries) => {
                Some(DMatrix::from_diagonal(&DVector::from_column_slice(entries)))
            }
            MatrixSource::Whole(table) => self.whole(table, path),
        }
    }

    fn whole(&mut self, table: &MatrixTable, path: &str) -> Option<DMatrix<f64>> {
        let matrix = match &table.entries {
            Entries::Rows(rows) => DMatrix::from_row_slice(rows.size, rows.size, &rows.entries),
            Entries::File(name) => self.input(name, path, |bytes| input::matrix(name, bytes))?,
        };
        Some(matrix * table.unit)
    }

    /// What a reader makes of a file, or its error placed at `path`.
    pub(super) fn input<T>(
        &mut self,
        name: &str,
        path: &str,
        read: impl FnOnce(&[u8]) -> Result<T, InputError>,
    ) -> Option<T> {
        let bytes = self.source.read(name).map_err(|error| error.to_string());
        let value = bytes.and_then(|bytes| read(&bytes).map_err(|error| error.to_string()));
        value
            .or_else(|error| {
                let error = Diagnostic::error(format!("\"{name}\": {error}"));
                self.refuse(path, error).ok_or(())
            })
            .ok()
    }

    /// The value, or its error placed at `path`, or nearer where it says so.
    pub(super) fn keep<T>(
        &mut self,
        result: Result<T, impl Into<ReductionError>>,
        path: &str,
    ) -> Option<T> {
        let error: ReductionError = match result {
            Ok(value) => return Some(value),
            Err(error) => error.into(),
        };
        let mut diagnostic = Diagnostic::error(error.to_string());
        if matches!(error, ReductionError::Unstable(..)) {
            diagnostic = diagnostic.remedy(
                "take method = \"rubin\", keep more modes, or say unstable = \"accept\" in \
                 [reduction] if you know better",
            );
        }
        self.refuse(nearest_path(&error, path), diagnostic)
    }

    /// Notes an error at `path`; there is no value.
    pub(super) fn refuse<T>(&mut self, path: &str, error: Diagnostic) -> Option<T> {
        let placed = self.placed(path, error);
        self.found.push(placed);
        None
    }

    /// A finding at a path of `[structure]` or `[reduction]`, in the component that is built.
    pub(super) fn placed(&self, path: &str, found: Diagnostic) -> Diagnostic {
        let Some(Piece { base, .. }) = &self.piece else {
            return self.experiment.place(path, found);
        };
        let within = match path.strip_prefix("structure") {
            Some(rest) => format!("{base}{rest}"),
            None => format!("{base}.{path}"),
        };
        self.experiment.place(&within, found)
    }
}

/// The matrix of `[structure]` that an error is about, where it says so.
fn nearest_path<'a>(error: &ReductionError, path: &'a str) -> &'a str {
    let matrix = match error {
        ReductionError::Model(error) if path == "structure" => match error {
            ModelError::NotSquare { matrix, .. }
            | ModelError::SizeMismatch { matrix, .. }
            | ModelError::NotFinite { matrix, .. }
            | ModelError::NotSymmetric { matrix, .. } => *matrix,
            ModelError::MassNotPositiveDefinite { .. } => MatrixName::Mass,
            ModelError::StiffnessNotPositiveSemidefinite(..) => MatrixName::Stiffness,
            _ => return path,
        },
        ReductionError::SizeMismatch { matrix, .. }
        | ReductionError::NotSymmetric { matrix, .. } => *matrix,
        ReductionError::MassNotPositiveDefinite(..) => MatrixName::Mass,
        ReductionError::NegativeStiffness(..) => MatrixName::Stiffness,
        _ => return path,
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
