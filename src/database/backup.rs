//! A copy of a database at one moment, made while a writer goes on.
//!
//! A snapshot has every file mapped, so nothing that the writer removes meanwhile is missed. What was in
//! no run yet, the snapshot has sorted already: in the copy it is one more run, and there is no log.

use std::path::Path;

use crate::database::snapshot::Snapshot;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::Manifest;
use crate::log::manifest;
use crate::progress::Stage;
use crate::storage::{Staging, refuse_inside};

impl<F: Fingerprint> Snapshot<F> {
    /// Writes a database that holds just what this snapshot does. `dest` must not exist, or be an empty
    /// folder; nothing stands there until the copy is complete and synced.
    ///
    /// Each page's checksum is verified as it is copied. The copy has the same database id, knows which ids
    /// were given and which runs were ingested, and from then on is a database of its own.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists); [`Error::Option`](crate::Error::Option) for a place in
    /// the database itself; [`Error::Corrupt`](crate::Error::Corrupt) where
    /// a page is damaged; [`Error::DiskFull`](crate::Error::DiskFull) and [`Error::Io`](crate::Error::Io);
    /// [`Error::Locked`](crate::Error::Locked) while another process makes a database of that name;
    /// [`Error::Interrupted`](crate::Error::Interrupted) when the progress listener says so. In each case
    /// nothing of the copy stays.
    pub fn backup(&self, dest: impl AsRef<Path>) -> Result<()> {
        refuse_inside(dest.as_ref(), &self.folder())?;
        let staging = Staging::begin(dest.as_ref())?;
        let options = self.options();
        let mut manifest = self.manifest_in_runs();
        let total = self.runs().map(|run| run.record.len_bytes()).sum();
        let mut done = 0;
        let mut report = |bytes| {
            done += bytes;
            options.report(Stage::Copying, done, Some(total))
        };
        for run in self.runs() {
            let copy = run.copy(staging.folder(), manifest.database_id, run.record.run, &mut report)?;
            manifest.runs.push(copy);
        }
        manifest::replace(staging.folder(), &manifest)?;
        staging.publish()
    }

    /// What a manifest says of this snapshot once all of it is in runs; the runs themselves are still to
    /// be named.
    fn manifest_in_runs(&self) -> Manifest {
        let next_run = self.runs().map(|run| run.record.run + 1).max().unwrap_or(0);
        let mut manifest = Manifest { runs: Vec::new(), live_wal: None, ..self.manifest().clone() };
        manifest.next_run = manifest.next_run.max(next_run);
        manifest
    }
}
