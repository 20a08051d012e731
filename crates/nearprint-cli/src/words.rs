//! The words in which two texts differ.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use nearprint_text::internal::pieces;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// How long [`differences`] searches for a short list of changes.
const TIME_LIMIT: Duration = Duration::from_secs(1);

/// A part of the difference of a text and another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// In both texts.
    Equal(&'a str),
    /// In the first text only.
    Removed(&'a str),
    /// In the second text only.
    Added(&'a str),
}

/// The changes that make `b` of `a`, in the order of the texts. Words, white space and other
/// characters are compared as wholes. The default recipe defines words.
///
/// `Equal` and `Removed` joined are `a`, `Equal` and `Added` joined are `b`. No change is empty. The
/// search ends after a second; what is left of the texts then counts as changed.
pub(crate) fn differences<'a>(a: &'a str, b: &'a str) -> Vec<Change<'a>> {
    differences_within(a, b, TIME_LIMIT)
}

/// [`differences`] with another time limit.
pub(crate) fn differences_within<'a>(a: &'a str, b: &'a str, limit: Duration) -> Vec<Change<'a>> {
    let mut ids = HashMap::new();
    let (words_a, words_b) = (Words::new(a, &mut ids), Words::new(b, &mut ids));
    let deadline = Instant::now().checked_add(limit);
    // Myers is the algorithm that stays closest to its deadline.
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &words_a.ids, &words_b.ids, deadline);
    let mut changes = Vec::with_capacity(ops.len());
    let mut open = Replacement { removed: "", added: "" };
    for (at, op) in ops.iter().enumerate() {
        let (old, new) = (words_a.text(op.old_range()), words_b.text(op.new_range()));
        let is_equal = matches!(op, DiffOp::Equal { .. });
        let joins_replacements = is_equal
            && old.trim().is_empty()
            && open.is_full()
            && matches!(ops.get(at + 1), Some(DiffOp::Replace { .. }));
        if !is_equal || joins_replacements {
            open = Replacement { removed: joined(a, open.removed, old), added: joined(b, open.added, new) };
        } else {
            open.close(&mut changes);
            changes.push(Change::Equal(old));
        }
    }
    open.close(&mut changes);
    changes
}

/// The changes without those at their end that may come of a cut: what only one text has there, if the other text was
/// cut and may go on with it. `are_cut` says so of the first and of the second text.
pub(crate) fn without_cut_end(mut changes: Vec<Change<'_>>, are_cut: [bool; 2]) -> Vec<Change<'_>> {
    let [is_first_cut, is_second_cut] = are_cut;
    let may_follow = |change: &Change<'_>| match change {
        Change::Equal(_) => false,
        Change::Removed(_) => is_second_cut,
        Change::Added(_) => is_first_cut,
    };
    loop {
        let Some(kept) = changes.len().checked_sub(1) else { return changes };
        if may_follow(&changes[kept]) {
            changes.pop();
            continue;
        }
        // "b c b" against "b" has its difference before or behind what is equal.
        let Some([change, Change::Equal(end)]) = changes.last_chunk::<2>() else { return changes };
        let (change, end) = (*change, *end);
        let is_repeated = [change.text(), end].concat().starts_with(end);
        if !may_follow(&change) || !is_repeated {
            return changes;
        }
        changes.truncate(kept - 1);
        changes.push(Change::Equal(end));
    }
}

/// Changes without an equal part between them. Spaces between replaced words belong to them, as one
/// replaced sentence reads better than many replaced words.
struct Replacement<'a> {
    removed: &'a str,
    added: &'a str,
}

impl<'a> Replacement<'a> {
    fn is_full(&self) -> bool {
        !self.removed.is_empty() && !self.added.is_empty()
    }

    /// Appends the changes, and starts again.
    fn close(&mut self, changes: &mut Vec<Change<'a>>) {
        let parts = [Change::Removed(self.removed), Change::Added(self.added)];
        changes.extend(parts.into_iter().filter(|part| !part.text().is_empty()));
        *self = Self { removed: "", added: "" };
    }
}

impl<'a> Change<'a> {
    /// The text of the part.
    pub(crate) fn text(self) -> &'a str {
        match self {
            Self::Equal(text) | Self::Removed(text) | Self::Added(text) => text,
        }
    }
}

/// An equal part whose middle is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Folded<'a> {
    pub(crate) first: &'a str,
    /// How many whole lines are left out between the two. 0: `last` is empty.
    pub(crate) num_lines: usize,
    pub(crate) last: &'a str,
}

/// An equal part with so many lines of it before and behind what is left out, besides the rest of the line that a
/// change is on. `None` where no change is beside it: nothing is kept there.
pub(crate) fn folded(text: &str, [after, before]: [Option<usize>; 2]) -> Folded<'_> {
    let first = match after {
        None => 0,
        Some(lines) => text.match_indices('\n').nth(lines).map_or(text.len(), |(at, _)| at + 1),
    };
    let last = match before {
        None => text.len(),
        Some(lines) => text.rmatch_indices('\n').nth(lines).map_or(0, |(at, _)| at + 1),
    };
    let num_lines = text.get(first..last).map_or(0, |folded| folded.lines().count());
    // A line that says that one is left out takes as much as the line.
    if num_lines < 2 {
        return Folded { first: text, num_lines: 0, last: "" };
    }
    Folded { first: &text[..first], num_lines, last: &text[last..] }
}

