//! Values in the text of an experiment.

use experiment::sweep::with_value;
use runtime::link::Token;

/// Whether a text has a value at `path`: then nothing but the value changes.
pub(crate) fn is_written(text: &str, path: &str) -> bool {
    const OTHER: &str = "\"another value\"";
    let edited = with_value(text, path, OTHER).unwrap_or_default();
    edited.split_once(OTHER).is_some_and(|(before, _)| text.starts_with(before))
}

/// The text with the token's hash in its place: whoever can read a record shall not drive the
/// bench.
pub(crate) fn without_token(text: &str, token: &Token) -> String {
    const TOKEN: &str = "rig.token";
    let hash = format!("\"hash {}\"", token.hash());
    let hidden = is_written(text, TOKEN).then(|| with_value(text, TOKEN, &hash).ok()).flatten();
    hidden.unwrap_or_else(|| text.to_owned())
}
