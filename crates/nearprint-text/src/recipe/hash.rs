//! Hash functions of features: bytes to one, two or four 64-bit words, the most significant first.

use md5::{Digest, Md5};
use xxhash_rust::xxh3;

/// The high and the low half of a 128-bit number.
const fn halves(value: u128) -> [u64; 2] {
    #[expect(clippy::cast_possible_truncation, reason = "takes the low half")]
    let low = value as u64;
    [(value >> 64) as u64, low]
}

/// XXH3, 64 bits, seed 0.
pub(super) fn xxh3_64(bytes: &[u8]) -> [u64; 1] {
    [xxh3::xxh3_64(bytes)]
}

/// XXH3, 128 bits, seed 0.
pub(super) fn xxh3_128(bytes: &[u8]) -> [u64; 2] {
    halves(xxh3::xxh3_128(bytes))
}

/// XXH3, 128 bits with seed 0 in the high half, and 128 bits with seed 1 in the low half.
pub(super) fn xxh3_256(bytes: &[u8]) -> [u64; 4] {
    let [first, second] = xxh3_128(bytes);
    let [third, fourth] = halves(xxh3::xxh3_128_with_seed(bytes, 1));
    [first, second, third, fourth]
}

/// MD5 as a number; the first byte of the digest is the most significant.
pub(super) fn md5_128(bytes: &[u8]) -> [u64; 2] {
    halves(u128::from_be_bytes(Md5::digest(bytes).into()))
}

/// The high 64 bits of MD5.
pub(super) fn md5_be64(bytes: &[u8]) -> [u64; 1] {
    let [high, _] = md5_128(bytes);
    [high]
}

/// The low 64 bits of MD5.
pub(super) fn md5_low64(bytes: &[u8]) -> [u64; 1] {
    let [_, low] = md5_128(bytes);
    [low]
}

/// [`jenkins`] as a word.
pub(super) fn jenkins_64(bytes: &[u8]) -> [u64; 1] {
    [jenkins(bytes)]
}

/// The 64-bit hash of simhash-cpp before 0.2: both results of [`hashlittle2`] with seeds 0, the
/// first one in the high half.
#[must_use]
pub fn jenkins(bytes: &[u8]) -> u64 {
    let (c, b) = hashlittle2(bytes, 0, 0);
    u64::from(c) << 32 | u64::from(b)
}

/// Bob Jenkins' lookup3 (2006, public domain): two 32-bit hashes from two seeds, which the original
/// calls `pc` and `pb`.
///
/// ```
/// use nearprint_text::recipe::hashlittle2;
/// assert_eq!(hashlittle2(b"Four score and seven years ago", 0, 0), (0x1777_0551, 0xce72_26e6));
/// assert_eq!(hashlittle2(b"", 0, 0), (0xdead_beef, 0xdead_beef));
/// ```
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "lookup3 adds the length modulo 2^32")]
pub fn hashlittle2(bytes: &[u8], pc: u32, pb: u32) -> (u32, u32) {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(pc);
    let mut state = [start, start, start.wrapping_add(pb)];
    let mut rest = bytes;
    while rest.len() > 12 {
        let (chunk, more) = rest.split_at(12);
        state = mix(plus(state, chunk));
        rest = more;
    }
    // Only an empty input has no rest: the loop leaves the last 1 to 12 bytes.
    if !rest.is_empty() {
        state = finish(plus(state, rest));
    }
    (state[2], state[1])
}

/// Adds up to twelve bytes, as three little-endian words padded with zeros.
fn plus(mut state: [u32; 3], bytes: &[u8]) -> [u32; 3] {
    for (word, chunk) in state.iter_mut().zip(bytes.chunks(4)) {
        let mut whole = [0; 4];
        whole[..chunk.len()].copy_from_slice(chunk);
        *word = word.wrapping_add(u32::from_le_bytes(whole));
    }
    state
}

/// Lookup3's reversible mixing between blocks.
fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    for (first, second, third) in [(4, 6, 8), (16, 19, 4)] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(third);
        b = b.wrapping_add(a);
    }
    [a, b, c]
}

/// Lookup3's last mixing.
fn finish([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    [a, b, c]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md5_and_xxh3_are_the_published_ones() {
        // RFC 1321, appendix A.5; the XXH3 values for empty input from the reference
        // implementation.
        assert_eq!(md5_128(b"abc"), [0x9001_5098_3cd2_4fb0, 0xd696_3f7d_28e1_7f72]);
        assert_eq!(md5_be64(b"abc"), [0x9001_5098_3cd2_4fb0]);
        assert_eq!(md5_low64(b"abc"), [0xd696_3f7d_28e1_7f72]);
        assert_eq!(xxh3_64(b""), [0x2d06_8005_38d3_94c2]);
        assert_eq!(xxh3_128(b""), [0x99aa_06d3_0147_98d8, 0x6001_c324_468d_497f]);
    }

    #[test]
    fn the_halves_of_256_bits_differ() {
        let [a, b, c, d] = xxh3_256(b"word");
        assert_eq!([a, b], xxh3_128(b"word"));
        assert_ne!([a, b], [c, d]);
    }
}
