//! Seeded random streams that never change with a crate's defaults.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::normals::Normals;

/// One independent stream of random numbers.
///
/// The same seed with two names gives two independent streams, so that adding
/// a noise source never shifts the numbers of another.
#[derive(Debug, Clone)]
pub struct Stream {
    generator: ChaCha8Rng,
}

impl Stream {
    /// The stream called `name` of the family `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(fnv1a(name.as_bytes()));
        Self { generator }
    }

    /// A standard normal number.
    pub fn normal(&mut self) -> f64 {
        self.generator.sample(StandardNormal)
    }

    /// The same numbers from here on, many at a time.
    pub fn normals(&self) -> Normals {
        Normals::new(self.generator.clone())
    }

    /// A number uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.generator.random::<f64>()
    }
}

/// FNV-1a: a fixed, documented hash, unlike the standard library's.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_repeats_and_its_neighbour_differs() {
        let draw = |name: &str| -> Vec<f64> {
            let mut stream = Stream::new(7, name);
            (0..4).map(|_| stream.normal()).collect()
        };
        assert_eq!(draw("force"), draw("force"));
        assert_ne!(draw("force"), draw("displacement"));
    }

    #[test]
    fn normal_numbers_have_unit_variance_and_streams_do_not_correlate() {
        let (mut a, mut b) = (Stream::new(1, "a"), Stream::new(1, "b"));
        let n = 100_000;
        let (mut sum, mut squares, mut product) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            let (x, y) = (a.normal(), b.normal());
            sum += x;
            squares += x * x;
            product += x * y;
        }
        let n = f64::from(n);
        assert!((sum / n).abs() < 0.015);
        assert!((squares / n - 1.0).abs() < 0.02);
        assert!((product / n).abs() < 0.015);
    }
}
