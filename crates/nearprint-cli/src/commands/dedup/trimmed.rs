//! What `nearprint trim` prints at the end.

use super::summary::{note_resumed, note_written, quoted, recurring, warn};
use crate::args::GlobalArgs;
use crate::terminal::plural;
use crate::terminal::results::percent;
use nearprint_text::dedup::{DocumentCounts, FileJob, FileReport, TrimRules, Unit};

/// Prints the counts, and warnings about unusual records.
pub(super) fn summarize(global: GlobalArgs, job: &FileJob, rules: TrimRules, report: &FileReport) {
    let DocumentCounts { kept, duplicates, units, .. } = report.counts;
    let outcome = report.outcome(true);
    let shortened: u64 = units.by_left.iter().sum();
    let mut verdict = format!(
        "{} read: {kept} kept, {shortened} of them shortened, {} unchanged",
        plural(outcome.read(), "record"),
        kept - shortened
    );
    for (count, what) in
        [(duplicates, "left out"), (outcome.skipped, "skipped"), (outcome.rejected, "rejected")]
    {
        if count > 0 {
            verdict += &format!("; {count} {what}");
        }
    }
    global.note(format_args!("{verdict}"));
    global.note(format_args!("{}; recurring: {}", removed(rules.by, report), recurring(rules, report)));
    if units.hollow > 0 {
        let records = plural(units.hollow, "record");
        global.note(format_args!("{records}: less than --min-left of the text is in no earlier record"));
    }
    note_resumed(global, report);
    if let Some(group) = report.largest.first() {
        global.note(format_args!("most frequent, there {} times: {}", group.size, quoted(&group.name)));
    }
    warn(global, job, report);
    note_written(global, job, report);
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
