//! The rigs of the lanes.

use model::sensor::{Converter, Sensor, quantise};
use numerics::panel::PanelMatrix;

use super::product::{Product, add, mul};
use super::{LANES, Lanes};
use crate::rig::LanePart;

/// Transfer system, specimen and sensors of every lane.
pub(super) struct Rigs {
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
    displacement: Sensors,
    force: Sensors,
}

/// Ticks for which noise is drawn in one go.
const DRAWN: usize = 64;

/// One sensor of every lane.
struct Sensors {
    each: [Sensor; LANES],
    noise: Lanes,
    quantum: Lanes,
    /// Noise of unit size for the ticks to come.
    drawn: [Lanes; DRAWN],
    next: usize,
}

impl Sensors {
    fn new(each: [Sensor; LANES]) -> Self {
        Self {
            noise: std::array::from_fn(|lane| each[lane].imperfections().0),
            quantum: std::array::from_fn(|lane| each[lane].imperfections().1),
            each,
            drawn: [[0.0; LANES]; DRAWN],
            next: DRAWN,
        }
    }

    #[inline(always)]
    fn read(&mut self, truth: Lanes) -> Lanes {
        if self.next == DRAWN {
            self.draw();
        }
        let drawn = self.drawn[self.next];
        self.next += 1;
        let noisy = add(truth, mul(self.noise, drawn));
        if self.quantum == [0.0; LANES] {
            return noisy;
        }
        std::array::from_fn(|lane| quantise(noisy[lane], self.quantum[lane]))
    }

    fn draw(&mut self) {
        let mut numbers = [0.0; DRAWN];
        for (lane, sensor) in self.each.iter_mut().enumerate() {
            sensor.draw(&mut numbers);
            for (drawn, number) in self.drawn.iter_mut().zip(&numbers) {
                drawn[lane] = *number;
            }
        }
        self.next = 0;
    }
}

impl Rigs {
    pub(super) fn new(parts: Vec<LanePart>) -> Option<Self> {
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
        let sensors = |which: fn(&LanePart) -> &Sensor| {
            Sensors::new(std::array::from_fn(|lane| which(&parts[lane]).clone()))
        };
        Some(Self {
            input,
            output,
            motion,
            step,
            states,
            specimen,
            late,
            oldest: 0,
            converters: std::array::from_fn(|lane| parts[lane].converter),
            displacement: sensors(|part| &part.displacement),
            force: sensors(|part| &part.force),
        })
    }

    /// Measured displacement and force.
    #[inline(always)]
    pub(super) fn measure(&mut self) -> (Lanes, Lanes) {
        self.motion.multiply(&self.input, &mut self.output);
        let [u, v, a] = [self.output[0], self.output[1], self.output[2]];
        let [stiffness, damping, mass] = self.specimen;
        let force = add(add(mul(stiffness, u), mul(damping, v)), mul(mass, a));
        // The ordinary rig adds the force of its elements, which is zero here.
        let force = add(force, [0.0; LANES]);
        let (displacements, mut forces) = (self.displacement.read(u), self.force.read(force));
        if let Some(late) = self.late.get_mut(self.oldest) {
            std::mem::swap(late, &mut forces);
            self.oldest = if self.oldest + 1 == self.late.len() { 0 } else { self.oldest + 1 };
        }
        (displacements, forces)
    }

    /// The displacement as it leaves the converters.
    #[inline(always)]
    pub(super) fn convert(&self, command: &Lanes) -> Lanes {
        std::array::from_fn(|lane| self.converters[lane].convert(command[lane]))
    }

    #[inline(always)]
    pub(super) fn actuate(&mut self, converted: &[Lanes; 3]) {
        let states = self.states;
        self.input[states..states + 3].copy_from_slice(converted);
        self.step.multiply(&self.input, &mut self.output);
        self.input[..states].copy_from_slice(&self.output[..states]);
    }
}
