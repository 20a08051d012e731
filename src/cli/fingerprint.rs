//! `nearprint fingerprint`

use std::io::{self, Write};
use std::path::PathBuf;

use super::Global;
use super::documents::{DocumentArgs, Rejects, warn};
use super::failure::Failure;
use super::output::{Format, Output, escape, json};
use super::recipe::{RecipeArgs, unsupported};
use crate::documents::{self, BadRecord, Item, RawRecord, Record};
use crate::simhash::{Fingerprinted, Fingerprinter, Recipe, Weight, weighted};
use crate::{Error, Fingerprint, Printed, parallel};

/// Make fingerprints of texts
///
/// Prints `fingerprint key` for each document, in input order. Each line of JSON lines and each row of CSV,
/// TSV and Parquet is a document; any other file is one as a whole, and so is standard input unless
/// --input-format says what it is. Folders stand for all files in them. Inputs may be compressed with gzip or
/// Zstandard. Fingerprints of 64 bits are decimal, wider ones hexadecimal.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint fingerprint a.txt b.txt
  nearprint fingerprint pages.jsonl.gz --text-field body --key-field url
  nearprint fingerprint page.html --clean html,nfc,lower --shingle 3
  echo 'one two three' | nearprint fingerprint --recipe seomoz-cpp --explain
  printf '0x25\\t3\\n0x2b\\t5\\n' | nearprint fingerprint --features")]
pub(super) struct Args {
    /// Files and folders of documents, - for standard input; without any, standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Show how each text comes to its fingerprint: tokens, features with weights and hashes, the sum of
    /// each bit
    #[arg(long, conflicts_with_all = ["features", "format", "min_tokens"])]
    explain: bool,
    /// Each document is not a text but a list of features: lines of WORD or 0xHASH, a tab, and the
    /// weight
    #[arg(long)]
    features: bool,
    /// Set documents with fewer tokens aside: they get no fingerprint, and go to --rejects
    #[arg(long, value_name = "N", default_value = "0")]
    min_tokens: usize,
    /// How results are written
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: Format,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// Bytes of documents that are held to be worked on together.
const BATCH_BYTES: usize = 8 << 20;
/// The same for their number, which small ones would let grow.
const BATCH_RECORDS: usize = 1 << 16;
/// Documents that a thread takes at once.
const RECORDS_AT_ONCE: usize = 64;

impl Args {
    pub(super) fn run(self, global: Global) -> Result<(), Failure> {
        let recipe = self.recipe.recipe()?;
        match recipe.width() {
            64 => self.run_wide::<u64>(&recipe, global),
            128 => self.run_wide::<u128>(&recipe, global),
            _ => Err(unsupported(&recipe)),
        }
    }

    fn run_wide<F: Fingerprint>(&self, recipe: &Recipe, global: Global) -> Result<(), Failure> {
        let mut reader = self.documents.open_as(&self.inputs, None, documents::Format::Text)?;
        let mut batch = Batch {
            args: self,
            threads: global.options().threads,
            features_in: self.features.then_some(reader.format()),
            num_short: 0,
            fingerprinter: recipe.fingerprinter::<F>()?,
            records: Vec::new(),
            len_bytes: 0,
            rejects: self.documents.rejects()?,
            num_replaced: 0,
            num_empty: 0,
            out: Output::stdout(),
        };
        let read = loop {
            match reader.next_raw() {
                Ok(Some(record)) => batch.push(record)?,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        batch.finish(global)?;
        Ok(read?)
    }
}

/// Documents that wait to be worked on by all threads.
struct Batch<'a, F> {
    args: &'a Args,
    threads: usize,
    /// Where documents are lists of features: how they stand in the inputs.
    features_in: Option<documents::Format>,
    fingerprinter: Fingerprinter<F>,
    records: Vec<RawRecord>,
    len_bytes: usize,
    rejects: Rejects,
    num_short: u64,
    num_replaced: u64,
    num_empty: u64,
    out: Output,
}

/// What a record came to.
enum Done<F> {
    Made {
        key: String,
        invalid_utf8: bool,
        fingerprinted: Fingerprinted<F>,
    },
    /// Of too few tokens; as it stands in the input.
    Short(Vec<u8>),
    Bad(BadRecord),
}

impl<F: Fingerprint> Batch<'_, F> {
    fn push(&mut self, record: RawRecord) -> Result<(), Failure> {
        self.len_bytes += record.len_bytes();
        self.records.push(record);
        let full = self.len_bytes >= BATCH_BYTES || self.records.len() == BATCH_RECORDS;
        if full { self.work() } else { Ok(()) }
    }

