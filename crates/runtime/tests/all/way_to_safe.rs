//! Faults: every one trips at its tick, no limit is passed, and the rig ends safe.

use crate::common;
use crate::common::benchmark::{BILINEAR, Case, Trace, ground, quick, servo};
use model::first_order::Scheme;
use model::integrator::Method;
use model::motion::Motion;
use runtime::gate::TripKind;
use runtime::interlock::Phase;
use runtime::rig::{Measured, Rig, RigFault, VirtualRig};
use runtime::stop::StopHandle;

/// What goes wrong, from its tick on.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// A sensor says this once.
    Displacement(f64),
    /// The load cell says this once.
    Force(f64),
    /// The actuator no longer moves.
    Stuck,
}

/// A rig with a fault.
struct Faulty {
    rig: VirtualRig,
    fault: Fault,
    at: u64,
    tick: u64,
    stuck: Option<f64>,
}

impl Rig for Faulty {
    runtime::hands_on_to!(rig);

    fn measure(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        let health = self.rig.measure(ahead, measured);
        if self.tick >= self.at {
            match self.fault {
                Fault::Displacement(value) if self.tick == self.at => {
                    measured.displacement[0] = value;
                }
                Fault::Force(value) if self.tick == self.at => measured.force[0] = value,
                Fault::Stuck => {
                    measured.displacement[0] = *self.stuck.get_or_insert(measured.displacement[0]);
                }
                _ => {}
            }
        }
        self.tick += 1;
        health
    }

    fn actuate(&mut self, command: &Motion) {
        self.rig.actuate(command);
    }
}

const AT: u64 = 3100;

/// A case with every limit in place, which a healthy run does not touch.
fn guarded() -> Case {
    let mut case = Case::benchmark().with_delay(2.0);
    case.limits.command = vec![0.02];
    case.limits.rate = vec![0.6];
    case.limits.force = vec![30_000.0];
    case.limits.tracking_error = vec![3e-3];
    case
}

fn run(case: &Case, fault: Fault) -> Trace {
    let rig = Faulty { rig: case.rig(), fault, at: AT, tick: 0, stuck: None };
    case.run(case.split_with(Box::new(rig), None), 8192)
}

/// The command obeys the limits, holds, ramps at the safe rate, ends at zero.
fn assert_safe(case: &Case, trace: &Trace, what: &str) {
    let (trip, time_s) = trace.trip.expect(what);
    let tripped = (time_s / case.step_s).round() as usize;
    assert_eq!(trace.end, Some(Phase::Safe), "{what}");
    let command: Vec<f64> = trace.command.iter().map(|c| c[0]).collect();
    let mut held = 0.0;
    for (tick, &x) in command.iter().enumerate() {
        assert!(x.abs() <= case.limits.command[0], "{what}, {trip:?}: {x} at {tick}");
        let rate = (x - held) / case.step_s;
        assert!(rate.abs() <= case.limits.rate[0], "{what}: {rate} at {tick}");
        held = x;
    }
    let hold = (case.safe_path.hold_s / case.step_s).round() as usize;
    let stood = command[tripped - 1];
    for x in &command[tripped..=tripped + hold] {
        assert_eq!(*x, stood, "{what}: holds");
    }
    let stride = case.safe_path.rate_m_s * case.step_s;
    let ramp = &command[tripped + hold..];
    for pair in ramp.windows(2) {
        assert!(pair[1].abs() <= pair[0].abs(), "{what}: comes home");
        assert!((pair[1] - pair[0]).abs() <= stride * (1.0 + 1e-9), "{what}: at the safe rate");
    }
    assert_eq!(*command.last().unwrap(), 0.0, "{what}");
    let expected = tripped as f64 + hold as f64 + stood.abs() / stride;
    assert!((command.len() as f64 - expected).abs() < 4.0, "{what}: neither dawdles nor hurries");
}

#[test]
fn a_ramp_to_zero_is_no_faster_than_any_command_may_be() {
    let mut case = guarded();
    case.safe_path.rate_m_s = 5.0;
    let trace = run(&case, Fault::Stuck);
    assert_eq!(trace.end, Some(Phase::Safe));
    let moves = trace.command.windows(2).map(|pair| (pair[1][0] - pair[0][0]).abs());
    let fastest_m_s = moves.fold(0.0, f64::max) / case.step_s;
    assert!((fastest_m_s / case.limits.rate[0] - 1.0).abs() < 1e-9, "{fastest_m_s}");
    assert_eq!(trace.command.last().unwrap(), &[0.0]);
}

