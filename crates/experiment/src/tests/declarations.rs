//! The declarations hold together.

use keys::describe::{Field, Need, Shape, Table};

use toml::de::DeTable;

use super::super::ROOT;
use super::super::diagnostic::Diagnostics;
use super::super::walker::walk;
use super::Shelf;

fn visit(table: &'static Table, path: &str, see: &mut impl FnMut(&str, &'static Table)) {
    see(path, table);
    for (field, _) in table.all_fields() {
        visit_shape(&field.shape, &format!("{path}.{}", field.key), see);
    }
}

fn visit_shape(shape: &'static Shape, path: &str, see: &mut impl FnMut(&str, &'static Table)) {
    match shape {
        Shape::Table(table) => visit(table, path, see),
        Shape::List(inner, _) => visit_shape(inner, path, see),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| visit_shape(shape, path, see)),
        _ => {}
    }
}

/// The kinds of a table with their fields, those of all kinds included.
fn kinds(table: &'static Table) -> Vec<Vec<&'static Field>> {
    let common = || table.fields.iter();
    match &table.variants {
        None => vec![common().collect()],
        Some(variants) => {
            variants.of.iter().map(|kind| common().chain(kind.fields).collect()).collect()
        }
    }
}

#[test]
fn a_key_stands_once_in_a_table() {
    visit(&ROOT, "", &mut |path, table| {
        for fields in kinds(table) {
            let mut seen: Vec<&str> = table.variants.iter().map(|variants| variants.key).collect();
            for field in fields {
                assert!(!seen.contains(&field.key), "{path}.{} twice", field.key);
                seen.push(field.key);
            }
        }
    });
}

#[test]
fn alternatives_name_keys_that_exist_and_are_not_required_alone() {
    visit(&ROOT, "", &mut |path, table| {
        let variants = table.variants.iter().flat_map(|variants| variants.of);
        let choices = table.choices.iter().chain(variants.flat_map(|variant| variant.choices));
        for alternative in choices.flat_map(|choice| choice.of) {
            let keys = alternative.needs.iter().chain(alternative.allows);
            for key in keys.chain([&alternative.key]) {
                let field = table.all_fields().into_iter().find(|(field, _)| field.key == *key);
                let (field, _) = field.unwrap_or_else(|| panic!("{path}.{key} is unknown"));
                assert_ne!(field.need, Need::Required, "{path}.{key}");
            }
        }
    });
}

#[test]
fn an_absent_word_is_one_of_the_words() {
    visit(&ROOT, "", &mut |path, table| {
        let variants = table.variants.iter();
        for (word, of) in variants.filter_map(|variants| Some((variants.absent?, variants.of))) {
            assert!(of.iter().any(|variant| variant.word == word), "{path}: {word}");
        }
    });
}

#[test]
fn every_default_is_read() {
    let mut seen = 0;
    visit(&ROOT, "", &mut |path, table| {
        for field in kinds(table).into_iter().flatten() {
            let Need::Default(text) = field.need else { continue };
            let alone: &'static [Field] = vec![*field].leak();
            let lone = Table { doc: "", fields: alone, choices: &[], variants: None, checks: &[] };
            let mut found = Diagnostics::new("default.toml", text);
            let read = walk(Box::leak(Box::new(lone)), &DeTable::new(), &Shelf, &mut found);
            assert!(found.is_empty(), "{path}.{}: {found}", field.key);
            assert!(read.node(field.key).is_some(), "{path}.{}", field.key);
            seen += 1;
        }
    });
    assert!(seen > 100, "{seen}");
}

#[test]
fn every_key_and_table_is_documented_with_a_sentence() {
    visit(&ROOT, "", &mut |path, table| {
        assert!(table.doc.ends_with('.'), "{path}: {}", table.doc);
        for (field, _) in table.all_fields() {
            assert!(field.doc.ends_with('.'), "{path}.{}", field.key);
            assert!(field.key.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        }
    });
}
