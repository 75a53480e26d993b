//! Actions of the monitor and what only the operator may do.

use crate::common::benchmark::{Case, Trace, ground};
use runtime::event::What;
use runtime::gate::TripKind;
use runtime::hybrid_loop::HybridLoop;
use runtime::interlock::{Phase, Response};
use runtime::monitor::{IndicatorPlan, Levels};
use runtime::operator;

/// A delay beyond what is stable: the warning passes every level.
fn unstable(stability: Levels) -> Case {
    let mut case = Case::benchmark().with_delay(60.0);
    case.watch = IndicatorPlan { stability, ..IndicatorPlan::default() };
    case
}

fn run(stability: Levels) -> Trace {
    let case = unstable(stability);
    case.run(case.split(), 40_000)
}

#[test]
fn each_action_takes_its_own_way() {
    let held = run(Levels { warn: Some(50.0), hold: Some(80.0), ..Levels::default() });
    let ramped = run(Levels { warn: Some(50.0), ramp_down: Some(80.0), ..Levels::default() });
    let aborted = run(Levels { warn: Some(50.0), abort: Some(80.0), ..Levels::default() });
    let warned = run(Levels { warn: Some(50.0), ..Levels::default() });
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
