//! The grammar of the experiment file: the single source of truth.
//!
//! The walker checks files against it, the JSON Schema and the reference
//! documentation are generated from it, and defaults are written only here, so
//! the four cannot disagree.

pub(crate) mod closed_loop;
pub(crate) mod compensator;
pub(crate) mod excitation;
pub(crate) mod fault;
pub(crate) mod main_loop;
pub(crate) mod mesh;
pub(crate) mod phases;
pub(crate) mod realtime;
pub(crate) mod rig;
pub(crate) mod structure;
pub(crate) mod sweep;
pub(crate) mod trace;
pub(crate) mod watch;

use super::quantity::{Kind, Motion};

/// A table of the file: its keys and how they go together.
#[derive(Debug)]
pub(crate) struct Table {
    /// One sentence or a few.
    pub doc: &'static str,
    /// Keys that may always stand here.
    pub fields: &'static [Field],
    /// Groups of keys of which one is to be chosen.
    pub choices: &'static [Choice],
    /// Keys that depend on the value of one of them, `kind` or `method`.
    pub variants: Option<Variants>,
}

/// A key with its value.
#[derive(Debug)]
pub(crate) struct Field {
    pub key: &'static str,
    pub shape: Shape,
    pub need: Need,
    pub doc: &'static str,
}

/// Must the key be there?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
    /// Optional; when absent this TOML value takes its place.
    Default(&'static str),
}

/// What a value looks like.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Any text that is not blank.
    Text,
    /// A whole number from `min` to `max`.
    Count { min: u64, max: u64 },
    /// A bare number.
    Number(Bounds),
    /// A text with a number and a unit.
    Quantity(Kind, Motion, Bounds),
    /// A quantity, or a share such as "33 %" of the structure's own.
    QuantityOrShare(Kind, Motion, Bounds),
    /// `"3 %"` or `0.03`.
    Ratio(Bounds),
    /// A unit alone.
    Unit(Kind, Motion),
    /// One of a few words.
    Word(&'static [Word]),
    /// A degree of freedom: its number from 1 or its name.
    Dof,
    /// A degree of freedom or `"ground"`.
    Node,
    /// The name of a file with one of these extensions, or with any if none is listed.
    File(&'static [&'static str]),
    /// A list with a number of entries between the two.
    List(&'static Shape, Length),
    /// Rows of bare numbers, all of one length.
    Rows,
    /// A table.
    Table(&'static Table),
    /// One of several shapes, told apart by the type of the TOML value.
    Either(&'static [Shape]),
}

/// Fewest and most entries of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Length {
    pub min: usize,
    pub max: usize,
}

/// A word and what it means.
#[derive(Debug)]
pub(crate) struct Word {
    pub word: &'static str,
    pub doc: &'static str,
}

/// Limits on a number, in SI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bounds {
    Any,
    NotNegative,
    Positive,
    Within(f64, f64),
}

/// Alternatives of which some may or must be chosen, each known by its key.
#[derive(Debug)]
pub(crate) struct Choice {
    pub count: Count,
    pub of: &'static [Alternative],
}

/// How many alternatives of a [`Choice`]: exactly, at most or at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Exactly,
    AtMost,
    AtLeast,
}

/// An alternative, chosen by writing its `key`.
#[derive(Debug)]
pub(crate) struct Alternative {
    pub key: &'static str,
    /// Keys that must then stand beside it.
    pub needs: &'static [&'static str],
    /// Keys that may stand beside this alternative and those that list them only.
    pub allows: &'static [&'static str],
}

/// Keys that depend on a word.
#[derive(Debug)]
pub(crate) struct Variants {
    /// The key that holds the word.
    pub key: &'static str,
    /// What the word chooses.
    pub doc: &'static str,
    /// The word that an absent key means; without one the key is required.
    pub absent: Option<&'static str>,
    pub of: &'static [Variant],
}

/// The keys that go with one word.
#[derive(Debug)]
pub(crate) struct Variant {
    pub word: &'static str,
    pub doc: &'static str,
    pub fields: &'static [Field],
    pub choices: &'static [Choice],
}

/// Most degrees of freedom, storeys or elements of anything written in a file.
pub(crate) const MOST_DOFS: usize = 20_000;
/// Highest number of a degree of freedom: matrix files and meshes may be large.
pub(crate) const HIGHEST_DOF: u64 = 10_000_000;
/// Most interface degrees of freedom.
pub(crate) const MOST_INTERFACE: usize = 64;

pub(crate) const fn required(key: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field { key, shape, need: Need::Required, doc }
}

