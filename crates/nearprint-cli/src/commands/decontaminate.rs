//! `nearprint decontaminate`

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::args::{DocumentArgs, GlobalArgs, SummaryArgs, check_read, num_skipped, skipped_object, values};
use crate::input::documents::{Rejects, UnusualDocuments};
use crate::terminal::failure::Failure;
use crate::terminal::position::PositionBar;
use crate::terminal::{plural, stdout};
use nearprint_text::Result;
use nearprint_text::documents::{
    self, AddedField, BadRecord, DocumentWriter, FieldValue, Format, Item, LineFile, Missing, Nested, Reader,
    Record, WriterOptions, check_outputs,
};
use nearprint_text::internal::ListFormat;
use nearprint_text::passages::{Contained, DEFAULT_NGRAM, MIN_WORDS, PassageIndex};
use serde_json::json;

/// Leave out records that contain a text of a benchmark
///
/// A document contains a passage if both have the same N words in a row (--ngram). Words are runs of letters and
/// digits, whatever their case, and single characters of Chinese, Japanese, Korean and Thai. A shorter evaluation text
/// of at least 8 words is found if a document has all of its words in a row. Texts of fewer words occur by chance and
/// are not looked for. Documents without such passages are written unchanged, in input order.
///
/// Run it before `dedup`, which may keep a record with a question and leave out its near-duplicate without one, and
/// before `trim`, which removes questions that recur from all records but the first.
///
/// Evaluation texts are held in memory, with 24 more bytes for each word. Documents are not.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Before `dedup` and `trim`. Examples:
  nearprint decontaminate pages.jsonl --against evals.jsonl -o clean.jsonl --found found.tsv
  nearprint decontaminate pages.jsonl --against evals.jsonl -o all.jsonl --annotate --min-share 0.5
  nearprint decontaminate pages.jsonl --against qa.csv --against-field question -o clean.jsonl")]
pub(super) struct Args {
    /// Files and folders of documents; - for standard input
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Files and folders of evaluation texts
    #[arg(long, value_name = "FILE", required = true, num_args = 1)]
    against: Vec<PathBuf>,
    /// Write the other documents here, in the format of its name; - for standard output. The formats are .jsonl, .csv,
    /// .tsv and .parquet. Any other name keeps the format of the inputs
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Field or column that holds an evaluation text
    #[arg(long, value_name = "NAME", default_value = "text", help_heading = "Evaluation options")]
    against_field: String,
    /// Field or column that holds the key of an evaluation text [default: INPUT:N, N counted from 1]
    #[arg(long, value_name = "NAME", help_heading = "Evaluation options")]
    against_key_field: Option<String>,
    /// The words of a passage, usually 8 to 13
    #[arg(long, value_name = "N", default_value_t = DEFAULT_NGRAM, value_parser = ngram, help_heading = "Evaluation options")]
    ngram: usize,
    /// Leave out only documents with at least this share of the passages of an evaluation text, 0 to 1; 0 for any
    /// passage
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = values::similarity, help_heading = "Evaluation options")]
    min_share: f64,
    /// List what was found, as TSV or, if the name ends in .csv, as CSV: `key evaluation share words start passage` for
    /// each evaluation text in a document. The share is that of its passages in the document. The passage is the longest
    /// one; words is its length, and start the number of its first word in the document
    #[arg(long, value_name = "FILE")]
    found: Option<PathBuf>,
    /// Leave nothing out, and add the fields contaminated_by and contaminated_share to each document. They are the key
    /// of the evaluation text with the largest share, and this share
    #[arg(long)]
    annotate: bool,
    /// Write arrays and objects as JSON texts, if the format of OUT has columns
    #[arg(long, value_name = "json")]
    nested: Option<Nested>,
    #[command(flatten)]
    summary: SummaryArgs,
    #[command(flatten)]
    documents: DocumentArgs,
}

/// The characters of a passage in the list of what was found.
const PASSAGE_CHARS: usize = 300;

fn ngram(text: &str) -> std::result::Result<usize, String> {
    text.parse().ok().filter(|words| (1..=1000).contains(words)).ok_or_else(|| "not 1 to 1000".into())
}

/// The evaluation texts.
struct Evaluation {
    keys: Vec<String>,
    index: PassageIndex,
    num_short: usize,
    /// Their files.
    inputs: Vec<PathBuf>,
    /// Whether these have cells.
    is_table: bool,
}

