//! A laboratory without a wire.

use super::*;
use crate::rig::{Measured, Rig, RigFault};

/// Achieves every command one tick later, with a force of 1 kN/mm.
struct Prompt {
    command: Vec<f64>,
}

impl Rig for Prompt {
    crate::nothing_behind_it!();

    fn measure(&mut self, _: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        measured.displacement.copy_from_slice(&self.command);
        measured.achieved.copy_from_slice(&self.command);
        for (force, x) in measured.force.iter_mut().zip(&self.command) {
            *force = 1e6 * x;
        }
        Ok(())
    }

    fn actuate(&mut self, command: &Motion) {
        self.command.copy_from_slice(&command.displacement);
    }
}

/// 20 mm, 1 m/s at 1 kHz (1 mm a tick), 15 kN; 3 missing commands are bridged.
fn laboratory_at(position: f64, start: Start) -> Laboratory {
    let limits = Limits {
        command: vec![0.02],
        rate: vec![1.0],
        force: vec![15e3],
        tracking_error: vec![0.0],
        ..Limits::unlimited(1, 1e-3)
    };
    let rig = RigSlot::Other(Box::new(Prompt { command: vec![position] }));
    let safe_path = SafePath { hold_s: 0.002, rate_m_s: 0.5 };
    let parts = LaboratoryParts { rig, limits, safe_path, every: 1, start, bridge: 3 };
    Laboratory::new(parts, None)
}

fn laboratory() -> Laboratory {
    laboratory_at(0.0, Start::Zero)
}

#[test]
fn a_rig_that_stands_elsewhere_is_fetched_from_there() {
    let mut fetched = laboratory_at(5e-3, Start::WhereItStands);
    fetched.obey(0, &to(4.5e-3), 0);
    assert_eq!(fetched.tripped(), None);
    // To a laboratory that believes it is at zero this is a jump.
    let mut jumping = laboratory_at(5e-3, Start::Zero);
    jumping.obey(0, &to(4.5e-3), 0);
    assert_eq!(jumping.tripped().unwrap().0.kind, TripKind::Rate);
}

fn to(displacement: f64) -> Motion {
    let mut motion = Motion::rest(1);
    motion.displacement[0] = displacement;
    motion
}

#[test]
fn a_command_is_obeyed_and_the_answer_belongs_to_the_next_tick() {
    let mut laboratory = laboratory();
    for tick in 0..10 {
        let x = 0.5e-3 * (tick + 1) as f64;
        laboratory.obey(tick, &to(x), 0);
        assert_eq!(laboratory.ticks(), tick + 1);
        assert_eq!(laboratory.measured().displacement, [x]);
    }
    assert_eq!(laboratory.tripped(), None);
}

#[test]
fn its_own_limits_hold_whatever_the_loop_sends() {
    for (commands, kind) in [
        (vec![1e-3, 2.5e-3], TripKind::Rate),
        ((1..30).map(|k| 0.9e-3 * f64::from(k)).collect(), TripKind::Force),
        (vec![f64::NAN], TripKind::NotFinite),
        (vec![0.0, f64::INFINITY], TripKind::NotFinite),
    ] {
        let mut laboratory = laboratory();
        let mut last = 0.0;
        for (tick, x) in commands.into_iter().enumerate() {
            if laboratory.tripped().is_none() {
                laboratory.obey(tick as u64, &to(x), 0);
            }
            let now = laboratory.command().displacement[0];
            assert!((now - last).abs() <= 1e-3 + 1e-12 && now.abs() <= 0.02);
            last = now;
        }
        assert_eq!(laboratory.tripped().unwrap().0.kind, kind);
        let mut ticks = 0;
        while !laboratory.is_safe() {
            laboratory.tick_after(1e-3);
            let now = laboratory.command().displacement[0];
            assert!((now - last).abs() <= 0.5e-3 + 1e-12, "the ramp has its own rate");
            last = now;
            ticks += 1;
            assert!(ticks < 1000);
        }
        assert_eq!(laboratory.command().displacement, [0.0]);
    }
}

