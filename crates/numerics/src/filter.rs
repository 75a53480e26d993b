//! Butterworth filters as cascades of second-order sections.

use std::f64::consts::{PI, TAU};

use nalgebra::Complex;
use thiserror::Error;

use crate::lanes::Lane;

/// Beyond this order the poles crowd and the filter is a delay line.
const MOST_ORDERS: usize = 32;

/// Why a filter cannot be designed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FilterError {
    /// The order is zero or very high.
    #[error("the filter's order is {order}; it must be from 1 to {MOST_ORDERS}")]
    BadOrder {
        /// The order asked for.
        order: usize,
    },
    /// The rate is not a positive number.
    #[error("the filter's rate is {rate_hz} Hz; it must be greater than zero")]
    BadRate {
        /// Samples per second.
        rate_hz: f64,
    },
    /// The cut-off is not between zero and half the rate.
    #[error(
        "the filter's cut-off is {cutoff_hz} Hz; it must lie between 0 and half the rate of \
         {rate_hz} Hz"
    )]
    BadCutoff {
        /// The cut-off asked for.
        cutoff_hz: f64,
        /// Samples per second.
        rate_hz: f64,
    },
}

/// What a filter lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Frequencies below the cut-off.
    Low,
    /// Frequencies above the cut-off.
    High,
}

/// (b0 + b1 z⁻¹ + b2 z⁻²) / (1 + a1 z⁻¹ + a2 z⁻²).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Section {
    /// Numerator b0, b1, b2.
    pub b: [f64; 3],
    /// Denominator a1, a2.
    pub a: [f64; 2],
}

impl Section {
    /// The bilinear (Tustin) image of
    /// (b2 s² + b1 s + b0) / (a2 s² + a1 s + a0), coefficients given from s² down.
    pub fn bilinear(numerator: [f64; 3], denominator: [f64; 3], rate_hz: f64) -> Self {
        // s = 2 f_s (1 − z⁻¹)/(1 + z⁻¹)
        let c = 2.0 * rate_hz;
        let image = |[p2, p1, p0]: [f64; 3]| {
            let (p2, p1) = (p2 * c * c, p1 * c);
            [p2 + p1 + p0, 2.0 * (p0 - p2), p2 - p1 + p0]
        };
        let (b, a) = (image(numerator), image(denominator));
        Self { b: b.map(|value| value / a[0]), a: [a[1] / a[0], a[2] / a[0]] }
    }

    /// The next output for the next input, of one signal or of several side by
    /// side, in the transposed direct form II; `state` has its two delayed values.
    #[inline(always)]
    pub fn step<T: Lane>(&self, x: T, state: &mut [T; 2]) -> T {
        let Self { b, a } = self;
        let [s1, s2] = state;
        let y = x * b[0] + *s1;
        *s1 = x * b[1] - y * a[0] + *s2;
        *s2 = x * b[2] - y * a[1];
        y
    }
}

/// The same second-order sections over `SIGNALS` signals, without a heap.
///
/// The signals do not mix; they only share the sections. `step` runs inside the tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilterBank<T: Lane, const SIGNALS: usize, const SECTIONS: usize> {
    sections: [Section; SECTIONS],
    state: [[[T; 2]; SIGNALS]; SECTIONS],
}

impl<T: Lane, const SIGNALS: usize, const SECTIONS: usize> FilterBank<T, SIGNALS, SECTIONS> {
    /// At rest, with the sections of a cascade; `None` if it has another number
    /// of them.
    pub fn new(cascade: &Cascade) -> Option<Self> {
        Some(Self::from_sections(cascade.sections().try_into().ok()?))
    }

    /// At rest.
    pub fn from_sections(sections: [Section; SECTIONS]) -> Self {
        Self { sections, state: [[[T::ZERO; 2]; SIGNALS]; SECTIONS] }
    }

