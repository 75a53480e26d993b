//! A large structure by its motions, as its interface sees them.
//!
//! Every motion of a linear structure is y e^{λt}. An integrator that is a scheme
//! for systems of first order carries each by itself, so one decomposition serves
//! the loop as it runs, the loop without sampling and every compensator. CR and
//! KR-α are more than that, and go mode by mode where the modes diagonalise the
//! damping.

use std::sync::Arc;

use model::equations::{Equations, RelativeDof};
use model::first_order::Scheme;
use model::integrator::IntegratorError;
use numerics::block::vstack;
use numerics::eigen::{self, Decomposition};
use numerics::linear_system::{LinearSystem, Response, Time};
use numerics::second_order::SecondOrder;
use numerics::{Complex, ComplexMatrix, Matrix};

use super::{LoopError, parts};

/// Up to this many states a numerical part is kept as one matrix, whose joint
/// poles with the rest are found at once.
const WHOLE: usize = 240;
/// What of ΦᵀCΦ may lie beside its diagonal, in parts of the diagonal.
const MODAL: f64 = 1e-9;
/// The two motions of a mode that are nearer than this part of the fastest are one
/// that grows with time, as a rigid body does.
const ALIKE: f64 = 1e-6;

/// The motions of a structure.
#[derive(Debug)]
pub struct StructureModes {
    /// λ.
    exponents: Vec<Complex>,
    /// What a force at the interface puts into each: one row per motion.
    input: ComplexMatrix,
    /// Displacement and velocity of the interface in each: one column per motion.
    displacement: ComplexMatrix,
    velocity: ComplexMatrix,
    /// Acceleration of the interface by a force at once.
    direct: Matrix,
    plain: Option<PlainModes>,
}

/// Modes that the damping does not couple.
#[derive(Debug)]
struct PlainModes {
    omega_rad_s: Vec<f64>,
    damping: Vec<f64>,
    /// Interface DOFs in each mode of unit mass: one column per mode.
    reach: Matrix,
}

/// The undamped modes of a symmetric structure, and its damping in them.
pub(super) struct Undamped {
    pub(super) modes: eigen::Modes,
    damping: Matrix,
}

impl Undamped {
    /// `None` where K and M are not symmetric, or there are none.
    pub(super) fn of(equations: &Equations) -> Option<Self> {
        if equations.states.is_some() {
            return None;
        }
        let modes =
            eigen::symmetric_modes(&equations.matrices.stiffness, &equations.matrices.mass).ok()?;
        let damping = modes.shapes.tr_mul(&(&equations.matrices.damping * &modes.shapes));
        Some(Self { modes, damping })
    }

    /// The damping of each mode; `None` where it couples them.
    pub(super) fn plain(&self) -> Option<Vec<f64>> {
        let (damping, n) = (&self.damping, self.modes.len());
        let rounding = n as f64 * f64::EPSILON * damping.diagonal().amax();
        let coupled = |i: usize, j: usize| {
            let own = (damping[(i, i)] * damping[(j, j)]).abs().sqrt();
            i != j && damping[(i, j)].abs() > (MODAL * own).max(rounding)
        };
        let plain = !(0..n).any(|j| (0..n).any(|i| coupled(i, j)));
        plain.then(|| damping.diagonal().iter().copied().collect())
    }

    /// Ratios of critical damping; 0 of a motion without frequency.
    pub(super) fn ratios(&self) -> Vec<f64> {
        let own = self.damping.diagonal();
        let modes = self.modes.omega_rad_s.iter().zip(&own);
        modes.map(|(&omega, c)| if omega > 0.0 { 0.5 * c / omega } else { 0.0 }).collect()
    }

    /// [0 I; −Ω² −ΦᵀCΦ].
    fn state_matrix(&self) -> Matrix {
        let n = self.modes.len();
        let mut a = Matrix::zeros(2 * n, 2 * n);
        for (k, omega) in self.modes.omega_rad_s.iter().enumerate() {
            a[(k, n + k)] = 1.0;
            a[(n + k, k)] = -omega * omega;
        }
        a.view_mut((n, n), (n, n)).copy_from(&-&self.damping);
        a
    }

