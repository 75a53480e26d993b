//! Other values in the text of an experiment, without a change to anything else.
//!
//! A variant is a complete experiment file: it can be read, checked, recorded
//! and run alone like any other. So values are put into the text, at places
//! that are found once.

use std::ops::Range;

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::target::Step;

/// Places in a text where values go.
#[derive(Debug, Clone, Default)]
pub struct Edits {
    /// In the order in which they were asked for.
    places: Vec<Place>,
    /// Their numbers in the order of the text.
    order: Vec<usize>,
}

/// Why a value has no place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// The key is not written and cannot be added either.
    #[error("`{path}` cannot be set from outside: write it in the file, with any value")]
    NoPlace {
        /// Its path.
        path: String,
    },
    /// Not even the way to a key.
    #[error("\"{path}\" is not a path such as transfer_system.leakage or partition.stiffness[1]")]
    NotAPath {
        /// What was given.
        path: String,
    },
    /// Two values want the same place.
    #[error(
        "`{path}` cannot be set together with the others: write it in the file, with any value"
    )]
    Conflict {
        /// Its path.
        path: String,
    },
}

/// Where one value goes, and what stands around it if its key is new.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    span: Range<usize>,
    before: String,
    after: &'static str,
}

impl Edits {
    /// Adds a place for the value at `steps`, called `path`.
    pub fn add(&mut self, text: &str, path: &str, steps: &[Step]) -> Result<(), EditError> {
        let candidates = candidates(text, steps);
        let fits = |place: &Place| {
            let sample = Edits { places: vec![place.clone()], order: vec![0] };
            // A value that no file holds by chance.
            let edited = sample.applied(text, &["[7.25]".to_owned()]);
            locate(&edited, steps).is_some_and(|span| &edited[span] == "[7.25]")
        };
        let place = candidates.into_iter().find(fits);
        let place = place.ok_or_else(|| EditError::NoPlace { path: path.to_owned() })?;
        self.places.push(place);
        self.order = (0..self.places.len()).collect();
        // A stable sort: keys that are added at one place keep their order.
        self.order.sort_by_key(|&index| self.places[index].span.start);
        let spans: Vec<&Range<usize>> = self.order.iter().map(|&i| &self.places[i].span).collect();
        let apart = spans.windows(2).all(|pair| pair[0].end <= pair[1].start);
        let together = || self.applied(text, &vec!["0".to_owned(); self.places.len()]);
        if apart && DeTable::parse(&together()).is_ok() {
            Ok(())
        } else {
            Err(EditError::Conflict { path: path.to_owned() })
        }
    }

    /// The text with these TOML values, one per place in the order of [`add`](Self::add).
    pub fn applied(&self, text: &str, values: &[String]) -> String {
        let mut out = String::with_capacity(text.len() + 32 * values.len());
        let mut from = 0;
        for &index in &self.order {
            let Place { span, before, after } = &self.places[index];
            out.push_str(&text[from..span.start]);
            out.push_str(before);
            out.push_str(&values[index]);
            out.push_str(after);
            from = span.end;
        }
        out.push_str(&text[from..]);
        out
    }
}

/// The place of a value that is written.
fn locate(text: &str, steps: &[Step]) -> Option<Range<usize>> {
    let root = DeTable::parse(text).ok()?.into_inner();
    let (first, rest) = steps.split_first()?;
    let Step::Key(key) = first else { return None };
    let mut value = root.get(key.as_str())?;
    for step in rest {
        value = next(value, step)?;
    }
    Some(value.span())
}

fn next<'a, 'i>(value: &'a Spanned<DeValue<'i>>, step: &Step) -> Option<&'a Spanned<DeValue<'i>>> {
    match (value.get_ref(), step) {
        (DeValue::Table(table), Step::Key(key)) => table.get(key.as_str()),
        (DeValue::Array(entries), Step::Entry(index)) => entries.get(*index),
        _ => None,
    }
}

