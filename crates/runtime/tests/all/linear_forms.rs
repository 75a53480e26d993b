//! Every part of a loop against its own linear form: the same random input, step by
//! step, to 1e-9 of the largest output.

use model::compensator::{
    Compensator, DerivativeSource, Design, FirstOrderDesign, ForwardPredictionDesign,
    InverseDesign, PiLeadDesign, ShapingDesign, Site, delay_series,
};
use model::coupled::Coupled;
use model::equations::{Equations, RelativeDof};
use model::first_order::Scheme;
use model::integrator::{Integrator, Method, Options};
use model::internal_motion::InternalMotion;
use model::motion::Motion;
use model::partition::InternalDofs;
use model::sensor::{Converter, Sensor};
use model::specimen::Specimen;
use model::structure::shear_building;
use model::transfer::{ActuatorDynamics, ServoHydraulic, TransferSystem, whole_delay};
use nalgebra::{DMatrix, DVector};
use numerics::held_response::held_response;
use numerics::linear_system::{LinearSystem, Time};
use numerics::lti::TransferFunction;
use numerics::random::Stream;
use numerics::second_order::SecondOrder;
use runtime::measured::Measured;
use runtime::rig::{LateForce, Rig, VirtualRig, VirtualRigParts};

const STEP_S: f64 = 1e-3;
const STEPS: usize = 400;

/// Steps a linear form beside the part itself, which `part` calls with the input of
/// the step and which gives its output.
fn compare(
    what: &str,
    form: &LinearSystem,
    seed: u64,
    mut part: impl FnMut(&DVector<f64>) -> Vec<f64>,
) {
    let form = form.expanded();
    let mut stream = Stream::new(seed, what);
    let mut state = DVector::zeros(form.states());
    let (mut apart, mut largest) = (0.0f64, 0.0f64);
    // From rest: what comes first is not taken for the past.
    part(&DVector::zeros(form.inputs()));
    for _ in 0..STEPS {
        let input = DVector::from_fn(form.inputs(), |_, _| stream.uniform() - 0.5);
        let told = form.step(&mut state, &input);
        let found = part(&input);
        assert_eq!(told.len(), found.len(), "{what}");
        for (told, found) in told.iter().zip(found) {
            apart = apart.max((told - found).abs());
            largest = largest.max(found.abs());
        }
    }
    assert!(apart <= 1e-9 * largest && largest > 0.0, "{what}: {apart:e} of {largest:e}");
}

fn motion(values: &[f64]) -> Motion {
    let n = values.len() / 3;
    Motion {
        displacement: values[..n].to_vec(),
        velocity: values[n..2 * n].to_vec(),
        acceleration: values[2 * n..].to_vec(),
    }
}

fn flat(motion: &Motion) -> Vec<f64> {
    [&motion.displacement[..], &motion.velocity, &motion.acceleration].concat()
}

fn two_storeys() -> Equations {
    Equations {
        matrices: SecondOrder {
            mass: DMatrix::from_row_slice(2, 2, &[900.0, 30.0, 30.0, 700.0]),
            damping: DMatrix::from_row_slice(2, 2, &[900.0, -300.0, -300.0, 500.0]),
            stiffness: DMatrix::from_row_slice(2, 2, &[9e5, -4e5, -4e5, 4e5]),
        },
        load: DMatrix::zeros(2, 0),
        interface: vec![RelativeDof::of_dof(0), RelativeDof { from: Some(0), to: Some(1) }],
        elements: Vec::new(),
        states: None,
    }
}

fn specimen() -> Specimen {
    Specimen {
        matrices: SecondOrder {
            mass: DMatrix::from_row_slice(2, 2, &[40.0, 3.0, 3.0, 25.0]),
            damping: DMatrix::from_row_slice(2, 2, &[300.0, 10.0, 10.0, 200.0]),
            stiffness: DMatrix::from_row_slice(2, 2, &[9e4, 1e4, 1e4, 7e4]),
        },
        elements: Vec::new(),
    }
}

