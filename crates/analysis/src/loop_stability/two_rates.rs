//! A loop at two rates: the main loop steps once in R ticks, so the loop is one
//! linear map from period to period.
//!
//! The parts are those of every loop, and so is their wiring; here they are stepped
//! in matrix form through the ticks of one period. Eigenvalues of that map are what
//! a period multiplies each motion by.

use std::f64::consts::{PI, TAU};

use model::integrator::Integrator;
use model::predictor::{Predictor, Surroundings};
use model::rates::{MainLoopForm, Rates};
use nalgebra::DVector;
use numerics::block::{hstack, vstack};
use numerics::eigen;
use numerics::krylov::{self, Search};
use numerics::linear_system::{LinearSystem, Time};
use numerics::sparse::SparseMatrix;
use numerics::{Complex, ComplexMatrix, Matrix};

use super::modes::{LoopMode, MOST_MODES, Motion, TrueMode};
use super::nyquist::NEUTRAL;
use super::{
    Curve, LoopDescription, LoopError, Margins, OpenLoop, last_before_loss, margins, parts,
};

/// Up to this many states all eigenvalues are found; above, only the largest.
const AT_ONCE: usize = 400;
/// Most directions of the search for those.
const MOST_DIRECTIONS: usize = 400;
/// The largest further delay that is tried.
const MOST_DELAY_TICKS: usize = 256;
/// A mode is found in the loop where it moves by less than this part of its size.
const NEAR: f64 = 0.3;
/// Most states of a loop whose gain is followed over the frequencies, and most shapes of its force.
const MOST_DRAWN: usize = 200;
const MOST_SHAPES: usize = 40;
/// Shapes of the force that the main loop takes less of than this part of the most are none.
const UNSEEN: f64 = 1e-10;
/// Most states of the map over a period.
const MOST: usize = 6000;

/// A loop at two rates, ready to be judged.
#[derive(Debug, Clone)]
pub struct TwoRateLoop<'a> {
    description: &'a LoopDescription,
    rates: &'a Rates,
    main: MainLoopForm,
    /// Of a rig that follows at once: what its force has of the acceleration.
    direct: Option<Matrix>,
}

impl<'a> TwoRateLoop<'a> {
    /// Joins the parts. The integrator of `description` is that of the tick.
    pub fn new(description: &'a LoopDescription, rates: &'a Rates) -> Result<Self, LoopError> {
        let LoopDescription { numerical, specimen, integrator, .. } = description;
        super::open_loop::check(description)?;
        parts::check_size(numerical.state_count())?;
        let (stepped, options) = rates.stepped(numerical, integrator);
        let stepper = Integrator::new(&stepped, &options)?;
        let surroundings = Surroundings { numerical, specimen };
        // Points for bridging are of no use where every batch comes in time.
        let in_time = Rates { bridge: 0, ..*rates };
        let grid = in_time.grid(integrator.step_s);
        let predictor = Predictor::new(&rates.predictor, grid, specimen.count(), &surroundings)?;
        let main = in_time.linear_form(&stepper, &predictor, integrator.step_s);
        let (main, direct) =
            (main.ok_or(LoopError::NotLinear)?, parts::direct_inertia(description));
        Ok(Self { description, rates, main, direct })
    }

    /// The number of growing motions, a pair counted twice, and the motion that
    /// decays slowest or grows fastest; rigid motions left out.
    pub fn dominant(&self) -> Result<(usize, Option<Motion>), LoopError> {
        let period = Period::new(self, 0)?;
        let spectrum = period.spectrum()?;
        let (growing, slowest) = self.judged(&spectrum);
        Ok((growing, slowest.map(|index| self.motion(index, &spectrum, &period))))
    }

    /// The loop cut where the main loop takes the force in, from period to period: each
    /// eigenvalue of L is what comes back of one shape that the force may have over a period,
    /// so a factor or an angle on L is one on every sample of the force. `None` of a loop with
    /// too many states for a curve.
    pub fn open_loop(&self) -> Result<Option<OpenLoop>, LoopError> {
        let period = Period::new(self, 0)?;
        if period.size > MOST_DRAWN {
            return Ok(None);
        }
        period.cut()?.map(OpenLoop::whole).transpose()
    }

    /// Margins of gain and phase; see [`open_loop`](Self::open_loop).
    pub fn margins(open: &OpenLoop, curve: &Curve) -> Result<Margins, LoopError> {
        margins::without_delay(open, curve)
    }

