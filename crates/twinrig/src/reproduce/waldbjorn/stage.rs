//! The closed loops of Waldbjørn et al. at two rates: the paper's chain beside
//! the default one.

use std::time::Instant;

use runtime::numerical::Numerical;
use runtime::reference::Reference;
use runtime::two_rate::MainState;

use super::{INCH_M, NOISE_M, function_of};
use crate::assembly::{Assembly, LoopOptions, Recording};
use crate::error::Error;
use crate::test::Test;

/// Peak of the shared boundary, m.
const PEAK_M: f64 = 0.15 * INCH_M;
/// Noise of the paper's load cell: 1.53 lb.
const NOISE_N: f64 = 1.53 * 4.448_221_615;
/// A loop that is so far off is unstable.
const GIVEN_UP_PERCENT: f64 = 1e4;
/// The paper's calibrated lead of the first-order compensator.
pub(super) const ALPHA: f64 = 17.9;

/// A structure with its reference response, its load scaled to the paper's peak.
pub struct Stage {
    test: Test,
    /// Peak of the shared boundary before the load was scaled.
    unscaled_m: f64,
    reference: Reference,
    /// Task time of the main loop, ticks.
    task_ticks: usize,
    /// α of the paper's first-order compensator (eq 2); without it the paper takes the
    /// inverse of third order (eq 3).
    alpha: Option<f64>,
}

/// What is between main loop and command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// The paper's: three displacements back, two stages, the force held, differences.
    Paper,
    /// The default with a predictor of this kind.
    Default(&'static str),
}

impl Chain {
    /// The paper's and the default one, with their names in rows.
    pub(super) const BOTH: [(&str, Self); 2] =
        [("paper", Self::Paper), ("ours", Self::Default("hermite"))];
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
    /// Scales the load of a test and computes the reference.
    pub(super) fn new(test: Test, task_ticks: usize, alpha: Option<f64>) -> Result<Self, Error> {
        let response = |assembly: &Assembly| assembly.reference(&assembly.load());
        let unscaled = response(test.assembly()?)?.interface.swap_remove(0);
        let unscaled_m = unscaled.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        if unscaled_m == 0.0 || !unscaled_m.is_finite() {
            return Err(Error::NoMotion);
        }
        let reference = response(&scaled(&test, unscaled_m)?)?;
        Ok(Self { test, unscaled_m, reference, task_ticks, alpha })
    }

    /// The models at two rates.
    fn assembly(&self, ratio: usize, chain: Chain, rig: Rig) -> Result<Assembly, Error> {
        let rest = match chain {
            Chain::Paper => {
                "force = \"last\", lead = \"none\", predictor = { kind = \"lagrange\", \
                 stages = \"two\" }"
                    .to_owned()
            }
            Chain::Default(kind) => format!("predictor = {{ kind = \"{kind}\" }}"),
        };
        // A task cannot take longer than its period.
        let task_ticks = self.task_ticks.min(ratio);
        let main_loop =
            format!("{{ ratio = {ratio}, task_ticks = {task_ticks}, bridge = 0, {rest} }}");
        let mut values = vec![("main_loop", main_loop)];
        if rig == Rig::Numerical {
            values.push(("transfer_system", "{ kind = \"ideal\" }".to_owned()));
        } else {
            values.push(("compensator", self.compensator(chain, rig)?));
        }
        if rig == Rig::Late {
            values.push(("transfer_system.delay", "2 ms".to_owned()));
        }
        if rig == Rig::Noisy {
            values.push(("sensors.displacement_noise", format!("{NOISE_M} m")));
            values.push(("sensors.force_noise", format!("{NOISE_N} N")));
        }
        scaled(&self.test.clone().with_values(values)?, self.unscaled_m)
    }

    fn compensator(&self, chain: Chain, rig: Rig) -> Result<String, Error> {
        let assembly = self.test.assembly()?;
        let [gain, lead] = if rig == Rig::Mistaken { [1.02, 0.9] } else { [1.0, 1.0] };
        if let (Chain::Paper, Some(alpha)) = (chain, self.alpha) {
            let lead_s = lead * (alpha - 1.0) * assembly.integrator.step_s;
            return Ok(format!(
                "{{ kind = \"first_order\", gain = {gain}, lead = \"{lead_s} s\" }}"
            ));
        }
        // The inverse of the transfer system: b0 c = a0 x + a1 ẋ + a2 ẍ + x⃛.
        let function = function_of(assembly)?;
        let below = function.numerator().last().copied().unwrap_or(1.0);
        let mut coefficients: Vec<f64> =
            function.denominator().iter().rev().map(|a| gain * (a / below)).collect();
        coefficients[1] *= lead;
        let derivatives = if chain == Chain::Paper { "differences" } else { "motion" };
        Ok(format!(
            "{{ kind = \"inverse\", coefficients = {coefficients:?}, \
             derivatives = \"{derivatives}\" }}"
        ))
    }

    /// One whole run; `None` if it does not stay bounded. The displacement of the last
    /// DOF is compared.
    pub fn run(&self, ratio: usize, chain: Chain, rig: Rig) -> Result<Option<Deviation>, Error> {
        let assembly = self.assembly(ratio, chain, rig)?;
        let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
        let mut hybrid = assembly.hybrid_loop(assembly.plant()?, assembly.load(), options);
        let observed = self.reference.displacement.len() - 1;
        let reference = &self.reference.displacement[observed];
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
            let error = 100.0 * (plant.displacement()[observed] - reference[tick as usize]).abs()
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
    pub(super) fn load_percent(&self, ratio: usize, chain: Chain) -> Result<Option<f64>, Error> {
        let assembly = self.assembly(ratio, chain, Rig::Known)?;
        let mut plant = assembly.plant()?;
        let Numerical::TwoRate(two) = &mut plant.numerical else { return Ok(None) };
        let Some(mut main) = two.detach_main() else { return Ok(None) };
        let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
        let mut hybrid = assembly.hybrid_loop(plant, assembly.load(), options);
        let mut steps_s = Vec::new();
        while hybrid.ticks() < 20_000 && !hybrid.is_over() {
            hybrid.tick();
            if main.backlog() < ratio.min(hybrid.ticks() as usize) {
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
        let period_s = ratio as f64 * assembly.integrator.step_s;
        Ok(middle.map(|step_s| 100.0 * step_s / period_s))
    }
}

/// The models of a test under its load, scaled to the paper's peak.
fn scaled(test: &Test, unscaled_m: f64) -> Result<Assembly, Error> {
    let mut assembly = test.assembly()?.clone();
    for signal in &mut assembly.loads {
        signal.samples = signal.samples.iter().map(|s| s * PEAK_M / unscaled_m).collect();
    }
    Ok(assembly)
}
