//! Progress of long operations, and how they are cancelled.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use nearprint::{Error, Options, Progress, Query, Schema, Snapshot, Stage, list};
use testkit::{Shape, build_with, fingerprints, listed_pairs, rows};

/// Keeps the last report, and cancels from the first report on for which `cancels` holds.
struct Listener {
    stage: Stage,
    last: Mutex<(u64, Option<u64>)>,
    cancelled: AtomicBool,
    cancels: fn(u64) -> bool,
}

impl Progress for Listener {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        assert_eq!(stage, self.stage);
        *self.last.lock().unwrap() = (done, total);
        self.cancelled.fetch_or((self.cancels)(done), Ordering::Relaxed);
        if self.cancelled.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

fn listener(stage: Stage, cancels: fn(u64) -> bool) -> Arc<Listener> {
    Arc::new(Listener { stage, last: Mutex::new((0, None)), cancelled: AtomicBool::new(false), cancels })
}

fn joining(cancels: fn(u64) -> bool) -> (Arc<Listener>, Options) {
    let listener = listener(Stage::Joining, cancels);
    (listener.clone(), Options::new().threads(2).progress(listener))
}

/// Cancels once, at the first report, and goes on afterwards.
struct Once(AtomicBool);

impl Progress for Once {
    fn report(&self, _: Stage, _: u64, _: Option<u64>) -> ControlFlow<()> {
        if self.0.swap(true, Ordering::Relaxed) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[test]
fn regression_a_join_that_was_cancelled_once_returned_some_pairs() {
    // All are compared with all, and cancellation is looked for in between.
    let values = fingerprints(&rows::<u64>(Shape::Uniform, 24_000, 53));
    for threads in [1, 2] {
        let options = || Options::new().threads(threads).progress(Arc::new(Once(AtomicBool::new(false))));
        let ended = list::visit_pairs(values.clone(), 20, &options(), |_| Ok(()));
        assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
        let ended = list::visit_clusters(values.clone(), 20, &options(), |_| Ok(()));
        assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
    }
    let calls = AtomicBool::new(false);
    let once = || if calls.swap(true, Ordering::Relaxed) { Ok(()) } else { Err(Error::Interrupted) };
    let filled =
        nearprint::any::fill_distance_matrix(nearprint::Width::W64, &[1, 2, 3], 2, &mut [0; 9], &once);
    assert!(matches!(filled, Err(Error::Interrupted)), "{filled:?}");
}

#[test]
fn lists_report_progress_and_can_be_cancelled() {
    let values = fingerprints(&rows::<u64>(Shape::Uniform, 100_000, 52));
    let (reported, options) = joining(|_| false);
    let mut found = Vec::new();
    list::visit_pairs(values.clone(), 3, &options, |block| {
        found.extend_from_slice(block);
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(found, listed_pairs(&values, 3, 1));
    let (done, total) = *reported.last.lock().unwrap();
    let total = total.unwrap();
    assert!(done <= total && done > total / 10 * 9, "{done} of {total}");

    let (_, options) = joining(|done| done > 0);
    let ended = list::visit_pairs(values.clone(), 3, &options, |_| Ok(()));
    assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
    let ended = list::visit_clusters(values, 3, &options, |_| Ok(()));
    assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
}

#[test]
fn regression_a_join_of_all_with_all_is_cancelled_before_its_first_group_is_done() {
    let values = fingerprints(&rows::<u64>(Shape::Uniform, 20_000, 53));
    let (_, options) = joining(|done| done == 0);
    let ended = list::visit_pairs(values, 20, &options, |_| Ok(()));
    assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
}

#[test]
fn regression_batches_are_cancelled_before_their_first_queries_are_answered() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<u64>(Shape::Uniform, 20_000, 54);
    let options = Options::new().threads(2);
    let snapshot = build_with(&home.path().join("db"), &rows, Schema::new(), options);
    let queries = fingerprints(&rows);
    // By table, by groups, by scanning.
    let query = |snapshot: &Snapshot<u64>, k| {
        snapshot.query_batch(&queries, k, |_, _| Ok::<(), Error>(()))?;
        snapshot.query_batch(&queries[..1000], k, |_, _| Ok::<(), Error>(()))?;
        snapshot.query_batch(&queries[..1000], Query::nearest(2).max_k(3), |_, _| Ok::<(), Error>(()))
    };
    for k in [3, 14] {
        let reported = listener(Stage::Answering, |_| false);
        query(&snapshot.with_progress(reported.clone()), k).unwrap();
        assert_eq!(*reported.last.lock().unwrap(), (1000, Some(1000)), "{k}");
        // Some queries for few bits take less than a millisecond.
        for kind in ["many", "some", "nearest"].into_iter().filter(|&kind| kind != "some" || k > 3) {
            let cancelled = snapshot.with_progress(listener(Stage::Answering, |done| done == 0));
            let ended = match kind {
                "many" => cancelled.query_batch(&queries, k, |_, _| Ok(())),
                "some" => cancelled.query_batch(&queries[..1000], k, |_, _| Ok(())),
                _ => cancelled.query_batch(&queries[..1000], Query::nearest(2).max_k(k), |_, _| Ok(())),
            };
            assert!(matches!(ended, Err(Error::Interrupted)), "{k} {kind}: {ended:?}");
        }
    }
}

#[test]
fn joins_of_two_databases_report_progress_and_can_be_cancelled() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<u64>(Shape::Uniform, 20_000, 54);
    let options = Options::new().threads(2);
    let snapshot = build_with(&home.path().join("db"), &rows, Schema::new(), options);
    let reported = listener(Stage::Joining, |_| false);
    snapshot.with_progress(reported.clone()).visit_cross(&snapshot, 2, |_| Ok::<(), Error>(())).unwrap();
    let (done, total) = *reported.last.lock().unwrap();
    assert_eq!(Some(done), total);
    let cancelled = snapshot.with_progress(listener(Stage::Joining, |done| done == 0));
    let ended = cancelled.visit_cross(&snapshot, 2, |_| Ok(()));
    assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
}

/// Keeps the last report of each stage, and checks all of them.
#[derive(Default)]
struct Stages(Mutex<Vec<(Stage, u64, Option<u64>)>>);

impl Progress for Stages {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        let mut stages = self.0.lock().unwrap();
        assert!(total.is_none_or(|total| done <= total), "{stage:?}: {done} of {total:?}");
        stages.retain(|&(known, _, _)| known != stage);
        stages.push((stage, done, total));
        ControlFlow::Continue(())
    }
}

/// Fingerprints without a row left counted, too, while their tables were merged.
#[test]
fn regression_a_merge_without_deleted_rows_did_more_than_all() {
    let home = tempfile::tempdir().unwrap();
    let stages = Arc::new(Stages::default());
    let options = Options::new().threads(2).merges(false);
    let database = options.create::<u64>(home.path().join("db"), &Schema::new()).unwrap();
    let mut writer = database.writer().unwrap();
    let rows = rows::<u64>(Shape::Uniform, 10_000, 55);
    for part in rows.chunks(2500) {
        testkit::insert_all(&mut writer, part).unwrap();
        writer.flush().unwrap();
    }
    for row in rows.iter().step_by(3) {
        writer.delete(row.id).unwrap();
    }
    writer.close().unwrap();
    let mut writer = database.with_progress(stages.clone()).writer().unwrap();
    writer.compact().unwrap();
    let found = stages.0.lock().unwrap();
    let tables = found.iter().find(|(stage, _, _)| *stage == Stage::Tables).unwrap();
    assert_eq!(Some(tables.1), tables.2, "{found:?}");
}
