//! `nearprint fingerprint`

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::Global;
use super::failure::{Failure, STDIN};
use super::output::{Format, Output};
use super::recipe::{RecipeArgs, unsupported};
use crate::simhash::{Fingerprinted, Fingerprinter, Recipe, Weight, weighted};
use crate::{Error, Fingerprint, Printed, parallel};

/// Make fingerprints of texts
///
/// Each input is one text. Prints `fingerprint key` for each, in input order; the key is the name of the
/// file. Fingerprints of 64 bits are decimal, wider ones hexadecimal.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint fingerprint a.txt b.txt
  nearprint fingerprint page.html --clean html,nfc,lower --shingle 3
  echo 'one two three' | nearprint fingerprint --recipe seomoz-cpp --explain
  printf '0x25\\t3\\n0x2b\\t5\\n' | nearprint fingerprint --features")]
pub(super) struct Args {
    /// Files of text, - for standard input; without any, standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Show how each text comes to its fingerprint: tokens, features with weights and hashes, the sum of
    /// each bit
    #[arg(long, conflicts_with_all = ["features", "format"])]
    explain: bool,
    /// Each input is not a text but a list of features: lines of WORD or 0xHASH, a tab, and the
    /// weight
    #[arg(long)]
    features: bool,
    /// How results are written
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: Format,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// Bytes of text that are held to be worked on together.
const BATCH_BYTES: usize = 8 << 20;
/// Texts that a thread takes at once.
const TEXTS_AT_ONCE: usize = 64;

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
        let mut batch = Batch {
            args: self,
            threads: global.options().threads,
            fingerprinter: recipe.fingerprinter::<F>()?,
            texts: Vec::new(),
            len_bytes: 0,
            num_empty: 0,
            out: Output::stdout(),
        };
        let num_replaced = for_each_document(&self.inputs, &mut |key, text| batch.push(key, text))?;
        batch.work()?;
        batch.out.flush()?;
        warn(global, num_replaced, batch.num_empty);
        Ok(())
    }
}

/// Calls `visit(key, text)` for each input, and tells how many were no valid UTF-8; what is not is
/// replaced by U+FFFD.
pub(super) fn for_each_document(
    inputs: &[PathBuf],
    visit: &mut dyn FnMut(&str, &str) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let stdin = [PathBuf::from("-")];
    let mut num_replaced = 0;
    for path in if inputs.is_empty() { &stdin[..] } else { inputs } {
        let bytes = read(path)?;
        let text = String::from_utf8_lossy(&bytes);
        num_replaced += u64::from(matches!(text, std::borrow::Cow::Owned(_)));
        visit(&path.to_string_lossy(), &text)?;
    }
    Ok(num_replaced)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    if path != Path::new("-") {
        return std::fs::read(path).map_err(|source| Error::Io {
            action: "read",
            path: path.to_path_buf(),
            source,
        });
    }
    let mut bytes = Vec::new();
    let failed = |source| Error::Io { action: "read", path: STDIN.into(), source };
    io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Warns of texts that are likely to be no good.
pub(super) fn warn(global: Global, num_replaced: u64, num_empty: u64) {
    if num_replaced > 0 {
        let what = "not valid UTF-8; what is not was replaced";
        global.note(format_args!("warning: {num_replaced} of the inputs: {what}"));
    }
    if num_empty > 0 {
        let what = "without a token; they have the fingerprint 0";
        global.note(format_args!("warning: {num_empty} of the inputs: {what}"));
    }
}

/// Texts that wait to be worked on by all threads.
struct Batch<'a, F> {
    args: &'a Args,
    threads: usize,
    fingerprinter: Fingerprinter<F>,
    texts: Vec<(String, String)>,
    len_bytes: usize,
    num_empty: u64,
    out: Output,
}

impl<F: Fingerprint> Batch<'_, F> {
    fn push(&mut self, key: &str, text: &str) -> Result<(), Failure> {
        self.texts.push((key.to_string(), text.to_string()));
        self.len_bytes += text.len();
        if self.len_bytes < BATCH_BYTES { Ok(()) } else { self.work() }
    }

    fn work(&mut self) -> Result<(), Failure> {
        let texts = std::mem::take(&mut self.texts);
        self.len_bytes = 0;
        if self.args.explain {
            return texts.iter().try_for_each(|(key, text)| self.explain(key, text));
        }
        for ((key, _), done) in texts.iter().zip(self.fingerprints(&texts)?) {
            let Fingerprinted { value, num_tokens } = done?;
            self.num_empty += u64::from(num_tokens == 0);
            let format = self.args.format;
            self.out.write(|out| print(format, out, value, key))?;
        }
        Ok(())
    }

    /// The fingerprints of texts, in their order.
    fn fingerprints(
        &self,
        texts: &[(String, String)],
    ) -> Result<Vec<Result<Fingerprinted<F>, Failure>>, Error> {
        let chunks: Vec<_> = texts.chunks(TEXTS_AT_ONCE).collect();
        let mut all = Vec::with_capacity(texts.len());
        let (has_features, fingerprinter) = (self.args.features, &self.fingerprinter);
        let state = || fingerprinter.clone();
        let work = |chunk: usize, fingerprinter: &mut Fingerprinter<F>, sink: parallel::Sink<'_, _>| {
            let one = |(key, text): &(String, String)| match has_features {
                true => from_features(fingerprinter, key, text),
                false => Ok(fingerprinter.fingerprint(text)),
            };
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

    fn explain(&mut self, key: &str, text: &str) -> Result<(), Failure> {
        let fingerprinter = &mut self.fingerprinter;
        let mut is_empty = false;
        self.out.write(|out| {
            is_empty = explain(fingerprinter, key, text, out)?;
            Ok(())
        })?;
        self.num_empty += u64::from(is_empty);
        Ok(())
    }
}

/// The fingerprint of features that are given with their weights.
fn from_features<F: Fingerprint>(
    fingerprinter: &Fingerprinter<F>,
    key: &str,
    text: &str,
) -> Result<Fingerprinted<F>, Failure> {
    let mut features = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let feature = parse_feature(fingerprinter, line);
        features.push(feature.map_err(|why| Failure::line(key, number, why, line))?);
    }
    Ok(Fingerprinted { num_tokens: features.len(), value: weighted(features) })
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
        Format::Tsv => writeln!(out, "{value}\t{}", escaped(key)),
        Format::Json => writeln!(out, r#"{{"fingerprint":"{value}","key":{}}}"#, serde_json::json!(key)),
    }
}

/// A text as a column: tab, newline, carriage return and backslash are written \t \n \r \\.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            _ => out.push(char),
        }
    }
    out
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
    writeln!(out, "key\t{}", escaped(key))?;
    writeln!(out, "recipe\t{}", fingerprinter.recipe())?;
    for token in &explained.tokens {
        writeln!(out, "token\t{}", escaped(token))?;
    }
    for feature in &explained.features {
        let text = escaped(&feature.text);
        writeln!(out, "feature\t{text}\tweight {}\thash {}", feature.weight, Printed(feature.hash))?;
    }
    for (bit, sum) in (0..F::BITS).rev().zip(&explained.sums) {
        writeln!(out, "bit {bit}\tsum {sum}\t{}", u8::from(sum.is_positive()))?;
    }
    writeln!(out, "fingerprint\t{}", Printed(explained.value))?;
    Ok(explained.tokens.is_empty())
}
