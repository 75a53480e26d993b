//! Random dampers on a beam of two components: what each method makes of them.

#![allow(clippy::unwrap_used)]

use model::reduction::assembly::{assemble, assemble_states};
use model::reduction::state_space::{Completion, StateChoice, StateRecipe, reduce_states};
use model::reduction::trust::{Acceptance, Verdict, eigenvalues};
use model::reduction::{Component, ModeChoice, Recipe, ReductionError, reduce};
use model::structure::{BeamEnds, BeamSection, MassModel, Support, euler_bernoulli_beam};
use nalgebra::{Complex, DMatrix};
use numerics::eigen;
use numerics::random::Stream;

const LAYOUTS: usize = 200;
const CUT_OFF: f64 = 2e4;

fn beam(elements: usize, ends: BeamEnds, random: &mut Stream) -> Component {
    let section = BeamSection { flexural_rigidity_n_m2: 127.575, mass_per_length_kg_m: 0.7065 };
    let length = 0.05 * elements as f64;
    let beam = euler_bernoulli_beam(section, elements, length, ends, MassModel::Consistent);
    let mut component = Component::from_structure(&beam.unwrap()).unwrap();
    for _ in 0..1 + (3.0 * random.uniform()) as usize {
        let node = (random.uniform() * (component.size() / 2) as f64) as usize;
        let other = (random.uniform() * (component.size() / 2) as f64) as usize;
        // One to a hundred thousand N·s/m, to the ground or between two nodes.
        let damping = 10_f64.powf(5.0 * random.uniform());
        let from = (random.uniform() < 0.3 && other != node).then_some(2 * other);
        component = component.with_damper(from, Some(2 * node), damping).unwrap();
    }
    component
}

/// λ another way: from θ of (D + sC)⁻¹C with a shift, so that the verdict is not
/// compared with itself.
fn growth_by_shift(c: &DMatrix<f64>, d: &DMatrix<f64>) -> f64 {
    let shift = 3333.0;
    let operator = (d + c * shift).lu().solve(c).unwrap();
    let thetas = eigen::eigenvalues(&operator).unwrap();
    thetas
        .iter()
        .map(|theta| (Complex::from(shift) - theta.inv()).re)
        .fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn the_default_is_never_unstable_and_the_state_space_method_is_told_on() {
    let free = BeamEnds { left: Support::Free, right: Support::Free };
    let mut random = Stream::new(11, "damper layouts");
    let (mut unstable, mut skipped) = (0, 0);
    for layout in 0..LAYOUTS {
        let one = beam(10, BeamEnds::CANTILEVER, &mut random);
        let two = beam(8, free, &mut random);
        let parts: Vec<_> = [(&one, vec![18, 19]), (&two, vec![0, 1, 16, 17])]
            .into_iter()
            .map(|(component, interface)| {
                let choice = ModeChoice::CutOff { omega_rad_s: CUT_OFF };
                reduce(component, &Recipe::rubin(interface, choice)).unwrap().model
            })
            .collect();
        let mut next = 10;
        let joints: Vec<Vec<usize>> = parts
            .iter()
            .zip([vec![0, 1], vec![0, 1, 2, 3]])
            .map(|(part, mut own)| {
                for _ in own.len()..part.boundary.len() {
                    own.push(next);
                    next += 1;
                }
                own
            })
            .collect();
        let whole = assemble(&[&parts[0], &parts[1]], &joints).unwrap();
        for model in parts.iter().chain([&whole]) {
            let verdict = Verdict::of(model).unwrap();
            assert!(verdict.is_passive(), "layout {layout}: {verdict:?}");
        }
        let values = eigenvalues(&whole).unwrap();
        let largest = values.iter().map(|value| value.norm()).fold(0.0, f64::max);
        let growth = values.iter().map(|value| value.re).fold(f64::NEG_INFINITY, f64::max);
        assert!(growth < 1e-10 * largest, "layout {layout}: {growth:e}");

        let states: Result<Vec<_>, ReductionError> =
            [(&one, vec![18, 19]), (&two, vec![0, 1, 16, 17])]
                .into_iter()
                .map(|(component, boundary)| {
                    let modes = StateChoice::Imaginary { omega_rad_s: CUT_OFF };
                    let completion = Completion::Flexibility;
                    let recipe = StateRecipe { completion, modes, boundary };
                    Ok(reduce_states(component, &recipe)?.model)
                })
                .collect();
        let Ok(states) = states else {
            skipped += 1;
            continue;
        };
        let joints = [vec![0, 1], vec![0, 1, 2, 3]];
        let coupled = assemble_states(&[&states[0], &states[1]], &joints).unwrap();
        let verdict = coupled.verdict().unwrap();
        let growth = growth_by_shift(&coupled.c, &coupled.d);
        if growth > 1.0 {
            assert!(!verdict.is_stable(), "layout {layout}: grows by {growth} unsaid");
            let told = coupled.first_order(Acceptance::StableOnly).unwrap_err().to_string();
            assert!(told.contains("grows by"), "{told}");
            assert!(coupled.first_order(Acceptance::Any).is_ok());
            unstable += 1;
        } else if growth < 0.0 {
            assert!(verdict.is_stable(), "layout {layout}: {growth} {verdict:?}");
        }
    }
    println!("{unstable} of {LAYOUTS} state-space models unstable, {skipped} not possible");
    assert!(unstable > 0 && skipped < LAYOUTS / 20, "{unstable} {skipped}");
}