    /// What becomes of the modes of the structure with the force later by some ticks: of each
    /// the motion that is nearest to it from period to period, where one is near. None of a loop
    /// whose motions are not all found.
    pub fn follow(&self, truth: &[TrueMode], later: usize) -> Result<Vec<LoopMode>, LoopError> {
        let mut left = match Period::new(self, later)? {
            period if period.size <= AT_ONCE => period.spectrum()?.values,
            _ => return Ok(Vec::new()),
        };
        let period_s = self.period_s();
        let followed = truth.iter().take(MOST_MODES).map(|&truth| {
            let s = truth.motion.exponent;
            let change = |value: &Complex| (value / (s * period_s).exp()).ln() / period_s;
            let size = |value: &Complex| change(value).norm();
            let nearest =
                (0..left.len()).min_by(|&a, &b| size(&left[a]).total_cmp(&size(&left[b])));
            // A frequency is known up to whole turns in a period: a motion far off is another.
            let near = (NEAR * s.norm()).min(0.5 * PI / period_s);
            let found = nearest.filter(|&index| size(&left[index]) < near);
            let in_loop = found.map(|index| {
                let exponent = s + change(&left.swap_remove(index));
                Motion { exponent: Complex::new(exponent.re, exponent.im.abs()) }
            });
            LoopMode { truth, in_loop, sensitivity_1_s: None }
        });
        Ok(followed.collect())
    }

    /// The number of whole ticks by which the force may come later before the loop loses
    /// its stability; `None` if it keeps it up to [`MOST_DELAY_TICKS`], or so many states
    /// cannot be judged.
    pub fn delay_margin_ticks(&self) -> Result<Option<usize>, LoopError> {
        let stable = |ticks: usize| {
            let spectrum = Period::new(self, ticks)?.spectrum()?;
            Ok(self.judged(&spectrum).0 == 0)
        };
        match last_before_loss(0, MOST_DELAY_TICKS, stable) {
            Ok(MOST_DELAY_TICKS) | Err(LoopError::TooLarge { .. }) => Ok(None),
            ticks => Ok(Some(ticks?)),
        }
    }

    fn period_s(&self) -> f64 {
        self.rates.ratio as f64 * self.description.integrator.step_s
    }

    /// Growing motions, and the number of the slowest.
    fn judged(&self, spectrum: &Spectrum) -> (usize, Option<usize>) {
        let (period_s, zero) = (self.period_s(), 1e-6 * PI / self.description.integrator.step_s);
        let exponents = spectrum.values.iter().map(|value| value.ln() / period_s);
        let moving: Vec<_> = exponents.enumerate().filter(|(_, s)| s.norm() > zero).collect();
        let grows = |s: &Complex| s.re > NEUTRAL * s.norm().max(1.0 / period_s);
        let growing = moving.iter().filter(|(_, s)| grows(s)).count();
        (growing, moving.first().map(|(index, _)| *index))
    }

    /// An eigenvalue tells a frequency only up to whole turns in a period: of those,
    /// the one at which the desired motion within the period is largest.
    fn motion(&self, index: usize, spectrum: &Spectrum, period: &Period) -> Motion {
        let (ratio, period_s) = (self.rates.ratio, self.period_s());
        let s = spectrum.values[index].ln() / period_s;
        let shape = spectrum.shape(index);
        let parts = [shape.map(|x| x.re), shape.map(|x| x.im)];
        let seen = period.pass(&Matrix::from_columns(&parts), None).desired;
        let within = |turns: i64| {
            let s = s + Complex::new(0.0, TAU * turns as f64 / period_s);
            let per_tick = -s * period_s / ratio as f64;
            let mut sum = DVector::zeros(seen[0].nrows());
            for (tick, x) in seen.iter().enumerate() {
                let turned = (per_tick * tick as f64).exp();
                sum +=
                    DVector::from_fn(x.nrows(), |i, _| Complex::new(x[(i, 0)], x[(i, 1)]) * turned);
            }
            sum.norm()
        };
        // Up to half the rate of the tick, to both sides.
        let highest = PI * ratio as f64 / period_s * (1.0 + 1e-9);
        let seen_by_ticks = |turns: &i64| (s.im + TAU * *turns as f64 / period_s).abs() <= highest;
        let turns = (-(ratio as i64 / 2)..=ratio as i64 / 2).filter(seen_by_ticks);
        let most = turns.max_by(|a, b| within(*a).total_cmp(&within(*b))).unwrap_or(0);
        let turned = s.im + TAU * most as f64 / period_s;
        Motion { exponent: Complex::new(s.re, turned.abs()) }
    }
}

