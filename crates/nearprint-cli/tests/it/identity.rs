//! A set of files is a set of devices and inodes: what has two names is one file, for every act and list.

use std::fs::{self, File, FileTimes};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::cli::{Outcome, fails, nearprint, run, slashes, succeeds};
use testkit::Random;
use testkit::files::{can_link, symlink};

fn words(seed: u64, count: u64) -> String {
    let mut random = Random(seed);
    (0..count).map(|_| format!("word{} ", random.below(5000))).collect()
}

/// Three files without copies in `t`, a link `L` to it, and a link in it.
fn folder(at: &Path) {
    for (seed, name) in (1..).zip(["a.txt", "b.txt", "s/c.txt"]) {
        let path = at.join("t").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, words(seed, 200)).unwrap();
    }
    if can_link() {
        symlink("t", at.join("L")).unwrap();
        symlink("a.txt", at.join("t/ln.txt")).unwrap();
    }
}

fn files(at: &Path) -> Vec<Option<Vec<u8>>> {
    ["t/a.txt", "t/b.txt", "t/s/c.txt"].map(|name| fs::read(at.join(name)).ok()).to_vec()
}

const ACTS: [&str; 4] = ["--delete --keep best", "--delete --copies", "--move-to gone", "--hardlink"];

#[test]
fn regression_one_file_under_two_names_is_no_copy_of_itself() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    fs::hard_link(at.join("t/a.txt"), at.join("t/s/hard.txt")).unwrap();
    let before = files(at);
    let whole = format!("t {}", at.join("t/a.txt").display());
    let mut inputs = vec![
        "t/a.txt t/a.txt",
        "t/a.txt ./t/a.txt",
        "t/a.txt t/s/../a.txt",
        "t t/a.txt",
        "t/a.txt t",
        "t ./t/a.txt t/b.txt",
        "t t/s t/s/c.txt",
        "t/a.txt t/s/hard.txt",
        "t/a.txt --reference t/a.txt",
        "t/a.txt --reference t",
        "t --reference t/s/hard.txt",
        "t --reference t/s",
        &whole,
    ];
    if can_link() {
        inputs.extend([
            "t L/a.txt",
            "L/a.txt t",
            "t t/ln.txt",
            "t --reference L",
            "L --reference t",
            "L t",
            "t/a.txt L",
        ]);
    }
    for input in inputs {
        for act in ACTS {
            let line = format!("prune {input} {act} --undo-list list.tsv");
            let outcome = nearprint(at, &line, b"");
            assert!(files(at) == before && at.join("t/s/hard.txt").exists(), "{line}: {}", outcome.err);
            assert!(outcome.code == 0 && !at.join("list.tsv").exists(), "{line}: {}", outcome.err);
        }
    }
}

/// Files below a reference stay, also those that its rules leave out.
#[test]
fn regression_a_file_of_a_reference_never_goes() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    fs::copy(at.join("t/a.txt"), at.join("t/LICENSE")).unwrap();
    fs::copy(at.join("t/a.txt"), at.join("x.txt")).unwrap();
    succeeds(at, "prune t/LICENSE x.txt --reference t --delete --copies", b"");
    assert!(at.join("t/LICENSE").exists() && !at.join("x.txt").exists());
    fails(at, "prune t --reference nowhere --delete --copies --undo-list l", b"", 1, &["nowhere"]);
}

#[test]
fn regression_a_list_of_a_report_names_files_not_paths() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    fs::write(at.join("t/near.txt"), words(1, 199)).unwrap();
    let listed = crate::chosen::list(at, "t", &[("near.txt", "a.txt")]);
    let (names, line) = listed.split_once('\n').unwrap();
    let cells: Vec<&str> = line.trim_end().split('\t').collect();
    let (near, a) = (cells[3], cells[4]);
    let mut spellings = vec!["./t/a.txt", "t/../t/a.txt"];
    if can_link() {
        spellings.push("L/a.txt");
    }
    let before = files(at);
    for spelling in spellings {
        let itself = format!("{names}\n{spelling}\tt/a.txt\t1\t{a}\t{a}\n");
        let circle =
            format!("{names}\nt/near.txt\tt/a.txt\t\t{near}\t{a}\n{spelling}\tt/near.txt\t\t{a}\t{near}\n");
        for list in [itself, circle] {
            fs::write(at.join("list.tsv"), list).unwrap();
            for act in ["--delete", "--move-to gone"] {
                let outcome =
                    nearprint(at, &format!("prune --list list.tsv {act} --undo-list undo.tsv"), b"");
                assert!([1, 5].contains(&outcome.code), "{spelling}: {}", outcome.err);
                assert!(files(at) == before, "{spelling} {act}: {}", outcome.err);
                if at.join("undo.tsv").exists() {
                    succeeds(at, "undo undo.tsv", b"");
                    fs::remove_file(at.join("undo.tsv")).unwrap();
                }
                fs::write(at.join("t/near.txt"), words(1, 199)).unwrap();
            }
        }
    }
}

