//! Acts of `nearprint prune`, and `nearprint undo`, from outside.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::cli::{fails, nearprint, slashes, succeeds};
use testkit::Random;
use testkit::files::mode;

fn words(seed: u64) -> String {
    let mut random = Random(seed);
    (0..200).map(|_| format!("word{} ", random.below(5000))).collect()
}

/// A name that is hard to list, where the system has such names.
const ODD_NAME: &str = if cfg!(windows) { "line feed.txt" } else { "line\nfeed.txt" };

/// Two groups of a file, a copy and one without a word of it, and names of all kinds.
fn folder(at: &Path) {
    let (one, two) = (words(1), words(2));
    let without_first = |text: &str| text.split_once(' ').unwrap().1.to_string();
    for (name, content) in [
        ("d/a.txt", one.clone()),
        ("d/s/b copy.txt", one.clone()),
        (&format!("d/s/{ODD_NAME}"), without_first(&one)),
        ("d/t/c.txt", two.clone()),
        ("d/t/d.txt", two.clone()),
        ("d/t/e.txt", without_first(&two)),
        ("d/z.txt", words(3)),
    ] {
        let path = at.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// The files below a folder with their contents, times and modes.
fn listing(at: &Path) -> BTreeMap<String, (Vec<u8>, SystemTime, u32)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![at.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let changed = path.metadata().unwrap().modified().unwrap();
            let name = slashes(path.strip_prefix(at).unwrap().to_str().unwrap());
            let mode = if cfg!(unix) { mode(&path) } else { 0 };
            found.insert(name, (fs::read(&path).unwrap(), changed, mode));
        }
    }
    found
}

fn names(at: &Path) -> Vec<String> {
    listing(at).into_keys().collect()
}

const KEPT: [&str; 3] = ["a.txt", "t/c.txt", "z.txt"];

#[test]
fn what_is_moved_or_deleted_comes_back() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    let before = listing(&at.join("d"));
    let moved = nearprint(at, "prune d --move-to gone", b"");
    assert_eq!(moved.code, 0, "{}", moved.err);
    assert!(moved.err.contains("4 files, 2 of them copies, "), "{}", moved.err);
    assert!(moved.err.contains("moved; `nearprint undo "), "{}", moved.err);
    assert_eq!(names(&at.join("d")), KEPT);
    let odd = format!("d/s/{ODD_NAME}");
    let gone = ["d/s/b copy.txt", &odd, "d/t/d.txt", "d/t/e.txt", "nearprint-undo.tsv"];
    assert_eq!(names(&at.join("gone")), gone);
    let list = "gone/nearprint-undo.tsv";
    fails(
        at,
        &format!("prune d --move-to gone --undo-list {list}"),
        b"",
        2,
        &["nearprint-undo.tsv", "exists"],
    );
    assert!(nearprint(at, "undo gone/nearprint-undo.tsv", b"").err.contains("4 files restored\n"));
    assert_eq!(listing(&at.join("d")), before);
    let again = nearprint(at, "undo gone/nearprint-undo.tsv", b"");
    assert!(
        again.code == 0 && again.err.contains("0 files restored; 4 had nothing to undo"),
        "{}",
        again.err
    );

    succeeds(at, "prune d --delete --copies --undo-list copies.tsv", b"");
    assert_eq!(names(&at.join("d")).len(), 5);
    succeeds(at, "undo copies.tsv", b"");
    assert_eq!(listing(&at.join("d")), before);
    let refused = nearprint(at, "prune d --delete --undo-list all.tsv", b"");
    assert_eq!(refused.code, 2, "{}", refused.err);
    for words in ["2 files are no byte-identical copy", "--copies", "--keep best", "--move-to DIR"] {
        assert!(refused.err.contains(words), "{}", refused.err);
    }
    assert!(listing(&at.join("d")) == before && !at.join("all.tsv").exists());
    let deleted = nearprint(at, "prune d --delete --keep best --undo-list all.tsv", b"");
    assert!(
        deleted.err.contains("`nearprint undo all.tsv` restores 2 of them, and 2 cannot be"),
        "{}",
        deleted.err
    );
    assert_eq!(names(&at.join("d")), KEPT);
    fails(at, "undo all.tsv", b"", 1, &["was no copy, and is deleted"]);
    assert_eq!(names(&at.join("d")).len(), 5, "the copies are restored");
}

