//! Documents for jobs, and the outputs that a job has when nothing disturbs it.

use std::fs;
use std::path::{Path, PathBuf};

use super::world::words;
use crate::processes::{Running, copy, nearprint};
use testkit::Random;

/// A word of a command line. Outputs and the database have other names in the folder of references.
#[derive(Clone, Debug)]
pub enum Word {
    Text(String),
    Output(usize),
    Database,
}

/// A file that a job writes.
#[derive(Clone, Debug)]
pub struct Output {
    pub name: String,
    /// Whether it has figures of time, and is the same only in its form.
    is_report: bool,
}

impl Output {
    /// Whether some bytes are this output, complete.
    pub fn is_whole(&self, bytes: Option<&[u8]>, expected: &[u8]) -> bool {
        let form = |bytes: &[u8]| bytes.trim_ascii_end().ends_with(b"</html>");
        bytes.is_some_and(|bytes| bytes == expected || self.is_report && form(bytes))
    }
}

/// A command that reads documents and writes files.
#[derive(Clone, Debug)]
pub struct Job {
    words: Vec<Word>,
    pub outputs: Vec<Output>,
}

impl Job {
    pub fn new(line: &[&str]) -> Self {
        Self { words: words(line).into_iter().map(Word::Text).collect(), outputs: Vec::new() }
    }

    pub fn text(&mut self, line: &[&str]) {
        self.words.extend(words(line).into_iter().map(Word::Text));
    }

    pub fn output(&mut self, option: &str, name: String) {
        self.text(&[option]);
        self.words.push(Word::Output(self.outputs.len()));
        self.outputs.push(Output { name, is_report: option == "--report" });
    }

    pub fn database(&mut self) {
        self.text(&["--db"]);
        self.words.push(Word::Database);
    }

    pub fn has_report(&self) -> bool {
        self.outputs.iter().any(|output| output.is_report)
    }

    /// The command line with the names of a world.
    pub fn line(&self, database: &str) -> Vec<String> {
        self.with_names(database, |output| self.outputs[output].name.clone())
    }

    fn with_names(&self, database: &str, output: impl Fn(usize) -> String) -> Vec<String> {
        let name = |word: &Word| match word {
            Word::Text(text) => text.clone(),
            Word::Output(index) => output(*index),
            Word::Database => database.to_owned(),
        };
        self.words.iter().map(name).collect()
    }

    /// Runs the job where nothing disturbs it, and returns its outputs.
    pub fn reference(&self, folder: &Path) -> Vec<Vec<u8>> {
        let out = |index| format!("out-{index}");
        let line = self.with_names("state", out);
        let mut command = nearprint();
        command.args(&line).current_dir(folder).env("TMPDIR", folder);
        let ended = Running::start(&mut command).end();
        assert_eq!(ended.code(), 0, "{line:?}: {}", ended.err);
        let read = |index| fs::read(folder.join(out(index))).unwrap();
        (0..self.outputs.len()).map(read).collect()
    }
}

/// The inputs of jobs, outside of the folder in which everything happens.
pub struct Inputs {
    home: tempfile::TempDir,
    folders: u64,
    days: u64,
}

/// The files of documents.
pub const FILES: [&str; 2] = ["monday.jsonl", "tuesday.jsonl"];
/// A record that cannot be read.
const BAD_LINE: &str = "{\"id\": \"bad\", \"text\": \n";
/// So many that a job notes how far it is while it works.
const MANY: usize = 10_500;

impl Inputs {
    pub fn new(random: &mut Random) -> Self {
        let home = tempfile::tempdir().unwrap();
        for (name, count) in FILES.iter().zip([600, 900]) {
            fs::write(home.path().join(name), documents(name, count, random) + BAD_LINE).unwrap();
        }
        fs::write(home.path().join("few.jsonl"), documents("few", 40, random)).unwrap();
        fs::create_dir(home.path().join("articles")).unwrap();
        for (number, line) in documents("article", 60, random).lines().enumerate() {
            let article = line.replace(' ', "\n").repeat(3);
            fs::write(home.path().join(format!("articles/{number}.txt")), article).unwrap();
        }
        Self { home, folders: 0, days: 0 }
    }

    pub fn path(&self, name: &str) -> String {
        self.home.path().join(name).to_str().unwrap().to_owned()
    }

    /// A new file, with some documents of another one.
    pub fn new_file(&mut self, random: &mut Random) -> String {
        self.days += 1;
        let name = format!("day-{}.jsonl", self.days);
        let count = if random.below(8) == 0 { MANY } else { 200 + random.below(600) as usize };
        let known = fs::read_to_string(self.path(FILES[0])).unwrap();
        let known: String = known.split_inclusive('\n').step_by(1 + random.below(9) as usize).collect();
        let path = self.path(&name);
        fs::write(&path, documents(&name, count, random) + &known + BAD_LINE).unwrap();
        path
    }

    /// A new folder for references, with a copy of the database in another one.
    pub fn reference(&mut self, state: Option<&Path>) -> PathBuf {
        self.folders += 1;
        let folder = self.home.path().join(format!("reference-{}", self.folders));
        fs::create_dir(&folder).unwrap();
        if let Some(state) = state {
            copy(&state.join("state"), folder.join("state"));
        }
        folder
    }
}

/// JSON lines; a third are near-duplicates of earlier ones.
fn documents(name: &str, count: usize, random: &mut Random) -> String {
    let mut texts: Vec<Vec<u64>> = Vec::new();
    for number in 0..count {
        let text = match texts.len() as u64 {
            len if len > 0 && random.below(3) == 0 => {
                let mut near = texts[random.below(len) as usize].clone();
                near[random.below(12) as usize] = number as u64;
                near
            }
            _ => (0..14).map(|_| random.below(5000)).collect(),
        };
        texts.push(text);
    }
    let line = |(number, text): (usize, &Vec<u64>)| {
        let words: Vec<String> = text.iter().map(|word| format!("w{word}")).collect();
        format!("{{\"id\": \"{name}-{number}\", \"text\": \"{}\"}}\n", words.join(" "))
    };
    texts.iter().enumerate().map(line).collect()
}
