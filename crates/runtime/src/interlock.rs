//! The interlock: a latched trip and the way to the safe state.

use model::motion::Motion;

use crate::codes::codes;
use crate::gate::Trip;

codes! {
    /// Where the test stands, in a word. The number is the one in the channel `phase`.
    pub enum Phase: u8 => &'static str {
        /// The loop is closed.
        Running = 0 => "running",
        /// Tripped: the command stands still.
        Holding = 1 => "HOLDING",
        /// Tripped: the command goes to zero at the safe rate.
        Ramping = 2 => "RAMPING",
        /// The command is zero, or stands where an abort left it; the test is over.
        Safe = 3 => "safe",
        /// Before the load: the rig is brought to its start, where the file asks for it.
        Initiating = 4 => "initiating",
        /// After the load, the loop still closed: the structure rings down.
        Completing = 5 => "completing",
        /// After that: the command goes to zero at a limited rate.
        Homing = 6 => "going home",
        /// The command stands where it was, and the test is over: a second stop has ended the
        /// way to safe, or zero is out of reach.
        Frozen = 7 => "FROZEN",
        /// The operator holds the test: the command stands still, and the load with it.
        Held = 8 => "held",
    }
}

impl Phase {
    /// The word for a number, whatever it is.
    pub fn word(code: u8) -> &'static str {
        Self::from_code(code).map_or("under way", Self::description)
    }
}

/// How a trip takes the rig to its safe state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// The command stands still for the declared hold, or until the operator
    /// ends it, then ramps to zero.
    Hold,
    /// The command ramps to zero at once, at the limited rate.
    RampDown,
    /// The command stays where it is; the test is over at once. For tests in
    /// which any further motion does harm. The rig is not at zero then.
    Abort,
}

/// A trip and how it is answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// Why.
    pub trip: Trip,
    /// The way to safe.
    pub response: Response,
}

impl From<Trip> for Stop {
    /// The gate's own trips hold, then ramp.
    fn from(trip: Trip) -> Self {
        Self { trip, response: Response::Hold }
    }
}

/// The way to safe: hold, then ramp.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SafePath {
    /// Time to stand still, s.
    pub hold_s: f64,
    /// Rate of the ramp, m/s.
    pub rate_m_s: f64,
}

/// A ramp that would take longer is not waited for: the command has run away
/// from an unstable rehearsal without limits, to where no rig ever was. A file whose
/// own limits would allow such a ramp is refused.
pub const LONGEST_RAMP_S: f64 = 3600.0;

/// The latch. The tick can only trip it; there is no way back from inside the
/// loop. Who arms again builds a new loop.
#[derive(Debug, Clone)]
pub struct Interlock {
    /// Where the test stands.
    pub(crate) phase: Phase,
    /// The first trip and its tick.
    pub(crate) trip: Option<(Trip, u64)>,
    hold_ticks: u64,
    held_ticks: u64,
    /// Largest move per tick while ramping, m.
    stride_m: f64,
    rate_m_s: f64,
    /// Whether a command may go out after the trip: not where the rig stands and no
    /// command has put it.
    pub(crate) may_command: bool,
}

impl Interlock {
    /// Armed, with its way to safe.
    pub fn new(path: SafePath, step_s: f64) -> Self {
        Self {
            phase: Phase::Running,
            trip: None,
            hold_ticks: (path.hold_s / step_s).round() as u64,
            held_ticks: 0,
            stride_m: path.rate_m_s * step_s,
            rate_m_s: path.rate_m_s,
            may_command: true,
        }
    }

    /// Whether zero lies further from `command` than an hour's ramp.
    pub fn is_out_of_reach(&self, command: &Motion) -> bool {
        let reach_m = self.rate_m_s * LONGEST_RAMP_S;
        command.displacement.iter().any(|x| x.is_nan() || x.abs() > reach_m)
    }

    /// Latches the first trip; later ones change nothing.
    pub fn latch(&mut self, stop: impl Into<Stop>, tick: u64) {
        if self.trip.is_none() {
            let Stop { trip, response } = stop.into();
            self.trip = Some((trip, tick));
            self.phase = match response {
                Response::Hold => Phase::Holding,
                Response::RampDown => Phase::Ramping,
                Response::Abort => Phase::Safe,
            };
        }
    }

    /// Ends the way to safe where it is.
    pub(crate) fn freeze(&mut self) {
        if self.trip.is_some() {
            self.phase = Phase::Frozen;
        }
    }

    /// Ends a hold, or takes an aborted rig down. For the operator side alone.
    pub(crate) fn ramp_down(&mut self) {
        if self.trip.is_some() {
            self.phase = Phase::Ramping;
        }
    }

    /// Moves `command` one tick along the way to safe.
    pub fn lead(&mut self, command: &mut Motion) {
        command.velocity.fill(0.0);
        command.acceleration.fill(0.0);
        if self.phase == Phase::Holding {
            self.held_ticks += 1;
            if self.held_ticks > self.hold_ticks {
                self.phase = Phase::Ramping;
            }
        } else if self.phase == Phase::Ramping {
            let ramped = ramp(command, self.stride_m, self.rate_m_s);
            if ramped == Ramped::AtZero {
                self.phase = Phase::Safe;
            }
        }
    }
}

/// What a step of a ramp came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ramped {
    /// Some displacement is on its way.
    OnItsWay,
    /// All are zero.
    AtZero,
}

