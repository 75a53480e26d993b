//! The normal numbers of a stream, many at a time.

use std::convert::Infallible;
use std::sync::OnceLock;

use rand::distr::Distribution;
use rand::{Rng, TryRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Words drawn from the generator in one go.
const WORDS: usize = 64;
/// Bytes of a word.
const WORD: usize = 8;
/// Layers of the ziggurat.
const LAYERS: usize = 256;

/// What is left of a stream, for normal numbers alone: those that
/// [`Stream::normal`](crate::random::Stream::normal) gives one by one, bit for bit.
///
/// The ziggurat of `rand_distr` takes 99 of 100 numbers from one word, one
/// product and one comparison. These are taken here, without a call for each;
/// the others are left to `rand_distr` itself, which is given the same words.
#[derive(Debug, Clone)]
pub struct Normals {
    generator: ChaCha8Rng,
    bytes: [u8; WORDS * WORD],
    /// Word to come; [`WORDS`] if none is left.
    next: usize,
}

impl Normals {
    pub(crate) fn new(generator: ChaCha8Rng) -> Self {
        Self { generator, bytes: [0; WORDS * WORD], next: WORDS }
    }

    /// Fills `out` with the next numbers.
    pub fn draw(&mut self, out: &mut [f64]) {
        let edges = layer_edges();
        for out in out {
            let word = self.peek();
            let layer = (word % LAYERS as u64) as usize;
            // Uniform in [-1, 1): the upper bits as those of a number in [2, 4).
            let uniform = f64::from_bits((word >> 12) | 2f64.to_bits()) - 3.0;
            let number = uniform * edges[layer];
            *out = if number.abs() < edges[layer + 1] {
                self.next += 1;
                number
            } else {
                StandardNormal.sample(self)
            };
        }
    }

    /// The next word, which stays the next one.
    #[inline(always)]
    fn peek(&mut self) -> u64 {
        if self.next >= WORDS {
            self.generator.fill_bytes(&mut self.bytes);
            self.next = 0;
        }
        u64::from_le_bytes(self.bytes.as_chunks().0[self.next])
    }
}

/// The words left over, for the numbers that need more than one.
impl TryRng for Normals {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        // Half a word is never asked for; the stream's own order would be lost.
        Ok(self.next_u64() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let word = self.peek();
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

/// The edges of the ziggurat's layers. `rand_distr` keeps its table to itself,
/// so it is read off its numbers: of a word that stands for a small power of two
/// every layer gives its edge, scaled without rounding.
fn layer_edges() -> &'static [f64; LAYERS + 1] {
    static EDGES: OnceLock<[f64; LAYERS + 1]> = OnceLock::new();
    EDGES.get_or_init(|| {
        const SMALL: f64 = 1.0 / 1024.0;
        let upper = ((3.0 + SMALL).to_bits() << 12) & !(LAYERS as u64 - 1);
        std::array::from_fn(|layer| {
            // The top of the last layer is the middle of the bell: nothing is below.
            if layer == LAYERS {
                return 0.0;
            }
            let mut word = Certain { first: Some(upper | layer as u64) };
            let number: f64 = StandardNormal.sample(&mut word);
            number / SMALL
        })
    })
}

/// One given word, then the largest there is, by which a layer accepts.
struct Certain {
    first: Option<u64>,
}

impl TryRng for Certain {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_u64() as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.first.take().unwrap_or(u64::MAX))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(u8::MAX);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn many_at_a_time_are_the_numbers_one_by_one() {
        for (name, used) in [("force", 0), ("displacement", 3)] {
            let mut stream = Stream::new(11, name);
            (0..used).for_each(|_| {
                stream.normal();
            });
            let mut normals = stream.normals();
            for length in [1, 64, 7, 400_000] {
                let mut many = vec![0.0; length];
                normals.draw(&mut many);
                let single: Vec<f64> = (0..length).map(|_| stream.normal()).collect();
                let differs =
                    many.iter().zip(&single).position(|(m, s)| m.to_bits() != s.to_bits());
                assert_eq!(differs, None, "{name}, {length} numbers");
            }
        }
    }

    #[test]
    fn the_layers_fall_from_the_tail_to_the_middle() {
        let edges = layer_edges();
        assert!(edges.windows(2).all(|pair| pair[0] > pair[1]));
        // The tail begins at 3.65, as Doornik has it for 256 layers.
        assert!((edges[1] - 3.654_152_885_361_009).abs() < 1e-15, "{}", edges[1]);
        assert_eq!(edges[LAYERS], 0.0);
    }
}
