//! Units of measurement: `"MN/m"`, `"N s/m"`, `"kg/m^3"`.
//!
//! A unit is a factor to SI and a dimension. Angles are carried along as a
//! dimension of their own: without it `"6.28 rad/s"` would silently pass as
//! 6.28 Hz.

use thiserror::Error;

/// A unit as it was written: what to multiply by to get SI, and what it measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// A value in this unit times `factor` is the value in SI.
    pub factor: f64,
    /// Exponents of the base units.
    pub dimension: Dimension,
}

/// Exponents of kilogram, metre, second and radian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dimension {
    /// Exponent of the kilogram.
    pub mass: i8,
    /// Exponent of the metre.
    pub length: i8,
    /// Exponent of the second.
    pub time: i8,
    /// Exponent of the radian.
    pub angle: i8,
}

/// What the letter `g` stands for; only the context can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterG {
    /// Gram, a mass.
    Gram,
    /// Standard gravity, 9.80665 m/s².
    Gravity,
}

/// Why a text is not a unit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// No such unit.
    #[error("unknown unit \"{symbol}\"")]
    Unknown {
        /// The part that is not known.
        symbol: String,
    },
    /// A product after a quotient, which people read in two ways.
    #[error("\"{text}\" can be read in two ways")]
    Ambiguous {
        /// The unit as written.
        text: String,
    },
    /// Unbalanced parentheses, two operators in a row and the like.
    #[error("\"{text}\" is not a unit")]
    Malformed {
        /// The unit as written.
        text: String,
    },
    /// An exponent beyond what any quantity has.
    #[error("the exponents in \"{text}\" are too large")]
    Exponent {
        /// The unit as written.
        text: String,
    },
}

/// Longest unit that is looked at; no sensible one comes near.
const LONGEST: usize = 64;
const GRAVITY_M_S2: f64 = 9.806_65;
const POUND_KG: f64 = 0.453_592_37;
const POUND_FORCE_N: f64 = POUND_KG * GRAVITY_M_S2;
const INCH_M: f64 = 0.0254;

impl Dimension {
    /// The dimension with these exponents of kilogram, metre and second.
    pub const fn new(mass: i8, length: i8, time: i8) -> Self {
        Self { mass, length, time, angle: 0 }
    }

    /// The same with an exponent of the radian.
    pub const fn with_angle(self, angle: i8) -> Self {
        Self { angle, ..self }
    }

    /// The same, `metres` lengths more: a force becomes a moment.
    pub const fn times_length(self, metres: i8) -> Self {
        Self { length: self.length + metres, ..self }
    }

    fn raised(self, exponent: i32) -> Option<Self> {
        let raise = |base: i8| {
            let value = i32::from(base).checked_mul(exponent)?;
            i8::try_from(value).ok().filter(|value| value.abs() <= 12)
        };
        Some(Self {
            mass: raise(self.mass)?,
            length: raise(self.length)?,
            time: raise(self.time)?,
            angle: raise(self.angle)?,
        })
    }

    fn joined(self, other: Self) -> Option<Self> {
        let add = |a: i8, b: i8| a.checked_add(b).filter(|sum| sum.abs() <= 12);
        Some(Self {
            mass: add(self.mass, other.mass)?,
            length: add(self.length, other.length)?,
            time: add(self.time, other.time)?,
            angle: add(self.angle, other.angle)?,
        })
    }
}

impl Unit {
    /// The unit of a pure number.
    pub const ONE: Self = Self { factor: 1.0, dimension: Dimension::new(0, 0, 0) };

    /// Reads a unit such as `N s/m`, `kg/m^3`, `m·s⁻²` or `1/s`.
    ///
    /// Factors are joined by a space, `*` or `·`; each `/` divides by the one
    /// factor or parenthesis after it. `N/m s` is refused, as half of its
    /// readers take it for `N/(m s)`.
    pub fn parse(text: &str, g: LetterG) -> Result<Self, UnitError> {
        let text = text.trim();
        if text.len() > LONGEST {
            return Err(UnitError::Malformed { text: super::quote::shorten(text) });
        }
        let mut reader = Reader { text, rest: text, g };
        let unit = reader.product()?;
        if reader.rest.is_empty() { Ok(unit) } else { Err(reader.malformed()) }
    }
}

