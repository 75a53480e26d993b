//! What the compensators promise, measured on the virtual benchmark: on the
//! project's own record here, on recorded ones in the study that is run by hand
//! (`cargo test --release -p twinrig-cli --test all compensators -- --ignored --nocapture`).

use std::path::PathBuf;

use model::compensator::ShapingDesign;
use model::compensator::{
    AdaptiveModelBasedDesign, AdaptiveTimeSeriesDesign, DerivativeSource, Design,
};
use model::transfer::{ServoHydraulic, TransferSystem};
use numerics::random::Stream;
use twinrig::assembly::{Assembly, PlantChange};
use twinrig::reproduce::benchmark::{
    BASELINE, adaptive_run, benchmark_loop, criteria, default_design, noise_floor,
};
use twinrig::reproduce::galmez::{Case, Ground, assembly_over, whole_record};
use twinrig::trace::{Trace, trace};

const NOISE_M: f64 = 16e-6;

/// The benchmark's loop on the project's own record, shortened.
fn short(case: Case) -> Assembly {
    benchmark_loop(&assembly_over(&Ground::Synthetic, case, "20 s").unwrap())
}

fn judged(assembly: &Assembly, design: Design) -> (Trace, Vec<f64>) {
    let reference = assembly.reference(&assembly.load()).unwrap();
    let (run, values) = criteria(assembly, design, &reference).unwrap();
    (run, values.into_iter().map(Option::unwrap).collect())
}

/// J2, and its distance to what noise alone gives.
fn tracking(assembly: &Assembly) -> (f64, f64) {
    let (run, values) = judged(assembly, default_design(0.0));
    (values[1], values[1] - noise_floor(&run, NOISE_M))
}

/// The plant with its parameters drawn at random. What the specimen is stiffer
/// the numerical part is softer: the structure as a whole, and with it the noise
/// floor, stays.
fn random_plant(assembly: &Assembly, random: &mut Stream, spread: &Spread) -> Assembly {
    let mut assembly = assembly.clone();
    let nominal = ServoHydraulic::BENCHMARK;
    let mut about = |mean: f64, deviation: f64| mean + deviation * random.normal();
    let stiffness = about(1.19e6, spread.stiffness);
    assembly.partition.specimen.matrices.stiffness[(0, 0)] = stiffness;
    assembly.substructures.numerical.matrices.stiffness[(0, 0)] -= stiffness - 1.19e6;
    assembly.transfer_system = TransferSystem::ServoHydraulic(ServoHydraulic {
        leakage: about(nominal.leakage, spread.leakage).max(0.0),
        servo_damping: about(nominal.servo_damping, spread.servo_damping),
        servo_stiffness: about(nominal.servo_stiffness, spread.servo_stiffness),
        gain: nominal.gain * about(1.0, spread.gain),
        ..nominal
    });
    assembly
}

struct Spread {
    stiffness: f64,
    leakage: f64,
    servo_damping: f64,
    servo_stiffness: f64,
    gain: f64,
}

const PUBLISHED: Spread =
    Spread { stiffness: 5e4, leakage: 1.3, servo_damping: 3.3, servo_stiffness: 3.3e3, gain: 0.0 };
const WIDE: Spread =
    Spread { stiffness: 1e5, leakage: 2.6, servo_damping: 30.0, servo_stiffness: 1e4, gain: 0.05 };

/// J2 over random plants: mean, standard deviation, largest.
fn over_plants(assembly: &Assembly, spread: &Spread, count: usize) -> [f64; 3] {
    let mut random = Stream::new(5, "plants");
    let values: Vec<f64> =
        (0..count).map(|_| tracking(&random_plant(assembly, &mut random, spread)).0).collect();
    let mean = values.iter().sum::<f64>() / count as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
    [mean, variance.sqrt(), values.iter().copied().fold(0.0, f64::max)]
}

