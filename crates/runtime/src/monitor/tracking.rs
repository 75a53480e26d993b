//! Amplitude and delay of the measured against the desired motion, while the
//! test runs.

use keys::Keys;
use model::channel::Channel;

use super::alarm::{Alarm, Levels, Sense};
use super::indicators::{About, Indicator, MonitorInput, Plan, Site};
use super::plot::{Plot, PlotPane, PlotSection};
use crate::event::EventLog;
use crate::gate::{IndicatorTrip, TripKind};
use crate::interlock::Stop;

/// Estimated sixteen times per window, where there is motion enough to tell.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
pub struct TrackingPlan {
    /// Length of the window; two periods of the slowest motion or more.
    #[key(time, within = 0.001..=3600.0, default = "1 s")]
    pub window_s: f64,
    /// Levels of the delay.
    #[key(default = {})]
    pub delay: DelayLevels,
    /// Levels of the amplitude.
    #[key(default = {})]
    pub amplitude: AmplitudeLevels,
}

/// Levels of the size of the delay; a lead counts as well.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
pub struct DelayLevels {
    /// In s.
    #[key(time, positive, flatten)]
    pub levels: Levels,
}

/// Levels of how far the amplitude ratio is from 1, either way.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
pub struct AmplitudeLevels {
    /// As ratios.
    #[key(ratio, within = 0.001..=10.0, flatten)]
    pub levels: Levels,
}

