//! What `stats` prints, as text and as JSON.

use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use nearprint::{Activity, Holder, RunStats, Stats};

/// What is printed of a database.
pub(super) struct Facts {
    pub(super) stats: Stats,
    pub(super) recipe: Option<String>,
    pub(super) activity: Activity,
    pub(super) live_rows: Option<u64>,
    /// Documents that the database remembers as left out.
    pub(super) left_out: Option<u64>,
}

impl Facts {
    /// Stored rows that queries do not find: deleted, or in several runs.
    fn dead_rows(&self) -> Option<u64> {
        self.live_rows.map(|live| self.stats.rows.saturating_sub(live))
    }

    /// Seconds since 1970.
    fn last_commit(&self) -> u64 {
        seconds_of(self.activity.last_commit)
    }

    /// The numbers, which all formats share.
    pub(super) fn numbers(&self) -> [(&'static str, Option<u64>); 19] {
        let Self { stats, .. } = self;
        let seconds =
            |of: fn((Duration, Duration)) -> Duration| stats.lifetime.map(|both| of(both).as_secs());
        [
            ("rows", Some(stats.rows)),
            ("live_rows", self.live_rows),
            ("dead_rows", self.dead_rows()),
            ("tombstones", Some(stats.tombstones)),
            ("fingerprints", Some(stats.fingerprints)),
            ("left_out_rows", self.left_out),
            ("width", Some(stats.width.bits().into())),
            ("k", Some(stats.k.into())),
            ("largest_id", stats.largest_id),
            ("generation", Some(stats.generation)),
            ("format_version", Some(stats.format_version.into())),
            ("log_bytes", Some(stats.log_bytes)),
            ("log_frames", Some(stats.log_frames)),
            ("merge_debt_rows", Some(stats.merge_debt_rows)),
            ("last_commit", Some(self.last_commit())),
            ("expire_after", seconds(|both| both.0)),
            ("partition", seconds(|both| both.1)),
            ("locked", Some(self.activity.is_locked.into())),
            ("bytes", Some(stats.bytes)),
        ]
    }

    pub(super) fn texts(&self) -> [(&'static str, Option<String>); 4] {
        let Self { stats, .. } = self;
        [
            ("layout", Some(stats.layout.to_string())),
            ("keys", Some(stats.keys.to_string())),
            ("recipe", self.recipe.clone()),
            ("database_id", Some(stats.database_id.clone())),
        ]
    }

    pub(super) fn write_lines(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { stats, activity, .. } = self;
        let none = || "none".to_string();
        for (name, number) in self.numbers() {
            let is_uncounted = number.is_none() && matches!(name, "live_rows" | "dead_rows");
            let without = || if is_uncounted { "unknown".to_string() } else { none() };
            writeln!(out, "{name}\t{}", number.map_or_else(without, |number| number.to_string()))?;
        }
        for (name, text) in self.texts() {
            writeln!(out, "{name}\t{}", text.unwrap_or_else(none))?;
        }
        writeln!(out, "writer\t{}", activity.writer.as_ref().map_or_else(none, Holder::to_string))?;
        writeln!(out, "bytes_per_row\t{:.2}", stats.bytes as f64 / stats.rows.max(1) as f64)?;
        for (name, bytes) in &stats.sections {
            writeln!(out, "bytes_{name}\t{bytes}")?;
        }
        writeln!(out, "runs\t{}", stats.runs.len())?;
        for RunStats { run, layout, rows, fingerprints, smallest_id, largest_id, bytes, .. } in &stats.runs {
            writeln!(
                out,
                "run_{run}\t{layout}, {rows} rows, {fingerprints} fingerprints, ids {smallest_id} to {largest_id}, {bytes} bytes"
            )?;
        }
        Ok(())
    }

    pub(super) fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { stats, activity, .. } = self;
        let numbers = self.numbers().map(|(name, number)| (name.to_string(), json!(number)));
        let texts = self.texts().map(|(name, text)| (name.to_string(), json!(text)));
        let mut object: Map<String, Value> = numbers.into_iter().chain(texts).collect();
        object.insert("locked".into(), json!(activity.is_locked));
        object.insert("writer".into(), activity.writer.as_ref().map_or(Value::Null, writer));
        let sections = stats.sections.iter().map(|(name, bytes)| ((*name).to_string(), json!(bytes)));
        object.insert("sections".into(), sections.collect());
        object.insert("runs".into(), stats.runs.iter().map(run).collect());
        writeln!(out, "{}", Value::Object(object))
    }
}

/// Seconds since 1970.
fn seconds_of(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn writer(holder: &Holder) -> Value {
    json!({
        "pid": holder.pid,
        "host": holder.place.as_ref().map(|place| &place.host),
        "since": holder.place.as_ref().map(|place| &place.since),
    })
}

fn run(run: &RunStats) -> Value {
    json!({
        "run": run.run,
        "layout": run.layout.to_string(),
        "rows": run.rows,
        "tombstones": run.tombstones,
        "fingerprints": run.fingerprints,
        "smallest_id": run.smallest_id,
        "largest_id": run.largest_id,
        "bytes": run.bytes,
        "expires": run.expires.map(seconds_of),
    })
}
