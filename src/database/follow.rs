//! A second folder that follows a database: its files, byte for byte, in an order that makes the folder a
//! database at every moment.
//!
//! Runs are copied first, then frames are appended to copies of the logs, and the manifest comes last.
//! The file `FOLLOWER` keeps writers out, so that the folder has nothing but what its source had.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use crate::database::handle::Database;
use crate::database::left_out;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Expiry, IdentitiesRecord, Manifest, RunRecord};
use crate::format::wal::{Frames, LogPlace, WalHeader};
use crate::log::manifest;
use crate::log::wal::Log;
use crate::options::Options;
use crate::progress::Stage;
use crate::run::{CopiedRun, Identities, Run};
use crate::storage::{Folder, Guarded, Lock, Staging, Storage, WriteFile, names, refuse_inside, take_lock};
use crate::util::time::Time;

/// Begins the content of `FOLLOWER`.
const NOTE: &str = "follows ";

/// What [`Follower::update`] has copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Update {
    /// Bytes of runs and of frames that were copied.
    pub bytes: u64,
    /// Whether the folder has changed.
    pub changed: bool,
}

/// A folder that is kept up to date with a database: see [`Database::follow`]. It locks the folder, not the
/// database.
#[derive(Debug)]
pub struct Follower<F> {
    source: Arc<dyn Storage>,
    storage: Guarded,
    options: Options,
    /// As it is in the folder.
    manifest: Manifest,
    logs: Vec<LogCopy>,
    /// Held until everything else is dropped.
    lock: Arc<dyn Lock>,
    /// Of the documents that the database remembers as left out.
    left_out: Option<Box<Follower<u128>>>,
    width: PhantomData<F>,
}

/// The copy of a log, open for appending.
#[derive(Debug)]
struct LogCopy {
    salt: u64,
    file: Box<dyn WriteFile>,
    end: LogPlace,
}

/// What the source has and the folder does not.
struct News<F> {
    manifest: Manifest,
    runs: Vec<Run<F>>,
    identities: Vec<(usize, Identities)>,
    logs: Vec<LogNews>,
}

/// The frames of a log from a place on.
struct LogNews {
    header: WalHeader,
    from: LogPlace,
    end: LogPlace,
    bytes: Vec<u8>,
}

impl<F: Fingerprint> Database<F> {
    /// Makes a folder that [follows](Follower::update) this database, or continues one. `dest` must not
    /// exist, be an empty folder, or follow this database already. Brings it up to date, which costs a copy
    /// of what it lacks.
    ///
    /// Snapshots of the folder are like those of any database. No writer opens it. If somebody removes its
    /// file `FOLLOWER`, it becomes a database of its own, and follows no more.
    ///
    /// ```
    /// use nearprint::{Database, Schema};
    /// # let home = tempfile::tempdir()?;
    /// let database = Database::<u64>::create(home.path().join("seen.np"), &Schema::new())?;
    /// let mut follower = database.follow(home.path().join("second.np"))?;
    /// let mut writer = database.writer()?;
    /// writer.insert(0x1f3a)?;
    /// writer.commit()?;
    /// assert!(follower.update()?.changed);
    /// let second = Database::<u64>::open(home.path().join("second.np"))?;
    /// assert_eq!(second.snapshot()?.stats().rows, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] for a folder with anything else, [`Error::InsideDatabase`], [`Error::Locked`] if it
    /// is being updated; as [`Follower::update`].
    pub fn follow(&self, dest: impl AsRef<Path>) -> Result<Follower<F>> {
        F::follow(self, dest.as_ref())
    }

    pub(super) fn follow_in(&self, dest: &Path) -> Result<Follower<F>> {
        let mut follower = self.begin_to_follow_in(dest)?;
        if let Some(left_out) = left_out::open(self.path(), &self.options)? {
            follower.left_out = Some(Box::new(left_out.begin_to_follow_in(&dest.join(names::LEFT_OUT))?));
        }
        follower.update()?;
        Ok(follower)
    }

