//! Actions of the monitor and what only the operator may do.

use crate::common::benchmark::{Case, Trace, ground};
use keys::Stated;
use runtime::event::What;
use runtime::gate::TripKind;
use runtime::hybrid_loop::HybridLoop;
use runtime::interlock::{Phase, Response};
use runtime::monitor::{MonitorPlan, StabilityPlan};
use runtime::operator;

/// A delay beyond what is stable: the warning passes every level.
fn unstable(stability: StabilityPlan) -> Case {
    let mut case = Case::benchmark().with_delay(60.0);
    let stability_warning = Stated { value: stability, stated: true };
    case.watch = MonitorPlan { stability_warning, ..MonitorPlan::default() };
    case
}

fn run(stability: StabilityPlan) -> Trace {
    let case = unstable(stability);
    case.run(case.split(), 40_000)
}

#[test]
fn each_action_takes_its_own_way() {
    let held =
        run(StabilityPlan { warn_at: Some(0.5), hold_at: Some(0.8), ..StabilityPlan::default() });
    let ramped = run(StabilityPlan {
        warn_at: Some(0.5),
        ramp_down_at: Some(0.8),
        ..StabilityPlan::default()
    });
    let aborted =
        run(StabilityPlan { warn_at: Some(0.5), abort_at: Some(0.8), ..StabilityPlan::default() });
    let warned = run(StabilityPlan { warn_at: Some(0.5), ..StabilityPlan::default() });
    assert_eq!((warned.trip, warned.end), (None, Some(Phase::Running)));
    assert_eq!(warned.events.len(), 1);
    assert_eq!(warned.events[0].what, What::Warning);
    let (trip, time_s) = held.trip.unwrap();
    assert_eq!((trip.kind, trip.limit), (TripKind::StabilityWarning, 80.0));
    let tick = (time_s * 4096.0).round() as usize;
    for (trace, response) in
        [(&held, Response::Hold), (&ramped, Response::RampDown), (&aborted, Response::Abort)]
    {
        assert_eq!(trace.trip, held.trip, "the same tick, whatever the action");
        assert_eq!(trace.end, Some(Phase::Safe));
        let what: Vec<What> = trace.events.iter().map(|event| event.what).collect();
        assert_eq!(what, [What::Warning, What::Trip(response)]);
        assert_eq!(trace.events[1].tick as usize, tick);
    }
    let stood = held.command[tick - 1][0];
    assert!(stood.abs() > 1e-4);
    // Held for 0.05 s; ramped from the next tick on; aborted and over.
    assert!((tick..tick + 205).all(|tick| held.command[tick][0] == stood));
    assert_eq!(ramped.command[tick][0], stood);
    assert!(ramped.command[tick + 1][0].abs() < stood.abs());
    assert_eq!(*ramped.command.last().unwrap(), [0.0]);
    assert_eq!(aborted.command.len(), tick + 1);
    assert_eq!(aborted.command[tick][0], stood);
}

fn running() -> (Case, HybridLoop) {
    let case = Case::benchmark().with_delay(2.0);
    let mut hybrid = case.hybrid(case.split(), ground(case.step_s, 8192));
    (0..2000).for_each(|_| hybrid.tick());
    (case, hybrid)
}

fn finish(hybrid: &mut HybridLoop) {
    while !hybrid.is_over() {
        hybrid.tick();
    }
}

#[test]
fn the_operator_stops_holds_short_and_takes_an_aborted_rig_down() {
    let (_, mut hybrid) = running();
    operator::ramp_down(&mut hybrid);
    assert_eq!(hybrid.phase(), Phase::Running, "there is nothing to take down");
    operator::stop(&mut hybrid, Response::Hold);
    assert_eq!(hybrid.phase(), Phase::Holding);
    assert_eq!(hybrid.tripped().unwrap().0.kind, TripKind::Operator);
    (0..10).for_each(|_| hybrid.tick());
    assert_eq!(hybrid.phase(), Phase::Holding);
    operator::ramp_down(&mut hybrid);
    let before = hybrid.command().displacement[0];
    hybrid.tick();
    assert!(hybrid.command().displacement[0].abs() < before.abs());
    finish(&mut hybrid);
    assert_eq!(hybrid.command().displacement, [0.0]);
    let what: Vec<What> = hybrid.events().events.iter().map(|event| event.what).collect();
    assert_eq!(what, [What::Trip(Response::Hold), What::OperatorRampDown]);

    let (_, mut hybrid) = running();
    operator::stop(&mut hybrid, Response::Abort);
    assert!(hybrid.is_over());
    operator::ramp_down(&mut hybrid);
    assert!(!hybrid.is_over());
    finish(&mut hybrid);
    assert_eq!(hybrid.command().displacement, [0.0]);
}
