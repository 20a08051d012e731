//! Repairing damaged databases: what is saved stood in the original, and what is lost is counted.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::forge::forge;
use crate::repair_support::{
    PAGE, Rows, all_rows, complete_layout, has, quick, repair, with_a_writer, with_damage, without,
};
use nearprint::{
    Database, Error, FindingKind, Fingerprint, KeyStorage, LayoutChoice, NewRow, Row, Schema, Snapshot, U256,
};
use testkit::{
    Random, Shape, build, by_width, files, folder_in_memory, for_each_width, layout, low, rows, several_ids,
    short_or_full,
};

for_each_width!(
    a_sound_database_comes_out_the_same,
    the_new_database_has_the_same_schema_and_never_reuses_an_id,
    a_flipped_bit_costs_at_most_a_page_of_rows,
    rows_of_an_unreadable_page_of_ids_are_lost_and_no_others,
    several_runs_tombstones_and_a_log_survive_flipped_bits,
    hostile_pages_beside_damaged_ones_never_panic,
);

fn a_sound_database_comes_out_the_same<F: Fingerprint>() {
    let home = folder_in_memory();
    for (name, rows) in [
        ("several", several_ids::<F>(Shape::Uniform, 5000, 1)),
        ("uniform", rows::<F>(Shape::Uniform, 5000, 2)),
        ("equal", rows::<F>(Shape::Equal, 5000, 3)),
        ("none", vec![]),
    ] {
        let path = home.path().join(name);
        build(&path, &rows, layout("rotations:3").k(5));
        let (report, found) = repair::<F>(&path);
        assert_eq!(found, rows.into_iter().collect::<Rows<F>>(), "{name}");
        assert_eq!((report.lost_rows, report.lost_fingerprints, report.recovered), (0, 0, 0));
        assert!(report.made && report.is_complete() && report.findings.is_empty(), "{report:?}");
    }
}

fn the_new_database_has_the_same_schema_and_never_reuses_an_id<F: Fingerprint>() {
    let home = folder_in_memory();
    let (path, dest) = (home.path().join("db"), home.path().join("saved"));
    let database = Database::<F>::create(&path, &layout("rotations:3").k(7)).unwrap();
    let mut writer = database.writer().unwrap();
    for fingerprint in 0..10 {
        writer.insert(low::<F>(fingerprint)).unwrap();
    }
    writer.delete(9).unwrap();
    writer.close().unwrap();
    quick().repair::<F>(&path, &dest, &Schema::new()).unwrap();
    let saved = Database::<F>::open(&dest).unwrap();
    assert_eq!(all_rows::<F>(&dest).len(), 9);
    let stats = saved.snapshot().unwrap().stats();
    assert_eq!(stats.k, 7);
    assert_eq!(stats.layout, LayoutChoice::Rotations { tables: 3 });
    assert_eq!(saved.writer().unwrap().insert(low::<F>(77)).unwrap(), 10);
    let id = |path: &Path| fs::read(path.join("MANIFEST")).unwrap()[32..48].to_vec();
    assert_ne!(id(&path), id(&dest));
}

/// One bit in every page of every file. Tables put whole fingerprints together again, so only ids
/// are lost.
fn a_flipped_bit_costs_at_most_a_page_of_rows<F: Fingerprint>() {
    let home = folder_in_memory();
    let cases = [
        ("several", several_ids::<F>(Shape::Uniform, short_or_full(4500, 9000), 4)),
        ("uniform", rows(Shape::Uniform, short_or_full(4500, 6000), 5)),
        ("skewed", several_ids(Shape::Skewed, short_or_full(4500, 6000), 4)),
    ];
    for (name, rows) in cases {
        let path = home.path().join(name);
        build(&path, &rows, layout(complete_layout::<F>()));
        let all: Rows<F> = rows.into_iter().collect();
        let entries = all.iter().map(|row| row.fingerprint).collect::<BTreeSet<_>>().len();
        // Whole values stand at the end of the rows file, where tables have only a part of each.
        let value_bytes = by_width::<F, _>(0, F::LEN_BYTES, F::LEN_BYTES);
        let value_pages = (entries * value_bytes).div_ceil(PAGE);
        let mut random = Random(6);
        let mut recovered = 0;
        for file in files(&path) {
            let len = fs::metadata(&file).unwrap().len() as usize;
            let is_rows = file.ends_with("00000001.rows");
            let data_end = (len / PAGE).saturating_sub(2);
            for page in (0..len.div_ceil(PAGE)).step_by(short_or_full(2, 1)) {
                // Early in the page, where there is always content, and anywhere.
                for at in [page * PAGE + 2, page * PAGE + random.below(PAGE as u64) as usize] {
                    let flip = |bytes: &mut Vec<u8>| bytes[at.min(len - 1)] ^= 4;
                    let (report, found) = with_damage(&file, flip, || repair::<F>(&path));
                    let what = format!("{name} {} byte {at}: {report:?}", file.display());
                    assert!(found.is_subset(&all), "{what}");
                    assert_eq!((all.len() - found.len()) as u64, report.lost_rows, "{what}");
                    assert_eq!(report.lost_fingerprints, 0, "{what}");
                    recovered += report.recovered;
                    let values = data_end.saturating_sub(value_pages)..data_end;
                    if is_rows && values.contains(&page) {
                        assert!(report.recovered > 0, "{what}");
                    }
                    // One page of `starts` says where all these rows begin.
                    let is_of_starts = page > all.len().div_ceil(2048) && page < values.start;
                    let most = if is_of_starts { all.len() as u64 } else { 2048 };
                    let is_of_ids = is_rows && (1..values.start).contains(&page);
                    assert!(report.lost_rows <= most * u64::from(is_of_ids), "{what}");
                }
            }
        }
        assert!(recovered > 1000, "{recovered}");
    }
}

