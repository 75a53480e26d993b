//! A few numbers side by side, one for each of several tests that run in step.
//!
//! What one test computes and what several compute side by side is written once,
//! over a [`Lane`]: a single number, or [`Lanes`] of them. Every lane has the bits
//! of the single number.
//!
//! Everything is written lane by lane without branches, so that the compiler
//! takes a wide register for it where the function around it is compiled for
//! one ([`widely`]), and plain instructions elsewhere. The bits are the same. (The
//! crate `wide` takes its registers when it is compiled; here one program serves
//! processors with and without wide ones.)

use std::fmt::Debug;
use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, Div, DivAssign, Index, Mul, MulAssign, Neg, Not, Sub,
    SubAssign,
};

/// Tests side by side.
pub const LANES: usize = 4;

/// A number of one test, or the same number of several side by side.
pub trait Lane:
    Copy
    + Debug
    + Default
    + PartialEq
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + SubAssign
    + Mul<Output = Self>
    + Mul<f64, Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// A yes or no for every lane.
    type Mask: LaneMask;
    /// Number of lanes.
    const COUNT: usize;
    /// Zero in every lane.
    const ZERO: Self;

    /// One number for each lane.
    fn each(value: impl FnMut(usize) -> f64) -> Self;
    /// The number of one lane.
    fn lane(self, lane: usize) -> f64;
    /// The number of one lane, to be written.
    fn lane_mut(&mut self, lane: usize) -> &mut f64;

    /// The magnitude.
    #[inline(always)]
    fn abs(self) -> Self {
        Self::each(|lane| self.lane(lane).abs())
    }

    /// The nearest whole number, halves away from zero.
    #[inline(always)]
    fn round(self) -> Self {
        Self::each(|lane| self.lane(lane).round())
    }

    /// Where `self` ≤ `other`; nowhere where they cannot be compared.
    #[inline(always)]
    fn at_most(self, other: Self) -> Self::Mask {
        Self::Mask::each(|lane| self.lane(lane) <= other.lane(lane))
    }

    /// Where `self` < `other`; nowhere where they cannot be compared.
    #[inline(always)]
    fn below(self, other: Self) -> Self::Mask {
        Self::Mask::each(|lane| self.lane(lane) < other.lane(lane))
    }

    /// `self` where the mask is set, `other` elsewhere.
    #[inline(always)]
    fn where_set(self, mask: Self::Mask, other: Self) -> Self {
        Self::each(|lane| if mask.lane(lane) { self.lane(lane) } else { other.lane(lane) })
    }

    /// The same number in every lane.
    #[inline(always)]
    fn all(value: f64) -> Self {
        Self::each(|_| value)
    }

    /// The larger; `self` where `other` is not a number.
    #[inline(always)]
    fn raised_to(self, other: Self) -> Self {
        other.where_set(self.below(other), self)
    }

    /// Cut off at `least` and `most`; what is not a number stays.
    #[inline(always)]
    fn within(self, least: Self, most: Self) -> Self {
        let raised = least.where_set(self.below(least), self);
        most.where_set(most.below(raised), raised)
    }
}

/// A yes or no for every lane.
pub trait LaneMask:
    Copy + Debug + PartialEq + BitAnd<Output = Self> + BitAndAssign + Not<Output = Self>
{
    /// Yes in every lane.
    const ALL: Self;

    /// One answer for each lane.
    fn each(answer: impl FnMut(usize) -> bool) -> Self;
    /// The answer of one lane.
    fn lane(self, lane: usize) -> bool;
    /// Whether it is set in any lane.
    fn any(self) -> bool;
}

/// Work that is worth wide registers.
pub trait Work {
    /// What comes of it.
    type Output;

    /// Does it. To be marked `#[inline(always)]`, as whatever it calls: only what
    /// is inlined into [`widely`] is compiled for wide registers.
    fn run(self) -> Self::Output;
}

/// Does the work in wide registers where the processor has them.
#[inline(always)]
pub fn widely<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide<W: Work>(work: W) -> W::Output {
            work.run()
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been seen to have AVX2.
            return unsafe { wide(work) };
        }
    }
    work.run()
}

impl Lane for f64 {
    type Mask = bool;
    const COUNT: usize = 1;
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn each(mut value: impl FnMut(usize) -> f64) -> Self {
        value(0)
    }

    #[inline(always)]
    fn lane(self, _lane: usize) -> f64 {
        self
    }

    #[inline(always)]
    fn lane_mut(&mut self, _lane: usize) -> &mut f64 {
        self
    }
}

impl LaneMask for bool {
    const ALL: Self = true;

