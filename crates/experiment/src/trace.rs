//! A frequency response by iteration, as declared.

use keys::Keys;

use super::per_dof::{MOST_INTERFACE, PerDof};

/// Longest delay of a sensor that is brought in line, s.
const LONGEST_DELAY_S: f64 = 1.0;

/// An iterative test: the loop is cut, the rig follows a periodic target, the measured force drives
/// the simulated part, and the target is corrected until both sides of the interface move alike.
/// `twinrig trace` follows the response over the frequency. The harmonic loads of \[excitation\] act
/// with their amplitudes; their frequency is that of the point. See `docs/iterative-testing.md`.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct TraceSpec {
    /// Lowest and highest frequency; none beyond is ever tried.
    #[key(frequency, positive)]
    frequency_hz: [f64; 2],
    /// Greatest amplitude of the target's harmonics taken together (and its mean, where that is
    /// solved for), at every interface DOF; none beyond is ever tried.
    #[key(length, of_dof, positive)]
    pub target_m: f64,
    /// Harmonics in which both sides are to move alike.
    #[key(count = 1..=31, default = 1)]
    pub harmonics: usize,
    /// Harmonics that are recorded, at least `harmonics`. Absent: two more than `harmonics`.
    #[key(count = 1..=63)]
    pub(crate) seen: Option<usize>,
    /// What becomes of the target's mean. Absent: `followed` with a `shaker`, else `solved`, but
    /// `zero` with a virtual rig and no nonlinear element.
    pub mean: Option<MeanSpec>,
    /// How the frequencies are chosen.
    #[key(default = "arclength")]
    pub course: CourseSpec,
    /// Where the trace begins.
    #[key(default = "rising")]
    direction: TraceDirection,
    /// Points of a sweep; most points along a branch.
    #[key(count = 1..=10_000, default = 150)]
    pub points: usize,
    /// Lengths of the steps along a branch, in units of `scale`.
    #[key(default = {})]
    pub steps: StepsSpec,
    /// Difference of both sides that counts as none, the root of the summed squares of its
    /// coefficients; at most a tenth of `target`. Noise sets a floor of 2.5 standard deviations.
    /// Absent: a millionth of `target`.
    #[key(length, of_dof, positive)]
    tolerance_m: Option<f64>,
    /// How the target is corrected. The surrogate is for rigs whose noise hides differences.
    #[key(default = "differences")]
    pub method: MethodSpec,
    /// By what target and frequency are divided: a branch turns where its unknowns do.
    #[key(default = {})]
    scale: ScaleSpec,
    /// Control that keeps the simulated part beside the rig. It vanishes where both move alike.
    #[key(default = {})]
    pub control: ControlSpec,
    /// Mass at the interface that stands in the laboratory but is simulated: its inertia is taken out
    /// of the measured force. A rig without accelerometer has it from the harmonics of its
    /// displacement. Absent: none.
    #[key(mass, of_dof, not_negative, entries = 1..=MOST_INTERFACE)]
    pub inertia_compensation_kg: Option<PerDof>,
    /// When a point has settled, and how much is averaged.
    #[key(default = {})]
    pub settling: SettlingSpec,
    /// How fast the amplitude of the target may change; never faster than within half a period.
    #[key(velocity, of_dof, positive, default = "20 mm/s")]
    pub ramp_m_s: f64,
    /// How late the sensors are; the signals are brought to one instant.
    #[key(default = {})]
    pub delays: DelaysSpec,
    /// A virtual rig with force actuators under control, for the specimen with its `inside`. Absent:
    /// the rig of \[transfer_system\], or the laboratory of \[rig\].
    pub shaker: Option<ShakerSpec>,
}

/// How the frequencies are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum CourseSpec {
    /// Along the branch, through folds, with steps of its own choice.
    Arclength,
    /// At equally spaced frequencies.
    Sweep,
}

/// Where a trace begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
enum TraceDirection {
    /// From the lowest frequency on.
    Rising,
    /// From the highest frequency on.
    Falling,
}

/// What becomes of the target's mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum MeanSpec {
    /// It goes where the rig's own mean is: for actuators that push.
    Followed,
    /// Both sides are to have the same: for actuators that hold a place.
    Solved,
    /// It stays zero: where nothing is one-sided.
    Zero,
}

/// How the target is corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum MethodSpec {
    /// A Jacobian by differences, then Broyden's updates.
    Differences,
    /// A Gaussian process through all evaluations near the point.
    Surrogate,
}

/// Lengths of steps along a branch, in scaled unknowns.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(check = Self::check)]
pub struct StepsSpec {
    /// Length of the first step.
    #[key(number, within = 1e-6..=100.0, default = 0.3)]
    pub first: f64,
    /// A shorter step ends the trace.
    #[key(number, within = 1e-6..=100.0, default = 0.005)]
    pub least: f64,
    /// Greatest length.
    #[key(number, within = 1e-6..=100.0, default = 0.8)]
    pub most: f64,
    /// A step that turns the branch by more is repeated shorter.
    #[key(angle, within = 0.05..=1.5, default = "30 deg")]
    pub turn_rad: f64,
}

