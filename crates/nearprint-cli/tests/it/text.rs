//! Texts to fingerprints, on the command line.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::cli::{fails, nearprint, slashes, succeeds};
use nearprint_text::recipe::{Recipe, compute, unsigned_hash};

const FISH: &str = "Tropical fish include fish found in tropical environments around the world, including both \
                    freshwater and salt water species.";
const FOX: &str = "The quick brown fox jumps over the lazy dog, again and again, until the dog wakes up.";

fn print_of(recipe: &str, text: &str) -> u64 {
    recipe.parse::<Recipe>().unwrap().fingerprinter().unwrap().fingerprint(text).value
}

fn home_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    home
}

#[test]
fn files_become_fingerprints() {
    // Windows has no names with tabs.
    let (odd, escaped) = if cfg!(windows) { ("b1.txt", "b1.txt") } else { ("b\t1.txt", r"b\t1.txt") };
    let home = home_with(&[("a.txt", FISH), (odd, FOX)]);
    let at = home.path();
    let (fish, fox) = (print_of("simhash", FISH), print_of("simhash", FOX));
    assert_eq!(succeeds(at, "fingerprint a.txt", b""), format!("{fish}\ta.txt\n"));
    assert_eq!(succeeds(at, "fingerprint", FOX.as_bytes()), format!("{fox}\t-\n"));
    assert_eq!(
        succeeds(at, &format!("fingerprint a.txt - {odd} --threads 2"), FOX.as_bytes()),
        format!("{fish}\ta.txt\n{fox}\t-\n{fox}\t{escaped}\n")
    );
    assert_eq!(
        succeeds(at, &format!("fingerprint {odd} --format json"), b""),
        format!("{{\"fingerprint\":\"{fox}\",\"key\":\"{escaped}\"}}\n")
    );
    let wide = succeeds(at, "fingerprint a.txt --recipe width=128", b"");
    assert!(wide.starts_with("0x") && wide.len() == "0x\ta.txt\n".len() + 32, "{wide}");
}

#[test]
fn the_tools_people_come_from_agree() {
    let home = home_with(&[("fish.txt", FISH)]);
    let at = home.path();
    let line = "fingerprint fish.txt --recipe notebook";
    assert_eq!(succeeds(at, line, b""), "0xcd60217a4e5e1145561b8944e25c98a5\tfish.txt\n");
    assert_eq!(succeeds(at, &format!("{line}␣hash=md5:8"), b""), "165\tfish.txt\n");
    assert_eq!(succeeds(at, &format!("{line}␣hash=md5:8␣clean=none"), b""), "167\tfish.txt\n");
    assert_eq!(succeeds(at, "fingerprint --recipe seomoz-cpp", b"one two three"), "3269038531388101654\t-\n");
    let hashes = ["a b c d", "b c d e"].map(|window| unsigned_hash(window.as_bytes()));
    assert_eq!(
        succeeds(at, "fingerprint --recipe simhash-py", b"a b c d e"),
        format!("{}\t-\n", compute(hashes))
    );
    assert_eq!(succeeds(at, "fingerprint --recipe simhash-py", b"a b c"), "0\t-\n");
}

#[test]
fn features_may_be_given() {
    let home = home_with(&[("f.txt", "0x25\t3\n0x2b\t5\n"), ("bad.txt", "word\t1\nword 2\n")]);
    let at = home.path();
    assert_eq!(succeeds(at, "fingerprint --features f.txt", b""), "43\tf.txt\n");
    let word = unsigned_hash(b"a word");
    let line = "fingerprint --features --recipe simhash-py";
    assert_eq!(succeeds(at, line, b"a word\t0.5\n0x0\t0.25"), format!("{word}\t-\n"));
    fails(at, "fingerprint --features f.txt bad.txt", b"", 5, &["bad.txt:2", "no tab"]);
    fails(at, line, b"x\theavy\n", 5, &["standard input:1", "not a weight"]);
    fails(at, line, b"x\t1\ny\t0.0\n", 5, &["standard input:2", "weight of 0"]);
    assert_eq!(succeeds(at, line, b"0x0\t-1"), format!("{}\t-\n", u64::MAX), "the opposite of each bit");
    fails(at, line, b"0xx\t1\n", 5, &["standard input:1", "hexadecimal"]);
    fails(at, line, b"0x10000000000000000\t1\n", 5, &["standard input:1", "64 bits"]);
}

