//! The step of a reduced model of 150 states: `cargo bench -p twinrig-model --bench
//! reduced_step`. Forces balanced and one period on, the fastest and the median of
//! many rounds. What a loop adds (gate, rig, energies) `twinrig bench` shows.

use std::hint::black_box;
use std::time::Instant;

use model::equations::{Descriptor, Equations, RelativeDof};
use model::fem::{Brick, Direction, Material, brick};
use model::integrator::{Hold, Integrator, Method, Options};
use model::reduction::{ModeChoice, Recipe, reduce};
use nalgebra::DMatrix;
use numerics::block::{hstack, vstack};
use numerics::second_order::SecondOrder;

const STEPS: usize = 2000;

fn main() {
    for interface in [1, 24] {
        let second = reduced(interface);
        let first = in_first_order(&second);
        for method in [Method::Exact(Hold::First), Method::Newmark] {
            let name = method.name();
            let options =
                Options { method, step_s: 1.0 / 4096.0, direct_inertia: None, iterations: 1 };
            let mut both = [&second, &first]
                .map(|equations| Integrator::new(equations, &options).expect("it can be stepped"));
            // Both orders take turns.
            let mut rounds = [Vec::new(), Vec::new()];
            for _ in 0..60 {
                for (rounds, integrator) in rounds.iter_mut().zip(&mut both) {
                    rounds.push(round(integrator, interface));
                }
            }
            for (order, rounds) in ["second", "first"].into_iter().zip(&mut rounds) {
                rounds.sort_by(f64::total_cmp);
                println!(
                    "{} states, {interface} interface DOF(s), {name}, {order} order: fastest {:.2} \
                     us, median {:.2} us",
                    second.state_count(),
                    rounds[0],
                    rounds[rounds.len() / 2]
                );
            }
        }
    }
}

/// The same model as E ẏ = A y, with E = [C M; M 0] and A = [−K 0; 0 M].
fn in_first_order(second: &Equations) -> Equations {
    let SecondOrder { mass, damping, stiffness } = &second.matrices;
    let n = second.size();
    let none = DMatrix::zeros(n, n);
    let square = |a, b, c, d| vstack(&[&hstack(&[a, b]), &hstack(&[c, d])]);
    Equations {
        load: second.load.clone().resize_vertically(2 * n, 0.0),
        states: Some(Box::new(Descriptor {
            e: square(damping, mass, mass, &none),
            a: square(&-stiffness, &none, &none, mass),
        })),
        matrices: SecondOrder {
            mass: none.clone(),
            damping: none.clone(),
            stiffness: none.clone(),
        },
        ..second.clone()
    }
}

/// A steel block held at one end as 75 coordinates.
fn reduced(interface: usize) -> Equations {
    let elements = [24, 3, 3];
    let size_m = elements.map(|count| 0.01 * count as f64);
    let block = Brick { material: Material::STEEL, size_m, elements, held: true };
    let mesh = brick(&block).expect("the block can be built");
    let end = mesh.nodes.iter().enumerate().filter(|(_, at)| at[0] > size_m[0] - 1e-6);
    let directions = [Direction::Y, Direction::X, Direction::Z];
    let dofs: Vec<usize> =
        end.flat_map(|(node, _)| directions.map(|way| mesh.dof(node, way))).flatten().collect();
    let component = mesh.component.with_rayleigh(20.0, 1e-7);
    let modes = ModeChoice::Number(75 - interface);
    let recipe = Recipe::rubin(dofs[..interface].to_vec(), modes);
    let model = reduce(&component, &recipe).expect("the block can be reduced").model;
    assert_eq!(model.states(), 150);
    let load = DMatrix::from_column_slice(75, 1, model.participation.as_slice());
    Equations {
        matrices: SecondOrder {
            mass: model.matrices.mass,
            damping: model.matrices.damping,
            stiffness: model.matrices.stiffness,
        },
        load,
        interface: (0..interface).map(RelativeDof::of_dof).collect(),
        elements: Vec::new(),
        states: None,
    }
}

/// Microseconds of a step, over some thousand of them.
fn round(integrator: &mut Integrator, interface: usize) -> f64 {
    let mut force = vec![0.0; interface];
    let start = Instant::now();
    for step in 0..STEPS {
        let load = [(0.01 * step as f64) % 1.0];
        integrator.equilibrium(&load, &mut force);
        integrator.advance(&load, &load, &force).expect("a linear step converges");
        force.fill(-1e3 * integrator.interface().displacement[0]);
    }
    black_box(&force);
    1e6 * start.elapsed().as_secs_f64() / STEPS as f64
}
