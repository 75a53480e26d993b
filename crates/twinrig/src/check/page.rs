//! The loop gain, and the damping of every mode against the delay, as a page and a picture.

use std::path::Path;

use analysis::loop_stability::modes::{Motion, along_delay};
use analysis::loop_stability::{Crossing, Curve, LoopError, LoopMode, Margins, OpenLoop, Point};
use model::compensator::Design;
use serde::Serialize;

use super::{LoopCheck, tables, two_rates, verdict};
use crate::error::Error;
use crate::forecast::{Examined, Forecast, Stability, is_neutral};
use crate::page::{Axis, Figure, Grade, KeyNumber, MarkKind, Page, Pane, Role, Section, Shape};
use crate::page::{Verdict, Width, svg};
use crate::run_folder::write_whole;
use crate::table::Table;
use crate::words::rounded;

/// Delays at which the modes are drawn.
const STEPS: usize = 60;
/// Modes that are drawn.
pub(super) const MODES: usize = 6;
/// Motions that belong to no mode, if they grow.
const OTHERS: usize = 2;
/// Interface DOFs, or shapes of the force over a period, that are drawn however small they are,
/// and the size that others must reach.
const FEW: usize = 4;
const UNSEEN: f64 = 0.02;
/// How far from zero the loop gain is drawn.
const REACH: f64 = 2.6;

/// Writes the picture, in the form that the name asks for.
pub(super) fn plot(path: &Path, found: &LoopCheck) -> Result<(), Error> {
    let of_name: fn(&LoopCheck, Drawing) -> String =
        match path.extension().and_then(|name| name.to_str()) {
            Some("html") => |found, drawing| page(found, drawing).html(),
            Some("svg") => |found, drawing| svg(&found.title, &drawing.figures),
            _ => return Err(Error::PictureName { path: path.to_path_buf() }),
        };
    write_whole(path, of_name(found, Drawing::of(&found.forecast)?))
}

/// What is drawn of a loop, and said beside it.
pub(super) struct Drawing {
    pub(super) figures: [Figure; 2],
    pub(super) numbers: Vec<KeyNumber>,
    trials: Option<Table>,
}

impl Drawing {
    fn of(forecast: &Forecast) -> Result<Self, Error> {
        let failed = |error: LoopError| Error::NoLoopGain { reason: error.to_string() };
        let mut drawing = match (&forecast.stability, forecast.examined.as_deref()) {
            (Stability::TwoRates(found), _) => {
                let gain = found.gain.as_deref().ok_or_else(|| Error::NoLoopGain {
                    reason: "the loop has too many states for a curve of its gain".to_owned(),
                })?;
                let (figures, numbers) = two_rates::drawn(forecast, found, gain).map_err(failed)?;
                Self { figures, numbers, trials: None }
            }
            (_, Some(examined)) => {
                let open = OpenLoop::sampled(&examined.description).map_err(failed)?;
                let delay = examined.margins.verdict.delay_margin;
                let nyquist = nyquist(&examined.curve, &open, delay);
                Self {
                    figures: [nyquist, damping(forecast, examined, &open)],
                    numbers: margin_numbers(&examined.margins),
                    trials: tables::trials(examined),
                }
            }
            (_, None) => return Err(Error::NoLoopGain { reason: verdict(forecast) }),
        };
        drawing.figures = drawing.figures.map(|figure| figure.width(Width::Half));
        Ok(drawing)
    }
}

fn page(found: &LoopCheck, drawing: Drawing) -> Page {
    let forecast = &found.forecast;
    let Drawing { figures, numbers, trials } = drawing;
    let (grade, word) = match &forecast.stability {
        _ if forecast.is_unstable() => (Grade::Bad, "Unstable"),
        Stability::Unknown(_) => (Grade::Doubtful, "Not predicted"),
        _ => (Grade::Good, "Stable"),
    };
    let late = |seconds: f64| format!("{} ms", rounded(1e3 * seconds));
    let critical = forecast.critical_delay.map(|critical| late(critical.delay_s));
    let tables = [Some(tables::modes(forecast)), trials].into_iter().flatten();
    let tables = tables.map(|table| {
        let title = table.title.clone();
        Section::new(title, vec![table.titled("").into()])
    });
    let drawn = Section::new("Loop gain and damping", figures.map(Into::into).into());
    Page {
        kind: "Will it be stable?",
        title: found.title.clone(),
        verdict: Verdict { grade, word: word.to_owned(), sentence: verdict(forecast), numbers },
        facts: vec![
            ("Transfer system".to_owned(), format!("{} late", late(forecast.delay_s))),
            ("Critical delay".to_owned(), critical.unwrap_or_default()),
        ],
        sections: std::iter::once(drawn).chain(tables).collect(),
    }
}

