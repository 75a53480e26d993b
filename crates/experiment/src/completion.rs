//! What may stand at a place of an experiment file, for who types it.
//!
//! The same declarations that read the file say what can follow: keys that are still missing from
//! their table, words, files. The text need not be valid yet.

use keys::describe::{Field, Need, Shape, Table, Word};
use serde::Serialize;

use super::ROOT;

/// Most proposals.
const MOST: usize = 200;
/// Deepest nesting that is followed.
const DEEPEST: usize = 32;

/// What may replace the text from a column to the cursor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Completion {
    /// Column from which it does, from 1.
    pub from_column: usize,
    /// Proposals, in the order of the declarations.
    pub items: Vec<Proposal>,
}

/// One proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// As it is called.
    pub label: String,
    /// `key`, `table`, `word`, `value` or `path`.
    pub kind: &'static str,
    /// As it is typed.
    pub insert: String,
    /// What it takes and whether it must be there.
    pub detail: String,
    /// What it means.
    pub doc: String,
}

/// Proposals for the place before the cursor; `line` and `column` count from 1, columns in
/// characters. `files` are names that a key may refer to.
pub fn complete(text: &str, line: usize, column: usize, files: &[String]) -> Completion {
    let offset = offset(text, line, column);
    let place = Place::before(&text[..offset]);
    let typed = place.typed.trim_start_matches(['"', '\'']).to_lowercase();
    let mut items = match &place.at {
        At::Header => headers(),
        At::Key => place.keys(text, offset),
        At::Value(key) => place.values(text, offset, key, files),
    };
    items.retain(|item| item.label.trim_matches('"').to_lowercase().starts_with(&typed));
    items.truncate(MOST);
    let from_column = column.saturating_sub(place.typed.chars().count()).max(1);
    Completion { from_column, items }
}

/// The byte at a line and column, or the end of what comes before.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match text[start..].find('\n') {
            Some(newline) => start += newline + 1,
            None => return text.len(),
        }
    }
    let end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let mut characters = text[start..end].char_indices().map(|(at, _)| start + at);
    characters.nth(column.saturating_sub(1)).unwrap_or(end)
}

/// What is expected at the cursor.
#[derive(Debug, PartialEq)]
enum At {
    Header,
    Key,
    Value(String),
}

/// Where the cursor is.
#[derive(Debug)]
struct Place {
    /// Keys that lead to the table.
    path: Vec<String>,
    at: At,
    /// What is typed of it so far.
    typed: String,
    /// Where the section with this table begins; inside an inline table, where that does.
    from: usize,
    /// Whether it is an inline table.
    inline: bool,
}

/// Something that is open at a place.
enum Open {
    Table { key: String, from: usize },
    List { key: String },
}

/// Walks through a text up to the cursor.
struct Walk {
    header: Vec<String>,
    section: usize,
    stack: Vec<Open>,
    /// The key whose value is being written.
    key: Option<String>,
    word: String,
    in_header: bool,
    quote: Option<char>,
    comment: bool,
}

impl Walk {
    fn new() -> Self {
        Self {
            header: Vec::new(),
            section: 0,
            stack: Vec::new(),
            key: None,
            word: String::new(),
            in_header: false,
            quote: None,
            comment: false,
        }
    }

    fn step(&mut self, at: usize, c: char) {
        if self.comment {
            if c != '\n' {
                return;
            }
            self.comment = false;
        }
        if let Some(quote) = self.quote {
            self.word.push(c);
            if c == quote || c == '\n' {
                self.quote = None;
            }
            return;
        }
        match c {
            '#' => self.comment = true,
            '"' | '\'' => {
                self.quote = Some(c);
                self.word.push(c);
            }
            '\n' if self.stack.is_empty() => self.end_line(at),
            '[' if self.key.is_none() && self.word.trim().is_empty() && self.stack.is_empty() => {
                self.in_header = true;
            }
            '=' if self.key.is_none() => {
                self.key = Some(self.word.trim().trim_matches(['"', '\'']).to_owned());
                self.word.clear();
            }
            '{' => self.open(|key| Open::Table { key, from: at }),
            '[' => self.open(|key| Open::List { key }),
            '}' | ']' if !self.in_header => self.close(),
            ']' => {}
            ',' => self.next(),
            _ => self.word.push(c),
        }
    }

