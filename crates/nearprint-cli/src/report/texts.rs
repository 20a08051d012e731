//! The texts of a group as the page holds them: the kept one in full, the others as changes of it.

use std::io::{self, Read};
use std::path::Path;

use nearprint_text::documents::{Decoding, FileContent, decode, read_file};
use nearprint_text::internal::open_regular_decompressed;
use serde::Serialize;

use super::ReportGroup;
use crate::words::{self, Change};

/// The length after which a text is cut, in characters.
pub(crate) const MAX_CHARS: usize = 20_000;
/// The texts of a group that are embedded, in bytes. It also limits what a chunk holds in memory.
const MAX_GROUP_BYTES: u64 = 1 << 20;
/// A text is cut before its last word, if that word is not longer than this.
const MAX_WORD_BYTES: usize = 200;

/// What the page may show of the text in a file, without reading more.
pub(crate) fn read_text(path: &Path, decoding: &Decoding) -> io::Result<String> {
    if decoding.is_preprocessed(path) {
        let content = read_file(path, usize::MAX, decoding).map_err(io::Error::other)?;
        let FileContent::Text { bytes, .. } = content else { return Ok(String::new()) };
        return Ok(decode(&bytes, None).map(|decoded| decoded.text.into_owned()).unwrap_or_default());
    }
    // A character has at most four bytes. One more shows that the end was cut off.
    let mut bytes = Vec::new();
    let input = open_regular_decompressed(path).map_err(io::Error::other)?;
    input.take(4 * (MAX_CHARS as u64 + 1)).read_to_end(&mut bytes)?;
    let decoded = decode(&bytes, None).map(|decoded| decoded.text.into_owned());
    Ok(decoded.unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The texts of a group.
#[derive(Debug, Serialize)]
pub(super) struct GroupTexts {
    kept: ShownText,
    /// Those of the other members, in their order. Exact copies and members beyond the end have none.
    others: Vec<Option<ShownChanges>>,
}

/// A text, and whether its end was cut off.
#[derive(Debug, Serialize)]
struct ShownText(String, bool);

/// The changes that make a text of the kept one as far as both are shown, and whether the end of the text was cut off.
#[derive(Debug, Serialize)]
struct ShownChanges(Vec<Run>, bool);

/// A part of a text. Lengths are in UTF-16 units, as in the page's script.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum Run {
    /// A length of the kept text: positive if the text has it too, negative if not.
    Kept(i64),
    /// What the kept text does not have.
    Added(String),
}

impl GroupTexts {
    /// The texts of a group as far as they fit into a budget, and their share of it: the length of
    /// each text or of its JSON, whichever is larger. `None` if the kept one has no text or no room.
    pub(super) fn new(group: &ReportGroup, num_listed: usize, budget: u64) -> Option<(Self, u64)> {
        let budget = budget.min(MAX_GROUP_BYTES);
        let (kept, is_kept_cut) = cut(group.kept.text.as_deref()?);
        let text = ShownText(kept.to_string(), is_kept_cut);
        let mut used = share(kept, &text);
        if used > budget {
            return None;
        }
        let mut others = Vec::new();
        for member in group.others.iter().take(num_listed) {
            let text = member.text.as_deref().filter(|_| !member.is_exact);
            let shown = text.map(cut).filter(|(text, _)| used + len(text) <= budget);
            let changes = shown.and_then(|(text, is_cut)| {
                let changes = ShownChanges(runs(kept, text, [is_kept_cut, is_cut]), is_cut);
                let share = share(text, &changes);
                (used + share <= budget).then(|| {
                    used += share;
                    changes
                })
            });
            others.push(changes);
        }
        let num_others = others.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        others.truncate(num_others);
        Some((Self { kept: text, others }, used))
    }
}

/// The start of a text that is shown, and whether something follows it. Part of a word would differ from the word.
fn cut(text: &str) -> (&str, bool) {
    let Some((end, _)) = text.char_indices().nth(MAX_CHARS) else { return (text, false) };
    let shown = &text[..end];
    let words = shown.trim_end_matches(|char: char| !char.is_whitespace());
    (if shown.len() - words.len() <= MAX_WORD_BYTES { words } else { shown }, true)
}

fn len(text: &str) -> u64 {
    text.len() as u64
}

/// What a text takes of the budget. Its own length limits the time for comparisons, too.
fn share(text: &str, shown: &impl Serialize) -> u64 {
    len(text).max(len(&script_json(shown)))
}

/// The changes that make `other` of `kept`. They end where one of the texts does, if the other one may go on with what
/// was cut off: that is no difference.
fn runs(kept: &str, other: &str, are_cut: [bool; 2]) -> Vec<Run> {
    let length = |text: &str| i64::try_from(text.encode_utf16().count()).unwrap_or(i64::MAX);
    let run = |change| match change {
        Change::Equal(text) => Run::Kept(length(text)),
        Change::Removed(text) => Run::Kept(-length(text)),
        Change::Added(text) => Run::Added(text.to_string()),
    };
    words::without_cut_end(words::differences(kept, other), are_cut).into_iter().map(run).collect()
}

/// JSON that cannot end the script element in which it stands, nor a line of a script.
pub(super) fn script_json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
    if !json.contains(['<', '\u{2028}', '\u{2029}']) {
        return json;
    }
    // JSON has these characters only in strings.
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::super::ReportMember;
    use super::*;

    #[test]
    fn changes_are_runs_of_utf16() {
        let found = runs("a 𝄞 old word", "a 𝄞 new word", [false; 2]);
        assert_eq!(found, [Run::Kept(5), Run::Kept(-3), Run::Added("new".into()), Run::Kept(5)]);
        assert_eq!(script_json(&found), r#"[5,-3,"new",5]"#);
    }

    #[test]
    fn texts_are_cut_between_words_or_characters() {
        let text = "é".repeat(MAX_CHARS);
        assert_eq!(cut(&text), (text.as_str(), false));
        assert_eq!(cut(&format!("{text}é")), (text.as_str(), true));
        let words = "one ".repeat(MAX_CHARS / 4 - 1);
        assert_eq!(cut(&format!("{words}half of a word")), (words.as_str(), true));
    }

    #[test]
    fn regression_the_cut_ends_of_texts_do_not_differ() {
        let lines = |name: &str| {
            let line = |at| match at % 17 {
                5 => format!("Line {at} says that the ship from {name} has not come in since the storm.\n"),
                _ => format!("Line {at} says that the ship has not come in since the storm of the winter.\n"),
            };
            (0..1000).map(line).collect::<String>()
        };
        let member = |text: String| ReportMember { text: Some(text), ..ReportMember::default() };
        let whole = lines("Bergen").chars().take(MAX_CHARS - 9).collect::<String>();
        // Cut where a word is another one's start, and with a text that is shown to its end.
        for (kept, other, removed, added) in [
            (lines("Bergen"), lines("Oslo"), "Bergen", "Oslo"),
            (lines("Bergen"), lines("Constantinople"), "Bergen", "Constantinople"),
            (lines("Constantinople"), whole.clone(), "Constantinople", "Bergen"),
            (whole, lines("Constantinople"), "Bergen", "Constantinople"),
        ] {
            let group = ReportGroup { kept: member(kept), others: vec![member(other)], num_unlisted: 0 };
            let (texts, _) = GroupTexts::new(&group, 1, 1 << 20).unwrap();
            let ShownChanges(runs, _) = texts.others[0].as_ref().unwrap();
            let removed = i64::try_from(removed.len()).unwrap();
            for run in runs {
                match run {
                    Run::Kept(length) => assert!(*length > 0 || *length == -removed, "{runs:?}"),
                    Run::Added(text) => assert_eq!(text, added),
                }
            }
            assert!(matches!(runs.last(), Some(Run::Kept(1..))));
        }
    }

    #[test]
    fn json_cannot_leave_its_element() {
        let hostile = "</script><!--\u{2028}\u{2029}\0\u{7}\r\"\\";
        let json = script_json(&hostile);
        assert!(!json.contains(['<', '\u{2028}', '\u{2029}', '\0', '\u{7}', '\r']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    }
}
