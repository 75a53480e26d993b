//! How far a loop is from its boundary.
//!
//! With several interface DOFs these margins are those of the eigenvalues of L: all
//! DOFs are delayed, amplified or turned together. What each bears on its own is the
//! disk margin.

use std::f64::consts::{PI, TAU};

use super::disk::disk_margin;
use super::nyquist::evaluate;
use super::{Curve, DiskMargin, LoopError, OpenLoop, Verdict};
use numerics::Complex;

/// Where a loop would stand on its boundary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The delay beyond what the loop has.
    pub delay_s: f64,
    /// The frequency at which it then swings.
    pub frequency_hz: f64,
    /// Whether a motion begins to grow there, or to decay.
    pub direction: Direction,
}

/// What a growing delay does at a crossing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A motion begins to grow.
    Grows,
    /// A growing one begins to decay.
    Decays,
}

/// The margins of a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Margins {
    /// Growing motions, and the further delay that a stable loop bears.
    pub verdict: Verdict,
    /// Factor on the force that brings a stable loop to its boundary from below
    /// one (where less force harms) and from above, with the frequencies in Hz.
    pub gain_below: Option<(f64, f64)>,
    /// See `gain_below`.
    pub gain_above: Option<(f64, f64)>,
    /// Smallest angle to −1 where |L| = 1, rad, and its frequency in Hz.
    pub phase: Option<(f64, f64)>,
    /// Smallest distance of an eigenvalue of L from −1, and its frequency in Hz.
    pub distance: (f64, f64),
    /// What a stable loop bears if its interface DOFs differ, where it has several.
    pub disk: Option<DiskMargin>,
    /// The delays at which stability changes, in rising order: what would happen
    /// if the loop were later and later. At most [`MOST_SWITCHES`].
    pub switches: Vec<Crossing>,
}

/// Most switches that are listed.
pub const MOST_SWITCHES: usize = 12;

/// All margins.
pub fn margins(open: &OpenLoop, curve: &Curve) -> Result<Margins, LoopError> {
    let unit = unit(open, curve)?;
    let switches = switches(&unit);
    let delay_margin = switches.first().copied().filter(|_| curve.growing == 0);
    let found = gain_and_phase(open, curve, &unit)?;
    let verdict = Verdict { delay_margin, ..found.verdict };
    Ok(Margins { verdict, disk: disk_margin(open, curve), switches, ..found })
}

/// The same of a loop whose eigenvalues a delay does not turn like a wave: gain and phase alone.
pub(super) fn without_delay(open: &OpenLoop, curve: &Curve) -> Result<Margins, LoopError> {
    gain_and_phase(open, curve, &unit(open, curve)?)
}

/// Where eigenvalues of L pass the size one.
fn unit(open: &OpenLoop, curve: &Curve) -> Result<Vec<Change>, LoopError> {
    changes(open, curve, |value| value.norm() > 1.0, |_, _| true)
}

