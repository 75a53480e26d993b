//! Grammar of `[monitor]`: the indicators, their levels and what happens there.

use super::super::quantity::Kind;
use super::{Bounds, Choice, Count, Field, Shape, Table, default, lone, optional, quantity, word};

const WARN_DOC: &str = "Notes a warning when the indicator reaches this; the test goes on.";
const HOLD_DOC: &str = "Trips when the indicator reaches this: the command is held as `[limits] \
                        safe` says, then ramps to zero.";
const RAMP_DOC: &str = "Trips when the indicator reaches this: the command ramps to zero at once.";
const ABORT_DOC: &str = "Trips when the indicator reaches this: the test is over at once, and the \
                         command stays where it is.";

/// The four levels of an indicator as keys.
macro_rules! levels {
    ($shape:expr) => {
        [
            optional("warn_at", $shape, WARN_DOC),
            optional("hold_at", $shape, HOLD_DOC),
            optional("ramp_down_at", $shape, RAMP_DOC),
            optional("abort_at", $shape, ABORT_DOC),
        ]
    };
}

const PERCENT: Shape = Shape::Ratio(Bounds::Within(0.01, 10.0));
static WARNING_LEVELS: [Field; 4] = levels!(PERCENT);
const WINDOW: Shape = quantity(Kind::Time, Bounds::Within(0.001, 3600.0));

pub(crate) static MONITOR: Table = Table::plain(
    "What is watched while the test runs. The energies and the stability warning are always \
     computed; every other indicator only if its key is written, be it as `{}`.",
    &[
        default(
            "stability_warning",
            Shape::Table(&STABILITY_WARNING),
            "{}",
            "The stability warning: work put in by the specimen over energy taken out by damping.",
        ),
        default(
            "work",
            Shape::Word(&[
                word("exact", "exact for a force held over the step"),
                word("trapezoid", "by the trapezoidal rule, for comparison with publications"),
            ]),
            "\"exact\"",
            "How work is summed.",
        ),
        optional(
            "windowed_warning",
            Shape::Table(&WINDOWED_WARNING),
            "The stability warning of the recent past alone: it forgets.",
        ),
        optional(
            "energy_error",
            Shape::Table(&ENERGY_ERROR),
            "The energy error index: how far the energy balance is off at the measured motion.",
        ),
        optional(
            "forecast",
            Shape::Table(&FORECAST),
            "The time left until the stability warning reaches 100 %, if its trend holds.",
        ),
        optional(
            "tracking",
            Shape::Table(&TRACKING),
            "Amplitude and delay of the measured against the desired motion, in a moving window.",
        ),
        optional(
            "limits_used",
            Shape::Table(&LIMITS_USED),
            "The largest share of any limit in `[limits]` that is used.",
        ),
    ],
);

static STABILITY_WARNING: Table = Table {
    doc: "It is computed in every test; it stops one only if told to.",
    fields: &[
        optional(
            "stop_at",
            PERCENT,
            "Stops the test when the warning reaches this: another name for `hold_at`. Absent: \
             never.",
        ),
        optional("warn_at", PERCENT, WARN_DOC),
        optional("hold_at", PERCENT, HOLD_DOC),
        optional("ramp_down_at", PERCENT, RAMP_DOC),
        optional("abort_at", PERCENT, ABORT_DOC),
        optional(
            "constant",
            quantity(Kind::Energy, Bounds::Positive),
            "Added to the dissipated energy. Absent: 1 % of the expected peak input work.",
        ),
    ],
    choices: &[Choice { count: Count::AtMost, of: &[lone("stop_at"), lone("hold_at")] }],
    variants: None,
};

static WINDOWED_WARNING: Table = Table::plain(
    "Fed back over dissipated energy within the window. A test that has recovered reads as \
     recovered one window later.",
    &[
        default(
            "window",
            WINDOW,
            "\"5 s\"",
            "How far back it looks; 16 periods of the slowest motion or more.",
        ),
        optional("warn_at", PERCENT, WARN_DOC),
        optional("hold_at", PERCENT, HOLD_DOC),
        optional("ramp_down_at", PERCENT, RAMP_DOC),
        optional("abort_at", PERCENT, ABORT_DOC),
        optional(
            "constant",
            quantity(Kind::Energy, Bounds::Positive),
            "Added to the energy dissipated in the window. Absent: that of the stability warning.",
        ),
    ],
);

static ENERGY_ERROR: Table = Table {
    doc: "Levels of its size, whatever its sign.",
    fields: &WARNING_LEVELS,
    choices: &[],
    variants: None,
};

static LIMITS_USED: Table = Table {
    doc: "Levels of the largest share. At 100 % the gate trips by itself.",
    fields: &WARNING_LEVELS,
    choices: &[],
    variants: None,
};

const TIME_LEFT: Shape = quantity(Kind::Time, Bounds::NotNegative);

static FORECAST: Table = Table::plain(
    "The trend is that of the crests of fed back minus dissipated energy.",
    &[
        default(
            "window",
            WINDOW,
            "\"2 s\"",
            "How far back the trend looks; four periods of the slowest motion or more.",
        ),
        optional("warn_below", TIME_LEFT, "Notes a warning when less time than this is left."),
        optional(
            "hold_below",
            TIME_LEFT,
            "Trips when less time than this is left: hold, then ramp.",
        ),
        optional("ramp_down_below", TIME_LEFT, "Trips when less time than this is left: ramp."),
        optional("abort_below", TIME_LEFT, "Trips when less time than this is left: stop there."),
    ],
);

static TRACKING: Table = Table::plain(
    "Estimated sixteen times per window, where there is motion enough to tell.",
    &[
        default(
            "window",
            WINDOW,
            "\"1 s\"",
            "Length of the window; two periods of the slowest motion or more.",
        ),
        default("delay", Shape::Table(&TRACKING_DELAY), "{}", "Levels of the delay."),
        default("amplitude", Shape::Table(&TRACKING_AMPLITUDE), "{}", "Levels of the amplitude."),
    ],
);

static DELAY_LEVELS: [Field; 4] = levels!(quantity(Kind::Time, Bounds::Positive));

static TRACKING_DELAY: Table = Table {
    doc: "Levels of the size of the delay; a lead counts as well.",
    fields: &DELAY_LEVELS,
    choices: &[],
    variants: None,
};

static AMPLITUDE_LEVELS: [Field; 4] = levels!(Shape::Ratio(Bounds::Within(0.001, 10.0)));

static TRACKING_AMPLITUDE: Table = Table {
    doc: "Levels of how far the amplitude ratio is from 1, either way.",
    fields: &AMPLITUDE_LEVELS,
    choices: &[],
    variants: None,
};
