//! `nearprint clusters`

use std::io;
use std::path::{Path, PathBuf};

use crate::args::values::DEFAULT_K;
use crate::args::{
    FingerprintArgs, GlobalArgs, GroupWriter, JoinArgs, NearArgs, ReportArgs, ResultArgs, exactly,
    note_open_kind,
};
use crate::commands::pairs::{BLOCK_ROWS, list_of};
use crate::left_out::{LeftOutDocuments, why_none_is_near};
use crate::output_estimate::OutputEstimate;
use crate::report::{Histogram, MAX_MEMBERS, Report, ReportGroup, ReportMember};
use crate::similar_documents::SimilarDocuments;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::each_key;
use nearprint::any::{AnyFingerprint, AnyRow, AnySnapshot, AnyStream, Columns, find_row_clusters};
use nearprint::{Error, Options, Row, Width};

/// Group rows that are connected by near pairs
///
/// Prints `cluster fingerprint id` for every member of every cluster of two rows or more. Clusters are numbered from 0
/// in the order of their smallest fingerprint. Members are sorted by (fingerprint, id). Rows with equal fingerprints
/// are in one cluster. Databases with keys add a column, the key, and print a line for each key of a row. --report
/// searches twice.
///
/// If the database keeps features or texts, as `dedup` stores them, and -k is not given, exact similarities decide.
/// Documents of at least --similarity are connected; its default is the limit of the database. The last column is then
/// the similarity with the first document of the cluster, which may be below the limit.
///
/// A database that `dedup --remember=keys` made shows each kept document with those that were left out because of it,
/// unless -k or --similarity is given. Documents that were left out have no fingerprint, and their id is the hash of
/// their key.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint clusters corpus.np -k 6 > clusters.tsv
  nearprint clusters corpus.np --report clusters.html > clusters.tsv
  nearprint clusters documents.np --similarity 0.5
  nearprint clusters fingerprints.txt
  nearprint clusters pdq-hashes.txt --width 256 -k 31")]
pub(super) struct Args {
    #[command(flatten)]
    source: JoinArgs,
    #[command(flatten)]
    near: NearArgs,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    input: FingerprintArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let list = list_of(&self.source, &self.input)?;
        let database = self.source.database()?;
        let inputs: Vec<&Path> = self.source.list().iter().map(PathBuf::as_path).collect();
        let inputs = if list.is_some() { &inputs[..] } else { &[] };
        self.report.check(inputs, database.as_slice())?;
        if let Some(list) = &list {
            note_open_kind(global, list.width(), list.k().is_some() || self.near.is_given());
        }
        global.print_results(|out, options| {
            out.limit(self.source.max_output);
            match (list, database) {
                (Some(list), _) => {
                    let (width, k) = (list.width(), list.k());
                    let k = self.near.k(None, width)?.or(k).unwrap_or(DEFAULT_K);
                    let source = Source::List { width, rows: list.rows()?, options };
                    self.print(&source, k, out)
                }
                (None, Some(path)) => self.print_database(options.open_any(path)?.snapshot()?, global, out),
                (None, None) => Ok(()),
            }
        })
    }

    fn print_database(
        &self,
        snapshot: AnySnapshot,
        global: GlobalArgs,
        out: &mut OutputStream,
    ) -> Result<(), Failure> {
        if !self.near.is_given()
            && self.report.path().is_none()
            && let Some(left_out) =
                LeftOutDocuments::of(&snapshot, &global.options())?.filter(LeftOutDocuments::has_keys)
        {
            self.results.print_header(out, &member_columns(true, true))?;
            left_out.print_groups(self.results.format(), out)?;
            return Ok(out.flush()?);
        }
        if let Some(similar) = SimilarDocuments::of(&snapshot, self.near)? {
            if let Some(most) = self.source.max_output {
                OutputEstimate::of_documents(&snapshot, &similar)?.check_clusters(most)?;
            }
            let count = self.print_similar(&similar, global, out)?;
            if count == 0
                && let Some(why) = why_none_is_near(&snapshot, &global.options())?
            {
                global.note(format_args!("{why}"));
            }
            return Ok(());
        }
        let k = self.near.k(snapshot.bands(), snapshot.width())?.unwrap_or(snapshot.default_k());
        self.print(&Source::Database(snapshot), k, out)
    }

    /// Prints the clusters within a distance.
    fn print(&self, source: &Source, k: u32, out: &mut OutputStream) -> Result<(), Failure> {
        if let Some(most) = self.source.max_output {
            source.expected(k)?.check_clusters(most)?;
        }
        let (format, snapshots) = (self.results.format(), source.snapshots());
        let has_keys = snapshots.iter().any(|snapshot| snapshot.key_storage().has_keys());
        self.results.print_header(out, &member_columns(has_keys, false))?;
        let mut sizes = Vec::new();
        source.clusters(k)?.visit(|block| {
            sizes.extend(sizes_of(block));
            block.rows().try_for_each(|member| {
                let (group, row) = (member.group, member.row());
                each_key(snapshots, row, |key| {
                    out.write(|out| format.cluster_member(out, (group, row), key, None))
                })
            })
        })?;
        out.flush()?;
        let near = format!("at most {k} bits");
        Ok(self.report.write(|| self.head(near, &sizes), |page| source.write_groups(k, page))?)
    }

    /// Prints the clusters of similar documents, and returns their number.
    fn print_similar(
        &self,
        similar: &SimilarDocuments,
        global: GlobalArgs,
        out: &mut OutputStream,
    ) -> Result<usize, Failure> {
        let mut sizes = Vec::new();
        self.results.print_header(out, &member_columns(true, true))?;
        similar.documents.clusters(similar.least)?.visit(|block| {
            sizes.extend(sizes_of(block));
            out.write(|out| {
                block.rows().try_for_each(|member| {
                    let (row, similarity) = ((member.group, member.row()), Some(member.similarity));
                    self.results.format().cluster_member(out, row, member.key.map(Some), similarity)
                })
            })
        })?;
        out.flush()?;
        similar.note(global);
        let groups = |page: &mut GroupWriter| {
            let clusters = similar.documents.clusters(similar.least).map_err(io::Error::other)?;
            write_similar_groups(clusters, page).map_err(io::Error::other)
        };
        self.report.write(|| self.head(exactly(similar.least), &sizes), groups)?;
        Ok(sizes.len())
    }

    /// The page without its groups.
    fn head(&self, near: String, sizes: &[usize]) -> Report {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let source = self.source.list().iter().map(|path| path.to_string_lossy());
        let facts = vec![
            fact("Fingerprints of", source.collect()),
            fact("Near", near),
            fact("Clusters", format!("{} of {} rows", sizes.len(), sizes.iter().sum::<usize>())),
        ];
        let histograms = vec![Histogram::of_sizes(sizes.iter().copied())];
        Report { title: "nearprint clusters".into(), facts, histograms, ..Report::default() }
    }
}

