//! `nearprint scan`

mod files;
mod groups;
mod print;

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::args::values;
use crate::args::{GlobalArgs, NearArgs, RecipeArgs};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::typed::{TypedCommand, run_with_width};
use files::{FileReader, ScannedFiles};
use groups::FileGroup;
use nearprint::Fingerprint;
use nearprint_text::dedup::Confirm;
use nearprint_text::recipe::Recipe;
use print::Style;

/// Find near-duplicate files under folders
///
/// Prints groups of files, the largest groups first: the number of files, then the path of each
/// file and its distance in bits from the first one. A group is connected by steps of at most K
/// bits. Binary files, links, and the folders .git, .hg and .svn are left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint scan .
  nearprint scan ~/.cargo/registry/src -k 6
  nearprint scan articles --min-tokens 100 --json | head -1")]
pub(super) struct Args {
    /// Folders and files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    near: NearArgs,
    /// Connect two files only if their texts are near, too: jaccard:X or edit:X, as for `dedup`;
    /// each thread holds the files of one group in memory
    #[arg(long, value_name = "MEASURE")]
    confirm: Option<Confirm>,
    /// Leave out files of fewer than N tokens: fingerprints of short texts are unreliable
    #[arg(long, value_name = "N", default_value = "30")]
    min_tokens: usize,
    /// Leave out files of more than SIZE bytes; each thread holds one file in memory
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = values::size)]
    max_size: usize,
    /// Print only the N largest groups; all are counted
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print one JSON object for each group
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    recipe: RecipeArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let recipe = self.recipe.recipe()?;
        run_with_width(recipe.width(), &self, &recipe, global)
    }
}

impl TypedCommand<&Recipe> for &Args {
    fn run_typed<F: Fingerprint>(self, recipe: &Recipe, global: GlobalArgs) -> Result<(), Failure> {
        let k = self.near.k(recipe.bands(), F::WIDTH)?.unwrap_or(recipe.default_k());
        let started = Instant::now();
        let bars = global.bars();
        let options = global.options().progress(bars.clone());
        let reader = FileReader::new(recipe.fingerprinter::<F>()?, self.min_tokens, self.max_size);
        let scanned = files::scan_all(&self.paths, &reader, &options).inspect_err(|_| bars.clear())?;
        let groups = groups::find(&scanned.texts, recipe.near(k), self.confirm, &options);
        bars.clear();
        let groups = groups?;
        for why in &scanned.unreadable {
            global.note(format_args!("warning: {why}"));
        }
        let mut out = OutputStream::stdout();
        let style = Style::of_stdout(self.json);
        let shown = &groups[..self.limit.unwrap_or(usize::MAX).min(groups.len())];
        out.write(|out| shown.iter().try_for_each(|group| style.write_group(out, group, &scanned.texts)))?;
        out.flush()?;
        global.note(format_args!("{}", summary(&scanned, &groups, self.min_tokens, started.elapsed())));
        Ok(())
    }
}

/// The numbers of files scanned, grouped and left out.
fn summary<F>(scanned: &ScannedFiles<F>, groups: &[FileGroup], min_tokens: usize, time: Duration) -> String {
    let num_grouped: usize = groups.iter().map(|group| group.members.len()).sum();
    let mut text = format!(
        "{} files, {:.1} MB in {:.1} s: {} near-duplicates in {} groups",
        scanned.num_files(),
        scanned.len_bytes as f64 / 1e6,
        time.as_secs_f64(),
        num_grouped,
        groups.len(),
    );
    let left_out = [
        (scanned.num_binary, "binary".to_string()),
        (scanned.num_empty, "empty".into()),
        (scanned.num_short, format!("of fewer than {min_tokens} tokens")),
        (scanned.num_large, "too large".into()),
        (scanned.unreadable.len(), "unreadable".into()),
    ];
    let mut separator = "\nleft out: ";
    for (count, what) in left_out.iter().filter(|(count, _)| *count > 0) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}{count} {what}");
        separator = ", ";
    }
    text
}
