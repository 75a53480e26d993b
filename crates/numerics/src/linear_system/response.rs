//! A system at many points of the complex plane.

use super::{LinearSystem, Time};
use crate::eigen::{self, EigenError};
use crate::resolvent::Resolvent;
use crate::solve::is_finite;
use crate::{Complex, ComplexMatrix, Matrix};

/// C (λI − A)⁻¹ B + D, prepared once. λ is s in continuous time and z = e^{sh}
/// from step to step.
#[derive(Debug, Clone)]
pub struct Response {
    core: Core,
    direct: ComplexMatrix,
    /// Whole steps between the last outputs and the last inputs.
    delays: Vec<usize>,
    /// What λ stands for.
    pub time: Time,
    /// Eigenvalues of A, delays left open.
    pub poles: Vec<Complex>,
}

/// (λI − A)⁻¹ as a sum over the parts of A that no entry joins. Taken together, parts
/// with the same poles (the DOFs of a rig) would mix, and cost each other digits.
#[derive(Debug, Clone)]
struct Core {
    /// Partial fractions, one row of the input and one column of the output for each of
    /// the first poles: a point costs as many divisions as there are states.
    input: ComplexMatrix,
    output: ComplexMatrix,
    /// Parts whose eigenvectors are nearly parallel: n² for each point.
    stretched: Vec<Resolvent>,
}

/// A system at one point.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Outputs from inputs.
    pub matrix: ComplexMatrix,
    /// det(I − …) of the delays that are closed within.
    pub inner: Complex,
}

/// How an [`Answer`] changes with λ.
#[derive(Debug, Clone)]
pub struct Slope {
    /// dG/dλ.
    pub matrix: ComplexMatrix,
    /// d ln(inner)/dλ.
    pub inner: Complex,
}

impl Response {
    /// Prepares a system.
    pub fn new(system: &LinearSystem) -> Result<Self, EigenError> {
        let (mut parts, mut stretched, mut other_poles) = (Vec::new(), Vec::new(), Vec::new());
        for part in separate(system) {
            match fractions(&part) {
                Some(found) => parts.push(found),
                None => {
                    other_poles.extend(eigen::eigenvalues(&part.a)?);
                    stretched.push(resolvent(&part));
                }
            }
        }
        let (mut poles, input, output) = stacked(parts, system.b.ncols(), system.c.nrows());
        poles.extend(other_poles);
        let core = Core { input, output, stretched };
        let (direct, delays) = (system.d.map(Complex::from), system.delays.clone());
        Ok(Self { core, direct, delays, time: system.time, poles })
    }

    /// Prepares the sum of many small systems that share their inputs and outputs:
    /// a structure in its modes. `None` if there are none, or one has delays.
    pub fn of_sum(systems: &[LinearSystem]) -> Option<Self> {
        let first = systems.first().filter(|_| systems.iter().all(|s| s.delays.is_empty()))?;
        let parts: Option<Vec<_>> = systems.iter().map(fractions).collect();
        let (poles, input, output) = stacked(parts?, first.inputs(), first.outputs());
        let mut direct = Matrix::zeros(first.outputs(), first.inputs());
        systems.iter().for_each(|system| direct += &system.d);
        Some(Self::of_poles(poles, input, output, &direct, first.time, 0))
    }

    /// The response Σ c bᵀ/(λ − p) + D: one row b of `input` and one column c of
    /// `output` for each pole p. The last outputs, `back` of them, go to the last inputs
    /// at once.
    pub fn of_poles(
        poles: Vec<Complex>,
        input: ComplexMatrix,
        output: ComplexMatrix,
        direct: &Matrix,
        time: Time,
        back: usize,
    ) -> Self {
        assert!(input.shape() == (poles.len(), direct.ncols()), "a row for each pole");
        assert!(output.shape() == (direct.nrows(), poles.len()), "a column for each pole");
        let core = Core { input, output, stretched: Vec::new() };
        Self { core, direct: direct.map(Complex::from), delays: vec![0; back], time, poles }
    }

