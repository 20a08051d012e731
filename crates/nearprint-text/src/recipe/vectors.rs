//! Compares recipes with values of other programs.

use proptest::prelude::*;

use super::default_features;
use super::definition::Recipe;
use super::features::Features;
use super::fingerprinter::Comparable;
use super::hash::jenkins;
use super::py::{compute, unsigned_hash};
use nearprint::internal::mix64;
use nearprint::{Fingerprint, U256};
use unicode_normalization::UnicodeNormalization;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128, xxh3_128_with_seed};

fn print<F: Fingerprint>(recipe: &str, text: &str) -> F {
    recipe.parse::<Recipe>().unwrap().fingerprinter().unwrap().fingerprint(text).value
}

/// Text, the simhash by simhash-cpp before 0.2, and lookup3 of the whole text.
const SEOMOZ_CPP: [(&str, u64, u64); 8] = [
    ("", 0, 16_045_690_984_833_335_023),
    ("one", 4_525_507_608_722_800_324, 2_558_040_630_746_657_660),
    ("one two", 21_837_610_961_960_964, 13_732_687_663_779_599_659),
    ("one two three", 3_269_038_531_388_101_654, 17_690_224_664_752_904_846),
    ("one two three four five", 386_736_144_000_603_286, 11_488_703_141_829_885_158),
    ("two four three five one", 1_807_936_006_170_050_133, 3_077_273_923_672_650_172),
    (
        "a b c d e f g h i j k l m n o p q r s t u v w x y z",
        2_326_321_187_065_500_275,
        3_139_451_041_133_003_402,
    ),
    ("Four score and seven years ago", 11_835_831_456_752_978_698, 1_690_826_034_014_988_006),
];

#[test]
fn seomoz_cpp() {
    for (text, simhash, hash) in SEOMOZ_CPP {
        assert_eq!(print::<u64>("seomoz-cpp", text), simhash, "{text}");
        assert_eq!(jenkins(text.as_bytes()), hash, "{text}");
    }
}

#[test]
fn notebook() {
    let text = "Tropical fish include fish found in tropical environments around the world, including both \
                freshwater and salt water species.";
    // Computed in Python with `re`, `hashlib` and NLTK's stop words.
    let wide = print::<u128>("notebook", text);
    assert_eq!(wide, 0xcd60_217a_4e5e_1145_561b_8944_e25c_98a5);
    assert_eq!(print::<u128>("notebook", &text.to_uppercase()), wide);
    assert_eq!(print::<u128>("notebook clean=none", text), 0xcd74_217a_6e4e_114d_520b_8904_c25d_9ba7);
    assert_eq!(print::<u64>("notebook clean=none hash=md5:8", text), 167);
    assert_eq!(print::<u64>("notebook hash=md5:8", text), 165);
    for bits in 1..=128 {
        let recipe = format!("notebook hash=md5:{bits}");
        let narrow =
            if bits <= 64 { print::<u64>(&recipe, text).into() } else { print::<u128>(&recipe, text) };
        assert_eq!(narrow, wide & (u128::MAX >> (128 - bits)), "{bits}");
    }
    // NLTK's list, and a part of it that has what occurs in the text.
    assert_eq!(print::<u128>("notebook stop=list:the,in,and,both", text), wide);
    assert_ne!(print::<u128>("notebook stop=list:the,in,and", text), wide);
}

/// simhash-py hashes with plain MD5: known digests, and majorities by hand.
#[test]
fn simhash_py() {
    assert_eq!(print::<u64>("simhash-py", "a b c"), 0);
    assert_eq!(print::<u64>("simhash-py shingle=1", "abc"), 0x9001_5098_3cd2_4fb0);
    assert_eq!(
        print::<u64>("simhash-py", "message digest of four"),
        unsigned_hash(b"message digest of four")
    );
    let windows = ["a b c d", "b c d a", "c d a b", "d a b c", "a b c d"];
    let hashes = windows.map(|window| unsigned_hash(window.as_bytes()));
    assert_eq!(print::<u64>("simhash-py", "a b c d a b c d"), compute(hashes));
}

#[test]
fn features_equal_the_vectors_in_the_documentation() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/minhash.md");
    let document = std::fs::read_to_string(document).unwrap();
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix("` |"));
    let mut seen = 0;
    for row in rows {
        let [text, features, stored] = row.split("` | `").collect::<Vec<_>>()[..] else { continue };
        if stored.starts_with("0x") {
            continue;
        }
        let text: String = serde_json::from_str(&format!("\"{text}\"")).unwrap();
        let features: Vec<&str> = features.split("`, `").collect();
        let explained = "minhash".parse::<Recipe>().unwrap().any_fingerprinter().explain(&text).features;
        assert_eq!(explained.iter().map(|feature| &*feature.text).collect::<Vec<_>>(), features);
        let hashes: Vec<u64> = features.iter().map(|feature| xxh3_64(feature.as_bytes())).collect();
        assert_eq!(default_features(&text), hashes, "{text}");
        let bytes = Features::of_hashes(&hashes).to_bytes();
        assert_eq!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), stored, "{text}");
        seen += 1;
    }
    assert_eq!(seen, 9);
}

