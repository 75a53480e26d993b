//! Kernels compiled for 256-bit vectors as well.

/// Makes `$wide` out of `$plain`, a function that is always inlined: the same,
/// compiled for AVX2. It never fuses multiply and add, so the bits are the same.
/// To be called only where the processor has been seen to have AVX2.
macro_rules! for_avx2 {
    ($wide:ident $(<const $n:ident>)?, $plain:ident($($arg:ident: $type:ty),*)) => {
        #[cfg(target_arch = "x86_64")]
        fn $wide $(<const $n: usize>)? ($($arg: $type),*) {
            #[target_feature(enable = "avx2")]
            fn compiled $(<const $n: usize>)? ($($arg: $type),*) {
                $plain $(::<$n>)? ($($arg),*);
            }
            // SAFETY: the caller has seen AVX2.
            unsafe { compiled $(::<$n>)? ($($arg),*) }
        }
    };
}

pub(crate) use for_avx2;
