//! All file names of a database. They are built from numbers, so that no file stores the name of
//! another file.

pub(crate) const LOCK: &str = "LOCK";
pub(crate) const MANIFEST: &str = "MANIFEST";
/// The next manifest, before it is renamed to [`MANIFEST`].
pub(crate) const MANIFEST_NEW: &str = "MANIFEST.tmp";

/// Space that a writer may free. It says nothing, and any process may remove it.
pub(crate) const RESERVE: &str = "RESERVE";

/// Marks a folder that a process has made and not completed. It is no file of a database.
pub(crate) const MARKER: &str = "NEARPRINT-FOLDER";

/// Shows that a folder follows a database elsewhere. It is no file of a database.
pub(crate) const FOLLOWER: &str = "FOLLOWER";

/// Shows that a process makes, renames or removes a folder of its own beside this file. On Windows only,
/// and gone after that.
#[cfg(windows)]
pub(crate) const BUSY: &str = ".nearprint-busy";

/// The folder of the database of documents that were left out, in the folder of the database that remembers them.
pub(crate) const LEFT_OUT: &str = "left-out";

/// Ends the name of the folder in which a database is prepared.
pub(crate) const BUILDING: &str = ".building";

/// The segment of one table of a run.
pub(crate) fn segment(run: u64, table: usize) -> String {
    format!("{run:08}-t{table}.seg")
}

/// The postings file of a run.
pub(crate) fn rows(run: u64) -> String {
    format!("{run:08}.rows")
}

/// The tombstones file of a run.
pub(crate) fn tombstones(run: u64) -> String {
    format!("{run:08}.dels")
}

/// The keys file of a run.
pub(crate) fn keys(run: u64) -> String {
    format!("{run:08}.keys")
}

/// A file of identities of ingested runs.
pub(crate) fn identities(number: u64) -> String {
    format!("{number:08}.ings")
}

/// A write-ahead log.
pub(crate) fn wal(number: u64) -> String {
    format!("wal-{number:08}.log")
}

/// Sorted piece `number` of a table's values that do not fit in memory. It is removed before the
/// run is published.
pub(crate) fn spill(run: u64, table: usize, number: u64) -> String {
    format!("spill-{run:08}-{table}-{number}.tmp")
}

/// Whether a name is a write-ahead log's.
pub(crate) fn is_wal(name: &str) -> bool {
    name.strip_prefix("wal-")
        .and_then(|rest| rest.strip_suffix(".log"))
        .is_some_and(|number| is_number(number, 8))
}

/// The number in the name of a file of a run, of identities, or of a log.
pub(crate) fn number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("wal-").unwrap_or(name);
    digits.split(['-', '.']).next()?.parse().ok()
}

/// Whether this module builds names of this form: those of the files of databases.
pub fn is_ours(name: &str) -> bool {
    if [LOCK, MANIFEST, MANIFEST_NEW, RESERVE].contains(&name) {
        return true;
    }
    match name.rsplit_once('.') {
        Some((stem, "seg")) => {
            stem.split_once("-t").is_some_and(|(run, table)| is_number(run, 8) && is_number(table, 1))
        }
        Some((stem, "rows" | "dels" | "keys" | "ings")) => is_number(stem, 8),
        _ => is_wal(name) || is_spill(name),
    }
}

/// Whether a name is of a [spilled piece](spill).
pub(crate) fn is_spill(name: &str) -> bool {
    let numbers: Vec<&str> = name.strip_suffix(".tmp").unwrap_or_default().split('-').collect();
    matches!(numbers[..], ["spill", run, table, number]
        if is_number(run, 8) && is_number(table, 1) && is_number(number, 1))
}

fn is_number(text: &str, least_digits: usize) -> bool {
    text.len() >= least_digits && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_names_are_recognized_and_others_are_not() {
        for name in [
            segment(0, 0),
            segment(123_456_789, 63),
            rows(7),
            tombstones(7),
            keys(7),
            identities(7),
            wal(3),
            spill(1, 63, 0),
            LOCK.into(),
            MANIFEST_NEW.into(),
        ] {
            assert!(is_ours(&name), "{name}");
        }
        for name in [
            "",
            "notes.txt",
            "0000001.rows",
            "00000001.rowsx",
            "00000001-t.seg",
            "00000001-tx.seg",
            "x.seg",
            "wal-1.log",
            "00000001.log",
            "spill-00000001.tmp",
            "spill-00000001-0-x.tmp",
            "1.dels",
        ] {
            assert!(!is_ours(name), "{name}");
        }
    }
}
