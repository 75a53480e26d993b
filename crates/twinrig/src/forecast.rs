//! What can be said about a test before it runs.

use std::f64::consts::TAU;
use std::sync::Arc;

use analysis::critical_delay::{CriticalDelay, critical_delay_by};
use analysis::delay_stability::delay_system;
use analysis::loop_stability::compensators::{
    Trial, as_learnt, as_started, transfer_delay_s, try_all,
};
use analysis::loop_stability::modes::{Motion, OwnModes, TrueMode, follow, own_modes};
use analysis::loop_stability::{
    Curve, Follow, Joint, LoopDescription, LoopError, LoopMode, Margins, OpenLoop, StructureModes,
    TwoRateLoop, as_one, growing, margins, unstable_rig,
};
use model::compensator::Design;
use model::predictor::Design as Predictor;
use model::rates::Rates;
use serde::Serialize;

use crate::assembly::{Assembly, Coupling};
use crate::error::Error;
use crate::words::motion_words;

/// A mode of the whole structure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mode {
    /// Natural frequency; zero of a structure without support that moves as a
    /// rigid body.
    pub frequency_hz: f64,
    /// Ratio of critical damping; NaN of a rigid body.
    pub damping_ratio: f64,
}

impl Mode {
    /// Whether the structure moves as a rigid body.
    pub fn is_rigid(&self) -> bool {
        self.frequency_hz == 0.0
    }
}

/// Whether the loop will be stable.
#[derive(Debug, Clone, PartialEq)]
pub enum Stability {
    /// From the loop gain of the loop as it runs, nonlinear elements at their
    /// initial stiffness.
    Linear(Dominant),
    /// From what a period of the main loop makes of every state of the loop.
    TwoRates(TwoRates),
    /// Rig and structure move as one: as stable as the integrated structure.
    Rigid(Dominant),
    /// Nothing can be said without running it.
    Unknown(String),
}

/// The slowest-decaying motion of a loop; its numbers are none (NaN) where only
/// the count of growing motions is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Dominant {
    /// Growing motions of the loop, a pair counted twice; none: stable.
    #[serde(skip)]
    pub growing: usize,
    /// What one period multiplies it by; grows above 1.
    pub radius: f64,
    /// Its growth rate, 1/s; negative decays.
    pub growth_1_s: f64,
    /// Its frequency, Hz.
    pub frequency_hz: f64,
    /// Its damping ratio; negative grows.
    pub damping_ratio: f64,
    /// The mode of the structure it belongs to, from 1.
    pub mode: Option<usize>,
}

/// What the map over a period of a loop at two rates says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TwoRates {
    /// The slowest-decaying motion.
    #[serde(skip)]
    pub dominant: Dominant,
    /// Further delay of the force, in whole ticks, that a stable loop bears, where
    /// it was asked for and the loop loses its stability within what was tried.
    pub delay_margin_s: Option<f64>,
    /// Whether compensator or predictor adapt, and are taken as they will have learnt.
    #[serde(rename = "as_learnt")]
    pub learnt: bool,
    /// The modes of the structure in the loop, where they were asked for.
    #[serde(skip)]
    pub modes: Vec<LoopMode>,
    /// Its gain, where it was asked for and the loop is not too large.
    #[serde(skip)]
    pub gain: Option<Box<LoopGain>>,
}

/// The gain of a loop at two rates, from period to period.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopGain {
    /// The loop, with what adapts as it will have learnt.
    pub description: LoopDescription,
    /// How its loops go together.
    pub rates: Rates,
    /// Margins of gain and phase.
    pub margins: Margins,
    /// For a picture.
    pub curve: Curve,
}

impl LoopGain {
    fn of(
        joined: &TwoRateLoop<'_>,
        description: &LoopDescription,
        rates: &Rates,
    ) -> Result<Option<Self>, LoopError> {
        let Some(open) = joined.open_loop()? else { return Ok(None) };
        let curve = Curve::follow(&open)?;
        let margins = TwoRateLoop::margins(&open, &curve)?;
        Ok(Some(Self { description: description.clone(), rates: *rates, margins, curve }))
    }
}

