//! The lock of a folder: an exclusive lock on its file `LOCK`, which stores who holds it.
//!
//! The file has three lines: the process id of the holder, its host, and when it took the lock. Older
//! versions stored the process id only. The content is for messages alone: a killed holder leaves it,
//! and the lock is free.
//!
//! The lock belongs to the open file, which the child of a fork shares with its parent. A child that
//! unlocked it would release the lock of its parent.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::folder::{Folder, host};
use super::interface::{Lock, Storage};
use super::names;
use crate::error::{Error, Holder, HolderPlace, Replaced, Result};
use crate::options::Options;
use crate::progress::Stage;
use crate::util::file;
use crate::util::process::Process;
use crate::util::time::Utc;

/// How often to try to read who has just taken the lock.
const HOLDER_TRIES: usize = 20;
/// The pause between two of these tries.
const HOLDER_PAUSE: Duration = Duration::from_millis(5);
/// More than the longest content: names of hosts have at most 255 bytes.
const MAX_HOLDER_BYTES: u64 = 320;
/// The first pause of a writer that waits for the lock. Each pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// The longest pause: twenty tries a second take less than a thousandth of a core.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// A locked file. Dropping it releases the lock, unless it belongs to the parent process.
#[derive(Debug)]
pub(super) struct LockFile {
    file: File,
    folder: Folder,
    /// Whether the file names this process.
    is_named: bool,
    process: Process,
}

impl Lock for LockFile {
    fn check(&self) -> io::Result<()> {
        self.check_process()?;
        match self.folder.leads_to(names::LOCK, &self.file)? {
            true => Ok(()),
            false => Err(io::Error::other(Replaced { path: self.folder.path_of("") })),
        }
    }

    fn check_process(&self) -> io::Result<()> {
        self.process.check(|| self.folder.path_of(""))
    }
}

impl LockFile {
    /// Takes the lock of a folder and writes who has it. `None` if the folder, or the
    /// locked file, no longer exists.
    pub(super) fn take(folder: &Folder) -> Result<Option<Self>> {
        let path = folder.path_of(names::LOCK);
        let opened = match folder.open_lock(names::LOCK) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                // It holds no data, so a repair would be the wrong advice.
                let why = format!("it is {error}; remove it, and the next writer makes a regular file");
                return Err(Error::io("lock", &path)(io::Error::new(error.kind(), why)));
            }
            other => other.map_err(Error::io("open", &path))?,
        };
        let locked = opened.map(|file| Ok(try_lock(&file)?.then_some(file))).transpose();
        let Some(file) = locked.map_err(Error::io("lock", &path))?.flatten() else {
            return Err(Error::Locked { path: folder.path_of(""), holder: holder(folder) });
        };
        let mut lock = Self { file, folder: folder.clone(), is_named: false, process: Process::current() };
        if lock.check().is_err() {
            return Ok(None);
        }
        // Another name of this file may be somebody's data. Only what a writer writes is overwritten.
        if read_text(&lock.file).is_some_and(|text| text.is_empty() || parse(&text).is_some()) {
            // On a full disk the write fails. Other processes then cannot read who has the lock, but
            // this one can still free space.
            let written = lock
                .file
                .set_len(0)
                .and_then(|()| file::write_all_at(&lock.file, &text_of_this_process(), 0));
            lock.is_named = written.is_ok();
        }
        Ok(Some(lock))
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        if self.is_named {
            // What it names would otherwise be a process that has ended.
            let _ = self.file.set_len(0);
        }
        // A child process that has just been forked has a copy of the file. Without this call it
        // would hold the lock until it executes its own program.
        let _ = self.file.unlock();
    }
}

/// Takes the lock of a file, unless another process has it. A look at the lock has it for a moment, so
/// the second try decides.
fn try_lock(file: &File) -> io::Result<bool> {
    for pause in [Some(HOLDER_PAUSE), None] {
        if Folder::try_lock(file)? {
            return Ok(true);
        }
        pause.into_iter().for_each(std::thread::sleep);
    }
    Ok(false)
}

/// Whether the lock of a folder is taken.
#[derive(Debug)]
pub(crate) struct LockState {
    pub(crate) is_locked: bool,
    /// Who has it, where that can be read.
    pub(crate) holder: Option<Holder>,
}

impl LockState {
    /// Looks at the lock of a folder.
    pub(crate) fn of(folder: &Folder) -> Result<Self> {
        let free = Self { is_locked: false, holder: None };
        let path = folder.path_of(names::LOCK);
        let file = match folder.open_regular(names::LOCK) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(free),
            other => other.map_err(Error::io("open", &path))?,
        };
        if folder.is_locked(names::LOCK, &file).map_err(Error::io("lock", &path))? {
            return Ok(Self { is_locked: true, holder: read_text(&file).as_deref().and_then(parse) });
        }
        Ok(free)
    }
}

