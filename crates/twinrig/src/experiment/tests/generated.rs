//! What is generated from the grammar agrees with it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::grammar::{Count, ROOT, Shape, Table};
use super::super::reference::reference_markdown;
use super::super::schema::json_schema;

/// Every key of the grammar.
fn keys(table: &'static Table, into: &mut BTreeSet<&'static str>) {
    into.extend(table.variants.iter().map(|variants| variants.key));
    for (field, _) in table.all_fields() {
        into.insert(field.key);
        shape_keys(&field.shape, into);
    }
    let variants = table.variants.iter().flat_map(|variants| variants.of);
    for choice in table.choices.iter().chain(variants.flat_map(|variant| variant.choices)) {
        let two_at_most = choice.count != Count::AtMostOne || choice.of.len() == 2;
        assert!(two_at_most, "the schema expresses `at most one` for two keys only");
    }
}

fn shape_keys(shape: &'static Shape, into: &mut BTreeSet<&'static str>) {
    match shape {
        Shape::Table(table) => keys(table, into),
        Shape::List(entry, _) => shape_keys(entry, into),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| shape_keys(shape, into)),
        _ => {}
    }
}

fn properties(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Object(properties)) = map.get("properties") {
                into.extend(properties.keys().cloned());
            }
            map.values().for_each(|value| properties(value, into));
        }
        Value::Array(values) => values.iter().for_each(|value| properties(value, into)),
        _ => {}
    }
}

#[test]
fn the_schema_lists_exactly_the_keys_of_the_grammar() {
    let schema = json_schema();
    let text = serde_json::to_string(&schema).expect("JSON");
    let again: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(again, schema);
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["properties"]["seed"]["default"], 1);
    assert_eq!(schema["properties"]["compensator"]["default"]["kind"], "none");
    let mut known = BTreeSet::new();
    keys(&ROOT, &mut known);
    let mut listed = BTreeSet::new();
    properties(&schema, &mut listed);
    let listed: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    assert_eq!(listed, known);
}

#[test]
fn the_reference_names_every_key() {
    let mut known = BTreeSet::new();
    keys(&ROOT, &mut known);
    let text = reference_markdown();
    for key in known {
        assert!(text.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn the_committed_reference_is_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiment-file.md");
    let generated = reference_markdown();
    if std::env::var_os("TWINRIG_BLESS").is_some() {
        std::fs::write(path, &generated).expect("write the reference");
    }
    let committed = std::fs::read_to_string(path).expect("docs/experiment-file.md");
    assert!(
        committed == generated,
        "docs/experiment-file.md is out of date; run the tests once with TWINRIG_BLESS=1"
    );
}
