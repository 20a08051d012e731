//! Byte-identical copies: `nearprint prune --copies`, and those that `scan` shows, from outside.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::cli::slashed::{nearprint, succeeds};
use crate::cli::{fails, groups};
use testkit::{Random, short_or_full};

/// Writes a file that was changed some seconds after a fixed time.
fn write(at: &Path, name: &str, content: &[u8], seconds: u64) {
    let path = at.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    touch(&path, seconds);
}

fn touch(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000 + seconds);
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn words(seed: u64, count: usize) -> String {
    let mut random = Random(seed);
    (0..count).map(|_| format!("word{} ", random.below(5000))).collect()
}

/// The copies that `prune` would delete, each with the file that stays.
fn copies(at: &Path, options: &str) -> Vec<(String, String)> {
    let printed = succeeds(at, &format!("prune {options} --copies --delete --dry-run"), b"");
    let pair = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        assert!(cells.len() == 6 && cells[3..5] == ["1.0000", "true"], "{line}");
        (cells[1].into(), cells[5].into())
    };
    printed.lines().map(pair).collect()
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(a, b)| (a.into(), b.into())).collect()
}

/// A content of one of few sizes, which differs from others in its first, middle or last byte.
fn content(random: &mut Random) -> Vec<u8> {
    let size = [0, 1, 7, 4096, 32_768, 32_769, 200_000][random.below(7) as usize];
    let mut bytes = vec![b'x'; size];
    if size > 0 {
        let at = [0, size / 2, size - 1][random.below(3) as usize];
        bytes[at] = b'a' + random.below(4) as u8;
    }
    bytes
}

/// Writes a tree in which every seventh file is a further name of another, and returns the files of each content.
/// Of names of one file, the first in order of paths is listed.
fn random_tree(at: &Path, count: usize) -> Vec<Vec<String>> {
    let mut random = Random(11);
    let mut files: Vec<(String, Vec<u8>, usize)> = Vec::new();
    for number in 0..count {
        let name = format!("d/{}/{number:04}.bin", random.below(9));
        let linked = (number % 7 == 6).then(|| random.below(files.len() as u64) as usize);
        match linked {
            Some(other) => {
                let (other, bytes, inode) = files[other].clone();
                fs::create_dir_all(at.join(&name).parent().unwrap()).unwrap();
                fs::hard_link(at.join(other), at.join(&name)).unwrap();
                files.push((name, bytes, inode));
            }
            None => {
                let bytes = content(&mut random);
                write(at, &name, &bytes, 0);
                files.push((name, bytes, number));
            }
        }
    }
    files.sort_unstable();
    let mut groups: BTreeMap<Vec<u8>, BTreeMap<usize, String>> = BTreeMap::new();
    for (name, bytes, inode) in files {
        groups.entry(bytes).or_default().entry(inode).or_insert(name);
    }
    let groups = groups.into_iter().filter(|(bytes, names)| !bytes.is_empty() && names.len() > 1);
    groups.map(|(_, names)| names.into_values().collect()).collect()
}

#[test]
fn the_copies_are_those_that_a_comparison_of_all_contents_finds() {
    let home = tempfile::tempdir().unwrap();
    let groups = random_tree(home.path(), short_or_full(400, 4000));
    let mut expected: Vec<(String, String)> = Vec::new();
    for mut names in groups {
        names.sort_by_key(|name| (name.len(), name.clone()));
        let kept = names.remove(0);
        expected.extend(names.into_iter().map(|name| (name, kept.clone())));
    }
    expected.sort_unstable();
    assert!(expected.len() > 100);
    for threads in [1, 4] {
        assert_eq!(copies(home.path(), &format!("d --threads {threads}")), expected);
    }
}

