//! Sums of products of two signals at many lags, in one pass over them.

/// Lags that are summed side by side, in registers.
const WIDTH: usize = 28;
/// Samples of one block: its part of both signals stays in the first cache
/// while every lag passes over it.
const BLOCK: usize = 1024;

/// out\[k\] = Σᵢ x\[i\] y\[i + k\], over every i for which both exist.
///
/// The lags lie side by side in the vector registers and every sum runs over i
/// in one fixed order, so wide and narrow instructions give the same bits.
pub fn lagged_products(x: &[f64], y: &[f64], out: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        return wide::lagged_products(x, y, out);
    }
    narrow(x, y, out);
}

fn narrow(x: &[f64], y: &[f64], out: &mut [f64]) {
    blockwise(x, y, out, products);
}

/// Block by block, each by `products`.
#[inline(always)]
fn blockwise(
    x: &[f64],
    y: &[f64],
    out: &mut [f64],
    products: impl Fn(&[f64], &[f64]) -> [f64; WIDTH],
) {
    out.fill(0.0);
    // Up to here the longest lag of every group of lags finds its sample.
    let whole = x.len().min((y.len() + 1).saturating_sub(out.len().next_multiple_of(WIDTH)));
    for start in (0..whole).step_by(BLOCK) {
        let end = (start + BLOCK).min(whole);
        for (group, sums) in out.chunks_mut(WIDTH).enumerate() {
            let lag = group * WIDTH;
            let block = products(&x[start..end], &y[start + lag..end + lag + WIDTH - 1]);
            for (sum, block) in sums.iter_mut().zip(block) {
                *sum += block;
            }
        }
    }
    for (lag, sum) in out.iter_mut().enumerate() {
        let late = y.get(whole + lag..).unwrap_or_default();
        *sum += x[whole..].iter().zip(late).map(|(x, y)| x * y).sum::<f64>();
    }
}

/// The sums of [`WIDTH`] lags over one block; `y` is that much longer.
#[inline(always)]
fn products(x: &[f64], y: &[f64]) -> [f64; WIDTH] {
    let mut sums = [0.0; WIDTH];
    for (x, y) in x.iter().zip(y.windows(WIDTH)) {
        for lag in 0..WIDTH {
            sums[lag] += x * y[lag];
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        _mm256_add_pd, _mm256_loadu_pd, _mm256_mul_pd, _mm256_set1_pd, _mm256_setzero_pd,
        _mm256_storeu_pd,
    };

    use super::WIDTH;

    /// The same sums in 256-bit vectors.
    pub(super) fn lagged_products(x: &[f64], y: &[f64], out: &mut [f64]) {
        // SAFETY: the caller has seen AVX2.
        super::blockwise(x, y, out, |x, y| unsafe { products(x, y) });
    }

    /// Written out, because the compiler left to itself takes the sums apart and
    /// puts them together again at every sample.
    #[target_feature(enable = "avx2")]
    fn products(x: &[f64], y: &[f64]) -> [f64; WIDTH] {
        let mut sums = [_mm256_setzero_pd(); WIDTH / 4];
        for (x, y) in x.iter().zip(y.windows(WIDTH)) {
            let Some(y) = y.first_chunk::<WIDTH>() else { break };
            let x = _mm256_set1_pd(*x);
            for (group, sum) in sums.iter_mut().enumerate() {
                // SAFETY: four numbers from 4 × group on lie within the row.
                let y = unsafe { _mm256_loadu_pd(y.as_ptr().add(4 * group)) };
                *sum = _mm256_add_pd(*sum, _mm256_mul_pd(x, y));
            }
        }
        let mut out = [0.0; WIDTH];
        for (sum, out) in sums.iter().zip(out.as_chunks_mut::<4>().0) {
            // SAFETY: there is room for four numbers.
            unsafe { _mm256_storeu_pd(out.as_mut_ptr(), *sum) };
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn noise(length: usize, name: &str) -> Vec<f64> {
        let mut stream = Stream::new(5, name);
        (0..length).map(|_| stream.normal()).collect()
    }

    #[test]
    fn every_length_agrees_with_the_definition() {
        for (n, m, lags) in
            [(0, 0, 3), (1, 1, 1), (5, 9, 4), (40, 40, 50), (3000, 3000, 50), (2100, 2500, 17)]
        {
            let (x, y) = (noise(n, "x"), noise(m, "y"));
            let mut found = vec![f64::NAN; lags];
            lagged_products(&x, &y, &mut found);
            for (lag, found) in found.iter().enumerate() {
                let pairs = x.iter().zip(y.get(lag..).unwrap_or_default());
                let exact: f64 = pairs.map(|(x, y)| x * y).sum();
                assert!((found - exact).abs() < 1e-11, "{n} {m} lag {lag}: {found}, not {exact}");
            }
        }
    }

    #[test]
    fn the_wide_sums_have_the_bits_of_the_narrow_ones() {
        let (x, y) = (noise(5000, "x"), noise(5000, "y"));
        let (mut dispatched, mut plain) = (vec![0.0; 50], vec![0.0; 50]);
        lagged_products(&x, &y, &mut dispatched);
        narrow(&x, &y, &mut plain);
        assert_eq!(dispatched, plain);
    }
}
