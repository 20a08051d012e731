//! The record of a finished deduplication of files.
//!
//! The database has seen all documents of a finished job. Run again, the job would keep none and
//! empty its own output. The record recognises the job, its inputs and its outputs.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::checkpoint::{Checkpoint, RecordHash};
use super::job::FileJob;
use super::report::{Report, report_progress};
use crate::documents::Reader;
use crate::error::{Error, OutputProblem, Result};

/// Bytes of a file that are read at once.
const BLOCK_BYTES: usize = 1 << 20;
/// Records between two reports.
const REPORT_RECORDS: u64 = 1000;

/// A finished job: its last checkpoint and its files. The names of its JSON members are part of the
/// database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Completed {
    pub(super) checkpoint: Checkpoint,
    /// The hash of the first 1, 2, 4, 8, … records.
    #[serde(default)]
    at_powers: Vec<u64>,
    /// Of the output, the duplicates and the rejects; `None` if there is none, or no regular file.
    files: [Option<FileDigest>; 3],
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileDigest {
    bytes: u64,
    /// The 128-bit xxh3 of the content, in hexadecimal.
    xxh3: String,
}

impl Completed {
    /// The record of a job whose files are complete.
    pub(super) fn of(job: &FileJob, checkpoint: Checkpoint, at_powers: Vec<u64>) -> Result<Self> {
        let mut files = [None, None, None];
        for (digest, path) in files.iter_mut().zip(paths(job)) {
            if let Some(path) = path.filter(|path| is_file(path)) {
                *digest = Some(digest_of(path).map_err(Error::io("read", path))?);
            }
        }
        Ok(Self { checkpoint, at_powers, files })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// `None` for the record of a later version.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Whether a reader reads the same records as the job. Other records are recognized, at the
    /// latest, where there are twice as many as the equal ones before them.
    pub(super) fn has_read(&self, reader: &mut Reader, report: Report<'_>) -> Result<bool> {
        let Checkpoint { counts, digest, .. } = &self.checkpoint;
        let mut found = RecordHash::default();
        while let Some(item) = reader.next_item()? {
            found.push(item.digest());
            if found.records > counts.records || !self.at_powers.starts_with(&found.at_powers) {
                return Ok(false);
            }
            if found.records.is_multiple_of(REPORT_RECORDS) {
                report_progress(report, counts, reader.position())?;
            }
        }
        Ok(found.records == counts.records && found.value == *digest)
    }

    /// Checks that the files of the job are as it has written them.
    pub(super) fn check_files(&self, job: &FileJob) -> Result<()> {
        for (digest, path) in self.files.iter().zip(paths(job)) {
            let Some((expected, path)) = digest.as_ref().zip(path) else { continue };
            if !is_file(path) || digest_of(path).map_err(Error::io("read", path))? != *expected {
                return Err(OutputProblem::ChangedAfterEnd { path: path.clone() }.into());
            }
        }
        Ok(())
    }
}

/// The files of a job: the output, the duplicates, the rejects.
fn paths(job: &FileJob) -> [Option<&PathBuf>; 3] {
    [Some(&job.output), job.duplicates.as_ref(), job.rejects.as_ref()]
}

fn is_file(path: &Path) -> bool {
    path != Path::new("-") && path.is_file()
}

fn digest_of(path: &Path) -> io::Result<FileDigest> {
    let (mut file, mut hash, mut bytes) = (File::open(path)?, Xxh3::new(), 0);
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(FileDigest { bytes, xxh3: format!("{:032x}", hash.digest128()) }),
            len => {
                hash.update(&block[..len]);
                bytes += len as u64;
            }
        }
    }
}
