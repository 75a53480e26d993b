//! The slow main loop as it is declared.

use model::predictor::{Design, Stages};
use runtime::two_rate::{ForceUse, Lead, Rates, StepTime};

use super::closed_loop::TransferKind;
use super::tree::Branch;

/// Reads `[main_loop]`; `step_s` is the period of the tick.
pub(crate) fn read(branch: &Branch, transfer: &TransferKind, step_s: f64) -> Rates {
    // Models of a pure delay hand the samples on; only dynamics see them held.
    let holds = !matches!(transfer, TransferKind::Ideal | TransferKind::Delay { .. });
    let ratio = branch.must_count("ratio") as usize;
    let task_ticks = match (branch.count("task_ticks"), branch.number("task_time")) {
        (Some(ticks), _) => ticks as usize,
        // A whole number of ticks must not gain one to rounding.
        (None, Some(time_s)) => (time_s / step_s - 1e-6).ceil().max(0.0) as usize,
        (None, None) => 1,
    };
    Rates {
        ratio,
        task_ticks,
        force: match branch.must_word("force") {
            "all_samples" => ForceUse::AllSamples,
            "average" => ForceUse::Average,
            "last" => ForceUse::Last,
            word => unreachable!("the grammar has no force {word}"),
        },
        lead: match branch.word("lead").unwrap_or(if holds { "half_sample" } else { "none" }) {
            "half_sample" => Lead::HalfSample,
            "none" => Lead::None,
            word => unreachable!("the grammar has no lead {word}"),
        },
        bridge: branch.count("bridge").map_or(ratio, |ticks| ticks as usize),
        predictor: predictor(branch.must_table("predictor")),
        step_time: branch.table("step_time").map(|time| StepTime {
            base_s: time.must_number("base"),
            per_iteration_s: time.must_number("per_iteration"),
            jitter_s: time.must_number("jitter"),
        }),
    }
}

fn predictor(branch: &Branch) -> Design {
    let order = || branch.must_count("order") as usize;
    match branch.must_word("kind") {
        "hermite" => Design::Hermite,
        "lagrange" => Design::Lagrange {
            order: order(),
            stages: match branch.must_word("stages") {
                "one" => Stages::One,
                "two" => Stages::Two,
                word => unreachable!("the grammar has no stages {word}"),
            },
        },
        "least_squares" => {
            Design::LeastSquares { order: order(), points: branch.must_count("points") as usize }
        }
        "predicted_acceleration" => Design::PredictedAcceleration,
        "model_based" => Design::ModelBased,
        "adaptive" => Design::Adaptive {
            taps: branch.must_count("taps") as usize,
            forgetting: branch.must_number("forgetting"),
        },
        "combined" => Design::Combined { order: order() },
        word => unreachable!("the grammar has no predictor {word}"),
    }
}
