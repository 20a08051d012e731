//! The units of a text that can be removed from it.

use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What is compared instead of whole documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Unit {
    /// Lines between blank lines. A blank line contains only white space.
    Paragraph,
    /// Each line that is not blank.
    Line,
    /// Runs of at least `length` words, wherever they begin and end.
    Passage,
}

/// Which units are removed, and whether documents that lose most of their text are written.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrimRules {
    /// What is compared, and removed.
    pub by: Unit,
    /// The words of the shortest unit that is removed: a few words recur by chance. For passages 2 to 10,000,
    /// by default 50; for other units by default 5.
    pub length: Option<usize>,
    /// A unit is removed from this document on, counted among the documents that have it; at least 2. With 2, it
    /// is also removed where its own document repeats it. More are counted only by the distance of fingerprints, as
    /// with the recipe `exact`.
    pub from: u64,
    /// The least share of its text, from 0 to 1, that a document must keep. A document that keeps less is
    /// *hollow*.
    pub min_left: f64,
    /// Whether a hollow document is written whole. Otherwise it is not written, and none of its units is
    /// remembered.
    pub keeps_hollow: bool,
}

impl TrimRules {
    /// Removes each of these units from the second document on that has it.
    #[must_use]
    pub fn new(by: Unit) -> Self {
        Self { by, length: None, from: 2, min_left: 0.0, keeps_hollow: false }
    }

    /// The words of the shortest unit that is removed.
    pub(crate) fn length(&self) -> usize {
        self.length.unwrap_or(if self.by == Unit::Passage { 50 } else { 5 })
    }
}

impl FromStr for Unit {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "paragraph" => Ok(Self::Paragraph),
            "line" => Ok(Self::Line),
            "passage" => Ok(Self::Passage),
            _ => Err("not paragraph, line or passage"),
        }
    }
}

impl Unit {
    /// The most bytes that the key of a unit has after the key of its document, and as many again for a
    /// [mark](Self::marked).
    pub(crate) const MORE_KEY_BYTES: usize = 1 + u64::MAX.ilog10() as usize + 1;

    /// The name: `paragraph`, `line` or `passage`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Paragraph => "paragraph",
            Self::Line => "line",
            Self::Passage => "passage",
        }
    }

    /// Calls `visit` with the key and the text of each unit of a document. Passages depend on other documents: there
    /// are none to visit.
    ///
    /// ```
    /// use nearprint_text::dedup::Unit;
    /// let mut units = Vec::new();
    /// Unit::Paragraph.for_each_keyed("a", "One.\n\nTwo,\nand more.\n", |key, text| {
    ///     units.push((key.to_string(), text.to_string()));
    /// });
    /// assert_eq!(units, [("a#1".into(), "One.".into()), ("a#2".into(), "Two,\nand more.".into())]);
    /// ```
    pub fn for_each_keyed(self, document: &str, text: &str, mut visit: impl FnMut(&str, &str)) {
        let mut number = 0;
        self.for_each(text, |place| {
            number += 1;
            visit(&Self::key(document, number), &text[place]);
        });
    }

    /// The key of the unit of a document with a number, from 1.
    pub(crate) fn key(document: &str, number: u64) -> String {
        format!("{document}#{number}")
    }

    /// The key of a unit whose document is not the first one with its key. No two documents have one `mark`.
    pub(crate) fn marked(key: &str, mark: u64) -> String {
        format!("{key}@{mark}")
    }

    /// The key of the document that a unit with a key belongs to, the number of the unit, and the mark of the
    /// document, which is empty if it has none.
    pub(crate) fn parts_of(key: &str) -> (&str, &str, &str) {
        let (document, unit) = key.rsplit_once('#').unwrap_or((key, ""));
        let (number, mark) = unit.split_once('@').unwrap_or((unit, ""));
        (document, number, mark)
    }

    /// Calls `visit` with the place of each unit of a text, without the line end behind it.
    pub(crate) fn for_each(self, text: &str, mut visit: impl FnMut(Range<usize>)) {
        let mut paragraph: Option<Range<usize>> = None;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.trim_end_matches(['\r', '\n']).len();
            let is_blank = line.trim().is_empty();
            match (self, is_blank, &mut paragraph) {
                (Self::Line, false, _) => visit(start..end),
                (Self::Paragraph, false, Some(paragraph)) => paragraph.end = end,
                (Self::Paragraph, false, None) => paragraph = Some(start..end),
                (Self::Passage, false, _) => {}
                (_, true, _) => paragraph.take().into_iter().for_each(&mut visit),
            }
            start += line.len();
        }
        paragraph.into_iter().for_each(visit);
    }

    /// The text without the units at `removed`, which are in order. What separates two units goes with
    /// the second one, and what precedes the first with that; what follows the last unit stays.
    pub(crate) fn without(self, text: &str, removed: &[Range<usize>]) -> String {
        let mut rest = String::with_capacity(text.len());
        let (mut removed, mut end, mut is_first) = (removed.iter().peekable(), 0, true);
        self.for_each(text, |unit| {
            if removed.next_if(|place| **place == unit).is_none() {
                let start = if rest.is_empty() && !is_first { unit.start } else { end };
                rest.push_str(&text[start..unit.end]);
            }
            (end, is_first) = (unit.end, false);
        });
        rest.push_str(&text[end..]);
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\n  one\r\ntwo\n \t\n\nthree\n\nfour\n";

    fn units(unit: Unit, text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        unit.for_each(text, |place| found.push(&text[place]));
        found
    }

    #[test]
    fn texts_are_divided_at_lines() {
        assert_eq!(units(Unit::Paragraph, TEXT), ["  one\r\ntwo", "three", "four"]);
        assert_eq!(units(Unit::Line, TEXT), ["  one", "two", "three", "four"]);
        for unit in [Unit::Paragraph, Unit::Line] {
            assert!(units(unit, " \n\r\n").is_empty() && units(unit, "").is_empty());
            assert_eq!(units(unit, "no line end"), ["no line end"]);
        }
    }

    #[test]
    fn what_stays_keeps_its_bytes() {
        let without = |unit: Unit, removed: &[&str]| {
            let mut places = Vec::new();
            unit.for_each(TEXT, |place| places.push(place));
            places.retain(|place| removed.contains(&&TEXT[place.clone()]));
            unit.without(TEXT, &places)
        };
        assert_eq!(without(Unit::Paragraph, &[]), TEXT);
        assert_eq!(without(Unit::Line, &[]), TEXT);
        assert_eq!(without(Unit::Paragraph, &["three"]), "\n  one\r\ntwo\n\nfour\n");
        assert_eq!(without(Unit::Paragraph, &["four"]), "\n  one\r\ntwo\n \t\n\nthree\n");
        assert_eq!(without(Unit::Paragraph, &["  one\r\ntwo"]), "three\n\nfour\n");
        assert_eq!(without(Unit::Line, &["  one", "three"]), "two\n\nfour\n");
        assert_eq!(without(Unit::Line, &["  one", "two", "three", "four"]), "\n");
    }
}
