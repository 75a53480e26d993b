//! From checked values to Rust types. `#[derive(Keys)]` implements these for tables and words.

use std::ops::{Deref, Range};

use crate::describe::{Length, Shape, Table};
use crate::key::{self, Declared, Real, Text, Whole};
use crate::read::{Is, Keys, Read};
use crate::tree::{Branch, Node, Origin, Value};

macro_rules! leaves {
    ($($class:ty, $type:ty: $value:pat => $read:expr;)*) => {$(
        impl Read for $type {
            fn read(node: &Node) -> Option<Self> {
                match &node.value { $value => $read, _ => None }
            }
        }
        impl Is<$class> for $type {
            fn shape(leaf: Shape, _: Option<Length>) -> Shape { leaf }
        }
    )*};
}

leaves! {
    Real, f64: Value::Number(number) | Value::Unit(number) => Some(*number);
    Whole, u64: Value::Count(count) => Some(*count);
    Whole, usize: Value::Count(count) => usize::try_from(*count).ok();
    Whole, u8: Value::Count(count) => u8::try_from(*count).ok();
    Text, String: Value::Text(text) | Value::File(text) => Some(text.clone());
}

/// A quantity, or a share of something that the file does not know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OrShare {
    /// In SI.
    Value(f64),
    /// 0 to 1.
    Share(f64),
}

impl Read for OrShare {
    fn read(node: &Node) -> Option<Self> {
        match node.value {
            Value::Number(number) => Some(Self::Value(number)),
            Value::Share(share) => Some(Self::Share(share)),
            _ => None,
        }
    }
}

impl Is<Real> for OrShare {
    fn shape(leaf: Shape, _: Option<Length>) -> Shape {
        match leaf {
            Shape::Quantity(kind, motion, limits) => Shape::QuantityOrShare(kind, motion, limits),
            other => other,
        }
    }
}

/// A square matrix of bare numbers, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Rows and columns.
    pub size: usize,
    /// `size * size` numbers.
    pub entries: Vec<f64>,
}

impl Read for Rows {
    fn read(node: &Node) -> Option<Self> {
        match &node.value {
            Value::Rows { size, entries } => Some(Self { size: *size, entries: entries.clone() }),
            _ => None,
        }
    }
}

impl Is<Declared> for Rows {
    fn shape(_: Shape, _: Option<Length>) -> Shape {
        Shape::Rows
    }
}

impl<T: Read> Read for Option<T> {
    const OPTIONAL: bool = true;

    fn read(node: &Node) -> Option<Self> {
        T::read(node).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<C, T: Is<C>> Is<C> for Option<T> {
    fn shape(leaf: Shape, length: Option<Length>) -> Shape {
        T::shape(leaf, length)
    }
}

/// Keys that may all be absent.
impl<T: Keys> Keys for Option<T> {
    fn table_of(given: Option<Shape>) -> Table {
        key::all_optional(&T::table_of(given))
    }

    fn read_table(branch: &Branch) -> Option<Self> {
        if T::is_chosen(branch) { T::read_table(branch).map(Some) } else { Some(None) }
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: &Node) -> Option<Self> {
        node.list()?.iter().map(T::read).collect()
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl<C, T: Is<C>> Is<C> for Vec<T> {
    fn shape(leaf: Shape, length: Option<Length>) -> Shape {
        list(T::shape(leaf, None), length.expect("a list says how many `entries` it may have"))
    }
}

impl<T: Read, const N: usize> Read for [T; N] {
    fn read(node: &Node) -> Option<Self> {
        Vec::read(node)?.try_into().ok()
    }
}

impl<C, T: Is<C>, const N: usize> Is<C> for [T; N] {
    fn shape(leaf: Shape, _: Option<Length>) -> Shape {
        list(T::shape(leaf, None), Length { min: N, max: N })
    }
}

/// One value for all of several, or one for each.
#[derive(Debug, Clone, PartialEq)]
pub enum OneOrEach<T = f64> {
    /// The same for all.
    All(T),
    /// One for each.
    Each(Vec<T>),
}

impl<T: Copy> OneOrEach<T> {
    /// The value for the one at `index`, from 0.
    pub fn get(&self, index: usize) -> Option<T> {
        match self {
            Self::All(value) => Some(*value),
            Self::Each(values) => values.get(index).copied(),
        }
    }

    /// One value for each of `count`.
    pub fn expand(&self, count: usize) -> Vec<T> {
        match self {
            Self::All(value) => vec![*value; count],
            Self::Each(values) => values.clone(),
        }
    }
}

impl<T: Read> Read for OneOrEach<T> {
    fn read(node: &Node) -> Option<Self> {
        match node.list() {
            Some(_) => Vec::read(node).map(Self::Each),
            None => T::read(node).map(Self::All),
        }
    }
}

impl<C, T: Is<C>> Is<C> for OneOrEach<T> {
    fn shape(leaf: Shape, length: Option<Length>) -> Shape {
        either([T::shape(leaf, None), Vec::<T>::shape(leaf, length)])
    }
}

/// A value and whether the file states it or it is a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stated<T> {
    /// The value.
    pub value: T,
    /// It is written in the file.
    pub stated: bool,
}

impl<T> Deref for Stated<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Read> Read for Stated<T> {
    fn read(node: &Node) -> Option<Self> {
        T::read(node).map(|value| Self { value, stated: node.origin == Origin::Given })
    }
}

impl<C, T: Is<C>> Is<C> for Stated<T> {
    fn shape(leaf: Shape, length: Option<Length>) -> Shape {
        T::shape(leaf, length)
    }
}

/// A value and its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Range<usize>,
}

impl<T> Deref for Placed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Read> Read for Placed<T> {
    fn read(node: &Node) -> Option<Self> {
        T::read(node).map(|value| Self { value, span: node.span.clone() })
    }
}

impl<C, T: Is<C>> Is<C> for Placed<T> {
    fn shape(leaf: Shape, length: Option<Length>) -> Shape {
        T::shape(leaf, length)
    }
}

/// A list of so many entries.
pub fn list(entry: Shape, length: Length) -> Shape {
    Shape::List(Box::leak(Box::new(entry)), length)
}

/// One of several shapes, told apart by the type of the value.
pub fn either<const N: usize>(shapes: [Shape; N]) -> Shape {
    Shape::Either(Box::leak(Box::new(shapes)))
}

/// A table.
pub fn nested<T: Keys>(given: Option<Shape>) -> Shape {
    Shape::Table(Box::leak(Box::new(T::table_of(given))))
}

/// The value of a key; used by derived code.
#[inline(never)]
pub fn key<T: Read>(branch: &Branch, key: &str) -> Option<T> {
    match branch.node(key) {
        Some(node) => T::read(node),
        None if branch.refused.contains(&key) => None,
        None => T::absent(),
    }
}
