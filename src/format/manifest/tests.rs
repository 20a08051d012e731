//! Tests of the whole manifest.

use super::sample::sample;
use super::*;
use crate::format::Problem;
use crate::format::expiry::Lifetime;
use crate::layout::LayoutChoice;
use crate::util::time::Time;

fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - 4;
    let crc = crc32fast::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn survives_the_round_trip() {
    let manifest = sample();
    assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest.clone()));
    let empty = Manifest {
        runs: vec![],
        ingested: vec![],
        automatic: IdRanges::default(),
        live_wal: None,
        sealed_wal: None,
        runs_only: true,
        largest_id: None,
        layout: LayoutChoice::Auto,
        keys: None,
        expiry: None,
        recipe: None,
        checkpoint: vec![],
        history: vec![],
        skipped: vec![],
        ..manifest
    };
    assert_eq!(Manifest::decode(&empty.encode()), Ok(empty));
    for beside in [BesideKeys::Nothing, BesideKeys::Hashes, BesideKeys::Texts, BesideKeys::Features] {
        let keyed = Manifest { keys: Some(KeysKept { beside, next_sequence: 50 }), ..sample() };
        assert_eq!(Manifest::decode(&keyed.encode()), Ok(keyed));
    }
}

#[test]
fn unknown_flags_and_those_that_contradict_others_are_rejected() {
    /// Where the flags are.
    const FLAGS: usize = PREFIX_BYTES + 8 + 44;
    let with_flags = |flags| {
        let mut bytes = sample().encode();
        assert_eq!(std::mem::replace(&mut bytes[FLAGS], flags), 0xcd);
        Manifest::decode(&resealed(bytes))
    };
    assert!([0xcd, 0xd5, 0xe5].into_iter().all(|flags| with_flags(flags).is_ok()));
    for contradicting in [0xdd, 0xed, 0xf5] {
        assert!(matches!(with_flags(contradicting), Err(Problem::Flaw(_))));
    }
    let mut bytes = sample().encode();
    bytes[FLAGS + 1] = 1;
    assert_eq!(Manifest::decode(&resealed(bytes)), Err(Problem::NewerFeature("flag 8".into())));
    let mut bytes = Manifest { keys: None, runs: vec![], ..sample() }.encode();
    assert_eq!(std::mem::replace(&mut bytes[FLAGS], 0xd1), 0xc1, "hashes of texts, and no keys");
    assert!(Manifest::decode(&resealed(bytes)).is_err());
}

#[test]
fn manifests_that_no_writer_writes_are_rejected() {
    let rejected = |change: fn(&mut Manifest)| {
        let mut manifest = sample();
        change(&mut manifest);
        assert!(matches!(Manifest::decode(&manifest.encode()), Err(Problem::Flaw(_))), "{manifest:?}");
    };
    rejected(|manifest| manifest.generation = 0);
    rejected(|manifest| manifest.recipe = Some(String::new()));
    rejected(|manifest| manifest.recipe = Some("x".repeat(MAX_RECIPE_BYTES + 1)));
    rejected(|manifest| manifest.checkpoint = vec![0; MAX_CHECKPOINT_BYTES + 1]);
    rejected(|manifest| manifest.history = vec![0; MAX_HISTORY_BYTES + 1]);
    rejected(|manifest| {
        manifest.runs[1].keys = manifest.runs[1].keys.map(|keys| KeysRecord { count: 0, ..keys })
    });
    rejected(|manifest| manifest.runs[1].expires = Some(Time(72)));
    rejected(|manifest| (manifest.live_wal, manifest.expiry) = (None, None));
    rejected(|manifest| (manifest.live_wal, manifest.sealed_wal) = (None, None));
    for (number, first_frame) in [(0, 16), (3, 16), (2, 18)] {
        let sealed_wal = Some(SealedWal { wal: LiveWal { number, salt: 7 }, first_frame });
        let bytes = Manifest { sealed_wal, ..sample() }.encode();
        assert!(matches!(Manifest::decode(&bytes), Err(Problem::Flaw(_))), "{number}, {first_frame}");
    }
    for lifetime in [(0, 0), (9, 10), (9, 0), (9000, 1), (u64::MAX, u64::MAX)] {
        let lifetime = Lifetime { lifetime: lifetime.0, period: lifetime.1 };
        let expiry = Some(Expiry { lifetime, of_log: Time(99) });
        let bytes = Manifest { expiry, ..sample() }.encode();
        assert!(matches!(Manifest::decode(&bytes), Err(Problem::Flaw(_))), "{lifetime:?}");
    }
    rejected(|manifest| manifest.next_wal = 3);
    rejected(|manifest| manifest.runs_only = true);
    rejected(|manifest| (manifest.runs_only, manifest.live_wal) = (true, None));
    rejected(|manifest| manifest.automatic = IdRanges(vec![(2, 1)]));
    rejected(|manifest| manifest.automatic = IdRanges(vec![(1, 2), (2, 3)]));
    rejected(|manifest| manifest.width = 63);
    rejected(|manifest| manifest.k = 65);
    rejected(|manifest| manifest.largest_id = None);
    rejected(|manifest| manifest.layout = LayoutChoice::Rotations { tables: 65 });
    rejected(|manifest| manifest.layout = LayoutChoice::Rotations { tables: 0 });
    rejected(|manifest| manifest.layout = LayoutChoice::Blocks { blocks: 5, prefix: 0 });
    rejected(|manifest| manifest.layout = LayoutChoice::Blocks { blocks: 5, prefix: 6 });
    rejected(|manifest| manifest.next_run = 7);
    rejected(|manifest| manifest.ingested[1].count = 0);
    rejected(|manifest| manifest.ingested[1].number = 9);
    rejected(|manifest| manifest.ingested[1].number = 1);
    rejected(|manifest| manifest.ingested[1].number = 2);
    rejected(|manifest| (manifest.next_run, manifest.runs) = (0, Vec::new()));
    rejected(|manifest| manifest.runs[1].run = 7);
    rejected(|manifest| manifest.runs[1].entries = 0);
    rejected(|manifest| manifest.runs[1].rows = 9);
    rejected(|manifest| (manifest.runs[1].entries, manifest.runs[1].rows) = (0, 0));
}

