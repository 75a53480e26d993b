//! The free decay of a loop after a push: for loops that have no loop gain, such
//! as those with two rates.
//!
//! The very loop is stepped, without load, noise, limits, faults and rehearsed
//! step times. That is no approximation of the loop, but of its slowest motion:
//! growth and frequency are read off the last part of a finite run.

use std::f64::consts::TAU;

use analysis::loop_stability::modes::own_modes;
use model::transfer::TransferSystem;
use runtime::monitor::WatchPlan;

use crate::assembly::{Assembly, LoopOptions, Recording, SensorValues};

/// What a free decay shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FreeDecay {
    /// Growth rate of the motion that is left at the end, 1/s; negative decays.
    pub growth_1_s: f64,
    /// Its frequency, Hz.
    pub frequency_hz: f64,
    /// How long it was watched, s.
    pub watched_s: f64,
    /// Further delay of the transfer system, in whole ticks, that the loop bears,
    /// where it loses its stability within what was tried.
    pub delay_margin_s: Option<f64>,
}

impl FreeDecay {
    /// Whether the motion grows, beyond what so short a run can tell.
    pub fn grows(&self) -> bool {
        self.growth_1_s * self.watched_s > UNCLEAR
    }

    /// Whether neither growth nor decay can be told.
    pub fn is_unclear(&self) -> bool {
        (self.growth_1_s * self.watched_s).abs() <= UNCLEAR
    }

    /// Ratio of critical damping.
    pub fn damping_ratio(&self) -> f64 {
        -self.growth_1_s / (TAU * self.frequency_hz).hypot(self.growth_1_s)
    }
}

/// Changes by less than e to this over the whole run are no verdict.
const UNCLEAR: f64 = 0.2;
/// The run lasts so many periods of the slowest mode, between these bounds.
const PERIODS: f64 = 60.0;
const LONGEST_TICKS: f64 = 150_000.0;
/// Runs spent on the delay margin.
const RUNS: usize = 12;

/// Watches a push die out, or not; the reason where there is none to watch.
pub fn free_decay(assembly: &Assembly) -> Result<FreeDecay, String> {
    if assembly.design.is_adaptive() {
        return Err("two rates and an adaptive compensator are not judged beforehand: rehearse it"
            .to_owned());
    }
    if assembly.loads.is_empty() {
        return Err("without a load there is no push to watch: rehearse it".to_owned());
    }
    watch(assembly, 0)
}

/// The same, and the further delay that a stable loop bears.
pub fn free_decay_with_margin(assembly: &Assembly) -> Result<FreeDecay, String> {
    let mut found = free_decay(assembly)?;
    if !found.grows() && !found.is_unclear() {
        found.delay_margin_s = delay_margin(assembly)?;
    }
    Ok(found)
}

/// The greatest number of further ticks of delay that decays, by doubling and
/// halving; `None` if the loop bears all that is tried.
fn delay_margin(assembly: &Assembly) -> Result<Option<f64>, String> {
    let step_s = assembly.integrator.step_s;
    let (mut good, mut bad) = (0, None);
    for _ in 0..RUNS {
        let next = match bad {
            None if good == 0 => 1,
            None => 2 * good,
            Some(bad) if bad - good <= 1 => break,
            Some(bad) => good + (bad - good) / 2,
        };
        if watch(assembly, next)?.growth_1_s > 0.0 { bad = Some(next) } else { good = next }
    }
    Ok(bad.map(|_| good as f64 * step_s))
}

