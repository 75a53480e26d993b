//! What turns the desired motion into the command.

use model::compensator::{
    AdaptiveInverseDesign, AdaptiveModelBasedDesign, AdaptiveTimeSeriesDesign, DerivativeSource,
    Design, FirstOrderDesign, ForwardPredictionDesign, InverseDesign, PiLeadDesign, ShapingDesign,
    delay_series,
};

use super::tree::Branch;

/// A compensator and what its command passes through.
#[derive(Debug, Clone, PartialEq)]
pub struct CompensatorSpec {
    /// The kind with its numbers.
    pub design: Design,
    /// Low-pass filter, end stops and rate limit.
    pub shaping: ShapingDesign,
}

impl CompensatorSpec {
    pub(crate) fn read(branch: &Branch) -> Self {
        Self {
            design: design(branch),
            shaping: ShapingDesign {
                low_pass_hz: branch.number("low_pass"),
                saturation_m: branch.number("saturation"),
                rate_m_s: branch.number("rate"),
            },
        }
    }
}

fn design(branch: &Branch) -> Design {
    let number = |key| branch.must_number(key);
    match branch.must_word("kind") {
        "none" => Design::None,
        "first_order" => {
            Design::FirstOrder(FirstOrderDesign { gain: number("gain"), lead_s: number("lead") })
        }
        "inverse" => Design::Inverse(InverseDesign {
            coefficients: branch.must_node("coefficients").numbers().unwrap_or_default(),
            derivatives: derivatives(branch),
        }),
        "forward_prediction" => Design::ForwardPrediction(ForwardPredictionDesign {
            order: branch.must_count("order") as usize,
            delay_s: number("delay"),
            gain: number("gain"),
        }),
        "adaptive_model_based" => Design::AdaptiveModelBased(AdaptiveModelBasedDesign {
            adaptation: factors(branch, "adaptation"),
            start: start(branch),
            lower: factors(branch, "lower"),
            upper: factors(branch, "upper"),
            threshold_m: number("threshold"),
            filter_hz: number("filter"),
            derivatives: derivatives(branch),
        }),
        "adaptive_inverse" => Design::AdaptiveInverse(AdaptiveInverseDesign {
            start: start(branch),
            lower: factors(branch, "lower"),
            upper: factors(branch, "upper"),
            forgetting: number("forgetting"),
            noise_m: number("noise"),
            threshold_m: number("threshold"),
            latency_samples: number("latency"),
            filter_hz: number("filter"),
            ..AdaptiveInverseDesign::GENERIC
        }),
        "adaptive_time_series" => {
            let [a0, a1, a2, _] = AdaptiveInverseDesign::GENERIC.spread;
            Design::AdaptiveTimeSeries(AdaptiveTimeSeriesDesign {
                start: start(branch),
                spread: [a0, a1, a2],
                lower: factors(branch, "lower"),
                upper: factors(branch, "upper"),
                window_s: number("window"),
                noise_m: number("noise"),
                threshold_m: number("threshold"),
                filter_hz: number("filter"),
            })
        }
        "pi_lead" => Design::PiLead(PiLeadDesign {
            proportional: number("proportional"),
            integral_1_s: number("integral"),
            lead_gain: number("lead_gain"),
            lead_pole_1_s: number("lead_pole"),
        }),
        word => unreachable!("the grammar has no compensator {word}"),
    }
}

/// Start values of the factors, from gain and delay.
fn start<const N: usize>(branch: &Branch) -> [f64; N] {
    delay_series(branch.must_number("start_gain"), branch.must_number("start_delay"))
}

/// A list whose length the checks have seen to.
fn factors<const N: usize>(branch: &Branch, key: &str) -> [f64; N] {
    let numbers = branch.must_node(key).numbers().unwrap_or_default();
    std::array::from_fn(|i| numbers.get(i).copied().unwrap_or(f64::NAN))
}

fn derivatives(branch: &Branch) -> DerivativeSource {
    match branch.must_word("derivatives") {
        "motion" => DerivativeSource::Motion,
        "differences" => DerivativeSource::Differences,
        word => unreachable!("the grammar has no derivatives {word}"),
    }
}
