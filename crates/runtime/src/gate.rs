//! The gate: what may pass to the actuator.

use model::motion::Motion;
use numerics::lanes::Lane;

use crate::codes::codes;
use crate::measured::Measured;

codes! {
    /// What tripped, in words and with the unit of value and limit. The number is the one
    /// in the channel `trip`.
    pub enum TripKind: u8 => (&'static str, &'static str) {
        /// The command left its bounds.
        Command = 1 => ("command beyond its limit", "m"),
        /// The command would move faster than allowed.
        Rate = 2 => ("command faster than its limit", "m/s"),
        /// The measured force left its bounds.
        Force = 3 => ("force beyond its limit", "N"),
        /// Desired and measured displacement are too far apart.
        TrackingError = 4 => ("tracking error beyond its limit", "m"),
        /// The sensor says that the rig stands further out than any command may send it.
        Displacement = 16 => ("measured displacement beyond its limit", "m"),
        /// A signal is NaN or infinite.
        NotFinite = 5 => ("a signal is not a finite number", ""),
        /// The stability warning reached its threshold.
        StabilityWarning = 6 => ("stability warning at its threshold", "%"),
        /// An implicit step did not settle.
        NotConverged = 7 => ("the integrator did not converge", "m"),
        /// The operator stopped the test.
        Operator = 14 => ("stopped by the operator", ""),
        /// Too many deadlines were missed in a row.
        Overrun = 20 => ("deadlines missed in a row", "periods"),
        /// The main loop of a two-rate test is too late.
        MainLoopLate = 15 => ("the main loop is late", "ticks"),
        /// The rig does not stand where it should before the load begins.
        NotAtStart = 30 => ("the rig does not stand where it should at the start", "m"),
        /// No load came from the host.
        NoLoad = 31 => ("no load came from the host", "ticks"),
        /// Nothing is heard from the other end of the link.
        PeerSilent = 22 => ("no reply from the laboratory", "s"),
        /// The other end of the link has tripped.
        PeerTripped = 23 => ("the other end of the link tripped", ""),
        /// The loop ended the session, and the laboratory takes its rig to zero.
        PeerLeft = 24 => ("the loop ended the session", ""),
        /// The rig reports a fault of its own.
        Device = 25 => ("the rig reports a fault", ""),
        ..
        /// An indicator of the monitor reached one of its levels.
        Indicator(&'static IndicatorTrip),
    }
}

/// The trip of an indicator, declared beside it.
#[derive(Debug)]
pub struct IndicatorTrip {
    /// The number in the record, which no other kind has.
    pub code: u8,
    /// In words and with the unit of value and level.
    pub description: (&'static str, &'static str),
    /// Factor, unit and digits with which people are told value and level.
    pub shown: (f64, &'static str, usize),
    /// Whether it belongs to an interface DOF.
    pub of_dof: bool,
}

impl PartialEq for IndicatorTrip {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

impl Eq for IndicatorTrip {}

impl TripKind {
    /// In words.
    pub fn words(self) -> &'static str {
        self.description().0
    }

    /// A trip of this kind that belongs to no interface DOF.
    pub(crate) const fn trip(self, value: f64, limit: f64) -> Trip {
        Trip { kind: self, dof: 0, value, limit }
    }
}

/// A trip: numbers only, its text is made later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trip {
    /// Why.
    pub kind: TripKind,
    /// Interface DOF, from 0.
    pub dof: usize,
    /// What was found.
    pub value: f64,
    /// What was allowed.
    pub limit: f64,
}

/// What the gate may never let through, per interface DOF; infinite where the
/// file sets no bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Largest command, m.
    pub command: Vec<f64>,
    /// Fastest command, m/s.
    pub rate: Vec<f64>,
    /// Largest measured force, N.
    pub force: Vec<f64>,
    /// Largest distance between desired and measured displacement, m.
    pub tracking_error: Vec<f64>,
    /// How far the measured displacement may go beyond the largest command, as a share of it.
    pub overshoot: f64,
    /// Period, s.
    pub step_s: f64,
}

/// The limits of one interface DOF: of one loop, or of several side by side.
pub(crate) struct Bounds<T> {
    pub(crate) command: T,
    pub(crate) rate: T,
    pub(crate) force: T,
    pub(crate) tracking_error: T,
    /// Of the measured displacement.
    pub(crate) position: T,
    pub(crate) step_s: T,
}