#[test]
fn regression_files_are_moved_where_a_path_leads() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    fs::copy(at.join("t/a.txt"), at.join("t/s/a copy.txt")).unwrap();
    fs::create_dir(at.join("reference")).unwrap();
    fs::write(at.join("file"), "").unwrap();
    succeeds(at, "create d.np", b"");
    let mut refused = vec![
        ("prune t --move-to t/gone", "is inside t"),
        ("prune t --move-to none/../t/gone", "is inside t"),
        ("prune t --reference reference --move-to reference/gone", "is inside reference"),
        ("prune t --move-to d.np", "is inside the database"),
        ("prune t --move-to d.np/deep/gone", "is inside the database"),
        ("prune t --delete --copies --undo-list d.np/l.tsv", "is inside the database"),
        ("dedup t -o kept.txt --db d.np/deep.np", "is inside the database"),
        ("prune t --move-to file", "is not a folder"),
        ("create d.np/inner.np", "lies in the database"),
    ];
    if can_link() {
        symlink("t", at.join("into")).unwrap();
        symlink("d.np", at.join("database")).unwrap();
        refused.push(("prune t --move-to into/gone", "is inside t"));
        refused.push(("prune t --move-to database/gone", "is inside the database"));
    }
    for (line, why) in refused {
        fails(at, line, b"", 2, &[why]);
    }
    assert!(at.join("t/s/a copy.txt").exists());
    let moved = nearprint(&at.join("t"), "prune . --move-to ../gone", b"");
    assert_eq!(moved.code, 0, "{}", moved.err);
    assert!(at.join("gone/s/a copy.txt").exists() && !at.join("t/s/a copy.txt").exists());
}