/// The columns of members, and whether they are there.
fn member_columns(has_keys: bool, has_similarity: bool) -> [(&'static str, bool); 5] {
    let always = |name| (name, true);
    let [cluster, fingerprint, id] = ["cluster", "fingerprint", "id"].map(always);
    [cluster, fingerprint, id, ("key", has_keys), ("similarity", has_similarity)]
}

/// The numbers of the members of the clusters of a block.
fn sizes_of(block: &Columns) -> impl Iterator<Item = usize> {
    block.groups.chunk_by(|a, b| a == b).map(<[u64]>::len)
}

/// Where the rows come from.
enum Source {
    Database(AnySnapshot),
    List {
        width: Width,
        /// The words of fingerprints, and ids.
        rows: (Vec<u64>, Vec<u64>),
        options: Options,
    },
}

impl Source {
    fn snapshots(&self) -> &[AnySnapshot] {
        match self {
            Self::Database(snapshot) => std::slice::from_ref(snapshot),
            Self::List { .. } => &[],
        }
    }

    fn expected(&self, k: u32) -> Result<OutputEstimate, Error> {
        match self {
            Self::Database(snapshot) => OutputEstimate::of_rows(snapshot, k),
            Self::List { width, rows, .. } => Ok(OutputEstimate::of_list(*width, &rows.0, k)),
        }
    }

    fn clusters(&self, k: u32) -> Result<AnyStream, Error> {
        match self {
            Self::Database(snapshot) => snapshot.clusters(k),
            Self::List { width, rows: (words, ids), options } => {
                find_row_clusters(*width, (words, ids), k.into(), options.clone(), BLOCK_ROWS)
            }
        }
    }

    /// Finds the clusters again, and writes them to a page.
    fn write_groups(&self, k: u32, page: &mut GroupWriter) -> io::Result<()> {
        let snapshots = self.snapshots();
        let bands = snapshots.first().and_then(AnySnapshot::bands);
        let clusters = self.clusters(k).map_err(io::Error::other)?;
        write_each_group(clusters, page, |first, row| {
            let name = name(snapshots, row.row())?;
            let distance = match bands {
                _ if first == row => None,
                Some(bands) => Some(row.row().fingerprint.sketch_distance(first.row().fingerprint, bands)),
                None => Some(row.row().fingerprint.distance(first.row().fingerprint)),
            };
            Ok(ReportMember { name, distance, ..ReportMember::default() })
        })
        .map_err(io::Error::other)
    }
}

/// Writes clusters to a page. `member` makes a member of the first row of its cluster, and of itself; what the page
/// does not list needs none.
fn write_each_group(
    clusters: AnyStream,
    page: &mut GroupWriter,
    member: impl Fn(&AnyRow<'_>, &AnyRow<'_>) -> Result<ReportMember, Error>,
) -> Result<(), Error> {
    clusters.visit(|block| {
        let rows: Vec<AnyRow<'_>> = block.rows().collect();
        for cluster in rows.chunk_by(|a, b| a.group == b.group) {
            let [first, rest @ ..] = cluster else { continue };
            let listed = &rest[..rest.len().min(MAX_MEMBERS)];
            let others = listed.iter().map(|row| member(first, row)).collect::<Result<_, Error>>()?;
            let kept = member(first, first)?;
            let group = ReportGroup { kept, others, num_unlisted: rest.len() - listed.len() };
            page.group(&group).map_err(Error::io("write", "the report"))?;
        }
        Ok(())
    })
}

/// Writes clusters of similar documents to a page.
fn write_similar_groups(clusters: AnyStream, page: &mut GroupWriter) -> Result<(), Error> {
    write_each_group(clusters, page, |first, row| {
        let similarity = (first != row).then_some(row.similarity);
        let name = row.key.unwrap_or_default().to_string();
        Ok(ReportMember { name, similarity, ..ReportMember::default() })
    })
}

/// The keys of a row; without keys, its id and its fingerprint.
fn name(snapshots: &[AnySnapshot], row: Row<AnyFingerprint>) -> Result<String, Error> {
    let mut keys: Vec<String> = Vec::new();
    each_key(snapshots, row, |key| {
        keys.extend(key.flatten().filter(|key| !key.is_empty()).map(str::to_string));
        Ok::<(), Error>(())
    })?;
    match keys.is_empty() {
        true => Ok(format!("id {}, {}", row.id, row.fingerprint)),
        false => Ok(keys.join(", ")),
    }
}
