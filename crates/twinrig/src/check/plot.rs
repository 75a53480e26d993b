//! The loop gain, and the damping of every mode against the delay, as a picture.

use std::path::Path;

use analysis::loop_stability::modes::{Motion, along_delay};
use analysis::loop_stability::{LoopMode, OpenLoop};
use model::compensator::Design;

use super::{LoopCheck, tables, verdict};
use crate::error::Error;
use crate::forecast::{Examined, Forecast, Stability, is_neutral};
use crate::report::{Curve, Look, Pane, Picture, Span, Square, Verdict};
use crate::run_folder::write_whole;
use crate::words::number;

/// Delays at which the modes are drawn.
const STEPS: usize = 60;
/// Modes that are drawn.
const MODES: usize = 6;
/// Motions that belong to no mode, if they grow.
const OTHERS: usize = 2;

/// Writes the picture, in the form that the name asks for.
pub(super) fn plot(path: &Path, found: &LoopCheck) -> Result<(), Error> {
    let Some(examined) = found.forecast.examined.as_deref() else {
        return Err(Error::NoLoopGain { reason: verdict(&found.forecast) });
    };
    let picture = picture(found, examined)?;
    let text = match path.extension().and_then(|name| name.to_str()) {
        Some("html") => picture.html("Will it be stable?"),
        Some("svg") => picture.svg(),
        _ => return Err(Error::PictureName { path: path.to_path_buf() }),
    };
    write_whole(path, text)
}

fn picture(found: &LoopCheck, examined: &Examined) -> Result<Picture, Error> {
    let forecast = &found.forecast;
    let banner = match &forecast.stability {
        _ if forecast.is_unstable() => (Verdict::Bad, "Unstable"),
        Stability::Unknown(_) => (Verdict::Doubtful, "Not predicted"),
        _ => (Verdict::Good, "Stable"),
    };
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    if let Some(critical) = &forecast.critical_delay {
        fact("critical delay", format!("{} ms", number(1e3 * critical.delay_s)));
    }
    fact("transfer system", format!("{} ms late", number(1e3 * forecast.delay_s)));
    if let Some(delay) = examined.margins.delay {
        let (more, hertz) = (number(1e3 * delay.delay_s), number(delay.frequency_hz));
        fact("delay margin", format!("{more} ms, unstable at {hertz} Hz"));
    }
    if let Some((factor, _)) = examined.margins.gain_above {
        fact("gain margin", format!("× {}", number(factor)));
    }
    if let Some((phase, _)) = examined.margins.phase {
        fact("phase margin", format!("{}°", number(phase.to_degrees())));
    }
    let open = OpenLoop::sampled(&examined.description)?;
    Ok(Picture {
        title: found.title.clone(),
        verdict: (banner.0, banner.1, verdict(forecast)),
        facts,
        tables: [Some(tables::modes(forecast)), tables::trials(examined)]
            .into_iter()
            .flatten()
            .collect(),
        panes: vec![nyquist(examined, &open), damping(forecast, examined, &open)],
    })
}

/// L around −1.
fn nyquist(examined: &Examined, open: &OpenLoop) -> Pane {
    const REACH: f64 = 2.6;
    let smooth = examined.curve.smooth(open, 0.03, 1.5 * REACH);
    let count = examined.curve.points.first().map_or(0, |point| point.loci.len());
    let mut curves: Vec<Curve> = (0..count)
        .map(|locus| {
            let of = |point: &analysis::loop_stability::Point| {
                let value = point.loci[locus];
                (value.re, value.im)
            };
            Curve {
                name: if count == 1 { "L".to_owned() } else { format!("λ{} of L", locus + 1) },
                look: Look::Number(locus),
                points: smooth.iter().map(of).collect(),
            }
        })
        .collect();
    let circle = (0..=180).map(|i| f64::from(i) * std::f64::consts::TAU / 180.0);
    curves.push(Curve {
        name: "|L| = 1".to_owned(),
        look: Look::Faint,
        points: circle.map(|angle| (angle.cos(), angle.sin())).collect(),
    });
    let mut marks = vec![(-1.0, 0.0, "−1".to_owned())];
    if let Some(delay) = examined.margins.delay {
        // Where the curve has the size one at the frequency that goes first.
        let near = |point: &&analysis::loop_stability::Point| {
            (point.omega_rad_s / std::f64::consts::TAU - delay.frequency_hz).abs()
        };
        let point = examined.curve.points.iter().min_by(|a, b| near(a).total_cmp(&near(b)));
        let unit = |value: &nalgebra::Complex<f64>| (value.norm() - 1.0).abs();
        let value = point.and_then(|point| {
            point.loci.iter().min_by(|a, b| unit(a).total_cmp(&unit(b))).copied()
        });
        if let Some(value) = value {
            marks.push((value.re, value.im, format!("{} Hz", number(delay.frequency_hz))));
        }
    }
    Pane {
        title: "Loop gain".to_owned(),
        caption: "The loop as it runs, for frequencies from zero to half the rate. A stable loop \
                  does not go round −1 (a structure that is stable without its specimen). The \
                  marked frequency reaches −1 first if the loop becomes later."
            .to_owned(),
        x: Span { title: "real part", low: -REACH, high: REACH },
        y: Span { title: "imaginary part", low: -0.74 * REACH, high: 0.74 * REACH },
        square: Square::Yes,
        curves,
        marks,
        walls: Vec::new(),
    }
}

