//! Four loops in step, one in each lane of a vector register.
//!
//! A robustness study runs one test thousands of times with other numbers in
//! it. The products of these loops have the same shape, so four of them are
//! taken at once, and so is everything else that has no branches; a compensator
//! other than the default one is stepped lane by lane. Every number is the one the ordinary tick computes, bit for bit.
//!
//! Only the untroubled course of a test is covered: no recorder, no trip, one
//! interface DOF, a small linear numerical part, a virtual rig with dynamics and
//! no nonlinear specimen. A lane that meets a limit is *troubled*: what it did
//! from there on means nothing, and its test is to be run by the ordinary tick.

mod compensators;
mod guard;
mod loads;
mod product;
mod rigs;

use model::integrator::Integrator;
use numerics::lanes::{LANES, Lanes, Mask};

use crate::hybrid_loop::HybridLoop;
use crate::numerical::Numerical;
use crate::rig::LanePart;
use compensators::Compensators;
use guard::{Bounds, Monitors};
use loads::Loads;
use product::Product;
use rigs::Rigs;

/// Four loops in step.
pub struct Lockstep {
    shape: Shape,
    ticks: usize,
    loads: Loads,
    /// See [`model::integrator::StepProduct`]; input in front, output behind.
    numerical: Product,
    vectors: [Vec<Lanes>; 2],
    of_load: Vec<Lanes>,
    of_force: Lanes,
    velocity_lag_s: Lanes,
    rig: Rigs,
    compensators: Compensators,
    gate: Bounds,
    monitor: Monitors,
    held: Lanes,
    /// Lanes without trouble so far.
    sound: Mask,
}

/// What the four have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    loads: usize,
    states: usize,
    dofs: usize,
    ticks: usize,
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

impl Lockstep {
    /// Puts four armed loops side by side; `None` if one is not of the plain
    /// kind, has ticked already or has another shape than the rest.
    pub fn new(loops: &[HybridLoop]) -> Option<Self> {
        let shapes: Vec<Shape> = loops.iter().map(shape).collect::<Option<_>>()?;
        let shape = *shapes.first()?;
        if loops.len() != LANES || shapes.iter().any(|other| *other != shape) {
            return None;
        }
        let steps: Vec<_> =
            loops.iter().map(|one| integrator(one)?.product()).collect::<Option<_>>()?;
        let parts: Vec<LanePart> =
            loops.iter().map(|one| one.rig().lane_part()).collect::<Option<_>>()?;
        let rule = loops[0].monitor().rule();
        if loops.iter().any(|one| one.monitor().rule() != rule) {
            return None;
        }
        let numerical = Product::new(&steps.iter().map(|step| step.matrix).collect::<Vec<_>>())?;
        let inputs = 2 * shape.loads + 1;
        let mut vector = vec![Lanes::ZERO; inputs + numerical.padded_rows()];
        for (lane, step) in steps.iter().enumerate() {
            for (row, value) in step.output.iter().take(numerical.rows).enumerate() {
                vector[inputs + row][lane] = *value;
            }
        }
        let over = |value: &dyn Fn(usize) -> f64| Lanes::each(value);
        let limits = |lane: usize| loops[lane].limits();
        let monitor = |lane: usize| loops[lane].monitor();
        Some(Self {
            shape,
            ticks: shape.ticks,
            loads: Loads::new(loops),
            numerical,
            vectors: [vector.clone(), vector],
            of_load: (0..shape.loads)
                .map(|load| over(&|lane| steps[lane].acceleration_of_load[(0, load)]))
                .collect(),
            of_force: over(&|lane| steps[lane].acceleration_of_force[(0, 0)]),
            velocity_lag_s: over(&|lane| steps[lane].velocity_lag_s),
            rig: Rigs::new(parts)?,
            compensators: Compensators::new(loops),
            gate: Bounds {
                command: over(&|lane| limits(lane).command[0]),
                rate: over(&|lane| limits(lane).rate[0]),
                force: over(&|lane| limits(lane).force[0]),
                tracking_error: over(&|lane| limits(lane).tracking_error[0]),
                step_s: over(&|lane| limits(lane).step_s),
            },
            monitor: Monitors {
                rule,
                constant_j: over(&|lane| monitor(lane).constant_j()),
                stop_at: over(&|lane| {
                    let stop_at = monitor(lane).stop_at();
                    if stop_at.is_finite() { stop_at } else { f64::NAN }
                }),
                feedback: Lanes::ZERO,
                dissipated: Lanes::ZERO,
                warning: Lanes::ZERO,
            },
            held: Lanes::ZERO,
            sound: Mask::ALL,
        })
    }

