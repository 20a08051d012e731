//! Documents that a database remembers as left out.

use std::collections::HashSet;
use std::io::{self, Write};

use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::{EMPTY_KEY, ResultFormat, escaped_key, json, share};
use nearprint::any::{AnyFingerprint, AnySnapshot};
use nearprint::{Error, LeftOut, LeftOutRows, Options, Remember, Row};
use nearprint_text::dedup::StoredJob;

/// The documents that a database remembers as left out, and those that it keeps.
pub(crate) struct LeftOutDocuments<'a> {
    rows: LeftOutRows,
    kept: &'a AnySnapshot,
}

impl<'a> LeftOutDocuments<'a> {
    /// Those of the database of a snapshot. `None` if it remembers none.
    pub(crate) fn of(kept: &'a AnySnapshot, options: &Options) -> Result<Option<Self>, Error> {
        Ok(LeftOutRows::open(kept.folder(), options)?.map(|rows| Self { rows, kept }))
    }

    pub(crate) fn has_keys(&self) -> bool {
        self.rows.remembers() == Remember::Keys
    }

    pub(crate) fn find(&self, key: &str) -> Result<Option<LeftOut>, Error> {
        self.rows.find(key)
    }

    /// The kept document of an id, and its key. `None` if it is not stored any more.
    fn kept(&self, id: u64) -> Result<Option<(AnyFingerprint, String)>, Error> {
        for words in self.kept.fingerprints_of(id)?.chunks_exact(self.kept.width().words()) {
            if let Some(key) = self.kept.keys_of(words, id)?.into_iter().next() {
                return Ok(Some((AnyFingerprint::from(words), key.key)));
            }
        }
        Ok(None)
    }

    /// Prints a document that was left out, under the name by which it was asked for. Prints nothing and returns `false`
    /// if the kept document has been deleted since.
    pub(crate) fn print(
        &self,
        (key, found): (&str, &LeftOut),
        format: ResultFormat,
        out: &mut OutputStream,
    ) -> Result<bool, Failure> {
        let Some((_, kept)) = self.kept(found.kept)? else { return Ok(false) };
        out.write(|out| write_pair(out, format, (key, &kept), found))?;
        Ok(true)
    }

    /// Prints the documents that were left out because of a kept one with these ids, if keys are remembered. Returns
    /// their number. Costs a walk over all documents that are remembered.
    pub(crate) fn print_those_of(
        &self,
        (kept, ids): (&str, &[u64]),
        format: ResultFormat,
        out: &mut OutputStream,
    ) -> Result<u64, Failure> {
        let mut count = 0;
        self.rows.visit(|found| {
            if !ids.contains(&found.kept) {
                return Ok(());
            }
            count += 1;
            match &found.key {
                Some(key) => Ok(out.write(|out| write_pair(out, format, (key, kept), &found))?),
                None => Ok::<(), Failure>(()),
            }
        })?;
        Ok(count)
    }

    /// Prints each kept document with those that were left out because of it, as the members of clusters. Those whose
    /// kept document has been deleted are in none.
    pub(crate) fn print_groups(&self, format: ResultFormat, out: &mut OutputStream) -> Result<(), Failure> {
        let (mut groups, mut last, mut is_deleted, mut printed) = (0, None, false, HashSet::new());
        self.rows.visit(|LeftOut { id, key, kept, similarity, .. }| {
            if last != Some(kept) {
                last = Some(kept);
                printed.clear();
                let row = self.kept(kept)?;
                is_deleted = row.is_none();
                if let Some((fingerprint, key)) = row {
                    groups += 1;
                    let row = (groups - 1, Row { fingerprint, id: kept });
                    out.write(|out| format.cluster_member(out, row, Some(Some(&key)), Some(1.0)))?;
                }
            }
            // Several jobs may have left it out.
            if is_deleted || !printed.insert(id) {
                return Ok(());
            }
            let key = key.unwrap_or_default();
            Ok(out.write(|out| left_out_member(out, format, (groups - 1, id), (&key, similarity)))?)
        })
    }
}

/// A line with a document that was left out and the kept one.
fn write_pair(
    out: &mut dyn Write,
    format: ResultFormat,
    (key, kept): (&str, &str),
    found: &LeftOut,
) -> io::Result<()> {
    let (similarity, job) = (share(found.similarity), found.job);
    match format {
        ResultFormat::Tsv => {
            let job = if job == 0 { String::new() } else { job.to_string() };
            writeln!(out, "{}\t{}\t{similarity}\t{job}", escaped_key(key), escaped_key(kept))
        }
        ResultFormat::Json => {
            let job = if job == 0 { "null".into() } else { job.to_string() };
            let (key, kept) = (json(key), json(kept));
            writeln!(out, r#"{{"left_out":{key},"kept":{kept},"similarity":{similarity},"job":{job}}}"#)
        }
    }
}

/// A member of a group that has no row, and so no fingerprint.
fn left_out_member(
    out: &mut dyn Write,
    format: ResultFormat,
    (group, id): (u64, u64),
    (key, similarity): (&str, f64),
) -> io::Result<()> {
    match format {
        ResultFormat::Tsv => {
            let key = if key.is_empty() { EMPTY_KEY.into() } else { escaped_key(key) };
            writeln!(out, "{group}\t\t{id}\t{key}\t{}", share(similarity))
        }
        ResultFormat::Json => {
            let key = json(key);
            writeln!(
                out,
                r#"{{"cluster":{group},"fingerprint":null,"id":"{id}","key":{key},"similarity":{}}}"#,
                share(similarity)
            )
        }
    }
}

/// Why a database of documents that `dedup` kept has no pairs. `None` if that is no such database.
pub(crate) fn why_none_is_near(
    snapshot: &AnySnapshot,
    options: &Options,
) -> Result<Option<&'static str>, Failure> {
    if StoredJob::all(snapshot)?.is_empty() {
        return Ok(None);
    }
    let has_keys = LeftOutDocuments::of(snapshot, options)?.is_some_and(|left_out| left_out.has_keys());
    Ok(Some(match has_keys {
        true => {
            "no two rows are near: they are documents that `dedup` kept. `clusters` shows each with what was left out"
        }
        false => {
            "no two rows are near: they are documents that `dedup` kept. With `dedup --remember=keys`, a new database \
             also remembers what was left out, and `clusters` shows both"
        }
    }))
}
