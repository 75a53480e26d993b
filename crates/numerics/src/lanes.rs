//! A few numbers side by side, one for each of several tests that run in step.
//!
//! Everything is written lane by lane without branches, so that the compiler
//! takes a wide register for it where the function around it is compiled for
//! one, and plain instructions elsewhere. The bits are the same.

use std::ops::{Add, AddAssign, BitAnd, BitAndAssign, Index, IndexMut, Mul, Not, Sub};

/// Tests side by side.
pub const LANES: usize = 4;

/// One number of every lane. Aligned, so that no load crosses a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(32))]
pub struct Lanes(pub [f64; LANES]);

/// One yes or no for every lane: all bits set, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(32))]
pub struct Mask([u64; LANES]);

impl Lanes {
    /// Zero in every lane.
    pub const ZERO: Self = Self([0.0; LANES]);

    /// The same number in every lane.
    #[inline(always)]
    pub fn all(value: f64) -> Self {
        Self([value; LANES])
    }

    /// One number for each lane.
    #[inline(always)]
    pub fn each(value: impl FnMut(usize) -> f64) -> Self {
        Self(std::array::from_fn(value))
    }

    /// The quotient.
    #[inline(always)]
    pub fn over(self, by: Self) -> Self {
        Self::each(|lane| self.0[lane] / by.0[lane])
    }

    /// The magnitude.
    #[inline(always)]
    pub fn abs(self) -> Self {
        Self::each(|lane| self.0[lane].abs())
    }

    /// The nearest whole number, halves away from zero.
    #[inline(always)]
    pub fn round(self) -> Self {
        Self::each(|lane| self.0[lane].round())
    }

    /// The larger; `self` where `other` is not a number.
    #[inline(always)]
    pub fn raised_to(self, other: Self) -> Self {
        Self::each(|lane| if other.0[lane] > self.0[lane] { other.0[lane] } else { self.0[lane] })
    }

    /// Where `self` ≤ `other`; nowhere where they cannot be compared.
    #[inline(always)]
    pub fn at_most(self, other: Self) -> Mask {
        Mask::each(|lane| self.0[lane] <= other.0[lane])
    }

    /// Where `self` < `other`; nowhere where they cannot be compared.
    #[inline(always)]
    pub fn below(self, other: Self) -> Mask {
        Mask::each(|lane| self.0[lane] < other.0[lane])
    }
}

impl Mask {
    /// Yes in every lane.
    pub const ALL: Self = Self([u64::MAX; LANES]);

    /// One answer for each lane.
    #[inline(always)]
    pub fn each(mut answer: impl FnMut(usize) -> bool) -> Self {
        Self(std::array::from_fn(|lane| if answer(lane) { u64::MAX } else { 0 }))
    }

    /// `yes` where it is set, `no` elsewhere.
    #[inline(always)]
    pub fn choose(self, yes: Lanes, no: Lanes) -> Lanes {
        Lanes::each(|lane| if self.0[lane] != 0 { yes.0[lane] } else { no.0[lane] })
    }

    /// Whether it is set in any lane.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.0.iter().fold(0, |any, lane| any | lane) != 0
    }

    /// The answers.
    pub fn lanes(self) -> [bool; LANES] {
        self.0.map(|lane| lane != 0)
    }
}

macro_rules! lane_by_lane {
    ($($operator:ident::$method:ident: $sign:tt),*) => {$(
        impl $operator for Lanes {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self::each(|lane| self.0[lane] $sign other.0[lane])
            }
        }
    )*};
}

lane_by_lane!(Add::add: +, Sub::sub: -, Mul::mul: *);

impl AddAssign for Lanes {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<f64> for Lanes {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: f64) -> Self {
        self * Self::all(factor)
    }
}

impl Mul<Lanes> for f64 {
    type Output = Lanes;

    #[inline(always)]
    fn mul(self, other: Lanes) -> Lanes {
        Lanes::all(self) * other
    }
}

impl Index<usize> for Lanes {
    type Output = f64;

    #[inline(always)]
    fn index(&self, lane: usize) -> &f64 {
        &self.0[lane]
    }
}

impl IndexMut<usize> for Lanes {
    #[inline(always)]
    fn index_mut(&mut self, lane: usize) -> &mut f64 {
        &mut self.0[lane]
    }
}

impl Not for Mask {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self(self.0.map(|lane| !lane))
    }
}

impl BitAnd for Mask {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] & other.0[lane]))
    }
}

impl BitAndAssign for Mask {
    #[inline(always)]
    fn bitand_assign(&mut self, other: Self) {
        *self = *self & other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;

    #[test]
    fn what_cannot_be_compared_is_neither_below_nor_at_most() {
        let (a, b) = (Lanes([1.0, 2.0, NAN, 1.0]), Lanes([1.0, 1.0, 1.0, NAN]));
        assert_eq!(a.at_most(b).lanes(), [true, false, false, false]);
        assert_eq!(a.below(b).lanes(), [false; LANES]);
        assert_eq!((a.at_most(b) & b.at_most(a)).lanes(), [true, false, false, false]);
        assert!(a.at_most(b).any() && !a.below(b).any() && Mask::ALL.any());
        assert_eq!(!a.below(b), Mask::ALL);
    }

    #[test]
    fn a_peak_is_raised_by_numbers_alone() {
        let peak = Lanes([1.0, 2.0, 3.0, 0.0]).raised_to(Lanes([2.0, 1.0, NAN, -1.0]));
        assert_eq!(peak, Lanes([2.0, 2.0, 3.0, 0.0]));
    }

    #[test]
    fn every_lane_is_the_scalar_operation() {
        let (a, b) = (Lanes([1.5, -2.5, 0.1, 1e300]), Lanes([0.3, 2.0, -0.7, 1e10]));
        for lane in 0..LANES {
            let (x, y) = (a[lane], b[lane]);
            let ours = [a + b, a - b, a * b, a.over(b), a.abs(), a.round(), 3.0 * a, a * 3.0];
            let exact = [x + y, x - y, x * y, x / y, x.abs(), x.round(), 3.0 * x, 3.0 * x];
            assert_eq!(ours.map(|value| value[lane]), exact);
        }
        let chosen = a.below(b).choose(a, b);
        assert_eq!(chosen, Lanes([0.3, -2.5, -0.7, 1e10]));
    }
}
