//! Every ordered pair of the features that write, with a crash or another process in between, against a model.
//!
//! Each feature is tested where it is defined. Here is what two of them do to each other: numbers that are given
//! again, ranges that cover what others have inserted, rows that live on. To add a feature, add it to `FEATURES`.

mod model;
mod world;

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use nearprint::NewRow;
use testkit::{folder_in_memory, short_or_full};

use model::compare;
use world::World;

/// The lifetime of rows where one of the two features is their end.
const LIFETIME: Duration = Duration::from_millis(1600);
const PERIOD: Duration = Duration::from_millis(200);

/// Tells a process which part it has: the folder, the feature, and how the process ends.
const PART: &str = "NEARPRINT_PART_OF_A_PAIR";

type Feature = (&'static str, fn(&mut World));

const FEATURES: [Feature; 18] = [
    ("insert", World::insert),
    ("delete", World::delete),
    ("delete keys", World::delete_keys),
    ("delete a prefix", World::delete_prefix),
    ("delete a range", World::delete_range),
    ("upsert", World::upsert),
    ("expire", World::expire),
    ("ingest", World::ingest),
    ("restart", World::restart),
    ("forget what is left out", World::forget),
    ("discard", World::discard),
    ("follow", World::follow),
    ("restore", World::restore),
    ("repair", World::repair),
    ("compact", World::compact),
    ("keep the log", World::keep_log),
    ("group commit", World::group_commit),
    ("fork", World::fork),
];

/// What is in between.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    /// The first feature runs in a process that is then killed with an operation that is not committed.
    Crash,
    /// The first feature runs here. Another process inserts rows, and the second feature has the same handle.
    Process,
}

/// Runs a part of a pair in a process of its own.
fn in_a_process(home: &Path, feature: &str, ending: &str) {
    let part = [home.to_str().unwrap(), feature, ending].join("\n");
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "pairs_of_features::a_process_of_a_pair", "--ignored", "--nocapture"]);
    let output = command.env(PART, part).output().unwrap();
    let has_ended = output.status.success();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(has_ended == (ending == "exit"), "{feature}: {said}");
    assert!(home.join("ended").exists(), "{feature}: {said}");
    fs::remove_file(home.join("ended")).unwrap();
}

#[test]
#[ignore = "the other process of the tests below, which start it"]
fn a_process_of_a_pair() {
    let part = env::var(PART).unwrap();
    let [home, feature, ending] = part.split('\n').collect::<Vec<_>>()[..] else { panic!("{part}") };
    let mut world = World::load(Path::new(home));
    let (_, run) = FEATURES.iter().find(|(name, _)| *name == feature).unwrap();
    run(&mut world);
    world.save();
    let mut writer = world.writer();
    fs::write(world.path("ended"), b"").unwrap();
    if ending == "kill" {
        writer.insert(NewRow::keyed(7, "never committed")).unwrap();
        std::process::abort();
    }
    writer.close().unwrap();
}

fn pair((first, run_first): Feature, (second, run_second): Feature, between: Between) {
    let folder = folder_in_memory();
    let home = folder.path();
    let mut world = World::new(home, [first, second].contains(&"expire"));
    match between {
        Between::Crash => {
            world.save();
            in_a_process(home, first, "kill");
            world = World::load(home);
        }
        Between::Process => {
            run_first(&mut world);
            world.save();
            in_a_process(home, "insert", "exit");
            world = World::load(home).with_handle(world);
        }
    }
    run_second(&mut world);
    compare(&world.path("db"), &world.held, world.expires);
    world.follow();
    world.compact();
    compare(&world.path("db"), &world.held, world.expires);
    let steps = if world.expires { 6 } else { 0 };
    for _ in 0..steps {
        thread::sleep(LIFETIME / 4);
        compare(&world.path("db"), &world.held, true);
    }
}

/// In short form, each pair meets one of the two.
#[test]
fn every_pair_of_features_keeps_what_both_promise() {
    let mut pairs = Vec::new();
    for (a, first) in FEATURES.into_iter().enumerate() {
        for (b, second) in FEATURES.into_iter().enumerate() {
            for between in [Between::Crash, Between::Process] {
                let is_chosen = (a + b) % 2 == between as usize;
                if short_or_full(is_chosen, true) {
                    pairs.push((first, second, between));
                }
            }
        }
    }
    // Most of the time of a pair with an expiry is waiting.
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(&(first, second, between)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if thread::scope(|one| one.spawn(|| pair(first, second, between)).join()).is_err() {
                        failed.lock().unwrap().push(format!("{}, {between:?}, {}", first.0, second.0));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} pairs: {failed:#?}", failed.len(), pairs.len());
}
