//! A forecast of the time at which the stability warning reaches 100 %.

use keys::Keys;
use keys::diagnostic::Diagnostic;
use keys::tree::Branch;
use model::channel::Channel;

use super::alarm::{Alarm, Levels, Sense, never_warns};
use super::indicators::{About, Indicator, MonitorInput, Plan, Site};
use super::plot::{Plot, PlotPane, PlotSection};
use crate::event::EventLog;
use crate::gate::{IndicatorTrip, TripKind};
use crate::interlock::Stop;

/// The trend is that of the crests of fed back minus dissipated energy.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
#[key(check = Self::check)]
pub struct ForecastPlan {
    /// How far back the trend looks; four periods of the slowest motion or more.
    #[key(time, within = 0.001..=3600.0, default = "2 s")]
    pub window_s: f64,
    /// Notes a warning when less time than this is left.
    #[key(time, not_negative)]
    pub warn_below_s: Option<f64>,
    /// Trips when less time than this is left: hold, then ramp.
    #[key(time, not_negative)]
    pub hold_below_s: Option<f64>,
    /// Trips when less time than this is left: ramp.
    #[key(time, not_negative)]
    pub ramp_down_below_s: Option<f64>,
    /// Trips when less time than this is left: stop there.
    #[key(time, not_negative)]
    pub abort_below_s: Option<f64>,
}

impl ForecastPlan {
    /// Its levels, in s, reached from above.
    pub fn levels(&self) -> Levels {
        Levels {
            warn_at: self.warn_below_s,
            hold_at: self.hold_below_s,
            ramp_down_at: self.ramp_down_below_s,
            abort_at: self.abort_below_s,
        }
    }

    /// The time that warns is longer than those that stop the test.
    fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let stops = [
            (Self::HOLD_BELOW_S, self.hold_below_s),
            (Self::RAMP_DOWN_BELOW_S, self.ramp_down_below_s),
            (Self::ABORT_BELOW_S, self.abort_below_s),
        ];
        let warn = (Self::WARN_BELOW_S, self.warn_below_s);
        found.extend(never_warns(branch, warn, &stops, Sense::Falling));
    }
}

const TRIP: &IndicatorTrip = &IndicatorTrip {
    code: 10,
    description: ("stability warning forecast to reach 100 % too soon", "s"),
    shown: (1.0, "s", 2),
    of_dof: false,
};

/// A forecast beyond this is not worth a scale, s.
const LONGEST_S: f64 = 20.0;

impl Plan for ForecastPlan {
    const ABOUT: About = About {
        trips: &[TRIP],
        rests_on_energies: true,
        window: Some((Self::WINDOW_S, BUCKETS as f64)),
        unbounded: Some("forecast"),
        ..About::NOTHING
    };

    fn channels(_: usize) -> Vec<Channel> {
        let words = "Time until the stability warning reaches 100 %; infinite for never";
        vec![Channel::new("forecast", "s", words)]
    }

    fn start(&self, site: &Site<'_>) -> Box<dyn Indicator> {
        Box::new(Forecast::new(self, site.energies.constant_j, site.step_s))
    }

    fn plots(&self) -> Vec<Plot> {
        let pane = PlotPane::new("Time to 100 %", "s", &[("forecast", "forecast")]);
        let pane = pane.levels(&self.levels(), (1.0, "s"), |level| [level]);
        let caption = "Time left until the stability warning reaches 100 %, if the trend of its \
                       crests holds. Where nothing is drawn it does not rise, or the time is \
                       beyond the picture.";
        vec![Plot::new(PlotSection::Stability, "Forecast", caption, [pane.within(0.0, LONGEST_S)])]
    }
}

