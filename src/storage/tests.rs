//! Folders that are made, left and removed, beside folders of others.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::testing::files::{can_link, mode, set_mode, symlink};

use super::*;
use crate::error::Error;
use crate::format::schema::Schema;

/// Everything below a folder: contents of files, targets of links.
type Tree = BTreeMap<PathBuf, Vec<u8>>;

fn tree(folder: &Path) -> Tree {
    let mut found = Tree::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_dir() {
            found.extend(tree(&path));
            b"folder".to_vec()
        } else if metadata.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path, content);
    }
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn database(path: &Path) {
    let mut builder = crate::Database::<u64>::build(path, &Schema::new()).unwrap();
    builder.push(7).unwrap();
    builder.finish().unwrap();
}

/// The staging folder of a build that was killed.
fn killed_build(target: &Path) -> PathBuf {
    let staging = Staging::begin(target).unwrap();
    staging.folder().create("spill-00000001-0-1.tmp").unwrap().write_all_at(b"old", 0).unwrap();
    staging.folder().create(names::MANIFEST).unwrap();
    staging.folder.leave();
    staging.path().to_path_buf()
}

#[test]
fn staging_publishes_all_or_nothing() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("db");
    let building = home.path().join("db.building");

    let staging = Staging::begin(&target).unwrap();
    staging.folder().create(names::MANIFEST).unwrap();
    let Err(Error::Locked { path, holder: Some(_) }) = Staging::begin(&target) else { panic!() };
    assert_eq!(path, target, "not the name under which it is made");
    drop(staging);
    assert!(!building.exists() && !target.exists(), "dropped without a trace");

    let staging = Staging::begin(&target).unwrap();
    staging.folder().create(names::MANIFEST).unwrap();
    staging.publish().unwrap();
    assert!(target.join(names::MANIFEST).exists() && !building.exists());
    let names: Vec<_> = tree(&target).into_keys().collect();
    assert_eq!(names, [target.join(names::LOCK), target.join(names::MANIFEST)], "no marker is left");
    assert!(matches!(Staging::begin(&target), Err(Error::AlreadyExists { .. })));
}

#[test]
fn regression_only_the_folder_of_a_killed_build_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let (target, building) = (home.path().join("x"), home.path().join("x.building"));
    killed_build(&target);
    drop(Staging::begin(&target).unwrap());
    assert!(!building.exists());

    let foreign: [(&str, &dyn Fn()); 9] = [
        ("an empty folder", &|| fs::create_dir(&building).unwrap()),
        ("a database", &|| database(&building)),
        ("a folder that nearprint did not make", &|| {
            fs::create_dir(&building).unwrap();
            fs::write(building.join("LOCK"), "").unwrap();
        }),
        ("a folder that nearprint did not make", &|| {
            fs::create_dir(&building).unwrap();
            fs::write(building.join("00000001.rows"), "mine").unwrap();
        }),
        ("not a folder", &|| symlink(home.path().join("elsewhere"), &building).unwrap()),
        ("not the folder that its marker names", &|| {
            let left = killed_build(&home.path().join("y"));
            fs::remove_file(left.join(names::MANIFEST)).unwrap();
            copy(&left, &building);
            fs::remove_dir_all(left).unwrap();
        }),
        ("not the folder that its marker names", &|| {
            let left = killed_build(&home.path().join("y"));
            fs::remove_file(left.join(names::MANIFEST)).unwrap();
            fs::rename(left, &building).unwrap();
        }),
        ("not a file of a database", &|| {
            fs::write(killed_build(&target).join("thesis.txt"), "mine").unwrap()
        }),
        ("not a file of a database", &|| {
            fs::create_dir(killed_build(&target).join("00000009.rows")).unwrap();
        }),
    ];
    fs::create_dir(home.path().join("elsewhere")).unwrap();
    for (number, (expected, make)) in foreign.into_iter().enumerate() {
        if expected == "not a folder" && !can_link() {
            eprintln!("skipped: a link as the folder: this system makes none");
            continue;
        }
        make();
        let before = tree(home.path());
        let refused = Staging::begin(&target);
        assert!(
            matches!(&refused, Err(Error::NotStaging { found, .. }) if *found == expected),
            "{number}: {refused:?}"
        );
        assert_eq!(tree(home.path()), before, "{number}");
        if fs::remove_file(&building).is_err() {
            fs::remove_dir_all(&building).unwrap();
        }
    }
}

