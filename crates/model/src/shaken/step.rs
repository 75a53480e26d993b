//! A shaken specimen carried over one tick.
//!
//! A linear one is carried exactly. With elements it is classical Runge–Kutta,
//!
//!   ẏ = A y + H w + N r(D y),
//!
//! whose stages are linear in y, w and the stages' element forces r₁ … r₄. So one
//! product gives the next state, the acceleration there, and what the deformations
//! at the stages of the next step would be if nothing pushed. Forces and targets
//! change velocities first: what they do to a deformation comes two stages later
//! (the amplifier makes it three for the target), so a few numbers complete it. It
//! is the same scheme with one product instead of four.

use nalgebra::DMatrix;
use numerics::block::{hstack, vstack};
use numerics::discretise;
use numerics::gemv::PanelMatrix;
use numerics::small::{copy, dot};

use super::{ShakenDynamics, ShakenSpecimen};
use crate::element::Element;
use crate::equations::RelativeDof;

/// Stages of the scheme.
const STAGES: usize = 4;

/// How far each slope leads to the stage after it, and its part of the step.
const REACH: [f64; STAGES] = [0.5, 0.5, 1.0, 0.0];
const PART: [f64; STAGES] = [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0];

/// The prepared step, with its state.
///
/// Two vectors take turns: what one product has written is where the next reads.
/// Each holds target, its velocity and 1; the element forces, stage by stage; the
/// state; then what is read off it, the acceleration of the interface without what
/// the elements do there and then, and the deformations at the stages to come, if
/// nothing pushed.
#[derive(Debug, Clone)]
pub struct ShakenStep {
    states: usize,
    targets: usize,
    vectors: [Vec<f64>; 2],
    now: usize,
    map: PanelMatrix,
    elements: Vec<Element>,
    push: Push,
    /// Acceleration of the interface DOFs, m/s².
    pub acceleration: Vec<f64>,
    substeps: usize,
}

/// What the elements do, row by row.
#[derive(Debug, Clone)]
struct Push {
    /// What a force of stage 1 adds at stage 3, stage 1 at 4 and stage 2 at 4,
    /// element by element.
    couplings: [Vec<f64>; 3],
    /// What the target and its velocity add at stage 4.
    of_target: Vec<f64>,
    /// Acceleration of the interface from the elements.
    of_elements: Vec<f64>,
}

impl ShakenStep {
    /// Prepares a tick of `step_s`, at rest, the elements virgin.
    pub fn new(dynamics: &ShakenDynamics, specimen: &ShakenSpecimen, step_s: f64) -> Self {
        let states = dynamics.system.dynamics.nrows();
        let targets = specimen.interface.len();
        let (places, mut elements): (Vec<_>, Vec<_>) =
            specimen.elements.iter().map(|e| (e.place, e.element.clone())).unzip();
        // A gap that is closed at rest pushes from the first instant on.
        elements.iter_mut().for_each(|element: &mut Element| element.commit(0.0));
        let substeps = match elements.len() {
            0 => 1,
            _ => dynamics.system.substeps(&dynamics.slopes, step_s),
        };
        let maps = Maps::new(dynamics, &places, step_s / substeps as f64);
        let inputs = maps.next.ncols() - states;
        let [of_state, of_input] = [(0, states), (states, inputs)]
            .map(|(from, count)| maps.next.columns(from, count).into_owned());
        let map = PanelMatrix::new(&hstack(&[&of_input, &of_state]));
        let mut vector = vec![0.0; inputs + map.padded_rows()];
        vector[2 * targets] = 1.0;
        vector[inputs + states..][..maps.at_rest.len()].copy_from_slice(maps.at_rest.as_slice());
        let of_elements = dynamics.acceleration.columns(states + 1, elements.len()).into_owned();
        let mut step = Self {
            states,
            targets,
            vectors: [vector.clone(), vector],
            now: 0,
            map,
            elements,
            push: Push {
                couplings: maps.couplings.map(|block| row_by_row(&block)),
                of_target: row_by_row(&maps.of_target),
                of_elements: row_by_row(&of_elements),
            },
            acceleration: vec![0.0; targets],
            substeps,
        };
        let idle = &maps.at_rest.as_slice()[..targets];
        step.push.accelerate(&step.elements, idle, &mut step.acceleration);
        step
    }

    /// Where the state begins.
    #[inline(always)]
    fn inputs(&self) -> usize {
        2 * self.targets + 1 + STAGES * self.elements.len()
    }

