//! Files made to break the reader, and random ones made from the declarations.

use proptest::prelude::*;

use super::super::Experiment;
use keys::describe::{Choice, Count, Field, Need, Shape, Table};

use super::super::ROOT;
use super::super::reference::EXAMPLE;
use super::{BASE, FILES, Shelf, read};

fn survives(text: &str) {
    match read(text) {
        Ok((experiment, warnings)) => {
            let _ = (experiment.ticks(), warnings.to_string());
        }
        Err(errors) => {
            assert!(errors.has_errors());
            let _ = (errors.to_string(), errors.to_json());
        }
    }
}

#[test]
fn extremes_are_refused_politely() {
    for text in [
        String::new(),
        "\u{feff}".to_owned() + BASE,
        BASE.replace('\n', "\r\n"),
        "[".repeat(100_000),
        format!("a = {}", "[".repeat(10_000)),
        format!("a = {}1{}", "{ b = ".repeat(60), " }".repeat(60)),
        format!("{} = 1", "k".repeat(100_000)),
        format!("title = \"{}\"", "x".repeat(1_000_000)),
        BASE.replace("\"40 s\"", &format!("\"{} s\"", "9".repeat(10_000))),
        BASE.replace("\"40 s\"", "99999999999999999999999999999999999999999999999"),
        BASE.replace("[1]", "[9223372036854775807]"),
        BASE.replace("[1]", &format!("[{}]", "1, ".repeat(100_000))),
        BASE.replace("rows = [[3", "rows = [[1e308, 1e999, 0x7fffffffffffffff], [3"),
        BASE.replace("\"N/m\", rows = [[3, -1, 0]", "\"GN/m\", rows = [[1e308, -1, 0]"),
        BASE.replace("\"4096 Hz\"", "\"1e-320 Hz\""),
        "title = \"\u{1b}[31m\u{202e}\"\n\u{7}".to_owned(),
    ] {
        survives(&text);
    }
}

#[test]
fn a_flood_of_errors_stays_readable() {
    let text = BASE.replace("[\"29.1 kg\"]", &format!("[{}]", "1, ".repeat(64)))
        + &(0..50_000).map(|n| format!("k{n} = 1\n")).collect::<String>();
    let found = read(&text).expect_err("many errors");
    assert!(found.items().len() <= 100);
    assert!(found.to_string().contains("more"), "{found}");
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_fine() {
    assert!(read(&("\u{feff}".to_owned() + BASE)).is_ok());
    let text = BASE.replace('\n', "\r\n").replace("rk4", "rk5");
    let found = read(&text).expect_err("rk5");
    assert!(found.to_string().contains("test.toml:15:10\n   |  method = \"rk5\"\n"), "{found}");
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_damaged_file_never_panics(
        place in any::<prop::sample::Index>(),
        length in 0usize..40,
        patch in "[-0-9a-z\"'={}\\[\\]., %\n]{0,12}",
    ) {
        let mut text: Vec<char> = EXAMPLE.chars().collect();
        let start = place.index(text.len());
        let end = (start + length).min(text.len());
        text.splice(start..end, patch.chars());
        survives(&text.into_iter().collect::<String>());
    }

    #[test]
    fn swapped_values_never_panic(
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) {
        // Every value put in place of every other: right syntax, wrong sense.
        let values: Vec<(usize, &str)> = EXAMPLE
            .match_indices("= ")
            .filter_map(|(at, _)| {
                let rest = &EXAMPLE[at + 2..];
                Some((at + 2, &rest[..rest.find('\n')?]))
            })
            .collect();
        let (at, old) = values[to.index(values.len())];
        let (_, new) = values[from.index(values.len())];
        let text = format!("{}{new}{}", &EXAMPLE[..at], &EXAMPLE[at + old.len()..]);
        survives(&text);
    }
}

/// Files written by dice from the declarations: the walker must have nothing to say
/// about them, and those that pass the cross checks must be built whole.
#[test]
fn whatever_the_declarations_allow_is_read_or_refused_with_reason() {
    let mut accepted = 0;
    for seed in 0..8000 {
        let text = random_file(seed);
        match Experiment::from_text("random.toml", &text, &Shelf) {
            Ok(_) => accepted += 1,
            Err(errors) => {
                let rendered = errors.to_string();
                for word in ["unknown key", "lacks", "no unit", "TOML", "not a list", "cannot be"] {
                    assert!(!rendered.contains(word), "seed {seed}: {rendered}\n{text}");
                }
            }
        }
    }
    assert!(accepted >= 200, "only {accepted} of 8000 reached the typed experiment");
}

/// A file that obeys the declarations, the same one for the same seed.
pub(super) fn random_file(seed: u64) -> String {
    let text = write_table(&ROOT, &mut Dice(seed));
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    top_level(inner.expect("a table"))
}

/// Splits the inside of an inline table at its own commas.
fn top_level(text: &str) -> String {
    let (mut depth, mut quoted, mut out) = (0, false, String::new());
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            _ => {}
        }
        out.push(if c == ',' && depth == 0 && !quoted { '\n' } else { c });
    }
    out
}

