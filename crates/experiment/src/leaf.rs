//! Reads single values: texts, numbers, quantities, words, files, matrices.

use std::io;

use toml::Spanned;
use toml::de::{DeArray, DeValue};

use super::diagnostic::{Diagnostic, shorten};
use super::source::Source;
use super::spelling::{listed, nearest};
use keys::describe::{Bounds, Field, Length, Shape, plain};
use keys::quantity::{self, Kind, Motion};
use keys::tree::Value;

/// Longest text anywhere; what is longer is a mistake.
const LONGEST_TEXT: usize = 1000;

/// Reads `value` as `shape`. An error without a place is about the whole value.
pub(crate) fn read(
    shape: &Shape,
    label: &str,
    value: &Spanned<DeValue<'_>>,
    source: &dyn Source,
) -> Result<Value, Diagnostic> {
    let toml = value.get_ref();
    let wrong = || wrong_type(label, shape, toml);
    match shape {
        Shape::Text | Shape::Reference(_) if toml.is_str() => text(label, toml),
        Shape::Reference(to) if toml.is_integer() => count(label, toml, 1, to.highest)
            .map_err(|error| error.remedy(format!("{} count from 1", to.many))),
        Shape::Count { min, max } if toml.is_integer() => count(label, toml, *min, *max),
        Shape::Number(bounds) => {
            let number = number(toml).ok_or_else(wrong)?;
            bounded(label, number, *bounds, None).map(Value::Number)
        }
        Shape::Ratio(bounds) => match toml.as_str() {
            Some(text) => {
                let ratio = quantity_in(text, Kind::Ratio, Motion::Translation)?;
                bounded(label, ratio, *bounds, Some(Kind::Ratio)).map(Value::Number)
            }
            None => bare_ratio(label, number(toml).ok_or_else(wrong)?, *bounds).map(Value::Number),
        },
        Shape::QuantityOrShare(_, _, _) if toml.as_str().is_some_and(|t| t.contains('%')) => {
            let share =
                quantity_in(toml.as_str().unwrap_or_default(), Kind::Ratio, Motion::Translation)?;
            bounded(label, share, Bounds::Within(0.0, 1.0), Some(Kind::Ratio)).map(Value::Share)
        }
        Shape::Quantity(kind, motion, bounds) | Shape::QuantityOrShare(kind, motion, bounds) => {
            let text = toml.as_str().ok_or_else(wrong)?;
            let value = quantity_in(text, *kind, *motion)?;
            bounded(label, value, *bounds, Some(*kind)).map(Value::Number)
        }
        Shape::Unit(kind, motion) => {
            let text = toml.as_str().ok_or_else(wrong)?;
            let factor = quantity::parse_unit(text, *kind, *motion).map_err(|error| {
                let units = format!("use a unit of {}, such as {}", bare(*kind), kind.units());
                Diagnostic::error(error.to_string()).remedy(units)
            })?;
            Ok(Value::Unit(factor))
        }
        Shape::Word(words) => {
            let found = toml.as_str().and_then(|text| words.iter().find(|word| word.word == text));
            match found {
                Some(word) => Ok(Value::Word(word.word)),
                None => Err(wrong_word(label, toml, words.iter().map(|word| word.word))),
            }
        }
        Shape::File(extensions) => {
            let name = toml.as_str().ok_or_else(wrong)?;
            file(name, extensions, source)?;
            Ok(Value::File(name.to_owned()))
        }
        Shape::Rows => rows(label, toml.as_array().ok_or_else(wrong)?),
        _ => Err(wrong()),
    }
}

/// Can `toml` be meant as `shape`, to go by its type?
pub(crate) fn admits(shape: &Shape, toml: &DeValue<'_>) -> bool {
    match shape {
        Shape::Text
        | Shape::Quantity(..)
        | Shape::QuantityOrShare(..)
        | Shape::Unit(..)
        | Shape::Word(_)
        | Shape::File(_) => toml.is_str(),
        Shape::Count { .. } => toml.is_integer(),
        Shape::Number(_) => toml.is_integer() || toml.is_float(),
        Shape::Ratio(_) => toml.is_integer() || toml.is_float() || toml.is_str(),
        Shape::Reference(_) => toml.is_integer() || toml.is_str(),
        Shape::List(..) | Shape::Rows => toml.is_array(),
        Shape::Table(_) => toml.is_table(),
        Shape::Either(shapes) => shapes.iter().any(|shape| admits(shape, toml)),
    }
}

