//! `nearprint fingerprint`

use std::io::{self, Write};
use std::path::PathBuf;

use crate::args::{BaseArgs, DocumentArgs, GlobalArgs, InBase, RecipeArgs, check_read};
use crate::input::documents::{Rejects, UnusualDocuments, open};
use crate::pictures::{MAX_PICTURE_BYTES, PictureReader, each_picture, is_picture};
use crate::row_header::RowHeader;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::plural;
use crate::terminal::results::{ResultFormat, escape, escaped_key, json};
use nearprint::any::AnyFingerprint;
use nearprint::{Error, Radix, Width};
use nearprint_text::documents::{self, BadRecord, Item, Record, Spot};
use nearprint_text::recipe::{
    AnyFingerprinter, Comparable, Explained, Feature, Features, Fingerprinted, ParseWeightError, Recipe,
    Weight,
};

/// Print fingerprints of texts or images
///
/// Prints `fingerprint key` for each document, in input order. `build`, `add` and `query` read this. Each line of JSON
/// lines and each row of CSV, TSV and Parquet is a document. Any other file is one document, and so is standard input
/// without --input-format. A folder stands for all files in it. Inputs may be compressed with gzip, Zstandard, bzip2 or
/// xz. Fingerprints of 64 bits are decimal, wider ones hexadecimal.
///
/// If all inputs are images (JPEG, PNG, WebP, GIF, TIFF, BMP, HEIC), or with --recipe pdq, dhash or phash, prints
/// perceptual hashes, by default PDQ of 256 bits. JSON also has the quality, from 0 to 100. Images that cannot be
/// decoded are named, and the exit code is then 5.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint fingerprint a.txt b.txt
  nearprint fingerprint pages.jsonl.gz --text-field body --key-field url
  nearprint fingerprint articles --recipe minhash --header | nearprint build articles.np -
  nearprint fingerprint *.jpg
  nearprint fingerprint page.html --recipe clean=html,nfc,lower --shingle 3
  echo 'one two three' | nearprint fingerprint --recipe seomoz-cpp --explain
  printf '0x25\\t3\\n0x2b\\t5\\n' | nearprint fingerprint --features
  printf '0x25\\t3\\n0x2b\\t5\\n' | nearprint fingerprint --features --explain")]
pub(super) struct Args {
    /// Files and folders of documents; - or none for standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Print how each fingerprint is computed: tokens, features with weights and hashes, and the sum of each bit. With
    /// --features, it also prints what each feature adds to each sum, the most significant bit first
    #[arg(long, conflicts_with_all = ["format", "json", "min_words", "min_features"])]
    explain: bool,
    /// Read documents as lists of features instead of texts. A line has WORD, 0xHASH or 0bHASH, a tab, and a weight,
    /// which is not 0. A negative weight counts for the opposite of each bit
    #[arg(long)]
    features: bool,
    /// Skip documents with fewer words. They get no fingerprint, and are written to --rejects
    #[arg(long, value_name = "N", default_value = "0")]
    min_words: usize,
    /// Skip documents with fewer features. Features are what the recipe compares: shingles or keywords, repetitions
    /// included. The fingerprint of a document without features is 0; 1 skips it
    #[arg(long, value_name = "N", default_value = "0")]
    min_features: usize,
    /// Format of the results
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: ResultFormat,
    /// Print JSON, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Begin with a line for `build`, `add` and `query`: the width, the recipe and its distance. In TSV, a line with
    /// the names of the columns follows
    #[arg(long, conflicts_with = "explain")]
    header: bool,
    #[command(flatten)]
    base: BaseArgs,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

impl Args {
    pub(super) fn run(mut self, global: GlobalArgs) -> Result<(), Failure> {
        if self.json {
            self.format = ResultFormat::Json;
        }
        if let Some(recipe) = self.picture_recipe()? {
            return self.print_pictures(recipe, global);
        }
        let recipe = self.recipe.recipe_or(|| Ok("simhash".parse()?))?;
        if self.features && recipe.bands().is_some() {
            return Err(Failure::Usage(
                "--features needs a recipe of simhash; only simhashes weight features".into(),
            ));
        }
        self.print_texts(&recipe, global)
    }

