//! The unflushed rows of a writer, with an index for its queries.
//!
//! Every inserted row enters a few permuted tables under the leading bits of its fingerprint. A
//! bucket is a list of chunks of `hi` words, which the filter kernel reads as in a segment. Plans
//! and the report-once rule are the same as for runs.

pub(crate) mod changes;

use std::sync::OnceLock;

use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row, Stored};
use crate::format::keys::KeyRecord;
use crate::format::manifest::Manifest;
use crate::format::wal::Operation;
use crate::kernel::{Kernel, prefetch};
use crate::layout::cost::{Strategy, TableShape, directory_bits};
use crate::layout::plan::Plan;
use crate::layout::{BandDistances, BandLayout, HI_BITS, Layout, LayoutChoice, Metric, Table};
use crate::memtable::changes::ChangeSet;
use crate::options::Options;
use crate::query::Match;
use crate::query::nearness::Nearness;
use crate::query::prepare::Prepared;
use crate::util::cast::{low_half, to_u32, to_usize};

/// Tables of the index, but for bands: four blocks serve k = 3 with four look-ups. k = 0 needs one.
const TABLES: u32 = 4;
/// Words of the smallest chunk: two cache lines. Chunks begin at multiples of it.
const SMALLEST: usize = 32;
/// Words of the largest chunk: a page of memory.
const LARGEST: usize = 1024;
/// Words of a chunk before its fingerprints: the next chunk, how many rows it has, and how many words.
const HEADER: usize = 3;
/// The most `hi` words of a fingerprint.
const MAX_WORDS: usize = 3;
/// The end of a list of chunks.
const NONE: u32 = u32::MAX;
/// The bit that marks the only row of a bucket, which has no chunk yet.
const ONLY_ROW: u32 = 1 << 31;

/// A change set with an index over its rows.
#[derive(Debug)]
pub(crate) struct Memtable<F> {
    pub(crate) changes: ChangeSet<F>,
    layout: Layout,
    bands: Option<BandLayout>,
    /// Whether each bucket has the rows of one band, and their words are the whole sketches.
    buckets_are_bands: bool,
    metric: Metric<F>,
    tables: Vec<Table<F>>,
    shapes: Vec<TableShape>,
    /// So many operations become a run.
    capacity: u64,
    by_k: Box<[OnceLock<Prepared>]>,
    /// For each table, the newest chunk of each bucket, or its only row; empty until the first row is inserted.
    heads: Vec<Vec<u32>>,
    /// All chunks. Each is twice as long as the older one after it, up to [`LARGEST`]: most buckets have few rows,
    /// and in a long list of small chunks each would cost a TLB miss.
    chunks: Vec<u32>,
}

/// What is in a bucket.
enum Bucket {
    Empty,
    Row(u32),
    /// The newest chunk.
    Chunks(u32),
}

impl Bucket {
    #[inline]
    fn of(head: u32) -> Self {
        match head {
            NONE => Self::Empty,
            _ if head & ONLY_ROW == 0 => Self::Chunks(head),
            _ => Self::Row(head ^ ONLY_ROW),
        }
    }
}

/// Some rows of a bucket.
struct Chunk<'a> {
    /// Where older ones are.
    next: u32,
    /// The `hi` words of their fingerprints.
    words: &'a [u32],
    /// Their indexes among the inserted rows.
    rows: &'a [u32],
}

impl<F: Fingerprint> Memtable<F> {
    /// An empty memtable for a database.
    pub(crate) fn of(manifest: &Manifest, options: &Options) -> Result<Self> {
        // A run of documents has more tables, keys and texts, and costs each query more.
        let rows = if manifest.recipe.is_some() { 1 << 18 } else { 1 << 16 };
        let capacity = options.memtable_rows.unwrap_or(rows) as u64;
        let layout = match manifest.layout {
            LayoutChoice::Bands(bands) => Layout::bands(F::BITS, bands)?,
            _ => Layout::rotations(F::BITS, if manifest.k == 0 { 1 } else { TABLES })?,
        };
        let (tables, metric) = (layout.tables::<F>(), layout.metric::<F>());
        // Only the rows of one band are near: smaller buckets of them are filtered less.
        let wanted = if metric.counts_all() { capacity } else { capacity.saturating_mul(4) };
        let shape = |table: &Table<F>| {
            let bits = directory_bits(table.prefix_bits, wanted).min(table.prefix_bits);
            TableShape::uniform(table.prefix_bits, bits, capacity)
        };
        let shapes: Vec<TableShape> = tables.iter().map(shape).collect();
        let heads = vec![Vec::new(); shapes.len()];
        let by_k = (0..=F::BITS).map(|_| OnceLock::new()).collect();
        let (changes, bands) = (ChangeSet::new(), manifest.layout.bands());
        let buckets_are_bands = bands.is_some_and(|bands| {
            let is_band = |shape: &TableShape| shape.directory_bits == shape.prefix_bits;
            shapes.iter().all(is_band) && bands.sketch_of(F::BITS) == HI_BITS * to_u32(Self::WORDS)
        });
        let chunks = Vec::new();
        Ok(Self {
            changes,
            layout,
            bands,
            buckets_are_bands,
            metric,
            tables,
            shapes,
            capacity,
            by_k,
            heads,
            chunks,
        })
    }

