//! Arguments of calls: mostly right, sometimes such that a call must refuse them.

use std::ffi::c_char;
use std::{array, ptr};

use crate::columns::nearprint_columns;
use crate::growing::Growing;
use crate::rows::nearprint_rows;
use nearprint::testing::fuzzing::input::Input;

/// The most rows of an argument, and of the columns of results.
pub(super) const ROWS: usize = 8;
/// Words of the widest fingerprint.
const WORDS: usize = 5;
/// What columns hold before a call.
const UNTOUCHED: u64 = 0x5a5a_5a5a_5a5a_5a5a;

/// A few choices of 256 are what the header does not allow, so that most sequences get far.
fn is_wrong(input: &mut Input<'_>) -> bool {
    input.byte() > 250
}

/// A pointer, or instead of it null or, where the type has an alignment, a misaligned one.
pub(super) fn pointer<T>(input: &mut Input<'_>, at: *const T) -> *const T {
    match is_wrong(input) {
        true if align_of::<T>() > 1 && input.flag() => at.wrapping_byte_add(1),
        true => ptr::null(),
        false => at,
    }
}

/// As [`pointer`], for what a call writes.
pub(super) fn output<T>(input: &mut Input<'_>, at: &mut T) -> *mut T {
    pointer(input, ptr::from_mut(at)).cast_mut()
}

/// A length, or instead of it one that no array has.
pub(super) fn length(input: &mut Input<'_>, len: usize) -> usize {
    if is_wrong(input) { usize::MAX - 1 } else { len }
}

/// Fingerprints, and an id for each.
pub(super) struct Rows {
    words: [u64; ROWS * WORDS],
    ids: [u64; ROWS],
}

impl Rows {
    pub(super) fn new(input: &mut Input<'_>) -> Self {
        let (base, id) = (input.fingerprint(), u64::from(input.byte() % 16));
        // Many are near each other, a few equal.
        let word = |index: u64| base ^ 1 << (base.wrapping_add(index / 2 * 7) % 64);
        Self {
            words: array::from_fn(|index| word(index as u64)),
            ids: array::from_fn(|index| id ^ index as u64),
        }
    }

    pub(super) fn words(&self, input: &mut Input<'_>) -> *const u64 {
        pointer(input, self.words.as_ptr())
    }

    /// The first rows, as a structure.
    pub(super) fn structure(&self, input: &mut Input<'_>) -> nearprint_rows {
        let count = input.below(ROWS + 1);
        nearprint_rows {
            count: length(input, count),
            fingerprints: self.words(input),
            ids: self.ids(input),
            ..nearprint_rows::DEFAULT
        }
    }

    pub(super) fn begin_with(&self, words: &[u64]) -> bool {
        self.words.starts_with(words)
    }

    /// The ids, or none.
    pub(super) fn ids(&self, input: &mut Input<'_>) -> *const u64 {
        if input.flag() { ptr::null() } else { pointer(input, self.ids.as_ptr()) }
    }
}

/// Documents: a key and a text each.
pub(super) struct Documents {
    keys: Vec<*const c_char>,
    key_lens: Vec<usize>,
    texts: Vec<*const c_char>,
    text_lens: Vec<usize>,
}

