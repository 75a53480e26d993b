//! Meshes, named points and links, as declared.

use keys::Keys;
use model::fem::{Direction, Material};

use super::dof::NodeRef;

/// Most elements along one edge of a mesh.
const MOST_ALONG: u64 = 10_000;
/// Most named points, links and DOFs that are retained or monitored.
pub(crate) const MOST_POINTS: usize = 1000;

/// A solid block of equal eight-node hexahedra, from the origin along x, y and z. Each node has three
/// DOFs, x, y and z. Large ones need `[reduction]`. Bending needs several elements across.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct Brick {
    /// Edges along x, y and z.
    #[key(length, positive)]
    pub size_m: [f64; 3],
    /// Elements along x, y and z.
    #[key(count = 1..=MOST_ALONG)]
    pub elements: [usize; 3],
    /// What it is made of.
    #[key(flatten)]
    pub material: Material,
    /// How the block is held.
    #[key(default = "clamped-free")]
    pub ends: BrickEnds,
    /// Direction of the ground motion.
    #[key(default = "y")]
    pub ground: GroundDirection,
}

/// A building of columns and beams in space: bays along x and y, storeys along z, feet clamped at
/// z = 0. Euler–Bernoulli beams, six DOFs per node: x, y, z, rx, ry, rz. Large ones need
/// `[reduction]`.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct Frame {
    /// Bays along x and y.
    #[key(count = 1..=MOST_ALONG)]
    pub bays: [usize; 2],
    /// Storeys.
    #[key(count = 1..=MOST_ALONG)]
    pub storeys: usize,
    /// Width of a bay along x and y.
    #[key(length, positive)]
    pub bay_m: [f64; 2],
    /// Height of a storey.
    #[key(length, positive)]
    pub storey_m: f64,
    /// Section of a column along x and y.
    #[key(length, positive)]
    pub column_m: [f64; 2],
    /// Width and height of a beam.
    #[key(length, positive)]
    pub beam_m: [f64; 2],
    /// Elements along each member.
    #[key(count = 1..=1000, default = 4)]
    pub elements: usize,
    /// What it is made of.
    #[key(flatten)]
    pub material: Material,
    /// Direction of the ground motion.
    #[key(default = "x")]
    pub ground: GroundDirection,
}

/// How a block is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
#[key(dashed)]
pub enum BrickEnds {
    /// The face at x = 0 is held.
    ClampedFree,
    /// Nothing is held.
    FreeFree,
}

/// A direction of the ground motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum GroundDirection {
    /// The ground moves along x.
    X,
    /// The ground moves along y.
    Y,
    /// The ground moves along z.
    Z,
}

/// A name for one DOF of a `brick` or `frame`: that of the node nearest to a place. Without a point a
/// DOF may be called by its node and direction, such as `"n42y"`, or by its number.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct Point {
    /// The name.
    #[key(text)]
    pub name: String,
    /// The place: x, y and z.
    #[key(length)]
    pub at_m: [f64; 3],
    /// The direction.
    pub direction: Direction,
}

/// A spring, damper or mass added to the structure's own matrices, after its `damping`. So a specimen
/// may be joined to a model that was made without it.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct Link {
    /// The two ends: `"ground"`, a DOF number or a DOF name.
    pub between: [NodeRef; 2],
    /// A spring.
    #[key(stiffness, of_dof, not_negative, at_least_one)]
    pub stiffness: Option<f64>,
    /// A damper.
    #[key(damping, of_dof, not_negative, at_least_one)]
    pub damping: Option<f64>,
    /// A mass at the second end.
    #[key(mass, of_dof, not_negative, at_least_one)]
    pub mass: Option<f64>,
}

impl Brick {
    /// Degrees of freedom that are not held.
    pub fn size(&self) -> usize {
        let [x, y, z] = self.elements;
        let slices = match self.ends {
            BrickEnds::ClampedFree => x,
            BrickEnds::FreeFree => x + 1,
        };
        3usize.saturating_mul(slices).saturating_mul((y + 1).saturating_mul(z + 1))
    }
}

impl Frame {
    /// Joints in a plan.
    fn joints(&self) -> usize {
        (self.bays[0] + 1).saturating_mul(self.bays[1] + 1)
    }

    /// Members.
    pub fn members(&self) -> usize {
        let [x, y] = self.bays;
        let beams = x.saturating_mul(y + 1).saturating_add(y.saturating_mul(x + 1));
        self.storeys.saturating_mul(self.joints().saturating_add(beams))
    }

    /// Degrees of freedom that are not held.
    pub fn size(&self) -> usize {
        let free = self.joints().saturating_mul(self.storeys);
        6usize.saturating_mul(free.saturating_add(self.members().saturating_mul(self.elements - 1)))
    }
}

impl From<GroundDirection> for Direction {
    fn from(direction: GroundDirection) -> Self {
        match direction {
            GroundDirection::X => Self::X,
            GroundDirection::Y => Self::Y,
            GroundDirection::Z => Self::Z,
        }
    }
}
