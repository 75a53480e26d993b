//! The rigs of the lanes.

use model::sensor::{Converter, Sensor};
use numerics::gemv::PanelMatrix;
use numerics::lanes::{LANES, Lanes};
use numerics::normals::Normals;

use super::product::Product;
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
    converters: Converters,
    displacement: Sensors,
    force: Sensors,
}

/// Ticks for which noise is drawn in one go.
const DRAWN: usize = 64;

/// One sensor of every lane.
struct Sensors {
    sources: [Option<Normals>; LANES],
    noise: Lanes,
    steps: Steps,
    /// Noise of unit size for the ticks to come.
    drawn: [Lanes; DRAWN],
    next: usize,
}

impl Sensors {
    fn new(each: [&Sensor; LANES]) -> Self {
        Self {
            noise: Lanes::each(|lane| each[lane].imperfections().0),
            steps: Steps::new(Lanes::each(|lane| each[lane].imperfections().1)),
            sources: each.map(Sensor::noise_to_come),
            drawn: [Lanes::ZERO; DRAWN],
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
        self.steps.applied(truth + self.noise * drawn)
    }

    fn draw(&mut self) {
        let mut numbers = [0.0; DRAWN];
        for (lane, source) in self.sources.iter_mut().enumerate() {
            let Some(source) = source else { continue };
            source.draw(&mut numbers);
            for (drawn, number) in self.drawn.iter_mut().zip(&numbers) {
                drawn[lane] = *number;
            }
        }
        self.next = 0;
    }
}

/// Whole steps of a sensor or converter of every lane.
struct Steps {
    quantum: Lanes,
    none: bool,
}

impl Steps {
    fn new(quantum: Lanes) -> Self {
        Self { none: !Lanes::ZERO.below(quantum).any(), quantum }
    }

    /// [`model::sensor::quantise`] in every lane.
    #[inline(always)]
    fn applied(&self, value: Lanes) -> Lanes {
        if self.none {
            return value;
        }
        let stepped = value.over(self.quantum).round() * self.quantum;
        Lanes::ZERO.below(self.quantum).choose(stepped, value)
    }
}

/// The converters of the lanes.
struct Converters {
    steps: Steps,
    /// Least and largest displacement; infinite for none.
    least: Lanes,
    most: Lanes,
}

impl Converters {
    fn new(each: [Converter; LANES]) -> Self {
        let most = |lane: usize| {
            let Converter { saturation, .. } = each[lane];
            if saturation >= 0.0 { saturation } else { f64::INFINITY }
        };
        Self {
            steps: Steps::new(Lanes::each(|lane| each[lane].quantum)),
            least: Lanes::each(|lane| -most(lane)),
            most: Lanes::each(most),
        }
    }

    /// [`Converter::convert`] in every lane.
    #[inline(always)]
    fn convert(&self, command: Lanes) -> Lanes {
        let command = self.steps.applied(command);
        let command = command.below(self.least).choose(self.least, command);
        self.most.below(command).choose(self.most, command)
    }
}

impl Rigs {
    pub(super) fn new(parts: Vec<LanePart>) -> Option<Self> {
        let of = |which: fn(&LanePart) -> &PanelMatrix| {
            Product::new(&parts.iter().map(which).collect::<Vec<_>>())
        };
        let (motion, step) = (of(|part| &part.motion)?, of(|part| &part.step)?);
        let states = step.rows;
        let mut input = vec![Lanes::ZERO; states + 3];
        for (lane, part) in parts.iter().enumerate() {
            for (row, value) in part.input.iter().enumerate() {
                input[row][lane] = *value;
            }
        }
        let output = vec![Lanes::ZERO; motion.padded_rows().max(step.padded_rows())];
        let specimen = std::array::from_fn(|term| Lanes::each(|lane| parts[lane].specimen[term]));
        let samples = parts.first()?.late.len();
        if parts.iter().any(|part| part.late.len() != samples) {
            return None;
        }
        let late = (0..samples).map(|i| Lanes::each(|lane| parts[lane].late[i])).collect();
        let sensors = |which: fn(&LanePart) -> &Sensor| {
            Sensors::new(std::array::from_fn(|lane| which(&parts[lane])))
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
            converters: Converters::new(std::array::from_fn(|lane| parts[lane].converter)),
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
        let force = stiffness * u + damping * v + mass * a;
        // The ordinary rig adds the force of its elements, which is zero here.
        let force = force + Lanes::ZERO;
        let (displacements, mut forces) = (self.displacement.read(u), self.force.read(force));
        if let Some(late) = self.late.get_mut(self.oldest) {
            std::mem::swap(late, &mut forces);
            self.oldest = if self.oldest + 1 == self.late.len() { 0 } else { self.oldest + 1 };
        }
        (displacements, forces)
    }

    /// The displacement as it leaves the converters.
    #[inline(always)]
    pub(super) fn convert(&self, command: Lanes) -> Lanes {
        self.converters.convert(command)
    }

    #[inline(always)]
    pub(super) fn actuate(&mut self, converted: &[Lanes; 3]) {
        let states = self.states;
        self.input[states..states + 3].copy_from_slice(converted);
        self.step.multiply(&self.input, &mut self.output);
        self.input[..states].copy_from_slice(&self.output[..states]);
    }
}
