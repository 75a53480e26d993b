//! What a table of a file may hold: the description that the reader, the schema and the
//! documentation go by.

use crate::diagnostic::Diagnostic;
use crate::quantity::{Kind, Motion};
use crate::tree::Branch;

/// Looks at the keys of a table together, once each of them could be read.
pub type Check = fn(&Branch, &mut Vec<Diagnostic>);

/// A table of the file: its keys and how they go together.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// One sentence or a few.
    pub doc: &'static str,
    /// Keys that may always stand here.
    pub fields: &'static [Field],
    /// Groups of keys of which one is to be chosen.
    pub choices: &'static [Choice],
    /// Keys that depend on the value of one of them, `kind` or `method`.
    pub variants: Option<Variants>,
    /// What must hold between the keys.
    pub checks: &'static [Check],
}

/// A key with its value.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name in the file.
    pub key: &'static str,
    /// What its value looks like.
    pub shape: Shape,
    /// Whether it must be there.
    pub need: Need,
    /// What it means, a sentence or a few.
    pub doc: &'static str,
}

/// Must the key be there?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Yes.
    Required,
    /// No.
    Optional,
    /// Optional; when absent this TOML value takes its place.
    Default(&'static str),
}

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Any text that is not blank.
    Text,
    /// A whole number from `min` to `max`.
    Count {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
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
    /// One of many, called by its number from 1 or by its name.
    Reference(&'static Reference),
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

/// What numbers and names refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// One of them, with the article.
    pub one: &'static str,
    /// Several of them.
    pub many: &'static str,
    /// The highest number.
    pub highest: u64,
    /// A word that stands for what is none of them.
    pub or: Option<&'static str>,
}

/// Fewest and most entries of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// Fewest.
    pub min: usize,
    /// Most.
    pub max: usize,
}

/// A word and what it means.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    /// As it is written.
    pub word: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// Limits on a number, in SI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bounds {
    /// None.
    Any,
    /// Zero or more.
    NotNegative,
    /// More than zero.
    Positive,
    /// From the first to the second, both included.
    Within(f64, f64),
}

/// Alternatives of which some may or must be chosen, each known by its key.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// How many.
    pub count: Count,
    /// Of these.
    pub of: &'static [Alternative],
}

/// How many alternatives of a [`Choice`]: exactly, at most or at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// One.
    Exactly,
    /// One or none.
    AtMost,
    /// One or more.
    AtLeast,
}

/// An alternative, chosen by writing its `key`.
#[derive(Debug, Clone, Copy)]
pub struct Alternative {
    /// The key.
    pub key: &'static str,
    /// Keys that must then stand beside it.
    pub needs: &'static [&'static str],
    /// Keys that may stand beside this alternative and those that list them only.
    pub allows: &'static [&'static str],
}

/// Keys that depend on a word.
#[derive(Debug, Clone, Copy)]
pub struct Variants {
    /// The key that holds the word.
    pub key: &'static str,
    /// What the word chooses.
    pub doc: &'static str,
    /// The word that an absent key means; without one the key is required.
    pub absent: Option<&'static str>,
    /// The words with their keys.
    pub of: &'static [Variant],
}

/// The keys that go with one word.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// The word.
    pub word: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Its keys.
    pub fields: &'static [Field],
    /// Groups of them of which one is to be chosen.
    pub choices: &'static [Choice],
    /// What must hold between them.
    pub checks: &'static [Check],
}

impl Table {
    /// The same table, with something more that must hold between its keys.
    pub fn checked(self, check: Check) -> Self {
        Self { checks: [self.checks, &[check]].concat().leak(), ..self }
    }

    /// Every field that may stand here under some variant, with the words of
    /// the variants that have it (none for a common field).
    pub fn all_fields(&self) -> Vec<(&'static Field, Vec<&'static str>)> {
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
    /// Whether a number keeps to them.
    pub fn contain(self, value: f64) -> bool {
        match self {
            Self::Any => true,
            Self::NotNegative => value >= 0.0,
            Self::Positive => value > 0.0,
            Self::Within(least, most) => (least..=most).contains(&value),
        }
    }

    /// In words with this unit, to follow "must be"; `None` if there is no limit.
    pub fn describe(self, unit: &str) -> Option<String> {
        let space = if unit.is_empty() { "" } else { " " };
        Some(match self {
            Self::Any => return None,
            Self::NotNegative => "zero or more".into(),
            Self::Positive => "greater than zero".into(),
            Self::Within(least, most) => {
                format!("from {} to {}{space}{unit}", plain(least), plain(most))
            }
        })
    }
}

/// A number as one would write it: a row of zeros is a power of ten.
pub fn plain(number: f64) -> String {
    match number.abs() {
        size if size != 0.0 && !(1e-5..1e7).contains(&size) => format!("{number:e}"),
        _ => number.to_string(),
    }
}
