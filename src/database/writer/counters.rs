//! Numbers of runs, logs and frames.

use crate::format::manifest::Manifest;
use crate::storage::names;

/// The numbers of the next run, of the next log and of its first frame. Unlike the manifest they also
/// count what is not durable: a number is used once, whether or not a manifest names the file.
#[derive(Debug)]
pub(super) struct Counters {
    /// Names of files of others. Their numbers are not used.
    foreign: Vec<String>,
    pub(super) next_run: u64,
    pub(super) next_wal: u64,
    pub(super) next_frame: u64,
}

impl Counters {
    pub(super) fn of(manifest: &Manifest, foreign: Vec<String>) -> Self {
        let Manifest { next_run, next_wal, next_frame, .. } = *manifest;
        let mut counters = Self { foreign, next_run, next_wal, next_frame };
        counters.skip_foreign();
        counters
    }

    pub(super) fn take_run(&mut self) -> u64 {
        let taken = self.next_run;
        self.next_run += 1;
        self.skip_foreign();
        taken
    }

    pub(super) fn take_log(&mut self) {
        self.next_wal += 1;
        self.skip_foreign();
    }

    fn skip_foreign(&mut self) {
        let is_foreign = |number: u64, of_log: bool| {
            let has_number = |name: &String| names::number(name) == Some(number);
            self.foreign.iter().any(|name| names::is_wal(name) == of_log && has_number(name))
        };
        let (mut next_run, mut next_wal) = (self.next_run, self.next_wal);
        while is_foreign(next_run, false) {
            next_run += 1;
        }
        while is_foreign(next_wal, true) {
            next_wal += 1;
        }
        (self.next_run, self.next_wal) = (next_run, next_wal);
    }
}
