//! A shaken specimen carried over one tick.
//!
//! A linear one is carried exactly. With elements it is classical Runge–Kutta,
//!
//!   ẏ = A y + H w + N r(D y),
//!
//! whose stages are linear in y, w and the stages' element forces r₁ … r₄. So one
//! product gives the deformations at all stages as if no element pushed, to which
//! each force adds what it does to the stages after it, and a second product the
//! next state and the acceleration there. It is the same scheme at half the price.

use nalgebra::DMatrix;
use numerics::discretise;
use numerics::eigen::spectral_radius;
use numerics::panel::PanelMatrix;
use numerics::small::copy;

use super::{ShakenDynamics, ShakenSpecimen};
use crate::element::Element;
use crate::equations::Deformation;
use crate::first_order::beside;

/// Stages of the scheme.
const STAGES: usize = 4;

/// How far each slope leads to the stage after it, and its part of the step.
const REACH: [f64; STAGES] = [0.5, 0.5, 1.0, 0.0];
const PART: [f64; STAGES] = [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0];

/// The prepared step, with its state.
#[derive(Debug, Clone)]
pub struct ShakenStep {
    size: usize,
    states: usize,
    targets: usize,
    /// State; then target, its velocity, 1; then the element forces, stage by stage.
    input: Vec<f64>,
    /// Next state; acceleration of the interface, without what the elements do
    /// there and then.
    output: Vec<f64>,
    map: PanelMatrix,
    /// Deformations of all stages from state and held input, elements idle.
    idle: PanelMatrix,
    deformations: Vec<f64>,
    /// What the force of an earlier stage adds to a deformation, row by row.
    couplings: Vec<f64>,
    /// Acceleration of the interface from the elements, row by row.
    of_elements: Vec<f64>,
    acceleration: Vec<f64>,
    places: Vec<Deformation>,
    elements: Vec<Element>,
    substeps: usize,
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
        let substeps = if elements.is_empty() { 1 } else { substeps(dynamics, step_s) };
        let maps = if elements.is_empty() {
            exact(dynamics, step_s)
        } else {
            staged(dynamics, &places, step_s / substeps as f64)
        };
        let map = PanelMatrix::new(&maps.next);
        let idle = PanelMatrix::new(&maps.idle);
        let mut output = map.output();
        for i in 0..targets {
            output[states + i] = dynamics.acceleration[(i, states)];
        }
        let of_elements = dynamics.acceleration.columns(states + 1, elements.len()).transpose();
        let mut input = vec![0.0; map.columns()];
        input[states + 2 * targets] = 1.0;
        let mut step = Self {
            size: dynamics.size,
            states,
            targets,
            input,
            output,
            map,
            deformations: idle.output(),
            idle,
            couplings: maps.couplings.transpose().as_slice().to_vec(),
            of_elements: of_elements.as_slice().to_vec(),
            acceleration: vec![0.0; targets],
            places,
            elements,
            substeps,
        };
        step.accelerate();
        step
    }

    /// Displacements, velocities, actuator forces.
    #[inline]
    pub fn state(&self) -> &[f64] {
        &self.input[..self.states]
    }

    /// Acceleration of the interface DOFs, m/s².
    #[inline]
    pub fn acceleration(&self) -> &[f64] {
        &self.acceleration
    }

    /// One tick with the target and its velocity held.
    #[inline]
    pub fn advance(&mut self, target: &[f64], velocity: &[f64]) {
        copy(&mut self.input[self.states..][..self.targets], target);
        copy(&mut self.input[self.states + self.targets..][..self.targets], velocity);
        for _ in 0..self.substeps {
            if !self.elements.is_empty() {
                self.push();
            }
            self.map.multiply(&self.input, &mut self.output);
            copy(&mut self.input[..self.states], &self.output[..self.states]);
        }
        let displacement = &self.input[..self.size];
        for (element, place) in self.elements.iter_mut().zip(&self.places) {
            element.commit(place.value(displacement));
        }
        self.accelerate();
    }

    /// The element forces of all stages.
    #[inline]
    fn push(&mut self) {
        let count = self.elements.len();
        let (own, forces) = self.input.split_at_mut(self.states + 2 * self.targets + 1);
        self.idle.multiply(own, &mut self.deformations);
        if let ([element], Some(idle), Ok(forces), Ok(c)) = (
            &self.elements[..],
            self.deformations.first_chunk::<STAGES>(),
            <&mut [f64; STAGES]>::try_from(&mut *forces),
            <&[f64; STAGES * STAGES]>::try_from(&self.couplings[..]),
        ) {
            // The usual case, in registers.
            let f1 = element.trial_force(idle[0]);
            let f2 = element.trial_force(idle[1] + c[4] * f1);
            let f3 = element.trial_force(idle[2] + (c[8] * f1 + c[9] * f2));
            let f4 = element.trial_force(idle[3] + (c[12] * f1 + c[13] * f2 + c[14] * f3));
            *forces = [f1, f2, f3, f4];
            return;
        }
        let mut rows = self.couplings.chunks_exact(STAGES * count);
        for stage in 0..STAGES {
            let (earlier, now) = forces.split_at_mut(stage * count);
            let idle = &self.deformations[stage * count..];
            for (((force, element), idle), row) in
                now.iter_mut().zip(&self.elements).zip(idle).zip(&mut rows)
            {
                let pushed: f64 = row.iter().zip(&*earlier).map(|(c, f)| c * f).sum();
                *force = element.trial_force(idle + pushed);
            }
        }
    }

    #[inline]
    fn accelerate(&mut self) {
        copy(&mut self.acceleration, &self.output[self.states..][..self.targets]);
        if self.elements.is_empty() {
            return;
        }
        let rows = self.of_elements.chunks_exact(self.elements.len());
        for (a, row) in self.acceleration.iter_mut().zip(rows) {
            *a += row.iter().zip(&self.elements).map(|(b, e)| b * e.force()).sum::<f64>();
        }
    }
}