/// What `shape` is, with the article.
pub(crate) fn noun(shape: &Shape) -> String {
    match shape {
        Shape::Text => "a text".into(),
        Shape::Count { .. } => "a whole number".into(),
        Shape::Number(_) => "a number".into(),
        Shape::Quantity(kind, ..) => format!("{} with its unit", kind.noun()),
        Shape::QuantityOrShare(kind, ..) => format!("{} with its unit or a share", kind.noun()),
        Shape::Ratio(_) => "a ratio".into(),
        Shape::Unit(kind, _) => format!("a unit of {}", bare(*kind)),
        Shape::Word(words) => {
            format!("one of {}", listed(words.iter().map(|word| word.word), "or"))
        }
        Shape::Reference(to) => {
            let or = to.or.map_or_else(String::new, |word| format!(", or \"{word}\""));
            format!("the number or name of {}{or}", to.one)
        }
        Shape::File(_) => "the name of a file".into(),
        Shape::List(..) => "a list".into(),
        Shape::Rows => "a list of rows of numbers".into(),
        Shape::Table(_) => "a table".into(),
        Shape::Either(shapes) => {
            let nouns: Vec<String> = shapes.iter().map(noun).collect();
            nouns.join(" or ")
        }
    }
}

/// A line that could be added for a missing field.
pub(crate) fn example(field: &Field) -> String {
    let value = sample(&field.shape);
    match field.shape {
        Shape::Table(_) => format!("[{}]", field.key),
        _ => format!("`{} = {value}`", field.key),
    }
}

fn sample(shape: &Shape) -> String {
    match shape {
        Shape::Text => "\"…\"".into(),
        Shape::Count { min, .. } => min.to_string(),
        Shape::Number(_) => "1.0".into(),
        Shape::Quantity(kind, ..) | Shape::QuantityOrShare(kind, ..) => {
            format!("\"{}\"", kind.example())
        }
        Shape::Ratio(_) => "\"3 %\"".into(),
        Shape::Unit(kind, _) => format!("\"{}\"", kind.si_unit()),
        Shape::Word(words) => words.first().map_or_else(String::new, |w| format!("\"{}\"", w.word)),
        Shape::Reference(_) => "1".into(),
        Shape::File(_) => "\"…\"".into(),
        Shape::List(entry, length) => {
            let entries = vec![sample(entry); length.min.max(1)];
            format!("[{}]", entries.join(", "))
        }
        Shape::Rows => "[[…]]".into(),
        Shape::Table(_) => "{ … }".into(),
        Shape::Either(shapes) => shapes.first().map_or_else(String::new, sample),
    }
}

pub(crate) fn wrong_type(label: &str, shape: &Shape, toml: &DeValue<'_>) -> Diagnostic {
    let kind = quantity_kind(shape);
    if let (Some(kind), Some(number)) = (kind, number_text(toml)) {
        let error = Diagnostic::error(format!("{number} has no unit"));
        return error.remedy(format!("write \"{number} {}\"; {}", kind.si_unit(), kind.advice()));
    }
    let found = match toml {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    Diagnostic::error(format!("{label} is {found}, not {}", noun(shape)))
        .remedy(format!("write it like {}", sample(shape)))
}

pub(crate) fn wrong_word<'a>(
    label: &str,
    toml: &DeValue<'_>,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Diagnostic {
    let list = listed(known.clone(), "or");
    let Some(word) = toml.as_str() else {
        return Diagnostic::error(format!("{label} is not a text"))
            .remedy(format!("{label} is one of {list}"));
    };
    let remedy = match nearest(word, known) {
        Some(near) => format!("did you mean \"{near}\"? {label} is one of {list}"),
        None => format!("{label} is one of {list}"),
    };
    Diagnostic::error(format!("{label} cannot be \"{}\"", shorten(word))).remedy(remedy)
}

pub(crate) fn wrong_length(label: &str, count: usize, length: Length) -> Diagnostic {
    let entries = |n: usize| if n == 1 { "1 entry".to_owned() } else { format!("{n} entries") };
    if count == 0 {
        return Diagnostic::error(format!("{label} is empty"))
            .remedy(format!("give at least {}", entries(length.min)));
    }
    let (side, limit) = match length {
        Length { min, max } if min == max => ("exactly", min),
        Length { min, .. } if count < min => ("at least", min),
        Length { max, .. } => ("at most", max),
    };
    Diagnostic::error(format!("{label} has {}", entries(count)))
        .remedy(format!("it takes {side} {}", entries(limit)))
}

/// The kind of quantity that a bare number was probably meant to be.
fn quantity_kind(shape: &Shape) -> Option<Kind> {
    match shape {
        Shape::Quantity(kind, ..) | Shape::QuantityOrShare(kind, ..) => Some(*kind),
        Shape::Either(shapes) => shapes.iter().find_map(quantity_kind),
        _ => None,
    }
}

fn quantity_in(text: &str, kind: Kind, motion: Motion) -> Result<f64, Diagnostic> {
    quantity::parse(text, kind, motion)
        .map_err(|error| Diagnostic::error(error.to_string()).remedy(error.remedy(kind)))
}

fn bounded(label: &str, value: f64, bounds: Bounds, kind: Option<Kind>) -> Result<f64, Diagnostic> {
    let unit = kind.map_or("", Kind::si_unit);
    if !value.is_finite() {
        return Err(Diagnostic::error(format!("{label} is not a finite number"))
            .remedy("give a number that is neither nan nor inf"));
    }
    if bounds.contain(value) {
        return Ok(value);
    }
    let limits = bounds.describe(unit).unwrap_or_default();
    let space = if unit.is_empty() { "" } else { " " };
    let value = plain(value);
    Err(Diagnostic::error(format!("{label} is {value}{space}{unit}; it must be {limits}"))
        .remedy(format!("choose a value {limits}")))
}

