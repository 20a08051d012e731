//! Lists files, and computes the fingerprints of the texts and the pictures among them.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nearprint::Error;
use nearprint::any::AnyFingerprint;
use nearprint::internal as parallel;
use nearprint::internal::file::Identity;
use nearprint_text::Result;
use nearprint_text::dedup::Similarity;
use nearprint_text::documents::{
    Decoding, FileContent, FileStamp, FolderRules, InputFile, Kind, LeftOut, list_files, read_file,
    text_of_file,
};
use nearprint_text::recipe::AnyFingerprinter;
use xxhash_rust::xxh3::xxh3_128;

use super::features::FeatureFile;
use crate::pictures::{Candidate, KnownPictures, PictureFile, PictureMemory, PictureReader, is_any_picture};
use crate::terminal::progress::Bars;

/// Files per item of work.
const CHUNK_FILES: usize = 32;

/// The texts and pictures among the files, and how many files are something else.
#[derive(Default)]
pub(crate) struct ScannedFiles {
    /// Sorted by path.
    pub(crate) texts: Vec<TextFile>,
    /// The sets of features of the texts, if they are compared.
    pub(super) features: FeatureFile,
    /// Sorted by path.
    pub(crate) pictures: Vec<PictureFile>,
    /// Files that are compared byte for byte alone, sorted by path: they are neither, too large, too short, too plain
    /// or damaged.
    pub(super) others: Vec<InputFile>,
    num_read: usize,
    /// How many of each kind are below the paths that were given. Those behind them stay: they are references, or
    /// pictures that a database remembers.
    inputs: [usize; 3],
    pub(crate) counts: FileCounts,
    /// How files become texts.
    pub(crate) decoding: Decoding,
}

/// What was found below the paths that were given.
#[derive(Default)]
pub(crate) struct FileCounts {
    pub(crate) files: u64,
    pub(crate) texts: u64,
    pub(crate) pictures: u64,
    /// Pictures with too little to see.
    pub(crate) plain: Vec<PathBuf>,
    /// Texts with too few words or features, or without any token.
    pub(crate) short: Vec<PathBuf>,
    /// The number of texts that have no feature: only texts with the same tokens are near them.
    pub(crate) featureless: u64,
    /// What is neither.
    pub(crate) left_out: LeftOut,
    /// The size of the texts and pictures on disk.
    pub(crate) len_bytes: u64,
}

/// The files that are read.
pub(super) struct Listed {
    /// Those that may go come first.
    pub(super) files: Vec<InputFile>,
    pub(super) num_inputs: usize,
    pub(super) left_out: LeftOut,
}

impl Listed {
    /// Lists the files below paths, and those below `references`, which stay.
    pub(super) fn below(paths: &[PathBuf], references: &[PathBuf], mut rules: FolderRules) -> Result<Self> {
        let (mut stay, _) = list_files(references, &rules)?;
        rules.read_elsewhere = references.to_vec();
        let (mut files, left_out) = list_files(paths, &rules)?;
        let num_inputs = files.len();
        files.append(&mut stay);
        Ok(Self { files, num_inputs, left_out })
    }

    /// The identities of all files.
    pub(super) fn identities(&self) -> HashSet<Identity> {
        self.files.iter().filter_map(|file| Some(file.stamp?.id)).collect()
    }
}

/// A text file with its fingerprint.
pub(crate) struct TextFile {
    pub(crate) path: PathBuf,
    /// As a deduplication stores it.
    pub(crate) fingerprint: AnyFingerprint,
    pub(crate) content: Content,
    /// The state of the file before it was read.
    pub(crate) stamp: FileStamp,
    pub(crate) num_words: u64,
    pub(crate) has_features: bool,
}

impl TextFile {
    /// What equal texts have in common. The hash of the bytes alone can be forged.
    pub(super) fn identity(&self) -> (Content, AnyFingerprint) {
        (self.content, self.fingerprint)
    }
}

/// What is in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum GroupKind {
    Texts = 0,
    Pictures = 1,
    /// Byte-identical copies of what is neither.
    Others = 2,
}

/// A file of a group.
pub(crate) trait GroupedFile {
    fn path(&self) -> &Path;
    /// Its size on disk.
    fn len_bytes(&self) -> u64;
    /// Its state when it was read. `None` if it was not, or if a database remembers another content.
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
        self.identified_stamp()
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
pub(crate) struct Content {
    /// Its size on disk.
    pub(crate) len_bytes: u64,
    /// XXH3 of its bytes on disk.
    pub(crate) hash: u128,
}

impl ScannedFiles {
    #[cfg(test)]
    pub(crate) fn of_texts(texts: Vec<TextFile>) -> Self {
        Self { texts, ..Self::default() }
    }