#[test]
fn integrators() {
    for method in Method::all(0.6) {
        for direct_inertia in [None, Some(0.7 * &specimen().matrices.mass)] {
            let what = format!("{method:?}, direct inertia {}", direct_inertia.is_some());
            let options = Options { method, step_s: STEP_S, direct_inertia, iterations: 1 };
            let mut integrator = Integrator::new(&two_storeys(), &options).unwrap();
            let form = integrator.linear_form(STEP_S).unwrap();
            compare(&what, &form, 1, |input| {
                let mut force: Vec<f64> = input.iter().map(|f| 1e4 * f).collect();
                let ahead = integrator.interface().clone();
                integrator.equilibrium(&[], &mut force);
                let desired = integrator.interface().clone();
                integrator.advance(&[], &[], &force).unwrap();
                let seen = [&ahead.displacement[..], &ahead.velocity, &flat(&desired)].concat();
                seen.iter().map(|value| value / 1e4).collect()
            });
        }
    }
}

#[test]
fn compensators() {
    let inverse = |coefficients: Vec<f64>, derivatives| {
        Design::Inverse(InverseDesign { coefficients, derivatives })
    };
    let forward = |order| {
        Design::ForwardPrediction(ForwardPredictionDesign { order, delay_s: 0.007, gain: 1.1 })
    };
    let designs = [
        Design::None,
        Design::FirstOrder(FirstOrderDesign { gain: 1.02, lead_s: 0.006 }),
        inverse(delay_series::<3>(1.0, 0.008).to_vec(), DerivativeSource::Motion),
        inverse(delay_series::<6>(1.0, 0.002).to_vec(), DerivativeSource::Motion),
        inverse(delay_series::<4>(1.0, 0.002).to_vec(), DerivativeSource::Differences),
        forward(1),
        forward(2),
        forward(4),
        Design::PiLead(PiLeadDesign { lead_pole_1_s: 800.0, ..PiLeadDesign::BENCHMARK }),
    ];
    for design in designs {
        for low_pass_hz in [None, Some(40.0)] {
            let shaping = ShapingDesign { low_pass_hz, ..ShapingDesign::default() };
            let converter = Converter::EXACT;
            let site = Site { count: 2, step_s: STEP_S, converter };
            let mut compensator = Compensator::new(&design, &shaping, &site).unwrap();
            let form = design.linear_form(&shaping, STEP_S, 2).unwrap().unwrap();
            let mut command = Motion::rest(2);
            compare(&format!("{design:?}, {low_pass_hz:?}"), &form, 2, |input| {
                let (desired, measured) = input.as_slice().split_at(6);
                compensator.step(&motion(desired), measured, &mut command);
                flat(&command)
            });
        }
    }
}

/// Every seventh tick begins a new prediction.
#[test]
fn compensators_of_predicted_motions() {
    let inverse = |coefficients: Vec<f64>, derivatives| {
        Design::Inverse(InverseDesign { coefficients, derivatives })
    };
    for design in [
        Design::FirstOrder(FirstOrderDesign { gain: 1.02, lead_s: 0.006 }),
        inverse(delay_series::<3>(1.0, 0.008).to_vec(), DerivativeSource::Motion),
        inverse(delay_series::<6>(1.0, 0.002).to_vec(), DerivativeSource::Motion),
        inverse(delay_series::<4>(1.0, 0.002).to_vec(), DerivativeSource::Differences),
    ] {
        for low_pass_hz in [None, Some(40.0)] {
            let shaping = ShapingDesign { low_pass_hz, ..ShapingDesign::default() };
            let converter = Converter::EXACT;
            let site = Site { count: 2, step_s: STEP_S, converter };
            let mut compensator = Compensator::new(&design, &shaping, &site).unwrap();
            let forms = design.predicted_forms(&shaping, STEP_S, 2).unwrap().unwrap();
            let [plain, news] = forms.map(|form| form.expanded());
            let (mut state, mut command) = (DVector::zeros(plain.states()), Motion::rest(2));
            compensator.step(&Motion::rest(2), &[0.0; 2], &mut command);
            let mut stream = Stream::new(11, "predicted");
            for tick in 0..200 {
                let input = DVector::from_fn(10, |_, _| stream.uniform() - 0.5);
                let told = if tick % 7 == 3 {
                    let mut before = Motion::rest(2);
                    before.acceleration.copy_from_slice(&input.as_slice()[8..]);
                    compensator.rejoin(&before);
                    news.step(&mut state, &input)
                } else {
                    plain.step(&mut state, &input.rows(0, 8).into_owned())
                };
                let (desired, measured) = input.as_slice()[..8].split_at(6);
                compensator.step(&motion(desired), measured, &mut command);
                let found = DVector::from_vec(flat(&command));
                assert!((&told - &found).amax() <= 1e-9 * found.amax(), "{design:?} {tick}");
            }
        }
    }
}