    fn work(&mut self) -> Result<(), Failure> {
        let records = std::mem::take(&mut self.records);
        self.len_bytes = 0;
        if self.args.explain {
            return records.into_iter().try_for_each(|record| self.explain(record.parse()));
        }
        for done in self.fingerprints(&records)? {
            match done {
                Done::Bad(bad) => self.reject(&bad)?,
                Done::Short(raw) => {
                    self.num_short += 1;
                    self.rejects.set_aside(&raw)?;
                }
                Done::Made { key, invalid_utf8, fingerprinted } => {
                    self.num_replaced += u64::from(invalid_utf8);
                    self.num_empty += u64::from(fingerprinted.num_tokens == 0);
                    let format = self.args.format;
                    self.out.write(|out| print(format, out, fingerprinted.value, &key))?;
                }
            }
        }
        Ok(())
    }

    /// Sets a record aside. Where that ends the run, what has been made before is printed first.
    fn reject(&mut self, bad: &BadRecord) -> Result<(), Failure> {
        let taken = self.rejects.take(bad);
        if taken.is_err() {
            self.out.flush()?
        }
        taken
    }

    /// What records come to, in their order.
    fn fingerprints(&self, records: &[RawRecord]) -> Result<Vec<Done<F>>, Error> {
        let chunks: Vec<_> = records.chunks(RECORDS_AT_ONCE).collect();
        let mut all = Vec::with_capacity(records.len());
        let (features_in, fingerprinter) = (self.features_in, &self.fingerprinter);
        let min_tokens = self.args.min_tokens;
        let state = || fingerprinter.clone();
        let work = |chunk: usize, fingerprinter: &mut Fingerprinter<F>, sink: parallel::Sink<'_, _>| {
            let one =
                |record: &RawRecord| made(fingerprinter, record.clone().parse(), features_in, min_tokens);
            // Whoever wants no more has got an error already.
            let _ = sink(chunks[chunk].iter().map(one).collect::<Vec<_>>());
            Ok(())
        };
        parallel::ordered(self.threads, chunks.len(), state, work, |done| {
            all.extend(done);
            Ok(())
        })?;
        Ok(all)
    }

    fn explain(&mut self, item: Item) -> Result<(), Failure> {
        let record = match item {
            Item::Bad(bad) => return self.reject(&bad),
            Item::Record(record) => record,
        };
        let fingerprinter = &mut self.fingerprinter;
        let mut is_empty = false;
        self.out.write(|out| {
            is_empty = explain(fingerprinter, &record.key, &record.text, out)?;
            Ok(())
        })?;
        self.num_replaced += u64::from(record.invalid_utf8);
        self.num_empty += u64::from(is_empty);
        Ok(())
    }

    /// Works on the rest, and tells what was odd.
    fn finish(mut self, global: Global) -> Result<(), Failure> {
        self.work()?;
        self.out.flush()?;
        let (num_bad, num_short) = (self.rejects.count, self.num_short);
        self.rejects.finish()?;
        warn(global, self.num_replaced, self.num_empty);
        if num_bad > 0 {
            global.note(format_args!("warning: {num_bad} bad records were set aside"));
        }
        if num_short > 0 {
            let min_tokens = self.args.min_tokens;
            global
                .note(format_args!("{num_short} documents of fewer than {min_tokens} tokens were set aside"));
        }
        Ok(())
    }
}

