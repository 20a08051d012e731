//! The words of jieba, with their counts and their document frequencies.

use std::cmp::Ordering;
use std::io::{Cursor, Read};

/// `dictionary/make.py` makes this file, and describes its form.
const COMPRESSED: &[u8] = include_bytes!("../../../dictionary/chinese.zst");

/// Words in the order of their bytes.
pub(super) struct Dictionary {
    words: String,
    /// Where each word ends in `words`.
    ends: Vec<usize>,
    /// For each word, 1 + its count, or 0 if it only has a document frequency.
    counts: Vec<u32>,
    /// For each word, 1 + its place in `values`, or 0.
    values_of: Vec<u32>,
    /// Inverse document frequencies.
    values: Vec<f64>,
    /// What a word without one has.
    median: f64,
}

impl Dictionary {
    pub(super) fn load() -> Self {
        Self::read().expect("the dictionary of this crate is complete")
    }

    fn read() -> std::io::Result<Self> {
        let mut bytes = Cursor::new(zstd::decode_all(COMPRESSED)?);
        let mut values = vec![0.0; read_u32(&mut bytes)?];
        for value in &mut values {
            *value = f64::from_le_bytes(read_array(&mut bytes)?);
        }
        let len = read_u32(&mut bytes)?;
        let shared = read_bytes(&mut bytes, len)?;
        let other = read_bytes(&mut bytes, len)?;
        let others_len = read_u32(&mut bytes)?;
        let others = read_bytes(&mut bytes, others_len)?;
        let (mut words, mut ends, mut rest) = (Vec::new(), Vec::with_capacity(len), &*others);
        let mut start = 0;
        for (&shared, &other) in shared.iter().zip(&other) {
            let end = words.len();
            words.extend_from_within(start..start + usize::from(shared));
            let (suffix, after) = rest.split_at(usize::from(other));
            words.extend_from_slice(suffix);
            (start, rest) = (end, after);
            ends.push(words.len());
        }
        let counts = read_numbers(&mut bytes, len)?;
        let values_of = read_numbers(&mut bytes, len)?;
        let words = String::from_utf8(words).map_err(std::io::Error::other)?;
        let mut dictionary = Self { words, ends, counts, values_of, values, median: 0.0 };
        dictionary.median = dictionary.median_value();
        Ok(dictionary)
    }

    /// The words that have a count, as lines of word and count.
    pub(super) fn lines(&self) -> String {
        let mut lines = String::with_capacity(2 * self.words.len());
        for (at, &count) in self.counts.iter().enumerate() {
            if let Some(count) = count.checked_sub(1) {
                lines.extend([self.word(at), " ", &count.to_string(), "\n"]);
            }
        }
        lines
    }

    /// The inverse document frequency of a word.
    pub(super) fn value_of(&self, word: &str) -> f64 {
        let (mut from, mut to) = (0, self.ends.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            match self.word(middle).cmp(word) {
                Ordering::Less => from = middle + 1,
                Ordering::Equal => return self.value_at(middle).unwrap_or(self.median),
                Ordering::Greater => to = middle,
            }
        }
        self.median
    }

    fn word(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.words[start..self.ends[at]]
    }

    fn value_at(&self, at: usize) -> Option<f64> {
        Some(self.values[self.values_of[at].checked_sub(1)? as usize])
    }

    /// The one in the middle, the higher one of two.
    fn median_value(&self) -> f64 {
        let mut all: Vec<f64> = (0..self.ends.len()).filter_map(|at| self.value_at(at)).collect();
        let middle = all.len() / 2;
        *all.select_nth_unstable_by(middle, f64::total_cmp).1
    }
}

fn read_array<const N: usize>(bytes: &mut impl Read) -> std::io::Result<[u8; N]> {
    let mut array = [0; N];
    bytes.read_exact(&mut array)?;
    Ok(array)
}

fn read_u32(bytes: &mut impl Read) -> std::io::Result<usize> {
    Ok(u32::from_le_bytes(read_array(bytes)?) as usize)
}

fn read_bytes(bytes: &mut impl Read, len: usize) -> std::io::Result<Vec<u8>> {
    let mut read = vec![0; len];
    bytes.read_exact(&mut read)?;
    Ok(read)
}

/// Numbers in LEB128.
fn read_numbers(bytes: &mut impl Read, len: usize) -> std::io::Result<Vec<u32>> {
    let read = |_| {
        let (mut number, mut shift) = (0, 0);
        loop {
            let [byte] = read_array(bytes)?;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
        }
    };
    (0..len).map(read).collect()
}
