//! Evaluation criteria: how well the interface was tracked, and how close the
//! hybrid test came to the structure it stands for.
//!
//! The set is that of the virtual RTHS benchmark (Silva et al. 2020), which for
//! three floors and one interface DOF is J1…J9, generalised to any number of
//! both. With x_m the measured and x_n the desired interface displacement, and
//! x_r the same place of the whole structure integrated beforehand:
//!
//! | id | quantity |
//! |---|---|
//! | J1 | delay of x_m behind x_n by largest correlation, to a fraction of a sample, ms |
//! | J2 | std(x_m − x_n) / std(x_n), % |
//! | J3 | max\|x_m − x_n\| / max\|x_n\|, % |
//! | J4 | std(x_m − x_r) / std(x_r), % |
//! | J5 | max\|x_m − x_r\| / max\|x_r\|, % |
//! | J6 … | std error of each further DOF against the reference, % |
//! | J8 … | peak error of each further DOF, in the same order, % |
//!
//! (J8 with two further DOFs; in general J(6+m) with m of them.) With several
//! interface DOFs the first five carry the interface's name: `J1.east`.

mod compare;
mod in_step;
mod measure;

pub use compare::{Comparison, Sums as Extent, compare, nrmse};
pub use in_step::{Found, InStep, Room, Target};
pub use measure::{Lag, Peak, exceeds, peak, tracking_delay};

use thiserror::Error;

/// One criterion with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion {
    /// `J1`, or `J1.east` where several interface DOFs have one each.
    pub id: String,
    /// What is measured.
    pub measure: Measure,
    /// Whose motion.
    pub subject: Subject,
    /// What it says, in words.
    pub quantity: String,
    /// Its value; `None` where it has no meaning (no reference, nothing moved).
    pub value: Option<f64>,
    /// `ms` or `%`.
    pub unit: &'static str,
    /// What a reader must know before trusting the value.
    pub note: Option<Note>,
}

/// What a criterion measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Delay of the measured behind the desired motion.
    TrackingDelay,
    /// Error of the measured against the desired motion.
    TrackingError,
    /// Its peak.
    PeakTrackingError,
    /// Error against the reference.
    Error,
    /// Its peak.
    PeakError,
}

/// The DOF that a criterion belongs to, by its place in [`Signals`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// An interface DOF.
    Interface(usize),
    /// A further DOF.
    Floor(usize),
}

/// A caveat of a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum Note {
    /// The best lag was the longest searched, so many ms: the delay may be longer.
    #[error("the longest delay searched is {0:.2} ms: it may be longer")]
    LongestLag(f64),
    /// There is no reference to compare with.
    #[error("no reference to compare with")]
    NoReference,
    /// The motion repeats itself, so that this delay, ms, fits as well.
    #[error("the motion repeats itself: a delay of {0:.2} ms fits as well")]
    Repeats(f64),
    /// At the best lag the signals are so little alike.
    #[error("the two motions correlate by {0:.2} only: no delay can be told")]
    Unlike(f64),
}

/// The signals of one interface DOF, sampled together.
#[derive(Debug, Clone, Copy)]
pub struct Interface<'a> {
    /// Name or number of the interface DOF.
    pub name: &'a str,
    /// Displacement the numerical substructure asked for.
    pub desired: &'a [f64],
    /// Displacement the sensor read.
    pub measured: &'a [f64],
    /// Displacement there of the whole structure.
    pub reference: Option<&'a [f64]>,
}

/// The signals of a DOF that is not at the interface.
#[derive(Debug, Clone, Copy)]
pub struct Floor<'a> {
    /// Name or number of the DOF.
    pub name: &'a str,
    /// Displacement in the numerical substructure.
    pub numerical: &'a [f64],
    /// Displacement of the whole structure.
    pub reference: Option<&'a [f64]>,
}

/// What the criteria are computed from. Frames that do not count (after a trip)
/// are left out by the caller, or set to NaN where times must be kept.
#[derive(Debug, Clone, Copy)]
pub struct Signals<'a> {
    /// Samples per second of every signal.
    pub rate_hz: f64,
    /// The interface DOFs.
    pub interfaces: &'a [Interface<'a>],
    /// The further DOFs.
    pub floors: &'a [Floor<'a>],
}

