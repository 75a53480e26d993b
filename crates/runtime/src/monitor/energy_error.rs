//! The energy error index: how well the energy balance closes when the specimen
//! is taken at its own, measured displacement.

use keys::Keys;
use model::channel::Channel;
use numerics::small::copy;

use super::alarm::{Alarm, Levels, Sense};
use super::energy::EnergyMonitor;
use super::indicators::{About, Indicator, MonitorInput, Plan, Site};
use super::plot::{Plot, PlotPane, PlotSection};
use crate::event::EventLog;
use crate::gate::{IndicatorTrip, TripKind};
use crate::interlock::Stop;
use crate::measured::Measured;

/// Levels of its size, whatever its sign.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
pub struct EnergyErrorPlan {
    /// As ratios.
    #[key(ratio, within = 0.01..=10.0, flatten)]
    pub levels: Levels,
}

const TRIP: &IndicatorTrip = &IndicatorTrip {
    code: 9,
    description: ("energy error index at its threshold", "%"),
    shown: (1.0, "%", 2),
    of_dof: false,
};

impl Plan for EnergyErrorPlan {
    const ABOUT: About = About {
        trips: &[TRIP],
        rests_on_energies: true,
        needs_every_tick: true,
        peaks: &[("energy_error", "energy error index", "%")],
        ..About::NOTHING
    };

    fn channels(_: usize) -> Vec<Channel> {
        vec![Channel::new("energy_error", "%", "Energy error index")]
    }

    fn start(&self, site: &Site<'_>) -> Box<dyn Indicator> {
        Box::new(EnergyError::new(self.levels, site.energies, site.count, site.step_s))
    }

    fn plots(&self) -> Vec<Plot> {
        let pane =
            PlotPane::new("Energy error", "%", &[("energy_error", "energy error index EEI")]);
        let pane = pane.levels(&self.levels, (100.0, "%"), |level| [level, -level]);
        let caption = "What is missing in the energy balance when the specimen is taken at its \
                       measured displacement, as a share of the input work. Below zero the \
                       transfer system feeds energy in, above it takes energy out.";
        vec![Plot::new(PlotSection::Stability, "Energy error", caption, [pane])]
    }
}

/// The energy error index
///
///   EEI = 100 (W_I − (E_k* + E_d* + E_s − W_exp)) / (max(W_I, 0) + C),
///
/// W_exp = −∫ f dx_m being the work of the measured force on the *measured*
/// displacement; starred terms use velocities differenced from displacements.
/// Were the specimen exactly where the numerical part asks it to be, the sum
/// would vanish. It is negative where the transfer system feeds energy in
/// (delay), positive where it takes energy out (lead).
///
/// Everything is taken at the last but one instant, so that the velocity is a
/// central difference, second order in the step. The input work may be
/// negative for a moment; it then counts as zero, and the denominator is never
/// less than C.
///
/// Reference: Gálmez & Fermandois 2020, Front. Built Environ. 6, whose
/// denominator W_I + EE_max is not guarded.
pub(super) struct EnergyError {
    alarm: Alarm,
    step_s: f64,
    /// Displacements of three instants; `now` is the newest.
    instants: [Vec<f64>; 3],
    now: usize,
    change: Vec<f64>,
    measured: Vec<f64>,
    force: Vec<f64>,
    /// At the newest instant and at the one before.
    sums: [Sums; 2],
    /// Instants taken in; three are needed.
    seen: u64,
    /// Ticks between two evaluations: large structures are not squared every tick.
    pace: u64,
    /// EEI at the last evaluation, %.
    value: f64,
}

/// What is summed over time, J.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    /// W_exp.
    work: f64,
    /// E_d* of the linear damping.
    dissipated: f64,
    /// W_I.
    input: f64,
    /// Put into nonlinear elements: stored or lost.
    elements: f64,
}

/// DOFs that are evaluated every tick.
const EVERY_TICK_DOFS: usize = 8;

impl EnergyError {
    /// For the numerical substructure of these energies and `count` interface DOFs.
    pub(super) fn new(levels: Levels, energies: &EnergyMonitor, count: usize, step_s: f64) -> Self {
        let n = energies.mass.rows();
        let (kind, levels) = (TripKind::Indicator(TRIP), levels.times(100.0));
        Self {
            alarm: Alarm::new(kind, levels, Sense::Rising, step_s),
            step_s,
            instants: std::array::from_fn(|_| vec![0.0; n]),
            now: 0,
            change: vec![0.0; n],
            measured: vec![0.0; count],
            force: vec![0.0; count],
            sums: [Sums::default(); 2],
            seen: 0,
            pace: n.div_ceil(EVERY_TICK_DOFS).max(1) as u64,
            value: 0.0,
        }
    }

