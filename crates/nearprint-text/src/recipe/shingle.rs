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
    /// Tokens in a window that begins with a single character of a script without spaces; the same
    /// as `len` unless tokens are [`Words`](super::tokenize::Tokenizer::Words).
    pub(super) single_len: usize,
    /// Tokens in the shortest such window, at most `single_len`. All lengths between the two are windows,
    /// too, in a text that has a full one.
    pub(super) single_shortest: usize,
    pub(super) join: Join,
    pub(super) short: Short,
}

/// The features of a text that has tokens, but no full window.
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

    /// The window of the default recipe.
    pub(super) const DEFAULT: Self =
        Self { len: 3, single_len: 2, single_shortest: 1, join: Join::Space, short: Short::Tokens };

    /// The number of features of a text.
    pub(super) fn count(self, tokens: &Tokens) -> usize {
        if self.join == Join::Cyclic { tokens.len() } else { self.windows(tokens).count() }
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
        if self.join == Join::Cyclic {
            return self.roll(tokens, hash, visit);
        }
        self.windows(tokens)
            .for_each(|(first, count)| visit(first, count, hash(tokens.joined(first, count))));
    }

    /// The first token of each feature, and the number of its tokens.
    #[inline]
    fn windows(self, tokens: &Tokens) -> impl Iterator<Item = (usize, usize)> {
        let all = tokens.len();
        let len_at = move |first| match self.single_len != self.len && tokens.is_single(first) {
            true => self.single_len,
            false => self.len,
        };
        let fits = move |first, len| len <= all - first;
        let (firsts, len) = match self.short {
            _ if (0..all).any(|first| fits(first, len_at(first))) => (0..all, None),
            Short::One => (0..all.min(1), Some(all)),
            Short::Tokens => (0..all, Some(1)),
            Short::None => (0..0, None),
        };
        let windows = firsts.map(move |first| (first, len.unwrap_or_else(|| len_at(first))));
        let full = windows.filter(move |&(first, len)| fits(first, len));
        let shorter = match len {
            None if tokens.may_have_singles() => self.single_shortest..self.single_len,
            _ => 0..0,
        };
        let of_len = move |len| {
            let firsts = (0..all).filter(move |&first| tokens.is_single(first) && fits(first, len));
            firsts.map(move |first| (first, len))
        };
        full.chain(shorter.flat_map(of_len))
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