    /// Whether delays are closed within.
    pub fn has_delays(&self) -> bool {
        !self.delays.is_empty()
    }

    /// Outputs from inputs at λ; `None` on a pole.
    pub fn at(&self, point: Complex) -> Option<Answer> {
        let mut open = self.sum(|pole| (point - pole).inv())? + &self.direct;
        for part in &self.core.stretched {
            open += part.at(point)?;
        }
        if self.delays.is_empty() {
            return is_finite(&open).then_some(Answer { matrix: open, inner: Complex::ONE });
        }
        let [ahead, from_delays, to_delays, around] = self.ports(&open);
        let (closed, inner) = self.closed(around, point)?;
        let matrix = ahead + from_delays * closed * to_delays;
        is_finite(&matrix).then_some(Answer { matrix, inner })
    }

    /// The same with its derivative.
    pub fn with_slope(&self, point: Complex) -> Option<(Answer, Slope)> {
        let mut open = self.sum(|pole| (point - pole).inv())? + &self.direct;
        let mut slope = self.sum(|pole| -(point - pole).inv().powi(2))?;
        for part in &self.core.stretched {
            let [value, change] = part.with_slope(point)?;
            open += value;
            slope += change;
        }
        if self.delays.is_empty() {
            let answer = Answer { matrix: open, inner: Complex::ONE };
            return Some((answer, Slope { matrix: slope, inner: Complex::ZERO }));
        }
        let [ahead, from_delays, to_delays, around] = self.ports(&open);
        let [ahead_slope, from_slope, to_slope, mut change] = self.ports(&slope);
        let (closed, inner) = self.closed(around, point)?;
        // W = (Z⁻¹ − G₂₂)⁻¹, so W′ = W (G₂₂′ − (Z⁻¹)′) W.
        for (i, &delay) in self.delays.iter().enumerate() {
            change[(i, i)] -= point.powi(delay as i32 - 1) * delay as f64;
        }
        // ln det(I − G₂₂ Z) = ln det Z + ln det(Z⁻¹ − G₂₂).
        let of_delays: Complex =
            self.delays.iter().map(|&delay| -Complex::from(delay as f64) / point).sum();
        let of_inner = of_delays - (&closed * &change).trace();
        let turned = &closed * &change * &closed;
        let matrix = ahead_slope
            + from_slope * &closed * &to_delays
            + &from_delays * turned * &to_delays
            + &from_delays * &closed * to_slope;
        let value = ahead + from_delays * closed * to_delays;
        let sound = is_finite(&value) && is_finite(&matrix);
        sound.then_some((Answer { matrix: value, inner }, Slope { matrix, inner: of_inner }))
    }

    /// Σ share(p) c bᵀ over the poles p of the partial fractions; `None` if it is not finite.
    fn sum(&self, share: impl Fn(&Complex) -> Complex) -> Option<ComplexMatrix> {
        let Core { input, output, .. } = &self.core;
        let rows = output.nrows();
        let mut sum = ComplexMatrix::zeros(rows, input.ncols());
        for (k, pole) in self.poles[..input.nrows()].iter().enumerate() {
            let share = share(pole);
            let output = &output.as_slice()[k * rows..(k + 1) * rows];
            for (j, column) in sum.as_mut_slice().chunks_exact_mut(rows.max(1)).enumerate() {
                let weight = share * input[(k, j)];
                for (to, output) in column.iter_mut().zip(output) {
                    *to += weight * output;
                }
            }
        }
        is_finite(&sum).then_some(sum)
    }

    /// The blocks of a system with delay ports: from inputs to outputs, from delays to
    /// outputs, from inputs to delays, and G₂₂ from delays to delays.
    fn ports(&self, open: &ComplexMatrix) -> [ComplexMatrix; 4] {
        let back = self.delays.len();
        let (rows, columns) = (open.nrows() - back, open.ncols() - back);
        let [outer, inner] = [open.rows(0, rows), open.rows(rows, back)]
            .map(|m| [m.columns(0, columns).into_owned(), m.columns(columns, back).into_owned()]);
        let ([ahead, from_delays], [to_delays, around]) = (outer, inner);
        [ahead, from_delays, to_delays, around]
    }

