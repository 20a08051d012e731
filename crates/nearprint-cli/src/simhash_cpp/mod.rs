//! `simhash-find-all` and `simhash-find-clusters`: the command lines of simhash-cpp.
//!
//! Options, input, output, exit codes and lines on standard error are the same as in simhash-cpp,
//! except where it aborts. `docs/simhash-cpp.md` lists every difference. The algorithm is
//! nearprint's, and `--blocks` has no effect on it.

mod exit;
mod numbers;
mod options;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::process::ExitCode;

use crate::terminal::interrupt::survive_size_limit;
use crate::terminal::print_message;
use crate::terminal::stdout::Stdout;
use exit::{BAD_BLOCKS, Exit, MAX_BLOCKS, NOT_A_NUMBER, UNREADABLE, UNWRITABLE};
use nearprint::{Error, Options, list};
use nearprint_text::documents::OutputFile;
use numbers::Leading;
use options::Settings;

#[derive(Clone, Copy, Debug)]
enum Task {
    Pairs,
    Clusters,
}

/// Runs `simhash-find-all`.
#[must_use]
pub fn find_all_main() -> ExitCode {
    main(Task::Pairs)
}

/// Runs `simhash-find-clusters`.
#[must_use]
pub fn find_clusters_main() -> ExitCode {
    main(Task::Clusters)
}

fn main(task: Task) -> ExitCode {
    survive_size_limit();
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let program = program.to_string_lossy();
    let outcome = Settings::parse(arguments).and_then(|settings| match settings {
        Some(settings) => run(&settings, task),
        None => print_usage(&program, task),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, why)) => {
            print_message(format_args!("{program}: {why}"));
            ExitCode::from(code)
        }
    }
}

fn print_usage(program: &str, task: Task) -> Result<(), Exit> {
    let finds = match task {
        Task::Pairs => "pairs",
        Task::Clusters => "clusters",
    };
    writeln!(
        Stdout::lock(),
        "usage: {program} --blocks BLOCKS --distance DISTANCE --input INPUT --output OUTPUT\n\
         \n\
         Reads 64-bit numbers, one decimal number a line, and writes the {finds} of distinct numbers\n\
         within DISTANCE bits, one JSON array a line.\n\
         \n\
         \x20 -b, --blocks BLOCKS      more than DISTANCE, at most {MAX_BLOCKS}; the result does not depend on it\n\
         \x20 -d, --distance DISTANCE  how many bits may differ, at least 1\n\
         \x20 -i, --input INPUT        a file, or - for standard input (the default)\n\
         \x20 -o, --output OUTPUT      a file, or - for standard output (the default)\n\
         \x20     --strict             accept only digits in numbers, and no folder as INPUT\n\
         \x20 -h, --help               print this"
    )
    .map_err(|error| (UNWRITABLE, error.to_string()))
}

/// Reads the numbers and writes the pairs or clusters.
fn run(settings: &Settings, task: Task) -> Result<(), Exit> {
    let source = open(settings)?;
    let distance = match u32::try_from(settings.distance) {
        Ok(distance) if settings.blocks <= MAX_BLOCKS => distance,
        _ => return Err((BAD_BLOCKS, format!("blocks may be at most {MAX_BLOCKS}"))),
    };
    let values = read(settings, source)?;
    let (found, written) = match task {
        Task::Pairs => ("matches", "matches"),
        Task::Clusters => ("clusters", "results"),
    };
    print_message(format_args!("Computing {found}..."));
    let (sink, file) = create(settings, written)?;
    write(settings, (task, distance), values, BufWriter::with_capacity(1 << 16, sink))?;
    file.map_or(Ok(()), OutputFile::complete).map_err(|error| (UNWRITABLE, error.to_string()))
}

fn open(settings: &Settings) -> Result<Box<dyn Read>, Exit> {
    if settings.input == "-" {
        print_message(format_args!("Reading hashes from stdin."));
        return Ok(Box::new(io::stdin()));
    }
    print_message(format_args!("Reading hashes from {}", settings.input.display()));
    Ok(Box::new(File::open(&settings.input).map_err(|error| unreadable(settings, &error))?))
}

/// Where results go, and the file that has its name when they are complete.
fn create(settings: &Settings, written: &str) -> Result<(Box<dyn Write>, Option<OutputFile>), Exit> {
    if settings.output == "-" {
        print_message(format_args!("Writing results to stdout."));
        return Ok((Box::new(Stdout::lock()), None));
    }
    let name = settings.output.display();
    print_message(format_args!("Writing {written} to {name}"));
    let unwritable = |error: String| (UNWRITABLE, format!("cannot write {name}: {error}"));
    let file = OutputFile::create(settings.output.as_ref()).map_err(|error| unwritable(error.to_string()))?;
    let again = file.file().try_clone().map_err(|error| unwritable(error.to_string()))?;
    Ok((Box::new(again), Some(file)))
}

fn write(
    settings: &Settings,
    (task, distance): (Task, u32),
    values: Vec<u64>,
    mut out: impl Write,
) -> Result<(), Exit> {
    let options = Options::new();
    let failed = |source| Error::Io { action: "write", path: settings.output.clone().into(), source };
    let result = match task {
        Task::Pairs => list::visit_pairs(values, distance, &options, |block| {
            block.iter().try_for_each(|pair| writeln!(out, "[{}, {}]", pair.a, pair.b)).map_err(failed)
        }),
        Task::Clusters => list::visit_clusters(values, distance, &options, |cluster| {
            let numbers: Vec<String> = cluster.iter().map(u64::to_string).collect();
            writeln!(out, "[{}]", numbers.join(", ")).map_err(failed)
        }),
    };
    match result.and_then(|()| out.flush().map_err(failed)) {
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err((UNWRITABLE, error.to_string())),
        Ok(()) => Ok(()),
    }
}

fn read(settings: &Settings, source: impl Read) -> Result<Vec<u64>, Exit> {
    let mut reader = BufReader::with_capacity(1 << 18, source);
    let mut values = Vec::new();
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => break,
            // simhash-cpp takes a folder for an empty file.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory && !settings.is_strict => break,
            outcome => outcome.map_err(|error| unreadable(settings, &error))?,
        };
        let leading = if settings.is_strict { numbers::digits_alone(&line) } else { numbers::leading(&line) };
        let not_a_number = |why: &str| {
            let text = String::from_utf8_lossy(line.trim_ascii());
            (NOT_A_NUMBER, format!("{}:{number}: {why}: {text:?}", settings.input.display()))
        };
        match leading {
            Leading::Number(value) => values.push(value),
            Leading::TooLarge => return Err(not_a_number("more than 64 bits")),
            Leading::Blank | Leading::NoDigits => return Err(not_a_number("not a number")),
        }
    }
    Ok(values)
}

fn unreadable(settings: &Settings, error: &io::Error) -> Exit {
    (UNREADABLE, format!("cannot read {}: {error}", settings.input.display()))
}
