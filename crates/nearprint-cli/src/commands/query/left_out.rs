//! Queries for documents that were left out.

use std::path::PathBuf;

use crate::args::{GlobalArgs, ResultArgs};
use crate::commands::snapshots::ids_of_key;
use crate::left_out::LeftOutDocuments;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::plural;
use nearprint::any::AnySnapshot;

/// Prints of which kept documents those with some keys were near-duplicates.
pub(super) fn run(
    (folders, snapshots): (&[PathBuf], &[AnySnapshot]),
    keys: &[String],
    results: ResultArgs,
    global: GlobalArgs,
) -> Result<(), Failure> {
    let mut all = Vec::new();
    for (folder, snapshot) in folders.iter().zip(snapshots) {
        all.push(LeftOutDocuments::of(snapshot, &global.options())?.ok_or_else(|| {
            let folder = folder.display();
            Failure::OtherCommand {
                why: format!("{folder}: does not remember what was left out"),
                hint: "a database that `dedup --db DB --remember` creates does".into(),
            }
        })?);
    }
    let mut out = OutputStream::stdout();
    let columns = ["left_out", "kept", "similarity", "job"].map(|name| (name, true));
    results.print_header(&mut out, &columns)?;
    let mut found = 0;
    for key in keys {
        let mut is_found = false;
        for documents in &all {
            if let Some(document) = documents.find(key)? {
                is_found = true;
                documents.print((key, &document), results.format(), &mut out)?;
            }
        }
        found += u64::from(is_found);
        if !is_found {
            let mut is_kept = false;
            for snapshot in snapshots {
                is_kept |= !ids_of_key(snapshot, key)?.is_empty();
            }
            let what = if is_kept { "is kept" } else { "is unknown" };
            global.note(format_args!("{key}: {what}"));
        }
    }
    out.flush()?;
    let keys = plural(keys.len() as u64, "key");
    global.note(format_args!("{keys}: {found} left out"));
    Ok(())
}
