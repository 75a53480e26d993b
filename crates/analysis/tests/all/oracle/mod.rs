//! Everything that `loop_stability` says of a loop, against an answer found another way.
//!
//! [`Wired`] joins the linear forms of the parts by one matrix of wires, delays as rows of
//! registers, and is evaluated point by point: slow, and short enough to be seen through.

mod compensators;
mod continuous;
mod curve;
mod large;
mod margins;
mod motions;
mod refusals;
mod structures;
mod two_rates;

use std::f64::consts::{PI, TAU};

use analysis::loop_stability::{Joint, LoopDescription};
use model::compensator::{
    DerivativeSource, Design, FirstOrderDesign, ForwardPredictionDesign, InverseDesign,
    PiLeadDesign, ShapingDesign, delay_series,
};
use model::coupled::Coupled;
use model::equations::{Equations, RelativeDof};
use model::first_order::Scheme;
use model::integrator::{Hold, Integrator, Method, Options};
use model::internal_motion::InternalMotion;
use model::partition::InternalDofs;
use model::specimen::Specimen;
use model::structure::shear_building;
use model::transfer::{ActuatorDynamics, ServoHydraulic, TransferSystem, whole_delay};
use nalgebra::{Complex, DMatrix};
use numerics::complex_eigen;
use numerics::eigen;
use numerics::linear_system::{LinearSystem, Time};
use numerics::lti::TransferFunction;
use numerics::random::Stream;
use numerics::second_order::SecondOrder;

pub(crate) type Matrix = DMatrix<Complex<f64>>;

pub(crate) const STEP_S: f64 = 1e-3;
/// Slower motions are rounding of none.
const ZERO_RAD_S: f64 = 1e-6 * PI / STEP_S;

/// A loop cut where the force acts (or, joined continuously, where the command leaves):
/// x' = A x + B f, and what comes back is C x + D f.
pub(crate) struct Wired {
    a: DMatrix<f64>,
    b: DMatrix<f64>,
    c: DMatrix<f64>,
    d: DMatrix<f64>,
}

/// Parts side by side, and the wires between them.
struct Wires {
    parts: Vec<LinearSystem>,
    /// Place in the signals of all parts: (output, input).
    joined: Vec<(usize, usize)>,
}

impl Wires {
    fn first_input(&self, part: usize) -> usize {
        self.parts[..part].iter().map(|p| p.inputs()).sum()
    }

    fn first_output(&self, part: usize) -> usize {
        self.parts[..part].iter().map(|p| p.outputs()).sum()
    }

    fn join(&mut self, from: (usize, usize), to: (usize, usize), signals: usize) {
        let (output, input) = (self.first_output(from.0) + from.1, self.first_input(to.0) + to.1);
        self.joined.extend((0..signals).map(|i| (output + i, input + i)));
    }

    /// From so many first inputs of part `into` to so many first outputs of part `out`.
    fn cut(&self, into: usize, out: usize, signals: usize) -> Wired {
        let parts: Vec<LinearSystem> = self.parts.iter().map(|part| part.expanded()).collect();
        let stacked = |of: fn(&LinearSystem) -> &DMatrix<f64>| {
            let (rows, columns) =
                parts.iter().fold((0, 0), |n, p| (n.0 + of(p).nrows(), n.1 + of(p).ncols()));
            let (mut all, mut at) = (DMatrix::zeros(rows, columns), (0, 0));
            for part in &parts {
                all.view_mut(at, of(part).shape()).copy_from(of(part));
                at = (at.0 + of(part).nrows(), at.1 + of(part).ncols());
            }
            all
        };
        let [a, b, c, d] =
            [stacked(|p| &p.a), stacked(|p| &p.b), stacked(|p| &p.c), stacked(|p| &p.d)];
        let mut wires = DMatrix::zeros(d.ncols(), d.nrows());
        for &(output, input) in &self.joined {
            wires[(input, output)] += 1.0;
        }
        let mut outside = DMatrix::zeros(d.ncols(), signals);
        outside.view_mut((self.first_input(into), 0), (signals, signals)).fill_with_identity();
        let n = d.nrows();
        let solved = (DMatrix::identity(n, n) - &d * &wires).try_inverse().unwrap();
        let seen = |m: DMatrix<f64>| m.rows(self.first_output(out), signals).into_owned();
        Wired {
            a: &a + &b * &wires * &solved * &c,
            b: &b * (&outside + &wires * &solved * &d * &outside),
            c: seen(&solved * &c),
            d: seen(&solved * &d * &outside),
        }
    }
}

