//! Several systems wired into one.

use std::ops::Range;

use super::{LinearSystem, Time};
use crate::Matrix;
use crate::solve::is_finite;

/// A system among those that are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part(usize);

/// Some inputs or outputs of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    part: usize,
    signals: Range<usize>,
}

impl Part {
    /// Some of its signals, inputs or outputs as the place asks for.
    pub fn port(self, signals: Range<usize>) -> Port {
        Port { part: self.0, signals }
    }
}

/// Systems of one time and the wires between them.
#[derive(Debug, Clone)]
pub struct Join {
    time: Time,
    parts: Vec<LinearSystem>,
    /// From outputs to inputs; an input that has several gets their sum.
    wires: Vec<(Port, Port)>,
}

impl Join {
    /// Nothing yet.
    pub fn new(time: Time) -> Self {
        Self { time, parts: Vec::new(), wires: Vec::new() }
    }

    /// Takes a system in.
    pub fn add(&mut self, part: LinearSystem) -> Part {
        assert_eq!(part.time, self.time, "systems of one time");
        self.parts.push(part);
        Part(self.parts.len() - 1)
    }

    /// Leads outputs to inputs of the same number.
    pub fn wire(&mut self, from: Port, to: Port) {
        assert_eq!(from.signals.len(), to.signals.len(), "as many outputs as inputs");
        self.wires.push((from, to));
    }

    /// The joint system, with these inputs left open and these outputs shown; an
    /// input that is neither wired nor left open is zero. `None` where signals go
    /// round without a step between and have no unique solution.
    pub fn system(&self, inputs: &[Port], outputs: &[Port]) -> Option<LinearSystem> {
        let sum = |of: fn(&LinearSystem) -> usize| self.parts.iter().map(of).sum::<usize>();
        let states = sum(LinearSystem::states);
        let (own_inputs, own_outputs) = (sum(|p| p.b.ncols()), sum(|p| p.c.nrows()));
        let mut a = Matrix::zeros(states, states);
        let mut b = Matrix::zeros(states, own_inputs);
        let mut c = Matrix::zeros(own_outputs, states);
        let mut d = Matrix::zeros(own_outputs, own_inputs);
        let (mut at, mut from, mut to) = (0, 0, 0);
        // First input and first output of every part.
        let mut firsts = Vec::new();
        for part in &self.parts {
            a.view_mut((at, at), part.a.shape()).copy_from(&part.a);
            b.view_mut((at, from), part.b.shape()).copy_from(&part.b);
            c.view_mut((to, at), part.c.shape()).copy_from(&part.c);
            d.view_mut((to, from), part.d.shape()).copy_from(&part.d);
            firsts.push((from, to));
            at += part.states();
            from += part.b.ncols();
            to += part.c.nrows();
        }
        let shifted = |range: &Range<usize>, by: usize| range.start + by..range.end + by;
        let input_at = |port: &Port| shifted(&port.signals, firsts[port.part].0);
        let output_at = |port: &Port| shifted(&port.signals, firsts[port.part].1);
        // u = F y + S w.
        let mut wired = Matrix::zeros(own_inputs, own_outputs);
        for (output, input) in &self.wires {
            for (output, input) in output_at(output).zip(input_at(input)) {
                wired[(input, output)] += 1.0;
            }
        }
        let mut open: Vec<usize> = inputs.iter().flat_map(&input_at).collect();
        let mut shown: Vec<usize> = outputs.iter().flat_map(&output_at).collect();
        let mut delays = Vec::new();
        for (part, (first_in, first_out)) in self.parts.iter().zip(&firsts) {
            // The last ports are those of the delays.
            open.extend(first_in + part.inputs()..first_in + part.b.ncols());
            shown.extend(first_out + part.outputs()..first_out + part.c.nrows());
            delays.extend(&part.delays);
        }
        let closed = Matrix::identity(own_inputs, own_inputs) - &wired * &d;
        let solved = closed.lu();
        let of_state = solved.solve(&(&wired * &c))?;
        let selected = Matrix::from_fn(own_inputs, open.len(), |i, j| f64::from(open[j] == i));
        let of_input = solved.solve(&selected)?;
        if !(is_finite(&of_state) && is_finite(&of_input)) {
            return None;
        }
        let (c, d) = (c + &d * &of_state, &d * &of_input);
        Some(LinearSystem {
            a: a + &b * of_state,
            b: b * of_input,
            c: c.select_rows(&shown),
            d: d.select_rows(&shown),
            time: self.time,
            delays,
        })
    }
}

#[cfg(test)]
mod tests {

    use super::super::tests::random;
    use super::*;
    use crate::Vector;
    use crate::random::Stream;

    #[test]
    fn a_joint_system_does_what_its_parts_do() {
        // Two parts in a ring, one of them with a delay inside and one without direct part.
        let first = random(3, 3, 3, 5).with_delays(vec![2]);
        let mut second = random(2, 2, 1, 6);
        second.d.fill(0.0);
        let mut join = Join::new(Time::Step(1.0));
        let (one, two) = (join.add(first.clone()), join.add(second.clone()));
        join.wire(one.port(0..2), two.port(0..2));
        join.wire(two.port(0..1), one.port(1..2));
        let joint = join.system(&[one.port(0..1)], &[two.port(0..1), one.port(1..2)]).unwrap();
        assert_eq!((joint.inputs(), joint.outputs(), &joint.delays[..]), (1, 2, &[2][..]));
        let (joint, first) = (joint.expanded(), first.expanded());
        let mut stream = Stream::new(7, "join");
        let mut state = Vector::zeros(joint.states());
        let (mut x, mut y) = (Vector::zeros(first.states()), Vector::zeros(second.states()));
        for _ in 0..60 {
            let w = Vector::from_element(1, stream.uniform() - 0.5);
            let found = joint.step(&mut state, &w);
            let back = &second.c * &y;
            let ahead = first.step(&mut x, &Vector::from_column_slice(&[w[0], back[0]]));
            second.step(&mut y, &ahead.rows(0, 2).into_owned());
            assert!((found[0] - back[0]).abs() < 1e-12, "{found} {back}");
            assert!((found[1] - ahead[1]).abs() < 1e-12, "{found} {ahead}");
        }
    }

    #[test]
    fn a_ring_without_a_step_is_solved_or_refused() {
        let gain =
            |value: f64| LinearSystem::gain(Matrix::from_element(1, 1, value), Time::Continuous);
        let ring = |value: f64| {
            let mut join = Join::new(Time::Continuous);
            let part = join.add(gain(value));
            join.wire(part.port(0..1), part.port(0..1));
            join.system(&[part.port(0..1)], &[part.port(0..1)])
        };
        assert!((ring(0.5).unwrap().d[0] - 1.0).abs() < 1e-15);
        assert!(ring(1.0).is_none());
    }
}
