//! Iterators: the same results as the visitors, in the same order; errors, and what dropping one
//! does.

use std::ops::ControlFlow;
use std::sync::{Arc, mpsc};

use nearprint::internal::file::{read_exact_at, write_all_at};
use nearprint::{Error, Fingerprint, Progress, Query, Schema, Stage};
use testkit::{Shape, all_rows, build, collected, fingerprints, for_each_width, layout, rows};

for_each_width!(iterators_give_what_visitors_receive);

/// More items than a thread may be ahead of the consumer.
const AHEAD: usize = 4096;

fn iterators_give_what_visitors_receive<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<F>(Shape::Equal, 9000, 3);
    let other = build(&home.path().join("other"), &rows[..700], Schema::new());
    let snapshot = build(&home.path().join("db"), &rows[500..], Schema::new());

    let mut visited = Vec::new();
    let done: Result<(), Error> = snapshot.visit_rows(|row| {
        visited.push(row);
        Ok(())
    });
    done.unwrap();
    assert_eq!(all_rows(&snapshot), visited);

    let mut visited = Vec::new();
    let done: Result<(), Error> = snapshot.visit_pairs(9, |block| {
        visited.extend_from_slice(block);
        Ok(())
    });
    done.unwrap();
    assert!(visited.len() > AHEAD, "{}", visited.len());
    assert_eq!(collected(snapshot.pairs(9)), visited);

    let mut visited = Vec::new();
    let done: Result<(), Error> = snapshot.visit_row_pairs(1, |a, b, distance| {
        visited.push((a, b, distance));
        Ok(())
    });
    done.unwrap();
    assert!(visited.len() > AHEAD, "{}", visited.len());
    let found = collected(snapshot.row_pairs(1)).into_iter().map(|pair| (pair.a, pair.b, pair.distance));
    assert!(found.eq(visited));

    let mut visited = Vec::new();
    let done: Result<(), Error> = snapshot.visit_clusters(3, |cluster| {
        visited.push(cluster.to_vec());
        Ok(())
    });
    done.unwrap();
    assert!(visited.len() > 10, "{}", visited.len());
    assert_eq!(collected(snapshot.clusters(3)), visited);

    let mut visited = Vec::new();
    let done: Result<(), Error> = snapshot.visit_cross(&other, 9, |block| {
        assert!(!block.is_empty());
        visited.extend_from_slice(block);
        Ok(())
    });
    done.unwrap();
    assert!(!visited.is_empty());
    assert_eq!(collected(snapshot.cross(&other, 9)), visited);

    let mut visited = Vec::new();
    let done: Result<(), Error> = snapshot.visit_cross_rows(&other, 1, |a, b, distance| {
        visited.push((a, b, distance));
        Ok(())
    });
    done.unwrap();
    assert!(visited.len() > 100, "{}", visited.len());
    let found = collected(snapshot.cross_row_pairs(&other, 1)).into_iter();
    assert!(found.map(|pair| (pair.a, pair.b, pair.distance)).eq(visited));

    let queries = fingerprints(&rows);
    let mut visited = Vec::new();
    let done: Result<(), Error> = snapshot.query_batch(&queries, 2, |_, matches| {
        visited.push(matches.to_vec());
        Ok(())
    });
    done.unwrap();
    assert_eq!(collected(snapshot.matches(queries, 2)), visited);
}

/// An error of the caller's own type, which is not [`Error`].
#[derive(Debug)]
enum Stopped {
    Enough(usize),
    Engine,
}

impl From<Error> for Stopped {
    fn from(_: Error) -> Self {
        Self::Engine
    }
}

#[test]
fn the_error_of_a_visitor_is_returned_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<u64>(Shape::Equal, 3000, 3);
    let snapshot = build(&home.path().join("db"), &rows, Schema::new());
    let mut calls = 0;
    let mut stop = || {
        calls += 1;
        Err(Stopped::Enough(calls))
    };
    let ends = [
        snapshot.visit_rows(|_| stop()),
        snapshot.visit_pairs(3, |_| stop()),
        snapshot.visit_row_pairs(3, |_, _, _| stop()),
        snapshot.visit_clusters(3, |_| stop()),
        snapshot.visit_cross(&snapshot, 3, |_| stop()),
        snapshot.visit_cross_rows(&snapshot, 3, |_, _, _| stop()),
        snapshot.query_batch(&[1, 2, 3], 3, |_, _| stop()),
        snapshot.query_batch(&[1, 2, 3], Query::nearest(1).max_k(3), |_, _| stop()),
    ];
    for (calls, end) in (1..).zip(ends) {
        assert!(matches!(end, Err(Stopped::Enough(found)) if found == calls), "{calls}: {end:?}");
    }
}