impl Wired {
    /// The loop with its force later by so many samples.
    pub(crate) fn of(description: &LoopDescription, later: usize) -> Self {
        let LoopDescription { numerical, specimen, integrator, transfer_system, .. } = description;
        let (count, step_s, time) =
            (specimen.count(), integrator.step_s, Time::Step(integrator.step_s));
        let compensator = description
            .compensator
            .linear_form(&description.shaping, step_s, count)
            .unwrap()
            .unwrap();
        if description.joint == Joint::Continuous {
            let TransferSystem::TransferFunction { function, .. } = transfer_system else {
                panic!()
            };
            let dynamics = ActuatorDynamics::from_function(function, specimen);
            let scheme = match integrator.method {
                Method::RungeKutta4 => Scheme::RungeKutta4,
                Method::Exact(Hold::Zero) => Scheme::ExactZeroHold,
                _ => Scheme::ExactFirstHold,
            };
            let joint = Coupled::new(numerical, &dynamics, specimen, scheme, step_s).unwrap();
            let parts = vec![joint.linear_form(step_s).unwrap(), compensator];
            let mut wires = Wires { parts, joined: Vec::new() };
            wires.join((0, 0), (1, 0), 4 * count);
            return wires.cut(0, 1, 3 * count);
        }
        let share = transfer_system.direct_share();
        let direct_inertia = (share > 0.0).then(|| share * &specimen.matrices.mass);
        let options = Options { direct_inertia, ..integrator.clone() };
        let stepper = Integrator::new(numerical, &options).unwrap();
        let mut parts = vec![
            stepper.linear_form(step_s).unwrap(),
            compensator,
            transfer_system.linear_form(specimen, step_s).unwrap(),
            specimen.linear_form(step_s),
            whole_delay(count, description.force_delay + later, time),
        ];
        let inside = description.inside.as_ref().map(|inside| InternalMotion::new(inside, step_s));
        parts.extend(inside.map(|moved| moved.unwrap().linear_form(step_s)));
        let mut wires = Wires { parts, joined: Vec::new() };
        // Motion ahead, desired motion, command, achieved motion, force.
        wires.join((0, 0), (2, 0), 2 * count);
        wires.join((0, 2 * count), (1, 0), 3 * count);
        wires.join((1, 0), (2, 2 * count), 3 * count);
        wires.join((2, 0), (1, 3 * count), count);
        wires.join((2, 0), (3, 0), 3 * count);
        wires.join((3, 0), (4, 0), count);
        if wires.parts.len() > 5 {
            wires.join((2, 0), (5, 0), 3 * count);
            wires.join((5, 0), (4, 0), count);
        }
        wires.cut(0, 4, count)
    }

    /// L at s.
    pub(crate) fn gain(&self, s: Complex<f64>) -> Matrix {
        let n = self.a.nrows();
        let z = (s * STEP_S).exp();
        // Rows of (z − A | B), brought to a triangle; registers leave most of them alone.
        let mut rows: Vec<Vec<Complex<f64>>> = (0..n)
            .map(|i| {
                let own = self.a.row(i).iter().map(|a| Complex::from(-a)).collect::<Vec<_>>();
                let forced = self.b.row(i).iter().map(|b| Complex::from(*b)).collect::<Vec<_>>();
                let mut row = [own, forced].concat();
                row[i] += z;
                row
            })
            .collect();
        for i in 0..n {
            let size = |row: &Vec<Complex<f64>>| row[i].norm_sqr();
            let pivot = (i..n).max_by(|&a, &b| size(&rows[a]).total_cmp(&size(&rows[b]))).unwrap();
            rows.swap(i, pivot);
            let (above, below) = rows.split_at_mut(i + 1);
            let pivot = &above[i];
            for row in below.iter_mut().filter(|row| row[i] != Complex::ZERO) {
                let factor = row[i] / pivot[i];
                row.iter_mut().zip(pivot).skip(i).for_each(|(x, p)| *x -= factor * p);
            }
        }
        let mut states = Matrix::zeros(n, self.b.ncols());
        for i in (0..n).rev() {
            for k in 0..self.b.ncols() {
                let known: Complex<f64> = (i + 1..n).map(|j| rows[i][j] * states[(j, k)]).sum();
                states[(i, k)] = (rows[i][n + k] - known) / rows[i][i];
            }
        }
        -(self.c.map(Complex::from) * states + self.d.map(Complex::from))
    }

