//! Generates pages, some of them copies with small changes: documents of any number, to measure
//! deduplication.
//!
//! ```sh
//! cargo run --release --package measures --bin generated_pages -- 24000 > pages.jsonl
//! cargo run --release --package measures --bin generated_pages -- 24000 --seed 2 --template 0.3 > templated.jsonl
//! cargo run --release --package measures --bin generated_pages -- 100000 --forms 50 > forms.jsonl
//! cargo run --release --package measures --bin generated_pages -- 1000000 --first 3000000 --short > fourth.jsonl
//! ```
//!
//! Each line is a page, `{"key", "group", "text"}`; a copy has the group of the page that it was
//! copied from. The same arguments yield the same bytes on every machine, and a page depends on its
//! number and the seed alone: the first million pages are the same whatever their number. Memory
//! does not depend on the number.
//!
//! A page has 6 to 14 paragraphs of 20 to 60 words, whose frequencies follow Zipf's law; one in
//! eight is from a pool of paragraphs that all pages share. Three in ten pages are copies of an
//! earlier one, with 0.5 to 8 % of their words replaced, left out or inserted. `--template` is the
//! share of pages, 0 to 1, that begin and end with the same 150 words.
//!
//! With `--short`, a page is one paragraph of 62 words, some 440 bytes, and two in ten pages are copies with up to
//! seven other words. `--first` is the number of the first page, to write many files one by one.
//!
//! With `--forms`, a page that is no copy is one of so many forms of six paragraphs, in which some words
//! are its own: 2 to 30 % of them, as the form has it. Pages of one form are different documents.

use std::io::{BufWriter, Write};

/// Different words.
const VOCABULARY: u64 = 60_000;
/// Paragraphs that all pages share.
const POOL: u64 = 2000;
const TEMPLATE_WORDS: u64 = 150;
/// Words of a short page.
const SHORT_WORDS: u64 = 62;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().ok_or("expected a number of pages")?.parse()?;
    let (mut seed, mut template, mut forms, mut first, mut short) = (1, 0.0, 0, 0u64, false);
    while let Some(option) = arguments.next() {
        if option == "--short" {
            short = true;
            continue;
        }
        let value = arguments.next().ok_or("expected a value after an option")?;
        match option.as_str() {
            "--seed" => seed = value.parse()?,
            "--template" => template = value.parse()?,
            "--forms" => forms = value.parse()?,
            "--first" => first = value.parse()?,
            other => {
                return Err(format!("{other}: not --seed, --template, --forms, --first or --short").into());
            }
        }
    }
    if !(0.0..=1.0).contains(&template) {
        return Err(format!("--template {template}: expected a share from 0 to 1").into());
    }
    let pages = Pages { seed, template, forms, short };
    let mut out = BufWriter::new(std::io::stdout().lock());
    for number in first..first + count {
        let (group, text) = (pages.origin(number), pages.text(number));
        let (key, group) = (format!("page-{number}"), format!("group-{group}"));
        writeln!(out, "{}", serde_json::json!({ "key": key, "group": group, "text": text }))?;
    }
    Ok(out.flush()?)
}

/// Random numbers by SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    /// Independent numbers for each purpose and number.
    fn of(seed: u64, purpose: u64, number: u64) -> Self {
        let mut random = Self(seed);
        random.0 = random.next() ^ purpose;
        random.0 = random.next() ^ number;
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from 0 to 1, 1 excluded.
    fn share(&mut self) -> f64 {
        self.below(1 << 53) as f64 / (1u64 << 53) as f64
    }

    /// The rank of a word: the logarithm is uniform, so that frequencies fall as one by the rank.
    /// Integers alone decide, which are the same on every machine.
    fn word(&mut self) -> u64 {
        let octaves = VOCABULARY.ilog2();
        let first = 1 << self.below(u64::from(octaves) + 1);
        (first + self.below(first)).min(VOCABULARY)
    }
}

