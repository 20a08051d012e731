//! Compares the answers of the engine with the answers of a reader that shares nothing with it, over
//! databases whose files are changed and sealed again.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::files::{edit_region, put, seal_pages};
use super::input::Input;
use super::log::seal_frames;
use super::manifests::reseal;
use super::options::options;
use super::plain::{Bytes, Database, Fault, Value, regions};
use crate::format::wal::HEADER_BYTES;
use crate::log::manifest;
use crate::run::write_identities;
use crate::storage::{Storage, names};
use crate::testing::simulated::SimulatedDisk;
use crate::{
    Error, Fingerprint, KeyStorage, NewRow, Pair, Result, Row, Schema, Snapshot, U256, U320, Writer,
};

/// The most changes to a database, and the most numbers that are corrected after them.
const MOST_EDITS: usize = 4;
const MOST_CORRECTIONS: usize = 16;
/// The most fingerprints that are compared with each other.
const MOST_FOR_PAIRS: usize = 300;

/// A database to change, and its content.
struct Base {
    files: Bytes,
    content: Database,
}

fn bases() -> &'static [Base] {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    BASES.get_or_init(|| {
        let written = [
            written::<u64>("bands:3x8"),
            written::<u64>("rotations:3"),
            written::<u128>("blocks:5,2"),
            written::<U256>("bands:4x16"),
            written::<U256>("rotations:2"),
        ];
        let made = written.into_iter().map(|files| files.expect("a sound database is written"));
        let read = |files: Bytes| {
            let content = Database::read(&files).expect("a sound database conforms to FORMAT.md");
            Base { files, content }
        };
        golden().into_iter().chain(made).map(read).collect()
    })
}

fn golden() -> Vec<Bytes> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = |path: &Path| {
        let entries = std::fs::read_dir(path).expect("a folder of golden databases");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        paths
    };
    let later = ["future/needed-to-write", "future/skippable-record"].map(|name| folder.join(name));
    let folders = entries(&folder.join("v1")).into_iter().chain(later);
    // A database may have another one in its folder.
    let inner = |path: &Path| entries(path).into_iter().filter(|inner| inner.is_dir()).collect::<Vec<_>>();
    folders.flat_map(|path| inner(&path).into_iter().chain([path])).map(|path| files_of(&path)).collect()
}

/// The files of a folder.
fn files_of(folder: &Path) -> Bytes {
    let read = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read(path).expect("a file"))
    };
    let entries = std::fs::read_dir(folder).expect("a golden database");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.is_file()).map(|path| read(&path)).collect()
}

/// Two runs with keys, tombstones in the younger one, a log, and identities of ingested runs.
fn written<F: Fingerprint>(layout: &str) -> Result<Bytes> {
    let disk = SimulatedDisk::new();
    let schema = Schema::new().layout(layout.parse()?).keys(KeyStorage::KeysAndTexts).recipe("a recipe");
    let options = options();
    let mut empty = manifest::fresh(F::BITS, &schema)?;
    let number = empty.take_run_number();
    empty.ingested = vec![write_identities(&disk, &empty, number, &[[1; 16], [2; 16], [7; 16]])?];
    manifest::replace(&disk, &empty)?;
    let mut writer = Writer::<F>::open(Arc::new(disk.clone()), options)?;
    let value = |number: u64| {
        let word = |value: F, at: u32| {
            value | F::from_bits(super::input::random(number / 3 + u64::from(at)), at * 64, 64)
        };
        (0..F::BITS / 64).fold(F::default(), word) ^ F::from_bits(number % 3, F::BITS / 2, 8)
    };
    for id in 0..40 {
        writer.insert(Row { fingerprint: value(id), id: id % 30 })?;
        writer.insert(NewRow { text: b"text", ..NewRow::keyed(value(id / 2), &format!("key {id}")) })?;
    }
    writer.flush()?;
    for id in 20..40 {
        writer.delete(id - 15)?;
        writer.insert(NewRow { id: Some(id), ..NewRow::keyed(value(id), &format!("key {}", id % 4)) })?;
    }
    writer.flush()?;
    writer.delete(22)?;
    writer.insert(NewRow { id: Some(23), text: b"later", ..NewRow::keyed(value(23), "key 3") })?;
    writer.set_checkpoint(b"half way")?;
    writer.commit()?;
    writer.insert(Row { fingerprint: value(90), id: 90 })?;
    writer.commit()?;
    drop(writer);
    let content = |name: String| (name.clone(), disk.file_bytes(&name).unwrap_or_default());
    Ok(disk.names().into_iter().filter(|name| name != "LOCK").map(content).collect())
}

