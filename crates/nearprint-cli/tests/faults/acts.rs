//! Acts on files and their undo, killed and made to fail at every system call, and raced by edits.
//!
//! Whatever happens: every content that was there is in the tree, in the target or in a temporary folder of nearprint,
//! and an undo that is repeated brings back each file with its bytes, mode, time and owner.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use image::imageops::FilterType;
use image::{DynamicImage, RgbImage};

use crate::machine;
use crate::processes::{Ended, Running};
use crate::syscalls::{Fault, Strace, at_calls, calls_of, for_good, is_possible, once};
use testkit::files::{give_to, set_mode};
use testkit::{Need, Random, folder_in_memory, short_or_full, skip};

/// The path, and bytes, mode, owner and time of a file.
type Tree = BTreeMap<PathBuf, (Vec<u8>, u32, u32, i64, i64)>;

/// Names that make trouble in lists and on terminals.
const NAMES: [&[u8]; 8] = [
    b"report.txt",
    b"report (1).txt",
    b"line\nfeed",
    b"\xff\xfe.txt",
    b"-rf",
    b"tab\t\\x41",
    b".hidden",
    b"\xe2\x80\xae",
];

/// A tree of copies, near files and others, of several folders, modes, owners, hard links and links.
fn make_tree(at: &Path, seed: u64) {
    let mut random = Random(seed);
    let words = |random: &mut Random, count: u64| -> String {
        (0..count).map(|_| format!("word{} ", random.below(4000))).collect()
    };
    let texts: Vec<String> = (0..3).map(|_| words(&mut random, 60)).collect();
    let large = words(&mut random, 30_000);
    for folder in ["a", "a/deep er", "b"] {
        fs::create_dir_all(at.join(folder)).unwrap();
    }
    for number in 0..12_u64 {
        let folder = ["", "a", "a/deep er", "b"][random.below(4) as usize];
        let mut name = NAMES[number as usize % NAMES.len()].to_vec();
        name.extend(number.to_string().bytes());
        let path = at.join(folder).join(OsStr::from_bytes(&name));
        let text = &texts[random.below(3) as usize];
        let text = match random.below(5) {
            0 => text.split_once(' ').unwrap().1,
            1 => &large,
            _ => text,
        };
        fs::write(&path, text).unwrap();
        if random.below(4) == 0 {
            // Without root, all files have one owner.
            let _ = give_to(&path, 1000 + random.below(2) as u32);
        }
        set_mode(&path, [0o644, 0o600, 0o755][random.below(3) as usize]);
        let time = SystemTime::UNIX_EPOCH
            + Duration::new(1_500_000_000 + random.below(3), random.below(1000) as u32);
        File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .set_times(FileTimes::new().set_modified(time))
            .unwrap();
        if random.below(6) == 0 {
            fs::hard_link(&path, path.with_extension("link")).unwrap();
        }
    }
    make_pictures(at, &mut random);
    std::os::unix::fs::symlink("report.txt0", at.join("link")).unwrap();
    std::os::unix::fs::symlink(".", at.join("b/loop")).unwrap();
}

/// A picture, a copy of it and a smaller one.
fn make_pictures(at: &Path, random: &mut Random) {
    let spots = RgbImage::from_fn(24, 18, |_, _| image::Rgb([(); 3].map(|()| random.below(256) as u8)));
    let picture = DynamicImage::from(spots).resize_exact(160, 120, FilterType::CatmullRom);
    picture.save(at.join("a/picture.png")).unwrap();
    picture.resize_exact(80, 60, FilterType::Triangle).save(at.join("picture small.png")).unwrap();
    fs::copy(at.join("a/picture.png"), at.join("b/picture (1).png")).unwrap();
}

