//! `nearprint scan`

mod files;
mod groups;
mod print;

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Bars;
use crate::recipe::RecipeArgs;
use crate::width::{ForWidth, run_for};
use crate::{Global, values};
use files::{Finder, Looked};
use groups::Group;
use nearprint::Fingerprint;
use nearprint_text::dedup::Confirm;
use nearprint_text::recipe::Recipe;
use print::Style;

/// Find near-duplicate files under folders
///
/// Prints groups of files, those of most files first: how many there are, then for each its distance in bits
/// from the first one, and its path. A group is connected by steps of at most K bits. Binary files, links,
/// and what version control keeps in .git, .hg and .svn are left out.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint scan .
  nearprint scan ~/.cargo/registry/src -k 6
  nearprint scan articles --min-tokens 100 --json | head -1")]
pub(crate) struct Args {
    /// Folders and files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// How many bits two neighbours may differ in
    #[arg(short, value_name = "K", default_value_t = DEFAULT_K, value_parser = values::distance)]
    k: u32,
    /// Take a step between two files only where their texts are near, too: jaccard:X or edit:X, as for
    /// `dedup`; each thread holds the files of one group in memory
    #[arg(long, value_name = "MEASURE")]
    confirm: Option<Confirm>,
    /// Leave out files of fewer than N tokens: what differs in short ones hardly shows
    #[arg(long, value_name = "N", default_value = "30")]
    min_tokens: usize,
    /// Leave out files of more than SIZE bytes; each thread holds one in memory
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = values::size)]
    max_size: usize,
    /// Print the N largest groups only; all are counted
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print one JSON object for each group
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// How far near-duplicates are apart where nothing is said.
const DEFAULT_K: u32 = 3;

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let recipe = self.recipe.recipe()?;
        run_for(recipe.width(), &self, &recipe, global)
    }
}

impl ForWidth<&Recipe> for &Args {
    fn run_wide<F: Fingerprint>(self, recipe: &Recipe, global: Global) -> Result<(), Failure> {
        F::WIDTH.check_distance(self.k)?;
        let started = Instant::now();
        let bars = Bars::new(global);
        let options = global.options().progress(bars.clone());
        let finder = Finder::new(recipe.fingerprinter::<F>()?, self.min_tokens, self.max_size);
        let looked = files::look_at_all(&self.paths, &finder, &options).inspect_err(|_| bars.clear())?;
        let groups = groups::of(&looked.texts, self.k, self.confirm, &options);
        bars.clear();
        let groups = groups?;
        for why in &looked.unreadable {
            global.note(format_args!("warning: {why}"));
        }
        let mut out = Output::stdout();
        let style = Style::of_stdout(self.json);
        let shown = &groups[..self.limit.unwrap_or(usize::MAX).min(groups.len())];
        out.write(|out| shown.iter().try_for_each(|group| style.group(out, group, &looked.texts)))?;
        out.flush()?;
        global.note(format_args!("{}", summary(&looked, &groups, self.min_tokens, started.elapsed())));
        Ok(())
    }
}

/// What was looked at, found and left out.
fn summary<F>(looked: &Looked<F>, groups: &[Group], min_tokens: usize, time: Duration) -> String {
    let num_grouped: usize = groups.iter().map(|group| group.members.len()).sum();
    let mut text = format!(
        "{} files, {:.1} MB in {:.1} s: {} near-duplicates in {} groups",
        looked.num_files(),
        looked.len_bytes as f64 / 1e6,
        time.as_secs_f64(),
        num_grouped,
        groups.len(),
    );
    let left_out = [
        (looked.num_binary, "binary".to_string()),
        (looked.num_empty, "empty".into()),
        (looked.num_short, format!("of fewer than {min_tokens} tokens")),
        (looked.num_large, "too large".into()),
        (looked.unreadable.len(), "unreadable".into()),
    ];
    let mut separator = "\nleft out: ";
    for (count, what) in left_out.iter().filter(|(count, _)| *count > 0) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}{count} {what}");
        separator = ", ";
    }
    text
}
