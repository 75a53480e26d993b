//! Figures over time, with everything that happened drawn in.

use std::borrow::Cow;
use std::ops::Range;

use analysis::criteria::{self, Measure, Subject};
use numerics::welch::Spectra;

use super::findings::{Findings, difference};
use super::view::Interface;
use crate::page::text::{label, label_of, number};
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

/// A unit with a prefix, chosen once for a quantity, and the factor from SI.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub(super) name: &'static str,
    pub(super) scale: f64,
}

impl Unit {
    /// The last of these units whose smallest peak this one reaches.
    pub(super) fn choose(peak: f64, units: &[Prefixed]) -> Self {
        let fits = units.iter().rev().find(|(_, _, from)| peak >= *from);
        let &(name, scale, _) = fits.unwrap_or(&units[0]);
        Self { name, scale }
    }
}

/// A unit, the factor from SI, and the peak from which on it is used.
pub(super) type Prefixed = (&'static str, f64, f64);
/// Units of displacements.
pub(super) const LENGTHS: [Prefixed; 3] = [("µm", 1e6, 0.0), ("mm", 1e3, 1e-4), ("m", 1.0, 10.0)];
/// Units of forces.
pub(super) const FORCES: [Prefixed; 3] = [("N", 1.0, 0.0), ("kN", 1e-3, 1e3), ("MN", 1e-6, 1e6)];
/// Units of energies.
const ENERGIES: [Prefixed; 3] = [("J", 1.0, 0.0), ("kJ", 1e-3, 1e4), ("MJ", 1e-6, 1e7)];

/// The figures of one record.
pub(super) struct Histories<'a> {
    pub(super) findings: &'a Findings<'a>,
    length: Unit,
    force: Unit,
}

/// A column's name in the legend, what it stands for, and its values.
type Curve<'a> = (Role, &'a str, Cow<'a, [f64]>);

impl<'a> Histories<'a> {
    pub(super) fn of(findings: &'a Findings<'a>) -> Self {
        let view = &findings.view;
        let motions = view.interfaces.iter().flat_map(|interface| {
            [interface.desired, &*interface.measured, interface.reference.unwrap_or_default()]
        });
        let motions = motions.chain(view.floors.iter().map(|floor| floor.numerical));
        let forces = view.interfaces.iter().map(|interface| &*interface.force);
        let forces = forces.chain(view.family("load.").into_iter().map(|(_, load)| load));
        let length = Unit::choose(motions.map(peak).fold(0.0, f64::max), &LENGTHS);
        let force = Unit::choose(forces.map(peak).fold(0.0, f64::max), &FORCES);
        Self { findings, length, force }
    }

