//! The declarations as reference documentation.

use std::fmt::Write as _;

use keys::describe::{Choice, Count, Field, Need, Shape, Table};

use super::ROOT;
use super::leaf::noun;
use keys::quantity::Kind;

/// A complete experiment, which the reference shows and the tests read.
pub const EXAMPLE: &str = include_str!("example.toml");

/// The reference of the experiment file, `docs/experiment-file.md`.
pub fn reference_markdown() -> String {
    let mut out = String::new();
    out.push_str(INTRODUCTION);
    let _ = write!(out, "\n## A complete example\n\n```toml\n{}```\n", EXAMPLE);
    out.push_str("\n## The top of the file\n");
    table(&mut out, &ROOT, "");
    for field in ROOT.fields {
        match &field.shape {
            Shape::Table(inner) => section(&mut out, inner, field.key, Heading::Section),
            Shape::List(Shape::Table(inner), _) => {
                section(&mut out, inner, field.key, Heading::RepeatedSection);
            }
            _ => {}
        }
    }
    units(&mut out);
    out
}

const INTRODUCTION: &str = "\
# The experiment file

<!-- Generated from the declarations of the tables by `reference_markdown()`; do not edit. \
A test compares this file with them. -->

An experiment is one TOML file. `twinrig check FILE` reads it and reports every \
problem together, each with its line and what to change.

A **quantity** is a text with a number and a unit: `\"12 ms\"`, `\"1.19 MN/m\"`, \
`\"114.6 N s/m\"`. A bare number in its place is an error, so that no unit is ever \
guessed. Units are joined by a space, `*` or `·`, divided by `/`, raised by `^2` or `²`; \
`1/s` and `N/(m s)` are understood, `N/m s` is refused because it can be read in two ways. \
Prefixes: p, n, u (µ), m, c, d, k, M, G, T. The letter `g` is a gram in a mass and \
9.80665 m/s² in an acceleration. A frequency in `rad/s` is converted to hertz. A **ratio** \
is `\"3 %\"` or `0.03`. Entries of matrices are bare numbers with one `unit` for the whole \
matrix.

Degrees of freedom (**DOFs**) count from 1, or carry the names given in `structure.names`. \
Quantities of a rotational DOF take moment units: `N m`, `N m/rad`, `kg m^2`, `rad`.

File names are relative to the folder of the experiment file.
";

/// How a table is introduced.
enum Heading {
    Section,
    RepeatedSection,
    Nested,
    Repeated,
}

fn section(out: &mut String, inner: &'static Table, path: &str, heading: Heading) {
    let _ = match heading {
        Heading::Section => writeln!(out, "\n## `[{path}]`"),
        Heading::RepeatedSection => writeln!(out, "\n## `[[{path}]]`"),
        Heading::Nested => writeln!(out, "\n### `{path}`"),
        Heading::Repeated => writeln!(out, "\n### `[[{path}]]`"),
    };
    let _ = writeln!(out, "\n{}", inner.doc);
    table(out, inner, path);
    for (field, _) in inner.all_fields() {
        nested(out, &field.shape, &format!("{path}.{}", field.key));
    }
}

/// Sections for the tables inside a shape.
fn nested(out: &mut String, shape: &'static Shape, path: &str) {
    match shape {
        Shape::Table(inner) => section(out, inner, path, Heading::Nested),
        Shape::List(Shape::Table(inner), _) => section(out, inner, path, Heading::Repeated),
        Shape::List(Shape::Either(shapes), _) | Shape::Either(shapes) => {
            shapes.iter().for_each(|shape| nested(out, shape, path));
        }
        _ => {}
    }
}

fn table(out: &mut String, table: &'static Table, path: &str) {
    for one in table.choices {
        choice(out, one);
    }
    rows(out, table.fields, path);
    let Some(variants) = &table.variants else { return };
    let _ = match variants.absent {
        None => writeln!(out, "\n`{}` is required. {}", variants.key, variants.doc),
        Some(word) => {
            writeln!(out, "\n`{}` is `\"{word}\"` where absent. {}", variants.key, variants.doc)
        }
    };
    for variant in variants.of {
        let _ = writeln!(out, "\n`{} = \"{}\"`: {}.", variants.key, variant.word, variant.doc);
        for one in variant.choices {
            choice(out, one);
        }
        rows(out, variant.fields, path);
    }
}

