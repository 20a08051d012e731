//! English prose that every machine with cargo has: the documentation of dependencies.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::model::Model;

/// The crates with the most prose. Cargo.lock pins their versions.
const CRATES: [&str; 24] = [
    "aho-corasick",
    "arrow-array",
    "arrow-buffer",
    "base64",
    "bytemuck",
    "cc",
    "clap_builder",
    "csv",
    "divan",
    "flate2",
    "hashbrown",
    "indexmap",
    "indicatif",
    "libm",
    "memchr",
    "memmap2",
    "parquet",
    "proptest",
    "regex-automata",
    "regex-syntax",
    "rustix",
    "serde_json",
    "syn",
    "zerocopy",
];
/// Shorter sentences are headings, labels and lists.
const MIN_WORDS: usize = 6;

/// A model for each topic, in the order of [`CRATES`].
pub(super) fn topics() -> io::Result<Vec<Model>> {
    CRATES.iter().map(|name| Ok(Model::new(&sentences(&find(name)?)?))).collect()
}

/// The folder of a crate's sources, in the version of the workspace's Cargo.lock.
fn find(name: &str) -> io::Result<PathBuf> {
    let lock = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock"))?;
    let missing = || io::Error::other(format!("{name}: no sources; `cargo fetch` brings them"));
    let entry = lock.split_once(&format!("name = \"{name}\"\nversion = \"")).ok_or_else(missing)?.1;
    let version = entry.split('"').next().ok_or_else(missing)?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).ok_or_else(missing)?;
    let mut registries = fs::read_dir(home.join("registry/src"))?.collect::<io::Result<Vec<_>>>()?;
    registries.sort_by_key(fs::DirEntry::path);
    let folders = registries.iter().map(|registry| registry.path().join(format!("{name}-{version}")));
    folders.into_iter().find(|folder| folder.is_dir()).ok_or_else(missing)
}

/// The sentences in the comments of all sources in a folder, each a list of words, without
/// repetitions.
fn sentences(folder: &Path) -> io::Result<Vec<Vec<String>>> {
    let mut sentences = Vec::new();
    for file in sources(folder)? {
        for paragraph in paragraphs(&fs::read_to_string(file)?) {
            let mut sentence = Vec::new();
            for word in paragraph.split_whitespace() {
                let ends = word.ends_with(['.', '!', '?']);
                sentence.push(word.to_string());
                if ends {
                    sentences.push(std::mem::take(&mut sentence));
                }
            }
        }
    }
    sentences.retain(|sentence| is_prose(sentence));
    sentences.sort_unstable();
    sentences.dedup();
    Ok(sentences)
}

fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(sources(&entry.path())?);
        } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// The paragraphs in documentation comments, without code, headings, lists and tables.
fn paragraphs(source: &str) -> Vec<String> {
    let (mut paragraphs, mut current, mut in_code) = (Vec::new(), String::new(), false);
    for line in source.lines() {
        let comment = line.trim_start().strip_prefix("///").or(line.trim_start().strip_prefix("//!"));
        let text = comment.unwrap_or_default().trim();
        let is_fence = text.starts_with("```");
        in_code = comment.is_some() && in_code != is_fence;
        if text.is_empty() || is_fence || in_code || text.starts_with(['#', '|', '-', '*', '<', '[']) {
            paragraphs.push(std::mem::take(&mut current));
        } else {
            current.push_str(text);
            current.push(' ');
        }
    }
    paragraphs.push(current);
    paragraphs
}

/// Whether a sentence is long enough, begins and ends like one, and is mostly words.
fn is_prose(sentence: &[String]) -> bool {
    let is_word =
        |word: &&String| word.trim_matches([',', '.']).bytes().all(|byte| byte.is_ascii_alphabetic());
    sentence.len() >= MIN_WORDS
        && sentence[0].starts_with(|first: char| first.is_ascii_uppercase())
        && sentence[sentence.len() - 1].ends_with('.')
        && sentence.iter().filter(is_word).count() * 5 >= sentence.len() * 4
}
