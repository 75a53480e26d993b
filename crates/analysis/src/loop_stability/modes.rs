//! The motions of the closed loop: each mode of the true structure followed into
//! the loop, and what else swings there.

use std::f64::consts::TAU;

use model::equations::Equations;

use super::open_loop::ClosedPole;
use super::structure_modes::Undamped;
use super::{Curve, LoopError, OpenLoop, parts};
use numerics::{Complex, ComplexMatrix};

/// A motion e^{st}.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// s, 1/s; the imaginary part is not negative.
    pub exponent: Complex,
}

impl Motion {
    /// |s|/2π.
    pub fn frequency_hz(&self) -> f64 {
        self.exponent.norm() / TAU
    }

    /// −Re s/|s|; negative grows.
    pub fn damping_ratio(&self) -> f64 {
        let size = self.exponent.norm();
        if size > 0.0 { -self.exponent.re / size } else { 0.0 }
    }

    /// Re s; positive grows.
    pub fn growth_1_s(&self) -> f64 {
        self.exponent.re
    }

    /// The one that decays slowest, or grows fastest.
    pub(super) fn slowest(motions: impl Iterator<Item = Self>) -> Option<Self> {
        motions.max_by(|a, b| a.growth_1_s().total_cmp(&b.growth_1_s()))
    }
}

/// A mode of the structure as if it were built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrueMode {
    /// Its place among all modes by frequency, from 1.
    pub number: usize,
    /// Its motion.
    pub motion: Motion,
}

/// What becomes of a mode in the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoopMode {
    /// The mode of the true structure.
    pub truth: TrueMode,
    /// Its motion in the loop; `None` where it could not be followed.
    pub in_loop: Option<Motion>,
    /// dζ/dτ in the loop: what a further delay does to its damping, 1/s.
    pub sensitivity_1_s: Option<f64>,
}

/// The motions of a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Follow {
    /// The modes of the structure, slowest first.
    pub modes: Vec<LoopMode>,
    /// Further motions that were found: those of the rig and the compensator
    /// near the axis, and growing ones that belong to no mode.
    pub others: Vec<Motion>,
    /// Whether the fastest-growing of all motions is among them.
    fastest: bool,
}

impl Follow {
    /// The motion that decays slowest, or grows fastest, and the number of its mode.
    pub fn dominant(&self) -> Option<(Motion, Option<usize>)> {
        self.all().max_by(|a, b| a.0.growth_1_s().total_cmp(&b.0.growth_1_s()))
    }

    /// The same if the growing motions that were found are all that the curve
    /// counts, or the fastest of them: else one that decays might be shown for one
    /// that was missed.
    pub fn dominant_among(&self, curve: &Curve) -> Option<(Motion, Option<usize>)> {
        self.dominant().filter(|_| self.fastest || self.is_complete(curve))
    }

    /// The motion with the smallest damping ratio, likewise.
    pub fn least_damped_among(&self, curve: &Curve) -> Option<(Motion, Option<usize>)> {
        let least = self.all().min_by(|a, b| a.0.damping_ratio().total_cmp(&b.0.damping_ratio()));
        least.filter(|_| self.is_complete(curve))
    }

    fn all(&self) -> impl Iterator<Item = (Motion, Option<usize>)> + '_ {
        let of_modes = self.modes.iter().filter_map(|m| Some((m.in_loop?, Some(m.truth.number))));
        of_modes.chain(self.others.iter().map(|motion| (*motion, None)))
    }

    fn is_complete(&self, curve: &Curve) -> bool {
        if curve.closed.is_some() {
            return true;
        }
        let growing = self.all().filter(|(motion, _)| motion.growth_1_s() > curve.shift_1_s);
        let roots = growing.map(|(motion, _)| if turns(&motion.exponent) { 2 } else { 1 });
        roots.sum::<usize>() == curve.growing
    }
}

/// Most modes that are followed.
pub const MOST_MODES: usize = 40;
/// Stations between a specimen moved exactly and the loop.
const STATIONS: [f64; 8] = [0.05, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 1.0];
const ROUNDS: usize = 40;
/// A search for further motions is given up sooner.
const SEARCH_ROUNDS: usize = 15;
/// Motions that move by less than this part of their size need no stations.
const NEAR: f64 = 0.05;
/// Modes above this part of half the rate mean nothing in a sampled loop.
const USABLE: f64 = 0.8;

