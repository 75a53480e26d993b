//! Random components: joined, floating, alike.

#![allow(clippy::unwrap_used)]

use model::joined::{Coordinates, Link, PartForm, Terms, first_order, second_order};
use model::reduction::state_space::{Completion, StateChoice, StateRecipe, reduce_states};
use model::reduction::trust::Verdict;
use model::reduction::{Component, Dampers, ErrorTarget, ModeChoice, Recipe, reduce};
use model::structure::{
    BeamEnds, BeamSection, Ends, MassModel, Support, chain, euler_bernoulli_beam,
};
use nalgebra::{Complex, DMatrix, DVector};
use numerics::block::{hstack, vstack};
use numerics::eigen;
use numerics::random::Stream;
use numerics::second_order::SecondOrder;
use numerics::sparse::SparseMatrix;

const FREE: BeamEnds = BeamEnds { left: Support::Free, right: Support::Free };

/// How many are tried; more where the environment says so.
fn count(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |text| text.parse().unwrap())
}

fn below(random: &mut Stream, limit: usize) -> usize {
    ((random.uniform() * limit as f64) as usize).min(limit - 1)
}

/// A chain or a beam, floating or held, with dampers that no αM + βK explains.
fn part(random: &mut Stream, floating: bool) -> Component {
    let built = if random.uniform() < 0.5 {
        let masses = 2 + below(random, 6);
        let ends = if floating { Ends::FreeFree } else { Ends::FixedFree };
        let springs = ends.springs(masses);
        let mass: Vec<f64> = (0..masses).map(|_| 1.0 + 4.0 * random.uniform()).collect();
        let stiffness: Vec<f64> = (0..springs).map(|_| 1e5 * (0.5 + random.uniform())).collect();
        let damping: Vec<f64> = (0..springs).map(|_| 20.0 * random.uniform()).collect();
        chain(&mass, &stiffness, &damping, ends)
    } else {
        let section = BeamSection {
            flexural_rigidity_n_m2: 2e3 * (0.5 + random.uniform()),
            mass_per_length_kg_m: 2.0 + random.uniform(),
        };
        let ends = if floating { FREE } else { BeamEnds::CANTILEVER };
        let elements = 2 + below(random, 3);
        euler_bernoulli_beam(section, elements, 1.0, ends, MassModel::Consistent)
    };
    let component = Component::from_structure(&built.unwrap()).unwrap();
    let (from, to) = (below(random, component.size()), below(random, component.size()));
    let from = (from != to && floating).then_some(from);
    match (from, floating) {
        (None, true) => component,
        (from, _) => component.with_damper(from, Some(to), 5.0 * random.uniform()).unwrap(),
    }
}

fn form(component: &Component) -> PartForm {
    PartForm::Matrices(component.matrices.clone(), component.excited_masses())
}

/// Joints that hang each part on one before it, some with an arm or turned round.
fn joints(parts: &[Component], random: &mut Stream) -> (Vec<Terms>, Vec<(Terms, f64, f64)>) {
    let mut starts = Vec::new();
    let mut size = 0;
    for part in parts {
        starts.push(size);
        size += part.size();
    }
    let (mut rigid, mut elastic) = (Vec::new(), Vec::new());
    for (index, part) in parts.iter().enumerate().skip(1) {
        let other = below(random, index);
        let own = starts[index] + below(random, part.size());
        let at = starts[other] + below(random, parts[other].size());
        let sign = if random.uniform() < 0.3 { 1.0 } else { -1.0 };
        let mut row = vec![(own, 1.0), (at, sign)];
        let about = starts[other] + below(random, parts[other].size());
        if random.uniform() < 0.3 && about != at {
            row.push((about, 0.4 * random.uniform()));
        }
        rigid.push(row);
        let (a, b) = (starts[index] + below(random, part.size()), starts[other]);
        elastic.push((vec![(a, 1.0), (b, -1.0)], 1e4 * random.uniform(), 3.0 * random.uniform()));
    }
    (rigid, elastic)
}

/// All eigenvalues of M, C and K.
fn eigenvalues(matrices: &SecondOrder) -> Vec<Complex<f64>> {
    eigen::eigenvalues(&matrices.state_matrix().unwrap()).unwrap()
}

