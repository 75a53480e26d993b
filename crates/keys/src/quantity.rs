//! Quantities: a number with a unit, `"12 ms"`, read against what is expected.

use std::f64::consts::TAU;

use thiserror::Error;

use super::quote::shorten;
use super::units::{Dimension, LetterG, Unit, UnitError};

macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident = $noun:literal, $unit:literal, $example:literal, $units:literal,
            [$mass:literal, $length:literal, $time:literal];
    )*) => {
        /// What a quantity measures, with everything needed to speak about it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// Every kind, for documentation and for naming a wrong one.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            const fn facts(self) -> Facts {
                match self {
                    $(Self::$kind => Facts {
                        noun: $noun,
                        si_unit: $unit,
                        example: $example,
                        units: $units,
                        dimension: Dimension::new($mass, $length, $time),
                    },)*
                }
            }
        }
    };
}

/// How a kind is spoken of.
struct Facts {
    noun: &'static str,
    si_unit: &'static str,
    example: &'static str,
    units: &'static str,
    dimension: Dimension,
}

// Name with the article, unit inside the program, one way to write it, units people use,
// exponents of mass, length and time.
kinds! {
    /// A time, in seconds.
    Time = "a time", "s", "20 ms", "ns, us, ms, s, min, h", [0, 0, 1];
    /// Cycles per second, in hertz; `rad/s` is converted.
    Frequency = "a frequency", "Hz", "2 Hz", "mHz, Hz, kHz, rad/s, rpm, 1/s", [0, 0, -1];
    /// A rate of decay, in 1/s.
    Decay = "a decay rate", "1/s", "0.1 1/s", "1/s, 1/min", [0, 0, -1];
    /// A length or displacement, in metres.
    Length = "a length", "m", "20 mm", "nm, um, mm, cm, m, in, ft", [0, 1, 0];
    /// A velocity, in m/s.
    Velocity = "a velocity", "m/s", "50 mm/s", "mm/s, m/s, in/s, ft/s", [0, 1, -1];
    /// An acceleration, in m/s²; `g` is standard gravity.
    Acceleration = "an acceleration", "m/s^2", "0.35 g", "m/s^2, mm/s^2, g, mg, Gal, in/s^2",
        [0, 1, -2];
    /// A mass, in kilograms.
    Mass = "a mass", "kg", "29.1 kg", "g, kg, t, lb", [1, 0, 0];
    /// A force, in newtons.
    Force = "a force", "N", "8.9 kN", "mN, N, kN, MN, lbf, kip", [1, 1, -2];
    /// Force per displacement, in N/m.
    Stiffness = "a stiffness", "N/m", "1.19 MN/m", "N/m, N/mm, kN/m, MN/m, lbf/in, kip/in",
        [1, 0, -2];
    /// Force per velocity, in N s/m.
    Damping = "a damping coefficient", "N s/m", "114.6 N s/m",
        "N s/m, kN s/m, kg/s, lbf s/in, kip s/in", [1, 0, -1];
    /// Stress or Young's modulus, in pascals.
    Pressure = "a pressure or modulus", "Pa", "210 GPa", "Pa, kPa, MPa, GPa, bar, psi, ksi",
        [1, -1, -2];
    /// Mass per volume, in kg/m³.
    Density = "a density", "kg/m^3", "7850 kg/m^3", "kg/m^3, t/m^3, lb/ft^3", [1, -3, 0];
    /// An area, in m².
    Area = "an area", "m^2", "4 cm^2", "mm^2, cm^2, m^2, in^2", [0, 2, 0];
    /// Second moment of area, in m⁴.
    SecondMoment = "a second moment of area", "m^4", "130 mm^4", "mm^4, cm^4, m^4, in^4", [0, 4, 0];
    /// An energy, in joules.
    Energy = "an energy", "J", "1 J", "mJ, J, kJ, N m, lbf ft", [1, 2, -2];
    /// An angle, in radians.
    Angle = "an angle", "rad", "90 deg", "rad, mrad, deg", [0, 0, 0];
    /// A pure number; `%` and `ppm` are understood.
    Ratio = "a ratio", "", "3 %", "%, ppm, or a bare number such as 0.03", [0, 0, 0];
}

/// Which motions a quantity may belong to. A degree of freedom of a beam may
/// be a rotation, whose "stiffness" is a moment per angle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// Displacements only.
    Translation,
    /// Displacements or rotations.
    Either,
    /// The entries of a matrix that couples both.
    Coupled,
}

