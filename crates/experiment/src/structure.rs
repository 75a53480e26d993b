//! The structure as the file declares it.

use keys::describe::{Length, Shape};
use keys::key::Real;
use keys::tree::Node;
use keys::value::{OneOrEach, Rows, either, nested};
use keys::{Is, Keys, Read};
use model::structure::{Ends, MOST_BEAM_ELEMENTS, MassModel};

use super::element::StructureElement;
use super::mesh::{Brick, Frame, Link, MOST_POINTS, Point};

/// Most degrees of freedom, storeys or elements of anything written in a file.
pub(crate) const MOST_DOFS: usize = 20_000;
/// Extensions of files that may hold a matrix.
const MATRIX_FILES: &[&str] = &["mtx", "npy", "csv"];

/// The whole structure, as if it were built: mass and stiffness, or one of the builders
/// `shear_building`, `chain`, `beam`, `brick` and `frame`. Degrees of freedom (DOFs) count from 1.
/// Entries for rotations take moment units (`kg m^2`, `N m/rad`).
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct Structure {
    /// Where mass and stiffness come from.
    #[key(flatten)]
    pub source: StructureSource,
    /// Damping of the whole structure. Absent: the dampers of `shear_building` or `chain` if given
    /// there, else none.
    #[key(damping, of_dof, not_negative, entries = 1..=MOST_DOFS)]
    pub damping: Option<DampingSource>,
    /// Names for DOFs of a brick or frame, each as `[[structure.point]]`.
    #[key(entries = 1..=MOST_POINTS, optional, name = "point")]
    pub points: Vec<Point>,
    /// Springs, dampers and masses to add, each as `[[structure.link]]`.
    #[key(entries = 1..=MOST_POINTS, optional, name = "link")]
    pub links: Vec<Link>,
    /// A name for every DOF, which may then be used instead of its number.
    #[key(text, entries = 1..=MOST_DOFS, optional)]
    pub names: Vec<String>,
    /// How far each DOF follows a unit motion of the ground. Absent: 1 for every displacement, 0 for
    /// every rotation.
    #[key(number, entries = 1..=MOST_DOFS)]
    pub influence: Option<Vec<f64>>,
    /// Nonlinear elements of the simulated part, each as `[[structure.element]]`.
    #[key(entries = 1..=1000, optional, name = "element")]
    pub elements: Vec<StructureElement>,
}

/// Where mass and stiffness come from. All lists in SI.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(one_of)]
pub enum StructureSource {
    /// Given as matrices.
    Matrices {
        /// A list is the diagonal; a table is the whole matrix.
        #[key(stiffness, of_dof, not_negative, entries = 1..=MOST_DOFS)]
        stiffness: MatrixSource,
        /// A list is the diagonal; a table is the whole matrix.
        #[key(mass, of_dof, not_negative, entries = 1..=MOST_DOFS)]
        mass: MatrixSource,
    },
    /// Storeys above one another.
    ShearBuilding(ShearBuilding),
    /// Masses in a row, joined by springs.
    Chain(Chain),
    /// A straight Euler–Bernoulli beam.
    Beam(Beam),
    /// A solid block of finite elements.
    Brick(Brick),
    /// A building of columns and beams.
    Frame(Frame),
}

/// One DOF per storey, storey 1 the lowest. Lists have one entry per storey; a single quantity with
/// `storeys` is repeated.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct ShearBuilding {
    /// Number of storeys. Absent: the length of the lists.
    #[key(count = 1..=MOST_DOFS as u64)]
    storeys: Option<usize>,
    /// Mass of each floor.
    #[key(mass, positive, entries = 1..=MOST_DOFS)]
    pub(crate) mass: OneOrEach,
    /// Lateral stiffness of each storey.
    #[key(stiffness, positive, entries = 1..=MOST_DOFS)]
    pub(crate) stiffness: OneOrEach,
    /// Damper of each storey.
    #[key(damping, not_negative, entries = 1..=MOST_DOFS)]
    pub(crate) damping: Option<OneOrEach>,
}

/// Masses in a row. A fixed end has a spring to the ground: n masses have n − 1 springs plus one for
/// every fixed end.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct Chain {
    /// The masses, first to last.
    #[key(mass, positive, entries = 1..=MOST_DOFS)]
    pub mass: Vec<f64>,
    /// The springs, first to last.
    ///
    /// A lone free mass has none.
    #[key(stiffness, positive, entries = 0..=MOST_DOFS + 1)]
    pub stiffness: Vec<f64>,
    /// A damper beside each spring.
    #[key(damping, not_negative, entries = 0..=MOST_DOFS + 1)]
    pub damping: Option<Vec<f64>>,
    /// How the ends are held.
    #[key(default = "fixed-free")]
    pub ends: Ends,
}

