//! What the engine does for each width, compiled in this crate.
//!
//! The public API is generic over the fingerprint, and a crate that uses it would compile whatever is generic below
//! it again, for each of its widths. So public functions call the functions below, which are not generic: they stand
//! in the library once for each width. There is one call for a query, a batch, an operation or a block of results.

use std::ops::{Range, RangeInclusive};
use std::path::Path;

use super::answers::VisitAnswers;
use super::bulk::Builder;
use super::explain::Explanation;
use super::follow::{Follower, Update};
use super::handle::Database;
use super::ingest::IngestReport;
use super::new_row::NewRow;
use super::repair::{self, RepairReport};
use super::snapshot::{Snapshot, verify_all};
use super::stats::Stats;
use super::streams::{self, RowPair, Stream};
use super::writer::Writer;
use super::writer::checked::Insertion;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row, U256, U320};
use crate::format::schema::Schema;
use crate::layout::BandDistances;
use crate::options::Options;
use crate::progress::{NO_PROGRESS, Stage};
use crate::query::join::Wanted;
use crate::query::nearness::Nearness;
use crate::query::{self, Blocks, Joined, Match, Near, Pair, Query, RowKey};
use crate::run::Verification;

/// Receives results in blocks.
type Visit<'a, T> = &'a mut dyn FnMut(&[T]) -> Result<()>;

/// Declares functions, and defines them for each width.
macro_rules! engine {
    (@declare $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty $work:block)*) => {
        /// The functions of one width. Their public forms say what they do.
        pub(crate) trait Engine: Sized {
            $(fn $name($($argument: $type),*) -> $result where Self: Fingerprint;)*
        }
    };
    (@define $width:ty, $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty $work:block)*) => {
        impl Engine for $width {
            $(fn $name($($argument: $type),*) -> $result $work)*
        }
    };
    ($($functions:tt)*) => {
        engine!(@declare $($functions)*);
        engine!(@define u64, $($functions)*);
        engine!(@define u128, $($functions)*);
        engine!(@define U256, $($functions)*);
        engine!(@define U320, $($functions)*);
    };
}

