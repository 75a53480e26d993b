//! The response of the structure as if it were built, for comparison.
//!
//! Linear: by its frequency response. With springs without memory: by harmonic
//! balance, followed through folds and made finer where it is drawn or compared
//! (see `finer`), each point with the verdict of its Floquet multipliers. With
//! hysteresis, and of a model of first order, there is none.

use std::f64::consts::TAU;

use model::element::{Law, Side};
use model::equations::Equations;
use nalgebra::{Complex, DVector};
use numerics::continuation::{
    Advance, Continuation, Corrector, Course, Difference, Refresh, Space, Steps,
};
use numerics::harmonic_balance::{HarmonicBalance, Response, Spring, System};

use super::finer::Finer;
use super::{Mark, TracePoint, TraceSettings};

/// Points of a linear response.
const POINTS: usize = 400;
/// Harmonics of the balance.
const HARMONICS: usize = 9;
/// DOFs up to which a nonlinear structure is balanced, and its orbits judged.
const MOST_BALANCED: usize = 200;
const MOST_JUDGED: usize = 40;

/// The response of the whole structure.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// In the order of the branch.
    pub points: Vec<ReferencePoint>,
    /// Where the frequency turns back, with the first DOF's amplitude.
    pub folds: Vec<Mark>,
    /// How far every measured point lies from it, one entry per DOF, m. Linear:
    /// measured less true amplitude. Else the shortest way to the branch, see
    /// `Finer::distance_m`.
    pub differences_m: Vec<Vec<f64>>,
}

/// One response.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferencePoint {
    /// Hz.
    pub frequency_hz: f64,
    /// Fundamental of every interface DOF, m: real part with the cosine.
    pub fundamental: Vec<Complex<f64>>,
    /// Whether the free structure would show it; `None` if it was not judged.
    pub stable: Option<bool>,
}

/// A structure as if it were built, under harmonic loads.
pub struct WholeStructure {
    pub(super) balance: HarmonicBalance,
    /// Directions of the interface DOFs.
    interface: Vec<DVector<f64>>,
}

impl WholeStructure {
    /// With the amplitude of every load pattern and a constant force at every interface
    /// DOF, if there is one; `None` if its elements have a memory, or if it has states
    /// beside displacements and velocities.
    pub fn new(
        whole: &Equations,
        amplitudes: &[f64],
        preload_n: Option<&[f64]>,
        harmonics: usize,
    ) -> Option<Self> {
        if whole.states.is_some() {
            return None;
        }
        let n = whole.size();
        let mut springs = Vec::new();
        for placed in &whole.elements {
            let Law::Gap { stiffness, opening, side } = *placed.element.law() else { return None };
            springs.push(Spring {
                direction: placed.place.direction(n),
                law: Box::new(move |u| gap(stiffness, opening, side, u)),
            });
        }
        let constant = preload_n.map_or(DVector::zeros(n), |preload| {
            whole.interface_matrix() * DVector::from_column_slice(preload)
        });
        let harmonic = (&whole.load * DVector::from_column_slice(amplitudes)).map(Complex::from);
        let system = System { linear: whole.matrices.clone(), springs, constant, harmonic };
        let interface = whole.interface.iter().map(|place| place.direction(n)).collect();
        let balance = HarmonicBalance::new(system, HARMONICS.max(harmonics));
        Some(Self { balance, interface })
    }

    /// Fundamental of every interface DOF, m, where the springs are deformed so.
    pub fn fundamental(
        &self,
        deformations: &[f64],
        frequency_hz: f64,
    ) -> Option<Vec<Complex<f64>>> {
        let response = self.balance.response(deformations, TAU * frequency_hz)?;
        Some(self.interface.iter().map(|direction| along(direction, &response)).collect())
    }

    /// Its response where a trace goes, held against the trace's points; `None` if its
    /// model says nothing of it.
    pub fn branch(self, settings: &TraceSettings, measured: &[TracePoint]) -> Option<Branch> {
        if self.balance.system.springs.is_empty() {
            return self.linear(settings.band_hz, measured);
        }
        if self.balance.system.linear.mass.nrows() > MOST_BALANCED {
            return None;
        }
        let mut finer = Finer::new(self, settings)?;
        let folds = finer.folds().to_vec();
        let of = |point: &TracePoint| {
            let dofs = 0..settings.dofs;
            dofs.map(|dof| finer.distance_m(dof, point.frequency_hz, point.amplitude_m(dof)))
                .collect()
        };
        let differences_m = measured.iter().map(of).collect();
        Some(Branch { points: finer.into_points(), folds, differences_m })
    }