impl Documents {
    pub(super) fn new(keys: &[&'static [u8]], texts: &[&'static [u8]]) -> Self {
        let starts = |of: &[&'static [u8]]| of.iter().map(|bytes| bytes.as_ptr().cast()).collect();
        let lens = |of: &[&'static [u8]]| of.iter().map(|bytes| bytes.len()).collect();
        Self { keys: starts(keys), key_lens: lens(keys), texts: starts(texts), text_lens: lens(texts) }
    }

    /// The first documents, as a structure.
    pub(super) fn structure(&self, input: &mut Input<'_>) -> nearprint_rows {
        let count = self.keys.len() - input.below(self.keys.len() + 1);
        nearprint_rows {
            count: length(input, count),
            keys: pointer(input, self.keys.as_ptr()),
            key_lens: pointer(input, self.key_lens.as_ptr()),
            texts: pointer(input, self.texts.as_ptr()),
            text_lens: pointer(input, self.text_lens.as_ptr()),
            ..nearprint_rows::DEFAULT
        }
    }
}

/// A text with its length. Some are not UTF-8.
pub(super) fn text(input: &mut Input<'_>, text: &'static [u8]) -> (*const c_char, usize) {
    let bytes = if is_wrong(input) { b"\xff\0not UTF-8" } else { text };
    (pointer(input, bytes.as_ptr().cast()), length(input, bytes.len()))
}

/// Arrays for results.
pub(super) struct Space {
    wide: Box<[[u64; ROWS * WORDS + 1]; 5]>,
    distances: Box<[u32; ROWS + 1]>,
    keys: Box<[*const c_char; ROWS + 1]>,
    other_keys: Box<[*const c_char; ROWS + 1]>,
}

impl Space {
    pub(super) fn new() -> Self {
        let keys = [ptr::dangling(); ROWS + 1];
        Self {
            wide: Box::new([[UNTOUCHED; ROWS * WORDS + 1]; 5]),
            distances: Box::new([7; ROWS + 1]),
            keys: Box::new(keys),
            other_keys: Box::new(keys),
        }
    }

    /// Columns: which of them are there is a choice.
    pub(super) fn columns(&mut self, input: &mut Input<'_>) -> nearprint_columns {
        // Mostly those that many results have.
        let which = if input.flag() { 0b00_0110 } else { input.byte() };
        let there = |bit: u8| which >> bit & 1 == 1;
        let [groups, fingerprints, ids, others, other_ids] = &mut *self.wide;
        let mut column = |bit: u8, at: &mut [u64; ROWS * WORDS + 1]| {
            if there(bit) { pointer(input, at.as_ptr()).cast_mut() } else { ptr::null_mut() }
        };
        let mut columns = nearprint_columns {
            capacity: ROWS,
            groups: column(0, groups),
            fingerprints: column(1, fingerprints),
            ids: column(2, ids),
            other_fingerprints: column(4, others),
            other_ids: column(5, other_ids),
            ..nearprint_columns::DEFAULT
        };
        if there(3) {
            columns.distances = pointer(input, self.distances.as_ptr()).cast_mut();
        }
        columns.capacity = length(input, input_capacity(which));
        if input.byte() % 4 == 3 {
            columns.keys = pointer(input, self.keys.as_ptr()).cast_mut();
            columns.other_keys = pointer(input, self.other_keys.as_ptr()).cast_mut();
        }
        if is_wrong(input) {
            columns.struct_size = usize::from(input.byte()) % size_of::<nearprint_columns>();
        }
        columns
    }

    /// Nothing is behind what `rows` rows of `words` words need.
    pub(super) fn check(&self, rows: usize, words: usize) {
        let [groups, fingerprints, ids, others, other_ids] = &*self.wide;
        for (column, width) in [(groups, 1), (ids, 1), (other_ids, 1), (fingerprints, words), (others, words)]
        {
            assert!(column[rows.min(ROWS) * width..].iter().all(|&word| word == UNTOUCHED), "{rows} rows");
        }
        assert!(self.distances[rows.min(ROWS)..].iter().all(|&distance| distance == 7), "{rows} rows");
        let is_untouched = |&key: &*const c_char| key == ptr::dangling();
        for keys in [&self.keys, &self.other_keys] {
            assert!(keys[rows.min(ROWS)..].iter().all(is_untouched), "{rows} rows");
        }
    }
}

/// 0 to `ROWS`, from the bits that choose no column.
fn input_capacity(which: u8) -> usize {
    match which >> 6 {
        0 => ROWS,
        less => usize::from(less) - 1,
    }
}