/// The first in the order of bytes stayed: a copy, and a file that was cut.
#[test]
fn regression_the_original_stays_and_its_copies_go() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("d")).unwrap();
    let (report, whole) = (words(1, 200), words(2, 200));
    let cut = whole.split_inclusive(' ').take(160).collect::<String>();
    let files = [
        ("report.txt", &report),
        ("report (1).txt", &report),
        ("report - Copy.txt", &report),
        ("a cut.txt", &cut),
        ("whole.txt", &whole),
    ];
    for ((name, text), seconds) in files.into_iter().zip(1..) {
        let path = at.join("d").join(name);
        fs::write(&path, text).unwrap();
        let time = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        File::options().append(true).open(path).unwrap().set_times(time).unwrap();
    }
    let paths = |out: &str, column: usize| -> Vec<String> {
        let cells =
            out.lines().filter(|line| line.contains('\t')).map(|line| line.split('\t').nth(column).unwrap());
        cells.map(|cell| slashes(cell).rsplit('/').next().unwrap().to_string()).collect()
    };
    let dry = succeeds(at, "prune d --move-to gone --dry-run", b"");
    assert_eq!(paths(&dry, 1), ["a cut.txt", "report (1).txt", "report - Copy.txt"]);
    assert_eq!(paths(&dry, 5), ["whole.txt", "report.txt", "report.txt"]);
    succeeds(at, "dedup d -o kept.txt", b"");
    assert_eq!(
        paths(&fs::read_to_string(at.join("kept.txt")).unwrap().replace('\n', "\t\n"), 0),
        ["report.txt", "whole.txt"]
    );
    // What is newer than its copies, or named longer, stays where that is asked for.
    let kept = |keep: &str| -> Vec<String> {
        succeeds(at, &format!("dedup d -o {keep}.txt --keep {keep}"), b"");
        let list = fs::read_to_string(at.join(format!("{keep}.txt"))).unwrap();
        list.lines().map(|line| slashes(line).trim_start_matches("d/").to_string()).collect()
    };
    assert_eq!(kept("first"), ["a cut.txt", "report (1).txt"]);
    assert_eq!(kept("newest"), ["report - Copy.txt", "whole.txt"]);
    assert_eq!(kept("oldest"), ["a cut.txt", "report.txt"]);
    assert_eq!(kept("largest"), ["report.txt", "whole.txt"]);
    assert_eq!(kept("shortest-path"), ["a cut.txt", "report.txt"]);
    fs::write(at.join("in.jsonl"), "{\"text\":\"one two\"}\n").unwrap();
    for (keep, way_on) in [("oldest", "oldest:FIELD"), ("newest", "newest:FIELD"), ("best", "longest")] {
        fails(at, &format!("dedup in.jsonl -o out --keep {keep}"), b"", 2, &[way_on]);
    }
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::process::Command;

    use testkit::files::{give_to, mode, set_mode};
    use testkit::{Need, skip};

    use super::*;

    /// Files with names that are no UTF-8 were left where they were.
    #[test]
    fn regression_names_that_are_no_utf_8_take_part_in_acts_and_undo() {
        let home = tempfile::tempdir().unwrap();
        let at = &home.path().join("in");
        fs::create_dir_all(at.join(OsStr::from_bytes(b"d\xff"))).unwrap();
        let path = |name: &[u8]| at.join(OsStr::from_bytes(b"d\xff")).join(OsStr::from_bytes(name));
        // macOS refuses such names.
        if fs::write(path(b"\xfe.txt"), words(1, 100)).is_err() {
            return;
        }
        for name in [&b"a\x80 copy.txt"[..], b"\\x80 and others.txt"] {
            fs::copy(path(b"\xfe.txt"), path(name)).unwrap();
        }
        for act in ["--move-to ../gone", "--hardlink", "--delete"] {
            let done = nearprint(at, &format!("prune . {act} --undo-list ../list.tsv"), b"");
            assert!(done.code == 0 && done.err.contains("2 files, 2 of them"), "{act}: {}", done.err);
            succeeds(at, "undo ../list.tsv", b"");
            fs::remove_file(home.path().join("list.tsv")).unwrap();
            for name in [&b"a\x80 copy.txt"[..], b"\\x80 and others.txt", b"\xfe.txt"] {
                assert_eq!(fs::metadata(path(name)).unwrap().nlink(), 1, "{act}");
            }
        }
    }

    /// The command that a run prints named another folder: the replacement character stood for what is no UTF-8.
    #[test]
    fn regression_folders_that_are_no_utf_8_are_undone_by_the_command_that_is_printed() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &[u8]| home.path().join(OsStr::from_bytes(name));
        let (here, tree) = (at(b"h\xff'e"), at(b"h\xff'e/t\xfe\xc2\x85"));
        // macOS refuses such names.
        if fs::create_dir_all(&tree).is_err() {
            return;
        }
        for name in ["a.txt", "b copy.txt"] {
            fs::write(tree.join(name), words(1, 100)).unwrap();
        }
        let goes = tree.join("b copy.txt");
        let program = Path::new(env!("CARGO_BIN_EXE_nearprint"));
        let lists = [at(b"l\xffa/b\xfd.tsv"), here.join(OsStr::from_bytes(b"\xfdf.tsv"))];
        let acts: [&[&[u8]]; 3] = [&[b"--move-to", b"../g\xffa"], &[b"--hardlink"], &[b"--delete"]];
        for (act, list) in
            acts.iter().flat_map(|act| [None, Some(&lists[0]), Some(&lists[1])].map(|list| (act, list)))
        {
            let mut prune = Command::new(program);
            prune
                .arg("prune")
                .arg(tree.file_name().unwrap())
                .args(act.iter().map(|word| OsStr::from_bytes(word)));
            prune.args(list.map(|_| "--undo-list")).args(list);
            let done = prune.current_dir(&here).output().unwrap();
            let said = String::from_utf8(done.stderr).unwrap();
            assert!(done.status.success() && (act[0] == b"--hardlink" || !goes.exists()), "{said}");
            let undo = said.split('`').nth(1).unwrap();
            assert!(undo.starts_with("nearprint undo "), "{said}");
            let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
            let undone =
                Command::new("bash").args(["-c", undo]).env("PATH", path).current_dir(&here).output();
            let undone = undone.unwrap();
            let again = String::from_utf8(undone.stderr).unwrap();
            assert!(undone.status.success() && again.contains("1 file restored"), "{undo}: {again}");
            assert_eq!(fs::metadata(&goes).unwrap().nlink(), 1, "{said}");
            for list in [&lists[0], &lists[1], &here.join("nearprint-undo.tsv")] {
                let _ = fs::remove_file(list);
            }
            let _ = fs::remove_dir_all(at(b"g\xffa"));
        }
    }

    fn three(at: &Path) {
        fs::create_dir(at.join("d")).unwrap();
        for name in ["a.txt", "b copy.txt", "c copy.txt"] {
            fs::write(at.join("d").join(name), words(1, 100)).unwrap();
        }
    }

    #[test]
    fn regression_setuid_files_and_files_of_other_rights_are_skipped() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        three(at);
        let b = at.join("d/b copy.txt");
        fs::set_permissions(&b, fs::Permissions::from_mode(0o4755)).unwrap();
        let done = nearprint(at, "prune d --delete --undo-list list.tsv", b"");
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(done.err.contains("setuid") && done.err.contains("1 skipped") && b.exists(), "{}", done.err);
        succeeds(at, "undo list.tsv", b"");
        set_mode(&b, 0o600);
        let linked = nearprint(at, "prune d --hardlink", b"");
        assert!(linked.code == 0 && linked.err.contains("owner or mode"), "{}", linked.err);
        assert_eq!([&b, &at.join("d/c copy.txt")].map(|path| fs::metadata(path).unwrap().nlink()), [1, 2]);
        succeeds(at, "prune d --hardlink --any-owner --undo-list all.tsv", b"");
        assert_eq!(fs::metadata(&b).unwrap().nlink(), 3);
        succeeds(at, "undo all.tsv", b"");
        assert_eq!((fs::metadata(&b).unwrap().nlink(), mode(&b)), (1, 0o600));
    }

    #[test]
    fn owners_come_back_from_a_list_that_is_trusted() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        three(at);
        let b = at.join("d/b copy.txt");
        if let Err(error) = give_to(&b, 1234) {
            return skip(Need::Root, "owners_come_back_from_a_list_that_is_trusted", &error.to_string());
        }
        let done = nearprint(at, "prune d --delete", b"");
        assert!(
            done.err.contains("`nearprint undo --trust nearprint-undo.tsv` restores all"),
            "{}",
            done.err
        );
        let undone = nearprint(at, "undo nearprint-undo.tsv", b"");
        assert!(
            undone.code == 1 && undone.err.contains("owner 1234:0, which --trust restores"),
            "{}",
            undone.err
        );
        assert_eq!(fs::metadata(&b).unwrap().uid(), 0);
        succeeds(at, "undo --trust nearprint-undo.tsv", b"");
        assert_eq!(fs::metadata(&b).unwrap().uid(), 1234);
        // A move takes its owner along.
        succeeds(at, "prune d --move-to gone", b"");
        succeeds(at, "undo gone/nearprint-undo.tsv", b"");
        assert_eq!(fs::metadata(&b).unwrap().uid(), 1234);
    }
}

