//! Texts of a file, fit to be quoted in a message.

/// Longest quotation.
const QUOTED: usize = 48;

/// A value fit to be quoted in a message: one line, no control characters, not too long.
pub fn shorten(text: &str) -> String {
    let mut short: String = printable(text).chars().take(QUOTED).collect();
    if text.chars().nth(QUOTED).is_some() {
        short.push('…');
    }
    short
}

/// A text that cannot move the cursor or colour the terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(plain).collect()
}

/// A character that cannot.
pub fn plain(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}
