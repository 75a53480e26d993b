//! The page of an identification.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use analysis::identification::Identification;
use numerics::rational_fit::Estimate;

use super::choice::Advised;
use super::table::{BOUND, table, title};
use crate::page::text::{number, pretty};
use crate::page::{Axis, Block, Figure, KeyNumber, Page, Pane, Point, Role, Section};
use crate::page::{Series, Symbol, Table, Tone, Verdict};
use crate::verdict;

/// Coherence below which a line is not drawn.
const LEAST_COHERENCE: f64 = 0.5;
/// Most lines that are drawn: more cannot be told apart on a screen.
const MOST_LINES: usize = 3000;

/// The page; `facts` are names and values for its head.
pub fn page(
    name: &str,
    facts: Vec<(String, String)>,
    results: &[Advised],
    verdict: &verdict::Verdict,
) -> Page {
    let sections = results.iter().map(section).collect();
    let kind = "Identification of the transfer system";
    Page { kind, title: name.to_owned(), verdict: banner(results, verdict), facts, sections }
}

fn banner(results: &[Advised], verdict: &verdict::Verdict) -> Verdict {
    let statements: &[String] = match verdict.reasons.is_empty() {
        true => {
            &["The fitted function describes the measured response within its noise.".to_owned()]
        }
        false => &[],
    };
    let advised = results.iter().filter_map(|of| of.choice.as_ref().ok()?.advised());
    let ended = match advised.count() == results.len() {
        true => "identified, a compensator is advised",
        false => "identified, no compensator is advised",
    };
    let mut numbers = Vec::new();
    if let Some(found) = results.first().map(|of| &of.result.found) {
        let bounded = |estimate: Estimate, scale: f64| {
            let bound = BOUND * scale * estimate.deviation;
            crate::page::text::plus_minus(scale * estimate.value, bound)
        };
        let (delay, gain) = (bounded(found.band_delay_s, 1e3), bounded(found.fit.dc_gain, 1.0));
        numbers.push(KeyNumber::new("Delay over the band", format!("{delay} ms"), ""));
        numbers.push(KeyNumber::new("Gain at 0 Hz", gain, ""));
        numbers.push(KeyNumber::new(
            "Least coherence",
            format!("{:.3}", found.least_coherence),
            format!("mean {:.4}", found.mean_coherence),
        ));
    }
    Verdict::of(verdict, ended, statements, numbers)
}

fn section(advised: &Advised) -> Section {
    let result = &advised.result;
    let found = &result.found;
    let mut blocks = vec![Block::Code(formula(found)), table(result).into(), poles(found).into()];
    if !found.tried.is_empty() {
        let tried = found.tried.iter();
        let tried = tried.map(|(o, c)| format!("{}/{}: {c:.0}", o.numerator, o.denominator));
        blocks.push(Block::Text(format!(
            "Order chosen by Schwarz's criterion (zeros/poles: value, lower is better): {}.",
            tried.collect::<Vec<_>>().join(", ")
        )));
    }
    match &advised.choice {
        Ok(choice) => {
            blocks.push(choice.shown().into());
            blocks.push(Block::Text(format!("{}.", choice.reason())));
        }
        Err(why) => blocks.push(Block::Text(format!("No compensator: {why}."))),
    }
    blocks.push(bode(found).into());
    Section::new(title(result), blocks)
}

/// The fitted function, written out.
fn formula(found: &Identification) -> String {
    const POWERS: [&str; 10] = ["", " s", " s²", " s³", " s⁴", " s⁵", " s⁶", " s⁷", " s⁸", " s⁹"];
    let polynomial = |coefficients: &[Estimate]| {
        let last = coefficients.len() - 1;
        let terms = coefficients.iter().enumerate().map(|(i, coefficient)| {
            let power = POWERS[(last - i).min(9)];
            let size = coefficient.value.abs();
            let factor =
                if size == 1.0 && last > i { String::new() } else { pretty(&number(size)) };
            let sign = match coefficient.value < 0.0 {
                true => "− ",
                false if i > 0 => "+ ",
                false => "",
            };
            format!("{sign}{}", format!("{factor}{power}").trim_start())
        });
        terms.collect::<Vec<_>>().join(" ")
    };
    let (above, below) = (polynomial(&found.fit.numerator), polynomial(&found.fit.denominator));
    let delay = match found.fit.delay_s.value {
        delay if delay > 0.0 => format!(" · exp(−s · {} ms)", number(1e3 * delay)),
        _ => String::new(),
    };
    let width = above.chars().count().max(below.chars().count());
    format!("       {above:^width$}\nH(s) = {}{delay}\n       {below:^width$}", "─".repeat(width))
}

