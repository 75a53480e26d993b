//! The slow complex modes of a generally damped component.
//!
//! With a real shift s > 0, Q = K + sB + s²M is positive definite for a passive
//! component, free-floating or not, and
//!   (z₁, z₂) ↦ q = Q⁻¹(B z₁ + M z₂ + s M z₁), v = s q − z₁
//! has the eigenvalues θ with λ = s − 1/θ: everything stays real. Rigid states
//! are taken out of every vector, so that λ = 0 never comes up.

use nalgebra::{Complex, DMatrix, DVector};
use numerics::eigen::{self, general_pairs};
use numerics::krylov::{self, Search};
use numerics::random::Stream;
use numerics::second_order::SecondOrder;
use numerics::sparse::{SparseError, SparseMatrix};

use super::super::{ReductionError, Result};
use super::StateChoice;
use super::system::{Factor, System};

/// Up to so many states the operator is written out and all modes are found.
const MOST_DENSE: usize = 1200;
/// Vectors that a step of the search for the modes of a larger component has, and most that it keeps.
const BLOCK: usize = 8;
const MOST_VECTORS: usize = 1600;
/// An imaginary part below this part of |λ| is none.
const REAL: f64 = 1e-9;

/// Eigenvalues nearer than this part of their size are one.
const ALIKE: f64 = 1e-6;
/// How far beside an eigenvalue, as a factor, its space is looked for.
const BESIDE: f64 = 1.0 + 1e-9;
/// Rounds of inverse iteration, each of which leaves a thousandth of what is not in the space.
const ROUNDS: usize = 6;

/// λ and the motion that belongs to it.
type Mode = (Complex<f64>, DVector<Complex<f64>>);

/// Modes kept, slowest first, λ with Im > 0 standing for a pair.
pub(super) struct StateModes {
    right: Vec<Mode>,
    /// As many, of the transposed matrices.
    left: Vec<Mode>,
}

impl StateModes {
    pub(super) fn of(system: &System<'_>, choice: StateChoice) -> Result<Self> {
        let inverse = Shifted::new(system)?;
        let find = |mirrored: bool| -> Result<Vec<Mode>> {
            let all = 2 * system.component.size() <= MOST_DENSE;
            let found = if all { inverse.all(mirrored) } else { inverse.slow(choice, mirrored) };
            let mut modes = chosen(found?, choice);
            if all {
                inverse.part(&mut modes, mirrored)?;
            }
            Ok(modes)
        };
        let right = find(false)?;
        if system.symmetric {
            return Ok(Self { left: right.clone(), right });
        }
        let mut free = find(true)?;
        let mut left = Vec::new();
        for (value, _) in &right {
            // The left mode of the same λ.
            let distance = |k: &usize| (free[*k].0 - value).norm();
            let best = (0..free.len()).min_by(|i, j| distance(i).total_cmp(&distance(j)));
            left.push(free.swap_remove(best.ok_or_else(|| not_found(left.len()))?));
        }
        Ok(Self { right, left })
    }

    /// λ, both of a pair.
    pub(super) fn values(&self) -> Vec<Complex<f64>> {
        let both = |&(value, _): &Mode| [value, value.conj()].into_iter().take(columns(value));
        self.right.iter().flat_map(both).collect()
    }

    /// Real and imaginary parts of the modes, or of the left ones, one column of
    /// unit length each; one for a real mode.
    pub(super) fn basis(&self, states: usize, mirrored: bool) -> DMatrix<f64> {
        let modes = if mirrored { &self.left } else { &self.right };
        let parts = modes.iter().zip(&self.right).flat_map(|((_, vector), (value, _))| {
            let parts = [vector.map(|entry| entry.re), vector.map(|entry| entry.im)];
            parts.into_iter().take(columns(*value))
        });
        let mut basis = DMatrix::zeros(states, self.values().len());
        for (mut column, part) in basis.column_iter_mut().zip(parts) {
            column.copy_from(&part.try_normalize(0.0).unwrap_or(part));
        }
        basis
    }

    /// Ψ ← Ψ + V Λ⁻¹ C⁻¹ Wᵀ F: what the kept modes carry of the flexibility.
    pub(super) fn remove_from(
        &self,
        system: &System<'_>,
        psi: &mut DMatrix<f64>,
        boundary: &[usize],
        mirrored: bool,
    ) {
        for ((value, right), (_, left)) in self.right.iter().zip(&self.left) {
            let (v, w) = if mirrored { (left, right) } else { (right, left) };
            let parts = [right.map(|entry| entry.re), right.map(|entry| entry.im)];
            let weighted = system.c_times(&DMatrix::from_columns(&parts), false);
            let products = left.iter().zip(weighted.row_iter());
            let modal: Complex<f64> =
                products.map(|(entry, row)| entry * Complex::new(row[0], row[1])).sum();
            let share = Complex::from(columns(*value) as f64) / (value * modal);
            for (mut column, &state) in psi.column_iter_mut().zip(boundary) {
                column += v.map(|entry| (entry * w[state] * share).re);
            }
        }
    }
}

