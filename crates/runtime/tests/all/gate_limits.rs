//! The gate at each of its limits: just within, on it, just beyond.

use model::motion::Motion;
use runtime::gate::{Limits, Trip, TripKind, gate};
use runtime::interlock::{Response, Stop};
use runtime::rig::Measured;

const STEP_S: f64 = 1.0 / 1024.0;
/// A little more than one.
const MORE: f64 = 1.0 + 1e-12;

fn limits() -> Limits {
    Limits {
        command: vec![0.5, 0.25],
        rate: vec![8.0, 4.0],
        force: vec![100.0, 60.0],
        tracking_error: vec![0.125, 0.0625],
        overshoot: f64::INFINITY,
        step_s: STEP_S,
    }
}

/// What the gate sees of two DOFs.
struct Seen {
    held: Motion,
    desired: Motion,
    measured: Measured,
    command: Motion,
}

impl Seen {
    /// Both at rest.
    fn still() -> Self {
        let rest = || Motion::rest(2);
        Self { held: rest(), desired: rest(), measured: Measured::zeros(2), command: rest() }
    }

    /// One DOF at this place in every respect.
    fn at(dof: usize, place: f64) -> Self {
        let mut seen = Self::still();
        for motion in [&mut seen.held, &mut seen.desired, &mut seen.command] {
            motion.displacement[dof] = place;
        }
        seen.measured.displacement[dof] = place;
        seen
    }

    fn trip(&self) -> Option<(TripKind, usize, f64, f64)> {
        let passed = gate(&limits(), &self.held, &self.desired, &self.measured, &self.command);
        passed.err().map(|Trip { kind, dof, value, limit }| (kind, dof, value, limit))
    }
}

#[test]
fn every_limit_of_every_dof_holds_up_to_its_bound() {
    let bounds = limits();
    for dof in 0..2 {
        for sign in [-1.0, 1.0] {
            let (command, rate) = (sign * bounds.command[dof], sign * bounds.rate[dof]);
            let (force, error) = (sign * bounds.force[dof], sign * bounds.tracking_error[dof]);
            for (factor, passes) in [(1.0 / MORE, true), (1.0, true), (MORE, false)] {
                let told = |kind, value: f64, limit: f64| {
                    (!passes).then_some((kind, dof, factor * value, limit))
                };
                let far = Seen::at(dof, factor * command);
                assert_eq!(far.trip(), told(TripKind::Command, command, bounds.command[dof]));

                let mut fast = Seen::still();
                let step = factor * rate * STEP_S;
                (fast.command.displacement[dof], fast.desired.displacement[dof]) = (step, step);
                assert_eq!(fast.trip(), told(TripKind::Rate, rate, bounds.rate[dof]));

                let mut pushed = Seen::still();
                pushed.command.velocity[dof] = factor * rate;
                assert_eq!(pushed.trip(), told(TripKind::Rate, rate, bounds.rate[dof]));

                let mut heavy = Seen::still();
                heavy.measured.force[dof] = factor * force;
                assert_eq!(heavy.trip(), told(TripKind::Force, force, bounds.force[dof]));

                let mut apart = Seen::still();
                apart.measured.displacement[dof] = factor * error;
                let limit = bounds.tracking_error[dof];
                assert_eq!(apart.trip(), told(TripKind::TrackingError, error, limit));
            }
        }
    }
}

#[test]
fn rate_and_tracking_are_differences_wherever_they_begin() {
    // From 0.2 m to 0.2 m plus what the rate allows, measured 0.1 m behind.
    let mut seen = Seen::at(0, 0.25);
    seen.command.displacement[0] = 0.25 - 8.0 * STEP_S;
    seen.measured.displacement[0] = 0.25 - 0.125;
    assert_eq!(seen.trip(), None);
    seen.command.displacement[0] = 0.25 - 16.0 * STEP_S;
    assert_eq!(seen.trip(), Some((TripKind::Rate, 0, -16.0, 8.0)));
    seen.command.displacement[0] = 0.25;
    seen.measured.displacement[0] = 0.25 - 0.25;
    assert_eq!(seen.trip(), Some((TripKind::TrackingError, 0, -0.25, 0.125)));
}

#[test]
fn of_several_limits_the_specimens_is_named_first() {
    let mut seen = Seen::still();
    seen.measured.force[1] = 61.0;
    seen.measured.displacement[1] = 1.0;
    seen.command.displacement[1] = 2.0;
    assert_eq!(seen.trip().unwrap().0, TripKind::Force);
    seen.measured.force[1] = 60.0;
    assert_eq!(seen.trip().unwrap().0, TripKind::TrackingError);
    seen.measured.displacement[1] = 0.0;
    assert_eq!(seen.trip().unwrap().0, TripKind::Command);
    seen.command.displacement[1] = 0.25;
    assert_eq!(seen.trip().unwrap().0, TripKind::Rate);
}

