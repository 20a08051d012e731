//! Generates labelled pages: versions of the same article are in one group.
//!
//! ```sh
//! cargo run --release --example labelled_pages > pages.jsonl
//! cargo run --release --example labelled_pages -- 1-2 > short.jsonl
//! nearprint tune pages.jsonl --group-field group
//! ```
//!
//! Each line is a page, `{"key", "group", "text"}`; pages of one group are versions of one article.
//! The optional argument is the range of paragraphs per article. The same sources and argument
//! yield the same bytes on every machine.
//!
//! Sixty sites have a navigation, a cookie notice and a footer of their own on all of their pages.
//! Every page also has a date, counters and a list of related headlines, which differ from page to
//! page. An article has 12 to 30 paragraphs. Its second version has one to three paragraphs
//! rewritten, reworded, removed, added or moved, and a few other words changed; the third version
//! has a few more words changed. Every eighth article quotes one or two paragraphs of another one,
//! which does not make them duplicates. `pages.rs` of testkit has the numbers.
//!
//! A Markov model of the documentation of one dependency makes the sentences of one topic.

use std::io::{BufWriter, Write};
use std::ops::RangeInclusive;

use testkit::labelled_pages::{Page, generate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paragraphs = match std::env::args().nth(1) {
        Some(range) => parse_range(&range).ok_or("expected a number of paragraphs, such as 12-30")?,
        None => 12..=30,
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    for Page { key, group, text } in generate(&paragraphs)? {
        writeln!(out, "{}", serde_json::json!({ "key": key, "group": group, "text": text }))?;
    }
    Ok(out.flush()?)
}

fn parse_range(text: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = text.split_once('-')?;
    let range = first.parse().ok()?..=last.parse().ok()?;
    (*range.start() > 0 && range.start() <= range.end()).then_some(range)
}
