//! What people know from other programs, and from write-ups: bits, lists of stop words, folded differences.

use std::fs;

use crate::cli::{fails, nearprint, run, succeeds};

#[test]
fn bits_are_printed_and_read() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let text = b"one two three";
    let decimal = succeeds(at, "fingerprint", text);
    let value: u64 = decimal.split('\t').next().unwrap().parse().unwrap();
    let binary = succeeds(at, "fingerprint --radix 2", text);
    assert_eq!(binary, format!("0b{value:064b}\t-\n"));
    assert_eq!(succeeds(at, "fingerprint --radix 10", text), decimal);
    let json = succeeds(at, "fingerprint --radix 16 --format json", text);
    assert_eq!(json, format!("{{\"fingerprint\":\"0x{value:016x}\",\"key\":\"-\"}}\n"));

    succeeds(at, "build a.np", format!("0b{value:b}\t7\n").as_bytes());
    succeeds(at, "build b.np --radix 2", format!("{value:b}\t7\n").as_bytes());
    for database in ["a.np", "b.np"] {
        let near = value ^ 5;
        let found = succeeds(at, &format!("query {database} -f 0b{near:b}"), b"");
        assert_eq!(found, format!("0b{near:064b}\t2\t0b{value:064b}\t7\n"));
        let exported = succeeds(at, &format!("export {database} --radix 2"), b"");
        assert_eq!(exported, format!("0b{value:064b}\t7\n"));
    }
    fails(at, "build c.np --radix 2", b"12\n", 5, &["not a fingerprint", "0b and bits"]);

    // So many digits are no hexadecimal ones of 256 bits.
    let whole = 0xf0f0_1234_5678_9abc_u64;
    succeeds(at, "build whole.np --radix 2", format!("{whole:064b}\t7\n").as_bytes());
    let found = format!("0b{whole:064b}\t0\t0b{whole:064b}\t7\n");
    for query in [format!("-f {whole:064b} --radix 2"), format!("-f 0b{whole:064b}")] {
        assert_eq!(succeeds(at, &format!("query whole.np {query}"), b""), found);
    }
    fails(at, &format!("query whole.np -f {whole:064b}"), b"", 2, &["0b", "--radix 2"]);
    let wide = nearprint(at, "build doubtful.np", format!("{whole:064b}\n").as_bytes());
    assert!(wide.err.contains("--radix 2, or 0b before each number"), "{}", wide.err);
    fails(at, "query whole.np -f ff00ff00ff00ff00", b"", 2, &["--radix 16"]);
    fails(at, "build hex.np", b"ff00\n", 5, &["--radix 16"]);

    // Wide ones have all their bits.
    let wide = succeeds(at, "fingerprint --recipe minhash --radix 2 --header", text);
    let print = wide.lines().last().unwrap().split('\t').next().unwrap();
    assert_eq!(print.len(), 258);
    succeeds(at, "build wide.np", wide.as_bytes());
    let exported = succeeds(at, "export wide.np", b"");
    let expected = succeeds(at, "fingerprint --recipe minhash", text);
    assert_eq!(exported.split('\t').next(), expected.split('\t').next());
    fails(at, "fingerprint --recipe minhash --radix 10", text, 2, &["--radix 10", "256 bits"]);
    fails(at, "build x.np --width 256", format!("{}\n", &print[..200]).as_bytes(), 5, &["256"]);
}

#[test]
fn stop_words_are_those_of_a_language_or_a_file() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let (with, without) = ("Der Hund und die Katze waren nicht im Haus", "hund katze haus");
    let print = |options: &str, text: &str| succeeds(at, &format!("fingerprint {options}"), text.as_bytes());
    assert_eq!(print("--recipe stop=de", with), print("", without));
    assert_ne!(print("--recipe stop=fr", with), print("", without));
    fs::write(at.join("words.txt"), "der und\ndie waren\n\tnicht im die\n").unwrap();
    assert_eq!(print("--recipe stop=words.txt", with), print("", without));
    assert_eq!(print("--recipe stop=none", with), print("", with));
    let english = "the dog and a cat";
    assert_eq!(print("--recipe stop=english", english), print("--recipe stop=en", english));

    // The recipe holds the words: it means the same where the file is not.
    let explained = print("--recipe stop=words.txt --explain", with);
    let recipe = explained.lines().find_map(|line| line.strip_prefix("recipe\t")).unwrap();
    assert!(recipe.contains(" stop=list:der,die,im,nicht,und,waren "), "{recipe}");
    let line = ["fingerprint", "--recipe", recipe];
    let again = run(env!("CARGO_BIN_EXE_nearprint"), at, &line, with.as_bytes());
    assert_eq!(again.out, print("", without));

    let long: String = (0..2000).map(|at| format!("word{at} ")).collect();
    fs::write(at.join("long.txt"), long).unwrap();
    fs::write(at.join("commas.txt"), "a,b c").unwrap();
    for (words, message) in
        [("nowhere", "de, "), ("long.txt", "a recipe holds 3800"), ("empty.txt", "single commas")]
    {
        fs::write(at.join("empty.txt"), "\n").unwrap();
        fails(at, &format!("fingerprint --recipe stop={words}"), b"x", 2, &[message]);
    }
    assert_eq!(print("--recipe stop=commas.txt", "a b c d"), print("", "d"));
}

