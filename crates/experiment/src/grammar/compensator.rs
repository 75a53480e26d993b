//! Grammar of the compensator.

use super::super::quantity::Kind;
use super::closed_loop::variant;
use super::{
    Bounds, Field, Length, Shape, Table, Variants, default, of_dof, optional, quantity, required,
    up_to, word,
};

static NUMBER: Shape = Shape::Number(Bounds::Any);
const POSITIVE: Shape = Shape::Number(Bounds::Positive);
/// From two to four factors: as many as the kind adapts.
const FACTORS: Length = Length { min: 2, max: 4 };

const GAIN: Field = default("gain", POSITIVE, "1", "Factor on the whole command.");

const DERIVATIVES: Field = default(
    "derivatives",
    Shape::Word(&[
        word("motion", "displacement, velocity and acceleration of the integrator"),
        word("differences", "backward differences of the displacement, as papers do"),
    ]),
    "\"motion\"",
    "Where derivatives of the desired motion come from.",
);

const FILTER: Field = default(
    "filter",
    quantity(Kind::Frequency, Bounds::Positive),
    "\"20 Hz\"",
    "Cut-off of the Butterworth filter of order 4 that the estimator sees command and \
     measurement through.",
);

const START_GAIN: Field = default("start_gain", POSITIVE, "1", "Factor on displacement at first.");

const fn start_delay(text: &'static str) -> Field {
    default(
        "start_delay",
        quantity(Kind::Time, Bounds::NotNegative),
        text,
        "The delay compensated at first; too short is safe, much too long is not.",
    )
}

const fn threshold(text: &'static str) -> Field {
    default(
        "threshold",
        of_dof(Kind::Length, Bounds::NotNegative),
        text,
        "Nothing is learnt while the filtered measurement is below this.",
    )
}

const fn lower(text: &'static str) -> Field {
    default(
        "lower",
        Shape::List(&NUMBER, FACTORS),
        text,
        "Least factors on displacement, velocity and so on, SI.",
    )
}

const fn upper(text: &'static str) -> Field {
    default(
        "upper",
        Shape::List(&NUMBER, FACTORS),
        text,
        "Greatest factors on displacement, velocity and so on, SI.",
    )
}

const NOISE: Field = default(
    "noise",
    of_dof(Kind::Length, Bounds::Positive),
    "\"20.25 um\"",
    "Root mean square of the filtered command about the fit; larger learns more slowly.",
);

pub(crate) static COMPENSATOR: Table = Table {
    doc: "What turns the desired motion into the command, so that the achieved motion follows. \
          One page for each kind is in `docs/compensators`.",
    fields: &[
        optional(
            "low_pass",
            quantity(Kind::Frequency, Bounds::Positive),
            "Cut-off of a Butterworth filter of order 2 on the command.",
        ),
        optional(
            "saturation",
            of_dof(Kind::Length, Bounds::Positive),
            "Largest command, either way; larger ones are cut off, without a trip.",
        ),
        optional(
            "rate",
            of_dof(Kind::Velocity, Bounds::Positive),
            "Largest rate of change of the command; faster ones are slowed, without a trip.",
        ),
    ],
    choices: &[],
    variants: Some(Variants {
        key: "kind",
        doc: "The kind of compensator.",
        absent: Some("adaptive_inverse"),
        of: &[
            variant("none", "the command is the desired motion", &[]),
            variant(
                "first_order",
                "a first-order lead with a gain",
                &[
                    GAIN,
                    required(
                        "lead",
                        quantity(Kind::Time, Bounds::NotNegative),
                        "The lead at low frequency, (α − 1) steps.",
                    ),
                ],
            ),
            variant(
                "inverse",
                "the inverse of a fitted model: a0 x + a1 ẋ + a2 ẍ + …",
                &[
                    required(
                        "coefficients",
                        Shape::List(&NUMBER, up_to(6)),
                        "a0, a1, … up to a5, in powers of seconds.",
                    ),
                    DERIVATIVES,
                ],
            ),
            variant(
                "forward_prediction",
                "polynomial extrapolation over the delay",
                &[
                    default("order", Shape::Count { min: 1, max: 4 }, "3", "Degree."),
                    required("delay", quantity(Kind::Time, Bounds::NotNegative), "How far ahead."),
                    GAIN,
                ],
            ),
            variant(
                "adaptive_model_based",
                "a first-order inverse, adapted by a gradient",
                &[
                    default(
                        "adaptation",
                        Shape::List(&POSITIVE_OR_ZERO, Length { min: 2, max: 2 }),
                        "[2.4e6, 1.1e5]",
                        "Gains Γ0, Γ1 of the adaptation; they hold in metres and seconds.",
                    ),
                    START_GAIN,
                    start_delay("\"10 ms\""),
                    lower("[0.5, 0]"),
                    upper("[1.5, 0.1]"),
                    threshold("\"0 mm\""),
                    FILTER,
                    DERIVATIVES,
                ],
            ),
            variant(
                "adaptive_inverse",
                "a third-order inverse, tracked by a Kalman filter",
                &[
                    START_GAIN,
                    start_delay("\"20 ms\""),
                    lower("[0.5, 0, 0, 0]"),
                    upper("[1.5, 0.1, 1e-3, 1e-5]"),
                    threshold("\"0.1 mm\""),
                    NOISE,
                    default(
                        "forgetting",
                        Shape::Number(Bounds::NotNegative),
                        "0.1",
                        "Random walk of the factors in one second, in parts of what is not known \
                         of them at the start; 0 never forgets.",
                    ),
                    default(
                        "latency",
                        Shape::Number(Bounds::Within(0.0, 1000.0)),
                        "0",
                        "Lead over the loop's own latency, in steps: half a step for a held force \
                         and one for each step it comes late.",
                    ),
                    FILTER,
                ],
            ),
            variant(
                "adaptive_time_series",
                "a second-order inverse, fitted over a moving window",
                &[
                    START_GAIN,
                    start_delay("\"10 ms\""),
                    lower("[0.5, 0, 0]"),
                    upper("[1.5, 0.1, 1e-3]"),
                    threshold("\"0.1 mm\""),
                    NOISE,
                    default(
                        "window",
                        quantity(Kind::Time, Bounds::Positive),
                        "\"1 s\"",
                        "Length of the window.",
                    ),
                    FILTER,
                ],
            ),
            variant(
                "pi_lead",
                "proportional and integral feedback behind a lead; the defaults are the baseline \
                 of the virtual benchmark",
                &[
                    default("proportional", NUMBER_CONST, "2", "Gain on the tracking error."),
                    default("integral", NUMBER_CONST, "95", "Gain on its integral, 1/s."),
                    default(
                        "lead_gain",
                        NUMBER_CONST,
                        "50.8316336",
                        "b of the lead (b s + p)/(s + p).",
                    ),
                    default("lead_pole", POSITIVE, "8570.39734", "p of the lead, 1/s."),
                ],
            ),
        ],
    }),
};

static POSITIVE_OR_ZERO: Shape = Shape::Number(Bounds::NotNegative);
const NUMBER_CONST: Shape = Shape::Number(Bounds::Any);