    fn end_line(&mut self, at: usize) {
        if std::mem::take(&mut self.in_header) {
            self.header = split(&self.word);
            self.section = at;
        }
        self.key = None;
        self.word.clear();
    }

    fn open(&mut self, open: impl FnOnce(String) -> Open) {
        let within = match self.stack.last() {
            Some(Open::List { key }) => Some(key.clone()),
            _ => None,
        };
        if self.stack.len() < DEEPEST {
            let key = self.key.take().or(within).unwrap_or_default();
            self.stack.push(open(key));
        }
        self.word.clear();
    }

    fn close(&mut self) {
        if let Some(Open::Table { key, .. } | Open::List { key }) = self.stack.pop() {
            self.key = Some(key);
        }
        self.word.clear();
    }

    fn next(&mut self) {
        self.key = match self.stack.last() {
            Some(Open::List { key }) => Some(key.clone()),
            _ => None,
        };
        self.word.clear();
    }
}

impl Place {
    fn before(text: &str) -> Self {
        let mut walk = Walk::new();
        text.char_indices().for_each(|(at, c)| walk.step(at, c));
        let typed = if walk.comment { String::new() } else { walk.word.trim_start().to_owned() };
        let mut path = walk.header;
        let (mut from, mut inline) = (walk.section, false);
        // An element of a list is of its key, whose tables are opened within it.
        let mut last_list = None;
        for open in walk.stack {
            match open {
                Open::Table { key, from: start } => {
                    path.extend(split(&key));
                    (from, inline, last_list) = (start, true, None);
                }
                Open::List { key } => last_list = Some(key),
            }
        }
        let at = match walk.key.or(last_list) {
            _ if walk.in_header => At::Header,
            Some(key) => {
                let mut keys = split(&key);
                let last = keys.pop().unwrap_or_default();
                path.extend(keys);
                At::Value(last)
            }
            None => At::Key,
        };
        Self { path, at, typed, from, inline }
    }

