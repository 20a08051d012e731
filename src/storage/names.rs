//! Every file name of a database, built from numbers, so that no file can name another.

pub(crate) const LOCK: &str = "LOCK";
pub(crate) const MANIFEST: &str = "MANIFEST";
/// The next manifest, until it is renamed over [`MANIFEST`].
pub(crate) const MANIFEST_NEW: &str = "MANIFEST.tmp";

/// The segment of one table of a run.
pub(crate) fn segment(run: u64, table: usize) -> String {
    format!("{run:08}-t{table}.seg")
}

/// The rows file of a run.
pub(crate) fn rows(run: u64) -> String {
    format!("{run:08}.rows")
}

/// A sorted part of a bulk load that does not fit in memory; gone before the load is published.
pub(crate) fn spill(number: u64) -> String {
    format!("spill-{number:08}.tmp")
}

/// Whether a name is one that this module makes.
pub(crate) fn is_ours(name: &str) -> bool {
    let digits =
        |text: &str, least: usize| text.len() >= least && text.bytes().all(|byte| byte.is_ascii_digit());
    if [LOCK, MANIFEST, MANIFEST_NEW].contains(&name) {
        return true;
    }
    match name.rsplit_once('.') {
        Some((stem, "seg")) => {
            stem.split_once("-t").is_some_and(|(run, table)| digits(run, 8) && digits(table, 1))
        }
        Some((stem, "rows")) => digits(stem, 8),
        Some((stem, "tmp")) => stem.strip_prefix("spill-").is_some_and(|number| digits(number, 8)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_recognised_and_others_are_not() {
        for name in
            [segment(0, 0), segment(123_456_789, 63), rows(7), spill(1), LOCK.into(), MANIFEST_NEW.into()]
        {
            assert!(is_ours(&name), "{name}");
        }
        for name in
            ["", "notes.txt", "0000001.rows", "00000001.rowsx", "00000001-t.seg", "00000001-tx.seg", "x.seg"]
        {
            assert!(!is_ours(name), "{name}");
        }
    }
}
