//! `nearprint compare`

mod matrix;
mod records;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::args::{DecodingArgs, GlobalArgs, NearArgs, RecipeArgs, ReportArgs, values};
use crate::input::documents::{UnusualDocuments, for_each_text};
use crate::input::refused::refuse_databases;
use crate::pictures::{
    MAX_PICTURE_BYTES, NOT_TURNED, PictureReader, check_rotated, each_picture, is_picture,
};
use crate::report::{Report, ReportGroup, ReportMember};
use crate::terminal::failure::{Failure, unless_closed};
use crate::terminal::output::OutputStream;
use crate::terminal::results::share;
use crate::terminal::without_controls;
use crate::words::{Change, Folded, differences, folded};
use matrix::{Matrix, TableFormat};
use nearprint::Width;
use nearprint::any::AnyFingerprint;
use nearprint_text::documents::{self, Kind, look_at};
use nearprint_text::recipe::{Comparable, Fingerprinted, Recipe};
use records::Records;
use serde_json::{Value, json};

/// Show how similar texts or images are, and which words differ
///
/// Prints the distance. A terminal also shows the similarity, whether the texts are near, and the words in which they
/// differ. With --quiet, nothing is printed. The exit code is 0 if the texts are near, and 6 otherwise. Fingerprints
/// are MinHash by default; the distance is then the number of differing bits of the sketches, and texts are near only
/// if one band is equal. A and B may also be fingerprints of 64 or 128 bits in decimal or hexadecimal, or of 256 bits
/// in hexadecimal. All their bits are compared, unless --recipe is a recipe of MinHash. Images are compared by PDQ, or
/// with --recipe dhash or phash. To compare two records, give --key twice, and a file of records or a database that
/// keeps texts; or two, of which the second has the second key.
///
/// Three inputs or more, or --format csv, give a table with a row and a column for each file, in the given order. Each
/// cell is a distance. The exit code is then 0. A text without a feature of the recipe has the largest distance from
/// all texts with other words.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
To a pipe, the first line is the number of differing bits; --json also has the similarity. With -q, nothing is printed.
The exit code is 0 if both are near, and 6 otherwise. Examples:
  nearprint compare old.txt new.txt --similarity 0.7
  nearprint compare page-1.html page-2.html --recipe clean=html,nfc,lower
  nearprint compare old.txt new.txt --report difference.html
  nearprint compare photo.jpg smaller.png --rotated
  nearprint compare *.txt --format csv
  nearprint compare --key pages.jsonl:1 --key pages.jsonl:2 pages.jsonl
  nearprint compare 0x1f3a 0x1f3b")]
pub(super) struct Args {
    /// A text file, an image or a fingerprint; - for standard input. With --key, a file of records or a database
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The other text, image or fingerprint, or several texts or images
    #[arg(value_name = "B", required_unless_present = "keys")]
    others: Vec<PathBuf>,
    /// Compare two records: of A, or the first of A and the second of B
    #[arg(long = "key", value_name = "KEY")]
    keys: Vec<String>,
    /// With --key: field or column that holds the text
    #[arg(long, value_name = "NAME", default_value = "text", requires = "keys")]
    text_field: String,
    /// With --key: field or column that holds the key [default: INPUT:N, N counted from 1]
    #[arg(long, value_name = "NAME", requires = "keys")]
    key_field: Option<String>,
    #[command(flatten)]
    decoding: DecodingArgs,
    /// Print the words in which the texts differ, also to a pipe or a file, and in JSON
    #[arg(long)]
    words: bool,
    /// Print N equal lines around each difference
    #[arg(long, value_name = "N", default_value = "3")]
    context: usize,
    /// Also compare images as they are mirrored, or turned by 90, 180 or 270 degrees (PDQ)
    #[arg(long, conflicts_with = "keys")]
    rotated: bool,
    /// Format of the result
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: TableFormat,
    /// Print JSON, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    near: NearArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

impl Args {
    pub(super) fn run(mut self, global: GlobalArgs) -> Result<(), Failure> {
        if self.json {
            self.format = TableFormat::Json;
        }
        let (recipe, compared) = match &*self.others {
            _ if !self.keys.is_empty() => self.compared_records(global)?,
            [b] if self.format != TableFormat::Csv => self.compared(b, global)?,
            _ => return self.print_matrix(global),
        };
        // The exit code is a result too.
        unless_closed(self.print(&compared, global))?;
        let report = || self.report_of(&compared, recipe);
        self.report.write(report, |out| out.group(&self.group_of(&compared)))?;
        if compared.verdict.is_near() { Ok(()) } else { Err(Failure::NotNearDuplicates) }
    }

