//! The equations an integrator solves.

use nalgebra::{DMatrix, DVector};

use crate::element::Element;

/// The deformation between two DOFs, or the motion of one DOF against the
/// ground: `x[to] − x[from]`. Interfaces and elements are both of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deformation {
    /// DOF that counts negative; `None` is the ground.
    pub from: Option<usize>,
    /// DOF that counts positive; `None` is the ground.
    pub to: Option<usize>,
}

impl Deformation {
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
        if let Some(i) = self.to {
            direction[i] += 1.0;
        }
        if let Some(i) = self.from {
            direction[i] -= 1.0;
        }
        direction
    }
}

/// An element and where it acts.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedElement {
    /// The deformation that drives it and takes its force.
    pub place: Deformation,
    /// The element.
    pub element: Element,
}

/// M ẍ + C ẋ + K x + r(x) = L s(t) − B f.
///
/// `s` are the scalar load signals and L their patterns over the DOFs, `f` the
/// force measured at the interface, `r` the nonlinear elements.
#[derive(Debug, Clone, PartialEq)]
pub struct Equations {
    /// M, positive definite.
    pub mass: DMatrix<f64>,
    /// C.
    pub damping: DMatrix<f64>,
    /// K, without the nonlinear elements.
    pub stiffness: DMatrix<f64>,
    /// L: one column per load signal.
    pub load: DMatrix<f64>,
    /// Interface DOFs, the columns of B.
    pub interface: Vec<Deformation>,
    /// r.
    pub elements: Vec<PlacedElement>,
}

impl Equations {
    /// Number of DOFs.
    pub fn size(&self) -> usize {
        self.mass.nrows()
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

    /// K with every nonlinear element at its steepest: what the stability of
    /// an explicit algorithm and the convergence of an implicit one rest on.
    pub fn steepest_stiffness(&self) -> DMatrix<f64> {
        self.stiffness_with(Element::greatest_stiffness)
    }

    /// The linear equations a small motion sees: every element as a spring of
    /// its initial stiffness.
    pub fn linearised(&self) -> Self {
        Self {
            stiffness: self.stiffness_with(Element::initial_stiffness),
            elements: Vec::new(),
            ..self.clone()
        }
    }

    fn stiffness_with(&self, slope: impl Fn(&Element) -> f64) -> DMatrix<f64> {
        let mut stiffness = self.stiffness.clone();
        for placed in &self.elements {
            let b = placed.place.direction(self.size());
            stiffness += slope(&placed.element) * &b * b.transpose();
        }
        stiffness
    }
}

fn directions(places: &[Deformation], size: usize) -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(size, places.len());
    for (column, place) in places.iter().enumerate() {
        matrix.set_column(column, &place.direction(size));
    }
    matrix
}
