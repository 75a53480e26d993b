//! One linear system: x' = A x + B u, y = C x + D u, in continuous time or from
//! step to step, with pure delays between some of its ports.
//!
//! Every part of a loop is one of these; [`Join`] wires them together, and
//! [`Response`] evaluates the result at many points of the complex plane.

mod join;
mod response;

pub use join::{Join, Part, Port};
pub use response::{Answer, Response, Slope};

use crate::eigen::{self, EigenError};
use crate::{Complex, Matrix, Vector};

/// What x' stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Time {
    /// The derivative.
    Continuous,
    /// The value one step later; the step in seconds.
    Step(f64),
}

/// The system.
///
/// The last inputs and outputs, as many as there are delays, are ports of pure
/// delays: input i gets what output i gave so many steps before. A long delay
/// would otherwise be as many states.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearSystem {
    /// A.
    pub a: Matrix,
    /// B.
    pub b: Matrix,
    /// C.
    pub c: Matrix,
    /// D.
    pub d: Matrix,
    /// What x' stands for.
    pub time: Time,
    /// Whole steps, at least one each.
    pub delays: Vec<usize>,
}

impl LinearSystem {
    /// A system without delays. The matrices must fit each other.
    pub fn new(a: Matrix, b: Matrix, c: Matrix, d: Matrix, time: Time) -> Self {
        assert!(a.is_square() && a.nrows() == b.nrows() && a.ncols() == c.ncols(), "sizes");
        assert!(d.nrows() == c.nrows() && d.ncols() == b.ncols(), "sizes");
        Self { a, b, c, d, time, delays: Vec::new() }
    }

    /// y = D u, without memory.
    pub fn gain(d: Matrix, time: Time) -> Self {
        let (rows, columns) = d.shape();
        let empty = Matrix::zeros;
        Self::new(empty(0, 0), empty(0, columns), empty(rows, 0), d, time)
    }

    /// The same with its last ports joined by delays.
    pub fn with_delays(self, delays: Vec<usize>) -> Self {
        assert!(delays.iter().all(|&delay| delay > 0), "a delay of no step is a wire");
        assert!(delays.len() <= self.b.ncols().min(self.c.nrows()), "a port for each delay");
        Self { delays, ..self }
    }

    /// Number of states; delays not counted.
    pub fn states(&self) -> usize {
        self.a.nrows()
    }

    /// Number of states if every delay were a row of registers.
    pub fn expanded_states(&self) -> usize {
        self.delays.iter().fold(self.states(), |sum, delay| sum.saturating_add(*delay))
    }

    /// Number of inputs from outside.
    pub fn inputs(&self) -> usize {
        self.b.ncols() - self.delays.len()
    }

    /// Number of outputs to the outside.
    pub fn outputs(&self) -> usize {
        self.c.nrows() - self.delays.len()
    }

    /// The same system `count` times side by side, each with its own signals:
    /// signal s of copy i is number s·`count` + i, so that displacements of all
    /// DOFs come first, then velocities.
    pub fn copies(&self, count: usize) -> Self {
        let spread = |m: &Matrix| m.kronecker(&Matrix::identity(count, count));
        let delays = self.delays.iter().flat_map(|&delay| vec![delay; count]).collect();
        let [a, b, c, d] = [&self.a, &self.b, &self.c, &self.d].map(spread);
        Self { a, b, c, d, time: self.time, delays }
    }

