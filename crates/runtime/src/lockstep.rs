//! Four loops in step, one in each lane of a vector register.
//!
//! A robustness study runs one test thousands of times with other numbers in
//! it. The products of these loops have the same shape, so four of them are
//! taken at once; sensors and compensator of every lane are its own, stepped
//! one by one. Every number is the one the ordinary tick computes, bit for bit.
//!
//! Only the untroubled course of a test is covered: no recorder, no trip, one
//! interface DOF, a small linear numerical part, a virtual rig with dynamics and
//! no nonlinear specimen. A lane that meets a limit is *troubled*: what it did
//! from there on means nothing, and its test is to be run by the ordinary tick.

use model::compensator::{AdaptiveInverses, Compensator};
use model::motion::Motion;
use model::sensor::Converter;
use numerics::panel::PanelMatrix;

use crate::hybrid_loop::HybridLoop;
use crate::load::Load;
use crate::monitor::WorkRule;
use crate::plant::Plant;
use crate::rig::LanePart;

/// Loops side by side.
pub const LANES: usize = 4;

/// One number of every lane.
pub type Lanes = [f64; LANES];

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
    troubled: [bool; LANES],
}

/// What the four have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    loads: usize,
    states: usize,
    dofs: usize,
    ticks: usize,
}

/// What excites the lanes.
enum Loads {
    /// All the same, as a rule.
    Shared(Load),
    /// Each its own.
    Own(Vec<Load>),
}

impl Loads {
    fn new(loops: &[HybridLoop]) -> Self {
        let load = |one: &HybridLoop| one.parts().load.clone();
        match loops {
            [first, rest @ ..] if rest.iter().all(|one| one.parts().load.is_same(&load(first))) => {
                Self::Shared(load(first))
            }
            loops => Self::Own(loops.iter().map(load).collect()),
        }
    }

    /// Puts the signals of this tick, then those of the next, into `out`.
    #[inline(always)]
    fn write(&self, tick: usize, out: &mut [Lanes]) {
        let (now, next) = out.split_at_mut(out.len() / 2);
        match self {
            Self::Shared(load) => {
                for (out, at) in [(now, tick), (next, tick + 1)] {
                    for (out, value) in out.iter_mut().zip(load.at(at)) {
                        *out = [*value; LANES];
                    }
                }
            }
            Self::Own(loads) => {
                for (lane, load) in loads.iter().enumerate() {
                    for (out, at) in [(&mut *now, tick), (&mut *next, tick + 1)] {
                        for (out, value) in out.iter_mut().zip(load.at(at)) {
                            out[lane] = *value;
                        }
                    }
                }
            }
        }
    }
}

/// Transfer system, specimen and sensors of every lane.
struct Rigs {
    /// Transfer states, then the command's displacement, velocity, acceleration.
    input: Vec<Lanes>,
    output: Vec<Lanes>,
    motion: Product,
    step: Product,
    states: usize,
    /// K, C, M.
    specimen: [Lanes; 3],
    /// Forces on their way, a ring; empty where none comes late.
    late: Vec<Lanes>,
    oldest: usize,
    converters: [Converter; LANES],
    parts: [LanePart; LANES],
}

/// What the gate lets through.
struct Bounds {
    command: Lanes,
    rate: Lanes,
    force: Lanes,
    tracking_error: Lanes,
    step_s: Lanes,
}

/// The energies of every lane.
struct Monitors {
    rule: WorkRule,
    constant_j: Lanes,
    stop_at: Lanes,
    feedback: Lanes,
    dissipated: Lanes,
    warning: Lanes,
}

/// The compensators of the lanes.
enum Compensators {
    /// The default one, all at once.
    Together(Box<AdaptiveInverses<LANES>>),
    /// Any others, one by one.
    Each(Box<[Single; LANES]>),
}

/// A compensator with room for what it is given and gives.
struct Single {
    compensator: Compensator,
    desired: Motion,
    command: Motion,
}

