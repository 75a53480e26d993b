//! Responses of full and reduced models at a set of DOFs.

use nalgebra::{Complex, DMatrix};
use numerics::second_order::dynamic_stiffness;
use numerics::sparse::{ComplexLu, SparseMatrix};

use super::basis::units;
use super::{Component, ReducedModel, ReductionError, check_dofs};

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
    pub fn new(component: &'a Component, dofs: &[usize]) -> Result<Self, ReductionError> {
        check_dofs(dofs, component.size())?;
        let (m, b, k) = (&component.mass, &component.damping, &component.stiffness);
        let lu = ComplexLu::new(&SparseMatrix::sum(&[(1.0, k), (1.0, m), (1.0, b)]))?;
        Ok(Self { component, lu, dofs: dofs.to_vec() })
    }

    /// The receptance at one frequency: one complex factor.
    pub fn at(&self, omega_rad_s: f64) -> Result<DMatrix<Complex<f64>>, ReductionError> {
        let Component { mass, damping, stiffness, .. } = self.component;
        let mut x = units(self.component.size(), &self.dofs);
        let terms = [
            (Complex::ONE, stiffness),
            (Complex::new(0.0, omega_rad_s), damping),
            (Complex::new(-omega_rad_s * omega_rad_s, 0.0), mass),
        ];
        self.lu.solve(&terms, &mut x)?;
        Ok(x.select_rows(&self.dofs))
    }

    /// Adds frequencies to a response.
    pub fn extend(&self, known: &mut Response, omegas: &[f64]) -> Result<(), ReductionError> {
        for &omega in omegas {
            known.receptances.push(self.at(omega)?);
            known.omegas_rad_s.push(omega);
        }
        Ok(())
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
    /// No frequency yet.
    pub fn empty() -> Self {
        Self { omegas_rad_s: Vec::new(), receptances: Vec::new() }
    }

    /// Of the full component: one complex factor per frequency.
    pub fn of_component(
        component: &Component,
        dofs: &[usize],
        omegas_rad_s: &[f64],
    ) -> Result<Self, ReductionError> {
        let mut response = Self::empty();
        FullResponse::new(component, dofs)?.extend(&mut response, omegas_rad_s)?;
        Ok(response)
    }

    /// Of a reduced model at its first `count` coordinates.
    pub fn of_model(
        model: &ReducedModel,
        count: usize,
        omegas_rad_s: &[f64],
    ) -> Result<Self, ReductionError> {
        let coordinates: Vec<usize> = (0..count).collect();
        Self::of_coordinates(model, &coordinates, omegas_rad_s)
    }

    /// Of a reduced model at these coordinates.
    pub fn of_coordinates(
        model: &ReducedModel,
        coordinates: &[usize],
        omegas_rad_s: &[f64],
    ) -> Result<Self, ReductionError> {
        let mut receptances = Vec::with_capacity(omegas_rad_s.len());
        for &omega in omegas_rad_s {
            let all = dynamic_stiffness(&model.mass, &model.damping, &model.stiffness, omega);
            let solved = numerics::solve::solved(all, &units(model.size(), coordinates));
            let solved = solved.ok_or(numerics::sparse::SparseError::Singular)?;
            receptances.push(solved.select_rows(coordinates));
        }
        Ok(Self { omegas_rad_s: omegas_rad_s.to_vec(), receptances })
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
        let sizes: Vec<f64> = self.receptances.iter().map(|h| scale.size(h)).collect();
        scale.floor = Spread::of(&sizes).map_or(0.0, |spread| ANTIRESONANCE * spread.median);
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The largest.
    pub max: f64,
    /// The median.
    pub median: f64,
    /// Place of the largest.
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
