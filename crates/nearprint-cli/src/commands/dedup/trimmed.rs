//! What `nearprint trim` prints at the end.

use std::path::Path;

use super::summary::{note_resumed, quoted, recurring, warn};
use crate::args::GlobalArgs;
use crate::terminal::results::percent;
use crate::terminal::{STDOUT, plural};
use nearprint_text::dedup::{DocumentCounts, FileJob, FileReport, TrimRules, Unit};

/// Prints the counts, and warnings about unusual records.
pub(super) fn summarize(global: GlobalArgs, job: &FileJob, rules: TrimRules, report: &FileReport) {
    let DocumentCounts { records, kept, duplicates, bad, aside, units, .. } = report.counts;
    let shortened: u64 = units.by_left.iter().sum();
    let mut verdict = format!(
        "{} read: {kept} kept, {shortened} of them shortened, {} unchanged",
        plural(records, "record"),
        kept - shortened
    );
    for (count, what) in [(duplicates, "left out"), (aside, "skipped"), (bad, "rejected")] {
        if count > 0 {
            verdict += &format!("; {count} {what}");
        }
    }
    global.note(format_args!("{verdict}"));
    global.note(format_args!("{}; recurring: {}", removed(rules.by, report), recurring(rules, report)));
    if units.hollow > 0 {
        global.note(format_args!(
            "earlier records leave less than --min-left of {}",
            plural(units.hollow, "record")
        ));
    }
    note_resumed(global, report);
    if let Some(group) = report.largest.first() {
        global.note(format_args!("most frequent: {} times {}", group.size, quoted(&group.name)));
    }
    if !job.dry_run {
        global.note(format_args!("wrote {}", written(job, report)));
    }
    warn(global, report);
}

/// How many units were removed, of how many, and the share of their texts.
pub(super) fn removed(by: Unit, report: &FileReport) -> String {
    let units = report.counts.units;
    let share = percent::<0>(units.removed_bytes as f64 / (units.text_bytes as f64).max(1.0));
    match by {
        Unit::Passage => format!("{} removed, {share} of the text", plural(units.removed, "passage")),
        by => {
            let compared = plural(units.compared, by.name());
            format!("{} of {compared} removed, {share} of the text", units.removed)
        }
    }
}

/// How many records keep how much of their text. `None` if none has lost any.
pub(super) fn shares_left(by_left: &[u64; 5]) -> Option<String> {
    let names = ["under 20%", "20 to 40%", "40 to 60%", "60 to 80%", "80% or more"];
    let shown = names.iter().zip(by_left).filter(|(_, records)| **records > 0);
    let shown: Vec<String> = shown.map(|(name, records)| format!("{records} {name}")).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// The files that were written, with what is in them.
fn written(job: &FileJob, report: &FileReport) -> String {
    let DocumentCounts { kept, bad, aside, units, .. } = report.counts;
    let files = job.named_outputs().map(|(name, path)| {
        let shown = if path == Path::new("-") { STDOUT.into() } else { path.to_string_lossy() };
        let content = match name {
            "output" => plural(kept, "record"),
            "removed" => plural(units.removed, "line"),
            _ => plural(bad + aside, "record"),
        };
        format!("{shown} ({content})")
    });
    files.collect::<Vec<_>>().join(", ")
}
