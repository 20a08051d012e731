//! Finds files with equal bytes, whatever is in them.
//!
//! Only files of one size can be copies. Their first and last bytes tell most of them apart; what is left is hashed
//! whole. Small files are read once, whole. No file is in memory, only a buffer for each thread.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use nearprint::internal as parallel;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::folder::LeftOut;
use super::input_file::InputFile;
use super::regular::open_regular;
use super::stamp::FileStamp;
use crate::error::{Error, Result};

/// The largest file that is read whole at once. To open it a second time would take as long.
const SMALL_BYTES: usize = 1 << 15;
/// What is read at the beginning and at the end of a larger file.
const END_BYTES: usize = 1 << 12;
/// The buffer of a thread.
const BUFFER_BYTES: usize = 1 << 17;
/// A report of progress is due after these bytes of a large file.
const REPORTED_BYTES: u64 = 1 << 28;
/// Files per item of work, if only their ends are read.
const CHUNK_FILES: usize = 64;

/// Finds the files with equal bytes on disk, on `threads` threads.
///
/// A group has the places of at least two files in the list, ascending. Groups are sorted by their first files.
///
/// Empty files are not copies of each other. Two names of one file are one file: the first name counts. `left_out` gets
/// both, with the files that cannot be read or have changed since they were listed. Files are equal if their sizes and
/// 128-bit hashes (XXH3) are equal: [`have_same_bytes`](super::have_same_bytes) compares two of them byte by byte,
/// which is due before a deletion.
///
/// `progress` gets what is done, what is counted, and two numbers of it: those that are done, and all.
///
/// ```
/// use nearprint_text::documents::{FolderRules, find_copies, list_files};
///
/// # let home = tempfile::tempdir()?;
/// for (name, content) in [("a", "one"), ("b", "two"), ("c", "one")] {
///     std::fs::write(home.path().join(name), content)?;
/// }
/// let (files, mut left_out) = list_files(&[home.path().into()], &FolderRules::default())?;
/// let groups = find_copies(&files, &mut left_out, 2, |_, _, _| Ok(()))?;
/// assert_eq!(groups, [[0, 2]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of `progress`; [`Error::Engine`] if the process lacks file handles or memory.
pub fn find_copies(
    files: &[InputFile],
    left_out: &mut LeftOut,
    threads: usize,
    progress: impl FnMut((&'static str, &'static str), u64, u64) -> Result<()>,
) -> Result<Vec<Vec<usize>>> {
    let mut finder = Finder { files, threads, left_out, progress };
    let places = finder.places_of_equal_sizes();
    let equal = finder.equal(&places, Part::Ends)?;
    let is_small = |group: &Vec<usize>| size_of(&files[group[0]]) <= SMALL_BYTES as u64;
    let (mut groups, large): (Vec<_>, Vec<_>) = equal.into_iter().partition(is_small);
    let mut large = large.concat();
    large.sort_unstable();
    groups.extend(finder.equal(&large, Part::Whole)?);
    groups.sort_unstable();
    Ok(groups)
}

/// What is read of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A small file, or the first and last bytes of a larger one.
    Ends,
    Whole,
}

/// What a thread has read since its last report.
struct Report {
    read_bytes: u64,
    /// The hashes of files, by their places.
    hashes: Vec<(usize, Result<u128>)>,
}

struct Finder<'a, P> {
    files: &'a [InputFile],
    threads: usize,
    left_out: &'a mut LeftOut,
    progress: P,
}