    fn linear(&self, (low, high): (f64, f64), measured: &[TracePoint]) -> Option<Branch> {
        let points = (0..POINTS).filter_map(|k| {
            let frequency_hz = low + (high - low) * k as f64 / (POINTS - 1) as f64;
            let fundamental = self.fundamental(&[], frequency_hz)?;
            Some(ReferencePoint { frequency_hz, fundamental, stable: None })
        });
        let points = points.collect();
        let difference = |point: &TracePoint| {
            let truth = self.fundamental(&[], point.frequency_hz)?;
            let dofs = truth.iter().enumerate();
            Some(dofs.map(|(dof, x)| point.amplitude_m(dof) - x.norm()).collect())
        };
        let differences_m = measured.iter().map(difference).collect::<Option<_>>()?;
        Some(Branch { points, folds: Vec::new(), differences_m })
    }

    /// Whether a free structure would show a response; `None` if that is not judged.
    pub(super) fn stable(&self, deformations: &[f64], frequency_hz: f64) -> Option<bool> {
        if self.balance.system.linear.mass.nrows() > MOST_JUDGED {
            return None;
        }
        let response = self.balance.response(deformations, TAU * frequency_hz)?;
        let multipliers = self.balance.multipliers(&response).ok()?;
        Some(multipliers.iter().all(|m| m.norm() < 1.0))
    }

    /// A nonlinear response along its branch, from where a trace begins.
    pub(super) fn followed(&mut self, settings: &TraceSettings) -> Option<Continuation> {
        let count = self.balance.unknowns();
        let (low, high) = settings.band_hz;
        let scale_m = self.deformation_scale(settings.band_hz)?;
        let mut space =
            Space::scaled([vec![scale_m; count], vec![TAU * settings.scale_hz]].concat());
        (space.low[count], space.high[count]) = (TAU * low, TAU * high);
        let steps = Steps {
            first: 0.1,
            least: 1e-5,
            most: 0.2,
            grow: 1.2,
            shrink: 0.5,
            most_turn_rad: 0.35,
            most_points: 1500,
        };
        let corrector = Corrector {
            tolerance: 1e-9 * scale_m,
            floor: 0.0,
            most_iterations: 25,
            most_halvings: 6,
            refresh: Refresh::WhenSlow { share: 0.2 },
            difference: Difference { least: 1e-6, most: 1e-2, over_noise: 10.0 },
        };
        let first_hz = settings.guess.last().copied().unwrap_or(low);
        let mut guess = vec![0.0; count + 1];
        guess[count] = TAU * first_hz;
        let course = Course::Arclength { steps, falling: first_hz > low };
        let mut run = Continuation::new(space, corrector, course, guess);
        while !matches!(run.advance(&mut self.balance), Ok(Advance::Ended(_)) | Err(_)) {}
        (run.points().len() > 1).then_some(run)
    }

    /// A typical deformation of the springs: the largest in a linear structure with
    /// all of them let go, over the band.
    fn deformation_scale(&self, (low, high): (f64, f64)) -> Option<f64> {
        let none = vec![0.0; self.balance.unknowns()];
        let mut most = 0.0f64;
        for k in 0..50 {
            let hz = low + (high - low) * f64::from(k) / 49.0;
            let Some(response) = self.balance.response(&none, TAU * hz) else { continue };
            for spring in &self.balance.system.springs {
                most = most.max(along(&spring.direction, &response).norm());
            }
        }
        (most > 0.0 && most.is_finite()).then_some(most)
    }
}

/// The fundamental along a direction.
fn along(direction: &DVector<f64>, response: &Response) -> Complex<f64> {
    direction.iter().zip(response.harmonics[1].iter()).map(|(d, x)| x * *d).sum()
}

/// Force and slope of a gap.
fn gap(stiffness: f64, opening: f64, side: Side, u: f64) -> (f64, f64) {
    if u >= opening && side != Side::Negative {
        (stiffness * (u - opening), stiffness)
    } else if u <= -opening && side != Side::Positive {
        (stiffness * (u + opening), stiffness)
    } else {
        (0.0, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use model::equations::{Descriptor, RelativeDof};
    use nalgebra::DMatrix;
    use numerics::second_order::SecondOrder;

    use super::*;

    #[test]
    fn a_model_of_first_order_is_not_read_as_one_of_second() {
        let one = |value: f64| DMatrix::from_element(1, 1, value);
        let mut whole = Equations {
            matrices: SecondOrder { mass: one(2.0), damping: one(0.5), stiffness: one(8.0) },
            load: one(1.0),
            interface: vec![RelativeDof::of_dof(0)],
            elements: Vec::new(),
            states: None,
        };
        let built = |whole: &Equations| WholeStructure::new(whole, &[3.0], None, 1);
        let x = built(&whole).unwrap().fundamental(&[], 1.0).unwrap()[0];
        let by_hand = 3.0 / (8.0 - 2.0 * TAU * TAU).hypot(0.5 * TAU);
        assert!((x.norm() / by_hand - 1.0).abs() < 1e-12);
        let (e, a) = (DMatrix::identity(3, 3), -DMatrix::identity(3, 3));
        whole.states = Some(Box::new(Descriptor { e, a }));
        assert!(built(&whole).is_none());
    }
}
