//! The numbers of a file by their paths: what can be varied, and in which unit.

use super::super::ROOT;
use super::super::diagnostic::{Diagnostic, shorten};
use super::super::spelling::{listed, nearest};
use keys::describe::{Field, Shape, Table};
use keys::quantity::{Kind, Motion};
use keys::tree::{Branch, Node, Value};

/// A number of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Its path, entries counted from 1.
    pub path: String,
    /// How it is written.
    pub measure: Measure,
    /// What the file says, in SI; `None` where it says nothing and there is no default.
    pub declared: Option<f64>,
    /// The way to it, entries counted from 0.
    pub steps: Vec<Step>,
}

/// How a number is written in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// A bare number.
    Number,
    /// A bare whole number.
    Whole,
    /// A ratio: bare, or with a per cent sign.
    Ratio,
    /// A text with a unit.
    Quantity(Kind, Motion),
}

impl Measure {
    /// The unit of its values, empty for pure numbers.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Quantity(kind, _) => kind.si_unit(),
            _ => "",
        }
    }

    /// A value in SI as TOML. The shortest text that reads back to the same number.
    pub fn toml(self, value: f64) -> String {
        match self {
            Self::Number | Self::Ratio => format!("{value:?}"),
            // A cast saturates; what is then out of bounds is refused by the reader.
            Self::Whole => format!("{}", value.round() as i64),
            // A share is told from a quantity by its sign.
            Self::Quantity(Kind::Ratio, _) => format!("\"{:?} %\"", 100.0 * value),
            Self::Quantity(kind, _) => format!("\"{value:?} {}\"", kind.si_unit()),
        }
    }
}

/// One step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A key of a table.
    Key(String),
    /// From 0.
    Entry(usize),
}

/// Paths listed in a remedy.
const LISTED: usize = 14;
/// Paths looked through for a similar one; a matrix may have millions.
const SEARCHED: usize = 200;
/// Longest path that is looked at.
const LONGEST: usize = 200;

/// Finds the number at `path`. The error has no place yet.
pub(crate) fn find(root: &Branch, path: &str) -> Result<Target, Diagnostic> {
    let Some(steps) = parse(path) else {
        let message = format!("\"{}\" is not a path of this file", shorten(path));
        let remedy = "write it like `transfer_system.leakage` or `partition.stiffness[1]`; \
                      entries count from 1";
        return Err(Diagnostic::error(message).remedy(remedy));
    };
    let mut here = Place::Table(&ROOT, root);
    for (done, step) in steps.iter().enumerate() {
        here = here.next(step).map_err(|problem| complain(root, path, &steps[..done], problem))?;
    }
    let (measure, declared) = here
        .number()
        .ok_or_else(|| complain(root, path, &steps, Problem::NotANumber(here.noun())))?;
    Ok(Target { path: path.trim().to_owned(), measure, declared, steps })
}

/// `a.b[2][3]` as steps; `None` if it is something else.
pub(crate) fn parse(path: &str) -> Option<Vec<Step>> {
    let path = path.trim();
    if path.len() > LONGEST {
        return None;
    }
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if key.is_empty() || !key.chars().all(plain) {
            return None;
        }
        steps.push(Step::Key(key.to_owned()));
        while let Some(inner) = rest.strip_prefix('[') {
            let (number, after) = inner.split_once(']')?;
            steps.push(Step::Entry(number.trim().parse::<usize>().ok()?.checked_sub(1)?));
            rest = after;
        }
        if !rest.is_empty() {
            return None;
        }
    }
    Some(steps)
}

/// Where a path has led to.
pub(crate) enum Place<'a> {
    Table(&'static Table, &'a Branch),
    Value(&'static Shape, Option<&'a Node>),
    Row(&'a [f64]),
    Cell(f64),
}

/// Why a path leads no further.
enum Problem {
    Unknown,
    NotInFile,
    NoSuchEntry { count: usize },
    NoList,
    NotANumber(&'static str),
}

impl<'a> Place<'a> {
    /// The value behind these keys of the whole file.
    pub(crate) fn of(root: &'a Branch, keys: &[&str]) -> Option<Self> {
        keys.iter().try_fold(Self::Table(&ROOT, root), |place, key| {
            place.next(&Step::Key((*key).to_owned())).ok()
        })
    }