fn made<F: Fingerprint>(
    fingerprinter: &mut Fingerprinter<F>,
    item: Item,
    features_in: Option<documents::Format>,
    min_tokens: usize,
) -> Done<F> {
    let record = match item {
        Item::Bad(bad) => return Done::Bad(bad),
        Item::Record(record) => record,
    };
    let fingerprinted = match features_in {
        Some(format) => from_features(fingerprinter, &record, format),
        None => Ok(fingerprinter.fingerprint(&record.text)),
    };
    match fingerprinted {
        Ok(fingerprinted) if fingerprinted.num_tokens < min_tokens => Done::Short(record.raw().to_vec()),
        Ok(fingerprinted) => Done::Made { key: record.key, invalid_utf8: record.invalid_utf8, fingerprinted },
        Err(bad) => Done::Bad(bad),
    }
}

/// The fingerprint of features that are given with their weights.
fn from_features<F: Fingerprint>(
    fingerprinter: &Fingerprinter<F>,
    record: &Record,
    format: documents::Format,
) -> Result<Fingerprinted<F>, BadRecord> {
    let mut features = Vec::new();
    for (number, line) in (0..).zip(record.text.lines()) {
        let feature = parse_feature(fingerprinter, line);
        features.push(
            feature.map_err(|why| bad_feature(record, format, number, &format!("{why}: {line:.120?}")))?,
        );
    }
    Ok(Fingerprinted { num_tokens: features.len(), value: weighted(features) })
}

/// A record without a fingerprint because of one line of its text, counted from 0.
fn bad_feature(record: &Record, format: documents::Format, number: u64, why: &str) -> BadRecord {
    let mut place = record.place.clone();
    let reason = if format == documents::Format::Text {
        place.line += number;
        why.to_string()
    } else {
        // Of JSON and CSV, lines of a text are not those of the file.
        format!("line {} of its features: {why}", number + 1)
    };
    BadRecord { place, reason, raw: record.raw().to_vec() }
}

fn parse_feature<F: Fingerprint>(
    fingerprinter: &Fingerprinter<F>,
    line: &str,
) -> Result<(F, Weight), String> {
    let (feature, weight) = line.rsplit_once('\t').ok_or("no tab, where a weight should follow")?;
    let weight = weight.trim().parse()?;
    let hash = match feature.strip_prefix("0x") {
        Some(_) => F::parse(feature).map_err(|error| error.to_string())?,
        None => fingerprinter.hash(feature),
    };
    Ok((hash, weight))
}

fn print<F: Fingerprint>(format: Format, out: &mut dyn Write, value: F, key: &str) -> io::Result<()> {
    let value = Printed(value);
    match format {
        Format::Tsv => writeln!(out, "{value}\t{}", escape(key)),
        Format::Json => writeln!(out, r#"{{"fingerprint":"{value}","key":{}}}"#, json(key)),
    }
}

/// Prints how a text comes to its fingerprint, each line with what it is in front, and tells whether it
/// has no token.
fn explain<F: Fingerprint>(
    fingerprinter: &mut Fingerprinter<F>,
    key: &str,
    text: &str,
    out: &mut dyn Write,
) -> io::Result<bool> {
    let explained = fingerprinter.explain(text);
    writeln!(out, "key\t{}", escape(key))?;
    writeln!(out, "recipe\t{}", fingerprinter.recipe())?;
    for token in &explained.tokens {
        writeln!(out, "token\t{}", escape(token))?;
    }
    for feature in &explained.features {
        let text = escape(&feature.text);
        writeln!(out, "feature\t{text}\tweight {}\thash {}", feature.weight, Printed(feature.hash))?;
    }
    for (bit, sum) in (0..F::BITS).rev().zip(&explained.sums) {
        writeln!(out, "bit {bit}\tsum {sum}\t{}", u8::from(sum.is_positive()))?;
    }
    writeln!(out, "fingerprint\t{}", Printed(explained.value))?;
    Ok(explained.tokens.is_empty())
}
