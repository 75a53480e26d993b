//! The structure as the file declares it.

use super::element::StructureElement;
use super::mesh::{Brick, Frame, Link, Point};
use super::tree::{Branch, Node, Value};

/// The whole structure, as if it were built.
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    /// Where mass and stiffness come from.
    pub source: StructureSource,
    /// Damping of the whole; `None` leaves the dampers of the source, or none.
    pub damping: Option<DampingSource>,
    /// Names of the degrees of freedom; empty if they have none.
    pub names: Vec<String>,
    /// How far each degree of freedom follows the ground; `None` for the natural choice.
    pub influence: Option<Vec<f64>>,
    /// Names for DOFs of a mesh.
    pub points: Vec<Point>,
    /// Springs, dampers and masses added to the matrices.
    pub links: Vec<Link>,
    /// Nonlinear elements of the simulated part.
    pub elements: Vec<StructureElement>,
}

/// Where mass and stiffness come from. All lists in SI.
#[derive(Debug, Clone, PartialEq)]
pub enum StructureSource {
    /// Given as matrices.
    Matrices {
        /// Mass matrix.
        mass: MatrixSource,
        /// Stiffness matrix.
        stiffness: MatrixSource,
    },
    /// Storeys above one another, the lowest first; all lists of one length.
    ShearBuilding {
        /// Masses of the floors.
        mass: Vec<f64>,
        /// Stiffnesses of the storeys.
        stiffness: Vec<f64>,
        /// Dampers of the storeys.
        damping: Option<Vec<f64>>,
    },
    /// Masses in a row.
    Chain {
        /// The masses.
        mass: Vec<f64>,
        /// The springs, including those to the ground at fixed ends.
        stiffness: Vec<f64>,
        /// A damper beside each spring.
        damping: Option<Vec<f64>>,
        /// How the ends are held.
        ends: ChainEnds,
    },
    /// A straight beam.
    Beam(Beam),
    /// A solid block.
    Brick(Brick),
    /// A building of columns and beams.
    Frame(Frame),
}

/// A matrix: written down, or in a file.
#[derive(Debug, Clone, PartialEq)]
pub enum MatrixSource {
    /// The entries on the diagonal, in SI.
    Diagonal(Vec<f64>),
    /// All entries of a square matrix, row by row, in SI.
    Full {
        /// Rows and columns.
        size: usize,
        /// `size * size` numbers.
        entries: Vec<f64>,
    },
    /// A file to be read through the experiment's [`Source`](super::source::Source).
    File {
        /// Its name as written.
        name: String,
        /// What to multiply every entry by to get SI.
        factor: f64,
    },
}

/// Damping of the whole structure.
#[derive(Debug, Clone, PartialEq)]
pub enum DampingSource {
    /// Ratios of critical damping from the lowest mode on; the last serves all further modes.
    Modal(Vec<f64>),
    /// C = `mass_1_s` M + `stiffness_s` K.
    Rayleigh {
        /// Factor of the mass matrix, in 1/s.
        mass_1_s: f64,
        /// Factor of the stiffness matrix, in s.
        stiffness_s: f64,
    },
    /// Rayleigh damping that gives two modes these ratios.
    RayleighRatios {
        /// Ratios of critical damping.
        ratios: [f64; 2],
        /// Indices of the modes from 0.
        modes: [usize; 2],
    },
    /// A matrix.
    Matrix(MatrixSource),
}

/// How the ends of a chain are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainEnds {
    /// The first mass is tied to the ground.
    FixedFree,
    /// Both the first and the last are.
    FixedFixed,
    /// None is.
    FreeFree,
    /// The last is.
    FreeFixed,
}

/// An Euler–Bernoulli beam of equal elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beam {
    /// Number of elements.
    pub elements: usize,
    /// Length of the whole beam.
    pub length_m: f64,
    /// Young's modulus.
    pub young_pa: f64,
    /// Density.
    pub density_kg_m3: f64,
    /// Area of the section.
    pub area_m2: f64,
    /// Second moment of area of the section.
    pub inertia_m4: f64,
    /// How the ends are held.
    pub ends: BeamEnds,
    /// How the mass matrix is made.
    pub mass: BeamMass,
}