/// A rig that stands still while its commands say that it moves: fed forward by them it would
/// not stand still.
#[test]
fn velocity_and_acceleration_that_no_displacement_shows_do_not_pass() {
    // Most ticks that may pass; 1 m/s at 1 kHz.
    for (v, a, most) in [(20.0, 0.0, 0), (0.0, 1000.0, 1), (0.5, 400.0, 2), (0.0, -100.0, 20)] {
        let mut laboratory = laboratory();
        let mut command = to(0.0);
        (command.velocity[0], command.acceleration[0]) = (v, a);
        for tick in 0..200 {
            if laboratory.tripped().is_none() {
                laboratory.obey(tick, &command, 0);
            }
        }
        let (trip, time_s) = laboratory.tripped().unwrap_or_else(|| panic!("{v} m/s, {a} m/s²"));
        assert_eq!((trip.kind, trip.limit.round()), (TripKind::Rate, 1.0));
        assert!(time_s <= 1e-3 * f64::from(most) + 1e-9, "{v} m/s, {a} m/s²: {time_s} s");
    }
    // A motion whose derivatives these are passes up to its limit: 0.98 m/s at 30 Hz.
    let (mut laboratory, w) = (laboratory(), 2.0 * std::f64::consts::PI * 30.0);
    for tick in 0..400 {
        let phase = w * 1e-3 * (tick + 1) as f64;
        let x = 0.98 / w;
        let mut command = to(x * (1.0 - phase.cos()));
        command.velocity[0] = x * w * phase.sin();
        command.acceleration[0] = x * w * w * phase.cos();
        laboratory.obey(tick, &command, 0);
        assert_eq!(laboratory.tripped(), None, "tick {tick}");
    }
}

#[test]
fn after_missing_commands_the_rig_catches_up_without_a_jump() {
    let mut laboratory = laboratory();
    // 0.9 mm a tick; the commands of ticks 3, 4 and 5 are lost.
    let path = |tick: u64| 0.9e-3 * (tick + 1) as f64;
    let mut last = 0.0;
    for tick in (0..3).chain(6..40) {
        // Turns at 18 mm would trip the force limit: go back from 10 mm.
        let x = if tick < 10 { path(tick) } else { 9e-3 };
        laboratory.obey(tick, &to(x), 0);
        assert_eq!(laboratory.tripped(), None, "tick {tick}");
        let now = laboratory.command().displacement[0];
        assert!((now - last).abs() <= 1e-3 + 1e-12, "tick {tick}: {last} to {now}");
        last = now;
        if tick == 6 {
            assert!((now - 3.7e-3).abs() < 1e-12, "one stride of the limit, not four of the loop");
        }
    }
    assert_eq!(last.to_bits(), 9e-3f64.to_bits(), "it has caught up, bit for bit");
    // A command too fast for all ticks since the last one still trips.
    laboratory.obey(42, &to(9e-3 - 3.1e-3), 0);
    assert_eq!(laboratory.tripped().unwrap().0.kind, TripKind::Rate);
}

#[test]
fn too_many_missing_commands_trip() {
    let mut laboratory = laboratory();
    laboratory.obey(3, &to(0.0), 0);
    assert_eq!(laboratory.tripped(), None);
    laboratory.obey(8, &to(0.0), 0);
    let (trip, _) = laboratory.tripped().unwrap();
    assert_eq!((trip.kind, trip.value, trip.limit), (TripKind::PeerSilent, 0.004, 0.003));
    assert_eq!(laboratory.source.next, 9);
    // A tick at the end of all numbers is no more than that.
    laboratory.obey(u64::MAX - 1, &to(0.0), 0);
    assert_eq!(laboratory.phase(), Phase::Holding);
}

#[test]
fn a_burst_of_commands_moves_the_rig_no_faster_than_its_limit_in_time() {
    let mut laboratory = laboratory();
    // Commands at 0.9 m/s, held up and then all at once, and ticks 20 µs apart.
    let mut elapsed_s = 0.0;
    for tick in 0..15 {
        let x = 0.9e-3 * (tick + 1) as f64;
        laboratory.take(tick, &to(x), 0);
        laboratory.tick_after(20e-6);
        elapsed_s += 20e-6;
        let now = laboratory.command().displacement[0];
        assert!(now <= 1.0 * elapsed_s + 1e-12, "{now} after {elapsed_s}");
    }
    assert_eq!(laboratory.tripped(), None);
    // It comes after them at its limit, and follows whole again.
    for tick in 15..40 {
        let before = laboratory.command().displacement[0];
        laboratory.obey(tick, &to(13.5e-3), 0);
        assert!(laboratory.command().displacement[0] - before <= 1e-3 + 1e-12);
    }
    assert_eq!(laboratory.command().displacement[0].to_bits(), 13.5e-3f64.to_bits());
}

