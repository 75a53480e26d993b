//! Exact discretisation of linear systems with held inputs.

use crate::Matrix;

/// The exact step of ẋ = A x + B u over one period.
///
/// `x[k+1] = transition x[k] + start u[k] + end u[k+1]`
#[derive(Debug, Clone, PartialEq)]
pub struct Discrete {
    /// e^{A h}.
    pub transition: Matrix,
    /// Weight of the input at the start of the step.
    pub start: Matrix,
    /// Weight of the input at its end; zero for a zero-order hold.
    pub end: Matrix,
}

/// Exact step for an input that keeps its value over the step.
pub fn zero_order_hold(a: &Matrix, b: &Matrix, step_s: f64) -> Discrete {
    let (transition, first, _) = integrals(a, b, step_s);
    let end = Matrix::zeros(first.nrows(), first.ncols());
    Discrete { transition, start: first, end }
}

/// Exact step for an input that runs straight from its value at the start to
/// its value at the end of the step.
pub fn first_order_hold(a: &Matrix, b: &Matrix, step_s: f64) -> Discrete {
    let (transition, first, second) = integrals(a, b, step_s);
    Discrete { transition, start: first - &second, end: second }
}

/// Largest entry of A h whose exponential is taken; the result is NaN beyond.
const LARGEST_ENTRY: f64 = 1e28;

/// e^{Ah}, ∫₀ʰ e^{A(h−t)}B dt and ∫₀ʰ e^{A(h−t)}B (t/h) dt.
///
/// All three are blocks of one exponential (Van Loan): the input and its slope
/// join the state. Singular A is no special case.
fn integrals(a: &Matrix, b: &Matrix, step_s: f64) -> (Matrix, Matrix, Matrix) {
    let (n, m) = (a.nrows(), b.ncols());
    let mut joined = Matrix::zeros(n + 2 * m, n + 2 * m);
    joined.view_mut((0, 0), (n, n)).copy_from(&(a * step_s));
    joined.view_mut((0, n), (n, m)).copy_from(&(b * step_s));
    joined.view_mut((n, n + m), (m, m)).copy_from(&Matrix::identity(m, m));
    // The exponential estimates tenth powers to choose its scaling; past this
    // they overflow, and it would square without end.
    let exponential =
        if joined.amax() <= LARGEST_ENTRY { joined.exp() } else { joined.map(|_| f64::NAN) };
    (
        exponential.view((0, 0), (n, n)).into_owned(),
        exponential.view((0, n), (n, m)).into_owned(),
        exponential.view((0, n + m), (n, m)).into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_order_lag_is_exact_for_both_holds() {
        // ẋ = −2x + u from x = 0.3: with u = 1 + 5t the solution is known.
        let (a, b) = (Matrix::from_element(1, 1, -2.0), Matrix::from_element(1, 1, 1.0));
        let h: f64 = 0.17;
        let held = zero_order_hold(&a, &b, h);
        let exact = 0.3 * (-2.0 * h).exp() + 0.5 * (1.0 - (-2.0 * h).exp());
        let x = held.transition[0] * 0.3 + held.start[0];
        assert!((x - exact).abs() < 1e-15);

        let ramp = first_order_hold(&a, &b, h);
        let particular = |t: f64| 2.5 * t - 0.75;
        let exact = (0.3 - particular(0.0)) * (-2.0 * h).exp() + particular(h);
        let x = ramp.transition[0] * 0.3 + ramp.start[0] + ramp.end[0] * (1.0 + 5.0 * h);
        assert!((x - exact).abs() < 1e-15);
    }

    #[test]
    fn a_double_integrator_is_no_special_case() {
        let a = Matrix::from_row_slice(2, 2, &[0.0, 1.0, 0.0, 0.0]);
        let b = Matrix::from_row_slice(2, 1, &[0.0, 1.0]);
        let held = zero_order_hold(&a, &b, 0.5);
        assert!((held.start[0] - 0.125).abs() < 1e-15 && (held.start[1] - 0.5).abs() < 1e-15);
    }

    #[test]
    fn entries_without_measure_give_nan_and_an_end() {
        for size in [1e29, 1e300, f64::INFINITY, f64::NAN] {
            let a = Matrix::from_element(2, 2, size);
            let held = zero_order_hold(&a, &Matrix::identity(2, 2), 1.0);
            assert!(held.transition.iter().all(|entry| entry.is_nan()), "{size}");
        }
        let stiff = zero_order_hold(
            &Matrix::from_element(1, 1, -1e20),
            &Matrix::from_element(1, 1, 1.0),
            1.0,
        );
        assert!(stiff.transition[0].abs() < 1e-12, "{stiff:?}");
    }
}
