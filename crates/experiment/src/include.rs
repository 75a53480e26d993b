//! Files that are read as parts of the experiment: `include = ["identified.toml"]`.
//!
//! The keys of an included file stand beside those of the experiment, tables of
//! the same name are joined, and a key that is given twice is an error. All
//! texts lie one behind the other, so that a place in any of them is one number.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::component::{Component, Components, MOST_COMPONENTS, Whole};
use super::diagnostic::{Diagnostic, Diagnostics, shorten};
use super::leaf::extension;
use super::source::Source;

/// The key.
const KEY: &str = "include";
/// Keys of components, and those of their files that they take.
const COMPONENT: &str = Components::COMPONENTS;
const FILE: &str = Component::FILE;
const STRUCTURE: &str = Whole::STRUCTURE;
const REDUCTION: &str = Component::REDUCTION;
/// Most files that are included, those of included files counted.
pub(crate) const MOST_FILES: usize = 16;
/// How deep files may include files.
const DEEPEST: usize = 4;
/// Largest included file, in bytes.
const LARGEST: u64 = 1 << 20;

/// An included file with blanks before it, as many as there are bytes before
/// its place among all texts: the places in it are then right as parsed.
pub(crate) struct Part {
    pub name: String,
    padded: String,
}

impl Part {
    /// A text behind all others.
    fn behind(name: &str, text: &str, found: &mut Diagnostics) -> Self {
        let start = found.append(name, text);
        // A byte order mark is only known at the beginning of a text.
        let (blanks, text) = match text.strip_prefix('\u{feff}') {
            Some(text) => (start + 3, text),
            None => (start, text),
        };
        Self { name: name.to_owned(), padded: " ".repeat(blanks) + text }
    }
}

/// A file that is to be included.
struct Wanted {
    name: String,
    span: Range<usize>,
    depth: usize,
}

/// Reads the files that `root` includes and those that they include.
/// What is wrong with them is in `found`.
pub(crate) fn gather(
    root: &DeTable<'_>,
    source: &dyn Source,
    found: &mut Diagnostics,
) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut queue = wanted(root, 1, found);
    let mut next = 0;
    while next < queue.len() {
        let Wanted { name, span, depth } = &queue[next];
        let depth = *depth;
        match read(name, depth, &parts, source) {
            Ok(text) => {
                parts.push(Part::behind(name, &text, found));
            }
            Err(error) => {
                found.push(error.at(span.clone()));
                next += 1;
                continue;
            }
        }
        let padded = &parts[parts.len() - 1].padded;
        match DeTable::parse(padded) {
            Ok(table) => queue.extend(wanted(table.get_ref(), depth + 1, found)),
            Err(error) => found.push(not_toml(&error)),
        }
        next += 1;
    }
    parts
}

/// The text of an experiment with everything it includes written into it; as it
/// is where it includes nothing. For a file that reads without errors: whatever
/// is wrong is left to the reader to say.
pub fn flattened(text: &str, source: &dyn Source) -> String {
    let Ok(mut whole) = text.parse::<toml::Table>() else { return text.to_owned() };
    let mut wanted = take_names(&mut whole);
    if wanted.is_empty() && !whole.contains_key(COMPONENT) {
        return text.to_owned();
    }
    let mut read = 0;
    while let Some(name) = wanted.get(read).cloned() {
        read += 1;
        let bytes = source.read(&name).unwrap_or_default();
        let part = std::str::from_utf8(&bytes).ok().and_then(|part| part.parse().ok());
        let (Some(mut part), true): (Option<toml::Table>, bool) = (part, read <= MOST_FILES) else {
            return text.to_owned();
        };
        wanted.extend(take_names(&mut part));
        write_into(&mut whole, part);
    }
    let components = whole.get_mut(COMPONENT).and_then(toml::Value::as_array_mut);
    for component in components.into_iter().flatten().filter_map(toml::Value::as_table_mut) {
        let Some(toml::Value::String(name)) = component.remove(FILE) else { continue };
        let bytes = source.read(&name).unwrap_or_default();
        let part = std::str::from_utf8(&bytes).ok().and_then(|part| part.parse().ok());
        let Some(mut part): Option<toml::Table> = part else { return text.to_owned() };
        if let Some(toml::Value::Table(structure)) = part.remove(STRUCTURE) {
            write_into(component, structure);
        }
        part.retain(|key, _| key == REDUCTION);
        write_into(component, part);
    }
    toml::to_string(&whole).unwrap_or_else(|_| text.to_owned())
}