/// Recursive descent over the text; [`LONGEST`] bounds the depth.
struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    g: LetterG,
}

impl Reader<'_> {
    fn product(&mut self) -> Result<Unit, UnitError> {
        let mut result = Unit::ONE;
        let mut divided = false;
        let mut first = true;
        loop {
            let spaced = self.skip_spaces();
            let sign = match self.rest.chars().next() {
                None | Some(')') if !first => return Ok(result),
                Some('/') => {
                    self.advance(1);
                    divided = true;
                    -1
                }
                Some(c @ ('*' | '·' | '⋅')) if !first => {
                    self.advance(c.len_utf8());
                    1
                }
                Some(_) if first || spaced => 1,
                _ => return Err(self.malformed()),
            };
            if sign == 1 && divided {
                return Err(UnitError::Ambiguous { text: self.text.to_owned() });
            }
            self.skip_spaces();
            let factor = self.factor()?;
            let exponent = self.exponent()?.unwrap_or(1).saturating_mul(sign);
            result = self.join(result, factor, exponent)?;
            first = false;
        }
    }

    fn factor(&mut self) -> Result<Unit, UnitError> {
        if self.rest.starts_with('(') {
            self.advance(1);
            let inner = self.product()?;
            if !self.rest.starts_with(')') {
                return Err(self.malformed());
            }
            self.advance(1);
            return Ok(inner);
        }
        // A lone 1 may stand for "nothing above the line", as in 1/s.
        if self.rest.starts_with('1') && !self.rest[1..].starts_with(|c: char| c.is_alphanumeric())
        {
            self.advance(1);
            return Ok(Unit::ONE);
        }
        let end = self.rest.find(|c: char| !is_symbol(c)).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(self.malformed());
        }
        let symbol = &self.rest[..end];
        let unit = lookup(symbol, self.g)
            .ok_or_else(|| UnitError::Unknown { symbol: symbol.to_owned() })?;
        self.advance(end);
        Ok(unit)
    }

    /// `^2`, `^-1`, `2` or `⁻²` behind a symbol.
    fn exponent(&mut self) -> Result<Option<i32>, UnitError> {
        let mut digits = String::new();
        let caret = self.rest.starts_with('^');
        if caret {
            self.advance(1);
        }
        while let Some(c) = self.rest.chars().next() {
            match superscript(c).or((c.is_ascii_digit() || (caret && c == '-')).then_some(c)) {
                Some(plain) => digits.push(plain),
                None => break,
            }
            self.advance(c.len_utf8());
        }
        if digits.is_empty() && !caret {
            return Ok(None);
        }
        digits.parse().map(Some).map_err(|_| self.malformed())
    }

    fn join(&self, left: Unit, right: Unit, exponent: i32) -> Result<Unit, UnitError> {
        let dimension = (exponent.abs() <= 12)
            .then(|| right.dimension.raised(exponent))
            .flatten()
            .and_then(|raised| left.dimension.joined(raised));
        match dimension {
            Some(dimension) => {
                Ok(Unit { factor: left.factor * right.factor.powi(exponent), dimension })
            }
            None => Err(UnitError::Exponent { text: self.text.to_owned() }),
        }
    }

    fn skip_spaces(&mut self) -> bool {
        let before = self.rest.len();
        self.rest = self.rest.trim_start();
        self.rest.len() < before
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn malformed(&self) -> UnitError {
        UnitError::Malformed { text: self.text.to_owned() }
    }
}

fn is_symbol(c: char) -> bool {
    (c.is_alphabetic() && superscript(c).is_none()) || c == '%' || c == '°' || c == '_'
}

