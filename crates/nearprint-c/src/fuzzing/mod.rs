//! The fuzz target of sequences of calls.
//!
//! An input is a list of calls in any order, with arguments that the header allows and with those
//! that it refuses: null and misaligned pointers, lengths that no array has, handles that were
//! closed, and, with debug assertions, handles that were freed.

mod arguments;
mod build;
mod documents;
mod read;
mod shared;
mod world;

use nearprint::testing::fuzzing::input::{Input, random};
use nearprint::testing::fuzzing::replay::{Target, noises};
use world::World;

pub const TARGET: Target = Target { name: "c_calls", call: calls, inputs: 400, seeds };

/// The most calls of one input, so that it takes some milliseconds.
const MAX_CALLS: usize = 100;
/// The bytes of a call: the group of functions, the function, and arguments. Zeros are arguments that
/// the header allows.
const CALL_BYTES: usize = 16;

/// Makes the calls of an input. None ends in a panic, a failure has a code and a message, and nothing
/// is written beyond what the header says.
fn calls(bytes: &[u8]) {
    let (mut all, mut world) = (Input::new(bytes), World::new());
    for _ in 0..MAX_CALLS {
        if all.is_empty() {
            break;
        }
        let mut input = Input::new(all.take(CALL_BYTES));
        match input.below(6) {
            0 => world.build(&mut input),
            1 => world.write(&mut input),
            2 => world.read(&mut input),
            3 => world.list(&mut input),
            4 => world.document(&mut input),
            _ => world.share(&mut input),
        }
    }
}

const BEGIN: [u8; 2] = [0, 0];
const PUSH: [u8; 2] = [0, 1];
const FINISH: [u8; 2] = [0, 2];
const OPEN: [u8; 2] = [0, 4];
const TAKE: [u8; 2] = [0, 5];
const NEXT: [u8; 2] = [2, 12];
const OPEN_WRITER: [u8; 2] = [1, 0];
const CLOSE_WRITER: [u8; 2] = [1, 9];

/// Databases that are built, read and changed, with right arguments and with some that are not;
/// and noise.
fn seeds() -> Vec<Vec<u8>> {
    let reads = (0..16).flat_map(|read| [[2, read], NEXT, NEXT]);
    let writes = (1..12).filter(|&write| write != CLOSE_WRITER[1]).map(|write| [1, write]);
    let built: Vec<_> =
        [BEGIN, PUSH, PUSH, PUSH, FINISH, OPEN, TAKE].into_iter().chain(reads.clone()).collect();
    let changed: Vec<_> = [[0, 9], OPEN_WRITER, [1, 1], [1, 2], [1, 10]]
        .into_iter()
        .chain(reads)
        .chain([OPEN_WRITER, [1, 1]])
        .chain(writes)
        .chain([OPEN_WRITER, CLOSE_WRITER, [1, 4], OPEN_WRITER, [0, 6]])
        .collect();
    let lists: Vec<_> = (0..8).flat_map(|list| [[3, list], [3, 0], NEXT, NEXT, [3, list]]).collect();
    let documents: Vec<_> = [[4, 0], [4, 1], [4, 1], [4, 2], OPEN, TAKE, [4, 3], [3, 3], OPEN_WRITER]
        .into_iter()
        .chain((5..10).flat_map(|call| [[4, call], NEXT, [4, call], [4, call]]))
        .chain([CLOSE_WRITER, [4, 4]])
        .collect();
    let shared: Vec<_> = [[0, 9], [5, 0], [5, 1], [5, 1], [5, 1], TAKE, [5, 3], [5, 3]]
        .into_iter()
        .chain((5..9).flat_map(|call| [[5, call], [5, call]]))
        .chain([[5, 2], OPEN_WRITER, [5, 5], [5, 6], [5, 6], CLOSE_WRITER, [5, 4]])
        .collect();
    let scripts = [built, changed, lists, documents, shared];
    let written = scripts.iter().flat_map(|script| (0..6).map(|noise| write(script, noise)));
    written.chain(noises()).collect()
}

/// A script with zeros as arguments, or with more and more other ones.
fn write(script: &[[u8; 2]], noise: u64) -> Vec<u8> {
    let mut state = noise << 32;
    let mut argument = || {
        state += 1;
        let [byte, odds, ..] = random(state).to_le_bytes();
        if u64::from(odds % 32) < noise * noise { byte } else { 0 }
    };
    let calls = script.iter().map(|&call| {
        let mut bytes = [0; CALL_BYTES];
        bytes[..2].copy_from_slice(&call);
        bytes[2..].fill_with(&mut argument);
        bytes
    });
    calls.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check of what stopped a batch once knew the callback for matches only.
    #[test]
    fn a_progress_function_stops_a_batch() {
        const OPEN_WITH_PROGRESS: &[u8] = &[OPEN[0], OPEN[1], 0, 0, 0, 0, 0, 7];
        const VISIT_ONE_QUERY: &[u8] = &[2, 3, 0, 0, 0, 0, 0, 0, 1, 9];
        let script = [&BEGIN, &PUSH, &FINISH, OPEN_WITH_PROGRESS, &TAKE, VISIT_ONE_QUERY];
        let calls_of = |call: &[u8]| {
            let mut bytes = [0; CALL_BYTES];
            bytes[..call.len()].copy_from_slice(call);
            bytes
        };
        calls(&script.map(calls_of).concat());
    }

    #[test]
    fn the_target_passes() {
        TARGET.replay();
    }
}