    fn begin_to_follow_in(&self, dest: &Path) -> Result<Follower<F>> {
        let source = self.storage()?;
        refuse_inside(dest, self.path())?;
        let is_new = match Folder::of_database(dest) {
            Ok(folder) => manifest::read(&folder)?.is_none(),
            Err(Error::NotADatabase { .. }) => true,
            Err(error) => return Err(error),
        };
        if is_new {
            seed::<F>(&*source, dest, (self.database_id, &self.options))?;
        }
        Follower::open(source, Arc::new(Folder::of_database(dest)?), (self.database_id, &self.options))
    }
}

/// Makes a folder with the runs of a database, which is to follow it.
fn seed<F: Fingerprint>(
    source: &dyn Storage,
    dest: &Path,
    (database_id, options): ([u8; 16], &Options),
) -> Result<()> {
    let mut staging = Staging::begin(dest)?;
    staging.copy_permissions(source)?;
    let folder = staging.folder();
    let path = folder.path(names::FOLLOWER);
    let mut note = folder.create(names::FOLLOWER).map_err(Error::io("create", &path))?;
    let text = format!("{NOTE}{}\n", source.path("").display());
    note.write_all_at(text.as_bytes(), 0).and_then(|()| note.sync()).map_err(Error::io("write", &path))?;
    // Windows renames no folder with an open file.
    drop(note);
    let news = News::<F>::read(source, database_id, |_| None, None)?;
    news.copy_files(folder, options)?;
    // What the logs have comes with the first update. That one's manifest is a later one.
    let expiry = news.manifest.expiry.map(|expiry| Expiry { of_log: Time(0), ..expiry });
    let generation = (news.manifest.generation - 1).max(1);
    let runs = Manifest { generation, live_wal: None, sealed_wal: None, expiry, ..news.manifest };
    if let Some(left_out) = left_out::open(&source.path(""), options)? {
        let of = (left_out.database_id, &left_out.options);
        seed::<u128>(&*left_out.storage()?, &staging.path().join(names::LEFT_OUT), of)?;
    }
    manifest::replace(folder, &runs)?;
    staging.publish()
}

impl<F: Fingerprint> News<F> {
    /// Reads what is new since logs ended at known places, without what a manifest has.
    fn read(
        source: &dyn Storage,
        database_id: [u8; 16],
        ends: impl Fn(u64) -> Option<LogPlace>,
        known: Option<&Manifest>,
    ) -> Result<Self> {
        manifest::with_current::<F, _>(source, Some(database_id), |manifest| {
            manifest::check_writable(source, &manifest)?;
            // Numbers alone are given again after a restore.
            let has_run = |run: &RunRecord| known.is_some_and(|known| known.runs.contains(run));
            let has_identities = |file| known.is_some_and(|known| known.ingested.contains(file));
            let lacking = manifest.runs.iter().filter(|run| !has_run(run));
            let runs = lacking.map(|run| Run::open(source, &manifest, run)).collect::<Result<_>>()?;
            let lacking = manifest.ingested.iter().enumerate();
            let lacking = lacking.filter(|(_, file)| !has_identities(file));
            let identities = lacking
                .map(|(index, file)| Ok((index, Identities::open(source, &manifest, file)?)))
                .collect::<Result<_>>()?;
            let read = |header: WalHeader| {
                let log = Log::open(source, &manifest, header)?;
                let from = ends(header.salt).unwrap_or(log.start());
                let frames = log.read(from)?;
                Ok(LogNews { header, from, end: frames.end(), bytes: frames.sound_bytes().to_vec() })
            };
            let logs = manifest.wal_headers().map(read).collect::<Result<_>>()?;
            Ok(Self { runs, identities, logs, manifest })
        })
    }

    /// Copies runs and identities, and verifies every page of them.
    fn copy_files(&self, to: &dyn Storage, options: &Options) -> Result<u64> {
        let total = self.runs.iter().map(|run| run.record.len_bytes()).sum();
        let mut done = 0;
        let mut report = |bytes| {
            done += bytes;
            options.report(Stage::Copying, done, Some(total))
        };
        for run in &self.runs {
            run.copy(to, &self.manifest, CopiedRun::of(&run.record), &mut report)?;
        }
        for (index, file) in &self.identities {
            file.copy(to, &self.manifest, &self.manifest.ingested[*index], &mut report)?;
        }
        Ok(done)
    }
}

