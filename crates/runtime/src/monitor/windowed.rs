//! The windowed stability warning: the same ratio over the recent past only.

use keys::Keys;
use model::channel::Channel;

use super::alarm::{Alarm, Levels, Sense};
use super::energy::stability_warning;
use super::indicators::{About, Indicator, MonitorInput, Plan, Site};
use super::plot::{Plot, PlotPane, PlotSection, WARNING};
use crate::event::EventLog;
use crate::gate::{IndicatorTrip, TripKind};
use crate::interlock::Stop;

/// Fed back over dissipated energy within the window. A test that has recovered reads as recovered
/// one window later.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
pub struct WindowedPlan {
    /// How far back it looks; 16 periods of the slowest motion or more.
    #[key(time, within = 0.001..=3600.0, default = "5 s")]
    pub window_s: f64,
    /// As ratios.
    #[key(ratio, within = 0.01..=10.0, flatten)]
    pub levels: Levels,
    /// Added to the energy dissipated in the window. Absent: that of the stability warning.
    #[key(energy, positive)]
    pub constant_j: Option<f64>,
}

const TRIP: &IndicatorTrip = &IndicatorTrip {
    code: 8,
    description: ("windowed stability warning at its threshold", "%"),
    shown: (1.0, "%", 2),
    of_dof: false,
};

impl Plan for WindowedPlan {
    const ABOUT: About = About {
        trips: &[TRIP],
        rests_on_energies: true,
        window: Some((Self::WINDOW_S, BUCKETS as f64)),
        peaks: &[("stability_warning.windowed", "windowed stability warning", "%")],
        ..About::NOTHING
    };

    fn channels(_: usize) -> Vec<Channel> {
        let words = "Stability warning of the recent past alone";
        vec![Channel::new("stability_warning.windowed", "%", words)]
    }

    fn start(&self, site: &Site<'_>) -> Box<dyn Indicator> {
        Box::new(WindowedWarning::new(self, site.energies.constant_j, site.step_s))
    }

    fn plots(&self) -> Vec<Plot> {
        let curves = &[("stability_warning.windowed", "windowed SW")];
        let pane = PlotPane::new(WARNING, "%", curves);
        let pane = pane.levels(&self.levels, (100.0, "%"), |level| [level]);
        let caption = "The windowed one counts the recent past alone.";
        vec![Plot::new(PlotSection::Stability, WARNING, caption, [pane])]
    }
}

/// The stability warning of the last T seconds,
///
///   SW_T = 100 ΔW_F / (ΔE_d + C) where ΔW_F > 0, else 0,
///
/// ΔW_F and ΔE_d being what was fed back and dissipated since T ago. The plain
/// warning never forgets: surplus dissipation of a strong start hides a later
/// instability for long, and an early surplus of feedback work keeps it above
/// its threshold after the loop has recovered. This one reads only the window.
///
/// E_d contains hysteresis, so it serves nonlinear numerical parts as well. C
/// keeps it from firing on nothing: in a window without motion ΔE_d vanishes,
/// and sensor noise alone would decide.
///
/// W_F swings by the energy the specimen stores and gives back in every cycle.
/// A window that began at full stroke would count that as fed back; each mark
/// therefore keeps the *crest* of W_F in its bucket, which is where the specimen
/// stores nothing. That holds where half a period fits into a bucket, T/32;
/// below, part of the swing remains.
pub(super) struct WindowedWarning {
    alarm: Alarm,
    constant_j: f64,
    bucket_ticks: u64,
    in_bucket: u64,
    /// Largest W_F in the bucket being filled.
    crest: f64,
    /// Crest of W_F and E_d at the end of each bucket; `oldest` is overwritten next.
    marks: [(f64, f64); BUCKETS],
    oldest: usize,
    /// SW_T at the last instant, %.
    value: f64,
}

const BUCKETS: usize = 32;

impl WindowedWarning {
    /// With at least a bucket a tick; `constant_j` is C of the plain warning.
    pub(super) fn new(plan: &WindowedPlan, constant_j: f64, step_s: f64) -> Self {
        let bucket_ticks = (plan.window_s / step_s / BUCKETS as f64).round().max(1.0) as u64;
        let (kind, levels) = (TripKind::Indicator(TRIP), plan.levels.times(100.0));
        Self {
            alarm: Alarm::new(kind, levels, Sense::Rising, step_s),
            constant_j: plan.constant_j.unwrap_or(constant_j),
            bucket_ticks,
            in_bucket: 0,
            crest: f64::NEG_INFINITY,
            marks: [(0.0, 0.0); BUCKETS],
            oldest: 0,
            value: 0.0,
        }
    }

