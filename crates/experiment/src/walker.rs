//! Checks a TOML tree along its description and reports every problem it finds.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::{Diagnostic, Diagnostics, shorten};
use super::source::Source;
use super::spelling::{listed, nearest};
use super::{choices, leaf};
use keys::describe::{Field, Need, Shape, Table, Variant, Variants};
use keys::tree::{Branch, Node, Origin, Value};

/// Walks along `table` and returns what could be read; the rest is in `out`.
pub(crate) fn walk(
    table: &'static Table,
    toml: &DeTable<'_>,
    source: &dyn Source,
    out: &mut Diagnostics,
) -> Branch {
    let mut walker = Walker { out, source, fill: None };
    walker.table(table, toml, "", None)
}

pub(crate) struct Walker<'a> {
    out: &'a mut Diagnostics,
    source: &'a dyn Source,
    /// While a default is read: the place of the table that lacks the key.
    fill: Option<Range<usize>>,
}

/// The keys that may stand in a table as it is written.
struct Fields {
    allowed: Vec<&'static Field>,
    variant: Option<&'static Variant>,
}

impl Walker<'_> {
    fn table(
        &mut self,
        table: &'static Table,
        toml: &DeTable<'_>,
        path: &str,
        span: Option<Range<usize>>,
    ) -> Branch {
        let mut entries = BTreeMap::new();
        let variant = self.variant(table, toml, path, &span, &mut entries);
        let fields = Fields::of(table, variant, toml);
        let mut slips = Vec::new();
        for (key, _) in toml.iter() {
            let word = key.get_ref().as_ref();
            let is_selector = table.variants.as_ref().is_some_and(|variants| variants.key == word);
            if !is_selector && !fields.allowed.iter().any(|field| field.key == word) {
                slips.push(self.unknown_key(table, &fields, word, key.span(), path));
            }
        }
        let mut refused = Vec::new();
        for field in &fields.allowed {
            let misspelt = slips.contains(&Some(field.key));
            match self.field(field, toml, path, &span, misspelt) {
                Some(node) => drop(entries.insert(field.key, node)),
                None if misspelt || toml.contains_key(field.key) => refused.push(field.key),
                None => {}
            }
        }
        let branch = Branch { span: span.clone().unwrap_or(0..0), entries, refused };
        // Defaults are sound.
        if self.fill.is_some() {
            return branch;
        }
        let variant = fields.variant;
        let in_variant = variant.map_or(&[][..], |variant| variant.choices);
        for choice in table.choices.iter().chain(in_variant) {
            // An unknown key was probably meant as the one that seems to lack.
            if slips.is_empty() || choices::is_made(choice, toml) {
                self.out.extend(choices::check(choice, toml, &title(path), span.clone()));
            }
        }
        let mut found = Vec::new();
        let in_variant = variant.map_or(&[][..], |variant| variant.checks);
        table.checks.iter().chain(in_variant).for_each(|check| check(&branch, &mut found));
        self.out.extend(found);
        branch
    }

    fn field(
        &mut self,
        field: &'static Field,
        toml: &DeTable<'_>,
        path: &str,
        span: &Option<Range<usize>>,
        misspelt: bool,
    ) -> Option<Node> {
        if let Some(value) = toml.get(field.key) {
            let path = join(path, field.key);
            return self.value(&field.shape, value, &path, &ticked(field.key));
        }
        match field.need {
            Need::Optional => None,
            Need::Required if misspelt => None,
            Need::Default(text) => self.default(field, text, path, span),
            Need::Required => {
                let mut error = Diagnostic::error(format!("{} lacks `{}`", title(path), field.key))
                    .remedy(format!("add {}: {}", leaf::example(field), clause(field.doc)));
                error.span = span.clone();
                self.out.push(error);
                None
            }
        }
    }

    /// A default is read by the same rules as what people write.
    fn default(
        &mut self,
        field: &'static Field,
        text: &'static str,
        path: &str,
        span: &Option<Range<usize>>,
    ) -> Option<Node> {
        let value = DeValue::parse(text).expect("a declared default is a TOML value");
        let outer = self.fill.clone();
        self.fill = Some(outer.clone().unwrap_or_else(|| span.clone().unwrap_or(0..0)));
        let node = self.value(&field.shape, &value, &join(path, field.key), field.key);
        self.fill = outer;
        node
    }

    /// The word that chooses the variant, and its keys.
    fn variant(
        &mut self,
        table: &'static Table,
        toml: &DeTable<'_>,
        path: &str,
        span: &Option<Range<usize>>,
        entries: &mut BTreeMap<&'static str, Node>,
    ) -> Option<&'static Variant> {
        let variants = table.variants.as_ref()?;
        let words = || listed(variants.of.iter().map(|variant| variant.word), "or");
        let Some(value) = toml.get(variants.key) else {
            if let Some(meant) = variants.absent {
                let variant = variants.of.iter().find(|variant| variant.word == meant);
                let place = self.fill.clone().or(span.clone()).unwrap_or(0..0);
                let value = Value::Word(meant);
                let node = Node { span: place, origin: Origin::Default, value };
                entries.insert(variants.key, node);
                return variant;
            }
            let mut error = Diagnostic::error(format!("{} lacks `{}`", title(path), variants.key))
                .remedy(format!("add `{}`: {}", variants.key, words()));
            error.span = span.clone();
            self.out.push(error);
            return None;
        };
        let span = self.place(value);
        let found = value.get_ref().as_str();
        let variant =
            found.and_then(|word| variants.of.iter().find(|variant| variant.word == word));
        match variant {
            Some(variant) => {
                let node = Node { span, origin: self.origin(), value: Value::Word(variant.word) };
                entries.insert(variants.key, node);
            }
            None => {
                let known = variants.of.iter().map(|variant| variant.word);
                let error = leaf::wrong_word(&ticked(variants.key), value.get_ref(), known);
                self.out.push(error.at(span));
            }
        }
        variant
    }

    fn value(
        &mut self,
        shape: &'static Shape,
        value: &Spanned<DeValue<'_>>,
        path: &str,
        label: &str,
    ) -> Option<Node> {
        let toml = value.get_ref();
        let read = match (shape, toml) {
            (Shape::Table(table), DeValue::Table(entries)) => {
                let span = self.place(value);
                Value::Table(self.table(table, entries, path, Some(span)))
            }
            (Shape::List(entry, length), DeValue::Array(values)) => {
                let count = values.len();
                if count < length.min || count > length.max {
                    let error = leaf::wrong_length(label, count, *length);
                    self.out.push(error.at(self.place(value)));
                }
                // Whatever is beyond the limit has been reported as a whole.
                let values: Vec<_> = values.iter().take(length.max).collect();
                let nodes = values.iter().enumerate().map(|(index, value)| {
                    let label = format!("entry {} of {label}", index + 1);
                    self.value(entry, value, path, &label)
                });
                let nodes: Vec<_> = nodes.collect();
                if count < length.min || count > length.max {
                    return None;
                }
                Value::List(nodes.into_iter().collect::<Option<_>>()?)
            }
            (Shape::Either(shapes), _) => {
                return match shapes.iter().find(|shape| leaf::admits(shape, toml)) {
                    Some(shape) => self.value(shape, value, path, label),
                    None => {
                        let error = leaf::wrong_type(label, shape, toml);
                        self.out.push(error.at(self.place(value)));
                        None
                    }
                };
            }
            _ => match leaf::read(shape, label, value, self.source) {
                Ok(read) => read,
                Err(error) => {
                    let place = error.span.clone().unwrap_or_else(|| self.place(value));
                    self.out.push(error.at(place));
                    return None;
                }
            },
        };
        Some(Node { span: self.place(value), origin: self.origin(), value: read })
    }

    /// Reports a key that may not stand here; gives the one it was probably meant to be.
    fn unknown_key(
        &mut self,
        table: &'static Table,
        fields: &Fields,
        key: &str,
        span: Range<usize>,
        path: &str,
    ) -> Option<&'static str> {
        let mut meant = None;
        let elsewhere = table.all_fields().into_iter().find(|(field, _)| field.key == key);
        let error = match (elsewhere, &table.variants, fields.variant) {
            (Some((_, words)), Some(Variants { key: selector, .. }), Some(variant)) => {
                Diagnostic::error(format!(
                    "`{key}` does not go with {selector} = \"{}\"",
                    variant.word
                ))
                .remedy(format!("remove it, or choose {selector} = {}", quoted(&words)))
            }
            _ => {
                let selector = table.variants.iter().map(|variants| variants.key);
                let known: Vec<&'static str> =
                    selector.chain(fields.allowed.iter().map(|field| field.key)).collect();
                meant = nearest(key, known.iter().copied());
                let remedy = match meant {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => match home_of(key) {
                        Some(home) if home != title(path) => format!("`{key}` belongs in {home}"),
                        _ => format!("it may hold {}", listed(known, "and")),
                    },
                };
                let message = format!("unknown key `{}` in {}", shorten(key), title(path));
                Diagnostic::error(message).remedy(remedy)
            }
        };
        self.out.push(error.at(span));
        meant
    }

    fn place(&self, value: &Spanned<DeValue<'_>>) -> Range<usize> {
        self.fill.clone().unwrap_or_else(|| value.span())
    }

    fn origin(&self) -> Origin {
        if self.fill.is_some() { Origin::Default } else { Origin::Given }
    }
}

