//! The indicators on the benchmark, against what is known of each case.

use crate::common::benchmark::{BOUC_WEN, Case, STEP_S};
use runtime::load::Load;
use runtime::monitor::{
    EnergyErrorPlan, ForecastPlan, FrequencyEvaluationPlan, LimitsUsedPlan, MonitorPlan,
    TrackingPlan, WindowedPlan,
};
use runtime::numerical::Plant;
use runtime::rig::{Fault, FaultKind, FaultyRig};

/// A burst of three seconds, then nothing.
fn burst(ticks: usize) -> Load {
    let sample = |k: usize| {
        let t = k as f64 * STEP_S;
        let envelope =
            (std::f64::consts::PI * t / 3.0).sin().powi(2) * f64::from(u8::from(t < 3.0));
        let sine = |hertz: f64, phase: f64| (std::f64::consts::TAU * hertz * t + phase).sin();
        envelope * (1.4 * sine(3.4, 0.0) + 0.8 * sine(2.3, 1.0) + 0.6 * sine(15.0, 2.0))
    };
    Load::new(&[(0..=ticks).map(sample).collect::<Vec<_>>()], ticks)
}

fn everything() -> MonitorPlan {
    MonitorPlan {
        windowed_warning: Some(WindowedPlan { window_s: 3.0, ..WindowedPlan::default() }),
        energy_error: Some(EnergyErrorPlan::default()),
        forecast: Some(ForecastPlan { window_s: 1.0, ..ForecastPlan::default() }),
        tracking: Some(TrackingPlan { window_s: 1.0, ..TrackingPlan::default() }),
        limits_used: Some(LimitsUsedPlan::default()),
        frequency_evaluation: Some(FrequencyEvaluationPlan {
            window_s: 2.0,
            band_hz: 20.0,
            ..FrequencyEvaluationPlan::default()
        }),
        ..MonitorPlan::default()
    }
}

/// One tick of what the indicators said.
struct Seen {
    t: f64,
    warning: f64,
    windowed: f64,
    energy_error: f64,
    forecast: f64,
    delay: f64,
    amplitude: f64,
    valid: bool,
    /// Delay and amplitude by the frequency evaluation index.
    spectral: Option<(f64, f64)>,
    feedback: f64,
    input: f64,
    measured: f64,
    force: f64,
}

fn run(case: &Case, plant: Plant, seconds: usize) -> Vec<Seen> {
    let mut case = case.clone();
    case.watch = everything();
    let mut hybrid = case.hybrid(plant, burst(seconds * 4096));
    let mut seen = Vec::new();
    while !hybrid.is_over() {
        hybrid.tick();
        let energies = hybrid.monitor().energies();
        let mut values = Vec::new();
        hybrid.indicators().unwrap().write(&mut values);
        let [windowed, energy_error, forecast, delay, amplitude, valid, .., late, size, told] =
            values[..]
        else {
            panic!("{values:?}")
        };
        seen.push(Seen {
            t: hybrid.time_s(),
            warning: hybrid.monitor().stability_warning,
            windowed,
            energy_error,
            forecast,
            delay,
            amplitude,
            valid: valid == 1.0,
            spectral: (told == 1.0).then_some((late, size)),
            feedback: energies.feedback,
            input: energies.input,
            measured: hybrid.measured().displacement[0],
            force: hybrid.measured().force[0],
        });
    }
    seen
}

#[test]
fn the_forecast_comes_true_when_the_delay_jumps_beyond_what_is_stable() {
    // A healthy start leaves dissipated energy in store; the growing motion has
    // to use it up before the warning reaches 100 %.
    for (by, from_s) in [(58, 3), (78, 3), (58, 4)] {
        let case = Case::benchmark().with_delay(2.0);
        let kind = FaultKind::Delay(by);
        let fault = Fault { kind, from: from_s * 4096, until: u64::MAX, dof: None };
        let rig = FaultyRig::new(case.rig(), &[fault], 1, 1);
        let seen = run(&case, case.split_with(Box::new(rig), None), 16);
        let crossing = seen.iter().find(|s| s.warning >= 100.0).expect("it is unstable").t;
        let told = |left: f64| {
            let at = seen.iter().find(|s| s.t >= crossing - left).unwrap();
            at.forecast
        };
        println!(
            "{by} samples from {from_s} s: crosses at {crossing:.3} s; 2, 1, 0.5, 0.25 s before \
             {:.2} {:.2} {:.2} {:.2} s are foretold",
            told(2.0),
            told(1.0),
            told(0.5),
            told(0.25)
        );
        assert_eq!(told(0.0), 0.0);
        for left in [1.0, 0.5, 0.25] {
            // The newer half of the window must lie after the jump.
            if crossing - left < from_s as f64 + 0.6 {
                continue;
            }
            let error = (told(left) - left).abs();
            assert!(error < 0.5 * left + 0.25, "{by}: {left} s left, {} foretold", told(left));
        }
    }
}

#[test]
fn the_forecast_at_37_samples_of_delay_is_zero_from_the_crossing_on() {
    // The first whole delays that are unstable are 36 and 37 samples. The
    // motion builds up within a second, so the trend has little to go by.
    let case = Case::benchmark().with_delay(37.0);
    let seen = run(&case, case.split(), 8);
    let crossing = seen.iter().find(|s| s.warning >= 100.0).expect("it is unstable");
    println!("37 samples: crosses at {:.3} s", crossing.t);
    assert!(seen.iter().all(|s| (s.warning >= 100.0) <= (s.forecast == 0.0)));
    // Once the shaking is over the crests lie above 100 % for good.
    assert!(seen.iter().filter(|s| s.t > 3.5).all(|s| s.forecast == 0.0));
}