/// Moves every displacement towards zero by at most `stride_m`; velocities that
/// are not needed stay as they are.
pub(crate) fn ramp(command: &mut Motion, stride_m: f64, rate_m_s: f64) -> Ramped {
    let mut ramped = Ramped::AtZero;
    for (x, v) in command.displacement.iter_mut().zip(&mut command.velocity) {
        if x.abs() > stride_m {
            *v = -rate_m_s.copysign(*x);
            *x -= stride_m.copysign(*x);
            ramped = Ramped::OnItsWay;
        } else {
            *x = 0.0;
        }
    }
    ramped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::TripKind;

    #[test]
    fn a_response_decides_where_the_way_to_safe_begins() {
        let trip = Trip { kind: TripKind::Force, dof: 0, value: 2.0, limit: 1.0 };
        for (response, phase) in [
            (Response::Hold, Phase::Holding),
            (Response::RampDown, Phase::Ramping),
            (Response::Abort, Phase::Safe),
        ] {
            let mut interlock = Interlock::new(SafePath { hold_s: 0.01, rate_m_s: 0.1 }, 1e-3);
            interlock.latch(Stop { trip, response }, 42);
            assert_eq!(interlock.phase, phase);
            // A later trip, of whatever kind, changes nothing.
            interlock.latch(Stop { trip, response: Response::Abort }, 43);
            assert_eq!((interlock.phase, interlock.trip), (phase, Some((trip, 42))));
            let mut command = Motion::rest(1);
            command.displacement[0] = 0.005;
            interlock.lead(&mut command);
            let moved = command.displacement[0] < 0.005;
            assert_eq!(moved, response == Response::RampDown);
        }
    }

    #[test]
    fn the_way_to_safe_holds_then_ramps_and_never_jumps() {
        let mut interlock = Interlock::new(SafePath { hold_s: 0.01, rate_m_s: 0.1 }, 1e-3);
        let mut command = Motion::rest(2);
        command.displacement = vec![0.0015, -0.0004];
        let trip = Trip { kind: TripKind::Force, dof: 0, value: 2.0, limit: 1.0 };
        interlock.latch(trip, 42);
        interlock.latch(Trip { kind: TripKind::Rate, ..trip }, 43);
        assert_eq!(interlock.trip, Some((trip, 42)), "the first trip stays");
        let mut ticks = 0;
        while interlock.phase != Phase::Safe {
            let before = command.clone();
            interlock.lead(&mut command);
            for (now, before) in command.displacement.iter().zip(&before.displacement) {
                assert!((now - before).abs() <= 0.1 * 1e-3 + 1e-15);
                assert!(now.abs() <= before.abs());
            }
            ticks += 1;
            assert!(ticks < 100);
        }
        assert_eq!(command.displacement, [0.0, 0.0]);
        assert!(ticks > 10 + 14, "held ten ticks, then ramped over fifteen");
    }

    fn trip() -> Trip {
        Trip { kind: TripKind::Force, dof: 0, value: 2.0, limit: 1.0 }
    }

    /// By hand: three ticks of hold and one that sees its end, then strides of 0.25.
    #[test]
    fn the_way_to_safe_is_walked_as_it_is_reckoned() {
        let mut interlock = Interlock::new(SafePath { hold_s: 0.75, rate_m_s: 1.0 }, 0.25);
        interlock.latch(trip(), 7);
        let mut command = Motion::rest(2);
        command.displacement = vec![0.625, -0.25];
        let mut seen = Vec::new();
        for _ in 0..8 {
            command.velocity.fill(9.0);
            command.acceleration.fill(9.0);
            interlock.lead(&mut command);
            seen.push((
                interlock.phase,
                command.displacement[0],
                command.displacement[1],
                command.velocity[0],
                command.velocity[1],
            ));
            assert_eq!(command.acceleration, [0.0, 0.0]);
        }
        assert_eq!(
            seen,
            [
                (Phase::Holding, 0.625, -0.25, 0.0, 0.0),
                (Phase::Holding, 0.625, -0.25, 0.0, 0.0),
                (Phase::Holding, 0.625, -0.25, 0.0, 0.0),
                (Phase::Ramping, 0.625, -0.25, 0.0, 0.0),
                // A stride that ends at zero is no way any more.
                (Phase::Ramping, 0.375, 0.0, -1.0, 0.0),
                (Phase::Ramping, 0.125, 0.0, -1.0, 0.0),
                (Phase::Safe, 0.0, 0.0, 0.0, 0.0),
                (Phase::Safe, 0.0, 0.0, 0.0, 0.0),
            ]
        );
        assert_eq!(interlock.trip, Some((trip(), 7)));
    }

    #[test]
    fn an_armed_interlock_leads_nowhere() {
        let mut interlock = Interlock::new(SafePath { hold_s: 0.0, rate_m_s: 1.0 }, 0.25);
        assert_eq!((interlock.phase, interlock.trip), (Phase::Running, None));
        let mut command = Motion::rest(1);
        command.displacement[0] = -0.75;
        interlock.lead(&mut command);
        assert_eq!((interlock.phase, command.displacement[0]), (Phase::Running, -0.75));
        // Without a hold the first tick only sees its end; the way up is as long as the way down.
        interlock.latch(trip(), 0);
        let places: Vec<f64> = (0..4)
            .map(|_| {
                interlock.lead(&mut command);
                command.displacement[0]
            })
            .collect();
        assert_eq!(places, [-0.75, -0.5, -0.25, 0.0]);
    }

    #[test]
    fn an_hour_is_the_longest_ramp() {
        let interlock = Interlock::new(SafePath { hold_s: 0.0, rate_m_s: 0.5 }, 0.25);
        let mut command = Motion::rest(2);
        for (x, out) in [
            (0.0, false),
            (1800.0, false),
            (-1800.0, false),
            (1800.0 * (1.0 + 1e-12), true),
            (-1801.0, true),
            (f64::NAN, true),
            (f64::INFINITY, true),
        ] {
            command.displacement[1] = x;
            assert_eq!(interlock.is_out_of_reach(&command), out, "{x}");
        }
    }
}
