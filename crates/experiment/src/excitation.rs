//! What shakes the structure.

use keys::Keys;
use keys::describe::{Alternative, Choice, Field, Shape, Table};
use keys::tree::Branch;
use model::excitation::{Level, Resampling, Scaling, SyntheticEarthquake};

use super::dof::DofRef;
use super::input::Column;
use super::leaf::extension;

/// What shakes the structure: the ground, any number of forces, or both.
#[derive(Debug, Clone, PartialEq, Keys)]
pub struct Excitation {
    /// Acceleration of the ground.
    #[key(acceleration, of_dof, at_least_one)]
    pub ground: Option<Ground>,
    /// Forces on DOFs, each as `[[excitation.force]]`.
    #[key(force, of_dof, entries = 1..=1000, optional, at_least_one, name = "force")]
    pub forces: Vec<Force>,
    /// How a load arrives from a host while the test runs; with signals that are `streamed`.
    pub stream: Option<StreamSpec>,
}

/// A load that arrives from a host over `twinrig run --host` while the test runs. `duration` is then
/// the longest time for it. It needs \[phases\] `completing`, with which the test goes on when the
/// host ends the load or falls silent. See `docs/host-link.md`.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct StreamSpec {
    /// Samples per second; a whole number of ticks lies between two of them, in which the load runs
    /// straight.
    #[key(frequency, positive)]
    pub rate_hz: f64,
    /// How much of the load is kept ahead, at most.
    #[key(time, positive, default = "2 s")]
    pub buffer_s: f64,
    /// How much must be there before the load begins.
    #[key(time, positive, default = "0.5 s")]
    pub prefill_s: f64,
    /// How long a load that does not come is bridged: its last value goes straight to zero in this
    /// time, and comes back as fast if the load goes on. At zero it is over.
    #[key(time, positive, default = "50 ms")]
    pub bridge_s: f64,
    /// How long the first samples are waited for in real time; then the test trips.
    #[key(time, positive, default = "60 s")]
    pub patience_s: f64,
}

/// Acceleration of the ground, from a file or generated.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(given)]
pub struct Ground {
    /// What it does.
    #[key(flatten)]
    pub signal: SignalSource,
}

/// A force on one DOF, from a file or generated.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(given)]
pub struct Force {
    /// The DOF it acts on, by number or name.
    pub dof: DofRef,
    /// What it does.
    #[key(flatten)]
    pub signal: ForceSignal,
}

/// A signal of a force: any but an earthquake.
#[derive(Debug, Clone, PartialEq)]
pub struct ForceSignal(pub SignalSource);

/// A signal, in SI: m/s² for the ground, N for a force.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(one_of)]
pub enum SignalSource {
    /// From a file.
    #[key(flatten)]
    File(SignalFile),
    /// A sine.
    #[key(given)]
    Harmonic(Harmonic),
    /// A sine of running frequency.
    #[key(given)]
    Chirp(Chirp),
    /// Random noise in a band.
    #[key(given)]
    Noise(Noise),
    /// A periodic sum of sines.
    #[key(given)]
    Multisine(Multisine),
    /// A synthetic earthquake.
    Synthetic(Synthetic),
    /// A single pulse.
    #[key(given)]
    Impulse(Impulse),
    /// From a host, while the test runs.
    #[key(given)]
    Streamed(Streamed),
}

/// A signal in a file.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(given)]
pub struct SignalFile {
    /// A signal from a file, relative to the folder of the experiment file.
    #[key(file = &[], name = "file")]
    pub name: String,
    /// Format of the file. Absent: by the extension.
    pub format: Option<SignalFormat>,
    /// Unit of the column. Absent: for the ground as the file's header says, which must then say it;
    /// for a force SI.
    ///
    /// As its factor to SI.
    #[key(given_unit, name = "unit")]
    pub unit_factor: Option<f64>,
    /// Column of the signal, by number from 1 or by header.
    pub column: Option<Column>,
    /// Column of the time, by number from 1 or by header.
    pub time_column: Option<Column>,
    /// Time between two rows of a file without a time column.
    #[key(time, positive)]
    pub step_s: Option<f64>,
    /// How the signal is scaled, after conversion to SI.
    #[key(flatten)]
    pub scaling: Option<Scaling>,
    /// Time at which the signal begins.
    #[key(time, not_negative, default = "0 s")]
    pub start_s: f64,
    /// How values between the samples of a file are found.
    #[key(default = "linear")]
    pub resample: Resampling,
}

