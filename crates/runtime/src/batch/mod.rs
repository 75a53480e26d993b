//! Four loops in step, one in each lane of a vector register.
//!
//! A robustness study runs one test thousands of times with other numbers in
//! it. The parts of these loops do the same at the same time, so one [`Lanes`] in the
//! place of one number takes four tests through the same code: step, sensors,
//! converter, default compensator, gate and energies are those of the ordinary
//! tick. A compensator other than the default one is stepped lane by lane. Every
//! number is the one the ordinary tick computes, bit for bit.
//!
//! Only the untroubled course of a plain test is covered; `member.rs` decides which
//! are plain. A lane that meets a limit is *troubled*: what it did from there on
//! means nothing, and its test is to be run by the ordinary tick.

mod member;
mod parts;

use model::integrator::StepMap;
use numerics::lanes::{LANES, Lane, LaneMask, Lanes, Mask, Work, widely};

use crate::gate::{Bounds, GateInput, fed_velocity};
use crate::hybrid_loop::HybridLoop;
use crate::monitor::{WorkRule, stability_warning};
use member::Member;
use parts::{Compensators, Loads, Rigs};

/// Four loops in step.
pub struct BatchLoop {
    ticks: usize,
    loads: Loads,
    numerical: StepMap<Lanes>,
    /// Number of numerical DOFs.
    dofs: usize,
    velocity_lag_s: Lanes,
    rig: Rigs,
    compensators: Compensators,
    bounds: Bounds<Lanes>,
    energies: Energies,
    last_command: Lanes,
    /// The velocity to which commands lead a rig that is fed forward.
    fed: Lanes,
    /// Lanes without trouble so far.
    sound: Mask,
}

/// What the stability warning is made of.
struct Energies {
    rule: WorkRule,
    constant_j: Lanes,
    /// SW that stops a test; not a number where none does.
    stop_at: Lanes,
    feedback: Lanes,
    dissipated: Lanes,
    warning: Lanes,
}

/// What can be seen of the four at one tick.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The tick, from 0.
    pub tick: usize,
    /// Displacement of every numerical DOF.
    pub displacement: &'a [Lanes],
    /// Desired displacement of the interface.
    pub desired: Lanes,
    /// Commanded displacement.
    pub command: Lanes,
    /// Measured displacement.
    pub measured: Lanes,
    /// Measured force.
    pub force: Lanes,
    /// SW, %.
    pub warning: Lanes,
}

