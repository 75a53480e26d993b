//! What a course and a streamed load cost a tick: run it with
//! `cargo test --release --workspace --test course_cost -- --ignored --nocapture`.

use std::time::Instant;

use crate::common::benchmark::{Case, ground, quick};
use runtime::hybrid_loop::HybridLoop;
use runtime::hybrid_loop::course::{Completing, CoursePlan, Initiating};
use runtime::interlock::Phase;
use runtime::load::Load;
use runtime::streamed_load::Feed;
use runtime::streamed_load::StreamPlan;

const TICKS: usize = 200_000;
const ROUNDS: usize = 21;

const PLAN: CoursePlan = CoursePlan {
    initiating: Some(Initiating {
        rate_m_s: 0.01,
        reach_m: 1e-3,
        fetch_ticks: 500,
        settle_ticks: 500,
        within_m: 1e-3,
    }),
    completing: Some(Completing { ring_down_ticks: 1000, rest: None, home_rate_m_s: 0.01 }),
};

/// Seconds per tick while the load acts.
fn time(mut hybrid: HybridLoop) -> f64 {
    while hybrid.phase() == Phase::Initiating {
        hybrid.tick();
    }
    let (begun, first) = (Instant::now(), hybrid.ticks());
    while hybrid.ticks() < first + TICKS as u64 - 10 {
        hybrid.tick();
    }
    assert_eq!(hybrid.phase(), Phase::Running);
    begun.elapsed().as_secs_f64() / (TICKS as f64 - 10.0)
}

#[test]
#[ignore = "a measurement, not a test"]
fn cost_of_a_course() {
    let case = Case::benchmark().with_transfer(quick());
    let load = ground(case.step_s, TICKS);
    let samples: Vec<f64> = (0..=TICKS).map(|tick| load.at(tick)[0]).collect();
    let stream = StreamPlan {
        bounds: vec![100.0],
        ticks_per_sample: 1,
        buffer_samples: TICKS + 1,
        prefill_samples: 100,
        bridge_ticks: 10,
        ease_ticks: 100,
        patience_ticks: 5000,
    };
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    // In turn, so that a slow moment of the machine meets all three.
    for _ in 0..ROUNDS {
        times[0].push(time(case.hybrid(case.split(), load.clone())));
        times[1].push(time(case.hybrid(case.split(), load.easing(100)).along(PLAN, None)));
        let (mut feed, taken) = Feed::new(&stream);
        feed.offer(&samples).unwrap();
        let unknown = Load::unknown(1, TICKS);
        times[2].push(time(case.hybrid(case.split(), unknown).along(PLAN, Some(taken))));
    }
    let [plain, staged, fed] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        1e9 * times[ROUNDS / 2]
    });
    println!("a tick: {plain:.1} ns; with phases {staged:.1} ns, {:.3} times", staged / plain);
    println!("with phases and a streamed load {fed:.1} ns, {:.3} times", fed / plain);
}
