//! The simulated side of an iterative test, with its non-invasive control.
//!
//! The measured force drives it; a control force
//!
//!   F = k_p e + k_d ė,  e = x − ξ
//!
//! keeps it beside the rig and lets transients die. Where both sides move alike
//! e and F vanish, so the answer is the structure's own. That holds only if the
//! force is taken at the same instant as the motion: the part that follows ξ of
//! the new instant is put into the step as a spring, implicitly. ė is filtered,
//! (e − z)/T with ż = (e − z)/T, so it too vanishes with e.

use model::equations::Equations;
use model::integrator::{Integrator, IntegratorError, LinearStep, Method, NotConverged, Options};
use nalgebra::DMatrix;
use numerics::block::hstack;
use numerics::gemv::PanelMatrix;
use numerics::second_order::SecondOrder;
use numerics::small::copy;

/// Control of the simulated side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Control {
    /// k_p, N/m.
    pub proportional_n_per_m: f64,
    /// k_d, N·s/m.
    pub derivative_n_s_per_m: f64,
    /// T, s.
    pub filter_s: f64,
}

/// The simulated side with its state.
#[derive(Debug, Clone)]
pub(super) struct Numerical {
    side: Side,
    /// Filtered e.
    filtered: Vec<f64>,
    gains: Gains,
    patterns: usize,
}

#[derive(Debug, Clone, Copy)]
struct Gains {
    /// k_p + α k_d/T: what acts at the new instant.
    implicit: f64,
    /// α k_d/T.
    explicit: f64,
    alpha: f64,
}

#[derive(Debug, Clone)]
enum Side {
    Linear(LinearSide),
    /// With elements; loads of the structure, then one force per interface DOF, of
    /// the last instant and of this one; no other force.
    Elements {
        integrator: Box<Integrator>,
        last: Vec<f64>,
        now: Vec<f64>,
        none: Vec<f64>,
    },
}

impl Side {
    fn stepped(integrator: Integrator, patterns: usize, dofs: usize) -> Self {
        Self::Elements {
            integrator: Box::new(integrator),
            last: vec![0.0; patterns + dofs],
            now: vec![0.0; patterns + dofs],
            none: vec![0.0; dofs],
        }
    }
}

/// The ticks to go through, all DOFs of a tick behind each other.
pub(super) struct Ticks<'a> {
    /// Amplitude of every load pattern, and the wave of each tick.
    pub(super) amplitudes: &'a [f64],
    pub(super) waves: &'a [f64],
    /// Forces on the simulated side.
    pub(super) forces: &'a [f64],
    /// The rig's displacements.
    pub(super) measured: &'a [f64],
}

impl Numerical {
    pub(super) fn new(
        equations: &Equations,
        control: Control,
        method: Method,
        step_s: f64,
    ) -> Result<Self, IntegratorError> {
        let alpha = (-step_s / control.filter_s).exp();
        let explicit = alpha * control.derivative_n_s_per_m / control.filter_s;
        let implicit = control.proportional_n_per_m + explicit;
        let b = equations.interface_matrix();
        let (patterns, dofs) = (equations.load.ncols(), b.ncols());
        let none = DMatrix::zeros(dofs, dofs);
        let control = SecondOrder {
            mass: none.clone(),
            damping: none,
            stiffness: DMatrix::from_diagonal_element(dofs, dofs, implicit),
        };
        let load = hstack(&[&equations.load, &b]);
        let held = Equations { load, ..equations.joined(&control) };
        let options = Options { method, step_s, direct_inertia: None, iterations: 50 };
        let integrator = Integrator::new(&held, &options)?;
        let side = match integrator.linear_step() {
            Some(step) => Side::Linear(LinearSide::new(step, &b)),
            None => Side::stepped(integrator, patterns, dofs),
        };
        let gains = Gains { implicit, explicit, alpha };
        Ok(Self { side, filtered: vec![0.0; dofs], gains, patterns })
    }

    /// Whether a step can never fail.
    pub(super) fn is_linear(&self) -> bool {
        matches!(self.side, Side::Linear(_))
    }