fn superscript(c: char) -> Option<char> {
    Some(match c {
        '⁰' => '0',
        '¹' => '1',
        '²' => '2',
        '³' => '3',
        '⁴' => '4',
        '⁵' => '5',
        '⁶' => '6',
        '⁷' => '7',
        '⁸' => '8',
        '⁹' => '9',
        '⁻' => '-',
        _ => return None,
    })
}

/// Whole symbols go first, so that `min` is a minute and `ft` a foot.
fn lookup(symbol: &str, g: LetterG) -> Option<Unit> {
    if g == LetterG::Gravity {
        // Milli-g is common in seismology, kilo-g would hide a mistyped mass.
        let factor = match symbol {
            "g" => Some(1.0),
            "mg" => Some(1e-3),
            "ug" | "µg" | "μg" => Some(1e-6),
            _ => None,
        };
        if let Some(factor) = factor {
            let dimension = Dimension::new(0, 1, -2);
            return Some(Unit { factor: factor * GRAVITY_M_S2, dimension });
        }
    }
    if let Some(unit) = plain(symbol).or_else(|| prefixable(symbol)) {
        return Some(unit);
    }
    PREFIXES.iter().find_map(|&(prefix, factor)| {
        let unit = prefixable(symbol.strip_prefix(prefix)?)?;
        Some(Unit { factor: unit.factor * factor, ..unit })
    })
}

const PREFIXES: &[(&str, f64)] = &[
    ("p", 1e-12),
    ("n", 1e-9),
    ("u", 1e-6),
    ("µ", 1e-6),
    ("μ", 1e-6),
    ("m", 1e-3),
    ("c", 1e-2),
    ("d", 1e-1),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
];

fn prefixable(symbol: &str) -> Option<Unit> {
    let (factor, dimension) = match symbol {
        "m" => (1.0, Dimension::new(0, 1, 0)),
        "s" => (1.0, Dimension::new(0, 0, 1)),
        "g" => (1e-3, Dimension::new(1, 0, 0)),
        "N" => (1.0, Dimension::new(1, 1, -2)),
        "Nm" => (1.0, Dimension::new(1, 2, -2)),
        "Ns" => (1.0, Dimension::new(1, 1, -1)),
        "Pa" => (1.0, Dimension::new(1, -1, -2)),
        "bar" => (1e5, Dimension::new(1, -1, -2)),
        "J" => (1.0, Dimension::new(1, 2, -2)),
        "W" => (1.0, Dimension::new(1, 2, -3)),
        "Hz" => (1.0, Dimension::new(0, 0, -1)),
        "rad" => (1.0, Dimension::new(0, 0, 0).with_angle(1)),
        _ => return None,
    };
    Some(Unit { factor, dimension })
}

