//! The energy error index: how well the energy balance closes when the specimen
//! is taken at its own, measured displacement.

use keys::Keys;
use model::channel::Channel;
use numerics::small::copy;

use super::alarm::{Alarm, Levels, Sense};
use super::energy::WorkRule;
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
        peaks: &[("energy_error", "energy error index", "%")],
        ..About::NOTHING
    };

    fn channels(_: usize) -> Vec<Channel> {
        vec![Channel::new("energy_error", "%", "Energy error index")]
    }

    fn start(&self, site: &Site<'_>) -> Box<dyn Indicator> {
        Box::new(EnergyError::new(self.levels, site))
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
///   EEI = 100 (W_I − (E_k + E_d + E_s + E_n − W_exp)) / (max(W_I, 0) + C),
///
/// W_exp = −∫ f dx_m being the work of the measured force on the *measured*
/// displacement. The energies balance with the work W_F on the displacement of
/// the numerical part, so the sum is W_exp − W_F. It vanishes where the specimen
/// is where the numerical part asks it to be, is negative where the transfer
/// system feeds energy in (delay) and positive where it takes energy out (lead).
/// What the method itself dissipates (E_n) is no error of the rig.
///
/// It belongs to the instant of the energies. With two rates that lies some
/// ticks back, for which W_exp is kept. The input work may be negative for a
/// moment; it then counts as zero, and the denominator is never less than C.
///
/// Reference: Gálmez & Fermandois 2020, Front. Built Environ. 6, whose
/// denominator W_I + EE_max is not guarded.
pub(super) struct EnergyError {
    alarm: Alarm,
    /// Of the last tick.
    measured: Vec<f64>,
    force: Vec<f64>,
    started: bool,
    /// W_exp of the last ticks, J, and where the newest stands.
    works: Vec<f64>,
    newest: usize,
    /// EEI, %.
    value: f64,
}

impl EnergyError {
    fn new(levels: Levels, site: &Site<'_>) -> Self {
        let (kind, levels) = (TripKind::Indicator(TRIP), levels.times(100.0));
        Self {
            alarm: Alarm::new(kind, levels, Sense::Rising, site.step_s),
            measured: vec![0.0; site.count],
            force: vec![0.0; site.count],
            started: false,
            works: vec![0.0; site.most_age + 1],
            newest: 0,
            value: 0.0,
        }
    }

    /// Adds the way since the last tick to W_exp.
    fn add(&mut self, measured: &Measured, rule: WorkRule) {
        let mut work = self.works[self.newest];
        if self.started {
            let moved = measured.displacement.iter().zip(&self.measured);
            for ((x, x0), (f, f0)) in moved.zip(measured.force.iter().zip(&self.force)) {
                work -= rule.force(*f0, *f) * (x - x0);
            }
        }
        self.newest = (self.newest + 1) % self.works.len();
        self.works[self.newest] = work;
        copy(&mut self.measured, &measured.displacement);
        copy(&mut self.force, &measured.force);
        self.started = true;
    }

    /// W_exp so many ticks ago; before the first it was zero.
    fn work(&self, age: u64) -> f64 {
        let kept = self.works.len();
        let age = usize::try_from(age).unwrap_or(kept).min(kept - 1);
        self.works[(self.newest + kept - age) % kept]
    }
}

impl Indicator for EnergyError {
    fn observe(&mut self, seen: &MonitorInput<'_>) {
        let energies = seen.energies;
        self.add(seen.measured, energies.rule);
        let missing = self.work(seen.age) - energies.feedback;
        self.value = 100.0 * missing / (energies.input.max(0.0) + energies.constant_j);
    }

    fn judge(&mut self, tick: u64, log: &mut EventLog) -> Result<(), Stop> {
        self.alarm.judge(tick, 0, self.value.abs(), log)
    }

    fn write(&self, frame: &mut Vec<f64>) {
        frame.push(self.value);
    }
}
