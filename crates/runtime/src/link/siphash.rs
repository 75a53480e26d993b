//! A short keyed checksum, small enough for any microcontroller.

/// SipHash-2-4 of `message` under `key`.
///
/// Reference: Aumasson & Bernstein 2012, "SipHash: a fast short-input PRF". A
/// tag of 64 bits that cannot be made without the key. It needs no library on a
/// laboratory's target, which is why it was preferred to an HMAC.
pub fn siphash_2_4(key: &[u8; 16], message: &[u8]) -> u64 {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let (k0, k1) = (word(&key[..8]), word(&key[8..]));
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let mut take = |m: u64, rounds: usize| {
        v[3] ^= m;
        (0..rounds).for_each(|_| round(&mut v));
        v[0] ^= m;
    };
    let chunks = message.chunks_exact(8);
    let rest = chunks.remainder();
    chunks.for_each(|chunk| take(word(chunk), 2));
    take(word(rest) | (message.len() as u64) << 56, 2);
    v[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_example() {
        let key: Vec<u8> = (0..16).collect();
        let message: Vec<u8> = (0..15).collect();
        let tag = siphash_2_4(key.as_slice().try_into().unwrap(), &message);
        assert_eq!(tag, 0xa129_ca61_49be_45e5);
    }
}
