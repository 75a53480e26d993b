//! Seeded random streams that never change with a crate's defaults.

use std::convert::Infallible;

use rand::{Rng, RngExt, SeedableRng, TryRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Words drawn from the generator in one go.
const WORDS: usize = 64;
/// Bytes of a word.
const WORD: usize = 8;

/// One independent stream of random numbers.
///
/// The same seed with two names gives two independent streams, so that adding
/// a noise source never shifts the numbers of another.
#[derive(Debug, Clone)]
pub struct Stream {
    words: Words,
}

/// The words of a generator, many at a time: a number then costs no call for its
/// words.
#[derive(Debug, Clone)]
struct Words {
    generator: ChaCha8Rng,
    bytes: [u8; WORDS * WORD],
    /// Word to come; [`WORDS`] if none is left.
    next: usize,
}

impl Stream {
    /// The stream called `name` of the family `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(fnv1a(name.as_bytes()));
        Self { words: Words { generator, bytes: [0; WORDS * WORD], next: WORDS } }
    }

    /// A standard normal number.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        self.words.sample(StandardNormal)
    }

    /// A number uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.words.random::<f64>()
    }
}

impl TryRng for Words {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        // Half a word is never asked for; the generator's own order would be lost.
        Ok(self.next_u64() as u32)
    }

    #[inline(always)]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        if self.next >= WORDS {
            self.generator.fill_bytes(&mut self.bytes);
            self.next = 0;
        }
        let word = u64::from_le_bytes(self.bytes.as_chunks().0[self.next]);
        self.next += 1;
        Ok(word)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(WORD) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
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
    fn words_drawn_in_one_go_are_those_of_the_generator() {
        let mut generator = ChaCha8Rng::seed_from_u64(11);
        generator.set_stream(fnv1a(b"force"));
        let mut stream = Stream::new(11, "force");
        for k in 0..400_000 {
            let (ours, exact) = if k % 1000 == 999 {
                (stream.uniform(), generator.random::<f64>())
            } else {
                (stream.normal(), generator.sample(StandardNormal))
            };
            assert_eq!(ours.to_bits(), exact.to_bits(), "number {k}");
        }
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
