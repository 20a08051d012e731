//! The hot paths, one at a time, for `benches/instructions.sh`, which counts their instructions
//! under callgrind.
//!
//! The argument names a path; without one, the names are printed. Only what [`measured`] calls
//! counts. Data come from a fixed seed, and one thread does all work, so that counts hardly change
//! from run to run.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

use std::fs;
use std::hint::black_box;
use std::path::Path;

use nearprint::{Error, Fingerprint, LayoutChoice, Options, Pair, Schema, Snapshot, U256, list};
use nearprint_text::documents::{Item, Reader, ReaderOptions};
use nearprint_text::recipe::Recipe;
use testkit::Random;

/// Work that returns how much it found.
type Work = Box<dyn FnOnce() -> usize>;
/// A hot path: its name, and what prepares its work in a folder.
type HotPath = (&'static str, fn(&Path) -> Work);

const PATHS: [HotPath; 12] = [
    ("query, no match", |home| queries(home, "auto", false)),
    ("query, one match", |home| queries(home, "auto", true)),
    ("query, ten tables", |home| queries(home, "blocks:5,2", true)),
    ("query, 256 bits within 31", wide_queries),
    ("batch of queries", batch),
    ("build", build_database),
    ("pairs of a list", |_| Box::new(|| list_pairs(values(100_000)))),
    ("pairs of a database", database_pairs),
    ("clusters of a list", |_| Box::new(|| list_clusters(values(100_000)))),
    ("documents of JSON", json_documents),
    ("fingerprints of simhash", |_| fingerprints::<u64>("simhash")),
    ("fingerprints of minhash", |_| fingerprints::<U256>("minhash")),
];

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let Some(name) = arguments.next() else {
        PATHS.iter().for_each(|(name, _)| println!("{name}"));
        return;
    };
    let (_, prepare) = PATHS.iter().find(|(known, _)| *known == name).expect("the name of a hot path");
    let home = std::env::temp_dir().join(format!("nearprint-instructions-{}", std::process::id()));
    fs::create_dir_all(&home).unwrap();
    let work = prepare(&home);
    let found = measured(work);
    fs::remove_dir_all(&home).unwrap();
    assert!(found > 0 || name == "query, no match", "{name}: nothing found");
}

/// Does work whose instructions count.
fn measured(work: Work) -> usize {
    toggle_counting();
    let found = black_box(work());
    toggle_counting();
    found
}

