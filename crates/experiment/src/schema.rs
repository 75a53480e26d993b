//! The declarations as a JSON Schema, for editors that check TOML while it is typed.

use serde_json::{Map, Value, json};
use toml::de::DeValue;

use keys::describe::{Bounds, Choice, Count, Field, Need, Shape, Table};

use super::ROOT;

/// JSON Schema (draft 2020-12) of the experiment file.
///
/// Editors with taplo ("Even Better TOML") use it through a first line
/// `#:schema ./experiment.schema.json`. What a schema cannot say (units fit,
/// list lengths agree) is left to `twinrig check`.
pub fn json_schema() -> Value {
    let mut schema = table(&ROOT);
    let mut head = Map::new();
    head.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    head.insert("title".into(), json!("twinrig experiment"));
    if let Value::Object(body) = &mut schema {
        head.append(body);
    }
    Value::Object(head)
}

fn table(table: &'static Table) -> Value {
    let mut properties = Map::new();
    let mut rules = Vec::new();
    let mut required: Vec<&str> = needed(table.fields);
    if let Some(variants) = &table.variants {
        if variants.absent.is_none() {
            required.insert(0, variants.key);
        }
        let words: Vec<Value> = variants
            .of
            .iter()
            .map(|variant| json!({ "const": variant.word, "description": variant.doc }))
            .collect();
        let mut selector = json!({ "description": variants.doc, "oneOf": words });
        if let Some(word) = variants.absent {
            selector["default"] = json!(word);
        }
        properties.insert(variants.key.into(), selector);
        for variant in variants.of {
            let own = |key: &str| variant.fields.iter().any(|field| field.key == key);
            let foreign: Map<String, Value> = table
                .all_fields()
                .into_iter()
                .filter(|(field, words)| !words.is_empty() && !own(field.key))
                .map(|(field, _)| (field.key.to_owned(), json!(false)))
                .collect();
            // A key that other kinds have otherwise is said here.
            let own = variant.fields.iter().filter(|field| differs(table, field));
            let own = own.map(|field| (field.key.to_owned(), property(field)));
            let properties: Map<String, Value> = foreign.into_iter().chain(own).collect();
            let mut then = json!({ "required": needed(variant.fields), "properties": properties });
            let choices: Vec<Value> = variant.choices.iter().filter_map(choice).collect();
            if !choices.is_empty() {
                then["allOf"] = Value::Array(choices);
            }
            let key = variants.key;
            let word = variant.word;
            let mut condition = json!({ "properties": { key: { "const": word } } });
            if variants.absent != Some(word) {
                condition["required"] = json!([key]);
            }
            rules.push(json!({ "if": condition, "then": then }));
        }
    }
    for (field, _) in table.all_fields() {
        let said = if differs(table, field) {
            json!({ "description": field.doc })
        } else {
            property(field)
        };
        properties.insert(field.key.into(), said);
    }
    rules.extend(table.choices.iter().filter_map(choice));
    let mut object = json!({
        "type": "object",
        "description": table.doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    if !rules.is_empty() {
        object["allOf"] = Value::Array(rules);
    }
    object
}

/// Whether a key is not the same in all kinds of a table that have it.
fn differs(table: &Table, field: &'static Field) -> bool {
    let of = table.variants.iter().flat_map(|variants| variants.of);
    let mut same_key = of.flat_map(|variant| variant.fields).filter(|other| other.key == field.key);
    same_key.any(|other| property(other) != property(field))
}

fn needed(fields: &[Field]) -> Vec<&'static str> {
    fields.iter().filter(|field| field.need == Need::Required).map(|field| field.key).collect()
}

fn property(field: &'static Field) -> Value {
    let mut schema = shape(&field.shape);
    schema["description"] = json!(field.doc);
    if let Need::Default(text) = field.need {
        let value = DeValue::parse(text).expect("a declared default is a TOML value");
        schema["default"] = plain(value.get_ref());
    }
    schema
}

fn choice(choice: &Choice) -> Option<Value> {
    let keys = choice.of.iter().map(|alternative| alternative.key);
    let with_needs: Vec<Value> = choice
        .of
        .iter()
        .map(|alternative| {
            let mut keys = vec![alternative.key];
            keys.extend(alternative.needs);
            json!({ "required": keys })
        })
        .collect();
    match choice.count {
        Count::Exactly => Some(json!({ "oneOf": with_needs })),
        Count::AtLeast => Some(json!({ "anyOf": with_needs })),
        Count::AtMost => Some(json!({ "not": { "required": keys.collect::<Vec<_>>() } })),
    }
}

fn shape(shape: &'static Shape) -> Value {
    match shape {
        Shape::Text | Shape::File(_) | Shape::Unit(..) => {
            json!({ "type": "string", "minLength": 1 })
        }
        Shape::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Number(limits) => bounds(json!({ "type": "number" }), *limits),
        Shape::Quantity(kind, ..) => {
            json!({ "type": "string", "pattern": QUANTITY, "examples": [kind.example()] })
        }
        Shape::QuantityOrShare(kind, ..) => {
            json!({ "type": "string", "pattern": QUANTITY, "examples": [kind.example(), "33 %"] })
        }
        Shape::Ratio(limits) => {
            let number = bounds(json!({ "type": "number" }), *limits);
            json!({ "anyOf": [number, { "type": "string", "pattern": RATIO }], "examples": ["3 %"] })
        }
        Shape::Word(words) => {
            let words: Vec<Value> = words
                .iter()
                .map(|word| json!({ "const": word.word, "description": word.doc }))
                .collect();
            json!({ "oneOf": words })
        }
        Shape::Reference(_) => {
            json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string" }] })
        }
        Shape::List(entry, length) => json!({
            "type": "array",
            "items": self::shape(entry),
            "minItems": length.min,
            "maxItems": length.max,
        }),
        Shape::Rows => json!({
            "type": "array",
            "minItems": 1,
            "items": { "type": "array", "minItems": 1, "items": { "type": "number" } },
        }),
        Shape::Table(inner) => table(inner),
        Shape::Either(shapes) => {
            let shapes: Vec<Value> = shapes.iter().map(self::shape).collect();
            json!({ "anyOf": shapes })
        }
    }
}

/// A number and something behind it; which units fit is not a schema's business.
const QUANTITY: &str = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*[^0-9\s.,].*$|^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s+1/.*$";
const RATIO: &str = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*(%|ppm)?\s*$";

fn bounds(mut schema: Value, bounds: Bounds) -> Value {
    match bounds {
        Bounds::Any => {}
        Bounds::NotNegative => schema["minimum"] = json!(0),
        Bounds::Positive => schema["exclusiveMinimum"] = json!(0),
        Bounds::Within(least, most) => {
            schema["minimum"] = json!(least);
            schema["maximum"] = json!(most);
        }
    }
    schema
}

/// A TOML value as JSON.
pub(crate) fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(integer) => json!(integer.as_str().parse::<i64>().unwrap_or_default()),
        DeValue::Float(float) => json!(float.as_str().parse::<f64>().unwrap_or_default()),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::Datetime(date) => json!(date.to_string()),
        DeValue::Array(values) => values.iter().map(|value| plain(value.get_ref())).collect(),
        DeValue::Table(table) => {
            let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
                let key: &std::borrow::Cow<'_, str> = key.get_ref();
                (key.to_string(), plain(value.get_ref()))
            };
            Value::Object(table.iter().map(entry).collect())
        }
    }
}
