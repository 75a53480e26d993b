//! Grammar of `[trace]`: frequency responses by iteration.

use super::super::quantity::{Kind, Motion};
use super::{
    Bounds, MOST_INTERFACE, Shape, Table, default, exactly, of_dof, optional, quantity, required,
    up_to, word,
};

const HZ: Shape = quantity(Kind::Frequency, Bounds::Positive);
const LENGTH: Shape = of_dof(Kind::Length, Bounds::Positive);
const TIME: Shape = quantity(Kind::Time, Bounds::NotNegative);
static BAND_END: Shape = quantity(Kind::Frequency, Bounds::Positive);
/// A step along the branch, in scaled unknowns.
const STEP: Shape = Shape::Number(Bounds::Within(1e-6, 100.0));

pub(crate) static TRACE: Table = Table::plain(
    "An iterative test: the loop is cut, the rig follows a periodic target, the measured force \
     drives the simulated part, and the target is corrected until both sides of the interface move \
     alike. `twinrig trace` follows the response over the frequency. The harmonic loads of \
     [excitation] act with their amplitudes; their frequency is that of the point. See \
     `docs/iterative-testing.md`.",
    &[
        required(
            "frequency",
            Shape::List(&BAND_END, exactly(2)),
            "Lowest and highest frequency; none beyond is ever tried.",
        ),
        required(
            "target",
            LENGTH,
            "Greatest amplitude of the target's harmonics taken together (and its mean, where that \
             is solved for), at every interface DOF; none beyond is ever tried.",
        ),
        default(
            "harmonics",
            Shape::Count { min: 1, max: 31 },
            "1",
            "Harmonics in which both sides are to move alike.",
        ),
        optional(
            "seen",
            Shape::Count { min: 1, max: 63 },
            "Harmonics that are recorded, at least `harmonics`. Absent: two more than `harmonics`.",
        ),
        optional(
            "mean",
            Shape::Word(&[
                word("followed", "it goes where the rig's own mean is: for actuators that push"),
                word("solved", "both sides are to have the same: for actuators that hold a place"),
                word("zero", "it stays zero: where nothing is one-sided"),
            ]),
            "What becomes of the target's mean. Absent: `followed` with a `shaker`, else `solved`, \
             but `zero` with a virtual rig and no nonlinear element.",
        ),
        default(
            "course",
            Shape::Word(&[
                word("arclength", "along the branch, through folds, with steps of its own choice"),
                word("sweep", "at equally spaced frequencies"),
            ]),
            "\"arclength\"",
            "How the frequencies are chosen.",
        ),
        default(
            "direction",
            Shape::Word(&[
                word("rising", "from the lowest frequency on"),
                word("falling", "from the highest frequency on"),
            ]),
            "\"rising\"",
            "Where the trace begins.",
        ),
        default(
            "points",
            Shape::Count { min: 1, max: 10_000 },
            "150",
            "Points of a sweep; most points along a branch.",
        ),
        default(
            "steps",
            Shape::Table(&STEPS),
            "{}",
            "Lengths of the steps along a branch, in units of `scale`.",
        ),
        optional(
            "tolerance",
            LENGTH,
            "Difference of both sides that counts as none, the root of the summed squares of its \
             coefficients. Noise sets a floor of 2.5 standard deviations. Absent: a millionth of \
             `target`.",
        ),
        default(
            "method",
            Shape::Word(&[
                word("differences", "a Jacobian by differences, then Broyden's updates"),
                word("surrogate", "a Gaussian process through all evaluations near the point"),
            ]),
            "\"differences\"",
            "How the target is corrected. The surrogate is for rigs whose noise hides differences.",
        ),
        default(
            "scale",
            Shape::Table(&SCALE),
            "{}",
            "By what target and frequency are divided: a branch turns where its unknowns do.",
        ),
        default(
            "control",
            Shape::Table(&CONTROL),
            "{}",
            "Control that keeps the simulated part beside the rig. It vanishes where both move \
             alike.",
        ),
        optional(
            "inertia_compensation",
            Shape::Either(&[
                Shape::Quantity(Kind::Mass, Motion::Either, Bounds::NotNegative),
                Shape::List(
                    &Shape::Quantity(Kind::Mass, Motion::Either, Bounds::NotNegative),
                    up_to(MOST_INTERFACE),
                ),
            ]),
            "Mass at the interface that stands in the laboratory but is simulated: its inertia is \
             taken out of the measured force. A rig without accelerometer has it from the harmonics \
             of its displacement. Absent: none.",
        ),
        default(
            "settling",
            Shape::Table(&SETTLING),
            "{}",
            "When a point has settled, and how much is averaged.",
        ),
        default(
            "ramp",
            of_dof(Kind::Velocity, Bounds::Positive),
            "\"20 mm/s\"",
            "How fast the amplitude of the target may change; never faster than within half a \
             period.",
        ),
        default(
            "delays",
            Shape::Table(&DELAYS),
            "{}",
            "How late the sensors are; the signals are brought to one instant.",
        ),
        optional(
            "shaker",
            Shape::Table(&SHAKER),
            "A virtual rig with force actuators under control, for the specimen with its `inside`. \
             Absent: the rig of [transfer_system], or the laboratory of [rig].",
        ),
    ],
);

