//! Grammar of `[sweep]`.

use super::{
    Bounds, Choice, Count, Field, Shape, Table, default, exactly, lone, optional, required, up_to,
    word,
};

/// Most variants of a sweep: a month on one core, and a table that fits in memory.
pub(crate) const MOST_VARIANTS: u64 = 1_000_000;

/// A value of the parameter: with the unit, or bare, as the parameter is written.
static VALUE: Shape = Shape::Either(&[Shape::Number(Bounds::Any), Shape::Text]);
const SPREAD: Shape = Shape::Either(&[Shape::Number(Bounds::Any), Shape::Text]);
const MIN: Field = optional("min", SPREAD, "No draw is below; what falls there is drawn again.");
const MAX: Field = optional("max", SPREAD, "No draw is above; what falls there is drawn again.");

pub(crate) static SWEEP: Table = Table::plain(
    "A study of many variants of this test, for `twinrig sweep`: what is uncertain, and how \
     often to draw. Every other command ignores it.",
    &[
        default(
            "runs",
            Shape::Count { min: 1, max: MOST_VARIANTS },
            "100",
            "How often the random parameters are drawn. Each draw runs once at every combination \
             of `values`.",
        ),
        default(
            "seed",
            Shape::Count { min: 0, max: i64::MAX as u64 },
            "1",
            "Seed of the draws. A draw depends on this seed, its number and its parameter's name \
             alone.",
        ),
        default(
            "sensor_noise",
            Shape::Word(&[
                word("fresh", "every draw has a seed of its own, so its own noise"),
                word("same", "every variant has the noise of the file's own seed"),
            ]),
            "\"fresh\"",
            "What the noise of the sensors does from variant to variant. The excitation stays \
             as it is either way.",
        ),
        default(
            "unstable_beyond",
            Shape::Number(Bounds::Within(1.0, 1e6)),
            "5",
            "A variant counts as unstable when its interface moves further than this many times \
             the reference's largest motion, or when a signal is no longer a number.",
        ),
        optional(
            "vary",
            Shape::List(&Shape::Table(&VARY), up_to(200)),
            "What varies, each as `[[sweep.vary]]`. Absent: the sensor noise alone.",
        ),
    ],
);

static VARY: Table = Table {
    doc: "One uncertain parameter and how it is distributed. Quantities carry units, as the \
          parameter does.",
    fields: &[
        required(
            "parameter",
            Shape::Text,
            "Any number of this file, by its path: `transfer_system.leakage`, \
             `partition.stiffness[1]`, `structure.stiffness.rows[1][1]`. Entries count from 1.",
        ),
        optional("normal", Shape::Table(&NORMAL), "The normal distribution."),
        optional("log_normal", Shape::Table(&LOG_NORMAL), "The log-normal distribution."),
        optional(
            "uniform",
            Shape::List(&VALUE, exactly(2)),
            "Anything between two ends, equally likely.",
        ),
        optional(
            "triangular",
            Shape::List(&VALUE, exactly(3)),
            "Lowest, most likely and highest value.",
        ),
        optional(
            "values",
            Shape::List(&VALUE, up_to(1000)),
            "A grid: every draw is run at every one of these.",
        ),
    ],
    choices: &[Choice {
        count: Count::Exactly,
        of: &[
            lone("normal"),
            lone("log_normal"),
            lone("uniform"),
            lone("triangular"),
            lone("values"),
        ],
    }],
    variants: None,
};

static NORMAL: Table = Table::plain(
    "The normal distribution.",
    &[
        required(
            "sd",
            SPREAD,
            "Standard deviation: a value, or a share of the mean such as `\"5 %\"`.",
        ),
        optional("mean", SPREAD, "Mean. Absent: what the file declares."),
        MIN,
        MAX,
    ],
);

static LOG_NORMAL: Table = Table::plain(
    "The log-normal distribution: the logarithm is normal, so the value stays positive.",
    &[
        required(
            "dispersion",
            Shape::Ratio(Bounds::Within(1e-6, 10.0)),
            "Standard deviation of the natural logarithm.",
        ),
        optional("median", SPREAD, "Median. Absent: what the file declares."),
        MIN,
        MAX,
    ],
);