    /// Prints the distances between all inputs.
    fn print_matrix(&self, global: GlobalArgs) -> Result<(), Failure> {
        let of_two = [
            (self.words, "--words"),
            (self.report.path().is_some(), "--report"),
            (self.near.is_given(), "a limit of nearness"),
            (self.rotated, "--rotated"),
        ];
        if let Some((_, option)) = of_two.into_iter().find(|(is_given, _)| *is_given) {
            return Err(Failure::Usage(format!(
                "{option} is for two inputs, and not for CSV; for several, distances are printed"
            )));
        }
        let inputs = [std::slice::from_ref(&self.a), &self.others].concat();
        refuse_databases("compare", &inputs)?;
        refuse_lines(&inputs)?;
        Matrix { inputs: &inputs, format: self.format, decoding: &self.decoding, recipe: &self.recipe }
            .print(global)
    }

    /// Checks that the report replaces no file that is read.
    fn check_report(&self, b: &Path) -> Result<(), Failure> {
        let options = [self.recipe.stop_words_file(), self.decoding.program()];
        let read: Vec<&Path> = [&*self.a, b].into_iter().chain(options.into_iter().flatten()).collect();
        Ok(self.report.check(&read, &[])?)
    }

    /// What was found about two inputs, with the name of the recipe.
    fn compared(&self, b: &Path, global: GlobalArgs) -> Result<(String, Compared), Failure> {
        self.check_report(b)?;
        if is_picture(&self.a)
            && is_picture(b)
            && let Some(recipe) = self.recipe.of_images(&self.decoding, &[&*self.a, b])?
        {
            return Ok((recipe.name().into(), self.compared_pictures(b, recipe, global)?));
        }
        if self.rotated {
            return Err(Failure::Usage("--rotated: only images are turned".into()));
        }
        let recipe = self.recipe.recipe()?;
        let compared = match self.compared_fingerprints(b)? {
            Some(compared) => compared,
            None => self.compared_texts(&recipe, self.texts(b, global)?, global)?,
        };
        Ok((recipe.to_string(), compared))
    }

    /// What was found about two records with keys, with the name of the recipe.
    fn compared_records(&self, global: GlobalArgs) -> Result<(String, Compared), Failure> {
        let ([first, second], [] | [_]) = (&*self.keys, &*self.others) else {
            let why = "--key: give it twice, once for each record, and one or two inputs";
            return Err(Failure::Usage(why.into()));
        };
        if self.format == TableFormat::Csv {
            return Err(Failure::Usage(
                "--format csv: prints tables of files, and --key names records".into(),
            ));
        }
        let b = self.others.first().unwrap_or(&self.a);
        self.check_report(b)?;
        let (text_field, key_field) = (&*self.text_field, self.key_field.as_deref());
        let decoding = &self.decoding;
        let records = |input| Records { input, text_field, key_field, decoding };
        let (texts, stored) = match self.others.first() {
            None => records(&self.a).find(&[first, second])?,
            Some(b) => {
                let (mut texts, stored) = records(&self.a).find(&[first])?;
                let (others, of_b) = records(b).find(&[second])?;
                texts.extend(others);
                (texts, stored.or(of_b))
            }
        };
        let recipe = self.recipe.recipe_or(|| stored.map_or_else(|| Ok(Recipe::DEFAULT.parse()?), Ok))?;
        let texts = <[String; 2]>::try_from(texts).unwrap_or_default();
        Ok((recipe.to_string(), self.compared_texts(&recipe, texts, global)?))
    }

    /// What the inputs are called.
    fn names(&self) -> [String; 2] {
        match (self.others.first(), &*self.keys) {
            (_, [first, second]) => [first.clone(), second.clone()],
            (b, _) => [self.a.as_path(), b.map_or(Path::new("-"), PathBuf::as_path)]
                .map(|path| path.to_string_lossy().into_owned()),
        }
    }

