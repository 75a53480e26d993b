//! The frequency evaluation index: amplitude and delay of the tracking from its spectra.

use std::f64::consts::TAU;

use keys::Keys;
use keys::diagnostic::Diagnostic;
use keys::tree::Branch;
use model::channel::Channel;
use numerics::Complex;
use numerics::spectral_ratio::SpectralRatio;

use super::alarm::Alarm;
use super::indicators::{About, Indicator, MonitorInput, Plan, Site};
use super::plot::Plot;
use super::tracking::{AmplitudeLevels, DelayAndAmplitude, DelayLevels};
use crate::event::EventLog;
use crate::interlock::Stop;

/// Estimated sixteen times per window, where there is motion enough to tell.
#[derive(Debug, Clone, Copy, PartialEq, Default, Keys)]
#[key(check = Self::check)]
pub struct FrequencyEvaluationPlan {
    /// Length of the window; four periods of the slowest motion or more.
    #[key(time, within = 0.001..=3600.0, default = "2 s")]
    pub window_s: f64,
    /// The highest frequency that counts. Times the window it gives the lines that are computed, 4
    /// to 256.
    #[key(frequency, positive, default = "20 Hz")]
    pub band_hz: f64,
    /// Levels of the delay.
    #[key(default = {})]
    pub delay: DelayLevels,
    /// Levels of the amplitude.
    #[key(default = {})]
    pub amplitude: AmplitudeLevels,
}

impl FrequencyEvaluationPlan {
    fn check(&self, branch: &Branch, found: &mut Vec<Diagnostic>) {
        let lines = self.window_s * self.band_hz;
        if !(FEWEST_LINES..=MOST_LINES).contains(&lines) {
            let message = format!(
                "a window of {} s has {lines:.1} lines up to {} Hz; {FEWEST_LINES} to {MOST_LINES} \
                 can be computed",
                self.window_s, self.band_hz
            );
            let error = branch.error(Self::BAND_HZ, message);
            found.push(error.remedy("change `band` or `window`"));
        }
    }
}

const TOLD: DelayAndAmplitude = DelayAndAmplitude {
    family: "frequency_evaluation",
    channels: [
        "Delay by the frequency evaluation index, in a moving window",
        "Size of the frequency evaluation index, in a moving window",
    ],
    trips: [
        &DelayAndAmplitude::delay_trip(
            17,
            "delay by the frequency evaluation index at its threshold",
        ),
        &DelayAndAmplitude::amplitude_trip(
            18,
            "amplitude by the frequency evaluation index off by its threshold",
        ),
    ],
};

impl Plan for FrequencyEvaluationPlan {
    const ABOUT: About = About {
        trips: &TOLD.trips,
        window: Some((Self::WINDOW_S, 4.0 * BUCKETS as f64)),
        ..About::NOTHING
    };

    fn channels(interface: usize) -> Vec<Channel> {
        TOLD.channels(interface)
    }

    fn start(&self, site: &Site<'_>) -> Box<dyn Indicator> {
        Box::new(FrequencyEvaluation::new(self, site.count, site.step_s))
    }

    fn plots(&self) -> Vec<Plot> {
        let caption = "Size and delay of the mean ratio of the spectra of measured and desired \
                       motion in a moving window; nothing is drawn where there was too little \
                       motion to tell.";
        let curves: [&[_]; 2] = [
            &[("frequency_evaluation.delay", "delay by FEI")],
            &[("frequency_evaluation.amplitude", "|FEI|")],
        ];
        let words = ("Frequency evaluation index", caption);
        vec![TOLD.plot(words, curves, &self.delay, &self.amplitude)]
    }
}

const BUCKETS: usize = 16;
const FEWEST_LINES: f64 = 4.0;
const MOST_LINES: f64 = 256.0;
/// Largest standard error of an amplitude that counts.
const AMPLITUDE_ERROR: f64 = 0.05;
/// Less than this of the motion coming back, its delay means nothing.
const LEAST_AMPLITUDE: f64 = 0.1;

/// The frequency evaluation index of a moving window of N ticks,
///
///   FEI = Σ Y_j X_j* / Σ |X_j|²,  j = 2 … up to the highest frequency,
///
/// X and Y being the lines j/(N Δt) of desired and measured displacement under a Hann window. Its
/// size is the amplitude ratio, −arg FEI/(2π f) the delay, f the mean frequency of X
/// ([`SpectralRatio`]). The two lowest lines hold offset and drift of the sensor and do not count.
///
/// Each line is a running sum Σ x e^{−2πi j k/N}; the window is a ring of sixteen buckets of such
/// sums, so that old samples are forgotten entirely. As N ticks are whole turns of every line, the
/// factor at the start of a bucket is a sixteenth root of one and is renewed there: its rounding
/// does not grow. The Hann window, which begins with the oldest bucket, is laid over the lines:
/// X_j − ½ r X_{j−1} − ½ r* X_{j+1}, r the root of that bucket.
///
/// A tick costs one complex product a line and two sums a line and DOF; every sixteenth of the
/// window the buckets are added up.
struct FrequencyEvaluation {
    bucket_ticks: u64,
    in_bucket: u64,
    /// The bucket being filled.
    next: usize,
    /// Buckets that have been filled, up to all.
    filled: usize,
    /// Distance of the lines.
    line_hz: f64,
    /// e^{−2πi j k/N} of this tick, and the factor to the next.
    turns: Vec<Complex>,
    turn: Vec<Complex>,
    dofs: Vec<Dof>,
    fresh: bool,
}