/// What the loop gain says.
#[derive(Debug, Clone, PartialEq)]
pub struct Examined {
    /// The loop; an adaptive compensator as it will have learnt, or as it starts where
    /// there is nothing to learn from.
    pub description: LoopDescription,
    /// How far from the boundary.
    pub margins: Margins,
    /// Each mode of the structure in the loop.
    pub motions: Follow,
    /// The least damped of all motions and its mode, where all that grow were
    /// found.
    pub least_damped: Option<(Motion, Option<usize>)>,
    /// The loop with other compensators.
    pub trials: Vec<Trial>,
    /// The loop as an adaptive compensator starts, if it has one that learns.
    pub started: Option<Trial>,
    /// The loop gain, for a picture.
    pub curve: Curve,
}

/// What can be said before the test.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The first modes of the whole structure, lowest first.
    pub modes: Vec<Mode>,
    /// Motions of the whole structure without frequency, for want of support.
    pub rigid_bodies: usize,
    /// Samples per cycle of the fastest mode.
    pub samples_per_cycle: f64,
    /// Whether the loop will be stable.
    pub stability: Stability,
    /// What the loop gain says beyond that, where there is one.
    pub examined: Option<Box<Examined>>,
    /// The compensator as declared.
    pub compensator: Design,
    /// Whether every element is linear; if not, stability is that of small motions.
    pub linear: bool,
    /// The delay at which a loop with nothing but a delay would not be stable.
    pub critical_delay: Option<CriticalDelay>,
    /// The same by Gao & You's first-order series, for comparison; of small structures.
    pub estimate_s: Option<f64>,
    /// The motion by which the transfer system runs away by itself, if it does.
    pub unstable_rig: Option<Motion>,
    /// The delay the transfer system has at the frequency that matters.
    pub delay_s: f64,
    /// Period of the loop, s.
    pub step_s: f64,
}

/// Most modes that are listed.
const MODES: usize = 12;
/// Up to this many DOFs every mode is followed into the loop; of larger
/// structures those that are listed.
const SMALL: usize = 40;
/// Other compensators are tried for structures up to this size.
const TRIED: usize = 60;
/// Most states of a structure whose critical delay is estimated, and how far beyond the exact
/// one it is looked for.
const ESTIMATED: usize = 24;
const LONGEST: f64 = 4.0;
/// Frequencies below this part of the highest are those of rigid bodies.
const RIGID: f64 = 1e-6;
/// Ratios of critical damping below this are none.
const NEUTRAL: f64 = 1e-6;

/// Whether other compensators are tried beside the declared one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Yes, where the structure is small enough.
    Tried,
    /// No: the loop as declared alone.
    Left,
}

impl Forecast {
    /// Examines an assembly.
    pub fn new(assembly: &Assembly, others: Others) -> Result<Self, Error> {
        let own = own_modes(&assembly.substructures.whole.linearised())?;
        let fastest_hz = own.natural.iter().map(|(omega, _)| *omega).fold(0.0, f64::max) / TAU;
        let mut listed: Vec<Mode> = own
            .natural
            .iter()
            .map(|&(omega, damping_ratio)| match omega / TAU {
                // A motion without frequency comes out of rounding with some.
                hertz if hertz < RIGID * fastest_hz => {
                    Mode { frequency_hz: 0.0, damping_ratio: f64::NAN }
                }
                frequency_hz => Mode { frequency_hz, damping_ratio },
            })
            .collect();
        // Damping that couples the modes moves them: what oscillates is an eigenvalue.
        for TrueMode { number, motion } in &own.oscillating {
            let (frequency_hz, damping_ratio) = (motion.frequency_hz(), motion.damping_ratio());
            listed[number - 1] = Mode { frequency_hz, damping_ratio };
        }
        let description = describe(assembly);
        let structures = Structures::new(own, &description);
        let critical_delay = structures.critical_delay(&description);
        let matters_hz = structures.matters_hz(critical_delay.as_ref());
        let asked = if others == Others::Tried { Asked::Others } else { Asked::Margins };
        let (stability, examined) = judge(assembly, &description, &structures, matters_hz, asked);
        Ok(Self {
            rigid_bodies: listed.iter().filter(|mode| mode.is_rigid()).count(),
            modes: listed.into_iter().take(MODES).collect(),
            samples_per_cycle: 1.0 / (assembly.integrator.step_s * fastest_hz),
            stability,
            examined: examined.map(Box::new),
            compensator: assembly.design.clone(),
            linear: assembly.substructures.whole.elements.is_empty(),
            estimate_s: critical_delay
                .filter(|_| others == Others::Tried)
                .and_then(|critical| estimate_s(assembly, &critical)),
            unstable_rig: unstable_rig(&description),
            critical_delay,
            delay_s: transfer_delay_s(&description, matters_hz),
            step_s: assembly.integrator.step_s,
        })
    }

