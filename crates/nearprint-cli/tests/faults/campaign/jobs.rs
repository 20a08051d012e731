//! Jobs of documents: a file has the name of an output only when it is complete, a job that has ended
//! early is finished by the same command, and what others store in its database stays.

use std::fs;
use std::path::PathBuf;

use super::collection::Collection;
use super::documents::{FILES, Inputs, Job};
use super::world::{Signal, World};

/// All jobs of documents.
pub struct Jobs {
    inputs: Inputs,
    collections: Vec<Collection>,
    pub acknowledged: u64,
    /// Jobs that came to their end.
    pub completed: u64,
}

/// The contents of the outputs of a job.
pub type Contents = Vec<Option<Vec<u8>>>;

pub fn contents(world: &World, job: &Job) -> Contents {
    job.outputs.iter().map(|output| world.content(&output.name)).collect()
}

/// Notes outputs that are neither as they were nor complete. With `is_done`, all have to be complete.
pub fn check_outputs(world: &mut World, job: &Job, before: &Contents, expected: &[Vec<u8>], is_done: bool) {
    for ((output, before), expected) in job.outputs.iter().zip(before).zip(expected) {
        let now = world.content(&output.name);
        let is_right = output.is_whole(now.as_deref(), expected) || !is_done && now == *before;
        world.check(is_right, || {
            let bytes = now.map_or(-1, |bytes| bytes.len() as i64);
            format!("{:?} is not complete: {bytes} of {} bytes", output.name, expected.len())
        });
    }
}

/// Whether a job may be refused because something foreign is where its own files would be.
pub fn may_refuse(world: &World, job: &Job) -> bool {
    job.outputs.iter().any(|output| world.may_refuse(&output.name))
}

impl Jobs {
    pub fn new(world: &mut World) -> Self {
        let inputs = Inputs::new(&mut world.random);
        Self { inputs, collections: Vec::new(), acknowledged: 0, completed: 0 }
    }

    pub fn step(&mut self, world: &mut World) {
        match world.below(8) {
            0 => self.two_at_once(world),
            1 => self.dry_run(world),
            2..4 => self.plain(world),
            4 if self.collections.len() < 3 => self.with_a_new_database(world),
            _ if self.collections.is_empty() => self.with_a_new_database(world),
            _ => {
                let at = world.below(self.collections.len() as u64) as usize;
                self.with_database(world, at);
            }
        }
    }

    fn with_a_new_database(&mut self, world: &mut World) {
        let name = world.new_name(".np");
        self.collections.push(Collection::new(name));
        self.with_database(world, self.collections.len() - 1);
    }

    fn with_database(&mut self, world: &mut World, at: usize) {
        let collection = &mut self.collections[at];
        let done = collection.completed();
        let file = self.inputs.new_file(&mut world.random);
        let job = dedup(world, &file, true);
        let other_file = self.inputs.new_file(&mut world.random);
        let other = dedup(world, &other_file, true);
        collection.step(world, &mut self.inputs, job, other);
        self.completed += collection.completed() - done;
        self.acknowledged += std::mem::take(&mut collection.acknowledged);
    }

    /// A job without a database, until it comes to its end.
    fn plain(&mut self, world: &mut World) {
        let job = any(world, &self.inputs);
        let expected = job.reference(&self.inputs.reference(None));
        put_files_of_yesterday(world, &job);
        for attempt in 0.. {
            let signal = if attempt < 2 { world.signal(3) } else { Signal::Nothing };
            let before = contents(world, &job);
            let ended = world.run(&job.line(""), vec![], signal);
            check_outputs(world, &job, &before, &expected, ended.code() == 0);
            if ended.code() == 0 || signal == Signal::Nothing {
                let is_right = ended.code() == 0 || may_refuse(world, &job);
                world.check(is_right, || format!("failed: {}", ended.err));
                self.completed += u64::from(ended.code() == 0);
                return;
            }
        }
    }

