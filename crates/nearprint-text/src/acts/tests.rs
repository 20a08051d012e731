//! Acts on files of this process, whose moments no other process can choose.

use std::collections::HashSet;
use std::fs::{self, File};
use std::ops::ControlFlow;

use super::copy::{Copy, remove_own};
use super::judged::Judged;
use super::*;
use crate::aside::{Aside, Purpose};
use crate::documents::FileStamp;

const GO_ON: fn() -> ControlFlow<()> = || ControlFlow::Continue(());

fn plan(kind: ActKind, only_copies: bool, path: &Path, kept: &Path) -> Result<Option<Step>, Unplanned> {
    plan_of((kind, only_copies), path, kept, false)
}

fn plan_of(
    (kind, only_copies): (ActKind, bool),
    path: &Path,
    kept: &Path,
    is_copy: bool,
) -> Result<Option<Step>, Unplanned> {
    let rules = Rules { kind, only_copies, any_owner: true };
    let [stamp, kept_stamp] = [path, kept].map(|path| FileStamp::of(path).unwrap());
    let candidate = Candidate { path, stamp, kept, kept_stamp, is_copy };
    Step::plan(rules, candidate, None, &mut GO_ON.clone())
}

/// Plans an act on a file with the bytes of a kept file, and does it.
fn act(kind: ActKind, path: &Path, kept: &Path) -> FileAct {
    let step = plan(kind, true, path, kept).unwrap().unwrap();
    assert!(matches!(Actor::new(&mut GO_ON.clone()).act(&step).unwrap(), Acted::Done(_)));
    step.act
}