/// Format of a signal file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum SignalFormat {
    /// Columns of numbers, with or without a header.
    Csv,
    /// A PEER strong-motion record, which states its own step.
    At2,
}

/// A sine.
///
/// Zero outside its time.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given)]
pub struct Harmonic {
    /// Half the height of the sine.
    #[key(given)]
    pub amplitude: f64,
    /// Frequency.
    #[key(frequency, positive)]
    pub frequency_hz: f64,
    /// Phase at the start.
    #[key(angle, default = "0 deg")]
    pub phase_rad: f64,
    /// Time at which the signal begins.
    #[key(time, not_negative, default = "0 s")]
    pub start_s: f64,
    /// How long it lasts.
    #[key(flatten)]
    length: Option<HarmonicLength>,
    /// Time of a smooth rise at the beginning and fall at the end.
    #[key(time, not_negative, default = "0 s")]
    pub ramp_s: f64,
}

/// How long a sine lasts, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(one_of)]
enum HarmonicLength {
    /// How many cycles. Absent: to the end of the test.
    #[key(number, positive)]
    Cycles(f64),
    /// How long the signal lasts. Absent: to the end of the test.
    #[key(time, positive)]
    Duration(f64),
}

/// A sine whose frequency runs linearly from one value to another.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given)]
pub struct Chirp {
    /// Half the height of the sine.
    #[key(given)]
    pub amplitude: f64,
    /// First frequency.
    #[key(frequency, not_negative)]
    pub from_hz: f64,
    /// Last frequency.
    #[key(frequency, not_negative)]
    pub to_hz: f64,
    /// Time from the first to the last frequency.
    #[key(time, positive)]
    pub duration_s: f64,
    /// Time at which the signal begins.
    #[key(time, not_negative, default = "0 s")]
    pub start_s: f64,
    /// Time of a smooth rise at the beginning and fall at the end.
    #[key(time, not_negative, default = "0 s")]
    pub ramp_s: f64,
}

/// Gaussian noise with a flat spectrum between two frequencies.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given)]
pub struct Noise {
    /// Root mean square.
    #[key(given, positive)]
    pub rms: f64,
    /// Lowest and highest frequency.
    #[key(frequency, not_negative)]
    pub band_hz: [f64; 2],
    /// Time at which the signal begins.
    #[key(time, not_negative, default = "0 s")]
    pub start_s: f64,
    /// How long the signal lasts. Absent: to the end of the test.
    #[key(time, positive)]
    pub duration_s: Option<f64>,
    /// Seed of this signal. Absent: that of the experiment.
    #[key(count = 0..=i64::MAX as u64)]
    pub seed: Option<u64>,
}

/// A periodic sum of sines.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given)]
pub struct Multisine {
    /// How strong it is.
    #[key(flatten)]
    pub level: Level,
    /// Lowest and highest frequency.
    #[key(frequency, not_negative)]
    pub band_hz: [f64; 2],
    /// Number of sines, evenly spaced in the band. Absent: every line of the period.
    #[key(count = 1..=100_000)]
    pub lines: Option<usize>,
    /// Time after which the signal repeats.
    #[key(time, positive, default = "10 s")]
    pub period_s: f64,
    /// Seed of random phases. Absent: Schroeder's phases, which keep the peaks low.
    #[key(count = 0..=i64::MAX as u64)]
    pub seed: Option<u64>,
}

