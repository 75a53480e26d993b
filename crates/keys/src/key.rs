//! What one key holds. `#[key(length, positive)]` becomes `length().positive()`, which the compiler
//! evaluates: the derive macro knows none of these words, and a misspelt one is an error of rustc.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use crate::describe::{
    Alternative, Bounds, Choice, Count, Field, Length, Need, Shape, Table, Variant, Variants,
};
use crate::quantity::{Kind, Motion};
use crate::read::Is;

/// A key whose values are of class `C`.
pub struct Key<C> {
    leaf: Leaf,
    length: Option<Length>,
    name: Option<&'static str>,
    optional: bool,
    group: Option<Count>,
    /// Ending of a field's name that says its unit and is not part of the key.
    ending: &'static str,
    class: PhantomData<C>,
}

/// What one entry of a value is.
#[derive(Debug, Clone, Copy)]
pub enum Leaf {
    /// This.
    Fixed(Shape),
    /// What the place says where the table stands, within these limits.
    Given(Bounds),
    /// A unit of what the place says.
    GivenUnit(Motion),
}

/// Numbers with or without a unit.
pub struct Real;
/// Whole numbers.
pub struct Whole;
/// Texts.
pub struct Text;
/// Tables, words and whatever else describes itself.
pub struct Declared;

const fn key<C>(leaf: Leaf, ending: &'static str) -> Key<C> {
    Key { leaf, length: None, name: None, optional: false, group: None, ending, class: PhantomData }
}

const fn fixed<C>(shape: Shape) -> Key<C> {
    key(Leaf::Fixed(shape), "")
}

macro_rules! quantities {
    ($($word:ident $kind:ident $ending:literal;)*) => {$(
        #[doc = concat!("A quantity; the ending `", $ending, "` of a field says its unit.")]
        pub const fn $word() -> Key<Real> {
            let shape = Shape::Quantity(Kind::$kind, Motion::Translation, Bounds::Any);
            key(Leaf::Fixed(shape), $ending)
        }
    )*};
}

quantities! {
    time Time "_s";
    frequency Frequency "_hz";
    decay Decay "_1_s";
    length Length "_m";
    velocity Velocity "_m_s";
    acceleration Acceleration "_m_s2";
    mass Mass "_kg";
    force Force "_n";
    stiffness Stiffness "_n_m";
    damping Damping "_n_s_m";
    pressure Pressure "_pa";
    density Density "_kg_m3";
    area Area "_m2";
    second_moment SecondMoment "_m4";
    energy Energy "_j";
    angle Angle "_rad";
}

/// A bare number.
pub const fn number() -> Key<Real> {
    fixed(Shape::Number(Bounds::Any))
}

/// `"3 %"` or `0.03`.
pub const fn ratio() -> Key<Real> {
    fixed(Shape::Ratio(Bounds::Any))
}

/// What the place says where the table stands: `#[key(force, flatten)] signal: Signal`.
pub const fn given() -> Key<Real> {
    key(Leaf::Given(Bounds::Any), "")
}

/// A unit of what the place says; the value is its factor to SI.
pub const fn given_unit() -> Key<Real> {
    key(Leaf::GivenUnit(Motion::Either), "")
}

/// A whole number.
pub const fn count(range: RangeInclusive<u64>) -> Key<Whole> {
    fixed(Shape::Count { min: *range.start(), max: *range.end() })
}

/// A text that is not blank.
pub const fn text() -> Key<Text> {
    fixed(Shape::Text)
}

/// The name of a file with one of these extensions, or with any if none is listed.
pub const fn file(extensions: &'static [&'static str]) -> Key<Text> {
    fixed(Shape::File(extensions))
}

/// Whatever the type itself declares.
pub const fn declared() -> Key<Declared> {
    fixed(Shape::Text)
}

impl Key<Real> {
    const fn bounded(mut self, limits: Bounds) -> Self {
        self.leaf = match self.leaf {
            Leaf::Given(_) => Leaf::Given(limits),
            Leaf::Fixed(Shape::Quantity(kind, motion, _)) => {
                Leaf::Fixed(Shape::Quantity(kind, motion, limits))
            }
            Leaf::Fixed(Shape::Ratio(_)) => Leaf::Fixed(Shape::Ratio(limits)),
            Leaf::Fixed(Shape::Number(_)) => Leaf::Fixed(Shape::Number(limits)),
            _ => panic!("only a number has limits"),
        };
        self
    }

    /// Greater than zero.
    pub const fn positive(self) -> Self {
        self.bounded(Bounds::Positive)
    }

    /// Zero or more.
    pub const fn not_negative(self) -> Self {
        self.bounded(Bounds::NotNegative)
    }

    /// Between two limits, in SI.
    pub const fn within(self, range: RangeInclusive<f64>) -> Self {
        self.bounded(Bounds::Within(*range.start(), *range.end()))
    }