#[test]
fn damage_is_the_last_item() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let rows = rows::<u64>(Shape::Uniform, 40_000, 3);
    let snapshot = build(&path, &rows, layout("rotations:2"));
    let file = path.join("00000001-t0.seg");
    let middle = std::fs::metadata(&file).unwrap().len() / 2;
    // Windows does not truncate a mapped file.
    let opened = std::fs::OpenOptions::new().read(true).write(true).open(&file).unwrap();
    let mut byte = [0];
    read_exact_at(&opened, &mut byte, middle).unwrap();
    write_all_at(&opened, &[byte[0] ^ 1], middle).unwrap();
    let mut pairs = snapshot.pairs(3).unwrap();
    let error = pairs.by_ref().find_map(Result::err).unwrap();
    assert_eq!(error.corruption().map(|damage| &damage.file), Some(&file), "{error}");
    assert!(pairs.next().is_none(), "nothing follows an error");
}

/// Cancels, or does not.
struct Switch {
    cancels: bool,
    /// Dropped with the callback.
    _alive: Option<mpsc::Sender<()>>,
}

impl Progress for Switch {
    fn report(&self, _: Stage, _: u64, _: Option<u64>) -> ControlFlow<()> {
        if self.cancels { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_cancelled_iterator_ends_with_an_error() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<u64>(Shape::Equal, 6000, 3);
    let cancelling = Arc::new(Switch { cancels: true, _alive: None });
    let snapshot = build(&home.path().join("db"), &rows, Schema::new()).with_progress(cancelling);
    let last = snapshot.pairs(9).unwrap().last().unwrap();
    assert!(matches!(last, Err(Error::Interrupted)), "{last:?}");
}

#[test]
fn a_dropped_iterator_cancels_its_thread() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<u64>(Shape::Equal, 20_000, 3);
    let (alive, ended) = mpsc::channel::<()>();
    let progress = Arc::new(Switch { cancels: false, _alive: Some(alive) });
    let snapshot = build(&home.path().join("db"), &rows, Schema::new()).with_progress(progress);
    let mut pairs = snapshot.pairs(40).unwrap();
    assert!(pairs.next().unwrap().is_ok());
    drop(pairs);
    drop(snapshot);
    // The thread holds the progress callback until it ends. Then nobody can send any more.
    assert!(ended.recv().is_err());
}

#[test]
fn regression_pairs_of_a_list_are_made_as_they_are_pulled() {
    // Few of the 800 million pairs are pulled. All of them would take 19 GB.
    let values = fingerprints::<u64>(&rows(Shape::Uniform, 40_000, 5));
    let mut pairs = nearprint::list::pairs(values.clone(), 64, &nearprint::Options::new()).unwrap();
    assert_eq!(pairs.by_ref().take(AHEAD).filter(Result::is_ok).count(), AHEAD);
    drop(pairs);

    let expected = nearprint::list::find_all(&values, 12).unwrap();
    let streamed = nearprint::list::pairs(values, 12, &nearprint::Options::new());
    assert_eq!(collected(streamed), expected);
    let bands = nearprint::Near { k: 3, bands: Some("3x20".parse().unwrap()) };
    let mut refused = nearprint::list::pairs(vec![1u64, 2], bands, &nearprint::Options::new()).unwrap();
    assert!(matches!(refused.next(), Some(Err(Error::InvalidLayout { .. }))));
    assert!(refused.next().is_none());
}

#[test]
fn visitors_may_fail_with_errors_of_io() {
    let (home, values) = (tempfile::tempdir().unwrap(), vec![1u64, 2]);
    let read = || -> Result<Vec<u8>, Error> { Ok(std::fs::read(home.path().join("missing"))?) };
    let failed = nearprint::list::visit_pairs(values, 3, &nearprint::Options::new(), |_| read().map(drop));
    let Err(error @ Error::Io { .. }) = failed else { panic!("{failed:?}") };
    assert_eq!(error.to_string(), std::io::Error::from_raw_os_error(2).to_string());
    let full = Error::from(std::io::Error::from(std::io::ErrorKind::StorageFull));
    assert!(matches!(full, Error::DiskFull { .. }), "{full}");
    assert_eq!(full.to_string(), "no space left on the device");
}