    /// Eigenvalues of L at s.
    pub(crate) fn loci(&self, s: Complex<f64>) -> Vec<Complex<f64>> {
        complex_eigen::eigenvalues(&self.gain(s))
    }

    /// det(I + L e^{−sτ}).
    pub(crate) fn difference(&self, s: Complex<f64>, delay_s: f64) -> Complex<f64> {
        let gain = self.gain(s) * (-s * delay_s).exp();
        (Matrix::identity(gain.nrows(), gain.nrows()) + gain).determinant()
    }

    /// Exponents of the closed loop, all forces times `factor`; those of a pair with the
    /// imaginary part above zero, with the number of roots, and no rigid motions.
    pub(crate) fn closed(&self, factor: f64) -> Vec<(Complex<f64>, usize)> {
        let n = self.d.nrows();
        let back = (DMatrix::identity(n, n) / factor - &self.d).try_inverse().unwrap();
        let poles = eigen::eigenvalues(&(&self.a + &self.b * back * &self.c)).unwrap();
        let upper = poles.into_iter().filter(|z| z.im >= 0.0 && z.norm() > 1e-30);
        let exponents = upper.map(|z| (z.ln() / STEP_S, if z.im > 0.0 { 2 } else { 1 }));
        exponents.filter(|(s, _)| s.norm() > ZERO_RAD_S).collect()
    }

    /// How many of them grow.
    pub(crate) fn growing(&self, factor: f64) -> usize {
        grow(&self.closed(factor))
    }

    /// The one that decays slowest.
    pub(crate) fn slowest(&self) -> Complex<f64> {
        let poles = self.closed(1.0).into_iter().map(|(s, _)| s);
        poles.max_by(|a, b| a.re.total_cmp(&b.re)).unwrap()
    }
}

pub(crate) fn grow(poles: &[(Complex<f64>, usize)]) -> usize {
    poles.iter().filter(|(s, _)| s.re > 1e-7 * s.norm()).map(|(_, roots)| roots).sum()
}

pub(crate) fn near(one: Complex<f64>, other: Complex<f64>, share: f64) -> bool {
    (one - other).norm() <= share * other.norm()
}

pub(crate) fn one(value: f64) -> DMatrix<f64> {
    DMatrix::from_element(1, 1, value)
}

pub(crate) fn square<const N: usize>(values: [[f64; N]; N]) -> DMatrix<f64> {
    DMatrix::from_fn(N, N, |i, j| values[i][j])
}

/// Masses in a row, the first on the ground by the first spring.
pub(crate) fn storeys(
    mass: &[f64],
    spring: &[f64],
    damper: &[f64],
    interface: &[RelativeDof],
) -> Equations {
    let chain = |values: &[f64]| {
        DMatrix::from_fn(mass.len(), mass.len(), |i, j| match i.abs_diff(j) {
            0 => values[i] + values.get(i + 1).copied().unwrap_or(0.0),
            1 => -values[i.max(j)],
            _ => 0.0,
        })
    };
    Equations {
        matrices: SecondOrder {
            mass: DMatrix::from_diagonal(&mass.to_vec().into()),
            damping: chain(damper),
            stiffness: chain(spring),
        },
        load: DMatrix::from_element(mass.len(), 1, 1.0),
        interface: interface.to_vec(),
        elements: Vec::new(),
        states: None,
    }
}

pub(crate) fn specimen(
    mass: DMatrix<f64>,
    damping: DMatrix<f64>,
    stiffness: DMatrix<f64>,
) -> Specimen {
    Specimen { matrices: SecondOrder { mass, damping, stiffness }, elements: Vec::new() }
}

pub(crate) fn function(numerator: &[f64], denominator: &[f64], samples: f64) -> TransferSystem {
    let function = TransferFunction::new(numerator, denominator).unwrap();
    TransferSystem::TransferFunction { function, samples }
}

/// The published actuator of third order.
pub(crate) fn actuator(samples: f64) -> TransferSystem {
    function(&[5.163e6], &[1.0, 530.8, 8.899e4, 5.44e6], samples)
}