#[test]
fn a_healthy_loop_has_nothing_to_come() {
    for samples in [0.5, 4.0, 29.0] {
        let case = Case::benchmark().with_delay(samples);
        let seen = run(&case, case.split(), 12);
        assert!(seen.iter().all(|s| s.warning < 100.0));
        let least = seen.iter().map(|s| s.forecast).fold(f64::INFINITY, f64::min);
        assert!(least > 5.0, "{samples}: {least}");
    }
}

#[test]
fn the_windowed_warning_sees_a_late_fault_sooner_and_forgets_it_when_it_is_over() {
    let case = Case::benchmark().with_delay(2.0);
    let fault = Fault { kind: FaultKind::Delay(58), from: 4 * 4096, until: 6 * 4096, dof: None };
    let rig = FaultyRig::new(case.rig(), &[fault], 1, 1);
    let seen = run(&case, case.split_with(Box::new(rig), None), 16);
    let first =
        |level: f64, of: fn(&Seen) -> f64| seen.iter().find(|s| of(s) >= level).map(|s| s.t);
    let windowed = first(100.0, |s| s.windowed).expect("it is seen");
    let plain = first(100.0, |s| s.warning);
    println!("windowed at {windowed:.3} s, plain at {plain:?}");
    assert!((4.0..6.0).contains(&windowed));
    assert!(plain.is_none_or(|plain| plain > windowed));
    // One window after the fault is over it reads as recovered.
    let later: Vec<&Seen> = seen.iter().filter(|s| s.t > 9.5).collect();
    assert!(later.iter().all(|s| s.windowed < 30.0), "{}", later[0].windowed);
    let last = seen.last().unwrap();
    assert!(last.warning > last.windowed, "the plain one remembers: {}", last.warning);
}

#[test]
fn the_windowed_warning_counts_hysteresis_as_dissipation() {
    // A yielding storey takes most of the energy: a delay that is unstable for
    // small motions feeds less than the hysteresis takes while it yields.
    let case = Case::benchmark().with_storey_law(BOUC_WEN).with_delay(20.0);
    let seen = run(&case, case.split(), 8);
    let highest = seen.iter().map(|s| s.windowed).fold(0.0, f64::max);
    println!("highest windowed warning {highest:.1} %");
    assert!((5.0..100.0).contains(&highest), "{highest}");
}

#[test]
fn the_energy_error_is_the_work_between_the_two_displacements() {
    for samples in [2.0, 29.0] {
        let case = Case::benchmark().with_delay(samples);
        let seen = run(&case, case.split(), 6);
        let (mut work, mut last) = (0.0, (0.0, 0.0));
        let mut worst = 0.0f64;
        for s in &seen {
            work -= last.1 * (s.measured - last.0);
            last = (s.measured, s.force);
            // At its own instant.
            let expected = 100.0 * (work - s.feedback) / (s.input.max(0.0) + 1.0);
            worst = worst.max((s.energy_error - expected).abs());
        }
        let size = seen.iter().map(|s| s.energy_error.abs()).fold(0.0, f64::max);
        let end = seen.last().unwrap().energy_error;
        println!("{samples} samples: at most {size:.2} %, at the end {end:.2} %, off {worst:e} %");
        assert!(worst < 1e-9 * size, "{worst}");
        assert!(end < -2.0 * samples && size < 1000.0, "{samples}: {size} {end}");
    }
}

#[test]
fn tracking_finds_the_delay_of_the_rig_through_noise() {
    for samples in [1.0, 4.0, 10.0] {
        let case = Case::benchmark().with_noise(3).with_delay(samples);
        let seen = run(&case, case.split(), 12);
        let moving: Vec<&Seen> = seen.iter().filter(|s| (1.5..5.0).contains(&s.t)).collect();
        assert!(moving.iter().all(|s| s.valid));
        let worst = moving.iter().map(|s| (s.delay / STEP_S - samples).abs()).fold(0.0, f64::max);
        let off = moving.iter().map(|s| (s.amplitude - 1.0).abs()).fold(0.0, f64::max);
        println!("{samples} samples: off by at most {worst:.3} samples, {off:.4}");
        assert!(worst < 0.25 && off < 0.02, "{samples}: {worst} {off}");
        assert!(seen.iter().all(|s| s.delay.is_finite() && s.amplitude.is_finite()));
    }
}

#[test]
fn the_frequency_evaluation_index_finds_the_delay_of_the_rig_through_noise() {
    for samples in [1.0, 4.0, 10.0] {
        let case = Case::benchmark().with_noise(3).with_delay(samples);
        let seen = run(&case, case.split(), 12);
        // Once the first window is full, and while the motion stands well above the noise.
        let moving = seen.iter().filter(|s| (2.1..5.0).contains(&s.t));
        let told: Vec<(f64, f64)> =
            moving.map(|s| s.spectral.expect("there is motion enough")).collect();
        let worst =
            told.iter().map(|(late, _)| (late / STEP_S - samples).abs()).fold(0.0, f64::max);
        let off = told.iter().map(|(_, size)| (size - 1.0).abs()).fold(0.0, f64::max);
        println!("{samples} samples: off by at most {worst:.3} samples, {off:.4}");
        assert!(worst < 0.25 && off < 0.02, "{samples}: {worst} {off}");
    }
}