    /// Shows every value of the file from here on with its shape.
    pub(crate) fn each(&self, see: &mut impl FnMut(&Shape, &Node)) {
        if let Self::Value(shape, Some(node)) = self {
            see(shape, node);
        }
        let below = self.steps(usize::MAX).into_iter().filter_map(|step| self.next(&step).ok());
        below.for_each(|place| place.each(see));
    }

    /// The steps to what the file holds here, of long lists the first `most`.
    fn steps(&self, most: usize) -> Vec<Step> {
        let count = match self {
            Self::Table(table, branch) => {
                let written = fields(table, branch).filter(|f| branch.node(f.key).is_some());
                return written.map(|field| Step::Key(field.key.to_owned())).collect();
            }
            Self::Value(_, Some(Node { value: Value::List(entries), .. })) => entries.len(),
            Self::Value(_, Some(Node { value: Value::Rows { size, .. }, .. })) => *size,
            Self::Row(row) => row.len(),
            Self::Value(..) | Self::Cell(_) => 0,
        };
        (0..count.min(most)).map(Step::Entry).collect()
    }

    fn next(&self, step: &Step) -> Result<Self, Problem> {
        match (self, step) {
            (Self::Table(table, branch), Step::Key(key)) => {
                let known = fields(table, branch).find(|field| field.key == key);
                let field = known.ok_or(Problem::Unknown)?;
                let node = branch.node(key);
                Ok(match (resolved(&field.shape, node), node.map(|node| &node.value)) {
                    (Shape::Table(table), Some(Value::Table(branch))) => Self::Table(table, branch),
                    (Shape::Table(_), _) => return Err(Problem::NotInFile),
                    (shape, _) => Self::Value(shape, node),
                })
            }
            (Self::Value(Shape::List(entry, _), Some(node)), Step::Entry(index)) => {
                let entries = node.list().ok_or(Problem::NoList)?;
                let count = entries.len();
                let node = entries.get(*index).ok_or(Problem::NoSuchEntry { count })?;
                Ok(match (resolved(entry, Some(node)), &node.value) {
                    (Shape::Table(table), Value::Table(branch)) => Self::Table(table, branch),
                    (shape, _) => Self::Value(shape, Some(node)),
                })
            }
            (Self::Value(Shape::Rows, Some(node)), Step::Entry(index)) => {
                let Value::Rows { size, entries } = &node.value else {
                    return Err(Problem::NoList);
                };
                let row = entries.chunks(*size).nth(*index);
                row.map(Self::Row).ok_or(Problem::NoSuchEntry { count: *size })
            }
            (Self::Row(row), Step::Entry(index)) => {
                let cell = row.get(*index).ok_or(Problem::NoSuchEntry { count: row.len() })?;
                Ok(Self::Cell(*cell))
            }
            (_, Step::Entry(_)) => Err(Problem::NoList),
            (_, Step::Key(_)) => Err(Problem::Unknown),
        }
    }

    /// How the number here is written and what it is, if it is one.
    fn number(&self) -> Option<(Measure, Option<f64>)> {
        match self {
            Self::Cell(value) => Some((Measure::Number, Some(*value))),
            Self::Value(shape, node) => {
                let value = node.map(|node| &node.value);
                let declared = match value {
                    Some(Value::Number(value) | Value::Share(value)) => Some(*value),
                    Some(Value::Count(count)) => Some(*count as f64),
                    _ => None,
                };
                let measure = match (shape, value) {
                    (Shape::Number(_), _) => Measure::Number,
                    (Shape::Count { .. }, _) => Measure::Whole,
                    (Shape::Ratio(_), _) => Measure::Ratio,
                    (Shape::QuantityOrShare(..), Some(Value::Share(_))) => {
                        Measure::Quantity(Kind::Ratio, Motion::Translation)
                    }
                    (
                        Shape::Quantity(kind, motion, _) | Shape::QuantityOrShare(kind, motion, _),
                        _,
                    ) => Measure::Quantity(*kind, *motion),
                    _ => return None,
                };
                Some((measure, declared))
            }
            Self::Table(..) | Self::Row(_) => None,
        }
    }

    fn noun(&self) -> &'static str {
        match self {
            Self::Table(..) => "a table",
            Self::Row(_) | Self::Value(Shape::List(..) | Shape::Rows, _) => "a list",
            _ => "not a number",
        }
    }
}

