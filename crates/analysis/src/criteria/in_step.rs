//! The criteria of tests that run in step, one in each lane.
//!
//! What is compared with a reference is summed while the tests run, so that no
//! more than a short block of it is ever kept; J1 alone needs its two signals
//! whole. Every criterion has the bits that [`evaluate`](super::evaluate) gives
//! for the signals of a lane. Where one pass does not tell a criterion (gaps,
//! signals that do not move, extreme sizes) the lane has no result here.

use numerics::lanes::{LANES, Lane, Lanes, Work, widely};

use super::compare::{Centre, Comparison, PART as BLOCK, Running, Sums, from_sums};
use super::measure::{correlations, decided};
use super::{Criterion, InterfaceErrors, listed};

/// What a signal of every lane is compared with.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Name of the DOF.
    pub name: &'a str,
    /// The reference of each lane.
    pub samples: [&'a [f64]; LANES],
    /// The sums over each.
    pub extents: [Sums; LANES],
}

impl Target<'_> {
    /// The samples from `from` on, side by side.
    #[inline(always)]
    fn write(&self, from: usize, out: &mut [Lanes]) {
        let all = self.samples.map(|samples| &samples[from..from + out.len()]);
        if all.iter().all(|samples| std::ptr::eq(*samples, all[0])) {
            // One reference for all, as a rule.
            for (out, value) in out.iter_mut().zip(all[0]) {
                *out = Lanes::all(*value);
            }
        } else {
            for (at, out) in out.iter_mut().enumerate() {
                *out = Lanes::each(|lane| all[lane][at]);
            }
        }
    }
}

/// The signals that are kept whole; kept from run to run, so that a thread asks
/// for its memory once.
#[derive(Debug, Default)]
pub struct Room {
    desired: Vec<Lanes>,
    measured: Vec<Lanes>,
}

impl Room {
    /// The measured motion of a lane.
    pub fn measured(&self, lane: usize) -> Vec<f64> {
        alone(&self.measured, lane)
    }
}

/// The signal of a lane.
fn alone(signal: &[Lanes], lane: usize) -> Vec<f64> {
    signal.iter().map(|all| all.lane(lane)).collect()
}

/// The criteria of a few tests with one interface DOF each.
pub struct InStep<'a> {
    rate_hz: f64,
    frames: usize,
    room: Room,
    /// Samples that are not summed yet.
    waiting: usize,
    desired: Running<Lanes>,
    measured: Running<Lanes>,
    tracking: Running<Lanes>,
    interface: Compared<'a>,
    floors: Vec<Compared<'a>>,
}

/// A signal and its errors against a reference.
struct Compared<'a> {
    target: Target<'a>,
    error: Running<Lanes>,
    block: [Lanes; BLOCK],
}

/// The results of one lane.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The criteria, in the benchmark's order.
    pub criteria: Vec<Criterion>,
    /// NRMSE of the measured motion against the reference.
    pub nrmse: Option<f64>,
    /// Largest desired and measured motion.
    pub largest: [f64; 2],
    /// Largest difference between the two.
    pub largest_tracking_error: f64,
}

impl<'a> InStep<'a> {
    /// For signals of `frames` samples; `None` if a reference is of another length.
    pub fn new(
        rate_hz: f64,
        frames: usize,
        interface: Target<'a>,
        floors: Vec<Target<'a>>,
        mut room: Room,
    ) -> Option<Self> {
        let fits =
            |target: &Target<'_>| target.samples.iter().all(|samples| samples.len() == frames);
        if !(fits(&interface) && floors.iter().all(fits)) {
            return None;
        }
        for signal in [&mut room.desired, &mut room.measured] {
            signal.clear();
            signal.reserve(frames);
        }
        let compared =
            |target| Compared { target, error: Running::default(), block: [Lanes::ZERO; BLOCK] };
        Some(Self {
            rate_hz,
            frames,
            room,
            waiting: 0,
            desired: Running::default(),
            measured: Running::default(),
            tracking: Running::default(),
            interface: compared(interface),
            floors: floors.into_iter().map(compared).collect(),
        })
    }