impl<F: Fingerprint> Follower<F> {
    /// Opens a folder that follows the database with an id.
    pub(crate) fn open(
        source: Arc<dyn Storage>,
        dest: Arc<dyn Storage>,
        (database_id, options): ([u8; 16], &Options),
    ) -> Result<Self> {
        let path = dest.path("");
        let exists = || Error::AlreadyExists { path: path.clone() };
        let is_other = |manifest: &Manifest| manifest.database_id != database_id;
        if manifest::read(&*dest)?.is_none_or(|found| is_other(&found)) || !follows(&*dest)? {
            return Err(exists());
        }
        let lock = take_lock(&*dest, options)?;
        let storage = Guarded::new(dest, &lock).map_err(Error::io("read", &path))?;
        let manifest = manifest::of::<F>(&storage)?;
        manifest::remove_unnamed(&storage, &manifest)?;
        let (logs, options, width) = (Vec::new(), options.clone(), PhantomData);
        Ok(Self { source, storage, options, manifest, logs, lock, left_out: None, width })
    }

    /// Brings the folder up to what the database has committed. Costs a copy of the new runs and frames. If
    /// there are none, it reads `MANIFEST` and looks at the log.
    ///
    /// At every moment and after a crash, a reader of the folder sees a state that the database had. The
    /// folder may contain a commit that the database loses in a power cut, until the next update.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for damage in the database: the folder keeps what it has. [`Error::Diverged`] if the
    /// database was restored to an earlier state, has numbers of runs or logs that stand for others in the folder,
    /// or lacks commits of the folder's logs; [`Error::Replaced`] if it is another one. A database that was
    /// restored is not recognized once it has merged all other runs since, or has written runs of at least as many
    /// commits, less one, as only a log of the folder has. [`Error::DiskFull`] and [`Error::Io`]
    /// leave a state of the database behind; [`Error::Poisoned`] after a failed sync; [`Error::Interrupted`].
    pub fn update(&mut self) -> Result<Update> {
        F::update(self)
    }

    pub(super) fn bring_up_to_date(&mut self) -> Result<Update> {
        let news = self.news()?;
        // Both are looked at before one changes: that the source was restored may show in one of them only.
        let of_left_out = self.left_out.as_ref().map(|left_out| left_out.news()).transpose();
        let of_left_out = of_left_out.map_err(|error| match error {
            Error::Diverged { .. } => self.diverged(),
            other => other,
        })?;
        let left_out = match (&mut self.left_out, of_left_out) {
            (Some(left_out), Some(news)) => left_out.take_over(news)?,
            _ => Update::default(),
        };
        let own = self.take_over(news)?;
        Ok(Update { bytes: own.bytes + left_out.bytes, changed: own.changed || left_out.changed })
    }

    /// What the source has, and the folder has not.
    fn news(&self) -> Result<News<F>> {
        self.check()?;
        let ends = |salt| self.logs.iter().find(|copy| copy.salt == salt).map(|copy| copy.end);
        // Another database may stand at its path by now.
        let source = self.source.reopen()?;
        let news = News::<F>::read(&*source, self.manifest.database_id, ends, Some(&self.manifest))?;
        if is_another_history(&self.manifest, &news.manifest) || self.is_ahead(&news)? {
            return Err(self.diverged());
        }
        Ok(news)
    }

    fn diverged(&self) -> Error {
        Error::Diverged { path: self.storage.path(""), followed: self.source.path("") }
    }

