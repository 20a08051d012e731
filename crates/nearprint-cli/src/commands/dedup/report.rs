//! The report of a deduplication: the groups of its file of duplicates, with texts of its inputs.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::summary::{nearness, recurring, stricter};
use super::trimmed::{removed, shares_left};
use crate::args::{check_scanned, write_page};
use crate::report::{Histogram, MAX_MEMBERS, MAX_TEXT_CHARS, Report, ReportGroup, ReportMember};
use crate::terminal::plural;
use crate::terminal::results::unescape;
use nearprint::Error;
use nearprint_text::Result;
use nearprint_text::dedup::{DocumentCounts, DuplicateFiles, FileJob, FileReport, TrimRules, UtcTime};
use nearprint_text::documents::{Item, Reader, ReaderOptions, Record};
use nearprint_text::internal::{WrittenFormat, open_decompressed};

/// The groups of a page, the largest ones, have at most this many documents together. What follows
/// is counted, and named in the file of duplicates.
const MAX_DOCUMENTS: u64 = 200_000;
/// The bytes of texts that are held until they are written.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// Fails to cancel.
type Check<'a> = &'a dyn Fn() -> nearprint::Result<()>;

/// The page about a deduplication of files: totals, and the groups of its file of duplicates with
/// texts of its inputs.
pub struct DedupReport {
    path: PathBuf,
    inputs: Vec<PathBuf>,
    reader: ReaderOptions,
    duplicates: Duplicates,
    /// What was compared instead of whole documents, and is listed in the file of duplicates.
    trim: Option<TrimRules>,
}

/// The list of duplicates that a page shows.
enum Duplicates {
    /// A file that the job writes.
    File(PathBuf),
    /// A temporary file, because the job writes none that can be read again.
    Spool(Arc<File>),
}

impl Duplicates {
    fn open(&self) -> Result<Box<dyn BufRead>> {
        match self {
            Self::File(path) => Ok(Box::new(BufReader::new(open_decompressed(path)?))),
            Self::Spool(spool) => {
                let mut spool = Arc::clone(spool);
                spool.rewind().map_err(Error::io("read", self.path()))?;
                Ok(Box::new(BufReader::new(spool)))
            }
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Spool(_) => Path::new("a temporary file"),
        }
    }
}

/// The sizes of all groups.
struct Sizes {
    /// By the hash of the key of the kept document: the near-duplicates, and the place of the first
    /// one in the file.
    groups: HashMap<u64, (u64, u64)>,
}

impl DedupReport {
    /// The page of a job that has not run yet, for the file `path`. The job lists duplicates in a
    /// [spool](FileJob::spool), unless it writes a file of them with tabs, and has the page [beside](FileJob::beside) its
    /// outputs.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`](nearprint_text::Error::Setting) if the page would replace a file of a folder that is read;
    /// [`Error::Engine`](nearprint_text::Error::Engine) if no temporary file can be created.
    pub fn of(job: &mut FileJob, path: &Path) -> Result<Self> {
        check_scanned(path, &[&*job.inputs, &*job.against].concat())?;
        job.beside.push(("report", path.to_path_buf()));
        let is_read = |file: &&PathBuf| {
            !job.dry_run && file.as_os_str() != "-" && WrittenFormat::named(file) != Some(WrittenFormat::Csv)
        };
        let file = job.duplicates.as_ref().filter(is_read);
        let duplicates = match file {
            Some(file) => Duplicates::File(file.clone()),
            None => {
                let spool = tempfile::tempfile().map_err(Error::io("create", "a temporary file"))?;
                Duplicates::Spool(Arc::clone(job.spool.insert(Arc::new(spool))))
            }
        };
        Ok(Self {
            path: path.to_path_buf(),
            inputs: job.inputs.clone(),
            reader: job.reader.clone(),
            duplicates,
            trim: job.trim,
        })
    }

    /// Writes the page after the job, also if the job was complete before: whoever has completed it may have
    /// been killed before the page. Without a file of duplicates, a page that is there stays then. The file takes its
    /// name when it is complete. `check` is called for each
    /// line and document that is read; an error cancels.
    ///
    /// Reads the file of duplicates twice, and the inputs as far as texts are shown. Memory: 32 bytes
    /// for each group of the file of duplicates, and what the page shows.
    ///
    /// # Errors
    ///
    /// Those of `check`, of reading the inputs,
    /// [`Error::Setting`](nearprint_text::Error::Setting) if the job was complete before, and left neither a file of
    /// duplicates nor a page, and
    /// [`Error::Engine`](nearprint_text::Error::Engine) if a file cannot be read or written.
    pub fn write(&self, done: &FileReport, check: Check<'_>) -> Result<()> {
        if let (Some(completed), Duplicates::Spool(_)) = (done.completed, &self.duplicates) {
            return if self.path.exists() { Ok(()) } else { Err(self.unlisted(completed)) };
        }
        let sizes = self.sizes(check)?;
        let mut groups = self.groups(&sizes.largest(), check)?;
        self.add_texts(&mut groups, check)?;
        add_stamps(&mut groups, done);
        let head = self.head(done, &sizes, groups.len());
        write_page(&self.path, &head, |out| groups.iter().try_for_each(|group| out.group(group)))
    }

