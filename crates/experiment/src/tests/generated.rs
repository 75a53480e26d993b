//! What is generated from the declarations agrees with them.

use std::collections::BTreeSet;

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use toml::de::{DeTable, DeValue};

use keys::describe::{Count, Shape, Table};

use super::super::ROOT;
use super::super::reference::{EXAMPLE, reference_markdown};
use super::super::schema::{json_schema, plain};
use super::hostile::random_file;
use super::{BASE, changed};

/// Every key of the file.
fn keys(table: &'static Table, into: &mut BTreeSet<&'static str>) {
    into.extend(table.variants.iter().map(|variants| variants.key));
    for (field, _) in table.all_fields() {
        into.insert(field.key);
        shape_keys(&field.shape, into);
    }
    let variants = table.variants.iter().flat_map(|variants| variants.of);
    for choice in table.choices.iter().chain(variants.flat_map(|variant| variant.choices)) {
        let two_at_most = choice.count != Count::AtMost || choice.of.len() == 2;
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
fn the_schema_lists_exactly_the_declared_keys() {
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

/// Validates documents against the schema with an independent validator.
const VALIDATE: &str = "
import json, sys
try:
    import jsonschema
except ImportError:
    sys.exit(77)
data = json.load(sys.stdin)
jsonschema.Draft202012Validator.check_schema(data['schema'])
validator = jsonschema.Draft202012Validator(data['schema'])
for name, document, valid in data['documents']:
    errors = [error.message for error in validator.iter_errors(document)]
    if bool(errors) == valid:
        print(name, 'valid' if not errors else errors[:3])
";

#[test]
fn the_schema_agrees_with_the_walker() {
    let json_of =
        |text: &str| plain(&DeValue::Table(DeTable::parse(text).expect("TOML").into_inner()));
    let mut documents = vec![json!(["example", json_of(EXAMPLE), true])];
    for seed in 0..200 {
        documents.push(json!([format!("seed {seed}"), json_of(&random_file(seed)), true]));
    }
    for (old, new) in [
        ("\"40 s\"", "40"),
        ("\"40 s\"", "\"40\""),
        ("title = \"Base\"\n", ""),
        ("damping =", "dampping ="),
        ("\"rk4\"", "\"rk5\""),
        ("\"rk4\"", "\"rk4\"\niterations = 3"),
        ("rate = \"4096 Hz\"", ""),
        ("rate = \"4096 Hz\"", "rate = \"4096 Hz\"\nstep = \"1 ms\""),
        ("\"ideal\"", "\"delay\""),
        ("\"3 %\"", "3"),
        ("scale = 0.4", "scale = 0.4, peak = \"1 g\""),
        ("[1]", "[]"),
        ("[limits]", "[compensator]\nlower = [0, 0]\n[limits]"),
        ("[limits]", "[compensator]\nkind = \"adaptive_time_series\"\nlower = [0, 0]\n[limits]"),
    ] {
        documents.push(json!([new, json_of(&changed(old, new)), false]));
    }
    // A key may differ from kind to kind.
    for (kind, lower) in [("adaptive_inverse", "[0, 0, 0, 0]"), ("adaptive_model_based", "[0, 0]")]
    {
        let text = format!("{BASE}[compensator]\nkind = \"{kind}\"\nlower = {lower}\n");
        documents.push(json!([kind, json_of(&text), true]));
    }
    documents.push(json!(["base", json_of(BASE), true]));
    let input = json!({ "schema": json_schema(), "documents": documents }).to_string();
    let python = Command::new("python3")
        .args(["-c", VALIDATE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut python) = python else {
        println!("skipped: python3 is not installed");
        return;
    };
    // Without jsonschema the script ends before it reads; that is no failure.
    let _ = python.stdin.take().expect("pipe").write_all(input.as_bytes());
    let output = python.wait_with_output().expect("python3 runs");
    if output.status.code() == Some(77) {
        println!("skipped: python3 has no jsonschema");
        return;
    }
    let complaints = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
}