    fn take_over(&mut self, news: News<F>) -> Result<Update> {
        let is_new = news.manifest != self.manifest;
        if is_new {
            // What an update before has left, which did not come to its end.
            manifest::remove_unnamed(&self.storage, &self.manifest)?;
        }
        let mut bytes = news.copy_files(&self.storage, &self.options)?;
        // Copies that the folder's manifest does not name yet are removed by the next update if this one fails.
        let mut begun = Vec::new();
        for log in &news.logs {
            bytes += log.bytes.len() as u64;
            if !self.append(log)? {
                begun.push(self.begin_copy(log)?);
            }
        }
        if is_new {
            manifest::replace(&self.storage, &news.manifest)?;
            self.manifest = news.manifest;
        }
        self.logs.extend(begun);
        if is_new {
            let named: Vec<u64> = self.manifest.wal_headers().map(|header| header.salt).collect();
            self.logs.retain(|copy| named.contains(&copy.salt));
            // The folder is up to date. What cannot be removed now is removed when the next update begins.
            let _ = manifest::remove_unnamed(&self.storage, &self.manifest);
        }
        Ok(Update { bytes, changed: is_new || bytes > 0 })
    }

    /// Whether a log in the folder has more commits than the source.
    fn is_ahead(&self, news: &News<F>) -> Result<bool> {
        let oldest = news.manifest.wal_headers().next();
        let in_runs = oldest.map_or(news.manifest.next_frame, |header| header.first_frame);
        for header in self.manifest.wal_headers() {
            let same_frames = news.logs.iter().filter(|log| log.header.first_frame == header.first_frame);
            let ends = same_frames.map(|log| self.end_of_same_frames(header, log));
            let ends = ends.collect::<Result<Vec<u64>>>()?;
            let of_source = ends.into_iter().max().unwrap_or(in_runs);
            // A power cut may have taken the one commit of the source that was not durable.
            if self.end_of_copy(header)?.is_some_and(|end| end.frame > of_source + 1) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The number behind the last frame that a log of the source has in common with one in the folder that begins with
    /// the same number. A writer that goes on with two logs that it has found repeats the frames of the live one in a
    /// new log. A restored database has others under their numbers.
    fn end_of_same_frames(&self, header: WalHeader, log: &LogNews) -> Result<u64> {
        if log.header.salt == header.salt {
            return Ok(log.end.frame);
        }
        let same = Log::open(&self.storage, &self.manifest, header).and_then(|own| {
            let frames = own.read(own.start())?;
            let of_source = Frames::scan(&log.bytes, log.from, log.header.salt).contents.into_iter();
            let of_source = of_source.map(|content| log.bytes.get(content).unwrap_or_default());
            Ok(of_source.zip(frames.contents()).take_while(|(theirs, own)| theirs == own).count() as u64)
        });
        match same {
            // A new copy heals it.
            Err(Error::Corrupt(_)) => Ok(log.end.frame),
            same => Ok(header.first_frame + same?),
        }
    }

    /// Where the copy of a log ends. `None` if it is damaged: a new copy heals it.
    fn end_of_copy(&self, header: WalHeader) -> Result<Option<LogPlace>> {
        if let Some(copy) = self.logs.iter().find(|copy| copy.salt == header.salt) {
            return Ok(Some(copy.end));
        }
        let log = Log::open(&self.storage, &self.manifest, header);
        match log.and_then(|log| Ok(log.read(log.start())?.end())) {
            Err(Error::Corrupt(_)) => Ok(None),
            end => end.map(Some),
        }
    }

    fn check(&self) -> Result<()> {
        let path = self.storage.path("");
        if self.storage.is_poisoned() {
            return Err(Error::Poisoned { path });
        }
        self.lock.check().map_err(Error::io("look at", path))
    }

    /// Appends frames to the copy of their log. Returns whether this follower has begun one.
    fn append(&mut self, log: &LogNews) -> Result<bool> {
        let path = self.storage.path(&names::wal(log.header.number));
        let Some(copy) = self.logs.iter_mut().find(|copy| copy.salt == log.header.salt) else {
            return Ok(false);
        };
        if !log.bytes.is_empty() {
            let written = copy.file.write_all_at(&log.bytes, log.from.offset);
            written.map_err(Error::io("write", &path))?;
            copy.file.sync().map_err(Error::io("sync", &path))?;
            copy.end = log.end;
        }
        Ok(true)
    }

    /// Copies a whole log, and puts it in the place of an earlier copy: whoever copied that may have
    /// been killed in the middle of a frame.
    fn begin_copy(&self, log: &LogNews) -> Result<LogCopy> {
        let (new, name) = (names::spill(0, 0, log.header.number), names::wal(log.header.number));
        let is_named = self.manifest.wal_headers().any(|header| header.number == log.header.number);
        if !is_named && self.storage.open(&name).is_ok() {
            // A copy that no manifest names would have been removed.
            return Err(Error::AlreadyExists { path: self.storage.path(&name) });
        }
        let path = self.storage.path(&new);
        let mut file = self.storage.create(&new).map_err(Error::io("create", &path))?;
        let written = file
            .write_all_at(&log.header.encode(), 0)
            .and_then(|()| file.write_all_at(&log.bytes, log.from.offset));
        let synced = written
            .map_err(Error::io("write", &path))
            .and_then(|()| file.sync().map_err(Error::io("sync", &path)));
        synced.inspect_err(|_| drop(self.storage.remove(&new)))?;
        self.storage.rename(&new, &name).map_err(Error::io("rename", &path))?;
        self.storage.sync_folder().map_err(Error::io("sync", self.storage.path("")))?;
        Ok(LogCopy { salt: log.header.salt, file, end: log.end })
    }
}

/// What has a number of the sequence of runs.
#[derive(PartialEq, Eq)]
enum Numbered<'a> {
    Run(&'a RunRecord),
    Identities(&'a IdentitiesRecord),
}

fn numbered(manifest: &Manifest) -> impl Iterator<Item = (u64, Numbered<'_>)> {
    let runs = manifest.runs.iter().map(|run| (run.run, Numbered::Run(run)));
    runs.chain(manifest.ingested.iter().map(|file| (file.number, Numbered::Identities(file))))
}

/// Whether one state of a database never came before another one. A generation, and the number of a run, a file
/// of identities or a log, stand for one thing, and no counter goes back, unless the database was restored.
fn is_another_history(known: &Manifest, new: &Manifest) -> bool {
    let counters = |of: &Manifest| {
        let next_sequence = of.keys.map_or(0, |keys| keys.next_sequence);
        [of.generation, of.next_run, of.next_wal, of.next_frame, next_sequence]
    };
    let goes_back = counters(known).into_iter().zip(counters(new)).any(|(before, after)| after < before);
    let is_twin = known.generation == new.generation && known != new;
    let files: HashMap<u64, Numbered<'_>> = numbered(known).collect();
    let is_other_file = |(number, file): (u64, _)| files.get(&number).is_some_and(|known| *known != file);
    let is_other_log =
        |log: WalHeader| new.wal_headers().any(|other| other.number == log.number && other != log);
    goes_back || is_twin || numbered(new).any(is_other_file) || known.wal_headers().any(is_other_log)
}

/// Whether a folder follows a database, so that no writer may open it.
pub(crate) fn follows(storage: &dyn Storage) -> Result<bool> {
    match storage.open(names::FOLLOWER) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() != std::io::ErrorKind::InvalidData => {
            Err(Error::io("open", storage.path(names::FOLLOWER))(error))
        }
        _ => Ok(true),
    }
}

/// Removes the file that says that a folder follows a database, if a follower has written it.
pub(super) fn follow_no_more(storage: &dyn Storage) -> Result<()> {
    if !follows(storage)? {
        return Ok(());
    }
    let path = storage.path(names::FOLLOWER);
    let mut begin = [0; NOTE.len()];
    let read = storage.open(names::FOLLOWER).and_then(|file| file.read_exact_at(&mut begin, 0));
    read.map_err(Error::io("read", &path))?;
    if begin != NOTE.as_bytes() {
        return Err(Error::Follower { path: storage.path("") });
    }
    storage.remove(names::FOLLOWER).map_err(Error::io("remove", path))
}
