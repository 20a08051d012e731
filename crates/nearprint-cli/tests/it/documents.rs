//! Texts and documents with recipes of each width, against brute force.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::fs;

use crate::cli::{duplicates as listed, fails, groups, nearprint, run, succeeds};
use nearprint::{Fingerprint, Printed};
use nearprint_text::recipe::Recipe;
use testkit::{Random, by_width, for_each_width_of_simhash};

for_each_width_of_simhash!(
    documents_are_deduplicated,
    the_distances_up_to_half_of_the_bits_are_tuned,
    texts_are_compared_by_recipes_of_this_width,
);

/// Lines of JSON and their texts; every third has some words of the one before.
fn documents(count: usize) -> (Vec<String>, String) {
    let mut random = Random(5);
    let mut texts: Vec<String> = Vec::new();
    for index in 0..count {
        let text = match texts.last() {
            Some(last) if index % 3 > 0 => format!("{last} w{}", random.below(5000)),
            _ => (0..60).map(|_| format!("w{} ", random.below(5000))).collect(),
        };
        texts.push(text);
    }
    let line = |(key, text): (usize, &String)| format!("{{\"id\":\"d{key}\",\"text\":\"{text}\"}}\n");
    let lines = texts.iter().enumerate().map(line).collect();
    (texts, lines)
}

fn documents_are_deduplicated<F: Fingerprint>() {
    let k = by_width::<F, _>(5, 10, 20);
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let width = F::BITS;
    let (texts, lines) = documents(400);
    fs::write(at.join("in.jsonl"), &lines).unwrap();
    let mut fingerprinter =
        format!("simhash width={width}").parse::<Recipe>().unwrap().fingerprinter::<F>().unwrap();
    let prints: Vec<F> = texts.iter().map(|text| fingerprinter.fingerprint(text).value).collect();
    let printed = succeeds(at, &format!("fingerprint in.jsonl --key-field id --recipe width={width}"), b"");
    let expected: String =
        (0..).zip(&prints).map(|(key, print)| format!("{}\td{key}\n", Printed(*print))).collect();
    assert_eq!(printed, expected);

    // Those kept, greedily, in an order; duplicates name the nearest of them.
    let greedy = |order: &mut dyn Iterator<Item = usize>| {
        let (mut kept, mut of) = (Vec::<usize>::new(), vec![None; prints.len()]);
        for index in order {
            let distance = |other: &usize| prints[index].distance(prints[*other]);
            let near = kept.iter().copied().filter(|other| distance(other) <= k);
            match near.min_by_key(|other| (distance(other), *other)) {
                Some(near) => of[index] = Some((near, distance(&near))),
                None => kept.push(index),
            }
        }
        let mut lines = String::new();
        for (index, of) in of.iter().enumerate() {
            if let Some((near, distance)) = of {
                let similarity = (std::f64::consts::PI * f64::from(*distance) / f64::from(F::BITS)).cos();
                let exact = texts[index] == texts[*near];
                writeln!(lines, "d{index}\td{near}\t{distance}\t{similarity:.4}\td{near}\t{exact}").unwrap();
            }
        }
        lines
    };
    let mut by_length: Vec<usize> = (0..prints.len()).collect();
    by_length.sort_by_key(|&index| (Reverse(texts[index].len()), index));
    for (keep, duplicates) in
        [("first", greedy(&mut (0..prints.len()))), ("longest", greedy(&mut by_length.iter().copied()))]
    {
        assert!(duplicates.lines().count() > 100, "near-duplicates are there");
        for db in ["", &format!("--db {keep}.np")] {
            let line =
                format!("dedup in.jsonl -o out.jsonl --duplicates dup.tsv --key-field id --keep {keep}");
            succeeds(at, &format!("{line} --recipe simhash␣width={width} -k {k} {db}"), b"");
            assert_eq!(listed(at, "dup.tsv"), duplicates, "{keep} {db}");
        }
    }
    // The database has the width and all documents.
    assert!(succeeds(at, "stats first.np", b"").contains(&format!("width\t{width}\n")));
    fs::copy(at.join("in.jsonl"), at.join("copy.jsonl")).unwrap();
    let line = format!("dedup copy.jsonl -o again.jsonl --key-field id --db first.np -k {k}");
    let outcome = nearprint(at, &line, b"");
    assert!(outcome.err.contains("400 records read: 0 kept"), "{}", outcome.err);
    let others: &[&str] = if width == 64 {
        &["--recipe width=128"]
    } else {
        &["--recipe width=64", "--recipe simhash", "--recipe cjk"]
    };
    for other in others {
        fails(at, &format!("{line} {other}"), b"", 2, &["first.np", &format!("{width} bits")]);
    }
    fails(at, &format!("{line} --shingle 4"), b"", 2, &["another recipe"]);
    // An empty database of the same recipe becomes the same.
    run(
        env!("CARGO_BIN_EXE_nearprint"),
        at,
        &["create", "bare.np", "--store", "keys", "--recipe", &format!("simhash width={width}")],
        b"",
    );
    succeeds(at, &format!("dedup in.jsonl -o bare.jsonl --key-field id --db bare.np -k {k}"), b"");
    assert_eq!(succeeds(at, "export bare.np", b""), succeeds(at, "export first.np", b""));
}