/// Why a text is not the quantity that is needed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum QuantityError {
    /// A number alone.
    #[error("\"{text}\" has no unit")]
    NoUnit {
        /// The text.
        text: String,
    },
    /// It does not begin with a number.
    #[error("\"{text}\" does not begin with a number")]
    NoNumber {
        /// The text.
        text: String,
    },
    /// `1,5 ms`.
    #[error("\"{text}\" has a comma in its number")]
    Comma {
        /// The text.
        text: String,
    },
    /// NaN, infinite, or beyond the range of a double.
    #[error("\"{text}\" is not a finite number")]
    NotFinite {
        /// The text.
        text: String,
    },
    /// The unit could not be read.
    #[error("\"{text}\": {source}")]
    Unit {
        /// The text.
        text: String,
        /// What is wrong with the unit.
        source: UnitError,
    },
    /// A unit of something else.
    #[error("\"{text}\" is {found}, not {wanted}")]
    WrongKind {
        /// The text.
        text: String,
        /// What it measures.
        found: &'static str,
        /// What it ought to measure.
        wanted: &'static str,
    },
}

impl Kind {
    /// Its name with the article.
    pub const fn noun(self) -> &'static str {
        self.facts().noun
    }

    /// The unit its values have inside the program.
    pub const fn si_unit(self) -> &'static str {
        self.facts().si_unit
    }

    /// One way to write it.
    pub const fn example(self) -> &'static str {
        self.facts().example
    }

    /// Units people use for it.
    pub const fn units(self) -> &'static str {
        self.facts().units
    }

    /// Its dimension for a displacement, not a rotation.
    pub const fn dimension(self) -> Dimension {
        self.facts().dimension
    }

    /// How it is written, for a remedy.
    pub fn advice(self) -> String {
        format!("{} is written like \"{}\" ({})", self.noun(), self.example(), self.units())
    }

    /// The factor from `unit` to SI, if the unit measures this kind.
    fn factor(self, unit: Unit, motion: Motion) -> Option<f64> {
        let Unit { factor, dimension } = unit;
        let base = self.dimension();
        let turns = dimension.angle;
        let linear = dimension.with_angle(0);
        match self {
            Self::Frequency if dimension == base => Some(factor),
            Self::Frequency if dimension == base.with_angle(1) => Some(factor / TAU),
            Self::Frequency => None,
            Self::Angle => (dimension == base.with_angle(1)).then_some(factor),
            Self::Ratio => (dimension == base).then_some(factor),
            _ if dimension == base => Some(factor),
            _ if motion == Motion::Translation => None,
            // A motion of a rotation: metres become radians.
            Self::Length | Self::Velocity | Self::Acceleration => {
                (dimension == base.times_length(-1).with_angle(1)).then_some(factor)
            }
            // What resists it: a moment, a moment per radian, a moment of inertia.
            Self::Mass | Self::Force | Self::Stiffness | Self::Damping => {
                let metres: &[i8] = match (motion, self) {
                    (_, Self::Force) => &[1],
                    (Motion::Coupled, _) => &[0, 1, 2],
                    _ => &[2],
                };
                let fits = metres.iter().any(|&metres| linear == base.times_length(metres));
                (fits && (-2..=0).contains(&turns)).then_some(factor)
            }
            _ => None,
        }
    }
}

/// Reads `text` as a quantity of this kind and returns its value in SI.
///
/// ```
/// use keys::quantity::{Kind, Motion, parse};
/// assert_eq!(parse("12 ms", Kind::Time, Motion::Translation), Ok(0.012));
/// ```
pub fn parse(text: &str, kind: Kind, motion: Motion) -> Result<f64, QuantityError> {
    let shown = || shorten(text);
    let trimmed = text.trim();
    let split = number_length(trimmed);
    let (number, unit) = trimmed.split_at(split);
    if number.is_empty() {
        let lower = trimmed.trim_start_matches(['+', '-']).to_ascii_lowercase();
        return Err(if lower.starts_with("nan") || lower.starts_with("inf") {
            QuantityError::NotFinite { text: shown() }
        } else {
            QuantityError::NoNumber { text: shown() }
        });
    }
    if unit.starts_with(',') {
        return Err(QuantityError::Comma { text: shown() });
    }
    let number: f64 = number.parse().map_err(|_| QuantityError::NoNumber { text: shown() })?;
    if unit.trim().is_empty() {
        return match kind {
            Kind::Ratio if number.is_finite() => Ok(number),
            _ => Err(QuantityError::NoUnit { text: shown() }),
        };
    }
    let factor = parse_unit(unit, kind, motion).map_err(|error| error.about(text))?;
    let value = number * factor;
    if value.is_finite() { Ok(value) } else { Err(QuantityError::NotFinite { text: shown() }) }
}

