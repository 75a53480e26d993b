//! Which numbers have been seen: new, out of order, or again.

/// What a sequence number turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Higher than all before.
    New,
    /// Lower than one before, and not seen yet.
    OutOfOrder,
    /// Seen already, or too old to know.
    Again,
}

/// The highest number and the [`Window::REACH`] below it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Window {
    highest: u64,
    /// Bit k: `highest − k` was seen.
    seen: u128,
}

impl Window {
    /// Numbers that are told apart; older ones count as seen.
    #[cfg(test)]
    const REACH: u64 = 128;

    pub(crate) fn see(&mut self, number: u64) -> Seen {
        if number > self.highest {
            let shift = number - self.highest;
            self.seen =
                u32::try_from(shift).ok().and_then(|by| self.seen.checked_shl(by)).unwrap_or(0);
            self.seen |= 1;
            self.highest = number;
            return Seen::New;
        }
        let back = u32::try_from(self.highest - number).unwrap_or(u32::MAX);
        match 1u128.checked_shl(back) {
            Some(bit) if self.seen & bit == 0 && number > 0 => {
                self.seen |= bit;
                Seen::OutOfOrder
            }
            _ => Seen::Again,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn order_gaps_and_extremes() {
        let mut window = Window::default();
        assert_eq!(window.see(0), Seen::Again, "numbers begin with one");
        assert_eq!(window.see(1), Seen::New);
        assert_eq!(window.see(1), Seen::Again);
        assert_eq!(window.see(5), Seen::New);
        assert_eq!(window.see(3), Seen::OutOfOrder);
        assert_eq!(window.see(3), Seen::Again);
        assert_eq!(window.see(u64::MAX), Seen::New);
        assert_eq!(window.see(4), Seen::Again, "too old to know");
        assert_eq!(window.see(u64::MAX - 127), Seen::OutOfOrder);
        assert_eq!(window.see(u64::MAX - 128), Seen::Again);
    }

    proptest! {
        #[test]
        fn nothing_passes_twice(numbers in prop::collection::vec(1u64..400, 1..300)) {
            let mut window = Window::default();
            let (mut passed, mut highest) = (HashSet::new(), 0);
            for number in numbers {
                let known = !passed.contains(&number);
                let recent = highest < Window::REACH + number;
                let seen = window.see(number);
                prop_assert_eq!(seen != Seen::Again, known && recent);
                prop_assert_eq!(seen == Seen::New, number > highest);
                highest = highest.max(number);
                if seen != Seen::Again {
                    passed.insert(number);
                }
            }
        }
    }
}
