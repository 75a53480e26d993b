//! Nonlinear elements: bilinear, elastic–perfectly plastic, Bouc–Wen, gap.
//!
//! Every element is a function of its deformation and of the history up to the
//! last committed step. An algorithm may ask for trial forces as often as it
//! likes; only [`Element::commit`] moves the history on. So the same element
//! serves explicit stages, implicit iterations and specimens.

use keys::Keys;

/// Sides on which a gap closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Side {
    /// Closes in both directions.
    Both,
    /// Closes in the positive direction.
    Positive,
    /// Closes in the negative direction.
    Negative,
}

/// The law of the element.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
#[key(tag = "kind")]
pub enum Law {
    /// Elastic up to the yield force, then a lower stiffness (kinematic hardening).
    Bilinear {
        /// Initial stiffness; of a gap, once closed.
        #[key(stiffness, of_dof, positive)]
        stiffness: f64,
        /// Force at yield.
        #[key(force, of_dof, positive)]
        yield_force: f64,
        /// Stiffness after yield as a ratio of the initial one.
        #[key(ratio, within = 0.0..=1.0)]
        hardening: f64,
    },
    /// Elastic up to the yield force, then a constant force.
    ///
    /// The bilinear law without hardening.
    ElasticPlastic {
        /// Initial stiffness; of a gap, once closed.
        #[key(stiffness, of_dof, positive)]
        stiffness: f64,
        /// Force at yield.
        #[key(force, of_dof, positive)]
        yield_force: f64,
    },
    /// Smooth hysteresis after Bouc and Wen.
    ///
    /// f = hk u + (1−h)F z with
    /// dz/du = (k/F)(1 − |z|ⁿ(γ + β sgn(z du))).
    ///
    /// Rate independent, so it is integrated over the deformation; β + γ = 1 makes F the yield
    /// force. Reference: Wen 1976, J. Eng. Mech. Div. 102(2).
    BoucWen {
        /// Initial stiffness; of a gap, once closed.
        #[key(stiffness, of_dof, positive)]
        stiffness: f64,
        /// Force at yield.
        #[key(force, of_dof, positive)]
        yield_force: f64,
        /// Stiffness after yield as a ratio of the initial one.
        #[key(ratio, within = 0.0..=1.0)]
        hardening: f64,
        /// Sharpness of the transition, 1 or more.
        #[key(number, within = 1.0..=1000.0, default = 1)]
        exponent: f64,
        /// Shape factor β of the loop.
        #[key(number, default = 0.5)]
        beta: f64,
        /// Shape factor γ of the loop.
        #[key(number, default = 0.5)]
        gamma: f64,
    },
    /// A spring that acts once a gap has closed.
    Gap {
        /// Initial stiffness; of a gap, once closed.
        #[key(stiffness, of_dof, positive)]
        stiffness: f64,
        /// Width of the gap.
        #[key(length, of_dof, not_negative)]
        opening: f64,
        /// Where the gap closes.
        #[key(default = "both")]
        side: Side,
    },
}

/// A law with its history.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    law: Law,
    deformation: f64,
    force: f64,
    /// Plastic deformation (bilinear) or hysteretic variable z (Bouc–Wen).
    memory: f64,
    work: f64,
}

impl Element {
    /// A virgin element.
    pub fn new(law: Law) -> Self {
        Self { law, deformation: 0.0, force: 0.0, memory: 0.0, work: 0.0 }
    }

    /// Its law.
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// Force at a trial deformation; the history stays.
    #[inline]
    pub fn trial_force(&self, deformation: f64) -> f64 {
        self.respond(deformation).0
    }

    /// Moves the history to `deformation`.
    #[inline]
    pub fn commit(&mut self, deformation: f64) {
        let (force, memory) = self.respond(deformation);
        self.work += 0.5 * (self.force + force) * (deformation - self.deformation);
        self.force = force;
        self.memory = memory;
        self.deformation = deformation;
    }

    /// Back to virgin.
    pub fn reset(&mut self) {
        *self = Self::new(self.law);
    }

    /// Force at the last commit, N.
    pub fn force(&self) -> f64 {
        self.force
    }

    /// Work put into the element since it was virgin, J.
    pub fn work(&self) -> f64 {
        self.work
    }

