//! The full model stepped through the test's own load, beside the reduced one.

use std::time::Instant;

use model::equations::RelativeDof;
use model::integrator::{Method, Options};
use model::partition::LoadPattern;
use model::reduction::transient::{FullLoad, FullStepper};
use model::structure::DofKind;
use runtime::load::Load;
use runtime::reference::reference;
use serde::Serialize;

use super::verdict::MORE;
use crate::assembly::{Assembly, Examined, LoopOptions, Recording};
use crate::error::Error;
use crate::evidence::tripped;
use crate::interface_dof::motion_unit;
use crate::page::text::prefixed;
use crate::page::{Axis, Figure, Pane, Role};
use crate::verdict::Reason;
use crate::words::number;
use experiment::VerdictSpec;

/// Places that are drawn.
const DRAWN: usize = 6;
/// Steps between two words of progress.
const STRIDE: usize = 50;
/// A motion below this part of the largest of its unit is not judged.
const STILL: f64 = 1e-3;

/// Full and reduced motion under the same load; serialised, how far they are apart.
#[derive(Serialize)]
pub(super) struct History {
    span_s: f64,
    /// When the load begins; before that everything is at rest.
    from_s: f64,
    steps: usize,
    step_s: f64,
    method: &'static str,
    /// Wall time of the full model's steps.
    full_s: f64,
    /// Memory of its factor.
    full_factor_bytes: usize,
    places: Vec<Place>,
    /// Why the loop ended before the span did, if so.
    tripped: Option<String>,
}

/// The motion of one interface DOF or monitored DOF.
#[derive(Serialize)]
struct Place {
    /// May be the user's word.
    name: String,
    peak: f64,
    unit: &'static str,
    reduced: Off,
    hybrid: Option<Off>,
    #[serde(skip)]
    motions: Motions,
}

/// The motions at a place.
struct Motions {
    name: String,
    kind: DofKind,
    full: Vec<f64>,
    reduced: Vec<f64>,
    /// What the sensors of the hybrid test said.
    hybrid: Option<Vec<f64>>,
    /// Noise and step of that sensor.
    floor: f64,
}

impl Place {
    fn of(motions: Motions) -> Self {
        Self {
            name: motions.name.clone(),
            peak: motions.full.iter().fold(0.0, |peak: f64, x| peak.max(x.abs())),
            unit: motion_unit(motions.kind),
            reduced: Off::of(&motions.reduced, &motions.full),
            hybrid: motions.hybrid.as_ref().map(|own| Off::of(own, &motions.full)),
            motions,
        }
    }
}

/// How far one motion is from another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Off {
    /// Root of the mean square of the difference, over that of the true motion.
    rms: f64,
    /// Largest difference, over the largest true motion.
    largest: f64,
    /// Difference of the largest motions, over the true one.
    peak: f64,
}

/// The largest; what is no number is larger than all.
fn gravest<'a>(all: impl Iterator<Item = (f64, &'a Place)>) -> Option<(f64, &'a Place)> {
    all.max_by(|(a, _), (b, _)| a.is_nan().cmp(&b.is_nan()).then(a.total_cmp(b)))
}

impl Off {
    /// Over time or at the peak, whichever is larger; no number where one of them is none.
    fn worst(self) -> f64 {
        if self.rms.is_nan() || self.peak.is_nan() { f64::NAN } else { self.rms.max(self.peak) }
    }

    fn of(ours: &[f64], truth: &[f64]) -> Self {
        let largest = |values: &mut dyn Iterator<Item = f64>| {
            // What is not a number stays so.
            values.fold(0.0, |m: f64, x| if m.is_nan() || x.abs() <= m { m } else { x.abs() })
        };
        let differences = || ours.iter().zip(truth).map(|(a, b)| a - b);
        let square = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
        // Only as long as both are known.
        let known = ours.len().min(truth.len());
        let (ours, truth) = (&ours[..known], &truth[..known]);
        let (own, peak) = (largest(&mut ours.iter().copied()), largest(&mut truth.iter().copied()));
        Self {
            rms: (square(&mut differences()) / square(&mut truth.iter().copied())).sqrt(),
            largest: largest(&mut differences()) / peak,
            peak: (own - peak).abs() / peak,
        }
    }
}

