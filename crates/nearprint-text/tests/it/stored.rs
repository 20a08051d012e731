//! Similar documents of a database: against exact similarities that are computed here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use nearprint::any::{AnyStream, Columns};
use nearprint::{AnyDatabase, Database, KeyStorage, NewRow, Options, U256};
use nearprint_text::dedup::{Decision, DedupOptions, Deduplicator};
use nearprint_text::stored::{Finder, StoredDocuments};
use nearprint_text::{Fingerprinter, Recipe, Result};
use proptest::prelude::*;
use testkit::short_or_full;

use super::exact::{similarity, texts};

/// What a database keeps with documents, and how a text is stored.
#[derive(Clone, Copy, Debug)]
enum Keeps {
    Features,
    Texts,
    PlainTexts,
}

const ALL: [Keeps; 3] = [Keeps::Features, Keeps::Texts, Keeps::PlainTexts];

impl Keeps {
    /// The bytes beside a key, as FORMAT.md specifies them.
    fn bytes(self, text: &str, fingerprinter: &mut Fingerprinter<U256>) -> Vec<u8> {
        match self {
            Self::PlainTexts => text.as_bytes().to_vec(),
            Self::Texts => zstd::bulk::compress(text.as_bytes(), 0).unwrap(),
            Self::Features => {
                let made = fingerprinter.fingerprint(text);
                [&[2][..], &made.text_hash.to_le_bytes(), &made.features.to_bytes()].concat()
            }
        }
    }
}

/// Makes a database of texts, each of them under its number. A run begins at every `run_len`th text.
fn store(path: &Path, recipe: &Recipe, keeps: Keeps, texts: &[String], run_len: usize) -> Database<U256> {
    let storage = match keeps {
        Keeps::Features => KeyStorage::KeysAndFeatures,
        Keeps::Texts | Keeps::PlainTexts => KeyStorage::KeysAndTexts,
    };
    let database = Options::new().create::<U256>(path, &recipe.schema().keys(storage)).unwrap();
    let mut fingerprinter = recipe.fingerprinter::<U256>().unwrap().with_features();
    let mut writer = database.writer().unwrap();
    for (number, text) in texts.iter().enumerate() {
        let (key, bytes) = (number.to_string(), keeps.bytes(text, &mut fingerprinter));
        let fingerprint = fingerprinter.fingerprint(text).stored(&key);
        writer.insert(NewRow { text: &bytes, ..NewRow::keyed(fingerprint, &key) }).unwrap();
        if (number + 1) % run_len == 0 {
            writer.flush().unwrap();
        }
    }
    writer.close().unwrap();
    database
}

fn documents(path: &Path, threads: usize) -> StoredDocuments {
    let snapshot = Options::new().threads(threads).open_any(path).unwrap().snapshot().unwrap();
    StoredDocuments::of(snapshot).unwrap().unwrap()
}

fn collected(stream: AnyStream) -> Columns {
    let mut all = Columns::new(stream.width(), stream.shape());
    stream.for_each(|block| all.append(&block.unwrap()));
    all
}

type Pairs = BTreeMap<(usize, usize), f64>;

fn number(key: Option<&str>) -> usize {
    key.unwrap().parse().unwrap()
}

/// The pairs of a result, by the numbers of their documents: the smaller one first, unless the second is of
/// another database.
fn pairs_of(found: &Columns, is_cross: bool) -> Pairs {
    let mut pairs = Pairs::new();
    for row in found.rows() {
        let (a, b) = (number(row.key), number(row.other_key));
        let pair = if is_cross || a < b { (a, b) } else { (b, a) };
        assert!(pairs.insert(pair, row.similarity).is_none(), "{pair:?} twice");
    }
    pairs
}

/// The pairs that have to be found.
struct Expected<'a> {
    texts: &'a [String],
    prints: Vec<U256>,
    recipe: &'a Recipe,
    least: f64,
}

impl<'a> Expected<'a> {
    fn new(texts: &'a [String], recipe: &'a Recipe, least: f64) -> Self {
        let mut fingerprinter = recipe.fingerprinter::<U256>().unwrap();
        let prints = texts.iter().map(|text| fingerprinter.fingerprint(text).value).collect();
        Self { texts, prints, recipe, least }
    }

    /// The similarity of two texts, if they are similar and their fingerprints make them candidates. Texts
    /// with the same features always are.
    fn similar(&self, a: usize, b: usize) -> Option<f64> {
        let exact = similarity(&self.texts[a], &self.texts[b]);
        let is_candidate =
            self.recipe.candidates(self.least).unwrap().contain(self.prints[a], self.prints[b]);
        assert!(is_candidate || exact < 1.0);
        (is_candidate && exact >= self.least).then_some(exact)
    }

