//! The response of the structure as if it were built, for comparison.
//!
//! Linear: by its frequency response. With springs without memory: by harmonic
//! balance, followed through folds, each point with the verdict of its Floquet
//! multipliers. With hysteresis there is none.

use std::f64::consts::TAU;

use model::element::{Law, Side};
use nalgebra::{Complex, DVector};
use numerics::continuation::{
    Advance, Continuation, Corrector, Course, Difference, Refresh, Space, Steps,
};
use numerics::harmonic_balance::{HarmonicBalance, Response, Spring, System};

use super::Setup;

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
    /// Where the frequency turns back, Hz.
    pub folds_hz: Vec<f64>,
    /// Whether a frequency has one response.
    pub is_linear: bool,
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
    /// Of the structure behind a trace; `None` if its model says nothing of it.
    pub fn of(setup: &Setup<'_>) -> Option<Self> {
        let balance = balance(setup)?;
        let (low, high) = setup.spec().band_hz;
        if balance.system().springs.is_empty() {
            let at = |k: usize| low + (high - low) * k as f64 / (POINTS - 1) as f64;
            let points = (0..POINTS).filter_map(|k| point(setup, &balance, &[], at(k))).collect();
            return Some(Self { points, folds_hz: Vec::new(), is_linear: true });
        }
        if balance.system().mass.nrows() > MOST_BALANCED {
            return None;
        }
        followed(setup, balance)
    }

    /// The reference of a point on a linear branch: exactly at its frequency.
    pub fn amplitude_at(&self, setup: &Setup<'_>, frequency_hz: f64, dof: usize) -> Option<f64> {
        if !self.is_linear {
            return None;
        }
        let balance = balance(setup)?;
        Some(point(setup, &balance, &[], frequency_hz)?.fundamental[dof].norm())
    }

    /// How far a measured point lies from the branch, m: the shortest way to it,
    /// a `scale_hz` of frequency counting as much as the largest amplitude. At a
    /// fold a difference of amplitude at one frequency would say nothing.
    pub fn distance_m(
        &self,
        frequency_hz: f64,
        amplitude_m: f64,
        dof: usize,
        scale_hz: f64,
    ) -> Option<f64> {
        let size = self.points.iter().map(|p| p.fundamental[dof].norm()).fold(0.0, f64::max);
        let flat = |p: &ReferencePoint| {
            [
                (p.frequency_hz - frequency_hz) / scale_hz * size,
                p.fundamental[dof].norm() - amplitude_m,
            ]
        };
        let far = self.points.windows(2).map(|pair| {
            let (a, b) = (flat(&pair[0]), flat(&pair[1]));
            let along = [b[0] - a[0], b[1] - a[1]];
            let length = along[0] * along[0] + along[1] * along[1];
            let share =
                if length > 0.0 { -(a[0] * along[0] + a[1] * along[1]) / length } else { 0.0 };
            let share = share.clamp(0.0, 1.0);
            (a[0] + share * along[0]).hypot(a[1] + share * along[1])
        });
        far.reduce(f64::min)
    }
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
    let system = System {
        mass: whole.mass.clone(),
        damping: whole.damping.clone(),
        stiffness: whole.stiffness.clone(),
        springs,
        constant,
        harmonic,
    };
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

fn point(
    setup: &Setup<'_>,
    balance: &HarmonicBalance,
    deformations: &[f64],
    frequency_hz: f64,
) -> Option<ReferencePoint> {
    let response = balance.response(deformations, TAU * frequency_hz)?;
    let judged = !balance.system().springs.is_empty() && response.harmonics[0].len() <= MOST_JUDGED;
    let stable = judged.then(|| balance.multipliers(&response).ok()).flatten();
    let stable = stable.map(|multipliers| multipliers.iter().all(|m| m.norm() < 1.0));
    Some(ReferencePoint { frequency_hz, fundamental: interface(setup, &response), stable })
}

/// A nonlinear response along its branch.
fn followed(setup: &Setup<'_>, mut balance: HarmonicBalance) -> Option<Branch> {
    let spec = setup.spec();
    let count = balance.unknowns();
    let (low, high) = spec.band_hz;
    let scale_m = deformation_scale(setup, &balance)?;
    let mut space = Space::scaled([vec![scale_m; count], vec![TAU * spec.scale_hz]].concat());
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
        tolerance: 1e-7 * scale_m,
        floor: 0.0,
        most_iterations: 25,
        most_halvings: 6,
        refresh: Refresh::WhenSlow { share: 0.2 },
        difference: Difference { least: 1e-6, most: 1e-2, over_noise: 10.0 },
    };
    let mut guess = vec![0.0; count + 1];
    guess[count] = TAU * if spec.falling { high } else { low };
    let course = Course::Arclength { steps, falling: spec.falling };
    let mut run = Continuation::new(space, corrector, course, guess);
    while !matches!(run.advance(&mut balance), Ok(Advance::Ended(_)) | Err(_)) {}
    let points: Vec<ReferencePoint> = run
        .points()
        .iter()
        .filter_map(|p| point(setup, &balance, &p.unknowns[..count], p.parameter() / TAU))
        .collect();
    let folds_hz = run.folds().iter().map(|fold| fold.unknowns[count] / TAU).collect();
    (points.len() > 1).then_some(Branch { points, folds_hz, is_linear: false })
}

/// A typical deformation of the springs: the largest in a linear structure with
/// all of them let go, over the band.
fn deformation_scale(setup: &Setup<'_>, balance: &HarmonicBalance) -> Option<f64> {
    let (low, high) = setup.spec().band_hz;
    let none = vec![0.0; balance.unknowns()];
    let mut most = 0.0f64;
    for k in 0..50 {
        let hz = low + (high - low) * f64::from(k) / 49.0;
        let Some(response) = balance.response(&none, TAU * hz) else { continue };
        for spring in &balance.system().springs {
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
