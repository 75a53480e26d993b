//! Figures over time, with everything that happened drawn in, and what is made of them: loops
//! and spectra.

use std::ops::Range;

use analysis::criteria::{self, Measure, Subject};
use numerics::welch::Spectra;

use super::findings::{Findings, difference};
use super::summary::FrequencyEvaluation;
use super::view::Interface;
use crate::page::text::{label, label_of, number, prefixed};
use crate::page::{Axis, Figure, Pane, Role, Shape, Tone, Width};

/// Cycles of the motion shown in the close-up of the tracking.
const CLOSE_UP_CYCLES: f64 = 3.0;
/// Cycles before and after a trip.
const TRIP_CYCLES: f64 = 4.0;
/// Events drawn in one figure, and the longest words of one.
const EVENTS: usize = 12;
const EVENT_WORDS: usize = 34;
const SPECTRUM: &str = "By Welch's method, over the test proper.";
/// Height of a pane that is not the main one.
pub(super) const LOW: f64 = 130.0;

/// A unit, with a prefix that is chosen once for a quantity, and the factor from the channel's.
pub(super) struct Unit {
    pub(super) name: String,
    pub(super) scale: f64,
}

impl Unit {
    /// As it is.
    pub(super) fn plain(name: &str) -> Self {
        Self { name: name.to_owned(), scale: 1.0 }
    }

    /// The prefix that suits values up to a peak.
    pub(super) fn of(name: &str, peak: f64) -> Self {
        let (name, scale) = prefixed(name, peak);
        Self { name, scale }
    }
}

/// What a column stands for, its name in the legend, and its values.
pub(super) type Curve<'a> = (Role, &'a str, &'a [f64]);

/// The figures of one record.
pub(super) struct Histories<'a> {
    pub(super) findings: &'a Findings<'a>,
    length: Unit,
    force: Unit,
    /// Every row.
    rows: Range<usize>,
}

impl<'a> Histories<'a> {
    pub(super) fn of(findings: &'a Findings<'a>) -> Self {
        let view = &findings.view;
        let motions = view.interfaces.iter().flat_map(|interface| {
            [interface.desired, &*interface.measured, interface.reference.unwrap_or_default()]
        });
        let motions = motions.chain(view.floors.iter().map(|floor| floor.numerical));
        let forces = view.interfaces.iter().map(|interface| &*interface.force);
        let forces = forces.chain(view.family("load.").into_iter().map(|(_, load)| load));
        let length = Unit::of("m", motions.map(peak).fold(0.0, f64::max));
        let force = Unit::of("N", forces.map(peak).fold(0.0, f64::max));
        Self { findings, length, force, rows: 0..view.rows() }
    }