    fn pairs(&self) -> Pairs {
        let all = 0..self.texts.len();
        let ordered = all.clone().flat_map(|b| (0..b).map(move |a| (a, b)));
        ordered.filter_map(|(a, b)| Some(((a, b), self.similar(a, b)?))).collect()
    }

    fn matches(&self, query: usize) -> BTreeMap<usize, f64> {
        (0..self.texts.len()).filter_map(|other| Some((other, self.similar(query, other)?))).collect()
    }

    /// The clusters of two texts or more.
    fn clusters(&self) -> BTreeSet<BTreeSet<usize>> {
        let mut clusters: Vec<BTreeSet<usize>> = (0..self.texts.len()).map(|text| [text].into()).collect();
        for (a, b) in self.pairs().into_keys() {
            let holds = |clusters: &[BTreeSet<usize>], text| clusters.iter().position(|of| of.contains(text));
            let (one, other) = (holds(&clusters, &a).unwrap(), holds(&clusters, &b).unwrap());
            if one != other {
                let (kept, gone) = (one.min(other), one.max(other));
                let moved = clusters.remove(gone);
                clusters[kept].extend(moved);
            }
        }
        clusters.into_iter().filter(|cluster| cluster.len() > 1).collect()
    }
}

/// Whether two maps have the same keys, and nearly the same similarities.
fn assert_same<K: Ord + std::fmt::Debug>(found: &BTreeMap<K, f64>, expected: &BTreeMap<K, f64>) {
    assert!(found.keys().eq(expected.keys()), "{found:?} {expected:?}");
    assert!(
        found.values().zip(expected.values()).all(|(found, expected)| (found - expected).abs() < 1e-9),
        "{found:?} {expected:?}"
    );
}

/// Compares everything that the documents of a database answer.
fn check(documents: &StoredDocuments, expected: &Expected<'_>) -> Result<()> {
    let pairs = expected.pairs();
    let found = collected(documents.row_pairs(expected.least)?);
    assert_same(&pairs_of(&found, false), &pairs);

    // Of fingerprints, the pair with the largest similarity counts.
    let mut by_fingerprint = BTreeMap::<(U256, U256), f64>::new();
    for (&(a, b), &similarity) in &pairs {
        let (a, b) = (expected.prints[a], expected.prints[b]);
        if a != b {
            let largest = by_fingerprint.entry((a.min(b), a.max(b))).or_default();
            *largest = largest.max(similarity);
        }
    }
    let found = collected(documents.pairs(expected.least)?);
    let print = |words: &[u64]| nearprint::Fingerprint::from_le_words(words);
    let found =
        found.rows().map(|row| ((print(row.fingerprint), print(row.other_fingerprint)), row.similarity));
    assert_same(&found.collect(), &by_fingerprint);

    let found = collected(documents.clusters(expected.least)?);
    let mut clusters = BTreeMap::<u64, Vec<(U256, usize)>>::new();
    for row in found.rows() {
        let members = clusters.entry(row.group).or_default();
        members.push((print(row.fingerprint), number(row.key)));
        let exact = similarity(&expected.texts[members[0].1], &expected.texts[number(row.key)]);
        assert!((row.similarity - exact).abs() < 1e-9);
    }
    assert!(clusters.values().map(|members| members[0].0).is_sorted());
    assert!(clusters.values().all(|members| members.is_sorted_by_key(|member| member.0)));
    let clusters = clusters.into_values().map(|members| members.into_iter().map(|(_, text)| text).collect());
    assert_eq!(clusters.collect::<BTreeSet<BTreeSet<usize>>>(), expected.clusters());

    let mut finder = documents.finder(expected.least)?;
    for (query, text) in expected.texts.iter().enumerate() {
        let mut found = Columns::new(nearprint::Width::W256, Finder::SHAPE);
        finder.find(7, text, usize::MAX, &mut found)?;
        assert!(found.groups.iter().all(|&group| group == 7));
        assert!(found.similarities.is_sorted_by(|a, b| a >= b));
        let matches = found.rows().map(|row| (number(row.key), row.similarity)).collect();
        assert_same(&matches, &expected.matches(query));
        let mut first = Columns::new(found.width, found.shape);
        finder.find(7, text, 1, &mut first)?;
        assert_eq!(first.get(0), found.get(0));
        assert_eq!(first.len(), 1);
    }
    assert_eq!(documents.num_undecided(), 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(short_or_full(15, 50)))]

    #[test]
    fn similar_documents_are_those_of_exact_similarities(
        texts in texts(), percent in 20u32..=100, run_len in 5usize..60, cut in 0usize..50, keeps in 0usize..3,
    ) {
        let (least, recipe) = (f64::from(percent) / 100.0, "minhash".parse::<Recipe>().unwrap());
        let keeps = ALL[keeps];
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("documents.np");
        let database = store(&path, &recipe, keeps, &texts, run_len);
        let expected = Expected::new(&texts, &recipe, least);
        for threads in [1, 2] {
            check(&documents(&path, threads), &expected).unwrap();
        }
        let mut writer = database.writer().unwrap();
        writer.compact().unwrap();
        writer.close().unwrap();
        check(&documents(&path, 2), &expected).unwrap();

        // The first texts against all.
        let other = home.path().join("first.np");
        store(&other, &recipe, Keeps::Features, &texts[..cut.min(texts.len())], 60);
        let (one, all) = (documents(&other, 2), documents(&path, 1));
        let found = pairs_of(&collected(one.cross_row_pairs(&all, least).unwrap()), true);
        let pairs = (0..cut.min(texts.len())).flat_map(|a| {
            expected.matches(a).into_iter().map(move |(b, similarity)| ((a, b), similarity))
        });
        assert_same(&found, &pairs.collect());
    }
}

