//! A virtual rig that becomes another one.

use crate::common::benchmark::{Case, servo};
use model::transfer::{ServoHydraulic, TransferSystem};

#[test]
fn a_change_into_the_same_rig_is_no_change() {
    let case = Case::benchmark().with_transfer(servo());
    let factors = ServoHydraulic::BENCHMARK.rescale_to(&ServoHydraulic::BENCHMARK, 1);
    let rig = case.rig().becoming(case.rig(), 700, factors);
    let changed = case.run(case.split_with(rig, None), 2048);
    let plain = case.run(case.split(), 2048);
    assert_eq!(changed.command, plain.command, "bit for bit");
    assert_eq!(changed.force, plain.force);
}

#[test]
fn the_motion_goes_on_where_the_rig_changes() {
    let case = Case::benchmark().with_transfer(servo());
    let softer = ServoHydraulic { servo_stiffness: 8.5e4, ..ServoHydraulic::BENCHMARK };
    let after = case.clone().with_transfer(TransferSystem::ServoHydraulic(softer));
    let factors = ServoHydraulic::BENCHMARK.rescale_to(&softer, 1);
    let rig = case.rig().becoming(after.rig(), 1000, factors);
    let run = case.run(case.split_with(rig, None), 2048);
    let x: Vec<f64> = run.measured.iter().map(|x| x[0]).collect();
    // Second differences: the acceleration has no jump beyond its usual changes.
    let jerk = |k: usize| (x[k + 1] - 3.0 * x[k] + 3.0 * x[k - 1] - x[k - 2]).abs();
    let usual = (900..990).chain(1010..1100).map(jerk).fold(0.0, f64::max);
    let at = (998..1004).map(jerk).fold(0.0, f64::max);
    assert!(at < 2.0 * usual, "{at:e} {usual:e}");
    let plain = case.run(case.split(), 2048);
    assert_eq!(run.measured[..1000], plain.measured[..1000]);
    assert_ne!(run.measured[1100], plain.measured[1100]);
}