    fn print(&self, compared: &Compared, global: GlobalArgs) -> Result<(), Failure> {
        if global.quiet {
            return Ok(());
        }
        let is_terminal = io::stdout().is_terminal();
        let mut out = OutputStream::stdout();
        let Compared { distance, bits, k, similarity, verdict, .. } = compared;
        if self.format == TableFormat::Json {
            let similarity = similarity.map_or("null".into(), |similarity| similarity.to_string());
            let near = verdict.is_near();
            let words = compared.texts.as_ref().filter(|_| self.words);
            let words = words.map_or(String::new(), |[a, b]| format!(r#","words":{}"#, words_in_json(a, b)));
            out.write(|out| {
                writeln!(
                    out,
                    r#"{{"distance":{distance},"bits":{bits},"k":{k},"similarity":{similarity},"near":{near}{words}}}"#
                )
            })?;
            return Ok(out.flush()?);
        }
        let summary = compared.summary();
        if is_terminal {
            out.write(|out| writeln!(out, "{distance}  {summary}"))?;
        } else {
            global.note(format_args!("{summary}"));
            out.write(|out| writeln!(out, "{distance}"))?;
        }
        if let Some([a, b]) = compared.texts.as_ref().filter(|_| self.words || is_terminal) {
            let has_colours = is_terminal && std::env::var_os("NO_COLOR").is_none();
            out.write(|out| write_words(out, &differences(a, b), self.context, has_colours))?;
        }
        Ok(out.flush()?)
    }

    fn report_of(&self, compared: &Compared, recipe: String) -> Report {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let [first, second] = self.names();
        let facts = vec![
            fact("First", first),
            fact("Second", second),
            fact("Recipe", recipe),
            fact("Distance", format!("{} of {} bits", compared.distance, compared.bits)),
            fact("Result", compared.summary()),
        ];
        Report { title: "nearprint compare".into(), facts, ..Report::default() }
    }

    fn group_of(&self, compared: &Compared) -> ReportGroup {
        let [a, b] = [0, 1].map(|at| compared.texts.as_ref().map(|texts| texts[at].clone()));
        let [first, second] = self.names();
        let member = |name: String, text: Option<String>| ReportMember {
            name,
            bytes: text.as_ref().map(|text| text.len() as u64),
            text,
            ..ReportMember::default()
        };
        let is_exact = a.is_some() && a == b;
        let other = ReportMember {
            distance: Some(compared.distance),
            similarity: compared.similarity,
            is_exact,
            ..member(second, b)
        };
        ReportGroup { kept: member(first, a), others: vec![other], num_unlisted: 0 }
    }

    /// What was found if both arguments are fingerprints and not names of files. Their width is the
    /// smallest one in which both can be parsed.
    fn compared_fingerprints(&self, b: &Path) -> Result<Option<Compared>, Failure> {
        if self.a.exists() || b.exists() {
            return Ok(None);
        }
        let Some((a, b)) = self.a.to_str().zip(b.to_str()) else { return Ok(None) };
        let recipe = self.recipe.given()?;
        // A recipe determines the width.
        let is_possible = |width: &Width| recipe.as_ref().is_none_or(|recipe| recipe.width() == *width);
        let mut widths = Width::ALL.into_iter().filter(is_possible);
        let parse = |width, text| AnyFingerprint::parse(width, text, None).ok();
        let parsed = widths.find_map(|width| parse(width, a).zip(parse(width, b)));
        let Some((a, b)) = parsed else { return Ok(None) };
        let (width, bands) = (a.width(), recipe.as_ref().and_then(Recipe::bands));
        let (distance, shares_band) = match bands {
            Some(bands) => {
                (a.sketch_distance(b, bands), a.shares_band(b, bands) && !a.is_zero() && !b.is_zero())
            }
            None => (a.distance(b), true),
        };
        let default =
            recipe.as_ref().filter(|_| bands.is_some()).map_or(values::DEFAULT_K, Recipe::default_k);
        let k = self.near.k(bands, width)?.unwrap_or(default);
        Ok(Some(Compared {
            distance,
            bits: recipe.as_ref().map_or(width.bits(), Recipe::compared_bits),
            k,
            similarity: recipe.as_ref().map(|recipe| recipe.similarity(distance)),
            verdict: Verdict::of(distance <= k, shares_band),
            texts: None,
        }))
    }

    /// What was found about two pictures.
    fn compared_pictures(
        &self,
        b: &Path,
        recipe: nearprint_image::Recipe,
        global: GlobalArgs,
    ) -> Result<Compared, Failure> {
        let width = recipe.width();
        let k = self.near.k(None, width)?.unwrap_or(recipe.default_k());
        check_rotated(self.rotated, recipe)?;
        let reader = PictureReader::new(MAX_PICTURE_BYTES, self.rotated);
        let mut prints: Vec<Vec<AnyFingerprint>> = Vec::new();
        each_picture(&[self.a.clone(), b.into()], &reader, recipe, global, |_, of_one| {
            prints.push(of_one.values);
            Ok(())
        })?;
        // It should not matter which of the two is turned. Rounding makes a difference, so both are.
        let [a, b] = [&prints[0], &prints[1]];
        let turned = a.iter().map(|&a| a.distance(b[0])).chain(b.iter().map(|&b| a[0].distance(b)));
        let distance = turned.min().unwrap_or(width.bits());
        let verdict = Verdict::of(distance <= k, true);
        if !verdict.is_near() && !self.rotated && recipe == nearprint_image::Recipe::Pdq {
            global.note(format_args!("{NOT_TURNED}"));
        }
        let similarity = Some(1.0 - f64::from(distance) / f64::from(width.bits()));
        Ok(Compared { distance, bits: width.bits(), k, similarity, verdict, texts: None })
    }

    /// The texts in two files.
    fn texts(&self, b: &Path, global: GlobalArgs) -> Result<[String; 2], Failure> {
        let inputs = [self.a.clone(), b.into()];
        if inputs.iter().all(|input| input.as_os_str() == "-") {
            return Err(Failure::Usage("only one input can be standard input".into()));
        }
        refuse_databases("compare", &inputs)?;
        if let Some(folder) = inputs.iter().find(|input| input.is_dir()) {
            let folder = folder.display();
            return Err(Failure::Usage(format!("`compare` needs two texts, but {folder} is a folder")));
        }
        refuse_lines(&inputs)?;
        let mut texts = Vec::new();
        for_each_text(&inputs, &self.decoding, global, &mut |record| texts.push(record.text.clone()))?;
        <[String; 2]>::try_from(texts).map_err(|texts| {
            Failure::Usage(format!("`compare` needs two texts, but the inputs have {}", texts.len()))
        })
    }

    /// What was found about two texts.
    fn compared_texts(
        &self,
        recipe: &Recipe,
        texts: [String; 2],
        global: GlobalArgs,
    ) -> Result<Compared, Failure> {
        let k = self.near.k(recipe.bands(), recipe.width())?.unwrap_or(recipe.default_k());
        let (given_k, given_similarity) = self.near.of_documents(recipe)?;
        let least = given_similarity.unwrap_or(recipe.near_similarity());
        let mut fingerprinter = recipe.any_fingerprinter().with_features();
        let [a, b] = texts.each_ref().map(|text| fingerprinter.fingerprint(text));
        let mut unusual = UnusualDocuments::default();
        [&a, &b].iter().for_each(|found| unusual.push(found.comparable()));
        unusual.warn(global);
        let distance = recipe.distance(a.stored("a"), b.stored("b"));
        let bands = recipe.bands();
        let shares_band = bands.is_none_or(|bands| a.value.shares_band(b.value, bands));
        let exact = bands.filter(|_| given_k.is_none()).and_then(|_| a.features.similarity(&b.features));
        let has_markup = a.has_markup || b.has_markup;
        let of_features = || match exact {
            Some(1.0) if least >= 1.0 && has_markup && a.text_hash != b.text_hash => Verdict::OtherMarkup,
            Some(similarity) => Verdict::of_similarity(similarity, least),
            None => Verdict::of(distance <= k, shares_band),
        };
        let verdict = of_tokens(&a, &b).unwrap_or_else(of_features);
        let has_similarity = !matches!(verdict, Verdict::NoToken | Verdict::NoFeature);
        Ok(Compared {
            distance,
            bits: recipe.compared_bits(),
            k,
            similarity: has_similarity.then(|| exact.unwrap_or_else(|| recipe.similarity(distance))),
            verdict,
            texts: Some(texts),
        })
    }
}

/// Refuses two files of JSON lines, which are records and no texts.
fn refuse_lines(inputs: &[PathBuf]) -> Result<(), Failure> {
    for input in inputs {
        let is_stdin = input.as_os_str() == "-";
        if is_stdin
            || look_at(input)?.is_none_or(|found| found.kind != Kind::Records(documents::Records::JsonLines))
        {
            return Ok(());
        }
    }
    let [a, b] = [0, 1].map(|at| inputs[at].display());
    Err(Failure::OtherCommand {
        why: format!("{a} and {b} are JSON lines, but `compare` compares texts"),
        hint: format!(
            "`nearprint dedup {a} {b} -o OUT` compares records, `nearprint compare --key KEY --key KEY {a}` two of them"
        ),
    })
}

/// What was found about two texts or fingerprints.
struct Compared {
    distance: u32,
    /// The largest distance there is.
    bits: u32,
    /// The largest distance that is near.
    k: u32,
    /// `None` if the recipe is unknown, or a text has no feature.
    similarity: Option<f64>,
    verdict: Verdict,
    /// `None` for fingerprints.
    texts: Option<[String; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Near,
    TooFar,
    /// No band of the MinHash fingerprints is equal.
    NoEqualBand,
    /// Their exact similarity is at least this.
    Similar(f64),
    /// It is less than this.
    Dissimilar(f64),
    /// Their features are the same, and only copies of a page are near.
    OtherMarkup,
    /// One of the texts has no token.
    NoToken,
    /// One of the texts has no feature, and the tokens differ.
    NoFeature,
    /// Both texts have the same tokens, and no feature.
    SameTokens,
}

/// The verdict on two texts if one has no feature; otherwise `None`.
fn of_tokens(a: &Fingerprinted<AnyFingerprint>, b: &Fingerprinted<AnyFingerprint>) -> Option<Verdict> {
    match (a.comparable(), b.comparable()) {
        (Comparable::Features, Comparable::Features) => None,
        (Comparable::Nothing, _) | (_, Comparable::Nothing) => Some(Verdict::NoToken),
        _ if a.text_hash == b.text_hash => Some(Verdict::SameTokens),
        _ => Some(Verdict::NoFeature),
    }
}

impl Verdict {
    fn is_near(self) -> bool {
        matches!(self, Self::Near | Self::Similar(_) | Self::SameTokens)
    }

    fn of_similarity(similarity: f64, least: f64) -> Self {
        if similarity >= least { Self::Similar(least) } else { Self::Dissimilar(least) }
    }

    fn of(is_within: bool, shares_band: bool) -> Self {
        match (is_within, shares_band) {
            (_, false) => Self::NoEqualBand,
            (true, true) => Self::Near,
            (false, true) => Self::TooFar,
        }
    }
}

impl Compared {
    /// The similarity and the verdict in words.
    fn summary(&self) -> String {
        let exact = share(self.similarity.unwrap_or_default());
        let similarity =
            self.similarity.map_or(String::new(), |found| format!("similarity about {found:.2}; "));
        let Self { k, bits, .. } = self;
        match self.verdict {
            Verdict::Near => format!("{similarity}near-duplicates: at most {k} of {bits} bits differ"),
            Verdict::TooFar => format!("{similarity}not near: more than {k} of {bits} bits differ"),
            Verdict::NoEqualBand => format!("{similarity}not near, as no band is equal"),
            Verdict::Similar(least) => format!("similarity {exact}; near-duplicates: at least {least}"),
            Verdict::Dissimilar(least) => format!("similarity {exact}; not near: less than {least}"),
            Verdict::OtherMarkup => format!("similarity {exact}; not copies: the markup differs"),
            Verdict::NoToken => "not near: a text has no words".into(),
            Verdict::NoFeature => {
                "not near: a text has no feature of the recipe, and the words differ".into()
            }
            Verdict::SameTokens => "copies: the same words, but no feature of the recipe".into(),
        }
    }
}

/// Two texts as one, in parts: each an object whose only name is `equal`, `removed` or `added`.
fn words_in_json(a: &str, b: &str) -> Value {
    let part = |change: &Change<'_>| match change {
        Change::Equal(text) => json!({ "equal": text }),
        Change::Removed(text) => json!({ "removed": text }),
        Change::Added(text) => json!({ "added": text }),
    };
    differences(a, b).iter().map(part).collect()
}

/// Prints two texts as one. Without colours, `[-` and `-]` are around words of the first one, `{+`
/// and `+}` around words of the second.
fn write_words(
    out: &mut dyn Write,
    changes: &[Change<'_>],
    context: usize,
    has_colours: bool,
) -> io::Result<()> {
    let around = |first: &'static str, last: &'static str, colour: &'static str| match has_colours {
        true => (colour, "\x1b[0m"),
        false => (first, last),
    };
    let mut ends_line = false;
    for (at, change) in changes.iter().enumerate() {
        let (before, after) = match change {
            Change::Equal(text) => {
                let around = [at > 0, at + 1 < changes.len()].map(|is_beside| is_beside.then_some(context));
                let Folded { first, num_lines, last } = folded(text, around);
                write!(out, "{}", without_controls(first))?;
                if num_lines > 0 {
                    writeln!(out, "@@ {num_lines} equal lines @@")?;
                }
                write!(out, "{}", without_controls(last))?;
                ends_line = text.ends_with('\n') || (num_lines > 0 && last.is_empty());
                continue;
            }
            Change::Removed(_) => around("[-", "-]", "\x1b[31;9m"),
            Change::Added(_) => around("{+", "+}", "\x1b[32m"),
        };
        write!(out, "{before}{}{after}", without_controls(change.text()))?;
        ends_line = change.text().ends_with('\n');
    }
    if ends_line { Ok(()) } else { writeln!(out) }
}