    /// The part of the work that would come back on unloading, J. The rest is
    /// dissipated; it is what hysteresis adds to the damping.
    pub fn stored_energy(&self) -> f64 {
        let u = self.deformation;
        let bilinear = |stiffness: f64, hardening: f64| {
            let core = self.force - hardening * stiffness * u;
            0.5 * hardening * stiffness * u * u
                + 0.5 * core * core / ((1.0 - hardening) * stiffness)
        };
        match self.law {
            Law::Bilinear { stiffness, hardening, .. } => bilinear(stiffness, hardening),
            Law::ElasticPlastic { stiffness, .. } => bilinear(stiffness, 0.0),
            Law::BoucWen { stiffness, yield_force, hardening, .. } => {
                let reach = yield_force / stiffness * self.memory;
                0.5 * hardening * stiffness * u * u
                    + 0.5 * (1.0 - hardening) * stiffness * reach * reach
            }
            Law::Gap { .. } => 0.5 * self.force * self.force / self.greatest_stiffness(),
        }
    }

    /// The steepest slope the law can have; what an algorithm's stability and
    /// the convergence of its iterations rest on.
    pub fn greatest_stiffness(&self) -> f64 {
        match self.law {
            Law::Bilinear { stiffness, .. }
            | Law::ElasticPlastic { stiffness, .. }
            | Law::BoucWen { stiffness, .. }
            | Law::Gap { stiffness, .. } => stiffness,
        }
    }

    /// The slope of the virgin element at rest: what a small motion sees.
    pub fn initial_stiffness(&self) -> f64 {
        match self.law {
            Law::Gap { opening, .. } if opening != 0.0 => 0.0,
            _ => self.greatest_stiffness(),
        }
    }

    #[inline]
    fn respond(&self, deformation: f64) -> (f64, f64) {
        match self.law {
            Law::Bilinear { stiffness, yield_force, hardening } => {
                self.bilinear(deformation, stiffness, yield_force, hardening)
            }
            Law::ElasticPlastic { stiffness, yield_force } => {
                self.bilinear(deformation, stiffness, yield_force, 0.0)
            }
            Law::BoucWen { stiffness, yield_force, hardening, exponent, beta, gamma } => {
                let travel = (deformation - self.deformation) * stiffness / yield_force;
                let z = bouc_wen(self.memory, travel, exponent, beta, gamma);
                let force =
                    hardening * stiffness * deformation + (1.0 - hardening) * yield_force * z;
                (force, z)
            }
            Law::Gap { stiffness, opening, side } => {
                let positive = (deformation - opening).max(0.0);
                let negative = (deformation + opening).min(0.0);
                let closed = match side {
                    Side::Both => positive + negative,
                    Side::Positive => positive,
                    Side::Negative => negative,
                };
                (stiffness * closed, 0.0)
            }
        }
    }

    #[inline]
    fn bilinear(
        &self,
        deformation: f64,
        stiffness: f64,
        yield_force: f64,
        hardening: f64,
    ) -> (f64, f64) {
        let core_stiffness = (1.0 - hardening) * stiffness;
        let bound = (1.0 - hardening) * yield_force;
        let core = bounded(core_stiffness * (deformation - self.memory), bound);
        let plastic = deformation - core / core_stiffness;
        (hardening * stiffness * deformation + core, plastic)
    }
}

/// z after the normalised deformation has moved by `travel`: classical
/// Runge–Kutta in steps of at most a fiftieth of the yield deformation, at most
/// 64 of them, so that the cost of a tick is bounded whatever the rig does.
fn bouc_wen(z: f64, travel: f64, exponent: f64, beta: f64, gamma: f64) -> f64 {
    if travel == 0.0 || !travel.is_finite() {
        return if travel == 0.0 { z } else { f64::NAN };
    }
    let steps = (travel.abs() * 50.0).ceil().clamp(1.0, 64.0);
    let h = travel / steps;
    let slope = |z: f64| 1.0 - z.abs().powf(exponent) * (gamma + beta * (z * travel).signum());
    let bound = (beta + gamma).powf(-1.0 / exponent);
    let mut z = z;
    for _ in 0..steps as u32 {
        let k1 = slope(z);
        let k2 = slope(z + 0.5 * h * k1);
        let k3 = slope(z + 0.5 * h * k2);
        let k4 = slope(z + h * k3);
        // The exact solution never passes the bound; a long step might.
        z = bounded(z + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4), bound);
    }
    z
}

