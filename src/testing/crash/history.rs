//! Programs for a writer, and what a database holds after each of their steps.

use std::collections::BTreeSet;

use crate::fingerprint::{Row, mix64};

/// A step of a test program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Insert(Row<u64>),
    Delete(u64),
    Upsert(Row<u64>),
    Checkpoint(u64),
    History(u64),
    Commit,
    Flush,
    Compact,
    /// Closes the writer and opens a new one.
    Reopen,
    /// Drops the writer without closing it and opens a new one: a killed process and its successor.
    Abandon,
}

/// The rows. A checkpoint counts as a row with the id [`CHECKPOINT`] and the checkpoint as
/// fingerprint, a history as one with the id [`HISTORY`].
pub(super) type State = BTreeSet<Row<u64>>;
pub(super) const CHECKPOINT: u64 = u64::MAX;
pub(super) const HISTORY: u64 = u64::MAX - 1;

/// Sets or removes the row that stands for a checkpoint or a history.
pub(super) fn set_note(state: &mut State, id: u64, number: u64) {
    state.retain(|row| row.id != id);
    state.extend((number != 0).then_some(Row { fingerprint: number, id }));
}

/// Steps and the state after each of them.
pub(super) struct History {
    pub(super) steps: Vec<Step>,
    pub(super) states: Vec<State>,
    /// The longest log that its writers keep.
    pub(super) keep_log: u64,
}

impl History {
    pub(super) fn of(steps: Vec<Step>) -> Self {
        let mut states = vec![State::new()];
        for step in &steps {
            let mut state = states.last().unwrap().clone();
            match *step {
                Step::Insert(row) => drop(state.insert(row)),
                Step::Delete(id) => state.retain(|row| row.id != id),
                Step::Upsert(row) => {
                    state.retain(|old| old.id != row.id);
                    state.insert(row);
                }
                Step::Checkpoint(number) => set_note(&mut state, CHECKPOINT, number),
                Step::History(number) => set_note(&mut state, HISTORY, number),
                _ => {}
            }
            states.push(state);
        }
        Self { steps, states, keep_log: 0 }
    }

    /// The same program, by writers that keep logs of at most so many bytes.
    pub(super) fn keeping(self, keep_log: u64) -> Self {
        Self { keep_log, ..self }
    }

    /// A random program. It uses few ids and fingerprints, so that its steps interact.
    pub(super) fn random(seed: u64, len: u64) -> Self {
        let step = |i: u64| {
            let dice = mix64(seed.wrapping_mul(1 << 20) + i);
            let id = mix64(dice) % 12;
            let row = Row { fingerprint: mix64(mix64(dice + 1) % 9) ^ (1 << (dice >> 40 & 63)), id };
            match dice % 22 {
                20 => Step::Checkpoint(dice >> 20 & 3),
                21 => Step::History(dice >> 20 & 3),
                0..8 => Step::Insert(row),
                8..11 => Step::Delete(id),
                11..13 => Step::Upsert(row),
                13..17 => Step::Commit,
                17 => Step::Flush,
                18 if dice >> 10 & 3 == 0 => Step::Compact,
                18 => Step::Reopen,
                _ => Step::Abandon,
            }
        };
        let all = (0..len).map(step).flat_map(|step| match step {
            // Uncommitted operations would be lost, and the history would end here.
            Step::Abandon => vec![Step::Commit, step],
            step => vec![step],
        });
        // Half of them keep logs, some too long ones.
        Self::of(all.collect()).keeping(seed % 2 * 300)
    }
}

/// The number of steps up to the last operation before `index`.
pub(super) fn last_operation(history: &History, index: usize) -> usize {
    let changes = |step: &Step| {
        use Step::{Checkpoint, Delete, History, Insert, Upsert};
        matches!(step, Insert(_) | Delete(_) | Upsert(_) | Checkpoint(_) | History(_))
    };
    history.steps[..index].iter().rposition(changes).map_or(0, |last| last + 1)
}

pub(super) fn row(fingerprint: u64, id: u64) -> Row<u64> {
    Row { fingerprint, id }
}

/// Short programs that cover every kind of change.
pub(super) fn small_programs() -> Vec<History> {
    use Step::{
        Abandon, Checkpoint, Commit, Compact, Delete, Flush, History as Note, Insert, Reopen, Upsert,
    };
    let programs = [
        vec![
            Note(1),
            Checkpoint(1),
            Insert(row(1, 1)),
            Commit,
            Checkpoint(2),
            Insert(row(2, 2)),
            Commit,
            Note(2),
            Checkpoint(0),
            Flush,
            Insert(row(3, 3)),
            Compact,
        ],
        vec![Insert(row(1, 1)), Commit, Insert(row(2, 2)), Insert(row(2, 3)), Commit, Delete(1), Commit],
        vec![
            Insert(row(1, 1)),
            Flush,
            Delete(1),
            Insert(row(3, 3)),
            Flush,
            Insert(row(4, 4)),
            Commit,
            Compact,
        ],
        vec![
            Insert(row(1, 1)),
            Insert(row(1, 2)),
            Reopen,
            Upsert(row(9, 1)),
            Commit,
            Abandon,
            Delete(2),
            Reopen,
        ],
        vec![
            Insert(row(7, 7)),
            Commit,
            Abandon,
            Insert(row(8, 8)),
            Commit,
            Abandon,
            Delete(7),
            Commit,
            Abandon,
        ],
        vec![
            Insert(row(1, 1)),
            Insert(row(2, 1)),
            Insert(row(3, 1)),
            Insert(row(4, 1)),
            Insert(row(5, 1)),
            Commit,
            Delete(1),
            Commit,
            Insert(row(6, 1)),
            Compact,
            Delete(1),
            Compact,
        ],
        sealing_program(),
    ];
    let keeping = keeping_programs().into_iter().map(|steps| History::of(steps).keeping(1000));
    programs.into_iter().map(History::of).chain(keeping).collect()
}

/// Writers that go on with the log of the one before, after a run and without one.
fn keeping_programs() -> Vec<Vec<Step>> {
    use Step::{Abandon, Checkpoint, Commit, Compact, Delete, Flush, Insert, Reopen, Upsert};
    vec![
        vec![
            Insert(row(1, 1)),
            Reopen,
            Reopen,
            Upsert(row(2, 1)),
            Insert(row(3, 3)),
            Commit,
            Delete(3),
            Reopen,
            Checkpoint(1),
            Commit,
            Abandon,
            Delete(1),
            Reopen,
        ],
        vec![
            Insert(row(1, 1)),
            Insert(row(2, 2)),
            Flush,
            Delete(2),
            Reopen,
            Insert(row(4, 4)),
            Reopen,
            Flush,
            Insert(row(5, 5)),
            Reopen,
            Compact,
        ],
    ]
}

/// Commits small enough that the log is sealed, twice, and deletions of rows that are in it.
pub(super) fn sealing_program() -> Vec<Step> {
    use Step::{Checkpoint, Commit, Delete, Insert, Upsert};
    let operations = [
        Insert(row(1, 1)),
        Insert(row(2, 2)),
        Checkpoint(1),
        Insert(row(3, 3)),
        Delete(2),
        Upsert(row(4, 1)),
        Checkpoint(2),
        Insert(row(2, 2)),
        Delete(3),
        Insert(row(5, 5)),
    ];
    operations.into_iter().flat_map(|operation| [operation, Commit]).collect()
}