/// A motion that was followed lies on its pole to this part of its size, one that
/// still moved within the other.
const SAME: f64 = 1e-3;
const CLOSE: f64 = 5e-2;

/// Motions slower than this part of the fastest are the rounding of a motion
/// that has no frequency, where a structure has such.
const RIGID: f64 = 1e-6;

/// The modes of a structure by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnModes {
    /// The oscillating ones, slowest first. Those that do not oscillate, as rigid
    /// bodies or beyond critical damping, are left out but keep their number.
    pub oscillating: Vec<TrueMode>,
    /// All natural frequencies and their ratios of critical damping, slowest first:
    /// of a symmetric structure without its damping, else |λ| and −Re λ/|λ|.
    pub natural: Vec<(f64, f64)>,
}

impl OwnModes {
    /// The natural frequencies that are none of rigid bodies, Hz, slowest first.
    pub fn frequencies_hz(&self) -> impl Iterator<Item = f64> + '_ {
        let fastest = self.natural.iter().map(|(omega, _)| *omega).fold(0.0, f64::max);
        let moving = self.natural.iter().filter(move |(omega, _)| *omega > RIGID * fastest);
        moving.map(|(omega, _)| omega / TAU)
    }
}

/// The modes of a structure, symmetric or not, of second or of first order.
pub fn own_modes(whole: &Equations) -> Result<OwnModes, LoopError> {
    let undamped = Undamped::of(whole);
    let all = match &undamped {
        // Natural modes are known at any size.
        Some(undamped) => match undamped.exponents() {
            Err(LoopError::TooLarge { .. }) => Vec::new(),
            found => found?,
        },
        None => {
            parts::check_size(whole.state_count())?;
            whole.eigenvalues()?
        }
    };
    let by_size = |a: &Complex, b: &Complex| a.norm().total_cmp(&b.norm());
    let mut exponents: Vec<Complex> = all.iter().copied().filter(oscillates).collect();
    exponents.sort_by(by_size);
    let Some(undamped) = undamped else {
        // Real roots have no partner: each is a motion of its own.
        let mut upper: Vec<_> = all.into_iter().filter(|s| oscillates(s) || !turns(s)).collect();
        upper.sort_by(by_size);
        let natural =
            upper.iter().map(|s| (s.norm(), Motion { exponent: *s }.damping_ratio())).collect();
        let numbered = (1..).zip(exponents).map(|(number, s)| TrueMode::new(number, s));
        return Ok(OwnModes { oscillating: numbered.collect(), natural });
    };
    let omegas = undamped.modes.omega_rad_s.as_slice();
    let slowest = RIGID * omegas.iter().copied().fold(0.0, f64::max);
    if omegas.iter().any(|omega| *omega < slowest) {
        exponents.retain(|s| s.norm() > slowest);
    }
    let sizes: Vec<f64> = exponents.iter().map(|s| s.norm()).collect();
    let numbered = numbers(&sizes, omegas).into_iter().zip(exponents);
    Ok(OwnModes {
        oscillating: numbered.map(|(number, s)| TrueMode::new(number, s)).collect(),
        natural: omegas.iter().copied().zip(undamped.ratios()).collect(),
    })
}

/// The oscillating ones of [`own_modes`].
pub fn true_modes(whole: &Equations) -> Result<Vec<TrueMode>, LoopError> {
    Ok(own_modes(whole)?.oscillating)
}

fn turns(s: &Complex) -> bool {
    s.im.abs() > 1e-9 * s.norm()
}

/// Whether a root is the upper one of an oscillating pair.
fn oscillates(s: &Complex) -> bool {
    s.im > 0.0 && turns(s)
}

impl TrueMode {
    fn new(number: usize, exponent: Complex) -> Self {
        Self { number, motion: Motion { exponent } }
    }
}

