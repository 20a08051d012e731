//! The table, the recommendation and the warnings.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::advice;
use super::args::Args;
use super::border::borders;
use super::plot;
use super::similarity_limit::ExactChoice;
use super::tried::{Choice, Tried};
use crate::args::GlobalArgs;
use crate::report::{Chart, Report};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::ResultFormat;
use nearprint_text::tune::{Interval, Point, Study};
use serde_json::{Value, json};

/// Prints the advice and, if it is wanted, the table; writes the report.
pub(super) fn report(
    args: &Args,
    (tried, exact): (&Tried, Option<&ExactChoice>),
    study: &Study,
    global: GlobalArgs,
) -> Result<(), Failure> {
    let Some(best) = tried.best(args.goal) else { return Ok(()) };
    let command = advice::command(args, tried, exact, best);
    let counts = || counts(args, (tried, exact), study, best, &command);
    let mut out = OutputStream::stdout();
    match args.format() {
        _ if args.all => global.note(format_args!("{command}")),
        ResultFormat::Tsv => out.write(|out| writeln!(out, "{command}"))?,
        ResultFormat::Json => out.write(|out| writeln!(out, "{}", counts()))?,
    }
    out.flush()?;
    global.note(format_args!("{}", documents_text(args, study)));
    quality(args, tried, exact).iter().for_each(|quality| global.note(format_args!("{quality}")));
    note_choices(args, (tried, exact), best, global);
    let warnings = warnings(args, (tried, exact), study, best);
    warnings.iter().for_each(|warning| global.note(format_args!("{warning}")));
    if args.all {
        out.write(|out| write_points(args.format(), out, tried, best))?;
        out.flush()?;
    }
    if args.report.path().is_some() {
        write_report(args, (tried, exact), study, (best, &command, warnings))?;
    }
    Ok(args.summary.write(counts)?)
}

/// How good the command is, unless it has the best fingerprints.
fn quality(args: &Args, tried: &Tried, exact: Option<&ExactChoice>) -> Option<String> {
    match exact {
        Some(exact) => Some(exact.quality()),
        None if args.known.is_given() => None,
        None => {
            let similarity = args.similarity();
            let limit = if args.similarity.is_some() { "limit that was asked for" } else { "default limit" };
            let pairs: Vec<String> =
                tried.pairs_at.iter().map(|(limit, count)| format!("{count} at {limit}")).collect();
            Some(format!(
                "{similarity} is the {limit}, not a result; pairs at other limits: {}; `dedup --dry-run --report near.html` shows some",
                pairs.join(", ")
            ))
        }
    }
}

/// What was compared, and the options that are recommended.
fn counts(
    args: &Args,
    (tried, exact): (&Tried, Option<&ExactChoice>),
    study: &Study,
    best: Choice<'_>,
    command: &str,
) -> Value {
    let Point { k, precision_interval, recall_interval, .. } = best.point;
    let cost = tried.cost(best);
    json!({
        "command": command,
        "documents": study.num_documents(),
        "sampled": study.num_sampled(),
        "pairs": study.num_pairs(),
        "near_duplicate_pairs": study.num_positives(),
        "goal": args.goal.to_string(),
        "reaches_goal": args.goal.is_reached(best.point),
        "options": tried.options(best),
        "k": k,
        "precision": best.point.precision(),
        "precision_interval": [precision_interval.low, precision_interval.high],
        "recall": best.point.recall(),
        "recall_interval": [recall_interval.low, recall_interval.high],
        "cpu_us": cost.cpu_us,
        "row_bytes": cost.row_bytes,
        "exact": exact.map(ExactChoice::counts),
        "pairs_at": tried.pairs_at.iter().map(|(limit, count)| (limit.to_string(), *count)).collect::<BTreeMap<_, _>>(),
    })
}

fn write_points(
    format: ResultFormat,
    out: &mut dyn Write,
    tried: &Tried,
    best: Choice<'_>,
) -> io::Result<()> {
    for (curve, points) in tried.curves.iter().enumerate().map(|(at, curve)| (at, &curve.points)) {
        for point in points {
            let line = Line::new(tried, Choice { curve, point });
            match format {
                ResultFormat::Tsv => line.write_tsv(out)?,
                ResultFormat::Json => line.write_json(out, curve == best.curve && point.k == best.point.k)?,
            }
        }
    }
    Ok(())
}

/// A line of the table.
struct Line<'a> {
    shingle: usize,
    point: &'a Point,
    similarity: Option<f64>,
    texts: Option<String>,
    /// cpu_us, query_us, bytes.
    costs: [f64; 3],
    recipe: String,
}