/// A document, and what it contains.
enum Checked {
    Document(Record, Vec<Contained>),
    Bad(BadRecord),
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> std::result::Result<(), Failure> {
        let started = Instant::now();
        let evaluation = self.evaluation(global)?;
        let mut reader = Reader::open(&self.inputs, self.documents.options())?;
        if !evaluation.is_table {
            reader.check_delimiter()?;
        }
        let mut job = Job::create(&self, &evaluation, &mut reader)?;
        let mut bar = PositionBar::new(global);
        let read = documents::each(
            &mut reader,
            global.options().get_threads(),
            || (),
            |item, ()| match item {
                Item::Bad(bad) => Checked::Bad(bad),
                Item::Record(record) => {
                    let mut found = evaluation.index.find(&record.text);
                    found.retain(|found| found.share >= self.min_share);
                    Checked::Document(record, found)
                }
            },
            |block, position| {
                bar.show(position);
                block.into_iter().try_for_each(|checked| job.take(checked))
            },
        );
        bar.clear();
        read?;
        let counts = job.finish()?;
        let skipped = if reader.format() == Format::Text { num_skipped(reader.left_out()) } else { 0 };
        let left_out = if self.annotate { 0 } else { counts.containing };
        let kept = counts.documents - left_out;
        let read = counts.documents + skipped + counts.rejected;
        let mut verdict = format!("{} read: {kept} kept, ", plural(read, "record"));
        verdict += &containing(counts.containing, self.annotate);
        verdict += &format!(" {} of {} evaluation texts", counts.evaluations, evaluation.keys.len());
        for (count, what) in [(skipped, "skipped"), (counts.rejected, "rejected")] {
            if count > 0 {
                verdict += &format!(", {count} {what}");
            }
        }
        global.note(format_args!("{verdict}"));
        let rule = format!("a run of {}", plural(self.ngram as u64, "word"));
        let short = match evaluation.num_short {
            0 => String::new(),
            some => format!("; {} too short to be looked for", plural(some as u64, "evaluation text")),
        };
        global.note(format_args!("contain: {rule}, or a whole text of {MIN_WORDS} or more{short}"));
        counts.unusual.warn(global);
        self.say_what_was_written(global, &counts, kept);
        self.summary.write(|| {
            json!({
                "read": read,
                "kept": kept,
                "left_out": left_out,
                "skipped": skipped,
                "rejected": counts.rejected,
                "rule": rule,
                "containing": counts.containing,
                "evaluation_texts": evaluation.keys.len(),
                "evaluation_texts_found": counts.evaluations,
                "evaluation_texts_too_short": evaluation.num_short,
                "notes": reader.left_out().notes,
                "skipped_files": skipped_object(reader.left_out()),
                "seconds": started.elapsed().as_secs_f64(),
            })
        })?;
        check_read(global, &reader)
    }

    /// Names the files that were written, unless the documents went to standard output.
    fn say_what_was_written(&self, global: GlobalArgs, counts: &Counts, written: u64) {
        if self.output.as_os_str() == "-" {
            return;
        }
        let mut files = format!("wrote {} ({})", self.output.display(), plural(written, "record"));
        let found = self.found.as_ref().map(|path| (path, plural(counts.lines, "line")));
        let rejects = self.documents.rejects.as_ref().map(|path| (path, plural(counts.rejected, "record")));
        for (path, number) in found.into_iter().chain(rejects) {
            files += &format!(", {} ({number})", path.display());
        }
        global.note(format_args!("{files}"));
    }

    /// Reads the evaluation texts. A bad one ends the command, one without a text does not.
    fn evaluation(&self, global: GlobalArgs) -> std::result::Result<Evaluation, Failure> {
        let mut options = documents::ReaderOptions::default();
        options.fields.text.clone_from(&self.against_field);
        options.fields.key.clone_from(&self.against_key_field);
        options.fields.missing = Missing::Skip;
        let of_inputs = self.documents.options();
        (options.encoding, options.pre) = (of_inputs.encoding, of_inputs.pre);
        options.delimiter = self.documents.delimiter;
        let mut reader = Reader::open(&self.against, options)?;
        let (mut keys, mut builder) = (Vec::new(), PassageIndex::builder(self.ngram));
        let (mut num_short, mut num_missing, mut unusual) = (0, 0_u64, UnusualDocuments::default());
        while let Some(item) = reader.next_item()? {
            match item {
                Item::Record(record) => {
                    unusual.num_replaced += u64::from(record.invalid_utf8);
                    num_short += usize::from(!builder.push(&record.text));
                    keys.push(record.key);
                }
                Item::Bad(bad) if bad.is_dropped => num_missing += 1,
                Item::Bad(bad) => {
                    return Err(Failure::Input { place: bad.place.to_string(), why: bad.reason });
                }
            }
        }
        if num_missing > 0 && keys.is_empty() {
            let place =
                self.against.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
            let field = &self.against_field;
            let why =
                format!("no record has a text in the field {field:?}; --against-field names another one");
            return Err(Failure::Input { place, why });
        }
        if num_missing > 0 {
            let records = plural(num_missing, "evaluation record");
            global.note(format_args!("warning: {records} without a text"));
        }
        unusual.warn(global);
        check_read(global, &reader)?;
        if keys.is_empty() {
            global.note(format_args!("warning: there is no evaluation text, so nothing is left out"));
        }
        let inputs = reader.inputs().iter().map(|input| input.path.clone()).collect();
        let is_table = reader.is_table();
        Ok(Evaluation { keys, index: builder.finish(), num_short, inputs, is_table })
    }
}

