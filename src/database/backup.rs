//! A copy of a database at one moment, made while a writer works.
//!
//! A snapshot has every file mapped, so files that the writer removes meanwhile are still there.
//! Unflushed rows are one more run in the copy, which has no log.

use std::path::Path;

use crate::database::snapshot::Snapshot;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Expiry, Manifest};
use crate::log::manifest;
use crate::progress::Stage;
use crate::storage::{Staging, refuse_inside};
use crate::util::time::Time;

impl<F: Fingerprint> Snapshot<F> {
    /// Writes a copy of this snapshot. `dest` must not exist, or be an empty folder; it appears
    /// when the copy is complete and synced.
    ///
    /// Verifies the checksum of each page. The copy is as accessible to other users as the database.
    /// It has the same database id, assigned ids and
    /// ingested runs; it is a separate database from then on.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists);
    /// [`Error::InsideDatabase`](crate::Error::InsideDatabase);
    /// [`Error::Corrupt`](crate::Error::Corrupt) where a page is damaged;
    /// [`Error::DiskFull`](crate::Error::DiskFull) and [`Error::Io`](crate::Error::Io);
    /// [`Error::Locked`](crate::Error::Locked) while another process makes a database of that name;
    /// [`Error::Interrupted`](crate::Error::Interrupted) when the progress listener says so. In
    /// each case nothing of the copy stays.
    pub fn backup(&self, dest: impl AsRef<Path>) -> Result<()> {
        refuse_inside(dest.as_ref(), &self.folder())?;
        manifest::check_writable(self.storage(), self.manifest())?;
        let mut staging = Staging::begin(dest.as_ref())?;
        staging.copy_permissions(self.storage())?;
        let options = self.options();
        let mut manifest = self.manifest_in_runs();
        let ingested = manifest.ingested.iter().map(|file| file.file.len_bytes);
        let total = self.runs().map(|run| run.record.len_bytes()).chain(ingested).sum();
        let mut done = 0;
        let mut report = |bytes| {
            done += bytes;
            options.report(Stage::Copying, done, Some(total))
        };
        for run in self.runs() {
            let copy =
                run.copy(staging.folder(), &manifest, (run.record.run, run.record.expires), &mut report)?;
            manifest.runs.push(copy);
        }
        for (file, record) in self.identities().iter().zip(&manifest.ingested) {
            file.copy(staging.folder(), &manifest, record, &mut report)?;
        }
        manifest::replace(staging.folder(), &manifest)?;
        staging.publish()
    }

    /// The manifest of the copy, without its runs.
    fn manifest_in_runs(&self) -> Manifest {
        let next_run = self.runs().map(|run| run.record.run + 1).max().unwrap_or(0);
        let mut manifest = Manifest { runs: Vec::new(), live_wal: None, ..self.manifest().clone() };
        manifest.next_run = manifest.next_run.max(next_run);
        manifest.expiry = manifest.expiry.map(|expiry| Expiry { of_log: Time(0), ..expiry });
        manifest
    }
}