/// A ratio without a per cent sign, whose absence may be the mistake.
fn bare_ratio(label: &str, ratio: f64, bounds: Bounds) -> Result<f64, Diagnostic> {
    bounded(label, ratio, bounds, Some(Kind::Ratio)).map_err(|error| {
        if ratio > 1.0 && bounds.contain(ratio / 100.0) {
            error.remedy(format!("for {ratio} per cent write \"{ratio} %\""))
        } else {
            error
        }
    })
}

fn text(label: &str, toml: &DeValue<'_>) -> Result<Value, Diagnostic> {
    let text = toml.as_str().unwrap_or_default();
    if text.trim().is_empty() {
        return Err(Diagnostic::error(format!("{label} is empty")).remedy("write a text"));
    }
    if text.len() > LONGEST_TEXT {
        return Err(Diagnostic::error(format!("{label} has {} bytes", text.len()))
            .remedy(format!("a text has at most {LONGEST_TEXT} bytes")));
    }
    Ok(Value::Text(text.to_owned()))
}

fn count(label: &str, toml: &DeValue<'_>, min: u64, max: u64) -> Result<Value, Diagnostic> {
    let shown = number_text(toml).unwrap_or_default();
    let value = toml
        .as_integer()
        .and_then(|integer| i128::from_str_radix(integer.as_str(), integer.radix()).ok())
        .and_then(|value| u64::try_from(value).ok())
        .filter(|value| (min..=max).contains(value));
    value.map(Value::Count).ok_or_else(|| {
        let limits =
            if max > 1 << 53 { format!("{min} or more") } else { format!("from {min} to {max}") };
        Diagnostic::error(format!("{label} is {shown}; it must be {limits}"))
            .remedy(format!("choose a whole number {limits}"))
    })
}

/// Integer or float as f64; whether it is finite is for the caller.
fn number(toml: &DeValue<'_>) -> Option<f64> {
    match toml {
        DeValue::Integer(integer) => {
            i128::from_str_radix(integer.as_str(), integer.radix()).ok().map(|value| value as f64)
        }
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    }
}

fn number_text(toml: &DeValue<'_>) -> Option<String> {
    match toml {
        DeValue::Integer(integer) => Some(shorten(&integer.to_string())),
        DeValue::Float(float) => Some(shorten(float.as_str())),
        _ => None,
    }
}

fn file(name: &str, extensions: &[&str], source: &dyn Source) -> Result<(), Diagnostic> {
    let shown = shorten(name);
    let extension = extension(name);
    if !extensions.is_empty() && !extensions.contains(&extension.as_str()) {
        let known: Vec<String> = extensions.iter().map(|known| format!(".{known}")).collect();
        return Err(Diagnostic::error(format!("the format of \"{shown}\" is not known"))
            .remedy(format!("use a file that ends in {}", known.join(", "))));
    }
    source.size(name).map(drop).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Diagnostic::error(format!("no file \"{shown}\""))
            .remedy("check the name; it is taken relative to the folder of the experiment file"),
        _ => Diagnostic::error(format!("file \"{shown}\" cannot be read: {error}"))
            .remedy("name a regular file that you may read"),
    })
}

/// The extension of a file name in lower case, without the dot.
pub(crate) fn extension(name: &str) -> String {
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
    base.rsplit_once('.').map_or_else(String::new, |(_, extension)| extension.to_lowercase())
}

fn rows(label: &str, rows: &DeArray<'_>) -> Result<Value, Diagnostic> {
    let size = rows.len();
    if size == 0 {
        return Err(wrong_length(label, 0, Length { min: 1, max: usize::MAX }));
    }
    let mut entries = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let place = row.span();
        let Some(values) = row.get_ref().as_array() else {
            return Err(Diagnostic::error(format!("row {} is not a list", index + 1))
                .at(place)
                .remedy("write rows of numbers: [[1, 0], [0, 1]]"));
        };
        if values.len() != size {
            let message = format!(
                "row {} has {} numbers, the matrix has {size} rows",
                index + 1,
                values.len()
            );
            return Err(Diagnostic::error(message)
                .at(place)
                .remedy("the matrix is square: give every row as many numbers as there are rows"));
        }
        for value in values {
            let finite = number(value.get_ref()).filter(|number| number.is_finite());
            let Some(number) = finite else {
                let remedy = "entries are bare finite numbers; `unit` serves the whole matrix";
                return Err(Diagnostic::error(format!(
                    "an entry of row {} is not a number",
                    index + 1
                ))
                .at(value.span())
                .remedy(remedy));
            };
            entries.push(number);
        }
    }
    Ok(Value::Rows { size, entries })
}

/// The name of a kind without its article.
fn bare(kind: Kind) -> &'static str {
    let noun = kind.noun();
    noun.split_once(' ').map_or(noun, |(_, rest)| rest)
}
