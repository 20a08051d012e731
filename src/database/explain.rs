//! The plans of queries, their cost and the reasons for them.

use std::fmt;

use crate::error::Result;
use crate::fingerprint::Width;
use crate::format::manifest::RunRecord;
use crate::format::schema::Schema;
use crate::format::segment::SegmentInfo;
use crate::layout::cost::{Choice, Estimate, Strategy, TableShape, ball, choose, uniform_shapes};
use crate::layout::{Layout, LayoutChoice};
use crate::query::prepare::Prepared;

/// The plans for one k, run by run. Prints as the text of the `explain` command.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The distance of the queries.
    pub k: u32,
    /// Oldest run first.
    pub runs: Vec<RunExplanation>,
    /// What one run with all the fingerprints would cost with the layouts `small`, `auto` and `fast`. Empty
    /// for bands, which have one layout, and if there are no fingerprints.
    pub choices: Vec<RunExplanation>,
}

/// The plan of one run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunExplanation {
    /// The run's number; `None` for an imagined run.
    pub run: Option<u64>,
    /// Its layout.
    pub layout: LayoutChoice,
    /// Distinct fingerprints.
    pub fingerprints: u64,
    /// Whether queries compare every entry instead of probing tables.
    pub scan: bool,
    /// The tables; those that are not probed have radius `None`.
    pub tables: Vec<TableExplanation>,
    /// Directory look-ups per query.
    pub probes: f64,
    /// Fingerprints compared per query.
    pub candidates: f64,
    /// Modelled time per query on one core, warm, in nanoseconds.
    pub nanoseconds: f64,
    /// The same for comparing every fingerprint.
    pub scan_nanoseconds: f64,
    /// Bytes on disk per fingerprint for all tables, ids aside.
    pub table_bytes: f64,
}

/// One table of a plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableExplanation {
    /// Bits that the table sorts by first.
    pub prefix_bits: u32,
    /// Bits that its directory indexes.
    pub directory_bits: u32,
    /// Number of prefix bits that may differ; `None` if the table is not probed.
    pub radius: Option<u32>,
    /// Directory look-ups per query.
    pub probes: f64,
    /// Entries in the bucket of a random query.
    pub mean_bucket: f64,
    /// Entries in the bucket of a stored fingerprint.
    pub typical_bucket: f64,
}

impl Explanation {
    pub(crate) fn of_runs<'a>(
        (width, is_bands): (u32, bool),
        k: u32,
        runs: impl Iterator<Item = (&'a RunRecord, &'a Prepared)>,
    ) -> Self {
        let explain = |(record, prepared): (&RunRecord, &Prepared)| {
            let (shapes, choice) = (&prepared.shapes, &prepared.choice);
            RunExplanation::new(Some(record.run), &record.layout, record.entries, shapes, choice)
        };
        let runs: Vec<RunExplanation> = runs.map(explain).collect();
        let entries = runs.iter().map(|run| run.fingerprints).sum();
        let choices = if is_bands { Vec::new() } else { choices(width, k.min(width), entries) };
        Self { k, runs, choices }
    }

    /// How a database of `entries` uniformly distributed fingerprints would answer. Needs no files.
    ///
    /// # Errors
    /// [`Error::InvalidLayout`](crate::Error::InvalidLayout),
    /// [`Error::Distance`](crate::Error::Distance) for a schema that no database of this width can
    /// have.
    ///
    /// ```
    /// use nearprint::{Explanation, LayoutChoice, Schema, Width};
    /// let explanation = Explanation::imagine(Width::W64, 10_000_000, 3, &Schema::new())?;
    /// assert_eq!(explanation.runs[0].layout, LayoutChoice::Rotations { tables: 4 });
    /// # Ok::<(), nearprint::Error>(())
    /// ```
    pub fn imagine(width: Width, entries: u64, k: u32, schema: &Schema) -> Result<Self> {
        let k = k.min(width.bits());
        schema.check(width.bits())?;
        let layout = schema.layout.layout(width.bits(), schema.k, entries)?;
        let choices = if layout.is_bands() { Vec::new() } else { choices(width.bits(), k, entries) };
        Ok(Self { k, runs: vec![RunExplanation::imagine(&layout, entries, k)], choices })
    }
}

/// The names of the layouts that follow from the number of fingerprints, the smallest first.
const CHOICES: [LayoutChoice; 3] = [LayoutChoice::Small, LayoutChoice::Auto, LayoutChoice::Fast];

fn choices(width: u32, k: u32, entries: u64) -> Vec<RunExplanation> {
    let layouts = CHOICES.iter().filter_map(|choice| choice.layout(width, k, entries).ok());
    layouts.filter(|_| entries > 0).map(|layout| RunExplanation::imagine(&layout, entries, k)).collect()
}

impl RunExplanation {
    fn imagine(layout: &Layout, entries: u64, k: u32) -> Self {
        let shapes = uniform_shapes(layout, entries);
        Self::new(None, layout, entries, &shapes, &choose(layout, &shapes, entries, k))
    }

