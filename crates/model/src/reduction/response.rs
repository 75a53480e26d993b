//! Responses of full and reduced models at a set of DOFs.

use nalgebra::{Complex, DMatrix};
use numerics::second_order::SecondOrder;
use numerics::solve;
use numerics::sparse::{ComplexLu, SparseError, SparseMatrix};
use serde::Serialize;

use super::basis::units;
use super::{Component, ReducedModel, Result, check_dofs};

/// H(jω) = displacements over forces at some DOFs, one matrix per frequency.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The frequencies.
    pub omegas_rad_s: Vec<f64>,
    /// The receptances.
    pub receptances: Vec<DMatrix<Complex<f64>>>,
}

/// A full component, ready for its response at one frequency after the other.
pub struct FullResponse<'a> {
    component: &'a Component,
    lu: ComplexLu,
    dofs: Vec<usize>,
}

impl<'a> FullResponse<'a> {
    /// Analyses the pattern once for all frequencies.
    pub fn new(component: &'a Component, dofs: &[usize]) -> Result<Self> {
        check_dofs(dofs, component.size())?;
        let lu = ComplexLu::new(SparseMatrix::sum(&component.matrices.each().map(|m| (1.0, m))))?;
        Ok(Self { component, lu, dofs: dofs.to_vec() })
    }

    /// The receptance at some frequencies: one complex factor each.
    pub fn at(&self, omegas_rad_s: Vec<f64>) -> Result<Response> {
        let SecondOrder { mass, damping, stiffness } = &self.component.matrices;
        Response::new(omegas_rad_s, |omega| {
            let s = Complex::new(0.0, omega);
            let mut x = units(self.component.size(), &self.dofs);
            self.lu.solve(&[(Complex::ONE, stiffness), (s, damping), (s * s, mass)], &mut x)?;
            Ok(x.select_rows(&self.dofs))
        })
    }
}

/// What makes errors of metres and radians comparable, and keeps an
/// antiresonance from counting for more than it is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    dofs: Vec<f64>,
    /// A response below this is measured against it.
    floor: f64,
}

impl Scale {
    fn size(&self, h: &DMatrix<Complex<f64>>) -> f64 {
        DMatrix::from_fn(h.nrows(), h.ncols(), |i, j| h[(i, j)] * (self.dofs[i] * self.dofs[j]))
            .norm()
    }
}

/// Part of its median below which a response is an antiresonance.
const ANTIRESONANCE: f64 = 0.01;

impl Response {
    /// By the receptance at each frequency.
    pub fn new(
        omegas_rad_s: Vec<f64>,
        receptance: impl FnMut(f64) -> Result<DMatrix<Complex<f64>>>,
    ) -> Result<Self> {
        let receptances = omegas_rad_s.iter().copied().map(receptance).collect::<Result<_, _>>()?;
        Ok(Self { omegas_rad_s, receptances })
    }

    /// Of the full component.
    pub fn of_component(
        component: &Component,
        dofs: &[usize],
        omegas_rad_s: &[f64],
    ) -> Result<Self> {
        FullResponse::new(component, dofs)?.at(omegas_rad_s.to_vec())
    }

    /// Of a reduced model at its interface.
    pub fn of_model(model: &ReducedModel, omegas_rad_s: &[f64]) -> Result<Self> {
        let forces = DMatrix::identity(model.size(), model.interface);
        Self::new(omegas_rad_s.to_vec(), |omega| {
            let solved = solve::solved(model.matrices.at(Complex::new(0.0, omega)), &forces);
            Ok(solved.ok_or(SparseError::Singular)?.rows(0, model.interface).into_owned())
        })
    }

    /// Adds the frequencies of another.
    pub fn extend(&mut self, other: Self) {
        self.omegas_rad_s.extend(other.omegas_rad_s);
        self.receptances.extend(other.receptances);
    }

    /// Puts the frequencies in order.
    pub fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.omegas_rad_s.len()).collect();
        order.sort_by(|&a, &b| self.omegas_rad_s[a].total_cmp(&self.omegas_rad_s[b]));
        self.omegas_rad_s = order.iter().map(|&at| self.omegas_rad_s[at]).collect();
        self.receptances = order.iter().map(|&at| self.receptances[at].clone()).collect();
    }

    /// What errors against this response are measured by: S divides each DOF by
    /// the square root of the median of its own |H| over the frequencies.
    pub fn scale(&self) -> Scale {
        let dofs = self.receptances.first().map_or(0, |h| h.nrows());
        let dofs = (0..dofs).map(|i| {
            let own: Vec<f64> = self.receptances.iter().map(|h| h[(i, i)].norm()).collect();
            let median = Spread::of(&own).map_or(1.0, |spread| spread.median);
            if median > 0.0 { median.sqrt().recip() } else { 1.0 }
        });
        let mut scale = Scale { dofs: dofs.collect(), floor: 0.0 };
        scale.floor =
            Spread::of(&self.sizes(&scale)).map_or(0.0, |spread| ANTIRESONANCE * spread.median);
        scale
    }

    /// ‖S(H − H_full)S‖/‖S H_full S‖ in the Frobenius norm at every frequency,
    /// with the [`scale`](Self::scale) of the full response. Where that is below a
    /// hundredth of its median, an antiresonance, the hundredth is what counts:
    /// a zero that is shifted by a hair is no error of any size.
    pub fn errors(&self, full: &Self) -> Vec<f64> {
        self.errors_by(full, &full.scale())
    }

    /// The same by another scale.
    pub fn errors_by(&self, full: &Self, scale: &Scale) -> Vec<f64> {
        let pairs = self.receptances.iter().zip(&full.receptances);
        pairs
            .map(|(own, full)| scale.size(&(own - full)) / scale.size(full).max(scale.floor))
            .collect()
    }

    /// ‖S H S‖ at every frequency.
    pub fn sizes(&self, scale: &Scale) -> Vec<f64> {
        self.receptances.iter().map(|h| scale.size(h)).collect()
    }
}

/// A grid for a band: `count` frequencies, a quarter of them spread evenly over
/// the decades below a tenth of the band's end, the others evenly up to it.
pub fn band(to_rad_s: f64, count: usize) -> Vec<f64> {
    let low = (count / 4).max(1);
    let (start, middle) = (1e-3 * to_rad_s, 0.1 * to_rad_s);
    let slow = (0..low).map(|k| start * (middle / start).powf(k as f64 / low as f64));
    let rest = count.max(low + 2) - low;
    let fast = (0..rest).map(|k| middle + (to_rad_s - middle) * k as f64 / (rest - 1) as f64);
    slow.chain(fast).collect()
}

/// Largest and median of some errors, and where the largest is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The largest.
    pub max: f64,
    /// The median.
    pub median: f64,
    /// Place of the largest.
    #[serde(skip)]
    pub worst: usize,
}

impl Spread {
    /// Of these; `None` without any.
    pub fn of(errors: &[f64]) -> Option<Self> {
        let worst = (0..errors.len()).max_by(|&i, &j| errors[i].total_cmp(&errors[j]))?;
        let mut sorted = errors.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let median = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
        Some(Self { max: errors[worst], median, worst })
    }
}
