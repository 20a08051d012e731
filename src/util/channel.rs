//! A bounded channel from one thread to another.
//!
//! It does what a `sync_channel` of the standard library does. That one compiles three
//! implementations for every type that is sent, which made a seventh of the programs; blocks that
//! travel here take far longer to compute than to pass on.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

/// A channel for at most `capacity` waiting items.
pub(crate) fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let queue = Queue { items: VecDeque::with_capacity(capacity), is_closed: false };
    let shared = Arc::new(Shared { capacity, queue: Mutex::new(queue), changed: Condvar::new() });
    (Sender(shared.clone()), Receiver(shared))
}

/// The end where items go in.
pub(crate) struct Sender<T>(Arc<Shared<T>>);

/// The end where items come out: an iterator until the sender is dropped.
pub(crate) struct Receiver<T>(Arc<Shared<T>>);

/// The receiver is gone.
#[derive(Debug)]
pub(crate) struct Closed;

struct Shared<T> {
    capacity: usize,
    queue: Mutex<Queue<T>>,
    changed: Condvar,
}

struct Queue<T> {
    items: VecDeque<T>,
    /// Whether one of the ends is gone.
    is_closed: bool,
}

impl<T> Shared<T> {
    /// The queue, once `is_ready` holds, an end is gone, or the timeout has passed.
    fn wait(
        &self,
        timeout: Option<Duration>,
        is_ready: impl Fn(&Queue<T>) -> bool,
    ) -> MutexGuard<'_, Queue<T>> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        while !queue.is_closed && !is_ready(&queue) {
            queue = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => break,
                Some(left) => {
                    self.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
        queue
    }

    fn close(&self) -> MutexGuard<'_, Queue<T>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.is_closed = true;
        self.changed.notify_one();
        queue
    }
}

impl<T> Sender<T> {
    /// Sends an item, once there is room.
    pub(crate) fn send(&self, item: T) -> Result<(), Closed> {
        let mut queue = self.0.wait(None, |queue| queue.items.len() < self.0.capacity);
        if queue.is_closed {
            return Err(Closed);
        }
        queue.items.push_back(item);
        drop(queue);
        self.0.changed.notify_one();
        Ok(())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        drop(self.0.close());
    }
}

impl<T> Receiver<T> {
    /// The next item, if it comes within a time.
    pub(crate) fn next_within(&mut self, timeout: Option<Duration>) -> Poll<Option<T>> {
        let mut queue = self.0.wait(timeout, |queue| !queue.items.is_empty());
        let item = queue.items.pop_front();
        if item.is_none() && !queue.is_closed {
            return Poll::Pending;
        }
        drop(queue);
        self.0.changed.notify_one();
        Poll::Ready(item)
    }
}

impl<T> Iterator for Receiver<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match self.next_within(None) {
            Poll::Ready(item) => item,
            Poll::Pending => unreachable!("without a timeout there is an item or an end"),
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let waiting = std::mem::take(&mut self.0.close().items);
        // Items that nobody takes are dropped without the lock: they may be channels themselves.
        drop(waiting);
    }
}

impl<T> std::fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> std::fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn items_arrive_in_order_and_at_most_the_capacity_wait() {
        let sent = AtomicUsize::new(0);
        let (sender, receiver) = bounded(3);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let sender = sender;
                for item in 0..1000 {
                    sender.send(item).unwrap();
                    sent.fetch_add(1, Ordering::SeqCst);
                }
            });
            for (item, expected) in receiver.zip(0..) {
                assert_eq!(item, expected);
                assert!(sent.load(Ordering::SeqCst) <= expected + 5, "three wait, and one is on its way");
            }
        });
        assert_eq!(sent.into_inner(), 1000);
    }

    #[test]
    fn a_wait_ends_with_its_timeout_and_loses_nothing() {
        let (sender, mut receiver) = bounded(2);
        assert_eq!(receiver.next_within(Some(Duration::ZERO)), Poll::Pending);
        assert_eq!(receiver.next_within(Some(Duration::from_millis(1))), Poll::Pending);
        sender.send(1).unwrap();
        assert_eq!(receiver.next_within(Some(Duration::ZERO)), Poll::Ready(Some(1)));
        drop(sender);
        assert_eq!(receiver.next_within(Some(Duration::from_secs(60))), Poll::Ready(None));
    }

    #[test]
    fn what_was_sent_before_the_sender_went_arrives() {
        let (sender, receiver) = bounded(2);
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        drop(sender);
        assert!(receiver.eq([1, 2]));
    }

    #[test]
    fn a_receiver_that_goes_ends_a_waiting_send_and_drops_what_waits() {
        let (sender, receiver) = bounded(1);
        let item = Arc::new(());
        sender.send(item.clone()).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| sender.send(item.clone()).is_err());
            drop(receiver);
            assert!(waiting.join().unwrap());
        });
        assert!(sender.send(item.clone()).is_err());
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