    /// Z (I − G₂₂ Z)⁻¹ with Z the delays, and the determinant.
    fn closed(&self, mut round: ComplexMatrix, point: Complex) -> Option<(ComplexMatrix, Complex)> {
        let late = |delay: usize| point.powi(-i32::try_from(delay).unwrap_or(i32::MAX));
        let n = self.delays.len();
        for (mut column, &delay) in round.column_iter_mut().zip(&self.delays) {
            column *= late(delay);
        }
        let left = ComplexMatrix::identity(n, n) - round;
        let inner = left.determinant();
        let mut closed = left.try_inverse()?;
        for (mut row, &delay) in closed.row_iter_mut().zip(&self.delays) {
            row *= late(delay);
        }
        Some((closed, inner))
    }
}

/// Poles, and the parts of the inputs and outputs in each.
type Fractions = (Vec<Complex>, ComplexMatrix, ComplexMatrix);

/// The systems that A falls into, each with all inputs and outputs.
fn separate(system: &LinearSystem) -> Vec<LinearSystem> {
    let n = system.states();
    let mut part = vec![usize::MAX; n];
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for first in 0..n {
        if part[first] != usize::MAX {
            continue;
        }
        part[first] = parts.len();
        let mut states = vec![first];
        let mut next = 0;
        while let Some(&i) = states.get(next) {
            next += 1;
            for j in 0..n {
                let joined = system.a[(i, j)] != 0.0 || system.a[(j, i)] != 0.0;
                if joined && part[j] == usize::MAX {
                    part[j] = parts.len();
                    states.push(j);
                }
            }
        }
        states.sort_unstable();
        parts.push(states);
    }
    let cut = |states: Vec<usize>| LinearSystem {
        a: system.a.select_rows(&states).select_columns(&states),
        b: system.b.select_rows(&states),
        c: system.c.select_columns(&states),
        ..system.clone()
    };
    parts.into_iter().map(cut).collect()
}

/// Partial fractions of several systems with the same inputs and outputs, as of one.
fn stacked(parts: Vec<Fractions>, inputs: usize, outputs: usize) -> Fractions {
    let states = parts.iter().map(|(poles, ..)| poles.len()).sum();
    let mut poles = Vec::with_capacity(states);
    let mut input = ComplexMatrix::zeros(states, inputs);
    let mut output = ComplexMatrix::zeros(outputs, states);
    for (own, own_input, own_output) in parts {
        input.rows_mut(poles.len(), own.len()).copy_from(&own_input);
        output.columns_mut(poles.len(), own.len()).copy_from(&own_output);
        poles.extend(own);
    }
    (poles, input, output)
}

/// The partial fractions of a system; `None` where the eigenvectors are too nearly
/// parallel.
fn fractions(system: &LinearSystem) -> Option<Fractions> {
    let found = eigen::decompose(&system.a, &system.b).ok()??;
    let output = system.c.map(Complex::from) * &found.vectors;
    (!found.is_stretched(&system.b)).then_some((found.values, found.input, output))
}

/// A system by its Hessenberg form, its states of one size so that the reflections lose
/// no digits.
fn resolvent(system: &LinearSystem) -> Resolvent {
    let (a, scales) = eigen::balanced(&system.a);
    let (mut b, mut c) = (system.b.clone(), system.c.clone());
    for (k, scale) in scales.iter().enumerate() {
        b.row_mut(k).scale_mut(1.0 / scale);
        c.column_mut(k).scale_mut(*scale);
    }
    Resolvent::new(&a, &b, &c)
}

#[cfg(test)]
mod tests {
    use super::super::tests::random;
    use super::*;

    fn direct(system: &LinearSystem, z: Complex) -> ComplexMatrix {
        let n = system.states();
        let left = ComplexMatrix::from_fn(n, n, |i, j| {
            (if i == j { z } else { Complex::ZERO }) - system.a[(i, j)]
        });
        let complex = |m: &Matrix| m.map(Complex::from);
        let inner = left.lu().solve(&complex(&system.b)).unwrap();
        complex(&system.c) * inner + complex(&system.d)
    }