    /// λ of every motion.
    pub(super) fn exponents(&self) -> Result<Vec<Complex>, LoopError> {
        match self.plain() {
            Some(damping) => {
                let modes = self.modes.omega_rad_s.iter().zip(damping);
                Ok(modes.flat_map(|(&omega, c)| pair(omega, c)).collect())
            }
            None => {
                parts::check_size(2 * self.modes.len())?;
                Ok(eigen::eigenvalues(&self.state_matrix())?)
            }
        }
    }
}

/// Whether a structure is taken by its motions, not as one matrix.
pub(super) fn is_large(equations: &Equations) -> bool {
    equations.state_count() > WHOLE
}

/// λ of every motion of a structure.
pub(super) fn exponents(equations: &Equations) -> Result<Vec<Complex>, LoopError> {
    if let Some(undamped) = Undamped::of(equations) {
        return undamped.exponents();
    }
    parts::check_size(equations.state_count())?;
    Ok(equations.eigenvalues()?)
}

/// The roots of λ² + cλ + ω².
fn pair(omega: f64, c: f64) -> [Complex; 2] {
    let root = Complex::from(0.25 * c * c - omega * omega).sqrt();
    // The smaller of two real ones from their product.
    let large = -0.5 * c - root * if c < 0.0 { -1.0 } else { 1.0 };
    if large.norm() == 0.0 { [large, large] } else { [omega * omega / large, large] }
}

impl StructureModes {
    /// The motions of a structure that is too large for one matrix; `None` for a
    /// small one, and where motions are so nearly alike that they cannot be told
    /// apart.
    pub fn of(equations: &Equations) -> Result<Option<Arc<Self>>, LoopError> {
        if !is_large(equations) {
            return Ok(None);
        }
        Ok(Self::found(equations)?.map(Arc::new))
    }

    pub(super) fn found(equations: &Equations) -> Result<Option<Self>, LoopError> {
        let b = equations.interface_matrix();
        if let Some(undamped) = Undamped::of(equations) {
            let (n, reach) = (undamped.modes.len(), b.tr_mul(&undamped.modes.shapes));
            let direct = -&reach * reach.transpose();
            if let Some(damping) = undamped.plain() {
                let omega_rad_s = undamped.modes.omega_rad_s.iter().copied().collect();
                return Ok(Self::of_plain(PlainModes { omega_rad_s, damping, reach }, direct));
            }
            parts::check_size(2 * n)?;
            let mut input = Matrix::zeros(2 * n, b.ncols());
            input.rows_mut(n, n).copy_from(&-reach.transpose());
            let found = eigen::decompose(&undamped.state_matrix(), &input)?;
            return Ok(Self::of_states(found, &input, &reach, direct));
        }
        parts::check_size(equations.state_count())?;
        let system = equations.first_order().ok_or(IntegratorError::SingularMass)?;
        let across = b.transpose();
        let direct = &across * system.held.rows(equations.size(), equations.size());
        let found = eigen::decompose(&system.dynamics, &system.held)?;
        Ok(Self::of_states(found, &system.held, &across, direct))
    }

    /// `across` reads the interface out of displacements or velocities.
    fn of_states(
        found: Option<Decomposition>,
        input: &Matrix,
        across: &Matrix,
        direct: Matrix,
    ) -> Option<Self> {
        let found = found.filter(|found| !found.is_stretched(input))?;
        let (n, across) = (across.ncols(), across.map(Complex::from));
        Some(Self {
            displacement: &across * found.vectors.rows(0, n),
            velocity: &across * found.vectors.rows(n, n),
            exponents: found.values,
            input: found.input,
            direct,
            plain: None,
        })
    }

