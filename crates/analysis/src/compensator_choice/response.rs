//! From desired to achieved motion, at a complex frequency.

use model::compensator::{Design, PiLeadDesign, Tap, taps};

use std::f64::consts::TAU;

use super::Task;
use crate::compensator_design::{self as formula, Plant};
use crate::identification::Hold;
use numerics::Complex;

/// Transfer system and compensator in a row.
pub(super) struct Tracking<'a> {
    plant: &'a Plant,
    step_s: f64,
    compensator: Form,
}

enum Form {
    /// Ahead of the transfer system.
    Ahead(Vec<Tap>),
    /// Around it.
    Feedback(PiLeadDesign),
}

impl<'a> Tracking<'a> {
    /// `None` for a compensator that adapts: it has no response of its own.
    pub(super) fn new(task: &Task<'a>, design: &Design) -> Option<Self> {
        let compensator = match design {
            Design::PiLead(design) => Form::Feedback(*design),
            design => Form::Ahead(taps(design, task.step_s).ok()??),
        };
        Some(Self { plant: task.plant, step_s: task.step_s, compensator })
    }

    /// Achieved over desired.
    pub(super) fn at(&self, s: Complex) -> Complex {
        let plant = plant_response(self.plant, s);
        match &self.compensator {
            Form::Ahead(taps) => plant * taps_response(taps, s, self.step_s),
            Form::Feedback(design) => {
                let z = (s * self.step_s).exp();
                // Tustin's rule puts this in the place of s.
                let w = (z - 1.0) / (z + 1.0) * (2.0 / self.step_s);
                let lead =
                    (w * design.lead_gain + design.lead_pole_1_s) / (w + design.lead_pole_1_s);
                let feedback = w.inv() * design.integral_1_s + design.proportional;
                plant * feedback * lead / (plant * feedback + 1.0)
            }
        }
    }
}

/// The inverse with `terms` terms that leaves the least error in the band.
pub(super) fn best_inverse(task: &Task<'_>, terms: usize) -> Option<Vec<f64>> {
    const POINTS: usize = 120;
    let forms: Vec<Vec<Tap>> = (0..terms)
        .map(|term| {
            let mut coefficients = vec![0.0; terms];
            coefficients[term] = formula::term_scale(task.band_hz.1, term);
            taps(&formula::inverse_design(coefficients), task.step_s).ok()?
        })
        .collect::<Option<_>>()?;
    formula::best_inverse(task.band_hz, POINTS, terms, |hertz| {
        let s = Complex::new(0.0, TAU * hertz);
        let plant = plant_response(task.plant, s);
        forms.iter().map(|form| plant * taps_response(form, s, task.step_s)).collect()
    })
}

/// Held command to achieved motion.
fn plant_response(plant: &Plant, s: Complex) -> Complex {
    let held = Hold::Zero.response(s.im, plant.hold_s);
    plant.function.response(s.im) * (-s * plant.delay_s).exp() * held
}

/// Command over desired displacement.
fn taps_response(taps: &[Tap], s: Complex, step_s: f64) -> Complex {
    taps.iter()
        .filter(|tap| tap.to == 0)
        .map(|tap| {
            let late = (-s * (tap.lag as f64 * step_s)).exp();
            s.powu(tap.from as u32) * late * tap.weight
        })
        .sum()
}