/// The fields of a table, as far as its chosen kind has them.
fn fields(table: &'static Table, branch: &Branch) -> impl Iterator<Item = &'static Field> {
    let variants = table.variants.as_ref();
    let word = variants.and_then(|variants| branch.word(variants.key));
    let variant = variants
        .into_iter()
        .flat_map(|variants| variants.of)
        .filter(move |variant| Some(variant.word) == word);
    table.fields.iter().chain(variant.flat_map(|variant| variant.fields))
}

/// Of alternatives, the one the value has taken, or the first that is a number.
fn resolved(shape: &'static Shape, node: Option<&Node>) -> &'static Shape {
    let Shape::Either(shapes) = shape else { return shape };
    let fits = |shape: &&'static Shape| match node.map(|node| &node.value) {
        Some(value) => admits(shape, value),
        None => admits(shape, &Value::Number(0.0)),
    };
    match shapes.iter().find(fits) {
        Some(inner) => resolved(inner, node),
        None => shape,
    }
}

fn admits(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (Shape::Either(shapes), value) => shapes.iter().any(|shape| admits(shape, value)),
        (Shape::Table(_), Value::Table(_))
        | (Shape::List(..), Value::List(_))
        | (Shape::Rows, Value::Rows { .. })
        | (Shape::Count { .. }, Value::Count(_))
        | (Shape::QuantityOrShare(..), Value::Share(_)) => true,
        (
            Shape::Number(_) | Shape::Ratio(_) | Shape::Quantity(..) | Shape::QuantityOrShare(..),
            Value::Number(_),
        ) => true,
        _ => false,
    }
}

/// Every number that the file holds, written or by default, up to a limit.
pub(crate) fn all(root: &Branch) -> Vec<Target> {
    let mut targets = Vec::new();
    collect(&Place::Table(&ROOT, root), &mut Vec::new(), &mut targets);
    targets
}

fn collect(place: &Place<'_>, steps: &mut Vec<Step>, targets: &mut Vec<Target>) {
    if targets.len() >= SEARCHED {
        return;
    }
    if let Some((measure, declared @ Some(_))) = place.number() {
        let path = spelt(steps);
        targets.push(Target { path, measure, declared, steps: steps.clone() });
        return;
    }
    for step in place.steps(LISTED) {
        let is_sweep = steps.is_empty() && step == Step::Key(super::SWEEP.to_owned());
        if let (false, Ok(next)) = (is_sweep, place.next(&step)) {
            steps.push(step);
            collect(&next, steps, targets);
            steps.pop();
        }
    }
}

/// A path that leads nowhere, with the nearest that leads somewhere.
fn complain(root: &Branch, path: &str, reached: &[Step], problem: Problem) -> Diagnostic {
    let shown = shorten(path);
    let stem = spelt(reached);
    let message = match problem {
        Problem::Unknown => format!("there is no number `{shown}` in this file"),
        Problem::NotInFile => format!("`{shown}` is in a table that this file does not have"),
        Problem::NoSuchEntry { count } => {
            format!("`{shown}`: `{stem}` has {count} entries, counted from 1")
        }
        Problem::NoList => format!("`{shown}`: `{stem}` is not a list"),
        Problem::NotANumber(noun) => format!("`{shown}` is {noun}; only numbers can vary"),
    };
    let all: Vec<String> = all(root).into_iter().map(|target| target.path).collect();
    let mut near = below(&all, &stem);
    if near.is_empty() {
        near = below(&all, stem.split(['.', '[']).next().unwrap_or_default());
    }
    if near.is_empty() {
        near = below(&all, "");
    }
    let meant = nearest(path, near.iter().copied()).or_else(|| nearest(path, below(&all, "")));
    let more = near.len().saturating_sub(LISTED);
    let mut remedy = match meant {
        Some(meant) => format!("did you mean `{meant}`? "),
        None => String::new(),
    };
    remedy += &format!("what can vary here: {}", listed(near.into_iter().take(LISTED), "and"));
    if more > 0 {
        remedy += &format!(" and {more} more");
    }
    Diagnostic::error(message).remedy(remedy)
}

/// The paths that lie below `stem`; all for an empty one.
fn below<'a>(all: &'a [String], stem: &str) -> Vec<&'a str> {
    let inside = |path: &&str| {
        stem.is_empty() || path.strip_prefix(stem).is_some_and(|rest| rest.starts_with(['.', '[']))
    };
    all.iter().map(String::as_str).filter(inside).collect()
}

fn spelt(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.push_str(&format!(".{key}")),
            Step::Entry(index) => text.push_str(&format!("[{}]", index + 1)),
        }
    }
    text
}