    /// The modes of the structure in the loop, where they were followed.
    pub fn followed(&self) -> Option<&[LoopMode]> {
        match &self.stability {
            Stability::TwoRates(found) => Some(Vec::as_slice(&found.modes)),
            _ => self.examined.as_ref().map(|examined| &*examined.motions.modes),
        }
        .filter(|modes| !modes.is_empty())
    }

    /// The gain of a loop at two rates, where it was followed.
    pub fn period_gain(&self) -> Option<&LoopGain> {
        match &self.stability {
            Stability::TwoRates(found) => found.gain.as_deref(),
            _ => None,
        }
    }

    /// Whether instability is predicted.
    pub fn is_unstable(&self) -> bool {
        self.stability.dominant().is_some_and(|dominant| dominant.growing > 0)
    }
}

impl Stability {
    /// The slowest-decaying motion, where something can be said.
    pub fn dominant(&self) -> Option<&Dominant> {
        match self {
            Self::Linear(dominant) | Self::Rigid(dominant) => Some(dominant),
            Self::TwoRates(found) => Some(&found.dominant),
            Self::Unknown(_) => None,
        }
    }
}

/// Gao & You's estimate of a critical delay.
fn estimate_s(assembly: &Assembly, critical: &CriticalDelay) -> Option<f64> {
    let whole = assembly.substructures.whole.linearised();
    if critical.delay_s <= 0.0 || whole.state_count() > ESTIMATED {
        return None;
    }
    let system = delay_system(&whole, &assembly.partition).ok()?;
    system.equivalent_critical_s(LONGEST * critical.delay_s)
}

/// Whether a motion neither grows nor decays.
pub fn is_neutral(motion: Motion) -> bool {
    motion.damping_ratio().abs() < NEUTRAL
}

/// The stability of the loop of an assembly, with the motion that decides.
pub fn stability(assembly: &Assembly) -> Stability {
    let description = describe(assembly);
    let own = match own_modes(&assembly.substructures.whole.linearised()) {
        Ok(own) => own,
        Err(error) => return Stability::Unknown(error.to_string()),
    };
    let structures = Structures::new(own, &description);
    // Only what adapts is judged at a frequency.
    let adapts = description.compensator.is_adaptive();
    let critical = if adapts { structures.critical_delay(&description) } else { None };
    let matters_hz = structures.matters_hz(critical.as_ref());
    judge(assembly, &description, &structures, matters_hz, Asked::Verdict).0
}

/// Whether the loop of an assembly is stable, and nothing else about it.
pub fn stable_or_not(assembly: &Assembly) -> Stability {
    let description = describe(assembly);
    if assembly.rates.is_some() || description.compensator.is_adaptive() {
        return stability(assembly);
    }
    match growing(&description) {
        Ok(count) => Stability::Linear(Dominant::new(count, None, description.integrator.step_s)),
        Err(LoopError::NoLoop) => rigid(assembly),
        Err(error) => Stability::Unknown(error.to_string()),
    }
}

/// What every question shares: the modes of the whole structure that are followed,
/// and the motions of what is simulated.
struct Structures {
    truth: Vec<TrueMode>,
    simulated: Result<Option<Arc<StructureModes>>, LoopError>,
}

impl Structures {
    fn new(own: OwnModes, description: &LoopDescription) -> Self {
        let mut truth = own.oscillating;
        if truth.len() > SMALL {
            truth.truncate(MODES);
        }
        Self { truth, simulated: StructureModes::of(&description.numerical) }
    }

