//! The closed loops of Waldbjørn et al. at two rates: the paper's chain beside
//! the default one.

use std::time::Instant;

use model::compensator::{
    DerivativeSource, Design, FirstOrderDesign, InverseDesign, ShapingDesign,
};
use model::predictor::{self, Stages};
use model::transfer::TransferSystem;
use numerics::lti::TransferFunction;
use runtime::gate::Limits;
use runtime::numerical::Numerical;
use runtime::reference::Reference;
use runtime::two_rate::{ForceUse, Lead, MainState, Rates};

use crate::assembly::{Assembly, Coupling, LoopOptions, Recording};
use crate::error::Error;

/// Peak of the shared boundary, m: 0.15 in.
const PEAK_M: f64 = 0.15 * 0.0254;
/// A loop that is so far off is unstable.
const GIVEN_UP_PERCENT: f64 = 1e4;
/// The paper's calibrated lead of the first-order compensator.
const ALPHA: f64 = 17.9;

/// A structure with its reference response, scaled to the paper's peak.
pub struct Stage {
    assembly: Assembly,
    reference: Reference,
    /// DOF whose displacement is compared.
    observed: usize,
    /// Task time of the paper's main loop, ticks.
    task_ticks: usize,
    function: TransferFunction,
    /// The paper's compensator for this structure.
    paper: PaperCompensator,
}

/// Which of the paper's two compensators a structure has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaperCompensator {
    /// Eq 2.
    FirstOrder,
    /// Eq 3.
    ThirdOrder,
}

/// What is between command and motion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rig {
    /// The specimen alone: the paper's "numerical mrRTHS".
    Numerical,
    /// The paper's transfer system, known exactly.
    Known,
    /// The compensator is off: gain 2 % too high, a1 10 % too low.
    Mistaken,
    /// A delay of 2 ms that the compensator does not know.
    Late,
    /// Known, with the noise of the paper's sensors.
    Noisy,
}

/// Deviation from the reference at the instants of the main loop, % of its peak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// Root of the mean square.
    pub rms: f64,
    /// Greatest.
    pub peak: f64,
}

impl Stage {
    /// Scales the load of `assembly` and computes the reference.
    pub fn new(
        mut assembly: Assembly,
        function: TransferFunction,
        observed: usize,
        task_ticks: usize,
        paper: PaperCompensator,
    ) -> Result<Self, Error> {
        let peak = |reference: &Reference| {
            reference.interface[0].iter().fold(0.0f64, |most, x| most.max(x.abs()))
        };
        let unscaled = peak(&assembly.reference(&assembly.load())?);
        if unscaled == 0.0 || !unscaled.is_finite() {
            return Err(Error::NoMotion);
        }
        for signal in &mut assembly.loads {
            signal.samples = signal.samples.iter().map(|s| s * PEAK_M / unscaled).collect();
        }
        // Only what is compared matters here; an unstable loop is given up below.
        let free = vec![f64::INFINITY; assembly.count()];
        assembly.limits = Limits {
            command: free.clone(),
            rate: free.clone(),
            force: free.clone(),
            tracking_error: free,
            ..assembly.limits
        };
        assembly.coupling = Coupling::Held;
        assembly.sensors.displacement_noise.fill(0.0);
        let reference = assembly.reference(&assembly.load())?;
        Ok(Self { assembly, reference, observed, task_ticks, function, paper })
    }

    /// The paper's rates: three displacements back, two stages, the force held.
    pub fn paper_rates(&self, ratio: usize) -> Rates {
        Rates {
            ratio,
            task_ticks: self.task_ticks,
            force: ForceUse::Last,
            lead: Lead::None,
            bridge: 0,
            predictor: predictor::Design::Lagrange { order: 3, stages: Stages::Two },
            step_time: None,
        }
    }

    /// The default rates.
    pub fn our_rates(&self, ratio: usize) -> Rates {
        Rates {
            force: ForceUse::AllSamples,
            lead: Lead::HalfSample,
            predictor: predictor::Design::Hermite,
            ..self.paper_rates(ratio)
        }
    }

    /// The paper's chain.
    pub fn paper(&self, ratio: usize, rig: Rig) -> Result<Option<Deviation>, Error> {
        let design = match self.paper {
            PaperCompensator::FirstOrder => {
                let step_s = self.assembly.integrator.step_s;
                let [gain, lead] = match rig {
                    Rig::Mistaken => [1.02, 0.9],
                    _ => [1.0, 1.0],
                };
                let lead_s = lead * (ALPHA - 1.0) * step_s;
                Design::FirstOrder(FirstOrderDesign { gain, lead_s })
            }
            PaperCompensator::ThirdOrder => self.inverse(rig, DerivativeSource::Differences),
        };
        self.run(self.paper_rates(ratio), design, rig)
    }