#[test]
fn copies_become_hard_links_and_files_again() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    let before = listing(&at.join("d"));
    let inode = |name: &str| testkit::files::inode(&at.join("d").join(name));
    succeeds(at, "prune d --hardlink", b"");
    assert_eq!(inode("a.txt"), inode("s/b copy.txt"));
    assert_eq!(inode("t/c.txt"), inode("t/d.txt"));
    assert_ne!(inode("t/c.txt"), inode("t/e.txt"));
    let scanned = nearprint(at, "scan d", b"");
    assert!(scanned.err.contains("2 further names of files"), "{}", scanned.err);
    succeeds(at, "undo nearprint-undo.tsv", b"");
    assert_ne!(inode("a.txt"), inode("s/b copy.txt"));
    assert_eq!(listing(&at.join("d")), before);
}

#[test]
fn a_dry_run_names_what_would_be_done_and_does_nothing() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    let before = listing(at);
    let run = nearprint(at, "prune d --move-to gone --dry-run", b"");
    let out = slashes(&run.out);
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 4, "{}", run.out);
    assert!(lines.iter().all(|cells| cells.len() == 6 && cells[0] == "move"), "{}", run.out);
    assert!(lines[0][1].ends_with("d/s/b copy.txt") && lines[0][2].ends_with("gone/d/s/b copy.txt"));
    assert_eq!(lines[0][3..5], ["1.0000", "true"]);
    assert_eq!((lines[0][5], lines[1][4], lines[1][5]), ("d/a.txt", "false", "d/a.txt"));
    assert!(run.err.contains("would be moved\n"), "{}", run.err);
    let named = slashes(&succeeds(at, "prune d --move-to gone --dry-run --header", b""));
    assert_eq!(named, format!("act\tpath\tmoved_to\tsimilarity\tcopy\tkept\n{out}"));
    let objects = succeeds(at, "prune d --move-to gone --dry-run --json", b"");
    let first: serde_json::Value = serde_json::from_str(objects.lines().next().unwrap()).unwrap();
    assert_eq!((objects.lines().count(), &first["copy"], &first["act"]), (4, &true.into(), &"move".into()));
    assert!(slashes(first["moved_to"].as_str().unwrap()).ends_with("gone/d/s/b copy.txt"), "{first}");
    for option in ["--header", "--json"] {
        fails(at, &format!("prune d --move-to gone {option}"), b"", 2, &["--dry-run"]);
    }
    let listed = nearprint(at, "dedup d -o - --duplicates gone.tsv", b"");
    assert_eq!(listed.code, 0);
    let gone = fs::read_to_string(at.join("gone.tsv")).unwrap();
    fs::remove_file(at.join("gone.tsv")).unwrap();
    assert!(gone.starts_with("key\tduplicate_of\tdistance\tsimilarity\tgroup\tcopy\n"), "{gone}");
    assert_eq!(gone.lines().filter(|line| line.ends_with("\ttrue")).count(), 2, "{gone}");
    assert_eq!(listing(at), before);
}

#[test]
fn references_are_never_removed() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    fs::create_dir(at.join("d/u")).unwrap();
    for name in ["y.txt", "x.txt"] {
        fs::copy(at.join("d/z.txt"), at.join("d/u").join(name)).unwrap();
    }
    succeeds(at, "prune d --reference d/u --reference d/t --move-to gone", b"");
    let left = ["a.txt", "t/c.txt", "t/d.txt", "t/e.txt", "u/x.txt", "u/y.txt"];
    assert_eq!(names(&at.join("d")), left);
    assert_eq!(names(&at.join("gone")).len(), 4);
}

#[test]
fn nothing_else_is_touched() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    fs::create_dir_all(at.join("gone/d/s")).unwrap();
    fs::write(at.join("gone/d/s/b copy.txt"), "somebody's").unwrap();
    let moved = nearprint(at, "prune d --move-to gone", b"");
    let messages = slashes(&moved.err);
    assert!(moved.code == 1 && messages.contains("d/s/b copy.txt was left alone: "), "{messages}");
    assert_eq!(fs::read(at.join("gone/d/s/b copy.txt")).unwrap(), b"somebody's");
    assert!(at.join("d/s/b copy.txt").exists());
    // Neither does an undo overwrite what has come since, nor restore from what has changed.
    fs::write(at.join("d/t/d.txt"), "new").unwrap();
    let undone = nearprint(at, "undo gone/nearprint-undo.tsv", b"");
    assert_eq!(fs::read(at.join("d/t/d.txt")).unwrap(), b"new");
    assert!(undone.code == 1 && undone.err.contains("2 files restored\n"), "{}", undone.err);
    assert!(slashes(&undone.err).contains("d/t/d.txt: another content has this name now"), "{}", undone.err);
    succeeds(at, "prune d --delete --copies --undo-list copies.tsv", b"");
    fs::write(at.join("d/a.txt"), "changed").unwrap();
    fails(at, "undo copies.tsv", b"", 1, &["a.txt has changed"]);
    fs::write(at.join("in.jsonl"), "{\"text\":\"one two\"}\n").unwrap();
    for (line, code, why) in [
        ("prune d --move-to d/gone", 2, "is inside d"),
        ("prune in.jsonl --delete", 2, "dedup in.jsonl"),
        ("prune d --delete --hardlink", 2, "cannot be used with"),
        ("undo in.jsonl", 5, "in.jsonl:1: is no line of an undo list"),
        ("undo nowhere", 1, "nowhere"),
    ] {
        fails(at, line, b"", code, &[why]);
    }
}

