//! What other compensators would make of a loop.

use std::f64::consts::TAU;
use std::panic::resume_unwind;

use model::compensator::{
    Design, FirstOrderDesign, ForwardPredictionDesign, InverseDesign, Learning, PiLeadDesign,
};
use model::transfer::{ActuatorDynamics, TransferSystem};

use super::modes::{Motion, TrueMode, follow};
use super::{Curve, LoopDescription, LoopError, OpenLoop, Verdict, parts};
use crate::compensator_design::{self as formula, inverse_design};
use numerics::Complex;

/// A loop with another compensator.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Its name in the file.
    pub kind: &'static str,
    /// With the numbers it should have, or will have learnt.
    pub design: Design,
    /// Growing motions, and the further delay that it bears.
    pub verdict: Verdict,
    /// The motion that decays slowest, or grows fastest, and the number of its
    /// mode; `None` where a growing one is counted but was not found.
    pub dominant: Option<(Motion, Option<usize>)>,
    /// The least damped motion, likewise.
    pub least_damped: Option<(Motion, Option<usize>)>,
    /// The mode whose damping is furthest from the truth: its number, and the
    /// difference of the damping ratios.
    pub worst: Option<(usize, f64)>,
}

impl Trial {
    /// Examines a loop that differs from `open` in its compensator.
    pub fn of(
        kind: &'static str,
        open: &OpenLoop,
        description: &LoopDescription,
        truth: &[TrueMode],
    ) -> Result<Self, LoopError> {
        let open = open.recompensated(description)?;
        let curve = Curve::follow(&open)?;
        let found = follow(&open, &curve, truth)?;
        let error = |mode: &super::LoopMode| {
            let in_loop = mode.in_loop?.damping_ratio();
            Some((mode.truth.number, in_loop - mode.truth.motion.damping_ratio()))
        };
        let worst = found.modes.iter().filter_map(error);
        let worst = worst.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        Ok(Self {
            kind,
            design: description.compensator.clone(),
            verdict: Verdict::of(&open, &curve)?,
            dominant: found.dominant_among(&curve),
            least_damped: found.least_damped_among(&curve),
            worst,
        })
    }
}