/// Starts or stops counting: callgrind's request "toggle collect". Programs are stripped, so that
/// callgrind cannot go by names.
#[cfg(target_arch = "x86_64")]
fn toggle_counting() {
    const TOGGLE_COLLECT: u64 = 0x4354_0002;
    let request = [TOGGLE_COLLECT, 0, 0, 0, 0, 0];
    // SAFETY: valgrind's manual defines this sequence as a request to valgrind. To a processor it
    // is four rotations of `rdi` by 128 bits in all, which leave it as it was, and an exchange of a
    // register with itself. It reads the array and writes `rdx`.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") &raw const request,
            inout("rdx") 0_u64 => _,
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn toggle_counting() {
    panic!("instructions are counted on x86-64 only");
}

/// Random fingerprints; one in twenty is near another one.
fn values<F: Fingerprint>(count: usize) -> Vec<F> {
    let mut random = Random(42);
    let mut values: Vec<F> = (0..count).map(|_| random.value()).collect();
    for at in (0..count).step_by(20) {
        let other = values[random.below(count as u64) as usize];
        values[at] = random.near(other, 3);
    }
    values
}

fn build<F: Fingerprint>(path: &Path, schema: Schema, values: &[F]) -> Snapshot<F> {
    let options = Options::new().threads(1);
    let mut builder = options.build::<F>(path, &schema).unwrap();
    for &value in values {
        builder.push(value).unwrap();
    }
    builder.finish().unwrap().snapshot().unwrap()
}

/// Fingerprints near stored ones, or random ones.
fn questions<F: Fingerprint>(values: &[F], count: usize, near: bool) -> Vec<F> {
    let mut random = Random(7);
    let near_one = |random: &mut Random| {
        let stored = values[random.below(values.len() as u64) as usize];
        random.near(stored, 3)
    };
    (0..count).map(|_| if near { near_one(&mut random) } else { random.value() }).collect()
}

/// Queries one by one, behind the same queries, which check the pages.
fn one_by_one<F: Fingerprint>(snapshot: Snapshot<F>, questions: Vec<F>, k: u32) -> Work {
    let ask = move || questions.iter().map(|&value| snapshot.query(value, k).unwrap().len()).sum();
    let _: usize = ask();
    Box::new(ask)
}

fn queries(home: &Path, layout: &str, near: bool) -> Work {
    let values = values::<u64>(200_000);
    let schema = Schema::new().layout(layout.parse::<LayoutChoice>().unwrap());
    let snapshot = build(&home.join("db"), schema, &values);
    one_by_one(snapshot, questions(&values, 2000, near), 3)
}

fn wide_queries(home: &Path) -> Work {
    let values = values::<U256>(50_000);
    let snapshot = build(&home.join("db"), Schema::new().k(31), &values);
    one_by_one(snapshot, questions(&values, 20, true), 31)
}

fn batch(home: &Path) -> Work {
    let values = values::<u64>(200_000);
    let snapshot = build(&home.join("db"), Schema::new(), &values);
    let questions = questions(&values, 10_000, true);
    let ask = move || {
        let mut found = 0;
        let count = |_, matches: &[nearprint::Match<u64>]| {
            found += matches.len();
            Ok::<(), Error>(())
        };
        snapshot.query_batch(&questions, 3, count).unwrap();
        found
    };
    let _: usize = ask();
    Box::new(ask)
}

fn build_database(home: &Path) -> Work {
    let (path, values) = (home.join("db"), values::<u64>(100_000));
    Box::new(move || build(&path, Schema::new(), &values).stats().rows as usize)
}

fn list_pairs(values: Vec<u64>) -> usize {
    let mut found = 0;
    let count = |block: &[Pair<u64>]| {
        found += block.len();
        Ok::<(), Error>(())
    };
    list::visit_pairs(values, 3, &Options::new().threads(1), count).unwrap();
    found
}

fn list_clusters(values: Vec<u64>) -> usize {
    let mut found = 0;
    let count = |members: &[u64]| {
        found += members.len();
        Ok::<(), Error>(())
    };
    list::visit_clusters(values, 3, &Options::new().threads(1), count).unwrap();
    found
}

fn database_pairs(home: &Path) -> Work {
    let snapshot = build(&home.join("db"), Schema::new(), &values::<u64>(100_000));
    Box::new(move || {
        let mut found = 0;
        let count = |block: &[Pair<u64>]| {
            found += block.len();
            Ok::<(), Error>(())
        };
        snapshot.visit_pairs(3, count).unwrap();
        found
    })
}

/// Texts of words of a made-up language.
fn texts(count: usize) -> Vec<String> {
    let mut random = Random(7);
    let letter = |random: &mut Random| (b'a' + random.below(26) as u8) as char;
    let words: Vec<String> =
        (0..5000).map(|_| (0..2 + random.below(9)).map(|_| letter(&mut random)).collect()).collect();
    let word = |random: &mut Random| words[random.below(words.len() as u64) as usize].as_str();
    (0..count).map(|_| (0..150).map(|_| word(&mut random)).collect::<Vec<_>>().join(" ")).collect()
}

fn json_documents(home: &Path) -> Work {
    let path = home.join("documents.jsonl");
    let line = |text: &String| serde_json::json!({"url": "https://example.org/", "text": text}).to_string();
    fs::write(&path, texts(500).iter().map(line).collect::<Vec<_>>().join("\n")).unwrap();
    let mut options = ReaderOptions::default();
    options.fields.key = Some("url".into());
    Box::new(move || {
        let mut reader = Reader::open(std::slice::from_ref(&path), options).unwrap();
        let mut found = 0;
        while let Some(item) = reader.next_item().unwrap() {
            assert!(matches!(item, Item::Record(_)));
            found += 1;
        }
        found
    })
}

fn fingerprints<F: Fingerprint>(recipe: &str) -> Work {
    let (recipe, texts): (Recipe, _) = (recipe.parse().unwrap(), texts(200));
    let mut fingerprinter = recipe.fingerprinter::<F>().unwrap();
    Box::new(move || {
        texts.iter().filter(|text| fingerprinter.fingerprint(text).value != F::default()).count()
    })
}