    /// Whether a run is to be made of it.
    pub(crate) fn is_full(&self) -> bool {
        self.changes.operations() as u64 >= self.capacity
    }

    /// Applies an operation.
    pub(crate) fn apply(&mut self, operation: Operation<'_, F>) {
        let index = self.changes.inserted().len();
        self.changes.apply(operation);
        if let Some(row) = self.changes.inserted().get(index) {
            self.file(to_u32(index), row.fingerprint);
        }
    }

    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.changes.clear();
        self.heads.iter_mut().for_each(|heads| heads.fill(NONE));
        self.chunks.clear();
    }

    /// `hi` words of a fingerprint.
    const WORDS: usize = F::PAYLOAD.hi_words();

    /// Adds an inserted row to every table.
    fn file(&mut self, row: u32, fingerprint: F) {
        assert!(row < NONE ^ ONLY_ROW, "more than 2^31 rows without a commit");
        for index in 0..self.tables.len() {
            let (bucket, words) = self.place(index, fingerprint);
            let heads = &mut self.heads[index];
            if heads.is_empty() {
                heads.resize(1 << self.shapes[index].directory_bits, NONE);
            }
            match Bucket::of(heads[bucket]) {
                Bucket::Empty => heads[bucket] = ONLY_ROW | row,
                Bucket::Row(only) => {
                    let (_, words_of_only) =
                        self.place(index, self.changes.inserted()[only as usize].fingerprint);
                    self.heads[index][bucket] = NONE;
                    self.chain((index, bucket), only, words_of_only);
                    self.chain((index, bucket), row, words);
                }
                Bucket::Chunks(_) => self.chain((index, bucket), row, words),
            }
        }
    }

    /// Adds a row to the chunks of a bucket.
    fn chain(&mut self, (index, bucket): (usize, usize), row: u32, words: [u32; MAX_WORDS]) {
        let head = &mut self.heads[index][bucket];
        let size = match self.chunks.get(*head as usize * SMALLEST..) {
            Some(&[_, len, size, ..]) if len as usize == Self::rows_in(size as usize) => {
                Some(LARGEST.min(2 * size as usize))
            }
            Some(_) => None,
            None => Some(SMALLEST),
        };
        if let Some(size) = size {
            let start = self.chunks.len();
            let next = std::mem::replace(head, to_u32(start / SMALLEST));
            self.chunks.extend([next, 0, to_u32(size)]);
            self.chunks.resize(start + size, 0);
        }
        let chunk = &mut self.chunks[*head as usize * SMALLEST..];
        let (len, most) = (chunk[1] as usize, Self::rows_in(chunk[2] as usize));
        chunk[1] += 1;
        let at = HEADER + len * Self::WORDS;
        chunk[at..at + Self::WORDS].copy_from_slice(&words[..Self::WORDS]);
        chunk[HEADER + most * Self::WORDS + len] = row;
    }

    /// The bucket of a fingerprint in a table, and the words behind the bucket's bits.
    #[inline]
    fn place(&self, index: usize, fingerprint: F) -> (usize, [u32; MAX_WORDS]) {
        place(&self.tables[index], &self.shapes[index], fingerprint)
    }

    /// The rows that fit in a chunk of some words.
    const fn rows_in(words: usize) -> usize {
        (words - HEADER) / (Self::WORDS + 1)
    }

    /// The chunk that begins at a place. `None` at the end of a list.
    #[inline]
    fn chunk(&self, at: u32) -> Option<Chunk<'_>> {
        let chunk = self.chunks.get(at as usize * SMALLEST..)?;
        let &[next, len, size, ..] = chunk else { return None };
        let rows = HEADER + Self::rows_in(size as usize) * Self::WORDS;
        let words = &chunk[HEADER..HEADER + len as usize * Self::WORDS];
        Some(Chunk { next, words, rows: &chunk[rows..rows + len as usize] })
    }

    /// Appends every row near a fingerprint, in no particular order. A row that was inserted several times is
    /// appended several times.
    pub(crate) fn search(&self, query: F, near: Nearness<'_>, kernel: Kernel, found: &mut Vec<Match<F>>) {
        if self.heads.iter().any(Vec::is_empty) {
            return;
        }
        let prepared = self.by_k[near.k.bits() as usize]
            .get_or_init(|| Prepared::new(&self.layout, self.shapes.clone(), self.capacity, near.k));
        match (&prepared.choice.strategy, near.by_bands) {
            (Strategy::Scan, _) => {
                let rows = 0..self.changes.inserted().len();
                let within = rows.filter_map(|row| self.near(row, query, prepared.k));
                found.extend(within.filter(|row| near.admits(row.fingerprint, query)));
            }
            (Strategy::Probe(plan), Some(distances)) if self.bands == Some(distances.bands()) => {
                self.probe_by_bands(query, (prepared, plan), distances, kernel, found);
            }
            (Strategy::Probe(plan), _) => {
                self.probe(query, (prepared, plan), kernel, found);
                found.retain(|row| near.admits(row.fingerprint, query));
            }
        }
    }

    /// Appends the rows within the distance of a plan.
    fn probe(
        &self,
        query: F,
        (prepared, plan): (&Prepared, &Plan),
        kernel: Kernel,
        found: &mut Vec<Match<F>>,
    ) {
        let mut survivors = Vec::new();
        self.filter_buckets(query, (prepared, plan), kernel, |index, row, _| {
            prefetch(self.changes.inserted(), row as usize);
            survivors.push((index, row as usize));
        });
        let near =
            survivors.iter().filter_map(|&(index, row)| Some((index, self.near(row, query, prepared.k)?)));
        // Few of the filtered are near, so that the second question is rare.
        let reported = near.filter(|(index, found)| {
            plan.reports(|table| &self.tables[table], *index, found.fingerprint ^ query)
        });
        found.extend(reported.map(|(_, found)| found));
    }

    /// Appends the rows that their equal bands admit. A near row survives in as many buckets as it has equal bands,
    /// and in others that share the leading bits of a band; where a band is equal, the words differ in no more bits
    /// than the sketches. This alone excludes most rows, which then are not read, and decides where buckets are bands.
    fn probe_by_bands(
        &self,
        query: F,
        (prepared, plan): (&Prepared, &Plan),
        distances: &BandDistances,
        kernel: Kernel,
        found: &mut Vec<Match<F>>,
    ) {
        // The row in the upper half, the distance of the words in the lower one.
        let mut survivors = Vec::new();
        self.filter_buckets(query, (prepared, plan), kernel, |_, row, (words, own)| {
            let distance: u32 = words.iter().zip(own).map(|(word, own)| (word ^ own).count_ones()).sum();
            survivors.push(u64::from(row) << 32 | u64::from(distance));
        });
        survivors.sort_unstable();
        let of_rows = survivors.chunk_by(|a, b| a >> 32 == b >> 32);
        let may_be_near = of_rows.filter(|same| distances.may_contain(same.len(), low_half(same[0])));
        let rows: Vec<usize> = may_be_near.map(|same| low_half(same[0] >> 32) as usize).collect();
        rows.iter().for_each(|&row| prefetch(self.changes.inserted(), row));
        let within = rows.iter().filter_map(|&row| self.near(row, query, prepared.k));
        let is_near = |row: &Match<F>| self.buckets_are_bands || distances.contain(row.fingerprint, query);
        found.extend(within.filter(is_near));
    }

    /// Visits what a plan finds by its words: the table, the row, its words and the words of the query. In stages
    /// over all probes. Each stage prefetches the data of the next one.
    fn filter_buckets(
        &self,
        query: F,
        (prepared, plan): (&Prepared, &Plan),
        kernel: Kernel,
        mut visit: impl FnMut(usize, u32, (&[u32], [u32; MAX_WORDS])),
    ) {
        let places: Vec<_> =
            prepared.probes(plan).map(|(index, _, masks)| (index, self.place(index, query), masks)).collect();
        for &(index, (own, _), masks) in &places {
            masks.iter().for_each(|mask| prefetch(&self.heads[index], own ^ mask.bits as usize));
        }
        for &(index, (own, _), masks) in &places {
            for mask in masks {
                match Bucket::of(self.heads[index][own ^ mask.bits as usize]) {
                    Bucket::Empty => {}
                    Bucket::Row(row) => prefetch(self.changes.inserted(), row as usize),
                    Bucket::Chunks(head) => self.prefetch_chunk(head),
                }
            }
        }
        let mut passed = Vec::new();
        for &(index, (own, words), masks) in &places {
            for &mask in masks {
                let (bucket, radius) = (own ^ mask.bits as usize, prepared.k - mask.flips);
                self.filter_bucket((index, bucket), words, (kernel, radius), &mut passed, |row, stored| {
                    visit(index, row, (stored, words));
                });
            }
        }
    }

    /// Visits the rows of a bucket whose words are within a radius, and these words.
    #[inline]
    fn filter_bucket(
        &self,
        (index, bucket): (usize, usize),
        words: [u32; MAX_WORDS],
        (kernel, radius): (Kernel, u32),
        passed: &mut Vec<u32>,
        mut visit: impl FnMut(u32, &[u32]),
    ) {
        let mut at = match self.heads[index].get(bucket).map(|&head| Bucket::of(head)) {
            None | Some(Bucket::Empty) => return,
            Some(Bucket::Chunks(head)) => head,
            Some(Bucket::Row(row)) => {
                let (_, stored) = self.place(index, self.changes.inserted()[row as usize].fingerprint);
                let distance: u32 =
                    stored.iter().zip(words).map(|(word, own)| (word ^ own).count_ones()).sum();
                if distance <= radius {
                    visit(row, &stored[..Self::WORDS]);
                }
                return;
            }
        };
        while let Some(chunk) = self.chunk(at) {
            self.prefetch_chunk(chunk.next);
            passed.clear();
            Self::filter(kernel, chunk.words, words, radius, passed);
            for &nth in &*passed {
                let start = nth as usize * Self::WORDS;
                visit(chunk.rows[nth as usize], &chunk.words[start..start + Self::WORDS]);
            }
            at = chunk.next;
        }
    }

    /// Prefetches a chunk of the smallest size, as most are, if there is one.
    #[inline]
    fn prefetch_chunk(&self, at: u32) {
        if at != NONE {
            let start = at as usize * SMALLEST;
            // It is not aligned to cache lines.
            [0, SMALLEST / 2, SMALLEST - 1].iter().for_each(|word| prefetch(&self.chunks, start + word));
        }
    }

    /// The positions in a chunk, given its words, of those within `radius` bits.
    #[inline]
    fn filter(kernel: Kernel, stored: &[u32], words: [u32; MAX_WORDS], radius: u32, passed: &mut Vec<u32>) {
        if Self::WORDS == 1 {
            kernel.filter(stored, words[0], radius, passed);
        } else {
            kernel.filter_triples(stored.as_chunks().0, words, radius, passed);
        }
    }

    /// The match of an inserted row, if it is near a query and was not deleted.
    fn near(&self, row: usize, query: F, k: u32) -> Option<Match<F>> {
        let Row { fingerprint, id } = self.changes.inserted()[row];
        let distance = self.metric.distance(fingerprint, query);
        let admitted = self.metric.admits(fingerprint) && self.metric.admits(query);
        (distance <= k && admitted && self.changes.is_live(row)).then_some(Match {
            distance,
            fingerprint,
            id,
        })
    }

    /// Visits the keys of a row, in no particular order. A key that was inserted several times is
    /// visited several times.
    pub(crate) fn keys_of(&self, row: Row<F>, kernel: Kernel, visit: &mut dyn FnMut(KeyRecord<'_, F>)) {
        let (bucket, words) = self.place(0, row.fingerprint);
        self.filter_bucket((0, bucket), words, (kernel, 0), &mut Vec::new(), |same, _| {
            let same = same as usize;
            if self.changes.inserted()[same] == row
                && self.changes.is_live(same)
                && let Some(key) = self.changes.key_of(same)
            {
                visit(key);
            }
        });
    }
}