/// Reads `text` as a unit of this kind and returns its factor to SI.
pub fn parse_unit(text: &str, kind: Kind, motion: Motion) -> Result<f64, QuantityError> {
    let unit = Unit::parse(text, LetterG::Gram)
        .map_err(|source| QuantityError::Unit { text: shorten(text), source })?;
    if let Some(factor) = kind.factor(unit, motion) {
        return Ok(factor);
    }
    let heavy = Unit::parse(text, LetterG::Gravity).ok();
    if let Some(factor) = heavy.and_then(|unit| kind.factor(unit, motion)) {
        return Ok(factor);
    }
    let found =
        Kind::ALL.iter().copied().find(|other| other.factor(unit, Motion::Translation).is_some());
    Err(QuantityError::WrongKind {
        text: shorten(text),
        found: found.map_or("something else", Kind::noun),
        wanted: kind.noun(),
    })
}

impl QuantityError {
    /// What to write instead, given what was expected.
    pub fn remedy(&self, kind: Kind) -> String {
        match self {
            Self::Comma { text } => {
                format!("write a decimal point: \"{}\"", text.replace(',', "."))
            }
            Self::NoUnit { text } if kind != Kind::Ratio => {
                format!("write \"{} {}\"; {}", text.trim(), kind.si_unit(), kind.advice())
            }
            Self::Unit { source: UnitError::Ambiguous { text }, .. } => {
                format!("put the divisor in parentheses or last, not \"{text}\"; {}", kind.advice())
            }
            Self::Unit { source: UnitError::Unknown { symbol }, .. } => {
                match correction(symbol, kind) {
                    Some(unit) => format!("did you mean \"{unit}\"? {}", kind.advice()),
                    None => kind.advice(),
                }
            }
            _ => kind.advice(),
        }
    }

    /// The same error, said of the whole quantity rather than of its unit.
    fn about(self, whole: &str) -> Self {
        let whole = shorten(whole);
        match self {
            Self::Unit { source, .. } => Self::Unit { text: whole, source },
            Self::WrongKind { found, wanted, .. } => Self::WrongKind { text: whole, found, wanted },
            other => other,
        }
    }
}