#[test]
fn a_healthy_run_passes() {
    let case = guarded();
    let trace = case.run(case.split(), 8192);
    assert_eq!((trace.trip, trace.end), (None, Some(Phase::Running)));
}

#[test]
fn every_fault_trips_at_its_tick_and_ends_safe() {
    for (fault, kind) in [
        (Fault::Displacement(f64::NAN), TripKind::NotFinite),
        (Fault::Displacement(f64::INFINITY), TripKind::NotFinite),
        (Fault::Force(f64::NAN), TripKind::NotFinite),
        (Fault::Force(f64::NEG_INFINITY), TripKind::NotFinite),
        (Fault::Force(-30_001.0), TripKind::Force),
        (Fault::Force(1e300), TripKind::Force),
        (Fault::Displacement(1.0), TripKind::TrackingError),
    ] {
        let case = guarded();
        let trace = run(&case, fault);
        let (trip, time_s) = trace.trip.unwrap();
        assert_eq!(trip.kind, kind, "{fault:?}");
        assert_eq!((time_s / case.step_s).round() as u64, AT, "{fault:?}");
        assert_safe(&case, &trace, &format!("{fault:?}"));
    }
}

#[test]
fn every_method_goes_the_same_way_to_safe() {
    for method in [
        Method::Newmark,
        Method::ImplicitEuler,
        Method::ChenRicles,
        Method::KolayRicles { spectral_radius: 0.5 },
    ] {
        let case = guarded().with_method(method);
        let trace = run(&case, Fault::Force(f64::NAN));
        assert_safe(&case, &trace, &format!("{method:?}"));
    }
}

#[test]
fn a_stuck_actuator_trips_when_it_is_too_far_off() {
    let case = guarded();
    let trace = run(&case, Fault::Stuck);
    let (trip, time_s) = trace.trip.unwrap();
    assert_eq!(trip.kind, TripKind::TrackingError);
    let tripped = (time_s / case.step_s).round() as usize;
    assert!(tripped as u64 > AT);
    let off = |tick: usize| (trace.measured[tick][0] - trace.interface[tick][0]).abs();
    assert!(off(tripped) > 3e-3 && off(tripped - 1) <= 3e-3);
    assert_safe(&case, &trace, "stuck");
}

#[test]
fn command_and_rate_limits_trip_before_the_command_passes() {
    let free = guarded();
    let calm = free.run(free.split(), 8192);
    let mut case = guarded();
    case.limits.command = vec![2e-3];
    let trace = case.run(case.split(), 8192);
    assert_eq!(trace.trip.unwrap().0.kind, TripKind::Command);
    assert_safe(&case, &trace, "command");
    let first = calm.command.iter().position(|c| c[0].abs() > 2e-3).unwrap();
    assert_eq!((trace.trip.unwrap().1 / case.step_s).round() as usize, first);

    let mut case = guarded();
    case.limits.rate = vec![0.04];
    let trace = case.run(case.split(), 8192);
    assert_eq!(trace.trip.unwrap().0.kind, TripKind::Rate);
    assert_safe(&case, &trace, "rate");
}

#[test]
fn the_first_trip_stays() {
    // NaN once, then a force spike every tick of the way to safe.
    struct Broken(VirtualRig, u64);
    impl Rig for Broken {
        runtime::hands_on_to!(0);

        fn measure(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
            let health = self.0.measure(ahead, measured);
            match self.1.cmp(&AT) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => measured.displacement[0] = f64::NAN,
                std::cmp::Ordering::Greater => measured.force[0] = 1e9,
            }
            self.1 += 1;
            health
        }
        fn actuate(&mut self, command: &Motion) {
            self.0.actuate(command);
        }
    }
    let case = guarded();
    let trace = case.run(case.split_with(Box::new(Broken(case.rig(), 0)), None), 8192);
    let (trip, time_s) = trace.trip.unwrap();
    assert_eq!(trip.kind, TripKind::NotFinite);
    // A force beyond its limit on the way to safe freezes it: the command stands.
    assert_eq!(trace.end, Some(Phase::Frozen));
    let tripped = (time_s / case.step_s).round() as usize;
    assert!(trace.command[tripped..].iter().all(|c| *c == trace.command[tripped - 1]));
}

