//! A rig that fails on purpose: rehearsing a fault before it happens.

use std::collections::VecDeque;

use keys::Keys;
use model::motion::Motion;
use numerics::random::Stream;

use super::{Measured, Rig, RigFault, RigSlot};

/// A fault, in ticks of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// First tick of it.
    pub from: u64,
    /// First tick after it; `u64::MAX` to stay.
    pub until: u64,
    /// Interface DOF, from 0; `None` for all.
    pub dof: Option<usize>,
}

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FaultKind {
    /// Every command arrives later by this many ticks.
    Delay(usize),
    /// Every command arrives later by a number of ticks drawn anew each time,
    /// from none to this many.
    DelayJitter(usize),
    /// A command is lost with this probability, 0 to 1: the rig keeps the one before.
    DroppedCommands(f64),
    /// A measurement is lost with this probability: the one before is said again.
    RepeatedSamples(f64),
    /// These sensors say what is not a number.
    SensorNan(FaultySensor),
    /// The displacement sensor keeps saying what it said when the fault began.
    FrozenDisplacement,
    /// The actuator no longer moves: it keeps the command it had.
    StuckActuator,
    /// The actuator goes no further than `position_m` and no faster than `rate_m_s`.
    SaturatedActuator {
        /// Either way; infinite for none.
        position_m: f64,
        /// Either way, per tick; infinite for none.
        stride_m: f64,
    },
    /// The load cell drifts by so much a tick, N.
    LoadCellDrift(f64),
    /// The load cell's sign is wrong.
    WrongSign,
    /// The specimen keeps this share of its force, 0 to 1.
    SpecimenFailure(f64),
}

/// Which sensors fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum FaultySensor {
    /// The displacement sensor.
    Displacement,
    /// The load cell.
    Force,
    /// Both.
    Both,
}

impl FaultKind {
    /// In words.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Delay { .. } => "commands arrive later",
            Self::DelayJitter { .. } => "commands arrive at random moments",
            Self::DroppedCommands { .. } => "commands are dropped",
            Self::RepeatedSamples { .. } => "measurements are repeated",
            Self::SensorNan { .. } => "a sensor says what is not a number",
            Self::FrozenDisplacement => "the displacement sensor freezes",
            Self::StuckActuator => "the actuator is stuck",
            Self::SaturatedActuator { .. } => "the actuator saturates",
            Self::LoadCellDrift { .. } => "the load cell drifts",
            Self::WrongSign => "the load cell's sign is wrong",
            Self::SpecimenFailure { .. } => "the specimen loses its strength",
        }
    }

    /// Ticks by which a command may be late.
    fn reach(&self) -> usize {
        match self {
            Self::Delay(by) => *by,
            Self::DelayJitter(most) => *most,
            _ => 0,
        }
    }
}

/// Any rig with faults in front of it. Seeded: the same seed gives the same
/// faults, whatever the rig does. Where the true position is known it stays true.
///
/// Meant for rigs that answer at least a sample late. A rig without delay takes
/// part in the balance of forces within the tick, where a wrapper cannot reach.
pub struct FaultyRig {
    rig: RigSlot,
    faults: Vec<Active>,
    tick: u64,
    /// The last commands, newest first.
    history: VecDeque<Motion>,
    /// What the rig gets, and what it got before.
    command: Motion,
    given: Motion,
    /// What the sensors said last.
    said: Measured,
}

struct Active {
    fault: Fault,
    stream: Stream,
    /// What was measured or commanded when the fault began, for one that keeps it.
    frozen: Vec<f64>,
}

impl Active {
    fn is_on(&self, tick: u64) -> bool {
        (self.fault.from..self.fault.until).contains(&tick)
    }

    fn touches(&self, dof: usize) -> bool {
        self.fault.dof.is_none_or(|only| only == dof)
    }
}

impl FaultyRig {
    /// Puts `faults` in front of a rig with `count` interface DOFs. Faults on
    /// one signal act in the order of the list.
    pub fn new(rig: impl Into<RigSlot>, faults: &[Fault], count: usize, seed: u64) -> Self {
        let reach: usize = faults.iter().map(|fault| fault.kind.reach()).sum();
        let active = |(index, fault): (usize, &Fault)| Active {
            fault: *fault,
            stream: Stream::new(seed, &format!("fault.{}", index + 1)),
            frozen: vec![0.0; count],
        };
        Self {
            rig: rig.into(),
            faults: faults.iter().enumerate().map(active).collect(),
            tick: 0,
            history: vec![Motion::rest(count); reach + 1].into(),
            command: Motion::rest(count),
            given: Motion::rest(count),
            said: Measured::zeros(count),
        }
    }
}