/// Whether two eigenvalues are equal but for rounding.
fn are_alike(a: Complex<f64>, b: Complex<f64>) -> bool {
    (a - b).norm() <= ALIKE * b.norm()
}

/// Two for a pair, one for a real mode.
fn columns(value: Complex<f64>) -> usize {
    if value.im > 0.0 { 2 } else { 1 }
}

fn not_found(found: usize) -> ReductionError {
    SparseError::NoConvergence { found, wanted: found + 1, vectors: MOST_VECTORS }.into()
}

/// The shifted inverse.
struct Shifted<'a> {
    system: &'a System<'a>,
    shift: f64,
    factor: Factor,
}

impl<'a> Shifted<'a> {
    fn new(system: &'a System<'a>) -> Result<Self> {
        let shift = 0.2 * system.omega;
        let SecondOrder { mass, damping, stiffness } = &system.component.matrices;
        let q = SparseMatrix::sum(&[(1.0, stiffness), (shift, damping), (shift * shift, mass)]);
        Ok(Self { system, shift, factor: Factor::new(&q)? })
    }

    /// θ X, with the rigid states removed before and after.
    fn apply(&self, x: &DMatrix<f64>, mirrored: bool) -> DMatrix<f64> {
        let (s, omega) = (self.shift, self.system.omega);
        let n = self.system.component.size();
        let mut x = x.clone();
        self.system.without_rigid(&mut x, mirrored);
        let (z1, z2) = (x.rows(0, n).into_owned(), x.rows(n, n) * omega);
        let inertia = self.system.component.matrices.mass.times(&(z2 + &z1 * s));
        let mut q = self.system.damping_times(&z1, mirrored) + inertia;
        self.factor.solve(&mut q, mirrored);
        let v = (&q * s - z1) / omega;
        x.rows_mut(0, n).copy_from(&q);
        x.rows_mut(n, n).copy_from(&v);
        self.system.without_rigid(&mut x, mirrored);
        x
    }

    fn mode(&self, theta: Complex<f64>, vector: DVector<Complex<f64>>) -> Mode {
        (Complex::from(self.shift) - theta.inv(), vector)
    }

    /// All modes from the operator written out; the rigid ones have θ = 0.
    fn all(&self, mirrored: bool) -> Result<Vec<Mode>> {
        let states = 2 * self.system.component.size();
        let operator = self.apply(&DMatrix::identity(states, states), mirrored);
        let (thetas, vectors) = match general_pairs(&operator) {
            Ok(pairs) => pairs,
            // Of many equal eigenvalues there may be no vectors: `part` finds them.
            Err(_) => {
                let none = Complex::from(f64::NAN);
                (eigen::eigenvalues(&operator)?, DMatrix::from_element(states, states, none))
            }
        };
        let mut order: Vec<usize> = (0..states).collect();
        order.sort_by(|&i, &j| thetas[j].norm().total_cmp(&thetas[i].norm()));
        order.truncate(states - self.system.right_rigid.ncols());
        let mode = |k: usize| self.mode(thetas[k], vectors.column(k).into_owned());
        Ok(order.into_iter().map(mode).collect())
    }

