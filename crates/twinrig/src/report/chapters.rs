//! Which figures a report shows, and what each one says.

use std::borrow::Cow;

use analysis::criteria;

use super::adaptation;
use super::figure::{Axis, Content, Figure, Line, LoopShape, Pane, Role, Width};
use super::findings::{Findings, difference};
use super::guard;
use super::punctuality;
use super::text::{label, number};
use super::view::{Interface, View};

/// Cycles of the motion shown in the close-up of the tracking.
const CLOSE_UP_CYCLES: f64 = 3.0;
const MILLI: f64 = 1e3;

/// Figures under one heading.
pub(super) struct Chapter<'a> {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) figures: Vec<Figure<'a>>,
}

/// All chapters that have something to show.
pub(super) fn chapters<'a>(findings: &'a Findings<'a>) -> Vec<Chapter<'a>> {
    let interfaces = || findings.shown_interfaces.iter().copied();
    let mut chapters = vec![
        Chapter {
            id: "reference",
            title: "Measured motion against the whole structure",
            figures: interfaces().filter_map(|i| against_reference(findings, i)).collect(),
        },
        Chapter { id: "floors", title: "Further floors", figures: floors(findings) },
        Chapter {
            id: "tracking",
            title: "Tracking of the interface",
            figures: interfaces().flat_map(|i| tracking(findings, i)).collect(),
        },
        Chapter {
            id: "compensator",
            title: "What the compensator learnt",
            figures: interfaces().filter_map(|i| adaptation::figure(findings, i)).collect(),
        },
        Chapter { id: "energy", title: "Energy and stability", figures: energy(findings) },
        Chapter {
            id: "monitor",
            title: "Monitor and use of the limits",
            figures: guard::figures(findings),
        },
        Chapter { id: "excitation", title: "Excitation", figures: excitation(findings) },
        Chapter {
            id: "timing",
            title: "Punctuality",
            figures: punctuality::figures(findings).into_iter().chain(bridged(findings)).collect(),
        },
    ];
    chapters.retain(|chapter| !chapter.figures.is_empty());
    if findings.view.rows() == 0 {
        chapters.clear();
    }
    chapters
}

fn against_reference<'a>(findings: &'a Findings<'a>, index: usize) -> Option<Figure<'a>> {
    let interface = &findings.view.interfaces[index];
    let reference = interface.reference?;
    if interface.measured.is_empty() {
        return None;
    }
    let error = difference(&interface.measured, reference);
    let panes = vec![
        millimetres(
            "displacement [mm]",
            3.0,
            vec![
                line(Role::Reference, "reference", reference),
                line(Role::Measured, "measured", &*interface.measured),
            ],
        ),
        millimetres("error [mm]", 1.2, vec![line(Role::Error, "measured − reference", error)]),
    ];
    let nrmse = findings.nrmse.get(index).copied().flatten();
    let caption = "The reference is the whole structure, integrated before the test without a rig."
        .to_owned()
        + &told("Normalised rms error", nrmse, "%");
    Some(history(findings, name_of(findings, interface, "Displacement"), caption, 430, panes))
}

fn floors<'a>(findings: &'a Findings<'a>) -> Vec<Figure<'a>> {
    let shown = findings.shown_floors.iter();
    let figures = shown.map(|&index| {
        let floor = &findings.view.floors[index];
        let mut lines = Vec::new();
        let mut caption = String::new();
        if let Some(reference) = floor.reference {
            lines.push(line(Role::Reference, "reference", reference));
            let (error, peak) = findings.floor_errors(index);
            caption =
                told("Error against the reference", error, "%") + &told("Peak error", peak, "%");
        }
        lines.push(line(Role::Desired, "numerical", floor.numerical));
        let panes = vec![millimetres("displacement [mm]", 1.0, lines)];
        history(findings, format!("Displacement of DOF {}", label(floor.name)), caption, 270, panes)
    });
    figures.collect()
}