fn gain_and_phase(open: &OpenLoop, curve: &Curve, unit: &[Change]) -> Result<Margins, LoopError> {
    let phase = unit
        .iter()
        .map(|(omega, value, _)| ((PI - value.arg().abs()).abs(), omega / TAU))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let (gain_below, gain_above) = gain_margins(open, curve)?;
    let distance = curve
        .points
        .iter()
        .flat_map(|p| p.loci.iter().map(|l| ((l + 1.0).norm(), p.omega_rad_s / TAU)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap_or((f64::INFINITY, 0.0));
    let stable = curve.growing == 0;
    Ok(Margins {
        verdict: Verdict { growing: curve.growing, delay_margin: None },
        gain_below: gain_below.filter(|_| stable),
        gain_above: gain_above.filter(|_| stable),
        phase: phase.filter(|_| stable),
        distance,
        disk: None,
        switches: Vec::new(),
    })
}

/// The smallest further delay that brings L to −1; `None` if none does.
pub fn delay_margin(open: &OpenLoop, curve: &Curve) -> Result<Option<Crossing>, LoopError> {
    Ok(switches(&unit(open, curve)?).first().copied())
}

/// The delays at which L passes −1: where |λ| = 1 a delay τ turns λ by ωτ, and
/// π + arg λ is what is left to −1. From there on it comes back with every turn. Where
/// the size falls with frequency a delay lets a motion grow, else decay (the closed pole
/// moves by −λ′/λ there).
fn switches(unit: &[Change]) -> Vec<Crossing> {
    let mut found: Vec<Crossing> = Vec::new();
    for (omega, value, falls) in unit.iter().filter(|(omega, ..)| *omega > 0.0) {
        let direction = if *falls { Direction::Grows } else { Direction::Decays };
        let (first, frequency_hz) = (turn_left(*value, direction) / omega, omega / TAU);
        found.extend((0..MOST_SWITCHES).map(|turn| {
            let delay_s = first + turn as f64 * TAU / omega;
            Crossing { delay_s, frequency_hz, direction }
        }));
    }
    found.sort_by(|a, b| a.delay_s.total_cmp(&b.delay_s));
    found.truncate(MOST_SWITCHES);
    found
}

/// The angle left to −1. A mode without damping stands on −1 already: what makes
/// it grow does so at once, what damps it comes round again after a whole turn.
fn turn_left(value: Complex, direction: Direction) -> f64 {
    const ON_IT: f64 = 1e-7;
    let left = (PI + value.arg()).rem_euclid(TAU);
    match direction {
        _ if (ON_IT..=TAU - ON_IT).contains(&left) => left,
        Direction::Grows => 0.0,
        Direction::Decays => TAU,
    }
}

/// A frequency, the eigenvalue there, and the side it comes from.
type Change = (f64, Complex, bool);

/// Where an eigenvalue changes from one side to the other, between those neighbours
/// that count.
fn changes(
    open: &OpenLoop,
    curve: &Curve,
    side: impl Fn(Complex) -> bool,
    counts: impl Fn(Complex, Complex) -> bool,
) -> Result<Vec<Change>, LoopError> {
    let mut found = Vec::new();
    for pair in curve.points.windows(2) {
        let [a, b] = pair else { continue };
        for (&first, &second) in a.loci.iter().zip(&b.loci) {
            let from = side(first);
            if from == side(second) || !counts(first, second) {
                continue;
            }
            let ends = (a.omega_rad_s, first, b.omega_rad_s, second);
            let (omega, value) = bisect(open, curve, ends, |value| side(value) == from)?;
            found.push((omega, value, from));
        }
    }
    Ok(found)
}

type Factor = Option<(f64, f64)>;

/// Factors that bring L to −1 along the negative real axis.
fn gain_margins(open: &OpenLoop, curve: &Curve) -> Result<(Factor, Factor), LoopError> {
    let (mut below, mut above): (Factor, Factor) = (None, None);
    let mut take = |value: Complex, omega: f64| {
        let factor = 1.0 / value.norm();
        if factor >= 1.0 && above.is_none_or(|(known, _)| factor < known) {
            above = Some((factor, omega / TAU));
        } else if factor < 1.0 && below.is_none_or(|(known, _)| factor > known) {
            below = Some((factor, omega / TAU));
        }
    };
    let counts =
        |first: Complex, second: Complex| first.re < 0.0 && second.re < 0.0 && first.norm() >= 1e-6;
    for (omega, value, _) in changes(open, curve, |value| value.im > 0.0, counts)? {
        take(value, omega);
    }
    // At both ends of a sampled axis, and at zero frequency, L is real.
    for end in [curve.points.first(), curve.points.last()].into_iter().flatten() {
        for locus in &end.loci {
            if locus.re < -1e-6 && locus.im.abs() < 1e-6 * locus.norm() {
                take(*locus, end.omega_rad_s);
            }
        }
    }
    Ok((below, above))
}

/// Narrows down on the frequency at which `like_first` changes, following the
/// eigenvalue between its two ends.
fn bisect(
    open: &OpenLoop,
    curve: &Curve,
    (mut low, mut first, mut high, mut second): (f64, Complex, f64, Complex),
    like_first: impl Fn(Complex) -> bool,
) -> Result<(f64, Complex), LoopError> {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        let expected = 0.5 * (first + second);
        let distance = |value: &Complex| (value - expected).norm();
        // Nearer to the axis than the curve, whose distance would show in the
        // seventh digit.
        let point = evaluate(open, 1e-4 * curve.shift_1_s, middle)?;
        let nearest = point.loci.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let Some(value) = nearest else { break };
        if like_first(value) {
            (low, first) = (middle, value);
        } else {
            (high, second) = (middle, value);
        }
    }
    Ok((high, second))
}
