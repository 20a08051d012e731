//! Computes the fingerprints of the texts and the pictures among files.

use std::path::{Path, PathBuf};

use nearprint::Error;
use nearprint::any::AnyFingerprint;
use nearprint::internal as parallel;
use nearprint_text::Result;
use nearprint_text::dedup::{Confirm, Keep};
use nearprint_text::documents::{
    Encoding, FileContent, FileStamp, FolderRules, InputFile, Kind, LeftOut, list_files, read_file,
    text_of_file,
};
use nearprint_text::recipe::AnyFingerprinter;
use xxhash_rust::xxh3::xxh3_128;

use super::features::FeatureFile;
use crate::pictures::{Candidate, PictureFile, PictureReader, is_any_picture};
use crate::terminal::progress::Bars;

/// Files per item of work.
const CHUNK_FILES: usize = 32;

/// The texts and pictures among the files, and how many files are something else.
#[derive(Default)]
pub(super) struct ScannedFiles {
    /// Sorted by path.
    pub(super) texts: Vec<TextFile>,
    /// The sets of features of the texts, if they are compared.
    pub(super) features: FeatureFile,
    /// Sorted by path.
    pub(super) pictures: Vec<PictureFile>,
    /// Files that are compared byte for byte alone, sorted by path: they are neither, too large, too short, too plain
    /// or damaged.
    pub(super) others: Vec<InputFile>,
    /// Pictures with too little to see.
    pub(super) num_plain: u64,
    /// Texts with too few tokens or features, or without any token.
    pub(super) num_short: u64,
    /// The number of texts that have no feature: only texts with the same tokens are near them.
    pub(super) num_featureless: usize,
    /// What is neither.
    pub(super) left_out: LeftOut,
    /// The encoding of all texts, if it was given.
    pub(super) encoding: Option<Encoding>,
    /// The size of the texts and pictures on disk.
    pub(super) len_bytes: u64,
}

/// A text file with its fingerprint.
pub(super) struct TextFile {
    pub(super) path: PathBuf,
    /// As a deduplication stores it.
    pub(super) fingerprint: AnyFingerprint,
    pub(super) content: Content,
    /// The state of the file before it was read.
    pub(super) stamp: FileStamp,
    /// Its place in the order in which a deduplication keeps files.
    pub(super) rank: u128,
    pub(super) has_features: bool,
}

/// What is in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum GroupKind {
    Texts,
    Pictures,
    /// Byte-identical copies of what is neither.
    Others,
}

/// A file of a group.
pub(super) trait GroupedFile {
    fn path(&self) -> &Path;
    /// Its size on disk.
    fn len_bytes(&self) -> u64;
    fn stamp(&self) -> Option<FileStamp>;
    /// Width and height, if it is a picture.
    fn pixels(&self) -> Option<(usize, usize)>;
}

impl GroupedFile for TextFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len_bytes(&self) -> u64 {
        self.content.len_bytes
    }

    fn stamp(&self) -> Option<FileStamp> {
        Some(self.stamp)
    }

    fn pixels(&self) -> Option<(usize, usize)> {
        None
    }
}

impl GroupedFile for PictureFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len_bytes(&self) -> u64 {
        self.stamp.size_bytes
    }

    fn stamp(&self) -> Option<FileStamp> {
        Some(self.stamp)
    }

    fn pixels(&self) -> Option<(usize, usize)> {
        Some((self.width, self.height))
    }
}

impl GroupedFile for InputFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len_bytes(&self) -> u64 {
        self.size_bytes.unwrap_or_default()
    }

    fn stamp(&self) -> Option<FileStamp> {
        self.stamp
    }

    fn pixels(&self) -> Option<(usize, usize)> {
        None
    }
}

/// What a file has, as far as exact copies can be known by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Content {
    /// Its size on disk.
    pub(super) len_bytes: u64,
    /// XXH3 of its bytes on disk.
    pub(super) hash: u128,
}

