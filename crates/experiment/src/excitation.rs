//! What shakes the structure.

use super::dof::DofRef;
use super::leaf::extension;
use super::tree::{Branch, Node, Value};

/// What shakes the structure; at least one of the two.
#[derive(Debug, Clone, PartialEq)]
pub struct Excitation {
    /// Acceleration of the ground, in m/s².
    pub ground: Option<SignalSource>,
    /// Forces, in N (or N m on a rotation).
    pub forces: Vec<Force>,
    /// How they arrive, where they come from a host.
    pub stream: Option<StreamSpec>,
}

/// How a load arrives from a host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamSpec {
    /// Samples per second.
    pub rate_hz: f64,
    /// How much is kept ahead.
    pub buffer_s: f64,
    /// How much must be there before the load begins.
    pub prefill_s: f64,
    /// How long silence is bridged.
    pub bridge_s: f64,
    /// How long the first samples are waited for.
    pub patience_s: f64,
}

/// A force on one degree of freedom.
#[derive(Debug, Clone, PartialEq)]
pub struct Force {
    /// Where it acts.
    pub dof: DofRef,
    /// What it does.
    pub signal: SignalSource,
}

/// A signal, in SI: m/s² for the ground, N for a force.
#[derive(Debug, Clone, PartialEq)]
pub enum SignalSource {
    /// From a file.
    File(SignalFile),
    /// A sine, zero outside its time.
    Harmonic {
        /// Amplitude.
        amplitude: f64,
        /// Frequency.
        frequency_hz: f64,
        /// Phase at the start.
        phase_rad: f64,
        /// When it begins.
        start_s: f64,
        /// How long it lasts; `None` to the end of the test.
        duration_s: Option<f64>,
        /// Smooth rise and fall at its ends.
        ramp_s: f64,
    },
    /// A sine whose frequency runs linearly.
    Chirp {
        /// Amplitude.
        amplitude: f64,
        /// First frequency.
        from_hz: f64,
        /// Last frequency.
        to_hz: f64,
        /// When it begins.
        start_s: f64,
        /// Time from first to last.
        duration_s: f64,
        /// Smooth rise and fall at its ends.
        ramp_s: f64,
    },
    /// Gaussian noise, flat in a band.
    Noise {
        /// Root mean square.
        rms: f64,
        /// Lowest and highest frequency.
        band_hz: [f64; 2],
        /// When it begins.
        start_s: f64,
        /// How long it lasts; `None` to the end of the test.
        duration_s: Option<f64>,
        /// Its own seed; `None` to draw one from the experiment's.
        seed: Option<u64>,
    },
    /// A periodic sum of sines with random phases.
    Multisine {
        /// How strong it is.
        level: MultisineLevel,
        /// Lowest and highest frequency.
        band_hz: [f64; 2],
        /// Number of sines; `None` for every line of the period.
        lines: Option<usize>,
        /// Period; `None` for the duration of the test.
        period_s: Option<f64>,
        /// Its own seed; `None` to draw one from the experiment's.
        seed: Option<u64>,
    },
    /// A synthetic earthquake (ground only).
    Synthetic {
        /// Peak acceleration.
        peak: f64,
        /// Natural frequency of the ground.
        ground_frequency_hz: f64,
        /// Damping ratio of the ground.
        ground_damping: f64,
        /// Length; `None` for the duration of the test.
        duration_s: Option<f64>,
        /// Rise of the envelope; `None` for a tenth of the length.
        rise_s: Option<f64>,
        /// Decay of the envelope; `None` for half of the length.
        decay_s: Option<f64>,
        /// Its own seed; `None` to draw one from the experiment's.
        seed: Option<u64>,
    },
    /// A single half-sine pulse.
    Impulse {
        /// Height.
        amplitude: f64,
        /// When it begins.
        at_s: f64,
        /// How long it lasts.
        width_s: f64,
    },
    /// From a host, while the test runs.
    Streamed {
        /// Largest value, either way.
        bound: f64,
    },
}

/// A signal in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalFile {
    /// Name as written.
    pub name: String,
    /// Format, stated or by the extension.
    pub format: SignalFormat,
    /// Factor from the file's unit to SI; `None` to go by the file's header, else SI.
    pub unit_factor: Option<f64>,
    /// Column of the signal.
    pub column: Option<Column>,
    /// Column of the time.
    pub time_column: Option<Column>,
    /// Time between rows, for a file without a time column.
    pub step_s: Option<f64>,
    /// How the signal is scaled, after conversion to SI.
    pub scaling: Scaling,
    /// When it begins.
    pub start_s: f64,
    /// What is between the samples.
    pub resample: Resample,
}

/// Format of a signal file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalFormat {
    /// Columns of numbers.
    Csv,
    /// A PEER strong-motion record.
    At2,
}

/// A column of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// By index from 0.
    Index(usize),
    /// By its header.
    Header(String),
}

/// How a signal is scaled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scaling {
    /// By a factor.
    Factor(f64),
    /// To this largest absolute value, in SI.
    Peak(f64),
}

/// What is between the samples of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resample {
    /// Straight lines.
    Linear,
    /// The band-limited signal.
    BandLimited,
}

/// How strong a multisine is, in SI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MultisineLevel {
    /// Root mean square of the sum.
    Rms(f64),
    /// Amplitude of each sine.
    Amplitude(f64),
}