#[test]
fn what_is_no_number_is_named_with_its_dof() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for dof in 0..2 {
            let spoil: [fn(&mut Seen) -> &mut Vec<f64>; 6] = [
                |seen| &mut seen.measured.displacement,
                |seen| &mut seen.measured.force,
                |seen| &mut seen.command.displacement,
                |seen| &mut seen.command.velocity,
                |seen| &mut seen.command.acceleration,
                |seen| &mut seen.desired.displacement,
            ];
            for place in spoil {
                let mut seen = Seen::still();
                place(&mut seen)[dof] = bad;
                let (kind, found, value, limit) = seen.trip().unwrap();
                assert_eq!((kind, found), (TripKind::NotFinite, dof));
                assert!(value.to_bits() == bad.to_bits() && limit.is_nan(), "{value} {limit}");
            }
        }
    }
}

/// The numbers of the record format.
#[test]
fn every_kind_of_trip_has_its_number_and_its_words() {
    let numbers: Vec<u8> = TripKind::all().map(TripKind::code).collect();
    let known =
        [1, 2, 3, 4, 16, 5, 6, 7, 14, 20, 15, 30, 31, 22, 23, 24, 25, 8, 9, 10, 11, 12, 13, 17, 18];
    assert_eq!(numbers, known);
    for kind in TripKind::all() {
        assert_eq!(TripKind::from_code(kind.code()), Some(kind));
        assert!(kind.words().len() > 8);
    }
    for unknown in [0, 19, 21, 26, 255] {
        assert_eq!(TripKind::from_code(unknown), None);
    }
}

/// Code, value, limit and text of trips at interface DOF 2. Digits as the two need to be told apart;
/// a force is never in millionths.
const TRIPS: &str = "\
1 | 0.0213 | 0.02 | command beyond its limit: 0.02130 m against 0.02000 m (interface DOF 2)
2 | 0.7 | 0.5 | command faster than its limit: 0.7000 m/s against 0.5000 m/s (interface DOF 2)
3 | -8901.0 | 8900.0 | force beyond its limit: -8901.0 N against 8900.0 N (interface DOF 2)
5 | NaN | NaN | a signal is not a finite number (interface DOF 2)
14 | NaN | NaN | stopped by the operator
24 | 0.0 | 0.0 | the loop ended the session
22 | 0.0123 | 0.01 | no reply from the laboratory for 12.3 ms, 10 ms allowed
23 | 3.0 | 0.0 | the other end of the link tripped: force beyond its limit
23 | 99.0 | 0.0 | the other end of the link tripped: it does not say why
25 | 17.0 | 0.0 | the rig reports a fault: its number 17
20 | 6.0 | 5.0 | deadlines missed in a row: 6 against 5 allowed
6 | 101.5 | 100.0 | stability warning at its threshold: 101.50 % against 100.00 %
8 | 1.5 | 1.0 | windowed stability warning at its threshold: 1.50 % against 1.00 %
9 | 1.5 | 1.0 | energy error index at its threshold: 1.50 % against 1.00 %
10 | 0.5 | 1.0 | stability warning forecast to reach 100 % too soon: 0.50 s against 1.00 s
7 | 2e-3 | 1e-9 | the integrator did not converge: 0.002000 m against 0.0000000 m
7 | 5e-4 | 1e-9 | the integrator did not converge: 500.0 µm against 0.001000 µm
15 | 1.0 | 4.0 | the main loop is late: 1 tick bridged in a row, 4 allowed
15 | 5.0 | 4.0 | the main loop is late: 5 ticks bridged in a row, 4 allowed
31 | 40.0 | 0.0 | no load came from the host: waited for 40 ticks
11 | 0.0123 | 0.01 | tracking delay at its threshold: 12.300 ms against 10.000 ms (interface DOF 2)
12 | 0.123 | 0.1 | tracking amplitude off by its threshold: 12.30 % against 10.00 % (interface DOF 2)
13 | 91.0 | 90.0 | a limit used up to its threshold: 91.00 % against 90.00 % (interface DOF 2)
4 | 1e-3 | 1e-3 | tracking error beyond its limit: 0.001000 m against 0.001000 m (interface DOF 2)
4 | 0.0 | 0.0 | tracking error beyond its limit: 0 m against 0 m (interface DOF 2)
3 | 2e-4 | 1e-4 | force beyond its limit: 0.0002000 N against 0.0001000 N (interface DOF 2)
3 | 100.00000002 | 100.0 | force beyond its limit: 100.000000020 N against 100.000000000 N (interface DOF 2)
1 | inf | 0.02 | command beyond its limit: inf m against 0.02000 m (interface DOF 2)
1 | 1e-5 | inf | command beyond its limit: 10.00 µm against inf µm (interface DOF 2)";

#[test]
fn a_trip_in_words() {
    for row in TRIPS.lines() {
        let [code, value, limit, words] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let kind = TripKind::from_code(code.parse().unwrap()).unwrap();
        let (value, limit) = (value.parse().unwrap(), limit.parse().unwrap());
        assert_eq!(Trip { kind, dof: 1, value, limit }.text(), words);
    }
}

#[test]
fn a_prepared_stop_is_of_its_kind() {
    let trip = Trip { kind: TripKind::Force, dof: 0, value: 2.0, limit: 1.0 };
    let stop = Stop::from(trip);
    assert_eq!((stop.trip, stop.response), (trip, Response::Hold));
}