    /// The same system with a row of registers for every delay.
    pub fn expanded(&self) -> Self {
        let (states, inputs, outputs) = (self.states(), self.inputs(), self.outputs());
        let all = self.expanded_states();
        let mut a = Matrix::zeros(all, all);
        let mut b = Matrix::zeros(all, inputs);
        let mut c = Matrix::zeros(outputs, all);
        a.view_mut((0, 0), (states, states)).copy_from(&self.a);
        b.view_mut((0, 0), (states, inputs)).copy_from(&self.b.columns(0, inputs));
        c.view_mut((0, 0), (outputs, states)).copy_from(&self.c.rows(0, outputs));
        let next = |at: &mut usize, delay: &usize| Some(std::mem::replace(at, *at + delay));
        let firsts: Vec<usize> = self.delays.iter().scan(states, next).collect();
        for (i, (&first, &delay)) in firsts.iter().zip(&self.delays).enumerate() {
            for register in first + 1..first + delay {
                a[(register, register - 1)] = 1.0;
            }
            // The first register takes the port's output in.
            a.view_mut((first, 0), (1, states)).copy_from(&self.c.row(outputs + i));
            b.row_mut(first).copy_from(&self.d.view((outputs + i, 0), (1, inputs)));
        }
        // The last register of each delay is the port's input.
        for (i, (&first, &delay)) in firsts.iter().zip(&self.delays).enumerate() {
            let (column, last) = (inputs + i, first + delay - 1);
            let mut into = a.view_mut((0, last), (states, 1));
            into += self.b.column(column);
            let mut into = c.view_mut((0, last), (outputs, 1));
            into += self.d.view((0, column), (outputs, 1));
            for (j, &other) in firsts.iter().enumerate() {
                a[(other, last)] += self.d[(outputs + j, column)];
            }
        }
        let d = self.d.view((0, 0), (outputs, inputs)).into_owned();
        Self::new(a, b, c, d, self.time)
    }

    /// One step of a system without delays: the output of now, and the state moved on.
    pub fn step(&self, state: &mut Vector, input: &Vector) -> Vector {
        assert!(self.delays.is_empty(), "expand the delays first");
        let output = &self.c * &*state + &self.d * input;
        *state = &self.a * &*state + &self.b * input;
        output
    }

    /// Eigenvalues of the state matrix, delays included as registers.
    pub fn poles(&self) -> Result<Vec<Complex>, EigenError> {
        eigen::eigenvalues(&self.expanded().a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    pub(super) fn random(states: usize, inputs: usize, outputs: usize, seed: u64) -> LinearSystem {
        let mut stream = Stream::new(seed, "linear_system");
        let mut matrix =
            |r, c, size: f64| Matrix::from_fn(r, c, |_, _| size * (stream.uniform() - 0.5));
        let size = 1.5 / (states.max(1) as f64).sqrt();
        let (a, b) = (matrix(states, states, size), matrix(states, inputs, 1.0));
        let (c, d) = (matrix(outputs, states, 1.0), matrix(outputs, inputs, 1.0));
        LinearSystem::new(a, b, c, d, Time::Step(1.0))
    }

    #[test]
    fn registers_are_the_delay() {
        // Ports: input 2 is output 1 of three steps ago, input 3 output 2 of the step before.
        let plain = random(4, 4, 3, 1);
        let expanded = plain.clone().with_delays(vec![3, 1]).expanded();
        assert_eq!((expanded.states(), expanded.inputs(), expanded.outputs()), (8, 2, 1));
        let mut stream = Stream::new(2, "delays");
        let (mut x, mut y) = (Vector::zeros(4), Vector::zeros(8));
        let mut past: Vec<Vector> = vec![Vector::zeros(3); 3];
        for _ in 0..50 {
            let outer = Vector::from_fn(2, |_, _| stream.uniform() - 0.5);
            let n = past.len();
            let input =
                Vector::from_column_slice(&[outer[0], outer[1], past[n - 3][1], past[n - 1][2]]);
            let direct = plain.step(&mut x, &input);
            let found = expanded.step(&mut y, &outer);
            assert!((found[0] - direct[0]).abs() < 1e-12);
            past.push(direct);
        }
    }

    #[test]
    fn copies_do_not_mix() {
        let one = random(3, 2, 2, 3);
        let two = one.copies(2);
        let mut states = [Vector::zeros(3), Vector::zeros(3)];
        let mut both = Vector::zeros(6);
        let mut stream = Stream::new(4, "copies");
        for _ in 0..20 {
            let u: Vec<f64> = (0..4).map(|_| stream.uniform()).collect();
            let found = two.step(&mut both, &Vector::from_column_slice(&u));
            for copy in 0..2 {
                let own = Vector::from_column_slice(&[u[copy], u[2 + copy]]);
                let y = one.step(&mut states[copy], &own);
                assert!(
                    (found[copy] - y[0]).abs() < 1e-12 && (found[2 + copy] - y[1]).abs() < 1e-12
                );
            }
        }
    }
}