/// A database with changed files, and what the reader finds in them.
struct Changed {
    base: &'static Base,
    files: Bytes,
    /// Whether all checksums are right, except at the end of a log, where a wrong one is no damage.
    is_sealed: bool,
    found: std::result::Result<Database, Fault>,
    questions: [u8; 16],
}

/// Changes files of a database, and for some inputs corrects checksums, and sums and limits over
/// data.
fn changed(bytes: &[u8]) -> Changed {
    let mut input = Input::new(bytes);
    let base = &bases()[input.below(bases().len())];
    let (mode, questions) = (input.byte(), input.array());
    let mut files = base.files.clone();
    edit(&mut files, base, 1 + usize::from(mode / 4) % MOST_EDITS, &mut input);
    let is_sealed = mode & 1 == 1;
    if is_sealed {
        seal(&mut files, &base.content.records);
    }
    let found = if mode & 3 == 3 { corrected(&mut files, base) } else { Database::read(&files) };
    let is_sealed = is_sealed || logs(&files).ne(logs(&base.files));
    Changed { base, files, is_sealed, found, questions }
}

fn logs(files: &Bytes) -> impl Iterator<Item = &Vec<u8>> {
    files.iter().filter(|(name, _)| name.starts_with("wal-")).map(|(_, bytes)| bytes)
}

/// Changes files of a database. If the reader finds that they conform to FORMAT.md, the engine must
/// find no damage, and give the reader's answers. Otherwise opening or verification must report an
/// error. With a wrong checksum, each answer is an error or comes from the unchanged database.
pub(super) fn answers(bytes: &[u8]) {
    let Changed { base, files, is_sealed, found, questions } = changed(bytes);
    let expected = match &found {
        Ok(content) => Expected::Sound(content),
        Err(fault @ Fault::Newer(_)) => Expected::Newer(fault),
        Err(fault) => Expected::Damage(fault, (!is_sealed).then_some(&base.content)),
    };
    let width = found.as_ref().map_or(base.content.width, |content| content.width);
    match width {
        64 => check::<u64>(&files, &expected, &questions),
        128 => check::<u128>(&files, &expected, &questions),
        256 => check::<U256>(&files, &expected, &questions),
        _ => check::<U320>(&files, &expected, &questions),
    }
}

/// What must hold for the changed files.
enum Expected<'a> {
    /// No damage, and these answers.
    Sound(&'a Database),
    /// Refused by opening.
    Newer(&'a Fault),
    /// Damage that verification reports. If there is a content, each answer comes from the content, or
    /// is damage.
    Damage(&'a Fault, Option<&'a Database>),
}

/// Changes some bytes that have a meaning.
fn edit(files: &mut Bytes, base: &Base, most: usize, input: &mut Input<'_>) {
    let names: Vec<String> = files.keys().cloned().collect();
    for _ in 0..most {
        if input.is_empty() {
            return;
        }
        let name = &names[input.below(names.len())];
        let other = &bases()[input.below(bases().len())].files;
        let Some(bytes) = files.get_mut(name) else { continue };
        let regions = regions(name, &base.files[name]);
        let region = regions[input.below(regions.len())].clone();
        edit_region(bytes, region, other.get(name).map(Vec::as_slice), input);
    }
}

/// Corrects the checksums of all files, and the manifest's records of them.
fn seal(files: &mut Bytes, records: &[(String, usize)]) {
    let mut manifest = files.remove(names::MANIFEST).unwrap_or_default();
    for (name, at) in records {
        let Some(bytes) = files.get_mut(name) else { continue };
        seal_pages(bytes);
        put(&mut manifest, *at, &(bytes.len() as u64).to_le_bytes());
        put(&mut manifest, at + 8, bytes.last_chunk::<4>().unwrap_or(&[0; 4]));
    }
    reseal(&mut manifest);
    files.insert(names::MANIFEST.into(), manifest);
    for (_, log) in files.iter_mut().filter(|(name, _)| name.starts_with("wal-")) {
        if let Some(header) = log.get(..HEADER_BYTES - 4) {
            let crc = crc32fast::hash(header);
            put(log, HEADER_BYTES - 4, &crc.to_le_bytes());
        }
        seal_frames(log);
    }
}

/// Corrects sums and limits over data until nothing but other faults are left.
fn corrected(files: &mut Bytes, base: &Base) -> std::result::Result<Database, Fault> {
    for _ in 0..MOST_CORRECTIONS {
        let Err(Fault::Number { value, places }) = Database::read(files) else { break };
        for place in places {
            let Some(bytes) = files.get_mut(&place.file) else { continue };
            put(bytes, place.offset, &value.to_le_bytes());
        }
        seal(files, &base.content.records);
    }
    Database::read(files)
}

fn check<F: Fingerprint>(files: &Bytes, expected: &Expected<'_>, questions: &[u8]) {
    let disk = SimulatedDisk::new();
    files.iter().for_each(|(name, bytes)| disk.set_file_bytes(name, bytes.clone()));
    let storage: Arc<dyn Storage> = Arc::new(disk);
    let opened = Snapshot::<F>::open(&storage, &options(), None);
    let compare = |content, snapshot: &_, may_fail| {
        Comparison { content, snapshot, may_fail }.compare(&mut Input::new(questions));
    };
    match (expected, opened) {
        (Expected::Sound(content), opened) => {
            let snapshot = opened.expect("files that conform to FORMAT.md open");
            compare(content, &snapshot, false);
            assert_eq!(snapshot.verify().expect("files in memory are readable").damage, []);
        }
        (Expected::Newer(fault), opened) => assert!(opened.is_err(), "needs a newer program: {fault}"),
        (Expected::Damage(fault, content), Ok(snapshot)) => {
            content.iter().for_each(|content| compare(content, &snapshot, true));
            let is_sound = snapshot.verify().is_ok_and(|found| found.damage.is_empty());
            assert!(!is_sound, "verification reports: {fault}");
        }
        (Expected::Damage(..), Err(_)) => {}
    }
}

/// The answers of a snapshot beside the content of its files.
struct Comparison<'a, F> {
    content: &'a Database,
    snapshot: &'a Snapshot<F>,
    /// Whether damage is an answer.
    may_fail: bool,
}

