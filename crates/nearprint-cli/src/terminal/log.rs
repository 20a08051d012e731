//! Standard error as lines of JSON, for programs that collect logs.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use nearprint::Event;
use nearprint::internal::Utc;
use serde_json::{Value, json};

use super::print_message;
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

/// Writes what a writer did besides what it was called for. As text, that is a clock that is wrong.
pub(crate) fn write_event(event: &Event) {
    if !is_json() {
        if let &Event::Clock { last_commit, now } = event {
            print_message(format_args!(
                "warning: the last commit to the database was at {}, and the clock says {}: it was ahead, or is behind",
                date(last_commit),
                date(now)
            ));
        }
        return;
    }
    let seconds = |took: Duration| (took.as_secs_f64() * 1000.0).round() / 1000.0;
    write(&match *event {
        Event::Flush { rows, bytes, took } => {
            json!({ "event": "flush", "rows": rows, "bytes": bytes, "seconds": seconds(took) })
        }
        Event::Merge { runs, rows, bytes, took } => {
            json!({ "event": "merge", "runs": runs, "rows": rows, "bytes": bytes, "seconds": seconds(took) })
        }
        Event::Expiry { runs, rows } => json!({ "event": "expiry", "runs": runs, "rows": rows }),
        Event::Stall { took } => json!({ "event": "stall", "seconds": seconds(took) }),
        Event::Clock { last_commit, now } => {
            json!({ "event": "clock", "last_commit": date(last_commit), "now": date(now) })
        }
        _ => return,
    });
}

fn date(time: SystemTime) -> String {
    Utc(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()).to_string()
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
