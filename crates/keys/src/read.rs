//! What a type says of itself so that the file can fill it.

use crate::describe::{Length, Shape, Table};
use crate::tree::{Branch, Node};

/// What a value of the file becomes.
pub trait Read: Sized {
    /// Whether the key may be absent.
    const OPTIONAL: bool = false;

    /// `None` if the tree does not hold it, whose maker has then reported why.
    fn read(node: &Node) -> Option<Self>;

    /// What its absence means, where it may be absent.
    fn absent() -> Option<Self> {
        None
    }
}

/// A type whose values can stand behind a key of class `C`.
#[diagnostic::on_unimplemented(
    message = "a key of class `{C}` cannot be held by `{Self}`",
    label = "this key",
    note = "a number says what it measures: #[key(length)], #[key(number)], #[key(count = 1..=9)]",
    note = "tables and words derive `Keys` and need no word"
)]
pub trait Is<C>: Read {
    /// How it is written, if one entry of it is written like `leaf`.
    fn shape(leaf: Shape, length: Option<Length>) -> Shape;
}

/// A table of the file.
#[diagnostic::on_unimplemented(message = "`{Self}` is no table: derive `Keys` for it")]
pub trait Keys: Sized {
    /// The description, with what the place says that `given` keys measure.
    fn table_of(given: Option<Shape>) -> Table;

    /// The value; `None` if a key was refused.
    fn read_table(branch: &Branch) -> Option<Self>;

    /// Whether one of the keys that choose it is written.
    fn is_chosen(_: &Branch) -> bool {
        true
    }

    /// The description of a table that needs nothing from its place.
    fn table() -> Table {
        Self::table_of(None)
    }
}