impl Rig for FaultyRig {
    hands_on_to!(rig);

    fn measure(&mut self, ahead: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
        let health = self.rig.measure(ahead, measured);
        for active in &mut self.faults {
            // Drawn every tick, so that a fault does not depend on another's times.
            let draw = active.stream.uniform();
            let Fault { kind, from, .. } = active.fault;
            if kind == FaultKind::FrozenDisplacement && self.tick <= from {
                active.frozen.copy_from_slice(&measured.displacement);
            }
            if !active.is_on(self.tick) {
                continue;
            }
            for dof in (0..measured.force.len()).filter(|&dof| active.touches(dof)) {
                let (x, f) = (&mut measured.displacement[dof], &mut measured.force[dof]);
                match kind {
                    FaultKind::RepeatedSamples(probability) if draw < probability => {
                        *x = self.said.displacement[dof];
                        *f = self.said.force[dof];
                    }
                    FaultKind::SensorNan(sensor) => {
                        if sensor != FaultySensor::Force {
                            *x = f64::NAN;
                        }
                        if sensor != FaultySensor::Displacement {
                            *f = f64::NAN;
                        }
                    }
                    FaultKind::FrozenDisplacement => *x = active.frozen[dof],
                    FaultKind::LoadCellDrift(stride_n) => {
                        *f += stride_n * (self.tick - from) as f64;
                    }
                    FaultKind::WrongSign => *f = -*f,
                    FaultKind::SpecimenFailure(remaining) => *f *= remaining,
                    _ => {}
                }
            }
        }
        self.said.displacement.copy_from_slice(&measured.displacement);
        self.said.force.copy_from_slice(&measured.force);
        health
    }

