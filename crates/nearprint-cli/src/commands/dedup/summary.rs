//! What `nearprint dedup` prints at the end.

use std::time::Instant;

use indicatif::HumanBytes;
use serde_json::{Value, json};

use crate::args::{GlobalArgs, exactly, left_out_object, limit, note_left_out};
use crate::terminal::print_message;
use nearprint_text::dedup::{DocumentCounts, DocumentsNear, FileReport, Unit, UnitCounts};

/// The comparisons of a document on average from which the summary speaks of shared bands.
const CROWDED: f64 = 1000.0;

/// The characters of a key or a text in the summary.
const NAME_CHARS: usize = 60;

/// Prints the counts, and warnings about unusual documents.
pub(super) fn summarize(global: GlobalArgs, report: &FileReport, unit: Option<Unit>, started: Instant) {
    let (counts, before) = (&report.counts, report.resumed_after);
    let DocumentCounts { records, kept, duplicates, bad, aside, empty, featureless, invalid_utf8, .. } =
        *counts;
    let seconds = started.elapsed().as_secs_f64();
    let rate = (records - before) as f64 / seconds.max(1e-9);
    let share = if records == 0 { 0.0 } else { 100.0 * duplicates as f64 / records as f64 };
    match unit {
        None => global.note(format_args!(
            "{records} documents, {kept} kept, {duplicates} duplicates ({share:.1}%), {seconds:.1} s, {rate:.0} documents/s"
        )),
        Some(unit) => {
            let nothing_left = match duplicates {
                0 => String::new(),
                some => format!(", nothing left of {some}"),
            };
            global.note(format_args!(
                "{records} documents, {kept} kept{nothing_left}, {seconds:.1} s, {rate:.0} documents/s"
            ));
            describe_units(global, counts.units, unit);
        }
    }
    match unit {
        Some(Unit::Passage) => global.note(format_args!("near: the same words in a row")),
        _ => global.note(format_args!("near: {}", nearness(&report.near))),
    }
    if before > 0 {
        global.note(format_args!("an interrupted run processed {before} of them"));
    }
    if duplicates > 0 || counts.units.removed > 0 {
        describe_duplicates(global, report, unit);
    }
    note_candidates(global, report);
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
        (aside, "documents with too few tokens or features, or without a text, were set aside"),
        (empty, "documents have no token: nothing is near them; --min-tokens 1 sets them aside"),
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
pub(super) fn object(report: &FileReport, unit: Option<Unit>, started: Instant) -> Value {
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
        "near": nearness(near),
        "by_similarity": by_similarity,
        "largest_groups": groups.collect::<Vec<_>>(),
        "units": unit.map(|_| json!({
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
fn quoted(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{:?}…", &name[..end]),
        None => format!("{name:?}"),
    }
}

/// What several units are called.
pub(super) fn plural(unit: Unit) -> &'static str {
    match unit {
        Unit::Line => "lines",
        Unit::Passage => "passages",
        _ => "paragraphs",
    }
}

/// What is counted of what is compared.
pub(super) fn compared_in(unit: Unit) -> &'static str {
    if unit == Unit::Passage { "words" } else { plural(unit) }
}

/// Prints how many units were removed.
fn describe_units(global: GlobalArgs, counts: UnitCounts, unit: Unit) {
    let UnitCounts { compared, removed, text_bytes, removed_bytes, within, hollow, by_left, .. } = counts;
    let share = 100.0 * removed_bytes as f64 / (text_bytes as f64).max(1.0);
    let (removed_bytes, text_bytes) = (HumanBytes(removed_bytes), HumanBytes(text_bytes));
    let compared_units = compared_in(unit);
    let removed_units = if unit == Unit::Passage { " passages" } else { "" };
    global.note(format_args!(
        "{compared} {compared_units}, {removed}{removed_units} removed: {removed_bytes} of {text_bytes} of text \
         ({share:.1}%)"
    ));
    if within > 0 {
        global.note(format_args!("{within} of them repeat a part of their own document"));
    }
    if let Some(left) = shares_left(&by_left) {
        global.note(format_args!("documents that lost some, by what is left of their text: {left}"));
    }
    if hollow > 0 {
        global.note(format_args!("{hollow} documents: earlier ones leave less than --min-left of them"));
    }
}

/// How many documents keep how much of their text. `None` if none has lost any.
pub(super) fn shares_left(by_left: &[u64; 5]) -> Option<String> {
    let names = ["under 20%", "20 to 40%", "40 to 60%", "60 to 80%", "80% or more"];
    let shown = names.iter().zip(by_left).filter(|(_, documents)| **documents > 0);
    let shown: Vec<String> = shown.map(|(name, documents)| format!("{documents} {name}")).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
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
fn describe_duplicates(global: GlobalArgs, report: &FileReport, unit: Option<Unit>) {
    let DocumentCounts { duplicates, copies, by_similarity, units, .. } = report.counts;
    if report.counts_copies {
        let near = (if unit.is_some() { units.removed } else { duplicates }) - copies;
        global.note(format_args!("exact copies: {copies}, near-duplicates: {near}"));
    }
    let tenths = (0..).zip(by_similarity).filter(|(_, count)| *count > 0);
    let tenths: Vec<String> = tenths
        .map(|(tenth, count)| {
            format!("{:.1} to {:.1}: {count}", f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0)
        })
        .collect();
    global.note(format_args!("by similarity: {}", tenths.join(", ")));
    describe_groups(global, report, unit);
}

/// Prints the largest groups. Their share of all documents shows whether a template takes them away.
fn describe_groups(global: GlobalArgs, report: &FileReport, unit: Option<Unit>) {
    let (what, times) = if unit.is_some() { ("most repeated", "times") } else { ("largest groups", "of") };
    let groups: Vec<String> = report
        .largest
        .iter()
        .map(|group| format!("{} {times} {}", group.size, quoted(&group.name)))
        .collect();
    if groups.is_empty() {
        return;
    }
    let (mut since, mut share) = ("", String::new());
    if report.resumed_after > 0 {
        since = " since the run was resumed";
    } else if unit.is_none() {
        let members: u64 = report.largest.iter().map(|group| group.size).sum();
        let percent = 100.0 * members as f64 / (report.counts.records as f64).max(1.0);
        share = format!("; together {percent:.1}% of all documents");
    }
    global.note(format_args!("{what}{since}: {}{share}", groups.join(", ")));
}