/// How the ends of a beam are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// How the mass matrix of a beam is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeamMass {
    /// From the shape functions.
    Consistent,
    /// Lumped in the nodes.
    Lumped,
}

impl Structure {
    pub(crate) fn read(branch: &Branch) -> Self {
        let names = branch.list("names").unwrap_or_default();
        Self {
            source: StructureSource::read(branch),
            damping: branch.node("damping").map(DampingSource::read),
            names: names.iter().filter_map(Node::text).map(str::to_owned).collect(),
            influence: branch.node("influence").and_then(Node::numbers),
            points: branch.tables("point").map(Point::read).collect(),
            links: branch.tables("link").map(Link::read).collect(),
            elements: branch.tables("element").map(StructureElement::read).collect(),
        }
    }

    /// The number of degrees of freedom, where the file alone tells it.
    pub fn size(&self) -> Option<usize> {
        let known = match &self.source {
            StructureSource::Matrices { mass, stiffness } => stiffness.size().or(mass.size()),
            StructureSource::ShearBuilding { mass, .. } | StructureSource::Chain { mass, .. } => {
                Some(mass.len())
            }
            StructureSource::Beam(beam) => Some(beam.size()),
            StructureSource::Brick(brick) => Some(brick.size()),
            StructureSource::Frame(frame) => Some(frame.size()),
        };
        let written = match &self.damping {
            Some(DampingSource::Matrix(matrix)) => matrix.size(),
            _ => None,
        };
        let named = (!self.names.is_empty()).then_some(self.names.len());
        known.or(written).or(named).or(self.influence.as_ref().map(Vec::len))
    }
}

impl StructureSource {
    fn read(branch: &Branch) -> Self {
        if let Some(building) = branch.table("shear_building") {
            let storeys = storeys(building);
            let repeat = |key| repeated(building.node(key)?, storeys);
            return Self::ShearBuilding {
                mass: repeat("mass").unwrap_or_default(),
                stiffness: repeat("stiffness").unwrap_or_default(),
                damping: repeat("damping"),
            };
        }
        if let Some(chain) = branch.table("chain") {
            let numbers = |key| chain.node(key).and_then(Node::numbers);
            return Self::Chain {
                mass: numbers("mass").unwrap_or_default(),
                stiffness: numbers("stiffness").unwrap_or_default(),
                damping: numbers("damping"),
                ends: ChainEnds::read(chain.must_word("ends")),
            };
        }
        if let Some(beam) = branch.table("beam") {
            return Self::Beam(Beam::read(beam));
        }
        if let Some(brick) = branch.table("brick") {
            return Self::Brick(Brick::read(brick));
        }
        if let Some(frame) = branch.table("frame") {
            return Self::Frame(Frame::read(frame));
        }
        Self::Matrices {
            mass: MatrixSource::read(branch.must_node("mass")),
            stiffness: MatrixSource::read(branch.must_node("stiffness")),
        }
    }
}

impl MatrixSource {
    pub(crate) fn read(node: &Node) -> Self {
        let Some(table) = node.table() else {
            return Self::Diagonal(node.numbers().unwrap_or_default());
        };
        let factor = table.must_number("unit");
        match table.node("rows").map(|rows| &rows.value) {
            Some(Value::Rows { size, entries }) => Self::Full {
                size: *size,
                entries: entries.iter().map(|entry| entry * factor).collect(),
            },
            _ => Self::File { name: table.must_text("file").to_owned(), factor },
        }
    }

    /// Rows and columns, unless a file has to be opened to know.
    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Diagonal(entries) => Some(entries.len()),
            Self::Full { size, .. } => Some(*size),
            Self::File { .. } => None,
        }
    }
}

