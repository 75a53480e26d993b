//! The response of a transfer function to a held input.

use crate::block::hstack;
use crate::discretise::zero_order_hold;
use crate::linear_system::{LinearSystem, Time};
use crate::lti::TransferFunction;
use crate::{Matrix, Vector};

/// The exact output, sampled just before each new input acts, for an input that
/// is held from sample to sample, reaches the system `delay_s` late, and was
/// zero before. The system starts at rest.
///
/// A delay that is no whole number of periods is no approximation: within a
/// period the older input acts for the fraction and the newer one for the rest.
/// A delay that is negative or not a number counts as none.
pub fn held_response(
    function: &TransferFunction,
    delay_s: f64,
    input: &[f64],
    step_s: f64,
) -> Vec<f64> {
    let system = function.state_space();
    let late = (delay_s / step_s).max(0.0);
    let whole = late.floor();
    let fraction = late - whole;
    // `as` saturates: a delay beyond the input leaves the system at rest.
    let whole = whole as usize;
    let older = zero_order_hold(&system.a, &system.b, fraction * step_s);
    let newer = zero_order_hold(&system.a, &system.b, (1.0 - fraction) * step_s);
    // Driven by the older and the newer input of a period; the older one acts just before
    // a tick's own.
    let held = LinearSystem::new(
        &newer.transition * &older.transition,
        hstack(&[&(&newer.transition * &older.start), &newer.start]),
        system.c,
        hstack(&[&system.d, &Matrix::zeros(1, 1)]),
        Time::Step(step_s),
    );
    let mut state = Vector::zeros(held.states());
    let at = |tick: usize, late: usize| tick.checked_sub(late).map_or(0.0, |k| input[k]);
    let both = |tick: usize| [at(tick, whole.saturating_add(1)), at(tick, whole)];
    let mut output = |tick| held.step(&mut state, &Vector::from_column_slice(&both(tick)))[0];
    (0..input.len()).map(&mut output).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_a_lag_is_exact_for_any_delay() {
        let lag = TransferFunction::new(&[150.0], &[1.0, 50.0]).unwrap();
        let step_s = 0.01;
        let input = vec![2.0; 40];
        for delay_s in [0.0, 0.003, 0.01, 0.0247, -1.0] {
            let found = held_response(&lag, delay_s, &input, step_s);
            for (k, value) in found.iter().enumerate() {
                let local = (k as f64 * step_s - delay_s.max(0.0)).max(0.0);
                let exact = 6.0 * (1.0 - (-50.0 * local).exp());
                assert!((value - exact).abs() < 1e-12, "{delay_s} {k}: {value} {exact}");
            }
        }
        assert!(held_response(&lag, 1e300, &input, step_s).iter().all(|&y| y == 0.0));
    }

    #[test]
    fn a_direct_part_shows_the_sample_before() {
        let direct = TransferFunction::new(&[3.0], &[2.0]).unwrap();
        assert_eq!(held_response(&direct, 0.0, &[1.0, 2.0, 4.0], 0.1), [0.0, 1.5, 3.0]);
    }
}