/// The parts of a loop, ready to be stepped through a period.
struct Period<'a> {
    of: &'a TwoRateLoop<'a>,
    /// What follows the main loop, in an ordinary tick and in one that begins a new
    /// prediction.
    plain: Stepped,
    news: Stepped,
    /// Of the last batch, what is still used before the next one's time.
    carried: usize,
    size: usize,
}

/// Eigenvalues of a map over a period, largest first.
struct Spectrum {
    values: Vec<Complex>,
    shapes: Shapes,
}

/// Where their eigenvectors come from.
enum Shapes {
    Of(Matrix),
    Found(ComplexMatrix),
}

impl Spectrum {
    fn shape(&self, index: usize) -> DVector<Complex> {
        let map = match &self.shapes {
            Shapes::Of(map) => map,
            Shapes::Found(vectors) => return vectors.column(index).into_owned(),
        };
        // By inverse iteration, shifted by 1e-10 of the eigenvalue.
        let n = map.nrows();
        let beside = self.values[index] * (1.0 + 1e-10) + 1e-14;
        let lu = (map.map(Complex::from) - ComplexMatrix::identity(n, n) * beside).lu();
        let mut shape = DVector::from_fn(n, |i, _| Complex::new(1.0, (i as f64).sin()));
        for _ in 0..2 {
            match lu.solve(&shape).map(|next| next.normalize()) {
                Some(next) if next.iter().all(|x| x.norm().is_finite()) => shape = next,
                _ => break,
            }
        }
        shape
    }
}

/// A linear system, most of whose numbers are zero.
struct Stepped {
    a: SparseMatrix,
    b: SparseMatrix,
    c: SparseMatrix,
    d: SparseMatrix,
}

impl Stepped {
    fn new(system: &LinearSystem) -> Result<Self, LoopError> {
        let LinearSystem { a, b, c, d, .. } = system.expanded();
        let sparse = |m: &Matrix| SparseMatrix::from_dense(m).map_err(|_| LoopError::Algebraic);
        Ok(Self { a: sparse(&a)?, b: sparse(&b)?, c: sparse(&c)?, d: sparse(&d)? })
    }

    fn advance(&self, state: &Matrix, inputs: &[&Matrix]) -> Matrix {
        self.a.times(state) + self.b.times(&vstack(inputs))
    }
}

/// What a period makes of its start.
struct Passed {
    /// The states at its end.
    end: Matrix,
    /// The desired displacement at every tick.
    desired: Vec<Matrix>,
    /// The force of every tick.
    forces: Matrix,
}

impl<'a> Period<'a> {
    /// With the force later by some ticks.
    fn new(of: &'a TwoRateLoop<'a>, later: usize) -> Result<Self, LoopError> {
        let mut description = of.description.clone();
        description.force_delay += later;
        let LoopDescription { compensator, shaping, integrator, specimen, .. } = &description;
        let count = specimen.count();
        let forms = compensator.predicted_forms(shaping, integrator.step_s, count)?;
        let [plain, news] = forms.ok_or(LoopError::Adaptive)?;
        let plain = parts::behind(&description, plain)?;
        let news = parts::behind(&description, news)?;
        let carried = 3 * count * of.rates.task_ticks.saturating_sub(1);
        let size = plain.expanded_states() + of.main.step.states() + carried;
        if size > MOST {
            return Err(LoopError::TooLarge { states: size, most: MOST });
        }
        Ok(Self { of, plain: Stepped::new(&plain)?, news: Stepped::new(&news)?, carried, size })
    }

    /// All of small loops; of large ones what grows, or the slowest motion.
    fn spectrum(&self) -> Result<Spectrum, LoopError> {
        if self.size > AT_ONCE {
            let search = Search { beyond: 1.0, block: 1, most: MOST_DIRECTIONS };
            let found = krylov::largest(self.size, search, |x| self.pass(x, None).end)?;
            let found = found.ok_or(LoopError::NotSettled)?;
            return Ok(Spectrum { values: found.0, shapes: Shapes::Found(found.1) });
        }
        let map = self.pass(&Matrix::identity(self.size, self.size), None).end;
        let mut values = eigen::eigenvalues(&map)?;
        values.sort_by(|a, b| b.norm().total_cmp(&a.norm()));
        Ok(Spectrum { values, shapes: Shapes::Of(map) })
    }