    /// Keys that its table has, with their words, as far as they are written plainly.
    fn written<'a>(&self, text: &'a str, offset: usize) -> Vec<(&'a str, &'a str)> {
        let rest = &text[self.from..];
        let part = if self.inline {
            &text[(self.from + 1).min(offset)..offset]
        } else {
            let header = |(at, _): &(usize, &str)| *at > 0 && rest[at + 1..].starts_with('[');
            let end = rest.match_indices('\n').find(header).map_or(rest.len(), |(at, _)| at);
            &rest[..end]
        };
        let between = if self.inline { ',' } else { '\n' };
        let pairs = part.split(between).filter_map(|line| line.split_once('='));
        pairs
            .map(|(key, value)| {
                let value = value.split('#').next().unwrap_or("");
                (key.trim(), value.trim().trim_matches('"'))
            })
            .collect()
    }

    /// The tables that may stand here.
    fn tables(&self) -> Vec<&'static Table> {
        let mut tables: Vec<&'static Table> = vec![&ROOT];
        for key in &self.path {
            let fields = tables.iter().flat_map(|table| table.all_fields());
            let named = fields.filter(|(field, _)| field.key == key);
            tables = named.flat_map(|(field, _)| within(&field.shape)).collect();
        }
        tables
    }

    /// The fields of its tables that go with the words that are written.
    fn fields(&self, written: &[(&str, &str)]) -> Vec<&'static Field> {
        let of = |table: &'static Table| {
            let word = table.variants.as_ref().and_then(|variants| {
                let said = written.iter().find(|(key, _)| *key == variants.key);
                said.map(|(_, word)| *word).or(variants.absent)
            });
            let goes = move |words: &[&str]| {
                words.is_empty() || word.is_none_or(|word| words.contains(&word))
            };
            let all = table.all_fields().into_iter();
            all.filter(move |(_, words)| goes(words)).map(|(field, _)| field)
        };
        self.tables().into_iter().flat_map(of).collect()
    }

    fn keys(&self, text: &str, offset: usize) -> Vec<Proposal> {
        let written = self.written(text, offset);
        let typed = self.typed.trim();
        let free = |key: &str| key == typed || !written.iter().any(|(known, _)| *known == key);
        let mut items: Vec<Proposal> = Vec::new();
        for table in self.tables() {
            if let Some(variants) = table.variants.as_ref().filter(|it| free(it.key)) {
                let detail = if variants.absent.is_none() { "required" } else { "optional" };
                items.push(Proposal {
                    label: variants.key.to_owned(),
                    kind: "key",
                    insert: format!("{} = ", variants.key),
                    detail: format!("word, {detail}"),
                    doc: variants.doc.to_owned(),
                });
            }
        }
        for field in self.fields(&written).into_iter().filter(|field| free(field.key)) {
            let is_table = matches!(field.shape, Shape::Table(_));
            if !items.iter().any(|item| item.label == field.key) {
                items.push(Proposal {
                    label: field.key.to_owned(),
                    kind: if is_table { "table" } else { "key" },
                    insert: format!("{} = {}", field.key, if is_table { "{ " } else { "" }),
                    detail: detail(field),
                    doc: field.doc.to_owned(),
                });
            }
        }
        items
    }

    fn values(&self, text: &str, offset: usize, key: &str, files: &[String]) -> Vec<Proposal> {
        let written = self.written(text, offset);
        let mut items = Vec::new();
        let selectors = self.tables().into_iter().filter_map(|table| table.variants.as_ref());
        for variants in selectors.filter(|variants| variants.key == key) {
            items.extend(variants.of.iter().map(|variant| word(variant.word, variant.doc)));
        }
        for field in self.fields(&written).into_iter().filter(|field| field.key == key) {
            if let Need::Default(value) = field.need
                && !value.starts_with('{')
            {
                items.push(Proposal {
                    label: value.to_owned(),
                    kind: "value",
                    insert: value.to_owned(),
                    detail: "default".to_owned(),
                    doc: field.doc.to_owned(),
                });
            }
            of_shape(&field.shape, files, &mut items);
        }
        items
    }
}