/// The damping of the modes that lose most, against the delay.
fn damping(forecast: &Forecast, examined: &Examined, open: &OpenLoop) -> Pane {
    let plain = examined.description.compensator == Design::None;
    let mut has_s = if forecast.delay_s.is_finite() { forecast.delay_s.max(0.0) } else { 0.0 };
    let more_s = match examined.margins.delay {
        Some(delay) => (1.4 * delay.delay_s).min(10.0 * (has_s + 1e-3)),
        None => 0.5 * has_s + 1e-3,
    };
    if !plain {
        // The compensator has taken most of it: earlier than this means nothing.
        has_s = has_s.min(0.25 * more_s);
    }
    let drawn = drawn(examined, more_s);
    let start: Vec<Motion> = drawn.iter().map(|drawn| drawn.motion).collect();
    let steps =
        |end_s: f64| -> Vec<f64> { (0..=STEPS).map(|i| end_s * i as f64 / STEPS as f64).collect() };
    // Both ways from where the loop is.
    let (less, more) = (steps(-has_s), steps(more_s));
    let (back, forth) = (along_delay(open, &start, &less), along_delay(open, &start, &more));
    let mut curves = Vec::new();
    let mut range = (0.0f64, 0.0f64);
    for (index, drawn) in drawn.iter().enumerate() {
        let point = |(delay_s, row): (&f64, &Vec<Option<Motion>>)| {
            let ratio = row[index].map_or(f64::NAN, |motion| 100.0 * motion.damping_ratio());
            (1e3 * delay_s, ratio)
        };
        let earlier = less.iter().zip(&back).rev().map(point);
        let points: Vec<(f64, f64)> = earlier.chain(more.iter().zip(&forth).map(point)).collect();
        let values = points.iter().map(|p| p.1).chain(drawn.truth);
        for value in values.filter(|value| value.is_finite()) {
            range = (range.0.min(value), range.1.max(value));
        }
        curves.push(Curve { name: drawn.name.clone(), look: Look::Number(index), points });
    }
    let flat = |truth: f64| [(-1e3 * has_s, truth), (1e3 * more_s, truth), (f64::NAN, f64::NAN)];
    curves.push(Curve {
        name: "true structure".to_owned(),
        look: Look::Faint,
        points: drawn.iter().filter_map(|drawn| drawn.truth).flat_map(flat).collect(),
    });
    let room = 0.06 * (range.1 - range.0).max(0.1);
    let mut walls = vec![(0.0, "the loop as declared".to_owned())];
    if let Some(delay) = examined.margins.delay.filter(|delay| delay.delay_s <= more_s) {
        walls.push((1e3 * delay.delay_s, format!("+{} ms", number(1e3 * delay.delay_s))));
    }
    Pane {
        title: "Damping in the loop".to_owned(),
        caption: caption(examined, &drawn),
        x: Span { title: "further delay [ms]", low: -1e3 * has_s, high: 1e3 * more_s },
        y: Span { title: "damping ratio [%]", low: range.0 - room, high: range.1 + room },
        square: Square::No,
        curves,
        marks: Vec::new(),
        walls,
    }
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
            name: format!("mode {}, {} Hz", mode.truth.number, short(&mode.truth.motion)),
            motion: mode.in_loop?,
            truth: Some(100.0 * mode.truth.motion.damping_ratio()),
        })
    };
    let grows = |motion: &&Motion| motion.growth_1_s() > 0.0 && !is_neutral(**motion);
    let others = examined.motions.others.iter().filter(grows).take(OTHERS);
    let of_other = |motion: &Motion| Drawn {
        name: format!("no mode, {} Hz", short(motion)),
        motion: *motion,
        truth: None,
    };
    modes.iter().filter_map(of_mode).chain(others.map(of_other)).collect()
}

fn caption(examined: &Examined, drawn: &[Drawn]) -> String {
    let mut words = "If the whole loop were later or earlier than declared. Where a curve falls \
                     below zero the test is unstable."
        .to_owned();
    let left_out = examined.motions.modes.len().saturating_sub(MODES);
    if left_out > 0 {
        words += &format!(" Of the modes, the {MODES} that come nearest to that.");
    }
    if examined.margins.growing > 0 && !drawn.iter().any(|drawn| drawn.motion.growth_1_s() > 0.0) {
        words += " The motion that grows here belongs to no mode and is not drawn.";
    }
    words
}

fn short(motion: &Motion) -> String {
    let hertz = motion.frequency_hz();
    if hertz < 10.0 { format!("{hertz:.2}") } else { format!("{hertz:.1}") }
}
