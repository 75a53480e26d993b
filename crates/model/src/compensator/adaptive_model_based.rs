//! First-order adaptive inverse, adapted by a gradient.

use super::derivatives::{Derivatives, filtered};
use super::design::{AdaptiveModelBasedDesign, check_bounds, not_negative};
use super::estimator::TwinFilter;
use super::{Compensate, CompensatorError, Site};
use crate::motion::Motion;
use crate::sensor::Converter;

/// c = a0 x + a1 ẋ, with ȧ = Γ φ e, φ = (x_m, ẋ_m),
///   e = (c_f − φᵀa) / (1 + φᵀφ).
///
/// Over a period in which φ and c_f are held this has a closed solution: with
/// λ = φᵀΓφ/(1 + φᵀφ),
///   a += Γ φ e (1 − e^{−λΔt})/λ.
/// Explicit integration diverges in strong motion, where λΔt exceeds 2; the
/// closed form does not. The 1 + φᵀφ mixes units, so the gains hold in metres
/// and seconds only, and for motions of the size they were found with.
///
/// References: Chen et al. 2015, Bull. Earthq. Eng. 13; Gálmez & Fermandois
/// 2020, Front. Built Environ. 6.
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptiveModelBased {
    design: AdaptiveModelBasedDesign,
    step_s: f64,
    converter: Converter,
    states: Vec<State>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct State {
    parameters: [f64; 2],
    derivatives: Derivatives,
    filter: TwinFilter,
    /// Filtered measurement at the tick before, if it was a number.
    last: Option<f64>,
}

impl AdaptiveModelBased {
    /// At rest.
    pub fn new(design: &AdaptiveModelBasedDesign, site: &Site) -> Result<Self, CompensatorError> {
        check_bounds(&design.start, &design.lower, &design.upper)?;
        for gain in design.adaptation {
            not_negative("adaptation", gain)?;
        }
        not_negative("threshold", design.threshold_m)?;
        let state = State {
            parameters: design.start,
            // The jerk serves the acceleration of the command.
            derivatives: Derivatives::new(design.derivatives, 3, site.step_s),
            filter: TwinFilter::new(design.filter_hz, site.step_s)?,
            last: Some(0.0),
        };
        Ok(Self {
            design: *design,
            step_s: site.step_s,
            converter: site.converter,
            states: vec![state; site.count],
        })
    }
}

impl Compensate for AdaptiveModelBased {
    #[inline]
    fn command(&mut self, desired: &Motion, _measured: &[f64], command: &mut Motion) {
        for (i, state) in self.states.iter_mut().enumerate() {
            let [x, v, a] = desired.of(i);
            command.set(i, filtered(&state.parameters, &state.derivatives.take(x, v, a)));
        }
    }

    #[inline]
    fn learn(&mut self, sent: &Motion, measured: &[f64]) {
        let AdaptiveModelBasedDesign { adaptation, lower, upper, threshold_m, .. } = &self.design;
        for (dof, state) in self.states.iter_mut().enumerate() {
            let sent = self.converter.convert(sent.displacement[dof]);
            let Some([command, x]) = state.filter.step(sent, measured[dof]) else {
                state.last = None;
                continue;
            };
            let Some(last) = state.last.replace(x) else { continue };
            if x.abs() < *threshold_m {
                continue;
            }
            let v = (x - last) / self.step_s;
            let pull = [adaptation[0] * x, adaptation[1] * v];
            let size = 1.0 + x * x + v * v;
            let error = (command - state.parameters[0] * x - state.parameters[1] * v) / size;
            let lambda = (pull[0] * x + pull[1] * v) / size;
            // (1 − e^{−λΔt})/λ, whose limit at λ = 0 is Δt.
            let decay = lambda * self.step_s;
            let time = if decay > 1e-12 { -(-decay).exp_m1() / lambda } else { self.step_s };
            for i in 0..2 {
                let learnt = state.parameters[i] + pull[i] * error * time;
                state.parameters[i] = learnt.clamp(lower[i], upper[i]);
            }
        }
    }

    #[inline]
    fn parameters(&self, dof: usize) -> &[f64] {
        self.states.get(dof).map_or(&[], |state| &state.parameters)
    }

    fn rejoin(&mut self, before: &Motion) {
        for (state, &a) in self.states.iter_mut().zip(&before.acceleration) {
            state.derivatives.rejoin(a);
        }
    }
}