/// `scan` and `prune` see the same: groups, files that stay, and files that could go.
#[test]
fn what_scan_shows_is_what_prune_acts_on() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    fs::create_dir_all(at.join("d/bin")).unwrap();
    for name in ["bin/1.pdf", "bin/2.pdf", "t/3.pdf"] {
        fs::write(at.join("d").join(name), b"%PDF-1.4\0\0 the same").unwrap();
    }
    #[cfg(feature = "images")]
    for (name, width) in [("a.png", 320), ("t/b.png", 640), ("s/c.png", 160)] {
        crate::pictures::scene(5, width, width * 3 / 4).save(at.join("d").join(name)).unwrap();
    }
    let mut nothing = 0;
    for options in [
        "",
        "--keep newest",
        "--keep last",
        "--keep shortest-path",
        "--keep largest",
        "--reference d/t",
        "--reference d/t --reference d/bin --keep first",
        "-s 0.999",
        "-k 0",
        "--copies",
        "--copies --keep last --reference d/s",
        "--images none -E bin",
        "--min-words 1000",
        "-e png",
    ] {
        let shown = succeeds(at, &format!("scan d --json {options}"), b"");
        let mut expected = Vec::new();
        for group in shown.lines() {
            let group: serde_json::Value = serde_json::from_str(group).unwrap();
            let paths: Vec<String> =
                group["files"].as_array().unwrap().iter().map(|file| file["path"].to_string()).collect();
            let named = |path: &String| slashes(&serde_json::from_str::<String>(path).unwrap());
            let kept = named(&paths[0]);
            expected.extend(paths[1..].iter().map(|path| (named(path), kept.clone())));
        }
        expected.sort();
        let acts = succeeds(at, &format!("prune d --move-to gone --dry-run {options}"), b"");
        let mut found: Vec<(String, String)> = Vec::new();
        for line in acts.lines() {
            let cells: Vec<&str> = line.split('\t').collect();
            found.push([cells[1], cells[5]].map(|cell| slashes(&cell.replace("\\n", "\n"))).into());
        }
        found.sort();
        nothing += usize::from(found.is_empty());
        assert_eq!(found, expected, "{options}");
        let counts = |command: &str| {
            succeeds(at, &format!("{command} {options} --summary counts.json"), b"");
            let counts = fs::read(at.join("counts.json")).unwrap();
            let mut counts: serde_json::Value = serde_json::from_slice(&counts).unwrap();
            for name in ["acted", "seconds"] {
                counts.as_object_mut().unwrap().remove(name);
            }
            counts
        };
        assert_eq!(counts("scan d"), counts("prune d --move-to gone --dry-run"), "{options}");
    }
    assert!(nothing <= 2, "most options find something");
}

/// A second `prune .` deleted the undo list of the first one, which was near its own.
#[test]
fn regression_undo_lists_are_no_documents() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    let inside = at.join("d");
    succeeds(&inside, "prune . --delete --copies", b"");
    for name in ["nearprint-undo-2.tsv", "copies.TSV", "copies.list"] {
        fs::copy(inside.join("nearprint-undo.tsv"), inside.join(name)).unwrap();
    }
    for options in ["", "--copies"] {
        let scanned = nearprint(&inside, &format!("scan . --json {options}"), b"");
        assert!(!scanned.out.contains("undo") && !scanned.out.contains("copies"), "{}", scanned.out);
        assert!(scanned.err.contains("3 nearprint undo lists"), "{}", scanned.err);
    }
    succeeds(&inside, "prune . --delete --keep best", b"");
    for name in ["nearprint-undo.tsv", "nearprint-undo-2.tsv", "nearprint-undo-3.tsv", "copies.TSV"] {
        assert!(inside.join(name).exists(), "{name}");
    }
    // Under another name, a list is known when it would go.
    let named = nearprint(&inside, "prune copies.list nearprint-undo.tsv --copies --move-to ../gone", b"");
    assert!(named.err.contains("is an undo list"), "{}", named.err);
    assert!(inside.join("copies.list").exists() && inside.join("nearprint-undo.tsv").exists());
    for line in
        ["prune d --delete --undo-list d/s/list.tsv", "prune t --reference d --delete --undo-list d/l"]
    {
        fails(at, line, b"", 2, &["--undo-list", "is inside d"]);
    }
}

