//! Units of acceleration and where headers put them.

use std::fmt;

/// A unit in which ground motions are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccelerationUnit {
    /// m/s².
    MetrePerSecondSquared,
    /// Standard gravity, 9.80665 m/s².
    Gravity,
    /// cm/s², also called gal.
    CentimetrePerSecondSquared,
    /// mm/s².
    MillimetrePerSecondSquared,
    /// in/s².
    InchPerSecondSquared,
    /// ft/s².
    FootPerSecondSquared,
}

impl AccelerationUnit {
    /// A value in this unit times the factor is in m/s².
    pub fn factor(self) -> f64 {
        match self {
            Self::MetrePerSecondSquared => 1.0,
            Self::Gravity => 9.806_65,
            Self::CentimetrePerSecondSquared => 0.01,
            Self::MillimetrePerSecondSquared => 0.001,
            Self::InchPerSecondSquared => 0.0254,
            Self::FootPerSecondSquared => 0.3048,
        }
    }

    /// The unit a text names: `g`, `m/s2`, `m/s^2`, `m_s2`, `m s-2`, `cm/s/s`, `gal`.
    pub fn from_text(text: &str) -> Option<Self> {
        let plain: String = text
            .to_lowercase()
            .replace('²', "2")
            .chars()
            .filter(|letter| letter.is_ascii_alphanumeric())
            .collect();
        let length = match plain.as_str() {
            "g" | "gravity" => return Some(Self::Gravity),
            "gal" | "gals" => return Some(Self::CentimetrePerSecondSquared),
            text => ["s2", "sec2", "ss", "secsec"].iter().find_map(|end| text.strip_suffix(end))?,
        };
        match length {
            "m" => Some(Self::MetrePerSecondSquared),
            "cm" => Some(Self::CentimetrePerSecondSquared),
            "mm" => Some(Self::MillimetrePerSecondSquared),
            "in" => Some(Self::InchPerSecondSquared),
            "ft" => Some(Self::FootPerSecondSquared),
            _ => None,
        }
    }
}

impl fmt::Display for AccelerationUnit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::MetrePerSecondSquared => "m/s^2",
            Self::Gravity => "g",
            Self::CentimetrePerSecondSquared => "cm/s^2",
            Self::MillimetrePerSecondSquared => "mm/s^2",
            Self::InchPerSecondSquared => "in/s^2",
            Self::FootPerSecondSquared => "ft/s^2",
        })
    }
}

/// The unit a name carries: in brackets (`accel [g]`), behind `in units of`, or
/// as its ending (`accel_m_s2`, `acc_g`).
pub(super) fn unit_in(name: &str) -> Option<String> {
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some((_, rest)) = name.split_once(open)
            && let Some((unit, _)) = rest.split_once(close)
        {
            return Some(unit.trim().to_owned());
        }
    }
    let lower = name.to_lowercase();
    if let Some((_, unit)) = lower.split_once("units of") {
        return Some(unit.trim().trim_end_matches('.').to_owned());
    }
    // The longest ending that is a unit: `m_s2` before `s2`, never a bare name.
    lower
        .match_indices(['_', ' ', ','])
        .map(|(place, separator)| &lower[place + separator.len()..])
        .find(|ending| AccelerationUnit::from_text(ending).is_some())
        .map(|ending| ending.trim().to_owned())
}

/// A column's name without its unit, in lower case.
pub(super) fn base_name(text: &str) -> String {
    let lower = text.to_lowercase();
    let without_unit = match unit_in(&lower) {
        Some(unit) => lower.rfind(&unit).map_or(lower.as_str(), |place| &lower[..place]),
        None => &lower,
    };
    without_unit.trim_end_matches(['_', ' ', '[', '(', ',']).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_accelerations_are_units() {
        for text in ["s2", "m/s", "kN", "", "/s2", "accel", "km/s2", "rad/s2"] {
            assert_eq!(AccelerationUnit::from_text(text), None, "{text}");
        }
        for unit in ["m/s^2", "g", "cm/s^2", "mm/s^2", "in/s^2", "ft/s^2"] {
            assert_eq!(AccelerationUnit::from_text(unit).unwrap().to_string(), unit);
        }
    }

    #[test]
    fn names_lose_their_units() {
        for (name, base, unit) in [
            ("Accel_m_s2", "accel", Some("m_s2")),
            ("Acc X [g]", "acc x", Some("g")),
            ("ground (cm/s2)", "ground", Some("cm/s2")),
            ("accel", "accel", None),
            ("acc_long", "acc_long", None),
        ] {
            assert_eq!((base_name(name).as_str(), unit_in(name).as_deref()), (base, unit));
        }
    }
}
