//! A steel block held at one end, with a grid of 8 nodes at its free end as interface.

use model::fem::{Brick, Direction, Material, Mesh, brick};

/// The block with so many elements along each edge, and its 24 interface DOFs.
pub(crate) fn block(elements: [usize; 3]) -> (Mesh, Vec<usize>) {
    let size_m = elements.map(|count| 0.01 * count as f64);
    let block = Brick { material: Material::STEEL, size_m, elements, held: true };
    let mesh = brick(&block).expect("the block can be built");
    let [x, y, z] = size_m;
    let corners = [0.0, 0.5, 1.0].map(|b| [0.0, 0.5, 1.0].map(|c| [x, b * y, c * z]));
    let nodes = corners.iter().flatten().enumerate().filter(|(k, _)| *k != 4);
    let nodes: Vec<usize> = nodes.map(|(_, point)| mesh.nearest(*point)).collect();
    let directions = [Direction::X, Direction::Y, Direction::Z];
    let dofs = nodes.iter().flat_map(|&node| directions.map(|way| mesh.dof(node, way)));
    let interface = dofs.flatten().collect();
    (mesh, interface)
}
