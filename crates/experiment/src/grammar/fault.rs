//! Grammar of `[[fault]]`: what goes wrong in a rehearsal, and when.

use super::super::quantity::Kind;
use super::{
    Bounds, Choice, Count, Field, MOST_INTERFACE, Shape, Table, Variant, Variants, default, lone,
    of_dof, optional, quantity, required, word,
};

/// Most faults of a test.
pub(crate) const MOST_FAULTS: usize = 64;

const fn variant(word: &'static str, doc: &'static str, fields: &'static [Field]) -> Variant {
    Variant { word, doc, fields, choices: &[] }
}

const PROBABILITY: Field =
    required("probability", Shape::Ratio(Bounds::Within(0.0, 1.0)), "How likely a sample is lost.");

pub(crate) static FAULT: Table = Table {
    doc: "A fault to rehearse, in front of the virtual rig. Random ones follow the seed of the file.",
    fields: &[
        default("at", quantity(Kind::Time, Bounds::NotNegative), "\"0 s\"", "When it begins."),
        optional("until", quantity(Kind::Time, Bounds::Positive), "When it ends. Absent: never."),
        optional("duration", quantity(Kind::Time, Bounds::Positive), "How long it lasts."),
        optional(
            "dof",
            Shape::Count { min: 1, max: MOST_INTERFACE as u64 },
            "The interface DOF it strikes, by its place in `interface`, from 1. Absent: all.",
        ),
    ],
    choices: &[Choice { count: Count::AtMost, of: &[lone("until"), lone("duration")] }],
    variants: Some(Variants {
        key: "kind",
        doc: "What goes wrong.",
        absent: None,
        of: &[
            variant(
                "delay",
                "every command arrives later",
                &[required("by", quantity(Kind::Time, Bounds::Positive), "How much later.")],
            ),
            variant(
                "delay_jitter",
                "every command arrives later by a time drawn anew for each",
                &[required("most", quantity(Kind::Time, Bounds::Positive), "The longest of them.")],
            ),
            variant(
                "dropped_commands",
                "commands are lost; the actuator keeps the one before",
                &[PROBABILITY],
            ),
            variant(
                "repeated_samples",
                "measurements are lost; the ones before are said again",
                &[PROBABILITY],
            ),
            variant(
                "sensor_nan",
                "sensors say what is not a number",
                &[default(
                    "sensor",
                    Shape::Word(&[
                        word("displacement", "the displacement sensor"),
                        word("force", "the load cell"),
                        word("both", "both"),
                    ]),
                    "\"both\"",
                    "Which sensor.",
                )],
            ),
            variant("frozen_displacement", "the displacement sensor says the same for ever", &[]),
            variant("stuck_actuator", "the actuator stays where it is", &[]),
            Variant {
                word: "saturated_actuator",
                doc: "the actuator goes no further or no faster than it can",
                fields: &[
                    optional(
                        "position",
                        of_dof(Kind::Length, Bounds::Positive),
                        "Largest displacement, either way.",
                    ),
                    optional("rate", of_dof(Kind::Velocity, Bounds::Positive), "Largest rate."),
                ],
                choices: &[Choice { count: Count::AtLeast, of: &[lone("position"), lone("rate")] }],
            },
            variant(
                "load_cell_drift",
                "the measured force drifts away",
                &[required(
                    "drift",
                    of_dof(Kind::Force, Bounds::Any),
                    "How far it drifts in every second.",
                )],
            ),
            variant("wrong_sign", "the measured force has the wrong sign", &[]),
            variant(
                "specimen_failure",
                "the specimen loses its strength",
                &[default(
                    "remaining",
                    Shape::Ratio(Bounds::Within(0.0, 1.0)),
                    "0.0",
                    "The share of its force that is left.",
                )],
            ),
        ],
    }),
};
