//! Tokens to features.

use super::tokenize::Tokens;

/// How the tokens of a window become one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Join {
    /// Joined by a space.
    Space,
    /// Joined by nothing.
    Nothing,
    /// The hashes of the tokens joined, as simhash-cpp before 0.2 does; see [`Cyclic`].
    Cyclic,
}

impl Join {
    /// What stands between tokens.
    pub(super) fn separator(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Space | Self::Cyclic => " ",
        }
    }
}

/// Which runs of tokens make a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Window {
    /// Tokens in a window, at least 1.
    pub(super) len: usize,
    pub(super) join: Join,
    /// Whether a text of fewer tokens, but not of none, is one feature.
    pub(super) short: bool,
}

impl Window {
    /// Calls `visit(first, count, hash)` for each feature: the place of its tokens, and its hash.
    #[inline]
    pub(super) fn for_each<const N: usize>(
        self,
        tokens: &Tokens,
        hash: impl Fn(&[u8]) -> [u64; N],
        mut visit: impl FnMut(usize, usize, [u64; N]),
    ) {
        match self.join {
            Join::Cyclic => self.roll(tokens, hash, visit),
            Join::Space | Join::Nothing if tokens.len() >= self.len => {
                for first in 0..=tokens.len() - self.len {
                    visit(first, self.len, hash(tokens.joined(first, self.len)));
                }
            }
            Join::Space | Join::Nothing => {
                if self.short && tokens.len() > 0 {
                    visit(0, tokens.len(), hash(tokens.joined(0, tokens.len())));
                }
            }
        }
    }

    /// There is a feature for every token, the windows that end with the first ones being shorter.
    fn roll<const N: usize>(
        self,
        tokens: &Tokens,
        hash: impl Fn(&[u8]) -> [u64; N],
        mut visit: impl FnMut(usize, usize, [u64; N]),
    ) {
        let mut cyclic = Cyclic::new(self.len);
        for last in 0..tokens.len() {
            let value = cyclic.push(hash(tokens.joined(last, 1)));
            let count = self.len.min(last + 1);
            visit(last + 1 - count, count, value);
        }
    }
}

/// A hash by cyclic polynomials over the last hashes pushed (Cohen, "Recursive hashing functions for
/// n-grams", 1997): the exclusive or of all, each rotated left once for every later one.
///
/// The values have their bits in reverse order, because simhash-cpp counts the bits of its fingerprints from
/// the other end.
struct Cyclic<const N: usize> {
    last: Vec<[u64; N]>,
    at: usize,
    current: [u64; N],
}

impl<const N: usize> Cyclic<N> {
    fn new(len: usize) -> Self {
        Self { last: vec![[0; N]; len], at: 0, current: [0; N] }
    }

    fn push(&mut self, hash: [u64; N]) -> [u64; N] {
        let oldest = std::mem::replace(&mut self.last[self.at], hash);
        self.at = (self.at + 1) % self.last.len();
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        let turns = (self.last.len() % 64) as u32;
        for ((current, oldest), hash) in self.current.iter_mut().zip(oldest).zip(hash) {
            *current = current.rotate_left(1) ^ oldest.rotate_left(turns) ^ hash;
        }
        self.current.map(u64::reverse_bits)
    }
}