fn tracking<'a>(findings: &'a Findings<'a>, index: usize) -> Vec<Figure<'a>> {
    let view = &findings.view;
    let interface = &view.interfaces[index];
    let mut figures = Vec::new();
    if !interface.desired.is_empty() && !interface.measured.is_empty() {
        let delay = findings.criteria.get(5 * index).and_then(|criterion| criterion.value);
        let error = difference(&interface.measured, interface.desired);
        let panes = vec![
            millimetres(
                "displacement [mm]",
                3.0,
                vec![
                    line(Role::Desired, "desired", interface.desired),
                    line(Role::Measured, "measured", &*interface.measured),
                ],
            ),
            millimetres("error [mm]", 1.2, vec![line(Role::Error, "measured − desired", error)]),
        ];
        let caption = "The desired motion comes from the numerical substructure, the measured \
                       one from the sensor at the specimen."
            .to_owned()
            + &told("Tracking delay", delay, "ms");
        let title = name_of(findings, interface, "Tracking");
        figures.push(history(findings, title, caption, 430, panes));
        figures.extend(close_up(findings, interface));
        figures.push(synchronisation(findings, interface));
    } else {
        let lines = tracking_lines(interface, &(0..view.rows()));
        let panes = vec![millimetres("displacement [mm]", 1.0, lines)];
        let title = name_of(findings, interface, "Motion");
        figures.push(history(findings, title, String::new(), 320, panes));
    }
    figures.extend(force_loop(findings, interface));
    figures
}

/// The motions from the numerical substructure to the sensor, as far as recorded.
fn tracking_lines<'a>(
    interface: &'a Interface<'a>,
    rows: &std::ops::Range<usize>,
) -> Vec<Line<'a>> {
    let roles = [
        (Role::Desired, "desired", interface.desired),
        (Role::Command, "command", interface.command),
        (Role::Measured, "measured", &*interface.measured),
        (Role::Achieved, "achieved", interface.achieved),
    ];
    let present = roles.into_iter().filter(|(_, _, column)| !column.is_empty());
    present.map(|(role, name, column)| line(role, name, &column[rows.clone()])).collect()
}

