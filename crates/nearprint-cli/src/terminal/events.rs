//! What a writer does besides what it was called for, as lines of standard error.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nearprint::Event;
use nearprint::internal::Utc;
use serde_json::json;

use super::log::{is_json, write};
use super::print_message;

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