/// The spelling of a word: syllables that encode its rank.
fn spell(mut rank: u64, out: &mut String) {
    const ONSETS: [&str; 16] =
        ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "pl"];
    const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ai", "ou", "ea"];
    while rank > 0 {
        let [onset, vowel] = [rank % 16, rank / 16 % 8];
        out.push_str(ONSETS[usize::try_from(onset).unwrap_or(0)]);
        out.push_str(VOWELS[usize::try_from(vowel).unwrap_or(0)]);
        rank /= 128;
    }
}

/// All pages of a seed.
struct Pages {
    seed: u64,
    template: f64,
    /// 0 if each page has words of its own.
    forms: u64,
    /// Whether a page is one paragraph.
    short: bool,
}

impl Pages {
    fn random(&self, purpose: u64, number: u64) -> Random {
        Random::of(self.seed, purpose, number)
    }

    /// The page that a page was copied from, over all copies between; itself if it is no copy.
    fn origin(&self, mut number: u64) -> u64 {
        loop {
            let mut random = self.random(1, number);
            let copies = if self.short { 2 } else { 3 };
            if number == 0 || random.below(10) >= copies {
                return number;
            }
            number = random.below(number);
        }
    }

    /// The paragraphs of a page that is no copy, as ranks of words.
    fn paragraphs(&self, number: u64) -> Vec<Vec<u64>> {
        let mut random = self.random(2, number);
        if self.forms > 0 {
            return self.filled_form(&mut random);
        }
        if self.short {
            return vec![(0..SHORT_WORDS).map(|_| random.word()).collect()];
        }
        let count = 6 + random.below(9);
        let mut paragraph = || match random.below(8) {
            0 => words(&mut self.random(3, random.below(POOL))),
            _ => words(&mut random),
        };
        (0..count).map(|_| paragraph()).collect()
    }

    /// The paragraphs of a form with words of a page.
    fn filled_form(&self, own: &mut Random) -> Vec<Vec<u64>> {
        let mut form = self.random(7, own.below(self.forms));
        let own_per_mille = 20 + form.below(281);
        let mut word = |word, form: &mut Random| match form.below(1000) < own_per_mille {
            true => own.word(),
            false => word,
        };
        let mut paragraph = |_| words(&mut form).into_iter().map(|fixed| word(fixed, &mut form)).collect();
        (0..6).map(&mut paragraph).collect()
    }

    fn text(&self, number: u64) -> String {
        let origin = self.origin(number);
        let mut paragraphs = self.paragraphs(origin);
        if origin != number {
            let mut random = self.random(4, number);
            match &mut paragraphs[..] {
                [only] if self.short => replace_some(only, &mut random),
                _ => {
                    let per_mille = 5 + random.below(76);
                    paragraphs =
                        paragraphs.iter().map(|words| changed(words, per_mille, &mut random)).collect();
                }
            }
        }
        if self.random(5, number).share() < self.template {
            let mut random = self.random(6, 0);
            let mut half = || (0..TEMPLATE_WORDS / 2).map(|_| random.word()).collect();
            paragraphs.insert(0, half());
            paragraphs.push(half());
        }
        let mut text = String::new();
        for paragraph in paragraphs {
            for (at, &word) in paragraph.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { " " });
                spell(word, &mut text);
            }
            text.push_str(".\n");
        }
        text
    }
}

fn words(random: &mut Random) -> Vec<u64> {
    (0..20 + random.below(41)).map(|_| random.word()).collect()
}

/// Replaces up to seven words.
fn replace_some(words: &mut [u64], random: &mut Random) {
    for _ in 0..random.below(8) {
        let at = usize::try_from(random.below(SHORT_WORDS)).unwrap_or(0);
        words[at] = random.word();
    }
}

/// Words; some are replaced, left out, or have another one before them.
fn changed(words: &[u64], per_mille: u64, random: &mut Random) -> Vec<u64> {
    let mut out = Vec::new();
    for &word in words {
        if random.below(1000) >= per_mille {
            out.push(word);
            continue;
        }
        match random.below(3) {
            0 => out.push(random.word()),
            1 => {}
            _ => out.extend([random.word(), word]),
        }
    }
    out
}
