//! Branches under noise, and slopes without.

use super::super::*;

/// A noisy problem whose root is known: the surrogate averages over neighbours.
struct Hidden {
    stream: crate::random::Stream,
    noise: f64,
    evaluations: usize,
}

impl Problem for Hidden {
    type Error = std::convert::Infallible;

    fn evaluate(&mut self, u: &[f64]) -> Result<Evaluation, Self::Error> {
        self.evaluations += 1;
        // (x, y) = (p, p²) with a mixed, slightly curved residual.
        let (a, b) = (u[0] - u[2], u[1] - u[2] * u[2]);
        let residual = vec![
            a + 0.3 * b + 0.1 * a * a + self.noise * self.stream.normal(),
            b - 0.2 * a + 0.1 * b * a + self.noise * self.stream.normal(),
        ];
        Ok(Evaluation { residual, scatter: vec![self.noise; 2] })
    }
}

#[test]
fn a_surrogate_follows_a_branch_that_noise_hides_from_differences() {
    let course = |n: usize| Course::Sweep { values: (0..n).map(|k| 0.03 * k as f64).collect() };
    let corrector = Corrector {
        tolerance: 1e-6,
        floor: 2.5,
        most_iterations: 8,
        most_halvings: 3,
        refresh: Refresh::EveryPoint,
        difference: Difference { least: 0.01, most: 0.2, over_noise: 10.0 },
    };
    let worst = |rule: Option<SurrogateRule>| {
        let stream = crate::random::Stream::new(3, "noise");
        let mut problem = Surrogate::new(Hidden { stream, noise: 0.03, evaluations: 0 }, rule);
        let space = Space::scaled(vec![1.0; 3]);
        let mut run = Continuation::new(space, corrector, course(30), vec![0.0, 0.0, 0.0]);
        while !matches!(run.advance(&mut problem), Ok(Advance::Ended(_))) {}
        let errors = run.points().iter().map(|p| {
            let u = &p.unknowns;
            (u[0] - u[2]).hypot(u[1] - u[2] * u[2])
        });
        let squares: f64 = errors.map(|e| e * e).sum();
        (
            (squares / run.points().len() as f64).sqrt(),
            run.points().len(),
            problem.inner.evaluations,
        )
    };
    let (plain, _, plain_cost) = worst(None);
    let rule = SurrogateRule { scale: vec![1.0; 3], most: 60 };
    let (smooth, points, cost) = worst(Some(rule));
    assert_eq!(points, 30);
    assert!(smooth < 0.6 * plain, "{smooth} {plain}");
    assert!(cost < plain_cost, "{cost} {plain_cost}");
}

#[test]
fn a_surrogate_of_an_exact_problem_has_its_slope() {
    let stream = crate::random::Stream::new(3, "noise");
    let rule = SurrogateRule { scale: vec![1.0; 3], most: 60 };
    let mut problem = Surrogate::new(Hidden { stream, noise: 0.0, evaluations: 0 }, Some(rule));
    for k in 0..40 {
        let t = f64::from(k);
        let u = [0.2 * (0.7 * t).sin(), 0.2 * (1.3 * t).cos(), 0.2 * (2.1 * t).sin()];
        problem.evaluate(&u).unwrap();
    }
    let at = [0.05, 0.02, -0.03];
    let value = problem.evaluate(&at).unwrap();
    let rows = problem.jacobian(&at, 0..3).unwrap();
    let exact = |u: &[f64; 3]| {
        let (a, b) = (u[0] - u[2], u[1] - u[2] * u[2]);
        [a + 0.3 * b + 0.1 * a * a, b - 0.2 * a + 0.1 * b * a]
    };
    for (row, entries) in rows.row_iter().enumerate() {
        assert!((value.residual[row] - exact(&at)[row]).abs() < 1e-4);
        for (column, entry) in entries.iter().enumerate() {
            let side = |sign: f64| {
                let mut moved = at;
                moved[column] += sign * 1e-5;
                exact(&moved)[row]
            };
            let slope = (side(1.0) - side(-1.0)) / 2e-5;
            assert!((entry - slope).abs() < 0.02, "{row} {column}: {entry} {slope}");
        }
    }
}