impl Limits {
    /// None, for so many interface DOFs.
    pub fn unlimited(count: usize, step_s: f64) -> Self {
        let none = vec![f64::INFINITY; count];
        Self {
            command: none.clone(),
            rate: none.clone(),
            force: none.clone(),
            tracking_error: none,
            overshoot: f64::INFINITY,
            step_s,
        }
    }

    /// The largest measured displacement of one interface DOF.
    #[inline(always)]
    pub(crate) fn position(&self, dof: usize) -> f64 {
        self.command[dof] * (1.0 + self.overshoot)
    }

    /// Those of one interface DOF.
    #[inline(always)]
    pub(crate) fn of(&self, dof: usize) -> Bounds<f64> {
        Bounds {
            command: self.command[dof],
            rate: self.rate[dof],
            force: self.force[dof],
            tracking_error: self.tracking_error[dof],
            position: self.position(dof),
            step_s: self.step_s,
        }
    }
}

/// Lets the command of this tick through, or says why not. No state: `held` is
/// the command the rig has now.
#[inline(always)]
pub fn gate(
    limits: &Limits,
    held: &Motion,
    desired: &Motion,
    measured: &Measured,
    command: &Motion,
) -> Result<(), Trip> {
    for dof in 0..command.count() {
        let seen = GateInput {
            held: held.displacement[dof],
            desired: desired.displacement[dof],
            position: measured.displacement[dof],
            force: measured.force[dof],
            command: command.of(dof),
        };
        let bounds = limits.of(dof);
        if !seen.is_finite() {
            return Err(not_finite(measured, dof, &seen.values()));
        }
        seen.within(&bounds, dof)?;
    }
    Ok(())
}

/// What the gate looks at, of one interface DOF: of one loop, or of several side by
/// side.
pub(crate) struct GateInput<T> {
    /// The displacement the rig has been told last.
    pub(crate) held: T,
    pub(crate) desired: T,
    pub(crate) position: T,
    pub(crate) force: T,
    /// Displacement, velocity and acceleration that would go out.
    pub(crate) command: [T; 3],
}

impl<T: Lane> GateInput<T> {
    /// Whether the command may go out.
    #[inline(always)]
    pub(crate) fn passes(&self, bounds: &Bounds<T>) -> T::Mask {
        self.is_finite() & self.holds(bounds)
    }

    #[inline(always)]
    fn values(&self) -> [T; 6] {
        let [x, v, a] = self.command;
        [self.position, self.force, x, v, a, self.desired]
    }

    /// What is not a number is named as such before any limit is.
    #[inline(always)]
    fn is_finite(&self) -> T::Mask {
        // Zero times anything that is not finite is NaN: one test for all.
        let sum = self.values().into_iter().fold(T::ZERO, |sum, value| sum + value * 0.0);
        sum.abs().at_most(T::ZERO)
    }

    /// Force, tracking error, measured displacement, command, its rate and its velocity.
    #[inline(always)]
    fn against(&self, step_s: T) -> [T; 6] {
        let [x, v, _] = self.command;
        let error = self.position - self.desired;
        [self.force, error, self.position, x, (x - self.held) / step_s, v]
    }

    /// All at once, for nearly always all hold. A limit that is not a number lets
    /// nothing pass.
    #[inline(always)]
    fn holds(&self, bounds: &Bounds<T>) -> T::Mask {
        let [force, error, position, x, rate, v] = self.against(bounds.step_s);
        force.abs().at_most(bounds.force)
            & error.abs().at_most(bounds.tracking_error)
            & position.abs().at_most(bounds.position)
            & x.abs().at_most(bounds.command)
            & rate.abs().at_most(bounds.rate)
            & v.abs().at_most(bounds.rate)
    }
}

impl GateInput<f64> {
    /// Nothing moves and nothing pushes.
    const REST: Self =
        Self { held: 0.0, desired: 0.0, position: 0.0, force: 0.0, command: [0.0; 3] };

    /// Names the limit that does not hold.
    #[inline(always)]
    fn within(&self, bounds: &Bounds<f64>, dof: usize) -> Result<(), Trip> {
        if self.holds(bounds) {
            return Ok(());
        }
        Err(exceeded(bounds, dof, self.against(bounds.step_s)))
    }
}

