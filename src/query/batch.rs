//! Batches of queries on all threads. Answers come in the order of the queries.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};

use super::locate::Match;
use super::search::{Completion, Searcher};
use super::view::View;
use crate::error::Result;
use crate::fingerprint::{Distance, Fingerprint};
use crate::kernel::Kernel;
use crate::layout::cost::ball;
use crate::progress::ProgressFn;
use crate::util::parallel::{self, Sink};

/// Queries of one piece of work after a sweep was given up.
const GROUP: usize = 16;
/// Least number of queries of one piece of work.
const BATCH: usize = 512;
/// Largest number of queries of one piece of work, which are answered table by table.
const SWEEP: usize = 1 << 19;
/// Matches that a thread collects before it passes them on.
const MATCHES_AT_ONCE: usize = 1 << 14;
/// Largest number of matches of queries that are answered together, and held until all are done.
/// Beyond it, each query is answered on its own.
const MATCHES_TOGETHER: usize = 1 << 19;

/// The kernel, the threads and the progress of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Workers<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) threads: usize,
    /// Receives the number of newly answered queries.
    pub(crate) progress: ProgressFn<'a>,
}

/// The matches of consecutive queries.
#[derive(Debug)]
struct Answers<F> {
    matches: Vec<Match<F>>,
    ends: Vec<usize>,
}

impl<F> Default for Answers<F> {
    fn default() -> Self {
        Self { matches: Vec::new(), ends: Vec::new() }
    }
}

impl<F> Answers<F> {
    /// Ends the answer to one query: the matches appended since the last call.
    fn end_of_query(&mut self) {
        self.ends.push(self.matches.len());
    }

    /// Passes the collected answers on once there are enough.
    fn hand_on_full(&mut self, sink: Sink<'_, Self>) -> ControlFlow<()> {
        let full = self.matches.len() >= MATCHES_AT_ONCE;
        if full { sink(std::mem::take(self)) } else { ControlFlow::Continue(()) }
    }

    fn each(&self) -> impl Iterator<Item = &[Match<F>]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.matches[start..end])
    }
}

impl<F: Fingerprint> Answers<F> {
    /// Appends the answers to a group of queries, or gives up where they have more than `most`
    /// matches.
    fn add(
        &mut self,
        view: &View<F>,
        searcher: &mut Searcher<'_>,
        group: &[F],
        (k, limit): (Distance, usize),
        most: usize,
    ) -> Result<Completion> {
        let mut found = Vec::new();
        let completion = match limit {
            usize::MAX => view.search(searcher, group, k, most, &mut found)?,
            limit => view.search_limited(searcher, group, (k, limit), most, &mut found)?,
        };
        if completion == Completion::GaveUp {
            return Ok(Completion::GaveUp);
        }
        found.sort_unstable();
        found.dedup();
        let mut next = found.iter().peekable();
        for (query, _) in (0u32..).zip(group) {
            while let Some((_, row)) = next.next_if(|(of, _)| *of == query) {
                self.matches.push(*row);
            }
            self.end_of_query();
        }
        Ok(Completion::Complete)
    }
}

/// Answers queries from the runs of a view on all threads. Visits the index and the matches of
/// each, in order.
pub(crate) fn query<F: Fingerprint>(
    view: &View<F>,
    workers: Workers<'_>,
    queries: &[F],
    (k, limit): (Distance, usize),
    visit: impl FnMut(usize, &[Match<F>]) -> Result<()>,
) -> Result<()> {
    let expected = matches_expected(view, k);
    let together = if expected > MATCHES_AT_ONCE as f64 / GROUP as f64 { 1 } else { GROUP };
    let mut most = SWEEP;
    while most > BATCH && most as f64 * expected > MATCHES_TOGETHER as f64 / 2.0 {
        most /= 2;
    }
    let at_once = queries.len().div_ceil(workers.threads.max(1)).clamp(BATCH, most);
    let crowded = AtomicBool::new(together == 1);
    in_order(workers, queries.len(), at_once, visit, |range, searcher, sink| {
        let queries = &queries[range];
        if !crowded.load(Ordering::Relaxed) {
            let mut answers = Answers::default();
            if answers.add(view, searcher, queries, (k, limit), MATCHES_TOGETHER)? == Completion::Complete {
                let _ = sink(answers);
                return Ok(());
            }
            crowded.store(true, Ordering::Relaxed);
        }
        let mut answers = Answers::default();
        for group in queries.chunks(together) {
            if group.len() == 1
                || answers.add(view, searcher, group, (k, limit), MATCHES_TOGETHER)? == Completion::GaveUp
            {
                // Their matches together are too many to hold.
                for one in group.chunks(1) {
                    let _ = answers.add(view, searcher, one, (k, limit), usize::MAX)?;
                    if answers.hand_on_full(sink).is_break() {
                        return Ok(());
                    }
                }
            }
            if answers.hand_on_full(sink).is_break() {
                return Ok(());
            }
        }
        let _ = sink(answers);
        Ok(())
    })
}

/// Answers queries one by one with `answer` on all threads. Visits the index and the matches of
/// each, in order.
pub(crate) fn one_by_one<F: Fingerprint>(
    workers: Workers<'_>,
    queries: &[F],
    visit: impl FnMut(usize, &[Match<F>]) -> Result<()>,
    answer: impl Fn(F) -> Result<Vec<Match<F>>> + Sync,
) -> Result<()> {
    in_order(workers, queries.len(), BATCH, visit, |range, _, sink| {
        let mut answers = Answers::default();
        for &query in &queries[range] {
            answers.matches.extend(answer(query)?);
            answers.end_of_query();
            if answers.hand_on_full(sink).is_break() {
                return Ok(());
            }
        }
        let _ = sink(answers);
        Ok(())
    })
}

/// Distributes the queries `0..count` in pieces of `at_once`, and visits the answers in order.
fn in_order<F: Fingerprint>(
    workers: Workers<'_>,
    count: usize,
    at_once: usize,
    mut visit: impl FnMut(usize, &[Match<F>]) -> Result<()>,
    answer: impl Fn(Range<usize>, &mut Searcher<'_>, Sink<'_, Answers<F>>) -> Result<()> + Sync,
) -> Result<()> {
    let mut index = 0;
    let Workers { kernel, threads, progress } = workers;
    parallel::ordered(
        threads,
        count.div_ceil(at_once),
        || Searcher::new(kernel, progress),
        |item, searcher, sink| {
            let range = item * at_once..((item + 1) * at_once).min(count);
            let answered = range.len() as u64;
            answer(range, searcher, sink)?;
            progress(answered)
        },
        |answers| {
            answers.each().try_for_each(|matches| {
                index += 1;
                visit(index - 1, matches)
            })
        },
    )
}

/// Expected number of matches of a random query among equally many random fingerprints.
fn matches_expected<F: Fingerprint>(view: &View<F>, k: Distance) -> f64 {
    let entries: u64 = view.runs().map(|run| run.record.entries).sum();
    entries as f64 * ball(F::BITS, k.bits()) / f64::from(F::BITS).exp2()
}
