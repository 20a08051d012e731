//! Work on all cores, with results in the order of the work.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Blocks that one item of work may be ahead of the consumer.
const BLOCKS_AHEAD: usize = 4;

/// Gives finished blocks of one item of work to the consumer. [`ControlFlow::Break`] means that
/// nobody wants more.
pub type Sink<'a, T> = &'a mut dyn FnMut(T) -> ControlFlow<()>;

/// Items that may be claimed and not yet consumed, for each thread.
const ITEMS_AHEAD: usize = 4;

/// Runs `work(item, state, sink)` for every item on `threads` threads, and hands the blocks that
/// each item gives to `consume` on this thread: all of item 0 in order, then all of item 1, and so
/// on. What the consumer sees does not depend on the number of threads, and only a few blocks per
/// thread are in memory. `state` is made once per thread. The first error, in the order of items,
/// ends it all.
pub fn ordered<T: Send, S, E: Send>(
    threads: usize,
    items: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S, Sink<'_, T>) -> Result<(), E> + Sync,
    consume: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let mut rest = 0..items;
    ordered_from(threads.min(items), || Ok(rest.next()), state, work, consume)
}

/// The same for items that `source` gives, one at a time, on whichever thread wants the next one.
pub fn ordered_from<I: Send, T: Send, S, E: Send>(
    threads: usize,
    source: impl FnMut() -> Result<Option<I>, E> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(I, &mut S, Sink<'_, T>) -> Result<(), E> + Sync,
    mut consume: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    if threads <= 1 {
        return in_turn(source, state(), work, consume);
    }
    let (announce, announced) = sync_channel::<Receiver<Result<T, E>>>(threads * ITEMS_AHEAD);
    let claims = Mutex::new(Claims { source, announce: Some(announce) });
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut state = state();
                while !stop.load(Ordering::Relaxed)
                    && let Some((item, sender)) = next_claim(&claims)
                {
                    let mut sink = |block| match sender.send(Ok(block)) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(_) => ControlFlow::Break(()),
                    };
                    if let Err(error) = work(item, &mut state, &mut sink) {
                        // Nobody listens only where the consumer has failed already.
                        let _ = sender.send(Err(error));
                    }
                }
            });
        }
        // Items are claimed, and their channels announced, in order. So the item that is waited for here is
        // always in the hands of a worker that nothing here blocks.
        let mut blocks = announced.iter().flatten();
        let result = blocks.try_for_each(|block| consume(block?));
        stop.store(true, Ordering::Relaxed);
        // Workers that are about to send find their receivers gone.
        drop(blocks);
        drop(announced);
        result
    })
}

/// Where workers get items, one at a time.
struct Claims<S, T, E> {
    source: S,
    /// Gone behind the last item.
    announce: Option<SyncSender<Receiver<Result<T, E>>>>,
}

type Claim<I, T, E> = (I, SyncSender<Result<T, E>>);

/// The next item and where its blocks go; nothing at the end, and when nobody wants more. An error of the
/// source takes the place of an item.
fn next_claim<I, T, E>(
    claims: &Mutex<Claims<impl FnMut() -> Result<Option<I>, E>, T, E>>,
) -> Option<Claim<I, T, E>> {
    let mut claims = claims.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let announce = claims.announce.take()?;
    let (sender, receiver) = sync_channel(BLOCKS_AHEAD);
    match (claims.source)() {
        Ok(None) => None,
        Ok(Some(item)) => {
            announce.send(receiver).ok()?;
            claims.announce = Some(announce);
            Some((item, sender))
        }
        Err(error) => {
            // The channel holds a few blocks, and this is its first.
            let _ = sender.send(Err(error));
            let _ = announce.send(receiver);
            None
        }
    }
}

fn in_turn<I, T, S, E>(
    mut source: impl FnMut() -> Result<Option<I>, E>,
    mut state: S,
    work: impl Fn(I, &mut S, Sink<'_, T>) -> Result<(), E>,
    mut consume: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    while let Some(item) = source()? {
        let mut consumed = Ok(());
        work(item, &mut state, &mut |block| {
            consumed = consume(block);
            if consumed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        consumed?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, Result};

    fn run(threads: usize, fail_at: Option<usize>) -> (Vec<usize>, Result<()>) {
        let mut seen = Vec::new();
        let result = ordered(
            threads,
            50,
            || (),
            |item, (), sink| {
                for part in 0..item % 17 {
                    if Some(item) == fail_at && part == 3 {
                        return Err(Error::Interrupted);
                    }
                    if sink(item * 100 + part).is_break() {
                        return Ok(());
                    }
                }
                Ok(())
            },
            |block| {
                seen.push(block);
                if seen.len() < 300 { Ok(()) } else { Err(Error::Limit("enough")) }
            },
        );
        (seen, result)
    }

    #[test]
    fn an_error_of_the_source_comes_in_its_turn() {
        for threads in [1, 2, 8] {
            let (mut given, mut seen) = (0, Vec::new());
            let source = || {
                given += 1;
                if given < 30 { Ok(Some(given)) } else { Err(Error::Limit("the source")) }
            };
            let work = |item, (): &mut (), sink: Sink<'_, usize>| {
                let _ = sink(item);
                Ok(())
            };
            let result = ordered_from(
                threads,
                source,
                || (),
                work,
                |item| {
                    seen.push(item);
                    Ok(())
                },
            );
            assert!(matches!(result, Err(Error::Limit("the source"))));
            assert!(seen.into_iter().eq(1..30));
        }
    }

    #[test]
    fn regression_a_slow_consumer_keeps_workers_from_running_ahead() {
        let given = std::sync::atomic::AtomicUsize::new(0);
        let mut consumed = 0;
        let work = |_, (): &mut (), sink: Sink<'_, ()>| {
            given.fetch_add(1, Ordering::Relaxed);
            let _ = sink(());
            Ok::<(), Error>(())
        };
        ordered(
            3,
            2000,
            || (),
            work,
            |()| {
                consumed += 1;
                let ahead = given.load(Ordering::Relaxed).saturating_sub(consumed);
                assert!(ahead <= 3 * (ITEMS_AHEAD + 2), "{ahead} items ahead");
                Ok(())
            },
        )
        .unwrap();
    }

    #[test]
    fn order_and_errors_do_not_depend_on_threads() {
        for fail_at in [None, Some(20), Some(49)] {
            let (expected, end) = run(1, fail_at);
            for threads in [2, 3, 8, 100] {
                for _ in 0..20 {
                    let (seen, result) = run(threads, fail_at);
                    assert_eq!(seen, expected);
                    assert_eq!(format!("{result:?}"), format!("{end:?}"));
                }
            }
        }
    }
}