/// Places to try: the value itself, or a new key in the nearest table around
/// it, or in one further out.
fn candidates(text: &str, steps: &[Step]) -> Vec<Place> {
    if let Some(span) = locate(text, steps) {
        return vec![Place { span, before: String::new(), after: "" }];
    }
    let mut places = Vec::new();
    for outer in (0..steps.len()).rev() {
        let keys: Option<Vec<&str>> = steps[outer..]
            .iter()
            .map(|step| match step {
                Step::Key(key) => Some(key.as_str()),
                Step::Entry(_) => None,
            })
            .collect();
        let Some(keys) = keys else { break };
        let key = keys.join(".");
        let place = if outer == 0 {
            let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
            Some(Place { span: start..start, before: format!("{key} = "), after: "\n" })
        } else {
            locate(text, &steps[..outer]).and_then(|span| inside(text, &span, &key))
        };
        places.extend(place);
    }
    places
}

/// A place for a new key in the table at `span`.
fn inside(text: &str, span: &Range<usize>, key: &str) -> Option<Place> {
    let table = text.get(span.clone())?;
    if let Some(rest) = table.strip_prefix('{') {
        let at = span.start + 1;
        let after = if rest.trim_start().starts_with('}') { " " } else { "," };
        return Some(Place { span: at..at, before: format!(" {key} = "), after });
    }
    if table.starts_with('[') {
        // Behind the line of the header.
        let line = text[span.start..].find('\n').map(|end| span.start + end + 1);
        return Some(match line {
            Some(at) => Place { span: at..at, before: format!("{key} = "), after: "\n" },
            None => {
                let at = text.len();
                Place { span: at..at, before: format!("\n{key} = "), after: "\n" }
            }
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(path: &str) -> Vec<Step> {
        path.split('.')
            .map(|step| match step.parse::<usize>() {
                Ok(index) => Step::Entry(index),
                Err(_) => Step::Key(step.to_owned()),
            })
            .collect()
    }

    fn edited(text: &str, values: &[(&str, &str)]) -> Result<String, EditError> {
        let mut edits = Edits::default();
        for (path, _) in values {
            edits.add(text, path, &steps(path))?;
        }
        let values: Vec<String> = values.iter().map(|(_, value)| (*value).to_owned()).collect();
        let text = edits.applied(text, &values);
        assert!(DeTable::parse(&text).is_ok(), "{text}");
        Ok(text)
    }

    const TEXT: &str = "top = 1\n[a] # first\nb = [1, 22]\nc = { d = \"3 kg\" }\n[[a.e]]\nf = 3\n";

    #[test]
    fn written_values_are_replaced_and_nothing_else() {
        let text = edited(TEXT, &[("a.c.d", "\"4 kg\""), ("a.b.1", "7"), ("a.e.0.f", "-1")]);
        let expected = TEXT.replace("22", "7").replace("3 kg", "4 kg").replace("f = 3", "f = -1");
        assert_eq!(text.unwrap(), expected);
    }

    #[test]
    fn absent_keys_are_added_where_their_table_is() {
        let text = edited(
            TEXT,
            &[("a.x", "1"), ("a.c.y", "2"), ("a.e.0.z", "3"), ("u.v", "4"), ("w", "5")],
        );
        assert_eq!(
            text.unwrap(),
            "u.v = 4\nw = 5\ntop = 1\n[a] # first\nx = 1\nb = [1, 22]\n\
             c = { y = 2, d = \"3 kg\" }\n[[a.e]]\nz = 3\nf = 3\n"
        );
        assert_eq!(edited("[a]", &[("a.b.c", "1")]).unwrap(), "[a]\nb.c = 1\n");
        assert_eq!(edited("a = {}\n", &[("a.b", "1")]).unwrap(), "a = { b = 1 }\n");
        // A table that only its children declare, and one of dotted keys.
        assert_eq!(edited("[a.b]\nc = 1\n", &[("a.d", "2")]).unwrap(), "a.d = 2\n[a.b]\nc = 1\n");
        assert_eq!(edited("a.b = 1\n", &[("a.c", "2")]).unwrap(), "a.c = 2\na.b = 1\n");
    }

    #[test]
    fn what_has_no_place_says_so() {
        let error = edited(TEXT, &[("a.b.5", "1")]).unwrap_err();
        assert_eq!(error, EditError::NoPlace { path: "a.b.5".into() });
        let error = edited(TEXT, &[("a.b", "1"), ("a.b.0", "1")]).unwrap_err();
        assert!(matches!(error, EditError::Conflict { .. }));
    }
}