    /// The next sample of every signal; `floor` is asked for each in its order.
    #[inline(always)]
    pub fn push(&mut self, desired: Lanes, measured: Lanes, floor: impl Fn(usize) -> Lanes) {
        self.room.desired.push(desired);
        self.room.measured.push(measured);
        for (index, compared) in self.floors.iter_mut().enumerate() {
            compared.block[self.waiting] = floor(index);
        }
        self.waiting += 1;
        if self.waiting == BLOCK {
            self.absorb();
        }
    }

    /// Sums what waits.
    #[inline(never)]
    fn absorb(&mut self) {
        widely(Absorb(self));
    }

    /// The results of those lanes that have them, and the room for the next run.
    pub fn finish(mut self) -> ([Option<Found>; LANES], Room) {
        self.absorb();
        let Room { desired, measured } = &self.room;
        if desired.len() != self.frames {
            return ([const { None }; LANES], self.room);
        }
        let centre = |sums: &Running<Lanes>, lane| Centre::from_sums(&sums.lane(lane));
        let centres: [_; LANES] = std::array::from_fn(|lane| {
            Some([centre(&self.desired, lane)?, centre(&self.measured, lane)?])
        });
        let near = correlations(desired, measured, &centres, self.rate_hz);
        let found = std::array::from_fn(|lane| {
            let tracking = from_sums(&self.tracking.lane(lane), &self.desired.lane(lane))?;
            let answer = self.interface.comparison(lane)?;
            let signals = || [&self.room.desired, &self.room.measured].map(|of| alone(of, lane));
            let (near, centres) = (near[lane].as_deref()?, centres[lane]?);
            let interface = InterfaceErrors {
                name: self.interface.target.name,
                lag: decided(Some(near), centres, self.rate_hz, signals),
                tracking,
                answer: Some(answer),
            };
            let floor = |one: &Compared<'a>| Some((one.target.name, Some(one.comparison(lane)?)));
            let floors: Vec<_> = self.floors.iter().map(floor).collect::<Option<_>>()?;
            Some(Found {
                criteria: listed(self.rate_hz, &[interface], &floors),
                nrmse: answer.nrmse,
                largest: [&self.desired, &self.measured].map(|sums| sums.lane(lane).largest),
                largest_tracking_error: self.tracking.lane(lane).largest,
            })
        });
        (found, self.room)
    }
}

/// The sums over what waits.
struct Absorb<'s, 'a>(&'s mut InStep<'a>);

impl Work for Absorb<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(all) = self;
        let count = std::mem::take(&mut all.waiting);
        let from = all.room.desired.len() - count;
        // What is too long has no criteria; see `finish`.
        if from + count > all.frames {
            return;
        }
        let (desired, measured) = (&all.room.desired[from..], &all.room.measured[from..]);
        all.desired.add(desired.iter().copied());
        all.measured.add(measured.iter().copied());
        all.tracking.add(measured.iter().zip(desired).map(|(m, d)| *m - *d));
        all.interface.absorb(from, measured);
        for floor in &mut all.floors {
            let block = floor.block;
            floor.absorb(from, &block[..count]);
        }
    }
}

