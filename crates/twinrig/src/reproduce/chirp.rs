//! The paper's chirp: how well a predictor resamples a sine of rising frequency.

use std::f64::consts::TAU;

use model::equations::{Equations, RelativeDof};
use model::motion::Motion;
use model::predictor::{Design, Grid, Instant, Predictor, Surroundings};
use model::specimen::Specimen;
use nalgebra::DMatrix;
use numerics::second_order::SecondOrder;

/// Period of the fine signal, s.
const TICK_S: f64 = 1e-3;

/// Peak error within one period around `hertz` of a sine whose frequency rises
/// from 0 to 10 Hz in 10 s, resampled from every `ratio`-th of its samples, in
/// percent of the amplitude. `None` for a predictor that needs a model.
pub(super) fn chirp_error_percent(design: Design, ratio: usize, hertz: f64) -> Option<f64> {
    let grid = Grid { tick_s: TICK_S, ratio, first: 0.0, points: ratio, task: 0.0 };
    let one = |value: f64| DMatrix::from_element(1, 1, value);
    // Nothing that a predictor of signals would look at.
    let numerical = Equations {
        matrices: SecondOrder { mass: one(1.0), damping: one(0.0), stiffness: one(0.0) },
        load: DMatrix::zeros(1, 0),
        interface: vec![RelativeDof::of_dof(0)],
        elements: Vec::new(),
        states: None,
    };
    let specimen = Specimen {
        matrices: SecondOrder { mass: one(0.0), damping: one(0.0), stiffness: one(0.0) },
        elements: Vec::new(),
    };
    let surroundings = Surroundings { numerical: &numerical, specimen: &specimen };
    if design == Design::ModelBased {
        return None;
    }
    let mut predictor = Predictor::new(&design, grid, 1, &surroundings).ok()?;
    let exact = |t: f64| {
        let (phase, rate) = (0.5 * TAU * t * t, TAU * t);
        let (sine, cosine) = phase.sin_cos();
        [sine, rate * cosine, TAU * cosine - rate * rate * sine]
    };
    let (mut interface, mut out) = (Motion::rest(1), Motion::rest(1));
    let (from, to) = (hertz - 0.5 / hertz, hertz + 0.5 / hertz);
    let mut worst = 0.0f64;
    for k in 0..10_000 / ratio {
        interface.set(0, exact((k * ratio) as f64 * TICK_S));
        predictor.observe(&Instant {
            interface: &interface,
            displacement: &interface.displacement,
            velocity: &interface.velocity,
            force: &[0.0],
            load: &[],
        });
        for point in 0..ratio {
            let t = (k * ratio + point) as f64 * TICK_S;
            if t >= from && t < to {
                predictor.point(point, &mut out);
                worst = worst.max((out.displacement[0] - exact(t)[0]).abs());
            }
        }
    }
    Some(100.0 * worst)
}