/// The files that a table includes; the key goes.
fn take_names(table: &mut toml::Table) -> Vec<String> {
    let names = table.remove(KEY).and_then(|names| match names {
        toml::Value::Array(names) => Some(names),
        toml::Value::String(name) => Some(vec![toml::Value::String(name)]),
        _ => None,
    });
    names.into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

fn write_into(whole: &mut toml::Table, part: toml::Table) {
    for (key, value) in part {
        match (whole.get_mut(&key), value) {
            (Some(toml::Value::Table(known)), toml::Value::Table(more)) => write_into(known, more),
            (None, value) => {
                whole.insert(key, value);
            }
            // Given twice, which the reader has refused.
            (Some(_), _) => {}
        }
    }
}

/// Joins the tables of `parts` to `root`.
pub(crate) fn join<'a>(root: &mut DeTable<'a>, parts: &'a [Part], found: &mut Diagnostics) {
    for part in parts {
        let Ok(table) = DeTable::parse(&part.padded) else { continue };
        let mut table = table.into_inner();
        table.remove(KEY);
        merge(root, table, "", found);
    }
}

/// The files that components name, each with the place of its component.
pub(crate) fn gather_components(
    root: &DeTable<'_>,
    source: &dyn Source,
    found: &mut Diagnostics,
) -> Vec<(usize, Part)> {
    let components = root.get(COMPONENT).and_then(|value| value.get_ref().as_array());
    let mut parts = Vec::new();
    for (index, component) in components.into_iter().flatten().enumerate().take(MOST_COMPONENTS) {
        let named = component.get_ref().as_table().and_then(|table| table.get(FILE));
        let Some((named, name)) = named.and_then(|file| Some((file, file.get_ref().as_str()?)))
        else {
            continue;
        };
        match read(name, 1, &[], source) {
            Ok(text) => parts.push((index, Part::behind(name, &text, found))),
            Err(error) => found.push(error.at(named.span())),
        }
    }
    parts
}

/// Puts what a component needs of its file where it stands.
pub(crate) fn join_components<'a>(
    root: &mut DeTable<'a>,
    parts: &'a [(usize, Part)],
    found: &mut Diagnostics,
) {
    for (index, part) in parts {
        let table = match DeTable::parse(&part.padded) {
            Ok(table) => table.into_inner(),
            Err(error) => {
                found.push(not_toml(&error));
                continue;
            }
        };
        let Some(DeValue::Array(components)) = root.get_mut(COMPONENT).map(|it| it.get_mut())
        else {
            continue;
        };
        let Some(DeValue::Table(component)) = components.get_mut(*index).map(|it| it.get_mut())
        else {
            continue;
        };
        for (key, value) in table {
            let span = key.span();
            match (key.get_ref().as_ref(), value.get_ref()) {
                (STRUCTURE, DeValue::Table(structure)) => {
                    merge(component, structure.clone(), COMPONENT, found);
                }
                (REDUCTION, _) => {
                    let mut alone = DeTable::new();
                    alone.insert(key, value);
                    merge(component, alone, COMPONENT, found);
                }
                (KEY | COMPONENT, _) => {
                    let message = format!("the file of a component cannot use `{}`", key.get_ref());
                    let remedy =
                        "write [structure] in it, or list its components in the experiment";
                    found.push(Diagnostic::error(message).at(span).remedy(remedy));
                }
                _ => {}
            }
        }
    }
}