/// How far a stable loop is from its boundary, the further delay first.
pub fn margin_numbers(margins: &Margins) -> Vec<KeyNumber> {
    let key = |name: &str, value: String, what: &str, hertz: f64| {
        KeyNumber::new(name, value, format!("{what} {} Hz", rounded(hertz)))
    };
    let delay = margins.verdict.delay_margin.map(|Crossing { delay_s, frequency_hz, .. }| {
        let value = format!("{} ms", rounded(1e3 * delay_s));
        key("Delay margin", value, "unstable at", frequency_hz)
    });
    let gain = |(factor, hertz): (f64, f64)| {
        key("Gain margin", format!("×{}", rounded(factor)), "at", hertz)
    };
    let phase = margins.phase.map(|(phase, hertz)| {
        key("Phase margin", format!("{}°", rounded(phase.to_degrees())), "at", hertz)
    });
    let numbers = [delay, margins.gain_above.map(gain), phase, margins.gain_below.map(gain)];
    numbers.into_iter().flatten().collect()
}

/// L around −1; the frequency that reaches it first is marked.
pub(super) fn nyquist(curve: &Curve, open: &OpenLoop, delay: Option<Crossing>) -> Figure {
    let smooth = curve.smooth(open, 0.03, 1.5 * REACH);
    let count = curve.points.first().map_or(0, |point| point.loci.len());
    let circle = (0..=180).map(|i| f64::from(i) * std::f64::consts::TAU / 180.0);
    let x = Axis::new("Real part [–]").range(-REACH, REACH);
    let y = Axis::new("Imaginary part [–]").range(-REACH, REACH);
    let mut pane = Pane::new(x, y).shape(Shape::Equal).line(
        Role::Reference,
        "|L| = 1",
        circle.map(|angle| (angle.cos(), angle.sin())),
    );
    // Of many, those that can be seen.
    let seen = |locus: &usize| curve.points.iter().any(|point| point.loci[*locus].norm() > UNSEEN);
    for locus in (0..count).filter(|locus| count <= FEW || seen(locus)) {
        let name = if count == 1 { "L".to_owned() } else { format!("λ{} of L", locus + 1) };
        let of = |point: &Point| (point.loci[locus].re, point.loci[locus].im);
        pane = pane.line(Role::Other(locus), name, smooth.iter().map(of));
    }
    pane = pane.mark((-1.0, 0.0), "−1", MarkKind::Place);
    if let Some(delay) = delay {
        // Where the curve has the size one at the frequency that goes first.
        let near =
            |point: &&Point| (point.omega_rad_s / std::f64::consts::TAU - delay.frequency_hz).abs();
        let point = curve.points.iter().min_by(|a, b| near(a).total_cmp(&near(b)));
        let unit = |value: &nalgebra::Complex<f64>| (value.norm() - 1.0).abs();
        let value = point.and_then(|point| {
            point.loci.iter().min_by(|a, b| unit(a).total_cmp(&unit(b))).copied()
        });
        if let Some(value) = value {
            let words = format!("{} Hz", rounded(delay.frequency_hz));
            pane = pane.mark((value.re, value.im), words, MarkKind::Place);
        }
    }
    let caption = "The loop as it runs, for frequencies from zero to half the rate. A stable loop \
                   does not go round −1 (a structure that is stable without its specimen).";
    let marked = match delay {
        Some(_) => " The marked frequency reaches −1 first if the loop becomes later.",
        None => "",
    };
    Figure::new("Loop gain", format!("{caption}{marked}"), vec![pane])
}

/// The damping of the modes that lose most, against a further delay.
#[derive(Debug, Clone, Serialize)]
pub struct DelayChart {
    /// From and to, s: the loop earlier or later than declared.
    pub range_s: [f64; 2],
    /// Where it becomes unstable, within that.
    pub critical_s: Option<f64>,
    /// One for each motion.
    pub curves: Vec<DelayCurve>,
}

/// The damping of one motion.
#[derive(Debug, Clone, Serialize)]
pub struct DelayCurve {
    /// Which.
    pub name: String,
    /// Its damping in the whole structure, %; none of the rig's own motions.
    pub reference: Option<f64>,
    /// Further delay, s, and damping ratio, %; no number where it is lost.
    pub points: Vec<(f64, f64)>,
}

impl DelayChart {
    /// Of a loop that has a loop gain.
    pub(super) fn of(found: &LoopCheck) -> Option<Self> {
        let examined = found.forecast.examined.as_deref()?;
        let open = OpenLoop::sampled(&examined.description).ok()?;
        Some(Self::new(&found.forecast, examined, &open))
    }