fn rows_of_an_unreadable_page_of_ids_are_lost_and_no_others<F: Fingerprint>() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let all: Rows<F> = rows::<F>(Shape::Uniform, 6000, 7).into_iter().collect();
    build(&path, &all.iter().copied().collect::<Vec<_>>(), layout(complete_layout::<F>()));
    let file = path.join("00000001.rows");
    let (report, found) = with_damage(&file, |bytes| bytes[2 * PAGE + 5] ^= 1, || repair::<F>(&path));
    let expected: Rows<F> =
        all.iter().enumerate().filter(|(at, _)| at / 2048 != 1).map(|(_, row)| *row).collect();
    assert_eq!(found, expected);
    assert_eq!((report.rows, report.lost_rows), (6000 - 2048, 2048));
    assert!(!report.is_complete());
    assert!(has(&report, FindingKind::Lost, "00000001.rows"));
}

fn several_runs_tombstones_and_a_log_survive_flipped_bits<F: Fingerprint>() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let (live, ever) = with_a_writer::<F>(&path);
    assert_eq!(all_rows::<F>(&path), live);
    let (report, found) = repair::<F>(&path);
    assert_eq!(found, live);
    assert!(report.findings.is_empty(), "{report:?}");
    let kinds: Vec<String> =
        files(&path).iter().map(|file| file.file_name().unwrap().to_str().unwrap().into()).collect();
    assert_eq!(kinds.iter().filter(|name| name.ends_with(".dels")).count(), 2, "{kinds:?}");
    for (file, name) in files(&path).into_iter().zip(kinds) {
        let len = fs::metadata(&file).unwrap().len() as usize;
        // In short form, every ninth page, the first and the last included.
        let pages = len.div_ceil(PAGE);
        for page in (0..pages).step_by(short_or_full(9, 1)).chain([pages - 1]) {
            let at = page * PAGE + 6;
            let (report, found) = with_damage(&file, |bytes| bytes[at] ^= 8, || repair::<F>(&path));
            let what = format!("{name} page {page}: {report:?}");
            assert!(found.is_subset(&ever), "{what}");
            match name.rsplit('.').next().unwrap() {
                "rows" => {
                    assert!(found.is_subset(&live), "{what}");
                    assert!((live.len() - found.len()) as u64 <= report.lost_rows, "{what}");
                }
                "dels" => {
                    assert!(found.is_superset(&live), "{what}");
                    assert_eq!(found != live, has(&report, FindingKind::Note, &name), "{what}");
                }
                "seg" => assert_eq!(found, live, "{what}"),
                "log" => assert_eq!(found, live, "{what}"),
                _ => assert!(found.is_superset(&live), "{what}"),
            }
        }
    }
}