    fn of_plain(plain: PlainModes, direct: Matrix) -> Option<Self> {
        let (count, n) = plain.reach.shape();
        let mut exponents = Vec::with_capacity(2 * n);
        let mut input = ComplexMatrix::zeros(2 * n, count);
        let mut displacement = ComplexMatrix::zeros(count, 2 * n);
        let fastest = plain.omega_rad_s.iter().copied().fold(0.0, f64::max);
        for k in 0..n {
            let [one, other] = pair(plain.omega_rad_s[k], plain.damping[k]);
            if (one - other).norm() <= ALIKE * fastest {
                return None;
            }
            let reach = plain.reach.column(k).map(Complex::from);
            for (at, own, beside) in [(2 * k, one, other), (2 * k + 1, other, one)] {
                exponents.push(own);
                input.row_mut(at).copy_from(&(-reach.transpose() / (own - beside)));
                displacement.set_column(at, &reach);
            }
        }
        let velocity = displacement.clone();
        let plain = Some(plain);
        let mut modes = Self { exponents, input, displacement, velocity, direct, plain };
        modes.velocity = modes.slope_of(&modes.displacement);
        Some(modes)
    }

    /// How fast what is seen of each motion changes.
    fn slope_of(&self, seen: &ComplexMatrix) -> ComplexMatrix {
        let mut slope = seen.clone();
        for (mut column, exponent) in slope.column_iter_mut().zip(&self.exponents) {
            column *= *exponent;
        }
        slope
    }

    /// From the force that acts to the motion ahead (displacement, velocity) and the
    /// desired motion (displacement, velocity, acceleration), unsampled.
    pub(super) fn unstepped(&self) -> Response {
        self.response(self.exponents.clone(), self.input.clone(), Time::Continuous, None)
    }

    /// The same from step to step by a scheme. `inertia` times the acceleration of the
    /// interface is added to the force at once.
    pub(super) fn stepped(
        &self,
        scheme: Scheme,
        step_s: f64,
        inertia: Option<&Matrix>,
    ) -> Response {
        let mut input = self.input.clone();
        let mut poles = self.exponents.clone();
        for (mut row, pole) in input.row_iter_mut().zip(&mut poles) {
            let w = *pole * step_s;
            let growth = scheme.growth(w);
            row *= growth * step_s;
            *pole = 1.0 + w * growth;
        }
        self.response(poles, input, Time::Step(step_s), inertia)
    }

    fn response(
        &self,
        poles: Vec<Complex>,
        input: ComplexMatrix,
        time: Time,
        inertia: Option<&Matrix>,
    ) -> Response {
        let count = self.direct.nrows();
        let acceleration = self.slope_of(&self.velocity);
        let mut shown = vec![&self.displacement, &self.velocity];
        shown.extend([&self.displacement, &self.velocity, &acceleration]);
        let late = Matrix::zeros(4 * count, count);
        let mut direct = vec![&late, &self.direct];
        let Some(inertia) = inertia else {
            return Response::of_poles(poles, input, vstack(&shown), &vstack(&direct), time, 0);
        };
        let (of_motion, at_once) =
            (inertia.map(Complex::from) * &acceleration, inertia * &self.direct);
        shown.push(&of_motion);
        direct.push(&at_once);
        let direct = vstack(&direct);
        let direct = Matrix::from_fn(6 * count, 2 * count, |i, j| direct[(i, j % count)]);
        let input = ComplexMatrix::from_fn(poles.len(), 2 * count, |i, j| input[(i, j % count)]);
        Response::of_poles(poles, input, vstack(&shown), &direct, time, count)
    }

    /// Mode by mode, each by the same form, where the damping does not couple them.
    pub(super) fn mode_by_mode(
        &self,
        form: impl Fn(&Equations) -> Result<LinearSystem, LoopError>,
    ) -> Result<Option<Response>, LoopError> {
        let Some(PlainModes { omega_rad_s, damping, reach }) = &self.plain else {
            return Ok(None);
        };
        let single = (0..omega_rad_s.len()).map(|k| {
            let one = form(&one_mode(damping[k], omega_rad_s[k]))?;
            let across = reach.column(k);
            let spread = |m: &Matrix| m.kronecker(&across);
            Ok(LinearSystem {
                b: &one.b * across.transpose(),
                c: spread(&one.c),
                d: spread(&one.d) * across.transpose(),
                ..one
            })
        });
        let single: Vec<LinearSystem> = single.collect::<Result<_, LoopError>>()?;
        Ok(Response::of_sum(&single))
    }
}