#[test]
fn the_default_tracks_down_to_the_noise_in_every_case() {
    for case in Case::ALL {
        let (j2, above) = tracking(&short(case));
        assert!(above.abs() < 0.05, "{case:?}: J2 {j2:.3} %, {above:.3} above the noise");
    }
}

#[test]
fn the_default_beats_the_baseline_on_every_criterion() {
    let assembly = short(Case::IV);
    let (_, baseline) = judged(&assembly, BASELINE);
    let (_, default) = judged(&assembly, default_design(0.0));
    for (number, (ours, theirs)) in (1..).zip(default.iter().zip(&baseline)) {
        assert!(ours < theirs, "J{number}: {ours} against {theirs}");
    }
}

#[test]
fn a_lead_over_the_latency_brings_the_structure_to_the_reference() {
    let (_, values) = judged(&short(Case::IV), default_design(1.5));
    for (number, value) in (6..).zip(&values[5..]) {
        assert!(*value < 0.3, "J{number} {value:.3} %");
    }
}

#[test]
fn another_plant_makes_no_difference() {
    let [mean, deviation, most] = over_plants(&short(Case::IV), &PUBLISHED, 10);
    assert!(deviation < 0.05 && most < mean + 0.1, "{mean:.3} ± {deviation:.3}, {most:.3}");
    let [mean, deviation, most] = over_plants(&short(Case::IV), &WIDE, 12);
    assert!(deviation < 0.05 && most < mean + 0.1, "{mean:.3} ± {deviation:.3}, {most:.3}");
}

/// The rig of the spec's change: k_e −30 %, β2 → 8.5e4, a3 → 5.9, at a time.
fn changing(assembly: &Assembly, at_s: f64) -> Assembly {
    let mut assembly = assembly.clone();
    assembly.change = Some(PlantChange {
        tick: (at_s / assembly.integrator.step_s) as u64,
        servo: ServoHydraulic { servo_stiffness: 8.5e4, leakage: 5.9, ..ServoHydraulic::BENCHMARK },
        specimen_stiffness: 0.7,
    });
    assembly
}

/// Root mean square of measured less desired over a window, m.
fn window_error(run: &Trace, from_s: f64, to_s: f64) -> f64 {
    let [from, to] = [from_s, to_s].map(|t| (t / run.step_s) as usize);
    let pairs = run.measured[0][from..to].iter().zip(&run.desired[0][from..to]);
    let squares: f64 = pairs.map(|(m, d)| (m - d).powi(2)).sum();
    (squares / (to - from) as f64).sqrt()
}

#[test]
fn a_plant_that_changes_is_learnt_anew() {
    let assembly = changing(&short(Case::IV), 4.0);
    let (run, _) = judged(&assembly, default_design(0.0));
    let before = window_error(&run, 2.0, 4.0);
    let at = window_error(&run, 4.0, 4.2);
    let after = window_error(&run, 6.0, 8.0);
    assert!((before / NOISE_M - 1.0).abs() < 0.1, "{before:e}");
    assert!(at > 3.0 * NOISE_M, "the change is felt: {at:e}");
    assert!((after / NOISE_M - 1.0).abs() < 0.2, "and learnt: {after:e}");
    // A fixed inverse of the first plant is left with the error.
    let fixed = Design::Inverse(model::compensator::InverseDesign {
        coefficients: vec![0.992542, 0.0248894, 1.06623e-4, 3.85639e-7],
        derivatives: DerivativeSource::Motion,
    });
    let (run, _) = judged(&assembly, fixed);
    assert!(window_error(&run, 6.0, 8.0) > 5.0 * NOISE_M);
}

#[test]
fn strong_motion_with_the_largest_gains_stays_finite() {
    for scale in [2.5, 5.0] {
        // 100 % and 200 % of what is scaled to 40 %.
        let mut assembly = assembly_over(&Ground::Synthetic, Case::IV, "20 s").unwrap();
        for signal in &mut assembly.loads {
            signal.samples = signal.samples.iter().map(|value| value * scale).collect();
        }
        let run = adaptive_run(&assembly, [2.4e6, 1.1e5]).unwrap();
        assert_eq!(run.measured[0].len(), assembly.ticks, "no trip");
        let peak = run.measured[0].iter().fold(0.0f64, |peak, x| peak.max(x.abs()));
        assert!(peak.is_finite() && peak < 1.0, "{peak} m at {scale}");
        assert!(run.parameters.iter().all(|a| a.is_finite()));
    }
}

