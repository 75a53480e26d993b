//! Grammar of `[excitation]`.

use super::super::quantity::{Kind, Motion};
use super::{
    Alternative, Bounds, Choice, Count, Field, Shape, Table, default, exactly, lone, of_dof,
    optional, quantity, required, up_to, word,
};

pub(crate) static EXCITATION: Table = Table {
    doc: "What shakes the structure: the ground, any number of forces, or both.",
    fields: &[
        optional("ground", Shape::Table(&GROUND), "Acceleration of the ground."),
        optional(
            "force",
            Shape::List(&Shape::Table(&FORCE), up_to(1000)),
            "Forces on DOFs, each as `[[excitation.force]]`.",
        ),
        optional(
            "stream",
            Shape::Table(&STREAM),
            "How a load arrives from a host while the test runs; with signals that are `streamed`.",
        ),
    ],
    choices: &[Choice { count: Count::AtLeast, of: &[lone("ground"), lone("force")] }],
    variants: None,
};

static STREAM: Table = Table::plain(
    "A load that arrives from a host over `twinrig run --host` while the test runs. `duration` is \
     then the longest time for it. It needs [phases] `completing`, with which the test goes on \
     when the host ends the load or falls silent. See `docs/host-link.md`.",
    &[
        required(
            "rate",
            quantity(Kind::Frequency, Bounds::Positive),
            "Samples per second; a whole number of ticks lies between two of them, in which the \
             load runs straight.",
        ),
        default("buffer", SPAN, "\"2 s\"", "How much of the load is kept ahead, at most."),
        default("prefill", SPAN, "\"0.5 s\"", "How much must be there before the load begins."),
        default(
            "bridge",
            SPAN,
            "\"50 ms\"",
            "How long a load that does not come is bridged: its last value goes straight to zero \
             in this time, and comes back as fast if the load goes on. At zero it is over.",
        ),
        default(
            "patience",
            SPAN,
            "\"60 s\"",
            "How long the first samples are waited for in real time; then the test trips.",
        ),
    ],
);

static GROUND_STREAMED: Table = Table::plain(
    "A signal that arrives from the host.",
    &[required(
        "bound",
        quantity(Kind::Acceleration, Bounds::Positive),
        "Largest value, either way; a sample beyond it is refused.",
    )],
);

static FORCE_STREAMED: Table = Table::plain(
    "A signal that arrives from the host.",
    &[required(
        "bound",
        of_dof(Kind::Force, Bounds::Positive),
        "Largest value, either way; a sample beyond it is refused.",
    )],
);

const TIME: Shape = quantity(Kind::Time, Bounds::NotNegative);
const SPAN: Shape = quantity(Kind::Time, Bounds::Positive);
const COLUMN: Shape = Shape::Either(&[Shape::Count { min: 1, max: 10_000 }, Shape::Text]);
static BAND_EDGE: Shape = quantity(Kind::Frequency, Bounds::NotNegative);
const BAND: Field =
    required("band", Shape::List(&BAND_EDGE, exactly(2)), "Lowest and highest frequency.");
const OWN_SEED: Field = optional(
    "seed",
    Shape::Count { min: 0, max: i64::MAX as u64 },
    "Seed of this signal. Absent: drawn from the seed of the experiment.",
);
const RAMP: Field =
    default("ramp", TIME, "\"0 s\"", "Time of a smooth rise at the beginning and fall at the end.");
const START: Field = default("start", TIME, "\"0 s\"", "Time at which the signal begins.");
const DURATION: Field =
    optional("duration", SPAN, "How long the signal lasts. Absent: to the end of the test.");
const FILE_OPTIONS: &[&str] =
    &["format", "unit", "column", "time_column", "step", "scale", "peak", "start", "resample"];

/// The generated signals, with an amplitude in the given kind.
macro_rules! generators {
    ($kind:expr, $harmonic:ident, $chirp:ident, $noise:ident, $multisine:ident, $impulse:ident) => {
        static $harmonic: Table = Table {
            doc: "A sine.",
            fields: &[
                required("amplitude", of_dof($kind, Bounds::Any), "Half the height of the sine."),
                required("frequency", FREQUENCY, "Frequency."),
                default(
                    "phase",
                    quantity(Kind::Angle, Bounds::Any),
                    "\"0 deg\"",
                    "Phase at the start.",
                ),
                START,
                optional(
                    "cycles",
                    Shape::Number(Bounds::Positive),
                    "How many cycles. Absent: to the end of the test.",
                ),
                DURATION,
                RAMP,
            ],
            choices: &[Choice { count: Count::AtMost, of: &[lone("cycles"), lone("duration")] }],
            variants: None,
        };
        static $chirp: Table = Table::plain(
            "A sine whose frequency runs linearly from one value to another.",
            &[
                required("amplitude", of_dof($kind, Bounds::Any), "Half the height of the sine."),
                required(
                    "from",
                    quantity(Kind::Frequency, Bounds::NotNegative),
                    "First frequency.",
                ),
                required("to", quantity(Kind::Frequency, Bounds::NotNegative), "Last frequency."),
                required("duration", SPAN, "Time from the first to the last frequency."),
                START,
                RAMP,
            ],
        );
        static $noise: Table = Table::plain(
            "Gaussian noise with a flat spectrum between two frequencies.",
            &[
                required("rms", of_dof($kind, Bounds::Positive), "Root mean square."),
                BAND,
                START,
                DURATION,
                OWN_SEED,
            ],
        );
        static $multisine: Table = Table {
            doc: "A periodic sum of sines with random phases.",
            fields: &[
                optional("rms", of_dof($kind, Bounds::Positive), "Root mean square of the sum."),
                optional("amplitude", of_dof($kind, Bounds::Positive), "Amplitude of each sine."),
                BAND,
                optional(
                    "lines",
                    Shape::Count { min: 1, max: 100_000 },
                    "Number of sines, evenly spaced in the band. Absent: every line of the period.",
                ),
                optional(
                    "period",
                    SPAN,
                    "Time after which the signal repeats. Absent: the duration of the test.",
                ),
                OWN_SEED,
            ],
            choices: &[Choice { count: Count::Exactly, of: &[lone("rms"), lone("amplitude")] }],
            variants: None,
        };
        static $impulse: Table = Table::plain(
            "A single half-sine pulse.",
            &[
                required("amplitude", of_dof($kind, Bounds::Any), "Height of the pulse."),
                default("at", TIME, "\"0 s\"", "Time at which the pulse begins."),
                required("width", SPAN, "Length of the pulse."),
            ],
        );
    };
}