/// A synthetic earthquake: noise through the ground filter of Kanai and Tajimi, under an envelope that
/// rises, holds and decays.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct Synthetic {
    /// Peak ground acceleration.
    #[key(acceleration, positive, name = "peak")]
    pub peak: f64,
    /// Seed of this signal. Absent: that of the experiment.
    #[key(count = 0..=i64::MAX as u64)]
    pub seed: Option<u64>,
    /// Natural frequency of the ground.
    #[key(frequency, positive, default = "2.5 Hz")]
    pub ground_frequency_hz: f64,
    /// Damping ratio of the ground.
    #[key(ratio, within = 0.01..=2.0, default = "60 %")]
    pub ground_damping: f64,
    /// Length of the earthquake, 5 s to 600 s. Absent: the duration of the test, within these.
    #[key(time, positive)]
    pub duration_s: Option<f64>,
    /// Time of the rise. Absent: a sixteenth of the length.
    #[key(time, not_negative)]
    pub rise_s: Option<f64>,
    /// Time constant of the decay. Absent: 0.0875 of the length.
    #[key(time, not_negative)]
    pub decay_s: Option<f64>,
}

/// A single half-sine pulse.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given)]
pub struct Impulse {
    /// Height of the pulse.
    #[key(given)]
    pub amplitude: f64,
    /// Time at which the pulse begins.
    #[key(time, not_negative, default = "0 s")]
    pub at_s: f64,
    /// Length of the pulse.
    #[key(time, positive)]
    pub width_s: f64,
}

/// A signal that arrives from the host.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(given)]
pub struct Streamed {
    /// Largest value, either way; a sample beyond it is refused.
    #[key(given, positive)]
    pub bound: f64,
}

impl Excitation {
    /// The signals of the ground and of every force.
    pub fn signals(&self) -> impl Iterator<Item = &SignalSource> {
        let ground = self.ground.iter().map(|ground| &ground.signal);
        ground.chain(self.forces.iter().map(|force| &force.signal.0))
    }
}

impl Harmonic {
    /// How long it lasts; `None` to the end of the test.
    pub fn duration_s(&self) -> Option<f64> {
        self.length.map(|length| match length {
            HarmonicLength::Cycles(cycles) => (cycles / self.frequency_hz).min(f64::MAX),
            HarmonicLength::Duration(duration_s) => duration_s,
        })
    }
}

impl Synthetic {
    /// The earthquake in a test of `test_s` with this seed. A longer or shorter one keeps the
    /// proportions of the usual one.
    pub fn earthquake(&self, test_s: f64, seed: u64) -> SyntheticEarthquake {
        let usual = SyntheticEarthquake::new(self.peak, self.seed.unwrap_or(seed));
        let duration_s = self.duration_s.unwrap_or(test_s.clamp(5.0, 600.0));
        let part = duration_s / usual.duration_s;
        SyntheticEarthquake {
            ground_frequency_hz: self.ground_frequency_hz,
            ground_damping: self.ground_damping,
            duration_s,
            rise_s: self.rise_s.unwrap_or(part * usual.rise_s),
            decay_s: self.decay_s.unwrap_or(part * usual.decay_s),
            ..usual
        }
    }
}

impl SignalFile {
    /// How the signal is scaled.
    pub fn scaling(&self) -> Scaling {
        self.scaling.unwrap_or(Scaling::Scale(1.0))
    }

    /// The format, stated or by the extension.
    pub fn format(&self) -> Option<SignalFormat> {
        SignalFormat::of(self.format, &self.name)
    }
}

impl SignalFormat {
    /// What is stated, or what the extension of `name` means.
    pub(crate) fn of(stated: Option<Self>, name: &str) -> Option<Self> {
        stated.or_else(|| match extension(name).as_str() {
            "csv" | "txt" => Some(Self::Csv),
            "at2" => Some(Self::At2),
            _ => None,
        })
    }
}

impl Keys for ForceSignal {
    fn table_of(given: Option<Shape>) -> Table {
        let all = SignalSource::table_of(given);
        let fits = |key: &str| key != SignalSource::SYNTHETIC;
        let fields: Vec<Field> =
            all.fields.iter().copied().filter(|field| fits(field.key)).collect();
        let without = |choice: &Choice| {
            let of: Vec<Alternative> =
                choice.of.iter().copied().filter(|other| fits(other.key)).collect();
            Choice { of: of.leak(), ..*choice }
        };
        let choices: Vec<Choice> = all.choices.iter().map(without).collect();
        Table { fields: fields.leak(), choices: choices.leak(), ..all }
    }

    fn read_table(branch: &Branch) -> Option<Self> {
        SignalSource::read_table(branch).map(Self)
    }
}
