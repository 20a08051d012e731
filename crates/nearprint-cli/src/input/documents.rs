//! Opens documents, and sets bad records aside.

use std::path::{Path, PathBuf};

use crate::args::{DecodingArgs, DocumentArgs, GlobalArgs, note_encodings};
use crate::terminal::failure::Failure;
use crate::terminal::stdout;
use nearprint_text::Result;
use nearprint_text::documents::{
    BadRecord, Format, Item, LineFile, Reader, ReaderOptions, Record, check_outputs, reader_of,
};
use nearprint_text::internal::check_rejects;
use nearprint_text::recipe::Comparable;

/// Opens the inputs, or standard input if there are none. `stdin_format` is the format of standard
/// input unless the options set one.
pub(crate) fn open(args: &DocumentArgs, inputs: &[PathBuf], stdin_format: Format) -> Result<Reader> {
    let mut options = args.options();
    options.stdin_format = stdin_format;
    open_with(inputs, options)
}

/// Opens inputs whose key may be absent.
pub(crate) fn open_with_keys(
    args: &DocumentArgs,
    inputs: &[PathBuf],
    key_is_optional: bool,
) -> Result<Reader> {
    let mut options = args.options();
    options.fields.key_is_optional = key_is_optional;
    open_with(inputs, options)
}

fn open_with(inputs: &[PathBuf], options: ReaderOptions) -> Result<Reader> {
    let stdin = ["-".into()];
    let reader = Reader::open(if inputs.is_empty() { &stdin } else { inputs }, options)?;
    reader.check_delimiter()?;
    Ok(reader)
}

/// Visits files that are one text each. Fails for what is no text.
pub(crate) fn for_each_text(
    inputs: &[PathBuf],
    decoding: &DecodingArgs,
    global: GlobalArgs,
    visit: &mut dyn FnMut(&Record),
) -> std::result::Result<(), Failure> {
    let mut options = ReaderOptions::default();
    options.format = Some(Format::Text);
    options.encoding = decoding.encoding;
    options.pre = decoding.preprocessing();
    options.repeats = true;
    let mut reader = Reader::open(inputs, options)?;
    while let Some(item) = reader.next_item()? {
        match item {
            Item::Record(record) => visit(&record),
            Item::Bad(bad) => return Err(Failure::Input { place: bad.place.to_string(), why: bad.reason }),
        }
    }
    if let Some(why) = reader.left_out().unwritten.first() {
        let (place, why) = why.split_once(": ").unwrap_or(("--pre", why));
        return Err(Failure::Input { place: place.into(), why: why.into() });
    }
    if let Some((name, paths)) = reader.left_out().kinds.iter().next() {
        let why = match (*name, reader_of(name)) {
            ("images", _) => "is an image; `nearprint scan` compares images".into(),
            (name, Some(program)) => format!("is {name}, and no text; `{program}` writes its text"),
            (name, None) => format!("is no text: {name}"),
        };
        return Err(Failure::Input { place: paths[0].to_string_lossy().into_owned(), why });
    }
    note_encodings(global, reader.left_out());
    Ok(())
}

/// The number of documents whose fingerprints mean little.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnusualDocuments {
    /// Documents with invalid UTF-8, or escapes of half a character.
    pub(crate) num_replaced: u64,
    /// Documents without a token.
    pub(crate) num_empty: u64,
    /// Documents with tokens, but without a feature.
    pub(crate) num_featureless: u64,
}

impl UnusualDocuments {
    /// Counts a document by what can be compared of it.
    pub(crate) fn push(&mut self, comparable: Comparable) {
        self.num_empty += u64::from(comparable == Comparable::Nothing);
        self.num_featureless += u64::from(comparable == Comparable::Tokens);
    }

    /// Prints warnings about them.
    pub(crate) fn warn(&self, global: GlobalArgs) {
        for (count, what) in [
            (
                self.num_replaced,
                "not valid UTF-8, or with escapes of half a character; other characters stand for these in texts and keys",
            ),
            (self.num_empty, "without a token; their fingerprint is 0"),
            (self.num_featureless, "without a feature of the recipe; their fingerprint is 0"),
        ] {
            if count > 0 {
                global.note(format_args!("warning: {count} of the documents: {what}"));
            }
        }
    }
}