/// An Euler–Bernoulli beam of equal elements. Each free node has two DOFs, deflection then rotation,
/// counted along the beam; DOFs held by the ends are left out.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct Beam {
    /// Number of elements.
    #[key(count = 1..=MOST_BEAM_ELEMENTS as u64)]
    pub elements: usize,
    /// Length of the whole beam.
    #[key(length, positive)]
    pub length_m: f64,
    /// Young's modulus.
    #[key(pressure, positive)]
    pub young_pa: f64,
    /// Density.
    #[key(density, positive)]
    pub density_kg_m3: f64,
    /// Its section.
    #[key(flatten)]
    pub section: Section,
    /// How the ends are held.
    pub ends: BeamEnds,
    /// Mass matrix.
    #[key(default = "consistent")]
    pub mass: MassModel,
}

/// The section of a beam.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(one_of)]
pub enum Section {
    /// A rectangle.
    Rectangle {
        /// Width of a rectangular section.
        #[key(length, positive)]
        width_m: f64,
        /// Height of a rectangular section, in the plane of bending.
        #[key(length, positive)]
        height_m: f64,
    },
    /// Any other.
    Any {
        /// Area of any section.
        #[key(area, positive)]
        area_m2: f64,
        /// Second moment of area of any section.
        #[key(second_moment, positive)]
        inertia_m4: f64,
    },
}

/// How the ends of a beam are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
#[key(dashed)]
pub enum BeamEnds {
    /// A cantilever.
    ClampedFree,
    /// Both ends clamped.
    ClampedClamped,
    /// Both ends pinned.
    PinnedPinned,
    /// The first end clamped, the last pinned.
    ClampedPinned,
    /// Nothing held.
    FreeFree,
}

/// A matrix: its diagonal as a list, or the whole as a table.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(given, either)]
pub enum MatrixSource {
    /// The entries on the diagonal, in SI.
    #[key(given)]
    Diagonal(Vec<f64>),
    /// All entries of a square matrix.
    #[key(given)]
    Whole(MatrixTable),
}

/// A whole matrix.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(given)]
pub struct MatrixTable {
    /// Unit of every entry.
    ///
    /// As its factor to SI.
    #[key(given_unit, coupled)]
    pub unit: f64,
    /// Where they are.
    #[key(flatten)]
    pub entries: Entries,
}

/// The entries of a matrix.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(one_of)]
pub enum Entries {
    /// The entries, row by row, as bare numbers.
    Rows(Rows),
    /// A matrix file: Matrix Market (`.mtx`), NumPy (`.npy`) or `.csv`.
    #[key(file = MATRIX_FILES)]
    File(String),
}

/// Damping of the whole structure.
#[derive(Debug, Clone, PartialEq)]
pub enum DampingSource {
    /// Ratios of critical damping from the lowest mode on; the last serves all further modes.
    Modal(Vec<f64>),
    /// Proportional to mass and stiffness.
    Rayleigh(Rayleigh),
    /// A matrix.
    Matrix(MatrixSource),
}

/// Damping by modes, after Rayleigh, or as a matrix.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(given, one_of)]
pub(crate) enum DampingTable {
    /// Ratio of critical damping: one for all modes, or a list from the lowest mode on, whose last
    /// entry serves all further modes.
    #[key(ratio, within = 0.0..=1.0, entries = 1..=MOST_DOFS)]
    Modal(OneOrEach),
    /// Proportional to mass and stiffness.
    Rayleigh(Rayleigh),
    /// Written down.
    Rows {
        /// The entries, row by row, as bare numbers.
        rows: Rows,
        /// Unit of every entry.
        #[key(given_unit, coupled)]
        unit: f64,
    },
    /// In a file.
    File {
        /// A matrix file: Matrix Market (`.mtx`), NumPy (`.npy`) or `.csv`.
        #[key(file = MATRIX_FILES)]
        file: String,
        /// Unit of every entry.
        #[key(given_unit, coupled)]
        unit: f64,
    },
}

/// C = `mass` M + `stiffness` K, by the two factors or by the ratios of two modes.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(one_of, check = Self::check)]
pub enum Rayleigh {
    /// By the factors.
    Factors {
        /// Factor of the mass matrix.
        #[key(decay, not_negative)]
        mass_1_s: f64,
        /// Factor of the stiffness matrix.
        #[key(time, not_negative)]
        stiffness_s: f64,
    },
    /// By the ratios of two modes.
    Ratios {
        /// Ratios of critical damping of two modes.
        #[key(ratio, within = 0.0..=1.0)]
        ratios: [f64; 2],
        /// The two modes, counted from 1.
        #[key(count = 1..=MOST_DOFS as u64)]
        modes: [usize; 2],
    },
}

impl Structure {
    /// The number of degrees of freedom, where the file alone tells it.
    pub fn size(&self) -> Option<usize> {
        let matrices = self.matrices().into_iter().find_map(|(_, matrix)| matrix?.size());
        let named = (!self.names.is_empty()).then_some(self.names.len());
        let size = self.source.size().or(matrices).or(named);
        size.or(self.influence.as_ref().map(Vec::len))
    }

