//! The equations an integrator solves.

use nalgebra::{Complex, DMatrix, DVector};
use numerics::block::{hstack, vstack};
use numerics::eigen::{self, EigenError};
use numerics::second_order::{SecondOrder, companion, inverted};
use numerics::solve;

use crate::element::Element;
use crate::first_order::FirstOrder;

/// The deformation between two DOFs, or the motion of one DOF against the
/// ground: `x[to] − x[from]`. Interfaces and elements are both of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelativeDof {
    /// DOF that counts negative; `None` is the ground.
    pub from: Option<usize>,
    /// DOF that counts positive; `None` is the ground.
    pub to: Option<usize>,
}

impl RelativeDof {
    /// Motion of one DOF against the ground.
    pub fn of_dof(dof: usize) -> Self {
        Self { from: None, to: Some(dof) }
    }

    /// Its value for the displacements (or velocities, or accelerations) `x`.
    #[inline]
    pub fn value(&self, x: &[f64]) -> f64 {
        self.to.map_or(0.0, |i| x[i]) - self.from.map_or(0.0, |i| x[i])
    }

    /// The vector b with `value = bᵀx`; a force f acts on the structure as b f.
    pub fn direction(&self, size: usize) -> DVector<f64> {
        let mut direction = DVector::zeros(size);
        for (dof, sign) in [(self.to, 1.0), (self.from, -1.0)] {
            dof.into_iter().for_each(|i| direction[i] += sign);
        }
        direction
    }
}

/// An element and where it acts.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectedElement {
    /// The deformation that drives it and takes its force.
    pub place: RelativeDof,
    /// The element.
    pub element: Element,
}

/// M ẍ + C ẋ + K x + r(x) = L s(t) − B f, or E ẏ = A y + L s(t) − B f − r(x).
///
/// `s` are the scalar load signals and L their patterns, `f` the force measured
/// at the interface, `r` the nonlinear elements. M, C and K need not be
/// symmetric. In first order y = (x, v, …): displacements of the DOFs, their
/// velocities, and whatever else the model has; B and the elements act on the
/// rows of the displacements.
#[derive(Debug, Clone, PartialEq)]
pub struct Equations {
    /// M, invertible, C, and K without the nonlinear elements; zero where the equations
    /// are of first order.
    pub matrices: SecondOrder,
    /// L: one column per load signal, one row per equation.
    pub load: DMatrix<f64>,
    /// Interface DOFs, the columns of B.
    pub interface: Vec<RelativeDof>,
    /// r.
    pub elements: Vec<ConnectedElement>,
    /// E and A, of equations that have no second-order form.
    pub states: Option<Box<Descriptor>>,
}

/// E ẏ = A y, E invertible. The DOFs' displacements come first in y, then their
/// velocities, then all other states.
#[derive(Debug, Clone, PartialEq)]
pub struct Descriptor {
    /// E.
    pub e: DMatrix<f64>,
    /// A.
    pub a: DMatrix<f64>,
}

impl Equations {
    /// Number of DOFs.
    pub fn size(&self) -> usize {
        self.matrices.mass.nrows()
    }

    /// Number of states: displacements, velocities, and those beside.
    pub fn state_count(&self) -> usize {
        self.states.as_ref().map_or(2 * self.size(), |states| states.a.nrows())
    }

    /// B: one column per interface DOF.
    pub fn interface_matrix(&self) -> DMatrix<f64> {
        directions(&self.interface, self.size())
    }

    /// One column per nonlinear element.
    pub fn element_matrix(&self) -> DMatrix<f64> {
        let places: Vec<_> = self.elements.iter().map(|e| e.place).collect();
        directions(&places, self.size())
    }

    /// The same equations with something linear added between the interface DOFs,
    /// such as a specimen.
    pub fn joined(&self, added: &SecondOrder) -> Self {
        let mut joined = self.clone();
        joined.add(&self.interface, added, 1.0);
        joined
    }

    /// The same equations without something linear between the interface DOFs.
    pub fn without(&self, taken: &SecondOrder) -> Self {
        let mut left = self.clone();
        left.add(&self.interface, taken, -1.0);
        left
    }

    /// Adds something linear between some deformations.
    fn add(&mut self, places: &[RelativeDof], added: &SecondOrder, sign: f64) {
        let n = self.size();
        let b = directions(places, n);
        let add = |to: &mut DMatrix<f64>, column: usize, matrix: &DMatrix<f64>, sign: f64| {
            let mut block = to.view_mut((0, column), (n, n));
            block += sign * (&b * matrix * b.transpose());
        };
        let SecondOrder { mass, damping, stiffness } = added;
        if let Some(states) = &mut self.states {
            // f = M v̇ + C v + K x acts on the rows of the displacements.
            add(&mut states.e, n, mass, sign);
            add(&mut states.a, n, damping, -sign);
            add(&mut states.a, 0, stiffness, -sign);
        } else {
            add(&mut self.matrices.mass, 0, mass, sign);
            add(&mut self.matrices.damping, 0, damping, sign);
            add(&mut self.matrices.stiffness, 0, stiffness, sign);
        }
    }

