//! `nearprint clusters`

use std::io;
use std::path::{Path, PathBuf};

use crate::args::values::DEFAULT_K;
use crate::args::{
    FingerprintArgs, GlobalArgs, GroupWriter, JoinArgs, NearArgs, ReportArgs, ResultArgs, exactly,
    note_open_kind,
};
use crate::commands::pairs::run_join;
use crate::exact::SimilarDocuments;
use crate::expected::Expected;
use crate::input::fingerprints::List;
use crate::report::{Histogram, MAX_MEMBERS, Report, ReportGroup, ReportMember};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::each_key;
use crate::typed::TypedCommand;
use nearprint::any::{AnyRow, AnyStream};
use nearprint::{BandLayout, Error, Fingerprint, Options, Printed, Row, Snapshot, list};

/// Group the rows into clusters, connected by steps of at most K bits, or by similar documents
///
/// Prints `cluster fingerprint id` for every member of every cluster of two rows or more. Clusters
/// are numbered from 0 in the order of their smallest fingerprint. Members are sorted by
/// (fingerprint, id). Rows with equal fingerprints are in one cluster. Databases with keys add a
/// column, the key, and print one line for each key of a row. A report takes a second search.
///
/// Where the database keeps features or texts of documents, as `dedup` stores them, and no -k is given,
/// exact similarities of at least --similarity connect, by default the limit of the database. The last
/// column is then the similarity with the first document of the cluster, which may be below the limit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint clusters corpus.np -k 6 > clusters.tsv
  nearprint clusters corpus.np --report clusters.html > clusters.tsv
  nearprint clusters documents.np --similarity 0.5
  nearprint clusters --input fingerprints.txt
  nearprint clusters --input pdq-hashes.txt --width 256 -k 31")]
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
        run_join(&self, (&self.source, &self.input), global)
    }
}

impl TypedCommand<Option<List<'_>>> for &Args {
    fn run_typed<F: Fingerprint>(self, list: Option<List<'_>>, global: GlobalArgs) -> Result<(), Failure> {
        let format = self.results.format;
        let database = self.source.database();
        let inputs: Vec<&Path> = self.source.list().iter().map(PathBuf::as_path).collect();
        self.report.check(&inputs, database.as_slice())?;
        let list_k = list.as_ref().and_then(List::k);
        note_open_kind(global, F::WIDTH, database.is_some() || list_k.is_some() || self.near.is_given());
        global.print_results(|out, options| {
            out.limit(self.source.max_output);
            let similar =
                database.map(|path| SimilarDocuments::open(path, &options, self.near)).transpose()?;
            if let Some(similar) = similar.flatten() {
                if let Some((most, path)) = self.source.max_output.zip(database) {
                    let snapshot = options.open::<F>(path)?.snapshot()?;
                    Expected::of_documents(&snapshot, &similar)?.check_clusters(most)?;
                }
                return self.print_similar::<F>(&similar, global, out);
            }
            let source = match (database, list) {
                (Some(path), _) => Source::Database(options.open::<F>(path)?.snapshot()?),
                (None, Some(list)) => Source::List(list.rows()?, options),
                (None, None) => return Ok(()),
            };
            let k = self.near.k(source.bands(), F::WIDTH)?.or(list_k).unwrap_or(source.default_k());
            if let Some(most) = self.source.max_output {
                source.expected(k)?.check_clusters(most)?;
            }
            let (snapshots, again) =
                (source.snapshots().to_vec(), self.report.path().map(|_| source.clone()));
            let has_keys = snapshots.iter().any(|snapshot| snapshot.key_storage().has_keys());
            self.results.print_header(out, &member_columns(has_keys, false))?;
            let (mut number, mut sizes) = (0, Vec::new());
            source.visit(k, &mut |cluster| {
                for row in cluster {
                    each_key(&snapshots, *row, |key| {
                        out.write(|out| format.cluster_member(out, number, row, key, None))
                    })?;
                }
                number += 1;
                sizes.push(cluster.len());
                Ok(())
            })?;
            out.flush()?;
            let Some(again) = again else { return Ok(()) };
            Ok(self.report.write(
                || self.head(format!("at most {k} bits"), &sizes),
                |page| again.write_groups(k, page),
            )?)
        })
    }
}

impl Args {
    /// Prints the clusters of similar documents.
    fn print_similar<F: Fingerprint>(
        &self,
        similar: &SimilarDocuments,
        global: GlobalArgs,
        out: &mut OutputStream,
    ) -> Result<(), Failure> {
        let mut sizes = Vec::new();
        self.results.print_header(out, &member_columns(true, true))?;
        for block in similar.documents.clusters(similar.least)? {
            let block = block?;
            out.write(|out| {
                block.rows().try_for_each(|AnyRow { group, fingerprint, id, key, similarity, .. }| {
                    let row = Row { fingerprint: F::from_le_words(fingerprint), id };
                    self.results.format.cluster_member(out, group, &row, key, Some(similarity))
                })
            })?;
            sizes.extend(block.groups.chunk_by(|a, b| a == b).map(<[u64]>::len));
        }
        out.flush()?;
        similar.note(global);
        let groups = |page: &mut GroupWriter| {
            let clusters = similar.documents.clusters(similar.least).map_err(io::Error::other)?;
            write_similar_groups(clusters, page).map_err(io::Error::other)
        };
        Ok(self.report.write(|| self.head(exactly(similar.least), &sizes), groups)?)
    }

