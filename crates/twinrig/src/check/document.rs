//! What `check` says to machines.

use analysis::loop_stability::compensators::Trial;
use analysis::loop_stability::margins::Direction;
use analysis::loop_stability::modes::Motion;
use analysis::loop_stability::{Crossing, LoopMode, Margins};
use analysis::partitions::Advice;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Check, LoopCheck, tables, verdict};
use crate::fit::MARGIN;
use crate::forecast::{Examined, Stability, TwoRates};

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Loop(found) => document(found).serialize(serializer),
            Self::Iterative(found) => found.serialize(serializer),
        }
    }
}

fn document(found: &LoopCheck) -> Value {
    let forecast = &found.forecast;
    let dominant = forecast.stability.dominant();
    let word = match dominant {
        None => "unknown",
        Some(_) if forecast.is_unstable() => "unstable",
        Some(_) => "stable",
    };
    let (method, two_rates) = match &forecast.stability {
        Stability::Linear(_) => (Some("sampled loop gain"), None),
        Stability::TwoRates(two) => (Some("map over a period"), Some(two)),
        Stability::Rigid(_) => (Some("integrated structure"), None),
        Stability::Unknown(_) => (None, None),
    };
    let fit = found.fit.as_ref();
    json!({
        "title": found.title,
        "dofs": found.dof_names.len(),
        "interface_dofs": found.interface_dofs,
        "reduction": found.reduction,
        "ticks": found.ticks,
        "step_s": forecast.step_s,
        "modes": forecast.modes,
        "rigid_bodies": forecast.rigid_bodies,
        "samples_per_cycle": forecast.samples_per_cycle,
        "verdict": found.verdict,
        "stability": word,
        "words": verdict(forecast),
        "method": method,
        "linear": forecast.linear,
        "rehearsal": found.rehearsal,
        "dominant": dominant.filter(|dominant| dominant.is_known()),
        "two_rates": two_rates.map(at_two_rates),
        "two_rates_modes": two_rates.map(|two| modes(&two.modes)),
        "loop": forecast.examined.as_deref().map(examined),
        "critical_delay_s": forecast.critical_delay.map(|c| c.delay_s),
        "critical_frequency_hz": forecast.critical_delay.map(|c| c.frequency_hz),
        "critical_delay_gao_you_s": forecast.estimate_s,
        "transfer_delay_s": forecast.delay_s,
        "advice": found.advice.as_ref().map(|advice| partitions(found, advice)),
        "tick_s": fit.map(|fit| fit.tick.p50_s),
        "tick_p99_s": fit.map(|fit| fit.tick.p99_s),
        "numerical_p99_s": fit.map(|fit| fit.step.p99_s),
        "main_share": fit.and_then(|fit| fit.main_share()),
        "tick_share": fit.map(|fit| fit.tick_share()),
        "margin": MARGIN,
        "fits": fit.map(|fit| fit.fits()),
        "ratio": fit.and_then(|fit| fit.ratio()),
        "faults": found.faults,
        "warnings": found.warnings,
    })
}

/// The loop gain and what follows from it.
fn examined(examined: &Examined) -> Value {
    let Examined { margins, motions, least_damped, trials, started, .. } = examined;
    let mut document = json!({
        "growing": margins.verdict.growing,
        "delay_margin": margins.verdict.delay_margin.map(crossing),
        "disk_margin": margins.disk.as_ref().map(|disk| json!({
            "alpha": disk.alpha,
            "gain": [disk.gain().0, disk.gain().1],
            "phase_rad": disk.phase_rad(),
            "frequency_hz": disk.frequency_hz,
            "direction": disk.direction,
        })),
        "switches": margins.switches.iter().map(|c| crossing(*c)).collect::<Vec<_>>(),
        "least_damped": least_damped.map(|(found, _)| motion(found)),
        "least_damped_mode": least_damped.and_then(|(_, mode)| mode),
        "modes": modes(&motions.modes),
        "other_motions": motions.others.iter().map(|m| motion(*m)).collect::<Vec<_>>(),
        "compensators": trials.iter().map(trial).collect::<Vec<_>>(),
        "as_started": started.as_ref().map(trial),
    });
    add(&mut document, gain_and_phase(margins));
    document
}

