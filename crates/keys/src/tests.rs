//! Declared types, from their description to their values.

use std::collections::BTreeMap;

use crate::describe::{Bounds, Count, Length, Need, Shape, Table};
use crate::quantity::{Kind, Motion};
use crate::tree::{Branch, Node, Origin, Value};
use crate::value::OneOrEach;
use crate::{Keys, Placed, Stated};

/// A pump.
///
/// This is for readers of the code.
#[derive(Debug, PartialEq, Keys)]
struct Pump {
    /// How it is driven.
    #[key(flatten)]
    drive: Drive,
    /// How fast it turns.
    #[key(flatten)]
    speed: Speed,
    /// When it \[stops\].
    #[key(flatten)]
    end: Option<End>,
    /// Largest pressure.
    #[key(pressure, positive, default = "2 bar")]
    limit_pa: f64,
    /// Widths of its blades.
    #[key(length, not_negative, entries = 1..=3)]
    widths_m: OneOrEach,
    /// Names.
    #[key(text, entries = 1..=9, optional)]
    names: Vec<String>,
    /// Whether it is watched.
    #[key(default = { level = -0.5, at = [1, 2] })]
    watch: Stated<Watch>,
    /// What is never written.
    #[key(skip = 7)]
    serial: u32,
}

/// The kind of drive.
#[derive(Debug, PartialEq, Keys)]
#[key(tag = "kind", absent = "by_hand")]
enum Drive {
    /// A crank.
    ByHand,
    /// An electric motor.
    Motor {
        /// Poles.
        #[key(count = 2..=8)]
        poles: u8,
        /// How it is wound.
        #[key(default = "star-wound")]
        winding: Winding,
    },
    /// Something else that turns.
    #[key(word = "turbine")]
    Wheel(Wheel),
}

#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(dashed)]
enum Winding {
    /// In a star.
    StarWound,
    /// In a triangle.
    DeltaWound,
}

/// A wheel.
#[derive(Debug, PartialEq, Keys)]
struct Wheel {
    /// Its radius.
    #[key(length, positive, at_least_one)]
    radius_m: Option<f64>,
    /// Its mass.
    #[key(mass, positive, at_least_one)]
    mass_kg: Option<f64>,
}

/// How fast.
#[derive(Debug, PartialEq, Keys)]
#[key(one_of)]
enum Speed {
    /// Turns per second.
    #[key(frequency, positive)]
    Rate(f64),
    /// From a table.
    Table {
        /// The file.
        #[key(file = &["csv"])]
        file: String,
        /// Its column, by number or name.
        column: Column,
        /// Factor on it.
        #[key(number)]
        scale: Option<f64>,
    },
}

#[derive(Debug, PartialEq, Keys)]
#[key(either)]
enum Column {
    /// By number.
    #[key(count = 1..=99)]
    Number(usize),
    /// By name.
    #[key(text)]
    Name(String),
}

/// When it stops.
#[derive(Debug, PartialEq, Keys)]
#[key(one_of)]
enum End {
    /// At this time.
    #[key(time, positive)]
    Until(f64),
    /// After this time.
    #[key(time, positive)]
    Duration(f64),
}

/// A watch.
#[derive(Debug, PartialEq, Keys)]
struct Watch {
    /// What it looks at.
    #[key(ratio, within = -1.0..=1.0, flatten)]
    levels: Levels,
    /// Where.
    #[key(count = 1..=9)]
    at: [usize; 2],
}

/// Levels of what the place says.
#[derive(Debug, PartialEq, Keys)]
#[key(given)]
struct Levels {
    /// The one.
    #[key(given)]
    level: f64,
    /// The other.
    #[key(given, positive)]
    more: Option<f64>,
}

fn node(value: Value) -> Node {
    Node { span: 3..5, origin: Origin::Given, value }
}