/// How far every wanted eigenvalue is from its nearest found one, as a part of its size. Those below
/// a thousandth of the fastest are left out: what is found of them, rigid motions above all, is as
/// good as the rounding of the fastest lets it be. So are those of which two all but coincide, as at
/// critical damping: rounding moves them by its root.
fn worst(wanted: &[Complex<f64>], found: &[Complex<f64>]) -> f64 {
    let largest = wanted.iter().map(|value| value.norm()).fold(0.0, f64::max);
    let error = |value: &Complex<f64>| {
        let near = found.iter().map(|other| (other - value).norm()).fold(f64::MAX, f64::min);
        near / value.norm()
    };
    let is_single = |value: &&Complex<f64>| {
        wanted.iter().filter(|other| (*other - *value).norm() < 1e-2 * value.norm()).count() == 1
    };
    let is_fast = |value: &&Complex<f64>| value.norm() > 1e-3 * largest;
    wanted.iter().filter(is_fast).filter(is_single).map(error).fold(0.0, f64::max)
}

/// The same assembly another way: an orthonormal basis of all motions that the joints allow.
fn in_one_piece(
    parts: &[Component],
    rigid: &[Terms],
    elastic: &[(Terms, f64, f64)],
) -> SecondOrder {
    let n: usize = parts.iter().map(Component::size).sum();
    let mut all =
        SecondOrder { mass: (), damping: (), stiffness: () }.map(|()| DMatrix::<f64>::zeros(n, n));
    let mut from = 0;
    for part in parts {
        let own = part.matrices.map(SparseMatrix::to_dense);
        let size = part.size();
        for (whole, part) in
            [&mut all.mass, &mut all.damping, &mut all.stiffness].into_iter().zip(own.each())
        {
            whole.view_mut((from, from), (size, size)).copy_from(part);
        }
        from += size;
    }
    for (terms, stiffness, damping) in elastic {
        let mut b = DVector::zeros(n);
        terms.iter().for_each(|&(q, c)| b[q] += c);
        all.stiffness += *stiffness * &b * b.transpose();
        all.damping += *damping * &b * b.transpose();
    }
    let mut rows = DMatrix::<f64>::zeros(n, rigid.len());
    for (column, terms) in rigid.iter().enumerate() {
        terms.iter().for_each(|&(q, c)| rows[(q, column)] += c);
    }
    let q = rows.qr().q();
    let projection = DMatrix::identity(n, n) - &q * q.transpose();
    let (_, turn) = eigen::symmetric_pairs(&projection).unwrap();
    let basis = turn.columns(rigid.len(), n - rigid.len()).into_owned();
    all.map(|matrix| basis.tr_mul(&(matrix * &basis)))
}

fn links(t: &Coordinates, elastic: &[(Terms, f64, f64)]) -> Vec<Link> {
    let link = |(terms, stiffness, damping): &(Terms, f64, f64)| Link {
        deformation: terms
            .iter()
            .flat_map(|&(q, c)| t.row(q).into_iter().map(move |(place, a)| (place, a * c)))
            .collect(),
        stiffness: *stiffness,
        damping: *damping,
    };
    elastic.iter().map(link).collect()
}

#[test]
fn coupled_from_parts_is_modelled_as_one() {
    let mut random = Stream::new(41, "assemblies");
    let mut most = 0.0_f64;
    for assembly in 0..count("TWINRIG_ASSEMBLIES", 40) {
        let number = 2 + below(&mut random, 4);
        let floating = random.uniform() < 0.3;
        let parts: Vec<Component> =
            (0..number).map(|index| part(&mut random, floating || index > 0)).collect();
        let (rigid, elastic) = joints(&parts, &mut random);
        let size = parts.iter().map(Component::size).sum();
        let t = Coordinates::new(size, &rigid, |_| false).unwrap();
        let forms: Vec<PartForm> = parts.iter().map(form).collect();
        let links = links(&t, &elastic);
        let (joined, _) = second_order(&t, &forms, |_| true, &links).unwrap();
        let found = eigenvalues(&joined.map(SparseMatrix::to_dense));
        let wanted = eigenvalues(&in_one_piece(&parts, &rigid, &elastic));
        assert_eq!(found.len(), wanted.len());
        most = most.max(worst(&wanted, &found));
        assert!(most < 1e-9, "{assembly}: {most:e}");
        // The same as a system of first order: C and M, −K and M.
        let states = first_order(&t, &forms, &links).descriptor;
        let SecondOrder { mass, damping, stiffness } = joined.map(SparseMatrix::to_dense);
        let none = DMatrix::zeros(mass.nrows(), mass.nrows());
        let e = vstack(&[&hstack(&[&damping, &mass]), &hstack(&[&mass, &none])]);
        let a = vstack(&[&hstack(&[&-&stiffness, &none]), &hstack(&[&none, &mass])]);
        assert!((states.e - &e).amax() <= 1e-14 * e.amax(), "{assembly}");
        assert!((states.a - &a).amax() <= 1e-14 * a.amax(), "{assembly}");
    }
    println!("largest error {most:.1e}");
}

