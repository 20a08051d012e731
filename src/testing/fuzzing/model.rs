//! A writer on a disk with faults and power cuts, compared with a model.
//!
//! The operations are totally ordered. At all times the database must hold the effect of a prefix
//! of them that contains everything acknowledged.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use super::input::Input;
use super::options::options;
use super::oracle::{Rows, near, rows_in_order};
use crate::fingerprint::mix64;
use crate::log::manifest;
use crate::options::Options;
use crate::storage::Storage;
use crate::testing::simulated::{Doubt, SimulatedDisk};
use crate::{Error, Near, Result, Row, Schema, Snapshot, Writer};

/// The most steps of one input.
const MAX_STEPS: usize = 100;
/// The most rows of the model, so that comparisons stay cheap.
const MAX_ROWS: usize = 400;

#[derive(Clone, Copy, Debug)]
enum ModelOperation {
    Insert(Row<u64>),
    Delete(u64),
}

/// The operations so far.
#[derive(Clone, Default)]
struct History {
    /// The effect of everything acknowledged.
    durable: Rows,
    /// All operations since.
    tail: Vec<ModelOperation>,
    /// The largest id ever acknowledged, including deleted rows.
    largest_id: Option<u64>,
}

impl History {
    /// The effect of the first operations of the tail.
    fn after(&self, count: usize) -> Rows {
        let mut rows = self.durable.clone();
        self.tail[..count].iter().for_each(|&operation| apply(&mut rows, operation));
        rows
    }

    fn now(&self) -> Rows {
        self.after(self.tail.len())
    }

    fn acknowledge(&mut self) {
        self.keep(self.tail.len());
    }

    /// Makes a prefix of the tail durable and drops the rest.
    fn keep(&mut self, count: usize) {
        self.durable = self.after(count);
        for operation in &self.tail[..count] {
            if let ModelOperation::Insert(row) = operation {
                self.largest_id = self.largest_id.max(Some(row.id));
            }
        }
        self.tail.clear();
    }

    /// The shortest prefix with this effect. A longer one with the same effect may or may not have
    /// stored its ids.
    fn prefix_with(&self, rows: &Rows) -> Option<usize> {
        let mut state = self.durable.clone();
        let mut count = 0;
        while state != *rows {
            apply(&mut state, *self.tail.get(count)?);
            count += 1;
        }
        Some(count)
    }
}

fn apply(rows: &mut Rows, operation: ModelOperation) {
    match operation {
        ModelOperation::Insert(row) => {
            rows.insert(row);
        }
        ModelOperation::Delete(id) => rows.retain(|row| row.id != id),
    }
}

/// A copy of the disk just before a call.
type Frozen = Arc<Mutex<Option<SimulatedDisk>>>;

/// A writer, its disk and the model.
struct World {
    disk: SimulatedDisk,
    options: Options,
    writer: Option<Writer<u64>>,
    /// An older reader, for `refresh`.
    reader: Option<Snapshot<u64>>,
    history: History,
    frozen: Frozen,
    /// Whether calls may fail. Then errors are allowed, and readers may see unacknowledged
    /// operations.
    faulty: bool,
}

/// Runs the steps of an input: operations, queries, crashes, faults.
pub(super) fn model_ops(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let layout = input.pick(&["rotations:1", "rotations:2", "blocks:3,2", "bands:3x8"]);
    let settings = input.byte();
    // A log of a few rows may stay.
    let keep_log = if settings / 24 % 2 == 1 { 100 } else { 0 };
    let options = options().memtable_rows(usize::from(settings % 24)).keep_log(keep_log);
    let schema = Schema::new().k(1).layout(layout.parse().expect("a layout"));
    let disk = SimulatedDisk::new();
    let fresh = manifest::fresh(64, &schema).expect("ids are fixed");
    manifest::replace(&disk, &fresh).expect("a sound disk");
    let mut world = World {
        disk,
        options,
        writer: None,
        reader: None,
        history: History::default(),
        frozen: Frozen::default(),
        faulty: false,
    };
    world.reopen();
    for _ in 0..MAX_STEPS {
        if input.is_empty() {
            break;
        }
        world.step(&mut input);
    }
    world.crash(&mut |_| true);
}