    /// The equations with every nonlinear element at its steepest: what the
    /// stability of an explicit algorithm and the convergence of an implicit one
    /// rest on.
    pub fn steepest(&self) -> Self {
        self.with_springs(Element::greatest_stiffness)
    }

    /// The linear equations a small motion sees: every element as a spring of
    /// its initial stiffness.
    pub fn linearised(&self) -> Self {
        self.with_springs(Element::initial_stiffness)
    }

    fn with_springs(&self, slope: impl Fn(&Element) -> f64) -> Self {
        let mut linear = Self { elements: Vec::new(), ..self.clone() };
        let none = DMatrix::zeros(1, 1);
        for placed in &self.elements {
            let stiffness = DMatrix::from_element(1, 1, slope(&placed.element));
            let spring = SecondOrder { mass: none.clone(), damping: none.clone(), stiffness };
            linear.add(&[placed.place], &spring, 1.0);
        }
        linear
    }

    /// ẏ = A y + B s + H f + N r with y = (x, v, …); `None` where M or E has no
    /// inverse in numbers.
    pub fn first_order(&self) -> Option<FirstOrder> {
        let n = self.size();
        let (b, elements) = (self.interface_matrix(), self.element_matrix());
        let Some(states) = &self.states else {
            let SecondOrder { mass, damping, stiffness } = &self.matrices;
            let inverse = inverted(mass)?;
            let lower = |block: DMatrix<f64>| vstack(&[&DMatrix::zeros(n, 0), &block]);
            return Some(FirstOrder {
                dynamics: companion(&inverse, damping, stiffness),
                load: lower(&inverse * &self.load),
                held: lower(-&inverse * b),
                elements: lower(-&inverse * elements),
            });
        };
        let right = hstack(&[&states.a, &self.load, &-b, &-elements]);
        let solved = solve::solved(states.e.clone(), &right)?;
        let mut at = 0;
        let mut take = |width: usize| {
            at += width;
            solved.columns(at - width, width).into_owned()
        };
        Some(FirstOrder {
            dynamics: take(states.a.ncols()),
            load: take(self.load.ncols()),
            held: take(self.interface.len()),
            elements: take(self.elements.len()),
        })
    }

    /// The roots λ of the linearised equations, symmetric or not, of second or of
    /// first order, in no particular order. Where the undamped modes diagonalise
    /// the damping they follow from those, which costs an eighth.
    pub fn eigenvalues(&self) -> Result<Vec<Complex<f64>>, EigenError> {
        let linear = self.linearised();
        if let Some(values) = linear.modal_eigenvalues() {
            return Ok(values);
        }
        let singular = EigenError::MassNotPositiveDefinite(0);
        eigen::eigenvalues(&linear.first_order().ok_or(singular)?.dynamics)
    }

    fn modal_eigenvalues(&self) -> Option<Vec<Complex<f64>>> {
        if !self.has_energies() {
            return None;
        }
        let SecondOrder { mass, damping, stiffness } = &self.matrices;
        let modes = eigen::symmetric_modes(stiffness, mass).ok()?;
        let damping = modes.shapes.tr_mul(&(damping * &modes.shapes));
        let diagonal = damping.diagonal();
        if (&damping - DMatrix::from_diagonal(&diagonal)).amax() > 1e-12 * diagonal.amax() {
            return None;
        }
        let roots = |k: usize| {
            let (half, square) = (0.5 * diagonal[k], modes.omega_rad_s[k].powi(2));
            let root = Complex::new(half * half - square, 0.0).sqrt();
            // The smaller of two real roots from the product of both.
            let large = -half - root * if half < 0.0 { -1.0 } else { 1.0 };
            if large.norm() == 0.0 { [large, large] } else { [large, square / large] }
        };
        Some((0..modes.len()).flat_map(roots).collect())
    }

    /// Whether energies are the quadratic forms of M, C and K: a symmetric
    /// structure of second order.
    pub fn has_energies(&self) -> bool {
        self.states.is_none() && self.matrices.is_symmetric()
    }
}

fn directions(places: &[RelativeDof], size: usize) -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(size, places.len());
    for (column, place) in places.iter().enumerate() {
        matrix.set_column(column, &place.direction(size));
    }
    matrix
}