impl<F: Fingerprint> Comparison<'_, F> {
    fn same<T: PartialEq + Debug>(&self, found: Result<T>, expected: T, what: &str) {
        match found {
            Ok(found) => assert_eq!(found, expected, "{what}"),
            Err(Error::Corrupt(_)) if self.may_fail => {}
            Err(error) => panic!("{what}: {error}"),
        }
    }

    fn compare(&self, input: &mut Input<'_>) {
        let (content, snapshot) = (self.content, self.snapshot);
        let mut rows = Vec::new();
        let visited = snapshot.visit_rows(|row| {
            rows.push((value_of(row.fingerprint), row.id));
            Ok::<(), Error>(())
        });
        self.same(visited.map(|()| rows), content.rows.rows.iter().cloned().collect(), "rows");
        for _ in 0..3 {
            self.query(input);
        }
        self.keys(input);
        self.pairs(input.k());
        let texts = (snapshot.recipe().map(str::as_bytes), snapshot.checkpoint(), snapshot.history());
        assert_eq!(
            texts,
            (content.recipe.as_deref(), content.checkpoint.as_deref(), content.history.as_deref())
        );
    }

    fn query(&self, input: &mut Input<'_>) {
        let (content, k) = (self.content, input.k());
        let rows = &content.rows.rows;
        let (nth, flips) = (usize::from(input.u16()), [input.byte(), input.byte()]);
        let mut query = vec![0; content.width as usize / 8];
        if let Some((value, _)) = rows.iter().nth(nth % (rows.len() + 1)) {
            query = value.le_bytes();
        }
        for flip in flips {
            let at = usize::from(flip) % query.len();
            query[at] ^= flip >> 5;
        }
        let query = Value::from_le_bytes(&query);
        let near = rows
            .iter()
            .filter_map(|(value, id)| Some((content.distance(&query, value, k)?, value.clone(), *id)));
        let mut expected: Vec<_> = near.collect();
        expected.sort_unstable();
        let found = self.snapshot.query(F::read_le(&query.le_bytes()), k).map(|found| {
            found.iter().map(|found| (found.distance, value_of(found.fingerprint), found.id)).collect()
        });
        self.same(found, expected, "matches");
    }

    /// Compares the keys of some rows.
    fn keys(&self, input: &mut Input<'_>) {
        let rows = &self.content.rows.rows;
        for row in rows.iter().cycle().skip(usize::from(input.byte())).take(rows.len().min(8)) {
            let fingerprint = F::read_le(&row.0.le_bytes());
            let found = self.snapshot.keys_of(Row { fingerprint, id: row.1 });
            let found = found.map(|keys| {
                keys.into_iter().map(|key| (key.key, key.sequence, key.last_sequence, key.text)).collect()
            });
            let keys = self.content.rows.keys_of(row);
            // Keys that are not UTF-8 may be shown in any form.
            let shown = keys.map(|key| {
                Some((String::from_utf8(key.key.clone()).ok()?, key.first, key.last, key.text.clone()))
            });
            if let Some(expected) = shown.collect::<Option<Vec<_>>>() {
                self.same(found, expected, "keys");
            }
        }
    }

    fn pairs(&self, k: u32) {
        let values: BTreeSet<&Value> = self.content.rows.rows.iter().map(|row| &row.0).collect();
        if values.len() > MOST_FOR_PAIRS {
            return;
        }
        let mut expected = Vec::new();
        for (nth, &a) in values.iter().enumerate() {
            for &b in values.iter().skip(nth + 1) {
                let distance = self.content.distance(a, b, k);
                expected.extend(distance.map(|distance| (a.clone(), b.clone(), distance)));
            }
        }
        let mut found = Vec::new();
        let visited = self.snapshot.visit_pairs(k, |block: &[Pair<F>]| {
            found.extend(block.iter().map(|pair| (value_of(pair.a), value_of(pair.b), pair.distance)));
            Ok::<(), Error>(())
        });
        found.sort_unstable();
        self.same(visited.map(|()| found), expected, "pairs");
    }
}