impl Compensators {
    fn new(loops: &[HybridLoop]) -> Self {
        let of = |lane: usize| &loops[lane].parts().compensator;
        match AdaptiveInverses::new(std::array::from_fn(of)) {
            Some(together) => Self::Together(Box::new(together)),
            None => Self::Each(Box::new(std::array::from_fn(|lane| Single {
                compensator: of(lane).clone(),
                desired: Motion::rest(1),
                command: Motion::rest(1),
            }))),
        }
    }

    /// Command (displacement, velocity, acceleration), the displacement as it
    /// leaves the converter, and which lanes can go on.
    #[inline(always)]
    fn step(
        &mut self,
        desired: &[Lanes; 3],
        measured: &Lanes,
        convert: impl Fn(&Lanes) -> Lanes,
    ) -> ([Lanes; 3], Lanes, [bool; LANES]) {
        match self {
            Self::Together(together) => {
                let command = together.command(desired);
                let sent = convert(&command[0]);
                let sound = together.learn(sent, *measured);
                (command, sent, sound)
            }
            Self::Each(singles) => {
                let mut command = [[0.0; LANES]; 3];
                for (lane, single) in singles.iter_mut().enumerate() {
                    single.desired.set(0, desired.map(|signal| signal[lane]));
                    single.compensator.step(
                        &single.desired,
                        &[measured[lane]],
                        &mut single.command,
                    );
                    let [x, v, a] = single.command.of(0);
                    (command[0][lane], command[1][lane], command[2][lane]) = (x, v, a);
                }
                let sent = convert(&command[0]);
                (command, sent, [true; LANES])
            }
        }
    }
}

