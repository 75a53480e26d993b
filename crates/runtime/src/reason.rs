//! The reason of a trip: what stands behind its code, and its text.

use crate::gate::{IndicatorTrip, Trip, TripKind};
use crate::monitor;

impl TripKind {
    /// Every kind: those of the loop, then those of the indicators.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_indicators = monitor::KINDS.iter().flat_map(|kind| kind.about.trips);
        Self::LISTED.iter().copied().chain(of_indicators.copied().map(Self::Indicator))
    }

    /// From its code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::all().find(|kind| kind.code() == code)
    }
}

impl Trip {
    /// The reason with its numbers, for people.
    pub fn text(&self) -> String {
        let Self { kind, dof, value, limit } = *self;
        let (words, unit) = kind.description();
        let place = format!(" (interface DOF {})", dof + 1);
        let numbers = match kind {
            TripKind::Operator | TripKind::PeerLeft => return words.to_owned(),
            TripKind::NotFinite => return words.to_owned() + &place,
            TripKind::PeerSilent => {
                return format!("{words} for {}, {} allowed", duration(value), duration(limit));
            }
            TripKind::PeerTripped => {
                // A float-to-integer cast saturates: an unknown code stays unknown.
                let cause = TripKind::from_code(value as u8);
                cause.map_or("it does not say why", TripKind::words).to_owned()
            }
            TripKind::Device => format!("its number {value}"),
            TripKind::Overrun => format!("{value} against {limit} allowed"),
            TripKind::StabilityWarning => format!("{value:.2} {unit} against {limit:.2} {unit}"),
            TripKind::Indicator(&IndicatorTrip {
                shown: (factor, unit, digits), of_dof, ..
            }) => {
                let shown = |number: f64| format!("{:.digits$} {unit}", factor * number);
                let place = if of_dof { &*place } else { "" };
                format!("{} against {}{place}", shown(value), shown(limit))
            }
            TripKind::NotConverged => against(value, limit, unit),
            TripKind::MainLoopLate => {
                let plural = if value == 1.0 { "" } else { "s" };
                format!("{value:.0} tick{plural} bridged in a row, {limit:.0} allowed")
            }
            TripKind::NoLoad => format!("waited for {value:.0} ticks"),
            _ => against(value, limit, unit) + &place,
        };
        format!("{words}: {numbers}")
    }
}

/// Below a second in milliseconds.
fn duration(time_s: f64) -> String {
    let short = |value: f64| (1e3 * value).round() / 1e3;
    if time_s < 1.0 {
        format!("{} ms", short(1e3 * time_s))
    } else {
        format!("{} s", short(time_s))
    }
}

/// Both numbers with four digits, or as many as tell them apart; motions below a
/// millimetre in millionths of the unit.
fn against(value: f64, limit: f64, unit: &str) -> String {
    let sizes = [value.abs(), limit.abs()].into_iter().filter(|size| size.is_finite());
    let larger = sizes.fold(0.0, f64::max);
    let tiny = unit.starts_with('m') && larger > 0.0 && larger < 1e-3;
    let (factor, prefix) = if tiny { (1e6, "µ") } else { (1.0, "") };
    let (value, limit) = (factor * value, factor * limit);
    // Two digits of what lies between them, as far as a number has digits.
    let apart = (value.abs() - limit.abs()).abs();
    let needed = if apart > 0.0 && apart.is_finite() { 1.0 - apart.log10().floor() } else { 0.0 };
    let shown = |number: f64| {
        if number.abs() >= 1e9 && number.is_finite() {
            return format!("{number:.3e} {prefix}{unit}");
        }
        let size = number.abs().log10().floor();
        let usual = if size.is_finite() { (3.0 - size).min(7.0) } else { 0.0 };
        format!("{number:.*} {prefix}{unit}", needed.max(usual).clamp(0.0, 12.0) as usize)
    };
    format!("{} against {}", shown(value), shown(limit))
}
