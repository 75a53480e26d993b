//! Frames of straight beams in space.

use nalgebra::{DMatrix, Matrix3, Vector3};

use super::{ElementMatrices, Material, Mesh};
use crate::check::{check_each, check_positive, require};
use crate::reduction::ReductionError;
use crate::structure::{bending_mass, bending_stiffness};

/// Elements beyond this are no small model.
const MOST_ELEMENTS: usize = 500_000;

/// A beam's cross-section.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameSection {
    /// A.
    pub area_m2: f64,
    /// Second moment for bending in the plane of the member and its `up` vector.
    pub inertia_up_m4: f64,
    /// Second moment for bending across that plane.
    pub inertia_side_m4: f64,
    /// Torsion constant.
    pub torsion_m4: f64,
}

impl FrameSection {
    /// A solid rectangle: `up_m` along the member's `up` vector, `side_m` across.
    /// The torsion constant is Roark's approximation, within 0.2 %.
    pub fn rectangle(side_m: f64, up_m: f64) -> Self {
        let (long, short) = (side_m.max(up_m), side_m.min(up_m));
        let ratio = short / long;
        let torsion =
            long * short.powi(3) / 3.0 * (1.0 - 0.63 * ratio * (1.0 - ratio.powi(4) / 12.0));
        Self {
            area_m2: side_m * up_m,
            inertia_up_m4: side_m * up_m.powi(3) / 12.0,
            inertia_side_m4: up_m * side_m.powi(3) / 12.0,
            torsion_m4: torsion,
        }
    }
}

/// A straight member between two nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Its ends.
    pub nodes: [usize; 2],
    /// Its section, by its place in [`Frame::sections`].
    pub section: usize,
    /// Elements along it.
    pub elements: usize,
}

/// A frame: nodes, members, and the nodes that are clamped.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// What all members are made of.
    pub material: Material,
    /// Coordinates of the joints.
    pub nodes: Vec<[f64; 3]>,
    /// Sections the members refer to.
    pub sections: Vec<FrameSection>,
    /// The members.
    pub members: Vec<Member>,
    /// Joints that neither move nor turn.
    pub clamped: Vec<usize>,
}

/// Builds the frame of Euler–Bernoulli beams with consistent mass. `up` of a
/// member is z, or x for a member along z. The joints keep their numbers; nodes
/// inside members follow.
pub fn frame(frame: &Frame) -> Result<Mesh, ReductionError> {
    frame.material.check()?;
    let total: usize = frame.members.iter().map(|member| member.elements).sum();
    let good = (1..=MOST_ELEMENTS).contains(&total);
    require(good, "elements", total as f64, "from 1 to 500000")?;
    let mut nodes = frame.nodes.clone();
    let mut matrices = Vec::with_capacity(frame.members.len());
    // Ends of each, and its member.
    let mut elements = Vec::with_capacity(total);
    for (index, member) in frame.members.iter().enumerate() {
        let [from, to] = member.nodes;
        let (good, last) = (from != to && from.max(to) < frame.nodes.len(), from.max(to) + 1);
        require(good, "node of a member", last as f64, "a joint that exists, two per member")?;
        let good = member.elements > 0 && member.section < frame.sections.len();
        let section = (member.section + 1) as f64;
        require(good, "section of a member", section, "a section that exists")?;
        let section = &frame.sections[member.section];
        let FrameSection { area_m2, inertia_up_m4, inertia_side_m4, torsion_m4 } = section;
        check_each(
            check_positive,
            "section",
            [area_m2, inertia_up_m4, inertia_side_m4, torsion_m4],
        )?;
        let (a, b) = (Vector3::from(frame.nodes[from]), Vector3::from(frame.nodes[to]));
        let length = (b - a).norm() / member.elements as f64;
        check_positive("length of a member", length)?;
        matrices.push(element(&frame.material, section, length, (b - a).normalize()));
        let mut last = from;
        for part in 1..=member.elements {
            let next = if part == member.elements {
                to
            } else {
                let at = a + (b - a) * (part as f64 / member.elements as f64);
                nodes.push(at.into());
                nodes.len() - 1
            };
            elements.push(([last, next], index));
            last = next;
        }
    }
    let elements = elements.iter().map(|(ends, index)| (&ends[..], &matrices[*index]));
    Mesh::assembled(nodes, 6, |node| frame.clamped.contains(&node), elements)
}

/// An element in global directions. Local DOFs of an end: along, up, side, and the
/// turns about them.
fn element(
    material: &Material,
    section: &FrameSection,
    l: f64,
    along: Vector3<f64>,
) -> ElementMatrices {
    let e = material.young_pa;
    let g = e / (2.0 * (1.0 + material.poisson));
    let line = material.density_kg_m3 * section.area_m2;
    let polar = material.density_kg_m3 * (section.inertia_up_m4 + section.inertia_side_m4);
    let (mut mass, mut stiffness) = (DMatrix::zeros(12, 12), DMatrix::zeros(12, 12));
    // A bar: values at (0,0) and (0,1) of its 2 × 2 matrix, for DOFs i and i + 6.
    let bar = |matrix: &mut DMatrix<f64>, dof: usize, own: f64, other: f64| {
        (matrix[(dof, dof)], matrix[(dof + 6, dof + 6)]) = (own, own);
        (matrix[(dof, dof + 6)], matrix[(dof + 6, dof)]) = (other, other);
    };
    let axial = e * section.area_m2 / l;
    let torsion = g * section.torsion_m4 / l;
    bar(&mut stiffness, 0, axial, -axial);
    bar(&mut stiffness, 3, torsion, -torsion);
    bar(&mut mass, 0, line * l / 3.0, line * l / 6.0);
    bar(&mut mass, 3, polar * l / 3.0, polar * l / 6.0);
    // Bending: deflection up turns about side with +, deflection to the side
    // turns about up with −.
    let (k, m) = (bending_stiffness(l), bending_mass(l));
    for (places, sign, inertia) in [
        ([1, 5, 7, 11], 1.0, section.inertia_up_m4),
        ([2, 4, 8, 10], -1.0, section.inertia_side_m4),
    ] {
        for (i, &row) in places.iter().enumerate() {
            for (j, &column) in places.iter().enumerate() {
                let turn = if i % 2 == j % 2 { 1.0 } else { sign };
                stiffness[(row, column)] += turn * k[i][j] * e * inertia / l.powi(3);
                mass[(row, column)] += turn * m[i][j] * line * l / 420.0;
            }
        }
    }
    let up = if along.z.abs() > 0.999 { Vector3::x() } else { Vector3::z() };
    let up = (up - along * along.dot(&up)).normalize();
    // R A Rᵀ with R the rotation of each triple of DOFs.
    let axes = Matrix3::from_columns(&[along, up, along.cross(&up)]);
    let mut turn = DMatrix::zeros(12, 12);
    for triple in 0..4 {
        turn.view_mut((3 * triple, 3 * triple), (3, 3)).copy_from(&axes);
    }
    let turned = |matrix: DMatrix<f64>| &turn * matrix * turn.transpose();
    ElementMatrices::new(&turned(mass), &turned(stiffness))
}