fn rigs() -> Vec<TransferSystem> {
    let function = |numerator: &[f64], denominator: &[f64], samples: f64| {
        let function = TransferFunction::new(numerator, denominator).unwrap();
        TransferSystem::TransferFunction { function, samples }
    };
    let mut rigs = vec![TransferSystem::Ideal];
    rigs.extend([0.4, 1.0, 1.3, 2.0, 5.0, 7.6].map(|samples| TransferSystem::Delay { samples }));
    rigs.push(TransferSystem::ServoHydraulic(ServoHydraulic::BENCHMARK));
    for samples in [0.0, 0.3, 3.0, 4.7] {
        rigs.extend([
            function(&[1.1], &[1.0], samples),
            function(&[0.3, 90.0], &[1.0, 90.0], samples),
            function(&[90.0], &[1.0, 90.0], samples),
            function(&[20.0, 9e3], &[1.0, 120.0, 9e3], samples),
            function(&[9e3], &[1.0, 120.0, 9e3], samples),
            function(&[5.163e6], &[1.0, 530.8, 8.899e4, 5.44e6], samples),
        ]);
    }
    rigs
}

fn virtual_rig(transfer_system: &TransferSystem, specimen: Specimen) -> VirtualRig {
    let count = specimen.count();
    let sensors = || (0..count).map(|_| Sensor::new(0.0, 0.0, 0, "")).collect();
    VirtualRig::new(VirtualRigParts {
        transfer_system: transfer_system.clone(),
        specimen,
        converter: Converter::EXACT,
        displacement_sensors: sensors(),
        force_sensors: sensors(),
        step_s: STEP_S,
    })
    .unwrap()
}

/// Transfer system and specimen in a row, as the rig measures them: displacement,
/// force. The part of the acceleration ahead is the integrator's.
#[test]
fn rigs_and_specimens() {
    for transfer_system in rigs() {
        let specimen = specimen();
        let mut rig = virtual_rig(&transfer_system, specimen.clone());
        let moved = transfer_system.linear_form(&specimen, STEP_S).unwrap();
        let force = specimen.linear_form(STEP_S).d;
        let mut seen = DMatrix::identity(4, 6);
        seen.rows_mut(2, 2).copy_from(&force);
        let form = LinearSystem {
            c: stacked(&seen, &moved.c, moved.outputs()),
            d: stacked(&seen, &moved.d, moved.outputs()),
            ..moved.clone()
        };
        let share = transfer_system.direct_share();
        assert_eq!(rig.direct_inertia().is_some(), share > 0.0);
        let mut measured = Measured::zeros(2);
        compare(&format!("{transfer_system:?}"), &form, 3, |input| {
            let (ahead, command) = input.as_slice().split_at(4);
            let ahead = motion(&[ahead, &[0.0; 2]].concat());
            rig.measure(&ahead, &mut measured).unwrap();
            rig.actuate(&motion(command));
            [&measured.displacement[..], &measured.force].concat()
        });
    }
}