#[test]
fn equal_lines_between_differences_are_counted() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let lines = |first: &str, last: &str| {
        let middle: String = (0..20).map(|line| format!("line {line}\n")).collect();
        format!("{first}\n{middle}{last}\nthe end\n")
    };
    fs::write(at.join("a.txt"), lines("one", "two")).unwrap();
    fs::write(at.join("b.txt"), lines("1", "2")).unwrap();
    let words = |options: &str| nearprint(at, &format!("compare a.txt b.txt --words {options}"), b"").out;
    let folded = "[-one-]{+1+}\nline 0\n@@ 18 equal lines @@\nline 19\n[-two-]{+2+}\nthe end\n";
    assert!(words("--context 1").ends_with(folded), "{}", words("--context 1"));
    assert!(words("").contains("line 2\n@@ 14 equal lines @@\nline 17\n"), "{}", words(""));
    assert!(words("--context 10").contains("line 9\nline 10\n") && !words("--context 10").contains("@@"));
    let same = nearprint(at, "compare a.txt a.txt --words", b"").out;
    assert_eq!(same.lines().last(), Some("@@ 23 equal lines @@"));
    let json: serde_json::Value = serde_json::from_str(&words("--json")).unwrap();
    let text = |name: &str| -> String {
        json["words"].as_array().unwrap().iter().filter_map(|part| part.get(name)?.as_str()).collect()
    };
    assert_eq!([text("removed"), text("added")], ["onetwo", "12"]);
    assert_eq!(text("equal").lines().count(), 23);
    fails(at, "compare a.txt b.txt --words --format csv", b"", 2, &["not for CSV"]);
}

#[test]
fn a_distance_is_one_of_the_bits_that_are_compared() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("a.txt"), "one two three four").unwrap();
    fs::write(at.join("b.txt"), "five six seven eight").unwrap();
    let compared = nearprint(at, "compare a.txt b.txt --recipe notebook␣hash=md5:8", b"");
    assert!(compared.err.contains("of 8 bits differ"), "{}", compared.err);
    let json = nearprint(at, "compare a.txt b.txt --recipe notebook␣hash=md5:8 --format json", b"").out;
    assert!(json.contains("\"bits\":8,"), "{json}");
}

#[test]
fn options_of_other_programs_get_a_hint() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (line, hint) in [
        ("dedup a.jsonl --threshold 0.8", "--similarity S"),
        ("dedup a.jsonl --unit line", "nearprint trim --by paragraph"),
        ("scan . --num_perm 128", "hash=minhash:BxN,R"),
        ("dedup a.jsonl --tokenizer jieba", "--recipe 'tokens="),
        ("prune . --trash", "nearprint undo"),
        ("pairs a.np --hamming-distance=3", "-k K"),
        ("dedup a.jsonl --ngram 5", "--shingle N"),
        ("dedup a.jsonl --num-proc 4", "-j N"),
        ("dedup a.jsonl --column text", "--text-field NAME"),
    ] {
        let outcome = nearprint(at, line, b"");
        assert_eq!(outcome.code, 2, "{line}");
        let last = outcome.err.lines().last().unwrap();
        assert!(last.starts_with("hint: ") && last.contains(hint), "{line}: {}", outcome.err);
        assert!(!outcome.err.contains("tip: a similar"), "{}", outcome.err);
    }
    assert!(!nearprint(at, "dedup --outputt x", b"").err.contains("hint:"));
    assert!(!nearprint(at, "dedup a.jsonl -o x --within", b"").err.contains("--width"));
    succeeds(at, "build a.np -j 2", b"1\n");
}

#[test]
fn inverted_matches_are_the_rest() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build a.np --store keys", b"1\t1\tone\n");
    succeeds(at, "build b.np --store keys", b"255\t2\ttwo\n");
    let queries = b"3\tnear one\n254\tnear two\n65535\tfar\n0xffff00000000\tfarther\n";
    let found = |options: &str| succeeds(at, &format!("query {options} - -k 2 -v"), queries);
    assert_eq!(found("a.np"), "254\tnear two\n65535\tfar\n281470681743360\tfarther\n");
    let both = "65535\tfar\n281470681743360\tfarther\n";
    assert_eq!(found("a.np b.np"), both);
    assert_eq!(found("a.np b.np --header"), format!("query\tquery_key\n{both}"));
    let found = succeeds(at, "query a.np -f 1 -f 255 -v --format json", b"");
    assert_eq!(found, "{\"query\":\"255\"}\n");
    fails(at, "query a.np -f 1 -v --top 3", b"", 2, &["--top"]);

    let text: String = (0..100).map(|word| format!("word{word} ")).collect();
    let line = |key: &str, text: &str| format!("{{\"url\":\"{key}\",\"text\":\"{text}\"}}\n");
    fs::write(at.join("old.jsonl"), line("a", &text)).unwrap();
    fs::write(at.join("new.jsonl"), line("b", &format!("{text} more")) + &line("c", "of another kind"))
        .unwrap();
    succeeds(at, "dedup old.jsonl -o kept.jsonl --db seen.np --key-field url", b"");
    let new = succeeds(at, "query seen.np new.jsonl --key-field url --unmatched", b"");
    assert_eq!(new, "c\n");
}
