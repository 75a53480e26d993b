//! The loop of an iterative test: no tick allocates, and real time gives what
//! virtual time gives.

use std::cell::Cell;

use crate::allocations::calls;

use model::equations::{Equations, RelativeDof};
use model::integrator::Method;
use model::periodic::Coefficients;
use model::sensor::Sensor;
use model::shaken::{ShakenSpecimen, Shaker};
use nalgebra::{DMatrix, DVector};
use numerics::second_order::SecondOrder;
use runtime::gate::{Limits, Trip, TripKind};
use runtime::interlock::SafePath;
use runtime::periodic::{Control, Mean, PeriodicError, PeriodicLoop, PeriodicSettings, Settling};
use runtime::realtime::{Cpu, Finished, Memory, PeriodicDriver, RealtimePlan};
use runtime::rig::{ShakenRig, ShakenSensors};
use runtime::stop::StopHandle;

const STEP_S: f64 = 1e-3;

/// A mass on a spring in the laboratory, another on it in the simulation.
fn test_loop(noise: f64) -> PeriodicLoop {
    let one = |value: f64| DMatrix::from_element(1, 1, value);
    let specimen = ShakenSpecimen {
        matrices: SecondOrder { mass: one(2.0), damping: one(40.0), stiffness: one(8e3) },
        interface: vec![0],
        elements: Vec::new(),
        preload_n: vec![0.0],
    };
    let shaker = Shaker {
        gain_n_per_v: 1.0,
        lag_s: 2e-3,
        proportional_v_per_m: 4e3,
        derivative_v_s_per_m: 60.0,
    };
    let sensor = |size: f64, name: &str| vec![Sensor::new(noise * size, 0.0, 5, name)];
    let sensors = ShakenSensors {
        displacement: sensor(1e-6, "laser"),
        force: sensor(0.05, "cell"),
        acceleration: sensor(0.02, "accelerometer"),
    };
    let pair = |k: f64| DMatrix::from_row_slice(2, 2, &[k, -k, -k, k]);
    let settings = PeriodicSettings {
        equations: Equations {
            matrices: SecondOrder {
                mass: DMatrix::from_diagonal(&DVector::from_column_slice(&[0.5, 1.0])),
                damping: pair(10.0),
                stiffness: pair(4e3),
            },
            load: DMatrix::from_column_slice(2, 1, &[0.0, 1.0]),
            interface: vec![RelativeDof::of_dof(0)],
            elements: Vec::new(),
            states: None,
        },
        load: vec![1.0],
        method: Method::Newmark,
        control: Control { proportional_n_per_m: 5e3, derivative_n_s_per_m: 50.0, filter_s: 5e-3 },
        inertia_compensation_kg: vec![0.5],
        sensor_delays_s: [0.0; 3],
        mean: Mean::Followed,
        ramp_m_s: f64::INFINITY,
        harmonics: 1,
        seen_harmonics: 2,
        settling: Settling {
            tolerance_m: 1e-7,
            spell: 2,
            scatter_m: 1e-9,
            most_estimates: 12,
            refined_estimates: 48,
            most_s: 3.0,
        },
        limits: Limits { command: vec![5e-3], ..Limits::unlimited(1, STEP_S) },
        safe_path: SafePath { hold_s: 0.05, rate_m_s: 0.1 },
    };
    let rig = ShakenRig::new(&shaker, &specimen, sensors, STEP_S).unwrap();
    PeriodicLoop::new(rig, settings).unwrap()
}

fn target(size: f64) -> [Coefficients; 1] {
    [Coefficients(vec![0.0, size, -0.5 * size])]
}

#[test]
fn no_tick_allocates_until_the_rig_is_safe() {
    assert!(allocates_nothing(PeriodicLoop::tick) < 1.5 * STEP_S);
}

#[test]
fn many_ticks_at_once_allocate_nothing_either() {
    assert!(allocates_nothing(PeriodicLoop::go_on) > 10.0 * STEP_S, "many ticks at once");
}

/// The longest time that one call of `go` has covered, s.
fn allocates_nothing(go: impl Fn(&mut PeriodicLoop)) -> f64 {
    let mut test = test_loop(1.0);
    let longest_s = Cell::new(0.0);
    let quiet = |test: &mut PeriodicLoop| {
        let (before, begun_s) = (calls(), test.time_s());
        go(test);
        longest_s.set(f64::max(longest_s.get(), test.time_s() - begun_s));
        assert_eq!(calls() - before, 0, "{} s", test.time_s());
    };
    let mut points = 0;
    for size in [1e-3, 1.5e-3] {
        test.set(20.0, &target(size));
        while !test.is_done() {
            quiet(&mut test);
        }
        points += usize::from(test.result().unwrap().estimates > 4);
    }
    assert_eq!(points, 2);
    // A point that is kept is averaged on, and is then known better.
    let quick = test.result().unwrap();
    assert!(test.refine(), "noise is left");
    while !test.is_done() {
        quiet(&mut test);
    }
    let refined = test.result().unwrap();
    assert_eq!((quick.estimates, refined.estimates), (12, 48));
    let scatter = |orbit: &model::periodic::Orbit| orbit.difference_scatter[0].amplitude(1);
    assert!(scatter(&refined) < 0.8 * scatter(&quick));
    assert!(!test.refine(), "nothing more is allowed");
    test.set(20.0, &target(6e-3));
    while !test.is_at_rest() {
        quiet(&mut test);
    }
    assert!(matches!(test.tripped(), Some((Trip { kind: TripKind::Command, .. }, _))));
    longest_s.get()
}

fn plan() -> RealtimePlan {
    RealtimePlan {
        period_s: STEP_S,
        priority: 10,
        cpu: Cpu::Any,
        memory: Memory::Unlocked,
        overrun_limit: u64::MAX,
        main_loop: None,
    }
}

#[test]
fn in_real_time_a_point_settles_to_the_same_bits() {
    let expected = test_loop(0.0).settle(20.0, &target(1e-3)).unwrap();
    let mut driver =
        PeriodicDriver::start(&plan(), test_loop(0.0), &StopHandle::default()).unwrap();
    let found = driver.settle(20.0, &target(1e-3), || {}).unwrap();
    assert_eq!(found, expected);
    // A second point goes on where the rig is.
    let second = driver.settle(20.5, &target(1.2e-3), || {}).unwrap();
    assert!(second.settled);
    let Finished { test, timing } = driver.finish().unwrap();
    assert!(test.is_at_rest() && test.tripped().is_none());
    assert!(timing.execution.count() > 100);
}

#[test]
fn the_operator_stops_it_and_the_rig_goes_to_zero() {
    let pressed = StopHandle::default();
    let mut driver = PeriodicDriver::start(&plan(), test_loop(0.0), &pressed).unwrap();
    let mut looks = 0;
    let outcome = driver.settle(20.0, &target(1e-3), || {
        looks += 1;
        if looks == 20 {
            pressed.press();
        }
    });
    let is_stop = |e: &PeriodicError| {
        matches!(e, PeriodicError::Tripped(Trip { kind: TripKind::Operator, .. }))
    };
    assert!(outcome.as_ref().is_err_and(is_stop), "{outcome:?}");
    let Finished { test, .. } = driver.finish().unwrap();
    assert!(test.is_at_rest() && test.tripped().is_some());
}