/// A step as matrices.
struct Maps {
    /// Next state and acceleration there from state, held input, element forces.
    next: DMatrix<f64>,
    /// Deformations of all stages from state and held input.
    idle: DMatrix<f64>,
    /// Deformations of all stages from the element forces.
    couplings: DMatrix<f64>,
}

/// Substeps such that |λ|h < 1, with the elements slack and at their steepest:
/// well inside the stability bound of 2.8.
fn substeps(dynamics: &ShakenDynamics, step_s: f64) -> usize {
    let system = &dynamics.system;
    let steepest = &system.dynamics + &system.elements * &dynamics.slopes;
    let radius = |a: &DMatrix<f64>| spectral_radius(a).unwrap_or(0.0);
    let fastest = radius(&system.dynamics).max(radius(&steepest));
    (fastest * step_s).ceil().clamp(1.0, 1000.0) as usize
}

/// Acceleration of the interface from state and held input, elements left out.
fn readout(dynamics: &ShakenDynamics) -> (DMatrix<f64>, DMatrix<f64>) {
    let (states, held) = (dynamics.system.dynamics.nrows(), dynamics.system.held.ncols());
    let of_state = dynamics.acceleration.columns(0, states).into_owned();
    let mut of_held = DMatrix::zeros(of_state.nrows(), held);
    of_held.set_column(held - 1, &dynamics.acceleration.column(states));
    (of_state, of_held)
}

/// The exact step of a linear specimen.
fn exact(dynamics: &ShakenDynamics, step_s: f64) -> Maps {
    let system = &dynamics.system;
    let states = system.dynamics.nrows();
    let held = discretise::zero_order_hold(&system.dynamics, &system.held, step_s);
    let next = beside(&[&held.transition, &held.start]);
    let none = DMatrix::zeros(0, 0);
    let next = above(&[&next, &accelerations(dynamics, &next, states)]);
    Maps { next, idle: none.clone(), couplings: none }
}

/// The acceleration at the next state, whose matrix has the held input from
/// column `held_at` on.
fn accelerations(dynamics: &ShakenDynamics, next: &DMatrix<f64>, held_at: usize) -> DMatrix<f64> {
    let (of_state, of_held) = readout(dynamics);
    let mut acceleration = of_state * next;
    let mut part = acceleration.columns_mut(held_at, of_held.ncols());
    part += of_held;
    acceleration
}

