//! Makes a set of labelled pages: which of them are versions of the same article is known.
//!
//! ```sh
//! cargo run --release --example labelled_pages > pages.jsonl
//! cargo run --release --example labelled_pages -- 1-2 > short.jsonl
//! nearprint tune pages.jsonl --group-field group
//! ```
//!
//! Each line is a page, `{"key", "group", "text"}`; pages of one group are versions of one article. The
//! optional argument says how many paragraphs articles have. The same sources and argument give the same
//! bytes on every machine.
//!
//! How it is made (`pages.rs` has the numbers). Sixty sites have a navigation, a cookie notice and a footer
//! of their own, the same on all of their pages; every page also has a date, counters and a list of related
//! headlines, which are never the same twice. An article is 12 to 30 paragraphs. In the second version of it
//! one to three paragraphs are rewritten, reworded, removed, added or moved, and a few words change elsewhere;
//! the third is the second with a few more words changed. Every eighth article quotes one or two paragraphs
//! of another one, which makes them no duplicates.
//!
//! The sentences are made by a Markov model of the prose in this project's own dependencies, one model for
//! each topic, which is a crate: English that every machine with cargo has.

mod model;
mod pages;
mod prose;

use std::io::{BufWriter, Write};
use std::ops::RangeInclusive;

use model::Random;

/// Any number would do; results are quoted for this one.
const SEED: u64 = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paragraphs = match std::env::args().nth(1) {
        Some(range) => parse_range(&range).ok_or("expected a number of paragraphs, such as 12-30")?,
        None => 12..=30,
    };
    let topics = prose::topics()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for page in pages::all(&topics, &paragraphs, &mut Random::new(SEED)) {
        let pages::Page { key, group, text } = page;
        writeln!(out, "{}", serde_json::json!({ "key": key, "group": group, "text": text }))?;
    }
    Ok(out.flush()?)
}

fn parse_range(text: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = text.split_once('-')?;
    let range = first.parse().ok()?..=last.parse().ok()?;
    (*range.start() > 0 && range.start() <= range.end()).then_some(range)
}
