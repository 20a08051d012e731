//! Folders that nearprint makes beside folders of others with names like theirs: whatever a command
//! does and however it ends, it removes what it made, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::history::fingerprint;
use crate::processes::{Ended, Running, command, create, nearprint};
use testkit::{Need, Random, short_or_full, skip};

/// The file that marks a folder that nearprint made.
const MARKER: &str = "NEARPRINT-FOLDER";

/// The content of all files below a folder.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            found.extend(tree(&path));
            found.insert(path, Vec::new());
        } else {
            // A link is known by its target.
            let link = fs::read_link(&path).map(|target| target.into_os_string().into_encoded_bytes());
            found.insert(path.clone(), link.or_else(|_| fs::read(&path)).unwrap());
        }
    }
    found
}

fn database(path: &Path) {
    command("build", path, &[], (0..1000).map(|i| fingerprint(i).to_string()).collect()).expect(0);
}

/// Folders of others that are named like work folders.
fn foreign_folders(home: &Path) {
    database(&home.join("nearprint-corpus"));
    database(&home.join("nearprint-abcdefghijklmnop"));
    fs::create_dir_all(home.join("nearprint-x/sub")).unwrap();
    fs::write(home.join("nearprint-x/LOCK"), "").unwrap();
    fs::write(home.join("nearprint-x/sub/thesis.tex"), "mine").unwrap();
    fs::create_dir(home.join("nearprint-abcdefghijklmnoq")).unwrap();
    symlink("nearprint-corpus", home.join("nearprint-abcdefghijklmnor")).unwrap();
}

fn documents(count: u64) -> impl Iterator<Item = String> + Send {
    (0..count).map(|i| {
        let words: Vec<String> = (0..8).map(|word| format!("w{}", fingerprint(i * 8 + word) % 997)).collect();
        format!("{{\"id\": {i}, \"text\": \"{}\"}}", words.join(" "))
    })
}

/// `dedup` of standard input with a folder for temporary files.
fn dedup(temporary: &Path, output: &Path, arguments: &[&str]) -> Running {
    start("dedup", temporary, output, arguments)
}

fn start(command: &str, temporary: &Path, output: &Path, arguments: &[&str]) -> Running {
    let mut program = nearprint();
    program.env("TMPDIR", temporary).args(["-q", command, "-", "-o"]).arg(output).args(arguments);
    Running::start(&mut program)
}

/// Waits for a folder with a marker and a file.
fn made(home: &Path, file: &str) -> PathBuf {
    let is_made = |path: &PathBuf| {
        fs::metadata(path.join(MARKER)).is_ok_and(|marker| marker.len() > 0) && path.join(file).exists()
    };
    let find = || fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path()).find(is_made);
    found(find).unwrap_or_else(|| panic!("{file}: there is none"))
}

/// Waits until something is found.
fn found<T>(find: impl Fn() -> Option<T>) -> Option<T> {
    let wait = |_| {
        find().or_else(|| {
            std::thread::sleep(Duration::from_millis(5));
            None
        })
    };
    (0..4000).find_map(wait)
}

#[test]
fn regression_dedup_removes_no_folder_of_others() {
    let home = tempfile::tempdir().unwrap();
    let (temporary, output) = (home.path().join("T"), home.path().join("o"));
    fs::create_dir(&temporary).unwrap();
    foreign_folders(&temporary);
    let before = tree(&temporary);
    for (command, arguments) in
        [("dedup", &[][..]), ("dedup", &["--dry-run"]), ("dedup", &["--keep", "longest"]), ("trim", &[])]
    {
        start(command, &temporary, &output, arguments).feed(documents(300)).end().expect(0);
        assert_eq!(tree(&temporary), before, "{command} {arguments:?}");
        let _ = fs::remove_file(&output);
    }
}

#[test]
fn regression_work_folders_of_killed_jobs_are_removed_unless_something_else_is_in_them() {
    let home = tempfile::tempdir().unwrap();
    let (temporary, output) = (home.path().join("T"), home.path().join("o"));
    fs::create_dir(&temporary).unwrap();
    foreign_folders(&temporary);
    let before = tree(&temporary);
    let mut random = Random(5);
    for round in 0..short_or_full(8, 40) {
        let keep = if round % 2 == 0 { "first" } else { "longest" };
        let mut killed = dedup(&temporary, &output, &["--keep", keep]).feed(documents(20_000));
        std::thread::sleep(Duration::from_millis(random.below(120)));
        killed.kill();
        killed.end();
    }
    dedup(&temporary, &output, &[]).feed(documents(10)).end().expect(0).says(&[]);
    assert_eq!(tree(&temporary), before);

    let mut killed = dedup(&temporary, &output, &[]);
    killed.say(&format!("{}\n", documents(1).next().unwrap()));
    let folder = made(&temporary, "kept.np/MANIFEST");
    killed.kill();
    killed.end();
    fs::write(folder.join("thesis.tex"), "mine").unwrap();
    let occupied = tree(&folder);
    let warning = format!("{}: not made by nearprint", folder.join("thesis.tex").display());
    dedup(&temporary, &output, &[]).feed(documents(10)).end().expect(0).says(&[&warning]);
    assert_eq!(tree(&folder), occupied, "all of it");
}

