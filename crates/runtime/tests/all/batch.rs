//! Four loops in step give the bits of four loops on their own.

use crate::common;
use crate::common::benchmark::{Case, ground};
use model::compensator::{AdaptiveInverseDesign, Design, FirstOrderDesign};
use model::sensor::Converter;
use model::transfer::{ServoHydraulic, TransferSystem};
use numerics::lanes::LANES;
use runtime::batch::{BatchLoop, View};
use runtime::hybrid_loop::HybridLoop;
use runtime::hybrid_loop::course::CoursePlan;
use runtime::load::Load;
use runtime::monitor::WorkRule;
use runtime::rig::{LateForce, RigSlot};

/// Displacements, desired, measured, force and warning of one tick.
type Seen = Vec<f64>;

const TICKS: usize = 6000;

/// The benchmark with another plant and other noise in every lane.
fn case(lane: usize) -> Case {
    let mut servo = ServoHydraulic::BENCHMARK;
    servo.leakage += 0.7 * lane as f64;
    servo.servo_stiffness *= 1.0 - 0.01 * lane as f64;
    let mut case = Case::benchmark().with_transfer(TransferSystem::ServoHydraulic(servo));
    case.partition.specimen.matrices.stiffness *= 1.0 + 0.02 * lane as f64;
    case.converter = Converter { quantum: 2f64.powi(-18), saturation: 3.8 };
    case.displacement_noise = 16e-6;
    case.force_noise = 2.18;
    case.seed = 40 + lane as u64;
    case
}

fn arm(case: &Case) -> HybridLoop {
    case.hybrid(case.split(), ground(case.step_s, TICKS))
}

fn alone(mut hybrid: HybridLoop) -> Vec<Seen> {
    let mut seen = Vec::new();
    while !hybrid.is_over() && hybrid.tripped().is_none() {
        let mut tick = hybrid.source().numerical.displacement().to_vec();
        tick.push(hybrid.source().numerical.desired().displacement[0]);
        hybrid.tick();
        tick.push(hybrid.measured().displacement[0]);
        tick.push(hybrid.measured().force[0]);
        tick.push(hybrid.monitor().stability_warning);
        seen.push(tick);
    }
    seen
}

fn in_batch(loops: &[HybridLoop]) -> Option<BatchLoop> {
    BatchLoop::new(&loops.iter().collect::<Vec<_>>())
}

