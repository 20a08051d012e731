//! Whether inputs are records, and their common format: by their content first, then by their names.

use std::path::Path;

use super::file_content::look_at;
use super::folder::LeftOut;
use super::format::Format;
use super::input_file::InputFile;
use super::kind::{Class, Kind, Records};
use super::preprocessor::Decoding;
use crate::error::{InputSetProblem, Result};

/// How the names of files begin, in lower case, that programs and people put beside records.
const BESIDE_STARTS: [&str; 4] = [".", "_", "readme", "license"];
/// Names of such files, in lower case: what datasets say of themselves.
const BESIDE_NAMES: [&str; 4] = ["dataset_info.json", "dataset_infos.json", "state.json", "thumbs.db"];

/// The names of files beside records, as Markdown.
#[must_use]
pub fn names_beside_records() -> String {
    let starts = BESIDE_STARTS.map(|start| format!("`{start}*`"));
    let names = BESIDE_NAMES.map(|name| format!("`{name}`"));
    [starts, names].concat().join(", ")
}

/// Looks at the inputs for which this is needed, and sets what records they hold.
///
/// A file that is named itself is looked at. The files of a folder are records if all of them are, apart from those
/// that usually stand beside records, which are then left out. Otherwise each is one document: a table among texts is a
/// text.
pub(super) fn settle_records(inputs: &mut Vec<InputFile>, left_out: &mut LeftOut, decoding: &Decoding) {
    for input in inputs.iter_mut().filter(|input| !input.in_folder && input.stamp.is_some()) {
        input.records = records_of(input, decoding);
    }
    for folder in inputs.chunk_by_mut(|a, b| (a.in_folder, a.named) == (b.in_folder, b.named)) {
        let is_records = !folder[0].in_folder || holds_records(folder, decoding);
        folder.iter_mut().filter(|_| !is_records).for_each(|file| file.records = None);
    }
    let is_beside =
        |input: &mut InputFile| input.in_folder && input.records.is_none() && is_beside(&input.path);
    let in_records: Vec<usize> = inputs
        .iter()
        .filter(|input| input.in_folder && input.records.is_some())
        .map(|input| input.named)
        .collect();
    let left =
        inputs.extract_if(.., |input| in_records.binary_search(&input.named).is_ok() && is_beside(input));
    left_out.beside.extend(left.map(|input| input.path));
}

/// Whether all files of a folder are records. Sets what they hold, and takes it from those beside them.
fn holds_records(folder: &mut [InputFile], decoding: &Decoding) -> bool {
    folder.iter_mut().filter(|file| is_beside(&file.path)).for_each(|file| file.records = None);
    let mut files = folder.iter_mut().filter(|file| !is_beside(&file.path));
    let mut has_records = false;
    let all = files.all(|file| {
        if file.records.is_none() || decoding.is_preprocessed(&file.path) {
            file.records = records_of(file, decoding);
        }
        has_records |= file.records.is_some();
        file.records.is_some() || file.size_bytes == Some(0)
    });
    if all && has_records {
        // An empty file of a folder of records has none.
        let format = folder.iter().find_map(|file| file.records);
        let empty = folder.iter_mut().filter(|file| file.records.is_none() && !is_beside(&file.path));
        empty.for_each(|file| file.records = format);
    }
    all && has_records
}

/// The records of a regular file: none of what a program reads. What cannot be read has those of its name, and fails
/// when it is read.
fn records_of(input: &InputFile, decoding: &Decoding) -> Option<Records> {
    if decoding.is_preprocessed(&input.path) {
        return None;
    }
    match look_at(&input.path).ok().flatten().map(|found| found.kind) {
        Some(Kind::Records(records)) => Some(records),
        None | Some(Kind::Empty) => input.records,
        // Reading them names the program that decompresses, or says what is damaged.
        Some(Kind::Unread(format)) if format.class == Class::Archive && format.name != "tar" => input.records,
        Some(Kind::Unread(format)) if format.class == Class::Binary => input.records,
        Some(_) => None,
    }
}

fn is_beside(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    BESIDE_NAMES.contains(&&*name) || BESIDE_STARTS.iter().any(|start| name.starts_with(start))
}

/// Whether a path is that of an open file, as `/dev/stdin` and what a shell makes of `<(…)`.
fn is_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdin") || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd")
}