/// Misleading pages with sound checksums, and plainly damaged ones: a repair ends without a panic
/// or a hang, and a repair without findings has saved exactly the rows that stood there.
fn hostile_pages_beside_damaged_ones_never_panic<F: Fingerprint>() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let rows = several_ids::<F>(Shape::Uniform, 3000, 14);
    build(&path, &rows, layout("rotations:2"));
    let all: Rows<F> = rows.into_iter().collect();
    let mut random = Random(15);
    for name in ["00000001-t0.seg", "00000001-t1.seg", "00000001.rows"] {
        let file = path.join(name);
        let pages = fs::metadata(&file).unwrap().len() as usize / PAGE;
        for page in 1..pages - 2 {
            for value in [0u8, 1, 0x80, 0xff] {
                let at = random.below(PAGE as u64 / 8) as usize * 4;
                let start = page * PAGE;
                let changed = start + at..(start + at + 16).min(start + PAGE);
                let _restored = forge(&path, name, |bytes| bytes[changed].fill(value));
                // And one that is plainly damaged, so that the counts are needed.
                let hostile = |bytes: &mut Vec<u8>| {
                    bytes[(page % (pages - 3) + 1) * PAGE + 3] ^= u8::from(value > 1);
                };
                let (report, found) = with_damage(&file, hostile, || repair::<F>(&path));
                let is_right = found == all || !report.findings.is_empty();
                assert!(is_right, "{name} page {page} byte {at}: {report:?}");
            }
        }
    }
}

/// Rows over several pages of `starts`: with one of them gone, with its ranks, and with everything
/// that says where later rows begin.
#[test]
fn rows_that_cannot_be_attributed_are_lost_and_the_others_are_right() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let rows = several_ids::<u64>(Shape::Uniform, 200_000, 8);
    build(&path, &rows, layout("rotations:1"));
    let all: Rows<u64> = rows.into_iter().collect();
    let file = path.join("00000001.rows");
    let ids = all.len().div_ceil(2048);
    let starts = 1 + ids;
    let pages = fs::metadata(&file).unwrap().len() as usize / PAGE;
    let (samples, ranks) = (starts + 4..pages - 3, pages - 3);
    let bad = |pages: Vec<usize>| {
        with_damage(
            &file,
            |bytes| pages.iter().for_each(|page| bytes[page * PAGE + 9] ^= 2),
            || {
                let (report, found) = repair::<u64>(&path);
                assert!(found.is_subset(&all), "{pages:?}");
                assert_eq!((all.len() - found.len()) as u64, report.lost_rows, "{pages:?}");
                report.lost_rows
            },
        )
    };
    let per_page = 65_536;
    assert_eq!(bad(vec![starts]), per_page);
    assert_eq!(bad(vec![starts + 1, starts + 2]), 2 * per_page);
    assert_eq!(bad(vec![starts, starts + 2]), 2 * per_page);
    assert_eq!(bad(vec![starts, starts + 2, ranks]), 2 * per_page, "samples tell");
    assert_eq!(bad(samples.clone().collect()), 0, "the bits themselves tell");
    assert_eq!(bad(vec![ranks]), 0);
    let mut blind: Vec<usize> = samples.collect();
    blind.push(ranks);
    assert_eq!(bad([&blind[..], &[starts + 1]].concat()), per_page, "counted from both ends");
    assert_eq!(bad([&blind[..], &[starts, starts + 2]].concat()), 3 * per_page, "the middle is unknown");
}

/// Where every row of the unreadable bits starts an entry, or none does, the ranks say so.
#[test]
fn ranks_replace_unreadable_starts() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let mut all = Rows::<u64>::new();
    all.extend((0..70_000).map(|id| Row { fingerprint: 5, id }));
    all.extend((0..130_000).map(|id| Row { fingerprint: id << 40, id: id * 3 }));
    build(&path, &all.iter().copied().collect::<Vec<_>>(), layout("rotations:2"));
    let file = path.join("00000001.rows");
    let starts = 1 + all.len().div_ceil(2048);
    for page in 0..4 {
        let flip = |bytes: &mut Vec<u8>| bytes[(starts + page) * PAGE + 9] ^= 2;
        let (report, found) = with_damage(&file, flip, || repair::<u64>(&path));
        assert!(found.is_subset(&all));
        assert_eq!((all.len() - found.len()) as u64, report.lost_rows);
        assert!(report.lost_rows <= 2 * 4096, "page {page}: {report:?}");
    }
}

