//! Copies of a few numbers.

/// `to.copy_from_slice(from)` for the handful of numbers an interface or a
/// small state has: moved in registers instead of by a call to the system's
/// `memcpy`, which costs more than it moves. The lengths must be equal.
#[inline(always)]
pub fn copy(to: &mut [f64], from: &[f64]) {
    match (to, from) {
        ([], []) => {}
        ([a], [x]) => *a = *x,
        ([a, b], [x, y]) => (*a, *b) = (*x, *y),
        ([a, b, c], [x, y, z]) => (*a, *b, *c) = (*x, *y, *z),
        (to, from) if (4..=16).contains(&to.len()) && to.len() == from.len() => fours(to, from),
        (to, from) => to.copy_from_slice(from),
    }
}

/// Four at a time, for four numbers or more; the last four overlap what is
/// already there.
#[inline(always)]
fn fours(to: &mut [f64], from: &[f64]) {
    for (to, from) in to.as_chunks_mut::<4>().0.iter_mut().zip(from.as_chunks::<4>().0) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<4>(), from.last_chunk::<4>()) {
        *to = *from;
    }
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
