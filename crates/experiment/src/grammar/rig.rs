//! Grammar of `[rig]`: a laboratory at the end of a wire.

use super::super::quantity::Kind;
use super::{Bounds, Shape, Table, default, optional, quantity, word};

pub(crate) static RIG: Table = Table::plain(
    "A laboratory in another process or on another machine, played by `twinrig rig` or by any target \
     that speaks the protocol of `docs/protocol.md`. `run` drives it if it has an `address`; \
     otherwise the rig is in the same process.",
    &[
        optional(
            "address",
            Shape::Text,
            "Where the laboratory listens: host and port, such as \"192.168.7.2:47071\".",
        ),
        default(
            "token",
            Shape::Text,
            "\"twinrig\"",
            "Up to 16 bytes that both sides must know, so that no loop drives the wrong bench. It is \
             part of the record.",
        ),
        default(
            "connect",
            quantity(Kind::Time, Bounds::Within(0.01, 3600.0)),
            "\"5 s\"",
            "Longest wait for the laboratory before the test.",
        ),
        default(
            "timeout",
            quantity(Kind::Time, Bounds::Within(0.02, 60.0)),
            "\"2 s\"",
            "In virtual time, where every tick waits for its answer: longest wait.",
        ),
        default(
            "bridge",
            Shape::Count { min: 0, max: 100_000 },
            "10",
            "Against the clock: most ticks in a row without an answer, or without a command on the \
             other side. One more trips the test.",
        ),
        default(
            "bridge_by",
            Shape::Word(&[
                word("hold", "the last measurement stands for the missing one"),
                word("line", "the straight line through the last two does"),
            ]),
            "\"hold\"",
            "What stands in for a measurement that is missing.",
        ),
        default(
            "watchdog",
            quantity(Kind::Time, Bounds::Within(0.001, 60.0)),
            "\"200 ms\"",
            "Of the laboratory: silence of the loop after which it takes the rig to safe by itself.",
        ),
    ],
);