#[test]
fn runs_have_the_bands_of_their_database() {
    let bands = |text: &str| -> LayoutChoice { text.parse().unwrap() };
    let manifest = |choice: &str, of_runs: &str, k| {
        let layout = bands(of_runs).layout(64, 3, 10).unwrap();
        let mut manifest = Manifest { layout: bands(choice), k, ..sample() };
        manifest.runs.iter_mut().for_each(|run| run.layout = layout.clone());
        manifest
    };
    let sound = manifest("bands:3x8", "bands:3x8", 40);
    assert_eq!(Manifest::decode(&sound.encode()), Ok(sound));
    for (choice, of_runs, k) in [
        ("bands:3x8", "bands:3x8", 41),
        ("bands:3x8", "rotations:3", 3),
        ("bands:3x8", "bands:3x9", 3),
        ("auto", "bands:3x8", 3),
        ("bands:3x16", "rotations:3", 3),
    ] {
        let other = manifest(choice, of_runs, k);
        match Manifest::decode(&other.encode()) {
            // Lengths of blocks are not stored, and follow from the database.
            Ok(read) if of_runs == "bands:3x9" => assert_ne!(read, other),
            Ok(read) if choice == "auto" => assert!(!read.runs[0].layout.is_bands()),
            decoded => assert!(matches!(decoded, Err(Problem::Flaw(_))), "{choice} {of_runs} {k}"),
        }
    }
}

#[test]
fn regression_counters_that_could_overflow_are_rejected() {
    type Change = fn(&mut Manifest, u64);
    let changes: [Change; 5] = [
        |manifest, number| {
            manifest.keys = Some(KeysKept { beside: BesideKeys::Nothing, next_sequence: number });
        },
        |manifest, number| manifest.generation = number,
        |manifest, number| manifest.next_run = number,
        |manifest, number| manifest.next_wal = number,
        |manifest, number| manifest.next_frame = number,
    ];
    for change in changes {
        for (number, decodes) in [(MAX_NUMBER, true), (MAX_NUMBER + 1, false), (u64::MAX, false)] {
            let mut manifest = sample();
            change(&mut manifest, number);
            assert_eq!(Manifest::decode(&manifest.encode()).is_ok(), decodes, "{number}");
        }
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_detected() {
    let bytes = sample().encode();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(Manifest::decode(&flipped), Err(Problem::Flaw(_))), "bit {bit}");
    }
    for len in 0..bytes.len() {
        assert!(matches!(Manifest::decode(&bytes[..len]), Err(Problem::Flaw(_))), "cut to {len}");
    }
}

#[test]
fn a_sound_newer_version_is_not_damage() {
    let mut bytes = sample().encode();
    bytes[8] = 2;
    assert!(matches!(Manifest::decode(&bytes), Err(Problem::Flaw(_))), "the checksum comes first");
    assert_eq!(Manifest::decode(&resealed(bytes)), Err(Problem::Newer(2)));
}

#[test]
fn what_only_a_newer_program_knows_is_not_damage() {
    /// Where the features to read and to write, and the kind of the layout are.
    const READ: usize = 24;
    const WRITE: usize = 28;
    const KIND: usize = PREFIX_BYTES + 8 + 32;
    let changed = |at: usize, value| {
        let mut bytes = sample().encode();
        bytes[at] = value;
        Manifest::decode(&resealed(bytes))
    };
    let newer = |feature: &str| Err(Problem::NewerFeature(feature.into()));
    assert_eq!(changed(READ, 4), newer("feature 2"));
    let readable = changed(WRITE, 2).unwrap();
    assert_eq!(readable.check_writable(), Err(Problem::NewerFeature("feature 1".into())));
    assert_eq!(Manifest::decode(&readable.encode()), Ok(readable), "the mask stays");
    assert_eq!(sample().check_writable(), Ok(()));
    assert_eq!(changed(KIND, 6), newer("layouts of kind 6"));
    assert!(matches!(changed(KIND, 0), Err(Problem::Flaw(_))), "no numbers for an automatic layout");
    let tagged = |tag: &[u8; 4]| {
        let manifest = Manifest { skipped: vec![(*tag, vec![7; 9])], ..sample() };
        (Manifest::decode(&manifest.encode()), manifest)
    };
    assert_eq!(tagged(b"FUTR").0, newer("record FUTR"));
    let (decoded, manifest) = tagged(b"fUTR");
    assert_eq!(decoded, Ok(manifest));
    assert!(matches!(tagged(b"fut\n").0, Err(Problem::Flaw(_))));
}

#[test]
fn hostile_bytes_under_a_good_checksum_never_panic() {
    let bytes = sample().encode();
    for at in 8..bytes.len() - 4 {
        for value in [0, 1, 0x7f, 0xff] {
            let mut hostile = bytes.clone();
            hostile[at] = value;
            let _ = Manifest::decode(&resealed(hostile));
        }
    }
    assert!(Manifest::decode(&resealed(bytes[..28].to_vec())).is_err());
}