    fn shown(&self) -> impl Iterator<Item = &'a Interface<'a>> + use<'a> {
        let findings = self.findings;
        findings.shown_interfaces.iter().map(move |&index| &findings.view.interfaces[index])
    }

    /// A pane over time; a model's curve ends with the test, a rig's goes on to safe.
    fn pane(&self, quantity: &str, unit: Unit, curves: Vec<Curve<'_>>) -> Pane {
        let title = if unit.name.is_empty() {
            quantity.to_owned()
        } else {
            format!("{quantity} [{}]", unit.name)
        };
        let time = self.findings.view.time;
        let mut pane = Pane::new(Axis::time(), Axis::new(title));
        for (role, name, values) in curves {
            let rig = matches!(role, Role::Command | Role::Measured | Role::Achieved);
            let end = if rig { time.len() } else { self.findings.model_end() };
            pane = pane.history(role, name, time, &values[..values.len().min(end)], unit.scale);
        }
        pane
    }

    /// A pane in a unit without a prefix.
    pub(super) fn plain(&self, quantity: &str, unit: &'static str, curves: Vec<Curve<'_>>) -> Pane {
        self.pane(quantity, Unit { name: unit, scale: 1.0 }, curves)
    }

    /// A pane in thousandths of the column's unit.
    pub(super) fn milli(&self, quantity: &str, unit: &'static str, curves: Vec<Curve<'_>>) -> Pane {
        self.pane(quantity, Unit { name: unit, scale: 1e3 }, curves)
    }

    fn displacement(&self, quantity: &str, curves: Vec<Curve<'_>>) -> Pane {
        self.pane(quantity, self.length, curves)
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
        let end = self.findings.view.time.iter().rev().copied().find(|time| time.is_finite());
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

    /// Measured motion against the whole structure.
    pub(super) fn against_reference(&self) -> Vec<Figure> {
        let figures = self.findings.shown_interfaces.iter().filter_map(|&index| {
            let interface = &self.findings.view.interfaces[index];
            let reference = interface.reference.filter(|_| !interface.measured.is_empty())?;
            let error = difference(&interface.measured, reference);
            let panes = vec![
                self.displacement(
                    "Displacement",
                    vec![
                        (Role::Reference, "reference", reference.into()),
                        (Role::Measured, "measured", (&*interface.measured).into()),
                    ],
                ),
                self.displacement(
                    "Error",
                    vec![(Role::Error, "measured − reference", error.into())],
                )
                .high(LOW),
            ];
            let nrmse = self.findings.nrmse.get(index).copied().flatten();
            let caption = "The reference is the whole structure, integrated before the test \
                           without a rig."
                .to_owned()
                + &told("Normalised rms error", nrmse, "%");
            let title = self.name("Measured motion against the whole structure", interface);
            Some(self.figure(title, caption, panes))
        });
        figures.collect()
    }

    /// The measured force.
    pub(super) fn force(&self) -> Vec<Figure> {
        let known = self.shown().filter(|interface| !interface.force.is_empty());
        let figures = known.map(|interface| {
            let curves = vec![(Role::Measured, "measured force", (&*interface.force).into())];
            let panes = vec![self.pane("Force", self.force, curves)];
            self.figure(self.name("Force of the specimen", interface), "", panes)
        });
        figures.collect()
    }

    /// Every further DOF that is shown.
    pub(super) fn floors(&self) -> Vec<Figure> {
        let figures = self.findings.shown_floors.iter().map(|&index| {
            let floor = &self.findings.view.floors[index];
            let mut curves: Vec<Curve<'_>> = Vec::new();
            let mut caption = String::new();
            if let Some(reference) = floor.reference {
                curves.push((Role::Reference, "reference", reference.into()));
                let of = |measure| self.findings.criterion(Subject::Floor(index), measure);
                let (error, peak) = (of(Measure::Error), of(Measure::PeakError));
                caption = told("Error against the reference", error, "%")
                    + &told("Peak error", peak, "%");
            }
            curves.push((Role::Desired, "numerical", floor.numerical.into()));
            let panes = vec![self.displacement("Displacement", curves)];
            let title = format!("Displacement of DOF {}", label(floor.name));
            self.figure(title, caption.trim_start(), panes)
        });
        figures.collect()
    }

    /// Desired and measured motion, their difference, a close-up and both as loops.
    pub(super) fn tracking(&self) -> Vec<Figure> {
        let mut figures = Vec::new();
        for &index in &self.findings.shown_interfaces {
            let interface = &self.findings.view.interfaces[index];
            if interface.desired.is_empty() || interface.measured.is_empty() {
                let rows = 0..self.findings.view.rows();
                let panes = vec![self.displacement("Displacement", motions(interface, &rows))];
                figures.push(self.figure(self.name("Motion", interface), "", panes));
                continue;
            }
            let delay = self.findings.criterion(Subject::Interface(index), Measure::TrackingDelay);
            let error = difference(&interface.measured, interface.desired);
            let panes = vec![
                self.displacement(
                    "Displacement",
                    vec![
                        (Role::Desired, "desired", interface.desired.into()),
                        (Role::Measured, "measured", (&*interface.measured).into()),
                    ],
                ),
                self.displacement("Error", vec![(Role::Error, "measured − desired", error.into())])
                    .high(LOW),
            ];
            let caption = "The desired motion comes from the numerical substructure, the measured \
                           one from the sensor at the specimen."
                .to_owned()
                + &told("Tracking delay", delay, "ms");
            figures.push(self.figure(self.name("Tracking", interface), caption, panes));
            figures.extend(self.close_up(interface));
            figures.push(self.synchronisation(interface));
            figures.extend(self.spectrum(interface));
        }
        figures
    }

    /// A few cycles around the largest desired motion, where a delay can be seen.
    fn close_up(&self, interface: &Interface<'_>) -> Option<Figure> {
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
        let pane = self.window(&window, interface);
        Some(Figure::new(self.name("Close-up of the tracking", interface), caption, vec![pane]))
    }

    /// The motions of a few rows.
    fn window(&self, rows: &Range<usize>, interface: &Interface<'_>) -> Pane {
        let time = &self.findings.view.time[rows.clone()];
        let title = format!("Displacement [{}]", self.length.name);
        let x = Axis { link: "close-up", ..Axis::new("Time [s]") };
        let mut pane = Pane::new(x, Axis::new(title));
        for (role, name, values) in motions(interface, rows) {
            let rig = role != Role::Desired;
            let end = if rig { rows.end } else { self.findings.model_end() };
            let known = &values[..values.len().min(end.saturating_sub(rows.start))];
            pane = pane.history(role, name, time, known, self.length.scale);
        }
        pane
    }

    /// What happened around a trip: motion and force, all events marked.
    pub(super) fn around_trip(&self) -> Vec<Figure> {
        let view = &self.findings.view;
        let Some(trip) = &self.findings.outcome.trip else { return Vec::new() };
        let Some(row) = view.time.iter().position(|time| *time >= trip.time_s) else {
            return Vec::new();
        };
        let figures = self.shown().filter(|interface| !interface.measured.is_empty()).map(|interface| {
            let cycles = period_rows(&view.running(interface.desired));
            let reach = ((TRIP_CYCLES * cycles) as usize).clamp(40, view.rows().max(40));
            // From the first event on, if it is not long ago.
            let first = self.findings.marked_events().map(|(time, _)| time).fold(f64::INFINITY, f64::min);
            let first = view.time.partition_point(|time| *time < first).saturating_sub(reach / 8);
            let from = row.saturating_sub(reach);
            let from = if first + 4 * reach > row { from.min(first) } else { from };
            let rows = from..(row + reach).min(view.rows());
            let (from, to) = (view.time[rows.start], view.time[rows.end - 1]);
            let mut panes = vec![self.window(&rows, interface)];
            if !interface.force.is_empty() {
                let title = format!("Force [{}]", self.force.name);
                let x = Axis { link: "close-up", ..Axis::new("Time [s]") };
                let pane = Pane::new(x, Axis::new(title)).high(LOW);
                let values = &interface.force[rows.clone()];
                let time = &view.time[rows];
                panes.push(pane.history(Role::Measured, "measured force", time, values, self.force.scale));
            }
            let mut panes = self.told(panes);
            for pane in &mut panes {
                pane.x = pane.x.clone().range(from, to);
            }
            let caption = "The cycles before and after the trip: the command is held, then led to \
                           its safe place.";
            Figure::new(self.name("At the trip", interface), caption, panes)
        });
        figures.collect()
    }

    fn synchronisation(&self, interface: &Interface<'_>) -> Figure {
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
        Figure::new(self.name("Synchronisation", interface), caption, vec![pane]).width(Width::Half)
    }

    /// Measured force over displacement and over frequency.
    pub(super) fn hysteresis(&self) -> Vec<Figure> {
        let view = &self.findings.view;
        let figures = self.shown().filter_map(|interface| {
            let motion = match &*interface.measured {
                [] => interface.desired,
                measured => measured,
            };
            if interface.force.is_empty() || motion.is_empty() {
                return None;
            }
            let (motion, force) = (view.running(motion), view.running(&interface.force));
            let x = Axis::new(format!("Displacement [{}]", self.length.name));
            let y = Axis::new(format!("Force [{}]", self.force.name));
            let pane = Pane::new(x, y).shape(Shape::Square).orbit(
                Role::Measured,
                "measured",
                (&motion, self.length.scale),
                (&force, self.force.scale),
            );
            let caption = "The area of a loop is the energy that the specimen takes in a cycle.";
            let title = self.name("Force over displacement", interface);
            let orbit = Figure::new(title, caption, vec![pane]).width(Width::Half);
            let spectrum = self.density(&force, &force, self.force, ["", "measured"]).map(|pane| {
                let title = self.name("Spectrum of the force", interface);
                Figure::new(title, SPECTRUM, vec![pane]).width(Width::Half)
            });
            Some([Some(orbit), spectrum].into_iter().flatten())
        });
        figures.flatten().collect()
    }

    /// Spectral densities of desired and measured motion.
    fn spectrum(&self, interface: &Interface<'_>) -> Option<Figure> {
        let view = &self.findings.view;
        let (desired, measured) =
            (view.running(interface.desired), view.running(&interface.measured));
        let pane = self.density(&desired, &measured, self.length, ["desired", "measured"])?;
        let title = self.name("Spectrum of the motion", interface);
        Some(Figure::new(title, SPECTRUM, vec![pane]).width(Width::Half))
    }

    /// Spectral densities of two signals, up to where little of the first is left.
    fn density(&self, first: &[f64], second: &[f64], unit: Unit, names: [&str; 2]) -> Option<Pane> {
        let rate_hz = self.findings.view.frame_rate_hz()?;
        // Some eight segments, of two seconds at least.
        let segment = (first.len() / 8).max((2.0 * rate_hz) as usize);
        let spectra = Spectra::new(first, second, segment, rate_hz).ok()?;
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
        if !names[0].is_empty() {
            pane = pane.line(Role::Desired, names[0], curve(&spectra.input));
        }
        Some(pane.line(Role::Measured, names[1], curve(&spectra.output)))
    }

    /// The factors that an adaptive compensator has learnt.
    pub(super) fn adaptation(&self) -> Vec<Figure> {
        const FACTORS: [(&str, &str, f64); 4] = [
            ("a₀ (displacement)", "–", 1.0),
            ("a₁ (velocity)", "ms", 1e3),
            ("a₂ (acceleration)", "ms²", 1e6),
            ("a₃ (jerk)", "ms³", 1e9),
        ];
        let figures = self.shown().filter_map(|interface| {
            let panes = FACTORS.iter().enumerate().filter_map(|(order, &(name, unit, scale))| {
                let channel = format!("compensator.{}.a{order}", interface.name);
                let column = self.findings.view.column(&channel)?;
                let curves = vec![(Role::Other(order), name, column.into())];
                Some(
                    self.pane(&name[..name.find(' ')?], Unit { name: unit, scale }, curves)
                        .high(LOW),
                )
            });
            let panes: Vec<Pane> = panes.collect();
            let caption = "The command is a₀ × displacement + a₁ × velocity + … of the desired \
                           motion. a₁ is about the delay of the rig, a₀ the inverse of its gain.";
            let title = self.name("Adapted factors of the compensator", interface);
            (!panes.is_empty()).then(|| self.figure(title, caption, panes))
        });
        figures.collect()
    }

    /// The energies of the numerical substructure.
    pub(super) fn energies(&self) -> Option<Figure> {
        const KINDS: [(&str, &str); 5] = [
            ("energy.input", "input work"),
            ("energy.dissipated", "dissipated"),
            ("energy.kinetic", "kinetic"),
            ("energy.strain", "strain"),
            ("energy.feedback", "fed back by the specimen"),
        ];
        let curves: Vec<Curve<'_>> = KINDS
            .iter()
            .enumerate()
            .filter_map(|(kind, &(channel, name))| {
                Some((Role::Other(kind), name, self.findings.view.column(channel)?.into()))
            })
            .collect();
        if curves.is_empty() {
            return None;
        }
        let most = curves.iter().map(|(_, _, values)| peak(values)).fold(0.0, f64::max);
        let panes = vec![self.pane("Energy", Unit::choose(most, &ENERGIES), curves)];
        let caption = "Work fed back that outgrows the dissipated energy means that the loop adds \
                       energy: the test is going unstable.";
        Some(self.figure("Energies of the numerical substructure", caption, panes))
    }

    /// What shakes the structure.
    pub(super) fn excitation(&self) -> Vec<Figure> {
        let view = &self.findings.view;
        let mut figures = Vec::new();
        if let Some(ground) = view.column("ground.acceleration") {
            let curves = vec![(Role::Ink, "ground acceleration", ground.into())];
            let panes = vec![self.plain("Acceleration", "m/s²", curves)];
            figures.push(self.figure("Ground acceleration", "", panes));
        }
        let loads = view.family("load.");
        let shown = loads.len().min(6);
        for (name, load) in &loads[..shown] {
            let panes =
                vec![self.pane("Force", self.force, vec![(Role::Ink, "force", (*load).into())])];
            let caption = if shown < loads.len() {
                format!("One of {} applied forces, of which {shown} are shown.", loads.len())
            } else {
                String::new()
            };
            figures.push(self.figure(format!("Applied force {}", label(name)), caption, panes));
        }
        figures
    }

    /// The title, with the interface's name where there are several.
    pub(super) fn name(&self, title: &str, interface: &Interface<'_>) -> String {
        if self.findings.view.interfaces.len() > 1 {
            format!("{title}, interface {}", label(&interface.name))
        } else {
            title.to_owned()
        }
    }
}

/// The motions from the numerical substructure to the sensor, as far as recorded.
fn motions<'a>(interface: &'a Interface<'_>, rows: &Range<usize>) -> Vec<Curve<'a>> {
    let roles = [
        (Role::Desired, "desired", interface.desired),
        (Role::Command, "command", interface.command),
        (Role::Measured, "measured", &*interface.measured),
        (Role::Achieved, "achieved", interface.achieved),
    ];
    let present = roles.into_iter().filter(|(_, _, column)| !column.is_empty());
    present.map(|(role, name, column)| (role, name, column[rows.clone()].into())).collect()
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

    #[test]
    fn a_unit_suits_its_quantity() {
        let of = |peak, units: &[Prefixed]| Unit::choose(peak, units).name;
        assert_eq!([of(0.0, &FORCES), of(999.0, &FORCES), of(2e6, &FORCES)], ["N", "N", "MN"]);
        assert_eq!([of(3e-5, &LENGTHS), of(2e-3, &LENGTHS), of(3.0, &LENGTHS)], ["µm", "mm", "mm"]);
    }
}
