//! The paper's chirp: how well a predictor resamples a sine of rising frequency.

use std::f64::consts::TAU;

use model::motion::Motion;
use model::predictor::{Grid, Instant, Predictor, Surroundings};

use crate::assembly::Assembly;

/// Peak error within one period around `hertz` of a sine whose frequency rises
/// from 0 to 10 Hz in 10 s, resampled by the main loop's predictor from one sample of each
/// of its steps, in percent of the amplitude. `None` without a predictor of signals.
pub(super) fn error_percent(assembly: &Assembly, hertz: f64) -> Option<f64> {
    let (rates, tick_s) = (assembly.rates?, assembly.integrator.step_s);
    let ratio = rates.ratio;
    let grid = Grid { tick_s, ratio, first: 0.0, points: ratio, task: 0.0 };
    let surroundings = Surroundings {
        numerical: &assembly.substructures.numerical,
        specimen: &assembly.partition.specimen,
    };
    let mut predictor = Predictor::new(&rates.predictor, grid, 1, &surroundings).ok()?;
    let exact = |t: f64| {
        let (phase, rate) = (0.5 * TAU * t * t, TAU * t);
        let (sine, cosine) = phase.sin_cos();
        [sine, rate * cosine, TAU * cosine - rate * rate * sine]
    };
    let (mut interface, mut out) = (Motion::rest(1), Motion::rest(1));
    let (from, to) = (hertz - 0.5 / hertz, hertz + 0.5 / hertz);
    let mut worst = 0.0f64;
    for k in 0..10_000 / ratio {
        interface.set(0, exact((k * ratio) as f64 * tick_s));
        predictor.observe(&Instant {
            interface: &interface,
            displacement: &interface.displacement,
            velocity: &interface.velocity,
            force: &[0.0],
            load: &[0.0],
        });
        for point in 0..ratio {
            let t = (k * ratio + point) as f64 * tick_s;
            if t >= from && t < to {
                predictor.point(point, &mut out);
                worst = worst.max((out.displacement[0] - exact(t)[0]).abs());
            }
        }
    }
    Some(100.0 * worst)
}
