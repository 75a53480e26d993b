//! What is drawn of a loop at two rates.

use analysis::loop_stability::{LoopError, LoopMode, TrueMode, TwoRateLoop};

use super::page::{MODES, margin_numbers, nyquist};
use crate::forecast::{Forecast, LoopGain, TwoRates};
use crate::page::{Axis, Figure, KeyNumber, Pane, Role, Shape};
use crate::words::rounded;

/// Delays at which the modes are drawn, at most; whole ticks.
const STEPS: usize = 40;
/// Fewest ticks that are drawn.
const FEWEST_TICKS: usize = 4;

/// The loop gain from period to period and the damping against the delay, with the margins.
pub(super) fn drawn(
    forecast: &Forecast,
    found: &TwoRates,
    gain: &LoopGain,
) -> Result<([Figure; 2], Vec<KeyNumber>), LoopError> {
    let joined = TwoRateLoop::new(&gain.description, &gain.rates)?;
    let open = joined.open_loop()?.ok_or(LoopError::NotSettled)?;
    let figures = [nyquist(&gain.curve, &open, None), damping(forecast, found, &joined)?];
    let delay = found.delay_margin_s.map(|margin_s| {
        KeyNumber::new("Delay margin", format!("{} ms", rounded(1e3 * margin_s)), "in whole ticks")
    });
    Ok((figures, delay.into_iter().chain(margin_numbers(&gain.margins)).collect()))
}

/// The damping of the modes that have least, against a further delay in whole ticks.
fn damping(
    forecast: &Forecast,
    found: &TwoRates,
    joined: &TwoRateLoop<'_>,
) -> Result<Figure, LoopError> {
    let tick_s = forecast.step_s;
    let more_s = match found.delay_margin_s {
        Some(margin_s) => 1.4 * margin_s,
        None => 0.5 * forecast.delay_s.max(0.0) + 1e-3,
    };
    let most = ((more_s / tick_s).ceil() as usize).max(FEWEST_TICKS);
    let stride = most.div_ceil(STEPS);
    let in_loop = |mode: &LoopMode| mode.in_loop.map_or(f64::INFINITY, |m| m.damping_ratio());
    let mut modes: Vec<LoopMode> =
        found.modes.iter().filter(|mode| mode.in_loop.is_some()).copied().collect();
    modes.sort_by(|a, b| in_loop(a).total_cmp(&in_loop(b)));
    modes.truncate(MODES);
    modes.sort_by_key(|mode| mode.truth.number);
    let near = |mode: &LoopMode| Some(TrueMode { motion: mode.in_loop?, ..mode.truth });
    let mut last: Vec<TrueMode> = modes.iter().filter_map(near).collect();
    let mut curves = vec![Vec::new(); last.len()];
    for later in (0..=most).step_by(stride) {
        let followed = joined.follow(&last, later)?;
        for ((curve, mode), last) in curves.iter_mut().zip(&followed).zip(&mut last) {
            // Each from where it was a delay before.
            last.motion = mode.in_loop.unwrap_or(last.motion);
            let ratio = mode.in_loop.map_or(f64::NAN, |motion| motion.damping_ratio());
            curve.push((1e3 * later as f64 * tick_s, 100.0 * ratio));
        }
    }
    let end_ms = 1e3 * most as f64 * tick_s;
    let x = Axis::new("Further delay [ms]").range(0.0, end_ms);
    let mut pane = Pane::new(x, Axis::new("Damping ratio [%]").reach(0.0)).shape(Shape::Square);
    let flat = |mode: &LoopMode| {
        let truth = 100.0 * mode.truth.motion.damping_ratio();
        [(0.0, truth), (end_ms, truth), (f64::NAN, f64::NAN)]
    };
    pane = pane.line(Role::Reference, "whole structure (reference)", modes.iter().flat_map(flat));
    for (index, (mode, curve)) in modes.iter().zip(curves).enumerate() {
        let hertz = rounded(mode.truth.motion.frequency_hz());
        let name = format!("mode {}, {hertz} Hz", mode.truth.number);
        pane = pane.line(Role::Other(index), name, curve);
    }
    if let Some(margin_s) = found.delay_margin_s {
        let words = format!("+{} ms", rounded(1e3 * margin_s));
        pane = pane.event(1e3 * margin_s, words);
    }
    let caption = "If the force came later by whole ticks. Where a curve falls below zero the \
                   test is unstable.";
    Ok(Figure::new("Damping in the loop", caption, vec![pane]))
}