    /// How pictures become fingerprints, if the inputs are pictures.
    fn picture_recipe(&self) -> Result<Option<nearprint_image::Recipe>, Failure> {
        if self.recipe.of_pictures().is_none()
            && (self.inputs.is_empty() || !self.inputs.iter().all(|path| self.is_of_pictures(path)))
        {
            return Ok(None);
        }
        let (files, _) = documents::list_files(&self.inputs, &self.documents.folder_rules())?;
        let files: Vec<PathBuf> = files.into_iter().map(|file| file.path).collect();
        let Some(recipe) = self.recipe.of_images(self.documents.decoding(), &files)? else {
            return Ok(None);
        };
        let of_texts = [
            (self.explain, "--explain"),
            (self.features, "--features"),
            (self.min_words > 0, "--min-words"),
            (self.min_features > 0, "--min-features"),
            (self.documents.rejects.is_some(), "--rejects"),
        ];
        if let Some((_, option)) = of_texts.into_iter().find(|(is_given, _)| *is_given) {
            return Err(Failure::Usage(format!("{option}: is of texts, where all inputs are images")));
        }
        if self.inputs.is_empty() || self.inputs.iter().any(|input| input.as_os_str() == "-") {
            return Err(Failure::Usage("images are files: standard input has none".into()));
        }
        self.base.check(recipe.width())?;
        Ok(Some(recipe))
    }

    /// Whether an input is a picture, or a folder with pictures and nothing else.
    fn is_of_pictures(&self, path: &PathBuf) -> bool {
        if !path.is_dir() {
            return is_picture(path);
        }
        let listed = documents::list_files(std::slice::from_ref(path), &self.documents.folder_rules());
        listed.is_ok_and(|(files, _)| !files.is_empty() && files.iter().all(|file| is_picture(&file.path)))
    }

    fn print_pictures(&self, recipe: nearprint_image::Recipe, global: GlobalArgs) -> Result<(), Failure> {
        let (files, _) = documents::list_files(&self.inputs, &self.documents.folder_rules())?;
        let files: Vec<PathBuf> = files.into_iter().map(|file| file.path).collect();
        let reader = PictureReader::new(MAX_PICTURE_BYTES, false);
        let mut out = OutputStream::stdout();
        let name = recipe.name().to_string();
        self.print_header(&mut out, recipe.width(), recipe.default_k(), name)?;
        let printed = each_picture(&files, &reader, recipe, global, |path, prints| {
            let [value, ..] = *prints.values else { return Ok(()) };
            let (path, value) = (path.to_string_lossy(), self.base.printed(value));
            Ok(out.write(|out| write_picture(self.format, out, value, &path, prints.quality))?)
        });
        // That nobody reads the others does not hide an image that could not be decoded.
        let flushed = out.flush();
        printed?;
        Ok(flushed?)
    }

    fn print_texts(&self, recipe: &Recipe, global: GlobalArgs) -> Result<(), Failure> {
        self.base.check(recipe.width())?;
        let mut reader = open(&self.documents, &self.inputs, documents::Format::Text)?;
        let fingerprinter = recipe.any_fingerprinter();
        let processor = Processor { args: self, format: reader.format() };
        let rejects = Rejects::create(&self.documents, (&reader, self.recipe.stop_words_file()), &[])?;
        let mut printer = Printer {
            format: self.format,
            base: self.base,
            out: OutputStream::stdout(),
            rejects,
            num_short: 0,
            unusual: UnusualDocuments::default(),
        };
        self.print_header(&mut printer.out, recipe.width(), recipe.default_k(), recipe.to_string())?;
        let read = documents::each(
            &mut reader,
            global.options().get_threads(),
            || fingerprinter.clone(),
            |item, fingerprinter| processor.process(item, fingerprinter),
            |processed, _| processed.into_iter().try_for_each(|item| printer.print(item)),
        );
        // The documents before a bad record are printed.
        printer.out.flush()?;
        read?;
        printer.finish(self, global)?;
        check_read(global, &reader)
    }