/// A few cycles around the largest desired motion, where a delay can be seen.
fn close_up<'a>(findings: &'a Findings<'a>, interface: &'a Interface<'a>) -> Option<Figure<'a>> {
    let view = &findings.view;
    let desired = view.running(interface.desired);
    let peak = criteria::peak(&desired).filter(|peak| peak.value != 0.0)?;
    let rows = (CLOSE_UP_CYCLES * period_rows(&desired)).max(40.0);
    if rows >= desired.len() as f64 {
        return None;
    }
    let rows = rows as usize;
    let start = peak.index.saturating_sub(rows / 2).min(desired.len() - rows);
    let window = view.first() + start..view.first() + start + rows;
    let lines = tracking_lines(interface, &window);
    let panes = vec![millimetres("displacement [mm]", 1.0, lines)];
    let content =
        Content::History { time: &view.time[window], panes, tripped_s: None, phases: vec![] };
    Some(Figure {
        title: name_of(findings, interface, "Close-up of the tracking"),
        caption: "The cycles around the largest desired motion. The command leads where the compensator expects a \
                  delay.".to_owned(),
        width: Width::Whole,
        height_px: 330,
        content,
    })
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

fn synchronisation<'a>(findings: &'a Findings<'a>, interface: &'a Interface<'a>) -> Figure<'a> {
    let running = |column| findings.view.running(column);
    let x = Axis { title: "desired [mm]".into(), values: running(interface.desired), scale: MILLI };
    let y =
        Axis { title: "measured [mm]".into(), values: running(&interface.measured), scale: MILLI };
    Figure {
        title: name_of(findings, interface, "Synchronisation"),
        caption: "Perfect tracking follows the dashed line; a delay opens a loop, a wrong \
                  amplitude turns it."
            .to_owned(),
        width: Width::Half,
        height_px: 430,
        content: Content::Loop { x, y, role: Role::Desired, shape: LoopShape::Synchronisation },
    }
}

fn force_loop<'a>(findings: &'a Findings<'a>, interface: &'a Interface<'a>) -> Option<Figure<'a>> {
    let view = &findings.view;
    let motion =
        if interface.measured.is_empty() { interface.desired } else { &interface.measured };
    if interface.force.is_empty() || motion.is_empty() {
        return None;
    }
    let force = view.running(&interface.force);
    let (unit, scale) = force_unit(&force);
    let x = Axis { title: "displacement [mm]".into(), values: view.running(motion), scale: MILLI };
    let y = Axis { title: format!("force [{unit}]"), values: force, scale };
    Some(Figure {
        title: name_of(findings, interface, "Force of the specimen"),
        caption: "Measured force over measured displacement; the area of a loop is the energy \
                  the specimen takes in a cycle."
            .to_owned(),
        width: Width::Half,
        height_px: 430,
        content: Content::Loop { x, y, role: Role::Measured, shape: LoopShape::Free },
    })
}

/// When answers of a rig behind a wire were missing.
fn bridged<'a>(findings: &'a Findings<'a>) -> Option<Figure<'a>> {
    let column = findings.view.column("rig.bridged").filter(|_| findings.view.bridged > 0)?;
    let panes = vec![pane("ticks [–]", "", 1.0, vec![line(Role::Error, "in a row", column)])];
    let caption = "Ticks in a row that had no answer of the rig when they needed one. The loop \
                   went on with what stood in for it; no curve or number above shows that.";
    let title = "Answers of the rig that did not come in time".into();
    Some(history(findings, title, caption.into(), 260, panes))
}

fn energy<'a>(findings: &'a Findings<'a>) -> Vec<Figure<'a>> {
    let view = &findings.view;
    let roles = [
        (Role::Kinetic, "energy.kinetic", "kinetic E<sub>k</sub>"),
        (Role::Strain, "energy.strain", "strain E<sub>s</sub>"),
        (Role::InputWork, "energy.input", "input work W<sub>I</sub>"),
        (Role::Dissipated, "energy.dissipated", "dissipated E<sub>d</sub>"),
        (Role::FeedbackWork, "energy.feedback", "fed back by the specimen W<sub>F</sub>"),
    ];
    let lines: Vec<Line<'_>> = roles
        .into_iter()
        .filter_map(|(role, channel, name)| Some(line(role, name, view.column(channel)?)))
        .collect();
    let mut figures = Vec::new();
    if !lines.is_empty() {
        let panes = vec![pane("energy [J]", "J", 1.0, lines)];
        let caption = "Energies of the numerical substructure. Work fed back that outgrows the \
                       dissipated energy means the loop adds energy: the test is going unstable.";
        figures.push(history(findings, "Energies".into(), caption.into(), 380, panes));
    }
    figures.extend(guard::warning(findings));
    figures
}

fn excitation<'a>(findings: &'a Findings<'a>) -> Vec<Figure<'a>> {
    let view = &findings.view;
    let mut figures = Vec::new();
    if let Some(ground) = view.column("ground.acceleration") {
        let lines = vec![line(Role::Excitation, "ground acceleration", ground)];
        let panes = vec![pane("acceleration [m/s²]", "m/s²", 1.0, lines)];
        figures.push(history(findings, "Ground acceleration".into(), String::new(), 270, panes));
    }
    let loads = view.family("load.");
    let shown = loads.len().min(6);
    for (name, load) in &loads[..shown] {
        let (unit, scale) = force_unit(load);
        let lines = vec![line(Role::Excitation, "force", *load)];
        let panes = vec![Pane { scale, ..pane(&format!("force [{unit}]"), unit, 1.0, lines) }];
        let caption = if shown < loads.len() {
            format!("One of {} applied forces, of which {shown} are shown.", loads.len())
        } else {
            String::new()
        };
        let title = format!("Applied force {}", label(name));
        figures.push(history(findings, title, caption, 270, panes));
    }
    figures
}

pub(super) fn history<'a>(
    findings: &'a Findings<'a>,
    title: String,
    caption: String,
    height_px: u32,
    panes: Vec<Pane<'a>>,
) -> Figure<'a> {
    let tripped_s = findings.outcome.trip.as_ref().map(|trip| trip.time_s);
    let phases = findings.view.phases();
    let content = Content::History { time: findings.view.time, panes, tripped_s, phases };
    Figure { title, caption, width: Width::Whole, height_px, content }
}