/// Databases store fingerprints, so the tables never change: another version of Unicode needs
/// tokenizers with other names. This fails if a crate or the standard library brings other
/// properties of characters.
#[test]
fn all_characters_have_the_properties_of_unicode_16() {
    let mut properties = String::new();
    let [lower, words, char] = ["lower tokens=words", "nfc tokens=words", "none tokens=char"]
        .map(|parts| format!("minhash short=tokens shingle=1000 clean={parts}").parse::<Recipe>().unwrap());
    let [mut lower, mut words, mut char] = [lower, words, char].map(|recipe| recipe.any_fingerprinter());
    for c in '\0'..=char::MAX {
        // The last two have c before and behind a sigma that ends a word or not.
        properties += lower.cleaned(&format!("{c} A{c}Σ AΣ{c}a"));
        // Its decomposition and its class, by the marks around it; and whether it is a word, a part of one, or neither.
        for text in [format!("{c} a{c}b"), format!("a\u{323}{c}\u{301}"), c.nfd().collect()] {
            properties += words.cleaned(&text);
            words.tokenize(&text);
            properties += words.tokens.all();
        }
        char.tokenize(c.encode_utf8(&mut [0; 4]));
        properties += char.tokens.all();
    }
    assert_eq!(xxh3_128(properties.as_bytes()), 17_045_569_391_989_207_657_760_397_068_807_762_608);
}

/// Databases store these recipes, so their steps never change. The text becomes "fine muhammad كتاب محمد 12 آ".
#[test]
fn steps_that_no_named_recipe_has_make_the_same_fingerprints_in_all_versions() {
    let text = "ﬁne Muhammad كتـــاب مُحَمَّد １２ اـٓ";
    let plain = "fine muhammad كتاب محمد 12 آ";
    let all = "clean=nfkc,harakat,tatweel,lower";
    assert_eq!(print::<u64>(&format!("simhash {all}"), text), print::<u64>("simhash clean=none", plain));
    assert_eq!(print::<U256>(&format!("minhash {all}"), text), print::<U256>("minhash clean=none", plain));
    // Computed in Python with `unicodedata` and xxh3.
    for (steps, value) in [
        ("nfkc", 2_507_705_505_861_360_932),
        ("harakat", 14_862_553_957_536_453_632),
        ("tatweel", 9_517_416_717_501_441_026),
        ("nfkc,harakat,tatweel,lower", 1_675_667_005_297_317_404),
    ] {
        assert_eq!(print::<u64>(&format!("simhash shingle=1 clean={steps}"), text), value, "{steps}");
    }
    let mut nfkc = "simhash clean=nfkc".parse::<Recipe>().unwrap().any_fingerprinter();
    let forms: String = ('\0'..=char::MAX).map(|c| nfkc.cleaned(&c.to_string()).to_string() + "\n").collect();
    assert_eq!(xxh3_128(forms.as_bytes()), 324_564_995_177_783_669_612_681_395_117_146_466_066);
}

proptest! {
    #[test]
    fn fingerprints_equal_their_explanations(
        at in 0..11usize,
        text in "((the|fish|Fish|x|1\\.5|中文|近似重複|é|<p>|don't|_)[ ,]{0,2}){0,40}",
    ) {
        let recipe = [
            "simhash", "simhash-py shingle=2", "seomoz-cpp", "notebook hash=md5:12", "chinese", "cjk",
            "weights=one shingle=2", "chinese stop=english weights=one", "seomoz-cpp hash=xxh3 weights=one",
            "simhash clean=html stop=english short=none tokens=whitespace", "simhash short=tokens shingle=9",
        ][at];
        let mut fingerprinter = recipe.parse::<Recipe>().unwrap().any_fingerprinter();
        let explained = fingerprinter.explain(&text);
        let fingerprinted = fingerprinter.fingerprint(&text);
        prop_assert_eq!((explained.value, explained.tokens.len()), (fingerprinted.value, fingerprinted.num_tokens));
        prop_assert_eq!(explained.features.is_empty(), fingerprinted.num_features == 0);
        prop_assert!(explained.features.len() <= fingerprinted.num_features);
    }

    #[test]
    fn fingerprints_of_128_bits_equal_their_explanations(at in 0..2usize, text in "((a|b|c|d)[ ,]){0,40}") {
        let recipe = ["width=128 shingle=2", "notebook"][at];
        let mut fingerprinter = recipe.parse::<Recipe>().unwrap().any_fingerprinter();
        prop_assert_eq!(fingerprinter.explain(&text).value, fingerprinter.fingerprint(&text).value);
    }
}