    fn print_header(
        &self,
        out: &mut OutputStream,
        width: Width,
        k: u32,
        recipe: String,
    ) -> Result<(), Error> {
        if !self.header {
            return Ok(());
        }
        let header = RowHeader { width: Some(width), k: Some(k), recipe: Some(recipe) };
        out.write(|out| header.write(self.format, out, &["fingerprint", "key"]))
    }
}

fn write_picture(
    format: ResultFormat,
    out: &mut dyn Write,
    value: InBase,
    path: &str,
    quality: u8,
) -> io::Result<()> {
    match format {
        ResultFormat::Tsv => write_fingerprint(format, out, value, path),
        ResultFormat::Json => {
            let key = json(path);
            writeln!(out, r#"{{"fingerprint":"{value}","key":{key},"quality":{quality}}}"#)
        }
    }
}

/// The result for one record.
enum Processed {
    Fingerprint {
        key: String,
        value: AnyFingerprint,
        comparable: Comparable,
        invalid_utf8: bool,
    },
    /// The text of `--explain`.
    Explanation {
        text: String,
        comparable: Comparable,
        invalid_utf8: bool,
    },
    /// A record with too few words or features, unchanged, and whether it may begin with a byte order mark.
    Short(Vec<u8>, bool),
    Bad(BadRecord),
}

/// Computes the result for each record.
struct Processor<'a> {
    args: &'a Args,
    /// The format of the inputs.
    format: documents::Format,
}

impl Processor<'_> {
    fn process(&self, item: Item, fingerprinter: &mut AnyFingerprinter) -> Processed {
        let record = match item {
            Item::Bad(bad) => return Processed::Bad(bad),
            Item::Record(record) => record,
        };
        let invalid_utf8 = record.invalid_utf8;
        if self.args.explain {
            let explained = match self.args.features {
                true => match parse_features(fingerprinter, &record, self.format) {
                    Ok(features) => explain_features(fingerprinter, &record.key, features),
                    Err(bad) => return Processed::Bad(bad),
                },
                false => explain(fingerprinter, &record.key, &record.text),
            };
            let (text, comparable) = explained;
            return Processed::Explanation { text, comparable, invalid_utf8 };
        }
        let fingerprinted = match self.args.features {
            true => parse_features(fingerprinter, &record, self.format).map(|features| {
                let num_features = features.len();
                let value = Explained::of_features(fingerprinter.recipe().width(), features).value;
                let (text_hash, features) = (0, Features::default());
                let has_markup = false;
                Fingerprinted {
                    value,
                    num_tokens: num_features,
                    num_features,
                    text_hash,
                    has_markup,
                    features,
                }
            }),
            false => Ok(fingerprinter.fingerprint(&record.text)),
        };
        match fingerprinted {
            Ok(found)
                if found.num_tokens < self.args.min_words || found.num_features < self.args.min_features =>
            {
                Processed::Short(record.raw().to_vec(), record.may_have_mark())
            }
            Ok(found) => {
                let (value, comparable) = (found.value, found.comparable());
                Processed::Fingerprint { key: record.key, value, comparable, invalid_utf8 }
            }
            Err(bad) => Processed::Bad(bad),
        }
    }
}

/// Prints results in input order, and counts what the final messages report.
struct Printer {
    format: ResultFormat,
    base: BaseArgs,
    out: OutputStream,
    rejects: Rejects,
    num_short: u64,
    unusual: UnusualDocuments,
}