/// All files below a folder. Links are not followed.
fn tree(at: &Path) -> Tree {
    let (mut found, mut folders) = (Tree::new(), vec![at.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_file() {
                let (mode, owner) = (metadata.mode(), metadata.uid());
                let state = (fs::read(&path).unwrap(), mode, owner, metadata.mtime(), metadata.mtime_nsec());
                found.insert(path.strip_prefix(at).unwrap().to_path_buf(), state);
            }
        }
    }
    found
}

fn paths(tree: &Tree) -> Vec<PathBuf> {
    tree.keys().cloned().collect()
}

fn contents(tree: &Tree) -> BTreeSet<&[u8]> {
    tree.values().map(|(bytes, ..)| &**bytes).collect()
}

/// The acts, each with its options. `FAR` is a folder on another file system.
const ACTS: [&[&str]; 5] = [
    &["--move-to", "gone"],
    &["--move-to", "FAR/gone"],
    &["--hardlink", "--any-owner"],
    &["--delete", "--copies"],
    &["LIST", "--move-to", "FAR/gone"],
];

/// A tree in `home`, its state, and a folder on another file system.
struct Scene {
    home: PathBuf,
    far: PathBuf,
    before: Tree,
}

impl Scene {
    fn new(home: &Path, far: &Path, seed: u64) -> Self {
        make_tree(&home.join("tree"), seed);
        Self { home: home.into(), far: far.into(), before: tree(&home.join("tree")) }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("env");
        command.arg("-C").arg(&self.home).arg(env!("CARGO_BIN_EXE_nearprint"));
        let far = self.far.to_str().unwrap();
        command
            .args(["--threads", "1", "--no-progress"])
            .args(arguments.iter().map(|it| it.replace("FAR", far)));
        command
    }

    fn act(&self, options: &[&str]) -> Command {
        if let ["LIST", options @ ..] = options {
            fs::write(self.home.join("chosen.tsv"), self.chosen()).unwrap();
            return self
                .command(&[&["prune", "--list", "chosen.tsv", "--undo-list", "list.tsv"], options].concat());
        }
        self.command(&[&["prune", "tree", "--undo-list", "list.tsv"], options].concat())
    }

    /// A list as a report saves it: of all files with equal bytes, the first one stays.
    fn chosen(&self) -> String {
        let mut list = "path\tkept\tsimilarity\tstate\tkept_state\n".to_string();
        let mut kept: BTreeMap<&[u8], &Path> = BTreeMap::new();
        let mut inodes = BTreeSet::new();
        let found = |path: &Path| self.home.join("tree").join(path).metadata().unwrap();
        let state = |path: &Path| {
            let found = found(path);
            format!("{} {}.{:09} {}", found.size(), found.mtime(), found.mtime_nsec(), found.ino())
        };
        // A list has names of UTF-8, and no tabs.
        let is_plain = |path: &Path| path.to_str().is_some_and(|name| !name.contains(['\t', '\n', '\\']));
        for (path, (bytes, ..)) in self.before.iter().filter(|(path, _)| is_plain(path)) {
            if !inodes.insert(found(path).ino()) {
                continue;
            }
            let first = kept.entry(bytes).or_insert(path);
            if *first != path {
                let [path, first] = [path, *first].map(|path| (path.display(), state(path)));
                list += &format!("tree/{}\ttree/{}\t\t{}\t{}\n", path.0, first.0, path.1, first.1);
            }
        }
        list
    }

    fn undo(&self) -> Command {
        self.command(&["undo", "--trust", "--root", "FAR", "list.tsv"])
    }

    /// Whether every content is there still. Temporary folders count: the next act or undo recovers them.
    fn check_contents(&self, place: &str) {
        let now = [tree(&self.home), tree(&self.far)];
        let have: BTreeSet<&[u8]> = now.iter().flat_map(contents).collect();
        for (path, (bytes, ..)) in &self.before {
            assert!(have.contains(&**bytes), "{place}: the content of {path:?} is lost");
        }
    }