impl Excitation {
    pub(crate) fn read(branch: &Branch) -> Self {
        let force = |force: &Branch| {
            let dof = DofRef::read(force.must_node("dof")).expect("the grammar asks for a DOF");
            Force { dof, signal: SignalSource::read(force) }
        };
        Self {
            ground: branch.table("ground").map(SignalSource::read),
            forces: branch.tables("force").map(force).collect(),
            stream: branch.table("stream").map(|table| StreamSpec {
                rate_hz: table.must_number("rate"),
                buffer_s: table.must_number("buffer"),
                prefill_s: table.must_number("prefill"),
                bridge_s: table.must_number("bridge"),
                patience_s: table.must_number("patience"),
            }),
        }
    }
}

impl SignalSource {
    fn read(branch: &Branch) -> Self {
        let table = |key| branch.table(key);
        let generated = table("harmonic")
            .map(Self::harmonic)
            .or_else(|| table("chirp").map(Self::chirp))
            .or_else(|| table("noise").map(Self::noise))
            .or_else(|| table("multisine").map(Self::multisine))
            .or_else(|| table("synthetic").map(Self::synthetic))
            .or_else(|| table("impulse").map(Self::impulse))
            .or_else(|| table("streamed").map(Self::streamed));
        generated.unwrap_or_else(|| Self::File(SignalFile::read(branch)))
    }

    fn harmonic(branch: &Branch) -> Self {
        let frequency_hz = branch.must_number("frequency");
        let cycles = branch.number("cycles").map(|cycles| (cycles / frequency_hz).min(f64::MAX));
        Self::Harmonic {
            amplitude: branch.must_number("amplitude"),
            frequency_hz,
            phase_rad: branch.must_number("phase"),
            start_s: branch.must_number("start"),
            duration_s: cycles.or(branch.number("duration")),
            ramp_s: branch.must_number("ramp"),
        }
    }

    fn chirp(branch: &Branch) -> Self {
        Self::Chirp {
            amplitude: branch.must_number("amplitude"),
            from_hz: branch.must_number("from"),
            to_hz: branch.must_number("to"),
            start_s: branch.must_number("start"),
            duration_s: branch.must_number("duration"),
            ramp_s: branch.must_number("ramp"),
        }
    }

    fn noise(branch: &Branch) -> Self {
        Self::Noise {
            rms: branch.must_number("rms"),
            band_hz: band(branch),
            start_s: branch.must_number("start"),
            duration_s: branch.number("duration"),
            seed: branch.count("seed"),
        }
    }

    fn multisine(branch: &Branch) -> Self {
        let level = match branch.number("rms") {
            Some(rms) => MultisineLevel::Rms(rms),
            None => MultisineLevel::Amplitude(branch.must_number("amplitude")),
        };
        Self::Multisine {
            level,
            band_hz: band(branch),
            lines: branch.count("lines").map(|lines| lines as usize),
            period_s: branch.number("period"),
            seed: branch.count("seed"),
        }
    }

    fn synthetic(branch: &Branch) -> Self {
        Self::Synthetic {
            peak: branch.must_number("peak"),
            ground_frequency_hz: branch.must_number("ground_frequency"),
            ground_damping: branch.must_number("ground_damping"),
            duration_s: branch.number("duration"),
            rise_s: branch.number("rise"),
            decay_s: branch.number("decay"),
            seed: branch.count("seed"),
        }
    }

    fn streamed(branch: &Branch) -> Self {
        Self::Streamed { bound: branch.must_number("bound") }
    }

    fn impulse(branch: &Branch) -> Self {
        Self::Impulse {
            amplitude: branch.must_number("amplitude"),
            at_s: branch.must_number("at"),
            width_s: branch.must_number("width"),
        }
    }
}

impl SignalFile {
    fn read(branch: &Branch) -> Self {
        let scaling = match branch.number("peak") {
            Some(peak) => Scaling::Peak(peak),
            None => Scaling::Factor(branch.number("scale").unwrap_or(1.0)),
        };
        Self {
            name: branch.must_text("file").to_owned(),
            format: SignalFormat::read(branch).expect("checked before"),
            unit_factor: branch.number("unit"),
            column: branch.node("column").and_then(Column::read),
            time_column: branch.node("time_column").and_then(Column::read),
            step_s: branch.number("step"),
            scaling,
            start_s: branch.must_number("start"),
            resample: match branch.must_word("resample") {
                "linear" => Resample::Linear,
                "band_limited" => Resample::BandLimited,
                word => unreachable!("the grammar has no resampling {word}"),
            },
        }
    }
}

impl SignalFormat {
    /// The format of the file named in `branch`, stated or by the extension.
    pub(crate) fn read(branch: &Branch) -> Option<Self> {
        let extension = extension(branch.text("file")?);
        match branch.word("format").unwrap_or(&extension) {
            "csv" | "txt" => Some(Self::Csv),
            "at2" => Some(Self::At2),
            _ => None,
        }
    }
}

impl Column {
    pub(crate) fn read(node: &Node) -> Option<Self> {
        match &node.value {
            Value::Count(number) => Some(Self::Index(*number as usize - 1)),
            Value::Text(header) => Some(Self::Header(header.clone())),
            _ => None,
        }
    }
}

/// The two edges of a band.
fn band(branch: &Branch) -> [f64; 2] {
    let edges = branch.must_node("band").numbers().unwrap_or_default();
    edges.try_into().expect("the grammar asks for two edges")
}
