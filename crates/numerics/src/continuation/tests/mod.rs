//! Known roots and branches: circle, cubic fold, Duffing's response, noise.

mod surrogate;

use std::convert::Infallible;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

struct Function<F>(F, usize);

impl<F: FnMut(&[f64]) -> Vec<f64>> Problem for Function<F> {
    type Error = Infallible;

    fn evaluate(&mut self, unknowns: &[f64]) -> Result<Evaluation, Infallible> {
        self.1 += 1;
        Ok(Evaluation::exact((self.0)(unknowns)))
    }
}

fn corrector(tolerance: f64) -> Corrector {
    Corrector {
        tolerance,
        floor: 2.5,
        most_iterations: 8,
        most_halvings: 4,
        refresh: Refresh::EveryPoint,
        difference: Difference { least: 1e-6, most: 0.3, over_noise: 10.0 },
    }
}

fn steps(most: f64, most_points: usize) -> Steps {
    Steps {
        first: 0.05,
        least: 1e-4,
        most,
        grow: 1.3,
        shrink: 0.5,
        most_turn_rad: 0.5,
        most_points,
    }
}

impl Continuation {
    /// Where the parameter turns back.
    pub(crate) fn folds(&self) -> Vec<Fold> {
        folds(&self.space, self.points())
    }
}

fn follow<P: Problem<Error = Infallible>>(run: &mut Continuation, problem: &mut P) -> End {
    for _ in 0..10_000 {
        if let Ok(Advance::Ended(end)) = run.advance(problem) {
            return end;
        }
    }
    panic!("no end after 10 000 tries");
}

fn arclength(steps: Steps) -> Course {
    Course::Arclength { steps, falling: false }
}

#[test]
fn a_circle_is_followed_around_both_folds() {
    let mut circle = Function(|u: &[f64]| vec![u[0] * u[0] + u[1] * u[1] - 1.0], 0);
    let space = Space::scaled(vec![1.0, 1.0]);
    let course = arclength(steps(0.2, 80));
    let mut run = Continuation::new(space, corrector(1e-10), course, vec![0.9, 0.3]);
    assert_eq!(follow(&mut run, &mut circle), End::MostPoints);
    for point in run.points() {
        assert!((norm(&point.unknowns) - 1.0).abs() < 1e-9);
    }
    let folds = run.folds();
    assert!(folds.len() >= 2, "{}", folds.len());
    for (k, fold) in folds.iter().enumerate() {
        let side = if k % 2 == 0 { 1.0 } else { -1.0 };
        assert!((fold.unknowns[1] - side).abs() < 1e-3, "{:?}", fold.unknowns);
        assert!(fold.unknowns[0].abs() < 0.02, "{:?}", fold.unknowns);
    }
}

/// Amplitude (in phase, quadrature) of a Duffing oscillator by one harmonic:
/// (1 − ω² + ¾γ r²) a + 2ζω b = F, (1 − ω² + ¾γ r²) b − 2ζω a = 0.
fn duffing(u: &[f64]) -> Vec<f64> {
    let (a, b, omega) = (u[0], u[1], u[2]);
    let k = 1.0 - omega * omega + 0.75 * 0.05 * (a * a + b * b);
    let c = 2.0 * 0.02 * omega;
    vec![k * a + c * b - 0.1, k * b - c * a]
}

/// Frequencies at which the closed-form amplitude equation has a double root.
fn duffing_folds() -> (f64, f64) {
    // ω as a function of r: ω² from a quadratic; its extrema are the folds.
    let omega_squared = |r: f64, sign: f64| {
        let k = 1.0 + 0.75 * 0.05 * r * r;
        let (z, f) = (4.0 * 0.02 * 0.02, 0.1);
        let p = k - 0.5 * z;
        let root = (p * p - (k * k - f * f / (r * r))).max(0.0).sqrt();
        p + sign * root
    };
    let mut least_upper = f64::INFINITY;
    let mut greatest_lower = 0.0_f64;
    for i in 300..24_000 {
        let r = 1e-4 * f64::from(i);
        let k = 1.0 + 0.75 * 0.05 * r * r;
        let real = (k - 8e-4).powi(2) >= k * k - 0.01 / (r * r);
        if !real {
            continue;
        }
        least_upper = least_upper.min(if r > 0.8 { omega_squared(r, 1.0) } else { f64::INFINITY });
        greatest_lower = greatest_lower.max(if r > 1.2 { omega_squared(r, -1.0) } else { 0.0 });
    }
    (least_upper.sqrt(), greatest_lower.sqrt())
}

