//! Databases that this program never writes, and must not call damaged: databases of a later
//! program, and databases at the limits of the format.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Database;
use crate::database::snapshot::Snapshot;
use crate::database::writer::Writer;
use crate::error::{Error, Result};
use crate::fingerprint::Row;
use crate::format::manifest::{LiveWal, MAX_NUMBER, Manifest};
use crate::format::schema::Schema;
use crate::format::wal::{Content, Operation};
use crate::layout::LayoutChoice;
use crate::log::manifest;
use crate::log::wal::Wal;
use crate::options::Options;
use crate::run::{Segment, SegmentWriter};
use crate::storage::{Folder, Storage, names};
use crate::testing::simulated::SimulatedDisk;

const ROW: Row<u64> = Row { fingerprint: 0x0123_4567_89ab_cdef, id: 42 };

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A copy of a golden database.
fn copy_of(name: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(golden(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), home.path().join(entry.file_name())).unwrap();
    }
    home
}

/// Changes bytes of a manifest, and corrects its checksum.
fn edit_manifest(folder: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let path = folder.join(names::MANIFEST);
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 4);
    edit(&mut bytes);
    let len_bytes = bytes.len() as u64 + 4;
    bytes[16..24].copy_from_slice(&len_bytes.to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    fs::write(path, bytes).unwrap();
}

/// Appends an empty record.
fn add_record(bytes: &mut Vec<u8>, tag: &[u8; 4]) {
    bytes[12] += 1;
    bytes.extend(tag.iter().copied().chain([0; 4]));
}

/// Appends a copy of the first record, `DATA`.
fn repeat_first_record(bytes: &mut Vec<u8>) {
    bytes[12] += 1;
    let first = bytes[32..32 + 8 + 96].to_vec();
    bytes.extend(first);
}

/// A name, and the change that makes a database of a later program of `v1/one-row`.
type Later = (&'static str, fn(&mut Vec<u8>));

const SKIPPABLE: Later = ("skippable-record", |bytes| add_record(bytes, b"late"));
const READABLE: Later = ("needed-to-write", |bytes| bytes[28] = 1);
const UNREADABLE: [Later; 4] = [
    ("needed-to-read", |bytes| bytes[24] = 1),
    ("record", |bytes| add_record(bytes, b"LATE")),
    ("layout", |bytes| bytes[72] = 6),
    ("flag", |bytes| bytes[85] |= 1),
];
/// A log with a batch of an unknown kind.
const LOG: &str = "log";

/// Writes the database of a later program.
fn write(folder: &Path, later: Later) {
    let made = copy_of("v1/one-row");
    fs::create_dir_all(folder).unwrap();
    for entry in fs::read_dir(made.path()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    edit_manifest(folder, later.1);
}

fn write_log(folder: &Path) {
    write(folder, (LOG, |_| ()));
    let storage = Folder::of_database(folder).unwrap();
    let mut manifest = manifest::of::<u64>(&storage).unwrap();
    let mut content = Content::default();
    content.push(Operation::<u64>::Delete(7));
    let mut log = Wal::create(&storage, &manifest).unwrap();
    log.append(&content).unwrap();
    (manifest.live_wal, manifest.next_wal) = (Some(log.live), log.live.number + 1);
    fs::write(folder.join(names::MANIFEST), manifest.encode()).unwrap();
    // The kind of the batch, under a correct hash.
    let path = folder.join(names::wal(log.live.number));
    let mut bytes = fs::read(&path).unwrap();
    bytes[88] = 8;
    crate::testing::fuzzing::log::seal_frames(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn is_newer<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::NewerFeature { .. }))
}

/// That a folder is refused as newer by everything, and left as it is.
fn assert_unreadable(folder: &Path, what: &str) {
    assert!(is_newer(Database::<u64>::open(folder).and_then(|found| found.snapshot())), "{what}");
    assert!(
        is_newer(Writer::<u64>::open(Arc::new(Folder::of_database(folder).unwrap()), Options::new())),
        "{what}"
    );
    let copy = folder.with_extension("copy");
    assert!(is_newer(Options::new().repair::<u64>(folder, &copy, &Schema::new())), "{what}");
    assert!(!copy.exists());
}

#[test]
fn databases_of_a_later_program_are_not_damaged() {
    crate::util::random::fixed::fix_ids();
    if std::env::var_os("NEARPRINT_WRITE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(golden("future"));
        for later in UNREADABLE.into_iter().chain([SKIPPABLE, READABLE]) {
            write(&golden("future").join(later.0), later);
        }
        write_log(&golden("future").join(LOG));
    }
    for name in UNREADABLE.iter().map(|later| later.0).chain([LOG]) {
        assert_unreadable(copy_of(&format!("future/{name}")).path(), name);
    }

    let home = copy_of("future/needed-to-write");
    let database = Database::<u64>::open(home.path()).unwrap();
    let snapshot = database.snapshot().unwrap();
    assert_eq!(snapshot.all_rows(), [ROW]);
    assert_eq!(snapshot.verify().unwrap().damage, []);
    let copy = home.path().with_extension("copy");
    assert!(is_newer(database.writer()) && is_newer(snapshot.backup(&copy)));
    assert!(is_newer(Options::new().repair::<u64>(home.path(), &copy, &Schema::new())));
    assert!(!copy.exists());

    let home = copy_of("future/skippable-record");
    let database = Database::<u64>::open(home.path()).unwrap();
    let mut writer = database.writer().unwrap();
    writer.insert(Row { fingerprint: 7, id: 1 }).unwrap();
    writer.close().unwrap();
    let manifest = manifest::of::<u64>(&Folder::of_database(home.path()).unwrap()).unwrap();
    assert_eq!(manifest.skipped, [(*b"late", Vec::new())]);
    assert_eq!(database.snapshot().unwrap().all_rows(), [Row { fingerprint: 7, id: 1 }, ROW]);
}

/// A database with the manifest of an empty one, changed.
fn empty(change: impl FnOnce(&mut Manifest)) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let mut manifest = manifest::fresh(64, &Schema::new()).unwrap();
    change(&mut manifest);
    disk.set_file_bytes(names::MANIFEST, manifest.encode());
    disk
}