impl World {
    fn step(&mut self, input: &mut Input<'_>) {
        let before = self.history.clone();
        match input.byte() % 32 {
            0..=6 => self.insert(input),
            7 => self.insert_automatic(input),
            8..=9 => self.operate(ModelOperation::Delete(small_id(input))),
            10..=11 => self.upsert(input),
            12..=16 => self.durably(Writer::commit),
            17..=18 => self.durably(Writer::flush),
            19 => self.durably(Writer::compact),
            20..=21 => self.query(input),
            22 => self.writers_snapshot(),
            23 => self.read_from_outside(),
            24 => self.close(),
            25 => self.drop_and_reopen(),
            26..=27 => return self.crash(&mut random_fate(input)),
            28..=29 => self.arm(input),
            30 => self.fail_soon(input),
            _ => self.fill_up(input),
        }
        let frozen = self.frozen.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(disk) = frozen {
            // At the time of the copy, this step had acknowledged nothing.
            let after = mem::take(&mut self.history);
            let was_acknowledged = after.tail.is_empty() && !before.tail.is_empty();
            self.history = if was_acknowledged { before } else { History { tail: after.tail, ..before } };
            self.writer = None;
            self.reader = None;
            self.disk = disk;
            // Either the process ended, or the power was cut.
            if input.flag() {
                self.reopen();
            } else {
                self.crash(&mut random_fate(input));
            }
        }
    }

    fn writer(&mut self) -> &mut Writer<u64> {
        self.writer.as_mut().expect("a writer exists between steps")
    }

    fn insert(&mut self, input: &mut Input<'_>) {
        let row = Row { fingerprint: input.fingerprint(), id: small_id(input) };
        if self.history.durable.len() + self.history.tail.len() < MAX_ROWS {
            self.operate(ModelOperation::Insert(row));
        }
    }

    /// Automatic ids ascend and are never reused.
    fn insert_automatic(&mut self, input: &mut Input<'_>) {
        let fingerprint = input.fingerprint();
        match self.writer().insert(fingerprint) {
            Ok(id) => {
                let largest = self.history.largest_id;
                assert!(largest < Some(id), "id {id} is not new; the largest was {largest:?}");
                self.history.tail.push(ModelOperation::Insert(Row { fingerprint, id }));
            }
            Err(error) => self.expect_failure(error),
        }
    }

    fn operate(&mut self, operation: ModelOperation) {
        let done = match operation {
            ModelOperation::Insert(row) => self.writer().insert(row).map(drop),
            ModelOperation::Delete(id) => self.writer().delete(id),
        };
        match done {
            Ok(()) => self.history.tail.push(operation),
            Err(error) => self.expect_failure(error),
        }
    }

    fn upsert(&mut self, input: &mut Input<'_>) {
        let row = Row { fingerprint: input.fingerprint(), id: small_id(input) };
        match self.writer().upsert(row) {
            Ok(_) => self.history.tail.extend([ModelOperation::Delete(row.id), ModelOperation::Insert(row)]),
            Err(error) => self.expect_failure(error),
        }
    }

    /// Runs an operation that makes everything durable.
    fn durably(&mut self, work: fn(&mut Writer<u64>) -> Result<()>) {
        match work(self.writer()) {
            Ok(()) => self.history.acknowledge(),
            Err(error) => self.expect_failure(error),
        }
    }

    /// Errors are allowed if calls may fail. A poisoned writer is replaced by a new one.
    fn expect_failure(&mut self, error: Error) {
        assert!(self.faulty, "no call has failed, and yet: {error}");
        if matches!(error, Error::Poisoned { .. }) {
            self.drop_and_reopen();
        }
    }

    fn query(&mut self, input: &mut Input<'_>) {
        let (query, k) = (input.fingerprint(), input.k());
        let near_within = Near { k, bands: self.writer().bands() };
        let expected = near(&self.history.now(), query, near_within);
        match self.writer().query(query, k) {
            Ok(found) => assert_eq!(found, expected, "query {query:#x} at {k}"),
            Err(error) => self.expect_failure(error),
        }
    }