/// Length of the number that `text` begins with: sign, digits, fraction, exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// The unit somebody probably meant: other case, or the English word.
fn correction(symbol: &str, kind: Kind) -> Option<&'static str> {
    let lower = symbol.to_lowercase();
    let word = match lower.trim_end_matches('s') {
        "sec" | "second" => Some("s"),
        "msec" | "millisecond" => Some("ms"),
        "minute" => Some("min"),
        "hr" | "hour" => Some("h"),
        "newton" => Some("N"),
        "metre" | "meter" => Some("m"),
        "millimetre" | "millimeter" => Some("mm"),
        "inch" | "inche" => Some("in"),
        "feet" | "foot" => Some("ft"),
        "kilogram" | "kilo" | "kg" => Some("kg"),
        "ton" | "tonne" => Some("t"),
        "pound" | "lb" => Some(if kind == Kind::Force { "lbf" } else { "lb" }),
        "kip" => Some("kip"),
        "degree" => Some("deg"),
        "percent" | "pct" => Some("%"),
        "pascal" => Some("Pa"),
        "hertz" => Some("Hz"),
        _ => None,
    };
    let listed =
        || kind.units().split([',', ' ', '/', '^']).find(|unit| unit.to_lowercase() == lower);
    word.or_else(listed).filter(|&unit| unit != symbol)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn si(text: &str, kind: Kind) -> f64 {
        parse(text, kind, Motion::Translation).expect(text)
    }

    #[test]
    fn quantities_of_the_brief_read_as_si() {
        for (text, kind, value) in [
            ("12 ms", Kind::Time, 0.012),
            ("12ms", Kind::Time, 0.012),
            ("1.19 MN/m", Kind::Stiffness, 1.19e6),
            ("1e6 N/m", Kind::Stiffness, 1e6),
            ("114.6 N s/m", Kind::Damping, 114.6),
            ("114.6 Ns/m", Kind::Damping, 114.6),
            ("8.9 kN", Kind::Force, 8900.0),
            ("0.35 g", Kind::Acceleration, 0.35 * 9.80665),
            ("100 mg", Kind::Acceleration, 0.980665),
            ("350 Gal", Kind::Acceleration, 3.5),
            ("500 g", Kind::Mass, 0.5),
            ("3 %", Kind::Ratio, 0.03),
            ("0.03", Kind::Ratio, 0.03),
            ("4096 Hz", Kind::Frequency, 4096.0),
            ("7850 kg/m^3", Kind::Density, 7850.0),
            ("210 GPa", Kind::Pressure, 210e9),
            ("90 deg", Kind::Angle, std::f64::consts::FRAC_PI_2),
            ("1 h", Kind::Time, 3600.0),
            ("-5e-1 mm", Kind::Length, -0.0005),
            (".5 m", Kind::Length, 0.5),
            ("0.1 1/s", Kind::Decay, 0.1),
            ("0.1 /s", Kind::Decay, 0.1),
        ] {
            let found = si(text, kind);
            assert!((found / value - 1.0).abs() < 1e-14, "{text}: {found}, not {value}");
        }
    }

    #[test]
    fn angular_frequency_is_not_mistaken_for_cycles() {
        let hertz = si("1 rad/s", Kind::Frequency);
        assert!((hertz * TAU - 1.0).abs() < 1e-15);
        let cycles = si("360 deg/s", Kind::Frequency);
        assert!((cycles - 1.0).abs() < 1e-15);
    }

    #[test]
    fn rotations_are_accepted_only_where_they_may_stand() {
        let rotation = |text, kind| parse(text, kind, Motion::Either);
        assert_eq!(rotation("5 N m/rad", Kind::Stiffness), Ok(5.0));
        assert_eq!(rotation("5 kg m^2", Kind::Mass), Ok(5.0));
        assert_eq!(rotation("5 kN m", Kind::Force), Ok(5000.0));
        assert!(rotation("2 deg", Kind::Length).is_ok());
        assert!(rotation("2 %", Kind::Length).is_err(), "a share is no angle");
        assert!(rotation("5 N", Kind::Stiffness).is_err(), "couples only in a matrix");
        assert!(parse("5 N", Kind::Stiffness, Motion::Coupled).is_ok());
        assert!(parse("5 N m", Kind::Stiffness, Motion::Translation).is_err());
    }

    #[test]
    fn errors_say_what_fits() {
        let error = |text, kind| {
            let error = parse(text, kind, Motion::Translation).expect_err(text);
            (error.to_string(), error.remedy(kind))
        };
        let (message, remedy) = error("20", Kind::Time);
        assert_eq!(message, "\"20\" has no unit");
        assert!(
            remedy.contains("a time is written like \"20 ms\" (ns, us, ms, s, min, h)"),
            "{remedy}"
        );
        assert_eq!(error("20 kg", Kind::Time).0, "\"20 kg\" is a mass, not a time");
        assert!(error("20 hz", Kind::Frequency).1.starts_with("did you mean \"Hz\"?"));
        assert!(error("20 sec", Kind::Time).1.starts_with("did you mean \"s\"?"));
        assert!(error("1,5 ms", Kind::Time).1.contains("\"1.5 ms\""));
        assert!(error("nan s", Kind::Time).0.contains("finite"));
        assert!(error("1e999 s", Kind::Time).0.contains("finite"));
        assert!(error("fast", Kind::Time).0.contains("begin with a number"));
        assert!(error("1 N/m s", Kind::Damping).0.contains("two ways"));
    }

    #[test]
    fn every_kind_reads_its_own_example_and_units() {
        for &kind in Kind::ALL {
            assert!(parse(kind.example(), kind, Motion::Translation).is_ok(), "{kind:?}");
            for unit in kind.units().split(", ").filter(|unit| !unit.contains("bare")) {
                assert!(parse_unit(unit, kind, Motion::Translation).is_ok(), "{kind:?} {unit}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            for &kind in Kind::ALL {
                let _ = parse(&text, kind, Motion::Coupled);
            }
        }

        #[test]
        fn number_like_text_never_panics(text in "[-+0-9.eE,_ Nms/%]{0,24}") {
            if let Ok(value) = parse(&text, Kind::Force, Motion::Either) {
                prop_assert!(value.is_finite());
            }
        }

        #[test]
        fn a_value_written_in_any_unit_reads_back(
            value in prop::num::f64::NORMAL.prop_filter("size", |v| v.abs() > 1e-200 && v.abs() < 1e200),
            kind in prop::sample::select(Kind::ALL.to_vec()),
            pick in any::<prop::sample::Index>(),
        ) {
            let units: Vec<_> = kind.units().split(", ").filter(|u| !u.contains("bare")).collect();
            let unit = units[pick.index(units.len())];
            let factor = parse_unit(unit, kind, Motion::Translation).expect("listed unit");
            let text = format!("{:e} {unit}", value / factor);
            let back = parse(&text, kind, Motion::Translation).expect("round trip");
            prop_assert!((back / value - 1.0).abs() < 1e-14, "{} -> {}", text, back);
        }
    }
}
