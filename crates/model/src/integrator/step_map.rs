//! A linear step with everything the tick reads off it, as one product: of one
//! model, or of several side by side.

use numerics::gemv::PanelMatrix;
use numerics::lanes::{LANES, Lane, Lanes};
use numerics::small::copy;

use super::StepWork;

/// The step and its state.
///
/// The product takes load, next load, force, state to state, then interface
/// displacement, velocity and the state's part of the acceleration, then, where the
/// energies are read out, C v of every DOF and Lᵀx of every load.
#[derive(Debug, Clone)]
pub struct StepMap<T: Lane = f64> {
    /// Its sizes.
    pub shape: StepShape,
    /// This instant and the next, in turns: load, next load, force; state;
    /// readout; padding. The product reads the first two and writes the last
    /// three of the other one, so nothing is moved, and what was stays readable.
    vectors: [Vec<T>; 2],
    now: usize,
    advance: PanelMatrix<T>,
    /// Interface acceleration from load and from force, row by row.
    of_load: Vec<T>,
    of_force: Vec<T>,
}

/// The sizes of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepShape {
    /// Number of load signals.
    pub loads: usize,
    /// Number of interface DOFs.
    pub forces: usize,
    /// Length of the state.
    pub states: usize,
    /// Rows of C v where the energies are read out: one for every DOF, none for a
    /// first-order model.
    pub work_dofs: Option<usize>,
    /// See [`Method::load_share`](super::Method::load_share).
    pub load_share: f64,
}

impl StepShape {
    /// Where the state begins in a vector.
    #[inline(always)]
    pub(super) fn inputs(&self) -> usize {
        2 * self.loads + self.forces
    }
}

impl StepMap {
    /// At rest. `of_load` and `of_force` are row by row.
    pub(super) fn new(
        shape: StepShape,
        advance: PanelMatrix,
        of_load: Vec<f64>,
        of_force: Vec<f64>,
    ) -> Self {
        let vector = vec![0.0; shape.inputs() + advance.padded_rows()];
        Self { shape, vectors: [vector.clone(), vector], now: 0, advance, of_load, of_force }
    }
}

impl StepMap<Lanes> {
    /// The steps of several models, each at its present state; `None` if they differ
    /// in shape.
    pub fn side_by_side(each: [&StepMap; LANES]) -> Option<Self> {
        let shape = each[0].shape;
        if each.iter().any(|one| one.shape != shape) {
            return None;
        }
        let advance = PanelMatrix::side_by_side(each.map(|one| &one.advance))?;
        let four = |of: fn(&StepMap) -> &[f64]| -> Vec<Lanes> {
            let values = 0..of(each[0]).len();
            values.map(|at| Lanes::each(|lane| of(each[lane])[at])).collect()
        };
        let mut vector = four(|one| &one.vectors[one.now]);
        vector.resize(shape.inputs() + advance.padded_rows(), Lanes::ZERO);
        Some(Self {
            shape,
            vectors: [vector.clone(), vector],
            now: 0,
            advance,
            of_load: four(|one| &one.of_load),
            of_force: four(|one| &one.of_force),
        })
    }
}

impl<T: Lane> StepMap<T> {
    /// State and readout, to be written.
    pub(super) fn output_mut(&mut self) -> &mut [T] {
        &mut self.vectors[self.now][self.shape.inputs()..]
    }

    /// The state: displacement of every DOF, velocity, and what the algorithm keeps.
    #[inline(always)]
    pub fn state(&self) -> &[T] {
        let at = self.shape.inputs();
        &self.vectors[self.now][at..at + self.shape.states]
    }

    /// Displacement and velocity of the interface.
    #[inline(always)]
    pub fn interface(&self) -> (&[T], &[T]) {
        let (at, forces) = (self.shape.inputs() + self.shape.states, self.shape.forces);
        self.vectors[self.now][at..at + 2 * forces].split_at(forces)
    }

    /// Goes one period on.
    #[inline(always)]
    pub fn advance(&mut self, load: &[T], next: &[T], force: &[T]) {
        let StepShape { loads, forces, .. } = self.shape;
        let inputs = self.shape.inputs();
        let [first, second] = &mut self.vectors;
        let (input, output) = if self.now == 0 { (first, second) } else { (second, first) };
        let (s, rest) = input.split_at_mut(loads);
        let (s1, rest) = rest.split_at_mut(loads);
        copy(s, load);
        copy(s1, next);
        copy(&mut rest[..forces], force);
        self.advance.multiply(&input[..self.advance.columns()], &mut output[inputs..]);
        self.now = 1 - self.now;
    }

    /// Acceleration of the interface under load and force.
    #[inline(always)]
    pub fn interface_acceleration(&self, load: &[T], force: &[T], out: &mut [T]) {
        let StepShape { loads, forces, states, .. } = self.shape;
        let at = self.shape.inputs() + states + 2 * forces;
        let of_state = &self.vectors[self.now][at..];
        if let ([a], [s], [f]) = (&mut *out, load, force) {
            *a = of_state[0] + self.of_load[0] * *s + self.of_force[0] * *f;
            return;
        }
        for (i, (a, of_state)) in out.iter_mut().zip(of_state).enumerate() {
            *a = *of_state;
            for (s, of_load) in load.iter().zip(&self.of_load[i * loads..]) {
                *a += *of_load * *s;
            }
            for (f, of_force) in force.iter().zip(&self.of_force[i * forces..]) {
                *a += *of_force * *f;
            }
        }
    }

    /// The work done over the step just taken, where it is read out; `force` is the
    /// one measured now.
    #[inline(always)]
    pub fn work(&self, force: &[T]) -> Option<StepWork<T>> {
        let StepShape { loads, forces, states, work_dofs, load_share } = self.shape;
        let dofs = work_dofs?;
        let (now, last) = (&self.vectors[self.now][..], &self.vectors[1 - self.now][..]);
        let mut work = StepWork::default();
        let x = self.shape.inputs();
        let (held, u) = (2 * loads, x + states);
        let drag = u + 3 * forces;
        // At the end of the step and at its start.
        let pairs = |at: usize, count: usize| now[at..at + count].iter().zip(&last[at..at + count]);
        for ((x, x0), (d, d0)) in pairs(x, dofs).zip(pairs(drag, dofs)) {
            work.dissipated += (*d + *d0) * 0.5 * (*x - *x0);
        }
        let signals = last[..loads].iter().zip(&last[loads..2 * loads]);
        for ((q, q0), (s0, s)) in pairs(drag + dofs, loads).zip(signals) {
            work.input += (*s * load_share + *s0 * (1.0 - load_share)) * (*q - *q0);
        }
        let measured = last[held..held + forces].iter().zip(force);
        for ((u, u0), (f0, f)) in pairs(u, forces).zip(measured) {
            work.feedback_held -= *f0 * (*u - *u0);
            work.feedback_straight -= (*f + *f0) * 0.5 * (*u - *u0);
        }
        Some(work)
    }
}
