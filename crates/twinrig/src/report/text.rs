//! Text that came from a record, made safe to show, and numbers for people.
//!
//! Whatever a record says may be hostile: it is shown, never interpreted.

/// The longest text shown in a heading, a cell or a legend.
const LABEL: usize = 120;

/// `text` with every control and direction-changing character replaced, so that
/// it can neither drive a terminal nor display as something else. Line breaks
/// and tabs stay.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|c| if is_disruptive(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn is_disruptive(c: char) -> bool {
    let direction =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    direction || (c.is_control() && c != '\n' && c != '\t')
}

/// One short line: [`plain`], without line breaks, cut with an ellipsis.
pub fn label(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let mut short: String = chars.by_ref().take(LABEL).collect();
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
pub(super) fn script_json(value: &serde_json::Value) -> String {
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

/// A number to four significant digits.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if (-3..7).contains(&magnitude) {
        format!("{value:.*}", (3 - magnitude).max(0) as usize)
    } else {
        format!("{value:.3e}")
    }
}

/// A value with the half-width of its interval, both to the half-width's second
/// digit.
pub fn plus_minus(value: f64, half_width: f64) -> String {
    if !half_width.is_finite() || half_width <= 0.0 {
        return format!("{value:.4}");
    }
    let digits = (1.0 - half_width.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.digits$} ± {half_width:.digits$}")
}

/// A number if there is one, else a dash.
pub(super) fn number_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}

/// A time in seconds to the millisecond.
pub(super) fn seconds(value: f64) -> String {
    if value.is_finite() { format!("{value:.3} s") } else { "an unknown time".to_owned() }
}

/// A count with thin spaces between groups of three digits.
pub(super) fn count(value: u64) -> String {
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
pub(super) fn counted(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_four_digits() {
        let cases = [
            (0.0, "0"),
            (72.5412, "72.54"),
            (-0.0101234, "-0.01012"),
            (4096.0, "4096"),
            (123456.0, "123456"),
            (1.5e-7, "1.500e-7"),
            (2e12, "2.000e12"),
            (f64::NAN, "not a number"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(counted(163_840, "frame"), "163\u{202f}840 frames");
        assert_eq!(counted(1, "frame"), "1 frame");
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