    /// Takes one instant in, whose works are in the energies.
    fn add(&mut self, displacement: &[f64], measured: &Measured, energies: &EnergyMonitor) {
        self.sums[1] = self.sums[0];
        let last = self.now;
        self.now = (self.now + 1) % 3;
        copy(&mut self.instants[self.now], displacement);
        if self.seen > 0 {
            self.add_step(last, measured, energies);
        }
        self.sums[0].input = energies.input;
        self.sums[0].elements = energies.elements.work;
        copy(&mut self.measured, &measured.displacement);
        copy(&mut self.force, &measured.force);
        self.seen += 1;
        if self.seen > 2 && self.seen.is_multiple_of(self.pace) {
            self.evaluate(energies);
        }
    }

    fn add_step(&mut self, last: usize, measured: &Measured, energies: &EnergyMonitor) {
        self.difference(self.now, last);
        self.sums[0].dissipated += energies.damping.quadratic(&self.change) / self.step_s;
        let moved = measured.displacement.iter().zip(&self.measured);
        for ((x, x0), (f, f0)) in moved.zip(measured.force.iter().zip(&self.force)) {
            self.sums[0].work -= energies.rule.force(*f0, *f) * (x - x0);
        }
    }

    fn evaluate(&mut self, energies: &EnergyMonitor) {
        let (oldest, middle) = ((self.now + 1) % 3, (self.now + 2) % 3);
        self.difference(self.now, oldest);
        let span = 2.0 * self.step_s;
        let kinetic = 0.5 * energies.mass.quadratic(&self.change) / (span * span);
        let strain = 0.5 * energies.stiffness.quadratic(&self.instants[middle]);
        let Sums { work, dissipated, input, elements } = self.sums[1];
        let error = input - (kinetic + dissipated + strain + elements - work);
        self.value = 100.0 * error / (input.max(0.0) + energies.constant_j);
    }

    fn difference(&mut self, newer: usize, older: usize) {
        let pairs = self.instants[newer].iter().zip(&self.instants[older]);
        for (change, (x, x0)) in self.change.iter_mut().zip(pairs) {
            *change = x - x0;
        }
    }
}

impl Indicator for EnergyError {
    fn observe(&mut self, seen: &MonitorInput<'_>) {
        self.add(seen.displacement, seen.measured, seen.energies);
    }

    fn judge(&mut self, tick: u64, log: &mut EventLog) -> Result<(), Stop> {
        self.alarm.judge(tick, 0, self.value.abs(), log)
    }

    fn write(&self, frame: &mut Vec<f64>) {
        frame.push(self.value);
    }
}

#[cfg(test)]
mod tests {
    use model::equations::{Equations, RelativeDof};
    use nalgebra::DMatrix;
    use numerics::second_order::SecondOrder;

    use super::super::energy::WorkRule;
    use super::*;

    /// m ẍ + c ẋ + k x = −f + p with x = sin ωt: the load p is what it must be.
    fn worst(delay_s: f64, step_s: f64) -> (f64, f64) {
        let one = |value: f64| DMatrix::from_element(1, 1, value);
        let (m, c, k, spring, omega) = (2.0, 3.0, 50.0, 400.0, 9.0);
        let equations = Equations {
            matrices: SecondOrder { mass: one(m), damping: one(c), stiffness: one(k) },
            load: one(1.0),
            interface: vec![RelativeDof::of_dof(0)],
            elements: Vec::new(),
            states: None,
        };
        let mut energies = EnergyMonitor::new(&equations, WorkRule::Trapezoid, 1.0, f64::INFINITY);
        let mut index = EnergyError::new(Levels::default(), &energies, 1, step_s);
        let (mut input, mut last) = (0.0, (0.0, 0.0));
        let (mut least, mut most): (f64, f64) = (0.0, 0.0);
        for tick in 0..(6.0 / step_s) as u32 {
            let t = step_s * f64::from(tick);
            let (sin, cos) = (omega * t).sin_cos();
            // A spring of the laboratory, moved late.
            let late = (omega * (t - delay_s)).sin();
            let force = spring * late;
            let load = (k - m * omega * omega) * sin + c * omega * cos + force;
            let before = input;
            input += 0.5 * (load + last.1) * (sin - last.0);
            last = (sin, load);
            energies.input = input;
            let measured =
                Measured { displacement: vec![late], force: vec![force], ..Measured::zeros(1) };
            index.add(&[sin], &measured, &energies);
            if t > 1.0 {
                // The motion starts with a velocity: its energy is not in the
                // input. The index speaks of the instant before.
                let offset = 100.0 * 0.5 * m * omega * omega / (before.max(0.0) + 1.0);
                least = least.min(index.value + offset);
                most = most.max(index.value + offset);
            }
        }
        (least, most)
    }

    #[test]
    fn perfect_tracking_closes_the_balance_to_second_order() {
        let size = |step_s: f64| {
            let (least, most) = worst(0.0, step_s);
            (-least).max(most)
        };
        let (coarse, fine) = (size(4e-3), size(2e-3));
        assert!(fine < 0.05, "{fine}");
        let order = (coarse / fine).log2();
        assert!((order - 2.0).abs() < 0.3, "{order}: {coarse} {fine}");
    }

    #[test]
    fn a_delay_shows_as_energy_fed_in() {
        let (least, most) = worst(0.05, 1e-3);
        assert!(least < -20.0 && most < 60.0, "{least} {most}");
    }
}
