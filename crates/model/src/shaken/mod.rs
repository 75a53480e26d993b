//! A specimen with DOFs of its own, driven by force actuators under control.
//!
//! Iterative tests drive the rig with a periodic target. The actuator follows it
//! by proportional and derivative control; how well does not matter, for the
//! iteration corrects the target until both sides of the interface move alike.

mod step;

pub use step::{Instant, ShakenStep};

use nalgebra::{DMatrix, DVector};
use numerics::block::hstack;
use numerics::second_order::{SecondOrder, companion};
use thiserror::Error;

use crate::equations::ConnectedElement;
use crate::first_order::FirstOrder;

/// A force actuator and its amplifier, one for every interface DOF:
///
///   U = k_p (x* − x) + k_d (ẋ* − ẋ)
///   τ ḟ = g U − f
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shaker {
    /// g, N/V.
    pub gain_n_per_v: f64,
    /// τ, s.
    pub lag_s: f64,
    /// k_p, V/m.
    pub proportional_v_per_m: f64,
    /// k_d, V·s/m.
    pub derivative_v_s_per_m: f64,
}

/// What is shaken: all DOFs that stand in the laboratory.
#[derive(Debug, Clone, PartialEq)]
pub struct ShakenSpecimen {
    /// kg, N·s/m, and N/m without the elements.
    pub matrices: SecondOrder,
    /// The DOFs that are driven, among those above.
    pub interface: Vec<usize>,
    /// Nonlinear elements between any of them.
    pub elements: Vec<ConnectedElement>,
    /// A constant force of the actuator at every interface DOF, N.
    pub preload_n: Vec<f64>,
}

/// Why a shaken specimen cannot be built.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ShakenError {
    /// Its mass matrix cannot be inverted.
    #[error("every DOF of a shaken specimen needs mass")]
    Massless,
    /// The amplifier has no lag but this.
    #[error("the amplifier's lag must be positive, not {0} s")]
    Lag(f64),
}

/// Specimen and actuator as ẏ = A y + H w + N r, y = (x, v, f), w = (x*, ẋ*, 1).
#[derive(Debug, Clone, PartialEq)]
pub struct ShakenDynamics {
    /// The system.
    pub system: FirstOrder,
    /// Acceleration of the interface DOFs from (y, 1, r).
    pub acceleration: DMatrix<f64>,
    /// ∂r/∂y with every element at its steepest.
    pub slopes: DMatrix<f64>,
    /// DOFs of the specimen.
    pub size: usize,
}

impl ShakenDynamics {
    /// Joins both.
    pub fn new(shaker: &Shaker, specimen: &ShakenSpecimen) -> Result<Self, ShakenError> {
        let lag_s = shaker.lag_s;
        if lag_s.is_nan() || lag_s <= 0.0 {
            return Err(ShakenError::Lag(lag_s));
        }
        let SecondOrder { mass, damping, stiffness } = &specimen.matrices;
        let inverse = mass.clone().cholesky().ok_or(ShakenError::Massless)?.inverse();
        let (n, m) = (mass.nrows(), specimen.interface.len());
        let driven = DMatrix::from_fn(n, m, |i, j| f64::from(specimen.interface[j] == i));
        let places: Vec<DVector<f64>> =
            specimen.elements.iter().map(|e| e.place.direction(n)).collect();
        let states = 2 * n + m;

        let mut dynamics = DMatrix::zeros(states, states);
        let own = companion(&inverse, damping, stiffness);
        dynamics.view_mut((0, 0), (2 * n, 2 * n)).copy_from(&own);
        dynamics.view_mut((n, 2 * n), (n, m)).copy_from(&(&inverse * &driven));
        let proportional = shaker.gain_n_per_v * shaker.proportional_v_per_m / lag_s;
        let derivative = shaker.gain_n_per_v * shaker.derivative_v_s_per_m / lag_s;
        let mut held = DMatrix::zeros(states, 2 * m + 1);
        for (j, &dof) in specimen.interface.iter().enumerate() {
            let row = 2 * n + j;
            dynamics[(row, dof)] = -proportional;
            dynamics[(row, n + dof)] = -derivative;
            dynamics[(row, row)] = -1.0 / lag_s;
            held[(row, j)] = proportional;
            held[(row, m + j)] = derivative;
        }
        let preload = &inverse * &driven * DVector::from_column_slice(&specimen.preload_n);
        held.view_mut((n, 2 * m), (n, 1)).copy_from(&preload);
        let mut elements = DMatrix::zeros(states, places.len());
        let mut slopes = DMatrix::zeros(places.len(), states);
        for (j, (direction, placed)) in places.iter().zip(&specimen.elements).enumerate() {
            elements.view_mut((n, j), (n, 1)).copy_from(&(-&inverse * direction));
            let steepest = placed.element.greatest_stiffness() * direction.transpose();
            slopes.view_mut((j, 0), (1, n)).copy_from(&steepest);
        }
        let preloaded = held.columns(2 * m, 1).into_owned();
        let rows: Vec<usize> = specimen.interface.iter().map(|dof| n + dof).collect();
        let acceleration = hstack(&[&dynamics, &preloaded, &elements]).select_rows(&rows);
        let load = DMatrix::zeros(states, 0);
        let system = FirstOrder { dynamics, load, held, elements };
        Ok(Self { system, acceleration, slopes, size: n })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pendulum() -> ShakenSpecimen {
        ShakenSpecimen {
            matrices: SecondOrder {
                mass: DMatrix::from_element(1, 1, 2.0),
                damping: DMatrix::from_element(1, 1, 3.0),
                stiffness: DMatrix::from_element(1, 1, 500.0),
            },
            interface: vec![0],
            elements: Vec::new(),
            preload_n: vec![4.0],
        }
    }

    const SHAKER: Shaker = Shaker {
        gain_n_per_v: 50.0,
        lag_s: 1e-3,
        proportional_v_per_m: 100.0,
        derivative_v_s_per_m: 10.0,
    };

    #[test]
    fn it_comes_to_rest_where_springs_and_control_balance() {
        let dynamics = ShakenDynamics::new(&SHAKER, &pendulum()).unwrap();
        // A y + H w = 0 with the target at 1 cm.
        let right = &dynamics.system.held * DVector::from_column_slice(&[0.01, 0.0, 1.0]);
        let rest = dynamics.system.dynamics.clone().lu().solve(&-right).unwrap();
        let expected = (4.0 + 5000.0 * 0.01) / (500.0 + 5000.0);
        assert!((rest[0] - expected).abs() < 1e-12);
        assert!(
            (rest[2] - (500.0 * expected - 4.0)).abs() < 1e-9,
            "the cell sees the control only"
        );
    }

    #[test]
    fn what_cannot_be_shaken_is_refused() {
        let mut massless = pendulum();
        massless.matrices.mass[(0, 0)] = 0.0;
        assert_eq!(ShakenDynamics::new(&SHAKER, &massless), Err(ShakenError::Massless));
        let stiff = Shaker { lag_s: 0.0, ..SHAKER };
        assert_eq!(ShakenDynamics::new(&stiff, &pendulum()), Err(ShakenError::Lag(0.0)));
    }
}
