//! The slow complex modes of a generally damped component.
//!
//! With a real shift s > 0, Q = K + sB + s²M is positive definite for a passive
//! component, free-floating or not, and
//!   (z₁, z₂) ↦ q = Q⁻¹(B z₁ + M z₂ + s M z₁), v = s q − z₁
//! has the eigenvalues θ with λ = s − 1/θ: everything stays real. Rigid states
//! are taken out of every vector, so that λ = 0 never comes up.

use nalgebra::{Complex, DMatrix, DVector};
use numerics::eigen::general_pairs;
use numerics::random::Stream;
use numerics::sparse::{Cholesky, Lu, SparseError, SparseMatrix};

use super::super::ReductionError;
use super::StateChoice;
use super::system::System;

/// Up to so many states the operator is written out and all modes are found.
const MOST_DENSE: usize = 1200;
/// Residual at which a mode of a larger component is taken.
const TOLERANCE: f64 = 1e-9;
/// Steps between two looks at the modes of a larger component.
const STEPS: usize = 20;
/// Most vectors of that search.
const MOST_VECTORS: usize = 1500;
/// An imaginary part below this part of |λ| is none.
const REAL: f64 = 1e-9;

/// Modes kept, slowest first, λ with Im > 0 standing for a pair.
pub(super) struct StateModes {
    /// λ, both of a pair.
    pub(super) values: Vec<Complex<f64>>,
    /// (λ, right, left), one of a pair.
    modes: Vec<Mode>,
    states: usize,
}

struct Mode {
    value: Complex<f64>,
    right: DVector<Complex<f64>>,
    left: DVector<Complex<f64>>,
}

impl StateModes {
    pub(super) fn of(system: &System<'_>, choice: StateChoice) -> Result<Self, ReductionError> {
        let shift = 0.2 * system.omega;
        let inverse = Shifted::new(system, shift)?;
        let states = 2 * system.component.size();
        let elastic = states - system.right_rigid.ncols();
        let find = |mirrored: bool| -> Result<Found, ReductionError> {
            let apply = |x: &DMatrix<f64>| inverse.apply(x, mirrored);
            if states <= MOST_DENSE {
                dense(&apply, states, elastic, shift)
            } else {
                krylov(&apply, states, choice, shift)
            }
        };
        let right = chosen(find(false)?, choice);
        let left = if system.symmetric { None } else { Some(chosen(find(true)?, choice)) };
        let mut modes = Vec::new();
        let mut values = Vec::new();
        let mut free: Vec<(Complex<f64>, DVector<Complex<f64>>)> = left.unwrap_or_default();
        for (value, vector) in right {
            let left = if system.symmetric {
                vector.clone()
            } else {
                // The left mode of the same λ.
                let near = |pair: &(Complex<f64>, _)| (pair.0 - value).norm();
                let best =
                    (0..free.len()).min_by(|&i, &j| near(&free[i]).total_cmp(&near(&free[j])));
                let Some(best) = best else {
                    return Err(SparseError::NoConvergence {
                        found: modes.len(),
                        wanted: modes.len() + 1,
                        vectors: states,
                    }
                    .into());
                };
                free.swap_remove(best).1
            };
            values.push(value);
            if value.im > 0.0 {
                values.push(value.conj());
            }
            modes.push(Mode { value, right: vector, left });
        }
        Ok(Self { values, modes, states })
    }

    /// Real and imaginary parts, one column each; one for a real mode.
    pub(super) fn right_basis(&self) -> DMatrix<f64> {
        self.basis(|mode| &mode.right)
    }

    pub(super) fn left_basis(&self) -> DMatrix<f64> {
        self.basis(|mode| &mode.left)
    }

    fn basis(&self, side: impl Fn(&Mode) -> &DVector<Complex<f64>>) -> DMatrix<f64> {
        let mut columns = Vec::new();
        for mode in &self.modes {
            let vector = side(mode);
            columns.push(vector.map(|value| value.re));
            if mode.value.im > 0.0 {
                columns.push(vector.map(|value| value.im));
            }
        }
        if columns.is_empty() {
            return DMatrix::zeros(self.states, 0);
        }
        for column in &mut columns {
            let length = column.norm();
            if length > 0.0 {
                *column /= length;
            }
        }
        DMatrix::from_columns(&columns)
    }

    /// Ψ ← Ψ + V Λ⁻¹ C⁻¹ Wᵀ F: what the kept modes carry of the flexibility.
    pub(super) fn remove_from(
        &self,
        system: &System<'_>,
        psi: &mut DMatrix<f64>,
        boundary: &[usize],
        mirrored: bool,
    ) {
        for mode in &self.modes {
            let (v, w) =
                if mirrored { (&mode.left, &mode.right) } else { (&mode.right, &mode.left) };
            let weighted = complex_product(|x| system.c_times(x), &mode.right);
            let modal: Complex<f64> =
                mode.left.iter().zip(weighted.iter()).map(|(a, b)| a * b).sum();
            let pair = if mode.value.im > 0.0 { 2.0 } else { 1.0 };
            for (column, &state) in boundary.iter().enumerate() {
                let factor = w[state] / (mode.value * modal) * pair;
                for (row, value) in v.iter().enumerate() {
                    psi[(row, column)] += (value * factor).re;
                }
            }
        }
    }
}

