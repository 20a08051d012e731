//! The filter for NEON: 8 words per step. Every 64-bit Arm processor has NEON.

use std::arch::aarch64::{
    uint32x4_t, vcleq_u32, vcntq_u8, vcombine_u16, vdupq_n_u32, veorq_u32, vget_lane_u64, vld1q_u32,
    vmovn_u16, vmovn_u32, vpaddlq_u8, vpaddlq_u16, vreinterpret_u64_u8, vreinterpretq_u8_u32,
};
use std::arch::asm;

use super::scalar;

/// Proof that the processor has NEON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neon(());

impl Neon {
    pub(super) fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }

    #[inline]
    pub(super) fn filter(self, words: &[u32], query: u32, radius: u32, passed: &mut Vec<u32>) {
        // SAFETY: only `detect` makes this witness, so the processor has NEON.
        unsafe { filter_neon(words, query, radius, passed) }
    }
}

/// Fetches the cache line at an address into the second level of the cache, as on x86-64.
#[inline]
pub(super) fn prefetch(address: *const u8) {
    // SAFETY: a prefetch is a hint. It never faults, whatever the address, and changes no register.
    unsafe { asm!("prfm pldl2keep, [{}]", in(reg) address, options(readonly, nostack, preserves_flags)) }
}

#[target_feature(enable = "neon")]
fn filter_neon(words: &[u32], query: u32, radius: u32, passed: &mut Vec<u32>) {
    let (query_lanes, radius_lanes) = (vdupq_n_u32(query), vdupq_n_u32(radius));
    let (steps, rest) = words.as_chunks::<8>();
    let mut base = 0;
    for step in steps {
        let (first, second) = step.split_at(4);
        // SAFETY: each half holds the four words, 16 bytes, that a load reads. A load needs no
        // alignment.
        let (first, second) = unsafe { (vld1q_u32(first.as_ptr()), vld1q_u32(second.as_ptr())) };
        let near = |lanes| vcleq_u32(popcount(veorq_u32(lanes, query_lanes)), radius_lanes);
        // A lane is all ones or all zeros, so one byte of it is enough.
        let bytes = vmovn_u16(vcombine_u16(vmovn_u32(near(first)), vmovn_u32(near(second))));
        let mut mask = vget_lane_u64::<0>(vreinterpret_u64_u8(bytes)) & 0x0101_0101_0101_0101;
        while mask != 0 {
            passed.push(base + mask.trailing_zeros() / 8);
            mask &= mask - 1;
        }
        base += 8;
    }
    scalar::filter(rest, base, query, radius, passed);
}

/// The number of one bits in each 32-bit lane: counts of bytes, added up in pairs.
#[target_feature(enable = "neon")]
fn popcount(lanes: uint32x4_t) -> uint32x4_t {
    vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u32(lanes))))
}