/// What an interface DOF's criteria are made of.
struct InterfaceErrors<'a> {
    name: &'a str,
    lag: Option<Lag>,
    tracking: Comparison,
    answer: Option<Comparison>,
}

/// The name of a further DOF, and what its criteria are made of.
type FloorErrors<'a> = (&'a str, Option<Comparison>);

/// Signals that correlate by less have no delay that means anything.
const ALIKE: f64 = 0.5;

/// All criteria of a test, in the benchmark's order.
pub fn evaluate(signals: &Signals<'_>) -> Vec<Criterion> {
    let interfaces: Vec<_> = signals
        .interfaces
        .iter()
        .map(|one| InterfaceErrors {
            name: one.name,
            lag: tracking_delay(one.desired, one.measured, signals.rate_hz),
            tracking: compare(one.measured, one.desired),
            answer: one.reference.map(|reference| compare(one.measured, reference)),
        })
        .collect();
    let answer = |one: &Floor<'_>| Some(compare(one.numerical, one.reference?));
    let floors: Vec<_> = signals.floors.iter().map(|one| (one.name, answer(one))).collect();
    listed(signals.rate_hz, &interfaces, &floors)
}

/// The criteria one after the other.
fn listed(
    rate_hz: f64,
    interfaces: &[InterfaceErrors<'_>],
    floors: &[FloorErrors<'_>],
) -> Vec<Criterion> {
    let mut criteria = Vec::with_capacity(5 * interfaces.len() + 2 * floors.len());
    for (index, &InterfaceErrors { name, lag, tracking, answer }) in interfaces.iter().enumerate() {
        let (subject, tracking) = (Subject::Interface(index), Some(tracking));
        let rows = [
            (Measure::TrackingError, "tracking error of the measured motion", tracking),
            (Measure::PeakTrackingError, "peak tracking error of the measured motion", tracking),
            (Measure::Error, "error of the measured motion against the reference", answer),
            (Measure::PeakError, "peak error of the measured motion against the reference", answer),
        ];
        let errors = (2..).zip(rows).map(|(number, (measure, quantity, compared))| {
            against(number, measure, subject, quantity.to_owned(), compared)
        });
        for mut criterion in std::iter::once(delay_criterion(rate_hz, subject, lag)).chain(errors) {
            if interfaces.len() > 1 {
                criterion.id += &format!(".{name}");
                criterion.quantity += &format!(", interface {name}");
            }
            criteria.push(criterion);
        }
    }
    let mut number = 6;
    for (measure, word) in [(Measure::Error, "error"), (Measure::PeakError, "peak error")] {
        for (index, (name, answer)) in floors.iter().enumerate() {
            let quantity = format!("{word} of DOF {name} against the reference");
            criteria.push(against(number, measure, Subject::Floor(index), quantity, *answer));
            number += 1;
        }
    }
    criteria
}

fn delay_criterion(rate_hz: f64, subject: Subject, lag: Option<Lag>) -> Criterion {
    let ms = |samples: f64| 1e3 * samples / rate_hz;
    let lag = lag.filter(|_| rate_hz.is_finite() && rate_hz > 0.0);
    let note = |lag: Lag| match lag.again {
        _ if lag.correlation < ALIKE => Some(Note::Unlike(lag.correlation)),
        _ if lag.at_limit => Some(Note::LongestLag(ms(lag.samples))),
        again => again.map(|again| Note::Repeats(ms(again as f64))),
    };
    Criterion {
        id: "J1".to_owned(),
        measure: Measure::TrackingDelay,
        subject,
        quantity: "tracking delay of the measured behind the desired motion".to_owned(),
        value: lag.map(|lag| ms(lag.samples)),
        unit: "ms",
        note: lag.and_then(note),
    }
}

/// A criterion from a comparison, which is absent where there is no reference.
fn against(
    number: usize,
    measure: Measure,
    subject: Subject,
    quantity: String,
    compared: Option<Comparison>,
) -> Criterion {
    let peak = matches!(measure, Measure::PeakTrackingError | Measure::PeakError);
    let value = |found: Comparison| if peak { found.peak_error } else { found.std_error };
    Criterion {
        id: format!("J{number}"),
        measure,
        subject,
        quantity,
        value: compared.and_then(value),
        unit: "%",
        note: compared.is_none().then_some(Note::NoReference),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(scale: f64, late: usize) -> Vec<f64> {
        let value = |t: f64| {
            if t < 0.0 { 0.0 } else { scale * t * (-0.7 * t).exp() * (22.7 * t).sin() }
        };
        (0..8192).map(|i| value((i as f64 - late as f64) / 4096.0)).collect()
    }

    fn evaluated(interfaces: &[Interface<'_>], floors: &[Floor<'_>]) -> Vec<Criterion> {
        evaluate(&Signals { rate_hz: 4096.0, interfaces, floors })
    }

    #[test]
    fn three_floors_and_one_interface_give_the_nine_of_the_benchmark() {
        let (reference, measured) = (wave(1.0, 0), wave(1.1, 0));
        let (two, three) = (wave(1.02, 0), wave(1.03, 0));
        let interface = Interface {
            name: "1",
            desired: &reference,
            measured: &measured,
            reference: Some(&reference),
        };
        let floor =
            |name, numerical| Floor { name, numerical, reference: Some(reference.as_slice()) };
        let criteria = evaluated(&[interface], &[floor("2", &two), floor("3", &three)]);
        let expected = [0.0, 10.0, 10.0, 10.0, 10.0, 2.0, 3.0, 2.0, 3.0];
        assert_eq!(criteria.len(), 9);
        for (number, (criterion, exact)) in (1..).zip(criteria.iter().zip(expected)) {
            assert_eq!(criterion.id, format!("J{number}"));
            let value = criterion.value.expect("a value");
            assert!((value - exact).abs() < 1e-10, "{}: {value}", criterion.id);
            assert_eq!(criterion.unit, if number == 1 { "ms" } else { "%" });
        }
    }

    #[test]
    fn the_delay_is_the_shift_over_the_rate() {
        let (desired, measured) = (wave(1.0, 0), wave(1.0, 19));
        let interface =
            Interface { name: "1", desired: &desired, measured: &measured, reference: None };
        let criteria = evaluated(&[interface], &[]);
        let delay_ms = criteria[0].value.expect("a delay");
        assert!((delay_ms - 1e3 * 19.0 / 4096.0).abs() < 0.002, "{delay_ms}");
        assert_eq!(criteria[3].value, None);
        assert_eq!(criteria[3].note, Some(Note::NoReference));
    }

    #[test]
    fn a_delay_that_means_nothing_carries_a_note() {
        let desired = wave(1.0, 0);
        // What is not related to it.
        let other: Vec<f64> = (0..8192).map(|i| ((i * i % 8191) as f64).sin()).collect();
        let of = |measured| Interface { name: "1", desired: &desired, measured, reference: None };
        let note = |measured| evaluated(&[of(measured)], &[])[0].note;
        assert!(matches!(note(&other), Some(Note::Unlike(_))), "{:?}", note(&other));
        assert_eq!(note(&wave(1.0, 97)), None);
    }

    #[test]
    fn several_interfaces_carry_their_names_and_no_rate_gives_no_delay() {
        let desired = wave(1.0, 0);
        let interface =
            |name| Interface { name, desired: &desired, measured: &desired, reference: None };
        let interfaces = [interface("east"), interface("west")];
        let signals = Signals { rate_hz: 0.0, interfaces: &interfaces, floors: &[] };
        let criteria = evaluate(&signals);
        assert_eq!(criteria.len(), 10);
        assert_eq!(criteria[0].id, "J1.east");
        assert_eq!(criteria[0].value, None);
        assert_eq!(criteria[6].id, "J2.west");
        assert_eq!(criteria[6].value, Some(0.0));
    }
}