fn value_of<F: Fingerprint>(fingerprint: F) -> Value {
    let mut bytes = Vec::new();
    fingerprint.write_le(&mut bytes);
    Value::from_le_bytes(&bytes)
}

/// Each base without a change, and with changes of all kinds.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for base in 0..bases().len() {
        let start = |mode: u8| [&base.to_le_bytes()[..1], &[mode], &[3; 16]].concat();
        seeds.push(start(0));
        for (mode, mut noise) in (0..4).zip(super::replay::noises()) {
            noise.truncate(40);
            seeds.push([start(mode), noise].concat());
        }
    }
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fuzzing::input::random;

    /// What the reader finds in a changed golden database, after the engine has agreed.
    fn agreed<F: Fingerprint>(
        name: &str,
        change: impl FnOnce(&mut Bytes),
    ) -> std::result::Result<Database, Fault> {
        let mut files = files_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1").join(name));
        let records = Database::read(&files).expect("a golden database").records;
        change(&mut files);
        seal(&mut files, &records);
        let found = Database::read(&files);
        let expected = match &found {
            Ok(content) => Expected::Sound(content),
            Err(fault) => Expected::Damage(fault, None),
        };
        check::<F>(&files, &expected, &[7; 16]);
        found
    }

    /// Changes a file.
    fn edit_file(files: &mut Bytes, name: &str, edit: impl FnOnce(&mut Vec<u8>)) {
        edit(files.get_mut(name).expect("a file of the database"));
    }

    /// Verification took the length of the record that a writer would write, without the number.
    #[test]
    fn regression_a_key_may_have_the_same_first_and_last_insertion() {
        const RECORDS: usize = 0x6000;
        const FOOTER: usize = 0xa000;
        let found = agreed::<u128>("two-keys", |files| {
            edit_file(files, "00000001.keys", |keys| {
                // The first record is 32 bytes long, and gets the number of its last insertion, 0.
                keys[RECORDS + 27] |= 0x80;
                keys.copy_within(RECORDS + 28..RECORDS + 61, RECORDS + 36);
                keys[RECORDS + 28..RECORDS + 36].fill(0);
                for (at, number) in [(0x4000, 40u64), (0x4008, 69), (FOOTER + 40, 69), (FOOTER + 136, 69)] {
                    keys[at..at + 8].copy_from_slice(&number.to_le_bytes());
                }
            });
        });
        assert_eq!(found.unwrap().rows.rows.len(), 2);
    }

    #[test]
    fn regression_rows_of_a_sealed_log_without_the_flag_of_ids_are_damage() {
        const FLAGS: usize = 0x54;
        const LARGEST_ID: usize = 0x60;
        let found = agreed::<u64>("sealed", |files| {
            edit_file(files, names::MANIFEST, |manifest| {
                manifest[FLAGS] &= !1;
                manifest[LARGEST_ID..LARGEST_ID + 8].fill(0);
            });
        });
        assert!(matches!(found, Err(Fault::Damage(_))), "{:?}", found.err());
    }

    /// Changes lead to all outcomes; without that the target would compare nothing.
    #[test]
    fn changes_lead_to_other_rows_to_damage_and_to_newer_programs() {
        let (mut other_rows, mut damage, mut newer) = (0, 0, 0);
        for seed in 0..2000 {
            let noise: Vec<u8> = (0..6).flat_map(|word| random(seed * 8 + word).to_le_bytes()).collect();
            let Changed { base, found, .. } = changed(&[&[noise[0], 3], &noise[2..]].concat());
            match found {
                Ok(content) if content.rows.rows != base.content.rows.rows => other_rows += 1,
                Ok(_) => {}
                Err(Fault::Newer(_)) => newer += 1,
                Err(_) => damage += 1,
            }
        }
        println!("{other_rows} with other rows, {damage} damaged, {newer} of newer programs");
        assert!(other_rows > 20 && damage > 20 && newer > 2);
    }
}
