//! Grammar of the slow main loop.

use super::super::quantity::Kind;
use super::closed_loop::variant;
use super::{
    Bounds, Choice, Count, Field, Shape, Table, Variants, default, lone, optional, quantity,
    required, word,
};

const ORDER: Field = default(
    "order",
    Shape::Count { min: 1, max: 5 },
    "3",
    "Degree of the polynomial; each further one doubles the amplification of noise.",
);

pub(crate) static MAIN_LOOP: Table = Table {
    doc: "The numerical part at a slower rate than the rig: a main loop that takes one step for \
          every `ratio` ticks of [integrator] `rate`, and predicts what the ticks between need. \
          See `docs/two-rates.md`.",
    fields: &[
        required(
            "ratio",
            Shape::Count { min: 1, max: 1000 },
            "Ticks per step of the main loop (execution ratio 1:R).",
        ),
        optional(
            "task_time",
            quantity(Kind::Time, Bounds::NotNegative),
            "Time the main loop has for a step, rounded up to whole ticks; one tick if neither \
             this nor `task_ticks` is given.",
        ),
        optional("task_ticks", Shape::Count { min: 0, max: 1000 }, "The same in ticks."),
        default(
            "predictor",
            Shape::Table(&PREDICTOR),
            "{ kind = \"hermite\" }",
            "How the points ahead are predicted.",
        ),
        default(
            "force",
            Shape::Word(&[
                word("all_samples", "every sample is integrated, straight from one to the next"),
                word("average", "one step with the mean of the samples, for costly models"),
                word("last", "one step with the sample at its start, held; half a period late"),
            ]),
            "\"all_samples\"",
            "What becomes of the force samples of a period.",
        ),
        optional(
            "lead",
            Shape::Word(&[
                word(
                    "half_sample",
                    "in the middle of its tick, which cancels the hold of the \
                                     command",
                ),
                word("none", "at the start of its tick"),
            ]),
            "The instant for which a point is predicted; if absent, \"half_sample\" before a rig \
             that holds its command over a tick, \"none\" before an ideal one or a pure delay.",
        ),
        optional(
            "bridge",
            Shape::Count { min: 0, max: 1000 },
            "Ticks in a row that may be bridged when a step is late, before the test trips; \
             `ratio` if absent.",
        ),
        optional(
            "step_time",
            Shape::Table(&STEP_TIME),
            "How long a step takes in a rehearsal; without it every step is in time.",
        ),
    ],
    choices: &[Choice { count: Count::AtMost, of: &[lone("task_time"), lone("task_ticks")] }],
    variants: None,
};

static PREDICTOR: Table = Table {
    doc: "How the motion ahead is predicted from what the main loop knows.",
    fields: &[],
    choices: &[],
    variants: Some(Variants {
        key: "kind",
        doc: "The kind of prediction.",
        absent: Some("hermite"),
        of: &[
            variant("hermite", "cubic through displacement and velocity of two instants", &[]),
            variant(
                "lagrange",
                "polynomial through the last displacements",
                &[
                    ORDER,
                    default(
                        "stages",
                        Shape::Word(&[
                            word("one", "task time and ticks in one prediction"),
                            word("two", "first over the task time, then over the ticks"),
                        ]),
                        "\"one\"",
                        "Whether the task time is bridged on its own.",
                    ),
                ],
            ),
            variant(
                "least_squares",
                "polynomial nearest to the last displacements",
                &[
                    ORDER,
                    default(
                        "points",
                        Shape::Count { min: 2, max: 16 },
                        "5",
                        "Displacements it is fitted to, more than the degree.",
                    ),
                ],
            ),
            variant(
                "predicted_acceleration",
                "acceleration that goes on changing at its last rate",
                &[],
            ),
            variant(
                "model_based",
                "the linear structure itself, specimen included, under the load ahead",
                &[],
            ),
            variant(
                "adaptive",
                "a recurrence learnt by recursive least squares",
                &[
                    default(
                        "taps",
                        Shape::Count { min: 2, max: 8 },
                        "4",
                        "Instants it looks back on: two for each vibration.",
                    ),
                    default(
                        "forgetting",
                        Shape::Number(Bounds::Within(0.9, 1.0)),
                        "0.999",
                        "Weight of the past, per step.",
                    ),
                ],
            ),
            variant(
                "combined",
                "one period late: interpolated once the next instant is known",
                &[ORDER],
            ),
        ],
    }),
};

static STEP_TIME: Table = Table::plain(
    "The time a step of the main loop takes in a rehearsal: `base`, `per_iteration` for each \
     iteration of an implicit method, and the size of a normal random number times `jitter`.",
    &[
        required("base", quantity(Kind::Time, Bounds::NotNegative), "Of every step."),
        default(
            "per_iteration",
            quantity(Kind::Time, Bounds::NotNegative),
            "\"0 s\"",
            "For each iteration, where there are nonlinear elements.",
        ),
        default(
            "jitter",
            quantity(Kind::Time, Bounds::NotNegative),
            "\"0 s\"",
            "Standard deviation of the random part.",
        ),
    ],
);
