//! Standard error as lines of JSON, for programs that collect logs.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::results::json_of;

static IS_JSON: AtomicBool = AtomicBool::new(false);
/// The least time between two lines of the same work.
const INTERVAL: Duration = Duration::from_secs(1);

/// How messages and progress are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Messages, and progress bars on a terminal
    Text,
    /// Objects with a message, with work, unit, done, total and seconds, or with an event of a writer
    Json,
}

/// Sets how messages and progress are written from now on.
pub(crate) fn set_format(format: LogFormat) {
    IS_JSON.store(format == LogFormat::Json, Ordering::Relaxed);
}

pub(crate) fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Writes a line. A failure to write it does not change the outcome of the command.
pub(super) fn write(value: &Value) {
    let _ = writeln!(std::io::stderr(), "{}", json_of(value));
}

/// The progress of a command as lines: when some work begins, once a second, and when it is done.
#[derive(Debug)]
pub(super) struct ProgressLines {
    started: Instant,
    last: Mutex<Option<(&'static str, Instant)>>,
}

impl ProgressLines {
    /// `None` if the log is no JSON.
    pub(super) fn new(allowed: bool) -> Option<Self> {
        (allowed && is_json()).then(|| Self { started: Instant::now(), last: Mutex::new(None) })
    }

    /// Writes that `done` of `total` units of some work are done, if a line is due.
    pub(super) fn show(&self, (work, unit): (&'static str, &'static str), done: u64, total: Option<u64>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = last.is_some_and(|(of, at)| of == work && at.elapsed() < INTERVAL);
        if is_recent && total != Some(done) {
            return;
        }
        *last = Some((work, Instant::now()));
        let seconds = (self.started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        write(&json!({ "work": work, "unit": unit, "done": done, "total": total, "seconds": seconds }));
    }
}