impl<P: FnMut((&'static str, &'static str), u64, u64) -> Result<()>> Finder<'_, P> {
    /// The places of regular files whose sizes others have, ascending.
    fn places_of_equal_sizes(&mut self) -> Vec<usize> {
        let mut seen = HashSet::new();
        let mut by_size = Vec::new();
        for (place, file) in self.files.iter().enumerate() {
            match file.stamp {
                None => {}
                Some(stamp) if stamp.size_bytes == 0 => self.left_out.empty.push(file.path.clone()),
                Some(stamp) if !seen.insert(stamp.id) => self.left_out.num_further_names += 1,
                Some(stamp) => by_size.push((stamp.size_bytes, place)),
            }
        }
        let mut places = groups_of(by_size).concat();
        places.sort_unstable();
        places
    }

    /// The groups of files of one size of which this part is equal.
    fn equal(&mut self, places: &[usize], part: Part) -> Result<Vec<Vec<usize>>> {
        let (chunk_files, unit) = match part {
            Part::Ends => (CHUNK_FILES, "files"),
            Part::Whole => (1, "bytes"),
        };
        let files = self.files;
        let chunks: Vec<&[usize]> = places.chunks(chunk_files).collect();
        let total = match part {
            Part::Ends => places.len() as u64,
            Part::Whole => places.iter().map(|&place| size_of(&files[place])).sum(),
        };
        let work = |chunk: usize, buffer: &mut Vec<u8>, sink: parallel::Sink<'_, Report>| {
            let hashes = chunks[chunk].iter().map(|&place| {
                let mut report = |read_bytes| sink(Report { read_bytes, hashes: Vec::new() });
                (place, hash_of(&files[place], part, buffer, &mut report))
            });
            let hashes = hashes.collect();
            // The sink fails only after an interrupt, which `ordered` reports.
            let _ = sink(Report { read_bytes: 0, hashes });
            Ok::<(), Error>(())
        };
        let (mut found, mut done) = (Vec::with_capacity(places.len()), 0);
        parallel::ordered(
            self.threads,
            chunks.len(),
            || vec![0; BUFFER_BYTES],
            work,
            |Report { read_bytes, hashes }| {
                done += if part == Part::Ends { hashes.len() as u64 } else { read_bytes };
                for (place, hash) in hashes {
                    match hash {
                        Ok(hash) => found.push(((size_of(&files[place]), hash), place)),
                        Err(error) => self.left_out.add_unreadable(error)?,
                    }
                }
                (self.progress)(("comparing", unit), done, total)
            },
        )?;
        Ok(groups_of(found))
    }
}

/// The places that share a key with another place.
fn groups_of<K: Ord>(mut keyed: Vec<(K, usize)>) -> Vec<Vec<usize>> {
    keyed.sort_unstable();
    let groups = keyed.chunk_by(|one, other| one.0 == other.0).filter(|group| group.len() > 1);
    groups.map(|group| group.iter().map(|(_, place)| *place).collect()).collect()
}

fn size_of(file: &InputFile) -> u64 {
    file.size_bytes.unwrap_or_default()
}