impl History {
    /// Steps the full structure from where the load begins, over `span_s` or to its
    /// end; `progress` is told steps done and to do.
    pub(super) fn new(
        assembly: &Assembly,
        examined: &Examined,
        span_s: Option<f64>,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Self, Error> {
        let whole = &assembly.substructures.whole;
        if !whole.elements.is_empty() {
            return Err(Error::NonlinearComparison(whole.elements.len()));
        }
        if assembly.stream.is_some() {
            return Err(Error::StreamedComparison);
        }
        let step_s = assembly.integrator.step_s;
        let load = assembly.load();
        let still = |tick: usize| load.at(tick).iter().all(|&value| value == 0.0);
        let silent = (0..load.ticks()).take_while(|&tick| still(tick)).count();
        if silent == load.ticks() {
            return Err(Error::SilentComparison);
        }
        // From the last tick at rest.
        let from = silent.saturating_sub(1);
        let steps = span_s.map_or(load.ticks(), |span| (span / step_s).round() as usize);
        let load = load.ending(from.saturating_add(steps.max(2)));
        let mut places = reduced(assembly, examined, &load)?;
        let tripped = hybrid(assembly, &load, &mut places)?;
        for place in &mut places {
            place.reduced.drain(..from);
            let hybrid = place.hybrid.as_mut();
            hybrid.map(|values| values.drain(..from.min(values.len())).count());
        }
        let begun = Instant::now();
        let model = &examined.reduced.model;
        let loads: Vec<FullLoad> = assembly
            .loads
            .iter()
            .map(|signal| match signal.pattern {
                LoadPattern::Ground => FullLoad::Ground,
                LoadPattern::Force { dof } => FullLoad::Force(model.boundary[dof]),
            })
            .collect();
        let interface: Vec<RelativeDof> = assembly
            .partition
            .interface
            .iter()
            .map(|place| {
                let of = |dof: Option<usize>| dof.map(|dof| model.boundary[dof]);
                RelativeDof { from: of(place.from), to: of(place.to) }
            })
            .collect();
        let watched: Vec<RelativeDof> = interface
            .into_iter()
            .chain(model.monitored.iter().map(|&dof| RelativeDof::of_dof(dof)))
            .collect();
        let mut full = FullStepper::new(&examined.component, &loads, load.at(from), step_s)?;
        for tick in from..load.ticks() {
            if (tick - from).is_multiple_of(STRIDE) {
                progress(tick - from, load.ticks() - from);
            }
            for (place, at) in places.iter_mut().zip(&watched) {
                place.full.push(at.value(full.displacement()));
            }
            full.advance(load.at(tick + 1));
        }
        let steps = load.ticks() - from;
        Ok(Self {
            span_s: steps as f64 * step_s,
            from_s: from as f64 * step_s,
            steps,
            step_s,
            method: "newmark",
            full_s: begun.elapsed().as_secs_f64(),
            full_factor_bytes: full.factor_bytes(),
            places: places.into_iter().map(Place::of).collect(),
            tripped,
        })
    }

    /// What the motion in time says against the reduced model, and against a test with it.
    pub(super) fn reasons(&self, thresholds: &VerdictSpec) -> Vec<Reason> {
        let largest = |unit: &str| {
            let alike = self.places.iter().filter(|place| place.unit == unit);
            alike.fold(0.0, |most: f64, place| most.max(place.peak))
        };
        // What hardly moves beside the others is known to few digits.
        let moves = |place: &&Place| place.peak > STILL * largest(place.unit);
        let moving = || self.places.iter().filter(moves);
        let reduced = moving().map(|place| (place.reduced.worst(), place));
        let reduced = gravest(reduced).and_then(|(value, place)| {
            Reason::beyond(thresholds.motion_error, value, "motion_error", |threshold| {
                let text = format!(
                    "the motion of {} in time is off by {} % rms, {} % at its peak; {} % allowed",
                    place.name,
                    number(100.0 * place.reduced.rms),
                    number(100.0 * place.reduced.peak),
                    number(100.0 * threshold)
                );
                (text, MORE.to_owned())
            })
        });
        let seen = moving().filter(|place| place.peak >= place.motions.floor);
        let hybrid = seen.filter_map(|place| Some((place.hybrid?.rms, place)));
        let hybrid = gravest(hybrid).and_then(|(value, place)| {
            Reason::beyond(thresholds.reference_error, value, "hybrid_error", |threshold| {
                let text = format!(
                    "the hybrid test at {} is off by {} % rms from the full model; {} % allowed",
                    place.name,
                    number(100.0 * value),
                    number(100.0 * threshold)
                );
                (
                    text,
                    "`twinrig check` shows which mode the loop changes and what helps".to_owned(),
                )
            })
        });
        let tripped = self.tripped.as_ref().map(|why| tripped(format!("the hybrid test: {why}")));
        tripped.into_iter().chain(reduced).chain(hybrid).collect()
    }

    fn time_s(&self, step: usize) -> f64 {
        self.from_s + step as f64 * self.step_s
    }

    /// Quantity and value, for people.
    pub(super) fn rows(&self) -> Vec<(String, String)> {
        let percent = |value: f64| format!("{} %", number(100.0 * value));
        let mut rows = vec![(
            "full model stepped".to_owned(),
            format!(
                "{} s from {} s on, {} steps by {} in {} s",
                number(self.span_s),
                number(self.from_s),
                self.steps,
                self.method,
                number(self.full_s)
            ),
        )];
        for Place { name, peak, unit, reduced, hybrid, motions } in &self.places {
            let (rms, at_peak) = (percent(reduced.rms), percent(reduced.peak));
            let value = format!("{rms} rms, {at_peak} at the peak of {} {unit}", number(*peak));
            rows.push((format!("{name}: reduced against full in time"), value));
            let Some(hybrid) = hybrid else { continue };
            let floor = number(motions.floor);
            let value = if *peak < motions.floor {
                format!("the motion is below what the sensor sees, {floor} {unit}")
            } else {
                format!("{} rms, {} at the peak", percent(hybrid.rms), percent(hybrid.peak))
            };
            rows.push((format!("{name}: hybrid test against full in time"), value));
        }
        if let Some(why) = &self.tripped {
            rows.push(("the hybrid test ended early".to_owned(), why.clone()));
        }
        rows
    }

    /// Every sample: a head, then a row for each step.
    pub(super) fn samples(&self) -> Vec<Vec<String>> {
        let times = (0..self.steps).map(|step| self.time_s(step)).collect();
        let mut columns: Vec<(String, Vec<f64>)> = vec![("time [s]".to_owned(), times)];
        for Place { name, motions, .. } in &self.places {
            columns.push((format!("{name} full"), motions.full.clone()));
            columns.push((format!("{name} reduced"), motions.reduced.clone()));
            let hybrid = motions.hybrid.iter().cloned();
            columns.extend(hybrid.map(|hybrid| (format!("{name} hybrid"), hybrid)));
        }
        let head = columns.iter().map(|(name, _)| name.clone()).collect();
        // A loop that ended early has fewer samples.
        let text = |value: Option<&f64>| value.map_or_else(String::new, f64::to_string);
        let row = |step| columns.iter().map(|(_, values)| text(values.get(step))).collect();
        std::iter::once(head).chain((0..self.steps).map(row)).collect()
    }

    /// Motion and difference of each place.
    pub(super) fn figures(&self) -> Vec<Figure> {
        self.places.iter().take(DRAWN).map(|place| self.figure(place)).collect()
    }

    fn figure(&self, place: &Place) -> Figure {
        let (name, motions) = (&place.name, &place.motions);
        let time: Vec<f64> = (0..self.steps).map(|step| self.time_s(step)).collect();
        let (unit, scale) = prefixed(place.unit, place.peak);
        let quantity = match motions.kind {
            DofKind::Translation => "Displacement",
            DofKind::Rotation => "Rotation",
        };
        let pane =
            |quantity: &str| Pane::new(Axis::time(), Axis::new(format!("{quantity} [{unit}]")));
        let apart = |own: &[f64]| -> Vec<f64> {
            own.iter().zip(&motions.full).map(|(a, b)| a - b).collect()
        };
        let mut motion = pane(quantity)
            .history(Role::Reference, "full model", &time, &motions.full, scale)
            .history(Role::Desired, "reduced model", &time, &motions.reduced, scale);
        let mut difference = pane("Difference").high(130.0).history(
            Role::Error,
            "reduced − full",
            &time,
            &apart(&motions.reduced),
            scale,
        );
        let mut caption = "The whole structure under the load of the file: the full model and the \
                           reduced one, both by average acceleration at the step of the test. \
                           Their difference is the reduction's own error."
            .to_owned();
        if let Some(hybrid) = &motions.hybrid {
            motion = motion.history(Role::Measured, "hybrid test, measured", &time, hybrid, scale);
            let own = apart(hybrid);
            difference = difference.history(Role::Measured, "hybrid − full", &time, &own, scale);
            caption += " Measured: what the sensors of the hybrid test said; its difference is \
                        that of the whole test.";
        }
        Figure::new(format!("Motion in time: {name}"), caption, vec![motion, difference])
    }
}

/// The reduced structure, as a whole, by average acceleration.
fn reduced(assembly: &Assembly, examined: &Examined, load: &Load) -> Result<Vec<Motions>, Error> {
    let options = Options { method: Method::Newmark, ..assembly.integrator.clone() };
    let response = reference(&assembly.substructures.whole, &options, load, 1)?;
    let small = &examined.reduced;
    let names = &assembly.structure.names;
    let named = |place: &RelativeDof| match (place.from, place.to) {
        (None, Some(dof)) => names[dof].clone(),
        (from, to) => {
            let name = |dof: Option<usize>| dof.map_or("ground", |dof| &names[dof]);
            format!("{} to {}", name(from), name(to))
        }
    };
    let place = |name: String, kind: DofKind, reduced: Vec<f64>| {
        let full = Vec::with_capacity(reduced.len());
        Motions { name, kind, full, reduced, hybrid: None, floor: 0.0 }
    };
    let kind = |at: &RelativeDof| match at.to.or(at.from) {
        Some(dof) => assembly.structure.kinds[dof],
        None => DofKind::Translation,
    };
    let interface = assembly.partition.interface.iter().zip(response.interface);
    let mut places: Vec<Motions> =
        interface.map(|(at, motion)| place(named(at), kind(at), motion)).collect();
    let monitored = small.monitored.iter().zip(&examined.monitored_kinds);
    for (row, (name, kind)) in small.model.recovery.row_iter().zip(monitored) {
        let motion = (0..load.ticks()).map(|k| {
            row.iter().zip(&response.displacement).map(|(share, column)| share * column[k]).sum()
        });
        places.push(place(name.clone(), *kind, motion.collect()));
    }
    Ok(places)
}

/// Runs the hybrid test in virtual time and keeps what its sensors say; tells
/// what tripped it.
fn hybrid(
    assembly: &Assembly,
    load: &Load,
    places: &mut [Motions],
) -> Result<Option<String>, Error> {
    // Before the load begins there is nothing to compare.
    if assembly.course.is_some() {
        return Ok(None);
    }
    let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
    let (stop_at, plant) = (f64::INFINITY, assembly.plant()?);
    // The warning's constant comes from the whole load; here it only watches.
    let watching = Assembly { stop_at, ..assembly.clone() };
    let mut hybrid = watching.hybrid_loop(plant, load.clone(), options);
    let count = assembly.count();
    let mut measured: Vec<Vec<f64>> = vec![Vec::with_capacity(load.ticks()); count];
    while !hybrid.is_over() && hybrid.tripped().is_none() && measured[0].len() < load.ticks() {
        hybrid.tick();
        for (column, value) in measured.iter_mut().zip(&hybrid.measured().displacement) {
            column.push(*value);
        }
    }
    let sensors = &assembly.sensors;
    let floors = sensors.displacement_noise.iter().zip(&sensors.displacement_quantum);
    for ((place, column), (noise, quantum)) in places.iter_mut().zip(measured).zip(floors) {
        place.hybrid = Some(column);
        place.floor = noise + quantum;
    }
    let trip = hybrid.tripped();
    Ok(trip.map(|(trip, time_s)| format!("{} at {} s", trip.text(), number(time_s))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shares_of_the_true_motion() {
        let off = Off::of(&[1.0, -3.0, 0.0], &[1.0, -4.0, 0.0]);
        assert!((off.rms - (1.0f64 / 17.0).sqrt()).abs() < 1e-15);
        assert_eq!((off.largest, off.peak), (0.25, 0.25));
        // A loop that ended early is judged by what it did.
        assert_eq!(Off::of(&[1.0], &[1.0, 7.0]), Off { rms: 0.0, largest: 0.0, peak: 0.0 });
        let off = Off::of(&[f64::NAN, 1.0], &[1.0, 1.0]);
        assert!(off.rms.is_nan() && off.largest.is_nan() && off.peak.is_nan());
    }
}