/// Takes the lock of a storage. Waits for it as long as the options say.
pub(crate) fn take_lock(storage: &dyn Storage, options: &Options) -> Result<Arc<dyn Lock>> {
    wait_for_lock(options, options.lock_wait, || storage.lock().map(Into::into))
}

/// Tries something again while another process has the lock that it needs, for `wait` at most.
pub(crate) fn wait_for_lock<T>(
    options: &Options,
    wait: Duration,
    mut attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    let started = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        match attempt() {
            Err(Error::Locked { .. }) if started.elapsed() < wait => {}
            other => return other,
        }
        options.report(Stage::Waiting, milliseconds(started.elapsed()), Some(milliseconds(wait)))?;
        std::thread::sleep(pause.min(wait.saturating_sub(started.elapsed())));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn milliseconds(time: Duration) -> u64 {
    time.as_millis().try_into().unwrap_or(u64::MAX)
}

/// The content of a short file of text.
fn read_text(file: &File) -> Option<String> {
    let mut text = String::new();
    file.take(MAX_HOLDER_BYTES + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= MAX_HOLDER_BYTES).then_some(text)
}

fn text_of_this_process() -> Vec<u8> {
    format!("{}\n{}\n{}\n", std::process::id(), host(), Utc::now()).into_bytes()
}

/// Whom the content of a lock file names. `None` for anything that no writer writes.
fn parse(text: &str) -> Option<Holder> {
    let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_control);
    let (pid, place) = text.split_once('\n')?;
    let (host, since) = place.strip_suffix('\n')?.split_once('\n')?;
    let is_number = pid.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || !is_word(host) || !is_word(since) || !since.ends_with(" UTC") {
        return None;
    }
    let place = HolderPlace { host: host.into(), since: since.into() };
    Some(Holder { pid: pid.parse().ok()?, place: Some(place) })
}

/// Who holds a lock. The holder writes it right after taking the lock.
fn holder(folder: &Folder) -> Option<Holder> {
    (0..HOLDER_TRIES).find_map(|attempt| {
        if attempt > 0 {
            std::thread::sleep(HOLDER_PAUSE);
        }
        parse(&read_text(&folder.open_regular(names::LOCK).ok()?)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_names_its_holder() {
        let own = String::from_utf8(text_of_this_process()).unwrap();
        let holder = parse(&own).unwrap();
        assert_eq!(holder.pid, std::process::id());
        let host = holder.place.unwrap().host;
        if let Ok(name) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
            assert_eq!(host, name.trim_end());
        }
        let place = Some(HolderPlace { host: "web-3".into(), since: "2026-11-24 23:50 UTC".into() });
        assert_eq!(parse("17\nweb-3\n2026-11-24 23:50 UTC\n"), Some(Holder { pid: 17, place }));
        let since = "2026-11-24 23:50 UTC";
        for (pid, host, since) in [
            ("+17", "web-3", since),
            ("17", "", since),
            ("17", "web\t3", since),
            ("17", "web-3", ""),
            ("17", "web-3", "2026-11-24 23:50"),
            ("17", "web-3", "\t UTC"),
        ] {
            assert_eq!(parse(&format!("{pid}\n{host}\n{since}\n")), None, "{pid:?} {host:?} {since:?}");
        }
    }

    #[test]
    fn a_lock_is_waited_for_as_long_as_asked() {
        let locked = || Error::Locked { path: "seen.np".into(), holder: None };
        let tries = |wait, until: u32| {
            let mut tries = 0;
            let taken = wait_for_lock(&Options::default(), wait, || {
                tries += 1;
                if tries == until { Ok(()) } else { Err(locked()) }
            });
            (taken.is_ok(), tries)
        };
        assert_eq!(tries(Duration::MAX, 3), (true, 3));
        assert_eq!(tries(Duration::ZERO, 3), (false, 1));
        let (is_taken, number) = tries(Duration::from_millis(30), u32::MAX);
        assert!(!is_taken && number > 1, "{number}");
        let other = || Err::<(), _>(Error::TextWithoutKey { path: "seen.np".into() });
        let failed = wait_for_lock(&Options::default(), Duration::MAX, other);
        assert!(matches!(failed, Err(Error::TextWithoutKey { .. })));
    }

    #[test]
    fn other_texts_name_nobody_and_are_not_overwritten() {
        for text in [
            "",
            "x",
            "17",
            "+17\nweb\nnoon UTC\n",
            "17\n",
            "17\nweb\n",
            "17\nweb\nUTC",
            "17\nweb\nnoon\n",
            "17\n\n1 UTC\n",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