#[test]
fn a_hardening_resonance_folds_where_the_closed_form_does() {
    let mut problem = Function(duffing, 0);
    let mut space = Space::scaled(vec![1.0, 1.0, 0.2]);
    space.high[2] = 1.6;
    space.low[2] = 0.5;
    let mut run =
        Continuation::new(space, corrector(1e-9), arclength(steps(0.15, 400)), vec![0.1, 0.0, 0.6]);
    assert_eq!(follow(&mut run, &mut problem), End::Bound);
    assert!((run.points().last().unwrap().parameter() - 1.6).abs() < 1e-12);
    let (low, high) = duffing_folds();
    let folds = run.folds();
    assert_eq!(folds.len(), 2);
    assert!((folds[0].unknowns[2] - high).abs() < 2e-3, "{} {high}", folds[0].unknowns[2]);
    assert!((folds[1].unknowns[2] - low).abs() < 2e-3, "{} {low}", folds[1].unknowns[2]);
}

#[test]
fn a_jacobian_that_is_kept_saves_evaluations() {
    let count = |refresh| {
        let mut problem = Function(duffing, 0);
        let mut space = Space::scaled(vec![1.0, 1.0, 0.2]);
        space.high[2] = 1.6;
        space.low[2] = 0.5;
        let method = Corrector { refresh, ..corrector(1e-6) };
        let course = arclength(steps(0.1, 400));
        let mut run = Continuation::new(space, method, course, vec![0.1, 0.0, 0.6]);
        assert_eq!(follow(&mut run, &mut problem), End::Bound);
        assert_eq!(run.folds().len(), 2);
        problem.1
    };
    let fresh = count(Refresh::EveryPoint);
    let kept = count(Refresh::WhenSlow { share: 0.3 });
    assert!(kept < fresh, "{kept} {fresh}");
}

/// The same with Gaussian noise on every residual.
struct Noisy {
    random: ChaCha8Rng,
    sigma: f64,
    evaluations: usize,
}

impl Problem for Noisy {
    type Error = Infallible;

    fn evaluate(&mut self, unknowns: &[f64]) -> Result<Evaluation, Infallible> {
        self.evaluations += 1;
        let mut residual = duffing(unknowns);
        for r in &mut residual {
            let sum: f64 = (0..12).map(|_| self.random.random::<f64>()).sum();
            *r += self.sigma * (sum - 6.0);
        }
        Ok(Evaluation { residual, scatter: vec![self.sigma; 2] })
    }
}

#[test]
fn noise_neither_stops_the_run_nor_hides_the_folds() {
    for seed in 0..6 {
        let mut problem =
            Noisy { random: ChaCha8Rng::seed_from_u64(seed), sigma: 3e-4, evaluations: 0 };
        let mut space = Space::scaled(vec![1.0, 1.0, 0.2]);
        space.high[2] = 1.6;
        space.low[2] = 0.5;
        let course = arclength(Steps { first: 0.1, least: 0.01, ..steps(0.15, 400) });
        let mut run = Continuation::new(space, corrector(1e-6), course, vec![0.1, 0.0, 0.6]);
        let end = follow(&mut run, &mut problem);
        assert_eq!(end, End::Bound, "seed {seed}: {} points", run.points().len());
        let (low, high) = duffing_folds();
        let folds = run.folds();
        let highest = folds.iter().map(|f| f.unknowns[2]).fold(0.0, f64::max);
        let lowest = folds.iter().map(|f| f.unknowns[2]).fold(9.0, f64::min);
        assert!((highest - high).abs() < 0.02, "seed {seed}: {highest} {high}");
        assert!((lowest - low).abs() < 0.02, "seed {seed}: {lowest} {low}");
    }
}

#[test]
fn nothing_outside_the_limits_is_tried() {
    let mut worst: f64 = 0.0;
    let mut outside = 0;
    let mut problem = Function(
        |u: &[f64]| {
            worst = worst.max((u[0] * u[0] + u[1] * u[1]).sqrt());
            outside += usize::from(u[2] < 0.8 || u[2] > 1.3);
            duffing(u)
        },
        0,
    );
    let mut space = Space::scaled(vec![1.0, 1.0, 0.2]);
    (space.low[2], space.high[2]) = (0.8, 1.3);
    space.radii.push((0, 2, 1.5));
    let mut run =
        Continuation::new(space, corrector(1e-6), arclength(steps(0.3, 400)), vec![0.2, 0.0, 0.8]);
    assert_eq!(follow(&mut run, &mut problem), End::Limit);
    assert!(run.points().len() > 5);
    assert_eq!(outside, 0);
    assert!(worst <= 1.5 && worst > 1.3, "{worst}");
}