    /// Displacements, velocities, actuator forces.
    #[inline(always)]
    pub fn state(&self) -> &[f64] {
        &self.vectors[self.now][self.inputs()..][..self.states]
    }

    /// One tick with the target and its velocity held.
    #[inline]
    pub fn advance(&mut self, target: &[f64], velocity: &[f64]) {
        self.run(1, |_, now| {
            copy(now.target, target);
            copy(now.velocity, velocity);
            true
        });
    }

    /// Goes through `ticks`. Before each, `lead` sees where the specimen is and
    /// sets target and velocity, which are then held; if it says no, the run ends
    /// there, before that tick. How many ticks were done.
    #[inline]
    pub fn run(&mut self, ticks: usize, lead: impl FnMut(usize, Instant<'_>) -> bool) -> usize {
        // The usual numbers are known to the compiler: no loop is left of them.
        match (self.targets, self.elements.len()) {
            (1, 0) => self.run_sized(1, 0, ticks, lead),
            (1, 1) => self.run_sized(1, 1, ticks, lead),
            (targets, elements) => self.run_sized(targets, elements, ticks, lead),
        }
    }

    #[inline(always)]
    fn run_sized(
        &mut self,
        targets: usize,
        count: usize,
        ticks: usize,
        mut lead: impl FnMut(usize, Instant<'_>) -> bool,
    ) -> usize {
        let (states, forced) = (self.states, STAGES * count);
        let inputs = 2 * targets + 1 + forced;
        let length = inputs + self.map.padded_rows();
        let [first, second] = &mut self.vectors;
        let (mut now, mut next) = (&mut first[..length], &mut second[..length]);
        if self.now == 1 {
            std::mem::swap(&mut now, &mut next);
        }
        let (elements, acceleration) = (&mut self.elements[..count], &mut self.acceleration);
        let push = &self.push;
        for tick in 0..ticks {
            let (held, rest) = now.split_at_mut(inputs);
            let (target, rates) = held.split_at_mut(targets);
            let (velocity, state) = (&mut rates[..targets], &rest[..states]);
            if !lead(tick, Instant { state, acceleration: &*acceleration, target, velocity }) {
                return tick;
            }
            for substep in 0..self.substeps {
                let (held, rest) = now.split_at_mut(inputs);
                let (held, forces) = held.split_at_mut(2 * targets + 1);
                let idle = &rest[states + targets..][..forced];
                push.forces(elements, &held[..2 * targets], idle, forces, substep == 0);
                self.map.multiply(&now[..inputs + states], &mut next[inputs..]);
                if substep + 1 < self.substeps {
                    copy(&mut next[..2 * targets], &now[..2 * targets]);
                }
                std::mem::swap(&mut now, &mut next);
                self.now = 1 - self.now;
            }
            let read = &now[inputs + states..];
            // At the first stage nothing has moved yet: the deformation is that of
            // the state.
            for (element, deformation) in elements.iter_mut().zip(&read[targets..]) {
                element.commit(*deformation);
            }
            push.accelerate(elements, &read[..targets], acceleration);
        }
        ticks
    }
}

/// What a tick begins with, and where its target goes.
#[derive(Debug)]
pub struct Instant<'a> {
    /// Displacements, velocities, actuator forces.
    pub state: &'a [f64],
    /// Of the interface DOFs, m/s².
    pub acceleration: &'a [f64],
    /// Of the interface DOFs, m.
    pub target: &'a mut [f64],
    /// Of the target, m/s.
    pub velocity: &'a mut [f64],
}

impl Push {
    /// The element forces of all stages. `fresh`: the elements stand where the
    /// step begins.
    #[inline(always)]
    fn forces(
        &self,
        elements: &[Element],
        held: &[f64],
        idle: &[f64],
        forces: &mut [f64],
        fresh: bool,
    ) {
        let count = elements.len();
        for (j, element) in elements.iter().enumerate() {
            forces[j] = if fresh { element.force() } else { element.trial_force(idle[j]) };
            forces[count + j] = element.trial_force(idle[count + j]);
        }
        for (j, element) in elements.iter().enumerate() {
            let of = |block: usize, from: usize| {
                let row = &self.couplings[block][j * count..][..count];
                dot(row, &forces[from..from + count])
            };
            let target = dot(&self.of_target[j * held.len()..][..held.len()], held);
            let third = idle[2 * count + j] + of(0, 0);
            let fourth = idle[3 * count + j] + of(1, 0) + of(2, count) + target;
            forces[2 * count + j] = element.trial_force(third);
            forces[3 * count + j] = element.trial_force(fourth);
        }
    }