    #[inline(always)]
    fn each(mut answer: impl FnMut(usize) -> bool) -> Self {
        answer(0)
    }

    #[inline(always)]
    fn lane(self, _lane: usize) -> bool {
        self
    }

    #[inline(always)]
    fn any(self) -> bool {
        self
    }
}

/// One number of every lane. Aligned, so that no load crosses a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(32))]
pub struct Lanes(pub [f64; LANES]);

/// One yes or no for every lane: all bits set, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(32))]
pub struct Mask([u64; LANES]);

impl Lane for Lanes {
    type Mask = Mask;
    const COUNT: usize = LANES;
    const ZERO: Self = Self([0.0; LANES]);

    #[inline(always)]
    fn each(value: impl FnMut(usize) -> f64) -> Self {
        Self(std::array::from_fn(value))
    }

    #[inline(always)]
    fn lane(self, lane: usize) -> f64 {
        self.0[lane]
    }

    #[inline(always)]
    fn lane_mut(&mut self, lane: usize) -> &mut f64 {
        &mut self.0[lane]
    }
}

impl Mask {
    /// The answers.
    pub fn lanes(self) -> [bool; LANES] {
        self.0.map(|lane| lane != 0)
    }
}

impl LaneMask for Mask {
    const ALL: Self = Self([u64::MAX; LANES]);

    #[inline(always)]
    fn each(mut answer: impl FnMut(usize) -> bool) -> Self {
        Self(std::array::from_fn(|lane| if answer(lane) { u64::MAX } else { 0 }))
    }

    #[inline(always)]
    fn lane(self, lane: usize) -> bool {
        self.0[lane] != 0
    }

    #[inline(always)]
    fn any(self) -> bool {
        self.0.iter().fold(0, |any, lane| any | lane) != 0
    }
}

/// Operations of two operands, lane by lane.
macro_rules! lanewise {
    ($($type:ident: $operation:ident $name:ident $assign:ident $assign_name:ident $sign:tt),*) => {$(
        impl $operation for $type {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self(std::array::from_fn(|lane| self.0[lane] $sign other.0[lane]))
            }
        }

        impl $assign for $type {
            #[inline(always)]
            fn $assign_name(&mut self, other: Self) {
                *self = *self $sign other;
            }
        }
    )*};
}

lanewise!(
    Lanes: Add add AddAssign add_assign +,
    Lanes: Sub sub SubAssign sub_assign -,
    Lanes: Mul mul MulAssign mul_assign *,
    Lanes: Div div DivAssign div_assign /,
    Mask: BitAnd bitand BitAndAssign bitand_assign &
);

impl Mul<f64> for Lanes {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: f64) -> Self {
        self * Self::all(factor)
    }
}

impl Neg for Lanes {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.map(|value| -value))
    }
}

impl Index<usize> for Lanes {
    type Output = f64;

    #[inline(always)]
    fn index(&self, lane: usize) -> &f64 {
        &self.0[lane]
    }
}

impl Not for Mask {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self(self.0.map(|lane| !lane))
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

    /// The operations, of one number or of several.
    fn results<T: Lane>(a: T, b: T) -> [T; 13] {
        let (mut sum, mut difference) = (a, a);
        sum += b;
        difference -= b;
        let chosen = a.where_set(a.below(b), b);
        let (at_most, not) = (a.where_set(a.at_most(b), T::ZERO), a.where_set(!a.below(b), b));
        let quotient = a / b;
        let peak = a.raised_to(b);
        let cut = a.within(-b.abs(), b.abs());
        let products = [a * b, a * 3.0];
        let [product, tripled] = products;
        [
            sum,
            difference,
            product,
            quotient,
            a.abs(),
            a.round(),
            tripled,
            -a,
            peak,
            cut,
            chosen,
            at_most,
            not,
        ]
    }

    struct Operations(Lanes, Lanes);

    impl Work for Operations {
        type Output = [Lanes; 13];

        #[inline(always)]
        fn run(self) -> [Lanes; 13] {
            results(self.0, self.1)
        }
    }

    #[test]
    fn every_lane_is_the_scalar_operation() {
        let (a, b) = (Lanes([1.5, -2.5, 0.1, 1e300]), Lanes([0.3, 2.0, -0.7, 1e10]));
        let ours = results(a, b);
        for lane in 0..LANES {
            assert_eq!(ours.map(|value| value[lane]), results(a[lane], b[lane]));
        }
        assert_eq!(a.where_set(a.below(b), b), Lanes([0.3, -2.5, -0.7, 1e10]));
        assert!(NAN.within(-1.0, 1.0).is_nan(), "not cut off");
        assert_eq!(widely(Operations(a, b)), ours);
    }
}