impl Printer {
    fn print(&mut self, processed: Processed) -> Result<(), Failure> {
        let (comparable, invalid_utf8) = match processed {
            Processed::Fingerprint { key, value, comparable, invalid_utf8 } => {
                let (format, value) = (self.format, self.base.printed(value));
                self.out.write(|out| write_fingerprint(format, out, value, &key))?;
                (comparable, invalid_utf8)
            }
            Processed::Explanation { text, comparable, invalid_utf8 } => {
                self.out.write(|out| out.write_all(text.as_bytes()))?;
                (comparable, invalid_utf8)
            }
            Processed::Short(raw, may_have_mark) => {
                self.num_short += 1;
                return Ok(self.rejects.push(&raw, may_have_mark)?);
            }
            Processed::Bad(bad) => return self.rejects.push_bad(&bad),
        };
        self.unusual.push(comparable);
        self.unusual.num_replaced += u64::from(invalid_utf8);
        Ok(())
    }

    /// Prints the final messages.
    fn finish(self, args: &Args, global: GlobalArgs) -> Result<(), Failure> {
        let num_bad = self.rejects.count;
        self.rejects.finish()?;
        self.unusual.warn(global);
        if num_bad > 0 {
            global.note(format_args!("warning: {num_bad} bad records were skipped"));
        }
        if self.num_short > 0 {
            let (num_short, fewer) = (self.num_short, fewer_than(args.min_words, args.min_features));
            global.note(format_args!("{num_short} documents of fewer than {fewer} were skipped"));
        }
        Ok(())
    }
}

/// The least numbers of tokens and of features, as far as they are above 0.
pub(super) fn fewer_than(min_words: usize, min_features: usize) -> String {
    match (min_words, min_features) {
        (tokens, 0) => plural(tokens as u64, "token"),
        (0, features) => plural(features as u64, "feature"),
        (tokens, features) => {
            format!("{} or {}", plural(tokens as u64, "token"), plural(features as u64, "feature"))
        }
    }
}

/// The features of a document with `--features`.
fn parse_features(
    fingerprinter: &AnyFingerprinter,
    record: &Record,
    format: documents::Format,
) -> Result<Vec<(String, AnyFingerprint, Weight)>, BadRecord> {
    let parse = |(number, line)| {
        let feature = parse_feature(fingerprinter, line);
        feature.map_err(|why| bad_feature(record, format, number, &format!("{why}: {line:.120?}")))
    };
    let lines = || (0..).zip(record.text.lines());
    let are_numbers = lines().next().is_some() && lines().all(|(_, line)| looks_like_a_number(line));
    if are_numbers {
        let why = "every feature is a number; a hash begins with 0x or 0b";
        return Err(bad_feature(record, format, 0, why));
    }
    lines().map(parse).collect()
}

/// Whether a feature is decimal digits, or the 16 and more hexadecimal ones of a hash.
fn looks_like_a_number(line: &str) -> bool {
    const HASH_DIGITS: usize = 16;
    let feature = line.rsplit_once('\t').map_or("", |(feature, _)| feature);
    let all = |is_digit: fn(&u8) -> bool| feature.bytes().all(|byte| is_digit(&byte));
    match feature.len() {
        0 => false,
        HASH_DIGITS.. => all(u8::is_ascii_hexdigit),
        _ => all(u8::is_ascii_digit),
    }
}

/// A bad record: line `number` of its text, counted from 0, is not a feature.
fn bad_feature(record: &Record, format: documents::Format, number: u64, why: &str) -> BadRecord {
    let mut place = record.place.clone();
    let reason = if format == documents::Format::Text {
        place.spot = Spot::Line(number + 1);
        why.to_string()
    } else {
        // In JSON and CSV, the lines of a text are not lines of the file.
        format!("line {} of its features: {why}", number + 1)
    };
    let may_have_mark = record.may_have_mark();
    BadRecord { place, reason, raw: record.raw().to_vec(), is_dropped: false, may_have_mark }
}

