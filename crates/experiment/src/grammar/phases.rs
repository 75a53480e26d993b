//! Grammar of `[phases]`: what comes before and after the load.

use super::super::quantity::Kind;
use super::{Bounds, Shape, Table, default, optional, quantity, required};

const SPEED: Shape = quantity(Kind::Velocity, Bounds::Positive);
const NEAR: Shape = quantity(Kind::Length, Bounds::Positive);
const TIME: Shape = quantity(Kind::Time, Bounds::NotNegative);

pub(crate) static PHASES: Table = Table::plain(
    "What comes before and after the load. Without this section the load begins with the first \
     tick and the test ends with it. Times in [excitation] and `duration` count from the start of \
     the load, those in the record from the first tick; criteria count the time of the load alone. \
     See `docs/host-link.md`.",
    &[
        optional(
            "initiating",
            Shape::Table(&INITIATING),
            "The rig is fetched from where it stands to zero, and settles there.",
        ),
        optional(
            "completing",
            Shape::Table(&COMPLETING),
            "The structure rings down in the closed loop, then the command goes home to zero.",
        ),
    ],
);

static INITIATING: Table = Table::plain(
    "Before the load: the command begins where the rig stands and goes to zero, the numerical part \
     at rest. Takes reach / rate + settle, wherever the rig stands. A rig that stands further away \
     than `reach` trips the test before any command goes out.",
    &[
        required("rate", SPEED, "How fast the rig is fetched."),
        required("reach", NEAR, "How far from zero the rig may stand at the start."),
        default("settle", TIME, "\"1 s\"", "How long it then stands still before the load begins."),
        required(
            "within",
            NEAR,
            "How near to zero it must then stand, in the mean of the second half of `settle`; \
             else the test trips.",
        ),
        default(
            "stands_at",
            quantity(Kind::Length, Bounds::Any),
            "\"0 mm\"",
            "Where the virtual rig stands at the start of a rehearsal.",
        ),
    ],
);

static COMPLETING: Table = Table::plain(
    "After the load.",
    &[
        default(
            "ease",
            TIME,
            "\"0.1 s\"",
            "Time in which the last value of the load goes straight to zero.",
        ),
        required(
            "ring_down",
            quantity(Kind::Time, Bounds::Positive),
            "How long the loop stays closed after the load, at most.",
        ),
        optional(
            "at_rest",
            NEAR,
            "The ringing down ends earlier once desired and measured displacement stay this near \
             to zero.",
        ),
        default(
            "rest_for",
            quantity(Kind::Time, Bounds::Positive),
            "\"1 s\"",
            "For how long they must, with `at_rest`: longer than half a cycle of the slowest mode.",
        ),
        required("home_rate", SPEED, "How fast the command then goes to zero."),
    ],
);
