//! What a command passes through behind the compensator.

use keys::Keys;
use numerics::filter::FilterBank;

use super::design::sections;
use super::{CompensatorError, Site};
use crate::check::check_positive;
use crate::motion::Motion;

/// Declared shaping; absent parts do nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
pub struct ShapingDesign {
    /// Cut-off of a Butterworth filter of order 2 on the command.
    #[key(frequency, positive)]
    pub low_pass_hz: Option<f64>,
    /// Largest command, either way; larger ones are cut off, without a trip.
    #[key(length, of_dof, positive)]
    pub saturation_m: Option<f64>,
    /// Largest rate of change of the command; faster ones are slowed, without a trip.
    #[key(velocity, of_dof, positive)]
    pub rate_m_s: Option<f64>,
}

/// End stops, then a rate limit, then a low-pass filter.
///
/// Adaptive kinds learn from the limited command, which is what the rig can
/// follow, and see the filter as a part of the rig, so that its lag is learnt
/// too. What the filter overshoots is cut off at the stops once more.
///
/// Where a command is cut off its velocity is what it then really is: zero at a
/// stop, the limit while it runs at the limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaping {
    low_pass: Option<Vec<FilterBank<f64, 3, 1>>>,
    saturation: f64,
    /// Largest rate of change, m/s, and largest step of one tick, m.
    rate: f64,
    most: f64,
    last: Vec<f64>,
}

impl Shaping {
    /// At rest; `None` if nothing is to be done.
    pub fn new(design: &ShapingDesign, site: &Site) -> Result<Option<Self>, CompensatorError> {
        if *design == ShapingDesign::default() {
            return Ok(None);
        }
        let bound =
            |key, value: Option<f64>| value.map_or(Ok(f64::INFINITY), |v| check_positive(key, v));
        let filter = |cutoff_hz| sections("low_pass", cutoff_hz, site.step_s).map(FilterBank::new);
        let filter = design.low_pass_hz.map(filter).transpose()?;
        let rate = bound("rate", design.rate_m_s)?;
        Ok(Some(Self {
            low_pass: filter.map(|bank| vec![bank; site.count]),
            saturation: bound("saturation", design.saturation_m)?,
            rate,
            most: rate * site.step_s,
            last: vec![0.0; site.count],
        }))
    }

    /// Stops and rate limit.
    #[inline]
    pub(super) fn limit(&mut self, command: &mut Motion) {
        for (i, last) in self.last.iter_mut().enumerate() {
            let motion = command.of(i);
            if motion.iter().any(|value| !value.is_finite()) {
                // For the gate to see.
                continue;
            }
            let [mut x, mut v, mut a] = stopped(motion, self.saturation);
            let step = x - *last;
            if step.abs() > self.most {
                (x, v, a) = (*last + self.most.copysign(step), self.rate.copysign(step), 0.0);
            }
            *last = x;
            command.set(i, [x, v, a]);
        }
    }

    /// The low-pass filter.
    #[inline]
    pub(super) fn smooth(&mut self, command: &mut Motion) {
        for (i, bank) in self.low_pass.iter_mut().flatten().enumerate() {
            let motion = command.of(i);
            if motion.iter().all(|value| value.is_finite()) {
                command.set(i, stopped(bank.step(motion), self.saturation));
            }
        }
    }
}

/// The motion cut off at the stops.
#[inline]
fn stopped([x, v, a]: [f64; 3], saturation: f64) -> [f64; 3] {
    let stopped = x.clamp(-saturation, saturation);
    if stopped == x { [x, v, a] } else { [stopped, 0.0, 0.0] }
}
