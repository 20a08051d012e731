//! What a file has beside its bytes: owner, permissions, time, extended attributes.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fs::{File, FileTimes};
use std::io;
use std::time::{Duration, SystemTime};

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(super) use system::share_blocks;

/// Whether an undo list may give a file to an owner: to the one of the file that it is copied from, or to the user of
/// this process.
pub(super) fn may_own(owner: (u32, u32), of_source: (u32, u32)) -> bool {
    owner == of_source || owner.0 == system::own_user()
}

/// The bits of a mode that let a program run with the rights of the file's owner or group.
const SET_ID: u32 = 0o6000;

/// What a file has beside its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attributes {
    /// The permissions and flags. Zero on Windows.
    pub(super) mode: u32,
    /// The numbers of the owner and the group. Zero on Windows.
    pub(super) owner: (u32, u32),
    /// The time of the last change: seconds since 1970, and nanoseconds.
    pub(super) modified: (i64, u32),
    /// Names and values, sorted: those of users, and the access control list.
    pub(super) extended: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Attributes {
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        Ok(Self {
            mode: system::mode_of(&found),
            owner: system::owner_of(file)?,
            modified: system::modified(&found)?,
            extended: system::extended_of(file)?,
        })
    }

    /// Why no act is taken on such a file, if none is: its rights come from what it is.
    pub(super) fn privilege(&self, file: &File) -> Option<&'static str> {
        match self.mode & SET_ID {
            0 => system::has_capabilities(file).then_some("it has capabilities"),
            _ => Some("it is setuid or setgid"),
        }
    }

    pub(super) fn sets_id(&self) -> bool {
        self.mode & SET_ID != 0
    }

    /// Gives them to a file. Returns what the file did not take.
    pub(super) fn give(&self, file: &File) -> io::Result<Vec<String>> {
        let mut missing = Vec::new();
        if !self.give_owner(file) {
            missing.push(format!("owner {}:{}", self.owner.0, self.owner.1));
        }
        self.give_but_owner(file, &mut missing)?;
        Ok(missing)
    }

    /// Gives all but the owner, which would reset some of it if it came later.
    pub(super) fn give_but_owner(&self, file: &File, missing: &mut Vec<String>) -> io::Result<()> {
        let now = Self::of(file)?;
        if now.mode != self.mode {
            system::set_mode(file, self.mode)?;
        }
        for (name, value) in self.extended.iter().filter(|pair| !now.extended.contains(pair)) {
            if !system::set_extended(file, name, value) {
                missing.push(format!("attribute {}", String::from_utf8_lossy(name)));
            }
        }
        match self.time().filter(|_| now.modified != self.modified) {
            Some(time) => file.set_times(FileTimes::new().set_modified(time)),
            None => Ok(()),
        }
    }

    /// Whether a file has them, and possibly further attributes.
    pub(super) fn are_of(&self, file: &File) -> io::Result<bool> {
        let now = Self::of(file)?;
        let has_all = self.extended.iter().all(|pair| now.extended.contains(pair));
        Ok(has_all && self.has_rights_of(&now) && self.modified == now.modified)
    }

    /// Whether a file has the owner and group now.
    pub(super) fn give_owner(&self, file: &File) -> bool {
        system::owner_of(file).is_ok_and(|now| now == self.owner) || system::set_owner(file, self.owner)
    }

    /// The time of the last change. `None` if no clock of this system can have it.
    pub(super) fn time(&self) -> Option<SystemTime> {
        let (seconds, nanoseconds) = self.modified;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let second = match seconds < 0 {
            true => SystemTime::UNIX_EPOCH.checked_sub(whole),
            false => SystemTime::UNIX_EPOCH.checked_add(whole),
        };
        second?.checked_add(Duration::from_nanos(nanoseconds.into()))
    }

    /// Whether two files have one owner and one mode, so that one can take the place of the other.
    pub(super) fn has_rights_of(&self, other: &Self) -> bool {
        (self.mode, self.owner) == (other.mode, other.owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_are_times() {
        let time = |seconds, nanoseconds| {
            let modified = (seconds, nanoseconds);
            Attributes { mode: 0, owner: (0, 0), modified, extended: Vec::new() }.time().unwrap()
        };
        let half = Duration::from_millis(500);
        assert_eq!(time(-1, 500_000_000), SystemTime::UNIX_EPOCH - half);
        assert_eq!(time(0, 500_000_000), SystemTime::UNIX_EPOCH + half);
    }
}