/// Tries the fixed compensators, each with numbers that suit the transfer system
/// in the band of the modes, and the adaptive ones as they will have learnt.
/// Those that cannot be designed here are left out.
pub fn try_all(
    open: &OpenLoop,
    description: &LoopDescription,
    truth: &[TrueMode],
    at_hz: f64,
) -> Result<Vec<Trial>, LoopError> {
    let tried = |(kind, design): (&'static str, Design)| {
        let changed = LoopDescription { compensator: design, ..description.clone() };
        Trial::of(kind, open, &changed, truth)
    };
    let tried = &tried;
    std::thread::scope(|scope| {
        let designs = designs(description, at_hz).into_iter();
        let trials: Vec<_> = designs.map(|design| scope.spawn(move || tried(design))).collect();
        trials
            .into_iter()
            .map(|trial| trial.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

fn designs(description: &LoopDescription, at_hz: f64) -> Vec<(&'static str, Design)> {
    let mut found = vec![("none", Design::None)];
    let Some(rig) = Rig::new(description) else { return found };
    let step_s = description.integrator.step_s;
    let gain = 1.0 / rig.at(1e-3 * at_hz).re;
    if !(gain.is_finite() && gain > 0.0) {
        return found;
    }
    let lag = rig.lag_rad(at_hz);
    if let Some(lead) = formula::sampled_lead(lag, TAU * at_hz * step_s) {
        let lead_s = lead * step_s;
        found.push(("first_order", Design::FirstOrder(FirstOrderDesign { gain, lead_s })));
    }
    if let Some(coefficients) = rig.inverse(at_hz, 4) {
        found.push(("inverse", inverse_design(coefficients)));
    }
    let delay_s = lag / (TAU * at_hz);
    if delay_s > 0.0 {
        let kinds = [("forward_prediction, order 2", 2), ("forward_prediction, order 3", 3)];
        found.extend(kinds.map(|(kind, order)| {
            (kind, Design::ForwardPrediction(ForwardPredictionDesign { order, delay_s, gain }))
        }));
    }
    if matches!(description.transfer_system, TransferSystem::ServoHydraulic(_)) {
        found.push(("pi_lead", Design::PiLead(PiLeadDesign::BENCHMARK)));
    }
    let learnt = |(kind, terms)| Some((kind, inverse_design(rig.inverse(at_hz, terms)?)));
    found.extend(Design::adaptive().filter_map(learnt));
    found
}

/// An adaptive compensator as it starts: the fixed one with its first numbers. A
/// fixed one as it is.
pub fn as_started(design: &Design) -> Design {
    design.learning().map_or_else(
        || design.clone(),
        |Learning { start: coefficients, derivatives, .. }| {
            Design::Inverse(InverseDesign { coefficients, derivatives })
        },
    )
}

/// An adaptive compensator as it will have learnt from motion that fills the band
/// of the modes around `at_hz`; `None` for a rig without a response. A fixed one
/// as it is.
pub fn as_learnt(description: &LoopDescription, at_hz: f64) -> Option<Design> {
    let design = &description.compensator;
    let Some(Learning { start, lower, upper, .. }) = design.learning() else {
        return Some(design.clone());
    };
    let found = Rig::new(description)?.inverse(at_hz, start.len())?;
    let bounded = found.iter().zip(lower.iter().zip(upper));
    Some(inverse_design(bounded.map(|(a, (low, high))| a.clamp(*low, *high)).collect()))
}

/// The transfer system as a response, of the first interface DOF.
struct Rig {
    dynamics: Option<ActuatorDynamics>,
    late_s: f64,
}

impl Rig {
    fn new(description: &LoopDescription) -> Option<Self> {
        if description.transfer_system == TransferSystem::Ideal {
            return None;
        }
        let found = parts::follows(&description.transfer_system, &description.specimen);
        let (dynamics, samples) = found.ok()?;
        // A rig with states holds its command, which is half a period late.
        let held = if dynamics.is_some() { 0.5 } else { 0.0 };
        Some(Self { dynamics, late_s: (samples + held) * description.integrator.step_s })
    }

    /// Achieved over commanded displacement.
    fn at(&self, hertz: f64) -> Complex {
        let omega = TAU * hertz;
        let nan = Complex::new(f64::NAN, f64::NAN);
        let own = match &self.dynamics {
            None => Complex::ONE,
            Some(dynamics) => dynamics.response(0, omega).unwrap_or(nan),
        };
        own * Complex::from_polar(1.0, -omega * self.late_s)
    }

    /// The lag, which may exceed half a turn.
    fn lag_rad(&self, hertz: f64) -> f64 {
        let own = Self { dynamics: self.dynamics.clone(), late_s: 0.0 };
        let low = own.at(1e-3 * hertz);
        let lag = TAU * hertz * self.late_s - low.arg();
        formula::followed_lag_rad(lag, low, hertz, |hertz| own.at(hertz))
    }

    /// The inverse with so many terms that leaves the least error up to one and a
    /// half times the frequency that matters.
    fn inverse(&self, at_hz: f64, terms: usize) -> Option<Vec<f64>> {
        const POINTS: usize = 60;
        let highest = 1.5 * at_hz;
        formula::best_inverse((0.0, highest), POINTS, terms, |hertz| {
            let slope = Complex::new(0.0, TAU * hertz / (TAU * highest));
            let next = |part: &Complex| Some(part * slope);
            std::iter::successors(Some(self.at(hertz)), next).take(terms).collect()
        })
    }
}

/// The time by which the transfer system is late at a frequency, s; 0 for an
/// ideal one.
pub fn transfer_delay_s(description: &LoopDescription, hertz: f64) -> f64 {
    let Some(rig) = Rig::new(description) else { return 0.0 };
    // The hold belongs to the loop, not to the transfer system.
    let hold_s = if rig.dynamics.is_some() { 0.5 * description.integrator.step_s } else { 0.0 };
    if hertz > 0.0 { rig.lag_rad(hertz) / (TAU * hertz) - hold_s } else { f64::NAN }
}
