//! Kernels compiled for 256-bit vectors as well.

/// Makes `$name` out of `$plain`, a function that is always inlined: the same,
/// compiled for AVX2 where the processor has it. It never fuses multiply and add, so
/// the bits are the same.
macro_rules! for_avx2 {
    ($(#[$doc:meta])* $visible:vis fn $name:ident $(<const $n:ident>)?
        = $plain:ident($($arg:ident: $type:ty),*)) => {
        $(#[$doc])*
        $visible fn $name $(<const $n: usize>)? ($($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                #[target_feature(enable = "avx2")]
                fn compiled $(<const $n: usize>)? ($($arg: $type),*) {
                    $plain $(::<_, $n>)? ($($arg),*);
                }
                // SAFETY: the processor has just been seen to have AVX2.
                return unsafe { compiled $(::<$n>)? ($($arg),*) };
            }
            $plain $(::<_, $n>)? ($($arg),*);
        }
    };
}

pub(crate) use for_avx2;