fn parse_feature(
    fingerprinter: &AnyFingerprinter,
    line: &str,
) -> Result<(String, AnyFingerprint, Weight), String> {
    let (feature, weight) = line.rsplit_once('\t').ok_or("no tab, where a weight should follow")?;
    let weight: Weight = weight.trim().parse().map_err(|error: ParseWeightError| error.to_string())?;
    if weight == Weight::default() {
        return Err("a weight of 0, which has no effect".into());
    }
    let width = fingerprinter.recipe().width();
    let radix = match () {
        () if feature.starts_with("0x") => Some(Radix::Hexadecimal),
        () if is_bits(feature) => Some(Radix::Binary),
        () => None,
    };
    let hash = match radix {
        Some(_) => AnyFingerprint::parse(width, feature, radix).map_err(|error| error.to_string())?,
        None => fingerprinter.hash(feature),
    };
    Ok((feature.to_string(), hash, weight))
}

/// Whether a feature is a hash in base 2, and not a word such as 0bc.
fn is_bits(feature: &str) -> bool {
    let bits = feature.strip_prefix("0b").unwrap_or_default();
    !bits.is_empty() && bits.bytes().all(|bit| matches!(bit, b'0' | b'1'))
}

fn write_fingerprint(format: ResultFormat, out: &mut dyn Write, value: InBase, key: &str) -> io::Result<()> {
    match format {
        ResultFormat::Tsv => writeln!(out, "{value}\t{}", escaped_key(key)),
        ResultFormat::Json => writeln!(out, r#"{{"fingerprint":"{value}","key":{}}}"#, json(key)),
    }
}

/// The text of `--explain`, one item a line, and what can be compared of the document.
fn explain(fingerprinter: &mut AnyFingerprinter, key: &str, text: &str) -> (String, Comparable) {
    let (explained, comparable) = (fingerprinter.explain(text), fingerprinter.fingerprint(text).comparable());
    let mut lines = first_lines(fingerprinter, key);
    // The hashes of words, and of a text as a whole, make no MinHash.
    let hash = |text: &str| match fingerprinter.recipe().bands() {
        None => format!("\thash {}", fingerprinter.hash(text)),
        Some(_) => String::new(),
    };
    lines.extend(explained.tokens.iter().map(|token| format!("token\t{}{}", escape(token), hash(token))));
    lines.extend(explained.features.iter().map(feature_line));
    if fingerprinter.recipe().bands().is_none() {
        lines.push(format!("text{}", hash(text.strip_suffix('\n').unwrap_or(text))));
    }
    lines.extend(last_lines(&explained));
    (lines.join("\n"), comparable)
}

/// The same for a document that is a list of features.
fn explain_features(
    fingerprinter: &AnyFingerprinter,
    key: &str,
    features: Vec<(String, AnyFingerprint, Weight)>,
) -> (String, Comparable) {
    let explained = Explained::of_features(fingerprinter.recipe().width(), features);
    let mut lines = first_lines(fingerprinter, key);
    for feature in &explained.features {
        let signed = |weight: Weight| format!("{}{weight}", if weight.is_positive() { "+" } else { "" });
        let adds: Vec<String> = feature.contributions().map(signed).collect();
        lines.extend([feature_line(feature), format!("adds\t{}\t{}", escape(&feature.text), adds.join(" "))]);
    }
    lines.extend(last_lines(&explained));
    let comparable = if explained.features.is_empty() { Comparable::Nothing } else { Comparable::Features };
    (lines.join("\n"), comparable)
}

fn first_lines(fingerprinter: &AnyFingerprinter, key: &str) -> Vec<String> {
    vec![format!("key\t{}", escape(key)), format!("recipe\t{}", fingerprinter.recipe())]
}

fn feature_line(feature: &Feature) -> String {
    let Feature { weight, hash, .. } = feature;
    format!("feature\t{}\tweight {weight}\thash {hash}", escape(&feature.text))
}

/// The sums of the bits, and the fingerprint.
fn last_lines(explained: &Explained) -> impl Iterator<Item = String> {
    let bits = (0..explained.sums.len()).rev().zip(&explained.sums);
    let bits = bits.map(|(bit, sum)| format!("bit {bit}\tsum {sum}\t{}", u8::from(sum.is_positive())));
    bits.chain([format!("fingerprint\t{}\n", explained.value)])
}