/// A folder with files of these names, which all have the same bytes, and times of their own.
fn folder<const N: usize>(names: [&str; N]) -> (tempfile::TempDir, [PathBuf; N]) {
    let home = tempfile::tempdir().unwrap();
    let paths = names.map(|name| home.path().canonicalize().unwrap().join(name));
    for (path, seconds) in paths.iter().zip(1..) {
        fs::write(path, "content").unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    (home, paths)
}

#[test]
fn files_of_one_size_can_have_different_bytes() {
    let (_home, [one, same, other, longer]) = folder(["one", "same", "other", "longer"]);
    fs::write(&other, "contend").unwrap();
    fs::write(&longer, "contents").unwrap();
    let [one, same, other, longer] = [one, same, other, longer].map(|path| Judged::open_now(&path).unwrap());
    assert!(one.has_bytes_of(&same, &mut GO_ON.clone()).unwrap());
    assert!(!one.has_bytes_of(&other, &mut GO_ON.clone()).unwrap());
    assert!(!one.has_bytes_of(&longer, &mut GO_ON.clone()).unwrap());
}

#[test]
fn what_is_no_copy_is_not_planned_as_one() {
    let (_home, [kept, other, same]) = folder(["kept", "other", "same"]);
    fs::write(&other, "contend").unwrap();
    assert!(plan(ActKind::Hardlink, false, &other, &kept).unwrap().is_none());
    assert!(plan(ActKind::Move, true, &other, &kept).unwrap().is_none());
    fs::remove_file(&same).unwrap();
    fs::hard_link(&kept, &same).unwrap();
    let planned = plan(ActKind::DeleteCopy, true, &same, &kept);
    assert!(matches!(planned, Err(Unplanned::Failed(why)) if why == "is the kept file under another name"));
}

/// Files with one hash were a group of copies, and one with other bytes went as a near one.
#[test]
fn regression_a_copy_by_its_hash_alone_is_left_alone() {
    let (_home, [kept, other]) = folder(["kept", "other"]);
    fs::write(&other, "contend").unwrap();
    for kind in [ActKind::Move, ActKind::Delete, ActKind::Hardlink] {
        let planned = plan_of((kind, false), &other, &kept, true);
        assert!(matches!(planned, Err(Unplanned::Failed(why)) if why.contains("other bytes")), "{kind:?}");
    }
}

#[test]
fn a_plan_says_whether_bytes_are_freed() {
    let (home, [kept, copy]) = folder(["kept", "copy"]);
    let is_only_name = || plan(ActKind::DeleteCopy, true, &copy, &kept).unwrap().unwrap().is_only_name;
    assert!(is_only_name());
    fs::hard_link(&copy, home.path().join("further")).unwrap();
    assert!(!is_only_name());
}

#[cfg(unix)]
#[test]
fn a_path_that_leads_nowhere_is_an_error() {
    let (home, []) = folder([]);
    let path = home.path().join("loop");
    std::os::unix::fs::symlink(&path, &path).unwrap();
    assert!(resolved(&path.join("file")).is_err());
    let inside = resolved(&home.path().join("missing/../file")).unwrap();
    assert_eq!(inside, home.path().canonicalize().unwrap().join("file"));
}

#[cfg(windows)]
#[test]
#[ignore = "few may make links there"]
fn a_path_that_leads_nowhere_is_an_error() {}

#[test]
fn another_file_at_the_name_is_noticed() {
    let (_home, [file, other]) = folder(["file", "other"]);
    let judged = Judged::open_now(&file).unwrap();
    judged.check_at(&file).unwrap();
    fs::rename(&other, &file).unwrap();
    assert!(judged.check_at(&file).is_err() && judged.check_at(&other).is_err());
    judged.check().unwrap();
}

#[test]
fn a_comparison_and_a_copy_can_be_stopped() {
    let (home, [one, same]) = folder(["one", "same"]);
    let [one, same] = [one, same].map(|path| Judged::open_now(&path).unwrap());
    let stop: KeepGoing<'_> = &mut || ControlFlow::Break(());
    assert_eq!(one.has_bytes_of(&same, stop).unwrap_err().to_string(), "interrupted");
    assert!(Copy::of(&one, home.path(), stop).is_err());
}

#[test]
fn a_file_that_changes_while_it_is_compared_is_an_error() {
    let (_home, [one, same]) = folder(["one", "same"]);
    for changed in [&one, &same] {
        let [first, second] = [&one, &same].map(|path| Judged::open_now(path).unwrap());
        let mut changes = || {
            fs::write(changed, "another content").unwrap();
            ControlFlow::Continue(())
        };
        assert!(first.has_bytes_of(&second, &mut changes).is_err());
        fs::write(changed, "content").unwrap();
    }
}

#[test]
fn a_large_file_is_copied_to_its_end() {
    let (home, [from]) = folder(["from"]);
    let len_bytes = (16 << 20) + 1;
    File::options().write(true).open(&from).unwrap().set_len(len_bytes).unwrap();
    let judged = Judged::open_now(&from).unwrap();
    let copy = Copy::of(&judged, home.path(), &mut GO_ON.clone()).unwrap();
    assert_eq!(copy.file.metadata().unwrap().len(), len_bytes);
}

#[test]
fn a_copy_stays_only_if_nothing_else_can_be_done() {
    let (home, [from]) = folder(["from"]);
    let judged = Judged::open_now(&from).unwrap();
    let copy = || Copy::of(&judged, home.path(), &mut GO_ON.clone()).unwrap();
    drop(copy());
    assert!(copy().publish(&from).unwrap_err().to_string().ends_with("from exists"));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    let error = copy().publish(&home.path().join("missing/to")).unwrap_err().to_string();
    let (_, stays) = error.split_once("; the copy is ").unwrap();
    assert_eq!(fs::read(stays).unwrap(), b"content");
}

#[test]
fn only_the_file_that_is_meant_is_removed() {
    let (_home, [own, other]) = folder(["own", "other"]);
    let file = File::open(&own).unwrap();
    assert!(remove_own(&file, &other).is_err() && other.exists());
    remove_own(&file, &own).unwrap();
    assert!(!own.exists());
}

#[test]
fn temporary_folders_beside_files_are_found() {
    let (home, [file]) = folder(["file"]);
    let aside = Aside::make(home.path(), Purpose::Old).unwrap();
    let expected = aside.path_of("").components().as_path().to_path_buf();
    let found = temporary_beside([&*home.path().join("a"), &*home.path().join("b")]);
    assert_eq!(found, [expected]);
    assert_eq!(temporary_beside([&*file.join("in a file")]), Vec::<PathBuf>::new());
}

#[test]
fn what_killed_acts_have_left_is_told() {
    let (home, [back, other]) = folder(["back", "other"]);
    let folders = [&back, &other].map(|file| {
        let aside = Aside::make(home.path(), Purpose::Old).unwrap();
        fs::rename(file, aside.path_of(file.file_name().unwrap())).unwrap();
        aside.path_of("")
    });
    fs::write(&other, "another content").unwrap();
    let leftovers = recover(folders.iter().map(|folder| folder.components().as_path()));
    assert_eq!(leftovers.back.len(), 1);
    assert!(leftovers.back[0].ends_with("back") && back.exists());
    assert!(leftovers.stays.len() == 1 && leftovers.stays[0].contains("another content now"));
}

#[test]
fn an_undo_stays_in_its_folders_and_replaces_nothing() {
    let (home, [kept, copy]) = folder(["kept", "copy"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let act = act(ActKind::DeleteCopy, &copy, &kept);
    let undo = |list: &Path| {
        let (bounds, go_on) = (Bounds::new(&list.join("list"), &[], false).unwrap(), &mut GO_ON.clone());
        Undoer::new(std::slice::from_ref(&act), &bounds, HashSet::new(), go_on).undo(&act)
    };
    assert!(undo(elsewhere.path()).unwrap_err().to_string().ends_with("outside of the folders of this undo"));
    assert!(!copy.exists());
    fs::create_dir(&copy).unwrap();
    assert_eq!(undo(home.path()).unwrap_err().to_string(), "something else has this name now");
    fs::remove_dir(&copy).unwrap();
    assert_eq!(undo(home.path()).unwrap(), Undone::Yes(Vec::new()));
    assert_eq!(fs::read(&copy).unwrap(), b"content");
}

#[cfg(unix)]
#[test]
fn an_owner_is_given_back_with_trust_alone() {
    use std::os::unix::fs::{MetadataExt, chown};
    let (home, [kept, copy]) = folder(["kept", "copy"]);
    let act = act(ActKind::DeleteCopy, &copy, &kept);
    fs::write(&copy, "content").unwrap();
    let undo = |trusts| {
        let bounds = Bounds::new(&home.path().join("list"), &[], trusts).unwrap();
        let go_on = &mut GO_ON.clone();
        Undoer::new(std::slice::from_ref(&act), &bounds, HashSet::new(), go_on).undo(&act).unwrap()
    };
    assert_eq!(
        [false, true].map(undo),
        [Undone::Yes(Vec::new()), Undone::Nothing],
        "its time is another one"
    );
    if chown(&copy, Some(2), Some(2)).is_err() {
        eprintln!("skipped: only root gives files away");
        return;
    }
    for _ in 0..2 {
        assert!(
            matches!(undo(false), Undone::Yes(missing) if missing.len() == 1 && missing[0].contains("--trust"))
        );
    }
    assert_eq!(copy.metadata().unwrap().uid(), 2);
    assert_eq!(undo(true), Undone::Yes(Vec::new()));
    assert_eq!(copy.metadata().unwrap().uid(), kept.metadata().unwrap().uid());
}

#[cfg(windows)]
#[test]
#[ignore = "an undo gives no owners there"]
fn an_owner_is_given_back_with_trust_alone() {}

#[test]
fn links_are_parted_until_one_name_is_left() {
    let (home, [kept, one, two]) = folder(["kept", "one", "two"]);
    let acts = [act(ActKind::Hardlink, &one, &kept), act(ActKind::Hardlink, &two, &kept)];
    // Another file takes the name of the kept one.
    fs::remove_file(&kept).unwrap();
    fs::write(&kept, "content").unwrap();
    let bounds = Bounds::new(&home.path().join("list"), &[], false).unwrap();
    let go_on = &mut GO_ON.clone();
    let mut undoer = Undoer::new(&acts, &bounds, HashSet::new(), go_on);
    assert_eq!(undoer.undo(&acts[1]).unwrap(), Undone::Yes(Vec::new()));
    assert_eq!(undoer.undo(&acts[0]).unwrap(), Undone::Yes(Vec::new()), "it has the time of the kept file");
    assert_eq!(undoer.undo(&acts[0]).unwrap(), Undone::Nothing, "it is a file of its own");
}

/// An undo said that there is nothing to undo where a link shares its file with a name that is not in the list.
#[test]
fn regression_links_are_parted_whatever_became_of_the_kept_name() {
    let (home, [kept, one, two]) = folder(["kept", "one", "two"]);
    let acts = [act(ActKind::Hardlink, &one, &kept), act(ActKind::Hardlink, &two, &kept)];
    let bounds = Bounds::new(&home.path().join("list"), &[], false).unwrap();
    let undo = |act: &FileAct| {
        let go_on = &mut GO_ON.clone();
        Undoer::new(&acts, &bounds, HashSet::new(), go_on).undo(act)
    };
    let renamed = home.path().join("renamed");
    fs::rename(&kept, &renamed).unwrap();
    assert_eq!(undo(&acts[1]).unwrap(), Undone::Yes(Vec::new()));
    assert_eq!(undo(&acts[0]).unwrap(), Undone::Yes(Vec::new()), "the kept file has another name");
    assert_eq!(undo(&acts[0]).unwrap(), Undone::Nothing);
    let files: HashSet<_> =
        [&renamed, &one, &two].map(|path| Judged::open_now(path).unwrap().stamp().id).into();
    assert_eq!(files.len(), 3);

    let (_home, [kept, one, two]) = folder(["kept", "one", "two"]);
    let acts = [act(ActKind::Hardlink, &one, &kept), act(ActKind::Hardlink, &two, &kept)];
    fs::remove_file(&kept).unwrap();
    let bounds = Bounds::new(&kept, &[], false).unwrap();
    let go_on = &mut GO_ON.clone();
    let mut undoer = Undoer::new(&acts, &bounds, HashSet::new(), go_on);
    assert_eq!(undoer.undo(&acts[1]).unwrap(), Undone::Yes(Vec::new()), "the kept file is gone");
    assert_eq!(undoer.undo(&acts[0]).unwrap(), Undone::Yes(Vec::new()), "it has the time of the kept file");
    assert_eq!(undoer.undo(&acts[0]).unwrap(), Undone::Nothing);
}

/// A file with a name elsewhere may be a link to the kept file, whose name another file has now. Or the act was not done.
#[test]
fn regression_a_link_to_a_name_elsewhere_is_not_nothing_to_undo() {
    let (home, [kept, copy]) = folder(["kept", "copy"]);
    let file = Judged::open_now(&copy).unwrap();
    let act = FileAct::of(ActKind::Hardlink, &copy, &kept, &file).unwrap();
    fs::hard_link(&copy, home.path().join("elsewhere")).unwrap();
    let bounds = Bounds::new(&home.path().join("list"), &[], false).unwrap();
    let go_on = &mut GO_ON.clone();
    let mut undoer = Undoer::new(std::slice::from_ref(&act), &bounds, HashSet::new(), go_on);
    assert_eq!(undoer.undo(&act).unwrap(), Undone::Nothing, "it is as it was");
    File::options().write(true).open(&copy).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let why = undoer.undo(&act).unwrap_err().to_string();
    assert!(why.contains("a name that is not in the list"), "{why}");
    assert!(file.is(&Judged::open_now(&copy).unwrap()));
}

#[test]
fn what_an_interrupted_move_has_left_twice_is_removed_once() {
    let (home, [path, other]) = folder(["path", "other"]);
    let act = FileAct::of(ActKind::Move, &path, &other, &Judged::open_now(&path).unwrap()).unwrap();
    let bounds = Bounds::new(&home.path().join("list"), &[], false).unwrap();
    for (content, stays) in [("contend", true), ("content", false)] {
        fs::write(&other, content).unwrap();
        let (recovered, go_on) = (HashSet::from([path.clone()]), &mut GO_ON.clone());
        let undone = Undoer::new(std::slice::from_ref(&act), &bounds, recovered, go_on).undo(&act).unwrap();
        assert_eq!(undone, Undone::Yes(Vec::new()));
        assert_eq!((path.exists(), other.exists()), (true, stays));
    }
}

#[test]
fn a_move_replaces_nothing() {
    let (_home, [path, kept, target]) = folder(["path", "kept", "target"]);
    fs::remove_file(&target).unwrap();
    let rules = Rules { kind: ActKind::Move, only_copies: true, any_owner: true };
    let [stamp, kept_stamp] = [&path, &kept].map(|path| FileStamp::of(path).unwrap());
    let candidate = Candidate { path: &path, stamp, kept: &kept, kept_stamp, is_copy: true };
    let step = Step::plan(rules, candidate, Some(&target), &mut GO_ON.clone()).unwrap().unwrap();
    fs::write(&target, "somebody's").unwrap();
    let error = Actor::new(&mut GO_ON.clone()).act(&step).unwrap_err();
    assert!(error.to_string().ends_with("target exists"), "{error}");
    assert_eq!([&path, &target].map(|path| fs::read(path).unwrap()), [&b"content"[..], b"somebody's"]);
    let planned = || Step::plan(rules, candidate, Some(&target), &mut GO_ON.clone());
    assert!(matches!(planned(), Err(Unplanned::Failed(why)) if why.ends_with("target exists")));
    fs::write(&target, "content").unwrap();
    assert!(
        matches!(planned(), Err(Unplanned::Failed(why)) if why.contains("exists and has the same bytes"))
    );
    fs::remove_file(&target).unwrap();
    fs::hard_link(&path, &target).unwrap();
    assert!(
        matches!(planned(), Err(Unplanned::Failed(why)) if why.ends_with("target exists")),
        "the file itself is nothing to remove"
    );
}

#[test]
fn a_file_that_has_its_name_again_costs_the_kept_file_nothing() {
    for kind in [ActKind::DeleteCopy, ActKind::Hardlink] {
        let (home, [kept, copy]) = folder(["kept", "copy"]);
        let act = act(kind, &copy, &kept);
        let _ = fs::remove_file(&copy);
        fs::write(&copy, "content").unwrap();
        let bounds = Bounds::new(&home.path().join("list"), &[], false).unwrap();
        let (recovered, go_on) = (HashSet::from([copy.clone()]), &mut GO_ON.clone());
        let undone = Undoer::new(std::slice::from_ref(&act), &bounds, recovered, go_on).undo(&act).unwrap();
        assert_eq!(undone, Undone::Yes(Vec::new()), "its time is that of before");
        assert!(copy.exists() && kept.exists());
    }
}

/// An undo said that there is nothing to undo where a file has its bytes, whatever its mode, time and attributes are;
/// what was moved back on one file system kept those that it had got meanwhile.
#[cfg(unix)]
#[test]
fn regression_an_undo_restores_mode_and_time_of_whatever_it_finds() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let change = |path: &Path, mode| {
        File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for kind in [ActKind::Hardlink, ActKind::DeleteCopy, ActKind::Move] {
        let (home, [kept, copy]) = folder(["kept", "copy"]);
        change(&copy, 0o640);
        let target = home.path().canonicalize().unwrap().join("moved");
        let rules = Rules { kind, only_copies: true, any_owner: true };
        let [stamp, kept_stamp] = [&copy, &kept].map(|path| FileStamp::of(path).unwrap());
        let candidate = Candidate { path: &copy, stamp, kept: &kept, kept_stamp, is_copy: true };
        let target = Some(&*target).filter(|_| kind == ActKind::Move);
        let step = Step::plan(rules, candidate, target, &mut GO_ON.clone()).unwrap().unwrap();
        Actor::new(&mut GO_ON.clone()).act(&step).unwrap();
        match kind {
            // An editor saves the kept file by a rename.
            ActKind::Hardlink => {
                fs::write(home.path().join("new"), "content and more").unwrap();
                fs::rename(home.path().join("new"), &kept).unwrap();
            }
            ActKind::DeleteCopy => fs::write(&copy, "content").unwrap(),
            // A backup that keeps no times.
            _ => fs::set_permissions(target.unwrap(), fs::Permissions::from_mode(0o600)).unwrap(),
        }
        let undo = || {
            let bounds = Bounds::new(&home.path().join("list"), &[], false).unwrap();
            let acts = std::slice::from_ref(&step.act);
            Undoer::new(acts, &bounds, HashSet::new(), &mut GO_ON.clone()).undo(&step.act)
        };
        assert_eq!(undo().unwrap(), Undone::Yes(Vec::new()), "{kind:?}");
        let found = copy.metadata().unwrap();
        assert_eq!((found.mode() & 0o777, found.mtime()), (0o640, 1_000_000_000), "{kind:?}");
        assert_eq!(undo().unwrap(), Undone::Nothing, "{kind:?}");
        // What its further names share stays, and is told.
        fs::hard_link(&copy, home.path().join("further")).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(undo().unwrap_err().to_string().contains("name"), "{kind:?}");
        assert_eq!(copy.metadata().unwrap().mode() & 0o777, 0o600);
    }
}

#[cfg(windows)]
#[test]
#[ignore = "files have no modes there"]
fn regression_an_undo_restores_mode_and_time_of_whatever_it_finds() {}

/// One kept file that was gone when the first act was about to begin ended the run.
#[test]
fn regression_a_kept_file_that_is_gone_costs_the_acts_on_its_copies_alone() {
    let (_home, [gone, stays, one, two]) = folder(["gone", "stays", "one", "two"]);
    let steps = [(&one, &gone), (&two, &stays)]
        .map(|(path, kept)| plan(ActKind::DeleteCopy, true, path, kept).unwrap().unwrap());
    fs::remove_file(&gone).unwrap();
    let unopened = sync_kept(&steps).unwrap();
    assert_eq!(unopened.keys().collect::<Vec<_>>(), [&gone]);
}