/// Of the velocity that accelerations add up to, the share that is left from tick to tick.
const KEPT: f64 = 0.9375;

/// The velocity to which a rig is led that is fed forward by the acceleration of its
/// commands: their sum, drawn to the commanded velocity within some sixteen periods. Of a
/// motion whose acceleration is the derivative of its velocity it is that velocity.
#[inline(always)]
pub(crate) fn fed_velocity<T: Lane>(before: T, [_, v, a]: [T; 3], step_s: T) -> T {
    v + (before + a * step_s - v) * KEPT
}

/// What the commands that passed have led to, for what no single one of them shows: a
/// displacement that stands still while velocity or acceleration drive the rig on.
pub(crate) struct FedForward {
    velocity: Vec<f64>,
}

impl FedForward {
    /// At rest, for `count` interface DOFs.
    pub(crate) fn new(count: usize) -> Self {
        Self { velocity: vec![0.0; count] }
    }

    /// Takes a command that has passed the gate, unless it leads a rig beyond the limit of
    /// its rate.
    #[inline(always)]
    pub(crate) fn pass(&mut self, limits: &Limits, command: &Motion) -> Result<(), Trip> {
        for dof in 0..command.count() {
            self.leads(dof, command.of(dof), limits)?;
        }
        for dof in 0..command.count() {
            self.take(dof, command.of(dof), limits.step_s);
        }
        Ok(())
    }

    /// Whether a command leads one interface DOF no faster than its limit.
    #[inline(always)]
    pub(crate) fn leads(&self, dof: usize, command: [f64; 3], limits: &Limits) -> Result<(), Trip> {
        let value = fed_velocity(self.velocity[dof], command, limits.step_s);
        let limit = limits.rate[dof];
        // What cannot be compared does not pass.
        if value.abs().at_most(limit) {
            return Ok(());
        }
        Err(Trip { kind: TripKind::Rate, dof, value, limit })
    }

    /// A command goes out.
    #[inline(always)]
    pub(crate) fn take(&mut self, dof: usize, command: [f64; 3], step_s: f64) {
        self.velocity[dof] = fed_velocity(self.velocity[dof], command, step_s);
    }
}

/// How much a force that is beyond its limit when the ramp begins may grow on it.
const GROWTH: f64 = 1.05;

/// What the gate watches on the way to safe. The way itself bounds commands and
/// their rate, and there is no desired motion any more; forces that were in order
/// when it began must stay so. A sensor that says no number tells nothing: the way
/// goes on.
///
/// A force that is beyond its limit is let go down: while the command stands still
/// nothing can be done about it, and on the ramp it may hardly grow. Once it is
/// within its limit again, the limit holds.
pub(crate) struct SafeGate {
    /// Of forces, for now.
    limits: Limits,
}

impl SafeGate {
    pub(crate) fn new(limits: &Limits) -> Self {
        let (force, overshoot) = (limits.force.clone(), limits.overshoot);
        let free = Limits::unlimited(force.len(), limits.step_s);
        Self { limits: Limits { force, overshoot, ..free } }
    }

    /// The way to safe begins.
    pub(crate) fn begin(&mut self, limits: &Limits, measured: &Measured) {
        self.excuse(limits, measured, f64::INFINITY);
    }

    /// The ramp begins.
    pub(crate) fn begin_ramp(&mut self, limits: &Limits, measured: &Measured) {
        self.excuse(limits, measured, GROWTH);
    }

    /// A force that is beyond its limit may grow by this factor.
    fn excuse(&mut self, limits: &Limits, measured: &Measured, growth: f64) {
        let forces = measured.force.iter().zip(&limits.force);
        for (bound, (force, limit)) in self.limits.force.iter_mut().zip(forces) {
            *bound = if force.abs() <= *limit {
                *limit
            } else if force.is_finite() {
                growth * force.abs()
            } else {
                f64::INFINITY
            };
        }
    }

    /// The gate with these bounds: says what is out of order now.
    pub(crate) fn pass(&mut self, limits: &Limits, measured: &Measured) -> Result<(), Trip> {
        for (dof, &force) in measured.force.iter().enumerate() {
            if force.abs() <= limits.force[dof] {
                self.limits.force[dof] = limits.force[dof];
            }
            let force = if force.is_finite() { force } else { 0.0 };
            GateInput { force, ..GateInput::REST }.within(&self.limits.of(dof), dof)?;
        }
        Ok(())
    }
}