/// A converter holds the command, and the delay passes the steps on: exact for any fraction.
#[test]
fn a_rig_that_is_late_by_a_fraction_answers_as_its_function_does() {
    let function = TransferFunction::new(&[95.0], &[1.0, 100.0]).unwrap();
    let input: Vec<f64> = (0..200).map(|k| (0.3 * f64::from(k)).sin()).collect();
    for samples in [0.0, 0.25, 4.5, 7.9] {
        let exact = held_response(&function, samples * STEP_S, &input, STEP_S);
        let system = TransferSystem::TransferFunction { function: function.clone(), samples };
        let mut rig = virtual_rig(&system, specimen());
        let mut measured = Measured::zeros(2);
        for (x, exact) in input.iter().zip(exact) {
            rig.measure(&Motion::rest(2), &mut measured).unwrap();
            assert!((measured.displacement[0] - exact).abs() < 1e-12, "{samples} samples");
            rig.actuate(&motion(&[*x, 0.0, 0.0, 0.0, 0.0, 0.0]));
        }
    }
}

/// What is seen of the outputs, the delay ports behind them left as they are.
fn stacked(seen: &DMatrix<f64>, of: &DMatrix<f64>, outputs: usize) -> DMatrix<f64> {
    let top = seen * of.rows(0, outputs);
    let rest = of.rows(outputs, of.nrows() - outputs);
    let mut all = DMatrix::zeros(top.nrows() + rest.nrows(), of.ncols());
    all.rows_mut(0, top.nrows()).copy_from(&top);
    all.rows_mut(top.nrows(), rest.nrows()).copy_from(&rest);
    all
}

#[test]
fn specimens_with_dofs_of_their_own() {
    let structure = shear_building(&[500.0, 400.0, 600.0], &[9e5, 7e5, 8e5], &[9e2, 7e2, 8e2]);
    let inside = InternalDofs::of(&structure.unwrap(), &[0, 1], &[RelativeDof::of_dof(2)]).unwrap();
    let mut moved = InternalMotion::new(&inside, STEP_S).unwrap();
    let form = moved.linear_form(STEP_S);
    compare("inside", &form, 4, |input| {
        let mut force = [0.0];
        moved.follow(&motion(input.as_slice()), &mut force);
        force.to_vec()
    });
}

#[test]
fn forces_that_come_late() {
    for samples in [0, 1, 4] {
        let mut rig = LateForce::new(virtual_rig(&TransferSystem::Ideal, specimen()), samples, 2);
        let stiff = specimen().matrices.stiffness;
        let form = whole_delay(2, samples, Time::Step(STEP_S));
        let mut measured = Measured::zeros(2);
        compare(&format!("{samples} samples"), &form, 5, |input| {
            // A displacement that makes just this force.
            let ahead = stiff.clone().lu().solve(input).unwrap();
            let ahead = motion(&[ahead.as_slice(), &[0.0; 4]].concat());
            rig.measure(&ahead, &mut measured).unwrap();
            rig.actuate(&ahead);
            measured.force.clone()
        });
    }
}

#[test]
fn numerical_part_and_rig_as_one() {
    let (numerical, specimen) = (two_storeys(), specimen());
    let dynamics = ActuatorDynamics::from_servo(&ServoHydraulic::BENCHMARK, &specimen).unwrap();
    for scheme in [Scheme::RungeKutta4, Scheme::ExactFirstHold, Scheme::ExactZeroHold] {
        let mut joint = Coupled::new(&numerical, &dynamics, &specimen, scheme, STEP_S).unwrap();
        let form = joint.linear_form(STEP_S).unwrap();
        compare(&format!("{scheme:?}"), &form, 6, |input| {
            joint.observe(&[]);
            let seen = [&flat(&joint.interface)[..], &joint.achieved.displacement].concat();
            joint.advance(&[], &[], &motion(input.as_slice()), &[0.0; 2]);
            seen
        });
    }
}
