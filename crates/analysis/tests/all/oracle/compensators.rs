//! Other compensators: each trial is the loop that has it, and its numbers suit the rig.

use analysis::loop_stability::compensators::{
    Trial, as_learnt, as_started, transfer_delay_s, try_all,
};
use analysis::loop_stability::modes::{follow, true_modes};
use analysis::loop_stability::{Curve, OpenLoop, verdict};
use model::compensator::{
    AdaptiveInverseDesign, AdaptiveModelBasedDesign, AdaptiveTimeSeriesDesign,
};

use super::*;

const AT_HZ: f64 = 4.0;

fn tried(description: &LoopDescription) -> Vec<Trial> {
    let open = OpenLoop::sampled(description).unwrap();
    let truth = true_modes(&whole(description)).unwrap();
    try_all(&open, description, &truth, AT_HZ).unwrap()
}

/// Rigs that a compensator can be designed for.
fn rigs() -> Vec<(&'static str, LoopDescription)> {
    let of = |rig| described(three_storeys(&[ground(0)]), scalar_specimen(), rig, EXACT);
    vec![
        ("delay", of(delay(6.0))),
        ("third order", of(actuator(2.0))),
        ("half the gain", of(function(&[2.6e6], &[1.0, 530.8, 8.899e4, 5.44e6], 0.0))),
        ("servo-hydraulic", of(TransferSystem::ServoHydraulic(ServoHydraulic::BENCHMARK))),
        (
            "two DOFs",
            described(
                three_storeys(&[ground(0), between(1, 2)]),
                coupled_specimen(),
                delay(5.0),
                Method::Newmark,
            ),
        ),
    ]
}

#[test]
fn a_trial_is_the_loop_with_that_compensator() {
    let mut unstable = 0;
    for (name, description) in rigs() {
        let truth = true_modes(&whole(&description)).unwrap();
        let trials = tried(&description);
        let mut kinds: Vec<&str> = trials.iter().map(|trial| trial.kind).collect();
        let mut known = vec!["none", "first_order", "inverse"];
        known.extend(["forward_prediction, order 2", "forward_prediction, order 3"]);
        known.extend((name == "servo-hydraulic").then_some("pi_lead"));
        known.extend(["adaptive_model_based", "adaptive_time_series", "adaptive_inverse"]);
        assert_eq!(kinds, known, "{name}");
        kinds.clear();
        for trial in trials {
            let changed =
                LoopDescription { compensator: trial.design.clone(), ..description.clone() };
            let what = format!("{name}, {}", trial.kind);
            let wired = Wired::of(&changed, 0);
            let poles = wired.closed(1.0);
            assert_eq!(trial.verdict.growing, grow(&poles), "{what}");
            assert_eq!(trial.verdict.is_stable(), trial.verdict.growing == 0, "{what}");
            let slowest = trial.dominant.unwrap().0.exponent;
            let told = poles.iter().map(|(s, _)| *s).max_by(|a, b| a.re.total_cmp(&b.re)).unwrap();
            assert!(near(slowest, told, 1e-6), "{what}");
            let ratios = poles.iter().map(|(s, _)| -s.re / s.norm());
            let least = ratios.fold(f64::INFINITY, f64::min);
            let told = trial.least_damped.unwrap().0.damping_ratio();
            assert!((told - least).abs() < 1e-6, "{what}: {told} {least}");
            let alone = verdict(&changed).unwrap().delay_margin;
            assert_eq!(trial.verdict.delay_margin.is_some(), alone.is_some(), "{what}");
            if let (Some(trial), Some(alone)) = (trial.verdict.delay_margin, alone) {
                assert!((trial.delay_s / alone.delay_s - 1.0).abs() < 1e-9, "{what}");
            }
            let open = OpenLoop::sampled(&changed).unwrap();
            let found = follow(&open, &Curve::follow(&open).unwrap(), &truth).unwrap();
            let mut worst = (0, 0.0_f64);
            for mode in &found.modes {
                let Some(motion) = mode.in_loop else { continue };
                let error = motion.damping_ratio() - mode.truth.motion.damping_ratio();
                if error.abs() > worst.1.abs() {
                    worst = (mode.truth.number, error);
                }
            }
            let told = trial.worst.unwrap();
            assert_eq!(told.0, worst.0, "{what}");
            assert!((told.1 - worst.1).abs() < 1e-9, "{what}: {told:?} {worst:?}");
            unstable += usize::from(trial.verdict.growing > 0);
        }
    }
    assert!(unstable > 3, "{unstable}");
}