#[test]
fn similar_pairs_that_are_no_candidates_are_found_nowhere() {
    let home = tempfile::tempdir().unwrap();
    let recipe: Recipe = "minhash".parse().unwrap();
    // They have 14 of 20 shingles in common. Of such pairs, numbered from 0, 1464 is the first whose sketches are so
    // distant with so few equal bands.
    let begin: String = (0..16).map(|at| format!("w1464x{at} ")).collect();
    let texts = ["one two three", "four five six"].map(|end| begin.clone() + end);
    let expected = Expected::new(&texts, &recipe, 0.7);
    let (candidates, [a, b]) = (recipe.candidates(0.7).unwrap(), [expected.prints[0], expected.prints[1]]);
    assert!((similarity(&texts[0], &texts[1]) - 0.7).abs() < 1e-9 && !candidates.contain(a, b));
    assert!(recipe.bands().unwrap().near(a, b, candidates.distance()).is_some());

    let path = home.path().join("kept.np");
    store(&path, &recipe, Keeps::Features, &texts, 1);
    check(&documents(&path, 2), &expected).unwrap();
    let mut dedup = Deduplicator::temporary(DedupOptions::new(recipe)).unwrap();
    for text in &texts {
        assert_eq!(dedup.decide(text, text).unwrap(), Decision::Kept);
    }
}

#[test]
fn texts_without_features_are_similar_to_copies_alone() {
    let home = tempfile::tempdir().unwrap();
    let recipe: Recipe = "minhash short=none".parse().unwrap();
    let texts = ["one two", "One, two!", "two one", "", "--", "one two three four"].map(str::to_string);
    for keeps in ALL {
        let path = home.path().join(format!("{keeps:?}.np"));
        store(&path, &recipe, keeps, &texts, 4);
        let documents = documents(&path, 2);
        for least in [0.0, 0.7] {
            let found = pairs_of(&collected(documents.row_pairs(least).unwrap()), false);
            assert_eq!(found, Pairs::from([((0, 1), 1.0)]), "{keeps:?} {least}");
        }
        let mut found = Columns::new(nearprint::Width::W256, Finder::SHAPE);
        let mut finder = documents.finder(0.7).unwrap();
        for text in ["one TWO", "", "three four"] {
            finder.find(0, text, 9, &mut found).unwrap();
        }
        assert_eq!(found.similarities, [1.0, 1.0]);
    }
}

#[test]
fn rows_without_evidence_are_similar_to_nothing_and_counted() {
    let home = tempfile::tempdir().unwrap();
    let recipe: Recipe = "minhash".parse().unwrap();
    let path = home.path().join("documents.np");
    let texts = ["one two three four five six".to_string()];
    let database = store(&path, &recipe, Keeps::Features, &texts, 9);
    let fingerprint = recipe.fingerprinter::<U256>().unwrap().fingerprint(&texts[0]).value;
    let mut writer = database.writer().unwrap();
    writer.insert(NewRow::keyed(fingerprint, "without")).unwrap();
    writer.close().unwrap();
    let documents = documents(&path, 1);
    assert!(collected(documents.row_pairs(0.5).unwrap()).is_empty());
    assert_eq!(documents.num_undecided(), 1);
    let mut found = Columns::new(nearprint::Width::W256, Finder::SHAPE);
    documents.finder(0.5).unwrap().find(0, &texts[0], 9, &mut found).unwrap();
    assert_eq!((number(found.get(0).unwrap().key), found.len(), documents.num_undecided()), (0, 1, 2));
}