/// One mode of unit mass, driven and seen as an interface DOF.
fn one_mode(damping: f64, omega_rad_s: f64) -> Equations {
    let one = |value: f64| Matrix::from_element(1, 1, value);
    Equations {
        matrices: SecondOrder {
            mass: one(1.0),
            damping: one(damping),
            stiffness: one(omega_rad_s * omega_rad_s),
        },
        load: Matrix::zeros(1, 0),
        interface: vec![RelativeDof::of_dof(0)],
        elements: Vec::new(),
        states: None,
    }
}

#[cfg(test)]
mod tests {
    use model::equations::Descriptor;
    use model::integrator::{Hold, Integrator, Method, Options};
    use numerics::random::Stream;

    use super::*;

    const STEP_S: f64 = 2e-3;
    const METHODS: [Method; 5] = [
        Method::RungeKutta4,
        Method::Exact(Hold::Zero),
        Method::Exact(Hold::First),
        Method::Newmark,
        Method::ImplicitEuler,
    ];

    /// Masses in a row, a damper at one of them, seen at two DOFs.
    fn chain(n: usize, damper: f64) -> Equations {
        let stiffness = Matrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
            0 if i + 1 == n => 4e5,
            0 => 8e5,
            1 => -4e5,
            _ => 0.0,
        });
        let mut damping: Matrix = 1e-4 * &stiffness;
        damping[(1, 1)] += damper;
        Equations {
            matrices: SecondOrder { mass: Matrix::identity(n, n) * 100.0, damping, stiffness },
            load: Matrix::zeros(n, 0),
            interface: vec![RelativeDof::of_dof(0), RelativeDof { from: Some(1), to: Some(3) }],
            elements: Vec::new(),
            states: None,
        }
    }

    /// The same chain with gyroscopic forces, and as E ẏ = A y with a state beside.
    fn others(n: usize) -> [Equations; 2] {
        let plain = chain(n, 200.0);
        let mut rotor = plain.clone();
        for i in 1..n {
            rotor.matrices.damping[(i - 1, i)] += 300.0;
            rotor.matrices.damping[(i, i - 1)] -= 300.0;
        }
        let all = 2 * n + 1;
        let (mut e, mut a) = (Matrix::zeros(all, all), Matrix::zeros(all, all));
        e.view_mut((0, n), (n, n)).copy_from(&plain.matrices.mass);
        e.view_mut((n, 0), (n, n)).fill_with_identity();
        e[(2 * n, 2 * n)] = 1.0;
        a.view_mut((0, 0), (n, n)).copy_from(&-&plain.matrices.stiffness);
        a.view_mut((0, n), (n, n)).copy_from(&-&plain.matrices.damping);
        a.view_mut((n, n), (n, n)).fill_with_identity();
        // A force that follows a displacement with a lag of its own.
        (a[(2 * n, 2 * n)], a[(2 * n, 0)], a[(0, 2 * n)]) = (-30.0, 30.0, -5e4);
        let zero = Matrix::zeros(n, n);
        let states = Equations {
            matrices: SecondOrder { mass: zero.clone(), damping: zero.clone(), stiffness: zero },
            load: Matrix::zeros(all, 0),
            states: Some(Box::new(Descriptor { e, a })),
            ..plain
        };
        [rotor, states]
    }

    fn form(equations: &Equations, method: Method) -> LinearSystem {
        let options = Options { method, step_s: STEP_S, direct_inertia: None, iterations: 1 };
        Integrator::new(equations, &options).unwrap().linear_form(STEP_S).unwrap()
    }

    fn largest_difference(one: &Response, other: &Response, points: &[Complex]) -> f64 {
        let apart = points.iter().map(|&point| {
            let (one, other) = (one.at(point).unwrap().matrix, other.at(point).unwrap().matrix);
            // Rows are displacements, velocities and accelerations: each by its own size.
            let rows = (0..one.nrows()).map(|i| {
                let size = other.row(i).iter().map(|x| x.norm()).fold(0.0, f64::max);
                let apart = one.row(i) - other.row(i);
                apart.iter().map(|x| x.norm()).fold(0.0, f64::max) / size
            });
            rows.fold(0.0, f64::max)
        });
        apart.fold(0.0, f64::max)
    }

    #[test]
    fn motions_give_the_response_of_the_matrix() {
        let mut stream = Stream::new(5, "structure_modes");
        let axis: Vec<Complex> =
            (0..40).map(|_| Complex::new(0.1, 400.0 * stream.uniform())).collect();
        let circle: Vec<Complex> = axis.iter().map(|s| (s * STEP_S).exp()).collect();
        let [rotor, states] = others(12);
        for (name, equations) in [
            ("modal damping", chain(12, 0.0)),
            ("a damper", chain(12, 900.0)),
            ("gyroscopic", rotor),
            ("first order", states),
        ] {
            let modes = StructureModes::found(&equations).unwrap().unwrap();
            assert_eq!(modes.plain.is_some(), name == "modal damping");
            let dense = Response::new(&parts::unstepped(&equations).unwrap()).unwrap();
            let apart = largest_difference(&modes.unstepped(), &dense, &axis);
            assert!(apart < 1e-9, "{name}: {apart}");
            for method in METHODS {
                let dense = Response::new(&form(&equations, method)).unwrap();
                let stepped = modes.stepped(method.scheme().unwrap(), STEP_S, None);
                let apart = largest_difference(&stepped, &dense, &circle);
                assert!(apart < 1e-9, "{name}, {method:?}: {apart}");
                // With a mass that the integrator solves for.
                let inertia = Matrix::from_row_slice(2, 2, &[30.0, 5.0, 5.0, 20.0]);
                let direct_inertia = Some(inertia.clone());
                let options = Options { method, step_s: STEP_S, direct_inertia, iterations: 1 };
                let solved = Integrator::new(&equations, &options).unwrap();
                let dense = Response::new(&solved.linear_form(STEP_S).unwrap()).unwrap();
                let stepped = modes.stepped(method.scheme().unwrap(), STEP_S, Some(&inertia));
                let apart = largest_difference(&stepped, &dense, &circle);
                assert!(apart < 1e-9, "{name}, {method:?}, with mass: {apart}");
            }
        }
        let plain = chain(12, 0.0);
        let modes = StructureModes::found(&plain).unwrap().unwrap();
        for method in [Method::ChenRicles, Method::KolayRicles { spectral_radius: 0.7 }] {
            let single = modes.mode_by_mode(|one| Ok(form(one, method))).unwrap().unwrap();
            let dense = Response::new(&form(&plain, method)).unwrap();
            let apart = largest_difference(&single, &dense, &circle);
            assert!(apart < 1e-9, "{method:?}: {apart}");
        }
    }

    #[test]
    fn motions_that_cannot_be_told_apart_are_left_to_the_matrix() {
        let mut free = chain(8, 0.0);
        // Without its support the chain has a double root at zero.
        free.matrices.stiffness[(0, 0)] = 4e5;
        free.matrices.damping = Matrix::zeros(8, 8);
        assert!(StructureModes::found(&free).unwrap().is_none());
        // Of critical damping in every mode: c = 2 √(m k) of masses that nothing joins.
        let mut critical = chain(3, 0.0);
        critical.interface.truncate(1);
        critical.matrices.stiffness = Matrix::identity(3, 3) * 4e4;
        critical.matrices.damping = Matrix::identity(3, 3) * 4e3;
        assert!(StructureModes::found(&critical).unwrap().is_none());
        critical.matrices.damping *= 0.999;
        assert!(StructureModes::found(&critical).unwrap().is_some());
    }
}
