//! What shakes the structure.

use keys::Keys;
use keys::describe::{Alternative, Choice, Field, Shape, Table};
use keys::tree::Branch;
use model::excitation::{Generate, Generated, Resampling, Scaling};

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
#[key(check = Self::check)]
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
    /// From its numbers.
    #[key(flatten)]
    Generated(Generated),
    /// From a host, while the test runs.
    #[key(given)]
    Streamed(Streamed),
}

/// A signal in a file.
#[derive(Debug, Clone, PartialEq, Keys)]
#[key(given, check = Self::check)]
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

impl SignalSource {
    /// When it begins.
    pub fn start_s(&self) -> f64 {
        match self {
            Self::File(file) => file.start_s,
            Self::Generated(signal) => signal.start_s(),
            Self::Streamed(_) => 0.0,
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
        self.format.or_else(|| match extension(&self.name).as_str() {
            "csv" | "txt" => Some(SignalFormat::Csv),
            "at2" => Some(SignalFormat::At2),
            _ => None,
        })
    }
}

impl Keys for ForceSignal {
    fn table_of(given: Option<Shape>) -> Table {
        let all = SignalSource::table_of(given);
        let fits = |key: &str| key != Generated::SYNTHETIC;
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
