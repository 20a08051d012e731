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

/// Prints of which kept documents those with some keys were near-duplicates, and what was left out because of a kept
/// one.
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
    let (mut left_out, mut kept, mut unknown) = (0, 0, None);
    for key in keys {
        let (mut is_printed, mut is_remembered) = (false, false);
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
        let (mut is_kept, mut because, mut has_keys) = (false, 0, true);
        for (snapshot, documents) in snapshots.iter().zip(&all) {
            // A walk over all keys is worth it only for a key that is not known otherwise.
            let ids = if is_printed { snapshot.ids_of_key(key)? } else { ids_of_key(snapshot, key)? };
            if !ids.is_empty() {
                is_kept = true;
                has_keys &= documents.has_keys();
                because += documents.print_those_of((key, &ids), results.format(), &mut out)?;
            }
        }
        left_out += u64::from(is_printed);
        kept += u64::from(is_kept);
        if is_kept {
            let too = if is_printed { ", too" } else { "" };
            let names =
                if has_keys || because == 0 { "" } else { "; `dedup --remember=keys` remembers their keys" };
            let (documents, were) = (plural(because, "document"), if because == 1 { "was" } else { "were" });
            global
                .note(format_args!("{key}: is kept{too}; {documents} {were} left out because of it{names}"));
        } else if is_remembered && !is_printed {
            global.note(format_args!(
                "{key}: was left out, but the document that was kept has been deleted since"
            ));
        } else if !is_remembered {
            unknown = unknown.or(Some(key));
        }
    }
    out.flush()?;
    if keys.len() > 1 {
        global.note(format_args!("{}: {left_out} left out, {kept} kept", plural(keys.len() as u64, "key")));
    }
    match unknown {
        None => Ok(()),
        Some(key) => {
            Err(Failure::Usage(format!("--left-out {key}: no document with this key is remembered")))
        }
    }
}
