//! Eigenvalues of small complex matrices, such as a loop gain at one frequency.

use nalgebra::{Complex, DMatrix};

/// Rounds of the simultaneous iteration; it converges cubically.
const ROUNDS: usize = 200;

/// All eigenvalues, in no particular order. For a dozen rows at most: the
/// characteristic polynomial, which is what this goes through, loses the digits
/// of larger matrices.
///
/// One and two rows have closed forms. Beyond, Faddeev and LeVerrier's recurrence
/// gives the polynomial of the matrix scaled to unit size, and Aberth's iteration
/// all of its roots. The error is some ε times the largest eigenvalue to a power
/// that falls with the distance between eigenvalues.
pub fn eigenvalues(matrix: &DMatrix<Complex<f64>>) -> Vec<Complex<f64>> {
    match matrix.nrows() {
        0 => Vec::new(),
        1 => vec![matrix[(0, 0)]],
        2 => {
            let (a, b, c, d) = (matrix[(0, 0)], matrix[(0, 1)], matrix[(1, 0)], matrix[(1, 1)]);
            let (half, product) = (0.5 * (a + d), a * d - b * c);
            let root = ((0.5 * (a - d)) * (0.5 * (a - d)) + b * c).sqrt();
            // The larger one first, so that the smaller does not cancel.
            let sign = if (half.conj() * root).re < 0.0 { -1.0 } else { 1.0 };
            let large = half + sign * root;
            let small = if large == Complex::ZERO { large } else { product / large };
            vec![large, small]
        }
        _ => {
            if matrix.iter().any(|x| !(x.re.is_finite() && x.im.is_finite())) {
                return vec![Complex::new(f64::NAN, f64::NAN); matrix.nrows()];
            }
            let size = matrix.iter().map(|x| x.norm()).fold(0.0, f64::max);
            if size == 0.0 {
                return vec![Complex::ZERO; matrix.nrows()];
            }
            let scaled = matrix.map(|x| x / size);
            roots(&characteristic(&scaled)).into_iter().map(|root| root * size).collect()
        }
    }
}

/// Coefficients of det(λI − A), ascending, the leading one left out.
fn characteristic(a: &DMatrix<Complex<f64>>) -> Vec<Complex<f64>> {
    let n = a.nrows();
    let mut coefficients = vec![Complex::ZERO; n];
    let mut m = DMatrix::<Complex<f64>>::identity(n, n);
    for k in 1..=n {
        let product = a * &m;
        let c = -product.trace() / k as f64;
        coefficients[n - k] = c;
        m = product;
        for i in 0..n {
            m[(i, i)] += c;
        }
    }
    coefficients
}

/// Roots of the monic polynomial with these coefficients, by Aberth's iteration.
fn roots(coefficients: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let n = coefficients.len();
    let size = coefficients
        .iter()
        .enumerate()
        .map(|(k, c)| c.norm().powf(1.0 / (n - k) as f64))
        .fold(f64::MIN_POSITIVE, f64::max);
    // On a circle that is no symmetry of the polynomial.
    let mut roots: Vec<Complex<f64>> = (0..n)
        .map(|k| Complex::from_polar(size, std::f64::consts::TAU * k as f64 / n as f64 + 0.4))
        .collect();
    for _ in 0..ROUNDS {
        let mut moved = 0.0f64;
        for i in 0..n {
            let x = roots[i];
            let (mut value, mut slope): (Complex<f64>, Complex<f64>) =
                (Complex::ONE, Complex::ZERO);
            for c in coefficients.iter().rev() {
                slope = slope * x + value;
                value = value * x + c;
            }
            if value == Complex::ZERO {
                continue;
            }
            let others: Complex<f64> =
                (0..n).filter(|&j| j != i && roots[j] != x).map(|j| (x - roots[j]).inv()).sum();
            let step = (slope / value - others).inv();
            if step.re.is_finite() && step.im.is_finite() {
                roots[i] -= step;
                moved = moved.max(step.norm());
            }
        }
        if moved <= 1e-15 * size {
            break;
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn a_turned_diagonal_gives_its_diagonal() {
        let mut random = Stream::new(2, "complex_eigen");
        for n in 1..=8 {
            for _ in 0..20 {
                let mut number =
                    || Complex::new(random.uniform() - 0.5, random.uniform() - 0.5) * 4.0;
                let wanted: Vec<Complex<f64>> = (0..n).map(|_| number()).collect();
                let turn = DMatrix::from_fn(n, n, |i, j| {
                    number() * 0.2 + if i == j { Complex::ONE } else { Complex::ZERO }
                });
                let inverse = turn.clone().try_inverse().unwrap();
                let diagonal = DMatrix::from_diagonal(&nalgebra::DVector::from_vec(wanted.clone()));
                let found = eigenvalues(&(turn * diagonal * inverse));
                assert_eq!(found.len(), n);
                for value in wanted {
                    let near = found.iter().map(|f| (f - value).norm()).fold(f64::MAX, f64::min);
                    assert!(near < 1e-6, "{n}: {value} {near:e}");
                }
            }
        }
    }

    #[test]
    fn rank_one_and_zero_and_not_a_number() {
        let ones = DMatrix::from_element(4, 4, Complex::new(0.0, 2.0));
        let mut found = eigenvalues(&ones);
        found.sort_by(|a, b| b.norm().total_cmp(&a.norm()));
        assert!((found[0] - Complex::new(0.0, 8.0)).norm() < 1e-9, "{found:?}");
        // A triple zero carries the cube root of the rounding.
        assert!(found[1].norm() < 1e-3, "{found:?}");
        assert_eq!(eigenvalues(&DMatrix::zeros(3, 3)), vec![Complex::ZERO; 3]);
        let nan = DMatrix::from_element(3, 3, Complex::new(f64::NAN, 0.0));
        assert!(eigenvalues(&nan).iter().all(|x| x.re.is_nan()));
        let two = DMatrix::from_row_slice(2, 2, &[1e8, 1.0, 0.0, 1e-8].map(Complex::from));
        assert!((eigenvalues(&two)[1] - 1e-8).norm() < 1e-22);
    }
}