/// What a structure without a mesh is made by.
const BUILDERS: [&str; 3] = ["shear_building", "chain", "beam"];

/// A random inline table that obeys the declarations.
fn write_table(table: &'static Table, dice: &mut Dice) -> String {
    let mut entries = Vec::new();
    let mut fields: Vec<&Field> = table.fields.iter().collect();
    let mut choices: Vec<&Choice> = table.choices.iter().collect();
    if let Some(variants) = &table.variants {
        let variant = &variants.of[dice.below(variants.of.len())];
        entries.push(format!("{} = \"{}\"", variants.key, variant.word));
        fields.extend(variant.fields);
        choices.extend(variant.choices);
    }
    let mut wanted: Vec<&str> = Vec::new();
    let mut banned: Vec<&str> = Vec::new();
    for choice in choices {
        // Components call one another by names that dice do not find.
        let one_piece = choice.of[0].key == "structure" && dice.below(32) > 0;
        let chosen = &choice.of[if one_piece { 0 } else { dice.below(choice.of.len()) }];
        wanted.push(chosen.key);
        wanted.extend(chosen.needs);
        for other in choice.of.iter().filter(|other| other.key != chosen.key) {
            if choice.count != Count::AtLeast {
                banned.push(other.key);
            }
            let theirs = other.needs.iter().chain(other.allows);
            banned.extend(
                theirs.filter(|key| !chosen.needs.contains(key) && !chosen.allows.contains(key)),
            );
        }
    }
    if !wanted.contains(&"component") {
        banned.push("component");
    }
    // A point belongs to a mesh.
    if wanted.contains(&"stiffness") || wanted.iter().any(|key| BUILDERS.contains(key)) {
        banned.push("point");
    }
    for field in fields {
        let must = field.need == Need::Required || wanted.contains(&field.key);
        if !banned.contains(&field.key) && (must || dice.below(3) == 0) {
            // Times that fit together, so that most files pass the cross checks.
            let value = match field.key {
                "duration" => "\"30 s\"".to_owned(),
                "rate" if wanted.contains(&"rate") => "\"100 Hz\"".to_owned(),
                "poisson" => "0.3".to_owned(),
                "step" if wanted.contains(&"step") => "\"10 ms\"".to_owned(),
                _ => write_value(&field.shape, 0, dice),
            };
            entries.push(format!("{} = {value}", field.key));
        }
    }
    format!("{{{}}}", entries.join(", "))
}

/// A random value; `place` is its place in a list, from 0.
fn write_value(shape: &'static Shape, place: usize, dice: &mut Dice) -> String {
    match shape {
        Shape::Text => "\"text\"".into(),
        Shape::Count { min, max } => (min + place as u64).max(1).min(*max).to_string(),
        Shape::Number(_) => "1.0".into(),
        Shape::Ratio(_) => "\"50 %\"".into(),
        Shape::Quantity(kind, ..) => format!("\"{} {}\"", place + 1, kind.si_unit()),
        Shape::QuantityOrShare(..) => "\"30 %\"".into(),
        Shape::Unit(kind, _) => format!("\"{}\"", kind.si_unit()),
        Shape::Word(words) => format!("\"{}\"", words[dice.below(words.len())].word),
        Shape::Reference(to) => match (to.or, place) {
            (Some(word), 0) => format!("\"{word}\""),
            _ => "1".into(),
        },
        Shape::File([]) => "\"kobe.csv\"".into(),
        Shape::File(extensions) => {
            let name = FILES.iter().find(|name| extensions.iter().any(|e| name.ends_with(e)));
            format!("\"{}\"", name.expect("a file of that kind"))
        }
        Shape::List(entry, length) => {
            let count = length.min.max(1 + dice.below(8) / 7);
            let entries: Vec<String> =
                (0..count).map(|place| write_value(entry, place, dice)).collect();
            format!("[{}]", entries.join(", "))
        }
        Shape::Rows => "[[1]]".into(),
        Shape::Table(table) => write_table(table, dice),
        Shape::Either(shapes) => write_value(&shapes[dice.below(shapes.len())], place, dice),
    }
}

/// A die whose throws follow from a seed (splitmix64), so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % limit as u64) as usize
    }
}