pub(crate) fn inverse(coefficients: &[f64], derivatives: DerivativeSource) -> Design {
    Design::Inverse(InverseDesign { coefficients: coefficients.to_vec(), derivatives })
}

pub(crate) fn described(
    numerical: Equations,
    specimen: Specimen,
    transfer_system: TransferSystem,
    method: Method,
) -> LoopDescription {
    LoopDescription {
        numerical,
        specimen,
        inside: None,
        integrator: Options { method, step_s: STEP_S, direct_inertia: None, iterations: 1 },
        transfer_system,
        compensator: Design::None,
        shaping: ShapingDesign::default(),
        force_delay: 0,
        joint: Joint::Held,
        extra_delay_s: 0.0,
    }
}

pub(crate) fn delay(samples: f64) -> TransferSystem {
    TransferSystem::Delay { samples }
}

pub(crate) const EXACT: Method = Method::Exact(Hold::First);

fn ground(dof: usize) -> RelativeDof {
    RelativeDof::of_dof(dof)
}

fn between(from: usize, to: usize) -> RelativeDof {
    RelativeDof { from: Some(from), to: Some(to) }
}

pub(crate) fn one_mass() -> Equations {
    storeys(&[1000.0], &[4e5], &[1200.0], &[ground(0)])
}

pub(crate) fn three_storeys(interface: &[RelativeDof]) -> Equations {
    storeys(&[900.0, 1000.0, 700.0], &[9e5, 8e5, 6e5], &[2600.0, 2200.0, 1800.0], interface)
}

pub(crate) fn scalar_specimen() -> Specimen {
    specimen(one(40.0), one(300.0), one(1.5e5))
}

/// Two DOFs that pull on each other.
pub(crate) fn coupled_specimen() -> Specimen {
    specimen(
        square([[30.0, 4.0], [4.0, 20.0]]),
        square([[300.0, -80.0], [-80.0, 250.0]]),
        square([[1.3e5, -5e4], [-5e4, 9e4]]),
    )
}

/// Storeys 1 and 2 stand in the laboratory, driven at storey 3.
fn driven_from_above() -> LoopDescription {
    let structure = shear_building(
        &[500.0, 400.0, 900.0, 700.0],
        &[9e5, 7e5, 8e5, 6e5],
        &[1.8e3, 1.4e3, 1.6e3, 1.2e3],
    )
    .unwrap();
    let inside = InternalDofs::of(&structure, &[0, 1], &[ground(2)]).unwrap();
    let joining = InternalDofs::joining;
    let specimen = specimen(
        one(100.0),
        joining(&inside.to_interface.damping),
        joining(&inside.to_interface.stiffness),
    );
    let numerical = storeys(&[800.0, 700.0], &[2e5, 6e5], &[400.0, 1.2e3], &[ground(0)]);
    LoopDescription { inside: Some(inside), ..described(numerical, specimen, delay(2.0), EXACT) }
}

