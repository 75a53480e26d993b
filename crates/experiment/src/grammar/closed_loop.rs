//! Grammar of everything inside the loop: integrator, transfer system,
//! sensors, limits and record.

use super::super::quantity::{Kind, Motion};
use super::{
    Bounds, Choice, Count, Field, MOST_INTERFACE, Shape, Table, Variant, Variants, default, lone,
    of_dof, optional, quantity, required, up_to, word,
};

pub(super) const fn variant(
    word: &'static str,
    doc: &'static str,
    fields: &'static [Field],
) -> Variant {
    Variant { word, doc, fields, choices: &[] }
}

pub(crate) static INTEGRATOR: Table = Table {
    doc: "How the simulated part is advanced, and how often.",
    fields: &[
        optional("rate", quantity(Kind::Frequency, Bounds::Positive), "Steps per second."),
        optional("step", quantity(Kind::Time, Bounds::Positive), "Time from step to step."),
        default(
            "feedback",
            Shape::Word(&[
                word("held", "the measured force is held over the step, as real hardware does"),
                word(
                    "continuous",
                    "virtual rig and simulated part are integrated as one system; rehearsal only",
                ),
            ]),
            "\"held\"",
            "What the measured force does between two steps.",
        ),
    ],
    choices: &[Choice { count: Count::Exactly, of: &[lone("rate"), lone("step")] }],
    variants: Some(Variants {
        key: "method",
        doc: "The integration method.",
        absent: None,
        of: &[
            variant("rk4", "explicit Runge–Kutta of fourth order", &[]),
            variant(
                "exact",
                "exact for a linear structure, by the matrix exponential",
                &[default(
                    "hold",
                    Shape::Word(&[
                        word("zero", "the load is constant over the step"),
                        word("first", "the load is linear over the step"),
                    ]),
                    "\"zero\"",
                    "What the load is taken to do between two steps.",
                )],
            ),
            variant("newmark", "Newmark, average acceleration; implicit", &[ITERATIONS]),
            variant("implicit_euler", "backward Euler; implicit, damps strongly", &[ITERATIONS]),
            variant("cr", "Chen and Ricles; explicit, unconditionally stable", &[]),
            variant(
                "kr_alpha",
                "Kolay and Ricles; explicit, with adjustable numerical damping",
                &[default(
                    "spectral_radius",
                    Shape::Number(Bounds::Within(0.0, 1.0)),
                    "0.5",
                    "Spectral radius at high frequency: 1 damps nothing, 0 most.",
                )],
            ),
        ],
    }),
};

const ITERATIONS: Field = default(
    "iterations",
    Shape::Count { min: 1, max: 1000 },
    "20",
    "Most Newton iterations per step, where there are nonlinear elements.",
);

const DELAY: Field =
    optional("delay", quantity(Kind::Time, Bounds::NotNegative), "Pure delay of the motion.");
static COEFFICIENT: Shape = Shape::Number(Bounds::Any);

pub(crate) static TRANSFER_SYSTEM: Table = Table {
    doc: "Actuator and controller as a rehearsal plays them; one serves every interface DOF.",
    fields: &[
        optional(
            "saturation",
            of_dof(Kind::Length, Bounds::Positive),
            "Largest command the controller takes, either way.",
        ),
        optional(
            "quantum",
            of_dof(Kind::Length, Bounds::Positive),
            "Smallest step of the command (digital-to-analogue converter).",
        ),
        optional(
            "capacity",
            of_dof(Kind::Force, Bounds::Positive),
            "Largest force of the actuator.",
        ),
    ],
    choices: &[],
    variants: Some(Variants {
        key: "kind",
        doc: "The model of actuator and controller.",
        absent: None,
        of: &[
            variant("ideal", "the achieved motion is the command", &[]),
            Variant {
                word: "delay",
                doc: "the achieved motion is the command of some time ago",
                fields: &[
                    DELAY,
                    optional(
                        "samples",
                        Shape::Number(Bounds::NotNegative),
                        "The delay in steps of the integrator; may be fractional.",
                    ),
                ],
                choices: &[Choice { count: Count::Exactly, of: &[lone("delay"), lone("samples")] }],
            },
            variant(
                "transfer_function",
                "a linear system from command to achieved motion",
                &[
                    required(
                        "numerator",
                        Shape::List(&COEFFICIENT, up_to(32)),
                        "Coefficients in descending powers of s, SI.",
                    ),
                    required(
                        "denominator",
                        Shape::List(&COEFFICIENT, up_to(32)),
                        "Coefficients in descending powers of s, SI.",
                    ),
                    DELAY,
                ],
            ),
            variant(
                "servo_hydraulic",
                "a servo-hydraulic actuator that interacts with the specimen; the defaults are \
                 those of the virtual benchmark of Silva et al. 2020, in SI",
                &[
                    default("gain", POSITIVE, "1.0261", "Gain on the command."),
                    default("servo_gain", POSITIVE, "2.1283e13", "Gain of the servo valve, a1β0."),
                    default(
                        "velocity_feedback",
                        NOT_NEGATIVE,
                        "4.2297e6",
                        "Natural velocity feedback of the actuator, a2.",
                    ),
                    default("leakage", NOT_NEGATIVE, "3.3", "Leakage of the actuator, a3."),
                    default("servo_damping", POSITIVE, "425", "Coefficient β1 of the servo valve."),
                    default(
                        "servo_stiffness",
                        POSITIVE,
                        "9.9976e4",
                        "Coefficient β2 of the servo valve.",
                    ),
                    optional(
                        "change",
                        Shape::Table(&CHANGE),
                        "A rig that becomes another one during the rehearsal. Absent: it does not.",
                    ),
                ],
            ),
        ],
    }),
};