/// Achieved over commanded displacement of the first DOF, the hold of a rig with states as
/// half a period.
fn response(description: &LoopDescription, hz: f64) -> Complex<f64> {
    let omega = TAU * hz;
    let late = |samples: f64| Complex::from_polar(1.0, -omega * samples * STEP_S);
    match &description.transfer_system {
        TransferSystem::Ideal => Complex::ONE,
        TransferSystem::Delay { samples } => late(*samples),
        TransferSystem::TransferFunction { function, samples } => {
            function.response(omega) * late(samples + 0.5)
        }
        TransferSystem::ServoHydraulic(servo) => {
            let dynamics = ActuatorDynamics::from_servo(servo, &description.specimen).unwrap();
            dynamics.response(0, omega).unwrap() * late(0.5)
        }
    }
}

/// Squared error of rig and inverse in a row, over the band up to 1.5 times the frequency.
fn error(description: &LoopDescription, coefficients: &[f64]) -> f64 {
    let points = 60;
    let at = |i: usize| 1.5 * AT_HZ * (i as f64 + 0.5) / points as f64;
    let off = |hz: f64| {
        let s = axis(TAU * hz);
        let lead =
            coefficients.iter().rev().fold(Complex::ZERO, |sum: Complex<f64>, a| sum * s + a);
        (response(description, hz) * lead - 1.0).norm_sqr()
    };
    (0..points).map(|i| off(at(i))).sum::<f64>() / points as f64
}

