//! One loop judged and run, and tables of many.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use analysis::loop_stability::compensators::as_started;
use experiment::{Experiment, Folder};
use twinrig::assembly::{Assembly, LoopOptions, Recording};
use twinrig::forecast::{self, Stability, TwoRates};

use super::generator::{Kinds, draw};
use super::growth::{Detail, Motion, Samples};

/// Loops whose slowest motion has less of critical damping than this, either
/// way, are left out.
const NEUTRAL: f64 = 0.0005;
/// Difference of the two growths that counts as none.
const AGREES: f64 = 0.01;
/// A run is watched for this many ticks at first, and for as many at most.
const FIRST_TICKS: usize = 4096;
const MOST_TICKS: usize = 1 << 18;
/// Logarithms of the largest and the smallest motion that is watched.
const LARGEST: f64 = 13.0;
/// From motions as small as this no adaptive compensator learns.
const LARGEST_UNLEARNT: f64 = -25.0;
const SMALLEST: f64 = -650.0;

/// What a comparison gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Verdict and growth are the run's.
    Agrees,
    /// The slowest motion neither grows nor decays.
    Neutral,
    /// Judged stable, and it grows.
    FalseStable,
    /// Judged unstable, and it decays.
    FalseUnstable,
    /// The verdict is right, the growth is not.
    GrowthOff,
    /// The verdict is right, and no growth is given.
    NoGrowth,
    /// No verdict.
    NotPredicted,
    /// The forecast panicked.
    Panicked,
    /// What remains of the run is not understood.
    Unclear,
}

impl Outcome {
    pub fn is_failure(self) -> bool {
        !matches!(self, Self::Agrees | Self::Neutral | Self::Unclear)
    }

    fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Neutral => "neutral, left out",
            Self::FalseStable => "FALSE STABLE",
            Self::FalseUnstable => "FALSE UNSTABLE",
            Self::GrowthOff => "growth off",
            Self::NoGrowth => "no growth",
            Self::NotPredicted => "not predicted",
            Self::Panicked => "panicked",
            Self::Unclear => "run unclear",
        }
    }
}

/// A loop, judged and run.
#[derive(Debug, Clone)]
pub struct Compared {
    pub seed: u64,
    pub file: String,
    pub kinds: Kinds,
    pub judged: Judged,
    pub run: Option<Motion>,
    pub outcome: Outcome,
}

/// What the forecast says.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    Verdict { unstable: bool, growth_1_s: Option<f64> },
    Nothing(String),
    Panicked,
}

/// Draws, judges and runs the loop of a seed.
pub fn compare(seed: u64) -> Compared {
    for attempt in 0.. {
        let drawn = draw(seed, attempt);
        let Ok(assembly) = assemble(&drawn.text) else { continue };
        return compared(seed, drawn.text, drawn.kinds, &assembly);
    }
    unreachable!("some attempt is accepted");
}

/// Judges and runs a loop that was once judged wrongly.
pub fn compare_file(name: &str, text: &str) -> Compared {
    let kinds = Kinds { actuator: name.to_owned(), ..Kinds::default() };
    match assemble(text) {
        Ok(assembly) => compared(0, text.to_owned(), kinds, &assembly),
        Err(reason) => Compared {
            seed: 0,
            file: text.to_owned(),
            kinds,
            judged: Judged::Nothing(reason),
            run: None,
            outcome: Outcome::NotPredicted,
        },
    }
}

/// The models of an experiment file, or why they are refused.
pub fn assemble(text: &str) -> Result<Assembly, String> {
    let folder = Folder::new(".");
    let (experiment, _) =
        Experiment::from_text("loop.toml", text, &folder).map_err(|found| found.to_string())?;
    Assembly::new(&experiment, &folder).map(|(assembly, _)| assembly).map_err(|e| e.to_string())
}

pub fn compared(seed: u64, file: String, kinds: Kinds, assembly: &Assembly) -> Compared {
    let judged = judge(assembly);
    let run = run(assembly);
    let outcome = outcome(&judged, run);
    Compared { seed, file, kinds, judged, run, outcome }
}