/// The time left until the stability warning reaches 100 %, if its trend holds.
///
/// SW reaches 100 % where the surplus u = W_F − (E_d + C) reaches zero. W_F
/// swings with the energy the specimen stores, so the trend is that of the
/// crests: the window is cut into eight buckets, and each keeps the largest u
/// and its time. Whenever a bucket is full a curve is laid through the crests,
///
///   u(t) = u₀ + s t + ½ c t²,  t from now,
///
/// with the slopes s of the older and of the newer half by Theil and Sen (the
/// median of the slopes between all pairs), c their difference over the time
/// between the halves where it is positive, else 0 (a fall counts as level, so
/// that its end is no growth), and u₀ the median that fits the newer half. The
/// forecast is where that curve meets zero:
///
///   infinite while the newer half falls or stands still, until all buckets
///   have been full, and beyond an hour; zero where u ≥ 0.
///
/// The curvature is there because an instability grows exponentially, and a
/// line would be late; the curve still is, and less so the nearer it comes. Half
/// a period of the slowest motion should fit into a bucket, window/8.
pub(super) struct Forecast {
    alarm: Alarm,
    constant_j: f64,
    step_s: f64,
    bucket_ticks: u64,
    in_bucket: u64,
    tick: u64,
    /// Time and surplus of the crest in the bucket being filled.
    crest: (f64, f64),
    crests: [(f64, f64); BUCKETS],
    filled: usize,
    next: usize,
    /// Where the curve meets zero; infinite if it does not.
    crossing_s: f64,
    /// The time left, s.
    value_s: f64,
}

const BUCKETS: usize = 8;
const HALF: usize = BUCKETS / 2;
const PAIRS: usize = HALF * (HALF - 1) / 2;
/// Beyond this nothing is foretold.
const HORIZON_S: f64 = 3600.0;

impl Forecast {
    /// `constant_j` is C of the stability warning.
    pub(super) fn new(plan: &ForecastPlan, constant_j: f64, step_s: f64) -> Self {
        Self {
            alarm: Alarm::new(TripKind::Indicator(TRIP), plan.levels(), Sense::Falling, step_s),
            constant_j,
            step_s,
            bucket_ticks: (plan.window_s / step_s / BUCKETS as f64).round().max(1.0) as u64,
            in_bucket: 0,
            tick: 0,
            crest: (0.0, f64::NEG_INFINITY),
            crests: [(0.0, 0.0); BUCKETS],
            filled: 0,
            next: 0,
            crossing_s: f64::INFINITY,
            value_s: f64::INFINITY,
        }
    }

    /// Takes the two energies of this instant, J.
    fn add(&mut self, feedback: f64, dissipated: f64) {
        let now_s = self.tick as f64 * self.step_s;
        let surplus = feedback - (dissipated + self.constant_j);
        if surplus > self.crest.1 {
            self.crest = (now_s, surplus);
        }
        self.in_bucket += 1;
        if self.in_bucket == self.bucket_ticks {
            self.crests[self.next] = self.crest;
            self.next = (self.next + 1) % BUCKETS;
            self.filled = (self.filled + 1).min(BUCKETS);
            self.in_bucket = 0;
            self.crest = (0.0, f64::NEG_INFINITY);
            if self.filled == BUCKETS {
                // The oldest is the one to be overwritten next.
                let mut ordered = self.crests;
                ordered.rotate_left(self.next);
                self.crossing_s = crossing(&ordered, now_s);
            }
        }
        let left_s = (self.crossing_s - now_s).max(0.0);
        self.value_s = if surplus >= 0.0 {
            0.0
        } else if !surplus.is_finite() {
            // Energies beyond all numbers tell nothing of the time that is left.
            f64::NAN
        } else if left_s > HORIZON_S {
            f64::INFINITY
        } else {
            left_s
        };
        self.tick += 1;
    }
}

impl Indicator for Forecast {
    fn observe(&mut self, seen: &MonitorInput<'_>) {
        self.add(seen.energies.feedback, seen.energies.dissipated());
    }

    fn judge(&mut self, tick: u64, log: &mut EventLog) -> Result<(), Stop> {
        self.alarm.judge(tick, 0, self.value_s, log)
    }

    fn write(&self, frame: &mut Vec<f64>) {
        frame.push(self.value_s);
    }
}

/// Where the curve through the crests meets zero from below.
fn crossing(crests: &[(f64, f64); BUCKETS], now_s: f64) -> f64 {
    let (older, newer) = crests.split_at(HALF);
    let (was, is) = (slope(older), slope(newer));
    let (then, lately) = (middle(older), middle(newer));
    if is.is_nan() || is <= 0.0 {
        return f64::INFINITY;
    }
    // A fall that ended is no growth.
    let curvature = ((is - was.max(0.0)) / (lately - then)).max(0.0);
    let rise = is + curvature * (now_s - lately);
    let mut levels = [0.0; HALF];
    for (level, (time, surplus)) in levels.iter_mut().zip(newer) {
        let t = time - now_s;
        *level = surplus - (rise + 0.5 * curvature * t) * t;
    }
    let level = median(&mut levels);
    // The root in the form that does not lose digits for a small curvature.
    let root = (rise * rise - 2.0 * curvature * level.min(0.0)).sqrt();
    now_s - 2.0 * level.min(0.0) / (rise + root)
}