#[test]
fn the_stability_warning_stops_an_unstable_delay_in_time() {
    // 60 samples: beyond the 35 that are stable.
    let mut case = Case::benchmark().with_delay(60.0);
    let free = case.run(case.split(), 40_000);
    assert!(free.peak() > 0.1, "it is unstable: {}", free.peak());
    let reference = case.run(case.rigid(), 40_000).peak();
    case.stop_at = 100.0;
    let trace = case.run(case.split(), 40_000);
    assert_eq!(trace.trip.unwrap().0.kind, TripKind::StabilityWarning);
    assert!(trace.peak() < 2.0 * reference, "{} against {reference}", trace.peak());
    assert_eq!(trace.end, Some(Phase::Safe));
    // A stable delay of 20 samples is left alone.
    let calm = case.clone().with_delay(20.0);
    let trace = calm.run(calm.split(), 40_000);
    assert_eq!(trace.trip, None);
}

/// Achieved displacement and force of every tick after a trip.
fn after_trip(case: &Case, plant: runtime::numerical::Plant) -> Vec<(f64, f64, Phase)> {
    let mut hybrid = case.hybrid(plant, ground(case.step_s, 8192));
    let mut seen = Vec::new();
    while !hybrid.is_over() {
        hybrid.tick();
        let measured = hybrid.measured();
        seen.push((measured.achieved[0], measured.force[0], hybrid.phase()));
    }
    seen
}

#[test]
fn a_rig_taken_over_from_the_joint_model_stands_where_it_stood() {
    for transfer_system in [quick(), servo()] {
        for elements in [&[][..], &[BILINEAR]] {
            let mut case = Case::benchmark().with_transfer(transfer_system.clone());
            for &law in elements {
                case = case.with_specimen_law(law);
            }
            // The fastest moment lies far from the first loading curve, where
            // a specimen that forgot its yielding would show another force.
            let free = case.run(case.coupled(Scheme::RungeKutta4), 8192);
            let rate = |pair: &[Vec<f64>]| (pair[1][0] - pair[0][0]).abs() / case.step_s;
            let fastest = free.command.windows(2).map(rate).fold(0.0, f64::max);
            case.limits.rate = vec![0.98 * fastest];
            let seen = after_trip(&case, case.coupled(Scheme::RungeKutta4));
            let at = seen.iter().position(|s| s.2 == Phase::Holding).unwrap();
            for pair in seen[at - 1..at + 3].windows(2) {
                let (x, force) = ((pair[1].0 - pair[0].0).abs(), (pair[1].1 - pair[0].1).abs());
                assert!(x < 1.5 * fastest * case.step_s, "{elements:?}: position {x}");
                assert!(force < 800.0, "{elements:?}: force {force}");
            }
        }
    }
}

#[test]
fn holding_means_standing_still() {
    // The command that is held has no velocity and no acceleration: the force
    // of the specimen is that of its spring as soon as the hold arrives.
    let mut case = Case::benchmark().with_delay(2.0);
    case.limits.command = vec![2e-3];
    let seen = after_trip(&case, case.split());
    let at = seen.iter().position(|s| s.2 == Phase::Holding).unwrap();
    let stood = seen[at + 1].0;
    let spring = case.partition.specimen.matrices.stiffness[(0, 0)] * stood;
    assert!((seen[at + 1].1 - spring).abs() > 1.0, "the last motion still arrives");
    let holding = seen[at + 2..].iter().take_while(|s| s.2 == Phase::Holding);
    assert!(holding.clone().count() > 100);
    for (x, force, _) in holding {
        assert_eq!(*x, stood);
        assert!((force - spring).abs() < 1e-9 * spring.abs(), "{force} {spring}");
    }
}

#[test]
fn a_runaway_without_limits_ends() {
    // Nothing stops it before the numbers run out, 10³⁰⁸ m from zero: the run
    // must end, and must not claim to be safe.
    let case = Case::benchmark().with_delay(400.0);
    let trace = case.run(case.split(), 2_000_000);
    assert_eq!(trace.trip.unwrap().0.kind, TripKind::NotFinite);
    assert_ne!(trace.end, Some(Phase::Safe));
}

/// Runs into a record that keeps one tick in `every`; its columns by name.
fn recorded(case: &Case, plant: runtime::numerical::Plant) -> runtime::record::Record {
    use runtime::record::{Options, Record, Recorder};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.arrow");
    let (sink, handle) =
        Recorder::create(&path, &common::header(), &case.channels(), vec![], &Options::rehearsal())
            .unwrap();
    let mut hybrid = case.recorded(plant, ground(case.step_s, 8192), sink);
    runtime::clock::run_virtual(&mut hybrid, &StopHandle::default(), |_| {});
    let ticks = hybrid.ticks();
    drop(hybrid);
    handle.finish(ticks, None).unwrap();
    Record::read(&path).unwrap()
}