fn open_writer(disk: &SimulatedDisk) -> Result<Writer<u64>> {
    Writer::open(Arc::new(disk.clone()), Options::new().background_merges(false))
}

#[test]
fn regression_blocks_that_do_not_cover_k_are_scanned() {
    let disk = empty(|manifest| manifest.layout = LayoutChoice::Blocks { blocks: 2, prefix: 1 });
    let mut writer = open_writer(&disk).unwrap();
    for value in 0..20 {
        writer.insert(Row { fingerprint: value, id: value }).unwrap();
    }
    writer.commit().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let read = || Snapshot::<u64>::open(&storage, &Options::new(), None).unwrap();
    let near = (0..20).filter(|value: &u64| (value ^ 3).count_ones() <= 1).count();
    assert_eq!(read().query(3, 1).unwrap().len(), near);
    writer.compact().unwrap();
    writer.close().unwrap();
    assert_eq!(read().query(3, 1).unwrap().len(), near);
    assert_eq!(read().verify().unwrap().damage, []);
}

#[test]
fn regression_a_writer_stops_before_its_numbers_end() {
    type Change = fn(&mut Manifest);
    let changes: [Change; 4] = [
        |manifest| manifest.generation = MAX_NUMBER,
        |manifest| manifest.next_run = MAX_NUMBER,
        |manifest| manifest.next_wal = MAX_NUMBER,
        |manifest| manifest.next_frame = MAX_NUMBER,
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let disk = empty(change);
        let ended = open_writer(&disk).and_then(|mut writer| {
            writer.insert(Row { fingerprint: 7, id: 1 })?;
            writer.commit()?;
            writer.flush()
        });
        assert!(matches!(ended, Err(Error::Limit(_))), "{index}: {ended:?}");
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        let snapshot = Snapshot::<u64>::open(&storage, &Options::new(), None).unwrap();
        assert_eq!(snapshot.verify().unwrap().damage, [], "{index}");
    }
}

#[test]
fn regression_a_log_of_a_copy_is_not_taken_for_the_own_one() {
    let disk = empty(|_| ());
    let mut writer = open_writer(&disk).unwrap();
    writer.insert(Row { fingerprint: 7, id: 1 }).unwrap();
    writer.commit().unwrap();
    let copy = disk.crash(&mut |_| true);
    let storage: Arc<dyn Storage> = Arc::new(copy.clone());
    let manifest = manifest::of::<u64>(&copy).unwrap();
    let LiveWal { number, .. } = manifest.live_wal.unwrap();
    let mut log = copy.file_bytes(&names::wal(number)).unwrap();
    log[40] ^= 1;
    let crc = crc32fast::hash(&log[..60]);
    log[60..64].copy_from_slice(&crc.to_le_bytes());
    copy.set_file_bytes(&names::wal(number), log);
    let read = Snapshot::<u64>::open(&storage, &Options::new(), None);
    assert!(matches!(&read, Err(Error::Corrupt(damage)) if damage.expected.starts_with("salt")), "{read:?}");
}

