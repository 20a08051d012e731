//! Work on all cores, with results in the order of the work.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

use crate::error::Result;

/// Blocks that one item of work may be ahead of the consumer.
const BLOCKS_AHEAD: usize = 4;

/// Gives finished blocks of one item of work to the consumer. [`ControlFlow::Break`] means that
/// nobody wants more.
pub(crate) type Sink<'a, T> = &'a mut dyn FnMut(T) -> ControlFlow<()>;

/// Runs `work(item, state, sink)` for every item on `threads` threads, and hands the blocks that
/// each item gives to `consume` on this thread: all of item 0 in order, then all of item 1, and so
/// on. What the consumer sees does not depend on the number of threads, and only a few blocks per
/// thread are in memory. `state` is made once per thread. The first error, in the order of items,
/// ends it all.
pub(crate) fn ordered<T: Send, S>(
    threads: usize,
    items: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S, Sink<'_, T>) -> Result<()> + Sync,
    mut consume: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    if threads <= 1 || items <= 1 {
        return in_turn(items, state(), work, consume);
    }
    let (announce, announced) = channel::<Receiver<Result<T>>>();
    let next = Mutex::new((0, announce));
    let stop = AtomicBool::new(false);
    // Items are claimed, and their channels announced, in ascending order. So the item that the
    // consumer waits for is always in the hands of a worker that it does not block.
    let claim = || -> Option<(usize, SyncSender<Result<T>>)> {
        let mut next = next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if next.0 == items || stop.load(Ordering::Relaxed) {
            return None;
        }
        let (sender, receiver) = sync_channel(BLOCKS_AHEAD);
        next.1.send(receiver).ok()?;
        next.0 += 1;
        Some((next.0 - 1, sender))
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items) {
            scope.spawn(|| {
                let mut state = state();
                while let Some((item, sender)) = claim() {
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
        let result = (0..items).try_for_each(|_| {
            let Ok(receiver) = announced.recv() else { return Ok(()) };
            receiver.into_iter().try_for_each(|block| consume(block?))
        });
        stop.store(true, Ordering::Relaxed);
        // Workers that are about to send find their receivers gone.
        while announced.try_recv().is_ok() {}
        drop(announced);
        result
    })
}

fn in_turn<T, S>(
    items: usize,
    mut state: S,
    work: impl Fn(usize, &mut S, Sink<'_, T>) -> Result<()>,
    mut consume: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    for item in 0..items {
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
    use crate::error::Error;

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