    /// The matrices that are written or named, each with its key.
    pub(crate) fn matrices(&self) -> [(&'static str, Option<&MatrixSource>); 3] {
        let (mass, stiffness) = match &self.source {
            StructureSource::Matrices { mass, stiffness } => (Some(mass), Some(stiffness)),
            _ => (None, None),
        };
        let damping = match &self.damping {
            Some(DampingSource::Matrix(matrix)) => Some(matrix),
            _ => None,
        };
        [
            (StructureSource::STIFFNESS, stiffness),
            (StructureSource::MASS, mass),
            (Self::DAMPING, damping),
        ]
    }
}

impl StructureSource {
    /// Degrees of freedom, where the file alone tells them.
    pub(crate) fn size(&self) -> Option<usize> {
        match self {
            Self::Matrices { mass, stiffness } => stiffness.size().or(mass.size()),
            Self::ShearBuilding(building) => building.storeys(),
            Self::Chain(chain) => Some(chain.mass.len()),
            // One that cannot move is told of.
            Self::Beam(beam) => Some(beam.size()).filter(|&size| size > 0),
            Self::Brick(brick) => Some(brick.size()),
            Self::Frame(frame) => Some(frame.size()),
        }
    }

    /// Whether it is a mesh, whose DOFs have names of their own.
    pub fn is_mesh(&self) -> bool {
        matches!(self, Self::Brick(_) | Self::Frame(_))
    }
}

impl ShearBuilding {
    /// Storeys: as stated, or as many as its lists have entries.
    pub(crate) fn storeys(&self) -> Option<usize> {
        let each = [Some(&self.mass), Some(&self.stiffness), self.damping.as_ref()];
        let listed = each.into_iter().flatten().find_map(|values| match values {
            OneOrEach::Each(values) => Some(values.len()),
            OneOrEach::All(_) => None,
        });
        self.storeys.or(listed)
    }

    fn expand(&self, values: &OneOrEach) -> Vec<f64> {
        values.expand(self.storeys().unwrap_or(1))
    }

    /// Masses of the floors, the lowest first.
    pub fn mass(&self) -> Vec<f64> {
        self.expand(&self.mass)
    }

    /// Stiffnesses of the storeys.
    pub fn stiffness(&self) -> Vec<f64> {
        self.expand(&self.stiffness)
    }

    /// Dampers of the storeys.
    pub fn damping(&self) -> Option<Vec<f64>> {
        self.damping.as_ref().map(|damping| self.expand(damping))
    }
}

impl Beam {
    /// Degrees of freedom that are not held: two per node, less those of the ends.
    pub fn size(&self) -> usize {
        let held = match self.ends {
            BeamEnds::FreeFree => 0,
            BeamEnds::ClampedFree | BeamEnds::PinnedPinned => 2,
            BeamEnds::ClampedPinned => 3,
            BeamEnds::ClampedClamped => 4,
        };
        (2 * (self.elements + 1)).saturating_sub(held)
    }
}

impl Section {
    /// Area of the section, in m².
    pub fn area_m2(&self) -> f64 {
        match *self {
            Self::Rectangle { width_m, height_m } => width_m * height_m,
            Self::Any { area_m2, .. } => area_m2,
        }
    }

    /// Second moment of area of the section, in m⁴.
    pub fn inertia_m4(&self) -> f64 {
        match *self {
            Self::Rectangle { width_m, height_m } => width_m * height_m.powi(3) / 12.0,
            Self::Any { inertia_m4, .. } => inertia_m4,
        }
    }
}

impl MatrixSource {
    /// Rows of the matrix, where the file alone tells it.
    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Diagonal(entries) => Some(entries.len()),
            Self::Whole(table) => table.rows(),
        }
    }

    /// The table, if it is one.
    pub fn whole(&self) -> Option<&MatrixTable> {
        match self {
            Self::Diagonal(_) => None,
            Self::Whole(table) => Some(table),
        }
    }
}

impl MatrixTable {
    /// Rows of the matrix, where the file alone tells it.
    pub(crate) fn rows(&self) -> Option<usize> {
        match &self.entries {
            Entries::Rows(rows) => Some(rows.size),
            Entries::File(_) => None,
        }
    }

    /// The name of the file that holds it.
    pub fn file(&self) -> Option<&str> {
        match &self.entries {
            Entries::Rows(_) => None,
            Entries::File(name) => Some(name),
        }
    }
}

impl Read for DampingSource {
    fn read(node: &Node) -> Option<Self> {
        let Some(table) = node.table() else {
            return MatrixSource::read(node).map(Self::Matrix);
        };
        let whole =
            |unit, entries| Self::Matrix(MatrixSource::Whole(MatrixTable { unit, entries }));
        Some(match Keys::read_table(table)? {
            DampingTable::Modal(OneOrEach::All(ratio)) => Self::Modal(vec![ratio]),
            DampingTable::Modal(OneOrEach::Each(ratios)) => Self::Modal(ratios),
            DampingTable::Rayleigh(rayleigh) => Self::Rayleigh(rayleigh),
            DampingTable::Rows { rows, unit } => whole(unit, Entries::Rows(rows)),
            DampingTable::File { file, unit } => whole(unit, Entries::File(file)),
        })
    }
}

impl Is<Real> for DampingSource {
    fn shape(leaf: Shape, length: Option<Length>) -> Shape {
        either([Vec::<f64>::shape(leaf, length), nested::<DampingTable>(Some(leaf))])
    }
}