    #[test]
    fn a_response_is_that_of_the_registers() {
        let system = random(6, 4, 4, 11).with_delays(vec![3, 2]);
        let (response, expanded) = (Response::new(&system).unwrap(), system.expanded());
        for z in [Complex::new(0.9, 0.7), Complex::new(1.1, 0.0), Complex::new(-0.3, 1.2)] {
            let found = response.at(z).unwrap();
            let apart = (&found.matrix - direct(&expanded, z)).map(Complex::norm).amax();
            assert!(apart < 1e-12, "{apart}");
            // det(zI − A) of all states is that of the open ones times what is closed within.
            let characteristic = |a: &Matrix| {
                let n = a.nrows();
                (ComplexMatrix::identity(n, n) * z - a.map(Complex::from)).determinant()
            };
            let ratio = characteristic(&expanded.a) / (characteristic(&system.a) * z.powi(5));
            assert!((found.inner - ratio).norm() < 1e-12, "{} {ratio}", found.inner);
            let (same, slope) = response.with_slope(z).unwrap();
            assert!((same.matrix - &found.matrix).map(Complex::norm).amax() < 1e-12);
            let [next, before] = [1e-6, -1e-6].map(|step| response.at(z + step).unwrap());
            let differences = (next.matrix - before.matrix) / Complex::from(2e-6);
            assert!((slope.matrix - differences).map(Complex::norm).amax() < 1e-7);
            let change = (next.inner / before.inner).ln() / 2e-6;
            assert!((slope.inner - change).norm() < 1e-7, "{} {change}", slope.inner);
        }
    }

    #[test]
    fn a_double_pole_keeps_its_digits() {
        // A double integrator, stepped: nearly parallel eigenvectors.
        let a = Matrix::from_row_slice(2, 2, &[1.0, 1e-3, 0.0, 1.0]);
        let (b, c) = (Matrix::from_row_slice(2, 1, &[5e-7, 1e-3]), Matrix::identity(2, 2));
        let system = LinearSystem::new(a, b, c, Matrix::zeros(2, 1), Time::Step(1e-3));
        let response = Response::new(&system).unwrap();
        let z = Complex::new(0.0, 1e-4).exp();
        let apart = (response.at(z).unwrap().matrix - direct(&system, z)).map(Complex::norm).amax();
        assert!(apart < 1e-9 * direct(&system, z).map(Complex::norm).amax(), "{apart}");
    }

    #[test]
    fn a_sum_is_the_sum_of_its_responses() {
        let parts: Vec<LinearSystem> = (0..5).map(|seed| random(3, 2, 2, 20 + seed)).collect();
        let sum = Response::of_sum(&parts).unwrap();
        let z = Complex::new(0.4, 1.1);
        let whole: ComplexMatrix =
            parts.iter().map(|part| direct(part, z)).fold(ComplexMatrix::zeros(2, 2), |a, b| a + b);
        assert!((sum.at(z).unwrap().matrix - whole).map(Complex::norm).amax() < 1e-12);
        assert_eq!(sum.poles.len(), 15);
    }

    /// Two copies of one system have every pole twice, and neither sees the other.
    #[test]
    fn copies_do_not_mix_in_a_response() {
        let mut one = random(6, 2, 2, 31);
        // Signals of very different size, as displacements and accelerations are.
        one.b.row_mut(0).scale_mut(1e6);
        one.c.column_mut(1).scale_mut(1e6);
        let two = Response::new(&one.copies(2)).unwrap();
        let z = Complex::new(0.8, 0.9);
        let (found, told) = (two.at(z).unwrap().matrix, direct(&one, z));
        for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
            let expected = if i % 2 == j % 2 { told[(i / 2, j / 2)] } else { Complex::ZERO };
            let apart = (found[(i, j)] - expected).norm();
            assert!(apart <= 1e-12 * expected.norm(), "{i} {j}: {apart} {expected}");
        }
    }
}