fn together(loops: &[HybridLoop]) -> (Vec<Vec<Seen>>, [bool; LANES]) {
    let batch = || in_batch(loops).expect("plain loops");
    let mut seen = [vec![Vec::new(); LANES], vec![Vec::new(); LANES]];
    let [wide, narrow] = &mut seen;
    let troubled = batch().run(&mut |view: &View<'_>| keep(view, wide));
    let plain = batch().run_narrow(&mut |view: &View<'_>| keep(view, narrow));
    assert_eq!(troubled, plain);
    let sound = (0..LANES).filter(|lane| !troubled[*lane]);
    sound.for_each(|lane| assert!(seen[0][lane] == seen[1][lane], "wide and narrow, lane {lane}"));
    let [wide, _] = seen;
    (wide, troubled)
}

fn keep(view: &View<'_>, seen: &mut [Vec<Seen>]) {
    for (lane, seen) in seen.iter_mut().enumerate() {
        let mut tick: Seen = view.displacement.iter().map(|x| x[lane]).collect();
        let rest = [view.desired, view.measured, view.force, view.warning];
        tick.extend(rest.iter().map(|value| value[lane]));
        seen.push(tick);
    }
}

fn assert_same(cases: &[Case], arm: impl Fn(&Case) -> HybridLoop) {
    let loops: Vec<HybridLoop> = cases.iter().map(&arm).collect();
    let (seen, troubled) = together(&loops);
    assert_eq!(troubled, [false; LANES]);
    for (lane, (case, seen)) in cases.iter().zip(&seen).enumerate() {
        let alone = alone(arm(case));
        assert_eq!(alone.len(), seen.len());
        for (tick, (alone, seen)) in alone.iter().zip(seen).enumerate() {
            assert_eq!(alone, seen, "lane {lane} at tick {tick}");
        }
        assert!(alone.iter().any(|tick| tick[tick.len() - 1] > 0.0), "SW was seen");
    }
}

#[test]
fn every_lane_has_the_bits_of_its_own_loop() {
    for rule in [WorkRule::Held, WorkRule::Trapezoid] {
        let cases: Vec<Case> = (0..LANES).map(|lane| Case { rule, ..case(lane) }).collect();
        assert_same(&cases, arm);
    }
}

#[test]
fn compensators_and_late_forces_are_those_of_each_loop() {
    let default = AdaptiveInverseDesign { latency_samples: 1.5, ..AdaptiveInverseDesign::GENERIC };
    let first = FirstOrderDesign { gain: 1.0, lead_s: 0.02 };
    for design in [Design::AdaptiveInverse(default), Design::FirstOrder(first)] {
        for samples in [0, 1, 3] {
            let cases: Vec<Case> =
                (0..LANES).map(|lane| case(lane).with_compensator(design.clone())).collect();
            assert_same(&cases, |case| {
                let rig = LateForce::new(case.rig(), samples, 1);
                let plant = case.split_with(RigSlot::Late(Box::new(rig)), None);
                case.hybrid(plant, ground(case.step_s, TICKS))
            });
        }
    }
}

#[test]
fn lanes_may_have_loads_of_their_own() {
    let cases: Vec<Case> = (0..LANES).map(case).collect();
    assert_same(&cases, |case| {
        let scale = 1.0 + 0.1 * case.seed as f64;
        let shared = ground(case.step_s, TICKS);
        let series: Vec<f64> = (0..=TICKS).map(|tick| scale * shared.at(tick)[0]).collect();
        case.hybrid(case.split(), Load::new(&[series], TICKS))
    });
}

#[test]
fn a_lane_that_meets_a_limit_is_troubled_and_the_others_are_not() {
    for meddle in [
        (|case| case.limits.command = vec![1e-3]) as fn(&mut Case),
        |case| case.limits.rate = vec![1e-2],
        |case| case.limits.force = vec![500.0],
        |case| case.limits.tracking_error = vec![2e-4],
        |case| case.stop_at = 1.0,
        |case| case.limits.force = vec![f64::NAN],
        |case| case.displacement_noise = f64::INFINITY,
    ] {
        let mut cases: Vec<Case> = (0..LANES).map(case).collect();
        meddle(&mut cases[2]);
        let loops: Vec<HybridLoop> = cases.iter().map(arm).collect();
        let (seen, troubled) = together(&loops);
        assert_eq!(troubled, [false, false, true, false]);
        assert!(alone(arm(&cases[2])).len() < TICKS, "its own loop trips too");
        assert_eq!(seen[3], alone(arm(&cases[3])));
    }
}

#[test]
fn loops_that_are_not_plain_are_refused() {
    let plain: Vec<Case> = (0..LANES).map(case).collect();
    for other in [
        plain[1].clone().with_delay(4.0),
        plain[1].clone().with_specimen_law(common::benchmark::BILINEAR),
    ] {
        let mut cases = plain.clone();
        cases[1] = other;
        let loops: Vec<HybridLoop> = cases.iter().map(arm).collect();
        assert!(in_batch(&loops).is_none());
    }
    let mut loops: Vec<HybridLoop> = plain.iter().map(arm).collect();
    loops[0] = arm(&plain[0]).along(CoursePlan { initiating: None, completing: None }, None);
    assert!(in_batch(&loops).is_none(), "what comes before and after the load");
    let mut loops: Vec<HybridLoop> = plain.iter().map(arm).collect();
    loops[3].tick();
    assert!(in_batch(&loops).is_none(), "a loop that has ticked");
    assert!(in_batch(&loops[..3]).is_none(), "too few");
}
