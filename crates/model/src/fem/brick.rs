//! A solid block of eight-node hexahedra.

use nalgebra::DMatrix;

use super::{ElementMatrices, Material, Mesh};
use crate::check::{check_each, check_positive, require};
use crate::reduction::ReductionError;

/// Elements beyond this are no small model.
const MOST_ELEMENTS: usize = 2_000_000;

/// A rectangular block and its mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Brick {
    /// What it is made of.
    pub material: Material,
    /// Edges along x, y and z.
    pub size_m: [f64; 3],
    /// Elements along x, y and z.
    pub elements: [usize; 3],
    /// Whether the face at x = 0 is held; otherwise the block floats.
    pub held: bool,
}

/// Builds the block: trilinear shapes, 2 × 2 × 2 Gauss points, consistent mass.
///
/// Thin elements in bending are too stiff (shear locking): use it for solids, not
/// for plates one element thick.
pub fn brick(block: &Brick) -> Result<Mesh, ReductionError> {
    block.material.check()?;
    check_each(check_positive, "size", &block.size_m)?;
    let [nx, ny, nz] = block.elements;
    let count = nx.saturating_mul(ny).saturating_mul(nz);
    let good = (1..=MOST_ELEMENTS).contains(&count);
    require(good, "elements", count as f64, "from 1 to 2000000")?;
    let h = [0, 1, 2].map(|i| block.size_m[i] / block.elements[i] as f64);
    let element = element(&block.material, h);
    let (my, mz) = (ny + 1, nz + 1);
    let node = |i: usize, j: usize, k: usize| (i * my + j) * mz + k;
    let mut nodes = Vec::with_capacity((nx + 1) * my * mz);
    for i in 0..=nx {
        for j in 0..=ny {
            for k in 0..=nz {
                nodes.push([i as f64 * h[0], j as f64 * h[1], k as f64 * h[2]]);
            }
        }
    }
    let corners: Vec<usize> = (0..count)
        .flat_map(|e| {
            let (i, j, k) = (e / (ny * nz), e / nz % ny, e % nz);
            CORNERS.map(|[a, b, c]| node(i + a, j + b, k + c))
        })
        .collect();
    let elements = corners.chunks(8).map(|corners| (corners, &element));
    Mesh::assembled(nodes, 3, |node| block.held && node < my * mz, elements)
}

const CORNERS: [[usize; 3]; 8] =
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];

fn element(material: &Material, h: [f64; 3]) -> ElementMatrices {
    let (e, nu) = (material.young_pa, material.poisson);
    let lambda = e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
    let shear = e / (2.0 * (1.0 + nu));
    let (mut mass, mut stiffness) = (DMatrix::zeros(24, 24), DMatrix::zeros(24, 24));
    let volume = h[0] * h[1] * h[2] / 8.0;
    let gauss = 0.5 / 3f64.sqrt();
    for point in 0..8 {
        // Local coordinates in 0…1.
        let at = CORNERS[point].map(|c| if c == 0 { 0.5 - gauss } else { 0.5 + gauss });
        let shape = |corner: [usize; 3], i: usize| {
            if corner[i] == 1 { at[i] } else { 1.0 - at[i] }
        };
        let slope = |corner: [usize; 3], i: usize| {
            let sign = if corner[i] == 1 { 1.0 } else { -1.0 };
            let others = (0..3).filter(|&j| j != i).map(|j| shape(corner, j)).product::<f64>();
            sign * others / h[i]
        };
        for (a, &corner) in CORNERS.iter().enumerate() {
            let na: f64 = (0..3).map(|i| shape(corner, i)).product();
            let da = [0, 1, 2].map(|i| slope(corner, i));
            for (b, &other) in CORNERS.iter().enumerate() {
                let nb: f64 = (0..3).map(|i| shape(other, i)).product();
                let db = [0, 1, 2].map(|i| slope(other, i));
                let along: f64 = (0..3).map(|i| da[i] * db[i]).sum();
                for i in 0..3 {
                    mass[(3 * a + i, 3 * b + i)] += material.density_kg_m3 * na * nb * volume;
                    for j in 0..3 {
                        // λ ε_ii ε_jj + 2μ ε:ε of the two unit motions.
                        let mut value = lambda * da[i] * db[j] + shear * da[j] * db[i];
                        if i == j {
                            value += shear * along;
                        }
                        stiffness[(3 * a + i, 3 * b + j)] += value * volume;
                    }
                }
            }
        }
    }
    ElementMatrices::new(&mass, &stiffness)
}