    /// Undoes until nothing fails, and compares the tree.
    fn check_undone(&self, place: &str) {
        let mut ended = None;
        for _ in 0..3 {
            let last: Ended = Running::start(&mut self.undo()).end();
            assert!(!last.err.contains("panicked"), "{place}: {}", last.err);
            let code = last.code();
            ended = Some(last);
            if code == 0 {
                break;
            }
        }
        let ended = ended.unwrap();
        // A list that was being written when the act was killed: nothing had been done.
        let is_torn = ended.code() == 5 || !self.home.join("list.tsv").exists();
        assert!(ended.code() == 0 || is_torn, "{place}: {}", ended.err);
        let now = tree(&self.home.join("tree"));
        assert_eq!(paths(&now), paths(&self.before), "{place}: {}", ended.err);
        for (path, state) in &self.before {
            assert!(
                now[path] == *state,
                "{place}: {path:?} differs: {:?}",
                (&now[path].1, now[path].2, now[path].3)
            );
        }
    }
}

/// A file system beside that of temporary folders in memory.
fn another_device() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

const KILLS: [Fault; 4] = [
    once("renameat2", "SIGKILL"),
    once("unlink", "SIGKILL"),
    once("mkdir", "SIGKILL"),
    once("rmdir", "SIGKILL"),
];
const COPY_FAULTS: [Fault; 4] = [
    once("copy_file_range", "SIGKILL"),
    once("copy_file_range", "ENOSPC"),
    once("fchmod", "SIGKILL"),
    once("fsync", "EIO"),
];
const ERRORS: [Fault; 2] = [once("renameat2", "EIO"), once("unlink", "EACCES")];

/// Makes the calls of an act, or of its undo, fail one after the other.
fn at_every_call(options: &[&str], is_undo: bool, fault: Fault) {
    let (far, number) = (another_device(), AtomicU64::new(0));
    at_calls(fault, short_or_full(7, 1), |home, strace| {
        let seed = number.fetch_add(1, Ordering::Relaxed) % short_or_full(3, 20);
        let far = tempfile::tempdir_in(far.path()).unwrap();
        let scene = Scene::new(home, far.path(), seed);
        let place = format!("{options:?}, undo {is_undo}, tree {seed}, {}", strace.place());
        let ended = if is_undo {
            Running::start(&mut scene.act(options)).end();
            strace.start(&scene.undo()).end()
        } else {
            strace.start(&scene.act(options)).end()
        };
        scene.check_contents(&place);
        scene.check_undone(&place);
        strace.has_hit() || ended.status.code().is_none()
    });
}

#[test]
fn acts_and_undo_survive_kills_and_errors_at_every_call() {
    if !is_possible("acts_and_undo_survive_kills_and_errors_at_every_call") {
        return;
    }
    for options in ACTS {
        let copies = options.iter().any(|option| option.starts_with("FAR"));
        let renames_only = options == ["--move-to", "gone"];
        for fault in KILLS.into_iter().chain(ERRORS).chain(COPY_FAULTS) {
            let is_of_copy = COPY_FAULTS.iter().any(|other| other.call == fault.call);
            if !is_of_copy && (!renames_only || fault.call == "renameat2") || copies && fault.call != "rmdir"
            {
                at_every_call(options, false, fault);
            }
            if !renames_only || fault.call == "renameat2" {
                at_every_call(options, true, fault);
            }
        }
    }
}

/// Where a file has as many names as it can have, the next copy stays, and later ones are linked to it.
#[test]
fn links_begin_again_where_a_file_can_have_no_more() {
    if !is_possible("links_begin_again_where_a_file_can_have_no_more") {
        return;
    }
    let home = folder_in_memory();
    fs::create_dir(home.path().join("tree")).unwrap();
    for name in ["a", "b", "c", "d"] {
        fs::write(home.path().join("tree").join(name), "one two three").unwrap();
    }
    let scene =
        Scene { home: home.path().into(), far: home.path().into(), before: tree(&home.path().join("tree")) };
    let strace = Strace::new(once("linkat", "EMLINK"), 2, home.path().join("log"));
    strace.start(&scene.act(ACTS[2])).end().expect(0).says(&["2 files, 2 of them", "1 skipped"]);
    let inode = |name: &str| fs::metadata(home.path().join("tree").join(name)).unwrap().ino();
    assert!(inode("a") == inode("b") && inode("c") == inode("d") && inode("a") != inode("c"));
    scene.check_undone("EMLINK");
    assert_eq!(["a", "b", "c", "d"].map(inode).into_iter().collect::<BTreeSet<_>>().len(), 4);
}