    /// Goes through the instants of these signals; `out` gets the displacements of
    /// the simulated side.
    pub(super) fn run(&mut self, ticks: &Ticks<'_>, out: &mut [f64]) -> Result<(), NotConverged> {
        match &mut self.side {
            // The usual numbers are known to the compiler: no loop is left of them.
            Side::Linear(side) if self.patterns == 1 && self.filtered.len() == 1 => {
                side.run(1, 1, self.gains, ticks, &mut self.filtered, out);
            }
            Side::Linear(side) => {
                let dofs = self.filtered.len();
                side.run(self.patterns, dofs, self.gains, ticks, &mut self.filtered, out);
            }
            Side::Elements { integrator, last, now, none } => {
                let (gains, dofs) = (self.gains, none.len());
                let rows = ticks.forces.chunks_exact(dofs).zip(ticks.measured.chunks_exact(dofs));
                let rows = rows.zip(ticks.waves).zip(out.chunks_exact_mut(dofs));
                for (((forces, measured), wave), out) in rows {
                    let (own, control) = now.split_at_mut(self.patterns);
                    set_load(ticks.amplitudes, *wave, own);
                    gains.control(forces, measured, &self.filtered, control);
                    integrator.advance(last, now, none)?;
                    copy(last, now);
                    copy(out, &integrator.interface().displacement);
                    gains.filter(measured, out, &mut self.filtered);
                }
            }
        }
        Ok(())
    }
}

#[inline(always)]
fn set_load(amplitudes: &[f64], wave: f64, out: &mut [f64]) {
    for (load, amplitude) in out.iter_mut().zip(amplitudes) {
        *load = amplitude * wave;
    }
}

impl Gains {
    /// Force and control on the simulated side, but for what is in its stiffness.
    #[inline(always)]
    fn control(self, forces: &[f64], measured: &[f64], filtered: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = forces[i] + self.implicit * measured[i] - self.explicit * filtered[i];
        }
    }

    #[inline(always)]
    fn filter(self, measured: &[f64], simulated: &[f64], filtered: &mut [f64]) {
        for ((x, xi), z) in measured.iter().zip(simulated).zip(filtered) {
            *z = self.alpha * *z + (1.0 - self.alpha) * (x - xi);
        }
    }
}

/// A linear side as one product a tick.
///
/// Its step z⁺ = A z + B₀u + B₁u⁺ asks for two instants of the input. With
/// w = z − B₁u it is
///
///   w⁺ = A w + (A B₁ + B₀) u,  ξ = C w + C B₁u,
///
/// so the product that follows an instant has all but that instant's own input.
#[derive(Debug, Clone)]
struct LinearSide {
    /// Two that take turns: u; w; C w.
    vectors: [Vec<f64>; 2],
    now: usize,
    map: PanelMatrix,
    /// C B₁, row by row.
    direct: Vec<f64>,
}

impl LinearSide {
    fn new(step: &LinearStep, interface: &DMatrix<f64>) -> Self {
        let (states, dofs) = (step.transition.nrows(), interface.ncols());
        let inputs = step.next.ncols();
        let mut read = DMatrix::zeros(dofs, states);
        read.columns_mut(0, interface.nrows()).copy_from(&interface.transpose());
        let mut next = DMatrix::zeros(states, inputs + states);
        next.columns_mut(0, inputs).copy_from(&(&step.transition * &step.next + &step.load));
        next.columns_mut(inputs, states).copy_from(&step.transition);
        let mut map = DMatrix::zeros(states + dofs, inputs + states);
        map.rows_mut(0, states).copy_from(&next);
        map.rows_mut(states, dofs).copy_from(&(&read * &next));
        let map = PanelMatrix::new(&map);
        let vector = vec![0.0; inputs + map.padded_rows()];
        let direct = (&read * &step.next).transpose().as_slice().to_vec();
        Self { vectors: [vector.clone(), vector], now: 0, map, direct }
    }

