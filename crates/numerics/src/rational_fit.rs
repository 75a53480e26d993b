//! Fitting b(s)/a(s) · e^{−sτ} to a measured frequency response.

mod order;
mod problem;
mod start;
#[cfg(test)]
mod tests;

pub use order::{Choice, OrderError, Simplest, choose_orders, schwarz, simplest};

use thiserror::Error;

use crate::eigen::{self, EigenError};
use crate::levenberg_marquardt::{LeastSquares, Minimum, minimise};
use crate::lti::{TransferFunction, TransferFunctionError};
use crate::{Complex, Matrix};
use problem::Problem;

/// Highest degree of a denominator that is fitted: beyond, the powers of s can
/// no longer be told apart within a band.
pub const HIGHEST_ORDER: usize = 12;

/// A response measured at some frequencies, with its uncertainty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResponseData {
    /// Angular frequencies, greater than zero.
    pub omega_rad_s: Vec<f64>,
    /// Response at each.
    pub response: Vec<Complex>,
    /// Standard deviation of each as a complex number; greater than zero.
    pub deviation: Vec<f64>,
    /// How the error of each correlates with those of the next lines, E[δ* δ′] over the product of
    /// their deviations; empty where all are independent.
    pub correlation: Vec<Vec<Complex>>,
}

/// Degrees of a transfer function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Orders {
    /// Degree of b.
    pub numerator: usize,
    /// Degree of a, greater than that of b.
    pub denominator: usize,
}

/// What is done about a pure delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PureDelay {
    /// The function has this one, in s; 0 for none.
    Fixed(f64),
    /// It is a parameter of the fit.
    Free,
}

/// A value with its standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// One standard deviation; 0 for a value that was given.
    pub deviation: f64,
}

