//! `nearprint delete`

use std::path::PathBuf;

use crate::args::GlobalArgs;
use crate::input::fingerprints::read_ids;
use crate::terminal::failure::Failure;
use crate::terminal::interrupt;
use nearprint::erased::AnyWriter;

/// Delete rows by id, or by key
///
/// Deletes every row with one of the ids, whatever its fingerprint. An id that is not stored is not
/// an error. Deletions become durable batch by batch, like the rows of `add`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  echo 42 | nearprint delete corpus.np
  nearprint delete corpus.np withdrawn.txt
  nearprint delete corpus.np --key https://example.org/page")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// A file with one id on each line; - or none for standard input
    #[arg(value_name = "INPUT", default_value = "-")]
    input: PathBuf,
    /// Delete rows that have this key and no other, instead of ids from INPUT; may be repeated
    #[arg(long, value_name = "KEY", conflicts_with = "input")]
    key: Vec<String>,
}

/// Ids per commit.
const BATCH: u64 = 50_000;

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let mut writer = global.options().open_any(&self.database)?.writer()?;
        if !self.key.is_empty() {
            return self.delete_keys(writer, global);
        }
        let (mut ids, mut committed) = (0, 0);
        interrupt::set_committed_rows(0);
        let deleted = read_ids(&self.input, &mut |id| {
            writer.delete(&[id])?;
            ids += 1;
            if ids - committed == BATCH { commit(&mut writer, ids, &mut committed) } else { Ok(()) }
        });
        deleted
            .and_then(|()| commit(&mut writer, ids, &mut committed))
            .and_then(|()| Ok(writer.close()?))
            .map_err(|failure| Failure::Partial { committed, failure: Box::new(failure) })?;
        global.note(format_args!("deleted {ids} ids from {}", self.database.display()));
        Ok(())
    }

    /// Deletes the rows with the given keys.
    fn delete_keys(&self, mut writer: AnyWriter, global: GlobalArgs) -> Result<(), Failure> {
        if !writer.key_storage().has_keys() {
            let why = format!("{}: the database was made without keys", self.database.display());
            return Err(Failure::Usage(why));
        }
        let mut rows = 0;
        for key in &self.key {
            rows += writer.delete_key(key)?;
        }
        writer.commit()?;
        writer.close()?;
        global.note(format_args!("deleted {rows} rows from {}", self.database.display()));
        Ok(())
    }
}

/// Commits the deletions of the first `ids` ids.
fn commit(writer: &mut AnyWriter, ids: u64, committed: &mut u64) -> Result<(), Failure> {
    writer.commit()?;
    *committed = ids;
    interrupt::set_committed_rows(ids);
    Ok(())
}
