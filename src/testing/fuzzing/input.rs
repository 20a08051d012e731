//! An input as a source of choices.

/// Returns the bytes of an input from front to back. After its end, all bytes are zero.
#[derive(Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Up to `len` bytes.
    pub fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    pub fn rest(&mut self) -> &'a [u8] {
        self.take(usize::MAX)
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let taken = self.take(N);
        let mut out = [0; N];
        out[..taken.len()].copy_from_slice(taken);
        out
    }

    pub fn byte(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// A number below `count`, which must be at least 1.
    pub fn below(&mut self, count: usize) -> usize {
        let number: usize = if count <= 256 { self.byte().into() } else { self.u16().into() };
        number % count
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// A distance. Small ones are more likely.
    pub fn k(&mut self) -> u32 {
        const LIKELY: [u32; 16] = [0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 9, 14, 22, 40, 64, u32::MAX];
        self.pick(&LIKELY)
    }

    /// A number near a limit.
    pub fn edge(&mut self) -> u64 {
        let near = self.pick(&[0, 1 << 8, 1 << 16, 1 << 31, 1 << 32, 1 << 40, 1 << 63, 0, 512, 4096, 8192]);
        u64::wrapping_add(near, u64::from(self.byte()).wrapping_sub(16))
    }

    /// A fingerprint near one of a few centres, so that some of them are near each other.
    pub fn fingerprint(&mut self) -> u64 {
        let [centre, flips] = self.array();
        let base = random(u64::from(centre % 5) + 1);
        match flips {
            0..=63 => base,
            64..=127 => base ^ 1 << (flips % 64),
            128..=191 => base ^ 3 << (flips % 63) ^ 1 << (centre % 64),
            _ => self.u64(),
        }
    }
}

/// The finalizer of MurmurHash3, as a source of random numbers.
pub fn random(value: u64) -> u64 {
    let x = (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}