/// Copies of a database have files of the same names for the same database and run.
#[test]
fn regression_pages_of_another_copy_are_detected() {
    let disk = empty(|_| ());
    let run = |id: u64| {
        let copy = disk.crash(&mut |_| true);
        let mut writer = open_writer(&copy).unwrap();
        for value in 0..600 {
            writer.insert(Row { fingerprint: ROW.fingerprint ^ value ^ id << 40, id: value }).unwrap();
        }
        writer.close().unwrap();
        copy
    };
    let (one, other) = (run(1), run(2));
    let storage: Arc<dyn Storage> = Arc::new(one.clone());
    let name = names::segment(1, 0);
    let (sound, foreign) = (one.file_bytes(&name).unwrap(), other.file_bytes(&name).unwrap());
    assert_eq!(sound.len(), foreign.len());
    let query = || -> Result<usize> {
        let snapshot = Snapshot::<u64>::open(&storage, &Options::new().threads(1), None)?;
        let mut rows = 0;
        snapshot.visit_rows(|_| {
            rows += 1;
            Ok::<(), Error>(())
        })?;
        Ok(rows + snapshot.query(ROW.fingerprint ^ 1 << 40, 64)?.len())
    };
    assert_eq!(query().unwrap(), 1200);
    let page = crate::format::paged::PAGE_BYTES;
    let ends = page..sound.len() - page;
    let mut mixed = sound.clone();
    mixed[ends.clone()].copy_from_slice(&foreign[ends]);
    one.set_file_bytes(&name, mixed);
    assert!(matches!(query(), Err(Error::Corrupt(damage)) if damage.section == "checksums"));
    one.set_file_bytes(&name, foreign);
    assert!(matches!(query(), Err(Error::Corrupt(damage)) if damage.expected.starts_with("salt")));
}

#[test]
fn regression_a_directory_longer_than_a_band_is_damage() {
    let disk = empty(|manifest| manifest.layout = "bands:3x8".parse().unwrap());
    let mut writer = open_writer(&disk).unwrap();
    for id in 0..5000 {
        writer.insert(Row { fingerprint: crate::fingerprint::mix64(id), id }).unwrap();
    }
    writer.close().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let open = || Snapshot::<u64>::open(&storage, &Options::new(), None);
    let mut values: Vec<u64> = open().unwrap().all_rows().iter().map(|row| row.fingerprint).collect();
    values.sort_unstable();
    // Table 0 again, with as many directory bits as would suit its entries.
    let mut manifest = manifest::of::<u64>(&disk).unwrap();
    let (layout, owner) = (manifest.runs[0].layout.clone(), manifest.owner_of(&manifest.runs[0]));
    let spec = Segment::<u64>::file_spec(owner, &layout, 0);
    disk.remove(&spec.name).unwrap();
    let mut table = SegmentWriter::create(&disk, &spec, layout.table(0), 5000, 9).unwrap();
    table.push(&values).unwrap();
    manifest.runs[0].segments[0] = table.finish().unwrap().0;
    disk.set_file_bytes(names::MANIFEST, manifest.encode());
    assert!(matches!(open(), Err(Error::Corrupt(damage)) if damage.found == "9"));
}

/// It was taken for a record of a later program, so that `repair` refused it.
#[test]
fn regression_a_second_record_of_the_database_is_damage() {
    let home = copy_of("v1/one-row");
    edit_manifest(home.path(), repeat_first_record);
    let opened = Database::<u64>::open(home.path()).and_then(|found| found.snapshot());
    assert!(matches!(opened, Err(Error::Corrupt(_))));
    let target = tempfile::tempdir().unwrap();
    let copy = target.path().join("copy");
    Options::new().repair::<u64>(home.path(), &copy, &Schema::new()).unwrap();
    assert_eq!(Database::<u64>::open(&copy).unwrap().snapshot().unwrap().all_rows(), [ROW]);
}