/// The places of some frequencies among those of all modes, both ascending, from
/// 1: in order, and so that the ratios are nearest to one in all.
fn numbers(sizes: &[f64], omegas: &[f64]) -> Vec<usize> {
    let (m, n) = (sizes.len(), omegas.len());
    if m >= n {
        return (1..=m).collect();
    }
    let apart = |j: usize, i: usize| {
        let (size, omega) = (sizes[j], omegas[i]);
        if omega > 0.0 { (size / omega).ln().abs() } else { f64::MAX.ln() }
    };
    // The first j of the sizes among the first i modes.
    let mut cost = vec![vec![f64::INFINITY; n + 1]; m + 1];
    cost[0].fill(0.0);
    for j in 1..=m {
        for i in j..=n {
            cost[j][i] = cost[j][i - 1].min(cost[j - 1][i - 1] + apart(j - 1, i - 1));
        }
    }
    let mut found = vec![0; m];
    let mut i = n;
    for j in (1..=m).rev() {
        while i > j && cost[j][i - 1] <= cost[j][i] {
            i -= 1;
        }
        found[j - 1] = i;
        i -= 1;
    }
    found
}

/// Follows the modes of the true structure into the loop, and looks for what else
/// moves there.
///
/// At one end of the way the specimen is moved at once and exactly; the loop's
/// motions are then the structure's but for its integrator. At the other end is
/// the loop. In between the loop gains are mixed, and at each station all motions
/// are corrected together by Newton's rule on det(I + L) with the poles of L
/// taken out, each kept away from the others (Ehrlich and Aberth).
pub fn follow(open: &OpenLoop, curve: &Curve, truth: &[TrueMode]) -> Result<Follow, LoopError> {
    let end = USABLE * open.highest_rad_s();
    let inside = |mode: &&TrueMode| mode.motion.exponent.norm() < end;
    let followed: Vec<TrueMode> = truth.iter().filter(inside).take(MOST_MODES).copied().collect();
    let mut places: Vec<Complex> = followed.iter().map(|m| m.motion.exponent).collect();
    let ideal = open.part(0.0);
    settle(&ideal, &mut places, &[], ROUNDS);
    // In one step where nothing moves far, else from station to station.
    let start = places.clone();
    let mut settled = settle(open, &mut places, &[], ROUNDS);
    let moved = |(from, to): (&Complex, &Complex)| (to - from).norm() / from.norm();
    let far = start.iter().zip(&places).map(moved).any(|share| share.is_nan() || share > NEAR);
    if far || settled.contains(&false) {
        places = start;
        for station in STATIONS {
            settled = settle(&open.part(station), &mut places, &[], ROUNDS);
        }
    }
    let mut left = curve.closed.clone();
    let (mut known, mut modes) = (Vec::new(), Vec::new());
    for (truth, (&place, &settled)) in followed.iter().zip(places.iter().zip(&settled)) {
        let place = Complex::new(place.re, place.im.abs());
        let found = match &mut left {
            Some(poles) => take_nearest(poles, place, if settled { SAME } else { CLOSE }),
            None => (settled && place.im <= open.highest_rad_s()).then_some(place),
        };
        known.extend(found);
        modes.push(LoopMode {
            truth: *truth,
            in_loop: found.map(|exponent| Motion { exponent }),
            sensitivity_1_s: found.and_then(|exponent| sensitivity(open, exponent)),
        });
    }
    let others = match left {
        Some(poles) => {
            // Rigid motions come out of rounding with some growth; they are none.
            let moving = poles.into_iter().filter(|(s, _)| s.norm() > open.zero_rad_s());
            moving.map(|(exponent, _)| Motion { exponent }).collect()
        }
        None => others(open, curve, &known),
    };
    let mut found = Follow { modes, others, fastest: false };
    if curve.growing > 0
        && !found.is_complete(curve)
        && let Some(fastest) = fastest(open, curve)
    {
        found.fastest = true;
        let known = |motion: &Motion| same(motion.exponent, fastest);
        if !found.all().any(|(motion, _)| known(&motion)) {
            found.others.push(Motion { exponent: fastest });
        }
    }
    Ok(found)
}

/// Takes the pole nearest to a place out of the list, if it is within this share
/// of its size.
fn take_nearest(poles: &mut Vec<ClosedPole>, place: Complex, share: f64) -> Option<Complex> {
    let distance = |index: usize| (poles[index].0 - place).norm();
    let nearest = (0..poles.len()).min_by(|&a, &b| distance(a).total_cmp(&distance(b)))?;
    (distance(nearest) <= share * place.norm()).then(|| poles.swap_remove(nearest).0)
}

