//! Reads files that are pictures.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nearprint::any::AnyFingerprint;
use nearprint::{Fingerprint, U256};
use nearprint_image::{Error, Picture, Recipe, pdq, pdq_turned};
use nearprint_text::Result;
use nearprint_text::documents::{FileStamp, open_regular};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

use super::decoder::{
    Limits, decode, decode_luminance, decoded_bytes, format_of, has_more_than_a_picture, has_several_frames,
    thumbnail, unsupported_format_of,
};
use super::memory_gate::MemoryGate;

/// The identity of a file in a stamp that a database has remembered.
pub(super) const UNKNOWN_ID: (u64, u64) = (0, 0);
/// The bytes that show the format of a picture.
const HEAD_BYTES: u64 = 32;
/// A decoder has the samples, coefficients of a progressive JPEG, or a copy that is turned.
const COPIES: u64 = 3;
/// The quality of what is not compared by what it shows.
const ALL_QUALITY: u8 = 100;

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PictureFile {
    pub(crate) path: PathBuf,
    /// The state of the file before it was read.
    pub(crate) stamp: FileStamp,
    /// XXH3 of its bytes on disk.
    pub(crate) hash: u128,
    /// The pixels, as the picture is shown.
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Of PDQ, from 0 to 100. Of a file that has several, 100.
    pub(crate) quality: u8,
    /// Whether it has several frames or pages, or something behind the picture. Only byte-identical files are near it.
    pub(crate) has_several: bool,
    /// Its PDQ fingerprint, and with `--rotated` the fingerprints of its seven rotations and reflections. Of a file
    /// that has several, one that is made of the hash.
    pub(crate) prints: Vec<U256>,
}

impl PictureFile {
    /// The number of its pixels.
    pub(crate) fn num_pixels(&self) -> usize {
        self.width * self.height
    }

    /// The distance from another picture, or between one of the two and the nearest rotation or reflection of the other:
    /// the smaller one, since rounding makes the two differ by a bit or so.
    pub(crate) fn distance(&self, other: &Self) -> u32 {
        if self.has_several || other.has_several {
            return if self.is_copy_of(other) { 0 } else { u32::MAX };
        }
        let [a, b] = [self, other].map(|picture| &*picture.prints);
        let turned =
            a.iter().map(|print| print.distance(b[0])).chain(b.iter().map(|print| a[0].distance(*print)));
        turned.min().unwrap_or(u32::MAX)
    }

    /// The state of the file with its identity. A file that a database remembers is read: `None` if it has another
    /// content now.
    pub(crate) fn identified_stamp(&self) -> Option<FileStamp> {
        if self.stamp.id != UNKNOWN_ID {
            return Some(self.stamp);
        }
        let mut file = open_regular(&self.path).ok()?;
        let now = FileStamp::of_open(&file).ok().filter(|now| self.has_state(now))?;
        let mut bytes = Vec::new();
        file.by_ref().take(now.size_bytes).read_to_end(&mut bytes).ok()?;
        let is_same = xxh3_128(&bytes) == self.hash && FileStamp::of_open(&file).ok()? == now;
        is_same.then_some(now)
    }

    /// Whether a file has the size and the time of this one.
    pub(super) fn has_state(&self, stamp: &FileStamp) -> bool {
        (self.stamp.size_bytes, self.stamp.modified) == (stamp.size_bytes, stamp.modified)
    }

    /// Whether the file is there, with its size and its time.
    pub(super) fn is_there(&self) -> bool {
        FileStamp::of(&self.path).is_ok_and(|now| self.has_state(&now))
    }

    /// Whether both files have the same bytes.
    pub(crate) fn is_copy_of(&self, other: &Self) -> bool {
        (self.stamp.size_bytes, self.hash) == (other.stamp.size_bytes, other.hash)
    }
}

/// The fingerprints of a picture: its own, and with `--rotated` one for each of its rotations and reflections.
#[derive(Debug)]
pub(crate) struct Prints {
    pub(crate) values: Vec<AnyFingerprint>,
    /// From 0 to 100.
    pub(crate) quality: u8,
}

/// Whether a regular file is a picture by its first bytes.
pub(crate) fn is_picture(path: &Path) -> bool {
    head_of(path).is_ok_and(|head| format_of(&head).is_some())
}

/// The same, also of a format that has no decoder.
pub(crate) fn is_any_picture(path: &Path) -> bool {
    head_of(path).is_ok_and(|head| format_of(&head).is_some() || unsupported_format_of(&head).is_some())
}