    /// The numbers of the files of a kind that may go.
    pub(crate) fn inputs(&self, kind: GroupKind) -> Range<usize> {
        0..self.inputs[kind as usize]
    }

    /// Whether a file stays whatever it is near.
    pub(crate) fn stays(&self, kind: GroupKind, file: usize) -> bool {
        !self.inputs(kind).contains(&file)
    }

    /// A file of a group.
    pub(crate) fn file(&self, kind: GroupKind, index: usize) -> &dyn GroupedFile {
        match kind {
            GroupKind::Texts => &self.texts[index],
            GroupKind::Pictures => &self.pictures[index],
            GroupKind::Others => &self.others[index],
        }
    }
}

/// Reads all files under the paths, and what stays, on all threads.
pub(super) fn read_all(
    listed: Listed,
    reader: &FileReader,
    memory: &mut PictureMemory,
    (threads, bars): (usize, &Bars),
) -> Result<ScannedFiles> {
    let Listed { files, num_inputs, left_out } = listed;
    let total = files.len() as u64;
    let chunks: Vec<&[InputFile]> = files.chunks(CHUNK_FILES).collect();
    let work = |chunk: usize, reader: &mut FileReader, sink: parallel::Sink<'_, _>| {
        // The sink fails only after an interrupt, which `ordered` reports.
        let _ = sink(chunks[chunk].iter().map(|file| reader.read(file)).collect::<Vec<_>>());
        Ok::<(), nearprint_text::Error>(())
    };
    let mut scanned = ScannedFiles { decoding: reader.decoding.clone(), ..ScannedFiles::default() };
    let mut counts = FileCounts::of(num_inputs, left_out);
    let (mut rest, mut of_references) = (files.iter(), FileCounts::default());
    parallel::ordered(
        threads,
        chunks.len(),
        || reader.clone(),
        work,
        |kinds| {
            for (kind, file) in kinds.into_iter().zip(rest.by_ref()) {
                let is_input = scanned.num_read < num_inputs;
                scanned.add(file, kind, memory, if is_input { &mut counts } else { &mut of_references })?;
                scanned.num_read += 1;
                if is_input {
                    scanned.inputs = scanned.lens();
                }
            }
            Ok(bars.show(("reading", "files"), scanned.num_read as u64, Some(total))?)
        },
    )?;
    scanned.features.flush()?;
    scanned.counts = counts;
    Ok(scanned)
}

/// Compares nothing but bytes: all files are others.
pub(super) fn read_none(listed: Listed) -> ScannedFiles {
    let Listed { files, num_inputs, left_out } = listed;
    let counts = FileCounts::of(num_inputs, left_out);
    ScannedFiles { others: files, inputs: [0, 0, num_inputs], counts, ..ScannedFiles::default() }
}

impl FileCounts {
    fn of(num_inputs: usize, left_out: LeftOut) -> Self {
        let num_left_out: u64 = left_out.files().iter().map(|(count, _)| count).sum();
        Self { files: num_inputs as u64 + num_left_out, left_out, ..Self::default() }
    }
}

impl ScannedFiles {
    fn lens(&self) -> [usize; 3] {
        [self.texts.len(), self.pictures.len(), self.others.len()]
    }

    fn add(
        &mut self,
        file: &InputFile,
        kind: Result<FileKind>,
        memory: &mut PictureMemory,
        counts: &mut FileCounts,
    ) -> Result<()> {
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
                counts.left_out.count_encoding(encoding);
                counts.texts += 1;
                counts.featureless += u64::from(!has_features);
                counts.len_bytes += content.len_bytes;
                self.features.push(&features)?;
                let path = file.path.clone();
                let num_words = num_tokens as u64;
                self.texts.push(TextFile { path, fingerprint, content, stamp, num_words, has_features });
                return Ok(());
            }
            Ok(FileKind::Picture { picture, is_plain, is_known }) => {
                memory.take(&picture, is_known)?;
                if !is_plain {
                    counts.pictures += 1;
                    counts.len_bytes += picture.stamp.size_bytes;
                    self.pictures.push(*picture);
                    return Ok(());
                }
                counts.plain.push(file.path.clone());
            }
            Ok(FileKind::Empty) => {
                counts.left_out.empty.push(file.path.clone());
                return Ok(());
            }
            Ok(FileKind::Unwanted) => {
                counts.left_out.add_kind("images", &file.path);
                return Ok(());
            }
            Err(error @ nearprint_text::Error::Engine(_)) => return counts.left_out.add_unreadable(error),
            Err(damaged) => counts.left_out.add_unreadable(damaged)?,
            Ok(FileKind::Short) => counts.short.push(file.path.clone()),
            Ok(FileKind::Unwritten(why)) => counts.left_out.add_unwritten(&file.path, &why),
            Ok(FileKind::Other(kind)) => counts.left_out.add_kind(kind, &file.path),
            Ok(FileKind::Large) => counts.left_out.large.push(file.path.clone()),
            Ok(FileKind::Undecoded(format)) => counts.left_out.add_unread(format, &file.path),
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
    Picture {
        picture: Box<PictureFile>,
        /// Whether there is too little to see.
        is_plain: bool,
        /// Whether a database has remembered it.
        is_known: bool,
    },
    Short,
    /// The program that is to write its text has failed.
    Unwritten(String),
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
    pub(super) min_words: usize,
    pub(super) min_features: usize,
    pub(super) max_bytes: usize,
}