    /// The writer's own snapshot includes uncommitted operations.
    fn writers_snapshot(&mut self) {
        match self.writer().snapshot().and_then(|snapshot| rows_in_order(&snapshot)) {
            Ok(rows) => {
                assert!(rows.iter().eq(&self.history.now()), "the writer's snapshot");
                // Later queries take the answers of runs from here.
                let fingerprints: Vec<u64> = rows.iter().map(|row| row.fingerprint).collect();
                let looked_up = self.writer().look_ahead(&fingerprints, 1);
                assert!(looked_up.expect("runs that could be read"), "few rows have few matches");
            }
            Err(error) => self.expect_failure(error),
        }
    }

    /// Readers see all acknowledged operations, and no others unless a call has failed, or a log has been
    /// found that no commit has followed.
    fn read_from_outside(&mut self) {
        let storage: Arc<dyn Storage> = Arc::new(self.disk.clone());
        let opened = match self.reader.take() {
            Some(reader) => reader.refresh(),
            None => Snapshot::open(&storage, &self.options, None),
        };
        match opened.and_then(|reader| Ok((rows_in_order(&reader)?, reader))) {
            Ok((rows, reader)) => {
                let rows = rows.into_iter().collect();
                let prefix = self.history.prefix_with(&rows);
                assert!(prefix.is_some(), "readers see the effect of no prefix: {rows:?}");
                let in_doubt = self.faulty || self.writer().holds_found_log();
                assert!(in_doubt || rows == self.history.durable, "readers see uncommitted operations");
                self.reader = Some(reader);
            }
            Err(error) => self.expect_failure(error),
        }
    }

    fn close(&mut self) {
        let leaves_found_log = self.writer().holds_found_log() && !self.writer().has_uncommitted();
        match self.writer.take().map_or(Ok(()), Writer::close) {
            Ok(()) if leaves_found_log => {}
            Ok(()) => self.history.acknowledge(),
            Err(error) => assert!(self.faulty, "no call has failed, and yet: {error}"),
        }
        self.reopen();
    }

    fn drop_and_reopen(&mut self) {
        self.writer = None;
        self.reopen();
    }

    /// Opens a new writer on the same disk. Retries until no call fails.
    fn reopen(&mut self) {
        let storage: Arc<dyn Storage> = Arc::new(self.disk.clone());
        self.disk.heal();
        let opened = (0..20).find_map(|_| match Writer::open(storage.clone(), self.options.clone()) {
            Ok(writer) => Some(writer),
            Err(error) => {
                assert!(self.faulty, "the database cannot be opened: {error}");
                None
            }
        });
        let writer = opened.expect("a disk without faults can be opened");
        let rows = writer.snapshot().and_then(|snapshot| rows_in_order(&snapshot));
        self.writer = Some(writer);
        match rows {
            Ok(rows) => self.recovered(&rows.into_iter().collect()),
            Err(error) => self.expect_failure(error),
        }
    }

    /// A new writer must find the effect of a prefix that contains everything acknowledged. Only a commit
    /// makes it durable if its end is in a log that the writer goes on with.
    fn recovered(&mut self, rows: &Rows) {
        let found = self.history.prefix_with(rows);
        let history = (&self.history.durable, &self.history.tail);
        assert!(found.is_some(), "no prefix has the effect {rows:?}; acknowledged, and later: {history:?}");
        let count = found.unwrap_or_default();
        match self.writer().holds_found_log() {
            true => self.history.tail.truncate(count),
            false => self.history.keep(count),
        }
    }

    /// Cuts the power, and cuts it again during recovery, which must not change the state.
    fn crash(&mut self, fate: &mut dyn FnMut(Doubt) -> bool) {
        self.writer = None;
        self.reader = None;
        self.disk = self.disk.crash(fate);
        self.faulty = false;
        *self.frozen.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let again = self.crash_in_recovery(fate);
        self.reopen();
        self.history.acknowledge();
        let first = self.history.durable.clone();
        if let Some(disk) = again {
            let storage: Arc<dyn Storage> = Arc::new(disk);
            let writer =
                Writer::<u64>::open(storage.clone(), self.options.clone()).expect("the database opens again");
            writer.close().expect("a sound disk");
            let snapshot = Snapshot::open(&storage, &self.options, None).expect("a sound database");
            let rows: BTreeSet<_> = rows_in_order(&snapshot).expect("sound rows").into_iter().collect();
            assert_eq!(rows, first, "a second crash, in recovery, changed something");
            assert_eq!(snapshot.verify().expect("files can be read").damage, []);
        }
    }