    /// The next outputs for the next inputs.
    #[inline(always)]
    pub fn step(&mut self, mut x: [T; SIGNALS]) -> [T; SIGNALS] {
        for (section, states) in self.sections.iter().zip(&mut self.state) {
            for (x, state) in x.iter_mut().zip(states) {
                *x = section.step(*x, state);
            }
        }
        x
    }

    /// The sections.
    pub fn sections(&self) -> &[Section; SECTIONS] {
        &self.sections
    }

    /// Back to rest.
    pub fn reset(&mut self) {
        *self = Self::from_sections(self.sections);
    }
}

/// Second-order sections in series, with their state.
///
/// `step` runs inside the tick: it does not allocate. A NaN at the input stays
/// in the state until [`Cascade::reset`].
#[derive(Debug, Clone, PartialEq)]
pub struct Cascade {
    sections: Vec<Section>,
    state: Vec<[f64; 2]>,
    rate_hz: f64,
}

impl Cascade {
    /// A Butterworth filter by the bilinear transform, prewarped so that the
    /// gain at the cut-off is exactly 1/√2: the filter that
    /// `scipy.signal.butter(order, cutoff, output="sos", fs=rate)` gives.
    ///
    /// With k = tan(π f_c / f_s) and 1/Q_i = 2 sin((2i − 1)π/2N) each pair of
    /// poles becomes one section; an odd order adds a first-order one.
    pub fn butterworth(
        pass: Pass,
        order: usize,
        cutoff_hz: f64,
        rate_hz: f64,
    ) -> Result<Self, FilterError> {
        if !(1..=MOST_ORDERS).contains(&order) {
            return Err(FilterError::BadOrder { order });
        }
        if !(rate_hz.is_finite() && rate_hz > 0.0) {
            return Err(FilterError::BadRate { rate_hz });
        }
        if !(cutoff_hz > 0.0 && cutoff_hz < 0.5 * rate_hz) {
            return Err(FilterError::BadCutoff { cutoff_hz, rate_hz });
        }
        let k = (PI * cutoff_hz / rate_hz).tan();
        let mut sections = Vec::with_capacity(order.div_ceil(2));
        if order % 2 == 1 {
            let scale = 1.0 / (1.0 + k);
            let b = match pass {
                Pass::Low => [k * scale, k * scale, 0.0],
                Pass::High => [scale, -scale, 0.0],
            };
            sections.push(Section { b, a: [(k - 1.0) * scale, 0.0] });
        }
        for pair in 1..=order / 2 {
            let inverse_q = 2.0 * ((2 * pair - 1) as f64 * PI / (2 * order) as f64).sin();
            let scale = 1.0 / (1.0 + k * inverse_q + k * k);
            let b = match pass {
                Pass::Low => [k * k * scale, 2.0 * k * k * scale, k * k * scale],
                Pass::High => [scale, -2.0 * scale, scale],
            };
            let a = [2.0 * (k * k - 1.0) * scale, (1.0 - k * inverse_q + k * k) * scale];
            sections.push(Section { b, a });
        }
        Ok(Self::from_sections(sections, rate_hz))
    }

    /// Any sections in series, at rest.
    pub fn from_sections(sections: Vec<Section>, rate_hz: f64) -> Self {
        let state = vec![[0.0; 2]; sections.len()];
        Self { sections, state, rate_hz }
    }

    /// The next output for the next input, one sample each.
    pub fn step(&mut self, input: f64) -> f64 {
        let sections = self.sections.iter().zip(&mut self.state);
        sections.fold(input, |x, (section, state)| section.step(x, state))
    }

    /// Back to rest.
    pub fn reset(&mut self) {
        self.state.fill([0.0; 2]);
    }

    /// As if `input` had been there for ever, so that no transient follows.
    pub fn settle(&mut self, input: f64) {
        let mut x = input;
        for (Section { b, a }, [s1, s2]) in self.sections.iter().zip(&mut self.state) {
            let y = x * (b[0] + b[1] + b[2]) / (1.0 + a[0] + a[1]);
            *s2 = b[2] * x - a[1] * y;
            *s1 = b[1] * x - a[0] * y + *s2;
            x = y;
        }
    }