#[test]
fn regression_numbers_are_no_words_of_which_hashes_are_made() {
    let home = home_with(&[]);
    let line = "fingerprint --features";
    assert_eq!(succeeds(home.path(), line, b"0b100101\t3\n0b101011\t5\n"), "43\t-\n");
    assert_ne!(succeeds(home.path(), line, b"0bc\t3\n"), "");
    for numbers in [&b"37\t3\n43\t5\n"[..], b"d41d8cd98f00b204\t1\n"] {
        fails(home.path(), line, numbers, 5, &["every feature is a number", "0x or 0b"]);
    }
    assert_ne!(succeeds(home.path(), line, b"word\t3\n2024\t5\n"), "");
}

#[test]
fn regression_narrow_hashes_have_as_many_bits_in_an_explanation() {
    let home = home_with(&[]);
    let out = succeeds(home.path(), "fingerprint --recipe notebook␣hash=md5:8 --explain", b"one two three");
    assert_eq!(out.lines().filter(|line| line.starts_with("bit ")).count(), 8, "{out}");
    assert!(out.contains("\nbit 7\tsum ") && out.contains("\nbit 0\tsum "), "{out}");
}

#[test]
fn contributions_of_features_add_up() {
    let home = home_with(&[("f.txt", "0x25\t3\n0x2b\t5\nword\t-0.5\n")]);
    let out = succeeds(home.path(), "fingerprint --features --explain f.txt", b"");
    let numbers = |line: &str| -> Vec<f64> {
        line.rsplit('\t').next().unwrap().split(' ').map(|number| number.parse().unwrap()).collect()
    };
    let adds: Vec<Vec<f64>> = out.lines().filter(|line| line.starts_with("adds\t")).map(numbers).collect();
    assert_eq!(adds.len(), 3);
    assert!(out.contains("feature\t0x25\tweight 3\thash 37\nadds\t0x25\t-3 -3 "), "{out}");
    assert!(out.contains(" -3 -3 +3 -3 -3 +3 -3 +3\n"), "{out}");
    for bit in 0..64 {
        let sum: f64 = adds.iter().map(|adds| adds[63 - bit]).sum();
        let line = format!("bit {bit}\tsum {sum}\t{}\n", u8::from(sum > 0.0));
        assert!(out.contains(&line), "{line} is not in {out}");
    }
    assert!(out.ends_with("fingerprint\t43\n"), "{out}");
    fails(home.path(), "fingerprint --features --explain", b"x\t0\n", 5, &["weight of 0"]);
}

#[test]
fn hashes_of_words_and_of_lines_can_be_seen() {
    let home = home_with(&[]);
    let out = succeeds(home.path(), "fingerprint --recipe seomoz-cpp --explain", b"one two\n");
    for (name, text) in [("token\tone\t", "one"), ("token\ttwo\t", "two"), ("text\t", "one two")] {
        let line = format!("{name}hash {}\n", nearprint_text::recipe::jenkins(text.as_bytes()));
        assert!(out.contains(&line), "{line} is not in {out}");
    }
    let minhash = succeeds(home.path(), "fingerprint --recipe minhash --explain", b"one two\n");
    assert!(minhash.contains("token\ttwo\n") && !minhash.contains("\ntext\t"), "{minhash}");
}

