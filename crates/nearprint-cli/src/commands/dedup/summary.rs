//! What `nearprint dedup` prints at the end.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::args::{GlobalArgs, exactly, limit, note_skipped, of_texts, outcome_object, skipped_object};
use crate::terminal::{STDOUT, plural, print_message};
use nearprint_text::dedup::{DocumentCounts, DocumentsNear, FileJob, FileReport, TrimRules, Unit};

/// Where output goes that nobody wants.
pub(super) const NULL_DEVICE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// The comparisons of a document on average from which the summary speaks of shared bands.
const CROWDED: f64 = 1000.0;

/// The characters of a key or a text in the summary.
const NAME_CHARS: usize = 60;

/// Prints what became of the records, what was written, and warnings about unusual records.
pub(super) fn summarize(global: GlobalArgs, job: &FileJob, report: &FileReport, started: Instant) {
    let records = report.counts.records;
    global.note(format_args!("{}", report.outcome(job.trim.is_some()).verdict("record")));
    global.note(format_args!("near: {}", nearness(&report.near)));
    if global.verbose {
        let seconds = started.elapsed().as_secs_f64();
        let rate = (records - report.resumed_after) as f64 / seconds.max(1e-9);
        global.note(format_args!("{seconds:.1} s, {rate:.0} records/s"));
    }
    note_resumed(global, report);
    if report.counts.duplicates > 0 {
        describe_duplicates(global, report);
    }
    if let Some(limits) = stricter(&report.counts.by_similarity, &report.near).filter(|_| job.dry_run) {
        global.note(format_args!("with a higher --similarity: {limits}"));
    }
    note_candidates(global, report);
    warn(global, job, report);
    note_written(global, job, report);
}

/// Names the files that were written, with what is in them.
pub(super) fn note_written(global: GlobalArgs, job: &FileJob, report: &FileReport) {
    let DocumentCounts { kept, duplicates, bad, aside, units, .. } = report.counts;
    let outputs = || job.named_outputs().filter(|(_, path)| path.as_os_str() != NULL_DEVICE);
    let shown =
        |path: &Path| if path == Path::new("-") { STDOUT.into() } else { path.to_string_lossy().to_string() };
    if job.dry_run {
        let unwritten: Vec<String> = outputs().map(|(_, path)| shown(path)).collect();
        if !unwritten.is_empty() {
            global.note(format_args!("dry run: {} not written", unwritten.join(", ")));
        }
        return;
    }
    let files = outputs().map(|(name, path)| {
        let shown = shown(path);
        let content = match name {
            "output" if job.annotate => plural(kept + duplicates, "record"),
            "output" => plural(kept, "record"),
            "removed" => plural(units.removed, "line"),
            "duplicates" => plural(duplicates, "line"),
            _ => plural(bad + aside, "record"),
        };
        format!("{shown} ({content})")
    });
    let files: Vec<String> = files.collect();
    let stored = job.database.as_deref().map(|path| match job.trim {
        None => format!("stored {} in {}", plural(kept, "record"), path.display()),
        Some(_) => format!("stored what is new in {}", path.display()),
    });
    match (files.is_empty(), stored) {
        (true, None) => {}
        (true, Some(stored)) => global.note(format_args!("{stored}")),
        (false, None) => global.note(format_args!("wrote {}", files.join(", "))),
        (false, Some(stored)) => global.note(format_args!("wrote {}; {stored}", files.join(", "))),
    }
}

/// Tells what an interrupted run had done.
pub(super) fn note_resumed(global: GlobalArgs, report: &FileReport) {
    if report.resumed_after > 0 {
        global.note(format_args!("an interrupted run processed {} of them", report.resumed_after));
    }
}

/// Prints what was skipped of the inputs, and warnings about unusual records.
pub(super) fn warn(global: GlobalArgs, job: &FileJob, report: &FileReport) {
    let DocumentCounts { aside, empty, featureless, invalid_utf8, .. } = report.counts;
    note_skipped(global, &report.left_out, &[(aside, "of too few words or features, or without a text")], 0);
    if !report.unlisted.is_empty() {
        let paths: Vec<_> = report.unlisted.iter().map(|path| path.to_string_lossy()).collect();
        global.note(format_args!(
            "warning: the list of paths lacks names with a line feed: {}; -0 lists them",
            paths.join(", ")
        ));
    }
    let unit = if job.trim.is_some() { "unit" } else { "record" };
    for (count, noun, what) in [
        (empty, "record", "without words: nothing is near them; --min-words 1 skips them"),
        (
            featureless,
            unit,
            "with words, but without a feature of the recipe: only copies of them are found; --min-features 1 skips them",
        ),
        (
            invalid_utf8,
            "record",
            "not valid UTF-8, or with escapes of half a character: other characters stand for these in texts and keys; \
             --encoding names another encoding",
        ),
    ] {
        if count > 0 && !global.quiet {
            print_message(format_args!("warning: {} {what}", plural(count, noun)));
        }
    }
}