/// `clamp` that cannot panic: a bound that is none bounds nothing, and NaN stays.
#[inline]
fn bounded(value: f64, bound: f64) -> f64 {
    if bound >= 0.0 { value.clamp(-bound, bound) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BILINEAR: Law = Law::Bilinear { stiffness: 100.0, yield_force: 2.0, hardening: 0.1 };
    const SMOOTH: Law = Law::BoucWen {
        stiffness: 100.0,
        yield_force: 2.0,
        hardening: 0.1,
        exponent: 1.0,
        beta: 0.5,
        gamma: 0.5,
    };

    /// Cycles of the given amplitude in small increments; returns the loop area.
    fn cycle(element: &mut Element, amplitude: f64, cycles: usize) -> f64 {
        let before = element.work();
        let n = 20_000;
        for i in 1..=n * cycles {
            let phase = std::f64::consts::TAU * i as f64 / n as f64;
            element.commit(amplitude * phase.sin());
        }
        element.work() - before
    }

    #[test]
    fn bilinear_loop_has_its_textbook_area() {
        let mut element = Element::new(BILINEAR);
        cycle(&mut element, 0.05, 1);
        let area = cycle(&mut element, 0.05, 1);
        // 4 F(1−h)(U − F/k): the area of the parallelogram.
        let expected = 4.0 * 2.0 * 0.9 * (0.05 - 0.02);
        assert!((area - expected).abs() < 1e-4 * expected, "{area} {expected}");
    }

    #[test]
    fn below_yield_everything_comes_back() {
        let mut element = Element::new(BILINEAR);
        let area = cycle(&mut element, 0.019, 2);
        assert!(area.abs() < 1e-12);
        element.commit(0.015);
        assert!((element.stored_energy() - 0.5 * 100.0 * 0.015f64.powi(2)).abs() < 1e-12);
    }

    #[test]
    fn elastic_perfectly_plastic_never_passes_its_yield_force() {
        let law = Law::ElasticPlastic { stiffness: 100.0, yield_force: 2.0 };
        let without = Law::Bilinear { stiffness: 100.0, yield_force: 2.0, hardening: 0.0 };
        let [mut element, mut bilinear] = [law, without].map(Element::new);
        element.commit(0.5);
        assert!((element.force() - 2.0).abs() < 1e-14);
        element.commit(0.49);
        assert!((element.force() - 1.0).abs() < 1e-12, "unloads elastically");
        [0.5, 0.49].into_iter().for_each(|u| bilinear.commit(u));
        assert_eq!(element.force(), bilinear.force(), "bilinear without hardening");
        assert_eq!(element.stored_energy(), bilinear.stored_energy());
    }

    #[test]
    fn bouc_wen_with_unit_exponent_follows_its_closed_form_on_loading() {
        // n = 1, β = γ = ½, loading from zero: z = 1 − e^{−ku/F}.
        let mut element = Element::new(SMOOTH);
        for step in 1..=10 {
            let u = 0.003 * f64::from(step);
            element.commit(u);
            let exact = 0.1 * 100.0 * u + 0.9 * 2.0 * (1.0 - (-50.0 * u).exp());
            assert!((element.force() - exact).abs() < 1e-8, "{} {exact}", element.force());
        }
    }

    #[test]
    fn hysteresis_never_gives_energy_back() {
        for law in [BILINEAR, SMOOTH] {
            let mut element = Element::new(law);
            let mut random = numerics::random::Stream::new(5, "walk");
            let (mut u, mut most) = (0.0, 0.0f64);
            for _ in 0..50_000 {
                u += 1e-3 * random.normal() - 5e-4 * u;
                element.commit(u);
                let dissipated = element.work() - element.stored_energy();
                assert!(dissipated >= most - 2e-4, "{law:?}: {dissipated} after {most}");
                most = most.max(dissipated);
            }
            assert!(most > 0.1);
        }
    }

    #[test]
    fn no_parameters_make_a_step_panic() {
        for value in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            for law in [
                Law::Bilinear { stiffness: 100.0, yield_force: value, hardening: 0.1 },
                Law::Bilinear { stiffness: 100.0, yield_force: 2.0, hardening: value },
                Law::BoucWen {
                    stiffness: 100.0,
                    yield_force: 2.0,
                    hardening: 0.1,
                    exponent: 1.5,
                    beta: value,
                    gamma: 0.2,
                },
            ] {
                let mut element = Element::new(law);
                for u in [0.01, -0.3, f64::NAN, 1e300] {
                    element.commit(u);
                }
            }
        }
    }

    #[test]
    fn a_trial_leaves_no_trace() {
        let mut element = Element::new(SMOOTH);
        element.commit(0.03);
        let before = element.clone();
        element.trial_force(-0.4);
        assert_eq!(element, before);
    }

    #[test]
    fn gap_is_open_then_elastic_on_its_side() {
        let law = Law::Gap { stiffness: 1e3, opening: 0.01, side: Side::Positive };
        let element = Element::new(law);
        assert_eq!(element.trial_force(0.009), 0.0);
        assert_eq!(element.trial_force(-0.5), 0.0);
        assert!((element.trial_force(0.012) - 2.0).abs() < 1e-12);
        let law = Law::Gap { stiffness: 1e3, opening: 0.01, side: Side::Both };
        assert!((Element::new(law).trial_force(-0.012) + 2.0).abs() < 1e-12);
    }
}