#[test]
fn a_sweep_visits_its_values() {
    let values: Vec<f64> = (0..20).map(|k| 0.5 + 0.02 * f64::from(k)).collect();
    let space = Space::scaled(vec![1.0, 1.0, 0.2]);
    let course = Course::Sweep { values: values.clone() };
    let mut problem = Function(duffing, 0);
    let guess = vec![0.1, 0.0, 0.5];
    let mut run = Continuation::new(space, corrector(1e-9), course, guess);
    assert_eq!(follow(&mut run, &mut problem), End::Complete);
    let seen: Vec<f64> = run.points().iter().map(Point::parameter).collect();
    assert_eq!(seen, values);
}

#[test]
fn a_problem_without_a_root_says_so() {
    let mut none = Function(|u: &[f64]| vec![u[0] * u[0] + 1.0], 0);
    let space = Space::scaled(vec![1.0, 1.0]);
    let mut run =
        Continuation::new(space, corrector(1e-9), arclength(steps(0.1, 9)), vec![0.5, 0.0]);
    assert_eq!(follow(&mut run, &mut none), End::NoStart);
    let mut nan = Function(|_: &[f64]| vec![f64::NAN], 0);
    let space = Space::scaled(vec![1.0, 1.0]);
    let mut run =
        Continuation::new(space, corrector(1e-9), arclength(steps(0.1, 9)), vec![0.5, 0.0]);
    assert_eq!(follow(&mut run, &mut nan), End::NoStart);
}

#[test]
fn a_fold_seen_from_afar_has_a_wide_interval_that_holds_it() {
    let followed = |most: f64| {
        let mut space = Space::scaled(vec![1.0, 1.0, 0.2]);
        (space.low[2], space.high[2]) = (0.5, 1.6);
        let steps = Steps { most_turn_rad: 1.5, ..steps(most, 4000) };
        let mut run =
            Continuation::new(space, corrector(1e-9), arclength(steps), vec![0.1, 0.0, 0.6]);
        follow(&mut run, &mut Function(duffing, 0));
        run
    };
    let radius =
        |run: &Continuation, fold: &Fold| fold.of(|k| norm(&run.points()[k].unknowns[..2]));
    let fine = followed(0.02);
    for most in [0.15, 0.3, 0.6] {
        let run = followed(most);
        let (folds, truth) = (run.folds(), fine.folds());
        assert_eq!((folds.len(), truth.len()), (2, 2), "{most}");
        for (fold, truth) in folds.iter().zip(&truth) {
            let off = (fold.unknowns[2] - truth.unknowns[2]).abs();
            assert!(off < fold.interval + truth.interval, "{most}: {off} {}", fold.interval);
            assert!(fold.interval < 0.03 * most, "{most}: {}", fold.interval);
            let ((ours, interval), (exact, _)) = (radius(&run, fold), radius(&fine, truth));
            assert!((ours - exact).abs() < interval, "{most}: {ours} ± {interval}, {exact}");
        }
    }
}

#[test]
fn half_way_between_two_points_is_on_the_branch() {
    let mut circle = Function(|u: &[f64]| vec![u[0] * u[0] + u[1] * u[1] - 1.0], 0);
    let space = Space::scaled(vec![1.0, 1.0]);
    let run = Continuation::new(space, corrector(1e-12), arclength(steps(0.2, 80)), vec![0.9, 0.3]);
    let middle = run.between(&mut circle, &[1.0, 0.0], &[0.0, 1.0]).unwrap().unwrap();
    let exact = std::f64::consts::FRAC_1_SQRT_2;
    assert!((middle[0] - exact).abs() < 1e-9 && (middle[1] - exact).abs() < 1e-9, "{middle:?}");
    assert_eq!(run.between(&mut circle, &[1.0, 0.0], &[1.0, 0.0]), Ok(None));
    // A chord beside which there is nothing.
    assert_eq!(run.between(&mut circle, &[3.0, 0.0], &[3.0, 1.0]), Ok(None));
}
