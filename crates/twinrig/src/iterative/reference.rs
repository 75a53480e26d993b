//! The response of the structure as if it were built, for comparison.
//!
//! Linear: by its frequency response. With springs without memory: by harmonic
//! balance, followed through folds and made finer where it is drawn or compared
//! (see `finer`), each point with the verdict of its Floquet multipliers. With
//! hysteresis there is none.

use std::f64::consts::TAU;

use analysis::iterative::TracePoint;
use model::element::{Law, Side};
use nalgebra::{Complex, DVector};
use numerics::continuation::{
    Advance, Continuation, Corrector, Course, Difference, Refresh, Space, Steps,
};
use numerics::harmonic_balance::{HarmonicBalance, Response, Spring, System};

use super::finer::Finer;
use super::{Mark, Setup};

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
    /// [`Finer::distance_m`].
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

impl Branch {
    /// Of the structure behind a trace, held against its points; `None` if its
    /// model says nothing of it.
    pub fn of(setup: &Setup<'_>, measured: &[TracePoint]) -> Option<Self> {
        let balance = balance(setup)?;
        if balance.system.springs.is_empty() {
            return linear(setup, &balance, measured);
        }
        if balance.system.linear.mass.nrows() > MOST_BALANCED {
            return None;
        }
        let mut finer = Finer::new(setup, followed(setup, balance)?)?;
        let folds = finer.folds().to_vec();
        let dofs = 0..setup.assembly().count();
        let of = |point: &TracePoint| {
            let each = dofs
                .clone()
                .map(|dof| finer.distance_m(dof, point.frequency_hz, point.amplitude_m(dof)));
            each.collect()
        };
        let differences_m = measured.iter().map(of).collect();
        Some(Self { points: finer.into_points(), folds, differences_m })
    }
}

fn linear(setup: &Setup<'_>, balance: &HarmonicBalance, measured: &[TracePoint]) -> Option<Branch> {
    let (low, high) = setup.spec().band_hz();
    let at = |k: usize| low + (high - low) * k as f64 / (POINTS - 1) as f64;
    let points = (0..POINTS).filter_map(|k| {
        let frequency_hz = at(k);
        let fundamental = fundamental(setup, balance, &[], frequency_hz)?;
        Some(ReferencePoint { frequency_hz, fundamental, stable: None })
    });
    let points = points.collect();
    let difference = |point: &TracePoint| {
        let truth = fundamental(setup, balance, &[], point.frequency_hz)?;
        Some(truth.iter().enumerate().map(|(dof, x)| point.amplitude_m(dof) - x.norm()).collect())
    };
    let differences_m = measured.iter().map(difference).collect::<Option<_>>()?;
    Some(Branch { points, folds: Vec::new(), differences_m })
}

/// The whole structure with its loads.
fn balance(setup: &Setup<'_>) -> Option<HarmonicBalance> {
    let assembly = setup.assembly();
    let whole = &assembly.substructures.whole;
    let n = whole.size();
    let mut springs = Vec::new();
    for placed in &whole.elements {
        let Law::Gap { stiffness, opening, side } = *placed.element.law() else { return None };
        springs.push(Spring {
            direction: placed.place.direction(n),
            law: Box::new(move |u| gap(stiffness, opening, side, u)),
        });
    }
    let mut constant = DVector::zeros(n);
    if let Some(preload) = setup.spec().shaker.as_ref().and_then(|s| s.preload_n.as_ref()) {
        let preload = DVector::from_column_slice(&preload.expand(assembly.count()));
        constant = whole.interface_matrix() * preload;
    }
    let harmonic =
        (&whole.load * DVector::from_column_slice(setup.amplitudes())).map(Complex::from);
    let system = System { linear: whole.matrices.clone(), springs, constant, harmonic };
    let harmonics = HARMONICS.max(setup.spec().harmonics);
    Some(HarmonicBalance::new(system, harmonics))
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

fn interface(setup: &Setup<'_>, response: &Response) -> Vec<Complex<f64>> {
    let places = &setup.assembly().substructures.whole.interface;
    let n = response.harmonics[1].len();
    let along = |direction: &DVector<f64>| -> Complex<f64> {
        direction.iter().zip(response.harmonics[1].iter()).map(|(d, x)| x * *d).sum()
    };
    places.iter().map(|place| along(&place.direction(n))).collect()
}

/// Fundamental of every interface DOF, m.
pub(super) fn fundamental(
    setup: &Setup<'_>,
    balance: &HarmonicBalance,
    deformations: &[f64],
    frequency_hz: f64,
) -> Option<Vec<Complex<f64>>> {
    Some(interface(setup, &balance.response(deformations, TAU * frequency_hz)?))
}

/// Whether a free structure would show a response; `None` if that is not judged.
pub(super) fn stable(
    balance: &HarmonicBalance,
    deformations: &[f64],
    frequency_hz: f64,
) -> Option<bool> {
    if balance.system.linear.mass.nrows() > MOST_JUDGED {
        return None;
    }
    let response = balance.response(deformations, TAU * frequency_hz)?;
    let multipliers = balance.multipliers(&response).ok()?;
    Some(multipliers.iter().all(|m| m.norm() < 1.0))
}

/// A nonlinear response along its branch.
fn followed(
    setup: &Setup<'_>,
    mut balance: HarmonicBalance,
) -> Option<(HarmonicBalance, Continuation)> {
    let spec = setup.spec();
    let count = balance.unknowns();
    let (low, high) = spec.band_hz();
    let scale_m = deformation_scale(setup, &balance)?;
    let mut space = Space::scaled([vec![scale_m; count], vec![TAU * spec.scale_hz()]].concat());
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
    let mut guess = vec![0.0; count + 1];
    guess[count] = TAU * if spec.falling() { high } else { low };
    let course = Course::Arclength { steps, falling: spec.falling() };
    let mut run = Continuation::new(space, corrector, course, guess);
    while !matches!(run.advance(&mut balance), Ok(Advance::Ended(_)) | Err(_)) {}
    (run.points().len() > 1).then_some((balance, run))
}

/// A typical deformation of the springs: the largest in a linear structure with
/// all of them let go, over the band.
fn deformation_scale(setup: &Setup<'_>, balance: &HarmonicBalance) -> Option<f64> {
    let (low, high) = setup.spec().band_hz();
    let none = vec![0.0; balance.unknowns()];
    let mut most = 0.0f64;
    for k in 0..50 {
        let hz = low + (high - low) * f64::from(k) / 49.0;
        let Some(response) = balance.response(&none, TAU * hz) else { continue };
        for spring in &balance.system.springs {
            let along: Complex<f64> = spring
                .direction
                .iter()
                .zip(response.harmonics[1].iter())
                .map(|(d, x)| x * *d)
                .sum();
            most = most.max(along.norm());
        }
    }
    (most > 0.0 && most.is_finite()).then_some(most)
}