impl<'a> Line<'a> {
    fn new(tried: &Tried, choice: Choice<'a>) -> Self {
        let (curve, candidate) = (&tried.curves[choice.curve], &tried.candidates[choice.curve]);
        let cost = tried.cost(choice);
        Self {
            shingle: candidate.shingle,
            point: choice.point,
            similarity: curve.similarity(choice.point.k),
            texts: curve.confirm.map(|confirm| confirm.to_string()),
            costs: [cost.cpu_us, cost.query_us, cost.row_bytes],
            recipe: candidate.options(""),
        }
    }

    fn write_tsv(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { shingle, point, recipe, .. } = self;
        let Point { k, found, hits, .. } = point;
        let (precision, recall, f1) = (point.precision(), point.recall(), point.f1());
        write!(out, "{shingle}\t{k}\t{precision:.4}\t{recall:.4}\t{f1:.4}\t{found}\t{hits}")?;
        for Interval { low, high, .. } in [point.precision_interval, point.recall_interval] {
            write!(out, "\t{low:.4}\t{high:.4}")?;
        }
        let similarity = self.similarity.map_or_else(|| "-".into(), |similarity| similarity.to_string());
        let texts = self.texts.as_deref().unwrap_or("-");
        let [cpu_us, query_us, bytes] = self.costs;
        writeln!(out, "\t{similarity}\t{texts}\t{cpu_us:.1}\t{query_us:.2}\t{bytes:.1}\t{recipe}")
    }

