//! Many ticks at once have the bits of single ticks.

use model::element::{Element, Law, Side};
use model::equations::ConnectedElement;

use super::*;
use crate::interlock::Response;
use crate::operator;

/// One driven DOF with these elements.
fn one_driven(
    elements: Vec<ConnectedElement>,
    change: impl Fn(&mut PeriodicSettings),
) -> PeriodicLoop {
    let specimen = ShakenSpecimen { elements, ..specimen() };
    let rig = ShakenRig::new(&SHAKER, &specimen, sensors(1.0), STEP_S).unwrap();
    let mut settings = settings(3.58, 1e-6);
    settings.settling.refined_estimates = 20;
    change(&mut settings);
    PeriodicLoop::new(rig, settings).unwrap()
}

/// Two driven DOFs of three, with a gap between them.
fn two_driven(limits: [f64; 3], noise: f64, delays_s: [f64; 3]) -> PeriodicLoop {
    let specimen = ShakenSpecimen {
        interface: vec![2, 0],
        elements: vec![between(Law::Gap { stiffness: 3e4, opening: 5e-5, side: Side::Positive })],
        preload_n: vec![1.0, 0.0],
        ..specimen()
    };
    let two = |size: f64, name: &str| {
        let sensor = |dof| Sensor::new(noise * size, 0.0, 5, &format!("{name} {dof}"));
        vec![sensor(1), sensor(2)]
    };
    let sensors = ShakenSensors {
        displacement: two(1e-6, "laser"),
        force: two(0.05, "cell"),
        acceleration: two(0.02, "accelerometer"),
    };
    let rig = ShakenRig::new(&SHAKER, &specimen, sensors, STEP_S).unwrap();
    let [command, rate, force] = limits;
    let interface = vec![RelativeDof::of_dof(0), RelativeDof::of_dof(1)];
    let settings = PeriodicSettings {
        equations: Equations { interface, ..equations(3.58) },
        inertia_compensation_kg: vec![3.58, 0.0],
        sensor_delays_s: delays_s,
        ramp_m_s: 5e-3,
        harmonics: 3,
        seen_harmonics: 5,
        limits: Limits {
            command: vec![command; 2],
            rate: vec![rate; 2],
            force: vec![force; 2],
            ..Limits::unlimited(2, STEP_S)
        },
        ..settings(3.58, 1e-8)
    };
    PeriodicLoop::new(rig, settings).unwrap()
}

/// An element between storeys 1 and 3.
fn between(law: Law) -> ConnectedElement {
    let place = RelativeDof { to: Some(2), from: Some(0) };
    ConnectedElement { place, element: Element::new(law) }
}

/// Both loops through the same points, one tick by tick; what came of each point.
fn compare(make: impl Fn() -> PeriodicLoop, points: &[(f64, f64)]) -> Vec<Option<bool>> {
    let (mut ticks, mut stretches) = (make(), make());
    let mut outcomes = Vec::new();
    let mut calls = 0;
    for &(hz, size) in points {
        let mut target = stretches.source().blank_target();
        for (dof, target) in target.iter_mut().enumerate() {
            let size = if dof == 0 { size } else { -0.4 * size };
            for (k, value) in target.0.iter_mut().enumerate().skip(1) {
                *value = size / (k * k) as f64;
            }
        }
        ticks.set(hz, &target);
        stretches.set(hz, &target);
        for refined in [false, true] {
            if refined && [ticks.refine(), stretches.refine()] != [true, true] {
                break;
            }
            while !ticks.is_done() {
                ticks.tick();
            }
            while !stretches.is_done() {
                stretches.go_on();
                calls += 1;
            }
            assert_eq!(stretches.result(), ticks.result());
            assert_eq!(stretches.time_s(), ticks.time_s());
        }
        outcomes.push(stretches.result().ok().map(|orbit| orbit.settled));
    }
    assert!(f64::from(calls) * STEP_S < 0.2 * stretches.time_s() + STEP_S, "many at once");
    assert_eq!(stretches.tripped(), ticks.tripped());
    ticks.come_to_rest();
    stretches.come_to_rest();
    assert_eq!(stretches.time_s(), ticks.time_s());
    assert_eq!(stretches.command, ticks.command);
    assert_eq!(stretches.measured, ticks.measured);
    outcomes
}

