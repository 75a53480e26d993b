//! The checked file: a tree of values in SI, each with its place.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::diagnostic::{Diagnostic, Severity};

/// A value and where it stands. A default stands where its table does.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its place in the text.
    pub span: Range<usize>,
    /// Whether it is written there.
    pub origin: Origin,
    /// The value.
    pub value: Value,
}

/// Whether a value was written or filled in from the description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It is written.
    Given,
    /// It is a default.
    Default,
}

/// A value of the shape that the description asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text, or a name.
    Text(String),
    /// The name of a file.
    File(String),
    /// One of the words that fit.
    Word(&'static str),
    /// A whole number.
    Count(u64),
    /// A number, ratio or quantity, in SI.
    Number(f64),
    /// A share of something the file does not know.
    Share(f64),
    /// A unit's factor to SI.
    Unit(f64),
    /// The entries of a list.
    List(Vec<Node>),
    /// A square matrix, row by row, before its unit is applied.
    Rows {
        /// Rows and columns.
        size: usize,
        /// `size * size` numbers.
        entries: Vec<f64>,
    },
    /// A table.
    Table(Branch),
}

/// The values of a table by key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Branch {
    /// Its place in the text.
    pub span: Range<usize>,
    /// What it holds.
    pub entries: BTreeMap<&'static str, Node>,
    /// Keys that are written but whose value was refused.
    pub refused: Vec<&'static str>,
}

impl Branch {
    /// The node of a key, written or filled in.
    pub fn node(&self, key: &str) -> Option<&Node> {
        self.entries.get(key)
    }

    /// The node of a key that was written, not filled in.
    pub fn given(&self, key: &str) -> Option<&Node> {
        self.node(key).filter(|node| node.origin == Origin::Given)
    }

    /// The key is written, be its value right or wrong, or has a default.
    pub fn mentions(&self, key: &str) -> bool {
        self.entries.contains_key(key) || self.refused.contains(&key)
    }

    /// The table of a key.
    pub fn table(&self, key: &str) -> Option<&Branch> {
        self.node(key)?.table()
    }

    /// The entries of a key's list.
    pub fn list(&self, key: &str) -> Option<&[Node]> {
        self.node(key)?.list()
    }

    /// The number of a key.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.node(key)?.number()
    }

    /// The whole number of a key.
    pub fn count(&self, key: &str) -> Option<u64> {
        self.node(key)?.count()
    }

    /// The word of a key.
    pub fn word(&self, key: &str) -> Option<&'static str> {
        match self.node(key)?.value {
            Value::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The text of a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.node(key)?.text()
    }

    /// An error at a key, or at the whole table where it does not stand.
    pub fn error(&self, key: &str, message: impl Into<String>) -> Diagnostic {
        let place = self.node(key).map_or(&self.span, |node| &node.span);
        Diagnostic::error(message).at(place.clone())
    }

    /// A warning there.
    pub fn warning(&self, key: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..self.error(key, message) }
    }

    /// Tables of an array of tables; none if the key is absent.
    pub fn tables(&self, key: &str) -> impl Iterator<Item = &Branch> {
        self.list(key).unwrap_or_default().iter().filter_map(Node::table)
    }
}

impl Node {
    /// An error here.
    pub fn error(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(message).at(self.span.clone())
    }

    /// A warning here.
    pub fn warning(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::warning(message).at(self.span.clone())
    }

    /// The table, if it is one.
    pub fn table(&self) -> Option<&Branch> {
        match &self.value {
            Value::Table(branch) => Some(branch),
            _ => None,
        }
    }

    /// The entries, if it is a list.
    pub fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) | Value::File(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number, if it is one.
    pub fn count(&self) -> Option<u64> {
        match self.value {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }

    /// The number or factor, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self.value {
            Value::Number(number) | Value::Unit(number) => Some(number),
            _ => None,
        }
    }

    /// The numbers of a list of numbers.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.list()?.iter().map(Node::number).collect()
    }
}
