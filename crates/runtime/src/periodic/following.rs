//! The target's mean follows the rig's.
//!
//! It comes a period or two late. Where the rig swings slowly against its control, a mean
//! that is followed at once feeds that swing, and it grows. So what is left to follow is
//! watched: if it grows, less of it is followed.

/// Periods over which the largest difference is taken.
const SPELL: u32 = 8;
/// Growth from its smallest value at which half as much is followed.
const GROWN: f64 = 2.0;
/// Least share that is followed.
const LEAST: f64 = 1.0 / 64.0;

/// How one mean is followed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Following {
    /// Share of the difference that is followed in a period.
    share: f64,
    /// Periods in this spell, and the largest difference in them, m.
    periods: u32,
    largest_m: f64,
    /// The smallest of the spells before, m.
    smallest_m: f64,
}

impl Default for Following {
    fn default() -> Self {
        Self { share: 1.0, periods: 0, largest_m: 0.0, smallest_m: f64::INFINITY }
    }
}

impl Following {
    /// The target's next mean, from its own and that of the rig.
    pub(super) fn next(&mut self, target_m: f64, rig_m: f64) -> f64 {
        let apart_m = rig_m - target_m;
        self.largest_m = self.largest_m.max(apart_m.abs());
        self.periods += 1;
        if self.periods == SPELL {
            if self.largest_m > GROWN * self.smallest_m {
                self.share = (0.5 * self.share).max(LEAST);
                self.smallest_m = self.largest_m;
            }
            self.smallest_m = self.smallest_m.min(self.largest_m);
            (self.periods, self.largest_m) = (0, 0.0);
        }
        if self.share < 1.0 { target_m + self.share * apart_m } else { rig_m }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_that_its_own_pursuit_drives_away_is_followed_more_slowly() {
        // Each period the rig answers with 1.3 times what was last followed, reversed.
        let run = |next: &mut dyn FnMut(f64, f64) -> f64| {
            let (mut target_m, mut rig_m) = (0.0, 1e-6);
            for _ in 0..400 {
                target_m = next(target_m, rig_m);
                rig_m = -1.3 * target_m;
            }
            target_m.abs()
        };
        let mut following = Following::default();
        assert!(run(&mut |target, rig| following.next(target, rig)) < 1e-9);
        assert!(run(&mut |_, rig| rig) > 1.0, "followed at once it runs away");
    }
}
