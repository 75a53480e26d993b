//! One filter over several signals side by side, without a heap.

use crate::filter::{Cascade, Section};

/// The same second-order sections over `LANES` signals.
///
/// The signals do not mix; they only share the sections, so that one pass of
/// wide instructions serves them all. `step` runs inside the tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilterBank<const LANES: usize, const SECTIONS: usize> {
    sections: [Section; SECTIONS],
    /// Per section the two delayed values of the transposed form.
    state: [[[f64; LANES]; 2]; SECTIONS],
}

impl<const LANES: usize, const SECTIONS: usize> FilterBank<LANES, SECTIONS> {
    /// At rest, with the sections of a cascade; `None` if it has another number
    /// of them.
    pub fn new(cascade: &Cascade) -> Option<Self> {
        let sections = cascade.sections().try_into().ok()?;
        Some(Self { sections, state: [[[0.0; LANES]; 2]; SECTIONS] })
    }

    /// The next outputs for the next inputs.
    #[inline]
    pub fn step(&mut self, mut x: [f64; LANES]) -> [f64; LANES] {
        for (Section { b, a }, [s1, s2]) in self.sections.iter().zip(&mut self.state) {
            // Transposed direct form II.
            for i in 0..LANES {
                let y = b[0] * x[i] + s1[i];
                s1[i] = b[1] * x[i] - a[0] * y + s2[i];
                s2[i] = b[2] * x[i] - a[1] * y;
                x[i] = y;
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
        self.state = [[[0.0; LANES]; 2]; SECTIONS];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Pass;

    #[test]
    fn every_lane_is_the_cascade_bit_for_bit() {
        let mut cascades =
            [1, 2].map(|_| Cascade::butterworth(Pass::Low, 4, 20.0, 4096.0).unwrap());
        let mut bank = FilterBank::<2, 2>::new(&cascades[0]).unwrap();
        for k in 0..3000 {
            let input = [f64::from(k).sin(), (0.01 * f64::from(k)).cos()];
            let expected = [cascades[0].step(input[0]), cascades[1].step(input[1])];
            assert_eq!(bank.step(input), expected);
        }
        bank.reset();
        cascades[0].reset();
        assert_eq!(bank.step([1.0, 0.0]), [cascades[0].step(1.0), 0.0]);
    }

    #[test]
    fn another_number_of_sections_is_refused() {
        let cascade = Cascade::butterworth(Pass::Low, 4, 20.0, 4096.0).unwrap();
        assert!(FilterBank::<1, 3>::new(&cascade).is_none());
    }
}