impl Fields {
    fn of(table: &'static Table, variant: Option<&'static Variant>, toml: &DeTable<'_>) -> Self {
        let mut allowed: Vec<&'static Field> = table.fields.iter().collect();
        match (variant, &table.variants) {
            (Some(variant), _) => allowed.extend(variant.fields),
            // Without a valid word, check the keys that are there all the same.
            (None, Some(_)) => {
                let all = table.all_fields().into_iter().map(|(field, _)| field);
                allowed.extend(
                    all.skip(table.fields.len()).filter(|field| toml.contains_key(field.key)),
                );
            }
            (None, None) => {}
        }
        Self { allowed, variant }
    }
}

/// The section of the file that a stray key belongs in.
fn home_of(key: &str) -> Option<String> {
    super::ROOT.fields.iter().find_map(|section| {
        if section.key == key {
            return Some("the top of the file".to_owned());
        }
        let Shape::Table(table) = section.shape else { return None };
        let mut keys = table.all_fields().into_iter().map(|(field, _)| field.key);
        let selector = table.variants.as_ref().is_some_and(|variants| variants.key == key);
        (selector || keys.any(|known| known == key)).then(|| format!("[{}]", section.key))
    })
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn ticked(key: &str) -> String {
    format!("`{key}`")
}

/// How a table is called in a message.
fn title(path: &str) -> String {
    if path.is_empty() { "the file".to_owned() } else { format!("[{path}]") }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(" or ")
}

/// A sentence as the second half of another.
fn clause(sentence: &str) -> String {
    let mut chars = sentence.trim_end_matches('.').chars();
    match chars.next() {
        Some(first) if chars.as_str().starts_with(char::is_lowercase) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => sentence.trim_end_matches('.').to_owned(),
    }
}