/// Where a file system cannot rename without replacing, a link and an unlink do it.
#[test]
fn acts_and_undo_need_no_rename_that_replaces_nothing() {
    if !is_possible("acts_and_undo_need_no_rename_that_replaces_nothing") {
        return;
    }
    for options in ACTS {
        let (home, far) = (folder_in_memory(), another_device());
        let scene = Scene::new(home.path(), far.path(), 1);
        let strace = || Strace::new(for_good("renameat2", "EINVAL"), 1, home.path().join("log"));
        strace().start(&scene.act(options)).end().expect(0);
        assert_ne!(paths(&tree(&home.path().join("tree"))), Vec::<PathBuf>::new());
        scene.check_contents("EINVAL");
        strace().start(&scene.undo()).end().expect(0);
        scene.check_undone("EINVAL");
    }
}

/// Runs an act or an undo whose calls of a kind wait for a second each, and `edit` after its list is there.
fn edited_meanwhile(scene: &Scene, command: &Command, call: &'static str, edit: impl FnOnce()) -> Ended {
    edited_under(&Strace::new(for_good(call, "1000000"), 1, scene.home.join("log")), scene, command, edit)
}

fn edited_under(strace: &Strace, scene: &Scene, command: &Command, edit: impl FnOnce()) -> Ended {
    let running = strace.start(command);
    while fs::metadata(scene.home.join("list.tsv")).map_or(0, |list| list.len()) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
    edit();
    running.end()
}

/// Two files of the same bytes, of which `b.txt` goes.
fn pair(home: &Path) {
    fs::create_dir(home.join("tree")).unwrap();
    for (name, seconds) in [("a.txt", 1), ("b.txt", 2)] {
        let path = home.join("tree").join(name);
        fs::write(&path, "one two three four five ".repeat(5000)).unwrap();
        let time = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        File::options().append(true).open(path).unwrap().set_times(time).unwrap();
    }
}

/// An edit between the comparison, or the copy, and the removal was lost.
#[test]
fn regression_an_edit_during_an_act_stays() {
    if !is_possible("regression_an_edit_during_an_act_stays") {
        return;
    }
    for (options, call) in
        [(ACTS[0], "renameat2"), (ACTS[1], "copy_file_range"), (ACTS[2], "renameat2"), (ACTS[3], "renameat2")]
    {
        let (home, far) = (folder_in_memory(), another_device());
        pair(home.path());
        let scene = Scene { home: home.path().into(), far: far.path().into(), before: Tree::new() };
        let ended = edited_meanwhile(&scene, &scene.act(options), call, || {
            let mut file = File::options().append(true).open(home.path().join("tree/b.txt")).unwrap();
            file.write_all(b"an edit of today").unwrap();
        });
        let edited = fs::read(home.path().join("tree/b.txt")).unwrap_or_default();
        assert!(edited.ends_with(b"an edit of today"), "{options:?}: {}", ended.err);
        ended.expect(1).says(&["changed meanwhile", "1 act not done"]);
        assert_eq!(fs::read_dir(home.path().join("tree")).unwrap().count(), 2, "{options:?}");
        assert!(!far.path().join("gone/tree/b.txt").exists());
    }
}

