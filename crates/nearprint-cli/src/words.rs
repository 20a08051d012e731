//! The words in which two texts differ.

use std::collections::HashMap;
use std::ops::Range;

use gix_imara_diff::{Algorithm, Diff, NoSliderHeuristic, Token};
use nearprint_text::internal::pieces;

/// The most words of a text that [`differences`] compares.
const MAX_WORDS: usize = (1 << 31) - 2;

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
/// `Equal` and `Removed` joined are `a`, `Equal` and `Added` joined are `b`. No change is empty. The list is not always
/// the shortest one: what would take quadratic time is not looked for.
pub(crate) fn differences<'a>(a: &'a str, b: &'a str) -> Vec<Change<'a>> {
    let mut ids = HashMap::new();
    let (words_a, words_b) = (Words::new(a, &mut ids), Words::new(b, &mut ids));
    let mut changes = Vec::new();
    if words_a.ids.len().max(words_b.ids.len()) > MAX_WORDS {
        Replacement { removed: a, added: b }.close(&mut changes);
        return changes;
    }
    let mut diff = Diff::default();
    diff.compute_with(Algorithm::Myers, &words_a.ids, &words_b.ids, id(ids.len()));
    // What could be added before or after a space is added where something is removed.
    diff.postprocess_with(&words_a.ids, &words_b.ids, NoSliderHeuristic);
    let mut open = Replacement { removed: "", added: "" };
    let (mut at_a, mut at_b) = (0, 0);
    for hunk in diff.hunks() {
        let [before, after] = [hunk.before, hunk.after].map(|words| words.start as usize..words.end as usize);
        let (equal, equal_b) = (words_a.text(at_a..before.start), words_b.text(at_b..after.start));
        (at_a, at_b) = (before.end, after.end);
        let (removed, added) = (words_a.text(before), words_b.text(after));
        let is_replacement = !removed.is_empty() && !added.is_empty();
        if equal.trim().is_empty() && open.is_full() && is_replacement {
            open.append((a, equal), (b, equal_b));
        } else {
            open.close(&mut changes);
            changes.extend(Some(Change::Equal(equal)).filter(|_| !equal.is_empty()));
        }
        open.append((a, removed), (b, added));
    }
    open.close(&mut changes);
    let end = words_a.text(at_a..words_a.ids.len());
    changes.extend(Some(Change::Equal(end)).filter(|_| !end.is_empty()));
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

    /// Adds what follows in each text.
    fn append(&mut self, (a, removed): (&'a str, &'a str), (b, added): (&'a str, &'a str)) {
        (self.removed, self.added) = (joined(a, self.removed, removed), joined(b, self.added, added));
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

/// A number of words. More than fit are not compared.
fn id(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The words of a text.
struct Words<'a> {
    text: &'a str,
    /// Where each word starts, and the end of the text.
    offsets: Vec<usize>,
    /// Equal for equal words, of this text or another one with the same map.
    ids: Vec<Token>,
}

impl<'a> Words<'a> {
    fn new(text: &'a str, ids: &mut HashMap<&'a str, Token>) -> Self {
        let (mut offsets, mut found) = (vec![0], Vec::new());
        for (piece, _) in pieces(text) {
            let next = Token::from(id(ids.len()));
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
    use std::time::Duration;

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
        let changes = differences("ships from Hamburg are late", "ships from New York are late");
        assert_eq!(
            changes,
            [Equal("ships from "), Removed("Hamburg"), Added("New York"), Equal(" are late")]
        );
        let changes = differences("ships from New York are late", "ships from Hamburg are late");
        assert_eq!(
            changes,
            [Equal("ships from "), Removed("New York"), Added("Hamburg"), Equal(" are late")]
        );
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
            let changes = differences(a, b);
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