/// Databases store such fingerprints, so they never change. There is a separator behind each token.
#[test]
fn texts_without_features_are_stored_by_a_hash_of_their_tokens() {
    let recipe: Recipe = "simhash-py".parse().unwrap();
    let stored = recipe.fingerprinter::<u64>().unwrap().fingerprint("red car sale").stored("");
    assert_eq!(u128::from(stored), xxh3_128(b"red car sale ") % (1 << 64));
    let wide: Recipe = "minhash short=none".parse().unwrap();
    let stored = wide.fingerprinter::<U256>().unwrap().fingerprint("Two words").stored("");
    let hash = xxh3_128(b"two words ");
    let words = [0, 64].map(|from| u64::try_from((hash >> from) % (1 << 64)).unwrap());
    assert_eq!([0, 1].map(|word| stored.le_word(word)), words);
    assert_eq!([2, 3].map(|word| stored.le_word(word)), words.map(mix64));
}

/// Tokens need not make a feature.
#[test]
fn regression_a_text_without_features_is_compared_by_its_tokens() {
    for (recipe, text) in [
        ("simhash-py", "red car sale"),
        ("simhash short=none", "two words"),
        ("cjk shingle=5 short=none", "abcd"),
        ("chinese", "你 和 我 都 在 这 吧"),
    ] {
        let mut fingerprinter = recipe.parse::<Recipe>().unwrap().fingerprinter::<u64>().unwrap();
        let [found, same, other, none] = [text, text, "x", ""].map(|text| fingerprinter.fingerprint(text));
        assert_eq!(
            (found.value, found.num_features, found.comparable()),
            (0, 0, Comparable::Tokens),
            "{recipe}"
        );
        assert!(found.num_tokens > 0 && found.stored("a") == same.stored("b"), "{recipe}");
        let distances = [&other, &none].map(|other| other.stored("a").distance(found.stored("b")));
        assert!(distances.iter().all(|distance| *distance > 8) && found.stored("a") != 0, "{recipe}");
        assert_eq!((none.value, none.comparable()), (0, Comparable::Nothing), "{recipe}");
        assert!(none.stored("a").distance(none.stored("b")) > 8, "{recipe}");
        let long = fingerprinter.fingerprint("fingerprints 近似重複 of longer texts have features");
        assert!(long.comparable() == Comparable::Features && long.stored("a") == long.value, "{recipe}");
    }
}

/// The section "Texts without features" of docs/minhash.md.
#[test]
fn texts_without_features_are_stored_as_the_definition_says() {
    let recipe: Recipe = "minhash short=none".parse().unwrap();
    let mut fingerprinter = recipe.fingerprinter::<U256>().unwrap();
    let of_tokens = xxh3_128(b"two words ");
    let of_key = xxh3_128_with_seed(b"the key", 1);
    for (text, hash) in [("Two words", of_tokens), ("", of_key), ("-- !", of_key)] {
        let found = fingerprinter.fingerprint(text);
        let [low, high] = [hash, hash >> 64].map(|word| u64::try_from(word & u128::from(u64::MAX)).unwrap());
        let words = [low, high, mix64(low), mix64(high)];
        assert_eq!([0, 1, 2, 3].map(|word| found.stored("the key").le_word(word)), words, "{text:?}");
        assert_eq!(found.value, U256::default(), "{text:?}");
    }
}

/// Their markup has the same words.
#[test]
fn regression_pages_with_other_punctuation_were_copies() {
    for recipe in ["minhash", "simhash clean=html", "minhash short=none"] {
        let mut fingerprinter = recipe.parse::<Recipe>().unwrap().any_fingerprinter();
        let pages = ["?", "!!", ""].map(|text| format!("<html><body><p>{text}</p></body></html>"));
        let made = pages.each_ref().map(|page| fingerprinter.fingerprint(page));
        for (at, one) in made.iter().enumerate() {
            assert_eq!((one.num_tokens, one.comparable()), (0, Comparable::Tokens), "{recipe}");
            assert_eq!(
                one.stored("a"),
                fingerprinter.fingerprint(&pages[at]).stored("b"),
                "{recipe}: a copy"
            );
            let others = made.iter().enumerate().filter(|&(other, _)| other != at);
            assert!(others.clone().all(|(_, other)| other.text_hash != one.text_hash), "{recipe}");
            assert!(others.clone().all(|(_, other)| other.stored("a") != one.stored("a")), "{recipe}");
        }
    }
}

/// An empty text, and one without tokens.
#[test]
fn texts_without_tokens_have_the_fingerprint_0() {
    for name in Recipe::names() {
        for text in ["", "\n\n"] {
            let recipe: Recipe = name.parse().unwrap();
            let is_space = name == "simhash-py" && !text.is_empty();
            let expected = (true, usize::from(is_space));
            let found = recipe.any_fingerprinter().fingerprint(text);
            assert_eq!((found.value.is_zero(), found.num_tokens), expected, "{name}");
        }
    }
}