/// Reads files, and computes the fingerprints of texts.
#[derive(Clone)]
pub(super) struct FileReader {
    fingerprinter: AnyFingerprinter,
    limits: Limits,
    similarity: Option<Similarity>,
    decoding: Decoding,
    pictures: Option<PictureRules>,
}

/// How pictures are read.
#[derive(Clone)]
pub(super) struct PictureRules {
    pub(super) reader: PictureReader,
    /// Those of less quality are not compared by what they show.
    pub(super) least_quality: u8,
    pub(super) is_rotated: bool,
    pub(super) known: Arc<KnownPictures>,
}

impl FileReader {
    /// A file is too large, too, if `similarity` cannot compare it.
    pub(super) fn new(
        fingerprinter: AnyFingerprinter,
        limits: Limits,
        similarity: Option<Similarity>,
        decoding: Decoding,
        pictures: Option<PictureRules>,
    ) -> Self {
        Self { fingerprinter, limits, similarity, decoding, pictures }
    }

    fn read(&mut self, file: &InputFile) -> Result<FileKind> {
        if let Some(known) = self.pictures.as_ref().and_then(|rules| rules.known_picture(file)) {
            return Ok(known);
        }
        let path = &*file.path;
        let Limits { min_words, min_features, max_bytes } = self.limits;
        let (bytes, is_compressed, stamp) = match read_file(path, max_bytes, &self.decoding)? {
            FileContent::Text { bytes, is_compressed, stamp } => (bytes, is_compressed, stamp),
            FileContent::Empty => return Ok(FileKind::Empty),
            FileContent::Unwritten(why) => return Ok(FileKind::Unwritten(why)),
            FileContent::Large => return Ok(FileKind::Large),
            FileContent::Other(kind) => return self.read_picture(path, kind),
        };
        let Some(decoded) = text_of_file(path, &bytes, &self.decoding) else {
            return Ok(FileKind::Other(LeftOut::UNKNOWN_ENCODING));
        };
        let (text, encoding) = (&*decoded.text, decoded.counted_as());
        if self.similarity.is_some_and(|similarity| !similarity.accepts(text)) {
            return Ok(FileKind::Large);
        }
        let found = self.fingerprinter.fingerprint(text);
        // Nothing is near a text without tokens.
        if found.num_tokens < min_words.max(1) || found.num_features < min_features {
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
        let Some(rules) = &self.pictures else {
            return Ok(if is_any_picture(path) { FileKind::Unwanted } else { FileKind::Other(kind.name()) });
        };
        Ok(match rules.reader.read(path)? {
            Candidate::Picture(picture) => rules.kind_of(picture, false),
            Candidate::Large => FileKind::Large,
            Candidate::Undecoded(format) => FileKind::Undecoded(format),
            Candidate::Other => FileKind::Other(kind.name()),
        })
    }
}

impl PictureRules {
    /// A file that is a picture which a database remembers.
    fn known_picture(&self, file: &InputFile) -> Option<FileKind> {
        let stamp = file.stamp?;
        let known = self.known.get(&file.path, &stamp, self.is_rotated)?;
        // Its stamp stays that of the database: whether the content is the remembered one is not known.
        let picture = PictureFile { path: file.path.clone(), ..known.clone() };
        Some(self.kind_of(Box::new(picture), true))
    }

    fn kind_of(&self, picture: Box<PictureFile>, is_known: bool) -> FileKind {
        FileKind::Picture { is_plain: picture.quality < self.least_quality, picture, is_known }
    }
}

fn hash_on_disk(path: &Path) -> Result<u128> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    Ok(xxh3_128(&bytes))
}
