//! The KR-α algorithm.

use nalgebra::DMatrix;
use numerics::block::hstack;
use numerics::gemv::Product;
use numerics::second_order::{SecondOrder, inverted};
use numerics::solve;

use super::stepper::{Acting, Balance, Inertia};
use super::{LinearStep, Options};
use crate::equations::Equations;

/// The KR-α algorithm: explicit in displacement and velocity, unconditionally
/// stable for linear structures, with numerical damping of the high modes set
/// by ρ∞.
///
/// With αm = (2ρ−1)/(ρ+1), αf = ρ/(ρ+1), γ = ½ − αm + αf, β = ¼(½+γ)² and
/// D = M + γh C + βh² K:
///   α1 = D⁻¹M, α2 = (½+γ) α1, α3 = D⁻¹(αm M + αf γh C + αf βh² K)
///   v[k+1] = v[k] + h α1 a[k]
///   x[k+1] = x[k] + h v[k] + h² α2 a[k]
///   M ((I−α3) a[k+1] + α3 a[k]) = −(1−αf) q[k+1] − αf q[k]
/// where q = C v + K x + r − L s + B f is the force left unbalanced.
///
/// The state keeps a[k−1] and q[k−1] behind x and v.
///
/// Reference: Kolay & Ricles 2014, Earthq. Eng. Struct. Dyn. 43(9).
#[derive(Debug, Clone)]
pub(super) struct KolayRicles {
    step_s: f64,
    /// α1, and α2 = `ratio` α1.
    alpha: Product,
    ratio: f64,
    /// a[k] from (q[k], q[k−1], a[k−1]), alone and with the specimen's inertia.
    own: Product,
    with_specimen: Product,
    unbalanced: Balance,
}

impl KolayRicles {
    pub(super) fn new(equations: &Equations, rho: f64, options: &Options) -> Option<Self> {
        let n = equations.size();
        let h = options.step_s;
        let SecondOrder { mass, damping, stiffness } = &equations.steepest().matrices;
        let alpha_m = (2.0 * rho - 1.0) / (rho + 1.0);
        let alpha_f = rho / (rho + 1.0);
        let gamma = 0.5 - alpha_m + alpha_f;
        let beta = 0.25 * (0.5 + gamma) * (0.5 + gamma);
        let inverse = inverted(&(mass + gamma * h * damping + beta * h * h * stiffness))?;
        let alpha1 = &inverse * mass;
        let alpha3 = &inverse
            * (alpha_m * mass + alpha_f * gamma * h * damping + alpha_f * beta * h * h * stiffness);
        let weighted = mass * (DMatrix::identity(n, n) - &alpha3);
        let row = |left: DMatrix<f64>| -> Option<Product> {
            let inverse = solve::inverse(&left)?;
            Some(Product::new(&hstack(&[
                &(-(1.0 - alpha_f) * &inverse),
                &(-alpha_f * &inverse),
                &(-&inverse * mass * &alpha3),
            ])))
        };
        let own = row(weighted.clone())?;
        let with_specimen = match &options.direct_inertia {
            Some(direct) => {
                let b = equations.interface_matrix();
                row(weighted + (1.0 - alpha_f) * &b * direct * b.transpose())?
            }
            None => own.clone(),
        };
        Some(Self {
            step_s: h,
            alpha: Product::new(&alpha1),
            ratio: 0.5 + gamma,
            own,
            with_specimen,
            unbalanced: Balance::new(equations, &-DMatrix::identity(n, n)),
        })
    }

    /// The velocity of this algorithm is second order at t − γh.
    pub(super) fn velocity_lag_s(&self) -> f64 {
        (self.ratio - 0.5) * self.step_s
    }

    /// A consistent past: as if the first instant had lasted for ever.
    pub(super) fn start(&mut self, state: &mut [f64], now: Acting<'_>, balance: &mut Balance) {
        let n = state.len() / 4;
        let (motion, past) = state.split_at_mut(2 * n);
        past[..n].copy_from_slice(balance.evaluate(motion, now));
        past[n..].copy_from_slice(self.unbalanced.evaluate(motion, now));
    }

    /// q[k−1] from x, v, a[k−1] and f[k−1], without load:
    ///   v[k−1] = v − h α1 a[k−1],  x[k−1] = x − h v[k−1] − h² α2 a[k−1]
    pub(super) fn unbalanced_before(&self, step: &LinearStep) -> DMatrix<f64> {
        let (h, alpha1) = (self.step_s, self.alpha.matrix());
        let n = alpha1.rows();
        // q[k] = K x + C v + B f.
        let now = step.transition.rows(3 * n, n);
        let (stiffness, damping) = (now.columns(0, n), now.columns(n, n));
        let of_velocity = damping - h * stiffness;
        let of_acceleration = h * h * (1.0 - self.ratio) * stiffness - h * damping;
        hstack(&[
            &stiffness.into_owned(),
            &of_velocity,
            &(of_acceleration * alpha1.columns_of(0..n)),
            &step.force.rows(3 * n, n).into_owned(),
        ])
    }

    pub(super) fn accelerate(
        &mut self,
        state: &[f64],
        now: Acting<'_>,
        inertia: Inertia,
    ) -> &[f64] {
        let n = state.len() / 4;
        let (motion, past) = state.split_at(2 * n);
        let unbalanced = self.unbalanced.evaluate(motion, now);
        let product = match inertia {
            Inertia::Own => &mut self.own,
            Inertia::WithSpecimen => &mut self.with_specimen,
        };
        product.of([unbalanced, &past[n..], &past[..n]])
    }

    pub(super) fn advance(&mut self, state: &mut [f64], now: Acting<'_>) {
        let (n, h) = (state.len() / 4, self.step_s);
        let (motion, past) = state.split_at_mut(2 * n);
        let unbalanced = self.unbalanced.evaluate(motion, now);
        let acceleration = self.own.of([unbalanced, &past[n..], &past[..n]]);
        past[..n].copy_from_slice(acceleration);
        past[n..].copy_from_slice(unbalanced);
        let (x, v) = motion.split_at_mut(n);
        for ((x, v), a) in x.iter_mut().zip(v).zip(self.alpha.of([acceleration])) {
            *x += h * *v + h * h * self.ratio * a;
            *v += h * a;
        }
    }
}