    fn unlisted(&self, completed: UtcTime) -> nearprint_text::Error {
        let file = if self.trim.is_some() { "removed" } else { "duplicates" };
        let why =
            format!("the run is complete since {completed}, and has no file of {file}, which a page shows");
        nearprint_text::Error::Setting { name: "report".into(), why }
    }

    fn head(&self, done: &FileReport, sizes: &Sizes, num_shown: usize) -> Report {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let DocumentCounts { records: read, kept, duplicates, copies, by_similarity, units, .. } =
            done.counts;
        let inputs: Vec<String> =
            self.inputs.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let copies = if done.counts_copies { format!(", {copies} of them copies") } else { String::new() };
        let num_groups = sizes.groups.len();
        let shown = match num_groups - num_shown {
            0 => String::new(),
            rest => format!("; {rest} small ones are not shown"),
        };
        let since = match (&self.duplicates, done.resumed_after) {
            (Duplicates::Spool(_), after @ 1..) => {
                format!("; of what was read after the first {}", plural(after, "record"))
            }
            _ => String::new(),
        };
        let mut facts = vec![
            fact("Inputs", inputs.join(", ")),
            fact("Read", plural(read, "record")),
            fact("Kept", kept.to_string()),
        ];
        match self.trim {
            None => facts.push(fact("Duplicates", format!("{duplicates}{copies}"))),
            Some(rules) => {
                facts.push(fact("Units", format!("{}{copies}", removed(rules.by, done))));
                facts.extend(shares_left(&units.by_left).map(|left| fact("Text left", left)));
            }
        }
        facts.push(fact("Groups", format!("{num_groups}{shown}{since}")));
        facts.extend(
            stricter(&by_similarity, &done.near).map(|value| fact("With a higher --similarity", value)),
        );
        facts.push(match self.trim {
            None => fact("Near", nearness(&done.near)),
            Some(rules) => fact("Recurring", recurring(rules, done)),
        });
        facts.push(fact("Recipe", done.recipe.to_string()));
        let sizes =
            sizes.groups.values().map(|(others, _)| usize::try_from(1 + others).unwrap_or(usize::MAX));
        let similarities = Histogram::of_tenths(by_similarity);
        let histograms = vec![Histogram::of_sizes(sizes), similarities];
        let root = done.files.as_ref().map(|_| String::new());
        let title = if self.trim.is_some() { "nearprint trim" } else { "nearprint dedup" };
        Report { title: title.into(), facts, histograms, root, ..Report::default() }
    }

    fn sizes(&self, check: Check<'_>) -> Result<Sizes> {
        let (mut groups, mut at) = (HashMap::new(), 0);
        self.for_each_duplicate(check, |[_, kept, ..]| {
            groups.entry(xxh3_64(kept.as_bytes())).or_insert((0, at)).0 += 1;
            at += 1;
        })?;
        Ok(Sizes { groups })
    }

    /// The groups with these hashes of keys, in this order.
    fn groups(&self, chosen: &[u64], check: Check<'_>) -> Result<Vec<ReportGroup>> {
        let places: HashMap<u64, usize> = chosen.iter().zip(0..).map(|(&hash, at)| (hash, at)).collect();
        let none = ReportGroup { kept: ReportMember::default(), others: Vec::new(), num_unlisted: 0 };
        let mut groups = vec![none; chosen.len()];
        self.for_each_duplicate(check, |[key, kept, distance, similarity, ..]| {
            let Some(&at) = places.get(&xxh3_64(kept.as_bytes())) else { return };
            let group = &mut groups[at];
            if group.others.len() + 1 >= MAX_MEMBERS {
                group.num_unlisted += 1;
                return;
            }
            group.kept.name = unescape(kept).into_owned();
            group.others.push(ReportMember {
                name: unescape(key).into_owned(),
                distance: distance.parse().ok(),
                similarity: similarity.parse().ok(),
                ..ReportMember::default()
            });
        })?;
        Ok(groups)
    }

