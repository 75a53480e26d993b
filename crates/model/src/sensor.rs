//! Sensors and converters of a virtual rig: noise and quantisation.

use numerics::normals::Normals;
use numerics::random::Stream;

/// One sensor.
#[derive(Debug, Clone)]
pub struct Sensor {
    noise: f64,
    quantum: f64,
    stream: Stream,
}

impl Sensor {
    /// A sensor with white noise of the given standard deviation and steps of
    /// `quantum` (0 for none). Its stream is its own: noise on one sensor never
    /// depends on another being there.
    pub fn new(noise: f64, quantum: f64, seed: u64, name: &str) -> Self {
        Self { noise, quantum, stream: Stream::new(seed, name) }
    }

    /// Standard deviation of the noise, and size of a step.
    pub fn imperfections(&self) -> (f64, f64) {
        (self.noise, self.quantum)
    }

    /// Its noise to come, of unit size; `None` if it has none.
    pub fn noise_to_come(&self) -> Option<Normals> {
        (self.noise > 0.0).then(|| self.stream.normals())
    }

    /// What the sensor says.
    #[inline(always)]
    pub fn read(&mut self, truth: f64) -> f64 {
        let value = if self.noise > 0.0 { self.noisy(truth) } else { truth };
        quantise(value, self.quantum)
    }

    /// Kept out of the loops that read perfect sensors.
    #[inline(never)]
    fn noisy(&mut self, truth: f64) -> f64 {
        truth + self.noise * self.stream.normal()
    }
}

/// What happens to a command on its way out: steps and end stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Converter {
    /// Size of a step, m; 0 for none.
    pub quantum: f64,
    /// Largest displacement, m; infinite for none.
    pub saturation: f64,
}

impl Converter {
    /// The displacement that goes out.
    #[inline(always)]
    pub fn convert(&self, command: f64) -> f64 {
        let command = quantise(command, self.quantum);
        // `clamp` panics on a bound that is none; NaN stays for the gate to see.
        if self.saturation >= 0.0 {
            command.clamp(-self.saturation, self.saturation)
        } else {
            command
        }
    }
}

/// The nearest whole number of steps; as it is without steps.
#[inline(always)]
pub fn quantise(value: f64, quantum: f64) -> f64 {
    if quantum > 0.0 { (value / quantum).round() * quantum } else { value }
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
