//! Second-order inverse, fitted over a moving window.

use super::design::{AdaptiveTimeSeriesDesign, check_bounds, not_negative, positive};
use super::estimator::{TwinFilter, Window, stride};
use super::{Compensate, CompensatorError, Site};
use crate::motion::Motion;
use crate::sensor::Converter;

/// Number of parameters.
const N: usize = 3;
/// Parts of the window: the oldest is dropped whole, so that no rounding adds
/// up as it does where samples are added and taken off one by one.
const BLOCKS: usize = 16;

/// c = a0 x + a1 ẋ + a2 ẍ, with a0 … a2 by least squares of the command over
/// the derivatives of the measurement in a moving window.
///
/// In a narrow band displacement and acceleration are nearly proportional and
/// plain least squares is left without an answer. Here the start values count
/// as one more observation, with the spread that is declared for them, and the
/// fit always has one.
///
/// Reference: Chae et al. 2013, Earthq. Eng. Struct. Dyn. 42.
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptiveTimeSeries {
    design: AdaptiveTimeSeriesDesign,
    /// R of one update.
    variance: f64,
    rate_hz: f64,
    stride: u32,
    /// Updates in one block.
    per_block: u32,
    converter: Converter,
    states: Vec<State>,
}

#[derive(Debug, Clone, PartialEq)]
struct State {
    parameters: [f64; N],
    filter: TwinFilter,
    window: Window,
    last_acceleration: Option<f64>,
    wait: u32,
    blocks: [Sums; BLOCKS],
    current: usize,
    in_block: u32,
}

/// Σ φφᵀ and Σ φ r, in scaled parameters; r is what the start values leave.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    normal: [[f64; N]; N],
    right: [f64; N],
}

impl AdaptiveTimeSeries {
    /// At rest.
    pub fn new(design: &AdaptiveTimeSeriesDesign, site: &Site) -> Result<Self, CompensatorError> {
        check_bounds(&design.start, &design.lower, &design.upper)?;
        for spread in design.spread {
            positive("spread", spread)?;
        }
        not_negative("threshold", design.threshold_m)?;
        let noise = positive("noise", design.noise_m)?;
        let stride = stride(positive("filter", design.filter_hz)?, site.step_s);
        let window_s = positive("window", design.window_s)?;
        let updates = window_s / (site.step_s * f64::from(stride));
        let state = State {
            parameters: design.start,
            filter: TwinFilter::new(design.filter_hz, site.step_s)?,
            window: Window::EMPTY,
            last_acceleration: None,
            wait: stride,
            blocks: [Sums::default(); BLOCKS],
            current: 0,
            in_block: 0,
        };
        Ok(Self {
            design: *design,
            variance: noise * noise / f64::from(stride),
            rate_hz: 1.0 / site.step_s,
            stride,
            per_block: ((updates / BLOCKS as f64).round() as u32).max(1),
            converter: site.converter,
            states: vec![state; site.count],
        })
    }

    #[inline]
    fn update(&mut self, dof: usize) {
        let AdaptiveTimeSeriesDesign { start, spread, lower, upper, .. } = &self.design;
        let state = &mut self.states[dof];
        let derivatives = state.window.derivatives(self.rate_hz);
        let phi: [f64; N] = std::array::from_fn(|i| derivatives[i] * spread[i]);
        let left: f64 = start.iter().zip(&derivatives).map(|(a, x)| a * x).sum();
        let [command, _] = state.window.middle();
        let residual = command - left;
        if state.in_block == self.per_block {
            state.in_block = 0;
            state.current = (state.current + 1) % BLOCKS;
            state.blocks[state.current] = Sums::default();
        }
        state.in_block += 1;
        state.blocks[state.current].add(&phi, residual);
        let mut sums = Sums::default();
        for i in 0..N {
            // The start values, as an observation of their own.
            sums.normal[i][i] = self.variance;
        }
        state.blocks.iter().for_each(|block| sums.join(block));
        let Some(change) = sums.solve() else { return };
        for i in 0..N {
            let learnt = start[i] + change[i] * spread[i];
            state.parameters[i] = learnt.clamp(lower[i], upper[i]);
        }
    }
}

impl Sums {
    #[inline]
    fn add(&mut self, phi: &[f64; N], residual: f64) {
        for i in 0..N {
            for j in 0..N {
                self.normal[i][j] += phi[i] * phi[j];
            }
            self.right[i] += phi[i] * residual;
        }
    }

    #[inline]
    fn join(&mut self, other: &Self) {
        for i in 0..N {
            for j in 0..N {
                self.normal[i][j] += other.normal[i][j];
            }
            self.right[i] += other.right[i];
        }
    }

    /// The solution by Cholesky's factors; `None` where rounding has eaten them.
    #[inline]
    fn solve(&self) -> Option<[f64; N]> {
        let mut factor = self.normal;
        for i in 0..N {
            for j in 0..=i {
                let known: f64 = (0..j).map(|k| factor[i][k] * factor[j][k]).sum();
                let rest = factor[i][j] - known;
                if i == j {
                    if !(rest > 0.0 && rest.is_finite()) {
                        return None;
                    }
                    factor[i][i] = rest.sqrt();
                } else {
                    factor[i][j] = rest / factor[j][j];
                }
            }
        }
        let mut x = self.right;
        for i in 0..N {
            let known: f64 = (0..i).map(|k| factor[i][k] * x[k]).sum();
            x[i] = (x[i] - known) / factor[i][i];
        }
        for i in (0..N).rev() {
            let known: f64 = (i + 1..N).map(|k| factor[k][i] * x[k]).sum();
            x[i] = (x[i] - known) / factor[i][i];
        }
        x.iter().all(|x| x.is_finite()).then_some(x)
    }
}

impl Compensate for AdaptiveTimeSeries {
    #[inline]
    fn command(&mut self, desired: &Motion, _measured: &[f64], command: &mut Motion) {
        for (i, state) in self.states.iter_mut().enumerate() {
            let [x, v, a] = desired.of(i);
            let jerk = state.last_acceleration.map_or(0.0, |last| (a - last) * self.rate_hz);
            state.last_acceleration = Some(a);
            let [a0, a1, a2] = state.parameters;
            command.set(
                i,
                [
                    a0 * x + a1 * v + a2 * a,
                    a0 * v + a1 * a + a2 * jerk,
                    // Derivatives beyond the jerk are noise.
                    a0 * a + a1 * jerk,
                ],
            );
        }
    }

    #[inline]
    fn learn(&mut self, sent: &Motion, measured: &[f64]) {
        for dof in 0..self.states.len() {
            let state = &mut self.states[dof];
            let sent = self.converter.convert(sent.displacement[dof]);
            let Some(filtered) = state.filter.step(sent, measured[dof]) else {
                state.window = Window::EMPTY;
                continue;
            };
            state.window.push(filtered);
            state.wait = state.wait.saturating_sub(1);
            if state.wait == 0 && state.window.is_full() {
                state.wait = self.stride;
                let [_, measured] = state.window.middle();
                if measured.abs() > self.design.threshold_m {
                    self.update(dof);
                }
            }
        }
    }

    #[inline]
    fn parameters(&self, dof: usize) -> &[f64] {
        self.states.get(dof).map_or(&[], |state| &state.parameters)
    }

    fn rejoin(&mut self, before: &Motion) {
        for (state, &a) in self.states.iter_mut().zip(&before.acceleration) {
            state.last_acceleration = state.last_acceleration.map(|_| a);
        }
    }
}