    /// Frequency response at `frequency_hz`.
    pub fn response(&self, frequency_hz: f64) -> Complex<f64> {
        self.at(Complex::from_polar(1.0, TAU * frequency_hz / self.rate_hz))
    }

    /// The value of the transfer function at any z, one sample being z⁻¹.
    pub fn at(&self, z: Complex<f64>) -> Complex<f64> {
        let z = z.inv();
        self.sections
            .iter()
            .map(|Section { b, a }| {
                let numerator = (z * b[2] + b[1]) * z + b[0];
                let denominator = (z * a[1] + a[0]) * z + 1.0;
                numerator / denominator
            })
            .product()
    }

    /// The sections, in the order in which they act.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Samples per second.
    pub fn rate_hz(&self) -> f64 {
        self.rate_hz
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{LANES, Lanes};
    use proptest::prelude::*;

    fn low(order: usize, cutoff_hz: f64, rate_hz: f64) -> Cascade {
        Cascade::butterworth(Pass::Low, order, cutoff_hz, rate_hz).unwrap()
    }

    /// Output at samples 0, 1, 2, 5, 10, 39 for the input 1 at sample 0 and
    /// −0.5 at sample 3.
    fn probe(mut filter: Cascade) -> [f64; 6] {
        let output: Vec<f64> = (0..40)
            .map(|sample| {
                filter.step(match sample {
                    0 => 1.0,
                    3 => -0.5,
                    _ => 0.0,
                })
            })
            .collect();
        [0, 1, 2, 5, 10, 39].map(|sample| output[sample])
    }

    #[test]
    fn every_signal_of_a_bank_is_the_cascade_bit_for_bit_in_every_lane() {
        let mut cascades: Vec<Cascade> = (0..2 * LANES).map(|_| low(4, 20.0, 4096.0)).collect();
        let mut bank = FilterBank::<Lanes, 2, 2>::new(&cascades[0]).unwrap();
        let mut single = FilterBank::<f64, 2, 2>::new(&cascades[0]).unwrap();
        for k in 0..3000 {
            let input = |at: usize| (0.01 * (at + 1) as f64 * f64::from(k)).sin();
            let expected: Vec<f64> =
                cascades.iter_mut().enumerate().map(|(at, one)| one.step(input(at))).collect();
            let [x, y] = bank.step([0, LANES].map(|first| Lanes::each(|lane| input(first + lane))));
            assert_eq!([x.0, y.0].concat(), expected);
            assert_eq!(single.step([0, 1].map(input))[..], expected[..2]);
        }
        single.reset();
        cascades[0].reset();
        assert_eq!(single.step([1.0, 0.0]), [cascades[0].step(1.0), 0.0]);
        assert!(FilterBank::<f64, 1, 3>::new(&cascades[0]).is_none(), "another number of sections");
    }

    #[test]
    fn output_is_that_of_scipy() {
        // scipy 1.17.1: sosfilt(butter(N, fc, btype, output='sos', fs=fs), x).
        let cases = [
            (
                low(4, 20.0, 4096.0),
                [
                    5.321162457375037e-08,
                    4.214271177984792e-07,
                    1.6645509024911795e-06,
                    1.698523833370072e-05,
                    9.939219361220866e-05,
                    0.002166345196880473,
                ],
            ),
            (
                Cascade::butterworth(Pass::High, 3, 5.0, 200.0).unwrap(),
                [
                    0.8544972316025424,
                    -0.26817763580854626,
                    -0.224464238962086,
                    -0.004136104527538525,
                    0.02396967959144867,
                    -0.00421920661877247,
                ],
            ),
            (
                low(5, 90.0, 200.0),
                [
                    0.5999402042196299,
                    0.6092134081960036,
                    -0.28857052807294753,
                    0.030993217628240435,
                    0.08355360809818088,
                    0.008010352677382489,
                ],
            ),
            (
                low(1, 10.0, 100.0),
                [
                    0.24523727525278557,
                    0.37019190815875014,
                    0.18862219840378747,
                    -0.06935995623693211,
                    -0.002381980568793909,
                    -7.669176928697628e-12,
                ],
            ),
        ];
        for (filter, expected) in cases {
            let found = probe(filter);
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9 * expected.abs() + 1e-15);
            }
        }
    }

    #[test]
    fn response_is_that_of_scipy() {
        // scipy 1.17.1: sosfreqz at 10 and 21 Hz of butter(4, 20, fs=4096).
        let filter = low(4, 20.0, 4096.0);
        for (frequency, re, im) in [
            (10.0, 0.2082193548172031, -0.9760919390477253),
            (21.0, -0.6250874203672242, 0.1135349565885508),
        ] {
            let found = filter.response(frequency);
            assert!((found.re - re).hypot(found.im - im) < 1e-11);
        }
    }

    #[test]
    fn response_is_what_a_sine_sees() {
        let mut filter = low(3, 12.0, 500.0);
        let h = filter.response(17.0);
        for sample in 0..4000 {
            let phase = TAU * 17.0 * f64::from(sample) / 500.0;
            let output = filter.step(phase.sin());
            if sample > 2000 {
                let (gain, lag) = h.to_polar();
                assert!((output - gain * (phase + lag).sin()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn bilinear_image_has_the_analogue_response_at_the_warped_frequency() {
        let (b, a) = ([0.3, 20.0, 900.0], [1.0, 12.0, 800.0]);
        let filter = Cascade::from_sections(vec![Section::bilinear(b, a, 250.0)], 250.0);
        for frequency in [0.0, 3.0, 40.0, 110.0] {
            let warped = Complex::new(0.0, 500.0 * (PI * frequency / 250.0).tan());
            let value = |p: [f64; 3]| (warped * p[0] + p[1]) * warped + p[2];
            assert!((filter.response(frequency) - value(b) / value(a)).norm() < 1e-12);
        }
    }

    #[test]
    fn settling_leaves_no_transient_and_reset_forgets() {
        let mut filter = low(4, 20.0, 4096.0);
        filter.settle(0.25);
        for _ in 0..1000 {
            assert!((filter.step(0.25) - 0.25).abs() < 1e-12);
        }
        filter.step(f64::NAN);
        filter.reset();
        assert_eq!(filter, low(4, 20.0, 4096.0));
    }

    #[test]
    fn impossible_filters_are_errors() {
        let design = |order, cutoff, rate| Cascade::butterworth(Pass::Low, order, cutoff, rate);
        assert_eq!(design(0, 1.0, 10.0), Err(FilterError::BadOrder { order: 0 }));
        assert!(design(1000, 1.0, 10.0).is_err());
        for cutoff in [0.0, -1.0, 5.0, 6.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(design(2, cutoff, 10.0), Err(FilterError::BadCutoff { .. })));
        }
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(design(2, 1.0, rate), Err(FilterError::BadRate { .. })));
        }
    }

    proptest! {
        #[test]
        fn gain_is_one_where_it_passes_and_three_decibels_at_the_cutoff(
            order in 1_usize..9,
            ratio in 0.01..0.49_f64,
        ) {
            let rate = 1000.0;
            let low = low(order, ratio * rate, rate);
            let high = Cascade::butterworth(Pass::High, order, ratio * rate, rate).unwrap();
            prop_assert!((low.response(0.0).norm() - 1.0).abs() < 1e-10);
            prop_assert!(low.response(0.5 * rate).norm() < 1e-10);
            prop_assert!((high.response(0.5 * rate).norm() - 1.0).abs() < 1e-10);
            prop_assert!(high.response(0.0).norm() < 1e-10);
            for filter in [low, high] {
                let decibels = 20.0 * filter.response(ratio * rate).norm().log10();
                prop_assert!((decibels + 3.010299956639812).abs() < 1e-9);
            }
        }
    }
}