/// How many records contain evaluation texts, and what became of them.
fn containing(number: u64, is_kept: bool) -> String {
    let contain = if number == 1 { "contains" } else { "contain" };
    match is_kept {
        true => format!("{number} of which {contain}"),
        false => format!("{number} left out, which {contain}"),
    }
}

/// The outputs and counts.
struct Job<'a> {
    evaluation: &'a Evaluation,
    annotates: bool,
    output: DocumentWriter,
    found: Option<FoundList>,
    rejects: Rejects,
    counts: Counts,
    /// Whether each evaluation text is in a document.
    was_found: Vec<bool>,
}

#[derive(Default)]
struct Counts {
    documents: u64,
    /// Documents that contain something.
    containing: u64,
    /// What the list of what was found has.
    lines: u64,
    /// Evaluation texts that are in a document.
    evaluations: usize,
    rejected: u64,
    unusual: UnusualDocuments,
}

impl<'a> Job<'a> {
    fn create(args: &Args, evaluation: &'a Evaluation, reader: &mut Reader) -> Result<Self> {
        let rejects = args.documents.rejects.as_deref().map(|path| ("--rejects", path));
        let found = args.found.as_deref().map(|path| ("--found", path));
        let summary = args.summary.path().map(|path| ("--summary", path));
        let outputs = [Some(("--output", &*args.output)), found, rejects, summary].into_iter().flatten();
        let against = evaluation.inputs.iter().map(PathBuf::as_path);
        let inputs = reader.inputs().iter().map(|input| &*input.path).chain(against);
        let inputs: Vec<&Path> = inputs.chain(args.documents.decoding().program()).collect();
        stdout::check_outputs(outputs.clone().map(|(_, path)| path))?;
        check_outputs(outputs, &inputs, &[])?;
        args.found.as_deref().map_or(Ok(()), ListFormat::check)?;
        let rejects = Rejects::create(&args.documents, (reader, None), &[])?;
        let mut options = WriterOptions::default();
        options.nested = args.nested.unwrap_or_default();
        if args.annotate {
            options.added =
                vec![AddedField::text("contaminated_by"), AddedField::number("contaminated_share")];
        }
        Ok(Self {
            evaluation,
            annotates: args.annotate,
            output: DocumentWriter::create(&args.output, reader, options)?,
            found: args.found.as_deref().map(FoundList::create).transpose()?,
            rejects,
            counts: Counts::default(),
            was_found: vec![false; evaluation.keys.len()],
        })
    }

    fn take(&mut self, checked: Checked) -> std::result::Result<(), Failure> {
        let (record, found) = match checked {
            Checked::Document(record, found) => (record, found),
            Checked::Bad(bad) => return self.rejects.push_bad(&bad),
        };
        self.counts.documents += 1;
        self.counts.unusual.num_replaced += u64::from(record.invalid_utf8);
        self.counts.containing += u64::from(!found.is_empty());
        for contained in &found {
            self.was_found[contained.text] = true;
            if let Some(file) = &mut self.found {
                let key = &self.evaluation.keys[contained.text];
                file.append(&record.key, key, contained)?;
                self.counts.lines += 1;
            }
        }
        if self.annotates {
            let values = match found.first() {
                Some(most) => {
                    let key = self.evaluation.keys[most.text].as_str().into();
                    [FieldValue::Text(key), FieldValue::Number((most.share * 1e4).round() / 1e4)]
                }
                None => [FieldValue::Missing, FieldValue::Missing],
            };
            self.output.append(&record, &values)?;
        } else if found.is_empty() {
            self.output.append(&record, &[])?;
        }
        Ok(())
    }

    /// Completes the files.
    fn finish(mut self) -> Result<Counts> {
        self.counts.evaluations = self.was_found.iter().filter(|found| **found).count();
        self.counts.rejected = self.rejects.count;
        self.output.finish()?;
        self.found.map_or(Ok(()), |found| found.file.finish())?;
        self.rejects.finish()?;
        Ok(self.counts)
    }
}

/// The list of what was found.
struct FoundList {
    file: LineFile,
    format: ListFormat,
}

impl FoundList {
    fn create(path: &Path) -> Result<Self> {
        let (mut file, format) = (LineFile::create(path)?, ListFormat::of(path));
        file.append(&format.line(&["key", "evaluation", "share", "words", "start", "passage"]))?;
        Ok(Self { file, format })
    }

    fn append(&mut self, key: &str, evaluation: &str, contained: &Contained) -> Result<()> {
        let Contained { share, start, words, passage, .. } = contained;
        let end = passage.char_indices().nth(PASSAGE_CHARS).map_or(passage.len(), |(end, _)| end);
        let (share, words, start) = (format!("{share:.4}"), words.to_string(), (start + 1).to_string());
        let columns = [key, evaluation, &share, &words, &start, &passage[..end]];
        self.file.append(&self.format.line(&columns)).map(drop)
    }
}
