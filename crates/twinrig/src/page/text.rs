//! Text that came from a record, made safe to show, and numbers for people.
//!
//! Whatever a record says may be hostile: it is shown, never interpreted.

pub use crate::words::{number, plus_minus};

/// The longest text shown in a heading, a cell or a legend.
const LABEL: usize = 120;

/// `text` with every control and direction-changing character replaced, so that
/// it can neither drive a terminal nor display as something else. Line breaks
/// and tabs stay.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if is_disruptive(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn is_disruptive(c: char) -> bool {
    let direction =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    direction || (c.is_control() && c != '\n' && c != '\t')
}

/// One short line: [`plain`], without line breaks, cut with an ellipsis.
pub fn label(text: &str) -> String {
    label_of(text, LABEL)
}

/// The same, of at most so many characters.
pub fn label_of(text: &str, most: usize) -> String {
    let mut chars = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let mut short: String = chars.by_ref().take(most).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    plain(short.trim())
}

/// `text` for HTML, as content or inside a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for c in plain(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON for a `<script>` element: no character in it can end the element or
/// open a comment, and it still parses to the same value.
pub fn script_json(value: &serde_json::Value) -> String {
    let mut json = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' => json.push_str("\\u003c"),
            '>' => json.push_str("\\u003e"),
            '&' => json.push_str("\\u0026"),
            '\u{2028}' => json.push_str("\\u2028"),
            '\u{2029}' => json.push_str("\\u2029"),
            c => json.push(c),
        }
    }
    json
}

/// A number as print has it: a true minus, and powers of ten in the place of `e`. Words
/// around it stay.
pub fn pretty(text: &str) -> String {
    let minus = |at: usize, before: Option<char>| {
        let follows = text[at + 1..].starts_with(|c: char| c.is_ascii_digit());
        follows && before.is_none_or(|c| c == ' ' || c == '(' || c == '±')
    };
    let (mut pretty, mut before) = (String::with_capacity(text.len()), None);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match exponent(&text[at..]).filter(|_| before.is_some_and(|b: char| b.is_ascii_digit())) {
            Some(digits) => {
                pretty.push_str("×10");
                for _ in 0..digits {
                    let Some((_, digit)) = chars.next() else { break };
                    let place = "-0123456789".find(digit);
                    pretty.extend(place.and_then(|place| "⁻⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(place)));
                }
            }
            None if c == '-' && minus(at, before) => pretty.push('−'),
            None => pretty.push(c),
        }
        before = Some(c);
    }
    pretty
}

/// How many characters of an exponent follow the `e` that `text` starts with.
fn exponent(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('e')?;
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let count = unsigned.chars().take_while(char::is_ascii_digit).count();
    let ends = unsigned[count..].chars().next().is_none_or(|c| !c.is_alphanumeric());
    (count > 0 && ends).then_some(count + digits.len() - unsigned.len())
}

/// A unit with the prefix that suits values up to `peak`, and the factor from SI to it.
pub fn prefixed(unit: &str, peak: f64) -> (String, f64) {
    let symbol = unit.split(['/', ' ', '²', '³']).next().unwrap_or_default();
    // A prefix before a power would be raised with it.
    let raised = unit[symbol.len()..].starts_with(['²', '³']);
    if raised
        || !["m", "s", "N", "J", "Pa", "W", "V"].contains(&symbol)
        || peak.is_nan()
        || peak <= 0.0
    {
        return (unit.to_owned(), 1.0);
    }
    let prefixes = [
        ("µ", 1e-6, 0.0),
        ("m", 1e-3, 1e-4),
        ("", 1.0, 1.0),
        ("k", 1e3, 1e4),
        ("M", 1e6, 1e6),
        ("G", 1e9, 1e9),
    ];
    let fits = prefixes.iter().rev().find(|(_, _, from)| peak >= *from).unwrap_or(&prefixes[2]);
    (format!("{}{unit}", fits.0), 1.0 / fits.1)
}

/// A number with its unit, prefixed so that it suits; a dash where there is none.
pub fn quantity(value: Option<f64>, unit: &str) -> String {
    let (unit, scale) = prefixed(unit, value.unwrap_or(0.0).abs());
    let value = number_or_dash(value.map(|value| scale * value));
    format!("{value} {unit}").trim_end().to_owned()
}

/// A number if there is one, else a dash.
pub fn number_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}

/// A time in seconds to the millisecond.
pub fn seconds(value: f64) -> String {
    if value.is_finite() { format!("{value:.3} s") } else { "an unknown time".to_owned() }
}

/// The text as the start of a sentence, without a full stop at its end.
pub fn sentence(text: &str) -> String {
    // A reason is never cut short of its end.
    let text = label_of(text, 1000);
    let text = text.trim_end_matches('.');
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => "A trip without a stated reason".to_owned(),
    }
}

/// A count with thin spaces between groups of three digits.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() * 2);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 frame`, `2 frames`.
pub fn counted(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_have_thin_spaces() {
        assert_eq!(counted(163_840, "frame"), "163\u{202f}840 frames");
        assert_eq!(counted(1, "frame"), "1 frame");
    }

    #[test]
    fn numbers_are_set_as_in_print() {
        let cases = [
            ("-1.500e-7 m", "−1.500×10⁻⁷ m"),
            ("2.000e12", "2.000×10¹²"),
            ("1.2 ± -3", "1.2 ± −3"),
            ("2e3e-mail the-1 1e", "2e3e-mail the-1 1e"),
            ("", ""),
        ];
        for (text, set) in cases {
            assert_eq!(pretty(text), set);
        }
    }

    #[test]
    fn a_prefix_suits_its_values() {
        let of = |unit: &str, peak: f64| prefixed(unit, peak).0;
        assert_eq!([of("N/m", 1.15e6), of("m", 3e-3), of("s", 2e-5)], ["MN/m", "mm", "µs"]);
        assert_eq!([of("m²", 3e-3), of("kg", 3e7), of("%", 0.1)], ["m²", "kg", "%"]);
        assert_eq!((of("m", 0.0), prefixed("N", 2e4).1), ("m".to_owned(), 1e-3));
    }

    #[test]
    fn nothing_escapes() {
        assert_eq!(escape("<b a='1' c=\"2\">&"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;");
        assert_eq!(plain("a\u{1b}[31mb\u{202e}\n"), "a\u{fffd}[31mb\u{fffd}\n");
        assert_eq!(label("two\r\nlines"), "two  lines");
        assert_eq!(label(&"x".repeat(500)).chars().count(), LABEL + 1);
    }

    proptest! {
        #[test]
        fn script_json_stays_inside_its_element_and_keeps_its_value(text in any::<String>()) {
            let value = serde_json::json!({ "text": format!("</script><!--{text}") });
            let json = script_json(&value);
            prop_assert!(!json.contains('<') && !json.contains('>'));
            let back: serde_json::Value = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(back, value);
        }

        #[test]
        fn escaped_text_holds_no_markup(text in any::<String>()) {
            let escaped = escape(&text);
            let markup = ['<', '>', '"', '\'', '\u{1b}'];
            prop_assert!(!escaped.contains(markup));
        }
    }
}