/// The sums of a line for desired and measured displacement.
type Line = [Complex; 2];

struct Dof {
    /// A row of lines for each bucket, and the rows' sum.
    ring: Vec<Vec<Line>>,
    whole: Vec<Line>,
    amplitude: f64,
    delay_s: f64,
    valid: bool,
    /// Of delay and amplitude.
    alarms: [Alarm; 2],
}

impl FrequencyEvaluation {
    fn new(plan: &FrequencyEvaluationPlan, count: usize, step_s: f64) -> Self {
        let bucket_ticks = (plan.window_s / step_s / BUCKETS as f64).round().max(1.0) as u64;
        let window_ticks = bucket_ticks * BUCKETS as u64;
        let line_hz = 1.0 / (window_ticks as f64 * step_s);
        let most = MOST_LINES.min(window_ticks as f64 / 2.0 - 1.0);
        // One more on either side for the Hann window.
        let lines = (plan.band_hz / line_hz).min(most) as usize + 2;
        let row = vec![[Complex::ZERO; 2]; lines];
        let dof = || Dof {
            ring: vec![row.clone(); BUCKETS],
            whole: row.clone(),
            amplitude: 1.0,
            delay_s: 0.0,
            valid: false,
            alarms: TOLD.alarms(&plan.delay, &plan.amplitude, step_s),
        };
        let turned = |line: usize| Complex::cis(-TAU * line as f64 / window_ticks as f64);
        Self {
            bucket_ticks,
            in_bucket: 0,
            next: 0,
            filled: 0,
            line_hz,
            turns: vec![Complex::ONE; lines],
            turn: (0..lines).map(turned).collect(),
            dofs: (0..count).map(|_| dof()).collect(),
            fresh: false,
        }
    }

    /// Takes one instant in.
    fn add(&mut self, desired: &[f64], measured: &[f64]) {
        for (dof, (&x, &y)) in self.dofs.iter_mut().zip(desired.iter().zip(measured)) {
            for (line, turn) in dof.ring[self.next].iter_mut().zip(&self.turns) {
                line[0] += turn * x;
                line[1] += turn * y;
            }
        }
        for (turns, turn) in self.turns.iter_mut().zip(&self.turn) {
            *turns *= turn;
        }
        self.in_bucket += 1;
        self.fresh = self.in_bucket == self.bucket_ticks;
        if self.fresh {
            self.next_bucket();
        }
    }

    fn next_bucket(&mut self) {
        self.next = (self.next + 1) % BUCKETS;
        self.filled = (self.filled + 1).min(BUCKETS);
        self.in_bucket = 0;
        for (line, turns) in self.turns.iter_mut().enumerate() {
            *turns = root(line * self.next);
        }
        for dof in &mut self.dofs {
            dof.evaluate(root(self.next), self.line_hz, self.filled == BUCKETS);
            dof.ring[self.next].fill([Complex::ZERO; 2]);
        }
    }
}

/// A power of the sixteenth root of one.
fn root(power: usize) -> Complex {
    Complex::cis(-TAU * (power % BUCKETS) as f64 / BUCKETS as f64)
}

impl Dof {
    /// Renews the estimate from a ring whose oldest bucket begins at `root`; where it cannot be
    /// trusted the last one stays, no longer valid.
    fn evaluate(&mut self, root: Complex, line_hz: f64, is_full: bool) {
        self.whole.fill([Complex::ZERO; 2]);
        for row in &self.ring {
            for (whole, part) in self.whole.iter_mut().zip(row) {
                whole[0] += part[0];
                whole[1] += part[1];
            }
        }
        let mut ratio = SpectralRatio::default();
        for (index, lines) in self.whole.windows(3).enumerate().skip(1) {
            let [x, y] = [0, 1].map(|signal| {
                let [before, at, after] = [0, 1, 2].map(|near| lines[near][signal]);
                at - (root * before + root.conj() * after) * 0.5
            });
            ratio.add((index + 1) as f64 * line_hz, x, y);
        }
        let amplitude = ratio.amplitude();
        self.valid = is_full && amplitude.is_finite() && ratio.deviation() < AMPLITUDE_ERROR;
        if self.valid {
            self.amplitude = amplitude;
            if amplitude > LEAST_AMPLITUDE {
                self.delay_s = ratio.delay_s();
            }
        }
    }
}

impl Indicator for FrequencyEvaluation {
    fn observe(&mut self, seen: &MonitorInput<'_>) {
        self.add(&seen.desired.displacement, &seen.measured.displacement);
    }