pub(super) fn pane<'a>(
    title: &str,
    unit: &'static str,
    weight: f64,
    lines: Vec<Line<'a>>,
) -> Pane<'a> {
    Pane {
        title: title.to_owned(),
        unit,
        weight,
        scale: 1.0,
        lines,
        limits: Vec::new(),
        range: None,
    }
}

fn millimetres<'a>(title: &str, weight: f64, lines: Vec<Line<'a>>) -> Pane<'a> {
    Pane { scale: MILLI, ..pane(title, "mm", weight, lines) }
}

pub(super) fn line<'a>(
    role: Role,
    name: &'static str,
    values: impl Into<Cow<'a, [f64]>>,
) -> Line<'a> {
    Line { role, name, values: values.into() }
}

/// The title, with the interface's name where there are several.
pub(super) fn name_of(findings: &Findings<'_>, interface: &Interface<'_>, title: &str) -> String {
    let View { interfaces, .. } = &findings.view;
    if interfaces.len() > 1 {
        format!("{title}, interface {}", label(interface.name))
    } else {
        title.to_owned()
    }
}

/// A sentence about a number, to follow another; empty if there is none.
fn told(words: &str, value: Option<f64>, unit: &str) -> String {
    value.map_or_else(String::new, |value| format!(" {words} {} {unit}.", number(value)))
}

/// Newtons for small forces, kilonewtons for large ones.
fn force_unit(force: &[f64]) -> (&'static str, f64) {
    let largest = criteria::peak(force).map_or(0.0, |peak| peak.value.abs());
    if largest >= 1e3 { ("kN", 1e-3) } else { ("N", 1.0) }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn titles(record: &runtime::record::Record) -> Vec<(&'static str, Vec<String>)> {
        let findings = Findings::of(record).unwrap();
        let chapters = chapters(&findings).into_iter();
        chapters.map(|c| (c.id, c.figures.iter().map(|f| f.title.clone()).collect())).collect()
    }

    #[test]
    fn the_benchmark_shows_every_chapter() {
        let shown = titles(&sample::benchmark().rows(4096).record());
        let ids: Vec<&str> = shown.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, ["reference", "floors", "tracking", "energy", "excitation"]);
        assert_eq!(shown[1].1.len(), 2);
        assert_eq!(
            shown[2].1,
            ["Tracking", "Close-up of the tracking", "Synchronisation", "Force of the specimen"]
        );
    }

    #[test]
    fn without_a_reference_nothing_is_compared_with_it() {
        let shown = titles(&sample::benchmark().rows(4096).without_reference().record());
        assert_eq!(shown[0].0, "floors");
        assert!(titles(&sample::benchmark().rows(0).record()).is_empty());
    }

    #[test]
    fn the_period_of_a_sine_is_found() {
        let sine: Vec<f64> =
            (0..1000).map(|i| (i as f64 * std::f64::consts::TAU / 73.0).sin()).collect();
        assert!((period_rows(&sine) - 73.0).abs() < 0.2);
        assert_eq!(period_rows(&[1.0, 2.0]), 2.0);
    }
}
