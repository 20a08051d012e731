//! Inputs that another command is for, and outputs that belong elsewhere.

use std::path::{Path, PathBuf};

use nearprint_text::acts::database_around;
use nearprint_text::documents::{Kind, Records, look_at};

use crate::terminal::failure::Failure;

/// Refuses databases among paths of documents.
pub(crate) fn refuse_databases(command: &str, paths: &[PathBuf]) -> Result<(), Failure> {
    for path in paths.iter().filter(|path| path.is_dir()) {
        if look_at(path)?.is_some_and(|found| found.kind == Kind::Database) {
            let path = path.display();
            return Err(Failure::OtherCommand {
                why: format!("{path} is a database, but `{command}` reads documents"),
                hint: format!(
                    "`nearprint clusters {path}` groups what is in it, and `nearprint dedup INPUT --db {path} -o OUT` \
                     compares documents with it"
                ),
            });
        }
    }
    Ok(())
}

/// Refuses one file of records alone, where files are compared.
pub(crate) fn refuse_lone_records(command: &str, paths: &[PathBuf]) -> Result<(), Failure> {
    let [path] = paths else { return Ok(()) };
    match look_at(path)?.map(|found| found.kind) {
        Some(Kind::Records(records)) if records != Records::Json => {
            let (path, name) = (path.display(), records.name());
            Err(Failure::OtherCommand {
                why: format!("{path} is one file of {name}, but `{command}` compares files"),
                hint: format!("`nearprint dedup {path} -o OUT` compares its records"),
            })
        }
        _ => Ok(()),
    }
}

/// Refuses to put a file into a database, whose next writer might remove it.
pub(crate) fn refuse_inside_database(option: &str, path: &Path) -> Result<(), Failure> {
    match database_around(path)? {
        Some(database) => {
            let (path, database) = (path.display(), database.display());
            Err(Failure::Usage(format!("{option} {path}: is inside the database {database}")))
        }
        None => Ok(()),
    }
}