/// The format of all inputs, [`Format::Text`] if there are none. `given` overrides what they hold. `stdin` is that of
/// standard input and of other open files. Pipes without a name of records have the format of the first other input,
/// or else that of standard input.
pub(super) fn common_format(inputs: &[InputFile], given: Option<Format>, stdin: Format) -> Result<Format> {
    let of = |input: &InputFile| {
        let is_stream = input.is_stdin() || input.records.is_none() && is_descriptor(&input.path);
        let found = if is_stream { stdin } else { input.records.map_or(Format::Text, Records::format) };
        given.unwrap_or(found)
    };
    let is_bare_pipe = |input: &&InputFile| {
        !input.is_stdin() && input.size_bytes.is_none() && Records::of_name(&input.path).is_none()
    };
    let others = inputs.iter().find(|input| !is_bare_pipe(input)).map_or(stdin, &of);
    let of = |input: &InputFile| if is_bare_pipe(&input) { given.unwrap_or(others) } else { of(input) };
    let Some(first) = inputs.first() else { return Ok(given.unwrap_or(Format::Text)) };
    let format = of(first);
    match inputs.iter().find(|input| of(input) != format) {
        None => Ok(format),
        Some(other) => Err(InputSetProblem::MixedFormats {
            first: first.name().to_string(),
            first_format: format.name(),
            other: other.name().to_string(),
            other_format: of(other).name(),
        }
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::super::folder::FolderRules;
    use super::super::input_file::list;
    use super::super::stdin::StdinSource;
    use super::*;

    const LINE: &str = "{\"text\": \"one\"}\n";

    /// The format of a folder of these files, and the names that are left out.
    fn of(files: &[(&str, &str)]) -> (Result<Format>, Vec<String>) {
        let home = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(home.path().join(name), content).unwrap();
        }
        let paths = [home.path().to_path_buf()];
        let (mut inputs, mut left_out) =
            list(&paths, &FolderRules::default(), &StdinSource::Stream, false).unwrap();
        settle_records(&mut inputs, &mut left_out, &Decoding::default());
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        let left = left_out.beside.iter().map(name).collect();
        (common_format(&inputs, None, Format::Csv), left)
    }

    fn format(files: &[(&str, &str)]) -> Format {
        of(files).0.unwrap()
    }

    #[test]
    fn folders_are_records_if_all_files_are() {
        let lines = [("a.json", LINE), ("b.jsonl", LINE)];
        assert_eq!(format(&lines), Format::Jsonl);
        assert_eq!(format(&[lines[0], ("c.md", "one")]), Format::Text);
        assert_eq!(format(&[("a.csv", "text\none\n"), ("b.md", "one"), ("c.md", "two")]), Format::Text);
        assert_eq!(format(&[("a.md", "one"), ("README.md", "two")]), Format::Text);
        assert_eq!(format(&[("README.md", "two")]), Format::Text);
    }

    #[test]
    fn regression_what_stands_beside_records_does_not_make_them_texts() {
        for beside in [
            "README.md",
            "readme.txt",
            ".gitattributes",
            "_SUCCESS",
            ".part-0.parquet.crc",
            "_metadata",
            ".DS_Store",
            "dataset_infos.json",
            "LICENSE.txt",
        ] {
            let (found, left) = of(&[("part-0.csv", "text\none\n"), (beside, "x")]);
            assert_eq!(found.unwrap(), Format::Csv, "{beside}");
            assert!(left == [beside] || beside == "LICENSE.txt", "{beside}: {left:?}");
        }
    }

    #[test]
    fn regression_records_are_known_by_their_content() {
        let parts = [("part-00000", LINE), ("part-00001", LINE), ("part-00002", ""), ("_SUCCESS", "")];
        let (found, left) = of(&parts);
        assert_eq!((found.unwrap(), left), (Format::Jsonl, vec!["_SUCCESS".to_string()]));
        assert_eq!(format(&[parts[0], ("b", "a text")]), Format::Text);
    }

    #[test]
    fn two_kinds_of_records_in_a_folder_are_an_error() {
        let why = of(&[("a.csv", "text\none\n"), ("b.jsonl", LINE)]).0.unwrap_err().to_string();
        assert!(why.contains("a.csv is CSV") && why.contains("b.jsonl is JSON lines"), "{why}");
    }

    #[test]
    fn inputs_have_one_format() {
        let inputs = ["a.csv", "-", "b.tsv"].map(|name| InputFile::new(Path::new(name)));
        let common = |inputs: &[InputFile], given| common_format(inputs, given, Format::Csv);
        assert_eq!(common(&inputs[..2], None).unwrap(), Format::Csv);
        assert_eq!(common(&inputs, Some(Format::Lines)).unwrap(), Format::Lines);
        let expected = "a.csv is CSV, and b.tsv is TSV: all inputs of one run have to be of one kind";
        assert_eq!(common(&inputs, None).unwrap_err().to_string(), expected);
        assert_eq!(common(&[], None).unwrap(), Format::Text);
        assert_eq!(common(&[InputFile::new(Path::new("/dev/fd/63"))], None).unwrap(), Format::Csv, "a pipe");
    }
}
