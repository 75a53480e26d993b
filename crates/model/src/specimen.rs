//! The specimen of a virtual rig: mass, damping, stiffness and nonlinear elements.

use nalgebra::DMatrix;
use numerics::block::hstack;
use numerics::gemv::Product;
use numerics::lanes::Lane;
use numerics::linear_system::{LinearSystem, Time};
use numerics::second_order::SecondOrder;
use numerics::small::copy;

use crate::element::Element;
use crate::motion::Motion;

/// What stands in the laboratory, one row per interface DOF.
#[derive(Debug, Clone, PartialEq)]
pub struct Specimen {
    /// kg, N·s/m, and N/m without the elements.
    pub matrices: SecondOrder,
    /// Nonlinear elements and the interface DOF (from 0) each acts on.
    pub elements: Vec<(usize, Element)>,
}

impl Specimen {
    /// Number of interface DOFs.
    pub fn count(&self) -> usize {
        self.matrices.mass.nrows()
    }

    /// Whether any inertia is there.
    pub fn is_massive(&self) -> bool {
        self.matrices.mass.iter().any(|&m| m != 0.0)
    }

    /// The specimen a small motion sees: every element as a spring of its
    /// initial stiffness.
    pub fn linearised(&self) -> Self {
        let mut matrices = self.matrices.clone();
        for (dof, element) in &self.elements {
            matrices.stiffness[(*dof, *dof)] += element.initial_stiffness();
        }
        Self { matrices, elements: Vec::new() }
    }

    /// From displacement, velocity and acceleration of the interface to its force,
    /// every element as a spring of its initial stiffness.
    pub fn linear_form(&self, step_s: f64) -> LinearSystem {
        LinearSystem::gain(self.linearised().of_motion(), Time::Step(step_s))
    }

    /// Its force but for the elements from displacement, velocity and acceleration of the
    /// interface: K, C and M side by side.
    pub fn of_motion(&self) -> DMatrix<f64> {
        let [mass, damping, stiffness] = self.matrices.each();
        hstack(&[stiffness, damping, mass])
    }

    /// Element forces per interface DOF at a trial displacement. Without
    /// elements `out` keeps what it has, which then is zero.
    #[inline(always)]
    pub fn element_forces(&self, displacement: &[f64], out: &mut [f64]) {
        if self.elements.is_empty() {
            return;
        }
        out.fill(0.0);
        for (dof, element) in &self.elements {
            out[*dof] += element.trial_force(displacement[*dof]);
        }
    }

    /// ∂r/∂y of the elements at their steepest, one row per interface DOF, where
    /// `displacement` gives the interface's displacements from the state y.
    pub fn steepest_slopes(&self, displacement: &DMatrix<f64>) -> DMatrix<f64> {
        let mut slopes = DMatrix::zeros(self.count(), displacement.ncols());
        for (dof, element) in &self.elements {
            let mut row = slopes.row_mut(*dof);
            row += element.greatest_stiffness() * displacement.row(*dof);
        }
        slopes
    }

    /// Moves the elements' history on.
    #[inline(always)]
    pub fn commit(&mut self, displacement: &[f64]) {
        for (dof, element) in &mut self.elements {
            element.commit(displacement[*dof]);
        }
    }
}

/// f = K u + C v + M a + r of one interface DOF.
#[inline(always)]
pub fn restoring_force<T: Lane>([k, c, m]: [T; 3], [u, v, a]: [T; 3], elements: T) -> T {
    k * u + c * v + m * a + elements
}

/// f = K u + C v + M a + r, as one product.
#[derive(Debug, Clone)]
pub struct RestoringForce {
    product: Product,
    /// K, C, M of the first interface DOF, usually the only one.
    pub single: [f64; 3],
}

impl RestoringForce {
    /// For this specimen.
    pub fn new(specimen: &Specimen) -> Self {
        let count = specimen.count();
        let identity = DMatrix::identity(count, count);
        let of_motion = specimen.of_motion();
        Self {
            product: Product::new(&hstack(&[&of_motion, &identity])),
            single: [0, 1, 2].map(|k| of_motion.get((0, k * count)).copied().unwrap_or(0.0)),
        }
    }

    /// The force for a motion and the element forces `r`.
    #[inline(always)]
    pub fn evaluate(&mut self, motion: &Motion, elements: &[f64], out: &mut [f64]) {
        if let ([f], [r]) = (&mut *out, elements) {
            *f = restoring_force(self.single, motion.of(0), *r);
            return;
        }
        let Motion { displacement, velocity, acceleration } = motion;
        copy(out, self.product.of([displacement, velocity, acceleration, elements]));
    }
}
