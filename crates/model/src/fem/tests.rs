//! Meshes against closed forms.

use super::*;
use crate::reduction::Flexibility;
use nalgebra::DMatrix;
use numerics::eigen;

fn rigid_energy(mesh: &Mesh, motion: &DMatrix<f64>) -> f64 {
    let k = &mesh.component.matrices.stiffness;
    (motion.transpose() * k.times(motion))[(0, 0)].abs() / (k.amax() * motion.norm_squared())
}

#[test]
fn a_free_brick_has_six_rigid_motions_and_its_mass() {
    let block = Brick {
        material: Material::STEEL,
        size_m: [0.3, 0.2, 0.1],
        elements: [3, 2, 2],
        held: false,
    };
    let mesh = brick(&block).unwrap();
    assert_eq!(mesh.component.size(), 3 * 4 * 3 * 3);
    let total = 7850.0 * 0.3 * 0.2 * 0.1;
    for direction in [Direction::X, Direction::Y, Direction::Z] {
        let motion = mesh.influence(direction);
        let motion = DMatrix::from_column_slice(motion.len(), 1, motion.as_slice());
        let mass = (motion.transpose() * mesh.component.matrices.mass.times(&motion))[(0, 0)];
        assert!((mass / total - 1.0).abs() < 1e-12);
        assert!(rigid_energy(&mesh, &motion) < 1e-14);
    }
    let flexibility = Flexibility::of(&mesh.component).unwrap();
    assert_eq!(flexibility.rigid.ncols(), 6);
    assert_eq!(flexibility.suppressed.len(), 6);
    let left = mesh.component.matrices.stiffness.times(&flexibility.rigid).amax();
    assert!(left < 1e-9 * mesh.component.matrices.stiffness.amax());
}

#[test]
fn patch_test_a_uniform_strain_is_exact() {
    // Pulled along x with free sides: u = εx, v = −νεy, w = −νεz balances everywhere inside
    // and on the free faces, and pulls with Eε per area on the ends.
    let (size, elements) = ([0.4, 0.3, 0.2], [4, 3, 2]);
    let material = Material { young_pa: 7e10, poisson: 0.33, density_kg_m3: 2700.0 };
    let mesh = brick(&Brick { material, size_m: size, elements, held: false }).unwrap();
    let strain = 1e-3;
    let mut motion = DMatrix::zeros(mesh.component.size(), 1);
    for (node, place) in mesh.nodes.iter().enumerate() {
        let parts = [place[0], -0.33 * place[1], -0.33 * place[2]];
        for (part, direction) in parts.into_iter().zip([Direction::X, Direction::Y, Direction::Z]) {
            motion[mesh.dof(node, direction).unwrap()] = strain * part;
        }
    }
    let force = mesh.component.matrices.stiffness.times(&motion);
    let pull = 7e10 * strain * size[1] * size[2];
    let mut sum = 0.0;
    for (node, place) in mesh.nodes.iter().enumerate() {
        let fx = force[mesh.dof(node, Direction::X).unwrap()];
        let others = [Direction::Y, Direction::Z].map(|d| force[mesh.dof(node, d).unwrap()]);
        assert!(others.iter().all(|f| f.abs() < 1e-9 * pull));
        if place[0] > size[0] - 1e-9 {
            sum += fx;
        } else if place[0] > 1e-9 {
            assert!(fx.abs() < 1e-9 * pull);
        }
    }
    assert!((sum / pull - 1.0).abs() < 1e-12);
}

fn cantilever(elements: usize) -> Mesh {
    let section = FrameSection::rectangle(0.02, 0.03);
    frame(&Frame {
        material: Material::STEEL,
        nodes: vec![[0.0; 3], [0.6, 0.8, 0.0]],
        sections: vec![section],
        members: vec![Member { nodes: [0, 1], section: 0, elements }],
        clamped: vec![0],
    })
    .unwrap()
}

#[test]
fn a_slanted_cantilever_has_the_analytic_frequencies() {
    let mesh = cantilever(12);
    let modes = eigen::symmetric_modes(
        &mesh.component.matrices.stiffness.to_dense(),
        &mesh.component.matrices.mass.to_dense(),
    )
    .unwrap();
    let section = FrameSection::rectangle(0.02, 0.03);
    let line = 7850.0 * section.area_m2;
    // Bending about both axes: (βL)² √(EI/ρA L⁴).
    let bending =
        |bl: f64, inertia: f64| bl * bl * (Material::STEEL.young_pa * inertia / line).sqrt();
    let mut expected = Vec::new();
    for bl in [1.875104068711961, 4.694091132974174] {
        expected.push(bending(bl, section.inertia_up_m4));
        expected.push(bending(bl, section.inertia_side_m4));
    }
    expected.sort_by(f64::total_cmp);
    for (mode, exact) in expected.into_iter().enumerate() {
        let error = modes.omega_rad_s[mode] / exact - 1.0;
        assert!(error.abs() < 2e-5, "{mode}: {error:e}");
    }
    // The first torsional and axial modes are in there too.
    let polar = section.inertia_up_m4 + section.inertia_side_m4;
    let shear = Material::STEEL.young_pa / 2.6;
    let twist = 0.5 * std::f64::consts::PI * (shear * section.torsion_m4 / (7850.0 * polar)).sqrt();
    let axial = 0.5 * std::f64::consts::PI * (Material::STEEL.young_pa / 7850.0).sqrt();
    for exact in [twist, axial] {
        let near = modes.omega_rad_s.iter().map(|w| (w / exact - 1.0).abs()).fold(1.0, f64::min);
        assert!(near < 2e-3, "{near:e}");
    }
}

#[test]
fn a_portal_frame_stands_and_a_free_one_has_six_rigid_modes() {
    let mut portal = Frame {
        material: Material::STEEL,
        nodes: vec![[0.0; 3], [0.0, 0.0, 3.0], [4.0, 0.0, 3.0], [4.0, 0.0, 0.0]],
        sections: vec![FrameSection::rectangle(0.2, 0.3)],
        members: [[0, 1], [1, 2], [2, 3]]
            .map(|nodes| Member { nodes, section: 0, elements: 5 })
            .to_vec(),
        clamped: vec![0, 3],
    };
    let mesh = frame(&portal).unwrap();
    assert_eq!(mesh.component.size(), 6 * 14);
    assert!(Flexibility::of(&mesh.component).unwrap().suppressed.is_empty());
    assert_eq!(mesh.nearest([4.1, 0.1, 2.9]), 2);
    assert_eq!(mesh.dof(0, Direction::X), None);
    let dof = mesh.dof(2, Direction::TurnY).unwrap();
    assert_eq!(mesh.name(dof), "n3ry");
    portal.clamped.clear();
    let free = frame(&portal).unwrap();
    assert_eq!(Flexibility::of(&free.component).unwrap().rigid.ncols(), 6);
    portal.members[0].nodes = [0, 9];
    assert!(frame(&portal).is_err());
}

#[test]
fn bad_numbers_are_errors() {
    let good =
        Brick { material: Material::STEEL, size_m: [1.0; 3], elements: [1, 1, 1], held: true };
    assert!(brick(&good).is_ok());
    assert!(brick(&Brick { elements: [0, 1, 1], ..good }).is_err());
    assert!(brick(&Brick { elements: [usize::MAX, 2, 2], ..good }).is_err());
    assert!(brick(&Brick { size_m: [1.0, f64::NAN, 1.0], ..good }).is_err());
    let material = Material { poisson: 0.5, ..Material::STEEL };
    assert!(brick(&Brick { material, ..good }).is_err());
}