#[test]
fn an_explanation_adds_up() {
    let home = home_with(&[]);
    let out = succeeds(home.path(), "fingerprint --explain --shingle 2", b"Red red, RED fish");
    let print = print_of("simhash shingle=2", "red red red fish");
    for line in
        ["key\t-", "token\tfish", "recipe\tclean=detect-html,nfc,lower tokens=words stop=none shingle=2"]
    {
        assert!(out.contains(line), "{line} is not in {out}");
    }
    assert!(out.contains("feature\tred red\tweight 2\thash "), "{out}");
    assert!(out.contains("feature\tred fish\tweight 1\thash "), "{out}");
    assert!(out.ends_with(&format!("fingerprint\t{print}\n")), "{out}");
    let bits: String =
        out.lines().filter(|line| line.starts_with("bit ")).map(|line| &line[line.len() - 1..]).collect();
    assert_eq!(u64::from_str_radix(&bits, 2), Ok(print));
}

#[test]
fn odd_texts_are_told() {
    let home = home_with(&[("empty.txt", ""), ("marks.txt", " \n-- !\n")]);
    let at = home.path();
    fs::write(at.join("latin.txt"), b"caf\xe9 au lait, s'il vous pla\xeet").unwrap();
    let outcome = nearprint(at, "fingerprint empty.txt latin.txt marks.txt", b"");
    let latin = print_of("simhash", "caf\u{e9} au lait, s'il vous pla\u{ee}t");
    assert_eq!((outcome.code, outcome.out), (0, format!("0\tempty.txt\n{latin}\tlatin.txt\n0\tmarks.txt\n")));
    assert!(outcome.err.contains("texts in other encodings than UTF-8: 1 windows-1252"), "{}", outcome.err);
    assert!(outcome.err.contains("2 of the documents: without a token"), "{}", outcome.err);
    assert_eq!(nearprint(at, "-q fingerprint empty.txt latin.txt", b"").err, "");
}

#[test]
fn what_cannot_be_done_is_refused() {
    let home = home_with(&[("a.txt", FISH), ("p.jsonl", "")]);
    let at = home.path();
    for (line, words) in [
        ("fingerprint a.txt --recipe nonesuch", "seomoz-cpp"),
        ("fingerprint a.txt --shingle 0", "1 to 1000"),
        ("fingerprint a.txt --recipe tokens=unicode", "words"),
        // Options are no parts, though both are set by name.
        ("dedup a.txt -o out --recipe k=3", "recipe"),
        ("dedup a.txt -o out --recipe shingle=2␣recipe=cjk", "recipe"),
        ("fingerprint a.txt --recipe hash=md5:200", "1 to 128"),
        ("fingerprint a.txt --recipe weights=tfidf:30", "jieba"),
        ("fingerprint a.txt --recipe seomoz-cpp␣width=128", "jenkins"),
        ("fingerprint a.txt --recipe width=512", "256"),
        ("fingerprint a.txt --explain --format json", "--format"),
        ("compare a.txt", "<B>"),
        ("compare a.txt a.txt -k 65 --recipe simhash", "at most 64"),
        ("compare a.txt a.txt -k 129", "96 bits"),
        ("compare - -", "standard input"),
        ("compare a.txt a.txt --format xml", "tsv"),
        ("compare a.txt a.txt a.txt -k 3", "two inputs"),
        ("fingerprint a.txt --key-field url", "plain text has no fields"),
        ("fingerprint - p.jsonl", "all inputs of one run have to be of one kind"),
        ("compare . a.txt", "two texts"),
    ] {
        fails(at, line, b"", 2, &[words]);
    }
    for line in
        ["fingerprint none.txt", "compare a.txt none.txt", "compare a.txt a.txt none.txt", "compare 1 x"]
    {
        fails(at, line, b"", 1, &["cannot open"]);
    }
}