/// A loop and its name.
type Named = (&'static str, LoopDescription);

/// Named loops: every kind of part, stable and not.
pub(crate) fn loops() -> Vec<Named> {
    [late_loops(), compensated_loops(), special_loops()].concat()
}

/// Behind delays and simple actuators.
fn late_loops() -> Vec<Named> {
    vec![
        ("a delay", described(one_mass(), scalar_specimen(), delay(4.0), EXACT)),
        (
            "a long delay",
            described(three_storeys(&[ground(1)]), scalar_specimen(), delay(30.0), EXACT),
        ),
        (
            "at once",
            described(
                three_storeys(&[ground(0)]),
                scalar_specimen(),
                TransferSystem::Ideal,
                Method::ImplicitEuler,
            ),
        ),
        (
            "below one sample",
            described(three_storeys(&[ground(2)]), scalar_specimen(), delay(0.4), Method::Newmark),
        ),
        (
            "third order",
            LoopDescription {
                force_delay: 1,
                ..described(
                    three_storeys(&[between(0, 1)]),
                    scalar_specimen(),
                    actuator(0.0),
                    Method::Newmark,
                )
            },
        ),
    ]
}

/// With compensators, and with several late DOFs.
fn compensated_loops() -> Vec<Named> {
    let two = [ground(0), between(1, 2)];
    let lead_s = 0.006;
    vec![
        (
            "a zero and a delay",
            LoopDescription {
                compensator: Design::FirstOrder(FirstOrderDesign { gain: 1.03, lead_s }),
                ..described(
                    three_storeys(&two),
                    coupled_specimen(),
                    function(&[20.0, 9e3], &[1.0, 120.0, 9e3], 3.3),
                    Method::ChenRicles,
                )
            },
        ),
        (
            "two late DOFs",
            LoopDescription {
                compensator: inverse(&delay_series::<3>(1.0, 0.005), DerivativeSource::Motion),
                ..described(
                    three_storeys(&two),
                    coupled_specimen(),
                    delay(6.0),
                    Method::RungeKutta4,
                )
            },
        ),
        (
            "two DOFs, no compensator",
            described(
                three_storeys(&[ground(0), ground(2)]),
                coupled_specimen(),
                delay(3.0),
                Method::Newmark,
            ),
        ),
        (
            "servo-hydraulic",
            LoopDescription {
                compensator: Design::PiLead(PiLeadDesign {
                    lead_pole_1_s: 800.0,
                    ..PiLeadDesign::BENCHMARK
                }),
                ..described(
                    three_storeys(&[ground(0)]),
                    scalar_specimen(),
                    TransferSystem::ServoHydraulic(ServoHydraulic::BENCHMARK),
                    Method::KolayRicles { spectral_radius: 0.7 },
                )
            },
        ),
        (
            "filtered",
            LoopDescription {
                compensator: Design::ForwardPrediction(ForwardPredictionDesign {
                    order: 3,
                    delay_s: 0.009,
                    gain: 1.0,
                }),
                shaping: ShapingDesign { low_pass_hz: Some(90.0), ..ShapingDesign::default() },
                force_delay: 2,
                ..described(three_storeys(&[ground(2)]), scalar_specimen(), actuator(2.0), EXACT)
            },
        ),
    ]
}

/// With DOFs inside the specimen, joined continuously, without support, of three DOFs.
fn special_loops() -> Vec<Named> {
    let joined = |method| LoopDescription {
        joint: Joint::Continuous,
        compensator: Design::FirstOrder(FirstOrderDesign { gain: 1.02, lead_s: 0.008 }),
        ..described(three_storeys(&[ground(0)]), scalar_specimen(), actuator(0.0), method)
    };
    let mut free = storeys(&[900.0, 700.0], &[0.0, 4e5], &[0.0, 900.0], &[ground(0)]);
    free.load = DMatrix::from_element(2, 1, 1.0);
    vec![
        ("inside", driven_from_above()),
        ("joined, RK4", joined(Method::RungeKutta4)),
        ("joined, held", joined(Method::Exact(Hold::Zero))),
        (
            "without support",
            described(free, specimen(one(0.0), one(900.0), one(3e5)), delay(3.0), EXACT),
        ),
        (
            "three DOFs",
            described(
                three_storeys(&[ground(0), between(0, 1), between(1, 2)]),
                specimen(
                    square([[20.0, 0.0, 0.0], [0.0, 15.0, 0.0], [0.0, 0.0, 10.0]]),
                    square([[200.0, 0.0, 0.0], [0.0, 200.0, 50.0], [0.0, 50.0, 150.0]]),
                    square([[9e4, 2e4, 0.0], [2e4, 8e4, -1e4], [0.0, -1e4, 1.2e5]]),
                ),
                actuator(1.0),
                EXACT,
            ),
        ),
    ]
}

/// Named loops, and some that a seed draws.
pub(crate) fn all_loops() -> Vec<(String, LoopDescription)> {
    let named = loops().into_iter().map(|(name, description)| (name.to_owned(), description));
    let mut random = Stream::new(15, "oracle");
    let drawn: Vec<_> = (0..20)
        .map(|number| {
            (format!("drawn {number}"), crate::loop_stability::random_loop(&mut random, number))
        })
        .collect();
    named.chain(drawn).collect()
}

pub(crate) fn whole(description: &LoopDescription) -> Equations {
    description.numerical.joined(&description.specimen.matrices)
}

pub(crate) fn axis(omega: f64) -> Complex<f64> {
    Complex::new(0.0, omega)
}

pub(crate) fn hertz(omega: f64) -> f64 {
    omega / TAU
}