#[test]
fn every_phase_is_recorded_at_its_tick_however_few_frames_are_kept() {
    let mut case = guarded();
    case.limits.command = vec![2e-3];
    let whole = recorded(&case, case.split());
    let column = |record: &runtime::record::Record, name: &str| -> Vec<f64> {
        record.column(name).unwrap().to_vec()
    };
    let starts = |record: &runtime::record::Record| -> Vec<(f64, f64)> {
        let (phase, time) = (column(record, "phase"), column(record, "time"));
        let mut seen: Vec<(f64, f64)> = Vec::new();
        for (phase, time) in phase.into_iter().zip(time) {
            if seen.last().is_none_or(|(last, _)| *last != phase) {
                seen.push((phase, time));
            }
        }
        seen
    };
    case.every = 1000;
    let sparse = recorded(&case, case.split());
    assert_eq!(starts(&whole), starts(&sparse));
    assert_eq!(starts(&sparse).len(), 4, "running, holding, ramping, safe");
    assert!(sparse.columns[0].len() < 20);
    assert_eq!(column(&sparse, "trip").last(), Some(&f64::from(TripKind::Command.code())));
}

#[test]
fn a_step_that_does_not_converge_trips_in_the_record_too() {
    use model::element::{Law, Side};
    use model::integrator::{Integrator, Options};
    use runtime::numerical::Plant;
    // A stiff stop and a single iteration: the first hit cannot settle.
    let stop = Law::Gap { stiffness: 1e12, opening: 1e-3, side: Side::Both };
    let mut case = guarded().with_method(Method::Newmark).with_storey_law(stop);
    let plant = |case: &Case| {
        let options = Options { iterations: 1, ..case.options(None) };
        let numerical = Integrator::new(&case.substructures().numerical, &options).unwrap();
        Plant::partitioned(numerical, 1, case.rig())
    };
    for every in [1, 1000] {
        case.every = every;
        let trace = case.run(plant(&case), 8192);
        let (trip, time_s) = trace.trip.unwrap();
        assert_eq!(trip.kind, TripKind::NotConverged);
        assert_safe(&case, &trace, "not converged");
        let record = recorded(&case, plant(&case));
        let trips = record.column("trip").unwrap();
        let row = trips.iter().position(|&code| code != 0.0).unwrap();
        assert_eq!(trips[row], f64::from(TripKind::NotConverged.code()));
        assert_eq!(record.column("phase").unwrap()[row], 1.0);
        assert!((record.column("time").unwrap()[row] - time_s).abs() < 1e-12, "every {every}");
    }
}

#[test]
fn a_number_that_is_none_at_any_moment_ends_safe() {
    /// Says NaN at one tick, be it on the way to safe.
    struct Once(VirtualRig, u64, u64);
    impl Rig for Once {
        runtime::hands_on_to!(0);

        fn measure(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
            let health = self.0.measure(ahead, measured);
            if self.2 == self.1 {
                measured.displacement[0] = f64::NAN;
                measured.force[0] = f64::NAN;
            }
            self.2 += 1;
            health
        }
        fn actuate(&mut self, command: &Motion) {
            self.0.actuate(command);
        }
    }
    let mut case = guarded();
    case.limits.command = vec![2e-3];
    let calm = case.run(case.split(), 8192);
    let ticks = calm.command.len() as u64;
    let tripped = (calm.trip.unwrap().1 / case.step_s).round() as u64;
    for at in [0, 1, 17, tripped - 1, tripped, tripped + 1, tripped + 230, ticks - 2] {
        let rig = Once(case.rig(), at, 0);
        let trace = case.run(case.split_with(Box::new(rig), None), 8192);
        let (trip, time_s) = trace.trip.unwrap();
        let expected = if at <= tripped { TripKind::NotFinite } else { TripKind::Command };
        assert_eq!(trip.kind, expected, "NaN at {at}");
        assert_eq!((time_s / case.step_s).round() as u64, at.min(tripped));
        assert_eq!(trace.end, Some(Phase::Safe), "NaN at {at}");
        assert!(trace.command.iter().all(|c| c[0].abs() <= 2e-3), "NaN at {at}");
    }
}