/// Where a file system cannot rename without replacing, what was saved by a rename between a link and an unlink was
/// deleted with the old name.
#[test]
fn regression_a_file_that_is_saved_meanwhile_stays_without_renames_that_replace_nothing() {
    if !is_possible("regression_a_file_that_is_saved_meanwhile_stays_without_renames_that_replace_nothing") {
        return;
    }
    for (options, call) in ACTS[..4].iter().flat_map(|options| [(options, "unlink"), (options, "rename")]) {
        let (home, far) = (folder_in_memory(), another_device());
        pair(home.path());
        let scene = Scene { home: home.path().into(), far: far.path().into(), before: Tree::new() };
        let save = |path: &Path| {
            fs::write(home.path().join("new"), "a new text").unwrap();
            fs::rename(home.path().join("new"), path).unwrap();
        };
        let slow = || Strace::new(for_good(call, "1000000"), 1, home.path().join("log")).without_no_replace();
        let path = home.path().join("tree/b.txt");
        let ended = edited_under(&slow(), &scene, &scene.act(options), || save(&path));
        assert_eq!(fs::read_to_string(&path).unwrap(), "a new text", "{options:?}, {call}: {}", ended.err);
        ended.expect(1).says(&["changed meanwhile", "1 act not done"]);
        assert_eq!(fs::read_dir(home.path().join("tree")).unwrap().count(), 2, "{options:?}");
        assert!(![home.path(), far.path()].iter().any(|at| at.join("gone/tree/b.txt").exists()));
    }
    // The same for a file that is moved back.
    let home = folder_in_memory();
    pair(home.path());
    let scene = Scene { home: home.path().into(), far: home.path().into(), before: Tree::new() };
    Running::start(&mut scene.act(ACTS[0])).end().expect(0);
    let moved = home.path().join("gone/tree/b.txt");
    let slow = Strace::new(for_good("unlink", "1000000"), 1, home.path().join("log")).without_no_replace();
    edited_under(&slow, &scene, &scene.undo(), || {
        fs::write(home.path().join("new"), "a new text").unwrap();
        fs::rename(home.path().join("new"), &moved).unwrap();
    })
    .expect(1);
    assert_eq!(fs::read_to_string(&moved).unwrap(), "a new text");
}