    #[inline(always)]
    fn run(
        &mut self,
        patterns: usize,
        dofs: usize,
        gains: Gains,
        ticks: &Ticks<'_>,
        filtered: &mut [f64],
        out: &mut [f64],
    ) {
        let inputs = patterns + dofs;
        let states = self.map.columns() - inputs;
        let length = inputs + self.map.padded_rows();
        let [first, second] = &mut self.vectors;
        let (mut now, mut next) = (&mut first[..length], &mut second[..length]);
        if self.now == 1 {
            std::mem::swap(&mut now, &mut next);
        }
        let (amplitudes, filtered) = (&ticks.amplitudes[..patterns], &mut filtered[..dofs]);
        let direct = &self.direct[..dofs * inputs];
        let rows = ticks.forces.chunks_exact(dofs).zip(ticks.measured.chunks_exact(dofs));
        let rows = rows.zip(ticks.waves).zip(out.chunks_exact_mut(dofs));
        for (((forces, measured), wave), out) in rows {
            let (input, rest) = now.split_at_mut(inputs);
            let (own, control) = input.split_at_mut(patterns);
            set_load(amplitudes, *wave, own);
            gains.control(forces, measured, filtered, control);
            let read = &rest[states..][..dofs];
            for ((out, read), row) in out.iter_mut().zip(read).zip(direct.chunks_exact(inputs)) {
                *out = row.iter().zip(&*input).fold(*read, |x, (d, u)| x + d * u);
            }
            gains.filter(measured, out, filtered);
            self.map.multiply(&now[..inputs + states], &mut next[inputs..]);
            std::mem::swap(&mut now, &mut next);
            self.now = 1 - self.now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::element::{Element, Law, Side as GapSide};
    use model::equations::{ConnectedElement, RelativeDof};
    use model::integrator::Hold;
    use numerics::random::Stream;

    const STEP_S: f64 = 1e-3;
    const CONTROL: Control =
        Control { proportional_n_per_m: 5e3, derivative_n_s_per_m: 50.0, filter_s: 5e-3 };

    /// Three masses, two of them at the interface, two loads.
    fn equations() -> Equations {
        let three = |a: [f64; 9]| DMatrix::from_row_slice(3, 3, &a);
        Equations {
            matrices: SecondOrder {
                mass: three([2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 3.0]),
                damping: three([9.0, -4.0, 0.0, -4.0, 6.0, -2.0, 0.0, -2.0, 5.0]),
                stiffness: three([9e3, -4e3, 0.0, -4e3, 6e3, -2e3, 0.0, -2e3, 5e3]),
            },
            load: DMatrix::from_row_slice(3, 2, &[1.0, 0.0, 0.0, -2.0, 0.5, 1.0]),
            interface: vec![RelativeDof::of_dof(2), RelativeDof { to: Some(0), from: Some(1) }],
            elements: Vec::new(),
            states: None,
        }
    }

    /// The displacements of a few hundred ticks of noise.
    fn displacements(numerical: &mut Numerical) -> Vec<f64> {
        let mut random = Stream::new(7, "numerical");
        let mut draw = |count: usize| -> Vec<f64> { (0..count).map(|_| random.normal()).collect() };
        let (waves, forces, measured) = (draw(300), draw(600), draw(600));
        let measured: Vec<f64> = measured.iter().map(|x| 1e-3 * x).collect();
        let mut out = vec![0.0; 600];
        let ticks =
            Ticks { amplitudes: &[3.0, -1.0], waves: &waves, forces: &forces, measured: &measured };
        numerical.run(&ticks, &mut out).unwrap();
        out
    }

    #[test]
    fn one_product_a_tick_is_the_step_of_every_method() {
        for method in [
            Method::Newmark,
            Method::ImplicitEuler,
            Method::RungeKutta4,
            Method::ChenRicles,
            Method::KolayRicles { spectral_radius: 0.7 },
            Method::Exact(Hold::Zero),
            Method::Exact(Hold::First),
        ] {
            let mut product = Numerical::new(&equations(), CONTROL, method, STEP_S).unwrap();
            assert!(product.is_linear());
            // The same control, stepped by the integrator itself.
            let mut stepped = product.clone();
            let b = equations().interface_matrix();
            let mut held = equations();
            held.matrices.stiffness += product.gains.implicit * &b * b.transpose();
            held.load = DMatrix::from_fn(3, 4, |i, j| {
                if j < 2 { equations().load[(i, j)] } else { b[(i, j - 2)] }
            });
            let options = Options { method, step_s: STEP_S, direct_inertia: None, iterations: 50 };
            stepped.side = Side::stepped(Integrator::new(&held, &options).unwrap(), 2, 2);
            let (ours, expected) = (displacements(&mut product), displacements(&mut stepped));
            let largest = expected.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            assert!(largest > 1e-4, "{method:?}: {largest}");
            for (ours, expected) in ours.iter().zip(&expected) {
                assert!((ours - expected).abs() < 1e-12 * largest, "{method:?}: {ours} {expected}");
            }
        }
    }

    #[test]
    fn elements_are_stepped_and_may_fail() {
        let law = Law::Gap { stiffness: 2e3, opening: 10.0, side: GapSide::Both };
        let far = ConnectedElement { place: RelativeDof::of_dof(1), element: Element::new(law) };
        let with = Equations { elements: vec![far], ..equations() };
        let mut stepped = Numerical::new(&with, CONTROL, Method::Newmark, STEP_S).unwrap();
        assert!(!stepped.is_linear());
        let mut product = Numerical::new(&equations(), CONTROL, Method::Newmark, STEP_S).unwrap();
        let (ours, expected) = (displacements(&mut stepped), displacements(&mut product));
        for (ours, expected) in ours.iter().zip(&expected) {
            assert!((ours - expected).abs() < 1e-9, "a gap that never closes: {ours} {expected}");
        }
        let hopeless = Ticks {
            amplitudes: &[0.0; 2],
            waves: &[0.0],
            forces: &[f64::NAN, 0.0],
            measured: &[0.0; 2],
        };
        assert!(stepped.run(&hopeless, &mut [0.0; 2]).is_err());
    }
}