    fn judge(&mut self, tick: u64, log: &mut EventLog) -> Result<(), Stop> {
        let judged = self.dofs.iter_mut().enumerate();
        for (i, dof) in judged.filter(|(_, dof)| self.fresh && dof.valid) {
            let [delay, amplitude] = &mut dof.alarms;
            delay.judge(tick, i, dof.delay_s.abs(), log)?;
            amplitude.judge(tick, i, (dof.amplitude - 1.0).abs(), log)?;
        }
        Ok(())
    }

    fn write(&self, frame: &mut Vec<f64>) {
        for Dof { delay_s, amplitude, valid, .. } in &self.dofs {
            frame.extend_from_slice(&[*delay_s, *amplitude, f64::from(u8::from(*valid))]);
        }
    }
}

#[cfg(test)]
mod tests {
    use numerics::random::Stream;

    use super::super::alarm::Levels;
    use super::*;

    const STEP_S: f64 = 1.0 / 1024.0;

    fn plan() -> FrequencyEvaluationPlan {
        let (window_s, band_hz) = (2.0, 20.0);
        FrequencyEvaluationPlan { window_s, band_hz, ..FrequencyEvaluationPlan::default() }
    }

    /// Narrow, in three modes.
    fn motion(t: f64) -> f64 {
        let parts = [(5e-3, 3.61, 0.3), (4e-4, 16.0, 1.0), (2e-3, 3.2, 2.0)];
        parts.iter().map(|(size, hertz, phase)| size * (TAU * hertz * t + phase).sin()).sum()
    }

    fn run(index: &mut FrequencyEvaluation, ticks: u32, measured: impl Fn(f64) -> f64) {
        for tick in 0..ticks {
            let t = STEP_S * f64::from(tick);
            index.add(&[motion(t)], &[measured(t)]);
        }
    }

    #[test]
    fn a_known_amplitude_error_and_delay_are_found_in_the_window() {
        for (amplitude, delay_s) in [(1.0, 0.0), (0.93, 2e-3), (1.2, 5e-3), (0.8, -4e-3)] {
            let mut index = FrequencyEvaluation::new(&plan(), 1, STEP_S);
            run(&mut index, 5000, |t| amplitude * motion(t - delay_s) + 3e-3);
            let Dof { amplitude: found, delay_s: late, valid, .. } = index.dofs[0];
            // The late motion is seen at an earlier time of its beat, whose size changes by at
            // most 1.13 per second.
            let beat = 1e-9 + 1.13 * delay_s.abs();
            assert!(valid && (found / amplitude - 1.0).abs() < beat, "{amplitude}: {found}");
            assert!((late - delay_s).abs() < 1e-5 + 5e-3 * delay_s.abs(), "{delay_s}: {late}");
        }
    }

    #[test]
    fn one_frequency_is_exact_at_any_delay_below_half_a_period() {
        for delay_s in [0.0, 5e-3, 60e-3] {
            let mut index = FrequencyEvaluation::new(&plan(), 1, STEP_S);
            for tick in 0..4096 {
                let t = STEP_S * f64::from(tick);
                let sine = |t: f64| (TAU * 4.0 * t).sin();
                index.add(&[sine(t)], &[0.9 * sine(t - delay_s)]);
            }
            assert!((index.dofs[0].delay_s - delay_s).abs() < 1e-9, "{}", index.dofs[0].delay_s);
            assert!((index.dofs[0].amplitude - 0.9).abs() < 1e-9);
        }
    }

    #[test]
    fn the_window_forgets_and_without_motion_the_last_estimate_stays_and_is_marked() {
        let mut index = FrequencyEvaluation::new(&plan(), 1, STEP_S);
        run(&mut index, 2000, |_| f64::NAN);
        assert!(!index.dofs[0].valid && index.dofs[0].amplitude == 1.0);
        run(&mut index, 2300, |t| 0.7 * motion(t));
        assert!(index.dofs[0].valid && (index.dofs[0].amplitude - 0.7).abs() < 1e-3);
        let mut stream = Stream::new(5, "noise");
        for _ in 0..4096 {
            index.add(&[0.0], &[16e-6 * stream.normal()]);
        }
        assert!(!index.dofs[0].valid && (index.dofs[0].amplitude - 0.7).abs() < 0.1);
    }

    #[test]
    fn what_does_not_come_back_trips_at_the_level_of_the_amplitude() {
        let levels = Levels { hold_at: Some(0.25), ..Levels::default() };
        let plan = FrequencyEvaluationPlan { amplitude: AmplitudeLevels { levels }, ..plan() };
        let mut index = FrequencyEvaluation::new(&plan, 1, STEP_S);
        run(&mut index, 2048, |_| 1e-3);
        let stop = index.judge(2047, &mut EventLog::default()).unwrap_err();
        assert_eq!(stop.trip.kind.code(), 18);
        assert!((stop.trip.value - 1.0).abs() < 1e-6 && index.dofs[0].delay_s == 0.0);
    }
}