#[test]
fn the_numbers_of_a_trial_suit_the_rig() {
    for (name, description) in rigs() {
        let lag = -response(&description, AT_HZ).arg();
        let gain = 1.0 / response(&description, 1e-3 * AT_HZ).re;
        for trial in tried(&description) {
            let what = format!("{name}, {}", trial.kind);
            match trial.design {
                Design::FirstOrder(design) => {
                    // Its lead is a difference over one sample.
                    let z = Complex::from_polar(1.0, TAU * AT_HZ * STEP_S);
                    let lead = 1.0 + design.lead_s / STEP_S * (1.0 - z.inv());
                    assert!((lead.arg() - lag).abs() < 1e-9, "{what}: {} {lag}", lead.arg());
                    assert!((design.gain / gain - 1.0).abs() < 1e-9, "{what}");
                }
                Design::ForwardPrediction(design) => {
                    assert!((design.delay_s - lag / (TAU * AT_HZ)).abs() < 1e-12, "{what}");
                    assert!((design.gain / gain - 1.0).abs() < 1e-9, "{what}");
                    assert!(trial.kind.ends_with(&design.order.to_string()), "{what}");
                }
                Design::Inverse(design) => {
                    let terms = match trial.kind {
                        "adaptive_model_based" => 2,
                        "adaptive_time_series" => 3,
                        _ => 4,
                    };
                    assert_eq!(design.coefficients.len(), terms, "{what}");
                    let least = error(&description, &design.coefficients);
                    assert!(least < 0.05, "{what}: {least}");
                    for k in 0..terms {
                        for part in [-1e-3, 1e-3] {
                            let mut other = design.coefficients.clone();
                            other[k] += part / (TAU * 1.5 * AT_HZ).powi(k as i32);
                            assert!(error(&description, &other) > least, "{what}: {k} {part}");
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_rig_that_moves_backwards_or_at_once_gets_no_compensator() {
    let of = |rig| described(three_storeys(&[ground(0)]), scalar_specimen(), rig, EXACT);
    let kinds = |rig| {
        let trials = tried(&of(rig));
        trials.iter().map(|trial| trial.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(TransferSystem::Ideal), ["none"]);
    assert_eq!(kinds(function(&[-90.0], &[1.0, 90.0], 0.0)), ["none"]);
    // A lag beyond a quarter turn is more than a first order leads by.
    let late = kinds(delay(70.0));
    assert!(!late.contains(&"first_order") && late.contains(&"inverse"), "{late:?}");
    // A rig that leads needs no prediction.
    let leading = kinds(function(&[30.0, 90.0], &[1.0, 90.0], 0.0));
    assert!(!leading.iter().any(|kind| kind.starts_with("forward")), "{leading:?}");
}

#[test]
fn the_delay_of_a_rig_is_its_phase_over_the_frequency() {
    let of = |rig| described(three_storeys(&[ground(0)]), scalar_specimen(), rig, EXACT);
    let near = |rig: TransferSystem, hz: f64, told: f64| {
        let found = transfer_delay_s(&of(rig.clone()), hz);
        assert!((found - told).abs() < 1e-9, "{rig:?} at {hz} Hz: {found} {told}");
    };
    for hz in [0.5, 4.0, 20.0, 60.0] {
        near(TransferSystem::Ideal, hz, 0.0);
        near(delay(7.5), hz, 7.5 * STEP_S);
        let omega = TAU * hz;
        // Three real poles: beyond half a turn at 60 Hz.
        let (a, b, c) = (30.0, 80.0, 200.0);
        let lags = (omega / a).atan() + (omega / b).atan() + (omega / c).atan();
        let denominator = [1.0, a + b + c, a * b + b * c + a * c, a * b * c];
        for samples in [0.0, 3.0] {
            let rig = function(&[a * b * c], &denominator, samples);
            near(rig, hz, lags / omega + samples * STEP_S);
        }
    }
    assert!(transfer_delay_s(&of(actuator(0.0)), 0.0).is_nan());
    assert!(transfer_delay_s(&of(actuator(0.0)), -1.0).is_nan());
}

#[test]
fn adaptive_compensators_as_they_start_and_as_they_have_learnt() {
    let wide = |n: usize| (vec![-1e9; n], vec![1e9; n]);
    let four = |list: &[f64]| <[f64; 4]>::try_from(list).unwrap();
    let three = |list: &[f64]| <[f64; 3]>::try_from(list).unwrap();
    let two = |list: &[f64]| <[f64; 2]>::try_from(list).unwrap();
    let of = |compensator: Design| LoopDescription {
        compensator,
        ..described(three_storeys(&[ground(0)]), scalar_specimen(), actuator(2.0), EXACT)
    };
    let designs = |lower: &[f64], upper: &[f64]| {
        [
            Design::AdaptiveModelBased(AdaptiveModelBasedDesign {
                lower: two(&lower[..2]),
                upper: two(&upper[..2]),
                ..AdaptiveModelBasedDesign::PUBLISHED
            }),
            Design::AdaptiveTimeSeries(AdaptiveTimeSeriesDesign {
                lower: three(&lower[..3]),
                upper: three(&upper[..3]),
                ..AdaptiveTimeSeriesDesign::GENERIC
            }),
            Design::AdaptiveInverse(AdaptiveInverseDesign {
                lower: four(lower),
                upper: four(upper),
                ..AdaptiveInverseDesign::GENERIC
            }),
        ]
    };
    let trials = tried(&of(Design::None));
    let (lower, upper) = wide(4);
    let names = ["adaptive_model_based", "adaptive_time_series", "adaptive_inverse"];
    for (name, design) in names.into_iter().zip(designs(&lower, &upper)) {
        let learnt = as_learnt(&of(design.clone()), AT_HZ).unwrap();
        let trial = trials.iter().find(|trial| trial.kind == name).unwrap();
        assert_eq!(learnt, trial.design, "{name}");
        let Design::Inverse(learnt) = learnt else { panic!("{name}") };
        // Bounds that exclude each number in turn, from either side.
        let (below, above): (Vec<f64>, Vec<f64>) =
            learnt.coefficients.iter().map(|a| (0.5 * a - 1.0, 2.0 * a + 1.0)).unzip();
        let padded = |list: &[f64]| [list, &[0.0; 4][list.len()..]].concat();
        let place = names.iter().position(|other| *other == name).unwrap();
        for (low, high, expected) in [
            (&above, &above, &above),
            (&below, &below, &below),
            (&below, &above, &learnt.coefficients),
        ] {
            let bounded = designs(&padded(low), &padded(high))[place].clone();
            let Some(Design::Inverse(found)) = as_learnt(&of(bounded), AT_HZ) else {
                panic!("{name}")
            };
            assert_eq!(found.coefficients, *expected, "{name}");
        }
        let started = match &design {
            Design::AdaptiveModelBased(design) => inverse(&design.start(), design.derivatives),
            Design::AdaptiveTimeSeries(design) => {
                inverse(&design.start(), DerivativeSource::Motion)
            }
            Design::AdaptiveInverse(design) => inverse(&design.start(), DerivativeSource::Motion),
            _ => panic!("{name}"),
        };
        assert_eq!(as_started(&design), started, "{name}");
        let at_once = LoopDescription { transfer_system: TransferSystem::Ideal, ..of(design) };
        assert_eq!(as_learnt(&at_once, AT_HZ), None, "{name}");
    }
    let fixed = Design::FirstOrder(FirstOrderDesign { gain: 1.1, lead_s: 0.01 });
    assert_eq!(as_started(&fixed), fixed);
    assert_eq!(as_learnt(&of(fixed.clone()), AT_HZ), Some(fixed));
}