fn poles(found: &Identification) -> Table {
    let upper = found.fit.poles.iter().filter(|pole| pole.im >= 0.0);
    let rows = upper.map(|pole| {
        let size = pole.norm();
        let motion = if pole.im > 0.0 { "pair" } else { "real" };
        [motion.to_owned(), number(size / TAU), number(-100.0 * pole.re / size)]
    });
    Table::new(&["Pole", "Frequency [Hz]", "Damping ratio [%]"]).titled("Poles").filled(rows)
}

/// The response at one frequency: measured with half the width of its bounds, and fitted.
struct Response {
    hertz: f64,
    decibels: [f64; 3],
    degrees: [f64; 3],
    coherence: f64,
}

/// Data and fit at every line; the phase of the data follows that of the fit.
fn responses(found: &Identification) -> Vec<Response> {
    let mut fit_phase = 0.0;
    let mut before = None;
    let decibels = |x: f64| 20.0 * x.log10();
    let responses = found.lines.iter().map(|line| {
        let fit = found.fit.response(TAU * line.frequency_hz);
        fit_phase += before.map_or(fit, |before| fit / before).arg();
        before = Some(fit);
        // What does not follow the command, or lies beyond the band, is no response.
        let inside = (found.band_hz.0..=found.band_hz.1).contains(&line.frequency_hz);
        let known = if inside && line.coherence >= LEAST_COHERENCE { 0.0 } else { f64::NAN };
        // Half of the variance is along, half across the response.
        let relative = BOUND * line.deviation * FRAC_1_SQRT_2 / line.h1.norm();
        let phase = fit_phase + (line.h1 / fit).arg();
        Response {
            hertz: line.frequency_hz,
            decibels: [
                known + decibels(line.h1.norm()),
                decibels(1.0 + relative),
                decibels(fit.norm()),
            ],
            degrees: [known + phase.to_degrees(), relative.to_degrees(), fit_phase.to_degrees()],
            coherence: line.coherence,
        }
    });
    let responses: Vec<Response> = responses.collect();
    let stride = responses.len().div_ceil(MOST_LINES).max(1);
    responses.into_iter().step_by(stride).collect()
}

/// Magnitude, phase, delay and coherence over the frequency.
fn bode(found: &Identification) -> Figure {
    let responses = responses(found);
    let lowest = responses.first().map_or(0.1, |response| response.hertz);
    let pane = |title: &str, high: f64| {
        let pane = Pane::new(Axis::frequency().log(), Axis::new(title)).high(high);
        pane.shade(found.band_hz.0.max(lowest), found.band_hz.1, "", Tone::Phase)
    };
    // −φ/ω, in milliseconds.
    let delay = |response: &Response| {
        let [phase, bound, fit] = response.degrees.map(|d| 1e3 * d / (360.0 * response.hertz));
        [-phase, bound, -fit]
    };
    type Reading<'a> = &'a dyn Fn(&Response) -> [f64; 3];
    let readings: [(&str, f64, Reading<'_>); 3] = [
        ("Magnitude [dB]", 260.0, &|response| response.decibels),
        ("Phase [°]", 220.0, &|response| response.degrees),
        ("Delay [ms]", 180.0, &delay),
    ];
    let mut panes = Vec::new();
    for (title, high, reading) in readings {
        let of = |response: &Response| (response.hertz, reading(response));
        let bounds = responses.iter().map(of).map(|(x, [y, bound, _])| (x, y - bound, y + bound));
        let points = responses.iter().map(of).map(|(x, [y, _, _])| Point::from((x, y)));
        let (bounds, points) = (bounds.collect(), points.collect());
        let (role, name) = (Role::Measured, "bounds of 95 %".to_owned());
        let pane = pane(title, high)
            .with(Series::Band { role, name, points: bounds })
            .with(Series::Points {
                role,
                name: "measured (H1)".to_owned(),
                symbol: Symbol::Circle,
                points,
            })
            .line(Role::Other(0), "fit", responses.iter().map(of).map(|(x, [_, _, fit])| (x, fit)));
        panes.push(pane);
    }
    let coherence = responses.iter().map(|response| (response.hertz, response.coherence));
    let mut last = pane("Coherence [–]", 110.0).line(Role::Other(2), "coherence", coherence);
    last.y = last.y.range(0.0, 1.05);
    panes.push(last);
    let caption = "Points: H1 by Welch's method, the hold divided out, with bounds of 95 %. Line: \
                   the fitted transfer function. The band fitted is shaded. The delay is the phase \
                   over the angular frequency.";
    Figure::new("Frequency response", caption, panes)
}