/// Why there is no fit.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FitError {
    /// The degrees are not those of a strictly proper function.
    #[error(
        "a numerator of degree {numerator} over a denominator of degree {denominator} cannot be \
         fitted: use 1 ≤ denominator ≤ {HIGHEST_ORDER} and a numerator of lower degree"
    )]
    BadOrders {
        /// Degree of b.
        numerator: usize,
        /// Degree of a.
        denominator: usize,
    },
    /// There are too few lines.
    #[error("{lines} frequencies cannot determine {parameters} coefficients")]
    TooFewLines {
        /// Frequencies there are.
        lines: usize,
        /// Coefficients asked for.
        parameters: usize,
    },
    /// A frequency, response or deviation cannot be used.
    #[error("line {line} of the response is not usable: {value}")]
    BadLine {
        /// Position from 1.
        line: usize,
        /// What it holds.
        value: f64,
    },
    /// The linear start has no solution, or nothing follows from it.
    #[error("the response does not determine a transfer function of these degrees")]
    Singular,
    /// The coefficients make no transfer function.
    #[error(transparent)]
    TransferFunction(#[from] TransferFunctionError),
    /// The poles cannot be found.
    #[error(transparent)]
    Eigen(#[from] EigenError),
}

/// A fitted transfer function.
#[derive(Debug, Clone, PartialEq)]
pub struct RationalFit {
    /// b and a in descending powers of s, a with leading coefficient 1.
    pub function: TransferFunction,
    /// Numerator with its deviations, descending powers.
    pub numerator: Vec<Estimate>,
    /// Denominator with its deviations, descending powers; the first is 1.
    pub denominator: Vec<Estimate>,
    /// The pure delay.
    pub delay_s: Estimate,
    /// b(0)/a(0).
    pub dc_gain: Estimate,
    /// Delay at frequency zero, the pure one included: −dφ/dω.
    pub dc_delay_s: Estimate,
    /// The poles, slowest first.
    pub poles: Vec<Complex>,
    /// Sum of squares over degrees of freedom: near 1 where the deviations of
    /// the data explain the misfit.
    pub misfit: f64,
    /// Free parameters.
    pub parameters: usize,
    /// Lines fitted.
    pub lines: usize,
}

impl RationalFit {
    /// The value at s = jω, delay included.
    pub fn response(&self, omega_rad_s: f64) -> Complex {
        let turn = Complex::from_polar(1.0, -omega_rad_s * self.delay_s.value);
        self.function.response(omega_rad_s) * turn
    }

    /// Whether every pole decays.
    pub fn is_stable(&self) -> bool {
        self.poles.iter().all(|pole| pole.re < 0.0)
    }

    /// The largest deviation of a coefficient over its size: how well the least
    /// certain one is known. Infinite if one is not determined.
    pub fn worst_relative_deviation(&self) -> f64 {
        let coefficients = self.numerator.iter().chain(&self.denominator[1..]);
        let ratio = |estimate: &Estimate| match estimate.deviation / estimate.value.abs() {
            ratio if ratio.is_nan() => f64::INFINITY,
            ratio => ratio,
        };
        coefficients.map(ratio).fold(0.0, f64::max)
    }
}

/// Fits a transfer function of given degrees.
///
/// The start is linear least squares by Sanathanan and Koerner, a step that
/// repeats the equation error |b − H a|/σ with the weight 1/|a| of the step
/// before. From there Levenberg–Marquardt minimises Σ |b/a − H|²/σ², the
/// response's own error, in which noise has no bias. Frequency is scaled to the
/// band, so that coefficients that span decades become numbers near one.
///
/// References: Sanathanan & Koerner 1963, IEEE Trans. Autom. Control 8(1);
/// Pintelon & Schoukens 2012, System Identification, chapter 9.
pub fn fit(data: &ResponseData, orders: Orders, delay: PureDelay) -> Result<RationalFit, FitError> {
    let Orders { numerator, denominator } = orders;
    if denominator == 0 || denominator > HIGHEST_ORDER || numerator >= denominator {
        return Err(FitError::BadOrders { numerator, denominator });
    }
    data.check()?;
    let problem = Problem::new(data, orders, delay);
    let (lines, parameters) = (problem.lines(), problem.parameters());
    if 2 * lines <= parameters {
        return Err(FitError::TooFewLines { lines, parameters });
    }
    let found = start::start(&problem).and_then(|first| minimise(&problem, &first));
    let fitted = conclude(&problem, found.ok_or(FitError::Singular)?)?;
    match delay {
        // A motion before its command: there is no pure delay in this response.
        PureDelay::Free if fitted.delay_s.value < 0.0 => fit(data, orders, PureDelay::Fixed(0.0)),
        _ => Ok(fitted),
    }
}

impl ResponseData {
    /// Delay −dφ/dω by the slope of the unwrapped phase through the origin, no model in
    /// between, each line by its deviation.
    pub fn phase_slope(&self) -> Estimate {
        let (mut top, mut bottom, mut phase) = (0.0, 0.0, 0.0);
        let mut before: Option<Complex> = None;
        let mut weights = Matrix::zeros(2 * self.omega_rad_s.len(), 1);
        let lines = self.omega_rad_s.iter().zip(&self.response).zip(&self.deviation);
        for (line, ((&omega, &response), &deviation)) in lines.enumerate() {
            phase += before.map_or(response, |before| response / before).arg();
            before = Some(response);
            // Half of the complex variance is across, over the length: the phase's.
            let deviation = (deviation / response.norm()).max(1e-9);
            let certain = 2.0 / (deviation * deviation);
            top -= certain * omega * phase;
            bottom += certain * omega * omega;
            let across = response / response.norm() * certain.sqrt() * omega;
            (weights[2 * line], weights[2 * line + 1]) = (-across.im, across.re);
        }
        let variance = weights.dot(&self.correlated(&weights));
        Estimate { value: top / bottom, deviation: variance.max(0.0).sqrt() / bottom }
    }

    /// C w: the covariance C of the real and imaginary parts of all lines, each in units of its own
    /// deviation, times columns with an entry for each.
    fn correlated(&self, columns: &Matrix) -> Matrix {
        let mut all = columns.clone();
        for (line, next) in self.correlation.iter().enumerate() {
            for (other, c) in (line + 1..self.omega_rad_s.len()).zip(next) {
                let mut add = |into: usize, from: usize, im: f64| {
                    for column in 0..columns.ncols() {
                        let (x, y) = (columns[(2 * from, column)], columns[(2 * from + 1, column)]);
                        all[(2 * into, column)] += c.re * x - im * y;
                        all[(2 * into + 1, column)] += c.re * y + im * x;
                    }
                };
                add(line, other, -c.im);
                add(other, line, c.im);
            }
        }
        all
    }

    /// Independent real numbers that scatter as much as all the lines together.
    fn independent(&self) -> f64 {
        let lines = self.omega_rad_s.len();
        let pairs =
            |line: usize| self.correlation.get(line).into_iter().flatten().take(lines - 1 - line);
        let shared: f64 = (0..lines).flat_map(pairs).map(|c| 2.0 * c.norm_sqr()).sum();
        let all = lines as f64;
        2.0 * all * all / (all + shared)
    }

    fn check(&self) -> Result<(), FitError> {
        let bad = |line: usize, value: f64| Err(FitError::BadLine { line: line + 1, value });
        for line in 0..self.omega_rad_s.len() {
            let (omega, deviation) = (self.omega_rad_s[line], self.deviation[line]);
            if !(omega.is_finite() && omega > 0.0) {
                return bad(line, omega);
            }
            if !(deviation.is_finite() && deviation > 0.0) {
                return bad(line, deviation);
            }
            if !self.response[line].norm_sqr().is_finite() {
                return bad(line, self.response[line].norm());
            }
        }
        Ok(())
    }
}

/// From the scaled parameters to coefficients in s, with their deviations.
fn conclude(problem: &Problem<'_>, found: Minimum) -> Result<RationalFit, FitError> {
    let Minimum { parameters: p, cost, covariance, .. } = found;
    let Orders { numerator: m, denominator: n } = problem.orders;
    let (b, a) = problem.polynomials(&p);
    let (scale, count) = (problem.scale_rad_s, problem.parameters());
    let (covariance, taken) = covariance_of(problem, &p, covariance);
    let misfit = cost / (2.0 * problem.lines() as f64 - taken).max(1.0);
    // A misfit beyond the noise makes every bound wider, the misfit's own scatter does not.
    let scatter = (2.0 / problem.data.independent()).sqrt();
    let covariance = covariance * (1.0 + (misfit - 1.0 - 2.0 * scatter).max(0.0));
    // Of a quantity whose gradient has these entries, by place.
    let deviation = |gradient: &[(usize, f64)]| -> f64 {
        // An undetermined parameter matters only where it is used.
        let used = || gradient.iter().filter(|(_, g)| *g != 0.0);
        let pairs = used().flat_map(|(i, gi)| used().map(move |(j, gj)| (*i, *j, gi * gj)));
        let variance = pairs.fold(0.0, |sum, (i, j, g)| sum + g * covariance[(i, j)]);
        variance.max(0.0).sqrt() + if variance.is_nan() { f64::NAN } else { 0.0 }
    };
    let lead = a[n];
    let at_lead = problem.denominator_at(n);
    // c s^k / (a_n s^n), in units of the scale.
    let monic = |value: f64, at: Option<usize>, power: usize| -> Estimate {
        let unit = scale.powi((n - power) as i32);
        let own = at.map(|at| (at, unit / lead));
        let of_lead = (at_lead, -(value * unit / (lead * lead)));
        let gradient: Vec<_> = own.into_iter().chain([of_lead]).collect();
        Estimate { value: value * unit / lead, deviation: deviation(&gradient) }
    };
    let numerator: Vec<Estimate> = (0..=m).rev().map(|k| monic(b[k], Some(k), k)).collect();
    let mut denominator = vec![Estimate { value: 1.0, deviation: 0.0 }];
    denominator.extend((0..n).rev().map(|k| {
        let at = (k > 0).then(|| problem.denominator_at(k));
        monic(a[k], at, k)
    }));
    let (mut of_delay, mut slope) = (Vec::new(), a[1]);
    if m > 0 {
        of_delay = vec![(0, b[1] / (b[0] * b[0])), (1, -1.0 / b[0])];
        slope -= b[1] / b[0];
    }
    of_delay.push((problem.denominator_at(1), 1.0));
    let (pure, free_delay) = (problem.delay(&p), problem.fixed_delay.is_none());
    if free_delay {
        of_delay.push((count - 1, 1.0));
    }
    let values = |estimates: &[Estimate]| estimates.iter().map(|e| e.value).collect::<Vec<_>>();
    let function = TransferFunction::new(&values(&numerator), &values(&denominator))?;
    Ok(RationalFit {
        poles: poles(&function)?,
        function,
        numerator,
        denominator,
        delay_s: Estimate {
            value: pure / scale,
            deviation: if free_delay { deviation(&[(count - 1, 1.0 / scale)]) } else { 0.0 },
        },
        dc_gain: Estimate { value: b[0], deviation: deviation(&[(0, 1.0)]) },
        dc_delay_s: Estimate {
            value: (slope + pure) / scale,
            deviation: deviation(&of_delay) / scale,
        },
        misfit,
        parameters: count,
        lines: problem.lines(),
    })
}

/// The covariance of the parameters, and what they take of the sum of squares. With δ the errors
/// of the lines and G = (JᵀJ)⁻¹ the parameters err by G Jᵀ δ: their covariance is G Jᵀ C J G, which
/// is G where the lines are independent.
fn covariance_of(problem: &Problem<'_>, p: &[f64], gram: Option<Matrix>) -> (Matrix, f64) {
    let (rows, count) = (2 * problem.lines(), problem.parameters());
    let Some(gram) = gram else {
        return (Matrix::from_element(count, count, f64::NAN), count as f64);
    };
    let mut jacobian = Matrix::zeros(rows, count);
    problem.jacobian(p, &mut jacobian);
    let weights = &jacobian * gram;
    let correlated = problem.data.correlated(&weights);
    let taken = jacobian.dot(&correlated);
    (weights.tr_mul(&correlated), taken)
}

/// The poles of a transfer function, slowest first.
pub fn poles(function: &TransferFunction) -> Result<Vec<Complex>, EigenError> {
    let mut poles = eigen::eigenvalues(&function.state_space().a)?;
    poles.sort_by(|a, b| a.norm().total_cmp(&b.norm()));
    Ok(poles)
}