fn plain(symbol: &str) -> Option<Unit> {
    let (factor, dimension) = match symbol {
        "%" => (1e-2, Dimension::new(0, 0, 0)),
        "ppm" => (1e-6, Dimension::new(0, 0, 0)),
        "min" => (60.0, Dimension::new(0, 0, 1)),
        "h" => (3600.0, Dimension::new(0, 0, 1)),
        "t" => (1e3, Dimension::new(1, 0, 0)),
        "lb" => (POUND_KG, Dimension::new(1, 0, 0)),
        "in" => (INCH_M, Dimension::new(0, 1, 0)),
        "ft" => (12.0 * INCH_M, Dimension::new(0, 1, 0)),
        "lbf" => (POUND_FORCE_N, Dimension::new(1, 1, -2)),
        "kip" => (1e3 * POUND_FORCE_N, Dimension::new(1, 1, -2)),
        "psi" => (POUND_FORCE_N / (INCH_M * INCH_M), Dimension::new(1, -1, -2)),
        "ksi" => (1e3 * POUND_FORCE_N / (INCH_M * INCH_M), Dimension::new(1, -1, -2)),
        "Gal" | "gal" => (1e-2, Dimension::new(0, 1, -2)),
        "deg" | "°" => (std::f64::consts::PI / 180.0, Dimension::new(0, 0, 0).with_angle(1)),
        "rpm" => (1.0 / 60.0, Dimension::new(0, 0, -1)),
        _ => return None,
    };
    Some(Unit { factor, dimension })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(text: &str) -> Unit {
        Unit::parse(text, LetterG::Gram).expect(text)
    }

    #[test]
    fn known_units_have_their_defined_factors() {
        for (text, factor) in [
            ("MN/m", 1e6),
            ("N s/m", 1.0),
            ("N·s·m⁻¹", 1.0),
            ("N*s/m", 1.0),
            ("kg/m^3", 1.0),
            ("kg m^-3", 1.0),
            ("kg/m3", 1.0),
            ("GPa", 1e9),
            ("µm", 1e-6),
            ("μm", 1e-6),
            ("um", 1e-6),
            ("min", 60.0),
            ("mm²", 1e-6),
            ("1/s", 1.0),
            ("/s", 1.0),
            ("in", 0.0254),
            ("ft", 0.3048),
            ("lb", 0.45359237),
            ("lbf", 4.4482216152605),
            ("kip/in", 4448.2216152605 / 0.0254),
            ("psi", 6894.757293168361),
            ("t", 1000.0),
            ("mg", 1e-6),
            ("kNm", 1e3),
            ("m/s/s", 1.0),
            ("N/(m s)", 1.0),
            ("%", 0.01),
            ("ppm", 1e-6),
        ] {
            let found = unit(text).factor;
            assert!((found / factor - 1.0).abs() < 1e-14, "{text}: {found}, not {factor}");
        }
    }

    #[test]
    fn dimensions_multiply() {
        assert_eq!(unit("N s/m").dimension, Dimension::new(1, 0, -1));
        assert_eq!(unit("N/(m s)").dimension, Dimension::new(1, 0, -3));
        assert_eq!(unit("m/s/s").dimension, Dimension::new(0, 1, -2));
        assert_eq!(unit("Pa m²").dimension, unit("N").dimension);
        assert_eq!(unit("W s").dimension, unit("J").dimension);
        assert_eq!(unit("rad/s").dimension, Dimension::new(0, 0, -1).with_angle(1));
    }

    #[test]
    fn g_is_a_mass_or_an_acceleration() {
        assert_eq!(unit("g").dimension, Dimension::new(1, 0, 0));
        let gravity = Unit::parse("g", LetterG::Gravity).expect("g");
        assert_eq!(gravity, Unit { factor: GRAVITY_M_S2, dimension: Dimension::new(0, 1, -2) });
        let kilogram = Unit::parse("kg", LetterG::Gravity).expect("kg");
        assert_eq!(kilogram.dimension, Dimension::new(1, 0, 0), "never kilo-gravity");
    }

    #[test]
    fn bad_units_are_refused() {
        let parse = |text| Unit::parse(text, LetterG::Gram).expect_err(text);
        assert!(matches!(parse("N/m s"), UnitError::Ambiguous { .. }));
        assert!(matches!(parse("furlong"), UnitError::Unknown { .. }));
        assert!(matches!(parse("m^99"), UnitError::Exponent { .. }));
        assert!(matches!(parse("m^9999999999999"), UnitError::Malformed { .. }));
        for text in ["", "(", "N/", "N//m", "(m", "m)", "m^", "^2", "**", "m^--2", "m+s"] {
            assert!(matches!(parse(text), UnitError::Malformed { .. }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = Unit::parse(&text, LetterG::Gram);
            let _ = Unit::parse(&text, LetterG::Gravity);
        }

        #[test]
        fn unit_like_text_never_panics(text in "[mskgNPa/*·^²³⁻() 0-9-]{0,40}") {
            let _ = Unit::parse(&text, LetterG::Gram);
        }

        #[test]
        fn a_unit_times_its_reciprocal_is_one(
            symbol in prop::sample::select(vec!["kN", "mm", "MPa", "kip", "deg", "h", "lb"]),
            power in 1i32..4,
        ) {
            let product = unit(&format!("{symbol}^{power} {symbol}^-{power}"));
            prop_assert_eq!(product.dimension, Dimension::default());
            prop_assert!((product.factor - 1.0).abs() < 1e-12);
        }
    }
}