    /// Takes the two energies of this instant, J.
    fn add(&mut self, feedback: f64, dissipated: f64) {
        let (feedback_then, dissipated_then) = self.marks[self.oldest];
        let taken = dissipated - dissipated_then + self.constant_j;
        self.value = stability_warning(feedback - feedback_then, taken);
        self.crest = self.crest.max(feedback);
        self.in_bucket += 1;
        if self.in_bucket == self.bucket_ticks {
            self.marks[self.oldest] = (self.crest, dissipated);
            self.oldest = (self.oldest + 1) % BUCKETS;
            self.in_bucket = 0;
            self.crest = f64::NEG_INFINITY;
        }
    }
}

impl Indicator for WindowedWarning {
    fn observe(&mut self, seen: &MonitorInput<'_>) {
        self.add(seen.energies.feedback, seen.energies.dissipated());
    }

    fn judge(&mut self, tick: u64, log: &mut EventLog) -> Result<(), Stop> {
        self.alarm.judge(tick, 0, self.value, log)
    }

    fn write(&self, frame: &mut Vec<f64>) {
        frame.push(self.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_S: f64 = 1e-3;

    fn windowed(window_s: f64) -> WindowedWarning {
        let plan = WindowedPlan { window_s, constant_j: None, levels: Levels::default() };
        WindowedWarning::new(&plan, 1.0, STEP_S)
    }

    #[test]
    fn before_the_window_is_full_it_is_the_plain_warning() {
        let mut windowed = windowed(3.2);
        for tick in 0..3000 {
            let (feedback, dissipated) = (2e-3 * f64::from(tick), 3e-3 * f64::from(tick));
            windowed.add(feedback, dissipated);
            let plain = 100.0 * feedback / (dissipated + 1.0);
            assert!((windowed.value - plain).abs() < 1e-9, "{tick}");
        }
    }

    #[test]
    fn old_surplus_is_forgotten_in_either_direction() {
        let mut windowed = windowed(3.2);
        // Dissipates 100 J in 5 s, feeding nothing back: the plain warning has
        // 100 J to spare. Then feeds 6 J/s back and dissipates 5 J/s.
        let (mut feedback, mut dissipated) = (0.0, 0.0);
        for _ in 0..5000 {
            dissipated += 0.02;
            windowed.add(feedback, dissipated);
        }
        assert_eq!(windowed.value, 0.0);
        let mut reached = None;
        for tick in 0..6000 {
            feedback += 6e-3;
            dissipated += 5e-3;
            windowed.add(feedback, dissipated);
            if windowed.value >= 100.0 {
                reached.get_or_insert(tick);
            }
        }
        assert!(100.0 * feedback / (dissipated + 1.0) < 30.0, "the plain warning still sleeps");
        assert!(reached.unwrap() < 3200, "{reached:?}");
        // A loop that recovers reads as recovered one window later.
        for _ in 0..3200 {
            dissipated += 5e-3;
            windowed.add(feedback, dissipated);
        }
        assert_eq!(windowed.value, 0.0);
    }

    #[test]
    fn what_the_specimen_stores_and_gives_back_does_not_count() {
        // Decaying motion at 4 Hz: the specimen stores ½ k x² and gives it back.
        let mut windowed = windowed(6.4);
        let mut highest: f64 = 0.0;
        for tick in 0..20_000 {
            let t = STEP_S * f64::from(tick);
            let energy = 100.0 * (-1.4 * t).exp();
            let x2 = (std::f64::consts::TAU * 4.0 * t).sin().powi(2);
            // Ten per cent of what is dissipated is fed back on the whole.
            let dissipated = 100.0 - energy;
            let feedback = 0.1 * dissipated - 0.4 * energy * x2;
            windowed.add(feedback, dissipated);
            highest = highest.max(windowed.value);
        }
        assert!(highest < 12.0, "{highest}");
    }

    #[test]
    fn nothing_and_noise_do_not_fire() {
        let mut windowed = windowed(1.0);
        for tick in 0..5000 {
            windowed.add(1e-2 * f64::from(tick).sin(), 0.0);
            assert!(windowed.value < 2.1);
        }
    }
}