/// The hash of a part of a file, which has to be in the state in which it was listed.
fn hash_of(
    file: &InputFile,
    part: Part,
    buffer: &mut [u8],
    report: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<u128> {
    let mut read = || -> io::Result<(u128, FileStamp)> {
        let mut opened = open_regular(&file.path)?;
        let hash = match part {
            Part::Ends => hash_of_ends(&mut opened, size_of(file), buffer)?,
            Part::Whole => hash_of_all(&mut opened, buffer, report)?,
        };
        Ok((hash, FileStamp::of_open(&opened)?))
    };
    match read() {
        Ok((hash, stamp)) if Some(stamp) == file.stamp => Ok(hash),
        // It ended before its size.
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(Error::io("read", &file.path)(error)),
        _ => Err(Error::input(file.path.to_string_lossy(), "has changed since it was listed")),
    }
}

fn hash_of_ends(file: &mut File, size_bytes: u64, buffer: &mut [u8]) -> io::Result<u128> {
    let small = usize::try_from(size_bytes).ok().filter(|size| *size <= SMALL_BYTES);
    if let Some(size) = small {
        file.read_exact(&mut buffer[..size])?;
        return Ok(xxh3_128(&buffer[..size]));
    }
    let (first, last) = buffer[..2 * END_BYTES].split_at_mut(END_BYTES);
    file.read_exact(first)?;
    file.seek(SeekFrom::End(-(END_BYTES as i64)))?;
    file.read_exact(last)?;
    Ok(xxh3_128(&buffer[..2 * END_BYTES]))
}

fn hash_of_all(
    file: &mut File,
    buffer: &mut [u8],
    report: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> io::Result<u128> {
    let mut hasher = Xxh3::new();
    let mut unreported = 0;
    loop {
        let len = match file.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        hasher.update(&buffer[..len]);
        unreported += len as u64;
        if len == 0 || unreported >= REPORTED_BYTES {
            let is_over = report(unreported).is_break() || len == 0;
            if is_over {
                return Ok(hasher.digest128());
            }
            unreported = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::folder::FolderRules;
    use super::super::input_file::list_files;
    use super::*;

    #[test]
    fn files_that_differ_in_the_middle_alone_are_no_copies() {
        let home = tempfile::tempdir().unwrap();
        for size in [2, SMALL_BYTES, SMALL_BYTES + 1, 3 * BUFFER_BYTES + 1] {
            let mut content = vec![7; size];
            for name in ["a", "c"] {
                fs::write(home.path().join(format!("{name}{size}")), &content).unwrap();
            }
            content[size / 2] = 8;
            for name in ["b", "d"] {
                fs::write(home.path().join(format!("{name}{size}")), &content).unwrap();
            }
        }
        let (files, _) = list_files(&[home.path().into()], &FolderRules::default()).unwrap();
        let groups = find_copies(&files, &mut LeftOut::default(), 2, |_, _, _| Ok(())).unwrap();
        let name = |place: &usize| files[*place].path.file_name().unwrap().to_str().unwrap();
        let mut groups: Vec<String> =
            groups.iter().map(|group| group.iter().map(name).collect::<String>()).collect();
        groups.sort_by_key(|group| (group.len(), group.clone()));
        let expected = ["a2c2", "b2d2", "a32768c32768", "a32769c32769", "b32768d32768", "b32769d32769"];
        assert_eq!(groups[..6], expected);
        assert_eq!(groups[6..], ["a393217c393217", "b393217d393217"]);
    }

    #[test]
    fn what_changes_after_the_listing_is_left_out_and_named() {
        let home = tempfile::tempdir().unwrap();
        for size in [5, 2 * SMALL_BYTES] {
            for name in ["a", "b", "c"] {
                fs::write(home.path().join(format!("{name}{size}")), vec![1; size]).unwrap();
            }
        }
        let (files, _) = list_files(&[home.path().into()], &FolderRules::default()).unwrap();
        fs::write(home.path().join("b5"), "12345678").unwrap();
        fs::write(home.path().join(format!("b{}", 2 * SMALL_BYTES)), "1").unwrap();
        fs::remove_file(home.path().join("c5")).unwrap();
        let mut left_out = LeftOut::default();
        let groups = find_copies(&files, &mut left_out, 2, |_, _, _| Ok(())).unwrap();
        let kept = ["a", "c"].map(|name| home.path().join(format!("{name}{}", 2 * SMALL_BYTES)));
        assert_eq!(groups.len(), 1);
        assert!(groups[0].iter().map(|&place| &files[place].path).eq(&kept));
        let named = left_out.unreadable;
        assert_eq!(named.len(), 3, "{named:?}");
        assert!(named.iter().filter(|why| why.contains("has changed since it was listed")).count() == 2);
    }

    #[test]
    fn empty_files_and_two_names_of_one_file_are_no_copies() {
        let home = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::write(home.path().join(name), "").unwrap();
        }
        fs::write(home.path().join("c"), "1").unwrap();
        fs::hard_link(home.path().join("c"), home.path().join("d")).unwrap();
        let files: Vec<InputFile> = ["a", "b", "c", "d"]
            .iter()
            .flat_map(|name| list_files(&[home.path().join(name)], &FolderRules::default()).unwrap().0)
            .collect();
        let mut left_out = LeftOut::default();
        assert!(find_copies(&files, &mut left_out, 2, |_, _, _| Ok(())).unwrap().is_empty());
        assert_eq!((left_out.empty.len(), left_out.num_further_names), (2, 1));
    }

    #[test]
    fn an_error_of_the_progress_ends_it() {
        let home = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::write(home.path().join(name), vec![1; 2 * SMALL_BYTES]).unwrap();
        }
        let (files, _) = list_files(&[home.path().into()], &FolderRules::default()).unwrap();
        let stopped = find_copies(&files, &mut LeftOut::default(), 2, |(_, unit), _, _| match unit {
            "bytes" => Err(nearprint::Error::Interrupted.into()),
            _ => Ok(()),
        });
        assert!(matches!(stopped, Err(Error::Engine(nearprint::Error::Interrupted))));
    }
}
