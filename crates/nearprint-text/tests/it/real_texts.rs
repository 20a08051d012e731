//! Real texts, where they are at hand.

use nearprint_text::recipe::Recipe;

use testkit::{Need, skip};

/// Debian's package descriptions, with fingerprints by a Python implementation.
#[test]
fn real_texts_have_the_fingerprints_of_another_implementation() {
    let Ok(folder) = std::env::var("NEARPRINT_DATA") else {
        let test = "real_texts_have_the_fingerprints_of_another_implementation";
        return skip(Need::Data, test, "NEARPRINT_DATA names no folder");
    };
    let unpack = |name: &str| {
        let output = std::process::Command::new("gzip").arg("-dc").arg(format!("{folder}/{name}")).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let texts = unpack("debian-descriptions-en.jsonl.gz");
    let prints = unpack("debian-fingerprints.txt.gz");
    let recipe = "simhash-py clean=lower tokens=word shingle=3 short=one".parse::<Recipe>().unwrap();
    let mut fingerprinter = recipe.fingerprinter::<u64>().unwrap();
    let mut count = 0;
    for (line, print) in texts.lines().zip(prints.lines()) {
        let document: serde_json::Value = serde_json::from_str(line).unwrap();
        let expected: u64 = print.split('\t').next().unwrap().parse().unwrap();
        assert_eq!(fingerprinter.fingerprint(document["text"].as_str().unwrap()).value, expected, "{line}");
        count += 1;
    }
    assert_eq!(count, 63_905);
}