/// One run with `later` further ticks of delay.
fn watch(assembly: &Assembly, later: usize) -> Result<FreeDecay, String> {
    let step_s = assembly.integrator.step_s;
    let whole = assembly.substructures.whole.linearised();
    let modes = own_modes(&whole).map_err(|error| error.to_string())?;
    let slowest_hz = modes.frequencies_hz().next().unwrap_or(1.0);
    let ticks = (PERIODS / slowest_hz / step_s).clamp(4000.0, LONGEST_TICKS) as usize;
    let quiet = quiet(assembly, ticks, later)?;
    let plant = quiet.plant().map_err(|error| error.to_string())?;
    let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
    let mut hybrid = quiet.hybrid_loop(plant, quiet.load(), options);
    // Two windows of a fifth each, the second at the end.
    let window = ticks / 5;
    let (first, last) = (ticks / 2 - window / 2, ticks - window);
    let (mut sums, mut crossings, mut before) = ([0.0f64; 2], 0usize, 0.0f64);
    for tick in 0..ticks {
        hybrid.tick();
        let x = hybrid.numerical().desired().displacement[0];
        let size: f64 = hybrid.numerical().displacement().iter().map(|x| x * x).sum();
        if hybrid.tripped().is_some() || !size.is_finite() || size > 1e200 {
            // It left the numbers: how fast, the time says.
            let seconds = (tick.max(1)) as f64 * step_s;
            let growth_1_s = 200.0 / seconds;
            let frequency_hz = 0.5 * crossings as f64 / seconds;
            return Ok(FreeDecay {
                growth_1_s,
                frequency_hz,
                watched_s: seconds,
                delay_margin_s: None,
            });
        }
        if (first..first + window).contains(&tick) {
            sums[0] += size;
        } else if tick >= last {
            sums[1] += size;
            crossings += usize::from(x * before < 0.0);
        }
        before = x;
    }
    let apart_s = (last - first) as f64 * step_s;
    let growth_1_s =
        if sums[1] > 0.0 { 0.5 * (sums[1] / sums[0]).ln() / apart_s } else { -1.0 / step_s };
    Ok(FreeDecay {
        growth_1_s,
        frequency_hz: 0.5 * crossings as f64 / (window as f64 * step_s),
        watched_s: ticks as f64 * step_s,
        delay_margin_s: None,
    })
}

/// The loop without anything that would hide its own motion.
fn quiet(assembly: &Assembly, ticks: usize, later: usize) -> Result<Assembly, String> {
    let count = assembly.count();
    let mut quiet = assembly.clone();
    quiet.ticks = ticks;
    quiet.faults.clear();
    quiet.change = None;
    quiet.course = None;
    (quiet.ease_ticks, quiet.stands_at_m, quiet.stream) = (0, 0.0, None);
    quiet.watch = WatchPlan::NOTHING;
    quiet.stop_at = f64::INFINITY;
    quiet.sensors = SensorValues {
        displacement_noise: vec![0.0; count],
        force_noise: vec![0.0; count],
        acceleration_noise: vec![0.0; count],
        displacement_quantum: vec![0.0; count],
        force_quantum: vec![0.0; count],
        force_delay: assembly.sensors.force_delay,
    };
    quiet.converter = model::sensor::Converter { quantum: 0.0, saturation: f64::INFINITY };
    for limit in [
        &mut quiet.limits.command,
        &mut quiet.limits.rate,
        &mut quiet.limits.force,
        &mut quiet.limits.tracking_error,
    ] {
        limit.fill(f64::INFINITY);
    }
    if let Some(rates) = &mut quiet.rates {
        rates.step_time = None;
    }
    let (substructures, partition) = (&mut quiet.substructures, &mut quiet.partition);
    substructures.numerical = substructures.numerical.linearised();
    substructures.whole = substructures.whole.linearised();
    partition.specimen = partition.specimen.linearised();
    quiet.elements.clear();
    match &mut quiet.transfer_system {
        TransferSystem::Delay { samples } | TransferSystem::TransferFunction { samples, .. } => {
            *samples += later as f64;
        }
        TransferSystem::Ideal if later > 0 => {
            quiet.transfer_system = TransferSystem::Delay { samples: later as f64 };
        }
        // The force may come late as well as the motion.
        _ => quiet.sensors.force_delay += later,
    }
    let shaping =
        model::compensator::ShapingDesign { saturation_m: None, rate_m_s: None, ..quiet.shaping };
    let design = quiet.design.clone();
    quiet.set_compensator(design, &shaping).map_err(|error| error.to_string())?;
    // A push within the first periods of the slowest rate, uneven, so that it
    // reaches every mode.
    let ratio = quiet.rates.map_or(1, |rates| rates.ratio);
    let mut push = vec![0.0; ticks + 1];
    for (tick, value) in push.iter_mut().enumerate().take(3 * ratio + 2) {
        *value = 1.0 + (tick % 3) as f64;
    }
    for signal in &mut quiet.loads {
        signal.samples = push.clone().into();
    }
    Ok(quiet)
}