/// The median of the slopes between all pairs of points.
fn slope(points: &[(f64, f64)]) -> f64 {
    let mut slopes = [0.0; PAIRS];
    let mut count = 0;
    for (i, a) in points.iter().enumerate() {
        for b in &points[..i] {
            slopes[count] = (a.1 - b.1) / (a.0 - b.0);
            count += 1;
        }
    }
    median(&mut slopes)
}

fn middle(points: &[(f64, f64)]) -> f64 {
    points.iter().map(|(time, _)| time).sum::<f64>() / points.len() as f64
}

/// The median; sorts in place, does not allocate, and takes NaN for large.
fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        0.5 * (values[middle - 1] + values[middle])
    } else {
        values[middle]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_S: f64 = 1e-3;

    fn forecast(window_s: f64) -> Forecast {
        Forecast::new(&ForecastPlan { window_s, ..ForecastPlan::default() }, 1.0, STEP_S)
    }

    #[test]
    fn a_surplus_that_is_straight_or_a_parabola_is_foretold_exactly() {
        // u = −10 + 2 t, reached at 5 s; u = −12.5 + ½ t², reached at 5 s.
        for parabola in [false, true] {
            let mut forecast = forecast(0.8);
            for tick in 0..5000 {
                let t = STEP_S * f64::from(tick);
                let (feedback, taken) = if parabola { (0.5 * t * t, 11.5) } else { (2.0 * t, 9.0) };
                forecast.add(feedback, taken);
                if tick < 799 {
                    assert_eq!(forecast.value_s, f64::INFINITY);
                } else if tick > 1600 {
                    assert!((forecast.value_s - (5.0 - t)).abs() < 1e-3, "{parabola} {t}");
                }
            }
            forecast.add(13.0, 9.0);
            assert_eq!(forecast.value_s, 0.0);
        }
    }

    #[test]
    fn falling_and_standing_are_never() {
        let mut forecast = forecast(0.8);
        for tick in 0..3000 {
            let t = STEP_S * f64::from(tick);
            forecast.add(0.0, if tick < 1500 { 0.0 } else { t });
            assert_eq!(forecast.value_s, f64::INFINITY);
        }
    }

    #[test]
    fn the_swing_of_every_cycle_does_not_matter_and_an_outlier_little() {
        // The surplus rises by 2 J/s to cross at 6 s; the specimen swings by 3 J.
        for bump_j in [0.0, 4.0] {
            let mut forecast = forecast(2.4);
            for tick in 0..5000 {
                let t = STEP_S * f64::from(tick);
                let swing = 3.0 * (std::f64::consts::TAU * 3.6 * t).sin().powi(2);
                // A bump in one bucket of the older half.
                let bump = if (3.0..3.2).contains(&t) { bump_j } else { 0.0 };
                forecast.add(2.0 * t - swing + bump, 11.0);
                if tick > 4800 {
                    let error = (forecast.value_s - (6.0 - t)).abs();
                    assert!(error < 0.35, "{bump_j}: {t} {}", forecast.value_s);
                }
            }
        }
    }

    #[test]
    fn numbers_that_run_away_do_not_break_it() {
        let mut forecast = forecast(0.08);
        for tick in 0..2000 {
            forecast.add(f64::from(tick).exp(), f64::from(tick).exp());
        }
        for (feedback, dissipated) in
            [(f64::INFINITY, f64::INFINITY), (f64::NAN, 0.0), (0.0, f64::INFINITY)]
        {
            forecast.add(feedback, dissipated);
            assert!(forecast.value_s.is_nan(), "{feedback} {dissipated}");
        }
        let plan =
            ForecastPlan { window_s: 0.08, hold_below_s: Some(1.0), ..ForecastPlan::default() };
        let mut forecast = Forecast::new(&plan, 1.0, STEP_S);
        forecast.add(f64::INFINITY, f64::INFINITY);
        assert!(forecast.judge(0, &mut EventLog::default()).is_err());
    }
}