/// A part of `text` and the part right after it as one; either may be empty.
fn joined<'a>(text: &'a str, first: &'a str, second: &'a str) -> &'a str {
    if first.is_empty() {
        return second;
    }
    let start = first.as_ptr() as usize - text.as_ptr() as usize;
    &text[start..start + first.len() + second.len()]
}

/// The words of a text.
struct Words<'a> {
    text: &'a str,
    /// Where each word starts, and the end of the text.
    offsets: Vec<usize>,
    /// Equal for equal words, of this text or another one with the same map.
    ids: Vec<usize>,
}

impl<'a> Words<'a> {
    fn new(text: &'a str, ids: &mut HashMap<&'a str, usize>) -> Self {
        let (mut offsets, mut found) = (vec![0], Vec::new());
        for (piece, _) in pieces(text) {
            let next = ids.len();
            offsets.push(offsets[found.len()] + piece.len());
            found.push(*ids.entry(piece).or_insert(next));
        }
        Self { text, offsets, ids: found }
    }

    /// The text of a range of words.
    fn text(&self, words: Range<usize>) -> &'a str {
        &self.text[self.offsets[words.start]..self.offsets[words.end]]
    }
}

#[cfg(test)]
mod tests {
    use nearprint_text::internal::thread_cpu_time;
    use proptest::prelude::*;

    use super::Change::{Added, Equal, Removed};
    use super::*;

    /// The texts that changes were made of.
    fn restored(changes: &[Change<'_>]) -> (String, String) {
        let a = changes.iter().filter(|change| !matches!(change, Added(_)));
        let b = changes.iter().filter(|change| !matches!(change, Removed(_)));
        (a.map(|change| change.text()).collect(), b.map(|change| change.text()).collect())
    }

    #[test]
    fn words_are_compared_as_wholes() {
        let changes = differences("The old house, by the sea.", "The new house by the sea.");
        let house = [Equal("The "), Removed("old"), Added("new"), Equal(" house")];
        assert_eq!(changes[..4], house);
        assert_eq!(changes[4..], [Removed(","), Equal(" by the sea.")]);
        assert_eq!(differences("same", "same"), [Equal("same")]);
        assert_eq!(differences("", "new"), [Added("new")]);
        assert_eq!(differences("", ""), []);
    }

    #[test]
    fn spaces_join_replaced_words() {
        let changes = differences("say one two now", "say three four now");
        assert_eq!(changes, [Equal("say "), Removed("one two"), Added("three four"), Equal(" now")]);
    }

    #[test]
    fn equal_lines_are_left_out_between_changes() {
        let text = "a\nb\nc\nd\ne\nf";
        let parts = |around| {
            let Folded { first, num_lines, last } = folded(text, around);
            (first, num_lines, last)
        };
        assert_eq!(parts([Some(1), Some(1)]), ("a\nb\n", 2, "e\nf"));
        assert_eq!(parts([Some(0), Some(0)]), ("a\n", 4, "f"));
        assert_eq!(parts([None, Some(1)]), ("", 4, "e\nf"));
        assert_eq!(parts([Some(1), None]), ("a\nb\n", 4, ""));
        assert_eq!(parts([None, None]), ("", 6, ""));
        // One line, or none.
        for around in [[Some(1), Some(2)], [Some(3), Some(2)], [Some(9), Some(usize::MAX)], [Some(4), None]] {
            assert_eq!(parts(around), (text, 0, ""));
        }
    }

    #[test]
    fn hostile_texts_end_in_time() {
        let letter = |at: u32, step: u32| char::from_u32(0x4e00 + at * step % 19_997).unwrap();
        let text = |step| (0..20_000).map(|at| letter(at, step)).collect::<String>();
        let pairs = [
            (text(1), text(7919)),
            (text(1), text(1).chars().rev().collect()),
            ("a ".repeat(10_000), "b a ".repeat(5_000)),
            ("x".repeat(1_000_000), "y".repeat(1_000_000)),
        ];
        for (a, b) in &pairs {
            let before = thread_cpu_time();
            let changes = differences_within(a, b, Duration::from_millis(50));
            let took = thread_cpu_time() - before;
            assert_eq!(restored(&changes), (a.clone(), b.clone()));
            assert!(took < Duration::from_secs(5), "{took:?}");
        }
    }

    proptest! {
        #[test]
        fn changes_restore_both_texts(a in "[ab\n ,é漢]{0,60}", b in "[ab\n ,é漢]{0,60}") {
            prop_assert_eq!(restored(&differences(&a, &b)), (a, b));
        }

        #[test]
        fn folded_parts_are_of_the_text(text in "[a\n]{0,30}", around in any::<[Option<u8>; 2]>()) {
            let Folded { first, num_lines, last } = folded(&text, around.map(|lines| lines.map(|lines| usize::from(lines % 5))));
            prop_assert!(text.starts_with(first) && text[first.len()..].ends_with(last));
            let middle = &text[first.len()..text.len() - last.len()];
            prop_assert_eq!(middle.lines().count(), num_lines);
        }

        #[test]
        fn changes_restore_any_texts(a in any::<String>(), b in any::<String>()) {
            let changes = differences(&a, &b);
            prop_assert!(changes.iter().all(|change| !change.text().is_empty()));
            prop_assert_eq!(restored(&changes), (a, b));
        }
    }
}
