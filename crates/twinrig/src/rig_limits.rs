//! What the rig could not do, and what its sensors could not see: limits that were reached, noise
//! and steps against the motion. Of a record, and of a variant of a sweep while it runs.

use experiment::per_dof::PerDof;
use experiment::{Experiment, VerdictSpec};
use numerics::lanes::Lane;
use runtime::verdict::Reason;

use crate::page::text::label;
use crate::words::number;

/// A command this near to a limit is at it.
const AT_LIMIT: f64 = 1.0 - 1e-9;
/// Differences of rounded commands are a little below the rate.
const ROUNDED: f64 = 1.0 + 1e-6;
/// Rms of what rounding to a step of 1 leaves: 1/√12.
const ROUNDING: f64 = 0.288_675_134_594_812_9;

/// What the rig of an experiment can do and see. A limit that the file does not declare is not a
/// number, which nothing reaches.
#[derive(Debug, Clone)]
pub(crate) struct RigLimits {
    command_m: f64,
    rate_m_s: f64,
    force_n: f64,
    command_step_m: f64,
    /// Of displacement and force, for each interface DOF.
    noise: Vec<[f64; 2]>,
    rate_hz: f64,
}

impl RigLimits {
    /// With `count` interface DOFs and so many frames a second. `played` says whether the sensors
    /// are those of the file; the sensors of a real rig are its own.
    pub(crate) fn of(experiment: &Experiment, count: usize, rate_hz: f64, played: bool) -> Self {
        let (rig, sensors) = (&experiment.transfer_system, &experiment.sensors);
        let shaping = &experiment.compensator.shaping;
        let stops = [rig.saturation_m, shaping.saturation_m].into_iter().flatten();
        let of = |values: &Option<PerDof>, dof: usize| {
            let values = values.as_ref().map(|values| values.expand(count));
            values.and_then(|values| values.get(dof).copied()).unwrap_or(0.0)
        };
        let noise = |noise: &Option<PerDof>, step: &Option<PerDof>, dof: usize| match played {
            true => of(noise, dof).hypot(ROUNDING * of(step, dof)),
            false => 0.0,
        };
        let of_dof = |dof: usize| {
            [
                noise(&sensors.displacement_noise, &sensors.displacement_quantum, dof),
                noise(&sensors.force_noise, &sensors.force_quantum, dof),
            ]
        };
        Self {
            command_m: stops.reduce(f64::min).unwrap_or(f64::NAN),
            rate_m_s: shaping.rate_m_s.unwrap_or(f64::NAN),
            force_n: rig.capacity_n.unwrap_or(f64::NAN),
            command_step_m: if played { rig.quantum_m.unwrap_or(0.0) } else { 0.0 },
            noise: (0..count).map(of_dof).collect(),
            rate_hz,
        }
    }

