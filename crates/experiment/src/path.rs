//! Finds a value in the text of an experiment by its path.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// A place found by [`locate`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub span: Range<usize>,
    /// The whole path was there, not only its beginning.
    pub exact: bool,
}

/// The place of the value at `path`, such as `partition.mass[0]`, or of the
/// nearest table around it. `None` if not even its first key is there.
///
/// The text is parsed anew: diagnostics are rare, and a table of places for
/// every entry of a large matrix would be kept for nothing.
pub(crate) fn locate(text: &str, path: &str) -> Option<Found> {
    let root = DeTable::parse(text).ok()?.into_inner();
    let mut steps = path.split(['.', '[']).map(|step| step.trim_end_matches(']'));
    let mut value = root.get(steps.next()?)?;
    for step in steps {
        let next = match value.get_ref() {
            DeValue::Table(table) => table.get(step),
            DeValue::Array(entries) => {
                step.parse::<usize>().ok().and_then(|index| entries.get(index))
            }
            _ => None,
        };
        match next {
            Some(inner) => value = inner,
            None => return Some(Found { span: value.span(), exact: false }),
        }
    }
    Some(Found { span: value.span(), exact: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[a]\nb = [1, 22]\n[[a.c]]\nd = 3\n[[a.c]]\nd = 44\n";

    #[test]
    fn paths_lead_to_values() {
        let text = |path| locate(TEXT, path).map(|found| (&TEXT[found.span], found.exact));
        assert_eq!(text("a.b[1]"), Some(("22", true)));
        assert_eq!(text("a.c[1].d"), Some(("44", true)));
        assert_eq!(text("a.c[0].missing"), Some(("[[a.c]]", false)));
        assert_eq!(text("a.b[9]"), Some(("[1, 22]", false)));
        assert_eq!(text("a.b[x"), Some(("[1, 22]", false)));
        assert_eq!(text("z"), None);
        assert_eq!(text(""), None);
    }
}
