//! A copy of a database at one moment, made while a writer works.
//!
//! A snapshot has every file mapped, so files that the writer removes meanwhile are still there.
//! Unflushed rows are one more run in the copy, which has no log.

use std::path::{Path, PathBuf};

use crate::database::left_out;
use crate::database::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Expiry, Manifest, RunRecord};
use crate::log::manifest;
use crate::progress::Stage;
use crate::run::{CopiedRun, Run};
use crate::storage::{Folder, Staging, names, refuse_inside};
use crate::util::time::Time;

impl<F: Fingerprint> Snapshot<F> {
    /// Writes a copy of this snapshot. `dest` must not exist, or be an empty folder; it appears
    /// when the copy is complete and synced.
    ///
    /// Verifies the checksum of each page. Other users have the same access to the copy as to the database.
    /// The copy keeps the database id, the assigned ids and the list of ingested runs. From then on it is a
    /// separate database.
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
        self.backup_with(dest, None::<&Path>).map(drop)
    }

    /// Does what [`backup`](Snapshot::backup) does, and shares unchanged files with `base`, an earlier copy:
    /// they become hard links if the file system has them. Returns the number of bytes that are shared.
    ///
    /// Every page of a shared file is verified. Files are copied if they are damaged in `base`, if it
    /// has other permissions, or if it is a copy of another database.
    ///
    /// # Errors
    /// As [`backup`](Snapshot::backup); also as [`Database::open`](crate::Database::open) for `base`.
    pub fn backup_with(&self, dest: impl AsRef<Path>, base: Option<impl AsRef<Path>>) -> Result<u64> {
        F::backup(self, dest.as_ref(), base.as_ref().map(AsRef::as_ref))
    }
}

impl<F: Fingerprint> Snapshot<F> {
    pub(super) fn copy_to(&self, dest: &Path, base: Option<&Path>) -> Result<u64> {
        let base = base.map(Base::open::<F>).transpose()?;
        refuse_inside(dest, &self.folder())?;
        manifest::check_writable(self.storage(), self.manifest())?;
        let mut staging = Staging::begin(dest)?;
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
        let mut shared = 0;
        for run in self.runs() {
            let base = base.as_ref().filter(|base| base.has(&manifest, &run.record));
            if let Some(base) = base
                && base.link::<F>(&run.record, &staging, &mut || report(0))?
            {
                manifest.runs.push(run.record.clone());
                shared += run.record.len_bytes();
                report(run.record.len_bytes())?;
                continue;
            }
            let copy = run.copy(staging.folder(), &manifest, CopiedRun::of(&run.record), &mut report)?;
            manifest.runs.push(copy);
        }
        for (file, record) in self.identities().iter().zip(&manifest.ingested) {
            file.copy(staging.folder(), &manifest, record, &mut report)?;
        }
        let base = base.as_ref().map(|base| base.path.as_path());
        if let Some(left_out) = left_out::open(&self.folder(), options)? {
            let base = base.map(|base| base.join(names::LEFT_OUT)).filter(|base| base.exists());
            let dest = staging.path().join(names::LEFT_OUT);
            shared += left_out.take_snapshot()?.copy_to(&dest, base.as_deref())?;
        }
        manifest::replace(staging.folder(), &manifest)?;
        staging.publish()?;
        Ok(shared)
    }

    /// The manifest of the copy, without its runs.
    fn manifest_in_runs(&self) -> Manifest {
        let next_run = self.runs().map(|run| run.record.run + 1).max().unwrap_or(0);
        let mut manifest =
            Manifest { runs: Vec::new(), live_wal: None, sealed_wal: None, ..self.manifest().clone() };
        manifest.next_run = manifest.next_run.max(next_run);
        // The commits of the logs are in runs here. Others would repeat their numbers.
        manifest.next_frame = self.next_frame();
        manifest.expiry = manifest.expiry.map(|expiry| Expiry { of_log: Time(0), ..expiry });
        manifest
    }
}

/// An earlier copy of a database.
struct Base {
    path: PathBuf,
    folder: Folder,
    manifest: Manifest,
}

impl Base {
    fn open<F: Fingerprint>(path: &Path) -> Result<Self> {
        let folder = Folder::of_database(path)?;
        Ok(Self { path: path.to_path_buf(), manifest: manifest::of::<F>(&folder)?, folder })
    }

    /// Whether the files of a run are the same here as in a copy with this manifest.
    fn has(&self, copy: &Manifest, run: &RunRecord) -> bool {
        self.manifest.database_id == copy.database_id && self.manifest.runs.contains(run)
    }

    /// Links the files of a run, and returns whether they are sound and could be linked.
    fn link<F: Fingerprint>(
        &self,
        run: &RunRecord,
        staging: &Staging,
        tick: &mut dyn FnMut() -> Result<()>,
    ) -> Result<bool> {
        let checked = Run::<F>::open(&self.folder, &self.manifest, run).and_then(|run| run.check_pages(tick));
        match checked {
            Ok(()) => Ok(staging.link_all(&self.folder, &run.file_names().collect::<Vec<_>>())),
            Err(Error::Interrupted) => Err(Error::Interrupted),
            Err(_) => Ok(false),
        }
    }
}
