//! Options that other programs have for what an option here does.

use clap::error::{ContextKind, ContextValue};

/// Names in datasketch, text-dedup, datatrove, simhash-py and czkawka, and what to give instead.
const NAMES: [(&[&str], &str); 8] = [
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
        "--hash minhash:BxN,R has B bands of N bits with R MinHash values each",
    ),
    (&["jobs", "workers", "num-workers", "num-proc", "processes", "cores"], "-j N is the number of threads"),
    (
        &["column", "text-column", "text-key", "field"],
        "--text-field NAME is the field with the text, --key-field NAME the one with the key",
    ),
    (&["output-dir", "output-file", "out", "output-path"], "-o OUT is the file or folder to write"),
    (&["directories", "directory", "path", "input", "input-file"], "inputs are given without an option"),
];

/// An error without clap's guess, and what to give instead, if it is about an option that other programs have.
pub(crate) fn with_hint(mut error: clap::Error) -> (clap::Error, Option<&'static str>) {
    let hint = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => hint_of(argument),
        _ => None,
    };
    if hint.is_some() {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Suggested);
    }
    (error, hint)
}

fn hint_of(argument: &str) -> Option<&'static str> {
    let name = argument.strip_prefix("--")?.replace('_', "-");
    NAMES.iter().find(|(names, _)| names.contains(&&*name)).map(|(_, hint)| *hint)
}
