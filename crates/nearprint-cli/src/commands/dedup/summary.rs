//! What `nearprint dedup` prints at the end.

use std::time::Instant;

use serde_json::{Value, json};

use crate::args::{GlobalArgs, exactly, left_out_object, limit, note_left_out};
use crate::terminal::print_message;
use nearprint_text::dedup::{DocumentCounts, DocumentsNear, FileJob, FileReport, TrimRules, Unit};

/// The comparisons of a document on average from which the summary speaks of shared bands.
const CROWDED: f64 = 1000.0;

/// The characters of a key or a text in the summary.
const NAME_CHARS: usize = 60;

/// Prints the counts, and warnings about unusual documents.
pub(super) fn summarize(global: GlobalArgs, report: &FileReport, started: Instant) {
    let DocumentCounts { records, kept, duplicates, .. } = report.counts;
    let before = report.resumed_after;
    let seconds = started.elapsed().as_secs_f64();
    let rate = (records - before) as f64 / seconds.max(1e-9);
    let share = if records == 0 { 0.0 } else { 100.0 * duplicates as f64 / records as f64 };
    global.note(format_args!(
        "{records} documents, {kept} kept, {duplicates} duplicates ({share:.1}%), {seconds:.1} s, {rate:.0} documents/s"
    ));
    global.note(format_args!("near: {}", nearness(&report.near)));
    note_resumed(global, report);
    if duplicates > 0 {
        describe_duplicates(global, report);
    }
    note_candidates(global, report);
    warn(global, report);
}

/// Tells what an interrupted run had done.
pub(super) fn note_resumed(global: GlobalArgs, report: &FileReport) {
    if report.resumed_after > 0 {
        global.note(format_args!("an interrupted run processed {} of them", report.resumed_after));
    }
}

/// Prints what was left out of the inputs, and warnings about unusual documents.
pub(super) fn warn(global: GlobalArgs, report: &FileReport) {
    let DocumentCounts { records, bad, aside, empty, featureless, invalid_utf8, .. } = report.counts;
    let left_out: u64 = report.left_out.files().iter().map(|(count, _)| count).sum();
    note_left_out(global, &report.left_out, records + left_out, &[]);
    if !report.unlisted.is_empty() {
        let paths: Vec<_> = report.unlisted.iter().map(|path| path.to_string_lossy()).collect();
        global.note(format_args!(
            "warning: not in a list of paths, because of a line feed in the name: {}; -0 lists them",
            paths.join(", ")
        ));
    }
    for (count, what) in [
        (bad, "bad records were set aside"),
        (aside, "documents with too few words or features, or without a text, were set aside"),
        (empty, "documents have no token: nothing is near them; --min-words 1 sets them aside"),
        (
            featureless,
            "documents or units have tokens, but no feature of the recipe: only copies of them are found; \
             --min-features 1 sets them aside",
        ),
        (
            invalid_utf8,
            "documents are not valid UTF-8, or have escapes of half a character: U+FFFD stands for these in texts and \
             keys",
        ),
    ] {
        if count > 0 && !global.quiet {
            print_message(format_args!("warning: {count} {what}"));
        }
    }
}

/// Prints what candidates took, and how many were none.
fn note_candidates(global: GlobalArgs, report: &FileReport) {
    if let Some(crowding) = report.crowding.filter(|crowding| crowding.mean >= CROWDED) {
        let (largest, mean) = (crowding.largest, crowding.mean);
        global.note(format_args!(
            "{largest} kept documents share a band, as pages with a common template do: a document was compared \
             with about {mean:.0} others, which takes time; texts without the template, or a larger --shingle, \
             take less"
        ));
    }
    if report.counts.unconfirmed > 0 {
        let unconfirmed = report.counts.unconfirmed;
        global.note(format_args!(
            "{unconfirmed} documents kept that fingerprints alone would leave out: their texts do not confirm it"
        ));
    }
}

