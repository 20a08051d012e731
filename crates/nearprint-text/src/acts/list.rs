//! Undo lists: what they may do.
//!
//! A list is somebody's input, whoever seems to have written it. It touches the current folder, its own folder, and
//! those that are named beside it. It gives no file the rights of another user unless it is trusted.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use nearprint::internal::file::sync_folder;

use super::file_act::FileAct;
use super::perform::{Step, folder_of};
use super::places::{escaped, make_folders, resolved};
use crate::documents::open_regular;
use crate::error::{Error, Result};

/// What an undo list may do.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Folders without links in their paths.
    roots: Vec<PathBuf>,
    trusts: bool,
}

impl Bounds {
    /// Allows what is inside of the current folder, the folder of the list, and further folders. With `trusts`, a list
    /// may also make files setuid or setgid, and give them to other users.
    ///
    /// # Errors
    /// Those of looking at the folders.
    pub fn new(list: &Path, roots: &[PathBuf], trusts: bool) -> io::Result<Self> {
        let list = resolved(list)?;
        let mut allowed = vec![Path::new(".").canonicalize()?, folder_of(&list).to_path_buf()];
        for root in roots {
            allowed.push(root.canonicalize()?);
        }
        Ok(Self { roots: allowed, trusts })
    }

    pub(super) fn trusts(&self) -> bool {
        self.trusts
    }

    /// Fails if a path is outside.
    pub(super) fn check_path(&self, path: &Path) -> io::Result<()> {
        match self.has(path)? {
            true => Ok(()),
            false => {
                Err(io::Error::other(format!("{} is outside of the folders of this undo", escaped(path))))
            }
        }
    }

    fn has(&self, path: &Path) -> io::Result<bool> {
        let folder = resolved(folder_of(path))?;
        Ok(self.roots.iter().any(|root| folder.starts_with(root)))
    }

    /// The folders to name beside a list, so that it can undo steps: those of `folders` that are needed, and otherwise
    /// the folder of a file.
    ///
    /// # Errors
    /// Those of looking at the folders.
    pub fn further_roots(&self, steps: &[Step], folders: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        let mut all = self.clone();
        let mut further = Vec::new();
        for path in steps.iter().flat_map(|step| [step.act.path(), step.act.other()]) {
            if !all.has(path)? {
                let folder = resolved(folder_of(path))?;
                let root = folders.iter().find(|root| folder.starts_with(root)).cloned().unwrap_or(folder);
                all.roots.push(root.clone());
                further.push(root);
            }
        }
        Ok(further)
    }

    /// Why a list is refused, if it is: the first of its files that it may not touch, or not so.
    ///
    /// # Errors
    /// Those of looking at the folders.
    pub fn refusal(&self, acts: &[FileAct]) -> io::Result<Option<String>> {
        for act in acts {
            for path in [act.path(), act.other()] {
                if !self.has(path)? {
                    let path = escaped(path);
                    return Ok(Some(format!(
                        "{path}: is outside of the current folder and of the folder of the list; --root DIR allows a folder"
                    )));
                }
            }
            if act.attributes.sets_id() && !self.trusts {
                let path = escaped(act.path());
                return Ok(Some(format!("{path}: the list makes it setuid or setgid, which --trust allows")));
            }
        }
        Ok(None)
    }
}

/// Writes the acts of steps to a new file, and makes it durable before the first of them is done. Makes its folder.
///
/// # Errors
/// Those of the system, also if the file exists.
pub fn write_list(path: &Path, steps: &[Step]) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    make_folders(folder_of(&path))?;
    let mut file = File::create_new(&path)?;
    let lines: String = steps.iter().map(|step| step.act.line() + "\n").collect();
    file.write_all(lines.as_bytes())?;
    file.sync_all()?;
    sync_folder(folder_of(&path))
}

/// Reads an undo list.
///
/// # Errors
/// [`Error::Engine`] if it cannot be read; [`Error::Input`] with its first line that is none of an undo list.
pub fn read_list(path: &Path) -> Result<Vec<FileAct>> {
    let mut bytes = Vec::new();
    let read = open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(nearprint::Error::io("read", path))?;
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').zip(1_u64..);
    let acts = lines.map(|(line, number)| {
        let line = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
        let bad = || Error::input(format!("{}:{number}", path.display()), "is no line of an undo list");
        line.and_then(FileAct::parse).ok_or_else(bad)
    });
    acts.collect()
}
