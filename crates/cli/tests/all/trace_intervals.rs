//! The intervals of a trace against the truth, over random buildings with a stop.
//!
//! A seed gives an experiment file: two storeys, the lower one in the laboratory, with a
//! stop that bends the response, one to five harmonics matched, with noise or without. The
//! truth is the branch of the whole structure by harmonic balance. `TWINRIG_TRACES=100` runs
//! more seeds than the tests do, `TWINRIG_TRACES_FROM` others; the table is printed.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use analysis::iterative::FoldMark;
use numerics::random::Stream;
use twinrig::iterative::{Outcome, TraceOptions};
use twinrig::verdict::Level;
use twinrig::{Silent, StopHandle, Test};

/// Seeds of an ordinary run of the tests.
const TRACES: u64 = 3;
/// Opening of the stop, m.
const OPENING_M: f64 = 6e-4;

/// The file of a seed, and in words what is special about it.
fn draw(seed: u64) -> (String, String) {
    let mut stream = Stream::new(seed, "trace intervals");
    let mut between = |low: f64, high: f64| low + (high - low) * stream.uniform();
    let (m1, m2) = (between(5.0, 15.0), between(5.0, 15.0));
    let (k1, k2) = (between(2e4, 8e4), between(2e4, 8e4));
    // The first eigenvalue of two masses, and damping in proportion to the stiffness.
    let (sum, product) = ((k1 + k2) / m1 + k2 / m2, k1 * k2 / (m1 * m2));
    let omega = (0.5 * (sum - (sum * sum - 4.0 * product).sqrt())).sqrt();
    let beta_s = 2.0 * between(0.005, 0.015) / omega;
    let share = between(0.4, 0.8);
    let stop = k1 * between(0.2, 0.6);
    let side = if between(0.0, 1.0) < 0.5 { "positive" } else { "both" };
    let harmonics = 1 + between(0.0, 4.999) as usize;
    let noise = if between(0.0, 1.0) < 0.3 { 1.0 } else { 0.0 };
    // At resonance the lower storey would move so far without the stop.
    let wanted_m = OPENING_M * between(1.2, 2.5);
    let upper = k2 / (k2 - m2 * omega * omega);
    let amplitude_n = wanted_m * omega * beta_s * (k1 + k2 * (upper - 1.0).powi(2)) / upper;
    let hz = omega / TAU;
    let text = format!(
        "title = \"seed {seed}\"\nduration = \"2 s\"\n[structure.shear_building]\n\
         mass = [\"{m1} kg\", \"{m2} kg\"]\nstiffness = [\"{k1} N/m\", \"{k2} N/m\"]\n\
         damping = [\"{} N s/m\", \"{} N s/m\"]\n[partition]\ninterface = [1]\n\
         mass = [\"{} kg\"]\nstiffness = [\"{k1} N/m\"]\ndamping = [\"{} N s/m\"]\n\
         [[partition.element]]\nat = 1\nkind = \"gap\"\nstiffness = \"{stop} N/m\"\n\
         opening = \"{OPENING_M} m\"\nside = \"{side}\"\n[[excitation.force]]\ndof = 2\n\
         harmonic = {{ amplitude = \"{amplitude_n} N\", frequency = \"10 Hz\" }}\n\
         [sensors]\ndisplacement_noise = \"{} um\"\nforce_noise = \"{} N\"\n\
         [integrator]\nmethod = \"newmark\"\nrate = \"10 kHz\"\n[limits]\ncommand = \"60 mm\"\n\
         [trace]\nfrequency = [\"{} Hz\", \"{} Hz\"]\ndirection = \"falling\"\n\
         harmonics = {harmonics}\ntarget = \"12 mm\"\nscale = {{ target = \"0.6 mm\" }}\n\
         tolerance = \"500 nm\"\n[trace.shaker]\nstiffness = \"5 kN/m\"\ndamping = \"500 N s/m\"\n",
        beta_s * k1,
        beta_s * k2,
        share * m1,
        beta_s * k1,
        0.2 * noise,
        0.005 * noise,
        0.85 * hz,
        1.3 * hz,
    );
    (text, format!("{harmonics} harmonics, {side}, noise {noise}"))
}