fn the_distances_up_to_half_of_the_bits_are_tuned<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let (texts, _) = documents(90);
    let line = |(key, text): (usize, &String)| format!("{{\"group\":\"{}\",\"text\":\"{text}\"}}\n", key / 3);
    let lines: String = texts.iter().enumerate().map(line).collect();
    let table = succeeds(
        at,
        &format!(
            "tune --all --input-format jsonl --group-field group --recipe simhash␣width={} --report curves.html",
            F::BITS
        ),
        lines.as_bytes(),
    );
    assert!(fs::read_to_string(at.join("curves.html")).unwrap().contains("<svg"));
    let recipe: Recipe = format!("simhash width={} shingle=2", F::BITS).parse().unwrap();
    let mut fingerprinter = recipe.fingerprinter::<F>().unwrap();
    let prints: Vec<F> = texts.iter().map(|text| fingerprinter.fingerprint(text).value).collect();
    let mut expected = String::new();
    for k in 0..=F::BITS / 2 {
        let (mut found, mut hits) = (0, 0);
        for a in 0..prints.len() {
            for b in (0..a).filter(|b| prints[a].distance(prints[*b]) <= k) {
                found += 1;
                hits += u32::from(a / 3 == b / 3);
            }
        }
        writeln!(expected, "2\t{k}\t{found}\t{hits}").unwrap();
    }
    let counts = table.lines().filter_map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
        ["2", k, _, _, _, found, hits, ..] => Some(format!("2\t{k}\t{found}\t{hits}\n")),
        _ => None,
    });
    assert_eq!(counts.collect::<String>(), expected);
    assert_eq!(table.lines().count(), 5 * (F::BITS as usize / 2 + 1));
}

fn texts_are_compared_by_recipes_of_this_width<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let (texts, _) = documents(6);
    let names: Vec<String> = (0..6).map(|index| format!("t{index}.txt")).collect();
    names.iter().zip(&texts).for_each(|(name, text)| fs::write(at.join(name), text).unwrap());
    let mut fingerprinter =
        format!("simhash width={}", F::BITS).parse::<Recipe>().unwrap().fingerprinter::<F>().unwrap();
    let prints: Vec<F> = texts.iter().map(|text| fingerprinter.fingerprint(text).value).collect();
    let distance = |a: usize, b: usize| prints[a].distance(prints[b]);
    let table = succeeds(at, &format!("compare {} --recipe simhash␣width={}", names.join(" "), F::BITS), b"");
    let expected: String = (0..6)
        .map(|a| (0..6).fold(names[a].clone(), |row, b| format!("{row}\t{}", distance(a, b))) + "\n")
        .collect();
    assert_eq!(table.split_once('\n').unwrap().1, expected);
    let outcome =
        nearprint(at, &format!("compare t0.txt t1.txt --recipe simhash␣width={} -k 30", F::BITS), b"");
    assert_eq!(
        (outcome.out, outcome.code),
        (format!("{}\n", distance(0, 1)), if distance(0, 1) <= 30 { 0 } else { 6 })
    );

    let k = distance(0, 1).max(distance(1, 2)).max(distance(3, 4)).max(distance(4, 5));
    assert!(k < distance(0, 3), "two groups");
    let scanned = succeeds(at, &format!("scan . --recipe simhash␣width={} -k {k}", F::BITS), b"");
    let expected = [[0, 1, 2], [3, 4, 5]].map(|group| {
        // The file with the most words is the first one.
        let num_words = |at: &usize| texts[*at].split_whitespace().count();
        let first = group.iter().copied().max_by_key(|at| (num_words(at), std::cmp::Reverse(*at))).unwrap();
        let mut members: Vec<(u32, usize)> = group.iter().map(|&at| (distance(first, at), at)).collect();
        members.sort_unstable_by_key(|&(distance, at)| (at != first, distance, at));
        let outcome = |at: usize| if at == first { "kept" } else { "near" };
        let file = |(_, at): &(u32, usize)| format!("{} ./{}", outcome(*at), names[*at]);
        let spare = members[1..].iter().map(|(_, at)| texts[*at].len()).sum::<usize>();
        (spare, members.iter().map(file).collect::<Vec<_>>().join(", "))
    });
    let mut expected = expected.to_vec();
    expected.sort_by_key(|(spare, _)| std::cmp::Reverse(*spare));
    assert_eq!(groups(&scanned), expected.into_iter().map(|(_, group)| group).collect::<Vec<_>>());
}

#[test]
fn regression_texts_too_long_for_edits_are_set_aside() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let page = |id: u32, text: &str| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    let long = "one two three four five ".repeat(50_000);
    let pages = [page(1, "one two three"), page(2, &long), page(3, &long), page(4, "one two three")];
    fs::write(at.join("in.jsonl"), pages.concat()).unwrap();
    let line = "dedup in.jsonl -o out.jsonl --key-field id --similarity edit:0.1";
    for keep in ["first", "longest"] {
        let line = format!("{line} --keep {keep}");
        fails(at, &line, b"", 5, &["in.jsonl:2: a text of more than 1048576 characters", "--rejects"]);
        succeeds(at, &format!("{line} --rejects bad.jsonl"), b"");
        assert_eq!(fs::read_to_string(at.join("out.jsonl")).unwrap(), pages[0]);
        assert_eq!(fs::read_to_string(at.join("bad.jsonl")).unwrap(), pages[1..3].concat());
    }
    // Shingles have no such limit.
    succeeds(at, &line.replace("edit", "jaccard"), b"");
    fs::write(at.join("a.txt"), &long).unwrap();
    let scanned = nearprint(at, "scan a.txt a.txt --similarity edit:0.9", b"");
    assert!(scanned.err.contains("too large"), "{}", scanned.err);
    fails(
        at,
        "tune in.jsonl --key-field id --try similarity=edit:0.9",
        b"",
        5,
        &["in.jsonl:2: a text of more than"],
    );
}
