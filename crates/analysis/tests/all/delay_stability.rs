//! Verdicts of the delay system against loops that run, specimens with DOFs of
//! their own among them.

use analysis::delay_stability::delay_system;
use analysis::loop_stability::{Joint, LoopDescription, Motion, dominant};
use model::compensator::{Design, ShapingDesign};
use model::equations::RelativeDof;
use model::integrator::{Hold, Integrator, Method, Options};
use model::internal_motion::InternalMotion;
use model::partition::{InternalDofs, LoadPattern, Partition};
use model::sensor::{Converter, Sensor};
use model::specimen::Specimen;
use model::structure::shear_building;
use model::transfer::TransferSystem;
use nalgebra::DMatrix;
use numerics::random::Stream;
use numerics::second_order::SecondOrder;
use runtime::event::EventLog;
use runtime::numerical::Plant;
use runtime::rig::{Measured, VirtualRig, VirtualRigParts};
use runtime::source::Scene;

const STEP_S: f64 = 2e-4;

/// A building cut at one storey, with a late actuator.
struct Test {
    plant: Plant,
    predicted: Motion,
    neutral_radius: f64,
}

/// Three to five storeys; those below the interface stand in the laboratory, or
/// a part of its leg alone does.
fn random_test(random: &mut Stream) -> Test {
    let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
    let storeys = between(3.0, 5.999) as usize;
    let mut list =
        |low: f64, high: f64| -> Vec<f64> { (0..storeys).map(|_| between(low, high)).collect() };
    let (mass, stiffness) = (list(0.5, 2.0), list(500.0, 4000.0));
    let loss = 10_f64.powf(between(-4.0, -1.3));
    let damping: Vec<f64> = stiffness.iter().map(|k| loss * k).collect();
    let structure = shear_building(&mass, &stiffness, &damping).unwrap();
    let at = between(1.0, storeys as f64 - 0.001) as usize;
    let interface = vec![RelativeDof::of_dof(at)];
    let scalar = |value: f64| DMatrix::from_element(1, 1, value);
    let share = scalar(between(0.05, 0.6) * mass[at]);
    let partition = if between(0.0, 1.0) < 0.75 {
        let below: Vec<usize> = (0..at).collect();
        let inside = InternalDofs::of(&structure, &below, &interface).unwrap();
        let specimen = Specimen {
            matrices: SecondOrder {
                mass: share,
                damping: InternalDofs::joining(&inside.to_interface.damping),
                stiffness: InternalDofs::joining(&inside.to_interface.stiffness),
            },
            elements: Vec::new(),
        };
        Partition { interface, specimen, inside: Some(inside) }
    } else {
        let part = between(0.1, 0.9);
        let specimen = Specimen {
            matrices: SecondOrder {
                mass: share,
                damping: scalar(part * damping[at]),
                stiffness: scalar(part * stiffness[at]),
            },
            elements: Vec::new(),
        };
        Partition { interface, specimen, inside: None }
    };
    let samples = between(1.0, 40.999).floor();
    let split =
        partition.split(&structure, &[], &[LoadPattern::Force { dof: storeys - 1 }]).unwrap();
    let system = delay_system(&split.whole, &partition).unwrap();
    let sensors = || vec![Sensor::new(0.0, 0.0, 0, "")];
    let mut rig = VirtualRig::new(VirtualRigParts {
        transfer_system: TransferSystem::Delay { samples },
        specimen: partition.specimen.clone(),
        converter: Converter::EXACT,
        displacement_sensors: sensors(),
        force_sensors: sensors(),
        step_s: STEP_S,
    })
    .unwrap();
    if let Some(inside) = &partition.inside {
        rig = rig.with_inside(InternalMotion::new(inside, STEP_S).unwrap());
    }
    let options = Options {
        method: Method::Exact(Hold::First),
        step_s: STEP_S,
        direct_inertia: None,
        iterations: 1,
    };
    let numerical = Integrator::new(&split.numerical, &options).unwrap();
    let description = LoopDescription {
        numerical: split.numerical,
        specimen: partition.specimen.clone(),
        inside: partition.inside.clone(),
        integrator: options,
        transfer_system: TransferSystem::Delay { samples },
        compensator: Design::None,
        shaping: ShapingDesign::default(),
        force_delay: 0,
        joint: Joint::Held,
        extra_delay_s: 0.0,
    };
    Test {
        plant: Plant::partitioned(numerical, 0, rig),
        predicted: dominant(&description).unwrap().unwrap(),
        neutral_radius: system.neutral_radius().unwrap(),
    }
}

/// Whether the motion after a push grows over the last half of `ticks`.
fn grows(plant: &mut Plant, ticks: usize) -> bool {
    let mut measured = Measured::zeros(1);
    let load = |tick: usize| [if tick < 20 { 1.0 } else { 0.0 }];
    let mut energy = [0.0_f64; 4];
    plant.numerical.rest(&load(0));
    let (mut held, mut log) = (model::motion::Motion::rest(1), EventLog::default());
    for tick in 0..ticks {
        let Plant { numerical, rig } = &mut *plant;
        let mut scene = Scene {
            tick: tick as u64,
            rig,
            held: &mut held,
            measured: &mut measured,
            log: &mut log,
        };
        numerical.measure(&load(tick), &mut scene).unwrap();
        let desired = numerical.desired().clone();
        rig.actuate(&desired);
        let size = numerical.displacement().iter().map(|x| x * x).sum::<f64>();
        if !size.is_finite() || size > 1e12 {
            return true;
        }
        energy[4 * tick / ticks] += size;
        numerical.advance(&load(tick), &load(tick + 1), &measured).unwrap();
    }
    energy[3] > energy[2]
}

#[test]
fn two_hundred_random_loops_run_as_predicted() {
    let (mut judged, mut unstable, mut close) = (0, 0, 0);
    for index in 0..300 {
        let mut test = random_test(&mut Stream::new(17, &format!("delay.{index}")));
        let growth = test.predicted.growth_1_s();
        // A run tells growth from decay if it is faster than 0.2 1/s.
        if growth.abs() < 0.2 {
            close += 1;
            continue;
        }
        // Long enough for the predicted motion to outgrow or outlast the others.
        let ticks = ((10.0 / growth.abs()).clamp(1.0, 40.0) / STEP_S) as usize;
        let ran = grows(&mut test.plant, ticks);
        assert_eq!(ran, growth > 0.0, "{index}: {:?}, ρ {}", test.predicted, test.neutral_radius);
        judged += 1;
        unstable += u32::from(ran);
    }
    assert!(judged >= 200, "{judged} judged, {close} too close");
    assert!((40..judged - 40).contains(&unstable), "{unstable} of {judged} unstable");
}