/// Who is shown every tick of the four. What is to be fast is marked for
/// inlining, and is then compiled for the same registers as the tick.
pub trait Onlooker {
    /// One tick.
    fn see(&mut self, view: &View<'_>);
}

impl<F: FnMut(&View<'_>)> Onlooker for F {
    #[inline(always)]
    fn see(&mut self, view: &View<'_>) {
        self(view);
    }
}

impl BatchLoop {
    /// Puts four armed loops side by side; `None` if one may not go in a batch or
    /// they differ in shape.
    pub fn new(loops: &[&HybridLoop]) -> Option<Self> {
        let members: Vec<Member<'_>> =
            loops.iter().map(|one| Member::new(one)).collect::<Option<_>>()?;
        let members: &[Member<'_>; LANES] = members.as_slice().try_into().ok()?;
        let ticks = members[0].load.ticks();
        let rule = members[0].monitor.rule;
        let alike = |one: &Member<'_>| one.load.ticks() == ticks && one.monitor.rule == rule;
        if !members.iter().all(alike) {
            return None;
        }
        let over = |of: fn(&Member<'_>) -> f64| Lanes::each(|lane| of(&members[lane]));
        let numerical = StepMap::side_by_side(members.each_ref().map(|one| one.step))?;
        Some(Self {
            ticks,
            loads: Loads::new(members, numerical.shape.loads),
            numerical,
            dofs: members[0].dofs,
            velocity_lag_s: over(|one| one.velocity_lag_s),
            rig: Rigs::new(members)?,
            compensators: Compensators::new(members),
            bounds: Bounds {
                command: over(|one| one.limits.command[0]),
                rate: over(|one| one.limits.rate[0]),
                force: over(|one| one.limits.force[0]),
                tracking_error: over(|one| one.limits.tracking_error[0]),
                position: over(|one| one.limits.position(0)),
                step_s: over(|one| one.limits.step_s),
            },
            energies: Energies {
                rule,
                constant_j: over(|one| one.monitor.constant_j),
                stop_at: over(|one| {
                    let stop_at = one.monitor.stop_at;
                    if stop_at.is_finite() { stop_at } else { f64::NAN }
                }),
                feedback: Lanes::ZERO,
                dissipated: Lanes::ZERO,
                warning: Lanes::ZERO,
            },
            last_command: Lanes::ZERO,
            fed: Lanes::ZERO,
            sound: Mask::ALL,
        })
    }

    /// Runs the four to their end, or until all are troubled. `onlooker` is
    /// shown every tick after it was decided; of a troubled lane it sees
    /// nonsense. Gives which lanes were troubled.
    pub fn run(mut self, onlooker: &mut impl Onlooker) -> [bool; LANES] {
        widely(Run { batch: &mut self, onlooker });
        (!self.sound).lanes()
    }

    /// The same by plain instructions, as on a processor without wide registers.
    pub fn run_narrow(mut self, onlooker: &mut impl Onlooker) -> [bool; LANES] {
        Run { batch: &mut self, onlooker }.run();
        (!self.sound).lanes()
    }

    /// The ordinary tick, in its order, for all lanes.
    #[inline(always)]
    fn tick(&mut self, tick: usize, onlooker: &mut impl Onlooker) {
        // Measure, and balance the forces of this instant.
        let (measured, force) = self.rig.measure();
        let (load, next) = self.loads.at(tick);
        let (x, v) = self.numerical.interface();
        let (desired, velocity) = (x[0], v[0]);
        let mut acceleration = [Lanes::ZERO];
        self.numerical.interface_acceleration(load, &[force], &mut acceleration);
        let [acceleration] = acceleration;
        let motion = [desired, velocity + self.velocity_lag_s * acceleration, acceleration];

        // Compensate.
        let (command, sent, followed) = self.compensators.step(motion, measured, &self.rig);

        // Gate and observe.
        let held = self.last_command;
        let seen = GateInput { held, desired, position: measured, force, command };
        self.sound &= seen.passes(&self.bounds) & followed;
        self.fed = fed_velocity(self.fed, command, self.bounds.step_s);
        self.sound &= self.fed.abs().at_most(self.bounds.rate);
        self.sound &= self.energies.observe(&self.numerical, tick, force);
        onlooker.see(&View {
            tick,
            displacement: &self.numerical.state()[..self.dofs],
            desired,
            command: command[0],
            measured,
            force,
            warning: self.energies.warning,
        });

        // Actuate and integrate.
        self.last_command = command[0];
        self.rig.actuate([sent, command[1], command[2]]);
        self.numerical.advance(load, next, &[force]);
    }
}

/// All ticks of a batch.
struct Run<'a, O> {
    batch: &'a mut BatchLoop,
    onlooker: &'a mut O,
}

impl<O: Onlooker> Work for Run<'_, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for tick in 0..self.batch.ticks {
            self.batch.tick(tick, self.onlooker);
            if !self.batch.sound.any() {
                return;
            }
        }
    }
}

impl Energies {
    /// Adds the work over the step that led to this instant, forms SW and says which
    /// lanes stay below their threshold.
    #[inline(always)]
    fn observe(&mut self, numerical: &StepMap<Lanes>, tick: usize, force: Lanes) -> Mask {
        if tick > 0
            && let Some(work) = numerical.work(&[force])
        {
            self.dissipated += work.dissipated;
            self.feedback += self.rule.feedback(&work);
        }
        self.warning = stability_warning(self.feedback, self.dissipated + self.constant_j);
        // What is not a number is left to the ordinary tick.
        let is_number = self.warning.at_most(self.warning);
        is_number & !self.stop_at.at_most(self.warning)
    }
}