/// What stands in for a module of tests that Windows cannot run.
#[cfg(windows)]
mod unix {
    #[test]
    #[ignore = "has names that are no UTF-8, owners and modes"]
    fn acts_and_undo() {}
}

/// The first column of a list, and the whole list with another path or mode.
fn with(list: &str, from: &str, to: &str) -> String {
    let changed = list.replacen(from, to, 1);
    assert_ne!(changed, list, "{from}");
    changed
}

#[test]
#[cfg_attr(windows, ignore = "has modes and paths of unix")]
fn regression_an_undo_list_is_bounded() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path().join("in").canonicalize().unwrap_or_else(|_| home.path().join("in"));
    fs::create_dir_all(at.join("d")).unwrap();
    let at = at.canonicalize().unwrap();
    for name in ["a.txt", "b.txt"] {
        fs::write(at.join("d").join(name), words(1, 100)).unwrap();
    }
    succeeds(&at, "prune d --delete", b"");
    let list = fs::read_to_string(at.join("nearprint-undo.tsv")).unwrap();
    let undo = |list: &str, options: &str| -> Outcome {
        fs::write(at.join("list.tsv"), list).unwrap();
        nearprint(&at, &format!("undo {options} list.tsv"), b"")
    };
    let (path, mode) = (at.join("d/b.txt"), list.split('\t').nth(3).unwrap());
    let outside = home.path().canonicalize().unwrap().join("outside/b.txt");
    let elsewhere = with(&list, path.to_str().unwrap(), outside.to_str().unwrap());
    let refused = undo(&elsewhere, "");
    assert!(refused.code == 2 && refused.err.contains("outside/b.txt"), "{}", refused.err);
    assert!(refused.err.contains("--root DIR") && !outside.exists(), "{}", refused.err);
    let climbing = with(&list, "/d/b.txt\t", "/d/../../outside/b.txt\t");
    assert_eq!(undo(&climbing, "").code, 2);
    let setuid = with(&list, &format!("\t{mode}\t"), "\t6755\t");
    let refused = undo(&setuid, "");
    assert!(
        refused.code == 2 && refused.err.contains("setuid") && refused.err.contains("--trust"),
        "{}",
        refused.err
    );
    assert!(!path.exists());
    let owner = list.split('\t').nth(7).unwrap();
    for broken in
        [with(&list, &format!("\t{owner}\t"), "\t"), list[..list.len() - 5].to_string(), "\n".into()]
    {
        let ended = undo(&broken, "");
        assert!(ended.code == 5 && ended.err.contains("list.tsv:1: is no line"), "{}", ended.err);
    }
    assert_eq!(undo(&elsewhere, "--root ..").code, 0);
    assert!(outside.exists());
    // From elsewhere, the folder of the list counts.
    let undone = run(
        env!("CARGO_BIN_EXE_nearprint"),
        Path::new("/"),
        &["undo", at.join("nearprint-undo.tsv").to_str().unwrap()],
        b"",
    );
    assert!(undone.code == 0 && path.exists(), "{}", undone.err);
}