    /// The page without its groups.
    fn head(&self, near: String, sizes: &[usize]) -> Report {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let inputs = self.source.database().map(Path::to_path_buf).into_iter();
        let inputs = inputs.chain(self.source.list().iter().cloned());
        let inputs: Vec<String> = inputs.map(|path| path.to_string_lossy().into_owned()).collect();
        let facts = vec![
            fact("Fingerprints of", inputs.join(", ")),
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

/// Receives a cluster.
type Visit<'a, F> = &'a mut dyn FnMut(&[Row<F>]) -> Result<(), Error>;

/// Where the rows come from.
#[derive(Clone)]
enum Source<F: Fingerprint> {
    Database(Snapshot<F>),
    List(Vec<Row<F>>, Options),
}

impl<F: Fingerprint> Source<F> {
    fn snapshots(&self) -> &[Snapshot<F>] {
        match self {
            Self::Database(snapshot) => std::slice::from_ref(snapshot),
            Self::List(..) => &[],
        }
    }

    fn bands(&self) -> Option<BandLayout> {
        self.snapshots().first().and_then(Snapshot::bands)
    }

    fn default_k(&self) -> u32 {
        self.snapshots().first().map_or(DEFAULT_K, Snapshot::default_k)
    }

    fn expected(&self, k: u32) -> Result<Expected, Error> {
        match self {
            Self::Database(snapshot) => Expected::of_rows(snapshot, k),
            Self::List(rows, _) => {
                let fingerprints: Vec<F> = rows.iter().map(|row| row.fingerprint).collect();
                Ok(Expected::of_list(&fingerprints, k))
            }
        }
    }

    fn visit(self, k: u32, visit: Visit<'_, F>) -> Result<(), Error> {
        match self {
            Self::Database(snapshot) => snapshot.visit_clusters(k, visit),
            Self::List(rows, options) => list::visit_row_clusters(rows, k, &options, visit),
        }
    }

    /// Finds the clusters again, and writes them to a page.
    fn write_groups(self, k: u32, page: &mut GroupWriter) -> io::Result<()> {
        let (bands, snapshots) = (self.bands(), self.snapshots().to_vec());
        self.visit(k, &mut |cluster| {
            let [first, rest @ ..] = cluster else { return Ok(()) };
            let kept = ReportMember { name: name(&snapshots, first)?, ..ReportMember::default() };
            let other = |row: &Row<F>| {
                let distance = match bands {
                    Some(bands) => bands.sketch_distance(row.fingerprint, first.fingerprint),
                    None => row.fingerprint.distance(first.fingerprint),
                };
                let name = name(&snapshots, row)?;
                Ok(ReportMember { name, distance: Some(distance), ..ReportMember::default() })
            };
            write_group(kept, rest, other, page)
        })
        .map_err(io::Error::other)
    }
}

/// Writes a group to a page. What the page does not list needs no name.
fn write_group<T>(
    kept: ReportMember,
    rest: &[T],
    other: impl Fn(&T) -> Result<ReportMember, Error>,
    page: &mut GroupWriter,
) -> Result<(), Error> {
    let listed = &rest[..rest.len().min(MAX_MEMBERS)];
    let others = listed.iter().map(other).collect::<Result<_, Error>>()?;
    let group = ReportGroup { kept, others, num_unlisted: rest.len() - listed.len() };
    page.group(&group).map_err(Error::io("write", "the report"))
}

/// Writes clusters of similar documents to a page.
fn write_similar_groups(clusters: AnyStream, page: &mut GroupWriter) -> Result<(), Error> {
    for block in clusters {
        let block = block?;
        let rows: Vec<AnyRow<'_>> = block.rows().collect();
        for cluster in rows.chunk_by(|a, b| a.group == b.group) {
            let [first, rest @ ..] = cluster else { continue };
            let name = |row: &AnyRow<'_>| row.key.unwrap_or_default().to_string();
            let kept = ReportMember { name: name(first), ..ReportMember::default() };
            let other = |row: &AnyRow<'_>| {
                let similarity = Some(row.similarity);
                Ok(ReportMember { name: name(row), similarity, ..ReportMember::default() })
            };
            write_group(kept, rest, other, page)?;
        }
    }
    Ok(())
}

/// The keys of a row; without keys, its id and its fingerprint.
fn name<F: Fingerprint>(snapshots: &[Snapshot<F>], row: &Row<F>) -> Result<String, Error> {
    let mut keys: Vec<String> = Vec::new();
    each_key(snapshots, *row, |key| {
        keys.extend(key.filter(|key| !key.is_empty()).map(str::to_string));
        Ok::<(), Error>(())
    })?;
    match keys.is_empty() {
        true => Ok(format!("id {}, {}", row.id, Printed(row.fingerprint))),
        false => Ok(keys.join(", ")),
    }
}