/// By what the unknowns are divided.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
struct ScaleSpec {
    /// The target. Absent: a tenth of its limit.
    #[key(length, of_dof, positive)]
    target_m: Option<f64>,
    /// The frequency. Absent: an eighth of the band.
    #[key(frequency, positive)]
    frequency_hz: Option<f64>,
}

/// A force on the simulated part at the interface: k (x − ξ) + c d(x − ξ)/dt.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct ControlSpec {
    /// Force per difference of both sides. Of the order of the stiffness at the interface; more
    /// settles faster and amplifies noise.
    #[key(stiffness, of_dof, not_negative, default = "20 kN/m")]
    pub stiffness_n_m: f64,
    /// Force per rate of the difference.
    #[key(damping, of_dof, not_negative, default = "400 N s/m")]
    pub damping_n_s_m: f64,
    /// Time constant of the rate.
    #[key(time, positive, default = "1 ms")]
    pub filter_s: f64,
}

/// Every period gives an estimate of all coefficients. A point has settled when nothing moves any
/// more, or when what moves is noise.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct SettlingSpec {
    /// Range of any coefficient over two spells that counts as none. Absent: half of the trace's
    /// `tolerance`.
    #[key(length, of_dof, positive)]
    tolerance_m: Option<f64>,
    /// Periods in a spell.
    #[key(count = 2..=1000, default = 3)]
    pub spell: usize,
    /// Standard deviation of the mean that is asked for: more periods are averaged until it is
    /// reached. Absent: the trace's `tolerance`.
    #[key(length, of_dof, positive)]
    scatter_m: Option<f64>,
    /// Periods averaged at most, while both sides are brought together.
    #[key(count = 2..=100_000, default = 40)]
    pub periods: usize,
    /// Periods averaged at most once a point is found, as long as `scatter` is not reached.
    #[key(count = 2..=100_000, default = 400)]
    pub refined: usize,
    /// Time after which a point is taken as it is.
    #[key(time, positive, default = "20 s")]
    pub longest_s: f64,
}

/// How late the sensors are.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct DelaysSpec {
    /// Of the displacement.
    #[key(time, within = 0.0..=LONGEST_DELAY_S, default = "0 s")]
    pub displacement_s: f64,
    /// Of the force. Absent: as \[sensors\] force_delay_samples says.
    #[key(time, within = 0.0..=LONGEST_DELAY_S)]
    pub force_s: Option<f64>,
    /// Of the acceleration.
    #[key(time, within = 0.0..=LONGEST_DELAY_S, default = "0 s")]
    pub acceleration_s: f64,
}

/// A force actuator at every interface DOF: τ df/dt = k (x* − x) + c d(x* − x)/dt − f. How well it
/// follows does not matter: the target is corrected.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct ShakerSpec {
    /// Force per difference between target and displacement: the gain of the controller times that
    /// of the amplifier.
    #[key(stiffness, of_dof, positive)]
    pub stiffness_n_m: f64,
    /// Force per rate of that difference.
    #[key(damping, of_dof, not_negative)]
    pub damping_n_s_m: f64,
    /// Time constant τ of the amplifier.
    #[key(time, positive, default = "1 ms")]
    pub lag_s: f64,
    /// A constant force of the actuator beside, which the load cell does not show.
    #[key(force, of_dof, entries = 1..=MOST_INTERFACE)]
    pub preload_n: Option<PerDof>,
}

impl TraceSpec {
    /// Lowest and highest frequency.
    pub fn band_hz(&self) -> (f64, f64) {
        (self.frequency_hz[0], self.frequency_hz[1])
    }

    /// Whether it begins at the highest frequency.
    pub fn falling(&self) -> bool {
        self.direction == TraceDirection::Falling
    }

    /// Harmonics that are recorded.
    pub fn seen(&self) -> usize {
        self.seen.unwrap_or(self.harmonics + 2).max(self.harmonics)
    }

    /// Difference of both sides that counts as none.
    pub fn tolerance_m(&self) -> f64 {
        self.tolerance_m.unwrap_or(1e-6 * self.target_m)
    }

    /// By what the target is divided.
    pub fn scale_m(&self) -> f64 {
        self.scale.target_m.unwrap_or(0.1 * self.target_m)
    }

    /// By what the frequency is divided.
    pub fn scale_hz(&self) -> f64 {
        let (low, high) = self.band_hz();
        self.scale.frequency_hz.unwrap_or((high - low) / 8.0)
    }

    /// Range of a coefficient that counts as none while a point settles.
    pub fn settling_tolerance_m(&self) -> f64 {
        self.settling.tolerance_m.unwrap_or(0.5 * self.tolerance_m())
    }

    /// Standard deviation of the mean that is asked for.
    pub fn scatter_m(&self) -> f64 {
        self.settling.scatter_m.unwrap_or(self.tolerance_m())
    }
}