fn choice(out: &mut String, choice: &Choice) {
    let ways: Vec<String> = choice
        .of
        .iter()
        .map(|alternative| {
            let needs: Vec<String> =
                alternative.needs.iter().map(|key| format!("`{key}`")).collect();
            match needs.as_slice() {
                [] => format!("`{}`", alternative.key),
                needs => format!("`{}` (with {})", alternative.key, needs.join(", ")),
            }
        })
        .collect();
    let count = match choice.count {
        Count::Exactly => "Exactly one of",
        Count::AtMost => "At most one of",
        Count::AtLeast => "At least one of",
    };
    let _ = write!(out, "\n{count} {}.", ways.join(", "));
    for alternative in choice.of.iter().filter(|alternative| !alternative.allows.is_empty()) {
        let allows: Vec<String> = alternative.allows.iter().map(|key| format!("`{key}`")).collect();
        let _ = write!(out, " Only with `{}`: {}.", alternative.key, allows.join(", "));
    }
    out.push('\n');
}

fn rows(out: &mut String, fields: &'static [Field], path: &str) {
    if fields.is_empty() {
        return;
    }
    out.push_str("\n| key | value | | meaning |\n|---|---|---|---|\n");
    for field in fields {
        let need = match field.need {
            Need::Required => "required".to_owned(),
            Need::Optional => "optional".to_owned(),
            Need::Default("{}") => "optional".to_owned(),
            Need::Default(text) => format!("default `{text}`"),
        };
        let path =
            if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
        let value = describe(&field.shape, &path);
        let words = meanings(&field.shape);
        let _ = writeln!(out, "| `{}` | {value} | {need} | {}{words} |", field.key, field.doc);
    }
}

fn describe(shape: &'static Shape, path: &str) -> String {
    match shape {
        Shape::Quantity(kind, _, bounds) => {
            limited(quantity(*kind), bounds.describe(kind.si_unit()))
        }
        Shape::QuantityOrShare(kind, _, bounds) => limited(
            format!("{}, or a share such as `\"33 %\"`", quantity(*kind)),
            bounds.describe(""),
        ),
        Shape::Ratio(bounds) => limited("a ratio, `\"3 %\"` or `0.03`".into(), bounds.describe("")),
        Shape::Number(bounds) => limited("a bare number".into(), bounds.describe("")),
        Shape::Count { min, max } if *max > 1 << 53 => format!("a whole number, {min} or more"),
        Shape::Count { min, max } => format!("a whole number from {min} to {max}"),
        Shape::Word(words) => {
            let words: Vec<String> = words.iter().map(|w| format!("`\"{}\"`", w.word)).collect();
            words.join(", ")
        }
        Shape::Unit(kind, _) => format!("a unit, `\"{}\"`", kind.si_unit()),
        Shape::List(Shape::Table(_), _) => format!("tables `[[{path}]]`"),
        Shape::List(entry, length) if length.min == length.max => {
            format!("list of {}: {}", length.min, describe(entry, path))
        }
        Shape::List(entry, _) => format!("list, each {}", describe(entry, path)),
        Shape::Table(_) => format!("table `{path}`"),
        Shape::Either(shapes) => {
            let shapes: Vec<String> = shapes.iter().map(|shape| describe(shape, path)).collect();
            shapes.join("; or ")
        }
        other => noun(other),
    }
}

fn quantity(kind: Kind) -> String {
    format!("{}, `\"{}\"`", kind.noun(), kind.example())
}

fn limited(text: String, limits: Option<String>) -> String {
    match limits {
        Some(limits) => format!("{text}, {limits}"),
        None => text,
    }
}

/// What the words of a shape mean, one after another.
fn meanings(shape: &Shape) -> String {
    let Shape::Word(words) = shape else { return String::new() };
    words.iter().fold(String::new(), |mut text, word| {
        let _ = write!(text, " `{}`: {}.", word.word, word.doc);
        text
    })
}

fn units(out: &mut String) {
    out.push_str("\n## Units\n\n| quantity | example | units | inside |\n|---|---|---|---|\n");
    for &kind in Kind::ALL {
        let noun = kind.noun().split_once(' ').map_or(kind.noun(), |(_, noun)| noun);
        let inside = if kind.si_unit().is_empty() { "1" } else { kind.si_unit() };
        let _ =
            writeln!(out, "| {noun} | `\"{}\"` | {} | {inside} |", kind.example(), kind.units());
    }
    out.push_str("\nAlso understood: J, W, Nm, Ns and every product of units that fits.\n");
}
