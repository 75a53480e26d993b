//! Two rates: how a slow main loop and the fast tick go together, and what the
//! main loop makes of the forces of a period.

use keys::Keys;
use nalgebra::DMatrix;
use numerics::block::{hstack, vstack};
use numerics::linear_system::{LinearSystem, Time};

use crate::channel::Channel;
use crate::equations::Equations;
use crate::integrator::{Hold, Integrator, LinearStep, Method, Options};
use crate::predictor::{Design, Grid, Predictor};

/// How the two loops go together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// R: ticks per step of the main loop.
    pub ratio: usize,
    /// P: ticks that the main loop has for its task, at most R.
    pub task_ticks: usize,
    /// What becomes of the force samples.
    pub force: ForceUse,
    /// Where within its tick a point lies.
    pub lead: Lead,
    /// Ticks in a row that may be bridged.
    pub bridge: usize,
    /// How the points are predicted.
    pub predictor: Design,
    /// How long a step takes in a rehearsal; `None` for never too long.
    pub step_time: Option<StepTime>,
}

/// What the main loop makes of the force samples of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum ForceUse {
    /// Every sample is integrated, straight from one to the next.
    AllSamples,
    /// One step with the mean of the samples, for costly models.
    Average,
    /// One step with the sample at its start, held; half a period late.
    ///
    /// The published scheme.
    Last,
}

/// Where within its tick a point lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Keys)]
pub enum Lead {
    /// In the middle of its tick, which cancels the hold of the command.
    HalfSample,
    /// At the start of its tick.
    None,
}

impl Lead {
    /// In ticks.
    pub fn ticks(self) -> f64 {
        match self {
            Self::HalfSample => 0.5,
            Self::None => 0.0,
        }
    }
}

/// The time a step of the main loop takes in a rehearsal: `base`, `per_iteration` for each iteration
/// of an implicit method, and the size of a normal random number times `jitter`.
#[derive(Debug, Clone, Copy, PartialEq, Keys)]
pub struct StepTime {
    /// Of every step.
    #[key(time, not_negative)]
    pub base_s: f64,
    /// For each iteration, where there are nonlinear elements.
    #[key(time, not_negative, default = "0 s")]
    pub per_iteration_s: f64,
    /// Standard deviation of the random part.
    #[key(time, not_negative, default = "0 s")]
    pub jitter_s: f64,
}

impl StepTime {
    /// Whether every part is a time.
    pub fn is_sound(&self) -> bool {
        let time = |value: f64| value.is_finite() && value >= 0.0;
        time(self.base_s) && time(self.per_iteration_s) && time(self.jitter_s)
    }
}

/// The main loop as a linear system over one period.
#[derive(Debug, Clone)]
pub struct MainLoopForm {
    /// From the forces of the R ticks of a period to the points of its batch,
    /// displacement, velocity and acceleration of each.
    pub step: LinearSystem,
    /// The same points from the state after the step.
    pub points: DMatrix<f64>,
}

impl Rates {
    /// Points of a batch, with one before its first tick and those for bridging.
    pub fn points(&self) -> usize {
        1 + self.ratio + self.bridge
    }

    /// When those points lie, with ticks of `tick_s`.
    pub fn grid(&self, tick_s: f64) -> Grid {
        Grid {
            tick_s,
            ratio: self.ratio,
            first: self.task_ticks as f64 - 1.0 + self.lead.ticks(),
            points: self.points(),
            task: self.task_ticks as f64,
        }
    }

    /// The channels a two-rate loop adds at the end of a frame.
    pub fn channels() -> Vec<Channel> {
        vec![
            Channel::new("main.batch", "", "Number of the main loop's batch in use, −1 for none"),
            Channel::new("main.bridged", "", "Ticks bridged in a row because a batch is late"),
        ]
    }

    /// What the main loop integrates, and how. Where all samples are used the force
    /// joins the load signals, behind them, which every method takes as running
    /// straight between their samples; else one step goes over the whole period.
    pub fn stepped(&self, equations: &Equations, tick: &Options) -> (Equations, Options) {
        let mut options = Options { direct_inertia: None, ..tick.clone() };
        let mut equations = equations.clone();
        // A load held over a long step would be late by half of it, and so undo what
        // averaging the force is for.
        let straight = self.force != ForceUse::Last;
        if straight && options.method == Method::Exact(Hold::Zero) {
            options.method = Method::Exact(Hold::First);
        }
        match self.force {
            ForceUse::AllSamples => {
                equations.load = hstack(&[&equations.load, &-equations.interface_matrix()]);
            }
            ForceUse::Average | ForceUse::Last => options.step_s *= self.ratio as f64,
        }
        (equations, options)
    }