engine! {
    fn open(path: &Path, options: &Options) -> Result<Database<Self>> { Database::open_with(path, options) }
    fn snapshot(database: &Database<Self>) -> Result<Snapshot<Self>> { database.take_snapshot() }
    fn writer(database: &Database<Self>) -> Result<Writer<Self>> { database.begin_writing() }
    fn verify_all(database: &Database<Self>) -> Result<Verification> { database.verify_whole() }
    fn verify_part(database: &Database<Self>, part: u64, parts: u64) -> Result<Verification> {
        database.verify_one_of(part, parts)
    }
    fn follow(database: &Database<Self>, dest: &Path) -> Result<Follower<Self>> { database.follow_in(dest) }
    fn update(follower: &mut Follower<Self>) -> Result<Update> { follower.bring_up_to_date() }
    fn repair(
        path: &Path,
        dest: &Path,
        fallback: (&Schema, &Options),
        without_id: &mut dyn FnMut(Self) -> Result<()>
    ) -> Result<RepairReport> {
        repair::repair(path, dest, fallback, without_id)
    }

    fn build(path: &Path, schema: &Schema, options: &Options) -> Result<Builder<Self>> {
        Builder::begin(path, schema, options.clone())
    }
    fn push(builder: &mut Builder<Self>, row: NewRow<'_, Self>) -> Result<u64> { builder.push_new(row) }
    fn finish_build(builder: Builder<Self>) -> Result<Database<Self>> { builder.publish() }

    fn refresh(snapshot: &Snapshot<Self>) -> Result<Snapshot<Self>> { snapshot.open_again() }
    fn stats(snapshot: &Snapshot<Self>) -> Stats { snapshot.counts() }
    fn explain(snapshot: &Snapshot<Self>, k: u32) -> Explanation { snapshot.explanation(k) }
    fn verify(snapshot: &Snapshot<Self>) -> Result<Verification> {
        verify_all::<Self>(snapshot.storage(), snapshot.manifest(), snapshot.options())
    }
    fn backup(snapshot: &Snapshot<Self>, dest: &Path, base: Option<&Path>) -> Result<u64> {
        snapshot.copy_to(dest, base)
    }
    fn query(snapshot: &Snapshot<Self>, fingerprint: Self, query: Query) -> Result<Vec<Match<Self>>> {
        snapshot.answer(fingerprint, query, NO_PROGRESS)
    }
    fn query_batch(
        snapshot: &Snapshot<Self>,
        fingerprints: &[Self],
        query: Query,
        visit: VisitAnswers<'_, Self>
    ) -> Result<()> {
        let progress = snapshot.options().counter(Stage::Answering, fingerprints.len() as u64);
        snapshot.answer_batch(fingerprints, query, &progress, visit)
    }
    fn keys_of(snapshot: &Snapshot<Self>, row: Row<Self>) -> Result<Vec<RowKey>> { snapshot.keys_of_row(row) }
    fn ids_of_key(snapshot: &Snapshot<Self>, key: &str) -> Result<Vec<u64>> {
        snapshot.view().ids_of_key(key.as_bytes())
    }
    fn ids_of_key_scan(snapshot: &Snapshot<Self>, key: &str) -> Result<Vec<u64>> {
        snapshot.view().ids_of_key_scan(key.as_bytes())
    }
    fn fingerprints_of(snapshot: &Snapshot<Self>, id: u64) -> Result<Vec<Self>> {
        snapshot.fingerprints_of_id(id)
    }

    fn visit_rows(snapshot: &Snapshot<Self>, visit: Visit<'_, Row<Self>>) -> Result<()> {
        snapshot.row_blocks(visit)
    }
    fn visit_pairs(snapshot: &Snapshot<Self>, k: u32, visit: Visit<'_, Pair<Self>>) -> Result<()> {
        snapshot.pair_blocks(k, visit)
    }
    fn visit_row_pairs(snapshot: &Snapshot<Self>, k: u32, visit: Visit<'_, RowPair<Self>>) -> Result<()> {
        snapshot.row_pair_blocks(k, visit)
    }
    fn visit_clusters(snapshot: &Snapshot<Self>, k: u32, visit: Visit<'_, Row<Self>>) -> Result<()> {
        snapshot.each_cluster(k, visit)
    }
    fn visit_cross(
        snapshot: &Snapshot<Self>,
        other: &Snapshot<Self>,
        k: u32,
        visit: Visit<'_, Pair<Self>>
    ) -> Result<()> {
        snapshot.cross_blocks(other, k, visit)
    }
    fn visit_cross_rows(
        snapshot: &Snapshot<Self>,
        other: &Snapshot<Self>,
        k: u32,
        visit: Visit<'_, RowPair<Self>>
    ) -> Result<()> {
        snapshot.cross_row_blocks(other, k, visit)
    }
    fn rows(snapshot: &Snapshot<Self>) -> Result<Stream<Row<Self>>> {
        snapshot.stream(move |snapshot, sender| {
            snapshot.row_blocks(&mut |rows| rows.iter().try_for_each(|&row| sender.push(row)))
        })
    }
    fn pairs(snapshot: &Snapshot<Self>, k: u32) -> Result<Stream<Pair<Self>>> {
        snapshot.stream(move |snapshot, sender| {
            snapshot.pair_blocks(k, &mut |pairs| pairs.iter().try_for_each(|&pair| sender.push(pair)))
        })
    }
    fn row_pairs(snapshot: &Snapshot<Self>, k: u32) -> Result<Stream<RowPair<Self>>> {
        snapshot.stream(move |snapshot, sender| {
            snapshot.row_pair_blocks(k, &mut |pairs| pairs.iter().try_for_each(|&pair| sender.push(pair)))
        })
    }
    fn clusters(snapshot: &Snapshot<Self>, k: u32) -> Result<Stream<Vec<Row<Self>>>> {
        snapshot.stream(move |snapshot, sender| {
            snapshot.each_cluster(k, &mut |cluster| sender.push(cluster.to_vec()))
        })
    }
    fn cross(snapshot: &Snapshot<Self>, other: &Snapshot<Self>, k: u32) -> Result<Stream<Pair<Self>>> {
        let other = other.clone();
        snapshot.stream(move |snapshot, sender| {
            snapshot.cross_blocks(&other, k, &mut |pairs| pairs.iter().try_for_each(|&pair| sender.push(pair)))
        })
    }
    fn cross_row_pairs(
        snapshot: &Snapshot<Self>,
        other: &Snapshot<Self>,
        k: u32
    ) -> Result<Stream<RowPair<Self>>> {
        let other = other.clone();
        snapshot.stream(move |snapshot, sender| {
            let push = &mut |pairs: &[RowPair<Self>]| pairs.iter().try_for_each(|&pair| sender.push(pair));
            snapshot.cross_row_blocks(&other, k, push)
        })
    }
    fn matches(
        snapshot: &Snapshot<Self>,
        fingerprints: Vec<Self>,
        query: Query
    ) -> Result<Stream<Vec<Match<Self>>>> {
        snapshot.stream(move |snapshot, sender| {
            Self::query_batch(snapshot, &fingerprints, query, &mut |_, matches| sender.push(matches.to_vec()))
        })
    }

    fn insert(writer: &mut Writer<Self>, row: NewRow<'_, Self>) -> Result<u64> { writer.insert_new(row) }
    fn insert_if_new(writer: &mut Writer<Self>, row: NewRow<'_, Self>, k: u32) -> Result<Insertion<Self>> {
        writer.check_and_insert(row, k)
    }
    fn upsert(writer: &mut Writer<Self>, row: NewRow<'_, Self>) -> Result<u64> { writer.replace(row) }
    fn delete(writer: &mut Writer<Self>, id: u64) -> Result<()> { writer.delete_id(id) }
    fn delete_ids(writer: &mut Writer<Self>, range: RangeInclusive<u64>) -> Result<u64> {
        writer.delete_id_range(range)
    }
    fn delete_keys(writer: &mut Writer<Self>, keys: &[&str]) -> Result<u64> { writer.delete_some_keys(keys) }
    fn delete_key_prefix(writer: &mut Writer<Self>, prefix: &str) -> Result<u64> {
        writer.delete_keys_with(prefix)
    }
    fn remember_left_out(
        writer: &mut Writer<Self>,
        keys: (&str, &str),
        similarity: f64,
        job: u64
    ) -> Result<()> {
        writer.leave_out_document(keys, similarity, job)
    }
    fn forget_left_out(writer: &mut Writer<Self>, jobs: &[u64]) -> Result<u64> {
        writer.forget_left_out_by(jobs)
    }
    fn delete_keys_between(writer: &mut Writer<Self>, ranges: &[Range<u64>]) -> Result<u64> {
        writer.delete_sequences(ranges)
    }
    fn set_checkpoint(writer: &mut Writer<Self>, checkpoint: &[u8]) -> Result<()> {
        writer.apply_checkpoint(checkpoint)
    }
    fn set_history(writer: &mut Writer<Self>, history: &[u8]) -> Result<()> { writer.apply_history(history) }
    fn set_recipe(writer: &mut Writer<Self>, recipe: &str) -> Result<()> { writer.publish_recipe(recipe) }
    fn ingest(writer: &mut Writer<Self>, folders: &[&Path]) -> Result<IngestReport> {
        writer.ingest_runs(folders)
    }
    fn find(writer: &mut Writer<Self>, fingerprint: Self, query: Query) -> Result<Vec<Match<Self>>> {
        writer.find(fingerprint, query)
    }
    fn find_by_bands(
        writer: &mut Writer<Self>,
        fingerprint: Self,
        distances: &BandDistances
    ) -> Result<Vec<Match<Self>>> {
        writer.find_by_bands(fingerprint, distances)
    }
    fn look_ahead(writer: &mut Writer<Self>, fingerprints: &[Self], near: Nearness<'_>) -> Result<bool> {
        writer.look_up_together(fingerprints, near)
    }
    fn written_keys_of(writer: &Writer<Self>, row: Row<Self>) -> Result<Vec<RowKey>> {
        writer.keys_of_row(row)
    }
    fn written(writer: &Writer<Self>) -> Result<Snapshot<Self>> { writer.snapshot_of_all() }
    fn commit(writer: &mut Writer<Self>) -> Result<()> { writer.commit_all() }
    fn discard(writer: &mut Writer<Self>) -> Result<()> { writer.take_back() }
    fn flush(writer: &mut Writer<Self>) -> Result<()> { writer.flush_all() }
    fn compact(writer: &mut Writer<Self>) -> Result<()> { writer.compact_all() }
    fn wait_for_merges(writer: &mut Writer<Self>) -> Result<()> { writer.flush_and_merge() }
    fn finish(writer: &mut Writer<Self>) -> Result<()> { writer.finish_all() }
    fn end(writer: &mut Writer<Self>) -> () { writer.end(); }

    fn list_pairs(values: Vec<Self>, near: Near, options: &Options, visit: Visit<'_, Pair<Self>>) -> Result<()> {
        query::pairs_of(values, near, options, visit)
    }
    fn list_pairs_ahead(values: Vec<Self>, near: Near, options: &Options) -> Result<Stream<Pair<Self>>> {
        streams::of_list(options, move |options, sender| {
            query::pairs_of(values, near, options, &mut |pairs| pairs.iter().try_for_each(|&pair| sender.push(pair)))
        })
    }
    fn list_clusters_ahead(values: Vec<Self>, near: Near, options: &Options) -> Result<Stream<Vec<Self>>> {
        streams::of_list(options, move |options, sender| {
            query::clusters_of(values, near, options, &mut |cluster| sender.push(cluster.to_vec()))
        })
    }
    fn list_row_clusters_ahead(
        rows: Vec<Row<Self>>,
        near: Near,
        options: &Options
    ) -> Result<Stream<Vec<Row<Self>>>> {
        streams::of_list(options, move |options, sender| {
            query::row_clusters_of(rows, near, options, &mut |cluster| sender.push(cluster.to_vec()))
        })
    }
    fn join_ahead(
        blocks: &Blocks<Self>,
        joined: Joined<Self>,
        wanted: Wanted,
        options: &Options
    ) -> Result<Stream<Pair<Self>>> {
        let blocks = blocks.clone();
        streams::of_list(options, move |options, sender| {
            let push = &mut |pairs: &[Pair<Self>]| pairs.iter().try_for_each(|&pair| sender.push(pair));
            blocks.join(joined, wanted, options, push)
        })
    }
    fn list_clusters(values: Vec<Self>, near: Near, options: &Options, visit: Visit<'_, Self>) -> Result<()> {
        query::clusters_of(values, near, options, visit)
    }
    fn list_row_clusters(
        rows: Vec<Row<Self>>,
        near: Near,
        options: &Options,
        visit: Visit<'_, Row<Self>>
    ) -> Result<()> {
        query::row_clusters_of(rows, near, options, visit)
    }
    fn spanning_forest(pairs: &[(Self, Self)]) -> Result<Vec<usize>> { query::forest_of(pairs) }
    fn components(pairs: &[(Self, Self)]) -> Result<Vec<(Self, Self)>> { query::components_of(pairs) }
    fn blocks(near: Near) -> Result<Blocks<Self>> { Blocks::of(near) }
    fn join(
        blocks: &Blocks<Self>,
        joined: Joined<Self>,
        wanted: Wanted,
        options: &Options,
        visit: Visit<'_, Pair<Self>>
    ) -> Result<()> {
        blocks.join(joined, wanted, options, visit)
    }
}