impl ScannedFiles {
    /// The number of files that were found.
    pub(super) fn num_files(&self) -> u64 {
        let left_out: u64 = self.left_out.files().iter().map(|(count, _)| count).sum();
        (self.texts.len() + self.pictures.len()) as u64 + self.num_short + self.num_plain + left_out
    }

    /// A file of a group.
    pub(super) fn file(&self, kind: GroupKind, index: usize) -> &dyn GroupedFile {
        match kind {
            GroupKind::Texts => &self.texts[index],
            GroupKind::Pictures => &self.pictures[index],
            GroupKind::Others => &self.others[index],
        }
    }
}

/// Reads all files under the paths, on all threads.
pub(super) fn scan_all(
    paths: &[PathBuf],
    rules: &FolderRules,
    reader: &FileReader,
    threads: usize,
    bars: &Bars,
) -> Result<ScannedFiles> {
    let (files, left_out) = list_files(paths, rules)?;
    let total = files.len() as u64;
    let chunks: Vec<&[InputFile]> = files.chunks(CHUNK_FILES).collect();
    let work = |chunk: usize, reader: &mut FileReader, sink: parallel::Sink<'_, _>| {
        // The sink fails only after an interrupt, which `ordered` reports.
        let _ = sink(chunks[chunk].iter().map(|file| reader.read(&file.path)).collect::<Vec<_>>());
        Ok::<(), nearprint_text::Error>(())
    };
    let mut scanned = ScannedFiles { left_out, encoding: reader.encoding, ..ScannedFiles::default() };
    let mut rest = files.iter();
    parallel::ordered(
        threads,
        chunks.len(),
        || reader.clone(),
        work,
        |kinds| {
            kinds.into_iter().zip(rest.by_ref()).try_for_each(|(kind, file)| scanned.add(file, kind))?;
            let done = total - rest.len() as u64;
            Ok(bars.show(("reading", "files"), done, Some(total))?)
        },
    )?;
    scanned.features.flush()?;
    Ok(scanned)
}

impl ScannedFiles {
    fn add(&mut self, file: &InputFile, kind: Result<FileKind>) -> Result<()> {
        match kind {
            Ok(FileKind::Text {
                fingerprint,
                content,
                stamp,
                has_features,
                num_tokens,
                features,
                encoding,
            }) => {
                self.left_out.count_encoding(encoding);
                self.num_featureless += usize::from(!has_features);
                self.features.push(&features)?;
                self.len_bytes += content.len_bytes;
                let path = file.path.clone();
                let rank = Keep::Best.rank_of_file(num_tokens as u64, &stamp, &path).unwrap_or_default();
                self.texts.push(TextFile { path, fingerprint, content, stamp, rank, has_features });
                return Ok(());
            }
            Ok(FileKind::Picture(picture)) => {
                self.len_bytes += picture.stamp.size_bytes;
                self.pictures.push(*picture);
                return Ok(());
            }
            Ok(FileKind::Empty) => {
                self.left_out.num_empty += 1;
                return Ok(());
            }
            Ok(FileKind::Unwanted) => {
                self.left_out.add_kind("pictures", &file.path);
                return Ok(());
            }
            Err(error @ nearprint_text::Error::Engine(_)) => return self.left_out.add_unreadable(error),
            Err(damaged) => self.left_out.add_unreadable(damaged)?,
            Ok(FileKind::Plain) => self.num_plain += 1,
            Ok(FileKind::Short) => self.num_short += 1,
            Ok(FileKind::Other(kind)) => self.left_out.add_kind(kind, &file.path),
            Ok(FileKind::Large) => self.left_out.num_large += 1,
            Ok(FileKind::Undecoded(format)) => self.left_out.add_unread(format, &file.path),
        }
        self.others.push(file.clone());
        Ok(())
    }
}