fn model_based() -> Design {
    Design::AdaptiveModelBased(AdaptiveModelBasedDesign::PUBLISHED)
}

fn time_series() -> Design {
    Design::AdaptiveTimeSeries(AdaptiveTimeSeriesDesign::GENERIC)
}

#[test]
fn the_other_adaptive_kinds_hold_the_benchmark_too() {
    let assembly = short(Case::IV);
    let (_, baseline) = judged(&assembly, BASELINE);
    for design in [model_based(), time_series()] {
        let (_, values) = judged(&assembly, design.clone());
        assert!(values[1] < 0.5 * baseline[1], "{design:?}: {values:?}");
    }
}

#[test]
#[ignore = "a study: minutes in the dev profile"]
fn study_on_recorded_motions() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ground");
    for name in ["elcentro", "kobe", "morgan"] {
        let path = folder.join(format!("{name}_benchmark.csv"));
        if !path.exists() {
            println!("skipped: no {}", path.display());
            continue;
        }
        let ground = Ground::File(path);
        for (number, case) in Case::ALL.into_iter().enumerate() {
            let (j2, above) = tracking(&benchmark_loop(&whole_record(&ground, case).unwrap()));
            println!("{name}, case {}: J2 {j2:.3}, {above:+.3} to the floor", number + 1);
            assert!(above.abs() < 0.05);
        }
        let assembly = benchmark_loop(&whole_record(&ground, Case::IV).unwrap());
        for (words, design) in [
            ("baseline", BASELINE),
            ("adaptive model-based", model_based()),
            ("adaptive time series", time_series()),
            ("default", default_design(0.0)),
            ("default and lead", default_design(1.5)),
        ] {
            let (_, values) = judged(&assembly, design);
            let shown: Vec<String> = values.iter().map(|value| format!("{value:.2}")).collect();
            println!("{name}, {words}: {}", shown.join(" "));
        }
        for (words, spread, count) in [("published", &PUBLISHED, 20), ("wide", &WIDE, 60)] {
            let [mean, deviation, most] = over_plants(&assembly, spread, count);
            println!(
                "{name}, {count} plants, {words}: {mean:.3} ± {deviation:.3}, at most {most:.3}"
            );
            assert!(deviation < 0.05 && most < mean + 0.1);
        }
        let (_, values) = judged(&changing(&assembly, 10.0), default_design(0.0));
        println!("{name}, plant changes at 10 s: J2 {:.3}", values[1]);
        for scale in [2.5, 5.0] {
            let mut strong = whole_record(&ground, Case::IV).unwrap();
            for signal in &mut strong.loads {
                signal.samples = signal.samples.iter().map(|value| value * scale).collect();
            }
            let run = adaptive_run(&strong, [2.4e6, 1.1e5]).unwrap();
            let peak = run.measured[0].iter().fold(0.0f64, |peak, x| peak.max(x.abs()));
            println!("{name} × {}: peak {peak:.4} m with Γd", 0.4 * scale);
            assert!(peak.is_finite());
        }
    }
}

#[test]
fn shaping_goes_with_any_kind() {
    let mut assembly = short(Case::IV);
    let shaping =
        ShapingDesign { low_pass_hz: Some(200.0), saturation_m: Some(0.05), rate_m_s: Some(2.0) };
    assembly.set_compensator(default_design(0.0), &shaping).unwrap();
    let run = trace(&assembly, 1.0).unwrap();
    let j2 = 100.0 * window_error(&run, 6.0, 18.0);
    // The filter's lag is learnt with the rig's.
    assert!(j2 < 100.0 * 1.2 * NOISE_M, "{j2}");
}