pub(crate) const fn optional(key: &'static str, shape: Shape, doc: &'static str) -> Field {
    Field { key, shape, need: Need::Optional, doc }
}

/// A field whose absence means the TOML value `default`.
pub(crate) const fn default(
    key: &'static str,
    shape: Shape,
    default: &'static str,
    doc: &'static str,
) -> Field {
    Field { key, shape, need: Need::Default(default), doc }
}

pub(crate) const fn word(word: &'static str, doc: &'static str) -> Word {
    Word { word, doc }
}

pub(crate) const fn lone(key: &'static str) -> Alternative {
    Alternative { key, needs: &[], allows: &[] }
}

pub(crate) const fn quantity(kind: Kind, bounds: Bounds) -> Shape {
    Shape::Quantity(kind, Motion::Translation, bounds)
}

/// A quantity of a degree of freedom, which may be a rotation.
pub(crate) const fn of_dof(kind: Kind, bounds: Bounds) -> Shape {
    Shape::Quantity(kind, Motion::Either, bounds)
}

/// From one to `max` entries.
pub(crate) const fn up_to(max: usize) -> Length {
    Length { min: 1, max }
}

pub(crate) const fn exactly(count: usize) -> Length {
    Length { min: count, max: count }
}

impl Table {
    /// A table of plain fields.
    pub(crate) const fn plain(doc: &'static str, fields: &'static [Field]) -> Self {
        Self { doc, fields, choices: &[], variants: None }
    }

    /// Every field that may stand here under some variant, with the words of
    /// the variants that have it (none for a common field).
    pub(crate) fn all_fields(&self) -> Vec<(&'static Field, Vec<&'static str>)> {
        let mut all: Vec<(&'static Field, Vec<&'static str>)> =
            self.fields.iter().map(|field| (field, Vec::new())).collect();
        for variant in self.variants.iter().flat_map(|variants| variants.of) {
            for field in variant.fields {
                match all.iter_mut().find(|(known, _)| known.key == field.key) {
                    Some((_, words)) => words.push(variant.word),
                    None => all.push((field, vec![variant.word])),
                }
            }
        }
        all
    }
}

impl Bounds {
    pub(crate) fn contain(self, value: f64) -> bool {
        match self {
            Self::Any => true,
            Self::NotNegative => value >= 0.0,
            Self::Positive => value > 0.0,
            Self::Within(least, most) => (least..=most).contains(&value),
        }
    }

    /// In words with this unit, to follow "must be"; `None` if there is no limit.
    pub(crate) fn describe(self, unit: &str) -> Option<String> {
        let space = if unit.is_empty() { "" } else { " " };
        Some(match self {
            Self::Any => return None,
            Self::NotNegative => "zero or more".into(),
            Self::Positive => "greater than zero".into(),
            Self::Within(least, most) => format!("from {least} to {most}{space}{unit}"),
        })
    }
}

static INCLUDED: Shape = Shape::File(&["toml"]);