static CHANGE: Table = Table::plain(
    "What the rig becomes, its state carried over. Keys that are absent stay as they are.",
    &[
        required("at", quantity(Kind::Time, Bounds::Positive), "When."),
        optional(
            "specimen_stiffness",
            Shape::Ratio(Bounds::Within(0.0, 10.0)),
            "Stiffness of the specimen, as a share of what it was.",
        ),
        optional("gain", POSITIVE, "Gain on the command."),
        optional("servo_gain", POSITIVE, "Gain of the servo valve, a1β0."),
        optional("velocity_feedback", NOT_NEGATIVE, "Natural velocity feedback, a2."),
        optional("leakage", NOT_NEGATIVE, "Leakage of the actuator, a3."),
        optional("servo_damping", POSITIVE, "Coefficient β1 of the servo valve."),
        optional("servo_stiffness", POSITIVE, "Coefficient β2 of the servo valve."),
    ],
);

const POSITIVE: Shape = Shape::Number(Bounds::Positive);
const NOT_NEGATIVE: Shape = Shape::Number(Bounds::NotNegative);

/// One value for every interface DOF, or a list with one for each.
macro_rules! per_dof {
    ($kind:expr, $bounds:expr) => {
        Shape::Either(&[
            Shape::Quantity($kind, Motion::Either, $bounds),
            Shape::List(&Shape::Quantity($kind, Motion::Either, $bounds), up_to(MOST_INTERFACE)),
        ])
    };
}

pub(crate) static SENSORS: Table = Table::plain(
    "Imperfections of the sensors in a rehearsal. One value serves every interface DOF; a list \
     has one for each.",
    &[
        optional(
            "displacement_noise",
            per_dof!(Kind::Length, Bounds::NotNegative),
            "Root mean square of the noise on the measured displacement.",
        ),
        optional(
            "force_noise",
            per_dof!(Kind::Force, Bounds::NotNegative),
            "Root mean square of the noise on the measured force.",
        ),
        optional(
            "acceleration_noise",
            per_dof!(Kind::Acceleration, Bounds::NotNegative),
            "Root mean square of the noise on the measured acceleration, for [trace].",
        ),
        optional(
            "displacement_quantum",
            per_dof!(Kind::Length, Bounds::NotNegative),
            "Smallest step of the measured displacement.",
        ),
        optional(
            "force_quantum",
            per_dof!(Kind::Force, Bounds::NotNegative),
            "Smallest step of the measured force.",
        ),
        default(
            "force_delay_samples",
            Shape::Count { min: 0, max: 100_000 },
            "0",
            "Whole steps by which the measured force comes late; the benchmark has 1.",
        ),
    ],
);

pub(crate) static LIMITS: Table = Table::plain(
    "What the gate never lets through; passing one stops the test. One value serves every \
     interface DOF; a list has one for each.",
    &[
        optional(
            "command",
            per_dof!(Kind::Length, Bounds::Positive),
            "Largest command, either way.",
        ),
        optional(
            "rate",
            per_dof!(Kind::Velocity, Bounds::Positive),
            "Largest rate of change of the command.",
        ),
        optional("force", per_dof!(Kind::Force, Bounds::Positive), "Largest measured force."),
        optional(
            "tracking_error",
            per_dof!(Kind::Length, Bounds::Positive),
            "Largest difference between command and measured displacement.",
        ),
        default(
            "safe",
            Shape::Table(&SAFE),
            "{}",
            "The path to the safe state after a trip: hold, then ramp to zero.",
        ),
    ],
);

static SAFE: Table = Table::plain(
    "After a trip the command is held, then taken to zero.",
    &[
        default(
            "hold",
            quantity(Kind::Time, Bounds::NotNegative),
            "\"0.5 s\"",
            "How long the command is held.",
        ),
        default(
            "rate",
            of_dof(Kind::Velocity, Bounds::Positive),
            "\"10 mm/s\"",
            "How fast it then goes to zero.",
        ),
    ],
);

pub(crate) static RECORD: Table = Table::plain(
    "What is written down.",
    &[
        default(
            "every",
            Shape::Count { min: 1, max: 1_000_000 },
            "1",
            "Steps from one recorded frame to the next.",
        ),
        default(
            "flush",
            quantity(Kind::Time, Bounds::Within(0.001, 3600.0)),
            "\"1 s\"",
            "At most this much is lost in a crash.",
        ),
        default(
            "motion",
            Shape::Word(&[
                word("displacement", "displacements only"),
                word("full", "also velocity and acceleration of every recorded DOF"),
            ]),
            "\"displacement\"",
            "What is recorded of the motion.",
        ),
        default(
            "displacements",
            Shape::Word(&[
                word("all", "every DOF of the structure"),
                word("interface", "the interface only, for large structures"),
            ]),
            "\"all\"",
            "Which DOFs are recorded.",
        ),
        optional(
            "ring",
            Shape::Count { min: 16, max: 1 << 24 },
            "Frames the ring between loop and recorder holds. Absent: chosen from the rate.",
        ),
    ],
);