    fn new(run: Option<u64>, layout: &Layout, entries: u64, shapes: &[TableShape], choice: &Choice) -> Self {
        let radius = |table: usize| match &choice.strategy {
            Strategy::Probe(plan) => u32::try_from(plan.radii()[table]).ok(),
            Strategy::Scan => None,
        };
        let explain = |(table, shape): (usize, &TableShape)| TableExplanation {
            prefix_bits: shape.prefix_bits,
            directory_bits: shape.directory_bits,
            radius: radius(table),
            probes: radius(table).map_or(0.0, |radius| ball(shape.probe_bits(), radius)),
            mean_bucket: shape.mean_bucket,
            typical_bucket: shape.typical_bucket,
        };
        let bytes = |(shape, table): (&TableShape, u32)| {
            SegmentInfo::section_lens(entries, shape.directory_bits, layout.width(), table)
                .iter()
                .sum::<u64>()
        };
        let Estimate { probes, candidates, nanoseconds } = choice.estimate;
        Self {
            run,
            layout: LayoutChoice::from(layout),
            fingerprints: entries,
            scan: choice.strategy == Strategy::Scan,
            tables: shapes.iter().enumerate().map(explain).collect(),
            probes,
            candidates,
            nanoseconds,
            scan_nanoseconds: choice.scan_nanoseconds,
            table_bytes: shapes.iter().zip(0..).map(bytes).sum::<u64>() as f64 / entries.max(1) as f64,
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.runs.is_empty() {
            return writeln!(f, "The database is empty: every answer is empty.");
        }
        for run in &self.runs {
            run.write(f, self.k)?;
        }
        if !self.choices.is_empty() {
            writeln!(f, "one run of them with other layouts:")?;
            writeln!(f, "  layout    tables        bytes each  a query at k = {}", self.k)?;
        }
        for (choice, run) in CHOICES.iter().zip(&self.choices) {
            let RunExplanation { layout, table_bytes, nanoseconds, .. } = run;
            let cost = time(*nanoseconds);
            writeln!(
                f,
                "  {:<8}  {:<12}  {table_bytes:>10.1}  {cost}",
                choice.to_string(),
                layout.to_string()
            )?;
        }
        Ok(())
    }
}

impl RunExplanation {
    fn write(&self, f: &mut fmt::Formatter<'_>, k: u32) -> fmt::Result {
        match self.run {
            Some(run) => write!(f, "run {run}: ")?,
            None => write!(f, "uniform data: ")?,
        }
        let (count, layout, bytes) = (self.fingerprints, &self.layout, self.table_bytes);
        writeln!(f, "{count} distinct fingerprints, {layout}, {bytes:.1} bytes each for the tables")?;
        writeln!(f, "  table  prefix bits  directory bits  radius      probes  bucket (mean / typical)")?;
        for (number, table) in self.tables.iter().enumerate() {
            let TableExplanation { prefix_bits, directory_bits, probes, mean_bucket, typical_bucket, .. } =
                table;
            let radius = table.radius.map_or("unused".into(), |radius| radius.to_string());
            let buckets = format!("{mean_bucket:.1} / {typical_bucket:.1}");
            writeln!(
                f,
                "  {number:>5}  {prefix_bits:>9}  {directory_bits:>14}  {radius:>6}  {probes:>10}  {buckets}"
            )?;
        }
        let read = self.probes * 8.0 + self.candidates * 4.0;
        writeln!(
            f,
            "  a query at k = {k}: {:.0} probes, {:.0} candidates, about {} read, about {}",
            self.probes,
            self.candidates,
            quantity(read, &[("B", 1.0), ("KiB", 1024.0), ("MiB", 1_048_576.0), ("GiB", 1_073_741_824.0)]),
            time(self.nanoseconds),
        )?;
        self.write_reason(f, k)
    }

    fn write_reason(&self, f: &mut fmt::Formatter<'_>, k: u32) -> fmt::Result {
        let scan = time(self.scan_nanoseconds);
        if self.scan {
            return writeln!(f, "  why: no plan of these tables is cheaper than comparing all, about {scan}");
        }
        let used: Vec<u32> = self.tables.iter().filter_map(|table| table.radius).collect();
        let (count, all) = (used.len(), self.tables.len());
        match self.layout {
            LayoutChoice::Bands(_) => writeln!(
                f,
                "  why: near fingerprints agree in a band, so that one of the {all} bands is equal, and a look-up \
                 in each table finds them; comparing all would take about {scan}"
            ),
            LayoutChoice::Rotations { .. } => {
                let sum: u32 = used.iter().map(|radius| radius + 1).sum();
                writeln!(
                    f,
                    "  why: {count} of {all} prefixes do not overlap, so {k} errors leave one of them within its radius \
                     (the radii + 1 add up to {sum} > {k}); the cheapest such plan; comparing all would take about {scan}"
                )
            }
            _ => writeln!(
                f,
                "  why: however {k} errors fall on the blocks, one of these {count} of {all} prefixes stays within its \
                 radius; the cheapest such plan; comparing all would take about {scan}"
            ),
        }
    }
}

fn time(nanoseconds: f64) -> String {
    quantity(nanoseconds, &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)])
}

/// A number in the largest unit that leaves it at 1 or more.
fn quantity(value: f64, units: &[(&str, f64)]) -> String {
    let (name, size) = units.iter().rfind(|unit| value >= unit.1).copied().unwrap_or(("", 1.0));
    format!("{:.1} {name}", value / size)
}
