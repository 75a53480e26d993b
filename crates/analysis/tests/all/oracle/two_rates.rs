//! Loops at two rates, against the loop that runs: its motion from period to period.

use analysis::loop_stability::margins::margins;
use analysis::loop_stability::{Curve, LoopError, OpenLoop, TwoRateLoop};
use model::predictor::{Design as Prediction, Stages};
use model::rates::{ForceUse, Lead, Rates};
use nalgebra::DVector;
use runtime::frame::MotionDetail;
use runtime::hybrid_loop::HybridLoop;
use runtime::numerical::Plant;
use runtime::rig::LateForce;
use runtime::two_rate::{TwoRateModel, TwoRateParts};

use super::*;

fn rates(ratio: usize, task_ticks: usize, force: ForceUse, predictor: Prediction) -> Rates {
    let lead = Lead::HalfSample;
    Rates { ratio, task_ticks, force, lead, bridge: 0, predictor, step_time: None }
}

fn armed(description: &LoopDescription, rates: Rates, ticks: usize) -> HybridLoop {
    let LoopDescription { numerical, specimen, integrator, force_delay, .. } = description;
    let mut push = vec![0.0; ticks + 1];
    push[..60].fill(100.0);
    crate::loop_stability::running(description, push, |rig| {
        let model = TwoRateModel::new(TwoRateParts {
            rates,
            numerical,
            integrator,
            specimen,
            preview: None,
            direct_inertia: rig.direct_inertia(),
            seed: 0,
            detail: MotionDetail::Interface,
        });
        Plant::two_rate(model.unwrap(), LateForce::new(rig, *force_delay, specimen.count()))
    })
}

/// The exponent of the motion that is left at the end, from its samples one period apart.
fn left(description: &LoopDescription, rates: Rates, periods: usize) -> Complex<f64> {
    let ticks = periods * rates.ratio;
    let mut hybrid = armed(description, rates, ticks);
    let mut moved = Vec::new();
    for _ in 0..ticks {
        hybrid.tick();
        moved.push(hybrid.command().displacement[0]);
    }
    assert_eq!(hybrid.tripped(), None);
    // x₂ = p x₁ + q x₀ of a pair, least squares over the last samples.
    let last = &moved[ticks - 60 * rates.ratio..];
    let sample = |i: usize| last[i * rates.ratio];
    let matrix = DMatrix::from_fn(58, 2, |i, j| sample(i + 1 - j));
    let wanted = DVector::from_fn(58, |i, _| sample(i + 2));
    let found = matrix.svd(true, true).solve(&wanted, 1e-14).unwrap();
    let (p, q) = (found[0], found[1]);
    let root = Complex::from(0.25 * p * p + q).sqrt();
    let factor = 0.5 * p + root;
    assert!(root.re == 0.0, "no pair is left: {factor}");
    let s = factor.ln() / (rates.ratio as f64 * STEP_S);
    // Periods cannot tell whole turns within them; ticks can.
    let turned = |turns: i64| s + axis(TAU * turns as f64 / (rates.ratio as f64 * STEP_S));
    let share = |turns: &i64| {
        let per_tick = -turned(*turns) * STEP_S;
        let parts = last.iter().enumerate().map(|(tick, x)| (per_tick * tick as f64).exp() * x);
        parts.sum::<Complex<f64>>().norm()
    };
    let half = rates.ratio as i64 / 2;
    let turns = (-half..=half).filter(|turns| turned(*turns).im.abs() <= PI / STEP_S);
    let most = turns.max_by(|a, b| share(a).total_cmp(&share(b))).unwrap();
    Complex::new(s.re, turned(most).im.abs())
}