    /// Two jobs beside each other do not take the temporary files of each other away.
    fn two_at_once(&mut self, world: &mut World) {
        let jobs = [any(world, &self.inputs), any(world, &self.inputs)];
        let expected = jobs.each_ref().map(|job| job.reference(&self.inputs.reference(None)));
        let before = jobs.each_ref().map(|job| contents(world, job));
        let running = jobs.each_ref().map(|job| world.start(&job.line(""), vec![]));
        for (at, running) in running.into_iter().enumerate() {
            let ended = world.finish(running, Signal::Nothing);
            check_outputs(world, &jobs[at], &before[at], &expected[at], ended.code() == 0);
            let is_right = ended.code() == 0 || may_refuse(world, &jobs[at]);
            world.check(is_right, || format!("failed beside another job: {}", ended.err));
        }
    }

    fn dry_run(&mut self, world: &mut World) {
        let mut job = dedup(world, &self.inputs.path(FILES[1]), false);
        // A report shows files that a dry run does not write.
        while job.has_report() {
            job = dedup(world, &self.inputs.path(FILES[1]), false);
        }
        put_files_of_yesterday(world, &job);
        let before = contents(world, &job);
        let signal = world.signal(3);
        let mut line = job.line("");
        line.push("--dry-run".into());
        let ended = world.run(&line, vec![], signal);
        world.check(contents(world, &job) == before, || "a dry run has changed an output".into());
        let is_right = ended.code() == 0 || signal != Signal::Nothing || may_refuse(world, &job);
        world.check(is_right, || format!("failed: {}", ended.err));
    }

    /// After everything: the databases are right, and only staging folders and parts of outputs are
    /// left by commands that were killed.
    pub fn finish(&mut self, world: &mut World) {
        for collection in &mut self.collections {
            collection.settle(world);
        }
        // The next job takes the temporary files of killed ones away.
        let mut job = Job::new(&["dedup", &self.inputs.path("few.jsonl")]);
        job.output("-o", world.new_name(".jsonl"));
        world.run(&job.line(""), vec![], Signal::Nothing);
        for name in world.left_behind() {
            world.fault(&format!("{name:?} was left behind"));
        }
    }
}

fn put_files_of_yesterday(world: &mut World, job: &Job) {
    for output in &job.outputs {
        if world.chance(2) {
            let path: PathBuf = world.path(&output.name);
            fs::write(path, "of yesterday\n").unwrap();
        }
    }
}

fn any(world: &mut World, inputs: &Inputs) -> Job {
    match world.below(6) {
        0 => {
            let mut job = Job::new(&["decontaminate", &inputs.path(FILES[0]), "--key-field", "id"]);
            job.text(&["--against", &inputs.path("few.jsonl"), "--ngram", "3"]);
            job.output("-o", world.new_name(".jsonl"));
            job.output("--rejects", world.new_name(".bad"));
            job.output("--found", world.new_name(".tsv"));
            job
        }
        1 => {
            let mut job = Job::new(&["scan", &inputs.path("articles")]);
            job.output("--report", world.new_name(".html"));
            job
        }
        2 => {
            let mut job =
                Job::new(&["tune", &inputs.path("few.jsonl"), "--try", "shingle=3", "--try", "bands=6x16,1"]);
            job.output("--report", world.new_name(".html"));
            job
        }
        _ => {
            let file = inputs.path(FILES[world.below(2) as usize]);
            dedup(world, &file, false)
        }
    }
}

fn dedup(world: &mut World, file: &str, has_database: bool) -> Job {
    let mut job = Job::new(&["dedup", file, "--key-field", "id"]);
    if has_database {
        job.database();
    } else if world.chance(3) {
        job.text(&["--keep", "longest"]);
    }
    job.output("-o", world.new_name(".jsonl"));
    job.output("--rejects", world.new_name(".bad"));
    if world.chance(2) {
        job.output("--duplicates", world.new_name(".tsv"));
        if world.chance(2) {
            job.output("--report", world.new_name(".html"));
        }
    }
    if world.chance(4) {
        job.text(&["--annotate"]);
    }
    job
}