    /// The frequency for which compensators are designed: that at which the loop becomes
    /// unstable first, else that of the first mode.
    fn matters_hz(&self, critical: Option<&CriticalDelay>) -> f64 {
        let first_hz = self.truth.first().map_or(1.0, |mode| mode.motion.frequency_hz());
        let critical_hz = critical.map(|critical| critical.frequency_hz);
        critical_hz.filter(|hertz| hertz.is_finite()).unwrap_or(first_hz)
    }

    /// That of a loop with nothing but a delay.
    fn critical_delay(&self, description: &LoopDescription) -> Option<CriticalDelay> {
        let LoopDescription { numerical, specimen, inside, .. } = description;
        let simulated = self.simulated.as_ref().ok()?.as_deref();
        critical_delay_by(numerical, specimen, inside.as_ref(), simulated).ok().flatten()
    }
}

/// The loop of an experiment, nonlinear elements at their initial stiffness.
pub fn describe(assembly: &Assembly) -> LoopDescription {
    LoopDescription {
        numerical: assembly.substructures.numerical.linearised(),
        specimen: assembly.partition.specimen.linearised(),
        inside: assembly.partition.inside.clone(),
        integrator: assembly.integrator.clone(),
        transfer_system: assembly.transfer_system.clone(),
        compensator: assembly.design.clone(),
        shaping: assembly.shaping,
        force_delay: assembly.sensors.force_delay,
        joint: match assembly.coupling {
            Coupling::Held => Joint::Held,
            Coupling::Continuous => Joint::Continuous,
        },
        extra_delay_s: 0.0,
    }
}

/// How much is asked of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Asked {
    /// Whether it is stable.
    Verdict,
    /// What it bears, too.
    Margins,
    /// What other compensators would make of it, too.
    Others,
}

/// `design_hz` is the frequency for which compensators are designed.
fn judge(
    assembly: &Assembly,
    description: &LoopDescription,
    structures: &Structures,
    design_hz: f64,
    asked: Asked,
) -> (Stability, Option<Examined>) {
    if let Some(rates) = &assembly.rates {
        let truth = (asked >= Asked::Margins).then_some(&*structures.truth);
        let drawn = asked == Asked::Others;
        let found = at_two_rates(description, rates, design_hz, truth, drawn);
        return (found.unwrap_or_else(|error| Stability::Unknown(error.to_string())), None);
    }
    match examine(description, structures, design_hz, asked == Asked::Others) {
        Ok(examined) => (judged(&examined, description.integrator.step_s), Some(examined)),
        Err(LoopError::NoLoop) => (rigid(assembly), None),
        Err(error) => (Stability::Unknown(error.to_string()), None),
    }
}

/// The loop with a fixed compensator: an adaptive one as it will have learnt and, where
/// that differs, as it starts. A rig that moves at once has nothing to learn from.
fn fixed(declared: &LoopDescription, design_hz: f64) -> (LoopDescription, Option<LoopDescription>) {
    let with = |compensator: Design| LoopDescription { compensator, ..declared.clone() };
    let started = with(as_started(&declared.compensator));
    match as_learnt(declared, design_hz) {
        Some(learnt) if declared.compensator.is_adaptive() => (with(learnt), Some(started)),
        _ => (started, None),
    }
}

