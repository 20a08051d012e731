//! Joins neighbouring tokens to features.

use super::tokenize::Tokens;

/// How the tokens of a window are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Join {
    /// With a space between them.
    Space,
    /// Without anything between them.
    Nothing,
    /// By their hashes, as in simhash-cpp before 0.2; see [`Cyclic`].
    Cyclic,
}

impl Join {
    /// The separator of the tokens.
    pub(super) fn separator(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Space | Self::Cyclic => " ",
        }
    }
}

/// The runs of tokens that are features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Window {
    /// Tokens in a window, at least 1, or [`WHOLE_TEXT`](Self::WHOLE_TEXT).
    pub(super) len: usize,
    pub(super) join: Join,
    pub(super) short: Short,
}

/// The features of a text that has tokens, but fewer than a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Short {
    /// The whole text.
    One,
    /// None.
    None,
    /// Each token.
    Tokens,
}

impl Window {
    /// The length of a window that no text fills, so that a text is one feature.
    pub(super) const WHOLE_TEXT: usize = usize::MAX;

    /// The number of features of a text with some tokens.
    pub(super) fn count(self, tokens: usize) -> usize {
        match (self.join, self.short) {
            (Join::Cyclic, _) => tokens,
            _ if tokens >= self.len => tokens - self.len + 1,
            (_, Short::One) => tokens.min(1),
            (_, Short::Tokens) => tokens,
            (_, Short::None) => 0,
        }
    }

    /// Calls `visit(first, count, hash)` for each feature: the index of its first token, their
    /// number, and its hash.
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
                let len = match self.short {
                    Short::One => tokens.len(),
                    Short::Tokens => 1,
                    Short::None => return,
                };
                for first in 0..(tokens.len() + 1).saturating_sub(len.max(1)) {
                    visit(first, len, hash(tokens.joined(first, len)));
                }
            }
        }
    }

    /// Visits one feature per token: the window that ends with it. The first windows are shorter.
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

/// A hash by cyclic polynomials over the last hashes (Cohen, "Recursive hashing functions for
/// n-grams", 1997): the exclusive or of all, each rotated left once for every later one.
///
/// The bits of the result are reversed, because simhash-cpp numbers the bits of its fingerprints
/// from the other end.
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
