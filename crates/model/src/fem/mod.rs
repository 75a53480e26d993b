//! Small finite-element models, for examples, tests and first estimates: solid
//! bricks and frames of beams, as sparse matrices.

mod brick;
mod frame;
#[cfg(test)]
mod tests;

pub use brick::{Brick, brick};
pub use frame::{Frame, FrameSection, Member, frame};

use keys::Keys;
use nalgebra::{DMatrix, DVector};
use numerics::sparse::SparseMatrix;

use crate::check::{check_positive, require};
use crate::error::ModelError;
use crate::reduction::{Component, ReductionError};

/// A linear elastic material.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct Material {
    /// Young's modulus.
    #[key(pressure, positive)]
    pub young_pa: f64,
    /// Poisson's ratio.
    #[key(number, within = -0.99..=0.49, default = 0.3)]
    pub poisson: f64,
    /// Density.
    #[key(density, positive)]
    pub density_kg_m3: f64,
}

impl Material {
    /// Structural steel.
    pub const STEEL: Self = Self { young_pa: 2.1e11, poisson: 0.3, density_kg_m3: 7850.0 };

    fn check(&self) -> Result<(), ModelError> {
        check_positive("young", self.young_pa)?;
        check_positive("density", self.density_kg_m3)?;
        let good = self.poisson > -1.0 && self.poisson < 0.5;
        require(good, "poisson", self.poisson, "greater than -1 and less than 0.5")?;
        Ok(())
    }
}

/// A direction of a node: three displacements, and three rotations for beams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Direction {
    /// Along x.
    X,
    /// Along y.
    Y,
    /// Along z.
    Z,
    /// About x, of a frame.
    #[key(word = "rx")]
    TurnX,
    /// About y, of a frame.
    #[key(word = "ry")]
    TurnY,
    /// About z, of a frame.
    #[key(word = "rz")]
    TurnZ,
}

/// A component with the nodes its DOFs belong to.
#[derive(Debug, Clone, PartialEq)]
pub struct Mesh {
    /// The matrices; undamped, excited by a ground that moves along x.
    pub component: Component,
    /// Coordinates of every node, held ones included.
    pub nodes: Vec<[f64; 3]>,
    per_node: usize,
    /// DOF of each node and direction; `None` where it is held.
    dofs: Vec<Option<usize>>,
}

impl Mesh {
    /// Undamped and shaken along x. The nodes that are not held are given DOFs in their
    /// order; each element comes with its nodes.
    fn assembled<'a>(
        nodes: Vec<[f64; 3]>,
        per_node: usize,
        held: impl Fn(usize) -> bool,
        elements: impl Iterator<Item = (&'a [usize], &'a ElementMatrices)> + Clone,
    ) -> Result<Self, ReductionError> {
        let mut dofs = vec![None; nodes.len() * per_node];
        let mut size = 0;
        for node in (0..nodes.len()).filter(|&node| !held(node)) {
            for dof in &mut dofs[node * per_node..(node + 1) * per_node] {
                *dof = Some(size);
                size += 1;
            }
        }
        let places = dofs.as_slice();
        let sum = |part: fn(&ElementMatrices) -> &DMatrix<f64>| {
            let entries = elements.clone().flat_map(move |(nodes, element)| {
                let place = move |k: usize| places[nodes[k / per_node] * per_node + k % per_node];
                let (values, width) = (part(element), nodes.len() * per_node);
                let entry = move |k: usize| Some((place(k % width)?, place(k / width)?, values[k]));
                (0..width * width).filter_map(entry)
            });
            SparseMatrix::from_triplets(size, size, entries)
        };
        let component = Component::undamped(sum(|of| &of.mass)?, sum(|of| &of.stiffness)?)?;
        let mut mesh = Self { component, nodes, per_node, dofs };
        mesh.component.influence = mesh.influence(Direction::X);
        Ok(mesh)
    }

    /// The DOF of a node in one direction; `None` where it is held, or the
    /// elements have no such DOF.
    pub fn dof(&self, node: usize, direction: Direction) -> Option<usize> {
        let place = direction as usize;
        if place >= self.per_node {
            return None;
        }
        *self.dofs.get(node * self.per_node + place)?
    }

    /// The node nearest to a point.
    pub fn nearest(&self, point: [f64; 3]) -> usize {
        let square = |node: &[f64; 3]| (0..3).map(|i| (node[i] - point[i]).powi(2)).sum::<f64>();
        let order =
            |a: &usize, b: &usize| square(&self.nodes[*a]).total_cmp(&square(&self.nodes[*b]));
        (0..self.nodes.len()).min_by(order).unwrap_or(0)
    }

    /// The motion of every DOF when the ground moves by one metre in a direction.
    pub fn influence(&self, direction: Direction) -> DVector<f64> {
        let mut influence = DVector::zeros(self.component.size());
        for node in 0..self.nodes.len() {
            if let Some(dof) = self.dof(node, direction) {
                influence[dof] = 1.0;
            }
        }
        influence
    }

    /// A name for a DOF: node counted from 1, and direction.
    pub fn name(&self, dof: usize) -> String {
        let words = ["x", "y", "z", "rx", "ry", "rz"];
        match self.dofs.iter().position(|&place| place == Some(dof)) {
            Some(place) => {
                format!("n{}{}", place / self.per_node + 1, words[place % self.per_node])
            }
            None => format!("{}", dof + 1),
        }
    }
}

/// Mass and stiffness of one element, over the DOFs of its nodes.
struct ElementMatrices {
    mass: DMatrix<f64>,
    stiffness: DMatrix<f64>,
}

impl ElementMatrices {
    /// Made exactly symmetric.
    fn new(mass: &DMatrix<f64>, stiffness: &DMatrix<f64>) -> Self {
        let [mass, stiffness] = [mass, stiffness].map(|matrix| 0.5 * (matrix + matrix.transpose()));
        Self { mass, stiffness }
    }
}