/// The motions `start` of a loop, followed along further delays, which go on from
/// one to the next in small steps; one row per delay, gaps where a motion is lost.
pub fn along_delay(
    open: &OpenLoop,
    start: &[Motion],
    delays_s: &[f64],
) -> Vec<Vec<Option<Motion>>> {
    let mut places: Vec<Complex> = start.iter().map(|motion| motion.exponent).collect();
    let mut kept = vec![true; places.len()];
    let row = |delay_s: &f64| {
        let settled = settle(&open.later(*delay_s), &mut places, &[], ROUNDS);
        kept.iter_mut().zip(settled).for_each(|(kept, settled)| *kept &= settled);
        let motion = |(&exponent, &kept): (&_, &bool)| kept.then_some(Motion { exponent });
        places.iter().zip(&kept).map(motion).collect()
    };
    delays_s.iter().map(row).collect()
}

/// dζ/dτ of the motion s of a loop: ds/dτ = −D_τ/D_s with D = det(I + L), and a
/// further delay turns L by −s L.
pub fn sensitivity(open: &OpenLoop, s: Complex) -> Option<f64> {
    // Beside the root, where I + L has an inverse; the ratio does not notice.
    let beside = s * Complex::from(1.0 + 1e-9);
    let (gain, slope) = open.with_slope(beside)?;
    let n = gain.matrix.nrows();
    let inverse = (ComplexMatrix::identity(n, n) + &gain.matrix).try_inverse()?;
    let by_s = (&inverse * slope.matrix).trace() + slope.inner;
    let by_t = -(inverse * gain.matrix).trace() * s;
    let speed = -by_t / by_s;
    let size = s.norm();
    let swing = (s.conj() * speed).re / size;
    let change = -speed.re / size + s.re * swing / (size * size);
    change.is_finite().then_some(change)
}

/// Corrects all places together until they stand; says of each whether it does.
fn settle(open: &OpenLoop, places: &mut [Complex], fixed: &[Complex], rounds: usize) -> Vec<bool> {
    let mut settled = vec![false; places.len()];
    for _ in 0..rounds {
        for i in 0..places.len() {
            if settled[i] {
                continue;
            }
            let s = places[i];
            let others = places.iter().chain(fixed).filter(|p| **p != s);
            let apart: Complex = others.map(|p| (s - p).inv()).sum();
            let Some(step) = newton(open, s, apart) else { continue };
            let most = 0.1 * s.norm().max(1e-3);
            let step = if step.norm() > most { step * (most / step.norm()) } else { step };
            places[i] += step;
            settled[i] = step.norm() < 1e-11 * s.norm();
        }
        if settled.iter().all(|done| *done) {
            break;
        }
    }
    // Rounding of a badly conditioned root leaves a trembling that is no doubt.
    for (place, settled) in places.iter().zip(&mut settled).filter(|(_, settled)| !**settled) {
        // A motion that the interface does not see is a pole of the parts and
        // stays one; on it there is no L.
        let on_pole = |pole: &Complex| (pole - *place).norm() < 1e-9 * place.norm();
        *settled = match newton(open, *place, Complex::ZERO) {
            Some(step) => step.norm() < 1e-6 * place.norm(),
            None => open.poles().iter().any(on_pole),
        };
    }
    settled
}

/// Newton's step on det(I + L) times the product over the poles of L.
fn newton(open: &OpenLoop, s: Complex, apart: Complex) -> Option<Complex> {
    let (gain, slope) = open.with_slope(s)?;
    let n = gain.matrix.nrows();
    let Some(inverse) = (ComplexMatrix::identity(n, n) + gain.matrix).try_inverse() else {
        // On the root to the last digit.
        return Some(Complex::ZERO);
    };
    let slope = (inverse * slope.matrix).trace() + slope.inner;
    let step = -(slope + open.pole_slope(s) - apart).inv();
    step.is_finite().then_some(step)
}

/// Whether det(I + L) vanishes, against the size of its terms. A mode that the
/// interface does not see is none of its roots: it is a pole that L has lost.
fn is_root(open: &OpenLoop, s: Complex) -> bool {
    open.at(s).is_some_and(|gain| {
        let n = gain.matrix.nrows();
        let size = (1.0 + gain.matrix.iter().map(|x| x.norm()).fold(0.0, f64::max)).powi(n as i32);
        let value = (ComplexMatrix::identity(n, n) + gain.matrix).determinant() * gain.inner;
        value.norm() < 1e-5 * size
    })
}