#[test]
fn rows_with_several_keys_are_several_documents() {
    let home = tempfile::tempdir().unwrap();
    let recipe: Recipe = "minhash".parse().unwrap();
    let path = home.path().join("documents.np");
    let database = store(&path, &recipe, Keeps::PlainTexts, &[], 9);
    let text = "one two three four five six";
    let fingerprint = recipe.fingerprinter::<U256>().unwrap().fingerprint(text).value;
    let mut writer = database.writer().unwrap();
    for (id, key) in [(7, "0"), (7, "1"), (8, "2")] {
        let row = NewRow { id: Some(id), text: text.as_bytes(), ..NewRow::keyed(fingerprint, key) };
        writer.insert(row).unwrap();
    }
    writer.close().unwrap();
    let snapshot = AnyDatabase::open(&path).unwrap().snapshot().unwrap();
    for snapshot in [snapshot.clone(), snapshot.with_keys()] {
        let documents = StoredDocuments::of(snapshot).unwrap().unwrap();
        let pairs = pairs_of(&collected(documents.row_pairs(0.7).unwrap()), false);
        assert_eq!(pairs, Pairs::from([((0, 2), 1.0), ((1, 2), 1.0)]));
        assert_eq!(collected(documents.clusters(0.7).unwrap()).groups, [0, 0, 0]);
        let mut found = Columns::new(nearprint::Width::W256, Finder::SHAPE);
        documents.finder(0.7).unwrap().find(0, text, 9, &mut found).unwrap();
        assert_eq!((found.ids, found.similarities), (vec![7, 7, 8], vec![1.0; 3]));
    }
}

#[test]
fn databases_without_evidence_are_searched_by_distance() {
    let home = tempfile::tempdir().unwrap();
    let recipe: Recipe = "simhash".parse().unwrap();
    let path = home.path().join("rows.np");
    let schema = recipe.schema().keys(KeyStorage::Keys);
    let database = Options::new().create::<u64>(&path, &schema).unwrap();
    let text = "one two three four five six";
    let fingerprint = recipe.fingerprinter::<u64>().unwrap().fingerprint(text).value;
    let mut writer = database.writer().unwrap();
    writer.insert(NewRow::keyed(fingerprint, "same")).unwrap();
    writer.insert(NewRow::keyed(fingerprint ^ 0b111, "near")).unwrap();
    writer.insert(NewRow::keyed(fingerprint ^ 0b1111, "far")).unwrap();
    writer.close().unwrap();
    let snapshot = AnyDatabase::open(&path).unwrap().snapshot().unwrap();
    let mut found = Columns::new(nearprint::Width::W64, Finder::SHAPE);
    Finder::by_distance(&snapshot, 3).unwrap().find(3, text, 9, &mut found).unwrap();
    assert_eq!((found.groups, found.distances), (vec![3, 3], vec![0, 3]));
    assert_eq!(found.keys, [Some("same".to_string()), Some("near".to_string())]);
    assert_eq!(found.similarities, [recipe.similarity(0), recipe.similarity(3)]);
    let mut first = Columns::new(nearprint::Width::W64, Finder::SHAPE);
    Finder::by_distance(&snapshot, 4).unwrap().find(0, text, 1, &mut first).unwrap();
    assert_eq!(first.distances, [0]);
}

#[test]
fn damaged_features_are_an_error() {
    let home = tempfile::tempdir().unwrap();
    let recipe: Recipe = "minhash".parse().unwrap();
    let path = home.path().join("documents.np");
    let database = store(&path, &recipe, Keeps::Features, &[], 9);
    let mut writer = database.writer().unwrap();
    let bytes = [&[2][..], &[0; 16], &[0xff; 9]].concat();
    for key in ["a", "b"] {
        writer.insert(NewRow { text: &bytes, ..NewRow::keyed(U256::from_words([5, 0, 0, 0]), key) }).unwrap();
    }
    writer.close().unwrap();
    let error = documents(&path, 2).row_pairs(0.5).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(error.contains("documents.np: the features of "), "{error}");
    assert!(error.ends_with(" in the database: they are damaged"), "{error}");
}

#[test]
fn other_databases_have_no_documents() {
    let home = tempfile::tempdir().unwrap();
    let of = |name: &str, recipe: &str, keys| {
        let recipe: Recipe = recipe.parse().unwrap();
        let schema = recipe.schema().keys(keys);
        let database = Options::new().create_any(home.path().join(name), recipe.width(), &schema).unwrap();
        StoredDocuments::of(database.snapshot().unwrap())
    };
    assert!(of("hashes", "minhash", KeyStorage::KeysAndHashes).unwrap().is_none());
    assert!(of("simhash", "simhash", KeyStorage::KeysAndTexts).unwrap().is_none());
    let (one, other) = (
        of("one", "minhash", KeyStorage::KeysAndFeatures).unwrap().unwrap(),
        of("other", "minhash shingle=2", KeyStorage::KeysAndFeatures).unwrap().unwrap(),
    );
    let error = one.cross(&other, 0.7).unwrap_err().to_string();
    assert!(error.contains("other: its fingerprints are of another recipe"), "{error}");
}