#[test]
fn regression_what_stands_at_name_building_is_not_removed() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let (target, building) = (at("x.np"), at("x.np.building"));
    database(&at("source"));
    fs::write(at("d.jsonl"), documents(10).map(|line| line + "\n").collect::<String>()).unwrap();
    let (x, source, input) = (target.to_str().unwrap(), at("source"), at("d.jsonl"));
    let (source, input) = (source.to_str().unwrap(), input.to_str().unwrap());
    let make: [(&str, &dyn Fn()); 3] = [
        ("a database", &|| database(&building)),
        ("an empty folder", &|| fs::create_dir(&building).unwrap()),
        ("a folder that nearprint did not make", &|| {
            fs::create_dir(&building).unwrap();
            fs::write(building.join("LOCK"), "").unwrap();
        }),
    ];
    for (found, make) in make {
        make();
        let before = tree(&building);
        for line in [
            &["create", x][..],
            &["build", x],
            &["backup", source, x],
            &["repair", source, x],
            &["dedup", "--db", x, input, "--dry-run"],
            &["dedup", "--db", x, input, "-o", "/dev/null"],
        ] {
            let ended = Running::start(nearprint().args(line).current_dir(home.path())).end();
            if line.contains(&"--dry-run") && ended.code() == 0 {
                // It makes no database there.
                continue;
            }
            ended.expect(1).says(&["x.np.building", found, "move it away"]);
            assert_eq!(tree(&building), before, "{line:?}");
            assert!(!target.exists());
        }
        fs::remove_dir_all(&building).unwrap();
    }
}

/// Checks that a database is whole and has exactly these fingerprints, and removes it.
fn take_whole(target: &Path, fingerprints: &BTreeSet<String>) {
    command("verify", target, &[], vec![]).expect(0);
    let exported = command("export", target, &[], vec![]).expect(0);
    let found = exported.out.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned);
    assert_eq!(found.collect::<BTreeSet<_>>(), *fingerprints);
    fs::remove_dir_all(target).unwrap();
}