    /// Calls `visit` with the columns of each line of the file of duplicates.
    fn for_each_duplicate(&self, check: Check<'_>, mut visit: impl FnMut([&str; 4])) -> Result<()> {
        let mut file = self.duplicates.open()?;
        let (mut line, mut is_header) = (String::new(), true);
        while file.read_line(&mut line).map_err(Error::io("read", self.duplicates.path()))? > 0 {
            check()?;
            let mut columns = line.trim_end_matches('\n').split('\t');
            let columns = [(); 4].map(|()| columns.next().unwrap_or_default());
            if !std::mem::take(&mut is_header) {
                match self.trim {
                    None => visit(columns),
                    Some(_) => {
                        let [key, number, first, first_number] = columns;
                        let (unit, first) = (name_of(key, number), name_of(first, first_number));
                        visit([&unit, &first, "", ""]);
                    }
                }
            }
            line.clear();
        }
        Ok(())
    }

    /// Reads the inputs again, and adds the texts of the first groups. Standard input and pipes are
    /// gone.
    fn add_texts(&self, groups: &mut [ReportGroup], check: Check<'_>) -> Result<()> {
        let can_be_read_again = |input: &PathBuf| {
            input != Path::new("-") && input.metadata().is_ok_and(|found| found.is_file() || found.is_dir())
        };
        if !self.inputs.iter().all(can_be_read_again) {
            return Ok(());
        }
        // Where a document with a key belongs.
        let mut wanted: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (at, group) in groups.iter().enumerate() {
            let members = std::iter::once(&group.kept).chain(&group.others);
            for (member, place) in members.zip(0..) {
                wanted.entry(member.name.clone()).or_default().push((at, place));
            }
        }
        let (mut reader, mut len_bytes) = (Reader::open(&self.inputs, self.reader.clone())?, 0);
        // Of the whole texts, of which a page shows the start.
        let mut hashes: HashMap<(usize, usize), u64> = HashMap::new();
        while len_bytes < MAX_TEXT_BYTES
            && !wanted.is_empty()
            && let Some(item) = reader.next_item()?
        {
            check()?;
            let Item::Record(Record { key, text, .. }) = item else { continue };
            let mut add = |key: &str, text: &str| {
                for (at, place) in wanted.remove(key).unwrap_or_default() {
                    let group = &mut groups[at];
                    let member =
                        place.checked_sub(1).map_or(&mut group.kept, |other| &mut group.others[other]);
                    // One more character shows that the end was cut off.
                    let shown = text.chars().take(MAX_TEXT_CHARS + 1).collect::<String>();
                    len_bytes += shown.len();
                    hashes.insert((at, place), xxh3_64(text.as_bytes()));
                    member.bytes = Some(text.len() as u64);
                    member.text = Some(shown);
                }
            };
            match self.trim {
                None => add(&key, &text),
                Some(rules) => rules.by.for_each_keyed(&key, &text, add),
            }
        }
        for (at, group) in groups.iter_mut().enumerate() {
            let Some(kept) = hashes.get(&(at, 0)) else { continue };
            for (other, place) in group.others.iter_mut().zip(1..) {
                other.is_exact = hashes.get(&(at, place)) == Some(kept) && other.bytes == group.kept.bytes;
            }
        }
        Ok(())
    }
}

/// The name of a unit, which has a number in the record with a key. Passages are not numbered where they were first.
fn name_of(key: &str, number: &str) -> String {
    if number.is_empty() { key.into() } else { format!("{key}#{number}") }
}

/// Adds the states of files, if documents are files: of those that this run has compared with a file that it has read.
/// What an earlier run has kept may be another file now, or none. A name has none if a path that is no UTF-8 is shown
/// by it.
fn add_stamps(groups: &mut [ReportGroup], done: &FileReport) {
    let Some(DuplicateFiles { duplicates, stamps }) = &done.files else { return };
    let unclear: HashSet<_> = duplicates
        .iter()
        .map(|file| file.path.to_string_lossy())
        .filter(|name| matches!(name, Cow::Owned(_)))
        .collect();
    let compared = duplicates.iter().filter(|file| !file.kept.as_os_str().is_empty());
    let (going, staying): (HashSet<&Path>, HashSet<&Path>) =
        compared.map(|file| (&*file.path, &*file.kept)).unzip();
    let stamp = |of: &HashSet<&Path>, name: &str| {
        of.get(Path::new(name))
            .filter(|_| !unclear.contains(name))
            .and_then(|path| stamps.get(*path))
            .copied()
    };
    for ReportGroup { kept, others, .. } in groups {
        kept.stamp = stamp(&staying, &kept.name);
        others.iter_mut().for_each(|other| other.stamp = stamp(&going, &other.name));
    }
}