fn cases() -> Vec<(&'static str, LoopDescription, Rates)> {
    let slow = |rig| {
        let numerical = storeys(&[1000.0], &[4e4], &[300.0], &[ground(0)]);
        described(numerical, specimen(one(0.0), one(20.0), one(1.5e4)), rig, EXACT)
    };
    let two = |rig| {
        let numerical =
            storeys(&[900.0, 700.0], &[6e4, 5e4], &[300.0, 250.0], &[ground(0), between(0, 1)]);
        let stiffness = square([[9e3, -2e3], [-2e3, 7e3]]);
        described(
            numerical,
            specimen(
                square([[6.0, 1.0], [1.0, 4.0]]),
                square([[20.0, 0.0], [0.0, 10.0]]),
                stiffness,
            ),
            rig,
            EXACT,
        )
    };
    let fast = |rig| {
        let numerical = storeys(&[1000.0], &[1.4e8], &[4e4], &[ground(0)]);
        described(numerical, specimen(one(0.0), one(0.0), one(6e6)), rig, EXACT)
    };
    let with = |description: LoopDescription, compensator: Design| LoopDescription {
        compensator,
        ..description
    };
    let all = ForceUse::AllSamples;
    let lagrange = Prediction::Lagrange { order: 3, stages: Stages::One };
    let first = || Design::FirstOrder(FirstOrderDesign { gain: 1.0, lead_s: 0.006 });
    vec![
        ("hermite", slow(delay(6.0)), rates(8, 0, all, Prediction::Hermite)),
        ("hermite, task", slow(delay(6.0)), rates(8, 3, all, Prediction::Hermite)),
        ("whole task", slow(delay(3.0)), rates(5, 5, all, Prediction::Hermite)),
        ("lagrange, average", slow(actuator(0.0)), rates(10, 2, ForceUse::Average, lagrange)),
        ("held force", slow(delay(2.0)), rates(6, 1, ForceUse::Last, Prediction::Hermite)),
        ("model", slow(delay(11.0)), rates(7, 2, all, Prediction::ModelBased)),
        ("compensated", with(slow(delay(9.0)), first()), rates(9, 4, all, Prediction::Hermite)),
        (
            "differences of the acceleration",
            with(
                slow(delay(9.0)),
                inverse(&delay_series::<4>(1.0, 0.006), DerivativeSource::Motion),
            ),
            rates(9, 0, all, Prediction::Hermite),
        ),
        ("unstable", slow(delay(40.0)), rates(8, 2, all, Prediction::Hermite)),
        ("two DOFs", two(delay(5.0)), rates(6, 2, all, Prediction::Hermite)),
        ("two DOFs at once", two(TransferSystem::Ideal), rates(4, 1, all, Prediction::Hermite)),
        (
            "late force",
            LoopDescription { force_delay: 3, ..two(delay(4.0)) },
            rates(6, 0, all, Prediction::PredictedAcceleration),
        ),
        ("faster than the main loop", fast(delay(2.0)), rates(12, 0, all, Prediction::Hermite)),
        ("every tick", slow(delay(8.0)), rates(1, 0, all, Prediction::Hermite)),
    ]
}

#[test]
fn the_slowest_motion_at_two_rates_is_what_is_left_of_the_run() {
    let mut unstable = 0;
    for (name, description, rates) in cases() {
        let joined = TwoRateLoop::new(&description, &rates).unwrap();
        let (growing, motion) = joined.dominant().unwrap();
        let told = motion.unwrap().exponent;
        // As long as the others need to fade, and the numbers do not run out.
        let seconds = (25.0 / told.re.abs()).min(120.0);
        let periods = ((seconds / STEP_S) as usize / rates.ratio).max(80);
        let found = left(&description, rates, periods);
        assert!((found.re - told.re).abs() < 2e-3 * told.re.abs(), "{name}: {found} {told}");
        assert!((found.im / told.im - 1.0).abs() < 1e-4, "{name}: {found} {told}");
        assert_eq!(growing, if found.re > 0.0 { 2 } else { 0 }, "{name}");
        unstable += usize::from(growing > 0);
    }
    assert!(unstable > 0, "{unstable}");
}

#[test]
fn one_tick_beyond_the_margin_a_loop_at_two_rates_grows() {
    let mut found = 0;
    for (name, description, rates) in cases() {
        let later = |ticks: usize| {
            let later = LoopDescription {
                force_delay: description.force_delay + ticks,
                ..description.clone()
            };
            TwoRateLoop::new(&later, &rates).unwrap().dominant().unwrap().0
        };
        let Some(ticks) =
            TwoRateLoop::new(&description, &rates).unwrap().delay_margin_ticks().unwrap()
        else {
            assert_eq!(later(200), 0, "{name}");
            continue;
        };
        if later(0) > 0 {
            assert_eq!(ticks, 0, "{name}");
            continue;
        }
        assert_eq!((later(ticks), later(ticks + 1)), (0, 2), "{name}: {ticks}");
        found += 1;
    }
    assert!(found > 5, "{found}");
}