fn head_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(HEAD_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads pictures on several threads, which share its memory.
#[derive(Clone, Debug)]
pub(crate) struct PictureReader {
    limits: Limits,
    /// The largest file.
    max_bytes: u64,
    /// Whether rotations and reflections get fingerprints.
    is_rotated: bool,
    memory: Arc<MemoryGate>,
}

/// What a file is that may be a picture, and what is known of a picture.
#[derive(Debug)]
pub(crate) enum Candidate<T> {
    Picture(T),
    /// It is a picture of more bytes than a file may have.
    Large,
    /// It is a picture of a format that has no decoder.
    Undecoded(&'static str),
    /// It is something else.
    Other,
}

impl PictureReader {
    pub(crate) fn new(max_bytes: u64, is_rotated: bool) -> Self {
        Self { limits: Limits::default(), max_bytes, is_rotated, memory: Arc::default() }
    }

    /// Reads a regular file, and makes its fingerprints if it is a picture.
    ///
    /// # Errors
    /// [`Error::Input`](nearprint_text::Error::Input) for a picture that cannot be decoded, and I/O errors.
    pub(crate) fn read(&self, path: &Path) -> Result<Candidate<Box<PictureFile>>> {
        let (bytes, stamp) = match self.bytes(path)? {
            Candidate::Picture(read) => read,
            Candidate::Large => return Ok(Candidate::Large),
            Candidate::Undecoded(format) => return Ok(Candidate::Undecoded(format)),
            Candidate::Other => return Ok(Candidate::Other),
        };
        let (hash, has_several) = (xxh3_128(&bytes), has_more_than_a_picture(&bytes));
        let found = self.decoded(bytes, decode_luminance, |picture| {
            let size = (picture.width(), picture.height());
            match self.is_rotated {
                _ if has_several => (vec![print_of_hash(hash)], ALL_QUALITY, size),
                true => {
                    let (prints, quality) = pdq_turned(picture);
                    (prints.to_vec(), quality, size)
                }
                false => {
                    let found = pdq(picture);
                    (vec![found.hash], found.quality, size)
                }
            }
        });
        let (prints, quality, (width, height)) = match found {
            Ok(found) => found,
            Err(Error::Unsupported { format }) => return Ok(Candidate::Undecoded(format)),
            Err(error) => return Err(refused(path, &error)),
        };
        let path = path.to_path_buf();
        let file = PictureFile { path, stamp, hash, width, height, quality, has_several, prints };
        Ok(Candidate::Picture(Box::new(file)))
    }

    /// The fingerprints of a picture by any recipe. `None` if the file is no picture, or too large.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub(crate) fn fingerprint(&self, path: &Path, recipe: Recipe) -> Result<Option<Prints>> {
        let bytes = match self.bytes(path)? {
            Candidate::Picture((bytes, _)) => bytes,
            Candidate::Undecoded(format) => return Err(refused(path, &Error::Unsupported { format })),
            Candidate::Large | Candidate::Other => return Ok(None),
        };
        if has_several_frames(&bytes) {
            return Err(nearprint_text::Error::Input {
                place: path.to_string_lossy().into_owned(),
                why: "has several frames or pages; save one of them as a file, because a fingerprint is of one image"
                    .into(),
            });
        }
        let prints = self.decoded(bytes, decode_luminance, |picture| {
            if let Some((values, quality)) = self.is_rotated.then(|| recipe.turned(picture)).flatten() {
                return Prints { values: values.to_vec(), quality };
            }
            let (value, quality) = recipe.fingerprint(picture);
            Prints { values: vec![value], quality }
        });
        prints.map(Some).map_err(|error| refused(path, &error))
    }

    /// A small JPEG of a picture. `None` if the file cannot be read any more.
    pub(crate) fn thumbnail(&self, path: &Path, side: usize) -> Option<Vec<u8>> {
        let Ok(Candidate::Picture((bytes, _))) = self.bytes(path) else { return None };
        self.decoded(bytes, decode, |picture| thumbnail(picture, side).ok()).ok()?
    }

    /// Reads a file if it is a picture that can be decoded: its bytes, and its state before they were read.
    fn bytes(&self, path: &Path) -> Result<Candidate<(Vec<u8>, FileStamp)>> {
        let read = || {
            let mut file = open_regular(path)?;
            let stamp = FileStamp::of_open(&file)?;
            let mut bytes = Vec::new();
            file.by_ref().take(HEAD_BYTES).read_to_end(&mut bytes)?;
            if let Some(format) = unsupported_format_of(&bytes) {
                return Ok(Candidate::Undecoded(format));
            }
            if format_of(&bytes).is_none() {
                return Ok(Candidate::Other);
            }
            if stamp.size_bytes > self.max_bytes {
                return Ok(Candidate::Large);
            }
            file.take(self.max_bytes).read_to_end(&mut bytes)?;
            Ok(Candidate::Picture((bytes, stamp)))
        };
        Ok(read().map_err(nearprint::Error::io("read", path))?)
    }

    /// What `of` makes of a decoded picture.
    fn decoded<T>(
        &self,
        bytes: Vec<u8>,
        decode: impl FnOnce(&[u8], &Limits) -> nearprint_image::Result<Picture<'static>>,
        of: impl FnOnce(&Picture<'_>) -> T,
    ) -> nearprint_image::Result<T> {
        let needed = decoded_bytes(&bytes, &self.limits)?;
        let _share = self.memory.enter(COPIES * needed + bytes.len() as u64);
        let picture = decode(&bytes, &self.limits)?;
        drop(bytes);
        Ok(of(&picture))
    }
}

/// The fingerprint of a file that has more than a picture: only its copies have one that is near.
fn print_of_hash(hash: u128) -> U256 {
    U256::from_words([0, 1, 2, 3].map(|seed| xxh3_64_with_seed(&hash.to_le_bytes(), seed)))
}

/// The error of a file that has no fingerprint.
fn refused(path: &Path, error: &Error) -> nearprint_text::Error {
    nearprint_text::Error::Input { place: path.to_string_lossy().into_owned(), why: error.to_string() }
}