#[test]
fn of_commands_that_came_between_two_ticks_the_newest_is_followed() {
    let mut laboratory = laboratory();
    (0..3).for_each(|tick| laboratory.take(tick, &to(0.3e-3 * (tick + 1) as f64), 0));
    laboratory.take(1, &to(0.0), 0);
    laboratory.tick_after(1e-3);
    assert_eq!((laboratory.ticks(), laboratory.command().displacement[0]), (1, 0.9e-3));
    // Without a command it stands still, and moves on with the next.
    (0..5).for_each(|_| laboratory.tick_after(1e-3));
    assert_eq!((laboratory.ticks(), laboratory.command().displacement[0]), (6, 0.9e-3));
    laboratory.take(3, &to(1.2e-3), 0);
    laboratory.tick_after(1e-3);
    assert_eq!((laboratory.tripped(), laboratory.command().displacement[0]), (None, 1.2e-3));
}

#[test]
fn a_rig_that_shall_stand_is_told_to_stand() {
    let mut laboratory = laboratory();
    let mut moving = to(0.5e-3);
    moving.velocity[0] = 0.5;
    laboratory.obey(0, &moving, 0);
    assert_eq!(laboratory.command().velocity, [0.5]);
    laboratory.freeze(Trip { kind: TripKind::PeerLeft, dof: 0, value: 0.0, limit: 0.0 });
    assert_eq!((laboratory.phase(), laboratory.is_safe()), (Phase::Frozen, true));
    assert_eq!(laboratory.command().of(0), [0.5e-3, 0.0, 0.0]);
}

/// A goodbye of a loop that froze ends the laboratory's own way to safe.
#[test]
fn a_laboratory_that_ramps_is_told_to_stand() {
    let mut laboratory = laboratory();
    for tick in 0..10 {
        laboratory.obey(tick, &to(1e-3 * (tick + 1) as f64), 0);
    }
    let trip = |kind| Trip { kind, dof: 0, value: 0.0, limit: 0.0 };
    laboratory.trip(trip(TripKind::Operator).into());
    while laboratory.phase() != Phase::Ramping {
        laboratory.tick_after(1e-3);
    }
    laboratory.tick_after(1e-3);
    laboratory.freeze(trip(TripKind::PeerLeft));
    let stood = laboratory.command().displacement[0];
    (0..50).for_each(|_| laboratory.tick_after(1e-3));
    assert_eq!((laboratory.phase(), laboratory.command().displacement[0]), (Phase::Frozen, stood));
    assert!(stood > 5e-3);
}

#[test]
fn a_stop_before_the_first_command_moves_nothing() {
    for start in [Start::Zero, Start::WhereItStands] {
        let mut laboratory = laboratory_at(5e-3, start);
        laboratory
            .trip(Trip { kind: TripKind::PeerTripped, dof: 0, value: 0.0, limit: 0.0 }.into());
        laboratory.take(0, &to(0.0), 0);
        (0..100).for_each(|_| laboratory.tick_after(1e-3));
        assert!(laboratory.is_safe());
        assert_eq!(laboratory.measured().displacement, [5e-3], "{start:?}");
    }
}

#[test]
fn a_second_stop_freezes_the_ramp_and_a_goodbye_does_not() {
    let stop = |kind| Stop::from(Trip { kind, dof: 0, value: 0.0, limit: 0.0 });
    let mut laboratory = laboratory();
    for tick in 0..10 {
        laboratory.obey(tick, &to(1e-3 * (tick + 1) as f64), 0);
    }
    laboratory.trip(stop(TripKind::Operator));
    while laboratory.phase() != Phase::Ramping {
        laboratory.tick_after(1e-3);
    }
    (0..3).for_each(|_| laboratory.tick_after(1e-3));
    laboratory.trip(stop(TripKind::PeerLeft));
    assert_eq!(laboratory.phase(), Phase::Ramping);
    laboratory.trip(stop(TripKind::PeerTripped));
    let stood = laboratory.command().displacement[0];
    assert!(stood > 5e-3);
    laboratory.tick_after(1e-3);
    assert_eq!((laboratory.phase(), laboratory.command().displacement[0]), (Phase::Frozen, stood));
    assert!(laboratory.is_safe(), "no further motion is made");
}
