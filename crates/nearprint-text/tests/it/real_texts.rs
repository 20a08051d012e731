//! Real texts, where they are at hand.

use nearprint_text::jaccard::ShingleSet;
use nearprint_text::recipe::Recipe;

use testkit::{Need, Random, skip};

/// The content of a compressed file of real data. `None`, and a line that says so, where there are none.
fn unpacked(test: &str, name: &str) -> Option<String> {
    let Ok(folder) = std::env::var("NEARPRINT_DATA") else {
        skip(Need::Data, test, "NEARPRINT_DATA names no folder");
        return None;
    };
    let output = std::process::Command::new("gzip").arg("-dc").arg(format!("{folder}/{name}")).output();
    Some(String::from_utf8(output.unwrap().stdout).unwrap())
}

fn text(line: &str) -> String {
    let document: serde_json::Value = serde_json::from_str(line).unwrap();
    document["text"].as_str().unwrap().to_string()
}

/// Debian's package descriptions, with fingerprints by a Python implementation.
#[test]
fn real_texts_have_the_fingerprints_of_another_implementation() {
    let test = "real_texts_have_the_fingerprints_of_another_implementation";
    let Some(texts) = unpacked(test, "debian-descriptions-en.jsonl.gz") else { return };
    let Some(prints) = unpacked(test, "debian-fingerprints.txt.gz") else { return };
    let recipe = "simhash-py clean=lower tokens=word shingle=3 short=one".parse::<Recipe>().unwrap();
    let mut fingerprinter = recipe.fingerprinter::<u64>().unwrap();
    let mut count = 0;
    for (line, print) in texts.lines().zip(prints.lines()) {
        let expected: u64 = print.split('\t').next().unwrap().parse().unwrap();
        assert_eq!(fingerprinter.fingerprint(&text(line)).value, expected, "{line}");
        count += 1;
    }
    assert_eq!(count, 63_905);
}

/// A twentieth of the characters is another one, of those that occur.
#[test]
fn copies_of_japanese_and_chinese_texts_are_near() {
    let test = "copies_of_japanese_and_chinese_texts_are_near";
    for (language, least) in [("ja", 115), ("zh_CN", 110)] {
        let Some(lines) = unpacked(test, &format!("debian-descriptions-{language}.jsonl.gz")) else { return };
        let long = lines.lines().map(text).filter(|text| text.chars().count() >= 150);
        let texts: Vec<String> = long.take(120).collect();
        let mut characters: Vec<char> = texts.iter().flat_map(|text| text.chars()).collect();
        characters.retain(|&c| c > '\u{3000}');
        characters.sort_unstable();
        characters.dedup();
        let mut random = Random(20);
        let mut near = 0;
        for text in &texts {
            let mut copy: Vec<char> = text.chars().collect();
            let mut below = |limit: usize| random.below(limit as u64) as usize;
            for _ in 0..copy.len() / 20 {
                let at = below(copy.len());
                copy[at] = characters[below(characters.len())];
            }
            let copy = ShingleSet::of_text(&copy.into_iter().collect::<String>());
            near += usize::from(ShingleSet::of_text(text).similarity(&copy) >= 0.7);
        }
        assert!(texts.len() == 120 && near >= least, "{language}: {near} of {}", texts.len());
    }
}