/// A text that is not TOML.
pub(crate) fn not_toml(error: &toml::de::Error) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(format!("not valid TOML: {}", error.message()))
        .remedy("see https://toml.io for how keys, strings and tables are written");
    diagnostic.span = error.span();
    diagnostic
}

fn merge<'a>(into: &mut DeTable<'a>, from: DeTable<'a>, path: &str, found: &mut Diagnostics) {
    for (key, value) in from {
        let name = key.get_ref().to_string();
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let Some((first, _)) = into.get_key_value(name.as_str()) else {
            into.insert(key, value);
            continue;
        };
        let first = first.span();
        let known = into.get_mut(name.as_str()).map(|known| known.get_mut());
        match (known, value.into_inner()) {
            (Some(DeValue::Table(known)), DeValue::Table(more)) => {
                merge(known, more, &path, found);
            }
            _ => {
                let place = found.place(first.start);
                let message = format!("`{}` is given twice", shorten(&path));
                let remedy = format!("remove it here, or at {place}");
                found.push(Diagnostic::error(message).at(key.span()).remedy(remedy));
            }
        }
    }
}

/// The files that a table asks for.
fn wanted(table: &DeTable<'_>, depth: usize, found: &mut Diagnostics) -> Vec<Wanted> {
    let Some(value) = table.get(KEY) else { return Vec::new() };
    let names = value.get_ref().as_array().map(|entries| {
        let name = |entry: &toml::Spanned<DeValue<'_>>| {
            let name = entry.get_ref().as_str()?.to_owned();
            Some(Wanted { name, span: entry.span(), depth })
        };
        entries.iter().map(name).collect::<Option<Vec<_>>>()
    });
    match names.flatten() {
        Some(names) if names.len() <= MOST_FILES => names,
        Some(names) => {
            let message = format!("{} files are included; {MOST_FILES} is the most", names.len());
            found.push(Diagnostic::error(message).at(value.span()).remedy("join some of them"));
            Vec::new()
        }
        None => {
            let error = Diagnostic::error("`include` is not a list of file names")
                .remedy("write it like include = [\"identified.toml\"]");
            found.push(error.at(value.span()));
            Vec::new()
        }
    }
}

fn read(
    name: &str,
    depth: usize,
    parts: &[Part],
    source: &dyn Source,
) -> Result<String, Diagnostic> {
    let shown = shorten(name);
    if extension(name) != "toml" {
        return Err(Diagnostic::error(format!("\"{shown}\" is no experiment text"))
            .remedy("include files that end in .toml"));
    }
    if parts.iter().any(|part| part.name == name) {
        return Err(Diagnostic::error(format!("\"{shown}\" is included twice"))
            .remedy("include each file once; a file may not include itself"));
    }
    if depth > DEEPEST || parts.len() >= MOST_FILES {
        let message = format!(
            "\"{shown}\" is too much: at most {MOST_FILES} files are included, {DEEPEST} deep"
        );
        return Err(Diagnostic::error(message).remedy("check whether files include each other"));
    }
    let unreadable = |error: std::io::Error| {
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => format!("no file \"{shown}\""),
            _ => format!("file \"{shown}\" is not readable: {error}"),
        };
        Diagnostic::error(message).remedy(
            "check the name; it is taken relative to the folder of the experiment file, also \
             inside an included file",
        )
    };
    let size = source.size(name).map_err(unreadable)?;
    if size > LARGEST {
        let message = format!("\"{shown}\" has {size} bytes, more than {LARGEST}");
        return Err(Diagnostic::error(message)
            .remedy("put large matrices into files of their own: { file = \"k.mtx\", unit = … }"));
    }
    let bytes = source.read(name).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Diagnostic::error(format!("\"{shown}\" grew while it was read")));
    }
    String::from_utf8(bytes).map_err(|_| {
        Diagnostic::error(format!("\"{shown}\" is not UTF-8 text")).remedy("save it as UTF-8")
    })
}