    /// Vectors of modes that share an eigenvalue: a basis of the space that all of them span, by
    /// inverse iteration on all at once. Found one by one they may lie all but in one line.
    fn part(&self, modes: &mut [Mode], mirrored: bool) -> Result<()> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (k, (value, _)) in modes.iter().enumerate() {
            match groups.iter_mut().find(|group| are_alike(modes[group[0]].0, *value)) {
                Some(group) => group.push(k),
                None => groups.push(vec![k]),
            }
        }
        let is_vector = |k: usize| modes[k].1.iter().all(|entry| entry.norm().is_finite());
        groups.retain(|group| group.len() > 1 || !is_vector(group[0]));
        if groups.is_empty() {
            return Ok(());
        }
        let states = 2 * self.system.component.size();
        let operator = self.apply(&DMatrix::identity(states, states), mirrored).map(Complex::from);
        let mut random = Stream::new(4, "equal eigenvalues");
        for group in groups {
            let sum: Complex<f64> = group.iter().map(|&k| modes[k].0).sum();
            let theta = (self.shift - sum / group.len() as f64).inv();
            let shifted =
                &operator - DMatrix::from_diagonal_element(states, states, theta * BESIDE);
            let factor = shifted.lu();
            let start = |_, _| Complex::from(random.normal());
            let mut space = DMatrix::from_fn(states, group.len(), start);
            for _ in 0..ROUNDS {
                space = factor.solve(&space).ok_or(SparseError::Singular)?.qr().q();
            }
            for (&k, column) in group.iter().zip(space.column_iter()) {
                modes[k].1 = turned(modes[k].0, column.into_owned());
            }
        }
        Ok(())
    }

    /// The modes near the shift, as far as the choice reaches.
    fn slow(&self, choice: StateChoice, mirrored: bool) -> Result<Vec<Mode>> {
        let states = 2 * self.system.component.size();
        let mut reach = self.shift
            + match choice {
                StateChoice::Modulus { omega_rad_s } => omega_rad_s,
                StateChoice::Imaginary { omega_rad_s } => 2.0 * omega_rad_s,
                StateChoice::Number(_) => 2.0 * self.system.omega,
            };
        loop {
            let search = Search { beyond: reach.recip(), block: BLOCK, most: MOST_VECTORS };
            let found = krylov::largest(states, search, |x| self.apply(x, mirrored))?;
            let (thetas, vectors) = found.ok_or_else(|| not_found(0))?;
            let pairs = thetas.iter().zip(vectors.column_iter());
            let modes: Vec<Mode> =
                pairs.map(|(&theta, vector)| self.mode(theta, vector.into_owned())).collect();
            // A mode within |λ| ≤ ρ is within ρ + s of the shift.
            let is_known = |mode: &&Mode| mode.0.norm() + self.shift <= reach;
            let known = modes.iter().filter(is_known).count();
            match choice {
                StateChoice::Number(number) if known <= number => reach *= 2.0,
                _ => return Ok(modes),
            }
        }
    }
}

/// One of each pair, those the choice keeps, slowest first.
fn chosen(found: Vec<Mode>, choice: StateChoice) -> Vec<Mode> {
    let mut kept: Vec<Mode> = found
        .into_iter()
        .map(|(value, vector)| {
            let real = value.im.abs() <= REAL * value.norm();
            (if real { Complex::from(value.re) } else { value }, vector)
        })
        .filter(|(value, _)| match choice {
            StateChoice::Imaginary { omega_rad_s } => value.im <= omega_rad_s,
            StateChoice::Modulus { omega_rad_s } => value.norm() <= omega_rad_s,
            StateChoice::Number(_) => true,
        })
        .filter(|(value, _)| value.im >= 0.0)
        .map(|(value, vector)| (value, turned(value, vector)))
        .collect();
    kept.sort_by(|a, b| a.0.norm().total_cmp(&b.0.norm()));
    if let StateChoice::Number(number) = choice {
        let (mut count, mut last) = (0, Complex::ZERO);
        kept.retain(|(value, _)| {
            // Those that are equal are kept together.
            let fits = count < number || are_alike(last, *value);
            if fits {
                (count, last) = (count + columns(*value), *value);
            }
            fits
        });
    }
    kept
}

/// The phase at which the largest entry is real; a real mode is then real.
fn turned(value: Complex<f64>, vector: DVector<Complex<f64>>) -> DVector<Complex<f64>> {
    let largest = vector.iter().copied().max_by(|a, b| a.norm().total_cmp(&b.norm()));
    let largest = largest.filter(|value| value.norm() > 0.0).unwrap_or(Complex::ONE);
    let is_real = value.im == 0.0;
    vector.map(|entry| entry / largest).map(|entry| if is_real { entry.re.into() } else { entry })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reduction::Component;
    use crate::structure::{Ends, chain};

    #[test]
    fn the_krylov_search_finds_what_all_modes_hold() {
        let free = chain(&[2.0; 60], &[1e6; 59], &[3.0; 59], Ends::FreeFree).unwrap();
        let component = Component::from_structure(&free).unwrap();
        let component = component.with_damper(None, Some(20), 400.0).unwrap();
        let system = System::new(&component, 300.0).unwrap();
        assert_eq!((system.rigid_modes, system.right_rigid.ncols()), (1, 1));
        let inverse = Shifted::new(&system).unwrap();
        let all = inverse.all(false).unwrap();
        assert_eq!(all.len(), 2 * 60 - 1);
        for choice in [StateChoice::Modulus { omega_rad_s: 300.0 }, StateChoice::Number(9)] {
            let found = chosen(inverse.slow(choice, false).unwrap(), choice);
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
