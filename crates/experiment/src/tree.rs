//! The checked file: a tree of values in SI, each with its place.

use std::collections::BTreeMap;
use std::ops::Range;

/// A value and where it stands. A default stands where its table does.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub span: Range<usize>,
    pub origin: Origin,
    pub value: Value,
}

/// Whether a value was written or filled in from the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Given,
    Default,
}

/// A value of the shape that the grammar asks for.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    Word(&'static str),
    Count(u64),
    /// A number, ratio or quantity, in SI.
    Number(f64),
    /// A share of something the file does not know.
    Share(f64),
    /// A unit's factor to SI.
    Unit(f64),
    List(Vec<Node>),
    /// A square matrix, row by row, before its unit is applied.
    Rows {
        size: usize,
        entries: Vec<f64>,
    },
    Table(Branch),
}

/// The values of a table by key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Branch {
    pub span: Range<usize>,
    pub entries: BTreeMap<&'static str, Node>,
    /// Keys that are written but whose value was refused.
    pub refused: Vec<&'static str>,
}

/// Said when the grammar promises something that the tree does not hold.
const PROMISE: &str = "the walker lets nothing through that the grammar refuses";

impl Branch {
    pub(crate) fn node(&self, key: &str) -> Option<&Node> {
        self.entries.get(key)
    }

    /// The node of a key that was written, not filled in.
    pub(crate) fn given(&self, key: &str) -> Option<&Node> {
        self.node(key).filter(|node| node.origin == Origin::Given)
    }

    /// The key is written, be its value right or wrong, or has a default.
    pub(crate) fn mentions(&self, key: &str) -> bool {
        self.entries.contains_key(key) || self.refused.contains(&key)
    }

    pub(crate) fn table(&self, key: &str) -> Option<&Branch> {
        self.node(key)?.table()
    }

    pub(crate) fn list(&self, key: &str) -> Option<&[Node]> {
        self.node(key)?.list()
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.node(key)?.number()
    }

    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        self.node(key)?.count()
    }

    pub(crate) fn word(&self, key: &str) -> Option<&'static str> {
        match self.node(key)?.value {
            Value::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.node(key)?.text()
    }

    /// Tables of an array of tables; none if the key is absent.
    pub(crate) fn tables(&self, key: &str) -> impl Iterator<Item = &Branch> {
        self.list(key).unwrap_or_default().iter().filter_map(Node::table)
    }

    // The following are for keys that the grammar requires or gives a default,
    // in a tree without errors.

    pub(crate) fn must_table(&self, key: &str) -> &Branch {
        self.table(key).expect(PROMISE)
    }

    pub(crate) fn must_number(&self, key: &str) -> f64 {
        self.number(key).expect(PROMISE)
    }

    pub(crate) fn must_count(&self, key: &str) -> u64 {
        self.count(key).expect(PROMISE)
    }

    pub(crate) fn must_word(&self, key: &str) -> &'static str {
        self.word(key).expect(PROMISE)
    }

    pub(crate) fn must_text(&self, key: &str) -> &str {
        self.text(key).expect(PROMISE)
    }

    pub(crate) fn must_list(&self, key: &str) -> &[Node] {
        self.list(key).expect(PROMISE)
    }

    pub(crate) fn must_node(&self, key: &str) -> &Node {
        self.node(key).expect(PROMISE)
    }
}

impl Node {
    pub(crate) fn table(&self) -> Option<&Branch> {
        match &self.value {
            Value::Table(branch) => Some(branch),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(nodes) => Some(nodes),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn count(&self) -> Option<u64> {
        match self.value {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }

    pub(crate) fn number(&self) -> Option<f64> {
        match self.value {
            Value::Number(number) | Value::Unit(number) => Some(number),
            _ => None,
        }
    }

    /// The numbers of a list of numbers.
    pub(crate) fn numbers(&self) -> Option<Vec<f64>> {
        self.list()?.iter().map(Node::number).collect()
    }
}