impl Sizes {
    /// The largest groups that a page has room for, the largest first; of equal ones, that which was
    /// first to have a near-duplicate.
    fn largest(&self) -> Vec<u64> {
        let mut order: Vec<_> =
            self.groups.iter().map(|(&hash, &(others, first))| (Reverse(others), first, hash)).collect();
        order.sort_unstable();
        let mut room = MAX_DOCUMENTS;
        let fits = |(Reverse(others), ..): &(Reverse<u64>, u64, u64)| {
            let listed = (1 + others).min(MAX_MEMBERS as u64);
            let fits = listed <= room;
            room = room.saturating_sub(listed);
            fits
        };
        order.into_iter().take_while(fits).map(|(.., hash)| hash).collect()
    }
}

#[cfg(test)]
mod tests {
    use nearprint_text::dedup::DedupOptions;
    use std::cell::Cell;
    use std::fs;
    use std::ops::ControlFlow;

    use super::*;

    #[test]
    fn a_report_can_be_cancelled_while_it_reads() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at("in.jsonl"), "{\"text\":\"one two three\"}\n".repeat(4)).unwrap();
        let dedup = DedupOptions::new("minhash".parse().unwrap());
        let mut job = FileJob::new(vec![at("in.jsonl")], at("out.jsonl"), dedup);
        job.duplicates = Some(at("duplicates"));
        let report = DedupReport::of(&mut job, &at("page.html")).unwrap();
        let done = job.run(|_, _| ControlFlow::Continue(())).unwrap();
        let checks = Cell::new(0);
        let write = |fails_at: u32| {
            checks.set(0);
            report.write(&done, &|| {
                checks.set(checks.get() + 1);
                if checks.get() == fails_at { Err(Error::Interrupted) } else { Ok(()) }
            })
        };
        // The header and the three duplicates, the same again, and the four documents.
        for fails_at in 1..=12 {
            let error = write(fails_at).unwrap_err();
            assert!(matches!(error, nearprint_text::Error::Engine(Error::Interrupted)), "{error}");
            assert!(!at("page.html").exists() && checks.get() == fails_at);
        }
        write(13).unwrap();
        assert!(at("page.html").exists() && checks.get() == 12);
    }

    /// A page replaced a file of the collection that documents are compared with, and one of a folder that is read.
    #[test]
    fn regression_a_page_replaces_nothing_that_is_read() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        for name in ["in.jsonl", "against.jsonl", "folder/text.txt"] {
            fs::write(at(name), "{\"text\":\"one two three\"}\n").unwrap();
        }
        let dedup = DedupOptions::new("minhash".parse().unwrap());
        let mut job = FileJob::new(vec![at("in.jsonl")], at("out.jsonl"), dedup);
        job.against = vec![at("against.jsonl"), at("folder")];
        for name in ["in.jsonl", "against.jsonl", "out.jsonl"] {
            let mut job = job.clone();
            DedupReport::of(&mut job, &at(name)).unwrap();
            let error = job.run(|_, _| ControlFlow::Continue(())).unwrap_err();
            assert!(error.to_string().contains("report"), "{error}");
            assert!(!at("out.jsonl").exists(), "{name}");
        }
        let error = DedupReport::of(&mut job, &at("folder/text.txt")).map(drop).unwrap_err();
        assert!(error.to_string().contains("is a file of the scanned folder"), "{error}");
    }

    /// Without a file of duplicates, nothing has those of the run that was interrupted.
    #[test]
    fn the_page_of_a_resumed_job_says_what_it_shows() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at("in.jsonl"), "{\"text\":\"one two three\"}\n".repeat(24_000)).unwrap();
        let dedup = DedupOptions::new("minhash".parse().unwrap());
        let mut job = FileJob::new(vec![at("in.jsonl")], at("out.jsonl"), dedup);
        job.database = Some(at("seen.np"));
        let stop = |counts: &DocumentCounts, _| match counts.records >= 12_000 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        assert!(job.clone().run(stop).is_err());
        let report = DedupReport::of(&mut job, &at("page.html")).unwrap();
        let done = job.run(|_, _| ControlFlow::Continue(())).unwrap();
        assert!(done.resumed_after > 0 && done.counts.duplicates == 23_999);
        report.write(&done, &|| Ok(())).unwrap();
        let page = fs::read_to_string(at("page.html")).unwrap();
        let since = format!("1; of what was read after the first {} records", done.resumed_after);
        assert!(page.contains(&since), "{since}: {page}");
        let members = 24_001 - done.resumed_after;
        assert!(page.contains(&format!("\"members\":[{members}]")), "{members}: {page}");
    }
}