impl Compared<'_> {
    #[inline(always)]
    fn absorb(&mut self, from: usize, signal: &[Lanes]) {
        let mut reference = [Lanes::ZERO; BLOCK];
        self.target.write(from, &mut reference[..signal.len()]);
        self.error.add(signal.iter().zip(&reference).map(|(s, r)| *s - *r));
    }

    fn comparison(&self, lane: usize) -> Option<Comparison> {
        from_sums(&self.error.lane(lane), &self.target.extents[lane])
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Floor, Interface, Signals, evaluate, nrmse};
    use super::*;
    use numerics::random::Stream;

    /// Desired, measured and two floors of one lane.
    type Signal4 = [Vec<f64>; 4];

    /// A noisy decaying oscillation, late and of its own size in every lane.
    fn signals(frames: usize, lane: usize) -> Signal4 {
        let mut noise = Stream::new(9, &format!("lane.{lane}"));
        [0, 5 + 3 * lane, 2, 4].map(|late| {
            let value = |i: usize| {
                let t = (i as f64 - late as f64) / 4096.0;
                (1.0 + 0.3 * lane as f64) * (-0.7 * t).exp() * (22.7 * t).sin()
            };
            (0..frames).map(|i| value(i) + 1e-3 * noise.normal()).collect()
        })
    }

    /// The references: one for all lanes, or one for each.
    fn references(frames: usize, own: usize) -> Vec<[Vec<f64>; 3]> {
        let of = |lane| {
            let [a, b, c, _] = signals(frames, own * lane);
            [a, b, c]
        };
        (0..LANES).map(of).collect()
    }

    fn in_step(
        tests: &[Signal4],
        references: &[&[Vec<f64>; 3]],
        room: Room,
    ) -> ([Option<Found>; LANES], Room) {
        let frames = tests[0][0].len();
        let target = |name, which: usize| Target {
            name,
            samples: std::array::from_fn(|lane| references[lane][which].as_slice()),
            extents: std::array::from_fn(|lane| Sums::of(&references[lane][which])),
        };
        let floors = vec![target("2", 1), target("3", 2)];
        let mut criteria =
            InStep::new(4096.0, frames, target("1", 0), floors, room).expect("same lengths");
        for at in 0..frames {
            let of = |which: usize| Lanes::each(|lane| tests[lane][which][at]);
            criteria.push(of(0), of(1), |floor| of(2 + floor));
        }
        criteria.finish()
    }

    fn alone([desired, measured, second, third]: &Signal4, reference: &[Vec<f64>; 3]) -> Found {
        let interface = Interface { name: "1", desired, measured, reference: Some(&reference[0]) };
        let floor =
            |name, numerical, at: usize| Floor { name, numerical, reference: Some(&reference[at]) };
        let floors = [floor("2", second, 1), floor("3", third, 2)];
        let signals = Signals { rate_hz: 4096.0, interfaces: &[interface], floors: &floors };
        let peak = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |p, v| v.abs().max(p));
        Found {
            criteria: evaluate(&signals),
            nrmse: nrmse(measured, &reference[0]),
            largest: [desired, measured].map(|signal| peak(&mut signal.iter().copied())),
            largest_tracking_error: peak(&mut measured.iter().zip(desired).map(|(m, d)| m - d)),
        }
    }

    #[test]
    fn every_lane_has_the_bits_of_its_own_signals() {
        let mut room = Room::default();
        for frames in [3, 50, 64, 300, 1025, 4096] {
            let tests: Vec<Signal4> = (0..LANES).map(|lane| signals(frames, lane)).collect();
            for own in [0, 1] {
                let kept = references(frames, own);
                let references: Vec<_> = (0..LANES).map(|lane| &kept[own * lane]).collect();
                let (found, used) = in_step(&tests, &references, room);
                room = used;
                for lane in 0..LANES {
                    let alone = alone(&tests[lane], references[lane]);
                    assert_eq!(found[lane], Some(alone), "{frames} frames, lane {lane}");
                }
            }
        }
    }

    #[test]
    fn what_one_pass_does_not_tell_has_no_result_and_harms_no_neighbour() {
        let frames = 700;
        let kept = references(frames, 0);
        let references: Vec<_> = kept.iter().collect();
        for spoil in [
            (|test| test[1][300] = f64::NAN) as fn(&mut Signal4),
            |test| test[3][699] = f64::INFINITY,
            |test| test[0].fill(0.0),
            |test| test[1].iter_mut().for_each(|x| *x += 1e6),
        ] {
            let mut tests: Vec<Signal4> = (0..LANES).map(|lane| signals(frames, lane)).collect();
            spoil(&mut tests[2]);
            let (found, _) = in_step(&tests, &references, Room::default());
            assert_eq!(found[2], None);
            for lane in [0, 1, 3] {
                assert_eq!(found[lane], Some(alone(&tests[lane], references[lane])));
            }
        }
    }

    #[test]
    fn signals_and_references_of_other_lengths_are_refused() {
        let long = signals(100, 0);
        let target = |length: usize| Target {
            name: "1",
            samples: [&long[0][..length]; LANES],
            extents: [Sums::of(&long[0][..length]); LANES],
        };
        let new = |interface, floor| {
            InStep::new(4096.0, 100, target(interface), vec![target(floor)], Room::default())
        };
        assert!(new(99, 100).is_none() && new(100, 99).is_none());
        for pushed in [0, 99, 101, 200] {
            let mut criteria = new(100, 100).expect("same lengths");
            (0..pushed).for_each(|_| criteria.push(Lanes::ZERO, Lanes::ZERO, |_| Lanes::ZERO));
            assert_eq!(criteria.finish().0, [const { None }; LANES]);
        }
    }
}