    /// The default chain.
    pub fn ours(&self, ratio: usize, rig: Rig) -> Result<Option<Deviation>, Error> {
        self.run(self.our_rates(ratio), self.inverse(rig, DerivativeSource::Motion), rig)
    }

    /// The default chain with another predictor.
    pub fn with_predictor(
        &self,
        ratio: usize,
        predictor: predictor::Design,
        rig: Rig,
    ) -> Result<Option<Deviation>, Error> {
        let rates = Rates { predictor, ..self.our_rates(ratio) };
        self.run(rates, self.inverse(rig, DerivativeSource::Motion), rig)
    }

    /// The inverse of the transfer system: b0 c = a0 x + a1 ẋ + a2 ẍ + x⃛.
    fn inverse(&self, rig: Rig, derivatives: DerivativeSource) -> Design {
        let below = self.function.numerator().last().copied().unwrap_or(1.0);
        let mut coefficients: Vec<f64> =
            self.function.denominator().iter().rev().map(|a| a / below).collect();
        if rig == Rig::Mistaken {
            coefficients.iter_mut().for_each(|a| *a *= 1.02);
            coefficients[1] *= 0.9;
        }
        Design::Inverse(InverseDesign { coefficients, derivatives })
    }

    /// One whole run; `None` if it does not stay bounded.
    pub fn run(&self, rates: Rates, design: Design, rig: Rig) -> Result<Option<Deviation>, Error> {
        let assembly = self.assembly(rates, design, rig)?;
        let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
        let mut hybrid = assembly.hybrid_loop(assembly.plant()?, assembly.load(), options);
        let reference = &self.reference.displacement[self.observed];
        let greatest = reference.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let (mut sum, mut count, mut peak, mut last) = (0.0, 0.0, 0.0f64, u64::MAX);
        while !hybrid.is_over() {
            hybrid.tick();
            let Some(plant) = hybrid.two_rates() else { break };
            let tick = plant.state_tick();
            if tick == last {
                continue;
            }
            last = tick;
            let error = 100.0
                * (plant.displacement()[self.observed] - reference[tick as usize]).abs()
                / greatest;
            if error.is_nan() || error > GIVEN_UP_PERCENT {
                return Ok(None);
            }
            sum += error * error;
            count += 1.0;
            peak = peak.max(error);
        }
        Ok(hybrid.tripped().is_none().then(|| Deviation { rms: f64::sqrt(sum / count), peak }))
    }

    /// Share of its period that the main loop computes, %, measured on this
    /// machine now.
    pub fn load_percent(&self, rates: Rates) -> Result<Option<f64>, Error> {
        let rig = Rig::Known;
        let mut assembly =
            self.assembly(rates, self.inverse(rig, DerivativeSource::Motion), rig)?;
        assembly.ticks = assembly.ticks.min(20_000);
        let mut plant = assembly.plant()?;
        let Numerical::TwoRate(two) = &mut plant.numerical else { return Ok(None) };
        let Some(mut main) = two.detach_main() else { return Ok(None) };
        let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
        let mut hybrid = assembly.hybrid_loop(plant, assembly.load(), options);
        let mut steps_s = Vec::with_capacity(assembly.ticks / rates.ratio + 1);
        while !hybrid.is_over() {
            hybrid.tick();
            if main.backlog() < rates.ratio.min(hybrid.ticks() as usize) {
                continue;
            }
            let start = Instant::now();
            if main.poll() == MainState::Stepped {
                steps_s.push(start.elapsed().as_secs_f64());
            }
        }
        // The median: what else the machine does is not the main loop's.
        steps_s.sort_by(f64::total_cmp);
        let middle = steps_s.get(steps_s.len() / 2);
        let period_s = rates.ratio as f64 * assembly.integrator.step_s;
        Ok(middle.map(|step_s| 100.0 * step_s / period_s))
    }

    fn assembly(&self, rates: Rates, design: Design, rig: Rig) -> Result<Assembly, Error> {
        let mut assembly = self.assembly.clone();
        // The specimen alone follows at once: there is no hold to lead over.
        let lead = if rig == Rig::Numerical { Lead::None } else { rates.lead };
        assembly.rates = Some(Rates { lead, ..rates });
        let samples = if rig == Rig::Late { 2e-3 / assembly.integrator.step_s } else { 0.0 };
        assembly.transfer_system = match rig {
            Rig::Numerical => TransferSystem::Ideal,
            _ => TransferSystem::TransferFunction { function: self.function.clone(), samples },
        };
        if rig == Rig::Noisy {
            assembly.sensors.displacement_noise.fill(3.33e-4 * 0.0254);
            // 1.53 lb.
            assembly.sensors.force_noise.fill(1.53 * 4.448_221_615);
        }
        let design = if rig == Rig::Numerical { Design::None } else { design };
        assembly.set_compensator(design, &ShapingDesign::default())?;
        Ok(assembly)
    }
}