#[test]
fn large_sparse_files_are_compared_in_the_middle() {
    let home = tempfile::tempdir().unwrap();
    let sparse = |name: &str, at: u64| {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = File::create(home.path().join(name)).unwrap();
        file.set_len(100 << 20).unwrap();
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(b"1").unwrap();
        drop(file);
        touch(&home.path().join(name), 0);
    };
    for (name, at) in [("a", 50 << 20), ("b", (50 << 20) + 1), ("c", 50 << 20)] {
        sparse(name, at);
    }
    assert_eq!(copies(home.path(), "."), owned(&[("./c", "./a")]));
}

#[test]
fn regression_copies_are_found_whatever_they_contain_and_whatever_is_near() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let text = words(1, 300);
    write(at, "d/a.txt", format!("{text}more").as_bytes(), 0);
    for (name, seconds) in [("d/b.txt", 3), ("d/c.txt", 2), ("d/d.txt", 3)] {
        write(at, name, text.as_bytes(), seconds);
    }
    for name in ["d/1.pdf", "d/2.pdf"] {
        write(at, name, b"%PDF-1.4\0\0 the same", 1);
    }
    for name in ["d/1.avif", "d/2.avif"] {
        write(at, name, b"\0\0\0\x1cftypavif\0\0\0\0mif1avif", 1);
    }
    for name in ["d/1.png", "d/2.png"] {
        write(at, name, b"\x89PNG\r\n\x1a\n damaged", 1);
    }
    for name in ["d/empty", "d/empty too"] {
        write(at, name, b"", 1);
    }
    for name in ["d/LICENSE", "d/s/LICENSE", "d/.git/a.txt"] {
        write(at, name, text.as_bytes(), 0);
    }
    let texts = [("d/b.txt", "d/c.txt"), ("d/d.txt", "d/c.txt")];
    let pictures = [("d/2.avif", "d/1.avif"), ("d/2.pdf", "d/1.pdf"), ("d/2.png", "d/1.png")];
    assert_eq!(copies(at, "d"), owned(&[&pictures[..], &texts].concat()));
    assert_eq!(copies(at, "d --no-ignore").len(), 7);
    assert_eq!(copies(at, "d --exclude *.avif").len(), 4);
    let done = nearprint(at, "scan d --copies --report groups.html", b"");
    assert!(done.err.contains(" 5 duplicates (5 copies, 0 near) in 4 groups"), "{}", done.err);
    assert!(done.err.contains("near: the same bytes") && at.join("groups.html").exists(), "{}", done.err);
    let dry = nearprint(at, "prune d --copies --delete --dry-run --summary s.json", b"");
    assert_eq!(dry.out.lines().count(), 5, "{}", dry.out);
    assert!(dry.err.contains("5 files, 5 of them copies"), "{}", dry.err);
    let summary = fs::read_to_string(at.join("s.json")).unwrap();
    assert!(summary.contains("\"copies\":5"), "{summary}");
    succeeds(at, "prune d --copies --delete", b"");
    let stays = ["1.avif", "1.pdf", "1.png", "a.txt", "c.txt", "empty", "empty too", "LICENSE"];
    assert!(stays.iter().all(|name| at.join("d").join(name).exists()));
    assert!(!at.join("d/b.txt").exists() && !at.join("d/2.pdf").exists());
    succeeds(at, "undo nearprint-undo.tsv", b"");
    assert_eq!(fs::read_to_string(at.join("d/b.txt")).unwrap(), text);
}

#[test]
fn references_stay_and_are_kept() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (name, seconds) in [("in/a", 1), ("in/b", 2), ("ref/c", 3), ("ref/d", 4), ("in/ref/e", 5)] {
        write(at, name, b"\0 the same", seconds);
    }
    for name in ["in/x", "in/y"] {
        write(at, name, b"\0 others", 1);
    }
    let referred = [("in/a", "ref/c"), ("in/b", "ref/c")];
    let both = [&referred[..], &[("in/y", "in/x")]].concat();
    assert_eq!(copies(at, "in --reference ref --reference in/ref"), owned(&both));
    let last = [("in/a", "in/b"), ("in/x", "in/y")];
    assert_eq!(copies(at, "in --keep last --exclude ref"), owned(&last));
}

