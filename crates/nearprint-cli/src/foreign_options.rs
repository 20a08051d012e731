//! Options and commands that other programs have for what one here does.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use nearprint_text::documents::{Kind, look_at};

/// Names in datasketch, text-dedup, datatrove, simhash-py and czkawka, and what to give instead.
const NAMES: [(&[&str], &str); 17] = [
    (
        &["threshold", "jaccard-threshold", "jaccard", "min-similarity"],
        "--similarity S is the least similarity, 0 to 1",
    ),
    (
        &["distance", "max-distance", "hamming", "hamming-distance", "bit-diff", "max-difference"],
        "-k K is how many bits may differ",
    ),
    (
        &["ngram", "ngrams", "ngram-size", "n-grams", "shingles", "shingle-size", "window"],
        "--shingle N is the number of words in a feature",
    ),
    (
        &["num-perm", "num-perms", "permutations", "num-hashes", "bands", "num-bands", "rows"],
        "--recipe hash=minhash:BxN,R has B bands of N bits with R MinHash values each",
    ),
    (
        &["tokens", "tokenizer", "stop", "stopwords", "stop-words", "clean", "hash", "hash-func", "weights"],
        "--recipe 'tokens=… stop=… clean=… hash=…' has the parts of a recipe: see --help",
    ),
    (
        &["cut-after", "cut", "cut-at", "truncate-at"],
        "--recipe clean=cut:TEXT,detect-html,nfc,lower cuts texts at TEXT, before the steps after it: see --help",
    ),
    (&["jobs", "workers", "num-workers", "num-proc", "processes", "cores"], "-j N is the number of threads"),
    (
        &["column", "text-column", "text-key", "field"],
        "--text-field NAME is the field with the text, --key-field NAME the one with the key",
    ),
    (&["output-dir", "output-file", "out", "output-path"], "-o OUT is the file or folder to write"),
    (
        &["move", "d", "move-to", "hardlink", "reflink", "delete", "trash"],
        "`nearprint prune --move-to DIR` moves files, and `nearprint undo` brings them back",
    ),
    (
        &["unit", "paragraph", "paragraphs", "line", "lines", "passage", "passages"],
        "`nearprint trim --by paragraph` removes paragraphs, lines or passages that recur",
    ),
    (
        &["directories", "directory", "path", "input", "input-file", "file", "files", "i"],
        "inputs are given without an option",
    ),
    (&["exact", "identical"], "`scan --copies` and `prune --copies` compare bytes only"),
    (&["hex", "hexadecimal"], "--radix 16 reads hexadecimal digits without 0x"),
    (&["recursive", "recurse", "r"], "a folder is read with all folders in it"),
    (&["diff"], "`nearprint compare A B --words` prints the words that differ"),
    (
        &["id-from", "start-id"],
        "--first-id N numbers the rows from N on; an id may follow a fingerprint, after a tab",
    ),
];

/// An error without clap's guess, and what to give instead, if it is about an option that other programs have.
pub(crate) fn with_hint(mut error: clap::Error) -> (clap::Error, Option<&'static str>) {
    let hint = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => hint_of(argument),
        _ => None,
    };
    without_far_guesses(&mut error);
    if hint.is_some() {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Suggested);
    }
    (error, hint)
}

/// Commands of other programs, and what does the same here.
const COMMANDS: [(&[&str], &str); 7] = [
    (&["dupes", "dup", "find", "duplicates", "group", "image", "images"], "nearprint scan FOLDER"),
    (&["dedupe", "deduplicate"], "nearprint dedup INPUT -o OUT"),
    (&["clean"], "nearprint trim INPUT -o OUT"),
    (&["info"], "nearprint stats DB"),
    (&["search", "lookup"], "nearprint query DB"),
    (&["index"], "nearprint build DB INPUT"),
    (&["minhash", "simhash", "hash"], "nearprint fingerprint INPUT"),
];

/// The most letters in which a word may differ from the one that is meant.
const MOST_EDITS: usize = 2;

/// What to say of a word that is no command: what it is, and what to give instead.
pub(crate) fn no_command(error: &clap::Error) -> Option<(String, String)> {
    let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    else {
        return None;
    };
    if let Some((_, command)) = COMMANDS.iter().find(|(words, _)| words.contains(&&**word)) {
        return Some((format!("no command {word:?}"), (*command).into()));
    }
    let found = look_at(Path::new(word)).ok()?;
    let (what, hint) = match found.map(|found| found.kind) {
        None => ("folder", format!("nearprint scan {word}")),
        Some(Kind::Database) => {
            ("database", format!("nearprint stats {word}, or nearprint query {word} -f FINGERPRINT"))
        }
        Some(Kind::Records(_)) => ("file", format!("nearprint dedup {word} -o OUT")),
        Some(_) => ("file", format!("nearprint compare {word} OTHER")),
    };
    Some((format!("no command {word:?}, but there is a {what} of that name"), hint))
}

/// Removes guesses that are far from what was given.
fn without_far_guesses(error: &mut clap::Error) {
    for (invalid, suggested) in [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    ] {
        let Some(ContextValue::String(given)) = error.get(invalid).cloned() else { continue };
        let is_near = |guess: &String| num_edits(&given, guess) <= MOST_EDITS;
        let kept = match error.get(suggested) {
            Some(ContextValue::String(guess)) => is_near(guess).then(|| ContextValue::String(guess.clone())),
            Some(ContextValue::Strings(guesses)) => {
                let near: Vec<String> = guesses.iter().filter(|guess| is_near(guess)).cloned().collect();
                (!near.is_empty()).then_some(ContextValue::Strings(near))
            }
            _ => continue,
        };
        if kept.is_none() {
            // It would show the guess, too.
            error.remove(ContextKind::Usage);
        }
        error.remove(suggested);
        kept.into_iter().for_each(|kept| drop(error.insert(suggested, kept)));
    }
}

/// How many letters are inserted, removed or replaced between two words.
fn num_edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (line, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (at, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[b.len()]
}

fn hint_of(argument: &str) -> Option<&'static str> {
    let name = argument.strip_prefix('-')?.trim_start_matches('-').replace('_', "-");
    NAMES.iter().find(|(names, _)| names.contains(&&*name)).map(|(_, hint)| *hint)
}