#[test]
fn reduced_parts_keep_the_error_that_their_selection_promises() {
    const BAND: f64 = 150.0;
    const PROMISED: f64 = 1e-4;
    let mut random = Stream::new(42, "reduced assemblies");
    let mut most = 0.0_f64;
    for _ in 0..count("TWINRIG_REDUCED_ASSEMBLIES", 6) {
        let parts: Vec<Component> = (0..2)
            .map(|index| {
                let ends = if index == 0 { Ends::FixedFree } else { Ends::FreeFree };
                let springs = ends.springs(30);
                let stiffness: Vec<f64> =
                    (0..springs).map(|_| 1e5 * (0.5 + random.uniform())).collect();
                let built = chain(&[2.0; 30], &stiffness, &vec![2.0; springs], ends).unwrap();
                Component::from_structure(&built).unwrap()
            })
            .collect();
        let ports = [vec![29], vec![0]];
        let target = ErrorTarget { relative: PROMISED, band_rad_s: BAND, points: 24, most: 29 };
        let reduced: Vec<_> = parts
            .iter()
            .zip(&ports)
            .map(|(part, port)| {
                let recipe = Recipe::rubin(port.clone(), ModeChoice::InterfaceError(target));
                // The dampers of the chain are spread over it.
                let recipe = Recipe { dampers: Dampers::Inside, ..recipe };
                reduce(part, &recipe).unwrap().model
            })
            .collect();
        let small: Vec<Component> = reduced
            .iter()
            .map(|model| {
                let SecondOrder { mass, damping, stiffness } = &model.matrices;
                Component::from_dense(mass, damping, stiffness).unwrap()
            })
            .collect();
        let joined = |parts: &[Component], row: Terms| {
            let size = parts.iter().map(Component::size).sum();
            let t = Coordinates::new(size, &[row], |_| false).unwrap();
            let forms: Vec<PartForm> = parts.iter().map(form).collect();
            let (joined, _) = second_order(&t, &forms, |_| true, &[]).unwrap();
            eigenvalues(&joined.map(SparseMatrix::to_dense))
        };
        let mut wanted = joined(&parts, vec![(30, 1.0), (29, -1.0)]);
        wanted.retain(|value| value.norm() < BAND);
        assert!(wanted.len() > 6);
        let found = joined(&small, vec![(small[0].size(), 1.0), (0, -1.0)]);
        most = most.max(worst(&wanted, &found));
        assert!(most < PROMISED, "{most:e}");
    }
    println!("largest error {most:.1e}");
}

/// So many chains of three masses beside one another, alike but not joined.
fn alike(parts: usize) -> Component {
    let one = [[2e6, -1e6, 0.0], [-1e6, 2e6, -1e6], [0.0, -1e6, 1e6]];
    let block = |entry: &dyn Fn(usize, usize) -> f64| {
        DMatrix::from_fn(3 * parts, 3 * parts, |i, j| {
            if i / 3 == j / 3 { entry(i % 3, j % 3) } else { 0.0 }
        })
    };
    let diagonal = |values: [f64; 3]| block(&|i, j| if i == j { values[i] } else { 0.0 });
    Component::from_dense(
        &diagonal([10.0; 3]),
        &diagonal([2000.0, 3000.0, 20.0]),
        &block(&|i, j| one[i][j]),
    )
    .unwrap()
}