    /// From what the main loop takes of the force over a period to what comes back; `None` where
    /// it takes nothing, or too many shapes of it.
    fn cut(&self) -> Result<Option<LinearSystem>, LoopError> {
        let step = &self.of.main.step;
        let decomposed = step.b.clone().svd(true, true);
        let (Some(into), Some(of)) = (decomposed.u, decomposed.v_t) else {
            return Err(LoopError::Algebraic);
        };
        let sizes = &decomposed.singular_values;
        let shapes = sizes.iter().filter(|size| **size > UNSEEN * sizes.amax()).count();
        if shapes == 0 || shapes > MOST_SHAPES {
            return Ok(None);
        }
        let of = Matrix::from_diagonal(&sizes.rows(0, shapes)) * of.rows(0, shapes);
        let (size, main) = (self.size, step.states());
        let start = hstack(&[&Matrix::identity(size, size), &Matrix::zeros(size, shapes)]);
        let into = into.columns(0, shapes).into_owned();
        let fed = hstack(&[&Matrix::zeros(main, size), &into]);
        let passed = self.pass(&start, Some(&fed));
        let [a, b] = [(0, size), (size, shapes)]
            .map(|(from, width)| passed.end.columns(from, width).into_owned());
        let c = of * passed.forces.columns(0, size);
        let d = Matrix::zeros(shapes, shapes);
        let time = Time::Step(self.of.period_s());
        Ok(Some(LinearSystem::new(a, b, c, d, time)))
    }

    /// Steps all parts through one period, from the end of one step of the main loop
    /// to the end of the next. The columns of `start` are as many cases; `fed` is what the main
    /// loop is given in the place of the force.
    fn pass(&self, start: &Matrix, fed: Option<&Matrix>) -> Passed {
        let TwoRateLoop { main: form, rates, .. } = self.of;
        let Rates { ratio, task_ticks: task, .. } = **rates;
        let (rest_states, main_states) = (self.plain.a.rows(), form.step.states());
        let count = self.plain.c.rows();
        let motion = 3 * count;
        let rows = |m: &Matrix, from: usize, rows: usize| m.rows(from, rows).into_owned();
        let point = |batch: &Matrix, index: usize| rows(batch, index * motion, motion);
        let mut rest = rows(start, 0, rest_states);
        let mut main = rows(start, rest_states, main_states);
        let last_batch = rows(start, rest_states + main_states, self.carried);
        let mut kept = last_batch.clone();
        let mut batch = &form.points * &main;
        let mut forces = Matrix::zeros(ratio * count, start.ncols());
        let mut desired = Vec::with_capacity(ratio);
        // Without task time a tick measures with the point of the one before.
        let mut wanted = point(&batch, 1);
        for tick in 1..=ratio {
            let mut earlier = None;
            if task > 0 {
                wanted = match tick.checked_sub(task) {
                    Some(since) => point(&batch, since + 1),
                    None => point(&last_batch, tick - 1),
                };
                earlier = (tick == task).then(|| point(&batch, 0));
            }
            let ahead = rows(&wanted, 0, 2 * count);
            let mut force = self.plain.c.times(&rest);
            force += self.plain.d.times(&vstack(&[&ahead, &wanted]));
            if let Some(direct) = &self.of.direct {
                force += direct * wanted.rows(2 * count, count);
            }
            forces.rows_mut((tick - 1) * count, count).copy_from(&force);
            if tick == ratio {
                main = &form.step.a * &main;
                match fed {
                    Some(fed) => main += fed,
                    None => main += &form.step.b * &forces,
                }
                kept = rows(&batch, (ratio + 1) * motion - self.carried, self.carried);
                batch = &form.points * &main;
            }
            if task == 0 {
                let since = tick % ratio;
                wanted = point(&batch, since + 1);
                earlier = (since == 0).then(|| point(&batch, 0));
            }
            desired.push(rows(&wanted, 0, count));
            rest = match earlier {
                Some(earlier) => {
                    let acceleration = rows(&earlier, 2 * count, count);
                    self.news.advance(&rest, &[&ahead, &wanted, &acceleration])
                }
                None => self.plain.advance(&rest, &[&ahead, &wanted]),
            };
        }
        Passed { end: vstack(&[&rest, &main, &kept]), desired, forces }
    }
}