/// An adaptive compensator learns nothing from so small a motion: its run is
/// compared with the loop as it starts, and a verdict "stable" must hold for both.
fn judge(assembly: &Assembly) -> Judged {
    let declared = judged(assembly);
    if !assembly.design.is_adaptive() {
        return declared;
    }
    let mut started = assembly.clone();
    let (design, shaping) = (as_started(&assembly.design), assembly.shaping);
    started.set_compensator(design, &shaping).expect("as the declared one");
    match (judged(&started), declared) {
        (started @ Judged::Verdict { unstable: true, .. }, Judged::Nothing(_)) => started,
        (Judged::Verdict { unstable: false, growth_1_s }, Judged::Verdict { .. }) => {
            Judged::Verdict { unstable: false, growth_1_s }
        }
        (Judged::Verdict { growth_1_s, .. }, Judged::Verdict { unstable, .. }) => {
            Judged::Verdict { unstable, growth_1_s }
        }
        (_, declared) => declared,
    }
}

fn judged(assembly: &Assembly) -> Judged {
    let stability = catch_unwind(AssertUnwindSafe(|| forecast::stability(assembly)));
    match stability {
        Err(_) => Judged::Panicked,
        Ok(
            Stability::Linear(dominant)
            | Stability::Rigid(dominant)
            | Stability::TwoRates(TwoRates { dominant, .. }),
        ) => Judged::Verdict {
            unstable: dominant.growing > 0,
            growth_1_s: dominant.is_known().then_some(dominant.growth_1_s),
        },
        Ok(Stability::Unknown(reason)) => Judged::Nothing(reason),
    }
}

fn outcome(judged: &Judged, run: Option<Motion>) -> Outcome {
    let Some(run) = run else { return Outcome::Unclear };
    if run.damping_ratio().abs() < NEUTRAL {
        return Outcome::Neutral;
    }
    match judged {
        Judged::Panicked => Outcome::Panicked,
        Judged::Nothing(_) => Outcome::NotPredicted,
        Judged::Verdict { unstable: false, .. } if run.growth_1_s > 0.0 => Outcome::FalseStable,
        Judged::Verdict { unstable: true, .. } if run.growth_1_s < 0.0 => Outcome::FalseUnstable,
        Judged::Verdict { growth_1_s: None, .. } => Outcome::NoGrowth,
        Judged::Verdict { growth_1_s: Some(growth), .. } => {
            let off = (growth - run.growth_1_s).abs() / run.growth_1_s.abs();
            if off <= AGREES { Outcome::Agrees } else { Outcome::GrowthOff }
        }
    }
}

/// The loop itself, after a push: the motion that remains.
fn run(assembly: &Assembly) -> Option<Motion> {
    let options = LoopOptions { constant_j: 1.0, recording: Recording::Off };
    let mut hybrid = assembly.hybrid_loop(assembly.plant().ok()?, assembly.load(), options);
    let mut samples = Samples {
        step_s: assembly.integrator.step_s,
        period: assembly.rates.map_or(1, |rates| rates.ratio),
        ..Samples::default()
    };
    let largest = if assembly.design.is_adaptive() { LARGEST_UNLEARNT } else { LARGEST };
    let mut row = Vec::new();
    let mut watched = FIRST_TICKS;
    loop {
        let mut over = false;
        while samples.rows() < watched && !over {
            hybrid.tick();
            row.clear();
            row.extend_from_slice(hybrid.source().numerical.displacement());
            row.extend_from_slice(&hybrid.source().numerical.desired().displacement);
            row.extend_from_slice(&hybrid.measured().displacement);
            let size = row.iter().fold(0.0f64, |most, value| most.max(value.abs())).ln();
            let pushed = samples.rows() > 8 * samples.period;
            over = hybrid.tripped().is_some()
                || row.iter().any(|value| !value.is_finite())
                || size >= largest
                || (pushed && size < SMALLEST);
            if !over {
                samples.push(&row);
            }
        }
        if let Some(found) = samples.slowest(Detail::COARSE) {
            return Some(found);
        }
        if over || watched >= MOST_TICKS {
            return samples.slowest(Detail::FINE);
        }
        watched *= 2;
    }
}

impl Compared {
    /// Relative difference of the two growths, where verdict and growth agree.
    fn growth_off(&self) -> Option<f64> {
        match (&self.judged, self.run) {
            (Judged::Verdict { growth_1_s: Some(growth), .. }, Some(run))
                if self.outcome == Outcome::Agrees =>
            {
                Some((growth - run.growth_1_s).abs() / run.growth_1_s.abs())
            }
            _ => None,
        }
    }

