//! The text format of Prometheus.

use std::io::{self, Write};
use std::path::Path;

use super::facts::Facts;

/// What the numbers of [`Facts::numbers`] are called, and mean. The others are settings.
const GAUGES: [(&str, &str, &str); 14] = [
    ("rows", "rows", "Rows of all runs; deleted and repeated ones count until a merge."),
    ("live_rows", "live_rows", "Rows that queries find."),
    ("dead_rows", "dead_rows", "Stored rows that queries do not find: deleted or repeated ones."),
    ("tombstones", "tombstones", "Deleted ids that runs store."),
    ("fingerprints", "fingerprints", "Distinct fingerprints of each run, added up."),
    ("generation", "generation", "Number of the manifest, which grows with every change of the runs."),
    ("format_version", "format_version", "Version of the format of the files."),
    ("log_bytes", "log_bytes", "Bytes of the logs up to their last complete commit."),
    ("log_frames", "log_frames", "Commits in the logs."),
    ("merge_debt_rows", "merge_debt_rows", "Rows that the next merge will read; 0 if none is due."),
    ("last_commit", "last_commit_timestamp_seconds", "When the manifest or the log was written last."),
    ("expire_after", "expire_after_seconds", "How long rows live."),
    ("locked", "locked", "1 while a writer has the database."),
    ("bytes", "bytes", "Bytes of all files."),
];

/// Writes gauges with the path of the database as a label. A number that is not known is left out.
pub(super) fn write(out: &mut dyn Write, path: &Path, facts: &Facts) -> io::Result<()> {
    let label = format!("database=\"{}\"", escaped(&path.to_string_lossy()));
    let numbers = facts.numbers();
    for (name, metric, help) in GAUGES {
        let number = numbers.iter().find(|(of, _)| *of == name).and_then(|(_, number)| *number);
        if let Some(number) = number {
            begin(out, metric, help)?;
            writeln!(out, "nearprint_{metric}{{{label}}} {number}")?;
        }
    }
    begin(out, "runs", "Number of runs on disk; the rows of the logs are in none.")?;
    writeln!(out, "nearprint_runs{{{label}}} {}", facts.stats.runs.len())?;
    begin(
        out,
        "section_bytes",
        "Bytes of each section of the files of runs, of identities, of the logs, and of the rest.",
    )?;
    for (section, bytes) in &facts.stats.sections {
        writeln!(out, "nearprint_section_bytes{{{label},section=\"{section}\"}} {bytes}")?;
    }
    begin(out, "info", "Settings of the database.")?;
    write!(out, "nearprint_info{{{label}")?;
    for (name, text) in facts.texts() {
        write!(out, ",{name}=\"{}\"", escaped(&text.unwrap_or_default()))?;
    }
    writeln!(out, ",width=\"{}\",k=\"{}\"}} 1", facts.stats.width.bits(), facts.stats.k)
}

fn begin(out: &mut dyn Write, metric: &str, help: &str) -> io::Result<()> {
    writeln!(out, "# HELP nearprint_{metric} {help}\n# TYPE nearprint_{metric} gauge")
}

/// A text as the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