/// The counts of a summary, as one object.
pub(super) fn object(job: &FileJob, report: &FileReport, started: Instant) -> Value {
    let FileReport { counts, resumed_after, completed, largest, near, counts_copies, left_out, .. } = report;
    let DocumentCounts { records, kept, duplicates, copies, bad, aside, empty, featureless, .. } = *counts;
    let DocumentCounts { invalid_utf8, unconfirmed, by_similarity, units, .. } = *counts;
    let groups = largest.iter().map(|group| json!({ "size": group.size, "name": group.name }));
    json!({
        "documents": records,
        "kept": kept,
        "duplicates": duplicates,
        "exact_copies": counts_copies.then_some(copies),
        "bad_records": bad,
        "set_aside": aside,
        "without_tokens": empty,
        "without_features": featureless,
        "invalid_utf8": invalid_utf8,
        "unconfirmed": unconfirmed,
        "near": job.trim.map_or_else(|| nearness(near), |rules| recurring(rules, report)),
        "by_similarity": by_similarity,
        "largest_groups": groups.collect::<Vec<_>>(),
        "units": job.trim.map(|_| json!({
            "shortened": units.by_left.iter().sum::<u64>(),
            "compared": units.compared,
            "removed": units.removed,
            "text_bytes": units.text_bytes,
            "removed_bytes": units.removed_bytes,
            "repeated_within": units.within,
            "hollow": units.hollow,
            "by_share_left": units.by_left,
        })),
        "notes": left_out.notes,
        "left_out_files": left_out_object(left_out),
        "resumed_after": resumed_after,
        "completed": completed.map(|completed| completed.to_string()),
        "seconds": started.elapsed().as_secs_f64(),
    })
}

/// The beginning of a key or a text, with all characters escaped that do not print themselves.
pub(super) fn quoted(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{:?}…", &name[..end]),
        None => format!("{name:?}"),
    }
}

/// When units recur, in words.
pub(super) fn recurring(rules: TrimRules, report: &FileReport) -> String {
    let words = match (&report.near, rules.by) {
        (_, Unit::Passage) => "the same words in a row".to_string(),
        (DocumentsNear::Estimated { recipe, k: 0 }, _)
            if recipe.bands().is_none() && recipe.default_k() == 0 =>
        {
            "the same words".into()
        }
        (near, _) => nearness(near),
    };
    match rules.from {
        0..=2 => words,
        from => format!("{words}, from the record number {from} on"),
    }
}

/// When documents are near, in words.
pub(super) fn nearness(near: &DocumentsNear) -> String {
    match near {
        DocumentsNear::Exact { similarity } => exactly(*similarity),
        DocumentsNear::Estimated { recipe, k } => limit(recipe, *k),
        DocumentsNear::Confirmed { by } => format!("confirmed by {by}"),
    }
}

/// Prints what the near-duplicates are.
fn describe_duplicates(global: GlobalArgs, report: &FileReport) {
    let DocumentCounts { duplicates, copies, by_similarity, .. } = report.counts;
    if report.counts_copies {
        let near = duplicates - copies;
        global.note(format_args!("exact copies: {copies}, near-duplicates: {near}"));
    }
    let tenths = (0..).zip(by_similarity).filter(|(_, count)| *count > 0);
    let tenths: Vec<String> = tenths
        .map(|(tenth, count)| {
            format!("{:.1} to {:.1}: {count}", f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0)
        })
        .collect();
    global.note(format_args!("by similarity: {}", tenths.join(", ")));
    describe_groups(global, report);
}

/// Prints the largest groups, which show whether a template takes documents away.
fn describe_groups(global: GlobalArgs, report: &FileReport) {
    let groups: Vec<String> =
        report.largest.iter().map(|group| format!("{} of {}", group.size, quoted(&group.name))).collect();
    if groups.is_empty() {
        return;
    }
    let since = if report.resumed_after > 0 { " since the run was resumed" } else { "" };
    global.note(format_args!("largest groups{since}: {}", groups.join(", ")));
}