/// The classical Runge–Kutta step.
fn staged(dynamics: &ShakenDynamics, places: &[Deformation], step_s: f64) -> Maps {
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
    let deformations = above(&deformations.iter().collect::<Vec<_>>());
    Maps {
        next: above(&[&next, &accelerations(dynamics, &next, states)]),
        idle: deformations.columns(0, own).into_owned(),
        couplings: deformations.columns(own, forces).into_owned(),
    }
}

/// Blocks above each other.
fn above(blocks: &[&DMatrix<f64>]) -> DMatrix<f64> {
    let columns = blocks.first().map_or(0, |block| block.ncols());
    let mut joined = DMatrix::zeros(blocks.iter().map(|b| b.nrows()).sum(), columns);
    let mut at = 0;
    for block in blocks {
        joined.rows_mut(at, block.nrows()).copy_from(block);
        at += block.nrows();
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::super::Shaker;
    use super::*;
    use crate::element::{Law, Side};
    use crate::equations::PlacedElement;
    use crate::first_order::{FirstOrderStepper, Scheme};

    const SHAKER: Shaker = Shaker {
        gain_n_per_v: 50.0,
        lag_s: 1e-3,
        proportional_v_per_m: 100.0,
        derivative_v_s_per_m: 10.0,
    };

    /// Two masses, both driven, with the given elements.
    fn specimen(elements: Vec<PlacedElement>) -> ShakenSpecimen {
        let two = |a, b, c| DMatrix::from_row_slice(2, 2, &[a, b, b, c]);
        ShakenSpecimen {
            mass: two(3.0, 0.0, 2.0),
            damping: two(6.0, -2.0, 3.0),
            stiffness: two(9e4, -4e4, 5e4),
            interface: vec![1, 0],
            elements,
            preload_n: vec![4.0, 1.0],
        }
    }

    fn gap(place: Deformation, stiffness: f64) -> PlacedElement {
        let law = Law::Gap { stiffness, opening: 5e-5, side: Side::Positive };
        PlacedElement { place, element: Element::new(law) }
    }

    /// The step against the plain scheme, stage after stage.
    fn compare(elements: Vec<PlacedElement>, step_s: f64) -> (usize, f64) {
        let specimen = specimen(elements);
        let dynamics = ShakenDynamics::new(&SHAKER, &specimen).unwrap();
        let mut ours = ShakenStep::new(&dynamics, &specimen, step_s);
        let (system, slopes) = (&dynamics.system, &dynamics.slopes);
        let mut plain =
            FirstOrderStepper::with_slopes(system, slopes, Scheme::ExactZeroHold, step_s);
        let mut elements: Vec<PlacedElement> = specimen.elements.clone();
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
            let acceleration = &dynamics.acceleration * nalgebra::DVector::from_vec(input);
            let signals = ours.state().iter().chain(ours.acceleration());
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
        let between = Deformation { to: Some(1), from: Some(0) };
        let yielding =
            Element::new(Law::Bilinear { stiffness: 3e4, yield_force: 5.0, hardening: 0.1 });
        let elements = || {
            let yielding = PlacedElement { place: between, element: yielding.clone() };
            vec![gap(Deformation::of_dof(1), 2e4), yielding]
        };
        let (substeps, apart) = compare(elements(), 1e-4);
        assert_eq!(substeps, 1);
        assert!(apart < 1e-11, "{apart}");
        let (substeps, apart) = compare(elements(), 1e-2);
        assert!(substeps > 1);
        assert!(apart < 1e-11, "{substeps}: {apart}");
    }

    #[test]
    fn a_gap_closed_at_rest_pushes_at_once() {
        let law = Law::Gap { stiffness: 1e4, opening: -1e-4, side: Side::Positive };
        let closed = PlacedElement { place: Deformation::of_dof(1), element: Element::new(law) };
        let specimen = specimen(vec![closed]);
        let dynamics = ShakenDynamics::new(&SHAKER, &specimen).unwrap();
        let step = ShakenStep::new(&dynamics, &specimen, 1e-4);
        // 4 N of preload against 1 N, at 2 kg.
        assert!((step.acceleration()[0] - 1.5).abs() < 1e-12, "{:?}", step.acceleration());
    }
}
