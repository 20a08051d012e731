//! `nearprint fingerprint`

use std::io::{self, Write};
use std::path::PathBuf;

use crate::Global;
use crate::documents::{DocumentArgs, Rejects, warn};
use crate::failure::Failure;
use crate::output::{Format, Output, escape, json};
use crate::recipe::RecipeArgs;
use crate::width::with_width;
use nearprint::{Fingerprint, Printed};
use nearprint_text::documents::{self, BadRecord, Item, Record};
use nearprint_text::recipe::{Fingerprinted, Fingerprinter, ParseWeightError, Recipe, Weight, weighted};

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
pub(crate) struct Args {
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

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let recipe = self.recipe.recipe()?;
        with_width!(recipe.width(), F => self.run_wide::<F>(&recipe, global))
    }

    fn run_wide<F: Fingerprint>(&self, recipe: &Recipe, global: Global) -> Result<(), Failure> {
        let mut reader = self.documents.open(&self.inputs, documents::Format::Text)?;
        let fingerprinter = recipe.fingerprinter::<F>()?;
        let work = Work { args: self, format: reader.format() };
        let rejects = self.documents.rejects(&reader, &[])?;
        let mut printer = Printer {
            format: self.format,
            out: Output::stdout(),
            rejects,
            num_short: 0,
            num_replaced: 0,
            num_empty: 0,
        };
        let read = documents::each(
            &mut reader,
            global.options().num_threads(),
            || fingerprinter.clone(),
            |item, fingerprinter| work.done(item, fingerprinter),
            |done, _| done.into_iter().try_for_each(|done| printer.take(done)),
        );
        // What stands before a bad record is printed.
        printer.out.flush()?;
        read?;
        printer.finish(self.min_tokens, global)
    }
}

/// What a record came to.
enum Done<F> {
    Made {
        key: String,
        value: F,
        is_empty: bool,
        invalid_utf8: bool,
    },
    /// How it came to its fingerprint, for people.
    Explained {
        text: String,
        is_empty: bool,
        invalid_utf8: bool,
    },
    /// Of too few tokens; as it stands in the input.
    Short(Vec<u8>),
    Bad(BadRecord),
}

/// What is done with each record.
struct Work<'a> {
    args: &'a Args,
    /// How documents stand in the inputs.
    format: documents::Format,
}

impl Work<'_> {
    fn done<F: Fingerprint>(&self, item: Item, fingerprinter: &mut Fingerprinter<F>) -> Done<F> {
        let record = match item {
            Item::Bad(bad) => return Done::Bad(bad),
            Item::Record(record) => record,
        };
        let invalid_utf8 = record.invalid_utf8;
        if self.args.explain {
            let (text, is_empty) = explain(fingerprinter, &record.key, &record.text);
            return Done::Explained { text, is_empty, invalid_utf8 };
        }
        let fingerprinted = match self.args.features {
            true => from_features(fingerprinter, &record, self.format),
            false => Ok(fingerprinter.fingerprint(&record.text)),
        };
        match fingerprinted {
            Ok(Fingerprinted { num_tokens, .. }) if num_tokens < self.args.min_tokens => {
                Done::Short(record.raw().to_vec())
            }
            Ok(Fingerprinted { value, num_tokens }) => {
                Done::Made { key: record.key, value, is_empty: num_tokens == 0, invalid_utf8 }
            }
            Err(bad) => Done::Bad(bad),
        }
    }
}

/// Prints what records came to.
struct Printer {
    format: Format,
    out: Output,
    rejects: Rejects,
    num_short: u64,
    num_replaced: u64,
    num_empty: u64,
}

impl Printer {
    fn take<F: Fingerprint>(&mut self, done: Done<F>) -> Result<(), Failure> {
        let (is_empty, invalid_utf8) = match done {
            Done::Made { key, value, is_empty, invalid_utf8 } => {
                let format = self.format;
                self.out.write(|out| print(format, out, value, &key))?;
                (is_empty, invalid_utf8)
            }
            Done::Explained { text, is_empty, invalid_utf8 } => {
                self.out.write(|out| out.write_all(text.as_bytes()))?;
                (is_empty, invalid_utf8)
            }
            Done::Short(raw) => {
                self.num_short += 1;
                return Ok(self.rejects.set_aside(&raw)?);
            }
            Done::Bad(bad) => return self.rejects.take(&bad),
        };
        self.num_empty += u64::from(is_empty);
        self.num_replaced += u64::from(invalid_utf8);
        Ok(())
    }

    /// Tells what was odd.
    fn finish(self, min_tokens: usize, global: Global) -> Result<(), Failure> {
        let num_bad = self.rejects.count;
        self.rejects.finish()?;
        warn(global, self.num_replaced, self.num_empty);
        if num_bad > 0 {
            global.note(format_args!("warning: {num_bad} bad records were set aside"));
        }
        if self.num_short > 0 {
            let num_short = self.num_short;
            global
                .note(format_args!("{num_short} documents of fewer than {min_tokens} tokens were set aside"));
        }
        Ok(())
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
    let weight = weight.trim().parse().map_err(|error: ParseWeightError| error.to_string())?;
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

/// How a text comes to its fingerprint, each line with what it is in front, and whether it has no token.
fn explain<F: Fingerprint>(fingerprinter: &mut Fingerprinter<F>, key: &str, text: &str) -> (String, bool) {
    let explained = fingerprinter.explain(text);
    let mut lines = vec![format!("key\t{}", escape(key)), format!("recipe\t{}", fingerprinter.recipe())];
    lines.extend(explained.tokens.iter().map(|token| format!("token\t{}", escape(token))));
    lines.extend(explained.features.iter().map(|feature| {
        let (text, hash) = (escape(&feature.text), Printed(feature.hash));
        format!("feature\t{text}\tweight {}\thash {hash}", feature.weight)
    }));
    let bits = (0..F::BITS).rev().zip(&explained.sums);
    lines.extend(bits.map(|(bit, sum)| format!("bit {bit}\tsum {sum}\t{}", u8::from(sum.is_positive()))));
    lines.push(format!("fingerprint\t{}\n", Printed(explained.value)));
    (lines.join("\n"), explained.tokens.is_empty())
}