    fn actuate(&mut self, command: &Motion) {
        // The oldest place is used again for the newest: no allocation.
        if let Some(mut place) = self.history.pop_back() {
            place.copy_from(command);
            self.history.push_front(place);
        }
        self.command.copy_from(command);
        let mut late = 0;
        for active in &mut self.faults {
            let draw = active.stream.uniform();
            let Fault { kind, from, .. } = active.fault;
            if kind == FaultKind::StuckActuator && self.tick < from {
                active.frozen.copy_from_slice(&command.displacement);
            }
            if !active.is_on(self.tick) {
                continue;
            }
            // Faults that delay add up.
            late += match kind {
                FaultKind::Delay(by) => by,
                // A draw is below one: `most` itself comes as often as the others.
                FaultKind::DelayJitter(most) => (draw * (most + 1) as f64) as usize,
                _ => 0,
            };
            let then = &self.history[late.min(self.history.len() - 1)];
            for dof in (0..command.count()).filter(|&dof| active.touches(dof)) {
                let motion = match kind {
                    FaultKind::Delay { .. } | FaultKind::DelayJitter { .. } => then.of(dof),
                    FaultKind::DroppedCommands(probability) if draw < probability => {
                        self.given.of(dof)
                    }
                    FaultKind::StuckActuator => [active.frozen[dof], 0.0, 0.0],
                    FaultKind::SaturatedActuator { position_m, stride_m } => {
                        let wish = self.command.displacement[dof];
                        let last = self.given.displacement[dof];
                        // No bound is below zero, so that `min` and `max` cannot cross.
                        let mut x = wish.max(-position_m).min(position_m);
                        x = x.max(last - stride_m).min(last + stride_m);
                        if x == wish {
                            continue;
                        }
                        [x, 0.0, 0.0]
                    }
                    _ => continue,
                };
                self.command.set(dof, motion);
            }
        }
        self.rig.actuate(&self.command);
        std::mem::swap(&mut self.given, &mut self.command);
        self.tick += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Achieves every command one tick later, with a force of 100 N/m.
    struct Spring(f64);

    impl Rig for Spring {
        nothing_behind_it!();

        fn measure(&mut self, _: &Motion, measured: &mut Measured) -> Result<(), RigFault> {
            measured.displacement.fill(self.0);
            measured.achieved.fill(self.0);
            measured.force.fill(100.0 * self.0);
            Ok(())
        }

        fn actuate(&mut self, command: &Motion) {
            self.0 = command.displacement[0];
        }
    }

    const FROM: u64 = 10;

    /// Displacement and force said at each of 40 ticks while the command is the
    /// number of the tick, from 1.
    fn run(kind: FaultKind, until: u64, seed: u64) -> Vec<(f64, f64)> {
        let fault = Fault { kind, from: FROM, until, dof: None };
        let mut rig = FaultyRig::new(Box::new(Spring(0.0)), &[fault], 1, seed);
        let (mut command, mut measured) = (Motion::rest(1), Measured::zeros(1));
        (0..40)
            .map(|tick| {
                rig.measure(&command, &mut measured).unwrap();
                command.displacement[0] = f64::from(tick) + 1.0;
                command.velocity[0] = 1.0;
                rig.actuate(&command);
                (measured.displacement[0], measured.force[0])
            })
            .collect()
    }

    #[test]
    fn before_and_after_its_time_a_fault_is_not_there() {
        for kind in [
            FaultKind::Delay(3),
            FaultKind::DelayJitter(3),
            FaultKind::DroppedCommands(0.5),
            FaultKind::RepeatedSamples(0.5),
            FaultKind::SensorNan(FaultySensor::Both),
            FaultKind::FrozenDisplacement,
            FaultKind::StuckActuator,
            FaultKind::SaturatedActuator { position_m: 5.0, stride_m: f64::INFINITY },
            FaultKind::LoadCellDrift(2.0),
            FaultKind::WrongSign,
            FaultKind::SpecimenFailure(0.1),
        ] {
            let said = run(kind, 20, 1);
            for (tick, &(x, f)) in said.iter().enumerate() {
                let healthy = x == tick as f64 && f == 100.0 * tick as f64;
                if !(10..=20).contains(&tick) {
                    assert!(healthy, "{kind:?} at {tick}: {x} {f}");
                }
            }
            assert!(
                (10..=20).any(|tick| said[tick] != (tick as f64, 100.0 * tick as f64)),
                "{kind:?} does something"
            );
        }
    }

    #[test]
    fn each_fault_does_what_it_says() {
        let late = run(FaultKind::Delay(3), u64::MAX, 1);
        assert!((12..40).all(|tick| late[tick].0 == tick as f64 - 3.0));
        let stuck = run(FaultKind::StuckActuator, u64::MAX, 1);
        assert!((11..40).all(|tick| stuck[tick] == (10.0, 1000.0)));
        let frozen = run(FaultKind::FrozenDisplacement, u64::MAX, 1);
        assert!((10..40).all(|tick| frozen[tick] == (10.0, 100.0 * tick as f64)));
        let saturated = FaultKind::SaturatedActuator { position_m: 15.0, stride_m: 0.5 };
        let saturated = run(saturated, u64::MAX, 1);
        assert!((11..20).all(|tick| saturated[tick].0 == 10.0 + 0.5 * (tick - 10) as f64));
        assert!((21..40).all(|tick| saturated[tick].0 == 15.0));
        let drift = run(FaultKind::LoadCellDrift(2.0), u64::MAX, 1);
        assert!(
            (10..40).all(|tick| drift[tick].1 == 100.0 * tick as f64 + 2.0 * (tick - 10) as f64)
        );
        let nan = run(FaultKind::SensorNan(FaultySensor::Force), u64::MAX, 1);
        assert!((10..40).all(|tick| nan[tick].0 == tick as f64 && nan[tick].1.is_nan()));
    }

    #[test]
    fn a_seed_repeats_and_another_differs() {
        for kind in [
            FaultKind::DelayJitter(4),
            FaultKind::DroppedCommands(0.3),
            FaultKind::RepeatedSamples(0.3),
        ] {
            assert_eq!(run(kind, u64::MAX, 1), run(kind, u64::MAX, 1));
            assert_ne!(run(kind, u64::MAX, 1), run(kind, u64::MAX, 2), "{kind:?}");
        }
        let jitter = run(FaultKind::DelayJitter(4), u64::MAX, 3);
        for (tick, &(x, _)) in jitter.iter().enumerate().skip(11) {
            assert!((0.0..=4.0).contains(&(tick as f64 - x)), "{tick} {x}");
        }
        // Nothing lost, everything lost.
        let all = run(FaultKind::RepeatedSamples(1.0), u64::MAX, 1);
        assert!((10..40).all(|tick| all[tick].0 == 9.0));
        let none = run(FaultKind::DroppedCommands(0.0), u64::MAX, 1);
        assert!((10..40).all(|tick| none[tick].0 == tick as f64));
    }

    #[test]
    fn a_fault_keeps_to_its_dof() {
        let fault = Fault { kind: FaultKind::WrongSign, from: 0, until: u64::MAX, dof: Some(1) };
        let mut rig = FaultyRig::new(Box::new(Spring(1.0)), &[fault], 2, 1);
        let mut measured = Measured::zeros(2);
        rig.measure(&Motion::rest(2), &mut measured).unwrap();
        assert_eq!(measured.force, [100.0, -100.0]);
    }
}
