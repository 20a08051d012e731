//! Which leading bits occur in a table. A query whose leading bits do not occur is not looked up.
//!
//! A long prefix has many values, and a small run has few of them: of 22 bits, 262,144 random rows have 6%. A look-up in
//! such a run mostly finds nothing, after two cache misses. A bit for each value tells in a fraction of one, because a
//! sweep asks in the order of the table.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::fingerprint::{Fingerprint, HI_BITS};
use crate::run::Segment;
use crate::util::cast::to_usize;

/// Bits for each entry of a table, at least. Fewer would say of too many values that they occur, more would not fit the
/// cache.
const BITS_PER_ENTRY: u64 = 16;
/// A table has a set of its leading bits once this share of its entries, one in so many, has been asked for: reading the
/// table costs less than that.
const ASKED_BEFORE: u64 = 4;

/// The sets of the tables of a run, which are made when they are worth it.
#[derive(Debug)]
pub(crate) struct OccurringBits {
    asked: AtomicU64,
    of_tables: Box<[OnceLock<LeadingBits>]>,
}

/// A bit for each value that the leading bits of a table's entries may have.
#[derive(Debug)]
pub(super) struct LeadingBits {
    len: u32,
    occurs: Box<[u64]>,
}

impl OccurringBits {
    pub(super) fn new(tables: usize) -> Self {
        Self { asked: AtomicU64::new(0), of_tables: (0..tables).map(|_| OnceLock::new()).collect() }
    }

    /// Counts queries that ask all tables.
    pub(super) fn count(&self, queries: usize) {
        self.asked.fetch_add(queries as u64, Ordering::Relaxed);
    }

    /// The set of a table for look-ups of equal prefixes. `None` if it would not pay: most values of the prefix occur,
    /// or there were few queries.
    pub(super) fn of_table<F: Fingerprint>(
        &self,
        table: usize,
        segment: &Segment<F>,
    ) -> Result<Option<&LeadingBits>> {
        let known = &self.of_tables[table];
        let entries = segment.info.entries;
        if known.get().is_none() {
            let len = segment.table.prefix_bits.min((entries * BITS_PER_ENTRY).max(1).ilog2()).min(u32::BITS);
            let is_sparse = entries < 1 << len >> 1;
            if !is_sparse || self.asked.load(Ordering::Relaxed) < entries / ASKED_BEFORE {
                return Ok(None);
            }
            let read = LeadingBits::of(segment, len)?;
            // Two threads may have read it.
            let _ = known.set(read);
        }
        Ok(known.get())
    }
}

impl LeadingBits {
    fn of<F: Fingerprint>(segment: &Segment<F>, len: u32) -> Result<Self> {
        let mut occurs = vec![0; (1 << len >> 6).max(1)].into_boxed_slice();
        let directory_bits = segment.directory_bits();
        for bucket in 0..segment.buckets() {
            let range = segment.entries_of(bucket)?;
            let words = segment.hi(&range)?;
            for at in 0..words.len() {
                let leading = (bucket as u64) << HI_BITS | u64::from(words.first(at));
                let value = to_usize(leading >> (directory_bits + HI_BITS - len));
                occurs[value / 64] |= 1 << (value % 64);
            }
        }
        Ok(Self { len, occurs })
    }

    /// Whether an entry may begin with the same bits as `leading`.
    #[inline]
    pub(super) fn may_hold(&self, leading: u32) -> bool {
        let value = (leading >> (u32::BITS - self.len)) as usize;
        self.occurs.get(value / 64).is_some_and(|word| word >> (value % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use crate::database::bulk::build_runs;
    use crate::fingerprint::{Bits, Row, mix64};
    use crate::query::prepare::Searchable;

    /// 3,000 rows in tables of a layout.
    fn with_rows(layout: &str, check: impl FnOnce(&Searchable<u64>)) {
        let rows: Vec<Row<u64>> = (0..3000).map(|id| Row { fingerprint: mix64(id), id }).collect();
        let home = tempfile::tempdir().unwrap();
        let database = build_runs(&home.path().join("db"), &[(layout, &rows)]).unwrap();
        check(&database.snapshot().unwrap().searchables()[0]);
    }

    #[test]
    fn bits_of_all_entries_occur_and_few_others() {
        with_rows("rotations:4", |Searchable { run, occurring, .. }| {
            let of_table = |table: usize| occurring.of_table(table, &run.segments[table]).unwrap();
            assert!((0..4).all(|table| of_table(table).is_none()), "no query has asked");
            occurring.count(3000);
            for (table, segment) in run.segments.iter().enumerate() {
                let bits = of_table(table).unwrap();
                let leading = |value: u64| segment.table.leading(value).bits(0, 32);
                let may_hold = |id| bits.may_hold(u32::try_from(leading(mix64(id))).unwrap());
                assert!((0..3000).all(may_hold), "table {table}");
                let others = (10_000..20_000).filter(|&id| may_hold(id)).count();
                assert!((500..2000).contains(&others), "{others} of 10,000: about one value in ten occurs");
            }
        });
    }

    #[test]
    fn a_prefix_of_which_most_values_occur_has_none() {
        with_rows("rotations:8", |Searchable { run, occurring, .. }| {
            occurring.count(3000);
            assert!(occurring.of_table(0, run.natural()).unwrap().is_none());
        });
    }
}