    /// The main loop as a linear system, from the integrator of what is
    /// [`stepped`](Self::stepped) and its predictor; `None` where one of them is not
    /// linear.
    pub fn linear_form(
        &self,
        integrator: &Integrator,
        predictor: &Predictor,
        tick_s: f64,
    ) -> Option<MainLoopForm> {
        let step = integrator.linear_step()?;
        let count = step.force.ncols();
        let (dofs, states, ratio) = (integrator.size(), step.transition.nrows(), self.ratio);
        let weights = predictor.weights(dofs, count, self.points())?;
        // What an instant shows to the predictor, from the state and the force.
        let loads = step.load.ncols() - count * usize::from(self.force == ForceUse::AllSamples);
        let of_force = match self.force {
            ForceUse::AllSamples => step.acceleration_of_load.columns(loads, count).into_owned(),
            ForceUse::Average | ForceUse::Last => step.acceleration_of_force.clone(),
        };
        let (lag, of_state) = (step.velocity_lag_s, &step.acceleration_of_state);
        let width = 4 * count + 2 * dofs;
        let shown = vstack(&[
            &step.displacement_of_state,
            &(&step.velocity_of_state + lag * of_state),
            of_state,
            &DMatrix::identity(2 * dofs, states),
            &DMatrix::zeros(count, 0),
        ]);
        let shown_force = vstack(&[
            &DMatrix::zeros(count, 0),
            &(lag * &of_force),
            &of_force,
            &DMatrix::zeros(2 * dofs, 0),
            &DMatrix::identity(count, count),
        ]);
        // States: those of the integrator, the last force, what is remembered of the
        // instants before.
        let remembered: Vec<usize> = (0..width)
            .filter(|&j| weights[1..].iter().any(|w| w.column(j).iter().any(|w| *w != 0.0)))
            .collect();
        let (before, kept) = (weights.len() - 1, remembered.len());
        let past = before * kept;
        let all = states + count + past;
        let (transition, first, rest) = self.over_a_period(step, loads);
        let mut a = DMatrix::zeros(all, all);
        a.view_mut((0, 0), (states, states + count)).copy_from(&hstack(&[&transition, &first]));
        if past > 0 {
            let from = states + count;
            let instant = hstack(&[&shown, &shown_force]).select_rows(&remembered);
            a.view_mut((from, 0), (kept, from)).copy_from(&instant);
            a.view_mut((from + kept, from), (past - kept, past - kept)).fill_with_identity();
        }
        let mut b = vstack(&[&rest, &DMatrix::zeros(count + past, 0)]);
        b.view_mut((states, (ratio - 1) * count), (count, count)).fill_with_identity();
        let mut parts = vec![&weights[0] * shown, &weights[0] * shown_force];
        parts.extend(weights[1..].iter().map(|weight| weight.select_columns(&remembered)));
        let points = hstack(&parts.iter().collect::<Vec<_>>());
        let (c, d) = (&points * &a, &points * &b);
        let step = LinearSystem::new(a, b, c, d, Time::Step(tick_s * ratio as f64));
        Some(MainLoopForm { step, points })
    }

    /// The integrator's state at the end of a period from that at its start, the
    /// force then, and the forces of its ticks.
    fn over_a_period(
        &self,
        step: &LinearStep,
        loads: usize,
    ) -> (DMatrix<f64>, DMatrix<f64>, DMatrix<f64>) {
        let (states, count, ratio) = (step.transition.nrows(), step.force.ncols(), self.ratio);
        if self.force != ForceUse::AllSamples {
            let share = 1.0 / ratio as f64;
            let of_sample = |sample: usize| match self.force {
                ForceUse::Last => f64::from(sample == 0) * &step.force,
                _ if sample == 0 || sample == ratio => 0.5 * share * &step.force,
                _ => share * &step.force,
            };
            let samples: Vec<_> = (1..=ratio).map(of_sample).collect();
            let rest = hstack(&samples.iter().collect::<Vec<_>>());
            return (step.transition.clone(), of_sample(0), rest);
        }
        let (start, end) = (step.load.columns(loads, count), step.next.columns(loads, count));
        let mut first = DMatrix::zeros(states, count);
        let mut rest = DMatrix::zeros(states, ratio * count);
        let mut transition = DMatrix::identity(states, states);
        for tick in 0..ratio {
            first = &step.transition * first;
            rest = &step.transition * rest;
            transition = &step.transition * transition;
            let mut begun = match tick {
                0 => first.columns_mut(0, count),
                _ => rest.columns_mut((tick - 1) * count, count),
            };
            begun += start;
            let mut ended = rest.columns_mut(tick * count, count);
            ended += end;
        }
        (transition, first, rest)
    }
}