    fn write_json(&self, out: &mut dyn Write, is_best: bool) -> io::Result<()> {
        let Self { shingle, point, recipe, .. } = self;
        let Point { k, found, hits, .. } = point;
        let (precision, recall, f1) = (point.precision(), point.recall(), point.f1());
        write!(out, r#"{{"shingle":{shingle},"k":{k},"precision":{precision:.4},"recall":{recall:.4}"#)?;
        write!(out, r#","f1":{f1:.4},"found":{found},"hits":{hits}"#)?;
        for (name, interval) in [("precision", point.precision_interval), ("recall", point.recall_interval)] {
            let Interval { low, high, .. } = interval;
            write!(out, r#","{name}_low":{low:.4},"{name}_high":{high:.4}"#)?;
        }
        let similarity = self.similarity.map_or_else(|| "null".into(), |similarity| similarity.to_string());
        let texts = self.texts.as_ref().map_or_else(|| "null".into(), |texts| format!("\"{texts}\""));
        let [cpu_us, query_us, bytes] = self.costs;
        write!(out, r#","similarity":{similarity},"texts":{texts},"cpu_us":{cpu_us:.1}"#)?;
        write!(out, r#","query_us":{query_us:.2},"bytes":{bytes:.1},"recipe":"{recipe}""#)?;
        writeln!(out, r#","recommended":{is_best}}}"#)
    }
}

/// What was compared.
fn documents_text(args: &Args, study: &Study) -> String {
    let (len, sampled) = (study.num_documents(), study.num_sampled());
    let (positives, pairs) = (study.num_positives(), study.num_pairs());
    let what = match args.known.is_given() {
        true => "known as near-duplicates".to_string(),
        false => format!("with a similarity of {} or more", args.similarity()),
    };
    if sampled == len {
        format!("{len} documents, {positives} of their {pairs} pairs {what}")
    } else {
        let why = match sampled < args.sample_size(len) {
            true => "; so few because many are near: --sample N compares more",
            false => "",
        };
        format!(
            "{len} documents, {sampled} of them compared with all others: {positives} of {pairs} pairs {what}{why}"
        )
    }
}

/// The options of the best line, and of the best one of each other kind of recipe and similarity of texts.
fn note_choices(
    args: &Args,
    (tried, exact): (&Tried, Option<&ExactChoice>),
    best: Choice<'_>,
    global: GlobalArgs,
) {
    let verdict = match exact {
        Some(_) => "with --store hashes".into(),
        None if args.known.is_given() => verdict(args, best).to_string(),
        None => {
            let goal =
                if args.goal.is_reached(best.point) { "" } else { "; nothing reaches the goal; nearest" };
            format!("fingerprints alone, as with -k and --store hashes{goal}")
        }
    };
    global.note(format_args!("{verdict}: {}", summary(tried, best)));
    let kind = |tried: &Tried, at: usize| {
        let curve = &tried.curves[at];
        (curve.recipe.bands().is_some(), curve.confirm)
    };
    for other in tried.best_by(args.goal, kind).into_iter().skip(1) {
        global.note(format_args!("otherwise: {}", summary(tried, other)));
    }
}

/// What the best line is.
fn verdict(args: &Args, best: Choice<'_>) -> &'static str {
    if args.goal.is_reached(best.point) { "recommended" } else { "nothing reaches the goal; nearest" }
}

/// The options of a point, its quality and its costs.
fn summary(tried: &Tried, choice: Choice<'_>) -> String {
    let (point, cost) = (choice.point, tried.cost(choice));
    let (precision, recall) = (point.precision_interval, point.recall_interval);
    format!(
        "{} (precision {:.4}, recall {:.4}), 95 %: precision {:.4} to {:.4}, recall {:.4} to {:.4}; \
         {:.0} us of CPU a document, {:.0} bytes a row",
        tried.options(choice),
        point.precision(),
        point.recall(),
        precision.low,
        precision.high,
        recall.low,
        recall.high,
        cost.cpu_us,
        cost.row_bytes
    )
}

/// Warnings about labels, about the border of what was tried, and about curves that end early.
///
/// The last two are about fingerprints. Without labels the advice is an exact similarity, so they are for users who see
/// the table or chose what was tried.
fn warnings(
    args: &Args,
    (tried, exact): (&Tried, Option<&ExactChoice>),
    study: &Study,
    best: Choice<'_>,
) -> Vec<String> {
    let mut warnings: Vec<String> = exact
        .map(ExactChoice::warnings)
        .unwrap_or_default()
        .iter()
        .map(|why| format!("warning: {why}"))
        .collect();
    if args.all || args.known.is_given() || !args.tried.is_empty() {
        warnings.extend(borders(tried, best).iter().map(|border| {
            format!("warning: the best fingerprints are on the border of what was tried: {border}")
        }));
        warnings.extend(short_curves(tried, study));
    }
    warnings
}

/// Which curves that compare texts end early, if any does.
fn short_curves(tried: &Tried, study: &Study) -> Option<String> {
    let is_short = |at: &usize| {
        let curve = &tried.curves[*at];
        curve.confirm.is_some() && curve.points.len() <= curve.num_bits() as usize / 2
    };
    let short: Vec<usize> = (0..tried.curves.len()).filter(is_short).collect();
    let last = |at: &usize| tried.curves[*at].points.len() - 1;
    let (least, most) = (short.iter().map(last).min()?, short.iter().map(last).max()?);
    let limit = study.most_confirmed();
    let all = tried.curves.iter().filter(|curve| curve.confirm.is_some()).count();
    let ends = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let count = short.len();
    let some = if count == all { "all".into() } else { format!("{count} of {all}") };
    Some(format!(
        "trials that compare texts end at k = {ends} ({some} of them), where they would compare more than {limit} pairs"
    ))
}

/// Writes the report, which shows the best curves and what the command line says.
fn write_report(
    args: &Args,
    (tried, exact): (&Tried, Option<&ExactChoice>),
    study: &Study,
    (best, command, warnings): (Choice<'_>, &str, Vec<String>),
) -> Result<(), Failure> {
    let failed = |error: Box<dyn std::error::Error>| nearprint::Error::Io {
        action: "draw",
        path: "the curves".into(),
        source: io::Error::other(error.to_string()),
    };
    let limit = match exact {
        Some(exact) => Some(exact.similarity()),
        None => (!args.known.is_given()).then(|| args.similarity()),
    };
    let svg = plot::svg(tried, args.goal, best, limit).map_err(failed)?;
    let report = || {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let mut facts = vec![
            fact("Command", command.into()),
            fact("Compared", documents_text(args, study)),
            fact("Goal", args.goal.to_string()),
        ];
        facts.extend(exact.map(|exact| fact("Quality", exact.quality())));
        let fingerprints = if exact.is_some() { "With --store hashes" } else { "Fingerprints" };
        facts.push(fact(fingerprints, format!("{}: {}", verdict(args, best), summary(tried, best))));
        facts.extend(warnings.into_iter().map(|warning| match warning.strip_prefix("warning: ") {
            Some(why) => fact("Warning", why.into()),
            None => fact("Note", warning),
        }));
        let caption =
            "Precision and recall of the best curves; circles mark the best fingerprints, a line the \
                       limit of the command"
                .into();
        let charts = vec![Chart { caption, svg }];
        Report { title: "nearprint tune".into(), facts, charts, ..Report::default() }
    };
    Ok(args.report.write(report, |_| Ok(()))?)
}