fn complex_product(
    times: impl Fn(&DMatrix<f64>) -> DMatrix<f64>,
    x: &DVector<Complex<f64>>,
) -> DVector<Complex<f64>> {
    let parts = DMatrix::from_fn(x.len(), 2, |i, k| if k == 0 { x[i].re } else { x[i].im });
    let product = times(&parts);
    DVector::from_fn(x.len(), |i, _| Complex::new(product[(i, 0)], product[(i, 1)]))
}

/// The shifted inverse.
struct Shifted<'a> {
    system: &'a System<'a>,
    shift: f64,
    factor: Factor,
}

enum Factor {
    Symmetric(Cholesky),
    General(Lu),
}

impl<'a> Shifted<'a> {
    fn new(system: &'a System<'a>, shift: f64) -> Result<Self, ReductionError> {
        let component = system.component;
        let q = SparseMatrix::sum(&[
            (1.0, &component.stiffness),
            (shift, &component.damping),
            (shift * shift, &component.mass),
        ]);
        let factor = match q.is_symmetric().then(|| Cholesky::new(&q)) {
            Some(Ok(factor)) => Factor::Symmetric(factor),
            // Non-symmetric, or with damping that feeds energy.
            _ => Factor::General(Lu::new(&q)?),
        };
        Ok(Self { system, shift, factor })
    }

    /// θ X, with the rigid states removed before and after.
    fn apply(&self, x: &DMatrix<f64>, mirrored: bool) -> DMatrix<f64> {
        let (s, omega) = (self.shift, self.system.omega);
        let component = self.system.component;
        let n = component.size();
        let mut x = x.clone();
        self.system.without_rigid(&mut x, mirrored);
        let (z1, z2) = (x.rows(0, n).into_owned(), x.rows(n, n) * omega);
        let damping = &component.damping;
        let damped = if mirrored { damping.transposed_times(&z1) } else { damping.times(&z1) };
        let mut q = damped + component.mass.times(&(z2 + &z1 * s));
        match &self.factor {
            Factor::Symmetric(factor) => factor.solve(&mut q),
            Factor::General(factor) if mirrored => factor.solve_transposed(&mut q),
            Factor::General(factor) => factor.solve(&mut q),
        }
        let v = (&q * s - z1) / omega;
        x.rows_mut(0, n).copy_from(&q);
        x.rows_mut(n, n).copy_from(&v);
        self.system.without_rigid(&mut x, mirrored);
        x
    }
}

type Found = Vec<(Complex<f64>, DVector<Complex<f64>>)>;

/// All modes from the operator written out; the rigid ones have θ = 0.
fn dense(
    apply: &dyn Fn(&DMatrix<f64>) -> DMatrix<f64>,
    states: usize,
    elastic: usize,
    shift: f64,
) -> Result<Found, ReductionError> {
    let operator = apply(&DMatrix::identity(states, states));
    let (thetas, vectors) = general_pairs(&operator)?;
    let mut order: Vec<usize> = (0..states).collect();
    order.sort_by(|&i, &j| thetas[j].norm().total_cmp(&thetas[i].norm()));
    order.truncate(elastic);
    Ok(order
        .into_iter()
        .map(|k| (Complex::from(shift) - thetas[k].inv(), vectors.column(k).into_owned()))
        .collect())
}

