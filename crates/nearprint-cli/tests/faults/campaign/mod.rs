//! Commands of every kind in one folder of temporary files, databases and outputs,
//! beside files and databases with hostile names. Commands are killed and interrupted at random
//! moments, run beside each other and again, and find their files changed. Whatever happens: what
//! nearprint did not make is as it was, every acknowledged row is there, and a file has its name only
//! when it is complete.
//!
//! `NEARPRINT_CAMPAIGN_SECONDS` is the least time that it takes, and `NEARPRINT_CAMPAIGN_SEED` the seed
//! of the first round.

mod collection;
mod documents;
mod foreign;
mod jobs;
mod stores;
mod world;

use std::time::{Duration, Instant};

use self::jobs::Jobs;
use self::stores::Stores;
use self::world::World;
use crate::common::short_or_full;
use crate::machine::setting;

const STEPS: u64 = 20;
const LEAST_ROUNDS: u64 = 3;
/// Where the machine is slow, few commands come to their ends before they are killed.
const MOST_ROUNDS: u64 = 12;

/// What a round has done.
#[derive(Debug, Default)]
struct Done {
    finished: u64,
    ended_early: u64,
    acknowledged: u64,
    jobs: u64,
    foreign: usize,
}

impl Done {
    /// Whether enough was done for a test that could fail.
    fn is_much(&self) -> bool {
        let commands = self.finished > 20 && self.ended_early > 3;
        commands && self.acknowledged > 100 && self.jobs > 3 && self.foreign > 5
    }
}

/// One round with a seed of its own.
///
/// # Panics
/// With all commands, if one of them did something wrong.
fn round(seed: u64, done: &mut Done) {
    let mut world = World::new(seed);
    let (mut stores, mut jobs) = (Stores::default(), Jobs::new(&mut world));
    for _ in 0..STEPS {
        match world.below(5) {
            0..2 => stores.step(&mut world),
            2 => world.plant("later"),
            _ => jobs.step(&mut world),
        }
    }
    jobs.finish(&mut world);
    done.finished += world.finished;
    done.ended_early += world.ended_early;
    done.acknowledged += stores.acknowledged + jobs.acknowledged;
    done.jobs += jobs.completed;
    done.foreign += world.foreign.count();
    assert!(
        world.faults.is_empty(),
        "NEARPRINT_CAMPAIGN_SEED={seed}: {} faults:\n{}\n{}",
        world.faults.len(),
        world.faults.join("\n"),
        world.history(),
    );
}

#[test]
fn whatever_happens_foreign_files_and_acknowledged_rows_stay() {
    let least = Duration::from_secs(setting("NEARPRINT_CAMPAIGN_SECONDS", short_or_full(1, 120)));
    let (started, mut done) = (Instant::now(), Done::default());
    let first = setting("NEARPRINT_CAMPAIGN_SEED", 1);
    for seed in first.. {
        round(seed, &mut done);
        let rounds = seed - first + 1;
        if started.elapsed() >= least && rounds >= LEAST_ROUNDS && (done.is_much() || rounds >= MOST_ROUNDS) {
            break;
        }
    }
    println!("{done:?}");
    assert!(done.is_much(), "{done:?} is not much of a test");
}