/// The file of `--rejects`, if one is given.
pub(crate) struct Rejects {
    file: Option<LineFile>,
    /// The number of bad records so far.
    pub(crate) count: u64,
}

impl Rejects {
    /// Creates the file. Fails if it, or one of the other outputs, is an input of the reader, the file of stop words or
    /// the command of --pre.
    /// `others` are the other outputs of the command, each with the name of its option.
    pub(crate) fn create(
        args: &DocumentArgs,
        (reader, stop_words): (&Reader, Option<&Path>),
        others: &[(&str, &Path)],
    ) -> Result<Self> {
        let rejects = args.rejects.as_deref().map(|path| ("--rejects", path));
        let inputs = reader.inputs().iter().map(|input| &*input.path);
        let inputs: Vec<&Path> = inputs.chain(stop_words).chain(args.decoding().program()).collect();
        let outputs = rejects.into_iter().chain(others.iter().copied());
        stdout::check_outputs(outputs.clone().map(|(_, path)| path))?;
        check_outputs(outputs, &inputs, &[])?;
        args.rejects.as_deref().map_or(Ok(()), check_rejects)?;
        let file = args.rejects.as_deref().map(LineFile::create).transpose()?;
        Ok(Self { file, count: 0 })
    }

    /// Writes a bad record to the file, and counts it. Without a file it fails.
    pub(crate) fn push_bad(&mut self, bad: &BadRecord) -> std::result::Result<(), Failure> {
        self.count += 1;
        match &mut self.file {
            Some(file) => Ok(file.append_record(&bad.raw, bad.may_have_mark).map(drop)?),
            None => Err(Failure::Record { place: bad.place.to_string(), why: bad.reason.clone() }),
        }
    }

    /// Writes a record that is not bad to the file, if there is one, and whether it may begin with a byte order mark.
    /// Does not count it.
    pub(crate) fn push(&mut self, raw: &[u8], may_have_mark: bool) -> Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.append_record(raw, may_have_mark).map(drop))
    }

    /// Writes the end of the file.
    pub(crate) fn finish(self) -> Result<()> {
        self.file.map_or(Ok(()), LineFile::finish)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct TestCli {
        #[command(flatten)]
        documents: DocumentArgs,
    }

    fn parse(arguments: &[&str]) -> DocumentArgs {
        TestCli::parse_from(std::iter::once("x").chain(arguments.iter().copied())).documents
    }

    #[test]
    fn bad_records_stop_the_run_or_are_set_aside() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        std::fs::write(path("a"), "{\"x\":{\"y\":1},\"t\":\"a|b\"}\nbad\n{\"t\":2}").unwrap();
        let rejects = path("rejects").display().to_string();
        let arguments = ["--input-format", "json", "--text-field", "t", "--key-field", "x.y"];
        let stopping = parse(&arguments);
        let setting_aside = parse(&[&arguments[..], &["--rejects", &rejects]].concat());
        let mut reader = open(&stopping, &[path("a")], Format::Jsonl).unwrap();
        let Some(Item::Record(record)) = reader.next_item().unwrap() else { panic!("no record") };
        assert_eq!((&*record.key, &*record.text), ("1", "a|b"));

        let mut stop = Rejects::create(&stopping, (&reader, None), &[]).unwrap();
        let mut aside = Rejects::create(&setting_aside, (&reader, None), &[]).unwrap();
        while let Some(Item::Bad(bad)) = reader.next_item().unwrap() {
            let failure = stop.push_bad(&bad).unwrap_err();
            assert!(
                matches!(&failure, Failure::Record { place, .. } if place.ends_with("a:2") || place.ends_with("a:3"))
            );
            aside.push_bad(&bad).unwrap();
        }
        assert_eq!(aside.count, 2);
        aside.finish().unwrap();
        assert_eq!(std::fs::read(path("rejects")).unwrap(), b"bad\n{\"t\":2}");
    }
}