/// A server of a network says of an unlink that it has done and is asked for again that there is no such file. The new
/// name of the file, or what stood in for it, was removed, too.
#[test]
fn regression_a_removal_that_is_done_and_fails_removes_nothing_else() {
    if !is_possible("regression_a_removal_that_is_done_and_fails_removes_nothing_else") {
        return;
    }
    for options in &ACTS[..4] {
        let (home, far) = (folder_in_memory(), another_device());
        pair(home.path());
        let scene = Scene { home: home.path().into(), far: far.path().into(), before: Tree::new() };
        let slow = Strace::new(for_good("unlink", "1000000"), 1, home.path().join("log"));
        // Removes what is about to be removed, each time once.
        let mut done = 0;
        let mut running = slow.without_no_replace().start(&scene.act(options));
        while running.is_running() {
            let log = fs::read_to_string(home.path().join("log")).unwrap_or_default();
            let paths =
                log.lines().filter(|line| line.contains("unlink(")).filter_map(|it| it.split('"').nth(1));
            for path in paths.skip(done) {
                let _ = fs::remove_file(path);
                done += 1;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let ended = running.end();
        let all = [tree(home.path()), tree(far.path())];
        let text = "one two three four five ".repeat(5000);
        let have = all.iter().flatten().filter(|(_, state)| state.0 == text.as_bytes()).count();
        let expected = if options[0] == "--delete" { 1 } else { 2 };
        assert_eq!(have, expected, "{options:?}: {}", ended.err);
        ended.expect(0);
    }
}

/// A copy whose folder could not be made durable stayed, and each later move found its name taken.
#[test]
fn regression_a_copy_that_is_not_durable_does_not_stay() {
    if !is_possible("regression_a_copy_that_is_not_durable_does_not_stay") {
        return;
    }
    at_calls(once("fsync", "EIO"), 1, |home, strace| {
        let far = another_device();
        pair(home);
        let scene = Scene { home: home.into(), far: far.path().into(), before: Tree::new() };
        let ended = strace.start(&scene.act(ACTS[1])).end();
        let [file, copy] =
            [home.join("tree/b.txt"), far.path().join("gone/tree/b.txt")].map(|at| at.exists());
        assert!(file != copy, "{}: {}", strace.place(), ended.err);
        strace.has_hit()
    });
}

/// A run that recovered a file did not compare it and did not say so, and the copy that a killed move had made was in
/// the way of each later one without a word on what to do.
#[test]
fn regression_a_run_after_a_kill_says_what_to_do() {
    if !is_possible("regression_a_run_after_a_kill_says_what_to_do") {
        return;
    }
    let (home, far) = (folder_in_memory(), another_device());
    pair(home.path());
    let scene = Scene { home: home.path().into(), far: far.path().into(), before: Tree::new() };
    let prune = || scene.command(&["prune", "tree", "--move-to", "FAR/gone"]);
    Strace::new(once("unlink", "SIGKILL"), 1, home.path().join("log")).start(&prune()).end().expect(-1);
    let recovered = ["recovered ", "recovered files were not compared: run the command again"];
    Running::start(&mut prune()).end().expect(0).says(&recovered);
    let exists = ["gone/tree/b.txt exists and has the same bytes", "remove it, and run again"];
    Running::start(&mut prune()).end().expect(1).says(&exists);
    fs::remove_file(far.path().join("gone/tree/b.txt")).unwrap();
    Running::start(&mut prune()).end().expect(0).says(&["1 file, 1 of them"]);
}

/// Checks that what a copy and an undo list are found by is durable before a file goes: the names of new folders, and
/// of what is renamed into its place.
fn check_durable(calls: &[String]) {
    let is_removal = |call: &String| call.contains("unlink(") && call.contains("/.nearprint-old-");
    let removal = calls.iter().position(is_removal).unwrap_or_else(|| panic!("{calls:#?}"));
    // The last path is the new name.
    let named = |call: &str| call.rsplit('"').nth(1).map(PathBuf::from);
    let is_of_temporary = |call: &str| {
        call.contains("/.nearprint-old-") || call.contains("mkdir(") && call.contains("/.nearprint-new-")
    };
    let mut num_names = 0;
    for (at, call) in calls[..removal].iter().enumerate() {
        let gives_name = call.contains("mkdir(") || call.contains("rename");
        let name = named(call).filter(|name| gives_name && name.is_absolute() && !is_of_temporary(call));
        let Some(name) = name else { continue };
        let sync = format!("<{}>)", name.parent().unwrap().display());
        let mut later = calls[at..removal].iter();
        let is_synced = later.any(|call| call.contains("fsync(") && call.contains(&sync));
        assert!(is_synced, "{} is not durable before the first file goes: {calls:#?}", name.display());
        num_names += 1;
    }
    assert!(num_names > 1, "{calls:#?}");
}

/// A power cut after a move between file systems lost the file with the new folders of its copy.
#[test]
fn regression_new_folders_are_durable_before_a_file_goes() {
    if !is_possible("regression_new_folders_are_durable_before_a_file_goes") {
        return;
    }
    const CALLS: &str = "mkdir,fsync,syncfs,renameat2,unlink";
    let (home, far) = (folder_in_memory(), another_device());
    fs::create_dir_all(home.path().join("tree/s")).unwrap();
    for name in ["a.txt", "s/b copy.txt"] {
        fs::write(home.path().join("tree").join(name), "one two three four five ".repeat(100)).unwrap();
    }
    let scene = Scene { home: home.path().into(), far: far.path().into(), before: Tree::new() };
    let log = home.path().join("log");
    for (options, list) in [
        (&["--move-to", "FAR/new/gone"][..], "FAR/new/gone/nearprint-undo.tsv"),
        (&["--delete", "--undo-list", "FAR/newer/lists/list.tsv"], "FAR/newer/lists/list.tsv"),
    ] {
        let calls = calls_of(&scene.command(&[&["prune", "tree"], options].concat()), CALLS, &log);
        check_durable(&calls);
        // What stays of two copies may have been written a moment ago.
        let stays_are_synced = calls.iter().any(|call| call.contains("syncfs("));
        assert_eq!(stays_are_synced, options[0] == "--delete", "{calls:#?}");
        fs::remove_dir(home.path().join("tree/s")).unwrap();
        let undo = scene.command(&["undo", "--root", "FAR", list]);
        let calls = calls_of(&undo, CALLS, &log);
        if options[0] == "--move-to" {
            check_durable(&calls);
        }
        assert!(home.path().join("tree/s/b copy.txt").exists());
    }
}

/// A file that came up under the name while an undo made its copy.
#[test]
fn what_has_come_up_meanwhile_stays() {
    if !is_possible("what_has_come_up_meanwhile_stays") {
        return;
    }
    for (options, call) in
        [(ACTS[1], "copy_file_range"), (ACTS[3], "copy_file_range"), (ACTS[0], "renameat2")]
    {
        let (home, far) = (folder_in_memory(), another_device());
        pair(home.path());
        let scene = Scene { home: home.path().into(), far: far.path().into(), before: Tree::new() };
        Running::start(&mut scene.act(options)).end().expect(0);
        let ended = edited_meanwhile(&scene, &scene.undo(), call, || {
            fs::write(home.path().join("tree/b.txt"), "a new note").unwrap();
        });
        assert_eq!(ended.code(), 1, "{options:?}: {}", ended.err);
        assert_eq!(fs::read(home.path().join("tree/b.txt")).unwrap(), b"a new note", "{options:?}");
        assert_eq!(fs::read_dir(home.path().join("tree")).unwrap().count(), 2, "{options:?}");
        fs::remove_file(home.path().join("tree/b.txt")).unwrap();
        Running::start(&mut scene.undo()).end().expect(0);
        let [a, b] = ["a.txt", "b.txt"].map(|name| fs::read(home.path().join("tree").join(name)).unwrap());
        assert!(a == b, "{options:?}");
    }
}

/// One file under two devices cannot be told from two files by their numbers.
#[test]
fn regression_a_file_of_an_overlay_is_no_copy_of_itself() {
    let home = folder_in_memory();
    let at = |name: &str| home.path().join(name);
    for folder in ["lower", "upper", "work", "merged"] {
        fs::create_dir(at(folder)).unwrap();
    }
    fs::write(at("upper/a.txt"), "one two three four five ".repeat(100)).unwrap();
    let options = format!("lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work", home.path().display());
    let mounted = machine::run(&format!("mount -t overlay overlay -o {options} {}", at("merged").display()));
    if let Err(reason) = mounted {
        return skip(Need::Mounts, "regression_a_file_of_an_overlay_is_no_copy_of_itself", &reason);
    }
    let scene = Scene { home: home.path().into(), far: home.path().into(), before: Tree::new() };
    let ended: Vec<Ended> = [&["--delete"][..], &["--move-to", "gone"], &["--hardlink"]]
        .into_iter()
        .map(|act| {
            let _ = fs::remove_file(at("list.tsv"));
            let mut command =
                scene.command(&[&["prune", "upper", "merged", "--undo-list", "list.tsv"], act].concat());
            Running::start(&mut command).end()
        })
        .collect();
    let is_there = at("upper/a.txt").exists() && at("merged/a.txt").exists();
    machine::run(&format!("umount {}", at("merged").display())).unwrap();
    for ended in ended {
        assert!(is_there, "{}", ended.err);
        ended.expect(1).says(&["1 act not done"]);
    }
}