/// The bucket of a fingerprint in a table, and the words behind the bucket's bits; as many as the
/// width has `hi` words.
#[inline]
fn place<F: Fingerprint>(table: &Table<F>, shape: &TableShape, fingerprint: F) -> (usize, [u32; MAX_WORDS]) {
    let permuted = table.leading(fingerprint);
    let mut words = [0; MAX_WORDS];
    let starts = (shape.directory_bits..).step_by(HI_BITS as usize);
    for (word, start) in words.iter_mut().take(F::PAYLOAD.hi_words()).zip(starts) {
        *word = to_u32(to_usize(permuted.bits(start, HI_BITS)));
    }
    (to_usize(permuted.bits(0, shape.directory_bits)), words)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fingerprint::{Distance, U256, mix64};
    use crate::format::manifest::sample::sample;

    #[test]
    fn a_run_is_made_of_more_documents_than_fingerprints() {
        let rows = |recipe: Option<&str>, options: &Options| {
            let manifest = Manifest { recipe: recipe.map(String::from), ..sample() };
            Memtable::<u64>::of(&manifest, options).unwrap().capacity
        };
        assert_eq!(rows(None, &Options::new()), 65_536);
        assert_eq!(rows(Some("text"), &Options::new()), 262_144);
        assert_eq!(rows(Some("text"), &Options::new().memtable_rows(7)), 7);
    }

    #[test]
    fn searches_by_bands_equal_brute_force() {
        let bands: BandLayout = "10x16".parse().unwrap();
        let distances = BandDistances::new(bands, |equal| (equal > 1).then_some(3 * equal.min(4)));
        let manifest = Manifest { layout: LayoutChoice::Bands(bands), ..sample() };
        for rows in [4, 300, 1 << 14] {
            let options = Options::new().memtable_rows(rows);
            let mut memtable = Memtable::<U256>::of(&manifest, &options).unwrap();
            let (mut stored, mut hits) = (Vec::new(), 0);
            for i in 0..3000u64 {
                // Half of the bands have one of three values, and some only the leading bits of one. Some sketches
                // differ in a few bits.
                let band = |band| match mix64(i * 10 + band) % 8 {
                    0..=3 => mix64(band + mix64(i) % 3) & 0xffff,
                    4 => mix64(band) & 0xffff ^ 1 << (i % 3),
                    _ => mix64(i * 10 + band) & 0xffff,
                };
                let flips = |bit| mix64(i * 100 + bit) % 96 < i % 12;
                let fingerprint = bands.assemble((0..10).map(band), (0..96).map(flips));
                memtable.apply(Operation::Insert { row: Row { fingerprint, id: i }, automatic: false });
                stored.push(fingerprint);
                if i % 50 == 0 {
                    let near = Nearness::by_bands::<U256>(&distances);
                    let mut found = Vec::new();
                    memtable.search(fingerprint, near, Kernel::detect(), &mut found);
                    let mut ids: Vec<u64> = found.iter().map(|found| found.id).collect();
                    ids.sort_unstable();
                    let brute =
                        (0..).zip(&stored).filter(|(_, other)| distances.contain(fingerprint, **other));
                    assert_eq!(ids, brute.map(|(id, _)| id).collect::<Vec<u64>>(), "{rows} rows, {i}");
                    hits += ids.len();
                }
            }
            assert!(hits > 1000, "{hits}");
        }
    }

    #[test]
    fn searches_equal_brute_force_while_rows_come_and_go() {
        let manifest = Manifest { layout: LayoutChoice::Auto, ..sample() };
        let mut memtable = Memtable::<u64>::of(&manifest, &Options::new().memtable_rows(1 << 12)).unwrap();
        let mut expected: BTreeSet<(u64, u64)> = BTreeSet::new();
        for round in 0..2 {
            for i in 0..6000u64 {
                // A few centres, some of them crowded, with up to three bits flipped.
                let flips = (0..i % 4).fold(0, |mask, nth| mask | 1 << (mix64(i + nth * 77) % 64));
                let row = Row { fingerprint: mix64(i % 300 / (1 + i % 5)) ^ flips, id: i % 1000 };
                memtable.apply(Operation::Insert { row, automatic: false });
                expected.insert((row.fingerprint, row.id));
                if i % 11 == 0 {
                    let gone = mix64(i) % 1000;
                    memtable.apply(Operation::Delete(gone));
                    expected.retain(|&(_, id)| id != gone);
                }
                if i % 97 == 0 {
                    for k in [0, 1, 3, 6, 11, 64, 1000] {
                        let query = row.fingerprint ^ (i & 3);
                        let mut found = Vec::new();
                        let near = Nearness::within(Distance::saturating::<u64>(k));
                        memtable.search(query, near, Kernel::detect(), &mut found);
                        let near = |&(fingerprint, id): &(u64, u64)| {
                            let distance = (fingerprint ^ query).count_ones();
                            (distance <= k).then_some(Match { distance, fingerprint, id })
                        };
                        let brute: BTreeSet<Match<u64>> = expected.iter().filter_map(near).collect();
                        assert_eq!(
                            found.into_iter().collect::<BTreeSet<_>>(),
                            brute,
                            "round {round}, k = {k}"
                        );
                    }
                }
            }
            memtable.clear();
            expected.clear();
        }
    }
}