/// The kind of a file.
enum FileKind {
    Text {
        fingerprint: AnyFingerprint,
        content: Content,
        stamp: FileStamp,
        has_features: bool,
        num_tokens: usize,
        /// As they are stored; empty if they are not compared.
        features: Vec<u8>,
        /// The name under which its encoding is counted.
        encoding: Option<&'static str>,
    },
    Picture(Box<PictureFile>),
    /// A picture with too little to see.
    Plain,
    Short,
    /// It is of this kind, which is not compared.
    Other(&'static str),
    /// A picture, where pictures are left out.
    Unwanted,
    Empty,
    Large,
    /// A picture of this format, which has no decoder.
    Undecoded(&'static str),
}

/// Which texts are left out.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) min_tokens: usize,
    pub(super) min_features: usize,
    pub(super) max_bytes: usize,
}

/// Reads files, and computes the fingerprints of texts.
#[derive(Clone)]
pub(super) struct FileReader {
    fingerprinter: AnyFingerprinter,
    limits: Limits,
    confirm: Option<Confirm>,
    /// That of all texts.
    encoding: Option<Encoding>,
    /// Reads pictures, of this quality at least.
    pictures: Option<(PictureReader, u8)>,
}

impl FileReader {
    /// A file is too large, too, if `confirm` cannot compare it.
    pub(super) fn new(
        fingerprinter: AnyFingerprinter,
        limits: Limits,
        confirm: Option<Confirm>,
        encoding: Option<Encoding>,
        pictures: Option<(PictureReader, u8)>,
    ) -> Self {
        Self { fingerprinter, limits, confirm, encoding, pictures }
    }

    fn read(&mut self, path: &Path) -> Result<FileKind> {
        let Limits { min_tokens, min_features, max_bytes } = self.limits;
        let (bytes, is_compressed, stamp) = match read_file(path, max_bytes, self.encoding)? {
            FileContent::Text { bytes, is_compressed, stamp } => (bytes, is_compressed, stamp),
            FileContent::Empty => return Ok(FileKind::Empty),
            FileContent::Large => return Ok(FileKind::Large),
            FileContent::Other(kind) => return self.read_picture(path, kind),
        };
        let Some(decoded) = text_of_file(path, &bytes, self.encoding) else {
            return Ok(FileKind::Other(LeftOut::UNKNOWN_ENCODING));
        };
        let (text, encoding) = (&*decoded.text, decoded.counted_as());
        if self.confirm.is_some_and(|confirm| !confirm.accepts(text)) {
            return Ok(FileKind::Large);
        }
        let found = self.fingerprinter.fingerprint(text);
        // Nothing is near a text without tokens.
        if found.num_tokens < min_tokens.max(1) || found.num_features < min_features {
            return Ok(FileKind::Short);
        }
        let hash = if is_compressed { hash_on_disk(path)? } else { xxh3_128(&bytes) };
        let content = Content { len_bytes: stamp.size_bytes, hash };
        let (fingerprint, has_features) = (found.stored(""), found.num_features > 0);
        let (num_tokens, features) = (found.num_tokens, found.features.to_bytes());
        Ok(FileKind::Text { fingerprint, content, stamp, has_features, num_tokens, features, encoding })
    }

    /// The kind of a file that is no text.
    fn read_picture(&self, path: &Path, kind: Kind) -> Result<FileKind> {
        let Some((reader, least)) = &self.pictures else {
            return Ok(if is_any_picture(path) { FileKind::Unwanted } else { FileKind::Other(kind.name()) });
        };
        Ok(match reader.read(path)? {
            Candidate::Picture(picture) if picture.quality < *least => FileKind::Plain,
            Candidate::Picture(picture) => FileKind::Picture(picture),
            Candidate::Large => FileKind::Large,
            Candidate::Undecoded(format) => FileKind::Undecoded(format),
            Candidate::Other => FileKind::Other(kind.name()),
        })
    }
}

fn hash_on_disk(path: &Path) -> Result<u128> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    Ok(xxh3_128(&bytes))
}