fn branch(entries: &[(&'static str, Value)]) -> Branch {
    let entries: BTreeMap<_, _> =
        entries.iter().map(|(key, value)| (*key, node(value.clone()))).collect();
    Branch { entries, ..Branch::default() }
}

fn watch() -> (&'static str, Value) {
    let at = vec![node(Value::Count(1)), node(Value::Count(2))];
    ("watch", Value::Table(branch(&[("level", Value::Number(-0.5)), ("at", Value::List(at))])))
}

fn field(table: &'static Table, key: &str) -> crate::describe::Field {
    let found = table.all_fields().into_iter().find(|(field, _)| field.key == key);
    *found.unwrap_or_else(|| panic!("no {key}")).0
}

#[test]
fn a_struct_describes_its_keys_in_their_order() {
    let table: &'static Table = Box::leak(Box::new(Pump::table()));
    assert_eq!(table.doc, "A pump.");
    let keys: Vec<&str> = table.fields.iter().map(|field| field.key).collect();
    let speed = ["rate", "file", "column", "scale"];
    let rest = ["until", "duration", "limit", "widths", "names", "watch"];
    assert_eq!(keys, [&speed[..], &rest[..]].concat());
    assert_eq!(field(table, "limit").need, Need::Default("\"2 bar\""));
    let pressure = Shape::Quantity(Kind::Pressure, Motion::Translation, Bounds::Positive);
    assert_eq!(format!("{:?}", field(table, "limit").shape), format!("{pressure:?}"));
    assert_eq!(field(table, "names").need, Need::Optional);
    assert_eq!(field(table, "widths").need, Need::Required);
    assert_eq!(field(table, "watch").need, Need::Default("{ level = -0.5, at = [1, 2] }"));
    let Shape::Table(inner) = field(table, "watch").shape else { panic!("a table") };
    let Shape::Ratio(limits) = inner.fields[0].shape else { panic!("what the place says") };
    assert_eq!(limits, Bounds::Within(-1.0, 1.0));
    let Shape::Ratio(limits) = inner.fields[1].shape else { panic!("what the place says") };
    assert_eq!(limits, Bounds::Positive, "its own limits come first");
    let Shape::List(_, length) = inner.fields[2].shape else { panic!("a list") };
    assert_eq!(length, Length { min: 2, max: 2 });
}

#[test]
fn choices_follow_from_the_types() {
    let table = Pump::table();
    let [speed, end] = table.choices else { panic!("two choices") };
    assert_eq!((speed.count, end.count), (Count::Exactly, Count::AtMost));
    let [rate, file] = speed.of else { panic!("two ways") };
    assert_eq!((rate.key, rate.needs, rate.allows), ("rate", &[][..], &[][..]));
    assert_eq!((file.key, file.needs, file.allows), ("file", &["column"][..], &["scale"][..]));
    let variants = table.variants.expect("kinds");
    assert_eq!((variants.key, variants.absent), ("kind", Some("by_hand")));
    let words: Vec<_> = variants.of.iter().map(|kind| (kind.word, kind.doc)).collect();
    let [hand, motor, turbine] = words[..] else { panic!("three kinds") };
    assert_eq!((hand, motor), (("by_hand", "a crank"), ("motor", "an electric motor")));
    assert_eq!(turbine, ("turbine", "something else that turns"));
    assert_eq!(variants.of[2].choices[0].count, Count::AtLeast);
}

#[test]
fn a_tree_becomes_the_value() {
    let read = Pump::read_table(&branch(&[
        ("kind", Value::Word("motor")),
        ("poles", Value::Count(4)),
        ("winding", Value::Word("delta-wound")),
        ("file", Value::File("speed.csv".into())),
        ("column", Value::Text("n".into())),
        ("duration", Value::Number(3.0)),
        ("limit", Value::Number(2e5)),
        ("widths", Value::List(vec![node(Value::Number(0.1)), node(Value::Number(0.2))])),
        watch(),
    ]));
    let column = Column::Name("n".into());
    let expected = Pump {
        drive: Drive::Motor { poles: 4, winding: Winding::DeltaWound },
        speed: Speed::Table { file: "speed.csv".into(), column, scale: None },
        end: Some(End::Duration(3.0)),
        limit_pa: 2e5,
        widths_m: OneOrEach::Each(vec![0.1, 0.2]),
        names: Vec::new(),
        watch: Stated {
            value: Watch { levels: Levels { level: -0.5, more: None }, at: [1, 2] },
            stated: true,
        },
        serial: 7,
    };
    assert_eq!(read, Some(expected));
    assert_eq!(OneOrEach::All(0.1).expand(2), [0.1, 0.1]);
    let placed = <Placed<f64> as crate::Read>::read(&node(Value::Number(1.0)));
    assert_eq!(placed, Some(Placed { value: 1.0, span: 3..5 }));
}

#[test]
fn what_was_refused_leaves_no_value() {
    let whole = [
        ("kind", Value::Word("by_hand")),
        ("rate", Value::Number(1.0)),
        ("limit", Value::Number(2e5)),
        ("widths", Value::Number(0.1)),
        watch(),
    ];
    let mut tree = branch(&whole);
    assert!(Pump::read_table(&tree).is_some());
    tree.refused.push("names");
    assert_eq!(Pump::read_table(&tree), None, "a list that may be absent, but was refused");
    for index in 0..whole.len() {
        let mut part = whole.to_vec();
        let (missing, _) = part.remove(index);
        assert_eq!(Pump::read_table(&branch(&part)), None, "{missing}");
    }
}

#[test]
fn every_key_has_a_constant() {
    assert_eq!((Pump::LIMIT_PA, Pump::WIDTHS_M, Drive::TAG), ("limit", "widths", "kind"));
    assert_eq!((Speed::RATE, Speed::FILE, End::UNTIL), ("rate", "file", "until"));
    assert_eq!((Drive::POLES, Levels::LEVEL), ("poles", "level"));
}