/// Names the limit that does not hold, the specimen's first.
#[cold]
fn exceeded(bounds: &Bounds<f64>, dof: usize, values: [f64; 6]) -> Trip {
    let [force, error, position, x, rate, velocity] = values;
    let checks = [
        (TripKind::Force, force, bounds.force),
        (TripKind::TrackingError, error, bounds.tracking_error),
        (TripKind::Displacement, position, bounds.position),
        (TripKind::Command, x, bounds.command),
        (TripKind::Rate, rate, bounds.rate),
        (TripKind::Rate, velocity, bounds.rate),
    ];
    let [.., last] = checks;
    let broken = |&(_, value, limit): &(TripKind, f64, f64)| value.abs() > limit || limit.is_nan();
    let (kind, value, limit) = checks.into_iter().find(broken).unwrap_or(last);
    Trip { kind, dof, value, limit }
}

/// Names the culprit: what a sensor says of one DOF spreads to the motion of
/// all, so sensors come first.
#[cold]
fn not_finite(measured: &Measured, dof: usize, values: &[f64]) -> Trip {
    let trip = |dof, value| Trip { kind: TripKind::NotFinite, dof, value, limit: f64::NAN };
    let sensors = measured.displacement.iter().zip(&measured.force).enumerate();
    for (dof, (&displacement, &force)) in sensors {
        for value in [displacement, force] {
            if !value.is_finite() {
                return trip(dof, value);
            }
        }
    }
    trip(dof, values.iter().copied().find(|value| !value.is_finite()).unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            command: vec![0.02],
            rate: vec![0.5],
            force: vec![8900.0],
            tracking_error: vec![0.005],
            overshoot: 0.2,
            step_s: 1e-3,
        }
    }

    fn motion(displacement: f64) -> Motion {
        let mut motion = Motion::rest(1);
        motion.displacement[0] = displacement;
        motion
    }

    fn try_gate(held: f64, command: f64, position: f64, force: f64) -> Result<(), TripKind> {
        let measured =
            Measured { displacement: vec![position], force: vec![force], ..Measured::zeros(1) };
        gate(&limits(), &motion(held), &motion(command), &measured, &motion(command))
            .map_err(|trip| trip.kind)
    }

    #[test]
    fn every_limit_trips_and_the_bound_itself_passes() {
        assert_eq!(try_gate(0.0, 0.0004, 0.0, 0.0), Ok(()));
        assert_eq!(try_gate(0.02, 0.02, 0.02, 8900.0), Ok(()));
        assert_eq!(try_gate(0.0199, 0.0201, 0.02, 0.0), Err(TripKind::Command));
        assert_eq!(try_gate(0.0, 0.0006, 0.0, 0.0), Err(TripKind::Rate));
        assert_eq!(try_gate(0.0, 0.0, 0.0, -8901.0), Err(TripKind::Force));
        assert_eq!(try_gate(0.01, 0.01, 0.0, 0.0), Err(TripKind::TrackingError));
        assert_eq!(try_gate(0.02, 0.02, 0.024, 0.0), Ok(()));
        assert_eq!(try_gate(-0.02, -0.02, -0.0241, 0.0), Err(TripKind::Displacement));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(try_gate(0.0, bad, 0.0, 0.0), Err(TripKind::NotFinite));
            assert_eq!(try_gate(0.0, 0.0, bad, 0.0), Err(TripKind::NotFinite));
            assert_eq!(try_gate(0.0, 0.0, 0.0, bad), Err(TripKind::NotFinite));
        }
    }

    #[test]
    fn on_the_way_to_safe_a_force_is_watched_whatever_the_other_sensor_says() {
        let limits = limits();
        let at = |force: f64| Measured {
            displacement: vec![f64::NAN],
            force: vec![force],
            ..Measured::zeros(1)
        };
        let passes = |gate: &mut SafeGate, force: f64| gate.pass(&limits, &at(force)).is_ok();
        // In order when the way began: the limit holds, and no number tells nothing.
        let mut gate = SafeGate::new(&limits);
        gate.begin(&limits, &at(8900.0));
        assert!(passes(&mut gate, -8900.0) && passes(&mut gate, f64::NAN));
        let trip = gate.pass(&limits, &at(-8901.0)).expect_err("beyond its limit");
        assert_eq!((trip.kind, trip.value, trip.limit), (TripKind::Force, -8901.0, 8900.0));
        // Beyond it already: excused while the command stands, hardly on the ramp, and
        // no longer once it was in order.
        gate.begin(&limits, &at(10e3));
        assert!(passes(&mut gate, 20e3));
        gate.begin_ramp(&limits, &at(10e3));
        assert!(passes(&mut gate, 10.4e3) && !passes(&mut gate, 10.6e3));
        assert!(passes(&mut gate, 8000.0) && !passes(&mut gate, 9000.0));
    }

    #[test]
    fn a_sensor_that_says_no_number_is_named_before_what_it_spoils() {
        let two = |value: f64| vec![value; 2];
        let limits = Limits {
            command: two(1.0),
            rate: two(1e9),
            force: two(1e9),
            tracking_error: two(1.0),
            overshoot: f64::INFINITY,
            step_s: 1e-3,
        };
        let measured = Measured { force: vec![0.0, f64::NAN], ..Measured::zeros(2) };
        let mut desired = Motion::rest(2);
        // The balance of forces has carried it to the first DOF.
        desired.acceleration[0] = f64::NAN;
        let trip = gate(&limits, &Motion::rest(2), &desired, &measured, &desired).unwrap_err();
        assert_eq!((trip.kind, trip.dof), (TripKind::NotFinite, 1));
    }

    #[test]
    fn a_trip_tells_value_from_limit_however_small_or_close_they_are() {
        let text = |kind, value, limit| Trip { kind, dof: 0, value, limit }.text();
        assert_eq!(
            text(TripKind::Command, 0.0213, 0.02),
            "command beyond its limit: 0.02130 m against 0.02000 m (interface DOF 1)"
        );
        let said = text(TripKind::Command, -0.020_000_034, 0.02);
        assert!(said.contains("-0.020000034 m against 0.020000000 m"), "{said}");
        let said = text(TripKind::NotConverged, 4.21e-8, 1e-9);
        assert!(said.contains("0.04210 µm against 0.001000 µm"), "{said}");
        let said = text(TripKind::TrackingError, 3.2e-10, 3e-10);
        assert!(said.contains("0.0003200 µm against 0.0003000 µm"), "{said}");
        let said = text(TripKind::Rate, 2e-4, 1e-4);
        assert!(said.contains("200.0 µm/s against 100.0 µm/s"), "{said}");
        let said = text(TripKind::Force, 8900.5, 8900.0);
        assert!(said.contains("8900.50 N against 8900.00 N"), "{said}");
        // What is no number still gives a text.
        text(TripKind::Force, f64::NAN, f64::INFINITY);
        text(TripKind::Command, f64::INFINITY, f64::NAN);
    }

    #[test]
    fn nothing_passes_that_cannot_be_compared() {
        let still = Measured { displacement: vec![0.0], force: vec![0.0], ..Measured::zeros(1) };
        let kind = |limits: &Limits, desired: &Motion, command: &Motion| {
            gate(limits, &motion(0.0), desired, &still, command).map_err(|trip| trip.kind)
        };
        let rest = motion(0.0);
        assert_eq!(kind(&limits(), &motion(f64::NAN), &rest), Err(TripKind::NotFinite));
        let mut fast = motion(0.0);
        fast.velocity[0] = f64::NAN;
        assert_eq!(kind(&limits(), &rest, &fast), Err(TripKind::NotFinite));
        let mut jerky = motion(0.0);
        jerky.acceleration[0] = f64::INFINITY;
        assert_eq!(kind(&limits(), &rest, &jerky), Err(TripKind::NotFinite));
        let broken = Limits { force: vec![f64::NAN], ..limits() };
        assert_eq!(kind(&broken, &rest, &rest), Err(TripKind::Force));
        let unknown = gate(&limits(), &motion(f64::NAN), &rest, &still, &rest);
        assert_eq!(unknown.map_err(|trip| trip.kind), Err(TripKind::Rate), "from nowhere");
    }
}