/// What adapts is judged as it will have learnt, a predictor then being exact. The modes of
/// the structure are followed into the loop, and its margin is sought, where they are given; the
/// loop gain is followed where it is to be `drawn`.
fn at_two_rates(
    declared: &LoopDescription,
    rates: &Rates,
    design_hz: f64,
    truth: Option<&[TrueMode]>,
    drawn: bool,
) -> Result<Stability, LoopError> {
    let step_s = declared.integrator.step_s;
    let mut rates = *rates;
    let (description, started) = fixed(declared, design_hz);
    let mut learnt = started.is_some();
    if let Predictor::Adaptive { .. } = rates.predictor {
        (rates.predictor, learnt) = (Predictor::ModelBased, true);
    }
    let joined = TwoRateLoop::new(&description, &rates)?;
    let (growing, motion) = joined.dominant()?;
    if let Some(started) = started.filter(|_| growing == 0)
        && let (1.., motion) = TwoRateLoop::new(&started, &rates)?.dominant()?
    {
        return Ok(unstable_as_it_starts(motion));
    }
    let margin = match truth {
        Some(_) if growing == 0 => joined.delay_margin_ticks()?,
        _ => None,
    };
    let modes = truth.map_or(Ok(Vec::new()), |truth| joined.follow(truth, 0))?;
    // What is not known of its gain takes nothing from the verdict.
    let gain =
        if drawn { LoopGain::of(&joined, &description, &rates).ok().flatten() } else { None };
    Ok(Stability::TwoRates(TwoRates {
        dominant: Dominant::new(growing, motion.map(|motion| (motion, None)), step_s),
        delay_margin_s: margin.map(|ticks| ticks as f64 * step_s),
        learnt,
        modes,
        gain: gain.map(Box::new),
    }))
}

/// A loop that is stable once its compensator has learnt.
fn unstable_as_it_starts(motion: Option<Motion>) -> Stability {
    let grows = motion
        .filter(|motion| motion.growth_1_s() > 0.0)
        .map(|motion| format!(" ({} grows)", motion_words(motion.oscillates_at_hz(), None)));
    Stability::Unknown(format!(
        "unstable with the initial parameters of the adaptive compensator{}, stable after \
         convergence: rehearse whether it converges in time",
        grows.unwrap_or_default()
    ))
}

/// Structure and specimen moved as one.
fn rigid(assembly: &Assembly) -> Stability {
    match as_one(&assembly.substructures.whole, &assembly.integrator) {
        Ok((growing, slowest)) => {
            let known = slowest.map(|motion| (motion, None));
            Stability::Rigid(Dominant::new(growing, known, assembly.integrator.step_s))
        }
        Err(error) => Stability::Unknown(error.to_string()),
    }
}

fn examine(
    declared: &LoopDescription,
    structures: &Structures,
    design_hz: f64,
    tries: bool,
) -> Result<Examined, LoopError> {
    let truth = &structures.truth;
    let (description, started) = fixed(declared, design_hz);
    let simulated = match description.joint {
        Joint::Held => structures.simulated.clone()?,
        Joint::Continuous => None,
    };
    let open = OpenLoop::sampled_by(&description, simulated.as_deref())?;
    let started =
        started.map(|first| Trial::of("as it starts", &open, &first, truth)).transpose()?;
    let curve = Curve::follow(&open)?;
    let margins = margins::margins(&open, &curve)?;
    let motions = follow(&open, &curve, truth)?;
    let small = truth.len() <= TRIED && description.joint == Joint::Held;
    let trials = match tries && small {
        true => try_all(&open, &description, truth, design_hz)?,
        false => Vec::new(),
    };
    let least_damped = motions.least_damped_among(&curve);
    Ok(Examined { description, margins, motions, least_damped, trials, started, curve })
}

fn judged(examined: &Examined, step_s: f64) -> Stability {
    let Examined { margins, motions, started, curve, .. } = examined;
    if let Some(started) = started.as_ref().filter(|started| !started.verdict.is_stable())
        && margins.verdict.growing == 0
    {
        return unstable_as_it_starts(started.dominant.map(|(motion, _)| motion));
    }
    // What is found must be all that is counted, or it is not told.
    let known = motions.dominant_among(curve);
    Stability::Linear(Dominant::new(margins.verdict.growing, known, step_s))
}

impl Dominant {
    fn new(growing: usize, known: Option<(Motion, Option<usize>)>, step_s: f64) -> Self {
        let nan = Motion { exponent: nalgebra::Complex::new(f64::NAN, f64::NAN) };
        let (motion, mode) = known.unwrap_or((nan, None));
        Self {
            growing,
            radius: (motion.growth_1_s() * step_s).exp(),
            growth_1_s: motion.growth_1_s(),
            frequency_hz: motion.oscillates_at_hz(),
            damping_ratio: motion.damping_ratio(),
            mode,
        }
    }

    /// Whether more is known than the count of growing motions.
    pub fn is_known(&self) -> bool {
        self.growth_1_s.is_finite()
    }
}