    /// The acceleration of the interface with what the elements do.
    #[inline(always)]
    fn accelerate(&self, elements: &[Element], idle: &[f64], out: &mut [f64]) {
        for (i, (out, idle)) in out.iter_mut().zip(idle).enumerate() {
            let row = &self.of_elements[i * elements.len()..][..elements.len()];
            *out = row.iter().zip(elements).fold(*idle, |a, (b, e)| a + b * e.force());
        }
    }
}

/// A step as matrices.
struct Maps {
    /// Next state, acceleration there and deformations from there, from state,
    /// held input, element forces.
    next: DMatrix<f64>,
    /// Acceleration and deformations of a specimen at rest.
    at_rest: DMatrix<f64>,
    /// See [`ShakenStep`].
    couplings: [DMatrix<f64>; 3],
    of_target: DMatrix<f64>,
}

fn row_by_row(matrix: &DMatrix<f64>) -> Vec<f64> {
    matrix.transpose().as_slice().to_vec()
}

impl Maps {
    /// Exact without elements, else classical Runge–Kutta.
    fn new(dynamics: &ShakenDynamics, places: &[RelativeDof], step_s: f64) -> Self {
        let system = &dynamics.system;
        let (states, held) = (system.dynamics.nrows(), system.held.ncols());
        let count = places.len();
        let mut deformation = DMatrix::zeros(count, states);
        for (j, place) in places.iter().enumerate() {
            let direction = place.direction(dynamics.size);
            deformation.view_mut((j, 0), (1, dynamics.size)).copy_from(&direction.transpose());
        }
        // Columns: state, held input, forces of every stage.
        let (own, forces) = (states + held, STAGES * count);
        let mut start = DMatrix::zeros(states, own + forces);
        start.columns_mut(0, states).fill_with_identity();
        let mut driven = DMatrix::zeros(states, own + forces);
        driven.columns_mut(states, held).copy_from(&system.held);
        let (mut at, mut next) = (start.clone(), start.clone());
        let mut deformations = Vec::new();
        for stage in 0..STAGES {
            deformations.push(&deformation * &at);
            let mut slope = &system.dynamics * &at + &driven;
            let mut pushed = slope.columns_mut(own + stage * count, count);
            pushed += &system.elements;
            next += step_s * PART[stage] * &slope;
            at = &start + step_s * REACH[stage] * slope;
        }
        let block = |stage: usize, from: usize, columns: usize| {
            deformations[stage].columns(from, columns).into_owned()
        };
        let couplings = [(2, 0), (3, 0), (3, 1)];
        let couplings = couplings.map(|(to, from)| block(to, own + from * count, count));
        let of_target = block(STAGES - 1, states, held - 1);
        if count == 0 {
            let exact = discretise::zero_order_hold(&system.dynamics, &system.held, step_s);
            next = hstack(&[&exact.transition, &exact.start]);
        }
        // What is read off a state: acceleration and deformations, from the state and from 1.
        let idle = vstack(&deformations.iter().collect::<Vec<_>>());
        let columns = |m: &DMatrix<f64>, from, width| m.columns(from, width).into_owned();
        let of_state =
            vstack(&[&columns(&dynamics.acceleration, 0, states), &columns(&idle, 0, states)]);
        let at_rest =
            vstack(&[&columns(&dynamics.acceleration, states, 1), &columns(&idle, own - 1, 1)]);
        let mut read = of_state * &next;
        let mut of_one = read.column_mut(own - 1);
        of_one += at_rest.column(0);
        Self { next: vstack(&[&next, &read]), at_rest, couplings, of_target }
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DVector;
    use numerics::second_order::SecondOrder;

    use super::super::Shaker;
    use super::*;
    use crate::element::{Law, Side};
    use crate::equations::ConnectedElement;
    use crate::first_order::{FirstOrderStepper, Scheme};

    const SHAKER: Shaker = Shaker {
        gain_n_per_v: 50.0,
        lag_s: 1e-3,
        proportional_v_per_m: 100.0,
        derivative_v_s_per_m: 10.0,
    };

    /// Two masses, both driven, with the given elements.
    fn specimen(elements: Vec<ConnectedElement>) -> ShakenSpecimen {
        let two = |a, b, c| DMatrix::from_row_slice(2, 2, &[a, b, b, c]);
        ShakenSpecimen {
            matrices: SecondOrder {
                mass: two(3.0, 0.0, 2.0),
                damping: two(6.0, -2.0, 3.0),
                stiffness: two(9e4, -4e4, 5e4),
            },
            interface: vec![1, 0],
            elements,
            preload_n: vec![4.0, 1.0],
        }
    }

    fn gap(place: RelativeDof, stiffness: f64) -> ConnectedElement {
        let law = Law::Gap { stiffness, opening: 5e-5, side: Side::Positive };
        ConnectedElement { place, element: Element::new(law) }
    }

    /// The step against the plain scheme, stage after stage.
    fn compare(elements: Vec<ConnectedElement>, step_s: f64) -> (usize, f64) {
        let specimen = specimen(elements);
        let dynamics = ShakenDynamics::new(&SHAKER, &specimen).unwrap();
        let mut ours = ShakenStep::new(&dynamics, &specimen, step_s);
        let (system, slopes) = (&dynamics.system, &dynamics.slopes);
        let mut plain =
            FirstOrderStepper::with_slopes(system, slopes, Scheme::ExactZeroHold, step_s);
        let mut elements: Vec<ConnectedElement> = specimen.elements.clone();
        let (mut apart, mut largest): (f64, f64) = (0.0, 0.0);
        for tick in 0..2000 {
            let t = f64::from(tick) * step_s;
            let (target, velocity) =
                ([1e-3 * (90.0 * t).sin(), 5e-4], [0.09 * (90.0 * t).cos(), 0.0]);
            ours.advance(&target, &velocity);
            let held = [target[0], target[1], velocity[0], velocity[1], 1.0];
            plain.advance(&[], &[], &held, |y, r| {
                for (r, placed) in r.iter_mut().zip(&elements) {
                    *r = placed.element.trial_force(placed.place.value(&y[..2]));
                }
            });
            let y = plain.state();
            let mut input = y.to_vec();
            input.push(1.0);
            for placed in &mut elements {
                placed.element.commit(placed.place.value(&y[..2]));
                input.push(placed.element.force());
            }
            let acceleration = &dynamics.acceleration * DVector::from_vec(input);
            let signals = ours.state().iter().chain(&ours.acceleration);
            for (ours, plain) in signals.zip(y.iter().chain(acceleration.iter())) {
                apart = apart.max((ours - plain).abs() / (1.0 + plain.abs()));
                largest = largest.max(plain.abs());
            }
        }
        assert!(largest > 1.0, "something moves: {largest}");
        (ours.substeps, apart)
    }

    #[test]
    fn a_linear_specimen_is_carried_exactly() {
        let (substeps, apart) = compare(Vec::new(), 1e-4);
        assert_eq!(substeps, 1);
        assert!(apart < 1e-12, "{apart}");
    }

    #[test]
    fn elements_push_as_in_the_plain_scheme() {
        let between = RelativeDof { to: Some(1), from: Some(0) };
        let yielding =
            Element::new(Law::Bilinear { stiffness: 3e4, yield_force: 5.0, hardening: 0.1 });
        let elements = || {
            let yielding = ConnectedElement { place: between, element: yielding.clone() };
            vec![gap(RelativeDof::of_dof(1), 2e4), yielding]
        };
        let (substeps, apart) = compare(elements(), 1e-4);
        assert_eq!(substeps, 1);
        assert!(apart < 1e-11, "{apart}");
        let (_, apart) = compare(vec![gap(between, 2e4)], 1e-4);
        assert!(apart < 1e-11, "one element: {apart}");
        let (substeps, apart) = compare(elements(), 1e-2);
        assert!(substeps > 1);
        assert!(apart < 1e-11, "{substeps}: {apart}");
    }

    #[test]
    fn a_gap_closed_at_rest_pushes_at_once() {
        let law = Law::Gap { stiffness: 1e4, opening: -1e-4, side: Side::Positive };
        let closed = ConnectedElement { place: RelativeDof::of_dof(1), element: Element::new(law) };
        let specimen = specimen(vec![closed]);
        let dynamics = ShakenDynamics::new(&SHAKER, &specimen).unwrap();
        let step = ShakenStep::new(&dynamics, &specimen, 1e-4);
        // 4 N of preload against 1 N, at 2 kg.
        assert!((step.acceleration[0] - 1.5).abs() < 1e-12, "{:?}", step.acceleration);
    }
}