/// A build that is killed leaves a database, a folder that the next build removes, or a complete one
/// that the next build only renames.
#[test]
fn a_build_follows_a_killed_one() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("x.np");
    let all: BTreeSet<String> = (0..2000).map(|i| fingerprint(i).to_string()).collect();
    let mut random = Random(6);
    for _ in 0..short_or_full(25, 200) {
        let lines = all.clone().into_iter();
        let mut killed = Running::start(nearprint().args(["-q", "build"]).arg(&target)).feed(lines);
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
        killed.kill();
        killed.end();
        if target.exists() {
            take_whole(&target, &all);
        }
        let next = command("build", &target, &[], vec!["7".into()]);
        if next.code() == 0 {
            take_whole(&target, &BTreeSet::from(["7".into()]));
        } else {
            next.expect(1).says(&["already exists"]);
            take_whole(&target, &all);
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}

/// A signal ends commands that are waiting, and what they made goes.
#[test]
fn an_interrupted_command_leaves_no_folder() {
    let home = tempfile::tempdir().unwrap();
    let (temporary, target) = (home.path().join("T"), home.path().join("x.np"));
    fs::create_dir(&temporary).unwrap();
    foreign_folders(&temporary);
    let before = tree(&temporary);
    let mut job = dedup(&temporary, &home.path().join("o"), &[]);
    job.say(&format!("{}\n", documents(1).next().unwrap()));
    made(&temporary, "kept.np/MANIFEST");
    job.interrupt();
    job.end_by_itself().expect(130);
    assert_eq!(tree(&temporary), before);

    let building = home.path().join("x.np.building");
    let build = Running::start(nearprint().arg("build").arg(&target));
    found(|| building.exists().then_some(())).unwrap();
    fs::write(building.join("thesis.tex"), "mine").unwrap();
    build.interrupt();
    build.end_by_itself().expect(130).says(&["thesis.tex: not made by nearprint"]);
    assert!(building.join("thesis.tex").exists() && building.join(MARKER).exists());
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn regression_copies_are_as_private_as_their_source() {
    let home = tempfile::tempdir().unwrap();
    let source = home.path().join("source");
    database(&source);
    fs::set_permissions(&source, fs::Permissions::from_mode(0o700)).unwrap();
    fs::read_dir(&source).unwrap().for_each(|entry| {
        fs::set_permissions(entry.unwrap().path(), fs::Permissions::from_mode(0o640)).unwrap();
    });
    for name in ["backup", "repair"] {
        let copy = home.path().join(name);
        command(name, &source, &[copy.to_str().unwrap()], vec![]).expect(0);
        assert_eq!(mode(&copy), 0o700, "{name}");
        fs::read_dir(&copy)
            .unwrap()
            .for_each(|entry| assert_eq!(mode(&entry.unwrap().path()), 0o600, "{name}"));
    }
}

#[test]
fn regression_long_names_can_be_databases() {
    let home = tempfile::tempdir().unwrap();
    let path = |letter: &str| home.path().join(letter.repeat(255));
    let (built, copy, repaired) = (path("b"), path("c"), path("r"));
    database(&built);
    command("backup", &built, &[copy.to_str().unwrap()], vec![]).expect(0);
    command("repair", &built, &[repaired.to_str().unwrap()], vec![]).expect(0);
    for path in [built, copy, repaired] {
        command("verify", &path, &[], vec![]).expect(0);
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 3);
}

/// A folder of these permissions, and the program in it, which other users may start. `None`, and a test that is skipped,
/// if this user is not root.
fn for_other_users(test: &str, mode: u32) -> Option<(tempfile::TempDir, PathBuf)> {
    let home = tempfile::tempdir().unwrap();
    if home.path().metadata().unwrap().uid() != 0 {
        skip(Need::Root, test, "only root may start programs of other users");
        return None;
    }
    fs::set_permissions(home.path(), fs::Permissions::from_mode(mode)).unwrap();
    let program = home.path().join("nearprint");
    fs::copy(env!("CARGO_BIN_EXE_nearprint"), &program).unwrap();
    Some((home, program))
}

#[test]
fn regression_only_root_could_remember_what_was_left_out() {
    let name = "regression_only_root_could_remember_what_was_left_out";
    let Some((home, program)) = for_other_users(name, 0o777) else { return };
    let run = |line: &str, input: Vec<String>| {
        let mut command = Command::new(&program);
        command.uid(65_534).gid(65_534).current_dir(home.path()).env("TMPDIR", home.path());
        Running::start(command.args(line.split(' '))).feed(input.into_iter()).end().expect(0).out
    };
    let all: Vec<String> = documents(40).chain(documents(20)).collect();
    run("dedup - -o out.jsonl --db seen.np --remember=keys --key-field id --duplicates out.tsv", all);
    let left_out = fs::read_to_string(home.path().join("out.tsv")).unwrap();
    assert!(left_out.lines().count() >= 20, "{left_out}");
    for name in ["seen.np", "copy.np"] {
        assert!(run(&format!("query {name} --left-out 3"), vec![]).starts_with("3\t3\t"), "{name}");
        run(&format!("verify {name}"), vec![]);
        if name == "seen.np" {
            run("backup seen.np copy.np", vec![]);
        }
    }
    run("backup seen.np --follow second.np --once", vec![]);
    run("verify second.np", vec![]);
}

#[test]
fn regression_a_lock_that_is_a_link_is_no_damage() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.np");
    create(&path);
    fs::remove_file(path.join("LOCK")).unwrap();
    symlink("elsewhere", path.join("LOCK")).unwrap();
    let refused: Ended = command("add", &path, &[], vec!["1".into()]).expect(1);
    assert!(!refused.err.contains("corrupt") && !refused.err.contains("repair"), "{}", refused.err);
    refused.says(&["LOCK: it is a symbolic link; remove it"]);
    fs::remove_file(path.join("LOCK")).unwrap();
    command("add", &path, &[], vec!["1".into()]).expect(0);
}

/// In a folder that several users share, the folder of a killed build can be read and removed by its owner only. Other
/// users could not build a database of that name.
#[test]
fn regression_a_killed_build_of_one_user_does_not_stop_another() {
    let users = [0, 65_534];
    let name = "regression_a_killed_build_of_one_user_does_not_stop_another";
    let Some((home, program)) = for_other_users(name, 0o755) else { return };
    for (round, (first, second)) in [(users[0], users[1]), (users[1], users[0])].into_iter().enumerate() {
        // Everybody may remove everything, or only what is his.
        for mode in [0o777, 0o1777] {
            let folder = home.path().join(format!("{round}-{mode:o}"));
            fs::create_dir(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            let target = folder.join("x.np");
            let build = |user: u32| {
                let mut command = Command::new(&program);
                command.uid(user).gid(user).current_dir("/").env("TMPDIR", &folder);
                Running::start(command.arg("build").arg(&target))
            };
            let mut killed = build(first);
            // Until it is marked, the folder has a name that nearprint chooses.
            let left = folder.join("x.np.building");
            found(|| left.exists().then_some(())).expect("the folder of a build");
            killed.kill();
            killed.end();
            let before = tree(&left);
            let mut other = build(second);
            let own =
                found(|| Some(folder.join(format!("x.np.building-{second}"))).filter(|own| own.exists()));
            let own = own.unwrap_or_else(|| panic!("{}", build(second).end().err));
            other.kill();
            other.end();
            build(second).feed((0..10).map(|id| id.to_string())).end().expect(0);
            assert!(!own.exists(), "what it has left itself is removed");
            assert_eq!(tree(&left), before, "what another user has left stays");
            command("verify", &target, &[], vec![]).expect(0);
            fs::remove_dir_all(&target).unwrap();
            build(first).feed((0..10).map(|id| id.to_string())).end().expect(0);
            assert!(!left.exists(), "until that user builds the name");
        }
    }
}