const FREQUENCY: Shape = quantity(Kind::Frequency, Bounds::Positive);

generators!(
    Kind::Acceleration,
    GROUND_HARMONIC,
    GROUND_CHIRP,
    GROUND_NOISE,
    GROUND_MULTISINE,
    GROUND_IMPULSE
);
generators!(Kind::Force, FORCE_HARMONIC, FORCE_CHIRP, FORCE_NOISE, FORCE_MULTISINE, FORCE_IMPULSE);

static SYNTHETIC: Table = Table::plain(
    "A synthetic earthquake: noise through the ground filter of Kanai and Tajimi, under an \
     envelope that rises, holds and decays.",
    &[
        required(
            "peak",
            quantity(Kind::Acceleration, Bounds::Positive),
            "Peak ground acceleration.",
        ),
        OWN_SEED,
        default("ground_frequency", FREQUENCY, "\"2.5 Hz\"", "Natural frequency of the ground."),
        default(
            "ground_damping",
            Shape::Ratio(Bounds::Within(0.01, 2.0)),
            "\"60 %\"",
            "Damping ratio of the ground.",
        ),
        optional(
            "duration",
            SPAN,
            "Length of the earthquake, 5 s to 600 s. Absent: the duration of the test, within these.",
        ),
        optional("rise", TIME, "Time of the rise. Absent: a sixteenth of the length."),
        optional("decay", TIME, "Time constant of the decay. Absent: 0.0875 of the length."),
    ],
);

/// A table for a signal from a file or a generator; `extra` goes in front.
macro_rules! signal {
    (
        $name:ident, $kind:expr, $doc:expr, extra: [$($extra:expr),*],
        generators: [$($key:literal: $table:ident, $what:literal;)*]
    ) => {
        static $name: Table = Table {
            doc: $doc,
            fields: &[
                $($extra,)*
                optional(
                    "file",
                    Shape::File(&[]),
                    "A signal from a file, relative to the folder of the experiment file.",
                ),
                optional("format", FORMAT, "Format of the file. Absent: by the extension."),
                optional(
                    "unit",
                    Shape::Unit($kind, Motion::Either),
                    "Unit of the column. Absent: as the file's header says, else SI.",
                ),
                optional("column", COLUMN, "Column of the signal, by number from 1 or by header."),
                optional("time_column", COLUMN, "Column of the time, by number from 1 or by header."),
                optional("step", SPAN, "Time between two rows of a file without a time column."),
                optional("scale", Shape::Number(Bounds::Any), "Factor on the signal; 1 if absent."),
                optional(
                    "peak",
                    of_dof($kind, Bounds::Positive),
                    "Scales the signal so that its largest absolute value is this.",
                ),
                START,
                default(
                    "resample",
                    RESAMPLE,
                    "\"linear\"",
                    "How values between the samples of a file are found.",
                ),
                $(optional($key, Shape::Table(&$table), $what),)*
            ],
            choices: &[
                Choice { count: Count::Exactly, of: &[FILE, $(lone($key)),*] },
                Choice { count: Count::AtMost, of: &[lone("scale"), lone("peak")] },
            ],
            variants: None,
        };
    };
}

const FORMAT: Shape = Shape::Word(&[
    word("csv", "columns of numbers, with or without a header"),
    word("at2", "a PEER strong-motion record, which states its own step"),
]);

const RESAMPLE: Shape = Shape::Word(&[
    word("linear", "straight lines between the samples"),
    word("band_limited", "the band-limited signal through the samples"),
]);

const FILE: Alternative = Alternative { key: "file", needs: &[], allows: FILE_OPTIONS };

signal!(
    GROUND, Kind::Acceleration, "Acceleration of the ground, from a file or generated.",
    extra: [],
    generators: [
        "harmonic": GROUND_HARMONIC, "A sine.";
        "chirp": GROUND_CHIRP, "A sine of running frequency.";
        "noise": GROUND_NOISE, "Random noise in a band.";
        "multisine": GROUND_MULTISINE, "A periodic sum of sines.";
        "synthetic": SYNTHETIC, "A synthetic earthquake.";
        "impulse": GROUND_IMPULSE, "A single pulse.";
        "streamed": GROUND_STREAMED, "From a host, while the test runs.";
    ]
);

signal!(
    FORCE, Kind::Force, "A force on one DOF, from a file or generated.",
    extra: [required("dof", Shape::Dof, "The DOF it acts on, by number or name.")],
    generators: [
        "harmonic": FORCE_HARMONIC, "A sine.";
        "chirp": FORCE_CHIRP, "A sine of running frequency.";
        "noise": FORCE_NOISE, "Random noise in a band.";
        "multisine": FORCE_MULTISINE, "A periodic sum of sines.";
        "impulse": FORCE_IMPULSE, "A single pulse.";
        "streamed": FORCE_STREAMED, "From a host, while the test runs.";
    ]
);