/// Channels, trips and figure of an indicator that tells a delay and an amplitude of each interface
/// DOF, and whether they are of the present window.
pub(super) struct DelayAndAmplitude {
    /// What stands before `.delay`, `.amplitude` and `.valid` in the names of the channels.
    pub(super) family: &'static str,
    /// What the first two are.
    pub(super) channels: [&'static str; 2],
    pub(super) trips: [&'static IndicatorTrip; 2],
}

impl DelayAndAmplitude {
    pub(super) const fn delay_trip(code: u8, words: &'static str) -> IndicatorTrip {
        IndicatorTrip { code, description: (words, "s"), shown: (1e3, "ms", 3), of_dof: true }
    }

    pub(super) const fn amplitude_trip(code: u8, words: &'static str) -> IndicatorTrip {
        IndicatorTrip { code, description: (words, ""), shown: (1e2, "%", 2), of_dof: true }
    }

    pub(super) fn channels(&self, interface: usize) -> Vec<Channel> {
        let [delay, amplitude] = self.channels;
        let valid = "1 where delay and amplitude are of the present window, else 0";
        let of_dof = |dof: usize| {
            [("delay", "s", delay), ("amplitude", "", amplitude), ("valid", "", valid)].map(
                |(name, unit, words)| {
                    Channel::new(format!("{}.{name}.{dof}", self.family), unit, words)
                },
            )
        };
        (1..=interface).flat_map(of_dof).collect()
    }

    /// The alarms of one interface DOF.
    pub(super) fn alarms(
        &self,
        delay: &DelayLevels,
        amplitude: &AmplitudeLevels,
        step_s: f64,
    ) -> [Alarm; 2] {
        let levels = [delay.levels, amplitude.levels];
        std::array::from_fn(|which| {
            let kind = TripKind::Indicator(self.trips[which]);
            Alarm::new(kind, levels[which], Sense::Rising, step_s)
        })
    }

    /// A figure of these curves, delay first.
    pub(super) fn plot(
        &self,
        (title, caption): (&'static str, &'static str),
        curves: [&'static [(&'static str, &'static str)]; 2],
        delay: &DelayLevels,
        amplitude: &AmplitudeLevels,
    ) -> Plot {
        let off = |level: f64| [1.0 + 0.01 * level, 1.0 - 0.01 * level];
        let late = PlotPane::new("Delay", "ms", curves[0]).scaled(1e3);
        let size = PlotPane::new("Amplitude", "–", curves[1]);
        let panes = [
            late.levels(&delay.levels, (1e3, "ms"), |level| [level]),
            size.levels(&amplitude.levels, (100.0, "% off"), off),
        ];
        let plot = Plot::new(PlotSection::Tracking, title, caption, panes);
        Plot { of_dof: Some(self.family), ..plot }
    }
}

const TOLD: DelayAndAmplitude = DelayAndAmplitude {
    family: "tracking",
    channels: [
        "Delay of the measured behind the desired motion, in a moving window",
        "Measured over desired amplitude, in a moving window",
    ],
    trips: [
        &DelayAndAmplitude::delay_trip(11, "tracking delay at its threshold"),
        &DelayAndAmplitude::amplitude_trip(12, "tracking amplitude off by its threshold"),
    ],
};

impl Plan for TrackingPlan {
    const ABOUT: About = About {
        trips: &TOLD.trips,
        window: Some((Self::WINDOW_S, 4.0 * BUCKETS as f64)),
        ..About::NOTHING
    };

    fn channels(interface: usize) -> Vec<Channel> {
        TOLD.channels(interface)
    }

    fn start(&self, site: &Site<'_>) -> Box<dyn Indicator> {
        Box::new(Tracking::new(self, site.count, site.step_s))
    }

    fn plots(&self) -> Vec<Plot> {
        let caption = "Delay and amplitude ratio of the measured against the desired motion in a \
                       moving window; nothing is drawn where there was too little motion to tell.";
        let words = ("Tracking while the test ran", caption);
        let curves: [&[_]; 2] =
            [&[("tracking.delay", "delay")], &[("tracking.amplitude", "amplitude ratio")]];
        vec![TOLD.plot(words, curves, &self.delay, &self.amplitude)]
    }
}

/// Amplitude ratio and delay of one interface DOF.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TrackingEstimate {
    /// Measured over desired; 1 is perfect.
    amplitude: f64,
    /// How far the measured motion is behind the desired one, s; negative where it leads.
    delay_s: f64,
    /// Whether the last window allowed an estimate; if not, the values are the
    /// last ones that could be trusted (at first: 1 and 0).
    valid: bool,
}

/// Fits measured = c + a x + b ẋ to the desired motion in a moving window.
///
/// For a motion of frequency ω that comes back A times as large and τ late,
/// a = A cos ωτ and b = −A sin(ωτ)/ω, hence
///
///   A = √(a² + ω²b²),  τ = atan2(−ωb, a)/ω,  ω² = var(ẋ)/var(x),
///
/// exact for one frequency and a weighted mean over several. x and ẋ come from
/// the numerical part and carry no noise, so the noise of the sensor makes the
/// estimate scatter, not lean; the constant c takes an offset of the sensor.
///
/// The window is a ring of sixteen buckets of sums: ten sums a tick, one small
/// solution a bucket, old samples forgotten entirely. The residual tells how far
/// the fit can be trusted: without motion its standard errors are large, the
/// estimate is not valid and the last one stays. A delay is only told where some
/// motion comes back at all.
pub(super) struct Tracking {
    bucket_ticks: u64,
    in_bucket: u64,
    next: usize,
    dofs: Vec<Dof>,
    step_s: f64,
    /// Whether the last instant completed a bucket and renewed the estimates.
    fresh: bool,
}

const BUCKETS: usize = 16;
/// A window that is less full than this tells nothing.
const FEWEST: f64 = (4 * TERMS) as f64;
/// Largest standard error of an amplitude that counts.
const AMPLITUDE_ERROR: f64 = 0.02;
/// Largest standard error of a delay that counts, in samples.
const DELAY_ERROR: f64 = 0.5;
/// Less than this of the motion coming back, its delay means nothing.
const LEAST_AMPLITUDE: f64 = 0.1;

const TERMS: usize = 10;
/// 1, x, v, y, xx, xv, vv, xy, vy, yy.
type Sums = [f64; TERMS];

#[derive(Debug, Clone)]
struct Dof {
    filling: Sums,
    ring: [Sums; BUCKETS],
    estimate: TrackingEstimate,
    delay: Alarm,
    amplitude: Alarm,
}

impl Tracking {
    /// For `count` interface DOFs.
    pub(super) fn new(plan: &TrackingPlan, count: usize, step_s: f64) -> Self {
        let [delay, amplitude] = TOLD.alarms(&plan.delay, &plan.amplitude, step_s);
        let dof = Dof {
            filling: [0.0; TERMS],
            ring: [[0.0; TERMS]; BUCKETS],
            estimate: TrackingEstimate { amplitude: 1.0, delay_s: 0.0, valid: false },
            delay,
            amplitude,
        };
        Self {
            bucket_ticks: (plan.window_s / step_s / BUCKETS as f64).round().max(1.0) as u64,
            in_bucket: 0,
            next: 0,
            dofs: vec![dof; count],
            step_s,
            fresh: false,
        }
    }

    /// Takes one instant in: desired displacement and velocity, measured displacement.
    fn add(&mut self, desired: &[f64], velocity: &[f64], measured: &[f64]) {
        let signals = desired.iter().zip(velocity).zip(measured);
        for (dof, ((&x, &v), &y)) in self.dofs.iter_mut().zip(signals) {
            let terms = [1.0, x, v, y, x * x, x * v, v * v, x * y, v * y, y * y];
            for (sum, term) in dof.filling.iter_mut().zip(terms) {
                *sum += term;
            }
        }
        self.in_bucket += 1;
        self.fresh = self.in_bucket == self.bucket_ticks;
        if self.fresh {
            self.turn();
        }
    }

    fn turn(&mut self) {
        for dof in &mut self.dofs {
            dof.ring[self.next] = std::mem::replace(&mut dof.filling, [0.0; TERMS]);
            // Summed anew: subtracting what leaves would leave its rounding.
            let mut sums = [0.0; TERMS];
            for bucket in &dof.ring {
                for (sum, part) in sums.iter_mut().zip(bucket) {
                    *sum += part;
                }
            }
            dof.estimate = fit(&sums, self.step_s, dof.estimate);
        }
        self.next = (self.next + 1) % BUCKETS;
        self.in_bucket = 0;
    }
}

impl Indicator for Tracking {
    fn observe(&mut self, seen: &MonitorInput<'_>) {
        let (desired, measured) = (seen.desired, seen.measured);
        self.add(&desired.displacement, &desired.velocity, &measured.displacement);
    }

    fn judge(&mut self, tick: u64, log: &mut EventLog) -> Result<(), Stop> {
        let judged = self.dofs.iter_mut().enumerate();
        for (i, dof) in judged.filter(|(_, dof)| self.fresh && dof.estimate.valid) {
            let TrackingEstimate { delay_s, amplitude, .. } = dof.estimate;
            dof.delay.judge(tick, i, delay_s.abs(), log)?;
            dof.amplitude.judge(tick, i, (amplitude - 1.0).abs(), log)?;
        }
        Ok(())
    }

    fn write(&self, frame: &mut Vec<f64>) {
        for Dof { estimate, .. } in &self.dofs {
            let valid = f64::from(u8::from(estimate.valid));
            frame.extend_from_slice(&[estimate.delay_s, estimate.amplitude, valid]);
        }
    }
}

/// The estimate from the sums of a window, or the last one, no longer valid.
fn fit(sums: &Sums, step_s: f64, last: TrackingEstimate) -> TrackingEstimate {
    let [n, sx, sv, sy, sxx, sxv, svv, sxy, svy, syy] = *sums;
    let lost = TrackingEstimate { valid: false, ..last };
    if n < FEWEST {
        return lost;
    }
    let (xx, vv, yy) = (sxx - sx * sx / n, svv - sv * sv / n, syy - sy * sy / n);
    let (xv, xy, vy) = (sxv - sx * sv / n, sxy - sx * sy / n, svy - sv * sy / n);
    let det = xx * vv - xv * xv;
    // Also refuses what is not a number.
    if !(xx > 0.0 && vv > 0.0 && det > 1e-6 * xx * vv) {
        return lost;
    }
    let a = (xy * vv - vy * xv) / det;
    let b = (vy * xx - xy * xv) / det;
    let variance = (yy - a * xy - b * vy).max(0.0) / (n - 3.0);
    let omega = (vv / xx).sqrt();
    let amplitude = a.hypot(omega * b);
    let amplitude_error = (variance * (vv + omega * omega * xx) / det).sqrt();
    if !(amplitude.is_finite() && amplitude_error < AMPLITUDE_ERROR) {
        return lost;
    }
    let delay_error = (variance * xx / det).sqrt() / amplitude;
    let told = amplitude > LEAST_AMPLITUDE && delay_error < DELAY_ERROR * step_s;
    let delay_s = if told { (-omega * b).atan2(a) / omega } else { last.delay_s };
    TrackingEstimate { amplitude, delay_s, valid: true }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use numerics::random::Stream;

    use super::*;

    const STEP_S: f64 = 1.0 / 4096.0;

    fn tracking(window_s: f64) -> Tracking {
        let plan = TrackingPlan { window_s, ..TrackingPlan::default() };
        Tracking::new(&plan, 1, STEP_S)
    }

    /// Displacement and velocity of a motion in three modes, rather narrow.
    fn motion(t: f64) -> (f64, f64) {
        let parts = [(5e-3, 3.61, 0.3), (4e-4, 16.0, 1.0), (2e-3, 3.2, 2.0)];
        parts.iter().fold((0.0, 0.0), |(x, v), &(size, hertz, phase)| {
            let (sin, cos) = (TAU * hertz * t + phase).sin_cos();
            (x + size * sin, v + size * TAU * hertz * cos)
        })
    }

    fn run(amplitude: f64, delay_s: f64, noise: f64, offset: f64) -> (Vec<TrackingEstimate>, f64) {
        let mut tracking = tracking(1.0);
        let mut stream = Stream::new(5, "noise");
        let mut seen = Vec::new();
        for tick in 0..3 * 4096 {
            let t = STEP_S * f64::from(tick);
            let (x, v) = motion(t);
            let y = amplitude * motion(t - delay_s).0 + noise * stream.normal() + offset;
            tracking.add(&[x], &[v], &[y]);
            if tracking.fresh && tick > 4096 {
                seen.push(tracking.dofs[0].estimate);
            }
        }
        let worst = seen.iter().map(|e| (e.delay_s - delay_s).abs()).fold(0.0, f64::max) / STEP_S;
        (seen, worst)
    }

    #[test]
    fn known_gains_and_delays_are_found_within_a_fraction_of_a_sample() {
        for samples in [0.0, 0.3, 1.0, 4.0, 10.5, -2.0] {
            for amplitude in [1.0, 0.93, 1.2] {
                let (seen, worst) = run(amplitude, samples * STEP_S, 16e-6, 0.0);
                assert!(seen.iter().all(|e| e.valid));
                // The sensor's noise alone scatters by 0.03 samples.
                assert!(worst < 0.15 + 0.005 * samples * samples, "{samples}: {worst}");
                let off = seen.iter().map(|e| (e.amplitude - amplitude).abs()).fold(0.0, f64::max);
                assert!(off < 2e-3 + 3e-4 * samples * samples, "{amplitude}, {samples}: {off}");
            }
        }
    }

    #[test]
    fn one_frequency_is_exact_at_any_delay() {
        for delay_s in [0.0, 5e-3, 24e-3, 60e-3] {
            let mut tracking = tracking(1.0);
            let omega = TAU * 4.0;
            for tick in 0..8192 {
                let t = STEP_S * f64::from(tick);
                let (x, v) = ((omega * t).sin(), omega * (omega * t).cos());
                tracking.add(&[x], &[v], &[0.9 * (omega * (t - delay_s)).sin()]);
            }
            let estimate = tracking.dofs[0].estimate;
            assert!((estimate.delay_s - delay_s).abs() < 1e-9, "{estimate:?}");
            assert!((estimate.amplitude - 0.9).abs() < 1e-9, "{estimate:?}");
        }
    }

    #[test]
    fn an_offset_of_the_sensor_does_not_matter() {
        let (_, plain) = run(1.0, 4.0 * STEP_S, 0.0, 0.0);
        let (_, off) = run(1.0, 4.0 * STEP_S, 0.0, 3e-3);
        assert!((plain - off).abs() < 1e-6, "{plain} {off}");
    }

    #[test]
    fn without_motion_the_last_estimate_stays_and_is_marked() {
        let mut tracking = tracking(0.5);
        let mut stream = Stream::new(5, "noise");
        for tick in 0..4096 {
            let noise = 16e-6 * stream.normal();
            tracking.add(&[0.0], &[0.0], &[noise]);
            let estimate = tracking.dofs[0].estimate;
            assert!(!estimate.valid && estimate.amplitude == 1.0 && estimate.delay_s == 0.0);
            // A crawl below the noise tells nothing either.
            let (x, v) = motion(STEP_S * f64::from(tick));
            tracking.add(&[1e-4 * x], &[1e-4 * v], &[1e-4 * x + noise]);
            assert!(!tracking.dofs[0].estimate.valid);
        }
        let late = |tracking: &mut Tracking, tick: i32| {
            let t = STEP_S * f64::from(tick);
            let (x, v) = motion(t);
            tracking.add(&[x], &[v], &[motion(t - 2.0 * STEP_S).0]);
        };
        (0..4096).for_each(|tick| late(&mut tracking, tick));
        let moving = tracking.dofs[0].estimate;
        assert!(moving.valid && (moving.delay_s / STEP_S - 2.0).abs() < 0.05);
        let mut last = moving;
        for _ in 0..4096 {
            tracking.add(&[0.0], &[0.0], &[16e-6]);
            let now = tracking.dofs[0].estimate;
            if now.valid {
                last = now;
            } else {
                assert_eq!((now.delay_s, now.amplitude), (last.delay_s, last.amplitude));
            }
        }
        assert!(!tracking.dofs[0].estimate.valid);
    }

    #[test]
    fn what_does_not_come_back_has_an_amplitude_and_no_delay() {
        let mut tracking = tracking(0.5);
        for tick in 0..4096 {
            let (x, v) = motion(STEP_S * f64::from(tick));
            tracking.add(&[x], &[v], &[1e-3]);
        }
        let stuck = tracking.dofs[0].estimate;
        assert!(stuck.valid && stuck.amplitude < 1e-9 && stuck.delay_s == 0.0, "{stuck:?}");
    }

    #[test]
    fn a_number_that_is_none_is_forgotten_with_its_window() {
        let mut tracking = tracking(0.25);
        for tick in 0..4096 {
            let (x, v) = motion(STEP_S * f64::from(tick));
            let y = if tick == 2000 { f64::NAN } else { x };
            tracking.add(&[x], &[v], &[y]);
            assert!(tracking.dofs[0].estimate.delay_s.is_finite());
        }
        assert!(tracking.dofs[0].estimate.valid);
    }
}