/// The name that the staging folder of a database has first.
fn first_name(target: &Path) -> PathBuf {
    let parent = target.parent().unwrap();
    let building = format!("{}.building", target.file_name().unwrap().to_str().unwrap());
    parent.join(chosen_name::before(&Folder::open(parent).unwrap(), building.as_ref()).unwrap())
}

/// Leaves what a process leaves that is killed while it makes the staging folder of a database.
fn killed_maker(target: &Path, when: &str) {
    let path = first_name(target);
    if when == "before it renames the folder" {
        let staging = Staging::begin(target).unwrap();
        staging.folder.leave();
        return fs::rename(staging.path(), path).unwrap();
    }
    fs::create_dir(&path).unwrap();
    match when {
        "before the marker" => {}
        "before its text" => fs::write(path.join("NEARPRINT-FOLDER"), "").unwrap(),
        _ => fs::write(path.join("NEARPRINT-FOLDER"), "This folder was made by near").unwrap(),
    }
}

#[test]
fn regression_a_folder_that_was_being_made_when_its_process_was_killed_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("x");
    for when in ["before the marker", "before its text", "within its text", "before it renames the folder"] {
        killed_maker(&target, when);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        drop(Staging::begin(&target).unwrap());
        assert_eq!(tree(home.path()), Tree::new(), "{when}, then a build");
        killed_maker(&target, when);
        drop(work_folder(home.path()));
        assert_eq!(tree(home.path()), Tree::new(), "{when}, then a job in the same folder");
        let work = work_folder(home.path());
        killed_maker(&work.path().join("kept.np"), when);
        drop(work);
        assert_eq!(tree(home.path()), Tree::new(), "{when}, in a work folder");
    }
}

#[test]
fn what_others_put_at_a_first_name_stays() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("x");
    let path = first_name(&target);
    let marker = path.join("NEARPRINT-FOLDER");
    let refused = |expected: &str| {
        let before = tree(home.path());
        let refused = Staging::begin(&target);
        let is_expected = matches!(&refused, Err(Error::NotStaging { found, .. }) if *found == expected);
        assert!(is_expected, "{refused:?}");
        drop(work_folder(home.path()));
        assert_eq!(tree(home.path()), before);
    };
    fs::create_dir(&path).unwrap();
    fs::write(path.join("thesis.tex"), "mine").unwrap();
    refused("a folder that nearprint did not make");
    fs::remove_file(path.join("thesis.tex")).unwrap();
    fs::create_dir(&marker).unwrap();
    refused("not the folder that its marker names");
    fs::remove_dir(&marker).unwrap();

    let lock = fs::File::create(&marker).unwrap();
    lock.lock().unwrap();
    assert!(matches!(Staging::begin(&target), Err(Error::Locked { holder: None, .. })));
    drop(work_folder(home.path()));
    assert!(marker.exists());

    // A copy in another folder has a name that nearprint has not chosen there.
    let other = tempfile::tempdir().unwrap();
    fs::create_dir(other.path().join(path.file_name().unwrap())).unwrap();
    drop(work_folder(other.path()));
    assert_eq!(tree(other.path()).len(), 1);
}

#[test]
fn makers_of_the_same_folder_do_not_stop_each_other() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("x");
    let made = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    match Staging::begin(&target) {
                        Ok(staging) => drop((staging, made.fetch_add(1, Ordering::Relaxed))),
                        Err(Error::Locked { path, .. }) => assert_eq!(path, target),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert!(made.into_inner() > 0);
    assert_eq!(tree(home.path()), Tree::new());
}