/// The map over a period, with the margins of its gain where that was followed.
fn at_two_rates(found: &TwoRates) -> Value {
    let mut document = json!(found);
    if let Some(gain) = &found.gain {
        add(&mut document, gain_and_phase(&gain.margins));
    }
    document
}

fn gain_and_phase(margins: &Margins) -> Value {
    let factor = |found: Option<(f64, f64)>| {
        found.map(|(factor, hertz)| json!({ "factor": factor, "frequency_hz": hertz }))
    };
    json!({
        "gain_margin_above": factor(margins.gain_above),
        "gain_margin_below": factor(margins.gain_below),
        "phase_margin": margins.phase.map(|(phase, hertz)| {
            json!({ "rad": phase, "frequency_hz": hertz })
        }),
        "distance": { "value": margins.distance.0, "frequency_hz": margins.distance.1 },
    })
}

/// The fields of one object among those of another.
fn add(document: &mut Value, more: Value) {
    if let (Value::Object(fields), Value::Object(more)) = (document, more) {
        fields.extend(more);
    }
}

fn modes(modes: &[LoopMode]) -> Vec<Value> {
    let of = |mode: &LoopMode| {
        json!({
            "mode": mode.truth.number,
            "truth": motion(mode.truth.motion),
            "in_loop": mode.in_loop.map(motion),
            "damping_per_s_of_delay": mode.sensitivity_1_s,
        })
    };
    modes.iter().map(of).collect()
}

fn motion(motion: Motion) -> Value {
    json!({
        "frequency_hz": motion.frequency_hz(),
        "damping_ratio": motion.damping_ratio(),
        "growth_1_s": motion.growth_1_s(),
    })
}

fn crossing(crossing: Crossing) -> Value {
    json!({
        "delay_s": crossing.delay_s,
        "frequency_hz": crossing.frequency_hz,
        "then": match crossing.direction {
            Direction::Grows => "grows",
            Direction::Decays => "decays",
        },
    })
}

fn trial(trial: &Trial) -> Value {
    json!({
        "kind": trial.kind,
        "stable": trial.verdict.is_stable(),
        "growing": trial.verdict.growing,
        // Null: a growing motion is counted but was not found.
        "least_damped": trial.least_damped.map(|(found, _)| motion(found)),
        "least_damped_mode": trial.least_damped.and_then(|(_, mode)| mode),
        "furthest_mode": trial.worst.map(|(mode, _)| mode),
        "furthest_damping_error": trial.worst.map(|(_, error)| error),
        "delay_margin": trial.verdict.delay_margin.map(crossing),
    })
}

fn partitions(found: &LoopCheck, advice: &Advice) -> Value {
    let ranked: Vec<Value> = advice
        .ranked
        .iter()
        .enumerate()
        .map(|(i, ranked)| {
            let specimen = ranked.cut.partition.specimen.linearised();
            let diagonal =
                |m: &nalgebra::DMatrix<f64>| m.diagonal().iter().copied().collect::<Vec<_>>();
            json!({
                "rank": i + 1,
                "interface": tables::place(&found.dof_names, &ranked.cut),
                "specimen": tables::origin(&ranked.cut),
                "mass_kg": diagonal(&specimen.matrices.mass),
                "damping_n_s_m": diagonal(&specimen.matrices.damping),
                "stiffness_n_m": diagonal(&specimen.matrices.stiffness),
                // Null: no delay makes it unstable.
                "critical_delay_s": ranked.critical.map(|c| c.delay_s),
                "critical_frequency_hz": ranked.critical.map(|c| c.frequency_hz),
                "stable_with_this_rig": ranked.own.map(|verdict| verdict.is_stable()),
                "bears_further_s": ranked.own.and_then(|own| own.delay_margin).map(|m| m.delay_s),
            })
        })
        .collect();
    json!({ "ranked": ranked, "skipped": advice.skipped })
}