/// The files of databases were documents: copies in a backup were moved away, and links made one file of two logs.
#[test]
fn regression_files_of_databases_stay() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("prints.txt"), "0x1234567890abcdef\n").unwrap();
    fs::create_dir_all(at.join("data/backup")).unwrap();
    succeeds(at, "build data/x.np prints.txt", b"");
    let files: Vec<_> =
        fs::read_dir(at.join("data/x.np")).unwrap().map(|entry| entry.unwrap().path()).collect();
    for copy in ["data/backup/x.np", "data/y.np.building", "data/z.np.building"] {
        fs::create_dir(at.join(copy)).unwrap();
        let wanted = |path: &&std::path::PathBuf| !copy.ends_with("building") || !path.ends_with("MANIFEST");
        for file in files.iter().filter(wanted) {
            fs::copy(file, at.join(copy).join(file.file_name().unwrap())).unwrap();
        }
    }
    let marker = "This folder was made by nearprint, which also removes it.\n";
    for building in ["data/y.np.building", "data/z.np.building"] {
        fs::write(at.join(building).join("NEARPRINT-FOLDER"), marker).unwrap();
    }
    fs::write(at.join("data/a.txt"), "one two three four").unwrap();
    fs::copy(at.join("data/a.txt"), at.join("data/backup/a.txt")).unwrap();
    let before = names(&at.join("data"));
    for act in ["--hardlink", "--copies --move-to gone"] {
        let acted = nearprint(at, &format!("prune data {act}"), b"");
        assert!(acted.err.contains("1 file, 1 of them copies"), "{}", acted.err);
        assert!(acted.err.contains("4 nearprint databases"), "{}", acted.err);
        let excluded = nearprint(at, "scan data --exclude *.np --exclude *.building", b"");
        assert!(
            excluded.err.contains("4 excluded") && !excluded.err.contains("nothing is excluded"),
            "{}",
            excluded.err
        );
        let list = if act == "--hardlink" { "nearprint-undo.tsv" } else { "gone/nearprint-undo.tsv" };
        succeeds(at, &format!("undo {list}"), b"");
        assert_eq!(names(&at.join("data")), before);
    }
    assert!(nearprint(at, "scan data/x.np", b"").err.contains("is a database"));
}

/// The command that undoes a run allowed the folders of the acts that were done, and the list has others, too.
#[test]
fn regression_the_list_of_a_failed_run_is_undone_by_the_printed_command() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for name in ["one/a.txt", "one/b.txt", "two/c.txt", "two/d.txt"] {
        let path = at.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, words(u64::from(name.starts_with("one")))).unwrap();
    }
    fs::create_dir_all(at.join("out/gone")).unwrap();
    fs::create_dir(at.join("here")).unwrap();
    // Nothing can be moved below a file.
    fs::write(at.join("out/gone/two"), "").unwrap();
    let moved = nearprint(&at.join("here"), "prune ../one ../two --move-to ../out/gone", b"");
    assert!(moved.code == 1 && moved.err.contains("1 file, 1 of them copies"), "{}", moved.err);
    let command = moved.err.split('`').nth(1).unwrap().strip_prefix("nearprint ").unwrap();
    let undone = nearprint(&at.join("here"), command, b"");
    assert!(undone.code == 0 && undone.err.contains("1 file restored"), "{command}: {}", undone.err);
    assert!(at.join("one/b.txt").exists());
}

/// The list of an earlier `prune` restores what that has moved, and the other one was forgotten.
#[test]
fn regression_undo_names_the_lists_beside_its_own() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("d")).unwrap();
    fs::write(at.join("d/first.txt"), "one text of several words").unwrap();
    for again in ["second", "third"] {
        fs::write(at.join(format!("d/{again}.txt")), "one text of several words").unwrap();
        succeeds(at, "prune d --move-to gone", b"");
    }
    let undone = nearprint(at, "undo gone/nearprint-undo.tsv", b"");
    assert!(undone.err.contains("another undo list: gone/nearprint-undo-2.tsv\n"), "{}", undone.err);
    let undone = nearprint(at, "undo gone/nearprint-undo-2.tsv", b"");
    assert_eq!((undone.code, fs::read_dir(at.join("d")).unwrap().count()), (0, 3), "{}", undone.err);
}