#[test]
fn regression_a_build_killed_before_it_renames_its_folder_is_whole() {
    let home = tempfile::tempdir().unwrap();
    let (target, building) = (home.path().join("x"), home.path().join("x.building"));
    killed_build(&target);
    let marker = building.join("NEARPRINT-FOLDER");
    let unfinished = fs::read_to_string(&marker).unwrap();
    let (_, rest) = unfinished.split_once('\n').unwrap();
    let complete = "This folder was made by nearprint, and is complete under its final name.";
    fs::write(&marker, format!("{complete}\n{rest}")).unwrap();
    let before = tree(&building);
    assert!(matches!(Staging::begin(&target), Err(Error::AlreadyExists { .. })));
    assert!(!building.exists() && !target.join("NEARPRINT-FOLDER").exists());
    assert_eq!(tree(&target).len() + 1, before.len(), "all but the marker");

    // Where the marker has stayed, nothing takes the database for an unfinished one.
    fs::write(target.join("NEARPRINT-FOLDER"), "any").unwrap();
    assert!(matches!(Staging::begin(&target), Err(Error::AlreadyExists { .. })));
    drop(Staging::begin(&home.path().join("y")).unwrap());
}

#[test]
fn an_empty_folder_is_a_valid_destination_and_a_file_is_not() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("db");
    fs::create_dir(&target).unwrap();
    Staging::begin(&target).unwrap().publish().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "x").unwrap();
    assert!(matches!(Staging::begin(&file), Err(Error::AlreadyExists { .. })));
    assert!(matches!(Staging::begin(Path::new("/")), Err(Error::MountPoint { .. })));
}

#[test]
fn a_failed_publication_removes_what_was_made() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("db");
    let staging = Staging::begin(&target).unwrap();
    fs::create_dir(&target).unwrap();
    fs::write(target.join("thesis.txt"), "mine").unwrap();
    assert!(matches!(staging.publish(), Err(Error::AlreadyExists { .. })));
    assert_eq!(tree(home.path()).len(), 2);
}

