//! Checks "exactly one of these keys" and its relatives.

use std::ops::Range;

use toml::de::DeTable;

use super::diagnostic::Diagnostic;
use super::spelling::listed;
use keys::describe::{Alternative, Choice, Count};

/// What is wrong with the choice made in `toml`, a table called `title` at `span`.
pub(crate) fn check(
    choice: &Choice,
    toml: &DeTable<'_>,
    title: &str,
    span: Option<Range<usize>>,
) -> Vec<Diagnostic> {
    let has = |key: &str| toml.contains_key(key);
    let place = |key: &str| toml.get_key_value(key).map(|(key, _)| key.span());
    let chosen: Vec<&Alternative> =
        choice.of.iter().filter(|alternative| has(alternative.key)).collect();
    let keys = || choice.of.iter().map(|alternative| alternative.key);
    match (choice.count, chosen.as_slice()) {
        (Count::AtMost, []) => Vec::new(),
        (_, []) => vec![none_chosen(choice, toml, title, span)],
        (Count::AtLeast, _) => Vec::new(),
        (_, [one]) => {
            let missing = one.needs.iter().filter(|key| !has(key)).map(|key| {
                let mut error = Diagnostic::error(format!("`{}` needs `{key}` beside it", one.key))
                    .remedy(format!("add `{key}` to {title}"));
                error.span = place(one.key);
                error
            });
            let strangers = strangers(choice, one).filter(|key| has(key)).map(|key| {
                let hosts = hosts(choice, key);
                let mut error =
                    Diagnostic::error(format!("`{key}` does not go with `{}`", one.key))
                        .remedy(format!("remove it; it goes with {}", listed(hosts, "or")));
                error.span = place(key);
                error
            });
            missing.chain(strangers).collect()
        }
        (_, [.., last]) => {
            let given = listed(chosen.iter().map(|alternative| alternative.key), "and");
            let mut error = Diagnostic::error(format!("{given} exclude one another in {title}"))
                .remedy(format!("keep one of {}", listed(keys(), "or")));
            error.span = place(last.key);
            vec![error]
        }
    }
}

/// At least one of the alternatives is there.
pub(crate) fn is_made(choice: &Choice, toml: &DeTable<'_>) -> bool {
    choice.of.iter().any(|alternative| toml.contains_key(alternative.key))
}

fn none_chosen(
    choice: &Choice,
    toml: &DeTable<'_>,
    title: &str,
    span: Option<Range<usize>>,
) -> Diagnostic {
    // A key that only makes sense beside an alternative tells what was meant.
    let hint = choice
        .of
        .iter()
        .flat_map(|alternative| alternative.needs.iter().chain(alternative.allows))
        .find_map(|key| toml.get_key_value(*key).map(|(spanned, _)| (*key, spanned.span())));
    if let Some((key, span)) = hint {
        let hosts = listed(hosts(choice, key), "or");
        return Diagnostic::error(format!("`{key}` alone is not enough in {title}"))
            .at(span)
            .remedy(format!("it goes with {hosts}, which is missing"));
    }
    let ways: Vec<String> = choice
        .of
        .iter()
        .map(|alternative| {
            let needs = alternative.needs.iter().map(|key| format!(" with `{key}`"));
            format!("`{}`{}", alternative.key, needs.collect::<String>())
        })
        .collect();
    let count = match choice.count {
        Count::AtLeast => "at least one",
        Count::Exactly | Count::AtMost => "exactly one",
    };
    let mut error = Diagnostic::error(format!("{title} needs {count} of {}", ways.join(", ")))
        .remedy(format!("add {}", ways.join(" or ")));
    error.span = span;
    error
}

/// Keys that belong to other alternatives than `one`.
fn strangers<'a>(
    choice: &'a Choice,
    one: &'a Alternative,
) -> impl Iterator<Item = &'static str> + 'a {
    let mut seen = Vec::new();
    choice
        .of
        .iter()
        .flat_map(|other| other.needs.iter().chain(other.allows))
        .copied()
        .filter(move |key| !one.needs.contains(key) && !one.allows.contains(key))
        .filter(move |key| {
            let new = !seen.contains(key);
            seen.push(key);
            new
        })
}

/// Keys of the alternatives that `key` goes with.
fn hosts<'a>(choice: &'a Choice, key: &'a str) -> impl Iterator<Item = &'static str> + 'a {
    choice
        .of
        .iter()
        .filter(move |other| other.needs.contains(&key) || other.allows.contains(&key))
        .map(|other| other.key)
}
