//! A fixed compensator as the taps of a filter, and with the filter behind it as a linear
//! system, for those who judge the loop around it.

use nalgebra::DMatrix;
use numerics::filter::Section;
use numerics::linear_system::{Join, LinearSystem, Time};

use super::design::sections;
use super::{Compensate, CompensatorError, Design, Kind, ShapingDesign};

/// Displacement, velocity, acceleration.
const SIGNALS: usize = 3;

impl Design {
    /// From displacement, velocity and acceleration desired and the displacement
    /// measured to displacement, velocity and acceleration commanded, for `count`
    /// interface DOFs; limits are far away. `None` for those that adapt: they are
    /// no one filter.
    pub fn linear_form(
        &self,
        shaping: &ShapingDesign,
        step_s: f64,
        count: usize,
    ) -> Result<Option<LinearSystem>, CompensatorError> {
        let own = Kind::new(self, step_s)?.linear_form(Time::Step(step_s));
        let shaped = own.map(|own| filtered(own, shaping, step_s)).transpose()?;
        Ok(shaped.map(|one| one.copies(count)))
    }

    /// The same for a main loop, whose predictions begin anew: two systems with the same
    /// states, one of an ordinary tick and one of a tick that begins a new prediction.
    /// The second has as further input the acceleration that the new motion had a tick
    /// earlier; see [`Compensator::rejoin`](super::Compensator::rejoin).
    pub fn predicted_forms(
        &self,
        shaping: &ShapingDesign,
        step_s: f64,
        count: usize,
    ) -> Result<Option<[LinearSystem; 2]>, CompensatorError> {
        let (kind, time) = (Kind::new(self, step_s)?, Time::Step(step_s));
        let own = kind.active().and_then(|one| one.predicted_forms(time)).or_else(|| {
            let plain = kind.linear_form(time)?;
            // The others take no differences of the acceleration.
            let mut news = plain.clone();
            news.b = news.b.insert_column(plain.inputs(), 0.0);
            news.d = news.d.insert_column(plain.inputs(), 0.0);
            Some([plain, news])
        });
        let Some([plain, news]) = own else { return Ok(None) };
        let shaped = |own| filtered(own, shaping, step_s).map(|one| one.copies(count));
        Ok(Some([shaped(plain)?, shaped(news)?]))
    }
}

impl Kind {
    /// One interface DOF; see [`Design::linear_form`].
    fn linear_form(&self, time: Time) -> Option<LinearSystem> {
        let feedback = self.active().and_then(|one| one.feedback_form(time));
        feedback.or_else(|| Some(from_taps(&self.taps()?, time)))
    }

    /// See [`taps`].
    fn taps(&self) -> Option<Vec<Tap>> {
        let memory = self.active().map_or(Some(0), Compensate::memory)?;
        let mut found = Vec::new();
        for from in 0..3 {
            let mut kind = self.clone();
            // From rest: what comes first is not taken for the past.
            kind.command([0.0; 3], 0.0);
            let mut desired = [0.0; 3];
            desired[from] = 1.0;
            for lag in 0..=memory {
                let response = kind.command(desired, 0.0).into_iter().enumerate();
                let taps = response.map(|(to, weight)| Tap { lag, from, to, weight });
                found.extend(taps.filter(|tap| tap.weight != 0.0));
                desired = [0.0; 3];
            }
        }
        Some(found)
    }
}

/// `to`[k] gets `weight` × `from`[k − `lag`]; signals are 0 displacement,
/// 1 velocity, 2 acceleration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tap {
    /// Ticks ago.
    pub lag: usize,
    /// Signal of the desired motion.
    pub from: usize,
    /// Signal of the command.
    pub to: usize,
    /// Factor.
    pub weight: f64,
}

/// The taps of one interface DOF, found by asking the compensator itself:
/// `None` for those that adapt or feed back.
pub fn taps(design: &Design, step_s: f64) -> Result<Option<Vec<Tap>>, CompensatorError> {
    Ok(Kind::new(design, step_s)?.taps())
}

/// A compensator of one interface DOF with the low-pass filter behind it.
fn filtered(
    own: LinearSystem,
    shaping: &ShapingDesign,
    step_s: f64,
) -> Result<LinearSystem, CompensatorError> {
    let Some(cutoff_hz) = shaping.low_pass_hz else { return Ok(own) };
    let [section] = sections("low_pass", cutoff_hz, step_s)?;
    let inputs = own.inputs();
    let mut join = Join::new(own.time);
    let own = join.add(own);
    let smooth = join.add(section_form(&section, Time::Step(step_s)).copies(SIGNALS));
    join.wire(own.port(0..SIGNALS), smooth.port(0..SIGNALS));
    let joint = join.system(&[own.port(0..inputs)], &[smooth.port(0..SIGNALS)]);
    Ok(joint.expect("wired in a row, not in a ring"))
}

/// The taps hang on chains of delays, one chain for each signal.
fn from_taps(taps: &[Tap], time: Time) -> LinearSystem {
    let inputs = SIGNALS + 1;
    // (signal, lag) of every place on a chain, and the delay from the place before.
    let mut places: Vec<(usize, usize, usize)> = Vec::new();
    for from in 0..SIGNALS {
        let mut lags: Vec<usize> =
            taps.iter().filter(|tap| tap.from == from && tap.lag > 0).map(|tap| tap.lag).collect();
        lags.sort_unstable();
        lags.dedup();
        let mut before = 0;
        for lag in lags {
            places.push((from, lag, lag - before));
            before = lag;
        }
    }
    let ports = places.len();
    let mut d = DMatrix::zeros(SIGNALS + ports, inputs + ports);
    for (port, &(from, lag, step)) in places.iter().enumerate() {
        // What goes in: the signal itself, or what came out of the place before.
        let source = if lag == step { from } else { inputs + port - 1 };
        d[(SIGNALS + port, source)] = 1.0;
    }
    for tap in taps {
        let at = places.iter().position(|&(from, lag, _)| (from, lag) == (tap.from, tap.lag));
        d[(tap.to, at.map_or(tap.from, |port| inputs + port))] += tap.weight;
    }
    let delays = places.iter().map(|&(_, _, step)| step).collect();
    LinearSystem::gain(d, time).with_delays(delays)
}

/// The section with its two states.
fn section_form(section: &Section, time: Time) -> LinearSystem {
    let ([b0, b1, b2], [a1, a2]) = (section.b, section.a);
    LinearSystem::new(
        DMatrix::from_row_slice(2, 2, &[-a1, 1.0, -a2, 0.0]),
        DMatrix::from_row_slice(2, 1, &[b1 - a1 * b0, b2 - a2 * b0]),
        DMatrix::from_row_slice(1, 2, &[1.0, 0.0]),
        DMatrix::from_element(1, 1, b0),
        time,
    )
}