/// The slow modes by Arnoldi's method with full reorthogonalisation.
fn krylov(
    apply: &dyn Fn(&DMatrix<f64>) -> DMatrix<f64>,
    states: usize,
    choice: StateChoice,
    shift: f64,
) -> Result<Found, ReductionError> {
    let mut random = Stream::new(5, "damped modes");
    let start = apply(&DMatrix::from_fn(states, 1, |_, _| random.normal()));
    let mut vectors = vec![start.column(0).normalize()];
    let mut h = DMatrix::zeros(1, 0);
    loop {
        for _ in 0..STEPS {
            let last = DMatrix::from_column_slice(states, 1, vectors[vectors.len() - 1].as_slice());
            let mut next = apply(&last).column(0).into_owned();
            let m = vectors.len();
            h = h.resize(m + 1, m, 0.0);
            for _ in 0..2 {
                for (i, vector) in vectors.iter().enumerate() {
                    let along = vector.dot(&next);
                    h[(i, m - 1)] += along;
                    next.axpy(-along, vector, 1.0);
                }
            }
            let length = next.norm();
            h[(m, m - 1)] = length;
            vectors.push(if length > 0.0 { next / length } else { next });
        }
        let m = h.ncols();
        let (thetas, small) = general_pairs(&h.rows(0, m).into_owned())?;
        let residual = |k: usize| h[(m, m - 1)] * small[(m - 1, k)].norm() / thetas[k].norm();
        let value = |k: usize| Complex::from(shift) - thetas[k].inv();
        let mut order: Vec<usize> = (0..m).collect();
        // By distance from the shift: the order in which they converge.
        order.sort_by(|&i, &j| thetas[j].norm().total_cmp(&thetas[i].norm()));
        let converged = order.iter().take_while(|&&k| residual(k) < TOLERANCE).count();
        // Everything within this distance of the shift is known.
        let reach = converged.checked_sub(1).map_or(0.0, |last| 1.0 / thetas[order[last]].norm());
        let needed = match choice {
            StateChoice::Modulus { omega_rad_s } => omega_rad_s + shift,
            StateChoice::Imaginary { omega_rad_s } => 2.0 * omega_rad_s + shift,
            StateChoice::Number(_) => 0.0,
        };
        let enough = match choice {
            StateChoice::Number(number) => {
                // A mode within |λ| ≤ ρ is within ρ + s of the shift.
                let within = |k: &&usize| value(**k).norm() + shift <= reach;
                order[..converged].iter().filter(within).count() > number
            }
            _ => reach > needed,
        };
        if enough {
            let basis = DMatrix::from_columns(&vectors[..m]);
            return Ok(order[..converged]
                .iter()
                .map(|&k| {
                    let real = &basis * small.column(k).map(|c| c.re);
                    let imaginary = &basis * small.column(k).map(|c| c.im);
                    (value(k), real.zip_map(&imaginary, Complex::new))
                })
                .collect());
        }
        if vectors.len() > MOST_VECTORS || h[(m, m - 1)] == 0.0 {
            return Err(SparseError::NoConvergence {
                found: converged,
                wanted: converged + 1,
                vectors: vectors.len(),
            }
            .into());
        }
    }
}

/// One of each pair, those the choice keeps, slowest first.
fn chosen(found: Found, choice: StateChoice) -> Found {
    let mut kept: Found = found
        .into_iter()
        .map(|(value, vector)| {
            let real = value.im.abs() <= REAL * value.norm();
            (if real { Complex::from(value.re) } else { value }, vector)
        })
        .filter(|(value, _)| value.im >= 0.0)
        .filter(|(value, _)| match choice {
            StateChoice::Imaginary { omega_rad_s } => value.im <= omega_rad_s,
            StateChoice::Modulus { omega_rad_s } => value.norm() <= omega_rad_s,
            StateChoice::Number(_) => true,
        })
        .map(|(value, vector)| (value, turned(value, vector)))
        .collect();
    kept.sort_by(|a, b| a.0.norm().total_cmp(&b.0.norm()));
    if let StateChoice::Number(number) = choice {
        let mut count = 0;
        kept.retain(|(value, _)| {
            let fits = count < number;
            count += if value.im > 0.0 { 2 } else { 1 };
            fits
        });
    }
    kept
}

/// The phase at which the largest entry is real; a real mode is then real.
fn turned(value: Complex<f64>, vector: DVector<Complex<f64>>) -> DVector<Complex<f64>> {
    let largest = vector.iter().copied().max_by(|a, b| a.norm().total_cmp(&b.norm()));
    let largest = largest.filter(|value| value.norm() > 0.0).unwrap_or(Complex::ONE);
    let mut out = vector.map(|entry| entry / largest);
    if value.im == 0.0 {
        out = out.map(|entry| Complex::from(entry.re));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduction::Component;
    use crate::structure::{Ends, chain};

    #[test]
    fn the_krylov_search_finds_what_all_modes_hold() {
        let n = 60;
        let free = chain(&[2.0; 60], &[1e6; 59], &[3.0; 59], Ends::FreeFree).unwrap();
        let component = Component::from_structure(&free).unwrap();
        let component = component.with_damper(None, Some(20), 400.0).unwrap();
        let system = System::new(&component, 300.0).unwrap();
        assert_eq!((system.rigid_modes, system.right_rigid.ncols()), (1, 1));
        let shift = 60.0;
        let inverse = Shifted::new(&system, shift).unwrap();
        let apply = |x: &DMatrix<f64>| inverse.apply(x, false);
        let all = dense(&apply, 2 * n, 2 * n - 1, shift).unwrap();
        for choice in [StateChoice::Modulus { omega_rad_s: 300.0 }, StateChoice::Number(9)] {
            let found = chosen(krylov(&apply, 2 * n, choice, shift).unwrap(), choice);
            let wanted = chosen(all.clone(), choice);
            assert!(wanted.len() >= 5);
            assert_eq!(found.len(), wanted.len(), "{choice:?}");
            for (a, b) in found.iter().zip(&wanted) {
                assert!((a.0 - b.0).norm() < 1e-7 * b.0.norm(), "{} {}", a.0, b.0);
                assert!((&a.1 - &b.1).map(|x| x.norm()).amax() < 1e-5);
            }
        }
    }
}
