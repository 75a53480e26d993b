//! Copies and products of a few numbers.

/// `to.copy_from_slice(from)` for the handful of numbers an interface or a
/// small state has: moved in registers instead of by a call to the system's
/// `memcpy`, which costs more than it moves. The lengths must be equal.
#[inline(always)]
pub fn copy<T: Copy>(to: &mut [T], from: &[T]) {
    // One interface DOF, one load signal: the usual case comes first.
    if let ([to], [from]) = (&mut *to, from) {
        *to = *from;
        return;
    }
    match (to.len(), from.len()) {
        (2..=4, n) if n == to.len() => overlapping::<T, 2>(to, from),
        (5..=8, n) if n == to.len() => overlapping::<T, 4>(to, from),
        (9..=16, n) if n == to.len() => overlapping::<T, 8>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// Copies N to 2N numbers as the first N and the last N, which may overlap: two
/// moves of fixed size and no loop.
#[inline(always)]
fn overlapping<T: Copy, const N: usize>(to: &mut [T], from: &[T]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        *to = *from;
    }
}

/// Σ aᵢ bᵢ over the shorter of the two.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_length_is_copied_whole() {
        for n in 0..40 {
            let from: Vec<f64> = (0..n).map(f64::from).collect();
            let mut to = vec![f64::NAN; from.len()];
            copy(&mut to, &from);
            assert_eq!(to, from);
        }
    }

    #[test]
    #[should_panic(expected = "length")]
    fn unequal_lengths_are_refused() {
        copy(&mut [0.0; 2], &[1.0; 3]);
    }
}