#[test]
fn missing_and_cut_files_cost_what_only_they_had() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let rows = several_ids::<u64>(Shape::Uniform, 7000, 9);
    build(&path, &rows, layout("rotations:3"));
    let all: Rows<u64> = rows.into_iter().collect();
    let fingerprints = all.iter().map(|row| row.fingerprint).collect::<BTreeSet<_>>().len() as u64;
    let file = |name: &str| path.join(name);
    for cut in [None, Some(0), Some(1), Some(3 * PAGE)] {
        let damaged = |name: &str| match cut {
            None => without(&file(name), || repair::<u64>(&path)),
            Some(len) => with_damage(&file(name), |bytes| bytes.truncate(len), || repair::<u64>(&path)),
        };
        let (report, found) = damaged("00000001-t0.seg");
        assert_eq!((found, report.lost_rows), (all.clone(), 0));
        assert_eq!(report.recovered, fingerprints);
        let (report, found) = damaged("00000001-t2.seg");
        assert_eq!((found, report.lost_rows, report.recovered), (all.clone(), 0, 0));
        let (report, _) = damaged("00000001.rows");
        assert!(!report.made, "{report:?}");
        assert_eq!(report.lost_rows, all.len() as u64);
    }
    let (report, found) = without(&file("00000001-t0.seg"), || {
        without(&file("00000001-t1.seg"), || without(&file("00000001-t2.seg"), || repair::<u64>(&path)))
    });
    assert!(!report.made && found.is_empty());
    assert_eq!((report.lost_rows, report.lost_fingerprints), (all.len() as u64, fingerprints));
    let longer = |bytes: &mut Vec<u8>| bytes.extend([7; 100]);
    let (report, found) = with_damage(&file("00000001.rows"), longer, || repair::<u64>(&path));
    assert_eq!((found, report.lost_rows), (all.clone(), 0));
    let shorter = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - PAGE);
    for name in ["00000001.rows", "00000001-t0.seg"] {
        let (report, found) = with_damage(&file(name), shorter, || repair::<u64>(&path));
        assert_eq!((found, report.lost_rows), (all.clone(), 0), "{name} without its footer");
    }
}

/// Where two tables have lost the same fingerprints, the gap around them is lost, and nothing else.
#[test]
fn what_no_table_has_is_lost_without_a_guess() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let rows = several_ids::<u64>(Shape::Uniform, 20_000, 10);
    build(&path, &rows, layout("rotations:2"));
    let all: Rows<u64> = rows.into_iter().collect();
    let (natural, other) = (path.join("00000001-t0.seg"), path.join("00000001-t1.seg"));
    let (mut kept, mut gone) = (0, 0);
    for page in 2..10 {
        let flip = |bytes: &mut Vec<u8>| bytes[page * PAGE + 50] ^= 0x10;
        let flip_other = |bytes: &mut Vec<u8>| bytes[(11 - page) * PAGE + 60] ^= 0x20;
        let (report, found) =
            with_damage(&natural, flip, || with_damage(&other, flip_other, || repair::<u64>(&path)));
        assert!(found.is_subset(&all));
        assert_eq!((all.len() - found.len()) as u64, report.lost_rows);
        assert!(report.lost_fingerprints > 0 && report.lost_fingerprints <= 4096, "{report:?}");
        kept += report.recovered;
        gone += report.lost_fingerprints;
    }
    assert!(kept > 0 && gone > 0);
}

#[test]
fn wide_fingerprints_that_no_table_has_whole_are_lost_without_a_guess() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let all = rows::<U256>(Shape::Uniform, 3000, 9);
    // Two tables have 104 bits each; the others stand nowhere else.
    build(&path, &all, layout("rotations:2"));
    let file = path.join("00000001.rows");
    let mut bytes = fs::read(&file).unwrap();
    let last = bytes.len() / PAGE - 3;
    bytes[last * PAGE + 5] ^= 1;
    fs::write(&file, bytes).unwrap();
    let (report, found) = repair::<U256>(&path);
    let entries: BTreeSet<U256> = all.iter().map(|row| row.fingerprint).collect();
    let lost: BTreeSet<U256> = entries.iter().copied().skip(entries.len() / 256 * 256).collect();
    assert_eq!(report.lost_fingerprints, lost.len() as u64, "{report:?}");
    let kept: BTreeSet<Row<U256>> =
        all.iter().copied().filter(|row| !lost.contains(&row.fingerprint)).collect();
    assert_eq!(found, kept);
}