/// The counts took the place of the undo list that was just written, of that of an earlier run, and of a moved file.
#[test]
fn regression_counts_do_not_replace_an_undo_list_or_a_moved_file() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    fs::write(at.join("list.tsv"), crate::chosen::list(at, "d", &[("s/b copy.txt", "a.txt")])).unwrap();
    fs::create_dir_all(at.join("gone/d/t")).unwrap();
    let before = listing(at);
    for line in [
        "prune d --copies --delete --summary nearprint-undo.tsv",
        "prune d --copies --delete --undo-list u.tsv --summary ./u.tsv",
        "prune d --move-to gone --summary gone/nearprint-undo.tsv",
        "prune d --move-to gone --dry-run --summary gone/nearprint-undo.tsv",
        "prune --list list.tsv --delete --summary nearprint-undo.tsv",
    ] {
        fails(at, line, b"", 2, &["--summary", "is the undo list"]);
        assert_eq!(listing(at), before, "{line}");
    }
    let moved = nearprint(at, "prune d --move-to gone --summary gone/d/t/d.txt", b"");
    assert!(
        moved.code == 1 && moved.err.contains("another file of this run gets its place"),
        "{}",
        moved.err
    );
    assert!(at.join("d/t/d.txt").exists() && at.join("gone/d/t/d.txt").exists());
    let list = fs::read(at.join("gone/nearprint-undo.tsv")).unwrap();
    for line in ["prune d --copies --delete", "undo nearprint-undo.tsv"] {
        let line = format!("{line} --summary gone/nearprint-undo.tsv");
        fs::copy(at.join("gone/nearprint-undo.tsv"), at.join("nearprint-undo.tsv")).unwrap();
        fails(at, &line, b"", 2, &["--summary", "is the undo list of an earlier run"]);
    }
    assert_eq!(fs::read(at.join("gone/nearprint-undo.tsv")).unwrap(), list);
    // Nor a file of a list.
    fs::remove_file(at.join("nearprint-undo.tsv")).unwrap();
    fs::write(at.join("list.tsv"), crate::chosen::list(at, "d", &[("t/d.txt", "t/c.txt")])).unwrap();
    let before = listing(at);
    for line in [
        "prune --list list.tsv --delete --summary d/t/c.txt",
        "undo gone/nearprint-undo.tsv --summary d/t/e.txt",
        "undo gone/nearprint-undo.tsv --summary gone/d/t/e.txt",
    ] {
        fails(at, line, b"", 2, &["--summary"]);
        assert_eq!(listing(at), before, "{line}");
    }
}

/// In a folder that was restored from a backup, nothing told of a file that a killed act had set aside, and `undo` said
/// that it was deleted.
#[test]
fn regression_a_file_that_was_set_aside_in_a_folder_of_another_inode_is_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    let before = listing(at);
    succeeds(at, "prune d --keep best --delete", b"");
    let (gone, content) =
        before.iter().find(|(name, _)| !at.join(name).exists() && name.contains("e.txt")).unwrap();
    let aside = at.join(gone).with_file_name(".nearprint-old-aaaaaaaabbbbbbbb");
    fs::create_dir(&aside).unwrap();
    let note = "nearprint works on a file here. The next act or undo in this folder recovers it.\n";
    fs::write(aside.join(".nearprint-act"), note).unwrap();
    fs::write(aside.join("e.txt"), &content.0).unwrap();
    let undone = nearprint(at, "undo nearprint-undo.tsv", b"");
    let err = slashes(&undone.err);
    assert_eq!(undone.code, 1, "{err}");
    assert!(
        err.contains("e.txt: was set aside by an act that was interrupted, and is ")
            && err.contains("bbbb/e.txt"),
        "{err}"
    );
    assert!(err.contains("bbbbbbbb/e.txt: was set aside in another folder"), "{err}");
    fs::write(at.join("d/t/f.txt"), words(2)).unwrap();
    let acted = nearprint(at, "prune d --move-to gone", b"");
    let err = slashes(&acted.err);
    assert_eq!(err.matches("bbbbbbbb/e.txt: was set aside in another folder").count(), 1, "{err}");
    assert_eq!(fs::read(aside.join("e.txt")).unwrap(), content.0);
}