/// What can be seen of the four at one tick.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The tick, from 0.
    pub tick: usize,
    /// Displacement of every numerical DOF.
    pub displacement: &'a [Lanes],
    /// Desired displacement of the interface.
    pub desired: &'a Lanes,
    /// Measured displacement.
    pub measured: &'a Lanes,
    /// Measured force.
    pub force: &'a Lanes,
    /// SW, %.
    pub warning: &'a Lanes,
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
            loops.iter().map(|one| split(one)?.numerical.product()).collect::<Option<_>>()?;
        let parts: Vec<LanePart> =
            loops.iter().map(|one| split(one)?.rig.lane_part()).collect::<Option<_>>()?;
        let rule = loops[0].parts().monitor.rule();
        if loops.iter().any(|one| one.parts().monitor.rule() != rule) {
            return None;
        }
        let numerical = Product::new(&steps.iter().map(|step| step.matrix).collect::<Vec<_>>())?;
        let inputs = 2 * shape.loads + 1;
        let mut vector = vec![[0.0; LANES]; inputs + numerical.rows];
        for (lane, step) in steps.iter().enumerate() {
            for (row, value) in step.output.iter().take(numerical.rows).enumerate() {
                vector[inputs + row][lane] = *value;
            }
        }
        let over = |value: &dyn Fn(usize) -> f64| std::array::from_fn(value);
        let limits = |lane: usize| &loops[lane].parts().limits;
        let monitor = |lane: usize| &loops[lane].parts().monitor;
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
                stop_at: over(&|lane| monitor(lane).stop_at()),
                feedback: [0.0; LANES],
                dissipated: [0.0; LANES],
                warning: [0.0; LANES],
            },
            held: [0.0; LANES],
            troubled: [false; LANES],
        })
    }

    /// Runs the four to their end, or until all are troubled. `see` is shown
    /// every tick after it was decided; of a troubled lane it sees nonsense.
    /// Gives which lanes were troubled.
    pub fn run(mut self, mut see: impl FnMut(&View<'_>)) -> [bool; LANES] {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been seen to have AVX2.
            unsafe { self.run_wide(&mut see) };
            return self.troubled;
        }
        self.run_any(&mut see);
        self.troubled
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_wide(&mut self, see: &mut impl FnMut(&View<'_>)) {
        self.run_any(see);
    }

    #[inline(always)]
    fn run_any(&mut self, see: &mut impl FnMut(&View<'_>)) {
        let mut now = 0;
        for tick in 0..self.ticks {
            self.tick(tick, now, see);
            now = 1 - now;
            if self.troubled == [true; LANES] {
                return;
            }
        }
    }

    /// The ordinary tick, in its order, for all lanes.
    #[inline(always)]
    fn tick(&mut self, tick: usize, now: usize, see: &mut impl FnMut(&View<'_>)) {
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
            acceleration = add(acceleration, mul(*of_load, vector[signal]));
        }
        acceleration = add(acceleration, mul(self.of_force, force));
        let velocity = add(vector[interface + 1], mul(self.velocity_lag_s, acceleration));

        // Compensate.
        let rig = &self.rig;
        let (command, sent, sound) =
            self.compensators.step(&[desired, velocity, acceleration], &measured, |command| {
                rig.convert(command)
            });

        // Gate and observe.
        let passed = self.gate.let_through(&self.held, &desired, &measured, &force, &command);
        if tick > 0 {
            self.monitor.add_step(vector, other, &force, self.shape);
        }
        let calm = self.monitor.warn();
        for lane in 0..LANES {
            self.troubled[lane] |= !(passed[lane] & calm[lane] & sound[lane]);
        }
        see(&View {
            tick,
            displacement: &vector[inputs..inputs + dofs],
            desired: &desired,
            measured: &measured,
            force: &force,
            warning: &self.monitor.warning,
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
    let step = split(one)?.numerical.product()?;
    let parts = one.parts();
    let plain = one.ticks() == 0 && step.forces == 1 && !one.is_watched();
    plain.then_some(Shape {
        loads: step.loads,
        states: step.states,
        dofs: step.dofs,
        ticks: parts.load.ticks(),
    })
}

fn split(one: &HybridLoop) -> Option<&crate::plant::SplitPlant> {
    match one.plant() {
        Plant::Split(plant) => Some(plant),
        Plant::Rigid(_) | Plant::Coupled(_) => None,
    }
}

impl Rigs {
    fn new(parts: Vec<LanePart>) -> Option<Self> {
        let of = |which: fn(&LanePart) -> &PanelMatrix| {
            Product::new(&parts.iter().map(which).collect::<Vec<_>>())
        };
        let (motion, step) = (of(|part| &part.motion)?, of(|part| &part.step)?);
        let states = step.rows;
        let mut input = vec![[0.0; LANES]; states + 3];
        for (lane, part) in parts.iter().enumerate() {
            for (row, value) in part.input.iter().enumerate() {
                input[row][lane] = *value;
            }
        }
        let output = vec![[0.0; LANES]; motion.rows.max(states)];
        let specimen =
            std::array::from_fn(|term| std::array::from_fn(|lane| parts[lane].specimen[term]));
        let samples = parts.first()?.late.len();
        if parts.iter().any(|part| part.late.len() != samples) {
            return None;
        }
        let late = (0..samples).map(|i| std::array::from_fn(|lane| parts[lane].late[i])).collect();
        let parts: [LanePart; LANES] = parts.try_into().ok()?;
        let converters = std::array::from_fn(|lane| parts[lane].converter);
        Some(Self {
            input,
            output,
            motion,
            step,
            states,
            specimen,
            late,
            oldest: 0,
            converters,
            parts,
        })
    }

    /// Measured displacement and force.
    #[inline(always)]
    fn measure(&mut self) -> (Lanes, Lanes) {
        self.motion.multiply(&self.input, &mut self.output);
        let [u, v, a] = [self.output[0], self.output[1], self.output[2]];
        let [stiffness, damping, mass] = self.specimen;
        let force = add(add(mul(stiffness, u), mul(damping, v)), mul(mass, a));
        // The ordinary rig adds the force of its elements, which is zero here.
        let force = add(force, [0.0; LANES]);
        let (mut displacements, mut forces) = ([0.0; LANES], [0.0; LANES]);
        for (lane, part) in self.parts.iter_mut().enumerate() {
            displacements[lane] = part.displacement.read(u[lane]);
            forces[lane] = part.force.read(force[lane]);
        }
        if let Some(late) = self.late.get_mut(self.oldest) {
            std::mem::swap(late, &mut forces);
            self.oldest = if self.oldest + 1 == self.late.len() { 0 } else { self.oldest + 1 };
        }
        (displacements, forces)
    }

    /// The displacement as it leaves the converters.
    #[inline(always)]
    fn convert(&self, command: &Lanes) -> Lanes {
        std::array::from_fn(|lane| self.converters[lane].convert(command[lane]))
    }

    #[inline(always)]
    fn actuate(&mut self, converted: &[Lanes; 3]) {
        let states = self.states;
        self.input[states..states + 3].copy_from_slice(converted);
        self.step.multiply(&self.input, &mut self.output);
        self.input[..states].copy_from_slice(&self.output[..states]);
    }
}

impl Bounds {
    /// Which lanes the gate lets through. Whatever cannot be compared does not pass.
    #[inline(always)]
    fn let_through(
        &self,
        held: &Lanes,
        desired: &Lanes,
        measured: &Lanes,
        force: &Lanes,
        command: &[Lanes; 3],
    ) -> [bool; LANES] {
        let [x, v, a] = command;
        // Comparison by comparison over all lanes: no branches, wide registers.
        let within = |value: Lanes, limit: &Lanes| -> [bool; LANES] {
            std::array::from_fn(|lane| value[lane].abs() <= limit[lane])
        };
        let moved = sub(*x, *held);
        let rate = std::array::from_fn(|lane| moved[lane] / self.step_s[lane]);
        let zeros = [x, v, a, measured, force, desired]
            .into_iter()
            .fold([0.0; LANES], |sum, value| add(sum, mul([0.0; LANES], *value)));
        let checks = [
            // Zero times anything that is not finite is not zero.
            within(zeros, &[0.0; LANES]),
            within(*force, &self.force),
            within(sub(*measured, *desired), &self.tracking_error),
            within(*x, &self.command),
            within(rate, &self.rate),
        ];
        std::array::from_fn(|lane| checks.iter().fold(true, |all, check| all & check[lane]))
    }
}

impl Monitors {
    /// The work over the step that led to this instant, as `step_work` finds it.
    #[inline(always)]
    fn add_step(&mut self, now: &[Lanes], last: &[Lanes], force: &Lanes, shape: Shape) {
        let Shape { loads, states, dofs, .. } = shape;
        let x = 2 * loads + 1;
        let (interface, drag) = (x + states, x + states + 3);
        let mut taken = [0.0; LANES];
        for dof in 0..dofs {
            let both = add(now[drag + dof], last[drag + dof]);
            let moved = sub(now[x + dof], last[x + dof]);
            taken = add(taken, mul(mul([0.5; LANES], both), moved));
        }
        self.dissipated = add(self.dissipated, taken);
        let moved = sub(now[interface], last[interface]);
        let held = last[2 * loads];
        let acting = match self.rule {
            WorkRule::Held => held,
            WorkRule::Trapezoid => mul([0.5; LANES], add(*force, held)),
        };
        self.feedback = add(self.feedback, sub([0.0; LANES], mul(acting, moved)));
    }

    /// Forms SW and says which lanes stay below their threshold.
    #[inline(always)]
    fn warn(&mut self) -> [bool; LANES] {
        for lane in 0..LANES {
            let taken = self.dissipated[lane] + self.constant_j[lane];
            self.warning[lane] = if self.feedback[lane] <= 0.0 {
                0.0
            } else if taken > 0.0 {
                100.0 * self.feedback[lane] / taken
            } else {
                f64::INFINITY
            };
        }
        std::array::from_fn(|lane| {
            !(self.stop_at[lane].is_finite() && self.warning[lane] >= self.stop_at[lane])
        })
    }
}

/// The same product in every lane, with a matrix for each.
struct Product {
    rows: usize,
    /// Columns without those at the end that are zero in every lane.
    columns: usize,
    /// Rows in fours, column by column, then the rest row by row.
    entries: Vec<Lanes>,
}

/// Rows summed side by side, so that an addition need not wait for the last.
const ROWS: usize = 4;

impl Product {
    fn new(matrices: &[&PanelMatrix]) -> Option<Self> {
        let first = matrices.first()?;
        let (rows, all) = (first.rows(), first.columns());
        if matrices.iter().any(|m| (m.rows(), m.columns()) != (rows, all)) {
            return None;
        }
        let entry = |row, column| -> Lanes {
            std::array::from_fn(|lane| matrices[lane].entry(row, column))
        };
        let zero = |column: usize| (0..rows).all(|row| entry(row, column) == [0.0; LANES]);
        let columns = (0..all).rev().find(|column| !zero(*column)).map_or(0, |last| last + 1);
        let mut entries = Vec::with_capacity(rows * columns);
        let whole = rows - rows % ROWS;
        for block in (0..whole).step_by(ROWS) {
            for column in 0..columns {
                entries.extend((block..block + ROWS).map(|row| entry(row, column)));
            }
        }
        for row in whole..rows {
            entries.extend((0..columns).map(|column| entry(row, column)));
        }
        Some(Self { rows, columns, entries })
    }

    /// y = A x, every row summed as [`PanelMatrix`] sums it: even and odd
    /// columns apart.
    #[inline(always)]
    fn multiply(&self, x: &[Lanes], y: &mut [Lanes]) {
        let x = &x[..self.columns];
        let whole = self.rows - self.rows % ROWS;
        let (blocks, rest) = self.entries.split_at(whole * self.columns);
        let (fours, single) = y[..self.rows].split_at_mut(whole);
        let fours = fours.as_chunks_mut::<ROWS>().0;
        let (pairs, last) = x.as_chunks::<2>();
        for (block, out) in blocks.chunks_exact((ROWS * self.columns).max(1)).zip(fours) {
            let (mut even, mut odd) = ([[0.0; LANES]; ROWS], [[0.0; LANES]; ROWS]);
            let columns = block.as_chunks::<ROWS>().0;
            let (column_pairs, column_last) = columns.as_chunks::<2>();
            for ([a, b], [p, q]) in column_pairs.iter().zip(pairs) {
                for row in 0..ROWS {
                    even[row] = add(even[row], mul(a[row], *p));
                    odd[row] = add(odd[row], mul(b[row], *q));
                }
            }
            if let ([a], [p]) = (column_last, last) {
                for row in 0..ROWS {
                    even[row] = add(even[row], mul(a[row], *p));
                }
            }
            for row in 0..ROWS {
                out[row] = add(even[row], odd[row]);
            }
        }
        for (row, out) in rest.chunks_exact(self.columns.max(1)).zip(single) {
            let (row_pairs, row_last) = row.as_chunks::<2>();
            let (mut even, mut odd) = ([0.0; LANES], [0.0; LANES]);
            for ([a, b], [p, q]) in row_pairs.iter().zip(pairs) {
                even = add(even, mul(*a, *p));
                odd = add(odd, mul(*b, *q));
            }
            if let ([a], [p]) = (row_last, last) {
                even = add(even, mul(*a, *p));
            }
            *out = add(even, odd);
        }
    }
}

#[inline(always)]
fn add(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] + b[lane])
}

#[inline(always)]
fn sub(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] - b[lane])
}

#[inline(always)]
fn mul(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] * b[lane])
}
