//! Sensors and converters of a virtual rig: noise and quantisation; of one test, or
//! of several side by side.

use numerics::lanes::{LANES, Lane, LaneMask, Lanes};
use numerics::random::Stream;

/// One sensor.
#[derive(Debug, Clone)]
pub struct Sensor<T: Lane = f64> {
    noise: T,
    quantum: T,
    /// Absent where nothing is noisy.
    source: Option<Box<Noise<T>>>,
}

/// Numbers that are drawn in one go.
const DRAWN: usize = 64;

/// Noise of unit size.
#[derive(Debug, Clone)]
struct Noise<T> {
    /// One for each lane.
    streams: Vec<Stream>,
    /// For the samples to come.
    drawn: [T; DRAWN],
    next: usize,
}

impl Sensor {
    /// A sensor with white noise of the given standard deviation and steps of
    /// `quantum` (0 for none). Its stream is its own: noise on one sensor never
    /// depends on another being there.
    pub fn new(noise: f64, quantum: f64, seed: u64, name: &str) -> Self {
        let source = (noise > 0.0).then(|| Box::new(Noise::new(vec![Stream::new(seed, name)])));
        Self { noise: if noise > 0.0 { noise } else { 0.0 }, quantum, source }
    }
}

impl Sensor<Lanes> {
    /// Sensors that have not been read yet, one in each lane.
    pub fn side_by_side(each: [&Sensor; LANES]) -> Self {
        let stream = |one: &Sensor| {
            let source = one.source.as_ref();
            source.map_or_else(|| Stream::new(0, ""), |noise| noise.streams[0].clone())
        };
        let noisy = each.iter().any(|one| one.source.is_some());
        Self {
            noise: Lanes::each(|lane| each[lane].noise),
            quantum: Lanes::each(|lane| each[lane].quantum),
            source: noisy.then(|| Box::new(Noise::new(each.map(stream).to_vec()))),
        }
    }
}

impl<T: Lane> Sensor<T> {
    /// What the sensor says.
    #[inline(always)]
    pub fn read(&mut self, truth: T) -> T {
        let value = match &mut self.source {
            Some(noise) => truth + self.noise * noise.next(),
            None => truth,
        };
        quantise(value, self.quantum)
    }
}

impl<T: Lane> Noise<T> {
    fn new(streams: Vec<Stream>) -> Self {
        Self { streams, drawn: [T::ZERO; DRAWN], next: DRAWN }
    }

    #[inline(always)]
    fn next(&mut self) -> T {
        if self.next == DRAWN {
            self.draw();
        }
        let drawn = self.drawn[self.next];
        self.next += 1;
        drawn
    }

    /// Lane after lane, so that a stream stays in registers.
    #[inline(never)]
    fn draw(&mut self) {
        for (lane, stream) in self.streams.iter_mut().enumerate() {
            for drawn in &mut self.drawn {
                *drawn.lane_mut(lane) = stream.normal();
            }
        }
        self.next = 0;
    }
}

/// What happens to a command on its way out: steps and end stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Converter<T: Lane = f64> {
    /// Size of a step, m; 0 for none.
    pub quantum: T,
    /// Largest displacement, m; infinite for none.
    pub saturation: T,
}

impl Converter {
    /// Lets every command through as it is.
    pub const EXACT: Self = Self { quantum: 0.0, saturation: f64::INFINITY };
}

impl Converter<Lanes> {
    /// Converters, one in each lane.
    pub fn side_by_side(each: [Converter; LANES]) -> Self {
        Self {
            quantum: Lanes::each(|lane| each[lane].quantum),
            saturation: Lanes::each(|lane| each[lane].saturation),
        }
    }
}

impl<T: Lane> Converter<T> {
    /// The displacement that goes out. What is not a number stays, for the gate to see.
    #[inline(always)]
    pub fn convert(&self, command: T) -> T {
        let command = quantise(command, self.quantum);
        let bounded = T::ZERO.at_most(self.saturation);
        let most = self.saturation.where_set(bounded, T::all(f64::INFINITY));
        command.within(-most, most)
    }
}

/// The nearest whole number of steps; as it is without steps.
#[inline(always)]
pub fn quantise<T: Lane>(value: T, quantum: T) -> T {
    let stepped = T::ZERO.below(quantum);
    if !stepped.any() {
        return value;
    }
    ((value / quantum).round() * quantum).where_set(stepped, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_converter_steps_and_stops() {
        let converter = Converter { quantum: 0.25, saturation: 1.0 };
        assert_eq!(converter.convert(0.3), 0.25);
        assert_eq!(converter.convert(-7.0), -1.0);
        assert_eq!(Converter { quantum: 0.0, saturation: f64::INFINITY }.convert(0.3), 0.3);
        assert!(converter.convert(f64::NAN).is_nan(), "not a full stroke");
        assert_eq!(Converter { quantum: 0.0, saturation: f64::NAN }.convert(0.3), 0.3);
    }

    #[test]
    fn every_lane_reads_and_converts_as_its_own() {
        let one = |lane: usize| {
            let noise = [0.0, 16e-6, 2e-3, 1.0][lane];
            Sensor::new(noise, [0.0, 1e-6, 0.0, 0.25][lane], 3 + lane as u64, "force.1")
        };
        let mut each: [Sensor; LANES] = std::array::from_fn(one);
        let mut four = Sensor::side_by_side(each.each_ref());
        let converters = std::array::from_fn(|lane| Converter {
            quantum: [0.0, 1e-3, 0.5, 0.0][lane],
            saturation: [0.5, f64::INFINITY, f64::NAN, 1.0][lane],
        });
        let converter = Converter::side_by_side(converters);
        for k in 0..1000 {
            let truth = Lanes::each(|lane| (0.1 * f64::from(k) + lane as f64).sin());
            let read = four.read(truth);
            for (lane, sensor) in each.iter_mut().enumerate() {
                assert_eq!(read[lane], sensor.read(truth[lane]), "lane {lane}");
                let alone = converters[lane].convert(truth[lane]);
                assert_eq!(converter.convert(truth)[lane], alone, "lane {lane}");
            }
        }
    }

    #[test]
    fn noise_has_its_size_and_its_own_stream() {
        let mut a = Sensor::new(16e-6, 0.0, 1, "displacement.1");
        let mut b = Sensor::new(16e-6, 0.0, 1, "displacement.2");
        let n = 50_000;
        let (mut squares, mut cross) = (0.0, 0.0);
        for _ in 0..n {
            let (x, y) = (a.read(0.0), b.read(0.0));
            squares += x * x;
            cross += x * y;
        }
        let rms = (squares / f64::from(n)).sqrt();
        assert!((rms / 16e-6 - 1.0).abs() < 0.02);
        assert!(cross.abs() < 0.02 * squares);
        assert_eq!(Sensor::new(0.0, 0.0, 1, "x").read(0.5), 0.5);
    }
}