static STEPS: Table = Table::plain(
    "Lengths of steps along a branch, in scaled unknowns.",
    &[
        default("first", STEP, "0.3", "Length of the first step."),
        default("least", STEP, "0.005", "A shorter step ends the trace."),
        default("most", STEP, "0.8", "Greatest length."),
        default(
            "turn",
            quantity(Kind::Angle, Bounds::Within(0.05, 1.5)),
            "\"30 deg\"",
            "A step that turns the branch by more is repeated shorter.",
        ),
    ],
);

static SCALE: Table = Table::plain(
    "By what the unknowns are divided.",
    &[
        optional("target", LENGTH, "The target. Absent: a tenth of its limit."),
        optional("frequency", HZ, "The frequency. Absent: an eighth of the band."),
    ],
);

static CONTROL: Table = Table::plain(
    "A force on the simulated part at the interface: k (x − ξ) + c d(x − ξ)/dt.",
    &[
        default(
            "stiffness",
            of_dof(Kind::Stiffness, Bounds::NotNegative),
            "\"20 kN/m\"",
            "Force per difference of both sides. Of the order of the stiffness at the interface; \
             more settles faster and amplifies noise.",
        ),
        default(
            "damping",
            of_dof(Kind::Damping, Bounds::NotNegative),
            "\"400 N s/m\"",
            "Force per rate of the difference.",
        ),
        default(
            "filter",
            quantity(Kind::Time, Bounds::Positive),
            "\"1 ms\"",
            "Time constant of the rate.",
        ),
    ],
);

static SETTLING: Table = Table::plain(
    "Every period gives an estimate of all coefficients. A point has settled when nothing moves any \
     more, or when what moves is noise.",
    &[
        optional(
            "tolerance",
            LENGTH,
            "Range of any coefficient over two spells that counts as none. Absent: half of the \
             trace's `tolerance`.",
        ),
        default("spell", Shape::Count { min: 2, max: 1000 }, "3", "Periods in a spell."),
        optional(
            "scatter",
            LENGTH,
            "Standard deviation of the mean that is asked for: more periods are averaged until it \
             is reached. Absent: the trace's `tolerance`.",
        ),
        default(
            "periods",
            Shape::Count { min: 2, max: 100_000 },
            "40",
            "Periods averaged at most, while both sides are brought together.",
        ),
        default(
            "refined",
            Shape::Count { min: 2, max: 100_000 },
            "400",
            "Periods averaged at most once a point is found, as long as `scatter` is not reached.",
        ),
        default(
            "longest",
            quantity(Kind::Time, Bounds::Positive),
            "\"20 s\"",
            "Time after which a point is taken as it is.",
        ),
    ],
);

static DELAYS: Table = Table::plain(
    "How late the sensors are.",
    &[
        default("displacement", TIME, "\"0 s\"", "Of the displacement."),
        optional("force", TIME, "Of the force. Absent: as [sensors] force_delay_samples says."),
        default("acceleration", TIME, "\"0 s\"", "Of the acceleration."),
    ],
);

static SHAKER: Table = Table::plain(
    "A force actuator at every interface DOF: τ df/dt = k (x* − x) + c d(x* − x)/dt − f. How well \
     it follows does not matter: the target is corrected.",
    &[
        required(
            "stiffness",
            of_dof(Kind::Stiffness, Bounds::Positive),
            "Force per difference between target and displacement: the gain of the controller times \
             that of the amplifier.",
        ),
        required(
            "damping",
            of_dof(Kind::Damping, Bounds::NotNegative),
            "Force per rate of that difference.",
        ),
        default(
            "lag",
            quantity(Kind::Time, Bounds::Positive),
            "\"1 ms\"",
            "Time constant τ of the amplifier.",
        ),
        optional(
            "preload",
            Shape::Either(&[
                Shape::Quantity(Kind::Force, Motion::Either, Bounds::Any),
                Shape::List(
                    &Shape::Quantity(Kind::Force, Motion::Either, Bounds::Any),
                    up_to(MOST_INTERFACE),
                ),
            ]),
            "A constant force of the actuator beside, which the load cell does not show.",
        ),
    ],
);