/// Points and folds whose interval holds the truth, of all.
#[derive(Default)]
struct Held {
    points: (usize, usize),
    folds: (usize, usize),
    /// Every fold with its interval, and how far it is off.
    words: String,
}

impl Held {
    fn of(found: &Outcome) -> Self {
        let inside = |k: &usize| {
            found.difference_m(*k, 0).is_some_and(|off| off.abs() <= found.points[*k].interval_m[0])
        };
        let clear = || found.folds.iter().filter(|fold| !fold.doubtful);
        let truth = || found.reference.iter().flat_map(|branch| &branch.folds);
        let off = |fold: &&FoldMark| {
            let off = truth().map(|truth| (truth.frequency_hz - fold.mark.frequency_hz).abs());
            off.fold(f64::INFINITY, f64::min)
        };
        let held = clear().filter(|fold| off(fold) <= fold.interval_hz);
        let count = found.points.len();
        Self {
            points: ((0..count).filter(inside).count(), count),
            folds: (held.count(), clear().count()),
            words: clear().fold(String::new(), |mut words, fold| {
                let (hz, interval) = (fold.mark.frequency_hz, fold.interval_hz);
                let _ = write!(words, " {hz:.4} ± {interval:.4} Hz, {:.4} off;", off(&fold));
                words
            }),
        }
    }

    fn add(&mut self, other: &Self) {
        let sum = |a: &mut (usize, usize), b: (usize, usize)| *a = (a.0 + b.0, a.1 + b.1);
        sum(&mut self.points, other.points);
        sum(&mut self.folds, other.folds);
    }
}

#[test]
fn the_intervals_of_random_traces_hold_the_truth() {
    let number = |name: &str, absent: u64| {
        std::env::var(name).map_or(absent, |text| text.parse().expect("a whole number"))
    };
    let (from, count) = (number("TWINRIG_TRACES_FROM", 1), number("TWINRIG_TRACES", TRACES));
    let (mut all, mut sound, mut table) = (Held::default(), Held::default(), String::new());
    for seed in from..from + count {
        let (text, words) = draw(seed);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("seed.toml"), &text).unwrap();
        let test = Test::load(folder.path().join("seed.toml")).unwrap();
        let (options, stop) = (TraceOptions::default(), StopHandle::default());
        let traced = test.trace(folder.path(), &options, &stop, &mut Silent).unwrap();
        let (found, held) = (&traced.outcome, Held::of(&traced.outcome));
        let _ = writeln!(
            table,
            "seed {seed}: {words}: {} {}, points {}/{}, folds {}/{}, model {}, unmatched {:?} %, {};{}",
            found.ended.word(),
            found.verdict.level.word(),
            held.points.0,
            held.points.1,
            held.folds.0,
            held.folds.1,
            found.reference.as_ref().map_or(0, |branch| branch.folds.len()),
            found.largest_unmatched_percent,
            found.largest_difference_percent.unwrap_or(f64::NAN),
            held.words,
        );
        all.add(&held);
        if found.verdict.level == Level::Sound {
            sound.add(&held);
        }
    }
    let share = |(held, of): (usize, usize)| 100.0 * held as f64 / of.max(1) as f64;
    println!("{table}points {:?} {:.1} %", all.points, share(all.points));
    println!("folds {:?} {:.1} %", all.folds, share(all.folds));
    println!("folds of sound traces {:?} {:.1} %", sound.folds, share(sound.folds));
    assert!(all.points.1 >= 10 * count as usize, "{table}");
    let folds = share(all.folds).min(share(sound.folds));
    assert!(share(all.points) >= 95.0 && folds >= 95.0, "{table}");
}