    /// Of a degree of freedom, which may be a rotation.
    pub const fn of_dof(mut self) -> Self {
        self.leaf = match self.leaf {
            Leaf::Fixed(Shape::Quantity(kind, _, bounds)) => {
                Leaf::Fixed(Shape::Quantity(kind, Motion::Either, bounds))
            }
            _ => panic!("only a quantity belongs to a degree of freedom"),
        };
        self
    }

    /// Of a matrix that couples displacements and rotations.
    pub const fn coupled(mut self) -> Self {
        self.leaf = match self.leaf {
            Leaf::GivenUnit(_) => Leaf::GivenUnit(Motion::Coupled),
            _ => panic!("only a given unit is that of a matrix"),
        };
        self
    }
}

impl<C> Key<C> {
    /// How many entries a list has.
    pub const fn entries(self, range: RangeInclusive<usize>) -> Self {
        Self { length: Some(Length { min: *range.start(), max: *range.end() }), ..self }
    }

    /// The key in the file, where it is not the name of the field.
    pub const fn name(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// The key may be absent, which the type knows how to hold: an empty list.
    pub const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// Exactly one of the keys so marked is there.
    pub const fn exactly_one(self) -> Self {
        Self { group: Some(Count::Exactly), ..self }
    }

    /// At most one of the keys so marked is there.
    pub const fn at_most_one(self) -> Self {
        Self { group: Some(Count::AtMost), ..self }
    }

    /// At least one of the keys so marked is there.
    pub const fn at_least_one(self) -> Self {
        Self { group: Some(Count::AtLeast), ..self }
    }

    /// The key of the field called `field`.
    pub const fn of(&self, field: &'static str) -> &'static str {
        if let Some(name) = self.name {
            return name;
        }
        let (text, ending) = (field.as_bytes(), self.ending.as_bytes());
        if ending.len() >= text.len() {
            return field;
        }
        let stem = text.len() - ending.len();
        let mut index = 0;
        while index < ending.len() {
            if text[stem + index] != ending[index] {
                return field;
            }
            index += 1;
        }
        field.split_at(stem).0
    }

    /// How a value of type `T` is written, where the place says `outer` and `length`.
    pub fn shape<T: Is<C>>(&self, outer: Option<Shape>, length: Option<Length>) -> Shape {
        T::shape(self.leaf.resolve(outer), self.length.or(length))
    }

    /// The description of a field of type `T`: data alone, so that tables cost no code.
    pub const fn part<T: Is<C>>(
        &self,
        field: &'static str,
        default: Option<&'static str>,
        doc: &'static str,
    ) -> Part {
        let need = match default {
            Some(text) => Need::Default(text),
            None if T::OPTIONAL || self.optional => Need::Optional,
            None => Need::Required,
        };
        let (key, leaf, length, group) = (self.of(field), self.leaf, self.length, self.group);
        Part::Key { key, leaf, length, shape: T::shape, need, doc, group }
    }

    /// The keys of another table stand here too; `table` makes it.
    pub const fn flat(&self, table: fn(Option<Shape>) -> Table) -> Part {
        Part::Flat { table, leaf: self.leaf }
    }
}

impl Leaf {
    fn resolve(self, outer: Option<Shape>) -> Shape {
        let within = |own: Bounds, limits: Bounds| if own == Bounds::Any { limits } else { own };
        match (self, outer) {
            (Self::Fixed(shape), _) => shape,
            (Self::Given(own), Some(Shape::Quantity(kind, motion, limits))) => {
                Shape::Quantity(kind, motion, within(own, limits))
            }
            (Self::Given(own), Some(Shape::Ratio(limits))) => Shape::Ratio(within(own, limits)),
            (Self::Given(own), Some(Shape::Number(limits))) => Shape::Number(within(own, limits)),
            (Self::GivenUnit(motion), Some(Shape::Quantity(kind, ..))) => Shape::Unit(kind, motion),
            _ => panic!("the place does not say what its keys measure"),
        }
    }
}

/// A part of a table.
#[derive(Clone, Copy)]
pub enum Part {
    /// One key.
    Key {
        /// Its name.
        key: &'static str,
        /// What one entry is.
        leaf: Leaf,
        /// How many entries there are, if it is a list.
        length: Option<Length>,
        /// How the whole is written.
        shape: fn(Shape, Option<Length>) -> Shape,
        /// Whether it must be there.
        need: Need,
        /// What it means.
        doc: &'static str,
        /// The choice it takes part in.
        group: Option<Count>,
    },
    /// The keys of another table stand here too.
    Flat {
        /// That table.
        table: fn(Option<Shape>) -> Table,
        /// What its given keys measure.
        leaf: Leaf,
    },
}

/// A kind of an enum told apart by a word.
#[derive(Clone, Copy)]
pub struct Case {
    /// The word.
    pub word: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Its keys.
    pub parts: &'static [Part],
}

/// Puts the table of a struct together. Tables are built once, from the whole file's down.
pub fn table(doc: &'static str, parts: &[Part], outer: Option<Shape>) -> Table {
    let (mut fields, mut choices, mut checks) = (Vec::new(), Vec::new(), Vec::new());
    let mut variants = None;
    let mut groups: Vec<(Count, Vec<Alternative>)> = Vec::new();
    for part in parts {
        match *part {
            Part::Key { key, leaf, length, shape, need, doc, group } => {
                fields.push(Field { key, shape: shape(leaf.resolve(outer), length), need, doc });
                let Some(count) = group else { continue };
                let lone = Alternative { key, needs: &[], allows: &[] };
                match groups.iter_mut().find(|(known, _)| *known == count) {
                    Some((_, members)) => members.push(lone),
                    None => groups.push((count, vec![lone])),
                }
            }
            Part::Flat { table, leaf } => {
                let inner = table(match leaf {
                    Leaf::Given(_) => outer,
                    leaf => Some(leaf.resolve(outer)),
                });
                fields.extend_from_slice(inner.fields);
                choices.extend_from_slice(inner.choices);
                checks.extend_from_slice(inner.checks);
                variants = variants.or(inner.variants);
            }
        }
    }
    choices.extend(groups.into_iter().map(|(count, of)| Choice { count, of: of.leak() }));
    let (fields, choices, checks) = (fields.leak(), choices.leak(), checks.leak());
    Table { doc, fields, choices, variants, checks }
}

/// The table of an enum whose variant a word tells.
pub fn tagged(
    doc: &'static str,
    tag: (&'static str, &'static str),
    absent: Option<&'static str>,
    cases: &[Case],
    outer: Option<Shape>,
) -> Table {
    let variant = |case: &Case| {
        let Table { fields, choices, checks, .. } = table(case.doc, case.parts, outer);
        Variant { word: case.word, doc: case.doc, fields, choices, checks }
    };
    let of: Vec<Variant> = cases.iter().map(variant).collect();
    let variants = Variants { key: tag.0, doc: tag.1, absent, of: of.leak() };
    Table { doc, fields: &[], choices: &[], variants: Some(variants), checks: &[] }
}

/// The table of an enum whose variant is told by which key is there: the first of each way.
/// Its other keys go with it: they must where they are required, else they may.
pub fn one_of(doc: &'static str, ways: &[&[Part]], outer: Option<Shape>) -> Table {
    let (mut fields, mut alternatives) = (Vec::<Field>::new(), Vec::new());
    let (mut choices, mut checks) = (Vec::new(), Vec::new());
    for way in ways {
        let inner = table(doc, way, outer);
        let [first, beside @ ..] = inner.fields else { panic!("a way has a key") };
        match inner.choices {
            // Its own ways stand beside the others.
            [Choice { count: Count::Exactly, of }, rest @ ..] if of[0].key == first.key => {
                alternatives.extend_from_slice(of);
                choices.extend_from_slice(rest);
            }
            rest => {
                let keys = |required: bool| -> &'static [&'static str] {
                    let fits =
                        beside.iter().filter(|field| (field.need == Need::Required) == required);
                    fits.map(|field| field.key).collect::<Vec<_>>().leak()
                };
                let (needs, allows) = (keys(true), keys(false));
                alternatives.push(Alternative { key: first.key, needs, allows });
                choices.extend_from_slice(rest);
            }
        }
        // The keys of a way that is not taken cannot be read, and so are not checked.
        checks.extend_from_slice(inner.checks);
        for field in inner.fields {
            if !fields.iter().any(|known| known.key == field.key) {
                fields.push(as_optional(field));
            }
        }
    }
    choices.insert(0, Choice { count: Count::Exactly, of: alternatives.leak() });
    let (fields, choices, checks) = (fields.leak(), choices.leak(), checks.leak());
    Table { doc, fields, choices, variants: None, checks }
}

fn as_optional(field: &Field) -> Field {
    let need = if field.need == Need::Required { Need::Optional } else { field.need };
    Field { need, ..*field }
}

/// The same keys where all of them may be absent.
pub(crate) fn all_optional(table: &Table) -> Table {
    let fields: Vec<Field> = table.fields.iter().map(as_optional).collect();
    let choice = |choice: &Choice| match choice.count {
        Count::Exactly => Choice { count: Count::AtMost, ..*choice },
        _ => *choice,
    };
    let choices: Vec<Choice> = table.choices.iter().map(choice).collect();
    Table { fields: fields.leak(), choices: choices.leak(), ..*table }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_at_the_end_of_a_name_is_not_part_of_the_key() {
        assert_eq!(time().of("delay_s"), "delay");
        assert_eq!(velocity().of("rate_m_s"), "rate");
        assert_eq!(length().of("rate_s"), "rate_s", "the unit of something else stays");
        assert_eq!(length().of("_m"), "_m");
        assert_eq!(number().of("forgetting"), "forgetting");
        assert_eq!(time().name("rest_for").of("rest_s"), "rest_for");
    }
}