    /// The interface DOFs that are shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = (usize, &'a Interface<'a>)> + use<'a> {
        let findings = self.findings;
        findings.shown_interfaces.iter().map(|&index| (index, &findings.view.interfaces[index]))
    }

    /// A pane over some rows; a model's curve ends with the test, a rig's goes on to safe.
    fn pane(&self, quantity: &str, unit: &Unit, rows: &Range<usize>, curves: &[Curve<'_>]) -> Pane {
        let time = self.findings.view.time;
        let link = if *rows == self.rows { "time" } else { "close-up" };
        let x = Axis { link, ..Axis::time() };
        let mut pane = Pane::new(x, Axis::new(format!("{quantity} [{}]", unit.name)));
        for &(role, name, values) in curves {
            let rig = matches!(role, Role::Command | Role::Measured | Role::Achieved);
            let end = if rig { rows.end } else { rows.end.min(self.findings.model_end()) };
            let shown = values.get(rows.start..end).unwrap_or_default();
            pane = pane.history(role, name, &time[rows.clone()], shown, unit.scale);
        }
        pane
    }

    /// A pane over the whole time in a unit without a prefix.
    pub(super) fn plain(&self, quantity: &str, unit: &str, curves: &[Curve<'_>]) -> Pane {
        self.scaled(quantity, &Unit::plain(unit), curves)
    }

    /// A pane over the whole time.
    pub(super) fn scaled(&self, quantity: &str, unit: &Unit, curves: &[Curve<'_>]) -> Pane {
        self.pane(quantity, unit, &self.rows, curves)
    }

    fn motion(&self, quantity: &str, curves: &[Curve<'_>]) -> Pane {
        self.scaled(quantity, &self.length, curves)
    }

    /// A figure over the whole time, with phases, events and what followed a trip.
    pub(super) fn figure(
        &self,
        title: impl Into<String>,
        caption: impl Into<String>,
        panes: Vec<Pane>,
    ) -> Figure {
        let time = self.findings.view.time;
        let finite = |time: &&f64| time.is_finite();
        let ends = (time.iter().find(finite), time.iter().rev().find(finite));
        let mut panes = self.told(panes);
        if let (Some(&first), Some(&last)) = ends {
            for pane in &mut panes {
                pane.x = pane.x.clone().reach(first).reach(last);
            }
        }
        Figure::new(title, caption, panes)
    }

    /// Panes with what happened; the words stand above the first.
    fn told(&self, panes: Vec<Pane>) -> Vec<Pane> {
        let phases = self.findings.view.stages();
        let trip = self.findings.outcome.trip.as_ref().map(|trip| trip.time_s);
        let end = self.findings.duration_s();
        let marked = |(index, mut pane): (usize, Pane)| {
            let words = |text: &str| if index == 0 { text.to_owned() } else { String::new() };
            for (from, to, word) in &phases {
                pane = pane.shade(*from, *to, words(word), Tone::Phase);
            }
            if let (Some(trip), Some(end)) = (trip, end) {
                pane = pane.shade(trip, end.max(trip), "", Tone::Trip);
            }
            for (time, word) in self.findings.marked_events().take(EVENTS) {
                pane = pane.event(time, words(&label_of(&word, EVENT_WORDS)));
            }
            pane
        };
        panes.into_iter().enumerate().map(marked).collect()
    }

    /// Two motions and their difference.
    fn compared(&self, [one, other]: [Curve<'_>; 2]) -> Vec<Pane> {
        let words = format!("{} − {}", other.1, one.1);
        let error = difference(other.2, one.2);
        vec![
            self.motion("Displacement", &[one, other]),
            self.motion("Error", &[(Role::Error, &words, &error)]).high(LOW),
        ]
    }

    /// Measured motion against the whole structure.
    pub(super) fn against_reference(&self) -> Vec<Figure> {
        let figures = self.shown().filter_map(|(index, interface)| {
            let reference = interface.reference.filter(|_| !interface.measured.is_empty())?;
            let panes = self.compared([
                (Role::Reference, "reference", reference),
                (Role::Measured, "measured", &interface.measured),
            ]);
            let caption = "The reference is the whole structure, integrated before the test \
                           without a rig."
                .to_owned()
                + &told("Normalised rms error", self.findings.nrmse[index], "%");
            let title = self.name("Measured motion against the whole structure", index);
            Some(self.figure(title, caption, panes))
        });
        figures.collect()
    }

    /// The measured force.
    pub(super) fn force(&self) -> Vec<Figure> {
        let known = self.shown().filter(|(_, interface)| !interface.force.is_empty());
        let figures = known.map(|(index, interface)| {
            let curve = (Role::Measured, "measured force", &*interface.force);
            let pane = self.scaled("Force", &self.force, &[curve]);
            self.figure(self.name("Force of the specimen", index), "", vec![pane])
        });
        figures.collect()
    }

    /// Every further DOF that is shown.
    pub(super) fn floors(&self) -> Vec<Figure> {
        let figures = self.findings.shown_floors.iter().map(|&index| {
            let floor = &self.findings.view.floors[index];
            let reference = floor.reference.map(|column| (Role::Reference, "reference", column));
            let numerical = (Role::Desired, "numerical", floor.numerical);
            let curves: Vec<Curve<'_>> = reference.into_iter().chain([numerical]).collect();
            let of = |measure| self.findings.criterion(Subject::Floor(index), measure);
            let caption = told("Error against the reference", of(Measure::Error), "%")
                + &told("Peak error", of(Measure::PeakError), "%");
            let title = format!("Displacement of DOF {}", label(floor.name));
            let panes = vec![self.motion("Displacement", &curves)];
            self.figure(title, caption.trim_start(), panes)
        });
        figures.collect()
    }

    /// Desired and measured motion, their difference, a close-up and both as loops.
    pub(super) fn tracking(&self) -> Vec<Figure> {
        let mut figures = Vec::new();
        for (index, interface) in self.shown() {
            if interface.desired.is_empty() || interface.measured.is_empty() {
                let pane = self.motion("Displacement", &motions(interface));
                figures.push(self.figure(self.name("Motion", index), "", vec![pane]));
                continue;
            }
            let delay = self.findings.criterion(Subject::Interface(index), Measure::TrackingDelay);
            let panes = self.compared([
                (Role::Desired, "desired", interface.desired),
                (Role::Measured, "measured", &interface.measured),
            ]);
            let caption = "The desired motion comes from the numerical substructure, the measured \
                           one from the sensor at the specimen."
                .to_owned()
                + &told("Tracking delay", delay, "ms")
                + &evaluated(&self.findings.tracking[index]);
            figures.push(self.figure(self.name("Tracking", index), caption, panes));
            figures.extend(self.close_up(index, interface));
            figures.push(self.synchronisation(index, interface));
            let view = &self.findings.view;
            let motions = (view.running(interface.desired), view.running(&interface.measured));
            let curves = [("desired", &*motions.0), ("measured", &*motions.1)];
            figures.extend(self.spectrum("Spectrum of the motion", index, curves, &self.length));
        }
        figures
    }

    /// A few cycles around the largest desired motion, where a delay can be seen.
    fn close_up(&self, index: usize, interface: &Interface<'_>) -> Option<Figure> {
        let view = &self.findings.view;
        let desired = view.running(interface.desired);
        let peak = criteria::peak(&desired).filter(|peak| peak.value != 0.0)?;
        let rows = (CLOSE_UP_CYCLES * period_rows(&desired)).max(40.0);
        if rows >= desired.len() as f64 {
            return None;
        }
        let rows = rows as usize;
        let start = peak.index.saturating_sub(rows / 2).min(desired.len() - rows);
        let window = view.first() + start..view.first() + start + rows;
        let caption = "The cycles around the largest desired motion. The command leads where the \
                       compensator expects a delay.";
        let pane = self.pane("Displacement", &self.length, &window, &motions(interface));
        Some(Figure::new(self.name("Close-up of the tracking", index), caption, vec![pane]))
    }

    /// What happened around a trip: motion and force, all events marked.
    pub(super) fn around_trip(&self) -> Vec<Figure> {
        let view = &self.findings.view;
        let trip = self.findings.outcome.trip.as_ref();
        let row = trip.and_then(|trip| view.time.iter().position(|time| *time >= trip.time_s));
        let Some(row) = row else { return Vec::new() };
        let events = self.findings.marked_events().map(|(time, _)| time);
        let first = events.fold(f64::INFINITY, f64::min);
        let first = view.time.partition_point(|time| *time < first);
        let moved = self.shown().filter(|(_, interface)| !interface.measured.is_empty());
        let figures = moved.map(|(index, interface)| {
            let cycles = period_rows(&view.running(interface.desired));
            let reach = ((TRIP_CYCLES * cycles) as usize).clamp(40, view.rows().max(40));
            // From the first event on, if it is not long ago.
            let first = first.saturating_sub(reach / 8);
            let from = row.saturating_sub(reach);
            let from = if first + 4 * reach > row { from.min(first) } else { from };
            let rows = from..(row + reach).min(view.rows());
            let mut panes =
                vec![self.pane("Displacement", &self.length, &rows, &motions(interface))];
            if !interface.force.is_empty() {
                let curve = (Role::Measured, "measured force", &*interface.force);
                panes.push(self.pane("Force", &self.force, &rows, &[curve]).high(LOW));
            }
            let mut panes = self.told(panes);
            for pane in &mut panes {
                pane.x = pane.x.clone().range(view.time[rows.start], view.time[rows.end - 1]);
            }
            let caption = "The cycles before and after the trip: the command is held, then led to \
                           its safe place.";
            Figure::new(self.name("At the trip", index), caption, panes)
        });
        figures.collect()
    }

    fn synchronisation(&self, index: usize, interface: &Interface<'_>) -> Figure {
        let view = &self.findings.view;
        let (desired, measured) =
            (view.running(interface.desired), view.running(&interface.measured));
        let scale = self.length.scale;
        let reach = 1.1 * scale * peak(&desired).max(peak(&measured));
        let axis = |name: &str| {
            let axis = Axis::new(format!("{name} [{}]", self.length.name));
            if reach > 0.0 { axis.range(-reach, reach) } else { axis }
        };
        let pane = Pane::new(axis("Desired displacement"), axis("Measured displacement"))
            .shape(Shape::Equal)
            .line(Role::Reference, "perfect tracking", [(-reach, -reach), (reach, reach)])
            .orbit(Role::Measured, "measured", (&desired, scale), (&measured, scale));
        let caption = "A delay opens a loop, a wrong amplitude turns it.";
        Figure::new(self.name("Synchronisation", index), caption, vec![pane]).width(Width::Half)
    }

    /// Measured force over displacement and over frequency.
    pub(super) fn hysteresis(&self) -> Vec<Figure> {
        let view = &self.findings.view;
        let mut figures = Vec::new();
        for (index, interface) in self.shown() {
            let motion = match &*interface.measured {
                [] => interface.desired,
                measured => measured,
            };
            if interface.force.is_empty() || motion.is_empty() {
                continue;
            }
            let (motion, force) = (view.running(motion), view.running(&interface.force));
            let x = Axis::new(format!("Displacement [{}]", self.length.name));
            let y = Axis::new(format!("Force [{}]", self.force.name));
            let (motion, of_force) = ((&*motion, self.length.scale), (&*force, self.force.scale));
            let pane = Pane::new(x, y).shape(Shape::Square);
            let pane = pane.orbit(Role::Measured, "measured", motion, of_force);
            let caption = "The area of a loop is the energy that the specimen takes in a cycle.";
            let title = self.name("Force over displacement", index);
            figures.push(Figure::new(title, caption, vec![pane]).width(Width::Half));
            let curves = [("", &*force), ("measured", &*force)];
            figures.extend(self.spectrum("Spectrum of the force", index, curves, &self.force));
        }
        figures
    }

    /// Spectral densities of two signals, up to where little of the first is left.
    fn spectrum(
        &self,
        title: &str,
        index: usize,
        [first, second]: [(&str, &[f64]); 2],
        unit: &Unit,
    ) -> Option<Figure> {
        let rate_hz = self.findings.view.frame_rate_hz()?;
        // Some eight segments, of two seconds at least.
        let segment = (first.1.len() / 8).max((2.0 * rate_hz) as usize);
        let spectra = Spectra::new(first.1, second.1, segment, rate_hz).ok()?;
        let total: f64 = spectra.input.iter().sum();
        let mut below = 0.0;
        let dominant = spectra.input.iter().position(|power| {
            below += power;
            below >= 0.99 * total
        })?;
        let last = (4 * dominant).max(8).min(spectra.frequency_hz.len() - 1);
        let curve = |density: &[f64]| -> Vec<(f64, f64)> {
            (1..=last).map(|k| (spectra.frequency_hz[k], unit.scale * density[k].sqrt())).collect()
        };
        let y = Axis::new(format!("Spectral density [{}/√Hz]", unit.name)).log();
        let mut pane = Pane::new(Axis::frequency(), y).shape(Shape::Square);
        if !first.0.is_empty() {
            pane = pane.line(Role::Desired, first.0, curve(&spectra.input));
        }
        let pane = pane.line(Role::Measured, second.0, curve(&spectra.output));
        Some(Figure::new(self.name(title, index), SPECTRUM, vec![pane]).width(Width::Half))
    }

    /// What shakes the structure.
    pub(super) fn excitation(&self) -> Vec<Figure> {
        let view = &self.findings.view;
        let mut figures = Vec::new();
        if let Some(ground) = view.column("ground.acceleration") {
            let curve = (Role::Ink, "ground acceleration", ground);
            let pane = self.plain("Acceleration", "m/s²", &[curve]);
            figures.push(self.figure("Ground acceleration", "", vec![pane]));
        }
        let loads = view.family("load.");
        let shown = loads.len().min(6);
        for (name, load) in &loads[..shown] {
            let pane = self.scaled("Force", &self.force, &[(Role::Ink, "force", load)]);
            let caption = if shown < loads.len() {
                format!("One of {} applied forces, of which {shown} are shown.", loads.len())
            } else {
                String::new()
            };
            let title = format!("Applied force {}", label(name));
            figures.push(self.figure(title, caption, vec![pane]));
        }
        figures
    }

    /// The title, with the interface's name where there are several.
    pub(super) fn name(&self, title: &str, interface: usize) -> String {
        self.findings.view.named(title, interface)
    }
}

/// The motions from the numerical substructure to the sensor, as far as recorded.
fn motions<'a>(interface: &'a Interface<'_>) -> Vec<Curve<'a>> {
    let roles = [
        (Role::Desired, "desired", interface.desired),
        (Role::Command, "command", interface.command),
        (Role::Measured, "measured", &*interface.measured),
        (Role::Achieved, "achieved", interface.achieved),
    ];
    roles.into_iter().filter(|(_, _, column)| !column.is_empty()).collect()
}

/// Mean number of rows in a cycle, by upward crossings of zero; the whole
/// signal if there are none.
fn period_rows(signal: &[f64]) -> f64 {
    let mut pairs = signal.windows(2).enumerate();
    let mut crossing = || pairs.find(|(_, pair)| pair[0] < 0.0 && pair[1] >= 0.0);
    let Some((first, _)) = crossing() else { return signal.len() as f64 };
    let (mut last, mut cycles) = (first, 0usize);
    while let Some((row, _)) = crossing() {
        last = row;
        cycles += 1;
    }
    if cycles == 0 { signal.len() as f64 } else { (last - first) as f64 / cycles as f64 }
}

/// A sentence about a number, to follow another; empty if there is none.
fn told(words: &str, value: Option<f64>, unit: &str) -> String {
    value.map_or_else(String::new, |value| format!(" {words} {} {unit}.", number(value)))
}

/// A sentence about the frequency evaluation index.
fn evaluated(index: &FrequencyEvaluation) -> String {
    let (Some(amplitude), Some(delay_s), Some(hertz)) =
        (index.amplitude, index.delay_s, index.frequency_hz)
    else {
        return String::new();
    };
    format!(
        " Frequency evaluation index: amplitude {}, delay {} ms at a mean frequency of {} Hz.",
        number(amplitude),
        number(1e3 * delay_s),
        number(hertz)
    )
}

pub(super) fn peak(column: &[f64]) -> f64 {
    criteria::peak(column).map_or(0.0, |peak| peak.value.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_of_a_sine_is_found() {
        let sine: Vec<f64> =
            (0..1000).map(|i| (i as f64 * std::f64::consts::TAU / 73.0).sin()).collect();
        assert!((period_rows(&sine) - 73.0).abs() < 0.2);
        assert_eq!(period_rows(&[1.0, 2.0]), 2.0);
    }
}