#[test]
fn with_two_dofs_delays_noise_and_limits() {
    let none = f64::INFINITY;
    let points = [(12.7, 3e-4), (13.31, 9e-4)];
    let run = |limits, noise, delays_s| compare(|| two_driven(limits, noise, delays_s), &points);
    assert_eq!(run([none; 3], 0.0, [0.0; 3]), [Some(true); 2]);
    assert_eq!(run([none; 3], 1.0, [0.0, 2.5e-4, 1e-4]).len(), 2);
    assert_eq!(run([8e-4, none, none], 0.0, [0.0; 3]), [Some(true), None]);
    assert_eq!(run([none, 0.05, none], 1.0, [0.0; 3])[1], None);
    assert_eq!(run([none, none, 20.0], 1.0, [1e-4, 0.0, 0.0])[1], None);
    assert_eq!(run([none, none, -1.0], 0.0, [0.0; 3]), [None, None]);
}

#[test]
fn with_one_dof_and_every_kind_of_element() {
    let gap = Law::Gap { stiffness: 3e4, opening: 5e-5, side: Side::Both };
    let rigid = Law::Gap { stiffness: 1e9, opening: 2e-4, side: Side::Positive };
    let yielding = Law::Bilinear { stiffness: 3e4, yield_force: 4.0, hardening: 0.1 };
    let smooth = Law::BoucWen {
        stiffness: 3e4,
        yield_force: 4.0,
        hardening: 0.1,
        exponent: 1.5,
        beta: 0.6,
        gamma: 0.4,
    };
    let points = [(12.7, 3e-4), (13.31, 6e-4)];
    for laws in [&[][..], &[gap], &[yielding], &[smooth], &[rigid], &[gap, yielding]] {
        let elements = || laws.iter().copied().map(between).collect();
        let outcomes = compare(|| one_driven(elements(), |_| {}), &points);
        assert!(outcomes.iter().all(Option::is_some), "{laws:?}: {outcomes:?}");
    }
}

#[test]
fn with_a_time_that_ends_inside_a_stretch_and_a_tracking_error() {
    let points = [(12.7, 3e-4), (13.31, 6e-4)];
    let short = |s: &mut PeriodicSettings| {
        (s.settling.most_s, s.settling.tolerance_m) = (0.3517, 0.0);
    };
    assert_eq!(compare(|| one_driven(Vec::new(), short), &points), [Some(false); 2]);
    let strict = |s: &mut PeriodicSettings| s.limits.tracking_error = vec![4e-4];
    let outcomes = compare(|| one_driven(Vec::new(), strict), &points);
    assert_eq!(outcomes[1], None, "{outcomes:?}");
    let none = |s: &mut PeriodicSettings| s.load = Vec::new();
    assert_eq!(compare(|| one_driven(Vec::new(), none), &points).len(), 2);
}

#[test]
fn the_operator_stops_between_stretches() {
    let make = || two_driven([f64::INFINITY; 3], 1.0, [0.0; 3]);
    let (mut ticks, mut stretches) = (make(), make());
    let target = [Coefficients(vec![0.0, 4e-4, 0.0, 0.0, 1e-4, 0.0, 0.0]), Coefficients::zeros(3)];
    ticks.set(13.0, &target);
    stretches.set(13.0, &target);
    for _ in 0..50 {
        stretches.go_on();
    }
    while ticks.time_s() < stretches.time_s() {
        ticks.tick();
    }
    for test in [&mut ticks, &mut stretches] {
        operator::stop(test, Response::Hold);
    }
    while !ticks.is_at_rest() {
        ticks.tick();
    }
    while !stretches.is_at_rest() {
        stretches.go_on();
    }
    let (trip, at_s) = stretches.tripped().unwrap();
    assert_eq!((trip.kind, Some(at_s)), (TripKind::Operator, ticks.tripped().map(|t| t.1)));
    assert_eq!(stretches.time_s(), ticks.time_s());
    assert_eq!(stretches.command, ticks.command);
    assert_eq!(stretches.measured, ticks.measured);
}