    /// What counts as at the limit, of one test or of several side by side.
    pub(crate) fn bounds<'a, T: Lane>(of: impl Fn(usize) -> &'a Self) -> Bounds<T> {
        let each = |bound: fn(&Self) -> f64| T::each(|lane| bound(of(lane)));
        Bounds {
            command_m: each(|limits| AT_LIMIT * limits.command_m),
            step_m: each(|limits| AT_LIMIT * limits.rate_m_s / (ROUNDED * limits.rate_hz)),
            force_n: each(|limits| AT_LIMIT * limits.force_n),
        }
    }

    /// The gravest of both kinds, from what was seen of each interface DOF.
    pub(crate) fn reasons(
        &self,
        seen: &[(impl AsRef<str>, Seen<f64>)],
        thresholds: &VerdictSpec,
    ) -> Vec<Reason> {
        let limited = worst(seen.iter().flat_map(|(name, seen)| self.limited(name.as_ref(), seen)));
        let limited = limited.and_then(|(share, what)| {
            Reason::beyond(thresholds.limited, share, "limited", |threshold| {
                let text = format!(
                    "{what} in {} % of the test; {} % allowed",
                    number(100.0 * share),
                    number(100.0 * threshold)
                );
                (text, "a smaller load, or an actuator that reaches further".to_owned())
            })
        });
        let each = seen.iter().enumerate();
        let noise =
            worst(each.flat_map(|(dof, (name, seen))| self.noisy(dof, name.as_ref(), seen)));
        let noisy = noise.and_then(|(share, what)| {
            Reason::beyond(thresholds.noise, share, "noise", |threshold| {
                let text = format!(
                    "{what}: {} % of its rms; {} % allowed",
                    number(100.0 * share),
                    number(100.0 * threshold)
                );
                (text, "a larger load, or finer sensors and converters".to_owned())
            })
        });
        limited.into_iter().chain(noisy).collect()
    }

    /// The share of the test that an interface DOF spent at each limit.
    fn limited(&self, name: &str, seen: &Seen<f64>) -> [Share; 3] {
        let name = label(name);
        let share = |count: f64, of: f64, what: &str, scale: f64, limit: f64, unit: &str| {
            let limit = number(scale * limit);
            let text = format!("{what} of interface DOF {name} at its limit of {limit} {unit}");
            (count / of.max(1.0), text)
        };
        let [command, rate, force] = seen.at_limit;
        [
            share(command, seen.frames, "command", 1e3, self.command_m, "mm"),
            share(rate, seen.frames - 1.0, "rate of the command", 1e3, self.rate_m_s, "mm/s"),
            share(force, seen.frames, "force", 1e-3, self.force_n, "kN"),
        ]
    }

    /// Rms of noise and steps over the rms of what they disturb.
    fn noisy(&self, dof: usize, name: &str, seen: &Seen<f64>) -> [Share; 3] {
        let name = label(name);
        let [measured, force] = self.noise.get(dof).copied().unwrap_or_default();
        let noises = [ROUNDING * self.command_step_m, measured, force];
        let what = [
            "step of the command",
            "noise of the measured displacement",
            "noise of the measured force",
        ];
        std::array::from_fn(|signal| {
            let rms = (seen.squares[signal] / seen.finite[signal]).sqrt();
            (noises[signal] / rms, format!("{} of interface DOF {name}", what[signal]))
        })
    }
}

type Share = (f64, String);

fn worst(all: impl Iterator<Item = Share>) -> Option<Share> {
    all.filter(|(share, _)| *share > 0.0).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// What counts as at the limit; the rate as the step of the command between two frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds<T> {
    command_m: T,
    step_m: T,
    force_n: T,
}

/// What was seen of an interface DOF while the load acted, frame by frame: all that [`RigLimits`]
/// asks of command, measured motion and force, so that none of them has to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Seen<T> {
    frames: f64,
    /// Frames in which command, rate of the command and force were at their limits.
    at_limit: [T; 3],
    /// Sums of squares of command, measured displacement and force, and how many were numbers.
    squares: [T; 3],
    finite: [T; 3],
    command: T,
}

impl<T: Lane> Seen<T> {
    /// Takes the next frame in.
    #[inline(always)]
    pub(crate) fn add(&mut self, bounds: &Bounds<T>, command: T, measured: T, force: T) {
        let (one, endless) = (T::all(1.0), T::all(f64::INFINITY));
        let step = match self.frames {
            // There is none before the first.
            0.0 => T::ZERO,
            _ => (command - self.command).abs(),
        };
        let reached = [
            bounds.command_m.at_most(command.abs()),
            bounds.step_m.at_most(step),
            bounds.force_n.at_most(force.abs()),
        ];
        for (count, reached) in self.at_limit.iter_mut().zip(reached) {
            *count += one.where_set(reached, T::ZERO);
        }
        for (signal, x) in [command, measured, force].into_iter().enumerate() {
            let finite = x.abs().below(endless);
            self.squares[signal] += (x * x).where_set(finite, T::ZERO);
            self.finite[signal] += one.where_set(finite, T::ZERO);
        }
        self.command = command;
        self.frames += 1.0;
    }

    /// What was seen of one lane.
    pub(crate) fn lane(&self, lane: usize) -> Seen<f64> {
        let of = |values: [T; 3]| values.map(|value| value.lane(lane));
        Seen {
            frames: self.frames,
            at_limit: of(self.at_limit),
            squares: of(self.squares),
            finite: of(self.finite),
            command: self.command.lane(lane),
        }
    }
}