/// A factor on the force is one on the specimen: a little beyond the gain margin the loop grows.
#[test]
fn at_the_gain_margin_a_loop_at_two_rates_neither_grows_nor_decays() {
    let mut found = 0;
    for (name, description, rates) in cases() {
        // A predictor with a model of the specimen would change with it.
        if rates.predictor == Prediction::ModelBased {
            continue;
        }
        let growing = |factor: f64| {
            let mut scaled = description.clone();
            let SecondOrder { mass, damping, stiffness } = &mut scaled.specimen.matrices;
            [mass, damping, stiffness].into_iter().for_each(|matrix| *matrix *= factor);
            TwoRateLoop::new(&scaled, &rates).unwrap().dominant().unwrap().0
        };
        let joined = TwoRateLoop::new(&description, &rates).unwrap();
        let Some(open) = joined.open_loop().unwrap() else { panic!("{name}: too large") };
        let curve = Curve::follow(&open).unwrap();
        assert_eq!(curve.growing, growing(1.0), "{name}");
        let margins = TwoRateLoop::margins(&open, &curve).unwrap();
        for (factor, hertz) in [margins.gain_above, margins.gain_below].into_iter().flatten() {
            let (inside, beyond) = (factor.powf(0.999), factor.powf(1.001));
            assert_eq!(growing(inside), 0, "{name}: ×{factor} at {hertz} Hz");
            assert!(growing(beyond) > 0, "{name}: ×{factor} at {hertz} Hz");
            found += 1;
        }
    }
    assert!(found > 5, "{found}");
}

/// With a ratio of one and no task time it is the ordinary loop.
#[test]
fn a_ratio_of_one_has_the_margins_of_the_ordinary_loop() {
    let numerical = storeys(&[1000.0, 800.0], &[4e5, 3e5], &[900.0, 800.0], &[ground(1)]);
    let spring = specimen(one(0.0), one(300.0), one(1.5e5));
    let description = described(numerical, spring, delay(3.0), Method::RungeKutta4);
    let rates = Rates { lead: Lead::None, ..rates(1, 0, ForceUse::Last, Prediction::Hermite) };
    let joined = TwoRateLoop::new(&description, &rates).unwrap();
    let open = joined.open_loop().unwrap().unwrap();
    let found = TwoRateLoop::margins(&open, &Curve::follow(&open).unwrap()).unwrap();
    let open = OpenLoop::sampled(&description).unwrap();
    let told = margins(&open, &Curve::follow(&open).unwrap()).unwrap();
    let close = |a: Option<(f64, f64)>, b: Option<(f64, f64)>| match (a, b) {
        (Some(a), Some(b)) => (a.0 / b.0 - 1.0).abs() < 1e-5 && (a.1 / b.1 - 1.0).abs() < 1e-5,
        (a, b) => a == b,
    };
    assert!(told.phase.is_some() && told.gain_above.is_some(), "{told:?}");
    assert!(close(found.phase, told.phase), "{found:?} {told:?}");
    assert!(close(found.gain_above, told.gain_above), "{found:?} {told:?}");
    assert!(close(found.gain_below, told.gain_below), "{found:?} {told:?}");
}

/// With a ratio of one and no task time it is the ordinary loop.
#[test]
fn a_ratio_of_one_has_the_motions_of_the_ordinary_loop() {
    for samples in [3.0, 30.0] {
        let numerical = storeys(&[1000.0, 800.0], &[4e5, 3e5], &[900.0, 800.0], &[ground(1)]);
        // Without mass, which would feel the acceleration of the predicted motion.
        let spring = specimen(one(0.0), one(300.0), one(1.5e5));
        let description = described(numerical, spring, delay(samples), Method::RungeKutta4);
        let rates = Rates { lead: Lead::None, ..rates(1, 0, ForceUse::Last, Prediction::Hermite) };
        let (growing, motion) = TwoRateLoop::new(&description, &rates).unwrap().dominant().unwrap();
        let wired = Wired::of(&description, 0);
        assert_eq!(growing, wired.growing(1.0));
        assert!(
            near(motion.unwrap().exponent, wired.slowest(), 1e-6),
            "{samples}: {motion:?} {}",
            wired.slowest()
        );
    }
}

/// So many registers that only the largest eigenvalues are sought.
#[test]
fn a_long_delay_at_two_rates_is_judged_by_its_largest_eigenvalues() {
    let (_, description, rates) = cases().swap_remove(0);
    let told = |samples: f64| {
        let late = LoopDescription { transfer_system: delay(samples), ..description.clone() };
        TwoRateLoop::new(&late, &rates).unwrap().dominant().unwrap()
    };
    let (growing, motion) = told(190.0);
    let late = LoopDescription { transfer_system: delay(190.0), ..description.clone() };
    let s = motion.unwrap().exponent;
    let periods = ((25.0 / s.re.abs()).min(120.0) / STEP_S) as usize / rates.ratio;
    let found = left(&late, rates, periods);
    assert!((found.re - s.re).abs() < 5e-3 * s.re.abs(), "{found} {s}");
    assert!((found.im / s.im - 1.0).abs() < 1e-3, "{found} {s}");
    assert_eq!(growing > 0, found.re > 0.0);
    let endless = LoopDescription { transfer_system: delay(9000.0), ..description.clone() };
    let refused = TwoRateLoop::new(&endless, &rates).unwrap().dominant();
    assert!(matches!(refused, Err(LoopError::TooLarge { .. })), "{refused:?}");
}
