//! A manifest with all records.

use super::*;
use crate::format::expiry::Lifetime;
use crate::layout::{Layout, LayoutChoice};
use crate::util::time::Time;

pub(crate) fn sample() -> Manifest {
    let layout = Layout::rotations(64, 3).expect("a layout");
    let file = |n: u32| FileRecord { len_bytes: u64::from(n) * 8192, footer_crc: 0xdead_0000 + n };
    let run = |run| RunRecord {
        run,
        identity: [9; 16],
        salt: 6,
        layout: layout.clone(),
        entries: 10,
        rows: 12,
        fingerprint_sum: 77,
        row_sum: 78,
        tombstones: run % 2,
        segments: vec![file(6), file(7), file(8)],
        postings_file: file(9),
        tombstones_file: (run % 2 == 1).then(|| file(10)),
        keys: (run % 2 == 0).then(|| KeysRecord { count: 13, key_sum: 79, value_sum: 80, file: file(11) }),
        expires: Some(Time(80 - run)),
    };
    Manifest {
        generation: 5,
        database_id: [1; 16],
        width: 64,
        k: 3,
        layout: LayoutChoice::Blocks { blocks: 6, prefix: 2 },
        next_run: 9,
        largest_id: Some(u64::MAX),
        runs_only: false,
        live_wal: Some(LiveWal { number: 3, salt: 8 }),
        sealed_wal: Some(SealedWal { wal: LiveWal { number: 2, salt: 7 }, first_frame: 16 }),
        next_wal: 4,
        next_frame: 17,
        runs: vec![run(7), run(2)],
        ingested: vec![
            IdentitiesRecord { number: 1, count: 9, file: file(4) },
            IdentitiesRecord { number: 0, count: 1, file: file(4) },
        ],
        automatic: IdRanges(vec![(0, 5), (7, u64::MAX)]),
        keys: Some(KeysKept { beside: BesideKeys::Texts, next_sequence: 50 }),
        expiry: Some(Expiry { lifetime: Lifetime { lifetime: 90, period: 9 }, of_log: Time(99) }),
        recipe: Some("some words".into()),
        checkpoint: vec![1, 2, 3],
        history: vec![4, 5],
        needed_to_write: 0,
        skipped: vec![(*b"note", vec![6])],
    }
}
