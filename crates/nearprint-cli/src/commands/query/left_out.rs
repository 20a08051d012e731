//! Queries for documents that were left out.

use std::path::PathBuf;

use crate::args::{GlobalArgs, ResultArgs};
use crate::commands::snapshots::ids_of_key;
use crate::left_out::LeftOutDocuments;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::plural;
use nearprint::any::AnySnapshot;

/// The key of a document that `--duplicates` lists with its number behind it, since the kept one has this key, too.
fn without_number(key: &str) -> Option<&str> {
    let (key, number) = key.rsplit_once('#')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(key)
}

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
        let (mut is_printed, mut is_remembered, mut is_kept) = (false, false, false);
        for documents in &all {
            let found = match documents.find(key)? {
                None => without_number(key).map_or(Ok(None), |key| documents.find(key))?,
                found => found,
            };
            if let Some(document) = found {
                is_remembered = true;
                is_printed |= documents.print((key, &document), results.format(), &mut out)?;
            }
        }
        for snapshot in snapshots {
            // A walk over all keys is worth it only for a key that is not known otherwise.
            let ids = if is_printed { snapshot.ids_of_key(key)? } else { ids_of_key(snapshot, key)? };
            is_kept |= !ids.is_empty();
        }
        found += u64::from(is_printed);
        match (is_printed, is_kept, is_remembered) {
            (true, false, _) => {}
            (true, true, _) => global.note(format_args!("{key}: a document with this key is kept, too")),
            (false, true, _) => global.note(format_args!("{key}: is kept")),
            (false, false, true) => global.note(format_args!(
                "{key}: was left out, but the document that was kept has been deleted since"
            )),
            (false, false, false) => global.note(format_args!("{key}: is unknown")),
        }
    }
    out.flush()?;
    let keys = plural(keys.len() as u64, "key");
    global.note(format_args!("{keys}: {found} left out"));
    Ok(())
}