    /// A copy of the disk on which recovery was interrupted.
    fn crash_in_recovery(&self, fate: &mut dyn FnMut(Doubt) -> bool) -> Option<SimulatedDisk> {
        let copy = self.disk.crash(&mut |_| true);
        let at = (0..6).fold(0, |bits, index| bits << 1 | u64::from(fate(Doubt::FolderOperation { index })));
        let frozen = Frozen::default();
        freeze(&copy, at, &frozen);
        let storage: Arc<dyn Storage> = Arc::new(copy);
        drop(Writer::<u64>::open(storage, self.options.clone()));
        let caught = frozen.lock().unwrap_or_else(PoisonError::into_inner).take();
        caught.map(|disk| disk.crash(fate))
    }

    /// Schedules a copy of the disk at one of the next calls.
    fn arm(&mut self, input: &mut Input<'_>) {
        freeze(&self.disk, self.disk.calls() + input.below(80) as u64, &self.frozen);
    }

    fn fail_soon(&mut self, input: &mut Input<'_>) {
        let call = self.disk.calls() + input.below(60) as u64;
        let kind = input.pick(&[ErrorKind::Other, ErrorKind::StorageFull, ErrorKind::PermissionDenied]);
        self.disk.fail_at(call, kind);
        self.faulty = true;
    }

    /// Fills the disk, or frees space.
    fn fill_up(&mut self, input: &mut Input<'_>) {
        let call = self.disk.calls() + input.below(40) as u64;
        if input.flag() {
            self.disk.heal();
        } else {
            self.disk.fail_from(call, ErrorKind::StorageFull);
            self.faulty = true;
        }
    }
}

/// Schedules a copy of the disk before call `at`.
fn freeze(disk: &SimulatedDisk, at: u64, to: &Frozen) {
    let to = to.clone();
    disk.on_call(move |frozen, call| {
        let mut slot = to.lock().unwrap_or_else(PoisonError::into_inner);
        if call == at {
            *slot = Some(frozen.clone());
        }
    });
}

fn small_id(input: &mut Input<'_>) -> u64 {
    u64::from(input.byte() % 24)
}

/// A fate that keeps everything in doubt, nothing, or a random part.
fn random_fate(input: &mut Input<'_>) -> impl FnMut(Doubt) -> bool + use<> {
    let (seed, mut turn) = (u64::from(input.u16()), 0u64);
    move |_| {
        turn += 1;
        match seed % 8 {
            0 => true,
            1 => false,
            2 => !mix64(seed ^ mix64(turn)).is_multiple_of(8),
            3 => mix64(seed ^ mix64(turn)).is_multiple_of(8),
            _ => mix64(seed ^ mix64(turn)).is_multiple_of(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The states of a sound disk when the process ends during a flush.
    fn killed_while_flushing() -> Vec<SimulatedDisk> {
        let options = options();
        let disk = SimulatedDisk::new();
        manifest::replace(&disk, &manifest::fresh(64, &Schema::new()).unwrap()).unwrap();
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        let mut writer = Writer::<u64>::open(storage, options).unwrap();
        writer.insert(Row { fingerprint: 7, id: 1 }).unwrap();
        writer.commit().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        disk.on_call(move |frozen, _| log.lock().unwrap().push(frozen.clone()));
        writer.flush().unwrap();
        seen.lock().unwrap().clone()
    }

    #[test]
    fn regression_a_new_writer_makes_its_state_durable_before_it_removes_files() {
        for disk in killed_while_flushing() {
            let storage: Arc<dyn Storage> = Arc::new(disk.clone());
            let opened = Arc::new(Mutex::new(Vec::new()));
            let log = opened.clone();
            disk.on_call(move |frozen, _| log.lock().unwrap().push(frozen.clone()));
            drop(Writer::<u64>::open(storage, options()).unwrap());
            for disk in opened.lock().unwrap().iter() {
                for lost in 0..12 {
                    let left = disk.crash(&mut |doubt| doubt != Doubt::FolderOperation { index: lost });
                    let storage: Arc<dyn Storage> = Arc::new(left);
                    let snapshot = Snapshot::<u64>::open(&storage, &options(), None).unwrap();
                    assert_eq!(snapshot.query(7, 0).unwrap().len(), 1, "the acknowledged row is found");
                }
            }
        }
    }
}