    /// One line about it.
    pub fn line(&self) -> String {
        let judged = match &self.judged {
            Judged::Verdict { unstable, growth_1_s } => format!(
                "check {}, {}",
                if *unstable { "unstable" } else { "stable" },
                growth_1_s.map_or("no growth".to_owned(), |growth| format!("{growth:+.5} 1/s"))
            ),
            Judged::Nothing(reason) => format!("check: {reason}"),
            Judged::Panicked => "check panicked".to_owned(),
        };
        let run = self.run.map_or("run unclear".to_owned(), |run| {
            format!(
                "run {:+.5} 1/s at {:.4} Hz, {:.4} % of critical",
                run.growth_1_s,
                run.frequency_hz,
                100.0 * run.damping_ratio()
            )
        });
        let Kinds { actuator, compensator, integrator, rates, features } = &self.kinds;
        format!(
            "seed {}: {}; {judged}; {run} [{actuator} | {compensator} | {integrator} | {rates} | {}]",
            self.seed,
            self.outcome.words(),
            features.join(", ")
        )
    }
}

/// Every loop that does not agree, a line each.
pub fn list(all: &[Compared]) -> String {
    let mut text = String::new();
    for compared in all.iter().filter(|c| c.outcome.is_failure() || c.outcome == Outcome::Unclear) {
        let _ = writeln!(text, "- {}", compared.line());
    }
    text
}

/// Counts by everything that was drawn.
pub fn table(all: &[Compared]) -> String {
    let mut text = String::new();
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    for compared in all {
        *counts.entry(compared.outcome).or_default() += 1;
    }
    let unstable = all.iter().filter(|c| c.run.is_some_and(|run| run.growth_1_s > 0.0)).count();
    let _ = writeln!(text, "\n{} loops, {unstable} of them unstable", all.len());
    for (outcome, count) in &counts {
        let _ = writeln!(text, "{count:6} {}", outcome.words());
    }
    let mut off: Vec<f64> = all.iter().filter_map(Compared::growth_off).collect();
    off.sort_by(f64::total_cmp);
    for share in [0.5, 0.9, 0.99, 1.0] {
        let at = ((off.len() as f64 * share) as usize).min(off.len().saturating_sub(1));
        let _ = writeln!(
            text,
            "growth off by at most {:.1e} in {share} of those that agree",
            off.get(at).unwrap_or(&f64::NAN)
        );
    }
    type Names = fn(&Kinds) -> Vec<String>;
    let groups: [(&str, Names); 6] = [
        ("actuator", |kinds| vec![kinds.actuator.clone()]),
        ("compensator", |kinds| vec![kinds.compensator.clone()]),
        ("integrator", |kinds| vec![kinds.integrator.clone()]),
        ("rates", |kinds| vec![kinds.rates.clone()]),
        ("feature", |kinds| kinds.features.iter().map(|f| (*f).to_owned()).collect()),
        ("actuator × compensator × rates", |kinds| {
            let short = |text: &str| text.split([' ', ',']).next().unwrap_or_default().to_owned();
            let rates = if kinds.rates == "one rate" { "one rate" } else { "two rates" };
            let actuator: String = kinds.actuator.split(',').next().unwrap_or_default().to_owned();
            vec![format!("{actuator} × {} × {rates}", short(&kinds.compensator))]
        }),
    ];
    for (name, group) in groups {
        let mut rows: BTreeMap<String, BTreeMap<Outcome, usize>> = BTreeMap::new();
        for compared in all {
            for key in group(&compared.kinds) {
                *rows.entry(key).or_default().entry(compared.outcome).or_default() += 1;
            }
        }
        let _ = writeln!(text, "\n{name}: failed / compared");
        for (key, counts) in rows {
            let all: usize = counts.values().sum();
            let skipped = counts.get(&Outcome::Neutral).copied().unwrap_or(0);
            let failed: Vec<String> = counts
                .iter()
                .filter(|(outcome, _)| outcome.is_failure() || **outcome == Outcome::Unclear)
                .map(|(outcome, count)| format!("{count} {}", outcome.words()))
                .collect();
            let count: usize =
                counts.iter().filter(|(o, _)| o.is_failure()).map(|(_, count)| count).sum();
            let _ = writeln!(text, "{count:6} / {:<6} {key}  {}", all - skipped, failed.join(", "));
        }
    }
    text
}