fn split(key: &str) -> Vec<String> {
    let parts = key.split('.').map(|part| part.trim().trim_matches(['"', '\'']).to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

/// The tables inside a shape.
fn within(shape: &'static Shape) -> Vec<&'static Table> {
    match shape {
        Shape::Table(table) => vec![table],
        Shape::List(entry, _) => within(entry),
        Shape::Either(shapes) => shapes.iter().flat_map(within).collect(),
        _ => Vec::new(),
    }
}

/// The sections of a file.
fn headers() -> Vec<Proposal> {
    let of = |field: &'static Field| {
        let is_list = matches!(field.shape, Shape::List(..));
        (!within(&field.shape).is_empty()).then(|| Proposal {
            label: field.key.to_owned(),
            kind: "table",
            insert: if is_list { format!("[{}]]", field.key) } else { format!("{}]", field.key) },
            detail: detail(field),
            doc: field.doc.to_owned(),
        })
    };
    ROOT.all_fields().into_iter().filter_map(|(field, _)| of(field)).collect()
}

fn word(word: &str, doc: &str) -> Proposal {
    Proposal {
        label: format!("\"{word}\""),
        kind: "word",
        insert: format!("\"{word}\""),
        detail: String::new(),
        doc: doc.to_owned(),
    }
}

fn of_shape(shape: &'static Shape, files: &[String], items: &mut Vec<Proposal>) {
    match shape {
        Shape::Word(words) => {
            items.extend(words.iter().map(|Word { word: it, doc }| word(it, doc)));
        }
        Shape::File(extensions) => {
            let fits = |name: &&String| {
                let extension = name.rsplit('.').next().unwrap_or("");
                extensions.is_empty() || extensions.contains(&extension)
            };
            items.extend(files.iter().filter(fits).map(|name| Proposal {
                label: format!("\"{name}\""),
                kind: "path",
                insert: format!("\"{name}\""),
                detail: "file".to_owned(),
                doc: String::new(),
            }));
        }
        Shape::List(entry, _) => of_shape(entry, files, items),
        Shape::Either(shapes) => shapes.iter().for_each(|one| of_shape(one, files, items)),
        _ => {}
    }
}

fn detail(field: &Field) -> String {
    let need = match field.need {
        Need::Required => "required".to_owned(),
        Need::Optional => "optional".to_owned(),
        Need::Default(value) => format!("default {value}"),
    };
    format!("{}, {need}", takes(&field.shape))
}

/// What a shape takes, in a few words.
fn takes(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text".into(),
        Shape::Count { .. } => "whole number".into(),
        Shape::Number(_) => "number".into(),
        Shape::Quantity(kind, ..) | Shape::QuantityOrShare(kind, ..) => kind.advice(),
        Shape::Ratio(_) => "share, such as \"5 %\"".into(),
        Shape::Unit(..) => "unit".into(),
        Shape::Word(_) => "word".into(),
        Shape::Reference(reference) => format!("number or name of {}", reference.one),
        Shape::File(_) => "file".into(),
        Shape::List(entry, _) => format!("list of: {}", takes(entry)),
        Shape::Rows => "rows of numbers".into(),
        Shape::Table(_) => "table".into(),
        Shape::Either(shapes) => shapes.iter().map(takes).collect::<Vec<_>>().join(", or "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proposals at the mark `|`.
    fn at(marked: &str) -> Completion {
        let offset = marked.find('|').expect("a mark");
        let before = &marked[..offset];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        complete(&marked.replacen('|', "", 1), line, column, &["kobe.csv".into(), "a.mtx".into()])
    }

    fn labels(marked: &str) -> Vec<String> {
        at(marked).items.into_iter().map(|item| item.label).collect()
    }

    #[test]
    fn keys_are_those_that_the_table_still_lacks() {
        let found = labels("[integrator]\nrate = \"1 kHz\"\n|\n[limits]\nforce = \"1 kN\"\n");
        assert!(found.contains(&"method".to_owned()), "{found:?}");
        assert!(!found.contains(&"rate".to_owned()) && !found.contains(&"force".to_owned()));
        let found = at("[limits]\nforce = \"1 kN\"\ntrack|");
        assert_eq!(
            found.items.iter().map(|it| it.label.as_str()).collect::<Vec<_>>(),
            ["tracking_error"]
        );
        assert_eq!((found.from_column, found.items[0].insert.as_str()), (1, "tracking_error = "));
    }

    #[test]
    fn inside_of_inline_tables_and_sections_of_sections() {
        assert!(labels("[limits]\nsafe = { hold = \"1 s\", |").contains(&"rate".to_owned()));
        assert!(!labels("[limits]\nsafe = { hold = \"1 s\", |").contains(&"hold".to_owned()));
        assert!(labels("[limits.safe]\n|").contains(&"hold".to_owned()));
        assert!(labels("[host]\n|").contains(&"operator_lost".to_owned()));
    }

    #[test]
    fn words_files_and_sections() {
        assert!(labels("[host]\noperator_lost = |").contains(&"\"hold\"".to_owned()));
        assert!(labels("[compensator]\nkind = \"in|").contains(&"\"inverse\"".to_owned()));
        assert!(labels("[|").contains(&"integrator".to_owned()));
        assert!(labels("include = [\"|").is_empty(), "neither file is an experiment");
    }

    /// A kind chooses the keys.
    #[test]
    fn keys_of_other_kinds_are_not_proposed() {
        let none = labels("[transfer_system]\nkind = \"ideal\"\n|");
        assert!(!none.contains(&"delay".to_owned()), "{none:?}");
        let delay = labels("[transfer_system]\nkind = \"delay\"\n|");
        assert!(delay.contains(&"delay".to_owned()), "{delay:?}");
    }

    proptest! {
        #[test]
        fn any_text_and_any_place_are_borne(
            text in "[\\[\\]{}=,.\"'#a-c \n]{0,80}", line in 0usize..9, column in 0usize..90,
        ) {
            let found = complete(&text, line, column, &[]);
            prop_assert!(found.items.len() <= MOST);
        }
    }
}