#[test]
fn missing_databases_and_occupied_destinations_are_named() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    build(&path, &rows::<u64>(Shape::Uniform, 100, 13), Schema::new());
    let empty = home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    fs::write(home.path().join("file"), "text").unwrap();
    let repair = |path: &Path, dest: &Path| quick().repair::<u64>(path, dest, &Schema::new());
    for name in ["empty", "missing", "file"] {
        let result = repair(&home.path().join(name), &home.path().join("new"));
        assert!(matches!(result, Err(Error::NotADatabase { .. })), "{name}: {result:?}");
    }
    assert!(matches!(repair(&path, &path), Err(Error::AlreadyExists { .. })));
    assert!(matches!(repair(&path, &home.path().join("file")), Err(Error::AlreadyExists { .. })));
    assert!(matches!(repair(&path, &path.join("new")), Err(Error::InsideDatabase { .. })));
    let newer = |bytes: &mut Vec<u8>| {
        bytes[8] = 9;
        let body = bytes.len() - 4;
        let crc = crc32fast::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(&crc.to_le_bytes());
    };
    let result = with_damage(&path.join("MANIFEST"), newer, || repair(&path, &home.path().join("new")));
    assert!(matches!(result, Err(Error::NewerVersion { found: 9, .. })));
    assert!(!home.path().join("new").exists());
}

/// Numbers in the manifest that no file bears out: a repair ends, with an error or with rows that
/// stood there. As many steps, or as much memory, as such a number says would never do.
#[test]
fn a_hostile_manifest_costs_no_time_and_no_memory() {
    let home = folder_in_memory();
    let plain = home.path().join("plain");
    let rows = several_ids::<u64>(Shape::Uniform, 3000, 16);
    build(&plain, &rows, layout("rotations:2"));
    let written = home.path().join("written");
    let (_, ever) = with_a_writer::<u64>(&written);
    for (path, step, ever) in [(plain, 4, rows.into_iter().collect()), (written, 12, ever)] {
        let len = fs::read(path.join("MANIFEST")).unwrap().len();
        for (at, value) in (24..len - 4).step_by(step).flat_map(|at| [(at, 0x10), (at, 0xff)]) {
            let hostile = |bytes: &mut Vec<u8>| {
                bytes[at + 2..at + 4].fill(value);
                let crc = crc32fast::hash(&bytes[..len - 4]);
                bytes[len - 4..].copy_from_slice(&crc.to_le_bytes());
            };
            let dest = home.path().join("saved");
            let work = || quick().repair::<u64>(&path, &dest, &Schema::new());
            let made = with_damage(&path.join("MANIFEST"), hostile, work).is_ok_and(|report| report.made);
            assert_eq!(dest.exists(), made, "byte {at}");
            if made {
                assert!(all_rows::<u64>(&dest).is_subset(&ever), "byte {at}");
                fs::remove_dir_all(&dest).unwrap();
            }
        }
    }
}

/// A repair without a manifest took the default settings, which changes what near means.
#[test]
fn regression_the_settings_survive_the_manifest() {
    let home = folder_in_memory();
    for (name, text) in [("bands", "bands:3x10"), ("blocks", "blocks:6,2"), ("fast", "fast")] {
        let (path, saved) = (home.path().join(name), home.path().join(format!("{name}-saved")));
        let schema = Schema::new().layout(text.parse().unwrap()).k(4).keys(KeyStorage::KeysAndTexts);
        let mut builder = quick().build::<u64>(&path, &schema).unwrap();
        for id in 0..2000u64 {
            let (key, fingerprint) = (format!("key {id}"), id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            builder.push(NewRow { text: key.as_bytes(), ..NewRow::keyed(fingerprint, &key) }).unwrap();
        }
        builder.finish().unwrap();
        let before = Database::<u64>::open(&path).unwrap().snapshot().unwrap();
        fs::remove_file(path.join("MANIFEST")).unwrap();
        let report = quick().repair::<u64>(&path, &saved, &Schema::new()).unwrap();
        assert_eq!((report.rows, report.lost_rows), (2000, 0), "{report:?}");
        let after = Database::<u64>::open(&saved).unwrap().snapshot().unwrap();
        let settings = |snapshot: &Snapshot<u64>| {
            let stats = snapshot.stats();
            (stats.k, stats.layout, stats.keys)
        };
        assert_eq!(settings(&after), settings(&before));
        for id in (0..2000u64).step_by(97) {
            let key = format!("key {id}");
            let ids = after.ids_of_key(&key).unwrap();
            assert_eq!(ids, before.ids_of_key(&key).unwrap());
            let row = Row { fingerprint: id.wrapping_mul(0x9e37_79b9_7f4a_7c15), id: ids[0] };
            assert_eq!(after.keys_of(row).unwrap(), before.keys_of(row).unwrap());
        }
    }
}