fn same(one: Complex, other: Complex) -> bool {
    (one - other).norm() < 1e-6 * other.norm()
}

/// The fastest-growing motion of a loop that has growing ones.
///
/// Along a line Re s = σ the curve counts the motions that grow faster than σ. The
/// line is moved right until none is left, and halved in until one of the roots
/// near it has nothing beyond it.
fn fastest(open: &OpenLoop, curve: &Curve) -> Option<Complex> {
    const MOST: usize = 60;
    let (mut low, mut high) = (curve.clone(), None);
    let mut next = 1e-3 * open.highest_rad_s();
    for _ in 0..MOST {
        let line = Curve::beyond(open, next).ok()?;
        if line.growing == 0 {
            high = Some(next);
        } else {
            low = line;
        }
        if let Some(high) = high {
            for s in near(open, &low) {
                let within = s.re > low.shift_1_s && s.re <= high;
                let beyond = s.re * (1.0 + 1e-6);
                if within && Curve::beyond(open, beyond).ok()?.growing == 0 {
                    return Some(s);
                }
            }
        }
        next = match high {
            None => 4.0 * next,
            // From the axis in decades, then in halves.
            Some(high) if low.shift_1_s < 0.1 * high => 0.1 * high,
            Some(high) => 0.5 * (low.shift_1_s + high),
        };
    }
    None
}

/// The roots of a loop that Newton's rule finds from a line of the curve, from where
/// det(I + L) is smallest on it, the fastest first.
fn near(open: &OpenLoop, line: &Curve) -> Vec<Complex> {
    const MOST: usize = 6;
    let mut found: Vec<Complex> = Vec::new();
    for omega in smallest(line).into_iter().take(MOST) {
        let mut place = [Complex::new(line.shift_1_s, omega)];
        if !settle(open, &mut place, &[], ROUNDS)[0] || !is_root(open, place[0]) {
            continue;
        }
        let s = Complex::new(place[0].re, place[0].im.abs());
        if !found.iter().any(|p| same(*p, s)) {
            found.push(s);
        }
    }
    found.sort_by(|a, b| b.re.total_cmp(&a.re));
    found
}

/// Frequencies at which det(I + L) is smaller than beside them, the smallest first.
fn smallest(curve: &Curve) -> Vec<f64> {
    let near = |index: usize| -> f64 {
        curve.points[index].loci.iter().map(|l| (l + 1.0).norm()).fold(f64::MAX, f64::min)
    };
    let last = curve.points.len().saturating_sub(1);
    let mut starts: Vec<(f64, f64)> = (0..=last)
        .filter(|&i| i == 0 || near(i) <= near(i - 1))
        .filter(|&i| i == last || near(i) < near(i + 1))
        .map(|i| (near(i), curve.points[i].omega_rad_s))
        .collect();
    starts.sort_by(|a, b| a.0.total_cmp(&b.0));
    starts.into_iter().map(|(_, omega)| omega).collect()
}

/// Motions beside the known ones: sought from where det(I + L) is smallest on
/// the axis.
fn others(open: &OpenLoop, curve: &Curve, known: &[Complex]) -> Vec<Motion> {
    const MOST: usize = 12;
    let mut fixed: Vec<Complex> = known.to_vec();
    let mut found = Vec::new();
    for omega in smallest(curve).into_iter().take(MOST) {
        let mut place = [Complex::new(curve.shift_1_s, omega.max(1e-6))];
        if !settle(open, &mut place, &fixed, SEARCH_ROUNDS)[0] {
            continue;
        }
        let s = Complex::new(place[0].re, place[0].im.abs());
        // Around poles at zero all is rounding, and nothing is counted.
        let counts = s.norm() > curve.arc_rad_s && s.im <= open.highest_rad_s() * (1.0 + 1e-9);
        if counts && !fixed.iter().any(|p| same(*p, s)) && is_root(open, s) {
            fixed.push(s);
            found.push(Motion { exponent: s });
        }
    }
    found
}

#[cfg(test)]
mod tests;