#[test]
fn options_for_near_files_are_refused() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "d/a", b"1", 0);
    for (options, named) in [
        ("--copies --db seen.np", "--db"),
        ("--copies --similarity 0.8", "--similarity"),
        ("--hardlink --similarity 0.8", "nearness"),
        ("--reflink --recipe simhash", "recipe"),
        ("--copies --keep newest:date", "shortest-path"),
        ("--copies --keep longest", "shortest-path"),
    ] {
        let act = if options.contains("--copies") { "--delete" } else { "" };
        fails(home.path(), &format!("prune d {act} {options}"), b"", 2, &[named]);
    }
    fails(home.path(), "prune - --copies --delete", b"", 2, &["nearprint dedup -"]);
    fails(home.path(), "prune d --copies --delete --summary d/a", b"", 2, &["d/a"]);
    let same: PathBuf = home.path().join("d/a");
    assert_eq!(fs::read(same).unwrap(), b"1");
}

#[test]
fn scan_shows_copies_of_files_that_it_does_not_compare_as_near() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (name, seconds) in [("d/a.bin", 2), ("d/b.bin", 1), ("d/c.bin", 3)] {
        write(at, name, b"\0 binary", seconds);
    }
    for name in ["d/1.png", "d/2.png"] {
        write(at, name, b"\x89PNG\r\n\x1a\n damaged", 1);
    }
    for name in ["d/1.txt", "d/2.txt"] {
        write(at, name, b"...", 1);
    }
    for name in ["d/large.txt", "d/larger.txt"] {
        write(at, name, words(1, 300).as_bytes(), 1);
    }
    for name in ["d/empty", "d/empty too"] {
        write(at, name, b"", 1);
    }
    let scanned = nearprint(at, "scan d --max-size 1000 --json", b"");
    assert_eq!(scanned.code, 0, "{}", scanned.err);
    let lines: Vec<&str> = scanned.out.lines().collect();
    assert_eq!(lines.len(), 4, "{}", scanned.out);
    assert!(lines.iter().all(|line| line.contains(r#""copy":true"#)));
    let binary = lines.iter().find(|line| line.contains("a.bin")).unwrap();
    assert!(binary.contains(r#""count":3,"spare_bytes":16,"#), "{binary}");
    assert!(binary.find("b.bin").unwrap() < binary.find("a.bin").unwrap(), "{binary}");
    assert!(scanned.err.contains(" near) in 4 groups"), "{}", scanned.err);
    let plain = succeeds(at, "scan d --max-size 1000 --all", b"");
    assert!(
        groups(&plain).iter().any(|group| group.starts_with("kept d/b.bin, copy d/a.bin, copy d/")),
        "{plain}"
    );
    assert_eq!(succeeds(at, "scan d --max-size 1000 --paths -0", b"").split_terminator('\0').count(), 5);
    succeeds(at, "scan d --max-size 1000 --report near.html", b"");
    assert!(fs::read_to_string(at.join("near.html")).unwrap().contains("a.bin"));
}

#[test]
fn regression_bytes_that_another_name_keeps_could_not_go() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (name, content) in [("text", words(1, 300)), ("binary", "\0 binary".into())] {
        write(at, &format!("d/{name} 1"), content.as_bytes(), 1);
        write(at, &format!("d/{name} 2"), content.as_bytes(), 2);
        fs::create_dir_all(at.join("elsewhere")).unwrap();
        fs::hard_link(at.join(format!("d/{name} 2")), at.join("elsewhere").join(name)).unwrap();
    }
    let scanned = nearprint(at, "scan d", b"");
    assert!(scanned.err.contains("2 duplicates (2 copies, 0 near) in 2 groups"), "{}", scanned.err);
    assert!(scanned.err.contains("; 0 B to save"), "{}", scanned.err);
    assert_eq!(scanned.out.matches("\tcopy\t1.0000\t").count(), 2, "{}", scanned.out);
}