/// The file as a whole.
pub(crate) static ROOT: Table = Table::plain(
    "An experiment: the structure, the part of it that stands in the laboratory, what shakes it, \
     and how the loop between them runs.",
    &[
        required("title", Shape::Text, "What the test is about, for people."),
        required("duration", quantity(Kind::Time, Bounds::Positive), "How long the test runs."),
        default(
            "seed",
            Shape::Count { min: 0, max: i64::MAX as u64 },
            "1",
            "Seed of every random stream; the same seed gives the same rehearsal.",
        ),
        optional(
            "include",
            Shape::List(&INCLUDED, up_to(super::include::MOST_FILES)),
            "Files whose keys stand as if they were written here, such as those that `twinrig \
             identify` writes; a key given twice is an error.",
        ),
        required(
            "structure",
            Shape::Table(&structure::STRUCTURE),
            "The whole structure, as if it were built.",
        ),
        optional(
            "reduction",
            Shape::Table(&mesh::REDUCTION),
            "How a large structure is made small enough for the loop.",
        ),
        required(
            "partition",
            Shape::Table(&structure::PARTITION),
            "What stands in the laboratory; the rest is simulated.",
        ),
        required("excitation", Shape::Table(&excitation::EXCITATION), "What shakes the structure."),
        required(
            "integrator",
            Shape::Table(&closed_loop::INTEGRATOR),
            "How the simulated part is advanced.",
        ),
        optional(
            "main_loop",
            Shape::Table(&main_loop::MAIN_LOOP),
            "A slower rate for the simulated part.",
        ),
        default(
            "transfer_system",
            Shape::Table(&closed_loop::TRANSFER_SYSTEM),
            "{ kind = \"ideal\" }",
            "Actuator and controller, for a rehearsal.",
        ),
        default(
            "sensors",
            Shape::Table(&closed_loop::SENSORS),
            "{}",
            "Imperfections of the sensors, for a rehearsal.",
        ),
        default(
            "compensator",
            Shape::Table(&compensator::COMPENSATOR),
            "{ kind = \"none\" }",
            "What turns the desired motion into the command. A table without `kind` means the \
             adaptive inverse; without the table there is none.",
        ),
        default(
            "monitor",
            Shape::Table(&watch::MONITOR),
            "{}",
            "What is watched while the test runs.",
        ),
        default(
            "limits",
            Shape::Table(&closed_loop::LIMITS),
            "{}",
            "What the gate never lets through.",
        ),
        default("record", Shape::Table(&closed_loop::RECORD), "{}", "What is written down."),
        default(
            "phases",
            Shape::Table(&phases::PHASES),
            "{}",
            "What comes before and after the load.",
        ),
        default(
            "realtime",
            Shape::Table(&realtime::REALTIME),
            "{}",
            "How the test runs against the clock.",
        ),
        default(
            "rig",
            Shape::Table(&rig::RIG),
            "{}",
            "A laboratory in another process or on another machine.",
        ),
        optional("sweep", Shape::Table(&sweep::SWEEP), "A study of many variants of this test."),
        optional(
            "trace",
            Shape::Table(&trace::TRACE),
            "A frequency response by iteration, where feedback cannot work.",
        ),
        optional(
            "fault",
            Shape::List(&Shape::Table(&fault::FAULT), up_to(fault::MOST_FAULTS)),
            "Faults to rehearse, each as `[[fault]]`.",
        ),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(table: &'static Table, path: &str, see: &mut impl FnMut(&str, &'static Table)) {
        see(path, table);
        for (field, _) in table.all_fields() {
            visit_shape(&field.shape, &format!("{path}.{}", field.key), see);
        }
    }

    fn visit_shape(shape: &'static Shape, path: &str, see: &mut impl FnMut(&str, &'static Table)) {
        match shape {
            Shape::Table(table) => visit(table, path, see),
            Shape::List(inner, _) => visit_shape(inner, path, see),
            Shape::Either(shapes) => shapes.iter().for_each(|shape| visit_shape(shape, path, see)),
            _ => {}
        }
    }

    #[test]
    fn a_key_has_one_shape_in_all_variants_of_a_table() {
        visit(&ROOT, "", &mut |path, table| {
            for variant in table.variants.iter().flat_map(|variants| variants.of) {
                for field in variant.fields {
                    let (first, _) = table
                        .all_fields()
                        .into_iter()
                        .find(|(other, _)| other.key == field.key)
                        .expect("listed");
                    assert_eq!(
                        format!("{:?}", first.shape),
                        format!("{:?}", field.shape),
                        "{path}.{}",
                        field.key
                    );
                }
            }
        });
    }

    #[test]
    fn alternatives_name_keys_that_exist_and_are_not_required_alone() {
        visit(&ROOT, "", &mut |path, table| {
            let variants = table.variants.iter().flat_map(|variants| variants.of);
            let choices = table.choices.iter().chain(variants.flat_map(|variant| variant.choices));
            for alternative in choices.flat_map(|choice| choice.of) {
                let keys = alternative.needs.iter().chain(alternative.allows);
                for key in keys.chain([&alternative.key]) {
                    let field = table.all_fields().into_iter().find(|(field, _)| field.key == *key);
                    let (field, _) = field.unwrap_or_else(|| panic!("{path}.{key} is unknown"));
                    assert_ne!(field.need, Need::Required, "{path}.{key}");
                }
            }
        });
    }

    #[test]
    fn an_absent_word_is_one_of_the_words() {
        visit(&ROOT, "", &mut |path, table| {
            let variants = table.variants.iter();
            for (word, of) in variants.filter_map(|variants| Some((variants.absent?, variants.of)))
            {
                assert!(of.iter().any(|variant| variant.word == word), "{path}: {word}");
            }
        });
    }

    #[test]
    fn every_key_is_documented_with_a_sentence() {
        visit(&ROOT, "", &mut |path, table| {
            for (field, _) in table.all_fields() {
                assert!(field.doc.ends_with('.'), "{path}.{}", field.key);
                assert!(field.key.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
            }
        });
    }
}