#[test]
fn documents_of_every_kind_become_fingerprints() {
    let (fish, fox) = (print_of("simhash", FISH), print_of("simhash", FOX));
    let lines = format!(
        "{{\"u\":{{\"v\":\"a\\tb\"}},\"body\":\"{FISH}\"}}\n{{\"u\":{{\"v\":2}},\"body\":\"{FOX}\"}}\n"
    );
    let table = format!("key,text\nx,\"{FISH}\"\ny,\"{FOX}|not this\"\n");
    let home = home_with(&[("d/a.txt", FISH), ("d/e/b.md", FOX), ("p.jsonl", &lines), ("t.csv", &table)]);
    let at = home.path();
    let of_folder = slashes(&succeeds(at, "fingerprint d", b""));
    assert_eq!(of_folder, format!("{fish}\td/a.txt\n{fox}\td/e/b.md\n"));
    let keyed = format!("{fish}\ta\\tb\n{fox}\t2\n");
    let fields = "--text-field body --key-field u.v";
    assert_eq!(succeeds(at, &format!("fingerprint p.jsonl {fields}"), b""), keyed);
    let numbered = format!("{fish}\tp.jsonl:1\n{fox}\tp.jsonl:2\n");
    assert_eq!(succeeds(at, "fingerprint p.jsonl --text-field body", b""), numbered);
    let from_stdin = format!("fingerprint --input-format jsonl {fields}");
    assert_eq!(succeeds(at, &from_stdin, lines.as_bytes()), keyed);
    let gzipped = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(lines.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    assert_eq!(succeeds(at, &from_stdin, &gzipped), keyed);
    let cut = "fingerprint t.csv --key-field key --recipe clean=cut:|,nfc,lower";
    assert_eq!(succeeds(at, cut, b""), format!("{fish}\tx\n{fox}\ty\n"));
    assert!(succeeds(at, &format!("{cut} --explain"), b"").contains("key\ty\n"));
    let each_line = format!("{FISH}\n{FOX}\n");
    assert_eq!(
        succeeds(at, "fingerprint --input-format lines", each_line.as_bytes()),
        format!("{fish}\t-:1\n{fox}\t-:2\n")
    );
}

#[test]
fn bad_records_end_the_run_or_are_set_aside() {
    let lines = format!("{{\"text\":\"{FISH}\"}}\n{{\"txt\":1}}\n{{\"text\":\"\"}}\n");
    let home = home_with(&[("p.jsonl", &lines), ("f.jsonl", "{\"text\":\"0x1\\t1\\nx 2\"}\n")]);
    let at = home.path();
    let fish = print_of("simhash", FISH);
    let outcome = nearprint(at, "fingerprint p.jsonl", b"");
    assert_eq!((outcome.code, outcome.out), (5, format!("{fish}\tp.jsonl:1\n")));
    assert!(outcome.err.contains("p.jsonl:2: no field \"text\"") && outcome.err.contains("--rejects"));
    let outcome = nearprint(at, "fingerprint p.jsonl --rejects bad.jsonl", b"");
    assert_eq!((outcome.code, outcome.out), (0, format!("{fish}\tp.jsonl:1\n0\tp.jsonl:3\n")));
    assert!(outcome.err.contains("1 bad records were skipped"), "{}", outcome.err);
    assert!(outcome.err.contains("1 of the documents: without a token"), "{}", outcome.err);
    assert_eq!(fs::read_to_string(at.join("bad.jsonl")).unwrap(), "{\"txt\":1}\n");
    let outcome = nearprint(at, "fingerprint p.jsonl --rejects bad.jsonl --min-words 3", b"");
    assert_eq!((outcome.code, outcome.out), (0, format!("{fish}\tp.jsonl:1\n")));
    assert!(outcome.err.contains("1 documents of fewer than 3 tokens were skipped"), "{}", outcome.err);
    assert_eq!(fs::read_to_string(at.join("bad.jsonl")).unwrap(), "{\"txt\":1}\n{\"text\":\"\"}\n");
    fails(at, "fingerprint --features f.jsonl", b"", 5, &["f.jsonl:1: line 2 of its features: no tab"]);
    fails(at, "fingerprint --explain p.jsonl", b"", 5, &["p.jsonl:2"]);
}

#[test]
fn two_texts_are_compared() {
    let home = home_with(&[("a.txt", FISH), ("b.txt", FOX), ("7", FISH)]);
    let at = home.path();
    assert_eq!(succeeds(at, "compare a.txt 7", b""), "0\n");
    assert_eq!(succeeds(at, "compare a.txt -", FISH.to_uppercase().as_bytes()), "0\n");
    let distance = (print_of("simhash", FISH) ^ print_of("simhash", FOX)).count_ones();
    let line = "compare a.txt b.txt --recipe simhash";
    let outcome = nearprint(at, line, b"");
    assert_eq!((outcome.code, outcome.out), (6, format!("{distance}\n")));
    assert!(outcome.err.ends_with("; not near: more than 3 of 64 bits differ\n"), "{}", outcome.err);
    assert_eq!(succeeds(at, &format!("{line} -k {distance}"), b""), format!("{distance}\n"));

    assert_eq!(succeeds(at, "compare 0x1f3a 7994", b""), "0\n");
    assert_eq!(nearprint(at, "compare 0 15 -k 3", b"").code, 6);
    assert_eq!(succeeds(at, "compare 0 0xf0000000000000000000000000000000 -k 4", b""), "4\n");
}

#[test]
fn a_matrix_holds_all_distances() {
    let lower = FISH.to_lowercase();
    let home = home_with(&[("a,1.txt", FISH), ("b.txt", &lower), ("c.txt", FISH)]);
    let at = home.path();
    let line = "compare a,1.txt b.txt c.txt --recipe notebook␣hash=md5:8␣clean=none";
    assert_eq!(
        succeeds(at, line, b""),
        "\ta,1.txt\tb.txt\tc.txt\na,1.txt\t0\t1\t0\nb.txt\t1\t0\t1\nc.txt\t0\t1\t0\n"
    );
    assert_eq!(
        succeeds(at, &format!("{line} --format csv"), b""),
        ",\"a,1.txt\",b.txt,c.txt\n\"a,1.txt\",0,1,0\nb.txt,1,0,1\nc.txt,0,1,0\n"
    );
    assert_eq!(
        succeeds(at, &format!("{line} --format json"), b""),
        "{\"files\":[\"a,1.txt\",\"b.txt\",\"c.txt\"],\"distances\":[[0,1,0],[1,0,1],[0,1,0]]}\n"
    );
    let wide = "compare a,1.txt b.txt --recipe notebook --format csv";
    assert!(succeeds(at, wide, b"").ends_with("b.txt,0,0\n"), "lower case");
}

#[test]
fn every_recipe_says_what_it_is() {
    let home = home_with(&[]);
    for name in Recipe::names() {
        let line = format!("fingerprint --explain --recipe {name}");
        let out =
            succeeds(home.path(), &line, "近似重複の文書を探す。北京烤鸭真好吃 and more words".as_bytes());
        let recipe: Recipe = name.parse().unwrap();
        assert!(out.contains(&format!("recipe\t{recipe}\n")), "{out}");
    }
}

/// A text that the explanation and the fast way agree on, for all recipes, is in the unit tests;
/// here is one that takes several batches of threads.
#[test]
fn threads_change_nothing() {
    let home = tempfile::tempdir().unwrap();
    let at: &Path = home.path();
    let mut line = String::from("fingerprint");
    let mut expected = String::new();
    for number in 0..300 {
        let text = format!("{FOX} {number} {FISH}");
        fs::write(at.join(format!("{number}.txt")), &text).unwrap();
        line.push_str(&format!(" {number}.txt"));
        expected.push_str(&format!("{}\t{number}.txt\n", print_of("simhash", &text)));
    }
    for threads in [1, 2, 7] {
        assert_eq!(succeeds(at, &format!("{line} --threads {threads}"), b""), expected);
    }
    let lines: String = (0..150_000).map(|number| format!("one two three four {number}\n")).collect();
    let found = |threads: usize| {
        succeeds(at, &format!("fingerprint --input-format lines --threads {threads}"), lines.as_bytes())
    };
    let one = found(1);
    assert_eq!(one.lines().count(), 150_000);
    let last = print_of("simhash", "one two three four 149999");
    assert!(one.ends_with(&format!("\n{last}\t-:150000\n")));
    assert!(found(3) == one);
}