/// Prints what candidates took, and how many were none.
fn note_candidates(global: GlobalArgs, report: &FileReport) {
    if let Some(crowding) = report.crowding.filter(|crowding| crowding.mean >= CROWDED) {
        let (largest, mean) = (crowding.largest, crowding.mean);
        global.note(format_args!(
            "{largest} kept records share a band, as pages with a common template do, so a record was compared \
             with about {mean:.0} others; to save time, remove the template with `trim`, or give a larger --shingle"
        ));
    }
    if report.counts.unconfirmed > 0 {
        let unconfirmed = report.counts.unconfirmed;
        global.note(format_args!(
            "{unconfirmed} records were kept because their texts are not near, although their fingerprints are"
        ));
    }
}

/// The counts of a summary, as one object.
pub(super) fn object(job: &FileJob, report: &FileReport, started: Instant) -> Value {
    let FileReport { counts, resumed_after, completed, largest, near, left_out, .. } = report;
    let DocumentCounts { empty, featureless, invalid_utf8, unconfirmed, by_similarity, units, .. } = *counts;
    let groups = largest.iter().map(|group| json!({ "size": group.size, "name": group.name }));
    let further = json!({
        "without_words": empty,
        "without_features": featureless,
        "invalid_utf8": invalid_utf8,
        "unconfirmed": unconfirmed,
        "rule": job.trim.map_or_else(|| nearness(near), |rules| recurring(rules, report)),
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
        "skipped_files": skipped_object(left_out),
        "resumed_after": resumed_after,
        "completed": completed.map(|completed| completed.to_string()),
        "seconds": started.elapsed().as_secs_f64(),
    });
    let mut object = outcome_object(&report.outcome(job.trim.is_some()));
    if let Value::Object(further) = further {
        object.extend(further);
    }
    Value::Object(object)
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
        DocumentsNear::Texts { similarity, k } => of_texts(*similarity, *k),
    }
}

/// From this size on, a group is worth a line.
const LARGE: u64 = 100;

/// Prints the largest group, which shows whether a template takes records away; if more is wanted to be known, the
/// similarities of the duplicates and the five largest groups.
fn describe_duplicates(global: GlobalArgs, report: &FileReport) {
    let since = if report.resumed_after > 0 { " since the run was resumed" } else { "" };
    if !global.verbose {
        if let Some(group) = report.largest.first().filter(|group| group.size >= LARGE) {
            global.note(format_args!("largest group{since}: {} near {}", group.size, quoted(&group.name)));
        }
        return;
    }
    let tenths = (0..).zip(report.counts.by_similarity).filter(|(_, count)| *count > 0);
    let tenths: Vec<String> = tenths
        .map(|(tenth, count)| {
            format!("{:.1} to {:.1}: {count}", f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0)
        })
        .collect();
    global.note(format_args!("by similarity: {}", tenths.join(", ")));
    let groups: Vec<String> =
        report.largest.iter().map(|group| format!("{} near {}", group.size, quoted(&group.name))).collect();
    if !groups.is_empty() {
        global.note(format_args!("largest groups{since}: {}", groups.join(", ")));
    }
}

/// About how many would be left out at higher limits, from the similarities in tenths; `None` if
/// nothing is far from the limit.
pub(super) fn stricter(by_similarity: &[u64; 10], near: &DocumentsNear) -> Option<String> {
    let lowest = by_similarity.iter().position(|&count| count > 0)?;
    let left_out = |tenth: usize| by_similarity[tenth..].iter().sum::<u64>();
    let is_higher = |tenth: usize| match near {
        DocumentsNear::Exact { similarity } => tenth as f64 > 10.0 * similarity + 1e-9,
        _ => tenth > lowest,
    };
    let limits: Vec<String> = (1..10)
        .filter(|&tenth| is_higher(tenth) && left_out(tenth) > 0)
        .map(|tenth| format!("about {} at 0.{tenth}", left_out(tenth)))
        .collect();
    (!limits.is_empty()).then(|| format!("left out {}", limits.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_limits_leave_out_what_is_more_similar() {
        let exact = |similarity| DocumentsNear::Exact { similarity };
        let counts = [0, 0, 0, 0, 0, 4, 3, 0, 2, 1];
        let expected = "left out about 6 at 0.6, about 3 at 0.7, about 3 at 0.8, about 1 at 0.9";
        assert_eq!(stricter(&counts, &exact(0.5)).as_deref(), Some(expected));
        // What lies between a low limit and the lowest similarity shows, too.
        let below = stricter(&counts, &exact(0.3)).unwrap();
        assert!(below.starts_with("left out about 10 at 0.4, about 10 at 0.5, about 6 at 0.6"), "{below}");
        assert_eq!(stricter(&[0; 10], &exact(0.5)), None);
        assert_eq!(stricter(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 5], &exact(0.9)), None);
    }
}