    fn new(forecast: &Forecast, examined: &Examined, open: &OpenLoop) -> Self {
        let plain = examined.description.compensator == Design::None;
        let mut has_s = if forecast.delay_s.is_finite() { forecast.delay_s.max(0.0) } else { 0.0 };
        let more_s = match examined.margins.verdict.delay_margin {
            Some(delay) => (1.4 * delay.delay_s).min(10.0 * (has_s + 1e-3)),
            None => 0.5 * has_s + 1e-3,
        };
        if !plain {
            // The compensator has taken most of it: earlier than this means nothing.
            has_s = has_s.min(0.25 * more_s);
        }
        let drawn = drawn(examined, more_s);
        let start: Vec<Motion> = drawn.iter().map(|drawn| drawn.motion).collect();
        let steps = |end_s: f64| -> Vec<f64> {
            (0..=STEPS).map(|i| end_s * i as f64 / STEPS as f64).collect()
        };
        // Both ways from where the loop is.
        let (less, more) = (steps(-has_s), steps(more_s));
        let (back, forth) = (along_delay(open, &start, &less), along_delay(open, &start, &more));
        let curve = |(index, drawn): (usize, Drawn)| {
            let point = |(delay_s, row): (&f64, &Vec<Option<Motion>>)| {
                let ratio = row[index].map_or(f64::NAN, |motion| 100.0 * motion.damping_ratio());
                (*delay_s, ratio)
            };
            let earlier = less.iter().zip(&back).rev().map(point);
            let points = earlier.chain(more.iter().zip(&forth).map(point)).collect();
            DelayCurve { name: drawn.name, reference: drawn.truth, points }
        };
        let margin = examined.margins.verdict.delay_margin.map(|delay| delay.delay_s);
        Self {
            range_s: [-has_s, more_s],
            critical_s: margin.filter(|delay_s| *delay_s <= more_s),
            curves: drawn.into_iter().enumerate().map(curve).collect(),
        }
    }
}

/// The damping of the modes that lose most, against the delay.
fn damping(forecast: &Forecast, examined: &Examined, open: &OpenLoop) -> Figure {
    let chart = DelayChart::new(forecast, examined, open);
    let [from, to] = chart.range_s.map(|delay_s| 1e3 * delay_s);
    let x = Axis::new("Further delay [ms]").range(from, to);
    let mut pane = Pane::new(x, Axis::new("Damping ratio [%]").reach(0.0)).shape(Shape::Square);
    let flat = |truth: f64| [(from, truth), (to, truth), (f64::NAN, f64::NAN)];
    let truths = chart.curves.iter().filter_map(|curve| curve.reference).flat_map(flat);
    pane = pane.line(Role::Reference, "whole structure (reference)", truths);
    for (index, curve) in chart.curves.iter().enumerate() {
        let points = curve.points.iter().map(|(delay_s, ratio)| (1e3 * delay_s, *ratio));
        pane = pane.line(Role::Other(index), curve.name.clone(), points);
    }
    pane = pane.event(0.0, "as declared");
    if let Some(critical_s) = chart.critical_s {
        pane = pane.event(1e3 * critical_s, format!("+{} ms", rounded(1e3 * critical_s)));
    }
    Figure::new("Damping in the loop", caption(examined, &chart.curves), vec![pane])
}

/// A motion whose damping is drawn.
struct Drawn {
    name: String,
    motion: Motion,
    /// Damping in the true structure, %; none of the rig's own motions.
    truth: Option<f64>,
}

/// The modes that are least damped now or if the loop were later by `more_s`, and
/// what grows beside them.
fn drawn(examined: &Examined, more_s: f64) -> Vec<Drawn> {
    let nearest = |mode: &LoopMode| {
        let now = mode.in_loop.map_or(f64::INFINITY, |motion| motion.damping_ratio());
        now.min(now + mode.sensitivity_1_s.unwrap_or(0.0) * more_s)
    };
    let followed = examined.motions.modes.iter();
    let mut modes: Vec<LoopMode> =
        followed.filter(|mode| mode.in_loop.is_some()).copied().collect();
    modes.sort_by(|a, b| nearest(a).total_cmp(&nearest(b)));
    modes.truncate(MODES);
    modes.sort_by_key(|mode| mode.truth.number);
    let of_mode = |mode: &LoopMode| {
        Some(Drawn {
            name: format!(
                "mode {}, {} Hz",
                mode.truth.number,
                rounded(mode.truth.motion.frequency_hz())
            ),
            motion: mode.in_loop?,
            truth: Some(100.0 * mode.truth.motion.damping_ratio()),
        })
    };
    let grows = |motion: &&Motion| motion.growth_1_s() > 0.0 && !is_neutral(**motion);
    let others = examined.motions.others.iter().filter(grows).take(OTHERS);
    let of_other = |motion: &Motion| Drawn {
        name: format!("no mode, {} Hz", rounded(motion.frequency_hz())),
        motion: *motion,
        truth: None,
    };
    modes.iter().filter_map(of_mode).chain(others.map(of_other)).collect()
}

fn caption(examined: &Examined, curves: &[DelayCurve]) -> String {
    let mut words = "If the whole loop were later or earlier than declared. Where a curve falls \
                     below zero the test is unstable."
        .to_owned();
    let left_out = examined.motions.modes.len().saturating_sub(MODES);
    if left_out > 0 {
        words += &format!(" Of the modes, the {MODES} that come nearest to that.");
    }
    if examined.margins.verdict.growing > 0
        // As declared is where the way back and forth begins.
        && !curves.iter().any(|curve| curve.points.get(STEPS).is_some_and(|at| at.1 < 0.0))
    {
        words += " The motion that grows here belongs to no mode and is not drawn.";
    }
    words
}
