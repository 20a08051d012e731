//! Parallel work, and parallel work whose results arrive in the order of the work items.
//!
//! If the system refuses a thread, the work continues with the threads that have started.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use super::channel::{Receiver, Sender, bounded};

/// Blocks that one work item may produce ahead of the consumer.
const BLOCKS_AHEAD: usize = 4;

/// Passes finished blocks of one work item to the consumer. [`ControlFlow::Break`] means that the
/// consumer has stopped.
pub type Sink<'a, T> = &'a mut dyn FnMut(T) -> ControlFlow<()>;

/// Items per thread that may be claimed but not yet consumed.
const ITEMS_AHEAD: usize = 4;

/// Runs `work` for every item, on the calling thread and `threads - 1` others.
pub fn for_each<I>(threads: usize, items: impl Iterator<Item = I> + Send, work: impl Fn(I) + Sync) {
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = || {
        while let Some(item) = next() {
            work(item);
        }
    };
    beside(threads.saturating_sub(1), &worker, &mut |_| worker());
}

/// Runs `worker` on other threads, and `main` on this one, with the number of threads that the
/// system has started. Not generic, as the code that starts threads is large.
fn beside(threads: usize, worker: &(dyn Fn() + Sync), main: &mut dyn FnMut(usize)) {
    std::thread::scope(|scope| {
        let started = (0..threads).take_while(|_| Builder::new().spawn_scoped(scope, worker).is_ok()).count();
        main(started);
    });
}

/// Runs `work(item, state, sink)` for every item on `threads` threads, and passes the blocks of
/// each item to `consume` on the calling thread: all blocks of item 0 in order, then of item 1, and
/// so on.
///
/// The consumer sees the same blocks for any number of threads. Only a few blocks per thread are in
/// memory. `state` runs once per thread.
///
/// # Errors
/// The first error of `work` or `consume`, in the order of items. It ends all work.
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

/// The same for items that `source` produces one at a time, on whichever thread is free.
///
/// # Errors
/// As [`ordered`]. An error of `source` takes the place of an item.
pub fn ordered_from<I: Send, T: Send, S, E: Send>(
    threads: usize,
    source: impl FnMut() -> Result<Option<I>, E> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(I, &mut S, Sink<'_, T>) -> Result<(), E> + Sync,
    mut consume: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    if threads <= 1 {
        return sequential(source, state(), work, consume);
    }
    let (announce, announced) = bounded::<Receiver<Result<T, E>>>(threads * ITEMS_AHEAD);
    let claims = Mutex::new(Claims { source, announce: Some(announce) });
    let stop = AtomicBool::new(false);
    let worker = || {
        let mut state = state();
        while !stop.load(Ordering::Relaxed)
            && let Some((item, sender)) = next_claim(&claims)
        {
            let mut sink = |block| match sender.send(Ok(block)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            if let Err(error) = work(item, &mut state, &mut sink) {
                // The receiver is gone only if the consumer has already failed.
                let _ = sender.send(Err(error));
            }
        }
    };
    let (mut announced, mut result) = (Some(announced), None);
    beside(threads, &worker, &mut |started| {
        let Some(announced) = announced.take().filter(|_| started > 0) else { return };
        // Workers claim items, and announce their channels, in order. The item that this loop waits
        // for is therefore always claimed by a worker that this loop does not block.
        let mut blocks = announced.flatten();
        result = Some(blocks.try_for_each(|block| consume(block?)));
        stop.store(true, Ordering::Relaxed);
        // The receivers are dropped here, which makes pending sends of the workers fail.
    });
    result.unwrap_or_else(|| {
        let claims = claims.into_inner().unwrap_or_else(PoisonError::into_inner);
        sequential(claims.source, state(), work, consume)
    })
}

/// The source of items, which workers share.
struct Claims<S, T, E> {
    source: S,
    /// `None` after the last item.
    announce: Option<Sender<Receiver<Result<T, E>>>>,
}

type Claim<I, T, E> = (I, Sender<Result<T, E>>);

/// Claims the next item and the channel for its blocks. `None` at the end, or once the consumer has
/// stopped. An error of the source takes the place of an item.
fn next_claim<I, T, E>(
    claims: &Mutex<Claims<impl FnMut() -> Result<Option<I>, E>, T, E>>,
) -> Option<Claim<I, T, E>> {
    let mut claims = claims.lock().unwrap_or_else(PoisonError::into_inner);
    let announce = claims.announce.take()?;
    let (sender, receiver) = bounded(BLOCKS_AHEAD);
    match (claims.source)() {
        Ok(None) => None,
        Ok(Some(item)) => {
            announce.send(receiver).ok()?;
            claims.announce = Some(announce);
            Some((item, sender))
        }
        Err(error) => {
            // The send cannot block: the channel has room for several blocks, and this is its
            // first.
            let _ = sender.send(Err(error));
            let _ = announce.send(receiver);
            None
        }
    }
}

fn sequential<I, T, S, E>(
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
                if seen.len() < 300 { Ok(()) } else { Err(Error::ForeignKey { key: 7 }) }
            },
        );
        (seen, result)
    }

    #[test]
    fn an_error_of_the_source_arrives_in_order() {
        for threads in [1, 2, 8] {
            let (mut produced, mut seen) = (0, Vec::new());
            let source = || {
                produced += 1;
                if produced < 30 { Ok(Some(produced)) } else { Err(Error::ForeignKey { key: 7 }) }
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
            assert!(matches!(result, Err(Error::ForeignKey { key: 7 })));
            assert!(seen.into_iter().eq(1..30));
        }
    }

    #[test]
    fn regression_a_slow_consumer_keeps_workers_from_running_ahead() {
        let produced = std::sync::atomic::AtomicUsize::new(0);
        let mut consumed = 0;
        let work = |_, (): &mut (), sink: Sink<'_, ()>| {
            produced.fetch_add(1, Ordering::Relaxed);
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
                let ahead = produced.load(Ordering::Relaxed).saturating_sub(consumed);
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