impl DampingSource {
    fn read(node: &Node) -> Self {
        let Some(table) = node.table() else { return Self::Matrix(MatrixSource::read(node)) };
        if let Some(modal) = table.node("modal") {
            let ratios = modal.number().map(|ratio| vec![ratio]).or_else(|| modal.numbers());
            return Self::Modal(ratios.unwrap_or_default());
        }
        let Some(rayleigh) = table.table("rayleigh") else {
            return Self::Matrix(MatrixSource::read(node));
        };
        match rayleigh.node("ratios").and_then(Node::numbers).as_deref() {
            Some([first, second]) => {
                let modes = rayleigh.must_list("modes").iter().map(|mode| match mode.value {
                    Value::Count(mode) => mode as usize - 1,
                    _ => 0,
                });
                let modes: Vec<usize> = modes.collect();
                Self::RayleighRatios { ratios: [*first, *second], modes: [modes[0], modes[1]] }
            }
            _ => Self::Rayleigh {
                mass_1_s: rayleigh.must_number("mass"),
                stiffness_s: rayleigh.must_number("stiffness"),
            },
        }
    }
}

impl ChainEnds {
    fn read(word: &str) -> Self {
        match word {
            "fixed-free" => Self::FixedFree,
            "fixed-fixed" => Self::FixedFixed,
            "free-free" => Self::FreeFree,
            "free-fixed" => Self::FreeFixed,
            word => unreachable!("the grammar has no chain ends {word}"),
        }
    }

    /// Springs of a chain of `masses`.
    pub(crate) fn springs(word: &str, masses: usize) -> usize {
        let tied = match Self::read(word) {
            Self::FixedFree | Self::FreeFixed => 1,
            Self::FixedFixed => 2,
            Self::FreeFree => 0,
        };
        (masses + tied).saturating_sub(1)
    }
}

impl Beam {
    fn read(beam: &Branch) -> Self {
        let (area_m2, inertia_m4) = match (beam.number("width"), beam.number("height")) {
            (Some(width), Some(height)) => (width * height, width * height.powi(3) / 12.0),
            _ => (beam.must_number("area"), beam.must_number("inertia")),
        };
        Self {
            elements: beam.must_count("elements") as usize,
            length_m: beam.must_number("length"),
            young_pa: beam.must_number("young"),
            density_kg_m3: beam.must_number("density"),
            area_m2,
            inertia_m4,
            ends: BeamEnds::read(beam.must_word("ends")),
            mass: match beam.must_word("mass") {
                "consistent" => BeamMass::Consistent,
                "lumped" => BeamMass::Lumped,
                word => unreachable!("the grammar has no beam mass {word}"),
            },
        }
    }

    /// Degrees of freedom that are not held: two per node, less those of the ends.
    pub fn size(&self) -> usize {
        (2 * (self.elements + 1)).saturating_sub(self.ends.held())
    }
}

impl BeamEnds {
    pub(crate) fn read(word: &str) -> Self {
        match word {
            "clamped-free" => Self::ClampedFree,
            "clamped-clamped" => Self::ClampedClamped,
            "pinned-pinned" => Self::PinnedPinned,
            "clamped-pinned" => Self::ClampedPinned,
            "free-free" => Self::FreeFree,
            word => unreachable!("the grammar has no beam ends {word}"),
        }
    }

    /// Degrees of freedom that the ends hold.
    pub(crate) fn held(self) -> usize {
        match self {
            Self::FreeFree => 0,
            Self::ClampedFree | Self::PinnedPinned => 2,
            Self::ClampedPinned => 3,
            Self::ClampedClamped => 4,
        }
    }
}

/// Storeys of a building: as stated, or as many as its lists have entries.
pub(crate) fn storeys(building: &Branch) -> Option<usize> {
    let listed = ["mass", "stiffness", "damping"].iter().find_map(|key| building.list(key));
    building.count("storeys").map(|count| count as usize).or(listed.map(<[Node]>::len))
}

fn repeated(node: &Node, count: Option<usize>) -> Option<Vec<f64>> {
    match node.number() {
        Some(number) => Some(vec![number; count.unwrap_or(1)]),
        None => node.numbers(),
    }
}