#[test]
fn of_parts_that_are_alike_every_mode_is_kept() {
    let recipe =
        |modes| StateRecipe { completion: Completion::Flexibility, modes, boundary: vec![2] };
    for parts in [2, 5, 6, 34] {
        let cut_off = StateChoice::Imaginary { omega_rad_s: 30.0 * std::f64::consts::TAU };
        let component = alike(parts);
        let model = reduce_states(&component, &recipe(cut_off)).unwrap().model;
        assert_eq!(model.kept.len(), 2 * parts, "{parts}");
        assert!(model.verdict().unwrap().is_stable(), "{parts}");
        // One mode of each part, and each as often as there are parts.
        let found = model.eigenvalues().unwrap();
        let slow = model.kept[0];
        let near = found.iter().filter(|value| (*value - slow).norm() < 1e-6 * slow.norm()).count();
        assert_eq!(near, parts);
        // A number of modes never cuts through those that are equal.
        let some = reduce_states(&component, &recipe(StateChoice::Number(2))).unwrap().model;
        assert_eq!(some.kept.len(), 2 * parts);
    }
    let undamped =
        Component::undamped(alike(4).matrices.mass, alike(4).matrices.stiffness).unwrap();
    let model = reduce(&undamped, &Recipe::rubin(vec![2], ModeChoice::Number(1))).unwrap().model;
    assert_eq!(model.omega_rad_s.len(), 4);
}

#[test]
fn a_free_beam_of_a_thousand_elements_is_stable() {
    let section = BeamSection { flexural_rigidity_n_m2: 2.8e3, mass_per_length_kg_m: 3.2 };
    let beam = euler_bernoulli_beam(section, 1000, 10.0, FREE, MassModel::Consistent).unwrap();
    let component = Component::from_structure(&beam).unwrap();
    for component in [component.clone(), component.with_rayleigh(0.1, 0.0)] {
        let model =
            reduce(&component, &Recipe::rubin(vec![20], ModeChoice::Number(4))).unwrap().model;
        let verdict = Verdict::of(&model).unwrap();
        assert!(verdict.is_passive(), "{verdict:?}");
        // It floats: pushed steadily it goes on, and its two rigid motions have no stiffness.
        let values = eigen::symmetric_eigenvalues(&model.matrices.stiffness).unwrap();
        let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        assert!(sizes[1] < 1e-15 * sizes[6] && sizes[1] < 1e-11 * sizes[2], "{sizes:?}");
    }
}

/// Growth another way: θ of (D + sC)⁻¹C, so that the verdict is not compared with itself.
fn growth_by_shift(c: &DMatrix<f64>, d: &DMatrix<f64>, shift: f64) -> f64 {
    let thetas = eigen::eigenvalues(&(d + c * shift).lu().solve(c).unwrap()).unwrap();
    let growth = thetas.iter().map(|theta| (Complex::from(shift) - theta.inv()).re);
    growth.fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn floating_parts_are_called_unstable_when_they_are() {
    let mut random = Stream::new(43, "floating parts");
    let (mut unstable, mut passive) = (0, 0);
    for number in 0..count("TWINRIG_FLOATING", 120) {
        let mut component = part(&mut random, true);
        // Every third part feeds energy at one place, enough to grow or not.
        if number % 3 == 0 {
            let dof = below(&mut random, component.size());
            component = component.with_damper(None, Some(dof), -30.0 * random.uniform()).unwrap();
        }
        let boundary = vec![below(&mut random, component.size())];
        let cut_off = 100.0 + 500.0 * random.uniform();
        let recipe = StateRecipe {
            completion: Completion::Flexibility,
            modes: StateChoice::Imaginary { omega_rad_s: cut_off },
            boundary: boundary.clone(),
        };
        let Ok(reduction) = reduce_states(&component, &recipe) else { continue };
        let model = reduction.model;
        let growth = growth_by_shift(&model.c, &model.d, 1.3 * cut_off);
        let verdict = model.verdict().unwrap();
        // What the shift makes of double zeros is its rounding.
        if growth > 1e-4 * cut_off {
            assert!(!verdict.is_stable(), "{number}: grows by {growth:e}");
            unstable += 1;
        }
        if let Some(told) = verdict.growing.first() {
            assert!((growth / told.re - 1.0).abs() < 0.01, "{number}: {growth:e} {verdict:?}");
        }
        if number % 3 != 0 {
            let choice = ModeChoice::CutOff { omega_rad_s: cut_off };
            // With most DOFs at dampers there may be nothing left to reduce.
            let Ok(reduction) = reduce(&component, &Recipe::rubin(boundary, choice)) else {
                continue;
            };
            assert!(Verdict::of(&reduction.model).unwrap().is_passive(), "{number}");
            passive += 1;
        }
    }
    println!("{unstable} unstable, {passive} passive");
    assert!(unstable > 10 && passive > 30);
}
