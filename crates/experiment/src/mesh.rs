//! Meshes, named points and links, as declared.

use super::dof::NodeRef;
use super::tree::{Branch, Node};

/// A solid block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Brick {
    /// Edges along x, y and z.
    pub size_m: [f64; 3],
    /// Elements along x, y and z.
    pub elements: [usize; 3],
    /// Young's modulus.
    pub young_pa: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// Density.
    pub density_kg_m3: f64,
    /// Whether the face at x = 0 is held.
    pub held: bool,
    /// Direction of the ground motion.
    pub ground: Direction,
}

/// A building of columns and beams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Bays along x and y.
    pub bays: [usize; 2],
    /// Storeys along z.
    pub storeys: usize,
    /// Width of a bay along x and y.
    pub bay_m: [f64; 2],
    /// Height of a storey.
    pub storey_m: f64,
    /// Section of a column along x and y.
    pub column_m: [f64; 2],
    /// Width and height of a beam.
    pub beam_m: [f64; 2],
    /// Elements along each member.
    pub elements: usize,
    /// Young's modulus.
    pub young_pa: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// Density.
    pub density_kg_m3: f64,
    /// Direction of the ground motion.
    pub ground: Direction,
}

/// A direction of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Along x.
    X,
    /// Along y.
    Y,
    /// Along z.
    Z,
    /// About x.
    TurnX,
    /// About y.
    TurnY,
    /// About z.
    TurnZ,
}

/// A name for a DOF of a mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The name.
    pub name: String,
    /// The place.
    pub at_m: [f64; 3],
    /// The direction.
    pub direction: Direction,
}

/// A spring, damper or mass added to the matrices.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its ends.
    pub between: [NodeRef; 2],
    /// Of the spring.
    pub stiffness: f64,
    /// Of the damper.
    pub damping: f64,
    /// At the second end.
    pub mass: f64,
}

impl Brick {
    pub(crate) fn read(brick: &Branch) -> Self {
        Self {
            size_m: triple(brick.must_node("size")),
            elements: counts(brick.must_node("elements")),
            young_pa: brick.must_number("young"),
            poisson: brick.must_number("poisson"),
            density_kg_m3: brick.must_number("density"),
            held: brick.must_word("ends") == "clamped-free",
            ground: Direction::read(brick.must_word("ground")),
        }
    }

    /// Degrees of freedom that are not held.
    pub fn size(&self) -> usize {
        let [x, y, z] = self.elements;
        let slices = if self.held { x } else { x + 1 };
        3usize.saturating_mul(slices).saturating_mul((y + 1).saturating_mul(z + 1))
    }
}

impl Frame {
    pub(crate) fn read(frame: &Branch) -> Self {
        Self {
            bays: counts(frame.must_node("bays")),
            storeys: frame.must_count("storeys") as usize,
            bay_m: triple(frame.must_node("bay")),
            storey_m: frame.must_number("storey"),
            column_m: triple(frame.must_node("column")),
            beam_m: triple(frame.must_node("beam")),
            elements: frame.must_count("elements") as usize,
            young_pa: frame.must_number("young"),
            poisson: frame.must_number("poisson"),
            density_kg_m3: frame.must_number("density"),
            ground: Direction::read(frame.must_word("ground")),
        }
    }

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

impl Direction {
    fn read(word: &str) -> Self {
        match word {
            "x" => Self::X,
            "y" => Self::Y,
            "z" => Self::Z,
            "rx" => Self::TurnX,
            "ry" => Self::TurnY,
            "rz" => Self::TurnZ,
            word => unreachable!("the grammar has no direction {word}"),
        }
    }
}

impl Point {
    pub(crate) fn read(point: &Branch) -> Self {
        Self {
            name: point.must_text("name").to_owned(),
            at_m: triple(point.must_node("at")),
            direction: Direction::read(point.must_word("direction")),
        }
    }
}

impl Link {
    pub(crate) fn read(link: &Branch) -> Self {
        let end = |index: usize| {
            NodeRef::read(&link.must_list("between")[index]).unwrap_or(NodeRef::Ground)
        };
        Self {
            between: [end(0), end(1)],
            stiffness: link.number("stiffness").unwrap_or(0.0),
            damping: link.number("damping").unwrap_or(0.0),
            mass: link.number("mass").unwrap_or(0.0),
        }
    }
}

/// The numbers of a list whose length the grammar fixes.
fn triple<const N: usize>(node: &Node) -> [f64; N] {
    let numbers = node.numbers().unwrap_or_default();
    std::array::from_fn(|index| numbers.get(index).copied().unwrap_or(f64::NAN))
}

fn counts<const N: usize>(node: &Node) -> [usize; N] {
    let list = node.list().unwrap_or_default();
    std::array::from_fn(|index| list.get(index).and_then(Node::count).unwrap_or(1) as usize)
}