#[test]
fn regression_names_of_255_bytes_can_be_built() {
    let home = tempfile::tempdir().unwrap();
    for name in ["n".repeat(246), "n".repeat(247), "n".repeat(255), "ä".repeat(127), "中".repeat(85)] {
        let target = home.path().join(&name);
        let left = killed_build(&target);
        assert!(left.file_name().unwrap().len() <= 255 && left.file_name().unwrap().to_str().is_some());
        let other = target.with_file_name(format!(
            "{}x",
            &name[..name.len() - name.chars().next_back().unwrap().len_utf8()]
        ));
        drop(Staging::begin(&other).unwrap());
        assert!(left.exists(), "another name has another folder");
        database(&target);
        assert!(target.exists() && !left.exists());
    }
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no mode bits")]
fn a_database_has_the_permissions_of_its_source_and_its_owner_can_use_it() {
    let home = tempfile::tempdir().unwrap();
    let source = home.path().join("source");
    database(&source);
    for (number, (folder, file, expected)) in
        [(0o700, 0o644, (0o700, 0o600)), (0o750, 0o640, (0o750, 0o640)), (0o555, 0o444, (0o755, 0o644))]
            .into_iter()
            .enumerate()
    {
        fs::read_dir(&source).unwrap().for_each(|entry| set_mode(&entry.unwrap().path(), file));
        set_mode(&source, folder);
        let target = home.path().join(number.to_string());
        let mut staging = Staging::begin(&target).unwrap();
        staging.copy_permissions(&Folder::open(&source).unwrap()).unwrap();
        staging.publish().unwrap();
        assert_eq!((mode(&target), mode(&target.join(names::LOCK))), expected);
        set_mode(&source, 0o700);
    }
    // What one file keeps from others is kept from them.
    set_mode(&source, 0o755);
    fs::read_dir(&source).unwrap().for_each(|entry| set_mode(&entry.unwrap().path(), 0o664));
    set_mode(&source.join(names::MANIFEST), 0o640);
    let target = home.path().join("narrowest");
    let mut staging = Staging::begin(&target).unwrap();
    staging.copy_permissions(&Folder::open(&source).unwrap()).unwrap();
    staging.publish().unwrap();
    assert_eq!((mode(&target), mode(&target.join(names::LOCK))), (0o755, 0o640));
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no mode bits")]
fn a_new_database_has_the_permissions_of_new_folders_and_files() {
    let home = tempfile::tempdir().unwrap();
    let [target, folder, file] = ["target", "folder", "file"].map(|name| home.path().join(name));
    Staging::begin(&target).unwrap().publish().unwrap();
    fs::create_dir(&folder).unwrap();
    fs::write(&file, "").unwrap();
    assert_eq!((mode(&target), mode(&target.join(names::LOCK))), (mode(&folder), mode(&file)));
}

fn work_folder(home: &Path) -> WorkFolder {
    WorkFolder::make(home, &["stdin"], &["kept.np"]).unwrap()
}

/// A work folder with everything that may be in it.
fn full(home: &Path) -> WorkFolder {
    let folder = work_folder(home);
    fs::write(folder.path().join("stdin"), "secret").unwrap();
    fs::write(folder.path().join("spill-00000001-0-1.tmp"), "secret").unwrap();
    database(&folder.path().join("kept.np"));
    folder
}

#[test]
fn work_folders_are_private_and_those_of_killed_processes_are_removed() {
    let home = tempfile::tempdir().unwrap();
    let count = || fs::read_dir(home.path()).unwrap().count();
    let first = full(home.path());
    #[cfg(unix)]
    assert_eq!(mode(first.path()), 0o700);
    let killed = full(home.path());
    killed.folder.leave();
    let second = work_folder(home.path());
    assert!(!killed.path().exists() && first.path().join("stdin").exists());
    assert_eq!(count(), 2);
    drop((first, second));
    assert_eq!(count(), 0);

    let killed = work_folder(home.path());
    killed_build(&killed.path().join("kept.np"));
    killed.folder.leave();
    drop(work_folder(home.path()));
    assert_eq!(count(), 0, "with an unfinished database in it");
}

#[test]
fn regression_work_folders_of_others_stay() {
    if !can_link() {
        eprintln!("skipped: links in place of folders: this system makes none");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    database(&at("nearprint-corpus"));
    fs::create_dir_all(at("nearprint-x/sub")).unwrap();
    fs::write(at("nearprint-x/LOCK"), "").unwrap();
    fs::write(at("nearprint-x/sub/thesis.tex"), "mine").unwrap();
    database(&at("nearprint-abcdefghijklmnop"));
    symlink("nearprint-corpus", at("nearprint-abcdefghijklmnoq")).unwrap();
    fs::create_dir(at("nearprint-abcdefghijklmnor")).unwrap();

    let killed = full(home.path());
    killed.folder.leave();
    copy(&home.path().join("nearprint-corpus"), &at("nearprint-abcdefghijklmnos"));
    let marker = fs::read(killed.path().join("NEARPRINT-FOLDER")).unwrap();
    fs::write(at("nearprint-abcdefghijklmnos/NEARPRINT-FOLDER"), marker).unwrap();
    fs::rename(killed.path(), at("nearprint-abcdefghijklmnot")).unwrap();

    let occupied = full(home.path());
    occupied.folder.leave();
    let occupant = occupied.path().join("kept.np/thesis.tex");
    fs::write(&occupant, "mine").unwrap();
    let linked = full(home.path());
    linked.folder.leave();
    fs::remove_file(linked.path().join("stdin")).unwrap();
    symlink(at("nearprint-x/LOCK"), linked.path().join("stdin")).unwrap();

    let before = tree(home.path());
    drop(work_folder(home.path()));
    assert_eq!(tree(home.path()), before);
    let occupants = take_occupants();
    assert!(occupants.contains(&occupant) && occupants.contains(&linked.path().join("stdin")));

    let mine = full(home.path());
    let path = mine.path().to_path_buf();
    fs::create_dir(path.join("notes")).unwrap();
    let before = tree(home.path());
    drop(mine);
    assert_eq!(tree(home.path()), before, "all of it stays");
    assert!(take_occupants().contains(&path.join("notes")));
}

#[test]
#[cfg_attr(windows, ignore = "Windows does not move a folder in use")]
fn a_moved_work_folder_stays() {
    let home = tempfile::tempdir().unwrap();
    let folder = full(home.path());
    fs::rename(folder.path(), home.path().join("mine")).unwrap();
    let before = tree(home.path());
    drop(folder);
    assert_eq!(tree(home.path()), before);
}

#[test]
#[cfg_attr(windows, ignore = "Windows does not remove a folder in use")]
fn regression_a_folder_in_a_removed_folder_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let gone = home.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let parent = folder::Folder::open(&gone).unwrap();
    fs::remove_dir(&gone).unwrap();
    let contents =
        own_folder::Contents { kind: "work", is_file: names::is_spill, files: &[], databases: &[] };
    // It was tried again for ever.
    let made = own_folder::OwnFolder::make(&parent, "mine".as_ref(), contents, None);
    let Err(Error::Io { source, .. }) = made else { panic!("{made:?}") };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_file_at_the_name_of_a_database_is_an_occupant() {
    let home = tempfile::tempdir().unwrap();
    let left = full(home.path());
    left.folder.leave();
    let occupant = left.path().join("kept.np");
    fs::remove_dir_all(&occupant).unwrap();
    fs::write(&occupant, "mine").unwrap();
    let before = tree(home.path());
    drop(work_folder(home.path()));
    assert_eq!(tree(home.path()), before);
    assert!(take_occupants().contains(&occupant));
}

#[test]
fn a_file_in_memory_is_a_file() {
    let storage = Memory::default();
    let mut file = storage.create("a").unwrap();
    assert!(storage.create("b").is_ok() && storage.create("b").is_err());
    file.write_all_at(b"abcdef", 2).unwrap();
    let (open, mut found) = (storage.open("a").unwrap(), [7; 4]);
    open.read_exact_at(&mut found, 1).unwrap();
    assert_eq!(found, *b"\0abc");
    assert_eq!(open.read_exact_at(&mut found, 5).unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
    file.truncate(3).unwrap();
    file.write_all_at(b"z", 4).unwrap();
    assert_eq!(storage.map("a", Access::Random).unwrap()[..], *b"\0\0a\0z");
    assert_eq!(open.len_bytes().unwrap(), 5);
}

#[test]
fn a_lock_file_is_empty_once_the_lock_is_free_and_a_foreign_one_stays() {
    let home = tempfile::tempdir().unwrap();
    let (folder, path) = (Folder::open(home.path()).unwrap(), home.path().join(names::LOCK));
    let lock = folder.lock().unwrap();
    assert!(matches!(folder.lock(), Err(Error::Locked { holder: Some(_), .. })));
    drop(lock);
    assert_eq!(fs::read(&path).unwrap(), b"");
    fs::write(&path, "somebody's").unwrap();
    drop(folder.lock().unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"somebody's");
}

#[test]
#[cfg_attr(windows, ignore = "Windows does not remove a folder in use")]
fn a_writer_without_its_lock_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("db");
    fs::create_dir(&folder).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(Folder::open(&folder).unwrap());
    let lock: Arc<dyn Lock> = storage.lock().unwrap().into();
    let guarded = Guarded::new(storage, &lock).unwrap();
    let mut file = guarded.create("a").unwrap();
    file.write_all_at(b"a", 0).unwrap();
    fs::remove_file(folder.join(names::LOCK)).unwrap();
    let is_lost = |lock: &dyn Lock| {
        let error = lock.check().unwrap_err();
        error.get_ref().is_some_and(|error| error.is::<crate::error::Replaced>())
    };
    assert!(is_lost(&*lock));
    let before = tree(&folder);
    assert!(file.write_all_at(b"b", 0).is_err() && guarded.create("b").is_err());
    assert!(guarded.rename("a", "b").is_err() && guarded.remove("a").is_err());
    assert_eq!(tree(&folder), before);
    assert!(!guarded.is_poisoned(), "nothing that was written is uncertain");
    fs::remove_dir_all(&folder).unwrap();
    assert!(is_lost(&*lock));
}