    /// Runs the four to their end, or until all are troubled. `onlooker` is
    /// shown every tick after it was decided; of a troubled lane it sees
    /// nonsense. Gives which lanes were troubled.
    pub fn run(mut self, onlooker: &mut impl Onlooker) -> [bool; LANES] {
        self.dispatch(onlooker);
        (!self.sound).lanes()
    }

    /// The same by plain instructions, as on a processor without wide registers.
    pub fn run_narrow(mut self, onlooker: &mut impl Onlooker) -> [bool; LANES] {
        self.run_any(onlooker);
        (!self.sound).lanes()
    }

    fn dispatch(&mut self, onlooker: &mut impl Onlooker) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been seen to have AVX2.
            return unsafe { self.run_wide(onlooker) };
        }
        self.run_any(onlooker);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_wide(&mut self, onlooker: &mut impl Onlooker) {
        self.run_any(onlooker);
    }

    #[inline(always)]
    fn run_any(&mut self, onlooker: &mut impl Onlooker) {
        let mut now = 0;
        for tick in 0..self.ticks {
            self.tick(tick, now, onlooker);
            now = 1 - now;
            if !self.sound.any() {
                return;
            }
        }
    }

    /// The ordinary tick, in its order, for all lanes.
    #[inline(always)]
    fn tick(&mut self, tick: usize, now: usize, onlooker: &mut impl Onlooker) {
        let Shape { loads, states, dofs, .. } = self.shape;
        let inputs = 2 * loads + 1;
        let interface = inputs + states;
        let [first, second] = &mut self.vectors;
        let (vector, other) = if now == 0 { (first, second) } else { (second, first) };

        // Measure, and balance the forces of this instant.
        let (measured, force) = self.rig.measure();
        self.loads.write(tick, &mut vector[..2 * loads]);
        let desired = vector[interface];
        let mut acceleration = vector[interface + 2];
        for (signal, of_load) in self.of_load.iter().enumerate() {
            acceleration += *of_load * vector[signal];
        }
        acceleration += self.of_force * force;
        let velocity = vector[interface + 1] + self.velocity_lag_s * acceleration;

        // Compensate.
        let rig = &self.rig;
        let wanted = [desired, velocity, acceleration];
        let (command, sent, followed) =
            self.compensators.step(&wanted, measured, |command| rig.convert(command));

        // Gate and observe.
        let passed = self.gate.let_through(self.held, desired, measured, force, &command);
        if tick > 0 {
            self.monitor.add_step(vector, other, force, self.shape);
        }
        self.sound &= passed & self.monitor.warn() & followed;
        onlooker.see(&View {
            tick,
            displacement: &vector[inputs..inputs + dofs],
            desired,
            measured,
            force,
            warning: self.monitor.warning,
        });

        // Actuate and integrate.
        self.held = command[0];
        self.rig.actuate(&[sent, command[1], command[2]]);
        vector[2 * loads] = force;
        self.numerical.multiply(&vector[..inputs + states], &mut other[inputs..]);
    }
}

/// The plain shape of a loop, if it has it.
fn shape(one: &HybridLoop) -> Option<Shape> {
    let step = integrator(one)?.product()?;
    let plain = one.ticks() == 0 && step.forces == 1 && one.is_plain();
    plain.then_some(Shape {
        loads: step.loads,
        states: step.states,
        dofs: step.dofs,
        ticks: one.known_load().ticks(),
    })
}

fn integrator(one: &HybridLoop) -> Option<&Integrator> {
    match one.numerical() {
        Numerical::Partitioned { integrator, .. } => Some(integrator),
        _ => None,
    }
}
